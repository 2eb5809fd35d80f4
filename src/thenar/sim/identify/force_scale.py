"""How many real newtons one reported newton is worth: from loads that somebody weighed.

No reading of a hand tells it: a spring that is twice as stiff under a sensor that reads half is the same to every wire.
A fingertip that presses on a kitchen scale, the motor standing, is told by both.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import mujoco
import numpy as np

from thenar.errors import BadValue, UnknownName
from thenar.hands.build import build_spec
from thenar.hands.spec import Actuator, HandSpec, LeadScrew
from thenar.sim.identify.moves import Track, split_moves
from thenar.sim.identify.programme import Step
from thenar.sim.identify.readings_fit import Estimate, Rest, estimate, find_rests

LIMITS_N = (1.5, 3.5, 5.0, 6.5)  # of the presses on a scale, each beyond where the one before it stops late
FIRST_SPEED, SPEED, STAND_S = 0.05, 0.02, 6.0  # slow enough to stop near the limit, long enough to read a scale
BACK_SPEED, NUDGE = 0.3, 0.03  # strokes that a spring gives way from one load to the next
PRESSED_N = 1.2  # reported beyond what a free finger reads: beyond what an offset bends
MIN_LOADS, MIN_SPAN = 3, 1.5
PLACE = 0.025  # standard error of the lever, as a share: where on its tip a finger touches is not told
DIGIT_N = 0.01
ADVICE = (
    "let its fingertip press straight down on a kitchen scale and stand at three loads or more (thenar identify "
    "protocol --scale), note what the scale shows each time, and give it with --weighed; its pads do not tell, because "
    "fingers meet a bar beside them"
)


def scale_presses(hand: HandSpec, motor: str) -> Iterator[Step]:
    """A finger presses on a scale, harder and harder, and stands in between."""
    if motor not in hand.actuator_names:
        raise UnknownName(f"motor of {hand.name}", motor, hand.actuator_names)
    moving = np.array(hand.actuator_names) == motor
    closing, opening = (np.where(moving, closed, np.nan) for closed in (1.0, 0.0))
    stroke_s = float(np.max(np.where(moving, (hand.closed_rad - hand.open_rad) / hand.top_speed_rad_s, 0.0)))
    back_s = stroke_s / BACK_SPEED + STAND_S
    back = Step(phase="scale", closed=opening, speed=BACK_SPEED, limit_n=LIMITS_N[0], wait_s=back_s, contact=True)
    yield back
    for number, limit_n in enumerate(LIMITS_N):
        speed, way = (SPEED, NUDGE) if number else (FIRST_SPEED, 1.0)
        wait_s = 0.5 + way * stroke_s / speed + STAND_S
        yield Step(phase="scale", closed=closing, speed=speed, limit_n=limit_n, wait_s=wait_s, contact=True)
    yield back


def tip_travel_m(hand: HandSpec, motor: str, closed: float) -> float:
    """How far a motor moves its fingertip per radian, in one posture [m/rad]."""
    number = hand.actuator_names.index(motor)
    actuator = hand.actuators[number]
    finger = next(tip.finger for tip in hand.tips if motor.startswith(tip.finger))
    model = build_spec(hand).compile()
    data = mujoco.MjData(model)
    at = [int(model.joint(name).qposadr[0]) for name in hand.joint_names]
    places = []
    for step_rad in (-1e-3, 1e-3):
        angles = hand.open_rad.copy()
        angles[number] += closed * (actuator.closed_rad - actuator.open_rad) + step_rad
        data.qpos[at] = list(hand.joint_angles(angles).values())
        mujoco.mj_kinematics(model, data)
        places.append(data.site(f"{finger}_tip").xpos.copy())
    return float(np.linalg.norm(places[1] - places[0])) / 2e-3


def loaded_rests(actuator: Actuator, track: Track) -> list[Rest]:
    """Where a motor stood and pressed, in order."""
    assert isinstance(actuator.motor, LeadScrew)
    rests = find_rests(split_moves(track, top_speed=1.0 / actuator.motor.full_stroke_s))
    if not rests:
        return []
    free_n = min(float(rest.force_n.mean()) for rest in rests)
    return [rest for rest in rests if rest.force_n.mean() - free_n > PRESSED_N]


def fit_force_scale(hand: HandSpec, motor: str, track: Track, weighed_n: Sequence[float]) -> Estimate:
    """Real newtons at the fingertip for one that the motor reports; the slope alone, which no zero and weight change.

    Args:
        hand: What the catalogue has of it.
        motor: Which one pressed on a scale.
        track: Its readings.
        weighed_n: What the scale showed each time it stood, in order [N].
    """
    actuator = hand.actuators[hand.actuator_names.index(motor)]
    assert isinstance(actuator.motor, LeadScrew)
    rests = loaded_rests(actuator, track)
    if len(rests) != len(weighed_n):
        raise BadValue(f"weighed loads of {motor}", len(weighed_n), f"{len(rests)}, as often as it stood and pressed")
    said = np.array([rest.force_n.mean() for rest in rests])
    if len(said) < MIN_LOADS or said.max() < MIN_SPAN * said.min():
        raise BadValue(
            f"weighed loads of {motor}", len(said), f"{MIN_LOADS} or more, the largest {MIN_SPAN} times the smallest"
        )
    travel = np.array([tip_travel_m(hand, motor, float(rest.closed.mean())) for rest in rests])
    real = np.asarray(weighed_n, dtype=np.float64) * travel / actuator.motor.lever_m
    matrix = np.stack([said, np.ones_like(said)], axis=1)
    (slope, cut), *_ = np.linalg.lstsq(matrix, real, rcond=None)
    variance = max(float(np.sum((real - matrix @ [slope, cut]) ** 2)) / (len(said) - 2), DIGIT_N**2 / 12.0)
    error = np.sqrt(np.linalg.inv(matrix.T @ matrix)[0, 0] * variance)
    return estimate(float(slope), float(np.hypot(error, PLACE * slope)), np.inf if len(said) > 3 else 4.0)
