"""Teleoperation: a glove drives a hand.

A source is an iterable of glove frames at their own time, with None where a live glove is silent. A sink is called with
what the hand should do. `teleoperate` joins them:

    for step in teleoperate(socket_frames(stop), Retargeter("inspire_right"), TwinSink(hands.load("inspire_right"))):
        print(step.answer.following.value)
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Generator, Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any, Protocol, TypeAlias

from thenar.glove.glove_socket import PORT, GloveReceiver
from thenar.glove.log import GloveLog
from thenar.glove.palm import frame_in_palm_axes
from thenar.hands.spec import HandSpec
from thenar.retarget.batch import retarget_recording, time_steps
from thenar.retarget.model.hand_model import build_model
from thenar.retarget.retargeter import Following, Retargeted, Retargeter, aligned_nodes
from thenar.signals import FloatArray, GloveFrame, GloveSide
from thenar.twin.world import World
from thenar.wire.clients.manus_client import ManusListener
from thenar.wire.codecs.inspire_counts import Readings, Scale, angle_counts, command

TICK_S = 0.01
MAX_LATE_S = 0.1

Sink: TypeAlias = Callable[[Retargeted, GloveFrame | None], None]
"""Takes what the hand should do and the frame it comes from; None where the glove is silent."""


@dataclass(frozen=True, kw_only=True, eq=False)
class TeleopStep:
    """One frame, or one tick of silence, on its way to the hand."""

    frame: GloveFrame | None
    answer: Retargeted
    latency_s: float
    """From the frame to its command."""


def teleoperate(
    frames: Iterable[GloveFrame | None],
    retargeter: Retargeter,
    *sinks: Sink,
    measured_rad: FloatArray | None = None,
) -> Iterator[TeleopStep]:
    """Drive a hand with a glove, one frame for each step that is asked for. Before the first one nothing is sent.

    Args:
        frames: The glove's frames; None where it is silent.
        retargeter: Turns them into commands.
        sinks: Take the commands.
        measured_rad: Where the hand's motors are: it goes to the first frame from there, at the motors' speed [rad].
            None: it jumps to the first frame.
    """
    if measured_rad is not None:
        retargeter.begin_at(measured_rad)
    for frame in frames:
        start_s = time.perf_counter()
        answer = retargeter.tick(start_s) if frame is None else retargeter(frame)
        if answer.following is not Following.WAITING:
            for sink in sinks:
                sink(answer, frame)
        yield TeleopStep(frame=frame, answer=answer, latency_s=time.perf_counter() - start_s)


def recorded_frames(log: GloveLog, stop: threading.Event) -> Generator[GloveFrame]:
    """A recording at its own pace; a machine that cannot keep up leaves frames out."""
    start_s = time.perf_counter() - float(log.stamp_s[0])
    for frame in log:
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
    with GloveReceiver(host=host, port=port, side=side) as receiver:
        told = 0
        while not stop.is_set():
            frame = receiver.wait(TICK_S)
            for reason in list(receiver.refused)[told:]:
                on_refused(reason)
            told = len(receiver.refused)
            yield None if frame is None else replace(frame, stamp_s=time.perf_counter())


def manus_frames(
    stop: threading.Event,
    side: GloveSide | None,
    *,
    domain: int = 0,
    interface: str = "lo",
    peers: tuple[str, ...] = ("127.0.0.1",),
) -> Generator[GloveFrame | None]:
    """Frames from Manus' ROS 2 topics; arguments as for `ManusListener`."""
    with ManusListener(side, domain=domain, interface=interface, peers=peers) as listener:
        while not stop.is_set():
            news = listener.wait(TICK_S)
            if news is None:
                yield None
            else:
                glove, arrived_s = news
                yield frame_in_palm_axes(arrived_s, glove.side, "manus25", glove.position_m, glove.quat_wxyz)


class TwinSink:
    """A twin of its own in this process; its time passes as ours does."""

    def __init__(self, hand: HandSpec):
        """Build the twin, with everything compiled."""
        self._world, self._name = World(hand), hand.name
        self._world.advance(0.01)
        self._last_s = time.perf_counter()

    def __call__(self, answer: Retargeted, frame: GloveFrame | None = None) -> None:
        """Command the twin and let the time pass that has passed here."""
        self._world.command(self._name, answer.command)
        now_s = time.perf_counter()
        self._world.advance(min(now_s - self._last_s, MAX_LATE_S))
        self._last_s = now_s

    def angle_rad(self) -> FloatArray:
        """Angle of each motor [rad]."""
        return self._world.state(self._name).angle_rad


class HandConnection(Protocol):
    """A hand at the other end of a wire, in its own counts."""

    def send(self, angle: list[int], speed: list[int], force: list[int]) -> None:
        """Send counts; an empty list leaves a quantity as it is."""
        ...

    def readings(self) -> Any:
        """The next state."""
        ...


class WireSink:
    """An Inspire hand, served or real, at the other end of a wire."""

    def __init__(self, hand: HandSpec, connection: HandConnection):
        """Take a connection; a hand that reports nothing raises before it is moved."""
        self._connection, self._scale = connection, Scale.of(hand)
        self._connection.readings()

    def __call__(self, answer: Retargeted, frame: GloveFrame | None = None) -> None:
        """Send the command."""
        self._connection.send(angle_counts(self._scale, answer.command.target_rad), [], [])

    def angle_rad(self) -> FloatArray:
        """Angle of each motor, as the hand reports it [rad]."""
        readings = self._connection.readings()
        assert isinstance(readings, Readings)
        return command(self._scale, angle=readings.angle)[0].target_rad


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
