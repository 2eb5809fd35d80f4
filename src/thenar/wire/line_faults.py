"""A line that is not always good: what becomes of messages between a link and its clients."""

from __future__ import annotations

import random


class LineFaults:
    """Faults of a link's outgoing line; without any, every message passes once and whole."""

    def __init__(self) -> None:
        """A good line."""
        self.lost = self.doubled = self.garbled = 0.0
        """Shares of all messages."""
        self.clock_s = 0.0
        """How far off the sender's clock is [s]."""
        self._random = random.Random(0)

    def pass_on(self, message: bytes) -> tuple[bytes, ...]:
        """What arrives of a message: nothing, one, or two of them."""
        if self._random.random() < self.lost:
            return ()
        if message and self._random.random() < self.garbled:
            wrong = bytearray(message)
            for _ in range(self._random.randint(1, 4)):
                wrong[self._random.randrange(len(wrong))] ^= self._random.randint(1, 255)
            message = bytes(wrong)
        return (message, message) if self._random.random() < self.doubled else (message,)
