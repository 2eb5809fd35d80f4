"""The G1's body: kinematics, masses and holding torques of the maker's tables, in both engines; mounts; its motors."""

import json
from pathlib import Path
from typing import Any

import mujoco
import numpy as np
import pinocchio as pin
import pytest

from thenar import hands
from thenar.errors import BadValue
from thenar.hands.rotations import matrix_from_quat_wxyz, matrix_from_rpy
from thenar.humanoid import RobotData
from thenar.humanoid.control.low_level import LowLevel
from thenar.humanoid.model.g1 import G1, G1_RUBBER
from thenar.humanoid.model.hand_mount import hand_mount
from thenar.humanoid.model.mujoco_model import build_spec
from thenar.humanoid.model.pinocchio_model import build_model
from thenar.twin.body.g1_twin import AMBIENT_C, build_g1

TABLE = json.loads((Path(__file__).parent / "data" / "g1.json").read_text())
POSES = {"zero": np.zeros(29), "q_i=0.3*sin(i+1)": 0.3 * np.sin(np.arange(29) + 1)}
IN_PELVIS_M, NEWTON_METRES = 1e-4, 1e-3


def test_motors_are_those_of_the_table_in_its_order():
    table = TABLE["motors"]
    assert G1.joint_names == tuple(motor["joint"] for motor in table)
    for field, column in (
        ("lower_rad", "lower_rad"),
        ("upper_rad", "upper_rad"),
        ("effort_nm", "effort_nm_urdf"),
        ("speed_rad_s", "velocity_rad_s"),
        ("armature_kgm2", "armature_kgm2"),
    ):
        assert G1.per_joint(field).tolist() == [motor[column] for motor in table], field
    assert [list(hinge.axis) for hinge in G1.hinges] == [motor["axis"] for motor in table]
    for use, column in (("low_level", "kp_kd_sdk_low_level_example"), ("teleop", "kp_kd_xr_teleoperate")):
        gains = G1.gains[use]
        assert [[*pair] for pair in zip(gains.kp_nm_rad, gains.kd_nms_rad, strict=True)] == [m[column] for m in table]


def test_masses_are_those_of_the_table():
    assert {link.name: link.mass_kg for link in G1_RUBBER.links} == {
        link["name"]: link["mass_kg"] for link in TABLE["links"]
    }
    assert G1_RUBBER.mass_kg == pytest.approx(33.34114, abs=5e-6)


@pytest.mark.parametrize("pose", POSES)
def test_mujoco_has_the_places_and_holding_torques_of_the_table(pose: str):
    case, spec = TABLE["cases"][pose], build_spec(G1_RUBBER, base_height_m=0.0, fixed=True)
    spec.option.gravity = [0.0, 0.0, -9.81]
    model: Any = spec.compile()
    data: Any = mujoco.MjData(model)
    for name, angle in zip(G1.joint_names, POSES[pose], strict=True):
        data.joint(name).qpos[0] = angle
    mujoco.mj_forward(model, data)
    for link, pos_m in case["positions_in_pelvis_m"].items():
        np.testing.assert_allclose(data.body(link).xpos, pos_m, atol=IN_PELVIS_M, err_msg=link)
    np.testing.assert_allclose(data.subtree_com[model.body("pelvis").id], case["com_in_pelvis_m"], atol=IN_PELVIS_M)
    bias = [data.qfrc_bias[model.joint(name).dofadr[0]] for name in G1.joint_names]
    np.testing.assert_allclose(bias, case["holding_torque_nm_pelvis_fixed"], atol=NEWTON_METRES)


@pytest.mark.parametrize("pose", POSES)
def test_pinocchio_has_the_places_and_holding_torques_of_the_table(pose: str):
    case, model = TABLE["cases"][pose], build_model(G1_RUBBER)
    data, q = model.createData(), np.concatenate([np.zeros(6), [1.0], POSES[pose]])
    pin.framesForwardKinematics(model, data, q)
    for link, pos_m in case["positions_in_pelvis_m"].items():
        place = data.oMf[model.getFrameId(link)].translation
        np.testing.assert_allclose(place, pos_m, atol=IN_PELVIS_M, err_msg=link)
    for link, rows in case["rotation_rows"].items():
        np.testing.assert_allclose(data.oMf[model.getFrameId(link)].rotation, rows, atol=2e-6)
    torque = pin.computeGeneralizedGravity(model, data, q)[6:]
    np.testing.assert_allclose(torque, case["holding_torque_nm_pelvis_fixed"], atol=NEWTON_METRES)


def test_robot_data_works_for_it():
    robot = RobotData(G1_RUBBER)
    assert robot.kindyn_data.M.shape == (35, 35)
    assert robot.base_data.pos_W[2] == pytest.approx(0.793, abs=0.002)
    pose = POSES["q_i=0.3*sin(i+1)"]
    robot.update(1.0, q=np.concatenate([np.zeros(6), [1.0], pose]), qd=np.zeros(35))
    place = TABLE["cases"]["q_i=0.3*sin(i+1)"]["positions_in_pelvis_m"]["right_wrist_yaw_link"]
    np.testing.assert_allclose(robot.kindyn_data.hands_W.right.p, place, atol=IN_PELVIS_M)
    arms = robot.body.group_slice("left_manipulator"), robot.body.group_slice("right_manipulator")
    assert arms == (slice(15, 22), slice(22, 29))


FORWARD_M = {"inspire": 0.0415, "inspire_dfx": 0.0415, "dex3": 0.0415, "dex1": 0.0415, "brainco": 0.0591}


@pytest.mark.parametrize("name", [f"{hand}_{side}" for hand in FORWARD_M for side in ("left", "right")])
def test_hands_point_forward_with_palms_inwards(name: str):
    hand = hands.load(name)
    link, pos_m, quat_wxyz = hand_mount(G1, hand)
    assert link == f"{hand.side}_wrist_yaw_link"
    assert pos_m[0] == FORWARD_M[name.rpartition("_")[0]]
    palm = matrix_from_quat_wxyz(quat_wxyz) @ matrix_from_rpy(hand.palm.rpy_rad)
    np.testing.assert_allclose(palm[:, 1], [1.0, 0.0, 0.0], atol=1e-9)  # towards the fingers
    if name.startswith("dex1"):  # no palm: its first finger is on the right, the other on the left
        np.testing.assert_allclose(palm[:, 0], [0.0, -1.0, 0.0], atol=1e-9)
        return
    np.testing.assert_allclose(palm[:, 2], [0.0, -1.0 if hand.side == "left" else 1.0, 0.0], atol=1e-9)


@pytest.mark.parametrize("name", ["shadow_left", "fourier_right"])
def test_hands_of_other_makers_are_mounted_alike(name: str):
    hand = hands.load(name)
    _, _, quat_wxyz = hand_mount(G1, hand)
    palm = matrix_from_quat_wxyz(quat_wxyz) @ matrix_from_rpy(hand.palm.rpy_rad)
    np.testing.assert_allclose(palm[:, 1], [1.0, 0.0, 0.0], atol=1e-9)


@pytest.mark.parametrize("mode", ["damp", "limp"])
def test_joints_that_were_let_go_are_held_where_they_have_come_to(mode: str):
    low, carry = LowLevel(G1, gains="teleop"), np.zeros(29)
    low.choose(None, None, q_rad=np.zeros(29), gravity_nm=carry)
    low.mode = mode
    low.choose(None, None, q_rad=np.full(29, 0.1), gravity_nm=carry)
    low.mode = "hold"
    for q in (0.15, 0.2):  # and there they stay
        drive = low.choose(None, None, q_rad=np.full(29, q), gravity_nm=carry)
        np.testing.assert_array_equal(drive.position_rad, np.full(29, 0.1))


@pytest.mark.parametrize("q_rad", [np.zeros(28), np.full(29, np.nan), 0.1])
def test_angles_to_hold_that_are_none_are_refused_and_change_nothing(q_rad: Any):
    low = LowLevel(G1, gains="teleop")
    with pytest.raises(BadValue, match="29 finite angles in the order of g1's motors"):
        low.hold(q_rad)
    drive = low.choose(None, None, q_rad=np.full(29, 0.1), gravity_nm=np.zeros(29))
    np.testing.assert_array_equal(drive.position_rad, np.full(29, 0.1))


def test_motors_warm_with_time_and_not_with_how_often_they_are_read_and_are_cold_after_a_reset():
    often, seldom = build_g1(), build_g1()
    for _ in range(100):
        often.advance(0.002)
        often.readings()
    seldom.advance(0.2)
    np.testing.assert_array_equal(often.readings().temperature_c, seldom.readings().temperature_c)
    before = seldom.readings().temperature_c
    assert before.max() > AMBIENT_C
    seldom.advance(0.002)
    assert before.max() < seldom.readings().temperature_c.max()  # what was read does not change
    seldom.reset()
    np.testing.assert_array_equal(seldom.readings().temperature_c, np.full(29, AMBIENT_C))
