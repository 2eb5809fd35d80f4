"""How smoothly a hand moves: reversals of several sizes, swings, the fast part of the spectrum, and lag.

A still hand is the smoothest of all and a late one is smooth too: read these beside the error and the lag. Frames in
random order must come out badly. Shapes use n = frames, v = variables.
"""

from __future__ import annotations

import numpy as np

from thenar.signals import FloatArray

THRESHOLDS_DEG = (0.05, 0.1, 0.2, 0.5, 1.0)
FAST_HZ = 5.0  # people's fingers hardly move as fast on purpose
LAGS_S = np.arange(-0.1, 0.1001, 0.005)


def reversals_per_s(variable_rad: FloatArray, step_s: FloatArray, threshold_deg: float) -> float:
    """Turns back from one frame to the next by more than a threshold in both steps, per variable and second."""
    steps = np.degrees(np.diff(variable_rad, axis=0))
    large = np.abs(steps) > threshold_deg
    back = (steps[1:] * steps[:-1] < 0.0) & large[1:] & large[:-1]
    return float(back.sum() / (variable_rad.shape[1] * step_s[1:].sum()))


def swings_per_s(variable_rad: FloatArray, step_s: FloatArray, threshold_deg: float) -> float:
    """Turns back by more than a threshold, in however many frames, per variable and second: a pause hides none."""
    angle_deg = np.degrees(variable_rad)
    extreme_deg, way, count = angle_deg[0].copy(), np.zeros(angle_deg.shape[1]), 0
    for now_deg in angle_deg[1:]:
        moved_deg = now_deg - extreme_deg
        turned = (np.abs(moved_deg) > threshold_deg) & (way * moved_deg <= 0.0)
        count += int(np.sum(turned & (way != 0.0)))
        way = np.where(turned, np.sign(moved_deg), way)
        extreme_deg = np.where(turned | (way * moved_deg > 0.0), now_deg, extreme_deg)
    return count / (angle_deg.shape[1] * float(step_s[1:].sum()))


def fast_motion_deg(variable_rad: FloatArray, step_s: FloatArray) -> float:
    """Root mean square of what moves faster than 5 Hz [degrees]."""
    stamp_s, even_s = np.cumsum(step_s), float(np.median(step_s))
    at_s = np.arange(stamp_s[0], stamp_s[-1], even_s)
    angle_deg = np.stack([np.interp(at_s, stamp_s, np.degrees(column)) for column in variable_rad.T], axis=1)
    spectrum = np.fft.rfft(angle_deg, axis=0)
    spectrum[np.fft.rfftfreq(len(at_s), even_s) < FAST_HZ] = 0.0
    return float(np.sqrt(np.mean(np.fft.irfft(spectrum, len(at_s), axis=0) ** 2)))


def lag_s(followed: FloatArray, wanted: FloatArray, step_s: FloatArray) -> float:
    """How late the one is behind the other: the shift at which they differ least [s]. Shapes (n, k)."""
    stamp_s = np.cumsum(step_s)
    inner = (stamp_s > stamp_s[0] + LAGS_S[-1]) & (stamp_s < stamp_s[-1] - LAGS_S[-1])
    apart = np.zeros(len(LAGS_S))
    for one, other in zip(followed.T, wanted.T, strict=True):
        shifted = [np.interp(stamp_s[inner] - lag, stamp_s, other) for lag in LAGS_S]
        apart += np.mean((one[inner] - np.array(shifted)) ** 2, axis=1)
    least = int(np.clip(np.argmin(apart), 1, len(LAGS_S) - 2))
    before, at, after = apart[least - 1 : least + 2]
    return float(LAGS_S[least] + 0.5 * (LAGS_S[1] - LAGS_S[0]) * (before - after) / (before - 2.0 * at + after))
