"""Balls that are to be poured from a cup into a jar."""

import numpy as np

from .._core import Error, ModelBuilder, Plane, Sphere
from .._load import Sdf
from ._parts import add_gantry, hypot3, up_of
from ._worlds import Task

_CUP = {"kind": "cup", "foot_radius": 0.026, "rim_radius": 0.030, "height": 0.090, "wall": 0.003}
_JAR = {"kind": "cup", "foot_radius": 0.045, "rim_radius": 0.050, "height": 0.080, "wall": 0.004}
_BALL = 0.005
_START = np.array([-0.15, 0.12])  # of the cup's foot, x and z [m]
_OVER = 0.03  # height of the lip over the jar that is good for pouring [m]


class Pouring(Task):
    """Pour heavy balls from a cup that is led by a hand into a jar that stands free on a table.

    The hand is a slider in x, one in z and a hinge; it stands for an arm, and no robot file is needed. Cup and jar are signed
    distance shapes, balls have 5 mm radius and 5.2 g. balls: how many, 4 to 24.

    Action (3): speed of the hand in x and z (± 0.25 m/s) and of the tilt (± 2 rad/s).
    Observation (17): lip to where it belongs for pouring, x and z [dm] (2); height of the lip [dm] (1); tilt, its sin and cos (2); how
    far the hand is behind what it is told: x, z [cm], tilt [rad] (3); velocities [m/s, rad/s] (3); share of the balls in cup, jar and
    elsewhere (3); mean of the balls beside the lip, x and z [dm] (2); up of the jar (1).
    Reward: change of the share in the jar minus that of the share spilled, times 10; and of 2 x how near the lip is to its place [dm],
    beside the jar while the cup is upright, over it when it is tilted. Ends when the cup is empty and nothing flies, or when the
    jar falls over. 30 actions a second, 150 steps.
    """

    options = {"dt": 1.0 / 120.0, "max_points_per_sdf_pair": 24}
    substeps = 4
    observation_size = 17
    observation_limit = 100.0
    action_size = 3

    def __init__(self, balls=12):
        if balls not in range(4, 25):
            raise Error(f"balls: is {balls}, expected 4 to 24")
        self.balls = balls
        b = ModelBuilder("pouring")
        b.add_ground(Plane())
        hold = (4000.0, 400.0, 100.0)
        hand = add_gantry(b, {"x": hold, "z": hold, "ry": (200.0, 10.0, 20.0)}, position=(_START[0], 0.0, _START[1]))
        b.add_geom(hand, Sdf(_CUP), mu=0.3)
        b.add_solid("jar", Sdf(_JAR), 0.5, mu=0.6)
        mass = 1e4 * 4.0 / 3.0 * np.pi * _BALL**3
        for k in range(balls):
            b.add_solid(f"ball{k}", Sphere(_BALL), mass, mu=0.3)
        self.model = m = b.build()
        self._jar = m.q_slice("jar").start
        self._ball = np.array([m.q_slice(f"ball{k}").start for k in range(balls)])

    def start(self, rng):
        q, v = self.model.q0.copy(), np.zeros(self.model.num_v)
        jar = 0.03 * rng.uniform(-1, 1)
        q[self._jar : self._jar + 7] = jar, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0
        turn = rng.uniform(0.0, 0.5 * np.pi)
        for k, at in enumerate(self._ball):
            angle, layer = turn + 0.5 * np.pi * k, k // 4
            q[at : at + 7] = 0, 0, 0, 1, 0, 0, 0
            q[at] = _START[0] + 0.011 * np.cos(angle)
            q[at + 1] = 0.011 * np.sin(angle)
            q[at + 2] = _START[1] + _CUP["wall"] + _BALL + 1e-4 + 0.0102 * layer
        return q, v, np.zeros(3), {"worth": -2.0 * self._distance(q[None])[0]}

    def _lip(self, q):
        """x and z of the cup's lip towards the jar."""
        s, c = np.sin(q[:, 2]), np.cos(q[:, 2])
        r, h = _CUP["rim_radius"], _CUP["height"]
        return np.stack([_START[0] + q[:, 0] + c * r + s * h, _START[1] + q[:, 1] - s * r + c * h], axis=1)

    def _way(self, q):
        """From the lip to where it belongs, x and z [dm]."""
        lip = self._lip(q)
        # An upright cup has its place beside the jar, a tilted one over the near half of it: balls fly a little ahead.
        ahead = q[:, self._jar] - 0.02 - 0.07 * np.maximum(np.cos(q[:, 2]), 0.0)
        return 10.0 * np.stack([ahead - lip[:, 0], _JAR["height"] + _OVER - lip[:, 1]], axis=1)

    def _distance(self, q):
        way = self._way(q)
        return np.sqrt(way[:, 0] * way[:, 0] + way[:, 1] * way[:, 1])

    def _shares(self, q):
        """Of balls in the cup, in the jar and elsewhere; of those elsewhere, how many lie on the table."""
        p = np.stack([q[:, self._ball], q[:, self._ball + 1], q[:, self._ball + 2]], axis=2)
        s, c = np.sin(q[:, 2])[:, None], np.cos(q[:, 2])[:, None]
        x, y = p[:, :, 0] - (_START[0] + q[:, 0])[:, None], p[:, :, 1]
        z = p[:, :, 2] - (_START[1] + q[:, 1])[:, None]
        along, across = s * x + c * z, c * x - s * z
        cup = (along > 0.0) & (along < _CUP["height"]) & (across * across + y * y < _CUP["rim_radius"] ** 2)
        jx, jy = p[:, :, 0] - q[:, self._jar, None], y - q[:, self._jar + 1, None]
        jar = (jx * jx + jy * jy < _JAR["rim_radius"] ** 2) & (p[:, :, 2] < _JAR["height"]) & ~cup
        low = (p[:, :, 2] < 2.0 * _BALL) & ~jar & ~cup
        return [np.count_nonzero(which, axis=1) / self.balls for which in (cup, jar, ~cup & ~jar, low)]

    def act(self, action, batch, memory):
        batch.target_velocity[:] = np.array([0.25, 0.25, 2.0]) * action
        batch.target[:] += self.substeps * batch.dt * batch.target_velocity
        batch.target[:] = np.clip(batch.target, [-0.1, -0.1, -0.5], [0.4, 0.3, 3.0])

    def observe(self, batch, memory):
        q, v = batch.q, batch.v
        lip = self._lip(q)
        mean = np.zeros((len(q), 2))
        for at in self._ball:
            mean += q[:, [at, at + 2]]
        cup, jar, rest, _ = self._shares(q)
        columns = [10.0 * lip[:, 1], np.sin(q[:, 2]), np.cos(q[:, 2])]
        behind = (batch.target - q[:, :3]) * np.array([100.0, 100.0, 1.0])
        up = up_of(q[:, self._jar + 3 : self._jar + 7])[:, 2]
        parts = [self._way(q), np.stack(columns, axis=1), behind, v[:, :3], np.stack([cup, jar, rest], axis=1)]
        return np.concatenate([*parts, 10.0 * (mean / self.balls - lip), up[:, None]], axis=1)

    def score(self, action, batch, memory):
        q, v = batch.q, batch.v
        cup, jar, _, low = self._shares(q)
        worth = 10.0 * (jar - low) - 2.0 * self._distance(q)
        reward = worth - memory["worth"]
        memory["worth"][:] = worth
        first = self.model.v_slice("ball0").start
        fastest = np.zeros(len(q))
        for k in range(self.balls):
            fastest = np.maximum(fastest, hypot3(v[:, first + 6 * k : first + 6 * k + 3]))
        empty = (cup == 0.0) & (jar + low == 1.0) & (fastest < 0.3)
        toppled = up_of(q[:, self._jar + 3 : self._jar + 7])[:, 2] < 0.7
        return reward, empty | toppled, {"in_jar": jar, "spilled": low, "success": empty & (jar == 1.0)}
