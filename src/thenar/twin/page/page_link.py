"""The page as a link of the running twin: states go out to its process, what users do comes in like any request."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING

import numpy as np

from thenar.errors import ThenarError, clean_text
from thenar.signals import HandCommand, HandSettings, HandState, Request, TouchFrame
from thenar.twin.page.actions import ACTIONS
from thenar.twin.page.guided_tour import GuidedTour
from thenar.twin.page.playback import Playback, Recording
from thenar.twin.page.scene_builder import build_page_scene, check_bodies
from thenar.twin.serve_config import LOCAL_HOSTS, PageOptions
from thenar.twin.world import World
from thenar.view.page_process import PageProcess
from thenar.view.page_scene import Message, PageScene, Rows
from thenar.view.shared_memory import MAX_CONTACTS, STATE_FIELDS
from thenar.wire.links.inbox import Inbox
from thenar.wire.links.link_health import LinkHealth, PeerStats
from thenar.wire.links.registry import PROTOCOLS

if TYPE_CHECKING:
    from thenar.twin.live_twin import LiveTwin

logger = logging.getLogger(__name__)

PAGE = "page"
MOTION_HZ = 40.0
STATUS_S = 0.4
REFUSED_REQUESTS = "requests without the token, or from another site"
UNSAID = "lines of the page's log that were not shown"


class PageLink:
    """A `Link` whose clients are browsers."""

    wire = PAGE
    touring = True
    """Whether its caption is the guided tour's."""

    def __init__(
        self,
        world: World,
        *,
        scene: str,
        options: PageOptions,
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
            options: Where it is and who may see it, complete.
            wires: The other links of the twin, which may be made the active one.
            recordings: Glove recordings that can be played, by name.
            states: States of a humanoid, by number.
            change_state: Asks a humanoid for a state; called on the loop's thread.
            title: Headline of the page.
        """
        check_bodies(world)
        self.twin: LiveTwin | None = None
        self.tour: GuidedTour | None = None
        self.playback = Playback(self.command_hand, on_error=self.note_failure)
        self.recordings = dict(recordings or {})
        self.change_state = change_state
        self.caption = ""
        """What the guided tour says now; empty when it is over."""
        self._fixed = {
            "recordings": tuple(self.recordings),
            "wires": {PAGE: "this page"} | {wire: PROTOCOLS[wire].label for wire in wires},
            "states": dict(states or {}),
            "title": title,
        }
        self._world = world
        self.page_scene = self.build_scene(world, number=0, scene=scene)
        self._inbox, self._stats = Inbox(), PeerStats("browsers")
        self._clients = self._refused_requests = self._written = 0
        self._next_s = 0.0
        self._failure = ""
        self._lock, self._building = threading.Lock(), threading.Lock()
        self._stopping = threading.Event()
        self.process = PageProcess(
            [world.hand(name) for name in world.hand_names],
            host=options.host,
            port=options.port,
            token=options.token,
            names=LOCAL_HOSTS if options.host in LOCAL_HOSTS else None,
            certificate=options.certificate,
            first_message=lambda: {"do": "scene", "scene": self.page_scene},
            on_message=self.handle,
        )
        self.url = f"{self.process.address}/?token={options.token}"
        """Address for a browser; whoever knows it gets in."""
        self.one_time_url = f"{self.process.address}/?token={self.process.once}"
        """The same for one visit: what a browser was started with can be seen by other users of the machine."""
        self.certificate = options.certificate
        """With which it is served over TLS, if it is."""
        self._reporter = threading.Thread(target=self._keep_reporting, name="page status", daemon=True)

    @property
    def scene(self) -> str:
        """Name of the surroundings that are shown."""
        return self.page_scene.scene

    def build_scene(self, world: World, *, number: int, scene: str) -> PageScene:
        """What does not move of a world."""
        return build_page_scene(world, number=number, scene=scene, **self._fixed)

    def attach(self, twin: LiveTwin) -> None:
        """Set the twin that users act on, and begin to report its status."""
        self.twin = twin
        self.tour = GuidedTour(self, twin)
        self._reporter.start()

    def command_hand(self, hand: str, command: HandCommand, *, sender: str = PAGE) -> None:
        """Leave a command for the loop, in the name of the page or of another sender."""
        self._stats.record(time.perf_counter())
        self._inbox.put(hand, sender, command=command)

    def show_world(self, world: World, scene: str) -> None:
        """Show another world in place of this one."""
        with self._building:
            made = self.build_scene(world, number=self.page_scene.number + 1, scene=scene)
            with self._lock:  # and no longer: the physics waits for it
                self._world, self.page_scene = world, made
        self.process.send({"do": "scene", "scene": self.page_scene})

    def notify(self, text: str, *, good: bool = True) -> None:
        """Show a message to all users for some seconds."""
        self.process.send({"do": "notify", "text": text, "good": good})

    def handle(self, message: Message) -> None:
        """Do what a user asks; what cannot be done is reported on the page."""
        fields = dict(message)
        verb = fields.pop("do")
        if verb == "clients":
            self._clients, self._refused_requests = fields["count"], fields["refused"]
            return
        if self.twin is None or self.tour is None:
            return
        self.tour.end()
        try:
            ACTIONS[verb](self, self.twin, **fields)
        except ThenarError as error:
            self.notify(str(error), good=False)
        except Exception as error:  # whatever a browser sends, the next message is handled
            logger.exception("the page's %s failed", verb)
            self.notify(f"internal error in {verb}: {error!r}", good=False)
        self._report_status()

    def note_failure(self, part: str, error: Exception) -> None:
        """Take note of an error on a thread that nobody waits for: health and the log say so."""
        if not self._failure:
            logger.error("%s of the page failed", part, exc_info=error)
        self._failure = f"{part} failed: {clean_text(repr(error))}"

    def receive(self) -> list[Request]:
        """Commands of users since the last call."""
        return self._inbox.drain()

    def publish_state(self, hands: Mapping[str, tuple[HandState, HandSettings]]) -> None:
        """Write what moves into the shared record, at the page's own rate."""
        now_s = time.perf_counter()
        if now_s < self._next_s:
            return
        self._next_s = max(self._next_s + 1.0 / MOTION_HZ, now_s - 1.0 / MOTION_HZ)
        with self._lock:
            world, number = self._world, self.page_scene.number
        record = self.process.motion.next()
        record["scene"], record["time_s"] = number, world.time_s
        record["pos_m"][: world.model.nbody] = world.data.xpos
        record["quat_wxyz"][: world.model.nbody] = world.data.xquat
        contacts = world.contacts()
        pressing = np.flatnonzero(contacts.normal_force_n > 0.0)[:MAX_CONTACTS]
        record["contacts"] = len(pressing)
        record["contact_m"][: len(pressing)] = contacts.position_m[pressing]
        record["contact_n"][: len(pressing)] = contacts.force_n[pressing]
        for name, (state, settings) in hands.items():
            own = record[name]
            for field in STATE_FIELDS:
                own[field] = getattr(state, field)
            own["target_rad"] = settings.target_rad
            own["palm_m"], own["palm_quat_wxyz"] = world.wrists.pose(name)
            nodes = self.playback.nodes_m.get(name)
            own["glove_on"] = nodes is not None
            if nodes is not None:
                own["glove_m"] = nodes
        self.add_to(record)
        self.process.motion.publish()
        self._written += 1

    def add_to(self, record: np.ndarray) -> None:
        """Put more into a record of what moves, before it is shown: nothing."""

    def publish_touch(self, frames: Mapping[str, TouchFrame]) -> None:
        """Write the readings of the skins into the shared record."""
        record = self.process.skin.next()
        for name, frame in frames.items():
            own = record[name]
            record["time_s"] = frame.stamp_s
            own["pressure_pa"], own["pad_n"] = frame.taxel_pressure_pa, frame.pad_force_n
            own["counts"] = np.clip(frame.taxel_counts, -32768, 32767)
        self.process.skin.publish()

    def health(self) -> LinkHealth:
        """How the page is doing."""
        refused = {REFUSED_REQUESTS: self._refused_requests, UNSAID: self.process.unsaid}
        return LinkHealth(
            wire=PAGE,
            where=self.process.address,  # without the token: everybody on the domain is told
            listeners=0 if self.process.failure else self._clients,
            written=self._written,
            not_written=0,
            peers=(self._stats.health(self.process.address),) if self._stats.messages else (),
            refused={why: count for why, count in {**self._inbox.refused, **refused}.items() if count},
            failed=self.process.failure or self._failure,
        )

    def close(self) -> None:
        """Stop the page's process."""
        self._stopping.set()
        self.playback.stop()
        self.process.close()
        if self._reporter.ident is not None:
            self._reporter.join()

    def _keep_reporting(self) -> None:
        while not self._stopping.wait(STATUS_S):
            try:
                self._report_status()
            except Exception as error:  # the next one is tried
                self.note_failure("its status", error)

    def _report_status(self) -> None:
        assert self.twin is not None
        world = self._world
        broken = {name: world.faults.broken_taxels(name) for name in world.hand_names if world.hand(name).pads}
        self.process.send(
            {
                "do": "status",
                "health": asdict(self.twin.health()),
                "faults": [str(fault) for fault in world.faults.active],
                "dead": {name: np.flatnonzero(taxels) for name, taxels in broken.items()},
                "caption": self.caption,
                "touring": self.touring,
                "beside": self.beside(),
            }
        )

    def beside(self) -> dict[str, Rows]:
        """What is shown of two hands side by side, by hand; nothing where there is one of each."""
        return {}
