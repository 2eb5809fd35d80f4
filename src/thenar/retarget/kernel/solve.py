"""One frame of a person's hand into the angles of a robot hand, compiled: a sequence of small quadratic programs.

Every iteration linearises around the present posture and minimises the distance of key points to their targets, with

- hard bounds: angle limits, speed and acceleration of the motors, limits of tendons;
- hard rows: no two hulls nearer than ``clearance_m``, loosened only by one shared slack that costs dearly;
- pinch: as the person's thumb and finger come together, the surfaces of the robot's are drawn to touch.

The bounds of a frame are a box around the last posture, so a target out of reach moves the hand towards it at the
speed it has and never makes it jump. Everything the next frame starts from is in the record `STATE`.
"""

from __future__ import annotations

import math

from numba import njit

from thenar.retarget.kernel.bounds import add_tendon_rows, frame_bounds, take_step
from thenar.retarget.kernel.distance import place_hulls
from thenar.retarget.kernel.kinematics import OPTIONS, dot, forward_kinematics, minus
from thenar.retarget.kernel.qp_solver import INFEASIBLE, solve_qp
from thenar.retarget.kernel.qp_terms import add_bends, add_pads, add_pairs, add_points
from thenar.retarget.kernel.solver_memory import ARRIVED, CONTACT, PINCH, REACH, SPEED, WAY_STEPS
from thenar.retarget.kernel.targets import (
    USUAL_FINGER_M,
    blend_pinches,
    filter_nodes,
    finger_length_m,
    frame_targets,
    predict_targets,
    tip_error,
)

# A variable goes one way once the person has moved it so far that way, which is forgotten when the person rests.
TURN_RAD, FORGET_S = 0.0175, 0.3
SMALL_RAD = 0.006  # steps smaller than this meet the same friction: without a bound a nanometre would decide
# Speed of nodes below which friction fades: it keeps noise out of a moving hand, but a still hand from its end.
STILL_M_S = 0.001
# Steps that another hand has to come from open to the same frame and arrive, fewer where it stands sooner.
LEAD_STEPS, LEAD_STEP_S, LEAD_STOPPED_RAD = 32, 1.0 / 60.0, 0.0015
# How fast that is gone, whatever the rate of frames; a slow frame takes no more steps than this.
LEAD_STEPS_PER_S, LEAD_STEPS_PER_FRAME = 480.0, 8
# A hand that has arrived stays there while the person's nodes are within so much of where they were, and is led again
# once they have come so near to where they have been.
STAY_M, STOPPED_M = 0.00005, 0.000012
SAME_RAD = 1e-9
# Links that are so near in both postures, on sides so far from each other, are of fingers that have to go round.
CROSSED_M, CROSSED_COS = 0.004, -0.5
# The step of the way from open to which they go back first, how many more where that is not enough, and how near they
# come to a step before they go on to the next.
FIRST_BACK, STEPS_BACK, PASSED_RAD = 11, 2, 0.4
# Fingers that are held up so far from their end go round too, once, from this step.
FAR_RAD, HELD_UP_BACK = 0.2, 9
ARRIVED_RAD, PROGRESS_RAD_S, STUCK_S = 0.01, 0.3, 0.08
# How long a still person's hand is watched, and the way in that time above which it may swing; one that is held takes
# half a step at this speed of nodes, less below.
WATCH_S, SWING_RAD, HELD_M_S, MAX_HOLD = 1.0, 0.002, 1e-4, 3e4


@njit(**OPTIONS)
def solve_frames(hands, tunings, targets, states, works, node_m, step_s, out_rad):
    """Follow frames one after the other, warm from the state, which is left ready for the next.

    The first five are arrays of records; the second state is of a hand that comes from open (see `_find_rest`), the
    second tuning of that hand at its end and the third of it on its way there. Nodes are (n, 21, 3) in palm axes, time
    steps (n,), angles (n, v).
    """
    hand, tuning, target, state, work = hands[0], tunings[0], targets[0], states[0], works[0]
    for n in range(node_m.shape[0]):
        filter_nodes(tuning, state, node_m[n], step_s[n])
        if tuning.rest > 0.0:
            _find_rest(hand, tunings, target, state, states[1], work, step_s[n])
        _solve_frame(hand, tuning, target, state, work, step_s[n])
        for i in range(hand.variables):
            out_rad[n, i] = state.angle_rad[i]


@njit(**OPTIONS)
def _find_rest(hand, tunings, targets, state, other, w, step_s):
    """Have a still hand end where it would have come to from open, however it came: a function of the input alone.

    Contact and pinches have several stable postures, and which of them a moving hand comes to depends on its way. While
    the person is still, another hand is led from open to the same frame, a few steps in every frame. Then the real one
    is pulled to where the other has arrived, within its limits and contacts, and stays there until the person moves.
    Fingers that stand on the wrong side of each other go round: back to the way of the other hand, and along it.
    """
    scale = finger_length_m(state.node_m) / USUAL_FINGER_M
    square = 0.0
    for i in range(21):
        away = minus(state.node_m[i], state.slow_node_m[i])
        square += dot(away, away) / 21.0
    if square > (scale * tunings[1].at_rest_m) ** 2 or (state.moved_on == 1 and square < (scale * STOPPED_M) ** 2):
        state.lead_steps = state.pull = state.held = state.moved_on = 0
        state.rest_s = state.watched_s = 0.0
    elif state.lead_steps < LEAD_STEPS:
        state.rest_s += step_s
        _lead(hand, tunings, targets, state, other, w, scale)
        if state.lead_steps == LEAD_STEPS and other.cost < tunings[1].dearer * state.cost:
            state.pull = 1
            for i in range(hand.variables):
                state.goal_rad[i] = other.angle_rad[i]
            state.via = state.back = FIRST_BACK if _find_crossed(hand, state, other) else WAY_STEPS
            _aim(hand, state)
            for i in range(21):
                for a in range(3):
                    state.rest_node_m[i, a] = state.node_m[i, a]
    elif state.pull > 0:
        _go_on_pulling(hand, state, scale, step_s)
    elif state.held == 0:
        _watch(hand, state, step_s)


@njit(**OPTIONS)
def _lead(hand, tunings, targets, state, other, w, scale):
    """Lead the other hand on from open to the frame of ``state``, as many steps as are due."""
    if state.lead_steps == 0:
        _open(hand, other)
    due = min(state.lead_steps + LEAD_STEPS_PER_FRAME, int(state.rest_s * LEAD_STEPS_PER_S + 0.5))
    while state.lead_steps < min(LEAD_STEPS, due):
        state.lead_steps += 1
        share = min(1.0, state.lead_steps / WAY_STEPS)
        for i in range(21):
            for a in range(3):
                open_m = scale * targets.open_node_m[i, a]
                other.node_m[i, a] = open_m + share * (state.node_m[i, a] - open_m)
        tuning = tunings[2] if state.lead_steps < WAY_STEPS else tunings[1]
        _solve_frame(hand, tuning, targets, other, w, LEAD_STEP_S)
        if state.lead_steps <= WAY_STEPS:
            for i in range(hand.variables):
                state.path_rad[state.lead_steps - 1, i] = other.angle_rad[i]
        fastest_rad_s = 0.0
        for i in range(hand.variables):
            fastest_rad_s = max(fastest_rad_s, abs(other.velocity_rad_s[i]))
        if state.lead_steps > WAY_STEPS and fastest_rad_s * LEAD_STEP_S < LEAD_STOPPED_RAD:
            state.lead_steps = LEAD_STEPS


@njit(**OPTIONS)
def _go_on_pulling(hand, state, scale, step_s):
    """Free a hand that is held up on its way, or has arrived and the person has moved on, however slowly.

    It never opens to try again, for it may hold; only fingers that go round go back farther.
    """
    if state.pull == ARRIVED:
        square = 0.0
        for i in range(21):
            away = minus(state.node_m[i], state.rest_node_m[i])
            square += dot(away, away) / 21.0
        if square > (scale * STAY_M) ** 2:
            state.pull, state.moved_on = 0, 1
        elif state.held == 0:
            _watch(hand, state, step_s)
        return
    apart = largest = 0.0
    for i in range(hand.variables):
        apart += abs(state.pull_rad[i] - state.angle_rad[i])
        largest = max(largest, abs(state.pull_rad[i] - state.angle_rad[i]))
    state.stuck_s = 0.0 if apart < state.apart_rad - PROGRESS_RAD_S * step_s else state.stuck_s + step_s
    state.apart_rad = min(state.apart_rad, apart)
    if state.via < WAY_STEPS and largest <= PASSED_RAD:
        state.via += 1
        _aim(hand, state)
    elif state.stuck_s >= STUCK_S and state.back > STEPS_BACK and state.back < WAY_STEPS:
        state.back -= STEPS_BACK
        state.via = state.back
        _aim(hand, state)
    elif state.stuck_s >= STUCK_S and state.back == WAY_STEPS and state.held == 0 and _find_blocked(hand, state):
        state.via, state.back = HELD_UP_BACK, STEPS_BACK  # once, and no farther
        _aim(hand, state)
    elif state.stuck_s >= STUCK_S:
        state.pull = 0
    elif largest <= ARRIVED_RAD and state.held == 0:
        state.pull = ARRIVED
    elif largest <= ARRIVED_RAD:
        state.pull = 0


@njit(**OPTIONS)
def _find_crossed(hand, state, other):
    """Mark fingers that touch on the other side of each other than those of the other hand do; True if any."""
    found = False
    for f in range(hand.fingers):
        state.crossed[f] = 0
    for k in range(hand.pairs):
        if max(state.min_distance_m[k], other.min_distance_m[k]) > CROSSED_M:
            continue
        one, two = state.separation[k], other.separation[k]
        if dot(one, two) < CROSSED_COS * math.sqrt(dot(one, one) * dot(two, two)):
            found = True
            _mark(hand, state, k)
    return found


@njit(**OPTIONS)
def _find_blocked(hand, state):
    """Mark fingers that are held up far from their end, and those that touch them; True if any."""
    found = False
    for f in range(hand.fingers):
        state.crossed[f] = 1 if _is_far(hand, state, hand.pad_joint[f]) else 0
        found |= state.crossed[f] == 1
    for k in range(hand.pairs):
        if state.min_distance_m[k] <= CROSSED_M:
            a, b = hand.hull_joint[hand.pair[k, 0]], hand.hull_joint[hand.pair[k, 1]]
            if _is_far(hand, state, a) or _is_far(hand, state, b):
                _mark(hand, state, k)
    return found


@njit(**OPTIONS)
def _is_far(hand, state, joint):
    """Whether what a joint carries is far from its end by the angle of any joint before it."""
    away_rad = 0.0
    for m in range(hand.chain_length[joint] if joint >= 0 else 0):
        i = hand.variable[hand.chain[joint, m]]
        away_rad = max(away_rad, abs(state.goal_rad[i] - state.angle_rad[i]))
    return away_rad > FAR_RAD


@njit(**OPTIONS)
def _mark(hand, state, k):
    """Mark the fingers that a pair of hulls is of."""
    for f in range(hand.fingers):
        tip = hand.pad_joint[f]
        for m in range(hand.chain_length[tip]):
            joint = hand.chain[tip, m]
            if joint == hand.hull_joint[hand.pair[k, 0]] or joint == hand.hull_joint[hand.pair[k, 1]]:
                state.crossed[f] = 1


@njit(**OPTIONS)
def _aim(hand, state):
    """Pull the hand to its end, and fingers that go round to where the other hand was on its way."""
    for i in range(hand.variables):
        state.pull_rad[i] = state.goal_rad[i]
    for f in range(hand.fingers):
        tip = hand.pad_joint[f]
        if state.crossed[f] == 1 and state.via < WAY_STEPS:
            for m in range(hand.chain_length[tip]):
                i = hand.variable[hand.chain[tip, m]]
                state.pull_rad[i] = state.path_rad[state.via - 1, i]
    state.apart_rad, state.stuck_s = 1e3, 0.0


@njit(**OPTIONS)
def _watch(hand, state, step_s):
    """Hold a hand that goes to and fro although its person is still: two contacts or pinches take turns there.

    It is pulled to the middle of its ways and held there.
    """
    if state.watched_s == 0.0:
        state.travel_rad = 0.0
        for i in range(hand.variables):
            state.watched_rad[i], state.goal_rad[i] = state.angle_rad[i], 0.0
    away = 0.0
    for i in range(hand.variables):
        state.travel_rad += abs(state.velocity_rad_s[i]) * step_s
        state.goal_rad[i] += state.angle_rad[i] * step_s
        away += abs(state.angle_rad[i] - state.watched_rad[i])
    state.watched_s += step_s
    if state.watched_s >= WATCH_S:
        if state.travel_rad > SWING_RAD and away < 0.5 * state.travel_rad:
            for i in range(hand.variables):
                state.pull_rad[i] = state.goal_rad[i] / state.watched_s
            state.held = state.pull = 1
            state.via = state.back = WAY_STEPS
            state.apart_rad, state.stuck_s = 1e3, 0.0
        state.watched_s = 0.0


@njit(**OPTIONS)
def _open(hand, state):
    """Open a hand, at rest, without any memory."""
    for i in range(hand.variables):
        state.angle_rad[i] = min(hand.upper_rad[i], max(hand.lower_rad[i], 0.0))
        state.velocity_rad_s[i] = 0.0
    for k in range(hand.pairs):
        state.min_distance_m[k] = -1.0
        for a in range(3):
            state.separation[k, a] = 0.0


@njit(**OPTIONS)
def _solve_frame(hand, tuning, targets, state, w, step_s):
    """Move ``state`` on by one frame, whose nodes it has."""
    v = hand.variables
    predict_targets(hand, tuning, targets, state, w)
    blend_pinches(hand, tuning, state.node_m, w)
    if state.pull == 1 and state.via < WAY_STEPS:
        for f in range(1, hand.fingers):
            if state.crossed[0] == 1 or state.crossed[f] == 1:
                w.blend[f] = w.pinch_weight[f] = 0.0  # fingers that go round let go
    frame_bounds(hand, tuning, state, step_s, w.lower, w.upper)
    for i in range(v):
        w.angle[i] = min(w.upper[i], max(w.lower[i], state.angle_rad[i]))
        w.x[i] = abs(w.angle[i] - state.angle_rad[i])  # a joint that cannot stop at once goes on
        w.friction[i] = 0.0
    _hull_travel(hand, w.x, w.moved)
    for i in range(v):
        w.x[i] = min(tuning.trust_region_rad, w.upper[i] - w.lower[i])
    _hull_travel(hand, w.x, w.reach)
    iterations = 0
    while True:
        rows, min_margin = _linearize(hand, tuning, targets, state, w)
        # A few more iterations where hulls came nearer than the linear picture promised.
        if iterations >= tuning.max_iterations and (min_margin > -0.0002 or iterations >= tuning.max_iterations + 4):
            break
        outcome = solve_qp(v + 1, v, rows, w)
        if iterations == 0 and outcome != INFEASIBLE and tuning.friction_rad > 0.0 and state.pull == 0:
            _add_friction(tuning, state, w, v, step_s)
            outcome = solve_qp(v + 1, v, rows, w)
        if outcome == INFEASIBLE:
            break
        iterations += 1
        _note_why(hand, state, w, rows, v)
        largest = take_step(hand, w, v)
        _hull_travel(hand, w.x, w.moved)
        if largest < tuning.converged_rad:
            for k in range(hand.pairs):
                state.min_distance_m[k] -= w.moved[hand.pair[k, 0]] + w.moved[hand.pair[k, 1]]
            break
    _note_errors(hand, targets, state, w)
    for i in range(v):
        step = w.angle[i] - state.angle_rad[i]
        state.velocity_rad_s[i] = step / step_s
        state.angle_rad[i] = w.angle[i]


@njit(**OPTIONS)
def _note_errors(hand, targets, state, w):
    """Note how far each fingertip is from its target."""
    forward_kinematics(hand, w.angle, w.pos, w.R, w.axis)
    frame_targets(hand, targets, state.node_m, w.target)  # without prediction
    for f in range(hand.fingers):
        state.tip_error_m[f] = math.sqrt(tip_error(hand, targets, f, w, w.point))


@njit(**OPTIONS)
def _note_why(hand, state, w, rows, v):
    """Note what keeps each finger from its target, by the constraints that the step ``w.x`` has run into."""
    for f in range(hand.fingers):
        why = 0
        for g in range(1, hand.fingers):
            if w.blend[g] > 0.0 and (f == 0 or f == g):
                why = PINCH
        joint = hand.pad_joint[f]
        for m in range(hand.chain_length[joint]):
            i = hand.variable[hand.chain[joint, m]]
            angle = w.angle[i] + w.x[i]
            if angle <= hand.lower_rad[i] + SAME_RAD or angle >= hand.upper_rad[i] - SAME_RAD:
                why |= REACH
            elif angle <= w.lower[i] + SAME_RAD or angle >= w.upper[i] - SAME_RAD:
                why |= SPEED
            for k in range(rows):
                if w.active[2 * v + k] == 1 and w.row[k, i] != 0.0:
                    why |= CONTACT if w.row[k, v] != 0.0 else REACH
        state.why[f] = why


@njit(**OPTIONS)
def _add_friction(tuning, state, w, v, step_s):
    """Resist small steps and those that turn back, by the step ``w.x`` that would be taken without friction.

    A variable that goes on is nearly free, so nothing lags; one that turns back falls short, until the person has gone
    far enough that way. Which way a variable goes is judged by where it would go without friction: judged by where it
    went, friction would feed on itself.
    """
    remembered = math.exp(-step_s / FORGET_S)
    square = 0.0
    for i in range(21):
        square += dot(state.node_m_s[i], state.node_m_s[i]) / 21.0
    friction_rad = tuning.friction_rad * square / (square + STILL_M_S * STILL_M_S)
    hold = min(MAX_HOLD, HELD_M_S * HELD_M_S / max(square, 1e-18)) if state.held == 1 else 0.0
    for i in range(v):
        wanted_rad = w.angle[i] + w.x[i]
        way = remembered * state.way[i] + (wanted_rad - state.wanted_rad[i]) / TURN_RAD
        state.way[i] = min(1.0, max(-1.0, way))
        state.wanted_rad[i] = wanted_rad
        size_rad = abs(w.x[i]) + SMALL_RAD
        against = 0.5 * (1.0 - state.way[i] * w.x[i] / size_rad)
        w.friction[i] = w.H[i, i] * (against * friction_rad / size_rad + hold)
        w.H[i, i] += w.friction[i]


@njit(**OPTIONS)
def _linearize(hand, tuning, targets, state, w):
    """Fill the quadratic program around ``w.angle``; the number of its rows, and the smallest margin of any hulls."""
    v = hand.variables
    forward_kinematics(hand, w.angle, w.pos, w.R, w.axis)
    place_hulls(hand, w)
    for i in range(v + 1):
        w.g[i] = 0.0
        for j in range(i + 1):
            w.H[i, j] = 0.0
    w.cost[0] = 0.0
    pull = tuning.pull if state.pull > 0 else 0.0
    if pull == 0.0:
        add_points(hand, tuning, targets, w)
        add_bends(hand, tuning, w, v)
    for i in range(v):
        # A linear map says where a knuckle is; directions do not.
        prior = tuning.twist * hand.twist[i] + (tuning.posture * hand.posture[i] if targets.linear == 0 else 0.0)
        pinch_damping = 1.0 + tuning.pinch_damping * w.pinch_damping_scale[i]
        w.H[i, i] += tuning.damping * pinch_damping + prior + w.friction[i] + pull
        w.g[i] += prior * w.angle[i] + w.friction[i] * (w.angle[i] - state.angle_rad[i])
        w.g[i] += pull * (w.angle[i] - state.pull_rad[i])
        w.step_lower[i] = max(w.lower[i] - w.angle[i], -tuning.trust_region_rad)
        w.step_upper[i] = min(w.upper[i] - w.angle[i], tuning.trust_region_rad)
    w.H[v, v] = tuning.slack_weight
    rows, min_margin = add_pairs(hand, tuning, state, w, add_tendon_rows(hand, w, 0, v), v)
    if pull == 0.0:
        add_pads(hand, tuning, w, v)
    state.cost = w.cost[0]
    return rows, min_margin


@njit(**OPTIONS)
def _hull_travel(hand, move_rad, travel_m):
    """Fill how far any point of each hull can have gone when every variable has moved by ``move_rad`` or less."""
    for i in range(hand.hulls):
        travel_m[i] = 0.0
        joint = hand.hull_joint[i]
        if joint >= 0:
            for m in range(hand.chain_length[joint]):
                j = hand.chain[joint, m]
                travel_m[i] += hand.hull_lever_m[i, m] * abs(hand.ratio[j]) * move_rad[hand.variable[j]]
