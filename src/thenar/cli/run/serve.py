"""``thenar serve``: hands on the network."""

from __future__ import annotations

import itertools
import secrets
import threading
import webbrowser
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import numpy as np
from rich.console import Group
from rich.text import Text

from thenar.cli.run.running import check_duration, show_until_stopped, stop_on_signals
from thenar.cli.show import console, listed, make_table, print_json
from thenar.errors import BadValue

if TYPE_CHECKING:
    from thenar.twin.live_twin import Health, LiveTwin
    from thenar.twin.page.page_link import PageLink
    from thenar.twin.serving import PageOptions

PLAY_BEAT_S = 3.0
INSPIRE_WIRES = ("inspire", "dfx", "modbus")
USUAL_WIRES = {"reflex": ("reflex", "reflex_udp"), "shadow": (), "fourier": ()}
"""By how a hand's name begins, where it is not Inspire's; for some there is only the page."""


@dataclass(frozen=True)
class Serve:
    """Put hands on the network. Programs written for the real hands connect to them unchanged.

    For example:

    thenar serve

    thenar serve --hands inspire_left,inspire_right --wire inspire,dfx,modbus --scene in_hand

    thenar serve --view

    thenar serve --wire tienkung --domain 0

    thenar serve --hands reflex --domain 0

    thenar serve --hands inspire_right --interface eth0 --domain 0 --duration 60

    In a second terminal: thenar inspect, thenar watch touch, thenar command inspire_right --close 0.8
    """

    hands: str = "inspire_left,inspire_right"
    """Hands, separated by commas."""
    scene: str = "in_hand"
    """Surroundings: thenar scenes lists them."""
    wire: str = ""
    """Protocols, separated by commas; empty takes those the hand is usually reached by. There are inspire (DDS of the
    tactile hand), dfx (Unitree's DDS topics), modbus, tienkung (ROS 2), reflex (the ReFlex hand's driver in ROS 2
    types; the original is ROS 1) and reflex_udp (that hand's own packets)."""
    domain: int = 1
    """DDS domain, ROS_DOMAIN_ID: Unitree's simulators use 1, robots 0."""
    interface: str = "lo"
    """Network interface of all wires. Nothing is heard on any other."""
    peers: str = ""
    """Addresses, separated by commas, to look for DDS programs at where multicast does not reach."""
    modbus_port: int = 6000
    """Modbus port of the first hand; the next hands count up."""
    flash: Path | None = None
    """Folder in which hands keep what Modbus clients tell them to save."""
    tienkung_hz: float = 25.0
    """How often Tienkung's state topics are published."""
    reflex_hz: float = 40.0
    """How often a ReFlex hand tells its state."""
    reflex_port: int = 11333
    """UDP port of its packets; programs for the real hand know only 11333."""
    ros: Literal["humble", "jazzy"] = "humble"
    """Which ROS 2 shows the twin in its list of nodes."""
    state_hz: float = 100.0
    """How often states are published."""
    touch_hz: float = 50.0
    """How often skins are read and published."""
    profile: Literal["measured", "ideal"] = "measured"
    """measured has latency, overshoot and noise of a real hand, ideal has none."""
    skin: str = ""
    """Calibration file of the skin, or HAND=FILE for each hand, separated by commas; see thenar calibrate."""
    seed: int = 0
    """Of every random number."""
    duration: float = 0.0
    """Seconds to run; 0 runs until Ctrl-C."""
    view: bool = False
    """Show it in a browser: a page with the hands, their skin, plots and controls."""
    host: str = "127.0.0.1"
    """Address of the page. Anything but this machine gets a token that visitors must know."""
    port: int = 8080
    """Port of the page; 0 takes one that is free."""
    token: str = ""
    """Token of the page, in place of one made up."""
    open: bool = False
    """Open the page in a browser window of this machine."""
    play: bool = False
    """Let the hands open and close by themselves until somebody commands them."""
    json: bool = False
    """Print the health as JSON when it ends, and nothing else."""

    def run(self) -> None:
        """Serve until told to stop."""
        from thenar.twin.serving import serve

        check_duration(self.duration)
        wires = self._wires()
        stop = stop_on_signals()
        if not self.json:
            console.print("loading; the very first start compiles for about half a minute", style="dim")
        twin = serve(
            listed(self.hands),
            wires=wires,
            scene=self.scene,
            domain=self.domain,
            interface=self.interface,
            peers=listed(self.peers),
            modbus_port=self.modbus_port,
            flash_dir=self.flash,
            tienkung_hz=self.tienkung_hz,
            reflex_hz=self.reflex_hz,
            reflex_port=self.reflex_port,
            ros=self.ros,
            state_hz=self.state_hz,
            touch_hz=self.touch_hz,
            profile=self.profile,
            seed=self.seed,
            skin=self._skins(),
            page=page_options(self.host, self.port, self.token) if self.view else None,
        )
        page = shown_page(twin)
        with twin:
            if page is not None:
                tell_of_page(page.url, to_open=self.open, quiet=self.json)
                self.begin(page)
            if self.play:
                threading.Thread(target=_play, args=(twin, stop), name="play", daemon=True).start()
            show_until_stopped(
                twin, stop, lambda: _status(self, twin.health()), duration_s=self.duration, quiet=self.json
            )
            health = twin.health()
        if self.json:
            print_json(asdict(health))
        else:
            console.print("" if console.is_terminal else "\n", end="")
            console.print("stopped; every topic is disposed and every port closed")

    def _wires(self) -> tuple[str, ...]:
        """Protocols that were chosen, or those by which hands like these are usually reached."""
        if self.wire:
            return listed(self.wire)
        usual = {USUAL_WIRES.get(name.partition("_")[0], INSPIRE_WIRES) for name in listed(self.hands)}
        if len(usual) > 1:
            raise BadValue(
                "--hands", self.hands, "hands that speak the same protocols; serve each maker's by themselves"
            )
        (wires,) = usual or {INSPIRE_WIRES}
        if not wires and not self.view:
            raise BadValue(
                "--hands",
                self.hands,
                "hands with a protocol: inspire_* or reflex; add --view to see others in a browser",
            )
        return wires

    def _skins(self) -> dict[str, Path]:
        """Calibration files by hand; a file without a name is for the only hand."""
        skins, names = {}, listed(self.hands)
        for part in listed(self.skin):
            hand, named, file = part.rpartition("=")
            if not named and len(names) != 1:
                raise BadValue("--skin", part, f"HAND=FILE, as there are several hands: {', '.join(names)}")
            skins[hand if named else names[0]] = Path(file)
        return skins

    def begin(self, page: PageLink) -> None:
        """What a page shows by itself at the start: nothing."""


def page_options(host: str, port: int, token: str) -> PageOptions:
    """Where the page is; one that others can reach gets a token."""
    from thenar.twin.serving import PageOptions
    from thenar.view.access_proxy import LOCAL_HOSTS

    if not 0 <= port <= 65535:
        raise BadValue("--port", port, "a port from 1 to 65535, or 0 for one that is free")
    if token and not token.replace("-", "").replace("_", "").isalnum():
        raise BadValue("--token", token, "letters, digits, - and _")
    if host not in LOCAL_HOSTS and not token:
        token = secrets.token_urlsafe(12)
    return PageOptions(host=host, port=port, token=token)


def shown_page(twin: LiveTwin) -> PageLink | None:
    """The page among a twin's links."""
    from thenar.twin.page.page_link import PageLink

    return next((link for link in twin.links if isinstance(link, PageLink)), None)


def tell_of_page(url: str, *, to_open: bool, quiet: bool) -> None:
    """Say where the page is, and open it where there is a screen."""
    if not quiet:
        console.print(f"the page is at [bold]{url}[/bold]", highlight=False, soft_wrap=True)
    if to_open:
        webbrowser.open(url)


def _play(twin: LiveTwin, stop: threading.Event) -> None:
    """Thumb round, fingers closed, fingers open, again and again; the first real command ends it."""
    from thenar.signals import HandCommand

    hands = twin.world.hand_names
    around = {
        hand: np.array([a.name == "thumb_rotation" for a in twin.world.hand(hand).actuators], dtype=float)
        for hand in hands
    }
    for beat in itertools.count():
        if not twin.running or any(twin.health().hands[hand].sender not in ("", "power-on") for hand in hands):
            return
        closed = 0.75 if beat % 2 else 0.05
        for hand in hands:
            grip = HandCommand.closing(np.maximum(closed, around[hand]), speed=0.3, force_limit_n=3.0)
            twin.ask(lambda world, hand=hand, grip=grip: world.command(hand, grip))
        if stop.wait(PLAY_BEAT_S):
            return


def _status(options: Serve, health: Health) -> Group:
    """The whole picture, redrawn twice a second."""
    late = 100.0 * health.late_ticks / max(health.ticks, 1)
    head = Text(
        f"twin {health.time_s:8.1f} s   real-time factor {health.real_time_factor:.4f}   "
        f"late ticks {health.late_ticks} ({late:.3f} %)   domain {options.domain} on {options.interface}"
    )
    rates = [
        {"rate": name, "asked_hz": asked, "achieved_hz": round(got, 2)}
        for name, (asked, got) in (("state", health.state_hz), ("touch", health.touch_hz))
        if asked
    ]
    hands = [
        {
            "hand": name,
            "requests": hand.requests,
            "commanded by": ", ".join(hand.recent_senders) or hand.sender or "nobody yet",
            "age_s": "-" if hand.age_s == float("inf") else f"{hand.age_s:.1f}",
        }
        for name, hand in health.hands.items()
    ]
    links = [
        {
            "wire": link.wire,
            "where": link.where,
            "listeners": link.listeners,
            "peers": len(link.peers),
            "refused": sum(link.refused.values()),
        }
        for link in health.links
    ]
    reasons = [Text(f"{count} x {why}", style="yellow") for link in health.links for why, count in link.refused.items()]
    reasons += [Text(f"{count} x {why}", style="yellow") for why, count in health.refused.items()]
    reasons += [Text(why, style="red") for why in health.diverged]
    if health.skipped_s:
        reasons.append(Text(f"too slow for real time: {health.skipped_s:.1f} s were let go", style="red"))
    median_s, p99_s = health.command_latency_s
    arrived = (
        Text(f"command to motor: median {1e3 * median_s:.2f} ms, 99 % {1e3 * p99_s:.2f} ms") if median_s else Text()
    )
    return Group(
        head, make_table("", rates), make_table("", hands), make_table("", links), arrived, *reasons[-6:],
        Text("Ctrl-C stops it", style="dim"),
    )  # fmt: skip
