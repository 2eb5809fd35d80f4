"""Hands on a G1, driven over DDS as xr_teleoperate's controllers do: they close and feel while the arms are driven."""

import json
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
from peer_env import PEERS, quiet_environment

import thenar
from thenar import hands
from thenar.recordings.unitree import read_unitree
from thenar.sim.props import Prop
from thenar.twin.body.g1_twin import G1Config, LiveG1, build_g1, serve_g1
from thenar.twin.recording.convert import convert
from thenar.wire.codecs.unitree import brainco_codec

LEFT_PALM_M = {
    "inspire": (0.361, 0.136),
    "inspire_dfx": (0.341, 0.129),
    "dex3": (0.293, 0.133),
    "brainco": (0.311, 0.137),
}
"""Where the palm of the left hand is with its arm at 0: ahead and to the left [m]; 0.888 m high, facing inwards."""


class Heard(NamedTuple):
    """What two clients heard, one of the hands and one of the arms."""

    hands: dict[str, Any]
    arms: dict[str, Any]


def rod(hand: str, ahead_m: float, away_m: float, radius_m: float) -> Prop:
    """An upright rod before the left palm, ahead of its middle and away from its skin [m]."""
    x, y = LEFT_PALM_M[hand]
    return thenar.Cylinder(
        name="rod", radius_m=radius_m, length_m=0.2, pos_m=(x + ahead_m, y - away_m, 0.888), fixed=True
    )


def drive(twin: LiveG1, domain: int, kind: str, targets: Mapping[str, Sequence[float]], seconds: float = 1.2) -> Heard:
    """Close both hands while another client holds the left arm still and moves the right one."""

    def start(script: str, *words: object) -> "subprocess.Popen[str]":
        line = [sys.executable, str(PEERS / script), *map(str, words)]
        return subprocess.Popen(line, stdout=subprocess.PIPE, text=True, env=quiet_environment())

    peers = (
        start("unitree_hands_client.py", kind, domain, seconds, json.dumps(targets)),
        start("arm_controller.py", domain, seconds, "rt/lowcmd", "right"),
    )
    with twin:
        heard = Heard(*(json.loads(peer.communicate(timeout=60)[0].splitlines()[-1]) for peer in peers))
        refused = {why for link in twin.health().links for why in link.refused}
        assert {
            why for why in refused if not why.startswith("ACKNACK")
        } == set()  # one before its reader's announcement
    assert max(heard.hands["waited_s"], heard.arms["waited_s"]) < 1.0
    assert heard.arms["wrong_crc"] == 0
    moved = np.ptp(np.array(heard.arms["states"])[:, 1:], axis=0)
    assert moved[22] > 0.1
    assert moved[15:22].max() < 0.2  # the hand pulls itself towards the rod
    return heard


def test_dex3_hands_close_and_feel_a_rod(domain: int):
    """The left hand stops at the rod and pushes as the law says; its thumb's tip feels it. The right one is free."""
    closed = {"left": [0.0, 1.0, 1.7, -1.5, -1.7, -1.5, -1.7], "right": [0.0, 0.3, -0.4, 0.5, 0.6, 0.7, 0.8]}
    twin = serve_g1(G1Config(domain=domain, hands=("dex3",)), props=[rod("dex3", 0.0, 0.05, 0.02)])
    heard = drive(twin, domain, "dex3", closed).hands
    np.testing.assert_allclose(heard["right"]["q"], closed["right"], atol=0.05)  # 1.5 N m/rad sag under a finger
    error = np.array(closed["left"]) - heard["left"]["q"]
    assert np.abs(error[1:]).max() > 0.3
    asked_nm = 1.5 * error - 0.2 * np.array(heard["left"]["dq"])  # fingers may still slide along the rod
    np.testing.assert_allclose(heard["left"]["tau_est"], np.clip(asked_nm, -1.4, 1.4), atol=0.01)
    press = {side: np.array(heard[side]["press"]) for side in ("left", "right")}
    for counts in press.values():
        assert counts.shape == (9, 12)
        assert ((counts == 30000.0).sum(), (counts >= 100000.0).sum()) == (108 - 33, 33)
    assert press["left"][1].max() > 105000.0
    assert press["right"][press["right"] > 30000.0].max() < 101000.0


@pytest.mark.parametrize(("hand", "place"), [("inspire", (0.04, 0.032, 0.02)), ("brainco", (0.045, 0.03, 0.018))])
def test_nothing_is_compiled_or_loaded_while_hands_grasp_and_arms_move(hand: str, place: tuple[float, float, float]):
    (x_m, y_m), (ahead_m, away_m, radius_m) = LEFT_PALM_M[hand], place
    line = [sys.executable, str(PEERS / "first_loads.py"), hand, *map(str, (x_m + ahead_m, y_m - away_m, radius_m))]
    said = json.loads(subprocess.run(line, capture_output=True, text=True, check=True).stdout)
    assert said["loaded"] == []
    assert said["felt_n"] > 5.0


def test_brainco_hands_close_on_a_rod_in_the_order_of_the_hand(domain: int):
    asked = {"left": [0.0, 0.0, 1.0, 1.0, 1.0, 1.0], "right": [0.2, 0.6, 0.25, 0.25, 0.25, 0.25]}
    twin = serve_g1(G1Config(domain=domain, hands=("brainco",)), props=[rod("brainco", 0.045, 0.03, 0.018)])
    heard = drive(twin, domain, "brainco", asked).hands
    assert "thumb, thumb_aux" in twin.health().links[1].where
    np.testing.assert_allclose(heard["right"]["q"], asked["right"], atol=0.02)
    assert max(heard["left"]["q"][2:]) < 0.9  # the rod is in the way, and the motors say so by their current
    assert min(heard["left"]["tau_est"][2:]) > 5 * max(heard["right"]["tau_est"][2:])
    world, right = twin.world, hands.load("brainco_right")
    np.testing.assert_allclose(brainco_codec.fractions(right, world.state(right.name)), asked["right"], atol=0.02)
    assert world.touch("brainco_left").contact_n > 10.0  # the arm gives way, so it may all be beside the sensors
    assert world.touch("brainco_right").contact_n == 0.0


def test_dex1_grippers_open_and_close_on_a_block(domain: int):
    """A block of 40 mm between the fingers of the left one: they stop there and push as hard as they can."""
    block = thenar.Box(name="block", size_m=(0.02, 0.04, 0.02), pos_m=(0.2413 + 0.1138, 0.1487, 0.888), fixed=True)
    twin = serve_g1(G1Config(domain=domain, hands=("dex1",)), props=[block])
    heard = drive(twin, domain, "dex1", {"left": [0.0], "right": [5.0]}).hands
    assert heard["right"]["q"][0] == pytest.approx(5.0, abs=0.05)
    apart_m = 2 * (0.0239 - twin.world.state("dex1_left").joint_rad)
    np.testing.assert_allclose(apart_m, 0.04, atol=1e-3)
    assert heard["left"]["tau_est"][0] == pytest.approx(-40.0 * 0.044 / 5.4, abs=0.01)  # 20 N a finger


def test_inspire_hands_close_and_feel_a_rod(domain: int):
    angles = {"left": [0, 0, 0, 0, 1000, 1000], "right": [700, 700, 700, 700, 1000, 1000]}
    twin = serve_g1(G1Config(domain=domain, hands=("inspire",)), props=[rod("inspire", 0.04, 0.032, 0.02)])
    heard = drive(twin, domain, "inspire_ftp", angles).hands
    np.testing.assert_allclose(heard["right"]["q"], angles["right"], atol=25)
    assert min(heard["left"]["q"][:4]) > 100
    assert min(heard["left"]["force"][:4]) > 200  # grams
    assert heard["left"]["touch"] > 400  # counts of the taxel that is pressed most; about 85 at rest
    assert heard["right"]["touch"] < 150


def test_a_recording_becomes_an_episode_of_xr_teleoperate_with_arms_and_touch(tmp_path: Path):
    robot = build_g1(G1Config(hands=("inspire",)), props=[rod("inspire", 0.04, 0.032, 0.02)])
    q = np.zeros(29)
    q[25] = 0.3  # the right elbow
    with thenar.record(robot.body.world, tmp_path / "g1.mcap") as tape:
        tape.episode("close on the rod")
        robot.hold(q)
        robot.body.world.command("inspire_left", thenar.Closing(fraction=[1, 1, 1, 1, 0, 0]))
        robot.advance(0.8)
    convert([tmp_path / "g1.mcap"], tmp_path / "task", fps=30, format="unitree")
    frames = json.loads((tmp_path / "task/episode_0000/data.json").read_text())["data"]
    assert [len(frames[-1]["states"][part]["qpos"]) for part in ("left_arm", "right_arm", "left_ee")] == [7, 7, 6]
    assert frames[-1]["states"]["right_arm"]["qpos"][3] == pytest.approx(0.3, abs=0.05)
    assert frames[-1]["actions"]["right_arm"]["qpos"][3] == pytest.approx(0.3)
    felt = {side: max(frames[-1]["tactiles"][f"{side}_ee"]) for side in ("left", "right")}
    assert felt["left"] > 400
    assert felt["right"] < 150
    (back,) = read_unitree(tmp_path / "task")
    assert back.tactiles["left"].shape == (len(frames), 1062)
    np.testing.assert_array_equal(back.arms_rad["right"][-1], frames[-1]["states"]["right_arm"]["qpos"])
    np.testing.assert_array_equal(back.arm_targets_rad["left"][-1], frames[-1]["actions"]["left_arm"]["qpos"])


def test_inspire_hands_on_the_older_topics_close_and_push_on_a_rod(domain: int):
    asked = {"both": [0.7, 0.7, 0.7, 0.7, 1.0, 1.0, 0.0, 0.0, 0.0, 0.0, 1.0, 1.0]}
    twin = serve_g1(G1Config(domain=domain, hands=("inspire_dfx",)), props=[rod("inspire_dfx", 0.04, 0.032, 0.02)])
    both = drive(twin, domain, "inspire_dfx", asked).hands["both"]
    np.testing.assert_allclose(both["q"][:6], asked["both"][:6], atol=0.025)
    assert min(both["q"][6:10]) > 0.1
    assert np.abs(both["tau_est"][6:10]).min() > 3 * np.abs(both["tau_est"][:4]).max()
