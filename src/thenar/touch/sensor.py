"""What the taxels would say: force into counts, with gain, offset, noise, hysteresis, dead cells and saturation."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from thenar.hands.spec import HandSpec
from thenar.touch.calibration import Calibration

FloatArray = NDArray[np.float64]

TAXELS_STREAM, NOISE_STREAM = 10, 11  # of random numbers


class Sensor:
    """All taxels of a hand."""

    def __init__(self, hand: HandSpec, calibration: Calibration, *, seed: int):
        """Draw every taxel's own gain and offset, from the seed."""
        self._seed = seed
        draws = np.random.Generator(np.random.Philox(key=np.array([seed & 0xFFFFFFFF, TAXELS_STREAM], dtype=np.uint64)))
        columns: dict[str, list[FloatArray]] = {
            name: [] for name in ("gain", "offset", "noise", "memory", "fade_s", "top", "removed")
        }
        broken: list[NDArray[np.bool_]] = []
        for pad in hand.pads:
            own = calibration.pad(pad.name)
            gain_draw, offset_draw = draws.standard_normal((2, pad.rows, pad.cols))
            gain = own.gain_counts_per_n * (1.0 + own.gain_spread * gain_draw)
            dead = np.zeros((pad.rows, pad.cols), dtype=bool)
            for row, col in own.dead:
                dead[row, col] = True
            broken.append(dead.ravel())
            offset = own.offset_counts + own.offset_spread_counts * offset_draw
            columns["gain"].append(gain.ravel())
            columns["offset"].append(offset.ravel())
            columns["removed"].append((np.round(offset) * own.remove_offset).ravel())
            for name, value in (
                ("noise", own.noise_counts),
                ("memory", own.hysteresis),
                ("fade_s", own.hysteresis_s),
                ("top", own.saturation_counts),
            ):
                columns[name].append(np.full(pad.taxels, value))
        empty = np.zeros(0)
        self._gain, self._offset, self._noise, self._memory, self._fade_s, self._top, self._removed = (
            np.concatenate(parts) if parts else empty for parts in columns.values()
        )
        self.dead = np.concatenate(broken) if broken else np.zeros(0, dtype=bool)
        """Taxels that read their offset whatever presses."""
        self._remembers = bool(np.any(self._memory > 0.0))
        self.reset()

    def reset(self) -> None:
        """Forget past loads."""
        self._past_n = np.zeros(len(self._gain))
        self._fresh = True  # no past load
        self._last_s = math.nan
        self._readings = 0

    def sample(self, force_n: FloatArray | None, stamp_s: float) -> Callable[[], NDArray[np.int64]]:
        """Take these forces [N] as a reading; None: nothing touches.

        The past is taken into account now; the counts themselves are worked out when the result is called.
        """
        past_n = self._past_n
        if self._remembers and not (force_n is None and self._fresh):
            now_n = np.zeros(len(self._gain)) if force_n is None else force_n
            if not math.isnan(self._last_s) and stamp_s > self._last_s:
                share = 1.0 - np.exp(-(stamp_s - self._last_s) / self._fade_s)
                past_n = past_n + share * (now_n - past_n)
                self._past_n, self._fresh = past_n, False
        self._last_s = stamp_s
        reading = self._readings
        self._readings += 1
        return lambda: self._counts(force_n, past_n, reading)

    def _counts(self, force_n: FloatArray | None, past_n: FloatArray, reading: int) -> NDArray[np.int64]:
        now_n = np.zeros(len(self._gain)) if force_n is None else force_n
        # The skin creeps: what is read lags a little behind what presses.
        raw = self._offset + np.where(self.dead, 0.0, self._gain) * (now_n + self._memory * (past_n - now_n))
        if np.any(self._noise > 0.0):
            key = np.array([self._seed & 0xFFFFFFFF, NOISE_STREAM], dtype=np.uint64)
            random = np.random.Generator(np.random.Philox(key=key, counter=[0, reading, 0, 0]))
            raw = raw + self._noise * random.standard_normal(len(raw))
        converted = np.clip(np.round(raw), 0.0, self._top)
        return (converted - self._removed).astype(np.int64)
