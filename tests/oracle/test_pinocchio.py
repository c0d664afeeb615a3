"""Poses, mass matrix, velocity products and gravity of random trees against the library Pinocchio, to 1e-10."""

import json
import os
import subprocess
from pathlib import Path

import numpy as np
import pytest

pin = pytest.importorskip("pinocchio")

ROOT = Path(__file__).resolve().parents[2]
PROBE = Path(os.environ.get("ALMOND_TREE_PROBE", ROOT / "build" / "tests" / "tree_probe"))
pytestmark = pytest.mark.skipif(not PROBE.exists(), reason=f"{PROBE} is not built")

SEEDS = range(20)


@pytest.fixture(scope="module")
def cases():
    words = [str(PROBE), *map(str, SEEDS)]
    done = subprocess.run(words, capture_output=True, text=True, check=True, timeout=60)
    return [json.loads(line) for line in done.stdout.splitlines()]


def rotation(q):
    """Of a quaternion w, x, y, z."""
    return pin.Quaternion(q[0], q[1], q[2], q[3]).toRotationMatrix()


def depth_first(bodies, root=-1):
    """The order in which Pinocchio wants its joints: each one's descendants follow it without a break."""
    for index, body in enumerate(bodies):
        if body["parent"] == root:
            yield index
            yield from depth_first(bodies, index)


class Twin:
    """A case rebuilt in Pinocchio, with the map v_pin = T v and its rate T' v at constant v.

    Pinocchio's joints lie at the anchor, so a body's frame is off its joint's by -anchor. A ball's velocity is in the
    body's axes there, in the parent's here. A free joint's is that of the frame's origin in the body's axes there, that
    of the centre of mass in the world's axes here.
    """

    def __init__(self, case):
        q, v = np.array(case["q"]), np.array(case["v"])
        self.model = pin.Model()
        self.model.gravity.linear = np.array(case["gravity"])
        self.joint, self.X_JB = {}, {}  # of each body: Pinocchio's joint and the body's frame in it
        for index in depth_first(case["bodies"]):
            body = case["bodies"][index]
            X_PJ = pin.SE3(np.array(body["R"]), np.array(body["p"]))
            axis, anchor = np.array(body["axis"]), np.array(body["anchor"])
            parent = body["parent"]
            above, X_above = (0, pin.SE3.Identity()) if parent < 0 else (self.joint[parent], self.X_JB[parent])
            inertia = pin.Inertia(body["mass"], np.array(body["com"]), np.array(body["inertia"]))
            kind = body["kind"]
            if kind == "fixed":
                joint, X_JB = above, X_above * X_PJ
            else:
                anchor = anchor if kind in ("revolute", "ball") else np.zeros(3)
                shift = pin.SE3(np.eye(3), anchor)
                model = {
                    "revolute": lambda: pin.JointModelRevoluteUnaligned(axis),
                    "prismatic": lambda: pin.JointModelPrismaticUnaligned(axis),
                    "ball": pin.JointModelSpherical,
                    "free": pin.JointModelFreeFlyer,
                }[kind]()
                joint = self.model.addJoint(above, model, X_above * X_PJ * shift, f"j{index}")
                X_JB = shift.inverse()
            if joint > 0:
                self.model.appendBodyToJoint(joint, inertia, X_JB)
            self.joint[index], self.X_JB[index] = joint, X_JB
        self.data = self.model.createData()
        self.q = np.zeros(self.model.nq)
        self.T = np.zeros((self.model.nv, len(v)))
        self.T_rate_v = np.zeros(self.model.nv)
        for index, body in enumerate(case["bodies"]):
            joint = self.joint[index]
            if body["kind"] == "fixed":
                continue
            iq, iv = self.model.joints[joint].idx_q, self.model.joints[joint].idx_v
            kq, kv = body["q_begin"], body["v_begin"]
            if body["kind"] in ("revolute", "prismatic"):
                self.q[iq] = q[kq]
                self.T[iv, kv] = 1.0
            elif body["kind"] == "ball":
                self.q[iq : iq + 4] = [*q[kq + 1 : kq + 4], q[kq]]
                self.T[iv : iv + 3, kv : kv + 3] = rotation(q[kq : kq + 4]).T
            else:
                R = rotation(q[kq + 3 : kq + 7])
                self.q[iq : iq + 7] = [*q[kq : kq + 3], *q[kq + 4 : kq + 7], q[kq + 3]]
                arm = R @ np.array(body["com"])
                self.T[iv : iv + 3, kv : kv + 3] = R.T
                self.T[iv : iv + 3, kv + 3 : kv + 6] = R.T @ pin.skew(arm)  # -w x arm = arm x w
                self.T[iv + 3 : iv + 6, kv + 3 : kv + 6] = R.T
                self.T_rate_v[iv : iv + 3] = -R.T @ np.cross(v[kv + 3 : kv + 6], v[kv : kv + 3])
        self.v = self.T @ v


@pytest.mark.parametrize("seed", SEEDS)
def test_tree(cases, seed):
    case = cases[seed]
    twin = Twin(case)
    model, data = twin.model, twin.data
    assert model.nv == len(case["v"]) and model.nq == len(case["q"])

    pin.forwardKinematics(model, data, twin.q, twin.v)
    for index, pose in enumerate(case["poses"]):
        X = data.oMi[twin.joint[index]] * twin.X_JB[index]
        assert np.abs(X.rotation - pose["R"]).max() < 1e-10
        assert np.abs(X.translation - pose["p"]).max() < 1e-10

    M = pin.crba(model, data, twin.q)
    M = np.triu(M) + np.triu(M, 1).T
    ours = np.array(case["M"])
    assert np.abs(twin.T.T @ M @ twin.T - ours).max() < 1e-10 * max(1.0, np.abs(ours).max())

    gravity = -twin.T.T @ pin.computeGeneralizedGravity(model, data, twin.q)
    assert np.abs(gravity - case["f_rest"]).max() < 1e-10 * max(1.0, np.abs(gravity).max())

    # M_pin (T v' + T' v) + h = 0 with M v' = f - c
    h = pin.nonLinearEffects(model, data, twin.q, twin.v)
    force = -twin.T.T @ (h + M @ twin.T_rate_v)
    assert np.abs(force - case["f"]).max() < 1e-10 * max(1.0, np.abs(force).max())

def test_velocity_products_matter(cases):
    parts = [np.abs(np.array(case["f"]) - case["f_rest"]).max() for case in cases]
    assert np.count_nonzero(np.array(parts) > 1e-2) >= 15

def test_all_joints_appear(cases):
    kinds = [body["kind"] for case in cases for body in case["bodies"]]
    for kind in ("revolute", "prismatic", "ball", "free", "fixed"):
        assert kinds.count(kind) >= 5, kind
    assert any(body["single"] for case in cases for body in case["bodies"])
    assert any(
        body["kind"] == "free" and not body["single"] for case in cases for body in case["bodies"]
    ), "a floating tree"
