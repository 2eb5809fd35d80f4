"""Force taxels: force into counts, with gain, offset, noise, memory, dead cells and saturation."""

from __future__ import annotations

import numba as nb
import numpy as np

from thenar.arrays import FloatArray, IntArray
from thenar.hands.spec import SkinSpec
from thenar.touch.sensor.calibration import Calibration
from thenar.touch.sensor.noise import Noise, dead_taxels, draw_taxels
from thenar.touch.sensor.response import Response

TAXELS_STREAM, NOISE_STREAM, SHEAR_STREAM = 10, 11, 14  # of random numbers


class Sensor:
    """All taxels of a hand."""

    def __init__(self, hand: SkinSpec, calibration: Calibration, *, seed: int):
        """Draw every taxel's own gain and offset, from the seed."""
        self._normals, self._shear_normals = Noise(seed, NOISE_STREAM), Noise(seed, SHEAR_STREAM)
        gain, offset = draw_taxels(hand, calibration, seed=seed, stream=TAXELS_STREAM)
        columns = [calibration.per_taxel(hand.pads, name) for name in ("noise", "lowest_counts", "saturation_counts")]
        self._noise, self._lowest, self.top_counts = columns
        self._noisy = bool(np.any(self._noise > 0.0))
        names = ("shear_counts_per_n", "shear_offset_counts", "shear_range_counts")
        shear_gain, self._shear_offset, self._shear_range = (calibration.per_taxel(hand.pads, name) for name in names)
        self._shear_gain = shear_gain * gain / calibration.per_taxel(hand.pads, "gain")
        self._three_axes = bool(np.any(shear_gain > 0.0))
        self._response = Response(hand.pads, calibration, gain, offset)
        self.dead = dead_taxels(hand, calibration)
        """Taxels that read their offset whatever presses."""
        self._idle: IntArray | None = None  # what an untouched sensor always reads, where it does
        if self._response.steady and not self._noisy:
            self._idle = _counts(offset, self._lowest, self.top_counts)
            self._idle.setflags(write=False)  # many frames share it
        self.reset()

    def reset(self) -> None:
        """Forget past loads."""
        self._response.reset()
        self._readings = 0

    def read(self, force_n: FloatArray | None, stamp_s: float) -> IntArray:
        """Counts of every taxel under these forces [N]; None: nothing touches. Shape (taxels,)."""
        if force_n is None and self._idle is not None:
            return self._idle
        raw = self._response.read(force_n, stamp_s, self.dead)
        if self._noisy:
            raw += self._noise * self._normals.draw(self._readings, len(raw))
        self._readings += 1
        return _counts(raw, self._lowest, self.top_counts)

    def read_shear(self, shear_n: FloatArray | None) -> IntArray:
        """Counts along rows and columns under these forces [N], after `read`; empty for sensors of one axis.

        Hysteresis, cross-talk and depth are those of the normal axis alone. Shape (taxels, 2).
        """
        if not self._three_axes:
            return np.zeros((0, 2), dtype=np.int64)
        raw = np.zeros((len(self.dead), 2)) if shear_n is None else self._shear_gain[:, None] * shear_n
        raw[self.dead] = 0.0
        if self._noisy:
            raw = raw + self._noise[:, None] * self._shear_normals.draw(self._readings, raw.shape)
        limit = self._shear_range[:, None]
        return (self._shear_offset[:, None] + np.clip(np.rint(raw), -limit, limit)).astype(np.int64)


@nb.njit(cache=True)
def _counts(raw: FloatArray, lowest: FloatArray, top: FloatArray) -> IntArray:
    """What the converter makes of a signal: whole counts within its range. The offset stays in, as on the real hand."""
    counts = np.empty(len(raw), dtype=np.int64)
    for k in range(len(raw)):
        counts[k] = min(max(np.rint(raw[k]), lowest[k]), top[k])
    return counts
