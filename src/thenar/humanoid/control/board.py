"""What the drives and the hands are told: one board that every source of commands writes to and the loop reads from.

A group belongs to one source at a time; what anyone else sends to it is refused, as is anything of the wrong length,
not finite or beyond the limits.
"""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from thenar.errors import BadCommand, UnknownName, count_reason
from thenar.humanoid.model.body_spec import BodySpec, FloatArray

ANYONE = ""
"""Owner of a group that every source may command."""
SLACK = 1e-9  # rounding of a limit is not beyond it
STRONGEST_KP, STRONGEST_KD = 5000.0, 500.0  # beyond any gain of these drives; a slip of a factor is caught


@dataclass(frozen=True, kw_only=True)
class HandPort:
    """A hand as the vendor's calls see it: positions in its own range, one per motor."""

    name: str
    """``left_hand`` or ``right_hand``."""
    lower: tuple[float, ...]
    upper: tuple[float, ...]


@dataclass(frozen=True, kw_only=True, eq=False)
class JointCommand:
    """What the drives are told: ``torque = kp (position - q) + kd (velocity - qd) + effort``, in the joint sequence."""

    position_rad: FloatArray
    velocity_rad_s: FloatArray
    effort_nm: FloatArray
    kp_nm_rad: FloatArray
    kd_nms_rad: FloatArray


@dataclass(frozen=True, kw_only=True, eq=False)
class HandCommandPvc:
    """A hand's command: position, velocity, current, each per motor; NaN leaves it as it is."""

    pvc: FloatArray
    """Shape (3, n)."""
    number: int
    """Counts up with every command."""


class CommandBoard:
    """The newest command of every joint and hand, who may write it, and who did."""

    def __init__(self, body: BodySpec, hands: Mapping[str, HandPort]):
        self.body = body
        self.hands = dict(hands)
        self.now_s = 0.0
        """Time of the loop, which stamps commands as they come [s]."""
        self.owner = dict.fromkeys((*body.groups, *self.hands), ANYONE)
        """Source that may command each group."""
        self.refused: Counter[str] = Counter()
        self._lock = threading.RLock()
        self._last_s: dict[str, float] = {}  # when each source last commanded something
        self._position = body.default_q_rad
        self._velocity, self._effort, self._kp, self._kd = (np.zeros(len(body.hinges)) for _ in range(4))
        self._lower, self._upper = body.per_joint("lower_rad"), body.per_joint("upper_rad")
        self._effort_limit, self._speed_limit = body.per_joint("effort_nm"), body.per_joint("speed_rad_s")
        self._position_gains = np.zeros((3, len(body.hinges)))
        self._hand_commands: dict[str, HandCommandPvc] = {}

    def refuse(self, reason: str) -> None:
        """Count something that was not done."""
        count_reason(self.refused, reason)

    def read(self) -> JointCommand:
        """A copy of everything the drives are told."""
        with self._lock:
            return JointCommand(
                position_rad=self._position.copy(),
                velocity_rad_s=self._velocity.copy(),
                effort_nm=self._effort.copy(),
                kp_nm_rad=self._kp.copy(),
                kd_nms_rad=self._kd.copy(),
            )

    def read_hand(self, hand: str) -> HandCommandPvc | None:
        """The newest command of a hand."""
        with self._lock:
            return self._hand_commands.get(hand)

    def give(self, owners: Mapping[str, str]) -> None:
        """Hand groups over to sources."""
        with self._lock:
            self.owner.update(owners)

    def age_s(self, source: str) -> float:
        """Since the last command of a source [s]; infinite before the first."""
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
        """Write positions, and velocities and torques that go with them (zero when left out)."""
        with self._lock, self._refusals():
            place = self._place(source, group)
            fast, strong = self._speed_limit[place], self._effort_limit[place]
            position_rad = self._checked(group, "position", position, self._lower[place], self._upper[place], "rad")
            velocity_rad_s = (
                0.0 if velocity is None else self._checked(group, "velocity", velocity, -fast, fast, "rad/s")
            )
            effort_nm = 0.0 if effort is None else self._checked(group, "effort", effort, -strong, strong, "N m")
            self._position[place], self._velocity[place], self._effort[place] = position_rad, velocity_rad_s, effort_nm
            self._last_s[source] = self.now_s

    def still(self, group: str) -> None:
        """Take back the velocities and torques of a group, whoever gave them: its joints hold their position."""
        place = self.body.group_slice(group)
        with self._lock:
            self._velocity[place] = self._effort[place] = 0.0

    def set_gains(self, source: str, group: str, kp: ArrayLike, kd: ArrayLike) -> None:
        """Write the gains of a group."""
        with self._lock, self._refusals():
            place = self._place(source, group)
            kp_nm_rad = self._checked(group, "kp", kp, 0.0 * self._lower[place], STRONGEST_KP, "N m/rad")
            kd_nms_rad = self._checked(group, "kd", kd, 0.0 * self._lower[place], STRONGEST_KD, "N m s/rad")
            self._kp[place], self._kd[place] = kp_nm_rad, kd_nms_rad
            self._last_s[source] = self.now_s

    def gains(self, group: str) -> tuple[FloatArray, FloatArray]:
        """Gains of a group."""
        place = self.body.group_slice(group)
        with self._lock:
            return self._kp[place].copy(), self._kd[place].copy()

    def set_position_gains(self, source: str, group: str, kp: ArrayLike, ki: ArrayLike, kd: ArrayLike) -> None:
        """Write the gains of a group's position mode. The drives keep them; they run in PD mode."""
        with self._lock, self._refusals():
            place = self._place(source, group)
            size = place.stop - place.start
            rows = [
                _finite(group, f"pos_{name}", np.asarray(row, dtype=np.float64), size)
                for name, row in (("kp", kp), ("ki", ki), ("kd", kd))
            ]
            self._position_gains[:, place] = rows
            self._last_s[source] = self.now_s

    def position_gains(self, group: str) -> FloatArray:
        """Proportional, integral and derivative gains of a group's position mode. Shape (3, n)."""
        with self._lock:
            return self._position_gains[:, self.body.group_slice(group)].copy()

    def command_hand(
        self, source: str, hand: str, position: ArrayLike, velocity: ArrayLike, current: ArrayLike
    ) -> None:
        """Write a hand's command; an empty velocity or current leaves it as it is."""
        with self._lock, self._refusals():
            port = self._port(hand)
            self._check_owner(source, hand)
            lower, upper = np.array(port.lower), np.array(port.upper)
            rows = [self._checked(hand, "position", position, lower, upper, "rad")]
            for name, row in (("velocity", velocity), ("current", current)):
                given = np.asarray(row, dtype=np.float64)
                rows.append(np.full(lower.size, np.nan) if given.size == 0 else _finite(hand, name, given, lower.size))
            before = self._hand_commands.get(hand)
            self._hand_commands[hand] = HandCommandPvc(pvc=np.stack(rows), number=before.number + 1 if before else 1)
            self._last_s[source] = self.now_s

    def _port(self, hand: str) -> HandPort:
        if hand not in self.hands:
            raise UnknownName("hand", hand, self.hands)
        return self.hands[hand]

    def _place(self, source: str, group: str) -> slice:
        place = self.body.group_slice(group)
        for part in self.body.groups if group == "whole_body" else (group,):
            self._check_owner(source, part)
        return place

    def _check_owner(self, source: str, group: str) -> None:
        owner = self.owner[group]
        if owner not in (ANYONE, source):
            raise BadCommand(f"{group} belongs to {owner}; {source or 'someone without a name'} may not command it")

    def _checked(
        self, group: str, what: str, values: ArrayLike, lower: FloatArray, upper: FloatArray | float, unit: str
    ) -> FloatArray:
        array = np.asarray(values, dtype=np.float64)
        # One comparison for all is well, which NaN fails too; the reason is looked for only when it is not.
        if array.shape == lower.shape and ((array >= lower - SLACK) & (array <= upper + SLACK)).all():
            return array
        _finite(group, what, array, lower.size)
        index = int(np.flatnonzero((array < lower - SLACK) | (array > upper + SLACK))[0])
        low, high = lower[index], np.broadcast_to(upper, lower.shape)[index]
        raise BadCommand(
            f"{what} of {self._member(group, index)} is {array[index]:g} {unit}; wanted {low:g} to {high:g}"
        )

    def _member(self, group: str, index: int) -> str:
        if group in self.hands:
            return f"{group}[{index}]"
        return self.body.joint_names[self.body.group_slice(group).start + index]

    def _refusals(self) -> _CountRefusals:
        return _CountRefusals(self)


@dataclass(frozen=True)
class _CountRefusals:
    """Counts refused commands by reason on their way out."""

    board: CommandBoard

    def __enter__(self) -> None: ...

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if error is not None:
            self.board.refuse(str(error))


def _finite(group: str, what: str, array: FloatArray, size: int) -> FloatArray:
    if array.shape != (size,):
        raise BadCommand(f"{what} of {group} has {array.size} values; {group} has {size}")
    if not np.all(np.isfinite(array)):
        raise BadCommand(f"{what} of {group} is not finite: {array.tolist()}")
    return array
