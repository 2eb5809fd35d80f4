"""How good a calibration is: its error in presses it has not seen, with a confidence interval."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from thenar.arrays import BoolArray, FloatArray, IntArray
from thenar.hands.spec import HandSpec
from thenar.touch.calibrate.press_recording import Recording
from thenar.touch.calibrate.presses import Presses, presses_on
from thenar.touch.calibrate.protocol import off_the_middles
from thenar.touch.sensor.calibration import SENSOR_FIELDS, Calibration
from thenar.touch.sensor.response import Response

HELD_OUT = 0.25  # of the presses, where too few are off the middles
PARTS, MIN_TESTS = 4, 8
FIRM = 0.9  # of a taxel's largest load: a press with more shows where it ends
REST_AROUND_S = 5.0
TAKES_PART = 0.1  # of a taxel's largest load: a press with more counts for it
DRAWS, LIMIT_DRAWS = 1000, 100
SETTLED_S, BLOCK_S, MIN_BLOCKS = 5.0, 4.0, 4  # of rest after a press, and of the means that are compared there
WALK_RATIO = 2.0  # over what noise does to those means: an offset that changes by more walks at random
SESSION_S = 300.0  # after switching on, for which the error of an offset that walks is stated


@dataclass(frozen=True, kw_only=True, eq=False)
class Score:
    """Error in percent of each taxel's full scale, over presses in which it takes part, their rests included."""

    rms: float
    low: float
    high: float
    """95 % of what as many other presses of the same kind would give lies between these."""
    p95: float
    """95 % of single readings are off by less, on another day too; a standard error wider than these presses say."""
    presses: int
    taxel_rms: FloatArray
    """NaN for taxels that took no part. Shape (n,)."""


def held_out(presses: Presses, *, seed: int = 0) -> list[BoolArray]:
    """Rows of presses to test with, in parts that are kept back one at a time, with a while of rest around each press.

    These are presses off the middles of taxels and off the other places of the plan, in `PARTS`: at places that were
    learned from, a sensor that is not quite like the model looks better than it is, and without many of them the fit is
    worse than the one that is written. Where there are too few of them, a quarter of all presses, picked at random, is
    taken. Presses without which every taxel still has a firm one are
    picked first: without any, nothing would be known of its ceiling, and the error would be that of another, worse
    recording.
    """
    load = presses.taxel_load_n(0.5 * min(presses.pad.row_pitch_m, presses.pad.col_pitch_m))
    firm = _peaks(presses, load) >= FIRM * load.max(axis=0)
    left = firm.sum(axis=0)
    spare, needed = [], []
    for press in np.random.default_rng(seed).permutation(presses.count):
        if np.all(left > firm[press]):
            left = left - firm[press]
            spare.append(press)
        else:
            needed.append(press)
    hardest = _firsts(presses) + [int(np.argmax(part)) for part in np.split(presses.load_n, _firsts(presses)[1:])]
    off = off_the_middles(presses.pad, presses.places_m[presses.place[hardest]])
    tests = [press for press in spare if off[press]]
    parts = [tests[part::PARTS] for part in range(PARTS)]
    if not MIN_TESTS <= len(tests) <= presses.count / 2:
        parts = [[*spare, *needed][: max(1, round(HELD_OUT * presses.count))]]
    pressed = presses.time_s[presses.load_n > 0.0]
    after = np.searchsorted(pressed, presses.time_s)
    away_s = np.minimum(
        np.abs(presses.time_s - pressed[np.clip(after - 1, 0, None)]),
        np.abs(presses.time_s - pressed[np.clip(after, None, len(pressed) - 1)]),
    )
    return [np.isin(presses.press, part) & (away_s < REST_AROUND_S) for part in parts]


def full_scale(presses: Presses) -> FloatArray:
    """Range of each taxel's readings. Shape (n,)."""
    return np.ptp(presses.counts[presses.usable], axis=0)


def score(
    presses: Presses,
    predicted: FloatArray,
    load: FloatArray,
    *,
    rows: BoolArray | None = None,
    full_counts: FloatArray | None = None,
    offset_walk: float = 0.0,
) -> Score:
    """Hold a prediction against what was read.

    Args:
        presses: The recording.
        predicted: Counts. Shape (t, n).
        load: What presses on each taxel. Shape (t, n).
        rows: Rows that count; all if not given.
        full_counts: Full scale of each taxel; that of the recording if not given.
        offset_walk: Error of another day's offsets, root mean square [% of full scale], see `day_to_day`.
    """
    full = full_scale(presses) if full_counts is None else full_counts
    rows = presses.usable & (np.ones(len(load), dtype=bool) if rows is None else rows)
    first = _firsts(presses)
    part = (_peaks(presses, load) > TAKES_PART * np.maximum(load.max(axis=0), 1e-12))[presses.press] & rows[:, None]
    part &= presses.live
    off = np.where(part, 100.0 * (predicted - presses.counts) / np.maximum(full, 1.0), 0.0)
    squares, count = np.add.reduceat(off**2, first, axis=0), np.add.reduceat(part.astype(float), first, axis=0)
    used = np.flatnonzero(count.sum(axis=1))
    if not len(used):
        return Score(rms=np.nan, low=np.nan, high=np.nan, p95=np.nan, presses=0, taxel_rms=np.full(len(full), np.nan))
    drawn = np.random.default_rng(0).choice(used, (DRAWS, len(used)))
    spread = np.sqrt(squares.sum(axis=1)[drawn].sum(axis=1) / count.sum(axis=1)[drawn].sum(axis=1))
    rms = float(np.sqrt(squares.sum() / count.sum()))
    # Other presses scatter as much as these do, so the spread counts twice.
    low, high = (rms * (bound / rms) ** 2**0.5 if rms else 0.0 for bound in np.percentile(spread, [2.5, 97.5]))
    by_press = [np.abs(off[rows][part[rows]]) for rows in np.split(np.arange(len(off)), first[1:])]
    limits = [np.percentile(np.concatenate([by_press[k] for k in some]), 95.0) for some in drawn[:LIMIT_DRAWS]]
    with np.errstate(invalid="ignore"):
        taxel_rms = np.sqrt(squares.sum(axis=0) / count.sum(axis=0))
    return Score(
        rms=rms,
        low=float(low),
        high=float(high),
        p95=float(np.hypot(np.percentile(np.abs(off[part]), 95.0) + np.std(limits), 1.96 * offset_walk)),
        presses=len(used),
        taxel_rms=taxel_rms,
    )


def day_to_day(presses: Presses) -> float:
    """Error of another day's offsets, root mean square in percent of full scale; 0 where they do not walk at random.

    Drift is taken to be the same every day. Resting readings that change by more than their noise from one `BLOCK_S` to
    the next, their trend set aside, walk at random: another day has a walk of its own, and what was fitted to this one
    is as far off again. Both grow with time; returned is the mean over the first `SESSION_S`.
    """
    pressed = presses.time_s[presses.load_n > 0.0]
    before = np.searchsorted(pressed, presses.time_s)
    since_s = np.where(before > 0, presses.time_s - pressed[np.clip(before - 1, 0, None)], np.inf)
    unloaded = np.flatnonzero(presses.usable & (presses.load_n <= 0.0) & (since_s > SETTLED_S))
    rows = max(2, round(BLOCK_S / float(np.median(np.diff(presses.time_s)))))
    changed, noise, steps = np.zeros(presses.pad.taxels), np.zeros(presses.pad.taxels), 0
    for rest in np.split(unloaded, np.flatnonzero(np.diff(unloaded) > 1) + 1):
        blocks = len(rest) // rows
        if blocks < MIN_BLOCKS:
            continue
        counts = presses.counts[rest[: blocks * rows]].reshape(blocks, rows, -1)
        change = np.diff(counts.mean(axis=1), axis=0)
        changed += np.square(change - change.mean(axis=0)).sum(axis=0)
        noise += (blocks - 2) * 2.0 / rows * counts.var(axis=1, ddof=1).mean(axis=0)
        steps += blocks - 2
    per_full = np.where(presses.live, 1.0 / np.maximum(full_scale(presses), 1.0) ** 2, 0.0)
    walked, by_noise = float(changed @ per_full), float(noise @ per_full)
    if not steps or walked - by_noise <= WALK_RATIO * by_noise:
        return 0.0
    # Means of blocks differ by two thirds of what a walk does from one's middle to the next one's.
    per_s = (walked - by_noise) / (steps * presses.live.sum() * BLOCK_S * 2.0 / 3.0)
    return 100.0 * float(np.sqrt(per_s * SESSION_S))


def score_pad(recording: Recording, hand: HandSpec, pad_name: str, calibration: Calibration) -> Score:
    """Hold a calibration against what a recording's pad said."""
    presses = presses_on(recording, hand.pad(pad_name))
    return score(presses, *read_through(presses, calibration))


def read_through(presses: Presses, calibration: Calibration) -> tuple[FloatArray, FloatArray]:
    """Readings of a pad through a calibration, as the twin would have them without noise, and the load on its taxels.

    Shapes (t, n).
    """
    pad = presses.pad
    own = calibration.pad(pad.name)
    gain, offset = (calibration.per_taxel([pad], name) for name in ("gain", "offset"))
    load = presses.taxel_load_n(getattr(own, SENSOR_FIELDS[pad.sensor]["depth"]))
    response = Response([pad], calibration, gain, offset, spread=False)
    dead = np.array([divmod(taxel, pad.cols) in own.dead for taxel in range(pad.taxels)])
    rows = zip(load, presses.time_s, strict=True)
    read = np.array([response.read(row, float(time_s), dead) for row, time_s in rows])
    if pad.sensor == "barometer":
        return read, load
    return np.clip(read, own.lowest_counts, own.saturation_counts), load


def one_scale(presses: Presses, load: FloatArray, offset: FloatArray, rows: BoolArray) -> FloatArray:
    """The usual calibration, to compare with: resting readings removed, and one scale factor for all taxels."""
    rows = rows & presses.usable
    factor = np.sum((load * (presses.counts - offset))[rows]) / max(float(np.sum(load[rows] ** 2)), 1e-12)
    return offset + factor * load


def _firsts(presses: Presses) -> IntArray:
    """First row of every press."""
    return np.flatnonzero(np.diff(presses.press, prepend=-1))


def _peaks(presses: Presses, load: FloatArray) -> FloatArray:
    """Largest load of each taxel in each press. Shape (presses, n)."""
    return np.maximum.reduceat(load, _firsts(presses), axis=0)
