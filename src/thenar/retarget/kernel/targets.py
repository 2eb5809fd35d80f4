"""Targets of a robot hand's key points and its pinches from a person's hand, compiled.

Nodes are smoothed first, before any constraint, so that smoothing can break none.
"""

from __future__ import annotations

import math

from numba import njit

from thenar.retarget.kernel.kinematics import OPTIONS, dot, forward_kinematics, minus, transform_point

NODE_SPEED_S = 0.02  # a glove's noise is faster than this
SLOW_S = 0.03
USUAL_FINGER_M = 0.0794  # mean length of four fingers; distances of a pinch are a share of it
BEHIND_M = 0.005


@njit(**OPTIONS)
def targets_of_frames(hands, targets, node_m, out_m):
    """Targets of the key points of many frames in the root frame. Shapes (n, 21, 3) and (n, p, 3)."""
    for n in range(node_m.shape[0]):
        frame_targets(hands[0], targets[0], node_m[n], out_m[n])


@njit(**OPTIONS)
def frame_targets(hand, targets, node, target):
    """Targets of one frame: segment by segment from the knuckle of the open hand, or by the linear map."""
    for f in range(hand.fingers):
        for i in range(hand.finger_first[f], hand.finger_first[f + 1]):
            start, end = hand.point_node[i, 0], hand.point_node[i, 1]
            if targets.linear == 1:
                for a in range(3):
                    target[i, a] = targets.shift_m[f, a]
                    for b in range(3):
                        target[i, a] += targets.matrix[f, a, b] * node[end, b]
                continue
            bone = minus(node[end], node[start])
            scale = hand.point_length_m[i] / math.sqrt(dot(bone, bone) + 1e-18)
            for a in range(3):
                base = hand.knuckle_open_m[f, a] if i == hand.finger_first[f] else target[i - 1, a]
                target[i, a] = base + scale * dot(hand.finger_R[f, a], bone)


@njit(**OPTIONS)
def filter_nodes(tuning, state, node_m, step_s):
    """Take in a frame: a first-order low pass of the nodes, and how fast they move."""
    first = math.isnan(state.node_m[0, 0])
    share = 1.0 if first or tuning.smooth_s == 0.0 else 1.0 - math.exp(-step_s / tuning.smooth_s)
    speed_share = 0.0 if first else 1.0 - math.exp(-step_s / NODE_SPEED_S)
    slow_share = 1.0 if first else 1.0 - math.exp(-step_s / SLOW_S)
    for i in range(21):
        for a in range(3):
            old = state.node_m[i, a]
            new = node_m[i, a] if share == 1.0 else old + share * (node_m[i, a] - old)
            state.node_m[i, a] = new
            state.slow_node_m[i, a] += slow_share * (new - state.slow_node_m[i, a])
            if not first:
                state.node_m_s[i, a] += speed_share * ((new - old) / step_s - state.node_m_s[i, a])


@njit(**OPTIONS)
def predict_targets(hand, tuning, targets, state, w):
    """Fill the targets of this frame; those that are coming back are met on their way.

    A finger whose motors are too slow for the person is behind. Where its target is already on its way back, running
    after it is lost time: the finger goes to where the two can meet. A finger that keeps up is not touched by this.
    """
    frame_targets(hand, targets, state.node_m, w.target)
    if tuning.prediction_s == 0.0:
        return
    for i in range(21):
        for a in range(3):
            w.node[i, a] = state.node_m[i, a] + tuning.prediction_s * state.node_m_s[i, a]
    frame_targets(hand, targets, w.node, w.predicted)
    forward_kinematics(hand, state.angle_rad, w.pos, w.R, w.axis)
    for f in range(hand.fingers):
        tip = hand.finger_first[f + 1] - 1
        behind_m = math.sqrt(tip_error(hand, targets, f, w, w.point)) - BEHIND_M
        coming = 0.0
        for a in range(3):
            coming += w.point[a] * (w.predicted[tip, a] - w.target[tip, a])
        if coming <= 0.0 or behind_m <= 0.0:
            continue
        share = min(1.0, behind_m / (hand.tip_speed_m_s[f] * tuning.speed_scale * tuning.prediction_s))
        for i in range(hand.finger_first[f], hand.finger_first[f + 1]):
            for a in range(3):
                w.target[i, a] += share * (w.predicted[i, a] - w.target[i, a])


@njit(**OPTIONS)
def tip_error(hand, targets, f, w, error_m):
    """Fill how far a fingertip is from its target, from a moving knuckle where the target is; the square of it."""
    tip = hand.finger_first[f + 1] - 1
    transform_point(hand.point_joint[tip], hand.point_m[tip], w.pos, w.R, error_m)
    transform_point(hand.knuckle_joint[f], hand.knuckle_m[f], w.pos, w.R, w.knuckle)
    square = 0.0
    for a in range(3):
        error_m[a] -= w.target[tip, a]
        if hand.knuckle_moves[f] == 1 and targets.linear == 0:
            error_m[a] -= w.knuckle[a] - hand.knuckle_open_m[f, a]
        square += error_m[a] * error_m[a]
    return square


@njit(**OPTIONS)
def finger_length_m(node):
    """Mean length of the four fingers of a person, bone by bone."""
    total = 0.0
    for first in (5, 9, 13, 17):
        for i in range(first, first + 3):
            bone = minus(node[i + 1], node[i])
            total += math.sqrt(dot(bone, bone))
    return total / 4.0


@njit(**OPTIONS)
def blend_pinches(hand, tuning, node, w):
    """Fill how much each finger pinches (0 to 1), its weight, the gap of its pad, and which variables take part."""
    thumb = hand.tip_node[0]
    per_size = USUAL_FINGER_M / max(finger_length_m(node), 1e-3)  # a child pinches nearer than a giant
    for i in range(hand.variables):
        w.pinch_damping_scale[i] = 0.0
    w.blend[0] = w.pinch_weight[0] = 0.0
    for f in range(1, hand.fingers):
        w.blend[f] = w.pinch_weight[f] = 0.0
        if hand.pinch_gain[f] == 0.0:
            continue
        between = minus(node[thumb], node[hand.tip_node[f]])
        gap = per_size * math.sqrt(dot(between, between))
        zone = tuning.pinch_zone * (hand.pinch_from_m[f] - tuning.pinch_full_m)
        zone = tuning.pinch_from_m - tuning.pinch_full_m if tuning.pinch_from_m > 0.0 else zone
        share = min(1.0, max(0.0, (tuning.pinch_full_m + zone - gap) / zone))
        blend = tuning.pinch * share * share * (3.0 - 2.0 * share)
        w.blend[f] = blend
        # Weighted by compliance: the robot's gap then shrinks in proportion, however stiff the last of it is.
        weight = min(tuning.pinch_weight, tuning.pinch_stiffness * blend / max(1e-6, 1.0 - blend))
        w.pinch_weight[f] = hand.pinch_gain[f] * weight
        w.pad_gap[f] = max(0.0, gap - tuning.touch_m)
        if blend > 0.0:
            for end in (0, f):
                joint = hand.pad_joint[end]
                for m in range(hand.chain_length[joint]):
                    i = hand.variable[hand.chain[joint, m]]
                    w.pinch_damping_scale[i] = max(w.pinch_damping_scale[i], blend)
