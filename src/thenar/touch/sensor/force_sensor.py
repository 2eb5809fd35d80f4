"""Force taxels: force into counts, with gain, offset, noise, memory, dead cells and saturation."""

from __future__ import annotations

import numba as nb
import numpy as np

from thenar.arrays import FloatArray, IntArray
from thenar.hands.spec import SkinSpec
from thenar.touch.sensor.calibration import Calibration
from thenar.touch.sensor.noise import dead_taxels, draw_taxels, draws
from thenar.touch.sensor.response import Response

TAXELS_STREAM, NOISE_STREAM = 10, 11  # of random numbers


class Sensor:
    """All taxels of a hand."""

    def __init__(self, hand: SkinSpec, calibration: Calibration, *, seed: int):
        """Draw every taxel's own gain and offset, from the seed."""
        self._seed = seed
        gain, offset = draw_taxels(hand, calibration, seed=seed, stream=TAXELS_STREAM)
        columns = [calibration.per_taxel(hand.pads, name) for name in ("noise", "lowest_counts", "saturation_counts")]
        self._noise, self._lowest, self.top_counts = columns
        self._noisy = bool(np.any(self._noise > 0.0))
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
            raw += self._noise * draws(self._seed, NOISE_STREAM, self._readings).standard_normal(len(raw))
        self._readings += 1
        return _counts(raw, self._lowest, self.top_counts)


@nb.njit(cache=True)
def _counts(raw: FloatArray, lowest: FloatArray, top: FloatArray) -> IntArray:
    """What the converter makes of a signal: whole counts within its range. The offset stays in, as on the real hand."""
    counts = np.empty(len(raw), dtype=np.int64)
    for k in range(len(raw)):
        counts[k] = min(max(np.rint(raw[k]), lowest[k]), top[k])
    return counts
