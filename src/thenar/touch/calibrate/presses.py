"""A recording as the fits see it: one pad, where and how hard it is pressed, and which rows belong to which press."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np

from thenar.arrays import BoolArray, FloatArray, IntArray
from thenar.errors import look_up
from thenar.hands.spec import Pad
from thenar.touch.calibrate.press_recording import Recording
from thenar.touch.sensor.receptive import neighbors, point_shares

PRESSED = 0.02  # of the largest force: less is no press
SAME_PLACE_M = 5e-5
MIN_REACH = 0.3  # of the load the most loaded taxel was shown: with less, nothing is known of a full one
DEAD = 0.1  # of what most taxels read: a taxel that reads less is dead


@dataclass(frozen=True, kw_only=True, eq=False)
class Presses:
    """One pad of a recording. Shapes use t = rows, n = taxels, p = places."""

    pad: Pad
    probe_m: float
    time_s: FloatArray
    step_s: FloatArray
    load_n: FloatArray
    """Force on this pad [N]. Shape (t,)."""
    counts: FloatArray
    """Readings, of barometers in pascals. Shape (t, n)."""
    step_counts: float
    """What the smallest step of a reading is worth in them."""
    places_m: FloatArray
    """Every place that is pressed. Shape (p, 2)."""
    place: IntArray
    """Number of each row's place. Shape (t,)."""
    usable: BoolArray
    """False while another pad is pressed. Shape (t,)."""
    press: IntArray
    """Number of the press each row belongs to, with half of the rest before and after it. Shape (t,)."""
    live: BoolArray
    """False for taxels that were pressed and read nothing. Shape (n,)."""
    force_unit: str
    """As in the recording."""

    @property
    def count(self) -> int:
        """Number of presses."""
        return int(self.press[-1]) + 1

    def taxel_load_n(self, depth_m: float) -> FloatArray:
        """Load that arrives at every taxel [N, of barometers Pa]. Shape (t, n)."""
        return self.load_n[:, None] * _shares(self, depth_m)[self.place]

    def neighbor_load_n(self, taxel_load_n: FloatArray) -> FloatArray:
        """Load of the taxels that share an edge with each [N]. Shape (t, n)."""
        return taxel_load_n @ neighbors(self.pad)


@lru_cache(maxsize=4)  # a fit asks for the same depth several times a step
def _shares(presses: Presses, depth_m: float) -> FloatArray:
    """What arrives at every taxel of a load at every place. Shape (p, n)."""
    return point_shares(presses.pad, presses.places_m, depth_m, probe_m=presses.probe_m)


def presses_on(recording: Recording, pad: Pad) -> Presses:
    """The part of a recording that concerns one pad."""
    load_n = recording.load_n(pad.name)
    pressed = load_n > PRESSED * load_n.max(initial=0.0)
    cells = np.round(recording.at_m / SAME_PLACE_M).astype(np.int64)
    cells[load_n <= 0.0] = 0
    places, place = np.unique(cells, axis=0, return_inverse=True)
    place = place.ravel().astype(np.int64)
    moved = np.abs(np.diff(cells, axis=0, prepend=cells[:1])).sum(axis=1) > 1.0e-3 / SAME_PLACE_M  # lifted and set anew
    start = np.flatnonzero(pressed & (np.concatenate([[True], ~pressed[:-1]]) | moved))
    end = np.array([np.flatnonzero(pressed[: stop + 1])[-1] if pressed[: stop + 1].any() else 0 for stop in start - 1])
    press = np.zeros(len(load_n), dtype=np.int64)
    for before, after in zip(end[1:], start[1:], strict=True):
        press[(before + after + 1) // 2 :] += 1
    presses = Presses(
        pad=pad,
        probe_m=recording.probe_m,
        time_s=recording.time_s,
        step_s=recording.step_s,
        load_n=load_n,
        counts=look_up(recording.counts, pad.name, "pad in the recording"),
        step_counts=recording.count_pa,
        places_m=places.astype(np.float64) * SAME_PLACE_M,
        place=place,
        usable=(recording.force_n <= 0.0) | (recording.pad == pad.name),
        press=press,
        live=np.ones(pad.taxels, dtype=bool),
        force_unit=recording.force_unit,
    )
    return replace(presses, live=_live(presses)) if pressed.any() else presses


def _live(presses: Presses) -> BoolArray:
    """Which taxels read more when they are pressed, or were not pressed enough to tell. Shape (n,)."""
    rise, most = rise_per_load(presses)
    pressed = most >= MIN_REACH * most.max()
    return ~pressed | (rise > DEAD * np.percentile(rise[pressed], 75.0))


def rise_per_load(presses: Presses) -> tuple[FloatArray, FloatArray]:
    """About how much each taxel's reading rises per newton (per pascal of a die), and its largest load. Shapes (n,)."""
    load = presses.taxel_load_n(0.5 * min(presses.pad.row_pitch_m, presses.pad.col_pitch_m))
    most = load.max(axis=0)
    firm = (load > 0.5 * most) & presses.usable[:, None]
    resting = presses.usable & (presses.load_n <= 0.0)
    rest = np.median(presses.counts[resting if resting.any() else ~firm.any(axis=1)], axis=0)
    rise = [
        np.median(presses.counts[rows, taxel] - rest[taxel]) / np.median(load[rows, taxel]) if rows.any() else 0.0
        for taxel, rows in enumerate(firm.T)
    ]
    return np.array(rise), most
