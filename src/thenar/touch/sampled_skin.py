"""A hand's skin as it is read: at its own rate, and delivered a little later."""

from __future__ import annotations

import math
import threading
from collections import deque
from dataclasses import replace
from typing import Any

from thenar.arrays import BoolArray
from thenar.signals import SolidContacts, TouchFrame
from thenar.touch.hand_touch import HandTouch
from thenar.touch.sensor.calibration import Calibration
from thenar.touch.sensor.proximity import Proximity


class SampledSkin:
    """Readings of one hand's skin, those that are on their way included. Any thread may use it."""

    def __init__(self, touch: HandTouch, calibration: Calibration, proximity: Proximity):
        """Nothing has been read yet."""
        self.period_s = 1.0 / calibration.rate_hz
        """Time between two readings [s]; 0 for a skin that is read whenever asked."""
        self.next_s = math.inf
        """When the next reading is due [s]; infinite before the first."""
        self._touch, self._proximity = touch, proximity
        self._latency_s = calibration.latency_s
        on_the_way = 2 + math.ceil(self._latency_s / self.period_s) if self.period_s else 1
        self._frames: deque[TouchFrame] = deque(maxlen=on_the_way)
        self._lock = threading.RLock()

    def sample(self, contacts: SolidContacts | None, now_s: float) -> tuple[TouchFrame, TouchFrame]:
        """Take a reading; it, and the newest one that has been delivered by now.

        Args:
            contacts: What touches; None: nothing does, on a skin without proximity sensors.
            now_s: Time of the reading [s].
        """
        with self._lock:
            taken = self._touch.untouched(now_s) if contacts is None else self._touch.solve(contacts)
            if self._proximity and contacts is not None:
                taken = replace(taken, pad_proximity_m=self._proximity.read(contacts, taken.pad_force_n))
            self._frames.append(taken)
            self.next_s = now_s + self.period_s if self.period_s else math.inf
            return taken, self.delivered(now_s)

    def delivered(self, now_s: float) -> TouchFrame:
        """The newest reading that has been delivered by now; the first one before there is any."""
        with self._lock:
            due = [frame for frame in self._frames if frame.stamp_s <= now_s - self._latency_s + 1e-9]
            return due[-1] if due else self._frames[0]

    def windows(self) -> list[dict[str, Any]]:
        """How the last reading was solved, see `HandTouch.windows`."""
        with self._lock:
            return self._touch.windows()

    def break_taxel(self, pad: str, row: int, col: int, *, fault: str, amount: float = 0.0) -> None:
        """Break or mend one taxel, see `HandTouch.break_taxel`."""
        with self._lock:
            self._touch.break_taxel(pad, row, col, fault=fault, amount=amount)

    @property
    def broken(self) -> BoolArray:
        """Which taxels are broken. Shape (taxels,)."""
        return self._touch.broken

    def forget(self) -> None:
        """Without a past."""
        with self._lock:
            self._touch.forget()
            self._frames.clear()
            self.next_s = math.inf
