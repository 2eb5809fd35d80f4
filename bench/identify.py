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
from thenar.sim.identify.force_scale import fit_force_scale, scale_presses
from thenar.sim.identify.motor_identity import MotorIdentity, identify_hand
from thenar.sim.identify.moves import Track, make_track
from thenar.sim.identify.programme import Step, programme
from thenar.twin.recording.coupling_law import fit_coupling
from thenar.twin.recording.identification import values_of, with_scale
from thenar.units import GRAM_FORCE_N

HAND = "inspire_right"
STATE_HZ = 100.0
BAR = thenar.Capsule(
    name="bar", radius_m=0.012, length_m=0.12, pos_m=(0.006, 0.030, 0.035), rpy_rad=(0.0, np.pi / 2, 0.0), fixed=True
)
JUDGED = (
    "latency_s", "full_stroke_s", "stop_s", "force_zero_n", "stiffness_n", "stiffening_n", "stall_n", "reaction_s",
    "idle_a", "drive_a", "amps_per_n", "backlash", "latency_spread_s", "heating_c_per_a2", "cooling_s", "angle_noise",
    "force_noise_n", "friction_n", "newton_per_reported",
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
    sticky = np.random.default_rng([seed, 1])  # of its own, so that hands are those of before
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
        own["friction_n"] = sticky.uniform(0.0, 0.3)
        own["newton_per_reported"] = motor.newton_per_reported * sticky.uniform(0.7, 1.4)
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
        here = (world.state(HAND).angle_rad - spec.open_rad) / stroke if step.from_here else 0.0
        closed = 1.0 - np.round(1000.0 * (1.0 - (here + step.closed))) / 1000.0
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


def record_protocol(motors: dict[str, dict[str, float]], seed: int, law: str | None = None) -> list[Columns]:
    """The whole protocol: bare, then with a bar in the hand; the hand may be coupled by another law."""
    phases = programme(hands.load(HAND))
    bar = [phase for phase in phases if "bar of" in phase.before]
    bare = [phase for phase in phases if phase not in bar]
    tapes = []
    for number, (own, props) in enumerate(((bare, []), (bar, [BAR]))):
        steps = [step for phase in own for step in phase.steps]
        world = thenar.World(
            hands.load(HAND, variant=law), motors={HAND: motors}, seed=seed + 1000 * number, props=props
        )
        world.advance(0.5)
        tapes.append(drive(world, steps))
    return tapes


def weigh(motors: dict[str, dict[str, float]], motor: str, seed: int) -> tuple[Columns, list[float]]:
    """A finger presses on a ball that stands on a scale in its way: readings, and what the scale shows in grams."""
    spec = hands.load(HAND)
    number, places = spec.actuator_names.index(motor), []
    free = thenar.World(HAND, profile="ideal")
    finger = next(tip.finger for tip in spec.tips if motor.startswith(tip.finger))
    for closed in (0.45, 0.47):
        free.command(HAND, thenar.HandCommand.closing(np.where(np.arange(6) == number, closed, 0.0), speed=1.0))
        free.advance(2.0)
        places.append(free.data.site(f"{HAND}/{finger}_tip").xpos.copy())
    way = (places[1] - places[0]) / np.linalg.norm(places[1] - places[0])
    ball = thenar.Sphere(name="scale", radius_m=0.03, pos_m=tuple(places[1] + 0.036 * way), fixed=True)
    world = thenar.World(HAND, motors={HAND: motors}, seed=seed, props=[ball])
    tapes, shown = [], []
    for step in scale_presses(spec, motor):
        tapes.append(drive(world, [step]))
        met = world.contacts(HAND)
        on_it = [k for k, partner in enumerate(met.partner) if partner.endswith("scale")]
        shown.append(round(abs(float(met.force_n[on_it].sum(axis=0) @ way)) / GRAM_FORCE_N))
    joined = {name: np.concatenate([getattr(tape, name) for tape in tapes]) for name in Columns.__dataclass_fields__}
    return Columns(**joined), [gram for gram in shown if gram]


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


@dataclass(frozen=True, kw_only=True, eq=False)
class JudgedHand:
    """One hidden hand: what was found of some of its motors, what they are, and how far twins are off."""

    seed: int
    truth: dict[str, dict[str, float]]
    found: list[MotorIdentity]
    errors: dict[str, FloatArray]
    laws: tuple[str, tuple[str, ...]]
    """The law of coupling that it has, and those that fit."""
    fit_s: float


def judge_hand(seed: int, *, motors: int = 6, predict: bool = False, another: JudgedHand | None = None) -> JudgedHand:
    """Let a hidden hand do the protocol and identify it.

    Args:
        seed: Of the hand.
        motors: How many motors are fitted, two fingers for each of the thumb's; another number for each seed.
        predict: Whether twins are held against other motions.
        another: A hand whose motors are the control of that.
    """
    spec, rng = hands.load(HAND), np.random.default_rng([seed, 3])
    truth = hidden_motors(seed)
    law = str(rng.choice(list(spec.variants)))
    fingers, thumb = rng.permutation(4), 4 + rng.permutation(2)
    chosen = set(np.concatenate([fingers[: motors - motors // 3], thumb[: motors // 3]]).tolist())
    tapes = record_protocol(truth, seed, law)
    own = tracks(tapes, spec)
    began_s = time.process_time()
    coupling = fit_coupling(own, spec)
    coupled = hands.with_variant(spec, coupling.fit[0]) if coupling.fit else spec
    fitted = identify_hand([one if n in chosen else [] for n, one in enumerate(own)], coupled)
    fit_s = time.process_time() - began_s
    weighed = spec.actuator_names[int(fingers[0])]
    tape, grams = weigh(truth, weighed, seed)
    track = tracks([tape], spec)[int(fingers[0])][0]
    scale = fit_force_scale(spec, weighed, track, [gram * GRAM_FORCE_N for gram in grams])
    found = [with_scale(one, scale) if one.name == weighed else one for n, one in enumerate(fitted) if n in chosen]
    errors = _predict(truth, found, another.found if another else None, seed) if predict else {}
    return JudgedHand(seed=seed, truth=truth, found=found, errors=errors, laws=(law, coupling.fit), fit_s=fit_s)


def judge(judged: Sequence[JudgedHand]) -> dict[str, object]:
    """Coverage and widths over hidden hands, and prediction of other motions where it was tried."""
    table = {}
    for name in JUDGED:
        pairs = [(hand.truth[motor.name][name], motor.values.get(name)) for hand in judged for motor in hand.found]
        known = [(true, one) for true, one in pairs if one is not None]
        inside = [one.low <= true <= one.high for true, one in known]
        widths = [one.half_width / max(abs(true), 1e-12) for true, one in known]
        table[name] = {
            "motors": len(known),
            "inside_percent": round(100 * float(np.mean(inside)), 1) if inside else None,
            "half_width_percent_median": round(100 * float(np.median(widths)), 2) if widths else None,
            "refused": len(pairs) - len(known),
        }
    laws = [hand.laws for hand in judged]
    result: dict[str, object] = {
        "hands": len(judged),
        "fit_s": round(float(np.median([hand.fit_s for hand in judged])), 1),
        "values": table,
        "coupling": {
            "among_those_that_fit": sum(true in fit for true, fit in laws),
            "laws_that_fit": [len(fit) for _, fit in laws],
        },
    }
    for name in ("before", "after", "floor", "control"):
        errors = [hand.errors[name] for hand in judged if name in hand.errors]
        if errors:
            result[f"prediction {name}"] = [round(float(v), 2) for v in np.mean(errors, axis=0)]
    return result


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
    parser.add_argument("--motors", type=int, default=6, help="of each hand that are fitted")
    parser.add_argument("--predict", type=int, default=5)
    options = parser.parse_args()
    judged: list[JudgedHand] = []
    for number in range(options.hands):
        another = judged[-1] if judged else None
        predict = number < options.predict
        judged.append(judge_hand(options.first + number, motors=options.motors, predict=predict, another=another))
        print(f"hand {judged[-1].seed}: fitted in {judged[-1].fit_s:.0f} s", file=sys.stderr, flush=True)
    print(json.dumps(judge(judged), indent=1))


if __name__ == "__main__":
    main()
