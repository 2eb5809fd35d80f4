"""Unitree's ``unitree_hg`` messages as numpy records and as bytes: body and hands of a G1.

Records have the layout of Unitree's C structs, over which its checksum runs. On the wire (plain CDR) a motor does not
begin on a multiple of four bytes: the first one's ``mode`` follows the byte before it.
"""

from __future__ import annotations

import binascii
import struct
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from thenar import cdr
from thenar.cdr import BadMessage

PACKAGE = "unitree_hg::msg::dds_::"
LOW_CMD_TYPE = f"{PACKAGE}LowCmd_"
LOW_STATE_TYPE = f"{PACKAGE}LowState_"
IMU_STATE_TYPE = f"{PACKAGE}IMUState_"
HAND_CMD_TYPE = f"{PACKAGE}HandCmd_"
HAND_STATE_TYPE = f"{PACKAGE}HandState_"

MOTOR_SLOTS = 35
"""Motors in a message of a body, whatever the robot has."""
PRESS_SLOTS = 12
"""Elements in a press module, whatever it has."""
MAX_MOTORS = 64  # of a hand; a message with more is not meant for one

MOTOR_CMD = np.dtype(
    [("mode", "u1"), ("q", "<f4"), ("dq", "<f4"), ("tau", "<f4"), ("kp", "<f4"), ("kd", "<f4"), ("reserve", "<u4")],
    align=True,
)
MOTOR_STATE = np.dtype(
    [
        ("mode", "u1"), ("q", "<f4"), ("dq", "<f4"), ("ddq", "<f4"), ("tau_est", "<f4"), ("temperature", "<i2", 2),
        ("vol", "<f4"), ("sensor", "<u4", 2), ("motorstate", "<u4"), ("reserve", "<u4", 4),
    ],
    align=True,
)  # fmt: skip
IMU_STATE = np.dtype(
    [
        ("quaternion", "<f4", 4), ("gyroscope", "<f4", 3), ("accelerometer", "<f4", 3), ("rpy", "<f4", 3),
        ("temperature", "<i2"),
    ],
    align=True,
)  # fmt: skip
"""The quaternion's order is w x y z."""
PRESS_SENSOR = np.dtype(
    [("pressure", "<f4", PRESS_SLOTS), ("temperature", "<f4", PRESS_SLOTS), ("lost", "<u4"), ("reserve", "<u4")]
)
LOW_CMD = np.dtype(
    [
        ("mode_pr", "u1"), ("mode_machine", "u1"), ("motor_cmd", MOTOR_CMD, MOTOR_SLOTS), ("reserve", "<u4", 4),
        ("crc", "<u4"),
    ],
    align=True,
)  # fmt: skip
LOW_STATE = np.dtype(
    [
        ("version", "<u4", 2), ("mode_pr", "u1"), ("mode_machine", "u1"), ("tick", "<u4"), ("imu_state", IMU_STATE),
        ("motor_state", MOTOR_STATE, MOTOR_SLOTS), ("wireless_remote", "u1", 40), ("reserve", "<u4", 4),
        ("crc", "<u4"),
    ],
    align=True,
)  # fmt: skip
_IMU_BYTES = 54  # on the wire, without the padding behind it


def _mask(kind: np.dtype) -> NDArray[np.uint8]:
    """255 where a record has a field, 0 in its padding."""
    mask = np.zeros(kind.itemsize, np.uint8)
    for part, offset, *_ in (kind.fields or {}).values():
        base, count = part.base, part.itemsize // part.base.itemsize
        inner = _mask(base) if base.fields else np.full(base.itemsize, 255, np.uint8)
        mask[offset : offset + part.itemsize] = np.tile(inner, count)
    return mask


_MASKS = {kind: _mask(kind) for kind in (MOTOR_CMD, MOTOR_STATE, IMU_STATE, PRESS_SENSOR, LOW_CMD, LOW_STATE)}


def new_record(kind: np.dtype) -> NDArray[np.void]:
    """A message of all zeros, padding too; a field is ``record["q"]``. Shape ()."""
    return np.zeros((), kind)


# The checksum has the most significant bit first, over words; that of `binascii` the least significant, over bytes.
_REVERSED = bytes(int(f"{byte:08b}"[::-1], 2) for byte in range(256))


def crc_of(record: NDArray[np.void]) -> int:
    """Unitree's checksum of a `LOW_CMD` or `LOW_STATE`, the value its last word should have."""
    return _crc(_bytes(record)[:-4])


def _crc(body: bytes) -> int:
    words = np.frombuffer(body, "<u4").byteswap().tobytes()
    crc = binascii.crc32(words.translate(_REVERSED)) ^ 0xFFFFFFFF
    return int.from_bytes(crc.to_bytes(4, "little").translate(_REVERSED), "big")


def crc_is_right(record: NDArray[np.void]) -> bool:
    """Whether a message carries its own checksum."""
    return crc_of(record) == int(record["crc"])


def encode_low_cmd(command: NDArray[np.void]) -> bytes:
    """A command to a body, with its checksum."""
    return cdr.HEADER + _without_gap(_summed(command), 4)


def encode_low_state(state: NDArray[np.void]) -> bytes:
    """The state of a body, with its checksum."""
    return cdr.HEADER + _without_gap(_summed(state), _LOW_STATE_MOTORS)


def decode_low_cmd(message: bytes) -> NDArray[np.void]:
    """A `LOW_CMD`, its checksum as it came."""
    return _decode_body(message, LOW_CMD, 4)


def decode_low_state(message: bytes) -> NDArray[np.void]:
    """A `LOW_STATE`, its checksum as it came."""
    return _decode_body(message, LOW_STATE, _LOW_STATE_MOTORS)


def encode_imu(imu: NDArray[np.void]) -> bytes:
    """State of an IMU by itself."""
    return cdr.HEADER + _bytes(imu)[:_IMU_BYTES]


def encode_hand_cmd(motors: NDArray[np.void]) -> bytes:
    """A command to a hand, from records of `MOTOR_CMD`."""
    return cdr.HEADER + struct.pack("<I", motors.size) + _bytes(motors) + bytes(16)


def decode_hand_cmd(message: bytes) -> NDArray[np.void]:
    """Records of `MOTOR_CMD`."""
    reader = cdr.Reader(message)
    motors = _records(reader, MOTOR_CMD, "motor_cmd")
    reader.numbers("u4", 4, "reserve")
    reader.end()
    return motors


@dataclass(frozen=True, kw_only=True, eq=False)
class HandMessage:
    """What a hand reports."""

    motor_state: NDArray[np.void]
    """Of `MOTOR_STATE`."""
    press_sensor_state: NDArray[np.void]
    """Of `PRESS_SENSOR`."""
    imu_state: NDArray[np.void]
    """Of `IMU_STATE`."""
    power_v: float = 0.0
    power_a: float = 0.0
    system_v: float = 0.0
    device_v: float = 0.0
    error: tuple[int, int] = (0, 0)
    reserve: tuple[int, int] = (0, 0)


def encode_hand_state(state: HandMessage) -> bytes:
    """The state of a hand."""
    parts = [cdr.HEADER]
    for records in (state.motor_state, state.press_sensor_state):
        parts += [struct.pack("<I", records.size), _bytes(records)]
    power = (state.power_v, state.power_a, state.system_v, state.device_v)
    return b"".join([*parts, _bytes(state.imu_state), struct.pack("<4f4I", *power, *state.error, *state.reserve)])


def decode_hand_state(message: bytes) -> HandMessage:
    """What a hand reports."""
    reader = cdr.Reader(message)
    motors = _records(reader, MOTOR_STATE, "motor_state")
    press = _records(reader, PRESS_SENSOR, "press_sensor_state")
    imu = new_record(IMU_STATE)
    for name in ("quaternion", "gyroscope", "accelerometer", "rpy"):
        imu[name] = reader.numbers("f4", imu[name].size, name)
    imu["temperature"] = reader.numbers("i2", 1, "temperature")[0]
    power = cdr.as_float64(reader.numbers("f4", 4, "power"))
    error, reserve = (tuple(reader.numbers("u4", 2, what).tolist()) for what in ("error", "reserve"))
    reader.end()
    volts = dict(zip(("power_v", "power_a", "system_v", "device_v"), power.tolist(), strict=True))
    return HandMessage(
        motor_state=motors, press_sensor_state=press, imu_state=imu, error=error, reserve=reserve, **volts
    )


_LOW_STATE_MOTORS = LOW_STATE.fields["motor_state"][1]  # pyright: ignore[reportOptionalSubscript]


def _summed(record: NDArray[np.void]) -> bytes:
    body = _bytes(record)[:-4]
    return body + struct.pack("<I", _crc(body))


def _bytes(records: NDArray[np.void]) -> bytes:
    """Records as bytes, padding zero: numpy leaves there what there was, and so do peers."""
    rows = np.frombuffer(records.tobytes(), np.uint8).reshape(records.size, -1)
    return (rows & _MASKS[records.dtype]).tobytes()


def _without_gap(struct_bytes: bytes, motors: int) -> bytes:
    """The bytes on the wire of a C struct: the first motor's mode stands where the padding before it began."""
    head = struct_bytes[: motors - 2] + struct_bytes[motors : motors + 1] + b"\x00"
    return head + struct_bytes[motors + 4 :]


def _decode_body(message: bytes, kind: np.dtype, motors: int) -> NDArray[np.void]:
    reader = cdr.Reader(message)
    if reader.order != "<":
        raise BadMessage("numbers with the most significant byte first; wanted little endian")
    body = reader.numbers("u1", kind.itemsize - 4, kind.names[-1] if kind.names else "").tobytes()
    reader.end()
    padded = body[: motors - 2] + b"\x00\x00" + body[motors - 2 : motors - 1] + bytes(3) + body[motors:]
    return np.frombuffer(padded, kind).reshape(())


def _records(reader: cdr.Reader, kind: np.dtype, what: str) -> NDArray[np.void]:
    return reader.records(kind, reader.length(MAX_MOTORS, what), what)
