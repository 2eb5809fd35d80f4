"""One frame of a person's hand into the angles of a robot hand, compiled: a sequence of small quadratic programs.

Every round linearises around the present posture and minimises the distance of the key points to their targets, with

- hard bounds: angle limits, speed and acceleration of the motors, limits of tendons;
- hard rows: no two parts nearer than ``clearance_m``, loosened only by one shared slack that costs dearly;
- pinch: as the person's thumb and finger come together, the surfaces of the robot's are drawn to touch.

The bounds of a frame are a box around the last posture, so a target out of reach moves the hand towards it at the
speed it has and never makes it jump. Everything the next frame starts from is in the record `STATE`.
"""

from __future__ import annotations

from numba import njit

from thenar.retarget.kernel.bounds import add_tendon_rows, frame_box, take_step
from thenar.retarget.kernel.kinematics import FAST, forward, place
from thenar.retarget.kernel.quadratic import INFEASIBLE, solve_quadratic
from thenar.retarget.kernel.targets import find_pinches, foresee, smooth
from thenar.retarget.kernel.terms import add_pads, add_pairs, add_points

REVERSAL_RAD = 0.0015
CALM, RESTLESS, MOST_DAMPED = 0.7, 4.0, 300.0


@njit(cache=True, fastmath=FAST, error_model="numpy", nogil=True)
def solve_frames(hands, tunings, targets, states, works, node_m, step_s, out_rad):
    """Follow frames one after the other, warm from the state, which is left ready for the next.

    The first five are arrays of one record each; nodes are (n, 21, 3) in palm axes, time steps (n,), angles (n, v).
    """
    hand, tuning, target, state, work = hands[0], tunings[0], targets[0], states[0], works[0]
    for n in range(node_m.shape[0]):
        _solve_frame(hand, tuning, target, state, work, node_m[n], step_s[n])
        for i in range(hand.variables):
            out_rad[n, i] = state.angle_rad[i]


@njit(cache=True, fastmath=FAST, error_model="numpy")
def _solve_frame(hand, tuning, targets, state, w, node_m, step_s):
    """Move ``state`` on by one frame."""
    v = hand.variables
    parts = hand.parts
    smooth(tuning, state, node_m, step_s)
    foresee(hand, tuning, targets, state, w)
    find_pinches(hand, tuning, state.node_m, w)
    frame_box(hand, tuning, state, step_s, w.lower, w.upper)
    for i in range(v):
        w.angle[i] = min(w.upper[i], max(w.lower[i], state.angle_rad[i]))
    for i in range(parts):
        w.moved[i] = w.reach[i] = 0.0
        joint = hand.core_joint[i]
        if joint >= 0:
            for m in range(hand.chain_length[joint]):
                j = hand.chain[joint, m]
                most = min(tuning.trust_rad, w.upper[hand.variable[j]] - w.lower[hand.variable[j]])
                w.reach[i] += hand.core_lever_m[i, m] * abs(hand.ratio[j]) * most
    rounds = 0
    while True:
        forward(hand, w.angle, w.pos, w.R, w.axis)
        for i in range(parts):
            place(hand.core_joint[i], hand.core_centre_m[i], w.pos, w.R, w.centre[i])
            w.placed[i] = 0
        for i in range(v + 1):
            w.g[i] = 0.0
            for j in range(i + 1):
                w.H[i, j] = 0.0
        add_points(hand, tuning, targets, w, v)
        for i in range(v):
            # A linear map says where a knuckle is; directions do not.
            prior = tuning.twist * hand.twist[i] + (tuning.posture * hand.posture[i] if targets.linear == 0 else 0.0)
            w.H[i, i] += tuning.damping * state.restless[i] * (1.0 + tuning.pinch_damping * w.calm[i]) + prior
            w.g[i] += prior * w.angle[i]
            w.step_lower[i] = max(w.lower[i] - w.angle[i], -tuning.trust_rad)
            w.step_upper[i] = min(w.upper[i] - w.angle[i], tuning.trust_rad)
        w.H[v, v] = tuning.slack_weight
        rows = add_tendon_rows(hand, w, 0, v)
        rows, tightest = add_pairs(hand, tuning, state, w, rows, v)
        add_pads(hand, tuning, w, v)
        for i in range(parts):
            w.moved[i] = 0.0
        # A few more rounds where parts came nearer than the linear picture promised.
        if rounds >= tuning.rounds and (tightest > -0.0002 or rounds >= tuning.rounds + 4):
            break
        if solve_quadratic(v + 1, v, rows, w) == INFEASIBLE:
            break
        rounds += 1
        largest = take_step(hand, w, v)
        for i in range(parts):
            joint = hand.core_joint[i]
            if joint >= 0:
                for m in range(hand.chain_length[joint]):
                    j = hand.chain[joint, m]
                    w.moved[i] += hand.core_lever_m[i, m] * abs(hand.ratio[j]) * w.x[hand.variable[j]]
        if largest < tuning.settled_rad:
            for k in range(hand.pairs):
                state.apart_m[k] -= w.moved[hand.pair[k, 0]] + w.moved[hand.pair[k, 1]]
            break
    for i in range(v):
        step = w.angle[i] - state.angle_rad[i]
        before = state.velocity_rad_s[i] * step_s
        if step * before < 0.0 and abs(step) > REVERSAL_RAD and abs(before) > REVERSAL_RAD:
            state.restless[i] = min(MOST_DAMPED, state.restless[i] * RESTLESS)
        else:
            state.restless[i] = max(1.0, state.restless[i] * CALM)
        state.velocity_rad_s[i] = step / step_s
        state.angle_rad[i] = w.angle[i]
