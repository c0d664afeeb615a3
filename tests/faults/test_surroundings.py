"""Proves that clocks that jump change no answer, that missing programs and displays are told in one line, and that viewers that
go, stall or talk nonsense neither stop nor slow the simulation."""

import http.client
import json
import os
import signal
import socket
import subprocess
import time

import pytest
from fault_tools import FAULTS, LONG, PROGRAM, broken, needs_program, run, tally  # noqa: F401

pytestmark = needs_program


def state_of(tmp_path, name, env=None, *words):
    done = run("run", "tower", "--steps", "60", "--json", "-", *words, cwd=tmp_path, env=env)
    assert done.returncode == 0, (name, done.stderr)
    return json.loads(done.stdout)


@pytest.mark.parametrize("direction", ["back", "forward"])
def test_clock_jumps(direction, tmp_path):
    usual = state_of(tmp_path, "usual")
    jumped = state_of(tmp_path, direction, broken(FAULT_CLOCK=direction))
    assert jumped["state_hash"] == usual["state_hash"]
    cut = state_of(tmp_path, direction, broken(FAULT_CLOCK=direction), "--budget-ms", "1")  # a jump may end a solve, not a run
    assert sum(cut["status_counts"].values()) == 60
    FAULTS["runs with clocks that jump"] += 2


def test_no_programs_no_display(tmp_path):
    bare = {"PATH": "/nowhere", "HOME": str(tmp_path), "ALMOND_CACHE_DIR": "off"}
    assert run("run", "tower", "--steps", "5", "--json", "out.json", cwd=tmp_path, env=bare).returncode == 0
    for words in (["--png", "x.png"], ["--video", "x.mp4"]):
        done = run("run", "tower", "--steps", "5", *words, cwd=tmp_path, env=bare)
        assert done.returncode == 2 and done.stderr.count("\n") == 1, done.stderr
        assert not list(tmp_path.glob("x.*"))
    done = run("run", "bolt_nut_assembly", env={**bare, "ALMOND_ROBOTS": str(tmp_path)})  # needs a robot's files
    assert done.returncode == 2 and "example-robot-data" in done.stderr and done.stderr.count("\n") == 1


class Viewer:
    def __init__(self, *words, **environment):
        self.process = subprocess.Popen([str(PROGRAM), "view", *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                        env={**os.environ, **environment})  # fmt: skip
        address = self.process.stdout.readline().strip()
        if not address:
            said = self.process.stderr.read()
            self.process.wait()
            pytest.skip(said.strip())  # built without the web page
        self.host, port = address.split("//")[1].split("/")[0].split(":")
        self.port = int(port)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGINT)
            assert self.process.wait(timeout=30) == 0

    def steps(self, count=1):
        """The step of the last of some snapshots."""
        connection = http.client.HTTPConnection(self.host, self.port, timeout=20)
        connection.request("GET", "/api/stream")
        answer = connection.getresponse()
        seen = None
        while count > 0:
            line = answer.readline()
            assert line
            if line.startswith(b"data: {") and b'"step"' in line:
                seen = json.loads(line[6:]).get("step", seen)
                count -= 1
        connection.close()
        return seen

    def resident(self):
        with open(f"/proc/{self.process.pid}/statm", encoding="ascii") as file:
            return int(file.read().split()[1]) * os.sysconf("SC_PAGESIZE")


def test_no_display_and_no_browser():
    for environment in ({"DISPLAY": "", "WAYLAND_DISPLAY": ""}, {"DISPLAY": ":99", "PATH": "/nowhere"}):
        with Viewer("tower", "--no-wait", **environment) as viewer:
            assert viewer.steps() is not None


def test_interrupted_while_a_browser_is_opened(tmp_path):
    """Ctrl-C is not lost to a browser that takes its time."""
    slow = tmp_path / "xdg-open"
    slow.write_text("#!/bin/sh\nexec sleep 5\n", encoding="utf-8")
    slow.chmod(0o755)
    with Viewer("tower", "--no-wait", DISPLAY=":99", PATH=f"{tmp_path}:{os.environ['PATH']}"):
        pass  # leaving it interrupts at once


def test_port_that_is_taken():
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        done = run("view", "tower", "--no-browser", "--port", port)
        assert done.returncode == 2 and str(port) in done.stderr and done.stderr.count("\n") == 1


def test_viewers_that_go_stall_or_talk_nonsense():
    """The simulation goes on at its pace, and its memory does not grow with what nobody fetches."""
    with Viewer("quadrupeds", "--no-wait", "--no-browser") as viewer:
        first = viewer.steps(5)
        stalled = []
        for _ in range(6):  # ask for the stream, and read nothing of it
            s = socket.create_connection((viewer.host, viewer.port))
            s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            s.sendall(f"GET /api/stream HTTP/1.1\r\nHost: {viewer.host}:{viewer.port}\r\n\r\n".encode())
            stalled.append(s)
            FAULTS["viewers that left, stalled or talked nonsense"] += 1
        for round_ in range(100 if LONG else 10):  # go in the middle of an answer, or of a question
            s = socket.create_connection((viewer.host, viewer.port))
            s.sendall(f"GET {'/api/stream' if round_ % 2 else '/'} HTTP/1.1\r\nHost: {viewer.host}:{viewer.port}\r\n\r\n".encode())
            s.recv(64)
            s.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\x01\0\0\0\0\0\0\0")  # a reset
            s.close()
            s = socket.create_connection((viewer.host, viewer.port))
            s.sendall(b"POST /api/command HTTP/1.1\r\nContent-Length: 40\r\n\r\n{\"type\":")
            s.close()
            s = socket.create_connection((viewer.host, viewer.port))
            s.sendall(os.urandom(200))
            s.close()
            FAULTS["viewers that left, stalled or talked nonsense"] += 3
        before, seen, began = viewer.resident(), viewer.steps(5), time.monotonic()
        assert seen > first
        time.sleep(20 if LONG else 2)
        after = viewer.steps(2)
        elapsed = time.monotonic() - began
        assert after > seen, "the simulation waits for those who do not read"
        assert after - seen <= 260 * elapsed + 100, "at its pace"
        assert viewer.resident() - before < 16e6
        for s in stalled:
            s.close()
        assert viewer.steps(2) >= after
        assert viewer.process.poll() is None


@pytest.mark.parametrize("direction", ["wall-back", "wall-forward"])
def test_live_while_somebody_sets_the_clock(direction):
    """It neither hangs nor runs after the lost hours, and still ends when told to."""
    with Viewer("tower", "--no-wait", "--no-browser", **broken(FAULT_CLOCK=direction)) as viewer:
        first, began = viewer.steps(2), time.monotonic()
        last = viewer.steps(60)
        assert first < last <= first + 260 * (time.monotonic() - began) + 100
        FAULTS["runs with clocks that jump"] += 1
