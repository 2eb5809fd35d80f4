"""Commands to a humanoid through RobotData: taken by the group that is meant, refused when they are off."""

import numpy as np
import pytest

pytest.importorskip("pinocchio")

from thenar.errors import BadCommand, UnknownName
from thenar.humanoid.model.body_spec import HandRange
from thenar.humanoid.model.gr2 import GR2
from thenar.humanoid.state.robot_data import RobotData


def test_commands_go_to_the_group_and_come_back():
    robot = RobotData()
    hardware = robot.view_for("mine").hardware_data
    assert hardware.set_control_group_pos_cmd("head", [0.1, -0.2]) is True
    assert hardware.set_whole_body_pd_mode_pd(np.full(29, 100.0), np.full(29, 5.0)) == 0
    assert hardware.set_control_group_pd_mode_pd("waist", [50.0], [2.0]) is True
    kp, kd = hardware.get_whole_body_pd_mode_pd()
    assert (kp[12], kd[12], kp[0]) == (50.0, 2.0, 100.0)
    assert [gain.tolist() for gain in hardware.get_control_group_pd_mode_pd("waist")] == [[50.0], [2.0]]
    told = robot.board.read()
    assert told.position_rad[GR2.group_slice("head")].tolist() == [0.1, -0.2]
    np.testing.assert_array_equal(told.position_rad[:12], GR2.default_q_rad[:12])
    assert robot.board.age_s("mine") == 0.0
    assert robot.board.age_s("nobody") == np.inf


@pytest.mark.parametrize(
    ("group", "position", "why"),
    [
        ("head", [0.1], "position of head has 1 values; head has 2"),
        ("head", [[0.1], [0.2]], r"position of head has the shape \(2, 1\); head has 2"),
        ("head", [0.1, np.nan], "not finite"),
        ("head", [0.1, 2.0], "position of head_pitch_joint is 2 rad; wanted -0.5236 to 0.5236"),
        ("tail", [0.1], "no control group named 'tail'"),
    ],
)
def test_commands_that_are_off_are_refused_and_change_nothing(group: str, position: list, why: str):
    robot = RobotData()
    before = robot.board.read().position_rad
    with pytest.raises((BadCommand, UnknownName), match=why):
        robot.hardware_data.set_control_group_pos_cmd(group, position)
    np.testing.assert_array_equal(robot.board.read().position_rad, before)
    assert sum(robot.board.refused.values()) == 1


def test_a_group_obeys_its_owner_alone():
    robot = RobotData()
    robot.board.set_owners({"head": "teleop"})
    with pytest.raises(BadCommand, match="head belongs to teleop; wave may not command it"):
        robot.view_for("wave").hardware_data.set_control_group_pos_cmd("head", [0.0, 0.0])
    with pytest.raises(BadCommand, match="head belongs to teleop"):
        robot.view_for("wave").hardware_data.set_whole_body_pos_cmd(GR2.default_q_rad)
    assert robot.view_for("teleop").hardware_data.set_control_group_pos_cmd("head", [0.0, 0.0])
    assert robot.view_for("wave").hardware_data.set_control_group_pos_cmd("waist", [0.0])


def test_hands_take_positions_velocities_and_currents():
    port = HandRange(np.full(6, 0.17), np.full(6, 1.78))
    robot = RobotData(hands={"left_hand": port})
    hardware = robot.hardware_data
    assert hardware.get_hand_name_list() == ["left_hand"]
    assert hardware.set_hand_pvc("left_hand", [0.5] * 6, [1.0] * 6) == 0
    told = robot.board.read_hand("left_hand")
    assert told is not None
    assert told.pvc[0].tolist() == [0.5] * 6
    assert np.isnan(told.pvc[2]).all()
    with pytest.raises(BadCommand, match="left_hand has 6"):
        hardware.set_hand_pvc("left_hand", [0.5] * 5)
    with pytest.raises(BadCommand, match=r"left_hand\[0\] is 0 rad"):
        hardware.set_hand_pvc("left_hand", [0.0] * 6)
    with pytest.raises(UnknownName, match="no hand named 'right_hand'"):
        hardware.set_hand_pvc("right_hand", [0.5] * 6)
    robot.update(1.0, q=robot.gener_state.q, qd=np.zeros(35), hand_pvc={"left_hand": np.arange(18.0).reshape(3, 6)})
    assert robot.hardware_data.get_hand_pvc("left_hand")[1].tolist() == [6, 7, 8, 9, 10, 11]
