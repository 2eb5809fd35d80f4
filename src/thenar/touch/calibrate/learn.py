"""Training of a learned pad (`learned.py`): least squares with weights that are not below zero, in numpy alone."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from thenar.arrays import BoolArray, FloatArray
from thenar.touch.calibrate.pad_fit import Fitted
from thenar.touch.calibrate.presses import Presses
from thenar.touch.sensor.hysteresis import bend
from thenar.touch.sensor.learned import AROUND, LearnedPad, around, ramps, warm_up

KNOTS = (0.0, 0.04, 0.1, 0.18, 0.28, 0.4, 0.55, 0.7, 0.85, 1.0)
PLAY_SHARES = (0.02, 0.06, 0.14, 0.3)
FADE_S = (0.25, 1.0, 4.0, 20.0)
DRIFT_S = (60.0, 300.0, 1500.0)
LOADED = 0.003  # of a taxel's largest load
REST_EVERY = 8  # of the rows in which a taxel is not loaded, one in so many is learned from
RIDGES = (1e-4, 4e-4, 1.5e-3, 6e-3)
KEEP_BACK = 4  # one press in so many chooses among them
MAX_ROWS = 3000  # to learn a taxel from
MAX_EXCHANGES = 400
STILL = 1e-9


def learn(
    presses: Presses,
    *,
    fitted: Fitted,
    rows: BoolArray,
    top_counts: float,
    drifts: bool = True,
    progress: Callable[[str], None] = lambda _: None,
) -> LearnedPad:
    """Learn a pad from a recording.

    Presses that are kept back choose how firmly weights are held near the parametric fit; then all are learned from.

    Args:
        presses: The recording.
        fitted: The parametric fit: how deep the taxels lie, and what is assumed where the recording says nothing.
        rows: Rows to learn from; the others only pass by, for the memory. Shape (t,).
        top_counts: Largest possible reading; a reading there says only that it is not less.
        drifts: False: the reading at rest does not move.
        progress: Called with every taxel that is done.
    """
    pad, n = presses.pad, presses.pad.taxels
    load_n = presses.taxel_load_n(fitted.depth_m)
    drift_s = np.array(DRIFT_S) if drifts else np.zeros(0)
    blank = LearnedPad(
        load_n=np.maximum(load_n.max(axis=0), 1e-9),
        knots=np.array(KNOTS),
        play=np.array(PLAY_SHARES),
        fade_s=np.array(FADE_S),
        weights=np.zeros((n, 1 + len(PLAY_SHARES) + len(FADE_S), len(KNOTS) - 1)),
        leak_counts_per_n=np.zeros((n, len(AROUND))),
        offset_counts=np.zeros(n),
        drift_s=drift_s,
        drift_counts=np.zeros((n, len(drift_s))),
    )
    prior = _prior(fitted, blank, len(drift_s))
    states = blank.through(load_n, presses.step_s)
    near = around(pad, load_n) / blank.load_n[:, None]
    warm = warm_up(presses.time_s, drift_s)
    resting = np.arange(len(load_n)) % REST_EVERY == 0
    kept_back = presses.press % KEEP_BACK == KEEP_BACK - 1
    problems, errors = [], np.zeros(len(RIDGES))
    for taxel in range(n):
        loaded = np.any(states[:, taxel] > LOADED, axis=1) | np.any(near[:, taxel] > LOADED, axis=1)
        chosen = rows & presses.usable & (loaded | resting)
        below = presses.counts[:, taxel] < top_counts
        chosen = np.flatnonzero(chosen & below if presses.live[taxel] else chosen)
        chosen = chosen[:: max(1, len(chosen) // MAX_ROWS)]
        rising = [ramps(states[chosen, taxel], blank.knots).reshape(len(chosen), -1), near[chosen, taxel]]
        columns = np.concatenate([*rising, np.ones((len(chosen), 1)), warm[chosen]], axis=1)
        counts, back = presses.counts[chosen, taxel], kept_back[chosen]
        problem = [(columns[part].T @ columns[part], columns[part].T @ counts[part]) for part in (~back, back)]
        scale = max(float(np.ptp(counts)), 1.0)
        for k, ridge in enumerate(RIDGES):
            x = _least_squares_rising(*problem[0], int((~back).sum()), ridge, 1 + len(drift_s), prior[taxel])
            gram, aim = problem[1]
            errors[k] += presses.live[taxel] * (x @ gram @ x - 2.0 * aim @ x) / scale**2
        problems.append((problem[0][0] + problem[1][0], problem[0][1] + problem[1][1], len(counts)))
        progress(f"learning taxel {taxel + 1} of {n}")
    ridge = RIDGES[int(np.argmin(errors))]
    found = np.array(
        [
            _least_squares_rising(gram, aim, count, ridge, 1 + len(drift_s), own)
            for (gram, aim, count), own in zip(problems, prior, strict=True)
        ]
    )
    above, below = blank.weights[0].size, blank.weights[0].size + len(AROUND)
    return replace(
        blank,
        weights=found[:, :above].reshape(blank.weights.shape),
        leak_counts_per_n=found[:, above:below] / blank.load_n[:, None],
        offset_counts=found[:, below],
        drift_counts=found[:, below + 1 :],
    )


def _prior(fitted: Fitted, blank: LearnedPad, drifts: int) -> FloatArray:
    """The parametric fit, said in weights: what is assumed where the recording says nothing. Shape (n, weights)."""
    n, states, pieces = blank.weights.shape
    corners = bend((fitted.gain * blank.load_n)[:, None] * blank.knots, fitted.bend[:, None], fitted.knee)
    rise = np.diff(corners, axis=1)
    play = 1 + np.argmin(np.abs(np.log(fitted.width_n / blank.load_n[:, None] / blank.play)), axis=1)
    fade = 1 + len(blank.play) + int(np.argmin(np.abs(np.log(fitted.fade_s / blank.fade_s))))
    weights = np.zeros((n, states, pieces))
    weights[:, 0] = (1.0 - fitted.hysteresis - fitted.play).clip(0.0)[:, None] * rise
    weights[np.arange(n), play] += fitted.play[:, None] * rise
    weights[:, fade] += fitted.hysteresis[:, None] * rise
    leak = np.zeros((n, len(AROUND)))
    leak[:, :4] = (fitted.crosstalk * fitted.gain * blank.load_n)[:, None]
    rest = np.zeros((n, 1 + drifts))
    rest[:, 0] = fitted.offset
    if drifts:
        rest[:, 1 + int(np.argmin(np.abs(np.log(fitted.drift_s / blank.drift_s))))] = fitted.drift
    return np.concatenate([weights.reshape(n, -1), leak, rest], axis=1)


def _least_squares_rising(
    gram: FloatArray, aim: FloatArray, rows: int, ridge: float, free: int, prior: FloatArray
) -> FloatArray:
    """Weights with the least squared error, near the prior where it makes no difference; of Lawson and Hanson.

    All but the last ``free`` are not below 0.
    """
    gram, aim = gram / max(rows, 1), aim / max(rows, 1)
    hold = ridge * np.where(np.arange(len(aim)) == len(aim) - free, 1e-3, 1.0)  # the offset is free
    gram[np.diag_indices_from(gram)] += hold
    aim = aim + hold * prior
    bounded = np.arange(len(aim)) < len(aim) - free
    used = ~bounded | (prior > 0.0)
    x = np.zeros(len(aim))
    x[used] = prior[used]
    for _ in range(MAX_EXCHANGES):
        while True:
            best = np.zeros(len(aim))
            best[used] = np.linalg.solve(gram[np.ix_(used, used)], aim[used])
            below = used & bounded & (best < 0.0)
            if not below.any():
                break
            reach = np.min(x[below] / (x[below] - best[below]))  # as far as none falls below 0
            x = x + reach * (best - x)
            used &= ~(bounded & (x <= 1e-12))
            x[~used] = 0.0
        x = best
        gain = np.where(used, -np.inf, aim - gram @ x)
        if gain.max() <= STILL * np.abs(aim).max():
            break
        used[int(np.argmax(gain))] = True
    return x
