"""What standing and driving motors tell by themselves: noise, backlash, spring, current, friction and heat."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numba as nb
import numpy as np

from thenar.arrays import BoolArray, FloatArray
from thenar.sim.identify.moves import Move, Track, smooth, stands
from thenar.sim.identify.screw_fit import ScrewFit
from thenar.sim.identify.spring import Spring, load_of, slope, stretch

MAX_REST_S = 1.5
MILLIAMPERE = 0.001  # currents are whole ones
ROUNDED_C = 1.0  # temperatures are whole degrees
MIN_CHANGES = 8  # of the temperature's last digit
MAX_CONDITION, MAX_LOGARITHM = 1e10, 20.0  # of what tells the heat, and of half its interval: more is no knowledge
METHOD_ERROR = 0.005  # of the current per newton: forces are not read at the very instant of the current
EVEN = 9  # readings over which the force of an unloaded motor is smoothed
FAR_FROM_LIMIT = 0.9  # of a force limit: less than that has not ended a motion
AFTER_START = 6  # readings in which a finger still swings
MIN_EITHER_WAY, MIN_SPEEDS = 60, 0.2  # readings of a finger that goes one way; strokes a second from slow to fast
FRICTION_ERROR_N = 0.002  # of the method: a weight is no cubic of the posture
MIN_STANDING, MIN_STANDING_N = 6, 0.25  # standings under load that tell a spring, and what counts as one [N]
STANDING_SPAN = 3.0  # from the smallest of their loads to the largest
DIGIT, MIN_SPREAD = 0.001, 1e-4  # strokes: angles and targets are whole thousandths
DRIVEN = 0.9  # of the commanded speed: the motor is up to speed


@dataclass(frozen=True, kw_only=True)
class Estimate:
    """A number and its 95 % interval."""

    value: float
    low: float
    high: float

    @property
    def half_width(self) -> float:
        """Half of the interval."""
        return 0.5 * (self.high - self.low)


def estimate(value: float, deviation: float, degrees: float = np.inf) -> Estimate:
    """An estimate from its standard error; few degrees of freedom widen it."""
    half = student(degrees) * deviation
    return Estimate(value=value, low=value - half, high=value + half)


def student(degrees: float) -> float:
    """The 97.5 % point of Student's distribution (Cornish and Fisher's expansion)."""
    z, n = 1.959964, max(degrees, 1.0)
    return z + (z**3 + z) / (4 * n) + (5 * z**5 + 16 * z**3 + 3 * z) / (96 * n**2)


@dataclass(frozen=True, kw_only=True, eq=False)
class Rest:
    """Readings of a motor that stands where it was sent."""

    target: float
    direction: float
    """+1 where it came by closing, -1 by opening."""
    travel: float
    """How far it was sent from where it had arrived, in strokes; 0 where it had not."""
    reached: bool
    """Whether no force limit ended its way: then the screw stands on its target."""
    first: bool
    """Whether nothing is known of what was before."""
    closed: FloatArray
    force_n: FloatArray
    current_a: FloatArray


def find_rests(moves: Sequence[Move]) -> list[Rest]:
    """Where the motor stood at the end of its moves."""
    rests, before, arrived = [], None, False
    for k, move in enumerate(moves):
        track, last = move.track, move.commands.stop - 1
        if k and track is not moves[k - 1].track:  # where it stood at the end of another recording says nothing
            before, arrived = None, False
        following = moves[k + 1] if k + 1 < len(moves) and moves[k + 1].track is track else None
        until_s = float(track.command_s[following.commands.start] if following else track.stamp_s[-1])
        target = float(track.target[last])
        direction = float(np.sign(target - before)) if before is not None else 0.0
        force, limit_n = smooth(track.force_n[move.rows], 3), float(track.limit_n[move.commands].min())
        reached = direction < 0.0 or bool(force.max() < FAR_FROM_LIMIT * limit_n)
        if stands(track, until_s):
            first_s = max(until_s - MAX_REST_S, move.stamp_s[0])
            span = slice(*np.searchsorted(track.stamp_s, (first_s, until_s)))
            span = slice(span.start + _still_from(track.closed[span], track.force_n[span]), span.stop)
            rests.append(
                Rest(
                    target=target,
                    direction=direction,
                    travel=abs(target - before) if before is not None and arrived else 0.0,
                    reached=reached,
                    first=before is None,
                    closed=track.closed[span],
                    force_n=track.force_n[span],
                    current_a=track.current_a[span],
                )
            )
        if direction or before is None:
            before = target
        arrived = reached
    return rests


def noise_of(rests: Sequence[Rest]) -> tuple[Estimate, Estimate]:
    """Noise of angle (closing fraction) and force [N] while standing, whole digits taken off."""
    found = []
    for name in ("closed", "force_n"):
        # From one reading to the next: a finger that creeps while it stands is no noise.
        parts = [np.diff(getattr(rest, name)) for rest in rests if len(rest.closed) > 2]
        own = np.array([0.5 * float(np.mean(part**2)) for part in parts])
        weight = np.array([float(len(part)) for part in parts])
        count = max(float(weight.sum()), 1.0)
        weight /= count
        values = np.unique(np.round(np.concatenate([getattr(rest, name) for rest in rests]), 9))
        digit = float(np.diff(values).min()) if len(values) > 1 else 0.0
        variance = float(weight @ own)
        value = max(variance - digit**2 / 12.0, 0.0) ** 0.5
        deviation = variance * (3.0 / count) ** 0.5 / 2.0 / max(value, 1e-12)  # von Neumann, 1941
        # Rests differ by more than chance: digits round each of them in their own way.
        scattered = float(np.sqrt(np.sum((weight * (own - variance)) ** 2))) / (2.0 * max(value, 1e-12))
        found.append(estimate(value, max(deviation, scattered), len(own) - 1))
    return found[0], found[1]


def fit_backlash(
    rests: Sequence[Rest], linear_n: float, cubic_n: float, zero_n: float, offset_n: float
) -> Estimate | None:
    """How far apart the motor stands at the same target when it comes from both sides, in strokes."""
    sides: dict[float, list[float]] = {1.0: [], -1.0: []}
    variance: dict[float, list[float]] = {1.0: [], -1.0: []}
    for rest in rests:
        if rest.direction:
            load = load_of(rest.force_n, zero_n, offset_n)
            off = rest.closed + stretch(load, linear_n, cubic_n) - rest.target
            if abs(off.mean()) < 0.03 and np.abs(load).mean() < 0.5:
                sides[rest.direction].append(float(off.mean()))
                variance[rest.direction].append(float(off.var()) / len(off))
    closing, opening = (np.array(sides[side]) for side in (1.0, -1.0))
    if min(len(closing), len(opening)) < 4:
        return None
    error = [
        max(np.var(part, ddof=1), np.mean(variance[side])) / len(part)
        for side, part in ((1.0, closing), (-1.0, opening))
    ]
    value = max(float(opening.mean() - closing.mean()), 0.0)
    return estimate(value, float(np.sqrt(sum(error))), len(closing) + len(opening) - 2)


def fit_spring(
    rests: Sequence[Rest], start: FloatArray, zero: Estimate, backlash: Estimate, offset_n: float
) -> Spring | None:
    """The spring from where a motor stands under load: its screw is on its target, its finger where it is read.

    Args:
        rests: Where it stood, in order.
        start: Linear and cubic part to begin with.
        zero: Zero of its force sensor [N].
        backlash: Its lost motion, in strokes.
        offset_n: See `LeadScrew.loaded_offset_n`.
    """
    first = np.array([*np.log(start), zero.value, backlash.value, 0.0])
    # A finger that is held up stands between two digits for as long as that, and only noise tells where.
    jitter = float(np.median([rest.closed.std() for rest in rests])) / DIGIT
    held = max(DIGIT / 12.0**0.5 * np.exp(-2.0 * (np.pi * jitter) ** 2), 5e-5)
    priors = np.array([np.inf, np.inf, zero.half_width / 1.96 + 1e-4, backlash.half_width / 1.96 + 1e-5, held])
    value, wrong, slopes, covariance = first, np.zeros(0), np.zeros((0, 5)), np.eye(5)
    for _ in range(8):
        points = np.array(_standing(rests, value, offset_n)).reshape(-1, 8)
        if len(points) < MIN_STANDING or points[:, 2].max() < STANDING_SPAN * points[:, 2].min():
            return None
        wrong, slopes = points[:, 0] / points[:, 1], points[:, 3:] / points[:, 1:2]
        known = np.isfinite(priors)
        normal = slopes.T @ slopes
        normal[known, known] += priors[known] ** -2.0
        pull = slopes.T @ wrong
        pull[known] += (value - first)[known] / priors[known] ** 2
        covariance = np.asarray(np.linalg.inv(normal), dtype=np.float64)
        value = value - np.clip(covariance @ pull, -0.3, 0.3)
    scale = max(float(np.sum(wrong**2)) / max(len(wrong) - 2, 1), 1.0)
    spring = np.exp(value[:2])
    sizes = np.append(spring, 1.0)
    # What is not known of the zero does not scatter from standing to standing.
    spread = np.diag([scale**0.5, scale**0.5, 1.0])
    return Spring(
        value=spring,
        zero_n=float(value[2]),
        covariance=spread @ covariance[:3, :3] @ spread * np.outer(sizes, sizes),
        degrees=len(wrong) - 2.0,
    )


def _standing(rests: Sequence[Rest], value: FloatArray, offset_n: float) -> list[tuple[float, ...]]:
    """Of each standing under load: what is wrong, its spread, the load, and the slopes of what is wrong."""
    (linear_n, cubic_n), zero_n, backlash = np.exp(value[:2]), float(value[2]), float(value[3])
    rows, screw, play = [], None, 0.0  # the nut is ahead of the screw by `play` backlashes
    for rest in rests:
        if rest.first:
            screw = None
        load = load_of(rest.force_n, zero_n, offset_n)
        x = float(stretch(np.array(load.mean()), linear_n, cubic_n))
        if not rest.reached:
            screw, play = float(rest.closed.mean()) + x, -0.5  # about, and it came by closing
            continue
        if screw is not None:
            play = float(np.clip(play + (screw - rest.target) / max(backlash, 1e-9), -0.5, 0.5))
        if screw is not None and load.mean() > MIN_STANDING_N:
            stiff = float(slope(np.array(x), linear_n, cubic_n))
            count = len(rest.closed)
            spread = np.sqrt(rest.closed.var() / count + rest.force_n.var() / count / stiff**2 + MIN_SPREAD**2)
            off = rest.target + play * backlash - float(rest.closed.mean()) - x - value[4]
            slopes = linear_n * x / stiff, cubic_n * x**3 / stiff, -1.0 / stiff, play, -1.0
            rows.append((off, spread, float(load.mean()), *slopes))
        screw = rest.target
    return rows


def fit_current(rests: Sequence[Rest], fit: ScrewFit, zero_n: float, offset_n: float) -> dict[str, Estimate | None]:
    """Current of a motor that stands, that turns, and per newton against which it turns."""
    found: dict[str, Estimate | None] = {"idle_a": None, "drive_a": None, "amps_per_n": None}
    still = [
        float(rest.current_a.mean()) for rest in rests if np.isfinite(rest.current_a).all() and len(rest.current_a)
    ]
    if len(still) < 3:
        return found
    digit = 0.5 * MILLIAMPERE / 1.96  # a standing motor reads the same whole number at every rest
    found["idle_a"] = estimate(float(np.mean(still)), max(float(np.std(still)) / len(still) ** 0.5, digit))
    noise_n2 = float(np.mean([rest.force_n.var() for rest in rests]))
    loads, amps, groups, blurs = [], [], [], []
    for k, (start, path) in enumerate(zip(fit.starts, fit.path, strict=True)):
        move, velocity = start.move, path.speed
        raw, even = move.track.force_n[move.rows], smooth(move.track.force_n[move.rows], EVEN)
        load = load_of(np.where(start.loaded, raw, even), zero_n, offset_n)
        if start.loaded.any():
            driven = np.abs(velocity) > DRIVEN * fit.value[0] * move.track.speed[move.commands].max() * 0.5
            driven &= np.abs(np.gradient(velocity)) < 0.02 * fit.value[0]
            driven[:2] = driven[-2:] = False
        else:
            driven = _steady(velocity, fit.value[0] * move.track.speed[move.commands].max())
        against = load * np.sign(velocity)
        loads.append(against[driven])
        blurs.append(np.where(start.loaded, noise_n2, noise_n2 / EVEN)[driven])
        amps.append(move.track.current_a[move.rows][driven])
        groups.append(np.full(int(driven.sum()), k))
    load, current, group, blur = (np.concatenate(parts) for parts in (loads, amps, groups, blurs))
    told = np.isfinite(current)
    load, current, group, blur = np.maximum(load[told], 0.0), current[told], group[told], blur[told]
    if len(load) < 20:
        return found
    pressing = load > 0.6
    matrix = np.stack([np.ones(len(load)), load], axis=1)
    if pressing.sum() < 20:
        matrix = matrix[:, :1]
    normal = matrix.T @ matrix
    if normal.shape[0] > 1:
        normal[1, 1] -= blur.sum()  # noise of the load alone would make the slope look flatter
    inverse = np.linalg.inv(normal)
    values = inverse @ (matrix.T @ current)
    wrong = current - matrix @ values
    scores = [matrix[group == k].T @ wrong[group == k] for k in np.unique(group)]
    meat = sum(np.outer(score, score) for score in scores)
    spread = np.sqrt(np.diag(inverse @ meat @ inverse)) * np.sqrt(len(scores) / max(len(scores) - 2, 1))
    idle = found["idle_a"]
    assert idle is not None
    drive_error = float(np.hypot(spread[0], max(idle.half_width / 1.96, MILLIAMPERE / 12**0.5)))
    found["drive_a"] = estimate(float(values[0]) - idle.value, drive_error)
    if len(values) > 1:
        error = float(np.hypot(spread[1], METHOD_ERROR * values[1]))
        found["amps_per_n"] = estimate(float(values[1]), error, len(scores) - 2)
    return found


def fit_friction(fit: ScrewFit, zero_n: float, offset_n: float) -> Estimate | None:
    """Force that a free finger takes more while it closes than while it opens, half of it [N].

    What it weighs depends on its posture alone, and what is viscous on its speed: both are fitted beside it.
    """
    rows, loads, groups = [], [], []
    for k, (start, path) in enumerate(zip(fit.starts, fit.path, strict=True)):
        if start.loaded.any():
            continue
        move = start.move
        driven = _steady(path.speed, fit.value[0] * move.track.speed[move.commands].max())
        at, speed = move.track.closed[move.rows][driven], path.speed[driven]
        rows.append(np.stack([np.sign(speed), speed, np.ones_like(at), at, at**2, at**3], axis=1))
        loads.append(load_of(move.track.force_n[move.rows][driven], zero_n, offset_n))
        groups.append(np.full(len(at), k))
    if not rows:
        return None
    matrix, load, group = np.concatenate(rows), np.concatenate(loads), np.concatenate(groups)
    either = min(np.sum(matrix[:, 0] > 0.0), np.sum(matrix[:, 0] < 0.0))
    if either < MIN_EITHER_WAY or np.ptp(np.abs(matrix[:, 1])) < MIN_SPEEDS:
        return None
    inverse = np.linalg.pinv(matrix.T @ matrix)
    values = inverse @ (matrix.T @ load)
    wrong = load - matrix @ values
    scores = np.array([matrix[group == k].T @ wrong[group == k] for k in np.unique(group)])
    count = len(scores)
    error = np.sqrt((inverse @ (scores.T @ scores) @ inverse)[0, 0] * count / max(count - matrix.shape[1], 1))
    error = float(np.hypot(error, FRICTION_ERROR_N))
    return estimate(max(float(values[0]), 0.0), error, count - matrix.shape[1])


def _steady(speed: FloatArray, commanded: float) -> BoolArray:
    """Readings of a screw that goes at a speed of its own, neither faster nor slower by and by."""
    driven = np.abs(speed) > 0.5 * DRIVEN * commanded
    driven &= np.abs(np.gradient(speed)) < 0.02 * commanded
    driven[:AFTER_START] = driven[-2:] = False
    changes = np.flatnonzero(~driven)
    for k in range(1, AFTER_START):  # the finger swings after its screw is up to speed
        driven[np.minimum(changes + k, len(driven) - 1)] = False
    return driven


def fit_heat(tracks: Sequence[Track]) -> dict[str, Estimate | None]:
    """Steady warmth per squared ampere and the time constant, from temperatures in whole degrees."""
    nothing: dict[str, Estimate | None] = {"heating_c_per_a2": None, "cooling_s": None}
    usable = [
        track for track in tracks if np.isfinite(track.temperature_c).all() and np.isfinite(track.current_a).all()
    ]
    changes = sum(int(np.count_nonzero(np.diff(track.temperature_c))) for track in usable)
    if changes < MIN_CHANGES:
        return nothing
    value = np.array([250.0, 60.0])
    for _ in range(20):
        wrong, slopes = _heat_residuals(usable, value)
        step = np.linalg.lstsq(slopes, -wrong, rcond=None)[0]
        value = value * np.exp(np.clip(step, -0.5, 0.5))
    wrong, slopes = _heat_residuals(usable, value)
    normal = slopes.T @ slopes
    if not np.linalg.cond(normal) < MAX_CONDITION:  # it got warm, but not by a current that this wire tells
        return nothing
    # Digits, not readings, are independent.
    scale = max(float(np.mean(wrong**2)), ROUNDED_C**2 / 12.0) * len(wrong) / max(changes, 1)
    covariance = np.linalg.inv(normal) * scale
    found = dict(nothing)
    for k, name in enumerate(found):
        half = min(student(changes - 2) * float(np.sqrt(covariance[k, k])), MAX_LOGARITHM)
        found[name] = Estimate(value=float(value[k]), low=value[k] * np.exp(-half), high=value[k] * np.exp(half))
    return found


def _heat_residuals(tracks: Sequence[Track], value: FloatArray) -> tuple[FloatArray, FloatArray]:
    wrong, slopes = [], []
    for track in tracks:
        base = _temperatures(track, value)
        rows = slice(None, None, 50)
        near = [_temperatures(track, value * np.exp(0.01 * np.eye(2)[k])) for k in range(2)]
        # The temperature at its beginning is not known to a digit either.
        fade = np.exp(-(track.stamp_s - track.stamp_s[0]) / value[1])[rows]
        columns = np.stack([fade, *((one - base)[rows] / 0.01 for one in near)], axis=1)
        off = (base - track.temperature_c)[rows]
        clear = fade / np.linalg.norm(fade)
        columns = columns[:, 1:] - np.outer(clear, clear @ columns[:, 1:])
        wrong.append(off - clear * (clear @ off))
        slopes.append(columns)
    return np.concatenate(wrong), np.concatenate(slopes)


def _temperatures(track: Track, value: FloatArray) -> FloatArray:
    """Temperatures by the currents, about the room's [C]."""
    keep = np.exp(-np.diff(track.stamp_s, prepend=track.stamp_s[0]) / value[1])
    return _relax(25.0 + value[0] * track.current_a**2, keep, float(track.temperature_c[0]))


@nb.njit(cache=True)
def _relax(goal: FloatArray, keep: FloatArray, first: float) -> FloatArray:
    out, now = np.empty(len(goal)), first
    for k in range(len(goal)):
        now = goal[k] + (now - goal[k]) * keep[k]
        out[k] = now
    return out


def _still_from(closed: FloatArray, force_n: FloatArray) -> int:
    """From where on readings belong to a motor that stands."""
    width = 8
    if len(closed) < 3 * width:
        return 0
    final, load = closed[-width:].mean(), force_n[-width:].mean()
    off = (np.abs(smooth(closed, width | 1) - final) > 0.004) | (np.abs(smooth(force_n, width | 1) - load) > 0.15)
    bad = np.flatnonzero(off)
    return 0 if not bad.size else min(int(bad[-1]) + width, len(closed) - width)
