"""Contacts of a world: for people (`ContactSet`) and for skins (`SolidContacts`)."""

from __future__ import annotations

import enum
from collections.abc import Sequence
from dataclasses import dataclass, fields, replace

import numpy as np
from numpy.typing import NDArray

from thenar.arrays import FloatArray, IntArray
from thenar.errors import BadValue
from thenar.signals.value import Value


class SolidKind(enum.IntEnum):
    """Shapes that can touch. Each is convex; a body may have several."""

    SPHERE = 0
    CAPSULE = 1
    CYLINDER = 2
    BOX = 3
    ROUNDED_BOX = 4
    ELLIPSOID = 5
    PLANE = 6
    HULL = 7
    OTHER = 8
    """One that lines cannot be asked about: a contact on it is felt at its points."""


SOLID = np.dtype(
    [
        ("kind", np.int64),
        ("size_m", np.float64, 4),
        ("pos_m", np.float64, 3),
        ("R", np.float64, (3, 3)),
        ("body", np.int64),
        ("first", np.int64),
        ("count", np.int64),
    ]
)
"""One convex solid with its pose in the world.

``size_m``: sphere radius; capsule and cylinder radius, half length (along z); box half edges; rounded box inner half
edges and radius; ellipsoid radii. A hull owns ``count`` planes from ``first`` on. ``body`` numbers the rigid body the
solid belongs to; -1: it is only seen and touches nothing.
"""


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class ContactSet(Value):
    """Contacts of one instant, in world axes. Shapes use n = contacts.

    Force and normal are written from the side of `body`: the normal points out of it into `partner`, and
    `force_n` acts on it.
    """

    stamp_s: float
    """Time of the contacts [s]."""
    body: tuple[str, ...]
    """The body the force acts on: the hand's link where a hand takes part."""
    partner: tuple[str, ...]
    """The other body."""
    position_m: FloatArray
    """Contact point [m]. Shape (n, 3)."""
    normal: FloatArray
    """Unit vector out of `body` into `partner`. Shape (n, 3)."""
    force_n: FloatArray
    """Whole contact force on `body` [N]. Shape (n, 3)."""
    normal_force_n: FloatArray
    """Size of its normal part, never negative [N]. Shape (n,)."""
    tangent_force_n: FloatArray
    """Its friction part [N]. Shape (n, 3)."""
    friction: FloatArray
    """Sliding friction coefficient of the pair. Shape (n,)."""
    depth_m: FloatArray
    """Overlap of the two shapes, positive when they interpenetrate [m]. Shape (n,)."""

    def __len__(self) -> int:
        """Number of contacts."""
        return len(self.body)

    def where(self, keep: Sequence[bool]) -> ContactSet:
        """Only the contacts marked in ``keep``, which has a mark for each."""
        if len(keep) != len(self):
            raise BadValue("keep", f"{len(keep)} marks", f"{len(self)}, one for each contact")
        chosen = np.flatnonzero(np.asarray(keep, dtype=bool))
        columns = {column.name: getattr(self, column.name) for column in fields(self) if column.name != "stamp_s"}
        kept = {
            name: tuple(values[i] for i in chosen) if isinstance(values, tuple) else values[chosen]
            for name, values in columns.items()
        }
        return replace(self, **kept)


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class SolidContacts(Value):
    """Contacts of one instant between numbered solids, as the skin needs them. Shapes use n = contacts."""

    stamp_s: float
    """Time of the contacts [s]."""
    solids: NDArray[np.void]
    """Every solid of the world, records of `SOLID`."""
    body_pos_m: FloatArray
    """Origin of every body in the world [m]. Shape (bodies, 3)."""
    body_R: FloatArray
    """Orientation of every body in the world. Shape (bodies, 3, 3)."""
    planes: FloatArray
    """Planes of all hulls: normal and distance, in the solid's frame. Shape (planes, 4)."""
    first_beside: IntArray
    """``beside[first_beside[f] : first_beside[f + 1]]`` are the planes of the faces that share an edge with face f."""
    beside: IntArray
    pair: IntArray
    """Numbers of the two solids. Shape (n, 2)."""
    position_m: FloatArray
    """Contact point in the world [m]. Shape (n, 3)."""
    normal: FloatArray
    """Unit vector out of the first solid into the second. Shape (n, 3)."""
    force_n: FloatArray
    """Contact force on the second solid, in world axes [N]. Shape (n, 3)."""
    slip_n: FloatArray
    """Friction at which the contact slides in the direction in which it is pulled now [N]. Shape (n,)."""
