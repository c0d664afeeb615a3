"""Force ranges of actuators and limits of ball joints as MuJoCo has them: the force on a joint is its qfrc_actuator, and a
ball joint comes to rest at the angle that MuJoCo finds, too."""

import numpy as np
import pytest

mujoco = pytest.importorskip("mujoco")

STEP = 0.001


def text(worldbody, rest=""):
    return f"""<mujoco><compiler angle="radian"/><option timestep="{STEP}" gravity="0 0 0"/>
      <worldbody>{worldbody}</worldbody>{rest}</mujoco>"""


def slider(actuators, joint=""):
    """A mass of 2 kg on a rail along x that starts at x = 1."""
    body = f"""<body name="b"><joint name="j" type="slide" axis="1 0 0" {joint}/>
      <geom size="0.1" mass="2" contype="0" conaffinity="0"/></body>"""
    return text(body, f"<actuator>{actuators}</actuator><keyframe><key name='k' qpos='1' qvel='0.5' ctrl='CTRL'/></keyframe>")


CASES = {
    "pushes only": ('<motor joint="j" forcerange="0 100"/>', "", (-50, 50, 500)),
    "pulls only": ('<motor joint="j" forcerange="-30 0"/>', "", (-50, 50, -10)),
    "uneven": ('<motor joint="j" forcerange="-5 60"/>', "", (-50, 50, 500)),
    "never zero": ('<motor joint="j" forcerange="10 20"/>', "", (-50, 0, 15, 500)),
    "gear turns the range round": ('<motor joint="j" gear="-3" forcerange="0 100"/>', "", (-50, 50, 500)),
    "range of the joint": ('<motor joint="j"/>', 'actuatorfrcrange="-1 7"', (-50, 3, 50)),
    "both ranges": ('<motor joint="j" forcerange="0 20"/>', 'actuatorfrcrange="-9 9"', (-50, 5, 50)),
    "ranges without a common force": ('<motor joint="j" forcerange="3 4"/>', 'actuatorfrcrange="-2 -1"', (-50, 50)),
    "servo, saturated": ('<position joint="j" kp="1e5" kv="10" forcerange="0 80"/>', "", (-50, 50)),
    "speed, saturated": ('<velocity joint="j" kv="1e5" forcerange="-70 3"/>', "", (-50, 50)),
}


@pytest.mark.parametrize("name", CASES)
def test_force_is_mujocos(almond, tmp_path, name):
    actuators, joint, controls = CASES[name]
    for control in controls:
        path = tmp_path / "slider.xml"
        path.write_text(slider(actuators, joint).replace("CTRL", str(control)))
        result = almond("run", path, "--keyframe", "k", "--steps", 3, "--trajectory", tmp_path / "t.npz")
        if "built without MuJoCo" in result.err:
            pytest.skip("built without MuJoCo")
        assert result.code == 0, result.err
        assert "force range" not in result.err and "frcrange" not in result.err
        model = mujoco.MjModel.from_xml_path(str(path))
        data = mujoco.MjData(model)
        mujoco.mj_resetDataKeyframe(model, data, 0)
        mujoco.mj_forward(model, data)
        speed = np.load(tmp_path / "t.npz")["linear_velocity"][:, 0, 0]
        force = 2.0 * np.diff(speed) / STEP
        assert np.allclose(force, data.qfrc_actuator[0], rtol=1e-6, atol=1e-6), (name, control)


def test_range_over_several_actuators_is_told(almond, tmp_path):
    path = tmp_path / "slider.xml"
    path.write_text(slider('<motor joint="j"/><motor joint="j"/>', 'actuatorfrcrange="-1 7"').replace("CTRL", "0 0"))
    result = almond("inspect", path)
    if "built without MuJoCo" in result.err:
        pytest.skip("built without MuJoCo")
    assert "2 x actuatorfrcrange over several actuators" in result.out


BALL = """<body name="b"><joint name="j" type="ball" range="0 {limit}" damping="0.05" solreflimit="0.004 1"/>
  <geom type="capsule" fromto="0 0 0 0.1 0.05 -0.5" size="0.03" mass="2" contype="0" conaffinity="0"/></body>"""


@pytest.mark.parametrize("limit", [0.3, 1.0, 2.0])
def test_ball_joint_rests_where_mujocos_does(almond, tmp_path, limit):
    path = tmp_path / "ball.xml"
    body = BALL.format(limit=limit)
    path.write_text(text(body).replace('gravity="0 0 0"', 'gravity="6 3 7"'))
    result = almond("run", path, "--steps", 6000, "--trajectory", tmp_path / "t.npz")
    if "built without MuJoCo" in result.err:
        pytest.skip("built without MuJoCo")
    assert result.code == 0, result.err
    assert "ball" not in result.err
    model = mujoco.MjModel.from_xml_path(str(path))
    data = mujoco.MjData(model)
    for _ in range(6000):
        mujoco.mj_step(model, data)
    ours = np.load(tmp_path / "t.npz")["quaternion"][:, 0]
    angles = 2 * np.arctan2(np.linalg.norm(ours[:, 1:], axis=1), np.abs(ours[:, 0]))
    # Rigid here: never beyond but for the second order of a step; soft in MuJoCo: beyond by a little.
    assert angles.max() < limit + 1e-4
    assert abs(angles[-1] - limit) < 1e-6
    theirs = data.qpos[:4] * np.sign(data.qpos[0] * ours[-1, 0])
    assert np.abs(ours[-1] - theirs).max() < 0.01
