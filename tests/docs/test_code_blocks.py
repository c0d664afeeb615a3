"""Every code block of the documentation does what it says: Python runs, C++ compiles, commands have the options that the program
knows, targets of make exist, JSON and XML are what the readers accept. A block of a kind that is not checked is an error."""

import importlib.util
import json
import os
import re
import shlex
import shutil
import subprocess
import xml.etree.ElementTree
from pathlib import Path

import pytest
from blocks import PAGES, ROOT, all_blocks, blocks_of, commands_of

PROGRAM = Path(os.environ.get("ALMOND_PROGRAM", ROOT / "build" / "almond"))
# Packages that a page may need and the package does not.
OPTIONAL = {"almond", "mujoco", "pinocchio", "gymnasium", "ray", "torch", "matplotlib", "scipy", "stable_baselines3"}
# Commands of a page whose files its Python reads.
RUNS = {"docs/formats.md": ["run", "ball", "--trajectory", "way.npz"]}


def test_every_kind_of_block_is_checked_here():
    kinds = {block.kind for page in PAGES for block in blocks_of(page)}
    # cmake: tests/install; console: what a program printed.
    assert kinds <= {"", "sh", "python", "cpp", "json", "xml", "cmake", "console"}
    assert {"sh", "python", "cpp", "json", "xml"} <= kinds


@pytest.mark.parametrize("page", [p for p in PAGES if any(b.kind == "python" for b in blocks_of(p))], ids=lambda p: p.name)
def test_python_runs(page, tmp_path, monkeypatch):
    if importlib.util.find_spec("almond") is None:
        pytest.skip("the package almond is not built: make python")
    monkeypatch.chdir(tmp_path)
    if command := RUNS.get(str(page.relative_to(ROOT))):
        assert command in [words for _, words in commands_of(page)]
        if not PROGRAM.exists():
            pytest.skip(f"{PROGRAM} is not built")
        subprocess.run([PROGRAM, *command], check=True, capture_output=True)
    space, left_out = {"__name__": "page"}, []
    for block in blocks_of(page):
        if block.kind != "python":
            continue
        if block.not_run:
            left_out.append(f"{block}: {block.not_run}")
            continue
        try:
            # Line numbers of a traceback are those of the page.
            exec(compile("\n" * (block.line - 1) + block.code, str(page), "exec"), space)
        except ModuleNotFoundError as error:
            if error.name.split(".")[0] not in OPTIONAL:
                raise
            left_out.append(f"{block}: {error.name} is not installed")
    if left_out:
        pytest.skip("; ".join(left_out))


# What C++ blocks suppose to be there, by page.
CPP_GIVEN = {
    "README.md": "const std::string file;",
    "docs/tasks.md": """
using namespace almond;
Simulation& sim = *static_cast<Simulation*>(nullptr);
const Model& model = sim.model();
const VecX q; const std::vector<int> joints; const int hand = 0; const Pose X_HF, X_WF;
const auto move = [](Simulation&, double) {}; const auto push = move;
const auto pressed = [](Simulation&, double) { return Check{"force_N", 11.0, 10.0}; };
const Arm arm; const Gripper gripper; const int cube = 0; const double kQuarter = 1.5707963;
const auto at = [](double, double z) { return make_translation(0.5, 0.0, z); };
const auto standing = [](Simulation&) { return std::vector<Check>{{"height_mm", 20.5, 20.0, 21.0}}; };
""",
}


def test_cpp_compiles(tmp_path):
    compiler = os.environ.get("CXX") or shutil.which("c++")
    if compiler is None:
        pytest.skip("no C++ compiler")
    (tmp_path / "almond").mkdir()
    (tmp_path / "almond/scenes").symlink_to(ROOT / "scenes")  # as installed
    includes, functions = ["#include <cstdio>", "#include <string>", "#include <vector>"], []
    for number, block in enumerate(all_blocks("cpp")):
        lines = block.code.splitlines()
        includes += [line for line in lines if line.startswith("#include")]
        code = "\n".join("" if line.startswith("#include") else line for line in lines)
        place = f'#line {block.line} "{block.page}"\n'
        if "int main()" in code:
            functions.append(f"namespace block{number} {{\n{place}{code.replace('int main()', 'void run()')}\n}}\n")
        else:
            given = CPP_GIVEN.get(str(block.page.relative_to(ROOT)), "")
            functions.append(f"void block{number}() {{\n{given}\n{place}{code}\n}}\n")
    assert len(functions) >= 5
    source = tmp_path / "blocks.cpp"
    source.write_text("\n".join(['#include "almond/almond.hpp"', *dict.fromkeys(includes), *functions]))
    eigen = next(p for p in ("/usr/include/eigen3", "/usr/local/include/eigen3", "/opt/homebrew/include/eigen3") if Path(p).exists())
    command = [*shlex.split(compiler), "-std=c++20", "-fsyntax-only", f"-I{ROOT}/src", f"-I{ROOT}", f"-I{tmp_path}", f"-isystem{eigen}", source]
    result = subprocess.run(command, capture_output=True, text=True)
    assert result.returncode == 0, result.stderr[:4000]


def test_the_example_of_tasks_is_the_one_that_is_built():
    """Its block is a part of the program, line by line; the program has 60 lines."""
    program = (ROOT / "examples/pick/pick.cpp").read_text(encoding="utf-8")
    blocks = [block.code for block in blocks_of(ROOT / "docs/tasks.md") if "move_hand(" in block.code]
    assert len(blocks) == 1 and "\n".join("  " + line for line in blocks[0].splitlines()) in program
    assert len(program.splitlines()) <= 60


def help_of(*command):
    if not PROGRAM.exists():
        pytest.skip(f"{PROGRAM} is not built")
    result = subprocess.run([PROGRAM, *command, "--help"], capture_output=True, text=True)
    return result.returncode, result.stdout, result.stderr


@pytest.fixture(scope="module")
def options():
    """{subcommand: {option: whether it takes a value}}, from the program itself."""
    subcommands = re.findall(r"^  ([a-z]+) +", help_of()[1].split("Subcommands:")[1], re.M)
    table = {}
    for name in subcommands:
        lines = re.findall(r"^  (?:-\w,)?(--[a-z-]+)( [A-Z]+)?", help_of(name)[1], re.M)
        table[name] = {option: bool(value) for option, value in lines}
    assert {"run", "solve", "bench", "view", "compare"} <= set(table) and table["run"]["--dt"] and not table["run"]["--hold"]
    return table


@pytest.mark.parametrize("page", [p for p in PAGES if commands_of(p)], ids=lambda p: p.name)
def test_commands_have_the_program_s_options(page, options):
    wrong = []
    for line, (name, *words) in commands_of(page):
        place = f"{page.name}:{line}: almond {name} {' '.join(words)}"
        if re.fullmatch(r"[A-Z]+|--help|--version", name):
            continue
        if name not in options:
            wrong.append(f"{place}: no such command")
            continue
        used = re.findall(r"(?<!\S)\[?(--[a-z-]+)", " ".join(words))
        wrong += [f"{place}: {option}" for option in used if option not in options[name]]
        # Values are read before the help is given: numbers must be numbers. Not where letters stand for them.
        if not re.search(r"[\[\]|$]|\.\.\.|(?<!\S)[A-Z]+(?!\S)", " ".join(words)):
            code, _, error = help_of(name, *shlex.split(" ".join(words)))
            if code != 0:
                wrong.append(f"{place}: {error.strip()}")
    assert wrong == []


def test_every_option_is_documented(options):
    text = (ROOT / "docs/commands.md").read_text(encoding="utf-8")
    for command, known in options.items():
        assert f"almond {command}" in text
        assert [option for option in known if option != "--help" and option not in text] == [], command


def scene_runs():
    """Commands that run a scene of the program, from all pages: each is worth a step."""
    runs = {}
    for page in PAGES:
        for line, (name, *words) in commands_of(page):
            if name == "run" and words and re.fullmatch(r"[a-z_]+", words[0]) and not re.search(r"[\[\]$]|=$", " ".join(words)):
                runs.setdefault(" ".join(words), f"{page.name}:{line}")
    return runs


DRAWS = {"--png", "--video", "--replay", "--size", "--camera", "--picture-time", "--video-speed", "--video-begin", "--video-end"}


def test_documented_scenes_run(options, tmp_path):
    """One step each, without pictures: scenes, parameters and settings are those that the program has."""
    seen = set()
    for command, place in scene_runs().items():
        words, kept = iter(shlex.split(command)), []
        for word in words:
            if word in DRAWS or word in ("--steps", "--dump-problem"):
                next(words)
            elif word != "--show-contacts":
                kept.append(word)
        if tuple(kept) in seen:
            continue
        seen.add(tuple(kept))
        result = subprocess.run([PROGRAM, "run", *kept, "--steps", "1"], cwd=tmp_path, capture_output=True, text=True)
        needs_robots = "example-robot-data" in result.stderr
        assert result.returncode == 0 or needs_robots, f"{place}: almond run {command}\n{result.stderr}"
    assert len(seen) >= 8


def test_shell_lines_name_what_exists():
    targets = re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.M)
    known = ("almond", "build/almond", "make", "cmake", "python", "pip", "npm", "PYTHONPATH")
    for block in all_blocks("sh"):
        for line in block.code.splitlines():
            words = re.sub(r"\s#.*", "", line).split()
            if not words or words[0].startswith("#"):
                continue
            assert words[0].startswith(known), f"{block}: {line}"
            if words[0] == "make":
                assert words[1] in targets, f"{block}: {line}"
            if words[0].startswith("python") and words[1].startswith("tools/"):
                assert (ROOT / words[1]).exists(), f"{block}: {line}"


@pytest.mark.parametrize("block", all_blocks("json"), ids=str)
def test_json_is_accepted(block, tmp_path):
    data = json.loads(block.code)
    almond = pytest.importorskip("almond", reason="make python builds the package that reads it")
    if "almond_scene" not in data and "kind" not in data:
        data = {"almond_scene": 1, "objects": data}  # objects of a scene
    if "kind" in data:
        assert almond.Sdf(data).kind == "signed distance"
    elif "robots" not in data:  # robots are files of the reader's
        (tmp_path / "scene.json").write_text(json.dumps(data))
        assert almond.load(tmp_path / "scene.json").step().solved


@pytest.mark.parametrize("block", all_blocks("xml"), ids=str)
def test_xml_is_accepted(block, tmp_path):
    text = f"<mujoco>{block.code}</mujoco>"
    assert len(xml.etree.ElementTree.fromstring(text)) >= 1
    almond = pytest.importorskip("almond", reason="make python builds the package that reads it")
    if not almond._core.have_mujoco():
        pytest.skip("MuJoCo's library is not there")
    (tmp_path / "scene.xml").write_text(text)
    assert almond.load(tmp_path / "scene.xml").model.num_bodies == 1
