"""The toy protocol on UDP: whoever sends a command is answered with the hand's state from then on."""

from __future__ import annotations

import socket
from collections.abc import Mapping

from toys import semaphore_codec

from thenar.signals import HandSettings, HandState, Request, TouchFrame
from thenar.wire.links.inbox import Inbox
from thenar.wire.links.link_health import LinkHealth
from thenar.wire.links.registry import LinkContext, Protocol

PROTOCOL = Protocol(
    name="semaphore",
    label="Semaphore",
    link="toys.semaphore_link:SemaphoreLink",
    serves=lambda hand: hand.name.startswith("fourier"),
)


class SemaphoreLink:
    """The twin's side, for one hand."""

    wire = "semaphore"

    def __init__(self, context: LinkContext):
        """Listen at a free port of this machine."""
        (self._hand,) = context.hands
        self._socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self._socket.bind(("127.0.0.1", 0))
        self._socket.setblocking(False)
        self.address = self._socket.getsockname()
        self._clients: set[tuple[str, int]] = set()
        self._inbox, self._written = Inbox(), 0

    def receive(self) -> list[Request]:
        """Requests since the last call."""
        while True:
            try:
                message, sender = self._socket.recvfrom(4096)
            except BlockingIOError:
                return self._inbox.drain()
            self._clients.add(sender)
            try:
                command = semaphore_codec.decode_command(self._hand, message)
            except ValueError as error:
                self._inbox.refuse(str(error))
                continue
            self._inbox.put(self._hand.name, f"{sender}", command=command)

    def publish_state(self, hands: Mapping[str, tuple[HandState, HandSettings]]) -> None:
        """Send the state to all clients."""
        message = semaphore_codec.encode_state(self._hand, hands[self._hand.name][0])
        for client in self._clients:
            self._socket.sendto(message, client)
            self._written += 1

    def publish_touch(self, frames: Mapping[str, TouchFrame]) -> None:
        """It carries no touch."""

    def health(self) -> LinkHealth:
        """How it is doing."""
        return LinkHealth(
            wire=self.wire,
            where="{}:{}".format(*self.address),
            listeners=len(self._clients),
            written=self._written,
            not_written=0,
            peers=(),
            refused=dict(self._inbox.refused),
        )

    def close(self) -> None:
        """Close the port."""
        self._socket.close()
