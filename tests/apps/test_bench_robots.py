"""`almond bench robots`: robot files of a folder fall and are compared with other libraries where there are any; whatever one file
or one library does, the others have their turn."""

import importlib.util
import json
import stat
import sys

import pytest

from test_robot_files import MJCF, URDF

NOWHERE = {"ALMOND_PINOCCHIO_PYTHON": "/nowhere/bin/python"}


@pytest.fixture
def folder(tmp_path):
    inside = tmp_path / "robots" / "deep"
    inside.mkdir(parents=True)
    (inside / "arm.urdf").write_text(URDF)
    (tmp_path / "robots" / "package.xml").write_text("<?xml version='1.0'?><!-- <mujoco> --><package/>")
    return tmp_path / "robots"


def run(almond, folder, tmp_path, env=NOWHERE, *words):
    result = almond("bench", "robots", folder, "--quick", *words, "--json", tmp_path / "b.json", env=env)
    assert result.code == 0, result.err
    return json.loads((tmp_path / "b.json").read_text()), result


def has(*modules):
    return all(importlib.util.find_spec(module) for module in (*modules, "numpy", "scipy"))


def test_falls_without_other_libraries(almond, folder, tmp_path):
    report, result = run(almond, folder, tmp_path)
    row, = report["tables"][str(folder)]
    assert row["file"] == "deep/arm.urdf" and (row["bodies"], row["dofs"]) == (2, 7) and row["mass [kg]"] == pytest.approx(1.005)
    assert row["steps not solved"] == "0 of 120" and row["deepest overlap [mm]"] < 0.1 and row["pose error"] is None
    claim, = report["claims"]
    assert claim["claim"] == "0.5 s of fall on a floor" and claim["holds"] and claim["measured"] == "1 of 1"
    assert "Pinocchio is left out" in result.err and "MuJoCo is left out" in result.err
    assert "1 .xml files that are no MJCF models were passed over" in result.err


def test_peers_none_says_nothing_of_them(almond, folder, tmp_path):
    _, result = run(almond, folder, tmp_path, {}, "--peers", "none")
    assert "left out" not in result.err


@pytest.mark.skipif(not has("pinocchio"), reason="Pinocchio is not installed")
def test_agrees_with_pinocchio(almond, folder, tmp_path):
    report, _ = run(almond, folder, tmp_path, {"ALMOND_PINOCCHIO_PYTHON": sys.executable})
    row, = report["tables"][str(folder)]
    assert row["limits"] == "same"
    assert max(row["pose error"], row["M error"], row["bias error"]) < 1e-12
    # Falling from rest and turning slowly: g dt / 2 at 240 Hz, of first order; the leapfrog is of second.
    assert 1e-3 < row["motion error"] < 0.1 and row["order"] == pytest.approx(1.0, abs=0.05)
    assert row["leapfrog error"] < 1e-3 and row["leapfrog order"] == pytest.approx(2.0, abs=0.05)
    assert len(report["claims"]) == 5 and all(claim["holds"] for claim in report["claims"])


@pytest.mark.skipif(not has("mujoco"), reason="MuJoCo is not installed")
def test_agrees_with_mujoco(almond, folder, tmp_path):
    (folder / "world.xml").write_text(MJCF)
    if almond("inspect", folder / "world.xml").code != 0:
        pytest.skip("built without MuJoCo")
    (folder / "broken.xml").write_text("<mujoco><worldbody><body><joint type='screw'/></body></worldbody></mujoco>")
    (folder / "still.xml").write_text("<mujoco><worldbody><geom size='1'/></worldbody></mujoco>")
    report, result = run(almond, folder, tmp_path, {"ALMOND_PINOCCHIO_PYTHON": sys.executable})
    row = next(row for row in report["tables"][str(folder)] if row["file"] == "robots/world.xml")
    assert row["dofs"] == 7 and row["limits"] == "same" and max(row["pose error"], row["M error"], row["bias error"]) < 1e-12
    refused = {row["file"]: row for row in report["tables"]["refused"]}
    assert "screw" in refused["robots/broken.xml"]["here"] and "screw" in refused["robots/broken.xml"]["there"]
    assert "1 files without degrees of freedom" in result.err


def test_a_script_that_ends_early_is_told(almond, folder, tmp_path):
    fake = tmp_path / "python"
    fake.write_text('#!/bin/sh\n[ "$1" = "-c" ] && exit 0\necho no such luck >&2\nexit 3\n')
    fake.chmod(fake.stat().st_mode | stat.S_IXUSR)
    report, _ = run(almond, folder, tmp_path, {"ALMOND_PINOCCHIO_PYTHON": str(fake)})
    row, = report["tables"]["refused"]
    assert row["file"] == "deep/arm.urdf" and "no such luck" in row["there"]
    assert len(report["claims"]) == 1


def test_no_folder_and_no_robots(almond, tmp_path):
    result = almond("bench", "robots", tmp_path / "absent", env=NOWHERE)
    assert result.code == 2 and "cannot read this folder" in result.err
    result = almond("bench", "robots", tmp_path, env=NOWHERE)
    assert result.code == 2 and "no robot files" in result.err
    result = almond("bench", "robots", env=NOWHERE)
    assert result.code == 0 and "no robot files" in result.err
