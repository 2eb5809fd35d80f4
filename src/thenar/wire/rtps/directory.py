"""Who is on the domain: announces us, keeps track of other participants, and matches their endpoints with ours.

Everything here runs under the participant's lock.
"""

import itertools
import logging
import math
import socket
import time
from collections import deque
from collections.abc import Iterable
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

from thenar.errors import clean_text
from thenar.wire.rtps import discovery, messages
from thenar.wire.rtps.discovery import Address, EndpointInfo, ParticipantInfo
from thenar.wire.rtps.messages import CYCLONE_VENDOR, UNKNOWN_ENTITY, Data, DataFrag, Refused
from thenar.wire.rtps.network import LOOPBACK, Network
from thenar.wire.rtps.peer_limits import MAX_STRANGERS_BYTES, Early, EarlyBox, Share
from thenar.wire.rtps.qos import LATCHED, TRANSIENT_LOCAL, Qos, mismatch
from thenar.wire.rtps.reader import MatchedWriter, Reader, Sample
from thenar.wire.rtps.writer import Writer

if TYPE_CHECKING:
    from thenar.wire.rtps.participant import Participant

logger = logging.getLogger(__name__)

MAX_PEERS = 128
MAX_ENDPOINTS_PER_PEER = 2048
MAX_ENDPOINTS = 8192
"""Of all participants; nobody has more of them than are left for the others."""
MAX_PEER_ADDRESSES = 16
"""Where one participant may have its endpoints listen."""
MAX_LEASE_S = 120.0
UNHEARD_LEASE_S = 10.0
"""Longest lease of a participant that has not shown yet that it hears us [s]."""
IDLE_S = 30.0
"""After how long a silence a participant makes room for another when there are too many [s]."""
ASK_S = 0.01
"""How often a participant is asked to show that it hears us, at most [s]."""
ANSWER_RATIO, HEADERS_BYTES = 3, 44
"""How much is sent to a participant for each byte that it sent, before it has shown that it hears us: its address may
be somebody else's. And the bytes around an announcement."""
DEPARTED_S = 0.5
"""How long a participant that took leave is not listened to [s]: something of it may still be on its way."""
LEFT_S, LOST_S = 5.0, 120.0
"""How long one that took leave, or fell silent, is asked whether it is there after all [s]: the farewell may have been
somebody else's, or the cable may be back."""

UNMATCHED = "submessage from a writer that is not matched"

_BUILTIN_QOS = Qos(durability=TRANSIENT_LOCAL, depth=1 << 30)
_BUILTIN_PAIRS = (
    (discovery.PUBLICATIONS_WRITER, discovery.PUBLICATIONS_READER),
    (discovery.SUBSCRIPTIONS_WRITER, discovery.SUBSCRIPTIONS_READER),
    (discovery.LIVELINESS_WRITER, discovery.LIVELINESS_READER),
)


class Peer:
    """Another participant, as far as we know it."""

    def __init__(self, info: ParticipantInfo, source: str, own: tuple[str, ...], now_s: float):
        self.info = info
        self.source = source
        """Address its announcements come from."""
        self.known_s = self.heard_s = now_s
        self.meta = discovery.reachable(info.meta, source=source, own=own)
        self.user = discovery.reachable(info.user, source=source, own=own, fallback=info.meta)
        self.endpoints: dict[bytes, EndpointInfo] = {}
        self.addresses: set[Address] = {*self.user}
        """Where its endpoints listen."""
        self.hears_us = False
        """Whether it has shown that what we send arrives there: it knows our prefix, which only we could tell it."""
        self.credit_bytes = 0
        """What may be sent to it before it has."""
        self.asked_s = self.named_us_s = -math.inf
        """When it was last asked to show it, and when it last did."""
        self.doubted_s = math.inf
        """When it was asked whether it is still where it was."""

    @property
    def lease_s(self) -> float:
        """After how long a silence it counts as gone [s]."""
        return min(self.info.lease_s, MAX_LEASE_S if self.hears_us else UNHEARD_LEASE_S)

    def may_come_from(self, source: str) -> bool:
        """Whether what it says about itself may come from an address: the one it is heard at, or one it announced."""
        return source == self.source or source in {host for host, _ in (*self.info.meta, *self.info.user)}

    @property
    def vendor_name(self) -> str:
        """Who made it, in words."""
        return messages.VENDOR_NAMES.get(self.info.vendor, f"vendor {self.info.vendor.hex()}")

    @property
    def description(self) -> str:
        """A participant in words: program, process number or vendor, and host unless it is this one."""
        told = self.info.properties
        program = self.info.name or told.get("__ProcessName", "").rpartition("/")[2] or "a program"
        detail = f"process {told['__Pid']}" if told.get("__Pid") else self.vendor_name
        host = told.get("__Hostname", "" if self.source == LOOPBACK else self.source)
        return clean_text(f"{program} ({detail})" + (f" on {host}" if host not in ("", socket.gethostname()) else ""))


class Gone(NamedTuple):
    """A participant that may come back."""

    peer: Peer
    ignored_until_s: float
    asked_until_s: float


class Directory:
    """The participants of a domain and all readers and writers, theirs and ours."""

    def __init__(self, participant: "Participant", network: Network, probes: Iterable[Address]):
        self.peers: dict[bytes, Peer] = {}
        self.writers: dict[bytes, Writer] = {}
        self.readers: dict[bytes, Reader] = {}
        self._participant = participant
        self._network = network
        self._probes = tuple(probes)
        self._early = EarlyBox(participant.held)
        self._strangers = EarlyBox(Share(MAX_STRANGERS_BYTES))
        self._endpoint_share = Share(MAX_ENDPOINTS)
        self._addressed: deque[bytes] = deque(maxlen=MAX_PEERS)
        """Who has shown that it hears us before it announced itself."""
        self._greeted = 0
        """Participants met since the last round of announcements, without those that have named us."""
        self._gone: dict[bytes, Gone] = {}
        """Participants that took leave or fell silent, by prefix."""
        self._announced: dict[bytes, int] = {}
        """The number of the announcement of each endpoint of ours."""
        self._announcements = itertools.count(1)
        self._renewal_due = False
        for writer, reader in _BUILTIN_PAIRS:
            qos = LATCHED if writer == discovery.LIVELINESS_WRITER else _BUILTIN_QOS
            self.writers[writer] = Writer(participant, _builtin(participant.prefix + writer, qos))
            self.readers[reader] = Reader(
                participant, _builtin(participant.prefix + reader, qos), self._on_builtin, builtin=True
            )

    # Our endpoints.

    def add(self, endpoint: Reader | Writer) -> None:
        """Match an endpoint of ours with those of all peers, and announce it."""
        ours, announcer = self._table(endpoint)
        ours[endpoint.entity] = endpoint
        for peer in self.peers.values():
            for theirs in peer.endpoints.values():
                self._try(endpoint, theirs)
        self._announced[endpoint.info.guid] = announcer.add(discovery.encode_endpoint(endpoint.info))

    def withdraw(self, endpoint: Reader | Writer) -> None:
        """Tell everyone that an endpoint of ours is gone; safe to call twice."""
        ours, announcer = self._table(endpoint)
        if ours.pop(endpoint.entity, None) is None:
            return
        guid = endpoint.info.guid
        announcer.forget(self._announced.pop(guid))
        key = discovery.encode_key(discovery.PID_ENDPOINT_GUID, guid)
        announcer.add(key, inline=discovery.disposal(guid), key_only=True)

    def on_forgotten(self, prefix: bytes) -> None:
        """Announce our endpoints once more, under new numbers, to a participant that may have known us before.

        RustDDS forgets whom it has not heard, but not which numbers it has read: it never reads those again.
        """
        self._renewal_due |= prefix in self.peers and self.peers[prefix].info.vendor == messages.RUST_VENDOR

    def _renew(self) -> None:
        self._renewal_due = False
        for endpoint in (*self.writers.values(), *self.readers.values()):
            guid = endpoint.info.guid
            if guid in self._announced:
                _, announcer = self._table(endpoint)
                announcer.forget(self._announced[guid])
                self._announced[guid] = announcer.add(discovery.encode_endpoint(endpoint.info))

    def is_announced_to(self, writer: Writer, prefix: bytes) -> bool:
        """Whether a participant has confirmed that it knows of a writer of ours."""
        theirs = self.writers[discovery.PUBLICATIONS_WRITER].readers.get(prefix + discovery.PUBLICATIONS_READER)
        return theirs is not None and theirs.acked >= self._announced.get(writer.info.guid, 0)

    def listeners(self, reader: bytes, writer_guid: bytes) -> list[tuple[Reader, MatchedWriter]]:
        """Which readers of ours a writer speaks to. Cyclone and RustDDS do not name the reader."""
        if writer_guid[:12] not in self.peers:
            return []
        return [
            (ours, ours.writers[writer_guid])
            for ours in self.readers.values()
            if writer_guid in ours.writers and reader in (UNKNOWN_ENTITY, ours.entity)
        ]

    def on_unmatched(self, sub: messages.Submessage, writer_guid: bytes, stamp_s: float | None) -> None:
        """Keep for a moment what overtook the announcement of its sender; count what else no reader of ours takes."""
        prefix, entity = writer_guid[:12], writer_guid[12:]
        if entity[3] >= 0xC0 and (entity not in discovery.ANNOUNCER_BITS or prefix in self.peers):
            return  # of a kind we have no use for
        early = Early(self._participant.now_s, sub, stamp_s)
        if prefix not in self.peers:
            if not self._strangers.hold(prefix, early):
                raise Refused("more submessages of unknown participants than are kept")
            return
        if writer_guid not in self.peers[prefix].endpoints:
            if isinstance(sub, Data | DataFrag) and not self._early.hold(writer_guid, early):
                raise Refused("more samples of unknown writers than are kept")
            return
        rejecting = [ours for ours in self.readers.values() if writer_guid in ours.mismatches]
        if not rejecting:
            raise Refused(UNMATCHED)
        if isinstance(sub, Data):
            for ours in rejecting:
                ours.refuse(ours.mismatches[writer_guid])

    def _table(self, endpoint: Reader | Writer) -> tuple[dict, Writer]:
        if isinstance(endpoint, Writer):
            return self.writers, self.writers[discovery.PUBLICATIONS_WRITER]
        return self.readers, self.writers[discovery.SUBSCRIPTIONS_WRITER]

    # Participants.

    def announce(self) -> None:
        """Tell everyone that we are here, wherever somebody may listen."""
        self._greeted = 0
        heard = {address for peer in self.peers.values() if peer.hears_us for address in peer.meta}
        anywhere = [address for address in self._anywhere() if address not in heard]
        self._participant.send(self._announcement(self._participant.info), anywhere)
        for peer in self.peers.values():
            self._announce_to(peer)
            for writer, reader in _BUILTIN_PAIRS[:2]:  # it may have forgotten us: its answer shows that
                self.writers[writer].ask(peer.info.prefix + reader)
        if self._renewal_due:
            self._renew()

    def take_leave(self) -> None:
        """Tell everyone that we are gone."""
        guid = self._participant.prefix + discovery.PARTICIPANT
        key = discovery.encode_key(discovery.PID_PARTICIPANT_GUID, guid)
        heard = [address for peer in self.peers.values() if peer.hears_us for address in peer.meta]
        farewell = self._spdp(key, discovery.disposal(guid), key_only=True)
        self._participant.send(farewell, dict.fromkeys([*self._anywhere(), *heard]))

    def expire(self, now_s: float) -> None:
        """Forget participants that were silent for longer than their lease."""
        for peer in [p for p in self.peers.values() if now_s - p.heard_s > p.lease_s]:
            self._remove(peer, "was silent for longer than its lease")
            self._miss(Gone(peer, now_s, now_s + LOST_S))
        self._gone = {prefix: gone for prefix, gone in self._gone.items() if now_s < gone.asked_until_s}
        for gone in self._gone.values():
            if now_s >= gone.ignored_until_s:
                self._ask(gone.peer)
        for _ in range(self._early.expire(now_s) + self._strangers.expire(now_s)):
            self._participant.refuse(UNMATCHED)

    def on_announcement(self, data: Data, vendor: bytes, prefix: bytes, source: str) -> None:
        """Meet a participant, or see it off."""
        now_s = self._participant.now_s
        if data.key_only or discovery.status(data.inline):
            guid = discovery.decode_key(data.payload, data.inline, discovery.PID_PARTICIPANT_GUID)
            peer = self.peers.get(guid[:12] if guid else prefix)
            # Nobody may send another one away.
            if peer and peer.info.prefix == prefix and peer.may_come_from(source):
                self._remove(peer, "took leave")
                self._miss(Gone(peer, now_s + DEPARTED_S, now_s + LEFT_S))
            return
        if prefix in self._gone and now_s < self._gone[prefix].ignored_until_s:
            return
        if data.payload is None:
            raise Refused("announcement has no content")
        info = discovery.decode_participant(data.payload, vendor)
        if info.prefix != prefix:
            raise Refused("announcement speaks for another participant")
        if info.domain not in (None, self._participant.domain):
            raise Refused("announcement is from another domain")
        peer = self.peers.get(prefix)
        if peer is not None:
            if (peer.info.meta, peer.info.user) == (info.meta, info.user):
                peer.info = info
                return
            if not peer.may_come_from(source):
                raise Refused("announcement comes from another address than its participant")
            if peer.hears_us and self._answers_where_it_was(peer):
                raise Refused("announcement has other addresses than where its participant answers")
            self._remove(peer, "moved to another address")
        peer = Peer(info, source, self._network.own, now_s)
        if not peer.meta:
            raise Refused("participant has no address we can reach")
        if prefix not in self._addressed:
            if self._greeted >= MAX_PEERS:
                raise Refused("more new participants at a time than are greeted")
            self._greeted += 1
        peer.credit_bytes = ANSWER_RATIO * (len(data.payload) + HEADERS_BYTES)
        self._meet(peer)

    def _meet(self, peer: Peer) -> None:
        info, source, prefix = peer.info, peer.source, peer.info.prefix
        self._make_room(peer.heard_s)
        self._gone.pop(prefix, None)
        self.peers[prefix] = peer
        logger.info("found %s at %s", peer.description, source)
        # Answer at once: it may not hear our announcements otherwise for seconds.
        self._announce_to(peer)
        for writer, reader in _BUILTIN_PAIRS:
            if info.builtins & discovery.ANNOUNCER_BITS[writer]:
                self.readers[reader].match(_builtin(prefix + writer, _BUILTIN_QOS, peer))
        if prefix in self._addressed:
            self.on_addressed(prefix)
        else:
            self._ask(peer)
        for early in self._strangers.take(prefix):
            self._participant.on_submessage(early.sub, prefix, early.stamp_s)

    def hears_us(self, prefix: bytes) -> bool:
        """Whether a participant has shown that what we send to it arrives there."""
        return prefix in self.peers and self.peers[prefix].hears_us

    def on_addressed(self, prefix: bytes) -> None:
        """Talk to a participant from now on: it has named us, so it hears us."""
        peer, now_s = self.peers.get(prefix), self._participant.now_s
        if peer is None:
            if prefix not in self._addressed:
                self._addressed.append(prefix)
            gone = self._gone.get(prefix)
            if gone is not None and now_s >= gone.ignored_until_s:
                self._meet(Peer(gone.peer.info, gone.peer.source, self._network.own, now_s))
            return
        peer.named_us_s = now_s
        if peer.hears_us:
            return
        peer.hears_us = True
        for writer, reader in _BUILTIN_PAIRS:
            self.readers[reader].greet(prefix + writer)
            if peer.info.builtins & discovery.ANNOUNCER_BITS[reader]:
                self.writers[writer].match(_builtin(prefix + reader, _BUILTIN_QOS, peer))
        self.on_forgotten(prefix)
        for theirs in peer.endpoints.values():
            for ours in [*self.writers.values()] if not theirs.is_writer else ():
                self._try(ours, theirs)

    def on_sign_of_life(self, peer: Peer, size: int) -> None:
        """Note that something of this size has come from a participant."""
        peer.heard_s = self._participant.now_s
        if not peer.hears_us:
            peer.credit_bytes += ANSWER_RATIO * size
            self._ask(peer)

    def _ask(self, peer: Peer) -> None:
        """Ask a participant what it knows of our endpoints, which it can only answer to us."""
        writer = self.writers[discovery.PUBLICATIONS_WRITER]
        question = self._participant.header + messages.info_dst(peer.info.prefix)
        question += messages.heartbeat(
            discovery.PUBLICATIONS_READER, writer.entity, 1, writer.written, next(writer.beats), final=False
        )
        cost_bytes = len(question) * len(peer.meta)
        if self._participant.now_s - peer.asked_s > ASK_S and (peer.hears_us or peer.credit_bytes >= cost_bytes):
            peer.asked_s = self._participant.now_s
            peer.credit_bytes -= cost_bytes
            self._participant.send(question, peer.meta)

    def _answers_where_it_was(self, peer: Peer) -> bool:
        """Whether a participant that announces other addresses is still where it was: it is asked there first."""
        now_s = self._participant.now_s
        if peer.named_us_s < peer.doubted_s < now_s - DEPARTED_S / 2:
            return False
        if not peer.named_us_s < peer.doubted_s < math.inf:
            peer.doubted_s = now_s
            self._ask(peer)
        return True

    def _miss(self, gone: Gone) -> None:
        """Remember a participant that may come back, if it ever heard us."""
        if gone.peer.hears_us:
            self._gone[gone.peer.info.prefix] = gone
            if len(self._gone) > MAX_PEERS:
                del self._gone[next(iter(self._gone))]

    def _make_room(self, now_s: float) -> None:
        """Forget one when there are too many: one that does not hear us, or else the one that is silent longest."""
        if len(self.peers) < MAX_PEERS:
            return
        slowest = min(self.peers.values(), key=lambda peer: (peer.hears_us, peer.heard_s))
        if slowest.hears_us and now_s - slowest.heard_s < IDLE_S:
            raise Refused("more participants than are kept track of")
        self._remove(slowest, "made room for another")

    def _remove(self, peer: Peer, why: str) -> None:
        prefix = peer.info.prefix
        logger.info("%s at %s %s", peer.description, peer.source, why)
        del self.peers[prefix]
        for guid in [*peer.endpoints, *(prefix + entity for pair in _BUILTIN_PAIRS for entity in pair)]:
            self._forget(guid)
        self._endpoint_share.give_back(prefix, len(peer.endpoints))
        self._early.forget(prefix)
        for writer in self.writers.values():
            writer.drop_participant(prefix)

    def _anywhere(self) -> list[Address]:
        """Where participants that are not known yet may listen."""
        group = [self._network.group] if self._network.group else []
        return [address for address in dict.fromkeys([*group, *self._probes]) if address != self._network.meta]

    def _announce_to(self, peer: Peer) -> None:
        info = self._participant.info
        # RustDDS sends no user data to 127.0.0.1, lest it be another machine's. What is sent to 0.0.0.0 goes to
        # this machine too, and it does not mind that one.
        if peer.info.vendor == messages.RUST_VENDOR and self._network.own == (LOOPBACK,):
            info = replace(info, user=(("0.0.0.0", self._network.user[1]),))
        # By name until it hears us, which makes it hear us if it is one of us; then for whoever has its port now.
        announcement = self._announcement(info, to=messages.UNKNOWN_PREFIX if peer.hears_us else peer.info.prefix)
        for address in peer.meta:
            if peer.hears_us or peer.credit_bytes >= len(announcement):
                peer.credit_bytes -= len(announcement)
                self._participant.send(announcement, (address,))

    def _announcement(self, info: ParticipantInfo, to: bytes = messages.UNKNOWN_PREFIX) -> bytes:
        return self._spdp(discovery.encode_participant(info), to=to)

    def _spdp(
        self, payload: bytes, inline: bytes = b"", *, key_only: bool = False, to: bytes = messages.UNKNOWN_PREFIX
    ) -> bytes:
        writer, reader, number = discovery.SPDP_WRITER, discovery.SPDP_READER, next(self._announcements)
        data = messages.data(reader, writer, number, payload, inline, key_only=key_only)
        return self._participant.header + messages.info_dst(to) + messages.info_ts(time.time()) + data

    # Their endpoints.

    def _on_builtin(self, sample: Sample) -> None:
        prefix, entity = sample.identity.guid[:12], sample.identity.guid[12:]
        peer = self.peers.get(prefix)
        if peer is None or entity == discovery.LIVELINESS_WRITER:
            return
        try:
            if sample.key_only or discovery.status(sample.inline):
                guid = discovery.decode_key(sample.body, sample.inline, discovery.PID_ENDPOINT_GUID)
                if guid and peer.endpoints.pop(guid, None):
                    self._endpoint_share.give_back(prefix, 1)
                    self._forget(guid)
                return
            is_writer = entity == discovery.PUBLICATIONS_WRITER
            theirs = discovery.decode_endpoint(sample.body, is_writer=is_writer, vendor=peer.info.vendor)
            self._on_endpoint(peer, theirs)
        except Refused as why:
            self._participant.refuse(str(why))

    def _on_endpoint(self, peer: Peer, theirs: EndpointInfo) -> None:
        if theirs.guid[:12] != peer.info.prefix:
            raise Refused("endpoint belongs to another participant")
        if not theirs.topic:
            raise Refused("endpoint has no topic")
        if theirs.guid not in peer.endpoints:
            full = len(peer.endpoints) >= MAX_ENDPOINTS_PER_PEER
            if full or not self._endpoint_share.take(peer.info.prefix, 1):
                raise Refused("more endpoints than are kept track of")
        found = discovery.reachable(
            theirs.addresses, source=peer.source, own=self._network.own, fallback=peer.info.user or peer.info.meta
        )
        if len(peer.addresses.union(found)) > MAX_PEER_ADDRESSES:
            found = peer.user
        peer.addresses.update(found)
        theirs = replace(theirs, addresses=found or peer.user)
        peer.endpoints[theirs.guid] = theirs
        for ours in [*self.readers.values()] if theirs.is_writer else [*self.writers.values()]:
            self._try(ours, theirs)
        for early in self._early.take(theirs.guid):
            self._participant.on_submessage(early.sub, peer.info.prefix, early.stamp_s)

    def _try(self, ours: Reader | Writer, theirs: EndpointInfo) -> None:
        """Match an endpoint of ours with one of theirs, or note why not."""
        if ours.info.topic != theirs.topic or ours.info.is_writer == theirs.is_writer:
            return
        if isinstance(ours, Writer) and not self.hears_us(theirs.guid[:12]):
            return  # until it does
        writer, reader = (theirs, ours.info) if theirs.is_writer else (ours.info, theirs)
        why_not = self._type_mismatch(ours.info, theirs) or mismatch(writer.qos, reader.qos)
        if why_not:
            ours.mismatches[theirs.guid] = why_not
            ours.unmatch(theirs.guid)
        else:
            ours.mismatches.pop(theirs.guid, None)
            ours.match(theirs)
        self._participant.matching.notify_all()

    def _type_mismatch(self, ours: EndpointInfo, theirs: EndpointInfo) -> str | None:
        if ours.type_name != theirs.type_name:
            return f"the type is {ours.type_name} here and {theirs.type_name} there"
        # Other vendors' libraries hash the same type differently.
        if theirs.vendor != CYCLONE_VENDOR or not ours.type_ids or not theirs.type_ids:
            return None
        if theirs.type_ids[0] in ours.type_ids:
            return None
        who = self.peers[theirs.guid[:12]].description
        return f"{ours.topic}: {who} has another {ours.type_name}: compare its IDL"

    def _forget(self, guid: bytes) -> None:
        for endpoint in (*self.writers.values(), *self.readers.values()):
            endpoint.mismatches.pop(guid, None)
            endpoint.unmatch(guid)
        self._participant.matching.notify_all()


def _builtin(guid: bytes, qos: Qos, peer: Peer | None = None) -> EndpointInfo:
    """A built-in endpoint of ours, or of a peer."""
    addresses, vendor = (peer.meta, peer.info.vendor) if peer else ((), messages.OUR_VENDOR)
    return EndpointInfo(guid=guid, topic="", type_name="", qos=qos, addresses=addresses, vendor=vendor)
