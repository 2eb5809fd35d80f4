"""Memory of the compiled solver: records for a hand, its targets, its state, its tuning and scratch space.

A record is handed over as one address, and its sizes are known when the solver is compiled. So one compiled solver
serves every hand, a call costs a microsecond, and nothing is allocated while it runs. Arrays are as long as the
largest hand needs; the counts in `HAND` say how much of them is in use.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from thenar.errors import BadValue

JOINTS, VARIABLES, CHAIN, TENDONS, FINGERS, POINTS = 28, 26, 10, 12, 5, 15
HULLS, VERTICES, PAIRS, CONTACT_ROWS, NODES = 96, 1200, 512, 80, 21
UNKNOWNS, ROWS = VARIABLES + 1, CONTACT_ROWS + 2 * TENDONS

WAY_STEPS = 12  # of another hand from open to a held frame
REACH, SPEED, CONTACT, PINCH = 1, 2, 4, 8  # what keeps a finger from its target
ARRIVED = 2  # where a still hand was pulled to

F, I = np.float64, np.int64  # noqa: E741

HAND = np.dtype(
    [
        *((count, I) for count in ("joints", "variables", "tendons", "fingers", "points", "hulls", "pairs")),
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
        ("pinch_gain", F, FINGERS),  # multiple of the weight of a pinch; 0 where the thumb cannot reach the finger
        ("hull_joint", I, HULLS),  # joint that carries a collision hull; -1 stands still
        ("hull_first", I, HULLS),  # its first vertex
        ("hull_count", I, HULLS),
        ("hull_radius_m", F, HULLS),
        ("hull_centre_m", F, (HULLS, 3)),
        ("hull_bound_m", F, HULLS),  # radius around the centre that holds the whole hull
        ("hull_lever_m", F, (HULLS, CHAIN)),  # farthest any of the hull can be from each axis of its chain
        ("vertex_m", F, (VERTICES, 3)),
        ("pair", I, (PAIRS, 2)),  # hulls that may meet
        ("pair_finger", I, PAIRS),  # finger whose tip the pair would pinch against the thumb, or 0
    ]
)
TARGETS = np.dtype(
    [
        ("open_node_m", F, (NODES, 3)),  # of a person whose open hand is the robot's
        ("linear", I),  # 0: segment directions times robot lengths; 1: per finger a matrix and a shift
        ("matrix", F, (FINGERS, 3, 3)),  # from palm axes to the root frame
        ("shift_m", F, (FINGERS, 3)),
    ]
)
STATE = np.dtype(
    [
        ("angle_rad", F, VARIABLES),  # of the last frame
        ("velocity_rad_s", F, VARIABLES),
        ("wanted_rad", F, VARIABLES),  # of the last frame, had there been no friction
        ("way", F, VARIABLES),  # -1 to 1: which way it has been going
        ("separation", F, (PAIRS, 3)),  # last vector between the hulls of a pair
        ("min_distance_m", F, PAIRS),  # lower bound of their distance
        ("node_m", F, (NODES, 3)),  # smoothed nodes of the last frame; NaN before the first
        ("node_m_s", F, (NODES, 3)),  # how fast they move
        ("tip_error_m", F, FINGERS),  # how far each fingertip is from its target
        ("why", I, FINGERS),  # and what keeps it from there, a sum of REACH, SPEED, CONTACT, PINCH
        ("cost", F),  # what the posture costs, of all that is minimised
        ("slow_node_m", F, (NODES, 3)),  # where they have been
        ("rest_s", F),  # for how long the person has been still, until the lead is over
        ("lead_steps", I),  # steps of the way from the open hand that have been taken; 0 while the person moves
        # 1: the hand is pulled to where it would have come to, or to the middle of a swing; 0: free; ARRIVED: it stays.
        ("pull", I),
        ("pull_rad", F, VARIABLES),  # to where
        ("goal_rad", F, VARIABLES),  # the same, but for fingers that go round; or the sum of where a watched hand was
        ("crossed", I, FINGERS),  # 1: goes round, along the way of the other hand
        ("path_rad", F, (WAY_STEPS, VARIABLES)),  # that way
        ("via", I),  # step of it to which those fingers are pulled; WAY_STEPS: to their end
        ("back", I),  # earliest step they have gone back to
        ("rest_node_m", F, (NODES, 3)),  # where the person's nodes were when that was known
        ("moved_on", I),  # 1: the person has moved on since, slowly
        ("apart_rad", F),  # sum of what was left to go when it last came nearer
        ("stuck_s", F),  # for how long it has not
        ("held", I),  # 1: the hand went to and fro while the person was still, and is held in the middle
        ("watched_s", F),  # for how long a still person's hand has been watched for that
        ("watched_rad", F, VARIABLES),  # where it was when that began
        ("travel_rad", F),  # sum of all its ways since
    ]
)
_SCRATCH = (
    # Kinematics and targets, in the root frame.
    (F, (JOINTS, 3), "pos axis"),
    (F, (JOINTS, 3, 3), "R"),
    (F, (NODES, 3), "node"),
    (F, (POINTS, 3), "target predicted"),
    (F, (FINGERS, 3), "pad"),
    (F, 3, "knuckle point normal on_a on_b"),
    # Pinches.
    (F, FINGERS, "blend pinch_weight pad_gap closure"),
    (F, 1, "cost"),
    # Collision hulls.
    (F, (HULLS, 3), "centre"),
    (F, HULLS, "moved reach"),
    (I, HULLS, "placed"),
    (F, (VERTICES, 3), "vertex"),
    # GJK: corners of the simplex, their barycentric weights and the vertices they are made of.
    (F, (4, 3), "corner"),
    (F, 4, "share"),
    (I, 4, "corner_a corner_b"),
    # Variables, and the quadratic program over their step.
    (F, VARIABLES, "angle lower upper step_lower step_upper jac_row pinch_damping_scale friction"),
    (F, (3, VARIABLES), "jac"),
    (F, (UNKNOWNS, UNKNOWNS), "H L J"),
    (F, UNKNOWNS, "g x d z v"),
    (F, (ROWS, UNKNOWNS), "row"),
    (F, ROWS, "row_lower"),
    (F, (UNKNOWNS + 1, UNKNOWNS + 1), "triangle"),
    (F, UNKNOWNS + 1, "r multiplier"),
    (I, UNKNOWNS + 1, "active_set"),
    (I, 2 * VARIABLES + ROWS, "active"),
)
WORK = np.dtype([(name, kind, shape) for kind, shape, names in _SCRATCH for name in names.split()])


class Tuning(NamedTuple):
    """Numbers of the solver: those without a default are a user's choice (see `RetargetConfig`)."""

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
    pinch_zone: float
    """Share of the hand's own way from there to `pinch_full_m` that is needed: fast motors need less of it."""
    contact: float
    """1 keeps hulls apart, 0 does not know them."""
    clearance_m: float
    max_iterations: float
    speed_scale: float
    reversal_share: float
    friction_rad: float
    prediction_s: float
    smooth_s: float
    rest: float
    """1 has a still hand end where it would have come to from open, 0 leaves it where it came to."""
    touch_m: float = 0.012
    """Distance of a person's tips that touch."""
    pinch_gap_m: float = 0.0009
    """Distance of the robot's tips that a pinch aims at."""
    pinch_weight: float = 200.0
    pinch_stiffness: float = 1 / 1.5
    pad_weight: float = 6.0
    pad_stiffness: float = 0.5
    approach_gain: float = 20.0
    """Multiple of the pads' weight while the thumb is behind the finger's pad."""
    pad_closed: float = 1.0
    """How much more pads are drawn once the tips touch, as a multiple."""
    slide_weight: float = 5.0
    """Resistance to sliding where a pinch touches."""
    touch_slide: float = 1.0
    """The same where hulls touch otherwise."""
    pinch_damping: float = 60.0
    """Extra damping of the variables of a pinch, as a multiple."""
    bend_free_rad: float = 1.2
    """How much more than the person's a finger may be bent before it is stretched for its own sake."""
    bend_weight: float = 0.03
    detection_m: float = 0.012
    """Pairs farther apart are not looked at."""
    collision_gain: float = 0.9
    """Share of the margin between two hulls that one iteration may use up."""
    at_rest_m: float = 0.0001
    """A person of usual size whose nodes are so near to where they have been is at rest."""
    dearer: float = 3.0
    """A posture that costs so many times as much is not gone to."""
    pull: float = 0.2
    """Weight of the posture that a still hand is pulled to: a pinch weighs more, and stays closed on the way."""
    slack_weight: float = 1e5
    converged_rad: float = 0.035
    """Iterations end when no variable moves more."""
    trust_region_rad: float = 0.2
    """Most that a variable moves in an iteration."""


TUNING = np.dtype([(name, F) for name in Tuning._fields])


def as_record(dtype: np.dtype, values: Mapping[str, ArrayLike]) -> NDArray[np.void]:
    """One record with arrays put into the front of its fields. Shape (1,)."""
    record = np.zeros(1, dtype)
    for name, value in values.items():
        field, value = record[name][0], np.asarray(value)
        if value.ndim != field.ndim or any(have > most for have, most in zip(value.shape, field.shape, strict=True)):
            raise BadValue(name, value.shape, f"at most {field.shape}, which the solver is compiled for")
        record[name][(0, *(slice(0, size) for size in value.shape))] = value
    return record
