"""Inbox of a link: requests on their way to the loop, and counts of refusals by reason."""

from __future__ import annotations

import time
from collections import Counter, deque
from typing import Any, Generic, TypeVar

from thenar.errors import count_reason
from thenar.signals import Request

TWIN_NAME = "thenar twin"
"""How twins are called in the lists of others."""

MAX_WAITING = 1024  # requests between two ticks; a flood beyond it loses the oldest

T = TypeVar("T")


class Waiting(Generic[T]):
    """Filled by a listener's thread, emptied by the loop's."""

    def __init__(self, refused: Counter[str], limit: int = MAX_WAITING):
        """Empty; what is lost beyond the limit is counted among the refused."""
        self._refused = refused
        self._items: deque[T] = deque(maxlen=limit)

    def put(self, item: T) -> None:
        """Leave it for the loop."""
        if len(self._items) == self._items.maxlen:
            count_reason(self._refused, "more requests than can be looked at")
        self._items.append(item)

    def take(self, most: int | None = None) -> list[T]:
        """What waits, oldest first: everything, or so many at most."""
        here = len(self._items)
        return [self._items.popleft() for _ in range(here if most is None else min(here, most))]

    def __len__(self) -> int:
        """How many wait."""
        return len(self._items)


class Inbox:
    """Requests to the motors, and what was refused."""

    def __init__(self) -> None:
        """Empty."""
        self.refused: Counter[str] = Counter()
        self._waiting = Waiting[Request](self.refused)

    def put(self, hand: str, sender: str, *, arrived_s: float | None = None, **asked: Any) -> None:
        """Leave a request for the loop, by the fields of `Request`; it came now if no time is given."""
        at_s = time.perf_counter() if arrived_s is None else arrived_s
        self._waiting.put(Request(hand=hand, sender=sender, arrived_s=at_s, **asked))

    def refuse(self, reason: str, count: int = 1) -> None:
        """Count something that was not done, or not as it was asked."""
        count_reason(self.refused, reason, count)

    def drain(self) -> list[Request]:
        """Everything that waits, oldest first."""
        return self._waiting.take()

    def __len__(self) -> int:
        """How many wait."""
        return len(self._waiting)
