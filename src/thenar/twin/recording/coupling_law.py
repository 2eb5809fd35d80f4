"""Which published law couples the joints of a hand, from where its fingers meet each other.

No wire tells the angles of coupled joints. But where a thumb meets a closed finger, or a finger the thumb, hangs on
them. So every law's twin is told what the hand was told, and stands somewhere; the hand stood somewhere too.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from thenar.arrays import FloatArray
from thenar.hands import with_variant
from thenar.hands.spec import Coupling, HandSpec
from thenar.signals import HandCommand
from thenar.sim.identify.moves import Track, stands
from thenar.twin.world import World

SHORT = 0.05  # strokes from its target: a motor that stands so and pushes meets something
PUSHES_N, FREE_N = 1.2, 0.9  # more than a zero and the weight of a finger make
ARRIVED = 0.03  # strokes
GEOMETRY = 0.02  # strokes: about 2 mm at a fingertip, which shapes of fingers may be off
UNEXPLAINED = 3.0  # standard deviations: what no law comes nearer to is no finger
MAX_GAP = 4.0  # and what counts of one meeting at most
RULED_OUT = 3.0  # log likelihood below the best: 20 to 1
MAX_EVENTS = 8  # that are done again with every law
READ_S, STEP_S = 0.1, 0.01
ADVICE = (
    "close the fingers of the bare hand and bend the thumb slowly until it meets them; then open them, turn the thumb "
    "across the palm, bend it, and close index and middle slowly until they meet it"
)
LIMITS_ADVICE = "measure the angle of the first link of a finger with a goniometer at the counts 0 and 1000"
"""What tells the limits of joints: a wire's counts are shares of a range that it does not tell."""


@dataclass(frozen=True, kw_only=True)
class Meeting:
    """A motor that stood before its target, pushing."""

    motor: str
    closed: float
    """Where it stood, as a closing fraction."""
    by_law: Mapping[str, float]
    """Where the twin of each law stood."""


@dataclass(frozen=True, kw_only=True)
class CouplingVerdict:
    """Laws that fit, and those that do not."""

    fit: tuple[str, ...] = ()
    """The likeliest first; empty where nothing tells."""
    ruled_out: Mapping[str, float] = field(default_factory=dict)
    """How many times less likely than the best each other is, as a logarithm."""
    meetings: tuple[Meeting, ...] = ()
    """What told."""
    refused: str = ""
    """Why nothing is known, with the motion that would tell."""

    def __str__(self) -> str:
        if self.refused:
            return f"coupling law: {self.refused}"
        other = ", ".join(self.ruled_out) or "none"
        return f"coupling law: {' or '.join(self.fit)} ({len(self.meetings)} meetings; ruled out: {other})"


@dataclass(frozen=True, kw_only=True, eq=False)
class _Event:
    """The hand stands and at least one motor meets something; how it came there, from standing freely."""

    start: FloatArray
    command_s: FloatArray
    """Since the first of them [s]. Shape (c,)."""
    target: FloatArray
    speed: FloatArray
    limit_n: FloatArray
    """Shapes (c, motors)."""
    end_s: float
    met: Mapping[int, float]
    """Closing fraction by number of the motor."""

    @property
    def key(self) -> tuple[object, ...]:
        """The same for meetings that came about alike."""
        return (*np.round(self.start, 2), *np.round(self.target, 2).ravel(), *self.met)


def fit_coupling(tracks: Sequence[Sequence[Track]], hand: HandSpec) -> CouplingVerdict:
    """Hold all published laws against where motors met something.

    Args:
        tracks: Recordings of each motor, in the hand's order.
        hand: What the catalogue has of it.
    """
    laws = [name for name, parts in hand.variants.items() if all(isinstance(part, Coupling) for part in parts)]
    if len(laws) < 2:
        return CouplingVerdict(refused=f"only one is published for {hand.name}")
    events: dict[tuple[object, ...], list[_Event]] = {}
    for number in range(min(map(len, tracks))):
        for event in _find_events([own[number] for own in tracks]):
            events.setdefault(event.key, []).append(event)
    # What took few commands and little time is done again soon, and says as much as anything else.
    shortest = sorted(events, key=lambda key: (len(events[key][0].command_s), events[key][0].end_s))
    alike: Counter[tuple[int, ...]] = Counter()  # presses of one thumb must not take the place of all other meetings
    rank = {}
    for key in shortest:
        who = tuple(events[key][0].met)
        rank[key], alike[who] = alike[who], alike[who] + 1
    events = {key: events[key] for key in sorted(shortest, key=rank.__getitem__)[:MAX_EVENTS]}
    once = [same[0] for same in events.values()]
    stood = {law: _stand(with_variant(hand, law), once) for law in laws}
    meetings = []
    for number, same in enumerate(events.values()):
        for motor in same[0].met:
            by_law = {law: float(stood[law][number][motor]) for law in laws}
            closed = float(np.mean([one.met[motor] for one in same]))
            meetings.append(Meeting(motor=hand.actuator_names[motor], closed=closed, by_law=by_law))
    return judge_meetings(meetings, laws)


def judge_meetings(meetings: Sequence[Meeting], laws: Sequence[str]) -> CouplingVerdict:
    """Laws that are not less likely than the best by far; what no law explains was no finger."""
    gaps = [{law: (one.by_law[law] - one.closed) / GEOMETRY for law in laws} for one in meetings]
    told = [k for k, gap in enumerate(gaps) if min(map(abs, gap.values())) < UNEXPLAINED and _differ(gap)]
    if not told:
        why = "meets nothing of itself" if not meetings else "no published law explains where fingers met something"
        return CouplingVerdict(refused=f"{why}; {ADVICE}")
    # Shapes are wrong in the same way whenever the same finger meets something: a motor counts once.
    own = {meetings[k].motor: [j for j in told if meetings[j].motor == meetings[k].motor] for k in told}
    likely = {
        law: -0.5 * sum(float(np.mean([min(abs(gaps[k][law]), MAX_GAP) ** 2 for k in same])) for same in own.values())
        for law in laws
    }
    best = max(likely.values())
    order = sorted(laws, key=lambda law: -likely[law])
    return CouplingVerdict(
        fit=tuple(law for law in order if best - likely[law] < RULED_OUT),
        ruled_out={law: best - likely[law] for law in order if best - likely[law] >= RULED_OUT},
        meetings=tuple(meetings[k] for k in told),
    )


def _differ(gap: Mapping[str, float]) -> bool:
    return max(gap.values()) - min(gap.values()) > 1.0


def _find_events(own: Sequence[Track]) -> Iterator[_Event]:
    """Of one recording: every time before a command when the hand stands and meets something."""
    times = own[0].command_s
    if not times.size:
        return
    stood = []  # the newest command, until when, and what was read then
    for k, until_s in enumerate(np.append(times[1:], own[0].stamp_s[-1])):
        if all(stands(track, until_s) for track in own):
            rows = slice(*np.searchsorted(own[0].stamp_s, (until_s - READ_S, until_s)))
            closed, force = ([getattr(track, name)[rows].mean() for track in own] for name in ("closed", "force_n"))
            stood.append((k, until_s, np.array(closed), np.array(force), np.array([track.target[k] for track in own])))
    if not stood:
        return
    arrived = np.array([np.abs(closed - target) < ARRIVED for _, _, closed, _, target in stood])
    forces = np.ma.masked_array([force for _, _, _, force, _ in stood], ~arrived)
    usual = np.ma.filled(np.ma.median(forces, axis=0), 0.0)  # of what arrived: its zero and its weight
    free = None  # the first command after the hand stood freely
    for k, until_s, closed, load, target in stood:
        force = load - usual
        if np.all(np.abs(closed - target) < ARRIVED) and np.all(np.abs(force) < FREE_N):
            free = k + 1
            continue
        met = np.flatnonzero((target - closed > SHORT) & (force > PUSHES_N))
        if free is not None and met.size:
            commands = slice(free, k + 1)
            yield _Event(
                start=np.array([track.target[free - 1] for track in own]),
                command_s=times[commands] - times[free],
                target=np.stack([track.target[commands] for track in own], axis=1),
                speed=np.stack([track.speed[commands] for track in own], axis=1),
                limit_n=np.stack([track.limit_n[commands] for track in own], axis=1),
                end_s=float(until_s - times[free]),
                met={int(motor): float(closed[motor]) for motor in met},
            )


def _stand(hand: HandSpec, events: Sequence[_Event]) -> list[FloatArray]:
    """Closing fractions of a hand at the end of every event."""
    world = World(hand)  # where a motor meets something does not hang on what the motor is like
    stroke = hand.closed_rad - hand.open_rad
    found = []
    for event in events:
        world.reset()
        world.command(hand.name, HandCommand.to(hand.open_rad + stroke * event.start))
        world.advance(2.0)
        begin_s, read = world.time_s, []
        for k, at_s in enumerate(event.command_s):
            _advance_to(world, begin_s + float(at_s))
            told = hand.open_rad + stroke * event.target[k], hand.top_speed_rad_s * event.speed[k], event.limit_n[k]
            world.command(hand.name, HandCommand(target_rad=told[0], speed_rad_s=told[1], force_limit_n=told[2]))
        _advance_to(world, begin_s + event.end_s - READ_S)
        while world.time_s < begin_s + event.end_s - 1e-6:
            world.advance(STEP_S)
            read.append((world.state(hand.name).angle_rad - hand.open_rad) / stroke)
        found.append(np.mean(read, axis=0))
    return found


def _advance_to(world: World, time_s: float) -> None:
    if time_s > world.time_s:
        world.advance(time_s - world.time_s)
