"""MuJoCo beside MuJoCo with Almond: the benchmark's figures, robots of others, environments of others."""

import contextlib

import numpy as np
import pytest

mujoco = pytest.importorskip("mujoco")
am = pytest.importorskip("almond.mujoco")


def test_bench_shows_what_exact_contact_changes(tmp_path, capsys):
    import json

    from almond import bench_mujoco

    bench_mujoco.main(["--only", "steep", "pair", "grasp", "--json", str(tmp_path / "b.json")])
    scenes = json.loads((tmp_path / "b.json").read_text())["scenes"]
    assert [s["name"] for s in scenes] == ["steep", "pair", "grasp"]
    for scene in scenes:
        assert abs(scene["almond"]["value"]) < 1e-3 < 1.0 < scene["mujoco"]["value"], scene
        assert scene["almond"]["unsolved"] == 0 and scene["almond"]["residual"]["worst"] <= 1e-8
    assert "grasp" in capsys.readouterr().out
    with pytest.raises(SystemExit):
        bench_mujoco.main(["--only", "nothing"])
    assert "nothing" in capsys.readouterr().err


def test_robots_of_others_take_every_step():
    from almond import bench_mujoco

    robots = bench_mujoco.find_robots()
    if not robots:
        pytest.skip("neither gymnasium nor dm_control is installed")
    for name in robots:
        if name in ("gym/ant", "gym/hopper", "gym/walker2d", "dm/quadruped", "dm/humanoid", "dm/stacker"):
            result = bench_mujoco.bench_robot(name, robots[name], 0.5)
            assert result["almond"]["finite"] and result["almond"]["unsolved"] == 0, name
            assert result["almond"]["residual"]["worst"] <= 1e-7


def test_gymnasiums_environments_run_patched():
    gymnasium = pytest.importorskip("gymnasium")
    pytest.importorskip("imageio")  # Gymnasium asks for it
    lowest = []
    for exact in (True, False):
        env = gymnasium.make("Hopper-v5", terminate_when_unhealthy=False)
        inner = env.unwrapped
        env.reset(seed=3)
        deepest = 0.0
        with am.patched() if exact else contextlib.nullcontext():
            for _ in range(100):
                env.step(np.zeros(inner.model.nu))
                contact = inner.data.contact
                deepest = max(deepest, float(np.max(contact.includemargin - contact.dist, initial=0.0)) if not exact else am.stepper_of(inner.data).overlap)
        lowest.append(deepest)
    assert lowest[0] < 1e-4 < 1e-3 < lowest[1]  # it falls onto its foot, and lies on the floor instead of in it
