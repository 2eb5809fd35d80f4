"""Watchdog of a running twin: notices stages that stand still, and says each piece of news once."""

from __future__ import annotations

import logging
import math
import time
from collections.abc import Iterable

from thenar.twin.twin_health import Health
from thenar.wire.links.link_health import LinkHealth

logger = logging.getLogger(__name__)

STANDING_S = 1.0  # a stage that is at the same thing for so long is reported
MAX_TOLD = 16  # warnings that are logged; health has all of them


class Watchdog:
    """When each loop of a twin began its last turn, and what has been said about it."""

    def __init__(self, *loops: str):
        """None of the loops runs yet: what has not begun does not stand still."""
        self._turned_s = dict.fromkeys(loops, math.inf)
        self._told: set[str] = set()
        self._standing = False

    def turn(self, loop: str) -> None:
        """Note that a loop begins a turn; called by the loop itself."""
        self._turned_s[loop] = time.perf_counter()

    def standing(self, links: Iterable[LinkHealth]) -> tuple[str, ...]:
        """Loops and links that have been at the same thing for too long, in words."""
        now_s = time.perf_counter()
        stages = [(loop, now_s - turned_s) for loop, turned_s in self._turned_s.items()]
        stages += [(f"the {link.wire} link", link.standing_s) for link in links]
        return tuple(
            f"{stage} has been at the same thing for {standing_s:.0f} s"
            for stage, standing_s in stages
            if standing_s > STANDING_S
        )

    def tell(self, health: Health) -> None:
        """Log what is new: a stage that began to stand still, a warning, a part that failed."""
        if health.standing and not self._standing:
            logger.warning("%s", "; ".join(health.standing))
        self._standing = bool(health.standing)
        for news in sorted({*health.warnings, *health.failed} - self._told)[: MAX_TOLD - len(self._told)]:
            logger.warning("%s", news)
            self._told.add(news)
