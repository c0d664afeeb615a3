"""Contact problems of Pinocchio models against Pinocchio: its constrained dynamics where everything sticks, its ADMM where it slips."""

import almond
import numpy as np
import pytest

pin = pytest.importorskip("pinocchio")
ap = pytest.importorskip("almond.pinocchio")


def humanoid(seed):
    """A robot of 32 joints in the air, and joints whose bodies are to touch something."""
    pin.seed(seed)
    model = pin.buildSampleModelHumanoidRandom()
    q = pin.neutral(model)
    q[7:] = np.random.default_rng(seed).uniform(-0.4, 0.4, model.nq - 7)
    return model, model.createData(), q


def contacts_at(model, data, q, joints, random, mu):
    pin.forwardKinematics(model, data, q)
    normals = random.standard_normal((len(joints), 3)) * 0.3 + [0, 0, 1]
    return [
        ap.Contact(joint, data.oMi[joint].translation + random.uniform(-0.1, 0.1, 3), n / np.linalg.norm(n), mu)
        for joint, n in zip(joints, normals)
    ]


def test_a_foot_that_sticks_is_constrained_dynamics():
    model, data, q = humanoid(3)
    foot = model.getJointId("rleg6_joint") if model.existJointName("rleg6_joint") else model.njoints - 1
    dt, tau = 1e-3, np.zeros(model.nv)
    contact = contacts_at(model, data, q, [foot], np.random.default_rng(0), mu=1e3)[0]
    problem = ap.make_problem(model, data, q, np.zeros(model.nv), tau, dt, [contact])
    answer = almond.solve(problem)
    assert answer.solved and answer.certificate.modes == ["stick"] and answer.impulses[2] > 0
    # The Jacobian of the point by Pinocchio's own frame, not by ours.
    placement = data.oMi[foot].inverse() * pin.SE3(np.eye(3), contact.position)
    frame = model.addFrame(pin.Frame("touch", foot, placement, pin.FrameType.OP_FRAME))
    data = model.createData()
    J = pin.computeFrameJacobian(model, data, q, frame, pin.ReferenceFrame.LOCAL_WORLD_ALIGNED)[:3]
    acceleration = pin.forwardDynamics(model, data, q, np.zeros(model.nv), tau, J, np.zeros(3), 0.0)
    np.testing.assert_allclose(answer.v, dt * acceleration, atol=1e-9)


def solve_by_pinocchio(problem, mu):
    """ADMM on the Delassus matrix, to a tolerance of its own."""
    A, J = problem.A, problem.J
    W = J @ np.linalg.solve(A, J.T)
    free = J @ np.linalg.solve(A, problem.b) + problem.e
    dummy = pin.Model()
    dummy.addJoint(0, pin.JointModelFreeFlyer(), pin.SE3.Identity(), "body")
    models, datas = pin.StdVec_ConstraintModel(), pin.StdVec_ConstraintData()
    for m in mu:
        contact = pin.PointContactConstraintModel(dummy, 0, pin.SE3.Identity(), 1, pin.SE3.Identity())
        contact.setFriction(float(m))
        models.append(pin.ConstraintModel(contact))
        datas.append(models[len(models) - 1].createData())
    settings, result = pin.ADMMSolverSettings(), pin.ADMMSolverResult()
    settings.max_iterations, settings.solve_ncp = 20000, True
    settings.absolute_feasibility_tol = settings.absolute_complementarity_tol = 1e-12
    settings.relative_feasibility_tol = settings.relative_complementarity_tol = 0.0
    pin.ADMMConstraintSolver(len(free)).solve(pin.DelassusOperatorDense(W), free, models, datas, settings, result)
    impulses = np.array(result.retrieveConstraintImpulses()).ravel()
    return np.linalg.solve(A, problem.b + J.T @ impulses), impulses


def test_sliding_feet_agree_with_pinocchios_solver():
    modes = set()
    for seed in range(6):
        random = np.random.default_rng(seed)
        model, data, q = humanoid(seed)
        joints = random.choice(np.arange(2, model.njoints), 4, replace=False)
        contacts = contacts_at(model, data, q, [int(j) for j in joints], random, mu=0.4)
        contacts[3].other = int(joints[0])  # one between two of its own bodies
        contacts[1].gap = 1e-3
        problem = ap.make_problem(model, data, q, 0.3 * random.standard_normal(model.nv), random.standard_normal(model.nv), 5e-3, contacts)
        ours = almond.solve(problem, tol=1e-11)
        v, impulses = solve_by_pinocchio(problem, problem.mu)
        assert ours.solved and problem.certify(impulses).residual < 1e-7
        np.testing.assert_allclose(ours.v, v, atol=1e-6)
        modes.update(ours.certificate.modes)
    assert modes == {"open", "stick", "slip"} or modes == {"open", "slip"}


def test_mistakes_are_named():
    model, data, q = humanoid(0)
    v = np.zeros(model.nv)
    good = ap.Contact(2, np.zeros(3), np.array([0, 0, 1.0]))
    for change, words in [
        (dict(q=q[:-1]), "q.*shape"),
        (dict(v=np.full(model.nv, np.nan)), "v"),
        (dict(tau=np.zeros(3)), "tau.*shape"),
        (dict(dt=0.0), "dt"),
        (dict(dt=np.nan), "dt"),
        (dict(contacts=[ap.Contact(99, np.zeros(3), good.normal)]), "joint is 99"),
        (dict(contacts=[ap.Contact(2, np.zeros(2), good.normal)]), "position"),
        (dict(contacts=[ap.Contact(2, np.zeros(3), np.zeros(3))]), "normal"),
        (dict(contacts=[ap.Contact(2, np.zeros(3), good.normal, mu=-1.0)]), "mu"),
        (dict(contacts=[ap.Contact(2, np.zeros(3), good.normal, gap=np.nan)]), "gap"),
        (dict(contacts=[good, "foot"]), "contacts.1."),
        (dict(contacts=None), "contacts: is None"),
        (dict(contacts=good), "contacts: is Contact.*list"),
        (dict(contacts=[ap.Contact(1.5, np.zeros(3), good.normal)]), "joint is 1.5"),
        (dict(contacts=[ap.Contact(2, np.zeros(3), good.normal, other=-1)]), "other is -1"),
        (dict(contacts=[ap.Contact(2, np.zeros(3), good.normal, other=2)]), "both 2, expected two bodies"),
        (dict(contacts=[ap.Contact(2, np.zeros(3), good.normal, mu="dry")]), "mu is 'dry'"),
        (dict(contacts=[ap.Contact(2, np.zeros(3), good.normal, gap=None)]), "gap is None"),
        (dict(dt=np.inf), "dt: is inf"),
        (dict(dt="fast"), "dt: is 'fast'"),
        (dict(dt=None), "dt: is None"),
        (dict(q=2.0 * q), "q: has a quaternion"),
        (dict(q=None), "q: "),
    ]:
        given = {**dict(q=q, v=v, tau=v, dt=1e-3, contacts=[good]), **change}
        with pytest.raises(ValueError, match=words):
            ap.make_problem(model, data, **given)
    other = pin.buildSampleModelManipulator()
    with pytest.raises(ValueError, match="data: was made for another model"):
        ap.make_problem(model, other.createData(), q, v, v, 1e-3, [good])
    with pytest.raises(TypeError, match="model: is a NoneType"):
        ap.make_problem(None, data, q, v, v, 1e-3, [good])
    with pytest.raises(TypeError, match="data: is a NoneType"):
        ap.make_problem(model, None, q, v, v, 1e-3, [good])
