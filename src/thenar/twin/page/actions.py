"""What users of the page can do, one function a verb: the page, the twin, and the message's fields as keywords."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from thenar.errors import UnknownName
from thenar.signals.fault_kinds import FAULTS
from thenar.twin.page.scene_builder import SPAWNS, check_bodies

if TYPE_CHECKING:
    from thenar.signals import FloatArray, HandCommand
    from thenar.signals.fault_kinds import Fault
    from thenar.twin.live_twin import LiveTwin
    from thenar.twin.page.page_link import PageLink
    from thenar.twin.world import World

SPAWN_OFFSET_M = (0.0, 0.04, 0.10)  # from the wrist to where a new object begins


def command(page: PageLink, twin: LiveTwin, *, hand: str, command: HandCommand) -> None:
    """Move motors of a hand, or change their limits."""
    page.playback.stop(hand)
    page.command_hand(hand, command)


def set_active_link(page: PageLink, twin: LiveTwin, *, wire: str) -> None:
    """Let only one link command; an empty name means all of them."""
    twin.set_active_link(wire)


def set_pace(page: PageLink, twin: LiveTwin, *, pace: float) -> None:
    """Pause, slow motion, real time."""
    twin.set_pace(pace)


def step(page: PageLink, twin: LiveTwin, *, steps: int) -> None:
    """Some steps of the physics while it is paused."""
    for _ in range(steps):
        twin.step()


def reset(page: PageLink, twin: LiveTwin) -> None:
    """Back to the beginning, without faults."""
    clear_faults(page, twin)
    page.playback.stop()
    twin.reset()


def load_scene(page: PageLink, twin: LiveTwin, *, name: str) -> None:
    """Other surroundings, without faults."""
    clear_faults(page, twin)
    page.playback.stop()
    world = twin.world.rebuild(scene=name)
    twin.swap_world(world)
    page.show_world(world, name)


def spawn(page: PageLink, twin: LiveTwin, *, kind: str, hand: str) -> None:
    """One more object, above a hand."""
    if kind not in SPAWNS:
        raise UnknownName("object", kind, SPAWNS)
    x, y, z = twin.world.wrists.pose(hand)[0] + np.array(SPAWN_OFFSET_M)
    world = twin.world.rebuild(more_props=[replace(SPAWNS[kind], pos_m=(float(x), float(y), float(z)))])
    check_bodies(world)
    for name in world.hand_names:
        if world.hand(name).pads:
            world.skin(name)  # made here, not on the loop's time

    def swap(_: object) -> None:  # on the loop: nothing may happen between the copy and the change
        world.copy_state_from(twin.world)
        twin.swap_world(world)

    twin.run_on_loop(swap)
    page.show_world(world, page.scene)


def drag(page: PageLink, twin: LiveTwin, *, prop: str, to_m: FloatArray | None) -> None:
    """Pull an object somewhere, or drop it."""
    twin.run_on_loop(lambda world: world.props.drag(prop, to_m))


def move_wrist(page: PageLink, twin: LiveTwin, *, hand: str, pos_m: FloatArray, quat_wxyz: FloatArray) -> None:
    """Move a driven wrist."""
    twin.run_on_loop(lambda world: world.wrists.move(hand, pos_m=pos_m, quat_wxyz=quat_wxyz))


def play(page: PageLink, twin: LiveTwin, *, recording: str) -> None:
    """Let a glove recording drive every hand it fits."""
    if recording not in page.recordings:
        raise UnknownName("recording", recording, page.recordings)
    hands = [twin.world.hand(name) for name in twin.world.hand_names]
    page.playback.start(recording, page.recordings[recording], hands)


def stop_playing(page: PageLink, twin: LiveTwin) -> None:
    """End the recording; the hands stay as they are."""
    page.playback.stop()


def inject_fault(page: PageLink, twin: LiveTwin, *, fault: Fault) -> None:
    """Let a motor, a taxel, the messages of a link or the power fail."""
    wires = {link.wire for link in twin.links} - {page.wire}
    if FAULTS[fault.kind].of == "messages" and fault.part and fault.part not in wires:
        raise UnknownName("wire", fault.part, wires)
    twin.run_on_loop(lambda world: world.faults.inject(fault.hand, fault.part, fault.kind, fault.amount))


def clear_faults(page: PageLink, twin: LiveTwin) -> None:
    """Take back every fault, and clear what the motors report of them."""

    def clear(world: World) -> None:
        world.faults.repair()
        for hand in world.hand_names:
            world.clear_errors(hand)

    twin.run_on_loop(clear)


def record(page: PageLink, twin: LiveTwin, *, on: bool) -> None:
    """Record everything into a new file in the folder that the twin was started in, or end that."""
    if on:
        path = Path(time.strftime("thenar-%Y%m%d-%H%M%S.mcap"))
        twin.start_recording(path)
        page.notify(f"recording into {path}")
    else:
        health = twin.stop_recording()
        page.notify(f"{health.path}: {health.seconds:.0f} s, {health.messages} messages", good=not health.failed)


def request_state(page: PageLink, twin: LiveTwin, *, number: int) -> None:
    """Ask a humanoid for a state."""
    if page.change_state is not None:
        change = page.change_state
        twin.run_on_loop(lambda _: change(number))


def end_tour(page: PageLink, twin: LiveTwin) -> None:
    """End the guided tour, as anything else that a user does."""


ACTIONS: dict[str, Callable[..., None]] = {
    function.__name__: function
    for function in (
        command, set_active_link, set_pace, step, reset, load_scene, spawn, drag, move_wrist, play, stop_playing,
        inject_fault, clear_faults, record, request_state, end_tour,
    )
}  # fmt: skip
