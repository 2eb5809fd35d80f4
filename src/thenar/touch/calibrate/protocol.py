"""What to record with a real hand: a plan of presses on a pad. `checklist.py` sees how far a recording has come."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from thenar.arrays import BoolArray, FloatArray
from thenar.hands.pad_charts import taxel_grid
from thenar.hands.spec import Pad

REST_S = 20.0
WHOLE_S = 480.0
MIN_TOUCHES = 6  # of a step: small pads are pressed more than once
SPREAD = 9  # places for slow work, spread over a pad

Corners: TypeAlias = tuple[tuple[float, float], ...]
HALF_FORCE: Corners = ((0.0, 0.0), (0.7, 0.55), (1.0, 0.55), (1.6, 0.0), (2.2, 0.0))
FORCES: dict[str, Corners] = {
    "each taxel": ((0.0, 0.0), (1.5, 1.0), (3.0, 1.0), (4.5, 0.0), (5.5, 0.0)),
    "between": HALF_FORCE,
    "again": HALF_FORCE,
    "quick": ((0.0, 0.0), (0.25, 0.8), (0.4, 0.8), (0.6, 0.0), (1.5, 0.0)),
    "loops": ((0.0, 0.0), (1.5, 1.0), (2.5, 0.4), (3.5, 0.9), (4.5, 0.2), (6.0, 0.7), (7.5, 0.0), (9.0, 0.0)),
    "hold": ((0.0, 0.0), (1.0, 0.7), (31.0, 0.7), (31.5, 0.0), (51.5, 0.0)),
}
"""Force over time in the presses of each step, in their order."""
ELSEWHERE: tuple[Corners, ...] = (
    ((0.0, 0.0), (0.8, 0.35), (1.6, 0.35), (2.4, 0.0), (3.4, 0.0)),
    ((0.0, 0.0), (1.4, 0.9), (2.4, 0.9), (2.9, 0.5), (3.5, 0.5), (4.0, 0.0), (5.0, 0.0)),
    ((0.0, 0.0), (0.4, 0.75), (1.6, 0.75), (2.1, 0.55), (3.0, 0.55), (3.3, 0.0), (4.3, 0.0)),
)
"""Force over time in presses to test with: one after the other, in turn, as long at large forces as at small ones."""
ELSEWHERE_PRESSES = 36
OFF = 0.1  # of a taxel: farther from every place to learn from, a press is one to test with


@dataclass(frozen=True, kw_only=True)
class Press:
    """One touch of the probe: where, and the force over time as corners of straight lines."""

    at_m: tuple[float, float]
    corners: Corners
    """Seconds since its start, and share of the full force."""

    @property
    def lasts_s(self) -> float:
        """How long it takes [s]."""
        return self.corners[-1][0]


@dataclass(frozen=True, kw_only=True)
class Step:
    """One thing to do."""

    name: str
    instruction: str
    presses: tuple[Press, ...] = ()
    until_s: float = 0.0
    """Then leave the skin alone until so long after switching on [s]."""


def plan(pad: Pad) -> tuple[Step, ...]:
    """Everything to record on one pad, in order."""
    centres, beside = middles(pad), between(pad)
    spread = [centres[k] for k in np.linspace(0, len(centres) - 1, min(SPREAD, len(centres))).round().astype(int)]
    times = max(1, -(-MIN_TOUCHES // len(centres)))
    often = "" if times == 1 else f" {times} times each."
    places = {
        "each taxel": centres * times,
        "between": beside,
        "again": centres * times,
        "quick": spread,
        "loops": spread * times,
        "hold": [spread[len(spread) // 2], spread[-1]],
    }
    instructions = {
        "each taxel": f"Press on the middle of each of the {len(centres)} taxels: up to full force in 1.5 s, "
        "hold for 1.5 s, off again in 1.5 s, 1 s of rest." + often,
        "between": f"Press to about half of full force at {len(beside)} places beside the middles, within 2 s.",
        "again": "Once more on the middle of each taxel, to about half of full force, within 2 s." + often,
        "quick": f"At {len(spread)} taxels far apart: a quick press to 80 % within half a second.",
        "loops": f"At the same {len(spread)}: up to full, down to 40 %, up to 90 %, down to 20 %, up to 70 %, off."
        + often,
        "hold": "Twice, at different taxels where there are several: 70 % of full force for 30 s, then 20 s of rest.",
    }
    pressed = [
        Step(
            name=name,
            instruction=instructions[name],
            presses=tuple(Press(at_m=at, corners=FORCES[name]) for at in places[name]),
        )
        for name in FORCES
    ]
    tests = [Press(at_m=at, corners=ELSEWHERE[number % len(ELSEWHERE)]) for number, at in enumerate(anywhere(pad))]
    half = len(tests) // 2  # some early and some late: the skin drifts meanwhile
    elsewhere = (
        f"At {half} places anywhere between those, to 35, 90 and 75 % of full force in turn, held for a second, within "
        "5 s. "
        "The calibration is tested with them."
    )
    rest = f"Switch the hand on, touch nothing, and record for {REST_S:g} s."
    last = f"Touch nothing until {WHOLE_S:g} s after switching on, {REST_S:g} s at least."
    return (
        Step(name="rest", instruction=rest, until_s=REST_S),
        # A skin that was never pressed firmly since it was switched on remembers less: that is tested, too.
        Step(name="elsewhere", instruction=elsewhere, presses=tuple(tests[:half])),
        *pressed,
        Step(name="elsewhere, late", instruction=elsewhere, presses=tuple(tests[half:])),
        Step(name="last rest", instruction=last, until_s=WHOLE_S),
    )


def follow(steps: tuple[Step, ...], *, rate_hz: float) -> tuple[FloatArray, FloatArray, FloatArray]:
    """What a robot that follows the plan would do: time [s], places [m] and share of the full force, row by row."""
    time_s = 0.0
    corners = [(0.0, 0.0, (0.0, 0.0))]  # time, share, place
    for step in steps:
        for press in step.presses:
            corners.append((time_s + 1e-6, 0.0, press.at_m))
            corners += [(time_s + at_s, share, press.at_m) for at_s, share in press.corners[1:]]
            time_s += press.lasts_s
        if step.until_s:
            time_s = max(time_s + (REST_S if step.presses == () and time_s > REST_S else 0.0), step.until_s)
            corners.append((time_s, 0.0, corners[-1][2]))
    times, shares, places = zip(*corners, strict=True)
    rows = np.arange(0.0, time_s, 1.0 / rate_hz)
    corner = np.searchsorted(times, rows, side="left").clip(0, len(times) - 1)
    return rows, np.array(places)[corner], np.interp(rows, times, shares)


def middles(pad: Pad) -> list[tuple[float, float]]:
    """Middles of all taxels [m], row by row."""
    u, v = (grid.ravel() for grid in taxel_grid(pad))
    return list(zip(u.tolist(), v.tolist(), strict=True))


def between(pad: Pad) -> list[tuple[float, float]]:
    """Places beside the middles of taxels [m], at most 24.

    Where taxels lie close together, the corners at which they meet. In a single row they lie far apart: the edges at
    which they meet, and places a quarter of the way there, where a buried sensor still feels what is not above it.
    """
    u = (np.arange(pad.rows - 1) - (pad.rows - 2) / 2) * pad.row_pitch_m
    v = (np.arange(pad.cols - 1) - (pad.cols - 2) / 2) * pad.col_pitch_m
    if pad.rows > 1 and pad.cols > 1:
        every = [(float(a), float(b)) for a in u for b in v]
        return [every[k] for k in np.linspace(0, len(every) - 1, min(24, len(every))).round().astype(int)]
    edges = [(float(a), 0.0) for a in u] + [(0.0, float(b)) for b in v]
    aside = 0.25 * min(pad.row_pitch_m, pad.col_pitch_m)
    quarters = [(u + aside * (-1) ** k, v) for k, (u, v) in enumerate(middles(pad))]
    across = [(u, v + aside) for u, v in middles(pad)]
    return [*edges, *quarters, *across][:24]


def anywhere(pad: Pad) -> list[tuple[float, float]]:
    """Places all over a pad [m] that are none to learn from, evenly spread: a sequence of the plastic number."""
    reach = np.array([(pad.rows - 0.6) * pad.row_pitch_m, (pad.cols - 0.6) * pad.col_pitch_m])
    steps = np.array([0.7548776662, 0.5698402910])
    places = (np.arange(1.0, 10.0 * ELSEWHERE_PRESSES)[:, None] * steps % 1.0 - 0.5) * reach
    places = places[off_the_middles(pad, places)][:ELSEWHERE_PRESSES]
    return [(float(u), float(v)) for u, v in places]


def off_the_middles(pad: Pad, places_m: FloatArray) -> BoolArray:
    """Which places are neither middles nor those beside them that the plan learns from. Shape (p,)."""
    known = np.array([*middles(pad), *between(pad)])
    away = np.abs(places_m[:, None] - known) / [pad.row_pitch_m, pad.col_pitch_m]
    return away.max(axis=2).min(axis=1) > OFF


def random_presses(pad: Pad, *, seed: int, presses: int = 40) -> tuple[Step, ...]:
    """Presses unlike those of the plan: anywhere, at any speed, with holds and half-way turns, to test with."""
    draws = np.random.default_rng([seed, 21])
    half = 0.5 * np.array([(pad.rows - 0.6) * pad.row_pitch_m, (pad.cols - 0.6) * pad.col_pitch_m])
    made = []
    for _ in range(presses):
        at = draws.uniform(-half, half)
        corners, time_s = [(0.0, 0.0)], 0.0
        for share in draws.uniform(0.15, 0.95, draws.integers(1, 5)):
            time_s += float(draws.uniform(0.2, 2.5))
            corners.append((time_s, float(share)))
            if draws.random() < 0.4:
                time_s += float(draws.uniform(0.2, 4.0))
                corners.append((time_s, float(share)))
        time_s += float(draws.uniform(0.15, 2.0))
        corners += [(time_s, 0.0), (time_s + float(draws.uniform(0.3, 4.0)), 0.0)]
        made.append(Press(at_m=(float(at[0]), float(at[1])), corners=tuple(corners)))
    return (Step(name="random", instruction="", presses=tuple(made)),)
