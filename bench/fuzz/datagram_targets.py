"""A whole participant as a parser: datagrams of a peer that it knows, down to the motors."""

from __future__ import annotations

import itertools
import os
import struct
from collections.abc import Callable, Iterator
from contextlib import ExitStack

from bench.fuzz import seeds
from bench.fuzz.search import Target
from tests.raw_rtps_peer import RawPeer
from thenar.wire.rtps import Participant, Qos, Reader, Writer, discovery, messages
from thenar.wire.rtps.discovery import EndpointInfo, ParticipantInfo
from thenar.wire.rtps.messages import CYCLONE_VENDOR
from thenar.wire.rtps.services import ServiceNames
from thenar.wire.rtps.writer import encapsulate

LONG_BYTES = 64_000
HERE = "127.0.0.1"
NOBODY = ServiceNames(request_topic="a", request_type="b", reply_topic="c", reply_type="d")


def datagram_targets(
    opened: ExitStack, participant: Participant, tick: Callable[[], float], *, to: str
) -> Iterator[Target]:
    """Short and long datagrams of a peer that writes what the participant reads, and reads what it writes.

    Args:
        opened: Closes the peer.
        participant: Who gets them.
        tick: What the physics does with what has come; returns its time [s].
        to: The participant in words.
    """
    peer = RawPeer(participant.domain, NOBODY, vendor=CYCLONE_VENDOR)
    peer.other = participant.prefix
    opened.callback(peer.close)
    with participant.lock:
        all_readers = [*participant._directory.readers.values()]  # those of announcements too
        readers = [end for end in all_readers if end.info.topic]
        writers = [end for end in participant._directory.writers.values() if end.info.topic]
    numbered = [*enumerate(readers, start=1), *enumerate(writers, start=1)]
    announced = [_endpoint(peer, number, end) for number, end in numbered]
    parts = [part for number, end in numbered for part in _parts(number, end)]
    participants = [_announcement(peer.prefix), _announcement(os.urandom(12)), _farewell(os.urandom(12))]
    turns = itertools.count()

    def read(datagram: bytes, *, anew: bool) -> float:
        if not participant.knows(peer.prefix):  # nobody has heard of it for a while, or it has said farewell
            for part in (participants[0], *announced):
                participant._on_datagram(peer.datagram(part), HERE)
        if anew:  # else the numbers of its samples have all come
            with participant.lock:
                for reader in all_readers:
                    for writer in [*reader.writers.values()]:
                        reader.unmatch(writer.guid)
                        reader.match(writer.info)
        participant._on_datagram(datagram, HERE)
        return tick()

    read(peer.datagram(), anew=True)
    # Else nothing that it sends would be looked at.
    assert all(reader.writers for reader in readers)
    assert all(writer.readers for writer in writers)

    yield Target(
        name=f"datagram to {to}",
        read=lambda datagram: read(datagram, anew=next(turns) % 16 == 0),
        seeds=(
            *(peer.datagram(messages.info_ts(1.0), *parts[first : first + 3]) for first in range(0, len(parts), 3)),
            *(peer.datagram(part) for part in (*participants, *announced, _disposal(peer))),
        ),
    )
    # What costs time is the same again and again, up to the size of a datagram.
    yield Target(
        name=f"long datagram to {to}",
        read=lambda datagram: read(datagram, anew=True),
        seeds=tuple(
            peer.datagram(*(_numbered(part, number) for number in range(LONG_BYTES // len(part))))
            for part in (*parts, *participants, *announced)
        ),
    )


def _endpoint(peer: RawPeer, number: int, end: Reader | Writer) -> bytes:
    """The announcement of the peer's counterpart of a reader or writer of ours."""
    announcer = discovery.PUBLICATIONS_WRITER if isinstance(end, Reader) else discovery.SUBSCRIPTIONS_WRITER
    guid = peer.prefix + _entity(number, end)
    about = EndpointInfo(guid=guid, topic=end.info.topic, type_name=end.info.type_name, qos=Qos())
    return messages.data(bytes(4), announcer, number, discovery.encode_endpoint(about))


def _entity(number: int, end: Reader | Writer) -> bytes:
    return struct.pack(">I", number << 8 | (0x03 if isinstance(end, Reader) else 0x04))


def _parts(number: int, end: Reader | Writer) -> tuple[bytes, ...]:
    """Every kind of submessage that the peer's counterpart may send."""
    entity = _entity(number, end)
    if isinstance(end, Writer):
        return (
            messages.acknack(entity, end.entity, 1, [1, 2], number, final=False),
            messages.nack_frag(entity, end.entity, 1, [1, 2], number),
        )
    body = encapsulate((seeds.COMMANDS.get(end.info.type_name) or seeds.REQUESTS)[0])
    return (
        messages.data(bytes(4), entity, 1, body),
        messages.data(bytes(4), entity, 2, body, discovery.related_identity(discovery.SampleIdentity(bytes(16), 1))),
        messages.data_frag(bytes(4), entity, 3, 1, 8, body),
        messages.heartbeat(bytes(4), entity, 1, 2, number, final=False),
        messages.heartbeat_frag(bytes(4), entity, 3, 1, number),
        messages.gap(bytes(4), entity, 4, 6),
    )


def _announcement(prefix: bytes) -> bytes:
    at = ((HERE, 9),)
    info = ParticipantInfo(
        prefix=prefix, vendor=CYCLONE_VENDOR, meta=at, user=at, builtins=discovery.OUR_BUILTINS, name="fuzz"
    )
    about = discovery.encode_participant(info)
    from_whom = messages._SUB.pack(messages.INFO_SRC, 1, 20) + bytes(6) + CYCLONE_VENDOR + prefix
    return from_whom + messages.data(discovery.SPDP_READER, discovery.SPDP_WRITER, 1, about)


def _farewell(prefix: bytes) -> bytes:
    guid = prefix + discovery.PARTICIPANT
    key, gone = discovery.encode_key(discovery.PID_PARTICIPANT_GUID, guid), discovery.disposal(guid)
    return messages.data(discovery.SPDP_READER, discovery.SPDP_WRITER, 2, key, gone, key_only=True)


def _disposal(peer: RawPeer) -> bytes:
    """One of its writers is gone."""
    guid = peer.prefix + b"\0\0\x99\3"
    key, gone = discovery.encode_key(discovery.PID_ENDPOINT_GUID, guid), discovery.disposal(guid)
    return messages.data(bytes(4), discovery.PUBLICATIONS_WRITER, 99, key, gone, key_only=True)


def _numbered(part: bytes, number: int) -> bytes:
    """A submessage with another sequence number, where it is a sample or a fragment."""
    if part[0] not in (messages.DATA, messages.DATA_FRAG):
        return part
    return part[:16] + messages.sequence_number(number + 1) + part[24:]
