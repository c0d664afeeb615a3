"""Training without further packages: augmented random search (Mania, Guy, Recht 2018) of a linear policy.

    python -m almond.gym.train almond/Quadruped-v0 --iterations 60 --save policy.npz --html walk.html

Each iteration tries a number of directions in the space of weights, forward and backward, all in one vector environment: a
world per policy, the two of a direction from the same start. The best directions make the step.
"""

import argparse
import time
from dataclasses import dataclass

import almond.gym  # noqa: F401  registers the environments
import gymnasium
import numpy as np
from gymnasium.vector import AutoresetMode



@dataclass
class Policy:
    """action = tanh(weights · (observation - mean) / deviation)."""

    weights: np.ndarray  # (actions, observations), or (worlds, actions, observations) for one policy per world
    mean: np.ndarray
    deviation: np.ndarray

    def __call__(self, observation):
        x = np.clip((observation - self.mean) / self.deviation, -5.0, 5.0)
        return np.tanh(np.einsum("...ij,...j->...i", self.weights, x))

    def save(self, path):
        np.savez(path, weights=self.weights, mean=self.mean, deviation=self.deviation)

    @classmethod
    def load(cls, path):
        with np.load(path) as file:
            return cls(file["weights"], file["mean"], file["deviation"])


def make_policy(env_id, **options):
    """A policy that does nothing yet, for an environment."""
    env = gymnasium.make(env_id, **options)
    (m,), (n,) = env.action_space.shape, env.observation_space.shape
    return Policy(np.zeros((m, n)), np.zeros(n), np.ones(n))


class _Spread:
    """Mean and deviation of all observations so far."""

    def __init__(self, n):
        self.count, self.sum, self.squares = 1.0, np.zeros(n), np.ones(n)

    def add(self, rows):
        self.count += len(rows)
        self.sum += rows.sum(axis=0)
        self.squares += (rows * rows).sum(axis=0)

    def apply(self, policy):
        policy.mean = self.sum / self.count
        policy.deviation = np.sqrt(np.maximum(self.squares / self.count - policy.mean**2, 1e-4))


def run(envs, policy, seeds):
    """Returns of one episode in each world, and all that was observed."""
    observation, _ = envs.reset(seed=[int(s) for s in seeds])
    returns, running, seen = np.zeros(envs.num_envs), np.ones(envs.num_envs, bool), []
    while running.any():
        seen.append(observation[running])
        observation, reward, terminated, truncated, _ = envs.step(policy(observation).astype(np.float32))
        returns += np.where(running, reward, 0.0)
        running &= ~(terminated | truncated)
    return returns, np.concatenate(seen)


def random_search(env_id, iterations=60, directions=16, best=8, step=0.05, noise=0.05, seed=0, threads=0, report=None, **options):
    """Trains a policy; returns it and the mean return of it in every iteration (over as many starts as directions).

    report(iteration, mean return) is called after each; options go to the task."""
    if not 1 <= best <= directions:
        raise almond.Error(f"best: is {best}, expected 1 to {directions}, the number of directions")
    rng = np.random.default_rng(seed)
    mode = {"autoreset_mode": AutoresetMode.NEXT_STEP, "threads": threads}
    envs = gymnasium.make_vec(env_id, num_envs=3 * directions, **mode, **options)
    policy = make_policy(env_id, **options)
    spread, curve = _Spread(len(policy.mean)), []
    for iteration in range(iterations):
        delta = rng.standard_normal((directions, *policy.weights.shape))
        tried = policy.weights + noise * np.concatenate([delta, -delta, 0 * delta])
        seeds = np.tile(rng.integers(2**31, size=directions), 3)
        returns, seen = run(envs, Policy(tried, policy.mean, policy.deviation), seeds)
        ahead, back, here = returns.reshape(3, directions)
        chosen = np.argsort(-np.maximum(ahead, back), kind="stable")[:best]
        scale = np.concatenate([ahead[chosen], back[chosen]]).std() + 1e-8
        policy.weights = policy.weights + step / (best * scale) * np.einsum("k,kij->ij", (ahead - back)[chosen], delta[chosen])
        spread.add(seen)
        spread.apply(policy)
        curve.append(here.mean())
        if report is not None:
            report(iteration, curve[-1])
    envs.close()
    return policy, np.array(curve)


def play(env_id, policy, seed=0, **options):
    """One episode; returns the environment, to look at or to save_html(), and the return."""
    env = gymnasium.make(env_id, **options)
    observation, _ = env.reset(seed=seed)
    total, over = 0.0, False
    while not over:
        observation, reward, terminated, truncated, _ = env.step(policy(observation).astype(np.float32))
        total, over = total + reward, terminated or truncated
    return env.unwrapped, total


def main(argv=None):
    parser = argparse.ArgumentParser(prog="python -m almond.gym.train", description="Augmented random search of a linear policy.")
    parser.add_argument("env", help="almond/Quadruped-v0, ...")
    for name, value in [("iterations", 60), ("directions", 16), ("best", 8), ("seed", 0), ("threads", 0)]:
        parser.add_argument(f"--{name}", type=int, default=value, help=f"{value} unless given")
    for name, value in [("step", 0.05), ("noise", 0.05)]:
        parser.add_argument(f"--{name}", type=float, default=value, help=f"{value} unless given")
    parser.add_argument("--save", metavar="FILE.npz", help="the policy")
    parser.add_argument("--html", metavar="FILE.html", help="a page that plays an episode of it")
    arguments = vars(parser.parse_args(argv))
    env_id, save, html = (arguments.pop(name) for name in ("env", "save", "html"))
    begin = time.perf_counter()

    def report(iteration, value):
        print(f"{iteration:4d}  {time.perf_counter() - begin:6.1f} s  mean return {value:9.3f}", flush=True)

    policy, _ = random_search(env_id, report=report, **arguments)
    env, total = play(env_id, policy)
    print(f"one episode: {total:.3f}")
    if save:
        policy.save(save)
    if html:
        env.save_html(html)


if __name__ == "__main__":
    main()
