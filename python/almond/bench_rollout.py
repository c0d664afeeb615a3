"""How rollouts scale with workers.

    python -m almond.bench_rollout [--workers 1 2 4] [--backends threads ray] [--worlds 64] [--steps 240] [--json FILE]

Prints worlds per second; that all runs give the same bits is checked on the way.
"""

import argparse
import importlib.util
import json
import os
import pathlib
import time

import numpy as np

from . import rollout


def setup(sim, index, rng):
    sim.v[:] = 0.05 * rng.standard_normal(len(sim.v))


def main(arguments=None):
    parser = argparse.ArgumentParser(prog="python -m almond.bench_rollout", description="How rollouts scale with workers.")
    parser.add_argument("--workers", type=int, nargs="+", default=[1, 2], help="(%(default)s)")
    parser.add_argument("--backends", nargs="+", default=["threads", "ray"], choices=["threads", "ray"], help="(%(default)s)")
    parser.add_argument("--scene", default="quadrupeds", help="(%(default)s)")
    parser.add_argument("--worlds", type=int, default=64, help="(%(default)s)")
    parser.add_argument("--steps", type=int, default=120, help="(%(default)s)")
    parser.add_argument("--json", default="bench_rollout.json", help="where to write the figures (%(default)s)")
    given = parser.parse_args(arguments)
    rows, first = [], None
    print(f"{'backend':9}{'workers':>8}{'seconds':>10}{'worlds/s':>10}")
    for backend in given.backends:
        if backend == "ray" and importlib.util.find_spec("ray") is None:
            print("ray      not installed")
            continue
        for workers in given.workers:
            cluster = None
            if backend == "ray":  # starting a cluster and its workers is not what is measured
                import ray as cluster

                cluster.init(num_cpus=workers, include_dashboard=False, log_to_driver=False)
                rollout(given.scene, n=4 * workers, steps=1, shard=1, backend=backend)
            start = time.perf_counter()
            found = rollout(given.scene, n=given.worlds, steps=given.steps, every=given.steps, setup=setup, shard=4, backend=backend, workers=workers)
            seconds = time.perf_counter() - start
            if cluster:
                cluster.shutdown()
            first = found["q"] if first is None else first
            if not np.array_equal(first, found["q"]):
                raise SystemExit(f"{backend} with {workers} workers gave other bits")
            rows.append({"backend": backend, "workers": workers, "seconds": seconds, "worlds_per_second": given.worlds / seconds})
            print(f"{backend:9}{workers:8}{seconds:10.2f}{given.worlds / seconds:10.2f}", flush=True)
    report = {"scene": given.scene, "worlds": given.worlds, "steps": given.steps, "cpus": os.cpu_count(), "rows": rows}
    partial = pathlib.Path(given.json + ".part")
    partial.write_text(json.dumps(report, indent=1))
    os.replace(partial, given.json)
    print(f"all figures: {given.json}")


if __name__ == "__main__":
    main()
