"""Receptive fields of taxels: a sensing layer buried under elastic skin, and cross-talk between taxels.

The stress at depth z under a point load on an elastic half-space (Boussinesq) is ``3 F z^3 / (2 pi (r^2 + z^2)^2.5)``.
A taxel adds it up over its own area, for which there is a closed form, so a load far from every edge arrives whole.
Places are chart coordinates of a pad, along rows and columns from its centre [m]. Shapes use n = taxels, p = places.
"""

from __future__ import annotations

import numpy as np

from thenar.arrays import FloatArray
from thenar.hands.pad_charts import taxel_grid
from thenar.hands.spec import Pad

MIN_DEPTH_M = 1e-6
GAUSS_POINTS = 3  # a side, where a load is spread over a taxel
RINGS, RING_POINTS = 3, 6  # that stand for a round probe


def point_shares(pad: Pad, at_m: FloatArray, depth_m: float, *, probe_m: float = 0.0) -> FloatArray:
    """What arrives of a load at each place: a share of it at a force taxel, pascals per newton at a barometer's die.

    Args:
        pad: The pad.
        at_m: Places. Shape (p, 2).
        depth_m: How deep the taxels lie under the surface [m].
        probe_m: Radius of the round probe that presses [m]; 0: a point.

    Returns:
        Shape (p, n).
    """
    arriving = _die_stress if pad.sensor == "barometer" else _rectangle_shares
    if probe_m <= 0.0:
        return arriving(pad, at_m, depth_m)
    # A domed probe presses hardest in its middle, as Hertz has it: rings that carry the same force each.
    below = (np.arange(RINGS) + 0.5) / RINGS
    total = np.zeros((len(at_m), pad.taxels))
    for number, radius in enumerate(probe_m * np.sqrt(1.0 - (1.0 - below) ** (2.0 / 3.0))):
        for angle in 2.0 * np.pi * (np.arange(RING_POINTS) + 0.5 * number) / RING_POINTS:
            total += arriving(pad, at_m + radius * np.array([np.cos(angle), np.sin(angle)]), depth_m)
    return total / (RINGS * RING_POINTS)


def taxel_shares(pad: Pad, depth_m: float) -> FloatArray:
    """Share of the force on taxel j, spread evenly over it, that arrives at taxel i. Shape (n, n), ``[i, j]``."""
    if depth_m <= 0.0:
        return np.eye(pad.taxels)
    u, v = (grid.ravel() for grid in taxel_grid(pad))
    nodes, weights = np.polynomial.legendre.leggauss(GAUSS_POINTS)
    shares = np.zeros((pad.taxels, pad.taxels))
    for x, a in zip(nodes, weights, strict=True):
        for y, b in zip(nodes, weights, strict=True):
            places = np.stack([u + x * pad.row_pitch_m / 2, v + y * pad.col_pitch_m / 2], axis=1)
            shares += a * b / 4.0 * _rectangle_shares(pad, places, depth_m).T
    return shares


def neighbors(pad: Pad) -> FloatArray:
    """1 where two taxels share an edge or, of taxels that lie anywhere, are no farther apart. Shape (n, n)."""
    if pad.points is not None and pad.cols == 1:
        u, v = (grid.ravel() for grid in taxel_grid(pad))
        apart = np.hypot(u[:, None] - u, v[:, None] - v)
        return ((apart > 0.0) & (apart < 1.4 * pad.row_pitch_m)).astype(np.float64)
    row, col = np.divmod(np.arange(pad.taxels), pad.cols)
    return (abs(row[:, None] - row) + abs(col[:, None] - col) == 1).astype(np.float64)


def _die_stress(pad: Pad, at_m: FloatArray, depth_m: float) -> FloatArray:
    """Stress under the middle of every taxel per newton [Pa/N]."""
    z = max(depth_m, MIN_DEPTH_M)
    u, v = (grid.ravel() for grid in taxel_grid(pad))
    square = (u - at_m[:, :1]) ** 2 + (v - at_m[:, 1:]) ** 2 + z * z
    return 3.0 * z**3 / (2.0 * np.pi * square**2.5)


def _rectangle_shares(pad: Pad, at_m: FloatArray, depth_m: float) -> FloatArray:
    """The stress of point loads at depth, integrated over every taxel."""
    z = max(depth_m, MIN_DEPTH_M)
    u, v = (grid.ravel() for grid in taxel_grid(pad))
    total = np.zeros((len(at_m), pad.taxels))
    for side_u in (1.0, -1.0):
        a = u - at_m[:, :1] + side_u * pad.row_pitch_m / 2
        for side_v in (1.0, -1.0):
            b = v - at_m[:, 1:] + side_v * pad.col_pitch_m / 2
            total += side_u * side_v * _corner(a, b, z)
    return total


def _corner(a: FloatArray, b: FloatArray, z: float) -> FloatArray:
    """The stress integrated from right under the load to (a, b): odd in both."""
    reach = np.sqrt(a * a + b * b + z * z)
    bent = a * b * z / reach * (1.0 / (a * a + z * z) + 1.0 / (b * b + z * z))
    return (np.arctan2(a * b, z * reach) + bent) / (2.0 * np.pi)
