"""Passive listener to hands on a wire: their commands, states and touch, with the time they came.

On DDS it is one more reader, and a best-effort one, which confirms nothing: what it sends is discovery (announcements
of itself and its readers, and confirmations of those of others). A Modbus hand speaks only when it is asked, so it is
polled; that is not passive, and `Listener.passive` says so.
"""

from __future__ import annotations

import importlib
import threading
import time
from collections import Counter, deque
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Protocol

import numpy as np

from thenar import cdr
from thenar.arrays import FloatArray
from thenar.errors import BadValue, HandLost, ThenarError, UnknownName, count_reason
from thenar.hands.spec import HandSpec
from thenar.signals import HandCommand, HandState
from thenar.wire.clients.domain_survey import reasons_for_silence
from thenar.wire.clients.wire_taps import Kind, Tap, state_of_readings
from thenar.wire.codecs import inspire_counts
from thenar.wire.links.registry import PROTOCOLS
from thenar.wire.links.type_ids import TYPE_IDS
from thenar.wire.rtps import SENSOR_DATA, Participant, Reader, Sample

if TYPE_CHECKING:
    from thenar.wire.clients.modbus_client import ModbusHand

POLL_S = 0.01  # between two readings of a polled hand, where it answers so fast
TOUCH_EVERY = 4  # readings of a polled hand's motors to one of its skin, which takes ten requests
RECENT = 4096
CONNECT_S = 3.0
"""For so long somebody is looked for."""


class Ear(Protocol):
    """Callback interface of a listener. Calls come on the thread of the wire."""

    def hear(self, hand: str, said: HandCommand | HandState | FloatArray, arrived_s: float) -> None:
        """A command, a state, or the counts of all taxels, and when it came by `time.perf_counter`."""
        ...

    def hear_raw(self, topic: str, type_name: str, message: bytes, arrived_s: float) -> None:
        """A message as it came, with its header."""
        ...


@dataclass(frozen=True, kw_only=True)
class Flow:
    """Messages that came on one topic."""

    topic: str
    kind: Kind
    messages: int
    lost: int
    """Messages that were sent and did not come, by their numbers."""
    arrived_s: FloatArray
    """Times of the newest messages, by `time.perf_counter`."""
    writers: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class Place:
    """Address of hands on a wire."""

    wire: str = "inspire"
    domain: int = 1
    interface: str = "lo"
    peers: tuple[str, ...] = ()
    modbus: tuple[str, ...] = ()
    """HOST:PORT of each hand, where the wire is modbus."""

    def participant(self) -> Participant:
        """A client on this DDS domain."""
        return Participant(self.domain, interface=self.interface, peers=self.peers, name="thenar client")

    def modbus_ports(self, hands: int) -> list[tuple[str, int]]:
        """Host and port of each of some Modbus hands."""
        places = [place.rpartition(":") for place in self.modbus]
        if len(places) != hands or not all(port.isdigit() for _, _, port in places):
            wanted = ",".join(["HOST:PORT"] * hands)
            raise BadValue("--modbus", ",".join(self.modbus), f"{wanted}, such as 127.0.0.1:6000")
        return [(host, int(port)) for host, _, port in places]

    def check(self, found: bool, what: str) -> None:
        """Say what to do if nobody was found."""
        if not found:
            place = f"--domain {self.domain} --interface {self.interface}"
            raise HandLost(
                f"nobody {what} on domain {self.domain}, interface {self.interface}; to see why: thenar inspect {place}"
            )


class Listener:
    """Ears on one wire. Close it, or use it in a ``with``."""

    def __init__(self, hands: Sequence[HandSpec], place: Place, ear: Ear):
        """Begin to listen.

        Args:
            hands: Whom to listen to.
            place: Where.
            ear: Gets everything that is said.
        """
        if place.wire not in PROTOCOLS:
            raise UnknownName("wire", place.wire, PROTOCOLS)
        protocol = PROTOCOLS[place.wire]
        foreign = [spec.name for spec in hands if not protocol.serves(spec)]
        if foreign:
            raise BadValue("hand", ", ".join(foreign), f"hands that speak {place.wire}")
        self.hands, self.place = tuple(hands), place
        self.refused: Counter[str] = Counter()
        """Messages that could not be read, by reason."""
        self._ear = ear
        self._taps: dict[str, Tap] = {}
        self._readers: dict[str, Reader] = {}
        self._arrived_s: dict[str, deque[float]] = {}
        self._counts: Counter[str] = Counter()
        self._news = threading.Condition()
        self._opened = ExitStack()
        self.passive = bool(protocol.taps)
        """Whether nothing but discovery is sent."""
        try:
            if protocol.taps:
                self._join(protocol.taps)
            elif place.wire == "modbus":
                self._poll()
            else:
                listened = ", ".join(name for name, one in PROTOCOLS.items() if one.taps)
                raise BadValue("wire", place.wire, f"one that can be listened to: {listened}, modbus (polled)")
        except BaseException:
            self.close()
            raise

    def __enter__(self) -> Listener:
        """Itself."""
        return self

    def __exit__(self, *_: object) -> None:
        """Stop."""
        self.close()

    def close(self) -> None:
        """Stop listening."""
        self._opened.close()

    def wait_for(self, kind: Kind, timeout_s: float) -> bool:
        """Wait for the first message of a kind that says something of a hand; False if none has come in time."""
        with self._news:
            return self._news.wait_for(lambda: self._counts[kind] > 0, timeout_s)

    def flows(self) -> list[Flow]:
        """What has come so far, by topic."""
        return [
            Flow(
                topic=topic,
                kind=tap.kind,
                messages=self._counts[topic],
                lost=self._readers[topic].lost if topic in self._readers else 0,
                arrived_s=np.array(self._arrived_s[topic]),
                writers=self._writers(topic),
            )
            for topic, tap in self._taps.items()
        ]

    def silence(self) -> str:
        """Why no state may have come, in words."""
        place = self.place
        if not self.passive:
            return f"nobody answers at {', '.join(place.modbus)}"
        where = f"domain {place.domain}, interface {place.interface}"
        states = [topic for topic, tap in self._taps.items() if tap.kind == "state"]
        writers = [who for topic in states for who in self._writers(topic)]
        ask = f"thenar inspect --domain {place.domain} --interface {place.interface}"
        if writers:
            sent = "no state of a hand that is there" if any(self._counts[topic] for topic in states) else "nothing"
            return f"{', '.join(writers)} announces {', '.join(states)} on {where} and sends {sent}; to see more: {ask}"
        hints = (
            "" if self._participant.peers() else "; ".join(("", *reasons_for_silence(place.domain, place.interface)))
        )
        return f"nobody publishes {', '.join(states)} on {where}; to see who is there: {ask}{hints}"

    def _join(self, taps: str) -> None:
        module, _, name = taps.partition(":")
        place = self.place
        self._participant = self._opened.enter_context(
            Participant(place.domain, interface=place.interface, peers=place.peers, name="thenar listener")
        )
        for tap in getattr(importlib.import_module(module), name)(self.hands):
            self._taps[tap.topic], self._arrived_s[tap.topic] = tap, deque(maxlen=RECENT)
            self._readers[tap.topic] = self._participant.subscribe(
                tap.topic,
                tap.type_name,
                partial(self._on_sample, tap),
                qos=SENSOR_DATA,
                type_ids=TYPE_IDS.get(tap.type_name, ()),
            )

    def _on_sample(self, tap: Tap, sample: Sample) -> None:
        arrived_s, message = time.perf_counter(), cdr.HEADER + sample.body
        self._ear.hear_raw(tap.topic, tap.type_name, message, arrived_s)
        try:
            said = list(tap.decode(message, arrived_s))
        except cdr.BadMessage as error:
            count_reason(self.refused, f"{tap.topic}: {error}")
            return
        for hand, what in said:
            self._ear.hear(hand, what, arrived_s)
        self._count(tap.topic, tap.kind, arrived_s, heard=bool(said))

    def _count(self, topic: str, kind: Kind, arrived_s: float, *, heard: bool = True) -> None:
        with self._news:
            self._counts[topic] += 1
            self._counts[kind] += heard
            self._arrived_s[topic].append(arrived_s)
            self._news.notify_all()

    def _writers(self, topic: str) -> tuple[str, ...]:
        if not self.passive:
            return ()
        ends = self._participant.peer_endpoints()
        return tuple(sorted({who for who, end in ends if end.is_writer and end.topic == topic}))

    def _poll(self) -> None:
        from thenar.wire.clients.modbus_client import ModbusHand

        stop = threading.Event()
        for spec, (host, port) in zip(self.hands, self.place.modbus_ports(len(self.hands)), strict=True):
            for kind in ("state", "command", "touch") if spec.pads else ("state", "command"):
                topic = f"modbus:{host}:{port}/{kind}"
                self._taps[topic] = Tap(topic=topic, type_name="", kind=kind, decode=lambda *_: iter(()))
                self._arrived_s[topic] = deque(maxlen=RECENT)
            hand = self._opened.enter_context(ModbusHand(spec, host=host, port=port))
            loop = threading.Thread(target=self._ask, args=(spec, hand, f"modbus:{host}:{port}", stop), daemon=True)
            self._opened.callback(loop.join)
            self._opened.callback(stop.set)  # before it is waited for
            loop.start()

    def _ask(self, spec: HandSpec, hand: ModbusHand, where: str, stop: threading.Event) -> None:
        """Ask a hand again and again, until told to stop or it hangs up."""
        before, number = None, 0
        try:
            while not stop.wait(POLL_S):
                told = {name: hand.read(f"{name.upper()}_SET") for name in ("angle", "speed", "force")}
                if before is None or any(np.any(told[name] != before[name]) for name in told):
                    command, _ = inspire_counts.command(hand.scale, **told)
                    self._say(f"{where}/command", "command", spec.name, command)
                before = told
                stamp_s = time.perf_counter()
                self._say(
                    f"{where}/state", "state", spec.name, state_of_readings(spec, hand.scale, hand.readings(), stamp_s)
                )
                if spec.pads and number % TOUCH_EVERY == 0:
                    self._say(f"{where}/touch", "touch", spec.name, hand.taxel_counts().astype(np.float64))
                number += 1
        except ThenarError as error:
            count_reason(self.refused, str(error))

    def _say(self, topic: str, kind: Kind, hand: str, said: HandCommand | HandState | FloatArray) -> None:
        arrived_s = time.perf_counter()
        self._ear.hear(hand, said, arrived_s)
        self._count(topic, kind, arrived_s)
