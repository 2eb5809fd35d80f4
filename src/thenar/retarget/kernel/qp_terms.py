"""Terms of one iteration's quadratic program, compiled: key points, pinches, and hulls that must not meet.

The objective is ``x'Hx/2 + g'x`` over the step of every variable and one shared slack.
"""

from __future__ import annotations

import math

from numba import njit

from thenar.retarget.kernel.bounds import min_product
from thenar.retarget.kernel.distance import FAR, pair_distance
from thenar.retarget.kernel.kinematics import OPTIONS, add_jacobian, cross, dot, minus, transform_point
from thenar.retarget.kernel.solver_memory import ROWS

SIDEWAYS_NEAR_M, SIDEWAYS_FAR_M = 0.002, 0.012
TOUCHING_M = 0.001
CLOSED_M = 0.003


@njit(**OPTIONS)
def add_points(hand, tuning, targets, w):
    """Add the distances of all key points to their targets."""
    for f in range(hand.fingers):
        relative = hand.knuckle_moves[f] == 1 and targets.linear == 0
        knuckle_joint = hand.knuckle_joint[f]
        knuckle = w.knuckle
        transform_point(knuckle_joint, hand.knuckle_m[f], w.pos, w.R, knuckle)
        for i in range(hand.finger_first[f], hand.finger_first[f + 1]):
            kind = hand.point_kind[i]
            weight = tuning.weight_tip if kind == 2 else tuning.weight_last if kind == 1 else tuning.weight_middle
            if weight == 0.0:
                continue
            joint, x = hand.point_joint[i], w.point
            transform_point(joint, hand.point_m[i], w.pos, w.R, x)
            error = minus(x, w.target[i])
            if relative:
                error = minus(error, minus(knuckle, hand.knuckle_open_m[f]))
            w.cost[0] += 0.5 * weight * dot(error, error)
            length = hand.chain_length[joint]
            for m in range(length):
                column = hand.variable[hand.chain[joint, m]]
                for a in range(3):
                    w.jac[a, column] = 0.0
            for m in range(length):
                k = hand.chain[joint, m]
                # Seen from a moving knuckle, a joint before it only turns the finger.
                before = relative and m < hand.chain_length[knuckle_joint] - 1
                lever = minus(x, knuckle) if before else minus(x, w.pos[k])
                moved = cross(w.axis[k], lever)
                for a in range(3):
                    w.jac[a, hand.variable[k]] += hand.ratio[k] * moved[a]
            for m in range(length):
                a = hand.variable[hand.chain[joint, m]]
                if m > 0 and _met_before(hand, joint, m, a):
                    continue
                j0, j1, j2 = weight * w.jac[0, a], weight * w.jac[1, a], weight * w.jac[2, a]
                w.g[a] += j0 * error[0] + j1 * error[1] + j2 * error[2]
                for o in range(m + 1):
                    b = hand.variable[hand.chain[joint, o]]
                    if o > 0 and _met_before(hand, joint, o, b):
                        continue
                    value = j0 * w.jac[0, b] + j1 * w.jac[1, b] + j2 * w.jac[2, b]
                    if a >= b:
                        w.H[a, b] += value
                    else:
                        w.H[b, a] += value


@njit(**OPTIONS)
def add_bends(hand, tuning, w, v):
    """Stretch fingers that are far more bent than the person's, wherever their tips are drawn.

    The tip of a curled finger whose target is stretched, or bent back, is drawn to curl on, by the shorter way, and
    stays there. A finger that follows closely is not touched by this.
    """
    for f in range(1, hand.fingers):
        before, before_joint = w.knuckle, hand.knuckle_joint[f]
        transform_point(before_joint, hand.knuckle_m[f], w.pos, w.R, before)
        wanted_bone = minus(w.target[hand.finger_first[f]], hand.knuckle_open_m[f])
        for i in range(hand.finger_first[f], hand.finger_first[f + 1] - 1):
            joint, tip_joint = hand.point_joint[i], hand.point_joint[i + 1]
            transform_point(joint, hand.point_m[i], w.pos, w.R, w.on_a)
            transform_point(tip_joint, hand.point_m[i + 1], w.pos, w.R, w.on_b)
            bone, tip_bone = minus(w.on_a, before), minus(w.on_b, w.on_a)
            wanted_tip_bone = minus(w.target[i + 1], w.target[i])
            turn, straight = cross(bone, tip_bone), _cosine(wanted_bone, wanted_tip_bone)
            sine = math.sqrt(dot(turn, turn))
            axis = (turn[0] / (sine + 1e-18), turn[1] / (sine + 1e-18), turn[2] / (sine + 1e-18))
            wanted_sine = max(0.0, dot(axis, cross(wanted_bone, wanted_tip_bone)))  # bent back counts as straight
            excess = math.atan2(sine, dot(bone, tip_bone)) - tuning.bend_free_rad
            excess -= math.atan2(wanted_sine, dot(wanted_bone, wanted_tip_bone))
            if excess > 0.0 and straight > 0.0:
                # A pinch bends a finger as it must, and a person's finger beyond a right angle is not stretched.
                weight = tuning.bend_weight * (1.0 - w.blend[f]) * straight
                _clear(w.jac_row, v)
                along = _turned_by(axis, bone)
                add_jacobian(hand, joint, w.on_a, along, -1.0, w.pos, w.axis, w.jac_row)
                add_jacobian(hand, before_joint, before, along, 1.0, w.pos, w.axis, w.jac_row)
                along = _turned_by(axis, tip_bone)
                add_jacobian(hand, tip_joint, w.on_b, along, 1.0, w.pos, w.axis, w.jac_row)
                add_jacobian(hand, joint, w.on_a, along, -1.0, w.pos, w.axis, w.jac_row)
                w.cost[0] += 0.5 * weight * excess * excess
                _add_square(w.H, w.g, w.jac_row, weight, excess, v)
            before_joint, wanted_bone = joint, wanted_tip_bone
            for a in range(3):
                before[a] = w.on_a[a]


@njit(**OPTIONS)
def _cosine(a, b):
    """Cosine of the angle of two vectors."""
    return dot(a, b) / math.sqrt(dot(a, a) * dot(b, b) + 1e-36)


@njit(**OPTIONS)
def _turned_by(axis, bone):
    """How fast the end of a bone goes for it to turn about an axis by an angle: its scalar product with that is 1."""
    moved, square = cross(axis, bone), dot(bone, bone) + 1e-18
    return moved[0] / square, moved[1] / square, moved[2] / square


@njit(**OPTIONS)
def _met_before(hand, joint, m, variable):
    """True where an earlier joint of the chain follows the same variable."""
    met = False
    for o in range(m):
        if hand.variable[hand.chain[joint, o]] == variable:
            met = True
    return met


@njit(**OPTIONS)
def add_pairs(hand, tuning, state, w, rows, v):
    """Pull pinching tips together and add a row for every pair of hulls that could meet in this step.

    Returns the number of rows and the smallest distance of hulls beyond their clearance.
    """
    min_margin = 1.0
    for k in range(hand.pairs):
        f = hand.pair_finger[k]
        a, b = hand.pair[k, 0], hand.pair[k, 1]
        pinching = f > 0 and w.pinch_weight[f] > 0.0
        if not pinching:
            if tuning.contact == 0.0:
                continue
            detection = min(tuning.detection_m, tuning.clearance_m + 1.12 * (w.reach[a] + w.reach[b]) + 0.0005)
            # What is known from before shrinks by what both hulls have moved since.
            state.min_distance_m[k] -= w.moved[a] + w.moved[b]
            if state.min_distance_m[k] > detection:
                continue
            square = 0.0
            for i in range(3):
                square += (w.centre[a, i] - w.centre[b, i]) ** 2
            bound = hand.hull_bound_m[a] + hand.hull_bound_m[b]
            if square > (bound + detection) * (bound + detection):
                state.min_distance_m[k] = math.sqrt(square) - bound
                continue
        else:
            detection = 0.5 * FAR
        d = pair_distance(hand, k, detection, state.separation[k], w)
        if d >= 0.5 * FAR:
            state.min_distance_m[k] = d - FAR
            continue
        state.min_distance_m[k] = d
        if d > detection:
            continue
        _clear(w.jac_row, v)
        add_jacobian(hand, hand.hull_joint[a], w.on_a, w.normal, 1.0, w.pos, w.axis, w.jac_row)
        add_jacobian(hand, hand.hull_joint[b], w.on_b, w.normal, -1.0, w.pos, w.axis, w.jac_row)
        if pinching:
            near = min(1.0, max(0.0, (SIDEWAYS_FAR_M - d) / (SIDEWAYS_FAR_M - SIDEWAYS_NEAR_M)))
            w.closure[f] = min(1.0, max(0.0, (CLOSED_M - d) / (CLOSED_M - TOUCHING_M)))
            weight = hand.pinch_gain[f] * tuning.slide_weight * w.blend[f] * near
            if weight > 0.0:
                _add_slide(hand, w, a, b, weight, v)
            w.cost[0] += 0.5 * w.pinch_weight[f] * (d - tuning.pinch_gap_m) ** 2
            _add_square(w.H, w.g, w.jac_row, w.pinch_weight[f], d - tuning.pinch_gap_m, v)
        if d > tuning.detection_m or tuning.contact == 0.0:
            continue
        margin = d - tuning.clearance_m * (1.0 - w.blend[f])  # a full pinch may touch
        min_margin = min(min_margin, margin)
        # The most this step could close the gap by; a row that cannot bind is left out.
        closing = 0.0
        for i in range(v):
            closing -= min_product(w.jac_row[i], w.step_lower[i], w.step_upper[i])
        if tuning.collision_gain * margin > closing or rows >= ROWS:
            continue
        for i in range(v):
            w.row[rows, i] = w.jac_row[i]
        w.row[rows, v] = 1.0
        w.row_lower[rows] = -tuning.collision_gain * margin if margin > 0.0 else -margin
        if not pinching and margin < TOUCHING_M and tuning.touch_slide > 0.0:
            _add_slide(hand, w, a, b, tuning.touch_slide * (1.0 - max(margin, 0.0) / TOUCHING_M), v)
        rows += 1
    return rows, min_margin


@njit(**OPTIONS)
def add_pads(hand, tuning, w, v):
    """Draw the thumb's pad to the front of the finger's pad, as far before it as the person's tips are apart.

    The person's own direction would do, but gloves see a thumb beside or behind the finger it touches. Tips that do not
    touch yet are drawn weakly, because touching comes first.
    """
    for f in range(hand.fingers):
        transform_point(hand.pad_joint[f], hand.pad_m[f], w.pos, w.R, w.pad[f])
    for f in range(1, hand.fingers):
        if w.blend[f] == 0.0 or tuning.pad_weight == 0.0:
            continue
        weight = min(tuning.pad_weight, tuning.pad_stiffness * w.blend[f] / max(1e-6, 1.0 - w.blend[f]))
        weight *= 1.0 + tuning.pad_closed * w.closure[f]
        # Seen from the finger: turning it moves the thumb's pad in its frame as much as moving the thumb does.
        joint = hand.pad_joint[f]
        front = 0.0
        for c in range(3):
            for a in range(3):
                front += hand.pad_normal[f, c] * w.R[joint, a, c] * (w.pad[0, a] - w.pad[f, a])
        if front < 0.0:
            # The thumb is behind the pad it should meet: it comes round before the tips touch.
            weight *= tuning.approach_gain
        for c in range(3):
            _clear(w.jac_row, v)
            error = -w.pad_gap[f] * hand.pad_normal[f, c]
            for a in range(3):
                w.normal[a] = w.R[joint, a, c]
                error += w.normal[a] * (w.pad[0, a] - w.pad[f, a])
            w.cost[0] += 0.5 * weight * error * error
            add_jacobian(hand, hand.pad_joint[0], w.pad[0], w.normal, 1.0, w.pos, w.axis, w.jac_row)
            add_jacobian(hand, joint, w.pad[0], w.normal, -1.0, w.pos, w.axis, w.jac_row)
            _add_square(w.H, w.g, w.jac_row, weight, error, v)


@njit(**OPTIONS)
def _add_slide(hand, w, a, b, weight, v):
    """Hold still sideways where a pinch touches: stands for the curvature of the contact that linearising drops."""
    for i in range(3):
        _clear(w.jac[i], v)
        _clear(w.point, 3)
        w.point[i] = 1.0
        add_jacobian(hand, hand.hull_joint[a], w.on_a, w.point, 1.0, w.pos, w.axis, w.jac[i])
        add_jacobian(hand, hand.hull_joint[b], w.on_b, w.point, -1.0, w.pos, w.axis, w.jac[i])
    for i in range(v):
        s0, s1, s2 = weight * w.jac[0, i], weight * w.jac[1, i], weight * w.jac[2, i]
        if s0 != 0.0 or s1 != 0.0 or s2 != 0.0:
            for j in range(i + 1):
                w.H[i, j] += s0 * w.jac[0, j] + s1 * w.jac[1, j] + s2 * w.jac[2, j]


@njit(**OPTIONS)
def _add_square(H, g, row, weight, error, v):
    """Add ``weight/2 (row @ x + error)^2`` to the objective."""
    for a in range(v):
        if row[a] != 0.0:
            g[a] += weight * row[a] * error
            for b in range(a + 1):
                H[a, b] += weight * row[a] * row[b]


@njit(**OPTIONS)
def _clear(row, count):
    for i in range(count):
        row[i] = 0.0
