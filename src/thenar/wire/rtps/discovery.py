"""What participants announce about themselves and their endpoints, as parameter lists.

Pure functions. Ref: OMG formal/2022-04-01, sections 8.5 and 9.6; vendors' parameters are left alone.
"""

import math
import socket
import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from thenar.wire.rtps.messages import OUR_VENDOR, VERSION, Refused, parameter_list, read_parameters
from thenar.wire.rtps.qos import Qos

Address = tuple[str, int]
"""IPv4 address and port."""

PARTICIPANT = b"\x00\x00\x01\xc1"
SPDP_WRITER, SPDP_READER = b"\x00\x01\x00\xc2", b"\x00\x01\x00\xc7"
PUBLICATIONS_WRITER, PUBLICATIONS_READER = b"\x00\x00\x03\xc2", b"\x00\x00\x03\xc7"
SUBSCRIPTIONS_WRITER, SUBSCRIPTIONS_READER = b"\x00\x00\x04\xc2", b"\x00\x00\x04\xc7"
LIVELINESS_WRITER, LIVELINESS_READER = b"\x00\x02\x00\xc2", b"\x00\x02\x00\xc7"

# Which built-in endpoints a participant has: the bit of the writer and of the reader of each pair.
ANNOUNCER_BITS = {
    PUBLICATIONS_WRITER: 1 << 2,
    PUBLICATIONS_READER: 1 << 3,
    SUBSCRIPTIONS_WRITER: 1 << 4,
    SUBSCRIPTIONS_READER: 1 << 5,
    LIVELINESS_WRITER: 1 << 10,
    LIVELINESS_READER: 1 << 11,
}
OUR_BUILTINS = 0b11 | sum(ANNOUNCER_BITS.values())

PID_LEASE = 0x0002
PID_TOPIC = 0x0005
PID_TYPE = 0x0007
PID_DOMAIN = 0x000F
PID_VERSION = 0x0015
PID_VENDOR = 0x0016
PID_RELIABILITY = 0x001A
PID_LIVELINESS = 0x001B
PID_DURABILITY = 0x001D
PID_OWNERSHIP = 0x001F
PID_DEADLINE = 0x0023
PID_PARTITION = 0x0029
PID_USER_DATA = 0x002C
PID_UNICAST = 0x002F
PID_USER_UNICAST = 0x0031
PID_META_UNICAST = 0x0032
PID_HISTORY = 0x0040
PID_PARTICIPANT_GUID = 0x0050
PID_BUILTINS = 0x0058
PID_PROPERTIES = 0x0059
PID_ENDPOINT_GUID = 0x005A
PID_NAME = 0x0062
PID_KEY_HASH = 0x0070
PID_STATUS = 0x0071
PID_REPRESENTATION = 0x0073
PID_TYPE_INFORMATION = 0x0075
PID_RELATED_IDENTITY = 0x0083
PID_RELATED_IDENTITY_FAST = 0x800F

MAX_ADDRESSES = 4
"""Of a participant or endpoint: several cards of a machine are heard at one."""

DISPOSED, UNREGISTERED = 0b01, 0b10

_PL_CDR_LE = b"\x00\x03\x00\x00"
_UDP_V4 = 1
_SMALL_FRACTION = 429496730  # a tenth of a second: how long writers may block, which ours never do
# In an XTypes TypeInformation: the length of a TypeIdentifierWithSize, and the kind of the complete type's hash.
_COMPLETE_TYPE = b"\x14\x00\x00\x00\xf2"
_MAX_STRINGS = 64
_MAX_TEXT_BYTES = 1024  # of a name or of user data: what is longer is no name


class SampleIdentity(NamedTuple):
    """Which sample: the writer's GUID and its sequence number."""

    guid: bytes
    number: int


@dataclass(frozen=True, kw_only=True)
class ParticipantInfo:
    """What a participant announces about itself."""

    prefix: bytes
    vendor: bytes = OUR_VENDOR
    lease_s: float = 100.0
    """Without a sign of life for so long it is gone [s]."""
    meta: tuple[Address, ...] = ()
    """Where it listens for discovery."""
    user: tuple[Address, ...] = ()
    """Where its endpoints listen unless they announce otherwise."""
    builtins: int = 0
    """Its built-in endpoints, see `ANNOUNCER_BITS`."""
    name: str = ""
    properties: Mapping[str, str] = field(default_factory=dict)
    """Such as ``__ProcessName``, ``__Pid`` and ``__Hostname``, which Cyclone announces, and so do we."""
    user_data: bytes = b""
    domain: int | None = None


@dataclass(frozen=True, kw_only=True)
class EndpointInfo:
    """What a participant announces about one of its readers or writers."""

    guid: bytes
    topic: str
    type_name: str
    qos: Qos
    addresses: tuple[Address, ...] = ()
    """Where it listens; empty means where its participant does."""
    user_data: bytes = b""
    vendor: bytes = OUR_VENDOR
    type_ids: tuple[str, ...] = ()
    """XTypes identifiers in hex: the one a peer announces, or all that we accept; empty: types go by name alone."""

    @property
    def is_writer(self) -> bool:
        """Whether it sends (the kind of an entity is in the last byte of its id)."""
        return self.guid[15] & 0x0F in (0x02, 0x03)


class _Values:
    """The parameters of one list, by id, with the byte order they came in."""

    def __init__(self, payload: bytes):
        if len(payload) < 4 or payload[:2] not in (b"\x00\x02", b"\x00\x03"):
            raise Refused("discovery data is not a parameter list")
        self.order = "<" if payload[1] & 1 else ">"
        self.found: dict[int, list[bytes]] = {}
        for pid, value in read_parameters(payload, 4, len(payload), bool(payload[1] & 1))[0]:
            self.found.setdefault(pid, []).append(value)

    def raw(self, pid: int, length: int) -> bytes | None:
        """The first bytes of a parameter, or None when it is absent."""
        values = self.found.get(pid)
        if values is None:
            return None
        if len(values[0]) < length:
            raise Refused("discovery parameter is too short")
        return values[0][:length]

    def unpack(self, pid: int, layout: str) -> tuple[int, ...] | None:
        """Numbers of a parameter, or None when it is absent."""
        value = self.raw(pid, struct.calcsize(self.order + layout))
        return None if value is None else struct.unpack(self.order + layout, value)

    def number(self, pid: int) -> int:
        """A number; 0 when absent."""
        return (self.unpack(pid, "I") or (0,))[0]

    def counted(self, pid: int, offset: int = 0) -> bytes:
        """Bytes that carry their own length; empty when absent."""
        value = self.found.get(pid, [bytes(offset + 4)])[0]
        if offset + 4 > len(value):
            raise Refused("discovery parameter is too short")
        (length,) = struct.unpack_from(self.order + "I", value, offset)
        if offset + 4 + length > len(value):
            raise Refused("discovery parameter is shorter than it says")
        if length > _MAX_TEXT_BYTES:
            raise Refused(f"discovery text is longer than {_MAX_TEXT_BYTES} bytes")
        return value[offset + 4 : offset + 4 + length]

    def text(self, pid: int) -> str:
        """A string; empty when absent."""
        return _decode(self.counted(pid))

    def strings(self, pid: int, per_item: int = 1) -> tuple[str, ...]:
        """All strings of a counted list; none when absent."""
        found, offset = [], 4
        for _ in range(min(self.number(pid) * per_item, _MAX_STRINGS)):
            value = self.counted(pid, offset)
            found.append(_decode(value))
            offset += 4 + len(value) + -len(value) % 4
        return tuple(found)

    def seconds(self, pid: int, default_s: float, skip: str = "") -> float:
        """A duration [s]."""
        numbers = self.unpack(pid, skip + "iI")
        if numbers is None:
            return default_s
        whole, fraction = numbers[-2:]
        return math.inf if whole == 0x7FFFFFFF else max(0.0, whole + fraction / 2**32)

    def addresses(self, pid: int) -> tuple[Address, ...]:
        """The UDP version 4 locators among all values of a parameter."""
        found = []
        for value in self.found.get(pid, ()):
            if len(value) < 24:
                raise Refused("locator is too short")
            kind, port = struct.unpack_from(self.order + "iI", value)
            if kind == _UDP_V4 and 0 < port < 65536:
                found.append((socket.inet_ntoa(value[20:24]), port))
        return tuple(dict.fromkeys(found))

    def representations(self) -> tuple[int, ...]:
        """Encodings, or the default one."""
        count = self.number(PID_REPRESENTATION)
        if not 0 < count < 16:
            return Qos().representations
        return (self.unpack(PID_REPRESENTATION, f"I{count}h") or (0, 0))[1:]

    def type_ids(self) -> tuple[str, ...]:
        """Identifier of the complete type in hex, if one is announced."""
        value = self.found.get(PID_TYPE_INFORMATION, [b""])[0]
        at = value.find(_COMPLETE_TYPE) + 4
        return (value[at : at + 15].hex(),) if at > 4 else ()


def _decode(text: bytes) -> str:
    # Names of topics and types are ASCII; what is not stays readable and cannot match.
    return text.rstrip(b"\x00").decode("ascii", "backslashreplace")


def decode_participant(payload: bytes, vendor: bytes) -> ParticipantInfo:
    """Read what a participant announces about itself.

    Args:
        payload: Encapsulation and parameter list.
        vendor: Vendor of the datagram, for participants that do not repeat it.
    """
    values = _Values(payload)
    guid = values.raw(PID_PARTICIPANT_GUID, 16)
    if guid is None:
        raise Refused("participant does not say who it is")
    domain = values.unpack(PID_DOMAIN, "I")
    properties = values.strings(PID_PROPERTIES, per_item=2)
    return ParticipantInfo(
        prefix=guid[:12],
        vendor=values.raw(PID_VENDOR, 2) or vendor,
        lease_s=values.seconds(PID_LEASE, 100.0),
        meta=values.addresses(PID_META_UNICAST),
        user=values.addresses(PID_USER_UNICAST),
        builtins=values.number(PID_BUILTINS),
        name=values.text(PID_NAME),
        properties=dict(zip(properties[::2], properties[1::2], strict=True)),
        user_data=values.counted(PID_USER_DATA),
        domain=domain[0] if domain else None,
    )


def decode_endpoint(payload: bytes, *, is_writer: bool, vendor: bytes = OUR_VENDOR) -> EndpointInfo:
    """Read what a participant of some vendor announces about a writer (or else a reader) of its own."""
    values = _Values(payload)
    guid = values.raw(PID_ENDPOINT_GUID, 16)
    if guid is None:
        raise Refused("endpoint does not say who it is")
    reliability = values.unpack(PID_RELIABILITY, "I")
    durability, liveliness = values.number(PID_DURABILITY), values.number(PID_LIVELINESS)
    if durability > 3 or liveliness > 2:
        raise Refused("endpoint has a durability or liveliness that does not exist")
    endpoint = EndpointInfo(
        guid=guid,
        topic=values.text(PID_TOPIC),
        type_name=values.text(PID_TYPE),
        qos=Qos(
            # Silence means the default, which differs: writers are reliable, readers are not.
            reliable=reliability[0] == 2 if reliability else is_writer,
            durability=durability,
            depth=1,  # what it keeps is its own business
            exclusive=values.number(PID_OWNERSHIP) == 1,
            partitions=values.strings(PID_PARTITION),
            representations=values.representations(),
            deadline_s=values.seconds(PID_DEADLINE, math.inf),
            liveliness=liveliness,
            liveliness_lease_s=values.seconds(PID_LIVELINESS, math.inf, "I"),
        ),
        addresses=values.addresses(PID_UNICAST),
        user_data=values.counted(PID_USER_DATA),
        vendor=vendor,
        type_ids=values.type_ids(),
    )
    if endpoint.is_writer != is_writer:
        raise Refused("endpoint is announced as what it is not")
    return endpoint


def decode_key(payload: bytes | None, inline: dict[int, bytes], pid: int) -> bytes | None:
    """The GUID a disposal speaks of: from its key, or else from the hash of the key; None if neither is there."""
    guid = _Values(payload).raw(pid, 16) if payload else None
    return guid or (inline[PID_KEY_HASH][:16] if len(inline.get(PID_KEY_HASH, b"")) >= 16 else None)


def status(inline: dict[int, bytes]) -> int:
    """What a sample says about its instance: `DISPOSED`, `UNREGISTERED`, both or 0."""
    value = inline.get(PID_STATUS, b"")
    return value[3] & (DISPOSED | UNREGISTERED) if len(value) >= 4 else 0


def _locator(address: Address) -> bytes:
    return struct.pack("<iI", _UDP_V4, address[1]) + bytes(12) + socket.inet_aton(address[0])


def _counted(value: bytes) -> bytes:
    return struct.pack("<I", len(value)) + value


def _text(value: str) -> bytes:
    return _counted(value.encode("ascii", "backslashreplace") + b"\x00")


def _properties(values: Mapping[str, str]) -> bytes:
    texts = [_text(text) for pair in values.items() for text in pair]
    padded = b"".join(text + bytes(-len(text) % 4) for text in texts)
    return struct.pack("<I", len(values)) + padded + bytes(4)  # no binary ones


def _duration(seconds: float) -> bytes:
    if math.isinf(seconds):
        return struct.pack("<iI", 0x7FFFFFFF, 0xFFFFFFFF)
    return struct.pack("<iI", int(seconds), int(seconds % 1 * 2**32))


def encode_participant(info: ParticipantInfo) -> bytes:
    """Encapsulation and parameter list of a participant."""
    parameters = [
        (PID_VERSION, VERSION),
        (PID_VENDOR, info.vendor),
        (PID_PARTICIPANT_GUID, info.prefix + PARTICIPANT),
        *((PID_META_UNICAST, _locator(address)) for address in info.meta),
        *((PID_USER_UNICAST, _locator(address)) for address in info.user),
        (PID_LEASE, _duration(info.lease_s)),
        (PID_BUILTINS, struct.pack("<I", info.builtins)),
    ]
    if info.domain is not None:
        parameters.append((PID_DOMAIN, struct.pack("<I", info.domain)))
    if info.name:
        parameters.append((PID_NAME, _text(info.name)))
    if info.properties:
        parameters.append((PID_PROPERTIES, _properties(info.properties)))
    if info.user_data:
        parameters.append((PID_USER_DATA, _counted(info.user_data)))
    return _PL_CDR_LE + parameter_list(parameters)


def encode_endpoint(info: EndpointInfo) -> bytes:
    """Encapsulation and parameter list of a reader or writer."""
    qos = info.qos
    parameters = [
        (PID_ENDPOINT_GUID, info.guid),
        (PID_PARTICIPANT_GUID, info.guid[:12] + PARTICIPANT),
        (PID_KEY_HASH, info.guid),
        (PID_TOPIC, _text(info.topic)),
        (PID_TYPE, _text(info.type_name)),
        (PID_VERSION, VERSION),
        (PID_VENDOR, OUR_VENDOR),
        (PID_RELIABILITY, struct.pack("<IiI", 2 if qos.reliable else 1, 0, _SMALL_FRACTION)),
        (PID_DURABILITY, struct.pack("<I", qos.durability)),
        (PID_HISTORY, struct.pack("<Ii", 0, qos.depth)),
        (PID_REPRESENTATION, struct.pack("<IhH", 1, qos.representations[0], 0)),
        *((PID_UNICAST, _locator(address)) for address in info.addresses),
    ]
    if info.user_data:
        parameters.append((PID_USER_DATA, _counted(info.user_data)))
    return _PL_CDR_LE + parameter_list(parameters)


def encode_key(pid: int, guid: bytes) -> bytes:
    """Encapsulation and parameter list that only says of whom a disposal speaks."""
    return _PL_CDR_LE + parameter_list([(pid, guid)])


def disposal(guid: bytes) -> bytes:
    """Inline parameters of a disposal."""
    return parameter_list([(PID_STATUS, bytes([0, 0, 0, DISPOSED | UNREGISTERED])), (PID_KEY_HASH, guid)])


def related_identity(identity: SampleIdentity) -> bytes:
    """Inline parameters that say which request a reply belongs to.

    Fast DDS before 2.14 reads its own parameter, newer ones and RustDDS the standard one: both are sent.
    """
    value = identity.guid + struct.pack("<iI", identity.number >> 32, identity.number & 0xFFFFFFFF)
    return parameter_list([(PID_RELATED_IDENTITY, value), (PID_RELATED_IDENTITY_FAST, value)])


def read_related_guid(inline: dict[int, bytes]) -> bytes | None:
    """The GUID a request wants its reply marked with; None when it does not say."""
    for pid in (PID_RELATED_IDENTITY, PID_RELATED_IDENTITY_FAST):
        value = inline.get(pid, b"")
        if len(value) >= 24 and value[:16] != bytes(16):
            return value[:16]
    return None


def reachable(
    announced: Sequence[Address], *, source: str, own: Sequence[str], fallback: Sequence[Address] = ()
) -> tuple[Address, ...]:
    """Where to send so that a peer hears it, at most `MAX_ADDRESSES`.

    Args:
        announced: What the peer announces.
        source: Address its datagram came from.
        own: Addresses we are bound to.
        fallback: Taken when the peer announces nothing.
    """
    announced = announced or fallback
    # The ports it announces, at the address its datagram came from: that one is known to be reachable, and nobody can
    # have us send to a third. A peer on this machine may announce its network card only, yet it hears on loopback too.
    found = [(source, port) for _, port in announced]
    if len(own) > 1 and source in own:
        here = [address for address in announced if address[0] in own]
        found = [address for address in here if address[0] == source] or here or found
    return tuple(dict.fromkeys(found))[:MAX_ADDRESSES]
