"""What is on a DDS domain: who, which topics, what does not fit and why, and how fast it flows."""

from __future__ import annotations

import socket
import time
from collections import defaultdict
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from thenar import cdr
from thenar.errors import clean_text
from thenar.wire.codecs import status_codec
from thenar.wire.links.inbox import TWIN_NAME
from thenar.wire.links.registry import known_topics
from thenar.wire.links.type_ids import TYPE_IDS
from thenar.wire.rtps import LATCHED, SENSOR_DATA, Participant, Sample
from thenar.wire.rtps.discovery import EndpointInfo
from thenar.wire.rtps.messages import CYCLONE_VENDOR
from thenar.wire.rtps.network import MAX_DOMAIN, interface_address, multicast_port, unicast_ports
from thenar.wire.rtps.qos import mismatch

MULTICAST_FLAG = 0x1000

Ends = list[tuple[str, EndpointInfo]]
"""Readers and writers, after the participants they belong to in words."""


@dataclass(frozen=True, kw_only=True)
class TopicFlow:
    """What flowed on a topic while it was watched."""

    topic: str
    writers: tuple[str, ...]
    readers: tuple[str, ...]
    type_names: tuple[str, ...]
    rate_hz: float | None
    """None: a type we do not have."""
    age_s: float | None
    """Since the last message; None: there was none."""


@dataclass(frozen=True, kw_only=True)
class ServiceEnds:
    """A ROS 2 service: who answers and who asks."""

    service: str
    type_name: str
    servers: tuple[str, ...]
    clients: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class Survey:
    """What was found."""

    domain: int
    interface: str
    address: str
    participants: tuple[str, ...]
    topics: tuple[TopicFlow, ...]
    services: tuple[ServiceEnds, ...]
    problems: tuple[str, ...]
    """What does not fit, in words."""
    hints: tuple[str, ...]
    """Why nothing may have been seen; empty when something was."""
    twins: tuple[dict[str, Any], ...]
    """Health of the twins on the domain, as they publish it."""


def survey(*, domain: int, interface: str = "lo", peers: tuple[str, ...] = (), seconds: float = 2.0) -> Survey:
    """Look and listen for a while.

    Args:
        domain: DDS domain.
        interface: Network interface.
        peers: Addresses to look at where multicast does not reach.
        seconds: How long to listen.
    """
    known = {**known_topics(), status_codec.TOPIC: status_codec.TYPE}
    arrived_s: dict[str, list[float]] = defaultdict(list)
    statuses: dict[bytes, bytes] = {}

    def on_sample(topic: str, sample: Sample) -> None:
        arrived_s[topic].append(time.monotonic())
        if topic == status_codec.TOPIC:
            statuses[sample.identity.guid] = sample.body

    with Participant(domain, interface=interface, peers=peers, name="thenar inspect") as me:
        for topic, type_name in known.items():
            qos = LATCHED if topic == status_codec.TOPIC else SENSOR_DATA
            me.subscribe(topic, type_name, partial(on_sample, topic), qos=qos)
        time.sleep(seconds)
        now_s = time.monotonic()
        participants = tuple(sorted(peer.description for peer in me.peers()))
        ends = list(me.peer_endpoints())
    twins, not_twins = _read_statuses(statuses, ends)
    topics = sorted({end.topic for _, end in ends if not end.topic.startswith(("rq/", "rr/"))})
    return Survey(
        domain=domain,
        interface=interface,
        address=interface_address(interface),
        participants=participants,
        topics=tuple(_flow(topic, ends, arrived_s[topic] if topic in known else None, now_s) for topic in topics),
        services=tuple(find_services(ends)),
        problems=(*find_problems(ends), *not_twins),
        hints=() if participants else tuple(reasons_for_silence(domain, interface)),
        twins=tuple(twins),
    )


def find_problems(ends: Ends) -> list[str]:
    """Pairs that share a topic but will never be matched, and topics with one side only, in words."""
    problems = []
    known, of_one_hand = known_topics(), known_topics(states_only=True)
    for topic in sorted({end.topic for _, end in ends}):
        here = [(who, end) for who, end in ends if end.topic == topic]
        writers, readers = _writers(here), _readers(here)
        problems += [why for who, w in writers for whom, r in readers if (why := _pair_problem(who, w, whom, r))]
        problems += [why for who, end in here if (why := _foreign_type(who, end, known.get(topic)))]
        if topic.startswith("rq/") and not readers:
            problems.append(f"{_service(topic)}: {_participants(writers)} calls it, but nobody answers")
        publishers = sorted({who for who, _ in writers})
        if topic in of_one_hand and len(publishers) > 1:
            problems.append(f"{topic}: {' and '.join(publishers)} both publish it; clients see both hands as one")
        # A twin that nobody talks to is no problem; a client that nobody answers is.
        clients = [(who, end) for who, end in here if not who.startswith(TWIN_NAME)]
        if topic in known and clients and not writers:
            problems.append(f"{topic}: {_participants(clients)} waits for it, but nobody publishes it")
        elif topic in known and clients and not readers:
            problems.append(f"{topic}: {_participants(clients)} publishes it, but nobody listens")
    return [clean_text(problem) for problem in dict.fromkeys(problems)]


def find_services(ends: Ends) -> list[ServiceEnds]:
    """ROS 2 services, from the topics of their requests."""
    found = []
    for topic in sorted({e.topic for _, e in ends if e.topic.startswith("rq/") and e.topic.endswith("Request")}):
        here = [(who, end) for who, end in ends if end.topic == topic]
        kind = here[0][1].type_name.replace("::dds_::", "::").removesuffix("_Request_").replace("::", "/")
        servers, clients = (tuple(who for who, _ in side(here)) for side in (_readers, _writers))
        name = clean_text(_service(topic))
        found.append(ServiceEnds(service=name, type_name=clean_text(kind), servers=servers, clients=clients))
    return found


def reasons_for_silence(domain: int, interface: str) -> list[str]:
    """The usual reasons why nobody is seen, with what this machine tells about each."""
    reasons = []
    others = sorted(local_domains() - {domain})
    if others:
        named = ", ".join(map(str, others))
        reasons.append(f"domain: programs on this machine use domain {named}, you asked for {domain}; try --domain")
    else:
        reasons.append("domain: no DDS program runs on this machine; start one with: thenar serve")
    if interface_address(interface).startswith("127."):
        names = ", ".join(name for _, name in socket.if_nameindex() if name != "lo") or "none"
        reasons.append(f"interface: {interface} reaches this machine only; it also has {names}: try --interface")
    elif not _has_multicast(interface):
        reasons.append(f"multicast: {interface} has none, so name the other machine with --peers ADDRESS")
    else:
        reasons.append("multicast: Wi-Fi and some switches drop it; name the other machine with --peers ADDRESS")
    first, last = multicast_port(domain), multicast_port(domain + 1) - 1
    reasons.append(f"firewall: UDP ports {first} to {last} must be open on both machines")
    return reasons


def local_domains() -> set[int]:
    """Domains whose ports are open on this machine, as far as ports tell: up to about 100, and none but on Linux."""
    try:
        first, last = map(int, Path("/proc/sys/net/ipv4/ip_local_port_range").read_text(encoding="ascii").split())
        lines = Path("/proc/net/udp").read_text(encoding="ascii").splitlines()[1:]
    except OSError:
        return set()
    ports = {int(line.split()[1].rpartition(":")[2], 16) for line in lines}
    # Any program may have been given a port of the system's own range.
    listening = {port for port in ports if not first <= port <= last}
    own = {domain: range(unicast_ports(domain, 0)[0], unicast_ports(domain, 64)[0]) for domain in range(MAX_DOMAIN + 1)}
    return {domain for domain, theirs in own.items() if listening.intersection(theirs)}


def _read_statuses(statuses: dict[bytes, bytes], ends: Ends) -> tuple[list[dict[str, Any]], list[str]]:
    """What twins say of themselves, by writer; and in words who says something that no twin would."""
    writers = {end.guid: who for who, end in ends}
    twins, problems = [], []
    for guid, body in statuses.items():
        try:
            twins.append(status_codec.decode_status(cdr.HEADER + body))
        except cdr.BadMessage as error:
            who = writers.get(guid, "a program that has left")
            problems.append(f"{status_codec.TOPIC}: what {who} says is no twin's status: {error}")
    return twins, problems


def _writers(ends: Ends) -> Ends:
    return [(who, end) for who, end in ends if end.is_writer]


def _readers(ends: Ends) -> Ends:
    return [(who, end) for who, end in ends if not end.is_writer]


def _participants(ends: Ends) -> str:
    return ", ".join(sorted({who for who, _ in ends}))


def _service(request_topic: str) -> str:
    return request_topic[2:].removesuffix("Request")


def _flow(topic: str, ends: Ends, arrived_s: list[float] | None, now_s: float) -> TopicFlow:
    """When its messages arrived; None: a topic that nobody listened to."""
    here = [(who, end) for who, end in ends if end.topic == topic]
    times_s = arrived_s or [0.0]
    span_s = times_s[-1] - times_s[0]
    rate_hz = (len(times_s) - 1) / span_s if span_s > 0.0 else 0.0
    return TopicFlow(
        topic=clean_text(topic),
        writers=tuple(who for who, _ in _writers(here)),
        readers=tuple(who for who, _ in _readers(here)),
        type_names=tuple(sorted({clean_text(end.type_name) for _, end in here})),
        rate_hz=None if arrived_s is None else rate_hz,
        age_s=now_s - arrived_s[-1] if arrived_s else None,
    )


def _pair_problem(who: str, writer: EndpointInfo, whom: str, reader: EndpointInfo) -> str | None:
    pair = f"{writer.topic}: {who} writes and {whom} reads"
    if writer.type_name != reader.type_name:
        return f"{pair}, but the types differ: {writer.type_name} and {reader.type_name}"
    if writer.type_ids and reader.type_ids and writer.type_ids != reader.type_ids:
        return (
            f"{pair}, but their {writer.type_name} differs ({writer.type_ids[0][:12]} and {reader.type_ids[0][:12]}): "
            "a member has another name, order or type in one of the IDL files"
        )
    why = mismatch(writer.qos, reader.qos)
    return f"{pair}, but {why}" if why else None


def _foreign_type(who: str, end: EndpointInfo, type_name: str | None) -> str | None:
    if type_name is None:
        return None
    if end.type_name != type_name:
        return f"{end.topic}: {who} uses type {end.type_name}; the hand's is {type_name}"
    ids = TYPE_IDS.get(type_name)
    # Only Cyclone's identifiers can be compared with ours.
    if ids and end.type_ids and end.vendor == CYCLONE_VENDOR and end.type_ids[0] not in ids:
        return (
            f"{end.topic}: {who} has another {type_name} than the hand "
            f"({end.type_ids[0][:12]}, not {ids[0][:12]}): compare its IDL with the vendor's"
        )
    return None


def _has_multicast(interface: str) -> bool:
    """Whether an interface is known to have it, or nothing is known of it: it may be given by its address."""
    try:
        flags = Path("/sys/class/net", interface, "flags").read_text(encoding="ascii")
    except OSError:
        return True
    return bool(int(flags, 16) & MULTICAST_FLAG)
