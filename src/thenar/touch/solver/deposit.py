"""Force of a window's cells into taxels, by exact overlap of areas; what lies beside every pad is bare skin."""

from __future__ import annotations

import math

import numba as nb
import numpy as np

from thenar.touch.solver.collision import HIT, FloatArray, Record
from thenar.touch.solver.pads import CYLINDER_CHART, chart

MOST_PIECES = 4  # of a cell
LEAST_SIDE_M = 1e-9  # of a cell in a chart that sees it from the side


@nb.njit(cache=True)
def deposit(
    group: Record,
    window: Record,
    link_pos: FloatArray,
    link_R: FloatArray,
    pads: Record,
    load_n: FloatArray,
    normal_n: FloatArray,
    shear_n: FloatArray,
    moment_nm: FloatArray,
) -> float:
    """Lay a window's force into the taxels of its link by exact overlap; returns what the pads took [N].

    A window that found no line through both solids lays all its force at the contact point.
    """
    d1, d2, dn, o, friction = np.zeros(3), np.zeros(3), np.zeros(3), np.zeros(3), np.zeros(3)
    for a in range(3):
        for b in range(3):
            d1[a] += link_R[b, a] * group.e1[b]
            d2[a] += link_R[b, a] * group.e2[b]
            dn[a] += link_R[b, a] * group.normal[b]
            o[a] += link_R[b, a] * (group.origin[b] - link_pos[b])
            friction[a] += link_R[b, a] * group.friction[b] / group.force_n
    grid = group.grid if group.solved else 1
    hu = group.cell_u if group.solved else 1e-6
    hv = group.cell_v if group.solved else 1e-6
    centre_u = window.u_m if group.solved else 0.0
    centre_v = window.v_m if group.solved else 0.0
    half = (grid - 1) / 2.0
    taken = 0.0
    s, g, p = group.height, group.gap, window.pressure
    for i in range(grid):
        for j in range(grid):
            k = i * grid + j
            cell_n = p[k] * hu * hv if group.solved else group.force_n
            if cell_n <= 0.0:
                continue
            # Slope of the skin against the window's plane.
            ia = k - grid if i > 0 and g[k - grid] < HIT else k
            ib = k + grid if i < grid - 1 and g[k + grid] < HIT else k
            ja = k - 1 if j > 0 and g[k - 1] < HIT else k
            jb = k + 1 if j < grid - 1 and g[k + 1] < HIT else k
            slope_u = (s[ib] - s[ia]) / (hu * (ib - ia) / grid) if ib != ia else 0.0
            slope_v = (s[jb] - s[ja]) / (hv * (jb - ja)) if jb != ja else 0.0
            steeper = math.sqrt(1.0 + slope_u * slope_u + slope_v * slope_v)
            u, v = centre_u + (i - half) * hu, centre_v + (j - half) * hv
            high = s[k] if group.solved else 0.0
            x = o[0] + u * d1[0] + v * d2[0] + high * dn[0]
            y = o[1] + u * d1[1] + v * d2[1] + high * dn[1]
            z = o[2] + u * d1[2] + v * d2[2] + high * dn[2]
            ax, ay, az = (
                hu / 2 * (d1[0] + slope_u * dn[0]),
                hu / 2 * (d1[1] + slope_u * dn[1]),
                hu / 2 * (d1[2] + slope_u * dn[2]),
            )
            bx, by, bz = (
                hv / 2 * (d2[0] + slope_v * dn[0]),
                hv / 2 * (d2[1] + slope_v * dn[1]),
                hv / 2 * (d2[2] + slope_v * dn[2]),
            )
            for q in range(len(pads)):
                pad = pads[q]
                if pad.link != group.link:
                    continue
                cu, cv, reaches = chart(pad, x, y, z)
                if not reaches:
                    continue
                margin = hu + hv
                if abs(cu) > pad.rows * pad.row_pitch_m / 2 + margin:
                    continue
                if abs(cv) > pad.cols * pad.col_pitch_m / 2 + margin:
                    continue
                u1, v1, _ = chart(pad, x - ax, y - ay, z - az)
                u2, v2, _ = chart(pad, x + ax, y + ay, z + az)
                u3, v3, _ = chart(pad, x - bx, y - by, z - bz)
                u4, v4, _ = chart(pad, x + bx, y + by, z + bz)
                # A long cell that lies askew in the chart is laid down in pieces: it is not the box around it.
                long_u, long_v, short_u, short_v = u2 - u1, v2 - v1, u4 - u3, v4 - v3
                if hu < hv:
                    long_u, long_v, short_u, short_v = short_u, short_v, long_u, long_v
                box = math.hypot(long_u, short_u) * math.hypot(long_v, short_v)
                own = max(abs(long_u * short_v - long_v * short_u), 1e-18)
                pieces = max(1, min(MOST_PIECES, math.ceil(box / own - 0.5)))
                du = max(0.5 * math.hypot(long_u / pieces, short_u), LEAST_SIDE_M)
                dv = max(0.5 * math.hypot(long_v / pieces, short_v), LEAST_SIDE_M)
                for piece in range(pieces):
                    along = (piece + 0.5) / pieces - 0.5
                    taken += _overlap(
                        pad,
                        cu + along * long_u,
                        cv + along * long_v,
                        du,
                        dv,
                        cell_n / pieces,
                        steeper,
                        _along(pad, friction, cv),
                        load_n,
                        normal_n,
                        shear_n,
                        moment_nm[q],
                    )
    return taken


@nb.njit(cache=True)
def _along(pad: Record, friction: FloatArray, v_m: float) -> tuple[float, float]:
    """Friction per newton of load along the pad's rows and columns, at ``v_m`` round a cylinder."""
    along_u = friction[0] * pad.e_u[0] + friction[1] * pad.e_u[1] + friction[2] * pad.e_u[2]
    flat = friction[0] * pad.e_v[0] + friction[1] * pad.e_v[1] + friction[2] * pad.e_v[2]
    if pad.chart != CYLINDER_CHART:
        return along_u, flat
    up = friction[0] * pad.normal[0] + friction[1] * pad.normal[1] + friction[2] * pad.normal[2]
    angle = v_m / pad.radius_m
    return along_u, flat * math.cos(angle) - up * math.sin(angle)


@nb.njit(cache=True)
def _overlap(
    pad: Record,
    u: float,
    v: float,
    half_u: float,
    half_v: float,
    cell_n: float,
    steeper: float,
    shear: tuple[float, float],
    load_n: FloatArray,
    normal_n: FloatArray,
    shear_n: FloatArray,
    moment_nm: FloatArray,
) -> float:
    """Share a cell's force over the taxels under it, by the area each of them covers."""
    a1, a2 = (u - half_u) / pad.row_pitch_m + pad.rows / 2, (u + half_u) / pad.row_pitch_m + pad.rows / 2
    b1, b2 = (v - half_v) / pad.col_pitch_m + pad.cols / 2, (v + half_v) / pad.col_pitch_m + pad.cols / 2
    taken = 0.0
    for row in range(max(0, math.floor(a1)), min(pad.rows - 1, math.floor(a2)) + 1):
        in_row = (min(a2, row + 1.0) - max(a1, float(row))) / (a2 - a1)
        if in_row <= 0.0:
            continue
        for col in range(max(0, math.floor(b1)), min(pad.cols - 1, math.floor(b2)) + 1):
            in_col = (min(b2, col + 1.0) - max(b1, float(col))) / (b2 - b1)
            if in_col <= 0.0:
                continue
            taxel = pad.first + row * pad.cols + col
            part = cell_n * in_row * in_col
            load_n[taxel] += part
            normal_n[taxel] += part * steeper
            shear_n[taxel, 0] += part * shear[0]
            shear_n[taxel, 1] += part * shear[1]
            # Where the covered part of the taxel is, not where the taxel is.
            moment_nm[0] += part * ((min(a2, row + 1.0) + max(a1, float(row))) / 2 - pad.rows / 2) * pad.row_pitch_m
            moment_nm[1] += part * ((min(b2, col + 1.0) + max(b1, float(col))) / 2 - pad.cols / 2) * pad.col_pitch_m
            taken += part
    return taken
