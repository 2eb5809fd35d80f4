"""The page of a mirror: the real hand solid with its own skin, its twin as a ghost, and what differs in words."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from thenar.arrays import FloatArray
from thenar.hands.pad_charts import taxel_points
from thenar.signals import HandSettings, HandState, TouchFrame
from thenar.twin.compare.mirror_link import MirrorLink
from thenar.twin.page.page_link import PageLink
from thenar.twin.page.scene_builder import check_bodies
from thenar.twin.serve_config import PageOptions
from thenar.twin.world import World
from thenar.view.page_scene import Message, PageScene, Rows, Triple
from thenar.view.shared_memory import MAX_CONTACTS

GHOST_RGB: Triple = (0.35, 0.65, 1.0)
MAX_LINES = 6
SHRUNK = 0.92  # within half a degree or so of the hand a ghost stays inside it
FELT_N = 0.1  # what a pad must feel to be in the table
CONTACT_N = 0.3  # what it must feel beyond its twin's to be marked as a contact


class MirrorPage(PageLink):
    """Page of a mirror: each hand beside its twin, for viewing only."""

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
        several = len(hands) > 1
        lines = [f"{one.hand}: {one.words}" if several else one.words for one in self._heard.findings()]
        if len(lines) > MAX_LINES:
            lines[MAX_LINES - 1 :] = [f"and {len(lines) - MAX_LINES + 1} more"]
        late = self._heard.lateness
        self.caption = "\n".join([late, *lines] if late else lines) or "no difference that is sure"

    def add_to(self, record: np.ndarray) -> None:
        """The ghosts, the twin's clock, and arrows where the real hands feel what their twins lack."""
        twin, count = self._twins, self._twins.model.nbody
        record["time_s"] = twin.time_s
        record["pos_m"][count : 2 * count], record["quat_wxyz"][count : 2 * count] = twin.data.xpos, twin.data.xquat
        felt = [(name, self._heard.newest(name)[2], self._felt.get(name)) for name in twin.hand_names]
        found = [extra_contacts(self._world, *one) for one in felt]
        points_m, forces_n = (np.concatenate(part) for part in zip(*found, strict=True))
        record["contacts"] = shown = min(len(points_m), MAX_CONTACTS)
        record["contact_m"][:shown], record["contact_n"][:shown] = points_m[:shown], forces_n[:shown]

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


def extra_contacts(
    shown: World, hand: str, felt: TouchFrame | None, ours: TouchFrame | None
) -> tuple[FloatArray, FloatArray]:
    """Where a real hand's pads feel more than its twin's: the centre of what each reads, and the force on it.

    Args:
        shown: Its bodies are where the real hand's are.
        hand: Which one.
        felt: What the real skin feels, if it has said.
        ours: What the twin's feels.

    Returns:
        Points in the world [m] and forces along the skin's normal [N]. Shapes (n, 3), (n, 3).
    """
    points_m, forces_n = [], []
    if felt is not None and ours is not None:
        spec = shown.hand(hand)
        for pad, excess_n in zip(spec.pads, felt.pad_force_n - ours.pad_force_n, strict=True):
            pressed = felt[pad.name]
            if excess_n < CONTACT_N or not pressed.any():
                continue
            share = (pressed / pressed.sum())[..., None]
            point, normal = (np.sum(share * part, axis=(0, 1)) for part in taxel_points(spec, pad))
            link = shown.data.body(f"{hand}/{pad.link}")
            R_wl = link.xmat.reshape(3, 3)
            points_m.append(link.xpos + R_wl @ point)
            forces_n.append(-excess_n * R_wl @ normal / np.linalg.norm(normal))
    return np.array(points_m).reshape(-1, 3), np.array(forces_n).reshape(-1, 3)


def _shrunk(vertices_m: NDArray[np.float32]) -> NDArray[np.float32]:
    """A little smaller about its middle."""
    middle = vertices_m.mean(axis=0)
    return (middle + SHRUNK * (vertices_m - middle)).astype(np.float32)
