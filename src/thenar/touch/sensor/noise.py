"""What differs from taxel to taxel and from reading to reading: random numbers from a seed, and dead taxels."""

from __future__ import annotations

import numpy as np

from thenar.arrays import BoolArray
from thenar.hands.spec import HandSpec
from thenar.touch.sensor.calibration import Calibration


def draws(seed: int, stream: int, count: int = 0) -> np.random.Generator:
    """Random numbers that depend on the seed, on what they are for and on how many readings came before."""
    key = np.array([seed & 0xFFFFFFFF, stream], dtype=np.uint64)
    return np.random.Generator(np.random.Philox(key=key, counter=[0, count, 0, 0]))


def dead_taxels(hand: HandSpec, calibration: Calibration) -> BoolArray:
    """Which taxels read their offset whatever presses, pad after pad. Shape (taxels,)."""
    every = [np.zeros(0, dtype=bool)]
    for pad in hand.pads:
        dead = np.zeros((pad.rows, pad.cols), dtype=bool)
        for row, col in calibration.pad(pad.name).dead:
            dead[row, col] = True
        every.append(dead.ravel())
    return np.concatenate(every)
