"""With mu = 0 the contact problem is a QP: velocities against Clarabel; and both residuals of the certificate against an
independent NumPy version, on problems with and without friction. Runs the program as a user would."""

import json
import os
import subprocess
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).resolve().parents[2]
ALMOND = Path(os.environ.get("ALMOND_BIN", ROOT / "build" / "almond"))
pytestmark = pytest.mark.skipif(not ALMOND.exists(), reason="build/almond is absent: make build")


def frame(normal):
    """Columns (t1, t2, n)."""
    helper = np.eye(3)[np.argmin(np.abs(normal))]
    t1 = np.cross(helper, normal)
    t1 /= np.linalg.norm(t1)
    return np.column_stack([t1, np.cross(normal, t1), normal])


def skew(p):
    return np.array([[0, -p[2], p[1]], [p[2], 0, -p[0]], [-p[1], p[0], 0]])


def make_problem(seed, bodies=5, contacts=14, mu=0.0):
    """Random bodies, random contacts among them and to the ground, e_n >= 0: v = 0 is admissible."""
    rng = np.random.default_rng(seed)
    n = 6 * bodies
    A = np.zeros((n, n))
    position = 0.3 * rng.normal(size=(bodies, 3))
    for i in range(bodies):
        X = rng.normal(size=(3, 3))
        mass = rng.uniform(0.5, 2.0)
        A[6 * i : 6 * i + 3, 6 * i : 6 * i + 3] = mass * np.eye(3)
        A[6 * i + 3 : 6 * i + 6, 6 * i + 3 : 6 * i + 6] = mass * 0.02 * (X @ X.T + np.eye(3))
    J = np.zeros((3 * contacts, n))
    for c in range(contacts):
        b = c % bodies
        a = int(rng.integers(-1, bodies))
        normal = rng.normal(size=3)
        R = frame(normal / np.linalg.norm(normal))
        point = position[b] + 0.1 * rng.normal(size=3)
        J[3 * c : 3 * c + 3, 6 * b : 6 * b + 6] += R.T @ np.hstack([np.eye(3), -skew(point - position[b])])
        if a >= 0 and a != b:
            J[3 * c : 3 * c + 3, 6 * a : 6 * a + 6] -= R.T @ np.hstack([np.eye(3), -skew(point - position[a])])
    e = np.zeros(3 * contacts)
    e[2::3] = rng.uniform(0.0, 0.3, size=contacts) * (rng.uniform(size=contacts) < 0.5)
    b = A @ rng.normal(size=n)
    return {"A": A, "b": b, "J": J, "e": e, "mu": np.full(contacts, mu), "subsystem_offsets": np.arange(0, n + 1, 6)}


def add_rows(problem, seed):
    """Two hard and two soft rows on single dofs."""
    rng = np.random.default_rng(seed)
    n = problem["b"].size
    rows = np.zeros((4, n))
    rows[np.arange(4), rng.choice(n, 4, replace=False)] = 1.0
    return problem | {
        "Jh": rows[:2], "eh": rng.uniform(0.0, 0.2, 2),
        "Js": rows[2:], "es": 0.1 * rng.normal(size=2), "ks": np.full(2, 3.0), "bs": np.full(2, 0.7),
    }  # fmt: skip


def run_almond(tmp_path, problem, solver="auto", tol=1e-10):
    path = tmp_path / "problem.npz"
    np.savez(path, **problem)
    command = [ALMOND, "solve", path, "--solver", solver, "--tol", str(tol), "--json", "-"]
    command += ["--save-solution", tmp_path / "out"]
    done = subprocess.run([str(c) for c in command], capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    (report,) = json.loads(done.stdout)
    with np.load(tmp_path / "out" / f"problem.{solver}.npz") as data:
        return report, data["v"], data["lambda"]


def project_cone(mu, x):
    tangent = np.hypot(x[0], x[1])
    if tangent <= mu * x[2]:
        return x
    if mu * tangent <= -x[2]:
        return np.zeros(3)
    normal = (x[2] + mu * tangent) / (1 + mu * mu)
    return np.array([*(mu * normal * x[:2] / tangent), normal])


def strict(mu, x):
    normal = max(0.0, x[2])
    tangent = np.hypot(x[0], x[1])
    scale = mu * normal / tangent if tangent > mu * normal else 1.0
    return np.array([scale * x[0], scale * x[1], normal])


def residuals(problem, lam):
    """(paper residual, natural map) straight from the definitions."""
    hard, soft = problem.get("Jh", np.zeros((0, problem["b"].size))), problem.get("Js", np.zeros((0, problem["b"].size)))
    J = np.vstack([problem["J"], hard, soft])
    stiffness, damping = problem.get("ks", np.zeros(0)), problem.get("bs", np.ones(0))
    e = np.concatenate([problem["e"], problem.get("eh", []), stiffness / damping * problem.get("es", np.zeros(0))])
    compliance = np.concatenate([np.zeros(len(J) - len(soft)), 1 / damping])
    W = J @ np.linalg.solve(problem["A"], J.T)
    q = J @ np.linalg.solve(problem["A"], problem["b"]) + e
    w = W @ lam + q + compliance * lam
    paper, natural = [], []
    contacts = problem["mu"].size
    for i, mu in enumerate(problem["mu"]):
        s = slice(3 * i, 3 * i + 3)
        rho = 3 / np.trace(W[s, s])
        shift = np.array([0, 0, mu * np.hypot(w[3 * i], w[3 * i + 1])])
        paper.extend(lam[s] - strict(mu, lam[s] - w[s]))
        natural.extend((lam[s] - project_cone(mu, lam[s] - rho * (w[s] + shift))) / rho)
    for r in range(3 * contacts, len(J)):
        low = 0.0 if r < 3 * contacts + len(hard) else -np.inf
        rho, unit = 1 / (W[r, r] + compliance[r]), 1 / (1 + compliance[r])
        paper.append(lam[r] - max(low, lam[r] - unit * w[r]))
        natural.append((lam[r] - max(low, lam[r] - rho * w[r])) / rho)
    count = contacts + len(J) - 3 * contacts
    return np.linalg.norm(paper) / count, np.linalg.norm(natural) / np.linalg.norm(q)


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("solver", ["auto", "canal", "spn", "subadmm", "pgs"])
def test_frictionless_velocity_is_the_qp_of_clarabel(tmp_path, seed, solver):
    clarabel = pytest.importorskip("clarabel")
    sparse = pytest.importorskip("scipy.sparse")
    problem = make_problem(seed)
    _, v, _ = run_almond(tmp_path, problem, solver)
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = 1e-13
    normal = problem["J"][2::3]
    # min 1/2 v'Av - b'v  s.t.  -J_n v + s = e_n, s >= 0
    qp = clarabel.DefaultSolver(sparse.csc_matrix(np.triu(problem["A"])), -problem["b"], sparse.csc_matrix(-normal),
                                problem["e"][2::3], [clarabel.NonnegativeConeT(len(normal))], settings)  # fmt: skip
    reference = np.array(qp.solve().x)
    assert np.linalg.norm(v - reference) <= 1e-8 * np.linalg.norm(reference)


@pytest.mark.parametrize("seed", range(3))
def test_frictionless_velocity_is_the_qp_of_osqp(tmp_path, seed):
    osqp = pytest.importorskip("osqp")
    sparse = pytest.importorskip("scipy.sparse")
    problem = make_problem(seed)
    _, v, _ = run_almond(tmp_path, problem)
    normal = problem["J"][2::3]
    solver = osqp.OSQP()
    solver.setup(sparse.csc_matrix(np.triu(problem["A"])), -problem["b"], sparse.csc_matrix(normal),
                 -problem["e"][2::3], np.full(len(normal), np.inf), eps_abs=1e-11, eps_rel=1e-11, max_iter=200000,
                 verbose=False)  # fmt: skip
    reference = solver.solve().x
    # A first-order method at eps 1e-11: its own accuracy is the limit here.
    assert np.linalg.norm(v - reference) <= 1e-7 * np.linalg.norm(reference)


@pytest.mark.parametrize("rows", [False, True])
@pytest.mark.parametrize("mu", [0.0, 0.4])
@pytest.mark.parametrize("tol", [1e-3, 1e-9])
def test_printed_certificate_is_numpys(tmp_path, rows, mu, tol):
    problem = make_problem(3, mu=mu)
    if rows:
        problem = add_rows(problem, 4)
    report, v, lam = run_almond(tmp_path, problem, tol=tol)
    paper, natural = residuals(problem, lam)
    # Near 1e-10 of |q| rounding in W lambda is visible.
    assert report["residual"] == pytest.approx(paper, rel=1e-6, abs=1e-13)
    assert report["natural_map"] == pytest.approx(natural, rel=1e-6, abs=1e-13)
    J = np.vstack([problem[key] for key in ("J", "Jh", "Js") if key in problem])
    assert np.linalg.norm(problem["A"] @ v - problem["b"] - J.T @ lam) <= 1e-10 * np.linalg.norm(problem["b"])


@pytest.mark.parametrize("solver", ["auto", "canal", "spn", "subadmm", "pgs"])
def test_unfinished_work_is_certified_as_well(tmp_path, solver):
    """After one iteration the residual is far from zero, and still the same number in both codes."""
    problem = make_problem(5, mu=0.5)
    path = tmp_path / "problem.npz"
    np.savez(path, **problem)
    command = [ALMOND, "solve", path, "--solver", solver, "--max-iters", "1", "--json", "-", "--save-solution", tmp_path]
    done = subprocess.run([str(c) for c in command], capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    (report,) = json.loads(done.stdout)
    with np.load(tmp_path / f"problem.{solver}.npz") as data:
        paper, natural = residuals(problem, data["lambda"])
    assert report["residual"] == pytest.approx(paper, rel=1e-9)
    assert report["natural_map"] == pytest.approx(natural, rel=1e-9)
