"""Requests of clients as actions of the controller, each checked: what is off is refused with the reason."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from thenar.errors import BadCommand, BadValue
from thenar.humanoid.control.balance import MAX_RISE_M, POSE_LOWER, POSE_UPPER
from thenar.humanoid.control.command_board import CommandBoard
from thenar.humanoid.control.fsm import CLIENT, HAND_GROUPS, UpperBody, check_source
from thenar.humanoid.control.joystick import VELOCITY_LOWER, VELOCITY_UPPER
from thenar.signals import BodyRequest, GroupCommand, GroupGains, MoveRequest

if TYPE_CHECKING:
    from thenar.humanoid.control.controller import BodyController

MAX_VELOCITY_S = 60.0


def actions_of(controller: BodyController, request: BodyRequest) -> Iterator[Callable[[], None]]:
    """The actions of a request, one after the other; each raises `ThenarError` where it cannot be done."""
    if request.whole_body_state is not None:
        yield partial(controller.change, request.whole_body_state)
    if request.upper_body_state is not None:
        yield partial(controller.change_upper, request.upper_body_state)
    if request.velocity_source is not None:
        yield partial(_set_velocity_source, controller, request.velocity_source)
    if request.velocity is not None:
        yield partial(_set_velocity, controller, *request.velocity)
    if request.stand_pose is not None:
        yield partial(_set_stand_pose, controller, request.stand_pose)
    for command in request.groups:
        yield partial(_command_group, controller, command)
    for gains in request.gains:
        yield partial(_set_gains, controller.robot.board, gains)
    if request.move is not None:
        yield partial(_start_move, controller, request.move)


def _set_velocity_source(controller: BodyController, source: int) -> None:
    controller.set_velocity_source(check_source(source))


def _set_velocity(controller: BodyController, vx: float, vy: float, yaw: float, duration_s: float) -> None:
    velocity = np.array([vx, vy, yaw])
    if controller.joystick_in_command:
        raise BadCommand("velocities come from the joystick; set the velocity source to 1 or 2 first")
    if not np.all(np.isfinite(velocity)) or not 0.0 < duration_s <= MAX_VELOCITY_S:
        raise BadCommand(
            f"velocity {velocity.tolist()} for {duration_s:g} s; wanted finite ones for up to {MAX_VELOCITY_S:g} s"
        )
    _check_range("velocity", velocity, VELOCITY_LOWER, VELOCITY_UPPER)
    if not controller.follows_velocity:
        state = controller.whole_body.name
        raise BadCommand(f"no task of {state} follows velocities; one that does says follows_velocity")
    controller.set_velocity(velocity, duration_s)


def _set_stand_pose(controller: BodyController, pose: tuple[float, float, float]) -> None:
    _check_range("stand pose", np.array(pose), POSE_LOWER, POSE_UPPER)
    if pose[0] > MAX_RISE_M:  # reported back as what is reached
        controller.robot.board.clamped["stand height"] += 1
    controller.robot.put(stand_pose_cmd=(min(pose[0], MAX_RISE_M), *pose[1:]))


def _check_range(what: str, values: np.ndarray, lower: tuple[float, ...], upper: tuple[float, ...]) -> None:
    if not np.all((values >= lower) & (values <= upper)):  # NaN is not within either
        raise BadCommand(f"{what} {values.tolist()}; wanted {list(lower)} to {list(upper)}")


def _command_group(controller: BodyController, command: GroupCommand) -> None:
    board = controller.robot.board
    if command.group in HAND_GROUPS:
        board.command_hand(CLIENT, command.group, command.position, command.velocity, command.effort)
        return
    velocity = command.velocity if command.velocity.size else None
    effort = command.effort if command.effort.size else None
    if not controller.lends(command.group):
        board.command(CLIENT, command.group, command.position, velocity, effort)
        return
    # As on the robot: a state that leaves the upper body free follows whoever commands it.
    owner = board.owner[command.group]
    board.set_owners({command.group: CLIENT})
    try:
        board.command(CLIENT, command.group, command.position, velocity, effort)
    except BadCommand:
        board.set_owners({command.group: owner})
        raise


def _set_gains(board: CommandBoard, gains: GroupGains) -> None:
    if gains.position_mode is not None:
        board.set_position_gains(CLIENT, gains.group, *gains.position_mode)
    new_kp, new_kd = gains.kp_nm_rad, gains.kd_nms_rad
    if new_kp.size or new_kd.size:
        kp, kd = board.gains(gains.group)
        board.set_gains(CLIENT, gains.group, new_kp if new_kp.size else kp, new_kd if new_kd.size else kd)


def _start_move(controller: BodyController, move: MoveRequest) -> None:
    if controller.upper_body != UpperBody.MoveCmd:
        raise BadCommand(f"moves need the upper-body state MoveCmd; it is {controller.upper_body.name}")
    if move.kind not in ("joints", "pose", "line"):
        raise BadValue("kind of move", move.kind, "joints, pose or line")
    controller.move.submit(controller.robot, move)
