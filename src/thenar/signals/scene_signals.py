"""What is around the hands of a running twin, and what a client asks of it: resets, poses of objects and wrists."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from thenar.arrays import FloatArray
from thenar.signals.value import Value

Pose: TypeAlias = tuple[FloatArray, FloatArray | None]
"""Position [m] and quat_wxyz in the world; None: as it is for a wrist, upright for an object."""


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class SceneState(Value):
    """Where everything is. Poses are position [m] and quat_wxyz in the world, velocities [m/s] and [rad/s]."""

    stamp_s: float
    """Time of the twin's clock [s]."""
    scene: str
    """Name of the surroundings."""
    hand_names: tuple[str, ...]
    palm_pose: FloatArray
    """Palm frame of each hand. Shape (hands, 7)."""
    joint_rad: tuple[FloatArray, ...]
    """Every joint of each hand [rad]."""
    joint_velocity_rad_s: tuple[FloatArray, ...]
    object_names: tuple[str, ...]
    object_pose: FloatArray
    """Shape (objects, 7)."""
    object_velocity: FloatArray
    """Shape (objects, 6)."""


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class SceneRequest(Value):
    """What a client asks of the surroundings."""

    sender: str
    """Who asks, in words for people."""
    reset: Literal["", "objects", "all"] = ""
    """Objects back to where they began; or everything, as at the start."""
    objects: Mapping[str, Pose] = field(default_factory=dict)
    """Objects to put somewhere, at rest."""
    wrists: Mapping[str, Pose] = field(default_factory=dict)
    """Palm frames to send somewhere, by hand."""
