"""From a recording to a calibration: fit, hold against presses kept back, and refuse what cannot be known."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from thenar.arrays import BoolArray, FloatArray
from thenar.errors import BadValue
from thenar.hands.spec import HandSpec, Pad
from thenar.touch.calibrate.identifiability import ADVICE, Known, identify
from thenar.touch.calibrate.learn import learn
from thenar.touch.calibrate.pad_fit import Fitted, fit_parameters
from thenar.touch.calibrate.press_recording import FORCE_UNITS, Recording
from thenar.touch.calibrate.presses import Presses, presses_on, rise_per_load
from thenar.touch.calibrate.score import Score, day_to_day, full_scale, held_out, one_scale, score
from thenar.touch.sensor.calibration import SENSOR_FIELDS, PadCalibration
from thenar.touch.sensor.learned import LearnedPad, around
from thenar.touch.sensor.receptive import neighbors

Model = Literal["parametric", "learned"]

MIN_PRESSES = 8
MIN_RESTING = 10  # rows with nothing on the pad, which tell its noise
MAX_ERROR = 15.0  # percent of full scale: a model that is off by more says nothing of the sensor
MAX_FORCE_N = 60.0  # on a skin under a probe of millimetres
LIGHT_N = {"force": MAX_FORCE_N / FORCE_UNITS["kg"], "barometer": 2.5}
"""Forces that are never larger may be the kilograms of a firm press as well."""
PLAUSIBLE_GAIN = {"force": (30.0, 1000.0, 8000.0), "barometer": (0.05, 1.0, 5.0)}
"""Least, usual and largest: counts per newton on a taxel of 12 bits, pascals read per pascal of stress at a die."""


@dataclass(frozen=True, kw_only=True, eq=False)
class PadResult:
    """Result of calibrating one pad: calibration, scores, and how well each number is known."""

    pad: Pad
    presses: Presses
    calibration: PadCalibration
    fitted: Fitted
    learned: LearnedPad | None
    known: list[Known]
    score: Score
    """Of presses kept back, before they were fitted to as well."""
    scale_score: Score
    """Of one scale factor for all taxels, on the same presses."""
    held_out: BoolArray
    predicted: FloatArray
    """Of presses kept back, by fits that had not seen them; elsewhere what was read. Shape (t, n)."""

    @property
    def refusals(self) -> list[str]:
        """What the recording cannot tell; empty when all is known."""
        refused = [known.refusal for known in self.known if known.refusal]
        if self.presses.count < MIN_PRESSES:
            few = f"error of {self.pad.name}: {self.presses.count} presses leave none to hold back"
            refused.append(f"{few}; record at least {MIN_PRESSES}, with rests between them")
        elif self.score.rms > MAX_ERROR:
            off = f"error of {self.pad.name}: off by {self.score.rms:.0f} % of full scale in presses it has not seen"
            refused.append(f"{off}; see that places, sides and forces in the file are those of the presses")
        return refused


def fit_pad(
    recording: Recording,
    hand: HandSpec,
    pad_name: str,
    *,
    model: Model = "parametric",
    without: Collection[str] = (),
    progress: Callable[[str], None] = lambda _: None,
) -> PadResult:
    """Calibrate one pad from a recording.

    Args:
        recording: The recording.
        hand: Its hand.
        pad_name: The pad; it must be in the recording.
        model: What to fit.
        without: Groups of numbers to leave at their defaults, see `pad_fit.OPTIONAL_GROUPS`.
        progress: Called with what is being done.
    """
    pad = hand.pad(pad_name)
    presses = presses_on(recording, pad)
    if not presses.load_n.any():
        raise BadValue(
            f"recording of {pad_name}", "without a press", f"presses on it: thenar calibrate protocol {hand.name}"
        )
    if np.count_nonzero(presses.usable & (presses.load_n <= 0.0)) < MIN_RESTING:
        raise BadValue(f"recording of {pad_name}", "without a rest, in which force_n is 0", f"more: {ADVICE['offset']}")
    if 2 * presses.live.sum() <= pad.taxels:
        raise BadValue(
            f"recording of {pad_name}",
            f"{pad.taxels - presses.live.sum()} of {pad.taxels} taxels that read nothing when pressed",
            "readings that grow with the force, in the columns of the taxels that were pressed",
        )
    check_force_unit(presses)
    if not neighbors(pad).any():
        without = {*without, "crosstalk"}
    top = top_counts(presses)

    def fit(rows: BoolArray, stage: str) -> tuple[Fitted, LearnedPad | None]:
        def report(text: str) -> None:
            progress(f"{pad_name}: {stage}, {text}")

        fitted = fit_parameters(presses, rows=rows, without=without, top_counts=top, progress=report)
        if model == "parametric":
            return fitted, None
        drifts = "drift" not in without
        return fitted, learn(presses, fitted=fitted, rows=rows, top_counts=top, drifts=drifts, progress=report)

    every = np.ones(len(presses.time_s), dtype=bool)
    parts = held_out(presses) if presses.count >= MIN_PRESSES else [every]
    back = np.any(parts, axis=0)
    predicted, scaled = presses.counts.copy(), presses.counts.copy()
    for number, part in enumerate(parts):
        seen = ~part if presses.count >= MIN_PRESSES else every
        fitted, learned = fit(seen, f"held-out fit {number + 1} of {len(parts)}")
        load = presses.taxel_load_n(fitted.depth_m)
        predicted[part] = predict(presses, fitted, learned, top)[part]
        scaled[part] = one_scale(presses, load, fitted.offset, seen)[part]
    fitted, learned = fit(every, "final fit")
    load = presses.taxel_load_n(fitted.depth_m)
    wrong = predict(presses, fitted, learned, top) - presses.counts
    offset_walk = day_to_day(presses)
    progress(f"{pad_name}: what can be known")
    return PadResult(
        pad=pad,
        presses=presses,
        calibration=pad_calibration(presses, fitted, learned),
        fitted=fitted,
        learned=learned,
        known=identify(presses, fitted, wrong, full_scale(presses), without=without),
        score=score(presses, predicted, load, rows=back, offset_walk=offset_walk),
        scale_score=score(presses, scaled, load, rows=back, offset_walk=offset_walk),
        held_out=back,
        predicted=predicted,
    )


def check_force_unit(presses: Presses) -> None:
    """Refuse forces that cannot be newtons, and say what they look like; a file that names its unit is believed."""
    pad, top_n = presses.pad, float(presses.load_n.max())
    gain = float(np.median(rise_per_load(presses)[0][presses.live]))
    low, usual, high = PLAUSIBLE_GAIN[pad.sensor]
    if presses.force_unit:
        return
    if low <= gain <= high and top_n <= MAX_FORCE_N:
        as_kg = gain / FORCE_UNITS["kg"]
        if as_kg < low or top_n > LIGHT_N[pad.sensor]:
            return
        raise BadValue(
            f"force_n of {pad.name}",
            f"{top_n:.3g} at most: {gain:.3g} counts/N if these are newtons, {as_kg:.3g} if they are kilograms",
            "to be told which: write the line '# force_unit: N' or '# force_unit: kg' above the table",
        )
    others = {unit: gain / newtons for unit, newtons in FORCE_UNITS.items() if unit != "N"}
    unit = min(others, key=lambda one: abs(np.log(max(others[one], 1e-9) / usual)))
    per = "Pa/Pa" if pad.sensor == "barometer" else "counts/N"
    raise BadValue(
        f"force_n of {pad.name}",
        f"{top_n:.4g} at most, with about {gain:.3g} {per}",
        f"newtons (up to {MAX_FORCE_N:g}, with gains from {low:g} to {high:g}): these look like {unit}. Write the line "
        f"'# force_unit: {unit}' above the table, or '# force_unit: N' if they are newtons",
    )


def predict(presses: Presses, fitted: Fitted, learned: LearnedPad | None, top: float) -> FloatArray:
    """Counts in every row. Shape (t, n)."""
    if learned is None:
        return fitted.predict(presses, top_counts=top)
    load = presses.taxel_load_n(fitted.depth_m)
    states = learned.through(load, presses.step_s)
    return np.minimum(learned.read(states, around(presses.pad, load), presses.time_s), top)


def top_counts(presses: Presses) -> float:
    """Where readings end: the largest one, if they crowd there; infinite if they do not."""
    most = float(presses.counts.max())
    return most if np.sum(presses.counts >= most) > 3 * presses.pad.taxels else np.inf


def noise_at_rest(presses: Presses) -> FloatArray:
    """Standard deviation of each taxel's readings before they are rounded, from their changes at rest. Shape (n,)."""
    resting = presses.usable & (presses.load_n <= 0.0)
    change = np.diff(presses.counts[resting], axis=0) / presses.step_counts
    variance = np.mean(np.minimum(change**2, 9.0 * np.median(change**2, axis=0) + 1.0), axis=0) / 2.0
    # Rounding adds 1/12 to the variance of large noise; small noise shows only near the edge between two counts,
    # and any place between edges is as likely: sigma / sqrt(pi) on average.
    small = variance < 1.0 / 6.0
    sigma = np.where(small, np.sqrt(np.pi) * variance, np.sqrt(np.maximum(variance - 1.0 / 12.0, 0.0)))
    return presses.step_counts * sigma


def pad_calibration(presses: Presses, fitted: Fitted, learned: LearnedPad | None) -> PadCalibration:
    """The same as the twin takes it."""
    pad, top = presses.pad, top_counts(presses)

    def rows(values: FloatArray) -> tuple[tuple[float, ...], ...]:
        return tuple(tuple(float(f"{x:.6g}") for x in row) for row in values.reshape(pad.rows, pad.cols))

    def short(value: float) -> float:
        return float(f"{value:.6g}")

    with np.errstate(divide="ignore"):
        ceiling = np.where(fitted.bend > 0.0, 1.0 / np.maximum(fitted.bend, 1e-12), np.inf)
    own = {
        "depth": short(fitted.depth_m),
        "gain": rows(fitted.gain),
        "offset": rows(fitted.offset),
        "offset_spread": 0.0,
        "noise": rows(noise_at_rest(presses)),
    }
    common = PadCalibration(
        **{SENSOR_FIELDS[pad.sensor][name]: value for name, value in own.items()},
        gain_spread=0.0,
        hysteresis=rows(fitted.hysteresis),
        hysteresis_s=short(fitted.fade_s),
        crosstalk=rows(fitted.crosstalk),
        play=rows(fitted.play),
        play_width=short(fitted.width_n),
        ceiling=rows(ceiling),
        knee=short(fitted.knee),
        drift=rows(fitted.drift),
        drift_s=short(fitted.drift_s),
        learned=learned,
        dead=tuple((int(taxel) // pad.cols, int(taxel) % pad.cols) for taxel in np.flatnonzero(~presses.live)),
    )
    if pad.sensor == "barometer":
        return common
    return replace(
        common,
        lowest_counts=min(0.0, float(presses.counts.min())),
        saturation_counts=top if np.isfinite(top) else max(4095.0, float(presses.counts.max())),
    )
