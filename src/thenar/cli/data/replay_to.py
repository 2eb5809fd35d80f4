"""A recording sent to a hand on a wire: from where the hand stands, ramped, and stopped by Ctrl-C or a lost link."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, Literal, NamedTuple, Protocol, cast

import numpy as np

from thenar import cdr, hands
from thenar.arrays import FloatArray
from thenar.cli.show import listed
from thenar.cli.wire.wires import ConnectionOptions, HandConnection, Wire, connect_hands
from thenar.errors import BadValue, ThenarError
from thenar.hands.spec import HandSpec
from thenar.signals import HandCommand, HandState
from thenar.units import GRAM_FORCE_N
from thenar.wire.clients.listener import Listener
from thenar.wire.codecs import reflex_codec
from thenar.wire.codecs.inspire_counts import Scale, angle_counts
from thenar.wire.codecs.unitree import brainco_codec, dex3_codec, unitree_go, unitree_hg
from thenar.wire.rtps import Participant, Qos, Writer, ros

if TYPE_CHECKING:
    from thenar.recordings.recording import Recording

RAMP_S = 3.0  # for the whole stroke, on the way to where the recording begins
BEAT_S = 0.02
LOST_S = 0.3  # without a state for so long, a hand is not commanded on
CONNECT_S = 3.0
To = Wire | Literal["dex3", "brainco", "reflex"]
"""Wires on which hands can be sent a recording."""
HOLDS = ("inspire", "modbus")
"""Wires on which -1 ends a motion; on others a hand is sent to where it is."""


class Sent(NamedTuple):
    """One command on its way to a hand, in the hand's own order."""

    at_s: float
    target_rad: FloatArray
    speed_rad_s: FloatArray
    force_limit_n: FloatArray


class _States:
    """The newest state of each hand."""

    def __init__(self) -> None:
        self.newest: dict[str, tuple[float, HandState]] = {}

    def hear(self, hand: str, said: HandCommand | HandState | FloatArray, arrived_s: float) -> None:
        if isinstance(said, HandState):
            self.newest[hand] = arrived_s, said

    def hear_raw(self, topic: str, type_name: str, message: bytes, arrived_s: float) -> None:
        pass


class _Line(Protocol):
    """A hand that is sent somewhere."""

    def send(self, sent: Sent) -> None:
        """Send a command."""
        ...

    def hold(self, angle_rad: FloatArray) -> None:
        """Let it stay where it is."""
        ...


class _Inspire:
    """An Inspire hand, in its counts."""

    def __init__(self, spec: HandSpec, line: HandConnection, *, holds: bool):
        self._scale, self._line, self._holds = Scale.of(spec), line, holds

    def send(self, sent: Sent) -> None:
        scale, speed, force = self._scale, [], []
        if self._holds:
            speed = _counts(sent.speed_rad_s[scale.actuators] / scale.top_speed_rad_s * 1000.0, 1000)
            force = _counts(sent.force_limit_n[scale.actuators] / GRAM_FORCE_N, scale.force_top)
        self._line.send(angle_counts(scale, sent.target_rad), speed, force)

    def hold(self, angle_rad: FloatArray) -> None:
        self._line.send([-1] * 6 if self._holds else angle_counts(self._scale, angle_rad), [], [])


class _Topic:
    """A hand that takes targets on a DDS topic of its own."""

    def __init__(self, spec: HandSpec, writer: Writer, encode: Callable[[HandSpec, Sent], bytes]):
        self._spec, self._writer, self._encode = spec, writer, encode

    def send(self, sent: Sent) -> None:
        self._writer.write(self._encode(self._spec, sent))

    def hold(self, angle_rad: FloatArray) -> None:
        kept = np.full(angle_rad.shape, np.nan)
        self.send(Sent(0.0, angle_rad, kept, kept))


def _dex3(spec: HandSpec, sent: Sent) -> bytes:
    return dex3_codec.command_message(spec, sent.target_rad)[len(cdr.HEADER) :]


def _brainco(spec: HandSpec, sent: Sent) -> bytes:
    return brainco_codec.command_message(spec, sent.target_rad, sent.speed_rad_s)[len(cdr.HEADER) :]


def _reflex(spec: HandSpec, sent: Sent) -> bytes:
    return reflex_codec.encode_numbers("command_position", sent.target_rad)


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


@contextmanager
def _lines(specs: Sequence[HandSpec], wire: To, options: ConnectionOptions) -> Iterator[list[_Line]]:
    if wire not in TOPICS:
        with connect_hands(specs, cast("Wire", wire), options) as lines:
            yield [_Inspire(spec, line, holds=wire in HOLDS) for spec, line in zip(specs, lines, strict=True)]
        return
    topic, type_name, encode = TOPICS[wire]
    where = {"interface": options.interface, "peers": listed(options.peers)}
    with Participant(options.domain, name="thenar client", **where) as participant:
        lines = []
        for spec in specs:
            writer = participant.advertise(topic.format(side=spec.side), type_name, qos=Qos(depth=1))
            options.check(writer.wait_for_readers(CONNECT_S), f"listens to {wire} commands")
            lines.append(_Topic(spec, writer, encode))
        yield lines


def send_recording(
    recording: Recording,
    wire: To,
    options: ConnectionOptions,
    stop: threading.Event,
    *,
    on_progress: Callable[[float], None] = lambda done: None,
) -> None:
    """Send what was commanded in a recording to the hands it names; a hand that falls silent ends it."""
    specs = [hands.load(name) for name in recording.hands]
    states = _States()
    with ExitStack() as opened:
        listener = opened.enter_context(Listener(specs, options.place(wire), states))
        if not listener.wait_for("state", CONNECT_S) or not _wait(lambda: len(states.newest) == len(specs)):
            raise ThenarError(f"nothing is heard of {', '.join(recording.hands)}: {listener.silence()}")
        lines = opened.enter_context(_lines(specs, wire, options))
        plans = [list(plan(recording, spec.name, states.newest[spec.name][1].angle_rad)) for spec in specs]
        try:
            _play(plans, lines, states, stop, on_progress)
        finally:
            for spec, line in zip(specs, lines, strict=True):
                line.hold(states.newest[spec.name][1].angle_rad)


def plan(recording: Recording, hand: str, from_rad: FloatArray) -> Iterator[Sent]:
    """Every command that is sent, and when: slowly to where the recording begins, then as it was."""
    commands, spec = recording.commands(hand), hands.load(hand)
    target = from_rad.copy()
    whole: list[Sent] = []
    for at_s, asked, speed, limit in zip(
        commands.stamp_s, commands.position_rad, commands.velocity_rad_s, commands.effort, strict=True
    ):
        target = np.where(np.isnan(asked), target, asked)
        whole.append(Sent(float(at_s), target, speed, limit))
    if not whole:
        raise BadValue("recording", recording.name, f"one in which somebody commands {hand}")
    first = whole[0]
    stroke_rad = np.abs(spec.closed_rad - spec.open_rad)
    seconds = float(np.max(np.abs(first.target_rad - from_rad) / stroke_rad)) * RAMP_S
    steps = max(1, round(seconds / BEAT_S))
    kept = np.full(len(spec.actuators), np.nan)
    for step in range(1, steps + 1):
        yield Sent(step * BEAT_S, from_rad + (first.target_rad - from_rad) * step / steps, kept, kept)
    # The last target once more when the recording ends: until then the hand is left to get there.
    whole.append(Sent(float(recording.motors(hand).stamp_s[-1]), target, kept, kept))
    for one in whole:
        yield one._replace(at_s=(steps + 1) * BEAT_S + one.at_s - first.at_s)


def _play(
    plans: Sequence[Sequence[Sent]],
    lines: Sequence[_Line],
    states: _States,
    stop: threading.Event,
    on_progress: Callable[[float], None],
) -> None:
    each = ((sent.at_s, number, sent) for number, plan in enumerate(plans) for sent in plan)
    timed = sorted(each, key=lambda entry: entry[:2])
    began_s = time.perf_counter()
    for at_s, number, sent in timed:
        while (left_s := began_s + at_s - time.perf_counter()) > 0.0:
            if stop.wait(min(left_s, BEAT_S)):
                return
            _check(states)
        if stop.is_set():
            return
        _check(states)
        lines[number].send(sent)
        on_progress(at_s / max(timed[-1][0], 1e-9))


def _check(states: _States) -> None:
    """Refuse to go on with a hand that is not heard any more."""
    now_s = time.perf_counter()
    silent = [hand for hand, (at_s, _) in states.newest.items() if now_s - at_s > LOST_S]
    if silent:
        raise ThenarError(
            f"{', '.join(silent)} has not told its state for {LOST_S:g} s: the hand was sent nothing more"
        )


def _counts(values: FloatArray, top: int) -> list[int]:
    """Whole counts; none where one of them is not told."""
    return [] if np.isnan(values).any() else np.clip(np.rint(values), 0, top).astype(int).tolist()


def _wait(holds: Callable[[], bool]) -> bool:
    until_s = time.perf_counter() + CONNECT_S
    while not holds():
        if time.perf_counter() > until_s:
            return False
        time.sleep(0.01)
    return True
