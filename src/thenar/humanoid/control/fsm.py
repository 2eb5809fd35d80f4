"""The state machine: the vendor's states and ids, which leads to which, and who commands what in each."""

from __future__ import annotations

import enum
from collections.abc import Collection, Iterable

from thenar.errors import BadCommand

CLIENT = "client"
"""Source of commands that come over the wire."""
UPPER_BODY_GROUPS = ("waist", "head", "left_manipulator", "right_manipulator")
HAND_GROUPS = ("left_hand", "right_hand")


class WholeBody(enum.IntEnum):
    """What the whole body does."""

    Default = 0
    JointStand = 1
    PdStand = 2
    UserController_A = 3
    UserController_B = 4
    UserController_C = 5
    UserController_D = 6
    UserController_E = 7
    UserController_F = 8
    SecurityProtection = 9
    UserCmd = 10
    UpperBodyUserCmd = 11


class UpperBody(enum.IntEnum):
    """What the upper body does beside; there is no 3."""

    Default = 0
    Act = 1
    Remote = 2
    MoveCmd = 4


class VelocitySource(enum.IntEnum):
    """Whose velocity command counts."""

    Joystick = 0
    Handheld = 1
    Navigation = 2


USER_CONTROLLERS = tuple(state for state in WholeBody if state.name.startswith("UserController_"))
HUNG = (WholeBody.Default, WholeBody.JointStand)
"""States in which a real robot hangs from its gantry."""

# Ref: the vendor's button table; for E and F its configuration file, since its table repeats C's and D's.
BUTTONS = {
    frozenset({"LB", "RB"}): WholeBody.Default,
    frozenset({"LB", "A"}): WholeBody.JointStand,
    frozenset({"LB", "B"}): WholeBody.PdStand,
    frozenset({"RB", "A"}): WholeBody.UserController_A,
    frozenset({"RB", "B"}): WholeBody.UserController_B,
    frozenset({"RB", "Y"}): WholeBody.UserController_C,
    frozenset({"RB", "X"}): WholeBody.UserController_D,
    frozenset({"LB", "X"}): WholeBody.UserController_E,
    frozenset({"LB", "Y"}): WholeBody.UserController_F,
    frozenset({"LT", "RT"}): WholeBody.SecurityProtection,
}


def check_change(now: WholeBody, wanted: int, configured: Collection[WholeBody]) -> WholeBody:
    """The state that was asked for, or `BadCommand` with the reason why it cannot follow.

    The vendor publishes no table of transitions. Here security and Default can be reached from everywhere, security is
    left through Default or JointStand alone, and a user's controller needs a robot that stands.
    """
    if wanted not in tuple(WholeBody):
        raise BadCommand(f"whole-body state {wanted} does not exist; there are 0 to {max(WholeBody)}")
    state = WholeBody(wanted)
    if state in USER_CONTROLLERS and state not in configured:
        raise BadCommand(f"no task is configured for {state.name}")
    if now == WholeBody.SecurityProtection and state not in (now, *HUNG):
        raise BadCommand(f"{now.name} is left through Default or JointStand, not to {state.name}")
    if now == WholeBody.Default and state in USER_CONTROLLERS:
        raise BadCommand(f"{state.name} follows JointStand or PdStand, not {now.name}")
    return state


def check_upper(wanted: int) -> UpperBody:
    """The upper-body state that was asked for, or `BadCommand`."""
    if wanted not in tuple(UpperBody):
        raise BadCommand(f"upper-body state {wanted} does not exist; there are 0, 1, 2 and 4")
    return UpperBody(wanted)


def check_source(wanted: int) -> VelocitySource:
    """The velocity source that was asked for, or `BadCommand`."""
    if wanted not in tuple(VelocitySource):
        raise BadCommand(f"velocity source {wanted} does not exist; there are 0, 1 and 2")
    return VelocitySource(wanted)


def owners(whole: WholeBody, upper: UpperBody, *, override: bool, groups: Iterable[str]) -> dict[str, str]:
    """Source that may command each group in a state.

    Args:
        whole: Whole-body state.
        upper: Upper-body state.
        override: Whether the whole-body state lets the upper body be commanded beside it.
        groups: All groups, hands included.
    """
    owner = dict.fromkeys(groups, whole.name)
    for hand in HAND_GROUPS:
        if hand in owner and whole != WholeBody.SecurityProtection:
            owner[hand] = ""  # hands are their own robots: a task or a client may use them in any state
    if whole == WholeBody.UserCmd:
        owner.update({group: CLIENT for group in owner if group not in HAND_GROUPS})
    if whole == WholeBody.UpperBodyUserCmd or (override and upper == UpperBody.Remote):
        owner.update(dict.fromkeys(UPPER_BODY_GROUPS, CLIENT))
    elif override and upper != UpperBody.Default:
        owner.update(dict.fromkeys(UPPER_BODY_GROUPS, upper.name))
    return owner
