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

from thenar.hands.pads import taxel_points
from thenar.hands.spec import HandSpec
from thenar.touch.solids import HIT, FloatArray, Record

FINE = 3.0  # a cell is cut into pieces smaller than its distance to the die divided by this

DIE = np.dtype([("link", np.int64), ("pos_m", np.float64, 3), ("normal", np.float64, 3)])
"""One die in its link's frame: where it is and the outward normal of the skin above it."""


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
        part["pos_m"] = (points - depth_m[pad.name] * normals).reshape(-1, 3)
        first += pad.taxels
    return dies


@nb.njit(cache=True)
def press_dies(
    group: Record, window: Record, link_pos: FloatArray, link_R: FloatArray, dies: Record, die_pa: FloatArray
) -> None:
    """Add the stress that a window's pressure and friction make at the dies of its link [Pa]."""
    near = False
    for d in range(len(dies)):
        near = near or dies[d].link == group.link
    if not near:
        return
    d1, d2, dn, o, f = np.zeros(3), np.zeros(3), np.zeros(3), np.zeros(3), np.zeros(3)
    for a in range(3):
        for b in range(3):
            d1[a] += link_R[b, a] * group.e1[b]
            d2[a] += link_R[b, a] * group.e2[b]
            dn[a] += link_R[b, a] * group.normal[b]
            o[a] += link_R[b, a] * (group.origin[b] - link_pos[b])
            # Force on the skin per newton of load: into it, and along it by friction.
            f[a] += link_R[b, a] * (group.friction[b] / group.force_n - group.normal[b])
    grid = group.grid if group.solved else 1
    hu, hv = (group.cell_u, group.cell_v) if group.solved else (0.0, 0.0)
    centre_u, centre_v = (window.u_m, window.v_m) if group.solved else (0.0, 0.0)
    half = (grid - 1) / 2.0
    w = np.zeros(3)
    for k in range(grid * grid):
        cell_n = window.pressure[k] * hu * hv if group.solved else group.force_n
        if cell_n <= 0.0 or (group.solved and group.gap[k] >= HIT):
            continue
        u, v = centre_u + (k // grid - half) * hu, centre_v + (k % grid - half) * hv
        high = group.height[k] if group.solved else 0.0
        for d in range(len(dies)):
            die = dies[d]
            if die.link != group.link:
                continue
            far = 0.0
            for a in range(3):
                far += (die.pos_m[a] - o[a] - u * d1[a] - v * d2[a] - high * dn[a]) ** 2
            far = max(math.sqrt(far), 1e-6)
            nu, nv = max(1, math.ceil(FINE * hu / far)), max(1, math.ceil(FINE * hv / far))
            stress = 0.0
            for i in range(nu):
                for j in range(nv):
                    pu, pv = u + ((i + 0.5) / nu - 0.5) * hu, v + ((j + 0.5) / nv - 0.5) * hv
                    square, along, above = 0.0, 0.0, 0.0
                    for a in range(3):
                        w[a] = die.pos_m[a] - o[a] - pu * d1[a] - pv * d2[a] - high * dn[a]
                        square += w[a] * w[a]
                        along += f[a] * w[a]
                        above -= w[a] * die.normal[a]
                    if above > 0.0:  # what presses on the back of a finger does not reach the die
                        stress += 3.0 * along * above * above / (2.0 * math.pi * square * square * math.sqrt(square))
            die_pa[d] += cell_n * stress / (nu * nv)
