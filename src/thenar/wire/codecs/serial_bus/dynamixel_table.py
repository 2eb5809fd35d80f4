"""Control tables of Dynamixel X motors (XC330, XL330): what is read from them, and what writes ask of the hand.

One row of 147 bytes for every motor; 4096 counts a turn, 2048 at an angle of 0. Ref: ROBOTIS' public manual of the X
series, and which of it the LEAP Hand's own program uses.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from thenar.arrays import BoolArray, FloatArray
from thenar.hands.spec import HandSpec, Servo
from thenar.signals import HandCommand, HandState

TABLE = np.dtype(
    {
        "names": [
            "model", "firmware", "id", "baud", "mode", "current_limit", "torque_on", "position_d", "position_i",
            "position_p", "goal_current", "goal_velocity", "profile_velocity", "goal_position", "moving",
            "present_current", "present_velocity", "present_position", "voltage", "temperature",
        ],
        "formats": [
            "<u2", "u1", "u1", "u1", "u1", "<u2", "u1", "<u2", "<u2", "<u2", "<i2", "<i4", "<u4", "<i4", "u1", "<i2",
            "<i4", "<i4", "<u2", "u1",
        ],
        "offsets": [0, 6, 7, 8, 11, 38, 64, 80, 82, 84, 102, 104, 112, 116, 122, 126, 128, 132, 144, 146],
        "itemsize": 147,
    }
)  # fmt: skip
STORED, READ_ONLY = 64, 120  # addresses below the first cannot be written with the torque on, from the second on never
MODEL, FIRMWARE = 1240, 46  # of an XC330-M288

COUNTS_PER_RAD = 4096 / (2 * math.pi)
FLAT = 2048
RAD_S_PER_COUNT = 0.229 * 2 * math.pi / 60
FULL_CURRENT_MA = 1800  # at stall torque
POSITION_MODE, CURRENT_POSITION_MODE = 3, 5

Table = NDArray[np.void]


def speaks_dynamixel(spec: HandSpec) -> bool:
    """Whether a hand is made of such motors."""
    return spec.model == "LEAP Hand"


def power_on(spec: HandSpec) -> Table:
    """The tables of motors that were just switched on, torque off. Shape (motors,)."""
    table = np.zeros(len(spec.actuators), TABLE)
    table["model"], table["firmware"], table["id"] = MODEL, FIRMWARE, np.arange(table.size)
    table["baud"], table["mode"], table["current_limit"] = 6, POSITION_MODE, 910  # 4 Mbit/s
    table["position_p"], table["goal_current"] = 400, 910
    table["goal_position"] = table["present_position"] = to_counts(spec.open_rad)
    table["voltage"], table["temperature"] = 50, 25
    return table


def to_counts(angle_rad: FloatArray) -> NDArray[np.int64]:
    """Counts of angles."""
    return FLAT + np.rint(angle_rad * COUNTS_PER_RAD).astype(np.int64)


def store_state(table: Table, spec: HandSpec, state: HandState) -> None:
    """Put what the motors report into their tables."""
    effort = np.array([a.motor.effort_nm for a in spec.actuators if isinstance(a.motor, Servo)])
    table["present_position"] = to_counts(state.angle_rad)
    table["present_velocity"] = np.rint(state.velocity_rad_s / RAD_S_PER_COUNT)
    table["present_current"] = np.rint(FULL_CURRENT_MA * state.torque_nm / effort)
    table["moving"] = np.abs(state.velocity_rad_s) > 10 * RAD_S_PER_COUNT


def command_of(spec: HandSpec, table: Table, written: BoolArray) -> HandCommand | None:
    """What the tables ask of the motors written to: goals where the torque is on, no force where it is off."""
    if not written.any():
        return None
    on = table["torque_on"] != 0
    full_n = np.array([a.motor.effort_nm / a.motor.lever_m for a in spec.actuators if isinstance(a.motor, Servo)])
    current = np.where(table["mode"] == CURRENT_POSITION_MODE, np.abs(table["goal_current"].astype(float)), np.inf)
    share = np.minimum(np.minimum(current, table["current_limit"]), FULL_CURRENT_MA) / FULL_CURRENT_MA
    speed = np.where(table["profile_velocity"] > 0, table["profile_velocity"] * RAD_S_PER_COUNT, spec.top_speed_rad_s)
    target = (table["goal_position"] - FLAT) / COUNTS_PER_RAD
    return HandCommand(
        target_rad=np.where(written & on, target, np.nan),
        speed_rad_s=np.where(written & on, speed, np.nan),
        force_limit_n=np.where(written, np.where(on, share, 0.0) * full_n, np.nan),
    )
