"""`python -m almond`: the program that is built, inside the interpreter. Both say the same and end with the same code."""

import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PROGRAM = Path(os.environ.get("ALMOND_PROGRAM", ROOT / "build" / "almond"))
MODULE = [sys.executable, "-m", "almond"]


def run(command, *words, **options):
    return subprocess.run([*map(str, command), *words], capture_output=True, text=True, timeout=120, **options)


@pytest.mark.parametrize("words", [[], ["--help"], ["--version"], ["scenes"], ["run", "--help"], ["nonsense"], ["run", "tower", "--nonsense"], ["run", "nowhere.urdf"], ["solve", "nowhere.npz"],
                                   ["bench"], ["inspect", "/dev/null"], ["\udcff"]])
def test_module_is_the_program(words):
    if not PROGRAM.exists():
        pytest.skip(f"{PROGRAM} is not built")
    own, module = run([PROGRAM], *words), run(MODULE, *words)
    assert (module.returncode, module.stderr) == (own.returncode, own.stderr)
    assert module.stdout == own.stdout


def test_it_runs_scenes(tmp_path):
    done = run(MODULE, "run", "ball", "--steps", "50", "--json", "-", cwd=tmp_path)
    assert done.returncode == 0 and '"scene"' in done.stdout, done.stderr


def test_it_ends_as_programs_do():
    """Ctrl-C ends it at once, and so does a reader who has seen enough; without a word of Python's."""
    process = subprocess.Popen([*MODULE, "view", "tower", "--no-browser"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    address = process.stdout.readline()
    process.send_signal(signal.SIGINT)
    said = process.communicate(timeout=60)[1]
    assert "Traceback" not in said and (address.startswith("http://127.0.0.1:") or "built without its web page" in said)
    line = f"{sys.executable} -m almond scenes | head -n 1"
    done = subprocess.run(line, shell=True, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0 and done.stderr == "" and len(done.stdout.splitlines()) == 1


def test_its_scripts_come_along():
    """`almond bench` starts them in other interpreters."""
    import almond

    folder = Path(almond.__file__).parent / "bench"
    assert {path.name for path in folder.glob("*.py")} == {path.name for path in (ROOT / "bench").glob("*.py")}


def test_the_command_is_named_in_the_metadata():
    text = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    assert re.search(r'^\[project\.scripts\]\nalmond = "almond\.__main__:main"$', text, re.M)
