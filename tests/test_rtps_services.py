"""Services over RTPS, asked by peers made of bytes, and what nobody should send."""

import math
import os
import random
import resource
import socket
import struct
import time
from collections.abc import Callable, Iterator
from dataclasses import replace

import pytest
from patience import wait_for
from raw_rtps_peer import CAPTURES, READER, WRITER, RawPeer, forces

from thenar.errors import BadValue
from thenar.wire.rtps import Health, Participant, Qos, Service, discovery, messages, ros
from thenar.wire.rtps.discovery import EndpointInfo, ParticipantInfo
from thenar.wire.rtps.messages import (
    CYCLONE_VENDOR,
    FAST_VENDOR,
    RUST_VENDOR,
    Data,
    Gap,
    Heartbeat,
)
from thenar.wire.rtps.services import REPLIES_KEPT
from thenar.wire.rtps.writer import MAX_KEPT, encapsulate

PREFIX = bytes(range(12))


SET_FORCE = ros.service_names("/set_force", "thenar_test/srv/SetForce")


REFUSAL = struct.pack("<?3xf", False, 0.0)


# Services.


class Server:
    """A service that takes six floats between 0 and 5000 and answers with a flag and the first of them."""

    def __init__(self, participant: Participant):
        self.handled: list[tuple[float, ...]] = []
        self.service: Service = participant.serve(
            SET_FORCE, self.handle, refusal=REFUSAL, body_bytes=24, check=self.check
        )

    def handle(self, body: bytes) -> bytes:
        assert len(body) == 24
        self.handled.append(struct.unpack("<6f", body))
        return struct.pack("<?3xf", True, self.handled[-1][0])

    @staticmethod
    def check(body: bytes) -> str | None:
        values = struct.unpack_from("<6f", body)
        return None if all(0.0 <= value <= 5000.0 for value in values) else "is out of range"


@pytest.fixture
def served(domain: int) -> Iterator[tuple[Participant, Server, Callable[..., RawPeer]]]:
    peers: list[RawPeer] = []
    with Participant(domain) as participant:
        server = Server(participant)

        def connect(vendor: bytes, **more: bool) -> RawPeer:
            peer = RawPeer(domain, SET_FORCE, vendor=vendor, **more)
            peers.append(peer)
            before = len(server.service.clients)
            peer.announce()
            assert wait_for(lambda: len(server.service.clients) == before + 1)
            return peer

        yield participant, server, connect
    for peer in peers:
        peer.close()


HEADER = struct.pack("<Qq", 0x1122334455667788, 42)


def with_header(payload: bytes) -> bytes:
    return payload[:4] + HEADER + payload[4:]


def related(peer: RawPeer, entity: bytes, pid: int) -> bytes:
    value = peer.prefix + entity + bytes.fromhex("ffffffff00000000")
    return messages.parameter_list([(pid, value)])


@pytest.mark.parametrize("pid", [0x0083, 0x800F])
def test_fast_request_is_answered_with_both_identities(served, pid: int):
    _, server, connect = served
    peer = connect(FAST_VENDOR)
    peer.request(1, forces(7, 1, 2, 3, 4, 5), related(peer, READER, pid))
    assert peer.listen(lambda: peer.replies)
    (reply,) = peer.replies
    identity = peer.prefix + READER + struct.pack("<iI", 0, 1)
    assert reply.inline == {0x0083: identity, 0x800F: identity}
    assert reply.payload == b"\x00\x01\x00\x00\x01\x00\x00\x00" + struct.pack("<f", 7)
    assert server.handled == [(7, 1, 2, 3, 4, 5)]


def test_cyclone_request_is_answered_with_its_header(served):
    _, server, connect = served
    peer = connect(CYCLONE_VENDOR)
    peer.request(1, with_header(forces(7, 1, 2, 3, 4, 5)))
    assert peer.listen(lambda: peer.replies)
    (reply,) = peer.replies
    assert reply.inline == {}
    assert reply.payload == b"\x00\x01\x00\x00" + HEADER + b"\x01\x00\x00\x00" + struct.pack("<f", 7)
    assert server.handled == [(7, 1, 2, 3, 4, 5)]


def test_plain_request_is_answered_with_the_identity_of_its_writer(served):
    _, server, connect = served
    peer = connect(RUST_VENDOR)
    peer.request(1, forces(7, 1, 2, 3, 4, 5))
    assert peer.listen(lambda: peer.replies)
    (reply,) = peer.replies
    assert reply.inline[0x0083] == peer.prefix + WRITER + struct.pack("<iI", 0, 1)
    assert server.handled == [(7, 1, 2, 3, 4, 5)]


@pytest.mark.parametrize(
    ("vendor", "payload", "why"),
    [
        (FAST_VENDOR, with_header(forces(1, 1, 1, 1, 1, 1)), "plain request has a body of 40 bytes, wanted 24"),
        (RUST_VENDOR, with_header(forces(1, 1, 1, 1, 1, 1)), "plain request has a body of 40 bytes, wanted 24"),
        (CYCLONE_VENDOR, forces(1, 1, 1, 1, 1, 1), "Cyclone request has a body of 8 bytes, wanted 24"),
        (CYCLONE_VENDOR, forces(1, 1, 1, 1, 1, 1)[:12], "Cyclone request is shorter than its header"),
        (FAST_VENDOR, forces(1, 1, 1, 1, 1, 1)[:-4], "plain request has a body of 20 bytes, wanted 24"),
        (FAST_VENDOR, forces(1, 1, 1, 1, 1, 1) + bytes(4), "plain request has a body of 28 bytes, wanted 24"),
        (FAST_VENDOR, forces(math.nan, 1, 1, 1, 1, 1), "plain request is out of range"),
        (FAST_VENDOR, forces(1, 1, 1, -1, 1, 1), "plain request is out of range"),
        (CYCLONE_VENDOR, with_header(forces(1, 1, 1, 1e9, 1, 1)), "Cyclone request is out of range"),
    ],
)
def test_request_that_cannot_be_one_is_answered_and_never_reaches_the_handler(
    served, vendor: bytes, payload: bytes, why: str
):
    participant, server, connect = served
    peer = connect(vendor)
    peer.request(1, payload)
    assert wait_for(lambda: participant.health().refusals == {f"{SET_FORCE.request_topic}: {why}": 1})
    good = forces(2, 1, 1, 1, 1, 1)
    peer.request(2, with_header(good) if vendor == CYCLONE_VENDOR else good)
    answers = 1 if "shorter than its header" in why else 2  # which says whom to answer
    told: dict[int, bytes] = {}
    assert peer.listen(lambda: told.update((r.number, r.payload[-8:]) for r in peer.replies) or len(told) == answers)
    assert list(told.values()) == [REFUSAL, struct.pack("<?3xf", True, 2.0)][-answers:]
    assert server.handled == [(2, 1, 1, 1, 1, 1)]
    assert server.service.refused == 1


def test_request_whose_handler_fails_is_answered_too(domain: int):
    def fail(_body: bytes) -> bytes:
        raise RuntimeError("on purpose")

    with Participant(domain) as participant:
        service = participant.serve(SET_FORCE, fail, refusal=REFUSAL, body_bytes=24)
        peer = RawPeer(domain, SET_FORCE, vendor=FAST_VENDOR)
        peer.announce()
        assert wait_for(lambda: service.clients)
        peer.request(1, forces(1, 2, 3, 4, 5, 6))
        assert peer.listen(lambda: peer.replies)
        assert {reply.payload for reply in peer.replies} == {b"\x00\x01\x00\x00" + REFUSAL}
        assert wait_for(lambda: participant.health().refusals == {"a callback failed": 1})
        peer.close()


def test_request_that_comes_twice_is_handled_once_and_answered_from_memory(served):
    _, server, connect = served
    peer = connect(FAST_VENDOR, reliable=False)
    for _ in range(3):
        peer.request(1, forces(7, 1, 2, 3, 4, 5))
        time.sleep(0.02)
    assert peer.listen(lambda: len(peer.replies) == 3)
    assert len({(reply.number, reply.payload) for reply in peer.replies}) == 1
    assert len(server.handled) == 1
    assert server.service.answered == 1


def test_reply_goes_to_the_one_who_asked_and_tells_others_nothing(served):
    _, _, connect = served
    asking, silent = connect(FAST_VENDOR), connect(RUST_VENDOR)
    for number in range(1, 6):
        asking.request(number, forces(number, 1, 2, 3, 4, 5), related(asking, READER, 0x800F))
        assert asking.listen(lambda number=number: len(asking.replies) == number)
    assert not silent.listen(lambda: bool(silent.replies), 0.3)
    assert {to for to, sub in asking.inbox if isinstance(sub, Data) and sub.reader == READER} == {asking.prefix}
    beats = [sub for _, sub in silent.inbox if isinstance(sub, Heartbeat) and sub.reader == READER]
    assert beats
    assert all((beat.first, beat.last) == (1, 0) for beat in beats)


def test_replies_to_others_are_gaps_for_a_client(served):
    _, _, connect = served
    one, two = connect(FAST_VENDOR), connect(RUST_VENDOR)
    for number in (1, 2):
        for peer in (one, two):
            peer.request(number, forces(number, 1, 2, 3, 4, 5))
            assert peer.listen(lambda peer=peer, number=number: len(peer.replies) == number)
    assert [reply.number for reply in one.replies] == [1, 3]
    assert [(gap.start, gap.base) for _, gap in one.inbox if isinstance(gap, Gap)] == [(2, 3)]


def test_reply_is_sent_again_until_it_is_confirmed(served):
    _, _, connect = served
    peer = connect(FAST_VENDOR)
    peer.request(1, forces(7, 1, 2, 3, 4, 5))

    def asked() -> bool:
        beats = [sub for _, sub in peer.inbox if isinstance(sub, Heartbeat) and sub.reader == READER]
        return any(not beat.final and beat.last == 1 for beat in beats)

    assert peer.listen(asked)
    writer = peer.replies[0].writer
    peer.socket.sendto(peer.datagram(messages.acknack(READER, writer, 1, [1], 1, final=False)), peer.user)
    assert peer.listen(lambda: len(peer.replies) == 2)
    assert peer.replies[0] == peer.replies[1]
    peer.socket.sendto(peer.datagram(messages.acknack(READER, writer, 2, [], 2, final=True)), peer.user)
    time.sleep(0.1)
    peer.listen(lambda: False, 0.05)
    quiet = len(peer.inbox)
    peer.listen(lambda: False, 0.3)
    assert not [sub for _, sub in peer.inbox[quiet:] if isinstance(sub, Heartbeat) and sub.reader == READER]


@pytest.mark.parametrize("requests", [1, 100])
def test_replies_wait_for_a_reader_that_is_announced_late(requests: int, domain: int):
    with Participant(domain) as participant:
        server = Server(participant)
        peer = RawPeer(domain, replace(SET_FORCE, reply_topic="elsewhere"), vendor=FAST_VENDOR)
        peer.announce()
        assert wait_for(lambda: len(server.service.clients) == 1)
        for number in range(1, requests + 1):
            peer.request(number, forces(7, 1, 2, 3, 4, 5))
        assert wait_for(lambda: server.service.answered == requests)
        peer.names = SET_FORCE
        late = EndpointInfo(
            guid=peer.prefix + READER, topic=SET_FORCE.reply_topic, type_name=SET_FORCE.reply_type, qos=Qos()
        )
        sedp = messages.data(bytes(4), discovery.SUBSCRIPTIONS_WRITER, 2, discovery.encode_endpoint(late))
        peer.socket.sendto(peer.datagram(sedp), peer.meta)
        assert peer.listen(lambda: len({reply.number for reply in peer.replies}) == requests)
        peer.close()


def test_replies_that_nobody_fetches_are_kept_up_to_a_limit_and_confirmed_ones_no_longer_than_granted(domain: int):
    with Participant(domain) as participant, Participant(domain) as client:
        server = Server(participant)
        peer = RawPeer(domain, replace(SET_FORCE, reply_topic="elsewhere"), vendor=FAST_VENDOR)
        peer.announce()
        assert wait_for(lambda: len(server.service.clients) == 1)
        history = server.service._writer._history
        for last in range(100, MAX_KEPT + 200, 100):
            asked = range(last - 99, last + 1)
            samples = [messages.data(bytes(4), WRITER, number, forces(7, 1, 2, 3, 4, 5)) for number in asked]

            def answered(last: int = last, datagram: bytes = peer.datagram(*samples)) -> bool:
                peer.socket.sendto(datagram, peer.user)  # once more, if some of it was dropped on a busy machine
                return wait_for(lambda: server.service.answered == last, 0.5)

            assert wait_for(answered)
        assert MAX_KEPT <= len(history) <= MAX_KEPT + 1
        peer.take_leave()
        assert wait_for(lambda: not history)
        replies: list[bytes] = []
        writer = client.advertise(SET_FORCE.request_topic, SET_FORCE.request_type)
        reader = client.subscribe(SET_FORCE.reply_topic, SET_FORCE.reply_type, lambda reply: replies.append(reply.body))
        assert writer.wait_for_readers(5.0)
        assert reader.wait_for_writers(5.0)

        def confirmed() -> bool:
            asked = writer.write(forces(7, 1, 2, 3, 4, 5)[4:])
            return wait_for(lambda: len(replies) >= asked, 5.0) and len(history) == REPLIES_KEPT < asked

        assert wait_for(confirmed, 10.0)
        peer.close()


def test_health_tells_of_services_and_clients(served):
    participant, server, connect = served
    peer = connect(CYCLONE_VENDOR)
    peer.request(1, with_header(forces(7, 1, 2, 3, 4, 5)))
    peer.request(2, forces(7, 1, 2, 3, 4, 5))
    assert wait_for(lambda: server.service.refused == 1)
    (told,) = participant.health().services
    assert (told.request_topic, told.answered, told.refused) == (SET_FORCE.request_topic, 1, 1)
    assert told.clients == ("Cyclone DDS@127.0.0.1",)
    server.service.close()
    assert participant.health().services == ()
    assert participant.health().endpoints == ()


def test_service_needs_a_way_to_tell_requests_apart(domain: int):
    with Participant(domain) as participant, pytest.raises(BadValue, match="other flavour"):
        participant.serve(SET_FORCE, lambda body: body, refusal=b"")


# What nobody should send.


def mutations(luck: random.Random, ours: bytes, theirs: bytes) -> Iterator[bytes]:
    """Captured datagrams, readdressed so that they are taken seriously, with a few bytes wrong; and plain noise."""
    seen = messages.header(PREFIX) + messages.info_dst(ours)
    announced = ParticipantInfo(prefix=PREFIX, meta=(("127.0.0.1", 9),), builtins=discovery.OUR_BUILTINS)
    body = encapsulate(os.urandom(300))
    # Kinds that no capture has.
    rare = [
        messages.gap(bytes(4), WRITER, 3, 9),
        messages.nack_frag(READER, b"\x00\x00\x01\x03", 1, [1, 2], 1),
        messages.heartbeat_frag(bytes(4), WRITER, 4, 2, 1),
        messages.data(discovery.SPDP_READER, discovery.SPDP_WRITER, 1, discovery.encode_participant(announced)),
        *(messages.data_frag(bytes(4), WRITER, 4, fragment, 100, body) for fragment in (1, 2, 3, 4)),
    ]
    captures = [*CAPTURES.values(), *(seen + submessage for submessage in rare)]
    while True:
        if luck.random() < 0.1:
            yield luck.choice([b"", b"RTPS\x02\x03"]) + luck.randbytes(luck.randrange(200))
            continue
        datagram = bytearray(luck.choice(captures))
        if datagram[20] == messages.INFO_DST:
            datagram[24:36] = ours
        source = bytes(datagram[8:20])
        datagram = bytearray(bytes(datagram).replace(source, theirs))
        for _ in range(luck.choice([0, 1, 1, 2, 4, 8])):
            at = luck.randrange(20, len(datagram))
            datagram[at] = luck.choice(
                [0, 1, 0x7F, 0x80, 0xFF, luck.randrange(256), datagram[at] ^ 1 << luck.randrange(8)]
            )
        if luck.random() < 0.2:
            del datagram[luck.randrange(20, len(datagram)) :]
        yield bytes(datagram)


def bombard(domain: int, duration_s: float) -> tuple[int, Health]:
    """Throw bad datagrams at a participant; return how many, and how it is afterwards."""
    luck = random.Random(7)
    with Participant(domain) as participant:
        server = Server(participant)
        peers = [RawPeer(domain, SET_FORCE, vendor=vendor) for vendor in (CYCLONE_VENDOR, FAST_VENDOR, RUST_VENDOR)]
        for peer in peers:
            peer.announce()
        assert wait_for(lambda: len(server.service.clients) == 3)
        streams = [mutations(luck, participant.prefix, peer.prefix) for peer in peers]
        before_kb = 0
        sent = 0
        end_s = time.monotonic() + duration_s
        while time.monotonic() < end_s:
            for peer, stream in zip(peers, streams, strict=True):
                for target in (peer.meta, peer.user):
                    peer.socket.sendto(next(stream), target)
                    sent += 1
            time.sleep(0.0005)
            if not before_kb and time.monotonic() > end_s - duration_s / 2:
                before_kb = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        grown_kb = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before_kb
        assert grown_kb < 20_000
        assert all(server.check(struct.pack("<6f", *values)) is None for values in server.handled)
        fresh = RawPeer(domain, SET_FORCE, vendor=FAST_VENDOR)
        fresh.announce()
        handled = len(server.handled)
        assert wait_for(lambda: any(fresh.prefix == guid[:12] for guid in server.service.clients))
        fresh.request(1, forces(11, 1, 2, 3, 4, 5))
        assert fresh.listen(lambda: fresh.replies)
        assert server.handled[handled:] == [(11, 1, 2, 3, 4, 5)]
        for peer in (*peers, fresh):
            peer.close()
        return sent, participant.health()


def test_garbage_over_sockets_is_counted_and_harms_nothing(domain: int):
    sent, health = bombard(domain, 5.0)
    assert sent > 500
    assert sum(health.refusals.values()) > sent / 10
    assert len(health.refusals) > 10
    assert "internal error" not in health.refusals
    assert "a callback failed" not in health.refusals


def test_request_from_someone_not_announced_is_refused(domain: int):
    with Participant(domain) as participant:
        server = Server(participant)
        peer = RawPeer(domain, SET_FORCE, vendor=FAST_VENDOR)
        peer.request(1, forces(7, 1, 2, 3, 4, 5))
        wanted = "submessage from a writer that is not matched"
        assert wait_for(lambda: participant.health().refusals.get(wanted) == 2)
        assert server.handled == []
        peer.close()


def test_nobody_can_send_another_peer_away(domain: int):
    with Participant(domain) as a, Participant(domain) as b:
        assert wait_for(lambda: a.health().peers)
        guid = b.prefix + discovery.PARTICIPANT
        farewell = messages.data(
            discovery.SPDP_READER,
            discovery.SPDP_WRITER,
            9,
            discovery.encode_key(discovery.PID_PARTICIPANT_GUID, guid),
            discovery.disposal(guid),
            key_only=True,
        )
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sender:
            sender.sendto(messages.header(PREFIX) + farewell, a.info.meta[0])
        time.sleep(0.1)
        assert len(a.health().peers) == 1
