"""Requests from outside into acts of the robot's computer, each checked: what is off is refused with the reason."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from thenar.errors import BadCommand, BadValue
from thenar.humanoid.control.balance import POSE_LOWER, POSE_UPPER
from thenar.humanoid.control.board import CommandBoard
from thenar.humanoid.control.fsm import CLIENT, HAND_GROUPS, UpperBody, check_source
from thenar.humanoid.control.joystick import LOWER, UPPER
from thenar.signals import BodyRequest, GroupCommand, GroupGains, MoveRequest

if TYPE_CHECKING:
    from thenar.humanoid.control.controller import BodyController

LONGEST_VELOCITY_S = 60.0


def acts_of(controller: BodyController, request: BodyRequest) -> Iterator[Callable[[], None]]:
    """What is asked for, one act after the other; each raises `ThenarError` where it cannot be done."""
    if request.whole_body_state is not None:
        yield partial(controller.change, request.whole_body_state)
    if request.upper_body_state is not None:
        yield partial(controller.change_upper, request.upper_body_state)
    if request.velocity_source is not None:
        yield partial(_set_source, controller, request.velocity_source)
    if request.velocity is not None:
        yield partial(_set_velocity, controller, *request.velocity)
    if request.stand_pose is not None:
        yield partial(_set_stand_pose, controller, request.stand_pose)
    board = controller.robot.board
    for command in request.groups:
        yield partial(_command_group, board, command)
    for gains in request.gains:
        yield partial(_set_gains, board, gains)
    if request.move is not None:
        yield partial(_begin_move, controller, request.move)


def _set_source(controller: BodyController, wanted: int) -> None:
    controller.set_velocity_source(check_source(wanted))


def _set_velocity(controller: BodyController, vx: float, vy: float, yaw: float, duration_s: float) -> None:
    wanted = np.array([vx, vy, yaw])
    if controller.operated:
        raise BadCommand("velocities come from the joystick; set the velocity source to 1 or 2 first")
    if not np.all(np.isfinite(wanted)) or not 0.0 < duration_s <= LONGEST_VELOCITY_S:
        raise BadCommand(
            f"velocity {wanted.tolist()} for {duration_s:g} s; wanted finite ones for up to {LONGEST_VELOCITY_S:g} s"
        )
    if np.any((wanted < LOWER) | (wanted > UPPER)):
        raise BadCommand(f"velocity {wanted.tolist()}; wanted {LOWER.tolist()} to {UPPER.tolist()}")
    if not controller.follows_velocity:
        raise BadCommand(f"no task of {controller.whole.name} follows velocities; one that does says follows_velocity")
    controller.walk(wanted, duration_s)


def _set_stand_pose(controller: BodyController, pose: tuple[float, float, float]) -> None:
    wanted, lower, upper = np.array(pose), np.array(POSE_LOWER), np.array(POSE_UPPER)
    if not np.all(np.isfinite(wanted)) or np.any((wanted < lower) | (wanted > upper)):
        raise BadCommand(f"stand pose {wanted.tolist()}; wanted {lower.tolist()} to {upper.tolist()}")
    controller.robot.put(stand_pose_cmd=wanted)


def _command_group(board: CommandBoard, command: GroupCommand) -> None:
    if command.group in HAND_GROUPS:
        board.command_hand(CLIENT, command.group, command.position, command.velocity, command.effort)
        return
    velocity = command.velocity if command.velocity.size else None
    effort = command.effort if command.effort.size else None
    board.command(CLIENT, command.group, command.position, velocity, effort)


def _set_gains(board: CommandBoard, gains: GroupGains) -> None:
    if gains.position_mode is not None:
        board.set_position_gains(CLIENT, gains.group, *gains.position_mode)
    if gains.kp_nm_rad.size or gains.kd_nms_rad.size:
        kp, kd = board.gains(gains.group)
        board.set_gains(
            CLIENT,
            gains.group,
            gains.kp_nm_rad if gains.kp_nm_rad.size else kp,
            gains.kd_nms_rad if gains.kd_nms_rad.size else kd,
        )


def _begin_move(controller: BodyController, move: MoveRequest) -> None:
    if controller.upper != UpperBody.MoveCmd:
        raise BadCommand(f"moves need the upper-body state MoveCmd; it is {controller.upper.name}")
    if move.kind not in ("joints", "pose", "line"):
        raise BadValue("kind of move", move.kind, "joints, pose or line")
    controller.move.ask(controller.robot, move)
