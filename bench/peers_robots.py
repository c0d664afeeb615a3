#!/usr/bin/env python3
"""Robot files in other people's hands: URDF in Pinocchio, MJCF in MuJoCo, against what we made of them.

    peers_robots.py ANSWERS OUT

ANSWERS has one answer of bench/robot_answers.hpp per line; each line of OUT says how far the same file is from it. The oracles
in tests/oracle use the same classes.
"""

import json
import math
import sys
import xml.etree.ElementTree as ElementTree

import numpy as np
from scipy.integrate import solve_ivp

NO_LIMIT = (-1e300, 1e300)  # as the answers write infinity
EMPTY = {"bodies": [], "joints": [], "gravity": [0.0, 0.0, 0.0]}  # to ask a library about a file that we refuse
MOST_RATES = 100_000  # evaluations of a motion
NUDGE = 1e-7  # of the velocities at the start, to see how it grows
SAME = 1e-9  # ends of motions so near have no order: rounding, and the tolerance of follow()
NEAR = 0.1  # and so far apart they have none yet


def rotation(w, x, y, z):
    """Of a quaternion of any length."""
    n = w * w + x * x + y * y + z * z
    return np.eye(3) + 2 / n * np.array([[-y * y - z * z, x * y - w * z, x * z + w * y],
                                         [x * y + w * z, -x * x - z * z, y * z - w * x],
                                         [x * z - w * y, y * z + w * x, -x * x - y * y]])


def skew(a):
    return np.array([[0, -a[2], a[1]], [a[2], 0, -a[0]], [-a[1], a[0], 0]])


def quaternion_rate(q, omega):
    """Of w, x, y, z under an angular velocity in the body's axes."""
    return 0.5 * np.concatenate(([-q[1:] @ omega], q[0] * omega + np.cross(q[1:], omega)))


def pose_error(ours, theirs):
    """Rotations entry by entry, positions by their size where that is more than 1 m. None: not compared."""
    worst = 0.0
    for pose, X in zip(ours, theirs, strict=True):
        if X is not None:
            p, R = X
            worst = max(worst, np.abs(pose["R"] - R).max(), np.abs(pose["p"] - p).max() / max(1.0, np.abs(p).max()))
    return float(worst)


def matrix_error(ours, theirs):
    """Entry by entry in the scale of its two dofs, so that a finger counts as much as the trunk."""
    scale = np.sqrt(np.abs(np.diag(theirs)))
    return float(np.abs((ours - theirs) / np.outer(scale, scale)).max(initial=0.0))


class UrdfTwin:
    """Pinocchio's model of a URDF file, with the map v_pin = T v and its rate T' v at constant v.

    Mimic joints are joints of their own in both. A joint that moves nothing with mass has no dof here; Pinocchio's is left at 0.
    A free joint's velocity is that of the frame's origin in the body's axes there, that of the link's centre of mass in the
    world's axes here.
    """

    def __init__(self, answer):
        import pinocchio as pin

        self.pin, self.answer, self.robot = pin, answer, answer["model"]
        free = [pin.JointModelFreeFlyer()] if answer["base"] == "floating" else []
        self.model = pin.buildModelFromUrdf(answer["file"], *free)
        self.model.gravity.linear = np.array(self.robot["gravity"])
        self.data = self.model.createData()
        self.moving = [body for body in self.robot["bodies"] if body["kind"] != "fixed"]
        joints = list(self.model.joints)[1:]
        self.free = [j for j in joints if j.nq == 7]
        self.circles = [j for j in joints if (j.nq, j.nv) == (2, 1)]
        self.lines = [j for j in joints if j.nq == j.nv]
        # Joints that move no mass stay where they are: a rotor keeps the articulated-body algorithm from dividing 0 by 0.
        for joint in joints:
            if self.model.names[joint.id] in self.welded():
                self.model.armature[joint.idx_v] = 1.0
        self.frames = [self.model.getFrameId(body["name"], pin.FrameType.BODY) for body in self.robot["bodies"]]

    def set_state(self, state):
        model = self.model
        q, v = np.array(state["q"]), np.array(state["v"])
        self.q = self.pin.neutral(model)
        self.T = np.zeros((model.nv, len(v)))
        self.T_rate_v = np.zeros(model.nv)
        for body in self.moving:
            joint = model.joints[model.getJointId(body["joint"])]
            iq, iv, kq, kv = joint.idx_q, joint.idx_v, body["q_begin"], body["v_begin"]
            if body["kind"] != "free":
                self.q[iq:iq + joint.nq] = q[kq] if joint.nq == 1 else (np.cos(q[kq]), np.sin(q[kq]))
                self.T[iv, kv] = 1.0
                continue
            R = rotation(*q[kq + 3:kq + 7])
            self.q[iq:iq + 7] = [*q[kq:kq + 3], *q[kq + 4:kq + 7], q[kq + 3]]
            self.T[iv:iv + 3, kv:kv + 3] = R.T
            self.T[iv:iv + 3, kv + 3:kv + 6] = R.T @ skew(R @ np.array(body["com"]))
            self.T[iv + 3:iv + 6, kv + 3:kv + 6] = R.T
            self.T_rate_v[iv:iv + 3] = -R.T @ np.cross(v[kv + 3:kv + 6], v[kv:kv + 3])
        self.v = self.T @ v

    def welded(self):
        """Names of the joints that were welded because they move no mass."""
        lines = [line.split(": ")[1] for line in self.robot.get("said", []) if line.startswith("joints that move nothing")]
        return set(lines[0].replace('"', "").split(", ")) if lines else set()

    def limits(self, xml):
        """By joint, of those that move: ours, and what Pinocchio and the file say."""
        in_file = {joint.get("name"): joint.find("limit") for joint in xml.findall("joint")}
        for body in self.moving:
            joint, limit = self.model.joints[self.model.getJointId(body["joint"])], in_file.get(body["joint"])
            # A joint of the file without bounds has 0 and 0 in Pinocchio: it could not move.
            unbounded = body["kind"] in ("free", "continuous") or limit is None or (limit.get("lower") is None and limit.get("upper") is None)
            low, high = self.model.lowerPositionLimit[joint.idx_q], self.model.upperPositionLimit[joint.idx_q]
            yield body["joint"], (body["lower"], body["upper"]), NO_LIMIT if unbounded else (low, high)

    def differences(self):
        """What is not the same in mass, joints and limits."""
        found = []
        total = sum(inertia.mass for inertia in self.model.inertias)
        if abs(self.robot["mass"] - total) > 1e-9 * total:
            found.append(f"mass {self.robot['mass']} kg, {total} kg in Pinocchio")
        still = self.welded()
        if self.robot["num_v"] + len(still) != self.model.nv:
            found.append(f"{self.robot['num_v']} dofs and {len(still)} welded joints, {self.model.nv} dofs in Pinocchio")
        # Bodies and joints come in Pinocchio's order.
        if [body["joint"] for body in self.moving] != [name for name in self.model.names[1:] if name not in still]:
            found.append("other joints, or in another order, than in Pinocchio")
        else:
            xml = ElementTree.parse(self.answer["file"]).getroot()
            found += [f"limits {ours} of {name}, {theirs} in Pinocchio" for name, ours, theirs in self.limits(xml) if ours != theirs]
        return found

    def poses(self, q):
        self.pin.framesForwardKinematics(self.model, self.data, q)
        return [(self.data.oMf[frame].translation.copy(), self.data.oMf[frame].rotation.copy()) for frame in self.frames]

    def errors(self, state):
        """Of poses, mass matrix and forces with and without velocity."""
        pin, model, data = self.pin, self.model, self.data
        self.set_state(state)
        pose = pose_error(state["poses"], self.poses(self.q))
        if self.robot["num_v"] == 0:
            return {"pose": pose, "mass matrix": 0.0, "bias": 0.0}
        M = pin.crba(model, data, self.q)
        M = np.triu(M) + np.triu(M, 1).T
        gravity = -self.T.T @ pin.computeGeneralizedGravity(model, data, self.q)
        # M_pin (T v' + T' v) + h = 0 with v' = M^-1 (f - c)
        force = -self.T.T @ (pin.nonLinearEffects(model, data, self.q, self.v) + M @ self.T_rate_v)
        f, c = np.array(state["f"]), np.array(state["c"])
        bias = max(np.abs(theirs - ours).max() / max(1.0, np.abs(theirs).max()) for ours, theirs in ((f, gravity), (f - c, force)))
        return {"pose": pose, "mass matrix": matrix_error(np.array(state["M"]), self.T.T @ M @ self.T), "bias": float(bias)}

    def start(self, motion):
        self.set_state(motion)
        return self.q, self.v

    def rate(self, q, v):
        q_rate = np.zeros(self.model.nq)
        for j in self.free:
            x, y, z, w = q[j.idx_q + 3:j.idx_q + 7]
            rate = quaternion_rate(np.array([w, x, y, z]), v[j.idx_v + 3:j.idx_v + 6])
            q_rate[j.idx_q:j.idx_q + 7] = [*(rotation(w, x, y, z) @ v[j.idx_v:j.idx_v + 3]), *rate[1:], rate[0]]
        for j in self.circles:
            q_rate[j.idx_q:j.idx_q + 2] = [-q[j.idx_q + 1] * v[j.idx_v], q[j.idx_q] * v[j.idx_v]]
        for j in self.lines:
            q_rate[j.idx_q:j.idx_q + j.nq] = v[j.idx_v:j.idx_v + j.nv]
        q = self.pin.normalize(self.model, q)
        return q_rate, self.pin.aba(self.model, self.data, q, v, np.zeros(self.model.nv))


class MjcfTwin:
    """MuJoCo's model of an MJCF file, with the map v = T v_mujoco: a free joint's v is that of the centre of mass in the world's
    axes here."""

    def __init__(self, answer):
        import mujoco

        self.mj, self.answer, self.robot = mujoco, answer, answer["model"]
        self.model = mujoco.MjModel.from_xml_path(answer["file"])
        self.model.opt.disableflags |= mujoco.mjtDisableBit.mjDSBL_CONSTRAINT | mujoco.mjtDisableBit.mjDSBL_CONTACT
        self.data = mujoco.MjData(self.model)
        self.joints = [self.robot["bodies"][body] for body in self.robot["joints"]]

    def differences(self):
        """What is not the same in mass, dofs and limits."""
        model, found = self.model, []
        if (self.robot["num_q"], self.robot["num_v"]) != (model.nq, model.nv):
            found.append(f"{self.robot['num_q']} positions and {self.robot['num_v']} dofs, {model.nq} and {model.nv} in MuJoCo")
        total = model.body_mass[1:].sum()
        if abs(self.robot["mass"] - total) > 1e-12 * max(1.0, total):
            found.append(f"mass {self.robot['mass']} kg, {total} kg in MuJoCo")
        for j, joint in enumerate(self.joints):
            limited = model.jnt_limited[j] and joint["kind"] in ("revolute", "prismatic")
            theirs = tuple(model.jnt_range[j]) if limited else NO_LIMIT
            if (joint["lower"], joint["upper"]) != theirs:
                found.append(f"limits {joint['lower'], joint['upper']} of joint {j}, {theirs} in MuJoCo")
        return found

    def poses(self, q):
        self.data.qpos[:] = q
        self.mj.mj_kinematics(self.model, self.data)
        return [None if self.model.body_mocapid[b] >= 0 else (self.data.xpos[b].copy(), self.data.xmat[b].reshape(3, 3).copy())
                for b in range(self.model.nbody)]

    def velocity_map(self):
        """T and T' v_mujoco at the state of the data."""
        model, data = self.model, self.data
        T, rate = np.zeros((self.robot["num_v"], model.nv)), np.zeros(self.robot["num_v"])
        for j, joint in enumerate(self.joints):
            ours, theirs, at = joint["v_begin"], model.jnt_dofadr[j], model.jnt_qposadr[j]
            if joint["kind"] == "free":
                R = rotation(*data.qpos[at + 3:at + 7])
                arm, omega = R @ np.array(joint["com"]), R @ data.qvel[theirs + 3:theirs + 6]
                T[ours:ours + 3, theirs:theirs + 3] = np.eye(3)
                T[ours:ours + 3, theirs + 3:theirs + 6] = -skew(arm) @ R
                T[ours + 3:ours + 6, theirs + 3:theirs + 6] = R
                rate[ours:ours + 3] = np.cross(omega, np.cross(omega, arm))
            elif joint["kind"] == "ball":
                T[ours:ours + 3, theirs:theirs + 3] = rotation(*data.qpos[at:at + 4])
            else:
                T[ours, theirs] = 1.0
        return T, rate

    def errors(self, state):
        """Of poses, mass matrix and forces."""
        mj, model, data = self.mj, self.model, self.data
        data.qpos[:], data.qvel[:] = state["q"], state["v"]
        mj.mj_forward(model, data)
        pose = pose_error(state["poses"], self.poses(data.qpos.copy()))
        if model.nv == 0:
            return {"pose": pose, "mass matrix": 0.0, "bias": 0.0}
        theirs = np.zeros((model.nv, model.nv))
        mj.mj_fullM(model, data, theirs) if mj.mj_versionString() >= "4" else mj.mj_fullM(model, theirs, data.qM)
        T, rate = self.velocity_map()
        M, f, c = (np.array(state[name]) for name in ("M", "f", "c"))
        # M v' + c = f with v' = T v_mujoco' + T' v_mujoco of MuJoCo's free motion.
        acceleration = np.linalg.solve(theirs, data.qfrc_gravcomp - data.qfrc_bias)
        balance = T.T @ (M @ (T @ acceleration + rate) + c - f)
        size = max(1e-6 * np.abs(theirs).max(), np.abs(data.qfrc_bias).max(), np.abs(T.T @ c).max())
        return {"pose": pose, "mass matrix": matrix_error(T.T @ M @ T, theirs), "bias": float(np.abs(balance).max() / size)}

    def start(self, motion):
        return np.array(motion["q"]), np.array(motion["v"])

    def rate(self, q, v):
        mj, model, data = self.mj, self.model, self.data
        q_rate = np.zeros(model.nq)
        for j, joint in enumerate(self.joints):
            iq, iv = model.jnt_qposadr[j], model.jnt_dofadr[j]
            if joint["kind"] == "free":
                q_rate[iq:iq + 3] = v[iv:iv + 3]
                iq, iv = iq + 3, iv + 3
            if joint["kind"] in ("free", "ball"):
                q_rate[iq:iq + 4] = quaternion_rate(q[iq:iq + 4], v[iv:iv + 3])
            else:
                q_rate[iq] = v[iv]
        data.qpos[:], data.qvel[:] = q, v
        mj.mj_fwdPosition(model, data)
        mj.mj_fwdVelocity(model, data)
        acceleration = np.zeros((1, model.nv))
        mj.mj_solveM(model, data, acceleration, (data.qfrc_gravcomp - data.qfrc_bias).reshape(1, -1))
        return q_rate, acceleration[0]


def make_twin(answer):
    """The other library's model; throws where it refuses the file."""
    return UrdfTwin(answer) if answer["file"].endswith(".urdf") else MjcfTwin(answer)


def follow(twin, q, v, seconds):
    """Poses at the end of a free motion and the fastest joint on the way, by an adaptive method of order 8."""
    nq = twin.model.nq
    left = MOST_RATES

    def rate(_, y):
        nonlocal left
        left -= 1
        if left < 0 or not np.isfinite(y).all():
            raise RuntimeError("the motion cannot be followed")
        return np.concatenate(twin.rate(y[:nq], y[nq:]))

    done = solve_ivp(rate, (0.0, seconds), np.concatenate((q, v)), method="DOP853", rtol=1e-12, atol=1e-12)
    if not done.success:
        raise RuntimeError(f"the motion cannot be followed beyond {done.t[-1]:.2g} s, a joint moves at {np.abs(done.y[nq:]).max():.1e} rad/s")
    return twin.poses(done.y[:nq, -1]), float(np.abs(done.y[nq:]).max(initial=0.0))


def motion_errors(twin, motion):
    """Our ends against the true one. At each theta: the error with the longest and the shortest step, and how it fell with the last
    halving. "growth" is what becomes of an error of the start: where it is large, no method can do much."""
    q, v = twin.start(motion)
    end, fastest = follow(twin, q, v, motion["seconds"])
    moved = follow(twin, q, v + NUDGE / math.sqrt(max(1, len(v))), motion["seconds"])[0]
    growth = pose_error([{"p": X[0], "R": X[1]} if X else None for X in moved], end) / NUDGE
    out = {"fastest": fastest, "growth": growth, "orders": []}
    for theta in sorted({run["theta"] for run in motion["ends"]}):
        runs = [(run["steps"], pose_error(run["poses"], end)) for run in motion["ends"] if run["theta"] == theta]
        (first_steps, first), (_, before), (steps, last) = runs[0], runs[-2], runs[-1]
        order, expected = math.log2(max(before, 1e-300) / max(last, 1e-300)), 2 if theta == 0.5 else 1
        agrees = before < SAME or (last < NEAR and order > expected - 0.25)
        out["orders"].append({"theta": theta, "first steps": first_steps, "first": first, "steps": steps, "last": last,
                              "order": None if before < SAME else order, "agrees": agrees})
    return out


def compare(answer):
    """How far the other library is from our answer, or why there is nothing to compare."""
    library = "Pinocchio" if answer["file"].endswith(".urdf") else "MuJoCo"
    out = {"file": answer["file"], "library": library}
    try:
        twin = make_twin({"base": "fixed", "model": EMPTY, **answer})
    except Exception as error:  # whatever it throws, it is its word on the file
        return {**out, "refused": " ".join(str(error).split())}
    if "error" in answer:
        return out
    out["differences"] = twin.differences()
    errors = [twin.errors(state) for state in answer["states"]] if not out["differences"] else []
    for name in ("pose", "mass matrix", "bias"):
        out[name] = max((e[name] for e in errors), default=None)
    if "motion" in answer and not out["differences"]:
        try:
            out["motion"] = motion_errors(twin, answer["motion"])
        except (RuntimeError, np.linalg.LinAlgError) as error:
            out["motion"] = {"error": str(error)}
    return out


def only_finite(value):
    """JSON has no NaN."""
    if isinstance(value, dict):
        return {key: only_finite(item) for key, item in value.items()}
    if isinstance(value, list):
        return [only_finite(item) for item in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def main():
    with open(sys.argv[1], encoding="utf-8") as answers, open(sys.argv[2], "w", encoding="utf-8") as out:
        for line in answers:
            print(json.dumps(only_finite(compare(json.loads(line)))), file=out, flush=True)


if __name__ == "__main__":
    main()
