"""The URDF robots of the package example-robot-data, read by us and by the library Pinocchio: masses, degrees of freedom,
limits, poses, mass matrices and forces agree to 1e-9, on a fixed and on a floating base."""

import json
import os
import subprocess
import sys
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import numpy as np
import pytest

pin = pytest.importorskip("pinocchio")

ROOT = Path(__file__).resolve().parents[2]
PROBE = Path(os.environ.get("ALMOND_ROBOT_PROBE", ROOT / "build" / "tests" / "robot_probe"))


def find_robots():
    for folder in map(Path, sys.path):
        robots = folder / "cmeel.prefix" / "share" / "example-robot-data" / "robots"
        if robots.is_dir():
            return robots
    return None


ROBOTS = find_robots()
FILES = sorted(str(f.relative_to(ROBOTS)) for f in ROBOTS.rglob("*.urdf")) if ROBOTS else []
pytestmark = [
    pytest.mark.skipif(not PROBE.exists(), reason=f"{PROBE} is not built"),
    pytest.mark.skipif(not FILES, reason="the package example-robot-data is not installed"),
]

BASES = ["fixed", "floating"]
SEEDS = [1, 2]
NO_ROBOT = {"ur_description/urdf/ur3.urdf": "no links"}  # an empty <robot>, which Pinocchio refuses too
TOLERANCE = 1e-9


@pytest.fixture(scope="module")
def robots():
    requests = [f"{ROBOTS / file} {base} no-meshes {' '.join(map(str, SEEDS))}" for file in FILES for base in BASES]
    done = subprocess.run(
        [str(PROBE)], input="\n".join(requests), capture_output=True, text=True, check=True, timeout=120
    )
    lines = done.stdout.splitlines()
    assert len(lines) == len(requests) and not done.stderr, done.stderr
    answers = map(json.loads, lines)
    return {(file, base): next(answers) for file in FILES for base in BASES}


def rotation(q):
    """Of a quaternion w, x, y, z."""
    return pin.Quaternion(q[0], q[1], q[2], q[3]).toRotationMatrix()


class Twin:
    """Pinocchio's model of the same file, with the map v_pin = T v and its rate T' v at constant v.

    Mimic joints are joints of their own in both. A joint that moves nothing with mass has no dof here; Pinocchio's is
    left at 0. A free joint's velocity is that of the frame's origin in the body's axes there, that of the link's centre
    of mass in the world's axes here.
    """

    def __init__(self, file, base, robot):
        path = str(ROBOTS / file)
        free = [pin.JointModelFreeFlyer()] if base == "floating" else []
        self.model = pin.buildModelFromUrdf(path, *free)
        self.model.gravity.linear = np.array(robot["gravity"])
        self.data = self.model.createData()
        self.moving = [body for body in robot["bodies"] if body["kind"] != "fixed"]

    def set_state(self, state):
        model = self.model
        q, v = np.array(state["q"]), np.array(state["v"])
        self.q = pin.neutral(model)
        self.T = np.zeros((model.nv, len(v)))
        self.T_rate_v = np.zeros(model.nv)
        for body in self.moving:
            joint = model.joints[model.getJointId(body["joint"])]
            iq, iv, kq, kv = joint.idx_q, joint.idx_v, body["q_begin"], body["v_begin"]
            if body["kind"] != "free":
                self.q[iq : iq + joint.nq] = q[kq] if joint.nq == 1 else (np.cos(q[kq]), np.sin(q[kq]))
                self.T[iv, kv] = 1.0
                continue
            R = rotation(q[kq + 3 : kq + 7])
            self.q[iq : iq + 7] = [*q[kq : kq + 3], *q[kq + 4 : kq + 7], q[kq + 3]]
            self.T[iv : iv + 3, kv : kv + 3] = R.T
            self.T[iv : iv + 3, kv + 3 : kv + 6] = R.T @ pin.skew(R @ np.array(body["com"]))
            self.T[iv + 3 : iv + 6, kv + 3 : kv + 6] = R.T
            self.T_rate_v[iv : iv + 3] = -R.T @ np.cross(v[kv + 3 : kv + 6], v[kv : kv + 3])
        self.v = self.T @ v


def read_xml(file):
    return ElementTree.parse(ROBOTS / file).getroot()


def welded(robot):
    """Names of the joints that were welded because they move no mass."""
    lines = [line.split(": ")[1] for line in robot["said"] if line.startswith("joints that move nothing")]
    return set(lines[0].replace('"', "").split(", ")) if lines else set()


@pytest.fixture(params=[file for file in FILES if file not in NO_ROBOT])
def file(request):
    return request.param


@pytest.fixture(params=BASES)
def base(request):
    return request.param


@pytest.fixture
def pair(robots, file, base):
    robot = robots[file, base]
    assert "error" not in robot, robot["error"]
    return robot, Twin(file, base, robot)


def test_masses_joints_and_limits(pair, file, base):
    robot, twin = pair
    xml = read_xml(file)
    mass = sum(float(m.get("value")) for m in xml.findall("link/inertial/mass"))
    assert robot["mass"] == pytest.approx(mass, rel=1e-12)
    assert robot["mass"] == pytest.approx(sum(inertia.mass for inertia in twin.model.inertias), rel=1e-9)

    still = welded(robot)
    assert robot["num_v"] + len(still) == twin.model.nv
    assert {body["joint"] for body in twin.moving} | still == set(twin.model.names[1:])
    # Bodies and joints come in Pinocchio's order.
    assert [body["joint"] for body in twin.moving] == [name for name in twin.model.names[1:] if name not in still]

    limits = {joint.get("name"): joint.find("limit") for joint in xml.findall("joint")}
    for body in twin.moving:
        joint = twin.model.joints[twin.model.getJointId(body["joint"])]
        limit = limits.get(body["joint"])
        if body["kind"] in ("free", "continuous"):
            assert (body["lower"], body["upper"]) == (-1e300, 1e300)
        elif limit.get("lower") is None and limit.get("upper") is None:
            assert (body["lower"], body["upper"]) == (-1e300, 1e300)  # 0 and 0 in Pinocchio: it could not move
        else:
            assert body["lower"] == twin.model.lowerPositionLimit[joint.idx_q]
            assert body["upper"] == twin.model.upperPositionLimit[joint.idx_q]
    for motor in robot["motors"]:
        limit = limits[motor["joint"]]
        if limit is None:
            assert (motor["effort"], motor["velocity"]) == (1e300, 1e300)
        else:
            assert (motor["effort"], motor["velocity"]) == (float(limit.get("effort")), float(limit.get("velocity")))


def test_poses(pair):
    robot, twin = pair
    for state in robot["states"]:
        twin.set_state(state)
        pin.framesForwardKinematics(twin.model, twin.data, twin.q)
        for body, pose in zip(robot["bodies"], state["poses"]):
            X = twin.data.oMf[twin.model.getFrameId(body["name"], pin.FrameType.BODY)]
            assert np.abs(X.rotation - pose["R"]).max() < TOLERANCE
            assert np.abs(X.translation - pose["p"]).max() < TOLERANCE * max(1.0, np.abs(X.translation).max())


def test_dynamics(pair):
    robot, twin = pair
    model, data = twin.model, twin.data
    if robot["num_v"] == 0:
        return
    for state in robot["states"]:
        twin.set_state(state)
        M = pin.crba(model, data, twin.q)
        M = np.triu(M) + np.triu(M, 1).T
        ours, theirs = np.array(state["M"]), twin.T.T @ M @ twin.T
        # Entry by entry in the scale of its two dofs, so that a finger counts as much as the trunk.
        scale = np.sqrt(np.abs(np.diag(theirs)))
        assert np.abs((ours - theirs) / np.outer(scale, scale)).max() < TOLERANCE

        gravity = -twin.T.T @ pin.computeGeneralizedGravity(model, data, twin.q)
        assert np.abs(gravity - state["f"]).max() < TOLERANCE * max(1.0, np.abs(gravity).max())

        # M_pin (T v' + T' v) + h = 0 with v' = M^-1 (f - c)
        h = pin.nonLinearEffects(model, data, twin.q, twin.v)
        force = -twin.T.T @ (h + M @ twin.T_rate_v)
        total = np.array(state["f"]) - state["c"]
        assert np.abs(force - total).max() < TOLERANCE * max(1.0, np.abs(force).max())


@pytest.mark.parametrize("file", sorted(NO_ROBOT))
def test_no_robot(robots, file):
    assert NO_ROBOT[file] in robots[file, "fixed"]["error"]
    with pytest.raises(Exception):
        pin.buildModelFromUrdf(str(ROBOTS / file))


def test_closures_follow_the_mimics(robots):
    count = 0
    for file in FILES:
        robot = robots[file, "fixed"]
        if file in NO_ROBOT:
            continue
        moving = {body["joint"] for body in robot["bodies"] if body["kind"] != "fixed"}
        expected = {}
        for joint in read_xml(file).findall("joint"):
            mimic = joint.find("mimic")
            if mimic is not None and {joint.get("name"), mimic.get("joint")} <= moving:
                expected[joint.get("name")] = (
                    mimic.get("joint"),
                    float(mimic.get("multiplier", 1.0)),
                    float(mimic.get("offset", 0.0)),
                )
        got = {c["a"]: (c["b"], c["ratio"], c["offset"]) for c in robot["closures"]}
        assert got == expected, file
        count += len(got)
    assert count > 20
