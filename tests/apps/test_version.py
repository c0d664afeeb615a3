"""The program names the commit it was built from: what git says of a clone, nothing elsewhere, and no build for no news."""

import json
import os
import re
import shutil
import subprocess

import numpy as np
import pytest

from conftest import ROOT, sliding_point

needs_git = pytest.mark.skipif(shutil.which("git") is None or shutil.which("cmake") is None, reason="no git or no cmake")


# Neither the settings of who runs the tests, nor the repository that a hook of git runs them for.
ALONE = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")} | {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1"}


def git(folder, *words):
    person = ["-c", "user.name=a", "-c", "user.email=a@example.org", "-c", "init.defaultBranch=main"]
    return subprocess.run(["git", *person, "-C", folder, *words], capture_output=True, text=True, check=True, env=ALONE).stdout.strip()


def write_commit(source, file):
    """What the build writes for a source folder."""
    words = [f"-DSOURCE={source}", f"-DTEMPLATE={ROOT}/bench/commit.cpp.in", f"-DFILE={file}"]
    done = subprocess.run(["cmake", *words, "-P", ROOT / "cmake/WriteCommit.cmake"], capture_output=True, text=True, check=True, env=ALONE)
    assert done.stderr == ""
    return re.search(r'return "(.*)";', file.read_text())[1]


@pytest.fixture
def clone(tmp_path):
    source = tmp_path / "clone"
    source.mkdir()
    (source / "code.cpp").write_text("int main() {}\n")
    git(source, "init", "-q")
    git(source, "add", "code.cpp")
    git(source, "commit", "-q", "-m", "first")
    return source


def test_version_is_a_version_and_a_commit(almond):
    result = almond("--version")
    assert result.code == 0 and re.fullmatch(r"almond \d+\.\d+\.\d+( \([0-9a-f]{7,40}\+?\))?\n", result.out), result.out


def test_benchmarks_name_the_same_commit(almond, tmp_path):
    np.savez(tmp_path / "slides.npz", **sliding_point())
    result = almond("bench", "fclib", tmp_path, "--quick", "--files-only", "--budget-ms", 20, "--solver", "pgs", "--peers", "none", "--json", "-")
    named = re.search(r"\((.*)\)", almond("--version").out)
    assert json.loads(result.out)["facts"]["commit"] == (named[1] if named else "not known")


@needs_git
def test_commit_is_what_git_says(clone, tmp_path):
    file = tmp_path / "commit.cpp"
    head = git(clone, "rev-parse", "HEAD")
    assert write_commit(clone, file) == head[:7]
    git(clone, "tag", "-a", "v9.9.9", "-m", "a tag is no commit")
    (clone / "notes.txt").write_text("git does not know this file: it was not asked to\n")
    assert write_commit(clone, file) == head[:7]
    (clone / "code.cpp").write_text("int main() { return 1; }\n")
    assert write_commit(clone, file) == head[:7] + "+"
    git(clone, "commit", "-q", "-a", "-m", "second")
    assert write_commit(clone, file) == git(clone, "rev-parse", "HEAD")[:7] != head[:7]


@needs_git
def test_no_news_touch_no_file(clone, tmp_path):
    file = tmp_path / "commit.cpp"
    write_commit(clone, file)
    os.utime(file, (1, 1))
    write_commit(clone, file)
    assert file.stat().st_mtime == 1


@needs_git
def test_a_folder_that_is_no_clone_has_no_commit(clone, tmp_path):
    """Also not that of a clone around it, into which somebody unpacked the sources; nor one that git cannot read."""
    inner = clone / "unpacked"
    inner.mkdir()
    assert write_commit(inner, tmp_path / "inner.cpp") == ""
    (inner / ".git").write_text("gitdir: nowhere\n")
    assert write_commit(inner, tmp_path / "broken.cpp") == ""
