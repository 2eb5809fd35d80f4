"""Commands to a hand and its reports, per actuator in the hand's own order unless a field says otherwise."""

from __future__ import annotations

import enum
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike

from thenar import display
from thenar.arrays import BoolArray, FloatArray, IntArray
from thenar.errors import BadCommand, BadValue
from thenar.signals.value import Value


class MotorStatus(enum.IntEnum):
    """What a motor is doing, with the codes of the Inspire hand (there is no 4)."""

    RELEASING = 0
    GRASPING = 1
    POSITION_REACHED = 2
    FORCE_REACHED = 3
    CURRENT_PROTECTION = 5
    STALLED = 6
    FAULT = 7


def status_name(code: int) -> str:
    """Name of a status; of one that only a maker knows, its number."""
    return MotorStatus(code).name if code in set(MotorStatus) else str(code)


class MotorError(enum.IntFlag):
    """What is wrong with a motor, with the bits of the Inspire hand."""

    NONE = 0
    STALL = 1
    OVER_TEMPERATURE = 2
    OVER_CURRENT = 4
    MOTOR = 8
    COMMUNICATION = 16


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class TorqueLaw(Value):
    """The law a motor obeys: ``torque + stiffness (target - angle) + damping (velocity - its velocity)``."""

    stiffness_nm_rad: FloatArray
    """Torque per radian from the target [N m/rad]."""
    damping_nms_rad: FloatArray
    """Torque per rad/s from the wanted velocity [N m s/rad]."""
    velocity_rad_s: FloatArray
    """Velocity that is wanted [rad/s]."""
    torque_nm: FloatArray
    """Torque that is added [N m]."""


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class HandCommand(Value):
    """What a hand is asked to do. NaN leaves an entry as it is."""

    target_rad: FloatArray
    """Where each actuator should go [rad]; NaN holds the target it has."""
    speed_rad_s: FloatArray
    """How fast it may go [rad/s]; NaN keeps the speed it has."""
    force_limit_n: FloatArray
    """Force at which it stops [N]; NaN keeps the limit it has."""
    stop: BoolArray | None = None
    """Which actuators end their motion where they are, in place of a target; None: none of them."""
    law: TorqueLaw | None = None
    """Law of the torque, for hands whose motors take one; None: their own, at the speed and limit above."""

    @property
    def lasting_target_rad(self) -> FloatArray:
        """Targets, NaN where a motion is ended in place of one [rad]."""
        return self.target_rad if self.stop is None else np.where(self.stop, np.nan, self.target_rad)

    @staticmethod
    def to(
        target_rad: ArrayLike,
        *,
        speed_rad_s: ArrayLike = np.nan,
        force_limit_n: ArrayLike = np.nan,
    ) -> HandCommand:
        """Command from plain numbers; a single speed or limit serves every actuator."""
        target = np.atleast_1d(_numbers("target_rad", target_rad)).copy()
        if target.ndim != 1:
            raise BadCommand(f"target_rad has shape {target.shape}; wanted one number per actuator")
        return HandCommand(
            target_rad=target,
            speed_rad_s=_spread("speed_rad_s", speed_rad_s, target.size),
            force_limit_n=_spread("force_limit_n", force_limit_n, target.size),
        )

    @staticmethod
    def hold(actuators: int) -> HandCommand:
        """Command that ends the motion of every actuator where it is."""
        nothing = np.full(actuators, np.nan)
        return replace(HandCommand.to(nothing), stop=np.ones(actuators, dtype=np.bool_))

    @staticmethod
    def closing(fraction: ArrayLike, *, speed: ArrayLike = np.nan, force_limit_n: ArrayLike = np.nan) -> Closing:
        """Close by a fraction of the stroke (0 open, 1 closed) at a fraction of the top speed.

        It fits any hand: the world turns it into radians of the hand it is sent to.
        """
        return Closing(fraction=fraction, speed=speed, force_limit_n=force_limit_n)


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class Closing(Value):
    """A command in fractions of the stroke, for any hand; one number or one per actuator."""

    fraction: ArrayLike
    """0 is open, 1 is closed; NaN holds."""
    speed: ArrayLike = np.nan
    """Fraction of the top speed; NaN keeps."""
    force_limit_n: ArrayLike = np.nan
    """Force at which a motor stops [N]; NaN keeps."""

    def in_radians(self, *, open_rad: FloatArray, closed_rad: FloatArray, top_speed_rad_s: FloatArray) -> HandCommand:
        """The same command for a hand with these end stops and speeds."""
        fraction = _spread("fraction", self.fraction, open_rad.size)
        speed = _spread("speed", self.speed, open_rad.size)
        for name, values in (("fraction", fraction), ("speed", speed)):
            if np.any((values < 0.0) | (values > 1.0)):
                raise BadValue(name, values.tolist(), "numbers from 0 to 1 (or NaN)")
        return HandCommand(
            target_rad=open_rad + fraction * (closed_rad - open_rad),
            speed_rad_s=speed * top_speed_rad_s,
            force_limit_n=_spread("force_limit_n", self.force_limit_n, open_rad.size),
        )


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class HandState(Value):
    """What a hand reports. A value the real hand does not measure is NaN, never an invented zero."""

    stamp_s: float
    """Time of the measurement [s]."""
    actuator_names: tuple[str, ...]
    """Name of each actuator, in the order of the arrays."""
    angle_rad: FloatArray
    """Angle of the driven joint or tendon [rad]."""
    velocity_rad_s: FloatArray
    """Its velocity [rad/s]."""
    force_n: FloatArray
    """Force the motor's sensor reports, positive while closing pushes on something [N]."""
    torque_nm: FloatArray
    """Torque at the driven joint or tendon, positive in the joint's own direction [N m]."""
    current_a: FloatArray
    """Motor current [A]."""
    temperature_c: FloatArray
    """Motor temperature [degrees Celsius]."""
    status: IntArray
    """`MotorStatus` of each actuator."""
    error: IntArray
    """`MotorError` bits of each actuator."""
    joint_names: tuple[str, ...]
    """Name of every joint, driven and coupled."""
    joint_rad: FloatArray
    """Angle of every joint [rad]."""
    joint_velocity_rad_s: FloatArray
    """Velocity of every joint [rad/s]."""

    def __repr__(self) -> str:
        return f"HandState at {self.stamp_s:.3f} s\n{display.table_text(*self._table())}"

    def _repr_html_(self) -> str:
        return f"<p>HandState at {self.stamp_s:.3f} s</p>{display.table_html(*self._table())}"

    def _table(self) -> tuple[list[str], list[list[object]]]:
        names = ("angle_rad", "velocity_rad_s", "force_n", "torque_nm", "current_a", "temperature_c")
        numbers = np.column_stack([getattr(self, name) for name in names])
        rows = [
            [motor, *row, status_name(int(status)), MotorError(int(error)).name or str(error)]
            for motor, row, status, error in zip(self.actuator_names, numbers, self.status, self.error, strict=True)
        ]
        return ["motor", *names, "status", "error"], rows


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class HandSettings(Value):
    """What a hand has been told, commands still under way included."""

    target_rad: FloatArray
    """Where each actuator was sent last [rad]."""
    speed_rad_s: FloatArray
    """How fast it may go [rad/s]."""
    force_limit_n: FloatArray
    """Force at which it stops [N]."""
    current_limit_a: FloatArray
    """Current at which protection stops it [A]; 0 for a hand that measures none."""
    zeroing: bool
    """True while the force sensors look for their zero."""


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class Request(Value):
    """What a client asks of a hand."""

    hand: str
    sender: str
    """Who asks, in words for people."""
    arrived_s: float
    """When it arrived, by `time.perf_counter` [s]."""
    command: HandCommand | None = None
    clear_errors: bool = False
    zero_force: bool = False
    current_limit_a: FloatArray | None = None
    """New current limits, one per actuator [A]."""


def _spread(name: str, value: ArrayLike, size: int) -> FloatArray:
    """One number for every actuator, or one number each."""
    array = _numbers(name, value)
    if array.ndim == 0:
        return np.full(size, float(array))
    if array.shape != (size,):
        got = f"{array.size} values" if array.ndim == 1 else f"shape {array.shape}"
        raise BadCommand(f"{name} has {got}; this command is for {size} actuators")
    return array.copy()


def _numbers(name: str, value: ArrayLike) -> FloatArray:
    try:
        return np.asarray(value, dtype=np.float64)
    except (TypeError, ValueError) as error:  # words, or rows of different lengths
        raise BadCommand(f"{name} is {value!r}; wanted numbers") from error
