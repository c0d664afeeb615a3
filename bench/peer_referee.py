"""What an engine's poses say, whoever made them: penetration by MuJoCo's collision on the same shapes, creep, jitter, slip, lift, energy.

Poses are (frames, bodies, 7): position and quaternion w x y z of each body, the start first, then one per step.
"""

import math

import mujoco
import numpy as np

from peer_mjcf import to_referee_mjcf
from peer_scenes import CUBE, DT, G

mujoco.set_mju_user_warning(lambda text: None)  # else into a file MUJOCO_LOG.TXT

HELD = 3  # contacts from which on a ball cannot roll
NEAR = 5e-5  # gap [m] up to which it counts as held


def rotate(quats, vector):
    """A vector of the bodies' frames in the world; quats (..., 4)."""
    w, u = quats[..., :1], quats[..., 1:]
    t = 2.0 * np.cross(u, vector)
    return vector + w * t + np.cross(u, t)


def centres(scene, poses):
    com = np.array([b["com"] for b in scene["bodies"]])
    return poses[..., :3] + rotate(poses[..., 3:], com)


def speeds(scene, poses):
    """Of the centres of mass, from step to step [m/s], (frames - 1, bodies, 3)."""
    return np.diff(centres(scene, poses), axis=0) / DT


def spins(poses):
    """Angular velocities in the bodies' axes from step to step [rad/s], (frames - 1, bodies, 3)."""
    a, b = poses[:-1, :, 3:], poses[1:, :, 3:]
    aw, av, bw, bv = a[..., :1], a[..., 1:], b[..., :1], b[..., 1:]
    vector = aw * bv - bw * av - np.cross(av, bv)
    scalar = aw * bw + np.sum(av * bv, axis=-1, keepdims=True)
    length = np.linalg.norm(vector, axis=-1, keepdims=True)
    angle = 2.0 * np.arctan2(length, np.abs(scalar)) * np.sign(np.where(scalar == 0.0, 1.0, scalar))
    return vector * np.divide(angle, length, out=np.full_like(angle, 2.0), where=length > 1e-12) / DT


class Overlaps:
    """Depths of all contacts [m] at given poses, by MuJoCo's collision."""

    def __init__(self, scene, margin=0.0):
        self.model = mujoco.MjModel.from_xml_string(to_referee_mjcf(scene, margin))
        self.data = mujoco.MjData(self.model)

    def look(self, poses):
        self.data.qpos[:] = poses.reshape(-1)
        mujoco.mj_kinematics(self.model, self.data)
        mujoco.mj_comPos(self.model, self.data)  # the broad phase reads what it makes
        mujoco.mj_collision(self.model, self.data)
        return self.data.contact

    def depths(self, poses):
        return np.maximum(0.0, -self.look(poses).dist.copy())

    def touches(self, poses):
        """Number of contacts per body."""
        contact = self.look(poses)
        bodies = self.model.geom_bodyid[contact.geom[contact.dist < NEAR]].reshape(-1)
        return np.bincount(bodies, minlength=self.model.nbody)[1:]


def energies(scene, poses):
    """Kinetic and that of gravity, at the middle of each step, where semi-implicit Euler keeps their sum in free fall [J]."""
    mass = np.array([b["mass"] for b in scene["bodies"]])
    inertia = np.array([b["inertia"] for b in scene["bodies"]])
    height = centres(scene, poses)[..., 2]
    moving = 0.5 * np.sum(mass * np.sum(speeds(scene, poses) ** 2, axis=-1), axis=1)
    turning = 0.5 * np.sum(inertia * spins(poses) ** 2, axis=(1, 2))
    return moving + turning + G * np.sum(mass * 0.5 * (height[1:] + height[:-1]), axis=1)


def rms(values):
    return float(np.sqrt(np.mean(values**2))) if values.size else 0.0


def common(scene, poses, frames=120):
    """What every scene is asked. `frames` poses at most are looked at for penetration, all in the second half."""
    overlaps = Overlaps(scene)
    half = len(poses) // 2
    late = [overlaps.depths(poses[k]) for k in np.unique(np.linspace(half, len(poses) - 1, frames, dtype=int))]
    early = [overlaps.depths(poses[k]).max(initial=0.0) for k in np.unique(np.linspace(0, half, frames, dtype=int))]
    together = np.concatenate(late) if late else np.zeros(0)
    speed = np.linalg.norm(speeds(scene, poses), axis=-1)
    last = speed[-round(0.5 / DT):]
    measured = {"pen_mean_mm": 1e3 * float(together.mean()) if together.size else 0.0,
                "pen_max_mm": 1e3 * float(together.max(initial=0.0)),
                "pen_worst_mm": 1e3 * max([*early, together.max(initial=0.0)]),
                "jitter_mm_s": 1e3 * rms(last), "fastest_m_s": float(speed.max(initial=0.0)), "referee_contacts": together.size / max(1, len(late))}
    if all(b["joint"] == "free" for b in scene["bodies"]) and len(poses) > 2:
        measured["energy_gain_J"] = float(max(0.0, np.diff(energies(scene, poses)).max()))
    return measured


def stack(scene, poses):
    up = rotate(poses[-1, :, 3:], np.array([0.0, 0.0, 1.0]))[:, 2]
    sink = poses[0, -1, 2] - poses[-1, -1, 2]
    return {"sink_mm": 1e3 * float(sink), "toppled": bool(up.min() < math.cos(0.3) or sink > 1.6 * CUBE)}


def balls(scene, poses):
    held = Overlaps(scene, NEAR).touches(poses[-1]) >= HELD
    last = np.linalg.norm(speeds(scene, poses), axis=-1)[-round(0.5 / DT):]
    edge = max(abs(g[2][0]) for g in scene["static"] if g[0] == "box")
    out = (np.abs(poses[-1, :, :2]).max(axis=1) > edge) | (poses[-1, :, 2] < 0.0)
    return {"held_jitter_mm_s": 1e3 * rms(last[:, held]), "held": int(held.sum()), "thrown_out": int(out.sum())}


def robots(scene, poses):
    return {"blow_up": bool(not np.all(np.isfinite(poses)) or np.linalg.norm(speeds(scene, poses), axis=-1).max() > 100.0)}


def slope(scene, poses):
    angle = math.atan(scene["share"] * scene["mu"])
    down = poses[:, 0, 0] * math.cos(angle) - poses[:, 0, 2] * math.sin(angle)
    out = poses[:, 0, 0] * math.sin(angle) + poses[:, 0, 2] * math.cos(angle)
    settled = round(1.0 / DT)
    measured = {"lift_mm": 1e3 * float(out.max() - out[0])}
    if scene["share"] < 1.0 and len(poses) > settled + 1:
        measured["creep_mm_s"] = 1e3 * float(down[-1] - down[settled]) / (DT * (len(poses) - 1 - settled))
    n = len(poses) - 1  # semi-implicit Euler: x_n = a dt^2 n (n + 1) / 2
    pull = G * (math.sin(angle) - scene["mu"] * math.cos(angle))
    ideal = 0.5 * max(0.0, pull) * DT * DT * n * (n + 1)
    measured["error"] = abs(measured.get("creep_mm_s", measured["lift_mm"]))
    return {**measured, "way_m": float(down[-1] - down[0]), "ideal_m": ideal}


def slide(scene, poses):
    n = math.floor(scene["speed"] / (scene["mu"] * G * DT))  # steps until it stands, v_k = v_0 - mu g dt k
    ideal = sum(DT * (scene["speed"] - scene["mu"] * G * DT * k) for k in range(1, n + 1))
    way = float(poses[-1, 0, 0] - poses[0, 0, 0])
    lift = 1e3 * float(poses[:, 0, 2].max() - poses[0, 0, 2])
    return {"lift_mm": lift, "error": lift, "way_m": way, "way_error_pct": 100.0 * (way / ideal - 1.0)}


def grip(scene, poses):
    z = poses[:, 0, 2]
    half = len(z) // 2
    return {"slip_mm": 1e3 * float(z[0] - z[-1]), "slip_rate_mm_s": 1e3 * float(z[half] - z[-1]) / (DT * (len(z) - 1 - half)),
            "dropped": bool(z[0] - z[-1] > CUBE)}


def drop(scene, poses):
    z, radius = poses[:, 0, 2], scene["bodies"][0]["geoms"][0][1][0]
    landed = int(np.argmax(z < radius + 1e-3))
    after = z[landed:]
    lowest = landed + int(np.argmin(after[:60]))
    return {"rest_pen_mm": 1e3 * float(max(0.0, radius - z[-1])), "impact_pen_mm": 1e3 * float(max(0.0, radius - z.min())),
            "rebound_mm": 1e3 * float(max(0.0, z[lowest:].max() - radius))}


def roll(scene, poses):
    speed = float(poses[-1, 0, 0] - poses[-2, 0, 0]) / DT
    return {"roll_error_pct": 100.0 * (speed / (5.0 / 7.0 * scene["speed"]) - 1.0)}


def growth(scene, poses):
    """Of the last pose alone: how many neighbours a ball has, and how deep they are in each other."""
    contact = Overlaps(scene, NEAR).look(poses[-1])
    touching = contact.dist[contact.dist < NEAR]
    return {"finite": bool(np.all(np.isfinite(poses))), "contacts_per_ball": len(touching) / len(scene["bodies"]),
            "pen_mean_mm": 1e3 * float(np.maximum(0.0, -touching).mean()) if len(touching) else 0.0}


KINDS = {"stack": stack, "pile": lambda *_: {}, "balls": balls, "robots": robots, "slope": slope, "slide": slide, "grip": grip,
         "drop": drop, "roll": roll}


def judge(scene, poses):
    if scene["kind"] == "growth":
        return growth(scene, poses)
    finite = bool(np.all(np.isfinite(poses)))
    if not finite:  # up to where the numbers end
        poses = poses[:int(np.argmax(~np.isfinite(poses).all(axis=(1, 2))))]
    if len(poses) < 3:
        return {"finite": finite}
    return {"finite": finite, **common(scene, poses), **KINDS[scene["kind"]](scene, poses)}
