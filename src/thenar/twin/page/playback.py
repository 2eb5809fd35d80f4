"""A glove recording that drives the hands of a running twin, frame by frame at its own time."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from typing import TypeAlias

from thenar.errors import BadValue
from thenar.glove.log import GloveLog
from thenar.hands.spec import HandSpec
from thenar.retarget.retargeter import Retargeted, Retargeter
from thenar.signals import FloatArray, GloveFrame
from thenar.twin.teleoperation import recorded_frames, teleoperate

Recording: TypeAlias = Callable[[str], GloveLog]
"""Makes the recording for a side; one of a left hand serves the right one as its mirror image."""


class Playback:
    """Player of at most one recording at a time, on a thread per hand."""

    def __init__(self, command: Callable[..., None], *, on_error: Callable[[str, Exception], None]):
        """Nothing plays.

        Args:
            command: Called with a hand's name, a `HandCommand` and ``sender``.
            on_error: Called with what failed and how, on the thread it failed on.
        """
        self._command, self._on_error = command, on_error
        self._stops: dict[str, threading.Event] = {}
        self._lock = threading.RLock()  # after `stop` of a hand its glove commands nothing more
        self.nodes_m: dict[str, FloatArray] = {}
        """The human hand now, by the robot hand that follows it. Shape (21, 3)."""
        self.playing = ""
        """Name of the recording; empty when none plays."""

    def start(self, name: str, recording: Recording, hands: Sequence[HandSpec]) -> None:
        """Play a recording on every hand that has fingers for it."""
        able = [hand for hand in hands if hand.side in ("left", "right")]
        if not able:
            raise BadValue("hands", [hand.name for hand in hands], "a left or a right hand, which a glove can drive")
        logs = [recording(hand.side) for hand in able]
        with self._lock:
            self.stop()
            self.playing = name
            for hand, log in zip(able, logs, strict=True):
                stop = self._stops[hand.name] = threading.Event()
                args = (hand, log, name, stop)
                threading.Thread(target=self._play, args=args, name=f"glove {hand.name}", daemon=True).start()

    def stop(self, hand: str | None = None) -> None:
        """Stop, or release one hand only."""
        with self._lock:
            for name in [hand] if hand is not None else list(self._stops):
                if name in self._stops:
                    self._stops.pop(name).set()
                    self.nodes_m.pop(name, None)
            if not self._stops:
                self.playing = ""

    def _play(self, hand: HandSpec, log: GloveLog, name: str, stop: threading.Event) -> None:
        def send(answer: Retargeted, frame: GloveFrame | None) -> None:
            with self._lock:
                if frame is not None and not stop.is_set():
                    self._command(hand.name, answer.command, sender=f"glove: {name}")
                    self.nodes_m[hand.name] = frame.finger_m

        try:
            retargeter = Retargeter(hand)
            retargeter(log[0])  # loads its compiled code, before the clock runs
            deque(teleoperate(recorded_frames(log, stop), retargeter, send), maxlen=0)  # to its end
        except Exception as error:
            self._on_error(f"the recording {name} on {hand.name}", error)
        with self._lock:
            if not stop.is_set():
                self.stop(hand.name)


def warm_up_playback(hand: HandSpec) -> None:
    """Load the compiled code of retargeting, so that a running twin does not stand still the first time."""
    from thenar.glove.make import make_log

    if hand.side in ("left", "right"):
        Retargeter(hand)(make_log(("open",), side="left" if hand.side == "left" else "right")[0])


def made_recordings() -> Mapping[str, Recording]:
    """Recordings of synthetic gestures, which need no glove."""
    from thenar.glove.make import GESTURES, make_log

    tours: dict[str, tuple[str, ...]] = {
        "gestures": ("fist", "pinch_index", "pinch_middle", "point", "thumbs_up", "spread"),
        "wave": ("wave", "wave"),
        "everything": GESTURES,
    }
    return {
        name: (lambda side, gestures=gestures: make_log(gestures, side="left" if side == "left" else "right"))
        for name, gestures in tours.items()
    }
