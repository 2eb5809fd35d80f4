"""Modbus requests into answers: function codes 3 (or 4), 6 and 16, and the standard's exceptions for the rest.

Ref: MODBUS Application Protocol Specification V1.1b3, sections 6 and 7; MODBUS over Serial Line V1.02, 6.2.2 (CRC).
Words are big endian on the wire and little endian in the hand's memory.
"""

from __future__ import annotations

import enum
import struct
from typing import Protocol

READ, READ_INPUT, WRITE_ONE, WRITE_MANY = 3, 4, 6, 16
MAX_READ, MAX_WRITE = 125, 123  # words in one request
EXCEPTION = 0x80  # set in the function code of an answer that refuses


class Refusal(enum.IntEnum):
    """Exception codes of the standard."""

    ILLEGAL_FUNCTION = 1
    ILLEGAL_ADDRESS = 2
    ILLEGAL_VALUE = 3
    DEVICE_FAILURE = 4


class Memory(Protocol):
    """What requests read and write, in bytes."""

    def read(self, address: int, size: int) -> bytes | None:
        """Bytes from an address on; None where there are none."""
        ...

    def write(self, address: int, data: bytes) -> Refusal | None:
        """Write bytes from an address on; why not, if not."""
        ...


def answer(memory: Memory, pdu: bytes, *, reads: tuple[int, ...] = (READ,)) -> bytes:
    """The answer to a request, both without what a transport puts around them; a request has one byte at least.

    Args:
        memory: What it reads and writes.
        pdu: The request.
        reads: Codes that read; devices with input registers have two.
    """
    code, body = pdu[0], pdu[1:]
    if code not in (*reads, WRITE_ONE, WRITE_MANY):
        return _refuse(code, Refusal.ILLEGAL_FUNCTION)
    # A length that does not fit counts as an illegal value, and comes before the address is looked at.
    if len(body) < 4:
        return _refuse(code, Refusal.ILLEGAL_VALUE)
    address, count = struct.unpack_from(">HH", body)
    if code in reads:
        if len(body) != 4 or not 1 <= count <= MAX_READ:
            return _refuse(code, Refusal.ILLEGAL_VALUE)
        data = memory.read(address, 2 * count)
        if data is None:
            return _refuse(code, Refusal.ILLEGAL_ADDRESS)
        return bytes([code, len(data)]) + _swapped(data)
    if code == WRITE_ONE:
        fits, data = len(body) == 4, body[2:4]
    else:
        fits = 1 <= count <= MAX_WRITE and body[4:5] == bytes([2 * count]) and len(body) == 5 + 2 * count
        data = body[5:]
    why_not = memory.write(address, _swapped(data)) if fits else Refusal.ILLEGAL_VALUE
    return _refuse(code, why_not) if why_not else bytes([code]) + body[:4]


def crc(frame: bytes) -> bytes:
    """The two bytes that end a frame on a serial line."""
    remainder = 0xFFFF
    for byte in frame:
        remainder ^= byte
        for _ in range(8):
            remainder = remainder >> 1 ^ (0xA001 if remainder & 1 else 0)
    return struct.pack("<H", remainder)


def _refuse(code: int, why: Refusal) -> bytes:
    return bytes([code | EXCEPTION, why])


def _swapped(words: bytes) -> bytes:
    """Bytes of every word in the other order."""
    return struct.pack(f"<{len(words) // 2}H", *struct.unpack(f">{len(words) // 2}H", words))
