"""Distance of rounded collision hulls, compiled: capsules in closed form, everything else by GJK.

The distance of two rounded hulls is that of the bare ones less both radii. Once the bare ones overlap, deeper than the
radii together, only the direction between their centres is left to push them apart.
"""

from __future__ import annotations

import math

from numba import njit

from thenar.retarget.kernel.kinematics import OPTIONS, cross, dot, forward_kinematics, minus, transform_point

FAR = 1.0
"""Answers from here on mean: at least ``answer - FAR`` away, no need to know more."""
MAX_GJK_ITERATIONS = 24


@njit(**OPTIONS)
def nearest_on_segments(a, a_end, b, b_end, on_a, on_b):
    """Nearest points of two segments; their middles where they run side by side."""
    d, e, r = minus(a_end, a), minus(b_end, b), minus(a, b)
    dd, ee, de, dr, er = dot(d, d), dot(e, e), dot(d, e), dot(d, r), dot(e, r)
    s, t = 0.0, 0.0
    if dd <= 1e-14:
        if ee > 1e-14:
            t = _clip(er / ee)
    elif ee <= 1e-14:
        s = _clip(-dr / dd)
    else:
        skew = dd * ee - de * de
        s = _clip((de * er - dr * ee) / skew) if skew > 1e-9 * dd * ee else 0.5
        t = (de * s + er) / ee
        if t < 0.0:
            t, s = 0.0, _clip(-dr / dd)
        elif t > 1.0:
            t, s = 1.0, _clip((de - dr) / dd)
    for i in range(3):
        on_a[i], on_b[i] = a[i] + s * d[i], b[i] + t * e[i]


@njit(**OPTIONS)
def _clip(share):
    return min(1.0, max(0.0, share))


@njit(**OPTIONS)
def triangle_weights(a, b, c):
    """Barycentric weights of the point of a triangle nearest to the origin."""
    ab, ac = minus(b, a), minus(c, a)
    d1, d2, d3, d4, d5, d6 = -dot(ab, a), -dot(ac, a), -dot(ab, b), -dot(ac, b), -dot(ab, c), -dot(ac, c)
    if d1 <= 0.0 and d2 <= 0.0:
        return 1.0, 0.0, 0.0
    if d3 >= 0.0 and d4 <= d3:
        return 0.0, 1.0, 0.0
    if d6 >= 0.0 and d5 <= d6:
        return 0.0, 0.0, 1.0
    vc = d1 * d4 - d3 * d2
    if vc <= 0.0 and d1 >= 0.0 and d3 <= 0.0:
        share = d1 / (d1 - d3)
        return 1.0 - share, share, 0.0
    vb = d5 * d2 - d1 * d6
    if vb <= 0.0 and d2 >= 0.0 and d6 <= 0.0:
        share = d2 / (d2 - d6)
        return 1.0 - share, 0.0, share
    va = d3 * d6 - d5 * d4
    if va <= 0.0 and d4 - d3 >= 0.0 and d5 - d6 >= 0.0:
        share = (d4 - d3) / ((d4 - d3) + (d5 - d6))
        return 0.0, 1.0 - share, share
    whole = va + vb + vc
    if whole <= 1e-30:
        return 1.0, 0.0, 0.0
    return 1.0 - vb / whole - vc / whole, vb / whole, vc / whole


@njit(**OPTIONS)
def tetrahedron_weights(corner):
    """The same for a tetrahedron; all 0 when the origin is inside."""
    best = 1e30
    weights = (0.0, 0.0, 0.0, 0.0)
    for left_out in range(4):
        i = 1 if left_out == 0 else 0
        j = 1 if left_out > 1 else 2
        k = 2 if left_out == 3 else 3
        normal = cross(minus(corner[j], corner[i]), minus(corner[k], corner[i]))
        if dot(normal, minus(corner[left_out], corner[i])) * -dot(normal, corner[i]) > 0.0:
            continue  # the origin is on the inner side of this face
        p, q, r = triangle_weights(corner[i], corner[j], corner[k])
        square = 0.0
        for a in range(3):
            square += (p * corner[i, a] + q * corner[j, a] + r * corner[k, a]) ** 2
        if square < best:
            best = square
            if left_out == 0:
                weights = (0.0, p, q, r)
            elif left_out == 1:
                weights = (p, 0.0, q, r)
            elif left_out == 2:
                weights = (p, q, 0.0, r)
            else:
                weights = (p, q, r, 0.0)
    return weights


@njit(**OPTIONS)
def _support(vertex, first, count, direction, sign):
    """Largest ``sign * direction @ vertex`` of a hull, and which vertex has it."""
    high, at = -1e30, first
    for i in range(first, first + count):
        along = sign * dot(vertex[i], direction)
        if along > high:
            high, at = along, i
    return high, at


@njit(**OPTIONS)
def gjk_distance(a_first, a_count, b_first, b_count, far, separation, w):
    """Distance of two hulls by GJK, 0 when they overlap, ``FAR`` plus a lower bound when it exceeds ``far``.

    ``separation`` holds a guess of the vector from b to a, such as the last frame's, and then the answer.
    """
    vertex, corner, share, corner_a, corner_b = w.vertex, w.corner, w.share, w.corner_a, w.corner_b
    count = 0
    square = dot(separation, separation)
    for _ in range(MAX_GJK_ITERATIONS):
        low, at_a = _support(vertex, a_first, a_count, separation, -1.0)
        high, at_b = _support(vertex, b_first, b_count, separation, 1.0)
        gap = -low - high
        if gap > 0.0 and gap * gap > far * far * square:
            return FAR + gap / math.sqrt(square)
        if count > 0:
            if square - gap <= 1e-5 * square + 1e-13:
                break
            again = False
            for k in range(count):
                if corner_a[k] == at_a and corner_b[k] == at_b:
                    again = True
            if again:
                break
        corner_a[count], corner_b[count] = at_a, at_b
        for a in range(3):
            corner[count, a] = vertex[at_a, a] - vertex[at_b, a]
        count += 1
        if count == 1:
            share[0] = 1.0
        elif count == 2:
            edge = minus(corner[1], corner[0])
            share[1] = _clip(-dot(corner[0], edge) / (dot(edge, edge) + 1e-30))
            share[0] = 1.0 - share[1]
        elif count == 3:
            share[0], share[1], share[2] = triangle_weights(corner[0], corner[1], corner[2])
        else:
            share[0], share[1], share[2], share[3] = tetrahedron_weights(corner)
            if share[0] + share[1] + share[2] + share[3] == 0.0:
                return 0.0
        kept = 0
        for k in range(count):
            if share[k] > 1e-14:
                share[kept], corner_a[kept], corner_b[kept] = share[k], corner_a[k], corner_b[k]
                for a in range(3):
                    corner[kept, a] = corner[k, a]
                kept += 1
        count = kept
        square = 0.0
        for a in range(3):
            x = 0.0
            for k in range(count):
                x += share[k] * corner[k, a]
            separation[a] = x
            square += x * x
        if square < 1e-14:
            return 0.0
    for a in range(3):
        x, y = 0.0, 0.0
        for k in range(count):
            x += share[k] * vertex[corner_a[k], a]
            y += share[k] * vertex[corner_b[k], a]
        w.on_a[a], w.on_b[a] = x, y
    return math.sqrt(square)


@njit(**OPTIONS)
def place_hulls(hand, w):
    """Fill the centres of all hulls; their vertices follow where a distance is asked for."""
    for i in range(hand.hulls):
        transform_point(hand.hull_joint[i], hand.hull_centre_m[i], w.pos, w.R, w.centre[i])
        w.placed[i] = 0


@njit(**OPTIONS)
def pair_distance(hand, pair, far, separation, w):
    """Signed distance of a pair of hulls; fills their nearest points and the normal from the second to the first.

    ``separation`` is the last vector from b to a, all 0 where there is none. ``FAR`` or more means at least that less
    ``FAR``; points and normal are then not filled.
    """
    vertex, centre, on_a, on_b, normal = w.vertex, w.centre, w.on_a, w.on_b, w.normal
    a, b = hand.pair[pair, 0], hand.pair[pair, 1]
    for hull in (a, b):
        if w.placed[hull] == 0:
            for k in range(hand.hull_first[hull], hand.hull_first[hull] + hand.hull_count[hull]):
                transform_point(hand.hull_joint[hull], hand.vertex_m[k], w.pos, w.R, vertex[k])
            w.placed[hull] = 1
    radii = hand.hull_radius_m[a] + hand.hull_radius_m[b]
    a0, b0 = hand.hull_first[a], hand.hull_first[b]
    na, nb = hand.hull_count[a], hand.hull_count[b]
    if na <= 2 and nb <= 2:
        nearest_on_segments(vertex[a0], vertex[a0 + na - 1], vertex[b0], vertex[b0 + nb - 1], on_a, on_b)
        for i in range(3):
            separation[i] = on_a[i] - on_b[i]
        distance = math.sqrt(dot(separation, separation))
    else:
        if separation[0] == 0.0 and separation[1] == 0.0 and separation[2] == 0.0:
            for i in range(3):
                separation[i] = centre[a, i] - centre[b, i]
        distance = gjk_distance(a0, na, b0, nb, far + radii, separation, w)
        if distance >= FAR:
            return distance - radii
        if distance == 0.0:
            for i in range(3):
                separation[i] = centre[a, i] - centre[b, i]
                on_a[i], on_b[i] = centre[a, i], centre[b, i]
    length = math.sqrt(dot(separation, separation)) + 1e-12
    for i in range(3):
        normal[i] = separation[i] / length
        on_a[i] -= normal[i] * hand.hull_radius_m[a]
        on_b[i] += normal[i] * hand.hull_radius_m[b]
    return distance - radii


@njit(**OPTIONS)
def nearest_approaches(hands, works, postures, enough_m, nearest_m):
    """Lower ``nearest_m`` to the smallest distance of each pair over all postures, as far down as ``enough_m``."""
    hand, w = hands[0], works[0]
    for n in range(postures.shape[0]):
        forward_kinematics(hand, postures[n], w.pos, w.R, w.axis)
        place_hulls(hand, w)
        for k in range(hand.pairs):
            if nearest_m[k] < enough_m:
                continue
            a, b = hand.pair[k, 0], hand.pair[k, 1]
            bound = hand.hull_bound_m[a] + hand.hull_bound_m[b] + nearest_m[k]
            square = 0.0
            for i in range(3):
                square += (w.centre[a, i] - w.centre[b, i]) ** 2
                w.point[i] = 0.0
            if square > bound * bound:
                continue
            distance = pair_distance(hand, k, nearest_m[k], w.point, w)
            if distance < 0.5 * FAR:
                nearest_m[k] = min(nearest_m[k], distance)
