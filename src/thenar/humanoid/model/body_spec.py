"""A robot's body as plain data: links, joints, control groups, the links with a role.

A `BodySpec` knows nothing of a physics engine or of Pinocchio; both models are built from it. Lengths are metres,
angles radians, poses are the child in its parent with URDF's roll-pitch-yaw (``R = Rz Ry Rx``).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple

import numpy as np

from thenar.arrays import FloatArray
from thenar.errors import UnknownName
from thenar.hands.shapes import Vec3
from thenar.hands.spec import Link, Palette


@dataclass(frozen=True, kw_only=True)
class Hinge:
    """A driven joint."""

    name: str
    parent: str
    child: str
    pos_m: Vec3
    """Origin of the child in the parent [m]."""
    rpy_rad: Vec3 = (0.0, 0.0, 0.0)
    """Orientation of the child in the parent at zero angle [rad]."""
    axis: Vec3
    """Axis in the child frame."""
    lower_rad: float
    upper_rad: float
    effort_nm: float
    """Largest torque [N m]."""
    speed_rad_s: float
    """Largest speed [rad/s]."""
    armature_kgm2: float
    """Inertia of the motor's rotor as the joint feels it [kg m^2]."""
    damping_nms_rad: float
    """Viscous damping [N m s/rad]."""
    friction_nm: float
    """Dry friction [N m]."""
    source: str


@dataclass(frozen=True, kw_only=True)
class Fixed:
    """A link that does not move in its parent."""

    name: str
    parent: str
    child: str
    pos_m: Vec3
    rpy_rad: Vec3 = (0.0, 0.0, 0.0)


@dataclass(frozen=True, kw_only=True)
class Gains:
    """Gains of the joints' position servos, in the order of the joints."""

    kp_nm_rad: tuple[float, ...]
    kd_nms_rad: tuple[float, ...]
    source: str


class HandRange(NamedTuple):
    """Range of a hand's positions in the vendor's calls, one per motor [rad]."""

    lower: FloatArray
    upper: FloatArray


@dataclass(frozen=True, kw_only=True, eq=False)
class Load:
    """A rigid load on a link, such as an open hand."""

    link: str
    mass_kg: float
    com_m: FloatArray
    """In the frame of the link [m]."""
    inertia_kgm2: FloatArray
    """About the centre, in the axes of the link. Shape (3, 3)."""
    ends_m: FloatArray
    """Balls with which it can touch the ground: centres in the frame of the link, and radii [m]. Shape (n, 4)."""


class HandFlange(NamedTuple):
    """Pose of a hand's root on the last link of an arm."""

    pos_m: Vec3
    rpy_rad: Vec3 = (0.0, 0.0, 0.0)


class Eye(NamedTuple):
    """A camera on a link, as engines have it: it looks along -z, y is up in its picture."""

    link: str
    pos_m: Vec3
    quat_wxyz: tuple[float, float, float, float]
    fovy_deg: float
    """Height of what it sees [degrees]."""


@dataclass(frozen=True, kw_only=True)
class Roles:
    """Which links the parts of `KindynData` are; pairs are left and right."""

    feet: tuple[str, str]
    hips: tuple[str, str]
    hands: tuple[str, str]
    base: str
    head: str
    torso: str


@dataclass(frozen=True, kw_only=True)
class BodySpec:
    """A whole body. Hinges stand in the order of the robot's joint sequence."""

    name: str
    root: str
    """The link that is the floating base."""
    links: tuple[Link, ...]
    """Links with a mass; the others are frames."""
    joints: tuple[Hinge | Fixed, ...]
    """Parents come before children."""
    groups: Mapping[str, tuple[str, ...]]
    """Joint names of each control group, in order."""
    roles: Roles
    default_rad: Mapping[str, float]
    """Joint angles of the default standing pose [rad]; joints that are not named stand at 0."""
    sole_m: float
    """Height of the soles in the frame of the feet [m]; negative is below."""
    gains: Mapping[str, Gains]
    """Published sets of gains, by use."""
    palette: Palette
    mounts: Mapping[str, HandFlange] = field(default_factory=dict)
    """Where the maker mounts hands of the catalogue, by name; others are mounted by the next two."""
    fingers_along: Vec3 = (0.0, 0.0, -1.0)
    """Direction of the fingers in the last link of an arm."""
    flange_m: float = 0.0
    """How far along it a hand's root is [m]."""
    imus: tuple[str, ...] = ()
    """Frames of its IMUs: in the base, then elsewhere."""
    eyes: Mapping[str, Eye] = field(default_factory=dict)
    """Its cameras, by name."""

    @cached_property
    def hinges(self) -> tuple[Hinge, ...]:
        """The driven joints, in the robot's sequence."""
        return tuple(joint for joint in self.joints if isinstance(joint, Hinge))

    @cached_property
    def touching(self) -> tuple[str, ...]:
        """Names of the links that can touch something, then of those that carry hands."""
        return (*(link.name for link in self.links if link.collision), *self.roles.hands)

    @cached_property
    def joint_names(self) -> tuple[str, ...]:
        """Names of the driven joints, in the robot's sequence."""
        return tuple(hinge.name for hinge in self.hinges)

    @cached_property
    def group_slices(self) -> dict[str, slice]:
        """Indices of each control group in the joint sequence; ``whole_body`` is all of it."""
        starts = {group: self.joint_names.index(names[0]) for group, names in self.groups.items()}
        slices = {group: slice(start, start + len(self.groups[group])) for group, start in starts.items()}
        return {"whole_body": slice(0, len(self.hinges)), **slices}

    @property
    def nv(self) -> int:
        """Degrees of freedom: the floating base's six and the joints."""
        return 6 + len(self.hinges)

    @property
    def mass_kg(self) -> float:
        """Mass of all links [kg]."""
        return sum(link.mass_kg for link in self.links)

    @property
    def default_q_rad(self) -> FloatArray:
        """The default standing pose, in the joint sequence [rad]."""
        return np.array([self.default_rad.get(name, 0.0) for name in self.joint_names])

    def per_joint(self, field_name: str) -> FloatArray:
        """One number of every driven joint, such as ``effort_nm``, in the joint sequence."""
        return np.array([getattr(hinge, field_name) for hinge in self.hinges])

    def group_slice(self, group: str) -> slice:
        """Indices of a control group in the joint sequence."""
        if group not in self.group_slices:
            raise UnknownName("control group", group, self.group_slices)
        return self.group_slices[group]

    def group_gains(self, use: str, group: str) -> tuple[tuple[float, ...], tuple[float, ...]]:
        """Published stiffness [N m/rad] and damping [N m s/rad] of a group's joints."""
        gains, joints = self.gains[use], self.group_slice(group)
        return gains.kp_nm_rad[joints], gains.kd_nms_rad[joints]

    def index_of(self, joint: str) -> int:
        """Index of a joint in the sequence."""
        if joint not in self.joint_names:
            raise UnknownName("joint", joint, self.joint_names)
        return self.joint_names.index(joint)
