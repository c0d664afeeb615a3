"""`almond bench` and `almond demo`: every claim is an object, peers are judged like everyone, a broken peer ends nothing."""

import json
import os
import shutil
import signal
import stat
import subprocess
import time
from pathlib import Path

import numpy as np
import pytest

from conftest import PROGRAM, ROOT, sliding_point

SCRIPTS = ROOT / "bench"


def make_folder(tmp_path):
    folder = tmp_path / "problems"
    folder.mkdir()
    np.savez(folder / "slides.npz", **sliding_point())
    np.savez(folder / "sticks.npz", **sliding_point(speed=0.01))
    return folder


def siconos_python():
    python = os.environ.get("ALMOND_SICONOS_PYTHON", "/usr/bin/python3")
    if not shutil.which(python):
        return None
    done = subprocess.run([python, "-c", "import numpy, siconos.numerics"], capture_output=True, check=False)
    return python if done.returncode == 0 else None


def check_claims(report):
    assert report["claims"]
    for claim in report["claims"]:
        assert set(claim) == {"claim", "expected", "measured", "holds", "verdict"} and isinstance(claim["holds"], bool)


def test_folder_of_problems(almond, tmp_path):
    folder = make_folder(tmp_path)
    result = almond("bench", "fclib", folder, "--quick", "--budget-ms", 50, "--solver", "auto,pgs", "--peers", "none",
                    "--json", tmp_path / "b.json", "--html", tmp_path / "b.html")
    assert result.code == 0, result.err
    report = json.loads((tmp_path / "b.json").read_text())
    check_claims(report)
    runs = report["tables"]["runs"]
    assert {(run["problem"], run["solver"]) for run in runs} == {
        (problem, solver) for problem in ("slides", "sticks") for solver in ("auto", "pgs")
    }
    assert all(run["status"] == "solved" and run["to 1e-9"] <= run["time"] * 1.0001 for run in runs)
    held = sum(claim["holds"] for claim in report["claims"])
    page = (tmp_path / "b.html").read_text(encoding="utf-8")
    assert f"{held} of {len(report['claims'])} targets hold" in page and page.count('class="claim') == len(report["claims"]) + 1
    # Without the peer its targets are not measured, which is told and is no miss.
    assert not any("Siconos" in claim["claim"] for claim in report["claims"])
    assert any("Siconos did not run" in note for note in report["notes"])


def test_siconos_finds_the_closed_form(tmp_path):
    # W = 1/m, q = v: a particle that slides on under the impulse mu m g dt.
    python = siconos_python()
    if python is None:
        pytest.skip("Siconos is not installed")
    np.savez(tmp_path / "in.npz", W_data=np.full(3, 0.5), W_indices=np.arange(3), W_indptr=np.arange(4), W_shape=[3, 3],
             q=[1.0, 0.0, -0.0981], mu=[0.5])
    for solver in ("nsgs", "nsn", "admm"):
        out = tmp_path / f"{solver}.npz"
        subprocess.run([python, str(SCRIPTS / "peers_siconos.py"), "--solver", solver, "--budget-ms", "100",
                        str(tmp_path / "in.npz"), str(out)], check=True, timeout=120, capture_output=True)
        with np.load(out) as answer:
            assert answer["lambdas"].shape == (len(answer["times_ms"]), 3) and np.all(np.diff(answer["times_ms"]) >= 0)
            errors = np.abs(answer["lambdas"] - [-0.0981, 0.0, 0.1962]).max(axis=1)
            assert errors.min() < 1e-8, solver


def test_peers_stand_beside_ours(almond, tmp_path):
    if siconos_python() is None:
        pytest.skip("Siconos is not installed")
    result = almond("bench", "fclib", make_folder(tmp_path), "--quick", "--files-only", "--budget-ms", 20, "--solver", "auto", "--peers", "siconos",
                    "--json", tmp_path / "b.json")
    assert result.code == 0, result.err
    report = json.loads((tmp_path / "b.json").read_text())
    solvers = {run["solver"] for run in report["tables"]["runs"]}
    assert solvers == {"auto", "siconos-nsgs", "siconos-nsn", "siconos-admm"}
    nsgs = [run for run in report["tables"]["runs"] if run["solver"] == "siconos-nsgs"]
    assert all(run["natural map"] <= 1e-9 for run in nsgs)
    assert {row["problem"] for row in report["tables"]["ratios"]} == {"slides", "sticks"}


def test_a_peer_that_crashes_is_a_result(almond, tmp_path):
    fake = tmp_path / "python"
    fake.write_text('#!/bin/sh\n[ "$1" = "-c" ] && exit 0\nkill -SEGV $$\n')
    fake.chmod(fake.stat().st_mode | stat.S_IXUSR)
    result = almond("bench", "fclib", make_folder(tmp_path), "--quick", "--files-only", "--budget-ms", 20, "--solver", "auto", "--peers", "siconos",
                    "--json", tmp_path / "b.json", env={"ALMOND_SICONOS_PYTHON": str(fake)})
    assert result.code == 0, result.err
    report = json.loads((tmp_path / "b.json").read_text())
    crashed = [run for run in report["tables"]["runs"] if run["solver"].startswith("siconos")]
    assert len(crashed) == 6 and all(run["status"] == "crashed with signal 11" for run in crashed)
    rows = {row["solver"]: row for row in report["tables"]["summary"]}
    assert rows["siconos-nsgs"]["crashed or hung"] == 2 and rows["auto"]["crashed or hung"] == 0


def test_absent_peers_are_told(almond, tmp_path):
    nowhere = str(tmp_path / "no-python")
    result = almond("bench", "fclib", make_folder(tmp_path), "--quick", "--files-only", "--budget-ms", 20, "--solver", "pgs",
                    env={"ALMOND_SICONOS_PYTHON": nowhere, "ALMOND_PINOCCHIO_PYTHON": nowhere})
    assert result.code == 0 and "Siconos is left out" in result.err and "Pinocchio is left out" in result.err


def test_factors_agree(almond, tmp_path):
    result = almond("bench", "factor", make_folder(tmp_path), "--quick", "--json", tmp_path / "b.json")
    assert result.code == 0, result.err
    report = json.loads((tmp_path / "b.json").read_text())
    check_claims(report)
    rows = report["tables"]["factor"]
    assert [row["dofs"] for row in rows] == sorted(row["dofs"] for row in rows) and len(rows) >= 6
    assert "slides" in {row["problem"] for row in rows}
    # Four factors of one H: apart by rounding times its condition, which is at most 1 + 300 contacts (K = 100/W̄).
    assert all(row["difference"] <= 1e-9 for row in rows)
    assert all(row[name] > 0 for row in rows for name in ("block LLT", "block LU", "simplicial LLT", "dense LLT"))


def test_distance_functions_are_timed_and_the_neural_bolt_is_measured(almond, tmp_path):
    result = almond("bench", "sdf", "--quick", "--json", tmp_path / "b.json")
    assert result.code == 0, result.err
    report = json.loads((tmp_path / "b.json").read_text())
    check_claims(report)
    times = {row["shape"]: row for row in report["tables"]["queries"]}
    assert {"sphere", "bowl", "M48 nut", "M48 bolt", "M48 bolt, neural"} <= set(times)
    # A block of 64 costs less than 64 single points; a network costs more than the formula it learnt.
    assert all(row["blocks ns"] > 0 and row["single ns"] > 0 for row in times.values())
    assert times["M48 bolt"]["blocks ns"] < times["M48 bolt"]["single ns"]
    assert times["M48 bolt"]["blocks ns"] < times["M48 bolt, neural"]["blocks ns"] < times["M48 bolt, neural"]["single ns"]
    everywhere, smooth, *_ = report["tables"]["neural"]
    assert everywhere["um mean"] < 3 and smooth["degrees mean"] < 1
    assert 0 < everywhere["um mean"] < everywhere["um 99 %"] < everywhere["um max"]
    assert smooth["degrees mean"] < everywhere["degrees mean"] and smooth["points"] > 0.3 * everywhere["points"]


def test_demo_writes_its_page(almond, tmp_path):
    result = almond("demo", "--budget-ms", 5, "--json", "-", cwd=tmp_path)
    assert result.code == 0, result.err
    page = (tmp_path / "almond_demo.html").read_text(encoding="utf-8")
    assert str(tmp_path / "almond_demo.html") in result.err
    replay = tmp_path / "almond_replay.html"
    assert replay.exists() == (str(replay) in result.err)
    assert not replay.exists() or "application/x-almond-replay" in replay.read_text(encoding="utf-8")
    rows = result.json()["tables"]["demo"]
    assert len({row["solver"] for row in rows}) == 9 and len({row["problem"] for row in rows}) >= 8
    assert page.count("<svg xmlns") == len({row["problem"] for row in rows})
    solved = [row for row in rows if row["status"] == "solved"]
    assert solved and all(row["natural map"] <= 1e-9 and row["residual"] <= 1e-8 for row in solved)


def test_an_interrupted_budget_ends_at_once(tmp_path):
    """It does not build the scenes of all solvers before it says so."""
    process = subprocess.Popen([PROGRAM, "bench", "budget", "--quick", "--json", tmp_path / "b.json"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    time.sleep(1.0)
    process.send_signal(signal.SIGINT)
    before = time.monotonic()
    _, err = process.communicate(timeout=60)
    assert process.returncode == 130 and time.monotonic() - before < 5, err


def test_an_interrupted_budget_tells_what_there_is(tmp_path):
    process = subprocess.Popen([PROGRAM, "bench", "budget", "--quick", "--solver", "pgs", "--json", tmp_path / "b.json"],
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    first = process.stdout.readline()  # as soon as a scene is done
    process.send_signal(signal.SIGTERM)
    out, err = process.communicate(timeout=60)
    assert first.startswith("dish pile, pgs: least ") and "16 ms: " in first
    assert process.returncode == 130 and "\ninterrupted: no target was measured\n" in out, err
    report = json.loads((tmp_path / "b.json").read_text())
    rows = report["tables"]["scenes"]
    assert report["interrupted"] and report["claims"] == [] and len(rows) >= 7
    assert all(0.0 <= row["solved [%]"] <= 100.0 for row in rows)
