"""A visitor without a screen: takes everything the page sends, as a browser does, and counts it."""

from __future__ import annotations

import contextlib
import threading

import viser
from websockets.exceptions import ConnectionClosed
from websockets.sync.client import connect
from websockets.typing import Subprotocol

PROTOCOL = Subprotocol(f"viser-v{viser.__version__}")


class Visitor:
    """One open page."""

    def __init__(self, url: str):
        """Open the page at this address."""
        self._line = connect(url.replace("http", "ws", 1), subprotocols=[PROTOCOL], max_size=None)
        self.messages = 0
        threading.Thread(target=self._listen, daemon=True).start()

    def close(self) -> None:
        """Leave."""
        self._line.close()

    def _listen(self) -> None:
        with contextlib.suppress(ConnectionClosed):
            for _ in self._line:
                self.messages += 1
