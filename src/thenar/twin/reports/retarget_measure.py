"""How well a hand followed a glove: errors, pinches, violations, smoothness, with MuJoCo as the judge of contact.

Distances are millimetres and angles degrees here, as people read them. Shapes use n = frames, v = variables.
"""

from __future__ import annotations

import time
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from thenar.retarget.config import RetargetConfig
from thenar.retarget.fit import LinearMap
from thenar.retarget.kernel.targets import USUAL_FINGER_M, finger_length_m
from thenar.retarget.model.hand_model import HandModel
from thenar.retarget.retargeter import Retargeter
from thenar.retarget.smoothness import THRESHOLDS_DEG, fast_motion_deg, lag_s, reversals_per_s, swings_per_s
from thenar.retarget.solver import key_point_targets_m
from thenar.signals import FloatArray
from thenar.sim.collision_checker import CollisionChecker

PINCH_MM = 20.0  # a person of usual size whose fingertips are this near pinches
PINCH_OK_MM = (-2.0, 3.0)
DEEP_MM = 1.0
SWING_DEG = 0.5


@dataclass(frozen=True, kw_only=True, eq=False)
class Quality:
    """How well a hand followed."""

    frames: int
    off_pinch: int
    """Frames in which the person does not pinch; errors are counted there."""
    tip_mm: float
    """Mean distance of fingertips to their targets."""
    tip_of_finger_mm: dict[str, float]
    segment_deg: float
    """Mean angle of robot segments to the person's."""
    pinches: int
    """Pairs of thumb and finger that the person pinches and the hand can reach."""
    pinch_ok: float
    """Share of them with tips between 2 mm deep and 3 mm apart."""
    pinch_gap_mm: float
    """Median distance of the tips."""
    pinch_palmar: float
    """Share of the good ones that touch on the palmar half of both tips."""
    penetrating: float
    """Share of frames in which parts overlap by more than a millimetre."""
    max_penetration_mm: float
    limit_excess_deg: float
    """Largest excess over an angle or tendon limit."""
    speed_ratio: float
    """Largest speed of a variable or tendon as a multiple of its limit."""
    reversals_per_s: dict[float, float]
    """Turns back by more than so many degrees in both steps, per variable and second."""
    swings_per_s: float
    """Turns back by more than half a degree, in however many frames, per variable and second."""
    fast_motion_deg: float
    """Root mean square of what moves faster than 5 Hz."""
    lag_s: float
    """How late the fingertips are."""
    largest_step_deg: float
    tip_frame_mm: FloatArray
    """Mean tip error of each frame. (n,)"""
    penetration_mm: FloatArray
    """Deepest overlap of each frame. (n,)"""
    pinching: NDArray[np.bool_]
    """True where the person pinches. (n,)"""


def measure(
    model: HandModel,
    nodes: FloatArray,
    step_s: FloatArray,
    variable_rad: FloatArray,
    *,
    linear_map: LinearMap | None = None,
    speed_scale: float = 1.0,
    checker: CollisionChecker | None = None,
) -> Quality:
    """Measure a whole recording.

    Args:
        model: The hand.
        nodes: Frames as the hand's own side has them [m]. Shape (n, 21, 3).
        step_s: Time from the frame before [s]. Shape (n,).
        variable_rad: What the hand did [rad]. Shape (n, v).
        linear_map: The map that was followed, or None for segment directions.
        speed_scale: Multiple of the motors' speed that was allowed.
        checker: To be used again for many recordings of one hand.
    """
    checker = checker or CollisionChecker(model.hand)
    points = model.points_m(variable_rad)
    wanted = key_point_targets_m(model, nodes, linear_map)
    tip_mm = _tip_errors_mm(model, points, wanted, from_knuckle=linear_map is None)
    gap_mm = 1e3 * np.linalg.norm(nodes[:, [finger.nodes[-1] for finger in model.fingers[1:]]] - nodes[:, 4:5], axis=2)
    gap_mm *= USUAL_FINGER_M / np.mean([finger_length_m(frame) for frame in nodes])
    pinching = np.any(gap_mm < PINCH_MM, axis=1)
    off = ~pinching if not np.all(pinching) else np.ones(len(nodes), dtype=bool)
    penetration_mm, gaps, palmar = _collisions(model, checker, variable_rad, gap_mm)
    good = (gaps > PINCH_OK_MM[0]) & (gaps < PINCH_OK_MM[1])
    steps = np.diff(variable_rad, axis=0)
    return Quality(
        frames=len(nodes),
        off_pinch=int(off.sum()),
        tip_mm=float(tip_mm[off].mean()),
        tip_of_finger_mm={n: float(tip_mm[off, k].mean()) for k, n in enumerate(model.finger_names)},
        segment_deg=float(_segment_errors_deg(model, points, nodes)[off].mean()),
        pinches=len(gaps),
        pinch_ok=float(good.mean()) if len(gaps) else 1.0,
        pinch_gap_mm=float(np.median(gaps)) if len(gaps) else float("nan"),
        pinch_palmar=float(palmar[good].mean()) if good.any() else float("nan"),
        penetrating=float((penetration_mm > DEEP_MM).mean()),
        max_penetration_mm=float(penetration_mm.max(initial=0.0)),
        limit_excess_deg=_limit_excess_deg(model, variable_rad),
        speed_ratio=_speed_ratio(model, variable_rad, step_s) / speed_scale,
        reversals_per_s={deg: reversals_per_s(variable_rad, step_s, deg) for deg in THRESHOLDS_DEG},
        swings_per_s=swings_per_s(variable_rad, step_s, SWING_DEG),
        fast_motion_deg=fast_motion_deg(variable_rad, step_s),
        lag_s=_lag_s(model, points, wanted, step_s),
        largest_step_deg=float(np.degrees(np.abs(steps).max(initial=0.0))),
        tip_frame_mm=tip_mm.mean(axis=1),
        penetration_mm=penetration_mm,
        pinching=pinching,
    )


def time_frames_us(model: HandModel, config: RetargetConfig, nodes: FloatArray, step_s: FloatArray) -> FloatArray:
    """CPU time of each frame on one core [us], the least of three passes. Shape (n,)."""
    passes = []
    for _ in range(3):
        retargeter, took = Retargeter(model, config), []
        for frame, step in zip(nodes, step_s, strict=True):
            start_ns = time.thread_time_ns()
            retargeter.follow(frame, float(step))
            took.append(1e-3 * (time.thread_time_ns() - start_ns))
        passes.append(took)
    return np.min(passes, axis=0)


def _tip_errors_mm(model: HandModel, points: FloatArray, wanted: FloatArray, *, from_knuckle: bool) -> FloatArray:
    """Distance of each fingertip to its target, from a moving knuckle where the target is. Shape (n, f)."""
    columns = []
    for f, (finger, part) in enumerate(zip(model.fingers, model.point_slices, strict=True)):
        shift = points[:, part.start] - finger.knuckle_m if finger.knuckle_moves and from_knuckle else 0.0
        target = wanted[:, part.stop - 2 - f] + shift
        columns.append(1e3 * np.linalg.norm(points[:, part.stop - 1] - target, axis=1))
    return np.stack(columns, axis=1)


def _lag_s(model: HandModel, points: FloatArray, wanted: FloatArray, step_s: FloatArray) -> float:
    """How late the fingertips are behind their targets [s]."""
    tips = [part.stop - 1 for part in model.point_slices]
    targets = wanted[:, [tip - f - 1 for f, tip in enumerate(tips)]]
    return lag_s(points[:, tips].reshape(len(points), -1), targets.reshape(len(points), -1), step_s)


def _segment_errors_deg(model: HandModel, points: FloatArray, nodes: FloatArray) -> FloatArray:
    """Angle of each robot segment to the person's. Shape (n, p)."""
    columns = []
    for finger, part in zip(model.fingers, model.point_slices, strict=True):
        robot = np.diff(points[:, part], axis=1)
        person = np.diff(nodes[:, list(finger.nodes)], axis=1) @ finger.R.T
        cosine = np.sum(robot * person, axis=2) / (np.linalg.norm(robot, axis=2) * np.linalg.norm(person, axis=2))
        columns.append(np.degrees(np.arccos(np.clip(cosine, -1.0, 1.0))))
    return np.concatenate(columns, axis=1)


def _collisions(
    model: HandModel, checker: CollisionChecker, variable_rad: FloatArray, gap_mm: FloatArray
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Overlap of each frame, distance of every pinch, and whether it is on the palmar side of both."""
    joint_rad = model.joint_rad(variable_rad)
    penetration_mm, gaps, palmar = np.zeros(len(joint_rad)), [], []
    reachable = [(k, finger) for k, finger in enumerate(model.fingers[1:]) if finger.name in model.pinch_fingers]
    thumb = model.fingers[0]
    for n, angles in enumerate(joint_rad):
        checker.pose(angles)
        penetration_mm[n] = 1e3 * checker.overlap().depth_m
        for k, finger in reachable:
            if gap_mm[n, k] < PINCH_MM:
                distance_m, on_thumb, on_finger = checker.distance(thumb.tip_link, finger.tip_link)
                gaps.append(1e3 * distance_m)
                palmar.append(thumb.is_palmar(on_thumb) and finger.is_palmar(on_finger))
    return penetration_mm, np.array(gaps), np.array(palmar, dtype=bool)


def _limit_excess_deg(model: HandModel, variable_rad: FloatArray) -> float:
    joint_rad = model.joint_rad(variable_rad)
    lower = np.array([joint.lower_rad for joint in model.hand.joints])
    upper = np.array([joint.upper_rad for joint in model.hand.joints])
    over = [np.max(lower - joint_rad), np.max(joint_rad - upper)]
    names = list(model.hand.joint_names)
    for tendon in model.hand.tendons:
        total = sum(weight * joint_rad[:, names.index(name)] for name, weight in tendon.joints)
        if tendon.lower_rad is not None:
            over.append(np.max(tendon.lower_rad - total))
        if tendon.upper_rad is not None:
            over.append(np.max(total - tendon.upper_rad))
    for coupling in model.hand.couplings:
        follows = coupling.ratio * joint_rad[:, names.index(coupling.driver)] + coupling.offset_rad
        over.append(np.max(np.abs(joint_rad[:, names.index(coupling.joint)] - follows)))
    # Angles that are sums of decimals: a billionth of a degree is rounding.
    return max(0.0, float(np.degrees(max(over))) - 1e-9)


def _speed_ratio(model: HandModel, variable_rad: FloatArray, step_s: FloatArray) -> float:
    """Largest speed of a motor, or of one of the joints it pulls, as a multiple of its limit."""
    moves = np.concatenate([model.motor_rad(variable_rad), variable_rad], axis=1)
    top = np.concatenate([model.hand.top_speed_rad_s, model.speed_rad_s])
    return float(np.max(np.abs(np.diff(moves, axis=0)) / (step_s[1:, None] * top), initial=0.0))
