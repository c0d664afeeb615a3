"""A small arm that reaches for a point."""

import numpy as np

from .._core import Box, Capsule, ModelBuilder, Sphere
from ._parts import hypot3, mean_square
from ._worlds import Task


class Reach(Task):
    """Bring the tip of an arm of four joints to a point over a table, without files and quick to learn.

    Action (4): change of the joint targets, ± 3 rad/s: turn, shoulder, elbow, wrist.
    Observation (15): joint angles [rad] (4), joint velocities / 5 (4), how far the drives are behind [0.1 rad] (4), point minus tip
    [dm] (3).
    Reward: minus the distance [dm], minus 0.01 x mean action². The table is solid. 30 actions a second, 60 steps; no early end.
    """

    options = {"dt": 1.0 / 120.0}
    substeps = 4
    observation_size = 15
    observation_limit = 100.0
    action_size = 4
    _lengths = (0.25, 0.22, 0.12)

    def __init__(self):
        b = ModelBuilder("reach")
        b.add_ground(Box([0.6, 0.6, 0.02]), position=[0, 0, -0.02])
        b.add_body("column", joint="revolute", axis=[0, 0, 1], position=[0, 0, 0.2], mass=1.0, inertia=[2e-3] * 3, lower=-2.5, upper=2.5)
        parent, at = "column", 0.0
        for name, length in zip(("upper", "fore", "hand"), self._lengths):
            b.add_body(name, parent, "revolute", axis=[0, 1, 0], position=[at, 0, 0], mass=2.0 * length, com=[0.5 * length, 0, 0],
                       inertia=[1e-4, 0.2 * length**3, 0.2 * length**3], lower=-2.6, upper=2.6)  # fmt: skip
            side = {"position": [0.5 * length, 0, 0], "quaternion": [np.sqrt(0.5), 0, np.sqrt(0.5), 0], "group": 2, "mask": 1}
            b.add_geom(name, Capsule(0.02, 0.5 * length - 0.02), **side)
            parent, at = name, length
        b.add_body("tip", "hand", "fixed", position=[at, 0, 0], mass=0.02, inertia=[1e-5] * 3)
        b.add_geom("tip", Sphere(0.02), group=2, mask=1)
        for name in ("column", "upper", "fore", "hand"):
            b.add_drive(name, "impedance", stiffness=60.0, damping=4.0, effort_limit=30.0)
        self.model = b.build()

    def start(self, rng):
        q = np.array([0.0, -0.9, 1.4, 0.3]) + rng.uniform(-0.1, 0.1, 4)
        away, angle = rng.uniform(0.25, 0.45), rng.uniform(-1.2, 1.2)
        goal = np.array([away * np.cos(angle), away * np.sin(angle), rng.uniform(0.05, 0.35)])
        return q, np.zeros(4), q, {"goal": goal}

    def act(self, action, batch, memory):
        batch.target_velocity[:] = 3.0 * action
        batch.target[:] += self.substeps * batch.dt * batch.target_velocity
        batch.target[:] = np.clip(batch.target, -2.5, 2.5)

    def _way(self, batch, memory):
        return 10.0 * (memory["goal"] - batch.body_poses("tip")[:, :3])

    def observe(self, batch, memory):
        return np.concatenate([batch.q, 0.2 * batch.v, 10.0 * (batch.target - batch.q), self._way(batch, memory)], axis=1)

    def score(self, action, batch, memory):
        distance = hypot3(self._way(batch, memory))
        reward = -distance - 0.01 * mean_square(action)
        return reward, np.zeros(len(reward), bool), {"distance_mm": 100.0 * distance, "success": distance < 0.2}
