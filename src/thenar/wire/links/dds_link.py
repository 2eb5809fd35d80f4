"""A DDS participant that moves raw bytes: topics out, topics in, and who is at the other end.

Loopback by default. Messages are encoded by the codecs and handed to the DDS library as bytes: its own encoder takes
ten times as long for a touch message.
"""

from __future__ import annotations

import socket
import threading
import time
import uuid
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from thenar.errors import BadValue, MissingExtra, ThenarError
from thenar.wire.codecs import cdr, status_codec
from thenar.wire.links import idl
from thenar.wire.links.dds_log import DdsLog
from thenar.wire.links.inbox import LinkHealth, PeerStats
from thenar.wire.links.interface import ip_address, keep_on_interface, open_sockets
from thenar.wire.links.untyped import without_type_information

try:
    from cyclonedds._clayer import ddspy_take, ddspy_write  # as bytes; the public calls know objects only
    from cyclonedds.builtin import BuiltinDataReader, BuiltinTopicDcpsParticipant, BuiltinTopicDcpsPublication
    from cyclonedds.core import (
        DDSException,
        GuardCondition,
        InstanceState,
        Qos,
        ReadCondition,
        SampleState,
        ViewState,
        WaitSet,
    )
    from cyclonedds.domain import Domain, DomainParticipant
    from cyclonedds.pub import DataWriter
    from cyclonedds.qos import Policy
    from cyclonedds.sub import DataReader
    from cyclonedds.topic import Topic
    from cyclonedds.util import duration
except ImportError as error:
    raise MissingExtra("DDS", "cyclonedds", "dds") from error

CYCLONE = b"\x01\x10"  # how identifiers of its participants begin

MOST_PARTICIPANTS = 32  # of one domain on one host; each has two ports
ANY = SampleState.Any | ViewState.Any | InstanceState.Any
TAKE_AT_ONCE = 64
MOST_WRITERS = 4096
MOST_TALKS = 64  # remembered peers of a topic; silent ones are forgotten beyond that
QUEUE = 32  # commands that may wait; the SDK's own queue has 10

# As the vendors' SDKs have it: writers are reliable, readers take what they can get.
WRITER = Qos(
    Policy.Reliability.Reliable(max_blocking_time=duration(milliseconds=100)),
    Policy.Durability.Volatile,
    Policy.History.KeepLast(1),
)
READER = Qos(Policy.Reliability.BestEffort, Policy.Durability.Volatile, Policy.History.KeepLast(QUEUE))
LATCHED = Qos(
    Policy.Reliability.Reliable(max_blocking_time=duration(milliseconds=100)),
    Policy.Durability.TransientLocal,
    Policy.History.KeepLast(1),
)


def domain_config(interface: str, peers: tuple[str, ...], log_path: str) -> str:
    """Configuration of the DDS library for one interface. On loopback there is no multicast, and none is needed."""
    multicast = "false" if interface == "lo" else "default"
    listed = ("127.0.0.1", *peers) if interface == "lo" else peers
    entries = "".join(f'<Peer address="{peer}"/>' for peer in listed)
    return f"""<CycloneDDS><Domain Id="any">
      <General>
        <AllowMulticast>{"false" if interface == "lo" else "true"}</AllowMulticast>
        <Interfaces><NetworkInterface name="{interface}" multicast="{multicast}"/></Interfaces>
      </General>
      <Discovery>
        <ParticipantIndex>auto</ParticipantIndex>
        <MaxAutoParticipantIndex>{MOST_PARTICIPANTS}</MaxAutoParticipantIndex>
        <Peers>{entries}</Peers>
      </Discovery>
      <Tracing><Verbosity>warning</Verbosity><OutputFile>{log_path}</OutputFile></Tracing>
    </Domain></CycloneDDS>"""


@dataclass(kw_only=True)
class Incoming:
    """One topic that is listened to."""

    topic: str
    reader: Any
    on_message: Callable[[bytes, str, float], None]
    refuse: Callable[[str], None]
    """Told why a message was not passed on."""
    type_hashes: tuple[str, ...]
    peer_stats: dict[int, PeerStats] = field(default_factory=dict)
    """By the handle of the peer's writer."""


@dataclass(kw_only=True)
class Outgoing:
    """One topic that is written to."""

    topic: str
    writer: Any
    written: int = 0
    not_written: int = 0

    def write(self, message: bytes) -> None:
        """Send bytes. A reader that does not keep up costs a message, never the sender's time."""
        if ddspy_write(self.writer._ref, message) < 0:
            self.not_written += 1
        else:
            self.written += 1

    @property
    def readers(self) -> int:
        """How many peers listen now."""
        return len(self.writer.get_matched_subscriptions())

    def wait_for_readers(self, timeout_s: float) -> bool:
        """Wait until somebody listens; False if nobody does in time."""
        until_s = time.perf_counter() + timeout_s
        while not self.readers:
            if time.perf_counter() > until_s:
                return False
            time.sleep(0.02)
        return True


class DdsNode:
    """A participant of a DDS domain on one interface. Close it, or use it in a ``with``."""

    def __init__(self, *, domain: int = 0, interface: str = "lo", peers: tuple[str, ...] = (), name: str = "thenar"):
        """Join a domain.

        Args:
            domain: Number of the domain: robots use 0, simulators of Unitree robots 1.
            interface: Network interface to speak and listen on.
            peers: Addresses to look for participants at, where multicast does not reach.
            name: How this participant is called in the lists of others.
        """
        if not 0 <= domain <= 230:
            raise BadValue("domain", domain, "a number from 0 to 230")
        ip_address(interface)
        _check_peers(peers)
        self.domain, self.interface = domain, interface
        before = open_sockets()
        self._log = DdsLog()
        try:
            self._domain = Domain(domain, domain_config(interface, peers, self._log.path))
        except DDSException as error:
            self._log.close()
            if error.code == DDSException.DDS_RETCODE_PRECONDITION_NOT_MET:
                raise ThenarError(f"domain {domain} is open in this process already: use one DdsNode") from error
            raise ThenarError(f"cannot open domain {domain} on {interface}: {error}") from error
        try:
            self.participant = DomainParticipant(domain, qos=Qos(Policy.EntityName(name)))
        except DDSException as error:
            _delete(self._domain)
            self._log.close()
            raise ThenarError(
                f"no place on domain {domain}: {MOST_PARTICIPANTS} programs use it on {interface} already; "
                "stop one or use another --domain"
            ) from error
        keep_on_interface(open_sockets() - before, interface)
        self.outgoing: list[Outgoing] = []
        self._status: Outgoing | None = None
        self.incoming: list[Incoming] = []
        self._participants = BuiltinDataReader(self.participant, BuiltinTopicDcpsParticipant)
        self._published = BuiltinDataReader(self.participant, BuiltinTopicDcpsPublication)
        self._publications: dict[int, Any] = {}  # by handle: a writer may be gone when its message is looked at
        self._names: dict[uuid.UUID, str] = {}
        self._wake = GuardCondition(self.participant)
        self._waitset = WaitSet(self.participant)
        self._waitset.attach(self._wake)
        self._waitset.attach(ReadCondition(self._published, ANY))
        self._closing = False
        self._listener = threading.Thread(target=self._listen, name="dds", daemon=True)
        self._listener.start()

    def __enter__(self) -> DdsNode:
        """The node itself."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close."""
        self.close()

    def writer(self, topic: str, kind: type, qos: Qos = WRITER) -> Outgoing:
        """Announce a topic and return what writes to it."""
        outgoing = Outgoing(topic=topic, writer=DataWriter(self.participant, self._topic(topic, kind), qos))
        self.outgoing.append(outgoing)
        return outgoing

    def reader(
        self,
        topic: str,
        kind: type,
        on_message: Callable[[bytes, str, float], None],
        *,
        refuse: Callable[[str], None] = lambda _: None,
        qos: Qos = READER,
    ) -> Incoming:
        """Listen to a topic. ``on_message(bytes, sender, arrived_s)`` is called on the node's own thread.

        Messages of a peer whose type is another one under the same name are not passed on: ``refuse(why)`` is called.
        """
        reader = DataReader(self.participant, self._topic(topic, kind), qos)
        incoming = Incoming(
            topic=topic, reader=reader, on_message=on_message, refuse=refuse, type_hashes=idl.accepted_hashes(kind)
        )
        self._log.on_unreadable(topic, refuse)
        self._waitset.attach(ReadCondition(reader, ANY))
        self.incoming = [*self.incoming, incoming]
        return incoming

    def tell_status(self, health: Any) -> None:
        """Publish how a twin is doing, for `thenar inspect`; latecomers get the newest."""
        if self._status is None:
            self._status = self.writer(status_codec.TOPIC, idl.TwinStatus, LATCHED)
        self._status.write(cdr.HEADER + status_codec.encode_status(health))

    def participant_name(self, key: uuid.UUID) -> str:
        """A participant in words: program, process number and host."""
        if key not in self._names:
            for sample in self._participants.take(N=100):
                self._names[sample.key] = describe_participant(sample)
        return self._names.get(key, f"participant {str(key)[:8]}")

    def close(self) -> None:
        """Stop listening, tell the others, leave."""
        if self._closing:
            return
        self._closing = True
        self._wake.set(True)
        self._listener.join()
        _delete(self._waitset)
        for one in self.incoming:
            _delete(one.reader)
        for one in self.outgoing:
            _delete(one.writer)
        _delete(self.participant)
        _delete(self._domain)
        self._log.close()

    def _listen(self) -> None:
        while not self._closing:
            self._waitset.wait(duration(seconds=1))
            arrived_s = time.perf_counter()
            self._meet_writers()
            for incoming in self.incoming:
                self._take(incoming, arrived_s)

    def _meet_writers(self) -> None:
        """Remember who announced a writer."""
        for sample in self._published.take(N=TAKE_AT_ONCE):
            if sample.sample_info.valid_data and len(self._publications) < MOST_WRITERS:
                self._publications[sample.sample_info.instance_handle] = sample
            else:
                self._publications.pop(sample.sample_info.instance_handle, None)

    def _take(self, incoming: Incoming, arrived_s: float) -> None:
        taken = ddspy_take(incoming.reader._ref, ANY, TAKE_AT_ONCE)
        if isinstance(taken, int):
            return
        for message, info in taken:
            if not info.valid_data:
                continue
            stats = incoming.peer_stats.get(info.publication_handle)
            if stats is None:
                stats = self._introduce(incoming, info.publication_handle)
                if len(incoming.peer_stats) >= MOST_TALKS:
                    incoming.peer_stats = {h: t for h, t in incoming.peer_stats.items() if arrived_s - t.last_s < 10.0}
                incoming.peer_stats[info.publication_handle] = stats
            stats.record(arrived_s)
            if stats.reject_reason:
                incoming.refuse(stats.reject_reason)
                continue
            try:
                incoming.on_message(message, stats.who, arrived_s)
            except cdr.BadMessage as error:
                incoming.refuse(f"{incoming.topic}: {error}")

    def _introduce(self, incoming: Incoming, handle: int) -> PeerStats:
        """Who a new writer is, and whether its type is ours."""
        endpoint = self._publications.get(handle) or incoming.reader.get_matched_publication_data(handle)
        if endpoint is None:
            reject_reason = f"{incoming.topic}: a peer left before its type could be looked at"
            return PeerStats("a peer that has left", reject_reason)
        who, reject_reason = self.participant_name(endpoint.participant_key), ""
        hashed = idl.type_hash(endpoint.type_id)
        # Other vendors' libraries hash the same type differently; their bytes are checked by the codec.
        if hashed and endpoint.key.bytes[:2] == CYCLONE and hashed not in incoming.type_hashes:
            reject_reason = f"{incoming.topic}: {who} has another {endpoint.type_name} than the hand: compare its IDL"
        return PeerStats(who, reject_reason)

    def _topic(self, name: str, kind: type) -> Any:
        """A topic; types that old clients cannot compare are announced by name only."""
        topic = Topic(self.participant, name, kind)
        return without_type_information(topic) if kind in idl.SAME_BYTES else topic


def dds_health(
    wire: str, where: str, out: Sequence[Outgoing], incoming: Sequence[Incoming], refused: Mapping[str, int]
) -> LinkHealth:
    """How some topics of a node are doing."""
    return LinkHealth(
        wire=wire,
        where=where,
        listeners=max((one.readers for one in out), default=0),
        written=sum(one.written for one in out),
        not_written=sum(one.not_written for one in out),
        peers=tuple(stats.health(one.topic) for one in incoming for stats in list(one.peer_stats.values())),
        refused=dict(refused),
    )


def describe_participant(sample: Any) -> str:
    """A participant of the built-in topic in words."""
    told = {policy.key: policy.value for policy in sample.qos if isinstance(policy, Policy.Property)}
    program, process = told.get("__ProcessName"), told.get("__Pid")
    host = told.get("__Hostname")
    named = [policy.name for policy in sample.qos if isinstance(policy, Policy.EntityName)]
    words = named[0] if named and named[0] else program.rpartition("/")[2] if program else f"participant {sample.key}"
    return (
        words
        + (f" (process {process})" if process else "")
        + (f" on {host}" if host not in (None, socket.gethostname()) else "")
    )


def _check_peers(peers: tuple[str, ...]) -> None:
    """The DDS library ends the whole process over an address that it cannot make out."""
    for peer in peers:
        try:
            socket.getaddrinfo(peer, None, socket.AF_INET)
        except (OSError, UnicodeError):
            raise BadValue("peers", peer, "addresses of machines, such as 192.0.2.7, separated by commas") from None


def _delete(entity: Any) -> None:
    entity.__del__()  # the library frees an entity when it is collected; here it must be now
