"""Records in memory that two processes share: one writes, the other reads, neither ever waits.

`SharedRecords` has a few slots. The writer fills the slot after the newest one and then says that this is the newest;
a reader that was overtaken while it copied sees that and copies again.
"""

from __future__ import annotations

import mmap
import os
import tempfile
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from thenar.hands.spec import HandSpec

SLOTS = 8
HEAD_BYTES = 64
MAX_BODIES = 256
MAX_CONTACTS = 64
GLOVE_NODES = 21
STATE_FIELDS = ("angle_rad", "force_n", "current_a", "temperature_c", "status", "error")
"""Members of a `HandState` that the page shows, per motor."""


def motion_dtype(hands: Sequence[HandSpec]) -> np.dtype[np.void]:
    """Record of everything that moves: bodies, contacts and the motors of each hand, by hand name."""
    f4 = np.float32
    fields: list[tuple] = [
        ("scene", np.int64),
        ("time_s", np.float64),
        ("pos_m", f4, (MAX_BODIES, 3)),
        ("quat_wxyz", f4, (MAX_BODIES, 4)),
        ("contacts", np.int64),
        ("contact_m", f4, (MAX_CONTACTS, 3)),
        ("contact_n", f4, (MAX_CONTACTS, 3)),
    ]
    for hand in hands:
        motors = len(hand.actuators)
        own: list[tuple] = [(name, f4, motors) for name in ("target_rad", *STATE_FIELDS)]
        own += [("palm_m", f4, 3), ("palm_quat_wxyz", f4, 4), ("glove_on", np.bool_), ("glove_m", f4, (GLOVE_NODES, 3))]
        fields.append((hand.name, np.dtype(own)))
    return np.dtype(fields)


def skin_dtype(hands: Sequence[HandSpec]) -> np.dtype[np.void]:
    """Record of every taxel's reading, by hand name; hands without skin are left out."""
    f4 = np.float32
    fields: list[tuple] = [("time_s", np.float64)]
    for hand in hands:
        if hand.pads:
            own = [("pressure_pa", f4, hand.taxels), ("counts", np.int16, hand.taxels), ("pad_n", f4, len(hand.pads))]
            fields.append((hand.name, np.dtype(own)))
    return np.dtype(fields)


class SharedRecords:
    """The newest of a row of records, shared between processes through a file that has no name."""

    def __init__(self, dtype: np.dtype[np.void], fd: int | None = None):
        """Make the file, or open the one behind a file descriptor of another process."""
        size = HEAD_BYTES + SLOTS * dtype.itemsize
        if fd is None:
            fd = _nameless_file()
            os.ftruncate(fd, size)
        self.fd = fd
        self._memory = mmap.mmap(fd, size)
        self._newest = np.frombuffer(self._memory, dtype=np.int64, count=1)
        self._slots = np.frombuffer(self._memory, dtype=dtype, count=SLOTS, offset=HEAD_BYTES)

    @property
    def number(self) -> int:
        """How many records have been written."""
        return int(self._newest[0])

    def next(self) -> NDArray[np.void]:
        """The record to fill; it still has what was written some rounds ago. Shape ()."""
        return self._slots[(self.number + 1) % SLOTS, ...]

    def publish(self) -> None:
        """Make the filled record the newest."""
        self._newest[0] += 1

    def read(self) -> tuple[int, NDArray[np.void]]:
        """A copy of the newest record, and its number. Shape ()."""
        while True:
            number = self.number
            record = self._slots[number % SLOTS, ...].copy()
            if self.number - number < SLOTS - 1:  # the writer has not come round to it
                return number, record

    def close(self) -> None:
        """Close the file; once more does nothing, since the number may be another file's by then."""
        if self.fd >= 0:
            os.close(self.fd)
        self.fd = -1


def _nameless_file() -> int:
    if hasattr(os, "memfd_create"):
        return os.memfd_create("thenar", 0)
    with tempfile.TemporaryFile() as handle:
        return os.dup(handle.fileno())
