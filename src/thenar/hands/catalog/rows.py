"""Rows of a hand's tables into links, joints and actuators: what the files of the catalogue share."""

from __future__ import annotations

from dataclasses import replace

from thenar.hands.shapes import Shape, Vec3, Visual
from thenar.hands.spec import Actuator, Joint, LeadScrew, Link, Servo

Inertial = tuple[float, Vec3, tuple[float, float, float, float, float, float]]
"""Mass [kg], centre [m], ixx iyy izz ixy ixz iyz about it [kg m^2]."""

NO_TURN: Vec3 = (0.0, 0.0, 0.0)
X: Vec3 = (1.0, 0.0, 0.0)
Y: Vec3 = (0.0, 1.0, 0.0)
Z: Vec3 = (0.0, 0.0, 1.0)

# Assumed: gears and linkage of a finger, of the order of the finger's own inertia.
DRIVEN = {"armature_kgm2": 1e-4}
COUPLED = {"armature_kgm2": 1e-5, "damping_nms_rad": 5e-4}


def weighed_link(
    name: str,
    inertial: Inertial,
    source: str,
    *,
    skin: Shape | None = None,
    collision: tuple[Shape, ...] = (),
    visuals: tuple[Visual, ...],
) -> Link:
    """A link whose mass, centre and inertia its maker publishes, with its shapes."""
    mass_kg, com_m, inertia_kgm2 = inertial
    return Link(
        name=name,
        mass_kg=mass_kg,
        source=source,
        com_m=com_m,
        inertia_kgm2=inertia_kgm2,
        skin=skin,
        collision=collision,
        visuals=visuals,
    )


def hinge(
    name: str,
    parent: str,
    child: str,
    pos_m: Vec3,
    rpy_rad: Vec3,
    axis: Vec3,
    lower_rad: float,
    upper_rad: float,
    source: str,
    **dynamics: float,
) -> Joint:
    """A joint from one row of a table; its fields in their order, then damping, armature and springs by name."""
    joint = Joint(
        name=name,
        parent=parent,
        child=child,
        pos_m=pos_m,
        rpy_rad=rpy_rad,
        axis=axis,
        lower_rad=lower_rad,
        upper_rad=upper_rad,
        source=source,
    )
    return replace(joint, **dynamics)


def actuator(
    name: str,
    drives: str,
    closed_rad: float,
    motor: LeadScrew | Servo,
    *,
    lower_rad: float | None = None,
    upper_rad: float | None = None,
) -> Actuator:
    """A motor that is open at 0 rad; without limits of its own it goes from there to closed.

    Args:
        name: The maker's name for it.
        drives: Joint or tendon that it moves.
        closed_rad: Angle with the finger closed [rad].
        motor: What kind of motor it is.
        lower_rad: Smallest angle it may be sent to [rad].
        upper_rad: Largest angle it may be sent to [rad].
    """
    return Actuator(
        name=name,
        drives=drives,
        open_rad=0.0,
        closed_rad=closed_rad,
        lower_rad=min(0.0, closed_rad) if lower_rad is None else lower_rad,
        upper_rad=max(0.0, closed_rad) if upper_rad is None else upper_rad,
        motor=motor,
    )
