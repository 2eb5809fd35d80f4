"""Newest commands for the drives and the hands: every source of commands writes them, the control loop reads them.

A group belongs to one source at a time; what another source sends to it is refused, as is anything of the wrong length,
not finite or beyond the limits.
"""

from __future__ import annotations

import logging
import threading
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from thenar.arrays import FloatArray
from thenar.errors import BadCommand, UnknownName, count_reason
from thenar.humanoid.model.body_spec import BodySpec, HandRange

logger = logging.getLogger(__name__)

ANYONE = ""
"""Owner of a group that every source may command."""
SLACK = 1e-9  # rounding of a limit is not beyond it
CLAMPED_RAD, CLAMPED_HAND_RAD = 1.3, 0.15
"""Positions so far beyond a limit are taken as the limit; further ones are slips and refused.

The vendor's walking policy adds actions of up to a radian beyond the limits to its default pose; its hand demo goes
0.12 rad below the thumb's range.
"""
REPEATED_S = 5.0  # a refusal that goes on is reported again
MAX_KP, MAX_KD = 5000.0, 500.0  # beyond any gain of these drives; a slip of a factor is caught


class JointCommand(NamedTuple):
    """Command of the drives: ``torque = kp (position - q) + kd (velocity - qd) + effort``, in the joint sequence."""

    position_rad: FloatArray
    velocity_rad_s: FloatArray
    effort_nm: FloatArray
    kp_nm_rad: FloatArray
    kd_nms_rad: FloatArray


@dataclass(frozen=True, kw_only=True, eq=False)
class HandCommandPvc:
    """Command of a hand: position, velocity, current, each per motor; NaN leaves it as it is."""

    pvc: FloatArray
    """Shape (3, n)."""
    number: int
    """Counts up with every command."""


class CommandBoard:
    """The newest command of every joint and hand, which source may write it, and when it last did."""

    def __init__(self, body: BodySpec, hands: Mapping[str, HandRange]):
        self.body = body
        self.hands = dict(hands)
        self.now_s = 0.0
        """Time of the loop, which stamps commands as they come [s]."""
        self.owner = dict.fromkeys((*body.groups, *self.hands), ANYONE)
        """Source that may command each group."""
        self.refused: Counter[str] = Counter()
        """How often something was refused, by reason."""
        self.clamped: Counter[str] = Counter()
        """How often a position beyond a limit was taken as the limit, by joint."""
        self._reported_s: dict[str, float] = {}
        self._lock = threading.RLock()
        self._counting = _CountRefusals(self)
        self._last_s: dict[str, float] = {}  # when each source last commanded something
        self._joints = JointCommand(body.default_q_rad, *np.zeros((4, len(body.hinges))))
        self._lower, self._upper = body.per_joint("lower_rad"), body.per_joint("upper_rad")
        self._max_effort, self._max_speed = body.per_joint("effort_nm"), body.per_joint("speed_rad_s")
        self._position_gains = np.zeros((3, len(body.hinges)))
        self._hand_commands: dict[str, HandCommandPvc] = {}

    def refuse(self, reason: str) -> None:
        """Count something that was not done and report it; not again and again while it goes on."""
        new = count_reason(self.refused, reason)
        if new or not 0.0 <= self.now_s - self._reported_s.get(reason, self.now_s) < REPEATED_S:  # or a clock set back
            self._reported_s[reason] = self.now_s
            logger.warning("refused: %s", reason)

    def read(self) -> JointCommand:
        """A copy of the command of all drives."""
        with self._lock:
            return JointCommand(*np.array(self._joints))

    def read_hand(self, hand: str) -> HandCommandPvc | None:
        """The newest command of a hand."""
        with self._lock:
            return self._hand_commands.get(hand)

    def set_owners(self, owners: Mapping[str, str]) -> None:
        """Hand groups over to sources."""
        with self._lock:
            self.owner.update(owners)

    def age_s(self, source: str) -> float:
        """Time since the last command of a source [s]; infinite before the first."""
        with self._lock:
            return self.now_s - self._last_s.get(source, -np.inf)

    def command(
        self,
        source: str,
        group: str,
        position: ArrayLike,
        velocity: ArrayLike | None = None,
        effort: ArrayLike | None = None,
    ) -> None:
        """Write the positions of a group [rad], with velocities [rad/s] and torques [N m] (zero when left out)."""
        with self._lock, self._counting:
            at = self._owned(source, group)
            speed, torque = self._max_speed[at], self._max_effort[at]
            position_rad = self._within(group, position, self._lower[at], self._upper[at], CLAMPED_RAD)
            velocity_rad_s = effort_nm = 0.0
            if velocity is not None:
                velocity_rad_s = self._checked(group, "velocity", velocity, -speed, speed, "rad/s")
            if effort is not None:
                effort_nm = self._checked(group, "effort", effort, -torque, torque, "N m")
            joints = self._joints
            joints.position_rad[at], joints.velocity_rad_s[at] = position_rad, velocity_rad_s
            joints.effort_nm[at] = effort_nm
            self._last_s[source] = self.now_s

    def hold_position(self, group: str) -> None:
        """Take back the velocities and torques of a group, whichever source gave them."""
        at = self.body.group_slice(group)
        with self._lock:
            self._joints.velocity_rad_s[at] = self._joints.effort_nm[at] = 0.0

    def set_gains(self, source: str, group: str, kp: ArrayLike, kd: ArrayLike) -> None:
        """Write the gains of a group."""
        with self._lock, self._counting:
            at = self._owned(source, group)
            zero = np.zeros(at.stop - at.start)
            kp_nm_rad = self._checked(group, "kp", kp, zero, zero + MAX_KP, "N m/rad")
            kd_nms_rad = self._checked(group, "kd", kd, zero, zero + MAX_KD, "N m s/rad")
            self._joints.kp_nm_rad[at], self._joints.kd_nms_rad[at] = kp_nm_rad, kd_nms_rad
            self._last_s[source] = self.now_s

    def gains(self, group: str) -> tuple[FloatArray, FloatArray]:
        """Gains of a group."""
        at = self.body.group_slice(group)
        with self._lock:
            return self._joints.kp_nm_rad[at].copy(), self._joints.kd_nms_rad[at].copy()

    def set_position_gains(self, source: str, group: str, kp: ArrayLike, ki: ArrayLike, kd: ArrayLike) -> None:
        """Write the gains of a group's position mode. The drives keep them; they run in PD mode."""
        with self._lock, self._counting:
            at = self._owned(source, group)
            size = at.stop - at.start
            rows = (("pos_kp", kp), ("pos_ki", ki), ("pos_kd", kd))
            self._position_gains[:, at] = [_finite(group, name, row, size) for name, row in rows]
            self._last_s[source] = self.now_s

    def position_gains(self, group: str) -> FloatArray:
        """Proportional, integral and derivative gains of a group's position mode. Shape (3, n)."""
        with self._lock:
            return self._position_gains[:, self.body.group_slice(group)].copy()

    def command_hand(
        self, source: str, hand: str, position: ArrayLike, velocity: ArrayLike, current: ArrayLike
    ) -> None:
        """Write a hand's command; an empty velocity or current leaves it as it is."""
        with self._lock, self._counting:
            if hand not in self.hands:
                raise UnknownName("hand", hand, self.hands)
            self._check_owner(source, hand)
            lower, upper = self.hands[hand]
            rows = [self._within(hand, position, lower, upper, CLAMPED_HAND_RAD)]
            for name, row in (("velocity", velocity), ("current", current)):
                empty = np.size(row) == 0
                rows.append(np.full(lower.size, np.nan) if empty else _finite(hand, name, row, lower.size))
            before = self._hand_commands.get(hand)
            self._hand_commands[hand] = HandCommandPvc(pvc=np.stack(rows), number=before.number + 1 if before else 1)
            self._last_s[source] = self.now_s

    def _owned(self, source: str, group: str) -> slice:
        """Indices of a group that the source may command."""
        at = self.body.group_slice(group)
        for part in self.body.groups if group == "whole_body" else (group,):
            self._check_owner(source, part)
        return at

    def _check_owner(self, source: str, group: str) -> None:
        owner = self.owner[group]
        if owner not in (ANYONE, source):
            raise BadCommand(f"{group} belongs to {owner}; {source or 'someone without a name'} may not command it")

    def _within(
        self, group: str, position: ArrayLike, lower: FloatArray, upper: FloatArray, clamped_rad: float
    ) -> FloatArray:
        """Positions within the limits; joints that are a little beyond are clamped, each for itself."""
        array = self._checked(group, "position", position, lower, upper, "rad", beyond=clamped_rad)
        clamped = np.clip(array, lower, upper)
        for index in np.flatnonzero(np.abs(array - clamped) > SLACK):
            self.clamped[self._joint(group, int(index))] += 1
        return clamped

    def _checked(
        self,
        group: str,
        what: str,
        values: ArrayLike,
        lower: FloatArray,
        upper: FloatArray,
        unit: str,
        beyond: float = SLACK,
    ) -> FloatArray:
        array = np.asarray(values, dtype=np.float64)
        # One comparison when all is well, which NaN fails too; the reason is looked for only when it is not.
        if array.shape == lower.shape and ((array >= lower - beyond) & (array <= upper + beyond)).all():
            return array
        _finite(group, what, array, lower.size)
        index = int(np.flatnonzero((array < lower - beyond) | (array > upper + beyond))[0])
        name = self._joint(group, index)
        raise BadCommand(f"{what} of {name} is {array[index]:g} {unit}; wanted {lower[index]:g} to {upper[index]:g}")

    def _joint(self, group: str, index: int) -> str:
        if group in self.hands:
            return f"{group}[{index}]"
        return self.body.joint_names[self.body.group_slice(group).start + index]


@dataclass(frozen=True)
class _CountRefusals:
    """Counts refused commands by reason on their way out."""

    board: CommandBoard

    def __enter__(self) -> None: ...

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if error is not None:
            self.board.refuse(str(error))


def _finite(group: str, what: str, values: ArrayLike, size: int) -> FloatArray:
    array = np.asarray(values, dtype=np.float64)
    if array.shape != (size,):
        has = f"{array.size} values" if array.ndim == 1 else f"the shape {array.shape}"
        raise BadCommand(f"{what} of {group} has {has}; {group} has {size}")
    if not np.all(np.isfinite(array)):
        raise BadCommand(f"{what} of {group} is not finite: {array.tolist()}")
    return array
