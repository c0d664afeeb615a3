"""Environments for Gymnasium.

    import gymnasium, almond.gym

    env = gymnasium.make("almond/Quadruped-v0")
    envs = gymnasium.make_vec("almond/Quadruped-v0", num_envs=16)   # stepped together by almond.Batch

What a task observes, does and is rewarded for stands in its class: help(almond.gym.Quadruped).
"""

import gymnasium

from ._env import Env, VectorEnv
from ._worlds import Task, Worlds
from .dishes import DishPiling
from .hand import InHandCube
from .nut import NutThreading
from .pouring import Pouring
from .quadruped import Quadruped
from .reach import Reach

__all__ = ["TASKS", "DishPiling", "Env", "InHandCube", "NutThreading", "Pouring", "Quadruped", "Reach", "Task", "VectorEnv", "Worlds"]

TASKS = {"dishes": DishPiling, "hand": InHandCube, "nut": NutThreading, "pouring": Pouring, "quadruped": Quadruped, "reach": Reach}
_STEPS = {"dishes": 150, "hand": 150, "nut": 200, "pouring": 150, "quadruped": 100, "reach": 60}  # of an episode


def _register():
    for name, task in TASKS.items():
        gymnasium.register(
            id=f"almond/{task.__name__}-v0",
            entry_point="almond.gym:Env",
            vector_entry_point="almond.gym:VectorEnv",
            max_episode_steps=_STEPS[name],
            kwargs={"task": name},
        )


_register()
