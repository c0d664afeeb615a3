"""Contact problems of Pinocchio models.

    problem = almond.pinocchio.make_problem(model, data, q, v, tau, dt, contacts)
    v_next = almond.solve(problem).v

A step of semi-implicit Euler: M (v⁺ - v) = dt (tau - nle) + Jᵀ L, with the law of almond.solve at each contact.
"""

from dataclasses import dataclass

import numpy as np
import pinocchio as pin

from ._core import ContactProblem

__all__ = ["Contact", "make_problem"]


@dataclass
class Contact:
    """A point where a body touches another, or the ground.

    joint: the joint whose body is pushed along `normal`; other: the joint of the body on the other side, 0 (the universe) for
    the ground. position and normal in the world [m, unit], gap [m] below 0 where they overlap."""

    joint: int
    position: np.ndarray
    normal: np.ndarray
    mu: float = 0.5
    gap: float = 0.0
    other: int = 0


def _frame(normal, place):
    """Rows t1, t2, n."""
    n = np.asarray(normal, dtype=float)
    length = np.linalg.norm(n)
    if n.shape != (3,) or not np.isfinite(length) or abs(length - 1.0) > 1e-6:
        raise ValueError(f"{place}: normal is {normal}, expected a unit vector")
    helper = np.eye(3)[np.argmin(np.abs(n))]
    t1 = np.cross(n, helper)
    t1 /= np.linalg.norm(t1)
    return np.stack([t1, np.cross(n, t1), n])


def _point_jacobian(model, data, joint, position):
    """3 x nv: velocity of the point of the joint's body that is at `position` now, world axes."""
    J = pin.getJointJacobian(model, data, joint, pin.ReferenceFrame.LOCAL_WORLD_ALIGNED)
    arm = position - data.oMi[joint].translation
    return J[:3] - pin.skew(arm) @ J[3:]


def make_problem(model, data, q, v, tau, dt, contacts) -> ContactProblem:
    """The problem of one step from q, v under the joint forces tau. `data` is used as scratch."""
    if not dt > 0:
        raise ValueError(f"dt: is {dt}, expected a positive time")
    v, tau = np.asarray(v, dtype=float), np.asarray(tau, dtype=float)
    for name, x, size in (("q", np.asarray(q), model.nq), ("v", v, model.nv), ("tau", tau, model.nv)):
        if x.shape != (size,):
            raise ValueError(f"{name}: has shape {x.shape}, expected ({size},)")
    M = pin.crba(model, data, q)
    M = np.triu(M) + np.triu(M, 1).T
    nle = pin.nonLinearEffects(model, data, q, v)
    pin.computeJointJacobians(model, data, q)
    J, e, mu = np.zeros((3 * len(contacts), model.nv)), np.zeros(3 * len(contacts)), np.zeros(len(contacts))
    for k, contact in enumerate(contacts):
        place = f"contacts[{k}]"
        for side in (contact.joint, contact.other):
            if not 0 <= side < model.njoints:
                raise ValueError(f"{place}: joint {side}, expected 0 to {model.njoints - 1}")
        position = np.asarray(contact.position, dtype=float)
        if position.shape != (3,):
            raise ValueError(f"{place}: position has shape {position.shape}, expected (3,)")
        relative = np.zeros((3, model.nv))
        if contact.joint > 0:
            relative += _point_jacobian(model, data, contact.joint, position)
        if contact.other > 0:
            relative -= _point_jacobian(model, data, contact.other, position)
        J[3 * k : 3 * k + 3] = _frame(contact.normal, place) @ relative
        e[3 * k + 2] = contact.gap / dt
        mu[k] = contact.mu
    return ContactProblem(M, M @ v + dt * (tau - nle), J, e, mu)
