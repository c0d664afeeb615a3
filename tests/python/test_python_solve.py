"""The solver on arrays: closed forms, the law itself, and bad input."""

import threading

import almond
import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st


def block_on_floor(mass=2.0, mu=0.5, push=0.0, down=9.81, dt=0.01):
    """A point mass on a floor: A v = b, contact at its centre, rows t1, t2, n."""
    A = mass * np.eye(3)
    b = mass * dt * np.array([push, 0.0, -down])
    return A, b, np.eye(3), np.zeros(3), np.array([mu])


def test_block_sticks_below_the_friction_angle():
    A, b, J, e, mu = block_on_floor(push=0.4 * 9.81)
    s = almond.solve(A, b, J, e, mu)
    assert s.solved and s.status == "solved"
    np.testing.assert_allclose(s.v, 0.0, atol=1e-12)
    np.testing.assert_allclose(s.impulses, -b, atol=1e-12)
    assert s.certificate.residual < 1e-10 and s.certificate.modes == ["stick"]


def test_block_slides_above_it():
    A, b, J, e, mu = block_on_floor(push=0.8 * 9.81)
    s = almond.solve(A, b, J, e, mu)
    np.testing.assert_allclose(s.v, [0.3 * 9.81 * 0.01, 0.0, 0.0], atol=1e-10)
    assert s.certificate.modes == ["slip"]


@pytest.mark.parametrize("solver", ["auto", "canal", "subadmm", "spn", "pgs"])
def test_all_solvers_obey_the_law(solver, rng):
    G = rng.standard_normal((9, 6))
    A = np.diag(rng.uniform(0.5, 2.0, 6))
    problem = almond.ContactProblem(A, rng.standard_normal(6), G, np.abs(rng.standard_normal(9)), np.full(3, 0.6))
    s = almond.solve(problem, solver=solver, settings={"max_iterations": 100000})
    w = G @ s.v + problem.e
    impulses = s.impulses.reshape(3, 3)
    assert s.solved
    np.testing.assert_allclose(A @ s.v, problem.b + G.T @ s.impulses, atol=1e-7)
    assert (impulses[:, 2] >= -1e-9).all() and (w[2::3] >= -1e-7).all()
    assert (np.linalg.norm(impulses[:, :2], axis=1) <= 0.6 * impulses[:, 2] + 1e-9).all()
    np.testing.assert_allclose(impulses[:, 2] * w[2::3], 0.0, atol=1e-7)
    assert problem.certify(s.impulses).residual <= 1e-8


def test_sparse_and_dense_are_one_problem(rng):
    A = np.kron(np.eye(4), np.diag([1.0, 2.0, 3.0]))
    J = np.zeros((6, 12))
    J[:3, :3] = np.eye(3)
    J[3:, 3:6], J[3:, 6:9] = -np.eye(3), np.eye(3)
    b, e, mu = rng.standard_normal(12), np.zeros(6), np.array([0.3, 0.8])
    dense = almond.solve(A, b, J, e, mu)
    for kind in (sp.csr_matrix, sp.csc_matrix, sp.coo_matrix, sp.csr_array):
        sparse = almond.solve(kind(A), b, kind(J), e, mu)
        np.testing.assert_array_equal(dense.v, sparse.v)
        np.testing.assert_array_equal(dense.impulses, sparse.impulses)
    assert almond.ContactProblem(A, b, J, e, mu, subsystem_offsets=[0, 3, 6, 9, 12]).num_subsystems == 4


def test_rows_beside_contacts():
    # A mass pulled by a soft row towards v = 1, stopped by a hard row at v <= 0.2: the closed form of each.
    one = np.array([[1.0]])
    hard = almond.solve(one, [1.0], Jh=-one, eh=[0.2])
    np.testing.assert_allclose(hard.v, [0.2], atol=1e-12)
    equal = almond.solve(one, [1.0], Jq=one, eq=[-0.7])
    np.testing.assert_allclose(equal.v, [0.7], atol=1e-12)
    soft = almond.solve(one, [1.0], Js=one, es=[0.1], ks=[2.0], bs=[3.0])
    np.testing.assert_allclose(soft.v, [(1.0 - 0.2) / 4.0], atol=1e-12)  # v = 1 - k e - b v
    bounded = almond.solve(one, [1.0], Jb=one, eb=[0.0], limit=[0.25])
    np.testing.assert_allclose(bounded.v, [0.75], atol=1e-12)


def test_files_keep_every_bit(tmp_path, rng):
    problem = almond.ContactProblem(*block_on_floor(), name="block")
    for ending in ("npz", "json"):
        problem.save(tmp_path / f"p.{ending}")
        again = almond.ContactProblem.load(tmp_path / f"p.{ending}")
        assert again.name == "block"
        for field in ("A", "b", "J", "e", "mu"):
            np.testing.assert_array_equal(getattr(problem, field), getattr(again, field))


def test_warm_start_takes_no_longer():
    problem = almond.ContactProblem(*block_on_floor(push=0.8 * 9.81))
    cold = almond.solve(problem, solver="subadmm")
    warm = almond.solve(problem, solver="subadmm", start=cold.impulses)
    assert warm.iterations <= cold.iterations
    np.testing.assert_allclose(cold.impulses, warm.impulses, atol=1e-8)


def test_views_outlive_their_solution():
    v = almond.solve(*block_on_floor()).v
    np.testing.assert_allclose(v, 0.0, atol=1e-12)


def test_many_threads_at_once(rng):
    problems = [almond.ContactProblem(*block_on_floor(push=x)) for x in rng.uniform(0, 9, 16)]
    want = [almond.solve(p).v.copy() for p in problems]
    got = [None] * 16

    def work(k):
        for _ in range(20):
            got[k] = almond.solve(problems[k]).v.copy()

    threads = [threading.Thread(target=work, args=(k,)) for k in range(16)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    for a, b in zip(want, got):
        np.testing.assert_array_equal(a, b)


MISTAKES = [
    (dict(b=[1.0, 2.0]), "b"),
    (dict(mu=[-0.5]), "mu"),
    (dict(mu=["a"]), "mu"),
    (dict(A=[[1.0, 0, 0], [0, 1, 0], [0, 0, -1]]), "A"),
    (dict(A=np.eye(3) * np.nan), "A"),
    (dict(J=np.eye(3) * 1j), "J"),
    (dict(e=[np.inf, 0, 0]), "e"),
    (dict(J=np.zeros((2, 3))), "J"),
    (dict(e="zero"), "e"),
    (dict(b=None), "b"),
]


@pytest.mark.parametrize("change, name", MISTAKES)
def test_mistakes_name_the_argument(change, name):
    given = dict(zip("A b J e mu".split(), block_on_floor()))
    given.update(change)
    A = given.pop("A")
    with pytest.raises(ValueError, match=name):
        almond.solve(A, **given)


def test_unknown_names_get_the_nearest():
    problem = almond.ContactProblem(*block_on_floor())
    with pytest.raises(ValueError, match="canal"):
        almond.solve(problem, solver="cannal")
    with pytest.raises(ValueError, match="budget_ms"):
        almond.solve(problem, settings={"budget": 1.0})
    with pytest.raises(ValueError, match="tol"):
        almond.solve(problem, tol=-1.0)
    with pytest.raises(ValueError, match="start"):
        almond.solve(problem, start=[0.0])
    with pytest.raises(ValueError, match="subsystem_offsets"):
        almond.ContactProblem(*block_on_floor(), subsystem_offset=[0, 3])
    with pytest.raises(ValueError, match="already"):
        almond.solve(problem, [1.0])
    with pytest.raises(ValueError, match="nowhere.npz.*No such file"):
        almond.ContactProblem.load("nowhere.npz")


def test_layouts_and_dtypes_do_not_matter():
    A, b, J, e, mu = block_on_floor(push=1.0)
    want = almond.solve(A, b, J, e, mu).v
    frozen = b.copy()
    frozen.flags.writeable = False
    variants = [
        (np.asfortranarray(A), frozen, J[::1], e, mu),
        (np.repeat(A, 2, axis=1)[:, ::2], b, np.asfortranarray(J), e.astype(np.float32), mu.tolist()),
        (A.tolist(), list(b), J.astype(int), e.astype(bool), mu),
    ]
    for variant in variants:
        np.testing.assert_allclose(almond.solve(*variant).v, want, atol=1e-12)


@settings(deadline=None, max_examples=60)
@given(st.integers(1, 4), st.integers(0, 5), st.integers(0, 2**32 - 1))
def test_anything_gets_an_answer_or_a_value_error(n, m, seed):
    r = np.random.default_rng(seed)
    A = np.diag(10.0 ** r.uniform(-6, 6, n))
    J = r.standard_normal((3 * m, n)) * r.integers(0, 2, (3 * m, n))
    try:
        s = almond.solve(A, r.standard_normal(n), J, r.standard_normal(3 * m), r.uniform(0, 2, m), settings={"budget_ms": 50.0})
    except ValueError:
        return
    assert np.isfinite(s.v).all() and np.isfinite(s.impulses).all()
    assert s.status in ("solved", "max-iterations", "time-budget", "stalled", "infeasible", "numerical-error")


def test_arguments_by_name():
    block = dict(b=[2.0, 0.0, -0.1962], J=np.eye(3), e=np.zeros(3), mu=[0.5])
    by_name, by_place = almond.solve(A=2 * np.eye(3), **block), almond.solve(2 * np.eye(3), *block.values())
    assert by_name.impulses.tobytes() == by_place.impulses.tobytes()
    for nothing in (lambda: almond.solve(**block), lambda: almond.solve(None, **block), lambda: almond.solve()):
        with pytest.raises(ValueError, match="^A: missing"):
            nothing()


def test_settings_go_by_name_or_as_a_dict():
    problem = almond.ContactProblem(np.eye(3), [0.1, 0.0, -1.0], np.eye(3), np.zeros(3), [0.5])
    by_name = almond.solve(problem, solver="pgs", max_iterations=3, fixed_iterations=True)
    as_dict = almond.solve(problem, solver="pgs", settings={"max_iterations": 3, "fixed_iterations": True})
    assert by_name.iterations == as_dict.iterations == 3
    assert np.array_equal(by_name.impulses, as_dict.impulses)
    arrays = almond.solve(np.eye(3), [0.1, 0.0, -1.0], np.eye(3), np.zeros(3), [0.5], solver="pgs", max_iterations=3, fixed_iterations=True)
    assert np.array_equal(arrays.impulses, by_name.impulses)
    with pytest.raises(ValueError, match="mu: the problem has it already"):
        almond.solve(problem, mu=[0.2])
