"""What the vendor's programs ask of a humanoid, as its SDK's documents and demos have it."""

import logging
import time

import numpy as np
import pytest

pytest.importorskip("pinocchio")

from thenar.errors import BadCommand
from thenar.humanoid.control.controller import BodyController
from thenar.humanoid.control.fsm import CLIENT, UpperBody, WholeBody
from thenar.humanoid.control.robot_config import load_config
from thenar.humanoid.model.gr2 import GR2
from thenar.humanoid.state.robot_data import RobotData
from thenar.signals import BodyRequest, GroupCommand, MoveRequest
from thenar.twin.body.body_loop import BodyTwin
from thenar.twin.body.body_world import BodyWorld

NOTHING = np.zeros(0)
ARM = [0.0, 0.2, 0.0, -0.8, 0.0, 0.0, 0.0]


def request(**asked) -> BodyRequest:
    return BodyRequest(sender="a test", arrived_s=time.perf_counter(), **asked)


def group(name: str, position) -> GroupCommand:
    return GroupCommand(group=name, position=np.asarray(position, dtype=float), velocity=NOTHING, effort=NOTHING)


def robot_in(*states: WholeBody, hands: tuple[str, ...] = ()) -> BodyTwin:
    """A robot with the default configuration that has gone through these states."""
    body = BodyWorld(hands=hands)
    twin = BodyTwin(body, BodyController(body.robot, states=load_config(None).states))
    for state in states:
        twin.controller.submit(request(whole_body_state=int(state)))
        twin.advance(0.5)
    return twin


def q_of(twin: BodyTwin, name: str) -> np.ndarray:
    return twin.body.robot.hardware_data.state.q[GR2.group_slice(name)]


@pytest.mark.parametrize("state", [WholeBody.PdStand, WholeBody.UserController_A])
def test_arms_and_waist_follow_a_client_that_says_nothing_of_the_upper_body_s_state(state: WholeBody):
    twin = robot_in(WholeBody.JointStand, WholeBody.PdStand, state)
    assert twin.report().allow_upper_body_override
    for share in np.linspace(0.0, 1.0, 50):
        commands = (group("left_manipulator", share * np.array(ARM)), group("waist", [0.3 * share]))
        twin.controller.submit(request(groups=commands))
        twin.advance(0.02)
    twin.advance(0.5)
    assert not twin.body.robot.board.refused
    np.testing.assert_allclose(q_of(twin, "left_manipulator"), ARM, atol=0.06)
    np.testing.assert_allclose(q_of(twin, "waist"), [0.3], atol=0.02)
    # The task takes them back with the next state.
    twin.controller.submit(request(whole_body_state=int(WholeBody.UserController_B)))
    twin.advance(2.5)
    np.testing.assert_allclose(q_of(twin, "left_manipulator"), np.zeros(7), atol=0.06)


def test_moves_are_carried_out_in_state_3():
    twin = robot_in(WholeBody.JointStand, WholeBody.PdStand, WholeBody.UserController_A)
    twin.controller.submit(request(upper_body_state=int(UpperBody.MoveCmd)))
    goal = {"left_manipulator": np.array(ARM)}
    twin.controller.submit(request(move=MoveRequest(kind="joints", joints_rad=goal, pose={}, speed={})))
    twin.advance(2.0)
    assert not twin.body.robot.board.refused
    np.testing.assert_allclose(q_of(twin, "left_manipulator"), ARM, atol=0.03)
    for kind, height_m in (("pose", 0.1), ("line", 0.2)):  # the demo's own poses
        poses = {
            f"{side}_manipulator": np.array([0.25, out * 0.25, height_m, 0.0, -0.7071, 0.0, 0.7071])
            for side, out in (("left", 1.0), ("right", -1.0))
        }
        twin.controller.submit(request(move=MoveRequest(kind=kind, joints_rad={}, pose=poses, speed={})))
        twin.advance(2.5)
        assert not twin.body.robot.board.refused
        for name, hand in zip(poses, twin.body.robot.kindyn_data.hands_B, strict=True):
            np.testing.assert_allclose(hand.p, poses[name][:3], atol=0.01)


def test_a_command_of_the_upper_body_that_is_off_leaves_it_with_its_task():
    twin = robot_in(WholeBody.PdStand)
    twin.controller.submit(request(groups=(group("head", [0.1, 9.0]),)))
    twin.advance(0.01)
    assert twin.body.robot.board.owner["head"] == "PdStand"
    assert list(twin.body.robot.board.refused) == ["position of head_pitch_joint is 9 rad; wanted -0.5236 to 0.5236"]


def test_refusals_are_reported_when_they_happen_and_not_400_times_a_second(caplog):
    twin = robot_in(WholeBody.JointStand)
    with caplog.at_level(logging.WARNING):
        for _ in range(40):
            twin.controller.submit(request(groups=(group("left_leg", np.zeros(6)),)))
            twin.advance(0.005)
    reports = [record.getMessage() for record in caplog.records if "left_leg" in record.getMessage()]
    assert reports == ["refused: left_leg belongs to JointStand; client may not command it"]
    assert twin.body.robot.board.refused.total() == 40
    with pytest.raises(BadCommand, match="does not let the upper body be commanded"):
        twin.controller.change_upper(UpperBody.Remote)


def test_a_joint_a_little_beyond_its_limit_is_clamped_and_the_others_move():
    robot = RobotData()
    position = GR2.default_q_rad
    position[3] = 2.35624  # the vendor's rounding of the knee's limit
    position[14] = -0.6
    robot.board.command(CLIENT, "whole_body", position)
    told = robot.board.read().position_rad
    assert told[3] == GR2.per_joint("upper_rad")[3]
    assert told[14] == GR2.per_joint("lower_rad")[14]
    others = np.delete(np.arange(29), [3, 14])
    np.testing.assert_array_equal(told[others], position[others])
    assert robot.board.clamped == {"left_knee_pitch_joint": 1, "head_pitch_joint": 1}
    assert not robot.board.refused
    position[0] = 30.0  # degrees, most likely
    with pytest.raises(BadCommand, match="position of left_hip_pitch_joint is 30 rad"):
        robot.board.command(CLIENT, "whole_body", position)
    np.testing.assert_array_equal(robot.board.read().position_rad, told)


def test_the_hand_demo_s_thumb_below_its_range_is_clamped():
    twin = robot_in(WholeBody.PdStand, hands=("fourier_left",))
    twin.controller.submit(request(groups=(group("left_hand", [1.7, 1.7, 1.7, 1.7, 0.0, 0.0]),)))
    twin.advance(0.01)
    command = twin.body.robot.board.read_hand("left_hand")
    assert command is not None
    np.testing.assert_allclose(command.pvc[0], [1.7, 1.7, 1.7, 1.7, 0.12, 0.0])
