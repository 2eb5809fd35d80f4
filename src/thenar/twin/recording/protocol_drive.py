"""Drives the identification's programme through a wire: it stops on a wish, on a contact, on a fault and on silence.

Whatever ends it, the hand is told to stay where it is. It is never opened unasked: what it holds might fall.
"""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from thenar.arrays import FloatArray
from thenar.errors import BadValue, ThenarError
from thenar.hands.spec import HandSpec
from thenar.signals import HandCommand
from thenar.sim.identify.programme import Phase, Step
from thenar.units import GRAM_FORCE_N
from thenar.wire.clients.hand_connection import HandConnection
from thenar.wire.codecs.inspire_counts import HOLD, MOTORS, Readings, Scale, command, is_inspire

POLL_S = 0.005
SILENCE_S = 0.07  # a hand that says nothing for so long is lost
CONTACT_N = 1.5  # more than a finger's own inertia, where nothing is to be met
FORCE_LIMIT_N = 10.0
STILL_S = 0.5  # of readings before the first motion, which count as no force
STOP_TIMES = 3  # a message may be lost


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """How a programme ended."""

    why: str
    """Why it was stopped; empty where all of it was done."""
    steps: int
    """Steps that were begun."""
    reacted_s: float
    """From what ended it to the command to stay [s]; 0 where all was done."""


class _Watch(threading.Thread):
    """Reads the hand all the time, so that silence is noticed."""

    def __init__(self, line: HandConnection):
        super().__init__(name="readings", daemon=True)
        self._line, self._over = line, threading.Event()
        self.newest: Readings | None = None
        self.at_s = time.perf_counter()
        self.why = "this wire does not carry them; use inspire or modbus"

    def run(self) -> None:
        while not self._over.is_set():
            try:
                readings = self._line.readings()
            except ThenarError as error:
                self.why = str(error)
                continue
            if not isinstance(readings, Readings):
                self.newest = None
                return
            self.newest, self.at_s = readings, time.perf_counter()

    def end(self) -> None:
        self._over.set()


def drive_programme(
    line: HandConnection,
    hand: HandSpec,
    phases: Sequence[Phase],
    *,
    stop: threading.Event,
    before: Callable[[Phase], None] = lambda phase: None,
    force_limit_n: float = FORCE_LIMIT_N,
    silence_s: float = SILENCE_S,
) -> Outcome:
    """Do the phases one after the other.

    Args:
        line: The hand.
        hand: What it is.
        phases: What to do.
        stop: Somebody's wish to stop.
        before: Is called before each phase; the hand stands meanwhile.
        force_limit_n: Force at which everything stops, whatever the hand's own limits do [N].
        silence_s: A hand that says nothing for so long is lost [s].
    """
    if not is_inspire(hand):
        raise BadValue("hand", hand.name, "an Inspire hand: no other wire tells what the programme must watch")
    watch = _Watch(line)
    watch.start()
    begun, why, since_s = 0, "", 0.0
    try:
        zero_n = _zero(watch)
        scale, angle = Scale.of(hand), np.full(len(MOTORS), np.nan)
        for phase in phases:
            before(phase)
            for step in phase.steps:
                angle = np.where(np.isnan(step.closed), angle, _counts(step, watch))
                speed, limit = round(1000 * step.speed), round(min(step.limit_n, force_limit_n) / GRAM_FORCE_N)
                limits = {"speed": [speed] * len(MOTORS), "force": [limit] * len(MOTORS)}
                line.send(command(scale, angle=np.nan_to_num(angle, nan=HOLD), **limits)[0])
                begun += 1
                why, since_s = _wait(watch, step, zero_n, stop, force_limit_n, silence_s)
                if why:
                    return _stay(line, why, begun, since_s)
        return Outcome(why="", steps=begun, reacted_s=0.0)
    except BaseException:  # a line that failed, and whatever else
        _stay(line, "it was broken off", begun, time.perf_counter())
        raise
    finally:
        watch.end()


def _counts(step: Step, watch: _Watch) -> FloatArray:
    """Targets of a step, as the wire counts them."""
    if not step.from_here:
        return np.round(1000.0 * (1.0 - step.closed))
    assert watch.newest is not None
    return np.clip(np.round(watch.newest.angle - 1000.0 * step.closed), 0, 1000)


def _zero(watch: _Watch) -> FloatArray:
    """What the hand says at rest [N]."""
    until_s, seen = time.perf_counter() + STILL_S, []
    while time.perf_counter() < until_s or not seen:
        if watch.newest is not None:
            seen.append(watch.newest.force * GRAM_FORCE_N)
        elif time.perf_counter() > until_s + 3.0:
            raise ThenarError(f"the hand says nothing of its forces, so it is not moved: {watch.why}")
        time.sleep(POLL_S)
    return np.median(seen, axis=0)


def _wait(
    watch: _Watch, step: Step, zero_n: FloatArray, stop: threading.Event, force_limit_n: float, silence_s: float
) -> tuple[str, float]:
    """Let a step be done; why it must not go on, and since when."""
    until_s = time.perf_counter() + step.wait_s
    while (now_s := time.perf_counter()) < until_s:
        if stop.wait(min(POLL_S, until_s - now_s)):
            return "somebody wished it", now_s
        now_s = time.perf_counter()
        if now_s - watch.at_s > silence_s:
            return f"the hand has said nothing for {1e3 * (now_s - watch.at_s):.0f} ms", watch.at_s
        assert watch.newest is not None
        force_n = watch.newest.force * GRAM_FORCE_N
        for n, name in enumerate(MOTORS):
            if abs(force_n[n]) > force_limit_n:
                return f"{name} felt {force_n[n]:.1f} N, over the limit of {force_limit_n:g} N", watch.at_s
            if not step.contact and abs(force_n[n] - zero_n[n]) > CONTACT_N:
                return f"{name} met something ({force_n[n]:.1f} N) where nothing should be", watch.at_s
            if watch.newest.error[n]:
                return f"{name} reports error {int(watch.newest.error[n])}", watch.at_s
    return "", 0.0


def _stay(line: HandConnection, why: str, steps: int, since_s: float) -> Outcome:
    """Tell the hand to stay where it is."""
    reacted_s = 0.0
    for _ in range(STOP_TIMES):
        with contextlib.suppress(ThenarError, OSError):
            line.send(HandCommand.hold(len(MOTORS)))
            reacted_s = reacted_s or time.perf_counter() - since_s
        time.sleep(POLL_S)
    return Outcome(why=why, steps=steps, reacted_s=reacted_s)
