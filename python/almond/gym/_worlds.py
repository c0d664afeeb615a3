"""What a task is, and n worlds of it stepped together. Single and vector environments are both made of this."""

import operator

import gymnasium
import numpy as np

from .._core import Batch, Error
from .._load import simulate


class Task:
    """A world and what is to be done in it. Everything below works on all worlds at once: arrays have a row per world.

    A task fills in `model`, the sizes and the methods. Rows must not know of each other, so that a world gives the same bits
    alone and among others: no sums over worlds, no matrix products over rows.
    """

    model = None
    options = {}  # of the step and of the solver
    substeps = 4  # steps of the simulation per action
    observation_size = 0
    action_size = 0
    observation_limit = np.inf  # observations are cut off at ± this, far beyond what is met: a bound for the observation space

    def start(self, rng):
        """One world at its start: q, v, target and a dict of what the task remembers of a world (scalars or vectors)."""
        raise NotImplementedError

    def act(self, action, batch, memory):
        """Write drive inputs of `batch` from `action`, (worlds, action_size) in [-1, 1]."""
        raise NotImplementedError

    def observe(self, batch, memory):
        """(worlds, observation_size)."""
        raise NotImplementedError

    def score(self, action, batch, memory):
        """After a step: reward, terminated, info, each of its arrays with one entry per world. May change `memory`."""
        raise NotImplementedError

    def simulation(self):
        """A simulation to replay an episode in."""
        return simulate(self.model, **self.options)


def _check_array(said, method, name, shape):
    """What a method of a task returned: numbers of that shape, finite."""
    array = np.asarray(said)
    if array.shape != shape:
        raise Error(f"{method}: {name} has shape {array.shape}, expected {shape}")
    if array.dtype.kind not in "fiub":
        raise Error(f"{method}: {name} has dtype {array.dtype}, expected real numbers")
    if not np.isfinite(array).all():
        place = tuple(np.argwhere(~np.isfinite(array))[0].tolist())
        raise Error(f"{method}: {name}[{', '.join(map(str, place))}] is {array[place]}, expected finite numbers")
    return array


def _check_parts(said, method, kinds):
    """A method of a task returns a tuple of that many parts."""
    if not isinstance(said, (tuple, list)) or len(said) != len(kinds):
        raise Error(f"{method}: returned {type(said).__name__}, expected {', '.join(kinds)}")
    return said


class Worlds:
    """n worlds of a task. With `record`, what the drives were told is kept, to play an episode again later."""

    def __init__(self, task, n, threads=1, record=False):
        self.task, self.record = task, record
        self._name = type(task).__name__
        self.batch = Batch(task.model, n, threads, **task.options)
        self.memory = {}
        self._starts, self._log = {}, []
        self._painter = None

    def reset(self, k, rng):
        """World k to a start of its own; the others stay as they are."""
        batch = self.batch
        q, v, target, memory = _check_parts(self.task.start(rng), self._name + ".start", ("q", "v", "target", "a dict"))
        for name, values in (("q", q), ("v", v), ("target", target)):
            _check_array(values, self._name + ".start", name, getattr(batch, name)[k].shape)
        batch.reset([k], [0])
        batch.q[k], batch.v[k], batch.target[k] = q, v, target
        batch.target_velocity[k] = batch.feedforward[k] = 0.0
        for name, value in memory.items():
            value = np.asarray(value)
            if name not in self.memory:
                self.memory[name] = np.zeros((len(batch), *value.shape), value.dtype)
            self.memory[name][k] = value
        if self.record:
            if len(batch) == 1:
                self._log.clear()
            self._starts[k] = (len(self._log), batch.q[k].copy(), batch.v[k].copy())

    def observe(self):
        limit, shape = self.task.observation_limit, (len(self.batch), self.task.observation_size)
        seen = np.asarray(self.task.observe(self.batch, self.memory))
        if seen.dtype.kind in "fiub":
            seen = np.clip(seen, -limit, limit)
        return _check_array(seen, self._name + ".observe", "the observation", shape)

    def step(self, action):
        """Reward, terminated, info of every world."""
        action = np.clip(np.asarray(action, dtype=np.float64), -1.0, 1.0)
        batch = self.batch
        self.task.act(action, batch, self.memory)
        if self.record:
            self._log.append((batch.target.copy(), batch.target_velocity.copy(), batch.feedforward.copy()))
        batch.step(self.task.substeps)
        method = self._name + ".score"
        reward, terminated, info = _check_parts(
            self.task.score(action, batch, self.memory), method, ("reward", "terminated", "a dict")
        )
        for name, values in (("reward", reward), ("terminated", terminated)):
            _check_array(values, method, name, (len(batch),))
        return reward, terminated, info

    def picture(self, k):
        """World k as it is, (height, width, 3) of uint8."""
        if self._painter is None:
            self._painter = self.task.simulation()
        self._painter.q[:] = self.batch.q[k]
        return self._painter.picture()

    def replay(self, k=0, fps=60.0):
        """A simulation that has done and recorded the present episode of world k once more, with the same bits."""
        if operator.index(k) not in range(len(self.batch)):
            raise Error(f"world: is {k}, expected 0 to {len(self.batch) - 1}")
        if not self.record:
            raise Error("record: is False, expected record=True where the vector environment is made; nothing was recorded")
        if k not in self._starts:
            raise gymnasium.error.ResetNeeded("there is no episode to replay before the first reset")
        begin, q, v = self._starts[k]
        sim = self.task.simulation()
        sim.q[:], sim.v[:] = q, v
        sim.record(fps=fps)
        for target, target_velocity, feedforward in self._log[begin:]:
            sim.target[:], sim.target_velocity[:], sim.feedforward[:] = target[k], target_velocity[k], feedforward[k]
            sim.step(self.task.substeps)
        return sim
