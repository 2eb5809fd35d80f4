"""Inbox of a link: requests on their way to the loop, and counts of refusals by reason."""

from __future__ import annotations

import time
from collections import Counter, deque
from typing import Any

from thenar.errors import count_reason
from thenar.signals import Request

TWIN_NAME = "thenar twin"
"""How twins are called in the lists of others."""

MAX_WAITING = 1024  # requests between two ticks; a flood beyond it loses the oldest


class Inbox:
    """Filled by a listener's thread, emptied by the loop's."""

    def __init__(self) -> None:
        """Empty."""
        self._waiting: deque[Request] = deque(maxlen=MAX_WAITING)
        self.refused: Counter[str] = Counter()

    def put(self, hand: str, sender: str, *, arrived_s: float | None = None, **asked: Any) -> None:
        """Leave a request for the loop, by the fields of `Request`; it came now if no time is given."""
        at_s = time.perf_counter() if arrived_s is None else arrived_s
        request = Request(hand=hand, sender=sender, arrived_s=at_s, **asked)
        if len(self._waiting) == MAX_WAITING:
            self.refused["more requests than can be looked at"] += 1
        self._waiting.append(request)

    def refuse(self, reason: str, count: int = 1) -> None:
        """Count something that was not done, or not as it was asked."""
        count_reason(self.refused, reason, count)

    def drain(self) -> list[Request]:
        """Everything that waits, oldest first."""
        return [self._waiting.popleft() for _ in range(len(self._waiting))]

    def __len__(self) -> int:
        """How many wait."""
        return len(self._waiting)
