"""Small MJCF and URDF files through the program, beside MuJoCo: what lies about collides, welds hold their anchors, the larger condim
counts, files are taken for what is in them, and what is written back opens."""

import os
import subprocess
from pathlib import Path

import numpy as np
import pytest

mujoco = pytest.importorskip("mujoco")

ROOT = Path(__file__).resolve().parents[2]
PROGRAM = os.environ.get("ALMOND_PROGRAM", str(ROOT / "build" / "almond"))


def almond(*words, cwd):
    return subprocess.run([PROGRAM, *map(str, words)], capture_output=True, text=True, timeout=120, cwd=cwd)


def has_mujoco(tmp_path_factory):
    folder = tmp_path_factory.mktemp("mjcf")
    (folder / "a.xml").write_text("<mujoco><worldbody/></mujoco>", encoding="utf-8")
    return "built without MuJoCo" not in almond("inspect", "a.xml", cwd=folder).stderr


@pytest.fixture(autouse=True)
def needs_mujoco(tmp_path_factory):
    if not has_mujoco(tmp_path_factory):
        pytest.skip("built without MuJoCo")


def end_of(folder, text, seconds, *words, name="a.xml"):
    """Positions of the bodies by name, ours and MuJoCo's."""
    (folder / name).write_text(text, encoding="utf-8")
    model = mujoco.MjModel.from_xml_string(text)
    data = mujoco.MjData(model)
    steps = round(seconds / model.opt.timestep)
    done = almond("run", name, "--steps", steps, "--trajectory", "t.npz", *words, cwd=folder)
    assert done.returncode == 0, done.stderr
    for _ in range(steps):
        mujoco.mj_step(model, data)
    rows = np.load(folder / "t.npz")
    ours = dict(zip(rows["names"], rows["position"][-1]))
    theirs = {model.body(b).name: np.array(data.xpos[b]) for b in range(1, model.nbody)}
    return ours, theirs, done.stderr


def test_things_that_overlap_at_the_start_still_collide(tmp_path):
    text = """<mujoco><worldbody><geom type="plane" size="5 5 .1"/>
      <body name="table" pos="0 0 .5"><geom type="box" size=".5 .5 .05"/></body>
      <body name="cube" pos="0 0 0.5995"><freejoint/><geom type="box" size=".05 .05 .05"/></body>
      <body name="cube2" pos="0.2 0 0.6"><freejoint/><geom type="box" size=".05 .05 .05"/></body>
      <body name="cube3" pos="0.2 0 0.6998"><freejoint/><geom type="box" size=".05 .05 .05"/></body></worldbody></mujoco>"""
    ours, theirs, _ = end_of(tmp_path, text, 0.5)
    for name in theirs:
        assert np.abs(ours[name] - theirs[name]).max() < 1e-3, name


def test_weld_holds_at_its_anchor(tmp_path):
    text = """<mujoco><option gravity="0 0 0"><flag contact="disable"/></option><worldbody>
      <body name="c" pos="0 0 1"><freejoint/><geom type="box" size=".1 .1 .1" mass="1"/></body>
      <body name="d" pos=".3 0 1" euler="0 0 30"><freejoint/><geom type="box" size=".1 .1 .1" mass="1"/></body></worldbody>
      <equality><weld body1="c" body2="d" anchor=".1 .05 0"/></equality></mujoco>"""
    ours, theirs, said = end_of(tmp_path, text, 0.2)
    for name in ("c", "d"):
        assert np.abs(ours[name] - theirs[name]).max() < 1e-6, name
    assert "open" not in said


@pytest.mark.parametrize("slope, box", [(1, 3), (3, 1), (1, 1), (3, 3)])
@pytest.mark.parametrize("rough", [0.1, 1.0])
def test_larger_condim_and_friction_count(tmp_path, slope, box, rough):
    text = f"""<mujoco><worldbody><geom type="plane" size="5 5 .1" euler="0 20 0" condim="{slope}" friction="1 0 0"/>
      <body name="box" pos="0 0 .0545" euler="0 20 0"><freejoint/><geom type="box" size=".05 .05 .05" condim="{box}" friction="{rough} 0 0"/>
      </body></worldbody></mujoco>"""
    ours, theirs, _ = end_of(tmp_path, text, 0.5)
    assert abs(ours["box"][0] - theirs["box"][0]) < 0.02
    assert (ours["box"][0] > 0.1) == (slope == box == 1)


def test_actuators_of_disabled_groups_are_off(tmp_path):
    text = """<mujoco><option gravity="0 0 0" actuatorgroupdisable="1"/><worldbody>
      <body name="a"><joint name="h" type="slide" axis="1 0 0"/><geom size=".1" mass="1"/></body></worldbody>
      <actuator><motor joint="h" group="1" name="off"/><position joint="h" group="1" kp="100" name="servo" ctrlrange="1 2"/></actuator>
      <keyframe><key name="k" ctrl="1 1"/></keyframe></mujoco>"""
    ours, _, said = end_of(tmp_path, text, 0.2, "--keyframe", "k")
    assert np.abs(ours["a"]).max() < 1e-12 and '"servo" is switched off' in said


def test_urdf_under_another_name_is_urdf(tmp_path):
    text = """<?xml version="1.0"?><!-- <mujoco> --><robot name="r"><link name="a"><inertial><mass value="2"/>
      <inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial></link></robot>"""
    for name in ("r.urdf", "r.xml"):
        (tmp_path / name).write_text(text, encoding="utf-8")
    one, two = (almond("inspect", name, cwd=tmp_path).stdout for name in ("r.urdf", "r.xml"))
    assert one == two and "2 kg" in one


def test_what_is_written_opens_in_mujoco(tmp_path):
    inertias = {"flat": "0 0 1", "long": "0.1 0.1 5", "negative": "-1 1 1", "real": "1 1 1", "none": "0 0 0"}
    links = "".join(f'<link name="{name}"><inertial><mass value="1"/><inertia ixx="{i.split()[0]}" iyy="{i.split()[1]}" izz="{i.split()[2]}" '
                    f'ixy="0" ixz="0" iyz="0"/></inertial></link>' for name, i in inertias.items())
    joints = "".join(f'<joint name="j{name}" type="fixed"><parent link="world"/><child link="{name}"/></joint>' for name in inertias)
    (tmp_path / "r.urdf").write_text(f'<robot name="r"><link name="world"/>{links}{joints}</robot>', encoding="utf-8")
    done = almond("run", "r.urdf", "--steps", 1, "--write-mjcf", "o.xml", cwd=tmp_path)
    assert done.returncode == 0 and "4 x inertia of a body" in done.stderr, done.stderr
    model = mujoco.MjModel.from_xml_path(str(tmp_path / "o.xml"))
    assert model.body("real").mass[0] == 1.0 and np.abs(model.body("real").inertia - 1.0).max() < 1e-12
    assert model.body("world_link").id > 0


def test_start_values_outrank_keyframes(tmp_path):
    text = """<mujoco><worldbody><body name="a"><joint name="h" type="slide" axis="1 0 0"/><geom size=".1" mass="1"/>
      <body name="b"><joint name="ball" type="ball"/><geom size=".1" mass="1"/></body></body></worldbody>
      <keyframe><key name="home" qpos="0.5 1 0 0 0"/></keyframe></mujoco>"""
    (tmp_path / "a.xml").write_text(text, encoding="utf-8")
    done = almond("run", "a.xml", "--steps", 1, "--keyframe", "home", "--joint", "h=-1", "--trajectory", "t.npz", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert np.load(tmp_path / "t.npz")["position"][0, 0, 0] == -1.0
    done = almond("inspect", "a.xml", "--joint", "ball=1", cwd=tmp_path)
    assert done.returncode == 2 and "ball joint" in done.stderr


@pytest.mark.parametrize(
    "words, part",
    [
        (["--joint", "h"], "--joint h: expected NAME=VALUE"),
        (["--joint", "h=1e400"], "--joint h=1e400"),
        (["--floor", "abc"], "--floor abc"),
    ],
)
def test_options_name_themselves(tmp_path, words, part):
    (tmp_path / "a.xml").write_text("<mujoco><worldbody/></mujoco>", encoding="utf-8")
    done = almond("run", "a.xml", *words, cwd=tmp_path)
    assert done.returncode == 2 and part in done.stderr, done.stderr


def test_pipes_and_devices_are_refused(tmp_path):
    os.mkfifo(tmp_path / "p.urdf")
    (tmp_path / "z.urdf").symlink_to("/dev/zero")
    for name in ("p.urdf", "z.urdf"):
        done = almond("inspect", name, cwd=tmp_path)
        assert done.returncode == 2 and "expected a file" in done.stderr


def test_strict_is_about_motion(tmp_path):
    link = '<link name="a"><inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial>{}</link>'
    seen = '<visual><geometry><sphere radius="1"/></geometry></visual>'
    (tmp_path / "r.urdf").write_text(f'<robot name="r">{link.format(seen)}</robot>', encoding="utf-8")
    assert almond("inspect", "r.urdf", "--strict", cwd=tmp_path).returncode == 0
    text = """<mujoco><worldbody><geom name="g" type="plane" size="1 1 1" margin="0.1"/></worldbody></mujoco>"""
    (tmp_path / "a.xml").write_text(text, encoding="utf-8")
    done = almond("inspect", "a.xml", "--strict", cwd=tmp_path)
    assert done.returncode == 2 and "margin" in done.stderr


@pytest.mark.parametrize(
    "text, part",
    [
        ('<asset><hfield name="h" nrow="2000000" ncol="2000000" size="1 1 1 1"/></asset>', "points"),
        ('<worldbody><replicate count="100000000"><geom size="1"/></replicate></worldbody>', "copies"),
        ('<worldbody><replicate count="1000"><replicate count="1000"><geom size="1"/></replicate></replicate></worldbody>', "copies"),
        ('<worldbody><body><flexcomp name="f" type="grid" count="4000 4000 40" dim="3"/></body></worldbody>', "copies"),
    ],
)
def test_what_would_fill_the_memory_is_refused_also_when_included(tmp_path, text, part):
    (tmp_path / "part.xml").write_text(f"<mujoco>{text}</mujoco>", encoding="utf-8")
    (tmp_path / "whole.xml").write_text('<mujoco><include file="part.xml"/></mujoco>', encoding="utf-8")
    (tmp_path / "loop.xml").write_text('<mujoco><include file="loop.xml"/></mujoco>', encoding="utf-8")
    for name in ("part.xml", "whole.xml"):
        done = almond("inspect", name, cwd=tmp_path)
        assert done.returncode == 2 and "part.xml:1" in done.stderr and part in done.stderr, done.stderr
    assert almond("inspect", "loop.xml", cwd=tmp_path).returncode == 2


BOX = [(0, 0, 0), (1, 0, 0), (1, 1, 0), (0, 1, 0), (0, 0, 1), (1, 0, 1), (1, 1, 1), (0, 1, 1)]
FACES = [(0, 2, 1), (0, 3, 2), (4, 5, 6), (4, 6, 7), (0, 1, 5), (0, 5, 4), (1, 2, 6), (1, 6, 5), (2, 3, 7), (2, 7, 6), (3, 0, 4), (3, 4, 7)]


def write_obj(path, faces, scale=1.0):
    lines = [f"v {x * scale} {y * scale} {z * scale}" for x, y, z in BOX] + [f"f {a + 1} {b + 1} {c + 1}" for a, b, c in faces]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")


@pytest.mark.parametrize(
    "faces, scale, part",
    [
        (FACES[:-1], 1.0, "open at 3 edges"),
        ([face[::-1] for face in FACES], 1.0, "inside out"),
        (FACES + [(0, 2, 6)], 1.0, "more than two"),
        (FACES, 50.0, "are these millimetres"),
        (FACES, 1.0, "12 triangles as their convex hull of 8 vertices"),
    ],
)
def test_flaws_of_meshes_are_told_where_hulls_collide(tmp_path, faces, scale, part):
    write_obj(tmp_path / "m.obj", faces, scale)
    scene = '{"almond_scene": 1, "objects": [{"shape": "mesh", "file": "m.obj", "mass": 1}]}'
    (tmp_path / "s.json").write_text(scene, encoding="utf-8")
    robot = """<robot name="r"><link name="a"><inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial>
      <collision><geometry><mesh filename="m.obj"/></geometry></collision></link></robot>"""
    (tmp_path / "r.urdf").write_text(robot, encoding="utf-8")
    for name in ("s.json", "r.urdf"):
        done = almond("inspect", name, cwd=tmp_path)
        assert done.returncode == 0 and part in done.stdout + done.stderr, (name, done.stdout, done.stderr)


def test_missing_mesh_says_where_it_was_looked_for(tmp_path):
    text = '<mujoco><asset><mesh name="m" file="m/nothere.stl"/></asset><worldbody><geom type="mesh" mesh="m"/></worldbody></mujoco>'
    (tmp_path / "a.xml").write_text(text, encoding="utf-8")
    done = almond("inspect", "a.xml", cwd=tmp_path)
    assert done.returncode == 2 and "nothere.stl" in done.stderr and str(tmp_path) in done.stderr
