"""What is on a DDS domain: who, which topics, what does not fit and why, and how fast it flows."""

from __future__ import annotations

import socket
import time
from collections import defaultdict
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from thenar.wire.codecs import dfx_codec, inspire_codec, reflex_codec, tienkung_codec
from thenar.wire.codecs.status_codec import TOPIC as STATUS_TOPIC
from thenar.wire.codecs.status_codec import decode_status  # isort: split

from cyclonedds.builtin import (
    BuiltinDataReader,
    BuiltinTopicDcpsParticipant,
    BuiltinTopicDcpsPublication,
    BuiltinTopicDcpsSubscription,
)
from cyclonedds.core import InstanceState
from cyclonedds.qos import Policy

from thenar.wire.links import idl
from thenar.wire.links.dds_link import CYCLONE, DdsNode, describe_participant
from thenar.wire.links.inbox import TWIN_NAME
from thenar.wire.links.interface import ip_address

PORT_BASE, PORTS_PER_DOMAIN = 7400, 250
MULTICAST_FLAG = 0x1000

KNOWN = {
    **{inspire_codec.topic("ctrl", side): idl.InspireCtrl for side in ("left", "right")},
    **{inspire_codec.topic("state", side): idl.InspireState for side in ("left", "right")},
    **{inspire_codec.topic("touch", side): idl.InspireTouch for side in ("left", "right")},
    dfx_codec.COMMAND_TOPIC: idl.MotorCmds,
    dfx_codec.STATE_TOPIC: idl.MotorStates,
    **{f"rt{tienkung_codec.state_topic(side)}": idl.JointState for side in ("left", "right")},
    **{f"rt{tienkung_codec.control_topic(side)}": idl.JointState for side in ("left", "right")},
    f"rt{reflex_codec.STATE_TOPIC}": idl.ReflexHand,
    **{f"rt{reflex_codec.NAMESPACE}/{topic}": kind for topic, kind in idl.REFLEX_COMMANDS.items()},
    STATUS_TOPIC: idl.TwinStatus,
}
"""Topics whose types we have, and whose messages we can count."""

SAID_BY_ONE = {
    *(inspire_codec.topic(kind, side) for kind in ("state", "touch") for side in ("left", "right")),
    dfx_codec.STATE_TOPIC,
    *(f"rt{tienkung_codec.state_topic(side)}" for side in ("left", "right")),
    f"rt{reflex_codec.STATE_TOPIC}",
}
"""Topics that only one hand may publish."""


@dataclass(frozen=True, kw_only=True)
class Endpoint:
    """One end of a topic."""

    topic: str
    writes: bool
    who: str
    type_name: str
    type_hash: str
    """XTypes identifier in hex; empty where the peer sends none."""
    cyclone: bool
    """From Cyclone DDS, whose hashes can be compared with ours."""
    reliable: bool
    latched: bool
    """Keeps messages for latecomers (a writer), or wants them (a reader)."""


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
    """Health of the twins on the domain, as they tell it."""


@dataclass
class _Heard:
    """Messages of one topic."""

    messages: int = 0
    first_s: float = 0.0
    last_s: float = 0.0
    newest: dict[str, bytes] = field(default_factory=dict)

    def add(self, message: bytes, who: str, at_s: float) -> None:
        """Count a message."""
        self.first_s = self.first_s or at_s
        self.last_s = at_s
        self.messages += 1
        self.newest[who] = message


def survey(*, domain: int, interface: str = "lo", peers: tuple[str, ...] = (), seconds: float = 2.0) -> Survey:
    """Look and listen for a while.

    Args:
        domain: DDS domain.
        interface: Network interface.
        peers: Addresses to look at where multicast does not reach.
        seconds: How long to listen.
    """
    with DdsNode(domain=domain, interface=interface, peers=peers, name="thenar inspect") as node:
        builtin = {
            topic: BuiltinDataReader(node.participant, topic)
            for topic in (BuiltinTopicDcpsParticipant, BuiltinTopicDcpsPublication, BuiltinTopicDcpsSubscription)
        }
        heard: dict[str, _Heard] = defaultdict(_Heard)
        for topic, kind in KNOWN.items():
            node.reader(topic, kind, heard[topic].add)
        time.sleep(seconds)
        now_s = time.perf_counter()
        samples = {topic: [s for s in reader.read(N=1000) if _alive(s)] for topic, reader in builtin.items()}
        own = node.participant.guid
        people = {s.key: describe_participant(s) for s in samples[BuiltinTopicDcpsParticipant] if s.key != own}
        endpoints = [
            _endpoint(sample, people, writes=topic is BuiltinTopicDcpsPublication)
            for topic in (BuiltinTopicDcpsPublication, BuiltinTopicDcpsSubscription)
            for sample in samples[topic]
            if sample.participant_key in people
        ]
    twins = [decode_status(message) for message in heard[STATUS_TOPIC].newest.values()]
    return Survey(
        domain=domain,
        interface=interface,
        address=ip_address(interface),
        participants=tuple(sorted(people.values())),
        topics=tuple(
            _flow(topic, endpoints, heard, now_s)
            for topic in sorted({e.topic for e in endpoints})
            if not topic.startswith(("rq/", "rr/"))
        ),
        services=tuple(find_services(endpoints)),
        problems=tuple(find_problems(endpoints)),
        hints=() if people else tuple(reasons_for_silence(domain, interface)),
        twins=tuple(twins),
    )


def find_problems(endpoints: list[Endpoint]) -> list[str]:
    """Pairs that share a topic but will never be matched, and topics with one side only, in words."""
    problems = []
    for topic in sorted({endpoint.topic for endpoint in endpoints}):
        here = [endpoint for endpoint in endpoints if endpoint.topic == topic]
        writers, readers = [e for e in here if e.writes], [e for e in here if not e.writes]
        problems += [why for w in writers for r in readers if (why := _mismatch(w, r))]
        problems += [why for endpoint in here if (why := _foreign_type(endpoint))]
        if topic.startswith("rq/") and not readers:
            problems.append(f"{topic[2:].removesuffix('Request')}: {_people(writers)} calls it, but nobody answers")
        if topic in SAID_BY_ONE:
            publishers = sorted({endpoint.who for endpoint in writers})
            if len(publishers) > 1:
                problems.append(f"{topic}: {' and '.join(publishers)} both publish it; clients see both hands as one")
        if topic in KNOWN:
            # A twin that nobody talks to is no problem; a client that nobody answers is.
            strangers = [endpoint for endpoint in here if not endpoint.who.startswith(TWIN_NAME)]
            if strangers and not writers:
                problems.append(f"{topic}: {_people(strangers)} waits for it, but nobody publishes it")
            elif strangers and not readers:
                problems.append(f"{topic}: {_people(strangers)} publishes it, but nobody listens")
    return list(dict.fromkeys(problems))


def find_services(endpoints: list[Endpoint]) -> list[ServiceEnds]:
    """ROS 2 services, from the topics of their requests."""
    found = []
    for topic in sorted({e.topic for e in endpoints if e.topic.startswith("rq/") and e.topic.endswith("Request")}):
        here = [endpoint for endpoint in endpoints if endpoint.topic == topic]
        kind = here[0].type_name.replace("::dds_::", "::").removesuffix("_Request_").replace("::", "/")
        found.append(
            ServiceEnds(
                service=topic[2:].removesuffix("Request"),
                type_name=kind,
                servers=tuple(e.who for e in here if not e.writes),
                clients=tuple(e.who for e in here if e.writes),
            )
        )
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
    if interface == "lo":
        names = ", ".join(name for _, name in socket.if_nameindex() if name != "lo") or "none"
        reasons.append(f"interface: lo reaches this machine only; it also has {names}: try --interface")
    elif not _has_multicast(interface):
        reasons.append(f"multicast: {interface} has none, so name the other machine with --peers ADDRESS")
    else:
        reasons.append("multicast: Wi-Fi and some switches drop it; name the other machine with --peers ADDRESS")
    first = PORT_BASE + PORTS_PER_DOMAIN * domain
    reasons.append(f"firewall: UDP ports {first} to {first + PORTS_PER_DOMAIN - 1} must be open on both machines")
    return reasons


def local_domains() -> set[int]:
    """Domains whose ports are open on this machine, as far as ports tell: up to about 100."""
    domains = set()
    first, last = map(int, Path("/proc/sys/net/ipv4/ip_local_port_range").read_text(encoding="ascii").split())
    for line in Path("/proc/net/udp").read_text(encoding="ascii").splitlines()[1:]:
        port = int(line.split()[1].rpartition(":")[2], 16)
        if first <= port <= last:  # any program may have been given it
            continue
        domain, offset = divmod(port - PORT_BASE, PORTS_PER_DOMAIN)
        if 0 <= domain <= 230 and 10 <= offset < 10 + 2 * 64:
            domains.add(domain)
    return domains


def _alive(sample: Any) -> bool:
    return sample.sample_info.instance_state == InstanceState.Alive


def _endpoint(sample: Any, people: dict[Any, str], *, writes: bool) -> Endpoint:
    return Endpoint(
        topic=sample.topic_name,
        writes=writes,
        who=people[sample.participant_key],
        type_name=sample.type_name,
        type_hash=idl.type_hash(sample.type_id),
        cyclone=sample.key.bytes[:2] == CYCLONE,
        reliable=isinstance(sample.qos[Policy.Reliability], Policy.Reliability.Reliable),
        latched=sample.qos[Policy.Durability] != Policy.Durability.Volatile,
    )


def _flow(topic: str, endpoints: list[Endpoint], heard: dict[str, _Heard], now_s: float) -> TopicFlow:
    here = [endpoint for endpoint in endpoints if endpoint.topic == topic]
    record = heard.get(topic)
    rate_hz = age_s = None
    if record is not None:
        span_s = record.last_s - record.first_s
        rate_hz = (record.messages - 1) / span_s if span_s > 0.0 else 0.0
        age_s = now_s - record.last_s if record.messages else None
    return TopicFlow(
        topic=topic,
        writers=tuple(e.who for e in here if e.writes),
        readers=tuple(e.who for e in here if not e.writes),
        type_names=tuple(sorted({e.type_name for e in here})),
        rate_hz=rate_hz,
        age_s=age_s,
    )


def _mismatch(writer: Endpoint, reader: Endpoint) -> str | None:
    pair = f"{writer.topic}: {writer.who} writes and {reader.who} reads"
    if writer.type_name != reader.type_name:
        return f"{pair}, but the types differ: {writer.type_name} and {reader.type_name}"
    if writer.type_hash and reader.type_hash and writer.type_hash != reader.type_hash:
        return (
            f"{pair}, but their {writer.type_name} differs ({writer.type_hash[:12]} and {reader.type_hash[:12]}): "
            "a member has another name, order or type in one of the IDL files"
        )
    if reader.reliable and not writer.reliable:
        return f"{pair}, but the reader wants reliable and the writer is best effort"
    if reader.latched and not writer.latched:
        return f"{pair}, but the reader wants old messages (transient local) and the writer keeps none (volatile)"
    return None


def _foreign_type(endpoint: Endpoint) -> str | None:
    if endpoint.topic not in KNOWN:
        return None
    kind = KNOWN[endpoint.topic]
    wanted = kind.__idl__.idl_transformed_typename
    if endpoint.type_name != wanted:
        return f"{endpoint.topic}: {endpoint.who} uses type {endpoint.type_name}; the hand's is {wanted}"
    accepted = idl.accepted_hashes(kind)
    if endpoint.type_hash and endpoint.cyclone and endpoint.type_hash not in accepted:
        return (
            f"{endpoint.topic}: {endpoint.who} has another {wanted} than the hand "
            f"({endpoint.type_hash[:12]}, not {accepted[0][:12]}): compare its IDL with the vendor's"
        )
    return None


def _people(endpoints: list[Endpoint]) -> str:
    return ", ".join(sorted({endpoint.who for endpoint in endpoints}))


def _has_multicast(interface: str) -> bool:
    flags = Path("/sys/class/net", interface, "flags").read_text(encoding="ascii")
    return bool(int(flags, 16) & MULTICAST_FLAG)
