"""A nut that is to be screwed onto a bolt."""

import numpy as np

from .._core import Error, ModelBuilder
from .._load import Sdf
from ._parts import add_gantry
from ._worlds import Task

_THREAD = {"diameter": 0.048, "pitch": 0.005, "nut_height": 0.016}
_HALF = 0.5 * _THREAD["nut_height"]
_SPRING = 2000.0  # of the hand, sideways [N/m]


class NutThreading(Task):
    """Screw an M48 nut onto a bolt that stands a little beside where it is expected.

    The nut is held by a hand that gives way: springs sideways (2 N/mm) and against tilting (50 N m/rad), a push down and a
    turn that are commanded. It stands for an arm with a wrist; no robot file is needed. The thread is a signed distance shape,
    pitch 5 mm. miss: how far off the bolt may be, in x and in y [mm].

    Action (4): speed of the hand in x and y (± 6 mm/s), push (0 to 20 N, down), turn (± 3 rad/s; a right-hand thread goes down
    with negative turns).
    Observation (15): where the hand is told to be and where it is, beside where the bolt is expected [mm] (2 + 2); depth over the
    pitch (1); tilt in 0.01 rad (2); velocity in cm/s (3); angular velocity [rad/s] (3); sin and cos of the turned angle (2).
    Reward: 10 x what the nut goes down, over the pitch; minus 0.01 a step; 5 when it is 12 mm down, where the episode ends.
    30 actions a second, 200 steps.
    """

    options = {"dt": 1.0 / 120.0}
    substeps = 4
    observation_size = 15
    observation_limit = 100.0
    action_size = 4
    _deep = 0.012  # [m]

    def __init__(self, miss=3.0):
        if not 0.0 <= miss <= 5.0:
            raise Error(f"miss: is {miss}, expected 0 to 5 mm")
        self.miss = 1e-3 * miss
        b = ModelBuilder("nut_threading")
        b.add_ground(Sdf({"kind": "bolt", "thread": _THREAD, "fit": "e", "length": 0.06, "thread_length": 0.06}), mu=0.15)
        side, tilt = (_SPRING, 200.0, 50.0), (50.0, 2.0, 5.0)
        hand = add_gantry(b, {"x": side, "y": side, "z": (0.0, 400.0, 40.0), "rx": tilt, "ry": tilt, "rz": (0.0, 5.0, 7.0)})
        b.add_geom(hand, Sdf({"kind": "nut", "thread": _THREAD}), mu=0.15)
        self.model = b.build()

    def start(self, rng):
        q, v = np.zeros(6), np.zeros(6)
        bias = self.miss * rng.uniform(-1, 1, 2)  # the bolt stands in the middle of the world, where it is expected does not
        q[:2] = bias
        q[2] = _HALF + 0.001
        q[3:5] = 0.01 * rng.uniform(-1, 1, 2)
        q[5] = rng.uniform(0.0, 2.0 * np.pi)
        target = np.array([bias[0], bias[1], 0.0, 0.0, 0.0, 0.0])
        return q, v, target, {"bias": bias, "depth": _HALF - q[2]}

    def act(self, action, batch, memory):
        batch.target[:, :2] += 0.006 * self.substeps * batch.dt * action[:, :2]
        near = memory["bias"]
        batch.target[:, :2] = np.clip(batch.target[:, :2], near - 0.01, near + 0.01)
        batch.feedforward[:, 2] = -10.0 * (1.0 + action[:, 2])
        batch.target_velocity[:, 5] = 3.0 * action[:, 3]

    def observe(self, batch, memory):
        q, v, bias = batch.q, batch.v, memory["bias"]
        depth = (_HALF - q[:, 2]) / _THREAD["pitch"]
        tilt = np.stack([depth, 100.0 * q[:, 3], 100.0 * q[:, 4]], axis=1)
        turned = np.stack([np.sin(q[:, 5]), np.cos(q[:, 5])], axis=1)
        beside = [1e3 * (batch.target[:, :2] - bias), 1e3 * (q[:, :2] - bias)]
        return np.concatenate([*beside, tilt, 100.0 * v[:, :3], v[:, 3:], turned], axis=1)

    def score(self, action, batch, memory):
        depth = _HALF - batch.q[:, 2]
        done = depth > self._deep
        reward = 10.0 * (depth - memory["depth"]) / _THREAD["pitch"] - 0.01 + 5.0 * done
        memory["depth"][:] = depth
        return reward, done, {"depth_mm": 1e3 * depth, "success": done}
