"""A participant: our end of a DDS domain, with a thread that receives and keeps time, and one that sends.

It knows nothing of hands, messages or ROS 2.
"""

import atexit
import itertools
import logging
import math
import os
import queue
import socket
import struct
import sys
import threading
import time
from collections import Counter, deque
from collections.abc import Callable, Iterable
from typing import Any

from thenar.errors import BadValue, count_reason
from thenar.wire.rtps import discovery, messages
from thenar.wire.rtps.directory import Directory
from thenar.wire.rtps.discovery import Address, EndpointInfo, ParticipantInfo, SampleIdentity
from thenar.wire.rtps.messages import UNKNOWN_PREFIX, Data, Message, Refused
from thenar.wire.rtps.network import LOOPBACK, Network, probe_addresses
from thenar.wire.rtps.peer_limits import MAX_HELD_BYTES, Share
from thenar.wire.rtps.qos import Qos
from thenar.wire.rtps.reader import Reader, Sample
from thenar.wire.rtps.rtps_health import Health, PeerHealth, endpoint_health, peer_health, service_health
from thenar.wire.rtps.services import Service, ServiceNames
from thenar.wire.rtps.writer import Writer

logger = logging.getLogger(__name__)

MAX_WAIT_S = 0.05
"""How long the thread sleeps at most, so that heartbeats armed by other threads are not late [s]."""

MAX_POSTED = 256
"""Samples that may wait for the sender; more are dropped and counted."""
CHECK_EVERY = 16
"""Submessages of a datagram between two looks at what it has cost."""
DATAGRAM_S = 0.02
"""What one datagram may cost to read, and its samples to be taken [s of this thread]; the rest of it is dropped, but
reliable samples wait for the next turn."""
MAX_DELIVERIES = 512
"""Reliable samples that may wait to be taken; more are not confirmed, so that they are sent again."""

INTERNAL_ERROR = "internal error"
MAX_LOGGED_ERRORS = 16
"""Internal errors that are logged; more are only counted, lest a stranger fill the disk."""

MAKER = b"maker=thenar;"
"""User data of endpoints that have none of their own: ROS 2 Jazzy warns of every topic without any."""

_TO_READERS = {
    Data: Reader.on_data,
    messages.DataFrag: Reader.on_data_frag,
    messages.Heartbeat: Reader.on_heartbeat,
    messages.HeartbeatFrag: Reader.on_heartbeat_frag,
    messages.Gap: Reader.on_gap,
}
_TO_WRITERS = {messages.AckNack: Writer.on_acknack, messages.NackFrag: Writer.on_nack_frag}


class _Stage:
    """What a thread is at, and since when. A mistake of ours is counted and it goes on: the others still talk to us.

    A class, since a generator as context manager costs more than most of what it surrounds.
    """

    def __init__(self, participant: "Participant"):
        self._participant = participant
        self.since_s = math.inf

    def __enter__(self) -> None:
        self.since_s = time.monotonic()

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: object) -> bool:
        self.since_s = math.inf
        if not isinstance(error, Exception):
            return False
        participant = self._participant
        participant.refuse(INTERNAL_ERROR)
        if participant.datagram_refusals[INTERNAL_ERROR] < MAX_LOGGED_ERRORS:
            logger.error("internal error of the RTPS participant on domain %d", participant.domain, exc_info=error)
        return True


class Participant:
    """Our end of a DDS domain.

    Args:
        domain: Domain number (``ROS_DOMAIN_ID``).
        interface: Name or IPv4 address of the interface to use; nothing listens on any other.
        peers: Machines to look for participants at, as ``address`` or ``address:port``, besides this one.
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
        peers: Iterable[str] = (),
        name: str = "thenar",
        user_data: bytes = b"",
        lease_s: float = 20.0,
        announce_s: float = 0.5,
        multicast: bool = True,
        network: Network | None = None,
    ):
        probes = [address for peer in dict.fromkeys((LOOPBACK, *peers)) for address in probe_addresses(peer, domain)]
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
            properties={
                "__ProcessName": os.path.basename(sys.argv[0]) or "python",
                "__Pid": str(os.getpid()),
                "__Hostname": socket.gethostname(),
            },
            user_data=user_data,
            domain=domain,
        )
        self.lock = threading.RLock()
        self.matching = threading.Condition(self.lock)
        """Notified whenever endpoints are matched or unmatched."""
        self.now_s = time.monotonic()
        """When the datagram at hand came, or time was last kept, on the clock of `time.monotonic`."""
        self._datagrams_in = 0
        self.datagram_refusals: Counter[str] = Counter()
        """What was not accepted before it got to a reader or service, by reason."""
        self.held = Share(MAX_HELD_BYTES)
        """Who takes how much of what is kept until it can be delivered."""
        self._directory = Directory(self, self._network, probes)
        self._services: list[Service] = []
        self._awaiting: set[Writer] = set()
        self._deliveries: deque[tuple[Callable[[Any], None], Any, bool]] = deque()
        """Users' functions, what they are called with, and whether that may not be lost."""
        self._entities = itertools.count(1)
        self._announce_s = announce_s
        self._announce_due_s = self._liveliness_due_s = -math.inf
        self._posted: queue.SimpleQueue[tuple[Callable[[bytes], object], bytes] | None] = queue.SimpleQueue()
        self._receiving, self._sending = _Stage(self), _Stage(self)
        """When each thread began with what it is at."""
        self._running = True
        self._thread = threading.Thread(target=self._run, name=f"rtps-{domain}", daemon=True)
        self._sender = threading.Thread(target=self._send_posted, name=f"rtps-{domain}-sender", daemon=True)
        atexit.register(self.close)  # a signal may end the program before its owner has hold of us
        self._thread.start()
        self._sender.start()

    def __enter__(self) -> "Participant":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # What users call.

    def advertise(
        self,
        topic: str,
        type_name: str,
        *,
        qos: Qos | None = None,
        user_data: bytes = b"",
        type_ids: Iterable[str] = (),
    ) -> Writer:
        """Make a writer.

        Args:
            topic: DDS name of the topic (`ros.topic_name` turns a ROS 2 name into it).
            type_name: DDS name of the type; it has to equal the reader's.
            qos: What is offered; by default reliable, volatile, the last 10 kept.
            user_data: User data of the endpoint (ROS 2: the type hash).
            type_ids: XTypes identifiers (hex) of equal types: readers that announce another are not served.
        """
        with self.lock:
            writer = Writer(self, self._endpoint(0x03, topic, type_name, qos, user_data, type_ids))
            self._directory.add(writer)
            return writer

    def subscribe(
        self,
        topic: str,
        type_name: str,
        callback: Callable[[Sample], None],
        *,
        qos: Qos | None = None,
        user_data: bytes = b"",
        type_ids: Iterable[str] = (),
        on_duplicate: Callable[[SampleIdentity], None] | None = None,
    ) -> Reader:
        """Make a reader.

        Args:
            topic: DDS name of the topic.
            type_name: DDS name of the type; it has to equal the writer's.
            callback: Gets every sample, on the participant's thread: it should return soon.
            qos: What is asked for; by default reliable and volatile.
            user_data: User data of the endpoint.
            type_ids: XTypes identifiers (hex) of equal types: writers that announce another are refused.
            on_duplicate: Gets the identity of samples that came twice.
        """
        with self.lock:
            info = self._endpoint(0x04, topic, type_name, qos, user_data, type_ids)
            reader = Reader(self, info, callback, on_duplicate=on_duplicate)
            self._directory.add(reader)
            return reader

    def serve(
        self,
        names: ServiceNames,
        handler: Callable[[bytes], bytes],
        *,
        refusal: bytes,
        body_bytes: int | None = None,
        check: Callable[[bytes], str | None] | None = None,
        request_user_data: bytes = b"",
        reply_user_data: bytes = b"",
    ) -> Service:
        """Answer the requests of a service, in whichever flavour each of them comes.

        Args:
            names: Topics and types of the service (`ros.service_names` makes them).
            handler: Turns the plain CDR body of a request into that of a reply.
            refusal: Body of the reply to what cannot be a request, so that nobody waits forever.
            body_bytes: Exact length of a request's body, where it is fixed [bytes].
            check: Says why a body cannot be a request, or None if it can.
            request_user_data: User data of the request endpoint.
            reply_user_data: User data of the reply endpoint.
        """
        if body_bytes is None and check is None:
            raise BadValue("body_bytes and check", None, "one of them: the other flavour's requests must be told apart")
        with self.lock:
            user_data = request_user_data, reply_user_data
            checks = {"refusal": refusal, "body_bytes": body_bytes, "check": check}
            service = Service(self, names, handler, **checks, user_data=user_data)
            self._services.append(service)
            return service

    def withdraw(self, end: Reader | Writer | Service) -> None:
        """Tell everyone that a reader, writer or service is gone; safe to call twice."""
        with self.lock:
            if isinstance(end, Service):
                self._services = [other for other in self._services if other is not end]
                return
            if isinstance(end, Writer):
                self._awaiting.discard(end)
            self._directory.withdraw(end)

    def close(self) -> None:
        """Take leave of all peers and stop; safe to call twice."""
        atexit.unregister(self.close)
        if self._sender.is_alive() and threading.current_thread() not in (self._thread, self._sender):
            self._posted.put(None)
            self._sender.join()
        with self.lock:
            if not self._running:
                return
            self._running = False
            self._directory.take_leave()
        if self._thread.is_alive() and threading.current_thread() is not self._thread:
            self._thread.join()
        self._network.close()

    def peers(self) -> tuple[PeerHealth, ...]:
        """All other participants."""
        with self.lock:
            now_s = time.monotonic()
            return tuple(peer_health(peer, now_s) for peer in self._directory.peers.values())

    def peer_endpoints(self) -> tuple[tuple[str, EndpointInfo], ...]:
        """Every reader and writer of other participants, after the participant in words."""
        with self.lock:
            everyone = self._directory.peers.values()
            return tuple((peer.description, theirs) for peer in everyone for theirs in peer.endpoints.values())

    def describe(self, guid: bytes) -> str:
        """A participant in words, by its GUID or that of one of its endpoints."""
        with self.lock:
            peer = self._directory.peers.get(guid[:12])
            return peer.description if peer else "a program that has left"

    @property
    def threads(self) -> tuple[threading.Thread, threading.Thread]:
        """Those that receive and send until it is closed."""
        return self._thread, self._sender

    @property
    def standing_s(self) -> float:
        """For how long one of its threads has been at the same thing [s]; 0 when all wait for work."""
        return max(0.0, time.monotonic() - min(self._receiving.since_s, self._sending.since_s))

    def health(self) -> Health:
        """Who is there, who talks to whom, what was refused and why."""
        with self.lock:
            hosts = {p: f"{peer.vendor_name}@{peer.source}" for p, peer in self._directory.peers.items()}
            readers = self._directory.readers.values()
            ours = [*self._directory.writers.values(), *readers]
            return Health(
                domain=self.domain,
                interface_address=self._network.own[0],
                multicast="on" if self._network.group else self._network.no_multicast,
                peers=self.peers(),
                endpoints=tuple(endpoint_health(end, hosts) for end in ours if end.entity[3] < 0xC0),
                services=tuple(service_health(service, hosts) for service in self._services),
                datagrams_in=self._datagrams_in,
                refusals=dict(sum((end.refusals for end in (*readers, *self._services)), self.datagram_refusals)),
            )

    # What endpoints call, under the lock.

    def send(self, datagram: bytes, addresses: Iterable[Address]) -> bool:
        """Send one datagram to some addresses; False if one of them could not be sent to."""
        all_sent = True
        for address in addresses:
            why_not = self._network.send(datagram, address)
            if why_not:
                count_reason(self.datagram_refusals, why_not)
                all_sent = False
        return all_sent

    def post(self, write: Callable[[bytes], object], body: bytes) -> bool:
        """Leave a sample to the sender, from any thread and without the lock; False where too many wait."""
        fits = self._posted.qsize() < MAX_POSTED
        if fits:
            self._posted.put((write, body))
        return fits

    def deliver(self, callback: Callable[[Any], None], value: Any, *, reliable: bool) -> None:
        """Call a user's function once the lock is free again, so that it may take locks of its own."""
        self._deliveries.append((callback, value, reliable))

    @property
    def is_busy(self) -> bool:
        """Whether so many reliable samples wait that no more should be taken."""
        return len(self._deliveries) >= MAX_DELIVERIES

    def knows(self, prefix: bytes) -> bool:
        """Whether a participant is there."""
        return prefix in self._directory.peers

    def hears_us(self, prefix: bytes) -> bool:
        """Whether a participant has shown that what we send to it arrives there."""
        return self._directory.hears_us(prefix)

    def is_announced_to(self, writer: Writer, prefix: bytes) -> bool:
        """Whether a participant has confirmed that it knows of a writer of ours."""
        return self._directory.is_announced_to(writer, prefix)

    def on_forgotten(self, prefix: bytes) -> None:
        """Tell a participant of our endpoints anew: it has lost what it knew of them."""
        self._directory.on_forgotten(prefix)

    def refuse(self, reason: str) -> None:
        """Count something that was not accepted."""
        with self.lock:
            count_reason(self.datagram_refusals, reason)

    def expect_answers(self, writer: Writer) -> None:
        """Keep asking a writer's readers until they have answered."""
        self._awaiting.add(writer)

    def _endpoint(
        self, kind: int, topic: str, type_name: str, qos: Qos | None, user_data: bytes, type_ids: Iterable[str]
    ) -> EndpointInfo:
        return EndpointInfo(
            guid=self.prefix + struct.pack(">I", next(self._entities) << 8 | kind),
            topic=topic,
            type_name=type_name,
            qos=qos or Qos(),
            user_data=user_data or MAKER,
            type_ids=tuple(type_ids),
        )

    # The threads.

    def _run(self) -> None:
        while self._running:
            arrived = None
            with self._receiving:
                self._keep_time()
                arrived = list(self._network.receive(0.0 if self._deliveries else MAX_WAIT_S))
                self._call_back()
            if arrived is None:
                time.sleep(MAX_WAIT_S)  # what went wrong may do so again at once
            for datagram, source in arrived or ():
                with self._receiving:
                    self._on_datagram(datagram, source)

    def _send_posted(self) -> None:
        while (posted := self._posted.get()) is not None:
            write, body = posted
            with self._sending:
                write(body)

    def _keep_time(self) -> None:
        now_s = time.monotonic()
        with self.lock:
            if not self._running:
                return  # nothing is said after the farewell
            self.now_s = now_s
            if now_s >= self._announce_due_s:
                self._announce_due_s = now_s + self._announce_s
                self._directory.announce()
                self._directory.expire(now_s)
                for reader in self._directory.readers.values():
                    reader.tick()
            if now_s >= self._liveliness_due_s:
                self._liveliness_due_s = now_s + self.info.lease_s / 3
                # "Our automatic writers live": the participant, the kind (1), no data.
                body = self.prefix + bytes([0, 0, 0, 1]) + struct.pack("<I", 0)
                self._directory.writers[discovery.LIVELINESS_WRITER].write(body)
            if self._awaiting:
                self._awaiting = {writer for writer in self._awaiting if writer.tick(now_s)}

    def _on_datagram(self, datagram: bytes, source: str) -> None:
        with self.lock:
            if not self._running:
                return
            self.now_s = time.monotonic()
            self._datagrams_in += 1
            try:
                message = messages.read_message(datagram)
            except Refused as why:
                self.refuse(str(why))
                return
            if message.refused:
                self.refuse(message.refused)
            if message.header.prefix != self.prefix:
                self._on_message(message, source, len(datagram))
        self._call_back()

    def _call_back(self) -> None:
        """Let users take their samples, for as long as one datagram may cost."""
        if not self._deliveries:
            return
        with self.lock:
            deliveries, self._deliveries = self._deliveries, deque()
        until_s = time.thread_time() + DATAGRAM_S if len(deliveries) > 1 else math.inf  # asking is a system call
        while deliveries:
            callback, value, _ = deliveries.popleft()
            try:
                callback(value)
            except Exception:
                # A user's function that fails must not silence the participant.
                logger.exception("a callback failed")
                self.refuse("a callback failed")
            if deliveries and time.thread_time() > until_s:
                break
        for delivery in reversed(deliveries):
            if delivery[2]:
                self._deliveries.appendleft(delivery)
            else:
                self.refuse("samples of one datagram take too long")

    def _on_message(self, message: Message, source: str, size: int) -> None:
        vendor, prefix = message.header
        mine, stamp_s = True, None
        until_s = time.thread_time() + DATAGRAM_S if len(message.submessages) > CHECK_EVERY else math.inf
        if peer := self._directory.peers.get(prefix):
            self._directory.on_sign_of_life(peer, size)
        for index, sub in enumerate(message.submessages):
            if index % CHECK_EVERY == CHECK_EVERY - 1 and time.thread_time() > until_s:
                self.refuse("datagram takes too long")
                return
            if isinstance(sub, messages.InfoTs):
                stamp_s = sub.stamp_s
            elif isinstance(sub, messages.InfoDst):
                mine = sub.prefix in (self.prefix, UNKNOWN_PREFIX)
                if sub.prefix == self.prefix:
                    self._directory.on_addressed(prefix)
            elif isinstance(sub, messages.InfoSrc):
                (vendor, prefix), stamp_s = sub, None
            elif mine and isinstance(sub, Data) and sub.writer == discovery.SPDP_WRITER:
                try:
                    self._directory.on_announcement(sub, vendor, prefix, source)
                except Refused as why:
                    self.refuse(str(why))
            elif mine:
                self.on_submessage(sub, prefix, stamp_s)

    def on_submessage(self, sub: Any, prefix: bytes, stamp_s: float | None) -> None:
        """Hand a submessage of a participant to whom it is for, now or when it was kept until now."""
        try:
            if handle := _TO_READERS.get(type(sub)):
                listeners = self._directory.listeners(sub.reader, prefix + sub.writer)
                for reader, writer in listeners:
                    handle(reader, writer, sub, stamp_s)
                if not listeners:
                    self._directory.on_unmatched(sub, prefix + sub.writer, stamp_s)
                return
            ours = self._directory.writers.get(sub.writer)
            if ours is None or not _TO_WRITERS[type(sub)](ours, prefix + sub.reader, sub):
                self.refuse(f"{messages.NAMES[type(sub)]} from a reader that is not known")
        except Refused as why:
            self.refuse(str(why))
