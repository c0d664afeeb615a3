"""The solver on arrays."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from typing import Any

from . import _core
from ._core import ContactProblem, Error, Solution, Workspace

_mine = threading.local()


def solvers() -> list[str]:
    """Names of the solvers: auto, canal, subadmm, spn, pgs and the paper's baselines."""
    return list(_core.solver_names())


def solve(
    problem: Any = None,
    b: Any = None,
    J: Any = None,
    e: Any = None,
    mu: Any = None,
    *,
    solver: str = "auto",
    tol: float = 1e-8,
    start: Any = None,
    workspace: Workspace | None = None,
    settings: Mapping[str, Any] | None = None,
    **more: Any,
) -> Solution:
    """Solve A v = b + J^T impulses under the Signorini-Coulomb law.

    Either ``solve(problem)`` with a ContactProblem, or ``solve(A, b, J, e, mu)`` with arrays: A (n, n) and J (3m, n) dense
    or SciPy sparse, rows of J and e per contact in the order t1, t2, n. Further arrays of a ContactProblem (hard rows Jh and
    eh, soft rows, equalities, subsystem_offsets, ...) go by name, and so do settings of the solver (budget_ms, max_iterations,
    threads, trace, ...), see docs/commands.md; settings: the same as a dict.

    start: impulses to begin from. Never raises for a hard problem: the status says how it went, and the certificate how
    exactly. Raises almond.Error for bad input. Several threads may call it at once.
    """
    names = _core.setting_names()
    by_name = {name: more.pop(name) for name in list(more) if name in names}
    if problem is None:
        problem = more.pop("A", None)
    if problem is None:
        raise Error("A: missing, expected solve(problem) or solve(A, b, J, e, mu)")
    if isinstance(problem, ContactProblem):
        given = [name for name, value in (("b", b), ("J", J), ("e", e), ("mu", mu)) if value is not None] + list(more)
        if given:
            raise Error(f"{given[0]}: the problem has it already; expected settings only")
    else:
        if b is None:
            raise Error("b: missing, expected solve(problem) or solve(A, b, J, e, mu)")
        problem = ContactProblem(problem, b, J, e, mu, **more)
    if settings is not None and not isinstance(settings, dict):
        raise Error(f"settings: is a {type(settings).__name__}, expected a dict")
    for name, value, default in [("solver", solver, "auto"), ("tol", tol, 1e-8), *((n, x, None) for n, x in by_name.items())]:
        if name in (settings or {}) and value != default:
            raise Error(f"{name}: given twice, as an argument and in settings; expected one of them")
    if workspace is None:
        workspace = getattr(_mine, "workspace", None)
        if workspace is None:
            workspace = _mine.workspace = Workspace()
    return _core.solve_problem(problem, {"solver": solver, "tol": tol, **(settings or {}), **by_name}, start, workspace)
