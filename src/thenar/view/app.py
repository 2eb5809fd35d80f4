"""The page's process: reads what the twin writes and shows it; what visitors do goes back through the pipe."""

from __future__ import annotations

import contextlib
import os
import queue
import signal
import threading
import time
from collections import deque
from collections.abc import Sequence
from multiprocessing.connection import Connection

import numpy as np
import viser

from thenar.hands.spec import HandSpec
from thenar.view import status_html
from thenar.view.access_proxy import AccessProxy
from thenar.view.controls import Controls
from thenar.view.pad_map import PadMap
from thenar.view.page_process import open_pipe
from thenar.view.page_scene import Message, PageScene
from thenar.view.plots import Plots
from thenar.view.scene3d import Scene3d
from thenar.view.shared_memory import SharedRecords, motion_dtype, skin_dtype

NICE = 10  # the physics comes first
LOOK_S = 0.004  # how often the boards are looked at
PADS_S, PLOTS_S, TABLES_S = 0.08, 0.16, 0.25
FULL_KPA = 60.0
BRAND = (255, 146, 43)


def run(fds: Sequence[str]) -> None:
    """Serve until the twin closes the pipe."""
    with contextlib.suppress(OSError):
        os.nice(NICE)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the twin decides when it is over
    pipe, motion_fd, skin_fd = open_pipe(fds)
    hello = pipe.recv()
    stage: PageScene = pipe.recv()["stage"]
    hands: list[HandSpec] = hello["hands"]
    try:
        gate = AccessProxy(host=hello["host"], port=hello["port"], token=hello["token"])
    except OSError as error:
        why = (
            f"the page cannot listen at {hello['host']}:{hello['port']} ({error.strerror}); choose another with --port"
        )
        pipe.send({"do": "failed", "why": why})
        return
    server = viser.ViserServer(host="127.0.0.1", port=0, label="thenar", verbose=False)
    page = PageApp(server, hands, stage, pipe, gate)
    gate.open(server.get_port())
    host = "127.0.0.1" if hello["host"] in ("0.0.0.0", "::") else hello["host"]
    host = f"[{host}]" if ":" in host else host
    token = f"/?token={hello['token']}" if hello["token"] else ""
    page.send({"do": "ready", "url": f"http://{host}:{gate.port}{token}", "port": gate.port})
    page.keep_showing(SharedRecords(motion_dtype(hands), motion_fd), SharedRecords(skin_dtype(hands), skin_fd))


class PageApp:
    """Everything that is on the page."""

    def __init__(
        self,
        server: viser.ViserServer,
        hands: Sequence[HandSpec],
        stage: PageScene,
        pipe: Connection,
        gate: AccessProxy,
    ):
        """Lay it out."""
        self._server, self._pipe, self._stage, self._gate = server, pipe, stage, gate
        self._lock = threading.Lock()
        self._news: queue.SimpleQueue[Message | None] = queue.SimpleQueue()
        self._status: Message | None = None
        self._moves: deque[float] = deque(maxlen=60)
        self._clock: dict[str, float] = {}
        self._visitors = -1
        gui = server.gui
        gui.configure_theme(dark_mode=True, show_logo=False, show_share_button=False, brand_color=BRAND)
        gui.set_panel_label(stage.title or "thenar")
        self.scene = Scene3d(server)
        self.scene.show(stage)
        self.controls = Controls(server, stage, self.send)
        self.scene.on_pick = self.controls.pick
        gui.main_panel.dock_right()
        gui.main_panel.set_width(400)
        self._lay_out_left(gui, hands)
        server.on_client_connect(self.scene.welcome)
        threading.Thread(target=self._listen, name="pipe", daemon=True).start()

    def send(self, message: Message) -> None:
        """Tell the twin."""
        with self._lock, contextlib.suppress(OSError):
            self._pipe.send(message)

    def keep_showing(self, motion: SharedRecords, skin: SharedRecords) -> None:
        """Until the twin has gone."""
        moved = felt = -1
        while True:
            if not self._hear():
                return
            if motion.number != moved:
                moved, record = motion.read()
                if moved and record["stage"] == self._stage.number:
                    self._move(record)
            if skin.number != felt:
                felt, record = skin.read()
                if felt:
                    self._feel(record)
            self._count_visitors()
            time.sleep(LOOK_S)

    def _lay_out_left(self, gui: viser.GuiApi, hands: Sequence[HandSpec]) -> None:
        panel = gui.add_panel()
        self._plots: Plots | None = None
        self._pads = PadMap(hands)
        self._picture = None
        if self._pads.taxels:
            with panel.add_tab("Skin", viser.Icon.GRID_DOTS):
                self._picture = gui.add_image(self._pads.paint({}, {}), format="jpeg", jpeg_quality=88)
                self._pressed = gui.add_html("")
                self._legend = gui.add_html("")
                self._full = gui.add_slider("full scale", min=5.0, max=400.0, step=5.0, initial_value=FULL_KPA)
                self._shows = gui.add_dropdown("Shows", ("pressure", "sensor counts"))
                self._looks(gui)
        else:
            with panel.add_tab("View", viser.Icon.EYE):
                self._looks(gui)
        if hands:
            plots = gui.add_panel()
            with plots.add_tab("Motors over time", viser.Icon.CHART_LINE):
                self._plots = Plots(gui, hands)
            panel.dock_left()
            plots.dock_below(panel)
        else:
            panel.dock_left()
        panel.set_width(350)
        panel.set_height(470)
        self._names = {hand.name: [pad.name for pad in hand.pads] for hand in hands}

    def _looks(self, gui: viser.GuiApi) -> None:
        hint = "What each contact does to the hand: an arrow of 12 mm per newton, 60 mm at most."
        self._arrows = gui.add_checkbox("Contact forces", True, hint=hint)
        clear = gui.add_checkbox("Glassy objects", True, hint="The skin under objects can be seen through them.")
        clear.on_update(lambda event: self.scene.see_through(event.target.value))

    def _listen(self) -> None:
        try:
            while True:
                self._news.put(self._pipe.recv())
        except (EOFError, OSError):
            self._news.put(None)

    def _hear(self) -> bool:
        """Take what the twin says; False when it has gone."""
        while not self._news.empty():
            message = self._news.get()
            if message is None:
                return False
            if message["do"] == "stage":
                self._stage = message["stage"]
                self.scene.show(self._stage)
                self.controls.show(self._stage)
            elif message["do"] == "status":
                self._status = message
                self.controls.tell(message, self._updates_hz())
            elif message["do"] == "say":
                for client in self._server.get_clients().values():
                    client.add_notification(
                        "thenar", message["text"], auto_close_seconds=6.0, color="teal" if message["good"] else "red"
                    )
        return True

    def _move(self, record: np.ndarray) -> None:
        with self._server.atomic():
            self.scene.move(record, arrows=self._arrows.value)
        self._moves.append(time.monotonic())
        self.controls.follow(record, tables=self._due("tables", TABLES_S))
        if self._plots is not None and self._plots.remember(record) and self._due("plots", PLOTS_S):
            self._plots.draw()

    def _feel(self, record: np.ndarray) -> None:
        if self._picture is None or not self._due("pads", PADS_S / 4):
            return
        counts = self._shows.value == "sensor counts"
        full = self._full.value
        dead = {} if self._status is None else self._status["dead"]
        names = [name for name, pads in self._names.items() if pads]
        share = {
            name: record[name]["counts"] / (status_html.COUNTS_PER_KPA * full)
            if counts
            else record[name]["pressure_pa"] / (1e3 * full)
            for name in names
        }
        with self._server.atomic():
            for name in names:
                self.scene.feel(name, share[name], dead.get(name, np.zeros(0, dtype=int)))
        if not self._due("picture", PADS_S):
            return
        picture = self._pads.paint(share, dead)
        if not np.array_equal(picture, self._picture.image):
            self._picture.image = picture
        forces = [
            (name.rpartition("_")[2], pad, float(force))
            for name in names
            for pad, force in zip(self._names[name], record[name]["pad_n"], strict=True)
            if force > 0.01
        ]
        forces.sort(key=lambda row: -row[2])
        for html, content in (
            (self._pressed, status_html.pad_forces(forces[:6])),
            (self._legend, status_html.legend(full, counts)),
        ):
            if html.content != content:
                html.content = content

    def _updates_hz(self) -> float:
        if len(self._moves) < 2 or time.monotonic() - self._moves[-1] > 1.0:
            return 0.0
        return (len(self._moves) - 1) / max(self._moves[-1] - self._moves[0], 1e-9)

    def _count_visitors(self) -> None:
        if self._due("visitors", 0.5):
            count = self._gate.visitors
            if count != self._visitors:
                self._visitors = count
                self.send({"do": "visitors", "count": count})

    def _due(self, what: str, every_s: float) -> bool:
        now_s = time.monotonic()
        if now_s < self._clock.get(what, 0.0):
            return False
        self._clock[what] = now_s + every_s
        return True
