"""What is installed from elsewhere: each package by one version and the hashes of its files, and nothing tells anybody to install a
name that is not ours."""

import re
import subprocess
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
LISTS = sorted((ROOT / "tools").glob("requirements*.in"))
NAME = r"[A-Za-z0-9][A-Za-z0-9._-]*"


def plain(name):
    return re.sub("[-_.]+", "-", name).lower()


def wanted(path):
    """Names of an .in file."""
    return {plain(re.match(NAME, line)[0]) for line in path.read_text().splitlines() if line and not line.startswith("#")}


def locked(path):
    """{name: [(version, marker, hashes)]} of a .txt file; every line is one of these."""
    found = {}
    for entry in path.read_text().replace("\\\n", " ").splitlines():
        match = re.fullmatch(rf"({NAME})==([^\s;]+)(?:\s*;\s*(.*?))?((?:\s+--hash=sha256:[0-9a-f]{{64}})+)\s*", entry)
        assert match, f"{path.name}: {entry[:80]!r} is not a version with hashes"
        found.setdefault(plain(match[1]), []).append((match[2], match[3], match[4].split()))
    return found


@pytest.mark.parametrize("path", LISTS, ids=lambda path: path.name)
def test_every_package_has_one_version_and_hashes(path):
    pins = locked(path.with_suffix(".txt"))
    assert wanted(path) <= set(pins)
    for name, versions in pins.items():
        assert len(versions) == 1 or all(marker for _, marker, _ in versions), name  # several only for different interpreters


def test_lists_agree():
    """What several lists name, they name in the same version: installing one does not undo another."""
    assert len(LISTS) == 4
    versions = {}
    for path in LISTS:
        for name, pins in locked(path.with_suffix(".txt")).items():
            for version, marker, hashes in pins:
                first = versions.setdefault((name, marker), (version, set(hashes)))
                assert first == (version, set(hashes)), (path.name, name)


def test_the_package_is_built_with_these_versions():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    pins = locked(ROOT / "tools/requirements.txt")
    for requirement in project["build-system"]["requires"]:
        name, version = re.fullmatch(rf"({NAME})==(\S+)", requirement).groups()
        assert [pin[0] for pin in pins[plain(name)]] == [version]
    for extra in project["project"]["optional-dependencies"]["mujoco"]:
        name, version = extra.split("==")
        assert pins[name][0][0] == version


def test_pip_is_told_to_look_at_the_hashes():
    installs = [line for line in (ROOT / "tools/setup").read_text().splitlines() if "pip install" in line and not line.lstrip().startswith("#")]
    assert installs and all("--require-hashes" in line for line in installs)


def test_no_list_names_a_host():
    for path in (ROOT / "tools").glob("requirements*"):
        assert not re.search(r"https?:|--index|--extra-index|--find-links|--trusted-host", path.read_text()), path.name


def tracked():
    listed = subprocess.run(["git", "ls-files", "-co", "--exclude-standard"], cwd=ROOT, capture_output=True, text=True, check=False)
    if listed.returncode != 0:
        pytest.skip("no git here: the files of the checkout are not known")
    return [ROOT / name for name in listed.stdout.splitlines() if not name.startswith("tools/requirements") and name != "viewer/package-lock.json"]


def test_nobody_is_told_to_install_a_name_of_ours():
    """The package is on no index: whoever takes the name there gets to run code. The one place that says how to get it is excepted."""
    for path in tracked():
        if not path.is_file() or path == Path(__file__) or path.suffix in (".png", ".woff2", ".npz", ".gz"):
            continue
        text = path.read_bytes().decode("utf-8", "replace")
        for match in re.finditer(r"(?:pip3? (?:install|download)|uv add|pipx install|\"pip\":)[^\n`]*", text):
            names = {plain(word) for word in re.findall(r"[\w./-]+", match[0].split("#")[0])} & {"almond", "almond-sim"}
            if path == ROOT / "docs/python.md" and "somebody else" in text[match.start() - 80 : match.end() + 80]:
                continue
            assert not names, f"{path.relative_to(ROOT)}: {match[0]}"


def test_how_to_get_it_is_said_for_the_interpreters_that_can():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    least = re.fullmatch(r">=(3\.\d+)", project["requires-python"])[1]
    for page in ("README.md", "docs/python.md", "docs/start.md"):
        assert f"Python {least} or later" in (ROOT / page).read_text(), page
    named = [re.search(r"3\.\d+$", c) for c in project["classifiers"] if "Python :: 3." in c]
    assert named and min(int(m[0].split(".")[1]) for m in named) == int(least.split(".")[1])
    assert f"find_package(Python {least} " in (ROOT / "python/CMakeLists.txt").read_text()
