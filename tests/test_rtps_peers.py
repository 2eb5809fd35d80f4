"""RTPS with real peers of other vendors, each unchanged and in a process of its own, all on loopback.

cyclonedds, rosless and dora-rs (RustDDS), Fast DDS 3 (inside fourier-aurora-client), and Fast DDS 2.9 where a
compiler and the library are present. Their programs are in tests/peers.
"""

import json
import os
import shutil
import signal
import statistics
import struct
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from lossy_network import LossyNetwork
from patience import wait_for
from peer_env import fast2_program, peer_python

from thenar.wire.rtps import LATCHED, Participant, Qos, Sample, messages, ros
from thenar.wire.rtps.discovery import Address
from thenar.wire.rtps.network import Network

PROGRAMS = Path(__file__).parent / "peers"
ALL = ["cyclone", "fast", "fast2", "rosless", "dora"]
CALLERS = ["cyclone", "fast", "fast2", "dora"]
VENDORS = {
    "cyclone": "Cyclone DDS",
    "fast": "Fast DDS",
    "fast2": "Fast DDS",
    "rosless": "RustDDS",
    "dora": "RustDDS",
}
SET_FORCE = ros.service_names("/set_force", "thenar_test/srv/SetForce")

ENDLESS = 1_000_000
"""So many calls that the test has to end the caller."""


class Running:
    """A peer at work; what it prints is kept line by line."""

    def __init__(self, name: str, mode: str, domain: int, count: int, limit_s: float, within: tuple[str, ...] = ()):
        if name == "fast2":
            command = [str(fast2_program())]
        else:
            command = [str(peer_python(name)), str(PROGRAMS / f"{name}_peer.py")]
        env = {
            key: value for key, value in os.environ.items() if not key.startswith(("CYCLONEDDS", "ROS_", "FASTRTPS"))
        }
        if count == ENDLESS:
            env["FASTDDS_BUILTIN_TRANSPORTS"] = "UDPv4"  # a killed peer would leave its shared memory behind
        self.process = subprocess.Popen(
            [*within, *command, mode, str(domain), str(count), str(limit_s)],
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            env=env,
        )
        self.lines: list[str] = []
        self._thread = threading.Thread(target=self._read, daemon=True)
        self._thread.start()

    def _read(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self.lines.append(line.rstrip())

    def wait(self, limit_s: float) -> list[str]:
        """Let it finish; return what it printed."""
        try:
            self.process.wait(limit_s)
        except subprocess.TimeoutExpired:
            self.kill()
            last = f"{len(self.lines)} lines, the last of them {self.lines[-5:]}"
            pytest.fail(f"the peer did not finish in {limit_s} s; it printed {last}")
        self._thread.join()
        return self.lines

    def kill(self) -> None:
        """End it without a farewell."""
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()

    def replies_us(self) -> list[int]:
        """How long each right reply took [us]."""
        return [int(line.split()[1]) for line in self.lines if line.startswith("reply")]


@pytest.fixture
def start(domain: int) -> Iterator[Callable[..., Running]]:
    """Starts peers, and ends those that still run after the test."""
    running: list[Running] = []

    def run(name: str, mode: str, count: int, limit_s: float = 10.0, within: tuple[str, ...] = ()) -> Running:
        running.append(Running(name, mode, domain, count, limit_s, within))
        return running[-1]

    yield run
    for peer in running:
        if peer.process.poll() is None:
            peer.kill()


def text(value: str) -> bytes:
    """CDR of a string."""
    data = value.encode() + b"\x00"
    return struct.pack("<I", len(data)) + data


class Server:
    """The service all callers call: six floats in, a flag and the first float out."""

    def __init__(self, participant: Participant):
        self.handled: list[float] = []
        self.service = participant.serve(SET_FORCE, self.handle, refusal=bytes(8), body_bytes=24)

    def handle(self, body: bytes) -> bytes:
        (first,) = struct.unpack_from("<f", body)
        self.handled.append(first)
        return struct.pack("<?3xf", True, first)


@pytest.mark.parametrize("name", ALL)
def test_topics_go_both_ways(name: str, domain: int, start):
    # The Fast DDS 3 wheel has no String; a Header carries a string too, after its stamp.
    plain = name != "fast"
    kind = ros.message_type("std_msgs/msg/String" if plain else "std_msgs/msg/Header")
    prefix = "" if plain else "headers_"
    stamp = b"" if plain else bytes(8)
    got: list[Sample] = []
    with Participant(domain, user_data=ros.ENCLAVE) as participant:
        writer = participant.advertise(ros.topic_name(f"/{prefix}from_thenar"), kind, qos=Qos(depth=30))
        participant.subscribe(ros.topic_name(f"/{prefix}to_thenar"), kind, got.append)
        listener, talker = start(name, "listen", 20), start(name, "talk", 20)
        assert writer.wait_for_readers(30)
        for number in range(19):
            writer.write(stamp + text(f"sample {number}"))
            time.sleep(0.002)
        writer.write(stamp + text("x" * 100_000))
        heard = listener.wait(30)
        assert heard == [*(f"got {len(f'sample {n}')} sample {n}" for n in range(19)), f"got 100000 {'x' * 20}"]
        assert wait_for(lambda: len(got) == 20, 30)
        bodies = [sample.body[len(stamp) + 4 :].rstrip(b"\x00 ") for sample in got]
        said = "fast2" if name == "fast2" else name
        assert bodies == [f"{said} {number}".encode() for number in range(20)]
        assert len(got[-1].body) >= 100_000
        assert {messages.VENDOR_NAMES[sample.vendor] for sample in got} == {VENDORS[name]}
        talker.wait(5)


def test_cyclone_that_comes_late_gets_what_is_latched(domain: int, start):
    with Participant(domain) as participant:
        writer = participant.advertise("rt/from_thenar", ros.message_type("std_msgs/msg/String"), qos=LATCHED)
        writer.write(text("too old"))
        writer.write(text("latched"))
        assert start("cyclone", "latched", 1).wait(10) == ["got 7 latched"]


def test_ros_tools_see_topics_and_services(domain: int, start):
    with Participant(domain, user_data=ros.ENCLAVE) as participant:
        Server(participant)
        participant.advertise(ros.topic_name("/hand/state"), ros.message_type("sensor_msgs/msg/JointState"))
        topics, services = start("rosless", "list", 1).wait(10)
        assert "/hand/state=sensor_msgs/msg/JointState" in topics
        assert 'name="/set_forceRequest", type_name="thenar_test/srv/SetForce_Request"' in services
        assert 'name="/set_forceReply", type_name="thenar_test/srv/SetForce_Response"' in services


def test_humble_and_jazzy_side_by_side_each_read_the_nodes_of_one_participant(domain: int, start):
    with Participant(domain, user_data=ros.ENCLAVE) as participant:
        server = Server(participant)
        writer = participant.advertise(
            ros.topic_name("/hand/state"),
            ros.message_type("sensor_msgs/msg/JointState"),
            user_data=ros.type_hash_data("RIHS01_00ff"),
        )
        participant.subscribe(ros.topic_name("/hand/command"), "type", lambda _: None)
        node = ros.Node(participant, "hand", namespace="/left")
        node.show([writer])
        peers = {gid_bytes: start("cyclone", "nodes", gid_bytes) for gid_bytes in (24, 16)}
        node.show([writer, server.service])
        printed = {gid_bytes: peer.wait(10) for gid_bytes, peer in peers.items()}
    request, reply = server.service.guids
    for gid_bytes, (line,) in printed.items():
        told = json.loads(line)
        assert (told["namespace"], told["name"]) == ("/left", "hand")
        assert told["participant"][:24] == participant.prefix.hex()
        assert [gid[:32] for gid in told["readers"]] == [request.hex()]
        assert [gid[:32] for gid in told["writers"]] == [writer.info.guid.hex(), reply.hex()]
        assert {len(gid) for gid in told["writers"]} == {2 * gid_bytes}
        assert told["user_data"]["participant"] == "enclave=/;"
        assert told["user_data"]["rt/hand/state"] == "typehash=RIHS01_00ff;"
        assert told["without_user_data"] == []  # Jazzy would warn of each


@pytest.mark.parametrize(("name", "mode"), [*((name, "call") for name in CALLERS), ("fast", "call_plain")])
def test_calls_are_answered(name: str, mode: str, domain: int, start):
    with Participant(domain) as participant:
        server = Server(participant)
        lines = start(name, mode, 100).wait(15)
        assert [line.split()[0] for line in lines] == ["reply"] * 100
        assert len(server.handled) == len(set(server.handled)) == 100
        assert server.service.refused == 0


@pytest.mark.timing
def test_ten_thousand_calls_of_three_vendors_at_once_are_each_answered_once(domain: int, start):
    calls = 3334
    with Participant(domain) as participant:
        server = Server(participant)
        callers = [start(name, "call", calls) for name in ("cyclone", "fast", "dora")]
        for caller in callers:
            lines = caller.wait(40)
            assert [line for line in lines if not line.startswith("reply")] == []
            assert len(lines) == calls
        assert len(server.handled) == len(set(server.handled)) == 3 * calls
        assert server.service.answered == 3 * calls
        took_us = sorted(took for caller in callers for took in caller.replies_us())
        assert statistics.median(took_us) < 1000
        assert took_us[int(0.99 * len(took_us))] < 10_000


@pytest.mark.parametrize(
    ("calls", "spare_discovery"),
    [({"cyclone": 100, "fast": 6}, False), ({"cyclone": 50, "dora": 50}, True)],
    ids=["cyclone and fast", "cyclone and dora"],
)
def test_calls_on_a_bad_line_are_each_answered_once(calls: dict[str, int], spare_discovery: bool, domain: int, start):
    """A tenth of the datagrams lost, a tenth doubled, a tenth overtaken, both ways.

    Fast DDS repeats a lost request with its heartbeat, every three seconds: several losses in a row are a long wait.
    RustDDS may acknowledge an announcement that came late and never send to the reader it tells of.
    """
    line = LossyNetwork(domain, seed=5, spare_discovery=spare_discovery)
    with Participant(domain, network=line) as participant:
        server = Server(participant)
        callers = [start(name, "call", count, limit_s=60.0) for name, count in calls.items()]
        for caller in callers:
            lines = caller.wait(150)
            assert [printed for printed in lines if not printed.startswith("reply")] == []
        assert len(server.handled) == len(set(server.handled)) == sum(calls.values())
    assert line.lost > 20


class FirstReplyLost(Network):
    """Loses what a writer says until it has sent its first sample, and that too."""

    writer = b"no writer yet"

    def send(self, datagram: bytes, address: Address) -> str | None:
        spoken = (messages.Data, messages.Heartbeat, messages.Gap)  # what a reader says has the other's name in it
        parts = messages.read_message(datagram).submessages
        said = [part for part in parts if isinstance(part, spoken) and part.writer == self.writer]
        if any(isinstance(part, messages.Data) for part in said):
            self.writer = b"none: from now on everything arrives"
        return None if said else super().send(datagram, address)


@pytest.mark.parametrize("name", CALLERS)
def test_first_reply_is_not_taken_for_history_when_the_greetings_before_it_were_lost(name: str, domain: int, start):
    line = FirstReplyLost(domain)
    with Participant(domain, network=line) as participant:
        server = Server(participant)
        line.writer = server.service.guids[1][12:]
        assert [printed.split()[0] for printed in start(name, "call", 2).wait(30)] == ["reply"] * 2
        assert len(server.handled) == 2


@pytest.mark.parametrize("name", CALLERS)
def test_client_killed_between_calls_leaves_the_server_serving(name: str, domain: int, start):
    with Participant(domain) as participant:
        server = Server(participant)
        victim = start(name, "call", ENDLESS)
        assert wait_for(lambda: len(server.handled) > 50)
        victim.kill()
        assert [line.split()[0] for line in start(name, "call", 20).wait(15)] == ["reply"] * 20


@pytest.mark.parametrize("name", CALLERS)
def test_server_that_restarts_is_found_again_by_a_client_at_work(name: str, domain: int, start):
    with Participant(domain) as participant:
        first = Server(participant)
        client = start(name, "call", ENDLESS, 1.0)
        assert wait_for(lambda: len(first.handled) > 20)
    with Participant(domain) as participant:
        second = Server(participant)
        # The call that was on its way when the first server left is lost: the client gives it a second.
        assert wait_for(lambda: len(second.handled) > 20)
        client.kill()
        # Old requests are not played to the new server.
        assert not set(first.handled) & set(second.handled)


def test_peer_that_is_killed_is_gone_after_its_lease(domain: int, start, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("PEER_LEASE_S", "2")
    with Participant(domain) as participant:
        Server(participant)
        victim = start("cyclone", "call", ENDLESS)
        assert wait_for(lambda: participant.health().peers)
        victim.kill()
        (peer,) = participant.health().peers
        assert (peer.vendor, peer.lease_s) == ("Cyclone DDS", 2.0)
        assert wait_for(lambda: participant.health().peers == (), 4)


@pytest.fixture
def cable() -> Iterator[tuple[tuple[str, ...], tuple[str, ...]]]:
    """Two machines of the poor: network namespaces with a cable in between; gives the commands to run in each."""
    ip = shutil.which("ip")
    if ip is None or os.geteuid() != 0:
        pytest.skip("network namespaces need root and the ip command")
    here, there = f"twin{os.getpid()}", f"peer{os.getpid()}"

    def call(*arguments: str) -> None:
        subprocess.run([ip, *arguments], check=True, capture_output=True)

    try:
        call("netns", "add", here)
    except subprocess.CalledProcessError as why:
        pytest.skip(f"network namespaces cannot be made here: {why.stderr.decode().strip()}")
    try:
        call("netns", "add", there)
        call("link", "add", "veth0", "netns", here, "type", "veth", "peer", "name", "veth0", "netns", there)
        for name, address in ((here, "198.51.100.1/24"), (there, "198.51.100.2/24")):
            call("-n", name, "addr", "add", address, "dev", "veth0")
            call("-n", name, "link", "set", "veth0", "up")
            call("-n", name, "link", "set", "lo", "up")
        time.sleep(1.5)  # Fast DDS does not see a card that is only just up
        yield (ip, "netns", "exec", here), (ip, "netns", "exec", there)
    finally:
        subprocess.run([ip, "netns", "del", there], check=False, capture_output=True)
        call("netns", "del", here)


@pytest.mark.parametrize(("peers", "multicast"), [((), "on"), (("198.51.100.2",), "switched off")])
def test_peers_on_another_machine_are_found_and_served(
    cable, peers: tuple[str, ...], multicast: str, domain: int, start, monkeypatch: pytest.MonkeyPatch
):
    here, there = cable
    monkeypatch.setenv("PEER_INTERFACE", "veth0")
    command = [sys.executable, str(PROGRAMS / "thenar_server.py"), "veth0", str(domain), *peers]
    with subprocess.Popen([*here, *command], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdin is not None
        assert server.stdout is not None
        assert server.stdout.readline() == "ready\n"
        # One by one: on one machine Cyclone keeps Fast DDS from the multicast port, and Fast DDS 2 and 3 get into
        # each other's shared memory.
        for name in CALLERS:
            lines = start(name, "call", 50, within=there).wait(15)
            assert [line.split()[0] for line in lines] == ["reply"] * 50, name
        server.stdin.close()
        health = json.loads(server.stdout.readline())
    assert health["interface_address"] == "198.51.100.1"
    assert health["multicast"] == multicast
    assert {peer["host"] for peer in health["peers"]} <= {"198.51.100.2"}
