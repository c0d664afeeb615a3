"""Robots of MuJoCo's Menagerie by almond.mujoco. They lie in menagerie.tar.xz of $ALMOND_SHARED, or of ../shared."""

import os
import pathlib
import tarfile

import numpy as np
import pytest

mujoco = pytest.importorskip("mujoco")
am = pytest.importorskip("almond.mujoco")

ARCHIVE = pathlib.Path(os.environ.get("ALMOND_SHARED", pathlib.Path(__file__).parents[3] / "shared")) / "menagerie.tar.xz"


@pytest.fixture(scope="module")
def menagerie(tmp_path_factory):
    if not ARCHIVE.exists():
        pytest.skip("menagerie.tar.xz is neither in $ALMOND_SHARED nor in ../shared")
    folder = tmp_path_factory.mktemp("menagerie")
    with tarfile.open(ARCHIVE) as archive:
        archive.extractall(folder, **({"filter": "data"} if hasattr(tarfile, "data_filter") else {}))
    return folder


def start(model, control=None, pose=None):
    data = mujoco.MjData(model)
    if model.nkey:
        mujoco.mj_resetDataKeyframe(model, data, 0)
    if pose is not None:
        data.qpos[:] = pose
    if control is not None:
        data.ctrl[:] = control
    return data


@pytest.mark.parametrize(
    "file, control, way",
    [
        ("robotiq_2f85/scene.xml", 255.0, "closes"),
        ("robotiq_2f85/scene.xml", 0.0, "opens"),
        ("iit_softfoot/scene.xml", None, "rests"),
        ("agility_cassie/scene.xml", None, "is held"),
    ],
)
def test_loops_move_as_with_stiff_equalities(menagerie, file, control, way):
    """Joints after 0.5 s, without contacts, beside MuJoCo with equalities as stiff as a step of 0.1 ms allows."""

    def load(dt=None):
        model = mujoco.MjModel.from_xml_path(str(menagerie / file))
        model.opt.disableflags |= int(mujoco.mjtDisableBit.mjDSBL_CONTACT)
        model.opt.timestep = dt or model.opt.timestep
        return model

    stiff = load(1e-4)
    stiff.eq_solref[:] = [-1e6, -2e3]
    pose = None
    if way == "opens":
        closed = start(stiff, 255.0)
        mujoco.mj_step(stiff, closed, 5000)
        pose = closed.qpos.copy()
    theirs = start(stiff, control, pose)
    mujoco.mj_step(stiff, theirs, 5000)
    model = load()
    ours, stepper, mass = start(model, control, pose), am.Stepper(), model.body_mass.sum()
    speed = impulse = 0.0
    for _ in range(round(0.5 / model.opt.timestep)):
        solution = stepper.step(model, ours)
        assert solution.solved
        speed = max(speed, np.abs(ours.qvel).max(), 9.81 * model.opt.timestep)
        impulse = max(impulse, np.abs(solution.impulses).max(initial=0.0))
    joints = [model.jnt_qposadr[j] for j in range(model.njnt) if model.jnt_type[j] >= 2]
    np.testing.assert_allclose(ours.qpos[joints], theirs.qpos[joints], atol=1e-3)
    assert impulse < 10.0 * mass * speed  # no row that is rounding pulls


SCENES = [
    "agility_cassie/scene.xml", "bitcraze_crazyflie_2/scene.xml", "google_barkour_vb/scene.xml", "google_barkour_vb/scene_mjx.xml",
    "iit_softfoot/scene.xml", "robotiq_2f85/scene.xml", "shadow_hand/scene_left.xml", "shadow_hand/scene_right.xml",
    "tetheria_aero_hand_open/scene_right.xml", "trossen_wx250s/scene.xml", "trs_so_arm100/scene.xml", "unitree_go1/scene.xml",
    "wonik_allegro/scene_left.xml", "wonik_allegro/scene_right.xml",
]  # fmt: skip


@pytest.mark.parametrize("file", SCENES)
def test_every_step_of_a_scene_is_solved(menagerie, file):
    model = mujoco.MjModel.from_xml_path(str(menagerie / file))
    data, stepper = start(model), am.Stepper()
    for _ in range(480):
        assert stepper.step(model, data).solved
    assert stepper.opening < 1e-4 and stepper.overlap < 1e-4  # what began open or inside is not
