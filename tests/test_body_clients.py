"""What the vendor's programs ask of a humanoid, as its SDK's documents and demos have it."""

import logging
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("pinocchio")

from thenar.errors import BadCommand, BadFile, UnknownName
from thenar.humanoid.control.controller import BodyController, StateTasks
from thenar.humanoid.control.fsm import CLIENT, UpperBody, WholeBody
from thenar.humanoid.control.joystick import Gamepad
from thenar.humanoid.control.robot_config import load_config, parse_config
from thenar.humanoid.control.task import Task
from thenar.humanoid.model.gr2 import GR2
from thenar.humanoid.state.robot_data import RobotData
from thenar.signals import BodyRequest, GroupCommand, GroupGains, MoveRequest
from thenar.twin.body.body_loop import BodyTwin
from thenar.twin.body.body_world import BodyWorld
from thenar.twin.body.live_body import serve_body

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


def test_a_move_is_done_when_the_arm_has_arrived():
    twin = robot_in(WholeBody.PdStand)
    twin.controller.submit(request(upper_body_state=int(UpperBody.MoveCmd)))
    goal = np.array([-1.2, 0.3, 0.0, -1.2, 0.0, 0.0, 0.0])
    goals = {"left_manipulator": goal}
    twin.controller.submit(request(move=MoveRequest(kind="joints", joints_rad=goals, pose={}, speed={})))
    twin.advance(0.02)
    for _ in range(400):
        if not twin.report().groups["left_manipulator"].moving:
            break
        twin.advance(0.01)
    assert np.abs(q_of(twin, "left_manipulator") - goal).max() < 0.011
    nan = {"left_manipulator": np.full(7, np.nan)}
    twin.controller.submit(request(move=MoveRequest(kind="joints", joints_rad=nan, pose={}, speed={})))
    twin.advance(0.01)
    assert any("goal of left_manipulator is not finite" in reason for reason in twin.body.robot.board.refused)


def test_a_stand_height_that_the_legs_do_not_reach_is_reported_as_what_they_do():
    twin = robot_in(WholeBody.PdStand)
    twin.controller.submit(request(stand_pose=(0.025, 0.0, 0.0)))
    twin.advance(1.5)
    reported_m = twin.report().stand_pose[0]
    assert twin.body.robot.base_data.pos_W[2] - 0.9951 == pytest.approx(reported_m, abs=0.003)
    assert twin.body.robot.board.clamped["stand height"] == 1


def test_a_hand_reports_numbers_and_gains_for_every_motor():
    twin = robot_in(WholeBody.JointStand, hands=("fourier_left",))
    assert np.isfinite(twin.body.robot.hardware_data.get_hand_pvc("left_hand")).all()
    hand = twin.report().groups["left_hand"]
    assert hand.kp_nm_rad.shape == hand.kd_nms_rad.shape == (6,)


VENDOR_FILE = """
Config:
  RobotName: gr2        # gr1 / gr2 / gr3 / fouriern1
  HardwareType: null
  RunType: 0
  UseJoyStick: true
  DomainID: 77
"""


def test_the_vendor_s_own_file_is_read_and_a_missing_gamepad_only_mentioned(caplog, monkeypatch, tmp_path):
    config = parse_config(VENDOR_FILE, Path("config.yaml"))
    assert (config.domain, config.use_joystick) == (77, True)
    with pytest.raises(BadFile, match="unknown key 'RobotNmae'"):
        parse_config("Config: {RobotNmae: gr2}", Path("config.yaml"))
    monkeypatch.setattr("thenar.twin.body.live_body.Gamepad", lambda: Gamepad(tmp_path / "js0"))  # that is not there
    serve_body(config, network=False).stop()
    assert "the robot runs without" in caplog.text


class Slow(Task):
    """Takes 6 ms of the machine's time every 2.5 ms of the robot's, and once commands what is refused."""

    def enter(self, data: RobotData) -> None:  # no reason to return True in Python
        self.count = 0

    def execute(self, data: RobotData) -> None:
        self.count += 1
        if self.count < 60:
            time.sleep(0.006)
        if self.count == 20:
            data.hardware_data.set_control_group_pos_cmd("head", [9.0, 0.0])


def test_a_slow_task_is_not_late_where_time_is_simulated_and_one_refused_command_is_no_failure():
    body, task = BodyWorld(), Slow()
    states = {WholeBody.UserController_A: StateTasks(tasks=(task,))}
    twin = BodyTwin(body, BodyController(body.robot, states=states))
    twin.controller.change(WholeBody.JointStand)
    twin.controller.change(WholeBody.UserController_A)
    twin.advance(0.2)
    assert task.count == 80
    assert twin.controller.whole_body == WholeBody.UserController_A
    assert list(body.robot.board.refused) == ["position of head_yaw_joint is 9 rad; wanted -1.3963 to 1.3963"]


class Claiming(Task):
    claims = ("left_tail",)


def test_a_claim_of_a_group_that_does_not_exist_is_refused():
    states = {WholeBody.UserController_A: StateTasks(tasks=(Claiming(),))}
    with pytest.raises(UnknownName, match="claimed by Claiming"):
        BodyController(RobotData(), states=states)


def test_a_task_beside_its_configuration_is_found_and_its_state_can_be_the_first(tmp_path: Path):
    (tmp_path / "nodding.py").write_text(
        "from thenar.humanoid import Task\n\n\nclass Nod(Task):\n    def enter(self, data):\n        print('nods')\n"
    )
    (tmp_path / "robot.yaml").write_text("Fsm: {UserController_C: {'nodding:Nod': {period: 0.1}}}\nHands: []\n")
    run = [sys.executable, "-c", "import sys; from thenar.cli import main; sys.path.pop(0); main()", "body", "run"]
    done = subprocess.run(
        [*run, "--config", "robot.yaml", "--domain", "91", "--state", "5", "--duration", "0.2", "--json"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("nods")


def test_what_the_walking_demo_sends_is_taken():
    """50 Hz, all joints at once, gains first, and targets up to a radian beyond the limits plus the default pose."""
    twin = robot_in(WholeBody.PdStand)
    twin.controller.submit(request(whole_body_state=int(WholeBody.UserCmd)))
    kp, kd = np.array([180.0, 180, 120, 180, 40, 20]), np.array([21.0, 10, 8, 21, 5, 2])
    gains = tuple(GroupGains(group=f"{side}_leg", kp_nm_rad=kp, kd_nms_rad=kd) for side in ("left", "right"))
    twin.controller.submit(request(gains=gains))
    rng = np.random.default_rng(8)
    lower, upper = GR2.per_joint("lower_rad")[:13], GR2.per_joint("upper_rad")[:13]
    for _ in range(20):
        action = rng.uniform(lower - 1.0, upper + 1.0)
        target = np.zeros(29)
        target[:13] = action + GR2.default_q_rad[:13]
        twin.controller.submit(request(groups=(group("whole_body", target),)))
        twin.advance(0.02)
        told = twin.body.robot.board.read()
        np.testing.assert_allclose(told.position_rad[:13], np.clip(target[:13], lower, upper))
        np.testing.assert_array_equal(told.kp_nm_rad[:6], kp)
    assert not twin.body.robot.board.refused
    base = twin.report().base
    assert base["quat_xyzw"].shape == (4,)
    assert base["omega_B"].shape == (3,)
