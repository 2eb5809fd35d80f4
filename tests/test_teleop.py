"""A glove drives a hand while it happens: a twin here, a served one over DDS, and programs of ROS 2 beside it."""

import itertools
import json
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np
import pytest
from patience import free_port, wait_for
from peer_env import PEERS, fast2_program, quiet_environment

from thenar import hands
from thenar.cli import main
from thenar.errors import ThenarError
from thenar.glove.glove_socket import GloveSender
from thenar.glove.make import make_log
from thenar.retarget.retargeter import Retargeter
from thenar.twin.serving import serve
from thenar.twin.teleoperation import teleoperate
from thenar.wire.clients.ros2_follower import FollowNode
from thenar.wire.codecs.tienkung_codec import decode_joint_state

FIST = make_log(("fist",))[70]  # closed
SHADOW = hands.load("shadow_right")


@pytest.mark.parametrize("hand", ["inspire_right", "shadow_right"])
def test_a_recording_drives_a_twin(hand: str, tmp_path: Path, capsys):
    log = tmp_path / "person.csv"
    main(["glove", "make", str(log), "--gestures", "fist"])
    capsys.readouterr()
    main(["teleop", str(log), "--hand", hand, "--duration", "1.6", "--json"])
    told = json.loads(capsys.readouterr().out)
    assert told["frames"] > 10
    assert told["following"] == ["following"]
    assert max(np.abs(told["angle_rad"])) > 0.5


@pytest.mark.parametrize("hand", ["inspire_right", "shadow_right"])
def test_a_closed_hand_waits_for_the_first_frame_and_then_opens_no_faster_than_its_motors(hand: str):
    spec = hands.load(hand)
    closed_rad = 0.5 * (spec.open_rad + spec.closed_rad)
    log = make_log(("spread",))
    frames = [*[None] * 5, *itertools.islice(log, 60)]
    sent: list[np.ndarray] = []
    retargeter = Retargeter(spec)
    steps = teleoperate(frames, retargeter, lambda a, _: sent.append(a.command.target_rad), measured_rad=closed_rad)
    assert [step.answer.following.name for step in itertools.islice(steps, 5)] == ["WAITING"] * 5
    assert not sent
    list(steps)
    most_rad = spec.top_speed_rad_s * 1.05 * np.diff(log.stamp_s[:60]).max()
    moved_rad = np.abs(np.diff([closed_rad, *sent], axis=0))
    assert np.all(moved_rad <= most_rad + 1e-9), (moved_rad / most_rad).max()
    assert np.abs(sent[-1] - closed_rad).max() > 0.3  # it does go


def test_plain_points_of_any_tracker_drive_a_hand():
    ours, plain = Retargeter("shadow_right"), Retargeter("shadow_right")
    turn = np.linalg.qr(np.random.default_rng(2).normal(size=(3, 3)))[0]
    turn *= np.sign(np.linalg.det(turn))
    for frame in make_log(("fist",)):
        got = plain(frame.position_m @ turn.T + np.array([0.4, 0.1, 1.2]), frame.stamp_s, side="right")
        assert np.abs(got.joint_rad - ours(frame).joint_rad).max() < 1e-6
    with pytest.raises(ThenarError, match=r"\(21, 3\), \(25, 3\) or \(26, 3\)"):
        plain(np.zeros((20, 3)), 1.0)
    with pytest.raises(ThenarError, match="the time of the points"):
        plain(np.zeros((21, 3)))


def test_a_live_glove_drives_a_served_twin_over_dds_and_its_silence_opens_the_hand(domain: int):
    port = free_port()
    options = ["--hand", "inspire_right", "--wire", "inspire", "--domain", str(domain), "--port", str(port), "--json"]
    with serve("inspire_right", wires=("inspire",), scene="empty", domain=domain) as twin:
        command = [sys.executable, "-m", "thenar.cli", "teleop", "live", *options]
        teleop = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        sender = GloveSender(port=port)

        def fingers_rad() -> np.ndarray:
            return twin.run_on_loop(lambda world: world.state("inspire_right")).angle_rad[:4]

        def closed() -> bool:
            sender.send(FIST)
            time.sleep(1 / 60)
            return fingers_rad().min() > 1.0

        assert wait_for(closed, 90.0)  # it may have to compile first
        sender.close()
        assert wait_for(lambda: fingers_rad().max() < 0.1, 30.0)
        teleop.send_signal(signal.SIGINT)  # as Ctrl-C does
        told = json.loads(teleop.communicate(timeout=20)[0])
    assert "following" in told["following"][:2]  # it may have waited before
    assert told["following"][-2:] == ["holding: the glove is silent", "opening: the glove has been silent for long"]
    assert max(told["angle_rad"][:4]) < 0.15  # what the hand itself reports


def test_a_live_glove_drives_a_twin_of_its_own(capsys):
    port, stop, log = free_port(), threading.Event(), make_log(("fist",))

    def play() -> None:
        sender = GloveSender(port=port)
        for frame in itertools.cycle(log):
            if stop.wait(1 / 60):
                break
            sender.send(frame)
        sender.close()

    player = threading.Thread(target=play)
    player.start()
    try:
        main(["teleop", "live", "--hand", "inspire_right", "--port", str(port), "--duration", "2.5", "--json"])
    finally:
        stop.set()
        player.join()
    assert json.loads(capsys.readouterr().out)["frames"] > 10


def test_a_hand_that_is_not_there_is_told_of(domain: int):
    with pytest.raises((SystemExit, ThenarError)):
        main(["teleop", "live", "--hand", "inspire_right", "--wire", "inspire", "--domain", str(domain), "--json"])


def peer(domain: int, *words: str) -> subprocess.Popen[str]:
    command = [sys.executable, str(PEERS / "follow_cyclone.py"), str(domain), *words]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=quiet_environment())


def publish_until_done(domain: int, listener: subprocess.Popen[str], joint_rad, finger_m) -> str:
    """What a listening program printed, while a node publishes."""
    with FollowNode(SHADOW, domain=domain) as node:
        until_s = time.monotonic() + 40.0
        while listener.poll() is None and time.monotonic() < until_s:
            node.publish(joint_rad, finger_m)
            time.sleep(0.02)
    out, _ = listener.communicate(timeout=10)
    assert listener.returncode == 0
    return out.splitlines()[-1]


def test_a_cyclone_program_reads_joint_states_and_markers_by_ros_2s_definitions(domain: int):
    joint_rad = np.arange(24) / 100
    heard = json.loads(publish_until_done(domain, peer(domain, "hear"), joint_rad, FIST.finger_m))
    assert heard["name"] == (
        [f"rh_THJ{n}" for n in (5, 4, 3, 2, 1)]
        + [f"rh_{finger}J{n}" for finger in ("FF", "MF", "RF") for n in (4, 3, 2, 1)]
        + [f"rh_LFJ{n}" for n in (5, 4, 3, 2, 1)]
        + ["rh_WRJ1", "rh_WRJ2"]
    )
    by_name = dict(zip(heard["name"], heard["position"], strict=True))
    assert all(by_name[f"rh_{name}"] == angle for name, angle in zip(SHADOW.joint_names, joint_rad, strict=True))
    assert heard["frames"] == ["manus"]
    assert heard["kinds"] == [[2, 0]]  # spheres, added
    assert heard["ids"] == list(range(20))
    assert heard["sizes"] == [0.01]
    assert heard["turns"] == [1.0]
    np.testing.assert_array_equal(heard["points"], FIST.finger_m[1:])


def test_a_fast_dds_program_hears_joint_states(domain: int):
    program = [str(fast2_program()), "script", str(domain), "0", "30"]
    listener = subprocess.Popen(program, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert listener.stdin is not None
    listener.stdin.write("hear rt/joint_states sensor_msgs::msg::dds_::JointState_\n")
    listener.stdin.close()
    listener.stdin = None  # it ends when it has heard
    joint_rad = np.arange(24) / 100
    out = publish_until_done(domain, listener, joint_rad, FIST.finger_m)
    state = decode_joint_state(bytes.fromhex(out.split()[1]))
    assert len(state.name) == 24
    index = state.name.index("rh_FFJ3")
    assert np.asarray(state.position)[index] == joint_rad[SHADOW.joint_names.index("FFJ3")]


def test_a_manus_glove_of_another_program_drives_a_twin(domain: int, tmp_path: Path, capsys):
    log, file = make_log(("fist",), layout="manus25"), tmp_path / "fist.npz"
    np.savez(file, position_m=log.position_m[60:80], quat_wxyz=log.quat_wxyz[60:80])
    glove = peer(domain, "glove", str(file))
    try:
        main(["teleop", "manus", "--hand", "inspire_right", "--domain", str(domain), "--duration", "6", "--json"])
    finally:
        glove.kill()
        glove.wait()
    told = json.loads(capsys.readouterr().out)
    assert told["frames"] > 30
    assert min(told["angle_rad"][:4]) > 0.8
