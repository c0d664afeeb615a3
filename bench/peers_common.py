"""What the peers share: reading a problem, the ladder of runs, and writing their answers.

In:  an .npz with W (CSR: W_data, W_indices, W_indptr, W_shape), q and mu, rows (t1, t2, n) per contact, of
     w = W lambda + q under Signorini-Coulomb.
Out: an .npz with times_ms (k), iterations (k) and lambdas (k, 3m), rewritten after every run, so that what was reached
     before a crash or a hang is kept. Every run is a cold start; the caller judges the impulses, not this script.
     Where a peer can be run in several ways (storage of W), all are, and the caller takes the best at each time.
"""

import argparse
import os
import sys
import time

for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[name] = "1"

import numpy as np  # noqa: E402  (after the thread counts, which are read at import)

TARGETS = (1e-3, 1e-6, 1e-9)
MOST_REPEATS, SHORT_MS = 20, 5.0


class Problem:
    """W lambda + q in CSR, with the natural map that decides where to look closer."""

    def __init__(self, path):
        with np.load(path) as archive:
            self.data = np.asarray(archive["W_data"], dtype=float)
            self.indices = np.asarray(archive["W_indices"], dtype=np.int64)
            self.indptr = np.asarray(archive["W_indptr"], dtype=np.int64)
            self.q = np.asarray(archive["q"], dtype=float)
            self.mu = np.asarray(archive["mu"], dtype=float)
        self.contacts = len(self.mu)
        self.rows = np.repeat(np.arange(3 * self.contacts), np.diff(self.indptr))
        diagonal = np.zeros(3 * self.contacts)
        on = self.indices == self.rows
        diagonal[self.rows[on]] = self.data[on]
        trace = diagonal.reshape(-1, 3).sum(axis=1)
        self.rho = 3.0 / np.where(trace > 0.0, trace, 1.0)

    def dense(self):
        W = np.zeros((3 * self.contacts, 3 * self.contacts))
        W[self.rows, self.indices] = self.data
        return W

    def natural_map(self, impulses):
        """sqrt(sum |(lambda - P_C(lambda - rho (w + p))) / rho|^2) / |q|, p = (0, 0, mu |w_t|)."""
        w = np.bincount(self.rows, self.data * impulses[self.indices], 3 * self.contacts) + self.q
        w = w.reshape(-1, 3)
        lam = impulses.reshape(-1, 3)
        shifted = w.copy()
        shifted[:, 2] += self.mu * np.hypot(w[:, 0], w[:, 1])
        x = lam - self.rho[:, None] * shifted
        t = np.hypot(x[:, 0], x[:, 1])
        n = (x[:, 2] + self.mu * t) / (1.0 + self.mu**2)
        scale = np.divide(self.mu * n, t, out=np.zeros_like(t), where=t > 0.0)
        slip = np.column_stack((x[:, 0] * scale, x[:, 1] * scale, n))
        stick = t <= self.mu * x[:, 2]
        apart = self.mu * t <= -x[:, 2]
        projected = np.where(stick[:, None], x, np.where(apart[:, None], 0.0, slip))
        norm = np.linalg.norm((lam - projected) / self.rho[:, None])
        return norm / max(np.linalg.norm(self.q), 1e-300)


class Recorder:
    """All runs of one solver on one problem. `points` are those of the current variant, by the iterations made."""

    def __init__(self, problem, path):
        self.problem, self.path = problem, path
        self.points = {}  # iterations -> (CPU ms, impulses, natural map)
        self.finished = []

    def next_variant(self):
        self.finished.extend((t, k, x) for k, (t, x, _) in self.points.items())
        self.points = {}

    def add(self, iterations, time_ms, impulses):
        if not np.all(np.isfinite(impulses)):
            error, impulses = np.inf, np.zeros_like(impulses)
        else:
            error = self.problem.natural_map(impulses)
        if iterations in self.points:
            time_ms = min(time_ms, self.points[iterations][0])
        self.points[iterations] = (time_ms, impulses, error)
        self.write()
        return error

    def write(self):
        rows = self.finished + [(t, k, x) for k, (t, x, _) in self.points.items()]
        rows.sort(key=lambda row: row[0])
        partial = self.path + ".partial.npz"
        np.savez(
            partial,
            times_ms=np.array([row[0] for row in rows], dtype=float),
            iterations=np.array([row[1] for row in rows], dtype=np.int64),
            lambdas=np.array([row[2] for row in rows], dtype=float),
        )
        os.replace(partial, self.path)


def climb(run, recorder, budget_ms):
    """Doubling iteration limits, no tolerance, until the budget is spent or 1e-9 is reached; returns the last limit."""
    limit = 1
    while True:
        used, time_ms, impulses, _ = run(limit, 1e-15)
        error = recorder.add(limit, time_ms, impulses)
        if error <= 0.5 * TARGETS[-1] or time_ms >= budget_ms or used < limit or limit >= 1 << 24:
            return limit
        # The last rung aims at the budget instead of overshooting it.
        limit = 2 * limit if 2.0 * time_ms < budget_ms else max(limit + 1, int(limit * budget_ms / max(time_ms, 1e-3)))


def sweep(run, recorder, limit):
    """The solver's own stopping rule, a decade at a time: catches a good iterate that a non-monotone method leaves."""
    for decade in range(3, 15):
        used, time_ms, impulses, reached = run(limit, 10.0**-decade)
        if recorder.add(used, time_ms, impulses) <= 0.5 * TARGETS[-1] or not reached:
            return


def refine(run, recorder, budget_ms):
    """Bisection, in the logarithm of the iteration limit, of the first crossing of each target: to a tenth, or to a quarter
    where a run takes long."""
    for target in TARGETS:
        reached = [k for k in sorted(recorder.points) if recorder.points[k][2] <= target]
        if not reached:
            continue
        high = reached[0]
        low = max((k for k in recorder.points if k < high), default=0)
        step = 1.1 if recorder.points[high][0] < 0.1 * budget_ms else 1.25
        while high - low > 1 and high > step * max(low, 1):
            middle = min(max(int(round(np.sqrt(max(low, 1) * high))), low + 1), high - 1)
            _, time_ms, impulses, _ = run(middle, 1e-15)
            low, high = (low, middle) if recorder.add(middle, time_ms, impulses) <= target else (middle, high)


def steady(run):
    """Short runs are repeated and their median taken, as for our own."""

    def repeated(limit, tolerance):
        used, time_ms, impulses, reached = run(limit, tolerance)
        times = [time_ms]
        while len(times) < MOST_REPEATS and sum(times) < SHORT_MS:
            times.append(run(limit, tolerance)[1])
        return used, float(np.median(times)), impulses, reached

    return repeated


def main(solvers, description):
    """`solvers`: name -> function(problem) that returns a list of variants (say, of matrix storage), each a function
    run(limit, tolerance) -> (iterations used, CPU ms, impulses, whether its own tolerance was reached)."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--solver", choices=sorted(solvers), required=True)
    parser.add_argument("--budget-ms", type=float, default=1000.0)
    parser.add_argument("--once", type=int, default=0, help="one run with this iteration limit instead of a ladder")
    parser.add_argument("--tol", type=float, default=1e-10, help="tolerance of the one run")
    parser.add_argument("paths", nargs="+", help="IN OUT [IN OUT ...]")
    options = parser.parse_args()
    if len(options.paths) % 2:
        parser.error("paths come in pairs: IN OUT")
    for source, target in zip(options.paths[::2], options.paths[1::2]):
        problem = Problem(source)
        recorder = Recorder(problem, target)
        for run in solvers[options.solver](problem):
            if options.once:
                used, time_ms, impulses, _ = run(options.once, options.tol)
                recorder.add(used, time_ms, impulses)
            else:
                run = steady(run)
                limit = climb(run, recorder, options.budget_ms)
                sweep(run, recorder, limit)
                refine(run, recorder, options.budget_ms)
            recorder.next_variant()
    return 0


def cpu_ms():
    return 1e3 * time.process_time()


if __name__ == "__main__":
    sys.exit("peers_common.py is imported by peers_siconos.py and peers_pinocchio.py")
