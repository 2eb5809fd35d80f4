"""Where a lead screw is, by its commands and the force it feels: the motor model without a finger.

The screw knows nothing of the finger but its force. So with the *measured* force the screw's way follows from the
commands alone, whatever the finger meets. Positions are closing fractions: 0 open, 1 closed.
"""

from __future__ import annotations

import math

import numba as nb
import numpy as np

from thenar.arrays import FloatArray

STEP_S = 0.002  # of the twin: a motion of 10 ms is a handful of steps, and is not what it would be without them
ARRIVED = 1e-7


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
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Positions of the nut, speeds of the screw and speeds of the nut at the readings.

    The screw goes as `motor_model` lets it, step by step. Steps begin anew where a command acts and where a force limit
    stops it, so that the way is a smooth function of both; a twin would wait for its next step.

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
    nuts, velocities, rates = np.full(stamp_s.size, nut), np.zeros(stamp_s.size), np.zeros(stamp_s.size)
    now_s, k, n = stamp_s[0], -1, 1
    while n < stamp_s.size:
        while k + 1 < due_s.size and due_s[k + 1] <= now_s + 1e-12:
            k += 1
            if target[k] < at or reported_n[n] < limit_n[k]:
                stopped, stop_s = False, np.inf
        if stop_s <= now_s + 1e-12:
            stopped = True
        step_s = STEP_S
        if k + 1 < due_s.size:
            step_s = min(step_s, due_s[k + 1] - now_s)
        if now_s < stop_s:
            step_s = min(step_s, stop_s - now_s)
        span_s = max(stamp_s[n] - stamp_s[n - 1], 1e-12)
        share = min(max((now_s - stamp_s[n - 1]) / span_s, 0.0), 1.0)
        to_go = target[k] - at if k >= 0 and not stopped else 0.0
        wanted = 0.0
        if abs(to_go) > ARRIVED:
            force = force_n[n - 1] + share * (force_n[n] - force_n[n - 1])
            stall = max(stall_n, over_limit * limit_n[k])
            wanted = min(speed[k] * top, abs(to_go) / step_s, math.sqrt(2.0 * acceleration * abs(to_go)))
            wanted *= min(max(1.0 - math.copysign(force, force * to_go) / stall, 0.0), 1.0)
            wanted = math.copysign(wanted, to_go)
            rate = (reported_n[n] - reported_n[n - 1]) / span_s
            over_n = reported_n[n - 1] + rate * (now_s + step_s - stamp_s[n - 1]) - limit_n[k]
            if to_go > 0.0 and stop_s == np.inf and over_n >= 0.0:  # when did the force cross the limit?
                crossed_s = now_s + step_s - over_n / rate if rate > 0.0 else now_s
                stop_s = reaction_s + max(crossed_s, now_s)
        change = acceleration * step_s
        velocity = min(max(wanted, velocity - change), velocity + change)
        at += velocity * step_s
        if abs(to_go) > ARRIVED and (target[k] - at) * to_go <= 0.0:
            at, velocity = target[k], 0.0
        carried = min(max(nut, at - 0.5 * backlash), at + 0.5 * backlash)
        while n < stamp_s.size and stamp_s[n] <= now_s + step_s + 1e-12:
            nuts[n] = nut + (carried - nut) * (stamp_s[n] - now_s) / step_s
            velocities[n], rates[n] = velocity, (carried - nut) / step_s
            n += 1
        nut = carried
        now_s += step_s
    return nuts, velocities, rates
