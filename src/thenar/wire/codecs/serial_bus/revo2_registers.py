"""Registers of a BrainCo Revo 2 with capacitive fingertips: what is read from them, and what a write asks.

An address counts words of 16 bits. Positions and speeds run from 0 to 1000, or in the physical unit mode in 0.1 degrees
and degrees a second; currents are milliamperes. Fingers of the touch registers: thumb, index, middle, ring, pinky.
Ref: the register names and what `bc-stark-sdk` 2.0.8 sends.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from thenar.arrays import FloatArray
from thenar.hands.spec import HandSpec, Servo
from thenar.signals import HandCommand, HandState, MotorStatus, TouchFrame
from thenar.wire.codecs.unitree.brainco_codec import FULL_CURRENT_A, currents_a, fractions

SIZE = 4400
"""Words from address 0 on; those without a name in `AREAS` are not there."""
SKU, PROTECTED_MA, UNIT_MODE, MAX_POSITION, MAX_SPEED, MAX_CURRENT, TOUCH_VENDOR = 901, 930, 937, 952, 958, 964, 970
TIMED, PACED, SPEEDS, CURRENTS, PWM = 1010, 1022, 1034, 1040, 1046
TIMED_ONE, PACED_ONE, SPEED_ONE, CURRENT_ONE, PWM_ONE = 1052, 1055, 1058, 1060, 1062
STATUS, FIRMWARE, SERIAL = 2000, 3000, 3010
TOUCH_ON, TOUCH, PROXIMITY, TOUCH_ONE, TOUCH_RAW = 4000, 4200, 4215, 4250, 4300

AREAS = (
    *((900, 7), (920, 10), (930, 41), (980, 7), (1000, 4), (1009, 91), (2000, 26), (3000, 20), (4000, 15)),
    *((4100, 50), (4200, 30), (4250, 30), (4300, 60)),
)
"""First word and length of every part that can be read."""
WRITABLE = ((900, 51), (980, 7), (1000, 100), (4000, 15))

FIRMWARE_TEXT, MOTORS, FINGERS = "1.0.14.U", 6, 5
MAX_POSITION_DEG = (60, 87, 84, 84, 84, 84)  # the SDK's own defaults
DEFAULT_PROTECTED_MA = 1000
NO_DIRECTION = 0xFFFF
COUNTS_PER_N = 100.0  # from the scale of the maker's monitor
MAX_COUNTS = 2500
PROXIMITY_COUNTS = 1000  # where something touches, falling straight to 0 at the sensor's range; assumed
IDLE, RUNNING, STALLED = 0, 1, 2
MOVING = 0.02  # faster than this fraction of the top speed is running

_FOR_ONE = {TIMED_ONE: TIMED, PACED_ONE: PACED, SPEED_ONE: SPEEDS, CURRENT_ONE: CURRENTS, PWM_ONE: PWM}
"""Registers for one finger, and those for all that do the same."""

Words = NDArray[np.uint16]


def power_on(spec: HandSpec) -> Words:
    """The registers of a hand that was just switched on."""
    words = np.zeros(SIZE, np.uint16)
    right = spec.side == "right"
    words[SKU], words[TOUCH_VENDOR] = 1 if right else 2, 1
    words[PROTECTED_MA : PROTECTED_MA + MOTORS] = DEFAULT_PROTECTED_MA
    words[MAX_POSITION : MAX_POSITION + MOTORS] = MAX_POSITION_DEG
    words[MAX_SPEED : MAX_SPEED + MOTORS] = np.rint(np.degrees(spec.top_speed_rad_s))
    words[MAX_CURRENT : MAX_CURRENT + MOTORS] = round(1000 * FULL_CURRENT_A)
    words[TOUCH_ON : TOUCH_ON + FINGERS] = 1
    for address, text in ((FIRMWARE, FIRMWARE_TEXT), (SERIAL, f"BCXT{'R' if right else 'L'}0000000001")):
        words[address : address + 10] = np.frombuffer(text.encode().ljust(20, b"\0"), ">u2")
    return words


def is_within(areas: Sequence[tuple[int, int]], address: int, count: int) -> bool:
    """Whether words lie in one of these parts."""
    return any(first <= address and address + count <= first + length for first, length in areas)


def store_state(words: Words, spec: HandSpec, state: HandState) -> None:
    """Put what the motors report into the registers."""
    closed, speed = fractions(spec, state), state.velocity_rad_s / spec.top_speed_rad_s
    running, stalled = np.abs(speed) > MOVING, state.status == MotorStatus.FORCE_REACHED
    if words[UNIT_MODE]:
        position, pace = np.degrees(state.angle_rad) * 10.0, np.degrees(state.velocity_rad_s)
    else:
        position, pace = 1000.0 * closed, 1000.0 * speed
    rows = (
        position,
        pace,
        1000.0 * currents_a(spec, state),
        np.where(stalled, STALLED, np.where(running, RUNNING, IDLE)),
    )
    words[STATUS : STATUS + 4 * MOTORS] = np.rint(np.concatenate(rows)).astype(np.int16).view(np.uint16)


def store_touch(words: Words, spec: HandSpec, frame: TouchFrame) -> None:
    """Put what the fingertips feel into the registers; those that are switched off read 0."""
    for n, pad in enumerate(spec.pads):
        area = pad.row_pitch_m * pad.col_pitch_m
        raw = COUNTS_PER_N * area * frame[pad.name].ravel()
        shear = COUNTS_PER_N * area * frame.shear[pad.name].reshape(-1, 2).sum(axis=0)
        size = float(np.hypot(*shear))
        angle = round(math.degrees(math.atan2(shear[1], shear[0]))) % 360 if size >= 1.0 else NO_DIRECTION
        normal = COUNTS_PER_N * frame.force_n[pad.name]
        found = np.array([min(normal, MAX_COUNTS), min(size, MAX_COUNTS), angle])
        far = frame.proximity_m.get(pad.name, pad.proximity_range_m) / pad.proximity_range_m
        near = round(PROXIMITY_COUNTS * (1.0 - far))
        if not words[TOUCH_ON + n]:
            found, raw, near = np.zeros(3), np.zeros(raw.size), 0
        three = np.rint(found).astype(np.uint16)
        words[TOUCH + 3 * n : TOUCH + 3 * n + 3] = words[TOUCH_ONE + 6 * n : TOUCH_ONE + 6 * n + 3] = three
        # As the SDK reads them: of all fingers the high word first, of one finger alone all bytes the other way round.
        words[PROXIMITY + 2 * n : PROXIMITY + 2 * n + 2] = np.frombuffer(near.to_bytes(4, "big"), ">u2")
        words[TOUCH_ONE + 6 * n + 3 : TOUCH_ONE + 6 * n + 5] = np.frombuffer(near.to_bytes(4, "little"), ">u2")
        words[TOUCH_RAW + 12 * n : TOUCH_RAW + 12 * n + raw.size] = np.rint(np.minimum(raw, 0xFFFF))


def command_of(spec: HandSpec, words: Words, address: int, written: Words, angle_rad: FloatArray) -> HandCommand | None:
    """What a write asks of the motors; None where it asks nothing.

    Args:
        spec: The hand.
        words: Its registers.
        address: Of the first word written.
        written: The words.
        angle_rad: Where the motors are now [rad].
    """
    only = None
    if address in _FOR_ONE and written.size == 1 + (address in (TIMED_ONE, PACED_ONE)) + 1:
        only, written = int(written[0]), np.repeat(written[1:], MOTORS).reshape(-1, MOTORS).T.ravel()
        address = _FOR_ONE[address]
        if only >= MOTORS:
            return None
    target, speed, limit = np.full((3, MOTORS), np.nan)
    signed, top = written.view(np.int16).astype(np.float64), spec.top_speed_rad_s
    stroke = spec.closed_rad - spec.open_rad
    physical = bool(words[UNIT_MODE])
    match address, written.size:
        case (1010 | 1022, 12):
            target[:] = np.radians(signed[0::2] / 10.0) if physical else spec.open_rad + signed[0::2] / 1000.0 * stroke
            if address == PACED:
                speed[:] = np.radians(np.abs(signed[1::2])) if physical else np.abs(signed[1::2]) / 1000.0 * top
            else:
                speed[:] = np.minimum(np.abs(target - angle_rad) / np.maximum(written[1::2] / 1000.0, 1e-3), top)
        case (1070, 3):
            percent = written[:, None] >> np.array([0, 8]) & 0xFF  # two fingers a word, the first in the low byte
            target[:], speed[:] = spec.open_rad + np.minimum(percent.ravel(), 100) / 100.0 * stroke, top
        case (1034 | 1040 | 1046, 6):  # a speed, or a share of the full effort: towards closed or open
            target[:] = np.where(signed > 0.0, spec.closed_rad, np.where(signed < 0.0, spec.open_rad, angle_rad))
            if address == SPEEDS:
                speed[:] = np.radians(np.abs(signed)) if physical else np.abs(signed) / 1000.0 * top
            else:
                speed[:], limit[:] = top, np.minimum(np.abs(signed) / 1000.0, 1.0) * full_force_n(spec)
        case _:  # a part of the hand's settings, perhaps with limits of some motors in it
            place = PROTECTED_MA + np.arange(MOTORS) - address
            told = (place >= 0) & (place < written.size)
            if not told.any():
                return None
            share = np.minimum(written[place[told]] / 1000.0 / FULL_CURRENT_A, 1.0)
            limit[told] = share * full_force_n(spec)[told]
    if only is not None:
        for values in (target, speed, limit):
            values[np.arange(MOTORS) != only] = np.nan
    return HandCommand(target_rad=target, speed_rad_s=speed, force_limit_n=limit)


def full_force_n(spec: HandSpec) -> FloatArray:
    """Force of each motor at full effort [N]."""
    return np.array([a.motor.effort_nm / a.motor.lever_m for a in spec.actuators if isinstance(a.motor, Servo)])
