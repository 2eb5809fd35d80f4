"""Are motors identified? Hidden hands go through the protocol, over the wire's counts, and are held against the result.

``python -m bench.identify --hands 50`` prints how often the true value is in its 95 % interval, how wide intervals are,
and how far a twin is off on other motions before and after; the control takes the file of another hand.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

import thenar
from thenar import hands
from thenar.arrays import FloatArray
from thenar.hands.spec import HandSpec, LeadScrew
from thenar.sim.identify.motor_identity import MotorIdentity, identify_hand
from thenar.sim.identify.moves import Track, make_track
from thenar.sim.identify.programme import Step, programme
from thenar.twin.recording.identification import possible
from thenar.units import GRAM_FORCE_N

HAND = "inspire_right"
STATE_HZ = 100.0
BAR = thenar.Capsule(
    name="bar", radius_m=0.012, length_m=0.12, pos_m=(0.006, 0.030, 0.035), rpy_rad=(0.0, np.pi / 2, 0.0), fixed=True
)
JUDGED = (
    "latency_s", "full_stroke_s", "stop_s", "force_zero_n", "stiffness_n", "stiffening_n", "stall_n", "reaction_s",
    "idle_a", "drive_a", "amps_per_n", "backlash", "latency_spread_s", "heating_c_per_a2", "cooling_s", "angle_noise",
    "force_noise_n",
)  # fmt: skip

SCALED = (
    "stiffness_n", "stiffening_n", "reaction_s", "idle_a", "drive_a", "amps_per_n", "angle_noise", "force_noise_n",
    "heating_c_per_a2", "cooling_s",
)  # fmt: skip
OF_MOTORS = ("angle_rad", "force_n", "current_a", "temperature_c", "target_rad", "speed_rad_s", "limit_n")


@dataclass(frozen=True, kw_only=True, eq=False)
class Columns:
    """What a client on the wire knows: stamps, readings (T, motors) and its own commands (C, motors)."""

    stamp_s: FloatArray
    angle_rad: FloatArray
    force_n: FloatArray
    current_a: FloatArray
    temperature_c: FloatArray
    command_s: FloatArray
    target_rad: FloatArray
    speed_rad_s: FloatArray
    limit_n: FloatArray


def hidden_motors(seed: int) -> dict[str, dict[str, float]]:
    """Motors of a hand that nobody has seen: every number drawn anew."""
    rng, spec = np.random.default_rng(seed), hands.load(HAND)
    latency_s, spread_s = 0.054 * rng.uniform(0.6, 1.5), rng.uniform(0.001, 0.004)
    found = {}
    for actuator in spec.actuators:
        motor = actuator.motor
        assert isinstance(motor, LeadScrew)
        own = {"latency_s": latency_s * rng.uniform(0.95, 1.05), "latency_spread_s": spread_s}
        own |= {
            "full_stroke_s": motor.full_stroke_s * rng.uniform(0.8, 1.3),
            "stop_s": motor.stop_s * rng.uniform(0.8, 2.0),
        }
        own |= {"force_zero_n": rng.uniform(-0.3, 0.3), "backlash": rng.uniform(0.0, 0.006)}
        own |= {name: getattr(motor, name) * rng.uniform(0.85, 1.3) for name in ("stall_n",)}
        for name in SCALED:
            own[name] = getattr(motor, name) * rng.uniform(0.7, 1.4)
        found[actuator.name] = {name: float(value) for name, value in own.items()}
    return found


def drive(world: thenar.World, steps: Sequence[Step], hz: float = STATE_HZ) -> Columns:
    """Send steps as counts and read counts, as a client on the hand's own wire would."""
    spec = hands.load(HAND)  # what the client believes the hand to be
    stroke = spec.closed_rad - spec.open_rad
    readings, commands = [], []
    for step in steps:
        closed = 1.0 - np.round(1000.0 * (1.0 - step.closed)) / 1000.0
        limit_n = round(step.limit_n / GRAM_FORCE_N) * GRAM_FORCE_N
        world.command(
            HAND, thenar.HandCommand.closing(closed, speed=round(1000 * step.speed) / 1000, force_limit_n=limit_n)
        )
        own = (spec.open_rad + stroke * closed, spec.top_speed_rad_s * step.speed, np.full(len(stroke), limit_n))
        commands.append((world.time_s, *own))
        until_s = world.time_s + step.wait_s
        while world.time_s < until_s - 1e-9:
            world.advance(1.0 / hz)
            state = world.state(HAND)
            counts = np.clip(np.round(1000.0 * (state.angle_rad - spec.open_rad) / stroke), -50, 1050)
            readings.append(
                (
                    state.stamp_s,
                    spec.open_rad + stroke * counts / 1000.0,
                    np.round(state.force_n / GRAM_FORCE_N) * GRAM_FORCE_N,
                    np.round(1000.0 * state.current_a) / 1000.0,
                    np.round(state.temperature_c),
                )
            )
    read = ("stamp_s", "angle_rad", "force_n", "current_a", "temperature_c")
    told = ("command_s", "target_rad", "speed_rad_s", "limit_n")
    columns = dict(zip(read, map(np.array, zip(*readings, strict=True)), strict=True))
    columns |= dict(zip(told, map(np.array, zip(*commands, strict=True)), strict=True))
    return Columns(**columns)


def record_protocol(motors: dict[str, dict[str, float]], seed: int, *, short: bool = False) -> list[Columns]:
    """The whole protocol: bare, then with a bar in the hand. ``short`` leaves out most repeats."""
    phases = programme(hands.load(HAND))
    bar = [phase for phase in phases if "bar of" in phase.before]
    bare = [phase for phase in phases if phase not in bar]
    tapes = []
    for number, (own, props) in enumerate(((bare, []), (bar, [BAR]))):
        steps = [step for phase in own for step in (phase.steps[:24] if short else phase.steps)]
        world = thenar.World(HAND, motors={HAND: motors}, seed=seed + 1000 * number, props=props)
        world.advance(0.5)
        tapes.append(drive(world, steps))
    return tapes


def tracks(tapes: Sequence[Columns], spec: HandSpec) -> list[list[Track]]:
    """Of each motor."""
    return [
        [
            make_track(
                actuator,
                stamp_s=tape.stamp_s,
                command_s=tape.command_s,
                **{name: getattr(tape, name)[:, n] for name in OF_MOTORS},
            )
            for tape in tapes
        ]
        for n, actuator in enumerate(spec.actuators)
    ]


def other_motions(seed: int) -> list[Step]:
    """Motions that the protocol does not have: any targets and speeds, free and against the bar."""
    rng = np.random.default_rng(seed)
    steps = []
    for _ in range(25):
        closed = np.zeros(6)
        closed[:4] = rng.uniform(0.0, 1.0, 4)
        speed = float(rng.uniform(0.1, 0.8))
        limit_n = float(rng.uniform(1.0, 4.0))
        wait_s = 0.3 + 0.6 / speed * rng.uniform(0.3, 1.0)
        steps.append(Step(phase="other", closed=closed, speed=speed, limit_n=limit_n, wait_s=wait_s, contact=True))
    return steps


def prediction_error(
    truth: Columns, motors: dict[str, dict[str, float]] | None, steps: Sequence[Step], seed: int
) -> FloatArray:
    """Root mean square of angle [counts] and force [g] of the four fingers between a hand and a twin of it."""
    world = thenar.World(HAND, motors={HAND: motors} if motors else None, seed=seed, props=[BAR])
    world.advance(0.5)
    twin = drive(world, steps)
    spec = hands.load(HAND)
    angle = (truth.angle_rad - twin.angle_rad)[:, :4] / (spec.closed_rad - spec.open_rad)[:4]
    force = (truth.force_n - twin.force_n)[:, :4]
    return np.array([1000.0 * np.sqrt(np.mean(angle**2)), np.sqrt(np.mean(force**2)) / GRAM_FORCE_N])


def judge(seeds: Sequence[int], *, predict: int) -> dict[str, object]:
    """Coverage and widths over hidden hands, and prediction of other motions for the first ``predict``."""
    spec = hands.load(HAND)
    inside: dict[str, list[bool]] = {name: [] for name in JUDGED}
    widths: dict[str, list[float]] = {name: [] for name in JUDGED}
    refused = dict.fromkeys(JUDGED, 0)
    errors, took_s = [], []
    before_hand = None
    for k, seed in enumerate(seeds):
        truth = hidden_motors(seed)
        tapes = record_protocol(truth, seed)
        began_s = time.perf_counter()
        found = identify_hand(tracks(tapes, spec), spec)
        took_s.append(time.perf_counter() - began_s)
        for motor in found:
            for name in JUDGED:
                one = motor.values.get(name)
                if one is None:
                    refused[name] += 1
                    continue
                inside[name].append(one.low <= truth[motor.name][name] <= one.high)
                widths[name].append(one.half_width / max(abs(truth[motor.name][name]), 1e-12))
        if k < predict:
            errors.append(_predict(truth, found, before_hand, seed))
        before_hand = found
        print(f"hand {seed}: fitted in {took_s[-1]:.0f} s", file=sys.stderr, flush=True)
    table = {
        name: {
            "inside_percent": round(100 * float(np.mean(inside[name])), 1) if inside[name] else None,
            "half_width_percent_median": round(100 * float(np.median(widths[name])), 2) if widths[name] else None,
            "refused": refused[name],
        }
        for name in JUDGED
    }
    result: dict[str, object] = {"hands": len(seeds), "fit_s": round(float(np.median(took_s)), 1), "values": table}
    if errors:
        names = ("before", "after", "floor", "control")
        result["prediction"] = {
            name: [round(float(v), 2) for v in np.mean([error[name] for error in errors if name in error], axis=0)]
            for name in names
            if any(name in error for error in errors)
        }
    return result


def values_of(motors: Sequence[MotorIdentity]) -> dict[str, dict[str, float]]:
    """What was found, as a world takes it."""
    return {motor.name: {name: one.value for name, one in possible(motor).items()} for motor in motors}


def _predict(
    truth: dict[str, dict[str, float]], found: list[MotorIdentity], another: list[MotorIdentity] | None, seed: int
) -> dict[str, FloatArray]:
    steps = other_motions(seed + 7)
    world = thenar.World(HAND, motors={HAND: truth}, seed=seed + 5, props=[BAR])
    world.advance(0.5)
    real = drive(world, steps)
    identified = values_of(found)
    errors = {
        "before": prediction_error(real, None, steps, seed + 6),
        "after": prediction_error(real, identified, steps, seed + 6),
        "floor": prediction_error(real, truth, steps, seed + 6),  # the same hand again, with other noise
    }
    if another is not None:
        other = values_of(another)
        errors["control"] = prediction_error(real, other, steps, seed + 6)
    return errors


def main() -> None:
    """Judge and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--hands", type=int, default=50)
    parser.add_argument("--first", type=int, default=100)
    parser.add_argument("--predict", type=int, default=5)
    options = parser.parse_args()
    seeds = range(options.first, options.first + options.hands)
    print(json.dumps(judge(seeds, predict=options.predict), indent=1))


if __name__ == "__main__":
    main()
