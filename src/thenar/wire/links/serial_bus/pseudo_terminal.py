"""A serial port that programs open like a real one."""

from __future__ import annotations

import os
import select
import time
import tty
from pathlib import Path

from thenar.wire.line_faults import LineFaults

RECENT_S = 2.0
READ_BYTES = 1024
"""What is taken at a time: a hundred requests, which cost some hundredths of a second to answer."""


class PseudoTerminal:
    """Opened under the system's name, and by a link of a name of ours; one thread waits on it."""

    def __init__(self, name: Path | None):
        """Open it, with a link of this name to it; a link that a killed twin left is replaced."""
        if name is not None and name.is_symlink() and not name.exists():
            name.unlink()
        self._ours, self._theirs = os.openpty()  # theirs stays open, so that a client may come and go
        tty.setraw(self._theirs)
        os.set_blocking(self._ours, False)
        self.path = os.ttyname(self._theirs)
        self._name = name
        if name is not None:
            try:
                name.symlink_to(self.path)
            except OSError:
                os.close(self._ours)
                os.close(self._theirs)
                raise
        self._stop, self._stopped = os.pipe()
        self.line = LineFaults()
        """What is sent goes through it."""
        self._rest = b""
        """What is left of an answer that was begun when there was no room for all of it; nothing else goes before."""
        self.heard_s = -1.0
        """When something came last, by `time.perf_counter`."""

    def __str__(self) -> str:
        """The name to open it by."""
        return str(self._name or self.path)

    @property
    def recent(self) -> bool:
        """Whether something has come lately."""
        return self.heard_s >= 0.0 and time.perf_counter() - self.heard_s < RECENT_S

    def wait(self, timeout_s: float | None) -> bytes | None:
        """What has come, nothing if the time is over first, None when nobody is to listen any more."""
        while True:
            begun = [self._ours] if self._rest else []
            ready, room, _ = select.select([self._ours, self._stop], begun, [], timeout_s)
            if self._stop in ready:
                return None
            if room:
                self._rest = self._write(self._rest)
            if self._ours in ready:
                self.heard_s = time.perf_counter()
                return os.read(self._ours, READ_BYTES)
            if not room:
                return b""

    def send(self, data: bytes) -> bool:
        """Send all of it, its end perhaps later, or nothing: False if the client does not read what was sent before."""
        for passed in self.line.pass_on(data) if data else ():
            self._rest = self._write(self._rest)
            left = passed if self._rest else self._write(passed)
            if left == passed:
                return False
            self._rest = left
        return True

    def _write(self, data: bytes) -> bytes:
        """Write what there is room for; what is left of it."""
        try:
            return data[os.write(self._ours, data) :] if data else b""
        except BlockingIOError:
            return data

    def stop(self) -> None:
        """Let `wait` return."""
        os.write(self._stopped, b"\0")

    def close(self) -> None:
        """Close it; nobody may be waiting."""
        for file in (self._ours, self._theirs, self._stop, self._stopped):
            os.close(file)
        if self._name is not None:
            self._name.unlink(missing_ok=True)
