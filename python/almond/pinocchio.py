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


def _vector(x, name, size):
    """Finite numbers of that many entries."""
    try:
        x = np.asarray(x, dtype=float)
    except (TypeError, ValueError):
        raise ValueError(f"{name}: is {x!r}, expected {size} numbers") from None
    if x.shape != (size,):
        raise ValueError(f"{name}: has shape {x.shape}, expected ({size},)")
    if not np.isfinite(x).all():
        raise ValueError(f"{name}: entry {int(np.argmin(np.isfinite(x)))} is {x[np.argmin(np.isfinite(x))]}, expected finite numbers")
    return x


def _frame(normal, place):
    """Rows t1, t2, n."""
    n = _vector(normal, f"{place}: normal", 3)
    if abs(np.linalg.norm(n) - 1.0) > 1e-6:
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
    q, v, tau = (_vector(x, name, size) for x, name, size in ((q, "q", model.nq), (v, "v", model.nv), (tau, "tau", model.nv)))
    M = pin.crba(model, data, q)
    M = np.triu(M) + np.triu(M, 1).T
    nle = pin.nonLinearEffects(model, data, q, v)
    pin.computeJointJacobians(model, data, q)
    J, e, mu = np.zeros((3 * len(contacts), model.nv)), np.zeros(3 * len(contacts)), np.zeros(len(contacts))
    for k, contact in enumerate(contacts):
        place = f"contacts[{k}]"
        if not isinstance(contact, Contact):
            raise ValueError(f"{place}: is a {type(contact).__name__}, expected an almond.pinocchio.Contact")
        for name in ("mu", "gap"):
            if not np.isfinite(getattr(contact, name)):
                raise ValueError(f"{place}: {name} is {getattr(contact, name)}, expected a finite number")
        if contact.mu < 0:
            raise ValueError(f"{place}: mu is {contact.mu}, expected 0 or more")
        for side in (contact.joint, contact.other):
            if not 0 <= side < model.njoints:
                raise ValueError(f"{place}: joint {side}, expected 0 to {model.njoints - 1}")
        position = _vector(contact.position, f"{place}: position", 3)
        relative = np.zeros((3, model.nv))
        if contact.joint > 0:
            relative += _point_jacobian(model, data, contact.joint, position)
        if contact.other > 0:
            relative -= _point_jacobian(model, data, contact.other, position)
        J[3 * k : 3 * k + 3] = _frame(contact.normal, place) @ relative
        e[3 * k + 2] = contact.gap / dt
        mu[k] = contact.mu
    return ContactProblem(M, M @ v + dt * (tau - nle), J, e, mu)
