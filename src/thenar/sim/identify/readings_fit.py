"""What standing and driving motors tell by themselves: noise, zero, backlash, current and heat."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from thenar.arrays import FloatArray
from thenar.sim.identify.moves import Move, Track, smooth, stands
from thenar.sim.identify.screw_fit import ScrewFit
from thenar.sim.identify.spring import load_of, stretch

MAX_REST_S = 1.5
MILLIAMPERE = 0.001  # currents are whole ones
ROUNDED_C = 1.0  # temperatures are whole degrees
MIN_CHANGES = 8  # of the temperature's last digit
MIN_POSTURES = 5
END = 0.04  # of the stroke
WEIGHT_SPREAD = 0.3  # how far fingers may be from the catalogue's weight, as a share
METHOD_ERROR = 0.008  # of the current per newton: forces are not read at the very instant of the current
EVEN = 9  # readings over which the force of an unloaded motor is smoothed
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
    closed: FloatArray
    force_n: FloatArray
    current_a: FloatArray


def find_rests(moves: Sequence[Move]) -> list[Rest]:
    """Where the motor stood at the end of its moves."""
    rests, before = [], None
    for k, move in enumerate(moves):
        track, last = move.track, move.commands.stop - 1
        following = moves[k + 1] if k + 1 < len(moves) and moves[k + 1].track is track else None
        until_s = float(track.command_s[following.commands.start] if following else track.stamp_s[-1])
        target = float(track.target[last])
        direction = float(np.sign(target - before)) if before is not None else 0.0
        if stands(track, until_s):
            first_s = max(until_s - MAX_REST_S, move.stamp_s[0])
            span = slice(*np.searchsorted(track.stamp_s, (first_s, until_s)))
            span = slice(span.start + _still_from(track.closed[span], track.force_n[span]), span.stop)
            rests.append(
                Rest(
                    target=target,
                    direction=direction,
                    closed=track.closed[span],
                    force_n=track.force_n[span],
                    current_a=track.current_a[span],
                )
            )
        if direction or before is None:
            before = target
    return rests


def noise_of(rests: Sequence[Rest]) -> tuple[Estimate, Estimate]:
    """Noise of angle (closing fraction) and force [N] while standing, whole digits taken off."""
    found = []
    for name in ("closed", "force_n"):
        parts = [getattr(rest, name) for rest in rests]
        squares = sum(float(np.sum((part - part.mean()) ** 2)) for part in parts)
        degrees = max(sum(len(part) - 1 for part in parts), 1)
        values = np.unique(np.round(np.concatenate(parts), 9))
        digit = float(np.diff(values).min()) if len(values) > 1 else 0.0
        variance = squares / degrees
        clear = max(variance - digit**2 / 12.0, 0.0)
        value = clear**0.5
        deviation = variance / (2.0 * degrees) ** 0.5 / max(value, 1e-12)
        # Rests differ by more than chance: digits round each of them in their own way.
        own = np.array([float(np.var(part, ddof=1)) for part in parts if len(part) > 1])
        weight = np.array([len(part) - 1.0 for part in parts if len(part) > 1]) / degrees
        scattered = float(np.sqrt(np.sum((weight * (own - variance)) ** 2))) / (2.0 * max(value, 1e-12))
        found.append(estimate(value, max(deviation, scattered), len(own) - 1))
    return found[0], found[1]


def fit_zeros(
    rests: Sequence[Sequence[Rest]], weights: FloatArray, grid: FloatArray, offsets_n: Sequence[float]
) -> list[Estimate | None]:
    """What each force sensor takes for none: what is left once the weight of its finger is taken off.

    How the hand is held follows from all fingers together; how much of its weight a sensor feels, from its own.

    Args:
        rests: Where each motor stood, with nothing in its way.
        weights: Force that holds each finger up, for gravity along three axes [N per m/s^2]. Shape (motors, g, 3).
        grid: Closing fractions of that table. Shape (g,).
        offsets_n: See `LeadScrew.loaded_offset_n`.
    """
    away = [[rest for rest in own if END < rest.target < 1.0 - END] for own in rests]  # ends may be stops
    used = [n for n, own in enumerate(away) if len(own) >= MIN_POSTURES and np.ptp([one.target for one in own]) > 0.5]
    if not used:
        return [None] * len(rests)
    loads, tables = {}, {}
    for n in used:
        at = np.array([rest.closed.mean() for rest in away[n]])
        loads[n] = np.array([load_of(rest.force_n, 0.0, offsets_n[n]).mean() for rest in away[n]])
        tables[n] = np.stack([np.interp(at, grid, weights[n, :, axis]) for axis in range(3)], axis=1)
    zeros = np.repeat(np.eye(len(used)), [len(loads[n]) for n in used], axis=0)
    matrix = np.concatenate([-zeros, np.concatenate([tables[n] for n in used])], axis=1)
    weak = np.concatenate([np.zeros((3, len(used))), np.eye(3) * 1e-3], axis=1)  # what no finger feels is no gravity
    goal = np.concatenate([*(loads[n] for n in used), np.zeros(3)])
    full = np.concatenate([matrix, weak])
    together = np.linalg.lstsq(full, goal, rcond=None)[0]
    gravity = together[len(used) :]
    scatter = float(np.sum((goal - full @ together) ** 2)) / max(len(goal) - len(used) - 3, 1)
    shared_error = np.sqrt(np.diag(np.linalg.inv(full.T @ full))[: len(used)] * scatter)
    found: list[Estimate | None] = [None] * len(rests)
    for n, shared in zip(used, shared_error, strict=True):
        felt = tables[n] @ gravity
        spread = max(np.sqrt(np.mean([rest.force_n.var() / len(rest.force_n) for rest in away[n]])), 1e-6)
        rows = np.concatenate([np.stack([-np.ones(len(felt)), felt], axis=1) / spread, [[0.0, 1.0 / WEIGHT_SPREAD]]])
        right = np.append(loads[n] / spread, 1.0 / WEIGHT_SPREAD)
        values = np.linalg.lstsq(rows, right, rcond=None)[0]
        scale = max(float(np.sum((right - rows @ values) ** 2)) / max(len(right) - 2, 1), 1.0)
        error = float(np.hypot(np.sqrt(np.linalg.inv(rows.T @ rows)[0, 0] * scale), shared))
        found[n] = estimate(float(values[0]), error, len(right) - 2)
    return found


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
    for k, (start, (_, velocity)) in enumerate(zip(fit.starts, fit.path, strict=True)):
        move = start.move
        raw, even = move.track.force_n[move.rows], smooth(move.track.force_n[move.rows], EVEN)
        load = load_of(np.where(start.loaded, raw, even), zero_n, offset_n)
        driven = np.abs(velocity) > DRIVEN * fit.value[0] * move.track.speed[move.commands].max() * 0.5
        driven &= np.abs(np.gradient(velocity)) < 0.02 * fit.value[0]
        driven[:2] = driven[-2:] = False
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
    # Digits, not readings, are independent.
    scale = max(float(np.mean(wrong**2)), ROUNDED_C**2 / 12.0) * len(wrong) / max(changes, 1)
    covariance = np.linalg.inv(slopes.T @ slopes) * scale
    found = dict(nothing)
    for k, name in enumerate(found):
        half = student(changes - 2) * float(np.sqrt(covariance[k, k]))
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
    dt = np.diff(track.stamp_s, prepend=track.stamp_s[0])
    keep = np.exp(-dt / value[1])
    goal = 25.0 + value[0] * track.current_a**2
    out, now = np.empty(len(dt)), float(track.temperature_c[0])
    for k in range(len(dt)):
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
