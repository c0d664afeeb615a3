"""Two compiled modules in one package: the one for CPUs without AVX2 is taken where it has to be, and by nobody else."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import almond
import pytest
from almond import _cpu

PACKAGE = Path(almond.__file__).parent
MODULE = Path(almond._core.__file__)


def cpuinfo(*left_out):
    flags = [flag for flag in ("fpu", "sse2", *_cpu.NEEDED) if flag not in left_out]
    return f"processor\t: 0\nflags\t\t: {' '.join(flags)}\nbugs\t\t: avx2 is no bug\n"


def test_a_cpu_is_judged_by_its_flags():
    assert _cpu.missing(cpuinfo()) == []
    assert _cpu.missing(cpuinfo("avx2", "fma")) == ["avx2", "fma"]
    assert _cpu.missing("") == []  # another system: no telling
    assert _cpu.missing("processor : 0\nFeatures : asimd\n") == []  # ARM


@pytest.fixture(scope="module")
def two_modules(tmp_path_factory):
    """The package with a second copy of its module where a wheel has the portable one."""
    folder = tmp_path_factory.mktemp("package")
    package = folder / "almond"
    shutil.copytree(PACKAGE, package, ignore=shutil.ignore_patterns("__pycache__", "_core.*", "portable"))
    (package / "portable").mkdir()
    for where in (package, package / "portable"):
        os.symlink(MODULE, where / MODULE.name)
    return folder


def import_there(folder, **env):
    code = "import almond, sys; print(almond._core.__file__); print(almond.load('slide').step(10).solved, sys.modules['almond._core'] is almond._core)"
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=folder, env={**os.environ, "PYTHONPATH": str(folder), **env})


def test_the_quick_module_is_the_default(two_modules):
    result = import_there(two_modules)
    assert result.returncode == 0, result.stderr
    expected = two_modules / "almond" / ("portable" if _cpu.missing(Path("/proc/cpuinfo").read_text()) else "") / MODULE.name
    assert result.stdout.split() == [str(expected), "True", "True"]


def test_the_portable_module_can_be_asked_for(two_modules):
    result = import_there(two_modules, ALMOND_CPU="portable")
    assert result.returncode == 0, result.stderr
    assert result.stdout.split() == [str(two_modules / "almond/portable" / MODULE.name), "True", "True"]


def test_an_unknown_wish_is_refused(two_modules):
    result = import_there(two_modules, ALMOND_CPU="sse4")
    assert result.returncode != 0
    assert "ALMOND_CPU is 'sse4', expected portable" in result.stderr
