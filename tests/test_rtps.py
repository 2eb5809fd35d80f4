"""RTPS: bytes, discovery, topics and services among our own participants and peers made of bytes.

Real peers of other vendors are in test_rtps_peers.py.
"""

import contextlib
import math
import os
import random
import resource
import socket
import struct
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from lossy_network import LossyNetwork
from patience import domains, wait_for
from raw_rtps_peer import READER, WRITER, RawPeer, forces

from thenar.errors import BadValue
from thenar.wire.rtps import LATCHED, SENSOR_DATA, Health, Participant, Qos, Sample, Service, discovery, messages, ros
from thenar.wire.rtps.discovery import EndpointInfo, ParticipantInfo, SampleIdentity
from thenar.wire.rtps.messages import (
    CYCLONE_VENDOR,
    FAST_VENDOR,
    RUST_VENDOR,
    AckNack,
    Data,
    DataFrag,
    Gap,
    Heartbeat,
    NackFrag,
    Refused,
)
from thenar.wire.rtps.network import Network, multicast_port, unicast_ports
from thenar.wire.rtps.qos import mismatch
from thenar.wire.rtps.reader import unwrap
from thenar.wire.rtps.writer import encapsulate

CAPTURES = {
    (who, what): bytes.fromhex(data)
    for who, what, data in (
        [part.strip() for part in line.split("|")]
        for line in (Path(__file__).parent / "data" / "rtps_captures.txt").read_text("ascii").splitlines()
        if not line.startswith("#")
    )
}
PREFIX = bytes(range(12))
SET_FORCE = ros.service_names("/set_force", "thenar_test/srv/SetForce")
REFUSAL = struct.pack("<?3xf", False, 0.0)

_domains = domains(110, 30)


@pytest.fixture
def domain() -> int:
    """A domain of one's own, so that tests do not hear each other."""
    return next(_domains)


def read_one(submessage: bytes) -> messages.Submessage:
    message = messages.read_message(messages.header(PREFIX) + submessage)
    assert message.refused is None
    (found,) = message.submessages
    return found


# Bytes.


@pytest.mark.parametrize(
    ("built", "wire", "meant"),
    [
        (
            messages.heartbeat(READER, WRITER, 3, 7, 9, final=True),
            "07031c00 00000204 00000103 00000000 03000000 00000000 07000000 09000000",
            Heartbeat(READER, WRITER, 3, 7, True),
        ),
        (
            messages.acknack(READER, WRITER, 5, [5, 7, 37], 2, final=False),
            "06012000 00000204 00000103 00000000 05000000 21000000 000000a0 00000080 02000000",
            AckNack(READER, WRITER, 5, (5, 7, 37), False),
        ),
        (
            messages.acknack(READER, WRITER, (1 << 32) + 2, [], 2, final=True),
            "06031800 00000204 00000103 01000000 02000000 00000000 02000000",
            AckNack(READER, WRITER, (1 << 32) + 2, (), True),
        ),
        (
            messages.gap(READER, WRITER, 4, 9),
            "08011c00 00000204 00000103 00000000 04000000 00000000 09000000 00000000",
            Gap(READER, WRITER, 4, 9, ()),
        ),
        (
            messages.data(READER, WRITER, 6, b"\x00\x01\x00\x00abcd"),
            "15051c00 00001000 00000204 00000103 00000000 06000000 00010000 61626364",
            Data(READER, WRITER, 6, {}, b"\x00\x01\x00\x00abcd", False),
        ),
        (
            messages.data_frag(READER, WRITER, 6, 2, 4, b"abcdefghij"),
            "16012400 00001c00 00000204 00000103 00000000 06000000 02000000 01000400 0a000000 65666768",
            DataFrag(READER, WRITER, 6, {}, 2, 1, 4, 10, b"efgh", False),
        ),
        (
            messages.nack_frag(READER, WRITER, 6, [2, 3], 1),
            "12012000 00000204 00000103 00000000 06000000 02000000 02000000 000000c0 01000000",
            NackFrag(READER, WRITER, 6, (2, 3)),
        ),
        (
            messages.heartbeat_frag(READER, WRITER, 6, 3, 1),
            "13011800 00000204 00000103 00000000 06000000 03000000 01000000",
            messages.HeartbeatFrag(READER, WRITER, 6, 3),
        ),
        (messages.info_dst(PREFIX), "0e010c00 000102030405060708090a0b", messages.InfoDst(PREFIX)),
        (messages.info_ts(3.5), "09010800 03000000 00000080", messages.InfoTs(3.5)),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, tuple) else "",
)
def test_submessage_has_the_bytes_of_the_standard_and_reads_back(built: bytes, wire: str, meant: messages.Submessage):
    assert built == bytes.fromhex(wire)
    assert read_one(built) == meant


def test_big_endian_submessages_are_read():
    acknack = bytes.fromhex("06000020 00000204 00000103 00000000 00000005 00000021 a0000000 80000000 00000002")
    assert read_one(acknack) == AckNack(READER, WRITER, 5, (5, 7, 37), False)


@pytest.mark.parametrize("missing", [[1], [256], [1, 256], list(range(1, 257)), list(range(1, 257, 3))])
def test_number_sets_read_back(missing: list[int]):
    found = read_one(messages.acknack(READER, WRITER, 1, missing, 1, final=False))
    assert isinstance(found, AckNack)
    assert list(found.missing) == missing


@pytest.mark.parametrize(
    ("datagram", "why"),
    [
        (b"", "datagram is not RTPS"),
        (b"RTPX" + bytes(16), "datagram is not RTPS"),
        (b"RTPS\x01\x00" + bytes(14), "RTPS version is not 2"),
    ],
)
def test_datagram_that_is_not_rtps_is_refused(datagram: bytes, why: str):
    with pytest.raises(Refused, match=why):
        messages.read_message(datagram)


@pytest.mark.parametrize(
    ("submessage", "why"),
    [
        ("15050c00 00001000 00000204 00000103", "DATA is too short"),
        ("15050008 00001000 00000204", "submessage is longer than its datagram"),
        ("15051400 00001000 00000204 00000103 00000000 00000000", "DATA has a sequence number below 1"),
        ("15051400 00001000 00000204 00000103 ffffffff 01000000", "DATA has a sequence number below 1"),
        ("15051400 0000ff00 00000204 00000103 00000000 01000000", "inline parameters lie outside"),
        ("15051400 00000400 00000204 00000103 00000000 01000000", "inline parameters lie outside"),
        ("150d1400 00001000 00000204 00000103 00000000 01000000", "both data and key"),
        ("15071800 00001000 00000204 00000103 00000000 01000000 70001000", "parameter is longer than its list"),
        ("15071800 00001000 00000204 00000103 00000000 01000000 70000200", "not a multiple of 4"),
        ("15071400 00001000 00000204 00000103 00000000 01000000", "parameter list has no end"),
        ("07011c00 00000204 00000103 00000000 09000000 00000000 07000000 09000000", "HEARTBEAT ends before"),
        ("07011c00 00000204 00000103 00000000 00000000 00000000 07000000 09000000", "HEARTBEAT starts below 1"),
        ("06011800 00000204 00000103 00000000 05000000 01010000 02000000", "more than 256 numbers"),
        ("06011800 00000204 00000103 00000000 05000000 21000000 02000000", "longer than its submessage"),
        ("08011c00 00000204 00000103 00000000 09000000 00000000 04000000 00000000", "GAP ends before it starts"),
        (
            "16012400 00001c00 00000204 00000103 00000000 06000000 09000000 01000400 0a000000 65666768",
            "outside their sample",
        ),
        ("16012000 00001c00 00000204 00000103 00000000 06000000 02000000 01000400 0a000000", "shorter than its frag"),
        ("0e010400 00010203", "INFO_DST is too short"),
        ("09010400 00010203", "INFO_TS is too short"),
        ("0c010400 00010203", "INFO_SRC is too short"),
    ],
)
def test_submessage_that_does_not_add_up_is_refused_and_what_came_before_counts(submessage: str, why: str):
    good = messages.heartbeat(READER, WRITER, 1, 1, 1, final=True)
    message = messages.read_message(messages.header(PREFIX) + good + bytes.fromhex(submessage))
    assert [type(sub) for sub in message.submessages] == [Heartbeat]
    assert message.refused is not None
    assert why in message.refused


@pytest.mark.parametrize("capture", CAPTURES, ids=" ".join)
def test_captured_datagrams_are_read_whole(capture: tuple[str, str]):
    message = messages.read_message(CAPTURES[capture])
    assert message.refused is None
    assert message.submessages


@pytest.mark.parametrize("capture", CAPTURES, ids=" ".join)
def test_captured_datagrams_cut_anywhere_are_refused_quietly(capture: tuple[str, str]):
    datagram = CAPTURES[capture]
    for length in range(len(datagram)):
        with contextlib.suppress(Refused):
            for sub in messages.read_message(datagram[:length]).submessages:
                if isinstance(sub, Data) and sub.payload and sub.writer == discovery.PUBLICATIONS_WRITER:
                    discovery.decode_endpoint(sub.payload, is_writer=True)


@pytest.mark.parametrize(
    ("who", "header", "first", "related"),
    [
        ("cyclone 11.0.1", 16, 1001.0, None),
        ("fast dds 3.0.1", 0, 2001.0, READER),
        ("fast dds 2.9.1", 0, 4001.0, READER),
        ("rustdds 0.14.3", 0, 3001.0, None),
    ],
)
def test_requests_of_every_vendor_carry_what_their_flavour_says(
    who: str, header: int, first: float, related: bytes | None
):
    message = messages.read_message(CAPTURES[who, "request"])
    (request,) = [sub for sub in message.submessages if isinstance(sub, Data)]
    assert request.payload is not None
    body = unwrap(request.payload)
    assert struct.unpack_from("<f", body, header) == (first,)
    asker = discovery.read_related_guid(request.inline)
    assert asker == (message.header.prefix + related if related else None)


@pytest.mark.parametrize("who", ["cyclone 11.0.1", "fast dds 3.0.1", "fast dds 2.9.1"])
def test_announced_endpoints_of_every_vendor_are_understood(who: str):
    for what, topic, is_writer in (
        ("announces the request writer", SET_FORCE.request_topic, True),
        ("announces the reply reader", SET_FORCE.reply_topic, False),
    ):
        message = messages.read_message(CAPTURES[who, what])
        (sample,) = [sub for sub in message.submessages if isinstance(sub, Data)]
        assert sample.payload is not None
        endpoint = discovery.decode_endpoint(sample.payload, is_writer=is_writer)
        assert (endpoint.topic, endpoint.guid[:12]) == (topic, message.header.prefix)
        assert endpoint.qos.reliable
        assert endpoint.qos.durability == 0


def test_participant_and_endpoint_read_back():
    participant = ParticipantInfo(
        prefix=PREFIX,
        lease_s=7.5,
        meta=(("127.0.0.1", 7410),),
        user=(("127.0.0.1", 7411), ("192.0.2.7", 7411)),
        builtins=0xC3F,
        name="thenar",
        user_data=ros.ENCLAVE,
        domain=3,
    )
    assert discovery.decode_participant(discovery.encode_participant(participant), b"??") == participant
    endpoint = EndpointInfo(
        guid=PREFIX + WRITER, topic="rt/a", type_name="b::c_", qos=Qos(depth=1), user_data=b"typehash=x;"
    )
    assert discovery.decode_endpoint(discovery.encode_endpoint(endpoint), is_writer=True) == endpoint
    with pytest.raises(Refused, match="announced as what it is not"):
        discovery.decode_endpoint(discovery.encode_endpoint(endpoint), is_writer=False)


@pytest.mark.parametrize("body", [b"", b"a", b"ab", b"abc", b"abcd"])
def test_body_comes_out_of_its_encapsulation_without_padding(body: bytes):
    payload = encapsulate(body)
    assert len(payload) % 4 == 0
    assert unwrap(payload) == body


@pytest.mark.parametrize(
    "payload", [b"", b"\x00\x01\x00", b"\x00\x01\x00\x03a", b"\x00\x00\x00\x00", b"\x00\x07\x00\x00"]
)
def test_payload_that_is_not_plain_little_endian_cdr_is_refused(payload: bytes):
    with pytest.raises(Refused):
        unwrap(payload)


def test_writer_keeps_at_least_one_sample():
    with pytest.raises(BadValue, match="1 or more samples"):
        Qos(depth=0)


@pytest.mark.parametrize(
    ("offered", "asked", "why"),
    [
        (Qos(), Qos(), None),
        (Qos(), SENSOR_DATA, None),
        (SENSOR_DATA, Qos(), "the reader asks for RELIABLE, the writer offers BEST_EFFORT"),
        (Qos(), LATCHED, "the reader asks for TRANSIENT_LOCAL, the writer offers VOLATILE"),
        (LATCHED, Qos(), None),
        (Qos(), Qos(deadline_s=0.1), "deadline of 0.1 s"),
        (Qos(), Qos(liveliness_lease_s=1.0), "AUTOMATIC liveliness within 1 s"),
        (Qos(representations=(2,)), Qos(), "encodes as 2"),
        (Qos(), Qos(representations=(0, 2)), None),
        (Qos(partitions=("left",)), Qos(), "partitions"),
        (Qos(partitions=("left",)), Qos(partitions=("l*",)), None),
        (Qos(exclusive=True), Qos(), "EXCLUSIVE"),
    ],
)
def test_mismatch_is_told_in_words(offered: Qos, asked: Qos, why: str | None):
    found = mismatch(offered, asked)
    assert (found is None) == (why is None)
    assert (why or "") in (found or "")


def test_peers_on_loopback_are_reached_on_loopback_whatever_they_announce():
    announced = (("192.0.2.7", 7411), ("127.0.0.1", 7411), ("127.0.0.1", 7413))
    found = discovery.reachable(announced, source="127.0.0.1", own=("127.0.0.1",))
    assert found == (("127.0.0.1", 7411), ("127.0.0.1", 7413))


def test_peers_elsewhere_are_reached_where_they_were_heard_and_never_on_loopback():
    own = ("192.0.2.2", "127.0.0.1")
    announced = (("10.0.0.7", 7411), ("192.0.2.7", 7411), ("127.0.0.1", 7411))
    assert discovery.reachable(announced, source="192.0.2.7", own=own) == (("192.0.2.7", 7411),)
    assert discovery.reachable(announced, source="192.0.2.9", own=own) == (("192.0.2.9", 7411),)
    assert discovery.reachable(announced[2:], source="192.0.2.2", own=own) == announced[2:]


# ROS 2 names.


def test_ros_names_are_mangled_as_ros_does():
    assert ros.topic_name("/inspire_hand/state/left_hand") == "rt/inspire_hand/state/left_hand"
    assert ros.message_type("sensor_msgs/msg/JointState") == "sensor_msgs::msg::dds_::JointState_"
    names = ros.service_names("/a/set_force", "bodyctrl_msgs/srv/SetForce")
    assert (names.request_topic, names.reply_topic) == ("rq/a/set_forceRequest", "rr/a/set_forceReply")
    assert names.request_type == "bodyctrl_msgs::srv::dds_::SetForce_Request_"
    assert names.reply_type == "bodyctrl_msgs::srv::dds_::SetForce_Response_"
    assert ros.type_hash_data("RIHS01_ab") == b"typehash=RIHS01_ab;"


@pytest.mark.parametrize("name", ["state", "/state/", "//state", "/1state", "/sta te", ""])
def test_names_ros_would_not_take_are_refused(name: str):
    with pytest.raises(BadValue, match="full ROS 2 name"):
        ros.topic_name(name)


@pytest.mark.parametrize(("user_data", "gid_bytes"), [(b"", 24), (b"typehash=RIHS01_ab;", 16)])
def test_node_is_told_in_the_layout_of_the_ros_that_reads_it(user_data: bytes, gid_bytes: int):
    assert ros.gid_bytes(user_data) == gid_bytes
    me, reader, writer = PREFIX + b"\x00\x00\x01\xc1", PREFIX + READER, PREFIX + WRITER
    pad = bytes(gid_bytes - 16)
    assert ros.encode_node(me, "/", "thenar", [reader], [writer, reader], gid_bytes=gid_bytes) == (
        me + pad + b"\x01\x00\x00\x00"
        b"\x02\x00\x00\x00/\x00\x00\x00"
        b"\x07\x00\x00\x00thenar\x00\x00"
        b"\x01\x00\x00\x00" + reader + pad + b"\x02\x00\x00\x00" + writer + pad + reader + pad
    )


# Sockets.


def test_ports_follow_the_formula():
    assert multicast_port(123) == 38150
    assert unicast_ports(123, 0) == (38160, 38161)
    assert unicast_ports(0, 2) == (7414, 7415)


def test_loopback_participant_listens_on_loopback_and_the_group_only(domain: int):
    network = Network(domain)
    try:
        names = {sock.getsockname()[0] for sock in network._sockets}
        assert names <= {"127.0.0.1", "239.255.0.1"}
        assert network.own == ("127.0.0.1",)
    finally:
        network.close()


def test_second_participant_takes_the_next_ports(domain: int):
    first, second = Network(domain), Network(domain)
    try:
        assert (first.index, second.index) == (0, 1)
        assert second.meta == ("127.0.0.1", unicast_ports(domain, 1)[0])
    finally:
        first.close()
        second.close()


@pytest.mark.parametrize(
    ("wrong", "why"),
    [
        ({"domain": 233}, "0 to 232"),
        ({"domain": -1}, "0 to 232"),
        ({"domain": 1, "interface": "nosuch0"}, "this machine has .*lo"),
        ({"domain": 1, "interface": "203.0.113.77"}, "an address of this machine"),
        ({"domain": 1, "peers": ["robot.invalid"]}, "addresses of machines"),
        ({"domain": 1, "peers": ["192.0.2.9:door"]}, "addresses of machines"),
    ],
)
def test_network_that_cannot_be_says_what_was_wanted(wrong: dict, why: str):
    with pytest.raises(BadValue, match=why):
        Participant(**wrong)


# Topics.


@pytest.fixture
def pair(domain: int) -> Iterator[tuple[Participant, Participant]]:
    with Participant(domain, name="a") as a, Participant(domain, name="b") as b:
        yield a, b


def test_samples_arrive_in_order_and_whole(pair: tuple[Participant, Participant]):
    got: list[Sample] = []
    writer = pair[0].advertise("topic", "type")
    reader = pair[1].subscribe("topic", "type", got.append)
    assert writer.wait_for_readers(3)
    assert reader.wait_for_writers(3)
    sent = [bytes([n]) * (n + 1) for n in range(50)] + [os.urandom(300_000)]
    start_s = time.time()
    for body in sent:
        writer.write(body)
        time.sleep(0.001)
    assert wait_for(lambda: len(got) == len(sent))
    assert [sample.body for sample in got] == sent
    assert [sample.identity.number for sample in got] == list(range(1, len(sent) + 1))
    assert got[0].stamp_s == pytest.approx(start_s, abs=1.0)


def test_unreliable_samples_arrive_too(pair: tuple[Participant, Participant]):
    got: list[bytes] = []
    writer = pair[0].advertise("topic", "type", qos=SENSOR_DATA)
    pair[1].subscribe("topic", "type", lambda sample: got.append(sample.body), qos=SENSOR_DATA)
    assert writer.wait_for_readers(3)
    wait_for(lambda: False, 0.05)  # the reader may hear of the writer a little later
    for number in range(20):
        writer.write(bytes([number]))
        time.sleep(0.001)
    writer.write(bytes(100_000))
    assert wait_for(lambda: len(got) == 21)
    assert got[:20] == [bytes([number]) for number in range(20)]


def test_late_reader_gets_the_last_sample_only_if_both_sides_want_that(pair: tuple[Participant, Participant]):
    latched: list[bytes] = []
    volatile: list[bytes] = []
    writer = pair[0].advertise("topic", "type", qos=LATCHED)
    writer.write(b"old")
    writer.write(b"last")
    pair[1].subscribe("topic", "type", lambda sample: latched.append(sample.body), qos=LATCHED)
    pair[1].subscribe("topic", "type", lambda sample: volatile.append(sample.body))
    assert wait_for(lambda: latched == [b"last"])
    assert writer.wait_for_readers(3, count=2)
    writer.write(b"new")
    assert wait_for(lambda: latched == [b"last", b"new"] and volatile == [b"new"])


def test_endpoints_that_do_not_fit_say_why(pair: tuple[Participant, Participant]):
    pair[0].advertise("topic", "type", qos=SENSOR_DATA)
    pair[0].advertise("other", "type")
    pair[1].subscribe("topic", "type", lambda _: None)
    pair[1].subscribe("other", "another type", lambda _: None)

    def told(health: Health) -> list[str]:
        return sorted(why for endpoint in health.endpoints for why in endpoint.mismatches)

    assert wait_for(lambda: len(told(pair[0].health())) == 2 and len(told(pair[1].health())) == 2)
    assert "the type is another type here and type there" in told(pair[1].health())[1]
    assert "the reader asks for RELIABLE, the writer offers BEST_EFFORT" in told(pair[0].health())[0]
    assert told(pair[0].health())[0].startswith("thenar@127.0.0.1: ")


def test_closed_endpoints_are_unmatched(pair: tuple[Participant, Participant]):
    writer = pair[0].advertise("topic", "type")
    reader = pair[1].subscribe("topic", "type", lambda _: None)
    assert writer.wait_for_readers(3)
    assert reader.wait_for_writers(3)
    reader.close()
    assert wait_for(lambda: not writer.readers)
    reader = pair[1].subscribe("topic", "type", lambda _: None)
    assert writer.wait_for_readers(3)
    assert reader.wait_for_writers(3)
    writer.close()
    writer.close()
    assert wait_for(lambda: not reader.writers)


def test_any_thread_may_write(pair: tuple[Participant, Participant]):
    got: list[bytes] = []
    writer = pair[0].advertise("topic", "type", qos=Qos(depth=1000))
    reader = pair[1].subscribe("topic", "type", lambda sample: got.append(sample.body))
    assert writer.wait_for_readers(3)
    assert reader.wait_for_writers(3)
    threads = [threading.Thread(target=lambda t=t: [writer.write(bytes([t, n])) for n in range(100)]) for t in range(5)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wait_for(lambda: len(got) == 500)
    for t in range(5):
        assert [body[1] for body in got if body[0] == t] == list(range(100))


def test_callback_that_fails_is_counted_and_the_next_one_is_called(pair: tuple[Participant, Participant]):
    got = []

    def callback(sample: Sample) -> None:
        got.append(sample.body)
        raise RuntimeError("on purpose")

    writer = pair[0].advertise("topic", "type")
    reader = pair[1].subscribe("topic", "type", callback)
    assert writer.wait_for_readers(3)
    assert reader.wait_for_writers(3)
    writer.write(b"1")
    writer.write(b"2")
    assert wait_for(lambda: got == [b"1", b"2"])
    assert wait_for(lambda: pair[1].health().refusals.get("a callback failed") == 2)


def test_callback_may_write_and_may_wait_for_a_thread_that_writes(pair: tuple[Participant, Participant]):
    answers = []
    lock = threading.Lock()
    back = pair[1].advertise("back", "type")

    def callback(sample: Sample) -> None:
        with lock:
            back.write(sample.body)

    out = pair[0].advertise("out", "type")
    pair[0].subscribe("back", "type", lambda sample: answers.append(sample.body))
    pair[1].subscribe("out", "type", callback)
    assert out.wait_for_readers(3)
    assert back.wait_for_readers(3)
    for number in range(50):
        out.write(bytes([number]))
        with lock:
            back.write(b"from another thread")
    assert wait_for(lambda: sum(body != b"from another thread" for body in answers) == 50)


def test_many_large_samples_at_once_arrive_over_a_bad_line(domain: int):
    got: list[bytes] = []
    with Participant(domain) as a, Participant(domain, network=LossyNetwork(domain, seed=4)) as b:
        writer = a.advertise("topic", "type", qos=Qos(depth=100))
        reader = b.subscribe("topic", "type", lambda sample: got.append(sample.body))
        assert writer.wait_for_readers(5)
        assert reader.wait_for_writers(5)
        sent = [struct.pack("<I", number) + bytes(60_000) for number in range(40)]
        for body in sent:
            writer.write(body)
        assert wait_for(lambda: len(got) == 40, 10)
        assert got == sent


def test_what_a_writer_no_longer_keeps_is_given_up(domain: int):
    got: list[int] = []
    with Participant(domain) as a, Participant(domain, network=LossyNetwork(domain, seed=3, loss=0.25)) as b:
        writer = a.advertise("topic", "type", qos=Qos(depth=5))
        reader = b.subscribe("topic", "type", lambda sample: got.append(struct.unpack("<I", sample.body)[0]))
        assert writer.wait_for_readers(5)
        assert reader.wait_for_writers(5)
        for number in range(300):
            writer.write(struct.pack("<I", number))
        assert wait_for(lambda: got and got[-1] == 299)
        assert got == sorted(set(got))
        assert 0 < reader.lost <= 300 - len(got)


def test_nothing_is_lost_on_a_bad_line(domain: int):
    """A tenth of the datagrams lost, a tenth doubled, a tenth overtaken, at both ends."""
    bad = [LossyNetwork(domain, seed=seed) for seed in (1, 2)]
    got: list[bytes] = []
    with Participant(domain, network=bad[0]) as a, Participant(domain, network=bad[1]) as b:
        writer = a.advertise("topic", "type", qos=Qos(depth=1000))
        reader = b.subscribe("topic", "type", lambda sample: got.append(sample.body))
        assert writer.wait_for_readers(10)
        assert reader.wait_for_writers(10)
        sent = [struct.pack("<I", n) + bytes(50_000 if n % 50 == 0 else 10) for n in range(400)]
        for body in sent:
            writer.write(body)
        assert wait_for(lambda: len(got) >= len(sent), 20)
        assert got == sent
    assert all(net.lost and net.doubled and net.overtaken for net in bad)
    assert writer.sent_again
    assert reader.duplicates


# Coming and going.


def test_peer_that_closes_is_gone_at_once_and_found_again(domain: int):
    got: list[bytes] = []
    with Participant(domain) as a:
        writer = a.advertise("topic", "type")
        for life in range(3):
            with Participant(domain) as b:
                b.subscribe("topic", "type", lambda sample: got.append(sample.body))
                assert writer.wait_for_readers(3)
                assert [peer.vendor for peer in a.health().peers] == ["thenar"]
                writer.write(bytes([life]))
                assert wait_for(lambda life=life: got == [bytes([n]) for n in range(life + 1)])
            assert wait_for(lambda: not writer.readers, 1.0)
            assert a.health().peers == ()


def test_peer_that_falls_silent_is_gone_after_its_lease(domain: int):
    with Participant(domain) as a:
        writer = a.advertise("topic", "type")
        b = Participant(domain, lease_s=1.5)
        b.subscribe("topic", "type", lambda _: None)
        assert writer.wait_for_readers(3)
        b._running = False  # as if the process had been killed: no farewell
        b._thread.join()
        b._network.close()
        time.sleep(0.7)
        (peer,) = a.health().peers
        assert 0.3 < peer.silent_s < 1.5
        assert peer.lease_s == 1.5
        assert wait_for(lambda: not writer.readers, 3.0)
        assert a.health().peers == ()


def test_lives_are_kept_by_announcements(domain: int):
    with Participant(domain, lease_s=1.0) as a, Participant(domain, lease_s=1.0) as b:
        assert wait_for(lambda: a.health().peers and b.health().peers)
        known = a.health().peers[0].guid_prefix
        time.sleep(2.5)
        assert [peer.guid_prefix for peer in a.health().peers] == [known]
        assert a.health().peers[0].known_s > 2.4


def test_peer_of_another_domain_is_refused(domain: int):
    with Participant(domain) as a:
        info = ParticipantInfo(prefix=PREFIX, meta=(("127.0.0.1", 9),), domain=domain + 1)
        spdp = messages.data(discovery.SPDP_READER, discovery.SPDP_WRITER, 1, discovery.encode_participant(info))
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sender:
            sender.sendto(messages.header(PREFIX) + spdp, a.info.meta[0])
        assert wait_for(lambda: a.health().refusals == {"announcement is from another domain": 1})
        assert a.health().peers == ()


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


def test_reply_waits_for_a_reader_that_is_announced_late(domain: int):
    with Participant(domain) as participant:
        server = Server(participant)
        peer = RawPeer(domain, replace(SET_FORCE, reply_topic="elsewhere"), vendor=FAST_VENDOR)
        peer.announce()
        assert wait_for(lambda: len(server.service.clients) == 1)
        peer.request(1, forces(7, 1, 2, 3, 4, 5))
        assert wait_for(lambda: server.service.answered == 1)
        peer.names = SET_FORCE
        late = EndpointInfo(
            guid=peer.prefix + READER, topic=SET_FORCE.reply_topic, type_name=SET_FORCE.reply_type, qos=Qos()
        )
        sedp = messages.data(bytes(4), discovery.SUBSCRIPTIONS_WRITER, 2, discovery.encode_endpoint(late))
        peer.socket.sendto(peer.datagram(sedp), peer.meta)
        assert peer.listen(lambda: peer.replies)
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
    sent, health = bombard(domain, 15.0)
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


def test_identity_is_the_same_however_it_came():
    inline = dict(
        messages.read_parameters(
            data := discovery.related_identity(SampleIdentity(PREFIX + READER, 5)), 0, len(data), True
        )[0]
    )
    assert discovery.read_related_guid(inline) == PREFIX + READER
