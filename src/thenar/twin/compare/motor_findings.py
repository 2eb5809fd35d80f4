"""Differences between the motors of a hand and those of its twin under the same commands."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from thenar.arrays import BoolArray, FloatArray, IntArray
from thenar.hands.spec import HandSpec, LeadScrew
from thenar.recordings.recording import JointColumns, MotorColumns
from thenar.signals import MotorError, MotorStatus
from thenar.sim.identify.follow import Commands, Followed, fit_follow
from thenar.twin.compare.finding import Finding

SURE = 4.0  # standard errors that a difference must exceed
LOAD_N = 0.8  # a motor that pushes harder than this meets something
STILL_RAD_S, STILL_S = 0.12, 0.25
SLOW_RAD_S = 0.4  # of a target that a motor is at, but for its latency; a person's never stands quite still
MOVING = 0.12  # of the top speed
EXCHANGED = 0.04  # of the stroke: fingers that are further apart than this can be told from each other
AFTER_S = 0.3  # what a contact leaves behind is gone by then
GAP_S = 0.15
EDGE_S = 0.04  # of a motion: readings there pull a median to their side, by millinewton metres of friction
SHORT_RAD = np.radians(3.5)
STUCK_RAD, MOVED_RAD = np.radians(1.5), np.radians(8.0)
STUCK_S = 1.2
SAME_GRIP_RAD = np.radians(1.5)  # who stands further from its twin presses on something else
LEAST = {"latency": 8e-3, "speed": 0.06, "offset": np.radians(0.8), "travel": 0.025}
AT_REST = 0.5  # of an offset must be there when hand and twin stand
ALONE = 1.5  # what one motor alone differs by must be so much larger
FORCE_N, CURRENT_A, WARM_C, NOISE_RAD = 0.25, 0.04, 5.0, np.radians(0.6)
GRIP = 0.03  # by which forces of two like hands in one grip may differ, as a share
STEADY_N = 0.3  # a force that differs from the twin's by more than a zero has changed by so much
MIN_SAMPLES = 40
FOLLOW_S = 3.5  # of motion that tell how motors follow


@dataclass(frozen=True, kw_only=True, eq=False)
class MotorPair:
    """A hand and its twin at the same times. Shapes (t,), (t, n)."""

    spec: HandSpec
    stamp_s: FloatArray
    hand: dict[str, FloatArray]
    twin: dict[str, FloatArray]
    error: IntArray
    twin_error: IntArray
    status: IntArray
    commands: Commands

    @property
    def names(self) -> tuple[str, ...]:
        """Of the motors."""
        return self.spec.actuator_names

    @property
    def apart_deg(self) -> FloatArray:
        """How far the angles of motors were apart [degrees]. Shape (t, n)."""
        return np.degrees(np.abs(self.hand["angle_rad"] - self.twin["angle_rad"]))


def pair_motors(spec: HandSpec, hand: MotorColumns, twin: MotorColumns, commands: JointColumns) -> MotorPair | None:
    """Both at the times of the hand, where both are known; None where they share no second.

    Args:
        spec: The hand.
        hand: What it reported.
        twin: What its twin reported.
        commands: What both were told; NaN keeps.
    """
    if not len(twin.stamp_s):
        return None
    inside = (hand.stamp_s >= twin.stamp_s[0]) & (hand.stamp_s <= twin.stamp_s[-1])
    inside &= np.diff(hand.stamp_s, prepend=-np.inf) > 1e-4
    stamp_s = hand.stamp_s[inside]
    if len(stamp_s) < MIN_SAMPLES or stamp_s[-1] - stamp_s[0] < 1.0:
        return None
    names = ("angle_rad", "force_n", "current_a", "temperature_c")
    at = np.searchsorted(twin.stamp_s, stamp_s).clip(0, len(twin.stamp_s) - 1)
    return MotorPair(
        spec=spec,
        stamp_s=stamp_s,
        hand={name: getattr(hand, name)[inside] for name in names},
        twin={name: _interpolated(stamp_s, twin.stamp_s, getattr(twin, name)) for name in names},
        error=hand.error[inside],
        twin_error=twin.error[at],
        status=hand.status[inside],
        commands=_whole(spec, commands, hand),
    )


def _interpolated(stamp_s: FloatArray, from_s: FloatArray, values: FloatArray) -> FloatArray:
    return np.stack([np.interp(stamp_s, from_s, column) for column in values.T], axis=1)


def _whole(spec: HandSpec, commands: JointColumns, hand: MotorColumns) -> Commands:
    """Commands with what they left as it was; where readings begin after the first one, nothing is known before it."""
    first = np.where(np.isnan(hand.target_rad[0]), hand.angle_rad[0], hand.target_rad[0])
    speed = np.where(np.isnan(hand.speed_rad_s[0]), spec.top_speed_rad_s, hand.speed_rad_s[0])
    known = len(commands.stamp_s) > 0 and commands.stamp_s[0] <= hand.stamp_s[0]
    start_s = float(commands.stamp_s[0]) - 1e-6 if known else float(hand.stamp_s[0]) - 1.0
    targets, speeds, times = [first], [speed], [start_s]
    low, high = ([getattr(actuator, end) for actuator in spec.actuators] for end in ("lower_rad", "upper_rad"))
    for stamp_s, target, new_speed in zip(
        commands.stamp_s, commands.position_rad, commands.velocity_rad_s, strict=True
    ):
        within = np.clip(target, low, high)
        targets.append(np.where(np.isnan(target), targets[-1], within))
        speeds.append(np.where(np.isnan(new_speed), speeds[-1], np.minimum(new_speed, spec.top_speed_rad_s)))
        times.append(float(stamp_s))
    return Commands(np.array(times), np.array(targets), np.array(speeds))


def find_motor_gaps(pair: MotorPair) -> list[Finding]:
    """Every difference that is sure, the most telling first."""
    moved = np.degrees(np.ptp(pair.hand["angle_rad"], axis=0))
    if len(pair.commands.stamp_s) == 1 and moved.max() > np.degrees(MOVED_RAD):
        words = "moves, and nobody was heard to command it: its clients use another wire"
        return [*_errors(pair), _simple(pair, "uncommanded", "hand", float(moved.max()), "degrees", 0.0, words)]
    swapped, doubtful = _orders(pair)
    if swapped:  # nothing else can be compared
        return [*swapped, *_errors(pair)]
    stuck, frozen = _stuck(pair)
    met, unfree = _meetings(pair, frozen)
    broken = (pair.error & ~pair.twin_error) != 0
    free = ~(frozen | unfree | doubtful | broken) & ~_gaps(pair)[:, None]
    followed = _following(pair, free, holding=bool(met))
    return [
        *stuck,
        *met,
        *_errors(pair),
        *followed,
        *_forces(pair, free),
        *_currents(pair, free),
        *_readings(pair, free),
    ]


def _orders(pair: MotorPair) -> tuple[list[Finding], BoolArray]:
    """Motors that move as others should; and those that may, of which nothing else can be said."""
    # Of what closing does not move, its whole way.
    stroke = np.array([a.closed_rad - a.open_rad or a.upper_rad - a.lower_rad for a in pair.spec.actuators])
    hand, twin = ((part["angle_rad"] - pair.spec.open_rad) / stroke for part in (pair.hand, pair.twin))
    apart = np.sqrt(np.mean((hand[:, :, None] - twin[:, None, :]) ** 2, axis=0))
    moves_alike = np.sqrt(np.mean((twin[:, :, None] - twin[:, None, :]) ** 2, axis=0))
    own = np.diag(apart)
    doubtful = apart.min(axis=1) < 0.25 * own
    wrong = np.flatnonzero(own > EXCHANGED)
    partner = {i: int(np.argmin(apart[i])) for i in wrong.tolist()}
    fits = [
        i for i, j in partner.items()
        if j != i and apart[i, j] < 0.25 * own[i] and apart[i, j] < 0.06 and moves_alike[i, j] > EXCHANGED
    ]  # fmt: skip
    if len(fits) < 2 or sorted(partner[i] for i in fits) != sorted(fits):
        return [], doubtful
    names = pair.names
    words = ", ".join(f"{names[i]} moves as {names[partner[i]]} should" for i in fits)
    return [
        Finding(
            kind="finger order",
            hand=pair.spec.name,
            part=",".join(names[i] for i in fits),
            size=float(len(fits)),
            unit="motors",
            words=f"fingers are in another order: {words}",
            evidence=f"{100 * float(max(apart[i, partner[i]] for i in fits)):.1f} % of the stroke apart that way, "
            f"{100 * float(min(own[fits])):.0f} % as they are named",
        )
    ], doubtful


def _stuck(pair: MotorPair) -> tuple[list[Finding], BoolArray]:
    """Motors that stand while their twins move, and from when on."""
    found, frozen = [], np.zeros(pair.hand["angle_rad"].shape, dtype=bool)
    hand, twin, stamp_s, zero_n = pair.hand["angle_rad"], pair.twin["angle_rad"], pair.stamp_s, _zeros_n(pair)
    for motor, name in enumerate(pair.names):
        steps = max(1, round(0.1 / max(np.median(np.diff(stamp_s)), 1e-3)))
        since = None
        for start in range(0, len(stamp_s), steps):
            end = int(np.searchsorted(stamp_s, stamp_s[start] + STUCK_S))
            if end >= len(stamp_s):
                break
            still = np.ptp(hand[start:end, motor]) < STUCK_RAD and np.ptp(twin[start:end, motor]) > MOVED_RAD
            pushes = np.nanmax(np.abs(pair.hand["force_n"][start:end, motor] - zero_n[motor]), initial=0.0) > LOAD_N
            if still and not pushes:
                since = start if since is None else since
            elif np.ptp(hand[start:end, motor]) > 2 * STUCK_RAD:
                since = None
        if since is None:
            continue
        frozen[since:, motor] = True
        angle_deg = float(np.degrees(np.median(hand[since:, motor])))
        missed = float(np.degrees(np.ptp(twin[since:, motor])))
        found.append(
            Finding(
                kind="stuck",
                hand=pair.spec.name,
                part=name,
                size=angle_deg,
                unit="degrees",
                words=f"{name} is stuck at {angle_deg:.1f} degrees",
                evidence=f"from {stamp_s[since]:.1f} s on it stands while the twin moves by {missed:.0f} degrees",
            )
        )
    return found, frozen


def _meetings(pair: MotorPair, frozen: BoolArray) -> tuple[list[Finding], BoolArray]:
    """What a hand meets that its twin does not, or the reverse; and where motors were not free to move."""
    target, zero_n = _targets(pair), _zeros_n(pair)
    found, stamp_s = [], pair.stamp_s
    unfree = np.zeros(target.shape, dtype=bool)
    stopped = {}
    for which, part in (("hand", pair.hand), ("twin", pair.twin)):
        angle = part["angle_rad"]
        still = _since(np.abs(_slope(stamp_s, angle)) < STILL_RAD_S, stamp_s) > STILL_S
        pushes = np.nan_to_num(np.abs(part["force_n"] - (zero_n if which == "hand" else 0.0))) > LOAD_N
        short = np.abs(angle - target) > SHORT_RAD
        slow = _since(np.abs(_slope(stamp_s, target)) < SLOW_RAD_S, stamp_s) > STILL_S
        # Where force is measured, a finger that stands short of its target without pushing has another zero.
        told = pushes | (np.isnan(part["force_n"]) & slow)
        stopped[which] = still & short & told & ~frozen, angle
        unfree |= pushes | stopped[which][0]
    if not np.isnan(pair.hand["force_n"]).all():
        unfree |= np.isin(pair.status, (MotorStatus.FORCE_REACHED, MotorStatus.STALLED, MotorStatus.CURRENT_PROTECTION))
    for motor, name in enumerate(pair.names):
        for which, other, words in (
            ("hand", "twin", "{name} meets something at {at:.0f} degrees that the twin does not have"),
            ("twin", "hand", "{name} goes on where the twin meets something at {at:.0f} degrees"),
        ):
            here, angle = stopped[which]
            _, there = stopped[other]
            further = (there - angle)[:, motor] * np.sign(target - angle)[:, motor] > SHORT_RAD
            apart = here[:, motor] & further
            seconds = float(np.sum(np.diff(stamp_s, append=stamp_s[-1])[apart]))
            if seconds < STILL_S:
                continue
            at = float(np.degrees(np.median(angle[apart, motor])))
            force_n = pair.hand["force_n"][apart, motor]
            force_n = force_n[np.isfinite(force_n)]
            pushed = f", pushing with {np.median(force_n):.1f} N" if which == "hand" and force_n.size else ""
            found.append(
                Finding(
                    kind="meets" if which == "hand" else "misses",
                    hand=pair.spec.name,
                    part=name,
                    size=at,
                    unit="degrees",
                    words=words.format(name=name, at=at),
                    evidence=f"for {seconds:.1f} s it stood there{pushed}",
                )
            )
    return found, unfree | _recently(unfree, stamp_s, AFTER_S)


def _zeros_n(pair: MotorPair) -> FloatArray:
    """What each force sensor reads beyond its twin's all the time: that is no load, however large it is. Shape (n,)."""
    apart = np.abs(pair.hand["angle_rad"] - pair.twin["angle_rad"]) < SHORT_RAD
    alike = apart & (np.nan_to_num(np.abs(pair.twin["force_n"])) < LOAD_N)
    zeros = np.zeros(len(pair.names))
    for motor in range(len(zeros)):
        seen = alike[:, motor]
        more_n = (pair.hand["force_n"] - pair.twin["force_n"])[seen, motor]
        if len(more_n) < MIN_SAMPLES or np.isnan(more_n).any():
            continue
        middle, low, high = np.percentile(more_n, (50, 10, 90))
        # Of a finger that stands, only little: it may be pressed.
        everywhere = np.ptp(pair.hand["angle_rad"][seen, motor]) > MOVED_RAD
        if high - low < STEADY_N and (everywhere or abs(middle) < LOAD_N):
            zeros[motor] = middle
    return zeros


def _following(pair: MotorPair, free: BoolArray, *, holding: bool) -> Iterator[Finding]:
    """Latency, speed, offset and travel.

    A hand that holds something which its twin does not (`holding`) has fingers that are led by it: then only what all
    of them have in common is told. What is later because all are slower is not told of one motor once more.
    """
    if pair.stamp_s[-1] - pair.stamp_s[0] < FOLLOW_S:
        return
    difference = fit_follow(
        pair.stamp_s,
        pair.commands,
        pair.hand["angle_rad"],
        pair.twin["angle_rad"],
        free,
        open_rad=pair.spec.open_rad,
        latency_s=_latency_s(pair),
    )
    words = {
        "latency": ("s", "follows {size:.0f} ms {sign} than the twin", 1e3, ("earlier", "later")),
        "speed": ("1", "moves {size:.0f} % {sign} than the twin", 100.0, ("slower", "faster")),
        "offset": ("rad", "stands {size:.1f} degrees {sign} than the twin", np.degrees(1.0), ("lower", "higher")),
        "travel": ("1", "travels {size:.0f} % {sign} than the twin", 100.0, ("less", "further")),
    }
    judged = {kind: _judge(difference, row, LEAST[kind]) for row, kind in enumerate(words)}
    stands = _shows_at_rest(pair, difference, free)
    common = {kind for kind in ("latency", "speed") if judged[kind][0]}
    for row, (kind, (unit, phrase, scale, signs)) in enumerate(words.items()):
        size, error = difference.value[row], difference.error[row]
        alike, alone = judged[kind]
        if holding or (kind in ("latency", "speed") and common):
            alone = np.zeros_like(alone)
        if kind in ("offset", "travel"):
            alone = alone & stands
        for part, which in alike or [(name, [n]) for n, name in enumerate(pair.names) if alone[n]]:
            value, spread = _mean(size[which], error[which])
            shown = phrase.format(size=abs(value) * scale, sign=signs[int(value > 0)])
            yield Finding(
                kind=kind,
                hand=pair.spec.name,
                part=part,
                size=value,
                unit=unit,
                error=spread,
                words=f"{part} {shown}",
                evidence=f"{int(free[:, which].sum() / len(which))} readings, standard error {spread * scale:.2g}",
            )


def _shows_at_rest(pair: MotorPair, followed: Followed, free: BoolArray) -> BoolArray:
    """Motors that stand as far from their twins as offset and travel say: on its way, a hand that is late is too."""
    apart = pair.hand["angle_rad"] - pair.twin["angle_rad"]
    slow = [np.abs(_slope(pair.stamp_s, part["angle_rad"])) < STILL_RAD_S for part in (pair.hand, pair.twin)]
    still = free & slow[0] & slow[1]
    expected = followed.value[2] + followed.value[3] * (pair.twin["angle_rad"] - pair.spec.open_rad)
    shown = np.zeros(len(pair.names), dtype=bool)
    for motor in range(len(shown)):
        here = still[:, motor] & (np.abs(expected[:, motor]) > 0.5 * LEAST["offset"])
        if here.sum() >= MIN_SAMPLES // 2:
            shown[motor] = np.median(apart[here, motor] / expected[here, motor]) > AT_REST
    return shown


def _judge(followed: Followed, row: int, least: float) -> tuple[list[tuple[str, list[int]]], BoolArray]:
    """What the whole hand has in common, if anything, and which motors differ by themselves."""
    size, error = followed.value[row], followed.error[row]
    sure = (np.abs(size) > SURE * error) & (np.abs(size) > least)
    known = np.isfinite(error) & (least > error)
    return _alike(size, error, known & sure, known), sure & (np.abs(size) > ALONE * least)


def _alike(size: FloatArray, error: FloatArray, sure: BoolArray, known: BoolArray) -> list[tuple[str, list[int]]]:
    """One finding for the whole hand, where most motors that can tell say the same."""
    if sure.sum() < 3:
        return []
    value, _ = _mean(size[sure], error[sure])
    if np.any(np.abs(size[known] - value) > np.maximum(SURE * error[known], 0.35 * abs(value))):
        return []
    return [("every motor", np.flatnonzero(sure).tolist())]


def _mean(size: FloatArray, error: FloatArray) -> tuple[float, float]:
    weight = 1.0 / np.maximum(error, 1e-9) ** 2
    return float(np.sum(weight * size) / np.sum(weight)), float(1.0 / np.sqrt(np.sum(weight)))


def _forces(pair: MotorPair, free: BoolArray) -> Iterator[Finding]:
    """Zero, friction and scale of the force sensors."""
    screws = [actuator.motor for actuator in pair.spec.actuators]
    if not all(isinstance(motor, LeadScrew) for motor in screws) or np.isnan(pair.hand["force_n"]).all():
        return
    velocity, theirs = (_slope(pair.stamp_s, part["angle_rad"]) for part in (pair.twin, pair.hand))
    along = (theirs * velocity > 0.5 * velocity**2) & (np.abs(velocity) > MOVING * pair.spec.top_speed_rad_s)
    closing = np.sign(pair.spec.closed_rad - pair.spec.open_rad)
    for motor, name in enumerate(pair.names):
        screw = screws[motor]
        assert isinstance(screw, LeadScrew)
        hand_n, twin_n = (_load(part["force_n"][:, motor], screw.loaded_offset_n) for part in (pair.hand, pair.twin))
        less = hand_n - twin_n
        going = velocity[:, motor] * closing[motor]
        runs = [_inner(along[:, motor] & (sign * going > 0.0), pair.stamp_s) for sign in (1, -1)]
        rest = free[:, motor] & (np.abs(going) < STILL_RAD_S)
        if all(run.sum() >= MIN_SAMPLES for run in runs):
            (up, up_error), (down, down_error) = (_median(less[run]) for run in runs)
            friction_n, error_n = (up - down) / 2.0, float(np.hypot(up_error, down_error)) / 2.0
            per_n = screw.lever_m * screw.newton_per_reported
            if abs(friction_n) > max(SURE * error_n, 0.12):
                more = "more" if friction_n > 0 else "less"
                yield Finding(
                    kind="friction",
                    hand=pair.spec.name,
                    part=name,
                    size=friction_n * per_n,
                    unit="N m",
                    error=error_n * per_n,
                    words=f"{name} has {1e3 * abs(friction_n) * per_n:.1f} mN m {more} friction than the twin",
                    evidence=f"its motor pushes with {abs(friction_n):.2f} N {more} whichever way it goes",
                )
            zero, zero_error = (up + down) / 2.0, error_n
        elif rest.sum() >= MIN_SAMPLES:
            zero, zero_error = _median(less[rest])
        else:
            continue
        if abs(zero) > max(SURE * zero_error, FORCE_N):
            yield _simple(
                pair, "force zero", name, zero, "N", zero_error, f"reads {zero:+.2f} N where the twin reads none"
            )
    alike = np.abs(pair.hand["angle_rad"] - pair.twin["angle_rad"]) < SAME_GRIP_RAD
    pushes = ~free & (np.abs(velocity) < STILL_RAD_S) & alike
    for motor, name in enumerate(pair.names):
        hand_n, twin_n = (part["force_n"][:, motor] for part in (pair.hand, pair.twin))
        both = pushes[:, motor] & (hand_n > LOAD_N) & (twin_n > LOAD_N)
        if both.sum() < MIN_SAMPLES:
            continue
        more = np.log(hand_n[both] / twin_n[both])
        # A grip goes on until the finger lets go: readings that are missing do not make two of one.
        releases = np.cumsum((hand_n < 0.5 * LOAD_N) & (twin_n < 0.5 * LOAD_N))[both]
        ends = np.flatnonzero(np.diff(releases)) + 1
        grips = np.array([np.median(grip) for grip in np.split(more, ends) if len(grip) >= MIN_SAMPLES // 4])
        if len(grips) < 2:  # fingers of two like hands do not come to rest alike in every grip
            continue
        spread = (GRIP**2 + np.square(grips - grips.mean()).sum()) / len(grips)
        ratio, error = float(np.exp(grips.mean())), float(np.sqrt(spread / len(grips)))
        if abs(ratio - 1.0) > max(SURE * error, 0.05):
            sign = "more" if ratio > 1.0 else "less"
            what = f"reads {100 * abs(ratio - 1.0):.0f} % {sign} force than the twin in the same grip"
            yield _simple(pair, "force scale", name, ratio - 1.0, "1", error, what)


def _load(reported_n: FloatArray, offset_n: float) -> FloatArray:
    """The load that a loaded finger's sensor reports, see `LeadScrew.loaded_offset_n`."""
    if offset_n <= 0.0:
        return reported_n
    return np.where(np.abs(reported_n) < 2 * offset_n, reported_n / 2.0, reported_n - np.sign(reported_n) * offset_n)


def _currents(pair: MotorPair, free: BoolArray) -> Iterator[Finding]:
    if np.isnan(pair.hand["current_a"]).all() or np.isnan(pair.twin["current_a"]).all():
        return
    hand, twin = (np.abs(_slope(pair.stamp_s, part["angle_rad"])) for part in (pair.hand, pair.twin))
    # In the middle of motions of both, each at its own speed: at their ends a motor stands already, or still.
    least = MOVING * pair.spec.top_speed_rad_s
    mid_hand, mid_twin = (s > np.maximum(least, 0.6 * np.percentile(s, 98, axis=0)) for s in (hand, twin))
    moving, rests = mid_hand & mid_twin, (hand < STILL_RAD_S) & (twin < STILL_RAD_S)
    for motor, name in enumerate(pair.names):
        less = (pair.hand["current_a"] - pair.twin["current_a"])[:, motor]
        for part, when in ((free & moving, "while it moves"), (free & rests, "at rest")):
            here = part[:, motor]
            if here.sum() < MIN_SAMPLES // 2:
                continue
            size, error = _median(less[here])
            if abs(size) > max(SURE * error, CURRENT_A):
                more = "more" if size > 0 else "less"
                yield _simple(
                    pair, "current", name, size, "A", error, f"draws {abs(size):.2f} A {more} than the twin {when}"
                )
                break


def _readings(pair: MotorPair, free: BoolArray) -> Iterator[Finding]:
    """Temperature, and noise of the angle."""
    less = (pair.hand["temperature_c"] - pair.twin["temperature_c"])[-MIN_SAMPLES:]
    warm = np.median(np.nan_to_num(less), axis=0)
    still = free & (_since(np.abs(_slope(pair.stamp_s, pair.twin["angle_rad"])) < STILL_RAD_S, pair.stamp_s) > STILL_S)
    noise = [
        [_jitter(part["angle_rad"][still[:, motor], motor]) for motor in range(len(pair.names))]
        for part in (pair.hand, pair.twin)
    ]
    for motor, name in enumerate(pair.names):
        if abs(warm[motor]) > WARM_C:
            more = "warmer" if warm[motor] > 0 else "cooler"
            words = f"is {abs(warm[motor]):.0f} degrees {more} than the twin"
            yield _simple(pair, "temperature", name, float(warm[motor]), "C", 0.0, words)
        more_rad = noise[0][motor] - noise[1][motor]
        if more_rad > NOISE_RAD:
            words = f"has an angle that jumps by {np.degrees(noise[0][motor]):.1f} degrees at rest"
            yield _simple(pair, "angle noise", name, more_rad, "rad", 0.0, words)


def _errors(pair: MotorPair) -> Iterator[Finding]:
    for motor, name in enumerate(pair.names):
        bits = int(np.bitwise_or.reduce(pair.error[:, motor] & ~pair.twin_error[:, motor]))
        # One reading may come before the twin's.
        if bits and (pair.error[:, motor] & bits & ~pair.twin_error[:, motor]).astype(bool).sum() > 5:
            what = (MotorError(bits).name or str(bits)).lower().replace("_", " ").replace("|", ", ")
            yield _simple(pair, "error", name, float(bits), "bits", 0.0, f"reports {what}, which the twin does not")


def _simple(pair: MotorPair, kind: str, part: str, size: float, unit: str, error: float, words: str) -> Finding:
    evidence = f"from {pair.stamp_s[0]:.1f} to {pair.stamp_s[-1]:.1f} s, standard error {error:.2g}"
    return Finding(
        kind=kind, hand=pair.spec.name, part=part, size=size, unit=unit, error=error, words=f"{part} {words}",
        evidence=evidence,
    )  # fmt: skip


def _latency_s(pair: MotorPair) -> float:
    return max((a.motor.latency_s if isinstance(a.motor, LeadScrew) else 0.0) for a in pair.spec.actuators)


def _targets(pair: MotorPair) -> FloatArray:
    """The newest target at every time, as if there were no latency."""
    newest = np.searchsorted(pair.commands.stamp_s, pair.stamp_s, side="right") - 1
    return pair.commands.target_rad[np.maximum(newest, 0)]


def _slope(stamp_s: FloatArray, values: FloatArray) -> FloatArray:
    """Derivative: a straight line through the readings of about 100 ms, which noise of single ones disturbs little."""
    n = max(1, round(0.05 / max(float(np.median(np.diff(stamp_s))), 1e-3)))
    weight = np.arange(-n, n + 1, dtype=np.float64)
    weight /= np.sum(weight**2) * max(float(np.median(np.diff(stamp_s))), 1e-3)
    ends = np.concatenate([np.repeat(values[:1], n, axis=0), values, np.repeat(values[-1:], n, axis=0)])
    return np.stack([np.convolve(column, weight[::-1], mode="valid") for column in ends.T], axis=1)


def _inner(holds: BoolArray, stamp_s: FloatArray) -> BoolArray:
    """Where something holds, without beginnings and ends, if enough is left: forces still change there. Shape (t,)."""
    ends_s = np.concatenate([[-np.inf], stamp_s[~holds], [np.inf]])
    after = np.searchsorted(ends_s, stamp_s)
    inner = holds & (stamp_s - ends_s[after - 1] > EDGE_S) & (ends_s[after] - stamp_s > EDGE_S)
    return inner if inner.sum() >= MIN_SAMPLES else holds


def _since(holds: BoolArray, stamp_s: FloatArray) -> FloatArray:
    """For how long something has held [s]. Shape (t, n)."""
    out = np.zeros(holds.shape)
    step_s = np.diff(stamp_s, prepend=stamp_s[0])
    for k in range(1, len(stamp_s)):
        out[k] = np.where(holds[k], out[k - 1] + step_s[k], 0.0)
    return out


def _recently(holds: BoolArray, stamp_s: FloatArray, seconds: float) -> BoolArray:
    """Whether something has held within the last seconds."""
    last_s = np.maximum.accumulate(np.where(holds, stamp_s[:, None], -np.inf), axis=0)
    return stamp_s[:, None] - last_s < seconds


def _gaps(pair: MotorPair) -> BoolArray:
    return np.diff(pair.stamp_s, prepend=pair.stamp_s[0]) > GAP_S


def _median(values: FloatArray) -> tuple[float, float]:
    """Median and its standard error; neighbouring readings err alike, so a tenth of them counts."""
    middle = float(np.median(values))
    spread = 1.4826 * float(np.median(np.abs(values - middle)))
    return middle, 1.25 * spread / np.sqrt(max(len(values) / 10.0, 1.0))


def _jitter(values: FloatArray) -> float:
    """Noise from reading to reading."""
    return 1.0484 * float(np.median(np.abs(np.diff(values)))) if len(values) > MIN_SAMPLES else 0.0
