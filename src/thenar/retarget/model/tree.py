"""Kinematic tree of a hand's moving joints, with everything that stands still folded into constant offsets."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from thenar.hands.rotations import matrix_about, matrix_from_rpy
from thenar.hands.spec import HandSpec
from thenar.retarget.model.actuation import JointCoupling
from thenar.signals import FloatArray


@dataclass(frozen=True, kw_only=True, eq=False)
class JointFrame:
    """A frame carried by a moving joint, or by the hand's root (``joint`` -1)."""

    joint: int
    pos_m: FloatArray
    R: FloatArray

    def point(self, point_m: FloatArray) -> FloatArray:
        """A point of this frame in that of the joint."""
        return self.pos_m + self.R @ point_m


@dataclass(frozen=True, kw_only=True, eq=False)
class KinematicTree:
    """Moving joints, parents before children. Shapes use j = moving joints."""

    names: tuple[str, ...]
    parent: NDArray[np.int64]
    pos_m: FloatArray
    """Origin in the parent's frame. (j, 3)"""
    R: FloatArray
    """Orientation in the parent's frame at angle 0. (j, 3, 3)"""
    axis: FloatArray
    """(j, 3)"""
    variable: NDArray[np.int64]
    """Variable that a joint follows: ``ratio * variable + offset_rad``. (j,)"""
    ratio: FloatArray
    offset_rad: FloatArray
    chains: tuple[tuple[int, ...], ...]
    """Joints that move a joint's frame, root first, itself last."""
    links: dict[str, JointFrame]
    """Where every link is, and with it the origin of the joint that carries it."""
    open_pos_m: FloatArray
    """Origin of every joint in the root frame with all variables 0. (j, 3)"""
    open_R: FloatArray
    """(j, 3, 3)"""

    def open_point(self, frame: JointFrame) -> FloatArray:
        """Where a frame's origin is in the root frame with all variables 0."""
        if frame.joint < 0:
            return frame.pos_m
        return self.open_pos_m[frame.joint] + self.open_R[frame.joint] @ frame.pos_m


def build_tree(hand: HandSpec, couplings: dict[str, JointCoupling]) -> KinematicTree:
    """Moving joints of a hand."""
    root = JointFrame(joint=-1, pos_m=np.zeros(3), R=np.eye(3))
    links = {hand.root: root}
    moving: list[tuple[str, JointFrame, FloatArray, JointCoupling]] = []
    for joint in hand.joints:  # parents come before children
        carrier, coupling = links[joint.parent], couplings[joint.name]
        axis = np.asarray(joint.axis) / np.linalg.norm(joint.axis)
        pos_m, R = carrier.point(np.asarray(joint.pos_m)), carrier.R @ matrix_from_rpy(joint.rpy_rad)
        frame = JointFrame(joint=carrier.joint, pos_m=pos_m, R=R)
        if coupling.variable < 0:
            links[joint.child] = replace(frame, R=R @ matrix_about(axis, coupling.offset_rad))
        else:
            links[joint.child] = replace(root, joint=len(moving))
            moving.append((joint.name, frame, axis, coupling))
    names, frames, axes, moved_by = zip(*moving, strict=True)
    chains: list[tuple[int, ...]] = []
    open_pos, open_R = np.zeros((len(moving), 3)), np.zeros((len(moving), 3, 3))
    for index, (frame, axis, coupling) in enumerate(zip(frames, axes, moved_by, strict=True)):
        up = frame.joint
        chains.append((*(chains[up] if up >= 0 else ()), index))
        base_pos, base_R = (open_pos[up], open_R[up]) if up >= 0 else (root.pos_m, root.R)
        open_pos[index] = base_pos + base_R @ frame.pos_m
        open_R[index] = base_R @ frame.R @ matrix_about(axis, coupling.offset_rad)
    return KinematicTree(
        names=names,
        parent=np.array([frame.joint for frame in frames]),
        pos_m=np.array([frame.pos_m for frame in frames]),
        R=np.array([frame.R for frame in frames]),
        axis=np.array(axes),
        variable=np.array([coupling.variable for coupling in moved_by]),
        ratio=np.array([coupling.ratio for coupling in moved_by]),
        offset_rad=np.array([coupling.offset_rad for coupling in moved_by]),
        chains=tuple(chains),
        links=links,
        open_pos_m=open_pos,
        open_R=open_R,
    )
