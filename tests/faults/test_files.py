"""Proves that whatever happens while a file is written, the earlier one survives, what is partial is refused when read, and
the failure is told in one line. Every write of every kind of output is struck, one after the other."""

import resource
import shutil
import signal
import subprocess

import numpy as np
import pytest
from fault_tools import FAULTS, LONG, PROGRAM, broken, needs_program, run, tally  # noqa: F401

pytestmark = needs_program

OUTPUTS = {
    "json": ["--json", "out.json"],
    "trajectory": ["--trajectory", "out.npz"],
    "state": ["--save-state", "out.state"],
    "mjcf": ["--write-mjcf", "out.xml"],
    "replay": ["--replay", "out.html"],
    "npz": ["--dump-problem", "2=out.npz"],
    "problem": ["--dump-problem", "2=out.json"],
    "hdf5": ["--dump-problem", "2=out.hdf5"],
}
SHORT = ["run", "tower", "--steps", "6"]


def made(tmp_path, kind):
    """An output of a run of its own, and the words that make it; skips what this build cannot write."""
    words = SHORT + OUTPUTS[kind]
    done = run(*words, cwd=tmp_path)
    if done.returncode != 0:
        pytest.skip(done.stderr.strip())
    (path,) = tmp_path.glob("out.*")
    return path, words


@pytest.mark.parametrize("kind", OUTPUTS)
def test_disk_that_is_full_at_any_write(kind, tmp_path):
    path, words = made(tmp_path, kind)
    path.write_bytes(b"earlier")
    for count in range(1, 2000 if LONG else 4):
        done = run(*words, cwd=tmp_path, env=broken(FAULT_WRITE=f"full:{count}", FAULT_FILE=path.name))
        if done.returncode == 0:
            assert count > 1, "nothing was struck"
            break
        FAULTS["full disks"] += 1
        assert done.returncode in (1, 2), (count, done.returncode, done.stderr)
        assert path.name in done.stderr.splitlines()[-1]
        assert path.read_bytes() == b"earlier" and [f.name for f in tmp_path.iterdir()] == [path.name]
    path.write_bytes(b"earlier")
    done = run(*words, cwd=tmp_path, env=broken(FAULT_RENAME="full", FAULT_FILE=path.name))
    FAULTS["full disks"] += 1
    assert done.returncode in (1, 2) and path.name in done.stderr.splitlines()[-1]
    assert path.read_bytes() == b"earlier" and [f.name for f in tmp_path.iterdir()] == [path.name]


@pytest.mark.parametrize("kind", OUTPUTS)
def test_killed_at_any_write(kind, tmp_path):
    path, words = made(tmp_path, kind)
    path.write_bytes(b"earlier")
    rules = [{"FAULT_RENAME": "kill"}] + [{"FAULT_WRITE": f"kill:{n}"} for n in range(1, 2000 if LONG else 3)]
    for rule in rules:
        done = run(*words, cwd=tmp_path, env=broken(**rule, FAULT_FILE=path.name))
        if done.returncode == 0:
            break
        FAULTS["deaths"] += 1
        assert done.returncode == -signal.SIGKILL
        assert path.read_bytes() == b"earlier"
        for partial in tmp_path.glob("*.part*"):  # what is left has another name
            partial.unlink()
    done = run(*words, cwd=tmp_path)  # and nothing stands in the way of the next run
    assert done.returncode == 0 and path.read_bytes() != b"earlier"


def test_device_that_is_full():
    done = run(*SHORT, "--json", "/dev/full")
    assert done.returncode in (1, 2) and "/dev/full" in done.stderr
    with open("/dev/full", "w", encoding="utf-8") as full:
        done = subprocess.run([str(PROGRAM), *SHORT], stdout=full, stderr=subprocess.PIPE, text=True, timeout=60)
    assert done.returncode == 1 and "standard output" in done.stderr


@pytest.mark.parametrize("kind", OUTPUTS)
def test_folder_that_cannot_be_written_is_told_before_the_work(kind, tmp_path):
    words = [word.replace("out.", "/proc/out.") for word in OUTPUTS[kind]]
    done = run("run", "tower", "--steps", "1000000000", *words, cwd=tmp_path)  # would take hours
    FAULTS["folders that cannot be written"] += 1
    assert done.returncode == 2 and "/proc" in done.stderr and done.stderr.count("\n") == 1


def readers(tmp_path, kind, path):
    """The command that reads an output of this kind."""
    if kind == "state":
        return ["run", "tower", "--steps", "1", "--load-state", path]
    if kind == "replay":
        return ["compare", path, path, "--replay", tmp_path / "both.html"]
    if kind == "mjcf":
        return ["inspect", path]
    return ["solve", path]


@pytest.mark.parametrize("kind", OUTPUTS)
def test_files_that_may_not_grow(kind, tmp_path):
    """`ulimit -f` ends most programs without a word."""
    path, words = made(tmp_path, kind)
    path.write_bytes(b"earlier")
    done = run(*words, cwd=tmp_path, preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (600, 600)))
    FAULTS["limits of size"] += 1
    assert done.returncode == 1 or done.returncode == 2, (done.returncode, done.stderr)
    assert path.read_bytes() == b"earlier" and done.stderr.count("\n") >= 1 and "out." in done.stderr
    assert list(tmp_path.iterdir()) == [path]


READ = ["state", "replay", "mjcf", "npz", "problem", "hdf5"]


@pytest.mark.parametrize("kind", READ)
def test_truncated_files_are_refused(kind, tmp_path):
    path, _ = made(tmp_path, kind)
    whole = path.read_bytes()
    words = readers(tmp_path, kind, path)
    assert run(*words).returncode in (0, 1)
    lengths = np.unique(np.linspace(0, len(whole) - 2, 60 if LONG else 6).astype(int))
    if kind == "replay":  # behind its data a page has no more than its own script
        data = whole.index(b"</script>", whole.index(b"application/x-almond-replay"))
        lengths = np.unique(np.linspace(0, data, len(lengths)).astype(int))
    for length in lengths:
        path.write_bytes(whole[:length])
        done = run(*words)
        FAULTS["truncated files"] += 1
        assert done.returncode == 2 and path.name in done.stderr, (length, done.returncode, done.stderr)
        assert done.stderr.count("\n") == 1


@pytest.mark.parametrize("kind", READ)
def test_flipped_bits_never_end_the_program(kind, tmp_path):
    path, _ = made(tmp_path, kind)
    whole = path.read_bytes()
    words = readers(tmp_path, kind, path)
    random = np.random.default_rng(7)
    refused = 0
    for _ in range(400 if LONG else 12):
        bytes_ = bytearray(whole)
        bytes_[random.integers(len(whole))] ^= 1 << random.integers(8)
        path.write_bytes(bytes_)
        done = run(*words)
        FAULTS["flipped bits"] += 1
        assert done.returncode in (0, 1, 2), (done.returncode, done.stderr)
        refused += done.returncode == 2
        if kind == "state":
            assert done.returncode == 2 and "state" in done.stderr, "a state has a checksum"
    if kind in ("state", "npz"):
        assert refused > 0


def test_killed_state_is_recognised(tmp_path):
    """What a death leaves of a large state is no state."""
    words = ["run", "spheres", "--set", "count=300", "--steps", "1", "--save-state", "out.state"]
    assert run(*words, cwd=tmp_path).returncode == 0
    size = (tmp_path / "out.state").stat().st_size
    for count in (1, 2, 3):
        done = run(*words, cwd=tmp_path, env=broken(FAULT_WRITE=f"kill:{count}", FAULT_FILE="out.state"))
        if done.returncode == 0:
            break
        FAULTS["deaths"] += 1
        assert (tmp_path / "out.state").stat().st_size == size
        for partial in tmp_path.glob("*.part*"):
            if partial.stat().st_size < size:
                copy = shutil.copy(partial, tmp_path / "copy.state")
                again = run("run", "spheres", "--set", "count=300", "--steps", "1", "--load-state", copy)
                assert again.returncode == 2 and "copy.state" in again.stderr
            partial.unlink()
