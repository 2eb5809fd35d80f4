"""The guided tour: a minute that shows what the twin does, then hands that go on until somebody else commands them."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import TYPE_CHECKING

from thenar.errors import ThenarError
from thenar.signals import HandCommand
from thenar.signals.fault_kinds import Fault
from thenar.twin.page import actions

if TYPE_CHECKING:
    from thenar.twin.live_twin import LiveTwin
    from thenar.twin.page.page_link import PageLink

POLL_S = 0.25  # how often it checks whether somebody has taken over
YOUR_TURN = (
    "Your turn: move a slider, press a preset, drag an object, or connect a program. Until then the hands go on."
)


class _Interrupted(Exception):
    """Somebody else has taken over."""


class GuidedTour:
    """A scripted minute of a running twin, on a thread of its own."""

    def __init__(self, page: PageLink, twin: LiveTwin):
        """Nothing happens yet."""
        self._page, self._twin = page, twin
        self._running = threading.Lock()
        self._ended = threading.Event()

    def begin(self) -> None:
        """Start it on a thread of its own, unless it is running."""
        self._ended.clear()
        threading.Thread(target=self.run, name="tour", daemon=True).start()

    def end(self) -> None:
        """End it; what the script had under way is cleared up when this returns."""
        self._ended.set()
        with self._running:
            pass

    def run(self) -> None:
        """The minute and what follows, until somebody takes over; nothing if it is running already."""
        if not self._running.acquire(blocking=False):
            return
        page, home = self._page, self._page.scene
        try:
            self._show()
            if page.scene != home:
                actions.load_scene(page, self._twin, name=home)
            self._go_on()
        except (_Interrupted, ThenarError):  # a user acts, or the twin was stopped meanwhile
            if page.scene != home:
                page.notify(f"The tour put the objects away. They are back when you choose {home} under Scene.")
        except Exception as error:
            page.note_failure("the guided tour", error)
        finally:
            page.playback.stop()
            page.caption = ""
            self._running.release()

    def _show(self) -> None:
        twin, page = self._twin, self._page
        taxels = max((twin.world.hand(name).taxels for name in twin.world.hand_names), default=0)
        skin = f" {taxels} taxels of skin," if taxels else ""
        self.say(f"A digital twin: motors,{skin} contacts and the hand's own protocols, in real time.", 4.0)
        self._close(0.75, speed=0.22, force_n=2.0)
        self.say("The hands close on what they hold. Each motor stops at its force limit.", 8.0)
        self._close(0.9, speed=0.2, force_n=6.0)
        self.say("Harder. Every tile that lights up is a taxel; the map on the left shows all of them.", 8.0)
        self._close(0.0, speed=0.35, force_n=5.0)
        self.say("And open again. The plots show angle, force, current and temperature of every motor.", 5.0)
        if page.scene != "empty" and not twin.world.has_robot:
            actions.load_scene(page, twin, name="empty")
        if page.recordings:
            actions.play(page, twin, recording=next(iter(page.recordings)))
            text = "Without objects: a human hand, recorded with a glove, drives the robot. Blue is the human hand."
            self.say(text, 30.0, until=lambda: not page.playback.playing)
            page.playback.stop()
        hand = twin.world.hand_names[-1]
        try:
            if "index" in twin.world.hand(hand).actuator_names:
                actions.inject_fault(page, twin, fault=Fault(kind="jam", hand=hand, part="index"))
                self._close(0.7, speed=0.4, force_n=5.0)
            self.say("A motor stalls and reports it on every wire, as the real one does.", 6.0)
        finally:
            if twin.world.faults.active:
                actions.clear_faults(page, twin)
        self._close(0.0, speed=0.5, force_n=5.0)
        self.say("The fault is cleared.", 3.0)

    def _go_on(self) -> None:
        """Close on what is held and open again, with what was dropped back in its place, until somebody takes over."""
        while True:
            self._close(0.75, speed=0.22, force_n=2.0)
            self.say(YOUR_TURN, 6.0)
            self._close(0.0, speed=0.35, force_n=5.0)
            self.say(YOUR_TURN, 4.0)
            self._twin.run_on_loop(lambda world: world.props.reset())

    def say(self, text: str, for_s: float, *, until: Callable[[], bool] = lambda: False) -> None:
        """Show a caption for a while, or until something is over; raises when somebody else has taken over."""
        self._page.caption = text
        for _ in range(round(for_s / POLL_S)):
            if until():
                return
            senders = {hand.sender for hand in self._twin.health().hands.values()} - {"", "power-on", "page"}
            others = any(not sender.startswith("glove: ") for sender in senders)
            if self._ended.wait(POLL_S) or others or not self._twin.running:
                raise _Interrupted

    def _close(self, fraction: float, *, speed: float, force_n: float) -> None:
        """Close all hands by a fraction, with the thumbs in front of the fingers."""
        for name in self._twin.world.hand_names:
            spec = self._twin.world.hand(name)
            share = {"thumb_rotation": float(fraction > 0.0), "thumb_bend": 0.8 * fraction}
            fractions = [share.get(motor, fraction) for motor in spec.actuator_names]
            command = HandCommand.closing(fractions, speed=speed, force_limit_n=force_n).in_radians(
                open_rad=spec.open_rad, closed_rad=spec.closed_rad, top_speed_rad_s=spec.top_speed_rad_s
            )
            self._page.command_hand(name, command)
