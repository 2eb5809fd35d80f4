"""Hands at the other end of a wire, twins or real: one way to command them on any wire, and to read Inspire hands."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, Protocol

import numpy as np
from numpy.typing import NDArray

from thenar import cdr
from thenar.errors import BadValue, HandLost
from thenar.hands.spec import HandSpec
from thenar.signals import HandCommand
from thenar.wire.clients.inspire_clients import DfxClient, InspireClient, TienkungClient
from thenar.wire.clients.listener import CONNECT_S, Place
from thenar.wire.codecs import reflex_codec
from thenar.wire.codecs.inspire_codec import Ctrl, Mode
from thenar.wire.codecs.inspire_counts import ANGLE_TOP, Readings, Scale, angle_counts, limit_counts
from thenar.wire.codecs.tienkung_codec import FINGER_IDS
from thenar.wire.codecs.unitree import brainco_codec, dex3_codec, unitree_go, unitree_hg
from thenar.wire.rtps import Qos, Writer, ros

if TYPE_CHECKING:
    from thenar.wire.clients.modbus_client import ModbusHand

ENDS_MOTIONS = ("inspire", "modbus")
"""Wires on which a motor without a target ends its motion; they alone also tell forces and errors."""


class HandSender(Protocol):
    """A hand that takes commands."""

    def send(self, command: HandCommand, *, patience_s: float = CONNECT_S) -> None:
        """Send a command, without what the wire does not carry; `HandLost` if nobody listens for so long."""
        ...


class HandConnection(HandSender, Protocol):
    """An Inspire hand at the other end of a wire."""

    def readings(self, *, patience_s: float = CONNECT_S) -> Readings | NDArray[np.float32]:
        """The next state: counts, or how far open each motor is where a wire tells no more; `HandLost` without one."""
        ...


class SkinConnection(HandConnection, Protocol):
    """The same, with its skin."""

    def taxel_counts(self) -> NDArray[np.int64]:
        """The next reading of the skin."""
        ...


@contextmanager
def connect_inspire(specs: Sequence[HandSpec], place: Place) -> Iterator[tuple[SkinConnection, ...]]:
    """Connect to Inspire hands of one robot."""
    if place.wire == "modbus":
        from thenar.wire.clients.modbus_client import ModbusHand

        ports = place.modbus_ports(len(specs))
        with ExitStack() as opened:
            yield tuple(
                _ModbusConnection(opened.enter_context(ModbusHand(spec, host=host, port=port)))
                for spec, (host, port) in zip(specs, ports, strict=True)
            )
        return
    with place.participant() as participant:
        if place.wire == "dfx":
            client, sent = DfxClient(participant), dict[str, list[float]]()
            yield tuple(_DfxConnection(client, spec, place, sent) for spec in specs)
        elif place.wire == "inspire":
            yield tuple(_InspireConnection(InspireClient(participant, spec), spec, place) for spec in specs)
        else:
            yield tuple(_TienkungConnection(TienkungClient(participant, spec), spec, place) for spec in specs)


@contextmanager
def connect_senders(specs: Sequence[HandSpec], place: Place) -> Iterator[tuple[HandSender, ...]]:
    """Connect to hands of one robot, of any maker, to command them."""
    if place.wire not in TOPICS:
        with connect_inspire(specs, place) as hands:
            yield hands
        return
    topic, type_name, encode = TOPICS[place.wire]
    with place.participant() as participant:
        writers = [participant.advertise(topic.format(side=s.side), type_name, qos=Qos(depth=1)) for s in specs]
        for writer in writers:
            place.check(writer.wait_for_readers(CONNECT_S), f"listens to {place.wire} commands")
        yield tuple(_TopicSender(spec, writer, encode) for spec, writer in zip(specs, writers, strict=True))


class _InspireConnection:
    def __init__(self, client: InspireClient, spec: HandSpec, place: Place):
        self._client, self._scale, self._place = client, Scale.of(spec), place

    def send(self, command: HandCommand, *, patience_s: float = CONNECT_S) -> None:
        self._place.check(self._client.wait_until_heard(patience_s), "listens to inspire ctrl")
        angle, (speed, force) = _angles(self._scale, command), limit_counts(self._scale, command)
        groups = ((angle, Mode.ANGLE), (speed, Mode.SPEED), (force, Mode.FORCE))
        mode = sum(bit for values, bit in groups if values)
        self._client.send(Ctrl(angle=angle, speed=speed, force=force, mode=mode))

    def readings(self, *, patience_s: float = CONNECT_S) -> Readings:
        found = self._client.wait_for_news(touch=False, timeout_s=patience_s)
        self._place.check(found, "publishes inspire state")
        assert self._client.readings is not None
        return self._client.readings

    def taxel_counts(self) -> NDArray[np.int64]:
        found = self._client.wait_for_news(touch=True, timeout_s=CONNECT_S)
        self._place.check(found, "publishes inspire touch")
        assert self._client.taxel_counts is not None
        return self._client.taxel_counts


class _DfxConnection:
    def __init__(self, client: DfxClient, spec: HandSpec, place: Place, sent: dict[str, list[float]]):
        self._client, self._scale, self._place, self._side = client, Scale.of(spec), place, spec.side
        self._sent = sent  # to all hands that are driven: one message is for both

    def send(self, command: HandCommand, *, patience_s: float = CONNECT_S) -> None:
        self._place.check(self._client.wait_until_heard(patience_s), "listens to dfx commands")
        now = self.readings() if self._client.q is None else self._newest()
        assert self._client.q is not None
        # The message has no hold: a motor that is to stay is sent to where it is.
        q = {side: values.astype(float).tolist() for side, values in self._client.q.items()}
        angles = zip(now.astype(float).tolist(), angle_counts(self._scale, command.target_rad), strict=True)
        self._sent[self._side] = [was if a < 0 else a / ANGLE_TOP for was, a in angles]
        if "left" not in self._sent:  # the right hand comes first, so the message may end behind it
            del q["left"]
        self._client.send(q | self._sent)  # a right hand that is not driven is told to stay where it is

    def readings(self, *, patience_s: float = CONNECT_S) -> NDArray[np.float32]:
        self._place.check(self._client.wait_for_news(timeout_s=patience_s), "publishes dfx state")
        return self._newest()

    def _newest(self) -> NDArray[np.float32]:
        assert self._client.q is not None
        found = self._client.q[self._side]
        if self._client.lost[self._side] or not found.size:
            raise HandLost(f"no {self._side} hand at the other end: its readings are lost or left out")
        return found

    def taxel_counts(self) -> NDArray[np.int64]:
        raise BadValue("--wire", "dfx", "inspire or modbus: these topics carry no touch")


class _TienkungConnection:
    def __init__(self, client: TienkungClient, spec: HandSpec, place: Place):
        self._client, self._scale, self._place = client, Scale.of(spec), place

    def send(self, command: HandCommand, *, patience_s: float = CONNECT_S) -> None:
        self._place.check(self._client.wait_until_heard(patience_s), "listens to tienkung control messages")
        angles = zip(FINGER_IDS, angle_counts(self._scale, command.target_rad), strict=True)
        self._client.send({name: a / ANGLE_TOP for name, a in angles if a >= 0})

    def readings(self, *, patience_s: float = CONNECT_S) -> NDArray[np.float32]:
        self._place.check(self._client.wait_for_news(timeout_s=patience_s), "publishes tienkung state")
        assert self._client.opened is not None
        return self._client.opened

    def taxel_counts(self) -> NDArray[np.int64]:
        raise BadValue("--wire", "tienkung", "inspire or modbus: these topics carry no touch")


class _ModbusConnection:
    def __init__(self, hand: ModbusHand):
        self._hand, self._lock = hand, threading.Lock()  # one question at a time, from whichever thread

    def readings(self, *, patience_s: float = CONNECT_S) -> Readings:
        with self._lock:
            return self._hand.readings()

    def taxel_counts(self) -> NDArray[np.int64]:
        with self._lock:
            return self._hand.taxel_counts()

    def send(self, command: HandCommand, *, patience_s: float = CONNECT_S) -> None:
        angle, (speed, force) = _angles(self._hand.scale, command), limit_counts(self._hand.scale, command)
        with self._lock:
            for name, values in (("SPEED_SET", speed), ("FORCE_SET", force), ("ANGLE_SET", angle)):
                if values:
                    self._hand.write(name, values)


def _angles(scale: Scale, command: HandCommand) -> list[int]:
    """Angle counts; none for a command that only sets speeds or limits, which is not to end a motion."""
    only_limits = command.stop is None and np.isnan(command.target_rad).all()
    return [] if only_limits else angle_counts(scale, command.target_rad)


class _TopicSender:
    """A hand that takes targets on a DDS topic of its own."""

    def __init__(self, spec: HandSpec, writer: Writer, encode: Callable[[HandSpec, HandCommand], bytes]):
        self._spec, self._writer, self._encode = spec, writer, encode

    def send(self, command: HandCommand, *, patience_s: float = CONNECT_S) -> None:
        self._writer.write(self._encode(self._spec, command))


def _dex3(spec: HandSpec, command: HandCommand) -> bytes:
    return dex3_codec.command_message(spec, command.target_rad)[len(cdr.HEADER) :]


def _brainco(spec: HandSpec, command: HandCommand) -> bytes:
    return brainco_codec.command_message(spec, command.target_rad, command.speed_rad_s)[len(cdr.HEADER) :]


def _reflex(spec: HandSpec, command: HandCommand) -> bytes:
    return reflex_codec.encode_numbers("command_position", command.target_rad)


TOPICS = {
    "dex3": ("rt/dex3/{side}/cmd", unitree_hg.HAND_CMD_TYPE, _dex3),
    "brainco": ("rt/brainco/{side}/cmd", unitree_go.COMMANDS_TYPE, _brainco),
    "reflex": (
        ros.topic_name(f"{reflex_codec.NAMESPACE}/command_position"),
        ros.message_type(reflex_codec.COMMANDS["command_position"]),
        _reflex,
    ),
}
"""Wires on which targets have a topic, with its type and what makes a message."""
