"""What the ReFlex hand's driver does between its topics and the hand: a board reading in, targets and a message out.

Pure: a `Driver` is a value, every function gives the next one. No network here. It follows the ROS 1 driver:

* a position command goes at the default speed, a velocity at or below 0 goes to 0 rad;
* a motor whose load is beyond its threshold is loosened by 0.05 rad, whatever was asked;
* with tactile stops on, a finger that touches something stays where it is;
* a force command is held by integrating the difference of loads into the angle.

Ref: reflex-ros-pkg, reflex_takktile_hand.py, motor.py, reflex_driver.cpp.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from thenar.signals import FloatArray
from thenar.wire.codecs import reflex_counts as counts
from thenar.wire.codecs.reflex_codec import HandMessage
from thenar.wire.codecs.reflex_counts import BoardReading

DEFAULT_SPEED_RAD_S = np.array([3.0, 3.0, 3.0, 2.0])
MAX_SPEED_RAD_S = 3.5
TRAVEL_RAD = np.array([3.6, 3.6, 3.6, 1.75])
OVERLOAD = np.array([350.0, 350.0, 350.0, 400.0])
"""Loads beyond which a motor is loosened."""
LOOSEN_RAD = 0.05
FORCE_GAIN = 16e-4 * 0.025
"""Of the integral control of force [rad per load and reading]."""
NEW_LOAD = 0.25
"""Part of a new load in the filtered one."""
THRESHOLD = 20
TOUCH_TOLERANCE_RAD = 0.001
CALIBRATE_STEP = np.array([6, 6, 6, 0])
CALIBRATE_SLACK = np.array([50, 50, 50, 0])
CALIBRATE_MOVED_RAD = 0.05
CALIBRATE_EVERY_US = 50_000
ENCODER_JUMP = 5000

Counts = NDArray[np.int64]


def _nan() -> FloatArray:
    return np.full(4, np.nan)


@dataclass(frozen=True, kw_only=True, eq=False)
class Driver:
    """Everything the driver remembers. Arrays are for f1, f2, f3 and preshape, or for the three fingers."""

    target_rad: FloatArray = field(default_factory=_nan)
    """Where each motor was sent, by the driver's own zeros [rad]; NaN before the first command."""
    speed_rad_s: FloatArray = field(default_factory=DEFAULT_SPEED_RAD_S.copy)
    torque_on: bool = True
    tactile_stops: bool = False
    """Whether a finger that touches something stays where it is."""
    threshold: Counts = field(default_factory=lambda: np.full((3, counts.FINGER_CELLS), THRESHOLD))
    """Pressure above which each cell counts as touched."""
    offset: Counts | None = None
    """What each cell publishes untouched; None: the next reading tells."""
    motor_zero_rad: FloatArray = field(
        default_factory=lambda: counts.MOTOR_AT_ZERO * counts.ANGLE_RAD / counts.GEAR,
    )
    encoder_zero_rad: FloatArray = field(default_factory=lambda: counts.ENCODER_AT_ZERO * counts.ENCODER_RAD)
    heard_us: int = 0
    """The board's time of the last reading."""
    encoder_last: Counts | None = None
    encoder_turns: Counts = field(default_factory=lambda: np.zeros(3, dtype=np.int64))
    joint_rad: FloatArray = field(default_factory=lambda: np.zeros(4))
    """Of the last reading."""
    load: FloatArray = field(default_factory=lambda: np.zeros(4))
    """Filtered."""
    force_goal: FloatArray | None = None
    """Loads to hold; None outside force control."""
    force_output_rad: FloatArray = field(default_factory=lambda: np.zeros(4))
    force_error: FloatArray = field(default_factory=lambda: np.zeros(4))
    calibrating_since_us: int | None = None
    """When the last step of calibrating the fingers was made; -1: it is about to begin."""

    @property
    def target_raw(self) -> FloatArray:
        """Targets in the motors' counts; NaN where there is none."""
        return counts.target_counts(self.target_rad, self.motor_zero_rad)


def to_pose(driver: Driver, pose_rad: FloatArray) -> Driver:
    """``command_position``: go there at the default speed."""
    return _sent(driver, pose_rad, DEFAULT_SPEED_RAD_S)


def to_pose_at(driver: Driver, pose_rad: FloatArray, speed_rad_s: FloatArray) -> Driver:
    """``command``: go there at these speeds; their sign does not count."""
    return _sent(driver, pose_rad, _bounded_speed(speed_rad_s))


def at_velocity(driver: Driver, velocity_rad_s: FloatArray) -> Driver:
    """``command_velocity``: above 0 close all the way, else open to 0 rad, at that speed."""
    return _sent(driver, np.where(velocity_rad_s > 0.0, TRAVEL_RAD, 0.0), _bounded_speed(velocity_rad_s))


def hold_load(driver: Driver, load: FloatArray) -> Driver:
    """``command_motor_force``: hold loads from 0 to the overload threshold. It switches tactile stops off."""
    return replace(
        driver,
        force_goal=np.clip(load, 0.0, OVERLOAD),
        force_output_rad=driver.joint_rad,
        force_error=np.zeros(4),
        speed_rad_s=DEFAULT_SPEED_RAD_S,
        tactile_stops=False,
        torque_on=True,
        calibrating_since_us=None,
    )


def to_radians(driver: Driver, angle_rad: FloatArray) -> Driver:
    """``radian_hand_command``: go there at the speed that is set."""
    return _sent(driver, angle_rad, driver.speed_rad_s)


def to_raw(driver: Driver, raw: FloatArray) -> Driver:
    """``raw_hand_command``: the same in the motors' counts."""
    return _sent(driver, counts.joint_angle_rad(raw, driver.motor_zero_rad), driver.speed_rad_s, bounded=False)


def follow(driver: Driver, topic: str, values: FloatArray) -> Driver:
    """The driver after a message on a command topic; ``command`` has four angles, then four speeds."""
    if topic == "command":
        return to_pose_at(driver, values[:4], values[4:])
    return _COMMANDED[topic](driver, values)


def set_speed(driver: Driver, speed_rad_s: FloatArray) -> Driver:
    """The speed of what follows, until a position command takes the default again."""
    return replace(driver, speed_rad_s=_bounded_speed(speed_rad_s))


def release(driver: Driver) -> Driver:
    """``disable_torque``: motors go limp until the next command."""
    return replace(driver, torque_on=False, force_goal=None, calibrating_since_us=None, target_rad=_nan())


def calibrate_fingers(driver: Driver) -> Driver:
    """Wind each tendon in, step by step, until its finger moves; that place, less the slack, is zero."""
    return replace(driver, calibrating_since_us=-1, force_goal=None, torque_on=True)


def zero_pose(driver: Driver) -> Driver:
    """The motors' present angles count as 0."""
    raw = counts.target_counts(driver.joint_rad, driver.motor_zero_rad)
    return replace(driver, motor_zero_rad=raw * counts.ANGLE_RAD / counts.GEAR, target_rad=np.zeros(4))


_COMMANDED: dict[str, Callable[[Driver, FloatArray], Driver]] = {
    "command_position": to_pose,
    "command_velocity": at_velocity,
    "command_motor_force": hold_load,
    "raw_hand_command": to_raw,
    "radian_hand_command": to_radians,
}


def on_reading(driver: Driver, reading: BoardReading) -> tuple[Driver, HandMessage]:
    """Take in a reading: the message it makes, and the driver after it did what it always does."""
    driver = _track_encoders(driver, reading)
    finger_cells = reading.pressures[counts.PACKET_ORDER][:27].reshape(3, counts.FINGER_CELLS)
    offset = finger_cells if driver.offset is None else driver.offset
    driver = replace(
        driver,
        offset=offset,
        joint_rad=counts.joint_angle_rad(reading.angles, driver.motor_zero_rad),
        load=NEW_LOAD * counts.signed_load(reading.loads) + (1.0 - NEW_LOAD) * driver.load,
    )
    proximal = driver.encoder_zero_rad - (reading.encoders + driver.encoder_turns) * counts.ENCODER_RAD
    pressure = finger_cells - offset
    message = HandMessage(
        proximal_rad=proximal,
        distal_rad=np.maximum(driver.joint_rad[:3] - proximal, 0.0),
        contact=pressure > driver.threshold,
        pressure=pressure,
        joint_rad=driver.joint_rad,
        raw_angle=reading.angles,
        velocity=reading.speeds,
        load=driver.load,
        voltage=reading.volts,
        temperature=reading.temps,
        error=reading.errors,
    )
    if driver.calibrating_since_us is not None:
        return _calibrate(driver, reading), message
    return _react(driver, np.append(message.contact.any(axis=1), False)), message


def _react(driver: Driver, touched: NDArray[np.bool_]) -> Driver:
    """Hold a force or stop on touch, then loosen what is overloaded."""
    if not driver.torque_on:
        return driver
    target = driver.target_rad
    if driver.force_goal is not None:
        error = driver.force_goal - driver.load
        output = driver.force_output_rad + FORCE_GAIN * (error + driver.force_error)
        target = np.clip(output, 0.0, TRAVEL_RAD)
        driver = replace(driver, force_output_rad=output, force_error=error)
    elif driver.tactile_stops:
        closing = target > driver.joint_rad + TOUCH_TOLERANCE_RAD
        target = np.where(touched & closing, driver.joint_rad, target)
    overloaded = np.abs(driver.load) > OVERLOAD
    loose = np.clip(driver.joint_rad - LOOSEN_RAD, 0.0, TRAVEL_RAD)
    return replace(driver, target_rad=np.where(overloaded, loose, target))


def _calibrate(driver: Driver, reading: BoardReading) -> Driver:
    """One step of calibrating the fingers, when it is time for one."""
    since_us = driver.calibrating_since_us
    assert since_us is not None
    if since_us < 0:
        driver = replace(
            driver, encoder_zero_rad=reading.encoders * counts.ENCODER_RAD, encoder_turns=np.zeros(3, dtype=np.int64)
        )
    elif (reading.systime_us - since_us) % 2**32 < CALIBRATE_EVERY_US:
        return driver
    gone_rad = driver.encoder_zero_rad - (reading.encoders + driver.encoder_turns) * counts.ENCODER_RAD
    moved = np.abs(gone_rad) > CALIBRATE_MOVED_RAD
    inverted = counts.INVERTED.astype(np.int64)
    if moved.all():
        zero = (reading.angles - inverted * CALIBRATE_SLACK) * counts.ANGLE_RAD / counts.GEAR
        return replace(driver, motor_zero_rad=zero, target_rad=np.zeros(4), calibrating_since_us=None)
    raw = reading.angles + inverted * np.where(np.append(moved, True), 0, CALIBRATE_STEP)
    target = counts.joint_angle_rad(raw + 0.5, driver.motor_zero_rad)  # the middle of a count, which is cut off later
    return replace(driver, target_rad=target, calibrating_since_us=reading.systime_us)


def _track_encoders(driver: Driver, reading: BoardReading) -> Driver:
    """Count how often the encoders went through zero. A board that starts, or starts anew, has no turn before."""
    went_back = (reading.systime_us - driver.heard_us) % 2**32 > 2**31
    if driver.encoder_last is None or went_back:
        proximal = driver.encoder_zero_rad - reading.encoders * counts.ENCODER_RAD  # between 0 and pi, or a turn off
        before = np.zeros(3, dtype=np.int64)
        up, down = proximal > 1.5 * np.pi, proximal < -0.5 * np.pi
    else:
        jump = driver.encoder_last - reading.encoders
        before = driver.encoder_turns
        up, down = jump > ENCODER_JUMP, jump < -ENCODER_JUMP
    turns = before + counts.ENCODER_TURN * (up.astype(np.int64) - down)
    return replace(driver, heard_us=reading.systime_us, encoder_last=reading.encoders, encoder_turns=turns)


def _sent(driver: Driver, angle_rad: FloatArray, speed_rad_s: FloatArray, *, bounded: bool = True) -> Driver:
    """Sent somewhere: force control and calibrating end, and motors that were limp pull again."""
    target = np.clip(angle_rad, 0.0, TRAVEL_RAD) if bounded else angle_rad
    return replace(
        driver,
        target_rad=target,
        speed_rad_s=speed_rad_s,
        force_goal=None,
        torque_on=True,
        calibrating_since_us=None,
    )


def _bounded_speed(speed_rad_s: FloatArray) -> FloatArray:
    return np.minimum(np.abs(speed_rad_s), MAX_SPEED_RAD_S)
