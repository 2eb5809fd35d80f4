"""Every service of every link answers whatever it is asked, once, and what it refuses moves nothing."""

import struct
from collections.abc import Iterator
from contextlib import ExitStack
from typing import Any

import numpy as np
import pytest
from patience import wait_for
from raw_rtps_peer import RawPeer

import thenar
from thenar import cdr, hands
from thenar.wire.codecs import reflex_codec, tienkung_codec
from thenar.wire.codecs.service_definition import RosService
from thenar.wire.links.aurora_link import AuroraNode
from thenar.wire.links.registry import PROTOCOLS, LinkContext
from thenar.wire.rtps import ServiceNames, ros
from thenar.wire.rtps.messages import CYCLONE_VENDOR, FAST_VENDOR
from thenar.wire.rtps.writer import encapsulate
from thenar.wire.wire_config import WireConfig

HEADER = struct.pack("<Qq", 0x1122334455667788, 42)


def flexible(names: int, ratios: int, name: bytes = b"1\x00") -> bytes:
    """A request with any number of names and ratios."""
    out = bytearray(struct.pack("<I", names))
    for _ in range(names):
        out += bytes(-len(out) % 4) + struct.pack("<I", len(name)) + name
    cdr.put_sequence(out, "f4", np.full(ratios, 0.5))
    return bytes(out)


def wrong_bodies(service: RosService) -> list[bytes]:
    """Bodies that must move nothing: of another length, and of the right one with content that makes no sense."""
    if service.name == "set_angle_flexible":
        return [flexible(2, 1), flexible(0, 3), flexible(3, 0), flexible(2000, 2000), flexible(1, 1, b"\xff\x00"), b""]
    length = service.request_bytes or 0
    bodies = [b"", bytes(length + 40)]
    if length > 1:
        bodies += [bytes(length - 1), b"\xff" * length]  # no number, be it single or double
    return bodies


@pytest.fixture
def opened() -> Iterator[ExitStack]:
    with ExitStack() as stack:
        yield stack


def serving(wire: str, hand: str, domain: int, opened: ExitStack) -> Any:
    link = PROTOCOLS[wire].open(LinkContext(hands=[hands.load(hand)], config=WireConfig(domain=domain), opened=opened))
    world = thenar.World(hand, profile="ideal")
    link.publish_state({hand: (world.state(hand), world.settings(hand))})
    link.receive()
    return link


def answers(peer: RawPeer, bodies: list[bytes]) -> list[bytes]:
    """What comes back for each body, in turn; every request has exactly one reply, however often it is sent."""
    header = HEADER if peer.vendor == CYCLONE_VENDOR else b""
    told: dict[int, bytes] = {}

    def count() -> int:
        told.update((reply.number, reply.payload or b"") for reply in peer.replies)
        return len(told)

    for number, body in enumerate(bodies, 1):
        peer.request(number, encapsulate(header + body))
        assert peer.listen(lambda number=number: count() == number), f"no answer to {body[:40]!r}"
    assert not peer.listen(lambda: count() > len(bodies), 0.1)
    return [payload[4 + len(header) :] for payload in told.values()]


def connect(domain: int, names: ServiceNames, vendor: bytes, participant: Any) -> RawPeer:
    peer = RawPeer(domain, names, vendor=vendor)
    peer.announce()
    assert wait_for(lambda: any(one.clients for one in participant.health().services))
    return peer


@pytest.mark.parametrize("vendor", [FAST_VENDOR, CYCLONE_VENDOR], ids=["fast", "cyclone"])
@pytest.mark.parametrize("service", tienkung_codec.SERVICES, ids=lambda service: service.name)
def test_tienkungs_services_answer_what_makes_no_sense(service: RosService, vendor: bytes, domain, opened):
    link = serving("tienkung", "inspire_right", domain, opened)
    names = ros.service_names(tienkung_codec.service_path(service.name, "right"), service.type_name)
    peer = connect(domain, names, vendor, link._participant)
    told = answers(peer, wrong_bodies(service))
    if service.name.startswith("set"):
        assert {reply[0] for reply in told} == {False}
    else:
        assert {len(reply) for reply in told} == {24}
    assert link.receive() == []
    peer.close()


@pytest.mark.parametrize("service", reflex_codec.SERVICES, ids=lambda service: service.name)
def test_the_reflex_drivers_services_answer_what_makes_no_sense(service: RosService, domain, opened):
    link = serving("reflex", "reflex", domain, opened)
    driver = link._driver
    names = ros.service_names(f"{reflex_codec.NAMESPACE}/{service.name}", service.type_name)
    peer = connect(domain, names, FAST_VENDOR, link._participant)
    bodies = wrong_bodies(service)
    if service.name == "set_tactile_threshold":
        bodies = bodies[:-1]  # any 27 numbers are thresholds
    assert {reply[:1] for reply in answers(peer, bodies)} == {reflex_codec.DONE}
    assert link.receive() == []
    assert link._driver == driver
    peer.close()


def test_auroras_policy_service_answers_what_makes_no_sense(domain: int, opened):
    node = AuroraNode(domain=domain)
    opened.callback(node.close)
    peer = connect(domain, node.names.policy_service(), FAST_VENDOR, node._participant)
    told = answers(peer, [b"", bytes(3), b"\xff" * 30])
    assert {reply[0] for reply in told} == {False}
    peer.close()


def test_a_reading_that_is_asked_for_before_the_first_state_waits_for_it(domain: int, opened):
    context = LinkContext(hands=[hands.load("inspire_right")], config=WireConfig(domain=domain), opened=opened)
    link = PROTOCOLS["tienkung"].open(context)
    assert link._participant.health().services == ()
    world = thenar.World("inspire_right", profile="ideal")
    link.publish_state({"inspire_right": (world.state("inspire_right"), world.settings("inspire_right"))})
    assert len(link._participant.health().services) == len(tienkung_codec.SERVICES)
