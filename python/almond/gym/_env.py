"""Environments of Gymnasium around worlds of a task."""

import operator

import gymnasium
import numpy as np
from gymnasium.utils import seeding
from gymnasium.vector import AutoresetMode
from gymnasium.vector.utils import batch_space

from .._core import Error, Model
from ._worlds import Task, Worlds


def _make_task(task, options):
    from . import TASKS

    if not isinstance(task, str):
        if options:
            raise Error(f"{next(iter(options))}: options are for a task by name, expected none with {task!r}")
        return _check_task(task)
    if task not in TASKS:
        raise Error(f"task: is {task!r}, expected one of {', '.join(TASKS)}")
    return TASKS[task](**options)


def _check_task(task):
    if isinstance(task, type):
        raise TypeError(f"task: is the class {task.__name__}, expected an instance, {task.__name__}()")
    if not isinstance(task, Task):
        raise TypeError(f"task: is {task!r}, expected the name of a task or an almond.gym.Task")
    if not isinstance(task.model, Model):
        raise Error(f"task: its model is {task.model!r}, expected an almond.Model")
    for name, least in (("observation_size", 0), ("action_size", 0), ("substeps", 1)):
        value = getattr(task, name)
        if isinstance(value, bool) or not isinstance(value, (int, np.integer)) or value < least:
            raise Error(f"task: its {name} is {value!r}, expected a whole number of {least} or more")
    if not task.observation_limit > 0:
        raise Error(f"task: its observation_limit is {task.observation_limit!r}, expected a number above 0")
    return task


def _spaces(task):
    limit = task.observation_limit
    return (
        gymnasium.spaces.Box(-limit, limit, (task.observation_size,), np.float64),
        gymnasium.spaces.Box(-1.0, 1.0, (task.action_size,), np.float32),
    )


def _check_action(action, shape):
    action = np.asarray(action)
    if action.shape != shape:
        raise Error(f"action: has shape {action.shape}, expected {shape}")
    if not np.isfinite(action).all():
        raise Error("action: has entries that are not finite, expected numbers from -1 to 1")
    return action


def _check_render_mode(render_mode):
    if render_mode not in (None, "rgb_array"):
        raise Error(
            f"render_mode: is {render_mode!r}, expected None or 'rgb_array'; save_html() and show() replay an episode in a browser"
        )
    return render_mode


def _metadata(metadata, worlds):
    """With the pictures a second that play at the speed of the world."""
    return {**metadata, "render_fps": max(1, round(1.0 / (worlds.batch.dt * worlds.task.substeps)))}


def _can_render(env):
    """Gymnasium's rule: without a mode there is no picture, and a word on it."""
    _open(env.worlds)
    if env.render_mode is None:
        gymnasium.logger.warn("render: the environment has no render_mode, expected gymnasium.make(..., render_mode='rgb_array')")
    return env.render_mode is not None


def _open(worlds):
    if worlds is None:
        raise gymnasium.error.ClosedEnvironmentError("the environment was closed and its simulation is gone; make a new one")
    return worlds


class Env(gymnasium.Env):
    """One world of a task: `task` is its name or an almond.gym.Task, options go to the task.

    save_html(path) and show() replay the present episode, in a page that any browser plays; with render_mode="rgb_array"
    render() is a picture of the world as it is."""

    metadata = {"render_modes": ["rgb_array"], "render_fps": 60}

    def __init__(self, task, render_mode=None, **options):
        self.render_mode = _check_render_mode(render_mode)
        self.task = _make_task(task, options)
        self.worlds = Worlds(self.task, 1, record=True)
        self.metadata = _metadata(self.metadata, self.worlds)
        self.observation_space, self.action_space = _spaces(self.task)
        self._begun = False

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        _open(self.worlds).reset(0, self.np_random)
        self._begun = True
        return self.worlds.observe()[0], {}

    def step(self, action):
        _open(self.worlds)
        if not self._begun:
            raise gymnasium.error.ResetNeeded("step: before the first reset")
        action = _check_action(action, self.action_space.shape)
        reward, terminated, info = self.worlds.step(action[None])
        info = {name: values[0].item() for name, values in info.items()}
        return self.worlds.observe()[0], float(reward[0]), bool(terminated[0]), False, info

    def render(self):
        """The world as it is, (height, width, 3) of uint8."""
        if not _can_render(self):
            return None
        if not self._begun:
            raise gymnasium.error.ResetNeeded("render: before the first reset")
        return self.worlds.picture(0)

    def save_html(self, path, fps=60.0):
        """Write a page that plays the present episode."""
        _open(self.worlds).replay(0, fps).save_html(path, type(self.task).__name__)

    def show(self, fps=60.0):
        """Play the present episode: inside a notebook, or in the browser."""
        return _open(self.worlds).replay(0, fps).show(type(self.task).__name__)

    def close(self):
        """Free the simulation; nothing but closing again is possible afterwards."""
        self.worlds = None


class VectorEnv(gymnasium.vector.VectorEnv):
    """Many worlds of a task, stepped together by almond.Batch on `threads` threads (0: one per CPU).

    World k is bit for bit what an Env with its seed gives, for any number of threads. autoreset_mode as in Gymnasium's own
    vector environments. With record=True, save_html(path, world) replays the present episode of a world."""

    metadata = {"render_modes": ["rgb_array"], "render_fps": 60, "autoreset_mode": AutoresetMode.NEXT_STEP}

    def __init__(
        self,
        task,
        num_envs=1,
        max_episode_steps=None,
        threads=0,
        autoreset_mode=AutoresetMode.NEXT_STEP,
        record=False,
        render_mode=None,
        **options,
    ):
        self.render_mode = _check_render_mode(render_mode)
        if operator.index(num_envs) < 1:
            raise Error(f"num_envs: is {num_envs}, expected 1 or more")
        self.task = _make_task(task, options)
        self.num_envs, self.max_episode_steps = num_envs, max_episode_steps
        self.autoreset_mode = AutoresetMode(autoreset_mode)
        self.worlds = Worlds(self.task, num_envs, threads, record)
        self.metadata = {**_metadata(self.metadata, self.worlds), "autoreset_mode": self.autoreset_mode}
        self.single_observation_space, self.single_action_space = _spaces(self.task)
        self.observation_space = batch_space(self.single_observation_space, num_envs)
        self.action_space = batch_space(self.single_action_space, num_envs)
        self._rngs = [None] * num_envs
        self._steps = np.zeros(num_envs, int)
        self._over = np.zeros(num_envs, bool)

    def _reset_worlds(self, which):
        for k in which:
            if self._rngs[k] is None:
                self._rngs[k] = seeding.np_random()[0]
            self.worlds.reset(int(k), self._rngs[k])
            self._steps[k] = 0
            self._over[k] = False

    def reset(self, *, seed=None, options=None):
        """seed: one number s, for s, s + 1, ...; or one per world, None to go on. options {"reset_mask": (n,) bool} resets some."""
        n = self.num_envs
        seeds = [None] * n if seed is None else list(seed) if np.ndim(seed) else [seed + k for k in range(n)]
        if len(seeds) != n:
            raise Error(f"seed: has {len(seeds)} entries, expected {n}, one per world")
        mask = np.asarray((options or {}).get("reset_mask", np.ones(n, bool)))
        if mask.shape != (n,) or mask.dtype != np.bool_:
            raise Error(f"reset_mask: has shape {mask.shape} of {mask.dtype}, expected ({n},) of bool")
        for k in np.flatnonzero(mask):
            if seeds[k] is not None:
                self._rngs[k] = seeding.np_random(int(seeds[k]))[0]
        _open(self.worlds)
        self._reset_worlds(np.flatnonzero(mask))
        return self.worlds.observe(), {}

    def step(self, actions):
        _open(self.worlds)
        actions = _check_action(actions, self.action_space.shape)
        if None in self._rngs:
            raise gymnasium.error.ResetNeeded("step: before the first reset")
        if self.autoreset_mode == AutoresetMode.DISABLED and self._over.any():
            raise gymnasium.error.ResetNeeded(f"step: the episodes of worlds {np.flatnonzero(self._over)} are over")
        reborn = self._over.copy() if self.autoreset_mode == AutoresetMode.NEXT_STEP else np.zeros(self.num_envs, bool)
        reward, terminated, info = self.worlds.step(actions)
        self._steps += 1
        self._reset_worlds(np.flatnonzero(reborn))  # they were stepped with the others, and now begin anew
        reward = np.where(reborn, 0.0, reward)
        terminated = terminated & ~reborn
        limit = self.max_episode_steps
        truncated = self._steps >= limit if limit else np.zeros(self.num_envs, bool)
        self._over = terminated | truncated
        infos = _masked(info, ~reborn)
        observation = self.worlds.observe()
        if self.autoreset_mode == AutoresetMode.SAME_STEP and self._over.any():
            over = self._over.copy()
            final = np.full(self.num_envs, None, object)
            for k in np.flatnonzero(over):
                final[k] = observation[k]
            infos = {**_masked(info, ~over), "final_obs": final, "_final_obs": over, "final_info": _masked(info, over), "_final_info": over}
            self._reset_worlds(np.flatnonzero(over))
            observation = self.worlds.observe()
        return observation, reward, terminated, truncated, infos

    def render(self):
        """A picture of each world as it is, (height, width, 3) of uint8."""
        if not _can_render(self):
            return None
        if None in self._rngs:
            raise gymnasium.error.ResetNeeded("render: before the first reset")
        return tuple(self.worlds.picture(k) for k in range(self.num_envs))

    def save_html(self, path, world=0, fps=60.0):
        """Write a page that plays the present episode of a world; needs record=True."""
        _open(self.worlds).replay(world, fps).save_html(path, type(self.task).__name__)

    def close_extras(self, **kwargs):
        """Free the simulations; nothing but closing again is possible afterwards."""
        self.worlds = None


def _masked(info, mask):
    """Gymnasium's form of a vector's info: with each array, which worlds have it; zeros elsewhere."""
    infos = {}
    if mask.any():
        for name, values in info.items():
            infos[name], infos["_" + name] = np.where(mask, values, np.zeros((), values.dtype)), mask.copy()
    return infos
