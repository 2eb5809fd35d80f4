"""Named scenes: what stands around a hand, and how the hand is held."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import get_args

from thenar.arrays import finite_vector
from thenar.errors import BadValue, look_up
from thenar.hands.shapes import Vec3
from thenar.hands.spec import Side
from thenar.sim.props import Box, Capsule, Cylinder, Ellipsoid, Prop, Sphere

PALM_DOWN: Vec3 = (0.0, math.pi, 0.0)


@dataclass(frozen=True, kw_only=True)
class Mount:
    """How a hand is held: the pose of its palm frame (z out of the palm, y towards the fingers)."""

    pos_m: Vec3 = (0.0, 0.0, 0.0)
    """Centre of the palm in the world [m]."""
    rpy_rad: Vec3 = (0.0, 0.0, 0.0)
    """Orientation of the palm frame in the world [rad]; zero is palm up, fingers along y."""
    driven: bool = False
    """True: the wrist follows `World.wrists`; False: it is fixed."""

    def __post_init__(self) -> None:
        """Refuse a pose that is none."""
        for name in ("pos_m", "rpy_rad"):
            finite_vector(f"Mount.{name}", getattr(self, name))


@dataclass(frozen=True, kw_only=True)
class Scene:
    """Surroundings of a world."""

    summary: str
    props: tuple[Prop, ...] = ()
    ground_m: float = -0.3
    """Height of the ground [m]."""
    table_m: float | None = None
    """Height of a table top [m]; None: no table."""
    mounts: Mapping[Side, Mount] = field(default_factory=dict)
    """How a hand of each side is held; hands of other sides are held palm up, side by side."""
    name: str = ""
    """What clients are told it is called, where it is not one of `SCENES`."""

    def __post_init__(self) -> None:
        """Refuse heights that are none, and mounts of hands that there cannot be."""
        for name, height_m in (("ground_m", self.ground_m), ("table_m", 0.0 if self.table_m is None else self.table_m)):
            if not (isinstance(height_m, (int, float)) and math.isfinite(height_m)):
                raise BadValue(f"Scene.{name}", height_m, "a height in metres")
        for side in self.mounts:
            look_up(dict.fromkeys(get_args(Side)), side, "side of a hand in Scene.mounts")


ORANGE: Vec3 = (0.90, 0.49, 0.16)
BLUE: Vec3 = (0.22, 0.46, 0.75)
GREEN: Vec3 = (0.32, 0.62, 0.36)
RED: Vec3 = (0.80, 0.25, 0.22)
YELLOW: Vec3 = (0.92, 0.76, 0.25)

EMPTY = Scene(summary="Nothing but the ground; the hand lies palm up in the air.")

SCENES = {
    "empty": EMPTY,
    "table": Scene(
        summary="A table with five objects; hands hover above it, palm down, wrists driven.",
        table_m=0.0,
        ground_m=-0.72,
        props=(
            Sphere(name="ball", radius_m=0.033, mass_kg=0.057, pos_m=(0.16, 0.06, 0.034), colour=YELLOW),
            Box(name="block", size_m=(0.05, 0.05, 0.05), mass_kg=0.12, pos_m=(0.05, 0.12, 0.0255), colour=RED),
            Cylinder(
                name="can",
                radius_m=0.03,
                length_m=0.10,
                mass_kg=0.25,
                pos_m=(-0.16, 0.08, 0.0505),
                colour=BLUE,
            ),
            Ellipsoid(
                name="egg",
                radii_m=(0.022, 0.022, 0.029),
                mass_kg=0.06,
                pos_m=(-0.05, 0.14, 0.0295),
                colour=ORANGE,
            ),
            Capsule(
                name="marker",
                radius_m=0.009,
                length_m=0.10,
                mass_kg=0.02,
                pos_m=(0.0, 0.03, 0.0095),
                rpy_rad=(0.0, math.pi / 2, 0.3),
                colour=GREEN,
            ),
        ),
        mounts={
            "right": Mount(pos_m=(0.16, 0.02, 0.16), rpy_rad=PALM_DOWN, driven=True),
            "left": Mount(pos_m=(-0.16, 0.02, 0.16), rpy_rad=PALM_DOWN, driven=True),
            "none": Mount(pos_m=(0.16, 0.06, 0.20), rpy_rad=PALM_DOWN, driven=True),
        },
    ),
    "cylinder_pick": Scene(
        summary="A cylinder stands on a table in front of an open hand; the wrist is driven.",
        table_m=0.0,
        ground_m=-0.72,
        props=(
            Cylinder(
                name="cylinder",
                radius_m=0.027,
                length_m=0.16,
                mass_kg=0.2,
                pos_m=(0.0, 0.0, 0.0805),
                colour=RED,
            ),
        ),
        mounts={
            # Fingers point away from the viewer, the palm looks at the cylinder.
            "right": Mount(pos_m=(0.05, -0.045, 0.10), rpy_rad=(0.0, -math.pi / 2, 0.0), driven=True),
            "left": Mount(pos_m=(-0.05, -0.045, 0.10), rpy_rad=(0.0, math.pi / 2, 0.0), driven=True),
            "none": Mount(pos_m=(0.0, 0.0, 0.30), rpy_rad=PALM_DOWN, driven=True),
        },
    ),
    "in_hand": Scene(
        summary="Hands palm up with something in them, a ball on the right and a can on the left: closing grips it.",
        props=(
            # On taxels of an open Inspire hand: the ball on the palm's, the can on those of the finger roots.
            Sphere(name="ball", radius_m=0.030, mass_kg=0.06, pos_m=(0.15, 0.005, 0.0305), colour=YELLOW),
            Cylinder(
                name="can",
                radius_m=0.022,
                length_m=0.10,
                mass_kg=0.08,
                pos_m=(-0.15, 0.055, 0.0225),
                rpy_rad=(0.0, math.pi / 2, 0.0),
                colour=BLUE,
            ),
        ),
        mounts={
            "right": Mount(pos_m=(0.15, 0.0, 0.0)),
            "left": Mount(pos_m=(-0.15, 0.0, 0.0)),
            "none": Mount(pos_m=(0.15, 0.0, -0.01)),
        },
    ),
    "palm_drop": Scene(
        summary="Cubes above an open palm, about to fall into it.",
        props=tuple(
            Box(
                name=f"cube_{k + 1}",
                size_m=(0.026, 0.026, 0.026),
                mass_kg=0.03,
                pos_m=(0.012 * (-1) ** k, 0.015 + 0.012 * k, 0.06 + 0.05 * k),
                rpy_rad=(0.3 * k, 0.2, 0.5 * k),
                colour=(RED, GREEN, BLUE, YELLOW)[k],
            )
            for k in range(4)
        ),
    ),
}


def names() -> tuple[str, ...]:
    """Names of all scenes."""
    return tuple(SCENES)


def name_of(scene: Scene) -> str:
    """The name of a scene; ``own`` for one that has none."""
    return next((name for name, known in SCENES.items() if known is scene), scene.name or "own")


def load(scene: str | Scene) -> Scene:
    """The scene of that name; a scene itself is passed on."""
    if not isinstance(scene, (str, Scene)):
        raise BadValue("scene", scene, f"a Scene or one of {', '.join(names())}")
    return look_up(SCENES, scene, "scene") if isinstance(scene, str) else scene
