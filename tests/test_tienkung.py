"""Tienkung's ROS 2 interface: bytes, semantics, and programs of every middleware against one running twin."""

import json
import random
import struct
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from patience import free_domain, wait_for
from peer_env import PEERS, fast2_program, peer_python, quiet_environment

import thenar
from tests.oracles import idl_types
from thenar import cdr, hands
from thenar.cdr import BadMessage
from thenar.errors import BadValue
from thenar.signals import HandCommand
from thenar.twin.live_twin import LiveTwin
from thenar.twin.serving import serve
from thenar.units import GRAM_FORCE_N
from thenar.wire.codecs import inspire_counts, tienkung_codec
from thenar.wire.codecs.inspire_counts import Scale
from thenar.wire.codecs.tienkung_codec import FINGER_IDS, JointState
from thenar.wire.rtps import Participant, ros
from thenar.wire.rtps.type_hash import type_hash

idl: Any = idl_types
RIGHT = hands.load("inspire_right")
SCALE = Scale.of(RIGHT)
BOTH = ("inspire_left", "inspire_right")


@pytest.fixture(scope="module")
def everyones() -> Iterator[tuple[LiveTwin, int]]:
    """One twin, for the programs of every middleware, and its domain."""
    domain = free_domain()
    with serve(BOTH, wires=("tienkung",), scene="empty", domain=domain) as twin:
        yield twin, domain


def theirs(message: JointState) -> bytes:
    """The same message by the DDS library's own encoder, without its header."""
    seconds = int(message.stamp_s)
    made = idl.JointState(
        header=idl.Header(stamp=idl.Time(sec=seconds, nanosec=0), frame_id=message.frame_id),
        name=list(message.name),
        position=np.asarray(message.position, dtype=float).tolist(),
        velocity=np.asarray(message.velocity, dtype=float).tolist(),
        effort=np.asarray(message.effort, dtype=float).tolist(),
    )
    return made.serialize()[4:]


@pytest.mark.parametrize(
    "message",
    [
        JointState(),
        JointState(
            frame_id="hand_left_link",
            name=FINGER_IDS,
            position=np.arange(6) / 10,
            velocity=np.ones(6),
            effort=[0.2] * 6,
        ),
        JointState(stamp_s=12.0, frame_id="abc", name=("6", "2"), position=[0.3, 0.4]),
        JointState(name=("a", "bc", "def"), effort=[1.0]),
    ],
)
def test_joint_states_equal_the_library_encoder_and_come_back(message: JointState):
    body = tienkung_codec.encode_joint_state(message)
    assert body == theirs(message)
    back = tienkung_codec.decode_joint_state(body)
    assert (back.stamp_s, back.frame_id, back.name) == (message.stamp_s, message.frame_id, message.name)
    np.testing.assert_array_equal(np.asarray(back.position), np.asarray(message.position, dtype=float))


def test_the_type_hash_is_the_one_ros_2_computes():
    # Ref: the hash that ROS 2 itself gives JointState.
    known = "RIHS01_a13ee3a330e346c9d87b5aa18d24e11690752bd33a0350f11c5882bc9179260e"
    assert type_hash(tienkung_codec.JOINT_STATE, tienkung_codec.TYPES) == known
    renamed = tienkung_codec.TYPES | {
        "std_msgs/msg/Header": {"stamp": "builtin_interfaces/msg/Time", "frame": "string"}
    }
    assert type_hash(tienkung_codec.JOINT_STATE, renamed) != known
    with pytest.raises(BadValue, match="float32"):
        type_hash("a/msg/B", {"a/msg/B": {"x": "floaty"}})


def test_names_decide_not_places():
    command, unknown, outside = tienkung_codec.command_by_name(SCALE, ("6", "2"), [0.25, 1.0])
    assert command is not None
    assert (unknown, outside) == (0, 0)
    given = dict(zip(RIGHT.actuator_names, command.target_rad, strict=True))
    assert [name for name, target in given.items() if not np.isnan(target)] == ["ring", "thumb_rotation"]
    assert given["ring"] == pytest.approx(RIGHT.open_rad[1])
    assert given["thumb_rotation"] == pytest.approx(0.75 * RIGHT.closed_rad[5] + 0.25 * RIGHT.open_rad[5])


def test_strange_names_and_ratios_are_counted_and_harmless():
    command, unknown, outside = tienkung_codec.command_by_name(SCALE, ("0", "7", "1", "3"), [0.0, 0.0, 1.5, np.nan])
    assert command is not None
    assert (unknown, outside) == (2, 2)
    assert np.isnan(command.target_rad).tolist() == [False, True, True, True, True, True]
    assert tienkung_codec.command_by_name(SCALE, ("9",), [0.0]) == (None, 1, 0)
    with pytest.raises(BadMessage, match="2 names and 1 positions"):
        tienkung_codec.command_by_name(SCALE, ("1", "2"), [0.0])


def test_force_and_speed_have_the_units_of_the_page():
    half = np.full(6, 0.5)
    np.testing.assert_allclose(tienkung_codec.force_command(SCALE, half).force_limit_n, 500 * GRAM_FORCE_N)
    speed = tienkung_codec.speed_command(SCALE, half).speed_rad_s
    np.testing.assert_allclose(np.abs(RIGHT.closed_rad - RIGHT.open_rad) / speed, 1.6)
    assert np.isnan(tienkung_codec.speed_command(SCALE, half).target_rad).all()


@pytest.mark.parametrize("bad", [-0.01, 1.01, np.nan, np.inf, 25.0])
def test_six_ratios_outside_their_range_are_no_request(bad: float):
    body = struct.pack("<6f", 0.1, 0.2, 0.3, bad, 0.5, 0.6)
    assert tienkung_codec.six_ratios(body) is None
    assert tienkung_codec.six_ratios(struct.pack("<6f", *[0.5] * 6)) is not None


@pytest.mark.filterwarnings("error")
def test_a_signalling_nan_is_no_request_and_no_complaint_either():
    assert tienkung_codec.six_ratios(bytes.fromhex("0100a07f") * 6) is None


def test_flexible_requests_come_back_and_bad_ones_say_why():
    body = tienkung_codec.encode_flexible_request(("3", "1"), [0.7, 0.5])
    names, ratios = tienkung_codec.flexible_request(body)
    assert names == ("3", "1")
    np.testing.assert_allclose(ratios, [0.7, 0.5], rtol=1e-6)
    assert tienkung_codec.flexible_refusal(body) is None
    # The header of the Cyclone flavour before the body is never taken for names.
    assert tienkung_codec.flexible_refusal(random.randbytes(8) + struct.pack("<q", 1) + body)
    assert tienkung_codec.flexible_refusal(body[:-2])


def test_a_finger_that_closes_has_a_negative_velocity_and_a_current_in_amperes():
    spec = hands.load("inspire_right")
    scale = Scale.of(spec)
    world = thenar.World("inspire_right", profile="ideal")
    state = replace(
        world.state("inspire_right"),
        velocity_rad_s=(spec.closed_rad - spec.open_rad) / 1.6,  # half of the full speed
        current_a=np.full(6, 0.5),
    )
    message = tienkung_codec.joint_state_of(scale, state, inspire_counts.readings(scale, state), stamp_s=0.0)
    np.testing.assert_allclose(np.asarray(message.velocity), -0.5)
    np.testing.assert_allclose(np.asarray(message.effort), 0.5)


def start(peer: str, domain: int, side: str) -> subprocess.Popen[str]:
    command = [str(peer_python(peer)), str(PEERS / f"tienkung_{peer}.py"), str(domain), side]
    return subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, env=quiet_environment()
    )


def answer_of(peer: subprocess.Popen[str]) -> dict:
    out, _ = peer.communicate(timeout=60)
    assert peer.returncode == 0
    return json.loads(out.splitlines()[-1])


def open_hands(twin: LiveTwin) -> None:
    for hand in BOTH:
        twin.run_on_loop(lambda world, hand=hand: world.command(hand, HandCommand.closing(0.0, speed=1.0)))

    def opened(hand: str) -> bool:
        state = twin.run_on_loop(lambda world: world.state(hand))
        return np.allclose(state.angle_rad, twin.world.hand(hand).open_rad, atol=0.02)

    assert wait_for(lambda: all(map(opened, BOTH)), 30.0)


def check_state(state: dict, side: str) -> None:
    assert state["frame_id"] == f"hand_{side}_link"
    assert state["name"] == list(FINGER_IDS)
    assert state["position"][1] == pytest.approx(0.4, abs=0.03)
    assert state["position"][5] == pytest.approx(0.3, abs=0.03)
    # Single precision made double, as on the robot.
    assert all(value == float(np.float32(round(value * 1000) / 1000)) for value in state["position"])
    assert max(map(abs, state["velocity"])) < 0.1


def six(*ratios: float) -> str:
    return struct.pack("<6f", *ratios).hex()


def test_fast_dds_2_uses_every_service_and_both_topics(everyones: tuple[LiveTwin, int]):
    twin, domain = everyones
    open_hands(twin)
    program = fast2_program()
    kinds = {s.name: s.type_name.replace("/srv/", "::srv::dds_::") for s in tienkung_codec.SERVICES}

    def call(service: str, body: str = "00") -> str:
        return f"call {tienkung_codec.service_path(service, 'left')} {kinds[service]} {body}"

    joint_state = ros.message_type(tienkung_codec.JOINT_STATE)
    control = tienkung_codec.encode_joint_state(JointState(name=("6", "2"), position=[0.3, 0.4])).hex()
    flexible = tienkung_codec.encode_flexible_request(("3", "1"), [0.7, 0.5]).hex()
    peer = subprocess.Popen(
        [str(program), "script", str(domain), "0", "5"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    into, out = peer.stdin, peer.stdout
    assert into is not None
    assert out is not None

    def tell(line: str) -> list[str]:
        into.write(line + "\n")
        into.flush()
        return out.readline().split()

    accepted, refused = ["reply", "01000000"], ["reply", "00000000"]
    assert tell(call("set_speed", six(*[1.0] * 6))) == accepted
    assert tell(call("set_force", six(*[0.5] * 6))) == accepted
    assert tell(call("set_force", six(0.5, 0.5, 7.0, 0.5, 0.5, 0.5))) == refused
    assert tell(call("set_angle_flexible", flexible)) == accepted

    def there() -> bool:
        angles = np.frombuffer(bytes.fromhex(tell(call("get_angle_act"))[1]), "<f4")
        return np.allclose(angles, [0.5, 1, 0.7, 1, 1, 1], atol=0.03)

    assert wait_for(there)
    assert np.abs(np.frombuffer(bytes.fromhex(tell(call("get_force_act"))[1]), "<f4")).max() < 0.2
    assert tell(call("get_error")) == ["reply", "00000000" * 6]
    assert wait_for(lambda: tell(call("get_status")) == ["reply", "02000000" * 6])  # near is not yet reached
    assert tell(call("set_clear_error")) == accepted
    assert tell(call("set_angle", six(*[0.9] * 6))) == accepted
    assert tell(f"say rt/inspire_hand/ctrl/left_hand {joint_state} {control} 120") == ["said"]
    heard = tienkung_codec.decode_joint_state(
        bytes.fromhex(tell(f"hear rt/inspire_hand/state/left_hand {joint_state}")[1])
    )
    assert heard.frame_id == "hand_left_link"
    assert np.asarray(heard.position)[1] == pytest.approx(0.4, abs=0.03)
    np.testing.assert_allclose(
        twin.run_on_loop(lambda world: world.settings("inspire_left").force_limit_n), 500 * GRAM_FORCE_N
    )
    into.close()
    peer.wait(timeout=10)


def test_programs_of_every_middleware_use_the_same_twin(everyones: tuple[LiveTwin, int]):
    twin, domain = everyones
    open_hands(twin)
    right, left = start("cyclone", domain, "right"), start("dora", domain, "left")
    for peer, side in ((right, "right"), (left, "left")):
        heard = answer_of(peer)
        for service in ("set_speed", "set_force", "set_angle_flexible", "set_clear_error", "set_angle"):
            assert heard[service] is True, (service, heard[service])
        assert heard["refused"] is False
        assert heard["unknown"] is False
        np.testing.assert_allclose(heard["get_angle_act"], [0.5, 1, 0.7, 1, 1, 1], atol=0.03)
        assert max(map(abs, heard["get_force_act"])) < 0.2
        assert heard["get_error"] == [0] * 6
        assert heard["get_status"] == [2] * 6
        check_state(heard["state"], side)
    settings = twin.run_on_loop(lambda world: world.settings("inspire_right"))
    np.testing.assert_allclose(settings.force_limit_n, 500 * GRAM_FORCE_N)
    np.testing.assert_allclose(settings.speed_rad_s, np.abs(RIGHT.closed_rad - RIGHT.open_rad) / 0.8)
    heard = answer_of(start("rosless", domain, "left"))
    check_state(heard["state"], "left")
    assert set(heard["topics"]) >= {
        f"/inspire_hand/{kind}/{side}_hand" for kind in ("ctrl", "state") for side in ("left", "right")
    }
    assert sum("left_handRequest" in service for service in heard["services"]) == 9
    heard = answer_of(start("fast", domain, "right"))
    assert heard["frame_id"] == "hand_right_link"
    assert twin.run_on_loop(lambda world: world.settings("inspire_right").force_limit_n)[0] == pytest.approx(
        250 * GRAM_FORCE_N, rel=1e-3
    )


@pytest.mark.timing
def test_the_twin_keeps_time_while_programs_talk_to_it(domain: int):
    with serve(BOTH, wires=("tienkung",), scene="empty", domain=domain) as twin:
        for peer in [start("cyclone", domain, "right"), start("dora", domain, "left")]:
            answer_of(peer)
        assert twin.health().real_time_factor == pytest.approx(1.0, abs=0.01)


@pytest.fixture
def caller(domain: int) -> Iterator[tuple[LiveTwin, Callable[[str, bytes], None]]]:
    """A twin, and a way to send any body to a service of its right hand."""
    with serve("inspire_right", wires=("tienkung",), scene="empty", domain=domain) as twin, Participant(domain) as me:
        writers = {}
        for service in tienkung_codec.SERVICES[:4]:
            names = ros.service_names(tienkung_codec.service_path(service.name, "right"), service.type_name)
            writers[service.name] = writer = me.advertise(names.request_topic, names.request_type)
            assert writer.wait_for_readers(10.0)
            before = refused(twin)
            # Until the twin knows the writer too: an empty body is refused and counted.
            assert wait_for(lambda: refused(twin) > before or writer.write(b""))  # noqa: B023
        yield twin, lambda service, body: writers[service].write(body)


def refused(twin: LiveTwin) -> int:
    return sum(twin.health().links[0].refused.values())


def test_requests_that_are_off_change_no_motor_parameter(caller):
    twin, send = caller
    before, refused_before = twin.run_on_loop(lambda world: world.settings("inspire_right")), refused(twin)
    cyclone = random.randbytes(8) + struct.pack("<q", 1)
    fine = struct.pack("<6f", *[0.3] * 6)
    for service in ("set_force", "set_speed", "set_angle"):
        for body in (
            b"",
            fine[:20],
            fine + fine,
            cyclone + fine,  # the other flavour's header before it
            struct.pack("<6f", 0.3, 0.3, np.nan, 0.3, 0.3, 0.3),
            struct.pack("<6f", 0.3, 0.3, -0.1, 0.3, 0.3, 0.3),
            struct.pack("<6f", 0.3, 0.3, 25.0, 0.3, 0.3, 0.3),
        ):
            send(service, body)
    for body in (b"", cyclone + tienkung_codec.encode_flexible_request(("1",), [0.0]), random.randbytes(40)):
        send("set_angle_flexible", body)
    assert wait_for(lambda: refused(twin) >= refused_before + 24)
    after = twin.run_on_loop(lambda world: world.settings("inspire_right"))
    for name in ("target_rad", "speed_rad_s", "force_limit_n"):
        np.testing.assert_array_equal(getattr(after, name), getattr(before, name))
    send("set_force", fine)

    def limited() -> bool:
        limit_n = twin.run_on_loop(lambda world: world.settings("inspire_right").force_limit_n)
        return np.allclose(limit_n, 300 * GRAM_FORCE_N, rtol=1e-6)

    assert wait_for(limited)


def test_inspect_shows_topics_services_and_who_commands(domain: int):
    with (
        serve("inspire_right", wires=("tienkung",), scene="empty", domain=domain) as twin,
        Participant(domain, name="my_program") as me,
    ):
        writer = me.advertise("rt/inspire_hand/ctrl/right_hand", ros.message_type(tienkung_codec.JOINT_STATE))
        assert writer.wait_for_readers(10.0)
        body = tienkung_codec.encode_joint_state(JointState(name=("1",), position=[0.5]))
        assert wait_for(lambda: twin.health().hands["inspire_right"].requests or writer.write(body))
        command = [sys.executable, "-m", "thenar.cli", "inspect", "--domain", str(domain), "--json"]
        told = json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
    rates = {topic["topic"]: topic["rate_hz"] for topic in told["topics"]}
    assert rates["rt/inspire_hand/state/right_hand"] == pytest.approx(25.0, rel=0.1)
    services = {service["service"]: service for service in told["services"]}
    assert len(services) == 9
    assert services["/inspire_hand/set_force/right_hand"]["type_name"] == "bodyctrl_msgs/srv/SetForce"
    assert "my_program" in told["twins"][0]["hands"]["inspire_right"]["sender"]


def test_the_page_lists_every_service():
    page = (Path(__file__).resolve().parents[1] / "docs" / "tienkung.md").read_text(encoding="utf-8")
    for service in tienkung_codec.SERVICES:
        assert f"`{service.name}`" in page
        assert service.type_name.rpartition("/")[2] in page


def test_a_string_without_its_end_is_refused():
    with pytest.raises(BadMessage):
        cdr.Reader(cdr.HEADER + b"\x03\x00\x00\x00ab\xff").string("name")
