"""Many worlds on many cores or machines: rollouts, sweeps, data sets.

Worlds come in shards of a fixed size. A shard depends on its number and the seed alone, never on who computes it, so that
threads and Ray, on any number of workers, give the same bits; it is also what is written, resumed and tried again.
"""

import concurrent.futures
import itertools
import json
import os
import pathlib
import sys
import threading
import time

import numpy as np

from . import _core
from ._core import Error
from ._load import _INPUTS, load, simulate
from ._shards import Rollouts, read_shard, write_shard

__all__ = ["rollout"]


_STATE = ("q", "v", "time")
_CONTROLS = ("target", "target_velocity", "feedforward")
_RESERVED = (*_STATE, *_CONTROLS, "index", "step", "rng", "residual", "solved")


def _make_simulation(model, seed, options):
    if isinstance(model, _core.Model):
        return simulate(model, seed=seed, **options)
    if isinstance(model, str):
        return load(model, seed=seed, **options)
    sim = model(seed)
    if not isinstance(sim, _core.Simulation):
        raise Error(f"model: the function returned a {type(sim).__name__}, expected an almond.Simulation")
    return sim


def _by_mode(sims, values):
    """One number per drive as what its mode follows, as in Simulation.set_control; the rest of these inputs stays."""
    inputs = np.array([_INPUTS[mode] for mode in sims[0].model.drive_modes] or ["target"])
    controls = {}
    for name in dict.fromkeys(inputs.tolist()):
        followed = inputs == name
        controls[name] = np.array([getattr(sim, name) for sim in sims])
        controls[name][:, followed[: values.shape[1]]] = values[:, followed[: values.shape[1]]]
    return controls


def _control(sims, policy, observation):
    """What the policy says, per input of the drives; checked, since a wrong shape would broadcast."""
    said = policy(observation)
    controls = said if isinstance(said, dict) else {"controls": said}
    for name, values in controls.items():
        if isinstance(said, dict) and name not in _CONTROLS:
            raise Error(f"policy: returned {name!r}, expected one of {', '.join(_CONTROLS)}")
        try:
            values = np.asarray(values, dtype=float)
        except (TypeError, ValueError):
            raise Error(f"policy: {name} is {values!r}, expected an array of numbers") from None
        shape = (len(sims), len(sims[0].target))
        if values.shape != shape:
            raise Error(f"policy: {name} has shape {values.shape}, expected {shape}, a row per world and a column per drive")
        if not np.isfinite(values).all():
            raise Error(f"policy: {name} has numbers that are not finite")
        controls = {**controls, name: values}
    if not isinstance(said, dict):
        controls = _by_mode(sims, controls["controls"])
    checked = {}
    for name, values in controls.items():
        for sim, row in zip(sims, values):
            getattr(sim, name)[:] = row
        checked[name] = values.copy()
    return checked


class _Stopped(Exception):
    """The call that this shard belongs to is over."""


def run_shard(task, shard, stop=None):
    """All worlds of one shard, step by step together; {name: array with a row per world}. Ends early where stop.is_set()."""

    def check():
        if stop is not None and stop.is_set():
            raise _Stopped

    first, last = shard * task["shard"], min(task["n"], (shard + 1) * task["shard"])
    sims, rngs, parameters = [], [], []
    for index in range(first, last):
        check()
        world = np.random.SeedSequence([task["seed"], int(index)])
        sim = _make_simulation(task["model"], int(world.generate_state(1, np.uint64)[0] >> np.uint64(1)), task["options"])
        rng = np.random.default_rng(world)
        said = task["setup"](sim, int(index), rng) if task["setup"] else None
        if said is not None and not isinstance(said, dict):
            raise Error(f"setup: returned a {type(said).__name__} for world {index}, expected None or a dict of parameters")
        sims.append(sim)
        rngs.append(rng)
        parameters.append(said or {})
    indices = np.arange(first, last)
    sizes = {(len(s.q), len(s.v), len(s.target)) for s in sims}
    if len(sizes) > 1:
        raise Error(f"model: worlds {first} to {last - 1} differ in size, expected models of one kind")

    records, every = task["steps"] // task["every"], task["every"]
    kept = {}
    residual, solved = np.zeros(len(sims)), np.ones(len(sims), bool)

    def look():
        """The state of all worlds, and what the user wants to see of it; kept, and handed to the policy."""
        seen = {name: np.array([getattr(sim, name) for sim in sims]) for name in _STATE}
        observed = [task["observe"](sim) for sim in sims] if task["observe"] else [{}]
        for name in observed[0]:
            if name in _RESERVED:
                raise Error(f"observe: returned {name!r}, which is kept anyway; expected another name")
            seen[name] = np.array([values[name] for values in observed])
        keep(seen)
        return seen

    def keep(rows):
        for name, values in rows.items():
            kept.setdefault(name, []).append(values)

    seen = look()
    for k in range(records):
        if task["policy"]:
            keep(_control(sims, task["policy"], {**seen, "index": indices, "step": k * every, "rng": rngs}))
        for world, sim in enumerate(sims):
            for _ in range(every):  # one by one, so that the worst of all steps is seen
                check()
                report = sim.step()
                residual[world] = max(residual[world], report.residual)
                solved[world] &= report.solved
        seen = look()
    arrays = {name: np.stack(values, axis=1) for name, values in kept.items()}
    for name in sorted({name for p in parameters for name in p}):
        arrays["param_" + name] = np.array([p.get(name, np.nan) for p in parameters])
    return {"index": indices, **arrays, "residual": residual, "solved": solved}


def _run_threads(task, missing, workers, done):
    stop = threading.Event()
    with concurrent.futures.ThreadPoolExecutor(workers) as pool:
        pending = {}
        try:
            while True:
                for shard in itertools.islice(missing, 2 * workers - len(pending)):  # few at once: there may be millions
                    pending[pool.submit(run_shard, task, shard, stop)] = shard
                if not pending:
                    return
                ready, _ = concurrent.futures.wait(pending, return_when=concurrent.futures.FIRST_COMPLETED)
                for future in ready:
                    done(pending.pop(future), future.result())
        except BaseException:
            stop.set()
            pool.shutdown(wait=True, cancel_futures=True)
            for future, shard in pending.items():  # done at the same time: not lost
                if not future.cancelled() and future.exception() is None:
                    done(shard, future.result())
            raise


def _run_ray(task, missing, workers, done, options):
    try:
        import ray
    except ImportError:
        raise ImportError("backend: 'ray' needs the package ray: pip install ray") from None
    own = not ray.is_initialized()
    if own:
        paths = os.pathsep.join(path or os.getcwd() for path in sys.path)  # what can be imported here can be there
        environment = {"env_vars": {"PYTHONPATH": paths}}
        ray.init(num_cpus=workers, include_dashboard=False, log_to_driver=False, runtime_env=environment)
    try:
        # A worker that dies is tried again elsewhere; an exception of the user's code is not.
        remote = ray.remote(run_shard).options(**{"max_retries": 5, "retry_exceptions": False, **(options or {})})
        shared = ray.put(task)
        pending = {}
        ahead = 4 * max(1, workers or int(ray.cluster_resources().get("CPU", 1)))
        while True:
            # Few at once: finished ones are held in memory until they are written.
            for shard in itertools.islice(missing, ahead - len(pending)):
                pending[remote.remote(shared, shard)] = shard
            if not pending:
                break
            ready, _ = ray.wait(list(pending), num_returns=1)
            for reference in ready:
                done(pending.pop(reference), ray.get(reference))
    finally:
        if own:
            ray.shutdown()


class _Progress:
    """A bar on stderr."""

    def __init__(self, shown, worlds, finished):
        self.shown = sys.stderr.isatty() if shown is None else bool(shown)
        self.worlds, self.finished, self.start = worlds, finished, time.monotonic()
        self.show()

    def add(self, worlds):
        self.finished += worlds
        self.show()

    def show(self):
        if self.shown:
            filled = 30 * self.finished // self.worlds
            end = "\n" if self.finished == self.worlds else ""
            text = f"\r[{'#' * filled}{'.' * (30 - filled)}] {self.finished} of {self.worlds} worlds, {time.monotonic() - self.start:.1f} s"
            print(text, end=end, file=sys.stderr, flush=True)


def _whole(value, name, least):
    if isinstance(value, bool) or not isinstance(value, (int, np.integer)) or value < least:
        raise Error(f"{name}: is {value!r}, expected a whole number of {least} or more")
    return int(value)


def _check_model(model, backend):
    if isinstance(model, _core.Model):
        if backend == "ray":
            raise Error(
                "model: an almond.Model cannot be sent to other processes; expected the name of a scene, a file, or a function "
                "of a seed that builds the simulation there"
            )
        return model, model.name
    if isinstance(model, (str, os.PathLike)):
        model = os.fspath(model)
        if _core.is_scene_file(model):
            model = os.path.abspath(model)
            if not os.path.exists(model):
                raise Error(f"model: {model}: no such file")
        return model, os.path.basename(model)
    if isinstance(model, _core.Simulation) or not callable(model):
        raise Error(f"model: is a {type(model).__name__}, expected a Model, a scene's name, a file, or a function of a seed")
    return model, getattr(model, "__qualname__", type(model).__name__)


def _open_folder(folder, facts):
    """What is in the folder must have been made by the same call."""
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / "rollout.json"
    if file.exists():
        try:
            before = json.loads(file.read_text())
        except ValueError:
            raise Error(f"folder: {file} is damaged, expected what rollout wrote") from None
        for name, value in facts.items():
            if before.get(name) != value:
                raise Error(f"folder: {folder} was made with {name} {before.get(name)!r}, expected {value!r}; choose another folder")
    else:
        if any(folder.glob("shard_*")):
            raise Error(f"folder: {folder} has shards but no rollout.json, expected an empty folder or one of an earlier call")
        partial = file.with_suffix(".part")
        partial.write_text(json.dumps(facts, indent=1))
        os.replace(partial, file)


def rollout(
    model, policy=None, n=1, *, steps, seed=0, backend="threads", workers=None, every=1, setup=None, observe=None,
    shard=16, folder=None, format="npz", progress=None, ray_options=None, **options
) -> Rollouts:  # fmt: skip
    """n worlds of a model for a number of steps; the same bits for the same seed, whatever the backend and the number of workers.

    model: the name of a scene, a file, a function of a seed that returns a Simulation, or a Model (threads only). options are those
    of almond.load or almond.simulate.
    policy(observation) -> controls: called every `every` steps with a dict of arrays, a row per world of a shard: q, v, time, what
    `observe` gives, index of the worlds, step, and rng, a list of random generators, one per world. It returns controls (worlds,
    drives), each what the mode of its drive follows, as in Simulation.set_control: feedforward for torque, target_velocity for velocity,
    target for the others; or a dict of target, target_velocity and feedforward. It must depend on nothing else. None: no control.
    setup(sim, index, rng): changes a world before its first step; the numbers of the dict it returns, if any, are kept as param_NAME.
    observe(sim) -> dict of arrays to keep besides q, v and time, before the first step and after every `every`.
    shard: worlds per shard; another number may give a policy that sums over its batch other bits.
    folder: shards are written there as they come, as npz or parquet (format); a call with the same arguments goes on where an earlier
    one ended. Without it everything stays in memory.
    backend: "threads", or "ray" (needs the package ray) on the cluster that ray.init has joined, or on one of its own with
    `workers` CPUs. A worker that dies is replaced and its shard done again. ray_options are those of ray.remote.
    """
    if backend not in ("threads", "ray"):
        raise Error(f"backend: is {backend!r}, expected 'threads' or 'ray'")
    if format not in ("npz", "parquet"):
        raise Error(f"format: is {format!r}, expected 'npz' or 'parquet'")
    for name, function in (("policy", policy), ("setup", setup), ("observe", observe)):
        if function is not None and not callable(function):
            raise Error(f"{name}: is a {type(function).__name__}, expected a function or None")
    n, steps, every, shard = _whole(n, "n", 1), _whole(steps, "steps", 1), _whole(every, "every", 1), _whole(shard, "shard", 1)
    seed = _whole(seed, "seed", 0)
    workers = None if workers is None else _whole(workers, "workers", 1)
    if steps % every:
        raise Error(f"every: is {every}, expected a divisor of steps, {steps}")
    model, name = _check_model(model, backend)
    task = {"model": model, "policy": policy, "setup": setup, "observe": observe, "options": options}
    sizes = {"n": n, "steps": steps, "seed": seed, "every": every, "shard": shard}
    task.update(sizes)

    count = -(-n // shard)
    results = {}
    if folder is not None:
        folder = pathlib.Path(folder)
        _open_folder(folder, {"model": name, **sizes, "format": format, "options": {k: repr(v) for k, v in sorted(options.items())}})
        for file in folder.glob(f"shard_*.{format}"):
            number = file.stem.removeprefix("shard_")
            if number.isdigit() and int(number) < count and read_shard(file) is not None:
                results[int(number)] = file
    already = set(results)
    complete = len(already) == count
    missing = (k for k in range(count) if k not in already)
    bar = _Progress(progress, n, sum(min(n, (k + 1) * shard) - k * shard for k in results))

    def done(k, arrays):
        results[k] = arrays if folder is None else write_shard(folder / f"shard_{k:06d}.{format}", arrays)
        bar.add(len(arrays["index"]))

    if not complete and backend == "ray":
        _run_ray(task, missing, workers, done, ray_options)
    elif not complete:
        _run_threads(task, missing, workers or os.cpu_count() or 1, done)
    return Rollouts([results[k] for k in range(count)])
