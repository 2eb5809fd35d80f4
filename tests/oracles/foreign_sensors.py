"""Twelve skins that do not follow the formulas that are fitted to them, nor those of `hidden_sensor.py`.

A load spreads as a Gaussian (round or longer one way) or an exponential, never as Boussinesq's stress; hysteresis is
Bouc and Wen's equation or a row of sliding blocks; creep goes with the logarithm of time; drift wanders, swings with a
temperature that also changes the gain, or steps; cross-talk leans to one side or runs along whole rows and columns;
curves are powers, start late or flatten early; single readings jump.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from thenar.hands.spec import HandSpec, Pad
from thenar.touch.calibrate.press_recording import COUNT_PA, Recording
from thenar.touch.calibrate.protocol import Step, follow, plan


@dataclass(frozen=True, kw_only=True)
class Kind:
    """What one of the twelve is made of."""

    spread: Literal["gauss", "long", "tail"] = "gauss"
    width: float = 0.8  # of the pitch
    memory: Literal["none", "bouc_wen", "blocks", "log"] = "none"
    loop: float = 0.08
    curve: Literal["straight", "root", "late", "flat", "steep"] = "straight"
    drift: Literal["none", "walk", "swing", "step", "ramp"] = "ramp"
    mixing: Literal["none", "leaning", "lines"] = "none"
    jumps: float = 0.0  # share of readings


KINDS = {
    "bouc_wen": Kind(memory="bouc_wen", loop=0.15),
    "gaussian": Kind(width=1.1, memory="bouc_wen", loop=0.04),
    "long": Kind(spread="long", memory="blocks", loop=0.06),
    "walk": Kind(drift="walk", memory="bouc_wen", loop=0.06),
    "swing": Kind(drift="swing", memory="blocks", loop=0.04),
    "leaning": Kind(mixing="leaning", memory="bouc_wen", loop=0.05),
    "lines": Kind(mixing="lines", width=0.6, memory="blocks", loop=0.05),
    "log": Kind(memory="log", loop=0.1),
    "root": Kind(curve="root", memory="bouc_wen", loop=0.06),
    "late": Kind(curve="late", memory="blocks", loop=0.06, mixing="leaning"),
    "flat": Kind(curve="flat", spread="tail", memory="log", loop=0.06),
    "jumps": Kind(curve="steep", drift="step", jumps=0.005, memory="bouc_wen", loop=0.08),
}


class ForeignSensor:
    def __init__(self, pad: Pad, kind: Kind, seed: int):
        rng = np.random.default_rng([seed, 77])
        n = pad.taxels
        self.pad, self.kind, self.rng, self.n = pad, kind, rng, n
        self.die = pad.sensor == "barometer"
        self.span, self.top = (85.0, 127.0) if self.die else (3000.0, 4095.0)
        self.full_n, self.probe_m = (3.0, 2e-3) if self.die else (8.0, 1.2e-3)
        u = (np.arange(pad.rows) - (pad.rows - 1) / 2) * pad.row_pitch_m
        v = (np.arange(pad.cols) - (pad.cols - 1) / 2) * pad.col_pitch_m
        self.centres = np.stack([g.ravel() for g in np.meshgrid(u, v, indexing="ij")], axis=1)
        pitch = min(pad.row_pitch_m, pad.col_pitch_m)
        self.width_m = kind.width * pitch * rng.uniform(0.85, 1.15) * (0.7 if self.die else 1.0)
        self.gain = rng.uniform(0.6, 1.4, n)
        self.rest = rng.normal(0.0, 1.0, n) if self.die else rng.uniform(30.0, 120.0, n)
        self.loop = kind.loop * rng.uniform(0.7, 1.3, n)
        self.drift = rng.normal(0.0, 0.02, n)
        self.phase = rng.uniform(0.0, 2.0 * np.pi)
        self.mix = self._mixing()

    def arrives(self, places_m: np.ndarray) -> np.ndarray:
        """Share of the full signal that full force at each place gives each taxel. Shape (p, n)."""
        k = np.arange(19)
        disc = self.probe_m * np.sqrt((k + 0.5) / 19)[:, None] * np.stack([np.cos(2.4 * k), np.sin(2.4 * k)], axis=1)
        stretch = np.array([1.4, 0.8]) if self.kind.spread == "long" else np.ones(2)
        total = np.zeros((len(places_m), self.n))
        for shift in disc:
            gap = (self.centres[None] - places_m[:, None] - shift) / (self.width_m * stretch)
            r = np.sqrt((gap**2).sum(axis=2))
            total += np.exp(-1.3 * r) if self.kind.spread == "tail" else np.exp(-0.5 * r**2)
        return total / len(disc)

    def read(self, time_s: np.ndarray, share: np.ndarray) -> np.ndarray:
        """Counts under these loads, as shares of the full signal. Shape (t, n)."""
        x = self._curve(self._remember(time_s, share))
        drift, gain = self._drift(time_s)
        raw = self.rest + self.span * (drift + np.minimum(gain * self.gain * x, 1.25) @ self.mix.T)
        raw += self.rng.normal(0.0, 0.003 * self.span, raw.shape)
        raw += (self.rng.random(raw.shape) < self.kind.jumps) * self.rng.normal(0.0, 0.05 * self.span, raw.shape)
        return np.clip(np.round(raw), -self.top if self.die else 0.0, self.top)

    def _mixing(self) -> np.ndarray:
        row, col = np.divmod(np.arange(self.n), self.pad.cols)
        down, right = row[:, None] - row, col[:, None] - col
        if self.kind.mixing == "leaning":  # what is before me leaks into me, what is behind me hardly does
            leak = 0.16 * ((down == 1) & (right == 0)) + 0.10 * ((down == 0) & (right == 1))
            leak = leak + 0.02 * (((down == -1) & (right == 0)) | ((down == 0) & (right == -1)))
        elif self.kind.mixing == "lines":  # all that share my wires
            leak = 0.05 * (((down == 0) ^ (right == 0)) * self.rng.uniform(0.4, 1.6, (self.n, self.n)))
        else:
            leak = np.zeros((self.n, self.n))
        return np.eye(self.n) + leak

    def _remember(self, time_s: np.ndarray, x: np.ndarray) -> np.ndarray:
        out, dt = x.copy(), np.diff(time_s, prepend=time_s[0])
        if self.kind.memory == "bouc_wen":
            z = np.zeros(self.n)
            for row in range(1, len(x)):
                change = (x[row] - x[row - 1]) / 8.0
                for _ in range(8):
                    z = z + (change - 0.5 * np.abs(change) * z - 0.5 * change * np.abs(z)) / 0.12
                out[row] = x[row] - self.loop * 0.5 * z
        elif self.kind.memory == "blocks":
            for width in (0.03, 0.1, 0.25):
                at = np.zeros(self.n)
                for row in range(len(x)):
                    at = np.clip(at, x[row] - width, x[row] + width)
                    out[row] += self.loop / 3.0 * (at - x[row])
        elif self.kind.memory == "log":
            for tau_s in 10.0 ** np.linspace(-0.7, 2.3, 10):
                past = np.zeros(self.n)
                for row in range(len(x)):
                    past += (1.0 - np.exp(-dt[row] / tau_s)) * (x[row] - past)
                    out[row] += self.loop / 10.0 * (past - x[row])
        return np.maximum(out, 0.0) if self.kind.curve in ("root", "steep") else out

    def _curve(self, x: np.ndarray) -> np.ndarray:
        match self.kind.curve:
            case "root":
                return x**0.7
            case "steep":
                return x**1.25
            case "late":
                return np.maximum(x - 0.04, 0.0) / 0.96
            case "flat":
                return 1.25 * np.tanh(0.9 * x)
            case _:
                return x

    def _drift(self, time_s: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        t, gain = time_s[:, None], np.ones((len(time_s), 1))
        match self.kind.drift:
            case "walk":
                steps = self.rng.normal(0.0, 8e-4, (len(time_s), self.n))
                return np.cumsum(steps * np.sqrt(np.gradient(time_s))[:, None], axis=0), gain
            case "swing":
                wave = np.sin(2.0 * np.pi * t / 310.0 + self.phase)
                return self.drift * (wave - np.sin(self.phase)), 1.0 + 0.02 * wave
            case "step":
                return self.drift * (t > 200.0), gain
            case "ramp":
                return self.drift * t / 480.0, gain
            case _:
                return np.zeros((len(time_s), self.n)), gain


def record(hand: HandSpec, sensor: ForeignSensor, steps: tuple[Step, ...] | None = None, rate_hz=15.0) -> Recording:
    """Press on it."""
    pad = sensor.pad
    time_s, at_m, share = follow(plan(pad) if steps is None else steps, rate_hz=rate_hz)
    places, place = np.unique(np.round(at_m, 7), axis=0, return_inverse=True)
    count_pa = COUNT_PA if sensor.die else 1.0
    said = sensor.read(time_s, share[:, None] * sensor.arrives(places)[place.ravel()])
    return Recording(
        hand=hand.name,
        probe_m=sensor.probe_m,
        time_s=time_s,
        pad=np.where(share > 0.0, pad.name, ""),
        at_m=at_m,
        force_n=sensor.full_n * share,
        counts={pad.name: count_pa * said},
        count_pa=count_pa,
    )
