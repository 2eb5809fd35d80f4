"""What came in: requests on their way to the loop, and a tally of what was refused and why."""

from __future__ import annotations

from collections import Counter, deque
from dataclasses import dataclass

from thenar.signals import Request

TWIN_NAME = "thenar twin"
"""How twins are called in the lists of others."""

LONGEST = 1024  # requests between two ticks; a flood beyond it loses the oldest


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


class Inbox:
    """Filled by a listener's thread, emptied by the loop's."""

    def __init__(self) -> None:
        """Empty."""
        self._waiting: deque[Request] = deque(maxlen=LONGEST)
        self.refused: Counter[str] = Counter()

    def put(self, request: Request) -> None:
        """Leave a request for the loop."""
        if len(self._waiting) == LONGEST:
            self.refused["more requests than can be looked at"] += 1
        self._waiting.append(request)

    def refuse(self, reason: str, count: int = 1) -> None:
        """Count something that was not done, or not as it was asked."""
        self.refused[reason] += count

    def drain(self) -> list[Request]:
        """Everything that waits, oldest first."""
        return [self._waiting.popleft() for _ in range(len(self._waiting))]

    def __len__(self) -> int:
        """How many wait."""
        return len(self._waiting)
