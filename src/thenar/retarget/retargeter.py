"""A hand that follows a glove, frame by frame: `Retargeter`."""

from __future__ import annotations

import enum
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from thenar import hands
from thenar.errors import BadValue, UnknownName
from thenar.glove.palm import frame_in_palm_axes
from thenar.hands.spec import HandSpec
from thenar.retarget.config import RetargetConfig
from thenar.retarget.kernel.solver_memory import CONTACT, PINCH, REACH, SPEED
from thenar.retarget.model.hand_model import HandModel, build_model
from thenar.retarget.solver import Solver, open_nodes
from thenar.signals import LAYOUT_OF, NODES, TRACKERS, FloatArray, GloveFrame, GloveSide, HandCommand

if TYPE_CHECKING:
    from thenar.retarget.fit import LinearMap

MIN_STEP_S, USUAL_STEP_S, MAX_STEP_S = 1e-4, 1.0 / 60.0, 0.1
RELAX_SPEED = 0.25  # of the motors' speed
GAVE_UP_M = 0.002
REASONS = {
    why: tuple(
        name for bit, name in ((REACH, "reach"), (SPEED, "speed"), (CONTACT, "contact"), (PINCH, "pinch")) if why & bit
    )
    or ("shape",)
    for why in range(16)
}
"""What a finger's `why` says: where nothing holds it, its segments cannot all point where the person's do."""
MIRROR = np.array([-1.0, 1.0, 1.0])


class Following(enum.Enum):
    """Whether the hand follows the glove."""

    WAITING = "waiting for the first frame"
    FOLLOWING = "following"
    HOLDING = "holding: the glove is silent"
    RELAXING = "opening: the glove has been silent for long"


@dataclass(frozen=True, kw_only=True, eq=False)
class Retargeted:
    """What the hand should do."""

    stamp_s: float
    command: HandCommand
    """For the motors, in the hand's own order."""
    joint_rad: FloatArray
    """Angle of every joint, in the order of the spec [rad]."""
    following: Following
    age_s: float
    """Age of the glove's last good frame [s]."""
    tip_error_m: FloatArray
    """How far each fingertip was from where the person's points it [m], thumb first."""
    gave_up: dict[str, tuple[str, ...]]
    """Fingers that were more than 2 mm from there, and what kept them: reach (a joint at its end), speed (a motor at
    its limit), contact (with another part of the hand), pinch (drawn to touch the thumb), shape (of the finger)."""


class Retargeter:
    """Glove frames into motor commands of a hand. It remembers the last posture, so give every glove its own."""

    def __init__(
        self,
        hand: str | HandSpec | HandModel,
        config: RetargetConfig | None = None,
        *,
        linear_map: LinearMap | None = None,
    ):
        """Prepare a hand.

        Args:
            hand: Its name, its spec, or its model where it is built already.
            config: How to follow.
            linear_map: A map from `thenar.retarget.fit`; None follows the directions of the segments.
        """
        if not isinstance(hand, HandModel):
            hand = build_model(hands.load(hand) if isinstance(hand, str) else hand)
        self.model = hand
        self.config = config or RetargetConfig()
        self._solver = Solver(hand, self.config, linear_map)
        self._frames, self._step_s = np.empty((1, 21, 3)), np.empty(1)
        self._out = np.empty((1, len(hand.variables)))
        self._every_map = np.concatenate([hand.joint_map, hand.motor_map @ hand.joint_map])  # joints, then motors
        self._keep = np.full(len(hand.motor_map), np.nan)
        self._keep.setflags(write=False)  # every command has the same
        self._open_nodes = open_nodes(hand, linear_map)
        if linear_map is None:  # directions are the same with the thumb far away, and nothing looks like a pinch
            self._open_nodes[list(hand.fingers[0].nodes)] += 1.0
        self.follow(self._open_nodes, USUAL_STEP_S)  # what is not compiled yet is now, not at the first frame
        self.reset()

    @property
    def added_latency_s(self) -> float:
        """Delay that smoothing adds to slow motion [s]."""
        return self.config.smooth_s

    def reset(self) -> None:
        """Forget the glove; the hand is open."""
        self._solver.reset()
        self._out[0] = self.model.open_rad
        self._stand_at(self.model.joint_open_rad)
        self._stamp_s: float | None = None
        self._now_s = math.inf
        self._begun = False  # at angles of a real hand

    def begin_at(self, motor_rad: ArrayLike) -> None:
        """Begin where the motors of a hand are [rad]: from there it goes to the first frame at the motors' speed.

        A wrist, which a glove does not see, stays there; without this it is at 0. A motor beyond its limits begins at
        them.
        """
        self.reset()
        model = self.model
        motor_rad = np.asarray(motor_rad, dtype=np.float64)
        if motor_rad.shape != (len(model.motor_map),) or not np.isfinite(motor_rad).all():
            raise BadValue("motor_rad", motor_rad.tolist(), f"{len(model.motor_map)} finite angles")
        # Motors follow the variables linearly; joints that no motor tells apart begin as in the open hand.
        lower_rad, upper_rad = np.array([(motor.lower_rad, motor.upper_rad) for motor in model.hand.actuators]).T
        away_rad = np.clip(motor_rad, lower_rad, upper_rad) - model.motor_rad(model.open_rad)
        moves = model.motor_map @ model.joint_map
        self._out[0] += np.linalg.lstsq(moves, away_rad, rcond=None)[0]
        self._solver.begin_at(self._out[0])
        self._out[0] = self._solver.angle_rad
        still, stands = ~moves.any(axis=1), ~model.joint_map.any(axis=1)
        joint_rad = model.joint_open_rad.copy()
        joint_rad[stands] += np.linalg.lstsq(model.motor_map[np.ix_(still, stands)], away_rad[still], rcond=None)[0]
        self._stand_at(joint_rad)
        self._begun = True

    def __call__(
        self,
        frame: GloveFrame | ArrayLike,
        stamp_s: float | None = None,
        *,
        side: GloveSide | None = None,
        layout: str | None = None,
    ) -> Retargeted:
        """Follow one frame. A frame with a missing number is a lost one: the hand holds.

        Args:
            frame: A glove's frame, or the points of a tracker in any axes [m]. Shape (21 to 27, 3).
            stamp_s: Time of the points [s]; a frame has its own.
            side: Which hand the points are of; None: the one the robot's is.
            layout: Whose order the points have: mediapipe, manus21, manus25, webxr, openxr, quest, pico, apple25,
                apple27, mano, smplx. None goes by their number: 21 is MediaPipe's, 25 WebXR's, 26 OpenXR's, 27 Apple's.
        """
        if not isinstance(frame, GloveFrame):
            points = np.asarray(frame, dtype=np.float64)
            if stamp_s is None:
                raise BadValue("stamp_s", stamp_s, "the time of the points in seconds")
            if layout is not None and layout not in TRACKERS:
                raise UnknownName("layout", layout, TRACKERS)
            order = LAYOUT_OF.get(len(points)) if layout is None else TRACKERS[layout]
            if order is None or points.shape != (NODES[order], 3):
                wanted = "(21, 3), (25, 3), (26, 3) or (27, 3)" if order is None else f"({NODES[order]}, 3)"
                raise BadValue("points", f"shape {points.shape}", wanted)
            if not np.isfinite(points).all():
                return self.tick(stamp_s)
            side = side or ("left" if self.model.hand.side == "left" else "right")
            frame = frame_in_palm_axes(stamp_s, side, order, points)
        nodes = aligned_nodes(self.model, frame.finger_m, frame.side, mirror=self.config.mirror)
        if not np.all(np.isfinite(nodes)):
            return self.tick(frame.stamp_s)
        _check_stamp(frame.stamp_s)
        if self._stamp_s is None and not self._begun:
            self._solver.settle(nodes)  # a jump from the open hand is nobody's motion
        self._stamp_s, step_s = frame.stamp_s, self._time_until(frame.stamp_s)
        self.follow(nodes, step_s)
        return self._answer(frame.stamp_s, Following.FOLLOWING)

    def tick(self, now_s: float) -> Retargeted:
        """What the hand should do when no new frame has come: hold, then open slowly."""
        _check_stamp(now_s)
        if self._stamp_s is None:
            return self._answer(now_s, Following.WAITING)
        age_s = now_s - self._stamp_s
        if age_s < self.config.hold_s:
            return self._answer(now_s, Following.FOLLOWING)
        if age_s < self.config.relax_s:
            self._now_s = max(self._now_s, now_s)
            return self._answer(now_s, Following.HOLDING)
        step_s = min(max(now_s - max(self._now_s, self._stamp_s + self.config.relax_s), 0.0), MAX_STEP_S)
        self._now_s = max(self._now_s, now_s)
        if step_s > 0.0:
            self.follow(self._open_nodes, RELAX_SPEED * step_s)
        return self._answer(now_s, Following.RELAXING)

    def _time_until(self, stamp_s: float) -> float:
        """How long the hand may move for a frame [s]: no time counts twice, though frames come late or out of order."""
        step_s = stamp_s - self._now_s
        if step_s < -MAX_STEP_S:  # the first frame, or a clock that was set back: a frame of usual length
            self._now_s = stamp_s
            return USUAL_STEP_S
        if step_s < MIN_STEP_S:
            self._now_s += MIN_STEP_S
            return MIN_STEP_S
        self._now_s = stamp_s
        return min(step_s, MAX_STEP_S)

    def follow(self, nodes: FloatArray, step_s: float) -> FloatArray:
        """Move on by one frame of nodes as the hand's own side has them [m]; the angles of the variables [rad]."""
        self._frames[0], self._step_s[0] = nodes, step_s
        self._solver.follow(self._frames, self._step_s, self._out)
        return self._out[0]

    def _stand_at(self, joint_rad: FloatArray) -> None:
        """Add these angles to all answers: of joints that stand still, or that are turned from where their motor is."""
        self._every_rad = np.concatenate([joint_rad, self.model.motor_map @ joint_rad])

    def _answer(self, stamp_s: float, following: Following) -> Retargeted:
        solver, joints = self._solver, len(self.model.joint_map)
        error_m, every_rad = solver.tip_error_m.copy(), self._every_map @ self._out[0] + self._every_rad
        return Retargeted(
            stamp_s=stamp_s,
            command=HandCommand(target_rad=every_rad[joints:], speed_rad_s=self._keep, force_limit_n=self._keep),
            joint_rad=every_rad[:joints],
            following=following,
            age_s=float("inf") if self._stamp_s is None else stamp_s - self._stamp_s,
            tip_error_m=error_m,
            gave_up={
                name: REASONS[why]
                for name, why, off_m in zip(self.model.finger_names, solver.why.tolist(), error_m.tolist(), strict=True)
                if off_m > GAVE_UP_M
            },
        )


def aligned_nodes(model: HandModel, finger_m: FloatArray, side: GloveSide, *, mirror: bool) -> FloatArray:
    """Nodes of a glove as the hand's own side would have them [m]. Shape (..., 21, 3)."""
    hand = model.hand
    if side == ("right" if hand.side == "none" else hand.side):  # a hand without sides is written for a right glove
        return finger_m
    if hand.side != "none" and not mirror:
        raise BadValue("glove side", side, f"{hand.side}, as {hand.name} is; to mirror it on purpose set mirror")
    return finger_m * MIRROR


def _check_stamp(stamp_s: float) -> None:
    if not math.isfinite(stamp_s):
        raise BadValue("stamp_s", stamp_s, "a time in seconds")
