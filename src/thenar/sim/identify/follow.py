"""How a hand follows its commands beside its twin, fitted: how much later, how much slower, how far from it.

A motor is taken for a point that goes to the newest target at a speed, some time after it was told, and a finger that
follows it softly. Only *changes* of this model's path are used, added to where the twin really was: what the model
leaves out is in the twin already, and a hand that is like its twin fits without a rest. So does one that is only later,
which is where its twin was before: where a delay explains a hand, the model says nothing.
"""

from __future__ import annotations

from typing import NamedTuple

import numba as nb
import numpy as np

from thenar.arrays import BoolArray, FloatArray, IntArray

ROUNDS, MORE_ROUNDS = 8, 4
SPEED, KNOWN = 0.06, 0.015  # a difference in speed below the first, known to the second, is taken for none
LAG_S = 0.012  # of the finger behind its motor
STEP = np.array([4e-3, 0.02])  # of latency [s] and speed, for the slope
USUAL = np.array([0.1, 0.3, 0.3, 0.3])  # how far hands differ, about; what motion does not tell stays that unsure
MAX_CHANGE = np.array([0.05, 0.15, 0.1, 0.1])  # of one round
PLACES_RAD = 0.4  # travel tells apart from offset only where a finger has been in several places
LATER_S = 0.1  # by which a hand may hear its first command later than its twin
MIN_SAMPLES = 20
SURE, ALIKE = 4.0, 10.0  # standard deviations that differences must exceed together; readings that err alike
BLOCK_S = 0.25  # readings err alike for so long


class Commands(NamedTuple):
    """Targets and speeds as they were given. Shapes (c,), (c, n), (c, n); nothing is NaN."""

    stamp_s: FloatArray
    target_rad: FloatArray
    speed_rad_s: FloatArray


class Followed(NamedTuple):
    """A hand less its twin. Shapes (4, n): latency [s], speed (as a share), offset [rad], travel (as a share)."""

    value: FloatArray
    error: FloatArray
    """Standard errors; infinite where nothing is known."""


def follow(
    stamp_s: FloatArray,
    commands: Commands,
    latency_s: FloatArray,
    speed: FloatArray,
    angle_rad: FloatArray,
    free: BoolArray,
) -> FloatArray:
    """Angles of motors that follow commands; where they are not free they are put where they were.

    Args:
        stamp_s: When. Shape (t,).
        commands: What they were told.
        latency_s: Shape (p, n).
        speed: Scale of the commanded speed. Shape (p, n).
        angle_rad: Where they were. Shape (t, n).
        free: Shape (t, n).

    Returns:
        Shape (t, p, n).
    """
    motors = np.arange(latency_s.shape[1])
    told_s = stamp_s[:, None, None] - latency_s
    newest = np.searchsorted(commands.stamp_s, told_s, side="right") - 1
    known = np.maximum(newest, 0)
    target, speed_rad_s = commands.target_rad[known, motors], commands.speed_rad_s[known, motors] * speed
    before = commands.target_rad[np.maximum(known - 1, 0), motors]
    step_s = np.diff(stamp_s, prepend=stamp_s[0])[:, None, None]
    # A step has two parts: up to when the newest command acts, and after it. So paths change smoothly with latency.
    since_s = np.clip(told_s - commands.stamp_s[known], 0.0, step_s)
    return _paths(before, target, speed_rad_s, step_s - since_s, since_s, angle_rad, ~free | np.any(newest < 0, axis=1))


@nb.njit(cache=True)
def _paths(
    before: FloatArray,
    target: FloatArray,
    speed_rad_s: FloatArray,
    earlier_s: FloatArray,
    since_s: FloatArray,
    angle_rad: FloatArray,
    held: BoolArray,
) -> FloatArray:
    out = np.empty(target.shape)
    count, params, motors = target.shape
    for p in range(params):
        for n in range(motors):
            motor = finger = angle_rad[0, n]
            out[0, p, n] = finger
            for k in range(1, count):
                reach = speed_rad_s[k, p, n] * earlier_s[k, p, n]
                motor += min(max(before[k, p, n] - motor, -reach), reach)
                finger += (1.0 - np.exp(-earlier_s[k, p, n] / LAG_S)) * (motor - finger)
                reach = speed_rad_s[k, p, n] * since_s[k, p, n]
                motor += min(max(target[k, p, n] - motor, -reach), reach)
                finger += (1.0 - np.exp(-since_s[k, p, n] / LAG_S)) * (motor - finger)
                if held[k, n]:
                    motor = finger = angle_rad[k, n]
                out[k, p, n] = finger
    return out


def fit_follow(
    stamp_s: FloatArray,
    commands: Commands,
    hand_rad: FloatArray,
    twin_rad: FloatArray,
    free: BoolArray,
    *,
    open_rad: FloatArray,
    latency_s: float,
) -> Followed:
    """Fit how each motor of a hand follows otherwise than its twin's.

    Args:
        stamp_s: When. Shape (t,).
        commands: What the motors were told.
        hand_rad: Where the hand's were. Shape (t, n).
        twin_rad: Where the twin's were. Shape (t, n).
        free: Where nothing kept either from moving, and readings are there. Shape (t, n).
        open_rad: Where each motor is open. Shape (n,).
        latency_s: The twin's.
    """
    # Where a motor goes before its first command acts is not known. Paths that began when each of them heard it were
    # apart from the start, by what a motor goes in one reading.
    free = free & (stamp_s > commands.stamp_s[0] + latency_s + LATER_S)[:, None]
    n = hand_rad.shape[1]
    own = np.full((1, n), latency_s), np.ones((1, n))
    model = follow(stamp_s, commands, *own, twin_rad, free)[:, 0]
    value, error = np.zeros((4, n)), np.full((4, n), np.inf)
    block = np.floor((stamp_s - stamp_s[0]) / BLOCK_S).astype(int)
    starts = np.flatnonzero(np.diff(block, prepend=-1))
    steps = np.concatenate([np.zeros((1, 2)), np.diag(STEP), -np.diag(STEP)])[:, :, None]
    best, least = value.copy(), np.full(n, np.inf)
    alone, fitted = np.zeros(n), np.zeros(n)  # sums of squares of no difference, and of what was found
    modelled = best, least, fitted
    for number in range(ROUNDS + MORE_ROUNDS + 1):
        if number == ROUNDS:  # from here on, only later
            modelled = best, least, fitted
            value = best * np.array([[1.0], [0.0], [1.0], [1.0]])
            best, least, fitted = value.copy(), np.full(n, np.inf), np.zeros(n)
        straight = open_rad + (hand_rad - value[2] - open_rad) / (1.0 + value[3])
        if number < ROUNDS:
            params = (np.stack([own[0][0], own[1][0]]) + value[:2]) + steps  # (5, 2, n)
            paths = follow(stamp_s, commands, params[:, 0], params[:, 1], straight, free)
            paths += (twin_rad - model)[:, None]
        else:
            paths = np.zeros((len(stamp_s), len(steps), n))
            for row in (0, 1, 3):
                later_s = value[0] + steps[row, 0]
                paths[:, row] = _delayed(stamp_s, commands, latency_s, later_s, twin_rad, straight, free)
        base = paths[:, 0]
        # Both ways: where a target goes at the motor's own speed, only a slower one shows.
        slopes = [(paths[:, 1] - paths[:, 3]) / (2 * STEP[0]), (paths[:, 2] - paths[:, 4]) / (2 * STEP[1])]
        slopes = [slope * (1.0 + value[3]) for slope in slopes] + [np.ones_like(base), base - open_rad]
        residual = hand_rad - (open_rad + value[2] + (1.0 + value[3]) * (base - open_rad))
        for motor in range(n):
            seen = free[:, motor]
            count = int(seen.sum())
            if count < MIN_SAMPLES:
                continue
            which = np.array([0, 1, 2, 3] if np.ptp(base[seen, motor]) > PLACES_RAD else [0, 1, 2])
            if number >= ROUNDS:
                which = which[which != 1]
            used = np.stack([slopes[k][:, motor] for k in which], axis=1) * seen[:, None]
            left = residual[:, motor] * seen
            square = float(np.sum(left**2))
            if number == 0:
                alone[motor] = square
            variance = square / count + 1e-6**2
            cost = square + variance * float(np.sum((value[:, motor] / USUAL) ** 2))
            if cost > least[motor]:  # a step too far
                value[:, motor] = 0.5 * (value[:, motor] + best[:, motor])
                continue
            best[:, motor], least[motor], fitted[motor] = value[:, motor], cost, square
            prior = np.diag(variance / USUAL[which] ** 2)
            inverse = np.linalg.inv(used.T @ used + prior)
            change = inverse @ (used.T @ left - prior @ value[which, motor])
            value[which, motor] += np.clip(change, -MAX_CHANGE[which], MAX_CHANGE[which])
            if number >= ROUNDS:
                continue
            without = np.linalg.solve(*_other_blocks(used, left, prior, starts))[..., 0]
            error[which, motor] = np.sqrt(np.sum(without**2, axis=0) + np.diag(inverse) * variance)
    # The latency of a motor that is as fast as its twin's has no speed to make up for. All motors have one latency:
    # those that move little do not say by themselves whether they are late or slow.
    as_fast = (np.abs(modelled[0][1]) < SPEED) & (error[1] < KNOWN)
    known = np.isfinite(least)
    delay = as_fast | ((error[1] >= KNOWN) & (least[known].sum() < modelled[1][known].sum()))
    best, fitted = np.where(delay, best, modelled[0]), np.where(delay, fitted, modelled[2])
    # Neighbouring readings err alike: a tenth of them counts. What they would not miss is no difference.
    told = alone - fitted > SURE**2 * fitted / np.maximum(free.sum(axis=0) / ALIKE, 1.0)
    return Followed(best * told, error)


def _delayed(
    stamp_s: FloatArray,
    commands: Commands,
    latency_s: float,
    later_s: FloatArray,
    twin_rad: FloatArray,
    hand_rad: FloatArray,
    free: BoolArray,
) -> FloatArray:
    """The twin's paths some time later, from where the hand was when it was free again. Shape (t, n)."""
    before = zip(twin_rad.T, later_s, strict=True)
    there = np.stack([np.interp(stamp_s - late_s, stamp_s, path) for path, late_s in before], axis=1)
    told = (latency_s + later_s)[None], np.ones((1, len(later_s)))
    from_hand, from_twin = (follow(stamp_s, commands, *told, start, free)[:, 0] for start in (hand_rad, there))
    return there + from_hand - from_twin


def _other_blocks(
    used: FloatArray, left: FloatArray, prior: FloatArray, starts: IntArray
) -> tuple[FloatArray, FloatArray]:
    """Equations for how values change without one block of readings, for each: what hangs on one alone is unsure."""
    normals = np.add.reduceat(used[:, :, None] * used[:, None, :], starts, axis=0)
    pulls = np.add.reduceat(used * left[:, None], starts, axis=0)
    return normals.sum(axis=0) - normals + prior, pulls[..., None]
