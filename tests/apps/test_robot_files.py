"""`almond run` and `almond inspect` on robot and scene files: what they do, what they say, and what they refuse."""

import json

import numpy as np
import pytest

URDF = """<robot name="arm">
  <link name="base"><inertial><mass value="1"/><inertia ixx="0.1" iyy="0.1" izz="0.1" ixy="0" ixz="0" iyz="0"/></inertial>
    <collision><geometry><box size="0.2 0.2 0.2"/></geometry></collision></link>
  <link name="tip"><inertial><origin xyz="0.25 0 0"/><mass value="0.005"/><inertia ixx="0.01" iyy="0.01" izz="0.01" ixy="0" ixz="0" iyz="0"/></inertial>
    <collision><origin xyz="0.3 0 0"/><geometry><sphere radius="0.05"/></geometry></collision></link>
  <joint name="elbow" type="revolute"><parent link="base"/><child link="tip"/><axis xyz="0 1 0"/>
    <limit lower="-1" upper="1" effort="5" velocity="1"/><dynamics damping="0.1"/></joint>
  <transmission name="t"/>
</robot>"""

MJCF = """<mujoco><option timestep="0.002"/><worldbody><geom type="plane" size="1 1 1"/>
  <body name="ball" pos="0 0 0.5"><freejoint/><geom size="0.1" mass="1"/></body>
  <body name="arm" pos="1 0 1"><joint name="hinge" axis="0 1 0"/><geom type="capsule" fromto="0 0 0 0.5 0 0" size="0.02" mass="1"/></body></worldbody>
  <actuator><position name="servo" joint="hinge" kp="200" kv="20"/></actuator>
  <sensor><jointpos joint="hinge"/></sensor>
  <keyframe><key name="up" qpos="0 0 0.8 1 0 0 0 -0.5" ctrl="-0.5"/></keyframe></mujoco>"""


@pytest.fixture
def files(tmp_path):
    (tmp_path / "arm.urdf").write_text(URDF)
    (tmp_path / "world.xml").write_text(MJCF)
    return tmp_path


def test_scene_finds_its_robots_in_the_searched_folders(almond, files, tmp_path):
    scene = tmp_path / "elsewhere" / "scene.json"
    scene.parent.mkdir()
    scene.write_text(json.dumps({"almond_scene": 1, "robots": [{"file": "arm.urdf"}]}))
    refused = almond("inspect", scene)
    assert refused.code == 2 and "arm.urdf" in refused.err
    assert almond("inspect", scene, "--search", tmp_path / "none", "--search", files).code == 0


def have_mujoco(almond, files):
    return almond("inspect", files / "world.xml").code == 0


def run(almond, *words):
    result = almond("run", *words, "--json", "-")
    assert result.code == 0, result.err
    return result.json(), result


def test_urdf_falls_on_a_floor(almond, files):
    report, result = run(almond, files / "arm.urdf", "--base", "floating", "--floor", "below", "--steps", 480)
    assert report["bodies"] == 2 and report["dofs"] == 7
    assert report["unconverged_steps"] == 0 and report["penetration_mm"]["max"] < 0.1
    assert "without effect" in result.err and "transmission" in result.err


def test_held_joints_stay(almond, files):
    way = files / "t.npz"
    run(almond, files / "arm.urdf", "--hold", "--joint", "elbow=0.3", "--steps", 240, "--trajectory", way)
    positions = np.load(way)["quaternion"]
    assert np.abs(positions[-1] - positions[0]).max() < 1e-6
    run(almond, files / "arm.urdf", "--joint", "elbow=0.3", "--steps", 240, "--trajectory", way)
    positions = np.load(way)["quaternion"]
    assert np.abs(positions[-1] - positions[0]).max() > 0.04, "limp without --hold"


def test_mjcf_runs_with_its_own_settings(almond, files):
    if not have_mujoco(almond, files):
        pytest.skip("built without MuJoCo")
    report, result = run(almond, files / "world.xml", "--trajectory", files / "t.npz")
    assert report["dt"] == 0.002 and report["steps"] == 1000 and report["unconverged_steps"] == 0
    assert "sensor" in result.err
    way = np.load(files / "t.npz")
    ball = way["position"][:, list(way["names"]).index("ball")]
    assert abs(ball[-1, 2] - 0.1) < 1e-6 and ball[:, 2].min() > 0.1 - 1e-6
    # The servo holds the arm at 0 against 1 kg at 0.25 m: it sags by tau / kp.
    arm = way["quaternion"][-1, list(way["names"]).index("arm")]
    assert abs(2 * np.arcsin(arm[2]) - 9.81 * 0.25 / 200) < 1e-3


def test_keyframes_set_state_and_controls(almond, files):
    if not have_mujoco(almond, files):
        pytest.skip("built without MuJoCo")
    run(almond, files / "world.xml", "--keyframe", "up", "--trajectory", files / "t.npz", "--steps", 500)
    way = np.load(files / "t.npz")
    names = list(way["names"])
    assert abs(way["position"][0, names.index("ball"), 2] - 0.8) < 1e-12
    assert abs(2 * np.arcsin(way["quaternion"][-1, names.index("arm"), 2]) + 0.5) < 0.02
    wrong = almond("run", files / "world.xml", "--keyframe", "upp")
    assert wrong.code == 2 and 'did you mean "up"' in wrong.err


def test_scene_file_places_several(almond, files):
    scene = {
        "almond_scene": 1, "steps": 240, "floor": {"height": 0, "friction": 0.8},
        "robots": [{"file": "arm.urdf", "name": name, "position": [x, 0, 0.5], "rpy": [0, 0, 1.5], "joints": {"elbow": 0.2}, "hold": True}
                   for name, x in (("left", -1), ("right", 1))],
        "objects": [{"name": "crate", "shape": "box", "size": [0.2, 0.2, 0.2], "mass": 2, "position": [0, 0, 0.3]},
                    {"name": "wall", "shape": "box", "size": [0.1, 1, 1], "position": [0.5, 0, 0.5]},
                    {"shape": "capsule", "size": [0.05, 0.2], "mass": 0.1, "position": [0, 0, 1], "velocity": [1, 0, 0, 0, 0, 0]}],
    }
    (files / "world.json").write_text(json.dumps(scene))
    report, _ = run(almond, files / "world.json", "--trajectory", files / "t.npz")
    assert report["bodies"] == 6 and report["steps"] == 240 and report["unconverged_steps"] == 0
    way = np.load(files / "t.npz")
    names = list(way["names"])
    assert "left/tip" in names and "right/tip" in names
    assert abs(way["position"][-1, names.index("crate"), 2] - 0.1) < 1e-6
    assert np.allclose(way["position"][0, names.index("left/base")], [-1, 0, 0.5])


def test_inspect_shows_the_tree(almond, files):
    result = almond("inspect", files / "arm.urdf", "--base", "floating")
    assert result.code == 0
    assert "elbow" not in result.err and "tip" in result.out and "revolute -1 to 1" in result.out
    assert "200 times as heavy" in result.out, "a mass ratio above 100"
    assert "1 x transmission" in result.out
    report = json.loads(almond("inspect", files / "arm.urdf", "--base", "floating", "--json", "-").out)
    assert [body["name"] for body in report["bodies"]] == ["base", "tip"]
    assert report["bodies"][1]["joint"]["upper"] == 1 and report["mass_ratios"][0]["ratio"] == pytest.approx(200)
    assert report["ignored"]["transmission"] == 1


def test_models_are_written_as_mjcf(almond, files):
    out = files / "out.xml"
    assert almond("run", files / "arm.urdf", "--steps", 1, "--write-mjcf", out).code == 0
    mujoco = pytest.importorskip("mujoco")
    model = mujoco.MjModel.from_xml_path(str(out))
    assert model.nv == 1 and abs(model.body_mass.sum() - 1.005) < 1e-12
    assert np.allclose(model.jnt_range[0], [-1, 1]) and model.dof_damping[0] == 0.1


@pytest.mark.parametrize(
    "name, text, words, expected",
    [
        ("a.urdf", "<robot", [], "a.urdf"),
        ("a.urdf", URDF.replace('"base"/><child', '"bas"/><child'), [], "bas"),
        ("a.urdf", URDF, ["--joint", "elbo=1"], "elbow"),
        ("a.urdf", URDF, ["--joint", "elbow=x"], "expected a finite number"),
        ("a.urdf", URDF, ["--base", "flying"], "expected file, fixed or floating"),
        ("a.urdf", URDF, ["--meshes", "points"], "expected hull, triangles or none"),
        ("a.urdf", URDF, ["--keyframe", "k"], "URDF has none"),
        ("a.urdf", URDF.replace("transmission", "magnet"), ["--strict"], "magnet"),
        ("a.urdf", URDF, ["--object", "{"], "no JSON"),
        ("a.urdf", URDF, ["--object", '{"shape": "cube"}'], "expected sphere, box"),
        ("a.urdf", URDF, ["--floor", "low"], "--floor"),
        ("a.urdf", URDF.replace("box size=\"0.2 0.2 0.2\"", 'mesh filename="package://robot/nowhere.stl"'), [], "nowhere.stl"),
        ("a.json", "{}", [], "almond_scene"),
        ("a.json", '{"almond_scene": 2}', [], "expected 1"),
        ("a.json", '{"almond_scene": 1, "flor": 0}', [], 'did you mean "floor"'),
        ("a.json", '{"almond_scene": 1, "robots": [{"file": "none.urdf"}]}', [], "none.urdf"),
        ("a.json", '{"almond_scene": 1, "robots": [{}]}', [], 'no field "file"'),
        ("a.json", '{"almond_scene": 1, "objects": [{"shape": "box", "size": [1]}]}', [], "expected [x, y, z]"),
        ("a.json", '{"almond_scene": 1, "objects": [{"shape": "box", "size": [1, 1, -1]}]}', [], "half"),
        ("a.json", '{"almond_scene": 1, "objects": [{"shape": "sphere", "size": [1], "quaternion": [1, 1, 0, 0]}]}', [], "norm"),
        ("a.json", '{"almond_scene": 1, "gravity": [0, 0]}', [], "expected 3"),
        ("a.json", "[1]", [], "expected an object"),
        ("a.xml", "<mujoco><nothing/></mujoco>", [], "a.xml"),
        ("none.urdf", None, [], "none.urdf"),
        ("none.xml", None, [], "none.xml"),
        ("none.json", None, [], "none.json"),
    ],
)
def test_bad_files_get_one_line(almond, tmp_path, name, text, words, expected):
    if text is not None:
        (tmp_path / name).write_text(text)
    result = almond("run", tmp_path / name, "--steps", 1, *words)
    assert result.code == 2, result.err
    assert expected in result.err, result.err
    assert result.err.count("\n") == 1, result.err


def test_options_for_files_need_a_file(almond):
    result = almond("run", "tower", "--floor", "0")
    assert result.code == 2 and "is no file" in result.err
