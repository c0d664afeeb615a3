"""The live page lets nobody in: it listens on this machine alone, knows its own name, reads no more than it said it would,
serves nothing but itself, and wants a token where others can reach it."""

import base64
import gzip
import http.client
import os
import re
import resource
import signal
import socket
import subprocess
import time
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PROGRAM = os.environ.get("ALMOND_PROGRAM", str(ROOT / "build" / "almond"))


def start(*words, shown="tower", **options):
    process = subprocess.Popen([PROGRAM, "view", shown, "--no-browser", *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **options)
    address = process.stdout.readline().strip()
    if not address:
        pytest.skip(process.communicate()[1])
    return process, address


def end(process):
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=20)


@pytest.fixture
def view():
    process, address = start()
    yield int(re.fullmatch(r"http://127\.0\.0\.1:(\d+)/", address)[1])
    end(process)


@pytest.fixture
def open_view():
    """Bound to all addresses: port and token."""
    process, address = start("--host", "0.0.0.0")
    found = re.fullmatch(r"http://[^/]+:(\d+)/\?token=([0-9a-f]{32})", address)
    yield int(found[1]), found[2]
    end(process)


def ask(port, path="/", method="GET", **headers):
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=20)
    connection.request(method, path, headers={name.replace("_", "-"): value for name, value in headers.items()})
    answer = connection.getresponse()
    return answer.status, dict(answer.getheaders()), answer.read() if path != "/api/stream" else b""


def raw(port, request, limit=20):
    """Everything that comes back for these bytes."""
    with socket.create_connection(("127.0.0.1", port), timeout=limit) as connection:
        try:
            for piece in request if isinstance(request, list) else [request]:
                connection.sendall(piece)
        except (BrokenPipeError, ConnectionResetError):
            pass
        answer = b""
        try:
            while piece := connection.recv(65536):
                answer += piece
        except ConnectionResetError:
            pass
        return answer


def test_listens_on_this_machine_only(view):
    listening = [line.split() for line in Path("/proc/net/tcp").read_text().splitlines()[1:]]
    own = [words[1] for words in listening if words[3] == "0A" and int(words[1].split(":")[1], 16) == view]
    assert own == [f"0100007F:{view:04X}"]


@pytest.mark.parametrize("name", ["example.org", "127.0.0.1.example.org", "localhost.example.org:{port}", "127.0.0.1:1", "127.0.0.1", "[::2]:{port}", "", "127.0.0.1:{port}.example.org"])
def test_other_names_are_refused(view, name):
    """DNS rebinding: a page of another site that reaches us under the site's own name."""
    assert ask(view, "/api/scene", Host=name.format(port=view))[0] == 403


@pytest.mark.parametrize("origin", ["http://example.org", "null", "http://127.0.0.1", "https://127.0.0.1:{port}", "http://127.0.0.1:{port}.example.org", "file://"])
def test_other_origins_are_refused(view, origin):
    assert ask(view, "/api/scene", Origin=origin.format(port=view))[0] == 403
    assert ask(view, "/api/scene", Origin=f"http://127.0.0.1:{view}")[0] == 200


@pytest.mark.parametrize("path", ["/../../etc/passwd", "/etc/passwd", "//etc/passwd", "/%2e%2e/%2e%2e/etc/passwd", "/..%2f..%2fetc/passwd", "/api/../../etc/passwd", "/index.html", "/api/", "/.git/config"])
def test_serves_nothing_but_itself(view, path):
    status, _, body = ask(view, path)
    assert status == 404 and b"root:" not in body


def test_requests_have_a_size_and_a_time(view):
    head = f"Host: 127.0.0.1:{view}\r\nContent-Type: application/json\r\n".encode()
    # A body that was announced; one that comes in chunks and says nothing of its length; headers without end; a long line.
    assert b" 413 " in raw(view, b"POST /api/command HTTP/1.1\r\n" + head + b"Content-Length: 100000000\r\n\r\n" + b"x" * 100000)[:20]
    chunks = [b"POST /api/command HTTP/1.1\r\n" + head + b"Transfer-Encoding: chunked\r\n\r\n"] + [b"10000\r\n" + b"x" * 65536 + b"\r\n"] * 100
    assert b" 200 " not in raw(view, chunks)[:20]
    assert b" 200 " not in raw(view, [b"GET / HTTP/1.1\r\n" + head] + [b"X-Header: " + b"x" * 1000 + b"\r\n"] * 10000)[:20]
    assert b" 200 " not in raw(view, b"GET /" + b"x" * 1000000 + b" HTTP/1.1\r\n" + head + b"\r\n")[:20]
    # Byte by byte, slower than anybody types: the connection is given up.
    before = time.monotonic()
    assert b" 200 " not in raw(view, b"GET / HTTP/1.1\r\nHost: 127", limit=30)[:20]
    assert time.monotonic() - before < 20
    assert ask(view)[0] == 200


@pytest.mark.parametrize("size", [9_000, 80_000, 81_920, 100_000, 500_000])
@pytest.mark.parametrize("line, status", [("GET /{} HTTP/1.1\r\n{}", 414), ("GET /?token={} HTTP/1.1\r\n{}", 414), ("{} / HTTP/1.1\r\n{}", 414), ("GET / HTTP/1.1\r\n{1}X-Long: {0}\r\n", 400)])
def test_what_is_too_long_gets_an_answer(view, line, status, size):
    """In one go, and by somebody who waits before the end of the line: the answer arrives whole, and the connection is closed, not reset."""
    request = line.format("x" * size, f"Host: 127.0.0.1:{view}\r\n").encode() + b"\r\n"
    for pieces in ([request], [request[: size // 2]], [request[:100], request[100:]]):
        if pieces == [request[: size // 2]] and (status != 414 or size < 20_000):
            continue  # what may yet be short enough is waited for
        with socket.create_connection(("127.0.0.1", view), timeout=20) as connection:
            for piece in pieces:
                connection.sendall(piece)
            answer = b""
            while piece := connection.recv(65536):  # a reset would be an error here
                answer += piece
        assert answer.startswith(f"HTTP/1.1 {status} ".encode()) and answer.endswith(b"\n") and answer.count(b"\r\n\r\n") == 1


@pytest.mark.parametrize("kind, status", [
    ("application/json", 200), ("Application/JSON", 200), ("application/json; charset=utf-8", 200), ("application/json ;charset=utf-8", 200),
    ("application/jsonx", 415), ("application/json-seq", 415), ("application/json+xml", 415), ("application/json/x", 415), ("application/json, text/plain", 415),
    ("text/plain, application/json", 415), ("text/plain; application/json", 415), ("x application/json", 415), ("", 415), (";application/json", 415), ("application/json\0", 400),
    ("application/json\0text/plain", 400), ("\0application/json", 400), ("application/json\x01", 400), ("application/json\x7f", 400), ("application/json\rX: y", 400)])
def test_only_json_is_taken_for_json(view, kind, status):
    """Browsers let pages of other sites send a few types without asking; JSON, and nothing that begins like it, is not among them."""
    head = f"POST /api/command HTTP/1.1\r\nHost: 127.0.0.1:{view}\r\nConnection: close\r\nContent-Length: 15\r\nContent-Type: {kind}\r\n\r\n"
    assert raw(view, head.encode() + b'{"type":"step"}').startswith(f"HTTP/1.1 {status} ".encode())


@pytest.mark.parametrize("body", [b'{"type":"step"}\0', b'{"type":"step"}\0x', b'\0{"type":"step"}', b'{"type":"step\0"}', b"\0", b'{"type":"step","type":"reset"}', b'{"type":"step"}{"type":"step"}'])
def test_bodies_are_read_to_their_end(view, body):
    """A NUL does not end a text, and of two fields neither is chosen."""
    head = f"POST /api/command HTTP/1.1\r\nHost: 127.0.0.1:{view}\r\nConnection: close\r\nContent-Length: {len(body)}\r\nContent-Type: application/json\r\n\r\n"
    answer = raw(view, head.encode() + body)
    assert answer.startswith(b"HTTP/1.1 400 ") and answer.split(b"\r\n\r\n")[1].startswith(b"command"), answer


@pytest.mark.parametrize("where", ["GET /\0 HTTP/1.1", "GET / HTTP/1.1\0", "\0GET / HTTP/1.1", "GET /\x01 HTTP/1.1", "GET /\r HTTP/1.1", "GET / HTTP/1.1\r\nA: b\0", "GET / HTTP/1.1\r\nA: b\x1bc",
                                   "GET / HTTP/1.1\r\nA: b\rc", "GET / HTTP/1.1\r\nCookie: a=b\0"])
def test_control_characters_are_refused(view, where):
    answer = raw(view, f"{where}\r\nHost: 127.0.0.1:{view}\r\nConnection: close\r\n\r\n".encode())
    assert answer.startswith(b"HTTP/1.1 400 ") and answer.endswith(b"\r\n\r\n" + UNREADABLE.encode())


@pytest.mark.parametrize("name, value", [("Transfer-Encoding", "chunked"), ("Transfer-Encoding", "identity"), ("Content-Encoding", "gzip"), ("Cookie", "a=b"), ("Sec-Fetch-Mode", "navigate")])
def test_headers_that_are_refused_or_kept_come_once_too(view, name, value):
    for names in ((name, name), (name, name.lower()), (name.upper(), name)):
        lines = "".join(f"{n}: {value}\r\n" for n in names)
        answer = raw(view, f"POST /api/command HTTP/1.1\r\nHost: 127.0.0.1:{view}\r\nConnection: close\r\nContent-Type: application/json\r\n{lines}Content-Length: 15\r\n\r\n".encode() + b'{"type":"step"}')
        assert answer.startswith(b"HTTP/1.1 400 ") and answer.endswith(f"\r\n\r\n{name}: expected once\n".encode()), answer


@pytest.mark.parametrize("name", ["Host", "Origin", "Authorization", "Content-Type", "Content-Length", "Sec-Fetch-Site"])
def test_headers_that_decide_come_once(view, name):
    """Of two, whoever else reads the request may go by the other: neither order is heard, nor twice the right one."""
    right = {"Host": f"127.0.0.1:{view}", "Origin": f"http://127.0.0.1:{view}", "Content-Type": "application/json", "Content-Length": "15", "Authorization": "Bearer a",
             "Sec-Fetch-Site": "same-origin"}
    wrong = {"Host": "example.org", "Origin": "http://example.org", "Content-Type": "text/plain", "Content-Length": "0", "Authorization": "Bearer b",
             "Sec-Fetch-Site": "cross-site"}

    def post(*values):
        lines = [f"{n}: {v}\r\n" for n, v in right.items() if n != name] + [f"{n}: {v}\r\n" for n, v in zip((name, name.lower()), values)]
        return raw(view, ("POST /api/command HTTP/1.1\r\nConnection: close\r\n" + "".join(lines) + '\r\n{"type":"step"}').encode())

    assert post(right[name]).startswith(b"HTTP/1.1 200 ")
    for values in ((right[name], wrong[name]), (wrong[name], right[name]), (right[name], right[name])):
        answer = post(*values)
        assert answer.startswith(b"HTTP/1.1 400 ") and answer.endswith(f"\r\n\r\n{name}: expected once\n".encode()), values


UNREADABLE = "expected a request of HTTP/1.1 that can be read: a head of lines `Name: value`, and no Range\n"


@pytest.mark.parametrize("path", ["/", "/nothing"])
def test_heads_that_can_be_read_in_two_ways_are_refused(view, path):
    """And Range, which nothing here needs."""
    for header in ("Range: bytes=0-9", "Range: bytes=0-,0-", "rAnGe:bytes=0-1", "Range: lines=1", "Range:", "Host : example.org", "Host\t: example.org", " Host: example.org",
                   " example.org", "\texample.org", "Host", ": example.org", "Host: example.org\nA: b", "H\0st: example.org"):
        answer = raw(view, f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1:{view}\r\n{header}\r\nConnection: close\r\n\r\n".encode())
        assert answer.startswith(b"HTTP/1.1 400 ") and answer.endswith(b"\r\n\r\n" + UNREADABLE.encode()), header
    assert ask(view, "/api/controls", Range_Unit="none")[0] == 200


def test_many_ranges_take_no_memory():
    """Of 2601 ranges the page would be put together as often, in memory: some GB."""
    process, address = start(preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (4 << 30, 4 << 30)))
    try:
        port = int(address.rstrip("/").rsplit(":", 1)[1])
        for parts in ("0-," * 2600 + "0-", "-," * 4000 + "-"):
            answer = raw(port, f"GET / HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nConnection: close\r\nRange: bytes={parts}\r\n\r\n".encode())
            assert answer.startswith(b"HTTP/1.1 400 ") and answer.endswith(UNREADABLE.encode())
        assert ask(port)[0] == 200
        most = re.search(r"VmHWM:\s+(\d+) kB", Path(f"/proc/{process.pid}/status").read_text())
        assert most is None or int(most[1]) < 500_000
    finally:
        end(process)


@pytest.mark.parametrize("coding", ["gzip", "deflate", "br", "identity"])
def test_packed_bodies_are_refused(view, coding):
    """Limits are for what comes: 58 kB would unpack to 60 MB."""
    packed = gzip.compress(b" " * 60_000_000 + b'{"type":"step"}')
    head = f"POST /api/command HTTP/1.1\r\nHost: 127.0.0.1:{view}\r\nContent-Type: application/json\r\nContent-Encoding: {coding}\r\nContent-Length: {len(packed)}\r\n\r\n"
    answer = raw(view, head.encode() + packed)
    assert answer.startswith(b"HTTP/1.1 415 ") and answer.endswith(f'\r\n\r\nContent-Encoding "{coding}": expected none\n'.encode())


@pytest.mark.parametrize("site", ["cross-site", "same-site", "anything"])
def test_what_other_pages_embed_is_refused(view, site):
    """Images and scripts of another page come without an Origin; links that people follow lead here all the same."""
    for path in ("/api/scene", "/api/controls", "/api/step", "/api/stream", "/"):
        status, _, said = ask(view, path, Sec_Fetch_Site=site, Sec_Fetch_Mode="no-cors")
        assert status == 403 and (path == "/api/stream" or b"expected a page of this server" in said)
    assert ask(view, "/", Sec_Fetch_Site=site, Sec_Fetch_Mode="navigate")[0] == 200
    assert ask(view, "/api/stream", Sec_Fetch_Site=site, Sec_Fetch_Mode="navigate")[0] == 403
    for own in ("same-origin", "none"):
        assert ask(view, "/api/controls", Sec_Fetch_Site=own)[0] == 200


@pytest.mark.parametrize("length, status", [(2**40, 413), (65537, 413), (2**64, 413), (10**40, 413), ("-1", 400), ("+5", 400), ("5x", 400), ("0x10", 400), (None, 411)])
@pytest.mark.parametrize("held", [b"", b"{"])
def test_lengths_that_cannot_be_are_refused_at_once(view, length, status, held):
    """Before the body has come, and without waiting for it: the sender keeps the connection open and says no more."""
    announced = f"Content-Length: {length}\r\n" if length is not None else ""
    request = f"POST /api/command HTTP/1.1\r\nHost: 127.0.0.1:{view}\r\nContent-Type: application/json\r\n{announced}\r\n".encode()
    before = time.monotonic()
    answer = raw(view, request + held)
    assert answer.startswith(f"HTTP/1.1 {status} ".encode()) and answer.endswith(b"\n") and answer.count(b"\r\n\r\n") == 1
    assert time.monotonic() - before < 8  # who waits for the rest waits for 10 s


@pytest.mark.parametrize("line, status", [("POST /api/command", 403), ("GET /", 400), ("GET /nothing", 400)])
def test_body_of_a_refused_request_is_no_request(view, line, status):
    """A page of another site may post text that reads like a request of our own page: it comes after the refusal."""
    inner = f"GET /api/controls HTTP/1.1\r\nHost: 127.0.0.1:{view}\r\n\r\n".encode()
    origin = "Origin: http://example.org\r\n" if status == 403 else ""
    outer = f"{line} HTTP/1.1\r\nHost: 127.0.0.1:{view}\r\n{origin}Content-Type: text/plain\r\nContent-Length: {len(inner)}\r\n\r\n".encode()
    with socket.create_connection(("127.0.0.1", view), timeout=20) as connection:
        connection.sendall(outer)
        heard = connection.recv(65536)
        assert heard.startswith(f"HTTP/1.1 {status} ".encode())
        connection.sendall(inner)
        try:
            while piece := connection.recv(65536):
                heard += piece
        except ConnectionResetError:
            pass
    assert heard.count(b"\r\n\r\n") == 1 and b" 200 " not in heard


@pytest.mark.parametrize("begun", [b"GET / HTTP/1.1\r\nHost: 127", b"", b"POST /api/command HTTP/1.1\r\nContent-Length: 60000\r\n\r\n{"])
def test_half_requests_keep_nobody_out(view, begun):
    """Three times as many connections that never say the rest as there are threads: each honest request is answered at once."""
    crowd = []
    try:
        for _ in range(200):
            crowd.append(socket.create_connection(("127.0.0.1", view)))
            crowd[-1].sendall(begun)
        for path in ("/", "/api/controls", "/api/scene"):
            before = time.monotonic()
            assert ask(view, path)[0] == 200
            assert time.monotonic() - before < 5, path
    finally:
        for connection in crowd:
            connection.close()


def test_who_takes_no_answer_keeps_nobody_out(view):
    """The page is larger than what a socket holds: the thread that sends it waits."""
    crowd = []
    for _ in range(200):
        connection = socket.socket()
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        connection.connect(("127.0.0.1", view))
        connection.sendall(f"GET / HTTP/1.1\r\nHost: 127.0.0.1:{view}\r\n\r\n".encode())
        crowd.append(connection)
    before = time.monotonic()
    assert ask(view, "/api/controls")[0] == 200
    assert time.monotonic() - before < 5
    for connection in crowd:
        connection.close()


@pytest.mark.parametrize("asked", [b"", b"Connection: close\r\n", b"Connection: keep-alive\r\n"])
@pytest.mark.parametrize("line, status", [("GET /", 200), ("GET /nothing", 404), ("POST /api/command", 411), ("nonsense", 400), ("GET /api/problem.npz?step=x", 400)])
def test_refusals_say_once_that_they_end_the_connection(view, line, status, asked):
    """And nothing against it. A page that is given says so where it was asked to."""
    with socket.create_connection(("127.0.0.1", view), timeout=20) as connection:
        connection.sendall(f"{line} HTTP/1.1\r\nHost: 127.0.0.1:{view}\r\n".encode() + asked + b"\r\n")
        head = b""
        while b"\r\n\r\n" not in head:
            head += connection.recv(65536)
    lines = head.split(b"\r\n\r\n")[0].lower().split(b"\r\n")
    assert lines[0].split()[1] == str(status).encode()
    said = [line for line in lines if line.startswith((b"connection:", b"keep-alive:"))]
    closes = status >= 400 or asked == b"Connection: close\r\n"
    assert said == [b"connection: close"] if closes else [line.split(b":")[0] for line in said] == [b"keep-alive"]


@pytest.mark.parametrize("headers, status", [
    ("Content-Length: 65537", 413), ("Transfer-Encoding: chunked", 411), ("Content-Length: 15\r\nContent-Encoding: gzip", 415),
    ("Content-Length: 15\r\nOrigin: http://example.org", 403), ("Content-Length: 15", 100)])
def test_a_body_that_would_be_refused_is_not_asked_for(view, headers, status):
    """Who waits for `100 Continue` gets the refusal in its place, and nobody else waits."""
    request = f"POST /api/command HTTP/1.1\r\nHost: 127.0.0.1:{view}\r\nContent-Type: application/json\r\nExpect: 100-continue\r\n{headers}\r\n\r\n"
    with socket.create_connection(("127.0.0.1", view), timeout=20) as connection:
        connection.sendall(request.encode())
        heard = connection.recv(65536)
        assert heard.startswith(f"HTTP/1.1 {status} ".encode())
        if status == 100:
            assert heard.endswith(b"\r\n\r\n")
            connection.sendall(b'{"type":"step"}')
            heard = connection.recv(65536)
            assert heard.startswith(b"HTTP/1.1 200 ")
            return
        while piece := connection.recv(65536):
            heard += piece
    assert heard.count(b"HTTP/1.1") == 1 and heard.endswith(b"\n")


@pytest.mark.parametrize("method", ["PUT", "DELETE", "OPTIONS", "PATCH"])
def test_methods_that_nothing_takes_are_told_so(view, method):
    """Whether they bring a body or not, which is then no request."""
    for body in (b"", b"GET / HTTP/1.1\r\n\r\n"):
        length = f"Content-Length: {len(body)}\r\n" if body else ""
        for path in ("/", "/api/command"):
            answer = raw(view, f"{method} {path} HTTP/1.1\r\nHost: 127.0.0.1:{view}\r\n{length}\r\n".encode() + body)
            assert answer.startswith(b"HTTP/1.1 405 ") and answer.count(b"HTTP/1.1") == 1
            assert b"\r\nAllow: GET, HEAD, POST\r\n" in answer and answer.endswith(f"\r\n\r\n{method}: expected GET, HEAD or POST\n".encode())


@pytest.mark.parametrize("host, said", [("bad.host.invalid", "cannot be resolved"), ("192.0.2.1", "is no address of this machine"), ("", "cannot be resolved")])
def test_hosts_that_are_not_ours_are_told_so(host, said):
    done = subprocess.run([PROGRAM, "view", "tower", "--no-browser", "--host", host], capture_output=True, text=True, timeout=60)
    if "built without its web page" in done.stderr:
        pytest.skip("built without the web page (no npm)")
    assert done.returncode == 2 and f'--host "{host}": {said}' in done.stderr and len(done.stderr.splitlines()) == 1


def test_refusals_say_why(view):
    def last_line(answer):
        assert answer.count(b"\r\n\r\n") == 1 and answer.endswith(b"\n"), answer
        return answer.split(b"\r\n\r\n")[1].decode()

    head = f"Host: 127.0.0.1:{view}\r\nConnection: close\r\n".encode()
    assert last_line(raw(view, b"GET /nothing HTTP/1.1\r\n" + head + b"\r\n")) == "no such page or call\n"
    long = b"POST /api/command HTTP/1.1\r\n" + head + b"Content-Type: application/json\r\nContent-Length: 70000\r\n\r\n" + b"x" * 70000
    assert last_line(raw(view, long)) == "expected a body of at most 65536 bytes\n"
    assert last_line(raw(view, b"nonsense\r\n\r\n")) == UNREADABLE
    for text in ("-1", "", "x", "1.5", "99999999999999999999"):
        status, _, body = ask(view, "/api/problem.npz?step=" + text)
        assert status == 400 and body.decode() == f'step "{text}": expected a whole number of at least 0\n'
    status, _, body = ask(view, "/api/problem.npz?step=123456")
    assert status == 409 and b"step 123456" in body
    assert ask(view, "/api/scene", Host="example.org")[2].decode() == f'Host "example.org": expected 127.0.0.1:{view}\n'
    assert ask(view, "/api/scene", Origin="http://example.org")[2].decode() == 'Origin "http://example.org": expected a page of this server, or none\n'


@pytest.mark.parametrize("host, shown", [("::1", "[::1]"), ("0:0:0:0:0:0:0:1", "[0:0:0:0:0:0:0:1]"), ("127.0.0.2", "127.0.0.2"), ("localhost", "localhost")])
def test_every_name_of_loopback_is_loopback(host, shown):
    """No token, and the usual names are known: nobody else can reach it."""
    process, address = start("--host", host)
    try:
        found = re.fullmatch(re.escape(f"http://{shown}:") + r"(\d+)/", address)
        assert found, address
        connection = http.client.HTTPConnection(host, int(found[1]), timeout=20)
        for name, status in ((shown, 200), ("localhost", 200), ("127.0.0.1", 200), ("[::1]", 200), ("example.org", 403)):
            connection.request("GET", "/api/controls", headers={"Host": f"{name}:{found[1]}"})
            answer = connection.getresponse()
            answer.read()
            assert answer.status == status, name
    finally:
        end(process)


def test_headers_keep_other_pages_away(view):
    _, headers, _ = ask(view)
    assert headers["X-Frame-Options"] == "DENY" and "frame-ancestors 'none'" in headers["Content-Security-Policy"]
    assert headers["X-Content-Type-Options"] == "nosniff" and headers["Cross-Origin-Resource-Policy"] == "same-origin"
    assert "Access-Control-Allow-Origin" not in headers


def test_token_where_others_can_reach_it(open_view):
    port, token = open_view
    for path in ("/", "/api/scene", "/api/stream", "/api/controls", "/api/problem.npz"):
        assert ask(port, path)[0] == 401
        assert ask(port, path, Cookie=f"almond_{port}={token[:-1]}x")[0] == 401
        assert ask(port, path, Authorization="Bearer " + token[:-1])[0] == 401
    assert ask(port, "/?token=" + token[:-1])[0] == 401
    assert ask(port, "/api/scene?token=" + token)[0] == 401  # only the page takes it from its address
    # The page's address gives a cookie, and the token leaves the address.
    status, headers, _ = ask(port, "/?token=" + token)
    assert status == 303 and headers["Location"] == "/"
    cookie = headers["Set-Cookie"]
    assert "HttpOnly" in cookie and "SameSite=Strict" in cookie
    pair = cookie.split(";")[0]
    assert ask(port, "/", Cookie=pair)[0] == 200 and ask(port, "/api/scene", Cookie="other=1; " + pair)[0] == 200
    assert ask(port, "/api/controls", Authorization="Bearer " + token)[0] == 200
    # And still no other site's page.
    assert ask(port, "/api/scene", Cookie=pair, Origin="http://example.org")[0] == 403


def own_address():
    """Of this machine in its network, as it would reach another one; nothing is sent."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect(("192.0.2.1", 9))
            return probe.getsockname()[0]
        except OSError:
            return None


def test_address_with_the_token_can_be_reached():
    """Bound to all addresses it prints one that others can use, and the token."""
    process, address = start("--host", "0.0.0.0")
    try:
        found = re.fullmatch(r"http://([^/]+):(\d+)/\?token=([0-9a-f]{32})", address)
        assert found and found[1] != "0.0.0.0" and (own_address() in (None, "127.0.0.1") or found[1] != "localhost")
        connection = http.client.HTTPConnection(found[1].strip("[]"), int(found[2]), timeout=20)
        connection.request("GET", "/?token=" + found[3])
        assert connection.getresponse().status == 303
    finally:
        end(process)


def test_bound_to_all_addresses_the_token_decides(open_view):
    """Any name will do, since a machine has several that it does not know of; a page that rebinds one has no token."""
    port, token = open_view
    for name in (f"example.org:{port}", "example.org", f"127.0.0.1:{port}"):
        assert ask(port, "/api/scene", Host=name)[0] == 401
        assert ask(port, "/api/scene", Host=name, Authorization="Bearer " + token)[0] == 200
        assert ask(port, "/api/scene", Host=name, Origin="http://other.org", Authorization="Bearer " + token)[0] == 403


def test_bound_to_one_address_it_knows_its_name():
    """There both are asked for: the name, and the token."""
    host = own_address()
    if host is None or host.startswith("127."):
        pytest.skip("this machine has no address in a network")
    process, address = start("--host", host)
    try:
        found = re.fullmatch(re.escape(f"http://{host}:") + r"(\d+)/\?token=([0-9a-f]{32})", address)
        assert found, address
        for name, token, status in ((host, found[2], 200), (host, "x", 401), ("example.org", found[2], 403), ("localhost", found[2], 403)):
            connection = http.client.HTTPConnection(host, int(found[1]), timeout=20)
            connection.request("GET", "/api/controls", headers={"Host": f"{name}:{found[1]}", "Authorization": "Bearer " + token})
            assert connection.getresponse().status == status, (name, token)
    finally:
        end(process)


def test_every_start_has_its_own_token(open_view):
    process, address = start("--host", "0.0.0.0")
    end(process)
    assert address.split("=")[1] != open_view[1]


def test_page_has_a_policy(tmp_path):
    """Names out of a model file end up in a page as data: packed, and beside the only script that may run."""
    hostile = tmp_path / "robot.urdf"
    name = "&lt;/script&gt;&lt;script&gt;alert(1)&lt;/script&gt;"
    hostile.write_text(f'<robot name="{name}"><link name="{name}"><inertial><mass value="1"/><inertia ixx="1" ixy="0" ixz="0" iyy="1" iyz="0" izz="1"/></inertial>'
                       f'<collision><geometry><sphere radius="0.1"/></geometry></collision></link></robot>')
    page = tmp_path / "page.html"
    done = subprocess.run([PROGRAM, "run", hostile, "--base", "floating", "--steps", "3", "--replay", page], capture_output=True, text=True, timeout=60)
    if "built without its web page" in done.stderr:
        pytest.skip("built without the web page (no npm)")
    assert done.returncode == 0, done.stderr
    text = page.read_text()
    assert "alert(1)" not in text and len(re.findall(r"<script>", text)) == 1
    policy = re.search(r'<meta http-equiv="Content-Security-Policy" content="([^"]*)"', text)[1]
    assert "default-src 'none'" in policy and re.search(r"script-src 'sha256-[A-Za-z0-9+/=]{44}'(;|$)", policy)
    assert "unsafe-eval" not in policy and text.index("Content-Security-Policy") < text.index("<script")


OPEN, CLOSE = '<script type="application/x-almond-replay">', "</script>"
EVIL = "<script>document.title='EVIL3'</script>"


@pytest.fixture(scope="module")
def replay(tmp_path_factory):
    """A page of ours, and the block of data in it."""
    page = tmp_path_factory.mktemp("replay") / "page.html"
    done = subprocess.run([PROGRAM, "run", "tower", "--steps", "3", "--replay", page], capture_output=True, text=True, timeout=60)
    if "built without its web page" in done.stderr:
        pytest.skip("built without the web page (no npm)")
    assert done.returncode == 0, done.stderr
    text = page.read_text()
    begin = text.index(OPEN)
    return text, text[begin:text.index(CLOSE, begin) + len(CLOSE)]


def test_pages_carry_the_licences_of_what_they_contain(replay, view):
    """The live page, and replays that are sent to others: three.js' notice with its permission, and our own."""
    licence = ROOT / "viewer/node_modules/three/LICENSE"
    texts = [ROOT / "LICENSE", *([licence] if licence.exists() else [])]
    for page in (replay[0], ask(view)[2].decode()):
        for text in texts:
            assert text.read_text(encoding="utf-8").strip() in page, text
        assert "Permission is hereby granted, free of charge" in page and "three.js authors" in page


def foreign(block):
    return f"<html><head></head><body onload=\"document.title='EVIL3'\">{EVIL}{block}{EVIL}</body></html>{EVIL}"


def test_of_a_foreign_replay_only_the_data_are_served(replay, tmp_path):
    """Its scripts would run at our address: what is served is our own page with those data, to the last byte."""
    ours, block = replay
    page = tmp_path / "evil.html"
    for text in (foreign(block), ours.replace("<head>", "<head>" + EVIL), ours):
        page.write_text(text)
        process, address = start(shown=page)
        try:
            status, _, body = ask(int(address.rstrip("/").rsplit(":", 1)[1]))
            assert status == 200 and body.decode() == ours
        finally:
            end(process)


def test_of_a_foreign_replay_only_the_data_are_compared(replay, tmp_path):
    ours, block = replay
    page, both = tmp_path / "evil.html", tmp_path / "both.html"
    page.write_text(foreign(block))
    subprocess.run([PROGRAM, "compare", page, page, "--replay", both], check=True, capture_output=True, timeout=60)
    assert both.read_text() == ours.replace(block, block + block)


def test_damaged_replays_are_told_at_the_terminal(replay, tmp_path):
    data = replay[1][len(OPEN):-len(CLOSE)]
    unpacked = gzip.decompress(base64.b64decode(data))
    page = tmp_path / "page.html"

    def packed(what):
        return base64.b64encode(gzip.compress(what)).decode()

    for damaged in (data[: len(data) // 2], EVIL[:-9], "H4sI", packed(b"EVIL3"), packed(b"almondR2" + unpacked[8:]), packed(unpacked[:12] + b"{" * 100 + unpacked[112:]), ""):
        page.write_text(foreign(OPEN + damaged + CLOSE))
        done = subprocess.run([PROGRAM, "view", page, "--no-browser"], capture_output=True, text=True, timeout=20)
        assert done.returncode == 2 and done.stdout == "" and len(done.stderr.splitlines()) == 1, done.stderr
        assert str(page) in done.stderr and ("damaged" in done.stderr or "expected" in done.stderr)
