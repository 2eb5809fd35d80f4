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

from thenar.arrays import FloatArray
from thenar.hands.pad_charts import taxel_points
from thenar.hands.spec import SkinSpec
from thenar.touch.solver.collision import HIT
from thenar.touch.solver.deposit import LinkFrame
from thenar.touch.solver.touch_records import Record, Vector, combine, dot, minus

MIN_DEPTH_M = 1e-4  # of a die that lies less deep, as cells would be cut without end
FINE = 2.0  # a cell is cut into pieces that are at most as wide as a die lies deep, divided by this

DIE = np.dtype([("link", np.int64), ("pos_m", np.float64, 3), ("normal", np.float64, 3), ("depth_m", np.float64)])
"""One die in its link's frame: where it is, the outward normal of the skin above it and how far it lies under that."""


def build_dies(hand: SkinSpec, links: tuple[str, ...], depth_m: dict[str, float]) -> np.ndarray:
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
        part["depth_m"] = depth = max(depth_m[pad.name], MIN_DEPTH_M)
        part["pos_m"] = (points - depth * normals).reshape(-1, 3)
        first += pad.taxels
    return dies


@nb.njit(cache=True)
def add_die_stress(group: Record, window: Record, local: LinkFrame, dies: Record, die_pa: FloatArray) -> None:
    """Add the stress that a window's pressure and friction make at the dies of its link.

    Args:
        group: Contacts with the window's cells and heights.
        window: The window with its pressures.
        local: The group's plane in the frame of its link.
        dies: All dies of the hand.
        die_pa: Stress at each of them, added to [Pa].
    """
    force = minus(local.friction, local.normal)  # on the skin per newton of load: into it, and along it by friction
    grid, hu, hv = group.grid, group.cell_u, group.cell_v
    half = (grid - 1) / 2.0
    for d in range(len(dies)):
        die = dies[d]
        if die.link != group.link:
            continue
        normal = (die.normal[0], die.normal[1], die.normal[2])
        away = minus(die.pos_m, local.origin)
        if not group.solved:
            die_pa[d] += group.force_n * _point_stress(away, force, normal)
            continue
        nu, nv = max(1, math.ceil(FINE * hu / die.depth_m)), max(1, math.ceil(FINE * hv / die.depth_m))
        stress = 0.0
        for k in range(grid * grid):
            if window.pressure[k] <= 0.0 or group.gap[k] >= HIT:
                continue
            under = combine(away, -group.height[k], local.normal, 0.0, local.normal)
            for i in range(nu):
                u = window.u_m + (k // grid - half + group.shift[k, 0] + ((i + 0.5) / nu - 0.5) * group.wide[k, 0]) * hu
                for j in range(nv):
                    v = (
                        window.v_m
                        + (k % grid - half + group.shift[k, 1] + ((j + 0.5) / nv - 0.5) * group.wide[k, 1]) * hv
                    )
                    place = combine(under, -u, local.e1, -v, local.e2)
                    stress += window.pressure[k] * _point_stress(place, force, normal)
        die_pa[d] += stress * hu * hv / (nu * nv)


@nb.njit(cache=True)
def _point_stress(away: Vector, force: Vector, normal: Vector) -> float:
    """Stress at a place ``away`` from a force [N], across a plane with this normal [Pa]."""
    above = -dot(away, normal)
    if above <= 0.0:  # what presses on the back of a finger does not reach the die
        return 0.0
    square = dot(away, away)
    return 1.5 / math.pi * dot(force, away) * above * above / (square * square * math.sqrt(square))
