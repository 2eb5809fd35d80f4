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

STEP_S = 0.001
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
    at, velocity, over_s, stopped = start, 0.0, 0.0, False
    nuts, velocities = np.empty(stamp_s.size), np.empty(stamp_s.size)
    now_s, k = stamp_s[0], -1
    while k + 1 < due_s.size and due_s[k + 1] <= now_s:
        k += 1
    for n in range(stamp_s.size):
        before = max(n - 1, 0)
        span_s = max(stamp_s[n] - stamp_s[before], 1e-12)
        while now_s < stamp_s[n] - 1e-12:
            until_s = stamp_s[n]
            if k + 1 < due_s.size:
                until_s = min(until_s, max(due_s[k + 1], now_s))
            steps = math.ceil((until_s - now_s) / STEP_S - 1e-9)
            if steps > 0:
                dt_s = (until_s - now_s) / steps
                for step in range(steps):
                    share = (now_s + (step + 0.5) * dt_s - stamp_s[before]) / span_s
                    force = force_n[before] + share * (force_n[n] - force_n[before])
                    reported = reported_n[before] + share * (reported_n[n] - reported_n[before])
                    wanted, braking_s = 0.0, 0.0
                    to_go = target[k] - at if k >= 0 else 0.0
                    if not stopped and abs(to_go) > ARRIVED:
                        wanted = min(speed[k] * top, math.sqrt(2.0 * acceleration * abs(to_go)))
                        stall = max(stall_n, over_limit * limit_n[k])
                        wanted *= min(max(1.0 - math.copysign(force, force * to_go) / stall, 0.0), 1.0)
                        wanted = math.copysign(wanted, to_go)
                        over_n = reported - limit_n[k]
                        if to_go > 0.0 and (over_n > 0.0 or over_s > 0.0):
                            rate = (reported_n[n] - reported_n[before]) / span_s
                            crossed_s = over_n / rate + 0.5 * dt_s if over_s == 0.0 and rate > 0.0 else dt_s
                            over_s += min(max(crossed_s, 0.0), dt_s)
                            stopped = over_s > reaction_s
                            braking_s = min(max(over_s - reaction_s, 0.0), dt_s)
                        elif to_go <= 0.0:
                            over_s = 0.0
                    change = acceleration * dt_s
                    after = min(max(wanted, velocity - change), velocity + change)
                    move = 0.5 * (velocity + after) * dt_s
                    velocity = after
                    if braking_s > 0.0:  # the stop comes within this step
                        braked = min(acceleration * braking_s, abs(velocity))
                        move -= 0.5 * braked * braking_s
                        velocity -= math.copysign(braked, velocity)
                    if not stopped and to_go != 0.0 and (to_go - move) * to_go <= 0.0 and abs(after) <= change * 2.0:
                        move, velocity = to_go, 0.0
                    at += move
                    nut = min(max(nut, at - 0.5 * backlash), at + 0.5 * backlash)
            now_s = until_s
            while k + 1 < due_s.size and due_s[k + 1] <= now_s:
                k += 1
                if not (math.isnan(target[k])) and (target[k] < at or reported_n[n] < limit_n[k]):
                    stopped, over_s = False, 0.0
        nuts[n], velocities[n] = nut, velocity
    return nuts, velocities
