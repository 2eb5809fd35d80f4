"""Does a mirror name what differs, and nothing else? Hand and twin, other seeds, looked at as ``thenar mirror`` does.

``python -m bench.mirror --seconds 600 --glove FILE`` moves both as a person's glove says (a made one without a file),
hands the readings over with the wire's counts and the jitter of a network, and prints every finding that two looks in a
row agree on. ``--plant NAME`` puts a difference of `PLANTS` into the hand, ``--plant all`` each of them once, and says
when readings first showed it. Time is simulated: a busy machine changes nothing.
"""

from __future__ import annotations

import argparse
import json
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np

import thenar
from thenar import hands
from thenar.arrays import FloatArray
from thenar.hands.spec import HandSpec
from thenar.recordings.recording import JointColumns, MotorColumns
from thenar.recordings.ros_messages import REPORTED, TOLD
from thenar.touch.sensor.calibration import profile_of
from thenar.twin.compare.finding import Finding, in_one_grip
from thenar.twin.compare.mirror_link import LOOK_S, LOOKS, WINDOW_S
from thenar.twin.compare.motor_findings import find_motor_gaps, pair_motors
from thenar.twin.compare.rates import find_rate_gaps
from thenar.twin.compare.skin_findings import SkinSeries, find_skin_gaps
from thenar.units import GRAM_FORCE_N

HAND = "inspire_right"
STATE_S, COMMAND_S = 0.01, 0.02
STATE_HZ, TOUCH_HZ = 100.0, 50.0
JITTER_S = 0.0015  # mean of what a network and a busy reader add to a stamp of arrival
FAULT_S = 3.0  # when what breaks on the way does
BALL = thenar.Sphere(name="something", radius_m=0.025, pos_m=(0.0, 0.055, 0.045), fixed=True)

SHOWN = {"angle_rad": np.radians(2.0), "force_n": 0.3, "current_a": 0.03, "temperature_c": 3.0, "error": 0.5}
SHOWN_S = 0.3

Columns = dict[str, np.ndarray]


@dataclass(frozen=True, kw_only=True)
class Plant:
    """A difference: what is other in the hand, and which kinds of findings name it."""

    named: tuple[str, ...]
    part: str
    follows: tuple[str, ...] = ()
    """Kinds of findings that come with it."""
    spec: Callable[[HandSpec], HandSpec] = lambda spec: spec
    ball: bool = False
    touch: bool = False
    fault: tuple[str, str] | None = None
    """Part and kind, injected at `FAULT_S`; of a taxel without a part: the one that is pressed hardest."""
    alter: Callable[[Columns], Mapping[str, np.ndarray]] = field(default=lambda columns: {})
    """What the hand reports, otherwise than it is; angles as closing fractions."""
    lost: float = 0.0
    every: int = 1
    touch_lost: float = 0.0


def _motors(only: str = "", **changes: Callable[[float], float]) -> Callable[[HandSpec], HandSpec]:
    def changed(spec: HandSpec) -> HandSpec:
        other = (
            replace(a, motor=replace(a.motor, **{key: by(getattr(a.motor, key)) for key, by in changes.items()}))
            if only in ("", a.name)
            else a
            for a in spec.actuators
        )
        return replace(spec, actuators=tuple(other))

    return changed


def _friction(motor: str, more_nm: float) -> Callable[[HandSpec], HandSpec]:
    def changed(spec: HandSpec) -> HandSpec:
        driven = next(a.drives for a in spec.actuators if a.name == motor)
        joints = (replace(j, friction_nm=j.friction_nm + more_nm * (j.name == driven)) for j in spec.joints)
        return replace(spec, joints=tuple(joints))

    return changed


ALL = "every motor"
PLANTS = {
    "": Plant(named=(), part="", touch=True),
    "latency": Plant(named=("latency",), part=ALL, spec=_motors(latency_s=lambda s: s + 0.02)),
    "latency+40": Plant(named=("latency",), part=ALL, spec=_motors(latency_s=lambda s: s + 0.04)),
    "speed": Plant(named=("speed",), part=ALL, spec=_motors(full_stroke_s=lambda s: s / 0.9)),
    "slow ring": Plant(named=("speed",), part="ring", spec=_motors("ring", full_stroke_s=lambda s: s / 0.8)),
    "current": Plant(named=("current",), part="middle", spec=_motors("middle", drive_a=lambda a: a + 0.2)),
    "idle current": Plant(  # which warms it
        named=("current",), follows=("temperature",), part="index", spec=_motors("index", idle_a=lambda a: a + 0.15)
    ),
    "friction": Plant(  # whose finger starts later, by what its spring gives way first
        named=("friction",), follows=("latency",), part="index", spec=_friction("index", 0.03)
    ),
    "noise": Plant(named=("angle noise",), part="little", spec=_motors("little", angle_noise=lambda v: v + 0.012)),
    "stuck": Plant(named=("stuck",), follows=("error",), part="middle", fault=("middle", "jam")),
    "hot motor": Plant(named=("error",), follows=("stuck", "temperature"), part="ring", fault=("ring", "hot")),
    "object": Plant(named=("meets", "feels"), part="", ball=True, touch=True),
    "dead taxel": Plant(
        named=("dead taxel",), follows=("meets", "feels"), part="", ball=True, touch=True, fault=("", "dead")
    ),
    "stuck taxel": Plant(
        named=("stuck taxel",), part="middle_palm 3,1", touch=True, fault=("middle_palm 3 1", "stuck")
    ),
    "finger order": Plant(
        named=("finger order",),
        part="little,ring",
        alter=lambda now: {"angle_rad": now["angle_rad"][:, [1, 0, 2, 3, 4, 5]]},
    ),
    "zero": Plant(
        named=("offset",), part="middle", alter=lambda now: {"angle_rad": now["angle_rad"] - [0, 0, 0.04, 0, 0, 0]}
    ),
    "travel": Plant(
        named=("travel",), part="index", alter=lambda now: {"angle_rad": now["angle_rad"] * [1, 1, 1, 0.9, 1, 1]}
    ),
    "force zero": Plant(
        named=("force zero",),
        part="ring",
        alter=lambda now: {"force_n": now["force_n"] + 60 * GRAM_FORCE_N * np.array([0, 1, 0, 0, 0, 0])},
    ),
    "warm": Plant(
        named=("temperature",),
        part="thumb_bend",
        alter=lambda now: {"temperature_c": now["temperature_c"] + [0, 0, 0, 0, 12, 0]},
    ),
    "error": Plant(
        named=("error",), part="middle", alter=lambda now: {"error": np.bitwise_or(now["error"], [0, 0, 4, 0, 0, 0])}
    ),
    "lost messages": Plant(named=("lost messages",), part="state", lost=0.12),
    "rate": Plant(named=("rate",), part="state", every=2),
    "touch rate": Plant(named=("rate", "lost messages"), part="touch", touch=True, touch_lost=0.5),
}


@dataclass(frozen=True, kw_only=True, eq=False)
class Heard:
    """What a listener on the wire gets of a hand, and when commands reached it."""

    motors: MotorColumns
    skin: SkinSeries | None
    commands_s: FloatArray
    faulty: str = ""
    """The taxel that was chosen to die."""


@dataclass(frozen=True, kw_only=True)
class Judged:
    """Findings in words that `LOOKS` looks in a row agree on, and when each was told first [s]."""

    planted: str
    told: dict[str, float]
    named_s: float | None
    """When the planted difference was named; None: it was not."""
    shown_s: float
    """When readings first differed from those of a hand that lacks it, by `SHOWN` and for `SHOWN_S` in all."""
    invented: list[str]
    apart_deg: dict[str, float]


def motions(seconds: float, glove: Path | None, seed: int, *, anywhere: bool = False) -> FloatArray:
    """Targets of the motors at every command [rad], from the log's beginning or from anywhere. Shape (c, motors)."""
    spec, count = hands.load(HAND), round(seconds / COMMAND_S)
    log = thenar.read_log(glove) if glove else thenar.make_log(("fist", "pinch_index", "point", "open"), seed=seed)
    followed = thenar.teleoperation.retarget_log(spec, log)
    at_s = log.stamp_s - log.stamp_s[0]
    forth = np.concatenate([followed, followed[::-1]])  # there and back, so that nothing jumps
    span_s = np.concatenate([at_s, 2.0 * at_s[-1] - at_s[::-1]])
    begin_s = np.random.default_rng(seed).uniform(0.0, span_s[-1]) if anywhere else 0.0
    when_s = (begin_s + np.arange(count) * COMMAND_S) % span_s[-1]
    return np.stack([np.interp(when_s, span_s, forth[:, n]) for n in range(followed.shape[1])], axis=1)


def run(plant: Plant, targets: FloatArray, *, seed: int, touch: bool) -> Heard:
    """Move a hand and listen to it."""
    rng = np.random.default_rng(seed)
    nominal = hands.load(HAND)
    stroke = nominal.closed_rad - nominal.open_rad
    usual = replace(profile_of(nominal, "measured"), rate_hz=TOUCH_HZ)
    props = [BALL] if plant.ball else []
    world = thenar.World(plant.spec(nominal), seed=seed, props=props, skin={HAND: usual} if touch else {})
    layout = world.touch(HAND).layout if touch else ()
    stamps, commands_s, columns = [], [], {name: [] for name in (*REPORTED, *TOLD)}
    skin_s, counts, faulty, broken = [], [], "", plant.fault is None
    for target in targets:
        said = np.rint(1000.0 * (target - nominal.open_rad) / stroke)
        commands_s.append(world.time_s + rng.exponential(JITTER_S))
        sent = thenar.HandCommand.to(nominal.open_rad + stroke * said / 1000.0, speed_rad_s=nominal.top_speed_rad_s)
        world.command(HAND, sent)
        told = world.settings(HAND)
        for _ in range(round(COMMAND_S / STATE_S)):
            world.advance(STATE_S)
            state = world.state(HAND)
            stamps.append(world.time_s + rng.exponential(JITTER_S))
            for name in REPORTED:
                columns[name].append(getattr(state, name))
            for name in TOLD:
                columns[name].append(getattr(told, name))
        if touch and rng.random() >= plant.touch_lost:
            skin_s.append(world.time_s + rng.exponential(JITTER_S))
            counts.append(world.touch(HAND).taxel_counts.copy())
        if not broken and plant.fault is not None and world.time_s > FAULT_S:
            part, kind = plant.fault
            if not part:
                frame = world.touch(HAND)
                pads = {pad.name: frame[pad.name] for pad in frame.layout}
                hardest = max(pads, key=lambda name: pads[name].max())
                if pads[hardest].max() < 2e4:
                    continue
                row, col = np.unravel_index(np.argmax(pads[hardest]), pads[hardest].shape)
                part, faulty = f"{hardest} {row} {col}", f"{hardest} {row},{col}"
            world.faults.inject(HAND, part, kind)
            broken = True
    made = {name: np.array(values) for name, values in columns.items()}
    made["angle_rad"] = (made["angle_rad"] - nominal.open_rad) / stroke
    made |= plant.alter(made)
    made["angle_rad"] = nominal.open_rad + stroke * np.rint(1e3 * made["angle_rad"]) / 1e3
    made["force_n"] = np.rint(made["force_n"] / GRAM_FORCE_N) * GRAM_FORCE_N
    made["current_a"] = np.rint(1e3 * made["current_a"]) / 1e3
    order = np.argsort(stamps, kind="stable")
    order = order[(rng.random(len(order)) >= plant.lost) & (np.arange(len(order)) % plant.every == 0)]
    motors = MotorColumns(
        stamp_s=np.array(stamps)[order],
        names=nominal.actuator_names,
        **{name: values[order] for name, values in made.items()},
    )
    felt = SkinSeries(np.array(skin_s), layout, np.array(counts)) if touch else None
    return Heard(motors=motors, skin=felt, commands_s=np.array(commands_s), faulty=faulty)


def looks(hand: Heard, twin: Heard, targets: FloatArray) -> Iterator[tuple[float, Sequence[Finding]]]:
    """What each look finds, once a second."""
    spec = hands.load(HAND)
    for now_s in np.arange(hand.motors.stamp_s[0] + 2.0, hand.motors.stamp_s[-1], LOOK_S):
        mine, theirs = (_between(one.motors, now_s - WINDOW_S, now_s) for one in (hand, twin))
        first = max(int(np.searchsorted(hand.commands_s, now_s - WINDOW_S)) - 1, 0)
        last = int(np.searchsorted(hand.commands_s, now_s))
        told = JointColumns(
            stamp_s=hand.commands_s[first:last],
            names=(),
            position_rad=targets[first:last],
            velocity_rad_s=np.broadcast_to(spec.top_speed_rad_s, targets[first:last].shape),
            effort=np.full(targets[first:last].shape, np.nan),
        )
        pair = pair_motors(spec, mine, theirs, told)
        found = [] if pair is None else find_motor_gaps(pair)
        found += find_rate_gaps(HAND, "state", mine.stamp_s, STATE_HZ)
        if hand.skin is not None and twin.skin is not None:
            felt, expected = (_newest(one, now_s - WINDOW_S, now_s) for one in (hand.skin, twin.skin))
            found += find_skin_gaps(spec, felt, expected)
            found += find_rate_gaps(HAND, "touch", felt.stamp_s, TOUCH_HZ)
        yield float(now_s), in_one_grip(found)


def _between(columns: MotorColumns, from_s: float, to_s: float) -> MotorColumns:
    rows = slice(*np.searchsorted(columns.stamp_s, (from_s, to_s)))
    return replace(
        columns, stamp_s=columns.stamp_s[rows], **{name: getattr(columns, name)[rows] for name in (*REPORTED, *TOLD)}
    )


def _newest(skin: SkinSeries, from_s: float, to_s: float) -> SkinSeries:
    rows = slice(*np.searchsorted(skin.stamp_s, (from_s, to_s)))
    return SkinSeries(skin.stamp_s[rows], skin.layout, skin.taxel_counts[rows])


def _shown_s(hand: Heard, like: Heard) -> float:
    """When a difference can be seen at all: a hand whose ring finger rests does not show that it is slow."""
    rows = np.searchsorted(like.motors.stamp_s, hand.motors.stamp_s - 0.5 * STATE_S).clip(
        0, len(like.motors.stamp_s) - 1
    )
    apart = np.zeros(len(rows), dtype=bool)
    for name, least in SHOWN.items():
        less = np.abs(getattr(hand.motors, name) - getattr(like.motors, name)[rows].astype(np.float64))
        apart |= np.any(np.nan_to_num(less) > least, axis=1)
    seen = np.flatnonzero(np.cumsum(apart) * STATE_S >= SHOWN_S)
    return float(hand.motors.stamp_s[seen[0]]) if seen.size else 0.0


def judge(name: str, targets: FloatArray, *, seed: int, twin: Heard | None = None, like: Heard | None = None) -> Judged:
    """Move a hand with a difference, and its twin, and say what was found.

    Args:
        name: Of `PLANTS`.
        targets: What both are told [rad]. Shape (c, motors).
        seed: Of the hand's noise; the twin has another.
        twin: The twin, where it has moved already.
        like: The hand without the difference, likewise; without it, what is planted is taken to show at once.
    """
    plant = PLANTS[name]
    hand = run(plant, targets, seed=seed, touch=plant.touch)
    twin = run(PLANTS[""], targets, seed=seed + 1, touch=plant.touch) if twin is None else twin
    row: Counter[tuple[str, str, str]] = Counter()
    told: dict[str, float] = {}
    invented, named_s = [], None
    for now_s, found in looks(hand, twin, targets):
        keys = {one.key for one in found}
        for key in [key for key in row if key not in keys]:
            del row[key]
        for one in found:
            row[one.key] += 1
            if row[one.key] != LOOKS:
                continue
            words = f"{one.words} ({one.size:.4g} +- {one.error:.2g} {one.unit})"
            told.setdefault(words, now_s)
            where = (hand.faulty or plant.part) in ("", ALL, one.part) or one.kind in ("meets", "feels")
            if one.kind not in plant.named + plant.follows or not where:
                invented.append(words)
            elif one.kind in plant.named and named_s is None:
                named_s = now_s
    at = min(len(hand.motors.stamp_s), len(twin.motors.stamp_s))
    apart = np.degrees(np.abs(hand.motors.angle_rad[:at] - twin.motors.angle_rad[:at]))
    shares = {"median": round(float(np.median(apart)), 3), "p99": round(float(np.percentile(apart, 99)), 3)}
    shown_s = _shown_s(hand, like) if like is not None and not plant.touch and plant.every == 1 else 0.0
    return Judged(
        planted=name or "nothing", told=told, named_s=named_s, shown_s=shown_s, invented=invented, apart_deg=shares
    )


def main() -> None:
    """Judge and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=600.0)
    parser.add_argument("--glove", type=Path, default=None)
    parser.add_argument("--seed", type=int, default=11)
    parser.add_argument(
        "--anywhere", action="store_true", help="begin at a place of the glove's log that the seed picks"
    )
    parser.add_argument("--plant", default="", choices=[*PLANTS, "all"])
    options = parser.parse_args()
    targets = motions(options.seconds, options.glove, options.seed, anywhere=options.anywhere)
    names = [name for name in PLANTS if name] if options.plant == "all" else [options.plant]
    twin = run(PLANTS[""], targets, seed=options.seed + 1, touch=True)
    like = run(PLANTS[""], targets, seed=options.seed, touch=False) if options.plant == "all" else None
    for name in names:
        found = judge(name, targets, seed=options.seed, twin=twin, like=like)
        print(json.dumps(found.__dict__), flush=True)


if __name__ == "__main__":
    main()
