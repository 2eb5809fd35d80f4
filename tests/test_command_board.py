"""The board of a body's commands: what each source may write, what is refused, and what is read back."""

import logging

import numpy as np
import pytest

from thenar.errors import BadCommand
from thenar.humanoid.control.command_board import CLAMPED_HAND_RAD, CLAMPED_RAD, MAX_KD, MAX_KP, CommandBoard
from thenar.humanoid.model.body_spec import HandRange
from thenar.humanoid.model.gr2 import GR2

ARM, HAND = "left_manipulator", "left_hand"
AT = GR2.group_slice(ARM)
LOWER, UPPER = GR2.per_joint("lower_rad")[AT], GR2.per_joint("upper_rad")[AT]
SPEED, EFFORT = GR2.per_joint("speed_rad_s")[AT], GR2.per_joint("effort_nm")[AT]
NAMES = GR2.joint_names[AT]
MIDDLE = (LOWER + UPPER) / 2


@pytest.fixture
def board() -> CommandBoard:
    return CommandBoard(GR2, {HAND: HandRange(np.zeros(2), np.ones(2))})


def test_before_the_first_command_the_body_stands_and_its_drives_are_limp(board: CommandBoard):
    joints = board.read()
    np.testing.assert_array_equal(joints.position_rad, GR2.default_q_rad)
    assert not np.any([*joints[1:]])
    assert board.read_hand(HAND) is None
    assert (board.now_s, board.age_s("walker")) == (0.0, np.inf)


def test_a_command_is_read_back_in_its_place_and_what_is_left_out_is_zero(board: CommandBoard):
    board.command("walker", ARM, MIDDLE, SPEED, -EFFORT)
    joints = board.read()
    for row, sent in zip(joints[:3], (MIDDLE, SPEED, -EFFORT), strict=True):
        np.testing.assert_array_equal(row[AT], sent)
    others = np.delete(np.arange(len(GR2.hinges)), np.arange(AT.start, AT.stop))
    np.testing.assert_array_equal(joints.position_rad[others], GR2.default_q_rad[others])
    board.command("walker", ARM, MIDDLE)
    assert not np.any(board.read()[1:3])
    joints.position_rad[:] = 9.0  # a copy
    assert board.read().position_rad.max() < 9.0


def test_the_age_of_a_source_is_the_time_since_its_own_last_command(board: CommandBoard):
    board.now_s = 2.0
    board.command("walker", ARM, MIDDLE)
    board.now_s = 2.75
    assert board.age_s("walker") == 0.75
    assert board.age_s("another") == np.inf


@pytest.mark.parametrize(("what", "unit", "tops"), [("velocity", "rad/s", SPEED), ("effort", "N m", EFFORT)])
def test_velocities_and_torques_of_both_signs_are_taken_up_to_their_limits(
    board: CommandBoard, what: str, unit: str, tops: np.ndarray
):
    for sign in (1.0, -1.0):
        board.command("walker", ARM, MIDDLE, **{what: sign * tops})
        wrong = sign * tops
        wrong[2] *= 1.01  # all others stand at their limits
        with pytest.raises(BadCommand, match=rf"{what} of {NAMES[2]} is .* {unit}; wanted {-tops[2]:g} to {tops[2]:g}"):
            board.command("walker", ARM, MIDDLE, **{what: wrong})


def test_positions_a_little_beyond_a_limit_are_taken_as_it_and_further_ones_refused(board: CommandBoard):
    sent = MIDDLE.copy()
    sent[1], sent[3] = UPPER[1] + CLAMPED_RAD, LOWER[3] - CLAMPED_RAD
    board.command("walker", ARM, sent)
    clamped = board.read().position_rad[AT]
    assert (clamped[1], clamped[3]) == (UPPER[1], LOWER[3])
    assert board.clamped == {NAMES[1]: 1, NAMES[3]: 1}
    board.command("walker", ARM, UPPER)  # the limit itself is not beyond it
    assert board.clamped.total() == 2
    sent[1] += 0.01
    with pytest.raises(BadCommand, match=f"position of {NAMES[1]}"):
        board.command("walker", ARM, sent)
    assert (CLAMPED_RAD, CLAMPED_HAND_RAD) == (1.3, 0.15)  # what the vendor's policy and demo need


def test_what_has_the_wrong_length_or_is_no_number_is_refused_and_changes_nothing(board: CommandBoard):
    for wrong, why in ((MIDDLE[:-1], f"{len(MIDDLE) - 1} values"), (np.where(MIDDLE < 9, np.nan, 0), "not finite")):
        with pytest.raises(BadCommand, match=why):
            board.command("walker", ARM, wrong)
    np.testing.assert_array_equal(board.read().position_rad, GR2.default_q_rad)
    assert board.refused.total() == 2
    assert board.age_s("walker") == np.inf


def test_gains_are_taken_from_nothing_to_more_than_any_drive_has(board: CommandBoard):
    ones = np.ones(len(MIDDLE))
    board.set_gains("walker", ARM, MAX_KP * ones, 0 * ones)
    board.set_gains("walker", ARM, 0 * ones, MAX_KD * ones)
    board.set_position_gains("walker", ARM, ones, 2 * ones, 3 * ones)
    np.testing.assert_array_equal(board.gains(ARM), [0 * ones, MAX_KD * ones])
    np.testing.assert_array_equal(board.position_gains(ARM), [ones, 2 * ones, 3 * ones])
    for kp, kd in ((-1.0, 1.0), (1.0, -1.0), (1.01 * MAX_KP, 1.0), (1.0, 1.01 * MAX_KD)):
        with pytest.raises(BadCommand, match="wanted 0 to"):
            board.set_gains("walker", ARM, kp * ones, kd * ones)
    assert (MAX_KP, MAX_KD) == (5000.0, 500.0)


def test_holding_a_position_takes_velocity_and_torque_back(board: CommandBoard):
    board.command("walker", ARM, MIDDLE, SPEED, EFFORT)
    board.hold_position(ARM)
    assert not np.any(board.read()[1:3])
    np.testing.assert_array_equal(board.read().position_rad[AT], MIDDLE)


def test_a_group_takes_only_its_owner_and_the_whole_body_only_whoever_has_all_of_it(board: CommandBoard):
    board.set_owners({"head": "joystick"})
    board.command("walker", ARM, MIDDLE)
    with pytest.raises(BadCommand, match="head belongs to joystick; walker may not"):
        board.command("walker", "whole_body", GR2.default_q_rad)
    board.set_owners({ARM: "walker"})
    board.command("walker", ARM, MIDDLE)
    with pytest.raises(BadCommand, match=f"{ARM} belongs to walker; someone without a name"):
        board.command("", ARM, MIDDLE)
    board.set_owners(dict.fromkeys(GR2.groups, "walker"))
    board.command("walker", "whole_body", GR2.default_q_rad)


def test_a_hand_keeps_what_a_command_leaves_out_and_its_commands_are_numbered(board: CommandBoard):
    board.now_s = 1.0
    board.command_hand("walker", HAND, [0.5, 1.0 + CLAMPED_HAND_RAD], [], [3.0, 4.0])
    first = board.read_hand(HAND)
    assert first is not None
    np.testing.assert_array_equal(first.pvc, [[0.5, 1.0], [np.nan, np.nan], [3.0, 4.0]])
    assert board.clamped == {f"{HAND}[1]": 1}
    board.command_hand("walker", HAND, [0.5, 0.5], [1.0, 2.0], [])
    second = board.read_hand(HAND)
    assert second is not None
    np.testing.assert_array_equal(second.pvc, [[0.5, 0.5], [1.0, 2.0], [np.nan, np.nan]])
    assert (first.number, second.number, board.age_s("walker")) == (1, 2, 0.0)
    with pytest.raises(BadCommand, match="velocity of left_hand has 1 values"):
        board.command_hand("walker", HAND, [0.5, 0.5], [1.0], [])


def test_a_refusal_that_goes_on_is_reported_again_after_five_seconds(
    board: CommandBoard, caplog: pytest.LogCaptureFixture
):
    with caplog.at_level(logging.WARNING):
        for board.now_s in (0.0, 4.99, 5.0, 9.99, 10.0):
            board.refuse("too fast")
        assert len(caplog.records) == 3
        board.now_s = 1.0  # the twin was reset
        board.refuse("too fast")
    assert len(caplog.records) == 4
    assert board.refused == {"too fast": 6}
