"""A hand that follows a glove, frame by frame: `Retargeter`."""

from __future__ import annotations

import enum
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from thenar.errors import BadValue
from thenar.hands.spec import HandSpec
from thenar.retarget.config import RetargetConfig
from thenar.retarget.kernel.solve import solve_frames
from thenar.retarget.kernel.targets import find_targets
from thenar.retarget.model.hand_model import HandModel, build_model
from thenar.retarget.model.near import tightest_m
from thenar.retarget.model.records import STATE, TARGETS, TUNING, WORK, Tuning, as_record
from thenar.signals import FloatArray, GloveFrame, GloveSide, HandCommand

USUAL_STEP_S = 1.0 / 60.0
LONGEST_STEP_S = 0.1
RELAX_SPEED = 0.25  # of the motors' speed
SETTLE_FRAMES, SETTLE_STEP_S = 80, 0.05
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


class Retargeter:
    """Makes a hand follow a glove. It remembers the last posture, so give every glove its own."""

    def __init__(
        self,
        hand: HandSpec | HandModel,
        config: RetargetConfig | None = None,
        targets: NDArray[np.void] | None = None,
    ):
        """Prepare a hand.

        Args:
            hand: The hand, or its arrays where they are at hand already.
            config: How to follow.
            targets: A linear map from `thenar.retarget.fit`; None follows the directions of the segments.
        """
        self.model = hand if isinstance(hand, HandModel) else build_model(hand)
        self.config = config or RetargetConfig()
        self.targets = direction_targets() if targets is None else targets
        self._tuning = tuning_record(self.config.tuning())
        self._work = np.zeros(1, WORK)
        self._frames = np.empty((1, 21, 3))
        self._step_s = np.empty(1)
        self._out = np.empty((1, len(self.model.variables)))
        self.reset()
        self.follow(open_nodes(self.model), USUAL_STEP_S)  # what is not compiled yet is now, not at the first frame
        self.reset()

    @property
    def added_latency_s(self) -> float:
        """Delay that smoothing adds to slow motion [s]."""
        return self.config.smooth_s

    def reset(self) -> None:
        """Forget the glove; the hand is open."""
        self._state = fresh_state(self.model)
        self._out[0] = self.model.open_rad
        self._stamp_s: float | None = None
        self._now_s = float("-inf")

    def __call__(self, frame: GloveFrame) -> Retargeted:
        """Follow one frame. A frame with a missing number is a lost one: the hand holds."""
        nodes = aligned_nodes(self.model, frame.finger_m, frame.side, mirror=self.config.mirror)
        if not np.all(np.isfinite(nodes)):
            return self.tick(frame.stamp_s)
        if self._stamp_s is None:
            self._settle(nodes)
            step_s = USUAL_STEP_S
        else:
            step_s = min(max(frame.stamp_s - max(self._stamp_s, self._now_s), 0.0), LONGEST_STEP_S) or USUAL_STEP_S
        self._stamp_s = self._now_s = frame.stamp_s
        self.follow(nodes, step_s)
        return self._answer(frame.stamp_s, Following.FOLLOWING)

    def tick(self, now_s: float) -> Retargeted:
        """What the hand should do when no new frame has come: hold, then open slowly."""
        if self._stamp_s is None:
            return self._answer(now_s, Following.WAITING)
        age_s = now_s - self._stamp_s
        if age_s < self.config.hold_s:
            return self._answer(now_s, Following.FOLLOWING)
        if age_s < self.config.relax_s:
            self._now_s = now_s
            return self._answer(now_s, Following.HOLDING)
        step_s = min(max(now_s - max(self._now_s, self._stamp_s + self.config.relax_s), 0.0), LONGEST_STEP_S)
        self._now_s = now_s
        if step_s > 0.0:
            self.follow(open_nodes(self.model), RELAX_SPEED * step_s)
        return self._answer(now_s, Following.RELAXING)

    def _settle(self, nodes: FloatArray) -> None:
        """Begin where the first frame is: a jump from the open hand is nobody's motion."""
        self._state = settled_state(self.model, self._tuning, self.targets, nodes)

    def follow(self, nodes: FloatArray, step_s: float) -> FloatArray:
        """Move on by one frame of nodes as the hand's own side has them [m]; the angles of the variables [rad]."""
        self._frames[0], self._step_s[0] = nodes, step_s
        solve_frames(
            self.model.record,
            self._tuning,
            self.targets,
            self._state,
            self._work,
            self._frames,
            self._step_s,
            self._out,
        )
        return self._out[0]

    def _answer(self, stamp_s: float, following: Following) -> Retargeted:
        joint_rad = self.model.joint_rad(self._out[0])
        return Retargeted(
            stamp_s=stamp_s,
            command=HandCommand.to(joint_rad @ self.model.motor_map.T),
            joint_rad=joint_rad,
            following=following,
            age_s=float("inf") if self._stamp_s is None else stamp_s - self._stamp_s,
        )


def direction_targets() -> NDArray[np.void]:
    """Segment directions times robot lengths: nothing to fit."""
    return np.zeros(1, TARGETS)


def tuning_record(tuning: Tuning) -> NDArray[np.void]:
    """The numbers of the solver as it reads them."""
    return np.array([tuple(tuning)], TUNING)


def fresh_state(model: HandModel) -> NDArray[np.void]:
    """The open hand at rest."""
    state = as_record(STATE, {"angle_rad": model.open_rad})
    state["restless"] = 1.0
    state["apart_m"] = -1.0
    state["node_m"] = np.nan
    return state


def settled_state(
    model: HandModel, tuning: NDArray[np.void], targets: NDArray[np.void], nodes: FloatArray
) -> NDArray[np.void]:
    """The posture a hand comes to rest in when it is shown one frame for long.

    It is first sought without contact: where parts are apart in that posture it is the best there is. Else the hand
    comes to it from open, in contact, and may be held up on the way.
    """
    alone = tuning.copy()
    alone["contact"] = alone["pinch"] = 0.0
    state = fresh_state(model)
    _show(model, alone, targets, state, nodes)
    if tightest_m(model.record, state["angle_rad"][0]) < 0.0:
        state = fresh_state(model)
    state["apart_m"] = -1.0  # nothing is known of distances yet
    _show(model, tuning, targets, state, nodes)
    state["velocity_rad_s"] = 0.0
    return state


def _show(
    model: HandModel,
    tuning: NDArray[np.void],
    targets: NDArray[np.void],
    state: NDArray[np.void],
    nodes: FloatArray,
) -> None:
    frames, steps_s = np.repeat(nodes[None], SETTLE_FRAMES, axis=0), np.full(SETTLE_FRAMES, SETTLE_STEP_S)
    out = np.empty((SETTLE_FRAMES, len(model.variables)))
    solve_frames(model.record, tuning, targets, state, np.zeros(1, WORK), frames, steps_s, out)


def aligned_nodes(model: HandModel, finger_m: FloatArray, side: GloveSide, *, mirror: bool) -> FloatArray:
    """Nodes of a glove as the hand's own side would have them [m]. Shape (..., 21, 3)."""
    hand = model.hand
    if hand.side == "none":  # a hand without sides is written for a right glove
        return finger_m if side == "right" else finger_m * MIRROR
    if side == hand.side:
        return finger_m
    if not mirror:
        raise BadValue("glove side", side, f"{hand.side}, as {hand.name} is; to mirror it on purpose set mirror")
    return finger_m * MIRROR


def open_nodes(model: HandModel) -> FloatArray:
    """A person's open hand whose directions are those of the open robot hand [m]. Shape (21, 3)."""
    nodes = np.zeros((21, 3))
    points = model.points_m(model.open_rad)[0]
    for finger, part in zip(model.fingers, model.point_slices, strict=True):
        # Far apart, so that nothing looks like a pinch.
        nodes[list(finger.nodes)] = (points[part] - model.palm_m) @ finger.R * 3.0
    return nodes


def frame_targets_m(model: HandModel, targets: NDArray[np.void], nodes: FloatArray) -> FloatArray:
    """Targets of the key points for many frames, in the root frame [m]. Shape (n, p, 3)."""
    out = np.empty((len(nodes), int(model.record["points"][0]), 3))
    find_targets(model.record, targets, np.ascontiguousarray(nodes), out)
    return out
