"""The first sample of a writer counts, also when it overtakes the announcement of its writer."""

import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import Any

import numpy as np
import pytest
from patience import wait_for
from peer_env import PEERS, fast2_program, quiet_environment
from raw_rtps_peer import RawPeer

from thenar import cdr, hands
from thenar.signals import Request
from thenar.wire.codecs import dfx_codec, inspire_codec, reflex_codec, tienkung_codec
from thenar.wire.codecs.tienkung_codec import JointState
from thenar.wire.links.registry import PROTOCOLS, LinkContext
from thenar.wire.rtps import SENSOR_DATA, Participant, Qos, Sample, ros
from thenar.wire.rtps.messages import CYCLONE_VENDOR
from thenar.wire.rtps.peer_limits import EARLY_S, Share
from thenar.wire.rtps.services import ServiceNames
from thenar.wire.rtps.writer import encapsulate
from thenar.wire.wire_config import WireConfig

PUBLISHERS = 20


@pytest.fixture
def link_of(domain: int) -> Iterator[Callable[..., Any]]:
    """Opens the link of a protocol on a domain."""
    with ExitStack() as opened:

        def open_link(wire: str, *names: str) -> Any:
            specs = [hands.load(name) for name in names]
            context = LinkContext(hands=specs, config=WireConfig(domain=domain), opened=opened)
            return PROTOCOLS[wire].open(context)

        yield open_link


def only_topic(topic: str, type_name: str) -> ServiceNames:
    """A raw peer with a writer of this topic; its reader reads nothing."""
    return ServiceNames(request_topic=topic, request_type=type_name, reply_topic="nothing", reply_type="nothing")


def joint_state(ratio: float) -> bytes:
    return tienkung_codec.encode_joint_state(JointState(name=("1",), position=[ratio]))


COMMANDS = {
    "tienkung": ("inspire_right", "rt/inspire_hand/ctrl/right_hand", joint_state(0.5)),
    "inspire": (
        "inspire_right",
        "rt/inspire_hand/ctrl/r",
        inspire_codec.encode_ctrl(inspire_codec.Ctrl(mode=1, angle=[500] * 6))[len(cdr.HEADER) :],
    ),
    "dfx": (
        "inspire_right",
        dfx_codec.COMMAND_TOPIC,
        dfx_codec.encode_commands({"right": [0.5] * 6, "left": [0.5] * 6})[len(cdr.HEADER) :],
    ),
    "reflex": (
        "reflex",
        "rt/reflex_takktile/command_position",
        reflex_codec.encode_numbers("command_position", [0.5, 0.5, 0.5, 0.0]),
    ),
}


@pytest.mark.parametrize("reliable", [True, False], ids=["reliable", "best effort"])
@pytest.mark.parametrize("wire", COMMANDS)
def test_a_command_that_overtakes_the_announcement_of_its_writer_is_done(wire: str, reliable: bool, link_of, domain):
    hand, topic, body = COMMANDS[wire]
    link = link_of(wire, hand)
    peer = RawPeer(domain, only_topic(topic, PROTOCOLS[wire].commands[topic]), vendor=CYCLONE_VENDOR)
    peer.writer_qos = Qos(reliable=reliable)
    peer.meet()
    peer.request(1, encapsulate(body))
    time.sleep(0.05)
    assert link.receive() == []
    peer.announce_endpoints()
    got: list[Request] = []
    assert wait_for(lambda: got.extend(link.receive()) or got, 2.0)
    assert [request.hand for request in got] == [hand]
    assert not any("not matched" in reason for reason in link.health().refused)
    peer.close()


def test_an_early_sample_of_another_type_or_of_nobody_is_not_delivered(domain: int):
    got: list[Sample] = []
    with Participant(domain) as participant:
        participant.subscribe("topic", "type", got.append, qos=SENSOR_DATA)
        peer = RawPeer(domain, only_topic("topic", "another type"), vendor=CYCLONE_VENDOR)
        peer.meet()
        peer.request(1, encapsulate(b"wrong type"))
        peer.announce_endpoints()
        silent = RawPeer(domain, only_topic("topic", "type"), vendor=CYCLONE_VENDOR)
        silent.meet()
        silent.request(1, encapsulate(b"never announced"))
        refused = "submessage from a writer that is not matched"
        assert wait_for(lambda: participant.health().refusals.get(refused), EARLY_S + 3.0)
        silent.announce_endpoints()
        assert wait_for(lambda: participant.health().endpoints[0].matched)
        assert got == []
        silent.request(2, encapsulate(b"announced"))
        assert wait_for(lambda: [sample.body for sample in got] == [b"announced"])
        peer.close()
        silent.close()


def test_a_farewell_does_not_overtake_the_last_command(domain: int):
    got: list[bytes] = []
    with Participant(domain) as participant:
        participant.subscribe("topic", "type", lambda sample: got.append(sample.body), qos=SENSOR_DATA)
        for number in range(30):
            peer = RawPeer(domain, only_topic("topic", "type"), vendor=CYCLONE_VENDOR)
            peer.meet()
            with participant.lock:  # the machine is busy: announcement, command and farewell all wait
                peer.request(1, encapsulate(bytes([number])))
                peer.announce_endpoints()
                peer.take_leave()
            peer.close()
        assert wait_for(lambda: len(got) == 30)
        assert wait_for(lambda: participant.health().peers == ())
    assert got == [bytes([number]) for number in range(30)]


def test_nobody_holds_more_of_a_share_than_is_left_for_the_others():
    share = Share(1000)
    held = 0
    while share.take(b"greedy", 10):
        held += 10
    assert held == 500
    for late, most in ((b"second", 250), (b"third", 120)):
        taken = 0
        while share.take(late, 10):
            taken += 10
        assert taken == most
    share.give_back(b"greedy", 500)
    assert share.used == 370
    assert share.take(b"greedy", 100)


def publish_once(peer: str, domain: int, count: int) -> None:
    """Let so many fresh processes publish one command each and end."""
    if peer == "fast2":
        kind = ros.message_type(tienkung_codec.JOINT_STATE)
        for number in range(count):
            line = f"say rt/inspire_hand/ctrl/right_hand {kind} {joint_state(number / 1000).hex()} 1\n"
            with subprocess.Popen(
                [str(fast2_program()), "script", str(domain), "0"],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                text=True,
            ) as program:
                assert program.stdin
                assert program.stdout
                program.stdin.write(line)
                program.stdin.flush()
                assert program.stdout.readline().startswith("said")
                time.sleep(0.1)  # as the command line of ROS 2 does
        return
    command = [sys.executable, str(PEERS / "one_shot.py"), peer, str(domain), str(count)]
    subprocess.run(command, check=True, env=quiet_environment(), timeout=120)


@pytest.mark.parametrize("peer", ["reliable", "best_effort", "fast2"])
def test_every_program_that_publishes_once_and_ends_moves_the_hand(peer: str, link_of, domain: int):
    link = link_of("tienkung", "inspire_right")
    publish_once(peer, domain, PUBLISHERS)
    got: list[Request] = []
    wait_for(lambda: got.extend(link.receive()) or len(got) == PUBLISHERS, 1.0)
    spec = hands.load("inspire_right")
    little = spec.actuator_names.index("little")
    closed, opened = spec.closed_rad[little], spec.open_rad[little]
    ratios = [(request.command.target_rad[little] - closed) / (opened - closed) for request in got if request.command]
    np.testing.assert_allclose(sorted(ratios), np.arange(PUBLISHERS) / 1000, atol=1e-6)
