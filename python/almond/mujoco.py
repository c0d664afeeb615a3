"""Almond as the contact solver of MuJoCo.

    import almond.mujoco
    almond.mujoco.step(model, data)        # instead of mujoco.mj_step(model, data)

MuJoCo computes kinematics, collisions, actuators and passive forces of an unmodified MjModel and MjData; the constraint solve,
which softens contact there, is Almond's: rigid contact with Coulomb friction, hard limits and equalities, solved to 1e-8
(1e-6 where there are more than 120 degrees of freedom).

With A = M + dt D (MuJoCo's implicit damping) a step is  A v⁺ = A v + dt qfrc_smooth + Jᵀ L  and, per row,

    contact        J v⁺ + (dist - margin) / dt >= 0 and Coulomb's law with friction[0], friction[1] (an ellipse where they differ);
                   condim 1: no friction; 4 and 6: besides, spin and rolling friction, each |L| <= friction[k] L_n on its own
    limit          J v⁺ + (gap - margin) / dt >= 0
    equality       J v⁺ + error / dt + dt/2 J̇v = 0; rows that say the same count once, the others give way by a millionth
    friction loss  |L| <= dt loss

solref, solimp, impratio and the options of MuJoCo's solver have no meaning for such contacts and no effect. Contacts and limits
are looked for ahead of the step, by wider margins that are taken back; so are boxes 0.5 µm larger, for which MuJoCo finds all corners
of a face. An overlap is removed within a step, at 0.5 m/s at most,
by positions alone and without friction: the velocities that it took are not kept. Overlaps that contradict each other get no
less. So are errors of equalities removed; what is tied to a mocap body follows it with real velocities. qvel, qacc, qfrc_constraint, efc_force and the sensors are written
back, so that mj_contactForce and touch sensors work. A step in which no constraint is near is MuJoCo's own, bit for bit, by the
integrator of the model; others are taken by Euler's (also for RK4) or by implicitfast (also for implicit and discrete).

Threads may share a model, each with a data of its own: they solve at once, and take turns where the model is changed and read.
"""

import contextlib
import operator
import threading
import weakref

import mujoco
import numpy as np

from ._core import Certificate, ContactProblem, Error, MujocoSolver, Solution

__all__ = ["Stepper", "certify", "make_problem", "patched", "step", "stepper_of"]

_EULER, _RK4, _IMPLICIT, _IMPLICITFAST, _DISCRETE = (
    int(getattr(mujoco.mjtIntegrator, f"mjINT_{name}")) for name in ("EULER", "RK4", "IMPLICIT", "IMPLICITFAST", "DISCRETE")
)
_EULERDAMP, _WARMSTART = (int(getattr(mujoco.mjtDisableBit, f"mjDSBL_{name}")) for name in ("EULERDAMP", "WARMSTART"))
_SLEEP, _IPC, _OVERRIDE = (int(getattr(mujoco.mjtEnableBit, f"mjENBL_{name}")) for name in ("SLEEP", "IPC", "OVERRIDE"))
_PYRAMIDAL = int(mujoco.mjtCone.mjCONE_PYRAMIDAL)
_BAD = [int(getattr(mujoco.mjtWarning, f"mjWARN_BAD{name}")) for name in ("QPOS", "QVEL", "QACC")]
_NO_NUMBERS = np.zeros(0)


_locks = weakref.WeakKeyDictionary()


def _lock_of(model):
    """Held where a model is changed for a moment, and where MuJoCo reads it."""
    return _locks.setdefault(model, threading.RLock())


def _with_option(option, name, value, call, *args):
    """call(*args) while an option has another value; Ctrl-C, which comes between two calls, finds it as it was."""
    before = getattr(option, name)
    try:
        setattr(option, name, value)
        return call(*args)
    finally:
        setattr(option, name, before)


def _check_pair(model, data):
    if not isinstance(model, mujoco.MjModel):
        raise TypeError(f"model: is a {type(model).__name__}, expected a mujoco.MjModel")
    if not isinstance(data, mujoco.MjData):
        raise TypeError(f"data: is a {type(data).__name__}, expected a mujoco.MjData")
    if data.signature != model.signature:
        raise Error("data: was made for another model, expected mujoco.MjData(model)")


def _check_count(nstep):
    try:
        count = operator.index(nstep)
    except TypeError:
        count = -1
    if count < 0 or isinstance(nstep, bool):
        raise Error(f"nstep: is {nstep!r}, expected a whole number of 0 or more")
    return count


def _actuate(model, data):
    """Forces of actuators, and the acceleration without constraints."""
    mujoco.mj_fwdActuation(model, data)
    mujoco.mj_fwdAcceleration(model, data)
    data.flg_rnepost = False  # accelerations of bodies, which sensors need, are not known yet


class Stepper:
    """Steps one MjData after the other of one model or several; keeps memory and the last impulses, which the next solve of the
    same data starts from.

    solver, tol and settings are those of almond.solve. `solution` has the last answer with its certificate, until the next step;
    `overlap` how deep the deepest contact was [m], `opening` how far an equality was from holding."""

    def __init__(self, solver="auto", tol=1e-8, **settings):
        self._solver = MujocoSolver(solver=solver, tol=tol, **settings)
        self._model = self._option = self._lock = self._scratch = None
        self._data = lambda: None
        self._time = None

    def _bind(self, model, data):
        """Arrays that stay where they are are handed over once; the data itself may be freed in between."""
        if self._model is model and self._data() is data:
            return
        self._solver.bind(model, data)
        if self._model is not model:
            self._scratch = None
        self._model, self._option, self._lock = model, model.opt, _lock_of(model)
        self._data, self._time = weakref.ref(data), None

    @property
    def solution(self) -> Solution:
        """Of the last step's contact problem; the next step writes over it."""
        return self._solver.solution

    @property
    def overlap(self) -> float:
        """Of the deepest contact in the last step [m]."""
        return self._solver.overlap

    @property
    def opening(self) -> float:
        """Of the equality that was farthest from holding in the last step [m, rad]."""
        return self._solver.opening

    def set(self, **settings):
        """Other settings from now on."""
        self._solver.set(settings)

    def _implicit(self, model, data):
        """MuJoCo's derivative of forces by velocities, and its next velocity without constraints."""
        if self._scratch is None:
            self._scratch = mujoco.MjData(model)
        mujoco.mj_copyData(self._scratch, model, data)
        self._scratch.qfrc_constraint[:] = 0.0
        self._scratch.qacc[:] = data.qacc_smooth
        _with_option(self._option, "integrator", _IMPLICITFAST, mujoco.mj_implicit, model, self._scratch)
        return self._scratch.qDeriv, self._scratch.qvel

    def _assemble(self, model, data, common=-1.0, ahead=True, judges=False):
        option = self._option
        derivative = free = _NO_NUMBERS
        implicit = option.integrator >= _IMPLICIT
        if implicit:
            derivative, free = self._implicit(model, data)
        damped = not implicit and not option.disableflags & _EULERDAMP
        sleeps = bool(option.enableflags & _SLEEP)
        pyramidal = option.cone == _PYRAMIDAL
        sparse = bool(mujoco.mj_isSparse(model))
        self._solver.assemble(data, derivative, free, option.timestep, ahead, damped, sleeps, pyramidal, sparse, judges, common)

    def _look_ahead(self, model, data):
        """All that MuJoCo computes from positions and velocities, with wider margins. Returns by how much the one margin is wider
        that overrides those of all contacts, or -1."""
        option = self._option
        if data.time != self._time:  # a state that no step led to: nothing is known of its bodies yet
            mujoco.mj_kinematics(model, data)
            mujoco.mj_comPos(model, data)
        mujoco.mj_comVel(model, data)
        overrides = option.enableflags & _OVERRIDE
        override = option.o_margin
        try:
            common = self._solver.widen(option.timestep)
            if overrides:
                option.o_margin = override + common
            mujoco.mj_step1(model, data)
        finally:
            if overrides:
                option.o_margin = override
            self._solver.narrow()  # last: Ctrl-C may come after a call
        return common if overrides else -1.0

    def step(self, model, data, nstep=1) -> Solution:
        """nstep steps; status and certificate of the last answer say how it went."""
        _check_pair(model, data)
        count = _check_count(nstep)
        self._bind(model, data)
        if self._option.enableflags & _IPC:
            raise Error("model: has the flag ipc, expected contacts that are constraints")
        for _ in range(count):
            self._step(model, data)
        return self._solver.solution

    def _step(self, model, data):
        before = data.time
        with self._lock:
            constrained = self._begin(model, data)
        if constrained:
            # From another state than the last step led to, nothing is recalled: equal states give equal bits.
            warm = data.time == self._time and not self._option.disableflags & _WARMSTART
            solved = self._solver.solve(warm)
            with self._lock:
                self._without_discrete(self._end, model, data, solved)
        self._time = data.time
        # Where numbers end MuJoCo resets the data, and its time.
        if (data.time <= before or before == 0.0) and data.warning.number[_BAD].any():
            self._solver.fail()

    def _without_discrete(self, call, *args):
        """call(*args), by implicitfast where the model says discrete."""
        if self._option.integrator != _DISCRETE:
            return call(*args)
        return _with_option(self._option, "integrator", _IMPLICITFAST, call, *args)

    def _begin(self, model, data):
        """The contact problem, or the whole step where no constraint is near. Whether there is something to solve."""
        common = self._look_ahead(model, data)
        if data.nefc == 0:
            self._step_without_constraints(model, data)
            return False
        self._without_discrete(self._prepare, model, data, common, self._option.integrator == _DISCRETE)
        return True

    def _prepare(self, model, data, common, again):
        if again:
            common = self._look_ahead(model, data)
        _actuate(model, data)
        self._assemble(model, data, common)

    def _step_without_constraints(self, model, data):
        self._solver.clear()
        if self._option.integrator != _RK4:
            mujoco.mj_step2(model, data)
            return
        _actuate(model, data)
        mujoco.mj_fwdConstraint(model, data)
        mujoco.mj_sensorAcc(model, data)
        mujoco.mj_checkAcc(model, data)
        mujoco.mj_RungeKutta(model, data, 4)

    def _end(self, model, data, solved):
        """Writes the answer back and moves on."""
        if not solved:  # not finite: MuJoCo warns and resets
            self._solver.fail()
            data.qacc[:] = data.qacc_smooth
            mujoco.mj_checkAcc(model, data)
            mujoco.mj_Euler(model, data)
            return
        self._solver.write(data.efc_force)
        if model.nsensor:
            mujoco.mj_sensorAcc(model, data)
        mujoco.mj_checkAcc(model, data)
        # Damping is in qacc already.
        undamped = self._option.disableflags | _EULERDAMP
        _with_option(self._option, "disableflags", undamped, mujoco.mj_Euler, model, data)
        if self._solver.corrects:
            mujoco.mj_integratePos(model, data.qpos, self._solver.correction, self._option.timestep)


def _assembled(model, data, judges=False):
    _check_pair(model, data)
    if not (data.M[model.M_rowadr + model.M_rownnz - 1] > 0).all():  # the diagonal, last in each row
        raise Error("data: has no mass matrix yet, expected mujoco.mj_forward(model, data) before this")
    stepper = Stepper()
    stepper._bind(model, data)
    with stepper._lock:
        stepper._assemble(model, data, ahead=False, judges=judges)
    return stepper._solver


def make_problem(model, data) -> ContactProblem:
    """The contact problem of the present state; MuJoCo's forward stages up to the smooth acceleration must have run."""
    return _assembled(model, data).problem()


def certify(model, data) -> Certificate:
    """How far the forces that MuJoCo itself finds for the present state (mujoco.mj_forward) are from the exact law."""
    return _assembled(model, data, judges=True).certify(data.efc_force, data.contact.friction)


_steppers = weakref.WeakKeyDictionary()


def step(model, data, nstep=1, **settings) -> Solution:
    """As mujoco.mj_step(model, data), with Almond's contact solve; returns the answer of the last step with its certificate.

    settings: solver, tol and others of almond.solve; those that were given once stay with this data."""
    _check_pair(model, data)
    _check_count(nstep)
    stepper = stepper_of(data)
    if settings:
        stepper.set(**settings)
    return stepper.step(model, data, nstep)


def stepper_of(data) -> Stepper:
    """The stepper that step() uses for this data."""
    if not isinstance(data, mujoco.MjData):
        raise TypeError(f"data: is a {type(data).__name__}, expected a mujoco.MjData")
    stepper = _steppers.get(data)
    if stepper is None:
        stepper = _steppers[data] = Stepper()
    return stepper


@contextlib.contextmanager
def patched(**settings):
    """While it lasts, mujoco.mj_step is almond.mujoco.step: for code of others that calls it, like Gymnasium's."""
    Stepper(**settings)  # one that is wrong is told here
    theirs = mujoco.mj_step
    mujoco.mj_step = lambda m, d, nstep=1: step(m, d, nstep, **settings) and None
    try:
        yield
    finally:
        mujoco.mj_step = theirs
