"""Messages of a G1's body (``rt/lowcmd``, ``rt/arm_sdk``, ``rt/lowstate``): what they mean, and which are refused."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from thenar import cdr
from thenar.cdr import BadMessage
from thenar.hands.rotations import matrix_from_quat_wxyz, rpy_from_matrix
from thenar.signals import ImuReading, MotorReadings, MotorTargets
from thenar.wire.codecs.unitree import unitree_hg as types
from thenar.wire.codecs.unitree.unitree_hg import IMU_STATE_TYPE, LOW_CMD_TYPE, LOW_STATE_TYPE

STATE_TOPIC, SLOW_STATE_TOPIC, TORSO_IMU_TOPIC = "rt/lowstate", "rt/lf/lowstate", "rt/secondary_imu"
COMMAND_TOPIC, ARM_TOPIC = "rt/lowcmd", "rt/arm_sdk"
RUN_TOPIC = "rt/run_command/cmd"
STATES = {STATE_TOPIC: LOW_STATE_TYPE, SLOW_STATE_TOPIC: LOW_STATE_TYPE, TORSO_IMU_TOPIC: IMU_STATE_TYPE}
COMMANDS = {COMMAND_TOPIC: LOW_CMD_TYPE, ARM_TOPIC: LOW_CMD_TYPE}

MOTORS = 29
WEIGHT_SLOT = 29
"""Its ``q`` in ``rt/arm_sdk`` is the share of the command."""
MAX_KP_NM_RAD, MAX_KD_NMS_RAD = 2000.0, 200.0
"""Largest gains that are taken: several times what any published program sends."""
IMU_TEMPERATURE_C = 40


def decode_targets(
    message: bytes, *, sender: str, arrived_s: float, mode_machine: int, arms: bool = False
) -> MotorTargets:
    """What a command asks of the motors; one that is not whole and sane is refused as a whole.

    Args:
        message: Its bytes.
        sender: Who sent it, in words.
        arrived_s: When it came.
        mode_machine: The robot's.
        arms: Whether it is one of the arms alone, in which Unitree's own programs leave out the CRC, the modes of the
            motors and ``mode_machine``: zeros.
    """
    command = types.decode_low_cmd(message)
    left_out = arms and not command["crc"]
    if not left_out and not types.crc_is_right(command):
        raise BadMessage("wrong CRC; wanted that of the padded struct")
    if command["mode_machine"] != mode_machine and not (arms and not command["mode_machine"]):
        raise BadMessage(f"mode_machine {command['mode_machine']}; wanted {mode_machine}, as in {STATE_TOPIC}")
    if command["mode_pr"]:
        raise BadMessage(
            f"mode_pr {command['mode_pr']}; wanted 0: the parallel motors of ankles and waist are not here"
        )
    motors = command["motor_cmd"][:MOTORS]
    on = (motors["mode"] == 1) | arms
    values = {name: cdr.as_float64(np.where(on, motors[name], 0.0)) for name in ("q", "dq", "tau", "kp", "kd")}
    for name, array in values.items():
        if not np.isfinite(array).all():
            raise BadMessage(f"{name} of motor {int(np.flatnonzero(~np.isfinite(array))[0])} is not a number")
    for name, largest in (("kp", MAX_KP_NM_RAD), ("kd", MAX_KD_NMS_RAD)):
        wrong = (values[name] < 0.0) | (values[name] > largest)
        if wrong.any():
            motor = int(np.flatnonzero(wrong)[0])
            raise BadMessage(f"{name} of motor {motor} is {values[name][motor]:g}; wanted 0 to {largest:g}")
    weight = float(command["motor_cmd"]["q"][WEIGHT_SLOT])
    return MotorTargets(
        sender=sender,
        arrived_s=arrived_s,
        position_rad=values["q"],
        velocity_rad_s=values["dq"],
        effort_nm=values["tau"],
        kp_nm_rad=values["kp"],
        kd_nms_rad=values["kd"],
        weight=min(max(weight, 0.0), 1.0) if np.isfinite(weight) else 0.0,
    )


def encode_readings(readings: MotorReadings, *, mode_machine: int) -> bytes:
    """The state of a body."""
    state = types.new_record(types.LOW_STATE)
    state["mode_machine"] = mode_machine
    state["tick"] = round(1e3 * readings.stamp_s) % 2**32
    _fill_imu(state["imu_state"], readings.imus[0])
    motors = state["motor_state"][:MOTORS]
    motors["mode"] = 1
    motors["q"], motors["dq"] = readings.position_rad, readings.velocity_rad_s
    motors["ddq"], motors["tau_est"] = readings.acceleration_rad_s2, readings.torque_nm
    motors["temperature"] = np.rint(readings.temperature_c)[:, None]
    return types.encode_low_state(state)


def encode_torso_imu(readings: MotorReadings) -> bytes:
    """The state of the torso's IMU."""
    imu = types.new_record(types.IMU_STATE)
    _fill_imu(imu, readings.imus[1])
    return types.encode_imu(imu)


def _fill_imu(record: NDArray[np.void], imu: ImuReading) -> None:
    record["quaternion"] = imu.quat_wxyz
    record["gyroscope"], record["accelerometer"] = imu.gyro_rad_s, imu.accel_m_s2
    record["rpy"] = rpy_from_matrix(matrix_from_quat_wxyz(imu.quat_wxyz))
    record["temperature"] = IMU_TEMPERATURE_C
