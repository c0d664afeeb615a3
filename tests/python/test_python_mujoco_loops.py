"""Closed loops and overlaps that nothing undoes, in almond.mujoco: closed forms, and MuJoCo with stiff equalities and small steps."""

import almond
import numpy as np
import pytest

mujoco = pytest.importorskip("mujoco")
am = pytest.importorskip("almond.mujoco")

G = 9.81
ROD = '<geom type="capsule" size=".005" fromto="0 0 0 {}" contype="0" conaffinity="0"/>'

# A linkage in a plane, turned by 90 degrees about z: of the three rows of its connect, one is rounding.
FOUR_BAR = f"""<mujoco><option timestep="{{dt}}"/><worldbody><body pos="0 0 1" quat="1 0 0 -1">
<body name="a" pos="0 .03 0"><joint axis="1 0 0" armature=".001"/>{ROD.format("0 .0315 -.041")}
<body name="b" pos="0 .0315 -.041"><joint axis="1 0 0" armature=".001"/>{ROD.format("0 .013 .047")}</body></body>
<body name="c" pos="0 .0132 .0609"><joint axis="1 0 0" armature=".001"/>{ROD.format("0 .0613 -.0549")}</body></body></worldbody>
<equality><connect body1="b" body2="c" anchor="0 .013 .047"/></equality></mujoco>"""

# Two loops that share their first bar.
TWO_LOOPS = f"""<mujoco><option timestep="{{dt}}" gravity="5 5 -9.81"/><worldbody><body pos="0 0 1" quat="1 0 0 -1">
<body name="a"><joint axis="1 0 0" armature=".001"/>{ROD.format("0 0 -.1")}
<body name="b" pos="0 0 -.1"><joint axis="1 0 0" armature=".001"/>{ROD.format("0 .12 .02")}</body>
<body name="d" pos="0 0 -.06"><joint axis="1 0 0" armature=".001"/>{ROD.format("0 -.1 .01")}</body></body>
<body name="c" pos="0 .12 0"><joint axis="1 0 0" armature=".001"/>{ROD.format("0 0 -.08")}</body>
<body name="e" pos="0 -.1 0"><joint axis="1 0 0" armature=".001"/>{ROD.format("0 0 -.05")}</body></body></worldbody>
<equality><connect body1="b" body2="c" anchor="0 .12 .02"/><connect body1="d" body2="e" anchor="0 -.1 .01"/></equality></mujoco>"""

CRANK, ROD_LENGTH = 0.1, 0.3
INERTIA, ROD_MASS, ROD_INERTIA, SLIDER = 0.02, 0.5, 0.004, 2.0
SLIDER_CRANK = f"""<mujoco><option timestep="{{dt}}"/><worldbody><body quat="1 0 0 -1">
<body name="crank"><joint axis="1 0 0" armature="{INERTIA}"/><inertial pos="0 0 0" mass="1e-6" diaginertia="1e-9 1e-9 1e-9"/>
<body name="rod" pos="0 {CRANK} 0"><joint axis="1 0 0"/><inertial pos="0 {ROD_LENGTH / 2} 0" mass="{ROD_MASS}" diaginertia="{ROD_INERTIA} {ROD_INERTIA} {ROD_INERTIA}"/></body></body>
<body name="slider" pos="0 {CRANK + ROD_LENGTH} 0"><joint type="slide" axis="0 1 0"/><geom size=".01" mass="{SLIDER}"/></body></body></worldbody>
<equality><connect body1="rod" body2="slider" anchor="0 {ROD_LENGTH} 0"/></equality></mujoco>"""


def start(xml, dt=0.002, **values):
    model = mujoco.MjModel.from_xml_string(xml.format(dt=dt, **values))
    return model, mujoco.MjData(model)


def run(model, data, seconds, stepper=None):
    """All steps solved; the largest opening and the largest impulse [m, N s]."""
    stepper = stepper or am.Stepper()
    opening = impulse = 0.0
    for _ in range(round(seconds / model.opt.timestep)):
        solution = stepper.step(model, data)
        assert solution.solved
        opening = max(opening, stepper.opening)
        impulse = max(impulse, np.abs(solution.impulses).max(initial=0.0))
    return opening, impulse


def reference(xml, seconds, **values):
    """By MuJoCo, with equalities as stiff as its step allows."""
    model, data = start(xml, 1e-4, **values)
    model.eq_solref[:] = [-1e6, -2e3]
    mujoco.mj_step(model, data, round(seconds / 1e-4))
    return data.qpos.copy()


@pytest.mark.parametrize("xml", [FOUR_BAR, TWO_LOOPS], ids=["four-bar", "two-loops"])
def test_linkages_in_a_plane_swing_as_with_stiff_equalities(xml):
    model, data = start(xml, 0.0005)
    begin = data.qpos.copy()
    opening, impulse = run(model, data, 0.5)
    np.testing.assert_allclose(data.qpos, reference(xml, 0.5), atol=1e-3)
    assert np.abs(data.qpos - begin).max() > 0.1  # they swing
    assert opening < 1e-6
    mass = model.body_mass.sum()
    assert impulse < 100 * mass * max(1.0, np.abs(data.qvel).max()) * 0.1  # nothing that no mass could need


def test_slider_crank_turns_as_its_closed_form_says():
    """One freedom θ: the slider at x(θ) = r cos θ + l cos ψ with l sin ψ = -r sin θ, so that its energy is kept."""
    model, data = start(SLIDER_CRANK, 0.0005)
    model.opt.gravity[:] = 0.0
    r, length = CRANK, ROD_LENGTH

    def inertia(angle):
        psi = np.arcsin(-r / length * np.sin(angle))
        turn = -r * np.cos(angle) / (length * np.cos(psi))  # ψ' by θ'
        slider = -r * np.sin(angle) - length * np.sin(psi) * turn
        middle = [-r * np.sin(angle) - length / 2 * np.sin(psi) * turn, r * np.cos(angle) + length / 2 * np.cos(psi) * turn]
        return INERTIA + SLIDER * slider**2 + ROD_MASS * np.dot(middle, middle) + ROD_INERTIA * turn**2

    def rate(angle, energy):
        return np.sqrt(2 * energy / inertia(angle))

    data.qvel[:2] = [5.0, -5.0 * (1 + r / length)]  # the rod's end stays on the line, at the dead point
    energy, angle, h = 0.5 * inertia(0.0) * 25.0, 0.0, 1e-4
    opening, _ = run(model, data, 1.0)
    for _ in range(10000):  # Runge-Kutta
        k1 = rate(angle, energy)
        k2 = rate(angle + h / 2 * k1, energy)
        k3 = rate(angle + h / 2 * k2, energy)
        k4 = rate(angle + h * k3, energy)
        angle += h / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
    assert angle > 1.0
    assert data.qpos[0] == pytest.approx(angle, abs=5e-3)  # first order in the step
    x = r * np.cos(data.qpos[0]) + np.sqrt(length**2 - (r * np.sin(data.qpos[0])) ** 2)
    assert data.qpos[2] == pytest.approx(x - r - length, abs=1e-6)
    assert opening < 1e-6


@pytest.mark.parametrize(
    "rest",
    [
        '<connect body1="b" body2="c" anchor="0 .013 .047"/>',
        '<weld body1="b" body2="c"/>',  # locks it: nothing turns
        '<joint joint1="j" joint2="k" polycoef="0 1 2 -3 1"/>',
    ],
    ids=["connect", "weld", "joint"],
)
def test_loops_open_by_the_third_order_of_the_step(rest):
    """Half the step, an eighth of the opening: the rows follow how they turn. A straight line would leave a quarter."""
    xml = FOUR_BAR.replace('<connect body1="b" body2="c" anchor="0 .013 .047"/>', rest)
    xml = xml.replace('<body name="a" pos="0 .03 0"><joint', '<body name="a" pos="0 .03 0"><joint name="j"')
    xml = xml.replace('<body name="c" pos="0 .0132 .0609"><joint', '<body name="c" pos="0 .0132 .0609"><joint name="k"')
    xml = xml.replace("<option", '<option gravity="0 0 0"')
    openings = []
    for dt in (0.002, 0.001):
        model, data = start(xml, dt)
        data.qvel[:] = np.array([2.0, -1.0, 3.0])
        mujoco.mj_forward(model, data)
        J = data.efc_J.reshape(data.nefc, model.nv)
        data.qvel[:] -= np.linalg.pinv(J, 1e-9) @ (J @ data.qvel)
        if np.abs(data.qvel).max() < 1e-6:
            assert "weld" in rest
            return
        openings.append(run(model, data, 0.02)[0])
    assert openings[1] < openings[0] / 6


ARM = '<body name="{n}0" pos="{x} 0 0">{base}' + ROD.format(".1 0 .1")
for axis, way in (("1 0 0", "0 .1 .1"), ("0 1 0", ".1 .1 0"), ("1 1 0", "0 .1 0"), ("0 1 1", "0 .1 .1")):
    ARM += f'<body name="{{n}}{axis.replace(" ", "")}" pos=".1 0 .1"><joint name="{{n}}{axis.replace(" ", "")}" axis="{axis}"/>' + ROD.format(way)
ARM += '<site name="{n}s" pos=".1 .2 .3" euler="10 20 30"/></body></body></body></body></body>'


@pytest.mark.parametrize(
    "equality",
    [
        '<connect body1="p011" body2="q011" anchor=".1 .2 .1"/>',
        '<connect site1="ps" site2="qs"/>',
        '<weld body1="p011" body2="q011" anchor=".1 .2 .1" torquescale=".3"/>',
        '<weld site1="ps" site2="qs"/>',
        '<joint joint1="p011" joint2="q100" polycoef="0 1 2 -3 4"/>',
    ],
)
def test_rows_follow_how_they_turn(equality):
    """The bias is dt/2 J̇v, by differences of MuJoCo's rows; skew hinges, on the ground and on a free base."""
    xml = '<mujoco><option timestep="{dt}"/><worldbody>' + ARM.format(n="p", x="0", base='<joint axis="0 0 1"/>')
    xml += ARM.format(n="q", x="0", base="<freejoint/>") + '</worldbody><equality><weld body1="p011" active="false"/>'
    xml += f"{equality}</equality></mujoco>"
    model, data = start(xml)
    assert model.opt.timestep == 0.002
    names = ["p100", "p010", "p110", "p011"]
    pose = np.linspace(-0.4, 0.5, 4)
    for arm in "pq":  # the same pose, so that nothing is open
        for name, angle in zip(names, pose, strict=True):
            data.joint(arm + name[1:]).qpos = angle if "joint" not in equality else 0.0
    mujoco.mj_forward(model, data)
    v = np.linspace(-2, 3, model.nv) * np.cos(np.arange(model.nv))
    rows = data.efc_J.reshape(data.nefc, model.nv).copy()
    v -= np.linalg.pinv(rows) @ (rows @ v)  # and nothing opens
    begin, h, turned = data.qpos.copy(), 1e-5, []
    for sign in (-1.0, 1.0):
        data.qpos[:] = begin
        mujoco.mj_integratePos(model, data.qpos, v, sign * h)
        mujoco.mj_forward(model, data)
        turned.append(data.efc_J.reshape(data.nefc, model.nv).copy())
    data.qpos[:], data.qvel[:] = begin, v
    mujoco.mj_forward(model, data)
    assert np.abs(data.efc_pos).max() < 1e-12
    problem = am.make_problem(model, data)
    assert problem.num_rows == data.nefc
    want = 0.5 * model.opt.timestep * (turned[1] - turned[0]) @ v / (2 * h)
    assert np.abs(want).max() > 1e-4
    np.testing.assert_allclose(problem.e, want, atol=1e-8)


def test_a_closure_that_no_joint_moves_has_no_impulse():
    """Both bodies turn about the point that ties them: all rows are rounding."""
    xml = f"""<mujoco><option timestep="{{dt}}"/><worldbody><body pos=".3 .7 1" euler="10 20 30">
    <body name="a" pos=".1 .2 .3"><joint axis="1 2 3"/>{ROD.format("0 .1 0")}</body>
    <body name="b" pos=".1 .2 .3"><joint axis="3 -1 2"/>{ROD.format("0 0 .1")}</body></body></worldbody>
    <equality><connect body1="a" body2="b" anchor="0 0 0"/></equality></mujoco>"""
    model, data = start(xml)
    free, theirs = start(xml)
    free.opt.disableflags |= int(mujoco.mjtDisableBit.mjDSBL_EQUALITY)
    run(model, data, 0.3)
    mujoco.mj_step(free, theirs, 150)
    np.testing.assert_allclose(data.qpos, theirs.qpos, atol=1e-9)


def test_forces_of_others_are_judged_with_all_rows():
    """Two welds of one body share its weight in MuJoCo: both shares count."""
    world = '<body name="a" pos="0 0 1"><freejoint/><geom size=".1" mass="1"/></body>'
    xml = f'<mujoco><worldbody>{world}</worldbody><equality><weld body1="a"/><weld body1="a"/></equality></mujoco>'
    model = mujoco.MjModel.from_xml_string(xml)
    model.eq_solref[:] = [-1e4, -2e2]
    data = mujoco.MjData(model)
    mujoco.mj_step(model, data, 2000)
    mujoco.mj_forward(model, data)
    assert np.abs(data.qvel).max() < 1e-6
    assert am.certify(model, data).row_violation < 1e-4
    assert am.make_problem(model, data).num_rows == 6  # the problem that is solved has each row once


WEDGE = """<geom type="box" size=".02 .2 .2" pos="-.068 0 .2"/><geom type="box" size=".02 .2 .2" pos=".068 0 .2"/>
<body pos="0 0 .2"><freejoint/><geom type="box" size=".05 .05 .05"/></body>"""
CUBE = '<body name="cube" pos="1 0 .045"><freejoint/><geom type="box" size=".05 .05 .05"/></body>'


@pytest.mark.parametrize("wedge", ["", WEDGE], ids=["alone", "beside-a-wedge"])
def test_one_overlap_without_a_way_out_does_not_hold_others(wedge):
    world = f'<geom type="plane" size="5 5 1"/>{wedge}{CUBE}'
    model = mujoco.MjModel.from_xml_string(f"<mujoco><worldbody>{world}</worldbody></mujoco>")
    data = mujoco.MjData(model)
    run(model, data, 0.012)
    assert data.body("cube").xpos[2] == pytest.approx(0.05, abs=1e-6)  # 5 mm at 0.5 m/s
    run(model, data, 0.5)
    np.testing.assert_allclose(data.body("cube").xpos, [1, 0, 0.05], atol=1e-6)
    assert np.abs(data.qvel).max() < 5.0  # nor does the wedge shoot out


def test_a_robot_comes_out_of_the_floor_though_parts_of_it_are_wedged():
    """Wheels 4 mm in the floor; a lift that its own two masts clamp by 1 mm each."""
    wheel = '<body pos="{x} {y} .05"><joint axis="0 1 0" damping=".01"/><geom type="cylinder" size=".05 .01" euler="90 0 0" mass="1"/></body>'
    world = '<geom type="plane" size="5 5 1"/><body name="base" pos="0 0 -.004"><freejoint/><geom type="box" size=".2 .15 .03" pos="0 0 .1" mass="10"/>'
    world += "".join(wheel.format(x=x, y=y) for x in (-0.15, 0.15) for y in (-0.18, 0.18))
    world += '<geom type="box" size=".01 .05 .3" pos="-.03 0 .5" mass="1"/><geom type="box" size=".01 .05 .3" pos=".03 0 .5" mass="1"/>'
    world += '<body pos="0 0 .4"><joint type="slide" axis="0 0 1" frictionloss="50"/><geom size=".005" pos="0 .2 0" mass="1"/>'
    world += '<body><joint type="slide" axis="1 0 0"/><geom type="box" size=".021 .02 .05" mass="2"/></body></body></body>'
    model = mujoco.MjModel.from_xml_string(f"<mujoco><worldbody>{world}</worldbody></mujoco>")
    data = mujoco.MjData(model)
    stepper = am.Stepper()
    run(model, data, 0.5, stepper)
    assert stepper.overlap > 5e-4  # the lift is still clamped
    assert data.body("base").xpos[2] == pytest.approx(0.0, abs=1e-4)  # the wheels are out
    assert np.abs(data.qvel[:6]).max() < 1e-3


def test_a_contact_that_no_joint_opens_has_no_impulse():
    """A door over its sill: its hinge cannot lift it out of 2 mm. In a turned frame the lever is rounding."""
    xml = """<mujoco><worldbody><geom type="plane" size="5 5 1" quat="1 .2 -.3 .1"/>
    <body pos="0 0 0" quat="1 .2 -.3 .1"><body pos="0 0 .098"><joint name="door" axis="0 0 1" damping=".1"/>
    <geom type="box" size=".2 .02 .1" pos=".2 0 0" mass="3"/></body></body></worldbody></mujoco>"""
    model = mujoco.MjModel.from_xml_string(xml)
    model.opt.gravity[:] = 0.0
    data = mujoco.MjData(model)
    data.qvel[0] = 1.0
    _, impulse = run(model, data, 0.2)
    assert data.ncon > 0 and impulse < 1e-9
    inertia = 3 * ((0.4**2 + 0.04**2) / 12 + 0.2**2)
    assert data.qvel[0] == pytest.approx(np.exp(-0.1 * 0.2 / inertia), rel=1e-3)


def test_a_nearly_stretched_wedge_is_not_forced_apart():
    """Walls at one degree: out of 2 mm of overlap no body is thrown."""
    walls = '<geom type="box" size=".02 .2 .2" pos="-.068 0 .2" euler="0 -.5 0"/><geom type="box" size=".02 .2 .2" pos=".068 0 .2" euler="0 .5 0"/>'
    body = '<body pos="0 0 .2"><freejoint/><geom type="box" size=".05 .05 .05"/></body>'
    model = mujoco.MjModel.from_xml_string(f"<mujoco><worldbody>{walls}{body}</worldbody></mujoco>")
    data = mujoco.MjData(model)
    for _ in range(100):
        before = data.qpos[:3].copy()
        assert am.step(model, data).solved
        way = np.linalg.norm(data.qpos[:3] - before)
        assert way < model.opt.timestep * (10 * 0.5 + np.linalg.norm(data.qvel[:3]))


PADS = """<body name="hand" mocap="true" pos="0 0 .5"/>
<body name="palm" pos="0 0 .5"><freejoint/><geom type="box" size=".1 .05 .01" pos="0 0 .1" mass="1"/>
<body pos="-.06 0 0"><joint name="l" type="slide" axis="1 0 0"/><geom type="box" size=".01 .02 .03" mass=".1" friction="1"/></body>
<body pos=".06 0 0"><joint name="r" type="slide" axis="-1 0 0"/><geom type="box" size=".01 .02 .03" mass=".1" friction="1"/></body></body>
<body name="cube" pos="0 0 .5"><freejoint/><geom type="box" size=".05 .02 .02" mass=".2" friction="1"/></body>"""


def test_what_a_hand_holds_goes_with_it():
    """A gripper that follows a mocap body: friction carries the cube along, for bodies follow with real velocities."""
    xml = f'<mujoco><worldbody>{PADS}</worldbody><equality><weld body1="hand" body2="palm"/></equality>'
    xml += '<actuator><motor joint="l"/><motor joint="r"/></actuator></mujoco>'
    model = mujoco.MjModel.from_xml_string(xml)
    data = mujoco.MjData(model)
    data.ctrl[:] = 20.0
    run(model, data, 0.05)
    for k in range(1, 251):
        data.mocap_pos[0] = [0.0, 0.2 * k * model.opt.timestep, 0.5 + 0.1 * k * model.opt.timestep]
        assert am.step(model, data).solved
    np.testing.assert_allclose(data.body("palm").xpos, data.mocap_pos[0], atol=1e-3)  # a step behind
    np.testing.assert_allclose(data.body("cube").xpos - data.body("palm").xpos, 0.0, atol=1e-4)
    np.testing.assert_allclose(data.body("cube").cvel[3:], [0, 0.2, 0.1], atol=1e-3)


def test_a_hand_that_is_led_into_a_table_rests_on_it():
    """What a weld asks for and a contact forbids: the contact holds, by no impulse that no mass could need."""
    xml = """<mujoco><worldbody><geom type="plane" size="1 1 1"/><body name="hand" mocap="true" pos="0 0 .1"/>
    <body name="palm" pos="0 0 .1"><freejoint/><geom type="box" size=".05 .05 .05" mass="1"/></body></worldbody>
    <equality><weld body1="hand" body2="palm"/></equality></mujoco>"""
    model = mujoco.MjModel.from_xml_string(xml)
    data = mujoco.MjData(model)
    data.mocap_pos[0] = [0, 0, 0.02]
    _, impulse = run(model, data, 0.5)
    assert data.body("palm").xpos[2] == pytest.approx(0.05, abs=1e-4)
    assert impulse < 20.0 and np.abs(data.qvel).max() < 0.1  # 10 m/s of its mass


def test_closures_that_contradict_each_other_are_infeasible():
    """One hinge that two equalities want at 0.1 and 0.4 rad; each alone is solved."""
    row = '<joint joint1="j" polycoef="{} 0 0 0 0"/>'
    for equalities, status in ((row.format(0.1), "solved"), (row.format(0.1) + row.format(0.4), "infeasible")):
        model = mujoco.MjModel.from_xml_string(
            '<mujoco><worldbody><body><joint name="j" axis="0 1 0"/><geom size=".1" pos=".3 0 0"/></body></worldbody>'
            f"<equality>{equalities}</equality></mujoco>"
        )
        data = mujoco.MjData(model)
        for _ in range(500):
            solution = am.step(model, data)
        assert solution.status == status


def test_a_reset_by_mujoco_is_told():
    """Velocities beyond all numbers: MuJoCo throws the state away, so nothing was solved."""
    model = mujoco.MjModel.from_xml_string(
        '<mujoco><worldbody><geom type="plane" size="1 1 1"/><body pos="0 0 .1"><freejoint/><geom size=".1"/></body></worldbody></mujoco>'
    )
    data = mujoco.MjData(model)
    for spoil in (lambda: data.qvel.fill(np.nan), lambda: data.qpos.fill(np.inf), lambda: data.qvel.fill(1e12)):
        for steps in (0, 3):
            mujoco.mj_resetData(model, data)
            for _ in range(steps):
                assert am.step(model, data).solved
            spoil()
            assert am.step(model, data).status == "numerical-error"
            assert am.step(model, data).solved  # and on from there


assert almond.mujoco is am
