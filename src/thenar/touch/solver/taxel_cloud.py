"""Taxels that lie anywhere on a skin: a point of the skin belongs to the nearest of them.

Space around a pad is cut into cubes (*voxels*), each of which knows the few taxels that can be the nearest one to any
point in it, so that finding one costs the same however many there are.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numba as nb
import numpy as np

from thenar.arrays import FloatArray, IntArray
from thenar.hands.spec import TaxelPoints
from thenar.touch.solver.touch_records import Record, Vector, dot, minus

MAX_VOXELS = 24  # a side
FACING = -0.2  # cosine: a taxel that looks away from what presses is not the one that is pressed, however near

TAXEL = np.dtype(
    [
        ("pos_m", np.float64, 3),
        ("normal", np.float64, 3),
        ("e_u", np.float64, 3),
        ("e_v", np.float64, 3),
        ("half_m", np.float64, 2),
        ("reach_m", np.float64),
    ]
)
"""One taxel in its link's frame, see `thenar.hands.spec.TaxelPoints`."""


class Cloud(NamedTuple):
    """Taxels of all pads whose taxels are given points."""

    taxels: Record
    """Records of `TAXEL`."""
    first: IntArray
    """``near[first[v] : first[v + 1]]`` are the numbers of taxels that may be nearest in voxel v."""
    near: IntArray


def build_cloud(pads: list[tuple[Record, TaxelPoints]]) -> Cloud:
    """Lay taxels into records and voxels, and note in every pad's own record where they are."""
    taxels, counts, near = [np.zeros(0, dtype=TAXEL)], [np.zeros(1, dtype=np.int64)], [np.zeros(0, dtype=np.int64)]
    taxel = voxel = 0
    for record, points in pads:
        part = np.zeros(len(points.points_m), dtype=TAXEL)
        part["pos_m"], part["normal"], part["e_u"] = points.points_m, points.normals, points.row_axes
        turned = -1.0 if np.cross(record["normal"], record["e_u"]) @ record["e_v"] < 0.0 else 1.0  # a mirrored pad
        part["e_v"] = turned * np.cross(points.normals, points.row_axes)
        part["half_m"], part["reach_m"] = points.half_m, points.reach_m
        record["taxel"], record["first_voxel"] = taxel, voxel
        number, candidates = _lay_voxels(record, part)
        counts.append(number)
        near.append(candidates + taxel)
        taxels.append(part)
        taxel, voxel = taxel + len(part), voxel + len(number)
    return Cloud(np.concatenate(taxels), np.cumsum(np.concatenate(counts)), np.concatenate(near))


def _lay_voxels(record: Record, taxels: Record) -> tuple[IntArray, IntArray]:
    """Number of candidates of every voxel around these taxels, and the candidates."""
    reach = float(taxels["reach_m"].max())
    low = taxels["pos_m"].min(axis=0) - reach
    extent = taxels["pos_m"].max(axis=0) + reach - low
    side = max(0.5 * reach, float(extent.max()) / MAX_VOXELS)
    record["low"], record["voxel_m"] = low, side
    record["voxels"] = shape = np.ceil(extent / side).astype(np.int64)
    half = 0.5 * math.sqrt(3.0) * side
    numbers, near = [], []
    cells = np.stack(np.meshgrid(*(np.arange(n) for n in shape[1:]), indexing="ij"), axis=-1).reshape(-1, 2)
    for i in range(shape[0]):
        centre = low + (np.column_stack([np.full(len(cells), i), cells]) + 0.5) * side
        away = np.linalg.norm(centre[:, None] - taxels["pos_m"], axis=2)
        # Two sides of a thin skin look different ways: what is near enough on either stays a candidate.
        within = (away < away.min(axis=1, keepdims=True) + 2.0 * half + 0.5 * reach) & (away < reach + half)
        numbers.append(within.sum(axis=1))
        near.append(np.nonzero(within)[1])
    return np.concatenate(numbers), np.concatenate(near)


@nb.njit(cache=True)
def nearest_taxel(pad: Record, cloud: Cloud, point: Vector, normal: Vector) -> int:
    """Number in the cloud of the taxel to which a point of the skin belongs, if it is pressed along this normal, or -1.

    All in the link's frame.
    """
    voxel = 0
    for a in range(3):
        step = math.floor((point[a] - pad.low[a]) / pad.voxel_m)
        if not 0 <= step < pad.voxels[a]:
            return -1
        voxel = voxel * pad.voxels[a] + step
    voxel += pad.first_voxel
    best, least = -1, math.inf
    for k in range(cloud.first[voxel], cloud.first[voxel + 1]):
        taxel = cloud.taxels[cloud.near[k]]
        away = minus(point, taxel.pos_m)
        square = dot(away, away)
        if square < least and dot(taxel.normal, normal) > FACING:
            best, least = cloud.near[k], square
    if best >= 0:
        taxel = cloud.taxels[best]
        away = minus(point, taxel.pos_m)
        if (
            least > taxel.reach_m**2
            or abs(dot(away, taxel.e_u)) > taxel.half_m[0]
            or abs(dot(away, taxel.e_v)) > taxel.half_m[1]
        ):
            return -1
    return best


@nb.njit(cache=True)
def share_points(pad: Record, cloud: Cloud, points: FloatArray, normals: FloatArray) -> IntArray:
    """To which taxel of the pad each point belongs, or -1. Shape (points,)."""
    found = np.empty(len(points), dtype=np.int64)
    for k in range(len(points)):
        point, normal = points[k], normals[k]
        taxel = nearest_taxel(pad, cloud, (point[0], point[1], point[2]), (normal[0], normal[1], normal[2]))
        found[k] = taxel - pad.taxel if taxel >= 0 else -1
    return found
