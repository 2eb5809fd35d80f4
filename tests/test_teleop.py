"""A glove drives a hand while it happens: a twin here, a served one over DDS, and programs of ROS 2 beside it."""

import contextlib
import itertools
import json
import signal
import subprocess
import sys
import threading
import time
import xml.etree.ElementTree as ElementTree
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from patience import free_domain, free_port, wait_for
from peer_env import PEERS, fast2_program, quiet_environment

import thenar
from thenar import hands
from thenar.cli import main
from thenar.errors import HandLost, ThenarError
from thenar.glove.glove_socket import GloveReceiver, GloveSender
from thenar.glove.make import make_log
from thenar.hands.rotations import matrix_about, matrix_from_quat_wxyz
from thenar.retarget.retargeter import Following, Retargeted, Retargeter
from thenar.twin import teleoperation
from thenar.twin.serving import serve
from thenar.twin.teleoperation import DrivenHand, drive, teleoperate
from thenar.wire.clients.ros2_follower import FollowNode
from thenar.wire.codecs.tienkung_codec import decode_joint_state

FIST = make_log(("fist",))[70]  # closed
SHADOW = hands.load("shadow_right")
PALM_M, GLOVE_R = np.array([0.0, -0.01, 0.247]), matrix_about((1.0, 2.0, 3.0), 0.4)


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
    with pytest.raises(ThenarError, match=r"\(21, 3\), \(25, 3\), \(26, 3\) or \(27, 3\)"):
        plain(np.zeros((20, 3)), 1.0)
    with pytest.raises(ThenarError, match="the time of the points"):
        plain(np.zeros((21, 3)))


@contextlib.contextmanager
def live_teleoperation(options: Sequence[str]) -> Iterator[subprocess.Popen[str]]:
    """``thenar teleop live`` as a program of its own, gone at the end whatever happens."""
    command = [sys.executable, "-m", "thenar.cli", "teleop", "live", *options]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            yield process
        finally:
            process.kill()


def test_a_live_glove_drives_a_served_twin_over_dds_and_its_silence_opens_the_hand(domain: int):
    port = free_port()
    options = ["--hand", "inspire_right", "--wire", "inspire", "--domain", str(domain), "--port", str(port), "--json"]
    with (
        serve("inspire_right", wires=("inspire",), scene="empty", domain=domain) as twin,
        live_teleoperation(options) as teleop,
    ):
        sender = GloveSender(port=port)

        def fingers_rad() -> np.ndarray:
            return twin.run_on_loop(lambda world: world.state("inspire_right")).angle_rad[:4]

        def closed() -> bool:
            sender.send(FIST)
            time.sleep(1 / 60)
            return bool((fingers_rad() > [1.0, 1.0, 1.0, 0.7]).all())  # the thumb is in the way of the index finger

        assert wait_for(closed, 90.0)  # it may have to compile first
        sender.close()
        assert wait_for(lambda: fingers_rad().max() < 0.1, 30.0)
        teleop.send_signal(signal.SIGINT)  # as Ctrl-C does
        told = json.loads(teleop.communicate(timeout=20)[0])
    assert "following" in told["following"][:2]  # it may have waited before
    assert told["following"][-2:] == ["holding: the glove is silent", "opening: the glove has been silent for long"]
    assert max(told["angle_rad"][:4]) < 0.15  # what the hand itself reports


def test_a_live_glove_goes_on_with_a_hand_that_was_gone_meanwhile(domain: int):
    port, stop = free_port(), threading.Event()
    options = ["--hand", "inspire_right", "--wire", "inspire", "--domain", str(domain), "--port", str(port), "--json"]

    def close_it() -> None:
        sender = GloveSender(port=port)
        while not stop.wait(1 / 60):
            sender.send(FIST)
        sender.close()

    def closes(twin: thenar.LiveTwin) -> bool:
        return wait_for(lambda: twin.run_on_loop(lambda world: world.state("inspire_right")).angle_rad[2] > 0.8, 90.0)

    glove = threading.Thread(target=close_it)
    glove.start()
    with live_teleoperation(options) as teleop:
        try:
            with serve("inspire_right", wires=("inspire",), scene="empty", domain=domain) as twin:
                assert closes(twin)
            time.sleep(1.0)  # longer than teleoperation has patience for
            with serve("inspire_right", wires=("inspire",), scene="empty", domain=domain) as twin:
                assert closes(twin)
                teleop.send_signal(signal.SIGINT)
                told = json.loads(teleop.communicate(timeout=20)[0])
        finally:
            stop.set()
            glove.join()
    assert teleop.returncode == 0
    # It may have waited for the next frame, and on a busy machine the glove may have been late for a moment.
    doing = [what for what in told["following"] if not what.startswith(("waiting", "holding"))]
    doing = [what for what, before in zip(doing, [None, *doing], strict=False) if what != before]
    assert doing[-3:] == ["following", "lost", "following"]


def test_a_lost_hand_does_not_stop_the_other_one_and_goes_on_from_where_it_is(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(teleoperation, "LOOK_EVERY_S", 0.0)
    specs = {side: hands.load(f"inspire_{side}") for side in ("left", "right")}
    halfway_rad = 0.5 * (specs["left"].open_rad + specs["left"].closed_rad)
    sent: dict[str, list[np.ndarray]] = {"left": [], "right": []}
    gone = set[str]()

    def sink(side: str) -> teleoperation.Sink:
        def take(answer: Retargeted, _: object) -> None:
            if side in gone:
                raise HandLost("nobody listens")
            sent[side].append(answer.command.target_rad)

        return take

    def regain() -> np.ndarray:
        if "left" in gone:
            raise HandLost("nobody publishes")
        return halfway_rad

    driven = [
        DrivenHand(retargeter=Retargeter(spec), sinks=(sink(side),), regain=regain) for side, spec in specs.items()
    ]
    logs = make_log(("open",), side="left"), make_log(("open",))
    frames = [frame for pair in zip(*(itertools.islice(log, 40) for log in logs), strict=True) for frame in pair]
    lost, heard_meanwhile = list[str](), 0
    for number, step in enumerate(drive(frames, driven)):
        if number == 20:
            gone.add("left")
        if number == 50:
            heard_meanwhile = len(sent["right"])
            gone.clear()
        lost.append(step.lost)
    assert heard_meanwhile > 20
    assert {"", "nobody listens", "nobody publishes"} == set(lost)
    assert lost[-1] == ""
    most_rad = specs["left"].top_speed_rad_s * 1.05 * np.diff(logs[0].stamp_s[:40]).max()
    assert np.all(np.abs(sent["left"][10] - halfway_rad) <= most_rad)  # not from where it was commanded last


def test_a_hand_that_cannot_be_asked_ends_teleoperation_when_it_is_lost():
    def sink(*_: object) -> None:
        raise HandLost("nobody listens")

    with pytest.raises(HandLost):
        list(teleoperate(make_log(("open",)), Retargeter("inspire_right"), sink))


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
    with FollowNode(SHADOW, glove_m=PALM_M, glove_R=GLOVE_R, domain=domain) as node:
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
    urdf = ElementTree.fromstring(thenar.export_hand(SHADOW))
    assert sorted(heard["name"]) == sorted(
        joint.get("name", "")
        for joint in urdf.findall("joint")
        if joint.get("type") != "fixed"  # pads hang on those
    )
    by_name = dict(zip(heard["name"], heard["position"], strict=True))
    assert all(by_name[name] == angle for name, angle in zip(SHADOW.joint_names, joint_rad, strict=True))
    children = {child.get("link") for child in urdf.findall("joint/child")}
    roots = [link.get("name") for link in urdf.findall("link") if link.get("name") not in children]
    assert heard["glove"] == [*roots, "manus"]  # RViz can place the skeleton in the exported hand
    np.testing.assert_allclose(heard["glove_m"], PALM_M)
    np.testing.assert_allclose(matrix_from_quat_wxyz(np.array(heard["glove_wxyz"])), GLOVE_R, atol=1e-12)
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
    index = state.name.index("FFJ3")
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


@pytest.fixture(scope="module")
def both_hands() -> Iterator[list[str]]:
    """Both Inspire hands on every wire, as options of the command line."""
    domain, port = free_domain(), free_port()
    options = thenar.ModbusOptions(host=("127.0.0.1", "127.0.0.2"), port=port)
    wires = ("inspire", "dfx", "modbus", "tienkung")
    pair = ("inspire_left", "inspire_right")
    with serve(pair, wires=wires, scene="empty", domain=domain, modbus=options):
        yield ["--domain", str(domain), "--modbus", f"127.0.0.1:{port},127.0.0.2:{port}"]


@pytest.mark.parametrize(
    ("wire", "pointing"), [("inspire", "right"), ("dfx", "left"), ("modbus", "right"), ("tienkung", "left")]
)
def test_two_gloves_drive_both_hands_of_a_robot_over_any_wire(
    wire: str, pointing: str, both_hands: list[str], tmp_path: Path, capsys
):
    """A hand that pointed in the test before closes now, so nothing is seen of a wire that does nothing."""
    logs = [str(tmp_path / f"{side}.csv") for side in ("left", "right")]
    for log, side in zip(logs, ("left", "right"), strict=True):
        main(["glove", "make", log, "--gestures", "point" if side == pointing else "fist", "--side", side])
    capsys.readouterr()
    pair = ["--hand", "inspire_left,inspire_right", "--wire", wire]
    main(["teleop", ",".join(logs), *pair, *both_hands, "--duration", "1.3", "--json"])
    told = json.loads(capsys.readouterr().out)
    for side in ("left", "right"):
        middle_rad, index_rad = told[f"inspire_{side}"]["angle_rad"][2:4]
        assert middle_rad > 0.6
        assert (index_rad < 0.3) if side == pointing else (index_rad > 0.6)


def test_both_gloves_reach_one_socket_and_neither_waits_for_the_other():
    right, left = make_log(("fist",)), make_log(("spread",), side="left")
    with GloveReceiver(port=0) as receiver:
        sender = GloveSender(port=receiver.port)
        for frame in (right[0], right[1], left[0], right[2], left[1]):
            sender.send(frame)
        heard = [receiver.wait(1.0), receiver.wait(1.0)]
        assert receiver.wait(0.01) is None
        sender.close()
    assert {(f.side, round(f.stamp_s, 4)) for f in heard if f} == {
        ("right", round(right[2].stamp_s, 4)),
        ("left", round(left[1].stamp_s, 4)),
    }


def test_a_hand_opens_when_its_own_glove_is_silent_though_the_other_one_goes_on():
    driven = [DrivenHand(retargeter=Retargeter(f"inspire_{side}"), sinks=()) for side in ("left", "right")]
    left, right = make_log(("fist",), side="left"), make_log(("open",))
    frames = [replace(left[70], stamp_s=0.0)]
    frames += [replace(right[0], stamp_s=0.02 * n) for n in range(1, 250)]
    last = {step.hand: step for step in drive(frames, driven)}
    assert last["inspire_left"].answer.following is Following.RELAXING
    assert last["inspire_right"].answer.following is Following.FOLLOWING


@pytest.mark.parametrize(("hand", "mirror"), [("reflex", False), ("inspire_right", True)])
def test_a_hand_that_either_glove_may_drive_keeps_to_the_one_it_heard_first(hand: str, mirror: bool):
    retargeter = Retargeter(hand, thenar.RetargetConfig(mirror=mirror))
    fist, spread = make_log(("fist",)), make_log(("spread",), side="left")
    frames = [frame for pair in zip(itertools.islice(fist, 71), spread, strict=False) for frame in pair]
    steps = list(teleoperate(frames, retargeter))
    alone = list(teleoperate(itertools.islice(fist, 71), Retargeter(hand, retargeter.config)))
    assert {step.frame.side for step in steps if step.frame is not None} == {"right"}
    np.testing.assert_allclose(steps[-1].answer.joint_rad, alone[-1].answer.joint_rad, atol=1e-9)


def test_of_two_gloves_the_other_sides_drives_a_mirrored_hand_and_refusals_are_told_beside_the_json(capfd):
    port, stop, gloves = free_port(), threading.Event(), [make_log(("fist",), side=s)[70] for s in ("right", "left")]

    def play() -> None:
        sender = GloveSender(port=port)
        while not stop.wait(1 / 60):
            for frame in gloves:
                sender.send(frame)
        sender.close()

    player = threading.Thread(target=play)
    player.start()
    try:
        main(["teleop", "live", "--port", str(port), "--mirror", "--duration", "2.5", "--json"])
    finally:
        stop.set()
        player.join()
    told = capfd.readouterr()
    assert json.loads(told.out)["frames"] > 10
    assert "side is 'right'; wanted left, whose glove drives the hand" in " ".join(told.err.split())


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (["--hand", "inspire_left,inspire_left"], "a left and a right one"),
        (["--hand", "inspire_left,inspire_right"], "2 recordings"),
        (["--hand", "shadow_right", "--wire", "dfx"], "none for shadow_right"),
        (["--map", "1.7,1.4"], "1, 3 or 9 numbers"),
        (["--map", "nothing.json"], "cannot be read"),
    ],
)
def test_what_cannot_be_driven_is_refused(words: list[str], why: str, tmp_path: Path, capsys):
    log = str(tmp_path / "person.csv")
    main(["glove", "make", log, "--gestures", "open"])
    with pytest.raises((SystemExit, ThenarError)) as refused:
        main(["teleop", log, *words, "--json"])
    assert why in str(refused.value) + capsys.readouterr().err


def xr_step(controller: thenar.XrHandRetargeting, left_m: np.ndarray, right_m: np.ndarray) -> list[np.ndarray]:
    """What xr_teleoperate's Inspire controller does with a frame: both hands as 0 closed to 1 open."""
    both = []
    for side, hand_m in (("left", left_m), ("right", right_m)):
        indices = getattr(controller, f"{side}_indices")
        ref = hand_m[indices[1, :]] - hand_m[indices[0, :]]
        order = getattr(controller, f"{side}_dex_retargeting_to_hardware")
        q = getattr(controller, f"{side}_retargeting").retarget(ref)[order]
        ends = [(0.0, 1.7)] * 4 + [(0.0, 0.5), (-0.1, 1.3)]
        both.append(np.array([np.clip((b - x) / (b - a), 0.0, 1.0) for x, (a, b) in zip(q, ends, strict=True)]))
    return both


def test_xr_teleoperates_controller_drives_hands_with_it_in_the_place_of_its_own_retargeting():
    controller = thenar.XrHandRetargeting()
    turn, away_m = matrix_about((1.0, 0.3, -0.5), 2.0), np.array([0.2, 1.1, -0.4])
    opened = make_log(("open",), layout="manus25", side="left")[0].position_m @ turn.T + away_m
    fist = make_log(("fist",), layout="manus25")[70].position_m @ turn.T + away_m
    left, right = xr_step(controller, opened, fist)
    assert left.shape == right.shape == (6,)
    assert left[:4].min() > 0.9
    assert right[:4].max() < 0.3
    again = xr_step(controller, opened, np.zeros((25, 3)))[1]  # nothing that could be a hand: it stays
    np.testing.assert_allclose(again, right)
    assert sum(controller.right_retargeting.refused.values()) == 1
    shadow = thenar.XrHandRetargeting("shadow_left", "shadow_right", right_joints=["FFJ3", "THJ4"])
    assert shadow.right_retargeting.retarget(fist - fist[0]).shape == (2,)
    with pytest.raises(ThenarError, match="FFJ9"):
        thenar.XrHandRetargeting("shadow_left", "shadow_right", right_joints=["FFJ9"])
