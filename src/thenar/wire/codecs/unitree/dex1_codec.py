"""Unitree's messages for Dex1-1 grippers (``rt/dex1/{left,right}/...``): one motor, from 0 closed to 5.4 rad open.

The motor gives ``tau + kp (q - angle) + kd (dq - velocity)``.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from thenar import cdr
from thenar.hands.spec import HandSpec
from thenar.signals import HandCommand, HandState, TorqueLaw
from thenar.wire.codecs.unitree.unitree_go import COMMANDS_TYPE, MOTOR_STATE, STATES_TYPE, encode_motors

SIDES = ("left", "right")
COMMANDS = {f"rt/dex1/{side}/cmd": COMMANDS_TYPE for side in SIDES}
STATES = {f"rt/dex1/{side}/state": STATES_TYPE for side in SIDES}


def is_dex1(spec: HandSpec) -> bool:
    """Whether a hand speaks this."""
    return spec.model == "Dex1-1"


def command_of(spec: HandSpec, motors: NDArray[np.void]) -> tuple[HandCommand | None, str]:
    """What a command asks; or None, and why."""
    if motors.size != 1:
        return None, f"a command for {motors.size} motors; a Dex1-1 has 1"
    q, dq, tau, kp, kd = (cdr.as_float64(motors[name]) for name in ("q", "dq", "tau", "kp", "kd"))
    if not np.isfinite([q, dq, tau, kp, kd]).all():
        return None, "a motor with values that are no numbers"
    if kp[0] < 0.0 or kd[0] < 0.0:
        return None, "a motor with a negative gain"
    law = TorqueLaw(stiffness_nm_rad=kp, damping_nms_rad=kd, velocity_rad_s=dq, torque_nm=tau)
    nothing = np.full(1, np.nan)
    return HandCommand(target_rad=q + spec.closed_rad, speed_rad_s=nothing, force_limit_n=nothing, law=law), ""


def state_message(spec: HandSpec, state: HandState) -> bytes:
    """What a gripper reports."""
    motors = np.zeros(1, MOTOR_STATE)
    motors["q"], motors["dq"], motors["tau_est"] = (
        state.angle_rad - spec.closed_rad,
        state.velocity_rad_s,
        state.torque_nm,
    )
    return encode_motors(motors)


def absent_message(spec: HandSpec) -> bytes:
    """What is said of a gripper that is not there: open, and its reading lost."""
    motors = np.zeros(1, MOTOR_STATE)
    motors["q"], motors["lost"] = spec.open_rad - spec.closed_rad, 1
    return encode_motors(motors)
