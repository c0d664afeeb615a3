#!/usr/bin/env python3
"""Runs the constraint solvers of Pinocchio (PyPI package pin, 4.x) on one contact problem.

The Delassus matrix goes in dense, for ADMM also sparse, or only sparse, where it is mostly zero. Only solve() is timed, in CPU time of
this process; it includes the factorisations it makes, not the building of the operator. Interface: see peers_common.py.
"""

import sys

import peers_common
import numpy as np

import pinocchio as pin

DENSE_UP_TO = 600  # contacts; beyond, a dense factorisation alone takes longer than the budget
SPARSE_BELOW = 0.25  # share of nonzeros below which ADMM also gets a sparse operator
DENSE_ABOVE = 0.015  # share of nonzeros above which ADMM also gets a dense one


def make_constraints(problem):
    """One frictional point contact per contact. Only its cone matters: W and q carry the mechanics."""
    model = pin.Model()
    model.addJoint(0, pin.JointModelFreeFlyer(), pin.SE3.Identity(), "body")
    models, datas = pin.StdVec_ConstraintModel(), pin.StdVec_ConstraintData()
    for mu in problem.mu:
        contact = pin.PointContactConstraintModel(model, 0, pin.SE3.Identity(), 1, pin.SE3.Identity())
        contact.setFriction(float(mu))
        models.append(pin.ConstraintModel(contact))
        datas.append(models[len(models) - 1].createData())
    return models, datas


def variant(problem, constraints, make_operator, solver_type, settings_type, result_type, **more):
    """`more`: settings by name."""
    models, datas = constraints

    def run(limit, tolerance):
        settings = settings_type()
        settings.max_iterations = limit
        settings.absolute_feasibility_tol = tolerance
        settings.relative_feasibility_tol = 0.0
        settings.absolute_complementarity_tol = tolerance
        settings.relative_complementarity_tol = 0.0
        settings.solve_ncp = True
        for name, value in more.items():
            setattr(settings, name, value)
        operator = make_operator()
        solver = solver_type(3 * problem.contacts)
        result = result_type()
        start = peers_common.cpu_ms()
        reached = solver.solve(operator, problem.q, models, datas, settings, result)
        time_ms = peers_common.cpu_ms() - start
        impulses = np.array(result.retrieveConstraintImpulses()).ravel()
        return min(limit, int(result.iterations)), time_ms, impulses, bool(reached)

    return run


def admm(problem):
    kinds = (pin.ADMMConstraintSolver, pin.ADMMSolverSettings, pin.ADMMSolverResult)
    constraints = make_constraints(problem)
    size = 3 * problem.contacts
    share = len(problem.data) / size**2
    if problem.contacts <= DENSE_UP_TO and share > DENSE_ABOVE:
        W = problem.dense()
        yield variant(problem, constraints, lambda: pin.DelassusOperatorDense(W), *kinds)
    if share < SPARSE_BELOW:
        from scipy.sparse import csr_matrix

        sparse = csr_matrix((problem.data, problem.indices, problem.indptr), (size, size)).tocsc()
        yield variant(problem, constraints, lambda: pin.DelassusOperatorSparse(sparse), *kinds)


def admm_anderson(problem):
    """ADMM with extrapolation, off by default there and better on problems with many more contacts than freedoms."""
    kinds = (pin.ADMMConstraintSolver, pin.ADMMSolverSettings, pin.ADMMSolverResult)
    if problem.contacts <= DENSE_UP_TO and hasattr(pin.ADMMSolverSettings, "anderson_capacity"):
        W = problem.dense()
        for memory in (5, 10):
            yield variant(problem, make_constraints(problem), lambda: pin.DelassusOperatorDense(W), *kinds, anderson_capacity=memory)


def pgs(problem):
    kinds = (pin.PGSConstraintSolver, pin.PGSSolverSettings, pin.PGSSolverResult)
    if problem.contacts <= DENSE_UP_TO:
        W = problem.dense()
        yield variant(problem, make_constraints(problem), lambda: pin.DelassusOperatorDense(W), *kinds)


SOLVERS = {"admm": admm, "admm-anderson": admm_anderson, "pgs": pgs}

if __name__ == "__main__":
    sys.exit(peers_common.main(SOLVERS, __doc__))
