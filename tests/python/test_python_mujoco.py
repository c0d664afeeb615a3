"""Almond as MuJoCo's contact solver: closed forms that MuJoCo's own contact misses, and what it writes back."""

import almond
import numpy as np
import pytest

mujoco = pytest.importorskip("mujoco")
pytest.importorskip("almond.mujoco")

SLOPE = """<mujoco><option gravity="{gx} 0 {gz}" cone="{cone}"/><worldbody>
<geom type="plane" size="5 5 .1" friction="{mu}"/>
<body pos="0 0 .1"><freejoint/><geom type="box" size=".1 .1 .1" mass="1" friction="{mu}"/></body>
</worldbody></mujoco>"""


def slope(degrees, mu=0.5, cone="pyramidal"):
    a = np.radians(degrees)
    xml = SLOPE.format(gx=9.81 * np.sin(a), gz=-9.81 * np.cos(a), mu=mu, cone=cone)
    model = mujoco.MjModel.from_xml_string(xml)
    return model, mujoco.MjData(model)


@pytest.mark.parametrize("cone", ["pyramidal", "elliptic"])
def test_box_on_a_slope_does_not_creep(cone):
    model, data = slope(26.0, cone=cone)  # tan(26°) = 0.488 < 0.5
    for _ in range(500):
        solution = almond.mujoco.step(model, data)
        assert solution.solved
    assert abs(data.qpos[0]) < 1e-9
    assert data.qpos[2] == pytest.approx(0.1, abs=1e-6)
    creeping, theirs = slope(26.0, cone=cone)
    for _ in range(500):
        mujoco.mj_step(creeping, theirs)
    assert abs(theirs.qpos[0]) > 1e-6  # what the soft law does with the same file


@pytest.mark.parametrize("cone", ["pyramidal", "elliptic"])
def test_box_slides_as_coulomb_says(cone):
    model, data = slope(35.0, mu=0.4, cone=cone)
    n = 250
    for _ in range(n):
        almond.mujoco.step(model, data)
    a = np.radians(35.0)
    g = 9.81 * (np.sin(a) - 0.4 * np.cos(a))
    assert data.qvel[0] == pytest.approx(g * n * model.opt.timestep, rel=1e-4)
    assert abs(data.qvel[2]) < 1e-6  # no lift


@pytest.mark.parametrize("cone", ["pyramidal", "elliptic"])
def test_forces_are_written_back(cone):
    model, data = slope(20.0, cone=cone)
    for _ in range(100):
        almond.mujoco.step(model, data)
    total = np.zeros(3)
    for k in range(data.ncon):
        force = np.zeros(6)
        mujoco.mj_contactForce(model, data, k, force)
        total += data.contact[k].frame.reshape(3, 3).T @ force[:3]
    a = np.radians(20.0)
    weight = 9.81 * np.array([-np.sin(a), 0, np.cos(a)])
    np.testing.assert_allclose(total, weight, atol=1e-5)
    np.testing.assert_allclose(data.qfrc_constraint[:3], weight, atol=1e-5)
    np.testing.assert_allclose(data.qacc, 0.0, atol=1e-6)


def test_without_constraints_it_is_mujocos_step():
    xml = """<mujoco><worldbody><body><joint type="hinge" axis="0 1 0" damping=".1"/><geom type="capsule" fromto="0 0 0 1 0 0" size=".05"/>
    <body pos="1 0 0"><joint type="hinge" axis="0 1 0" damping=".2"/><geom type="capsule" fromto="0 0 0 1 0 0" size=".05"
    contype="0" conaffinity="0"/></body></body></worldbody><actuator><motor joint="j"/></actuator></mujoco>""".replace(
        '<joint type="hinge" axis="0 1 0" damping=".1"/>', '<joint name="j" type="hinge" axis="0 1 0" damping=".1"/>'
    )
    model = mujoco.MjModel.from_xml_string(xml)
    ours, theirs = mujoco.MjData(model), mujoco.MjData(model)
    ours.ctrl[:] = theirs.ctrl[:] = 3.0
    for _ in range(200):
        almond.mujoco.step(model, ours)
        mujoco.mj_step(model, theirs)
    np.testing.assert_allclose(ours.qpos, theirs.qpos, atol=1e-9)
    np.testing.assert_allclose(ours.qvel, theirs.qvel, atol=1e-9)
    assert ours.time == theirs.time


def test_limits_equalities_and_friction_loss():
    xml = """<mujoco><option gravity="0 0 0"/><worldbody>
    <body name="a"><joint name="a" type="slide" axis="1 0 0" limited="true" range="-1 .3"/><geom size=".1" mass="1" contype="0" conaffinity="0"/></body>
    <body name="b" pos="0 1 0"><joint name="b" type="slide" axis="1 0 0"/><geom size=".1" mass="1" contype="0" conaffinity="0"/></body>
    <body name="c" pos="0 2 0"><joint name="c" type="slide" axis="1 0 0" frictionloss="2"/><geom size=".1" mass="1" contype="0" conaffinity="0"/></body>
    </worldbody><equality><joint joint1="b" joint2="a" polycoef="0 2 0 0 0"/></equality></mujoco>"""
    model = mujoco.MjModel.from_xml_string(xml)
    data = mujoco.MjData(model)
    for k in range(1200):
        data.qfrc_applied[:] = [1.0, 0.0, 1.5 if k < 600 else 3.0]
        almond.mujoco.step(model, data)
        if k == 599:
            assert abs(data.qvel[2]) < 1e-9 and abs(data.qpos[2]) < 1e-9  # 1.5 N against 2 N: held
    assert data.qpos[0] == pytest.approx(0.3, abs=1e-9)  # at its limit, not beyond
    assert data.qpos[1] == pytest.approx(0.6, abs=1e-8)  # twice the other
    assert data.qvel[2] == pytest.approx(1.0 * 600 * model.opt.timestep, rel=1e-6)  # 3 N - 2 N


def test_stack_of_unlike_masses_stands():
    bodies = "".join(
        f'<body pos="0 0 {0.05 + 0.1 * k}"><freejoint/><geom type="box" size=".05 .05 .05" mass="{5.0 if k == 9 else 0.1}"/></body>'
        for k in range(10)
    )
    model = mujoco.MjModel.from_xml_string(
        f'<mujoco><worldbody><geom type="plane" size="5 5 .1"/>{bodies}</worldbody></mujoco>'
    )
    data = mujoco.MjData(model)
    for _ in range(500):
        almond.mujoco.step(model, data)
    top = data.qpos[7 * 9 + 2]
    assert top == pytest.approx(0.95, abs=1e-6)
    assert np.abs(data.qvel).max() < 1e-6
