"""Fingers of a hand beside those of a person: knuckles, key points, pads, and which glove nodes they answer to."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from thenar.errors import BadValue
from thenar.hands.rotations import matrix_from_rpy
from thenar.hands.shapes import Box, Capsule, Hull, Shape, sphere_directions
from thenar.hands.spec import HandSpec, Tip
from thenar.retarget.model.actuation import closing_sign, whole_hand_joints
from thenar.retarget.model.tree import JointFrame, KinematicTree
from thenar.signals import FINGERS, FloatArray

FINGER_OF_TIP = {
    **{finger: finger for finger in FINGERS},
    **dict(zip(("th", "ff", "mf", "rf", "lf"), FINGERS, strict=True)),  # Shadow
    **{"f1": "index", "f2": "middle", "f3": "thumb"},  # ReFlex
}
MIDDLE, LAST, TIP = range(3)  # kinds of key points
# A joint that bends in the plane of the next one starts a segment; any other only if it stands this far back.
SEGMENT_M = 0.030
PAD_FROM_TIP_M = 0.006  # where two fingertips meet in a pinch


@dataclass(frozen=True, kw_only=True, eq=False)
class Finger:
    """One finger of a robot hand."""

    name: str
    """The person's finger it answers to."""
    tip_link: str
    landmarks: tuple[JointFrame, ...]
    """Knuckle, further joints, tip."""
    nodes: tuple[int, ...]
    """Glove node of each landmark."""
    length_m: FloatArray
    """Length of each segment between landmarks [m]."""
    knuckle_m: FloatArray
    """Knuckle of the open hand, in the root frame [m]."""
    knuckle_moves: bool
    """True where joints before the knuckle turn the finger as a whole: directions then count from where it is."""
    R: FloatArray
    """From palm axes of a person to the root frame."""
    palmar: FloatArray
    """Direction its pad looks to, in the frame of the joint that carries the tip."""
    pad_m: FloatArray
    """Point of the pad that meets the thumb's, in that frame [m]."""
    middle_m: FloatArray
    """A point on the middle line of the tip, in the tip link's own frame [m]."""
    palmar_side: FloatArray
    """Direction its pad looks to, in the tip link's own frame."""

    def is_palmar(self, point_m: FloatArray) -> bool:
        """True for a point of the tip link on the half its pad is on."""
        return bool((point_m - self.middle_m) @ self.palmar_side > 0.0)


def palm_rotation(hand: HandSpec) -> FloatArray:
    """From palm axes of a person (z to the fingers, y to the back) to the hand's root frame."""
    x, y, z = matrix_from_rpy(hand.palm.rpy_rad).T  # of the hand: z out of the palm, y to the fingers
    return np.stack([x, -z, y], axis=1)


def find_fingers(hand: HandSpec, tree: KinematicTree) -> tuple[Finger, ...]:
    """Fingers that a person has too, thumb first."""
    tips = {FINGER_OF_TIP[tip.finger]: tip for tip in hand.tips if tip.finger in FINGER_OF_TIP}
    if "thumb" not in tips or len(tips) < 2:
        raise BadValue("hand", hand.name, f"a hand with a thumb and a finger (tips named {', '.join(FINGER_OF_TIP)})")
    return tuple(_finger(hand, tree, name, tips[name]) for name in FINGERS if name in tips)


def _finger(hand: HandSpec, tree: KinematicTree, name: str, end: Tip) -> Finger:
    link, tip_m, R_palm = end.link, np.asarray(end.pos_m), palm_rotation(hand)
    place = tree.links[link]
    tip = replace(place, pos_m=place.point(tip_m))
    chain = [joint.name for joint in hand.joints_to(link) if joint.name not in whole_hand_joints(hand)]
    landmarks = (*_segment_starts(hand, tree, chain, tip), tip)
    at = [tree.open_point(mark) for mark in landmarks]
    number = FINGERS.index(name)
    # Two segments for a person's three: a finger's last two bones, or a thumb's first two, count as one.
    nodes = (1, 2, 3, 4) if len(landmarks) == 4 else (1, 3, 4) if name == "thumb" else (1, 2, 4)
    before = tree.chains[landmarks[0].joint]
    swing_m = [np.cross(tree.open_R[j] @ tree.axis[j], at[0] - tree.open_pos_m[j]) for j in before]
    furthest_m = max(float(np.linalg.norm(swing)) for swing in swing_m)
    R = R_palm
    if (at[-1] - at[0]) @ R_palm[:, 2] < 0.0:
        # A thumb that points away from the fingers when open, as a gripper's: sideways for a person is open for it.
        R = R_palm @ np.array([[0.0, 0.0, 1.0], [0.0, 1.0, 0.0], [-1.0, 0.0, 0.0]])
    # The pad looks where the tip goes when the finger closes.
    last_axis = place.R.T @ tree.axis[place.joint]
    along = tip_m / np.linalg.norm(tip_m)
    palmar = closing_sign(hand)[tree.names[place.joint]] * np.cross(last_axis, along)
    palmar = palmar / np.linalg.norm(palmar)
    skin = hand.link(link).outline or hand.link(link).skin
    pad_m = tip_m if skin is None else _pad_point(skin, tip_m, along, palmar)
    return Finger(
        name=name,
        tip_link=link,
        landmarks=landmarks,
        nodes=tuple(4 * number + node for node in nodes),
        length_m=np.linalg.norm(np.diff(at, axis=0), axis=1),
        knuckle_m=at[0],
        # A joint just before the knuckle turns the finger; one far before it (a metacarpal) carries the knuckle.
        knuckle_moves=1e-6 < furthest_m < SEGMENT_M,
        R=R,
        palmar=place.R @ palmar,
        pad_m=place.point(pad_m),
        middle_m=_middle(skin, tip_m),
        palmar_side=palmar,
    )


def _segment_starts(hand: HandSpec, tree: KinematicTree, chain: list[str], tip: JointFrame) -> list[JointFrame]:
    """Joints at which the last segments of a finger begin, at most three, the knuckle first.

    Makers put a joint's frame anywhere along its axis. What counts is the point of the axis nearest to the next mark.
    """
    starts: list[JointFrame] = []
    next_axis, next_m, origin_m = None, tree.open_point(tip), np.zeros(3)
    for name in reversed(chain):
        if hand.joint(name).continues:  # a flexure is one joint of a finger, where it begins
            continue
        place = tree.links[hand.joint(name).child]
        here_m = tree.open_point(place)
        R = place.R if place.joint < 0 else tree.open_R[place.joint] @ place.R
        own_axis = np.asarray(hand.joint(name).axis)
        axis = R @ own_axis
        if next_axis is not None:
            back_m = float(np.linalg.norm(here_m - origin_m))
            if back_m < 1e-4:  # the same place, seen by a joint about another axis
                continue
            if abs(axis @ next_axis) < 0.99 and back_m < SEGMENT_M:
                break
        along_m = float(axis @ (next_m - here_m))
        starts.insert(0, replace(place, pos_m=place.point(along_m * own_axis)))
        next_axis, next_m, origin_m = axis, here_m + along_m * axis, here_m
        if len(starts) == 3:
            break
    return starts


def _middle(skin: Shape | None, tip_m: FloatArray) -> FloatArray:
    match skin:
        case Capsule():
            return 0.5 * (np.asarray(skin.start_m) + np.asarray(skin.end_m))
        case Box():
            return np.asarray(skin.centre_m)
        case Hull():
            return np.mean(skin.points_m, axis=0)
        case _:
            return tip_m


def _pad_point(skin: Shape, tip_m: FloatArray, along: FloatArray, palmar: FloatArray) -> FloatArray:
    """Point on a fingertip's skin a little before the tip, on the palmar side."""
    inside = tip_m - PAD_FROM_TIP_M * along
    match skin:
        case Capsule():
            start, end = np.asarray(skin.start_m), np.asarray(skin.end_m)
            share = np.clip((inside - start) @ (end - start) / ((end - start) @ (end - start)), 0.0, 1.0)
            return start + share * (end - start) + skin.radius_m * palmar
        case Box():
            R, half = matrix_from_rpy(skin.rpy_rad), np.asarray(skin.half_m)
            local = np.clip(R.T @ (inside - np.asarray(skin.centre_m)), -0.99 * half, 0.99 * half)
            direction = R.T @ palmar
            reach = (half - np.sign(direction) * local) / np.maximum(np.abs(direction), 1e-9)
            return np.asarray(skin.centre_m) + R @ (local + reach.min() * direction)
        case Hull():
            # Where a ray leaves a convex body: it crosses the nearest of the planes that touch it.
            # Both ways round, so that a left hand's point is the mirror image of a right one's.
            normal = sphere_directions() @ np.stack([np.cross(palmar, along), palmar, along])
            normal = np.concatenate([normal, sphere_directions() @ np.stack([np.cross(along, palmar), palmar, along])])
            reach_m = (normal @ np.asarray(skin.points_m).T).max(axis=1) + skin.radius_m - normal @ inside
            ahead = normal @ palmar > 0.05
            return inside + max(0.0, float(np.min(reach_m[ahead] / (normal @ palmar)[ahead]))) * palmar
        case _:
            return inside
