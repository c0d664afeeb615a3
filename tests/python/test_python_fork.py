"""Forked children, as multiprocessing and PyTorch's loaders make them: pools of threads work there, with the same bits."""

import os
import signal
import warnings

import almond
import numpy as np
import pytest

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")


def in_child(call):
    """What call() gives in a forked child; one that hangs is ended."""
    read, write = os.pipe()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # that there are threads is what is tried
        child = os.fork()
    if child == 0:
        try:
            signal.alarm(60)
            os.write(write, call())
        finally:
            os._exit(0)
    os.close(write)
    with os.fdopen(read, "rb") as pipe:
        said = pipe.read()
    _, status = os.waitpid(child, 0)
    assert status == 0, f"the child ended with {status}"
    return said


def test_a_batch_goes_on_in_a_child_and_in_its_parent():
    b = almond.ModelBuilder()
    b.add_ground(almond.Plane())
    b.add_solid("ball", almond.Sphere(0.1), 1.0, [0, 0, 0.3])
    model = b.build()
    batch, alone = almond.Batch(model, 4, threads=2), almond.Batch(model, 4, threads=1)

    def go_on():
        batch.step(40)
        return batch.q.tobytes()

    for one in (batch, alone):
        one.v[:, 0] = np.arange(4)
        one.step(40)
    said = in_child(go_on)
    alone.step(40)
    assert said == alone.q.tobytes() == go_on()


def test_solve_with_threads_works_in_a_child(rng):
    problem = almond.ContactProblem(np.eye(60), rng.standard_normal(60), rng.standard_normal((90, 60)), np.ones(90), np.full(30, 0.5))

    def solve():
        return almond.solve(problem, solver="subadmm", threads=2).v.tobytes()

    assert in_child(solve) == solve() == in_child(solve)
