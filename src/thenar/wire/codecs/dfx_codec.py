"""Unitree's messages for Inspire hands (``rt/inspire/cmd`` and ``rt/inspire/state``) as bytes, both ways.

One message carries both hands: six motors of the RIGHT hand, then six of the LEFT, each in the order of `MOTORS`.
``q`` runs from 0 (closed) to 1 (open). The robot's own service fills nothing else; as in Unitree's simulator ``dq`` is
the joint's velocity [rad/s] and ``tau_est`` its torque [N m], both positive where the joint's angle grows. Of a command
only ``q`` means anything.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType

import numpy as np
from numpy.typing import NDArray

from thenar import cdr
from thenar.arrays import FloatArray
from thenar.errors import BadValue
from thenar.signals import HandCommand
from thenar.wire.codecs import inspire_counts
from thenar.wire.codecs.inspire_counts import ANGLE_TOP, MOTORS, Readings, Scale
from thenar.wire.codecs.unitree.unitree_go import (
    COMMANDS_TYPE,
    MOTOR_CMD,
    MOTOR_STATE,
    STATES_TYPE,
    decode_motors,
    encode_motors,
)

COMMAND_TOPIC = "rt/inspire/cmd"
STATE_TOPIC = "rt/inspire/state"
STATES = {STATE_TOPIC: STATES_TYPE}
COMMANDS = {COMMAND_TOPIC: COMMANDS_TYPE}

SIDES = ("right", "left")
"""Order of the hands in a message."""


def encode_states(
    readings: Mapping[str, Readings],
    *,
    dq_rad_s: Mapping[str, FloatArray] = MappingProxyType({}),
    tau_nm: Mapping[str, FloatArray] = MappingProxyType({}),
    lost: int = 0,
) -> bytes:
    """A state message. A hand that is not there reads open and lost, so that clients waiting for it go on.

    Args:
        readings: By side.
        dq_rad_s: Velocities of the driven joints by side, six each [rad/s]; 0 where there are none.
        tau_nm: Their torques [N m].
        lost: Readings that an absent hand has missed so far.
    """
    states = np.zeros(len(SIDES) * len(MOTORS), dtype=MOTOR_STATE)
    states["q"] = 1.0
    states["lost"] = lost % 2**32
    for n, side in enumerate(SIDES):
        if side in readings:
            six = states[6 * n : 6 * n + 6]
            six["q"] = readings[side].angle / np.float32(ANGLE_TOP)
            six["dq"] = dq_rad_s.get(side, 0.0)
            six["tau_est"] = tau_nm.get(side, 0.0)
            six["lost"] = 0
    return encode_motors(states)


def decode_states(message: bytes) -> dict[str, NDArray[np.void]]:
    """Records of `MOTOR_STATE` by side."""
    return _by_side(decode_motors(message, MOTOR_STATE))


def encode_commands(q: Mapping[str, Sequence[float]]) -> bytes:
    """A command message from fractions by side (1 is open).

    The right hand alone makes a message of six motors. The left hand needs the right one's values before its own: the
    format cannot leave a motor out.
    """
    if "left" in q and "right" not in q:
        raise BadValue("q", sorted(q), "values for the right hand too: the message has no way to leave it as it is")
    commands = np.zeros(len(q) * len(MOTORS), dtype=MOTOR_CMD)
    commands["q"] = np.concatenate([np.asarray(q[side], dtype=np.float32) for side in SIDES if side in q])
    return encode_motors(commands)


def decode_commands(message: bytes) -> dict[str, NDArray[np.void]]:
    """Records of `MOTOR_CMD` by side, fewer than six where the message ends early."""
    return _by_side(decode_motors(message, MOTOR_CMD))


def command_of(scale: Scale, commands: NDArray[np.void]) -> tuple[HandCommand | None, int]:
    """What a hand's part of a command message asks, and how many of its values were out of range.

    Values outside 0..1 are clamped, as the robot's service does; what is not a number leaves the motor as it is.
    """
    q = cdr.as_float64(commands["q"])
    if not q.size:
        return None, 0
    known = np.isfinite(q)
    wrong = int((~known).sum() + ((q[known] < 0.0) | (q[known] > 1.0)).sum())
    angle = np.where(known, np.rint(ANGLE_TOP * np.clip(q, 0.0, 1.0)), np.nan)
    return inspire_counts.command(scale, angle=angle)[0], wrong


def _by_side(records: NDArray[np.void]) -> dict[str, NDArray[np.void]]:
    return {side: records[6 * n : 6 * n + 6] for n, side in enumerate(SIDES)}
