"""Barometers in rubber: stress at the die into absolute pressure and temperature, in SI units."""

from __future__ import annotations

import math

import numpy as np

from thenar.arrays import FloatArray
from thenar.hands.spec import SkinSpec
from thenar.touch.sensor.calibration import Calibration
from thenar.touch.sensor.noise import Noise, dead_taxels, draw_taxels
from thenar.touch.sensor.response import Response

DIES_STREAM, READINGS_STREAM = 12, 13  # of random numbers


class Barometers:
    """All dies of a hand, pad after pad."""

    def __init__(self, hand: SkinSpec, calibration: Calibration, *, seed: int):
        """Draw every die's own gain and offset, from the seed."""
        self._noise = Noise(seed, READINGS_STREAM)
        self._calibration = calibration
        self._noise_pa = calibration.per_taxel(hand.pads, "noise")
        self._response = Response(
            hand.pads, calibration, *draw_taxels(hand, calibration, seed=seed, stream=DIES_STREAM)
        )
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
        pressure = skin.ambient_pa + self._response.read(stress_pa, stamp_s, self.dead)
        if np.any(self._noise_pa > 0.0):
            pressure += self._noise_pa * self._noise.draw(self._readings, len(pressure))
        self._readings += 1
        temperature = skin.ambient_c + skin.warm_up_c * (1.0 - math.exp(-stamp_s / skin.warm_up_s))
        return pressure, np.full(len(pressure), temperature)
