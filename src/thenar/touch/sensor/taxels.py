"""What the taxels would say: force into counts, with gain, offset, noise, memory, dead cells and saturation."""

from __future__ import annotations

import numpy as np

from thenar.arrays import FloatArray, IntArray
from thenar.hands.spec import HandSpec
from thenar.touch.sensor.calibration import Calibration
from thenar.touch.sensor.noise import dead_taxels, draws
from thenar.touch.sensor.response import Response, per_taxel

TAXELS_STREAM, NOISE_STREAM = 10, 11  # of random numbers


class Sensor:
    """All taxels of a hand."""

    def __init__(self, hand: HandSpec, calibration: Calibration, *, seed: int):
        """Draw every taxel's own gain and offset, from the seed."""
        self._seed = seed
        natures = draws(seed, TAXELS_STREAM)
        columns: dict[str, list[FloatArray]] = {
            name: [np.zeros(0)] for name in ("gain", "offset", "noise", "lowest", "top", "removed")
        }
        for pad in hand.pads:
            own = calibration.pad(pad.name)
            gain_draw, offset_draw = natures.standard_normal((2, pad.rows, pad.cols))
            gain = np.asarray(own.gain_counts_per_n) * (1.0 + own.gain_spread * gain_draw)
            offset = np.asarray(own.offset_counts) + own.offset_spread_counts * offset_draw
            columns["gain"].append(gain.ravel())
            columns["offset"].append(offset.ravel())
            columns["removed"].append((np.round(offset) * own.remove_offset).ravel())
            for name, value in (
                ("noise", own.noise_counts),
                ("lowest", own.lowest_counts),
                ("top", own.saturation_counts),
            ):
                columns[name].append(per_taxel(pad, value))
        whole = {name: np.concatenate(parts) for name, parts in columns.items()}
        self._response = Response(hand.pads, calibration, whole["gain"], whole["offset"])
        self._noise, self._lowest, self._top, self._removed = (
            whole[name] for name in ("noise", "lowest", "top", "removed")
        )
        self._noisy = bool(np.any(self._noise > 0.0))
        self.dead = dead_taxels(hand, calibration)
        """Taxels that read their offset whatever presses."""
        self.reset()

    def reset(self) -> None:
        """Forget past loads."""
        self._response.reset()
        self._readings = 0

    def read(self, force_n: FloatArray | None, stamp_s: float) -> IntArray:
        """Counts of every taxel under these forces [N]; None: nothing touches. Shape (taxels,)."""
        raw = self._response.read(self._response.take(force_n, stamp_s), self.dead)
        if self._noisy:
            raw += self._noise * draws(self._seed, NOISE_STREAM, self._readings).standard_normal(len(raw))
        self._readings += 1
        converted = np.clip(np.round(raw), self._lowest, self._top)
        return (converted - self._removed).astype(np.int64)
