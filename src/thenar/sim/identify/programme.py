"""Ten minutes of motions from which the motors of a hand can be known, as commands over time."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from thenar.arrays import FloatArray
from thenar.hands.spec import HandSpec

FREE_LIMIT_N = 2.0  # while nothing is to be met
REACH = {"thumb_bend": 0.72}
"""Share of its stroke that a motor of a bare hand is sent: by two published laws a thumb meets its palm at 0.8."""
PRESSES = ((0.1, 1.5, 3), (0.15, 1.5, 5))
"""Speed, limit [N] and how often: a motor stops late, and by then no more than 8 N are on the slowest known hand."""
SLOW_PRESS, SLOW_PRESSES = (0.05, 4.0), 8  # speed and limit [N]: what load takes from the speed shows over a long way
BACK = 0.05  # strokes from what it met, before each of them
MEETING_SPEED = 0.12  # of a finger that goes to another
NUDGES = (0.010, 0.017, 0.024, 0.031, 0.038, 0.045, 0.041, 0.038, 0.031, 0.024, 0.017)
"""How far beyond the finger that something holds up its screw is sent, in strokes: standing there tells the spring."""
NUDGE_LIMIT_N = 8.0  # more than the stiffest known hand reads then: its screw must arrive
NUDGE_S = 1.2
ZIGZAGS = 20  # each turns back five times
WAIT_S = 0.45  # standing, after a motion


@dataclass(frozen=True, kw_only=True, eq=False)
class Step:
    """One command and how long to wait before the next."""

    phase: str
    closed: FloatArray
    """Closing fraction of each motor; NaN keeps."""
    speed: float
    """Fraction of the top speed."""
    limit_n: float
    wait_s: float
    contact: bool
    """Whether something is to be met on the way."""
    from_here: bool = False
    """Whether ``closed`` is counted from where each motor stands."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Phase:
    """Motions that belong together."""

    name: str
    tells: str
    before: str
    """What a person does before it; empty for nothing."""
    steps: tuple[Step, ...]

    @property
    def duration_s(self) -> float:
        """How long it takes [s]."""
        return sum(step.wait_s for step in self.steps)


def programme(hand: HandSpec) -> tuple[Phase, ...]:
    """The phases for a hand, in order: from slow to fast, and presses last."""
    thumb = np.array([name.startswith("thumb") for name in hand.actuator_names])
    stroke_s = max(1.0 / (a.top_speed_rad_s / a.stroke_rad) for a in hand.actuators)
    groups = [("fingers", ~thumb), ("thumb", thumb)]
    alone = [
        ("fingers", ~thumb),
        *((n, np.array(hand.actuator_names) == n) for n in hand.actuator_names if "thumb" in n),
    ]
    phases = []
    for name, moving in alone:
        make = _Maker(name, moving, stroke_s, REACH.get(name, 1.0))
        phases += [
            Phase(name=f"{name}: postures", tells="zero, noise, backlash", before="", steps=tuple(make.postures())),
            Phase(name=f"{name}: steps", tells="latency, speed, current", before="", steps=tuple(make.steps())),
            Phase(name=f"{name}: turning back", tells="acceleration", before="", steps=tuple(make.turns())),
        ]
    itself = Phase(name="meetings of thumb and fingers", tells="coupling law", before="", steps=tuple(meetings(hand)))
    phases.append(itself)
    press = "stiffness, stall force, reaction, current under load"
    bar = "lay a rigid bar of 20 to 40 mm across the palm, under all four fingers, and hold it fast"
    for (name, moving), before in zip(groups, (bar, "take the bar away"), strict=True):
        make = _Maker(name, moving, stroke_s)
        phases.append(Phase(name=f"{name}: presses", tells=press, before=before, steps=tuple(make.presses(thumb))))
    return tuple(phases)


def meetings(hand: HandSpec) -> Iterator[Step]:
    """The thumb goes to the closed fingers, and then index and middle, one after the other, to the bent thumb."""
    stroke_s = max(1.0 / (a.top_speed_rad_s / a.stroke_rad) for a in hand.actuators)
    closed, opened = (dict.fromkeys(hand.actuator_names, 0.0) for _ in range(2))
    fingers = dict.fromkeys((name for name in closed if "thumb" not in name), 1.0)
    index, middle = {"index": 1.0}, {"middle": 1.0}
    for change, meets in (
        (fingers, False), ({"thumb_bend": 1.0}, True), ({"thumb_bend": 0.0}, False), (opened, False),
        ({"thumb_rotation": 1.0}, False), ({"thumb_bend": 1.0}, True), (index, True), ({"index": 0.0}, False),
        (middle, True), ({"middle": 0.0}, False), (opened, False),
    ):  # fmt: skip
        closed |= change
        speed = MEETING_SPEED if meets else 0.5
        yield Step(
            phase="meetings", closed=np.array(list(closed.values())), speed=speed, limit_n=PRESSES[0][1],
            wait_s=0.2 + stroke_s / speed + WAIT_S, contact=True,
        )  # fmt: skip


@dataclass(frozen=True)
class _Maker:
    name: str
    moving: np.ndarray
    stroke_s: float
    reach: float = 1.0

    def _step(self, closed: float, speed: float, wait_s: float | None = None, distance: float = 1.0) -> Step:
        travel_s = 0.2 + distance * self.stroke_s / speed
        return Step(
            phase=self.name,
            closed=np.where(self.moving, self.reach * closed, 0.0),
            speed=speed,
            limit_n=FREE_LIMIT_N,
            wait_s=travel_s + WAIT_S if wait_s is None else wait_s,
            contact=False,
        )

    def postures(self) -> Iterator[Step]:
        yield self._step(0.0, 0.3, wait_s=2.5)
        for closed in (0.1, 0.3, 0.5, 0.7, 0.9, 1.0, 0.9, 0.7, 0.5, 0.3, 0.1, 0.0):
            yield self._step(closed, 0.3, wait_s=0.2 + 0.2 * self.stroke_s / 0.3 + 1.6)

    def steps(self) -> Iterator[Step]:
        for speed, times in ((0.25, 2), (0.5, 3), (1.0, 6)):
            for _ in range(times):
                yield self._step(0.8, speed, distance=0.8)
                yield self._step(0.0, speed, distance=0.8)

    def turns(self) -> Iterator[Step]:
        for _ in range(ZIGZAGS):
            yield self._step(0.95, 1.0, wait_s=0.35 * self.stroke_s)
            for _ in range(2):
                yield self._step(0.0, 1.0, wait_s=0.3 * self.stroke_s)
                yield self._step(0.95, 1.0, wait_s=0.3 * self.stroke_s)
            yield self._step(0.0, 1.0, distance=0.45)

    def presses(self, thumb: np.ndarray) -> Iterator[Step]:
        if self.name == "thumb":  # it meets the closed fingers
            others = np.where(thumb, np.nan, 1.0)
            yield Step(phase=self.name, closed=others, speed=0.3, limit_n=FREE_LIMIT_N, wait_s=3.0, contact=False)
        for number, (speed, limit_n, times) in enumerate(PRESSES):
            for _ in range(times):
                yield self._press(1.0, speed, limit_n)
                for nudge in NUDGES if number == 0 else ():
                    yield self._press(nudge, speed, NUDGE_LIMIT_N, NUDGE_S, from_here=True)
                yield self._press(0.0, 0.5, limit_n)
        speed, limit_n, _ = PRESSES[0]
        yield self._press(1.0, speed, limit_n)
        for _ in range(SLOW_PRESSES):
            yield self._press(-BACK, 0.5, limit_n, NUDGE_S, from_here=True)
            yield self._press(1.0, *SLOW_PRESS, 0.2 + 4.0 * BACK * self.stroke_s / SLOW_PRESS[0] + WAIT_S)
        yield self._press(0.0, 0.5, limit_n)

    def _press(
        self, closed: float, speed: float, limit_n: float, wait_s: float | None = None, *, from_here: bool = False
    ) -> Step:
        return Step(
            phase=self.name,
            closed=np.where(self.moving, closed, np.nan),
            speed=speed,
            limit_n=limit_n,
            wait_s=0.2 + self.stroke_s / speed + WAIT_S if wait_s is None else wait_s,
            contact=True,
            from_here=from_here,
        )
