"""Unitree's ``unitree_go`` lists of motors (``MotorCmds_`` and ``MotorStates_``) as records and as bytes."""

from __future__ import annotations

import struct

import numpy as np
from numpy.typing import NDArray

from thenar import cdr

COMMANDS_TYPE = "unitree_go::msg::dds_::MotorCmds_"
STATES_TYPE = "unitree_go::msg::dds_::MotorStates_"

MAX_MOTORS = 64  # a message with more is not meant for hands

MOTOR_CMD = np.dtype(
    {
        "names": ["mode", "q", "dq", "tau", "kp", "kd", "reserve"],
        "formats": ["u1", "f4", "f4", "f4", "f4", "f4", ("u4", 3)],
        "offsets": [0, 4, 8, 12, 16, 20, 24],
        "itemsize": 36,
    }
)
MOTOR_STATE = np.dtype(
    {
        "names": ["mode", "q", "dq", "ddq", "tau_est", "q_raw", "dq_raw", "ddq_raw", "temperature", "lost", "reserve"],
        "formats": ["u1", "f4", "f4", "f4", "f4", "f4", "f4", "f4", "u1", "u4", ("u4", 2)],
        "offsets": [0, 4, 8, 12, 16, 20, 24, 28, 32, 36, 40],
        "itemsize": 48,
    }
)


def encode_motors(records: NDArray[np.void]) -> bytes:
    """A message from records of `MOTOR_CMD` or `MOTOR_STATE`."""
    return cdr.HEADER + struct.pack("<I", records.size) + records.tobytes()


def decode_motors(message: bytes, dtype: np.dtype) -> NDArray[np.void]:
    """Records of `MOTOR_CMD` or `MOTOR_STATE`."""
    reader = cdr.Reader(message)
    records = reader.records(dtype, reader.length(MAX_MOTORS, "motors"), "motors")
    reader.end()
    return records
