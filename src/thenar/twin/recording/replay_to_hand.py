"""A recording sent to a hand on a wire: from where the hand stands, ramped, and stopped by a wish or a lost link."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, suppress
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from thenar import hands
from thenar.arrays import BoolArray, FloatArray
from thenar.errors import BadValue, ThenarError
from thenar.recordings.ros_messages import ACTIONS, decode_text
from thenar.signals import HandCommand, HandState
from thenar.twin.recording.recipe import from_text
from thenar.wire.clients.hand_connection import ENDS_MOTIONS, connect_senders
from thenar.wire.clients.listener import CONNECT_S, Listener, Place

if TYPE_CHECKING:
    from thenar.recordings.recording import Recording

RAMP_S = 3.0  # for the whole stroke, on the way to where the recording begins
BEAT_S = 0.02
LOST_S = 0.3  # without a state for so long, a hand is not commanded on


class Sent(NamedTuple):
    """One command on its way to a hand."""

    at_s: float
    command: HandCommand
    """What it stops has no target."""


class _States:
    """The newest state of each hand."""

    def __init__(self) -> None:
        self.newest: dict[str, tuple[float, HandState]] = {}

    def hear(self, hand: str, said: HandCommand | HandState | FloatArray, arrived_s: float) -> None:
        if isinstance(said, HandState):
            self.newest[hand] = arrived_s, said

    def hear_raw(self, topic: str, type_name: str, message: bytes, arrived_s: float) -> None:
        pass


def send_recording(
    recording: Recording,
    place: Place,
    stop: threading.Event,
    *,
    on_progress: Callable[[float], None] = lambda done: None,
) -> None:
    """Send what was commanded in a recording to the hands it names; a hand that falls silent ends it."""
    specs = [hands.load(name) for name in recording.hands if recording.has_commands(name)]
    if not specs:
        raise BadValue("recording", recording.name, f"one in which somebody commands {' or '.join(recording.hands)}")
    names, states = ", ".join(spec.name for spec in specs), _States()
    with ExitStack() as opened:
        listener = opened.enter_context(Listener(specs, place, states))
        if not listener.wait_for("state", CONNECT_S) or not _wait(lambda: len(states.newest) == len(specs)):
            raise ThenarError(f"nothing is heard of {names}: {listener.silence()}")
        senders = opened.enter_context(connect_senders(specs, place))

        def send(number: int, command: HandCommand) -> None:
            if command.stop is not None and place.wire not in ENDS_MOTIONS:
                here_rad = states.newest[specs[number].name][1].angle_rad
                command = HandCommand.to(np.where(command.stop, here_rad, command.target_rad))
            senders[number].send(command)

        plans = [list(plan(recording, spec.name, states.newest[spec.name][1].angle_rad)) for spec in specs]
        try:
            _play(plans, send, states, stop, on_progress)
        finally:
            for number, spec in enumerate(specs):
                with suppress(ThenarError):  # one that is lost: the others stop all the same
                    send(number, HandCommand.hold(len(spec.actuators)))


def plan(recording: Recording, hand: str, from_rad: FloatArray) -> Iterator[Sent]:
    """Every command that is sent, and when: slowly to where the recording begins, then as it was."""
    commands, spec, stopped = recording.commands(hand), hands.load(hand), _stops(recording, hand)
    target, stop = from_rad.copy(), np.zeros(from_rad.size, dtype=np.bool_)
    whole: list[Sent] = []
    for at_s, asked, speed, limit in zip(
        commands.stamp_s.tolist(), commands.position_rad, commands.velocity_rad_s, commands.effort, strict=True
    ):
        stop = (stop & np.isnan(asked)) | stopped.get(at_s, False)
        target = np.where(stop, np.nan, np.where(np.isnan(asked), target, asked))
        command = HandCommand.to(target, speed_rad_s=speed, force_limit_n=limit)
        whole.append(Sent(at_s, replace(command, stop=stop) if stop.any() else command))
    first_s, first_rad = whole[0].at_s, np.where(np.isnan(target := whole[0].command.target_rad), from_rad, target)
    stroke_rad = np.abs(spec.closed_rad - spec.open_rad)
    seconds = float(np.max(np.abs(first_rad - from_rad) / stroke_rad)) * RAMP_S
    steps = max(1, round(seconds / BEAT_S))
    for step in range(1, steps + 1):
        yield Sent(step * BEAT_S, HandCommand.to(from_rad + (first_rad - from_rad) * step / steps))
    # The last command once more when the recording ends: until then the hand is left to get there.
    whole.append(whole[-1]._replace(at_s=float(recording.motors(hand).stamp_s[-1])))
    for one in whole:
        yield one._replace(at_s=(steps + 1) * BEAT_S + one.at_s - first_s)


def _stops(recording: Recording, hand: str) -> dict[float, BoolArray]:
    """Which motors a command stopped, by its time: among the columns of commands they have no target."""
    found = {}
    messages = recording.contents.channels[ACTIONS].messages if recording.actions else ()
    for message, action in zip(messages, recording.actions, strict=True):
        if action["call"] == "command" and action["arguments"]["hand"] == hand:
            stop = getattr(from_text(decode_text(message.payload))["arguments"]["command"], "stop", None)
            if stop is not None:
                found[(message.publish_ns - recording.start_ns) * 1e-9] = stop
    return found


def _play(
    plans: Sequence[Sequence[Sent]],
    send: Callable[[int, HandCommand], None],
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
        send(number, sent.command)
        on_progress(at_s / max(timed[-1][0], 1e-9))


def _check(states: _States) -> None:
    """Refuse to go on with a hand that is not heard any more."""
    now_s = time.perf_counter()
    silent = [hand for hand, (at_s, _) in states.newest.items() if now_s - at_s > LOST_S]
    if silent:
        raise ThenarError(
            f"{', '.join(silent)} has not told its state for {LOST_S:g} s: it is told to stop, and nothing more"
        )


def _wait(holds: Callable[[], bool]) -> bool:
    until_s = time.perf_counter() + CONNECT_S
    while not holds():
        if time.perf_counter() > until_s:
            return False
        time.sleep(0.01)
    return True
