"""A hand's spec as plain arrays for the compiled solver, and the names that belong to them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from thenar.hands.spec import HandSpec
from thenar.retarget.config import PINCH_FROM_COUPLED_MM, PINCH_FROM_FAR_MM, PINCH_FROM_MM
from thenar.retarget.model.anatomy import LAST, MIDDLE, TIP, Finger, find_fingers, palm_rotation
from thenar.retarget.model.collision_hulls import Core, find_cores, may_meet
from thenar.retarget.model.drive import build_drive, joints_to, motor_map, whole_hand_joints
from thenar.retarget.model.near import nearest_approach
from thenar.retarget.model.points import place_points
from thenar.retarget.model.records import HAND, PAIRS, WORK, as_record
from thenar.retarget.model.tree import Tree, build_tree
from thenar.signals import FloatArray

# Pairs of parts that stay farther apart than this in every sampled posture are left out.
NEAR_M, POSTURES = 0.012, 4000
# A pinch is closed within 3 mm: fingers that the thumb cannot bring so near, tried harder, have none.
TOUCH_M, PINCH_POSTURES = 0.003, 40000
# Tips that barely meet do so with motors at their ends only: they are drawn there firmly.
BARELY_M, FIRM = 0.0015, 400.0


@dataclass(frozen=True, kw_only=True, eq=False)
class HandModel:
    """The arrays with the names that belong to them."""

    hand: HandSpec
    record: NDArray[np.void]
    """What the solver reads, a record of `HAND`. Shape (1,)."""
    variables: tuple[str, ...]
    """Joint that each variable is."""
    fingers: tuple[Finger, ...]
    pinch_fingers: tuple[str, ...]
    """Fingers whose tip the thumb can reach."""
    speed_rad_s: FloatArray
    """Largest speed of each variable [rad/s]."""
    open_rad: FloatArray
    """Variables of the open hand."""
    palm_m: FloatArray
    """Origin of the link all fingers hang on, in the root frame [m]."""
    R_palm: FloatArray
    """From palm axes of a person to the root frame."""
    joint_map: FloatArray
    """All joint angles are ``joint_map @ variables + joint_open_rad``. Shape (joints, v)."""
    joint_open_rad: FloatArray
    motor_map: FloatArray
    """Motor angles from all joint angles. Shape (actuators, joints)."""

    @property
    def finger_names(self) -> tuple[str, ...]:
        """Names of the fingers in the order of the arrays."""
        return tuple(finger.name for finger in self.fingers)

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
        place_points(self.record, np.zeros(1, WORK), postures, points)
        return points

    @cached_property
    def point_slices(self) -> tuple[slice, ...]:
        """Where each finger stands in `points_m`."""
        ends = np.cumsum([0, *(len(finger.marks) for finger in self.fingers)]).tolist()
        return tuple(slice(start, end) for start, end in pairwise(ends))


def build_model(hand: HandSpec) -> HandModel:
    """Arrays of a hand."""
    drive = build_drive(hand)
    tree = build_tree(hand, drive.follows)
    fingers = find_fingers(hand, tree)
    cores = find_cores(hand, tree)
    values = {
        "joints": len(tree.names),
        "variables": len(drive.variables),
        "tendons": len(drive.row_variable),
        "fingers": len(fingers),
        "points": sum(len(finger.marks) - 1 for finger in fingers),
        "parts": len(cores),
        **_tree_arrays(tree),
        **{name: value for name, value in vars(drive).items() if isinstance(value, np.ndarray)},
        **_priors(tree, fingers, len(drive.variables)),
        **_finger_arrays(fingers),
        "tip_speed_m_s": _tip_speeds(tree, fingers, drive.speed_rad_s),
        **_core_arrays(tree, cores),
    }
    record = _with_pairs(hand, values, cores, fingers)
    joint_map, joint_open = np.zeros((len(hand.joints), len(drive.variables))), np.zeros(len(hand.joints))
    for row, joint in enumerate(hand.joints):
        follow = drive.follows[joint.name]
        joint_open[row] = follow.offset_rad
        if follow.variable >= 0:
            joint_map[row, follow.variable] = follow.ratio
    chains = [[j for j in joints_to(hand, tip.link) if j in whole_hand_joints(hand)] for tip in hand.tips]
    palm = hand.joint(chains[0][-1]).child if chains[0] else hand.root
    return HandModel(
        hand=hand,
        record=record,
        variables=drive.variables,
        fingers=fingers,
        pinch_fingers=tuple(finger.name for n, finger in enumerate(fingers) if n and n in record["pair_finger"][0]),
        speed_rad_s=drive.speed_rad_s,
        open_rad=np.clip(np.zeros(len(drive.variables)), drive.lower_rad, drive.upper_rad),
        palm_m=tree.links[palm].pos_m,
        R_palm=palm_rotation(hand),
        joint_map=joint_map,
        joint_open_rad=joint_open,
        motor_map=motor_map(hand),
    )


def _tree_arrays(tree: Tree) -> dict[str, np.ndarray]:
    longest = max(len(chain) for chain in tree.chains)
    chain = np.full((len(tree.chains), longest), -1, dtype=np.int64)
    for index, members in enumerate(tree.chains):
        chain[index, : len(members)] = members
    return {
        "parent": tree.parent,
        "pos_m": tree.pos_m,
        "R": tree.R,
        "axis": tree.axis,
        "variable": np.array([follow.variable for follow in tree.follows], dtype=np.int64),
        "ratio": np.array([follow.ratio for follow in tree.follows]),
        "offset_rad": np.array([follow.offset_rad for follow in tree.follows]),
        "chain": chain,
        "chain_length": np.array([len(members) for members in tree.chains], dtype=np.int64),
    }


def _priors(tree: Tree, fingers: tuple[Finger, ...], variables: int) -> dict[str, np.ndarray]:
    posture, twist = np.zeros(variables), np.zeros(variables)
    for finger in fingers:
        along = tree.open_point(finger.marks[-1]) - finger.knuckle_m
        along = along / np.linalg.norm(along)
        for joint in tree.chains[finger.marks[-1].joint]:
            axis = tree.open_R[joint] @ tree.axis[joint]
            swing_m = np.cross(axis, finger.knuckle_m - tree.open_pos_m[joint])
            variable = tree.follows[joint].variable
            if np.linalg.norm(swing_m) > 1e-6 and joint in tree.chains[finger.marks[0].joint]:
                posture[variable] = float(not finger.knuckle_moves)
            if abs(axis @ along) > 0.8:
                twist[variable] = 1.0
    return {"posture": posture, "twist": twist}


def _finger_arrays(fingers: tuple[Finger, ...]) -> dict[str, np.ndarray]:
    points = [(finger, n) for finger in fingers for n in range(1, len(finger.marks))]
    kinds = [TIP if n == len(finger.marks) - 1 else (MIDDLE, LAST)[n - 1] for finger, n in points]
    return {
        "point_joint": np.array([finger.marks[n].joint for finger, n in points], dtype=np.int64),
        "point_m": np.array([finger.marks[n].pos_m for finger, n in points]),
        "point_kind": np.array(kinds, dtype=np.int64),
        "point_node": np.array([finger.nodes[n - 1 : n + 1] for finger, n in points], dtype=np.int64),
        "point_length_m": np.array([finger.length_m[n - 1] for finger, n in points]),
        "finger_first": np.cumsum([0, *(len(finger.marks) - 1 for finger in fingers)]).astype(np.int64),
        "knuckle_joint": np.array([finger.marks[0].joint for finger in fingers], dtype=np.int64),
        "knuckle_m": np.array([finger.marks[0].pos_m for finger in fingers]),
        "knuckle_open_m": np.array([finger.knuckle_m for finger in fingers]),
        "knuckle_moves": np.array([finger.knuckle_moves for finger in fingers], dtype=np.int64),
        "finger_R": np.array([finger.R for finger in fingers]),
        "tip_node": np.array([finger.nodes[-1] for finger in fingers], dtype=np.int64),
        "pad_joint": np.array([finger.marks[-1].joint for finger in fingers], dtype=np.int64),
        "pad_m": np.array([finger.pad_m for finger in fingers]),
        "pad_normal": np.array([finger.palmar for finger in fingers]),
    }


def _tip_speeds(tree: Tree, fingers: tuple[Finger, ...], speed_rad_s: FloatArray) -> FloatArray:
    """Speed of each finger's tip when the straight finger turns about its knuckle."""
    pace = [np.median([speed_rad_s[tree.follows[j].variable] for j in tree.chains[f.marks[-1].joint]]) for f in fingers]
    return np.array([rad_s * finger.length_m.sum() for rad_s, finger in zip(pace, fingers, strict=True)])


def _core_arrays(tree: Tree, cores: list[Core]) -> dict[str, np.ndarray]:
    longest = max(len(chain) for chain in tree.chains)
    centre = np.array([0.5 * (core.vertex_m.min(axis=0) + core.vertex_m.max(axis=0)) for core in cores])
    lever = np.zeros((len(cores), longest))
    for row, core in enumerate(cores):
        reach_m = float(np.linalg.norm(core.vertex_m, axis=1).max()) + core.radius_m
        for place, joint in reversed(list(enumerate(tree.chains[core.joint] if core.joint >= 0 else ()))):
            lever[row, place] = reach_m
            reach_m += float(np.linalg.norm(tree.pos_m[joint]))
    count = np.array([len(core.vertex_m) for core in cores], dtype=np.int64)
    return {
        "core_joint": np.array([core.joint for core in cores], dtype=np.int64),
        "core_first": np.concatenate([[0], np.cumsum(count)[:-1]]).astype(np.int64),
        "core_count": count,
        "core_radius_m": np.array([core.radius_m for core in cores]),
        "core_centre_m": centre,
        "core_bound_m": np.array(
            [np.linalg.norm(core.vertex_m - centre[n], axis=1).max() + core.radius_m for n, core in enumerate(cores)]
        ),
        "core_lever_m": lever,
        "vertex_m": np.concatenate([core.vertex_m for core in cores]),
    }


def _with_pairs(
    hand: HandSpec, values: dict[str, Any], cores: list[Core], fingers: tuple[Finger, ...]
) -> NDArray[np.void]:
    """The hand's record with the pairs of parts that can come near each other, found by trying postures."""
    meeting = may_meet(hand)
    pairs = np.array(
        [
            (a, b)
            for a in range(len(cores))
            for b in range(a + 1, len(cores))
            if cores[a].joint != cores[b].joint and frozenset((cores[a].link, cores[b].link)) in meeting
        ],
        dtype=np.int64,
    )
    links = [finger.tip_link for finger in fingers]
    pinch = np.zeros(len(pairs), dtype=np.int64)
    for row, (a, b) in enumerate(pairs):
        ends = {cores[a].link, cores[b].link}
        if links[0] in ends and len(ends & set(links[1:])) == 1:
            pinch[row] = links.index((ends & set(links[1:])).pop())

    def nearest_m(some: NDArray[np.int64], postures: int) -> FloatArray:
        # In batches, because far more pairs are possible than ever come near.
        batches = np.split(some, range(PAIRS, len(some), PAIRS))
        records = [as_record(HAND, {**values, "pair": batch, "pairs": len(batch)}) for batch in batches]
        limits = values["lower_rad"], values["upper_rad"]
        return np.concatenate([nearest_approach(record, *limits, postures=postures) for record in records])

    near = nearest_m(pairs, POSTURES) < NEAR_M
    firmness = np.zeros(len(fingers))
    from_m = np.full(len(fingers), 1e-3 * (PINCH_FROM_COUPLED_MM if hand.couplings else PINCH_FROM_MM))
    # Two fingertips of a thumb and a finger may have several parts: the nearest of them is the one that pinches.
    for finger in range(1, len(fingers)):
        rows = np.flatnonzero(pinch == finger)
        touch_m = nearest_m(pairs[rows], PINCH_POSTURES)
        pinch[rows] = 0
        if len(rows) and touch_m.min() < TOUCH_M:
            pinch[rows[np.argmin(touch_m)]] = finger
            firmness[finger] = 1.0
            if touch_m.min() > BARELY_M:
                firmness[finger], from_m[finger] = FIRM, 1e-3 * PINCH_FROM_FAR_MM
    found = {"pair": pairs[near], "pair_finger": pinch[near], "pairs": int(near.sum())}
    return as_record(HAND, {**values, **found, "firmness": firmness, "pinch_from_m": from_m})
