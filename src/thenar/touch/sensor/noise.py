"""Noise of a sensor, from taxel to taxel and from reading to reading, drawn from a seed; and dead taxels."""

from __future__ import annotations

import numpy as np

from thenar.arrays import BoolArray, FloatArray
from thenar.errors import BadValue
from thenar.hands.spec import SkinSpec
from thenar.touch.sensor.calibration import Calibration


class Noise:
    """Normal random numbers that depend on the seed, on what they are for and on how many readings came before."""

    def __init__(self, seed: int, stream: int):
        """Of this seed, for this."""
        self._random = _draws(seed, stream)
        self._start = self._random.bit_generator.state

    def draw(self, readings: int, shape: int | tuple[int, ...]) -> FloatArray:
        """Numbers of the reading after so many."""
        self._start["state"]["counter"][:] = 0, readings, 0, 0
        self._random.bit_generator.state = self._start  # a fifth of the time that a new generator takes
        return self._random.standard_normal(shape)


def _draws(seed: int, stream: int) -> np.random.Generator:
    key = np.array([seed & 0xFFFFFFFF, stream], dtype=np.uint64)
    return np.random.Generator(np.random.Philox(key=key))


def draw_taxels(hand: SkinSpec, calibration: Calibration, *, seed: int, stream: int) -> tuple[FloatArray, FloatArray]:
    """Gain and offset of every taxel, spread about those of its calibration. Shapes (taxels,)."""
    random = _draws(seed, stream)
    drawn = [random.standard_normal((2, pad.taxels)) for pad in hand.pads]
    by_gain, by_offset = np.concatenate([np.zeros((2, 0)), *drawn], axis=1)
    names = ("gain", "gain_spread", "offset", "offset_spread")
    gain, gain_spread, offset, offset_spread = (calibration.per_taxel(hand.pads, name) for name in names)
    return gain * (1.0 + gain_spread * by_gain), offset + offset_spread * by_offset


def dead_taxels(hand: SkinSpec, calibration: Calibration) -> BoolArray:
    """Which taxels read their offset whatever presses, pad after pad. Shape (taxels,)."""
    grids = [np.zeros((pad.rows, pad.cols), dtype=bool) for pad in hand.pads]
    for grid, pad in zip(grids, hand.pads, strict=True):
        for row, col in calibration.pad(pad.name).dead:
            if not (0 <= row < pad.rows and 0 <= col < pad.cols):
                raise BadValue(f"dead taxel of pad {pad.name!r}", (row, col), f"one within {pad.rows} x {pad.cols}")
            grid[row, col] = True
    return np.concatenate([np.zeros(0, dtype=bool), *(grid.ravel() for grid in grids)])
