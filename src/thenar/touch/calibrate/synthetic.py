"""A skin that does not exist, to try calibration on without hardware.

It is deliberately not the model that is fitted: hysteresis is a Bouc-Wen equation, creep has two terms, cross-talk
mixes electrical signals with weights of their own, drift wanders, and stress is added up point by point.
"""

from __future__ import annotations

from typing import Literal

import numba as nb
import numpy as np

from thenar.arrays import FloatArray
from thenar.errors import BadValue
from thenar.hands.pad_charts import taxel_grid
from thenar.hands.spec import HandSpec, Pad
from thenar.touch.calibrate.press_recording import COUNT_PA, Recording
from thenar.touch.calibrate.protocol import Step, follow, plan, random_presses

Curve = Literal["straight", "bent"]
Loads = Literal["protocol", "unseen"]

FULL_N = {"force": 10.0, "barometer": 3.0}
PROBE_M = {"force": 1.5e-3, "barometer": 2e-3}
POINTS = 7  # a side of a taxel at which stress is added up
STREAM = 20  # of random numbers


def make_recording(
    hand: HandSpec,
    pad_name: str,
    *,
    seed: int = 0,
    curve: Curve = "straight",
    loads: Loads = "protocol",
    rate_hz: float = 25.0,
    steps: tuple[Step, ...] | None = None,
) -> Recording:
    """Press on a made-up pad.

    Args:
        hand: The hand.
        pad_name: Its pad.
        seed: Another seed, another skin; the same skin is pressed again with other ``loads``.
        curve: ``bent`` reads light touches more strongly than firm ones.
        loads: ``protocol`` follows the protocol, ``unseen`` presses anywhere, at any speed.
        rate_hz: Readings per second.
        steps: What to do instead.
    """
    if seed < 0:
        raise BadValue("seed", seed, "a whole number from 0 on")
    pad = hand.pad(pad_name)
    full_n, probe_m = FULL_N[pad.sensor], PROBE_M[pad.sensor]
    if steps is None:
        steps = plan(pad) if loads == "protocol" else random_presses(pad, seed=seed)
    time_s, at_m, share = follow(steps, rate_hz=rate_hz)
    places, place = np.unique(np.round(at_m, 7), axis=0, return_inverse=True)
    force_n = np.zeros((len(time_s), len(places)))
    force_n[np.arange(len(time_s)), place.ravel()] = full_n * share
    sensor = SyntheticSensor(pad, seed=seed, full_n=full_n, probe_m=probe_m, curve=curve)
    count_pa = COUNT_PA if pad.sensor == "barometer" else 1.0
    return Recording(
        hand=hand.name,
        probe_m=probe_m,
        time_s=time_s,
        pad=np.where(share > 0.0, pad_name, ""),
        at_m=at_m,
        force_n=full_n * share,
        counts={pad_name: count_pa * sensor.read(time_s, places, force_n, probe_m)},
        count_pa=count_pa,
    )


class SyntheticSensor:
    """The taxels of one pad, each different."""

    def __init__(self, pad: Pad, *, seed: int, full_n: float, probe_m: float, curve: Curve = "straight"):
        """Draw every taxel's own nature.

        Args:
            pad: The pad.
            seed: Another seed, another skin.
            full_n: Force at which most taxels are near the end of their range when pressed in the middle [N].
            probe_m: Radius of the probe that presses so [m].
            curve: ``bent`` reads light touches more strongly than firm ones.
        """
        draws = np.random.default_rng([seed, STREAM])
        n = pad.taxels
        self._pad, self._draws, self._curve = pad, draws, curve
        self._buried = pad.sensor == "barometer"
        self._span, self._top = (80.0, 127.0) if self._buried else (3000.0, 4095.0)
        pitch_m = min(pad.row_pitch_m, pad.col_pitch_m)
        self._depth_m = draws.uniform(4.5e-3, 6e-3) if self._buried else draws.uniform(0.5, 0.9) * pitch_m
        self._gain = draws.uniform(0.6, 1.4, n)
        middle = np.argmin(np.sum(np.square(_centres(pad)), axis=1))
        self._unit_n = full_n * float(self._stress(_centres(pad)[[middle]], probe_m)[0, middle])
        self._offset = draws.normal(0.0, 1.0, n) if self._buried else draws.normal(60.0, 20.0, n).clip(5.0)
        self._ceiling = draws.uniform(0.87, 1.13, n) * self._span
        self._loop = draws.uniform(0.03, 0.06, n)
        self._creep = draws.uniform(0.02, 0.05, (2, n))
        self._fade_s = np.array([0.8, 9.0])
        self._drift = draws.normal(0.0, 0.017, n) * self._span
        self._drift_s = draws.uniform(150.0, 300.0)
        self._mix = _mixing(pad, draws, 0.10)

    def read(self, time_s: FloatArray, places_m: FloatArray, force_n: FloatArray, probe_m: float) -> FloatArray:
        """Counts while forces press at places. Shapes (t,), (p, 2) and (t, p); returns (t, taxels)."""
        load = force_n @ self._stress(places_m, probe_m) / self._unit_n
        felt = _skin(load, np.diff(time_s, prepend=time_s[0]), self._loop, self._creep, self._fade_s)
        if self._curve == "bent":
            felt = np.sign(felt) * 1.15 * (1.0 - np.exp(-1.6 * np.abs(felt))) / (1.0 - np.exp(-1.6))
        volts = np.minimum(self._span * self._gain * felt, self._ceiling) @ self._mix.T
        walk = np.cumsum(self._draws.normal(0.0, 1.3e-4, load.shape) * np.sqrt(np.gradient(time_s))[:, None], axis=0)
        drift = self._drift * (1.0 - np.exp(-time_s / self._drift_s))[:, None] + walk * self._span
        raw = self._offset + drift + volts + self._draws.normal(0.0, 0.002, load.shape) * self._span
        return np.clip(np.round(raw), -self._top if self._buried else 0.0, self._top) + 0.0  # no -0

    def _stress(self, places_m: FloatArray, probe_m: float) -> FloatArray:
        """Share of a unit force at each place that the taxels feel. Shape (p, n)."""
        pad, z = self._pad, self._depth_m
        inside = ((np.arange(POINTS) + 0.5) / POINTS - 0.5)[:, None] * [pad.row_pitch_m, pad.col_pitch_m]
        # The patch of the probe: points on a spiral, evenly over a hemisphere of pressure.
        k = (np.arange(24) + 0.5) / 24
        radius, angle = probe_m * np.sqrt(1.0 - (1.0 - k) ** (2.0 / 3.0)), 2.399963 * np.arange(24)
        patch = (
            np.stack([radius * np.cos(angle), radius * np.sin(angle)], axis=1) if probe_m > 0.0 else np.zeros((1, 2))
        )
        if self._buried:
            inside = np.zeros((1, 2))  # a die is a point under the middle of its taxel
        total = np.zeros((len(places_m), pad.taxels))
        for du in inside[:, 0]:
            for dv in inside[:, 1]:
                for shift in patch:
                    away = _centres(pad) + np.array([du, dv]) - (places_m + shift)[:, None]
                    total += 3.0 * z**3 / (2.0 * np.pi * (np.sum(away**2, axis=2) + z * z) ** 2.5)
        return total * pad.row_pitch_m * pad.col_pitch_m / (len(inside) ** 2 * len(patch))


def _centres(pad: Pad) -> FloatArray:
    return np.stack([grid.ravel() for grid in taxel_grid(pad)], axis=1)


def _mixing(pad: Pad, draws: np.random.Generator, share: float) -> FloatArray:
    """Signals leak to the taxels beside, this share in all, unevenly."""
    centres = _centres(pad) / [pad.row_pitch_m, pad.col_pitch_m]
    apart = np.abs(centres[:, None] - centres).sum(axis=2)
    weights = np.where(np.isclose(apart, 1.0), draws.uniform(0.6, 1.4, apart.shape), 0.0)
    return np.eye(pad.taxels) + share * weights / np.maximum(weights.sum(axis=1, keepdims=True), 1e-9)


@nb.njit(cache=True)
def _skin(load: FloatArray, step_s: FloatArray, loop: FloatArray, creep: FloatArray, fade_s: FloatArray) -> FloatArray:
    """The load as the skin passes it on: late by friction (Bouc-Wen) and by creep."""
    rows, taxels = load.shape
    felt = np.zeros((rows, taxels))
    friction, past = np.zeros(taxels), np.zeros((2, taxels))
    for row in range(rows):
        for taxel in range(taxels):
            change = load[row, taxel] - (load[row - 1, taxel] if row else 0.0)
            parts = 1 + int(abs(change) / 0.005)
            for _ in range(parts):
                piece = change / parts
                friction[taxel] += (piece - abs(piece) * friction[taxel]) / 0.15
            value = load[row, taxel] - 0.5 * loop[taxel] * friction[taxel]
            for k in range(2):
                share = 1.0 - np.exp(-step_s[row] / fade_s[k])
                past[k, taxel] += share * (load[row, taxel] - past[k, taxel])
                value += creep[k, taxel] * (past[k, taxel] - load[row, taxel])
            felt[row, taxel] = value
    return felt
