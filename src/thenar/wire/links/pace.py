"""When it is time to send again."""

from __future__ import annotations


class Pace:
    """Says when it is time again, in step with a plan."""

    def __init__(self, rate_hz: float):
        """A rate of the twin's clock."""
        self._period_s = 1.0 / rate_hz
        self._due_s = float("-inf")

    def is_due(self, now_s: float) -> bool:
        """True when it is; then the next time is one period later."""
        if self._due_s - self._period_s - 1e-6 <= now_s < self._due_s - 1e-6:
            return False
        # In step with the plan, unless the clock was set back (a reset) or the twin was away.
        late_s = now_s - self._due_s
        self._due_s = self._due_s + self._period_s if 0.0 <= late_s < self._period_s else now_s + self._period_s
        return True
