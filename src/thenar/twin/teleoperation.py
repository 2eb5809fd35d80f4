"""Teleoperation: a glove drives a hand.

A source is an iterable of glove frames at their own time, with None where a live glove is silent. A sink is called with
what the hand should do. `teleoperate` joins them:

    for step in teleoperate(socket_frames(stop), Retargeter("inspire_right"), TwinSink(hands.load("inspire_right"))):
        print(step.answer.following.value)
"""

from __future__ import annotations

import heapq
import threading
import time
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple, TypeAlias

from thenar.errors import BadValue, HandLost, count_reason
from thenar.glove.glove_socket import PORT, GloveReceiver
from thenar.glove.log import GloveLog
from thenar.glove.palm import frame_in_palm_axes
from thenar.hands.spec import HandSpec
from thenar.retarget.batch import retarget_recording, time_steps
from thenar.retarget.model.hand_model import build_model
from thenar.retarget.retargeter import Following, Retargeted, Retargeter, aligned_nodes
from thenar.signals import FloatArray, GloveFrame, GloveSide
from thenar.twin.world import World
from thenar.wire.clients.hand_connection import HandConnection
from thenar.wire.clients.listener import CONNECT_S
from thenar.wire.clients.manus_client import ManusListener
from thenar.wire.codecs.inspire_counts import ANGLE_TOP, Readings, Scale, command

TICK_S = 0.01
MAX_LATE_S = 0.1
LOOK_EVERY_S = 1.0  # for a hand that was lost
PATIENCE_S = 0.1  # with a hand that has answered before: another one waits meanwhile

Sink: TypeAlias = Callable[[Retargeted, GloveFrame | None], None]
"""Takes what the hand should do and the frame it comes from; None where the glove is silent."""


@dataclass(frozen=True, kw_only=True, eq=False)
class DrivenHand:
    """A hand that a glove drives."""

    retargeter: Retargeter
    sinks: tuple[Sink, ...]
    """Take the commands."""
    measured_rad: FloatArray | None = None
    """Where its motors are: it goes to the first frame from there, at the motors' speed [rad]. None: it jumps there."""
    regain: Callable[[], FloatArray] | None = None
    """Asks a hand that was lost where its motors are now [rad]; it goes on from there. None: a lost hand ends it."""

    @property
    def name(self) -> str:
        """Of the hand."""
        return self.retargeter.model.hand.name

    @property
    def glove_side(self) -> GloveSide | None:
        """Of the glove that drives it; None: either."""
        return glove_side(self.retargeter.model.hand, mirror=self.retargeter.config.mirror)


@dataclass(frozen=True, kw_only=True, eq=False)
class TeleopStep:
    """One frame, or one tick of silence, on its way to a hand."""

    hand: str
    frame: GloveFrame | None
    answer: Retargeted
    latency_s: float
    """From the frame to its command."""
    lost: str = ""
    """Why nothing was sent: the hand does not answer. Empty while it does."""


def glove_side(hand: HandSpec, *, mirror: bool) -> GloveSide | None:
    """Side of the glove that drives a hand, mirrored or not; None: either."""
    if hand.side == "none":
        return None
    return "left" if (hand.side == "left") != mirror else "right"


def teleoperate(
    frames: Iterable[GloveFrame | None],
    retargeter: Retargeter,
    *sinks: Sink,
    measured_rad: FloatArray | None = None,
    regain: Callable[[], FloatArray] | None = None,
) -> Iterator[TeleopStep]:
    """Drive a hand with a glove, one frame for each step that is asked for. Before the first one nothing is sent.

    Args:
        frames: The glove's frames; None where it is silent.
        retargeter: Turns them into commands.
        sinks: Take the commands.
        measured_rad: As in `DrivenHand`.
        regain: As in `DrivenHand`.
    """
    hand = DrivenHand(retargeter=retargeter, sinks=sinks, measured_rad=measured_rad, regain=regain)
    yield from drive(frames, [hand])


def drive(frames: Iterable[GloveFrame | None], driven: Sequence[DrivenHand]) -> Iterator[TeleopStep]:
    """Drive one hand or both with gloves: a frame goes to the hand of its side, and silence to the others.

    A hand by itself, or without a side of its own, keeps to the side that is heard first. A hand that does not answer
    is waited for while the other one goes on; then it goes on from where it is.
    """
    names, lost = [hand.name for hand in driven], list[_Lost | None]([None] * len(driven))
    sides: list[GloveSide | None] = [None] if len(driven) == 1 else [hand.glove_side for hand in driven]
    for hand in driven:
        if hand.measured_rad is not None:
            hand.retargeter.begin_at(hand.measured_rad)
    for frame in frames:
        for n, hand in enumerate(driven):
            start_s, gone = time.perf_counter(), lost[n]
            if gone is not None and start_s >= gone.look_again_s:
                gone = _look_for(hand)
            if frame is not None and sides[n] is None:
                sides[n] = frame.side
            if frame is None:
                answer, own = hand.retargeter.tick(start_s), None
            elif frame.side == sides[n]:
                answer, own = hand.retargeter(frame), frame
            else:
                answer, own = hand.retargeter.tick(frame.stamp_s), None
                if answer.following is Following.FOLLOWING:  # nothing new
                    continue
            if answer.following is not Following.WAITING and gone is None:
                gone = _send(hand, answer, own)
            lost[n] = gone
            took_s, why = time.perf_counter() - start_s, "" if gone is None else gone.why
            yield TeleopStep(hand=names[n], frame=own, answer=answer, latency_s=took_s, lost=why)


class _Lost(NamedTuple):
    """A hand that does not answer."""

    why: str
    look_again_s: float


def _send(hand: DrivenHand, answer: Retargeted, frame: GloveFrame | None) -> _Lost | None:
    """Hand a command to every sink; why not, if the hand is lost."""
    try:
        for sink in hand.sinks:
            sink(answer, frame)
    except HandLost as error:
        if hand.regain is None:
            raise
        return _Lost(str(error), time.perf_counter() + LOOK_EVERY_S)
    return None


def _look_for(hand: DrivenHand) -> _Lost | None:
    """Ask a hand that was lost whether it is back: then the glove leads it on from where it is."""
    assert hand.regain is not None
    try:
        hand.retargeter.begin_at(hand.regain())
    except HandLost as error:
        return _Lost(str(error), time.perf_counter() + LOOK_EVERY_S)
    return None


def recorded_frames(log: GloveLog | Sequence[GloveLog], stop: threading.Event) -> Generator[GloveFrame]:
    """A recording at its own pace, or one of each hand side by side; who cannot keep up leaves frames out."""
    logs = (log,) if isinstance(log, GloveLog) else tuple(log)
    begin_s = [0.0] if len(logs) == 1 else [float(one.stamp_s[0]) for one in logs]
    played = [(replace(f, stamp_s=f.stamp_s - first) for f in one) for one, first in zip(logs, begin_s, strict=True)]
    start_s = time.perf_counter() - (float(logs[0].stamp_s[0]) - begin_s[0])
    for frame in heapq.merge(*played, key=lambda frame: frame.stamp_s):
        late_s = time.perf_counter() - start_s - frame.stamp_s
        if late_s > MAX_LATE_S:
            continue
        if stop.wait(max(0.0, -late_s)):
            return
        yield frame


def socket_frames(
    stop: threading.Event,
    *,
    host: str = "127.0.0.1",
    port: int = PORT,
    side: GloveSide | None = None,
    on_refused: Callable[[str], None] = lambda reason: None,
) -> Generator[GloveFrame | None]:
    """Frames that any process sends to a UDP port, stamped by our clock as the age of the last frame is.

    Args:
        stop: Ends it.
        host: Address to listen at.
        port: UDP port.
        side: Take frames of this hand only; None takes both.
        on_refused: Is called with each new reason why frames are refused.
    """
    with GloveReceiver(host=host, port=port, side=side, clock=time.perf_counter, on_refused=on_refused) as receiver:
        while not stop.is_set():
            yield receiver.wait(TICK_S)


def manus_frames(
    stop: threading.Event,
    side: GloveSide | None,
    *,
    domain: int = 0,
    interface: str = "lo",
    peers: tuple[str, ...] = ("127.0.0.1",),
    on_refused: Callable[[str], None] = lambda reason: None,
) -> Generator[GloveFrame | None]:
    """Frames from Manus' ROS 2 topics; arguments as for `ManusListener` and `socket_frames`."""
    with ManusListener(side, domain=domain, interface=interface, peers=peers) as listener:
        told = 0
        while not stop.is_set():
            news, frame = listener.wait(TICK_S), None
            if news is not None:
                glove, arrived_s = news
                try:
                    frame = frame_in_palm_axes(arrived_s, glove.side, "manus25", glove.position_m, glove.quat_wxyz)
                except BadValue as error:
                    count_reason(listener.refused, str(error))
            for reason in list(listener.refused)[told:]:
                on_refused(reason)
            told = len(listener.refused)
            yield frame


class TwinSink:
    """A twin of its own in this process; its time passes as ours does."""

    def __init__(self, hand: HandSpec, world: World | None = None):
        """Build the twin, with everything compiled.

        Args:
            hand: The hand.
            world: A world that it shares with another hand; None makes one.
        """
        self._world, self._name = World(hand) if world is None else world, hand.name
        self._world.advance(0.01)
        self._begin_s = time.perf_counter() - self._world.time_s

    def __call__(self, answer: Retargeted, frame: GloveFrame | None = None) -> None:
        """Command the twin and let the time pass that has passed here."""
        self._world.command(self._name, answer.command)
        late_s = time.perf_counter() - self._begin_s - self._world.time_s
        self._begin_s += max(0.0, late_s - MAX_LATE_S)  # a machine that cannot keep up is not run after
        self._world.advance(min(max(late_s, 0.0), MAX_LATE_S))

    def angle_rad(self) -> FloatArray:
        """Angle of each motor [rad]."""
        return self._world.state(self._name).angle_rad


class WireSink:
    """An Inspire hand, served or real, at the other end of a wire."""

    def __init__(self, hand: HandSpec, connection: HandConnection):
        """Take a connection; a hand that reports nothing raises before it is moved."""
        self._connection, self._scale = connection, Scale.of(hand)
        self._patience_s = CONNECT_S
        self._connection.readings()

    def __call__(self, answer: Retargeted, frame: GloveFrame | None = None) -> None:
        """Send the command."""
        self._connection.send(answer.command, patience_s=self._patience_s)
        self._patience_s = PATIENCE_S

    def angle_rad(self) -> FloatArray:
        """Angle of each motor, as the hand reports it [rad]."""
        readings = self._connection.readings(patience_s=self._patience_s)
        angle = readings.angle if isinstance(readings, Readings) else ANGLE_TOP * readings
        return command(self._scale, angle=angle)[0].target_rad


def retarget_log(hand: HandSpec, log: GloveLog, *, mirror: bool = False) -> FloatArray:
    """Motor angles [rad] for a whole recording, on all cores. Shape (frames, motors).

    Args:
        hand: The hand that follows.
        log: The recording.
        mirror: Let a glove of the other side drive it, as its mirror image.
    """
    model = build_model(hand)
    nodes_m = aligned_nodes(model, log.finger_m, log.side, mirror=mirror)
    return model.motor_rad(retarget_recording(model, nodes_m, time_steps(log.stamp_s)))
