"""The page as a link of the running twin: what is shown goes out, what visitors do comes in like any request."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import numpy as np

from thenar.errors import BadValue, ThenarError
from thenar.signals import HandCommand, HandSettings, HandState, Request, TouchFrame
from thenar.twin.page.actions import ACTIONS
from thenar.twin.page.guided_tour import GuidedTour
from thenar.twin.page.playback import Playback, Recording
from thenar.twin.page.scene_builder import build_page_scene, check_bodies, scene_choices
from thenar.twin.world import World
from thenar.view.access_proxy import LOCAL_HOSTS
from thenar.view.page_process import PageProcess
from thenar.view.page_scene import Message
from thenar.view.shared_memory import MAX_CONTACTS
from thenar.wire.links.inbox import Inbox, LinkHealth, PeerStats
from thenar.wire.links.registry import PROTOCOLS

if TYPE_CHECKING:
    from thenar.twin.live_twin import LiveTwin

logger = logging.getLogger(__name__)

PAGE = "page"
MOTION_HZ = 40.0
STATUS_S = 0.4


class PageLink:
    """A `Link` to people."""

    wire = PAGE

    def __init__(
        self,
        world: World,
        *,
        scene: str,
        host: str = "127.0.0.1",
        port: int = 8080,
        token: str = "",
        wires: Sequence[str] = (),
        recordings: Mapping[str, Recording] | None = None,
        states: Mapping[int, str] | None = None,
        change_state: Callable[[int], None] | None = None,
        title: str = "",
    ):
        """Start the page's process and wait until it answers.

        Args:
            world: What is shown.
            scene: Name of its surroundings.
            host: Address to listen at. Anything but this machine needs a token.
            port: Port to listen at.
            token: What visitors from elsewhere must know.
            wires: The other links of the twin, which may be put in command.
            recordings: Glove recordings that can be played, by name.
            states: States of a humanoid, by number.
            change_state: Asks a humanoid for a state; called on the loop's thread.
            title: What runs, in a few words.
        """
        if host not in LOCAL_HOSTS and not token:
            raise BadValue("host", host, "127.0.0.1, or a token that visitors must know (--token)")
        check_bodies(world)
        self.twin: LiveTwin | None = None
        self.tour: GuidedTour | None = None
        self.playback = Playback(self.command_hand)
        self.recordings = dict(recordings or {})
        self.change_state = change_state
        self.faults: dict[str, Message] = {}
        """What was broken by the page, by its words."""
        self.caption = ""
        """What the scripted minute says now; empty when it is over."""
        self.scene = scene
        self._title = title
        self._wires = {PAGE: "this page"} | {wire: PROTOCOLS[wire].label for wire in wires}
        self._states = dict(states or {})
        self._world, self._stage_number = world, 0
        self._stage = self._make_stage()
        self._inbox, self._stats = Inbox(), PeerStats("visitors")
        self._visitors = self._written = 0
        self._next_s = 0.0
        self._lock = threading.Lock()
        self._stopping = threading.Event()
        self.process = PageProcess(
            [world.hand(name) for name in world.hand_names],
            host=host,
            port=port,
            token=token,
            greet=lambda: [{"do": "stage", "stage": self._stage}],
            hear=self._hear,
        )
        self.url = self.process.url
        self._teller = threading.Thread(target=self._keep_telling, name="page status", daemon=True)

    def attach(self, twin: LiveTwin) -> None:
        """Say which twin it is the page of."""
        self.twin = twin
        self.tour = GuidedTour(self, twin)
        self._teller.start()

    def command_hand(
        self,
        hand: str,
        *,
        target_rad: np.ndarray | None = None,
        speed_rad_s: np.ndarray | None = None,
        force_limit_n: np.ndarray | None = None,
        clear_errors: bool = False,
        sender: str = PAGE,
    ) -> None:
        """Leave a request for the loop, in the name of the page."""
        nothing = np.full(len(self._world.hand(hand).actuators), np.nan)
        parts = [
            nothing if part is None else np.asarray(part, float) for part in (target_rad, speed_rad_s, force_limit_n)
        ]
        command = HandCommand(target_rad=parts[0], speed_rad_s=parts[1], force_limit_n=parts[2])
        now_s = time.perf_counter()
        self._stats.record(now_s)
        self._inbox.put(Request(hand=hand, sender=sender, arrived_s=now_s, command=command, clear_errors=clear_errors))

    def show_world(self, world: World, scene: str) -> None:
        """Another world takes the place of the one that was shown."""
        with self._lock:
            self._world, self.scene = world, scene
            self._stage_number += 1
            self._stage = self._make_stage()
        self.process.tell({"do": "stage", "stage": self._stage})

    def say(self, text: str, *, good: bool = True) -> None:
        """Tell the visitors something."""
        self.process.tell({"do": "say", "text": text, "good": good})

    # What every link does.

    def receive(self) -> list[Request]:
        """What visitors asked of the hands since the last call."""
        return self._inbox.drain()

    def publish_state(self, hands: Mapping[str, tuple[HandState, HandSettings]]) -> None:
        """Write what moves, at the page's own rate."""
        now_s = time.perf_counter()
        if now_s < self._next_s:
            return
        self._next_s = max(self._next_s + 1.0 / MOTION_HZ, now_s - 1.0 / MOTION_HZ)
        with self._lock:
            world, stage = self._world, self._stage_number
        data = world.data
        record = self.process.motion.next()
        bodies = world.model.nbody
        record["stage"], record["time_s"], record["bodies"] = stage, world.time_s, bodies
        record["pos_m"][:bodies] = data.xpos
        record["quat_wxyz"][:bodies] = data.xquat
        contacts = world.contacts()
        pressing = np.flatnonzero(contacts.normal_force_n > 0.0)[:MAX_CONTACTS]
        record["contacts"] = len(pressing)
        record["contact_m"][: len(pressing)] = contacts.position_m[pressing]
        record["contact_n"][: len(pressing)] = contacts.force_n[pressing]
        for name, (state, settings) in hands.items():
            own = record[name]
            for field in ("angle_rad", "force_n", "current_a", "temperature_c", "status", "error"):
                own[field] = getattr(state, field)
            for field in ("target_rad", "speed_rad_s", "force_limit_n"):
                own[field] = getattr(settings, field)
            own["palm_m"], own["palm_quat_wxyz"] = world.wrist(name)
            nodes = self.playback.nodes_m.get(name)
            own["glove_on"] = nodes is not None
            if nodes is not None:
                own["glove_m"] = nodes
        self.process.motion.publish()
        self._written += 1

    def publish_touch(self, frames: Mapping[str, TouchFrame]) -> None:
        """Write what the skins feel."""
        record = self.process.skin.next()
        for name, frame in frames.items():
            own = record[name]
            record["time_s"] = frame.stamp_s
            own["pressure_pa"], own["pad_n"] = frame.taxel_pressure_pa, frame.pad_force_n
            own["counts"] = np.clip(frame.taxel_counts, -32768, 32767)
        self.process.skin.publish()

    def health(self) -> LinkHealth:
        """How the page is doing."""
        return LinkHealth(
            wire=PAGE,
            where=self.url,
            listeners=self._visitors,
            written=self._written,
            not_written=0,
            peers=(self._stats.health(self.url),) if self._stats.messages else (),
            refused=dict(self._inbox.refused),
        )

    def close(self) -> None:
        """Stop the page's process."""
        self._stopping.set()
        self.playback.stop()
        self.process.close()
        if self._teller.ident is not None:
            self._teller.join()

    # Its own affairs.

    def _make_stage(self) -> Any:
        carried = self._world.has_carrier
        return build_page_scene(
            self._world,
            number=self._stage_number,
            scene=self.scene,
            choices=() if carried else scene_choices(self._world),
            recordings=tuple(self.recordings),
            wires=self._wires,
            states=self._states,
            title=self._title,
        )

    def _hear(self, message: Message) -> None:
        """Do what a visitor asks; what cannot be done is told to the visitor."""
        verb = message["do"]
        if verb == "visitors":
            self._visitors = message["count"]
            return
        if self.twin is None or self.tour is None:
            return
        self.tour.end()
        try:
            ACTIONS[verb](self, self.twin, message)
        except ThenarError as error:
            self.say(str(error), good=False)
        except Exception as error:  # what visitors send must not make the twin deaf to them
            logger.exception("the page's %s failed", verb)
            self.say(f"{verb} did not work: {error!r}", good=False)
        self._tell_status()

    def _keep_telling(self) -> None:
        while not self._stopping.wait(STATUS_S):
            self._tell_status()

    def _tell_status(self) -> None:
        assert self.twin is not None
        dead = {
            name: np.flatnonzero(self._world.dead_taxels(name))
            for name in self._world.hand_names
            if self._world.hand(name).pads
        }
        self.process.tell(
            {
                "do": "status",
                "health": asdict(self.twin.health()),
                "faults": list(self.faults),
                "dead": dead,
                "playing": self.playback.playing,
                "caption": self.caption,
            }
        )
