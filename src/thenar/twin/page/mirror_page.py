"""The page of a mirror: the real hand solid with its own skin, its twin as a ghost, and what differs in words."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from thenar.signals import HandSettings, HandState, TouchFrame
from thenar.twin.compare.beside import MirrorLink
from thenar.twin.page.page_link import PageLink
from thenar.twin.page.scene_builder import check_bodies
from thenar.twin.serve_config import PageOptions
from thenar.twin.world import World
from thenar.view.page_scene import Message, PageScene, Rows, Triple

GHOST_RGB: Triple = (0.35, 0.65, 1.0)
MAX_LINES = 6
SHRUNK = 0.96
FELT_N = 0.1  # what a pad must feel to be in the table


class MirrorPage(PageLink):
    """Shows two of each hand; whoever looks cannot command anything."""

    touring = False

    def __init__(self, world: World, heard: MirrorLink, *, options: PageOptions):
        """Start the page's process and wait until it answers.

        Args:
            world: The twin's; its bodies are the ghosts.
            heard: What the real hands say.
            options: Where it is and who may see it, complete.
        """
        self._twins, self._heard = world, heard
        self._felt: dict[str, TouchFrame] = {}
        shown = world.rebuild()
        check_bodies(shown)
        super().__init__(shown, scene="mirror", options=options, title="thenar mirror")

    def build_scene(self, world: World, *, number: int, scene: str) -> PageScene:
        """The real hands, and their twins inside them: a ghost is seen where it is elsewhere."""
        made = super().build_scene(world, number=number, scene=scene)
        count = len(made.bodies)
        ghosts = tuple(
            replace(part, body=part.body + count, rgb=GHOST_RGB, vertices_m=_shrunk(part.vertices_m))
            for part in made.parts
            if made.bodies[part.body].partition("/")[0] in world.hand_names
        )
        parts, seen_through = (*made.parts, *ghosts), frozenset(part.body for part in ghosts)
        return replace(made, bodies=made.bodies * 2, parts=parts, ghosts=seen_through, scenes=(), spawns=())

    def handle(self, message: Message) -> None:
        """Count who looks; nothing else is done."""
        if message["do"] == "clients":
            super().handle(message)
        else:
            self.notify("this page only shows: the real hand's own clients move both", good=False)

    def publish_state(self, hands: Mapping[str, tuple[HandState, HandSettings]]) -> None:
        """Show what the real hands report, and their twins where the loop has them."""
        real = {name: self._heard.newest(name)[0] for name in hands}
        self._world.physics.pose_bodies({name: state.joint_rad for name, state in real.items()})
        super().publish_state({name: (real[name], settings) for name, (_, settings) in hands.items()})
        lines = [f"{finding.hand}: {finding.words}" for finding in self._heard.findings()]
        slow = "this machine is too slow just now: nothing is compared"
        self.caption = slow if self._heard.too_slow else "; ".join(lines[:MAX_LINES]) or "no difference that is sure"

    def add_to(self, record: np.ndarray) -> None:
        """The ghosts, and the twin's clock."""
        twin, count = self._twins, self._twins.model.nbody
        record["time_s"] = twin.time_s
        record["pos_m"][count : 2 * count], record["quat_wxyz"][count : 2 * count] = twin.data.xpos, twin.data.xquat

    def beside(self) -> dict[str, Rows]:
        """Angles, forces and currents of the motors, and the pads that either feels, of each hand and its twin."""
        return {name: self._rows(name) for name in self._twins.hand_names}

    def _rows(self, hand: str) -> Rows:
        real, twin, felt = self._heard.newest(hand)
        rows: Rows = []
        for n, motor in enumerate(real.actuator_names):
            at_deg = [float(np.degrees(one.angle_rad[n])) for one in (real, twin)]
            rows.append((motor, "degrees", at_deg[0], at_deg[1]))
            rows.append((motor, "N", float(real.force_n[n]), float(twin.force_n[n])))
            rows.append((motor, "A", float(real.current_a[n]), float(twin.current_a[n])))
        ours = self._felt.get(hand)
        if felt is not None and ours is not None:
            pads = [pad.name for pad in felt.layout]
            both = zip(pads, felt.pad_force_n.tolist(), ours.pad_force_n.tolist(), strict=True)
            rows += [(pad, "N", theirs, mine) for pad, theirs, mine in both if max(theirs, mine) > FELT_N]
        return rows

    def publish_touch(self, frames: Mapping[str, TouchFrame]) -> None:
        """Show what the real skins read."""
        self._felt = dict(frames)
        felt = {name: self._heard.newest(name)[2] for name in frames}
        known = {name: frame for name, frame in felt.items() if frame is not None}
        if known:
            super().publish_touch(known)


def _shrunk(vertices_m: NDArray[np.float32]) -> NDArray[np.float32]:
    """A little smaller about its middle."""
    middle = vertices_m.mean(axis=0)
    return (middle + SHRUNK * (vertices_m - middle)).astype(np.float32)
