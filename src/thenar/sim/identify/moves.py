"""A recording of one motor as moves: what it was told while it stood, and what it read until it stood again."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from thenar.arrays import FloatArray
from thenar.errors import BadValue
from thenar.hands.spec import Actuator, LeadScrew

REST_S = 0.3  # commands further apart than this belong to different moves, if the motor stands between them
SETTLE_S = 0.35  # after the last of its way a move is watched for so long
STAND_S = 0.2  # standing is looked at for so long,
STAND_CLOSED, STAND_N = 0.004, 0.15  # in which neither angle nor force may change by more
PARABOLA = np.array([-3.0, 12.0, 17.0, 12.0, -3.0]) / 35.0  # Savitzky and Golay, 1964
OWN_DELAYS = 24  # commands of a move, at most, that each have a delay of their own


@dataclass(frozen=True, kw_only=True, eq=False)
class Track:
    """What one motor read and was told, in closing fractions and newtons. Shapes (T,) and (C,)."""

    stamp_s: FloatArray
    closed: FloatArray
    force_n: FloatArray
    current_a: FloatArray
    temperature_c: FloatArray
    command_s: FloatArray
    target: FloatArray
    speed: FloatArray
    """Fraction of the top speed that the catalogue has."""
    limit_n: FloatArray


@dataclass(frozen=True, kw_only=True, eq=False)
class Move:
    """One stretch of a track, from standing to standing."""

    track: Track
    rows: slice
    commands: slice
    rest: slice
    """Readings before it, while the motor stands; may be empty."""

    @property
    def stamp_s(self) -> FloatArray:
        """Times of its readings [s]."""
        return self.track.stamp_s[self.rows]

    @property
    def delays(self) -> int:
        """How many delays its commands have."""
        count = self.commands.stop - self.commands.start
        return count if count <= OWN_DELAYS else 1


def make_track(
    actuator: Actuator,
    *,
    stamp_s: FloatArray,
    angle_rad: FloatArray,
    force_n: FloatArray,
    current_a: FloatArray,
    temperature_c: FloatArray,
    command_s: FloatArray,
    target_rad: FloatArray,
    speed_rad_s: FloatArray,
    limit_n: FloatArray,
) -> Track:
    """A track from readings and commands in radians; NaN in a command keeps what was before."""
    if not isinstance(actuator.motor, LeadScrew):
        raise BadValue("motor", actuator.name, "a lead screw, as inspire_right has; nothing else is identified yet")
    if np.any(np.diff(stamp_s) <= 0.0):
        keep = np.concatenate([[True], stamp_s[1:] > np.maximum.accumulate(stamp_s)[:-1]])
        stamp_s, angle_rad, force_n, current_a, temperature_c = (
            array[keep] for array in (stamp_s, angle_rad, force_n, current_a, temperature_c)
        )
    span = actuator.closed_rad - actuator.open_rad
    first = (float(angle_rad[0]), actuator.top_speed_rad_s, actuator.motor.default_force_n)
    target, speed, limit = (
        _held(values, start) for values, start in zip((target_rad, speed_rad_s, limit_n), first, strict=True)
    )
    return Track(
        stamp_s=stamp_s,
        closed=(angle_rad - actuator.open_rad) / span,
        force_n=force_n,
        current_a=current_a,
        temperature_c=temperature_c,
        command_s=command_s,
        target=(np.clip(target, actuator.lower_rad, actuator.upper_rad) - actuator.open_rad) / span,
        speed=np.minimum(speed / actuator.top_speed_rad_s, 1.0),
        limit_n=np.minimum(limit, actuator.motor.force_max_n),
    )


def split_moves(track: Track, *, top_speed: float) -> list[Move]:
    """Moves of a track, in order.

    Args:
        track: The recording.
        top_speed: About how fast the motor is [1/s].
    """
    moves = []
    times, count = track.command_s, len(track.command_s)
    k = 0
    while k < count:
        last = k
        while last + 1 < count and not (times[last + 1] - times[last] > REST_S and stands(track, times[last + 1])):
            last += 1
        end_s = times[last] + _travel_s(track, last, 1.0 / top_speed) + SETTLE_S
        if last + 1 < count:
            end_s = min(end_s, times[last + 1])
        rows = slice(*np.searchsorted(track.stamp_s, (times[k], end_s)))
        rest = slice(int(np.searchsorted(track.stamp_s, times[k] - STAND_S)), rows.start)
        if rows.stop - rows.start > 3:
            moves.append(Move(track=track, rows=rows, commands=slice(k, last + 1), rest=rest))
        k = last + 1
    return moves


def stands(track: Track, before_s: float) -> bool:
    """Whether the motor stood still just before a time."""
    first, last = np.searchsorted(track.stamp_s, (before_s - STAND_S, before_s))
    if last - first < 4:
        return False
    early, late = slice(first, (first + last) // 2), slice((first + last) // 2, last)
    turned = abs(track.closed[late].mean() - track.closed[early].mean())
    return bool(turned < STAND_CLOSED and abs(track.force_n[late].mean() - track.force_n[early].mean()) < STAND_N)


def _travel_s(track: Track, k: int, full_s: float) -> float:
    """How long a motor may be on its way after a command [s]."""
    before = track.target[k - 1] if k else track.closed[0]
    distance = abs(track.target[k] - before)
    return 0.15 + 1.3 * full_s * distance / max(float(track.speed[k]), 0.01)


def _held(values: FloatArray, first: float) -> FloatArray:
    """Values in which NaN is what was before."""
    known = np.concatenate([[first], values])
    index = np.where(np.isnan(known), 0, np.arange(len(known)))
    return known[np.maximum.accumulate(index)][1:]


def smooth(values: FloatArray, width: int) -> FloatArray:
    """Mean of each reading and its neighbours."""
    if len(values) < width:
        return values.copy()
    padded = np.pad(values, width // 2, mode="edge")
    return np.convolve(padded, np.full(width, 1.0 / width), mode="valid")


def smooth_curve(values: FloatArray) -> FloatArray:
    """The parabola through each reading and two neighbours on both sides: a mean would lift what bends upwards."""
    if len(values) < len(PARABOLA):
        return values.copy()
    return np.convolve(np.pad(values, len(PARABOLA) // 2, mode="edge"), PARABOLA, mode="valid")
