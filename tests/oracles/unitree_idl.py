"""Unitree's types of a G1 and its hands as another DDS library (cyclonedds) has them, and its checksum bit by bit."""

# Without the usual `from __future__ import annotations`: the DDS library looks at the annotations themselves.
from dataclasses import dataclass
from typing import Any

from cyclonedds.idl import IdlStruct
from cyclonedds.idl.annotations import autoid, final
from cyclonedds.idl.types import array, float32, int16, int32, int64, sequence, uint8, uint32


@dataclass
@final
@autoid("sequential")
class MotorCmd(IdlStruct, typename="unitree_hg.msg.dds_.MotorCmd_"):
    """One motor of a command."""

    mode: uint8
    q: float32
    dq: float32
    tau: float32
    kp: float32
    kd: float32
    reserve: uint32


@dataclass
@final
@autoid("sequential")
class MotorState(IdlStruct, typename="unitree_hg.msg.dds_.MotorState_"):
    """One motor of a state."""

    mode: uint8
    q: float32
    dq: float32
    ddq: float32
    tau_est: float32
    temperature: array[int16, 2]
    vol: float32
    sensor: array[uint32, 2]
    motorstate: uint32
    reserve: array[uint32, 4]


@dataclass
@final
@autoid("sequential")
class IMUState(IdlStruct, typename="unitree_hg.msg.dds_.IMUState_"):
    """``rt/secondary_imu``."""

    quaternion: array[float32, 4]
    gyroscope: array[float32, 3]
    accelerometer: array[float32, 3]
    rpy: array[float32, 3]
    temperature: int16


@dataclass
@final
@autoid("sequential")
class LowCmd(IdlStruct, typename="unitree_hg.msg.dds_.LowCmd_"):
    """``rt/lowcmd`` and ``rt/arm_sdk``."""

    mode_pr: uint8
    mode_machine: uint8
    motor_cmd: array[MotorCmd, 35]
    reserve: array[uint32, 4]
    crc: uint32


@dataclass
@final
@autoid("sequential")
class LowState(IdlStruct, typename="unitree_hg.msg.dds_.LowState_"):
    """``rt/lowstate``."""

    version: array[uint32, 2]
    mode_pr: uint8
    mode_machine: uint8
    tick: uint32
    imu_state: IMUState
    motor_state: array[MotorState, 35]
    wireless_remote: array[uint8, 40]
    reserve: array[uint32, 4]
    crc: uint32


@dataclass
@final
@autoid("sequential")
class HandCmd(IdlStruct, typename="unitree_hg.msg.dds_.HandCmd_"):
    """``rt/dex3/{left,right}/cmd``."""

    motor_cmd: sequence[MotorCmd]
    reserve: array[uint32, 4]


@dataclass
@final
@autoid("sequential")
class PressSensorState(IdlStruct, typename="unitree_hg.msg.dds_.PressSensorState_"):
    """One press module of a hand."""

    pressure: array[float32, 12]
    temperature: array[float32, 12]
    lost: uint32
    reserve: uint32


@dataclass
@final
@autoid("sequential")
class HandState(IdlStruct, typename="unitree_hg.msg.dds_.HandState_"):
    """``rt/dex3/{left,right}/state``."""

    motor_state: sequence[MotorState]
    press_sensor_state: sequence[PressSensorState]
    imu_state: IMUState
    power_v: float32
    power_a: float32
    system_v: float32
    device_v: float32
    error: array[uint32, 2]
    reserve: array[uint32, 2]


@dataclass
@final
@autoid("sequential")
class RequestIdentity(IdlStruct, typename="unitree_api.msg.dds_.RequestIdentity_"):
    """Which request."""

    id: int64
    api_id: int64


@dataclass
@final
@autoid("sequential")
class RequestLease(IdlStruct, typename="unitree_api.msg.dds_.RequestLease_"):
    """Whose turn."""

    id: int64


@dataclass
@final
@autoid("sequential")
class RequestPolicy(IdlStruct, typename="unitree_api.msg.dds_.RequestPolicy_"):
    """How to answer."""

    priority: int32
    noreply: bool


@dataclass
@final
@autoid("sequential")
class RequestHeader(IdlStruct, typename="unitree_api.msg.dds_.RequestHeader_"):
    """Head of a request."""

    identity: RequestIdentity
    lease: RequestLease
    policy: RequestPolicy


@dataclass
@final
@autoid("sequential")
class Request(IdlStruct, typename="unitree_api.msg.dds_.Request_"):
    """``rt/api/*/request``."""

    header: RequestHeader
    parameter: str
    binary: sequence[uint8]


@dataclass
@final
@autoid("sequential")
class ResponseStatus(IdlStruct, typename="unitree_api.msg.dds_.ResponseStatus_"):
    """Whether it worked."""

    code: int32


@dataclass
@final
@autoid("sequential")
class ResponseHeader(IdlStruct, typename="unitree_api.msg.dds_.ResponseHeader_"):
    """Head of an answer."""

    identity: RequestIdentity
    status: ResponseStatus


@dataclass
@final
@autoid("sequential")
class Response(IdlStruct, typename="unitree_api.msg.dds_.Response_"):
    """``rt/api/*/response``."""

    header: ResponseHeader
    data: str
    binary: sequence[uint8]


@dataclass
@final
@autoid("sequential")
class String(IdlStruct, typename="std_msgs.msg.dds_.String_"):
    """``rt/sim_state`` and others."""

    data: str


BODY_KINDS: list[Any] = [LowCmd, LowState, IMUState, Request, Response]
"""Types of a body's topics."""
KINDS: list[Any] = [*BODY_KINDS, HandCmd, HandState]
"""Types of all topics."""


def motor_cmd(**fields: Any) -> MotorCmd:
    """One motor, zero where nothing is said."""
    return MotorCmd(**({"mode": 0, "q": 0.0, "dq": 0.0, "tau": 0.0, "kp": 0.0, "kd": 0.0, "reserve": 0} | fields))


def low_cmd(motors: dict[int, dict[str, float]], *, mode_machine: int = 0, mode_pr: int = 0, crc: int = 0) -> LowCmd:
    """A command, zero where nothing is said."""
    lists: Any = {"motor_cmd": [motor_cmd(**motors.get(index, {})) for index in range(35)], "reserve": [0] * 4}
    return LowCmd(mode_pr=mode_pr, mode_machine=mode_machine, crc=crc, **lists)


def motor_state(**fields: Any) -> MotorState:
    """One motor, zero where nothing is said."""
    zeros = {"mode": 0, "q": 0.0, "dq": 0.0, "ddq": 0.0, "tau_est": 0.0, "temperature": [0, 0], "vol": 0.0}
    return MotorState(**(zeros | {"sensor": [0, 0], "motorstate": 0, "reserve": [0] * 4} | fields))


def crc_bit_by_bit(words: list[int]) -> int:
    """Checksum of 32-bit words as Unitree's own Python has it: polynomial 0x04C11DB7, first bit first."""
    crc = 0xFFFFFFFF
    for word in words:
        for bit in range(31, -1, -1):
            top = crc >> 31
            crc = (crc << 1) & 0xFFFFFFFF
            if top ^ (word >> bit & 1):
                crc ^= 0x04C11DB7
    return crc
