"""Contact problems of Pinocchio models.

    problem = almond.pinocchio.make_problem(model, data, q, v, tau, dt, contacts)
    v_next = almond.solve(problem).v

A step of semi-implicit Euler: M (v⁺ - v) = dt (tau - nle) + Jᵀ L, with the law of almond.solve at each contact.
"""

import numbers
import operator
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
import pinocchio as pin

from ._core import ContactProblem, Error

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
        raise Error(f"{name}: is {x!r}, expected {size} numbers") from None
    if x.shape != (size,):
        raise Error(f"{name}: has shape {x.shape}, expected ({size},)")
    if not np.isfinite(x).all():
        raise Error(f"{name}: entry {int(np.argmin(np.isfinite(x)))} is {x[np.argmin(np.isfinite(x))]}, expected finite numbers")
    return x


def _number(x, name):
    if isinstance(x, bool) or not isinstance(x, numbers.Real) or not np.isfinite(x):
        raise Error(f"{name} is {x!r}, expected a finite number")
    return float(x)


def _joint(x, name, model):
    try:
        joint = operator.index(x)
    except TypeError:
        joint = -1
    if not 0 <= joint < model.njoints or isinstance(x, bool):
        raise Error(f"{name} is {x!r}, expected the index of a joint, 0 to {model.njoints - 1}")
    return joint


def _frame(normal, place):
    """Rows t1, t2, n."""
    n = _vector(normal, f"{place}: normal", 3)
    if abs(np.linalg.norm(n) - 1.0) > 1e-6:
        raise Error(f"{place}: normal is {normal}, expected a unit vector")
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
    if not isinstance(model, pin.Model):
        raise TypeError(f"model: is a {type(model).__name__}, expected a pinocchio.Model")
    if not isinstance(data, pin.Data):
        raise TypeError(f"data: is a {type(data).__name__}, expected a pinocchio.Data")
    if len(data.oMi) != model.njoints or data.M.shape != (model.nv, model.nv):
        raise Error("data: was made for another model, expected model.createData()")
    if not _number(dt, "dt:") > 0:
        raise Error(f"dt: is {dt}, expected a positive time")
    if isinstance(contacts, (str, bytes)) or not isinstance(contacts, Iterable):
        raise Error(f"contacts: is {contacts!r}, expected a list of almond.pinocchio.Contact")
    contacts = list(contacts)
    q, v, tau = (_vector(x, name, size) for x, name, size in ((q, "q", model.nq), (v, "v", model.nv), (tau, "tau", model.nv)))
    if not pin.isNormalized(model, q, 1e-3):
        raise Error("q: has a quaternion, or a pair of cosine and sine, that has not length 1; see pinocchio.normalize")
    M = pin.crba(model, data, q)
    M = np.triu(M) + np.triu(M, 1).T
    nle = pin.nonLinearEffects(model, data, q, v)
    pin.computeJointJacobians(model, data, q)
    J, e, mu = np.zeros((3 * len(contacts), model.nv)), np.zeros(3 * len(contacts)), np.zeros(len(contacts))
    for k, contact in enumerate(contacts):
        place = f"contacts[{k}]"
        if not isinstance(contact, Contact):
            raise Error(f"{place}: is a {type(contact).__name__}, expected an almond.pinocchio.Contact")
        mu[k], gap = _number(contact.mu, f"{place}: mu"), _number(contact.gap, f"{place}: gap")
        if mu[k] < 0:
            raise Error(f"{place}: mu is {contact.mu}, expected 0 or more")
        joint, other = _joint(contact.joint, f"{place}: joint", model), _joint(contact.other, f"{place}: other", model)
        if joint == other:
            raise Error(f"{place}: joint and other are both {joint}, expected two bodies")
        position = _vector(contact.position, f"{place}: position", 3)
        relative = np.zeros((3, model.nv))
        if joint > 0:
            relative += _point_jacobian(model, data, joint, position)
        if other > 0:
            relative -= _point_jacobian(model, data, other, position)
        J[3 * k : 3 * k + 3] = _frame(contact.normal, place) @ relative
        e[3 * k + 2] = gap / dt
    return ContactProblem(M, M @ v + dt * (tau - nle), J, e, mu)
