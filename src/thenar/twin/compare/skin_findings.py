"""Differences between what a hand's skin reads and what its twin's does, and what is wrong with a skin by itself."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from thenar.arrays import BoolArray, FloatArray
from thenar.hands.spec import HandSpec
from thenar.signals import PadLayout
from thenar.twin.compare.finding import Finding

MIN_FRAMES = 10
PRESSED = 150.0  # counts above rest that a taxel surely feels
FAINT = 45.0  # below this it may be noise
PAD_N, GAIN = 0.3, 0.06
OTHER_SKIN, BELIEVED = 0.11, 6  # by which gains of a taxel in two skins differ; as sure as if so many had told
STUCK_FRAMES = 50
NEAR_S = 0.1  # a twin that has read nothing nearer, as it is late, is not compared
OFFSET, FLOOR = 60.0, 40.0  # what an untouched taxel of an unknown skin reads, and how far it may be off


class SkinSeries(NamedTuple):
    """What a skin read over time. Shapes (t,), (pads,), (t, taxels)."""

    stamp_s: FloatArray
    layout: tuple[PadLayout, ...]
    taxel_counts: NDArray[Any]


def find_skin_gaps(spec: HandSpec, hand: SkinSeries, twin: SkinSeries | None) -> list[Finding]:
    """Stuck and dead taxels, pads that read more or less than the twin's, and what only one of both feels.

    Args:
        spec: The hand.
        hand: What its skin read.
        twin: What its twin's skin read under the same commands; None where there is none.
    """
    counts = hand.taxel_counts.astype(np.float64)
    if len(counts) < MIN_FRAMES:
        return []
    stuck = _stuck(counts)
    if any(pad.sensor == "barometer" for pad in spec.pads):  # pascals, and each die has a zero and noise of its own
        return [*_taxels(spec, hand, counts, stuck, np.zeros_like(stuck), unit="Pa")]
    above = _above(counts)
    theirs, both = None, np.ones(len(counts), dtype=bool)
    if twin is not None and len(twin.stamp_s) >= MIN_FRAMES:
        at = np.searchsorted(twin.stamp_s, hand.stamp_s).clip(0, len(twin.stamp_s) - 1)
        both = np.abs(twin.stamp_s[at] - hand.stamp_s) < NEAR_S
        theirs = np.where(both[:, None], _above(twin.taxel_counts.astype(np.float64))[at], 0.0)
    dead = _dead(hand.layout, above, theirs) & ~stuck
    found = [*_taxels(spec, hand, counts, stuck, dead, unit="counts")]
    sound = ~(stuck | dead)
    for pad in hand.layout:
        part = slice(pad.first, pad.first + pad.rows * pad.cols)
        good = sound[part]
        ours = above[both, part][:, good]
        found += _pad(spec, pad, ours, np.zeros_like(ours) if theirs is None else theirs[both, part][:, good])
    return found


def _above(counts: FloatArray) -> FloatArray:
    """What taxels read above rest; noise is 0. A taxel that is pressed all the time is taken to rest as others do."""
    low = np.percentile(counts, 25, axis=0)
    usual = float(np.median(low))
    rest = np.where(np.abs(low - usual) > FLOOR, usual, low)
    over = counts - rest
    return np.where(over > FAINT, over, 0.0)


def _stuck(counts: FloatArray) -> BoolArray:
    """Taxels that have read one number for long, whatever happened, where others have noise."""
    newest = counts[-STUCK_FRAMES:]
    noisy = float(np.median(newest.std(axis=0))) > 0.3 and len(newest) == STUCK_FRAMES
    return (newest.std(axis=0) == 0.0) & (np.abs(newest[-1] - np.median(newest)) > FLOOR) & noisy


def _dead(layout: tuple[PadLayout, ...], above: FloatArray, theirs: FloatArray | None) -> BoolArray:
    """Taxels that are pressed, as the twin or their neighbours on both sides say, and have read nothing since."""
    frames = np.arange(len(above))[:, None]
    since = frames > np.where(above > 0.0, frames, -1).max(axis=0)
    dead = np.zeros(above.shape[1], dtype=bool)
    for pad in layout:
        part = slice(pad.first, pad.first + pad.rows * pad.cols)
        grid = above[:, part].reshape(len(above), pad.rows, pad.cols)
        must = _between(grid)
        if theirs is not None:
            mine = theirs[:, part].reshape(grid.shape)
            must |= (mine > PRESSED) & (grid.sum(axis=(1, 2)) > 0.3 * mine.sum(axis=(1, 2)))[:, None, None]
        dead[part] = (must.reshape(len(above), -1) & since[:, part]).sum(axis=0) >= MIN_FRAMES
    return dead


def _between(grid: FloatArray) -> BoolArray:
    """Taxels with pressed neighbours on opposite sides, in every direction that has both. Shape (t, rows, cols)."""
    pressed = np.pad(grid > PRESSED, ((0, 0), (1, 1), (1, 1)))
    inside = np.pad(np.ones(grid.shape[1:], dtype=bool), 1)
    rows, cols = slice(1, -1), slice(1, -1)
    must, asked = np.ones(grid.shape, dtype=bool), np.zeros(grid.shape[1:], dtype=bool)
    for before, after in (
        ((slice(None, -2), cols), (slice(2, None), cols)),
        ((rows, slice(None, -2)), (rows, slice(2, None))),
    ):
        both = inside[before] & inside[after]
        asked |= both
        must &= ~both | (pressed[:, *before] & pressed[:, *after])
    return must & asked


def _taxels(
    spec: HandSpec, hand: SkinSeries, counts: FloatArray, stuck: BoolArray, dead: BoolArray, *, unit: str
) -> Iterator[Finding]:
    for pad in hand.layout:
        part = slice(pad.first, pad.first + pad.rows * pad.cols)
        # A channel without its sensor reads one number everywhere: that is one thing to say.
        silent = part.stop - part.start > 1 and bool(stuck[part].all()) and not np.ptp(counts[-1, part])
        for taxel in range(1 if silent else pad.rows * pad.cols):
            number, (row, col) = pad.first + taxel, divmod(taxel, pad.cols)
            where = pad.name if silent else f"{pad.name} {row},{col}"
            if stuck[number]:
                size, words = float(counts[-1, number]), f"reads {counts[-1, number]:.0f} {unit} whatever happens"
            elif dead[number]:
                size, words = 0.0, "does not respond"
            else:
                continue
            yield Finding(
                kind="stuck taxel" if stuck[number] else "dead taxel",
                hand=spec.name,
                part=where,
                size=size,
                unit=unit,
                words=f"every taxel of {where} {words}" if silent else f"taxel {where} {words}",
                evidence=f"{len(counts)} readings from {hand.stamp_s[0]:.1f} to {hand.stamp_s[-1]:.1f} s",
            )


def _pad(spec: HandSpec, pad: PadLayout, ours: FloatArray, theirs: FloatArray) -> Iterator[Finding]:
    """What one pad reads beside its twin's, both in counts above rest. Shapes (t, taxels)."""
    ours_n, theirs_n = ours.sum(axis=1) * 1e-3, theirs.sum(axis=1) * 1e-3
    # Of what both surely feel: a taxel that is hardly touched counts as nothing in one skin and not in the other.
    firm = (ours > PRESSED) & (theirs > PRESSED)
    firm_n = np.where(firm, theirs, 0.0).sum(axis=1) * 1e-3
    both = firm_n > PAD_N
    only_ours, only_theirs = (ours_n > PAD_N) & (theirs_n == 0.0), (theirs_n > PAD_N) & (ours_n == 0.0)
    if both.sum() >= MIN_FRAMES:
        size, error = _gain(ours[both], theirs[both])
        if abs(size) > max(GAIN, 3.0 * error):
            more = "more" if size > 0 else "less"
            words = f"{pad.name} reads {100 * abs(size):.0f} % {more} than the twin's"
            yield _of_pad(spec, pad, "touch gain", size, "1", error, words, int(both.sum()))
    elif only_ours.sum() >= MIN_FRAMES:
        size = float(np.median(ours_n[only_ours]))
        words = f"{pad.name} feels {size:.1f} N that the twin does not"
        yield _of_pad(spec, pad, "feels", size, "N", 0.0, words, int(only_ours.sum()))
    elif only_theirs.sum() >= MIN_FRAMES:
        size = float(np.median(theirs_n[only_theirs]))
        words = f"{pad.name} does not feel the {size:.1f} N that the twin does"
        yield _of_pad(spec, pad, "feels nothing", size, "N", 0.0, words, int(only_theirs.sum()))


def _gain(ours: FloatArray, theirs: FloatArray) -> tuple[float, float]:
    """How much more taxels read than the twin's, and its standard error; NaN where none is pressed for long enough.

    Taxels have gains of their own, whatever the force on them: each counts the same, not the one that is pressed most.
    """
    firm = np.sqrt(ours * theirs) > 1.2 * PRESSED  # of both alike, so that neither's noise picks the readings
    ratios, errors = [], []
    for taxel in np.flatnonzero(firm.sum(axis=0) >= MIN_FRAMES):
        ratio = np.log(ours[firm[:, taxel], taxel] / theirs[firm[:, taxel], taxel])
        ratios.append(np.median(ratio))
        errors.append(ratio.std() / np.sqrt(max(len(ratio) / 10.0, 1.0)))
    if not ratios:
        return np.nan, np.nan
    # How far taxels are apart says whether the skin is another; few of them say little of that.
    off = np.square(np.array(ratios) - np.mean(ratios)).sum()
    spread = (BELIEVED * OTHER_SKIN**2 + off) / (BELIEVED + len(ratios) - 1)
    return float(np.expm1(np.mean(ratios))), float(np.sqrt((spread + np.square(errors).mean()) / len(ratios)))


def _of_pad(
    spec: HandSpec, pad: PadLayout, kind: str, size: float, unit: str, error: float, words: str, frames: int
) -> Finding:
    return Finding(
        kind=kind, hand=spec.name, part=pad.name, size=size, unit=unit, error=error, words=words,
        evidence=f"{frames} readings",
    )  # fmt: skip
