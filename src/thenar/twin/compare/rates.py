"""How often messages come, and whether some are missing."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from thenar.arrays import FloatArray
from thenar.twin.compare.finding import Finding

TOLERANCE = 0.06
MIN_LOST = 0.02
MIN_MESSAGES = 50


def find_silence(hand: str, silent_s: float) -> list[Finding]:
    """A hand that has said nothing for a while."""
    words = f"no state has come for {silent_s:.0f} s"
    evidence = "its commands and the wire are listened to as before"
    return [Finding(kind="silence", hand=hand, part="state", size=silent_s, unit="s", words=words, evidence=evidence)]


def find_rate_gaps(hand: str, what: str, arrived_s: FloatArray, expected_hz: float) -> Iterator[Finding]:
    """Another rate than expected, or messages that are missing between others that come in time.

    Args:
        hand: Whose they are.
        what: What comes, such as ``state``.
        arrived_s: When. Shape (t,).
        expected_hz: How often.
    """
    if len(arrived_s) < MIN_MESSAGES or not expected_hz:
        return
    steps_s = np.diff(arrived_s)
    rate_hz = len(steps_s) / max(float(arrived_s[-1] - arrived_s[0]), 1e-9)
    # Messages wait now and then and come together; most are in step with the beat they are sent in.
    beat_s = float(np.median(steps_s))
    own_hz = 1.0 / max(beat_s, 1e-6)
    lost = 1.0 - rate_hz / expected_hz
    evidence = f"{len(arrived_s)} messages in {arrived_s[-1] - arrived_s[0]:.1f} s"
    if lost > MIN_LOST and abs(own_hz / expected_hz - 1.0) < 0.15 and np.mean(steps_s > 1.6 / expected_hz) > 0.5 * lost:
        words = f"{100 * lost:.0f} % of {what} messages are missing"
        yield Finding(kind="lost messages", hand=hand, part=what, size=lost, unit="1", words=words, evidence=evidence)
    elif abs(rate_hz / expected_hz - 1.0) > TOLERANCE:
        words = f"{what} arrives at {rate_hz:.0f} Hz, {expected_hz:g} expected"
        yield Finding(kind="rate", hand=hand, part=what, size=rate_hz, unit="Hz", words=words, evidence=evidence)
