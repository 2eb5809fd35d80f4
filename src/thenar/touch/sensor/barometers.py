"""What barometers in the rubber feel: stress at the die into absolute pressure and temperature, in SI units."""

from __future__ import annotations

import math

import numpy as np

from thenar.arrays import FloatArray
from thenar.hands.spec import HandSpec
from thenar.touch.sensor.calibration import Calibration
from thenar.touch.sensor.noise import dead_taxels, draws
from thenar.touch.sensor.response import Response, per_taxel

DIES_STREAM, READINGS_STREAM = 12, 13  # of random numbers


class Barometers:
    """All dies of a hand, pad after pad."""

    def __init__(self, hand: HandSpec, calibration: Calibration, *, seed: int):
        """Draw every die's own gain and offset, from the seed."""
        self._seed = seed
        self._calibration = calibration
        natures = draws(seed, DIES_STREAM)
        columns: dict[str, list[FloatArray]] = {name: [] for name in ("gain", "offset", "noise")}
        for pad in hand.pads:
            own = calibration.pad(pad.name)
            gain_draw, offset_draw = natures.standard_normal((2, pad.rows, pad.cols))
            gain = np.asarray(own.die_gain) * (1.0 + own.gain_spread * gain_draw)
            columns["gain"].append(gain.ravel())
            offset = np.asarray(own.die_offset_pa) + own.die_offset_spread_pa * offset_draw
            columns["offset"].append(offset.ravel())
            columns["noise"].append(per_taxel(pad, own.die_noise_pa))
        gain, offset, self._noise_pa = (np.concatenate(parts) for parts in columns.values())
        self._response = Response(hand.pads, calibration, gain, offset)
        self.dead = dead_taxels(hand, calibration)
        """Dies that read their offset whatever presses."""
        self.reset()

    def reset(self) -> None:
        """Forget past loads."""
        self._response.reset()
        self._readings = 0

    def read(self, stress_pa: FloatArray, stamp_s: float) -> tuple[FloatArray, FloatArray]:
        """Absolute pressure [Pa] and temperature [degrees Celsius] of every die under this stress [Pa]."""
        skin = self._calibration
        pressure = skin.ambient_pa + self._response.read(self._response.take(stress_pa, stamp_s), self.dead)
        if np.any(self._noise_pa > 0.0):
            noise = draws(self._seed, READINGS_STREAM, self._readings)
            pressure += self._noise_pa * noise.standard_normal(len(pressure))
        self._readings += 1
        temperature = skin.ambient_c + skin.warm_up_c * (1.0 - math.exp(-stamp_s / skin.warm_up_s))
        return pressure, np.full(len(pressure), temperature)
