"""A skin to be calibrated that shares no code and no formula with the models that are fitted to it.

Hysteresis is a field of Preisach relays, creep has three terms, signals mix electrically with all eight neighbours,
drift is a slow wave on a ramp, the probe presses evenly, and stress is added up on a fine grid. With ``power`` the gain
is not straight: the signal grows with the load to the power of 0.75.
"""

from __future__ import annotations

import numpy as np

from thenar.hands.spec import HandSpec, Pad
from thenar.touch.calibrate.press_recording import COUNT_PA, Recording
from thenar.touch.calibrate.protocol import Step, follow, plan

FULL_N = {"force": 10.0, "barometer": 3.0}
PROBE_M = {"force": 1.2e-3, "barometer": 2.0e-3}
STEPS = 32  # of the relays' grid


class HiddenSensor:
    def __init__(self, pad: Pad, seed: int, *, power: bool = False):
        rng = np.random.default_rng(1000 + seed)
        n = pad.taxels
        self.pad, self.rng, self.power = pad, rng, power
        self.die = pad.sensor == "barometer"
        self.span, self.top = (85.0, 127.0) if self.die else (3000.0, 4095.0)
        self.probe_m, self.full_n = PROBE_M[pad.sensor], FULL_N[pad.sensor]
        self.z = rng.uniform(4.6e-3, 5.8e-3) if self.die else rng.uniform(0.55, 0.95) * pad.row_pitch_m
        self.gain = rng.uniform(0.6, 1.4, n)
        self.rest = rng.normal(0.0, 1.0, n) if self.die else rng.uniform(30.0, 120.0, n)
        self.limit = self.span * rng.uniform(0.85, 1.15, n)
        self.sticky = rng.uniform(0.05, 0.10, n)
        self.slow = rng.uniform(0.01, 0.03, (3, n))
        self.ramp = rng.uniform(-0.02, 0.02, n) * self.span
        self.wave = rng.uniform(0.0, 0.006, n) * self.span
        row, col = np.divmod(np.arange(n), pad.cols)
        far = np.maximum(abs(row[:, None] - row), abs(col[:, None] - col))
        side = abs(row[:, None] - row) + abs(col[:, None] - col) == 1
        leak = (far == 1) * np.where(side, 1.0, 0.3) * rng.uniform(0.5, 1.5, (n, n))
        self.leak = 0.10 * leak / np.maximum(leak.sum(axis=1, keepdims=True), 1e-9)
        u = (np.arange(pad.rows) - (pad.rows - 1) / 2) * pad.row_pitch_m
        v = (np.arange(pad.cols) - (pad.cols - 1) / 2) * pad.col_pitch_m
        self.centres = np.stack([g.ravel() for g in np.meshgrid(u, v, indexing="ij")], axis=1)
        at = self.centres[[n // 2]]
        self.unit = self.full_n * self.arrives(at)[0, n // 2]

    def arrives(self, places_m: np.ndarray, probe_m: float | None = None) -> np.ndarray:
        """What a newton at each place does to each taxel: newtons on it, or pascals at its die."""
        probe_m = self.probe_m if probe_m is None else probe_m
        k = np.arange(32)
        disc = probe_m * np.sqrt((k + 0.5) / 32)[:, None] * np.stack([np.cos(2.4 * k), np.sin(2.4 * k)], axis=1)
        if self.die:
            cells, area = np.zeros((1, 2)), 1.0
        else:
            edge = (np.arange(9) + 0.5) / 9 - 0.5
            cells = np.stack([g.ravel() for g in np.meshgrid(edge, edge)], axis=1)
            cells = cells * [self.pad.row_pitch_m, self.pad.col_pitch_m]
            area = self.pad.row_pitch_m * self.pad.col_pitch_m / len(cells)
        total = np.zeros((len(places_m), len(self.centres)))
        for cell in cells:
            for shift in disc:
                gap = self.centres[None] + cell - places_m[:, None] - shift
                R2 = (gap**2).sum(axis=2) + self.z**2
                total += 3 * self.z**3 / (2 * np.pi * R2**2.5)
        return total * area / len(disc)

    def read(self, time_s: np.ndarray, load: np.ndarray) -> np.ndarray:
        """Counts while these loads arrive at the taxels. Shape (t, n)."""
        x = load / self.unit
        stuck = self._relays(x)
        late = np.zeros_like(x)
        for weight, tau_s in zip(self.slow, (0.5, 3.0, 15.0), strict=True):
            past = x[0].copy()
            for row in range(1, len(x)):
                past += (1.0 - np.exp(-(time_s[row] - time_s[row - 1]) / tau_s)) * (x[row] - past)
                late[row] += weight * (past - x[row])
        felt = np.maximum((1.0 - self.sticky) * x + self.sticky * stuck + late, 0.0)
        felt = felt**0.75 if self.power else felt
        volts = np.minimum(self.span * self.gain * felt, self.limit)
        volts = volts + volts @ self.leak.T
        drift = self.ramp * (time_s / 480.0)[:, None] + self.wave * np.sin(time_s / 190.0)[:, None]
        raw = self.rest + drift + volts + self.rng.normal(0.0, 0.003 * self.span, x.shape)
        return np.clip(np.round(raw), -self.top if self.die else 0.0, self.top)

    def _relays(self, x: np.ndarray) -> np.ndarray:
        """Many small switches, each on above its own load and off below another: their mean."""
        level = 1.3 * (np.arange(STEPS) + 0.5) / STEPS
        up, down = (g.ravel() for g in np.meshgrid(level, level, indexing="ij"))
        keep = up >= down
        up, down = up[keep], down[keep]
        weight = np.exp(-(up - down) / 0.12)
        weight = 1.3 * weight / weight.sum()
        state = np.zeros((x.shape[1], len(up)), dtype=bool)
        felt = np.empty_like(x)
        for row in range(len(x)):
            now = x[row][:, None]
            state = (state | (now >= up)) & (now > down)
            felt[row] = state @ weight
        return felt


def record(hand: HandSpec, sensor: HiddenSensor, steps: tuple[Step, ...] | None = None, rate_hz=20.0) -> Recording:
    """Press on the hidden sensor."""
    pad = sensor.pad
    time_s, at_m, share = follow(plan(pad) if steps is None else steps, rate_hz=rate_hz)
    places, place = np.unique(np.round(at_m, 7), axis=0, return_inverse=True)
    load = sensor.full_n * share[:, None] * sensor.arrives(places)[place.ravel()]
    count_pa = COUNT_PA if sensor.die else 1.0
    return Recording(
        hand=hand.name,
        probe_m=sensor.probe_m,
        time_s=time_s,
        pad=np.where(share > 0.0, pad.name, ""),
        at_m=at_m,
        force_n=sensor.full_n * share,
        counts={pad.name: count_pa * sensor.read(time_s, load)},
        count_pa=count_pa,
    )
