"""What a hand's motors can choose: free angles, how every joint follows them, and their limits.

A *variable* is an angle the solver is free to choose. Every other joint follows one (``joint = ratio * variable +
offset``) or stands still: joints that carry the whole hand (a wrist) do, because a glove does not see them.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from thenar.hands.build import joint_inertia_kgm2
from thenar.hands.spec import HandSpec, LeadScrew
from thenar.signals import FloatArray


@dataclass(frozen=True, kw_only=True)
class Follow:
    """How one joint follows; ``variable`` -1 stands still at ``offset_rad``."""

    variable: int
    ratio: float
    offset_rad: float


@dataclass(frozen=True, kw_only=True, eq=False)
class Drive:
    """Free angles of a hand. Shapes use v = variables, r = tendon rows."""

    variables: tuple[str, ...]
    """Joint that each variable is."""
    follows: dict[str, Follow]
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


def joints_to(hand: HandSpec, link: str) -> list[str]:
    """Names of the joints from the root to a link."""
    child_joint = {joint.child: joint for joint in hand.joints}
    names: list[str] = []
    while link != hand.root:
        joint = child_joint[link]
        names.insert(0, joint.name)
        link = joint.parent
    return names


def whole_hand_joints(hand: HandSpec) -> set[str]:
    """Joints that move every finger at once."""
    chains = [set(joints_to(hand, tip.link)) for tip in hand.tips]
    return chains[0].intersection(*chains)


def build_drive(hand: HandSpec) -> Drive:
    """Free angles of a hand."""
    free = _free_joints(hand)
    variables = tuple(joint.name for joint in hand.joints if joint.name in free)
    follows = {name: Follow(variable=n, ratio=1.0, offset_rad=0.0) for n, name in enumerate(variables)}
    for coupling in hand.couplings:  # drivers come before what they drive
        driver = follows[coupling.driver]
        follows[coupling.joint] = Follow(
            variable=driver.variable,
            ratio=coupling.ratio * driver.ratio,
            offset_rad=coupling.ratio * driver.offset_rad + coupling.offset_rad,
        )
    limits = np.array([free[name] for name in variables])
    lower, upper = limits[:, 0].copy(), limits[:, 1].copy()
    for joint in hand.joints:
        rest_rad = min(max(0.0, joint.lower_rad), joint.upper_rad)
        follow = follows.setdefault(joint.name, Follow(variable=-1, ratio=0.0, offset_rad=rest_rad))
        if follow.variable >= 0 and follow.ratio != 0.0:
            ends = sorted((end - follow.offset_rad) / follow.ratio for end in (joint.lower_rad, joint.upper_rad))
            lower[follow.variable] = max(lower[follow.variable], ends[0])
            upper[follow.variable] = min(upper[follow.variable], ends[1])
    return Drive(
        variables=variables,
        follows=follows,
        lower_rad=lower,
        upper_rad=upper,
        speed_rad_s=limits[:, 2].copy(),
        acceleration_rad_s2=_accelerations(hand, variables, follows),
        **_rows(hand, variables),
    )


def motor_map(hand: HandSpec) -> FloatArray:
    """Motor angles from all joint angles. Shape (actuators, joints)."""
    tendons = {tendon.name: tendon for tendon in hand.tendons}
    names = list(hand.joint_names)
    result = np.zeros((len(hand.actuators), len(names)))
    for row, actuator in enumerate(hand.actuators):
        parts = tendons[actuator.drives].joints if actuator.drives in tendons else ((actuator.drives, 1.0),)
        for joint, weight in parts:
            result[row, names.index(joint)] = weight
    return result


def closing_sign(hand: HandSpec) -> dict[str, float]:
    """+1 for a joint whose angle grows when its finger closes, else -1."""
    tendons = {tendon.name: tendon for tendon in hand.tendons}
    sign: dict[str, float] = {}
    for actuator in hand.actuators:
        towards = -1.0 if actuator.closed_rad < actuator.open_rad else 1.0
        parts = tendons[actuator.drives].joints if actuator.drives in tendons else ((actuator.drives, 1.0),)
        sign |= {joint: towards * np.sign(weight) for joint, weight in parts}
    for coupling in hand.couplings:
        sign[coupling.joint] = sign[coupling.driver] * np.sign(coupling.ratio)
    return sign


def _free_joints(hand: HandSpec) -> dict[str, tuple[float, float, float]]:
    """Lower and upper end and speed of every free joint."""
    tendons = {tendon.name: tendon for tendon in hand.tendons}
    limited = [dict(t.joints) for t in hand.tendons if t.lower_rad is not None or t.upper_rad is not None]
    free = {}
    for actuator in hand.actuators:
        speed = actuator.top_speed_rad_s
        if actuator.drives not in tendons:
            free[actuator.drives] = (actuator.lower_rad, actuator.upper_rad, speed)
            continue
        first, *others = (name for name, _ in tendons[actuator.drives].joints)
        # The first joint of a tendon bends first. Others move with it where a limit ties them to it; elsewhere
        # nothing but contact bends them.
        tied = [name for name in others if any(name in joints and first in joints for joints in limited)]
        share = 1.0 / (1 + len(tied))  # of the motor's speed, which is that of the sum
        free |= dict.fromkeys((first, *tied), (-np.inf, np.inf, share * speed))
    still = whole_hand_joints(hand)
    return {name: limits for name, limits in free.items() if name not in still}


def _accelerations(hand: HandSpec, variables: tuple[str, ...], follows: dict[str, Follow]) -> FloatArray:
    """Largest acceleration of each variable [rad/s^2].

    A lead screw needs a known time to reach its speed. A servo's torque turns the straight finger and all that follows.
    """
    inertia = joint_inertia_kgm2(hand)
    pulls = motor_map(hand)
    result = np.empty(len(variables))
    for number, name in enumerate(variables):
        actuator = hand.actuators[int(np.flatnonzero(pulls[:, hand.joint_names.index(name)])[0])]
        if isinstance(actuator.motor, LeadScrew):
            result[number] = actuator.top_speed_rad_s / actuator.motor.stop_s
            continue
        moves = np.array([follows[j].ratio if follows[j].variable == number else 0.0 for j in hand.joint_names])
        result[number] = actuator.motor.effort_nm / (moves @ inertia @ moves)
    return result


def _rows(hand: HandSpec, variables: tuple[str, ...]) -> dict[str, np.ndarray]:
    """Tendons over two free joints, as rows with limits."""
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
    table = np.array(rows, dtype=np.float64).reshape(-1, 6)
    return {
        "row_variable": table[:, :2].astype(np.int64),
        "row_weight": table[:, 2:4].copy(),
        "row_lower_rad": table[:, 4].copy(),
        "row_upper_rad": table[:, 5].copy(),
    }
