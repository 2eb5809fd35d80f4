"""What the ReFlex hand's board says in its own counts, and back: barometers, encoders and Dynamixel motors.

Pure functions over arrays. Ref: firmware and driver of reflex-ros-pkg; MPL115A2 as in Linux' mpl115 driver.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from thenar.arrays import FloatArray, IntArray
from thenar.hands.spec import HandSpec
from thenar.signals import HandState

MOTORS = ("f1", "f2", "f3", "preshape")
PROXIMAL = ("proximal_1", "proximal_2", "proximal_3")
"""Joints that carry an encoder; the flexure has none."""
FINGER_CELLS, PALM_CELLS = 9, 11
CELLS = 3 * FINGER_CELLS + PALM_CELLS

INVERTED = np.array([1.0, -1.0, 1.0, -1.0])
GEAR = np.array([1.42, 1.42, 1.42, 1.5])
ANGLE_RAD = 4 * 2 * math.pi / 4095
"""Of the motor's shaft per count: the resolution divider is 4."""
SPEED_RAD_S = 0.01194
"""Of the motor's shaft per count."""
ENCODER_RAD = 2 * math.pi / 16383
ENCODER_TURN = 16383
MAX_ANGLE = 16383
"""Largest target the driver sends."""
SIGN_BIT = 1024
FULL_LOAD = 1023

# Where a hand's counts start is its own, and found by calibration. These are the twin's; finger 3's encoder passes zero
# while it closes, as encoders of real hands do.
MOTOR_AT_ZERO = np.array([2048, 2048, 2048, 2048])
ENCODER_AT_ZERO = np.array([15000, 11000, 4000])

# Order of the cells in a packet: the firmware has fingers 2 and 3 swapped.
PACKET_ORDER = np.concatenate([np.arange(0, 9), np.arange(18, 27), np.arange(9, 18), np.arange(27, 38)])

# MPL115A2: typical coefficients of its data sheet.
_A0, _B1, _B2, _C12 = 2009.75, -2.37585, -0.92047, 0.00079
_T_25C, _T_PER_C = 472.0, -5.35
_FULL = 1023
REST_PA, REST_C = 101325.0, 25.0
SUPPLY_TENTH_V = 120
MOTOR_C = 25
"""Heat of these motors is not modelled."""


@dataclass(frozen=True, kw_only=True, eq=False)
class BoardReading:
    """Everything the board tells: what a state packet carries."""

    systime_us: int
    pressures: IntArray
    """Published counts of the barometers, in the packet's order. Shape (38,)."""
    temperatures: IntArray
    encoders: IntArray
    """Shape (3,)."""
    errors: IntArray
    """Of the motors, as the fields below. Shape (4,)."""
    angles: IntArray
    speeds: IntArray
    loads: IntArray
    volts: IntArray
    temps: IntArray


def is_reflex(spec: HandSpec) -> bool:
    """Whether a hand has the motors that these counts are about."""
    return spec.actuator_names == MOTORS


def temperature_counts(die_c: ArrayLike) -> IntArray:
    """The ten bits of a barometer's temperature."""
    return _whole(_temperature(die_c), 0, _FULL)


def pressure_counts(die_pa: ArrayLike, die_c: ArrayLike) -> IntArray:
    """The ten bits of a barometer's pressure; they fall as the pressure rises."""
    t = _temperature(die_c)
    compensated = (np.asarray(die_pa) / 1e3 - 50.0) * _FULL / 65.0
    return _whole((compensated - _A0 - _B2 * t) / (_B1 + _C12 * t), 0, _FULL)


def die_pressure_pa(pressure: ArrayLike, temperature: ArrayLike) -> FloatArray:
    """Absolute pressure from ten bits each, by the maker's formula [Pa]."""
    p, t = np.asarray(pressure, dtype=np.float64), np.asarray(temperature, dtype=np.float64)
    return 1e3 * (65.0 / _FULL * (_A0 + (_B1 + _C12 * t) * p + _B2 * t) + 50.0)


def published_counts(pressure: ArrayLike) -> IntArray:
    """What the firmware makes of the ten bits: the upper eight, turned round, with small wraps carried over."""
    upper = np.asarray(pressure, dtype=np.int64) >> 2
    return 510 - np.where(upper < 200, upper + 255, upper)


def motor_counts(angle_rad: ArrayLike) -> IntArray:
    """Counts of the motors' angles."""
    return _whole(INVERTED * np.asarray(angle_rad) * GEAR / ANGLE_RAD + MOTOR_AT_ZERO, 0, 0xFFFF)


def motor_angle_rad(raw: ArrayLike) -> FloatArray:
    """True angle of each spool from its motor's counts [rad]."""
    return joint_angle_rad(raw, MOTOR_AT_ZERO * ANGLE_RAD / GEAR)


def joint_angle_rad(raw: ArrayLike, zero_rad: ArrayLike) -> FloatArray:
    """What a driver takes the angle for, by the zeros it knows [rad]."""
    return INVERTED * (np.asarray(raw) * ANGLE_RAD / GEAR - np.asarray(zero_rad))


def target_counts(angle_rad: ArrayLike, zero_rad: ArrayLike) -> FloatArray:
    """Counts a driver sends for an angle; NaN where there is none. Fractions of a count are cut off, as it does."""
    counts = (INVERTED * np.asarray(angle_rad) + np.asarray(zero_rad)) * GEAR / ANGLE_RAD
    return np.clip(np.trunc(counts), 0.0, MAX_ANGLE)


def speed_counts(speed_rad_s: ArrayLike) -> IntArray:
    """Counts of speeds: ten bits and a sign, which is that of the motor's shaft."""
    return _signed(INVERTED * np.asarray(speed_rad_s) * GEAR / SPEED_RAD_S)


def driven_speed_rad_s(speed_rad_s: ArrayLike) -> FloatArray:
    """The speed a motor gets from the driver: whole counts and never none, which would be top speed [rad/s]."""
    size = np.trunc(np.abs(speed_rad_s) * GEAR / SPEED_RAD_S)
    return np.clip(size, 1.0, FULL_LOAD) * SPEED_RAD_S / GEAR


def speed_rad_s(raw: ArrayLike) -> FloatArray:
    """Size of a speed a motor is given; 0 means as fast as it can [rad/s]."""
    size = np.asarray(raw, dtype=np.int64) % SIGN_BIT
    return np.where(size == 0, FULL_LOAD, size) * SPEED_RAD_S / GEAR


def load_counts(load: ArrayLike) -> IntArray:
    """Counts of loads, which are positive while closing meets something; 1023 is all a motor can do."""
    turned = np.clip(np.rint(INVERTED * np.asarray(load)), -FULL_LOAD, FULL_LOAD).astype(np.int64)
    return np.where(turned > 0, turned + FULL_LOAD, -turned)


def signed_load(raw: ArrayLike) -> FloatArray:
    """The same load back, as the driver reads it."""
    counts = np.asarray(raw, dtype=np.float64)
    return INVERTED * np.where(counts > FULL_LOAD, counts - FULL_LOAD, -counts)


def encoder_counts(proximal_rad: ArrayLike) -> IntArray:
    """Fourteen bits of the encoders; they fall as a finger closes and start again at the top below zero."""
    counts = np.rint(ENCODER_AT_ZERO - np.asarray(proximal_rad) / ENCODER_RAD).astype(np.int64)
    return counts % ENCODER_TURN


def read_board(
    state: HandState, effort_nm: FloatArray, die_pa: ArrayLike = REST_PA, die_c: ArrayLike = REST_C
) -> BoardReading:
    """What the board would tell about a hand.

    Args:
        state: The hand's state.
        effort_nm: Largest torque of each motor [N m].
        die_pa: Absolute pressure at every cell's die, finger after finger from its base, then the palm [Pa].
        die_c: Temperature of every cell's die [degrees Celsius].
    """
    joints = dict(zip(state.joint_names, state.joint_rad, strict=True))
    die_pa, die_c = (np.broadcast_to(values, CELLS)[PACKET_ORDER] for values in (die_pa, die_c))
    return BoardReading(
        systime_us=round(state.stamp_s * 1e6) % 2**32,
        pressures=published_counts(pressure_counts(die_pa, die_c)),
        temperatures=temperature_counts(die_c),
        encoders=encoder_counts([joints[name] for name in PROXIMAL]),
        errors=np.where(state.error != 0, 0x20, 0),  # the Dynamixel's own word for overload, the only one it would say
        angles=motor_counts(state.angle_rad),
        speeds=speed_counts(state.velocity_rad_s),
        loads=load_counts(state.torque_nm / effort_nm * FULL_LOAD),
        volts=np.full(4, SUPPLY_TENTH_V),
        temps=np.full(4, MOTOR_C),
    )


def _temperature(die_c: ArrayLike) -> FloatArray:
    return _T_25C + _T_PER_C * (np.asarray(die_c, dtype=np.float64) - 25.0)


def _signed(counts: FloatArray) -> IntArray:
    size = _whole(np.abs(counts), 0, FULL_LOAD)
    return np.where((counts < 0.0) & (size > 0), size + SIGN_BIT, size)


def _whole(values: ArrayLike, lowest: int, highest: int) -> IntArray:
    return np.clip(np.rint(values), lowest, highest).astype(np.int64)
