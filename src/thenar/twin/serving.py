"""Hands on the network: a world, its links and the loop between them, from one `ServeConfig`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from thenar.errors import BadValue, UnknownName
from thenar.hands import load
from thenar.sim import scenes
from thenar.sim.props import Prop
from thenar.sim.scenes import Scene
from thenar.touch.sensor.calibration import Calibration, load_calibration, profile_of
from thenar.twin.faults.fault_script import FaultScript
from thenar.twin.live_twin import Link, LiveTwin, warm_up
from thenar.twin.serve_config import DEFAULT_WIRES, PageOptions, ServeConfig, complete
from thenar.twin.world import World
from thenar.wire.links.registry import PROTOCOLS, SIM, LinkContext, Protocol, default_wires, find_protocols

if TYPE_CHECKING:
    from thenar.twin.page.page_link import PageLink


def serve(
    config: ServeConfig | str | Sequence[str] | None = None,
    *,
    scene: str | Scene | None = None,
    props: Iterable[Prop] = (),
    **options: Any,
) -> LiveTwin:
    """Hands that programs for the real ones can connect to. Use the result in a ``with``.

    Args:
        config: What is served, or just the names of hands.
        scene: Surroundings, by name or of your own, in place of the configuration's.
        props: Things to touch, besides those of the scene.
        options: Fields of `ServeConfig`, in place of the configuration's.
    """
    if not isinstance(config, ServeConfig):
        names = {"hands": (config,) if isinstance(config, str) else tuple(config)} if config else {}
        config = ServeConfig(**names, **options)
    elif options:
        config = replace(config, **options)
    scene = config.scene if scene is None else scene
    protocols = _protocols(config)
    if not config.state_hz > 0.0:
        raise BadValue("state_hz", config.state_hz, "hertz above 0: links show nothing newer than the last state")
    if not config.touch_hz >= 0.0:
        raise BadValue("touch_hz", config.touch_hz, "hertz, or 0 for no touch")
    options_of_page = complete(config.page) if config.view else None
    world = World(
        config.hands, props=props, scene=scene, seed=config.seed, profile=config.profile, skin=_calibrations(config),
        motors=_by_hand("--motors", config.motors, config.hands),
    )  # fmt: skip
    specs, wires = [world.hand(name) for name in world.hand_names], [one.name for one in protocols]
    script = FaultScript(config.fault, specs, wires) if config.fault else None
    warm_up(world)  # before anybody can connect: a command must not wait for code to be compiled
    with ExitStack() as opened:  # what was opened is closed again if the next thing fails
        context = LinkContext(hands=specs, config=config, opened=opened)
        links: list[Link] = [protocol.open(context) for protocol in protocols]
        # Told to `thenar inspect` by the first link that can.
        publish_status = next(filter(None, (getattr(link, "publish_status", None) for link in links)), None)
        page = None
        if options_of_page is not None:
            wires = [link.wire for link in links if link.wire != SIM]  # those that command hands
            page = _open_page(world, options_of_page, wires=wires)
            opened.callback(page.close)
            links.append(page)
        twin = LiveTwin(
            world,
            links,
            state_hz=config.state_hz,
            touch_hz=config.touch_hz,
            publish_status=publish_status,
            pre_step=script,
            record=config.record,
        )
        if page is not None:
            page.attach(twin)
        opened.pop_all()
    return twin


def _protocols(config: ServeConfig) -> list[Protocol]:
    """Protocols that were chosen, or those by which hands like these are usually reached."""
    chosen = config.wires != DEFAULT_WIRES
    wires = config.wires if chosen else default_wires([load(name) for name in config.hands])
    if not wires and not config.view:
        if chosen:
            raise BadValue("wires", wires, f"at least one of {', '.join(PROTOCOLS)}")
        wanted = "hands with a protocol, not shadow_* or fourier_*; add --view to see those in a browser"
        raise BadValue("--hands", ",".join(config.hands), wanted)
    found = find_protocols(wires)
    return found if all(one.name == SIM or not one.states for one in found) else find_protocols((*wires, SIM))


def _calibrations(config: ServeConfig) -> dict[str, Calibration]:
    """Calibrations by hand. Sensors with a rate of their own are read at the rate that is published."""
    made = {name: profile_of(load(name), config.profile) for name in config.hands}
    for name, path in _by_hand("--skin", config.skin, config.hands).items():
        made[name] = load_calibration(path, load(name), base=made[name])
    if config.touch_hz and config.profile == "measured":
        made = {name: replace(skin, rate_hz=config.touch_hz) for name, skin in made.items()}
    return made


def _by_hand(option: str, files: Mapping[str, Path], hands: Sequence[str]) -> dict[str, Path]:
    """Files by hand; one without a name is that of the only hand."""
    named: dict[str, Path] = {}
    for hand, path in files.items():
        name = hand or (hands[0] if len(hands) == 1 else "")
        if not name:
            raise BadValue(option, str(path), f"HAND=FILE, as there are several hands: {', '.join(hands)}")
        if name not in hands:
            raise UnknownName("hand that is served", name, hands)
        named[name] = path
    return named


def _open_page(world: World, options: PageOptions, *, wires: Sequence[str]) -> PageLink:
    from thenar.twin.page.page_link import PageLink
    from thenar.twin.page.playback import made_recordings, warm_up_playback

    for name in world.hand_names:
        warm_up_playback(world.hand(name))
    scene = scenes.name_of(world.physics.config.scene)
    return PageLink(world, scene=scene, wires=wires, recordings=made_recordings(), title="thenar", options=options)
