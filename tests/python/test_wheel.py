"""The wheel in an empty environment: it runs the README's lines there, takes nothing from the system but what every Linux has,
brings types that a checker believes, and is not large. Made of the module under test (tools/wheel --built), so that nothing is
compiled twice; the same tool makes the wheel of a release."""

import importlib.util
import os
import re
import subprocess
import sys
import venv
import zipfile
from pathlib import Path

import almond
import pytest

ROOT = Path(__file__).resolve().parents[2]
BUILD = Path(almond.__file__).resolve().parents[2]
README_LINES = re.search(r"```python\n(.*?)```", (ROOT / "README.md").read_text(encoding="utf-8"), re.S).group(1)


def run(*command, **options):
    result = subprocess.run([str(c) for c in command], capture_output=True, text=True, **options)
    assert result.returncode == 0, f"{command}\n{result.stdout}\n{result.stderr}"
    return result.stdout


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    missing = [name for name in ("auditwheel", "scikit_build_core") if importlib.util.find_spec(name) is None]
    if missing:
        pytest.skip(f"{', '.join(missing)} not installed: no wheel is made")
    if not (BUILD / "CMakeCache.txt").exists():
        pytest.skip(f"almond is installed in {BUILD}, expected a build folder to make a wheel of")
    out = tmp_path_factory.mktemp("wheel")
    run(ROOT / "tools/wheel", "--built", BUILD, out, env={**os.environ, "PYTHON": sys.executable})
    (wheel,) = out.glob("*.whl")
    return wheel


@pytest.fixture(scope="module")
def python(wheel, tmp_path_factory):
    """The interpreter of an environment with the wheel and NumPy, and nothing else."""
    folder = tmp_path_factory.mktemp("empty")
    venv.create(folder, with_pip=True)
    pip = [folder / "bin/python", "-m", "pip", "install", "-q", "--disable-pip-version-check"]
    numpy = subprocess.run([*pip, "--retries", "1", "numpy"], capture_output=True, text=True)
    if numpy.returncode != 0:
        pytest.skip(f"no package index within reach, so no NumPy in an empty environment: {numpy.stderr.strip().splitlines()[-1:]}")
    run(*pip, "--no-index", wheel)
    return folder / "bin/python"


def run_there(python, code, folder):
    """In a process that knows nothing of this one: no PYTHONPATH, another folder."""
    script = folder / "script.py"
    script.write_text(code)
    return run(python, script, cwd=folder, env={"HOME": str(folder), "ALMOND_CACHE_DIR": "off"})


def test_readme_lines_run_from_the_wheel(python, tmp_path):
    assert len([line for line in README_LINES.splitlines() if line.strip()]) == 10
    checks = """
assert report.solved and report.contacts >= 40 and sim.certificate.residual < 1e-8
# The block slips: friction is at its limit, mu m g dt, against the motion.
assert np.allclose(solution.impulses, [-0.5 * mass * 9.81 * dt, 0, mass * 9.81 * dt], rtol=0, atol=1e-8)
print(almond.__file__)
"""
    where = run_there(python, README_LINES + checks, tmp_path).splitlines()[-1]
    assert Path(where).is_relative_to(Path(python).parents[1])


def test_import_loads_little(python, tmp_path):
    """No package beside the standard library, and no shared library of the system but what every Linux has."""
    code = """
import sys

def loaded():
    return {line.split()[-1] for line in open("/proc/self/maps") if ".so" in line.split()[-1]}

modules, libraries = set(sys.modules), loaded()
import almond
print(*{name.split(".")[0] for name in set(sys.modules) - modules} - set(sys.stdlib_module_names))
almond.load("ball")
print(*loaded() - libraries, sep="\\n")
"""
    packages, *libraries = run_there(python, code, tmp_path).splitlines()
    assert packages.split() == ["almond"]
    installed = Path(python).parents[1]
    ours = [Path(path).name for path in libraries if Path(path).is_relative_to(installed)]
    assert any(name.startswith("_core") for name in ours)
    everywhere = ("libc.", "libm.", "libdl.", "librt.", "libpthread.", "libresolv.", "libgcc_s.", "libstdc++.", "libz.")
    others = [path for path in libraries if not Path(path).is_relative_to(installed) and "lib-dynload" not in path]
    assert [path for path in others if not Path(path).name.startswith(everywhere)] == []


def test_wheel_is_small_and_tagged(wheel):
    assert wheel.stat().st_size <= 30e6
    _, _, _, abi, platform = wheel.stem.split("-")
    assert abi == ("abi3" if sys.version_info >= (3, 12) else f"cp{sys.version_info.major}{sys.version_info.minor}")
    assert platform.startswith("manylinux_")  # auditwheel's word that nothing else of the system is needed


USER_SCRIPT = """
from typing import assert_type
import almond
import numpy as np
from numpy.typing import NDArray

sim = almond.load("tower", dt=1 / 480)
assert_type(sim, almond.Simulation)
assert_type(sim.step(10), almond.StepReport)
assert_type(sim.q, NDArray[np.float64])
assert_type(sim.report.residual, float)
sim.q[0] += 0.1
sim.v = np.zeros(sim.model.num_v)
sim.set_control({"joint": 1.0})
solution = almond.solve(np.eye(3), np.zeros(3), np.eye(3), np.zeros(3), [0.5], solver="canal", tol=1e-9)
assert_type(solution.certificate, almond.Certificate)
assert_type(solution.certificate.modes, list[str])
builder = almond.ModelBuilder("two")
builder.add_solid("ball", almond.Sphere(0.1), mass=1.0, position=[0, 0, 1])
assert_type(almond.Batch(builder.build(), 4).body_poses("ball"), NDArray[np.float64])
"""
MISTAKES = ["sim.stepp()", 'sim.step("ten")', "sim.report.residual = 0.0", "almond.load()", "solution.impulses.shape.nothing"]


def test_types_are_in_the_wheel(python, tmp_path):
    if importlib.util.find_spec("mypy") is None:
        pytest.skip("mypy not installed: types are not checked")

    def check(code):
        (tmp_path / "user.py").write_text(code)
        command = [sys.executable, "-m", "mypy", "--strict", "--python-executable", str(python), "user.py"]
        return subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, env={"PATH": os.environ["PATH"]}).stdout

    assert "Success" in check(USER_SCRIPT), check(USER_SCRIPT)
    found = check(USER_SCRIPT + "\n".join(MISTAKES) + "\n")
    first = len(USER_SCRIPT.splitlines()) + 1
    assert [int(line) for line in re.findall(r"user\.py:(\d+): error", found)] == list(range(first, first + len(MISTAKES))), found


# A few words of each licence, by what it is for: shared libraries as auditwheel names them, and what is compiled in.
LICENCES = {
    "libqhull_r": "Geometry Center",
    "liburdfdom_model": "Willow Garage",
    "libconsole_bridge": "Willow Garage",
    "libtinyxml": "Lee Thomason",
    "libcpp-httplib": "Yuji Hirose",
    "libssl": "Apache License",
    "libcrypto": "Apache License",
    "libbrotlicommon": "Brotli Authors",
    "libbrotlidec": "Brotli Authors",
    "libbrotlienc": "Brotli Authors",
    "Eigen": "Covered Software",
    "nlohmann-json": "Niels Lohmann",
    "CLI11": "University of Cincinnati",
    "cpp-httplib": "Yuji Hirose",
    "HDF5": "The HDF Group",
    "libaec": "Redistribution and use in source and binary forms",
    "nanobind": "Wenzel Jakob",
    "three.js": "The above copyright notice and this permission notice shall be included",
}
PERMISSION = re.compile(r"permi(tted|ssion)|grant(s|ed)|freely copied|Apache License", re.I)


def test_licences_of_all_that_is_inside_are_inside(wheel):
    """Of each shared library, and of all that is compiled in; and none of them reads from networks but the server of the live page."""
    with zipfile.ZipFile(wheel) as file:
        names = file.namelist()
        (info,) = {name.split("/")[0] for name in names if ".dist-info/" in name}
        inside = {Path(name).stem: file.read(name).decode() for name in names if name.endswith(".txt") and "/third-party/" in name}
        metadata, record = file.read(f"{info}/METADATA").decode(), file.read(f"{info}/RECORD").decode()
        assert f"{info}/licenses/LICENSE" in names
    libraries = {re.split(r"-[0-9a-f]{8}|\.so", Path(name).name)[0] for name in names if ".libs/lib" in name}
    assert libraries <= set(LICENCES), "a library that nobody knows of: what is it for, and may it be passed on?"
    assert len(libraries) <= 12 and not [name for name in libraries if re.search("curl|ssh|krb|ldap|rtmp|gnutls|sasl|hdf5", name)]
    for name in libraries | (set(LICENCES) - {name for name in LICENCES if name.startswith("lib") and name != "libaec"}):
        assert LICENCES[name] in inside[name] and PERMISSION.search(inside[name]), name
    for name in inside:
        assert f"License-File: third-party/{name}.txt" in metadata and f"{info}/licenses/third-party/{name}.txt,sha256=" in record
    assert "Tessil" in inside["nanobind"] or "Thibaut Goetghebuer" in inside["nanobind"]


def test_the_wheel_names_nothing_of_the_machine_that_built_it(wheel):
    """Beside the compiler's own notes of where files of the build were, which are of no use to anybody else."""
    with zipfile.ZipFile(wheel) as file:
        text = b"".join(file.read(name) for name in file.namelist() if name.endswith((".py", ".pyi", ".txt", "METADATA")))
    assert str(ROOT).encode() not in text


def test_the_command_runs_from_the_wheel(python, tmp_path):
    """Its scripts come along, and it is the module's program."""
    for command in ([python.parent / "almond"], [python, "-m", "almond"]):
        assert "tower" in run(*command, "scenes", cwd=tmp_path, env={"HOME": str(tmp_path)})
        done = run(*command, "run", "ball", "--steps", "20", "--json", "-", cwd=tmp_path, env={"HOME": str(tmp_path)})
        assert '"scene"' in done
    assert (python.parent.parent / "lib" / f"python{sys.version_info.major}.{sys.version_info.minor}" / "site-packages/almond/bench/peers_common.py").exists()


def test_every_extra_is_known():
    """`pip install ".[...]"`: the names that the documentation uses."""
    text = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    extras = re.findall(r"^(\w+) = \[", text.split("[project.optional-dependencies]")[1].split("\n[")[0], re.M)
    assert {"viewer", "mujoco", "gym", "bench", "ray"} <= set(extras)
    pages = "".join(page.read_text(encoding="utf-8") for page in [*(ROOT / "docs").glob("*.md"), *(ROOT / "docs/notebooks").glob("*.ipynb")])
    named = re.findall(r"\.(?:whl)?\[([\w,]+)\]", pages) + re.findall(r"extra `(\w+)`", pages)
    assert len(named) >= 6 and {n for names in named for n in names.split(",")} <= set(extras)


def test_tool_refuses_wrong_arguments():
    for arguments in ([], ["--built", "build"], ["a", "b"]):
        result = subprocess.run([ROOT / "tools/wheel", *arguments], capture_output=True, text=True)
        assert result.returncode == 2 and "expected" in result.stderr
