"""`almond solve`: the answer against the closed form of a sliding particle, and the contract of its outputs."""

import json

import numpy as np
import pytest

from conftest import sliding_point

CONTRACT = [
    "file", "solver", "status", "contacts", "dofs", "iterations", "newton_steps", "time_ms", "residual", "natural_map", "certificate",
]
CERTIFICATE = {
    "residual", "natural_map", "normal_violation", "complementarity", "cone_violation", "slip_error", "dynamics_residual",
    "row_violation", "impulse_ratio", "worst_constraint", "open", "stick", "slip", "modes", "finite",
}
SOLVERS = ["auto", "canal", "subadmm", "spn", "pgs", "admm-nosub", "admm-nobody", "dogleg", "damped-sn"]


def test_solution_is_the_closed_form(almond, problem_file, tmp_path):
    # Slides on: v_x = 1 - mu g dt, impulse mu m g dt against it, m g dt up.
    result = almond("solve", problem_file, "--solver", "all", "--strict", "--json", "-", "--save-solution", tmp_path / "out")
    assert result.code == 0, result.err
    assert [entry["solver"] for entry in result.json()] == SOLVERS
    for solver in SOLVERS:
        with np.load(tmp_path / "out" / f"point.{solver}.npz") as answer:
            np.testing.assert_allclose(answer["v"], [1.0 - 0.5 * 0.0981, 0.0, 0.0], atol=2e-8)
            np.testing.assert_allclose(answer["lambda"], [-0.5 * 2 * 0.0981, 0.0, 2 * 0.0981], atol=4e-8)


def test_json_keeps_the_contract(almond, problem_file):
    (entry,) = almond("solve", problem_file, "--json", "-").json()
    assert list(entry)[: len(CONTRACT)] == CONTRACT
    assert set(entry["certificate"]) == CERTIFICATE
    assert entry["file"] == str(problem_file)
    assert (entry["solver"], entry["status"], entry["contacts"], entry["dofs"]) == ("auto", "solved", 1, 3)
    assert entry["certificate"]["modes"] == ["slip"] and entry["certificate"]["slip"] == 1
    assert entry["residual"] <= 1e-8 and entry["natural_map"] <= 1e-9 and 0.0 < entry["time_ms"] < 1000.0


def test_solver_names_come_in_every_order(almond, problem_file):
    expected = ["pgs", "canal"]
    for arguments in (
        (problem_file, "--solver", "pgs", "canal"),
        (problem_file, "--solver", "pgs", "--solver", "canal"),
        (problem_file, "--solver", "pgs,canal"),
        ("--solver", "pgs", "canal", problem_file),
        ("--solver", "pgs,canal", problem_file, problem_file.parent / "point.npz"),
    ):
        entries = almond("solve", *arguments, "--json", "-").json()
        assert [entry["solver"] for entry in entries][:2] == expected


def test_folder_means_its_problem_files(almond, tmp_path):
    for name in ("b", "a"):
        np.savez(tmp_path / f"{name}.npz", **sliding_point())
    (tmp_path / "notes.txt").write_text("no problem")
    entries = almond("solve", tmp_path, "--json", "-").json()
    assert [entry["file"] for entry in entries] == [str(tmp_path / "a.npz"), str(tmp_path / "b.npz")]


def test_strict_says_when_the_work_failed(almond, problem_file):
    limits = ("--solver", "pgs", "--tol", "1e-300", "--max-iters", "1")
    assert almond("solve", problem_file, *limits).code == 0
    assert almond("solve", problem_file, *limits, "--strict").code == 1


def test_repeats_and_threads_are_reported(almond, problem_file):
    (entry,) = almond("solve", problem_file, "--repeats", 3, "--threads", 2, "--json", "-").json()
    assert (entry["repeats"], entry["threads"]) == (3, 2)


def test_set_reaches_the_settings(almond, problem_file):
    (entry,) = almond("solve", problem_file, "--set", "tol=1e-5", "--set", "solver=pgs", "--json", "-").json()
    assert (entry["tol"], entry["solver"]) == (1e-5, "pgs")


def test_warm_start_uses_the_file(almond, tmp_path):
    path = tmp_path / "warm.npz"
    np.savez(path, **sliding_point(), v0=[1.0 - 0.5 * 0.0981, 0.0, 0.0], lambda0=[-0.0981, 0.0, 0.1962])
    (entry,) = almond("solve", path, "--solver", "pgs", "--warm", "--json", "-").json()
    assert entry["warm"] and entry["status"] == "solved" and entry["iterations"] <= 1
    cold = almond("solve", tmp_path / "warm.npz", "--solver", "pgs", "--json", "-").json()[0]
    assert not cold["warm"]


def test_warm_without_start_values_is_said(almond, problem_file):
    result = almond("solve", problem_file, "--warm")
    assert result.code == 0 and "has no start values" in result.err


def test_trace_is_a_decreasing_curve(almond, problem_file, tmp_path):
    assert almond("solve", problem_file, "--solver", "pgs", "--trace", tmp_path / "t.csv").code == 0
    header, *rows = (tmp_path / "t.csv").read_text().splitlines()
    assert header == "file,solver,time_ms,iteration,residual,natural_map" and rows
    values = [[float(x) for x in row.split(",")[2:]] for row in rows]
    times, naturals = [row[0] for row in values], [row[3] for row in values]
    assert times == sorted(times) and naturals == sorted(naturals, reverse=True) and naturals[-1] <= 1e-9

    assert almond("solve", problem_file, "--trace", tmp_path / "t.json").code == 0
    (curve,) = json.loads((tmp_path / "t.json").read_text())
    assert curve["solver"] == "auto" and set(curve["points"][0]) == {"time_ms", "iteration", "residual", "natural_map"}


def test_page_stands_alone(almond, problem_file, tmp_path):
    assert almond("solve", problem_file, "--solver", "pgs,canal", "--html", tmp_path / "page.html").code == 0
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert page.startswith("<!doctype html>") and page.rstrip().endswith("</html>")
    assert 'data-name="canal"' in page and 'data-name="pgs"' in page
    for outside in ("src=", "href=", "@import", "url("):
        assert outside not in page


def test_png_is_a_picture(almond, problem_file, tmp_path):
    result = almond("solve", problem_file, "--png", tmp_path / "plot.png")
    if "rsvg-convert is not installed" in result.err:
        pytest.skip("rsvg-convert is not installed")
    assert result.code == 0 and (tmp_path / "plot.png").read_bytes().startswith(b"\x89PNG")


def test_png_names_the_missing_program(almond, problem_file, tmp_path):
    result = almond("solve", problem_file, "--png", tmp_path / "plot.png", env={"PATH": str(tmp_path)})
    assert result.code == 2 and "rsvg-convert" in result.err and "librsvg2-bin" in result.err
    assert not (tmp_path / "plot.png").exists()
