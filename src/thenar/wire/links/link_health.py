"""How a link is doing: its peers, what it wrote, and how many messages it refused and why."""

from __future__ import annotations

import threading
import time
from collections import deque
from dataclasses import dataclass

RECENT = 512  # arrivals kept for a peer's rate


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
    """Statistics of one peer's messages."""

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
    peers: tuple[PeerHealth, ...]
    refused: dict[str, int]
    """Messages that were refused or bent, by reason."""
    written: int = 0
    not_written: int = 0
    standing_s: float = 0.0
    """For how long a thread of its has been at the same thing [s]; 0 when all wait for work."""
    warnings: tuple[str, ...] = ()
    """What its user should know of, in words."""
    failed: str = ""
    """Why it has ended, though the twin runs; empty while it works."""


def ended(*threads: threading.Thread) -> str:
    """Which of a link's threads has ended, in words; empty while all of them run."""
    return next((f"its thread {thread.name} has ended" for thread in threads if not thread.is_alive()), "")
