"""When it is time again: something periodic kept in step with its plan, and something frequent kept within bounds."""

from __future__ import annotations

import logging
from collections import defaultdict

LOG_PERIOD_S = 60.0


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
    """Timer of a periodic job."""

    def __init__(self, rate_hz: float):
        """A rate of the twin's clock."""
        self._period_s = 1.0 / rate_hz
        self._due_s = float("-inf")

    def is_due(self, now_s: float) -> bool:
        """True when it is; then the next time is one period later."""
        due_s = next_due_s(self._due_s, self._period_s, now_s)
        self._due_s = self._due_s if due_s is None else due_s
        return due_s is not None


class RateLimit:
    """Rate limit: so many pass in each period, the rest are counted."""

    def __init__(self, most: int, period_s: float):
        """Nothing has come yet."""
        self._most, self._period_s = most, period_s
        self._since_s, self._passed = float("-inf"), 0
        self.held_back = 0
        """How many did not pass."""

    def passes(self, now_s: float) -> bool:
        """Whether the one that comes now may pass."""
        if not 0.0 <= now_s - self._since_s < self._period_s:
            self._since_s, self._passed = now_s, 0
        self._passed += 1
        if self._passed <= self._most:
            return True
        self.held_back += 1
        return False


class LogLimit(logging.Filter):
    """Log filter: of what one line of code logs in a period it passes the first few and the count of the rest."""

    def __init__(self, most: int):
        """Nothing has been logged yet; ``most`` records of a line of code are shown in a minute."""
        super().__init__()
        self._limits: dict[tuple[str, int], RateLimit] = defaultdict(lambda: RateLimit(most, LOG_PERIOD_S))

    def filter(self, record: logging.LogRecord) -> bool:
        """Whether a record is shown."""
        limit = self._limits[record.pathname, record.lineno]
        held_back = limit.held_back
        if not limit.passes(record.created):
            return False
        if held_back:
            limit.held_back = 0
            record.msg, record.args = f"{record.getMessage()} ({held_back} more like it were not shown)", ()
        return True


def limit_logs(most: int = 60) -> None:
    """Keep what goes to the terminal by itself within what can be read."""
    if logging.lastResort is not None and not logging.lastResort.filters:
        logging.lastResort.addFilter(LogLimit(most))
