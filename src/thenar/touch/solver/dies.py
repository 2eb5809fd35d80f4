"""Stress at a barometer's die: what presses on the surface, as it arrives under some millimetres of rubber.

Rubber keeps its volume (Poisson's ratio 1/2). A force F on the surface of a half-space of it makes a stress that is
purely radial, ``3 (F . w) / (2 pi |w|^3)`` at a distance w (Boussinesq for forces across the surface, Cerruti along
it). Across the die's own plane, with normal n, ``3 (F . w) (w . n)^2 / (2 pi |w|^5)`` of it is felt: for a force F
straight down ``3 F z^3 / (2 pi R^5)``.
"""

from __future__ import annotations

import math

import numba as nb
import numpy as np

from thenar.hands.charts import taxel_points
from thenar.hands.spec import HandSpec
from thenar.touch.solver.collision import HIT, FloatArray, Record

FINE = 2.0  # a cell is cut into pieces that are at most as wide as a die lies deep, divided by this

DIE = np.dtype([("link", np.int64), ("pos_m", np.float64, 3), ("normal", np.float64, 3), ("depth_m", np.float64)])
"""One die in its link's frame: where it is, the outward normal of the skin above it and how far it lies under that."""


def lay_dies(hand: HandSpec, links: tuple[str, ...], depth_m: dict[str, float]) -> np.ndarray:
    """Dies of all barometers, pad after pad: one under the centre of each taxel.

    Args:
        hand: The hand.
        links: Links with skin, in the order of their numbers.
        depth_m: How deep the dies of each pad lie [m].
    """
    pads = [pad for pad in hand.pads if pad.sensor == "barometer"]
    dies = np.zeros(sum(pad.taxels for pad in pads), dtype=DIE)
    first = 0
    for pad in pads:
        points, normals = taxel_points(hand, pad)
        part = dies[first : first + pad.taxels]
        part["link"] = links.index(pad.link)
        part["normal"] = normals.reshape(-1, 3)
        part["depth_m"] = depth_m[pad.name]
        part["pos_m"] = (points - depth_m[pad.name] * normals).reshape(-1, 3)
        first += pad.taxels
    return dies


@nb.njit(cache=True)
def press_dies(
    group: Record, window: Record, link_pos: FloatArray, link_R: FloatArray, dies: Record, die_pa: FloatArray
) -> None:
    """Add the stress that a window's pressure and friction make at the dies of its link [Pa]."""
    d1, d2, dn, o, f = np.zeros(3), np.zeros(3), np.zeros(3), np.zeros(3), np.zeros(3)
    for a in range(3):
        for b in range(3):
            d1[a] += link_R[b, a] * group.e1[b]
            d2[a] += link_R[b, a] * group.e2[b]
            dn[a] += link_R[b, a] * group.normal[b]
            o[a] += link_R[b, a] * (group.origin[b] - link_pos[b])
            # Force on the skin per newton of load: into it, and along it by friction.
            f[a] += link_R[b, a] * (group.friction[b] / group.force_n - group.normal[b])
    fx, fy, fz = f[0], f[1], f[2]
    for d in range(len(dies)):
        die = dies[d]
        if die.link != group.link:
            continue
        nx, ny, nz = die.normal[0], die.normal[1], die.normal[2]
        # From the window's origin to the die.
        rx, ry, rz = die.pos_m[0] - o[0], die.pos_m[1] - o[1], die.pos_m[2] - o[2]
        if not group.solved:
            die_pa[d] += group.force_n * _share(rx, ry, rz, fx, fy, fz, nx, ny, nz)
            continue
        grid, hu, hv = group.grid, group.cell_u, group.cell_v
        nu, nv = max(1, math.ceil(FINE * hu / die.depth_m)), max(1, math.ceil(FINE * hv / die.depth_m))
        stress = 0.0
        for k in range(grid * grid):
            if window.pressure[k] <= 0.0 or group.gap[k] >= HIT:
                continue
            high = group.height[k]
            sx, sy, sz = rx - high * dn[0], ry - high * dn[1], rz - high * dn[2]
            for i in range(nu):
                u = window.u_m + (k // grid - (grid - 1) / 2.0 + (i + 0.5) / nu - 0.5) * hu
                for j in range(nv):
                    v = window.v_m + (k % grid - (grid - 1) / 2.0 + (j + 0.5) / nv - 0.5) * hv
                    stress += window.pressure[k] * _share(
                        sx - u * d1[0] - v * d2[0],
                        sy - u * d1[1] - v * d2[1],
                        sz - u * d1[2] - v * d2[2],
                        *(fx, fy, fz, nx, ny, nz),
                    )
        die_pa[d] += stress * hu * hv / (nu * nv)


@nb.njit(cache=True)
def _share(wx: float, wy: float, wz: float, fx: float, fy: float, fz: float, nx: float, ny: float, nz: float) -> float:
    """Stress at a distance w from a force f, across a plane with normal n [Pa]."""
    above = -(wx * nx + wy * ny + wz * nz)
    if above <= 0.0:  # what presses on the back of a finger does not reach the die
        return 0.0
    square = wx * wx + wy * wy + wz * wz
    along = fx * wx + fy * wy + fz * wz
    return 1.5 / math.pi * along * above * above / (square * square * math.sqrt(square))
