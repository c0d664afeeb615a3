"""A cube in a robot hand."""

import pathlib
import tempfile
import xml.etree.ElementTree as xml

import numpy as np

from .._core import Box, Error, ModelBuilder
from ._parts import find_robot, from_rotation_vector, mean_square, up_of
from ._worlds import Task

_HAND = "allegro_hand_description/urdf/allegro_right_hand.urdf"
_HALF = 0.030  # of the cube's edge [m]
_DROP = np.array([0.020, -0.020, 0.0425])  # where the cube begins, on the palm [m]
# Fingers half closed around the cube: index, middle, ring, thumb, four joints each [rad].
_FINGER, _THUMB = (0.0, 0.9, 0.8, 0.8), (0.9, 0.4, 0.4, 0.6)
_GRASP = np.array([*_FINGER, *_FINGER, *_FINGER, *_THUMB])


def _add_hand(builder):
    """The hand, palm up. The file's dry friction of 5 to 12 N m a joint would keep the fingers from ever moving."""
    file = find_robot(_HAND)
    tree = xml.parse(file)
    for joint in tree.iter("joint"):
        for dynamics in joint.findall("dynamics"):
            joint.remove(dynamics)
    joints = {f"joint_{k}.0": _GRASP[k] for k in range(16)}
    palm_up = [np.sqrt(0.5), 0.0, -np.sqrt(0.5), 0.0]
    with tempfile.TemporaryDirectory() as folder:
        smooth = pathlib.Path(folder) / file.name
        tree.write(smooth)
        builder.add_urdf(smooth, quaternion=palm_up, joints=joints, search=[str(file.parents[2]), str(file.parents[3])])
    builder.exclude("palm_link", "link_13.0")  # the thumb's hulls overlap the palm's
    builder.exclude("palm_link", "link_14.0")


class InHandCube(Task):
    """Turn a cube about the vertical with the fingers of an Allegro hand, palm up, without dropping it.

    Needs the hand of example-robot-data. The cube has 60 mm and 80 g. friction: between cube and hand.

    Action (16): targets of the finger joints beside a loose grasp, ± 0.5 rad; index, middle, ring, thumb, four joints each.
    Observation (45): joint angles beside the grasp [rad] (16), joint velocities / 10 (16), cube beside its start [cm] (3), up in the
    cube's axes (3), its velocity [dm/s] (3), angular velocity [rad/s] (3), and how far it has been turned [rad] (1).
    Reward: 10 x what it is turned about the vertical [rad], 0.5 rad/s at most; minus 0.01 mean action²; -5, and the end, when it falls
    out of the hand. 30 actions a second, 150 steps.
    """

    options = {"dt": 1.0 / 120.0}
    substeps = 4
    observation_size = 45
    observation_limit = 100.0
    action_size = 16
    _reach = 0.5

    def __init__(self, friction=0.8):
        if not 0.0 < friction <= 5.0:
            raise Error(f"friction: is {friction}, expected above 0, at most 5")
        b = ModelBuilder("in_hand_cube")
        _add_hand(b)
        for k in range(16):
            b.add_drive(f"joint_{k}.0", "impedance", stiffness=3.0, damping=0.1, effort_limit=0.7)
        b.add_solid("cube", Box([_HALF] * 3), 0.08, mu=friction)
        self.model = m = b.build()
        self._q, self._v = (np.array([f(n).start for n in m.drive_names]) for f in (m.q_slice, m.v_slice))
        self._cube, self._cube_v = m.q_slice("cube").start, m.v_slice("cube").start

    def start(self, rng):
        q, v = self.model.q0.copy(), np.zeros(self.model.num_v)
        q[self._q] = _GRASP
        q[self._cube : self._cube + 3] = _DROP + np.array([0.002, 0.004, 0.0]) * rng.uniform(-1, 1, 3)
        q[self._cube + 3 : self._cube + 7] = from_rotation_vector(np.array([0.0, 0.0, 0.2]) * rng.uniform(-1, 1, 3))
        return q, v, _GRASP, {"turned": 0.0}

    def act(self, action, batch, memory):
        batch.target[:] = _GRASP + self._reach * action

    def observe(self, batch, memory):
        q, v, c, w = batch.q, batch.v, self._cube, self._cube_v
        cube = [100.0 * (q[:, c : c + 3] - _DROP), up_of(q[:, c + 3 : c + 7]), 10.0 * v[:, w : w + 3], v[:, w + 3 : w + 6]]
        return np.concatenate([q[:, self._q] - _GRASP, 0.1 * v[:, self._v], *cube, memory["turned"][:, None]], axis=1)

    def score(self, action, batch, memory):
        time = self.substeps * batch.dt
        rate = batch.v[:, self._cube_v + 5]
        memory["turned"] += time * rate
        p = batch.q[:, self._cube : self._cube + 3] - _DROP
        fallen = (p[:, 2] < -0.06) | (np.abs(p[:, 0]) > 0.1) | (np.abs(p[:, 1]) > 0.1)
        reward = 10.0 * time * np.minimum(rate, 0.5) - 0.01 * mean_square(action) - 5.0 * fallen
        return reward, fallen, {"turned": memory["turned"].copy(), "fallen": fallen}
