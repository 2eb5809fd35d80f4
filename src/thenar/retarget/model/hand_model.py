"""A hand's spec as plain arrays for the compiled solver, and the names that belong to them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

import numpy as np
from numpy.typing import ArrayLike, NDArray

from thenar.hands.spec import HandSpec
from thenar.retarget.config import PINCH_FROM_COUPLED_MM, PINCH_FROM_FAR_MM, PINCH_FROM_MM
from thenar.retarget.kernel.kinematics import points_of_postures
from thenar.retarget.kernel.solver_memory import HAND, WORK, as_record
from thenar.retarget.model.actuation import build_actuation, motor_map, whole_hand_joints
from thenar.retarget.model.anatomy import LAST, MIDDLE, TIP, Finger, find_fingers, palm_rotation
from thenar.retarget.model.collision_hulls import (
    CollisionHull,
    build_collision_hulls,
    hull_arrays,
    nearest_approach_m,
    possible_pairs,
)
from thenar.retarget.model.tree import KinematicTree, build_tree
from thenar.signals import FloatArray

# Pairs of hulls that stay farther apart than this in every sampled posture are left out.
NEAR_M, POSTURES = 0.012, 4000
# A pinch is closed within 3 mm: fingers that the thumb cannot bring so near, tried harder, have none.
TOUCH_M, PINCH_POSTURES = 0.003, 40000
# Tips that barely meet do so with motors at their ends only: they are drawn there firmly.
BARELY_M, FIRM_GAIN = 0.0015, 400.0


@dataclass(frozen=True, kw_only=True, eq=False)
class HandModel:
    """A hand as the solver sees it. Shapes use v = variables, p = key points, f = fingers."""

    hand: HandSpec
    record: NDArray[np.void]
    """What the solver reads, a record of `HAND`. Shape (1,)."""
    variables: tuple[str, ...]
    """Joint that each variable is."""
    fingers: tuple[Finger, ...]
    palm_m: FloatArray
    """Origin of the link all fingers hang on, in the root frame [m]."""
    joint_map: FloatArray
    """All joint angles are ``joint_map @ variables + joint_open_rad``. Shape (joints, v)."""
    joint_open_rad: FloatArray

    @cached_property
    def R_palm(self) -> FloatArray:
        """From palm axes of a person to the root frame."""
        return palm_rotation(self.hand)

    @cached_property
    def motor_map(self) -> FloatArray:
        """Motor angles from all joint angles. Shape (actuators, joints)."""
        return motor_map(self.hand)

    @cached_property
    def finger_names(self) -> tuple[str, ...]:
        """Names of the fingers in the order of the arrays."""
        return tuple(finger.name for finger in self.fingers)

    @property
    def pinch_fingers(self) -> tuple[str, ...]:
        """Fingers whose tip the thumb can reach."""
        return tuple(name for n, name in enumerate(self.finger_names) if n and n in self.record["pair_finger"][0])

    @property
    def speed_rad_s(self) -> FloatArray:
        """Largest speed of each variable [rad/s]."""
        return self.record["speed_rad_s"][0, : len(self.variables)]

    @property
    def open_rad(self) -> FloatArray:
        """Variables of the open hand [rad]."""
        lower, upper = (self.record[name][0, : len(self.variables)] for name in ("lower_rad", "upper_rad"))
        return np.clip(np.zeros(len(self.variables)), lower, upper)

    def joint_rad(self, variable_rad: FloatArray) -> FloatArray:
        """Angle of every joint in the spec's order [rad]. Shape (..., joints)."""
        return variable_rad @ self.joint_map.T + self.joint_open_rad

    def motor_rad(self, variable_rad: FloatArray) -> FloatArray:
        """Angle of every actuator in the hand's order [rad]. Shape (..., actuators)."""
        return self.joint_rad(variable_rad) @ self.motor_map.T

    def points_m(self, variable_rad: FloatArray) -> FloatArray:
        """Key points of many postures in the root frame, each finger's knuckle first [m]. Shape (n, p + f, 3)."""
        postures = np.ascontiguousarray(np.atleast_2d(variable_rad), dtype=np.float64)
        points = np.empty((len(postures), self.point_slices[-1].stop, 3))
        points_of_postures(self.record, np.zeros(1, WORK), postures, points)
        return points

    @cached_property
    def point_slices(self) -> tuple[slice, ...]:
        """Where each finger stands in `points_m`."""
        ends = np.cumsum([0, *(len(finger.landmarks) for finger in self.fingers)]).tolist()
        return tuple(slice(start, end) for start, end in pairwise(ends))


def build_model(hand: HandSpec) -> HandModel:
    """Build a hand for the solver. Pairs of hulls that can meet are found by trying postures."""
    actuation = build_actuation(hand)
    tree = build_tree(hand, actuation.couplings)
    fingers = find_fingers(hand, tree)
    hulls = build_collision_hulls(hand, tree)
    values: dict[str, ArrayLike] = {
        **{
            name: value
            for part in (tree, actuation)
            for name, value in vars(part).items()
            if name in (HAND.names or ())
        },
        **_tree_arrays(tree, fingers, actuation.speed_rad_s),
        **_finger_arrays(fingers),
        **hull_arrays(tree, hulls),
        "variables": len(actuation.variables),
        "tendons": len(actuation.row_variable),
    }
    values |= _pair_arrays(hand, values, hulls, fingers)
    couplings = [actuation.couplings[name] for name in hand.joint_names]
    carriers = whole_hand_joints(hand)
    return HandModel(
        hand=hand,
        record=as_record(HAND, values),
        variables=actuation.variables,
        fingers=fingers,
        palm_m=tree.links[hand.joint(carriers[-1]).child if carriers else hand.root].pos_m,
        joint_map=np.array([[c.ratio * (c.variable == n) for n in range(len(actuation.variables))] for c in couplings]),
        joint_open_rad=np.array([coupling.offset_rad for coupling in couplings]),
    )


def _tree_arrays(tree: KinematicTree, fingers: tuple[Finger, ...], speed_rad_s: FloatArray) -> dict[str, ArrayLike]:
    """Chains of joints, and what each variable does to the fingers."""
    chain = np.full((len(tree.chains), max(map(len, tree.chains))), -1)
    for index, members in enumerate(tree.chains):
        chain[index, : len(members)] = members
    posture, twist, tip_speed_m_s = np.zeros(len(speed_rad_s)), np.zeros(len(speed_rad_s)), []
    for finger in fingers:
        knuckle, tip = finger.landmarks[0], finger.landmarks[-1]
        along = tree.open_point(tip) - finger.knuckle_m
        along = along / np.linalg.norm(along)
        joints = tree.chains[tip.joint]
        for joint in joints:
            axis = tree.open_R[joint] @ tree.axis[joint]
            swing_m = np.cross(axis, finger.knuckle_m - tree.open_pos_m[joint])
            variable = tree.variable[joint]
            if np.linalg.norm(swing_m) > 1e-6 and joint in tree.chains[knuckle.joint]:
                posture[variable] = float(not finger.knuckle_moves)
            if abs(axis @ along) > 0.8:
                twist[variable] = 1.0
        # Of the tip when the straight finger turns about its knuckle.
        tip_speed_m_s.append(np.median(speed_rad_s[tree.variable[list(joints)]]) * finger.length_m.sum())
    return {
        "joints": len(tree.names),
        "chain": chain,
        "chain_length": [len(members) for members in tree.chains],
        "posture": posture,
        "twist": twist,
        "tip_speed_m_s": tip_speed_m_s,
    }


def _finger_arrays(fingers: tuple[Finger, ...]) -> dict[str, ArrayLike]:
    points = [(finger, n) for finger in fingers for n in range(1, len(finger.landmarks))]
    return {
        "fingers": len(fingers),
        "points": len(points),
        "point_joint": [finger.landmarks[n].joint for finger, n in points],
        "point_m": [finger.landmarks[n].pos_m for finger, n in points],
        "point_kind": [TIP if n == len(finger.landmarks) - 1 else (MIDDLE, LAST)[n - 1] for finger, n in points],
        "point_node": [finger.nodes[n - 1 : n + 1] for finger, n in points],
        "point_length_m": [finger.length_m[n - 1] for finger, n in points],
        "finger_first": np.cumsum([0, *(len(finger.landmarks) - 1 for finger in fingers)]),
        "knuckle_joint": [finger.landmarks[0].joint for finger in fingers],
        "knuckle_m": [finger.landmarks[0].pos_m for finger in fingers],
        "knuckle_open_m": [finger.knuckle_m for finger in fingers],
        "knuckle_moves": [finger.knuckle_moves for finger in fingers],
        "finger_R": [finger.R for finger in fingers],
        "tip_node": [finger.nodes[-1] for finger in fingers],
        "pad_joint": [finger.landmarks[-1].joint for finger in fingers],
        "pad_m": [finger.pad_m for finger in fingers],
        "pad_normal": [finger.palmar for finger in fingers],
    }


def _pair_arrays(
    hand: HandSpec, values: dict[str, ArrayLike], hulls: list[CollisionHull], fingers: tuple[Finger, ...]
) -> dict[str, ArrayLike]:
    """Pairs of hulls that can come near each other, and which of them are pinches."""
    pairs = possible_pairs(hand, hulls)
    near = nearest_approach_m(values, pairs, postures=POSTURES) < NEAR_M
    pinch = np.zeros(len(pairs), dtype=np.int64)
    gain = np.zeros(len(fingers))
    from_m = np.full(len(fingers), 1e-3 * (PINCH_FROM_COUPLED_MM if hand.couplings else PINCH_FROM_MM))
    # Two fingertips of a thumb and a finger may have several hulls: the nearest of them are the ones that pinch.
    for number, finger in enumerate(fingers[1:], start=1):
        tips = {fingers[0].tip_link, finger.tip_link}
        rows = np.array([row for row, (a, b) in enumerate(pairs) if {hulls[a].link, hulls[b].link} == tips], dtype=int)
        touch_m = nearest_approach_m(values, pairs[rows], postures=PINCH_POSTURES)
        if len(rows) and touch_m.min() < TOUCH_M:
            pinch[rows[np.argmin(touch_m)]] = number
            gain[number] = 1.0
            if touch_m.min() > BARELY_M:
                gain[number], from_m[number] = FIRM_GAIN, 1e-3 * PINCH_FROM_FAR_MM
    return {
        "pairs": int(near.sum()),
        "pair": pairs[near],
        "pair_finger": pinch[near],
        "pinch_gain": gain,
        "pinch_from_m": from_m,
    }
