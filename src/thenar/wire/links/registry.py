"""The protocols a twin can speak, one entry each: a new protocol is a codec, a link and an entry here."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from thenar.errors import BadValue, UnknownName
from thenar.hands import load, names
from thenar.hands.spec import HandSpec
from thenar.wire.codecs import dfx_codec, inspire_codec, reflex_codec, sim_codec, tienkung_codec
from thenar.wire.codecs.inspire_counts import is_inspire
from thenar.wire.codecs.reflex_counts import is_reflex
from thenar.wire.codecs.serial_bus import dynamixel_table
from thenar.wire.codecs.unitree import brainco_codec, dex1_codec, dex3_codec
from thenar.wire.links.inbox import TWIN_NAME
from thenar.wire.rtps import Participant, ros
from thenar.wire.wire_config import WireConfig

SIM = "sim"
"""Topics of the simulator itself, served with every protocol on DDS: reset, poses, stress."""


@dataclass(frozen=True, kw_only=True)
class LinkContext:
    """What every link is made with: the hands of a twin, its options, and what its links share."""

    hands: Sequence[HandSpec]
    config: WireConfig
    opened: ExitStack
    """Closes what was opened so far when the next link cannot be."""

    @property
    def by_side(self) -> dict[str, HandSpec]:
        """The hands by side, for protocols that tell them apart by nothing else."""
        by_side = {spec.side: spec for spec in self.hands}
        if len(by_side) < len(self.hands) or "none" in by_side:
            raise BadValue("hands", [spec.name for spec in self.hands], "at most one left and one right hand")
        return by_side

    @cached_property
    def participant(self) -> Participant:
        """One participant for the topics of several links, which close it; made for the first one that asks."""
        where = {"interface": self.config.interface, "peers": self.config.peers}
        # The user data is that of programs on ROS 2; others do not look at it.
        return self.opened.enter_context(
            Participant(self.config.domain, name=TWIN_NAME, user_data=ros.ENCLAVE, **where)
        )


@dataclass(frozen=True, kw_only=True)
class Protocol:
    """One protocol: who speaks it, and what others must know of it."""

    name: str
    """As in ``--wire``; the ``wire`` of its link."""
    label: str
    """On the page."""
    link: str
    """Class of its link as ``module:name``, imported when it is used and called with a `LinkContext`."""
    serves: Callable[[HandSpec], bool]
    """Whether a hand speaks it."""
    default: bool = True
    """Whether hands that speak it are served on it when nothing else is chosen."""
    states: Mapping[str, str] = field(default_factory=dict)
    """DDS topics that one hand alone publishes, and their types; for ``thenar inspect``."""
    commands: Mapping[str, str] = field(default_factory=dict)
    """DDS topics that clients publish, and their types."""
    taps: str = ""
    """What reads all of them as commands, states and touch of hands, as ``module:function``; see `Listener`."""

    def link_class(self) -> Callable[[LinkContext], Any]:
        """The class of its link."""
        module, _, name = self.link.partition(":")
        return getattr(importlib.import_module(module), name)

    def open(self, context: LinkContext) -> Any:
        """Open its link; hands that do not speak it are refused."""
        foreign = [spec.name for spec in context.hands if not self.serves(spec)]
        if foreign:
            makers = sorted({spec.maker for spec in map(load, names()) if self.serves(spec)})
            wanted = f"hands that speak {self.name} ({', '.join(makers)}); serve each maker's by themselves"
            raise BadValue("--hands", ",".join(foreign), wanted)
        link = self.link_class()(context)
        context.opened.callback(link.close)
        return link


def _ros(topics: Mapping[str, str]) -> dict[str, str]:
    return {ros.topic_name(topic): ros.message_type(kind) for topic, kind in topics.items()}


PROTOCOLS = {
    one.name: one
    for one in (
        Protocol(
            name="inspire",
            label="DDS (Inspire)",
            link="thenar.wire.links.inspire_link:InspireTopics",
            taps="thenar.wire.clients.wire_taps:inspire_taps",
            serves=is_inspire,
            states=inspire_codec.STATES,
            commands=inspire_codec.COMMANDS,
        ),
        Protocol(
            name="dfx",
            label="DDS (Unitree)",
            link="thenar.wire.links.dfx_link:DfxTopics",
            taps="thenar.wire.clients.wire_taps:dfx_taps",
            serves=is_inspire,
            states=dfx_codec.STATES,
            commands=dfx_codec.COMMANDS,
        ),
        Protocol(
            name="modbus",
            label="Modbus",
            link="thenar.wire.links.registers.modbus_link:ModbusServer",
            serves=is_inspire,
        ),
        Protocol(
            name="rs485",
            label="RS-485",
            link="thenar.wire.links.registers.rs485_link:SerialHands",
            serves=is_inspire,
            default=False,
        ),
        Protocol(
            name="tienkung",
            label="ROS 2 (Tienkung)",
            link="thenar.wire.links.tienkung_link:TienkungNode",
            taps="thenar.wire.clients.wire_taps:tienkung_taps",
            serves=is_inspire,
            default=False,
            states=_ros(tienkung_codec.STATES),
            commands=_ros(tienkung_codec.CONTROLS),
        ),
        Protocol(
            name="reflex",
            label="ROS (ReFlex)",
            link="thenar.wire.links.reflex_link:ReflexNode",
            taps="thenar.wire.clients.wire_taps:reflex_taps",
            serves=is_reflex,
            states=_ros({reflex_codec.STATE_TOPIC: reflex_codec.HAND}),
            commands=_ros({f"{reflex_codec.NAMESPACE}/{topic}": kind for topic, kind in reflex_codec.COMMANDS.items()}),
        ),
        Protocol(
            name="reflex_udp",
            label="UDP (ReFlex)",
            link="thenar.wire.links.reflex_udp_link:ReflexUdp",
            serves=is_reflex,
        ),
        Protocol(
            name="dex3",
            label="DDS (Dex3-1)",
            link="thenar.wire.links.unitree.dex3_link:Dex3Topics",
            taps="thenar.wire.clients.wire_taps:dex3_taps",
            serves=dex3_codec.is_dex3,
            states=dex3_codec.STATES,
            commands=dex3_codec.COMMANDS,
        ),
        Protocol(
            name="dex1",
            label="DDS (Dex1-1)",
            link="thenar.wire.links.unitree.dex1_link:Dex1Topics",
            serves=dex1_codec.is_dex1,
            states=dex1_codec.STATES,
            commands=dex1_codec.COMMANDS,
        ),
        Protocol(
            name="brainco",
            label="DDS (BrainCo)",
            link="thenar.wire.links.unitree.brainco_link:BraincoTopics",
            taps="thenar.wire.clients.wire_taps:brainco_taps",
            serves=brainco_codec.is_brainco,
            states=brainco_codec.STATES,
            commands=brainco_codec.COMMANDS,
        ),
        Protocol(
            name="revo2",
            label="Modbus RTU (BrainCo)",
            link="thenar.wire.links.serial_bus.revo2_link:Revo2Serial",
            serves=brainco_codec.is_brainco,
            default=False,
        ),
        Protocol(
            name="dynamixel",
            label="Dynamixel 2.0",
            link="thenar.wire.links.serial_bus.dynamixel_link:DynamixelBus",
            serves=dynamixel_table.speaks_dynamixel,
        ),
        Protocol(
            name=SIM,
            label="DDS (simulator)",
            link="thenar.wire.links.sim_link:SimTopics",
            serves=lambda _: True,
            default=False,
            states=sim_codec.STATES,
            commands=sim_codec.COMMANDS,
        ),
    )
}
"""By name, in the order in which links are opened."""


def register(protocol: Protocol) -> None:
    """Add a protocol of a package of your own."""
    PROTOCOLS[protocol.name] = protocol


def find_protocols(names: Sequence[str]) -> list[Protocol]:
    """The protocols of these names, in the order of the registry."""
    for name in names:
        if name not in PROTOCOLS:
            raise UnknownName("wire", name, PROTOCOLS)
    return [protocol for protocol in PROTOCOLS.values() if protocol.name in names]


def default_wires(hands: Sequence[HandSpec]) -> tuple[str, ...]:
    """Names of the protocols by which hands like these are usually reached; for some there is none."""
    wires = {tuple(one.name for one in PROTOCOLS.values() if one.default and one.serves(hand)) for hand in hands}
    if len(wires) > 1:
        names = ",".join(hand.name for hand in hands)
        raise BadValue("--hands", names, "hands that speak the same protocols; serve each maker's by themselves")
    return next(iter(wires), ())


def known_topics(*, states_only: bool = False) -> dict[str, str]:
    """DDS topics of all protocols and their types; or only those that one hand alone publishes."""
    found: dict[str, str] = {}
    for protocol in PROTOCOLS.values():
        found |= protocol.states if states_only else {**protocol.states, **protocol.commands}
    return found
