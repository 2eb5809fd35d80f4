"""Who gets in: every port that a running twin opens, tried without the page's token, by programs and in a browser."""

import http.client
import http.server
import json
import os
import socket
import subprocess
import threading
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict
from pathlib import Path

import msgspec
import numpy as np
import pytest
import viser
from browser import CHROMIUM, chromium
from patience import free_domain, free_port, wait_for
from websockets.datastructures import Headers
from websockets.http11 import Request
from websockets.sync.client import connect
from websockets.typing import Origin

from tests.oracles.visitor import PROTOCOL
from thenar.errors import BadFile, BadValue, ThenarError
from thenar.twin.live_twin import LiveTwin
from thenar.twin.page.page_link import PageLink
from thenar.twin.page.tls_certificate import fingerprint, make_certificate
from thenar.twin.serve_config import LOCAL_HOSTS, PageOptions, complete
from thenar.twin.serving import serve
from thenar.view.access_gate import AccessGate, PageServer
from thenar.wire.codecs import status_codec
from thenar.wire.wire_config import ModbusOptions

HAND = "inspire_right"
TOKEN = "let-me-in"
SLOW_S = 90.0
in_a_browser = [
    pytest.mark.skipif(not CHROMIUM, reason="no Chromium; on Debian: apt-get install chromium"),
    pytest.mark.xdist_group("browser"),  # one browser at a time
]


# One request.


def gate(*, names: frozenset[str] | None = LOCAL_HOSTS, secure: bool = False) -> AccessGate:
    return AccessGate(names=names, token=TOKEN, secure=secure)


def asks(path: str = f"/?token={TOKEN}", **headers: str) -> Request:
    return Request(path, Headers({name.replace("_", "-"): value for name, value in headers.items()}))


def status(answer: object) -> int:
    return 200 if answer is None else answer.status_code  # pyright: ignore[reportAttributeAccessIssue]


def test_the_gate_wants_the_token_once_and_then_knows_the_browser():
    door = gate()
    assert status(door.check(asks("/", Host="127.0.0.1:8080"))) == 401
    assert status(door.check(asks("/?token=guess", Host="127.0.0.1:8080"))) == 401
    right = door.check(asks(Host="127.0.0.1:8080"))
    assert right is not None
    assert right.status_code == 303
    assert right.headers["Location"] == "/"
    cookie = right.headers["Set-Cookie"].partition(";")[0]
    assert door.check(asks("/", Host="127.0.0.1:8080", Cookie=cookie, Origin="http://127.0.0.1:8080")) is None
    assert status(door.check(asks("/", Host="127.0.0.1:8080", Cookie=cookie.replace(TOKEN, "guess")))) == 401
    assert door.refused == 3


def test_the_gate_refuses_another_site_and_another_name_even_with_the_token():
    door = gate()
    assert status(door.check(asks(Host="127.0.0.1:8080", Origin="http://evil.example"))) == 403
    assert status(door.check(asks(Host="127.0.0.1:8080", Origin="http://127.0.0.1:9090"))) == 403
    assert status(door.check(asks(Host="127.0.0.1:8080", Origin="null"))) == 403  # a frame that hides its site
    assert status(door.check(asks(Host="evil.example:8080"))) == 403  # a name that was made to point here
    assert status(gate(names=None).check(asks(Host="robot:8080"))) == 303  # over TLS, under any name


def test_two_pages_of_one_host_have_cookies_of_their_own():
    first, second = (gate().check(asks(Host=f"localhost:{port}")) for port in (8080, 8081))
    assert first is not None
    assert second is not None
    names = {answer.headers["Set-Cookie"].partition("=")[0] for answer in (first, second)}
    assert len(names) == 2


def test_a_cookie_over_tls_never_travels_without():
    answer = gate(secure=True).check(asks(Host="localhost:8080"))
    assert answer is not None
    assert "; Secure" in answer.headers["Set-Cookie"]


def test_what_a_browser_was_started_with_opens_the_page_one_time():
    door = gate()
    once = f"/?token={door.once}"
    answers = [door.check(asks(once, Host="localhost:8080")) for _ in range(2)]
    assert [status(answer) for answer in answers] == [303, 401]
    assert status(door.check(asks("/?token=", Host="localhost:8080"))) == 401


@pytest.mark.parametrize(
    "headers",
    [
        [("Host", "[")],
        [("Host", "127.0.0.1:x")],
        [("Host", "127.0.0.1"), ("Origin", "http://[")],
        [("Host", "127.0.0.1"), ("Origin", "//]")],
        [("Host", "127.0.0.1"), ("Host", "evil.example")],
        [("Host", "127.0.0.1"), ("Origin", "http://127.0.0.1"), ("Origin", "http://evil.example")],
        [("Host", "127.0.0.1"), ("Cookie", "a=1"), ("Cookie", "b=2")],
    ],
)
def test_an_address_that_is_none_or_two_is_refused(headers: list[tuple[str, str]]):
    many = Headers()
    for name, value in headers:
        many[name] = value
    assert status(gate().check(Request(f"/?token={TOKEN}", many))) == 400


# Options.


def test_options_that_cannot_be_are_refused_before_anything_starts(tmp_path: Path):
    with pytest.raises(BadValue, match="letters, digits"):
        complete(PageOptions(token="a b"))
    with pytest.raises(BadValue, match="port"):
        complete(PageOptions(port=70000))
    rubbish = tmp_path / "rubbish.pem"
    rubbish.write_text("no certificate")
    for file in (rubbish, tmp_path / "absent.pem"):
        with pytest.raises(BadFile, match="--certificate"):
            complete(PageOptions(certificate=file))


def test_every_page_has_a_token_of_its_own_that_is_not_printed_with_its_options():
    first, second = complete(PageOptions()), complete(PageOptions())
    assert first.certificate is None
    assert len({first.token, second.token, ""}) == 3
    assert first.token not in repr(first)


def test_a_certificate_is_made_once_and_only_its_owner_reads_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    first = complete(PageOptions(host="0.0.0.0")).certificate
    assert first is not None
    assert first.stat().st_mode & 0o077 == 0
    printed = subprocess.run(
        ["openssl", "x509", "-in", first, "-noout", "-fingerprint", "-sha256"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert printed.stdout.strip().endswith(fingerprint(first))
    assert make_certificate() == first
    assert list(first.parent.iterdir()) == [first]


def test_without_openssl_the_way_through_a_tunnel_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(ThenarError, match="ssh -L"):
        complete(PageOptions(host="0.0.0.0"))


# Every port.


def page_of(twin: LiveTwin) -> PageLink:
    return next(link for link in twin.links if isinstance(link, PageLink))


def target_rad(twin: LiveTwin) -> np.ndarray:
    return twin.run_on_loop(lambda world: world.settings(HAND).target_rad)


def ports(pid: int | None, kind: str) -> set[int]:
    """Ports at which a process listens (``tcp``) or hears datagrams (``udp``)."""
    sockets = set()
    for fd in Path(f"/proc/{pid}/fd").iterdir():
        try:
            sockets.add(os.readlink(fd))
        except OSError:
            continue
    found = set()
    for table in (kind, f"{kind}6"):
        for line in Path(f"/proc/{pid}/net/{table}").read_text().splitlines()[1:]:
            fields = line.split()
            if f"socket:[{fields[9]}]" in sockets and fields[3] == ("0A" if kind == "tcp" else "07"):
                found.add(int(fields[1].rpartition(":")[2], 16))
    return found


@pytest.fixture(scope="module")
def twin() -> Iterator[LiveTwin]:
    with serve(
        HAND,
        wires=["inspire", "dfx", "modbus", "rs485", "tienkung"],
        domain=free_domain(),
        modbus=ModbusOptions(port=free_port()),
        scene="empty",
        view=True,
        page=PageOptions(port=0),
    ) as made:
        yield made


def test_the_page_opens_one_port_and_the_hands_open_those_of_their_protocols(twin: LiveTwin):
    page, modbus = page_of(twin), next(link for link in twin.links if link.wire == "modbus")
    own = int(page.process.address.rpartition(":")[2])
    assert ports(page.process.pid, "tcp") == {own}
    assert ports(page.process.pid, "udp") == set()
    assert ports(os.getpid(), "tcp") == {port for _, port in modbus.addresses.values()}  # pyright: ignore[reportAttributeAccessIssue]


def test_no_tcp_port_lets_a_local_user_in_without_the_token(twin: LiveTwin):
    before = target_rad(twin)
    for port in ports(page_of(twin).process.pid, "tcp") | ports(os.getpid(), "tcp"):
        with pytest.raises((urllib.error.HTTPError, OSError, http.client.HTTPException)) as refused:
            urllib.request.urlopen(f"http://127.0.0.1:{port}/", timeout=20)
        assert not isinstance(refused.value, urllib.error.HTTPError) or refused.value.code == 401
        for origin in (None, Origin(f"http://127.0.0.1:{port}"), Origin("http://evil.example")):
            with pytest.raises(Exception, match=r"401|403|did not receive a valid HTTP response"):
                connect(f"ws://127.0.0.1:{port}", origin=origin, subprotocols=[PROTOCOL]).close()
    assert np.array_equal(target_rad(twin), before)


def test_the_token_opens_the_page_and_stays_out_of_what_others_are_told(twin: LiveTwin):
    page = page_of(twin)
    browser = urllib.request.build_opener(urllib.request.HTTPCookieProcessor())
    with browser.open(page.url, timeout=20) as answer:
        assert answer.status == 200
        assert answer.url == f"{page.process.address}/"
        assert answer.headers["X-Frame-Options"] == "DENY"
        assert b"<html" in answer.read()
    assert twin.page_url == page.url
    token = page.url.partition("token=")[2]
    assert len(token) > 20
    assert token not in json.dumps(asdict(twin.health()), default=str)
    assert token.encode() not in status_codec.encode_status(twin.health())


def test_a_second_request_on_an_open_connection_is_not_answered(twin: LiveTwin):
    page = page_of(twin)
    host, _, port = page.process.address.removeprefix("http://").rpartition(":")
    token, refused = page.url.partition("token=")[2], page_of(twin).health().refused
    first = f"GET / HTTP/1.1\r\nHost: {host}:{port}\r\nCookie: thenar_token_{port}={token}\r\n\r\n"
    second = "GET /?second HTTP/1.1\r\nHost: evil.example\r\n\r\n"
    with socket.create_connection((host, int(port)), timeout=20) as line:
        line.sendall(first.encode())
        said = line.recv(100)
        with suppress(OSError):  # it has hung up
            line.sendall(second.encode())
            while data := line.recv(65536):
                said += data
    assert said.count(b"HTTP/1.1 ") == 1
    assert said.startswith(b"HTTP/1.1 200")
    assert page_of(twin).health().refused == refused


def test_a_viewer_that_goes_around_the_gate_is_not_started(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(viser.ViserServer, "__init__", lambda *_, **__: None)
    with socket.create_server(("127.0.0.1", 0)) as listener, pytest.raises(RuntimeError, match="gate"):
        PageServer(gate(), listener, None)


def test_a_visitor_cannot_open_the_twin_to_the_internet(monkeypatch: pytest.MonkeyPatch):
    tunnels, asked, ask = [], threading.Event(), PageServer.request_share_url

    def heard(server: PageServer) -> None:
        ask(server)
        asked.set()

    monkeypatch.setattr("viser._tunnel.ViserTunnel", lambda *_: tunnels.append("opened"))
    monkeypatch.setattr(PageServer, "request_share_url", heard)
    server = PageServer(gate(), socket.create_server(("127.0.0.1", 0)), None)
    try:
        url = f"ws://127.0.0.1:{server.get_port()}/?token={TOKEN}"
        with connect(url, subprotocols=[PROTOCOL], max_size=None) as line:
            line.send(msgspec.msgpack.encode({"type": "ShareUrlRequest"}))
            assert asked.wait(20.0)
    finally:
        server.stop()
    assert not tunnels


# In a browser.

TRY = """
(async () => {
    const ports = %s, found = {};
    const socket = url => new Promise(done => {
        const line = new WebSocket(url, [%s]);
        line.onopen = () => done("open");
        line.onerror = () => done("refused");
    });
    for (const port of ports) {
        const tried = found[port] = [];
        for (const mode of ["cors", "no-cors"]) {
            for (const host of ["127.0.0.1", "localhost"]) {
                const options = {mode, credentials: "include"};
                try { tried.push((await fetch(`http://${host}:${port}/`, options)).type); }
                catch { tried.push("refused"); }
                try {
                    const body = new Uint8Array([0, 1, 0, 0, 0, 6, 1, 6, 5, 0xCE, 0, 0]);  // Modbus: close the hand
                    tried.push((await fetch(`http://${host}:${port}/`, {...options, method: "POST", body})).type);
                } catch { tried.push("refused"); }
            }
        }
        tried.push(await socket(`ws://127.0.0.1:${port}/`), await socket(`ws://localhost:${port}/`));
        const frame = document.createElement("iframe");
        frame.src = `http://127.0.0.1:${port}/`;
        await new Promise(done => { frame.onload = done; document.body.append(frame); setTimeout(done, 3000); });
    }
    return found;
})()
"""


@contextmanager
def strange_site() -> Iterator[str]:
    """A web page of somebody else."""

    class Page(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.send_header("Content-Type", "text/html")
            self.end_headers()
            self.wfile.write(b"<!doctype html><body>a strange page</body>")

        def log_message(self, format: str, *_: object) -> None:
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Page)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://localhost:{server.server_port}/"
    finally:
        server.shutdown()
        server.server_close()


class TestInABrowser:
    pytestmark = in_a_browser

    def test_a_strange_page_reaches_nothing_even_when_the_visitor_is_let_in(self, twin: LiveTwin):
        page, before = page_of(twin), target_rad(twin)
        refused = sum(page.health().refused.values())
        opened = ports(page.process.pid, "tcp") | ports(os.getpid(), "tcp")
        with strange_site() as site, chromium((900, 600)) as open_tab:
            own = open_tab(page.url)
            own.wait_text("inspire right", SLOW_S)  # the control: who has the token is let in, and keeps the cookie
            for host in ("localhost", "127.0.0.1"):  # another site, and one that browsers give the cookie to
                strange = open_tab(site.replace("localhost", host))
                strange.wait_text("a strange page")
                found = strange.run(TRY % (json.dumps(sorted(opened)), json.dumps(PROTOCOL)))
                assert set(map(int, found)) == opened
                for port, tried in found.items():  # opaque is an answer that the page cannot read
                    assert set(tried) <= {"refused", "opaque"}, (host, port, tried)
            assert not wait_for(lambda: page.health().listeners > 1, 4.0)  # no frame comes alive
        assert wait_for(lambda: sum(page.health().refused.values()) > refused)
        assert np.array_equal(target_rad(twin), before)

    def test_over_tls_the_token_opens_the_page_and_nobody_on_the_way_reads_it(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ):
        monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
        options = {"wires": [], "scene": "empty", "view": True}
        with serve(HAND, **options, page=PageOptions(host="0.0.0.0", port=0, token=TOKEN)) as twin:
            page = page_of(twin)
            port = int(page.process.address.rpartition(":")[2])
            with pytest.raises((OSError, http.client.HTTPException)):
                urllib.request.urlopen(f"http://127.0.0.1:{port}/?token={TOKEN}", timeout=20)
            with listening_in(port) as (way, overheard), chromium((900, 600)) as open_tab:
                url = f"https://127.0.0.1:{way}/?token={TOKEN}"
                wary = open_tab(url)
                assert wait_for(lambda: overheard, SLOW_S)
                tab = open_tab("about:blank")
                tab.call("Security.setIgnoreCertificateErrors", ignore=True)
                tab.go(url)
                tab.wait_text("inspire right", SLOW_S)
                assert tab.run("location.href") == f"https://127.0.0.1:{way}/"
                assert wait_for(lambda: tab.frames > 20, SLOW_S)
                assert "inspire right" not in wary.text()  # nobody vouches for the certificate
                assert any(seen.startswith("wss://") for seen in tab.requested)
            assert TOKEN.encode() not in b"".join(overheard)

    def test_a_listener_on_the_way_would_read_the_token_without_tls(self, twin: LiveTwin):
        page = page_of(twin)  # the control of the test above
        port, token = int(page.process.address.rpartition(":")[2]), page.url.partition("token=")[2]
        with listening_in(port) as (way, overheard):
            browser = urllib.request.build_opener(urllib.request.HTTPCookieProcessor())
            assert browser.open(f"http://127.0.0.1:{way}/?token={token}", timeout=20).status == 200
        assert token.encode() in b"".join(overheard)


@contextmanager
def listening_in(port: int) -> Iterator[tuple[int, list[bytes]]]:
    """A port that passes everything on to another one and writes it down."""
    overheard: list[bytes] = []

    def copy(source: socket.socket, target: socket.socket) -> None:
        try:
            while data := source.recv(65536):
                overheard.append(data)
                target.sendall(data)
        except OSError:
            pass
        finally:
            for end in (source, target):
                with suppress(OSError):
                    end.shutdown(socket.SHUT_RDWR)

    def accept() -> None:
        while True:
            try:
                near, _ = server.accept()
            except OSError:
                return
            far = socket.create_connection(("127.0.0.1", port))
            for pair in ((near, far), (far, near)):
                threading.Thread(target=copy, args=pair, daemon=True).start()

    with socket.create_server(("127.0.0.1", 0)) as server:
        threading.Thread(target=accept, daemon=True).start()
        yield server.getsockname()[1], overheard
        server.shutdown(socket.SHUT_RDWR)
