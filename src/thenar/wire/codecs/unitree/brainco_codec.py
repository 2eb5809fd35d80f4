"""The messages of Unitree's service for BrainCo Revo 2 hands (``rt/brainco/{left,right}/cmd`` and ``state``).

Six motors; ``q`` runs from 0 (open) to 1 (closed), ``dq`` of a command is the speed, 0 to 1, of a state the motor's own
speed. ``tau_est`` is its current in amperes. Nothing else is read or filled, but ``lost`` of a hand that is not
there.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from thenar import cdr
from thenar.arrays import FloatArray, IntArray
from thenar.hands.spec import HandSpec, Servo
from thenar.signals import HandCommand, HandState
from thenar.wire.codecs.unitree.unitree_go import COMMANDS_TYPE, MOTOR_CMD, MOTOR_STATE, STATES_TYPE, encode_motors

SIDES = ("left", "right")
COMMANDS = {f"rt/brainco/{side}/cmd": COMMANDS_TYPE for side in SIDES}
STATES = {f"rt/brainco/{side}/state": STATES_TYPE for side in SIDES}

FULL_CURRENT_A = 1.0  # at full effort; assumed: the hand's own default maximum
ORDERS: dict[str, tuple[int, ...]] = {"hand": (0, 1, 2, 3, 4, 5), "xr_teleoperate": (1, 0, 2, 3, 4, 5)}
"""Which of the hand's motors stands at each place: xr_teleoperate has the thumb's two the other way round."""


def is_brainco(spec: HandSpec) -> bool:
    """Whether a hand speaks this."""
    return spec.maker == "BrainCo" and spec.model == "Revo 2"


def fractions(spec: HandSpec, state: HandState) -> FloatArray:
    """How far each motor is closed, 0 to 1."""
    return np.clip((state.angle_rad - spec.open_rad) / (spec.closed_rad - spec.open_rad), 0.0, 1.0)


def currents_a(spec: HandSpec, state: HandState) -> FloatArray:
    """Current of each motor [A], in proportion to its torque."""
    effort = np.array([motor.effort_nm if isinstance(motor := a.motor, Servo) else np.nan for a in spec.actuators])
    return FULL_CURRENT_A * np.abs(state.torque_nm) / effort


def command_of(spec: HandSpec, motors: NDArray[np.void], order: IntArray) -> tuple[HandCommand | None, int]:
    """What a command asks, and how many of its values were out of range: those are clamped, as the service does."""
    if not motors.size:
        return None, 0
    at = order[: motors.size]
    q, speed = np.full((2, len(spec.actuators)), np.nan)
    q[at], speed[at] = (cdr.as_float64(motors[name][: at.size]) for name in ("q", "dq"))
    known = np.isfinite(q) & np.isfinite(speed)
    wrong = int((~known[at]).sum() + sum(((v[known] < 0.0) | (v[known] > 1.0)).sum() for v in (q, speed)))
    q, speed = (np.where(known, np.clip(v, 0.0, 1.0), np.nan) for v in (q, speed))
    command = HandCommand.closing(q, speed=speed).in_radians(
        open_rad=spec.open_rad, closed_rad=spec.closed_rad, top_speed_rad_s=spec.top_speed_rad_s
    )
    return command, wrong


def command_message(spec: HandSpec, target_rad: FloatArray, speed_rad_s: FloatArray) -> bytes:
    """A command that sends every motor to an angle [rad] at a speed [rad/s]; full speed where none is told."""
    motors = np.zeros(len(spec.actuators), MOTOR_CMD)
    motors["q"] = np.clip((target_rad - spec.open_rad) / (spec.closed_rad - spec.open_rad), 0.0, 1.0)
    motors["dq"] = np.clip(np.nan_to_num(speed_rad_s / spec.top_speed_rad_s, nan=1.0), 0.0, 1.0)
    return encode_motors(motors)


def state_message(spec: HandSpec, state: HandState, order: IntArray) -> bytes:
    """What the service publishes of a hand."""
    motors = np.zeros(len(spec.actuators), MOTOR_STATE)
    motors["q"] = np.rint(1000.0 * fractions(spec, state))[order] / 1000.0
    motors["dq"] = np.rint(1000.0 * state.velocity_rad_s / spec.top_speed_rad_s)[order] / 1000.0
    motors["tau_est"] = np.rint(1000.0 * currents_a(spec, state))[order] / 1000.0
    return encode_motors(motors)


def absent_message(spec: HandSpec) -> bytes:
    """What is said of a hand that is not there: open, and its readings lost."""
    motors = np.zeros(len(spec.actuators), MOTOR_STATE)
    motors["lost"] = 1
    return encode_motors(motors)
