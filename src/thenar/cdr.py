"""Common Data Representation: the little that the messages of hands need, on plain bytes."""

from __future__ import annotations

import math
import struct
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from thenar.errors import ThenarError

HEADER = b"\x00\x01\x00\x00"
"""Plain CDR, little endian."""

MAX_STRING = 4096
_BIG = {0x0000: True, 0x0001: False, 0x0006: True, 0x0007: False}  # plain CDR of XTypes 1 and 2


class BadMessage(ThenarError, ValueError):
    """Bytes that are not the message they should be."""


class Reader:
    """Reads fields one after the other; alignment counts from behind the four-byte header."""

    def __init__(self, message: bytes):
        """Check the header and stand behind it."""
        if len(message) < 4 or (kind := int.from_bytes(message[:2], "big")) not in _BIG:
            raise BadMessage(f"header {message[:4].hex(' ') or 'missing'}; wanted plain CDR")
        self.order: Literal["<", ">"] = ">" if _BIG[kind] else "<"
        self._body = memoryview(message)[4:]
        self._at = 0

    @property
    def position(self) -> int:
        """How many bytes behind the header have been read."""
        return self._at

    def length(self, largest: int, what: str) -> int:
        """Number of elements of a sequence."""
        (count,) = struct.unpack(f"{self.order}I", self._take(4, 4, what))
        if count > largest:
            raise BadMessage(f"{what} has {count} elements; wanted at most {largest}")
        return count

    def numbers(self, dtype: str, count: int, what: str) -> NDArray[np.generic]:
        """Numbers of one kind, such as ``i2``, ``u1`` or ``f4``; a copy in native order."""
        kind = np.dtype(dtype)
        return np.frombuffer(
            self._take(kind.itemsize * count, kind.itemsize, what), kind.newbyteorder(self.order)
        ).astype(kind)

    def sequence(self, dtype: str, largest: int, what: str) -> NDArray[np.generic]:
        """A sequence of at most ``largest`` numbers."""
        return self.numbers(dtype, self.length(largest, what), what)

    def string(self, what: str) -> str:
        """A string, which ends with a zero byte."""
        text = self.numbers("u1", self.length(MAX_STRING, what), what).tobytes()
        if not text.endswith(b"\x00"):
            raise BadMessage(f"{what} does not end")
        try:
            return text[:-1].decode()
        except UnicodeDecodeError:
            raise BadMessage(f"{what} is not text") from None

    def records(self, dtype: np.dtype, count: int, what: str) -> NDArray[np.void]:
        """Structures laid out as a numpy record, aligned to four bytes."""
        return np.frombuffer(self._take(dtype.itemsize * count, 4, what), dtype.newbyteorder(self.order))

    def end(self) -> None:
        """Nothing but padding may follow."""
        if len(self._body) - self._at > 3:
            raise BadMessage(f"{len(self._body) - self._at} bytes too many")

    def _take(self, size: int, alignment: int, what: str) -> memoryview:
        start = self._at + -self._at % alignment if size else self._at
        if start + size > len(self._body):
            raise BadMessage(f"{what} needs {start + size} bytes; the message has {len(self._body)}")
        self._at = start + size
        return self._body[start : self._at]


def as_float64(values: NDArray[np.generic]) -> NDArray[np.float64]:
    """Numbers of a message as doubles; numpy would complain of a signalling NaN on stderr."""
    with np.errstate(invalid="ignore"):
        return values.astype(np.float64)


def put(out: bytearray, kinds: str, *values: float) -> None:
    """Append numbers of one size, aligned to it; ``kinds`` are those of `struct`."""
    size = struct.calcsize("<" + kinds[-1])
    out += bytes(-len(out) % size) + struct.pack("<" + kinds, *values)


def ros_time(stamp_s: float) -> tuple[int, int]:
    """A time as ROS 2 has it: whole seconds in 32 bits with a sign, which start again in 2038, and nanoseconds."""
    seconds = math.floor(stamp_s)
    more, nanoseconds = divmod(round((stamp_s - seconds) * 1e9), 1_000_000_000)
    return (seconds + more + 2**31) % 2**32 - 2**31, nanoseconds


def put_sequence(out: bytearray, dtype: str, values: ArrayLike) -> None:
    """Append a sequence of numbers: their count, then the numbers aligned to their size."""
    array = np.asarray(values, dtype=f"<{dtype}")
    put(out, "I", array.size)
    if array.size:  # an empty one has no padding behind its length
        out += bytes(-len(out) % array.itemsize) + array.tobytes()


def put_string(out: bytearray, text: str) -> None:
    """Append a string."""
    data = text.encode() + b"\x00"
    put(out, "I", len(data))
    out += data
