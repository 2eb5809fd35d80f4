"""Friction over a patch, with its history: what sticks, what slips, and what earlier pulls have left behind.

Cattaneo and Mindlin: pulled along the skin by less than the friction limit, a patch slips in a ring at its rim and
sticks inside. Jaeger and Ciavarella: friction is the limit times the difference of two pressures, that of the whole
load and that of the smaller load whose patch is what sticks. So a patch is thought of as built up load by load, and
each newton of load carries a *pull*, a friction that is at most the limit. A new pull takes hold of the outermost loads
first, as far inwards as it must, and what lies farther in remembers the pulls before: loops, turns of direction and
changes of load come out of that. A load that is added starts without a pull; one that is taken away takes its along.

The pressure of a smaller load is that of an elliptic patch (Hertz): ``sqrt(p^2 - s^2)``, with s such that it adds up.
"""

from __future__ import annotations

import math

import numba as nb
import numpy as np

from thenar.arrays import FloatArray
from thenar.touch.solver.influence import POISSON
from thenar.touch.solver.touch_records import Record, Vector, dot, lean, minus, to_local
from thenar.touch.solver.window import MAX_PULLS

AT_LIMIT = 1.0 - 1e-6
SAME = 1e-9  # of the limit: a pull that has changed less has not changed
NEWTON_STEPS = 30


@nb.njit(cache=True)
def share_friction(group: Record, window: Record, link_R: FloatArray) -> None:
    """Lay the contact's friction over its patch, over what the window remembers; results are the window's pulls."""
    n = to_local(link_R, group.normal)
    f = to_local(link_R, group.friction)
    along = dot(f, n)
    load, limit = group.force_n, max(group.slip_n / group.weight, 0.0)
    pull = (f[0] - along * n[0], f[1] - along * n[1], f[2] - along * n[2])
    size = math.sqrt(dot(pull, pull))
    if size > limit * load:  # the engine's cone, to rounding
        least = limit * load / size
        pull = (pull[0] * least, pull[1] * least, pull[2] * least)
    for a in range(3):
        window.rest[a] = (f[a] - pull[a]) / load
    _load_to(window, load, limit, n)
    _pull_to(window, load, limit, pull)
    _leave_out(group, window)


@nb.njit(cache=True)
def _load_to(window: Record, load: float, limit: float, n: Vector) -> None:
    """Take the outermost loads away, or add one without a pull; pulls lie in the plane and within the limit of now."""
    while window.pulls > 0 and (window.pulls > 1 and window.upto_n[window.pulls - 2] >= load):
        window.pulls -= 1
    last = window.pulls - 1
    if last >= 0 and window.upto_n[last] >= load:
        window.upto_n[last] = load
    else:
        _push(window, load, (0.0, 0.0, 0.0))
    for k in range(window.pulls):
        pull = window.pull[k]
        along = dot(pull, n)
        for a in range(3):
            pull[a] -= along * n[a]
        size = math.sqrt(dot(pull, pull))
        for a in range(3):
            pull[a] *= limit / size if size > limit else 1.0


@nb.njit(cache=True)
def _pull_to(window: Record, load: float, limit: float, pull: Vector) -> None:
    """Turn the outermost loads' pulls along the new one, as far inwards as it takes to carry it."""
    # Pulls of all loads up to the beginning of each.
    inner = np.zeros((MAX_PULLS + 1, 3))
    below = 0.0
    for k in range(window.pulls):
        for a in range(3):
            inner[k + 1, a] = inner[k, a] + (window.upto_n[k] - below) * window.pull[k, a]
        below = window.upto_n[k]
    left = minus(pull, inner[window.pulls])
    if math.sqrt(dot(left, left)) <= SAME * limit * load:
        return
    k = window.pulls - 1
    while k > 0:
        left = minus(pull, inner[k])
        if math.sqrt(dot(left, left)) <= limit * (load - window.upto_n[k - 1]):
            break
        k -= 1
    low = window.upto_n[k - 1] if k > 0 else 0.0
    left, high, t = minus(pull, inner[k]), load - low, window.pull[k]
    # How much of this load's pull stays: |left - x t| = limit (high - x).
    a, b, c = dot(t, t) - limit * limit, limit * limit * high - dot(left, t), dot(left, left) - (limit * high) ** 2
    root = b + math.sqrt(max(b * b - a * c, 0.0))
    stays = min(max(-c / root, 0.0), window.upto_n[k] - low) if root > 0.0 else 0.0
    left = (left[0] - stays * t[0], left[1] - stays * t[1], left[2] - stays * t[2])
    if stays > SAME * load:
        window.upto_n[k] = low + stays
        window.pulls = k + 1
    else:
        window.pulls = k
    size = math.sqrt(dot(left, left))
    if size > 0.0:
        _push(window, load, (left[0] / size * limit, left[1] / size * limit, left[2] / size * limit))
    else:
        _push(window, load, (0.0, 0.0, 0.0))


@nb.njit(cache=True)
def _push(window: Record, load: float, pull: Vector) -> None:
    """Add a pull of the loads up to this one; of too many, the two oldest become one that carries the same."""
    if window.pulls == MAX_PULLS:
        first, second = window.upto_n[0], window.upto_n[1]
        for a in range(3):
            window.pull[0, a] = (window.pull[0, a] * first + window.pull[1, a] * (second - first)) / second
        window.upto_n[0] = second
        for k in range(1, MAX_PULLS - 1):
            window.upto_n[k] = window.upto_n[k + 1]
            for a in range(3):
                window.pull[k, a] = window.pull[k + 1, a]
        window.pulls -= 1
    window.upto_n[window.pulls] = load
    for a in range(3):
        window.pull[window.pulls, a] = pull[a]
    window.pulls += 1


@nb.njit(cache=True)
def _leave_out(group: Record, window: Record) -> None:
    """Find the pressure that each smaller load leaves out, whether the rim slips, and how far the object has moved."""
    cells, area = group.grid * group.grid, group.cell_u * group.cell_v
    last = window.pulls - 1
    limit = group.slip_n / group.weight
    window.slipping = limit > 0.0 and math.sqrt(dot(window.pull[last], window.pull[last])) >= AT_LIMIT * limit
    window.upto_pa[last] = 0.0
    window.slid_m[:] = 0.0
    if not group.solved:
        return
    peak = 0.0
    for k in range(cells):
        peak = max(peak, window.pressure[k])
    # A round patch of this load and peak on a thick skin: how deep it is pressed in, how far it gives way sideways.
    radius = math.sqrt(1.5 * group.force_n / (math.pi * peak))
    give = math.pi * peak * radius / (2.0 * group.modulus_pa) * (2.0 - POISSON) / (2.0 - 2.0 * POISSON)
    outer = 1.0
    for level in range(last, -1, -1):
        inner = 0.0
        if level > 0:
            smaller = window.upto_n[level - 1]
            window.upto_pa[level - 1] = _left_out(window.pressure, cells, peak, smaller / area)
            inner = (smaller / group.force_n) ** (2.0 / 3.0)  # Hertz: how deep a smaller load is pressed in
        for a in range(3):
            window.slid_m[a] += give * (outer - inner) * window.pull[level, a]
        outer = inner


@nb.njit(cache=True)
def _left_out(pressure: FloatArray, cells: int, peak: float, wanted: float) -> float:
    """The s with which ``sqrt(p^2 - s^2)`` sums to ``wanted``.

    The power 2/3 of that sum falls with s^2 in a straight line for Hertz's pressure and nearly so for others: Newton's
    steps are taken there, and bisection where they leave what is known.
    """
    total = 0.0
    for k in range(cells):
        total += pressure[k]
    goal = (wanted / total) ** (2.0 / 3.0)
    low, high = 0.0, peak * peak
    square = high * max(1.0 - goal, 0.0)
    for _ in range(NEWTON_STEPS):
        amount = slope = 0.0
        for k in range(cells):
            rest = pressure[k] * pressure[k] - square
            if rest > 0.0:
                rest = math.sqrt(rest)
                amount += rest
                slope += 0.5 / rest
        if abs(amount - wanted) < 1e-10 * total:
            break
        if amount > wanted:
            low = square
        else:
            high = square
        if amount > 0.0:
            here = (amount / total) ** (2.0 / 3.0)
            square += (here - goal) * 1.5 * amount / (here * slope)
        if not low < square < high:
            square = (low + high) / 2
    return math.sqrt(square)


@lean
def friction_of_cell(window: Record, pressure: float) -> Vector:
    """Friction per load of a cell with this pressure, in the link's frame."""
    x, y, z = window.rest[0], window.rest[1], window.rest[2]
    outer = pressure
    for level in range(window.pulls - 1, -1, -1):
        inner = 0.0
        if level > 0 and pressure > window.upto_pa[level - 1]:
            inner = math.sqrt(pressure * pressure - window.upto_pa[level - 1] ** 2)
        share, pull = (outer - inner) / pressure, window.pull[level]
        x, y, z = x + share * pull[0], y + share * pull[1], z + share * pull[2]
        if inner <= 0.0:
            break
        outer = inner
    return x, y, z


@lean
def slip_of_cell(window: Record, pressure: float, falls: float) -> float:
    """Share of a cell that is at its friction limit, if the square of pressure falls by so much from edge to edge."""
    if not window.slipping:
        return 0.0
    if window.pulls == 1:
        return 1.0
    short = window.upto_pa[window.pulls - 2] ** 2 - pressure * pressure
    return min(max(0.5 + short / falls, 0.0), 1.0) if falls > 0.0 else (1.0 if short > 0.0 else 0.0)
