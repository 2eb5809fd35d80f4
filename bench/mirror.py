"""Does a mirror invent anything? A hand and its twin, other seeds, moved alike; looked at as ``thenar mirror`` does.

``python -m bench.mirror --seconds 600 --glove FILE`` moves both as a person's glove says (a made one without a file),
hands the readings over with the wire's counts and the jitter of a network, and prints every finding that two looks in a
row agree on. ``--plant NAME`` puts a difference into the hand. Time is simulated: a busy machine changes nothing.
"""

from __future__ import annotations

import argparse
import json
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

import thenar
from thenar import hands
from thenar.arrays import FloatArray
from thenar.hands.spec import HandSpec
from thenar.recordings.recording import JointColumns, MotorColumns
from thenar.recordings.ros_messages import REPORTED, TOLD
from thenar.twin.compare.beside import LOOK_S, LOOKS, WINDOW_S
from thenar.twin.compare.finding import Finding
from thenar.twin.compare.motor_gaps import find_motor_gaps, pair_motors
from thenar.units import GRAM_FORCE_N

HAND = "inspire_right"
STATE_S, COMMAND_S = 0.01, 0.02
JITTER_S = 0.0015  # mean of what a network and a busy reader add to a stamp of arrival


def planted(name: str) -> HandSpec:
    """The hand with a difference; the control."""
    spec = hands.load(HAND)
    changes = {
        "": {},
        "latency": {"latency_s": lambda s: s + 0.02},
        "speed": {"full_stroke_s": lambda s: s / 0.9},
        "current": {"drive_a": lambda a: a + 0.2},
        "noise": {"angle_noise": lambda v: v + 0.012},
        "zero": {"force_zero_n": lambda n: n - 0.6},
        "backlash": {"backlash": lambda v: v + 0.05},
    }[name]
    return replace(
        spec,
        actuators=tuple(
            replace(a, motor=replace(a.motor, **{key: by(getattr(a.motor, key)) for key, by in changes.items()}))
            for a in spec.actuators
        ),
    )


def motions(seconds: float, glove: Path | None, seed: int) -> FloatArray:
    """Targets of the motors at every command [rad]. Shape (c, motors)."""
    spec, count = hands.load(HAND), round(seconds / COMMAND_S)
    log = thenar.read_log(glove) if glove else thenar.make_log(("fist", "pinch_index", "point", "open"), seed=seed)
    followed = thenar.teleoperation.retarget_log(spec, log)
    at_s = log.stamp_s - log.stamp_s[0]
    forth = np.concatenate([followed, followed[::-1]])  # there and back, so that nothing jumps
    span_s = np.concatenate([at_s, 2.0 * at_s[-1] - at_s[::-1]])
    when_s = np.arange(count) * COMMAND_S % span_s[-1]
    return np.stack([np.interp(when_s, span_s, forth[:, n]) for n in range(followed.shape[1])], axis=1)


def run(spec: HandSpec, targets: FloatArray, *, seed: int) -> tuple[MotorColumns, FloatArray]:
    """What a listener on the wire gets of a hand, and when commands reached it."""
    jitter = np.random.default_rng(seed)
    nominal = hands.load(HAND)
    stroke = nominal.closed_rad - nominal.open_rad
    world = thenar.World(spec, seed=seed)
    every = round(STATE_S / world.timestep_s)
    stamps, commands_s, columns = [], [], {name: [] for name in (*REPORTED, *TOLD)}
    told = world.settings(HAND)
    for target in targets:
        counts = np.rint(1000.0 * (target - nominal.open_rad) / stroke)
        commands_s.append(world.time_s + jitter.exponential(JITTER_S))
        sent = thenar.HandCommand.to(nominal.open_rad + stroke * counts / 1000.0, speed_rad_s=nominal.top_speed_rad_s)
        world.command(HAND, sent)
        told = world.settings(HAND)
        for _ in range(round(COMMAND_S / STATE_S)):
            world.physics.advance(every * world.timestep_s)
            state = world.state(HAND)
            stamps.append(world.time_s + jitter.exponential(JITTER_S))
            seen = {name: getattr(state, name) for name in REPORTED}
            seen["angle_rad"] = (
                nominal.open_rad + stroke * np.rint(1e3 * (state.angle_rad - nominal.open_rad) / stroke) / 1e3
            )
            seen["force_n"] = np.rint(state.force_n / GRAM_FORCE_N) * GRAM_FORCE_N
            seen["current_a"] = np.rint(1e3 * state.current_a) / 1e3
            for name in REPORTED:
                columns[name].append(seen[name])
            for name in TOLD:
                columns[name].append(getattr(told, name))
    order = np.argsort(stamps, kind="stable")
    made = {name: np.array(values)[order] for name, values in columns.items()}
    return MotorColumns(stamp_s=np.array(stamps)[order], names=nominal.actuator_names, **made), np.array(commands_s)


def looks(hand: MotorColumns, twin: MotorColumns, commands: JointColumns) -> Iterator[tuple[float, Sequence[Finding]]]:
    """What each look finds, once a second."""
    spec = hands.load(HAND)
    for now_s in np.arange(hand.stamp_s[0] + 2.0, hand.stamp_s[-1], LOOK_S):
        parts = [_between(one, now_s - WINDOW_S, now_s) for one in (hand, twin)]
        first = max(int(np.searchsorted(commands.stamp_s, now_s - WINDOW_S)) - 1, 0)
        last = int(np.searchsorted(commands.stamp_s, now_s))
        told = replace(
            commands,
            stamp_s=commands.stamp_s[first:last],
            position_rad=commands.position_rad[first:last],
            velocity_rad_s=commands.velocity_rad_s[first:last],
            effort=commands.effort[first:last],
        )
        pair = pair_motors(spec, parts[0], parts[1], told)
        if pair is not None:
            yield float(now_s), find_motor_gaps(pair)


def _between(columns: MotorColumns, from_s: float, to_s: float) -> MotorColumns:
    rows = slice(*np.searchsorted(columns.stamp_s, (from_s, to_s)))
    return replace(
        columns, stamp_s=columns.stamp_s[rows], **{name: getattr(columns, name)[rows] for name in (*REPORTED, *TOLD)}
    )


def judge(seconds: float, *, glove: Path | None, seed: int, plant: str) -> dict[str, object]:
    """Findings that ``LOOKS`` looks in a row agree on, when they were told first, and how far angles were apart."""
    targets = motions(seconds, glove, seed)
    hand, commands_s = run(planted(plant), targets, seed=seed)
    twin, _ = run(hands.load(HAND), targets, seed=seed + 1)
    nominal = hands.load(HAND)
    speed = np.full(targets.shape, nominal.top_speed_rad_s)
    commands = JointColumns(
        stamp_s=commands_s, names=(), position_rad=targets, velocity_rad_s=speed, effort=np.full(targets.shape, np.nan)
    )
    row: Counter[tuple[str, str, str]] = Counter()
    told: dict[str, float] = {}
    for now_s, found in looks(hand, twin, commands):
        keys = {one.key for one in found}
        for key in [key for key in row if key not in keys]:
            del row[key]
        for one in found:
            row[one.key] += 1
            if row[one.key] == LOOKS:
                told.setdefault(f"{one.words} ({one.size:.4g} +- {one.error:.2g} {one.unit})", now_s)
    at = np.minimum(len(hand.stamp_s), len(twin.stamp_s))
    apart = np.degrees(np.abs(hand.angle_rad[:at] - twin.angle_rad[:at]))
    return {
        "seconds": seconds,
        "planted": plant or "nothing",
        "apart_deg": {"median": round(float(np.median(apart)), 3), "p99": round(float(np.percentile(apart, 99)), 3)},
        "told": told,
    }


def main() -> None:
    """Judge and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=600.0)
    parser.add_argument("--glove", type=Path, default=None)
    parser.add_argument("--seed", type=int, default=11)
    parser.add_argument("--plant", default="")
    options = parser.parse_args()
    found = judge(options.seconds, glove=options.glove, seed=options.seed, plant=options.plant)
    print(json.dumps(found, indent=1))


if __name__ == "__main__":
    main()
