"""Touch of many worlds as it is read: at the sensor's own rate, and delivered a little later."""

from __future__ import annotations

import math
from dataclasses import fields
from typing import Any

import warp as wp

from thenar.batch.touch.device_touch import Touch, TouchArrays
from thenar.errors import BadValue
from thenar.touch.sensor.calibration import Calibration


class SampledTouch:
    """Readings of one hand in all worlds, which share a clock; one without a rate is read when an `advance` ends."""

    def __init__(self, touch: Touch, calibration: Calibration, timestep_s: float):
        """Take a first reading, which is delivered at once; rates are rounded to whole steps."""
        self.touch = touch
        self.period = 0 if math.isinf(calibration.rate_hz) else max(1, round(1.0 / calibration.rate_hz / timestep_s))
        """Steps between two readings; 0: they are not timed."""
        self._latency = math.ceil(calibration.latency_s / timestep_s - 1e-6) if self.period else 0
        if self._latency > self.period:
            limit_s = self.period * timestep_s
            raise BadValue("latency_s", calibration.latency_s, f"at most {limit_s:g} s, the time between two readings")
        self.touch.update()
        self.arrays = touch.arrays
        """What has been delivered."""
        if self._latency:
            with wp.ScopedDevice(touch.device):
                self.arrays = TouchArrays(**{name: wp.clone(array) for name, array in self._pairs()})

    def is_due(self, step: int) -> bool:
        """Whether something is read or delivered when ``step`` steps have been made; one without a rate always is."""
        return not self.period or step % self.period == 0 or (step - self._latency) % self.period == 0

    def after_step(self, step: int, *, last: bool) -> None:
        """Read and deliver what is due when ``step`` steps have been made; ``last``: of an `advance`."""
        if self._latency and (step - self._latency) % self.period == 0:
            for name, array in self._pairs():
                wp.copy(getattr(self.arrays, name), array)
        if step % self.period == 0 if self.period else last:
            self.touch.update()

    def forget(self, mask: Any) -> None:
        """Let worlds start without a past, on the way and delivered."""
        self.touch.forget(mask)
        if self._latency:
            self.touch.sensor.forget(mask, self.arrays)

    def rows(self) -> list[Any]:
        """All that is remembered with a row per world, but for windows."""
        delivered = [getattr(self.arrays, field.name) for field in fields(TouchArrays)] if self._latency else []
        return [*self.touch.sensor.memory, *(array for _, array in self._pairs()), *delivered]

    def _pairs(self) -> list[tuple[str, Any]]:
        return [(field.name, getattr(self.touch.arrays, field.name)) for field in fields(TouchArrays)]
