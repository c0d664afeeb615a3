"""A bowl that is to be put onto a pile of bowls."""

import numpy as np

from .._core import Error, ModelBuilder, Plane, Sphere
from .._load import Sdf
from ._parts import add_gantry, hypot3, up_of
from ._worlds import Task

_BOWL = {"kind": "bowl", "foot_radius": 0.030, "rim_radius": 0.070, "height": 0.055, "wall": 0.004}
_NESTED = 0.0067  # a bowl in a bowl lies wall / sin(slope) higher [m]
_TIP, _BELOW = 0.0025, 0.005  # radius of a fingertip, and how far below the rim it takes hold [m]
_OPEN, _CLOSED = 0.085, 0.060  # distance of the fingertips from the middle of the hand [m]
_HOVER = 0.06  # a bowl is carried this high over the pile [m]


class DishPiling(Task):
    """Take a bowl by its rim, carry it to a pile of bowls and put it into the uppermost, without knocking the pile over.

    The hand has three fingertips that close from outside; it slides in x, y and z and stands for an arm with a hand, so that no
    robot file is needed. Bowls are signed distance shapes of 0.1 kg; nothing but contact holds them. pile: bowls that stand
    there already, 1 to 4.

    Action (4): speed of the hand in x, y, z (± 0.4 m/s); grip, from open (-1) to closed (1).
    Observation (20): bowl minus hand, at the rim [dm] (3); bowl to where it belongs [dm] (3); height of the hand over the table [dm]
    (1); distance of the fingertips from the middle [cm] (1); how far the hand is behind what it is told [cm] (3); up in the bowl's
    axes (3); velocity of the bowl [m/s] (3) and of the hand [m/s] (3).
    Reward: change of a worth that rises as the hand comes to the bowl, and the bowl (raised while it is beside the pile) to its
    place; 10 when it lies there at rest, level and released, where the episode ends; -5, and the end, when the pile is moved by 3 cm
    or a bowl lies on its side. 30 actions a second, 150 steps.
    """

    options = {"dt": 1.0 / 120.0, "max_points_per_sdf_pair": 24}
    substeps = 4
    observation_size = 20
    observation_limit = 100.0
    action_size = 4

    def __init__(self, pile=1):
        if pile not in range(1, 5):
            raise Error(f"pile: is {pile}, expected 1 to 4 bowls")
        self.pile = pile
        b = ModelBuilder("dish_piling")
        b.add_ground(Plane())
        hold = (3000.0, 200.0, 100.0)
        hand = add_gantry(b, {"x": hold, "y": hold, "z": hold})
        for k in range(3):
            angle = 2.0 * np.pi * k / 3.0
            name, turn = f"finger{k}", [np.cos(0.5 * angle), 0.0, 0.0, np.sin(0.5 * angle)]
            b.add_body(name, hand, "prismatic", axis=[1, 0, 0], quaternion=turn, mass=0.05, inertia=[1e-5] * 3, lower=0.04, upper=0.1)
            b.add_geom(name, Sphere(_TIP), mu=2.0)  # rubber: a smoother tip slides down the slope of the wall
            b.add_drive(name, "impedance", stiffness=1500.0, damping=30.0, effort_limit=3.0)
        bowl = Sdf(_BOWL)
        b.add_solid("bowl", bowl, 0.1, mu=0.5)
        for k in range(pile):
            b.add_solid(f"pile{k}", bowl, 0.1, mu=0.5)
        self.model = m = b.build()
        self._bowl, self._top = m.q_slice("bowl").start, m.q_slice(f"pile{pile - 1}").start
        self._bowl_v = m.v_slice("bowl").start

    def start(self, rng):
        q, v = self.model.q0.copy(), np.zeros(self.model.num_v)
        place = np.array([0.12, 0.0]) + 0.02 * rng.uniform(-1, 1, 2)
        taken = np.array([-0.08, 0.0]) + 0.03 * rng.uniform(-1, 1, 2)
        q[:3] = taken[0], taken[1], _BOWL["height"] + 0.04
        q[:2] += 0.02 * rng.uniform(-1, 1, 2)
        q[3:6] = _OPEN
        for at, xy, z in [(self._bowl, taken, 0.0)] + [
            (self.model.q_slice(f"pile{k}").start, place, (_NESTED + 3e-4) * k) for k in range(self.pile)
        ]:
            q[at : at + 7] = xy[0], xy[1], z, 1.0, 0.0, 0.0, 0.0
        memory = {"place": np.array([place[0], place[1], _NESTED * self.pile])}
        memory["worth"] = self._worth(q[None], {"place": memory["place"][None]})[0]
        return q, v, q[:6], memory

    def _grasp(self, q):
        """From the hand to the bowl, at the height of the rim [dm]."""
        at = self._bowl
        return 10.0 * (q[:, at : at + 3] - q[:, :3] + np.array([0.0, 0.0, _BOWL["height"] - _BELOW]))

    def _way(self, q, memory):
        """From the bowl to where it belongs [dm]."""
        return 10.0 * (memory["place"] - q[:, self._bowl : self._bowl + 3])

    def _worth(self, q, memory):
        grasp, way = self._grasp(q), self._way(q, memory)
        beside = np.sqrt(way[:, 0] * way[:, 0] + way[:, 1] * way[:, 1])
        # Raised while it is beside the pile, lowered within the last 2 cm.
        height = way[:, 2] + 10.0 * _HOVER * np.clip((beside - 0.05) / 0.15, 0.0, 1.0)
        return -2.0 * hypot3(grasp) - 3.0 * (beside + np.abs(height))

    def act(self, action, batch, memory):
        batch.target_velocity[:, :3] = 0.4 * action[:, :3]
        batch.target[:, :3] += self.substeps * batch.dt * batch.target_velocity[:, :3]
        batch.target[:, :3] = np.clip(batch.target[:, :3], [-0.2, -0.15, _TIP + 0.005], [0.25, 0.15, 0.25])
        batch.target[:, 3:] = 0.5 * (_OPEN + _CLOSED) - 0.5 * (_OPEN - _CLOSED) * action[:, 3:4]

    def observe(self, batch, memory):
        q, v = batch.q, batch.v
        heights = np.stack([10.0 * q[:, 2], 100.0 * (q[:, 3] + q[:, 4] + q[:, 5]) / 3.0], axis=1)
        behind = 100.0 * (batch.target[:, :3] - q[:, :3])
        up = up_of(q[:, self._bowl + 3 : self._bowl + 7])
        parts = [self._grasp(q), self._way(q, memory), heights, behind, up, v[:, self._bowl_v : self._bowl_v + 3], v[:, :3]]
        return np.concatenate(parts, axis=1)

    def score(self, action, batch, memory):
        q, v = batch.q, batch.v
        way, b, t = self._way(q, memory), self._bowl, self._top
        level = up_of(q[:, b + 3 : b + 7])[:, 2]
        rest = (hypot3(v[:, self._bowl_v : self._bowl_v + 3]) < 0.02) & (q[:, 3] > 0.075)
        beside = np.sqrt(way[:, 0] * way[:, 0] + way[:, 1] * way[:, 1])
        done = (beside < 0.1) & (np.abs(way[:, 2]) < 0.02) & (level > 0.995) & rest
        moved = 10.0 * (q[:, t : t + 2] - memory["place"][:, :2])
        knocked = np.sqrt(moved[:, 0] * moved[:, 0] + moved[:, 1] * moved[:, 1]) > 0.3
        failed = (knocked | (level < 0.5) | (up_of(q[:, t + 3 : t + 7])[:, 2] < 0.5)) & ~done
        worth = self._worth(q, memory)
        reward = worth - memory["worth"] + 10.0 * done - 5.0 * failed
        memory["worth"][:] = worth
        return reward, done | failed, {"beside_mm": 100.0 * beside, "success": done}
