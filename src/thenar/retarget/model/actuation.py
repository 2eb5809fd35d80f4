"""What a hand's motors can choose: variables, how every joint follows them, and their limits.

A *variable* is an angle the solver is free to choose. Every other joint follows one (``joint = ratio * variable +
offset``) or stands still: joints that carry the whole hand (a wrist) do, because a glove does not see them.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from thenar.hands.build import joint_inertia_kgm2
from thenar.hands.spec import Actuator, HandSpec, LeadScrew
from thenar.signals import FloatArray


@dataclass(frozen=True, kw_only=True)
class JointCoupling:
    """How one joint follows; ``variable`` -1 stands still at ``offset_rad``."""

    variable: int = -1
    ratio: float = 0.0
    offset_rad: float = 0.0


@dataclass(frozen=True, kw_only=True, eq=False)
class Actuation:
    """Variables of a hand. Shapes use v = variables, r = tendon rows."""

    variables: tuple[str, ...]
    """Joint that each variable is."""
    couplings: dict[str, JointCoupling]
    """By joint name."""
    lower_rad: FloatArray
    upper_rad: FloatArray
    speed_rad_s: FloatArray
    acceleration_rad_s2: FloatArray
    row_variable: NDArray[np.int64]
    """Two variables of each tendon. (r, 2)"""
    row_weight: FloatArray
    """(r, 2)"""
    row_lower_rad: FloatArray
    row_upper_rad: FloatArray


def whole_hand_joints(hand: HandSpec) -> list[str]:
    """Joints that move every finger at once, root first."""
    chains = [hand.joints_to(tip.link) for tip in hand.tips]
    return [joint.name for joint in chains[0] if all(joint in chain for chain in chains)]


def build_actuation(hand: HandSpec) -> Actuation:
    """Variables of a hand."""
    free = _free_joints(hand)
    variables = tuple(joint.name for joint in hand.joints if joint.name in free)
    couplings = {
        joint.name: JointCoupling(offset_rad=min(max(0.0, joint.lower_rad), joint.upper_rad)) for joint in hand.joints
    }
    couplings |= {name: JointCoupling(variable=n, ratio=1.0) for n, name in enumerate(variables)}
    for coupling in hand.couplings:  # drivers come before what they drive; one that stands still holds what follows it
        driver = couplings[coupling.driver]
        couplings[coupling.joint] = JointCoupling(
            variable=driver.variable,
            ratio=coupling.ratio * driver.ratio,
            offset_rad=coupling.ratio * driver.offset_rad + coupling.offset_rad,
        )
    lower, upper, speed = np.array([free[name] for name in variables]).T.copy()
    for joint in hand.joints:
        follow = couplings[joint.name]
        if follow.variable >= 0 and follow.ratio != 0.0:
            ends = sorted((end - follow.offset_rad) / follow.ratio for end in (joint.lower_rad, joint.upper_rad))
            lower[follow.variable] = max(lower[follow.variable], ends[0])
            upper[follow.variable] = min(upper[follow.variable], ends[1])
    rows = _tendon_rows(hand, variables)
    return Actuation(
        variables=variables,
        couplings=couplings,
        lower_rad=lower,
        upper_rad=upper,
        speed_rad_s=speed,
        acceleration_rad_s2=_accelerations(hand, variables, couplings),
        row_variable=rows[:, :2].astype(np.int64),
        row_weight=rows[:, 2:4],
        row_lower_rad=rows[:, 4],
        row_upper_rad=rows[:, 5],
    )


def motor_map(hand: HandSpec) -> FloatArray:
    """Motor angles from all joint angles. Shape (actuators, joints)."""
    result = np.zeros((len(hand.actuators), len(hand.joints)))
    for row, actuator in enumerate(hand.actuators):
        for joint, weight in _driven_joints(hand, actuator):
            result[row, hand.joint_names.index(joint)] = weight
    return result


def closing_sign(hand: HandSpec) -> dict[str, float]:
    """+1 for a joint whose angle grows when its finger closes, else -1."""
    sign: dict[str, float] = {}
    for actuator in hand.actuators:
        towards = -1.0 if actuator.closed_rad < actuator.open_rad else 1.0
        sign |= {joint: towards * np.sign(weight) for joint, weight in _driven_joints(hand, actuator)}
    for coupling in hand.couplings:
        if coupling.driver in sign:  # of fingers that are left out it is not
            sign[coupling.joint] = sign[coupling.driver] * np.sign(coupling.ratio)
    return sign


def _driven_joints(hand: HandSpec, actuator: Actuator) -> tuple[tuple[str, float], ...]:
    """Joints that a motor pulls, with their weights: several where it drives a tendon."""
    return next((tendon.joints for tendon in hand.tendons if tendon.name == actuator.drives), ((actuator.drives, 1.0),))


def _free_joints(hand: HandSpec) -> dict[str, tuple[float, float, float]]:
    """Lower and upper end and speed of every free joint."""
    tendons = {tendon.name for tendon in hand.tendons}
    limited = [dict(t.joints) for t in hand.tendons if t.lower_rad is not None or t.upper_rad is not None]
    free = {}
    for actuator in hand.actuators:
        speed = actuator.top_speed_rad_s
        if actuator.drives not in tendons:
            free[actuator.drives] = (actuator.lower_rad, actuator.upper_rad, speed)
            continue
        weights = dict(_driven_joints(hand, actuator))
        first, *others = weights
        # The first joint of a tendon bends first. Others move with it where a limit ties them to it; elsewhere
        # nothing but contact bends them.
        tied = [name for name in others if any(name in joints and first in joints for joints in limited)]
        # The motor's speed is that of the weighted sum.
        speed /= sum(abs(weights[name]) for name in (first, *tied))
        free |= dict.fromkeys((first, *tied), (-np.inf, np.inf, speed))
    still = whole_hand_joints(hand)
    return {name: limits for name, limits in free.items() if name not in still}


def _accelerations(hand: HandSpec, variables: tuple[str, ...], couplings: dict[str, JointCoupling]) -> FloatArray:
    """Largest acceleration of each variable [rad/s^2].

    A lead screw needs a known time to reach its speed. A servo's torque turns the straight finger and all that follows.
    """
    inertia, pulls = joint_inertia_kgm2(hand), motor_map(hand)
    result = np.empty(len(variables))
    for number, name in enumerate(variables):
        actuator = hand.actuators[int(np.flatnonzero(pulls[:, hand.joint_names.index(name)])[0])]
        if isinstance(actuator.motor, LeadScrew):
            result[number] = actuator.top_speed_rad_s / actuator.motor.stop_s
            continue
        moves = np.array([couplings[j].ratio if couplings[j].variable == number else 0.0 for j in hand.joint_names])
        result[number] = actuator.motor.effort_nm / (moves @ inertia @ moves)
    return result


def _tendon_rows(hand: HandSpec, variables: tuple[str, ...]) -> FloatArray:
    """Tendons over two variables: both variables, both weights, lower and upper limit. Shape (r, 6)."""
    motors = {actuator.drives: actuator for actuator in hand.actuators}
    rows = []
    for tendon in hand.tendons:
        if len(tendon.joints) != 2 or any(name not in variables for name, _ in tendon.joints):
            continue
        motor = motors.get(tendon.name)
        (one, a), (other, b) = tendon.joints
        lower = tendon.lower_rad if tendon.lower_rad is not None else (motor.lower_rad if motor else -np.inf)
        upper = tendon.upper_rad if tendon.upper_rad is not None else (motor.upper_rad if motor else np.inf)
        rows.append((variables.index(one), variables.index(other), a, b, lower, upper))
    return np.array(rows, dtype=np.float64).reshape(-1, 6)
