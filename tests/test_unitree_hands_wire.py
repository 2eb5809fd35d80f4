"""Messages of Dex3-1, Dex1-1 and BrainCo hands, what they refuse, and the maker's own SDK on a BrainCo's serial line.

Clients like xr_teleoperate's drive them on a G1: `test_g1_hands`.
"""

import json
import math
import os
import select
import struct
import subprocess
import sys
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path

import mujoco
import numpy as np
import pytest
from patience import wait_for
from peer_env import PEERS, quiet_environment

import thenar
from thenar import HandCommand, hands
from thenar.errors import BadValue, UnknownName
from thenar.signals import HandState
from thenar.twin.live_twin import LiveTwin
from thenar.twin.serving import serve
from thenar.wire.codecs.registers.rs485_frames import rtu_frame
from thenar.wire.codecs.serial_bus import revo2_registers
from thenar.wire.codecs.unitree import brainco_codec, dex1_codec, dex3_codec, unitree_go, unitree_hg
from thenar.wire.links.registry import PROTOCOLS, LinkContext
from thenar.wire.links.serial_bus.revo2_link import Revo2Serial
from thenar.wire.rtps import Participant
from thenar.wire.wire_config import BraincoOptions, Revo2Options, WireConfig

SDK_PEER = PEERS / "revo2_sdk_client.py"
LEFT, RIGHT = hands.load("dex3_left"), hands.load("dex3_right")


def state_of(twin: LiveTwin, hand: str) -> HandState:
    return twin.run_on_loop(lambda world: world.state(hand))


def motor_cmds(**fields: float | np.ndarray) -> np.ndarray:
    motors = np.zeros(7, unitree_hg.MOTOR_CMD)
    motors["mode"] = np.arange(7) | 0x10
    for name, value in fields.items():
        motors[name] = value
    return motors


def test_a_dex3_in_its_rest_position_never_reports_exact_zeros():
    world = thenar.World("dex3_right", profile="ideal")
    state = world.state("dex3_right")
    assert (state.angle_rad == 0.0).any()
    message = dex3_codec.state_message(RIGHT, state, dex3_codec.press_counts(RIGHT, None))
    assert len(message) == 1428
    assert (unitree_hg.decode_hand_state(message).motor_state["q"] != 0.0).all()


def test_the_right_palm_counts_its_modules_from_the_other_side():
    names = [[pad.name for pad in spec.pads] for spec in (LEFT, RIGHT)]
    fingers = [f"{finger}_{part}" for finger in ("thumb", "middle", "index") for part in ("base", "tip")]
    assert names[0][:6] == names[1][:6] == fingers
    assert names[0][6:] == names[1][:5:-1] == ["palm_index", "palm_centre", "palm_middle"]


def test_commands_that_make_no_sense_move_no_motor_and_say_why():
    for motors, reason in (
        (motor_cmds(q=np.nan), "no numbers"),
        (motor_cmds(kp=-1.0), "negative gain"),
        (motor_cmds(mode=0x10), "names another"),
        (motor_cmds()[:5], "5 motors"),
    ):
        command, _, refused = dex3_codec.command_of(LEFT, motors)
        assert reason in refused[0]
        assert command is None or np.isnan(command.target_rad[1:]).all()
    command, forgets, refused = dex3_codec.command_of(LEFT, motor_cmds(mode=np.arange(7), q=0.5))  # locked
    assert (command, forgets, refused) == (None, False, [])


def test_a_command_with_the_timeout_bit_is_forgotten_after_a_second(domain: int):
    with (
        serve("dex3_left", wires=("dex3",), scene="empty", domain=domain, profile="ideal") as twin,
        Participant(domain, name="client", interface="lo") as client,
    ):
        writer = client.advertise("rt/dex3/left/cmd", unitree_hg.HAND_CMD_TYPE)
        assert wait_for(lambda: bool(writer.readers))
        motors = motor_cmds(kp=1.5, kd=0.2, q=-1.0)
        motors["mode"] |= dex3_codec.LETS_GO
        writer.post(unitree_hg.encode_hand_cmd(motors)[4:])
        assert wait_for(lambda: abs(state_of(twin, "dex3_left").angle_rad[5] + 1.0) < 0.1)
        assert wait_for(lambda: np.all(state_of(twin, "dex3_left").torque_nm == 0.0), 5.0)


@pytest.mark.parametrize(
    ("wire", "side", "asked", "other"),
    [
        ("dex3", "left", [0.0, 0.3, 0.4, -0.5, -0.5, -0.5, -0.5], "right"),
        ("dex1", "right", [3.0], "left"),
        ("brainco", "left", [0.0, 0.0, 0.5, 0.5, 0.5, 0.5], "right"),
    ],
)
def test_a_client_that_waits_for_both_hands_is_released_by_one_of_them(
    wire: str, side: str, asked: list[float], other: str, domain: int
):
    """The hand that is not there reads as one at rest, whatever it is told."""
    line = [sys.executable, str(PEERS / "unitree_hands_client.py"), wire, str(domain), "1.5"]
    with serve(f"{wire}_{side}", wires=(wire,), scene="empty", domain=domain, profile="ideal") as twin:
        done = subprocess.run(
            [*line, json.dumps({side: asked, other: asked})],
            capture_output=True, text=True, check=True, timeout=60, env=quiet_environment(),
        )  # fmt: skip
        (dds,) = (link for link in twin.health().links if link.wire == wire)
    heard = json.loads(done.stdout.splitlines()[-1])
    assert heard["waited_s"] < 2.0
    np.testing.assert_allclose(heard[side]["q"], asked, atol=0.1)
    spec = hands.load(f"{wire}_{other}")
    open_q = {"dex3": spec.open_rad, "dex1": spec.open_rad - spec.closed_rad, "brainco": np.zeros(6)}[wire]
    np.testing.assert_allclose(heard[other]["q"], open_q, atol=1e-4)
    assert f"no {other} hand" in dds.where


@pytest.mark.parametrize("wire", ["brainco", "revo2"])
def test_a_hand_of_no_side_is_refused_where_only_sides_tell_hands_apart(wire: str, domain: int):
    nobody = replace(hands.load("brainco_right"), side="none")
    with ExitStack() as opened:
        context = LinkContext(hands=[nobody], config=WireConfig(domain=domain), opened=opened)
        with pytest.raises(BadValue, match="at most one left and one right"):
            PROTOCOLS[wire].open(context)


def test_dex1_commands_that_make_no_sense_are_refused():
    spec = hands.load("dex1_left")
    for fields, reason in (({"q": np.nan}, "no numbers"), ({"kp": -1.0}, "negative")):
        motors = np.zeros(1, unitree_go.MOTOR_CMD)
        for name, value in fields.items():
            motors[name] = value
        assert reason in dex1_codec.command_of(spec, motors)[1]


def test_the_order_of_xr_teleoperate_turns_the_thumb_where_it_means_to():
    spec = hands.load("brainco_right")
    world = thenar.World(spec, profile="ideal")
    order = np.array(brainco_codec.ORDERS["xr_teleoperate"])
    motors = np.zeros(6, unitree_go.MOTOR_CMD)
    motors["q"], motors["dq"] = [0.8, 0.1, 0.0, 0.0, 0.0, 0.0], 1.0
    command, wrong = brainco_codec.command_of(spec, motors, order)
    assert command is not None
    assert wrong == 0
    world.command(spec.name, command)
    world.advance(1.0)
    state = world.state(spec.name)
    assert state.angle_rad[1] == pytest.approx(0.8 * 1.57, abs=0.03)
    told = unitree_go.decode_motors(brainco_codec.state_message(spec, state, order), unitree_go.MOTOR_STATE)
    np.testing.assert_allclose(told["q"], motors["q"], atol=0.02)
    with pytest.raises(UnknownName, match="xr_teleoperate"):
        serve(spec.name, wires=("brainco",), brainco=BraincoOptions(order="backwards"))


def test_the_speed_of_a_brainco_command_is_obeyed_and_its_current_told():
    spec = hands.load("brainco_left")
    world = thenar.World(spec, profile="ideal")
    motors = np.zeros(6, unitree_go.MOTOR_CMD)
    motors["q"], motors["dq"] = [0.0, 0.0, 2.0, np.nan, 0.5, 0.5], 0.25
    command, wrong = brainco_codec.command_of(spec, motors, np.arange(6))
    assert command is not None
    assert wrong == 2  # one too much, one no number
    world.command(spec.name, command)
    world.advance(0.5)
    state = world.state(spec.name)
    np.testing.assert_allclose(state.angle_rad[[2, 3, 4]], [0.5 * 0.25 * 2.2685, 0.0, 0.5 * 0.25 * 2.2685], atol=0.03)
    world.command(spec.name, HandCommand.closing(1.0))
    world.advance(2.0)  # the thumb is in the way of nothing; the fingers meet the palm
    assert brainco_codec.currents_a(spec, world.state(spec.name)).max() <= 1.0


def test_a_fingertip_that_comes_near_counts_up_before_it_touches_and_one_that_is_off_does_not():
    spec = hands.load("brainco_right")
    pad = spec.pads[1]
    ball = thenar.Sphere(name="ball", radius_m=0.01, fixed=True, pos_m=(1.0, 0.0, 0.0))
    world = thenar.World(spec, props=[ball], profile="ideal")
    words = revo2_registers.power_on(spec)
    body, ball_id = world.data.body(f"{spec.name}/{pad.link}"), world.model.body("ball").id
    R, seen = body.xmat.reshape(3, 3), []
    for far_m in (0.03, 0.015, 0.005):
        place = np.asarray(pad.centre_m) + (0.01 + far_m) * np.asarray(pad.normal)
        world.model.body_pos[ball_id] = body.xpos + R @ place
        mujoco.mj_forward(world.model, world.data)
        revo2_registers.store_touch(words, spec, world.touch(spec.name))
        high, low = words[4217:4219]
        one = words[4250 + 6 + 3 : 4250 + 6 + 5].astype(">u2").tobytes()
        assert int.from_bytes(one, "little") == low
        assert high == words[4250 + 6] == 0  # no force either
        seen.append(int(low))
    np.testing.assert_allclose(seen, [0, 250, 750], atol=15)
    words[4001] = 0
    revo2_registers.store_touch(words, spec, world.touch(spec.name))
    assert words[4217:4219].tolist() == [0, 0]


def test_current_limits_of_some_motors_are_obeyed_however_they_are_written():
    spec = hands.load("brainco_right")
    words = revo2_registers.power_on(spec)
    first, full_n = revo2_registers.PROTECTED_MA, revo2_registers.full_force_n(spec)

    def limits_n(address: int, written: list[int]) -> list[float]:
        found = revo2_registers.command_of(spec, words, address, np.array(written, np.uint16), spec.open_rad)
        assert found is not None
        assert np.isnan([found.target_rad, found.speed_rad_s]).all()
        return (found.force_limit_n / full_n).tolist()

    nan, half_ma = math.nan, round(500 * revo2_registers.FULL_CURRENT_A)
    np.testing.assert_allclose(limits_n(first, [half_ma] * 6), [0.5] * 6)
    np.testing.assert_allclose(limits_n(first + 2, [half_ma]), [nan, nan, 0.5, nan, nan, nan])
    np.testing.assert_allclose(limits_n(first - 5, [9] * 5 + [half_ma] * 2), [0.5, 0.5, nan, nan, nan, nan])
    assert revo2_registers.command_of(spec, words, first + 6, np.array([1], np.uint16), spec.open_rad) is None


def test_requests_that_wait_on_a_brainco_line_are_all_answered():
    """Together they are longer than any frame; what is no frame ends with silence and spoils nothing after it."""
    spec = hands.load("brainco_right")
    status = rtu_frame(0x7F, struct.pack(">BHH", 3, revo2_registers.STATUS, 1))
    with ExitStack() as opened:
        link = Revo2Serial(LinkContext(hands=[spec], config=WireConfig(), opened=opened))
        opened.callback(link.close)
        port = os.open(link.health().where.split()[0], os.O_RDWR | os.O_NOCTTY)
        opened.callback(os.close, port)

        def answers(count: int) -> list[bytes]:
            come = b""
            while len(come) < 7 * count and select.select([port], [], [], 2.0)[0]:
                come += os.read(port, 4096)
            return [come[at : at + 7] for at in range(0, len(come), 7)]

        os.write(port, 40 * status)
        assert answers(40) == 40 * [rtu_frame(0x7F, struct.pack(">BBH", 3, 2, 0))]
        assert link.health().refused == {}
        os.write(port, status[:5])
        assert wait_for(lambda: bool(link.health().refused))
        os.write(port, status)
        assert len(answers(1)) == 1
        assert sum(link.health().refused.values()) == 1


def test_the_makers_sdk_opens_the_serial_line_of_a_brainco_hand_moves_it_and_feels(tmp_path: Path):
    """`bc-stark-sdk` from PyPI, unchanged; a rod lies in the hand."""
    rod = thenar.Cylinder(
        name="rod",
        radius_m=0.018,
        length_m=0.12,
        pos_m=(0.0, 0.045, 0.03),
        rpy_rad=(0.0, math.pi / 2, 0.0),
        fixed=True,
    )
    port = tmp_path / "revo2"
    with serve(
        "brainco_right",
        wires=("revo2",),
        scene="empty",
        props=[rod],
        profile="ideal",
        revo2=Revo2Options(port=str(port)),
    ) as twin:
        done = subprocess.run(
            [sys.executable, str(SDK_PEER), str(port), "0x7F"],
            capture_output=True, text=True, check=False, timeout=60, env=quiet_environment(),
        )  # fmt: skip
        refused = twin.health().links[0].refused
    assert done.returncode == 0, done.stderr
    heard = json.loads(done.stdout.splitlines()[-1])
    assert heard["firmware"] == "1.0.14.U"
    assert heard["serial"].startswith("BCXTR")
    assert "Revo2Touch" in heard["hardware"]
    assert "MediumRight" in heard["sku"]
    np.testing.assert_allclose(heard["apart"]["positions"], [50, 100, 150, 200, 120, 80], atol=15)
    np.testing.assert_allclose(heard["open"]["positions"], 0, atol=15)
    assert heard["closed"]["states"][2:] == [2, 2, 2, 2]  # stalled on the rod
    assert min(heard["closed"]["currents"][2:]) > 900
    normal, shear, direction, status = np.array(heard["touch"]).T
    assert normal[1:].min() > 500
    assert (status == 0).all()
    assert ((direction < 360) | (direction == 0xFFFF)).all()
    assert (shear <= normal + 1).all()
    assert max(heard["far"]) < 500  # the rod is far from the open fingers
    assert heard["near"][1:] == [1000] * 4
    assert heard["near_one"] == 1000
    assert heard["index"][2] == pytest.approx(100, abs=15)
    assert refused == {}
