"""The scripted minute: shows what the twin is about, and ends as soon as somebody else takes command."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

import numpy as np

from thenar.errors import ThenarError
from thenar.signals import HandCommand
from thenar.twin.page.actions import ACTIONS

if TYPE_CHECKING:
    from thenar.twin.live_twin import LiveTwin
    from thenar.twin.page.page_link import PageLink

LOOK_S = 0.25  # how often it looks whether somebody has taken over


class GuidedTour:
    """A minute of a running twin, on a thread of its own."""

    def __init__(self, page: PageLink, twin: LiveTwin):
        """Nothing happens yet."""
        self._page, self._twin = page, twin
        self._running = threading.Lock()
        self._over = threading.Event()

    def begin(self) -> None:
        """From the start, unless it is running."""
        self._over.clear()
        threading.Thread(target=self._run, name="tour", daemon=True).start()

    def end(self) -> None:
        """Somebody takes over; what the script had under way is cleared up when this returns."""
        self._over.set()
        with self._running:
            pass

    def _run(self) -> None:
        if not self._running.acquire(blocking=False):
            return
        page, home = self._page, self._page.scene
        try:
            if self._show():
                if page.scene != home and not self._over.is_set():
                    ACTIONS["scene"](page, self._twin, {"name": home})
                page.say("It is yours: move a slider, press a preset, pull at things, or connect your own program.")
        except ThenarError:
            pass  # the twin was stopped meanwhile
        finally:
            page.playback.stop()
            page.caption = ""
            self._running.release()

    def _show(self) -> bool:
        """The script; False as soon as somebody else acts."""
        twin, page = self._twin, self._page
        taxels = max((twin.world.hand(name).taxels for name in twin.world.hand_names), default=0)
        felt = f" {taxels} taxels of skin," if taxels else ""
        if not self._say(f"A digital twin: motors,{felt} contacts and the hand's own protocols, in real time.", 4.0):
            return False
        self._close(0.75, speed=0.22, force_n=2.0)
        if not self._say("The hands close on what they hold. Each motor stops at its force limit.", 8.0):
            return False
        self._close(0.9, speed=0.2, force_n=6.0)
        if not self._say("Harder. Every tile that lights up is a taxel; the map on the left shows all of them.", 8.0):
            return False
        self._close(0.0, speed=0.35, force_n=5.0)
        if not self._say("And open again. The plots show angle, force, current and temperature of every motor.", 5.0):
            return False
        if page.scene != "empty" and not twin.world.has_carrier:
            ACTIONS["scene"](page, twin, {"name": "empty"})
        if page.recordings:
            first = next(iter(page.recordings))
            ACTIONS["play"](page, twin, {"recording": first})
            if not self._say("Now a person's hand, recorded with a glove, drives the robot. Blue is the person.", 19.0):
                return False
            ACTIONS["stop_playing"](page, twin, {})
        broken = self._stall()
        try:
            if not self._say("A motor stalls, and says so on every wire, as the real one does.", 6.0):
                return False
        finally:
            if broken:
                ACTIONS["mend"](page, twin, {})
        self._close(0.0, speed=0.5, force_n=5.0)
        return self._say("Mended. Now it is your turn.", 3.0)

    def _say(self, text: str, for_s: float) -> bool:
        """Say something for a while; False if somebody else has taken command."""
        self._page.caption = text
        for _ in range(round(for_s / LOOK_S)):
            others = {hand.sender for hand in self._twin.health().hands.values()} - {"", "power-on", "page"}
            stranger = any(not sender.startswith("glove: ") for sender in others)
            if self._over.wait(LOOK_S) or stranger or not self._twin.running:
                return False
        return True

    def _close(self, fraction: float, *, speed: float, force_n: float) -> None:
        """Both hands, thumbs round in front of the fingers."""
        for name in self._twin.world.hand_names:
            spec = self._twin.world.hand(name)
            share = np.array(
                [max(fraction, float(a.name == "thumb_rotation" and fraction > 0.0)) for a in spec.actuators]
            )
            share = np.where([a.name == "thumb_bend" for a in spec.actuators], 0.8 * share, share)
            closing = HandCommand.closing(share, speed=speed, force_limit_n=force_n).in_radians(
                open_rad=spec.open_rad, closed_rad=spec.closed_rad, top_speed_rad_s=spec.top_speed_rad_s
            )
            self._page.command_hand(
                name,
                target_rad=closing.target_rad,
                speed_rad_s=closing.speed_rad_s,
                force_limit_n=closing.force_limit_n,
            )

    def _stall(self) -> bool:
        """Jam the index finger of the last hand and tell it to close."""
        name = self._twin.world.hand_names[-1]
        motors = self._twin.world.hand(name).actuator_names
        if "index" not in motors:
            return False
        ACTIONS["fault"](self._page, self._twin, {"kind": "jam", "hand": name, "motor": "index"})
        self._close(0.7, speed=0.4, force_n=5.0)
        return True
