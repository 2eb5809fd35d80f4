"""One frame of a person's hand into the angles of a robot hand, compiled: a sequence of small quadratic programs.

Every round linearises around the present posture and minimises the distance of the key points to their targets, with

- hard bounds: angle limits, speed and acceleration of the motors, limits and speeds of tendons;
- hard rows: no two parts nearer than ``clearance_m``, loosened only by one shared slack that costs dearly;
- pinch: as the person's thumb and finger come together, the surfaces of the robot's are drawn to touch.

The bounds of a frame are a box around the last posture, so a target out of reach moves the hand towards it at the
speed it has and never makes it jump. Everything the next frame starts from is in the record `STATE`.
"""

from __future__ import annotations

import math

from numba import njit

from thenar.retarget.distance import FAR, pair_distance
from thenar.retarget.kinematics import FAST, add_speed, forward, place
from thenar.retarget.quadratic import INFEASIBLE, solve_quadratic
from thenar.retarget.records import ROWS

SIDEWAYS_NEAR_M, SIDEWAYS_FAR_M = 0.002, 0.012
TOUCHING_M = 0.001
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


@njit(cache=True, fastmath=FAST, error_model="numpy", nogil=True)
def find_targets(hands, targets, node_m, out_m):
    """Targets of the key points of many frames in the root frame. Shapes (n, 21, 3) and (n, p, 3)."""
    for n in range(node_m.shape[0]):
        _aim(hands[0], targets[0], node_m[n], out_m[n])


@njit(cache=True, fastmath=FAST, error_model="numpy")
def _aim(hand, targets, node, target):
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
            dx, dy, dz = node[end, 0] - node[start, 0], node[end, 1] - node[start, 1], node[end, 2] - node[start, 2]
            scale = hand.point_length_m[i] / math.sqrt(dx * dx + dy * dy + dz * dz + 1e-18)
            for a in range(3):
                base = hand.knuckle_open_m[f, a] if i == hand.finger_first[f] else target[i - 1, a]
                turn = hand.finger_R[f]
                target[i, a] = base + scale * (turn[a, 0] * dx + turn[a, 1] * dy + turn[a, 2] * dz)


@njit(cache=True, fastmath=FAST, error_model="numpy")
def _smooth(tuning, state, node_m, step_s, node):
    """First-order low pass of the nodes, before any constraint, so that smoothing can break none."""
    share = 1.0
    if tuning.smooth_s > 0.0 and not math.isnan(state.node_m[0, 0]):
        share = 1.0 - math.exp(-step_s / tuning.smooth_s)
    for i in range(21):
        for a in range(3):
            old = state.node_m[i, a]
            new = node_m[i, a] if share == 1.0 else old + share * (node_m[i, a] - old)
            state.node_m[i, a] = new
            node[i, a] = new


@njit(cache=True, fastmath=FAST, error_model="numpy")
def _frame_box(hand, tuning, state, step_s, lower, upper):
    """Angles each variable can have at the end of this frame."""
    for i in range(hand.variables):
        last = state.angle_rad[i]
        fastest = hand.speed_rad_s[i] * tuning.speed_scale
        up, down = fastest, -fastest
        brake = hand.acceleration_rad_s2[i] * tuning.speed_scale
        if brake < 1e9:
            # As fast as still lets it stop before its end, and within what it can change in one step.
            up = min(up, _stoppable(hand.upper_rad[i] - last, brake, step_s))
            down = max(down, -_stoppable(last - hand.lower_rad[i], brake, step_s))
            was = state.velocity_rad_s[i]
            up = max(down, min(up, was + brake * step_s))
            down = min(up, max(down, was - brake * step_s))
        lower[i] = max(hand.lower_rad[i], last + down * step_s)
        upper[i] = min(hand.upper_rad[i], last + up * step_s)


@njit(cache=True, fastmath=FAST, error_model="numpy")
def _stoppable(room_rad, brake, step_s):
    """Largest speed of this step from which the next steps can stop within the room."""
    room = max(room_rad, 0.0)
    return brake * (math.sqrt(2.25 * step_s * step_s + 2.0 * room / brake) - 1.5 * step_s)


@njit(cache=True, fastmath=FAST, error_model="numpy")
def _find_pinches(hand, tuning, node, blend, pull, apart):
    """How much each finger pinches (0 to 1), how hard it is drawn, and how far apart the pads should be."""
    thumb = hand.tip_node[0]
    blend[0] = pull[0] = 0.0
    for f in range(1, hand.fingers):
        tip = hand.tip_node[f]
        dx, dy, dz = node[thumb, 0] - node[tip, 0], node[thumb, 1] - node[tip, 1], node[thumb, 2] - node[tip, 2]
        gap = math.sqrt(dx * dx + dy * dy + dz * dz)
        share = min(1.0, max(0.0, (tuning.pinch_from_m - gap) / (tuning.pinch_from_m - tuning.pinch_full_m)))
        blend[f] = tuning.pinch * share * share * (3.0 - 2.0 * share)
        # Weighted by compliance: the robot's gap then shrinks in proportion, however stiff the last of it is.
        pull[f] = min(tuning.pinch_weight, tuning.pinch_stiffness * blend[f] / max(1e-6, 1.0 - blend[f]))
        apart[f] = max(0.0, gap - tuning.touch_m)


@njit(cache=True, fastmath=FAST, error_model="numpy")
def _calm_pinches(hand, blend, calm):
    """How much each variable takes part in a pinch: a pinch magnifies the person's tremor, so it is damped."""
    for i in range(hand.variables):
        calm[i] = 0.0
    for f in range(1, hand.fingers):
        if blend[f] == 0.0:
            continue
        for end in (0, f):
            joint = hand.pad_joint[end]
            for m in range(hand.chain_length[joint]):
                i = hand.variable[hand.chain[joint, m]]
                calm[i] = max(calm[i], blend[f])


@njit(cache=True, fastmath=FAST, error_model="numpy")
def _clear(row, count):
    for i in range(count):
        row[i] = 0.0


@njit(cache=True, fastmath=FAST, error_model="numpy")
def _add_square(H, g, row, weight, error, v):
    """Add ``weight/2 (row @ x + error)^2`` to the objective."""
    for a in range(v):
        if row[a] != 0.0:
            g[a] += weight * row[a] * error
            for b in range(a + 1):
                H[a, b] += weight * row[a] * row[b]


@njit(cache=True, fastmath=FAST, error_model="numpy")
def _add_points(hand, tuning, targets, w, v):
    """Add the distances of all key points to their targets."""
    for f in range(hand.fingers):
        relative = hand.knuckle_moves[f] == 1 and targets.linear == 0
        knuckle_joint = hand.knuckle_joint[f]
        knuckle = w.knuckle
        place(knuckle_joint, hand.knuckle_m[f], w.pos, w.R, knuckle)
        for i in range(hand.finger_first[f], hand.finger_first[f + 1]):
            kind = hand.point_kind[i]
            weight = tuning.weight_tip if kind == 2 else tuning.weight_last if kind == 1 else tuning.weight_middle
            if weight == 0.0:
                continue
            joint, x = hand.point_joint[i], w.point
            place(joint, hand.point_m[i], w.pos, w.R, x)
            e0, e1, e2 = x[0] - w.target[i, 0], x[1] - w.target[i, 1], x[2] - w.target[i, 2]
            if relative:
                e0 -= knuckle[0] - hand.knuckle_open_m[f, 0]
                e1 -= knuckle[1] - hand.knuckle_open_m[f, 1]
                e2 -= knuckle[2] - hand.knuckle_open_m[f, 2]
            length = hand.chain_length[joint]
            for m in range(length):
                column = hand.variable[hand.chain[joint, m]]
                for a in range(3):
                    w.speed[a, column] = 0.0
            for m in range(length):
                k = hand.chain[joint, m]
                # Seen from a moving knuckle, a joint before it only turns the finger.
                before = relative and m < hand.chain_length[knuckle_joint] - 1
                rx = x[0] - (knuckle[0] if before else w.pos[k, 0])
                ry = x[1] - (knuckle[1] if before else w.pos[k, 1])
                rz = x[2] - (knuckle[2] if before else w.pos[k, 2])
                column, ratio = hand.variable[k], hand.ratio[k]
                w.speed[0, column] += ratio * (w.axis[k, 1] * rz - w.axis[k, 2] * ry)
                w.speed[1, column] += ratio * (w.axis[k, 2] * rx - w.axis[k, 0] * rz)
                w.speed[2, column] += ratio * (w.axis[k, 0] * ry - w.axis[k, 1] * rx)
            for m in range(length):
                a = hand.variable[hand.chain[joint, m]]
                if m > 0 and _met_before(hand, joint, m, a):
                    continue
                j0, j1, j2 = weight * w.speed[0, a], weight * w.speed[1, a], weight * w.speed[2, a]
                w.g[a] += j0 * e0 + j1 * e1 + j2 * e2
                for o in range(m + 1):
                    b = hand.variable[hand.chain[joint, o]]
                    if o > 0 and _met_before(hand, joint, o, b):
                        continue
                    value = j0 * w.speed[0, b] + j1 * w.speed[1, b] + j2 * w.speed[2, b]
                    if a >= b:
                        w.H[a, b] += value
                    else:
                        w.H[b, a] += value


@njit(cache=True, fastmath=FAST, error_model="numpy")
def _met_before(hand, joint, m, variable):
    """True where an earlier joint of the chain follows the same variable."""
    met = False
    for o in range(m):
        if hand.variable[hand.chain[joint, o]] == variable:
            met = True
    return met


@njit(cache=True, fastmath=FAST, error_model="numpy")
def _add_tendon_rows(hand, tuning, state, step_s, w, rows, v):
    """Rows that keep every tendon within its limits and its motor's speed; those that cannot bind are left out."""
    for k in range(hand.tendons):
        a, b = hand.row_variable[k, 0], hand.row_variable[k, 1]
        wa, wb = hand.row_weight[k, 0], hand.row_weight[k, 1]
        now = wa * w.angle[a] + wb * w.angle[b]
        was = wa * state.angle_rad[a] + wb * state.angle_rad[b]
        reach = hand.row_speed_rad_s[k] * tuning.speed_scale * step_s if tuning.tendon_speed == 1.0 else math.inf
        low = max(hand.row_lower_rad[k], was - reach) - now
        high = min(hand.row_upper_rad[k], was + reach) - now
        for sign in (1.0, -1.0):
            need = low if sign > 0.0 else -high
            least = _smallest(sign * wa, w.step_lower[a], w.step_upper[a])
            least += _smallest(sign * wb, w.step_lower[b], w.step_upper[b])
            if least >= need:
                continue
            for j in range(v + 1):
                w.row[rows, j] = 0.0
            w.row[rows, a] = sign * wa
            w.row[rows, b] = sign * wb
            w.least[rows] = min(need, 0.0)
            rows += 1
    return rows


@njit(cache=True, fastmath=FAST, error_model="numpy")
def _smallest(weight, low, high):
    return weight * low if weight > 0.0 else weight * high


@njit(cache=True, fastmath=FAST, error_model="numpy")
def _add_pads(hand, tuning, w, v):
    """Draw the thumb's pad to the front of the finger's pad, as far before it as the person's tips are apart.

    The person's own direction would do, but gloves see a thumb beside or behind the finger it touches.
    """
    any_pinch = False
    for f in range(1, hand.fingers):
        any_pinch = any_pinch or w.blend[f] > 0.0
    if not any_pinch or tuning.pad_weight == 0.0:
        return
    for f in range(hand.fingers):
        place(hand.pad_joint[f], hand.pad_m[f], w.pos, w.R, w.pad[f])
    for f in range(1, hand.fingers):
        if w.blend[f] == 0.0:
            continue
        weight = min(tuning.pad_weight, tuning.pad_stiffness * w.blend[f] / max(1e-6, 1.0 - w.blend[f]))
        # Seen from the finger: turning it moves the thumb's pad in its frame as much as moving the thumb does.
        joint = hand.pad_joint[f]
        front = 0.0
        for c in range(3):
            for a in range(3):
                front += hand.pad_normal[f, c] * w.R[joint, a, c] * (w.pad[0, a] - w.pad[f, a])
        if front < 0.0:
            # The thumb is behind the pad it should meet: come round before the tips touch.
            weight *= tuning.come_round
        for c in range(3):
            _clear(w.dense, v)
            error = -w.apart[f] * hand.pad_normal[f, c]
            for a in range(3):
                w.normal[a] = w.R[joint, a, c]
                error += w.normal[a] * (w.pad[0, a] - w.pad[f, a])
            add_speed(hand, hand.pad_joint[0], w.pad[0], w.normal, 1.0, w.pos, w.axis, w.dense)
            add_speed(hand, joint, w.pad[0], w.normal, -1.0, w.pos, w.axis, w.dense)
            _add_square(w.H, w.g, w.dense, weight, error, v)


@njit(cache=True, fastmath=FAST, error_model="numpy")
def _add_slide(hand, tuning, w, a, b, weight, v):
    """Hold still sideways where a pinch touches: stands for the curvature of the contact that linearising drops."""
    for i in range(3):
        _clear(w.speed[i], v)
        _clear(w.point, 3)
        w.point[i] = 1.0
        add_speed(hand, hand.core_joint[a], w.on_a, w.point, 1.0, w.pos, w.axis, w.speed[i])
        add_speed(hand, hand.core_joint[b], w.on_b, w.point, -1.0, w.pos, w.axis, w.speed[i])
    for i in range(v):
        s0, s1, s2 = weight * w.speed[0, i], weight * w.speed[1, i], weight * w.speed[2, i]
        if s0 != 0.0 or s1 != 0.0 or s2 != 0.0:
            for j in range(i + 1):
                w.H[i, j] += s0 * w.speed[0, j] + s1 * w.speed[1, j] + s2 * w.speed[2, j]


@njit(cache=True, fastmath=FAST, error_model="numpy")
def _add_pairs(hand, tuning, state, w, rows, v):
    """Pull pinching tips together and add a row for every pair of parts that could meet in this step.

    Returns the number of rows and the smallest room left between parts.
    """
    tightest = 1.0
    for k in range(hand.pairs):
        f = hand.pair_finger[k]
        a, b = hand.pair[k, 0], hand.pair[k, 1]
        pinching = f > 0 and w.pull[f] > 0.0
        if not pinching:
            if tuning.contact == 0.0:
                continue
            look = min(tuning.look_m, tuning.clearance_m + 1.12 * (w.reach[a] + w.reach[b]) + 0.0005)
            # What is known from before shrinks by what both parts have moved since.
            state.apart_m[k] -= w.moved[a] + w.moved[b]
            if state.apart_m[k] > look:
                continue
            square = 0.0
            for i in range(3):
                square += (w.centre[a, i] - w.centre[b, i]) ** 2
            bound = hand.core_bound_m[a] + hand.core_bound_m[b]
            if square > (bound + look) * (bound + look):
                state.apart_m[k] = math.sqrt(square) - bound
                continue
        else:
            look = 0.5 * FAR
        d = pair_distance(hand, k, look, state.between[k], w)
        if d >= 0.5 * FAR:
            state.apart_m[k] = d - FAR
            continue
        state.apart_m[k] = d
        if d > look:
            continue
        _clear(w.dense, v)
        add_speed(hand, hand.core_joint[a], w.on_a, w.normal, 1.0, w.pos, w.axis, w.dense)
        add_speed(hand, hand.core_joint[b], w.on_b, w.normal, -1.0, w.pos, w.axis, w.dense)
        if pinching:
            near = (SIDEWAYS_FAR_M - d) / (SIDEWAYS_FAR_M - SIDEWAYS_NEAR_M)
            weight = tuning.slide_weight * w.blend[f] * min(1.0, max(0.0, near))
            if weight > 0.0:
                _add_slide(hand, tuning, w, a, b, weight, v)
            _add_square(w.H, w.g, w.dense, w.pull[f], d - tuning.pinch_gap_m, v)
        if d > tuning.look_m or tuning.contact == 0.0:
            continue
        room = d - tuning.clearance_m * (1.0 - w.blend[f])  # a full pinch may touch
        tightest = min(tightest, room)
        # The most this step could close the gap by; a row that cannot bind is left out.
        closing = 0.0
        for i in range(v):
            closing -= _smallest(w.dense[i], w.step_lower[i], w.step_upper[i])
        if tuning.approach * room > closing or rows >= ROWS:
            continue
        for i in range(v):
            w.row[rows, i] = w.dense[i]
        w.row[rows, v] = 1.0
        w.least[rows] = -tuning.approach * room if room > 0.0 else -room
        if not pinching and room < TOUCHING_M and tuning.touch_slide > 0.0:
            _add_slide(hand, tuning, w, a, b, tuning.touch_slide * (1.0 - max(room, 0.0) / TOUCHING_M), v)
        rows += 1
    return rows, tightest


@njit(cache=True, fastmath=FAST, error_model="numpy")
def _solve_frame(hand, tuning, targets, state, w, node_m, step_s):
    """Move ``state`` on by one frame."""
    v = hand.variables
    parts = hand.parts
    _smooth(tuning, state, node_m, step_s, w.node)
    _aim(hand, targets, w.node, w.target)
    _find_pinches(hand, tuning, w.node, w.blend, w.pull, w.apart)
    _calm_pinches(hand, w.blend, w.calm)
    _frame_box(hand, tuning, state, step_s, w.lower, w.upper)
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
        _add_points(hand, tuning, targets, w, v)
        for i in range(v):
            # A linear map says where a knuckle is; directions do not.
            prior = tuning.twist * hand.twist[i] + (tuning.posture * hand.posture[i] if targets.linear == 0 else 0.0)
            w.H[i, i] += tuning.damping * state.restless[i] * (1.0 + tuning.pinch_damping * w.calm[i]) + prior
            w.g[i] += prior * w.angle[i]
            w.step_lower[i] = max(w.lower[i] - w.angle[i], -tuning.trust_rad)
            w.step_upper[i] = min(w.upper[i] - w.angle[i], tuning.trust_rad)
        w.H[v, v] = tuning.slack_weight
        _add_pads(hand, tuning, w, v)
        rows = _add_tendon_rows(hand, tuning, state, step_s, w, 0, v)
        rows, tightest = _add_pairs(hand, tuning, state, w, rows, v)
        for i in range(parts):
            w.moved[i] = 0.0
        # Two more rounds where parts came nearer than the linear picture promised.
        if rounds >= tuning.rounds and (tightest > -0.0005 or rounds >= tuning.rounds + 2):
            break
        if solve_quadratic(v + 1, v, rows, w) == INFEASIBLE:
            break
        rounds += 1
        largest = _take_step(hand, w, v)
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


@njit(cache=True, fastmath=FAST, error_model="numpy")
def _take_step(hand, w, v):
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
