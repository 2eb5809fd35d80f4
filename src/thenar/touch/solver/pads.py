"""Pads of a hand as plain records: charts on the skin, and where the numbers of their taxels begin."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from thenar.arrays import FloatArray
from thenar.hands.pad_charts import ellipsoid_bend, pad_axes, points_on_skin, taxel_grid
from thenar.hands.shapes import Capsule, Cylinder, Sphere
from thenar.hands.spec import Pad, SkinSpec
from thenar.touch.solver.taxel_cloud import Cloud, build_cloud
from thenar.touch.solver.touch_records import Record, dot, lean

CYLINDER_CHART, CAP_CHART, FACE_CHART, ELLIPSOID_CHART, POINTS_CHART = range(5)
CHARTS = {
    "cylinder": CYLINDER_CHART,
    "cap": CAP_CHART,
    "face": FACE_CHART,
    "ellipsoid": ELLIPSOID_CHART,
    "points": POINTS_CHART,
}
ARC_NODES, ARC_WEIGHTS = np.polynomial.legendre.leggauss(6)  # where and how heavily the length of an arc is sampled
AREA_POINTS = 4  # sub-points a side when a taxel's area is summed

PAD = np.dtype(
    [
        ("link", np.int64),  # number of the link that carries it, among the skinned links
        ("chart", np.int64),
        ("rows", np.int64),
        ("cols", np.int64),
        ("row_pitch_m", np.float64),
        ("col_pitch_m", np.float64),
        ("centre_m", np.float64, 3),
        ("e_u", np.float64, 3),
        ("e_v", np.float64, 3),
        ("normal", np.float64, 3),
        ("radius_m", np.float64),
        ("low_m", np.float64),  # a cylinder's straight part, in u
        ("high_m", np.float64),
        ("outward", np.float64, 3),  # a cap's side of its sphere
        ("bend", np.float64, (3, 3)),  # of an ellipsoid, see `ellipsoid_bend`
        ("first", np.int64),  # number of its first taxel
        ("modulus_pa", np.float64),
        ("thickness_m", np.float64),
        ("taxel", np.int64),  # number of the first of its taxels that are given points, see `taxel_cloud`
        ("first_voxel", np.int64),
        ("voxels", np.int64, 3),
        ("voxel_m", np.float64),
        ("low", np.float64, 3),
    ]
)
"""One pad in its link's frame."""


@dataclass(frozen=True, kw_only=True, eq=False)
class HandPads:
    """All pads of a hand."""

    links: tuple[str, ...]
    """Links with skin, in the order of their numbers."""
    pads: NDArray[np.void]
    """Records of `PAD`."""
    area_m2: FloatArray
    """Area of every taxel of every pad, one after the other [m^2]."""
    cloud: Cloud
    """Taxels that are given points."""


def build_pads(hand: SkinSpec, *, modulus_pa: dict[str, float], thickness_m: dict[str, float]) -> HandPads:
    """Pads of a hand as records.

    Args:
        hand: The hand.
        modulus_pa: E* of the skin under each pad [Pa].
        thickness_m: Its thickness [m]; infinite: a half-space.
    """
    pressed = {pad.link for pad in hand.pads}
    links = tuple(link.name for link in hand.links if link.skin is not None or link.name in pressed)
    records = np.zeros(len(hand.pads), dtype=PAD)
    first = 0
    for record, pad in zip(records, hand.pads, strict=True):
        _describe(hand, pad, record)
        record["link"], record["first"] = links.index(pad.link), first
        record["modulus_pa"], record["thickness_m"] = modulus_pa[pad.name], thickness_m[pad.name]
        first += pad.taxels
    areas = [taxel_areas_m2(hand, pad).ravel() for pad in hand.pads]
    cloud = build_cloud([(record, pad.points) for record, pad in zip(records, hand.pads, strict=True) if pad.points])
    return HandPads(links=links, pads=records, area_m2=np.concatenate([np.zeros(0), *areas]), cloud=cloud)


def _describe(hand: SkinSpec, pad: Pad, record: Record) -> None:
    skin = hand.link(pad.link).skin
    record["chart"] = CHARTS[pad.chart]
    for name in ("rows", "cols", "row_pitch_m", "col_pitch_m", "centre_m", "normal"):
        record[name] = getattr(pad, name)
    e_u, e_v, normal = pad_axes(pad)
    record["e_u"], record["e_v"] = e_u, e_v
    if isinstance(skin, Sphere):
        record["radius_m"] = skin.radius_m
    elif isinstance(skin, Capsule | Cylinder):
        start, end = np.asarray(skin.start_m), np.asarray(skin.end_m)
        axis = (end - start) / np.linalg.norm(end - start)
        record["radius_m"] = skin.radius_m
        record["low_m"], record["high_m"] = sorted(float((point - pad.centre_m) @ e_u) for point in (start, end))
        record["outward"] = axis * np.sign(normal @ axis)
    elif pad.chart == "ellipsoid":
        record["bend"] = ellipsoid_bend(hand, pad)


def taxel_areas_m2(hand: SkinSpec, pad: Pad) -> FloatArray:
    """Area of each taxel on the curved skin [m^2]. Shape (rows, cols)."""
    if pad.points is not None:
        return pad.points.area_m2.reshape(pad.rows, pad.cols)
    u, v = taxel_grid(pad)
    offsets = (np.arange(AREA_POINTS) + 0.5) / AREA_POINTS - 0.5
    du, dv = np.meshgrid(offsets * pad.row_pitch_m, offsets * pad.col_pitch_m)
    u, v = u + du.ravel()[:, None, None], v + dv.ravel()[:, None, None]
    step = 1e-7
    # All in one call: points one step to either side along rows, then along columns.
    aside = np.array([[step, 0.0], [-step, 0.0], [0.0, step], [0.0, -step]])[:, :, None, None, None]
    points, _ = points_on_skin(hand, pad, u + aside[:, 0], v + aside[:, 1])
    area = np.linalg.norm(np.cross(points[0] - points[1], points[2] - points[3]), axis=-1) / (4 * step * step)
    return area.mean(axis=0) * pad.row_pitch_m * pad.col_pitch_m


@lean
def chart(pad: Record, x: float, y: float, z: float) -> tuple[float, float, bool]:
    """Chart coordinates of a point on the skin [m], and whether the pad's chart reaches it. Link frame."""
    c, n = pad.centre_m, pad.normal
    d = (x - c[0], y - c[1], z - c[2])
    if pad.chart == FACE_CHART:
        return dot(d, pad.e_u), dot(d, pad.e_v), abs(dot(d, n)) < 1e-4
    if pad.chart == ELLIPSOID_CHART:
        return _ellipsoid_chart(pad, dot(d, pad.e_u), dot(d, pad.e_v), dot(d, n))
    # From the point of the axis (or the centre of the cap) under the pad's centre.
    r = pad.radius_m
    d = (d[0] + r * n[0], d[1] + r * n[1], d[2] + r * n[2])
    u, v, up = dot(d, pad.e_u), dot(d, pad.e_v), dot(d, n)
    if pad.chart == CYLINDER_CHART:
        inside = pad.low_m - 1e-9 <= u <= pad.high_m + 1e-9 and up > 0.0
        return u, r * math.atan2(v, up), inside
    aside = math.sqrt(u * u + v * v)
    factor = r * math.atan2(aside, up) / aside if aside > 1e-15 else 1.0
    return factor * u, factor * v, dot(d, pad.outward) >= -1e-9


@lean
def _ellipsoid_chart(pad: Record, u: float, v: float, up: float) -> tuple[float, float, bool]:
    """Length of the cut from the pad's centre to a point that lies so far from it; see `points_on_skin`."""
    bend = pad.bend
    reaches = 1.0 + bend[0, 2] * u + bend[1, 2] * v + bend[2, 2] * up > 0.0  # this side of the ellipsoid
    aside = math.sqrt(u * u + v * v)
    if aside < 1e-12 or not reaches:
        return u, v, reaches
    a, b = u / aside, v / aside
    k = a * a * bend[0, 0] + 2.0 * a * b * bend[0, 1] + b * b * bend[1, 1]
    t, c = a * bend[0, 2] + b * bend[1, 2], bend[2, 2]
    # The dip of the chord, from its advance alone: a point may lie a little off the surface.
    half = 1.0 + t * aside
    dip = k * aside / (half + math.sqrt(max(half * half - c * k * aside * aside, 0.0)))
    arc = 0.0
    for node in range(len(ARC_NODES)):
        m = dip * (1.0 + ARC_NODES[node]) / 2.0
        rest = k - 2.0 * t * m + c * m * m
        arc += ARC_WEIGHTS[node] / (rest * rest) * math.sqrt((k - c * m * m) ** 2 + (2.0 * m * (k - t * m)) ** 2)
    return arc * dip * a, arc * dip * b, True
