"""Put hands on the network: a world, its links and the loop between them, from plain choices."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from thenar.errors import BadValue, UnknownName
from thenar.hands import load
from thenar.sim.physics import Profile
from thenar.sim.props import Prop
from thenar.sim.scenes import Scene
from thenar.touch.sensor.calibration import load_calibration, profile_of
from thenar.twin.live_twin import Link, LiveTwin, warm_up
from thenar.twin.world import World

if TYPE_CHECKING:
    from thenar.twin.page.page_link import PageLink


@dataclass(frozen=True, kw_only=True)
class PageOptions:
    """Where the page is."""

    host: str = "127.0.0.1"
    """Address it listens at; anything but this machine needs a token."""
    port: int = 8080
    """Port it listens at; 0 lets the system choose."""
    token: str = ""
    """What visitors must know."""
    title: str = "thenar"


WIRES = ("inspire", "dfx", "modbus", "tienkung", "reflex", "reflex_udp")
MODBUS_PORT = 6000
REFLEX_PORT = 11333


def serve(
    hands: str | Sequence[str],
    *,
    wires: Sequence[str] = ("inspire",),
    scene: str | Scene = "in_hand",
    props: Iterable[Prop] = (),
    domain: int = 1,
    interface: str = "lo",
    peers: tuple[str, ...] = (),
    modbus_port: int = MODBUS_PORT,
    flash_dir: Path | None = None,
    tienkung_hz: float = 25.0,
    reflex_hz: float = 40.0,
    reflex_port: int = REFLEX_PORT,
    ros: Literal["humble", "jazzy"] = "humble",
    state_hz: float = 100.0,
    touch_hz: float = 50.0,
    profile: Profile = "measured",
    seed: int = 0,
    skin: Mapping[str, Path] | None = None,
    page: PageOptions | None = None,
) -> LiveTwin:
    """Hands that programs for the real ones can connect to. Use the result in a ``with``.

    Args:
        hands: Names of hands.
        wires: Protocols to speak: ``inspire`` (DDS of the tactile hand), ``dfx`` (Unitree's DDS topics), ``modbus``,
            ``tienkung`` (ROS 2 topics and services), ``reflex`` (the driver of the ReFlex hand in ROS 2 types; the
            original is ROS 1), ``reflex_udp`` (that hand's own packets).
        scene: Surroundings.
        props: Things to touch, besides those of the scene.
        domain: DDS domain; simulators of Unitree robots use 1, the robots 0.
        interface: Network interface of every wire. Loopback unless something else is chosen.
        peers: Addresses at which to look for DDS participants where multicast does not reach.
        modbus_port: Port of the first hand; the next hands count up.
        flash_dir: Folder in which hands keep what Modbus clients tell them to save.
        tienkung_hz: How often Tienkung's state topics are published.
        reflex_hz: How often a ReFlex hand tells its state, on either of its wires.
        reflex_port: UDP port of its packets; programs for the real hand know only 11333.
        ros: Which ROS 2 shows the twin in its list of nodes.
        state_hz: How often states are published.
        touch_hz: How often skins are read and published.
        profile: ``measured`` or ``ideal``, see `World`.
        seed: Of every random number.
        skin: Calibration files of skins, by hand.
        page: Where to show it all in a browser; None for nowhere.
    """
    if not wires and page is None:
        raise BadValue("wires", wires, f"at least one of {', '.join(WIRES)}")
    for wire in wires:
        if wire not in WIRES:
            raise UnknownName("wire", wire, WIRES)
    if not state_hz > 0.0:
        raise BadValue("state_hz", state_hz, "hertz above 0: links show nothing newer than the last state")
    for field, rate_hz, speak in (
        ("tienkung_hz", tienkung_hz, ("tienkung",)),
        ("reflex_hz", reflex_hz, ("reflex", "reflex_udp")),
    ):
        if set(speak) & set(wires) and not 0.0 < rate_hz <= state_hz:
            raise BadValue(field, rate_hz, f"hertz above 0 and up to state_hz, which is {state_hz:g}")
    # A sensor with a rate of its own is read at the rate that is published.
    names = [hands] if isinstance(hands, str) else list(hands)
    skins = {name: profile_of(load(name), profile) for name in names}
    for name, path in (skin or {}).items():
        if name not in skins:
            raise UnknownName("hand that is served", name, names)
        skins[name] = load_calibration(path, load(name), base=skins[name])
    if touch_hz and profile == "measured":
        skins = {name: replace(skin, rate_hz=touch_hz) for name, skin in skins.items()}
    world = World(names, props=props, scene=scene, seed=seed, profile=profile, skin=skins)
    specs = [world.hand(name) for name in world.hand_names]
    warm_up(world)  # before anybody can connect: a command must not wait for code to be compiled
    with ExitStack() as opened:  # what was opened is closed again if the next thing fails
        links: list[Link] = []
        tell = None
        if "inspire" in wires or "dfx" in wires:
            from thenar.wire.links.dds_link import DdsNode
            from thenar.wire.links.dfx_link import DfxTopics
            from thenar.wire.links.inbox import TWIN_NAME
            from thenar.wire.links.inspire_link import InspireTopics

            dds = opened.enter_context(DdsNode(domain=domain, interface=interface, peers=peers, name=TWIN_NAME))
            links += [kind(dds, specs) for kind in (InspireTopics, DfxTopics) if kind.wire in wires]
            tell = dds.tell_status
        if "tienkung" in wires:
            from thenar.wire.links.tienkung_link import TienkungNode

            node = TienkungNode(
                specs, domain=domain, interface=interface, peers=peers, state_hz=tienkung_hz, layout=ros
            )
            opened.callback(node.close)
            links.append(node)
            tell = tell or node.tell_status
        if "reflex" in wires:
            from thenar.wire.links.reflex_link import ReflexNode

            driver = ReflexNode(specs, domain=domain, interface=interface, peers=peers, state_hz=reflex_hz, layout=ros)
            opened.callback(driver.close)
            links.append(driver)
            tell = tell or driver.tell_status
        if "reflex_udp" in wires:
            from thenar.wire.links.reflex_udp_link import ReflexUdp

            udp = ReflexUdp(
                specs, domain=domain, interface=interface, peers=peers, port=reflex_port, state_hz=reflex_hz
            )
            opened.callback(udp.close)
            links.append(udp)
            tell = tell or udp.tell_status
        if "modbus" in wires:
            from thenar.wire.links.modbus_link import ModbusServer

            modbus = ModbusServer(specs, interface=interface, port=modbus_port, flash_dir=flash_dir)
            opened.callback(modbus.close)
            links.append(modbus)
        shown = None
        if page is not None:
            shown = open_page(world, page, scene=scene if isinstance(scene, str) else "own", wires=wires)
            opened.callback(shown.close)
            links.append(shown)
        twin = LiveTwin(world, links, state_hz=state_hz, touch_hz=touch_hz, tell=tell)
        if shown is not None:
            shown.attach(twin)
        opened.pop_all()
    return twin


def open_page(world: World, options: PageOptions, *, scene: str, wires: Sequence[str]) -> PageLink:
    """A page of a world, in a process of its own."""
    from thenar.twin.page.page_link import PageLink
    from thenar.twin.page.playback import made_recordings, warm_up_playback

    for name in world.hand_names:
        warm_up_playback(world.hand(name))
    return PageLink(
        world,
        scene=scene,
        host=options.host,
        port=options.port,
        token=options.token,
        wires=wires,
        recordings=made_recordings(),
        title=options.title,
    )
