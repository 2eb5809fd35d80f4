"""What barometers in the rubber feel: stress at the die into absolute pressure and temperature, in SI units."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from thenar.hands.spec import HandSpec
from thenar.touch.calibration import Calibration

FloatArray = NDArray[np.float64]

DIES_STREAM, READINGS_STREAM = 12, 13  # of random numbers


class Barometers:
    """All dies of a hand, pad after pad."""

    def __init__(self, hand: HandSpec, calibration: Calibration, *, seed: int):
        """Draw every die's own gain and offset, from the seed."""
        self._seed = seed
        self._calibration = calibration
        draws = _random(seed, DIES_STREAM, 0)
        columns: dict[str, list[FloatArray]] = {name: [] for name in ("gain", "offset", "noise", "creep", "creep_s")}
        for pad in hand.pads:
            own = calibration.pad(pad.name)
            gain_draw, offset_draw = draws.standard_normal((2, pad.rows, pad.cols))
            gain = own.die_gain * (1.0 + own.gain_spread * gain_draw)
            for row, col in own.dead:
                gain[row, col] = 0.0
            columns["gain"].append(gain.ravel())
            columns["offset"].append((own.die_offset_pa + own.die_offset_spread_pa * offset_draw).ravel())
            for name, value in (
                ("noise", own.die_noise_pa),
                ("creep", own.hysteresis),
                ("creep_s", own.hysteresis_s),
            ):
                columns[name].append(np.full(pad.taxels, value))
        self._gain, self._offset_pa, self._noise_pa, self._creep, self._creep_s = (
            np.concatenate(parts) for parts in columns.values()
        )
        self.reset()

    def reset(self) -> None:
        """Forget past loads."""
        self._past_pa = np.zeros(len(self._gain))
        self._last_s = math.nan
        self._readings = 0

    def read(self, stress_pa: FloatArray, stamp_s: float) -> tuple[FloatArray, FloatArray]:
        """Absolute pressure [Pa] and temperature [degrees Celsius] of every die under this stress [Pa]."""
        if not math.isnan(self._last_s) and stamp_s > self._last_s:
            share = 1.0 - np.exp(-(stamp_s - self._last_s) / self._creep_s)
            self._past_pa = self._past_pa + share * (stress_pa - self._past_pa)
        self._last_s = stamp_s
        skin = self._calibration
        # Rubber creeps: part of a load arrives late, and stays a while when it is gone.
        pressure = skin.ambient_pa + self._offset_pa
        pressure += self._gain * (stress_pa + self._creep * (self._past_pa - stress_pa))
        if np.any(self._noise_pa > 0.0):
            noise = _random(self._seed, READINGS_STREAM, self._readings)
            pressure += self._noise_pa * noise.standard_normal(len(pressure))
        self._readings += 1
        temperature = skin.ambient_c + skin.warm_up_c * (1.0 - math.exp(-stamp_s / skin.warm_up_s))
        return pressure, np.full(len(pressure), temperature)


def _random(seed: int, stream: int, count: int) -> np.random.Generator:
    key = np.array([seed & 0xFFFFFFFF, stream], dtype=np.uint64)
    return np.random.Generator(np.random.Philox(key=key, counter=[0, count, 0, 0]))
