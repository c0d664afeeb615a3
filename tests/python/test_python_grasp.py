"""Two pads that press on a box with a given force lift it by friction: it holds from the force on that Coulomb's law asks for."""

import numpy as np
import pytest

import almond

MU, MASS, GRAVITY, STEP = 0.6, 0.5, 9.81, 0.002
RAMP, LIFT = 0.4, 0.1  # [s] of acceleration, [m/s] afterwards

# The hand follows a prescribed height exactly enough: it weighs a ton.
SCENE = f"""<mujoco><option timestep="{STEP}" gravity="0 0 -{GRAVITY}"/><worldbody><geom type="plane" size="1 1 .1"/>
<body name="hand" pos="0 0 .15"><joint name="lift" type="slide" axis="0 0 1"/><geom type="box" size=".08 .02 .02" mass="1000" contype="0" conaffinity="0"/>
<body pos="-.06 0 -.08"><joint name="l" type="slide" axis="1 0 0"/><geom type="box" size=".01 .02 .06" mass=".1" friction="{MU}"/></body>
<body pos=".06 0 -.08"><joint name="r" type="slide" axis="-1 0 0"/><geom type="box" size=".01 .02 .06" mass=".1" friction="{MU}"/></body></body>
<body name="box" pos="0 0 .03"><freejoint/><geom type="box" size=".03 .03 .03" mass="{MASS}" friction="{MU}"/></body></worldbody>
<actuator><motor joint="lift"/><motor joint="l"/><motor joint="r"/></actuator></mujoco>"""


def lift_force(t):
    """What holds the hand, then accelerates it evenly, then lets it go on."""
    weight = 1000.2 * GRAVITY
    start = 0.5
    if t < start:
        return weight
    return weight + (1000.2 * LIFT / RAMP if t < start + RAMP else 0.0)


def native(path):
    sim = almond.load(str(path))

    def step(force):
        sim.set_controls([*force])
        assert sim.step().solved
        return sim.q

    return step


def drop_in(path):
    mujoco = pytest.importorskip("mujoco")
    import almond.mujoco

    model = mujoco.MjModel.from_xml_path(str(path))
    data = mujoco.MjData(model)
    stepper = almond.mujoco.Stepper()

    def step(force):
        data.ctrl[:] = force
        stepper.step(model, data)
        return data.qpos

    return step


def lifted(make, path, squeeze):
    """(slip of the box down the pads [m], turn [rad]) after 0.5 s of rest and 1 s of lifting."""
    step = make(path)
    for i in range(round(1.5 / STEP)):
        q = step((lift_force(i * STEP), squeeze, squeeze))
        if i * STEP < 0.5:
            start = q[5] - q[0]
    return start - (q[5] - q[0]), 2 * np.linalg.norm(q[7:10])


@pytest.mark.parametrize("make", [native, drop_in])
def test_a_grasp_holds_as_soon_as_the_law_allows(make, tmp_path):
    path = tmp_path / "grip.xml"
    path.write_text(SCENE)
    carried = MASS * (GRAVITY + LIFT / RAMP)  # by both pads, while it is accelerated
    least = carried / (2 * MU)
    for share in (1.02, 1.1, 1.5, 3.0):
        slip, turn = lifted(make, path, share * least)
        assert abs(slip) < 2e-6 and turn < 1e-5, share
    # Below its weight, what is missing keeps it on the floor while the pads slide up.
    slip, _ = lifted(make, path, 0.9 * MASS * GRAVITY / (2 * MU))
    rise = LIFT * (RAMP / 2 + 0.6)
    assert slip == pytest.approx(rise, rel=0.05)  # friction brakes the hand a little
