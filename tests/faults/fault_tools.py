"""What the tests of this folder share: the program, how much they look at, and a library that breaks what is around it."""

import collections
import functools
import os
import shutil
import subprocess
import tempfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PROGRAM = Path(os.environ.get("ALMOND_PROGRAM", ROOT / "build" / "almond"))
# `make faults` looks at every moment and byte, `make test` at some of them.
LONG = os.environ.get("ALMOND_FAULTS") == "long"
FAULTS = collections.Counter()  # made so far, by kind
needs_program = pytest.mark.skipif(not PROGRAM.exists(), reason=f"{PROGRAM} is not built")


def run(*words, **options):
    """Messages may quote what a damaged file holds."""
    words = [str(PROGRAM), *map(str, words)]
    return subprocess.run(words, capture_output=True, text=True, errors="replace", timeout=120, check=False, **options)


@functools.cache
def _shim():
    compiler = shutil.which("cc") or shutil.which("gcc")
    if compiler is None:
        return None
    folder = tempfile.TemporaryDirectory()
    library = Path(folder.name) / "shim.so"
    source = Path(__file__).parent / "shim.c"
    subprocess.run([compiler, "-shared", "-fPIC", "-O1", "-o", library, source, "-ldl"], check=True)
    return folder, library  # the folder goes with the interpreter


def broken(**rules):
    """The environment with shim.c preloaded, which these rules are for."""
    shim = _shim()
    if shim is None:
        pytest.skip("no C compiler here")
    return {**os.environ, "LD_PRELOAD": str(shim[1]), **rules}


@pytest.fixture(scope="module", autouse=True)
def tally(request):
    """Says at the end of a module what it went through."""
    before = FAULTS.copy()
    yield
    made = FAULTS - before
    capture = request.config.pluginmanager.get_plugin("capturemanager")
    if LONG and made and capture is not None:
        with capture.global_and_fixture_disabled():
            print("\nsurvived: " + ", ".join(f"{count} {kind}" for kind, count in made.items()), flush=True)
