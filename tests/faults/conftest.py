"""The program with something broken around it: a full disk, a death in the middle of writing, a clock that jumps."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PROGRAM = Path(os.environ.get("ALMOND_PROGRAM", ROOT / "build" / "almond"))
# `make faults` looks at every moment and byte, `make test` at some of them.
LONG = os.environ.get("ALMOND_FAULTS") == "long"


def run(*words, **options):
    return subprocess.run([str(PROGRAM), *map(str, words)], capture_output=True, text=True, timeout=120, **options)


@pytest.fixture(scope="session", autouse=True)
def program():
    if not PROGRAM.exists():
        pytest.skip(f"{PROGRAM} is not built")


@pytest.fixture(scope="session")
def shim(tmp_path_factory):
    """Environment that preloads shim.c; its rules are added by the tests."""
    compiler = shutil.which("cc") or shutil.which("gcc")
    if compiler is None:
        pytest.skip("no C compiler here")
    library = tmp_path_factory.mktemp("shim") / "shim.so"
    source = Path(__file__).parent / "shim.c"
    subprocess.run([compiler, "-shared", "-fPIC", "-O1", "-o", library, source, "-ldl"], check=True)

    def environment(**rules):
        return {**os.environ, "LD_PRELOAD": str(library), **rules}

    return environment
