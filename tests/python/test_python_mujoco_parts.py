"""Every part of MuJoCo's models that meets Almond's solve: closed forms, and MuJoCo's own smooth dynamics."""

import gc
import weakref

import almond
import numpy as np
import pytest

mujoco = pytest.importorskip("mujoco")
am = pytest.importorskip("almond.mujoco")

G = 9.81


def load(world, option="", rest="", **kind):
    flags = kind.pop("flag", "")
    attributes = " ".join(f'{k}="{v}"' for k, v in kind.items())
    model = mujoco.MjModel.from_xml_string(
        f'<mujoco><option {option} {attributes}><flag {flags}/></option><worldbody>{world}</worldbody>{rest}</mujoco>'
    )
    data = mujoco.MjData(model)
    mujoco.mj_forward(model, data)
    return model, data


def run(model, data, seconds, **settings):
    for _ in range(round(seconds / model.opt.timestep)):
        assert am.step(model, data, **settings).solved


FLOOR = '<geom name="floor" type="plane" size="9 9 .1"/>'
ARM = """<body name="arm"><joint name="a" axis="0 1 0" damping="{damping}" frictionloss="{loss}"/><geom type="capsule" fromto="0 0 0 1 0 0" size=".05"/>
<body pos="1 0 0"><joint name="b" axis="0 1 0" damping=".2" stiffness="3"/><geom type="capsule" fromto="0 0 0 1 0 0" size=".05"/></body></body>
<body pos="0 5 0"><freejoint/><geom type="ellipsoid" size=".1 .2 .3"/></body>"""
SERVOS = """<actuator><position joint="a" kp="20" kv="3" timeconst=".1"/><motor joint="b"/></actuator>
<sensor><accelerometer site="s"/><jointvel joint="a"/><subtreeangmom body="arm"/></sensor>"""


def arm(integrator, damping=".1 .05 .02", loss=0.0):
    world = ARM.format(damping=damping, loss=loss).replace("<body pos=\"1 0 0\">", '<body pos="1 0 0"><site name="s"/>')
    model, data = load(world, rest=SERVOS, integrator=integrator, flag='energy="enable"')
    data.ctrl[:] = [0.5, 2.0]
    data.qvel[:] = np.linspace(-2, 3, model.nv)
    return model, data


@pytest.mark.parametrize("integrator", ["Euler", "RK4", "implicit", "implicitfast", "discrete"])
def test_without_constraints_every_bit_is_mujocos(integrator):
    model, ours = arm(integrator)
    theirs = mujoco.MjData(model)
    mujoco.mj_copyData(theirs, model, ours)
    for _ in range(50):
        am.step(model, ours)
        mujoco.mj_step(model, theirs)
    assert model.na == 1 and abs(ours.act[0]) > 0.1
    for field in ("qpos", "qvel", "act", "time", "energy", "sensordata", "qacc_warmstart"):
        np.testing.assert_array_equal(getattr(ours, field), getattr(theirs, field), err_msg=field)


@pytest.mark.parametrize("integrator", ["Euler", "implicitfast"])
def test_smooth_part_of_a_constrained_step_is_mujocos(integrator):
    """A friction of 1e-10 N m makes a constraint that does next to nothing."""
    model, ours = arm(integrator, loss=1e-10)
    free, theirs = arm(integrator)
    for _ in range(50):
        am.step(model, ours)
        mujoco.mj_step(free, theirs)
    assert ours.nefc > 0
    np.testing.assert_allclose(ours.qvel, theirs.qvel, atol=1e-9)
    np.testing.assert_allclose(ours.qpos, theirs.qpos, atol=1e-9)
    np.testing.assert_allclose(ours.act, theirs.act, atol=1e-12)


@pytest.mark.parametrize("integrator", ["Euler", "RK4", "implicit", "implicitfast", "discrete"])
def test_a_box_rests_with_every_integrator(integrator):
    model, data = load(FLOOR + '<body pos="0 0 .1"><freejoint/><geom type="box" size=".1 .1 .1" mass="1"/></body>', integrator=integrator)
    assert model.opt.integrator == getattr(mujoco.mjtIntegrator, f"mjINT_{integrator.upper()}")
    run(model, data, 0.5)
    np.testing.assert_allclose(data.qpos[:3], [0, 0, 0.1], atol=1e-9)
    assert model.opt.integrator == getattr(mujoco.mjtIntegrator, f"mjINT_{integrator.upper()}")
    np.testing.assert_array_equal(model.geom_margin, 0.0)


PILE = FLOOR + "".join(
    f'<body pos="{0.03 * (k % 3)} {0.02 * (k % 2)} {0.06 + 0.13 * k}"><freejoint/><geom type="{kind}" size=".06 .06 .06" mass="{m}"/></body>'
    for k, (kind, m) in enumerate([("box", 1), ("sphere", 0.2), ("box", 3), ("cylinder", 0.5), ("box", 0.1)])
)


def test_sparse_dense_cones_and_flags_are_one_problem():
    ends = []
    for jacobian, flag in (("dense", ""), ("sparse", ""), ("dense", 'warmstart="disable"'), ("sparse", 'island="disable"')):
        for cone in ("pyramidal", "elliptic"):
            model, data = load(PILE, jacobian=jacobian, cone=cone, flag=flag)
            run(model, data, 0.29)  # a box lands on the pile next, and the law has two answers
            ends.append(data.qpos.copy())
    for end in ends[1:]:
        np.testing.assert_allclose(end, ends[0], atol=1e-6)


@pytest.mark.parametrize("cone", ["pyramidal", "elliptic"])
def test_forces_balance_and_lie_in_their_cones(cone):
    model, data = load(PILE, cone=cone)
    for _ in range(150):
        before = data.qvel.copy()
        am.step(model, data)
        force = np.zeros(6)
        total = np.zeros(3)
        for k in range(data.ncon):
            mujoco.mj_contactForce(model, data, k, force)
            contact = data.contact[k]
            assert np.linalg.norm(force[1:3]) <= contact.friction[0] * force[0] * (1 + 1e-9) + 1e-7
            if model.geom_bodyid[contact.geom[0]] == 0:
                total += contact.frame.reshape(3, 3).T @ force[:3]
        mass = model.body_mass[1:, None]
        change = (mass * (data.qvel - before).reshape(-1, 6)[:, :3]).sum(0) / model.opt.timestep
        np.testing.assert_allclose(change, total + [0, 0, -G * mass.sum()], atol=1e-5)
    assert total[2] > 1.0


@pytest.mark.parametrize("cone", ["pyramidal", "elliptic"])
def test_spin_and_rolling_friction(cone):
    ball = '<body pos="0 0 .1"><freejoint/><geom type="sphere" size=".1" mass="1" condim="{}" friction=".8 .02 .003"/></body>'
    floor = '<geom type="plane" size="9 9 .1" condim="1" friction="0 0 0" priority="0"/>'
    inertia = 0.4 * 0.1**2
    model, data = load(floor + ball.format(4), cone=cone)
    data.qvel[5] = 20.0
    run(model, data, 0.1)
    assert data.qvel[5] == pytest.approx(20.0 - 0.02 * G / inertia * 0.1, rel=1e-5)
    run(model, data, 0.5)
    assert abs(data.qvel[5]) < 1e-7  # it stops, and does not turn back
    model, data = load(floor + ball.format(6), cone=cone)
    data.qvel[[0, 4]] = [1.0, 10.0]  # rolls
    run(model, data, 0.1)
    decrease = 0.003 * G / (inertia + 0.1**2) * 0.1 * 0.1
    assert data.qvel[0] == pytest.approx(1.0 - decrease, rel=1e-5)
    assert data.qvel[4] == pytest.approx(data.qvel[0] / 0.1, rel=1e-6)


@pytest.mark.parametrize("cone", ["pyramidal", "elliptic"])
def test_friction_of_two_axes_is_an_ellipse(cone):
    puck = '<body pos="0 0 .1"><joint type="slide" axis="1 0 0"/><joint type="slide" axis="0 1 0"/><joint type="slide" axis="0 0 1"/>'
    puck += '<geom name="puck" type="sphere" size=".1" mass="1"/></body>'
    pair = '<contact><pair geom1="floor" geom2="puck" condim="3" friction=".2 .6 0 0 0"/></contact>'
    model, data = load(FLOOR + puck, rest=pair, cone=cone)
    data.qvel[:2] = [3.0, 1.0]
    am.step(model, data)
    frame = data.contact[0].frame.reshape(3, 3)
    v = data.qvel.copy()  # Coulomb's law holds at the end of the step
    along = frame[1:] @ v
    mu = np.array([0.2, 0.6])
    want = -(mu**2) * along / np.linalg.norm(mu * along) * G  # most dissipation over the ellipse
    np.testing.assert_allclose(frame[1:] @ ((v - [3, 1, 0]) / model.opt.timestep), want, rtol=1e-6)


@pytest.mark.parametrize("cone", ["pyramidal", "elliptic"])
def test_conveyor_belt(cone):
    world = '<geom type="box" size="9 1 .1" pos="0 0 -.1" surfacevel="1 0 0 0 0 0" friction=".3"/>'
    world += '<body pos="0 0 .1"><freejoint/><geom type="box" size=".1 .1 .1" mass="1" friction=".3"/></body>'
    model, data = load(world, cone=cone)
    run(model, data, 0.2)
    assert data.qvel[0] == pytest.approx(0.3 * G * 0.2, rel=1e-5)
    run(model, data, 0.4)
    assert data.qvel[0] == pytest.approx(1.0, abs=1e-7)


def test_margins_are_where_mujoco_has_them():
    """Two margins add up; the box stands on their sum."""
    world = '<geom type="plane" size="9 9 .1" margin=".01"/><body pos="0 0 .2"><freejoint/><geom type="box" size=".1 .1 .1" mass="1" margin=".02"/></body>'
    model, data = load(world)
    run(model, data, 0.6)
    assert data.qpos[2] == pytest.approx(0.13, abs=1e-8)
    assert model.geom_margin.tolist() == [0.01, 0.02]
    model, data = load(world, o_margin="0.005", flag='override="enable"')
    run(model, data, 0.6)
    assert data.qpos[2] == pytest.approx(0.105, abs=1e-8)


def test_fast_bodies_are_found_before_they_touch():
    """Also by the broad phase, which goes by margins of bodies: no contact begins deep inside."""
    world = FLOOR + '<body pos="0 0 .2"><freejoint/><geom type="ellipsoid" size=".3 .2 .2" mass="5"/></body>'
    world += '<body pos="0 0 .9"><freejoint/><geom name="ball" size=".1" mass=".5"/></body>'
    model, data = load(world, timestep="0.005")
    data.qvel[8] = -4.0  # 20 mm a step
    stepper, deepest = am.Stepper(), 0.0
    for _ in range(60):
        stepper.step(model, data)
        deepest = max(deepest, stepper.overlap)
    assert data.qvel[8] > -1.0 and deepest < 1e-4


SLIDERS = "".join(
    f'<body pos="0 {k} 0"><joint name="s{k}" type="slide" axis="1 0 0"/><geom size=".1" mass="1" contype="0" conaffinity="0"/></body>'
    for k in range(3)
)


def test_tendons_over_three_trees():
    fixed = '<tendon><fixed name="t" {}><joint joint="s0" coef="1"/><joint joint="s1" coef="1"/><joint joint="s2" coef="1"/></fixed></tendon>'
    model, data = load(SLIDERS, rest=fixed.format('limited="true" range="-1 .3"'), gravity="1 0 0")
    run(model, data, 2.0)
    assert data.qpos.sum() == pytest.approx(0.3, abs=1e-8)
    np.testing.assert_allclose(data.qpos, 0.1, atol=1e-8)
    np.testing.assert_allclose(data.qfrc_constraint, -1.0, atol=1e-6)  # each mass is held by 1 N
    model, data = load(SLIDERS, rest=fixed.format('frictionloss="2"'), gravity="1.5 0 0")
    run(model, data, 1.0)
    assert data.qpos == pytest.approx(0.0, abs=1e-9)  # 1.5 N against 2 N
    model, data = load(SLIDERS, rest=fixed.format('frictionloss="2"'), gravity="2.5 0 0")
    run(model, data, 1.0)
    np.testing.assert_allclose(data.qvel, 0.5, atol=1e-8)
    two = '<tendon><fixed name="t"><joint joint="s0" coef="1"/></fixed><fixed name="u"><joint joint="s1" coef="1"/><joint joint="s2" coef="2"/></fixed></tendon>'
    model, data = load(SLIDERS, rest=two + '<equality><tendon tendon1="t" tendon2="u" polycoef="0 1 0 0 0"/></equality>', gravity="0 0 0")
    data.qfrc_applied[0] = 1.0
    run(model, data, 1.0)
    # s0 = s1 + 2 s2: by Gauss's principle the tension is 1 / 6 of what keeps them together.
    np.testing.assert_allclose(data.qvel, np.array([5, 1, 2]) / 6, atol=1e-8)


def test_mocap_and_loops():
    world = '<body name="hand" mocap="true" pos="0 0 1"/><body name="cup" pos="0 0 1"><freejoint/><geom size=".1" mass="1"/></body>'
    model, data = load(world, rest='<equality><weld body1="hand" body2="cup"/></equality>')
    for k in range(500):
        data.mocap_pos[0] = [0.2 * k * model.opt.timestep, 0, 1]
        assert am.step(model, data).solved
    np.testing.assert_allclose(data.qpos[:3], data.mocap_pos[0], atol=1e-6)
    bar = '<joint axis="0 1 0"/><geom type="capsule" fromto="0 0 0 {} 0 {}" size=".02" mass="1"/>'
    bars = f'<body>{bar.format(0, -1)}<body pos="0 0 -1">{bar.format(1.5, 0)}<body pos="1.5 0 0">{bar.format(0, 1)}'
    bars += '<site name="end" pos="0 0 1"/></body></body></body><site name="pin" pos="1.5 0 0"/>'
    model, data = load(bars, rest='<equality><connect site1="end" site2="pin"/></equality>', flag='contact="disable"')
    data.qvel[:] = [1.0, -1.0, 1.0]  # a parallelogram that swings
    worst = 0.0
    for _ in range(500):
        assert am.step(model, data).solved
        worst = max(worst, np.linalg.norm(data.site_xpos[0] - data.site_xpos[1]))
    assert worst < 1e-4 and np.abs(data.qvel).max() > 0.1


def test_flags_and_exclusions_let_through():
    box = FLOOR + '<body name="box" pos="0 0 .1"><freejoint/><geom type="box" size=".1 .1 .1" mass="1"/></body>'
    for model, data in (
        load(box, flag='contact="disable"'),
        load(box, flag='constraint="disable"'),
        load(box, rest='<contact><exclude body1="world" body2="box"/></contact>'),
    ):
        run(model, data, 0.2)
        n = round(0.2 / model.opt.timestep)
        assert data.qpos[2] == pytest.approx(0.1 - G * model.opt.timestep**2 * n * (n + 1) / 2, abs=1e-9)


def test_sleeping_boxes_stay_and_wake():
    world = FLOOR + '<body pos="0 0 .11"><freejoint/><geom type="box" size=".1 .1 .1" mass="1"/></body>'
    world += '<body pos="0 0 4"><freejoint/><geom size=".1" mass="1"/></body>'
    model, data = load(world, flag='sleep="enable"')
    run(model, data, 0.5)
    assert data.tree_asleep[0] >= 0 and data.tree_asleep[1] < 0
    there = data.qpos[:7].copy()
    run(model, data, 0.2)
    np.testing.assert_array_equal(data.qpos[:7], there)
    data.qvel[6:9] = [0.5, 0, -3.0]
    woken = False
    for _ in range(500):
        assert am.step(model, data).solved
        woken = woken or data.tree_asleep[0] < 0
    assert woken and data.qpos[2] > 0.1 - 1e-6


def test_sensors_feel_exact_forces():
    box = '<body pos="0 0 .1"><freejoint/><geom type="box" size=".1 .1 .1" mass="2"/><site name="s" type="box" size=".2 .2 .2"/></body>'
    model, data = load(FLOOR + box, rest='<sensor><touch site="s"/><accelerometer site="s"/></sensor>')
    run(model, data, 0.1)
    np.testing.assert_allclose(data.sensordata, [2 * G, 0, 0, G], atol=1e-5)


def test_equal_states_give_equal_bits():
    model, data = load(PILE)
    stepper = am.Stepper()
    ends = []
    for _ in range(2):
        mujoco.mj_resetData(model, data)
        stepper.step(model, data, 100)
        ends.append((data.qpos.copy(), data.qvel.copy()))
    np.testing.assert_array_equal(*[end[0] for end in ends])
    np.testing.assert_array_equal(*[end[1] for end in ends])


def test_data_is_not_kept_alive():
    model, data = load(PILE, integrator="implicitfast")
    am.step(model, data, 5)
    reference = weakref.ref(data)
    del data
    gc.collect()
    assert reference() is None


def test_infinite_forces_reset_as_in_mujoco():
    model, data = load(FLOOR + '<body pos="0 0 .1"><freejoint/><geom type="box" size=".1 .1 .1" mass="1"/></body>')
    am.step(model, data, 10)
    data.xfrc_applied[1, 2] = np.inf
    am.step(model, data)
    assert data.warning[mujoco.mjtWarning.mjWARN_BADQACC].number == 1
    assert np.isfinite(data.qpos).all()


def test_too_small_an_arena_is_mujocos_error():
    model, data = load(PILE, rest='<size memory="30K"/>')
    with pytest.raises(mujoco.FatalError, match="memory"):
        for _ in range(100):
            am.step(model, data)
    np.testing.assert_array_equal(model.geom_margin, 0.0)  # the model is as it was


def test_redundant_equalities_have_an_answer():
    world = '<body name="a" pos="0 0 1"><freejoint/><geom size=".1" mass="1"/></body>'
    model, data = load(world, rest='<equality><weld body1="a"/><weld body1="a"/><connect body1="a" anchor="0 0 0"/></equality>')
    run(model, data, 0.2)
    np.testing.assert_allclose(data.qpos[:3], [0, 0, 1], atol=1e-7)
    np.testing.assert_allclose(data.qfrc_constraint[:3], [0, 0, G], atol=1e-5)


def test_a_viewers_loop():
    """What mujoco.viewer does around a step: it pushes by xfrc_applied and draws contact forces."""
    model, data = load(FLOOR + '<body pos="0 0 .1"><freejoint/><geom type="box" size=".1 .1 .1" mass="1"/></body>')
    scene, camera, option, push = mujoco.MjvScene(model, 1000), mujoco.MjvCamera(), mujoco.MjvOption(), mujoco.MjvPerturb()
    run(model, data, 0.1)
    mujoco.mjv_updateScene(model, data, option, None, camera, mujoco.mjtCatBit.mjCAT_ALL, scene)
    push.select, push.active = 1, mujoco.mjtPertBit.mjPERT_TRANSLATE
    mujoco.mjv_initPerturb(model, data, scene, push)
    push.refselpos[0] += 10.0
    mujoco.mjv_applyPerturbForce(model, data, push)
    assert data.xfrc_applied[1, 0] > G  # more than friction holds
    run(model, data, 0.1)
    assert data.qvel[0] > 0.01
    option.flags[mujoco.mjtVisFlag.mjVIS_CONTACTFORCE] = 1
    mujoco.mjv_updateScene(model, data, option, None, camera, mujoco.mjtCatBit.mjCAT_ALL, scene)
    kinds = [scene.geoms[k].type for k in range(scene.ngeom)]
    assert any(k in (mujoco.mjtGeom.mjGEOM_ARROW, mujoco.mjtGeom.mjGEOM_ARROW2) for k in kinds)


def test_code_of_others_can_be_patched():
    model, data = load(FLOOR + '<body pos="0 0 .1"><freejoint/><geom type="box" size=".1 .1 .1" mass="1"/></body>')
    theirs = mujoco.mj_step
    with am.patched():
        mujoco.mj_step(model, data, nstep=100)
    assert mujoco.mj_step is theirs
    assert data.time == pytest.approx(100 * model.opt.timestep)
    assert data.qpos[2] == pytest.approx(0.1, abs=1e-9)


def test_mistakes():
    model, data = load(FLOOR)
    with pytest.raises(ValueError, match="canal"):
        am.step(model, mujoco.MjData(model), solver="cannal")
    other, _ = load(PILE)
    with pytest.raises(TypeError, match="NoneType"):
        am.Stepper().step(other, None)
    with pytest.raises(ValueError, match="another model"):
        am.step(other, data)
    with pytest.raises(ValueError, match="toll"):
        am.Stepper(toll=1)
    assert almond.mujoco is am


@pytest.mark.parametrize("nstep", [-1, 2.5, "2", None, True])
def test_numbers_of_steps_that_are_none(nstep):
    model, data = load(PILE)
    for step in (am.step, am.Stepper().step):
        with pytest.raises(ValueError, match="nstep: is .*, expected a whole number"):
            step(model, data, nstep)
    assert data.time == 0.0
    am.step(model, data, np.int32(3))
    assert data.time == pytest.approx(3 * model.opt.timestep)


@pytest.mark.parametrize("call", [am.step, am.make_problem, am.certify])
def test_what_is_no_model_and_no_data_is_named(call):
    model, data = load(PILE)
    with pytest.raises(TypeError, match="data: is a NoneType"):
        call(model, None)
    with pytest.raises(TypeError, match="model: is a MjData"):
        call(data, model)
    with pytest.raises(ValueError, match="data: was made for another model"):
        call(load(FLOOR)[0], data)
    with pytest.raises(TypeError, match="data: is a int"):
        am.stepper_of(3)
    with pytest.raises(ValueError, match="toll"), am.patched(toll=1):
        pass


def test_data_that_mujoco_has_not_seen_has_no_problem():
    model, _ = load(PILE)
    for call in (am.make_problem, am.certify):
        with pytest.raises(ValueError, match="data: has no mass matrix yet, expected mujoco.mj_forward"):
            call(model, mujoco.MjData(model))


def test_certificate_of_mujocos_own_forces():
    """Exact forces in MuJoCo's layout have no residual, soft ones have; both cones, spin and rolling included."""
    ball = '<body pos="0 0 .1"><freejoint/><geom type="sphere" size=".1" mass="1" condim="6" friction=".8 .02 .003"/></body>'
    for cone in ("pyramidal", "elliptic"):
        for world, speed in ((FLOOR + ball, [1.0, 0, 0, 0, 10.0, 5.0]), (PILE, 0.1)):
            model, data = load(world, cone=cone)
            data.qvel[:] = speed
            am.step(model, data, 20)
            data.qvel[:] -= model.opt.timestep * data.qacc  # as it was when the forces were found
            exact = am.certify(model, data)
            assert data.nefc > 0 and exact.residual < 1e-7, (cone, exact)
            mujoco.mj_resetData(model, data)
            data.qvel[:] = speed
            mujoco.mj_step(model, data, 20)
            mujoco.mj_forward(model, data)
            assert data.nefc > 0 and am.certify(model, data).residual > 1e-4
