"""Where a lead screw is, by its commands and the force it feels: the motor model without a finger.

The screw knows nothing of the finger but its force. So with the *measured* force the screw's way follows from the
commands alone, whatever the finger meets. Positions are closing fractions: 0 open, 1 closed. Commands act at any
instant, not at steps, so that the way is a smooth function of the delay.
"""

from __future__ import annotations

import math

import numba as nb
import numpy as np

from thenar.arrays import FloatArray

STEP_S = 0.0025  # the droop under load is renewed so often
ARRIVED = 1e-9


@nb.njit(cache=True)
def screw_path(
    due_s: FloatArray,
    target: FloatArray,
    speed: FloatArray,
    limit_n: FloatArray,
    stamp_s: FloatArray,
    force_n: FloatArray,
    reported_n: FloatArray,
    start: float,
    nut: float,
    screw: FloatArray,
) -> tuple[FloatArray, FloatArray]:
    """Positions of the nut and speeds of the screw at the readings.

    Args:
        due_s: When each command acts [s], in order. Shape (c,).
        target: Closing fraction. Shape (c,).
        speed: Fraction of the top speed. Shape (c,).
        limit_n: Force limit [N]. Shape (c,).
        stamp_s: Times of the readings [s]. Shape (t,).
        force_n: Force on the screw, smooth [N]. Shape (t,).
        reported_n: What its sensor makes of it [N]. Shape (t,).
        start: Position of the screw before the first command.
        nut: Position of what it carries along.
        screw: Top speed [1/s], acceleration [1/s^2], stall force [N], that as a multiple of the limit, reaction [s] and
            backlash. Shape (6,).
    """
    top, acceleration, stall_n, over_limit, reaction_s, backlash = screw
    at, velocity, stopped, stop_s = start, 0.0, False, np.inf
    nuts, velocities = np.empty(stamp_s.size), np.empty(stamp_s.size)
    now_s, k = stamp_s[0], -1
    for n in range(stamp_s.size):
        before = max(n - 1, 0)
        span_s = max(stamp_s[n] - stamp_s[before], 1e-12)
        rate = (reported_n[n] - reported_n[before]) / span_s
        while True:
            while k + 1 < due_s.size and due_s[k + 1] <= now_s + 1e-12:
                k += 1
                if target[k] < at or reported_n[n] < limit_n[k]:
                    stopped, stop_s = False, np.inf
            if stop_s <= now_s + 1e-12:
                stopped = True
            if now_s >= stamp_s[n] - 1e-12:
                break
            until_s = min(stamp_s[n], now_s + STEP_S)
            if k + 1 < due_s.size:
                until_s = min(until_s, due_s[k + 1])
            to_go, cap = 0.0, 0.0
            if k >= 0 and not stopped:
                to_go = target[k] - at
            if abs(to_go) > ARRIVED:
                share = (0.5 * (now_s + until_s) - stamp_s[before]) / span_s
                force = force_n[before] + share * (force_n[n] - force_n[before])
                stall = max(stall_n, over_limit * limit_n[k])
                cap = speed[k] * top * min(max(1.0 - math.copysign(force, force * to_go) / stall, 0.0), 1.0)
                if to_go > 0.0 and stop_s == np.inf:  # when does the force cross the limit?
                    over_n = reported_n[before] + rate * (until_s - stamp_s[before]) - limit_n[k]
                    if over_n >= 0.0:
                        stop_s = reaction_s + max(until_s - over_n / rate if rate > 0.0 else now_s, now_s)
            if now_s < stop_s < until_s:
                until_s = stop_s
            left_s = until_s - now_s
            while left_s > 0.0:
                moved, velocity, passed_s = _advance(to_go, velocity, cap, acceleration, left_s)
                at += moved
                to_go = to_go - moved if abs(to_go) > ARRIVED else to_go
                left_s -= passed_s
                nut = min(max(nut, at - 0.5 * backlash), at + 0.5 * backlash)
            now_s = until_s
        nuts[n], velocities[n] = nut, velocity
    return nuts, velocities


@nb.njit(cache=True)
def _advance(
    to_go: float, velocity: float, cap: float, acceleration: float, most_s: float
) -> tuple[float, float, float]:
    """The way until the acceleration changes, at most for a while: distance, speed after it and time.

    To reach a target as fast as may be, at no more than ``cap``, and to stand there; or to brake where there is none.
    """
    aims = abs(to_go) > ARRIVED
    sign = math.copysign(1.0, to_go if aims else velocity)
    v, left = velocity * sign, abs(to_go)
    if not aims or v < 0.0 or v > cap + 1e-12:  # slow down: to a stand, to turn back, or to the speed that is allowed
        least = cap if aims and v > 0.0 else 0.0
        rate = -math.copysign(acceleration, v) if v != 0.0 else 0.0
        time_s = (abs(v) - least) / acceleration
        if v == 0.0:
            return 0.0, 0.0, most_s
        if time_s <= most_s:
            return sign * 0.5 * (v + math.copysign(least, v)) * time_s, sign * math.copysign(least, v), time_s
    elif left <= v * v / (2.0 * acceleration) * (1.0 + 1e-9):  # brake, to stand on the target
        time_s = 2.0 * left / v
        if time_s <= most_s:
            return to_go, 0.0, time_s
        rate = -v * v / (2.0 * left)
    elif v < cap - 1e-12:
        rate = acceleration
        time_s = min((cap - v) / acceleration, (math.sqrt(0.5 * v * v + acceleration * left) - v) / acceleration)
    else:
        if v <= 0.0:
            return 0.0, velocity, most_s
        rate = 0.0
        time_s = (left - v * v / (2.0 * acceleration)) / v
    time_s = min(max(time_s, 1e-9), most_s)
    return sign * (v * time_s + 0.5 * rate * time_s * time_s), sign * (v + rate * time_s), time_s
