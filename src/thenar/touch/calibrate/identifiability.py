"""Can this recording tell that? How far each number is from being known, and what to record where it is not.

Every answer is the standard error of a *reading* the number is needed for, from the slopes of the fit, the scatter it
left and how long that scatter stays the same (neighboring rows do not count twice). A number is known when 95 % of
that error is within a few percent of the taxel's full scale (`TOLERANCE`). Hysteresis and drift must show in spite of
any curve the taxel may have: what a static curve could explain as well does not count for them.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, replace

import numpy as np

from thenar.arrays import BoolArray, FloatArray
from thenar.touch.calibrate.pad_fit import GROUPS, NAMES, Fitted, slopes_of
from thenar.touch.calibrate.presses import MIN_REACH, Presses

TOLERANCE = {"offset": 0.03, "drift": 0.03}  # of full scale; of the others:
USUAL_TOLERANCE = 0.08
DRIFT_AFTER_S = 480.0  # a drift must be known so long after switching on
DEPTH_EFFECT = 0.4  # of full scale: what a reading changes, at most, with the logarithm of the depth
MAX_SCATTER = 0.04  # of full scale: what sensors leave that are like the model
FADE_S, WIDTHS = (0.5, 20.0), (0.01, 0.15)  # of creep; of play, as shares of the largest load
SLOW = 5  # powers of time
CURVE_PIECES = 24
MAX_ROWS = 8000
AT = {group: [NAMES.index(name) for name in names] for group, names in GROUPS.items()}
"""Where the numbers of each group stand among the slopes."""
BLIND = 1e-9  # of the largest eigenvalue: less is no information
ADVICE = {
    "offset": "record the skin at rest, for 20 s",
    "gain": "press on the middle of these taxels, from nothing up to full force and off again",
    "depth": "press at several places: on the middles of taxels and between them",
    "crosstalk": "press on taxels beside each other, on their middles and between them",
    "hysteresis": "unload as slowly as you load, and also turn round half-way: up, half down, up again, off",
    "drift": f"start when the hand is switched on and go on for {DRIFT_AFTER_S:g} s, with rests at both ends",
}


@dataclass(frozen=True, kw_only=True, eq=False)
class Known:
    """How well a group of numbers is known."""

    group: str
    error: FloatArray
    """95 % error of the reading that needs it, as a share of full scale. Shape (n,)."""
    pad: str
    cols: int

    @property
    def unknown(self) -> BoolArray:
        """Taxels for which it is not known."""
        return ~(self.error <= TOLERANCE.get(self.group, USUAL_TOLERANCE))

    @property
    def refusal(self) -> str:
        """What is not known and what to record; empty when all is known."""
        if not self.unknown.any():
            return ""
        taxels = [f"{k // self.cols},{k % self.cols}" for k in np.flatnonzero(self.unknown)]
        which = f"taxel {taxels[0]}" if len(taxels) == 1 else f"taxels {' '.join(taxels[:6])}"
        which = "every taxel" if len(taxels) == len(self.error) and len(taxels) > 1 else which
        more = f" and {len(taxels) - 6} more" if len(taxels) > 6 and which != "every taxel" else ""
        worst = float(self.error.max())
        size = f"could be off by {100 * worst:.0f} % of full scale" if worst < 10.0 else "leaves no trace in it"
        return f"{self.group} of {self.pad}, {which}{more}: {size}; {ADVICE[self.group]}"


def identify(
    presses: Presses, fitted: Fitted, wrong: FloatArray, full_scale: FloatArray, *, without: Collection[str] = ()
) -> list[Known]:
    """How well each group of numbers is known.

    Args:
        presses: The recording.
        fitted: What was fitted to it.
        wrong: What the fit left. Shape (t, n).
        full_scale: Counts of a full reading. Shape (n,).
        without: Groups that were left out.
    """
    usable = np.flatnonzero(presses.usable)
    rows = usable[:: max(1, len(usable) // MAX_ROWS)]
    fitted = _usual_memory(presses, fitted)
    slopes = slopes_of(presses, fitted, rows, without)
    drive = fitted.drive_n(presses)[rows]
    groups = [group for group in ADVICE if group not in without]
    errors = {group: np.full(presses.pad.taxels, np.inf) for group in groups}
    # A drift that is not quite the model's is slow: it is no scatter of anything but drift.
    slow = np.polynomial.legendre.legvander(np.linspace(-1.0, 1.0, len(rows)), SLOW)
    quick = wrong[rows] - slow @ np.linalg.lstsq(slow, wrong[rows], rcond=None)[0]
    scatters = np.array([_scatter(quick[:, k], full_scale[k]) for k in range(presses.pad.taxels)])
    depth_known = _depth_known(slopes, scatters) if "depth" in groups else np.inf
    for taxel in range(presses.pad.taxels):
        own = slopes[:, taxel]
        scatter = scatters[taxel]
        full = float(full_scale[taxel])
        if full <= 0.0 or drive[:, taxel].max() <= 0.0:
            errors["offset"][taxel] = 2.0 * scatter / len(rows) ** 0.5 / max(full, 1.0)
            continue
        curve = _curve(drive[:, taxel])
        # Time to the first and second power: a drift may bend, so little is known of it beyond the recording.
        passed = (presses.time_s[rows] / DRIFT_AFTER_S)[:, None]
        time = full * np.concatenate([passed, passed**2], axis=1)
        plain = [k for k, name in enumerate(NAMES) if name not in ("depth_m", "crosstalk")]
        for group in groups:
            wanted = AT[group]
            if group in ("offset", "gain"):
                columns, units = own[:, plain], np.eye(len(plain))[[plain.index(k) for k in wanted]]
                change = own[:, wanted[0]]
                sizes = [float(np.abs(change).max() if group == "gain" else change[0])]
            elif group == "drift":
                columns = np.concatenate([time, curve * full, own[:, AT["hysteresis"]]], axis=1)
                units, sizes = np.eye(columns.shape[1])[:1] + np.eye(columns.shape[1])[1:2], [full]
            elif group == "hysteresis":
                columns = np.concatenate([own[:, wanted], curve * full, own[:, AT["drift"]]], axis=1)
                creep, play = np.eye(columns.shape[1])[:2]
                gain = fitted.gain[taxel] * drive[:, taxel].max()
                width = 2.0 * fitted.gain[taxel] * min(fitted.width_n, drive[:, taxel].max())
                # What is still read right after a full load is gone, and a while later.
                units = [min(full, gain) * share * creep + min(full, width) * play for share in (1.0, 0.3)]
                sizes = [1.0, 1.0]
            elif group == "depth":
                errors[group][:] = 1.96 * DEPTH_EFFECT * depth_known
                continue
            else:
                columns, units = own, np.eye(len(NAMES))[wanted]
                if np.isfinite(depth_known):  # what the other taxels say of the depth
                    columns = np.vstack([columns, np.eye(len(NAMES))[NAMES.index("depth_m")] * scatter / depth_known])
                sizes = [full]
            spread = _scatter(wrong[rows, taxel], full) if group == "drift" else scatter
            found = [size * _deviation(columns, unit, spread) for size, unit in zip(sizes, units, strict=True)]
            errors[group][taxel] = 1.96 * max(found) / full
    if "gain" in errors:
        errors["gain"][drive.max(axis=0) < MIN_REACH * drive.max()] = np.inf
    for error in errors.values():
        error[~presses.live] = 0.0  # there is nothing to know
    return [
        Known(group=group, error=error, pad=presses.pad.name, cols=presses.pad.cols) for group, error in errors.items()
    ]


def _depth_known(slopes: FloatArray, scatters: FloatArray) -> float:
    """Standard error of the depth's logarithm: one number of the whole pad, to which every taxel adds what it knows."""
    unit = np.eye(len(NAMES))[NAMES.index("depth_m")]
    each = np.array([_deviation(slopes[:, k], unit, scatters[k]) for k in range(slopes.shape[1])])
    known = float(np.sum(1.0 / np.maximum(each, 1e-9) ** 2))
    return known**-0.5 if known > 0.0 else np.inf


def _usual_memory(presses: Presses, fitted: Fitted) -> Fitted:
    """The same with a memory of seconds: of one that lasts no time or for ever no recording could tell anything."""
    most_n = float(fitted.drive_n(presses).max())
    return replace(
        fitted,
        fade_s=float(np.clip(fitted.fade_s, *FADE_S)),
        width_n=float(np.clip(fitted.width_n, WIDTHS[0] * most_n, WIDTHS[1] * most_n)),
    )


def _scatter(wrong: FloatArray, full: float) -> float:
    """Standard deviation of what is left, larger the longer it stays the same: rows that agree count once.

    A sensor that is not like the model leaves more than the recording is to blame for: `MAX_SCATTER` is the most.
    """
    left = wrong - wrong.mean()
    power = np.abs(np.fft.rfft(left, 2 * len(left))) ** 2
    together = np.fft.irfft(power)[: len(left) // 4]
    together = together / max(together[0], 1e-12)
    stop = int(np.argmax(together < 0.05)) if (together < 0.05).any() else len(together)
    return min(float(left.std() * np.sqrt(1.0 + 2.0 * together[1:stop].sum())), MAX_SCATTER * max(full, 1.0))


def _curve(drive: FloatArray) -> FloatArray:
    """Tents over the range of a load, as many as tell curves apart: any static curve is a sum of them."""
    knots = np.unique(np.quantile(drive[drive > 1e-3 * drive.max()], np.linspace(0.0, 1.0, CURVE_PIECES)))
    knots = np.concatenate([[0.0], knots])
    tents = [np.interp(drive, knots, row) for row in np.eye(len(knots))]
    return np.stack([*tents, drive / drive.max()], axis=1)


def _deviation(columns: FloatArray, unit: FloatArray, scatter: float) -> float:
    """Standard error of a number (a combination of columns' factors); infinite where the rows say nothing of it."""
    size = np.linalg.norm(columns, axis=0)
    # Each column by its own size, or a number whose column is small would look as if it left no trace.
    size = np.where(size > 0.0, size, 1.0)
    values, vectors = np.linalg.eigh((columns / size).T @ (columns / size))
    along = vectors.T @ (unit / size)
    seen = values > BLIND * max(float(values.max()), 1e-30)
    if np.sum(along[~seen] ** 2) > 1e-6 * np.sum(along**2):
        return np.inf
    return float(scatter * np.sqrt(np.sum(along[seen] ** 2 / values[seen])))
