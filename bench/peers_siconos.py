#!/usr/bin/env python3
"""Runs the friction solvers of Siconos (Debian package python3-siconos) on one contact problem.

The matrix goes in as 3x3 sparse blocks and, for NSN_AC and ADMM with up to 300 contacts, also dense: the blocks are never
slower for NSGS and win on large problems, dense is many times faster for the other two on small ones. Only fc3d_driver is timed, in CPU time of this
process; building the matrix is not. Interface: see peers_common.py.
"""

import os
import sys
import tempfile

import peers_common
import numpy as np

import siconos.numerics as sn

NORMAL_FIRST = (1, 2, 0)  # where t1, t2, n go in Siconos' order (n, t1, t2)
DENSE_UP_TO = 300  # contacts


def write_blocks(problem, path):
    """Siconos' text format of a FrictionContactProblem in sparse block storage: the one way in that needs no SciPy."""
    m = problem.contacts
    key = (problem.rows // 3) * m + problem.indices // 3
    blocks, block_of_entry = np.unique(key, return_inverse=True)
    values = np.zeros((len(blocks), 3, 3))
    order = np.array(NORMAL_FIRST)
    values[block_of_entry, order[problem.rows % 3], order[problem.indices % 3]] = problem.data
    starts = np.searchsorted(blocks // m, np.arange(m + 1))
    ends = " ".join(str(3 * (i + 1)) for i in range(m))
    with open(path, "w") as out:
        out.write(f"3\n{m}\n1\n{3 * m}\n{3 * m}\n{len(blocks)}\n{m}\n{m}\n{ends}\n{ends}\n{m + 1}\n{len(blocks)}\n")
        out.write(" ".join(map(str, starts)) + "\n")
        out.write(" ".join(map(str, blocks % m)) + "\n")
        for index, block in enumerate(values):
            out.write(f"{index}\n" + "\n".join(f"{x:.17e}" for x in block.T.ravel()) + "\n")
        q = np.empty_like(problem.q).reshape(-1, 3)
        q[:, order] = problem.q.reshape(-1, 3)
        out.write("\n".join(f"{x:.17e}" for x in q.ravel()) + "\n")
        out.write("\n".join(f"{x:.17e}" for x in problem.mu) + "\n0\n")


def load_blocks(problem):
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "problem.dat")
        write_blocks(problem, path)
        return sn.frictionContact_new_from_filename(path)


def load_dense(problem):
    order = (3 * np.arange(problem.contacts)[:, None] + np.array([2, 0, 1])).ravel()
    W = problem.dense()[np.ix_(order, order)]
    return sn.FrictionContactProblem(3, problem.contacts, W, problem.q[order], problem.mu)


def make_solver(identifier, dense):
    def variant(problem, siconos_problem):
        def run(limit, tolerance):
            options = sn.SolverOptions(identifier)
            options.iparam[sn.SICONOS_IPARAM_MAX_ITER] = limit
            options.dparam[sn.SICONOS_DPARAM_TOL] = tolerance
            reaction = np.zeros(3 * problem.contacts)
            velocity = np.zeros(3 * problem.contacts)
            start = peers_common.cpu_ms()
            info = sn.fc3d_driver(siconos_problem, reaction, velocity, options)
            time_ms = peers_common.cpu_ms() - start
            impulses = reaction.reshape(-1, 3)[:, NORMAL_FIRST].ravel()
            used = min(limit, int(options.iparam[sn.SICONOS_IPARAM_ITER_DONE]))
            return used, time_ms, impulses, info == 0

        return run

    def prepare(problem):
        yield variant(problem, load_blocks(problem))
        if dense and problem.contacts <= DENSE_UP_TO:
            yield variant(problem, load_dense(problem))

    return prepare


SOLVERS = {
    "nsgs": make_solver(sn.SICONOS_FRICTION_3D_NSGS, dense=False),
    "nsn": make_solver(sn.SICONOS_FRICTION_3D_NSN_AC, dense=True),
    "admm": make_solver(sn.SICONOS_FRICTION_3D_ADMM, dense=True),
}

if __name__ == "__main__":
    sys.exit(peers_common.main(SOLVERS, __doc__))
