"""The built program and a few problems to feed it."""

import json
import os
import resource
import subprocess
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).resolve().parents[2]
PROGRAM = Path(os.environ.get("ALMOND_PROGRAM", ROOT / "build" / "almond"))


class Result:
    def __init__(self, done):
        self.code, self.out, self.err = done.returncode, done.stdout, done.stderr

    def json(self):
        return json.loads(self.out)


@pytest.fixture(scope="session")
def almond():
    if not PROGRAM.exists():
        pytest.skip(f"{PROGRAM} is not built")

    def run(*arguments, cwd=None, env=None, timeout=240, memory_mb=None):
        limit = [memory_mb * 1000000] * 2 if memory_mb else None
        done = subprocess.run(
            [str(PROGRAM), *map(str, arguments)],
            cwd=cwd,
            env={**os.environ, **(env or {})},
            capture_output=True,
            text=True,
            timeout=timeout,
            check=False,
            preexec_fn=(lambda: resource.setrlimit(resource.RLIMIT_AS, limit)) if limit else None,
        )
        return Result(done)

    return run


def sliding_point(mu=0.5, slope=0.0, speed=1.0):
    """A particle of 2 kg on the ground, axes (t1, t2, n) = (x, y, z), pressed down by 2 x 9.81 x 0.01 N s."""
    mass, step = 2.0, 0.01
    velocity = np.array([speed, 0.0, 0.0]) + step * 9.81 * np.array([np.sin(slope), 0.0, -np.cos(slope)])
    return {
        "A": mass * np.eye(3),
        "b": mass * velocity,
        "J": np.eye(3),
        "e": np.zeros(3),
        "mu": np.array([mu]),
    }


@pytest.fixture
def problem_file(tmp_path):
    path = tmp_path / "point.npz"
    np.savez(path, **sliding_point())
    return path
