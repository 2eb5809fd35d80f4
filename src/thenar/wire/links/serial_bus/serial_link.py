"""A serial line of a twin: a pseudo-terminal that is answered on a thread of its own."""

from __future__ import annotations

import threading
from abc import ABC, abstractmethod
from pathlib import Path
from typing import ClassVar

from thenar.errors import BadFile
from thenar.signals import Request
from thenar.wire.links.inbox import Inbox
from thenar.wire.links.link_health import LinkHealth, PeerHealth, ended
from thenar.wire.links.serial_bus.pseudo_terminal import PseudoTerminal


class SerialLink(ABC):
    """What the links over one serial line share; `answer` begins once a link's own parts are there."""

    wire: ClassVar[str]
    silence_s: ClassVar[float | None] = None
    """After so long without a byte, what has come is handed over as it is [s]; None: never."""

    def __init__(self, port: str):
        """Open the line, with a link of this name to it if there is one."""
        try:
            self._port = PseudoTerminal(Path(port) if port else None)
        except OSError as error:
            hint = f"try another --{self.wire}.port"
            raise BadFile(port, f"cannot name a serial line ({error.strerror}); {hint}") from error
        self.line = self._port.line
        self._inbox = Inbox()
        self._come = b""  # what is no whole frame yet
        self._thread = threading.Thread(target=self._listen, name=self.wire, daemon=True)

    @abstractmethod
    def take(self, data: bytes) -> None:
        """Answer the frames that are on the line with what has come; nothing: it fell silent."""

    @abstractmethod
    def hands_there(self) -> str:
        """Who answers there, in words."""

    @abstractmethod
    def peers(self) -> tuple[PeerHealth, ...]:
        """Clients that were heard."""

    def answer(self) -> None:
        """Begin to answer."""
        self._thread.start()

    def receive(self) -> list[Request]:
        """Requests since the last call."""
        return self._inbox.drain()

    def health(self) -> LinkHealth:
        """How it is doing."""
        return LinkHealth(
            wire=self.wire,
            where=f"{self._port} ({self.hands_there()})",
            listeners=int(self._port.recent),
            peers=self.peers(),
            refused=dict(self._inbox.refused),
            failed=ended(self._thread),
        )

    def close(self) -> None:
        """Close the line."""
        self._port.stop()
        self._thread.join()
        self._port.close()

    def _listen(self) -> None:
        while (data := self._port.wait(self.silence_s if self._come else None)) is not None:
            self.take(data)

    def _send(self, reply: bytes) -> None:
        if not self._port.send(reply):
            self._inbox.refuse("answers that a client on the serial line does not read")
