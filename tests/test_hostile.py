"""What a network may do to a running twin: datagrams made to cost time, and floods. Each test carries the packet."""

import struct
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
import pytest
from patience import wait_for
from raw_rtps_peer import WRITER, RawPeer

import thenar
from thenar import cdr
from thenar.signals import HandCommand, HandSettings, HandState, Request, SceneRequest, SceneState, TouchFrame
from thenar.twin import live_twin
from thenar.twin.live_twin import LiveTwin
from thenar.twin.serving import serve
from thenar.wire.clients.manus_client import ManusListener
from thenar.wire.links.link_health import LinkHealth
from thenar.wire.rtps import SENSOR_DATA, Participant, Qos, Sample, discovery, messages
from thenar.wire.rtps.discovery import SampleIdentity
from thenar.wire.rtps.messages import CYCLONE_VENDOR
from thenar.wire.rtps.qos import matches
from thenar.wire.rtps.services import ServiceNames

MAX_COST_S = 0.05
"""What one datagram may cost, away from the physics."""
NAMES = ServiceNames(request_topic="topic", request_type="type", reply_topic="other", reply_type="type")


def cost_s(participant: Participant, datagram: bytes) -> float:
    """Time that the participant's own thread would spend on a datagram, spent on this one [s of the processor]."""
    began_s = time.thread_time()
    participant._on_datagram(datagram, "127.0.0.1")
    return time.thread_time() - began_s


def endpoint_with_partitions(peer: RawPeer, names: list[bytes]) -> bytes:
    """The announcement of a writer that is in these partitions."""
    listed = b"".join(struct.pack("<I", len(name) + 1) + name + b"\x00" + bytes(-(len(name) + 1) % 4) for name in names)
    info = discovery.EndpointInfo(guid=peer.prefix + WRITER, topic="topic", type_name="type", qos=Qos())
    encoded = discovery.encode_endpoint(info)
    partition = struct.pack("<HHI", discovery.PID_PARTITION, 4 + len(listed), len(names)) + listed
    # The sentinel goes behind it.
    payload = encoded[:-4] + partition + encoded[-4:]
    return peer.datagram(messages.data(bytes(4), discovery.PUBLICATIONS_WRITER, 1, payload))


@pytest.mark.parametrize(
    "partitions",
    [
        [b"[" * 60_000],
        [b"[" * 900] * 60,
        [b"*a" * 450] * 60,
        [b"*" * 900] * 60,
        [b"*?" * 450] * 60,
    ],
    ids=["one unclosed bracket", "brackets", "stars", "only stars", "stars and marks"],
)
def test_partition_names_cost_no_time(partitions: list[bytes], domain: int):
    with Participant(domain) as participant:
        participant.subscribe("topic", "type", lambda _: None, qos=SENSOR_DATA)
        peer = RawPeer(domain, NAMES, vendor=CYCLONE_VENDOR)
        peer.meet()
        datagram = endpoint_with_partitions(peer, partitions)
        assert cost_s(participant, datagram) < MAX_COST_S
        refused = participant.health().refusals
        assert bool(refused) == (len(partitions[0]) > 1024), refused
        peer.close()


@pytest.mark.parametrize(
    ("pattern", "name", "fits"),
    [
        ("", "", True),
        ("left", "left", True),
        ("left", "right", False),
        ("l*", "left", True),
        ("*t", "left", True),
        ("l*f*t", "left", True),
        ("l*f*t", "leaf", False),
        ("?eft", "left", True),
        ("*", "", True),
        ("?", "", False),
        ("a*a", "a", False),
        ("*ab*ab", "abab", True),
        ("*ab*ab", "ab", False),
        ("[l]eft", "left", False),  # Cyclone has no brackets
    ],
)
def test_partitions_are_matched_as_cyclone_does(pattern: str, name: str, fits: bool):
    assert matches(pattern, name) is fits


def test_physics_goes_on_while_the_network_holds_the_participants_lock(domain: int, caplog: pytest.LogCaptureFixture):
    with serve("inspire_right", wires=("inspire", "dfx", "tienkung"), scene="empty", domain=domain) as twin:
        participant = twin.links[0]._participant  # pyright: ignore[reportAttributeAccessIssue]
        held, release = threading.Event(), threading.Event()

        def hold() -> None:
            with participant.lock:
                held.set()
                release.wait(20.0)

        holder = threading.Thread(target=hold)
        holder.start()
        assert held.wait(5.0)
        try:
            began_s, before = time.perf_counter(), twin.health()
            assert wait_for(lambda: twin.health().standing)
            assert wait_for(lambda: twin.health().ticks - before.ticks > 1000)
            passed_s = time.perf_counter() - began_s
            health = twin.health()
            assert health.ticks - before.ticks == pytest.approx(passed_s / twin.world.timestep_s, rel=0.1)
            assert any("link has been at the same thing for" in line for line in health.standing)
            assert wait_for(lambda: "link has been at the same thing for" in caplog.text)
        finally:
            release.set()
            holder.join()
        assert wait_for(lambda: not twin.health().standing)
        written = twin.health().links[0].written
        assert wait_for(lambda: twin.health().links[0].written > written + 10)


def test_what_waits_for_the_sender_is_bounded_and_counted(domain: int):
    with Participant(domain) as participant:
        writer = participant.advertise("topic", "type")
        with participant.lock:
            for _ in range(1000):
                writer.post(b"state")
            assert writer.dropped >= 1000 - 257
        assert wait_for(lambda: writer.written + writer.dropped == 1000)


@dataclass
class Flood:
    """A link on which so many senders each ask for something between any two ticks."""

    senders: int
    wire: str = "flood"
    asked: int = 0

    def receive(self) -> list[Request]:
        self.asked += self.senders
        now_s = time.perf_counter()
        ask = HandCommand.to(np.full(6, np.nan))
        return [
            Request(hand="inspire_right", sender=f"port {self.asked - n}", arrived_s=now_s, command=ask)
            for n in range(self.senders)
        ]

    def publish_state(self, hands: Mapping[str, tuple[HandState, HandSettings]]) -> None: ...

    def publish_touch(self, frames: Mapping[str, TouchFrame]) -> None: ...

    def health(self) -> LinkHealth:
        return LinkHealth(wire="flood", where="", listeners=0, written=0, not_written=0, peers=(), refused={})

    def close(self) -> None: ...


def test_a_tick_does_bounded_work_however_many_senders_ask():
    flood = Flood(900)
    twin = LiveTwin(thenar.World("inspire_right"), [flood], touch_hz=0.0)
    for _ in range(100):
        twin._take_requests()
    health = twin.health()
    assert health.hands["inspire_right"].requests == 100 * live_twin.REQUESTS_PER_TICK
    assert len(health.hands["inspire_right"].recent_senders) <= live_twin.MAX_SENDERS
    dropped = health.refused["flood: more requests than there is time for"]
    assert dropped + len(twin._waiting[0]) + health.hands["inspire_right"].requests == flood.asked


def test_a_request_of_one_among_hundreds_of_senders_costs_what_a_request_of_one_costs():
    def cost_of(senders: int) -> float:
        twin = LiveTwin(thenar.World("inspire_right"), touch_hz=0.0)
        ask = HandCommand.to(np.full(6, np.nan))
        requests = [
            Request(hand="inspire_right", sender=f"port {n % senders}", arrived_s=0.0, command=ask) for n in range(2000)
        ]
        began_s = time.thread_time()
        for request in requests:
            twin._apply(request)
        return time.thread_time() - began_s

    cost_of(1)  # warm
    assert cost_of(900) < 2.0 * cost_of(1)


def test_resets_without_end_cost_a_tick_no_more_than_two_of_them():
    @dataclass
    class Resets(Flood):
        def receive(self) -> list[Request]:
            return []

        def receive_scene(self) -> list[SceneRequest]:
            return [SceneRequest(sender="somebody", reset="all")] * self.senders

        def publish_scene(self, stamp_s: float, read: Callable[[], SceneState]) -> None: ...

    twin = LiveTwin(thenar.World("inspire_right"), [Resets(64)], touch_hz=0.0)
    for tick in range(1, 11):
        twin._take_requests()
        assert twin.health().resets == tick * live_twin.SCENE_REQUESTS_PER_TICK
    assert twin.health().refused["flood: more requests than there is time for"] == 640 - 20 - live_twin.MAX_WAITING + 2


def test_samples_of_one_datagram_take_bounded_time_whoever_takes_them(domain: int):
    def take(_: Sample) -> None:
        began_s = time.thread_time()
        while time.thread_time() - began_s < 0.002:
            pass

    with Participant(domain) as participant:
        participant.subscribe("topic", "type", take, qos=SENSOR_DATA)
        peer = RawPeer(domain, NAMES, vendor=CYCLONE_VENDOR)
        peer.announce()
        assert wait_for(lambda: participant.health().endpoints[0].matched)
        samples = [messages.data(bytes(4), WRITER, number, b"\0\1\0\0" + bytes(4)) for number in range(1, 500)]
        assert cost_s(participant, peer.datagram(*samples)) < MAX_COST_S
        assert participant.health().refusals["samples of one datagram take too long"] > 400
        peer.close()


def test_reliable_samples_that_one_turn_has_no_time_for_are_taken_in_the_next(
    domain: int, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr("thenar.wire.rtps.participant.DATAGRAM_S", 0.0)  # time for one of them
    monkeypatch.setattr("thenar.wire.rtps.participant.MAX_DELIVERIES", 20)
    taken: list[bytes] = []
    with Participant(domain) as here, Participant(domain) as there:
        here.subscribe("topic", "type", lambda sample: taken.append(sample.body))
        writer = there.advertise("topic", "type", qos=Qos(depth=200))
        assert writer.wait_for_readers(5.0)
        with here.lock:  # they come all at once
            for number in range(200):
                writer.write(bytes([number]))
        assert wait_for(lambda: len(taken) == 200)
        assert taken == [bytes([number]) for number in range(200)]


def test_gloves_that_say_something_else_each_time_are_counted_not_collected(domain: int):
    with ManusListener("right", domain=domain) as listener:
        for number in range(1000):
            body = bytearray(struct.pack("<i", 1))
            cdr.put_string(body, f"x{number}")
            listener._hear(Sample(bytes(body), SampleIdentity(bytes(16), number), None, CYCLONE_VENDOR, {}, False))
        assert sum(listener.refused.values()) == 1000
        assert len(listener.refused) < 100
