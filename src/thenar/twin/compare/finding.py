"""One difference between a hand and its twin, in words and as a number."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

HELD = frozenset({"meets", "misses", "feels"})
"""Kinds that say: one of both holds something that the other lacks."""
OF_ONE_GRIP = frozenset({"force scale", "touch gain", "feels nothing"})
"""Kinds that mean something only where both press on the same things."""


@dataclass(frozen=True, kw_only=True)
class Finding:
    """What was found; `size` is the hand less its twin, in `unit`."""

    kind: str
    """Such as ``latency``, ``speed``, ``stuck``, ``dead taxel`` or ``rate``."""
    hand: str
    part: str
    """Motor, pad or topic; a taxel as ``palm 3,7``."""
    size: float
    unit: str
    error: float = 0.0
    """Standard error of the size; 0 where it is a count or a reading."""
    words: str
    evidence: str
    """What it was seen in."""

    @property
    def key(self) -> tuple[str, str, str]:
        """What makes it the same finding as one of another time."""
        return self.kind, self.hand, self.part

    def __str__(self) -> str:
        return self.words


def in_one_grip(found: Sequence[Finding]) -> list[Finding]:
    """Findings without those that compare forces on different things: of a hand that holds what its twin lacks."""
    apart = {finding.hand for finding in found if finding.kind in HELD}
    return [finding for finding in found if finding.kind not in OF_ONE_GRIP or finding.hand not in apart]
