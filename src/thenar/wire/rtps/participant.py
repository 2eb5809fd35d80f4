"""A participant: finds others, tells them what it reads and writes, and hands datagrams to its endpoints.

One thread of its own receives and keeps time. It knows nothing of hands, messages or ROS 2.
"""

import itertools
import logging
import math
import os
import struct
import threading
import time
from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any

from thenar.errors import BadValue
from thenar.wire.rtps import discovery, messages
from thenar.wire.rtps.discovery import Address, EndpointInfo, ParticipantInfo, SampleIdentity
from thenar.wire.rtps.messages import UNKNOWN_ENTITY, UNKNOWN_PREFIX, Data, Message, Refused
from thenar.wire.rtps.network import LOOPBACK, Network
from thenar.wire.rtps.peer import Peer, probe_addresses
from thenar.wire.rtps.qos import LATCHED, TRANSIENT_LOCAL, Qos, mismatch
from thenar.wire.rtps.reader import MatchedWriter, Reader, Sample
from thenar.wire.rtps.rtps_health import Counts, Health, endpoint_health, peer_health, remote_topics, service_health
from thenar.wire.rtps.services import Service, ServiceNames
from thenar.wire.rtps.writer import Writer

logger = logging.getLogger(__name__)

MAX_PEERS = 128
MAX_ENDPOINTS_PER_PEER = 2048
DEPARTED_S = 10.0
"""How long announcements of a participant that took leave are ignored [s]."""
LONGEST_WAIT_S = 0.05
"""How long the thread sleeps at most, so that heartbeats armed by other threads are not late [s]."""

_BUILTIN_QOS = Qos(durability=TRANSIENT_LOCAL, depth=1 << 30)
_BUILTIN_PAIRS = (
    (discovery.PUBLICATIONS_WRITER, discovery.PUBLICATIONS_READER),
    (discovery.SUBSCRIPTIONS_WRITER, discovery.SUBSCRIPTIONS_READER),
    (discovery.LIVELINESS_WRITER, discovery.LIVELINESS_READER),
)


class Participant:
    """Our end of a DDS domain.

    Args:
        domain: Domain number (``ROS_DOMAIN_ID``).
        interface: Name or IPv4 address of the interface to use; nothing listens on any other.
        peers: Addresses to look for participants at, as ``address`` or ``address:port``. By default this machine.
        name: Shown by peers' tools.
        user_data: User data of the participant (ROS 2 wants ``enclave=/;``).
        lease_s: After how long a silence peers may count us as gone [s].
        announce_s: Time between announcements [s].
        multicast: Whether to announce by multicast too, where the interface can.
        network: Sockets of one's own making, for tests.
    """

    def __init__(
        self,
        domain: int = 0,
        *,
        interface: str = "lo",
        peers: Iterable[str] = (LOOPBACK,),
        name: str = "thenar",
        user_data: bytes = b"",
        lease_s: float = 20.0,
        announce_s: float = 0.5,
        multicast: bool = True,
        network: Network | None = None,
    ):
        self._probes = [address for peer in peers for address in probe_addresses(peer, domain)]
        self._network = network or Network(domain, interface, multicast=multicast)
        self.domain = domain
        # The first two bytes name the vendor, as other implementations have it; the rest is chance.
        self.prefix = messages.OUR_VENDOR + os.urandom(10)
        self.header = messages.header(self.prefix)
        self.info = ParticipantInfo(
            prefix=self.prefix,
            lease_s=lease_s,
            meta=(self._network.meta,),
            user=(self._network.user,),
            builtins=discovery.OUR_BUILTINS,
            name=name,
            user_data=user_data,
            domain=domain,
        )
        self.lock = threading.RLock()
        self.matching = threading.Condition(self.lock)
        """Notified whenever endpoints are matched or unmatched."""
        self.now_s = time.monotonic()
        """When the datagram at hand came, on the clock of `time.monotonic`."""
        self._counts = Counts()
        self._peers: dict[bytes, Peer] = {}
        self._departed: dict[bytes, float] = {}
        """When participants took leave: what they announced before may still be on its way."""
        self._writers: dict[bytes, Writer] = {}
        self._readers: dict[bytes, Reader] = {}
        self._services: list[Service] = []
        self._announced: dict[bytes, int] = {}
        self._heard_by: dict[bytes, tuple[Reader, ...]] = {}
        self._awaiting: set[Writer] = set()
        self._deliveries: list[tuple[Callable[[Any], None], Any]] = []
        self._entities = itertools.count(1)
        self._announcements = itertools.count(1)
        self._announce_s = announce_s
        self._announce_due_s = self._liveliness_due_s = -math.inf
        self._make_builtins()
        self._running = True
        self._thread = threading.Thread(target=self._run, name=f"rtps-{domain}", daemon=True)
        self._thread.start()

    def __enter__(self) -> "Participant":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # What users call.

    def advertise(self, topic: str, type_name: str, *, qos: Qos | None = None, user_data: bytes = b"") -> Writer:
        """Make a writer.

        Args:
            topic: DDS name of the topic (`ros.topic_name` turns a ROS 2 name into it).
            type_name: DDS name of the type; it has to equal the reader's.
            qos: What is offered; by default reliable, volatile, the last 10 kept.
            user_data: User data of the endpoint (ROS 2: the type hash).
        """
        with self.lock:
            writer = Writer(self, self._endpoint(topic, type_name, qos or Qos(), user_data, kind=0x03))
            self._writers[writer.entity] = writer
            for peer in self._peers.values():
                for theirs in peer.endpoints.values():
                    if not theirs.is_writer:
                        self._try_writer(writer, theirs)
            self._announce_endpoint(discovery.PUBLICATIONS_WRITER, writer.info)
            return writer

    def subscribe(
        self,
        topic: str,
        type_name: str,
        callback: Callable[[Sample], None],
        *,
        qos: Qos | None = None,
        user_data: bytes = b"",
        on_duplicate: Callable[[SampleIdentity], None] | None = None,
    ) -> Reader:
        """Make a reader.

        Args:
            topic: DDS name of the topic.
            type_name: DDS name of the type; it has to equal the writer's.
            callback: Gets every sample, on the participant's thread: it should return soon.
            qos: What is asked for; by default reliable and volatile.
            user_data: User data of the endpoint.
            on_duplicate: Gets the identity of samples that came twice.
        """
        with self.lock:
            info = self._endpoint(topic, type_name, qos or Qos(), user_data, kind=0x04)
            reader = Reader(self, info, callback, on_duplicate=on_duplicate)
            self._readers[reader.entity] = reader
            for peer in self._peers.values():
                for theirs in peer.endpoints.values():
                    if theirs.is_writer:
                        self._try_reader(reader, theirs, peer)
            self._announce_endpoint(discovery.SUBSCRIPTIONS_WRITER, reader.info)
            return reader

    def serve(
        self,
        names: ServiceNames,
        handler: Callable[[bytes], bytes | None],
        *,
        body_bytes: int | None = None,
        check: Callable[[bytes], str | None] | None = None,
        request_user_data: bytes = b"",
        reply_user_data: bytes = b"",
    ) -> Service:
        """Answer the requests of a service, in whichever flavour each of them comes.

        Args:
            names: Topics and types of the service (`ros.service_names` makes them).
            handler: Turns the plain CDR body of a request into that of a reply; None means no reply.
            body_bytes: Exact length of a request's body, where it is fixed [bytes].
            check: Says why a body cannot be a request, or None if it can.
            request_user_data: User data of the request endpoint.
            reply_user_data: User data of the reply endpoint.
        """
        if body_bytes is None and check is None:
            raise BadValue("body_bytes and check", None, "one of them: the other flavour's requests must be told apart")
        with self.lock:
            service = Service(
                self,
                names,
                handler,
                body_bytes=body_bytes,
                check=check,
                request_user_data=request_user_data,
                reply_user_data=reply_user_data,
            )
            self._services.append(service)
            return service

    def withdraw(self, endpoint: Reader | Writer) -> None:
        """Tell everyone that a reader or writer is gone."""
        with self.lock:
            guid = endpoint.info.guid
            if isinstance(endpoint, Writer):
                if self._writers.pop(endpoint.entity, None) is None:
                    return
                self._awaiting.discard(endpoint)
                announcer = self._writers[discovery.PUBLICATIONS_WRITER]
            else:
                if self._readers.pop(endpoint.entity, None) is None:
                    return
                for writer_guid in list(endpoint.writers):
                    self._unhear(endpoint, writer_guid)
                announcer = self._writers[discovery.SUBSCRIPTIONS_WRITER]
            announcer.forget(self._announced.pop(guid))
            key = discovery.encode_key(discovery.PID_ENDPOINT_GUID, guid)
            announcer.add(key, inline=discovery.disposal(guid), key_only=True)

    def close(self) -> None:
        """Take leave of all peers and stop; safe to call twice."""
        with self.lock:
            if not self._running:
                return
            self._running = False
            guid = self.prefix + discovery.PARTICIPANT
            farewell = self.header + messages.data(
                discovery.SPDP_READER,
                discovery.SPDP_WRITER,
                next(self._announcements),
                discovery.encode_key(discovery.PID_PARTICIPANT_GUID, guid),
                discovery.disposal(guid),
                key_only=True,
            )
            for address in self._announcement_addresses():
                self.send(farewell, address)
        if threading.current_thread() is not self._thread:
            self._thread.join()
        self._network.close()

    def health(self) -> Health:
        """Who is there, who talks to whom, what was refused and why."""
        with self.lock:
            now_s = time.monotonic()
            hosts = {prefix: f"{peer.vendor_name}@{peer.source}" for prefix, peer in self._peers.items()}
            return Health(
                domain=self.domain,
                interface_address=self._network.own[0],
                ports=(self._network.meta[1], self._network.user[1]),
                multicast="on" if self._network.group else self._network.no_multicast,
                peers=tuple(peer_health(peer, now_s) for peer in self._peers.values()),
                endpoints=tuple(
                    endpoint_health(endpoint, hosts, now_s)
                    for endpoint in [*self._writers.values(), *self._readers.values()]
                    if endpoint.entity[3] < 0xC0
                ),
                services=tuple(service_health(service, hosts) for service in self._services),
                topics=remote_topics(self._peers.values()),
                datagrams_in=self._counts.datagrams_in,
                datagrams_out=self._counts.datagrams_out,
                bytes_in=self._counts.bytes_in,
                bytes_out=self._counts.bytes_out,
                refusals=dict(self._counts.refusals),
            )

    # What endpoints call, under the lock.

    def retire(self, service: Service) -> None:
        """Leave a service out from now on."""
        with self.lock:
            self._services = [other for other in self._services if other is not service]

    def send(self, datagram: bytes, address: Address) -> None:
        """Send one datagram."""
        self._counts.datagrams_out += 1
        self._counts.bytes_out += len(datagram)
        why_not = self._network.send(datagram, address)
        if why_not:
            self._counts.refuse(why_not)

    def deliver(self, callback: Callable[[Any], None], value: Any) -> None:
        """Call a user's function once the lock is free again, so that it may take locks of its own."""
        self._deliveries.append((callback, value))

    def knows(self, prefix: bytes) -> bool:
        """Whether a participant is there."""
        return prefix in self._peers

    def refuse(self, reason: str) -> None:
        """Count something that was not accepted."""
        with self.lock:
            self._counts.refuse(reason)

    def expect_answers(self, writer: Writer) -> None:
        """Keep asking a writer's readers until they have answered."""
        self._awaiting.add(writer)

    # The thread.

    def _run(self) -> None:
        while self._running:
            try:
                self._keep_time()
                for datagram, source in self._network.receive(LONGEST_WAIT_S):
                    self._on_datagram(datagram, source)
                    if not self._running:
                        return
            except Exception:
                # A mistake of ours: count it and go on, the others still talk to us.
                logger.exception("RTPS participant on domain %d stumbled", self.domain)
                self.refuse("internal error")
                time.sleep(LONGEST_WAIT_S)

    def _keep_time(self) -> None:
        now_s = time.monotonic()
        with self.lock:
            if not self._running:
                return  # nothing is said after the farewell
            if now_s >= self._announce_due_s:
                self._announce_due_s = now_s + self._announce_s
                self._announce()
                for peer in [p for p in self._peers.values() if now_s - p.heard_s > p.info.lease_s]:
                    self._remove_peer(peer, "was silent for longer than its lease")
                self._departed = {p: left_s for p, left_s in self._departed.items() if now_s - left_s < DEPARTED_S}
                for reader in self._readers.values():
                    reader.tick()
            if now_s >= self._liveliness_due_s:
                self._liveliness_due_s = now_s + self.info.lease_s / 3
                # "Our automatic writers live": the participant, the kind (1), no data.
                body = self.prefix + bytes([0, 0, 0, 1]) + struct.pack("<I", 0)
                self._writers[discovery.LIVELINESS_WRITER].write(body)
            if self._awaiting:
                self._awaiting = {writer for writer in self._awaiting if writer.tick(now_s)}

    def _on_datagram(self, datagram: bytes, source: str) -> None:
        with self.lock:
            if not self._running:
                return
            self.now_s = time.monotonic()
            self._counts.datagrams_in += 1
            self._counts.bytes_in += len(datagram)
            try:
                message = messages.read_message(datagram)
            except Refused as why:
                self._counts.refuse(str(why))
                return
            if message.refused:
                self._counts.refuse(message.refused)
            if message.header.prefix != self.prefix:
                self._on_message(message, source)
            deliveries, self._deliveries = self._deliveries, []
        for callback, value in deliveries:
            try:
                callback(value)
            except Exception:
                # A user's function that fails must not silence the participant.
                logger.exception("a callback failed")
                self.refuse("a callback failed")

    def _on_message(self, message: Message, source: str) -> None:
        vendor, prefix = message.header
        mine, stamp_s = True, None
        if peer := self._peers.get(prefix):
            peer.heard_s = self.now_s
        for sub in message.submessages:
            match sub:
                case messages.InfoTs():
                    stamp_s = sub.stamp_s
                    continue
                case messages.InfoDst():
                    mine = sub.prefix in (self.prefix, UNKNOWN_PREFIX)
                    continue
                case messages.InfoSrc():
                    vendor, prefix = sub
                    stamp_s = None
                    continue
            if not mine:
                continue
            try:
                self._on_submessage(sub, vendor, prefix, stamp_s, source)
            except Refused as why:
                self._counts.refuse(str(why))

    def _on_submessage(
        self, sub: messages.Submessage, vendor: bytes, prefix: bytes, stamp_s: float | None, source: str
    ) -> None:
        match sub:
            case Data():
                if sub.writer == discovery.SPDP_WRITER:
                    self._on_announcement(sub, vendor, prefix, source)
                    return
                for reader, writer in self._listeners(sub.reader, prefix + sub.writer):
                    reader.on_data(writer, sub, stamp_s)
            case messages.DataFrag():
                for reader, writer in self._listeners(sub.reader, prefix + sub.writer):
                    reader.on_data_frag(writer, sub, stamp_s)
            case messages.Heartbeat():
                for reader, writer in self._listeners(sub.reader, prefix + sub.writer):
                    reader.on_heartbeat(writer, sub)
            case messages.Gap():
                for reader, writer in self._listeners(sub.reader, prefix + sub.writer):
                    reader.on_gap(writer, sub)
            case messages.HeartbeatFrag():
                for reader, writer in self._listeners(sub.reader, prefix + sub.writer):
                    reader.on_heartbeat_frag(writer, sub)
            case messages.AckNack():
                if (ours := self._writers.get(sub.writer)) is None or not ours.on_acknack(prefix + sub.reader, sub):
                    raise Refused("ACKNACK from a reader that is not known")
            case messages.NackFrag():
                if (ours := self._writers.get(sub.writer)) is None or not ours.on_nack_frag(prefix + sub.reader, sub):
                    raise Refused("NACK_FRAG from a reader that is not known")

    def _listeners(self, reader: bytes, writer_guid: bytes) -> list[tuple[Reader, MatchedWriter]]:
        """Which readers of ours a writer speaks to. Cyclone and RustDDS do not name the reader."""
        found = [
            (ours, ours.writers[writer_guid])
            for ours in self._heard_by.get(writer_guid, ())
            if reader in (UNKNOWN_ENTITY, ours.entity)
        ]
        if not found and writer_guid[12:] not in discovery.ANNOUNCER_BITS and writer_guid[15] < 0xC0:
            raise Refused("submessage from a writer that is not matched")
        return found

    # Discovery of participants.

    def _announcement_addresses(self) -> list[Address]:
        group = [self._network.group] if self._network.group else []
        known = [address for peer in self._peers.values() for address in peer.meta]
        return [address for address in dict.fromkeys([*group, *self._probes, *known]) if address != self._network.meta]

    def _announce(self) -> None:
        everyone = self._announcement(self.info)
        special = {address: peer for peer in self._peers.values() for address in peer.meta}
        for address in self._announcement_addresses():
            if address in special:
                self._announce_to(special[address])
            else:
                self.send(everyone, address)

    def _announce_to(self, peer: Peer) -> None:
        info = self.info
        # RustDDS sends no user data to 127.0.0.1, lest it be another machine's. What is sent to 0.0.0.0 goes to
        # this machine too, and it does not mind that one.
        if peer.info.vendor == messages.RUST_VENDOR and self._network.own == (LOOPBACK,):
            info = replace(info, user=(("0.0.0.0", self._network.user[1]),))
        datagram = self._announcement(info)
        for address in peer.meta:
            self.send(datagram, address)

    def _announcement(self, info: ParticipantInfo) -> bytes:
        return (
            self.header
            + messages.info_ts(time.time())
            + messages.data(
                discovery.SPDP_READER,
                discovery.SPDP_WRITER,
                next(self._announcements),
                discovery.encode_participant(info),
            )
        )

    def _on_announcement(self, data: Data, vendor: bytes, prefix: bytes, source: str) -> None:
        if data.key_only or discovery.status(data.inline):
            guid = discovery.decode_key(data.payload, data.inline, discovery.PID_PARTICIPANT_GUID)
            peer = self._peers.get(guid[:12] if guid else prefix)
            # Nobody may send another one away.
            if peer and peer.info.prefix == prefix:
                self._remove_peer(peer, "took leave")
                self._departed[prefix] = self.now_s
            return
        if prefix in self._departed:
            return
        if data.payload is None:
            raise Refused("announcement has no content")
        info = discovery.decode_participant(data.payload, vendor)
        if info.prefix != prefix:
            raise Refused("announcement speaks for another participant")
        if info.domain not in (None, self.domain):
            raise Refused("announcement is from another domain")
        peer = self._peers.get(prefix)
        if peer is not None:
            if (peer.info.meta, peer.info.user) == (info.meta, info.user):
                peer.info = info
                return
            self._remove_peer(peer, "moved to another address")
        if len(self._peers) >= MAX_PEERS:
            raise Refused("more participants than are kept track of")
        peer = Peer(info, source, self._network.own, self.now_s)
        if not peer.meta:
            raise Refused("participant has no address we can reach")
        self._peers[prefix] = peer
        logger.info("found %s at %s (%s)", peer.vendor_name, source, info.name or prefix.hex())
        # Answer at once: it may not hear our announcements otherwise for seconds.
        self._announce_to(peer)
        for writer, reader in _BUILTIN_PAIRS:
            if info.builtins & discovery.ANNOUNCER_BITS[writer]:
                theirs = _builtin_endpoint(prefix + writer, peer.meta)
                self._readers[reader].match(theirs, info.vendor)
                self._heard_by[theirs.guid] = (self._readers[reader],)
            if info.builtins & discovery.ANNOUNCER_BITS[reader]:
                self._writers[writer].match(_builtin_endpoint(prefix + reader, peer.meta))

    def _remove_peer(self, peer: Peer, why: str) -> None:
        prefix = peer.info.prefix
        logger.info("%s at %s %s", peer.vendor_name, peer.source, why)
        del self._peers[prefix]
        for guid in [*peer.endpoints, *(prefix + entity for pair in _BUILTIN_PAIRS for entity in pair)]:
            self._forget_endpoint(guid)
        for writer in self._writers.values():
            writer.drop_participant(prefix)
        self.matching.notify_all()

    def _forget_endpoint(self, guid: bytes) -> None:
        for reader in self._heard_by.get(guid, ()):
            self._unhear(reader, guid)
        for endpoint in (*self._writers.values(), *self._readers.values()):
            endpoint.mismatches.pop(guid, None)
            if isinstance(endpoint, Writer):
                endpoint.unmatch(guid)

    def _unhear(self, reader: Reader, guid: bytes) -> None:
        reader.unmatch(guid)
        rest = tuple(other for other in self._heard_by.get(guid, ()) if other is not reader)
        if rest:
            self._heard_by[guid] = rest
        else:
            self._heard_by.pop(guid, None)

    # Discovery of endpoints.

    def _make_builtins(self) -> None:
        for writer, reader in _BUILTIN_PAIRS:
            qos = LATCHED if writer == discovery.LIVELINESS_WRITER else _BUILTIN_QOS
            mine = EndpointInfo(guid=self.prefix + writer, topic="", type_name="", qos=qos)
            self._writers[writer] = Writer(self, mine)
            mine = EndpointInfo(guid=self.prefix + reader, topic="", type_name="", qos=qos)
            self._readers[reader] = Reader(self, mine, self._on_builtin, builtin=True)

    def _endpoint(self, topic: str, type_name: str, qos: Qos, user_data: bytes, *, kind: int) -> EndpointInfo:
        entity = struct.pack(">I", next(self._entities) << 8 | kind)
        return EndpointInfo(
            guid=self.prefix + entity,
            topic=topic,
            type_name=type_name,
            qos=qos,
            user_data=user_data,
        )

    def _announce_endpoint(self, announcer: bytes, info: EndpointInfo) -> None:
        self._announced[info.guid] = self._writers[announcer].add(discovery.encode_endpoint(info))

    def _on_builtin(self, sample: Sample) -> None:
        prefix, entity = sample.identity.guid[:12], sample.identity.guid[12:]
        peer = self._peers.get(prefix)
        if peer is None or entity == discovery.LIVELINESS_WRITER:
            return
        try:
            if sample.key_only or discovery.status(sample.inline):
                guid = discovery.decode_key(sample.body, sample.inline, discovery.PID_ENDPOINT_GUID)
                if guid and peer.endpoints.pop(guid, None):
                    self._forget_endpoint(guid)
                    self.matching.notify_all()
                return
            theirs = discovery.decode_endpoint(sample.body, is_writer=entity == discovery.PUBLICATIONS_WRITER)
            self._on_endpoint(peer, theirs)
        except Refused as why:
            self._counts.refuse(str(why))

    def _on_endpoint(self, peer: Peer, theirs: EndpointInfo) -> None:
        if theirs.guid[:12] != peer.info.prefix:
            raise Refused("endpoint belongs to another participant")
        if not theirs.topic:
            raise Refused("endpoint has no topic")
        if len(peer.endpoints) >= MAX_ENDPOINTS_PER_PEER:
            raise Refused("more endpoints than are kept track of")
        found = discovery.reachable(
            theirs.addresses, source=peer.source, own=self._network.own, fallback=peer.info.user or peer.info.meta
        )
        theirs = replace(theirs, addresses=found or peer.user)
        peer.endpoints[theirs.guid] = theirs
        if theirs.is_writer:
            for reader in list(self._readers.values()):
                self._try_reader(reader, theirs, peer)
        else:
            for writer in list(self._writers.values()):
                self._try_writer(writer, theirs)

    def _try_writer(self, writer: Writer, theirs: EndpointInfo) -> None:
        if writer.info.topic != theirs.topic:
            return
        why_not = _type_mismatch(writer.info, theirs) or mismatch(writer.qos, theirs.qos)
        if why_not:
            writer.mismatches[theirs.guid] = why_not
            writer.unmatch(theirs.guid)
        else:
            writer.mismatches.pop(theirs.guid, None)
            writer.match(theirs)
        self.matching.notify_all()

    def _try_reader(self, reader: Reader, theirs: EndpointInfo, peer: Peer) -> None:
        if reader.info.topic != theirs.topic:
            return
        why_not = _type_mismatch(reader.info, theirs) or mismatch(theirs.qos, reader.qos)
        if why_not:
            reader.mismatches[theirs.guid] = why_not
            self._unhear(reader, theirs.guid)
        else:
            reader.mismatches.pop(theirs.guid, None)
            reader.match(theirs, peer.info.vendor)
            others = self._heard_by.get(theirs.guid, ())
            if reader not in others:
                self._heard_by[theirs.guid] = (*others, reader)
        self.matching.notify_all()


def _builtin_endpoint(guid: bytes, addresses: tuple[Address, ...]) -> EndpointInfo:
    return EndpointInfo(guid=guid, topic="", type_name="", qos=_BUILTIN_QOS, addresses=addresses)


def _type_mismatch(ours: EndpointInfo, theirs: EndpointInfo) -> str | None:
    if ours.type_name == theirs.type_name:
        return None
    return f"the type is {ours.type_name} here and {theirs.type_name} there"
