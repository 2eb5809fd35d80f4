"""A G1 on its own feet: it stands, is pushed, holds its arms out, falls honestly, and gives its legs to a client."""

import json
import subprocess
import sys
import time
from typing import Any

import numpy as np
import pytest
from patience import wait_for

from bench.body import standing_g1, withstands
from tests.peer_env import PEERS, quiet_environment
from tests.test_g1_wire import command, refused_by
from thenar.errors import BadValue
from thenar.humanoid.control.foot_contact import ContactEstimator
from thenar.twin.body.g1_twin import G1Config, G1Robot, LiveG1, serve_g1

LEGS, ARMS = slice(0, 12), slice(15, 29)
SIDES = {"the back": (1.0, 0.0), "the front": (-1.0, 0.0), "the right": (0.0, 1.0), "the left": (0.0, -1.0)}


@pytest.fixture(scope="module")
def stood() -> G1Robot:
    return standing_g1()


@pytest.fixture
def robot(stood: G1Robot) -> G1Robot:
    stood.reset()
    stood.advance(0.3)
    return stood


def pelvis_m(robot: G1Robot) -> float:
    return float(robot.body.machine.motion().q[2])


def test_it_stands_still_and_its_feet_know_what_they_carry(robot: G1Robot):
    body, off_n, right = robot.body, [], []
    weight_n = body.robot.kindyn_data.m * 9.81
    for step in range(500):
        body.push((0.0, 50.0, 0.0) if step < 50 else (0.0, 0.0, 0.0))
        true_n = body.foot_forces()
        robot.advance(0.002)
        contact = body.robot.contact_data
        off_n.append(np.linalg.norm((contact.contact_force - true_n)[:, :3], axis=1))
        right.append((contact.contact_prob > 0.5) == (true_n[:, 2] > 0.0))
    assert np.sqrt(np.square(off_n).mean()) < 0.05 * weight_n
    assert np.mean(right) >= 0.99
    robot.advance(1.0)
    assert body.foot_forces()[:, 2].sum() == pytest.approx(weight_n, rel=0.01)
    assert np.abs(robot.readings().velocity_rad_s).max() < 0.01
    imu = robot.readings().imus[0]
    np.testing.assert_allclose(imu.accel_m_s2, [0.0, 0.0, 9.81], atol=0.02)
    np.testing.assert_allclose(imu.quat_wxyz, body.world.data.body("pelvis").xquat, atol=1e-6)
    assert np.abs(imu.quat_wxyz[1:3]).max() < 2e-3


@pytest.mark.parametrize("side", SIDES)
def test_a_push_of_seven_newton_seconds_does_not_topple_it(robot: G1Robot, side: str):
    x, y = SIDES[side]
    assert withstands(robot, (7.0 * x, 7.0 * y, 0.0))


@pytest.mark.parametrize("side", ["the back", "the left"])
def test_one_of_twenty_does_and_its_imu_tells_so(robot: G1Robot, side: str):
    x, y = SIDES[side]
    assert not withstands(robot, (20.0 * x, 20.0 * y, 0.0))
    robot.advance(1.0)
    assert pelvis_m(robot) < 0.3
    imu, R = robot.readings().imus[0], robot.body.world.data.body("pelvis").xmat.reshape(3, 3)
    np.testing.assert_allclose(imu.accel_m_s2, R.T @ [0.0, 0.0, 9.81], atol=0.5)
    assert imu.accel_m_s2[2] < 6.0
    robot.reset()
    robot.advance(0.5)
    assert pelvis_m(robot) > 0.75


def test_its_legs_make_up_for_where_its_arms_are(robot: G1Robot):
    kindyn = robot.body.robot.kindyn_data
    before = kindyn.Pc - 0.5 * (kindyn.feet_W.left.p + kindyn.feet_W.right.p)
    arms = np.zeros(29)
    arms[[15, 22]], arms[[18, 25]] = -1.2, 0.9
    robot.hold(arms)
    robot.advance(2.0)
    kindyn = robot.body.robot.kindyn_data
    after = kindyn.Pc - 0.5 * (kindyn.feet_W.left.p + kindyn.feet_W.right.p)
    np.testing.assert_allclose(robot.readings().position_rad[ARMS], arms[ARMS], atol=0.02)
    np.testing.assert_allclose(after[:2], before[:2], atol=0.002)
    assert after[2] > before[2] + 0.02
    q = robot.body.machine.motion().q
    assert np.abs(robot.body.robot.base_data.rpy[:2]).max() < 0.01
    assert q[0] < -0.03  # the pelvis went back as far as the arms brought the weight forward


def test_without_its_balance_it_falls_and_its_feet_know_what_they_carry_there(robot: G1Robot):
    robot.low_level.mode = "damp"
    robot.advance(3.0)
    assert robot.low_level.driver == "damp"
    assert pelvis_m(robot) < 0.5
    true = robot.body.foot_forces()[:, 2]
    weight_n = robot.body.robot.kindyn_data.m * 9.81
    estimated = robot.body.robot.contact_data.contact_force[:, 2]
    np.testing.assert_allclose(estimated, true, atol=0.1 * weight_n)
    assert true.sum() < 0.5 * weight_n
    without: Any = ContactEstimator(robot.body.body)
    without._places.foot[:] = -1  # no ball is a foot's
    now = robot.body.robot.snapshot()
    assert np.abs(without.step(now).contact_force[:, 2] - true).max() > 0.1 * weight_n


def test_a_client_of_the_arms_moves_them_while_it_stands(domain: int):
    with serve_g1(G1Config(domain=domain, pelvis="free")) as twin:
        line = [sys.executable, str(PEERS / "arm_controller.py"), str(domain), "0.8", "rt/arm_sdk"]
        done = subprocess.run(line, capture_output=True, text=True, check=True, timeout=60, env=quiet_environment())
        heard = json.loads(done.stdout.splitlines()[-1])
        assert heard["wrong_crc"] == 0
        assert refused_by(twin) == set()
        states = np.array(heard["states"])[:, 1:]
        assert np.ptp(states[:, ARMS], axis=0).max() > 0.1
        assert np.ptp(states[:, LEGS], axis=0).max() < 0.05
        np.testing.assert_allclose(np.abs(heard["quaternion"]), [1.0, 0.0, 0.0, 0.0], atol=0.02)
        # Swinging arms push the pelvis; when they have come to rest, it feels its weight alone.
        assert wait_for(lambda: np.abs(twin.robot.readings().imus[0].accel_m_s2 - [0.0, 0.0, 9.81]).max() < 0.5)
        assert pelvis_m(twin.robot) > 0.75


def send_legs(twin: LiveG1, seconds: float, **motors: Any) -> None:
    link: Any = twin.robot.link
    until_s = twin.world.time_s + seconds
    while twin.world.time_s < until_s:
        link._on_command("rt/lowcmd", command(**motors), "a client", time.perf_counter())
        time.sleep(0.02)


def test_a_client_of_the_whole_body_drives_the_legs_itself_and_may_let_it_fall(domain: int):
    with serve_g1(G1Config(domain=domain, pelvis="free")) as twin:
        robot = twin.robot
        assert robot.low_level.driver == "balance"
        squat = np.zeros(35)
        squat[[0, 6]], squat[[3, 9]], squat[[4, 10]] = -0.30, 0.62, -0.32
        send_legs(twin, 0.3, q=squat, kp=300.0, kd=8.0)
        assert robot.low_level.driver == "a client"
        assert robot.readings().position_rad[3] == pytest.approx(0.62, abs=0.1)
        send_legs(twin, 1.5)  # no stiffness
        assert pelvis_m(robot) < 0.5
        assert wait_for(lambda: robot.low_level.driver == "balance")  # it has left; who lies stays there
        twin.reset()
        began_s = twin.world.time_s
        assert wait_for(lambda: twin.world.time_s > began_s + 0.5)
        assert pelvis_m(robot) > 0.75


def test_a_gr2_has_no_fixed_pelvis():
    from thenar.cli.run.body import BodyRun

    with pytest.raises(BadValue, match="--pelvis"):
        BodyRun(robot="gr2", pelvis="free").run()
