"""Strangers on the domain, and parts that fail: what is said is cleaned and shown, and no failure goes unnoticed."""

import json
import logging
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from patience import free_port, wait_for
from websockets.sync.client import connect

from tests.oracles.visitor import PROTOCOL
from thenar import cdr, hands
from thenar.cli import main
from thenar.errors import clean_text
from thenar.humanoid.control.robot_config import BodyConfig
from thenar.pace import LogLimit
from thenar.signals import HandSettings, HandState, Request, TouchFrame
from thenar.twin.body.live_body import serve_body
from thenar.twin.live_twin import LiveTwin
from thenar.twin.page.page_link import PageLink
from thenar.twin.page.playback import Playback, made_recordings
from thenar.twin.serve_config import PageOptions
from thenar.twin.serving import serve
from thenar.twin.twin_health import Health
from thenar.twin.world import World
from thenar.wire.clients.domain_survey import find_problems
from thenar.wire.codecs import status_codec
from thenar.wire.links.dds_link import DdsLink
from thenar.wire.links.link_health import LinkHealth
from thenar.wire.rtps import LATCHED, Participant
from thenar.wire.wire_config import ModbusOptions

ESCAPE = "\x1b]0;owned\x07\x1b[2J\u202etfel\n"
STRANGE = (
    "{}", "[]", '"words"', "7", "null", "not JSON", "", "\xff", "[" * 5000, '{"a":' * 40 + "1" + "}" * 40,
    '{"hands": 3, "links": "x"}', '{"hands": {"x": null}}', json.dumps({"time_s": ESCAPE, "hands": {ESCAPE: {}}}),
    json.dumps({"time_s": 1e308, "real_time_factor": 1, "late_ticks": ESCAPE, "ticks": 0, "hands": {}, "links": [],
                "refused": {ESCAPE: 1}, "skipped_s": 0, "diverged": [ESCAPE]}),
)  # fmt: skip


def put_status(participant: Participant, text: str) -> None:
    body = text.encode("latin-1") + b"\x00"
    writer = participant.advertise(status_codec.TOPIC, status_codec.TYPE, qos=LATCHED)
    writer.write(len(body).to_bytes(4, "little") + body)


def test_inspect_survives_what_strangers_say_and_shows_no_escape_sequences(domain: int):
    with ExitStack() as stack:
        strangers = [stack.enter_context(Participant(domain, name=f"stranger{ESCAPE}")) for _ in STRANGE]
        for stranger, text in zip(strangers, STRANGE, strict=True):
            put_status(stranger, text)
        strangers[0].advertise(f"rt/{ESCAPE}", f"a::{ESCAPE}")
        for options in ([], ["--json"]):
            words = ["inspect", "--domain", str(domain), "--seconds", "1", *options]
            done = subprocess.run(
                [sys.executable, "-m", "thenar.cli", *words], capture_output=True, text=True, check=False, timeout=60
            )
            assert done.returncode == 0, done.stderr
            assert not set(done.stdout) & set("\x1b\x07\u202e")
            assert "says is no twin's status" in " ".join(done.stdout.split())
            assert "stranger" in done.stdout


def test_a_strangers_status_is_refused_or_harmless():
    for text in STRANGE:
        body = text.encode("latin-1") + b"\x00"
        message = cdr.HEADER + len(body).to_bytes(4, "little") + body
        try:
            shown = json.dumps(status_codec.decode_status(message), ensure_ascii=False)
        except cdr.BadMessage:
            continue
        assert shown.isprintable()


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("an arm (process 7) on robot", "an arm (process 7) on robot"),
        ("Käse 手", "Käse 手"),
        ("\x1b[31mred\x9b", "\N{REPLACEMENT CHARACTER}[31mred\N{REPLACEMENT CHARACTER}"),
    ],
)
def test_text_from_outside_is_shown_without_what_moves_the_cursor(text: str, shown: str):
    assert clean_text(text).isprintable()
    assert clean_text(text) == shown


def test_text_from_outside_has_an_end():
    assert len(clean_text("x" * 10_000)) == 300


def test_problems_are_told_without_escape_sequences(domain: int):
    with Participant(domain, name=f"a{ESCAPE}") as one, Participant(domain, name=f"b{ESCAPE}") as other:
        one.advertise("rt/inspire/state", f"x{ESCAPE}")
        assert wait_for(lambda: bool(find_problems(list(other.peer_endpoints()))))
        assert all(problem.isprintable() for problem in find_problems(list(other.peer_endpoints())))


def test_a_humanoid_says_that_another_one_is_on_its_domain(domain: int, caplog: pytest.LogCaptureFixture):
    with Participant(domain, name="the robot") as robot, serve_body(BodyConfig(hands=()), domain=domain) as twin:
        assert not wait_for(lambda: twin.health().warnings, 0.8)
        assert twin.node is not None
        robot.advertise(twin.node.names.topic("aurora_state"), "fourier_msgs::msg::AuroraState")
        assert wait_for(lambda: twin.health().warnings)
        assert "the robot" in twin.health().warnings[0]
        assert wait_for(lambda: "take another --domain" in caplog.text)


def test_a_twin_says_that_another_publishes_its_topics_and_forgets_who_has_left(
    domain: int, caplog: pytest.LogCaptureFixture
):
    with serve("inspire_right", wires=("inspire",), scene="empty", domain=domain) as twin:
        assert not wait_for(lambda: twin.health().warnings, 0.8)
        with serve("inspire_right", wires=("inspire",), scene="empty", domain=domain) as other:
            for each in (twin, other):
                assert wait_for(lambda each=each: len(each.health().warnings) == 2)  # of inspire and of sim
            assert "rt/inspire_hand/state/r" in twin.health().warnings[0]
            assert wait_for(lambda: "take another --domain" in caplog.text)
        assert wait_for(lambda: not twin.health().warnings)
        with Participant(domain, name="a client") as client:
            ctrl = client.advertise("rt/inspire_hand/ctrl/r", "inspire::inspire_hand_ctrl")
            assert ctrl.wait_for_readers(10.0)
            ctrl.write(b"")
            assert wait_for(lambda: bool(twin.health().links[0].peers))
        assert wait_for(lambda: not twin.health().links[0].peers)


def test_serve_says_that_it_is_ready_and_warns_of_another_hand_without_a_terminal(domain: int):
    with Participant(domain, name="a real hand") as hand:
        hand.advertise("rt/inspire_hand/state/r", "inspire::inspire_hand_state")
        words = ["serve", "--domain", str(domain), "--hands", "inspire_right", "--wire", "inspire"]
        twin = subprocess.Popen(
            [sys.executable, "-m", "thenar.cli", *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        assert twin.stdout is not None
        assert twin.stderr is not None
        lines = [twin.stdout.readline(), twin.stdout.readline()]
        assert lines[1].startswith(
            f"ready on domain {domain}, lo: inspire at rt/inspire_hand/{{ctrl,state,touch}}/{{r}}"
        )
        assert any("a real hand" in twin.stderr.readline() for _ in range(8))
        twin.send_signal(signal.SIGINT)
        twin.communicate(timeout=20)
        assert twin.returncode == 0


class ToyLink:
    """A link that does nothing, and fails to close when told to."""

    def __init__(self, wire: str, error: Exception | None = None):
        self.wire, self.error, self.closed = wire, error, False

    def receive(self) -> list[Request]:
        return []

    def publish_state(self, hands: Mapping[str, tuple[HandState, HandSettings]]) -> None:
        pass

    def publish_touch(self, frames: Mapping[str, TouchFrame]) -> None:
        pass

    def health(self) -> LinkHealth:
        return LinkHealth(wire=self.wire, where="", listeners=0, written=0, not_written=0, peers=(), refused={})

    def close(self) -> None:
        self.closed = True
        if self.error is not None:
            raise self.error


def test_every_link_is_closed_and_the_first_error_is_raised(caplog: pytest.LogCaptureFixture):
    links = [ToyLink("a", OSError("a stuck")), ToyLink("b", OSError("b stuck")), ToyLink("c")]
    with pytest.raises(OSError, match="a stuck"), LiveTwin(World("fourier_right"), links):
        pass
    assert all(link.closed for link in links)
    assert "b stuck" in caplog.text
    assert "while the b link was closed" in caplog.text


def test_an_error_of_the_loop_is_not_hidden_by_a_link_that_cannot_be_closed():
    links = [ToyLink("a", OSError("a stuck")), ToyLink("b")]

    def fail(_: World) -> None:
        if twin.running:
            raise ZeroDivisionError("in the loop")

    twin = LiveTwin(World("fourier_right"), links, pre_step=fail)
    with pytest.raises(ZeroDivisionError, match="in the loop"), twin:
        assert wait_for(lambda: not twin.running)
    assert all(link.closed for link in links)


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
def test_a_link_whose_thread_has_ended_says_so(domain: int, monkeypatch: pytest.MonkeyPatch):
    port = free_port()
    with serve("inspire_right", wires=("inspire", "modbus"), domain=domain, modbus=ModbusOptions(port=port)) as twin:
        assert twin.health().failed == ()
        inspire = twin.links[0]
        assert isinstance(inspire, DdsLink)

        def die(*_: object) -> None:
            raise SystemExit

        monkeypatch.setattr(inspire._participant._network, "receive", die)
        assert wait_for(lambda: bool(twin.health().failed))
        assert twin.health().failed[0] == f"inspire: its thread rtps-{domain} has ended"
    assert twin.health().failed == ()


def test_a_recording_that_fails_says_so(monkeypatch: pytest.MonkeyPatch):
    told: list[str] = []
    playback = Playback(lambda *_, **__: None, on_error=lambda part, error: told.append(f"{part}: {error}"))

    def fail(*_: object) -> None:
        raise OSError("no glove")

    monkeypatch.setattr("thenar.twin.page.playback.Retargeter", fail)
    playback.start("wave", made_recordings()["wave"], [hands.load("inspire_right")])
    assert wait_for(lambda: told == ["the recording wave on inspire_right: no glove"])
    assert wait_for(lambda: not playback.playing)


def test_a_status_that_cannot_be_sent_is_told_and_the_next_one_is_sent():
    sent = []

    def publish(health: Health) -> None:
        sent.append(health)
        if len(sent) == 1:
            raise OSError("no buffer space")

    with LiveTwin(World("fourier_right"), publish_status=publish) as twin:
        assert wait_for(lambda: len(sent) >= 2)
        assert twin.health().failed == ("health: OSError('no buffer space')",)


@pytest.fixture
def _own_signals() -> Iterator[None]:
    handlers = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    yield
    for number, handler in handlers.items():
        signal.signal(number, handler)


def page_pids() -> list[int]:
    tasks = Path("/proc/self/task").glob("*/children")
    children = [int(pid) for task in tasks for pid in task.read_text(encoding="ascii").split()]
    return [pid for pid in children if b"thenar.view" in Path(f"/proc/{pid}/cmdline").read_bytes()]


@pytest.mark.usefixtures("_own_signals")
def test_a_page_that_is_gone_for_good_is_a_health_field_a_log_line_and_an_exit_code(
    caplog: pytest.LogCaptureFixture, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr("thenar.view.page_process.MAX_QUICK_DEATHS", 1)
    monkeypatch.setattr("thenar.view.page_process.QUICK_DEATH_S", 600.0)

    def kill(page: PageLink) -> None:
        (pid,) = page_pids()
        os.kill(pid, signal.SIGKILL)

    monkeypatch.setattr("thenar.cli.run.serve.Demo.begin", lambda _, page: kill(page))
    words = ["demo", "--hands", "inspire_right", "--wire", "modbus", "--modbus.port", str(free_port())]
    with pytest.raises(SystemExit) as ended:
        main([*words, "--port", "0", "--no-open", "--duration", "2", "--json"])
    assert ended.value.code == 2
    told = capsys.readouterr()
    failure = "the page's process ended 1 times right after its start, the last time killed by signal 9"
    assert json.loads(told.out)["failed"] == [f"page: {failure}"]
    assert failure in " ".join(told.err.split())
    assert failure in caplog.text


def test_a_visitor_cannot_flood_the_log_and_is_counted(caplog: pytest.LogCaptureFixture):
    options = {"wires": ("modbus",), "modbus": ModbusOptions(port=free_port()), "view": True}
    with serve("inspire_right", scene="empty", page=PageOptions(port=0), **options) as twin:
        page = next(link for link in twin.links if isinstance(link, PageLink))
        url = urlsplit(page.url)
        assert url.hostname is not None
        assert url.port is not None
        for _ in range(200):
            with socket.create_connection((url.hostname, url.port)) as visitor:
                visitor.sendall(b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nOrigin: http://[\r\n\r\n")
                assert visitor.recv(4096).startswith(b"HTTP/1.1 400")
        for _ in range(12):  # each one is answered with a traceback
            with connect(page.url.replace("http", "ws", 1), subprotocols=[PROTOCOL], max_size=None) as socket_of_one:
                socket_of_one.send(b"\xff" * 50)
        assert wait_for(lambda: "requests without the token, or from another site" in page.health().refused)
        assert wait_for(lambda: 200 in page.health().refused.values())
        assert wait_for(lambda: "connection handler failed" in caplog.text)
        assert len(caplog.text) < 20_000


def test_what_one_line_of_code_logs_without_end_is_shown_a_few_times_with_the_rest_counted():
    limit, shown = LogLimit(3), []
    for second in (*[0.0] * 100, 59.0, 61.0):
        record = logging.LogRecord("thenar", logging.WARNING, "here.py", 7, "bad %s", ("visitor",), None)
        record.created = 1000.0 + second
        shown += [record.getMessage()] if limit.filter(record) else []
    assert shown == [*["bad visitor"] * 3, "bad visitor (98 more like it were not shown)"]
    elsewhere = logging.LogRecord("thenar", logging.WARNING, "here.py", 8, "another", (), None)
    assert limit.filter(elsewhere)
