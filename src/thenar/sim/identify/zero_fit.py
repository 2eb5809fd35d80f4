"""What force sensors take for none: what is left of what fingers read once their weight is taken off.

One least-squares problem a hand. Nobody tells how it is held, nor how much of a finger's weight its sensor feels: both
are found beside the zeros, so that a zero is as unsure as what it hangs on.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from thenar.arrays import FloatArray, IntArray
from thenar.sim.identify.readings_fit import Estimate, Rest, estimate
from thenar.sim.identify.spring import load_of

MIN_POSTURES, MIN_SPAN = 5, 0.5
END = 0.04  # of the stroke: ends may be stops
TOUCHES_N = 0.03  # a finger that reads so much more than its weight may touch something
WEIGHT_SPREAD = 0.5  # how far what a sensor feels may be from the catalogue's weight, as a share
GRAVITY_M_S2, GRAVITY_SPREAD = 9.81, 0.03
STICKS_N = 0.05  # that friction may hold up
ROUNDS = 30
MAX_STEP, MAX_TURN = 0.3, 3.0  # of a share and of gravity [m/s^2], in one round


class Postures(NamedTuple):
    """Where fingers stood with nothing in their way. Shapes (p,), (p,), (p,), (p, 3)."""

    motor: IntArray
    load_n: FloatArray
    """What the sensor of that motor made of it, its zero included."""
    error_n: FloatArray
    weight: FloatArray
    """Force that holds the finger up, for gravity along three axes [N per m/s^2]."""


def fit_zeros(
    rests: Sequence[Sequence[Rest]], weights: FloatArray, grid: FloatArray, offsets_n: Sequence[float]
) -> list[Estimate | None]:
    """The zero of each motor's force sensor [N]; None where it has not stood in enough postures.

    Args:
        rests: Where each motor stood, with nothing in its way.
        weights: Force that holds each finger up, for gravity along three axes [N per m/s^2]. Shape (motors, g, 3).
        grid: Closing fractions of that table. Shape (g,).
        offsets_n: See `LeadScrew.loaded_offset_n`.
    """
    away = [[rest for rest in own if END < rest.target < 1.0 - END] for own in rests]
    used = [
        n for n, own in enumerate(away) if len(own) >= MIN_POSTURES and np.ptp([one.target for one in own]) > MIN_SPAN
    ]
    found: list[Estimate | None] = [None] * len(rests)
    if not used:
        return found
    parts = [_postures(k, away[n], weights[n], grid, offsets_n[n]) for k, n in enumerate(used)]
    zeros, errors, degrees = _solve(Postures(*(np.concatenate(field) for field in zip(*parts, strict=True))))
    for n, zero, error in zip(used, zeros.tolist(), errors.tolist(), strict=True):
        found[n] = estimate(zero, error, degrees)
    return found


def _postures(motor: int, rests: Sequence[Rest], weights: FloatArray, grid: FloatArray, offset_n: float) -> Postures:
    """A posture counts once, however often it was taken: in one of them a finger may touch something.

    Friction leaves a finger to one side of where its weight would have it, by how fast it came. Between closing and
    opening that is gone, but for what it is not the same everywhere: that shows in how both differ. A posture that was
    taken by one of them only says little.
    """
    loads = [load_of(rest.force_n, 0.0, offset_n) for rest in rests]
    load, closed = np.array([one.mean() for one in loads]), np.array([rest.closed.mean() for rest in rests])
    variance = np.array([one.var() / len(one) for one in loads])
    place, side = np.round([rest.target for rest in rests], 2), np.array([rest.direction for rest in rests])
    rows, halves = [], []
    for one in np.unique(place):
        sides = [group for way in (1.0, -1.0) if (group := np.flatnonzero((place == one) & (side == way))).size]
        means = np.array([(load[group].mean(), closed[group].mean()) for group in sides])
        chance = sum(float(variance[group].mean()) / len(group) for group in sides) / len(sides) ** 2
        rows.append((*means.mean(axis=0), chance, len(sides) == 1))
        if len(sides) == 2:
            halves.append((0.5 * (means[0, 0] - means[1, 0]), chance))
    uneven = 0.0
    if len(halves) > 2:  # sum and difference of two readings err alike
        half, chance = np.array(halves).T
        uneven = max(float(np.var(half, ddof=1) - chance.mean()), 0.0)
    load, closed, chance, one_sided = np.array(rows).T
    return Postures(
        motor=np.full(len(rows), motor),
        load_n=load,
        error_n=np.sqrt(chance + np.where(one_sided, STICKS_N**2, uneven)),
        weight=np.stack([np.interp(closed, grid, weights[:, axis]) for axis in range(3)], axis=1),
    )


def _solve(seen: Postures) -> tuple[FloatArray, FloatArray, float]:
    """Zeros of the motors, their standard errors, and degrees of freedom (Gauss and Newton)."""
    own = np.eye(seen.motor.max() + 1)[seen.motor]
    count = own.shape[1]
    zero, share = -own.T @ seen.load_n / own.sum(axis=0), np.ones(count)
    gravity = _first_gravity(seen, own)
    trust = np.ones(len(seen.motor))  # who touches something is not to be believed
    normal, wrong = np.eye(2 * count + 3), np.zeros(0)
    for _ in range(ROUNDS):
        felt, towards = seen.weight @ gravity, gravity / np.linalg.norm(gravity)
        sure = trust / seen.error_n
        slopes = np.concatenate([own, -own * felt[:, None], -(own @ share)[:, None] * seen.weight], axis=1)
        slopes *= sure[:, None]
        wrong = (seen.load_n + own @ zero - (own @ share) * felt) * sure
        known = np.zeros((count + 1, 2 * count + 3))  # weights are about the catalogue's, and gravity is the Earth's
        known[:count, count : 2 * count] = np.eye(count) / WEIGHT_SPREAD
        known[count, 2 * count :] = towards / GRAVITY_SPREAD
        off = np.append((share - 1.0) / WEIGHT_SPREAD, (np.linalg.norm(gravity) - GRAVITY_M_S2) / GRAVITY_SPREAD)
        normal = slopes.T @ slopes + known.T @ known + 1e-9 * np.eye(2 * count + 3)
        step = -np.linalg.solve(normal, slopes.T @ wrong + known.T @ off)
        zero = zero + step[:count]
        share = np.maximum(share + np.clip(step[count : 2 * count], -MAX_STEP, MAX_STEP), 0.05)
        gravity = gravity + np.clip(step[2 * count :], -MAX_TURN, MAX_TURN)
        left_n = np.abs(seen.load_n + own @ zero - (own @ share) * (seen.weight @ gravity))
        trust = np.minimum(1.0, TOUCHES_N / np.maximum(left_n, TOUCHES_N)) ** 2
    degrees = max(len(wrong) - 2 * count - 2.0, 1.0)
    scale = max(float(np.sum(wrong**2)) / degrees, 1.0)
    return zero, np.sqrt(np.diag(np.linalg.inv(normal))[:count] * scale), degrees


def _first_gravity(seen: Postures, own: FloatArray) -> FloatArray:
    """How the hand is held, were its weights those of the catalogue."""
    matrix = np.concatenate([-own, seen.weight], axis=1) / seen.error_n[:, None]
    weak = np.eye(matrix.shape[1])[-3:] * 0.1  # what no finger feels is no gravity
    goal = np.append(seen.load_n / seen.error_n, np.zeros(3))
    gravity = np.linalg.lstsq(np.concatenate([matrix, weak]), goal, rcond=None)[0][-3:]
    length = max(float(np.linalg.norm(gravity)), 1e-9)
    return np.asarray(gravity * GRAVITY_M_S2 / length, dtype=np.float64)
