"""Almond as the contact solver of MuJoCo.

    import almond.mujoco
    almond.mujoco.step(model, data)        # instead of mujoco.mj_step(model, data)

MuJoCo computes kinematics, collisions, actuators and passive forces of an unmodified MjModel and MjData; the constraint solve,
which softens contact there, is Almond's: rigid contact with Coulomb friction, hard limits and equalities, solved to 1e-8.

With A = M + dt D (MuJoCo's implicit joint damping) a step is  A v⁺ = A v + dt qfrc_smooth + Jᵀ L  and, per row,

    contact        condim 1: no friction; 3: Coulomb with friction[0]; of 4 and 6 the sliding part, spin and rolling friction
                   are left out
    limit          J v⁺ + gap / dt >= 0
    equality       J v⁺ + error / dt = 0
    friction loss  |L| <= dt loss

solref, solimp and impratio have no meaning for such contacts and no effect. Contacts and limits are looked for ahead of
the step, by wider margins that are taken back. An overlap is removed within a step, at 0.5 m/s at
most, by positions alone: the velocities that it took are not kept. qvel, qacc, qfrc_constraint, efc_force and the sensors are
written back, so that mj_contactForce and touch sensors work. The integrator is Euler's, with MuJoCo's implicit damping.
"""

import mujoco
import numpy as np

from . import _core
from ._core import ContactProblem, Solution, Workspace

__all__ = ["Stepper", "make_problem", "step"]

_FRICTION = (mujoco.mjtConstraint.mjCNSTR_FRICTION_DOF, mujoco.mjtConstraint.mjCNSTR_FRICTION_TENDON)
_LIMIT = (mujoco.mjtConstraint.mjCNSTR_LIMIT_JOINT, mujoco.mjtConstraint.mjCNSTR_LIMIT_TENDON)
_MAX_CORRECTION = 0.5  # speed at which an overlap is removed, at most [m/s, rad/s]
_LOOK_AHEAD = 1e-3  # contacts and limits are found this long before they touch, and farther by the speed [m, rad]


class _Ahead:
    """While it lasts, MuJoCo finds contacts and limits that may be reached within the step; margins of the model are as they
    were afterwards. A rigid contact must be known before it is there: found too late, it overlaps."""

    def __init__(self, model, data):
        speed = max(np.abs(data.cvel).max(initial=0.0), np.abs(data.qvel).max(initial=0.0))
        self.extra = _LOOK_AHEAD + 1.5 * model.opt.timestep * speed if np.isfinite(speed) else _LOOK_AHEAD
        self.margins = [model.geom_margin, model.pair_margin, model.jnt_margin, model.tendon_margin]

    def __enter__(self):
        self.kept = [margin.copy() for margin in self.margins]
        for margin in self.margins:
            margin += self.extra

    def __exit__(self, *_):
        for margin, kept in zip(self.margins, self.kept):
            margin[:] = kept


class _Rows:
    """Rows of MuJoCo's constraints, sorted into Almond's kinds."""

    def __init__(self, model, data):
        n, nv = data.nefc, model.nv
        if n == 0:
            J = np.zeros((0, nv))
        elif mujoco.mj_isSparse(model):
            J = np.zeros((n, nv))
            mujoco.mju_sparse2dense(J, data.efc_J, data.efc_J_rownnz, data.efc_J_rowadr, data.efc_J_colind)
        else:
            J = data.efc_J.reshape(n, nv)
        kind = data.efc_type
        self.J = J
        self.equality = np.flatnonzero(kind == mujoco.mjtConstraint.mjCNSTR_EQUALITY)
        self.friction = np.flatnonzero(np.isin(kind, _FRICTION))
        self.limit = np.flatnonzero(np.isin(kind, _LIMIT))
        self.pyramidal = model.opt.cone == mujoco.mjtCone.mjCONE_PYRAMIDAL
        contact = data.contact
        self.contacts = np.flatnonzero(contact.efc_address >= 0)
        self.address = contact.efc_address[self.contacts]
        self.dim = contact.dim[self.contacts]
        self.mu = np.where(self.dim > 1, contact.friction[self.contacts, 0], 0.0)
        self.mu2 = np.where(self.dim > 1, contact.friction[self.contacts, 1], 1.0)
        self.gap = contact.dist[self.contacts]

    def contact_jacobian(self):
        """(3 m, nv), rows t1, t2, n of each contact."""
        m, nv = len(self.contacts), self.J.shape[1]
        J = np.zeros((m, 3, nv))
        flat = self.dim == 1
        J[flat, 2] = self.J[self.address[flat]]
        sliding = np.flatnonzero(~flat)
        at = self.address[sliding]
        if self.pyramidal:  # edges are n ± mu t
            mu1, mu2 = self.mu[sliding, None], self.mu2[sliding, None]
            J[sliding, 2] = 0.5 * (self.J[at] + self.J[at + 1])
            J[sliding, 0] = 0.5 * (self.J[at] - self.J[at + 1]) / mu1
            J[sliding, 1] = 0.5 * (self.J[at + 2] - self.J[at + 3]) / mu2
        else:
            J[sliding, 2], J[sliding, 0], J[sliding, 1] = self.J[at], self.J[at + 1], self.J[at + 2]
        return J.reshape(3 * m, nv)

    def write_forces(self, impulses, dt, data):
        """efc_force in the layout that MuJoCo's own functions expect."""
        m = len(self.contacts)
        force = data.efc_force
        force[:] = 0.0
        L = impulses[: 3 * m].reshape(m, 3) / dt
        flat = self.dim == 1
        force[self.address[flat]] = L[flat, 2]
        sliding = np.flatnonzero(~flat)
        at = self.address[sliding]
        if self.pyramidal:
            edges = 2 * (self.dim[sliding] - 1)
            for k in range(2 * int(self.dim.max(initial=1) - 1)):
                some = edges > k
                force[at[some] + k] = L[sliding[some], 2] / edges[some]
            for axis, mu in ((0, self.mu), (1, self.mu2)):
                share = 0.5 * L[sliding, axis] / mu[sliding]
                force[at + 2 * axis] += share
                force[at + 2 * axis + 1] -= share
        else:
            force[at], force[at + 1], force[at + 2] = L[sliding, 2], L[sliding, 0], L[sliding, 1]
        rest = 3 * m
        for rows in (self.limit, self.equality, self.friction):
            force[rows] = impulses[rest : rest + len(rows)] / dt
            rest += len(rows)


def _biases(rows, data, dt):
    """e of contacts' normals and limits, with overlaps to be removed; the errors of equalities."""

    def approach(gap):
        return np.maximum(gap / dt, -_MAX_CORRECTION)

    error = np.clip(data.efc_pos[rows.equality] / dt, -_MAX_CORRECTION, _MAX_CORRECTION)
    return approach(rows.gap), approach(data.efc_pos[rows.limit]), error


def _arrays(model, data):
    nv, dt = model.nv, model.opt.timestep
    M = np.zeros((nv, nv))
    mujoco.mj_fullM(model, data, M)
    if not model.opt.disableflags & mujoco.mjtDisableBit.mjDSBL_EULERDAMP:
        M[np.diag_indices(nv)] += dt * model.dof_damping
    b = M @ data.qvel + dt * data.qfrc_smooth
    offsets = np.append(np.flatnonzero(np.diff(model.dof_treeid, prepend=-1)), nv) if nv else np.zeros(1, int)
    return M, b, offsets


def _problem(A, b, offsets, rows, biases, loss):
    normal, limit, error = biases
    e = np.zeros(3 * len(rows.contacts))
    e[2::3] = normal
    more = {}
    if len(rows.limit):
        more.update(Jh=rows.J[rows.limit], eh=limit)
    if len(rows.equality):
        more.update(Jq=rows.J[rows.equality], eq=error)
    if len(rows.friction):
        more.update(Jb=rows.J[rows.friction], eb=np.zeros(len(rows.friction)), limit=loss)
    return ContactProblem(A, b, rows.contact_jacobian(), e, rows.mu, subsystem_offsets=offsets, **more)


def make_problem(model, data) -> ContactProblem:
    """The contact problem of the present state; MuJoCo's forward stages up to the smooth acceleration must have run."""
    rows = _Rows(model, data)
    A, b, offsets = _arrays(model, data)
    loss = model.opt.timestep * data.efc_frictionloss[rows.friction]
    return _problem(A, b, offsets, rows, _biases(rows, data, model.opt.timestep), loss)


class Stepper:
    """Steps one model; keeps memory and the last impulses, which the next solve starts from.

    solver, tol and settings are those of almond.solve. `solution` has the last answer with its certificate."""

    def __init__(self, solver="auto", tol=1e-8, **settings):
        self.settings = {"solver": solver, "tol": tol, "prefer_stick": solver == "auto", **settings}
        self.workspace = Workspace()
        self.solution: Solution | None = None
        self._memory = {}

    def _start(self, rows, data):
        """Impulses of the last step, found again by the geoms of each contact and their order."""
        keys, seen = [], {}
        contact = data.contact
        for k in rows.contacts:
            pair = (int(contact.geom1[k]), int(contact.geom2[k]))
            seen[pair] = seen.get(pair, 0) + 1
            keys.append((*pair, seen[pair]))
        L = np.zeros(3 * len(keys) + len(rows.limit) + len(rows.equality) + len(rows.friction))
        for i, key in enumerate(keys):
            L[3 * i : 3 * i + 3] = self._memory.get(key, 0.0)
        return keys, L

    def step(self, model, data) -> Solution:
        """One step; the answer's status and certificate say how it went."""
        dt = model.opt.timestep
        with _Ahead(model, data):
            mujoco.mj_step1(model, data)
        mujoco.mj_fwdActuation(model, data)
        mujoco.mj_fwdAcceleration(model, data)
        rows = _Rows(model, data)
        A, b, offsets = _arrays(model, data)
        loss = dt * data.efc_frictionloss[rows.friction]
        biases = _biases(rows, data, dt)
        problem = _problem(A, b, offsets, rows, biases, loss)
        keys, start = self._start(rows, data)
        solution = moved = _core.solve_problem(problem, self.settings, start, self.workspace)
        normal, limit, error = biases
        if (normal < 0).any() or (limit < 0).any() or error.any():  # what moves bodies apart is no speed
            still = _problem(A, b, offsets, rows, (np.maximum(normal, 0), np.maximum(limit, 0), 0 * error), loss)
            solution = _core.solve_problem(still, self.settings, moved.impulses, self.workspace)
        self.solution = solution
        L = solution.impulses
        self._memory = {key: L[3 * i : 3 * i + 3].copy() for i, key in enumerate(keys)}
        if data.nefc:
            rows.write_forces(L, dt, data)
            data.qfrc_constraint[:] = rows.J.T @ data.efc_force
        else:
            data.qfrc_constraint[:] = 0.0
        data.qacc[:] = (solution.v - data.qvel) / dt
        mujoco.mj_sensorAcc(model, data)
        mujoco.mj_Euler(model, data)
        if moved is not solution:
            mujoco.mj_integratePos(model, data.qpos, moved.v - solution.v, dt)
        return solution


_steppers = {}


def step(model, data, **settings) -> Solution:
    """As mujoco.mj_step(model, data), with Almond's contact solve; returns the answer with its certificate."""
    key = id(data)
    stepper, owner = _steppers.get(key, (None, None))
    if owner is not data:
        if len(_steppers) > 64:
            _steppers.clear()
        stepper = Stepper(**settings)
        _steppers[key] = (stepper, data)
    elif settings:
        stepper.settings.update(settings)
    return stepper.step(model, data)
