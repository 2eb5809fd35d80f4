"""RTPS on the bench: bytes that are read and written, announcements, ROS 2 names; no sockets."""

import contextlib
import struct

import pytest
from raw_rtps_peer import CAPTURES, READER, WRITER

from thenar.errors import BadValue
from thenar.wire.rtps import LATCHED, SENSOR_DATA, Qos, discovery, messages, ros
from thenar.wire.rtps.discovery import EndpointInfo, ParticipantInfo, SampleIdentity
from thenar.wire.rtps.messages import (
    AckNack,
    Data,
    DataFrag,
    Gap,
    Heartbeat,
    NackFrag,
    Refused,
)
from thenar.wire.rtps.qos import mismatch
from thenar.wire.rtps.reader import unwrap
from thenar.wire.rtps.writer import encapsulate

PREFIX = bytes(range(12))


SET_FORCE = ros.service_names("/set_force", "thenar_test/srv/SetForce")


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


def test_identity_is_the_same_however_it_came():
    inline = dict(
        messages.read_parameters(
            data := discovery.related_identity(SampleIdentity(PREFIX + READER, 5)), 0, len(data), True
        )[0]
    )
    assert discovery.read_related_guid(inline) == PREFIX + READER
