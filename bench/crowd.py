"""Clients of a twin in processes of their own: honest ones, and a crowd that comes, goes, dies and sends rubbish."""

from __future__ import annotations

import contextlib
import itertools
import os
import random
import socket
import struct
import time
import urllib.request
from dataclasses import dataclass
from multiprocessing.synchronize import Event
from typing import Any

from tests.raw_rtps_peer import RawPeer
from thenar import hands
from thenar.errors import ThenarError
from thenar.glove.glove_socket import GloveSender
from thenar.glove.make import make_log
from thenar.wire.clients.inspire_clients import InspireClient
from thenar.wire.clients.modbus_client import ModbusHand
from thenar.wire.codecs import inspire_codec, tienkung_codec
from thenar.wire.codecs.inspire_codec import Ctrl, Mode
from thenar.wire.rtps import Participant, Qos, Sample, messages, ros
from thenar.wire.rtps.messages import CYCLONE_VENDOR
from thenar.wire.rtps.network import unicast_ports
from thenar.wire.rtps.services import ServiceNames

DRIVEN, LEFT_ALONE = "inspire_left", "inspire_right"
"""The hand that honest clients move, and the one that nobody asks to move."""
COMMAND_HZ = 50.0
CALLS_HZ = 20.0
POLL_HZ = 10.0
TELL_S = 20.0  # how often an honest client tells what it has counted so far
GAP_S = 0.5  # a silence that is told
ANSWERED_S = 3.0  # in which a call must be answered
STRANGERS_NICE = 15  # in the world strangers have machines of their own
NAMES = ServiceNames(request_topic="a", request_type="b", reply_topic="c", reply_type="d")


@dataclass(frozen=True, kw_only=True)
class Places:
    """Where a twin is reached."""

    domain: int
    modbus_port: int
    """Of the first hand."""
    serial: str
    page: str
    glove_port: int


def drive(where: Places, stop: Event, answer: Any) -> None:
    """An honest DDS client: opens and closes one hand, and tells when it heard nothing for long."""
    with Participant(where.domain, name="honest") as participant:
        client = InspireClient(participant, hands.load(DRIVEN))
        client.wait_until_heard(20.0)
        began_s, beat = time.monotonic(), 0
        heard, heard_s = client.state_messages, began_s
        gaps_s: list[tuple[float, float]] = []

        def tally() -> dict[str, Any]:
            return {"sent": beat, "states": heard, "gaps_s": gaps_s}

        while not stop.is_set():
            beat += 1
            angle = 300 if (beat // 150) % 2 else 900
            client.send(Ctrl(angle=[angle] * 5 + [200], speed=[500] * 6, mode=Mode.ANGLE | Mode.SPEED))
            now_s = time.monotonic()
            if client.state_messages != heard:
                if now_s - heard_s > GAP_S:
                    gaps_s.append((heard_s, now_s))
                heard, heard_s = client.state_messages, now_s
            time.sleep(max(0.0, began_s + beat / COMMAND_HZ - now_s))
            if beat % int(COMMAND_HZ * TELL_S) == 0:
                answer.send(tally())
        gaps_s.append((heard_s, time.monotonic()))
    answer.send(tally())


def call(where: Places, stop: Event, answer: Any) -> None:
    """An honest ROS 2 program: calls a service and counts how often each call was answered."""
    service = next(one for one in tienkung_codec.SERVICES if one.name == "get_angle_act")
    names = ros.service_names(tienkung_codec.service_path(service.name, "left"), service.type_name)
    answers: dict[int, int] = {}
    sent_s: dict[int, float] = {}

    def on_reply(sample: Sample) -> None:
        identity = sample.inline.get(0x0083) or sample.inline.get(0x800F, b"")
        number = struct.unpack_from("<iI", identity, 16)[1] if len(identity) >= 24 else -1
        answers[number] = answers.get(number, 0) + 1

    def tally() -> dict[str, Any]:
        until_s = time.monotonic() - ANSWERED_S  # later ones may still be answered
        old = [number for number, at_s in sent_s.items() if at_s < until_s]
        counts = [answers.get(number, 0) for number in old]
        return {
            "calls": len(old),
            "answered_once": counts.count(1),
            "answered_more": len(old) - counts.count(1) - counts.count(0),
            "unanswered_s": [sent_s[number] for number in old if number not in answers],
        }

    with Participant(where.domain, name="caller") as participant:
        # It does not wait for answers, so it keeps what a network thread that stands for seconds cannot take.
        writer = participant.advertise(names.request_topic, names.request_type, qos=Qos(depth=256))
        reader = participant.subscribe(names.reply_topic, names.reply_type, on_reply)
        writer.wait_for_readers(20.0)
        reader.wait_for_writers(20.0)
        time.sleep(1.0)
        began_s, calls = time.perf_counter(), 0
        while not stop.is_set():
            sent_s[writer.write(bytes(1))] = time.monotonic()
            calls += 1
            time.sleep(max(0.0, began_s + calls / CALLS_HZ - time.perf_counter()))
            if calls % int(CALLS_HZ * TELL_S) == 0:
                answer.send(tally())
        time.sleep(ANSWERED_S + 0.5)
    answer.send(tally())


def poll(where: Places, stop: Event, answer: Any) -> None:
    """An honest Modbus client: reads every register of both hands, again and again."""
    polls = failed = 0
    lines = [
        ModbusHand(hands.load(name), host="127.0.0.1", port=where.modbus_port + n)
        for n, name in enumerate((DRIVEN, LEFT_ALONE))
    ]
    for turn in itertools.count(1):
        for line in lines:
            try:
                line.readings()
                line.taxel_counts()
                polls += 1
            except ThenarError:
                failed += 1
        if turn % int(POLL_HZ * TELL_S) == 0:
            answer.send({"polls": polls, "failed": failed})
        if stop.wait(1.0 / POLL_HZ):
            break
    for line in lines:
        line.close()
    answer.send({"polls": polls, "failed": failed})


def wave(where: Places, stop: Event, answer: Any) -> None:
    """An honest glove, whose frames a teleoperation program takes; it moves the driven hand too."""
    sender, log, sent = GloveSender(port=where.glove_port), make_log(("fist", "wave"), side="left"), 0
    while not stop.is_set():
        for frame in log:
            sender.send(frame)
            sent += 1
            if sent % int(60 * TELL_S) == 0:
                answer.send({"frames": sent})
            if stop.wait(1.0 / 60.0):
                break
    sender.close()
    answer.send({"frames": sent})


def misbehave(where: Places, seed: int) -> None:
    """One of the crowd: does one bad thing after another until it is killed."""
    os.nice(STRANGERS_NICE)
    luck = random.Random(seed)
    while True:
        with contextlib.suppress(Exception):  # the twin may hang up on it in any way
            luck.choice(MISDEEDS)(where, luck)
        time.sleep(luck.uniform(0.0, 0.1))


def _strange_datagrams(where: Places, luck: random.Random) -> None:
    """Datagrams of participants that do not exist, some of them nearly right."""
    meta, user = unicast_ports(where.domain, 0)
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as out:
        for _ in range(200):
            head = b"RTPS\x02\x03" + CYCLONE_VENDOR + luck.randbytes(12)
            kind = luck.choice((0x06, 0x07, 0x08, 0x12, 0x13, 0x15, 0x16))
            body = luck.randbytes(luck.choice((0, 8, 24, 60, 1000)))
            sub = struct.pack("<BBH", kind, luck.choice((1, 5, 7)), len(body)) + body
            out.sendto(head + sub * luck.choice((1, 1, 20)), ("127.0.0.1", luck.choice((meta, user))))


def _wrong_samples(where: Places, luck: random.Random) -> None:
    """A peer that is matched with the topics of a hand, and writes what is no message there."""
    topic = inspire_codec.topic("ctrl", luck.choice(("left", "right")))
    with Participant(where.domain, name=f"\x1b[2Jbad {luck.random()}") as participant:
        writer = participant.advertise(topic, inspire_codec.COMMANDS[topic])
        writer.wait_for_readers(3.0)
        for _ in range(50):
            writer.write(luck.randbytes(luck.choice((0, 3, 7, 300))) + b"\xff\xff\xff\xff")
        if luck.random() < 0.3:
            os._exit(9)  # dies without a farewell


def _spoofed_farewell(where: Places, _luck: random.Random) -> None:
    """Says farewell in the name of somebody that it has seen."""
    with Participant(where.domain, name="spy") as spy:
        time.sleep(0.7)
        seen = [*spy._directory.peers]
    for prefix in seen:
        peer = RawPeer(where.domain, NAMES, vendor=CYCLONE_VENDOR)
        peer.prefix = prefix
        peer.take_leave()
        peer.close()


def _modbus_rubbish(where: Places, luck: random.Random) -> None:
    """Connects, asks for what there is not, hangs up in the middle, or stays and says nothing."""
    with socket.create_connection(("127.0.0.1", where.modbus_port + luck.randrange(2)), timeout=1.0) as line:
        for _ in range(luck.randrange(40)):
            pdu = bytes([luck.choice((1, 2, 4, 5, 43, 99))]) + luck.randbytes(luck.randrange(20))
            line.sendall(struct.pack(">HHHB", luck.randrange(65536), luck.choice((0, 0, 7)), len(pdu) + 1, 1) + pdu)
        line.sendall(luck.randbytes(luck.randrange(6)))
        time.sleep(luck.choice((0.0, 0.0, 1.0)))


def _serial_noise(where: Places, luck: random.Random) -> None:
    """Noise on the serial line; frames in it have wrong sums."""
    line = os.open(where.serial, os.O_RDWR | os.O_NOCTTY | os.O_NONBLOCK)
    try:
        for _ in range(20):
            os.write(line, luck.choice((b"", b"\xeb\x90")) + b"\x7f" + luck.randbytes(luck.randrange(200)))
    finally:
        os.close(line)


def _page_visits(where: Places, luck: random.Random) -> None:
    """Requests to the page without the token, with a wrong one, and heads that never end."""
    address = where.page.partition("/?")[0]
    host, port = address.rpartition("/")[2].split(":")
    if luck.random() < 0.5:
        urllib.request.urlopen(f"{address}/?token={luck.random()}", timeout=1.0).close()
    else:
        with socket.create_connection((host, int(port)), timeout=1.0) as line:
            line.sendall(luck.randbytes(luck.randrange(2000)))


def _visit(where: Places, luck: random.Random) -> None:
    """A visitor that looks at the page for a moment and is gone."""
    from tests.oracles.visitor import Visitor

    visitor = Visitor(where.page)
    time.sleep(luck.uniform(0.2, 2.0))
    if luck.random() < 0.7:
        visitor.close()


def _glove_rubbish(where: Places, luck: random.Random) -> None:
    """Frames of a glove that are none."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as out:
        for _ in range(50):
            side = luck.choice(("up", "left", 7))
            text = (
                f'{{"side": "{side}", "stamp_s": {luck.choice(("NaN", "1e999", luck.random()))}, "position_m": [[1]]}}'
            )
            out.sendto(luck.choice((text.encode(), luck.randbytes(100))), ("127.0.0.1", where.glove_port))


def _look_around(where: Places, _luck: random.Random) -> None:
    """A short-lived honest program: joins, looks, leaves."""
    with Participant(where.domain, name="ros2 topic list"):
        time.sleep(0.6)


MISDEEDS = (
    _strange_datagrams,
    _strange_datagrams,
    _wrong_samples,
    _spoofed_farewell,
    _modbus_rubbish,
    _modbus_rubbish,
    _serial_noise,
    _page_visits,
    _visit,
    _glove_rubbish,
    _look_around,
)


def flood(where: Places, ports: int, rate_hz: float, stop: Event, answer: Any) -> None:
    """Datagrams without end from many source ports: RTPS with made-up senders, as fast as asked."""
    meta, user = unicast_ports(where.domain, 0)
    sockets = [socket.socket(socket.AF_INET, socket.SOCK_DGRAM) for _ in range(ports)]
    luck = random.Random(ports)
    rtps = messages.heartbeat(bytes(4), b"\0\0\1\3", 1, 9, 1, final=False) + messages.info_ts(1.0)
    datagrams = [b"RTPS\x02\x03" + CYCLONE_VENDOR + luck.randbytes(12) + rtps for _ in range(64)]
    for one in sockets:
        one.setblocking(False)
    sent, began_s = 0, time.perf_counter()
    while not stop.is_set():
        due = int((time.perf_counter() - began_s) * rate_hz)
        for _ in range(min(due - sent, 500)):
            with contextlib.suppress(OSError):
                to = ("127.0.0.1", user if sent % 2 else meta)
                sockets[sent % ports].sendto(datagrams[sent % len(datagrams)], to)
            sent += 1
        time.sleep(0.002)
    answer.send({"sent": sent, "seconds": time.perf_counter() - began_s})
    for one in sockets:
        one.close()
