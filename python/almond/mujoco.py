"""Almond as the contact solver of MuJoCo.

    import almond.mujoco
    almond.mujoco.step(model, data)        # instead of mujoco.mj_step(model, data)

MuJoCo computes kinematics, collisions, actuators and passive forces of an unmodified MjModel and MjData; the constraint solve,
which softens contact there, is Almond's: rigid contact with Coulomb friction, hard limits and equalities, solved to 1e-8.

With A = M + dt D (MuJoCo's implicit damping) a step is  A v⁺ = A v + dt qfrc_smooth + Jᵀ L  and, per row,

    contact        J v⁺ + (dist - margin) / dt >= 0 and Coulomb's law with friction[0], friction[1] (an ellipse where they differ);
                   condim 1: no friction; 4 and 6: besides, spin and rolling friction, each |L| <= friction[k] L_n on its own
    limit          J v⁺ + (gap - margin) / dt >= 0
    equality       J v⁺ + error / dt = 0
    friction loss  |L| <= dt loss

solref, solimp, impratio and the options of MuJoCo's solver have no meaning for such contacts and no effect. Contacts and limits
are looked for ahead of the step, by wider margins that are taken back. An overlap is removed within a step, at 0.5 m/s at most,
by positions alone: the velocities that it took are not kept. qvel, qacc, qfrc_constraint, efc_force and the sensors are written
back, so that mj_contactForce and touch sensors work. A step in which no constraint is near is MuJoCo's own, bit for bit, by the
integrator of the model; others are taken by Euler's (also for RK4) or by implicitfast (also for implicit and discrete).
"""

import contextlib
import weakref

import mujoco
import numpy as np

from ._core import ContactProblem, MujocoSolver, Solution

__all__ = ["Stepper", "make_problem", "patched", "step"]

_LOOK_AHEAD = 1e-3  # contacts and limits are found this long before they touch, and farther by the speed [m, rad]
_EULER, _RK4, _IMPLICIT, _IMPLICITFAST, _DISCRETE = (
    int(getattr(mujoco.mjtIntegrator, f"mjINT_{name}")) for name in ("EULER", "RK4", "IMPLICIT", "IMPLICITFAST", "DISCRETE")
)
_EULERDAMP, _WARMSTART = (int(getattr(mujoco.mjtDisableBit, f"mjDSBL_{name}")) for name in ("EULERDAMP", "WARMSTART"))
_SLEEP, _IPC = (int(getattr(mujoco.mjtEnableBit, f"mjENBL_{name}")) for name in ("SLEEP", "IPC"))
_PYRAMIDAL = int(mujoco.mjtCone.mjCONE_PYRAMIDAL)
_NO_NUMBERS, _NO_INDICES = np.zeros(0), np.zeros(0, np.int32)


@contextlib.contextmanager
def _found_ahead(model, ahead):
    """While it lasts, MuJoCo finds contacts and limits that may be reached within the step. A rigid contact must be known
    before it is there: found too late, it overlaps. Margins of two geoms add up."""
    wider = [(model.geom_margin, 0.5 * ahead), (model.pair_margin, ahead), (model.jnt_margin, ahead), (model.tendon_margin, ahead)]
    kept = [(margin, margin.copy()) for margin, _ in wider]
    override = model.opt.o_margin
    try:
        for margin, more in wider:
            margin += more
        model.opt.o_margin = override + ahead
        yield
    finally:
        for margin, before in kept:
            margin[:] = before
        model.opt.o_margin = override


@contextlib.contextmanager
def _option(option, name, value):
    before = getattr(option, name)
    setattr(option, name, value)
    try:
        yield
    finally:
        setattr(option, name, before)


def _damping(model, data):
    """Of joints, as Euler's method takes it implicitly: the derivative of a v + b v|v| + c v³ + ..."""
    damping, more = model.dof_damping, model.dof_dampingpoly
    if not more.any():
        return damping
    speed = np.abs(data.qvel)
    return damping + sum((k + 2) * more[:, k] * speed ** (k + 1) for k in range(more.shape[1]))


def _actuate(model, data):
    """Forces of actuators, and the acceleration without constraints."""
    mujoco.mj_fwdActuation(model, data)
    mujoco.mj_fwdAcceleration(model, data)
    data.flg_rnepost = False  # accelerations of bodies, which sensors need, are not known yet


class Stepper:
    """Steps one MjData after the other of one model or several; keeps memory and the last impulses, which the next solve of the
    same data starts from.

    solver, tol and settings are those of almond.solve. `solution` has the last answer with its certificate, until the next step;
    `overlap` how deep the deepest contact was [m]."""

    def __init__(self, solver="auto", tol=1e-8, **settings):
        self._solver = MujocoSolver(solver=solver, tol=tol, **settings)
        self._scratch = self._scratch_model = None
        self._time = None

    @property
    def solution(self) -> Solution:
        return self._solver.solution

    @property
    def overlap(self) -> float:
        return self._solver.overlap

    def set(self, **settings):
        """Other settings from now on."""
        self._solver.set(settings)

    def _implicit(self, model, data):
        """MuJoCo's derivative of forces by velocities, and its next velocity without constraints."""
        if self._scratch_model is not model:
            self._scratch, self._scratch_model = mujoco.MjData(model), model
        mujoco.mj_copyData(self._scratch, model, data)
        self._scratch.qfrc_constraint[:] = 0.0
        self._scratch.qacc[:] = data.qacc_smooth
        with _option(model.opt, "integrator", _IMPLICITFAST):
            mujoco.mj_implicit(model, self._scratch)
        return self._scratch.qDeriv, self._scratch.qvel

    def _assemble(self, model, data, ahead):
        option, contact = model.opt, data.contact
        derivative, free, damping = _NO_NUMBERS, _NO_NUMBERS, _NO_NUMBERS
        if option.integrator >= _IMPLICIT:
            derivative, free = self._implicit(model, data)
        elif not option.disableflags & _EULERDAMP:
            damping = _damping(model, data)
        awake = data.tree_awake if option.enableflags & _SLEEP else _NO_INDICES
        sparse = bool(mujoco.mj_isSparse(model))
        pattern = (data.efc_J_rownnz, data.efc_J_rowadr, data.efc_J_colind) if sparse else (_NO_INDICES,) * 3
        self._solver.assemble(
            option.timestep, model.dof_treeid, data.M, model.M_rownnz, model.M_rowadr, model.M_colind, damping,
            derivative, model.D_rownnz, model.D_rowadr, model.D_colind, data.qvel, data.qfrc_smooth, free, awake,
            option.cone == _PYRAMIDAL, ahead, sparse, data.efc_J.reshape(-1), *pattern,
            data.efc_type, data.efc_id, data.efc_pos, data.efc_margin, data.efc_frictionloss,
            contact.efc_address, contact.dim, contact.dist, contact.includemargin, contact.friction, contact.surfacevel,
            contact.geom,
        )  # fmt: skip

    def _look_ahead(self, model, data):
        """All that MuJoCo computes from positions and velocities; returns by how much margins were wider meanwhile."""
        speed = max(np.abs(data.cvel).max(initial=0.0), np.abs(data.qvel).max(initial=0.0))
        ahead = _LOOK_AHEAD + 1.5 * model.opt.timestep * speed if np.isfinite(speed) else _LOOK_AHEAD
        with _found_ahead(model, ahead):
            mujoco.mj_step1(model, data)
        return ahead

    def step(self, model, data, nstep=1) -> Solution:
        """nstep steps; status and certificate of the last answer say how it went."""
        if not isinstance(model, mujoco.MjModel) or not isinstance(data, mujoco.MjData):
            raise TypeError(f"model, data: are {type(model).__name__}, {type(data).__name__}, expected an MjModel and an MjData")
        if data.signature != model.signature:
            raise ValueError("data: was made for another model")
        if model.opt.enableflags & _IPC:
            raise ValueError("model: has the flag ipc, expected contacts that are constraints")
        for _ in range(nstep):
            self._step(model, data)
        return self._solver.solution

    def _step(self, model, data):
        ahead = self._look_ahead(model, data)
        if data.nefc == 0:
            self._step_without_constraints(model, data)
        elif model.opt.integrator == _DISCRETE:
            with _option(model.opt, "integrator", _IMPLICITFAST):
                self._step_with_constraints(model, data, self._look_ahead(model, data))
        else:
            self._step_with_constraints(model, data, ahead)
        self._time = data.time

    def _step_without_constraints(self, model, data):
        self._solver.clear(data.qvel)
        if model.opt.integrator != _RK4:
            mujoco.mj_step2(model, data)
            return
        _actuate(model, data)
        mujoco.mj_fwdConstraint(model, data)
        mujoco.mj_sensorAcc(model, data)
        mujoco.mj_checkAcc(model, data)
        mujoco.mj_RungeKutta(model, data, 4)

    def _step_with_constraints(self, model, data, ahead):
        _actuate(model, data)
        self._assemble(model, data, ahead)
        # From another state than the last step led to, nothing is recalled: equal states give equal bits.
        warm = data.time == self._time and not model.opt.disableflags & _WARMSTART
        if not self._solver.solve(warm):  # not finite: MuJoCo warns and resets
            data.qacc[:] = data.qacc_smooth
            mujoco.mj_checkAcc(model, data)
            mujoco.mj_Euler(model, data)
            return
        self._solver.write(data.qvel, data.efc_force, data.qfrc_constraint, data.qacc)
        mujoco.mj_sensorAcc(model, data)
        mujoco.mj_checkAcc(model, data)
        # Damping is in qacc already.
        with _option(model.opt, "disableflags", model.opt.disableflags | _EULERDAMP):
            mujoco.mj_Euler(model, data)
        if self._solver.corrects:
            mujoco.mj_integratePos(model, data.qpos, self._solver.correction, model.opt.timestep)


def make_problem(model, data) -> ContactProblem:
    """The contact problem of the present state; MuJoCo's forward stages up to the smooth acceleration must have run."""
    stepper = Stepper()
    stepper._assemble(model, data, 0.0)
    return stepper._solver.problem()


_steppers = weakref.WeakKeyDictionary()


def step(model, data, nstep=1, **settings) -> Solution:
    """As mujoco.mj_step(model, data), with Almond's contact solve; returns the answer of the last step with its certificate.

    settings: solver, tol and others of almond.solve; those that were given once stay with this data."""
    stepper = _steppers.get(data)
    if stepper is None:
        stepper = _steppers[data] = Stepper(**settings)
    elif settings:
        stepper.set(**settings)
    return stepper.step(model, data, nstep)


@contextlib.contextmanager
def patched(**settings):
    """While it lasts, mujoco.mj_step is almond.mujoco.step: for code of others that calls it, like Gymnasium's."""
    theirs = mujoco.mj_step
    mujoco.mj_step = lambda m, d, nstep=1: step(m, d, nstep, **settings) and None
    try:
        yield
    finally:
        mujoco.mj_step = theirs
