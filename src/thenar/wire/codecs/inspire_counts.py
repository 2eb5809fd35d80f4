"""The Inspire hands' own units: counts of angle, stroke, speed, force, current, and back to SI.

Every Inspire protocol (DDS, DFX, Modbus) carries the same six numbers in the same order and the same units:

| count | meaning |
|---|---|
| angle 0..1000 | 1000 open, 0 closed; -1 is no target: a finger that moves stops |
| stroke ("pos") 0..2000 | runs the other way: 0 open, 2000 closed; -1 as above |
| speed 0..1000 | 1000 is the full stroke in 0.6 s (RH56DFTP) |
| force | grams; limit up to 3000 (RH56DFTP) or 1000 (RH56DFX), reading -4000..4000 |
| current | milliamperes |
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike, NDArray

from thenar.arrays import FloatArray, IntArray
from thenar.errors import BadValue
from thenar.hands.spec import HandSpec, LeadScrew
from thenar.signals import HandCommand, HandSettings, HandState
from thenar.units import GRAM_FORCE_N

MOTORS = ("little", "ring", "middle", "index", "thumb_bend", "thumb_rotation")
"""Order of every six-vector on the wire."""

HOLD = -1
ANGLE_TOP = 1000
STROKE_TOP = 2000
SPEED_TOP = 1000
FORCE_READING_TOP = 4000
CURRENT_TOP_MA = 2000


def is_inspire(spec: HandSpec) -> bool:
    """Whether a hand has the six lead-screw motors that these units are about."""
    motors = {actuator.name: actuator.motor for actuator in spec.actuators}
    return set(motors) == set(MOTORS) and all(isinstance(motor, LeadScrew) for motor in motors.values())


@dataclass(frozen=True, kw_only=True, eq=False)
class Scale:
    """What turns counts of one hand into SI. Arrays are in the order of the wire."""

    hand: str
    side: str
    actuators: IntArray
    """Place of each wire motor among the hand's actuators."""
    open_rad: FloatArray
    closed_rad: FloatArray
    top_speed_rad_s: FloatArray
    force_top: int
    """Largest force limit in counts."""

    @staticmethod
    def of(spec: HandSpec) -> Scale:
        """The scale of an Inspire hand; any other hand is refused."""
        if not is_inspire(spec):
            raise BadValue("hand", spec.name, "an Inspire hand: no other speaks this protocol")
        order = np.array([spec.actuator_names.index(name) for name in MOTORS])
        strongest_n = max(a.motor.force_max_n for a in spec.actuators if isinstance(a.motor, LeadScrew))
        return Scale(
            hand=spec.name,
            side=spec.side,
            actuators=order,
            open_rad=spec.open_rad[order],
            closed_rad=spec.closed_rad[order],
            top_speed_rad_s=spec.top_speed_rad_s[order],
            force_top=round(strongest_n / GRAM_FORCE_N),
        )

    def angle_rad(self, opened: ArrayLike) -> FloatArray:
        """Angles of motors that are so far open, 0 to 1, in the order of the wire [rad]."""
        return self.closed_rad + np.asarray(opened, dtype=np.float64) * (self.open_rad - self.closed_rad)


@dataclass(frozen=True, kw_only=True, eq=False)
class Readings:
    """What a hand reports, in counts, six of each."""

    stroke: NDArray[np.int16]
    angle: NDArray[np.int16]
    force: NDArray[np.int16]
    current_ma: NDArray[np.int16]
    error: NDArray[np.uint8]
    status: NDArray[np.uint8]
    temperature_c: NDArray[np.uint8]


@dataclass(frozen=True, kw_only=True, eq=False)
class Settings:
    """What a hand has been told, in counts, six of each."""

    stroke: NDArray[np.int16]
    angle: NDArray[np.int16]
    force: NDArray[np.int16]
    speed: NDArray[np.int16]
    current_limit_ma: NDArray[np.int16]


def readings(scale: Scale, state: HandState) -> Readings:
    """A hand's state in counts."""
    at = scale.actuators
    closed = _closed_fraction(scale, state.angle_rad[at])
    return Readings(
        stroke=_counts(STROKE_TOP * closed, 0, STROKE_TOP),
        angle=_counts(ANGLE_TOP * (1.0 - closed), 0, ANGLE_TOP),
        force=_counts(state.force_n[at] / GRAM_FORCE_N, -FORCE_READING_TOP, FORCE_READING_TOP),
        current_ma=_counts(1e3 * state.current_a[at], 0, CURRENT_TOP_MA),
        error=state.error[at].astype(np.uint8),
        status=state.status[at].astype(np.uint8),
        temperature_c=np.clip(np.rint(state.temperature_c[at]), 0, 100).astype(np.uint8),
    )


def settings(scale: Scale, told: HandSettings) -> Settings:
    """What a hand has been told, in counts."""
    at = scale.actuators
    closed = _closed_fraction(scale, told.target_rad[at])
    return Settings(
        stroke=_counts(STROKE_TOP * closed, 0, STROKE_TOP),
        angle=_counts(ANGLE_TOP * (1.0 - closed), 0, ANGLE_TOP),
        force=_counts(told.force_limit_n[at] / GRAM_FORCE_N, 0, scale.force_top),
        speed=_counts(SPEED_TOP * told.speed_rad_s[at] / scale.top_speed_rad_s, 0, SPEED_TOP),
        current_limit_ma=_counts(1e3 * told.current_limit_a[at], 0, np.iinfo(np.int16).max),
    )


def command(
    scale: Scale,
    *,
    angle: ArrayLike = (),
    stroke: ArrayLike = (),
    force: ArrayLike = (),
    speed: ArrayLike = (),
) -> tuple[HandCommand, int]:
    """A command from counts, and how many of them were out of range.

    Each group has up to six counts; missing ones and NaN leave that motor as it is. An angle or stroke of -1 stops it
    where it is. Counts above the range are clamped to it. Other negative ones mean nothing to the hand and leave the
    motor as it is. Where angle and stroke are both given, stroke counts: the vendor's driver writes it last.
    """
    tops = np.array([[ANGLE_TOP], [STROKE_TOP], [scale.force_top], [SPEED_TOP]], dtype=np.float64)
    counts = np.full((len(tops), len(MOTORS)), np.nan)
    for row, group in zip(counts, (angle, stroke, force, speed), strict=True):
        row[: np.size(group)] = group
    wrong = int(((counts > tops) | (counts < HOLD)).sum())
    opened, closed, limit, pace = np.where(counts >= 0.0, np.minimum(counts, tops) / tops, np.nan)
    closed = np.where(np.isnan(closed), 1.0 - opened, closed)
    stop = np.zeros(len(MOTORS), dtype=bool)
    stop[scale.actuators] = (counts[:2] == HOLD).any(axis=0) & np.isnan(closed)
    command = command_in_hand_order(
        scale,
        target_rad=scale.open_rad + closed * (scale.closed_rad - scale.open_rad),
        speed_rad_s=pace * scale.top_speed_rad_s,
        force_limit_n=limit * (scale.force_top * GRAM_FORCE_N),
    )
    return replace(command, stop=stop) if stop.any() else command, wrong


def command_in_hand_order(scale: Scale, **asked: FloatArray) -> HandCommand:
    """A command from values in the order of the wire; what is not asked for is left alone."""
    fields = {name: np.full(len(MOTORS), np.nan) for name in ("target_rad", "speed_rad_s", "force_limit_n")}
    for name, values in asked.items():
        fields[name][scale.actuators] = values
    return HandCommand(
        target_rad=fields["target_rad"], speed_rad_s=fields["speed_rad_s"], force_limit_n=fields["force_limit_n"]
    )


def angle_counts(scale: Scale, target_rad: FloatArray) -> list[int]:
    """Angle counts of targets in the hand's own order; NaN becomes -1."""
    angles = ANGLE_TOP * (1.0 - _closed_fraction(scale, target_rad[scale.actuators]))
    return [HOLD if np.isnan(angle) else round(min(max(angle, 0.0), ANGLE_TOP)) for angle in angles.tolist()]


def limit_counts(scale: Scale, command: HandCommand) -> tuple[list[int], list[int]]:
    """Speed and force counts of a command; none where a motor is told none."""
    speed = SPEED_TOP * command.speed_rad_s[scale.actuators] / scale.top_speed_rad_s
    force = command.force_limit_n[scale.actuators] / GRAM_FORCE_N
    told = ((speed, SPEED_TOP), (force, scale.force_top))
    speeds, forces = ([] if np.isnan(values).any() else _counts(values, 0, top).tolist() for values, top in told)
    return speeds, forces


def _closed_fraction(scale: Scale, angle_rad: FloatArray) -> FloatArray:
    return (angle_rad - scale.open_rad) / (scale.closed_rad - scale.open_rad)


def _counts(values: FloatArray, low: int, high: int) -> NDArray[np.int16]:
    return np.clip(np.rint(values), low, high).astype(np.int16)
