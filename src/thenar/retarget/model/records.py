"""Memory of the compiled solver: one record for a hand, one for its state, one for scratch space.

A record is handed over as one address, and its sizes are known when the solver is compiled. So one compiled solver
serves every hand, a call costs a microsecond, and nothing is allocated while it runs. Arrays are as long as the
largest hand needs; the counts in `HAND` say how much of them is in use.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from thenar.errors import BadValue
from thenar.signals import FloatArray

JOINTS, VARIABLES, CHAIN, TENDONS, FINGERS, POINTS = 28, 26, 10, 12, 5, 15
PARTS, VERTICES, PAIRS, CONTACT_ROWS, NODES = 48, 400, 256, 80, 21
UNKNOWNS, ROWS = VARIABLES + 1, CONTACT_ROWS + 2 * TENDONS

F, I = np.float64, np.int64  # noqa: E741

HAND = np.dtype(
    [
        ("joints", I),
        ("variables", I),
        ("tendons", I),
        ("fingers", I),
        ("points", I),
        ("parts", I),
        ("pairs", I),
        ("parent", I, JOINTS),  # joint that carries a joint, or -1
        ("pos_m", F, (JOINTS, 3)),  # origin in the parent's frame
        ("R", F, (JOINTS, 3, 3)),  # orientation in the parent's frame at angle 0
        ("axis", F, (JOINTS, 3)),
        ("variable", I, JOINTS),  # variable a joint follows: ratio * variable + offset
        ("ratio", F, JOINTS),
        ("offset_rad", F, JOINTS),
        ("chain", I, (JOINTS, CHAIN)),  # joints that move a joint's frame, root first, itself last
        ("chain_length", I, JOINTS),
        ("lower_rad", F, VARIABLES),
        ("upper_rad", F, VARIABLES),
        ("speed_rad_s", F, VARIABLES),
        ("acceleration_rad_s2", F, VARIABLES),
        ("posture", F, VARIABLES),  # 1 moves a knuckle, which directions of segments say nothing about
        ("twist", F, VARIABLES),  # 1 turns a finger about its own length
        ("row_variable", I, (TENDONS, 2)),  # tendons over two variables
        ("row_weight", F, (TENDONS, 2)),
        ("row_lower_rad", F, TENDONS),
        ("row_upper_rad", F, TENDONS),
        ("point_joint", I, POINTS),  # key points, finger after finger, thumb first, without the knuckles
        ("point_m", F, (POINTS, 3)),
        ("point_kind", I, POINTS),  # middle joint, last joint or tip
        ("point_node", I, (POINTS, 2)),  # glove nodes at both ends of the segment that ends in the point
        ("point_length_m", F, POINTS),  # length of that segment
        ("finger_first", I, FINGERS + 1),  # first key point of each finger, and the number of all
        ("knuckle_joint", I, FINGERS),
        ("knuckle_m", F, (FINGERS, 3)),  # in its joint's frame
        ("knuckle_open_m", F, (FINGERS, 3)),  # of the open hand, in the root frame
        ("knuckle_moves", I, FINGERS),  # 1 where directions are counted from the moving knuckle
        ("finger_R", F, (FINGERS, 3, 3)),  # from palm axes of a person to the root frame
        ("tip_node", I, FINGERS),
        ("tip_speed_m_s", F, FINGERS),  # of the tip when the finger turns about its knuckle
        ("pad_joint", I, FINGERS),
        ("pad_m", F, (FINGERS, 3)),
        ("pad_normal", F, (FINGERS, 3)),  # out of the pad
        ("pinch_from_m", F, FINGERS),  # distance of a person's fingertips at which a pinch begins to draw
        ("firmness", F, FINGERS),  # multiple of the pull of a pinch; 0 where the thumb cannot reach the finger
        ("core_joint", I, PARTS),  # joint that carries a colliding part; -1 stands still
        ("core_first", I, PARTS),
        ("core_count", I, PARTS),
        ("core_radius_m", F, PARTS),
        ("core_centre_m", F, (PARTS, 3)),
        ("core_bound_m", F, PARTS),  # radius around the centre that holds the whole part
        ("core_lever_m", F, (PARTS, CHAIN)),  # farthest any of the part can be from each axis of its chain
        ("vertex_m", F, (VERTICES, 3)),
        ("pair", I, (PAIRS, 2)),  # parts that may meet
        ("pair_finger", I, PAIRS),  # finger whose tip the pair would pinch against the thumb, or 0
    ]
)
TARGETS = np.dtype(
    [
        ("linear", I),  # 0: segment directions times robot lengths; 1: per finger a matrix and a shift
        ("matrix", F, (FINGERS, 3, 3)),  # from palm axes to the root frame
        ("shift_m", F, (FINGERS, 3)),
    ]
)
STATE = np.dtype(
    [
        ("angle_rad", F, VARIABLES),  # of the last frame
        ("velocity_rad_s", F, VARIABLES),
        ("restless", F, VARIABLES),  # extra damping of variables that turned back and forth
        ("between", F, (PAIRS, 3)),  # last direction between the parts of a pair
        ("apart_m", F, PAIRS),  # distance that they have at least
        ("node_m", F, (NODES, 3)),  # smoothed nodes of the last frame; NaN before the first
        ("node_m_s", F, (NODES, 3)),  # how fast they move
    ]
)
WORK = np.dtype(
    [
        ("pos", F, (JOINTS, 3)),
        ("R", F, (JOINTS, 3, 3)),
        ("axis", F, (JOINTS, 3)),
        ("node", F, (NODES, 3)),
        ("target", F, (POINTS, 3)),
        ("soon", F, (POINTS, 3)),
        ("knuckle", F, 3),
        ("H", F, (UNKNOWNS, UNKNOWNS)),
        ("g", F, UNKNOWNS),
        ("x", F, UNKNOWNS),
        ("angle", F, VARIABLES),
        ("lower", F, VARIABLES),
        ("upper", F, VARIABLES),
        ("step_lower", F, VARIABLES),
        ("step_upper", F, VARIABLES),
        ("row", F, (ROWS, UNKNOWNS)),
        ("least", F, ROWS),
        ("dense", F, VARIABLES),
        ("speed", F, (3, VARIABLES)),
        ("centre", F, (PARTS, 3)),
        ("vertex", F, (VERTICES, 3)),
        ("placed", I, PARTS),
        ("moved", F, PARTS),
        ("reach", F, PARTS),
        ("blend", F, FINGERS),
        ("calm", F, VARIABLES),
        ("pull", F, FINGERS),
        ("apart", F, FINGERS),
        ("closed", F, FINGERS),
        ("pad", F, (FINGERS, 3)),
        ("on_a", F, 3),
        ("on_b", F, 3),
        ("normal", F, 3),
        ("point", F, 3),
        # Of the distance of hulls.
        ("corner", F, (4, 3)),
        ("share", F, 4),
        ("trial", F, 4),
        ("corner_a", I, 4),
        ("corner_b", I, 4),
        # Of the quadratic program.
        ("L", F, (UNKNOWNS, UNKNOWNS)),
        ("J", F, (UNKNOWNS, UNKNOWNS)),
        ("triangle", F, (UNKNOWNS + 1, UNKNOWNS + 1)),
        ("d", F, UNKNOWNS),
        ("z", F, UNKNOWNS),
        ("r", F, UNKNOWNS + 1),
        ("force", F, UNKNOWNS + 1),
        ("v", F, UNKNOWNS),
        ("who", I, UNKNOWNS + 1),
        ("active", I, 2 * VARIABLES + ROWS),
    ]
)


class Tuning(NamedTuple):
    """Numbers the solver is tuned with; `thenar.retarget.config` says which of them a user chooses."""

    weight_middle: float
    weight_last: float
    weight_tip: float
    damping: float
    posture: float
    twist: float
    pinch: float
    """1 keeps pinches, 0 does not know them."""
    pinch_from_m: float
    """0 takes the hand's own."""
    pinch_full_m: float
    touch_m: float
    """Distance of a person's tips that touch."""
    pinch_gap_m: float
    """Distance of the robot's tips that a pinch aims at."""
    pinch_weight: float
    pinch_stiffness: float
    pad_weight: float
    pad_stiffness: float
    come_round: float
    """Multiple of the pads' pull while the thumb is behind the finger's pad."""
    pad_closed: float
    """How much more pads are drawn once the tips touch, as a multiple."""
    slide_weight: float
    """Resistance to sliding where a pinch touches."""
    touch_slide: float
    """The same where parts touch otherwise."""
    pinch_damping: float
    """Extra damping of the variables of a pinch, as a multiple."""
    contact: float
    """1 keeps parts apart, 0 does not know them."""
    clearance_m: float
    look_m: float
    """Pairs farther apart are not looked at."""
    approach: float
    """Share of the room between two parts that one round may use up."""
    slack_weight: float
    rounds: float
    settled_rad: float
    """Rounds end when no variable moves more."""
    trust_rad: float
    """Most that a variable moves in a round."""
    speed_scale: float
    turn: float
    """Share of its speed at which a variable may turn back in the frame after it ran faster."""
    foresee_s: float
    smooth_s: float


TUNING = np.dtype([(name, F) for name in Tuning._fields])


def as_record(dtype: np.dtype, values: dict[str, FloatArray | NDArray[np.int64] | float]) -> NDArray[np.void]:
    """One record with arrays put into the front of its fields. Shape (1,)."""
    record = np.zeros(1, dtype)
    for name, value in values.items():
        room = record[name][0]
        value = np.asarray(value)
        if value.ndim != room.ndim or any(have > most for have, most in zip(value.shape, room.shape, strict=True)):
            raise BadValue(name, value.shape, f"at most {room.shape}: the solver is compiled for hands up to that size")
        record[name][(0, *(slice(0, size) for size in value.shape))] = value
    return record
