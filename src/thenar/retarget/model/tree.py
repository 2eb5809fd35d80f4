"""The moving joints of a hand as a tree, with everything that stands still folded into constant offsets."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from thenar.hands.rotations import matrix_about, matrix_from_rpy
from thenar.hands.spec import HandSpec
from thenar.retarget.model.drive import Follow
from thenar.signals import FloatArray


@dataclass(frozen=True, kw_only=True, eq=False)
class Place:
    """A frame carried by a moving joint, or by the hand's root (``joint`` -1)."""

    joint: int
    pos_m: FloatArray
    R: FloatArray

    def point(self, point_m: FloatArray) -> FloatArray:
        """A point of this frame in the carrier's."""
        return self.pos_m + self.R @ point_m


@dataclass(frozen=True, kw_only=True, eq=False)
class Tree:
    """Moving joints, parents before children. Shapes use j = moving joints."""

    names: tuple[str, ...]
    parent: NDArray[np.int64]
    pos_m: FloatArray
    """Origin in the parent's frame. (j, 3)"""
    R: FloatArray
    """Orientation in the parent's frame at angle 0. (j, 3, 3)"""
    axis: FloatArray
    """(j, 3)"""
    follows: tuple[Follow, ...]
    chains: tuple[tuple[int, ...], ...]
    """Joints that move a joint's frame, root first, itself last."""
    links: dict[str, Place]
    """Where every link is."""
    origins: dict[str, Place]
    """Where every joint of the spec has its origin, those that stand still too."""
    open_pos_m: FloatArray
    """Origin of every joint in the root frame with all variables 0. (j, 3)"""
    open_R: FloatArray
    """(j, 3, 3)"""

    def open_point(self, place: Place) -> FloatArray:
        """Where a frame's origin is in the root frame with all variables 0."""
        if place.joint < 0:
            return place.pos_m
        return self.open_pos_m[place.joint] + self.open_R[place.joint] @ place.pos_m


def build_tree(hand: HandSpec, follows: dict[str, Follow]) -> Tree:
    """Moving joints of a hand."""
    links = {hand.root: Place(joint=-1, pos_m=np.zeros(3), R=np.eye(3))}
    origins: dict[str, Place] = {}
    names, parent, pos_m, R, axes, moving = [], [], [], [], [], []
    for joint in hand.joints:  # parents come before children
        carrier = links[joint.parent]
        axis = np.asarray(joint.axis, dtype=np.float64)
        axis = axis / np.linalg.norm(axis)
        here = Place(
            joint=carrier.joint,
            pos_m=carrier.point(np.asarray(joint.pos_m, dtype=np.float64)),
            R=carrier.R @ matrix_from_rpy(joint.rpy_rad),
        )
        follow = follows[joint.name]
        if follow.variable < 0:
            here = Place(joint=here.joint, pos_m=here.pos_m, R=here.R @ matrix_about(axis, follow.offset_rad))
        else:
            names.append(joint.name)
            parent.append(here.joint)
            pos_m.append(here.pos_m)
            R.append(here.R)
            axes.append(axis)
            moving.append(follow)
            here = Place(joint=len(names) - 1, pos_m=np.zeros(3), R=np.eye(3))
        links[joint.child] = origins[joint.name] = here
    chains: list[tuple[int, ...]] = []
    open_pos, open_R = np.zeros((len(names), 3)), np.zeros((len(names), 3, 3))
    for index, up in enumerate(parent):
        chains.append((*(chains[up] if up >= 0 else ()), index))
        base_pos, base_R = (open_pos[up], open_R[up]) if up >= 0 else (np.zeros(3), np.eye(3))
        open_pos[index] = base_pos + base_R @ pos_m[index]
        open_R[index] = base_R @ R[index] @ matrix_about(axes[index], moving[index].offset_rad)
    return Tree(
        names=tuple(names),
        parent=np.array(parent, dtype=np.int64),
        pos_m=np.array(pos_m),
        R=np.array(R),
        axis=np.array(axes),
        follows=tuple(moving),
        chains=tuple(chains),
        links=links,
        origins=origins,
        open_pos_m=open_pos,
        open_R=open_R,
    )
