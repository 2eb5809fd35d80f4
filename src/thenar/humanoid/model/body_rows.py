"""Rows of the tables that bodies are written in: joints and inertias of one side, and their mirror images."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from thenar.hands.catalog.rows import Inertial, Y
from thenar.hands.shapes import Vec3
from thenar.humanoid.model.body_spec import Fixed, Gains, Hinge


class Drive(NamedTuple):
    """A motor with its gear."""

    effort_nm: float
    speed_rad_s: float
    armature_kgm2: float


class Row(NamedTuple):
    """A joint of a table: its names without side and suffix, origin in the parent, axis, limits and drive."""

    joint: str
    parent: str
    child: str
    pos_m: Vec3
    axis: Vec3
    limits_rad: tuple[float, float]
    drive: Drive
    rpy_rad: Vec3 = (0.0, 0.0, 0.0)


def hinges(
    rows: tuple[Row, ...],
    side: str = "",
    *,
    trunk: Mapping[str, str],
    asymmetric: Mapping[str, Mapping[str, Any]],
    source: str,
    damping_nms_rad: float,
    friction_nm: float,
) -> tuple[Hinge, ...]:
    """The joints of a table of the left side, on a side or in the middle of the body.

    Args:
        rows: The table.
        side: ``left``, ``right``, or empty for the middle.
        trunk: Links that belong to no side, by their names in the table.
        asymmetric: What the right side has elsewhere than the mirror image of the left, by joint.
        source: Where the numbers come from.
        damping_nms_rad: Of every joint [N m s/rad].
        friction_nm: Of every joint [N m].
    """
    mirrored, prefix = side == "right", f"{side}_" if side else ""
    found = []
    for row in rows:
        (x, y, z), (roll, pitch, yaw), (lower, upper) = row.pos_m, row.rpy_rad, row.limits_rad
        if mirrored:
            y, roll, yaw = -y, -roll, -yaw
            lower, upper = (lower, upper) if row.axis == Y else (-upper, -lower)
        name = f"{prefix}{row.joint}_joint"
        places = {"pos_m": (x, y, z), "rpy_rad": (roll, pitch, yaw), **asymmetric.get(name, {})}
        hinge = Hinge(
            name=name,
            parent=trunk.get(row.parent, f"{prefix}{row.parent}_link"),
            child=f"{prefix}{row.child}_link",
            axis=row.axis,
            lower_rad=lower,
            upper_rad=upper,
            damping_nms_rad=damping_nms_rad,
            friction_nm=friction_nm,
            source=source,
            **places,
            **row.drive._asdict(),
        )
        found.append(hinge)
    return tuple(found)


def fixed(name: str, parent: str, pos_m: Vec3, rpy_rad: Vec3 = (0.0, 0.0, 0.0)) -> Fixed:
    """A link that does not move in its parent; both names as in the tables, without ``_link``."""
    return Fixed(name=f"{name}_joint", parent=f"{parent}_link", child=f"{name}_link", pos_m=pos_m, rpy_rad=rpy_rad)


def both_sides(table: Mapping[str, Inertial]) -> dict[str, Inertial]:
    """Inertias of both sides from those of the left."""
    left = {f"left_{name}": inertial for name, inertial in table.items()}
    return left | {f"right_{name}": _mirrored(inertial) for name, inertial in table.items()}


def gains(groups: tuple[str, ...], source: str) -> Gains:
    """Gains of each group as makers write them: stiffnesses, a slash, dampings."""
    split = [group.split("/") for group in groups]
    kp, kd = (tuple(float(gain) for group in split for gain in group[half].split(",")) for half in (0, 1))
    return Gains(kp_nm_rad=kp, kd_nms_rad=kd, source=source)


def _mirrored(inertial: Inertial) -> Inertial:
    mass_kg, (x, y, z), (xx, yy, zz, xy, xz, yz) = inertial
    return mass_kg, (x, -y, z), (xx, yy, zz, -xy, xz, -yz)
