"""The page's process as the twin sees it: started, fed through a pipe, and started again whenever it dies."""

from __future__ import annotations

import contextlib
import importlib.util
import logging
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Collection, Sequence
from multiprocessing.connection import Connection
from pathlib import Path
from typing import IO

from thenar.errors import MissingExtra, ThenarError, clean_text
from thenar.hands.spec import HandSpec
from thenar.pace import RateLimit
from thenar.view.page_scene import Message
from thenar.view.shared_memory import SharedRecords, motion_dtype, skin_dtype

logger = logging.getLogger(__name__)

RESTART_S = 0.3
QUICK_DEATH_S, MAX_QUICK_DEATHS = 5.0, 5
START_S = 60.0
MAX_LINE_BYTES = 4096
LOG_LINES = 60, 60.0  # of the process that are passed on, in so many seconds


class PageProcess:
    """The process that serves the page."""

    def __init__(
        self,
        hands: Sequence[HandSpec],
        *,
        host: str,
        port: int,
        token: str,
        names: Collection[str] | None,
        certificate: Path | None,
        first_message: Callable[[], Message],
        on_message: Callable[[Message], None],
    ):
        """Start it and wait until it answers.

        Args:
            hands: The hands it shows.
            host: Address it listens at.
            port: Port it listens at.
            token: What browsers must show.
            names: Host names that it is served under; None: any.
            certificate: PEM file with which it speaks TLS; None: it does not.
            first_message: What a page that has just started is sent.
            on_message: Called with every message of the page, on a thread of its own.
        """
        if importlib.util.find_spec("viser") is None:  # reported here, not by a process that dies
            raise MissingExtra("the page", "viser", "view")
        self.motion, self.skin = SharedRecords(motion_dtype(hands)), SharedRecords(skin_dtype(hands))
        self.address = ""
        """Where it listens, as a browser writes it, without the token."""
        self.once = ""
        """Is taken for the token one time."""
        self.starts = 0
        self._log_limit, self._last_words = RateLimit(*LOG_LINES), b""
        self._hello: Message = {
            "do": "hello", "hands": list(hands), "host": host, "port": port, "token": token, "names": names,
            "certificate": certificate,
        }  # fmt: skip
        self._first_message, self._on_message = first_message, on_message
        self._stopping, self._started = threading.Event(), threading.Event()
        self.failure = ""
        """Why there is no page and none will come; empty while there is one."""
        self._child: subprocess.Popen[bytes] | None = None
        self._pipe: Connection | None = None
        self._lock = threading.Lock()
        self._thread = threading.Thread(target=self._keep_alive, name="page", daemon=True)
        self._thread.start()
        self._started.wait(START_S)
        if not self.address:
            self.close()
            raise ThenarError(self.failure or f"the page did not start within {START_S:.0f} s")

    @property
    def unsaid(self) -> int:
        """Lines of its log that were not passed on, because there were too many."""
        return self._log_limit.held_back

    @property
    def pid(self) -> int | None:
        """Of the process that runs now."""
        return self._child.pid if self._child is not None else None

    def send(self, message: Message) -> None:
        """Send a message to the page; a page that is just starting again misses it."""
        with self._lock, contextlib.suppress(OSError):
            if self._pipe is not None:
                self._pipe.send(message)

    def close(self) -> None:
        """Stop it."""
        self._stopping.set()
        if self._child is not None:
            self._child.terminate()
        self._thread.join(5.0)
        if self._child is not None and self._child.poll() is None:
            self._child.kill()
            self._child.wait()
        for records in (self.motion, self.skin):
            records.close()

    def _keep_alive(self) -> None:
        try:
            self._restart_while_it_dies()
        except Exception as error:  # such as no more processes
            self.failure = f"the page's process could not be started: {error!r}"
            logger.exception("the page is gone")
        self._started.set()

    def _restart_while_it_dies(self) -> None:
        quick = 0
        while not self._stopping.is_set() and quick < MAX_QUICK_DEATHS:
            began_s = time.monotonic()
            self._run_once()
            quick = quick + 1 if time.monotonic() - began_s < QUICK_DEATH_S else 0
            if self.failure and not self.address:
                break
            self._stopping.wait(RESTART_S)
        if quick == MAX_QUICK_DEATHS and not self.failure:
            self.failure = f"the page's process ended {quick} times right after its start, the last time {self._why()}"
            logger.error(self.failure)

    def _why(self) -> str:
        code = None if self._child is None else self._child.returncode
        how = f"killed by signal {-code}" if code is not None and code < 0 else f"with exit code {code}"
        return f"{how}: {clean_text(self._last_words.decode(errors='replace'))}" if self._last_words else how

    def _run_once(self) -> None:
        """From start to death."""
        ours, theirs = socket.socketpair()
        fds = (theirs.fileno(), self.motion.fd, self.skin.fd)
        command = [sys.executable, "-m", "thenar.view", *map(str, fds)]
        with theirs:
            self._child = subprocess.Popen(
                command, pass_fds=fds, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE
            )
        self.starts += 1
        assert self._child.stderr is not None
        relay = threading.Thread(target=self._relay, args=(self._child.stderr,), name="page log", daemon=True)
        relay.start()
        with Connection(ours.detach()) as pipe, contextlib.suppress(EOFError, OSError):
            pipe.send(self._hello)
            pipe.send(self._first_message())
            with self._lock:
                self._pipe = pipe
            try:
                while True:
                    self._receive(pipe.recv())
            finally:
                with self._lock:
                    self._pipe = None
        self._child.wait()
        relay.join(1.0)

    def _relay(self, stream: IO[bytes]) -> None:
        """Pass on what the process complains of, as far as somebody could read it: visitors may make it say a lot."""
        with stream:
            while line := stream.readline(MAX_LINE_BYTES):
                self._last_words = line.strip() or self._last_words
                if self._log_limit.passes(time.monotonic()):
                    logger.warning("page: %s", clean_text(line.decode(errors="replace").rstrip()))

    def _receive(self, message: Message) -> None:
        match message["do"]:
            case "ready":
                self.address, self.once = message["address"], message["once"]
                self._hello["port"] = message["port"]  # where it comes back
                self._started.set()
            case "failed":
                self.failure = message["why"]
                self._started.set()
            case _:
                self._on_message(message)
