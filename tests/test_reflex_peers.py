"""The ReFlex hand on the network, for programs that are not ours: its own packets, its driver's topics and services."""

import json
import socket
import struct
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from patience import free_domain, free_port, wait_for
from peer_env import PEERS, fast2_program, peer_python, quiet_environment

from thenar import hands
from thenar.errors import BadValue
from thenar.pace import Pace
from thenar.twin.live_twin import LiveTwin
from thenar.twin.serving import serve
from thenar.wire.codecs import reflex_codec
from thenar.wire.codecs.reflex_board import Board
from thenar.wire.codecs.reflex_codec import COMMANDS, HAND, NAMESPACE, SERVICES, STATE_TOPIC
from thenar.wire.links.reflex_driver import Driver
from thenar.wire.rtps import Participant, Writer, ros
from thenar.wire.wire_config import ReflexOptions


@pytest.fixture(scope="module")
def twin() -> Iterator[tuple[LiveTwin, int, int]]:
    """One hand on both of its wires, its domain and its port."""
    domain, port = free_domain(), free_port()
    with serve(
        "reflex", wires=("reflex", "reflex_udp"), scene="empty", domain=domain, reflex=ReflexOptions(port=port)
    ) as running:
        yield running, domain, port


def run_peer(*command: object) -> dict:
    done = subprocess.run(
        [str(word) for word in command],
        capture_output=True,
        text=True,
        timeout=120,
        env=quiet_environment(),
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


def test_a_plain_socket_reads_and_moves_the_hand(twin: tuple[LiveTwin, int, int]):
    running, _, port = twin
    seen = run_peer(sys.executable, PEERS / "reflex_udp_client.py", port)
    assert seen["hz"] == pytest.approx(40.0, rel=0.05)
    first, moved, step = seen["first"], seen["moved"], seen["step"]
    assert all(100 < pressure < 200 for pressure in first["pressures"])
    assert first["volts"] == [120] * 4
    assert moved["angles"][0] - first["angles"][0] == pytest.approx(step, abs=3)
    assert moved["angles"][1] - first["angles"][1] == pytest.approx(-step, abs=3)
    assert moved["angles"][2:] == pytest.approx(first["angles"][2:], abs=2)
    assert 0.15 < seen["half_way_s"] < 0.6  # a quarter of a radian at 1 rad/s
    assert seen["idle"]["angles"][0] < first["angles"][0] + step  # it gave way, and did not go to its target
    assert seen["back"]["angles"] == pytest.approx(first["angles"], abs=3)
    health = running.health().links[1]
    assert health.wire == "reflex_udp"
    refused = " ".join(health.refused)
    for reason in ("idle motors", "modes [2, 2, 2, 9]", "1400 bytes", "another hand"):
        assert reason in refused
    assert sum(health.refused.values()) >= 9
    assert running.run_on_loop(lambda world: world.settings("reflex").force_limit_n).tolist() == pytest.approx(
        [20.0] * 4
    )


def test_cyclone_uses_every_topic_and_service(twin: tuple[LiveTwin, int, int]):
    running, domain, _ = twin
    seen = run_peer(sys.executable, PEERS / "reflex_cyclone.py", domain)
    for service in SERVICES:
        assert seen[service.name] is True, service.name
    assert seen["rest"]["error"] == ["0x00"] * 4
    assert seen["rest"]["temperature"] == [25] * 4
    for step, joint in (
        ("position", [1.2, 0.9, 0.6, 0.5]),
        ("velocity", [0.0] * 4),
        ("command", [0.5, 0.5, 0.5, 0.0]),
        ("radian", [0.8, 0.7, 0.6, 0.2]),
        ("raw", [0.0] * 4),
    ):
        np.testing.assert_allclose(seen[step]["joint"], joint, atol=0.04, err_msg=step)
        wound = np.array(seen[step]["joint"][:3]) - seen[step]["proximal"]
        np.testing.assert_allclose(seen[step]["distal"], np.maximum(wound, 0.0), atol=1e-5)
    assert wait_for(lambda: running.run_on_loop(lambda world: world.settings("reflex").force_limit_n).max() == 0.0)


def test_rust_dds_hears_the_hand_and_moves_it(twin: tuple[LiveTwin, int, int]):
    _, domain, _ = twin
    seen = run_peer(peer_python("dora"), PEERS / "reflex_dora.py", domain)
    assert seen["calibrate_tactile"] is True
    assert seen["set_speed"] is True
    assert seen["error"] == ["0x00"] * 4
    assert [len(cells) for cells in seen["contact"]] == [9] * 3
    assert np.ptp(np.array(seen["joint"]) - [0.4, 0.8, 1.2, 0.3]) < 0.5  # zeros may have been moved by a peer before
    assert seen["joint"][2] > seen["joint"][1] > seen["joint"][0]


def test_fast_dds_2_commands_and_calls(twin: tuple[LiveTwin, int, int]):
    running, domain, _ = twin
    peer = subprocess.Popen(
        [str(fast2_program()), "script", str(domain), "0", "10"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    into, out = peer.stdin, peer.stdout
    assert into is not None
    assert out is not None

    def tell(line: str) -> list[str]:
        into.write(line + "\n")
        into.flush()
        return out.readline().split()

    kinds = {service.name: service.type_name.replace("/srv/", "::srv::dds_::") for service in SERVICES}
    bodies = {"set_speed": struct.pack("<4d", 1, 1, 1, 1), "set_tactile_threshold": struct.pack("<27H", *[30] * 27)}
    for name, kind in kinds.items():
        if name != "calibrate_fingers":  # it would go on while the rest is tested
            body = bodies.get(name, b"\x00").hex()
            assert tell(f"call {NAMESPACE}/{name} {kind} {body}")[0] == "reply", name
    pose = ros.message_type(COMMANDS["command_position"])
    body = reflex_codec.encode_numbers("command_position", [0.7, 0.7, 0.7, 0.2]).hex()
    assert tell(f"say rt{NAMESPACE}/command_position {pose} {body} 120") == ["said"]
    answer = tell(f"hear rt{STATE_TOPIC} {ros.message_type(HAND)}")
    message = reflex_codec.decode_hand(bytes.fromhex(answer[1]))
    np.testing.assert_allclose(message.joint_rad, [0.7, 0.7, 0.7, 0.2], atol=0.04)
    into.close()
    peer.wait(timeout=10)
    assert "Fast" in running.health().hands["reflex"].sender or "driver" in running.health().hands["reflex"].sender


def refused(twin: LiveTwin) -> int:
    return sum(twin.health().links[0].refused.values())


def wait_until_refused(twin: LiveTwin, writer: Writer) -> None:
    """Wait until the twin knows a writer too: an empty message is refused and counted."""
    before = refused(twin)
    assert wait_for(lambda: refused(twin) > before or writer.write(b""))


def test_requests_that_are_off_move_nothing(domain: int):
    with (
        serve("reflex", wires=("reflex",), scene="empty", domain=domain, touch_hz=0.0) as running,
        Participant(domain, name="odd one") as me,
    ):
        before = running.run_on_loop(lambda world: world.settings("reflex"))
        for topic, kind in COMMANDS.items():
            writer = me.advertise(ros.topic_name(f"{NAMESPACE}/{topic}"), ros.message_type(kind))
            assert writer.wait_for_readers(10.0)
            wait_until_refused(running, writer)
            for body in (b"", b"\x01", bytes(200)):
                writer.write(body)
            if topic not in ("raw_hand_command",):
                writer.write(reflex_codec.encode_numbers(topic, np.nan))
        for name, body in (("set_speed", bytes(31)), ("set_speed", bytes(48)), ("set_tactile_threshold", bytes(70))):
            kind = {service.name: service.type_name for service in SERVICES}[name]
            names = ros.service_names(f"{NAMESPACE}/{name}", kind)
            writer = me.advertise(names.request_topic, names.request_type)
            assert writer.wait_for_readers(10.0)
            wait_until_refused(running, writer)
            writer.write(body)
        assert wait_for(lambda: refused(running) >= 6 * 3 + 5 + 3 + 9)  # and an empty one of each writer at least
        after = running.run_on_loop(lambda world: world.settings("reflex"))
        for name in ("target_rad", "speed_rad_s", "force_limit_n"):
            np.testing.assert_array_equal(getattr(after, name), getattr(before, name))


def test_inspect_shows_the_hand_on_both_wires(twin: tuple[LiveTwin, int, int]):
    _, domain, port = twin
    command = [sys.executable, "-m", "thenar.cli", "inspect", "--domain", str(domain), "--json"]
    told = json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
    rates = {topic["topic"]: topic["rate_hz"] for topic in told["topics"]}
    assert rates[f"rt{STATE_TOPIC}"] == pytest.approx(40.0, rel=0.15)
    assert {f"rt{NAMESPACE}/{topic}" for topic in COMMANDS} <= set(rates)
    services = {service["service"]: service["type_name"] for service in told["services"]}
    assert services == {f"{NAMESPACE}/{service.name}": service.type_name for service in SERVICES}
    assert [link["wire"] for link in told["twins"][0]["links"]] == ["reflex", "reflex_udp", "sim"]
    assert told["twins"][0]["links"][1]["where"] == f"udp 224.0.0.124:{port} on lo"


def test_a_hand_with_packets_only_is_seen_too(domain: int):
    port = free_port()
    with serve(
        "reflex", wires=("reflex_udp",), scene="empty", domain=domain, reflex=ReflexOptions(port=port), touch_hz=0.0
    ):
        command = [sys.executable, "-m", "thenar.cli", "inspect", "--domain", str(domain), "--json"]
        told = json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
    assert told["twins"][0]["links"][0]["wire"] == "reflex_udp"


def test_two_hands_on_one_port_say_so(twin: tuple[LiveTwin, int, int]):
    running, _, port = twin
    options = {"scene": "empty", "touch_hz": 0.0, "reflex": ReflexOptions(port=port)}
    with serve("reflex", wires=("reflex_udp",), domain=free_domain(), **options) as second:
        for each in (running, second):
            assert wait_for(lambda each=each: each.health().warnings), "nothing was said"
            assert "another hand at 127.0.0.1 sends its states" in each.health().warnings[0]
            assert "take another --reflex.port" in each.health().warnings[0]


def test_packets_stay_on_loopback(twin: tuple[LiveTwin, int, int]):
    _, _, port = twin
    others = [name for _, name in socket.if_nameindex() if name != "lo"]
    groups = Path("/proc/net/igmp").read_text(encoding="ascii").split("\n")
    # 224.0.0.124, as the kernel prints it, is joined on loopback and nowhere else.
    joined, device = set(), ""
    for line in groups[1:]:
        words = line.split()
        if words and words[0].isdigit():
            device = words[1]
        elif words and words[0] == "7C0000E0":
            joined.add(device)
    assert "lo" in joined
    assert not joined & set(others)
    assert port


def test_a_twin_that_is_reset_goes_on_telling_its_state():
    pace = Pace(40.0)
    every_s = [k * 0.005 for k in range(200)]
    due_s = [k * 0.005 for k in range(0, 200, 5)]
    assert [now_s for now_s in every_s if pace.is_due(now_s)] == due_s
    assert [now_s for now_s in every_s if pace.is_due(now_s)] == due_s  # from time 0 again


def test_a_twin_that_was_away_sends_once_and_goes_on_at_its_rate():
    pace = Pace(40.0)
    assert pace.is_due(0.0)
    assert not pace.is_due(0.020)
    assert [now_s for now_s in (1.0, 1.005, 1.020, 1.025, 1.045, 1.050) if pace.is_due(now_s)] == [1.0, 1.025, 1.050]
    assert [now_s for now_s in (1.074, 1.083, 1.099, 1.1) if pace.is_due(now_s)] == [1.083, 1.1]  # late once, in step


def test_only_a_reflex_hand_speaks_these():
    with pytest.raises(BadValue, match="--hands reflex"):
        Board([hands.load("inspire_right")])
    with pytest.raises(BadValue, match=r"reflex\.state_hz"):
        serve("reflex", wires=("reflex_udp",), reflex=ReflexOptions(state_hz=300.0))


def test_the_page_lists_every_topic_and_service_and_says_ros_1():
    page = (Path(__file__).resolve().parents[1] / "docs" / "reflex_driver.md").read_text(encoding="utf-8")
    for service in SERVICES:
        assert f"`{service.name}`" in page
    for topic, kind in COMMANDS.items():
        assert f"`{topic}`" in page
        assert kind.rpartition("/")[2] in page
    assert "ROS 1" in page
    zeros = ", ".join(f"{zero:.5f}" for zero in Driver().motor_zero_rad)
    assert zeros in page  # what the original driver's own calibration file must hold for the twin
