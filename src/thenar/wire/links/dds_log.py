"""What the DDS library complains about, line by line: counted instead of written over the user's terminal.

A message whose bytes are not of its type (a sequence too long, cut off) never gets past the library; the only trace of
it is a line in its log. So the log goes into a pipe, and the lines are read here.
"""

from __future__ import annotations

import logging
import os
import re
import threading
from collections.abc import Callable

from thenar.errors import MissingExtra

try:
    from cyclonedds.internal import DDS
except ImportError as error:
    raise MissingExtra("DDS", "cyclonedds", "dds") from error

log = logging.getLogger("thenar.dds")
END = "\x04\n"
_UNREADABLE = re.compile(r"deserialization (?P<topic>\S+)/[^/\s]+ failed")


class DdsLog:
    """The log of one domain. Give `path` to the library as its output file before the domain is opened."""

    def __init__(self) -> None:
        """Open the pipe and read it on a thread of its own."""
        DDS._dll_handle.dds_set_log_mask(0)  # nothing straight to the terminal
        self._refusals: dict[str, Callable[[str], None]] = {}
        self._out, self._in = os.pipe()
        self.path = f"/proc/self/fd/{self._in}"
        self._thread = threading.Thread(target=self._read, name="dds log", daemon=True)
        self._thread.start()

    def on_unreadable(self, topic: str, refuse: Callable[[str], None]) -> None:
        """Call ``refuse(why)`` for every message of a topic whose bytes are not of its type."""
        self._refusals[topic] = refuse

    def close(self) -> None:
        """Stop reading; the domain must be closed before."""
        os.write(self._in, END.encode())  # not the end of the file: a child process may hold the pipe open
        self._thread.join()
        os.close(self._in)

    def _read(self) -> None:
        with os.fdopen(self._out, encoding="utf-8", errors="replace") as lines:
            for line in lines:
                if line == END:
                    return
                match = _UNREADABLE.search(line)
                if match and match["topic"] in self._refusals:
                    refuse = self._refusals[match["topic"]]
                    refuse("message refused: its bytes are not of this type (a sequence too long, or cut off)")
                else:
                    log.warning("%s", line.strip())
