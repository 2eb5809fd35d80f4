"""Counts of a skin that was heard on a wire as a frame: what must have pressed, by its calibration."""

from __future__ import annotations

import math

import numpy as np

from thenar.arrays import FloatArray
from thenar.hands.spec import HandSpec
from thenar.signals import PadLayout, TouchFrame
from thenar.touch.sensor.calibration import Calibration
from thenar.touch.solver.pads import taxel_areas_m2

FLOOR = 4.0  # standard deviations of noise and offsets below which a reading is nothing


class CountsReader:
    """Turns readings of one hand into frames. Shear and bare skin are not measured, so they are NaN."""

    def __init__(self, hand: HandSpec, calibration: Calibration):
        """For this hand and skin."""
        pads = hand.pads
        firsts = np.cumsum([0, *(pad.taxels for pad in pads)])
        self.layout = tuple(
            PadLayout(name=pad.name, first=int(first), rows=pad.rows, cols=pad.cols)
            for pad, first in zip(pads, firsts, strict=False)
        )
        self._firsts = firsts[:-1]
        columns = (calibration.per_taxel(pads, name) for name in ("gain", "offset", "offset_spread", "noise"))
        self._gain, self._offset, spread, noise = columns
        self._floor = FLOOR * np.hypot(spread, noise)
        self._area_m2 = np.concatenate([taxel_areas_m2(hand, pad).ravel() for pad in pads])
        self._buried = any(pad.sensor == "barometer" for pad in pads)

    def frame(self, counts: FloatArray, stamp_s: float) -> TouchFrame:
        """The frame of one reading, pad after pad; NaN where nothing was measured. Shape (taxels,)."""
        above = np.where(counts - self._offset < self._floor, 0.0 * counts, counts - self._offset) / self._gain
        pressure_pa = above if self._buried else above / self._area_m2
        forces_n = np.add.reduceat(pressure_pa * self._area_m2, self._firsts)
        return TouchFrame(
            stamp_s=stamp_s,
            layout=self.layout,
            taxel_pressure_pa=pressure_pa,
            taxel_shear_pa=np.full((len(counts), 2), math.nan),
            pad_force_n=forces_n,
            pad_centre_m=np.full((len(self.layout), 2), math.nan),
            bare_skin_n=math.nan,
            contact_n=math.nan,
            taxel_counts=np.where(np.isnan(counts), 0.0, counts).astype(np.int64),
            die_pressure_pa=counts if self._buried else np.zeros(0),
        )
