"""Force of a window's cells into taxels, by exact overlap of areas; what lies beside every pad is bare skin."""

from __future__ import annotations

import math
from typing import NamedTuple

from thenar.arrays import FloatArray
from thenar.touch.solver.collision import HIT
from thenar.touch.solver.pads import CYLINDER_CHART, POINTS_CHART, chart
from thenar.touch.solver.shear import friction_of_cell, slip_of_cell
from thenar.touch.solver.taxel_cloud import Cloud, nearest_of, nearest_taxel, taxels_under
from thenar.touch.solver.touch_records import Record, Skin, TaxelForces, Vector, combine, dot, lean, minus, to_local

MAX_PIECES = 4  # of a cell
FINE_PIECES = 5  # a side, of a cell in which taxels that are given points meet
MIN_SIDE_M = 1e-9  # of a cell in a chart that sees it from the side
ZERO = (0.0, 0.0, 0.0)
POINT_M = 1e-6  # side of the cell that stands for a contact point


class LinkFrame(NamedTuple):
    """A group's plane in the frame of its link."""

    origin: Vector
    e1: Vector
    e2: Vector
    normal: Vector
    friction: Vector
    """Friction on the skin per newton of load, over the whole patch."""
    contact_n: float
    """Normal force of the engine's contacts per newton of load: above 1 where their normals differ."""


class Cell(NamedTuple):
    """One cell of a window, laid on the skin, in the link's frame."""

    force_n: float
    centre: Vector
    long: Vector
    """From edge to edge along its longer side [m]."""
    short: Vector
    stretch: float
    """Area on the slanted skin over area in the window."""
    reach_m: float
    """How far beside a pad its centre may be: its sides in the window, whatever the slope at an edge seems to be."""
    friction: Vector
    """Friction on it per newton of load."""
    area_m2: float
    slip_m2: float
    """What of its area is at the friction limit."""


@lean
def link_frame(group: Record, link_pos_m: FloatArray, link_R: FloatArray) -> LinkFrame:
    """A group's plane in the frame of a link with this pose."""
    f, size = group.friction, group.force_n
    return LinkFrame(
        to_local(link_R, minus(group.origin, link_pos_m)),
        to_local(link_R, group.e1),
        to_local(link_R, group.e2),
        to_local(link_R, group.normal),
        to_local(link_R, (f[0] / size, f[1] / size, f[2] / size)),
        group.weight / size,
    )


@lean
def deposit(group: Record, window: Record, local: LinkFrame, skin: Skin, out: TaxelForces) -> float:
    """Lay a window's force into the taxels of its link by exact overlap; returns what the pads took [N].

    Forces are shares of the contacts' normal force. A window that found no line through both shapes lays all its force
    at the contact point.

    Args:
        group: Contacts with the window's cells and heights.
        window: The window with its pressures.
        local: The group's plane in the frame of its link.
        skin: All pads of the hand.
        out: Forces are added to these.
    """
    if not group.solved:
        long, short = combine(ZERO, POINT_M, local.e1, 0.0, ZERO), combine(ZERO, POINT_M, local.e2, 0.0, ZERO)
        slip_m2 = POINT_M**2 if window.slipping and window.pulls == 1 else 0.0
        point = Cell(group.force_n, local.origin, long, short, 1.0, 2.0 * POINT_M, local.friction, POINT_M**2, slip_m2)
        return _lay_cell(point, group.link, local, skin.pads, skin.cloud, out)
    taken, pads, cloud = 0.0, skin.pads, skin.cloud
    for k in range(group.grid * group.grid):
        if window.pressure[k] > 0.0:
            taken += _lay_cell(_cell(group, window, local, k), group.link, local, pads, cloud, out)
    return taken


@lean
def _cell(group: Record, window: Record, local: LinkFrame, k: int) -> Cell:
    grid, hu, hv, s, g = group.grid, group.cell_u, group.cell_v, group.height, group.gap
    i, j = k // grid, k % grid
    # Slope of the skin against the window's plane.
    ia = k - grid if i > 0 and g[k - grid] < HIT else k
    ib = k + grid if i < grid - 1 and g[k + grid] < HIT else k
    ja = k - 1 if j > 0 and g[k - 1] < HIT else k
    jb = k + 1 if j < grid - 1 and g[k + 1] < HIT else k
    shift, half = group.shift, (grid - 1) / 2.0
    slope_u = (s[ib] - s[ia]) / (hu * ((ib - ia) / grid + shift[ib, 0] - shift[ia, 0])) if ib != ia else 0.0
    slope_v = (s[jb] - s[ja]) / (hv * (jb - ja + shift[jb, 1] - shift[ja, 1])) if jb != ja else 0.0
    u, v = window.u_m + (i - half + shift[k, 0]) * hu, window.v_m + (j - half + shift[k, 1]) * hv
    force_n = window.pressure[k] * hu * hv
    hu, hv = hu * group.wide[k, 0], hv * group.wide[k, 1]
    centre = combine(combine(local.origin, u, local.e1, v, local.e2), s[k], local.normal, 0.0, ZERO)
    side_u = combine(ZERO, hu, local.e1, hu * slope_u, local.normal)
    side_v = combine(ZERO, hv, local.e2, hv * slope_v, local.normal)
    long, short = (side_u, side_v) if hu >= hv else (side_v, side_u)
    stretch = math.sqrt(1.0 + slope_u * slope_u + slope_v * slope_v)
    p, area_m2 = window.pressure, hu * hv * stretch
    # How much p^2 differs from edge to edge: where it falls below that of the sticking patch's rim, the cell slips.
    falls = abs(p[ib] ** 2 - p[ia] ** 2) / max(ib - ia, 1) * grid + abs(p[jb] ** 2 - p[ja] ** 2) / max(jb - ja, 1)
    slip_m2 = area_m2 * slip_of_cell(window, p[k], falls)
    return Cell(force_n, centre, long, short, stretch, hu + hv, friction_of_cell(window, p[k]), area_m2, slip_m2)


@lean
def _lay_cell(cell: Cell, link: int, local: LinkFrame, pads: Record, cloud: Cloud, out: TaxelForces) -> float:
    """Share a cell's force over the taxels of all pads of its link; returns what they took [N]."""
    c = cell.centre
    taken = 0.0
    for q in range(len(pads)):
        pad = pads[q]
        if pad.link != link:
            continue
        before = taken
        if pad.chart == POINTS_CHART:
            taken += _lay_on_points(cell, local, pad, q, cloud, out)
            _note_patch(cell, q, local, taken - before, out)
            continue
        u, v, reaches = chart(pad, c[0], c[1], c[2])
        if (
            not reaches
            or abs(u) > pad.rows * pad.row_pitch_m / 2 + cell.reach_m
            or abs(v) > pad.cols * pad.col_pitch_m / 2 + cell.reach_m
        ):
            continue
        long_u, long_v = _chart_step(pad, c, cell.long)
        short_u, short_v = _chart_step(pad, c, cell.short)
        # A long cell that lies askew in the chart is laid down in pieces: it is not the box around it.
        box = math.sqrt((long_u * long_u + short_u * short_u) * (long_v * long_v + short_v * short_v))
        own = max(abs(long_u * short_v - long_v * short_u), 1e-18)
        pieces = max(1, min(MAX_PIECES, math.ceil(box / own - 0.5)))
        half = (
            max(0.5 * math.sqrt((long_u / pieces) ** 2 + short_u * short_u), MIN_SIDE_M),
            max(0.5 * math.sqrt((long_v / pieces) ** 2 + short_v * short_v), MIN_SIDE_M),
        )
        shear = _along_pad(pad, cell.friction, v)
        for piece in range(pieces):
            along = (piece + 0.5) / pieces - 0.5
            middle = (u + along * long_u, v + along * long_v)
            taken += _overlap(pad, q, middle, half, cell.force_n / pieces, cell.stretch, shear, local.contact_n, out)
        _note_patch(cell, q, local, taken - before, out)
    return taken


@lean
def _note_patch(cell: Cell, pad: int, local: LinkFrame, taken: float, out: TaxelForces) -> None:
    """Add the share of a cell's area that a pad took to what is touched of it, and to what of that slips."""
    share = taken / (cell.force_n * local.contact_n)
    out.patch_m2[pad, 0] += share * cell.area_m2
    out.patch_m2[pad, 1] += share * cell.slip_m2


@lean
def _lay_on_points(cell: Cell, local: LinkFrame, pad: Record, number: int, cloud: Cloud, out: TaxelForces) -> float:
    """Share a cell's force over taxels that are given points: whole, or in pieces where taxels meet in it."""
    count = taxels_under(pad, cloud, cell.centre, cell.long, cell.short, local.normal)
    if count == 0:
        return 0.0
    first = _taxel_at(pad, cloud, count, cell.centre, local.normal)
    pieces = 1
    for a in (-0.5, 0.5):
        for b in (-0.5, 0.5):
            corner = combine(cell.centre, a, cell.long, b, cell.short)
            if _taxel_at(pad, cloud, count, corner, local.normal) != first:
                pieces = FINE_PIECES
    force_n = cell.force_n / (pieces * pieces)
    felt, taken = force_n * local.contact_n, 0.0
    taxels, load_n, normal_n, shear_n, moment_nm = cloud.taxels, out.load_n, out.normal_n, out.shear_n, out.moment_nm
    for i in range(pieces):
        for j in range(pieces):
            a, b = (i + 0.5) / pieces - 0.5, (j + 0.5) / pieces - 0.5
            point = combine(cell.centre, a, cell.long, b, cell.short)
            found = first if pieces == 1 else _taxel_at(pad, cloud, count, point, local.normal)
            if found < 0:
                continue
            taxel, at = taxels[found], pad.first + found - pad.taxel
            load_n[at] += felt
            normal_n[at] += force_n * cell.stretch
            shear_n[at, 0] += force_n * dot(cell.friction, taxel.e_u)
            shear_n[at, 1] += force_n * dot(cell.friction, taxel.e_v)
            away = minus(point, pad.centre_m)
            moment_nm[number, 0] += felt * dot(away, pad.e_u)
            moment_nm[number, 1] += felt * dot(away, pad.e_v)
            taken += felt
    return taken


@lean
def _taxel_at(pad: Record, cloud: Cloud, count: int, point: Vector, normal: Vector) -> int:
    """The taxel of a point of a cell that has so many taxels under it; -1: too many to be listed."""
    if count < 0:
        return nearest_taxel(pad, cloud, point, normal)
    return nearest_of(cloud.taxels, cloud.under, count, point)


@lean
def _chart_step(pad: Record, c: Vector, side: Vector) -> tuple[float, float]:
    """A side of a cell about its centre, in chart coordinates [m]."""
    u1, v1, _ = chart(pad, c[0] - side[0] / 2, c[1] - side[1] / 2, c[2] - side[2] / 2)
    u2, v2, _ = chart(pad, c[0] + side[0] / 2, c[1] + side[1] / 2, c[2] + side[2] / 2)
    return u2 - u1, v2 - v1


@lean
def _along_pad(pad: Record, force: Vector, v_m: float) -> tuple[float, float]:
    """A force along the pad's rows and columns, at ``v_m`` round a cylinder."""
    along_u, flat = dot(force, pad.e_u), dot(force, pad.e_v)
    if pad.chart != CYLINDER_CHART:
        return along_u, flat
    angle = v_m / pad.radius_m
    return along_u, flat * math.cos(angle) - dot(force, pad.normal) * math.sin(angle)


@lean
def _overlap(
    pad: Record,
    number: int,
    middle: tuple[float, float],
    half: tuple[float, float],
    force_n: float,
    stretch: float,
    shear: tuple[float, float],
    contact_n: float,
    out: TaxelForces,
) -> float:
    """Share a rectangle's force over the taxels under it, by the area each of them covers; returns what they took [N].

    Its middle and half sides are chart coordinates [m]. ``stretch``, ``shear`` and ``contact_n`` are force across the
    skin, along rows and columns, and normal force of the contacts, over force.
    """
    (u, v), (half_u, half_v) = middle, half
    a1, a2 = (u - half_u) / pad.row_pitch_m + pad.rows / 2, (u + half_u) / pad.row_pitch_m + pad.rows / 2
    b1, b2 = (v - half_v) / pad.col_pitch_m + pad.cols / 2, (v + half_v) / pad.col_pitch_m + pad.cols / 2
    taken = 0.0
    for row in range(max(0, math.floor(a1)), min(pad.rows - 1, math.floor(a2)) + 1):
        row_low, row_high = max(a1, float(row)), min(a2, row + 1.0)
        for col in range(max(0, math.floor(b1)), min(pad.cols - 1, math.floor(b2)) + 1):
            col_low, col_high = max(b1, float(col)), min(b2, col + 1.0)
            part = force_n * ((row_high - row_low) / (a2 - a1)) * ((col_high - col_low) / (b2 - b1))
            if part <= 0.0:
                continue
            taxel = pad.first + row * pad.cols + col
            felt = part * contact_n
            out.load_n[taxel] += felt
            out.normal_n[taxel] += part * stretch
            out.shear_n[taxel, 0] += part * shear[0]
            out.shear_n[taxel, 1] += part * shear[1]
            # Where the covered part of the taxel is, not where the taxel is.
            out.moment_nm[number, 0] += felt * ((row_low + row_high) / 2 - pad.rows / 2) * pad.row_pitch_m
            out.moment_nm[number, 1] += felt * ((col_low + col_high) / 2 - pad.cols / 2) * pad.col_pitch_m
            taken += felt
    return taken
