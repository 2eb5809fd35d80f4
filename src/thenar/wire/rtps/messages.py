"""RTPS datagrams as bytes: submessages in and out, nothing else.

Pure functions. Reading takes either byte order, writing is little endian. Whatever does not add up is refused
with a reason; what came before it in the same datagram still counts, as the standard asks.
Ref: OMG formal/2022-04-01 (DDSI-RTPS 2.5), section 9.4.
"""

import struct
from collections.abc import Iterable
from typing import NamedTuple

from thenar.errors import ThenarError

MAGIC = b"RTPS"
VERSION = b"\x02\x03"
# Vendor ids are handed out by the OMG; this one is handed out to nobody, so peers treat us as plain RTPS.
OUR_VENDOR = b"\x01\xee"
FAST_VENDOR = b"\x01\x0f"
CYCLONE_VENDOR = b"\x01\x10"
RUST_VENDOR = b"\x01\x12"
VENDOR_NAMES = {
    b"\x01\x01": "RTI Connext",
    b"\x01\x02": "OpenSplice",
    b"\x01\x03": "OpenDDS",
    FAST_VENDOR: "Fast DDS",
    CYCLONE_VENDOR: "Cyclone DDS",
    b"\x01\x11": "GurumDDS",
    RUST_VENDOR: "RustDDS",
    b"\x01\x14": "Dust DDS",
    OUR_VENDOR: "thenar",
}

UNKNOWN_ENTITY = bytes(4)
UNKNOWN_PREFIX = bytes(12)
HEADER_BYTES = 20
MAX_SUBMESSAGES = 512
"""Of a datagram; no library puts nearly as many into one."""
MAX_PARAMETERS = 256
"""Of a list."""
MAX_NUMBER = 1 << 48
"""No writer lives to see it; what follows from higher ones would not fit into an answer."""
SET_BITS = 256
"""Most numbers one set may span."""

ACKNACK, HEARTBEAT, GAP, INFO_TS, INFO_SRC, INFO_DST = 0x06, 0x07, 0x08, 0x09, 0x0C, 0x0E
NACK_FRAG, HEARTBEAT_FRAG, DATA, DATA_FRAG = 0x12, 0x13, 0x15, 0x16
PAD = 0x01

PID_PAD, PID_SENTINEL = 0x0000, 0x0001


class Refused(ThenarError, ValueError):
    """Bytes that do not add up; the text is a fixed reason, so that reasons can be counted."""


# NamedTuples and not dataclasses: they are made for every datagram and take a third of the time. Counters by which
# questions and answers are numbered are not kept: whoever gets one twice may answer twice.
class Header(NamedTuple):
    """Header of a datagram: the sender's vendor and GUID prefix."""

    vendor: bytes
    prefix: bytes


class Data(NamedTuple):
    """One sample, whole."""

    reader: bytes
    writer: bytes
    number: int
    inline: dict[int, bytes]
    payload: bytes | None
    """Encapsulation and body; None where the sample has none."""
    key_only: bool


class DataFrag(NamedTuple):
    """A run of fragments of one sample."""

    reader: bytes
    writer: bytes
    number: int
    inline: dict[int, bytes]
    first_fragment: int
    fragments: int
    fragment_bytes: int
    sample_bytes: int
    payload: bytes
    key_only: bool


class Heartbeat(NamedTuple):
    """What a writer still has."""

    reader: bytes
    writer: bytes
    first: int
    last: int
    final: bool
    """True when no answer is asked for."""


class HeartbeatFrag(NamedTuple):
    """Which fragments of a sample a writer has sent so far."""

    reader: bytes
    writer: bytes
    number: int
    last_fragment: int


class AckNack(NamedTuple):
    """What a reader has (all below base) and misses."""

    reader: bytes
    writer: bytes
    base: int
    missing: tuple[int, ...]
    final: bool


class NackFrag(NamedTuple):
    """Which fragments of a sample a reader misses."""

    reader: bytes
    writer: bytes
    number: int
    missing: tuple[int, ...]


class Gap(NamedTuple):
    """Numbers that will never come: start up to base (exclusive), and the ones listed."""

    reader: bytes
    writer: bytes
    start: int
    base: int
    listed: tuple[int, ...]


class InfoTs(NamedTuple):
    """When the samples that follow were written, in seconds since 1970; None when not told."""

    stamp_s: float | None


class InfoDst(NamedTuple):
    """For whom the submessages that follow are."""

    prefix: bytes


class InfoSrc(NamedTuple):
    """From whom the submessages that follow are."""

    vendor: bytes
    prefix: bytes


Submessage = Data | DataFrag | Heartbeat | HeartbeatFrag | AckNack | NackFrag | Gap | InfoTs | InfoDst | InfoSrc


NAMES = {AckNack: "ACKNACK", NackFrag: "NACK_FRAG"}


class Message(NamedTuple):
    """A datagram taken apart."""

    header: Header
    submessages: list[Submessage]
    refused: str | None
    """Why the rest of the datagram was dropped; None when all of it was read."""


def _both(layout: str) -> tuple[struct.Struct, struct.Struct]:
    """Compile a layout for big and little endian, in the order of the endianness flag."""
    return struct.Struct(">" + layout), struct.Struct("<" + layout)


# What a submessage begins with: for most, reader, writer and the high and low word of a sequence number.
_HEADS = {
    DATA: ("DATA", _both("HH4s4siI")),
    DATA_FRAG: ("DATA_FRAG", _both("HH4s4siIIHHI")),
    HEARTBEAT: ("HEARTBEAT", _both("4s4siIiIi")),
    HEARTBEAT_FRAG: ("HEARTBEAT_FRAG", _both("4s4siIIi")),
    ACKNACK: ("ACKNACK", _both("4s4siII")),
    NACK_FRAG: ("NACK_FRAG", _both("4s4siIII")),
    GAP: ("GAP", _both("4s4siIiII")),
    INFO_TS: ("INFO_TS", _both("II")),
    INFO_DST: ("INFO_DST", _both("12s")),
    INFO_SRC: ("INFO_SRC", _both("6x2s12s")),
}
_U16 = _both("H")
_PID = _both("HH")
_WORDS = tuple(_both(f"{words}I") for words in range(SET_BITS // 32 + 1))
_SUB = struct.Struct("<BBH")
_PAIR = struct.Struct("<iI")


def read_message(datagram: bytes) -> Message:
    """Take a datagram apart.

    Raises:
        Refused: The datagram is not RTPS 2 at all. Anything wrong further in is told in ``refused`` instead.
    """
    if len(datagram) < HEADER_BYTES or datagram[:4] != MAGIC:
        raise Refused("datagram is not RTPS")
    if datagram[4] != VERSION[0]:
        raise Refused("RTPS version is not 2")
    submessages: list[Submessage] = []
    refused = None
    offset, end = HEADER_BYTES, len(datagram)
    try:
        while offset + 4 <= end:
            kind, flags = datagram[offset], datagram[offset + 1]
            (length,) = _U16[flags & 1].unpack_from(datagram, offset + 2)
            start = offset + 4
            # A length of zero on the last submessage means that it runs to the end of the datagram.
            offset = end if length == 0 and kind not in (PAD, INFO_TS) else start + length
            if offset > end:
                raise Refused("submessage is longer than its datagram")
            read = _READ.get(kind)
            if len(submessages) == MAX_SUBMESSAGES:
                raise Refused(f"datagram has more than {MAX_SUBMESSAGES} submessages")
            if read is not None:
                submessages.append(read(datagram, flags, start, offset))
        if offset != end:
            raise Refused("datagram ends inside a submessage header")
    except Refused as why:
        refused = str(why)
    return Message(Header(datagram[6:8], datagram[8:20]), submessages, refused)


def read_parameters(data: bytes, offset: int, end: int, little: bool) -> tuple[list[tuple[int, bytes]], int]:
    """Read a parameter list.

    Returns:
        Pairs of parameter id and value, and the offset after the sentinel.

    Raises:
        Refused: A parameter is longer than the list, not aligned, or the sentinel is missing.
    """
    found: list[tuple[int, bytes]] = []
    head = _PID[little]
    while offset + 4 <= end:
        pid, length = head.unpack_from(data, offset)
        offset += 4
        if pid == PID_SENTINEL:
            return found, offset
        if length % 4:
            raise Refused("parameter length is not a multiple of 4")
        if offset + length > end:
            raise Refused("parameter is longer than its list")
        if len(found) == MAX_PARAMETERS:
            raise Refused(f"parameter list has more than {MAX_PARAMETERS} entries")
        if pid != PID_PAD:
            found.append((pid, data[offset : offset + length]))
        offset += length
    raise Refused("parameter list has no end")


def _head(kind: int, datagram: bytes, flags: int, start: int, end: int) -> tuple:
    """The numbers a submessage begins with."""
    name, layouts = _HEADS[kind]
    layout = layouts[flags & 1]
    if end - start < layout.size:
        raise Refused(f"{name} is too short")
    return layout.unpack_from(datagram, start)


def _number(high: int, low: int, why: str, least: int = 1) -> int:
    number = high << 32 | low
    if number < least:
        raise Refused(why)
    if number >= MAX_NUMBER:
        raise Refused("sequence number is beyond all that can be counted")
    return number


def _members(datagram: bytes, flags: int, offset: int, end: int, base: int, bits: int) -> tuple[int, ...]:
    """Members of a number set, from its bitmap; for all but GAP a count follows it, which is not kept."""
    if bits > SET_BITS:
        raise Refused("number set spans more than 256 numbers")
    words = (bits + 31) // 32
    if offset + 4 * words > end:
        raise Refused("number set is longer than its submessage")
    marks = "".join(f"{word:032b}" for word in _WORDS[words][flags & 1].unpack_from(datagram, offset))[:bits]
    return tuple(base + at for at, mark in enumerate(marks) if mark == "1")


def _inline(datagram: bytes, flags: int, start: int, end: int, skip: int, fixed: int) -> tuple[dict[int, bytes], int]:
    """Read inline parameters; return them and the offset of the payload."""
    at = start + 4 + skip
    if at < start + fixed or at > end:
        raise Refused("inline parameters lie outside their submessage")
    if not flags & 2:
        return {}, at
    found, at = read_parameters(datagram, at, end, bool(flags & 1))
    return dict(found), at


def _read_data(datagram: bytes, flags: int, start: int, end: int) -> Data:
    _, skip, reader, writer, high, low = _head(DATA, datagram, flags, start, end)
    number = _number(high, low, "DATA has a sequence number below 1")
    if flags & 0x0C == 0x0C:
        raise Refused("DATA claims to carry both data and key")
    inline, at = _inline(datagram, flags, start, end, skip, 20)
    payload = datagram[at:end] if flags & 0x0C else None
    return Data(reader, writer, number, inline, payload, bool(flags & 8))


def _read_data_frag(datagram: bytes, flags: int, start: int, end: int) -> DataFrag:
    head = _head(DATA_FRAG, datagram, flags, start, end)
    _, skip, reader, writer, high, low, first, fragments, size, total = head
    number = _number(high, low, "DATA_FRAG has a sequence number below 1")
    if not (first and fragments and size and total) or (first + fragments - 1) > -(-total // size):
        raise Refused("DATA_FRAG numbers lie outside their sample")
    inline, at = _inline(datagram, flags, start, end, skip, 32)
    wanted = min(fragments * size, total - (first - 1) * size)
    if end - at < wanted:
        raise Refused("DATA_FRAG is shorter than its fragments")
    payload = datagram[at : at + wanted]
    return DataFrag(reader, writer, number, inline, first, fragments, size, total, payload, bool(flags & 4))


def _read_heartbeat(datagram: bytes, flags: int, start: int, end: int) -> Heartbeat:
    reader, writer, high, low, last_high, last_low, _ = _head(HEARTBEAT, datagram, flags, start, end)
    first = _number(high, low, "HEARTBEAT starts below 1")
    last = _number(last_high, last_low, "HEARTBEAT ends before it starts", first - 1)
    return Heartbeat(reader, writer, first, last, bool(flags & 2))


def _read_heartbeat_frag(datagram: bytes, flags: int, start: int, end: int) -> HeartbeatFrag:
    reader, writer, high, low, last, _ = _head(HEARTBEAT_FRAG, datagram, flags, start, end)
    return HeartbeatFrag(reader, writer, _number(high, low, "HEARTBEAT_FRAG has a sequence number below 1"), last)


def _read_acknack(datagram: bytes, flags: int, start: int, end: int) -> AckNack:
    reader, writer, high, low, bits = _head(ACKNACK, datagram, flags, start, end - 4)
    # Fast DDS greets with an empty set at 0, which the standard does not know: harmless, so taken.
    base = _number(high, low, "ACKNACK has a base below 1", 1 if bits else 0)
    missing = _members(datagram, flags, start + 20, end - 4, base, bits)
    return AckNack(reader, writer, base, missing, bool(flags & 2))


def _read_nack_frag(datagram: bytes, flags: int, start: int, end: int) -> NackFrag:
    reader, writer, high, low, base, bits = _head(NACK_FRAG, datagram, flags, start, end - 4)
    number = _number(high, low, "NACK_FRAG has a sequence number below 1")
    return NackFrag(reader, writer, number, _members(datagram, flags, start + 24, end - 4, base, bits))


def _read_gap(datagram: bytes, flags: int, start: int, end: int) -> Gap:
    reader, writer, high, low, base_high, base_low, bits = _head(GAP, datagram, flags, start, end)
    first = _number(high, low, "GAP starts below 1")
    base = _number(base_high, base_low, "GAP ends before it starts", first)
    return Gap(reader, writer, first, base, _members(datagram, flags, start + 28, end, base, bits))


def _read_info_ts(datagram: bytes, flags: int, start: int, end: int) -> InfoTs:
    if flags & 2:
        return InfoTs(None)
    seconds, fraction = _head(INFO_TS, datagram, flags, start, end)
    return InfoTs(seconds + fraction / 2**32)


def _read_info_dst(datagram: bytes, flags: int, start: int, end: int) -> InfoDst:
    return InfoDst(*_head(INFO_DST, datagram, flags, start, end))


def _read_info_src(datagram: bytes, flags: int, start: int, end: int) -> InfoSrc:
    return InfoSrc(*_head(INFO_SRC, datagram, flags, start, end))


# Kinds that are not here (padding, replies by another address, security, vendors' own) are stepped over.
_READ = {
    DATA: _read_data,
    DATA_FRAG: _read_data_frag,
    HEARTBEAT: _read_heartbeat,
    HEARTBEAT_FRAG: _read_heartbeat_frag,
    ACKNACK: _read_acknack,
    NACK_FRAG: _read_nack_frag,
    GAP: _read_gap,
    INFO_TS: _read_info_ts,
    INFO_DST: _read_info_dst,
    INFO_SRC: _read_info_src,
}


def header(prefix: bytes) -> bytes:
    """The 20 bytes every datagram of ours starts with."""
    return MAGIC + VERSION + OUR_VENDOR + prefix


def sequence_number(number: int) -> bytes:
    """A sequence number as it lies on the wire: high word, then low."""
    return _PAIR.pack(number >> 32, number & 0xFFFFFFFF)


def info_ts(stamp_s: float) -> bytes:
    """INFO_TS for a time in seconds since 1970."""
    seconds = int(stamp_s)
    return struct.pack("<BBHII", INFO_TS, 1, 8, seconds & 0xFFFFFFFF, int((stamp_s - seconds) * 2**32))


def info_dst(prefix: bytes) -> bytes:
    """INFO_DST: the rest of the datagram is for one participant."""
    return _SUB.pack(INFO_DST, 1, 12) + prefix


def parameter_list(parameters: Iterable[tuple[int, bytes]]) -> bytes:
    """A parameter list with its sentinel; values are padded to a multiple of 4."""
    parts = []
    for pid, value in parameters:
        padding = -len(value) % 4
        parts.append(struct.pack("<HH", pid, len(value) + padding) + value + bytes(padding))
    return b"".join(parts) + b"\x01\x00\x00\x00"


def data(
    reader: bytes, writer: bytes, number: int, payload: bytes, inline: bytes = b"", *, key_only: bool = False
) -> bytes:
    """DATA with a whole sample; ``inline`` is a finished parameter list."""
    flags = 1 | (2 if inline else 0) | (8 if key_only else 4)
    fixed = struct.pack("<HH4s4siI", 0, 16, reader, writer, number >> 32, number & 0xFFFFFFFF)
    body = fixed + inline + payload
    # A length of 0 means "to the end of the datagram", the only way to say more than 65,535.
    return _SUB.pack(DATA, flags, len(body) if len(body) <= 0xFFFF else 0) + body


def data_frag(
    reader: bytes, writer: bytes, number: int, fragment: int, fragment_bytes: int, payload: bytes, inline: bytes = b""
) -> bytes:
    """DATA_FRAG with one fragment, counted from 1, cut from the whole payload."""
    part = payload[(fragment - 1) * fragment_bytes : fragment * fragment_bytes]
    fixed = struct.pack(
        "<HH4s4siIIHHI",
        *(0, 28, reader, writer, number >> 32, number & 0xFFFFFFFF, fragment, 1, fragment_bytes, len(payload)),
    )
    body = fixed + inline + part
    return _SUB.pack(DATA_FRAG, 1 | (2 if inline else 0), len(body)) + body


def heartbeat(reader: bytes, writer: bytes, first: int, last: int, count: int, *, final: bool) -> bytes:
    """HEARTBEAT; final means that only a reader that misses something has to answer."""
    flags = 1 | (2 if final else 0)
    numbers = sequence_number(first) + sequence_number(last)
    return _SUB.pack(HEARTBEAT, flags, 28) + reader + writer + numbers + struct.pack("<I", count & 0x7FFFFFFF)


def heartbeat_frag(reader: bytes, writer: bytes, number: int, last_fragment: int, count: int) -> bytes:
    """HEARTBEAT_FRAG: fragments up to the last one have been sent."""
    tail = struct.pack("<II", last_fragment, count & 0x7FFFFFFF)
    return _SUB.pack(HEARTBEAT_FRAG, 1, 24) + reader + writer + sequence_number(number) + tail


def _bitmap(base: int, members: Iterable[int]) -> bytes:
    """The count of bits and the words of a number set; members lie in base .. base + 255."""
    offsets = [member - base for member in members]
    bits = max(offsets) + 1 if offsets else 0
    words = [0] * ((bits + 31) // 32)
    for offset in offsets:
        words[offset >> 5] |= 1 << (31 - (offset & 31))
    return struct.pack(f"<I{len(words)}I", bits, *words)


def acknack(reader: bytes, writer: bytes, base: int, missing: Iterable[int], count: int, *, final: bool) -> bytes:
    """ACKNACK: everything below base has come, and these are missing."""
    body = reader + writer + sequence_number(base) + _bitmap(base, missing) + struct.pack("<I", count & 0x7FFFFFFF)
    return _SUB.pack(ACKNACK, 1 | (2 if final else 0), len(body)) + body


def nack_frag(reader: bytes, writer: bytes, number: int, missing: list[int], count: int) -> bytes:
    """NACK_FRAG: these fragments of a sample are missing."""
    base = missing[0]
    tail = struct.pack("<I", base) + _bitmap(base, missing) + struct.pack("<I", count & 0x7FFFFFFF)
    body = reader + writer + sequence_number(number) + tail
    return _SUB.pack(NACK_FRAG, 1, len(body)) + body


def gap(reader: bytes, writer: bytes, start: int, end: int) -> bytes:
    """GAP: the numbers from start up to end (exclusive) will never come."""
    body = reader + writer + sequence_number(start) + sequence_number(end) + bytes(4)
    return _SUB.pack(GAP, 1, len(body)) + body
