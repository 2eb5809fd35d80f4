"""What to record with a real hand: a plan of presses on a pad, and how far a recording has come with it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from thenar.hands.pads import taxel_grid
from thenar.hands.spec import Pad
from thenar.touch.recording import Recording

FloatArray = NDArray[np.float64]

REST_S = 20.0
WHOLE_S = 480.0
SPREAD = 9  # places for slow work, spread over a pad
NEAR = 0.35  # of a taxel: how close to its middle a press counts as on it


@dataclass(frozen=True, kw_only=True)
class Press:
    """One touch of the probe: where, and the force over time as corners of straight lines."""

    at_m: tuple[float, float]
    corners: tuple[tuple[float, float], ...]
    """Seconds since its start, and share of the full force."""

    @property
    def lasts_s(self) -> float:
        """How long it takes [s]."""
        return self.corners[-1][0]


@dataclass(frozen=True, kw_only=True)
class Step:
    """One thing to do."""

    name: str
    say: str
    presses: tuple[Press, ...] = ()
    until_s: float = 0.0
    """Then leave the skin alone until so long after switching on [s]."""


def plan(pad: Pad) -> tuple[Step, ...]:
    """Everything to record on one pad, in order."""
    middles, corners = _middles(pad), _between(pad)
    spread = [middles[k] for k in np.linspace(0, len(middles) - 1, min(SPREAD, len(middles))).round().astype(int)]
    slow = ((0.0, 0.0), (1.5, 1.0), (3.0, 1.0), (4.5, 0.0), (5.5, 0.0))
    half = ((0.0, 0.0), (0.7, 0.55), (1.0, 0.55), (1.6, 0.0), (2.2, 0.0))
    quick = ((0.0, 0.0), (0.25, 0.8), (0.4, 0.8), (0.6, 0.0), (1.5, 0.0))
    ladder = ((0.0, 0.0), (1.5, 1.0), (2.5, 0.4), (3.5, 0.9), (4.5, 0.2), (6.0, 0.7), (7.5, 0.0), (9.0, 0.0))
    hold = ((0.0, 0.0), (1.0, 0.7), (31.0, 0.7), (31.5, 0.0), (51.5, 0.0))
    return (
        Step(
            name="rest",
            say=f"Switch the hand on, touch nothing, and record for {REST_S:g} s.",
            until_s=REST_S,
        ),
        Step(
            name="each taxel",
            say=f"Press on the middle of each of the {len(middles)} taxels: up to full force in 1.5 s, hold for 1.5 s, "
            "off again in 1.5 s, 1 s of rest.",
            presses=tuple(Press(at_m=at, corners=slow) for at in middles),
        ),
        Step(
            name="between",
            say=f"Press to about half of full force at {len(corners)} places between taxels, on and off within 2 s.",
            presses=tuple(Press(at_m=at, corners=half) for at in corners),
        ),
        Step(
            name="again",
            say="Once more on the middle of each taxel, to about half of full force, within 2 s.",
            presses=tuple(Press(at_m=at, corners=half) for at in middles),
        ),
        Step(
            name="quick",
            say=f"At {len(spread)} taxels far apart: a quick press to 80 % within half a second.",
            presses=tuple(Press(at_m=at, corners=quick) for at in spread),
        ),
        Step(
            name="loops",
            say=f"At the same {len(spread)} taxels: up to full, down to 40 %, up to 90 %, down to 20 %, up to 70 %, off.",
            presses=tuple(Press(at_m=at, corners=ladder) for at in spread),
        ),
        Step(
            name="hold",
            say="At two of them: 70 % of full force for 30 s, then 20 s of rest.",
            presses=tuple(Press(at_m=at, corners=hold) for at in (spread[len(spread) // 2], spread[-1])),
        ),
        Step(
            name="last rest",
            say=f"Touch nothing until {WHOLE_S:g} s after switching on, {REST_S:g} s at least. A few quick presses on the "
            "way do no harm.",
            until_s=WHOLE_S,
        ),
    )


def follow(steps: tuple[Step, ...], *, rate_hz: float) -> tuple[FloatArray, FloatArray, FloatArray]:
    """What a robot that follows the plan would do: time [s], places [m] and share of the full force, row by row."""
    time_s, times, shares, places = 0.0, [0.0], [0.0], [(0.0, 0.0)]
    for step in steps:
        for press in step.presses:
            times.append(time_s + 1e-6)
            shares.append(0.0)
            places.append(press.at_m)
            for at_s, share in press.corners[1:]:
                times.append(time_s + at_s)
                shares.append(share)
                places.append(press.at_m)
            time_s += press.lasts_s
        if step.until_s:
            time_s = max(time_s + (REST_S if step.presses == () and time_s > REST_S else 0.0), step.until_s)
            times.append(time_s)
            shares.append(0.0)
            places.append(places[-1])
    rows = np.arange(0.0, time_s, 1.0 / rate_hz)
    corner = np.searchsorted(times, rows, side="left").clip(0, len(times) - 1)
    return rows, np.array(places)[corner], np.interp(rows, times, shares)


@dataclass(frozen=True, kw_only=True)
class Progress:
    """How far one step has come."""

    step: str
    done: int
    of: int
    missing: str
    """What to do next for it; empty when it is satisfied."""

    @property
    def satisfied(self) -> bool:
        """True when nothing is missing."""
        return self.done >= self.of


def _middles(pad: Pad) -> list[tuple[float, float]]:
    u, v = (grid.ravel() for grid in taxel_grid(pad))
    return list(zip(u.tolist(), v.tolist(), strict=True))


def _between(pad: Pad) -> list[tuple[float, float]]:
    """Corners where four taxels meet, or edges where a pad is one taxel wide; at most as many as taxels, evenly."""
    u = (np.arange(max(pad.rows - 1, 1)) - (max(pad.rows - 1, 1) - 1) / 2) * pad.row_pitch_m
    v = (np.arange(max(pad.cols - 1, 1)) - (max(pad.cols - 1, 1) - 1) / 2) * pad.col_pitch_m
    every = [(float(a), float(b)) for a in u for b in v]
    return [every[k] for k in np.linspace(0, len(every) - 1, min(24, len(every))).round().astype(int)]
