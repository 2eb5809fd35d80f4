"""Unitree's messages for Dex3-1 hands (``rt/dex3/{left,right}/cmd`` and ``state``): commands and states in SI units.

Seven motors in the order of the hand's actuators. The byte ``mode`` of a command holds the motor's number (bits 0 to
3), whether it is driven (bits 4 to 6: 0 lock, 1 drive) and whether it lets go after a second without commands (bit 7).
Nine press modules of twelve slots stand in the order of the hand's pads: 30000 in a slot without an element, about
100000 at rest, more under pressure.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from thenar import cdr
from thenar.arrays import FloatArray
from thenar.hands.spec import HandSpec, Servo
from thenar.signals import HandCommand, HandState, TorqueLaw, TouchFrame
from thenar.wire.codecs.unitree import unitree_hg
from thenar.wire.codecs.unitree.unitree_hg import HandMessage

SIDES = ("left", "right")
COMMANDS = {f"rt/dex3/{side}/cmd": unitree_hg.HAND_CMD_TYPE for side in SIDES}
STATES = {f"rt/{slow}dex3/{side}/state": unitree_hg.HAND_STATE_TYPE for side in SIDES for slow in ("", "lf/")}

DRIVE, LETS_GO = 1, 0x80
ABSENT = 0x80  # in the mode of motors that are not there: locked and timed out
NOT_ZERO_RAD = 1e-5  # in place of exactly 0: xr_teleoperate takes a hand of zeros for one that has not reported yet

EMPTY, REST = 30000.0, 100000.0
COUNTS_PER_GRAM = 40.0  # assumed: nothing is published; 2500 g then read 200000, as public displays scale it
MIN_G, MAX_G = 10.0, 2500.0  # range of an element, from the product page
GRAM_N = 9.80665e-3
SKIN_C = 25.0  # the twin's skin is at room temperature


def is_dex3(spec: HandSpec) -> bool:
    """Whether a hand speaks this."""
    return spec.model == "Dex3-1"


def command_of(spec: HandSpec, motors: NDArray[np.void]) -> tuple[HandCommand | None, bool, list[str]]:
    """What a command asks, whether it is to be forgotten after a second, and why some motors were left as they are."""
    count = len(spec.actuators)
    if motors.size != count:
        return None, False, [f"a command for {motors.size} motors; a Dex3-1 has {count}"]
    mode, values = motors["mode"], {name: cdr.as_float64(motors[name]) for name in ("q", "dq", "tau", "kp", "kd")}
    named = (mode & 0x0F) == np.arange(count)
    finite = np.all([np.isfinite(value) for value in values.values()], axis=0)
    signs = (values["kp"] >= 0.0) & (values["kd"] >= 0.0)
    good = named & finite & signs
    reasons = {
        "a motor whose mode names another one": ~named,
        "a motor with values that are no numbers": named & ~finite,
        "a motor with a negative gain": named & finite & ~signs,
    }
    refused = [reason for reason, bad in reasons.items() for _ in range(int(bad.sum()))]
    driven = good & ((mode >> 4 & 0x07) == DRIVE)  # a locked motor keeps what it does
    if not driven.any():
        return None, False, refused
    safe = {name: np.where(driven, value, 0.0) for name, value in values.items()}
    law = TorqueLaw(
        stiffness_nm_rad=safe["kp"], damping_nms_rad=safe["kd"], velocity_rad_s=safe["dq"], torque_nm=safe["tau"]
    )
    nothing = np.full(count, np.nan)
    target = np.where(driven, values["q"], np.nan)
    command = HandCommand(target_rad=target, speed_rad_s=nothing, force_limit_n=nothing, law=law)
    return command, bool((mode[driven] & LETS_GO).any()), refused


def command_message(spec: HandSpec, target_rad: FloatArray) -> bytes:
    """A command that drives every motor to an angle [rad], with the gains that the hand's spec has."""
    motors = np.zeros(len(spec.actuators), unitree_hg.MOTOR_CMD)
    motors["mode"], motors["q"] = np.arange(motors.size) | DRIVE << 4, target_rad
    servos = [motor for a in spec.actuators if isinstance(motor := a.motor, Servo)]
    motors["kp"], motors["kd"] = np.transpose([(one.stiffness_nm_rad, one.damping_nms_rad) for one in servos])
    return unitree_hg.encode_hand_cmd(motors)


def let_go(spec: HandSpec) -> HandCommand:
    """No torque on any motor."""
    zero, nothing = np.zeros(len(spec.actuators)), np.full(len(spec.actuators), np.nan)
    law = TorqueLaw(stiffness_nm_rad=zero, damping_nms_rad=zero, velocity_rad_s=zero, torque_nm=zero)
    return HandCommand(target_rad=zero, speed_rad_s=nothing, force_limit_n=nothing, law=law)


def press_counts(spec: HandSpec, frame: TouchFrame | None) -> FloatArray:
    """What the press modules read. Shape (modules, 12)."""
    counts = np.full((len(spec.pads), unitree_hg.PRESS_SLOTS), EMPTY)
    for row, pad in zip(counts, spec.pads, strict=True):
        row[: pad.taxels] = REST
        if frame is not None:
            grams = frame[pad.name].ravel() * pad.row_pitch_m * pad.col_pitch_m / GRAM_N
            row[: pad.taxels] += COUNTS_PER_GRAM * np.where(grams < MIN_G, 0.0, np.minimum(grams, MAX_G))
    return counts


def state_message(spec: HandSpec, state: HandState, counts: FloatArray) -> bytes:
    """What a hand reports, with what its press modules read."""
    motors = _motors(DRIVE << 4, state.angle_rad)
    motors["dq"], motors["tau_est"] = state.velocity_rad_s, state.torque_nm
    return _message(motors, counts)


def absent_message(spec: HandSpec) -> bytes:
    """What is said of a hand that is not there: at rest, all motors locked and timed out."""
    return _message(_motors(ABSENT, spec.open_rad), press_counts(spec, None))


def is_absent(spec: HandSpec, motors: NDArray[np.void]) -> bool:
    """Whether these are the motors of `absent_message`; a real hand that rests is nowhere so exactly."""
    told = _motors(ABSENT, spec.open_rad)
    return all(np.array_equal(motors[name], told[name]) for name in ("mode", "q"))


def _motors(mode: int, angle_rad: FloatArray) -> NDArray[np.void]:
    """Motors of one mode at these angles, none of them at exactly 0."""
    motors = np.zeros(angle_rad.size, unitree_hg.MOTOR_STATE)
    motors["mode"] = np.arange(motors.size) | mode
    motors["q"] = np.where(angle_rad == 0.0, NOT_ZERO_RAD, angle_rad)
    motors["temperature"] = round(SKIN_C)
    return motors


def _message(motors: NDArray[np.void], counts: FloatArray) -> bytes:
    press = np.zeros(len(counts), unitree_hg.PRESS_SENSOR)
    press["pressure"], press["temperature"] = counts, np.where(counts == EMPTY, 0.0, SKIN_C)
    imu = unitree_hg.new_record(unitree_hg.IMU_STATE)
    imu["quaternion"] = (1.0, 0.0, 0.0, 0.0)
    return unitree_hg.encode_hand_state(HandMessage(motor_state=motors, press_sensor_state=press, imu_state=imu))
