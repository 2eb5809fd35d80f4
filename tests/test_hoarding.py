"""What strangers can make a participant send, keep or compute. Each test carries the packet that once did harm."""

import math
import os
import struct
import time
import tracemalloc
from collections import Counter
from collections.abc import Iterator

import pytest
from patience import wait_for
from raw_rtps_peer import READER, WRITER, RawPeer
from test_hostile import MAX_COST_S, cost_s

from thenar.wire.links.inbox import Waiting
from thenar.wire.rtps import LATCHED, Participant, Qos, Sample, discovery, messages, ros
from thenar.wire.rtps.directory import MAX_PEERS
from thenar.wire.rtps.discovery import Address, EndpointInfo, ParticipantInfo
from thenar.wire.rtps.messages import CYCLONE_VENDOR
from thenar.wire.rtps.network import Network
from thenar.wire.rtps.peer_limits import MAX_HELD_BYTES
from thenar.wire.rtps.writer import encapsulate

SET_FORCE = ros.service_names("/set_force", "thenar_test/srv/SetForce")
ANSWERED = 3
"""Bytes sent for each byte that came from an address nobody has shown to be his."""


class Ledger(Network):
    """A network that keeps account of what was sent to whom."""

    def __init__(self, domain: int):
        super().__init__(domain)
        self.sent: Counter[Address] = Counter()

    def send(self, datagram: bytes, address: Address) -> str | None:
        self.sent[address] += len(datagram)
        return super().send(datagram, address)


@pytest.fixture
def busy(domain: int) -> Iterator[tuple[Participant, Ledger]]:
    """A participant with as many endpoints as a twin."""
    ledger = Ledger(domain)
    with Participant(domain, name="thenar twin", network=ledger) as participant:
        participant.serve(SET_FORCE, lambda _: bytes(8), refusal=bytes(8), body_bytes=24)
        for number in range(20):
            participant.advertise(f"state {number}", "type", qos=LATCHED).write(bytes(100))
            participant.subscribe(f"command {number}", "type", lambda _: None)
        yield participant, ledger


@pytest.fixture
def client(busy: tuple[Participant, Ledger], domain: int) -> Iterator[RawPeer]:
    """A peer that is matched with the service, both ways."""
    peer = RawPeer(domain, SET_FORCE, vendor=CYCLONE_VENDOR)
    peer.announce()
    assert wait_for(lambda: busy[0].health().services[0].clients)
    yield peer
    peer.close()


def announcement(prefix: bytes, ports: list[int], lease_s: float = math.inf) -> bytes:
    """A datagram in which a participant says that it listens at these ports."""
    here = tuple(("127.0.0.1", port) for port in ports)
    info = ParticipantInfo(
        prefix=prefix, vendor=CYCLONE_VENDOR, lease_s=lease_s, meta=here, builtins=discovery.OUR_BUILTINS
    )
    spdp = messages.data(discovery.SPDP_READER, discovery.SPDP_WRITER, 1, discovery.encode_participant(info))
    return b"RTPS\x02\x03" + CYCLONE_VENDOR + prefix + spdp


@pytest.mark.parametrize("locators", [1, 2, 200, 1150], ids=["164 bytes", "two locators", "many locators", "64 kB"])
def test_a_stranger_gets_no_more_than_three_times_what_it_sent(locators: int, busy: tuple[Participant, Ledger]):
    participant, ledger = busy
    ports = list(range(20_000, 20_000 + locators))
    datagram = announcement(os.urandom(12), ports)
    assert locators > 1 or len(datagram) <= 180
    assert cost_s(participant, datagram) < MAX_COST_S
    time.sleep(1.5)  # several rounds of announcements
    to_it = {address: size for address, size in ledger.sent.items() if address[1] in ports}
    assert (0 if locators > 1000 else 1) <= sum(to_it.values()) <= ANSWERED * len(datagram)
    assert len(to_it) <= discovery.MAX_ADDRESSES


def test_endpoints_of_a_stranger_get_nothing_and_those_of_a_client_listen_where_it_does(
    busy: tuple[Participant, Ledger], domain: int
):
    participant, ledger = busy
    stranger = RawPeer(domain, SET_FORCE, vendor=CYCLONE_VENDOR)
    stranger.announce_itself()
    assert wait_for(participant.peers)
    readers = [
        EndpointInfo(
            guid=stranger.prefix + struct.pack(">I", number << 8 | 4),
            topic="state 0",
            type_name="type",
            qos=Qos(),
            addresses=(("127.0.0.1", 30_000 + number),),
        )
        for number in range(1, 65)
    ]
    for number, reader in enumerate(readers, 1):
        sedp = messages.data(bytes(4), discovery.SUBSCRIPTIONS_WRITER, number, discovery.encode_endpoint(reader))
        stranger.socket.sendto(stranger.datagram(sedp), stranger.meta)
    assert wait_for(lambda: participant.peers()[0].endpoints == 64)
    (writer,) = [end for end in participant._directory.writers.values() if end.info.topic == "state 0"]
    writer.write(bytes(1000))
    assert not any(port > 30_000 for _, port in ledger.sent if port < 30_100)
    stranger.listen(lambda: any(stranger.other))
    stranger.socket.sendto(stranger.datagram(messages.info_ts(0.0)), stranger.meta)  # names us: it hears us
    assert wait_for(lambda: len(writer.readers) == 64)
    assert len({port for _, port in ledger.sent if 30_000 < port < 30_100}) <= 16
    stranger.close()


def worst_datagrams(peer: RawPeer, participant: Participant) -> dict[str, bytes]:
    """Datagrams of up to 64 kB of one kind of submessage each, as costly as we could make them."""
    (replies,) = [end for end in participant._directory.writers.values() if end.info.topic == SET_FORCE.reply_topic]
    announcer, about = discovery.PUBLICATIONS_WRITER, (discovery.SUBSCRIPTIONS_READER, discovery.SUBSCRIPTIONS_WRITER)
    body = encapsulate(bytes(24))
    endpoint = EndpointInfo(guid=peer.prefix + READER, topic="state 1", type_name="type", qos=Qos())
    sedp = [
        messages.data(
            bytes(4),
            discovery.SUBSCRIPTIONS_WRITER,
            2 + n,
            discovery.encode_endpoint(
                EndpointInfo(
                    guid=peer.prefix + struct.pack(">I", (n + 9) << 8 | 4),
                    topic=f"state {n % 20}",
                    type_name="type",
                    qos=LATCHED,
                )
            ),
        )
        for n in range(300)
    ]
    every_number = list(range(1, 257))
    kinds = {
        "gaps ahead": [messages.gap(bytes(4), WRITER, 2, 1 << 40)] * 1700,
        "gaps that list": [
            messages._SUB.pack(messages.GAP, 1, 60)
            + bytes(4)
            + WRITER
            + messages.sequence_number(2)
            + messages.sequence_number(2)
            + struct.pack("<I", 256)
            + b"\xff" * 32
        ]
        * 1000,
        "questions": [messages.acknack(READER, replies.entity, 1, every_number, 1, final=False)] * 1000,
        "questions about endpoints": [messages.acknack(*about, 1, every_number, 1, final=False)] * 1000,
        "heartbeats": [messages.heartbeat(bytes(4), WRITER, 1, 1 << 40, n, final=False) for n in range(1900)],
        "announcing heartbeats": [messages.heartbeat(bytes(4), announcer, 1, 99, n, final=False) for n in range(1900)],
        "requests": [messages.data(bytes(4), WRITER, n + 1, body) for n in range(1200)],
        "requests far ahead": [messages.data(bytes(4), WRITER, n + 3000, body) for n in range(1200)],
        "endpoints": sedp,
        "one endpoint again and again": [
            messages.data(bytes(4), discovery.SUBSCRIPTIONS_WRITER, 2 + n, discovery.encode_endpoint(endpoint))
            for n in range(300)
        ],
        "one-byte fragments": [messages.data_frag(bytes(4), WRITER, n + 1, 1, 1, bytes(4000)) for n in range(1600)],
        "fragments of 4 MiB": [
            messages.data_frag(bytes(4), WRITER, n + 1, 1, 1200, bytes(4 << 20))[: 4 + 32 + 40] for n in range(900)
        ],
        "nothing": [messages._SUB.pack(messages.PAD, 1, 0)] * 16_000,
        "times": [messages._SUB.pack(messages.INFO_TS, 3, 0)] * 16_000,
        "sources": [messages._SUB.pack(messages.INFO_SRC, 1, 20) + bytes(6) + CYCLONE_VENDOR + os.urandom(12)] * 2700,
        "strangers": [
            messages._SUB.pack(messages.INFO_SRC, 1, 20)
            + bytes(6)
            + CYCLONE_VENDOR
            + os.urandom(12)
            + messages.data(bytes(4), WRITER, 1, body)
            for _ in range(600)
        ],
        "parameters": [messages.data(bytes(4), WRITER, 1, body, b"\x70\x00\x00\x00" * 15_000 + b"\x01\x00\x00\x00")],
    }
    made = {}
    for name, parts in kinds.items():
        datagram = peer.datagram()
        for part in parts:
            if len(datagram) + len(part) > 65_000:
                break
            datagram += part
        made[name] = datagram
    return made


def test_no_datagram_costs_more_than_fifty_milliseconds(busy: tuple[Participant, Ledger], client: RawPeer):
    participant, _ = busy
    costs = {}
    for name, datagram in worst_datagrams(client, participant).items():
        costs[name] = max(cost_s(participant, datagram) for _ in range(2))
    assert max(costs.values()) < MAX_COST_S, costs
    assert "internal error" not in participant.health().refusals


def test_numbers_that_cannot_be_answered_are_refused_and_cost_nothing(
    busy: tuple[Participant, Ledger], client: RawPeer
):
    participant, _ = busy
    high = struct.pack("<iI", 0x7FFFFFFF, 0xFFFFFFFF)
    low = messages.sequence_number(1)
    packets = [
        messages._SUB.pack(messages.HEARTBEAT, 1, 28) + bytes(4) + WRITER + low + high + bytes(4),
        messages._SUB.pack(messages.HEARTBEAT, 1, 28) + bytes(4) + WRITER + high + high + bytes(4),
        messages._SUB.pack(messages.GAP, 1, 28) + bytes(4) + WRITER + low + high + bytes(4),
        messages._SUB.pack(messages.ACKNACK, 1, 24) + READER + bytes(4) + high + bytes(8),
        messages._SUB.pack(messages.DATA, 5, 28) + struct.pack("<HH", 0, 16) + bytes(4) + WRITER + high + bytes(8),
    ]
    for _ in range(20):
        for packet in packets:
            client.socket.sendto(client.datagram(packet), client.user)
    began_s = time.monotonic()
    client.request(1, encapsulate(bytes(16 + 24)))
    assert client.listen(lambda: client.replies)
    assert time.monotonic() - began_s < 1.0
    assert participant.health().refusals == {"sequence number is beyond all that can be counted": 100}


def test_what_is_kept_for_delivery_has_a_bound(busy: tuple[Participant, Ledger], client: RawPeer):
    participant, _ = busy
    early = encapsulate(bytes(20_000))
    tracemalloc.start()
    before, _ = tracemalloc.get_traced_memory()
    for number in range(2, 4000):  # the first one never comes
        participant._on_datagram(client.datagram(messages.data(bytes(4), WRITER, number, early)), "127.0.0.1")
    for number in range(5000, 5008):  # fragments of one byte, of eight samples
        for first in range(1, 5001, 1000):
            frags = [messages.data_frag(bytes(4), WRITER, number, first + n, 1, bytes(5000)) for n in range(1000)]
            participant._on_datagram(client.datagram(*frags), "127.0.0.1")
    for number in range(2000):  # of a writer that is never announced
        entity = struct.pack(">I", (number + 77) << 8 | 3)
        participant._on_datagram(client.datagram(messages.data(bytes(4), entity, 1, early)), "127.0.0.1")
    grown = tracemalloc.get_traced_memory()[0] - before
    tracemalloc.stop()
    assert participant.held.used <= MAX_HELD_BYTES
    assert grown < 1.5 * MAX_HELD_BYTES
    refusals = participant.health().refusals
    assert refusals["more unfinished samples than are kept"]
    assert refusals["sample has more than 4096 fragments"]
    assert refusals["more samples of unknown writers than are kept"]
    client.take_leave()
    assert wait_for(lambda: participant.held.used == 0)


def test_spoofed_participants_with_endless_leases_shut_nobody_out(busy: tuple[Participant, Ledger], domain: int):
    participant, _ = busy
    for _ in range(2 * MAX_PEERS):
        participant._on_datagram(announcement(os.urandom(12), [9]), "127.0.0.1")
    assert len(participant.peers()) == MAX_PEERS
    assert max(peer.lease_s for peer in participant.peers()) <= 10.0
    got: list[Sample] = []
    with Participant(domain, name="honest") as honest:
        honest.subscribe("state 1", "type", got.append, qos=LATCHED)
        assert wait_for(lambda: got, 3.0)
        for _ in range(2 * MAX_PEERS):
            participant._on_datagram(announcement(os.urandom(12), [9]), "127.0.0.1")
        assert "honest" in {peer.name for peer in participant.peers()}


def test_a_writer_that_was_spoken_for_is_heard_again(busy: tuple[Participant, Ledger], client: RawPeer):
    participant, _ = busy
    lie = messages.heartbeat(bytes(4), WRITER, 1 << 40, 1 << 40, 1, final=True)
    participant._on_datagram(client.datagram(lie), "127.0.0.1")
    client.request(1, encapsulate(bytes(16 + 24)))
    assert not client.listen(lambda: client.replies, 0.2)
    client.request(1, encapsulate(bytes(16 + 24)))  # it was asked for again
    assert client.listen(lambda: client.replies)


def test_requests_beyond_what_may_wait_push_out_the_oldest_and_are_counted():
    refused: Counter[str] = Counter()
    waiting = Waiting[int](refused, 3)
    for number in range(5):
        waiting.put(number)
    assert waiting.take(2) == [2, 3]
    assert waiting.take() == [4]
    assert refused == {"more requests than can be looked at": 2}
