"""How a motor follows its commands, fitted: when it begins, how fast it goes, where it ends up.

A motor is taken for a point that goes to the newest target at a speed, some time after it was told, and a finger that
follows it softly. The same fit is made to a hand and to its twin, and what the model leaves out is the same in both, so
that their difference is what differs.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from thenar.arrays import BoolArray, FloatArray

ROUNDS = 6
LAG_S = 0.012  # of the finger behind its motor
BEHIND_S, LAGGING_S = 0.05, 0.3  # how far, in time, and how long a motor must be behind its target to show its speed
UNSEEN_S = 0.03
STEP = np.array([4e-3, 0.02])  # of latency [s] and speed, for the slope
MAX_LATENCY_S = 0.5
INFLATION = 3.0  # neighbouring samples err alike: their number counts for less


class Commands(NamedTuple):
    """Targets and speeds as they were given. Shapes (c,), (c, n), (c, n); nothing is NaN."""

    stamp_s: FloatArray
    target_rad: FloatArray
    speed_rad_s: FloatArray


class Followed(NamedTuple):
    """How each motor followed. Shapes (4, n): latency [s], speed scale, offset [rad], travel scale."""

    value: FloatArray
    error: FloatArray
    """Standard errors; infinite where the motion does not tell."""


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
    p, n = latency_s.shape
    motors = np.arange(n)
    out = np.empty((len(stamp_s), p, n))
    told_s = stamp_s[:, None, None] - latency_s
    newest = np.searchsorted(commands.stamp_s, told_s, side="right") - 1
    known = np.maximum(newest, 0)
    target, speed_rad_s = commands.target_rad[known, motors], commands.speed_rad_s[known, motors] * speed
    before = commands.target_rad[np.maximum(known - 1, 0), motors]
    step_s = np.diff(stamp_s, prepend=stamp_s[0])
    since_s = np.clip(told_s - commands.stamp_s[known], 0.0, step_s[:, None, None])
    reach, earlier = speed_rad_s * since_s, speed_rad_s * (step_s[:, None, None] - since_s)
    # A step has two parts: up to when the newest command acts, and after it. So paths change smoothly with latency.
    drawn, drawn_before = 1.0 - np.exp(-since_s / LAG_S), 1.0 - np.exp(-(step_s[:, None, None] - since_s) / LAG_S)
    motor = np.broadcast_to(angle_rad[0], (p, n)).copy()
    finger = motor.copy()
    out[0] = finger
    held = ~free | np.any(newest < 0, axis=1)
    some_held: BoolArray = np.any(held, axis=1)
    for k in range(1, len(stamp_s)):
        motor = _towards(motor, before[k], earlier[k])
        finger = finger + drawn_before[k] * (motor - finger)
        motor = _towards(motor, target[k], reach[k])
        finger = finger + drawn[k] * (motor - finger)
        if some_held[k]:
            motor, finger = (np.where(held[k], angle_rad[k], part) for part in (motor, finger))
        out[k] = finger
    return out


def _towards(here: FloatArray, target: FloatArray, reach: FloatArray) -> FloatArray:
    return here + np.minimum(np.maximum(target - here, -reach), reach)


def fit_follow(
    stamp_s: FloatArray,
    commands: Commands,
    angle_rad: FloatArray,
    free: BoolArray,
    *,
    open_rad: FloatArray,
    latency_s: float,
) -> Followed:
    """Fit latency, speed, offset and travel of every motor to where it was.

    Args:
        stamp_s: When. Shape (t,).
        commands: What the motors were told.
        angle_rad: Where they were. Shape (t, n).
        free: Where nothing kept them from moving, and readings are there. Shape (t, n).
        open_rad: Where each motor is open. Shape (n,).
        latency_s: Where to begin.
    """
    n = angle_rad.shape[1]
    value = np.stack([np.full(n, latency_s), np.ones(n), np.zeros(n), np.ones(n)])
    weight = free.astype(float)
    count = np.maximum(weight.sum(axis=0), 1.0)
    error = np.full((4, n), np.inf)
    known = np.zeros((4, n), dtype=bool)
    for round_number in range(ROUNDS):
        # The point goes where the motor would, in the motor's own angles, which offset and travel then bend.
        straight = open_rad + (angle_rad - value[2] - open_rad) / value[3]
        params = [value[:2], value[:2] + STEP[:, None] * [[1], [0]], value[:2] + STEP[:, None] * [[0], [1]]]
        latency, speed = np.stack([part[0] for part in params]), np.stack([part[1] for part in params])
        paths = follow(stamp_s, commands, latency, speed, straight, free)
        base = paths[:, 0]
        slopes = [(paths[:, 1] - base) / STEP[0], (paths[:, 2] - base) / STEP[1]]
        slopes = [slope * value[3] for slope in slopes] + [np.ones_like(base), base - open_rad]
        newest = np.searchsorted(commands.stamp_s, stamp_s[:, None] - value[0], side="right") - 1
        told = np.maximum(newest, 0), np.arange(n)
        behind = np.abs(commands.target_rad[told] - straight) > BEHIND_S * commands.speed_rad_s[told]
        behind_s = np.sum(behind * weight * np.diff(stamp_s, prepend=stamp_s[0])[:, None], axis=0)
        columns = np.stack(slopes, axis=-1) * weight[..., None]  # (t, n, 4)
        residual = (angle_rad - (open_rad + value[2] + value[3] * (base - open_rad))) * weight
        spread = np.sqrt(np.sum(residual**2, axis=0) / count)
        for motor in range(n):
            used = columns[:, motor]
            size = np.sqrt(np.sum(used**2, axis=0))
            known[:, motor] = size > 1e-6
            # Travel tells apart from offset only where a finger has been in several places.
            places = base[free[:, motor], motor]
            known[3, motor] = places.size > 0 and np.ptp(places) > 0.2
            known[1, motor] &= behind_s[motor] > LAGGING_S
            which = np.flatnonzero(known[:, motor])
            if which.size == 0 or count[motor] < 20:
                continue
            normal = used[:, which].T @ used[:, which]
            normal += 1e-9 * np.diag(np.diag(normal) + 1e-12)
            change = np.linalg.solve(normal, used[:, which].T @ residual[:, motor])
            most = np.array([0.05, 0.3, 0.3, 0.3])[which]
            value[which, motor] += np.clip(change, -most, most)
            if round_number == ROUNDS - 1:
                variance = np.diag(np.linalg.inv(normal)) * (spread[motor] ** 2 + 1e-6**2)
                error[which, motor] = INFLATION * np.sqrt(np.maximum(variance, 0.0))
                if not known[1, motor] and behind_s[motor] > UNSEEN_S:
                    error[0, motor] = np.inf  # it was slow now and then: latency cannot be told from speed
        value[0] = np.clip(value[0], -0.05, MAX_LATENCY_S)
        value[1:] = np.clip(value[1:], [[0.1], [-1.0], [0.2]], [[3.0], [1.0], [3.0]])
    return Followed(value, error)
