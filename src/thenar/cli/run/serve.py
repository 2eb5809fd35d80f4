"""``thenar serve`` and ``thenar demo``: hands on the network, and in the browser."""

from __future__ import annotations

import contextlib
import itertools
import threading
import webbrowser
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Annotated

import numpy as np
import tyro
from rich.console import Group
from rich.text import Text

from thenar.cli.run.running import check_duration, show_until_stopped, stop_on_signals
from thenar.cli.show import check_unused, console, make_table, print_json
from thenar.errors import ThenarError
from thenar.twin.page.tls_certificate import fingerprint
from thenar.twin.serve_config import DEFAULT_WIRES, PageOptions, ServeConfig

if TYPE_CHECKING:
    from thenar.twin.live_twin import LiveTwin
    from thenar.twin.page.page_link import PageLink
    from thenar.twin.twin_health import Health

PLAY_BEAT_S = 3.0


@dataclass(frozen=True, kw_only=True)
class Serve(ServeConfig):
    """Put hands on the network. Programs written for the real hands connect to them unchanged.

    For example:

    thenar serve

    thenar serve --hands inspire_left,inspire_right --wire inspire,dfx,modbus --scene in_hand

    thenar serve --view

    thenar serve --record session.mcap

    thenar serve --wire tienkung --domain 0

    thenar serve --hands reflex --domain 0

    thenar serve --hands inspire_right --interface eth0 --domain 0 --duration 60

    In a second terminal: thenar inspect, thenar watch touch, thenar command inspire_right --close 0.8
    """

    wires: Annotated[tuple[str, ...], tyro.conf.arg(name="wire")] = DEFAULT_WIRES
    page: Annotated[PageOptions, tyro.conf.arg(name="")] = field(default_factory=PageOptions)
    duration: float = 0.0
    """Seconds to run; 0 runs until Ctrl-C."""
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
        if not self.view:
            check_unused(self, ("open",) if self.open else (), "a page: --view")
            check_unused(self.page, tuple(vars(self.page)), "a page: --view")
        stop = stop_on_signals()
        if not self.json:
            console.print("loading; the very first start compiles for about half a minute", style="dim")
        twin = serve(self)
        page = shown_page(twin)
        with twin:
            if not self.json:
                where = ", ".join(f"{link.wire} at {link.where}" for link in twin.health().links)
                console.print(Text(f"ready on domain {self.domain}, {self.interface}: {where}"), soft_wrap=True)
            if page is not None:
                announce_page(page, to_open=self.open, quiet=self.json)
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
        if health.failed:
            raise ThenarError(f"not all of it ran to the end: {'; '.join(health.failed)}")

    def begin(self, page: PageLink) -> None:
        """What a page shows by itself at the start: nothing."""


@dataclass(frozen=True, kw_only=True)
class Demo(Serve):
    """Two hands with something in them, on the network and in your browser. A minute shows what they can do.

    For example:

    thenar demo

    thenar demo --port 8081 --no-open

    thenar demo --no-view --play --duration 60 --domain 0

    In a second terminal: thenar watch touch, thenar command inspire_right --close 0.8 --speed 500, thenar inspect
    """

    view: bool = True
    open: bool = True
    tour: bool = True
    """Begin with a minute that shows what there is to see; any command ends it."""

    def begin(self, page: PageLink) -> None:
        """The scripted minute."""
        if self.tour and page.tour is not None:
            page.tour.begin()


def shown_page(twin: LiveTwin) -> PageLink | None:
    """The page among a twin's links."""
    from thenar.twin.page.page_link import PageLink

    return next((link for link in twin.links if isinstance(link, PageLink)), None)


def announce_page(page: PageLink, *, to_open: bool, quiet: bool) -> None:
    """Say where the page is, and open it where there is a screen."""
    if not quiet:
        console.print("the page is at", Text(page.url, style="bold"), soft_wrap=True)
        if page.certificate is not None:
            console.print(f"its certificate has the SHA-256 {fingerprint(page.certificate)}", soft_wrap=True)
    if to_open:
        webbrowser.open(page.one_time_url)


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
            with contextlib.suppress(ThenarError):  # it is stopped just now
                twin.run_on_loop(lambda world, hand=hand, grip=grip: world.command(hand, grip))
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
    reasons += [Text(why, style="red") for why in (*health.diverged, *health.standing, *health.failed)]
    reasons += [Text(why, style="yellow") for why in health.warnings]
    if health.skipped_s:
        reasons.append(Text(f"too slow for real time: {health.skipped_s:.1f} s were dropped", style="red"))
    if health.recording is not None:
        reasons.append(
            Text(
                f"recording {health.recording.path}: {health.recording.seconds:.0f} s, "
                f"{health.recording.messages} messages, {health.recording.lost} lost"
            )
        )
    median_s, p99_s = health.command_latency_s
    arrived = (
        Text(f"command to motor: median {1e3 * median_s:.2f} ms, 99 % {1e3 * p99_s:.2f} ms") if median_s else Text()
    )
    return Group(
        head, make_table("", rates), make_table("", hands), make_table("", links), arrived, *reasons[-6:],
        Text("Ctrl-C stops it", style="dim"),
    )  # fmt: skip
