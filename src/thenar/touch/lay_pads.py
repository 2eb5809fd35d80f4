"""From pads on geoms to pads on skins: a chart where the geom has one, else points laid along its surface."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Literal

import numba as nb
import numpy as np

from thenar.arrays import BoolArray, FloatArray, IntArray
from thenar.errors import BadValue
from thenar.hands.pad_charts import pad_axes, points_on_skin, taxel_grid, taxel_points
from thenar.hands.rotations import matrix_from_rpy
from thenar.hands.shapes import Box, Capsule, Cylinder, Ellipsoid, Shape, Sphere, as_vec3
from thenar.hands.spec import Pad, SkinSpec, TaxelPoints
from thenar.touch.geom_pads import CoverPad, GeomPad, GridPad, TaxelPad
from thenar.touch.solver.pads import AREA_POINTS, PAD, POINTS_CHART, HandPads, chart
from thenar.touch.solver.taxel_cloud import Cloud, build_cloud, nearest_taxel, share_points
from thenar.touch.solver.touch_records import Record
from thenar.touch.surfaces import Surface, across

OFF_M = 1e-3  # as far from the surface a place may be given
WIDEST = math.cos(math.radians(75.0))  # a grid may bend away from its centre's normal by as much
ARC_STEPS = 24
FINE_AREA = 10  # samples a side of a taxel when its area is summed
MAX_COVER = 20_000  # taxels; laying more would take many minutes
COVER_ROUNDS = 6  # of moving taxels to the middle of what is theirs
BESIDE = 0.45  # of a taxel: where its corners are looked for when pads are checked for overlap
SOURCE = "the pads given to attach"


def lay_pad(pad: GeomPad, surface: Surface) -> Pad:
    """A pad as the solver knows it; one that does not fit its geom is refused by name."""
    match pad:
        case GridPad():
            return _lay_grid(pad, surface)
        case TaxelPad():
            return _lay_taxels(pad, surface)
        case CoverPad():
            return _lay_cover(pad, surface)


def _lay_grid(pad: GridPad, surface: Surface) -> Pad:
    centre, normal = _place(pad, surface)
    pitch = pad.size_m[0] / pad.rows, pad.size_m[1] / pad.cols
    row_axis = _along(surface.axis if pad.row_axis is None else np.asarray(pad.row_axis, dtype=np.float64), normal)
    laid = Pad(
        name=pad.name,
        link=surface.name,
        rows=pad.rows,
        cols=pad.cols,
        row_pitch_m=pitch[0],
        col_pitch_m=pitch[1],
        chart=_chart_of(surface.shape, pad, centre, normal, row_axis),
        centre_m=as_vec3(centre),
        row_axis=as_vec3(row_axis),
        normal=as_vec3(normal),
        sensor=pad.sensor,
        proximity_range_m=pad.proximity_range_m,
        source=SOURCE,
    )
    if laid.chart != "points":
        return laid
    u, v = (grid.ravel() for grid in taxel_grid(laid))
    points = _along_surface(laid, surface, u, v)
    normals = surface.slopes(points, normal)
    if np.any(normals @ normal < WIDEST):
        raise _too_large(pad.name, pad.size_m)
    row_axes = row_axis - (normals @ row_axis)[:, None] * normals
    half = np.broadcast_to(0.5 * np.array(pitch), (len(u), 2))
    taxels = TaxelPoints(
        points_m=points,
        normals=normals,
        row_axes=row_axes / np.linalg.norm(row_axes, axis=1, keepdims=True),
        half_m=half,
        reach_m=np.full(len(u), 1.3 * math.hypot(*pitch) / 2),
        area_m2=_grid_areas(laid, surface, u, v),
    )
    return replace(laid, points=taxels)


def _place(pad: GridPad, surface: Surface) -> tuple[FloatArray, FloatArray]:
    """Centre on the surface and outward normal there."""
    if pad.towards is not None:
        way = np.asarray(pad.towards, dtype=np.float64)
        way = way / np.linalg.norm(way)
        seen = surface.centre_m
        height = surface.heights(seen[None], way)[0]
        near = seen + height * way
    else:
        near = np.asarray(pad.centre_m, dtype=np.float64)
        points, normals, _ = surface.samples(0.1 * float(np.ptp(surface.triangles.reshape(-1, 3), axis=0).max()))
        way = normals[np.argmin(np.linalg.norm(points - near, axis=1))]
    for _ in range(3):  # straight down onto the surface
        height = surface.heights(near[None], way)[0]
        if not math.isfinite(height) or (pad.centre_m is not None and abs(height) > OFF_M):
            raise BadValue(f"centre of pad {pad.name!r}", pad.centre_m or pad.towards, "a place on its geom")
        near = near + height * way
        way = surface.slopes(near[None], way)[0]
    shape = surface.shape
    return near, way if shape is None else _exact_normal(shape, near, way)


def _exact_normal(shape: Shape, point: FloatArray, near: FloatArray) -> FloatArray:
    """The outward normal of an analytic shape, without the error of having been measured."""
    match shape:
        case Sphere() | Capsule() | Cylinder():
            axis_point = np.asarray(shape.centre_m) if isinstance(shape, Sphere) else _nearest_on_axis(shape, point)
            out = point - axis_point
            if isinstance(shape, Cylinder) and abs(near @ _rod_axis(shape)) > 0.7:
                out = _rod_axis(shape) * np.sign(near @ _rod_axis(shape))
            return out / np.linalg.norm(out)
        case _:
            return near


def _rod_axis(rod: Capsule | Cylinder) -> FloatArray:
    return np.subtract(rod.end_m, rod.start_m) / rod.length_m


def _nearest_on_axis(rod: Capsule | Cylinder, point: FloatArray) -> FloatArray:
    along = float(np.clip((point - rod.start_m) @ _rod_axis(rod), 0.0, rod.length_m))
    return np.asarray(rod.start_m) + along * _rod_axis(rod)


def _chart_of(
    shape: Shape | None, pad: GridPad, centre: FloatArray, normal: FloatArray, row_axis: FloatArray
) -> Literal["cylinder", "cap", "face", "ellipsoid", "points"]:
    """The exact chart that a pad has on its geom, or points."""
    half_u, half_v = pad.size_m[0] / 2, pad.size_m[1] / 2
    widest = math.radians(75.0)
    match shape:
        case Sphere():
            if math.hypot(half_u, half_v) > widest * shape.radius_m:
                raise _too_large(pad.name, pad.size_m)
            return "cap"
        case Ellipsoid():
            return "ellipsoid" if math.hypot(half_u, half_v) < 0.8 * min(shape.half_m) else "points"
        case Box():
            corners = [
                centre + a * half_u * row_axis + b * half_v * np.cross(normal, row_axis)
                for a in (-1, 1)
                for b in (-1, 1)
            ]
            off = np.abs((np.array(corners) - shape.centre_m) @ matrix_from_rpy(shape.rpy_rad)) - shape.half_m
            if np.any(off > 1e-6):
                raise _too_large(pad.name, pad.size_m)
            return "face"
        case Capsule() | Cylinder():
            axis = _rod_axis(shape)
            along = float((centre - shape.start_m) @ axis)
            if abs(normal @ axis) < 1e-6 and abs(row_axis @ axis) > 1.0 - 1e-9:
                if half_u - 1e-9 <= min(along, shape.length_m - along):
                    if half_v > widest * shape.radius_m:
                        raise _too_large(pad.name, pad.size_m)
                    return "cylinder"
                if isinstance(shape, Cylinder):
                    raise _too_large(pad.name, pad.size_m)
            if isinstance(shape, Cylinder) and abs(normal @ axis) > 1.0 - 1e-9:
                away = float(np.linalg.norm(centre - shape.start_m - along * axis))
                if away + math.hypot(half_u, half_v) > shape.radius_m:
                    raise _too_large(pad.name, pad.size_m)
                return "face"
            beyond = max(-along, along - shape.length_m)  # of the ball at this end, how far the pad's centre is out
            if isinstance(shape, Capsule) and beyond > 0.0:
                angle = math.asin(min(beyond + 1e-9, shape.radius_m) / shape.radius_m)
                return "cap" if math.hypot(half_u, half_v) < angle * shape.radius_m else "points"
            return "points"
        case _:
            return "points"


def _too_large(name: str, size_m: tuple[float, float]) -> BadValue:
    return BadValue(f"size_m of pad {name!r}", size_m, "one that stays on its geom; move it, or make several pads")


def _along_surface(pad: Pad, surface: Surface, u_m: FloatArray, v_m: FloatArray) -> FloatArray:
    """Points at these distances along the surface: true along every cut through the normal at the pad's centre."""
    e_u, e_v, normal = pad_axes(pad)
    distance = np.hypot(u_m, v_m)
    safe = np.where(distance > 0.0, distance, 1.0)
    way = (u_m / safe)[:, None] * e_u + (v_m / safe)[:, None] * e_v
    steps = np.linspace(0.0, 1.0, ARC_STEPS + 1)
    flat = distance[:, None] * steps  # no arc is longer than its distance
    grid = np.asarray(pad.centre_m) + flat[..., None] * way[:, None]
    height = surface.heights(grid.reshape(-1, 3), normal).reshape(flat.shape)
    length = np.hypot(np.diff(flat), np.diff(np.where(np.isfinite(height), height, math.nan)))
    arc = np.concatenate([np.zeros((len(flat), 1)), np.cumsum(length, axis=1)], axis=1)
    arc = np.where(np.isfinite(arc), arc, math.inf)
    if not np.all((np.isfinite(arc) & (arc >= distance[:, None] - 1e-12)).any(axis=1)):
        raise _too_large(pad.name, (pad.rows * pad.row_pitch_m, pad.cols * pad.col_pitch_m))
    reached = np.array([np.interp(d, a, f) for d, a, f in zip(distance, arc, flat, strict=True)])
    foot = np.asarray(pad.centre_m) + reached[:, None] * way
    return foot + surface.heights(foot, normal)[:, None] * normal


def _grid_areas(pad: Pad, surface: Surface, u_m: FloatArray, v_m: FloatArray) -> FloatArray:
    """Area of each taxel of a grid that is laid along a surface [m^2]."""
    offsets = (np.arange(AREA_POINTS) + 0.5) / AREA_POINTS - 0.5
    step = 0.2 / AREA_POINTS * min(pad.row_pitch_m, pad.col_pitch_m)
    total = np.zeros(len(u_m))
    for a in offsets * pad.row_pitch_m:
        for b in offsets * pad.col_pitch_m:
            u, v = u_m + a, v_m + b
            along = _along_surface(pad, surface, u + step, v) - _along_surface(pad, surface, u - step, v)
            side = _along_surface(pad, surface, u, v + step) - _along_surface(pad, surface, u, v - step)
            total += np.linalg.norm(np.cross(along, side), axis=1) / (4 * step * step)
    return total / AREA_POINTS**2 * pad.row_pitch_m * pad.col_pitch_m


def _lay_taxels(pad: TaxelPad, surface: Surface) -> Pad:
    points = np.array(pad.points_m, dtype=np.float64)  # a copy: they are moved onto the surface
    normals = np.asarray(pad.normals, dtype=np.float64)
    normals = normals / np.linalg.norm(normals, axis=1, keepdims=True)
    for k, (point, normal) in enumerate(zip(points, normals, strict=True)):
        height = surface.heights(point[None], normal)[0]
        if not abs(height) < OFF_M:
            wanted = f"a place within {1e3 * OFF_M:g} mm of its geom, along a normal that points out of it"
            raise BadValue(f"taxel {k} of pad {pad.name!r}", point.round(5).tolist(), wanted)
        points[k] = point + height * normal
    if len(points) > 1:
        apart = np.linalg.norm(points[:, None] - points, axis=2) + np.diag(np.full(len(points), math.inf))
        if apart.min() < 1e-6:
            raise BadValue(
                f"points_m of pad {pad.name!r}", int(apart.min(axis=1).argmin()), "no two taxels in one place"
            )
        spacing = apart.min(axis=1)
    else:
        spacing = np.full(1, math.sqrt(float(pad.area_m2[0])) if pad.area_m2 is not None else 2e-3)
    reach = 0.75 * (np.sqrt(np.asarray(pad.area_m2)) * 1.5 if pad.area_m2 is not None else spacing)
    return _free_pad(pad, surface, points, normals, reach, float(np.median(spacing)), pad.area_m2)


def _lay_cover(pad: CoverPad, surface: Surface) -> Pad:
    _, _, areas = _covered(pad, surface, math.inf)
    if areas.sum() > MAX_COVER * pad.spacing_m**2:
        wanted = f"one that makes at most {MAX_COVER} taxels; these would be {areas.sum() / pad.spacing_m**2:.0f}"
        raise BadValue(f"spacing_m of pad {pad.name!r}", pad.spacing_m, wanted)
    points, normals, areas = _covered(pad, surface, pad.spacing_m / 4)
    count = round(float(areas.sum()) / pad.spacing_m**2)
    if count < 1:
        raise BadValue(f"spacing_m of pad {pad.name!r}", pad.spacing_m, "less than its geom is wide")
    # The farthest point of what is left, again and again; then each to the middle of what is nearest to it.
    chosen = [0]
    nearest = np.linalg.norm(points - points[0], axis=1)
    for _ in range(count - 1):
        chosen.append(int(nearest.argmax()))
        nearest = np.minimum(nearest, np.linalg.norm(points - points[chosen[-1]], axis=1))
    taxels, facing = points[chosen], normals[chosen]
    reach = np.full(count, 1.5 * pad.spacing_m)
    for _ in range(COVER_ROUNDS):
        owner = _owners(taxels, facing, reach, points, normals)
        mine = owner >= 0
        for axis in range(3):
            total = np.bincount(owner[mine], areas[mine], minlength=count)
            middle = np.bincount(owner[mine], areas[mine] * points[mine, axis], minlength=count)
            taxels[:, axis] = np.where(total > 0.0, middle / np.where(total > 0.0, total, 1.0), taxels[:, axis])
        # Back onto the surface: the sample that is nearest to the middle.
        gap = np.linalg.norm(points[mine] - taxels[owner[mine]], axis=1)
        order = np.lexsort((gap, owner[mine]))
        owners, first = np.unique(owner[mine][order], return_index=True)
        taxels[owners] = points[mine][order[first]]
        facing[owners] = normals[mine][order[first]]
    return _free_pad(pad, surface, taxels, facing, reach, pad.spacing_m, None)


def _covered(pad: CoverPad, surface: Surface, step_m: float) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Points, normals and areas of the part of a surface that a pad covers, see `Surface.samples`."""
    points, normals, areas = surface.samples(step_m)
    if pad.towards is None:
        return points, normals, areas
    way = np.asarray(pad.towards) / np.linalg.norm(pad.towards)
    there = normals @ way > math.cos(math.radians(pad.within_deg))
    return points[there], normals[there], areas[there]


def _free_pad(
    pad: TaxelPad | CoverPad,
    surface: Surface,
    points: FloatArray,
    normals: FloatArray,
    reach_m: FloatArray,
    spacing_m: float,
    area_m2: FloatArray | None,
) -> Pad:
    """A pad of taxels that lie anywhere."""
    if area_m2 is None:
        fine, outward, areas = surface.samples(spacing_m / FINE_AREA)
        owner = _owners(points, normals, reach_m, fine, outward)
        summed = np.bincount(owner[owner >= 0], areas[owner >= 0], minlength=len(points)).astype(np.float64)
        if np.any(summed <= 0.0):
            k = int(np.argmin(summed))
            raise BadValue(
                f"taxel {k} of pad {pad.name!r}", points[k].round(5).tolist(), "one with some area of its own"
            )
        area_m2 = summed
    wanted = surface.axis if pad.row_axis is None else np.asarray(pad.row_axis, dtype=np.float64)
    wanted = wanted / np.linalg.norm(wanted)
    row_axes = np.array([_along(wanted, normal) for normal in normals])
    mean = normals.mean(axis=0)
    normal = mean / np.linalg.norm(mean) if np.linalg.norm(mean) > 0.1 else across(wanted)
    taxels = TaxelPoints(
        points_m=points,
        normals=normals,
        row_axes=row_axes,
        half_m=np.full((len(points), 2), math.inf),
        reach_m=np.asarray(reach_m, dtype=np.float64),
        area_m2=np.asarray(area_m2, dtype=np.float64),
    )
    laid = Pad(
        name=pad.name,
        link=surface.name,
        rows=len(points),
        cols=1,
        row_pitch_m=spacing_m,
        col_pitch_m=spacing_m,
        chart="points",
        centre_m=as_vec3(points.mean(axis=0)),
        row_axis=as_vec3(_along(wanted, normal)),
        normal=as_vec3(normal),
        sensor=pad.sensor,
        proximity_range_m=pad.proximity_range_m,
        source=SOURCE,
    )
    return replace(laid, points=taxels)


def _owners(
    taxels: FloatArray, facing: FloatArray, reach_m: FloatArray, points: FloatArray, normals: FloatArray
) -> IntArray:
    """Which of these taxels each point of the surface belongs to, or -1. Shape (points,)."""
    record = np.zeros(1, dtype=PAD)
    row_axes = np.array([across(normal) for normal in facing])
    free = np.full((len(taxels), 2), math.inf)
    lone = TaxelPoints(
        points_m=taxels, normals=facing, row_axes=row_axes, half_m=free, reach_m=reach_m, area_m2=np.ones(len(taxels))
    )
    cloud = build_cloud([(record[0], lone)])
    return share_points(record[0], cloud, np.ascontiguousarray(points), np.ascontiguousarray(normals))


def _along(axis: FloatArray, normal: FloatArray) -> FloatArray:
    """The unit vector along the skin that is nearest to an axis; any one where the axis looks out of it."""
    flat = axis - (axis @ normal) * normal
    size = np.linalg.norm(flat)
    return flat / size if size > 1e-6 * np.linalg.norm(axis) else across(normal)


def check_overlaps(spec: SkinSpec, laid: HandPads) -> None:
    """Refuse two pads that claim the same place of one skin."""
    for k, pad in enumerate(spec.pads):
        points, normals = _claims(spec, pad)
        for other in range(len(spec.pads)):
            if other == k or spec.pads[other].link != pad.link:
                continue
            if np.any(_are_on_pad(laid.pads[other], laid.cloud, points, normals)):
                raise BadValue(f"place of pad {pad.name!r}", pad.centre_m, f"one beside pad {spec.pads[other].name!r}")


def _claims(spec: SkinSpec, pad: Pad) -> tuple[FloatArray, FloatArray]:
    """Centres of a pad's taxels and, where it is a grid, places near their corners, with normals."""
    points, normals = (part.reshape(-1, 3) for part in taxel_points(spec, pad))
    found = [(points, normals)]
    u, v = taxel_grid(pad)
    for a in (-BESIDE, BESIDE):
        for b in (-BESIDE, BESIDE):
            if pad.points is None:
                corner = points_on_skin(spec, pad, u + a * pad.row_pitch_m, v + b * pad.col_pitch_m)
                found.append((corner[0].reshape(-1, 3), corner[1].reshape(-1, 3)))
            elif np.all(np.isfinite(pad.points.half_m)):
                side = 2 * pad.points.half_m[:, :1] * a * pad.points.row_axes
                side = side + 2 * pad.points.half_m[:, 1:] * b * np.cross(normals, pad.points.row_axes)
                found.append((points + side, normals))
    return np.concatenate([f[0] for f in found]), np.concatenate([f[1] for f in found])


@nb.njit(cache=True)
def _are_on_pad(pad: Record, cloud: Cloud, points: FloatArray, normals: FloatArray) -> BoolArray:
    """Which of these points of the skin lie on a taxel of the pad. Shape (points,)."""
    found = np.zeros(len(points), dtype=np.bool_)
    for k in range(len(points)):
        if pad.chart == POINTS_CHART:
            normal = (normals[k, 0], normals[k, 1], normals[k, 2])
            found[k] = nearest_taxel(pad, cloud, (points[k, 0], points[k, 1], points[k, 2]), normal) >= 0
        else:
            u, v, reaches = chart(pad, points[k, 0], points[k, 1], points[k, 2])
            inside = abs(u) < pad.rows * pad.row_pitch_m / 2 and abs(v) < pad.cols * pad.col_pitch_m / 2
            found[k] = reaches and inside
    return found
