"""Plays an action sequence: the next step is due when the motion of the last one has ended and its time is over."""

from __future__ import annotations

from collections.abc import Sequence

from thenar.wire.codecs.registers.action_steps import Step

GETTING_GOING_S = 0.1  # from a command to motors that say they move; the latency of a real hand is 54 ms


class ActionPlayer:
    """The steps that are still to come, by the twin's clock."""

    def __init__(self) -> None:
        """Nothing to play."""
        self.play(())

    def play(self, steps: Sequence[Step]) -> None:
        """Play these steps in place of any others; none stops."""
        self._waiting = list(steps)
        self._last: Step | None = None
        self._begun_s = self._moved_s = 0.0  # when the last step began, and when it was last seen moving

    @property
    def playing(self) -> bool:
        """Whether it is not over yet."""
        return bool(self._waiting) or self._last is not None

    def due(self, stamp_s: float, *, moving: bool) -> Step | None:
        """The step to take at this time, if one is due."""
        if stamp_s < self._begun_s:  # the world was reset
            self.play(())
        if self._last is not None:
            if moving or stamp_s - self._begun_s < GETTING_GOING_S:
                self._moved_s = stamp_s
            if stamp_s - self._moved_s < self._last.wait_s or self._moved_s == stamp_s:
                return None
        self._last = self._waiting.pop(0) if self._waiting else None
        self._begun_s = self._moved_s = stamp_s
        return self._last
