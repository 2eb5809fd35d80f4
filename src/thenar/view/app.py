"""The page's process: shows what the twin writes, and sends what users do back through the pipe."""

from __future__ import annotations

import contextlib
import os
import queue
import signal
import socket
import ssl
import threading
import time
from collections import deque
from collections.abc import Sequence
from multiprocessing.connection import Connection
from typing import Any

import numpy as np
import viser

from thenar.hands.spec import HandSpec
from thenar.pace import limit_logs
from thenar.view.access_gate import AccessGate, PageServer
from thenar.view.controls import Controls, MirrorPanel, TimeLine
from thenar.view.gui_updates import Throttle
from thenar.view.page_scene import Message, PageScene
from thenar.view.plots import Plots
from thenar.view.scene3d import Scene3d
from thenar.view.shared_memory import SharedRecords, motion_dtype, skin_dtype
from thenar.view.skin_panel import SkinPanel

NICE = 10  # the physics comes first
POLL_S = 0.004
PLOTS_S, TABLES_S, CLIENTS_S = 0.16, 0.25, 0.5
LEFT_PX, RIGHT_PX = 300, 400  # width of the panels
BRAND = (255, 146, 43)


def run(fds: Sequence[str]) -> None:
    """Serve until the twin closes the pipe; the arguments are the descriptors of the pipe and of both records."""
    with contextlib.suppress(OSError):
        os.nice(NICE)
    limit_logs(3)  # what visitors send may be complained of without end, with a traceback each
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the twin decides when it is over
    pipe_fd, motion_fd, skin_fd = (int(fd) for fd in fds)
    os.set_inheritable(pipe_fd, False)
    pipe = Connection(pipe_fd)
    hello = pipe.recv()
    scene: PageScene = pipe.recv()["scene"]
    hands: list[HandSpec] = hello["hands"]
    host, port, certificate = hello["host"], hello["port"], hello["certificate"]
    try:
        tls = None
        if certificate is not None:
            tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            tls.load_cert_chain(certificate)
        listener = socket.create_server((host, port), family=socket.AF_INET6 if ":" in host else socket.AF_INET)
    except OSError as error:
        why = f"the page cannot listen at {host}:{port} ({error.strerror}); choose another with --port"
        pipe.send({"do": "failed", "why": why})
        return
    port = listener.getsockname()[1]
    gate = AccessGate(names=hello["names"], token=hello["token"], secure=tls is not None)
    app = PageApp(PageServer(gate, listener, tls), hands, scene, pipe, gate)
    host = "127.0.0.1" if host in ("0.0.0.0", "::") else host
    host = f"[{host}]" if ":" in host else host
    address = f"{'http' if tls is None else 'https'}://{host}:{port}"
    app.send("ready", address=address, port=port, once=gate.once)
    app.run(SharedRecords(motion_dtype(hands), motion_fd), SharedRecords(skin_dtype(hands), skin_fd))


class PageApp:
    """Everything that is on the page: 3D scene, controls on the right, skin and plots on the left."""

    def __init__(
        self,
        server: PageServer,
        hands: Sequence[HandSpec],
        scene: PageScene,
        pipe: Connection,
        gate: AccessGate,
    ):
        """Lay it out.

        Args:
            server: Where it is shown.
            hands: All hands of the twin.
            scene: What is shown first.
            pipe: To the twin, both ways.
            gate: Knows how many browsers are connected.
        """
        self._server, self._pipe, self._scene, self._gate = server, pipe, scene, gate
        self._sending = threading.Lock()
        self._received: queue.SimpleQueue[Message | None] = queue.SimpleQueue()
        self._dead: dict[str, np.ndarray] = {}
        self._moved_s: deque[float] = deque(maxlen=60)
        self._visitors = (-1, 0)
        self._plots_due, self._tables_due, self._clients_due = map(Throttle, (PLOTS_S, TABLES_S, CLIENTS_S))
        gui = server.gui
        gui.configure_theme(dark_mode=True, show_logo=False, show_share_button=False, brand_color=BRAND)
        gui.set_panel_label(scene.title or "thenar")
        self._scene3d = Scene3d(server, scene)
        controls = TimeLine if scene.seconds else MirrorPanel if scene.ghosts else Controls
        self._controls = controls(server, scene, self.send)
        self._scene3d.on_pick = self._controls.toggle_drag
        gui.main_panel.dock_right()
        gui.main_panel.set_width(RIGHT_PX)
        panel = gui.add_panel()
        self._skin = SkinPanel(server, panel, hands, self._scene3d)
        panel.dock_left()
        self._plots = None
        if hands:
            plots = gui.add_panel()
            with plots.add_tab("Motors over time", viser.Icon.CHART_LINE):
                self._plots = Plots(gui, hands)
            plots.dock_below(panel)
        panel.set_width(LEFT_PX)
        panel.set_height(470)
        server.on_client_connect(self._scene3d.welcome)
        threading.Thread(target=self._receive, name="pipe", daemon=True).start()

    def send(self, do: str, **fields: Any) -> None:
        """Send a message to the twin."""
        with self._sending, contextlib.suppress(OSError):
            self._pipe.send({"do": do, **fields})

    def run(self, motion: SharedRecords, skin: SharedRecords) -> None:
        """Show every new record until the twin has gone."""
        motion_number = skin_number = 0
        while self._handle_messages() and self._server.serving:  # without a server it is better begun anew
            if motion.number != motion_number:
                motion_number, record = motion.read()
                if record["scene"] == self._scene.number:
                    self._show_motion(record)
            if skin.number != skin_number:
                skin_number, record = skin.read()
                self._skin.show(record, self._dead)
            visitors = self._gate.clients, self._gate.refused
            if self._clients_due() and visitors != self._visitors:
                self._visitors = visitors
                self.send("clients", count=visitors[0], refused=visitors[1])
            time.sleep(POLL_S)

    def _receive(self) -> None:
        try:
            while True:
                self._received.put(self._pipe.recv())
        except (EOFError, OSError):
            self._received.put(None)

    def _handle_messages(self) -> bool:
        """Act on what the twin has sent; False when it has gone."""
        while not self._received.empty():
            message = self._received.get()
            if message is None:
                return False
            match message["do"]:
                case "scene":
                    self._scene = message["scene"]
                    self._scene3d.show(self._scene)
                    self._controls.show(self._scene)
                case "status":
                    self._dead = message["dead"]
                    self._controls.show_status(message, self._updates_hz())
                case "notify":
                    color = "teal" if message["good"] else "red"
                    for client in self._server.get_clients().values():
                        client.add_notification("thenar", message["text"], auto_close_seconds=6.0, color=color)
        return True

    def _show_motion(self, record: np.ndarray) -> None:
        with self._server.atomic():
            self._scene3d.move(record, arrows=self._skin.arrows.value)
        self._moved_s.append(time.monotonic())
        self._controls.follow(record, tables=self._tables_due())
        if self._plots is not None and self._plots.add_sample(record) and self._plots_due():
            self._plots.draw()

    def _updates_hz(self) -> float:
        if len(self._moved_s) < 2 or time.monotonic() - self._moved_s[-1] > 1.0:
            return 0.0
        return (len(self._moved_s) - 1) / max(self._moved_s[-1] - self._moved_s[0], 1e-9)
