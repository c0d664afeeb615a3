"""Every MJCF file that ships with gymnasium, dm_control and robosuite against MuJoCo itself: mass, velocities, limits,
poses, mass matrix and bias forces at random states, a free motion of 1 s; and the model written back, read by MuJoCo again."""

import importlib.util
from pathlib import Path

import numpy as np
import pytest

mujoco = pytest.importorskip("mujoco")
pytest.importorskip("scipy")

from robots import TOLERANCE, ask, check_motion, free_motion, needs_probe  # noqa: E402
from peers_robots import MjcfTwin, motion_errors  # noqa: E402

pytestmark = needs_probe

SEEDS = [1, 2]
# Seconds of free motion where it is not 1: without limits and dampers light links come to whirl at 100 to 600 rad/s, small errors
# of the start grow up to a million times, and no step down to 1/15360 s follows them for longer.
SECONDS = {"drosophila_fused.xml": 0.02, "rodent.xml": 0.3, "manipulator.xml": 0.3, "stacker.xml": 0.3, "kinova3/robot.xml": 0.3,
           "robotiq_gripper_s.xml": 0.3}


def find_files():
    files = []
    for package in ("gymnasium", "dm_control", "robosuite"):
        spec = importlib.util.find_spec(package)
        if spec is not None:
            folder = Path(spec.submodule_search_locations[0])
            files += sorted(path for path in folder.rglob("*.xml"))
    return files


FILES = find_files()


def load(path):
    try:
        return mujoco.MjModel.from_xml_path(str(path))
    except ValueError:
        return None


@pytest.fixture(scope="module")
def cases(tmp_path_factory):
    """Of each file that MuJoCo loads: its model, our answer, and where the model was written."""
    folder = tmp_path_factory.mktemp("exported")
    found, requests = [], []
    for i, path in enumerate(FILES):
        model = load(path)
        if model is not None:
            exported = folder / f"{i}.xml"
            seconds = next((time for name, time in SECONDS.items() if str(path).endswith(name)), 1.0)
            found.append([path, model, None, exported])
            requests.append({"file": str(path), "export": str(exported), "seeds": SEEDS, "motion": free_motion(seconds)})
    for case, answer in zip(found, ask(requests)):
        case[2] = answer
    return found


def name_of(path):
    return "/".join(path.parts[-4:])


def test_files_are_there(cases):
    if not FILES:
        pytest.skip("none of gymnasium, dm_control and robosuite is installed")
    assert len(cases) >= 20


def test_what_mujoco_loads_loads(cases):
    errors = [f"{name_of(path)}: {answer['error']}" for path, _, answer, _ in cases if "error" in answer]
    assert not errors, "\n".join(errors)


def test_masses_and_limits(cases):
    for path, _, answer, _ in cases:
        assert MjcfTwin(answer).differences() == [], name_of(path)


def test_dynamics(cases):
    worst = {"pose": 0.0, "mass matrix": 0.0, "bias": 0.0}
    for path, _, answer, _ in cases:
        twin = MjcfTwin(answer)
        for state in answer["states"]:
            for name, error in twin.errors(state).items():
                assert error <= TOLERANCE, (name_of(path), name, error)
                worst[name] = max(worst[name], error)
    print(f"{len(cases)} files, worst {worst}")


def test_free_motion(cases):
    for path, _, answer, _ in cases:
        if answer["model"]["num_v"] > 0:
            print(name_of(path))
            check_motion(motion_errors(MjcfTwin(answer), answer["motion"]))


def test_round_trip(cases):
    """Written as MJCF and read by MuJoCo: masses, frames and inertias as they were."""
    for path, model, answer, exported in cases:
        again = mujoco.MjModel.from_xml_path(str(exported))
        assert again.nv == model.nv and again.nq == model.nq, name_of(path)
        one, two = mujoco.MjData(model), mujoco.MjData(again)
        assert np.abs(again.body_mass.sum() - model.body_mass[1:].sum()) <= 1e-12 * max(1.0, model.body_mass.sum())
        qpos = answer["states"][0]["q"]
        one.qpos[:], two.qpos[:] = qpos, qpos
        mujoco.mj_forward(model, one)
        mujoco.mj_forward(again, two)
        for body in range(1, model.nbody):
            name = mujoco.mj_id2name(model, mujoco.mjtObj.mjOBJ_BODY, body) or f"body{body}"
            twin = mujoco.mj_name2id(again, mujoco.mjtObj.mjOBJ_BODY, name)
            assert twin >= 0, (name_of(path), name)
            if model.body_mocapid[body] >= 0:
                continue
            scale = max(1.0, np.abs(one.xpos).max())
            assert np.abs(one.xpos[body] - two.xpos[twin]).max() <= 1e-12 * scale, (name_of(path), name)
            assert np.abs(one.xmat[body] - two.xmat[twin]).max() <= 1e-12, (name_of(path), name)
            assert abs(model.body_mass[body] - again.body_mass[twin]) <= 1e-12 * model.body_mass[body]
            Ia, Ib = (d.ximat[b].reshape(3, 3) @ np.diag(m.body_inertia[b]) @ d.ximat[b].reshape(3, 3).T
                      for m, d, b in ((model, one, body), (again, two, twin)))
            assert np.abs(Ia - Ib).max() <= 1e-12 * max(np.abs(Ia).max(), 1e-300), (name_of(path), name)
            assert np.abs(one.xipos[body] - two.xipos[twin]).max() <= 1e-12 * scale, (name_of(path), name)
