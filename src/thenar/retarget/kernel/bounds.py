"""Bounds of one frame, compiled: a box that the motors' speed and acceleration allow, and rows for tendons."""

from __future__ import annotations

import math

from numba import njit

from thenar.retarget.kernel.kinematics import OPTIONS


@njit(**OPTIONS)
def frame_bounds(hand, tuning, state, step_s, lower, upper):
    """Angles each variable can have at the end of this frame."""
    for i in range(hand.variables):
        last = state.angle_rad[i]
        fastest = hand.speed_rad_s[i] * tuning.speed_scale
        up, down = fastest, -fastest
        # A joint stops as soon as its motor can, but turns back gently: the faster it runs the more so, without a step,
        # because a joint that turns back at its limit sits where the step would be.
        velocity = state.velocity_rad_s[i]
        gentle = tuning.reversal_share * fastest
        turn_back = fastest - (fastest - gentle) * min(1.0, abs(velocity) / max(gentle, 1e-9))
        if velocity > 0.0:
            down = -turn_back
        elif velocity < 0.0:
            up = turn_back
        # As fast as still lets it stop before its end, and within what it can change in one step.
        brake = hand.acceleration_rad_s2[i] * tuning.speed_scale
        up = min(up, _stoppable(hand.upper_rad[i] - last, brake, step_s))
        down = max(down, -_stoppable(last - hand.lower_rad[i], brake, step_s))
        up = max(down, min(up, velocity + brake * step_s))
        down = min(up, max(down, velocity - brake * step_s))
        lower[i] = max(hand.lower_rad[i], last + down * step_s)
        upper[i] = min(hand.upper_rad[i], last + up * step_s)


@njit(**OPTIONS)
def _stoppable(room_rad, brake, step_s):
    """Largest speed of this step from which the next steps can stop within the room."""
    room = max(room_rad, 0.0)
    many_steps = brake * (math.sqrt(2.25 * step_s * step_s + 2.0 * room / brake) - 1.5 * step_s)
    return max(many_steps, min(room, brake * step_s * step_s) / step_s)  # one step to the end, and it stands


@njit(**OPTIONS)
def add_tendon_rows(hand, w, rows, v):
    """Rows that keep every tendon within its limits; those that cannot bind are left out."""
    for k in range(hand.tendons):
        a, b = hand.row_variable[k, 0], hand.row_variable[k, 1]
        wa, wb = hand.row_weight[k, 0], hand.row_weight[k, 1]
        now = wa * w.angle[a] + wb * w.angle[b]
        for sign in (1.0, -1.0):
            need = hand.row_lower_rad[k] - now if sign > 0.0 else now - hand.row_upper_rad[k]
            lowest = min_product(sign * wa, w.step_lower[a], w.step_upper[a])
            lowest += min_product(sign * wb, w.step_lower[b], w.step_upper[b])
            if lowest >= need:
                continue
            for j in range(v + 1):
                w.row[rows, j] = 0.0
            w.row[rows, a] = sign * wa
            w.row[rows, b] = sign * wb
            w.row_lower[rows] = min(need, 0.0)
            rows += 1
    return rows


@njit(**OPTIONS)
def min_product(weight, low, high):
    """Smallest that ``weight * x`` can be for x between low and high."""
    return weight * low if weight > 0.0 else weight * high


@njit(**OPTIONS)
def take_step(hand, w, v):
    """Move the angles by the step, exactly within bounds and tendons; leaves the size of each move in ``x``."""
    largest = 0.0
    for i in range(v):
        angle = min(w.upper[i], max(w.lower[i], w.angle[i] + w.x[i]))
        w.x[i] = abs(angle - w.angle[i])
        largest = max(largest, w.x[i])
        w.angle[i] = angle
    for k in range(hand.tendons):
        # Rounding may leave a tendon a hair past its end: its last joint gives way.
        a, b = hand.row_variable[k, 0], hand.row_variable[k, 1]
        wa, wb = hand.row_weight[k, 0], hand.row_weight[k, 1]
        total = wa * w.angle[a] + wb * w.angle[b]
        if total < hand.row_lower_rad[k]:
            w.angle[b] = (hand.row_lower_rad[k] - wa * w.angle[a]) / wb
        elif total > hand.row_upper_rad[k]:
            w.angle[b] = (hand.row_upper_rad[k] - wa * w.angle[a]) / wb
    return largest
