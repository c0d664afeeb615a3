"""Scenes in MuJoCo, at the settings that its users reach for, with the exact residual of every step.

mj_default: Newton, elliptic cones; mj_firm: impratio 10, solref 3 dt, solimp .99 .999 1e-4; mj_hard: impratio 100, solref 2 dt (the
least MuJoCo allows); mj_cg: default with its CG solver; mj_noslip: default with 10 noslip iterations.
"""

import time

import mujoco
import numpy as np

from peer_law import bias_e0, bias_erp2, residual, scaled_residual
from peer_mjcf import to_mjcf
from peer_scenes import DT

mujoco.set_mju_user_warning(lambda text: None)  # else into a file MUJOCO_LOG.TXT; they are counted

LARGEST_DENSE = 1500  # degrees of freedom
STIFF = 'solref="{} 1" solimp=".99 .999 1e-4"'
SETTINGS = {  # attributes of <option>, of <default><geom>
    "mj_default": ("", ""),
    "mj_firm": ('impratio="10"', STIFF.format(3 * DT)),
    "mj_hard": ('impratio="100"', STIFF.format(2 * DT)),
    "mj_cg": ('solver="CG"', ""),
    "mj_noslip": ('noslip_iterations="10"', ""),
}


class Run:
    judges_every_step = True  # as it is cheap here

    def __init__(self, scene, setting):
        self.model = mujoco.MjModel.from_xml_string(to_mjcf(scene, *SETTINGS[setting]))
        self.data = mujoco.MjData(self.model)
        mujoco.mj_resetDataKeyframe(self.model, self.data, 0)
        self.ids = np.array([self.model.body(b["name"]).id for b in scene["bodies"]])
        self.scratch = mujoco.MjData(self.model)

    def step(self):
        mujoco.mj_step(self.model, self.data)

    def poses(self):
        mujoco.mj_kinematics(self.model, self.data)
        return np.hstack((self.data.xpos[self.ids], self.data.xquat[self.ids]))

    def blow_ups(self):
        """How often MuJoCo found its own numbers bad; it starts anew each time."""
        kinds = (mujoco.mjtWarning.mjWARN_BADQPOS, mujoco.mjtWarning.mjWARN_BADQVEL, mujoco.mjtWarning.mjWARN_BADQACC)
        return int(sum(self.data.warning[int(kind)].number for kind in kinds))

    def contacts(self):
        """Impulses, new velocities (both t1, t2, n), gaps, friction of the contacts of the last step, and their first rows."""
        data = self.data
        address = data.contact.efc_address
        on = np.flatnonzero(address >= 0)
        velocity = np.zeros(data.nefc)
        if data.nefc:
            mujoco.mj_mulJacVec(self.model, data, velocity, data.qvel)
        rows = address[on][:, None] + np.array([1, 2, 0])[None, :]  # MuJoCo has the normal first
        return DT * data.efc_force[rows], velocity[rows], data.contact.dist[on], data.contact.friction[on, 0], address[on]

    def judge(self):
        impulse, velocity, gap, mu, _ = self.contacts()
        return {"contacts": len(mu), "e0": residual(impulse, velocity, bias_e0(gap), mu),
                "erp2": residual(impulse, velocity, bias_erp2(gap), mu)}

    def scaled(self):
        """The e0 residual of the last step in m/s; None where the dense matrices that it takes would be large."""
        nv = self.model.nv
        if nv > LARGEST_DENSE:
            return None
        impulse, velocity, gap, mu, first = self.contacts()
        M, J = np.zeros((nv, nv)), np.zeros((self.data.nefc, nv))
        mujoco.mj_fullM(self.model, self.data, M)
        if mujoco.mj_isSparse(self.model):
            mujoco.mju_sparse2dense(J, self.data.efc_J, self.data.efc_J_rownnz, self.data.efc_J_rowadr, self.data.efc_J_colind)
        else:
            J = self.data.efc_J.reshape(-1, nv)[:self.data.nefc]
        diagonal = np.sum(J * np.linalg.solve(M + DT * np.diag(self.model.dof_damping), J.T).T, axis=1)
        return scaled_residual(impulse, velocity, bias_e0(gap), mu, sum(diagonal[first + k] for k in range(3)))

    def split(self):
        """Collision and solver on their own, at the state before a step [ms of this thread]."""
        m, s = self.model, self.scratch
        mujoco.mj_copyData(s, m, self.data)
        mujoco.mj_fwdPosition(m, s)
        start = time.thread_time_ns()
        mujoco.mj_collision(m, s)
        collide = time.thread_time_ns() - start
        mujoco.mj_forward(m, s)
        s.qacc_warmstart[:] = self.data.qacc_warmstart
        start = time.thread_time_ns()
        mujoco.mj_fwdConstraint(m, s)
        return {"collide": 1e-6 * collide, "solve": 1e-6 * (time.thread_time_ns() - start)}


def cold_cases(scene, setting, wrenches):
    """Single steps from a settled state under random wrenches, nothing known from before: solver and whole step [ms], residuals."""
    run = Run(scene, setting)
    for _ in range(scene["settle"]):
        run.step()
    m, d = run.model, run.data
    start = (d.qpos.copy(), d.qvel.copy())
    m.opt.disableflags |= mujoco.mjtDisableBit.mjDSBL_WARMSTART
    rows = []

    def put_back(wrench):
        d.qpos[:], d.qvel[:] = start
        d.xfrc_applied[run.ids] = wrench

    for wrench in np.asarray(wrenches):
        solves, steps = [], []
        for _ in range(3):
            put_back(wrench)
            mujoco.mj_fwdPosition(m, d)
            mujoco.mj_fwdVelocity(m, d)
            mujoco.mj_fwdActuation(m, d)
            mujoco.mj_fwdAcceleration(m, d)
            begin = time.thread_time_ns()
            mujoco.mj_fwdConstraint(m, d)
            solves.append(1e-6 * (time.thread_time_ns() - begin))
            put_back(wrench)
            begin = time.thread_time_ns()
            mujoco.mj_step(m, d)
            steps.append(1e-6 * (time.thread_time_ns() - begin))
        rows.append({"solve_ms": float(np.median(solves)), "step_ms": float(np.median(steps)), **run.judge()})
    return rows
