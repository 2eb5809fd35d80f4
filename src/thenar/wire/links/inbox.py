"""What came in: requests on their way to the loop, and a tally of what was refused and why."""

from __future__ import annotations

import threading
import time
from collections import Counter, deque
from dataclasses import dataclass
from typing import Any

from thenar.errors import count_reason
from thenar.signals import Request

TWIN_NAME = "thenar twin"
"""How twins are called in the lists of others."""

RECENT = 512  # arrivals kept for a peer's rate
MAX_WAITING = 1024  # requests between two ticks; a flood beyond it loses the oldest


@dataclass(frozen=True, kw_only=True)
class PeerHealth:
    """One peer that talks to us."""

    who: str
    where: str
    """Topic or port."""
    messages: int
    rate_hz: float
    age_s: float
    """Since its last message."""


class PeerStats:
    """What one peer has said."""

    def __init__(self, who: str):
        """Nothing yet; ``who`` is the peer, in words."""
        self.who = who
        self.messages = 0
        self.last_s = 0.0
        self._recent_s: deque[float] = deque(maxlen=RECENT)

    def record(self, arrived_s: float) -> None:
        """Count a message, by `time.perf_counter`."""
        self.messages += 1
        self.last_s = arrived_s
        self._recent_s.append(arrived_s)

    def health(self, where: str) -> PeerHealth:
        """How it is doing: its rate is that of the last two seconds."""
        now_s = time.perf_counter()
        recent_s = [at_s for at_s in self._recent_s.copy() if now_s - at_s < 2.0]
        lately = len(recent_s) > 1 and now_s - self.last_s < 1.0 and recent_s[-1] > recent_s[0]
        return PeerHealth(
            who=self.who,
            where=where,
            messages=self.messages,
            rate_hz=(len(recent_s) - 1) / (recent_s[-1] - recent_s[0]) if lately else 0.0,
            age_s=now_s - self.last_s,
        )


@dataclass(frozen=True, kw_only=True)
class LinkHealth:
    """How a link is doing."""

    wire: str
    where: str
    """Topics or addresses it serves."""
    listeners: int
    """Peers that read from us now."""
    written: int
    not_written: int
    peers: tuple[PeerHealth, ...]
    refused: dict[str, int]
    """Messages that were refused or bent, by reason."""
    standing_s: float = 0.0
    """For how long a thread of its has been at the same thing [s]; 0 when all wait for work."""
    warnings: tuple[str, ...] = ()
    """What its user should know of, in words."""
    failed: str = ""
    """Why it has ended, though the twin runs; empty while it works."""


def ended(*threads: threading.Thread) -> str:
    """Which of a link's threads has ended, in words; empty while all of them run."""
    return next((f"its thread {thread.name} has ended" for thread in threads if not thread.is_alive()), "")


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
