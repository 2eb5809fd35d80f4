"""From the load on every taxel to its signal: cross-talk, creep, play, a curve and drift, or a learned model.

Loads are newtons on a taxel or pascals at a die; signals are counts or pascals. What is remembered is kept here.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from thenar.arrays import BoolArray, FloatArray
from thenar.hands.spec import Pad
from thenar.touch.sensor.calibration import Calibration, PadCalibration
from thenar.touch.sensor.learned import LearnedPad, around
from thenar.touch.sensor.memory import bend, creep_step, play_step
from thenar.touch.sensor.receptive import neighbours, taxel_shares


@dataclass(frozen=True, eq=False)
class Moment:
    """What the skin knows at one reading; None: nothing has ever touched it."""

    stamp_s: float
    load: FloatArray | None
    drive: FloatArray | None
    past: FloatArray
    stuck: FloatArray
    learned: tuple[FloatArray, ...]


class Response:
    """All taxels of a hand, pad after pad."""

    def __init__(
        self,
        pads_of_hand: Sequence[Pad],
        calibration: Calibration,
        gain: FloatArray,
        offset: FloatArray,
        *,
        spread: bool = True,
    ):
        """Lay out what each taxel does with its load.

        Args:
            pads_of_hand: The pads, in the order of the taxels.
            calibration: What they are like.
            gain: Of every taxel.
            offset: Of every taxel.
            spread: False: loads have come through the skin already, whatever its depth.
        """
        self._gain, self._offset = gain, offset
        pads = [(pad, calibration.pad(pad.name)) for pad in pads_of_hand]
        self._creep = _column(pads, "hysteresis")
        self._fade_s = _column(pads, "hysteresis_s")
        self._play = _column(pads, "play")
        self._width = _column(pads, "play_width")
        self._drift = _column(pads, "drift")
        self._drift_s = _column(pads, "drift_s")
        self._bend = 1.0 / _column(pads, "ceiling")
        self._knee = _column(pads, "knee")
        self._spread: list[tuple[slice, FloatArray]] = []  # pads whose taxels do not only feel what presses on them
        self._mixed: list[tuple[slice, FloatArray]] = []
        self._learned: list[tuple[slice, Pad, LearnedPad]] = []
        first = 0
        for pad, own in pads:
            part = slice(first, first + pad.taxels)
            first += pad.taxels
            if spread and pad.sensor == "force" and own.taxel_depth_m > 0.0:
                self._spread.append((part, taxel_shares(pad, own.taxel_depth_m)))
            if own.learned is not None:
                self._learned.append((part, pad, own.learned))
            elif np.any(np.asarray(own.crosstalk) > 0.0):
                leak = per_taxel(pad, own.crosstalk)[:, None] * neighbours(pad)
                self._mixed.append((part, np.eye(pad.taxels) + leak))
        self._bends, self._drifts = bool(np.any(self._bend)), bool(np.any(self._drift))
        self._remembers = bool(np.any(self._creep > 0.0) or np.any(self._play > 0.0) or self._learned)
        self.reset()

    def reset(self) -> None:
        """Forget past loads."""
        self._past, self._stuck = np.zeros(len(self._gain)), np.zeros(len(self._gain))
        self._states = tuple(np.zeros((pad.taxels, learned.states)) for _, pad, learned in self._learned)
        self._fresh = True  # no past load
        self._last_s = math.nan

    def take(self, load: FloatArray | None, stamp_s: float) -> Moment:
        """Take these loads as a reading; None: nothing touches."""
        step_s = 0.0 if math.isnan(self._last_s) else max(stamp_s - self._last_s, 0.0)
        self._last_s = stamp_s
        if load is None and (self._fresh or not self._remembers):
            return Moment(stamp_s, None, None, self._past, self._stuck, self._states)
        load = np.zeros(len(self._gain)) if load is None else load
        if self._spread:
            load = load.copy()
            for part, shares in self._spread:
                load[part] = shares @ load[part]
        drive = load
        if self._mixed:
            drive = load.copy()
            for part, mixing in self._mixed:
                drive[part] = mixing @ load[part]
        if self._remembers:
            self._past = creep_step(self._past, drive, step_s, self._fade_s)
            self._stuck = play_step(self._stuck, drive, self._width)
            self._states = tuple(
                learned.step(past, load[part], step_s)
                for past, (part, _, learned) in zip(self._states, self._learned, strict=True)
            )
            self._fresh = False
        return Moment(stamp_s, load, drive, self._past, self._stuck, self._states)

    def read(self, moment: Moment, dead: BoolArray) -> FloatArray:
        """Reading of every taxel, without noise and before it is rounded; dead ones read as if nothing pressed."""
        reading = self._offset.copy()
        if self._drifts:
            reading += self._drift * (1.0 - np.exp(-moment.stamp_s / self._drift_s))
        if moment.drive is not None:
            felt = moment.drive
            if self._remembers:  # the skin creeps and sticks: what is read lags a little behind what presses
                felt = felt + (self._creep * (moment.past - felt) + self._play * (moment.stuck - felt))
            signal = self._gain * felt
            bent = bend(signal, self._bend, self._knee) if self._bends else signal
            reading += np.where(dead, 0.0, bent)
        for states, (part, pad, learned) in zip(moment.learned, self._learned, strict=True):
            near = np.zeros(pad.taxels) if moment.load is None else moment.load[part]
            states = np.where(dead[part, None], 0.0, states)
            near = np.where(dead[part, None], 0.0, around(pad, near))
            reading[part] = learned.read(states, near, moment.stamp_s)
        return reading


def per_taxel(pad: Pad, value: object) -> FloatArray:
    """A value of a pad for each of its taxels. Shape (taxels,)."""
    return np.broadcast_to(np.asarray(value, dtype=np.float64), (pad.rows, pad.cols)).ravel().copy()


def _column(pads: list[tuple[Pad, PadCalibration]], name: str) -> FloatArray:
    return np.concatenate([np.zeros(0), *(per_taxel(pad, getattr(own, name)) for pad, own in pads)])
