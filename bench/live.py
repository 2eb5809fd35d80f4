"""The live twin measured: does it keep time while clients of every kind talk to it, and what does a message cost."""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import random
import resource
import struct
import time
from dataclasses import dataclass
from multiprocessing.synchronize import Event
from pathlib import Path
from typing import Any

import numpy as np

from thenar import hands
from thenar.errors import ThenarError
from thenar.twin.serving import serve
from thenar.wire.clients.domain_survey import local_domains
from thenar.wire.clients.inspire_clients import InspireClient
from thenar.wire.clients.modbus_client import ModbusHand
from thenar.wire.codecs import inspire_codec, tienkung_codec
from thenar.wire.codecs.inspire_codec import Ctrl, Mode, TouchLayout
from thenar.wire.links.dds_link import send
from thenar.wire.rtps import SENSOR_DATA, Participant, Qos, ros
from thenar.wire.wire_config import ModbusOptions

BOTH = ("inspire_left", "inspire_right")
TOUCH = inspire_codec.topic("touch", "right")
COMMAND_HZ = 100.0
POLL_HZ = 25.0
CALLS_HZ = 500.0


@dataclass(frozen=True, kw_only=True)
class Soak:
    """A run with both hands grasping, a DDS client at 100 Hz on each and a Modbus client polling each."""

    minutes: float
    real_time_factor: float
    ticks: int
    late_percent: float
    """Ticks that began more than 5 ms late."""
    worst_late_ms: float
    state_hz: float
    touch_hz: float
    command_median_ms: float
    """From a command's arrival to the motors seeing it."""
    command_p99_ms: float
    client_states_hz: float
    """State messages that reached the DDS clients, per second and hand."""
    client_touches_hz: float
    memory_growth_mb: float
    """Of the twin's process, after the first tenth of the run."""


@dataclass(frozen=True, kw_only=True)
class MessageCost:
    """Encoding and writing one touch message, in one run, to a reader in another process."""

    ours_us: float
    library_us: float
    ratio: float


def measure_message(rounds: int = 5, messages: int = 500) -> MessageCost:
    """Our encoder and participant against the objects and the writer of `cyclonedds`, each with the same reader."""
    from cyclonedds.domain import Domain, DomainParticipant
    from cyclonedds.pub import DataWriter
    from cyclonedds.topic import Topic

    from tests.oracles.idl_types import InspireTouch
    from tests.peers.loopback import CONFIG

    layout = TouchLayout.of(hands.load("inspire_right"))
    taxels = np.arange(1062) % 4096
    domain = _free_domain()
    with Participant(domain) as participant, in_a_process(_read_touch, domain):
        out = participant.advertise(TOUCH, inspire_codec.STATES[TOUCH], qos=Qos(depth=1))
        _opened = Domain(domain, CONFIG)  # stays open for as long as it is referred to
        them = DomainParticipant(domain)
        library_out = DataWriter(them, Topic(them, TOUCH, InspireTouch))
        until_s = time.perf_counter() + 20.0
        while not (out.wait_for_readers(0.1) and library_out.get_matched_subscriptions()):
            if time.perf_counter() > until_s:
                raise ThenarError("no reader came; is loopback up?")
        words = inspire_codec.touch_words(layout, taxels).tolist()
        firsts = np.cumsum((0, *layout.sizes))
        fields = {
            name: words[first : first + size]
            for (name, _), first, size in zip(inspire_codec.TOUCH_FIELDS, firsts, layout.sizes, strict=False)
        }

        def ours() -> None:
            send(out, inspire_codec.encode_touch(layout, taxels))

        def library() -> None:
            library_out.write(InspireTouch(**fields))

        best = {ours: np.inf, library: np.inf}
        for _ in range(rounds):
            for call in best:
                began_s = time.perf_counter()
                for _ in range(messages):
                    call()
                best[call] = min(best[call], (time.perf_counter() - began_s) / messages)
    return MessageCost(
        ours_us=round(1e6 * best[ours], 1),
        library_us=round(1e6 * best[library], 1),
        ratio=round(best[library] / best[ours], 2),
    )


def soak(minutes: float) -> Soak:
    """Run the twin with clients that never rest."""
    domain, port = _free_domain(), random.randrange(20000, 30000)
    with serve(
        BOTH,
        wires=("inspire", "dfx", "modbus"),
        domain=domain,
        modbus=ModbusOptions(port=port),
        state_hz=100.0,
        touch_hz=100.0,
    ) as twin:
        with in_a_process(_command, domain) as heard, in_a_process(_poll, port):
            time.sleep(6.0 * minutes)
            early_mb = _memory_mb()
            time.sleep(54.0 * minutes)
            health, late_mb = twin.health(), _memory_mb()
        states, touches, talked_s = heard.recv()
    return Soak(
        minutes=minutes,
        real_time_factor=round(health.real_time_factor, 6),
        ticks=health.ticks,
        late_percent=round(100.0 * health.late_ticks / health.ticks, 4),
        worst_late_ms=round(1e3 * health.worst_late_s, 2),
        state_hz=round(health.state_hz[1], 3),
        touch_hz=round(health.touch_hz[1], 3),
        command_median_ms=round(1e3 * health.command_latency_s[0], 3),
        command_p99_ms=round(1e3 * health.command_latency_s[1], 3),
        client_states_hz=round(states / talked_s, 2),
        client_touches_hz=round(touches / talked_s, 2),
        memory_growth_mb=round(late_mb - early_mb, 2),
    )


@dataclass(frozen=True, kw_only=True)
class CallSoak:
    """A run of Tienkung's services called 500 times a second."""

    seconds: float
    calls: int
    answered: int
    late_percent: float
    worst_late_ms: float
    real_time_factor: float


def soak_calls(seconds: float) -> CallSoak:
    """Call a service of a running twin 500 times a second from another process."""
    domain = _free_domain()
    with serve(BOTH, wires=("tienkung",), domain=domain) as twin:
        with in_a_process(_call, domain) as heard:
            time.sleep(seconds)
            health = twin.health()
        calls, answered = heard.recv()
    return CallSoak(
        seconds=seconds,
        calls=calls,
        answered=answered,
        late_percent=round(100.0 * health.late_ticks / health.ticks, 4),
        worst_late_ms=round(1e3 * health.worst_late_s, 2),
        real_time_factor=round(health.real_time_factor, 6),
    )


def _call(domain: int, stop: Event, answer: Any) -> None:
    """A program that calls ``set_force`` 500 times a second and counts the replies."""
    answered: list[bytes] = []
    service = next(s for s in tienkung_codec.SERVICES if s.name == "set_force")
    names = ros.service_names(tienkung_codec.service_path(service.name, "right"), service.type_name)
    with Participant(domain, name="bench caller") as me:
        writer = me.advertise(names.request_topic, names.request_type)
        me.subscribe(names.reply_topic, names.reply_type, lambda sample: answered.append(sample.body))
        writer.wait_for_readers(10.0)
        time.sleep(0.5)
        began_s, calls = time.perf_counter(), 0
        while not stop.is_set():
            writer.write(struct.pack("<6f", *[0.5] * 6))
            calls += 1
            time.sleep(max(0.0, began_s + calls / CALLS_HZ - time.perf_counter()))
        time.sleep(0.5)
    answer.send((calls, len(answered)))


def _command(domain: int, stop: Event, answer: Any) -> None:
    """A DDS client of both hands: opens and closes them at 100 Hz and counts what it hears."""
    with Participant(domain, name="bench client") as participant:
        clients = [InspireClient(participant, hands.load(name)) for name in BOTH]
        for client in clients:
            client.wait_until_heard(10.0)
        began_s = time.perf_counter()
        before = [(client.state_messages, client.touch_messages) for client in clients]
        beat = 0
        while not stop.is_set():
            beat += 1
            angle = 250 if (beat // 300) % 2 else 900
            for client in clients:
                client.send(Ctrl(angle=[angle] * 5 + [100], speed=[400] * 6, mode=Mode.ANGLE | Mode.SPEED))
            time.sleep(max(0.0, began_s + beat / COMMAND_HZ - time.perf_counter()))
        talked_s = time.perf_counter() - began_s
        states = sum(c.state_messages - b[0] for c, b in zip(clients, before, strict=True)) / len(clients)
        touches = sum(c.touch_messages - b[1] for c, b in zip(clients, before, strict=True)) / len(clients)
    answer.send((states, touches, talked_s))


def _poll(port: int, stop: Event, answer: Any) -> None:
    """A Modbus client of both hands that reads every register, again and again."""
    lines = [ModbusHand(hands.load(name), host="127.0.0.1", port=port + n) for n, name in enumerate(BOTH)]
    while not stop.is_set():
        for line in lines:
            line.readings()
            line.taxel_counts()
        time.sleep(1.0 / POLL_HZ)
    for line in lines:
        line.close()
    answer.send(None)


def _read_touch(domain: int, stop: Event, answer: Any) -> None:
    with Participant(domain, name="bench reader") as participant:
        participant.subscribe(TOUCH, inspire_codec.STATES[TOUCH], lambda _: None, qos=SENSOR_DATA)
        stop.wait()
    answer.send(None)


@contextlib.contextmanager
def in_a_process(work: Any, *words: Any) -> Any:
    """Run a client in a process of its own; what it answers at the end can be received."""
    spawn = multiprocessing.get_context("spawn")
    ours, theirs = spawn.Pipe()
    stop = spawn.Event()
    process = spawn.Process(target=work, args=(*words, stop, theirs), daemon=True)
    process.start()
    try:
        yield ours
    finally:
        stop.set()
        process.join(timeout=20.0)


def _memory_mb() -> float:
    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
    return pages * resource.getpagesize() / 1e6


def _free_domain() -> int:
    return random.Random(os.getpid()).choice(sorted(set(range(20, 100)) - local_domains()))
