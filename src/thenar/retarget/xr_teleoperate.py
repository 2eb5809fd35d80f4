"""Retargeting for xr_teleoperate: an object with the members and array shapes that its hand controllers use.

Its controllers hold a ``hand_retargeting`` and call, 100 times a second and for each side::

    ref = hand_data[hand_retargeting.left_indices[1, :]] - hand_data[hand_retargeting.left_indices[0, :]]
    q = hand_retargeting.left_retargeting.retarget(ref)[hand_retargeting.left_dex_retargeting_to_hardware]

with ``hand_data`` of shape (25, 3), the joints of WebXR, and turn ``q`` of an Inspire hand into 0 (closed) to 1 (open)
by ranges of their own.
"""

from __future__ import annotations

import time
from collections import Counter

import numpy as np
from numpy.typing import ArrayLike, NDArray

from thenar import hands
from thenar.errors import BadValue, count_reason
from thenar.hands.spec import HandSpec, LeadScrew
from thenar.retarget.config import RetargetConfig
from thenar.retarget.retargeter import Retargeter
from thenar.signals import FloatArray, GloveSide

POINTS = 25
INSPIRE_RAD = np.array([[0.0, 1.7]] * 4 + [[0.0, 0.5], [-0.1, 1.3]])
"""What its controllers take for open and closed: little, ring, middle and index finger, thumb's bend and rotation."""


class XrSide:
    """One side, as dex-retargeting's ``SeqRetargeting`` is used there."""

    def __init__(self, hand: str | HandSpec, side: GloveSide, config: RetargetConfig | None, joints: list[str] | None):
        """Prepare a hand; see `XrHandRetargeting`."""
        spec = hands.load(hand) if isinstance(hand, str) else hand
        self.retargeter = Retargeter(spec, config)
        self._side: GloveSide = side
        self.refused: Counter[str] = Counter()
        """Frames that cannot be this hand, by reason: the hand stays as it is."""
        self._screws = joints is None and all(isinstance(motor.motor, LeadScrew) for motor in spec.actuators)
        self.joint_names = list(spec.actuator_names if self._screws else joints or spec.joint_names)
        """Names of what `retarget` gives, in order."""
        unknown = [name for name in joints or () if name not in spec.joint_names]
        if unknown:
            raise BadValue("joints", unknown, f"names among {', '.join(spec.joint_names)}")
        self._at = [] if self._screws else [spec.joint_names.index(name) for name in self.joint_names]

    def retarget(self, ref_value: ArrayLike) -> FloatArray:
        """Angles for the points of a hand from its wrist [m]. Shape (25, 3).

        Of an Inspire hand they are in the ranges that xr_teleoperate makes 0 to 1 of; of others they are joint angles.
        """
        try:
            answer = self.retargeter(np.asarray(ref_value, dtype=np.float64), time.perf_counter(), side=self._side)
        except BadValue as error:
            count_reason(self.refused, str(error))
            answer = self.retargeter.tick(time.perf_counter())
        if not self._screws:
            return answer.joint_rad[self._at]
        spec = self.retargeter.model.hand
        closed = (answer.command.target_rad - spec.open_rad) / (spec.closed_rad - spec.open_rad)
        low, high = INSPIRE_RAD.T
        return low + np.clip(closed, 0.0, 1.0) * (high - low)


class XrHandRetargeting:
    """Put it in the place of xr_teleoperate's ``HandRetargeting``; nothing else there changes.

    from thenar import XrHandRetargeting
    controller.hand_retargeting = XrHandRetargeting("inspire_dfx_left", "inspire_dfx_right")
    """

    def __init__(
        self,
        left: str | HandSpec = "inspire_left",
        right: str | HandSpec = "inspire_right",
        config: RetargetConfig | None = None,
        *,
        left_joints: list[str] | None = None,
        right_joints: list[str] | None = None,
    ):
        """Prepare both hands.

        Args:
            left: The left hand, by name or as a spec, such as one of `thenar.hands.from_file`.
            right: The right hand.
            config: How to follow.
            left_joints: Joints of the left hand in the order of its motors; None: Inspire's six motors, or all joints.
            right_joints: The same of the right hand.
        """
        self.left_retargeting = XrSide(left, "left", config, left_joints)
        self.right_retargeting = XrSide(right, "right", config, right_joints)
        # Every point from the wrist: the controllers subtract the first row of points from the second.
        indices = np.stack([np.zeros(POINTS, dtype=np.int64), np.arange(POINTS)])
        self.left_indices: NDArray[np.int64] = indices
        self.right_indices: NDArray[np.int64] = indices.copy()
        self.left_retargeting_joint_names = self.left_retargeting.joint_names
        self.right_retargeting_joint_names = self.right_retargeting.joint_names
        self.left_dex_retargeting_to_hardware = list(range(len(self.left_retargeting.joint_names)))
        self.right_dex_retargeting_to_hardware = list(range(len(self.right_retargeting.joint_names)))
