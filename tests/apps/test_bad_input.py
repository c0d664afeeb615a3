"""Bad input gets one line, exit 2, and never destroys an earlier output."""

import json
import os
import re

import numpy as np
import pytest

from conftest import sliding_point


def complaint(result):
    assert result.code == 2, (result.code, result.out, result.err)
    lines = [line for line in result.err.splitlines() if line.startswith("almond: ")]
    assert len(lines) == 1 and result.err.count("\n") == 1, result.err
    return lines[0]


@pytest.mark.parametrize(
    "arguments, expected",
    [
        (["slove"], "did you mean solve?"),
        (["solve"], "no problem file"),
        (["solve", "{file}", "--sover", "pgs"], "did you mean --solver?"),
        (["solve", "{file}", "--solver", "cannal"], "canal"),
        (["solve", "{file}", "--tol", "small"], '--tol "small": expected a number'),
        (["solve", "{file}", "--repeats", "2.5"], '--repeats "2.5": expected a whole number'),
        (["bench", "nut", "--budget-ms", "long"], '--budget-ms "long": expected a number'),
        (["demo", "--budget-ms", "long"], '--budget-ms "long": expected a number'),
        (["solve", "{file}", "--tol", "-1"], "tol"),
        (["solve", "{file}", "--threads", "0"], "threads"),
        (["solve", "{file}", "--budget-ms", "-5"], "budget"),
        (["solve", "{file}", "--max-iters", "-1"], "max_iterations"),
        (["solve", "{file}", "--set", "canal_kapa=2"], "did you mean canal_kappa?"),
        (["solve", "{file}", "--set", "canal_kappa"], "key=value"),
        (["solve", "{file}", "--set", "canal_kappa=two"], "a number"),
        (["solve", "{file}", "--set", "threads=1.5"], "a whole number"),
        (["solve", "{file}", "--set", "canal_polish=maybe"], "true or false"),
        (["solve", "{file}", "--set", "canal_inner=lu"], "newton, cg or apg"),
        (["solve", "{folder}/pont.npz"], "did you mean point.npz?"),
        (["solve", "{folder}/nowhere/point.npz"], "nowhere"),
        (["solve", "{folder}/empty"], "no .hdf5"),
        (["solve", "{file}", "--json", "{folder}/nowhere/out.json"], "nowhere"),
        (["solve", "{file}", "--json", "{folder}/empty"], "is a folder"),
        (["solve", "{file}", "--json", "-", "--trace", "-"], "standard output"),
        (["solve", "{file}", "--save-solution", "{file}"], "cannot make this folder"),
        (["solve", "{file}", "{file}", "--save-solution", "{folder}/out"], "two problems are named"),
        (["bench"], "NAME"),
        (["bench", "fclip"], "did you mean fclib?"),
        (["bench", "nut", "--budget-ms", "0"], "--budget-ms 0: expected a finite number of milliseconds > 0"),
        (["bench", "nut", "--budget-ms", "nan"], "--budget-ms nan: expected"),
        (["demo", "--budget-ms", "-1"], "--budget-ms -1: expected"),
        (["bench", "nut", "--peers", "foo"], "expected all, none, siconos or pinocchio"),
        (["solve", "{file}", "--repeats", "0"], "--repeats 0: expected at least 1"),
        (["solve", "{file}", "--solver", ",,"], "expected names of solvers"),
        (["bench", "zzzzzzzz"], "known: paper, peers, fclib, nut, towers, subadmm"),
        (["bench", "fclib", "{folder}/nowhere"], "nowhere"),
        (["bench", "fclib", "{folder}/empty"], "no .hdf5"),
        (["bench", "fclib", "{folder}", "--peers", "sicconos"], "did you mean siconos?"),
        (["demo", "--html", "{folder}/nowhere/page.html"], "nowhere"),
        (["demo", "--budget-ms", "0"], "--budget-ms"),
        (["view", "/etc/passwd"], "/etc/passwd: is no scene, robot or replay by its ending, it has none; expected .urdf, .xml"),
        (["inspect", "{file}"], ".npz: is no scene, robot or replay by its ending; expected .urdf, .xml"),
        (["run", "{folder}/empty"], "empty: is a folder, expected a scene or a file of one"),
        (["run", "towr"], "did you mean \"tower\"?"),
        (["bench", "nut", "--steps", "0"], "--steps: no such option; see almond bench --help"),
        (["bench", "nut", "--quik"], "--quik: no such option (did you mean --quick?)"),
    ],
)
def test_one_line_and_exit_2(almond, problem_file, arguments, expected):
    (problem_file.parent / "empty").mkdir()
    filled = [a.format(file=problem_file, folder=problem_file.parent) for a in arguments]
    assert expected in complaint(almond(*filled))


def test_no_command_shows_the_help(almond):
    result = almond()
    assert result.code == 2 and "Subcommands:" in result.err


def test_help_and_version(almond):
    for arguments in (["--help"], ["solve", "--help"], ["bench", "--help"], ["demo", "--help"]):
        result = almond(*arguments)
        assert result.code == 0 and "Usage: almond" in result.out
    version = almond("--version")
    assert version.code == 0 and version.out.startswith("almond ") and version.out.count(".") == 2


def test_a_failed_run_leaves_earlier_outputs_alone(almond, problem_file, tmp_path):
    output = tmp_path / "out.json"
    assert almond("solve", problem_file, "--json", output).code == 0
    before = output.read_bytes()
    broken = tmp_path / "broken.npz"
    broken.write_bytes(problem_file.read_bytes()[:100])
    assert "broken.npz" in complaint(almond("solve", broken, "--json", output))
    wrong = sliding_point()
    wrong["mu"] = np.array([-1.0])
    np.savez(tmp_path / "wrong.npz", **wrong)
    assert "wrong.npz" in complaint(almond("solve", tmp_path / "wrong.npz", "--json", output))
    assert output.read_bytes() == before
    assert sorted(p.name for p in tmp_path.glob("out*")) == ["out.json"]


def test_one_broken_file_of_a_folder_is_told_and_left_out(almond, problem_file, tmp_path):
    (tmp_path / "a.npz").write_bytes(problem_file.read_bytes()[:100])
    (tmp_path / "z.json").write_text("{")
    output = tmp_path / "out.txt"
    result = almond("solve", tmp_path, "--json", output)
    assert result.code == 2
    assert [entry["file"] for entry in json.loads(output.read_text())] == [str(problem_file)]
    lines = result.err.splitlines()
    assert len(lines) == 3 and "a.npz" in lines[0] and "z.json" in lines[1] and lines[2] == "almond: 2 of 3 files could not be read"
    problem_file.unlink()
    result = almond("solve", tmp_path)
    assert result.code == 2 and result.err.splitlines()[-1] == "almond: solve: none of the 2 files can be read"


def test_full_device_is_reported(almond, problem_file):
    result = almond("solve", problem_file, "--json", "/dev/full")
    assert result.code == 2 and "/dev/full" in result.err


@pytest.mark.parametrize("size, said", [
    ('nuserdata="2000000000"', "nuserdata is 2000000000, expected at most 1000000"), ('nuser_geom="2e9"', "nuser_geom is 2e9"),
    ('nkey="1000000000"', "nkey is 1000000000"), ('memory="900G"', "memory is 900G, expected at most 4G")])
def test_mjcf_that_asks_for_absurd_sizes_is_refused_before_memory_is_taken(almond, tmp_path, size, said):
    (tmp_path / "m.xml").write_text(f'<mujoco><size {size}/><worldbody><body><freejoint/><geom size="1"/></body></worldbody></mujoco>')
    result = almond("run", tmp_path / "m.xml", "--steps", 1, timeout=30)
    if "built without MuJoCo" in result.err:
        pytest.skip("built without MuJoCo")
    assert result.code == 2 and said in result.err and len(result.err.strip().splitlines()) == 1


@pytest.mark.parametrize("word", ["%p.%p.%p.%p", "%s%s%s%s%s%s%s%s", "%n", "nan", "1e999", "1,5"])
def test_urdf_numbers_are_no_formats(almond, tmp_path, word):
    (tmp_path / "r.urdf").write_text(f"""<robot name="r"><link name="a"><inertial><mass value="{word}"/>
      <inertia ixx=".1" ixy="0" ixz="0" iyy=".1" iyz="0" izz=".1"/></inertial></link></robot>""")
    said = complaint(almond("inspect", tmp_path / "r.urdf"))
    assert said == f'almond: {tmp_path}/r.urdf:1: link "a": mass: value is "{word}", expected a number'


@pytest.mark.parametrize("element", ['<include file="NAME.xml"/>', '<asset><mesh file="NAME.stl"/></asset>', '<asset><hfield name="h" file="NAME.bin" size="1 1 1 1"/></asset>'])
@pytest.mark.parametrize("way", ["..\\", "missing/../../", "../", "sub\\..\\..\\"])
def test_mjcf_does_not_tell_what_is_outside(almond, tmp_path, element, way):
    (tmp_path / "bot" / "sub").mkdir(parents=True)
    for ending in (".xml", ".stl", ".bin"):
        (tmp_path / f"secret{ending}").write_text("<mujoco/>")
    said = []
    for name in ("secret", "absent"):
        (tmp_path / "bot" / "m.xml").write_text("<mujoco>" + element.replace("NAME", way + name) + "</mujoco>")
        result = almond("inspect", tmp_path / "bot" / "m.xml", timeout=30)
        if "built without MuJoCo" in result.err:
            pytest.skip("built without MuJoCo")
        said.append(complaint(result).replace(name, "NAME"))
    assert said[0] == said[1] and "lies outside" in said[0]


def test_mjcf_waits_for_no_pipe(almond, tmp_path):
    os.mkfifo(tmp_path / "f.stl")
    (tmp_path / "m.xml").write_text('<mujoco><asset><mesh file="f.stl"/></asset></mujoco>')
    result = almond("inspect", tmp_path / "m.xml", timeout=30)
    if "built without MuJoCo" in result.err:
        pytest.skip("built without MuJoCo")
    assert complaint(result).endswith('m.xml:1: mesh: "f.stl" is a device or a pipe, expected a file')


@pytest.mark.parametrize("names", [("a.xml", "a.xml"), ("b.xml", "a.xml")])
def test_mjcf_that_is_a_part_of_itself_is_refused(almond, tmp_path, names):
    for file, part in zip(("a.xml", "b.xml"), names):
        (tmp_path / file).write_text(f"""<mujoco><asset><model name="o" file="{part}"/></asset>
          <worldbody><body name="b"/><attach model="o" body="b" prefix="p"/></worldbody></mujoco>""")
    result = almond("run", tmp_path / "a.xml", "--steps", 1, timeout=30)
    if "built without MuJoCo" in result.err:
        pytest.skip("built without MuJoCo")
    assert result.code == 2 and "has itself as a part" in result.err


def test_mjcf_that_multiplies_by_attaching_is_refused_before_memory_is_taken(almond, tmp_path):
    for i in range(40):
        (tmp_path / f"m{i}.xml").write_text(f"""<mujoco><asset><model name="n" file="m{i + 1}.xml"/></asset>
          <worldbody><body name="b"><geom size="1"/>
          <frame><attach model="n" body="b" prefix="p"/></frame><frame><attach model="n" body="b" prefix="q"/></frame></body></worldbody></mujoco>""")
    (tmp_path / "m40.xml").write_text('<mujoco><worldbody><body name="b"><geom size="1"/></body></worldbody></mujoco>')
    result = almond("run", tmp_path / "m0.xml", "--steps", 1, timeout=30)
    if "built without MuJoCo" in result.err:
        pytest.skip("built without MuJoCo")
    assert result.code == 2 and len(result.err.strip().splitlines()) == 1
    assert "attach: up to here the model takes about " in result.err and "expected at most 4 GB" in result.err


@pytest.mark.parametrize("name, text", [
    ("scene.json", '{"almond_scene": 1, "name": "s", "objects": [' + ", ".join(['{"shape": "sphere", "size": [0.1], "mass": 1}'] * 2000) + "]}"),
    ("robot.xml", "<mujoco><worldbody><body><freejoint/>" + '<geom size=".01"/>' * 2000 + "</body></worldbody></mujoco>")])
@pytest.mark.parametrize("command", ["run", "inspect"])
def test_everything_in_one_place_is_refused_before_memory_is_taken(almond, tmp_path, command, name, text):
    (tmp_path / name).write_text(text)
    result = almond(command, tmp_path / name, timeout=60)
    if "built without MuJoCo" in result.err:
        pytest.skip("built without MuJoCo")
    assert result.code == 2 and "in the first step more than 1000000 pairs of its 2000 geoms may meet, expected fewer" in complaint(result)


def crowded_scene(folder, shape, places, speed=None, **scene):
    objects = [{"shape": shape, "size": [0.1] if shape == "sphere" else [0.1] * 3, "mass": 1, "position": place} for place in places]
    for k, thing in enumerate(objects if speed else []):
        thing["velocity"] = [speed * (k + 1) / len(objects), 0, 0, 0, 0, 0]
    (folder / "scene.json").write_text(json.dumps({"almond_scene": 1, "name": "s", "objects": objects, **scene}))
    return folder / "scene.json"


def line(count, distance):
    return [[distance * k, 0, 0] for k in range(count)]


def grid(count, distance):
    edge = next(n for n in range(count + 1) if n**3 >= count)
    return [[distance * (k % edge), distance * (k // edge % edge), distance * (k // edge**2)] for k in range(count)]


@pytest.mark.parametrize("shape, places, scene, said", [
    ("sphere", grid(20000, 1.0), {"gravity": [0, 0, -1e7]}, "more than 1000000 pairs of its 20000 geoms may meet"),
    ("sphere", grid(1200, 1.0), {"gravity": [0, 0, -1e7]}, "the contacts of its 1200 geoms take more than 750 MB"),
    ("sphere", line(20000, 1.0), {"speed": 1e12}, "more than 1000000 pairs of its 20000 geoms may meet"),
    ("sphere", line(1200, 1.0), {"speed": 1e12}, "the contacts of its 1200 geoms take more than 750 MB"),
    ("sphere", line(1200, 1.0), {"speed": 1e5, "time_step": 10.0, "gravity": [0, 0, 0]}, "the contacts of its 1200 geoms take more than 750 MB"),
    ("box", [[0, 0, 0]] * 1400, {}, "the contacts of its 1400 geoms take more than 750 MB")],
    ids=["gravity, pairs", "gravity, contacts", "velocity, pairs", "velocity, contacts", "time step", "contacts of boxes"])
def test_crowds_of_the_first_step_are_refused_before_memory_is_taken(almond, tmp_path, shape, places, scene, said):
    """What meets nothing at the start may meet all in the step, and two boxes meet in more than one point."""
    result = almond("run", crowded_scene(tmp_path, shape, places, **scene), "--steps", 1, timeout=60, memory_mb=1000)
    assert result.code == 2 and f"in the first step {said}, expected fewer" in complaint(result)


@pytest.mark.parametrize("shape, places, scene", [
    ("sphere", grid(8000, 0.2), {"speed": 5.0, "floor": -0.1}), ("box", grid(3000, 0.1), {"floor": -0.05}), ("box", [[0, 0, 0]] * 300, {})])
def test_ordinary_crowds_are_heard(almond, tmp_path, shape, places, scene):
    result = almond("inspect", crowded_scene(tmp_path, shape, places, **scene), timeout=60)
    assert result.code == 0, result.err


ORDERS = "\u009b1m\u202e\x7f"


@pytest.mark.parametrize("name, content", [
    ("problem.json", b'{"A": [1, "' + ORDERS.encode() + b'\x01"]}'),
    ("scene.json", b'{"almond_scene": 1, "' + ORDERS.encode() + b'\xff'),
    ("scene.json", b'{"almond_scene": 1, "name": "' + b"a" * 3_000_000 + b"\x01"),
    ("scene.json", b'{"almond_scene": 1, "' + "é".encode() * 100_000 + b'": 1, "' + "é".encode() * 100_000 + b'": 2}'),
    ("robot.urdf", b'<robot name="a"><link name="a"/><link name="b"/><joint name="j" type="no' + ORDERS.encode() + b'"><parent link="a"/><child link="b"/></joint></robot>'),
    ("robot.xml", b"<mujoco><worldbody>" + (b'<body name="' + ORDERS.encode() + b'"><geom size="1"/></body>') * 2 + b"</worldbody></mujoco>")])
def test_errors_of_other_libraries_give_the_terminal_no_orders(almond, tmp_path, name, content):
    """What they quote of a file goes through the same hands as names, and an error is no longer than a screen."""
    (tmp_path / name).write_bytes(content)
    if name == "robot.xml" and "without MuJoCo" in almond("inspect", tmp_path / name).err:
        pytest.skip("built without MuJoCo")
    result = almond("solve" if name == "problem.json" else "run", tmp_path / name)
    assert result.code == 2 and len(complaint(result)) < 8200 and not re.search("[\x00-\x09\x0b-\x1f\x7f\x80-\x9f\u202e]", result.err)
    assert ("bytes more)" in result.err) == (b"\xc3\xa9" in content)


SCENE = b'{"almond_scene": 1, "objects": [{"name": "ball", "shape": "sphere", "size": [0.1], "mass": 1}]}'
PROBLEM = json.dumps({"A": np.eye(3).tolist(), "b": [0, 0, -1], "J": np.eye(3).tolist(), "e": [0, 0, 0], "mu": [0.5]}).encode()


@pytest.mark.parametrize("name, text", [("scene.json", SCENE), ("problem.json", PROBLEM)])
def test_json_does_not_end_at_a_nul(almond, tmp_path, name, text):
    """The parser takes a NUL for the end of the text, so that what follows was not read: the file says more than was judged."""
    command = "solve" if name == "problem.json" else "inspect"
    (tmp_path / name).write_bytes(text)
    assert almond(command, tmp_path / name).code == 0
    for wrong in (text + b"\0", text + b"\0,", text[:-1] + b"\0}", b"\0" + text, text.replace(b"1", b"1\0", 1)):
        (tmp_path / name).write_bytes(wrong)
        result = almond(command, tmp_path / name)
        assert result.code == 2 and f"has a NUL (at byte {wrong.index(0)})" in complaint(result)


def test_names_out_of_files_give_the_terminal_no_orders(almond, tmp_path):
    """Colours, cursors and lines of its own: a file could speak in the program's name."""
    name = "a\x1b[2Jb\r\nalmond: all is well\x7f\u009b1m\u202eé"
    shown = r"a\x1b[2Jb\x0d\x0aalmond: all is well\x7f\xc2\x9b1m\xe2\x80\xaeé"
    (tmp_path / "scene.json").write_text(json.dumps(
        {"almond_scene": 1, "name": name, "objects": [{"name": name, "shape": "sphere", "size": [0.1], "mass": 1}], "floor": -1}))
    for result in (almond("inspect", tmp_path / "scene.json"), almond("run", tmp_path / "scene.json", "--steps", 2)):
        assert result.code == 0 and shown in result.out and not re.search("[\x00-\x09\x0b-\x1f\x7f\x80-\x9f\u202e]", result.out + result.err)
