"""The program with something broken around it: a full disk, a death in the middle of writing, a clock that jumps."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest
from fault_tools import PROGRAM


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
