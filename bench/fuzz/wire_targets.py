"""Parsers of what comes over a network or a line, down to the motors: a twin that does not run takes what they make."""

from __future__ import annotations

import itertools
import struct
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack

from websockets.http11 import Request
from websockets.streams import StreamReader

from bench.fuzz import seeds
from bench.fuzz.datagram_targets import datagram_targets
from bench.fuzz.search import Target
from thenar import World, cdr, hands
from thenar.errors import BadValue
from thenar.glove.glove_socket import decode_frame
from thenar.twin.live_twin import Link, LiveTwin
from thenar.view.access_gate import AccessGate
from thenar.wire.clients.manus_client import ManusListener
from thenar.wire.codecs import aurora_codec, inspire_codec, sim_codec, status_codec
from thenar.wire.codecs.inspire_codec import TouchLayout
from thenar.wire.codecs.manus_codec import MANUS_GLOVE
from thenar.wire.codecs.unitree.g1_codec import RUN_TOPIC
from thenar.wire.links.aurora_link import AuroraNode
from thenar.wire.links.registry import PROTOCOLS, LinkContext
from thenar.wire.links.serial_bus.pseudo_terminal import READ_BYTES
from thenar.wire.links.unitree.g1_link import G1Topics
from thenar.wire.rtps import Participant, Reader, Sample, Service, ros
from thenar.wire.rtps.discovery import SampleIdentity
from thenar.wire.rtps.messages import CYCLONE_VENDOR, RUST_VENDOR
from thenar.wire.wire_config import ModbusOptions, ReflexOptions, WireConfig

HANDS = (
    ("inspire_left", "inspire_right"),
    ("reflex",),
    ("dex3_left", "dex3_right"),
    ("dex1_right",),
    ("brainco_left", "brainco_right"),
    ("leap_right",),
)
"""Hands that between them speak every protocol."""
DOMAINS = len(HANDS) + 2


def wire_targets(opened: ExitStack, *, domain: int, port: int) -> Iterator[Target]:
    """Everything that listens; it is closed with ``opened``.

    Args:
        opened: Closes what is opened here.
        domain: The first of `DOMAINS` DDS domains on which nobody is.
        port: The first of four ports that nobody uses.
    """
    for number, names in enumerate(HANDS):
        twin, participant = _open_twin(opened, names, domain + number, port + 2 * number)
        tick = _ticker(twin)
        for link in twin.links:
            yield from _link_targets(link, tick)
        if number < 2:  # the others are no other parser of datagrams
            yield from datagram_targets(opened, participant, tick, to="+".join(names))
    yield from _body_targets(opened, domain + len(HANDS))
    yield from _g1_targets(opened, domain + len(HANDS) + 1)
    gloves = opened.enter_context(ManusListener("right", domain=domain + len(HANDS)))
    hear = _sampler(gloves._hear)
    yield Target(name="topic manus_glove", read=hear, seeds=seeds.COMMANDS[ros.message_type(MANUS_GLOVE)])
    yield from _client_targets()


def _open_twin(opened: ExitStack, names: Sequence[str], domain: int, port: int) -> tuple[LiveTwin, Participant]:
    """A twin with every protocol that its hands speak, which does not run."""
    world = World(names, scene="in_hand")
    config = WireConfig(domain=domain, modbus=ModbusOptions(port=port), reflex=ReflexOptions(port=port))
    context = LinkContext(hands=[hands.load(name) for name in names], config=config, opened=opened)
    spoken = [one for one in PROTOCOLS.values() if all(one.serves(hand) for hand in context.hands)]
    twin = LiveTwin(world, [one.open(context) for one in spoken], touch_hz=0.0)
    twin._publish_state()  # services are there from the first state on
    return twin, context.participant


def _ticker(twin: LiveTwin) -> Callable[[], float]:
    """What a tick of the physics does with what has come; the time it takes [s of the processor]."""

    def tick() -> float:
        began_s = time.thread_time()
        twin._take_requests()
        return time.thread_time() - began_s

    return tick


def _sampler(callback: Callable[[Sample], None], vendor: bytes = RUST_VENDOR) -> Callable[[bytes], None]:
    """Hand bytes over as samples of a writer that never sends one twice."""
    writer = vendor + bytes(13) + b"\x03"
    numbers = itertools.count(1)

    def deliver(body: bytes) -> None:
        callback(Sample(body, SampleIdentity(writer, next(numbers)), None, vendor, {}, False))

    return deliver


def _link_targets(link: Link, tick: Callable[[], float]) -> Iterator[Target]:
    def then_tick(read: Callable[[bytes], object]) -> Callable[[bytes], float]:
        def read_and_tick(data: bytes) -> float:
            read(data)
            return tick()

        return read_and_tick

    for end in getattr(link, "_ends", ()):
        if isinstance(end, Reader):
            right = seeds.COMMANDS[end.info.type_name]
            yield Target(name=f"topic {end.info.topic}", read=then_tick(_sampler(end.callback)), seeds=right)
        elif isinstance(end, Service):
            for flavour, vendor, head in (("plain", RUST_VENDOR, b""), ("Cyclone", CYCLONE_VENDOR, bytes(16))):
                yield Target(
                    name=f"service {end.names.request_topic} ({flavour})",
                    read=then_tick(_sampler(end._on_request, vendor)),
                    seeds=tuple(head + body for body in seeds.REQUESTS),
                )
    match link.wire:
        case "modbus":
            for name, registers in link._hands.items():  # pyright: ignore[reportAttributeAccessIssue]
                # A transport hands over nothing empty, and no more than its length can say.
                answer = then_tick(lambda pdu, hand=registers: hand.answer(pdu or b"\0"))
                yield Target(name=f"Modbus {name}", read=answer, seeds=seeds.PDUS, max_bytes=253)
        case "rs485":
            (line,) = link._lines  # pyright: ignore[reportAttributeAccessIssue]

            def take(data: bytes) -> None:
                line.take(data)
                line.fall_silent()

            right = (*seeds.LINES, *map(_as_many_as_are_read, seeds.LINES[-2:]))
            yield Target(name="serial line", read=then_tick(take), seeds=right, max_bytes=READ_BYTES)
        case "revo2" | "dynamixel":
            right = seeds.REVO2_LINES if link.wire == "revo2" else seeds.DYNAMIXEL_LINES
            right = (*right, *map(_as_many_as_are_read, right[-2:]))
            take = link.take  # pyright: ignore[reportAttributeAccessIssue]
            yield Target(name=f"{link.wire} line", read=then_tick(take), seeds=right, max_bytes=READ_BYTES)
        case "reflex_udp":
            on_packet = link._on_packet  # pyright: ignore[reportAttributeAccessIssue]
            read = then_tick(lambda packet: on_packet(packet, "127.0.0.1:1"))
            yield Target(name="ReFlex packet", read=read, seeds=seeds.PACKETS, max_bytes=2048)


def _as_many_as_are_read(frame: bytes) -> bytes:
    """The same frame again and again, as much of it as a line reads at a time."""
    return (frame * READ_BYTES)[:READ_BYTES]


def _body_targets(opened: ExitStack, domain: int) -> Iterator[Target]:
    """The humanoid's topics and its service, down to its controller."""
    from thenar.twin.body.body_loop import BodyTwin
    from thenar.twin.body.body_world import BodyWorld

    node = AuroraNode(domain=domain)
    opened.callback(node.close)
    controller = BodyTwin(BodyWorld(), link=None).controller

    def submit(callback: Callable[[bytes], None], body: bytes) -> None:
        callback(body)
        for request in node.receive():
            controller.submit(request)

    readers = [end for end in node._participant._directory.readers.values() if end.info.topic in _aurora_topics()]
    for end in readers:
        deliver = _sampler(end.callback)
        yield Target(
            name=f"topic {end.info.topic}",
            read=lambda body, deliver=deliver: submit(deliver, body),
            seeds=seeds.COMMANDS[end.info.type_name],
        )
    (service,) = node._participant._services
    yield Target(name="service policy_change", read=_sampler(service._on_request), seeds=seeds.REQUESTS)


def _g1_targets(opened: ExitStack, domain: int) -> Iterator[Target]:
    """The topics and calls of a G1's body."""
    link = G1Topics(opened.enter_context(Participant(domain)), mode_machine=5)
    for end in link._ends:
        if isinstance(end, Reader):
            right = seeds.WALKS if end.info.topic == RUN_TOPIC else seeds.COMMANDS[end.info.type_name]
            yield Target(name=f"topic {end.info.topic}", read=_sampler(end.callback), seeds=right)


def _aurora_topics() -> set[str]:
    names = aurora_codec.Names()
    return {names.topic(topic) for topic in (*aurora_codec.COMMANDS, aurora_codec.RESET)}


def _client_targets() -> Iterator[Target]:
    """What clients, gloves and the page's door read."""
    layout = TouchLayout.of(hands.load("inspire_right"))
    touch, state = seeds.STATES["inspire touch"], seeds.STATES["inspire state"]
    yield Target(name="touch", read=lambda body: inspire_codec.decode_touch(layout, cdr.HEADER + body), seeds=(touch,))
    yield Target(name="state", read=lambda body: inspire_codec.decode_state(cdr.HEADER + body), seeds=(state,))
    for topic, kind in aurora_codec.REPORTS.items():
        yield Target(
            name=f"report {topic}",
            read=lambda body, kind=kind: aurora_codec.decode(kind, body),
            seeds=seeds.aurora_bodies(kind),
        )
    # Of what is text the length is right, and the text is not.
    yield Target(
        name="scene",
        read=lambda text: sim_codec.object_positions(sim_codec.decode_state(_as_string(text))),
        seeds=(sim_codec.decode_text(cdr.HEADER + seeds.STATES["scene"]).encode(),),
        text=True,
    )
    yield Target(
        name="poses",
        read=lambda text: sim_codec.decode_poses(_as_string(text)),
        seeds=tuple(sim_codec.decode_text(cdr.HEADER + body).encode() for body in seeds.COMMANDS[sim_codec.STRING][2:]),
        text=True,
    )
    yield Target(
        name="status",
        read=lambda text: status_codec.decode_status(_as_string(text)),
        seeds=(b'{"time_s": 1.0, "links": [{"wire": "inspire", "peers": [], "refused": {"a": 1}}], "hands": {}}',),
        text=True,
    )
    yield Target(name="glove datagram", read=decode_frame, seeds=seeds.GLOVE_FRAMES, text=True)
    gate = AccessGate(names={"127.0.0.1", "localhost"}, token="secret", secure=False)
    yield Target(
        name="request to the page",
        read=lambda head: gate.check(_parse_request(head)),
        seeds=seeds.PAGE_HEADS,
        text=True,
    )


def _parse_request(head: bytes) -> Request:
    """A request as the page's server reads it; what it refuses itself never comes to the gate."""
    stream = StreamReader()
    stream.feed_data(head)
    stream.feed_eof()
    try:
        next(Request.parse(stream.read_line))  # it waits for nothing, since all is there
    except StopIteration as parsed:
        return parsed.value
    except Exception as error:
        raise BadValue("request", head[:40], "one of HTTP") from error
    raise BadValue("request", head[:40], "a whole one")


def _as_string(text: bytes) -> bytes:
    return cdr.HEADER + struct.pack("<I", len(text) + 1) + text + b"\0"
