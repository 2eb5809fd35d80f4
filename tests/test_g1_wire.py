"""A G1 on Unitree's topics: a client like xr_teleoperate's, commands that cannot be, clients that leave."""

import json
import subprocess
import sys
import time
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from patience import wait_for
from serving import end_with_parent

from tests.oracles.plain_g1 import PlainG1
from tests.peer_env import PEERS, peer_python, quiet_environment
from thenar import cdr
from thenar.humanoid.control.command_board import JointCommand
from thenar.humanoid.control.low_level import LowLevel
from thenar.humanoid.model.g1 import G1, MODE_MACHINE
from thenar.signals import MotorTargets
from thenar.twin.body.g1_twin import G1Config, LiveG1, serve_g1
from thenar.wire.clients.domain_survey import local_domains
from thenar.wire.codecs import sim_codec
from thenar.wire.codecs.unitree import g1_codec, unitree_hg, unitree_rpc

ARMS = slice(15, 29)


def command(**motors: Any) -> bytes:
    """A whole command with its checksum; every motor on."""
    record = unitree_hg.new_record(unitree_hg.LOW_CMD)
    record["mode_machine"] = motors.pop("mode_machine", MODE_MACHINE)
    record["mode_pr"] = motors.pop("mode_pr", 0)
    record["motor_cmd"]["mode"] = 1
    for name, value in motors.items():
        record["motor_cmd"][name] = value
    return unitree_hg.encode_low_cmd(record)


def decode(message: bytes) -> MotorTargets:
    return g1_codec.decode_targets(message, sender="a test", arrived_s=0.0, mode_machine=MODE_MACHINE)


def start(script: str, *words: object) -> "subprocess.Popen[str]":
    command_line = [sys.executable, str(PEERS / script), *map(str, words)]
    return subprocess.Popen(command_line, stdout=subprocess.PIPE, text=True, env=quiet_environment())


def refused_by(twin: LiveG1) -> set[str]:
    """Why messages were refused; an acknowledgement that is quicker than its reader's announcement is none of them."""
    return {why for link in twin.health().links for why in link.refused if not why.startswith("ACKNACK")}


@pytest.fixture
def twin(domain: int) -> Iterator[LiveG1]:
    with serve_g1(G1Config(domain=domain)) as running:
        yield running


def logged(twin: LiveG1) -> list[tuple[float, JointCommand]]:
    """What drove the motors in every tick from now on, with its time."""
    log: list[tuple[float, JointCommand]] = []
    choose = twin.robot.low_level.choose

    def choose_and_log(*args: Any, **named: Any) -> JointCommand:
        chosen = choose(*args, **named)
        log.append((twin.robot.body.world.time_s, chosen))
        return chosen

    twin.robot.low_level.choose = choose_and_log
    return log


def oracle(log: list[tuple[float, JointCommand]]) -> dict[int, np.ndarray]:
    """Where another simulation of the robot has its joints after each tick of a log, by milliseconds."""
    robot, places = PlainG1(), {}
    for at_s, drive in log:
        robot.advance(0.002, drive.position_rad, drive.kp_nm_rad, drive.kd_nms_rad, drive.effort_nm)
        places[round(1e3 * (at_s + 0.002))] = robot.q
    return places


@pytest.mark.parametrize("topic", ["rt/lowcmd", "rt/arm_sdk"])
def test_a_client_like_xr_teleoperates_moves_the_arms_as_its_gains_say(twin: LiveG1, domain: int, topic: str):
    log = twin.run_on_loop(lambda _: logged(twin))
    q_before = twin.run_on_loop(lambda _: twin.robot.readings().position_rad)
    np.testing.assert_allclose(q_before, 0.0, atol=1e-4)
    peer = start("arm_controller.py", domain, 0.8, topic)
    out, _ = peer.communicate(timeout=60)
    assert peer.returncode == 0
    heard = json.loads(out.splitlines()[-1])
    assert heard["waited_s"] < 1.0
    assert heard["asked_s"] < 0.5
    assert json.loads(heard["mode"]) == {"form": "0", "name": ""}
    assert heard["mode_machine"] == 5
    assert heard["wrong_crc"] == 0
    np.testing.assert_allclose(heard["quaternion"], [1.0, 0.0, 0.0, 0.0], atol=1e-6)
    np.testing.assert_allclose(heard["accelerometer"], [0.0, 0.0, 9.81], atol=1e-2)
    assert refused_by(twin) == set()
    states = np.array(heard["states"])
    assert np.ptp(states[:, 1 + 15]) > 0.15
    places = oracle(log)
    seen = [(row[1:], places[int(row[0])]) for row in states if int(row[0]) in places]
    assert len(seen) > 50
    gap_rad = np.abs(np.array([ours - theirs for ours, theirs in seen]))
    assert gap_rad[:, ARMS].max() < 1e-3, gap_rad.max(axis=0)
    # It has left without a word: the joints stay where they are.
    left = twin.run_on_loop(lambda _: twin.robot.readings().position_rad)
    assert wait_for(lambda: twin.robot.low_level.driver == "hold", 3.0)
    now_s = twin.world.time_s
    assert wait_for(lambda: twin.world.time_s > now_s + 0.5, 5.0)
    np.testing.assert_allclose(twin.run_on_loop(lambda _: twin.robot.readings().position_rad), left, atol=0.02)


def test_unitrees_own_python_package_moves_an_arm(twin: LiveG1, domain: int):
    line = [str(peer_python("unitree")), str(PEERS / "unitree_wrapper_client.py"), str(domain), "1.0"]
    done = subprocess.run(line, capture_output=True, text=True, check=False, timeout=60, env=quiet_environment())
    assert done.returncode == 0, done.stderr
    heard = json.loads(done.stdout.splitlines()[-1])
    assert heard["waited_s"] < 1.0
    assert heard["mode_machine"] == MODE_MACHINE
    assert heard["elbow_rad"] == pytest.approx(0.3, abs=0.05)  # it sags under the forearm's weight
    assert refused_by(twin) == set()


def test_a_twin_that_is_killed_and_started_anew_is_driven_on_and_a_killed_client_leaves_the_arms_where_they_are(
    domain: int,
):
    line = [sys.executable, "-m", "thenar.cli", "body", "run", "g1", "--cameras", "none", "--domain", str(domain)]
    first = subprocess.Popen([*line, "--json"], stdout=subprocess.DEVNULL, preexec_fn=end_with_parent)
    assert wait_for(lambda: domain in local_domains() or first.poll() is not None, 60.0)
    client = start("arm_controller.py", domain, 60.0, "rt/lowcmd")
    try:
        assert client.stdout is not None
        assert client.stdout.readline() == "commanding\n"
        first.kill()
        first.wait()
        with serve_g1(G1Config(domain=domain)) as second:
            robot = second.robot
            assert wait_for(lambda: robot.low_level.driver not in ("", "hold"), 10.0)
            assert wait_for(lambda: np.ptp(second.run_on_loop(lambda _: robot.readings().position_rad[ARMS])) > 0.1)
            # What the client went on sending before the new twin knew it.
            assert refused_by(second) <= {"submessage from a writer that is not matched"}
            client.kill()
            client.wait()
            assert wait_for(lambda: robot.low_level.driver == "hold", 3.0)
            left = second.run_on_loop(lambda _: robot.readings().position_rad.copy())
            now_s = second.world.time_s
            assert wait_for(lambda: second.world.time_s > now_s + 0.5, 5.0)
            np.testing.assert_allclose(robot.readings().position_rad, left, atol=0.02)
    finally:
        first.kill()
        client.kill()
        first.wait()
        client.wait()


@pytest.mark.parametrize(
    ("message", "why"),
    [
        (command()[:-1] + b"\x00", "CRC"),
        (command(mode_machine=4), "mode_machine 4; wanted 5"),
        (command(mode_pr=1), "mode_pr 1; wanted 0"),
        (command(q=np.nan), "q of motor 0 is not a number"),
        (command(tau=np.inf), "tau of motor 0"),
        (command(kp=1e5), "kp of motor 0 is 100000; wanted 0 to 2000"),
        (command(kd=-1.0), "kd of motor 0 is -1"),
        (command()[:900], "needs"),
    ],
)
def test_commands_that_cannot_be_are_refused_with_their_reason(message: bytes, why: str):
    with pytest.raises(cdr.BadMessage, match=why):
        decode(message)


def test_commands_of_the_arms_may_leave_out_what_unitrees_own_programs_do():
    record = unitree_hg.decode_low_cmd(command(mode_machine=0, q=0.2, kp=40.0)).copy()
    record["motor_cmd"]["mode"] = 0
    bare = cdr.HEADER + unitree_hg.encode_low_cmd(record)[4:-4] + bytes(4)  # no CRC either
    with pytest.raises(cdr.BadMessage, match="CRC"):
        decode(bare)
    asked = g1_codec.decode_targets(bare, sender="a test", arrived_s=0.0, mode_machine=MODE_MACHINE, arms=True)
    assert asked.kp_nm_rad.tolist() == [40.0] * 29
    wrong = bare[:-4] + b"\x01\x00\x00\x00"
    with pytest.raises(cdr.BadMessage, match="CRC"):
        g1_codec.decode_targets(wrong, sender="a test", arrived_s=0.0, mode_machine=MODE_MACHINE, arms=True)


def test_motors_that_are_off_get_nothing():
    message = unitree_hg.decode_low_cmd(command(q=1.0, kp=40.0, kd=1.0, tau=2.0)).copy()
    message["motor_cmd"]["mode"][3] = 0
    targets = decode(unitree_hg.encode_low_cmd(message))
    assert (targets.kp_nm_rad[3], targets.kd_nms_rad[3], targets.effort_nm[3]) == (0.0, 0.0, 0.0)
    assert targets.kp_nm_rad[4] == 40.0


def test_bad_commands_and_a_second_commander_move_nothing_and_are_told(twin: LiveG1):
    link: Any = twin.robot.link
    at_s = time.perf_counter()
    link._on_command("rt/lowcmd", command(kp=80.0, kd=3.0), "the first", at_s)
    link._on_command("rt/lowcmd", command(q=1.0, kp=80.0, kd=3.0), "the second", at_s + 0.01)
    whole, _ = link.targets(at_s + 0.02)
    assert whole.sender == "the first"
    assert whole.position_rad.tolist() == [0.0] * 29
    assert any("the second is ignored while the first commands" in why for why in link.health().refused)
    # Whoever was silent for half a second has left.
    assert link.targets(at_s + 0.6) == (None, None)
    link._on_command("rt/lowcmd", command(q=0.1, kp=80.0, kd=3.0), "the second", at_s + 0.6)
    assert link.targets(at_s + 0.7)[0].sender == "the second"


def test_walking_is_refused_with_its_reason_and_damping_is_not(twin: LiveG1):
    link: Any = twin.robot.link
    for api_id, asked, code in (
        (7105, {"velocity": [0.3, 0, 0], "duration": 1}, 3203),
        (7105, {"velocity": [0, 0, 0], "duration": 1}, 0),
        (7101, {"data": 706}, 3203),
        (7101, {"data": 1}, 0),
        (7001, {}, 0),
        (7103, {"data": 0.1}, 3203),
    ):
        request = unitree_rpc.RpcRequest(id=1, api_id=api_id, parameter="")
        answered, data = link._loco(request, asked)
        assert answered == code, asked
        assert "walking" in data or (api_id, code) != (7105, 3203)
    assert wait_for(lambda: twin.robot.low_level.mode == "damp")
    asked_for = unitree_rpc.RpcRequest(id=2, api_id=7001, parameter="")
    assert link._loco(asked_for, {}) == (0, {"data": 1})
    twin.reset()  # it holds itself again, and says so
    assert twin.robot.low_level.mode == "hold"
    assert link._loco(asked_for, {}) == (0, {"data": 500})


def test_a_run_command_is_refused_with_its_reason(twin: LiveG1):
    link: Any = twin.robot.link
    link._on_run(sim_codec.encode_text("[0.0, 0.0, 0.0, 0.8]"), "a test", 0.0)
    assert link.health().refused == {}
    link._on_run(sim_codec.encode_text("[0.4, 0.0, 0.0, 0.8]"), "a test", 0.0)
    assert any("walking" in why for why in link.health().refused)


def targets_of(q: float, *, sender: str = "one", weight: float = 1.0) -> MotorTargets:
    n, zeros = 29, np.zeros(29)
    return MotorTargets(
        sender=sender, arrived_s=0.0, position_rad=np.full(n, q), velocity_rad_s=zeros, effort_nm=zeros,
        kp_nm_rad=np.full(n, 40.0), kd_nms_rad=np.full(n, 1.0), weight=weight,
    )  # fmt: skip


def torque(drive: JointCommand, q: np.ndarray, qd: np.ndarray) -> np.ndarray:
    spring = drive.kp_nm_rad * (drive.position_rad - q) + drive.kd_nms_rad * (drive.velocity_rad_s - qd)
    return spring + drive.effort_nm


@pytest.mark.parametrize("weight", [0.25, 1.0])
def test_a_weight_shares_the_arms_between_client_and_robot(weight: float):
    low, q, qd, carry = LowLevel(G1, gains="teleop"), np.full(29, 0.1), np.full(29, 0.3), np.full(29, 0.7)
    own = low.choose(None, None, q_rad=np.zeros(29), gravity_nm=carry)
    mixed = low.choose(None, targets_of(0.2, weight=weight), q_rad=q, gravity_nm=carry)
    client = 40.0 * (0.2 - q) - 1.0 * qd
    wanted = weight * client + (1.0 - weight) * torque(own, q, qd)
    np.testing.assert_allclose(torque(mixed, q, qd)[12:], wanted[12:], atol=1e-9)
    np.testing.assert_allclose(torque(mixed, q, qd)[:12], torque(own, q, qd)[:12], atol=1e-9)


def test_targets_beyond_a_joints_range_stop_at_it_and_are_counted():
    low = LowLevel(G1, gains="teleop")
    drive = low.choose(targets_of(9.0), None, q_rad=np.zeros(29), gravity_nm=np.zeros(29))
    np.testing.assert_array_equal(drive.position_rad, G1.per_joint("upper_rad"))
    assert low.clamped["left_elbow_joint"] == 1


def test_arms_that_a_client_leaves_stay_where_they_are_and_the_rest_where_it_was():
    low, nothing = LowLevel(G1, gains="teleop"), np.zeros(29)
    low.choose(None, None, q_rad=nothing, gravity_nm=nothing)
    low.choose(None, targets_of(0.2), q_rad=nothing, gravity_nm=nothing)
    drive = low.choose(None, None, q_rad=np.full(29, 0.15), gravity_nm=nothing)
    np.testing.assert_array_equal(drive.position_rad, [0.0] * 12 + [0.15] * 17)


def test_a_call_has_the_bytes_of_another_library():
    from tests.oracles import unitree_idl

    idl: Any = unitree_idl
    header = idl.RequestHeader(idl.RequestIdentity(7, 7105), idl.RequestLease(0), idl.RequestPolicy(0, True))
    request = unitree_rpc.decode_request(idl.Request(header, '{"velocity":[0.3,0,0]}', [1, 2]).serialize())
    assert request == unitree_rpc.RpcRequest(id=7, api_id=7105, parameter='{"velocity":[0.3,0,0]}', noreply=True)
    ours = unitree_rpc.encode_response(request, code=3203, data="why")
    theirs = idl.Response(idl.ResponseHeader(idl.RequestIdentity(7, 7105), idl.ResponseStatus(3203)), "why", [])
    assert ours == theirs.serialize()
