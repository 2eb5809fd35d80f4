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
from thenar.touch.solver.touch_records import Record, Vector, dot, lean, minus

MAX_VOXELS = 24  # a side
MAX_UNDER = 48  # taxels under a cell
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
    under: IntArray
    """Scratch memory of `taxels_under`. Shape (MAX_UNDER,)."""


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
    under = np.zeros(MAX_UNDER, dtype=np.int64)
    return Cloud(np.concatenate(taxels), np.cumsum(np.concatenate(counts)), np.concatenate(near), under)


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


@lean
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
    return best if best >= 0 and _covers(cloud.taxels[best], point) else -1


@lean
def _covers(taxel: Record, point: Vector) -> bool:
    away = minus(point, taxel.pos_m)
    return (
        dot(away, away) <= taxel.reach_m**2
        and abs(dot(away, taxel.e_u)) <= taxel.half_m[0]
        and abs(dot(away, taxel.e_v)) <= taxel.half_m[1]
    )


@lean
def taxels_under(pad: Record, cloud: Cloud, centre: Vector, long: Vector, short: Vector, normal: Vector) -> int:
    """Write which taxels may be nearest to a point of a cell with these sides; their number, or -1 for too many.

    A cell is asked about once, and then about many of its points, see `nearest_of`.
    """
    under = cloud.under
    first, last = (0, 0, 0), (0, 0, 0)
    for a in range(3):
        half, place = 0.5 * (abs(long[a]) + abs(short[a])), centre[a] - pad.low[a]
        low = max(math.floor((place - half) / pad.voxel_m), 0)
        high = min(math.floor((place + half) / pad.voxel_m), pad.voxels[a] - 1)
        first, last = (first[1], first[2], low), (last[1], last[2], high)
    count, least = 0, math.inf
    for i in range(first[0], last[0] + 1):
        for j in range(first[1], last[1] + 1):
            for k in range(first[2], last[2] + 1):
                voxel = pad.first_voxel + (i * pad.voxels[1] + j) * pad.voxels[2] + k
                for n in range(cloud.first[voxel], cloud.first[voxel + 1]):
                    number, known = cloud.near[n], False
                    for m in range(count):
                        known = known or under[m] == number
                    taxel = cloud.taxels[number]
                    if known or dot(taxel.normal, normal) <= FACING:
                        continue
                    if count == len(under):
                        return -1
                    away = minus(centre, taxel.pos_m)
                    least = min(least, dot(away, away))
                    under[count] = number
                    count += 1
    # No point of it is farther from the centre than half its diagonals are long together.
    farthest = math.sqrt(least) + math.sqrt(dot(long, long)) + math.sqrt(dot(short, short))
    kept = 0
    for n in range(count):
        away = minus(centre, cloud.taxels[under[n]].pos_m)
        if dot(away, away) <= farthest * farthest:
            under[kept] = under[n]
            kept += 1
    return kept


@lean
def nearest_of(taxels: Record, under: IntArray, count: int, point: Vector) -> int:
    """`nearest_taxel` among those that `taxels_under` has written, so many."""
    best, least = -1, math.inf
    for k in range(count):
        away = minus(point, taxels[under[k]].pos_m)
        square = dot(away, away)
        if square < least or (square == least and under[k] < best):
            best, least = under[k], square
    return best if best >= 0 and _covers(taxels[best], point) else -1


@nb.njit(cache=True)
def share_points(pad: Record, cloud: Cloud, points: FloatArray, normals: FloatArray) -> IntArray:
    """To which taxel of the pad each point belongs, or -1. Shape (points,)."""
    found = np.empty(len(points), dtype=np.int64)
    for k in range(len(points)):
        point, normal = points[k], normals[k]
        taxel = nearest_taxel(pad, cloud, (point[0], point[1], point[2]), (normal[0], normal[1], normal[2]))
        found[k] = taxel - pad.taxel if taxel >= 0 else -1
    return found
