"""A quadruped that learns to walk."""

import numpy as np

from .._core import Box, Capsule, Error, ModelBuilder, Plane, Sphere
from .._load import simulate
from ._parts import find_robot, from_rotation_vector, mean_square, rotate_back, up_of
from ._worlds import Task

_LEGS = ("FR", "FL", "RR", "RL")
_STANCE = (0.0, 0.75, -1.5)  # hip, thigh, calf [rad]
# Robots of example-robot-data whose joints are called as those of the built-in one: file, height of the trunk in the stance.
_ROBOTS = {
    "a1": ("a1_description/urdf/a1.urdf", 0.32),
    "go1": ("go1_description/urdf/go1.urdf", 0.34),
    "go2": ("go2_description/urdf/go2.urdf", 0.34),
}


def _add_built_in(b):
    """12 kg, legs of 0.2 m and 0.2 m, contact at feet, knees and trunk."""
    own = {"group": 2, "mask": 1, "mu": 0.8}  # collides with the floor, not with itself
    b.add_body("trunk", mass=6.0, inertia=[0.02, 0.06, 0.07])
    b.add_geom("trunk", Box([0.19, 0.09, 0.05]), **own)
    for leg in _LEGS:
        x, y = (0.18 if leg[0] == "F" else -0.18), (-1.0 if leg[1] == "R" else 1.0)
        hip, thigh, calf = (f"{leg}_{part}" for part in ("hip", "thigh", "calf"))
        hinge = {"armature": 0.005}
        b.add_body(hip, "trunk", "revolute", joint_name=hip + "_joint", axis=[1, 0, 0], position=[x, 0.08 * y, 0], mass=0.5,
                   inertia=[6e-4] * 3, lower=-0.8, upper=0.8, **hinge)  # fmt: skip
        b.add_body(thigh, hip, "revolute", joint_name=thigh + "_joint", axis=[0, 1, 0], position=[0, 0.06 * y, 0], mass=0.8,
                   com=[0, 0, -0.03], inertia=[5e-3, 5e-3, 1e-3], lower=-1.0, upper=3.0, **hinge)  # fmt: skip
        b.add_body(calf, thigh, "revolute", joint_name=calf + "_joint", axis=[0, 1, 0], position=[0, 0, -0.2], mass=0.2,
                   com=[0, 0, -0.1], inertia=[2e-3, 2e-3, 1e-4], lower=-2.7, upper=-0.6, **hinge)  # fmt: skip
        b.add_geom(calf, Sphere(0.02), position=[0, 0, -0.2], **own)
        b.add_geom(calf, Sphere(0.025), **own)
        for link in (thigh, calf):  # to be seen only: a mask of 0 meets nothing
            b.add_geom(link, Capsule(0.015, 0.085), position=[0, 0, -0.1], group=2, mask=0)


def _make_model(robot, apart):
    b = ModelBuilder("quadruped")
    b.add_ground(Plane(), mu=0.8)
    if robot is None:
        _add_built_in(b)
    else:
        b.add_urdf(find_robot(_ROBOTS[robot][0]), base="floating")
    for leg in _LEGS:
        for part in ("hip", "thigh", "calf"):
            b.add_drive(f"{leg}_{part}_joint", "position", stiffness=60.0, damping=1.5, effort_limit=25.0)
    for one, other in apart:
        b.exclude(one, other)
    return b.build()


def _close_bodies(model, height):
    """Pairs of the robot's bodies that are nearer than 2 cm in the stance: hulls of meshes overlap where the meshes do not."""
    sim = simulate(model)
    sim.q[2] = height
    for name, angle in zip(model.drive_names, np.tile(_STANCE, 4)):
        sim.q[model.q_slice(name)] = sim.target[model.drive(name)] = angle
    sim.step()
    contacts, body = sim.contacts(), model.geom_bodies
    near = contacts["gap"] < 0.02
    pairs = set(zip(body[contacts["geom_a"][near]].tolist(), body[contacts["geom_b"][near]].tolist()))
    return sorted(pair for pair in pairs if min(pair) >= 0)


class Quadruped(Task):
    """Walk along x, at a given speed or faster.

    robot: None for a built-in robot of 12 kg that needs no files; "a1", "go1" or "go2" of example-robot-data.
    speed: what is asked for [m/s]. push: a blow that hits the trunk at the start, at most [m/s].

    Action (12): targets of the position drives, beside the stance, ± 0.5 rad; legs FR, FL, RR, RL, of each hip, thigh, calf.
    Observation (37): up in the trunk's axes (3); where it heads, x and y (2); velocity [m/s] (3) and angular velocity [rad/s] (3) in
    the trunk's axes; joint angles beside the stance [rad] (12), joint velocities / 10 (12), sin and cos of a clock of 2 Hz (2).
    Reward: min(velocity along x, speed) / speed, minus 0.5 |velocity along y| [m/s], 0.2 |turning| [rad/s], 0.05 mean action², and
    0.5 of how far the trunk is tilted (0 upright, 1 on its side).
    Ends when the trunk is tilted by more than 60° or lower than half its height. 50 actions a second, 100 steps.
    """

    options = {"dt": 0.01}
    substeps = 2
    observation_size = 37
    observation_limit = 100.0
    action_size = 12
    _reach = 0.5  # of an action [rad]
    _clock = 2.0  # [Hz]

    def __init__(self, robot=None, speed=0.5, push=0.0):
        if robot is not None and robot not in _ROBOTS:
            raise Error(f"robot: is {robot!r}, expected None or one of {', '.join(_ROBOTS)}")
        if not 0.0 < speed < 10.0:
            raise Error(f"speed: is {speed}, expected a speed above 0 and below 10 m/s")
        if not 0.0 <= push < 10.0:
            raise Error(f"push: is {push}, expected 0 to 10 m/s")
        self.speed, self.push = speed, push
        self.height = 0.32 if robot is None else _ROBOTS[robot][1]
        self.model = m = _make_model(robot, [])
        if robot is not None:
            self.model = m = _make_model(robot, _close_bodies(m, self.height))
        order = [m.q_slice(name).start for name in m.drive_names]
        self._q, self._v = np.array(order), np.array([m.v_slice(name).start for name in m.drive_names])
        self.stance = np.tile(_STANCE, 4)

    def start(self, rng):
        q, v = self.model.q0.copy(), np.zeros(self.model.num_v)
        q[:3] = 0.0, 0.0, self.height
        q[3:7] = from_rotation_vector(np.array([0.0, 0.0, 0.1]) * rng.uniform(-1, 1, 3))
        q[self._q] = self.stance + rng.uniform(-0.1, 0.1, 12)
        v[:2] = self.push * rng.uniform(-1, 1, 2)
        return q, v, self.stance, {"phase": rng.uniform()}

    def act(self, action, batch, memory):
        batch.target[:] = self.stance + self._reach * action

    def observe(self, batch, memory):
        q, v = batch.q, batch.v
        w, x, y, z = q[:, 3], q[:, 4], q[:, 5], q[:, 6]
        turn = 2.0 * np.pi * (memory["phase"] + self._clock * batch.time)
        return np.concatenate(
            [
                up_of(q[:, 3:7]),
                np.stack([1.0 - 2.0 * (y * y + z * z), 2.0 * (x * y + w * z)], axis=1),
                rotate_back(q[:, 3:7], v[:, 0:3]),
                rotate_back(q[:, 3:7], v[:, 3:6]),
                q[:, self._q] - self.stance,
                0.1 * v[:, self._v],
                np.sin(turn)[:, None],
                np.cos(turn)[:, None],
            ],
            axis=1,
        )

    def score(self, action, batch, memory):
        q = batch.q
        forward, sideways, turning = batch.v[:, 0], batch.v[:, 1], batch.v[:, 5]
        upright = up_of(q[:, 3:7])[:, 2]
        reward = np.minimum(forward, self.speed) / self.speed - 0.5 * np.abs(sideways) - 0.2 * np.abs(turning)
        reward = reward - 0.05 * mean_square(action) - 0.5 * (1.0 - upright)
        fallen = (upright < 0.5) | (q[:, 2] < 0.5 * self.height)
        return reward, fallen, {"x": q[:, 0].copy(), "forward_velocity": forward.copy()}
