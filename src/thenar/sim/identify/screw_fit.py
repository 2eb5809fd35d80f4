"""The screw and its spring from moves: one least-squares problem a motor, with a delay of its own for every command.

What is compared is where the screw is: by the commands (`screw_path`), and by the readings, as the finger's angle and
the stretch of the spring that the force tells. That sum does not depend on what the finger weighs or meets.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from thenar.arrays import BoolArray, FloatArray
from thenar.hands.spec import LeadScrew
from thenar.sim.identify.moves import Move, smooth, smooth_curve
from thenar.sim.identify.screw_path import screw_path
from thenar.sim.identify.spring import Spring, bent, load_of, slope, stretch

NAMES = ("top_speed", "stop_s", "stiffness_n", "stiffening_n", "stall_n", "reaction_s")
TOP, STOP, LINEAR, CUBIC, STALL, REACTION = range(6)
STEPS = np.array([0.002, 0.02, 0.01, 0.01, 0.02, 0.02])  # of the slopes, as shares of the values
DELAY_STEP_S, ZERO_STEP_N = 2e-4, 0.02
LOADED = 8.0  # standard deviations of the force reading: what counts as a load
MIN_LOAD_N = 0.4
MIN_PRESS_N = 1.5  # a move without so much meets nothing; what it reads is the inertia of the finger
ITERATIONS = 14
SEARCHES, FAR, NEARBY = 2, (0.5, 0.65, 0.8, 1.25, 1.6, 2.0, 2.5), (0.87, 0.94, 1.06, 1.14)
DELAY_ITERATIONS = 4
MIN_GAIN = 0.3  # in squared standard deviations, of all moves together
MAX_DAMPING = 1e3
FORCE_WIDTH = 3  # readings over which the force is smoothed
OUTLIER = 3.0  # moves that fit so much worse than the others met something that is not in the model
MIN_TRAVEL = 0.1
READ_APART_S = 0.002  # a step of the twin: it knows the force at the start of a step and the angle at its end
MAX_PULL = 0.8
MIN_DEGREES = 6.0  # of freedom: that few moves weigh most says little of how few tell
NEAR = 0.025  # a screw that stands so close to its target has arrived


@dataclass(frozen=True, kw_only=True, eq=False)
class Prior:
    """What is known of a motor before its screw is fitted."""

    motor: LeadScrew
    zero_n: float
    backlash: float
    closed_noise: float
    force_noise_n: float
    spring: Spring | None
    """What standing under load told of the spring."""


class Path(NamedTuple):
    """Where the nut is when the angle is read, and the speed of the screw. Shapes (t,)."""

    nut: FloatArray
    speed: FloatArray


@dataclass(frozen=True, kw_only=True, eq=False)
class Start:
    """A move that begins where the screw is known to stand."""

    move: Move
    screw: float
    nut: float
    loaded: BoolArray
    """Readings with a load. Shape (t,)."""
    raw_n: FloatArray
    """Load of each reading [N]. Shape (t,)."""
    load_n: FloatArray
    """The same, evened out [N]. Shape (t,)."""
    reported_n: FloatArray
    """What the sensor said, evened out [N]. Shape (t,)."""


@dataclass(frozen=True, kw_only=True, eq=False)
class ScrewFit:
    """What moves tell of a screw."""

    value: FloatArray
    """By `NAMES`. Shape (6,)."""
    covariance: FloatArray
    free: BoolArray
    """Which of them were fitted. Shape (6,)."""
    starts: list[Start]
    delay_s: list[FloatArray]
    """Of the commands of each move."""
    delay_variance: list[FloatArray]
    delay_slope: list[FloatArray]
    """Change of the delays with the values. Shapes (d, 6)."""
    residual: list[FloatArray]
    """Screw by commands less screw by readings, of each move [strokes]."""
    path: list[Path]
    degrees: FloatArray
    """Of freedom: how many moves tell each value, less one. Shape (6,)."""
    pull: float
    """How far the stiffness that was found follows the one that free fingers were taken to have, as a share."""


def nominal(motor: LeadScrew) -> FloatArray:
    """Values of a motor by `NAMES`, in strokes."""
    top = 1.0 / (motor.full_stroke_s - motor.stop_s)
    return np.array([top, motor.stop_s, motor.stiffness_n, motor.stiffening_n, motor.stall_n, motor.reaction_s])


def find_starts(moves: Sequence[Move], prior: Prior, value: FloatArray) -> list[Start]:
    """Moves that begin where the move before them was to end."""
    starts = []
    aim, towards, before = None, 0.0, None
    for move in moves:
        track = move.track
        load = load_of(track.force_n[move.rest], prior.zero_n, prior.motor.loaded_offset_n)
        rest = track.closed[move.rest] + stretch(load, value[LINEAR], value[CUBIC])
        if track is not before or not rest.size:
            aim, before = None, track
        stood = float(rest.mean()) if rest.size else float(track.closed[move.rows.start])
        travel = float(np.abs(track.target[move.commands] - (stood if aim is None else aim)).max())
        if aim is not None and abs(stood - aim) < NEAR + 0.6 * prior.backlash and travel >= MIN_TRAVEL:
            starts.append(_start(move, aim, float(aim - 0.5 * prior.backlash * np.sign(towards)), prior))
        new = float(track.target[move.commands.stop - 1])
        towards = new - (stood if aim is None else aim) or towards
        aim = new
    return starts


def _start(move: Move, screw: float, nut: float, prior: Prior) -> Start:
    track, offset_n = move.track, prior.motor.loaded_offset_n
    raw = track.force_n[move.rows]
    load = load_of(smooth(raw, FORCE_WIDTH), prior.zero_n, offset_n)
    even = smooth_curve(raw)
    return Start(
        move=move,
        screw=screw,
        nut=nut,
        loaded=(load > max(MIN_LOAD_N, LOADED * prior.force_noise_n)) & (load.max() > MIN_PRESS_N),
        raw_n=load_of(raw, prior.zero_n, offset_n),
        load_n=load_of(even, prior.zero_n, offset_n),
        reported_n=even,
    )


def fit_screw(starts: list[Start], prior: Prior, value: FloatArray, latency_s: float | None = None) -> ScrewFit | None:
    """Fit all that these moves tell, from these values on; None where they tell nothing."""
    if len(starts) < 3:
        return None
    delays = [np.full(start.move.delays, latency_s or prior.motor.latency_s) for start in starts]
    free = np.ones(len(NAMES), dtype=np.bool_)
    free[[LINEAR, CUBIC, STALL, REACTION]] = sum(int(start.loaded.sum()) for start in starts) >= 30
    free[[LINEAR, CUBIC]] &= prior.spring is None
    free[REACTION] &= any(_stops(start) for start in starts)
    # Steps make hills over the time to stop: it is sought far and wide first, and on both sides of what was found.
    others = free & (np.arange(len(NAMES)) != STOP)
    value, delays, _ = _descend(starts, prior, value, delays, others)
    value, delays = _search(starts, prior, value, delays, FAR)
    value, delays, parts = _descend(starts, prior, value, delays, free)
    for _ in range(SEARCHES):
        near, settled = _search(starts, prior, value, delays, NEARBY)
        if near is value:
            break
        value, delays, parts = _descend(starts, prior, near, settled, free)
    each = np.array([np.mean(part.wrong**2) for part in parts])
    usable = each < OUTLIER**2 * max(np.median(each), 1.0)
    if not usable.all() and usable.sum() >= 3:
        kept = [start for start, good in zip(starts, usable, strict=True) if good]
        return fit_screw(kept, prior, value, float(np.median(np.concatenate(delays))))
    return _result(starts, prior, value, delays, parts, free)


def _search(
    starts: Sequence[Start], prior: Prior, value: FloatArray, delays: list[FloatArray], shares: Sequence[float]
) -> tuple[FloatArray, list[FloatArray]]:
    """The values with the time to stop that fits best among shares of it, and their delays."""
    best, found = value, delays
    cost = sum(_cost(*one, prior, value) for one in zip(starts, delays, strict=True)) - MIN_GAIN
    for share in shares:
        near = value.copy()
        near[STOP] *= share
        later_s = 0.5 * (value - near)[STOP]
        settled = [_settle(start, one + later_s, prior, near) for start, one in zip(starts, delays, strict=True)]
        now = sum(_cost(*one, prior, near) for one in zip(starts, settled, strict=True))
        if now < cost:
            best, found, cost = near, settled, now
    return best, found


def _descend(
    starts: Sequence[Start], prior: Prior, value: FloatArray, delays: list[FloatArray], free: BoolArray
) -> tuple[FloatArray, list[FloatArray], list[_Linear]]:
    """Values, delays and what is left, from these values on downhill (Levenberg and Marquardt)."""
    value, damping, best = value.copy(), 1e-4, np.inf
    trial, trial_delays, parts = value, delays, None
    for _ in range(ITERATIONS):
        trial_delays = [_settle(*one, prior, trial) for one in zip(starts, trial_delays, strict=True)]
        found = [_linearize(*one, prior, trial, free) for one in zip(starts, trial_delays, strict=True)]
        cost = sum(float(np.sum(part.wrong**2)) for part in found)
        if cost < best:
            gain, best = best - cost, cost
            value, delays, parts, damping = trial, trial_delays, found, damping * 0.3
            if gain < MIN_GAIN:
                break
        else:
            damping *= 30.0
            if damping > MAX_DAMPING:
                break
        assert parts is not None
        normal, right = _reduced(parts)
        step = np.zeros(len(NAMES))
        step[free] = -np.linalg.solve(normal + damping * np.diag(np.diag(normal)), right)
        trial = value + np.clip(step, -0.3 * value, 0.3 * value)
        trial_delays = delays
    assert parts is not None
    return value, delays, parts


def _cost(start: Start, delay_s: FloatArray, prior: Prior, value: FloatArray) -> float:
    part = _linearize(start, delay_s, prior, value, np.zeros(len(NAMES), dtype=np.bool_))
    return float(np.sum(part.wrong**2))


def _settle(start: Start, delay_s: FloatArray, prior: Prior, value: FloatArray) -> FloatArray:
    """The delays of one move that fit best."""
    best, cost = delay_s, np.inf
    for _ in range(DELAY_ITERATIONS):
        part = _linearize(start, delay_s, prior, value, np.zeros(len(NAMES), dtype=np.bool_))
        now = float(np.sum(part.wrong**2))
        if now > cost - MIN_GAIN / 10.0:
            return best if cost < now else delay_s
        best, cost = delay_s, now
        change = -part.own_inverse @ (part.own.T @ part.wrong)
        delay_s = np.maximum(delay_s + np.clip(change, -0.02, 0.02), 0.0)
    return best


@dataclass(frozen=True, kw_only=True, eq=False)
class _Linear:
    """One move about the present values: residuals in standard deviations and their slopes."""

    wrong: FloatArray
    shared: FloatArray
    own: FloatArray
    own_inverse: FloatArray
    still: FloatArray
    """Slope with the stiffness that free fingers are taken to have, as a share of it."""
    residual: FloatArray
    path: Path


def _stops(start: Start) -> bool:
    move = start.move
    force = smooth(move.track.force_n[move.rows], FORCE_WIDTH)
    return bool(np.any(force > move.track.limit_n[move.commands].min()))


def _simulate(start: Start, prior: Prior, value: FloatArray, delay_s: FloatArray) -> Path:
    move = start.move
    track, commands = move.track, move.commands
    due_s = track.command_s[commands] + (delay_s if len(delay_s) > 1 else delay_s[0])
    nut, speed, rate = screw_path(
        np.maximum.accumulate(due_s), track.target[commands], track.speed[commands], track.limit_n[commands],
        move.stamp_s, start.load_n, start.reported_n, start.screw, start.nut,
        np.array([value[TOP], value[TOP] / value[STOP], value[STALL], prior.motor.stall_over_limit, value[REACTION],
                  prior.backlash]),
    )  # fmt: skip
    return Path(nut + READ_APART_S * rate, speed)


def _linearize(start: Start, delay_s: FloatArray, prior: Prior, value: FloatArray, free: BoolArray) -> _Linear:
    path = _simulate(start, prior, value, delay_s)
    known = prior.motor.stiffness_n, prior.motor.stiffening_n
    # Noise of the force must not teach the spring: only loads do, and evened out. Elsewhere it is as known before.
    curved = bent(start.raw_n, prior.force_noise_n, *known)
    still = stretch(start.raw_n, *known) + curved
    x = np.where(start.loaded, stretch(start.load_n, value[LINEAR], value[CUBIC]), still)
    closed = start.move.track.closed[start.move.rows]
    residual = path.nut - closed - x - READ_APART_S * np.gradient(x, start.move.stamp_s)
    spread = np.hypot(prior.closed_noise, prior.force_noise_n / slope(np.where(start.loaded, x, 0.0), *known))
    shared = np.zeros((len(residual), len(NAMES)))
    for k in np.flatnonzero(free):
        near = value.copy()
        near[k] *= 1.0 + STEPS[k]
        if k in (LINEAR, CUBIC):
            other = stretch(start.load_n, near[LINEAR], near[CUBIC])
            elsewhere = curved + stretch(start.raw_n, near[LINEAR], near[CUBIC]) if prior.spring is not None else still
            shared[:, k] = x - np.where(start.loaded, other, elsewhere)
        else:
            shared[:, k] = _simulate(start, prior, near, delay_s).nut - path.nut
        shared[:, k] /= STEPS[k] * value[k]
    own = np.zeros((len(residual), len(delay_s)))
    for k in range(len(delay_s)):
        later = delay_s.copy()
        later[k] += DELAY_STEP_S
        own[:, k] = (_simulate(start, prior, value, later).nut - path.nut) / DELAY_STEP_S
    own /= spread[:, None]
    stiffer = stretch(start.raw_n, known[0] * (1.0 + STEPS[LINEAR]), known[1])
    normal = own.T @ own + np.eye(len(delay_s)) * 1e-2  # 0.1 s is known of a delay in any case
    return _Linear(
        wrong=residual / spread,
        shared=shared[:, free] / spread[:, None],
        own=own,
        own_inverse=np.asarray(np.linalg.inv(normal), dtype=np.float64),
        still=np.where(start.loaded, 0.0, (still - stiffer) / STEPS[LINEAR] / spread),
        residual=residual,
        path=path,
    )


def _reduced(parts: Sequence[_Linear]) -> tuple[FloatArray, FloatArray]:
    """Normal equations of the shared values, the delays of every move eliminated."""
    count = parts[0].shared.shape[1]
    normal, right = np.eye(count) * 1e-12, np.zeros(count)
    for part in parts:
        cross = part.shared.T @ part.own @ part.own_inverse
        normal += part.shared.T @ part.shared - cross @ (part.own.T @ part.shared)
        right += part.shared.T @ part.wrong - cross @ (part.own.T @ part.wrong)
    return normal, right


def _result(
    starts: list[Start],
    prior: Prior,
    value: FloatArray,
    delays: list[FloatArray],
    parts: list[_Linear],
    free: BoolArray,
) -> ScrewFit:
    normal, _ = _reduced(parts)
    count = sum(len(part.wrong) for part in parts)
    scale = sum(float(np.sum(part.wrong**2)) for part in parts) / max(count - free.sum() - len(parts), 1)
    # The moves themselves say how far they scatter: each is left out once, as few of them tell of a spring.
    without, taken = np.zeros((len(parts), len(normal))), np.zeros(len(normal))
    for one, part in zip(without, parts, strict=True):
        clear = part.shared - part.own @ (part.own_inverse @ (part.own.T @ part.shared))
        one[:] = np.linalg.pinv(normal - clear.T @ clear) @ (clear.T @ part.wrong)
        taken += clear.T @ part.still
    inverse = np.linalg.pinv(normal)
    plain, robust = inverse * scale, without.T @ without
    widen = np.sqrt(np.maximum(np.diag(robust) / np.maximum(np.diag(plain), 1e-300), 1.0))
    degrees = np.full(len(NAMES), np.inf)
    told = np.sum(without**2, axis=0) ** 2 / np.maximum(np.sum(without**4, axis=0), 1e-300)
    degrees[free] = np.maximum(told - 1.0, MIN_DEGREES)
    covariance = np.zeros((len(NAMES), len(NAMES)))
    covariance[np.ix_(free, free)] = plain * np.outer(widen, widen)
    if prior.spring is not None:
        return _beside(starts, prior, value, delays, covariance, degrees, scale)
    # Free fingers are taken to have the stiffness that is found: what is wrong with it is wrong with all else besides.
    shift, pull = np.zeros(len(NAMES)), 0.0
    if free[LINEAR]:
        shift[free] = -inverse @ taken / value[LINEAR]
        pull = float(np.clip(shift[LINEAR], -MAX_PULL, MAX_PULL))
        along = np.eye(len(NAMES))
        along[:, LINEAR] += shift / (1.0 - pull)
        covariance = along @ covariance @ along.T
    return _fit(starts, value, covariance, free, delays, parts, degrees, scale, pull)


def _beside(
    starts: list[Start],
    prior: Prior,
    value: FloatArray,
    delays: list[FloatArray],
    covariance: FloatArray,
    degrees: FloatArray,
    scale: float,
) -> ScrewFit:
    """The fit beside a spring that was known before: what is wrong with the spring is wrong with all else besides."""
    assert prior.spring is not None
    spring = np.isin(np.arange(len(NAMES)), (LINEAR, CUBIC))
    free = (np.diag(covariance) > 0.0) | spring
    parts = [_linearize(*one, prior, value, free) for one in zip(starts, delays, strict=True)]
    of = np.append(spring[free], True)
    with_zero = [
        replace(part, shared=np.column_stack([part.shared, _by_zero(start, one, prior, value, part)]))
        for start, one, part in zip(starts, delays, parts, strict=True)
    ]
    normal, _ = _reduced(with_zero)
    along = np.zeros((len(NAMES), 3))
    along[spring, :2] = np.eye(2)
    along[free & ~spring] = -np.linalg.pinv(normal[np.ix_(~of, ~of)]) @ normal[np.ix_(~of, of)]
    own = np.diag(covariance)
    covariance = covariance + along @ prior.spring.covariance @ along.T
    total = np.maximum(np.diag(covariance), 1e-300)
    degrees = total**2 / np.maximum(own**2 / degrees + (total - own) ** 2 / prior.spring.degrees, 1e-300)  # Welch, 1947
    return _fit(starts, value, covariance, free, delays, parts, degrees, scale, 0.0)


def _by_zero(start: Start, delay_s: FloatArray, prior: Prior, value: FloatArray, part: _Linear) -> FloatArray:
    """Change of what is wrong with the zero of the force sensor [1/N]."""
    other = replace(start, raw_n=start.raw_n + ZERO_STEP_N, load_n=start.load_n + ZERO_STEP_N)
    moved = _linearize(other, delay_s, prior, value, np.zeros(len(NAMES), dtype=np.bool_))
    return (moved.wrong - part.wrong) / ZERO_STEP_N


def _fit(
    starts: list[Start],
    value: FloatArray,
    covariance: FloatArray,
    free: BoolArray,
    delays: list[FloatArray],
    parts: list[_Linear],
    degrees: FloatArray,
    scale: float,
    pull: float,
) -> ScrewFit:
    slopes = []
    for part in parts:
        change = np.zeros((part.own.shape[1], len(NAMES)))
        change[:, free] = -part.own_inverse @ (part.own.T @ part.shared)
        if pull:
            change[:, LINEAR] -= part.own_inverse @ (part.own.T @ part.still) / value[LINEAR]
        slopes.append(change)
    return ScrewFit(
        value=value,
        covariance=covariance,
        free=free,
        starts=starts,
        delay_s=delays,
        delay_variance=[np.diag(part.own_inverse) * scale for part in parts],
        delay_slope=slopes,
        residual=[part.residual for part in parts],
        path=[part.path for part in parts],
        degrees=degrees,
        pull=pull,
    )
