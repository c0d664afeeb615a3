"""`almond bench peers`: engines on the same scenes; whatever one of them does or lacks, the others have their turn and the page says so."""

import importlib.util
import json
import os
import re
import signal
import stat
import subprocess
import sys
import time
from pathlib import Path

import pytest

NOWHERE = {"ALMOND_PEERS_PYTHON": "", "ALMOND_PINOCCHIO_PYTHON": "/nowhere/bin/python"}

pytestmark = pytest.mark.skipif(not importlib.util.find_spec("mujoco"), reason="MuJoCo is not installed")


@pytest.fixture
def python(tmp_path):
    """An interpreter that says it has MuJoCo and nothing else, and what it is to do instead of a command: (environment, script)."""
    script, folder = tmp_path / "python", tmp_path / "bin"
    folder.mkdir()
    (folder / "python3").write_text("#!/bin/sh\nexit 1\n")

    def make(extra=""):
        has = '{"mujoco": "9.9", "drake": null, "pybullet": null}'
        script.write_text(f"#!/bin/sh\n[ \"$2\" = engines ] && echo '{has}' > \"$3\" && exit 0\n{extra}\nexec {sys.executable} \"$@\"\n")
        for file in (script, folder / "python3"):
            file.chmod(file.stat().st_mode | stat.S_IXUSR)
        return {**NOWHERE, "ALMOND_PEERS_PYTHON": str(script), "PATH": str(folder)}

    return make


def run(almond, tmp_path, env, *words):
    result = almond("bench", "peers", "--quick", *words, "--json", tmp_path / "p.json", "--html", tmp_path / "p.html", env=env)
    assert result.code == 0, result.err
    return json.loads((tmp_path / "p.json").read_text()), result


def needs_mjcf(report):
    """Almond reads MJCF by MuJoCo's library, which a build may lack."""
    note = next(row["note"] for row in report["tables"]["ball"] if row["engine"] == "almond")
    if "MJCF" in str(note):
        pytest.skip("built without MuJoCo")


def test_one_referee_for_all(almond, tmp_path, python):
    report, result = run(almond, tmp_path, python(), "--part", "ball", "--engines", "almond,mj_default,drake_sap", "--save", tmp_path / "scenes")
    needs_mjcf(report)
    assert report["bench"] == "peers" and [part["name"] for part in report["parts"]] == ["ball"] and "yardstick" in report["facts"]
    rows = {(row["scene"], row["engine"]): row for row in report["tables"]["ball"]}
    assert set(rows) == {(scene, engine) for scene in ("drop", "roll") for engine in ("almond", "mj_default", "drake_sap")}
    # Rigid: lands on the ground, rolls at 5/7 of its speed. MuJoCo's default is soft: it lands by centimetres in it.
    assert rows["drop", "almond"]["overlap at impact [mm]"] < 1e-6 and 10.0 < rows["drop", "mj_default"]["overlap at impact [mm]"] < 40.0
    assert abs(rows["roll", "almond"]["rolling error [%]"]) < 1e-9
    assert rows["drop", "almond"]["median [ms]"] > 0.0 and rows["drop", "mj_default"]["time / mj_default"] == 1.0
    assert rows["drop", "mj_default"]["residual e0 [N s]"] < 1e-9 < rows["drop", "mj_default"]["worst e0 [N s]"]
    # What is not installed says what to do, in its rows and at the end.
    for row in (rows["drop", "drake_sap"], rows["roll", "drake_sap"]):
        assert row["median [ms]"] is None and "pip install numpy drake" in row["note"]
    assert "drake is not installed" in result.err
    assert {claim["claim"]: claim["holds"] for claim in report["claims"]}["a dropped ball does not sink in"]
    assert {file.name for file in (tmp_path / "scenes").iterdir()} == {"drop.xml", "roll.xml"}
    page = (tmp_path / "p.html").read_text()
    assert '<figure id="ball_drop">' in page and 'class="front"' in page and "overlap [mm]" in page
    # Every number has its unit, or is a count, a ratio or a word.
    bare = {"scene", "engine", "note", "p95 / median", "time / mj_default", "contacts"}
    assert all(name in bare or name.endswith("]") for name in rows["drop", "almond"])
    listed = {row["engine"]: row["installed"] for row in report["tables"]["engines"]}
    assert set(listed) == {"almond", "mj_default", "drake_sap"} and "9.9" in listed["mj_default"]


def test_solvers_stand_among_the_engines(almond, tmp_path, python):
    env = {**python(), "ALMOND_SICONOS_PYTHON": "/nowhere/python"}
    report, _ = run(almond, tmp_path, env, "--part", "nut", "--engines", "almond,pinocchio-admm,siconos-nsgs")
    listed = {row["engine"]: row["installed"] for row in report["tables"]["engines"]}
    assert "pip install pin" in listed["pinocchio-admm"] and "python3-siconos" in listed["siconos-nsgs"]
    assert all(row["pinocchio-admm: solved"] == "not installed" for row in report["tables"]["nut"])


def test_two_that_are_compared_take_turns(almond, tmp_path, python):
    report, result = run(almond, tmp_path, python(), "--part", "cold", "--engines", "almond,mj_hard")
    if "MJCF" in str(report["tables"]["cold"][0]["note"]):
        pytest.skip("built without MuJoCo")
    for claim in report["claims"]:
        if "median time against mj_hard" in claim["claim"]:
            assert re.search(r"^[0-9.]+x \([0-9.]+ to [0-9.]+\): .* 3 passes in turn; mj_hard ends at [0-9.e-]+ N s, Almond comes to 0.0002 in [0-9.]+ ms$", claim["measured"]), claim
            assert claim["verdict"] in ("holds", "missed", "undecided")
    assert re.search(r"cold, dish: .* ratio [0-9.]+x \([0-9.]+ to [0-9.]+\)", result.out)
    # Whose numbers they are: in the caption, and where a target rests on Almond's own.
    assert "Almond reports" in result.out and "are the referee's" in result.out
    solved = next(claim for claim in report["claims"] if claim["claim"] == "loaded steps are solved")
    assert "Almond's own report" in solved["criterion"] and "the referee's worst e0: " in solved["measured"]


def test_cold_steps_have_the_residual_of_both(almond, tmp_path, python):
    report, _ = run(almond, tmp_path, python(), "--part", "cold", "--engines", "almond,mj_hard")
    rows = {(row["scene"], row["engine"]): row for row in report["tables"]["cold"]}
    if "MJCF" in str(rows["stack10", "almond"]["note"]):
        pytest.skip("built without MuJoCo")
    own, hard = rows["stack10", "almond"], rows["stack10", "mj_hard"]
    assert own["contacts"] == hard["contacts"] == 40  # ten cubes, four corners each
    # The convex model leaves an error that the law does not have.
    assert own["worst e0 [N s]"] < 1e-8 < 1e-5 < hard["residual e0 [N s]"]
    assert own["Almond reports, worst [N s]"] == pytest.approx(own["worst e0 [N s]"], rel=0.05)


def test_a_peer_that_fails_is_a_row(almond, tmp_path, python):
    env = python('[ "$3" = mj_hard ] && echo no such luck >&2 && exit 3')
    report, _ = run(almond, tmp_path, env, "--part", "ball", "--engines", "mj_default,mj_hard")
    rows = {(row["scene"], row["engine"]): row for row in report["tables"]["ball"]}
    assert rows["drop", "mj_hard"]["note"] == "FAIL: no such luck" and rows["drop", "mj_hard"]["median [ms]"] is None
    assert rows["drop", "mj_default"]["median [ms]"] > 0.0 and rows["drop", "mj_default"]["note"] == ""


def test_a_strict_run_with_a_failure_is_not_complete(almond, tmp_path, python):
    env = python('[ "$3" = mj_hard ] && echo no such luck >&2 && exit 3')
    words = ("bench", "peers", "--quick", "--strict", "--part", "ball", "--json", tmp_path / "p.json", "--engines")
    failed, fine = almond(*words, "mj_default,mj_hard", env=env), almond(*words, "mj_default", env=env)
    assert failed.code == 1 and "drop, mj_hard: FAIL: no such luck" in failed.err and "not in full: 1" in failed.out
    assert fine.code == 0, fine.err


def test_an_engine_that_is_spared_is_no_failure(almond, tmp_path, python):
    slow = '{"steps": 5, "cut": true, "cpu": {"median": 9.0, "p95": 9.0}, "judged": {"finite": true}}'
    env = python(f"[ \"$2\" = run ] && echo '{slow}' > \"$7\" && exit 0")
    words = ("bench", "peers", "--quick", "--strict", "--part", "growth", "--engines", "mj_cg", "--json", tmp_path / "p.json")
    result = almond(*words, env=env)
    assert result.code == 0, result.out + result.err
    notes = [row["note"] for row in json.loads((tmp_path / "p.json").read_text())["tables"]["growth"]]
    assert notes == ["cut by the time limit after 5 steps"] + 4 * ["spared: did not get to the end with fewer balls"]
    assert "growth300, mj_cg: spared" in result.err and "not in full" not in result.out


def test_a_bad_file_costs_itself_only(almond, tmp_path, python, problem_file):
    (tmp_path / "files").mkdir()
    (tmp_path / "files" / "bad.json").write_text('{"no": {"problem": 1}}')
    problem_file.rename(tmp_path / "files" / "point.npz")
    report, result = run(almond, tmp_path, {**python(), "ALMOND_SICONOS_PYTHON": "/nowhere/python"}, tmp_path / "files", "--part", "problems")
    assert len(re.findall("without this file: .*bad.json", result.err)) == 1
    assert "point" in {row["problem"] for row in report["tables"]["problem_times"]}


def interrupt(tmp_path, env, *words):
    """SIGINT once the file $OUT is there: (report, output)."""
    started = tmp_path / "hangs"
    program = Path(os.environ.get("ALMOND_PROGRAM", Path(__file__).resolve().parents[2] / "build" / "almond"))
    env["PATH"] += os.pathsep + os.environ["PATH"]
    process = subprocess.Popen([program, "bench", "peers", *words, "--json", tmp_path / "p.json"], env={**os.environ, **env, "OUT": str(started)},
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    for _ in range(600):
        if started.exists() or process.poll() is not None:
            break
        time.sleep(0.1)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=60)
    assert process.returncode == 130, err
    return json.loads((tmp_path / "p.json").read_text()), out


def test_an_interrupt_keeps_what_was_measured(tmp_path, python):
    """While an engine hangs: it is ended, the page is written."""
    env = python('[ "$3" = mj_hard ] && touch "$OUT" && exec sleep 100')
    report, out = interrupt(tmp_path, env, "--part", "ball", "--engines", "mj_default,mj_hard")
    rows = {(row["scene"], row["engine"]): row for row in report["tables"]["ball"]}
    assert rows["drop", "mj_default"]["median [ms]"] > 0.0
    assert rows["drop", "mj_hard"]["note"] == rows["roll", "mj_default"]["note"] == "left out: interrupted"
    assert "\ninterrupted: no target was measured; parts run in full: 0 of 1\n" in out and report["interrupted"]


def pinocchio(tmp_path, does):
    """An interpreter that says it has Pinocchio, and what it does when it is to solve."""
    script = tmp_path / "pinocchio"
    script.write_text(f'#!/bin/sh\n[ "$1" = -c ] && exit 0\n[ "$2" = engines ] && exit 1\n{does}\n')
    script.chmod(script.stat().st_mode | stat.S_IXUSR)
    return {"ALMOND_PINOCCHIO_PYTHON": str(script), "ALMOND_SICONOS_PYTHON": "/nowhere/python"}


@pytest.mark.parametrize("part", ["problems", "nut"])
def test_who_is_interrupted_is_not_beaten(tmp_path, python, part):
    env = {**python(), **pinocchio(tmp_path, 'touch "$OUT"\nexec sleep 100')}
    report, out = interrupt(tmp_path, env, "--quick", "--part", part, "--engines", "almond,pinocchio-admm")
    assert not any("Pinocchio" in claim["claim"] for claim in report["claims"]), report["claims"]
    row = report["tables"][part][0]
    assert row["times faster" if part == "problems" else "times faster, median"] is None
    assert "interrupted" in row["best peer" if part == "problems" else "pinocchio-admm: solved"]
    assert "\ninterrupted: " in out and "none solves it" not in out and "MISSED" not in out


@pytest.mark.parametrize("part", ["problems", "nut"])
def test_who_crashes_is_not_beaten(almond, tmp_path, python, part):
    report, result = run(almond, tmp_path, {**python(), **pinocchio(tmp_path, "kill -SEGV $$")}, "--part", part, "--engines", "almond,pinocchio-admm")
    assert not any("Pinocchio" in claim["claim"] for claim in report["claims"]), report["claims"]
    assert "nothing to compare with: pinocchio-admm: crashed with signal 11" in result.err and "none solves it" not in result.out


def test_a_folder_without_problems_is_one_line(almond, tmp_path):
    result = almond("bench", "peers", "--quick", tmp_path, timeout=60)
    assert result.code == 2 and "no .hdf5, .h5, .npz or .json problem file in this folder" in result.err and result.err.count("\n") == 1


def test_an_error_is_one_line(tmp_path):
    script = Path(__file__).resolve().parents[2] / "bench" / "peer_run.py"
    done = subprocess.run([sys.executable, script, "run", "mj_firm", "stack5", "0", "1", tmp_path / "o"], capture_output=True, text=True, check=False)
    assert done.returncode == 1 and done.stderr.startswith("ValueError: no scene 'stack5'") and done.stderr.count("\n") == 1


@pytest.mark.parametrize("words, said", [
    (["--part", "bals"], "no part"), (["--engines", "mj_frim"], "did you mean mj_firm"), (["some_folder"], "cannot read this folder"),
    (["--engines", "drake_sap", "--part", "cold"], "none of --engines takes part in it; expected some of almond, mj_default"),
    (["--engines", "mj_firm", "--part", "nut"], "measured against almond"), (["--engines", "siconos-nsgs", "--part", "ball"], "none of --engines takes part"),
    (["--peers", "none"], "no effect"), (["--files-only"], "no effect"), (["/", "--part", "ball"], "expected --part problems"), (["--engines", "almond", "some_folder"], "some_folder: cannot read this folder"), (["--part", "problems", "some_folder"], "some_folder: cannot read this folder"),
    (["--engines", "almond,mj_hard", "--engines", "mj_frim"], "did you mean mj_firm"),
    (["--save", "/dev/null/x"], 'the folder "/dev/null" does not exist'), (["--save", "/nope/x/"], 'the folder "/nope" does not exist'),
    (["--replays", "/nope/a/b"], 'the folder "/nope/a" does not exist'), (["--replays", "/dev/null"], "is a file, expected a folder")])
def test_what_does_not_exist_is_said_at_once(almond, words, said):
    result = almond("bench", "peers", "--quick", *words, timeout=60)
    assert result.code == 2 and said in result.err


@pytest.mark.parametrize("words", [["--engines", "almond"], ["--replays", "folder"]])
def test_engines_are_of_this_benchmark_only(almond, words):
    result = almond("bench", "nut", "--quick", *words, timeout=60)
    assert result.code == 2 and f"{words[0]} has no effect" in result.err


def test_replays_play_all_engines(almond, tmp_path, python):
    if "without its web page" in almond("bench", "peers", "--replays", tmp_path / "replays", "--part", "none").err:
        pytest.skip("built without the page of replays")
    report, _ = run(almond, tmp_path, python(), "--part", "ball", "--engines", "almond,mj_default", "--replays", tmp_path / "replays")
    needs_mjcf(report)
    assert report["parts"][0]["replays"] == {"drop": "replays/drop.html", "roll": "replays/roll.html"}
    assert 'href="replays/drop.html"' in (tmp_path / "p.html").read_text()
    # The page holds both: `compare` finds them.
    again = almond("compare", tmp_path / "replays" / "drop.html", tmp_path / "replays" / "roll.html", "--replay", tmp_path / "all.html")
    assert again.code == 0, again.err


def test_one_engine_is_played_too(almond, tmp_path, python):
    report, result = run(almond, tmp_path, python(), "--part", "ball", "--engines", "mj_default", "--replays", tmp_path / "replays")
    if "no replays" in result.err:
        pytest.skip("built without the page of replays")
    assert set(report["parts"][0]["replays"]) == {"drop", "roll"} and f"replays: {tmp_path / 'replays'}" in result.out


def test_what_cannot_be_played_is_said(almond, tmp_path, python):
    if "without its web page" in almond("bench", "peers", "--replays", tmp_path / "replays", "--part", "none").err:
        pytest.skip("built without the page of replays")
    _, result = run(almond, tmp_path, python(), "--part", "nut", "--engines", "almond", "--replays", tmp_path / "replays")
    assert "--replays: there is nothing to play" in result.err and "replays: /" not in result.out


def test_solvers_run_where_they_are_asked_for(almond, tmp_path, python):
    report, result = run(almond, tmp_path, python(), "--part", "nut", "--part", "problems", "--engines", "almond")
    assert all(row["pinocchio-admm: solved"] == "not asked" for row in report["tables"]["nut"])
    assert "left out" not in result.err and "none of --engines is a solver" in result.err
    assert set(report["tables"]["problem_times"][0]) >= {"problem", "almond"} and len(report["tables"]["engines"]) == 1


def test_nuts_are_solved_with_or_without_pinocchio(almond, tmp_path, python):
    report, result = run(almond, tmp_path, python(), "--part", "nut")
    rows = {row["problems"]: row for row in report["tables"]["nut"]}
    assert set(rows) == {"thread120", "M48"}
    for row in rows.values():
        assert row["almond: solved"] == row["cases"] == 5 and row["pinocchio-admm: solved"] == "not installed"
    assert "Pinocchio is left out" in result.err
    assert all(claim["holds"] for claim in report["claims"])


def test_problem_files_take_part(almond, tmp_path, python, problem_file):
    env = {**python(), "ALMOND_SICONOS_PYTHON": "/nowhere/python"}
    report, result = run(almond, tmp_path, env, problem_file.parent, "--part", "problems")
    assert "Siconos is left out" in result.err and "Pinocchio is left out" in result.err
    times = {row["problem"]: row for row in report["tables"]["problem_times"]}
    assert "point" in times and times["point"]["almond"] > 0.0


def test_without_numpy_it_says_what_to_install(almond, tmp_path, python):
    env = {**python(), "ALMOND_PEERS_PYTHON": "/nowhere/python"}
    result = almond("bench", "peers", "--quick", env=env, timeout=60)
    assert result.code == 2 and 'ALMOND_PEERS_PYTHON is "/nowhere/python"' in result.err and "pip install numpy mujoco" in result.err
