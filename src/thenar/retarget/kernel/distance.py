"""Distance of rounded collision hulls, compiled: capsules in closed form, everything else by GJK.

The distance of two rounded hulls is that of the bare ones less both radii. Once the bare ones overlap, deeper than the
radii together, only the direction between their centres is left to push them apart.
"""

from __future__ import annotations

import math

from numba import njit

from thenar.retarget.kernel.kinematics import OPTIONS, forward_kinematics, transform_point

FAR = 1.0
"""Answers from here on mean: at least ``answer - FAR`` away, no need to know more."""
MAX_GJK_ITERATIONS = 24


@njit(**OPTIONS)
def nearest_on_segments(a, a_end, b, b_end, on_a, on_b):
    """Nearest points of two segments; their middles where they run side by side."""
    dx, dy, dz = a_end[0] - a[0], a_end[1] - a[1], a_end[2] - a[2]
    ex, ey, ez = b_end[0] - b[0], b_end[1] - b[1], b_end[2] - b[2]
    rx, ry, rz = a[0] - b[0], a[1] - b[1], a[2] - b[2]
    dd = dx * dx + dy * dy + dz * dz
    ee = ex * ex + ey * ey + ez * ez
    de = dx * ex + dy * ey + dz * ez
    dr = dx * rx + dy * ry + dz * rz
    er = ex * rx + ey * ry + ez * rz
    s, t = 0.0, 0.0
    if dd <= 1e-14:
        if ee > 1e-14:
            t = min(1.0, max(0.0, er / ee))
    elif ee <= 1e-14:
        s = min(1.0, max(0.0, -dr / dd))
    else:
        skew = dd * ee - de * de
        s = min(1.0, max(0.0, (de * er - dr * ee) / skew)) if skew > 1e-9 * dd * ee else 0.5
        t = (de * s + er) / ee
        if t < 0.0:
            t = 0.0
            s = min(1.0, max(0.0, -dr / dd))
        elif t > 1.0:
            t = 1.0
            s = min(1.0, max(0.0, (de - dr) / dd))
    on_a[0], on_a[1], on_a[2] = a[0] + s * dx, a[1] + s * dy, a[2] + s * dz
    on_b[0], on_b[1], on_b[2] = b[0] + t * ex, b[1] + t * ey, b[2] + t * ez


@njit(**OPTIONS)
def triangle_weights(a, b, c, share):
    """Barycentric weights of the point of a triangle nearest to the origin."""
    abx, aby, abz = b[0] - a[0], b[1] - a[1], b[2] - a[2]
    acx, acy, acz = c[0] - a[0], c[1] - a[1], c[2] - a[2]
    d1 = -(abx * a[0] + aby * a[1] + abz * a[2])
    d2 = -(acx * a[0] + acy * a[1] + acz * a[2])
    d3 = -(abx * b[0] + aby * b[1] + abz * b[2])
    d4 = -(acx * b[0] + acy * b[1] + acz * b[2])
    d5 = -(abx * c[0] + aby * c[1] + abz * c[2])
    d6 = -(acx * c[0] + acy * c[1] + acz * c[2])
    share[0], share[1], share[2] = 0.0, 0.0, 0.0
    if d1 <= 0.0 and d2 <= 0.0:
        share[0] = 1.0
        return
    if d3 >= 0.0 and d4 <= d3:
        share[1] = 1.0
        return
    if d6 >= 0.0 and d5 <= d6:
        share[2] = 1.0
        return
    vc = d1 * d4 - d3 * d2
    if vc <= 0.0 and d1 >= 0.0 and d3 <= 0.0:
        share[1] = d1 / (d1 - d3)
        share[0] = 1.0 - share[1]
        return
    vb = d5 * d2 - d1 * d6
    if vb <= 0.0 and d2 >= 0.0 and d6 <= 0.0:
        share[2] = d2 / (d2 - d6)
        share[0] = 1.0 - share[2]
        return
    va = d3 * d6 - d5 * d4
    if va <= 0.0 and d4 - d3 >= 0.0 and d5 - d6 >= 0.0:
        share[2] = (d4 - d3) / ((d4 - d3) + (d5 - d6))
        share[1] = 1.0 - share[2]
        return
    whole = va + vb + vc
    if whole <= 1e-30:
        share[0] = 1.0
        return
    share[1] = vb / whole
    share[2] = vc / whole
    share[0] = 1.0 - share[1] - share[2]


@njit(**OPTIONS)
def tetrahedron_weights(corner, share, trial):
    """The same for a tetrahedron; False when the origin is inside."""
    best = 1e30
    found = False
    f0, f1, f2, f3 = 0.0, 0.0, 0.0, 0.0
    for left_out in range(4):
        i = 1 if left_out == 0 else 0
        j = 1 if left_out > 1 else 2
        k = 2 if left_out == 3 else 3
        x0, x1, x2 = corner[j, 0] - corner[i, 0], corner[j, 1] - corner[i, 1], corner[j, 2] - corner[i, 2]
        y0, y1, y2 = corner[k, 0] - corner[i, 0], corner[k, 1] - corner[i, 1], corner[k, 2] - corner[i, 2]
        n0, n1, n2 = x1 * y2 - x2 * y1, x2 * y0 - x0 * y2, x0 * y1 - x1 * y0
        o = left_out
        inner = n0 * (corner[o, 0] - corner[i, 0]) + n1 * (corner[o, 1] - corner[i, 1])
        inner += n2 * (corner[o, 2] - corner[i, 2])
        origin = -(n0 * corner[i, 0] + n1 * corner[i, 1] + n2 * corner[i, 2])
        if inner * origin > 0.0:
            continue
        found = True
        triangle_weights(corner[i], corner[j], corner[k], trial)
        square = 0.0
        for a in range(3):
            x = trial[0] * corner[i, a] + trial[1] * corner[j, a] + trial[2] * corner[k, a]
            square += x * x
        if square < best:
            best = square
            f0, f1, f2, f3 = 0.0, 0.0, 0.0, 0.0
            # Put the three weights back in their places.
            if left_out == 0:
                f1, f2, f3 = trial[0], trial[1], trial[2]
            elif left_out == 1:
                f0, f2, f3 = trial[0], trial[1], trial[2]
            elif left_out == 2:
                f0, f1, f3 = trial[0], trial[1], trial[2]
            else:
                f0, f1, f2 = trial[0], trial[1], trial[2]
    share[0], share[1], share[2], share[3] = f0, f1, f2, f3
    return found


@njit(**OPTIONS)
def gjk_distance(a_first, a_count, b_first, b_count, far, separation, w):
    """Distance of two hulls by GJK, 0 when they overlap, ``FAR`` plus a lower bound when it exceeds ``far``.

    ``separation`` holds a guess of the vector from b to a, such as the last frame's, and then the answer.
    """
    vertex, corner, share, corner_a, corner_b = w.vertex, w.corner, w.share, w.corner_a, w.corner_b
    count = 0
    square = separation[0] * separation[0] + separation[1] * separation[1] + separation[2] * separation[2]
    for _ in range(MAX_GJK_ITERATIONS):
        low, at_a = 1e30, a_first
        for i in range(a_first, a_first + a_count):
            along = vertex[i, 0] * separation[0] + vertex[i, 1] * separation[1] + vertex[i, 2] * separation[2]
            if along < low:
                low, at_a = along, i
        high, at_b = -1e30, b_first
        for i in range(b_first, b_first + b_count):
            along = vertex[i, 0] * separation[0] + vertex[i, 1] * separation[1] + vertex[i, 2] * separation[2]
            if along > high:
                high, at_b = along, i
        gap = low - high
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
            ex, ey, ez = corner[1, 0] - corner[0, 0], corner[1, 1] - corner[0, 1], corner[1, 2] - corner[0, 2]
            t = -(corner[0, 0] * ex + corner[0, 1] * ey + corner[0, 2] * ez) / (ex * ex + ey * ey + ez * ez + 1e-30)
            share[1] = min(1.0, max(0.0, t))
            share[0] = 1.0 - share[1]
        elif count == 3:
            triangle_weights(corner[0], corner[1], corner[2], share)
        elif not tetrahedron_weights(corner, share, w.trial):
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
            normal[i] = on_a[i] - on_b[i]
        distance = math.sqrt(normal[0] * normal[0] + normal[1] * normal[1] + normal[2] * normal[2])
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
        for i in range(3):
            normal[i] = separation[i]
    length = math.sqrt(normal[0] * normal[0] + normal[1] * normal[1] + normal[2] * normal[2]) + 1e-12
    for i in range(3):
        normal[i] /= length
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
