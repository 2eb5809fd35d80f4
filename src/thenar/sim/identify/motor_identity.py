"""What the motors of a hand are like, from recordings: values with 95 % intervals, and what cannot be known."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import mujoco
import numpy as np

from thenar.arrays import FloatArray
from thenar.hands.spec import Actuator, HandSpec, LeadScrew
from thenar.sim.building import compile_model
from thenar.sim.identify.force_scale import ADVICE as SCALE_ADVICE
from thenar.sim.identify.moves import Move, Track, smooth, split_moves
from thenar.sim.identify.readings_fit import (
    Estimate,
    Rest,
    estimate,
    find_rests,
    fit_backlash,
    fit_current,
    fit_friction,
    fit_heat,
    fit_spring,
    noise_of,
)
from thenar.sim.identify.screw_fit import (
    CUBIC,
    LINEAR,
    REACTION,
    STALL,
    STOP,
    TOP,
    Prior,
    ScrewFit,
    find_starts,
    fit_screw,
    nominal,
)
from thenar.sim.identify.zero_fit import fit_zeros
from thenar.sim.motor_bank import LATENCY_CLIP
from thenar.sim.world_config import WorldConfig

POSTURES = np.linspace(0.0, 1.0, 21)
ROUNDS, SPRING_ROUNDS = 5, 3
SETTLED = 0.005  # a stiffness that would change by less, as a share, is that of free fingers too
TICK_S = 0.002  # a twin acts at steps of so long, which spreads its delays too
CLIPPED_VARIANCE = 0.9205  # of a normal number that is clipped at two standard deviations
MAX_DELAY_ERROR_S = 0.003  # of a delay that counts for the latency
METHOD_ERROR = {STOP: 0.035, REACTION: 0.018}
"""Standard errors of the method itself, as shares: readings 10 ms apart see little of 10 ms."""
MAX_SHARE = 0.3  # an interval wider than this share of its value to either side is no knowledge
MIN_DELAYS = 6
ARRIVED, MAX_WEIGHT_N = 0.03, 0.5  # strokes from its target; what a finger may weigh more or less than usual
NUDGED = 0.045  # strokes: who is sent no further stays in contact with what it presses on

assert LATENCY_CLIP == 2.0

ADVICE = {
    "latency_s": "send it from one end to the other at top speed and let it stand for half a second, ten times",
    "latency_spread_s": "send it from one end to the other at top speed and let it stand for half a second, 30 times",
    "full_stroke_s": "send it from one end to the other and let it stand, at several speeds",
    "stop_s": "turn it back at top speed half-way, 20 times",
    "stiffness_n": "let it press on something rigid and send it 1 to 4.5 % of its way further, in steps of which it "
    "stands on each for half a second",
    "stiffening_n": "let it press on something rigid and send it 1 to 4.5 % of its way further, in steps of which it "
    "stands on each for half a second",
    "stall_n": "let it press on something rigid up to 3 N at two speeds, five times each",
    "reaction_s": "let it press on something rigid until the force limit stops it, at two speeds, five times each",
    "newton_per_reported": SCALE_ADVICE,
    "force_zero_n": "send it to six postures by closing and by opening, with nothing in its way, and let it stand for "
    "two seconds in each",
    "backlash": "send it to the same postures by closing and by opening, and let it stand there",
    "friction_n": "send it from one end to the other and back with nothing in its way, at two speeds, five times each",
    "angle_noise": "let it stand for ten seconds",
    "force_noise_n": "let it stand for ten seconds",
    "idle_a": "let it stand for two seconds, on a wire that tells the current",
    "drive_a": "send it from one end to the other at several speeds, on a wire that tells the current",
    "amps_per_n": "let it press on something rigid up to 3 N, on a wire that tells the current",
    "heating_c_per_a2": "let it move without rest for three minutes and stand for two, on a wire that tells its heat",
    "cooling_s": "let it move without rest for three minutes and stand for two, on a wire that tells its heat",
}
"""The motion that would tell each value."""
AROUND_ZERO = {"force_zero_n": 0.1, "friction_n": 0.05, "backlash": 0.002, "latency_spread_s": 0.002}
"""Values that may be nothing: known when both ends are within so much."""


@dataclass(frozen=True, kw_only=True)
class Stop:
    """One press that the force limit ended."""

    speed: float
    limit_n: float
    peak_n: float


@dataclass(frozen=True, kw_only=True, eq=False)
class MotorIdentity:
    """What recordings tell of one motor."""

    name: str
    values: dict[str, Estimate]
    """By field of `LeadScrew`."""
    refused: dict[str, str]
    """What they cannot tell, with the motion that would."""
    stops: list[Stop] = field(default_factory=list)
    fit: ScrewFit | None = None


def identify_hand(tracks: Sequence[Sequence[Track]], hand: HandSpec) -> list[MotorIdentity]:
    """Fit all motors of a hand.

    Args:
        tracks: Recordings of each motor, in the hand's order.
        hand: What the catalogue has of it.
    """
    screws = [actuator.motor for actuator in hand.actuators]
    offsets = [motor.loaded_offset_n if isinstance(motor, LeadScrew) else 0.0 for motor in screws]
    moves = [
        [move for track in own for move in split_moves(track, top_speed=1.0 / actuator.motor.full_stroke_s)]
        for own, actuator in zip(tracks, hand.actuators, strict=True)
        if isinstance(actuator.motor, LeadScrew)
    ]
    rests = [find_rests(own) for own in moves]
    zeros = fit_zeros([_unloaded(own) for own in rests], finger_weights(hand), POSTURES, offsets)
    return [
        _identify_motor(actuator, tracks[n], moves[n], rests[n], zeros[n]) for n, actuator in enumerate(hand.actuators)
    ]


def _identify_motor(
    actuator: Actuator, tracks: Sequence[Track], moves: list[Move], rests: list[Rest], zero: Estimate | None
) -> MotorIdentity:
    motor = actuator.motor
    assert isinstance(motor, LeadScrew)
    value = nominal(motor)
    found: dict[str, Estimate | None] = dict.fromkeys(ADVICE)
    fit, offset_n, backlash = None, motor.loaded_offset_n, None
    if len(rests) >= 3:
        found["angle_noise"], found["force_noise_n"] = noise, force_noise = noise_of(rests)
        zero_n = zero.value if zero else float(np.median([-rest.force_n.mean() for rest in rests]))
        spring = None
        for _ in range(SPRING_ROUNDS):
            backlash = fit_backlash(_unloaded(rests), value[LINEAR], value[CUBIC], zero_n, offset_n)
            if zero is None or backlash is None:
                break
            spring = fit_spring(rests, value[[LINEAR, CUBIC]], zero, backlash, offset_n)
            if spring is None:
                break
            value[[LINEAR, CUBIC]], zero_n = spring.value, spring.zero_n
        for turn in range(ROUNDS):
            prior = Prior(
                motor=replace(motor, stiffness_n=float(value[LINEAR]), stiffening_n=float(value[CUBIC])),
                zero_n=zero_n,
                backlash=backlash.value if backlash else motor.backlash,
                closed_noise=float(np.hypot(noise.value, 0.0003)),
                force_noise_n=max(force_noise.value, 0.005),
                spring=spring,
            )
            latency_s = float(np.median(np.concatenate(fit.delay_s))) if fit else None
            fit = fit_screw(find_starts(moves, prior, value), prior, value, latency_s)
            if fit is None or spring is not None:
                break
            change = np.log(fit.value[LINEAR] / value[LINEAR]) / (1.0 - fit.pull)
            value = fit.value.copy()
            if turn and abs(change) < SETTLED:
                break
            value[LINEAR] = prior.motor.stiffness_n * np.exp(np.clip(change, -0.5, 0.5))
            backlash = fit_backlash(_unloaded(rests), value[LINEAR], value[CUBIC], zero_n, offset_n)
        found |= {"force_zero_n": zero, "backlash": backlash}
        if fit is not None:
            found |= _screw_estimates(fit) | _latency(fit) | _current(rests, fit, zero_n, zero, offset_n)
            found["friction_n"] = fit_friction(fit, zero_n, offset_n)
    found |= fit_heat(tracks)
    values = {name: one for name, one in found.items() if one is not None and known(name, one)}
    refused = {name: _refusal(name, found[name]) for name in ADVICE if name not in values}
    return MotorIdentity(name=actuator.name, values=values, refused=refused, stops=_stops(moves), fit=fit)


def _current(
    rests: Sequence[Rest], fit: ScrewFit, zero_n: float, zero: Estimate | None, offset_n: float
) -> dict[str, Estimate | None]:
    """Currents, wider by what is not known of the zero of the force."""
    found = fit_current(rests, fit, zero_n, offset_n)
    if zero is None:
        return found
    other = fit_current(rests, fit, zero_n + zero.half_width, offset_n)
    wide: dict[str, Estimate | None] = {}
    for name, one in found.items():
        near = other[name]
        if one is None or near is None:
            wide[name] = one
            continue
        half = float(np.hypot(one.half_width, near.value - one.value))
        wide[name] = replace(one, low=one.value - half, high=one.value + half)
    return wide


def known(name: str, one: Estimate) -> bool:
    """Whether an interval is narrow enough to be knowledge."""
    if not np.all(np.isfinite([one.value, one.low, one.high])):
        return False
    return one.half_width <= max(MAX_SHARE * abs(one.value), AROUND_ZERO.get(name, 0.0))


def finger_weights(hand: HandSpec) -> FloatArray:
    """What each motor must hold for each finger's weight, by posture and axis of gravity. Shape (motors, g, 3)."""
    model = compile_model(WorldConfig(hands=(hand,)))
    data = mujoco.MjData(model)
    joints = [model.joint(f"{hand.name}/{name}") for name in hand.joint_names]
    qpos, dof = ([int(getattr(joint, at)[0]) for joint in joints] for at in ("qposadr", "dofadr"))
    weights = np.zeros((len(hand.actuators), len(POSTURES), 3))
    for n, actuator in enumerate(hand.actuators):
        motor = actuator.motor
        if not isinstance(motor, LeadScrew):
            continue
        per_n = motor.lever_m * motor.newton_per_reported * np.sign(actuator.closed_rad - actuator.open_rad)
        for g, closed in enumerate(POSTURES):
            angles = hand.open_rad.copy()
            angles[n] += closed * (actuator.closed_rad - actuator.open_rad)
            at = np.array(list(hand.joint_angles(angles).values()))
            angles[n] += 1e-4
            moved = (np.array(list(hand.joint_angles(angles).values())) - at) / 1e-4
            data.qpos[qpos] = at
            for axis in range(3):
                model.opt.gravity[:] = np.eye(3)[axis]
                mujoco.mj_forward(model, data)
                weights[n, g, axis] = float(moved @ data.qfrc_bias[dof]) / per_n
    return weights


def _unloaded(rests: Sequence[Rest]) -> list[Rest]:
    """Rests with nothing in the way: the finger is where it was sent and the force is as usual."""
    arrived = [rest for rest in rests if rest.travel > NUDGED and abs(rest.closed.mean() - rest.target) < ARRIVED]
    usual = float(np.median([rest.force_n.mean() for rest in arrived])) if arrived else 0.0
    return [rest for rest in arrived if abs(rest.force_n.mean() - usual) < MAX_WEIGHT_N]


def _screw_estimates(fit: ScrewFit) -> dict[str, Estimate | None]:
    value, covariance = fit.value, _with_method(fit)
    top = value[TOP]
    slopes = {
        "full_stroke_s": (1.0 / top + value[STOP], {TOP: -(top**-2), STOP: 1.0}),
        "stop_s": (value[STOP], {STOP: 1.0}),
        "stiffness_n": (value[LINEAR], {LINEAR: 1.0}),
        "stiffening_n": (value[CUBIC], {CUBIC: 1.0}),
        "stall_n": (value[STALL], {STALL: 1.0}),
        "reaction_s": (value[REACTION], {REACTION: 1.0}),
    }
    found: dict[str, Estimate | None] = {}
    for name, (one, parts) in slopes.items():
        if all(fit.free[k] for k in parts):
            gradient = np.zeros(len(value))
            gradient[list(parts)] = list(parts.values())
            variance, scattered = (float(gradient @ of @ gradient) for of in (covariance, fit.covariance))
            # Few moves say little of how far they scatter; of the method's error that is known.
            degrees = min(fit.degrees[k] for k in parts) * (variance / scattered) ** 2
            found[name] = estimate(float(one), variance**0.5, float(degrees))
    return found


def _with_method(fit: ScrewFit) -> FloatArray:
    """Covariance of a screw's values, the errors of the method included."""
    covariance = fit.covariance.copy()
    for k, share in METHOD_ERROR.items():
        covariance[k, k] += (share * fit.value[k]) ** 2
    return covariance


def _latency(fit: ScrewFit) -> dict[str, Estimate | None]:
    """Mean of the delays and their spread."""
    delay = np.concatenate(fit.delay_s)
    variance = np.concatenate(fit.delay_variance)
    slope = np.concatenate(fit.delay_slope)
    good = variance < MAX_DELAY_ERROR_S**2
    delay, variance, slope = delay[good], variance[good], slope[good]
    if len(delay) < MIN_DELAYS:
        return {}
    spread2, weight, shares, mean = 0.0, variance, variance, 0.0
    for _ in range(20):
        weight = 1.0 / (spread2 + variance)
        mean = float(np.sum(weight * delay) / np.sum(weight))
        shares = weight / np.sum(weight)
        spread2 = max(float(np.sum(shares * ((delay - mean) ** 2 - variance)) / (1.0 - np.sum(shares**2))), 1e-8)
    common = (weight / np.sum(weight)) @ slope
    covariance = _with_method(fit)
    error = float(np.sqrt(1.0 / np.sum(weight) + common @ covariance @ common))
    total = spread2 + float(np.sum(shares * variance))
    spread_error = total * float(np.sqrt(2.0 / (len(delay) - 1)))  # of the square
    own = max(spread2 - TICK_S**2 / 12.0, 0.0) / CLIPPED_VARIANCE
    low, high = (max(own + sign * 1.96 * spread_error / CLIPPED_VARIANCE, 0.0) ** 0.5 for sign in (-1.0, 1.0))
    return {
        "latency_s": estimate(mean - 0.5 * TICK_S, error, len(delay) - 1),  # a twin waits for its next step besides
        "latency_spread_s": Estimate(value=own**0.5, low=low, high=high),
    }


def _stops(moves: Sequence[Move]) -> list[Stop]:
    found = []
    for move in moves:
        force, limit_n = smooth(move.track.force_n[move.rows], 3), float(move.track.limit_n[move.commands.start])
        if force.max() > limit_n:
            found.append(
                Stop(speed=float(move.track.speed[move.commands.start]), limit_n=limit_n, peak_n=float(force.max()))
            )
    return found


def _refusal(name: str, one: Estimate | None) -> str:
    why = "leaves no trace" if one is None else f"could be anything from {one.low:.4g} to {one.high:.4g}"
    return f"{why}; {ADVICE[name]}"
