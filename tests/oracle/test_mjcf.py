"""Every MJCF file that ships with gymnasium, dm_control and robosuite against MuJoCo itself: mass, velocities, limits,
poses, mass matrix and bias forces at random states; and the model written back, read by MuJoCo again."""

import importlib.util
import json
import os
import subprocess
from pathlib import Path

import numpy as np
import pytest

mujoco = pytest.importorskip("mujoco")

ROOT = Path(__file__).resolve().parents[2]
PROBE = Path(os.environ.get("ALMOND_MJCF_PROBE", ROOT / "build" / "tests" / "mjcf_probe"))
pytestmark = pytest.mark.skipif(not PROBE.exists(), reason=f"{PROBE} is not built (MuJoCo was not found)")

STATES = 2


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


def ask(requests):
    text = "\n".join(json.dumps(request) for request in requests) + "\n"
    done = subprocess.run([str(PROBE)], input=text, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]


def random_state(model, random):
    qpos = np.array(model.qpos0)
    for j in range(model.njnt):
        at = model.jnt_qposadr[j]
        if model.jnt_type[j] == mujoco.mjtJoint.mjJNT_FREE:
            qpos[at:at + 3] = random.normal(size=3)
            qpos[at + 3:at + 7] = random.normal(size=4)
        elif model.jnt_type[j] == mujoco.mjtJoint.mjJNT_BALL:
            qpos[at:at + 4] = random.normal(size=4)
        else:
            qpos[at] = random.normal()
    mujoco.mj_normalizeQuat(model, qpos)
    return qpos, random.normal(size=model.nv)


@pytest.fixture(scope="module")
def cases(tmp_path_factory):
    """Of each file that MuJoCo loads: its model, the states asked for, our answer, and where the model was written."""
    folder = tmp_path_factory.mktemp("exported")
    random = np.random.default_rng(1)
    found, requests = [], []
    for i, path in enumerate(FILES):
        model = load(path)
        if model is None:
            continue
        states = [random_state(model, random) for _ in range(STATES)]
        exported = folder / f"{i}.xml"
        found.append([path, model, states, None, exported])
        requests.append({"file": str(path), "export": str(exported),
                         "states": [{"qpos": q.tolist(), "qvel": v.tolist()} for q, v in states]})
    for case, answer in zip(found, ask(requests)):
        case[3] = answer
    return found


def name_of(path):
    return "/".join(path.parts[-4:])


def velocity_map(model, data, answer):
    """T and T' q' with v = T q': a free joint's v is that of the centre of mass in the world's axes here."""
    T, rate = np.zeros((answer["nv"], model.nv)), np.zeros(answer["nv"])
    for j, joint in enumerate(answer["joints"]):
        ours, theirs = joint["v_begin"], model.jnt_dofadr[j]
        at = model.jnt_qposadr[j]
        quaternion = data.qpos[at + 3:at + 7] if joint["kind"] == "free" else data.qpos[at:at + 4]
        if joint["kind"] in ("free", "ball"):
            R = np.zeros(9)
            mujoco.mju_quat2Mat(R, quaternion)
            R = R.reshape(3, 3)
        if joint["kind"] == "free":
            arm = R @ np.array(joint["com"])
            skew = np.array([[0, -arm[2], arm[1]], [arm[2], 0, -arm[0]], [-arm[1], arm[0], 0]])
            omega = R @ data.qvel[theirs + 3:theirs + 6]
            T[ours:ours + 3, theirs:theirs + 3] = np.eye(3)
            T[ours:ours + 3, theirs + 3:theirs + 6] = -skew @ R
            T[ours + 3:ours + 6, theirs + 3:theirs + 6] = R
            rate[ours:ours + 3] = np.cross(omega, np.cross(omega, arm))
        elif joint["kind"] == "ball":
            T[ours:ours + 3, theirs:theirs + 3] = R
        else:
            T[ours, theirs] = 1.0
    return T, rate


def test_files_are_there(cases):
    if not FILES:
        pytest.skip("none of gymnasium, dm_control and robosuite is installed")
    assert len(cases) >= 20


def test_what_mujoco_loads_loads(cases):
    errors = [f"{name_of(path)}: {answer['error']}" for path, _, _, answer, _ in cases if "error" in answer]
    assert not errors, "\n".join(errors)


def test_masses_and_limits(cases):
    for path, model, _, answer, _ in cases:
        assert answer["nv"] == model.nv and answer["nq"] == model.nq, name_of(path)
        total = model.body_mass[1:].sum()
        assert abs(answer["mass"] - total) <= 1e-12 * max(1.0, total), name_of(path)
        for j, joint in enumerate(answer["joints"]):
            limited = model.jnt_limited[j] and joint["kind"] in ("revolute", "prismatic")
            expected = list(model.jnt_range[j]) if limited else [None, None]
            assert joint["range"] == expected, (name_of(path), j)


def test_dynamics(cases):
    worst = 0.0
    for path, model, states, answer, _ in cases:
        data = mujoco.MjData(model)
        for (qpos, qvel), ours in zip(states, answer["states"]):
            data.qpos[:], data.qvel[:] = qpos, qvel
            mujoco.mj_forward(model, data)
            scale = max(1.0, np.abs(data.xpos).max())
            for body in range(model.nbody):
                if model.body_mocapid[body] >= 0:
                    continue
                assert np.abs(ours["poses"][body]["p"] - data.xpos[body]).max() <= 1e-9 * scale, (name_of(path), body)
                assert np.abs(ours["poses"][body]["R"] - data.xmat[body].reshape(3, 3)).max() <= 1e-9, name_of(path)
            if model.nv == 0:
                continue
            T, rate = velocity_map(model, data, answer)
            M = np.array(ours["M"])
            theirs = np.zeros((model.nv, model.nv))
            mujoco.mj_fullM(model, data, theirs) if mujoco.mj_versionString() >= "4" else mujoco.mj_fullM(model, theirs, data.qM)
            error = np.abs(T.T @ M @ T - theirs).max() / np.abs(theirs).max()
            worst = max(worst, error)
            assert error <= 1e-9, (name_of(path), "mass matrix", error)
            # M v' + c = f with v' = T q'' + T' q' and q'' of MuJoCo's free motion.
            acceleration = np.linalg.solve(theirs, -data.qfrc_bias)
            balance = T.T @ (M @ (T @ acceleration + rate) + ours["c"] - ours["f"])
            size = max(1e-6 * np.abs(theirs).max(), np.abs(data.qfrc_bias).max(), np.abs(T.T @ np.array(ours["c"])).max())
            assert np.abs(balance).max() <= 1e-9 * size, (name_of(path), "bias", np.abs(balance).max() / size)
    print(f"{len(cases)} files, worst mass matrix {worst:.1e}")


def test_round_trip(cases):
    """Written as MJCF and read by MuJoCo: masses, frames and inertias as they were."""
    for path, model, states, answer, exported in cases:
        again = mujoco.MjModel.from_xml_path(str(exported))
        assert again.nv == model.nv and again.nq == model.nq, name_of(path)
        one, two = mujoco.MjData(model), mujoco.MjData(again)
        assert np.abs(again.body_mass.sum() - model.body_mass[1:].sum()) <= 1e-12 * max(1.0, model.body_mass.sum())
        qpos, qvel = states[0]
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
