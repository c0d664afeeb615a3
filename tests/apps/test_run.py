"""`almond run` and `almond scenes`: the contract of the outputs, the same bits however a run is cut or threaded, and an orderly end."""

import json
import os
import pty
import re
import select
import signal
import struct
import subprocess

import numpy as np
import pytest

from conftest import PROGRAM
from test_bad_input import complaint

CONTRACT = [
    "scene", "solver", "dt", "steps", "dofs", "bodies", "threads", "seed", "state_hash", "contacts", "step_ms", "solve_ms", "collide_ms",
    "residual", "penetration_mm", "opening", "unconverged_steps", "dropped_contacts", "peak_rss_mb", "success", "metrics", "time_s",
    "real_time_factor", "status_counts", "energy", "reduced_contacts", "suspicious_depths", "jammed_steps", "overdone_steps", "passed_steps", "divided_steps", "held_contacts", "energy_limited_steps", "energy_dt", "interrupted", "remarks", "task",
    "tolerance",
]
STATUSES = ["solved", "max-iterations", "time-budget", "stalled", "infeasible", "numerical-error"]
# A small scene with many contacts, and one where bodies touch several others.
SMALL = ("tower", "--set", "cubes=3", "--steps", 30)


def run_json(almond, *arguments):
    result = almond("run", *arguments, "--json", "-")
    assert result.code == 0, result.err
    return result.json()


def load(path):
    with np.load(path, allow_pickle=False) as archive:
        return {name: archive[name] for name in archive.files}


def on_a_terminal(*arguments, interrupt=None):
    """Code, standard output and what a terminal on standard error saw; `interrupt` is sent when the first step is done."""
    master, slave = pty.openpty()
    command = [str(PROGRAM), "run", *map(str, arguments)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=slave, text=True) as child:
        os.close(slave)
        shown = b""
        while select.select([master], [], [], 60)[0]:
            try:
                shown += os.read(master, 4096)
            except OSError:  # the other end is closed
                break
            if interrupt and b"steps" in shown:
                child.send_signal(interrupt)
                interrupt = None
        out = child.stdout.read()
    os.close(master)
    return child.returncode, out, shown.decode()


# ---- scenes


def test_scenes_are_listed_one_per_line(almond):
    result = almond("scenes")
    assert result.code == 0 and result.err == ""
    listed = almond("scenes", "--json", "-").json()
    lines = result.out.splitlines()
    assert len(lines) == len(listed) >= 10
    for line, info in zip(lines, listed):
        assert line.split()[0] == info["name"] and line.endswith(info["summary"]) and info["summary"]
        for parameter in info["parameters"]:
            assert set(parameter) == {"name", "default", "meaning", "expected"} and parameter["meaning"] and parameter["expected"]


@pytest.mark.parametrize("scene, name", [("tower", "cubes"), ("tower", "top"), ("slope", "ratio"), ("cradle", "gap"), ("spheres", "count")])
def test_what_a_parameter_may_be_is_told_once_and_meant(almond, scene, name):
    """A value outside is refused with the words of `almond scenes`."""
    (parameter,) = [p for p in almond("scenes", scene, "--json", "-").json()["parameters"] if p["name"] == name]
    result = almond("run", scene, "--set", f"{name}=-0.5", "--steps", 1)
    assert result.code == 2 and f"{name} is -0.5, expected {parameter['expected']}" in result.err, result.err


def test_a_scene_tells_its_parameters(almond, tmp_path):
    result = almond("scenes", "tower", "--json", tmp_path / "tower.json")
    assert result.code == 0
    info = json.loads((tmp_path / "tower.json").read_text())
    assert info["name"] == "tower" and info["steps"] > 0 and info["dt"] > 0 and info["dofs"] == 6 * info["bodies"]
    for parameter in info["parameters"]:
        assert parameter["name"] in result.out and parameter["meaning"] in result.out
    for name, nearest in (("towr", '"tower"'), ("griper", '"gripper"'), ("zzzzzzzz", "almond scenes")):
        line = complaint(almond("scenes", name))
        assert nearest in line and line == complaint(almond("run", name))


def test_every_scene_runs(almond):
    for info in almond("scenes", "--json", "-").json():
        if "example-robot-data" in info["summary"] and "not installed" in almond("run", info["name"], "--steps", 1).err:
            continue
        report = run_json(almond, info["name"], "--steps", 3)
        assert report["scene"] == info["name"] and report["steps"] == 3, info
        assert report["dropped_contacts"] == 0 and report["suspicious_depths"] == 0, info


# ---- figures


def test_json_keeps_the_contract(almond):
    report = run_json(almond, *SMALL, "--seed", 7)
    assert list(report) == CONTRACT
    assert (report["scene"], report["solver"], report["steps"], report["threads"], report["seed"]) == ("tower", "auto", 30, 1, 7)
    assert (report["bodies"], report["dofs"]) == (4, 24)
    for name in ("step_ms", "solve_ms", "collide_ms", "residual"):
        spread = report[name]
        assert list(spread) == ["median", "p95", "max"] and 0 <= spread["median"] <= spread["p95"] <= spread["max"]
    for name in ("contacts", "penetration_mm"):
        assert list(report[name]) == ["median", "max"] and 0 <= report[name]["median"] <= report[name]["max"]
    assert report["contacts"]["median"] >= 12 and report["penetration_mm"]["max"] < 1
    assert list(report["status_counts"]) == STATUSES and sum(report["status_counts"].values()) == 30
    assert report["unconverged_steps"] == 30 - report["status_counts"]["solved"] == 0
    assert report["residual"]["max"] <= 1e-8
    assert len(report["state_hash"]) == 16 and int(report["state_hash"], 16) >= 0
    assert report["success"] in (True, False, None) and all(isinstance(x, float) for x in report["metrics"].values())
    assert report["time_s"] == pytest.approx(30 * report["dt"]) and report["real_time_factor"] > 0
    assert 1 < report["peak_rss_mb"] < 4000 and report["interrupted"] is False
    assert report["remarks"] == []
    assert set(report["energy"]) == {"start", "end"}


def test_summary_is_for_people_and_nothing_else_is_said(almond, tmp_path):
    result = almond("run", *SMALL, "--json", tmp_path / "out.json")
    assert result.code == 0 and result.err == "" and "\r" not in result.out and "\033" not in result.out
    assert result.out.startswith("tower: 30 steps of 4.167 ms") and "every step" in result.out
    assert json.loads((tmp_path / "out.json").read_text())["state_hash"] in result.out


def test_remarks_are_told_and_kept(almond):
    result = almond("run", *SMALL, "--set", "top=1e-10", "--json", "-")
    assert result.code == 0
    (remark,) = result.json()["remarks"]
    assert remark.endswith(": mass is 1e-10 kg, usual are 1e-09 to 1e+09 kg")
    assert [line for line in result.err.splitlines() if line.startswith("remark: ")] == [f"remark: {remark}"]
    assert almond("run", *SMALL, "--set", "top=1e-10").out.startswith("tower: 30 steps")


def test_progress_on_a_terminal(almond):
    code, out, shown = on_a_terminal(*SMALL)
    assert code == 0 and out.startswith("tower: 30 steps")
    for part in ("\r", "/ 30 steps", " s, ", "real time", "contacts", "residual", "unconverged"):
        assert part in shown


@pytest.mark.parametrize(
    "options, check",
    [
        (["--solver", "pgs"], lambda r: r["solver"] == "pgs"),
        (["--set", "solver=subadmm"], lambda r: r["solver"] == "subadmm"),
        (["--dt", "0.002"], lambda r: r["dt"] == 0.002 and r["time_s"] == pytest.approx(0.06)),
        (["--set", "dt=0.002"], lambda r: r["dt"] == 0.002),
        (["--tol", "1e-4"], lambda r: r["residual"]["max"] <= 1e-4),
        (["--solver", "pgs", "--max-iters", "1"], lambda r: r["status_counts"]["max-iterations"] > 0),
        (["--budget-ms", "1e-6"], lambda r: r["unconverged_steps"] > 0),
        (["--threads", "2"], lambda r: r["threads"] == 2),
        (["--seed", "1e3", "--max-iters", "1e4"], lambda r: r["seed"] == 1000),
        (["--seed", "18446744073709551615"], lambda r: r["seed"] == 2**64 - 1),
        (["--set", "max_points_per_pair=3"], lambda r: r["contacts"]["max"] == 12 and r["reduced_contacts"] > 0),
        (["--set", "max_iterations=1e4"], lambda r: r["unconverged_steps"] == 0),
        (["--set", "cubes=1", "top=2"], lambda r: r["bodies"] == 2),
        (["--set", "erp=0.1", "closure_erp=0.5", "--set", "max_correction=1", "--set", "restitution_threshold=0.5"], lambda r: r["steps"] == 30),
        (["--set", "margin=0.002", "--set", "canal_c0=10", "--set", "prefer_stick=0", "--set", "theta=0.5"], lambda r: r["steps"] == 30),
    ],
)
def test_options_reach_the_step(almond, options, check):
    assert check(run_json(almond, *SMALL, *options))


def test_steps_may_be_written_with_an_exponent(almond):
    for text, steps in (("2e1", 20), ("1.5e1", 15), ("3.0", 3), ("+4", 4)):
        assert run_json(almond, "tower", "--steps", text)["steps"] == steps


def test_the_scene_may_stand_behind_the_options(almond):
    expected = run_json(almond, *SMALL)["state_hash"]
    assert run_json(almond, "--steps", 30, "--set", "cubes=3", "tower")["state_hash"] == expected
    assert run_json(almond, "--set", "cubes=3", "--steps", 30, "tower")["state_hash"] == expected


def test_strict_says_when_a_step_did_not_converge(almond):
    limits = ("--solver", "pgs", "--max-iters", 1)
    assert almond("run", *SMALL, *limits).code == 0
    assert almond("run", *SMALL, *limits, "--strict").code == 1
    assert almond("run", *SMALL, "--strict").code == 0


def test_seed_decides_what_is_random(almond):
    pour = ("spheres", "--set", "count=12", "--steps", 5)
    first, again, other = (run_json(almond, *pour, "--seed", seed)["state_hash"] for seed in (1, 1, 2))
    assert first == again != other


# ---- bits


def test_threads_give_the_same_bits(almond):
    pour = ("spheres", "--set", "count=40", "--steps", 60)
    assert len({run_json(almond, *pour, "--threads", k)["state_hash"] for k in (1, 2, 4)}) == 1


@pytest.mark.parametrize("scene", [("tower", "--set", "cubes=3"), ("gripper", "--set", "shake=0.1"), ("ball", "--set", "restitution=0.5"), ("four_bar",)])
def test_a_run_in_two_parts_is_the_same_run(almond, tmp_path, scene):
    whole = run_json(almond, *scene, "--steps", 100, "--save-state", tmp_path / "whole.state")
    first = run_json(almond, *scene, "--steps", 37, "--save-state", tmp_path / "part.state")
    second = run_json(almond, *scene, "--steps", 63, "--load-state", tmp_path / "part.state", "--save-state", tmp_path / "part.state")
    assert first["state_hash"] != whole["state_hash"] == second["state_hash"]
    assert second["time_s"] == whole["time_s"] and second["steps"] == 63
    assert (tmp_path / "part.state").read_bytes() == (tmp_path / "whole.state").read_bytes()


@pytest.mark.parametrize("suffix", ["npz", "json"])
@pytest.mark.parametrize("solver", ["auto", "canal", "subadmm", "pgs"])
def test_a_dumped_problem_has_the_same_answer_alone(almond, tmp_path, suffix, solver):
    # A free ball that rolls: v of the problem is the velocity of its centre, row 21 of the trajectory.
    problem = tmp_path / f"step.{suffix}"
    run = ("rolling", "--set", "speed=1", "--steps", 25, "--solver", solver)
    run_json(almond, *run, "--dump-problem", f"20={problem}", "--trajectory", tmp_path / "t.npz")
    (entry,) = almond("solve", problem, "--warm", "--solver", solver, "--save-solution", tmp_path, "--json", "-").json()
    assert entry["warm"] and entry["contacts"] == 1 and entry["status"] == "solved"
    answer, way = load(tmp_path / f"step.{solver}.npz"), load(tmp_path / "t.npz")
    assert answer["v"][:3].tobytes() == way["linear_velocity"][21, 0].tobytes()
    assert answer["lambda"][2] > 0


@pytest.mark.parametrize("scene", [("tower", "--set", "cubes=3"), ("spheres", "--set", "count=20"), ("gripper",), ("quadrupeds", "--set", "robots=1")])
def test_every_scene_dumps_problems_that_load(almond, tmp_path, scene):
    # The step alone, from a saved state, and in a longer run: the same problem with the same start, so the same answer.
    run_json(almond, *scene, "--steps", 60, "--dump-problem", f"50={tmp_path}/long.npz", f"0={tmp_path}/first.npz")
    run_json(almond, *scene, "--steps", 50, "--save-state", tmp_path / "s")
    one = run_json(almond, *scene, "--steps", 1, "--load-state", tmp_path / "s", "--dump-problem", f"0={tmp_path}/short.npz", "--save-state", tmp_path / "s1")
    long, short = load(tmp_path / "long.npz"), load(tmp_path / "short.npz")
    assert all(long[name].tobytes() == short[name].tobytes() for name in long if name != "name") and set(long) == set(short)
    assert np.any(long["lambda0"] != 0) and not np.any(load(tmp_path / "first.npz").get("lambda0", 0))
    result = almond("solve", tmp_path / "short.npz", "--warm", "--save-solution", tmp_path / "out", "--json", "-")
    (entry,) = result.json()
    assert entry["status"] == "solved" and "note" not in result.err, result.err
    assert entry["contacts"] == one["contacts"]["max"]
    # The state after the step has v bit for bit (of robots after their free motion, so not those), impulses of one-row
    # constraints bit for bit, and those of contacts in world axes: turned, so equal to rounding.
    answer = load(tmp_path / "out" / "short.auto.npz")
    v, impulses, rows = read_state((tmp_path / "s1").read_bytes())
    if scene[0] != "quadrupeds":
        assert answer["v"].tobytes() == v.tobytes()
    assert np.sort(answer["lambda"][3 * entry["contacts"] :]).tobytes() == np.sort(rows).tobytes()
    lam = answer["lambda"][: 3 * entry["contacts"]].reshape(-1, 3)
    np.testing.assert_allclose(np.linalg.norm(impulses, axis=1), np.linalg.norm(lam, axis=1), rtol=1e-13, atol=1e-300)


def read_state(data):
    """Velocities, impulses of the contacts in world axes and of the rows, from a state file (docs/formats.md)."""
    assert data[:8] == b"almondS2"
    at = 16 + 8 + 8 * struct.unpack_from("<q", data, 16)[0]
    (dofs,) = struct.unpack_from("<q", data, at)
    v = np.frombuffer(data, "<f8", dofs, at + 8)
    at += 8 + 8 * dofs + 8 + 8 + 4 * 8  # time, steps, random numbers
    (count,) = struct.unpack_from("<Q", data, at)
    contacts = [struct.unpack_from("<iiI3d", data, at + 8 + 36 * i) for i in range(count)]
    at += 8 + 36 * count
    (count,) = struct.unpack_from("<Q", data, at)
    rows = np.array([struct.unpack_from("<Id", data, at + 8 + 12 * i)[1] for i in range(count)])
    return v, np.array([contact[3:6] for contact in contacts]).reshape(-1, 3), rows


def test_problems_go_to_fclib_files(almond, tmp_path):
    result = almond("run", *SMALL, "--dump-problem", f"3={tmp_path}/p.hdf5")
    assert result.code == 0, result.err
    (entry,) = almond("solve", tmp_path / "p.hdf5", "--json", "-").json()
    assert entry["status"] == "solved" and entry["contacts"] >= 12


def test_rows_that_fclib_cannot_hold_are_refused_at_the_end(almond, tmp_path):
    dumps = [f"0={tmp_path}/p.hdf5", f"1={tmp_path}/p.npz"]
    result = almond("run", "joint_stop", "--steps", 5, "--json", tmp_path / "out.json", "--dump-problem", *dumps)
    assert result.code == 2 and "p.hdf5" in result.err and result.err.count("\n") == 1
    assert sorted(path.name for path in tmp_path.iterdir()) == ["out.json", "p.npz"]


def test_without_warm_start_problems_have_no_start_values(almond, tmp_path):
    run_json(almond, *SMALL, "--set", "warm_start=0", "--dump-problem", f"9={tmp_path}/cold.npz")
    assert "lambda0" not in load(tmp_path / "cold.npz")


# ---- trajectory


def test_trajectory_of_a_falling_ball(almond, tmp_path):
    # Semi-implicit Euler: v grows by g dt, x by v dt, until the ball meets the ground 0.5 m below.
    report = run_json(almond, "ball", "--set", "height=0.5", "--steps", 60, "--trajectory", tmp_path / "t.npz")
    way, dt = load(tmp_path / "t.npz"), report["dt"]
    assert set(way) == {"time", "names", "position", "quaternion", "linear_velocity", "angular_velocity"}
    assert way["names"].dtype.kind == "U" and way["names"].shape == (1,) and way["names"][0] == "ball"
    assert way["time"].shape == (61,) and way["time"][0] == 0
    np.testing.assert_allclose(way["time"], dt * np.arange(61), rtol=1e-12)
    for name, size in (("position", 3), ("quaternion", 4), ("linear_velocity", 3), ("angular_velocity", 3)):
        assert way[name].shape == (61, 1, size) and way[name].dtype == np.float64, name
    np.testing.assert_allclose(way["linear_velocity"][:, 0, 2], -9.81 * way["time"], rtol=1e-12, atol=1e-15)
    np.testing.assert_allclose(np.diff(way["position"], axis=0), dt * way["linear_velocity"][1:], atol=1e-14)
    np.testing.assert_array_equal(way["quaternion"][:, 0], np.tile([1.0, 0, 0, 0], (61, 1)))


def test_trajectory_of_turning_bodies(almond, tmp_path):
    run_json(almond, "top", "--steps", 400, "--trajectory", tmp_path / "t.npz")
    way = load(tmp_path / "t.npz")
    q, w, dt = way["quaternion"][:, 0], way["angular_velocity"][:, 0], np.diff(way["time"])[:, None]
    np.testing.assert_allclose(np.linalg.norm(q, axis=1), 1.0, atol=1e-14)
    assert np.all(np.sum(q[1:] * q[:-1], axis=1) > 0.5)  # no jumps between q and -q
    # q' = (0, ω) q / 2 in world axes: the vector part of 2 (q⁺ - q) q̄ / dt is ω.
    a, b = q[1:] - q[:-1], q[:-1] * [1, -1, -1, -1]
    turn = a[:, :1] * b[:, 1:] + b[:, :1] * a[:, 1:] + np.cross(a[:, 1:], b[:, 1:])
    speed = np.linalg.norm(w, axis=1).max()
    np.testing.assert_allclose(2 * turn / dt, w[1:], atol=2 * speed**2 * dt[0, 0])


def test_velocities_are_those_of_the_frames(almond, tmp_path):
    # The rod's frame sits where its hinge is or elsewhere; wherever, its velocity must be the derivative of its position.
    for scene in ("pendulum", "four_bar", "gripper"):
        report = run_json(almond, scene, "--steps", 200, "--dt", 1e-4, "--trajectory", tmp_path / "t.npz")
        way = load(tmp_path / "t.npz")
        assert way["position"].shape == (201, report["bodies"], 3)
        assert len(set(way["names"])) == report["bodies"]
        middle = 0.5 * (way["linear_velocity"][1:] + way["linear_velocity"][:-1])
        np.testing.assert_allclose(np.diff(way["position"], axis=0) / 1e-4, middle, atol=5e-3, err_msg=scene)


def test_trajectory_goes_to_standard_output(almond):
    done = subprocess.run([PROGRAM, "run", *map(str, SMALL), "--trajectory", "-"], capture_output=True, check=True)
    assert done.stdout.startswith(b"PK") and done.stderr.startswith(b"tower: 30 steps")


# ---- the end


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_interrupt_writes_what_was_recorded(almond, tmp_path, number):
    asked = 2000000000
    dumps = [f"0={tmp_path}/p.npz", f"{asked - 1}={tmp_path}/never.npz"]
    outputs = ["--json", tmp_path / "out.json", "--save-state", tmp_path / "s", "--dump-problem", *dumps]
    code, out, _ = on_a_terminal("ball", "--steps", asked, *outputs, interrupt=number)
    assert code == 130 and "interrupted" in out
    report = json.loads((tmp_path / "out.json").read_text())
    assert report["interrupted"] is True and report["success"] is None and 0 < report["steps"] < asked
    assert sorted(path.name for path in tmp_path.iterdir()) == ["out.json", "p.npz", "s"]
    again = run_json(almond, "ball", "--steps", report["steps"], "--save-state", tmp_path / "again")
    assert again["state_hash"] == report["state_hash"]
    assert (tmp_path / "again").read_bytes() == (tmp_path / "s").read_bytes()


def test_interrupted_trajectory_is_whole(almond, tmp_path):
    outputs = ["--json", tmp_path / "out.json", "--trajectory", tmp_path / "t.npz"]
    code, _, _ = on_a_terminal("tower", "--steps", 1000000, *outputs, interrupt=signal.SIGINT)
    assert code == 130
    steps = json.loads((tmp_path / "out.json").read_text())["steps"]
    way = load(tmp_path / "t.npz")
    assert len(way["time"]) == len(way["position"]) == steps + 1


def test_a_failed_run_leaves_earlier_outputs_alone(almond, tmp_path):
    outputs = {"--json": tmp_path / "out.json", "--trajectory": tmp_path / "t.npz", "--save-state": tmp_path / "s"}
    given = [x for pair in outputs.items() for x in pair]
    assert almond("run", *SMALL, *given).code == 0
    before = {path: path.read_bytes() for path in outputs.values()}
    for wrong in (["--set", "cubs=3"], ["--dt", "-1"], ["--load-state", tmp_path / "none"], ["--dump-problem", "99=p.npz"]):
        complaint(almond("run", *SMALL, *given, *wrong))
    assert {path: path.read_bytes() for path in outputs.values()} == before
    assert sorted(path.name for path in tmp_path.iterdir()) == ["out.json", "s", "t.npz"]


def test_one_output_that_fails_does_not_take_the_others_along(almond, tmp_path):
    result = almond("run", "joint_stop", "--steps", 20, "--save-state", tmp_path / "s", "--json", "/dev/full", "--dump-problem", f"0={tmp_path}/p.npz")
    assert result.code == 2 and "/dev/full" in result.err
    assert (tmp_path / "s").exists() and (tmp_path / "p.npz").exists()


# ---- bad input


@pytest.mark.parametrize(
    "arguments, expected",
    [
        ([], "no scene given"),
        (["towr"], "tower"),
        (["zzzzzzzz"], "almond scenes"),
        (["tower", "slope"], "unexpected argument"),
        (["tower", "--record", "x.html"], "--record: no such option"),
        (["tower", "--step", "5"], "--steps"),
        (["tower", "--steps", "0"], "--steps 0: expected at least 1"),
        (["tower", "--steps", "-3"], "--steps -3: expected at least 1"),
        (["tower", "--steps", "1.5"], '--steps "1.5": expected a whole number of at most 2147483647'),
        (["tower", "--steps", "few"], '--steps "few": expected a whole number'),
        (["tower", "--steps", "1e10"], '--steps "1e10": expected a whole number of at most 2147483647'),
        (["tower", "--steps", "99999999999"], '--steps "99999999999": expected'),
        (["tower", "--dt", "short"], '--dt "short": expected a number'),
        (["tower", "--dt", "0"], "dt is 0, expected 1e-09 to 10"),
        (["tower", "--dt", "-0.01"], "dt is -0.01"),
        (["tower", "--dt", "nan"], "dt is nan"),
        (["tower", "--dt", "inf"], "dt is inf"),
        (["tower", "--dt", "1e300"], "tower: dt is 1e+300 s, expected 1e-09 to 10"),
        (["tower", "--dt", "1e-300"], "tower: dt is 1e-300 s, expected 1e-09 to 10"),
        (["tower", "--set", "dt=11"], "tower: dt is 11 s, expected 1e-09 to 10"),
        (["tower", "--trajectory", "x.foo"], '--trajectory "x.foo": expected a file ending in .npz'),
        (["tower", "--theta", "1"], "theta is 1"),
        (["tower", "--theta", "nan"], "theta is nan"),
        (["tower", "--tol", "0"], "tol"),
        (["tower", "--tol", "nan"], "tol"),
        (["tower", "--max-iters", "-1"], "max_iterations"),
        (["tower", "--budget-ms", "-5"], "budget_ms"),
        (["tower", "--budget-ms", "nan"], "budget_ms"),
        (["tower", "--threads", "0"], "threads"),
        (["tower", "--seed", "-1"], '--seed "-1": expected a whole number of at least 0'),
        (["tower", "--seed", "many"], '--seed "many": expected'),
        (["tower", "--solver", "cannal"], "canal"),
        (["tower", "--set", "cubs=3"], "did you mean cubes?"),
        (["tower", "--set", "max_corection=3"], "did you mean max_correction?"),
        (["tower", "--set", "canal_kapa=3"], "did you mean canal_kappa?"),
        (["tower", "--set", "zzzzzzzz=3"], "tower has cubes, top, mu"),
        (["tower", "--set", "cubes"], "key=value"),
        (["tower", "--set", "cubes=few"], "a number"),
        (["tower", "--set", "cubes=nan"], "finite"),
        (["tower", "--set", "cubes=0"], "cubes is 0"),
        (["tower", "--set", "mu=-1"], "mu is -1"),
        (["tower", "--set", "erp=2"], "erp is 2"),
        (["tower", "--set", "erp=nan"], "erp is nan"),
        (["tower", "--set", "margin=-1"], "margin is -1"),
        (["tower", "--set", "max_points_per_pair=2"], "max_points_per_pair is 2, expected 3 to 64"),
        (["tower", "--set", "max_points_per_pair=4.5"], "max_points_per_pair=4.5: expected a whole number"),
        (["tower", "--set", "max_point_per_pair=4"], "did you mean max_points_per_pair?"),
        (["tower", "--json", "{folder}/nowhere/out.json"], "nowhere"),
        (["tower", "--trajectory", "{folder}"], "expected a file ending in .npz"),
        (["tower", "--save-state", "{folder}/nowhere/s"], "nowhere"),
        (["tower", "--json", "-", "--trajectory", "-"], "standard output"),
        (["tower", "--json", "{folder}/x", "--save-state", "{folder}/x"], "another output has this name"),
        (["tower", "--trajectory", "{folder}/x.npz", "--steps", "2000000000"], "too many"),
        (["tower", "--steps", "5", "--dump-problem", "5={folder}/p.npz"], "from 0 to 4"),
        (["tower", "--steps", "5", "--dump-problem", "-1={folder}/p.npz"], "--dump-problem"),
        (["tower", "--steps", "5", "--dump-problem", "one={folder}/p.npz"], "from 0 to 4"),
        (["tower", "--steps", "5", "--dump-problem", "1="], "STEP=FILE"),
        (["tower", "--steps", "5", "--dump-problem", "p.npz"], "STEP=FILE"),
        (["tower", "--steps", "5", "--dump-problem", "1={folder}/p.txt"], "ends in .npz"),
        (["tower", "--steps", "5", "--dump-problem", "1={folder}/nowhere/p.npz"], "nowhere"),
        (["tower", "--load-state", "{folder}/none"], "none"),
        (["tower", "--load-state", "{folder}"], "is a folder"),
    ],
)
def test_bad_input_gets_one_line(almond, tmp_path, arguments, expected):
    assert expected in complaint(almond("run", *[a.format(folder=tmp_path) for a in arguments]))
    assert list(tmp_path.iterdir()) == []


def test_help(almond):
    for command in ("run", "scenes", "verify"):
        result = almond(command, "--help")
        assert result.code == 0 and f"Usage: almond {command}" in result.out


def test_unwritable_folder_is_said_before_the_work(almond, tmp_path):
    if os.geteuid() == 0:
        pytest.skip("root may write everywhere")
    closed = tmp_path / "closed"
    closed.mkdir(mode=0o500)
    assert "cannot be written" in complaint(almond("run", "tower", "--json", closed / "out.json"))


def test_wrong_state_files_are_refused(almond, tmp_path):
    good = tmp_path / "good"
    run_json(almond, *SMALL, "--save-state", good)
    data = good.read_bytes()
    damaged = bytearray(data)
    damaged[len(data) // 2] ^= 1
    for name, content, expected in (
        ("empty", b"", "no almond state"),
        ("text", b"hello, this is no state at all", "no almond state"),
        ("damaged", bytes(damaged), "damaged"),
        ("short", data[:-9], "damaged"),
        ("cut", data[:12], "no almond state"),
        ("long", data + b"x", "damaged"),
    ):
        (tmp_path / name).write_bytes(content)
        line = complaint(almond("run", *SMALL, "--load-state", tmp_path / name))
        assert expected in line and str(tmp_path / name) in line, line
    other = complaint(almond("run", "ball", "--load-state", good))
    assert "positions" in other and str(good) in other


def test_another_time_step_keeps_the_time(almond):
    usual = run_json(almond, "slide")
    finer = run_json(almond, "slide", "--dt", usual["dt"] / 2)
    assert finer["steps"] == 2 * usual["steps"]
    assert finer["time_s"] == pytest.approx(usual["time_s"])


def test_strict_asks_for_the_goal(almond):
    """Half of the squeeze that holds lets go, however exact the steps are."""
    slips = ("gripper", "--set", "squeeze=0.5")
    assert run_json(almond, *slips)["success"] is False
    strict = almond("run", *slips, "--strict")
    assert strict.code == 1
    assert re.search("goal +missed", strict.out) and "every step" in strict.out


def test_a_shorter_run_says_how_far_it_is(almond):
    """Two steps do not make a thrown ball roll, and have not missed it; the whole run does."""
    whole = run_json(almond, "rolling")
    assert whole["success"] is True
    short = almond("run", "rolling", "--steps", 2, "--json", "-")
    assert short.json()["success"] is None and f"not reached yet: 2 of {whole['steps']} steps" in short.err
    assert "missed" not in short.err
    assert almond("run", "rolling", "--steps", 2, "--strict").code == 1
    again = almond("run", "rolling", "--steps", whole["steps"] + 1)
    assert re.search("goal +reached", again.out)


def test_the_tolerance_is_the_one_that_was_used(almond):
    """30 balls have 180 degrees of freedom: 1e-6 is enough for more than 120."""
    for tolerance, text, arguments in (
        (1e-8, "1e-08", ("spheres", "--set", "count=20")),
        (1e-6, "1e-06", ("spheres", "--set", "count=30")),
        (1e-8, "1e-08", ("spheres", "--set", "count=30", "--set", "crowd_tol=0")),
        (1e-5, "1e-05", ("spheres", "--set", "count=30", "--tol", "1e-5")),
    ):
        result = almond("run", *arguments, "--steps", 2, "--json", "-")
        assert result.json()["tolerance"] == tolerance and f"tolerance {text}," in result.err, result.err


def test_a_budget_names_the_machine(almond):
    assert "Cholesky" in almond("run", "tower", "--steps", 5, "--budget-ms", 1).out
    assert "Cholesky" not in almond("run", "tower", "--steps", 5).out
