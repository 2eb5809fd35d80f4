"""Fourier's own client, unchanged and in an environment of its own, against a running humanoid; and its bytes."""

import copy
import json
import random
import struct
import subprocess
import time
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from peer_env import PEERS, peer_python, quiet_environment

from thenar import hands
from thenar.errors import BadValue
from thenar.wire.clients.domain_survey import local_domains
from thenar.wire.codecs import aurora_codec
from thenar.wire.codecs.aurora_codec import COMMANDS, REPORTS, TYPES, Names

pytest.importorskip("pinocchio")

from thenar.humanoid.control.fsm import UpperBody, WholeBody
from thenar.humanoid.model.gr2 import GR2
from thenar.humanoid.model.hand_mount import hand_load
from thenar.humanoid.state import archive
from thenar.humanoid.state.robot_data import RobotData, RobotSnapshot
from thenar.twin.body.body_loop import BodyTwin
from thenar.twin.body.body_watch import follow
from thenar.twin.body.body_world import BodyWorld
from thenar.twin.body.live_body import LiveBody, serve_body
from thenar.wire.clients.aurora_client import AuroraListener
from thenar.wire.rtps import Participant

GROUP_SIZES = {
    "left_leg": 6,
    "right_leg": 6,
    "waist": 1,
    "head": 2,
    "left_manipulator": 7,
    "right_manipulator": 7,
    "left_hand": 6,
    "right_hand": 6,
}


class Client:
    """The vendor's client in a process of its own."""

    def __init__(self, **options: Any):
        python = peer_python("fast")
        self._process = subprocess.Popen(
            [str(python), str(PEERS / "aurora_client.py"), json.dumps({"robot_name": "gr2", **options})],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            env=quiet_environment(),
        )
        self.hello = self._answer()

    def __call__(self, method: str, *arguments: Any, **named: Any) -> Any:
        """Call a method of the client; what it raised comes back as text."""
        assert self._process.stdin is not None
        given = [*arguments, *([{"__kw__": named}] if named else [])]
        self._process.stdin.write(f"{method}\t{json.dumps(given)}\n")
        self._process.stdin.flush()
        answer = self._answer()
        return answer.get("answer", answer.get("error"))

    def until(self, wanted: Any, method: str, *arguments: Any, limit_s: float = 8.0) -> Any:
        """Call a getter until it says what is wanted, or time is up; return what it said last."""
        end_s = time.monotonic() + limit_s
        while (answer := self(method, *arguments)) != wanted and time.monotonic() < end_s:
            time.sleep(0.02)
        return answer

    def close(self) -> None:
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait(timeout=10)

    def _answer(self) -> dict[str, Any]:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            if line.startswith("> "):
                return json.loads(line[2:])
        raise AssertionError("the client ended")


@pytest.fixture
def domain() -> int:
    return random.choice(sorted(set(range(20, 90)) - local_domains()))


@pytest.fixture
def robot(domain: int) -> Iterator[LiveBody]:
    peer_python("fast")  # made before the clock runs
    with serve_body(domain=domain) as twin:
        yield twin


def near(values: Any, wanted: Any, atol: float) -> None:
    np.testing.assert_allclose(np.asarray(values, dtype=float), np.asarray(wanted, dtype=float), atol=atol)


def pass_time(robot: RobotData, seconds: float) -> None:
    """Wait for some of the robot's own seconds, which are longer on a busy machine."""
    until_s, end_s = robot.stamp_s + seconds, time.monotonic() + 20.0 * seconds + 5.0
    while robot.stamp_s < until_s and time.monotonic() < end_s:
        time.sleep(0.02)


def test_every_getter_returns_the_twin_s_values_and_every_setter_acts(robot: LiveBody, domain: int):
    client = Client(domain_id=domain)
    assert client.hello["connected"]
    assert client.hello["seconds"] < 3.0
    data = robot.body.body.robot

    # States.
    assert client.until(0, "get_fsm_state") == 0
    client("set_fsm_state", 1)
    assert client.until("JointStand", "get_fsm_name") == "JointStand"
    pass_time(data, 2.2)
    client("set_fsm_state", 2)
    assert client.until(2, "get_fsm_state") == 2
    pass_time(data, 2.5)

    # Readings, of a robot at rest.
    now = data.snapshot()
    for group, size in GROUP_SIZES.items():
        for field in ("position", "velocity", "effort"):
            assert len(client("get_group_state", group, field)) == size
        if group in GR2.groups:
            place = GR2.group_slice(group)
            near(client("get_group_state", group, "position"), now.robot_state.q[place], 2e-3)
            near(client("get_group_state", group, "velocity"), now.robot_state.qd[place], 0.05)
            near(client("get_group_state", group, "effort"), now.robot_state.qft[place], 2.0)
            kp, kd = data.board.gains(group)
            near(client("get_group_motor_cfg", group, "pd_kp"), kp, 0.0)
            near(client("get_group_motor_cfg", group, "pd_kd"), kd, 0.0)
        else:
            near(client("get_group_state", group, "position"), now.hand_pvc[group][0], 5e-3)
        assert client("get_group_motion_state", group) == 0
    base = now.base_data
    for field in ("quat_xyzw", "quat_wxyz", "rpy", "omega_W", "omega_B", "vel_W", "vel_B", "pos_W"):
        near(client("get_base_data", field), getattr(base, field), 5e-3)
    for field in ("acc_W", "acc_B"):
        near(client("get_base_data", field), np.zeros(3), 0.5)
    weight_n = now.kindyn_data.m * 9.81
    force = np.reshape(client("get_contact_data", "contact_force"), (2, 6))
    assert force[:, 2].sum() == pytest.approx(weight_n, rel=0.02)
    assert min(client("get_contact_data", "contact_prob")) > 0.9
    assert sum(client("get_true_data", "contact_fz")) == pytest.approx(weight_n, rel=0.01)
    near(client("get_true_data", "pos_W"), base.pos_W, 5e-3)
    for arm, hand in zip(("left_manipulator", "right_manipulator"), now.kindyn_data.hands_B, strict=True):
        near(client("get_cartesian_state", arm)[:3], hand.p, 5e-3)
    assert client("get_stand_pose")[:3] == [0.0, 0.0, 0.0]
    assert client("get_stand_pose")[3] > 10

    # Upper body and hands from outside.
    client("set_upper_fsm_state", 2)
    assert client.until(2, "get_upper_fsm_state") == 2
    assert client("get_upper_fsm_name") == "RemoteState"
    arm, hand = [-0.3, 0.2, 0.0, -0.6, 0.0, 0.0, 0.0], [1.0, 1.1, 1.2, 1.3, 0.9, 0.8]
    client("set_group_cmd", {"left_manipulator": arm, "left_hand": hand})
    client("set_joint_positions", {"right_hand": hand})
    pass_time(data, 1.8)
    near(client("get_group_state", "left_manipulator"), arm, 0.06)
    near(client("get_group_state", "left_hand"), hand, 0.05)
    near(client("get_group_state", "right_hand"), hand, 0.05)
    client("set_motor_cfg_pd", {"left_manipulator": [210.0] * 7}, {"left_manipulator": [9.0] * 7})
    assert client.until([210.0] * 7, "get_group_motor_cfg", "left_manipulator", "pd_kp") == [210.0] * 7
    assert client("get_group_motor_cfg", "left_manipulator", "pd_kd") == [9.0] * 7
    client("set_motor_cfg", {"waist": [180.0]}, {"waist": [9.0]})  # its old name
    assert client.until([180.0], "get_group_motor_cfg", "waist", "pd_kp") == [180.0]
    client("set_motor_cfg_pos", {"head": [1.5, 2.5]}, {"head": [0.1, 0.2]}, {"head": [0.01, 0.02]})
    assert client.until([1.5, 2.5], "get_group_motor_cfg", "head", "pos_kp") == [1.5, 2.5]
    assert client("get_group_motor_cfg", "head", "pos_ki") == [0.1, 0.2]
    assert client("get_group_motor_cfg", "head", "pos_kd") == [0.01, 0.02]

    # Moves.
    client("set_upper_fsm_state", 4)
    assert client.until(4, "get_upper_fsm_state") == 4
    client("move", "joint_move_command", [0, "head", [0.3, 0.2]], {"expect_vel": 300})
    assert client.until(1, "get_group_motion_state", "head", limit_s=2.0) == 1
    assert client.until(0, "get_group_motion_state", "head") == 0
    client("wait_groups_motion_complete", ["head"])
    near(client("get_group_state", "head"), [0.3, 0.2], 0.03)
    for number, (away, kind) in enumerate((([0.10, -0.03, 0.12], 1), ([-0.04, 0.03, -0.08], 2))):
        for arm, side in (("left_manipulator", 1.0), ("right_manipulator", -1.0)):
            before = client("get_cartesian_state", arm)
            goal = [*np.add(before[:3], np.multiply(away, [1.0, side, 1.0])), *before[3:]]
            client("move", "cartesian_move_command", [kind, arm, goal], {"expect_vel": 400})
            assert client.until(1, "get_group_motion_state", arm, limit_s=2.0) == 1, number
            client("wait_groups_motion_complete", [arm])
            pass_time(data, 0.5)
            near(client("get_cartesian_state", arm)[:3], goal[:3], 0.03)
            assert abs(np.dot(client("get_cartesian_state", arm)[3:], goal[3:])) > 0.99

    # Velocity and stand pose.
    client("set_velocity_source", 2)
    assert client.until(2, "get_velocity_source") == 2
    assert client("get_velocity_source_name") == "Navigation"
    client("set_upper_fsm_state", 0)
    client("set_fsm_state", 3)
    assert client.until(3, "get_fsm_state") == 3
    client("set_velocity", 0.4, 0.2, 0.2, 3.5)
    pass_time(data, 0.3)
    near(data.vel_cmd, [0.4, 0.2, 0.2], 0.0)
    client("set_group_cmd", {"waist": [0.1]})  # the upper body is free, as on the robot
    pass_time(data, 2.0)
    near(client("get_group_state", "waist"), [0.1], 0.02)
    near(client("get_base_data", "rpy"), [0.0, 0.2, 0.2], 0.05)
    pass_time(data, 1.5)
    near(data.vel_cmd, np.zeros(3), 0.0)
    client("set_fsm_state", 2)
    assert client.until(2, "get_fsm_state") == 2
    client("set_stand_pose", -0.05, 0.05, 0.1)
    assert client.until([-0.05, 0.05, 0.1], "get_stand_pose", limit_s=0.1)[:3] == [-0.05, 0.05, 0.1]
    pass_time(data, 2.0)
    near(client("get_base_data", "rpy"), [0.0, 0.05, 0.1], 0.02)

    # The service, and the end.
    assert client("set_policy_id", 0) == 1
    assert client("set_policy_id", 9) == 0
    client("set_upper_fsm_state", 0)
    client("set_fsm_state", 9)
    assert client.until("SecurityProtection", "get_fsm_name", limit_s=2.0).startswith("Security")
    client.close()
    assert not data.board.refused
    assert robot.running


def test_commands_that_are_off_are_refused_and_the_loop_goes_on(robot: LiveBody, domain: int):
    client = Client(domain_id=domain)
    data = robot.body.body.robot
    client("set_fsm_state", 2)
    assert client.until(2, "get_fsm_state") == 2
    before = data.board.read().position_rad
    client("set_group_cmd", {"left_leg": [0.0] * 6})
    client("set_group_cmd", {"left_hand": [0.5] * 5})
    client("set_group_cmd", {"left_hand": [9.0] * 6})
    client("set_group_cmd", {"tail": [0.5]})
    client("set_fsm_state", 8)
    client("set_velocity", 0.1, 0.0, 0.0)
    client("set_stand_pose", 5.0, 0.0, 0.0)
    client("sleep", 0.5)
    reasons = " | ".join(data.board.refused)
    for why in (
        "left_leg belongs to PdStand; client may not command it",
        "position of left_hand has 5 values; left_hand has 6",
        "position of left_hand[0] is 9 rad",
        "no control group named 'tail'",
        "no task is configured for UserController_F",
        "no task of PdStand follows velocities",
        "stand pose",
    ):
        assert why in reasons, reasons
    assert client("get_fsm_state") == 2
    np.testing.assert_allclose(data.board.read().position_rad, before, atol=0.2)
    client.close()
    assert robot.running


@pytest.mark.parametrize("options", [{"namespace": "gr2/SN01"}, {"is_ros_compatible": True}])
def test_namespaces_and_ros_names_connect_too(domain: int, options: dict):
    from thenar.wire.links.aurora_link import AuroraNode

    node = AuroraNode(domain=domain, namespace=options.get("namespace", ""), ros="is_ros_compatible" in options)
    twin = BodyTwin(BodyWorld(), link=node)
    twin.advance(0.01)
    client = Client(domain_id=domain, **options)
    assert client.hello["connected"]
    client("set_fsm_state", 1)
    end_s = time.monotonic() + 5.0
    while twin.controller.whole_body != WholeBody.JointStand and time.monotonic() < end_s:
        twin.advance(0.01)
        time.sleep(0.01)
    assert twin.controller.whole_body == WholeBody.JointStand
    assert client.until(1, "get_fsm_state", limit_s=0.5) in (0, 1)
    twin.advance(0.02)
    assert client.until(1, "get_fsm_state", limit_s=2.0) == 1
    assert client("set_policy_id", 0) == 1
    client.close()
    node.close()


def test_a_listener_sees_every_field_of_a_robot_elsewhere(domain: int):
    with serve_body(domain=domain) as twin, AuroraListener(domain=domain) as listener:
        twin.run_on_loop(lambda _: twin.body.controller.change(WholeBody.PdStand))
        time.sleep(1.5)
        listener.messages()
        snapshot = follow(RobotData(), listener.messages())
        truth = twin.body.body.robot.snapshot()
        np.testing.assert_allclose(snapshot.robot_state.q, truth.robot_state.q, atol=5e-3)
        np.testing.assert_allclose(snapshot.base_data.pos_W, truth.base_data.pos_W, atol=5e-3)
        assert snapshot.fsm_state.whole_body == WholeBody.PdStand
        assert snapshot.kindyn_data.feet_W.left.p[2] == pytest.approx(0.058, abs=5e-3)
        assert set(snapshot.hand_pvc) == {"left_hand", "right_hand"}


@pytest.fixture(scope="module")
def reported() -> tuple[RobotSnapshot, dict[str, dict[str, Any]]]:
    """A robot on the move, and the messages about it."""
    twin = BodyTwin(BodyWorld(hands=("fourier_left",)))
    twin.controller.change(WholeBody.PdStand)
    twin.advance(0.1)
    twin.body.push((60.0, 40.0, 0.0))
    twin.advance(0.1)
    now = twin.body.robot.snapshot()
    reports = aurora_codec.reports_of(twin.report(), wall_s=now.stamp_s)
    return now, {topic: aurora_codec.decode(REPORTS[topic], body) for topic, body in reports.items()}


def test_what_is_followed_is_what_was_reported(reported: tuple[RobotSnapshot, dict[str, dict[str, Any]]]):
    now, messages = reported
    robot = RobotData(GR2, loads=[hand_load(GR2, hands.load("fourier_left"))])
    told, true = archive.to_dict(follow(robot, messages)), archive.to_dict(now)
    assert told.keys() == true.keys()
    assert np.abs(true["base_data.acc_W"]).max() > 0.1
    for name in true.keys() - {"robot_state.qdd", "hands_stamp_s"}:  # not published
        if true[name].dtype == np.float64:
            np.testing.assert_allclose(told[name], true[name], atol=1e-9, err_msg=name)
        else:
            assert told[name] == true[name], name


@pytest.mark.parametrize(
    ("topic", "field", "why"),
    [
        ("contact_data_pub", "contact_force", "contact_force is '1 values'; wanted 12 values"),
        ("contact_data_pub", "contact_prob", "contact_prob is '1 values'; wanted 2 values"),
        ("base_data_pub", "acc_B", "acc_B is '1 values'; wanted 3 values"),
        ("head", "joint_velocity", "joint_velocity of head is '1 values'; wanted 2 values"),
        ("left_hand", "joint_effort", "joint_effort of left_hand is '1 values'; wanted 6 values"),
    ],
)
def test_a_report_with_other_lengths_is_refused_by_the_name_of_what_is_off(
    topic: str, field: str, why: str, reported: tuple[RobotSnapshot, dict[str, dict[str, Any]]]
):
    messages = copy.deepcopy(reported[1])
    groups = {group["group_name"]: group for group in messages["robot_control_group_state"]["group_state"]}
    (messages | groups)[topic][field] = np.zeros(1)
    with pytest.raises(BadValue, match=why):
        follow(RobotData(), messages)


# Bytes.


def sample(kind: str, rng: np.random.Generator) -> dict[str, Any]:
    """A message with something in every field."""
    plain = {"u8": 3, "bool": 1, "i32": -5, "u32": 7, "f64": 0.25, "str": "left_leg"}

    def value(kind: str) -> Any:
        if kind in plain:
            return plain[kind]
        if kind.startswith("["):
            return [value(kind[1:-1]) for _ in range(rng.integers(0, 4))]
        return {name: value(inner) for name, inner in TYPES[kind]}

    return value(kind)


def same(one: Any, other: Any) -> bool:
    if isinstance(one, dict):
        return all(same(one[name], other[name]) for name in one)
    if isinstance(one, list):
        return len(one) == len(other) and all(same(a, b) for a, b in zip(one, other, strict=True))
    return bool(one == other)


@pytest.mark.parametrize("kind", TYPES)
def test_every_message_comes_back(kind: str):
    rng = np.random.default_rng(3)
    for _ in range(20):
        message = sample(kind, rng)
        assert same(message, aurora_codec.decode(kind, aurora_codec.encode(kind, message)))


def test_bytes_of_the_client_s_commands():
    # Captured from the client: set_fsm_state(2).
    body = bytes.fromhex("0000000000000000010000000002")
    assert aurora_codec.encode("WholeBodyFsmStateChangeCmd", {"desired_state": 2}) == body
    got = aurora_codec.request_of("whole_body_fsm_state_change_cmd", body, sender="x", arrived_s=0.0)
    assert got.whole_body_state == 2


def test_an_empty_sequence_has_no_padding_behind_its_length():
    body = aurora_codec.encode("ContactData", {"contact_force": [], "contact_prob": [1.0]})
    assert len(body) == 12 + 1 + 3 + 4 + 4 + 8


def test_names_are_plain_or_ros_2_s():
    plain, ros = Names(namespace="gr2/SN01"), Names(ros=True)
    assert plain.topic("velocity_cmd") == "gr2/SN01/velocity_cmd"
    assert plain.type_name("VelocityCmd") == "fourier_msgs::msg::VelocityCmd"
    assert ros.topic("velocity_cmd") == "rt/velocity_cmd"
    assert ros.type_name("VelocityCmd") == "fourier_msgs::msg::dds_::VelocityCmd_"
    assert ros.policy_service().reply_topic == "rr/policy_change_serviceReply"
    assert plain.policy_service().request_topic == "req/gr2/SN01/policy_change_service"
    assert len(REPORTS) == len(COMMANDS) == 8


def test_fields_have_the_vendors_names_in_the_vendors_order():
    # Ref: fourier_msgs as the client declares them. A header, padding to eight, then doubles.
    header = struct.pack("<iII", 0, 0, 1) + b"\0"
    pose = aurora_codec.decode("RobotStandPoseCmd", header + bytes(3) + struct.pack("<3d", 1, 2, 3))
    assert (pose["delta_z"], pose["delta_pitch"], pose["delta_yaw"]) == (1, 2, 3)
    gains = [name for name, kind in aurora_codec.TYPES["MotorCfgGroupCmd"] if kind == "[f64]"]
    assert gains == ["pos_kp", "pos_ki", "pos_kd", "pd_kp", "pd_kd"]
    assert (aurora_codec.MODE_DISABLE, aurora_codec.MODE_PD) == (0, 4)


def test_garbage_on_every_command_topic_harms_nobody(domain: int):
    from thenar.wire.links.aurora_link import AuroraNode

    node = AuroraNode(domain=domain)
    twin = BodyTwin(BodyWorld(), link=node)
    twin.controller.change(WholeBody.PdStand)
    names = Names()
    rng = np.random.default_rng(9)
    with Participant(domain) as me:
        writers = [me.advertise(names.topic(topic), names.type_name(kind)) for topic, kind in COMMANDS.items()]
        assert all(writer.wait_for_readers(10.0) for writer in writers)
        time.sleep(0.3)  # until the readers know the writers too
        for writer in writers:
            for size in (0, 1, 7, 40, 400):
                writer.write(rng.integers(0, 256, size, dtype=np.uint8).tobytes())
        time.sleep(0.5)
    twin.advance(0.1)
    assert twin.controller.whole_body == WholeBody.PdStand
    assert twin.controller.upper_body == UpperBody.Default
    assert sum(node.refused.values()) > 20
    node.close()
