"""When it is time again: something periodic kept in step with its plan, on a clock that may be set back."""

from __future__ import annotations


def next_due_s(due_s: float, period_s: float, now_s: float, slack_s: float = 1e-6) -> float | None:
    """The time after next if something is due now, or None if it is not yet.

    In step with the plan, unless the clock was set back (a reset) or jumped ahead: then the plan begins anew.

    Args:
        due_s: When it is due [s].
        period_s: Time between two times [s].
        now_s: What the clock shows [s].
        slack_s: So much too early is in time [s].
    """
    if slack_s < due_s - now_s <= period_s + slack_s:
        return None
    return due_s + period_s if 0.0 <= now_s - due_s < period_s else now_s + period_s


class Pace:
    """Says when it is time again."""

    def __init__(self, rate_hz: float):
        """A rate of the twin's clock."""
        self._period_s = 1.0 / rate_hz
        self._due_s = float("-inf")

    def is_due(self, now_s: float) -> bool:
        """True when it is; then the next time is one period later."""
        due_s = next_due_s(self._due_s, self._period_s, now_s)
        self._due_s = self._due_s if due_s is None else due_s
        return due_s is not None
