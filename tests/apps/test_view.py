"""The program as people look at it: replays, pictures, and a live view over the network of this machine."""

import base64
import gzip
import http.client
import json
import os
import re
import shutil
import signal
import struct
import subprocess
import tempfile
import time
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PROGRAM = os.environ.get("ALMOND_PROGRAM", str(ROOT / "build" / "almond"))


def run(*words, cwd=None):
    return subprocess.run([PROGRAM, *map(str, words)], capture_output=True, text=True, timeout=300, cwd=cwd)


def has_page():
    done = run("run", "tower", "--steps", "1", "--replay", "-")
    return done.returncode == 0


pytestmark = pytest.mark.skipif(not has_page(), reason="built without the web page (no npm)")


def header_of(page):
    """Header and sections of the replays in a page."""
    found = re.findall(r'<script type="application/x-almond-replay">([^<]*)</script>', page)
    out = []
    for text in found:
        data = gzip.decompress(base64.b64decode(text))
        assert data[:8] == b"almondR1"
        length = struct.unpack("<I", data[8:12])[0]
        out.append((json.loads(data[12 : 12 + length]), data[12 + length :]))
    return out


def test_replay_is_one_file_without_links(tmp_path):
    path = tmp_path / "out.html"
    done = run("run", "tower", "--steps", "40", "--fps", "120", "--inside", "3", "--replay", path)
    assert done.returncode == 0, done.stderr
    page = path.read_text(encoding="utf-8")
    assert not re.search(r'<(script|link|img)[^>]*\b(src|href)\s*=\s*["\']?https?:', page), "something is fetched"
    ((header, _),) = header_of(page)
    kept = [step["step"] for step in header["inside"]]
    assert 3 in kept
    assert header["title"] == "tower" and header["frames"]["count"] == len({*range(0, 41, 2), *kept})
    assert {"run", "solver", "residual", "converged"} <= {name for name, _ in header["facts"]}


def test_ten_seconds_of_a_pile_stay_small(tmp_path):
    path = tmp_path / "out.html"
    done = run("run", "quadrupeds", "--steps", "2400", "--replay", path)
    assert done.returncode == 0, done.stderr
    assert path.stat().st_size < 10e6


def test_compare_joins_replays(tmp_path):
    for solver in ("auto", "pgs"):
        done = run("run", "tower", "--steps", "8", "--solver", solver, "--replay", tmp_path / f"{solver}.html")
        assert done.returncode == 0, done.stderr
    done = run("compare", tmp_path / "auto.html", tmp_path / "pgs.html", "--replay", tmp_path / "both.html")
    assert done.returncode == 0, done.stderr
    assert len(header_of((tmp_path / "both.html").read_text(encoding="utf-8"))) == 2
    done = run("compare", "tower", "--solver", "auto", "--solver", "pgs", "--steps", "8", "--replay", tmp_path / "own.html")
    assert done.returncode == 0, done.stderr
    titles = [header["title"] for header, _ in header_of((tmp_path / "own.html").read_text(encoding="utf-8"))]
    assert titles == ["tower, auto", "tower, pgs"]


def has_mujoco():
    return "without MuJoCo" not in run("compare", "tower", "--solver", "auto", "mujoco", "--steps", "1", "--replay", "-").stderr


@pytest.mark.skipif(not has_mujoco(), reason="built without MuJoCo's library")
def test_compare_with_mujoco(tmp_path):
    path = tmp_path / "both.html"
    words = ["compare", "slope", "--solver", "auto", "mujoco", "--set", "ratio=0.9", "--steps", "480", "--replay", path]
    done = run(*words, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    (ours, _), (theirs, _) = header_of(path.read_text(encoding="utf-8"))
    assert [ours["title"], theirs["title"]] == ["slope, auto", "slope, MuJoCo"]
    extra = sum(step["step"] % 4 != 0 for step in ours["inside"])  # steps kept whole have a frame each
    assert ours["frames"]["count"] == theirs["frames"]["count"] + extra and ours["geoms"] == theirs["geoms"]
    facts = dict(theirs["facts"])
    assert facts["solver"].startswith("MuJoCo ") and "residual" not in facts
    assert "residual" in ours["contacts"] and "residual" not in theirs["contacts"]
    # A cube below the friction angle stays; MuJoCo's regularised friction lets it creep.
    assert abs(float(dict(ours["facts"])["travel_mm"])) < 1e-6
    assert float(facts["travel_mm"]) > 0.1
    assert [file.name for file in tmp_path.iterdir()] == ["both.html"], "MuJoCo left something behind"


@pytest.mark.skipif(not has_mujoco(), reason="built without MuJoCo's library")
def test_mujoco_that_runs_away_says_so(tmp_path):
    ball = {"name": "ball", "shape": "sphere", "size": [0.1], "mass": 1}
    scene = {"almond_scene": 1, "gravity": [0, 0, -1e11], "objects": [ball]}  # MuJoCo gives up at 1e10
    (tmp_path / "scene.json").write_text(json.dumps(scene), encoding="utf-8")
    done = run("compare", "scene.json", "--solver", "auto", "mujoco", "--steps", "9", "--replay", "out.html", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "ran away" in done.stderr and len(header_of((tmp_path / "out.html").read_text(encoding="utf-8"))) == 2
    assert sorted(file.name for file in tmp_path.iterdir()) == ["out.html", "scene.json"]


@pytest.mark.parametrize(
    "words, part",
    [
        (["run", "tower", "--replay", "/nowhere/out.html"], "/nowhere"),
        (["run", "tower", "--fps", "0", "--replay", "x.html"], "--fps 0"),
        (["run", "tower", "--fps", "30"], "--replay"),
        (["run", "tower", "--size", "320x200"], "--png or --video"),
        (["run", "tower", "--video-speed", "2"], "expected --video"),
        (["run", "tower", "--video-fps", "20", "--png", "x.png"], "expected --video"),
        (["run", "tower", "--replay", ""], "--replay"),
        (["run", "tower", "--json", ""], "--json"),
        (["run", "tower", "--replay", "x.txt"], ".html"),
        (["run", "tower", "--png", "x.jpg"], ".png"),
        (["run", "tower", "--video", "x.mp4", "--video-speed", "1e-12"], "frames"),
        (["run", "tower", "--steps", "24", "--video", "x.mp4", "--video-begin", "0.2"], "--video-begin 0.2"),
        (["run", "tower", "--steps", "24", "--video", "x.mp4", "--video-end", "0.2"], "--video-end 0.2"),
        (["run", "tower", "--video", "x.mp4", "--video-begin", "0.05", "--video-end", "0.04"], "--video-end 0.04"),
        (["compare", "tower", "--solver", "auto", "pgs", "--video", "/nowhere/x.mp4"], "/nowhere"),
        (["compare", "tower", "--solver", "auto", "pgs", "--steps", "24", "--picture-time", "9", "--png", "x.png"], "0 to 0.1 s"),
        (["run", "tower", "--camera", "1,2,3", "--png", "x.png"], "x,y,z,tx,ty,tz"),
        (["run", "tower", "--camera", "1,2,3,1,2,3", "--png", "x.png"], "looks at where it is"),
        (["run", "tower", "--size", "10x10", "--png", "x.png"], "WIDTHxHEIGHT"),
        (["run", "tower", "--size", "big", "--png", "x.png"], "WIDTHxHEIGHT"),
        (["run", "tower", "--camera", "1e300,0,0,0,0,0", "--png", "x.png"], "at most 1e+06 m"),
        (["run", "tower", "--camera", "1,2,3,0,0,0"], "--png or --video"),
        (["run", "tower", "--show-contacts"], "--png or --video"),
        (["run", "tower", "--steps", "24", "--picture-time", "0.2", "--png", "x.png"], "expected 0 to 0.1 s"),
        (["run", "tower", "--picture-time", "-1", "--png", "x.png"], "--picture-time -1"),
        (["run", "tower", "--steps", "5", "--inside", "5", "--replay", "x.html"], "a step from 0 to 4"),
        (["run", "tower", "--inside", "3"], "--replay"),
        (["run", "tower", "--video", "x.mkv"], ".mp4"),
        (["compare", "tower", "dishes", "--solver", "auto", "--solver", "pgs"], "tower, dishes"),
        (["compare", "a.html", "b.html", "--steps", "4"], "--steps"),
        (["run", "tower", "--video", "-"], "standard output"),
        (["run", "tower", "--video-speed", "-1", "--png", "x.png"], "--video-speed"),
        (["compare"], "expected replays"),
        (["compare", "tower"], "two solvers or more"),
        (["compare", "tower", "--solver", "auto", "--solver", "magic"], "magic"),
        (["compare", "tower", "--solver", "mujoco"], "two solvers or more"),
        (["run", "tower", "--solver", "mujoco"], "mujoco"),
        (["compare", "missing.html", "other.html"], "missing.html"),
        (["view", "nothing"], "nothing"),
        (["view", "tower", "--port", "99999", "--no-browser"], "0 to 65535"),
        (["view", "tower", "--host", "203.0.113.7", "--no-browser"], "is no address of this machine"),
    ],
)
def test_bad_words_get_one_line(words, part, tmp_path):
    done = run(*words, cwd=tmp_path)
    assert done.returncode == 2, done.stderr
    assert part in done.stderr and done.stderr.count("\n") == 1, done.stderr
    assert not list(tmp_path.iterdir())


def test_damaged_replay_is_refused(tmp_path):
    path = tmp_path / "a.html"
    path.write_text('<script type="application/x-almond-replay">%%%</script>', encoding="utf-8")
    done = run("compare", path, path, cwd=tmp_path)
    assert done.returncode == 2 and "a.html" in done.stderr


chromium = next((name for name in ("chromium", "chromium-browser", "google-chrome") if shutil.which(name)), None)


@pytest.mark.skipif(chromium is None, reason="no Chromium here")
def test_picture(tmp_path):
    path = tmp_path / "out.png"
    done = run("run", "tower", "--steps", "24", "--png", path, "--size", "320x200", "--show-contacts", "--picture-time", "0.05")
    assert done.returncode == 0, done.stderr
    data = path.read_bytes()
    assert data[:8] == b"\x89PNG\r\n\x1a\n" and struct.unpack(">II", data[16:24]) == (320, 200)
    assert len(data) > 4000, "blank"


@pytest.mark.skipif(chromium is None or shutil.which("ffmpeg") is None, reason="no Chromium or no ffmpeg here")
def test_video(tmp_path):
    path = tmp_path / "out.mp4"
    done = run("run", "tower", "--steps", "24", "--video", path, "--size", "160x100", "--video-fps", "20")
    assert done.returncode == 0, done.stderr
    assert path.read_bytes()[4:8] == b"ftyp" and path.stat().st_size > 1000
    assert [file.name for file in tmp_path.iterdir()] == ["out.mp4"]


@pytest.mark.skipif(chromium is None, reason="no Chromium here")
def test_picture_of_a_replay(tmp_path):
    assert run("run", "tower", "--steps", "24", "--replay", "a.html", cwd=tmp_path).returncode == 0
    done = run("compare", "a.html", "--png", "b.png", "--size", "160x100", "--picture-time", "0.05", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "b.png").read_bytes()[:4] == b"\x89PNG"
    done = run("compare", "a.html", "--png", "c.png", "--picture-time", "0.2", cwd=tmp_path)
    assert done.returncode == 2 and "0 to 0.1 s" in done.stderr
    done = run("compare", "a.html", "--replay", "c.html", cwd=tmp_path)
    assert done.returncode == 2 and "one run" in done.stderr
    assert sorted(file.name for file in tmp_path.iterdir()) == ["a.html", "b.png"]


@pytest.mark.skipif(chromium is None or shutil.which("ffmpeg") is None, reason="no Chromium or no ffmpeg here")
def test_video_that_is_interrupted_leaves_nothing_behind(tmp_path):
    scratch, out = Path(tempfile.mkdtemp(prefix="s", dir="/tmp")), tmp_path  # a short name, for Chromium's sockets
    words = ["run", "tower", "--steps", "240", "--video", out / "x.mp4", "--video-speed", "0.01", "--size", "160x100"]
    environment = {**os.environ, "TMPDIR": str(scratch)}
    process = subprocess.Popen([PROGRAM, *map(str, words)], env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    deadline = time.time() + 120
    while not list(out.iterdir()):  # the file that is to become the video
        assert time.time() < deadline and process.poll() is None, process.stderr.read()
        time.sleep(0.1)
    process.send_signal(signal.SIGTERM)
    _, said = process.communicate(timeout=60)
    assert process.returncode == 130 and "interrupted" in said, said
    left = list(out.iterdir()) + list(scratch.iterdir())
    shutil.rmtree(scratch)
    assert not left


@pytest.mark.skipif(chromium is None or shutil.which("ffmpeg") is None, reason="no Chromium or no ffmpeg here")
def test_part_of_a_run_as_a_video(tmp_path):
    sizes = []
    for words in ([], ["--video-begin", "0.04", "--video-end", "0.06"]):
        path = tmp_path / f"{len(words)}.mp4"
        done = run("run", "tower", "--steps", "24", "--video", path, "--size", "160x100", "--video-fps", "100", *words)
        assert done.returncode == 0, done.stderr
        sizes.append(frames_of(path))
    assert sizes == [11, 3]


def frames_of(path):
    """The number of samples that the table stsz of an MP4 file counts."""
    data = path.read_bytes()
    at = data.index(b"stsz") + 12
    return struct.unpack(">I", data[at : at + 4])[0]


class Viewer:
    """`almond view` in a process of its own."""

    def __init__(self, *words):
        self.process = subprocess.Popen(
            [PROGRAM, "view", *words, "--no-browser"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        self.address = self.process.stdout.readline().strip()
        assert self.address, self.process.stderr.read()
        self.host = self.address[len("http://") : -1]

    def ask(self, method, path, body=None, **headers):
        connection = http.client.HTTPConnection(self.host, timeout=20)
        headers = {name.replace("_", "-"): value for name, value in headers.items()}
        connection.request(method, path, body=body, headers=headers)
        answer = connection.getresponse()
        return answer.status, answer.read()

    def command(self, **fields):
        return self.ask("POST", "/api/command", json.dumps(fields), Content_Type="application/json")

    def snapshots(self):
        connection = http.client.HTTPConnection(self.host, timeout=20)
        connection.request("GET", "/api/stream")
        answer = connection.getresponse()
        assert answer.getheader("Content-Type").startswith("text/event-stream")
        while True:
            line = answer.readline()
            assert line, "the stream has ended"
            if line.startswith(b"event: "):  # something else, and what belongs to it
                answer.readline()
            elif line.startswith(b"data: {"):
                yield json.loads(line[6:])

    def events(self, kind):
        connection = http.client.HTTPConnection(self.host, timeout=20)
        connection.request("GET", "/api/stream")
        answer = connection.getresponse()
        while True:
            line = answer.readline()
            assert line, "the stream has ended"
            if line.strip() == b"event: " + kind.encode():
                yield json.loads(answer.readline()[6:])

    def end(self):
        self.process.send_signal(signal.SIGINT)
        return self.process.wait(timeout=20)


@pytest.fixture
def viewer():
    viewer = Viewer("tower")
    yield viewer
    if viewer.process.poll() is None:
        viewer.end()


def test_live_view_runs_and_obeys(viewer):
    assert viewer.address.startswith("http://127.0.0.1:")
    status, page = viewer.ask("GET", "/")
    assert status == 200 and b"<!--ALMOND-DATA-->" in page
    status, blob = viewer.ask("GET", "/api/scene")
    assert status == 200 and gzip.decompress(blob)[:8] == b"almondR1"
    stream = viewer.snapshots()
    first = next(stream)
    assert next(s for s in stream if s["step"] > first["step"])["status"] == "solved"
    assert viewer.command(type="pause")[0] == 200
    paused = next(s for s in stream if s["paused"])
    assert viewer.command(type="step")[0] == 200
    assert next(s for s in stream if s["step"] > paused["step"])["step"] == paused["step"] + 1
    assert viewer.command(type="set", name="solver", value="pgs")[0] == 200
    deadline = time.time() + 10
    while json.loads(viewer.ask("GET", "/api/controls")[1])["choices"][0]["value"] != "pgs":
        assert time.time() < deadline
    viewer.command(type="step")
    next(s for s in stream if s["step"] > paused["step"] + 1)
    status, inside = viewer.ask("GET", "/api/step")
    assert status == 200 and [t["solver"] for t in json.loads(inside)["traces"]] == ["pgs", "auto"]
    problem = viewer.ask("GET", "/api/problem.npz")[1]
    assert problem[:2] == b"PK"
    step = json.loads(inside)["step"]
    viewer.command(type="step")
    next(s for s in stream if s["step"] > step + 1)
    assert viewer.ask("GET", "/api/problem.npz")[1] != problem
    assert viewer.ask("GET", f"/api/problem.npz?step={step}") == (200, problem)
    assert viewer.ask("GET", f"/api/problem.npz?step={step + 1}")[0] == 409
    assert viewer.ask("GET", "/api/problem.npz?step=x")[0] == 400
    other = viewer.snapshots()  # a second page
    assert next(other)["step"] >= paused["step"]
    assert viewer.end() == 0


def test_live_view_starts_when_somebody_looks():
    for words, early in (((), True), (("--no-wait",), False)):
        viewer = Viewer("tower", *words)
        assert viewer.ask("GET", "/api/scene")[0] == 200
        time.sleep(1.0)
        assert (next(viewer.snapshots())["time"] < 0.5) == early
        assert viewer.end() == 0


def test_every_page_hears_what_was_set(viewer):
    events = viewer.events("controls")
    assert next(events)["choices"][0]["value"] == "auto"
    assert viewer.command(type="set", name="solver", value="pgs")[0] == 200
    assert next(events)["choices"][0]["value"] == "pgs"
    assert viewer.command(type="reset")[0] == 200
    assert next(events)["choices"][0]["value"] == "pgs"  # a reset keeps it
    assert viewer.command(type="defaults")[0] == 200
    assert next(events)["choices"][0]["value"] == "auto"


def test_live_view_refuses_others(viewer):
    own = viewer.host
    assert viewer.ask("GET", "/", Origin="http://" + own)[0] == 200
    assert viewer.ask("GET", "/api/scene", Origin="http://example.org")[0] == 403
    assert viewer.ask("GET", "/api/scene", Host="example.org")[0] == 403
    assert viewer.ask("POST", "/api/command", '{"type":"pause"}', Content_Type="text/plain")[0] == 415
    assert viewer.ask("POST", "/api/command", '{"type":"pause"}', Content_Type="application/json", Origin="http://example.org")[0] == 403
    for body in ("", "{", '{"type":"fly"}', "[" * 20000, '{"type":"set","name":"dt","value":1e999}', '{"type":"set","name":"dt","value":-1}', '{"type":"step","count":1e18}'):
        assert viewer.ask("POST", "/api/command", body, Content_Type="application/json")[0] == 400, body
    assert viewer.ask("POST", "/api/command", "x" * 200000, Content_Type="application/json")[0] in (400, 413)
    assert viewer.ask("GET", "/etc/passwd")[0] == 404
    assert next(viewer.snapshots())["status"] == "solved"


def test_many_pages_leave_room_for_others(viewer):
    streams = []
    for _ in range(70):
        streams.append(http.client.HTTPConnection(viewer.host, timeout=20))
        streams[-1].request("GET", "/api/stream")
    codes = [stream.getresponse().status for stream in streams]
    assert codes.count(200) == 48 and codes.count(503) == 22
    before = time.time()
    assert viewer.ask("GET", "/")[0] == 200 and viewer.command(type="pause")[0] == 200
    assert time.time() - before < 5
    for stream in streams:
        stream.close()
    deadline = time.time() + 20
    while viewer.ask("GET", "/api/controls")[0] != 200 or not stream_opens(viewer):
        assert time.time() < deadline, "seats are not given back"


def stream_opens(viewer):
    connection = http.client.HTTPConnection(viewer.host, timeout=20)
    connection.request("GET", "/api/stream")
    return connection.getresponse().status == 200


def test_port_80_answers_its_own_page():
    process = subprocess.Popen([PROGRAM, "view", "tower", "--port", "80", "--no-browser"], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    if not process.stdout.readline():
        process.communicate()
        pytest.skip("port 80 cannot be had here")
    connection = http.client.HTTPConnection("127.0.0.1", timeout=20)
    connection.request("GET", "/", headers={"Host": "127.0.0.1", "Origin": "http://127.0.0.1"})
    status = connection.getresponse().status
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=20)
    assert status == 200


def test_two_views_have_ports_of_their_own(viewer):
    other = Viewer("tower")
    assert other.address != viewer.address
    assert other.end() == 0


def test_replay_is_served(tmp_path):
    assert run("run", "tower", "--steps", "4", "--replay", tmp_path / "a.html").returncode == 0
    viewer = Viewer(str(tmp_path / "a.html"))
    assert header_of(viewer.ask("GET", "/")[1].decode("utf-8"))[0][0]["title"] == "tower"
    assert viewer.end() == 0
