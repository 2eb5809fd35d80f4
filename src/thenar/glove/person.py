"""A parametric person: bone lengths and joint angles into glove nodes.

Twenty angles, four to a finger: sideways, root, middle and last joint, thumb first. In palm axes of a right hand a
finger points along z, bends towards -y and moves sideways to +x. Shapes use n = frames.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from thenar.signals import FINGERS, FloatArray, GloveLayout

LOWER_RAD = np.array([[-0.6, -0.5, -0.2, -0.3], *[[-0.35, -0.35, 0.0, 0.0]] * 4]).ravel()
UPPER_RAD = np.array([[0.8, 0.9, 0.9, 1.3], *[[0.35, 1.5, 1.75, 1.1]] * 4]).ravel()

# Where an easy thumb points, and where its pad looks, in palm axes.
THUMB_ALONG = np.array([0.62, -0.35, 0.70])
THUMB_PAD = np.array([-0.75, -0.60, 0.10])


@dataclass(frozen=True, kw_only=True, eq=False)
class Person:
    """The bones of one right hand, as one glove sees them."""

    layout: GloveLayout
    root_m: FloatArray
    """First joint of each finger from the root node [m]. Shape (5, 3)."""
    bone_m: FloatArray
    """Length of the three bones of each finger [m]. Shape (5, 3)."""
    carpal_m: FloatArray
    """Base of the metacarpal of each finger, thumb left out [m]. Shape (4, 3)."""


_BONES_M = np.array(
    [
        [0.033, 0.029, 0.027],
        [0.040, 0.023, 0.020],
        [0.044, 0.027, 0.021],
        [0.041, 0.025, 0.021],
        [0.033, 0.019, 0.019],
    ]
)
# The 21-node skeleton has its root in the middle of the palm, the 25-node one at the wrist.
PERSON_21 = Person(
    layout="nodes21",
    root_m=np.array([[0.025, 0, 0.025], [0.014, 0, 0.053], [0, 0, 0.052], [-0.013, 0, 0.050], [-0.024, 0, 0.047]]),
    bone_m=_BONES_M,
    carpal_m=np.zeros((4, 3)),
)
PERSON_25 = Person(
    layout="manus25",
    root_m=np.array(
        [
            [0.024, -0.016, 0.022],
            [0.025, -0.004, 0.094],
            [0, 0, 0.097],
            [-0.021, -0.002, 0.090],
            [-0.039, -0.004, 0.083],
        ]
    ),
    bone_m=_BONES_M,
    carpal_m=np.array([[0.012, 0.0, 0.024], [0.0, 0.002, 0.022], [-0.010, 0.0, 0.020], [-0.019, -0.003, 0.018]]),
)


def scaled(person: Person, size: float) -> Person:
    """The same hand, larger or smaller."""
    return replace(person, **{name: size * getattr(person, name) for name in ("root_m", "bone_m", "carpal_m")})


def nodes(person: Person, angle_rad: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Nodes of every frame.

    Args:
        person: Whose hand.
        angle_rad: Joint angles [rad]. Shape (n, 20).

    Returns:
        Positions from the root node [m], shape (n, 21 or 25, 3), and orientations as matrices, (n, 21 or 25, 3, 3).
    """
    n, extra = len(angle_rad), 1 if person.layout == "manus25" else 0
    position_m = [np.zeros((n, 3))]
    turn = [np.broadcast_to(np.eye(3), (n, 3, 3))]
    for finger, angles in enumerate(np.split(angle_rad, len(FINGERS), axis=1)):
        if finger > 0 and extra:
            position_m.append(np.broadcast_to(person.carpal_m[finger - 1], (n, 3)))
            turn.append(turn[0])
        base = _thumb_base() if finger == 0 else np.eye(3)
        R = base @ _about(1, angles[:, 0]) @ _about(0, angles[:, 1])
        place = np.broadcast_to(person.root_m[finger], (n, 3))
        for bone in range(3):
            position_m.append(place)
            turn.append(R)
            place = place + person.bone_m[finger, bone] * R[:, :, 2]
            if bone < 2:
                R = R @ _about(0, angles[:, 2 + bone])
        position_m.append(place)  # the tip turns with its bone
        turn.append(R)
    return np.stack(position_m, axis=1), np.stack(turn, axis=1)


def pinch_angles(person: Person, finger: str, *, gap_m: float) -> FloatArray:
    """Joint angles with the tips of thumb and one finger ``gap_m`` apart, the rest of the hand easy [rad]. Shape (20,).

    Damped Gauss-Newton from an easy half-closed hand, so that it stays near one.
    """
    which = FINGERS.index(finger)
    easy = _easy_pinch(which)
    angles = easy.copy()
    moving = np.r_[0:4, 4 * which : 4 * which + 4]
    thumb_tip, other_tip = tip_nodes(person)[0], tip_nodes(person)[which]
    for _ in range(60):
        trial = np.tile(angles, (len(moving) + 1, 1))
        trial[np.arange(1, len(moving) + 1), moving] += 1e-5
        between = nodes(person, trial)[0]
        between = between[:, thumb_tip] - between[:, other_tip]
        slope = (between[1:] - between[0]).T / 1e-5  # (3, moving)
        wanted = between[0] * gap_m / max(float(np.linalg.norm(between[0])), 1e-9)
        pull = 1e-6  # towards the easy hand, far weaker than the tips
        lhs = slope.T @ slope + (pull + 1e-5) * np.eye(len(moving))
        rhs = slope.T @ (wanted - between[0]) + pull * (easy - angles)[moving]
        angles[moving] += np.clip(np.linalg.solve(lhs, rhs), -0.15, 0.15)
        angles = np.asarray(np.clip(angles, LOWER_RAD, UPPER_RAD), dtype=np.float64)
    return angles


def tip_nodes(person: Person) -> tuple[int, ...]:
    """Node of each fingertip."""
    return (4, 9, 14, 19, 24) if person.layout == "manus25" else (4, 8, 12, 16, 20)


def _easy_pinch(which: int) -> FloatArray:
    easy = np.zeros((5, 4))
    easy[0] = (0.35, 0.25, 0.2, 0.2)
    easy[1:] = (0.0, 0.25, 0.3, 0.2)
    easy[which] = (0.0, 0.8, 0.8, 0.4)
    return easy.ravel()


def _thumb_base() -> FloatArray:
    z = THUMB_ALONG / np.linalg.norm(THUMB_ALONG)
    pad = THUMB_PAD - np.dot(THUMB_PAD, z) * z
    y = -pad / np.linalg.norm(pad)
    return np.stack([np.cross(y, z), y, z], axis=1).astype(np.float64)


def _about(axis: int, angle_rad: FloatArray) -> FloatArray:
    """Rotations about the axis x (0) or y (1). Shape (n, 3, 3)."""
    R = np.tile(np.eye(3), (len(angle_rad), 1, 1))
    i, j = (1, 2) if axis == 0 else (2, 0)
    R[:, i, i] = R[:, j, j] = np.cos(angle_rad)
    R[:, j, i] = np.sin(angle_rad)
    R[:, i, j] = -R[:, j, i]
    return R
