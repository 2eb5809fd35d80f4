"""From the load on every taxel to its signal: cross-talk, creep, play, a curve and drift, or a learned model.

Loads are newtons on a taxel or pascals at a die; signals are counts or pascals. What is remembered is kept here.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numba as nb
import numpy as np

from thenar.arrays import BoolArray, FloatArray
from thenar.hands.spec import Pad
from thenar.touch.sensor.calibration import Calibration
from thenar.touch.sensor.hysteresis import bend
from thenar.touch.sensor.learned import LearnedPad, around
from thenar.touch.sensor.receptive import neighbors, taxel_shares


class Response:
    """All taxels of a hand, pad after pad."""

    def __init__(
        self,
        pads: Sequence[Pad],
        calibration: Calibration,
        gain: FloatArray,
        offset: FloatArray,
        *,
        spread: bool = True,
    ):
        """Lay out what each taxel does with its load.

        Args:
            pads: The pads, in the order of the taxels.
            calibration: What they are like.
            gain: Of every taxel.
            offset: Of every taxel.
            spread: False: loads have come through the skin already, whatever its depth.
        """
        self._gain, self._offset = gain, offset
        names = ("hysteresis", "hysteresis_s", "play", "play_width", "drift", "drift_s", "ceiling", "knee")
        columns = (calibration.per_taxel(pads, name) for name in names)
        self._creep, self._fade_s, self._play, self._width, self._drift, self._drift_s, ceiling, self._knee = columns
        self._bend = 1.0 / ceiling
        self._spread: list[tuple[slice, FloatArray]] = []  # pads whose taxels do not only feel what presses on them
        self._mixed: list[tuple[slice, FloatArray]] = []
        self._learned: list[tuple[slice, Pad, LearnedPad]] = []
        first = 0
        for pad in pads:
            own, part = calibration.pad(pad.name), slice(first, first + pad.taxels)
            first += pad.taxels
            if spread and pad.sensor == "force" and own.taxel_depth_m > 0.0:
                self._spread.append((part, taxel_shares(pad, own.taxel_depth_m)))
            crosstalk = calibration.per_taxel([pad], "crosstalk")
            if own.learned is not None:
                self._learned.append((part, pad, own.learned))
            elif np.any(crosstalk > 0.0):
                self._mixed.append((part, np.eye(pad.taxels) + crosstalk[:, None] * neighbors(pad)))
        self._bends, self._drifts = bool(np.any(self._bend)), bool(np.any(self._drift))
        self._remembers = bool(np.any(self._creep > 0.0) or np.any(self._play > 0.0) or self._learned)
        self.steady = not (self._remembers or self._drifts)
        """Whether a taxel that nothing presses on always reads its offset."""
        self.reset()

    def reset(self) -> None:
        """Forget past loads."""
        self._past, self._stuck = np.zeros(len(self._gain)), np.zeros(len(self._gain))
        self._states = [np.zeros((pad.taxels, learned.states)) for _, pad, learned in self._learned]
        self._fresh = True  # no past load
        self._last_s = math.nan

    def read(self, load: FloatArray | None, stamp_s: float, dead: BoolArray) -> FloatArray:
        """Reading of every taxel, without noise and before it is rounded.

        Args:
            load: On every taxel; None: nothing touches.
            stamp_s: Time of the reading [s].
            dead: Taxels that read as if nothing pressed.
        """
        step_s = 0.0 if math.isnan(self._last_s) else max(stamp_s - self._last_s, 0.0)
        self._last_s = stamp_s
        reading = self._offset.copy()
        if self._drifts:
            reading += self._drift * (1.0 - np.exp(-stamp_s / self._drift_s))
        if load is not None or (self._remembers and not self._fresh):
            load = _mixed(np.zeros(len(self._gain)) if load is None else load, self._spread)
            reading += np.where(dead, 0.0, self._signal(load, step_s))
        for states, (part, pad, learned) in zip(self._states, self._learned, strict=True):
            near = np.zeros(pad.taxels) if load is None else load[part]
            states = np.where(dead[part, None], 0.0, states)
            near = np.where(dead[part, None], 0.0, around(pad, near))
            reading[part] = learned.read(states, near, stamp_s)
        return reading

    def _signal(self, load: FloatArray, step_s: float) -> FloatArray:
        """Signal of every taxel that is not learned, after a step of all memories."""
        drive = _mixed(load, self._mixed)
        if self._remembers:
            parts = zip(self._states, self._learned, strict=True)
            self._states = [learned.step(past, load[part], step_s) for past, (part, _, learned) in parts]
            self._fresh = False
            follow = 1.0 - np.exp(-step_s / self._fade_s)
            drive = _lag(drive, follow, self._width, self._creep, self._play, self._past, self._stuck)
        signal = self._gain * drive
        return bend(signal, self._bend, self._knee) if self._bends else signal


@nb.njit(cache=True)
def _lag(
    drive: FloatArray,
    follow: FloatArray,
    width: FloatArray,
    creep: FloatArray,
    play: FloatArray,
    past: FloatArray,
    stuck: FloatArray,
) -> FloatArray:
    """What is read of a load: the skin creeps and sticks, and so lags a little behind what presses.

    The last two are its memories, of a `creep_step` and a `play_step`, and are written over.
    """
    lagging = np.empty_like(drive)
    for k in range(len(drive)):
        now = drive[k]
        past[k] += follow[k] * (now - past[k])
        stuck[k] = min(max(stuck[k], now - width[k]), now + width[k])
        lagging[k] = now + (creep[k] * (past[k] - now) + play[k] * (stuck[k] - now))
    return lagging


def _mixed(load: FloatArray, mixing: list[tuple[slice, FloatArray]]) -> FloatArray:
    """Loads of pads with a matrix, mixed by it."""
    if not mixing:
        return load
    mixed = load.copy()
    for part, matrix in mixing:
        mixed[part] = matrix @ load[part]
    return mixed
