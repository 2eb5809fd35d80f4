"""What visitors of the page can do, one function a verb. Each gets the page, the twin and the message."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from thenar.errors import BadValue, UnknownName
from thenar.twin.page.scene_builder import SPAWNS, check_bodies
from thenar.view.page_scene import Message

if TYPE_CHECKING:
    from thenar.twin.live_twin import LiveTwin
    from thenar.twin.page.page_link import PageLink

DROP_M = 0.10  # new objects begin this far above the hand


def command(page: PageLink, twin: LiveTwin, message: Message) -> None:
    """Move motors of a hand, or change their limits."""
    page.playback.stop(message["hand"])
    fields = {name: message[name] for name in ("target_rad", "speed_rad_s", "force_limit_n") if name in message}
    page.command_hand(message["hand"], **fields)


def take_command(page: PageLink, twin: LiveTwin, message: Message) -> None:
    """Put a wire in command; an empty name means everybody."""
    twin.command_by(message["wire"])


def pace(page: PageLink, twin: LiveTwin, message: Message) -> None:
    """Pause, slow motion, real time."""
    twin.set_pace(message["pace"])


def step(page: PageLink, twin: LiveTwin, message: Message) -> None:
    """Some steps of the physics while it is paused."""
    for _ in range(message["steps"]):
        twin.step()


def reset(page: PageLink, twin: LiveTwin, message: Message) -> None:
    """Back to the beginning; what was broken is whole again."""
    mend(page, twin, message)
    page.playback.stop()
    twin.reset()


def scene(page: PageLink, twin: LiveTwin, message: Message) -> None:
    """Other surroundings."""
    mend(page, twin, message)
    page.playback.stop()
    world = twin.world.remade(scene=message["name"])
    twin.go_on_with(world)
    page.show_world(world, message["name"])


def spawn(page: PageLink, twin: LiveTwin, message: Message) -> None:
    """One more object, above a hand."""
    if message["kind"] not in SPAWNS:
        raise UnknownName("object", message["kind"], SPAWNS)
    above = twin.world.wrist(message["hand"])[0] + np.array([0.0, 0.04, DROP_M])
    prop = replace(SPAWNS[message["kind"]], pos_m=tuple(float(x) for x in above))
    world = twin.world.remade(more_props=[prop])
    check_bodies(world)

    # The loop must not go on between the copy and the change.
    def grow(old: object) -> None:
        world.take_over(twin.world)
        twin.go_on_with(world)

    for hand in world.hand_names:
        if world.hand(hand).pads:
            world.skin(hand)  # made here, not on the loop's time
    twin.ask(grow)
    for broken in page.faults.values():
        if broken["kind"] == "taxel":
            world.kill_taxel(broken["hand"], broken["pad"], broken["row"], broken["col"])
    page.show_world(world, page.scene)


def drag(page: PageLink, twin: LiveTwin, message: Message) -> None:
    """Pull an object somewhere, or let go of it."""
    twin.ask(lambda world: world.pull_prop(message["prop"], message["to_m"]))


def wrist(page: PageLink, twin: LiveTwin, message: Message) -> None:
    """Move a driven wrist."""
    twin.ask(lambda world: world.move_wrist(message["hand"], pos_m=message["pos_m"], quat_wxyz=message["quat_wxyz"]))


def play(page: PageLink, twin: LiveTwin, message: Message) -> None:
    """Let a glove recording drive every hand it fits."""
    name = message["recording"]
    if name not in page.recordings:
        raise UnknownName("recording", name, page.recordings)
    page.playback.start(name, page.recordings[name], [twin.world.hand(hand) for hand in twin.world.hand_names])


def stop_playing(page: PageLink, twin: LiveTwin, message: Message) -> None:
    """The recording ends; the hands stay as they are."""
    page.playback.stop()


def fault(page: PageLink, twin: LiveTwin, message: Message) -> None:
    """Break something."""
    kind, hand = message["kind"], message.get("hand", "")
    if kind == "link":
        wire = message["wire"]
        if wire not in {link.wire for link in twin.links} - {page.wire}:
            raise UnknownName("wire", wire, {link.wire for link in twin.links} - {page.wire})
        page.faults[f"{wire}: cable pulled"] = message
        twin.cut({fault["wire"] for fault in page.faults.values() if fault["kind"] == "link"})
    elif kind == "taxel":
        pad, row, col = message["pad"], message["row"], message["col"]
        twin.ask(lambda world: world.kill_taxel(hand, pad, row, col))
        page.faults[f"{hand} {pad}: taxel [{row}, {col}] dead"] = message
    elif kind in ("jam", "hot", "communication"):
        motor = message["motor"]
        twin.ask(lambda world: world.inject_fault(hand, motor, kind))
        words = {"jam": "stalled", "hot": "too hot", "communication": "does not answer"}
        page.faults[f"{hand} {motor}: {words[kind]}"] = message
    else:
        raise BadValue("fault", kind, "jam, hot, communication, taxel or link")


def mend(page: PageLink, twin: LiveTwin, message: Message) -> None:
    """Everything that was broken is whole again."""
    for broken in list(page.faults.values()):
        kind, hand = broken["kind"], broken.get("hand", "")
        if kind == "taxel":
            pad, row, col = broken["pad"], broken["row"], broken["col"]
            twin.ask(lambda world, h=hand, p=pad, r=row, c=col: world.kill_taxel(h, p, r, c, dead=False))
        elif kind != "link":
            twin.ask(lambda world, h=hand, m=broken["motor"]: world.repair(h, m))
    twin.cut(())
    page.faults.clear()
    twin.ask(lambda world: [world.clear_errors(hand) for hand in world.hand_names])


def state(page: PageLink, twin: LiveTwin, message: Message) -> None:
    """Ask a humanoid for a state."""
    if page.change_state is not None:
        change = page.change_state
        twin.ask(lambda _: change(message["number"]))


def end_tour(page: PageLink, twin: LiveTwin, message: Message) -> None:
    """The scripted minute is over, as after anything else that a visitor does."""


ACTIONS: dict[str, Callable[[PageLink, LiveTwin, Message], None]] = {
    function.__name__: function
    for function in (
        command, take_command, pace, step, reset, scene, spawn, drag, wrist, play, stop_playing, fault, mend, state,
        end_tour,
    )
}  # fmt: skip
