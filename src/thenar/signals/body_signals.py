"""Requests to a humanoid and its reports."""

from __future__ import annotations

from dataclasses import dataclass

from thenar.arrays import FloatArray
from thenar.signals.value import Value


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class GroupCommand(Value):
    """Positions for the joints of one control group of a body, or for one of its hands; empty arrays: not given."""

    group: str
    position: FloatArray
    velocity: FloatArray
    effort: FloatArray


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class GroupGains(Value):
    """Gains of the servos of one control group; empty arrays: as they are."""

    group: str
    kp_nm_rad: FloatArray
    kd_nms_rad: FloatArray
    position_mode: tuple[FloatArray, FloatArray, FloatArray] | None = None
    """Proportional, integral and derivative gains of the position mode; None: as they are."""


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class MoveRequest(Value):
    """A move of the upper body at a share of full speed."""

    kind: str
    """``joints``, ``pose`` (a hand, any way) or ``line`` (a hand, straight)."""
    joints_rad: dict[str, FloatArray]
    """Goal of each group [rad]; groups that are not named stay where they are."""
    pose: dict[str, FloatArray]
    """Goal of each arm's hand relative to the base: position [m], quaternion x y z w. Shape (7,)."""
    speed: dict[str, float]
    """Share of the full speed, above 0 to 1, by group."""


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class BodyRequest(Value):
    """What somebody asks of a humanoid; fields that are None are not asked for."""

    sender: str
    arrived_s: float
    """When it came, on the clock of `time.perf_counter`."""
    whole_body_state: int | None = None
    upper_body_state: int | None = None
    velocity_source: int | None = None
    velocity: tuple[float, float, float, float] | None = None
    """Forwards, to the left [m/s], turning to the left [rad/s], and for how long [s]."""
    stand_pose: tuple[float, float, float] | None = None
    """Height against the default [m], pitch and yaw [rad]."""
    groups: tuple[GroupCommand, ...] = ()
    gains: tuple[GroupGains, ...] = ()
    move: MoveRequest | None = None
    reset: bool = False
    """Whether a twin shall begin anew."""


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class GroupReport(Value):
    """One control group of a body, or a hand."""

    position: FloatArray
    velocity: FloatArray
    effort: FloatArray
    """Torque [N m]; of a hand its current [A]."""
    moving: bool
    kp_nm_rad: FloatArray
    kd_nms_rad: FloatArray
    position_mode: FloatArray
    """Proportional, integral and derivative gains of the position mode. Shape (3, n)."""
    powered: bool


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class BodyReport(Value):
    """What a humanoid reports."""

    stamp_s: float
    whole_body_state: int
    upper_body_state: int
    velocity_source: int
    allow_upper_body_override: bool
    stable_level: int
    stand_pose: FloatArray
    groups: dict[str, GroupReport]
    """Groups in the robot's order, then the hands."""
    hands: dict[str, tuple[FloatArray, FloatArray, FloatArray]]
    """Of each arm's hand relative to the base: pose (7,), twist (6,), wrench (6,)."""
    base: dict[str, FloatArray]
    """Members of ``BaseData`` by name."""
    contact_force: FloatArray
    """Estimated. Shape (2, 6)."""
    contact_prob: FloatArray
    true_contact_n: FloatArray
    """Vertical force on each foot as the simulator knows it [N]. Shape (2,)."""


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class MotorTargets(Value):
    """What a client asks of every motor of a body: ``torque = effort + kp (position - q) + kd (velocity - qd)``."""

    sender: str
    arrived_s: float
    """When it came, on the clock of `time.perf_counter`."""
    position_rad: FloatArray
    velocity_rad_s: FloatArray
    effort_nm: FloatArray
    kp_nm_rad: FloatArray
    kd_nms_rad: FloatArray
    weight: float = 1.0
    """Share that it has beside what the robot does by itself, 0 to 1."""


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class ImuReading(Value):
    """What an IMU measures."""

    quat_wxyz: FloatArray
    gyro_rad_s: FloatArray
    accel_m_s2: FloatArray
    """Specific force: at rest and upright 9.81 along z."""


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class MotorReadings(Value):
    """What the motors of a body and its IMUs measure."""

    stamp_s: float
    position_rad: FloatArray
    velocity_rad_s: FloatArray
    acceleration_rad_s2: FloatArray
    torque_nm: FloatArray
    temperature_c: FloatArray
    imus: tuple[ImuReading, ...]
    """Of the base, then of the torso."""
