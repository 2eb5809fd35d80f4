"""The names and habits of ROS 2 on a DDS domain: how topics, services and types are called, and who is a node.

Ref: rmw_dds_common and rosidl, branches humble and jazzy.
"""

import re
import struct
from collections.abc import Iterable

from thenar.errors import BadValue
from thenar.wire.rtps.discovery import PARTICIPANT
from thenar.wire.rtps.participant import Participant
from thenar.wire.rtps.qos import LATCHED
from thenar.wire.rtps.reader import Reader
from thenar.wire.rtps.services import Service, ServiceNames
from thenar.wire.rtps.writer import Writer

ENCLAVE = b"enclave=/;"
"""User data by which ROS 2 knows a participant as one of its own."""

HUMBLE_GID_BYTES, JAZZY_GID_BYTES = 24, 16
"""Length of ids in the list of nodes, whose topic and type have the same names in both [bytes]."""

_NAME = re.compile(r"(/[A-Za-z_][A-Za-z0-9_]*)+")
_TYPE = re.compile(r"[A-Za-z][A-Za-z0-9_]*/(msg|srv)/[A-Za-z][A-Za-z0-9]*")


def topic_name(topic: str) -> str:
    """DDS name of a ROS 2 topic: ``/a/b`` is ``rt/a/b``."""
    return "rt" + _checked("topic", topic)


def message_type(type_name: str) -> str:
    """DDS name of a ROS 2 message type: ``sensor_msgs/msg/JointState`` has colons and underscores."""
    if not _TYPE.fullmatch(type_name):
        raise BadValue("type_name", type_name, "package/msg/Name")
    package, kind, name = type_name.split("/")
    return f"{package}::{kind}::dds_::{name}_"


def service_names(service: str, type_name: str) -> ServiceNames:
    """DDS names of a ROS 2 service, such as ``/hand/set_force`` of ``bodyctrl_msgs/srv/SetForce``."""
    name = _checked("service", service)
    kind = message_type(type_name).removesuffix("_")
    return ServiceNames(
        request_topic=f"rq{name}Request",
        request_type=f"{kind}_Request_",
        reply_topic=f"rr{name}Reply",
        reply_type=f"{kind}_Response_",
    )


def type_hash_data(type_hash: str) -> bytes:
    """User data of an endpoint that tells its type's hash (``RIHS01_...``, ROS 2 Iron and later)."""
    return f"typehash={type_hash};".encode("ascii")


def gid_bytes(user_data: bytes) -> int:
    """How long the ids are for the ROS 2 that has an endpoint with this user data: type hashes came with Iron."""
    return JAZZY_GID_BYTES if b"typehash=" in user_data else HUMBLE_GID_BYTES


def _checked(what: str, name: str) -> str:
    if not _NAME.fullmatch(name):
        raise BadValue(what, name, "a full ROS 2 name such as /inspire_hand/state/left_hand")
    return name


class Node:
    """A node that ``ros2 node list`` and ``ros2 node info`` show.

    Args:
        participant: Our end of the domain.
        name: Name of the node.
        namespace: Namespace of the node.
    """

    def __init__(self, participant: Participant, name: str, *, namespace: str = "/"):
        self.name = name
        self.namespace = namespace
        self._participant = participant
        self._writer = participant.advertise(
            "ros_discovery_info", "rmw_dds_common::msg::dds_::ParticipantEntitiesInfo_", qos=LATCHED
        )

    def show(self, endpoints: Iterable[Reader | Writer | Service]) -> None:
        """Say which readers and writers are the node's; replaces what was said before."""
        readers, writers = [], []
        for endpoint in endpoints:
            if isinstance(endpoint, Service):
                reader, writer = endpoint.guids
                readers.append(reader)
                writers.append(writer)
            else:
                (writers if isinstance(endpoint, Writer) else readers).append(endpoint.info.guid)
        guid = self._participant.prefix + PARTICIPANT
        self._writer.write_each(
            lambda reader: encode_node(
                guid, self.namespace, self.name, readers, writers, gid_bytes=gid_bytes(reader.user_data)
            )
        )


def encode_node(
    participant: bytes, namespace: str, name: str, readers: list[bytes], writers: list[bytes], *, gid_bytes: int
) -> bytes:
    """CDR body of a ``ParticipantEntitiesInfo`` with one node."""
    out = bytearray(participant.ljust(gid_bytes, b"\x00"))
    out += struct.pack("<I", 1)
    for text in (namespace, name):
        value = text.encode("utf-8") + b"\x00"
        out += bytes(-len(out) % 4) + struct.pack("<I", len(value)) + value
    for gids in (readers, writers):
        out += bytes(-len(out) % 4) + struct.pack("<I", len(gids))
        for gid in gids:
            out += gid.ljust(gid_bytes, b"\x00")
    return bytes(out)
