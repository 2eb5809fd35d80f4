"""Pads on the geoms of any model: plain data, all in the frame of the geom's body, in metres."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, TypeAlias, get_args

import numpy as np

from thenar.arrays import FloatArray
from thenar.errors import BadValue
from thenar.hands.shapes import Vec3
from thenar.touch.taxel_files import read_taxels

GeomName: TypeAlias = str | int | tuple[str | int, ...]
"""A geom by name or number, the pieces that make up one surface, or a body: all of its geoms that collide."""
SensorKind: TypeAlias = Literal["force", "barometer"]


@dataclass(frozen=True, kw_only=True)
class GridPad:
    """Rows and columns of taxels, laid along the surface of a geom."""

    name: str
    geom: GeomName
    rows: int
    cols: int
    size_m: tuple[float, float]
    """Length along the rows' numbers and along the columns', measured on the surface [m]."""
    centre_m: Vec3 | None = None
    """Its centre, on the surface or within a millimetre of it [m]; or say `towards`."""
    towards: Vec3 | None = None
    """The direction in which its centre is seen from the geom's middle."""
    row_axis: Vec3 | None = None
    """Direction of growing row; None: along the geom's own axis (z of a rod, x of others)."""
    sensor: SensorKind = "force"
    proximity_range_m: float = 0.0
    """How far it feels a thing that does not touch yet [m]; 0: it does not."""


@dataclass(frozen=True, kw_only=True, eq=False)
class TaxelPad:
    """Taxels at given places: a point of the surface belongs to the nearest of them."""

    name: str
    geom: GeomName
    points_m: FloatArray
    """Shape (n, 3)."""
    normals: FloatArray
    """Directions out of the surface. Shape (n, 3)."""
    area_m2: FloatArray | None = None
    """Area of each; None: what is nearest to it, within three quarters of the distance to its nearest neighbor."""
    row_axis: Vec3 | None = None
    """Direction in which the first part of shear is counted; None: along the geom's own axis."""
    sensor: SensorKind = "force"
    proximity_range_m: float = 0.0
    """How far it feels a thing that does not touch yet [m]; 0: it does not."""

    @classmethod
    def read(
        cls, name: str, geom: GeomName, path: str | Path, *, group: str | None = None, scale: float = 1.0
    ) -> TaxelPad:
        """Taxels of a file: rows of a CSV (x, y, z, nx, ny, nz), or the faces of an STL or OBJ, each a taxel.

        Args:
            name: Of the pad.
            geom: What it lies on.
            path: The file, in the frame of the geom's body.
            group: Of an OBJ (``g``, ``o`` or ``usemtl``) of which only one group of faces is meant.
            scale: Metres per unit of the file.
        """
        points_m, normals, area_m2 = read_taxels(Path(path), name, group, scale)
        return cls(name=name, geom=geom, points_m=points_m, normals=normals, area_m2=area_m2)


@dataclass(frozen=True, kw_only=True)
class CoverPad:
    """Taxels all over a geom, or over the side of it that looks in one direction."""

    name: str
    geom: GeomName
    spacing_m: float = 0.002
    """About how far taxels are apart [m]."""
    towards: Vec3 | None = None
    """Only what looks in this direction; None: everywhere."""
    within_deg: float = 70.0
    """How far from that direction the surface's normal may be."""
    row_axis: Vec3 | None = None
    """Direction in which the first part of shear is counted; None: along the geom's own axis."""
    sensor: SensorKind = "force"
    proximity_range_m: float = 0.0
    """How far it feels a thing that does not touch yet [m]; 0: it does not."""


GeomPad: TypeAlias = GridPad | TaxelPad | CoverPad


def check_pads(pads: Sequence[GeomPad]) -> None:
    """Refuse what no geom is needed to see: numbers that are none, no area, names that come twice."""
    names = [pad.name for pad in pads]
    for pad in pads:
        what = f"pad {pad.name!r}"
        if not pad.name or names.count(pad.name) > 1:
            raise BadValue("name of a pad", pad.name, "a name of its own for every pad")
        if isinstance(pad.geom, tuple) and not pad.geom:
            raise BadValue(f"geom of {what}", pad.geom, "the name or number of a geom, or several of them")
        if pad.sensor not in get_args(SensorKind):
            raise BadValue(f"sensor of {what}", pad.sensor, " or ".join(get_args(SensorKind)))
        match pad:
            case GridPad():
                if not all(isinstance(count, int | np.integer) and count >= 1 for count in (pad.rows, pad.cols)):
                    raise BadValue(f"rows and cols of {what}", (pad.rows, pad.cols), "whole numbers from 1 on")
                if np.shape(pad.size_m) != (2,):
                    raise BadValue(f"size_m of {what}", pad.size_m, "a length along rows and one along columns")
                _check_positive(f"size_m of {what}", pad.size_m)
                if (pad.centre_m is None) == (pad.towards is None):
                    raise BadValue(f"place of {what}", pad.centre_m, "either centre_m or towards")
            case TaxelPad():
                for field, values in (("points_m", pad.points_m), ("normals", pad.normals)):
                    shape = np.shape(values)
                    if len(shape) != 2 or shape[1] != 3 or not len(values):
                        raise BadValue(f"{field} of {what}", shape, "numbers of shape (taxels, 3)")
                    if len(wrong := np.flatnonzero(~np.isfinite(values).all(axis=1))):
                        got = np.asarray(values)[wrong[0]].tolist()
                        raise BadValue(f"{field} of taxel {wrong[0]} of {what}", got, "finite numbers")
                count = len(pad.points_m)
                if len(pad.normals) != count:
                    raise BadValue(f"normals of {what}", len(pad.normals), f"as many as points, {count}")
                if np.any(np.linalg.norm(pad.normals, axis=1) < 1e-9):
                    raise BadValue(f"normals of {what}", 0.0, "directions with a length")
                if pad.area_m2 is not None:
                    if np.shape(pad.area_m2) != (count,):
                        got = f"of shape {np.shape(pad.area_m2)}"
                        raise BadValue(f"area_m2 of {what}", got, f"a number for each of the points, {count}")
                    _check_positive(f"area_m2 of {what}", pad.area_m2)
            case CoverPad():
                _check_positive(f"spacing_m of {what}", (pad.spacing_m,))
                if not 0.0 < pad.within_deg <= 180.0:
                    raise BadValue(f"within_deg of {what}", pad.within_deg, "an angle above 0, at most 180")
        if not 0.0 <= pad.proximity_range_m < np.inf:
            raise BadValue(f"proximity_range_m of {what}", pad.proximity_range_m, "a distance, or 0 for none")
        for field in ("centre_m", "towards", "row_axis"):
            direction = getattr(pad, field, None)
            if direction is not None and (np.shape(direction) != (3,) or not np.all(np.isfinite(direction))):
                raise BadValue(f"{field} of {what}", direction, "three numbers")
            if direction is not None and field != "centre_m" and np.linalg.norm(direction) < 1e-9:
                raise BadValue(f"{field} of {what}", direction, "a direction with a length")


def _check_positive(field: str, values: Sequence[float] | FloatArray) -> None:
    numbers = np.asarray(values, dtype=np.float64)
    if not np.all(np.isfinite(numbers)) or np.any(numbers <= 0.0):
        got = values if len(numbers) < 4 else float(numbers.min())
        raise BadValue(field, got, "lengths and areas above 0")
