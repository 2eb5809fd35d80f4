"""Action sequences of the Inspire hands: up to eight steps that a hand keeps and plays by itself.

Addresses and check bytes are those of public drivers for the RH56DFX. What the 19 numbers of a step are is told only by
the editor of the maker's program, which lists angles, speeds, forces and a time to wait: that order is taken here, with
milliseconds. The sequences that a new hand has are not published.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

BLOCK_BYTES = 320  # check bytes, number of steps, and from byte 16 on the steps
CHECK = b"\x90\xeb"
STEPS_AT, MAX_STEPS, STEP_NUMBERS = 16, 8, 19


@dataclass(frozen=True, kw_only=True, eq=False)
class Step:
    """One step, in counts of six motors."""

    angle: NDArray[np.int16]
    speed: NDArray[np.int16]
    force: NDArray[np.int16]
    wait_s: float
    """Between the end of its motion and the next step [s]."""


def steps_of(block: bytes) -> list[Step]:
    """The steps of a sequence; none if it is not whole."""
    count = block[2]
    if block[:2] != CHECK or not 1 <= count <= MAX_STEPS:
        return []
    numbers = np.frombuffer(block[STEPS_AT:], "<i2").reshape(MAX_STEPS, STEP_NUMBERS)[:count]
    return [
        Step(angle=row[:6], speed=row[6:12], force=row[12:18], wait_s=max(int(row[18]), 0) / 1e3) for row in numbers
    ]
