"""What stands on the Inspire hands' RS-485 line: frames of their own, and those of Modbus RTU.

A frame of their own is ``EB 90 ID LENGTH COMMAND ADDRESS DATA SUM``: the length counts command, address (low byte
first) and data, the sum is the low byte of all that stands between header and sum. Command 0x11 reads, and its data is
how many bytes; 0x12 writes, and is acknowledged with a byte of 1. Answers begin with ``90 EB``.
"""

from __future__ import annotations

import struct

from thenar.wire.codecs.registers.modbus_pdu import READ, READ_INPUT, WRITE_MANY, WRITE_ONE, crc

REQUEST, REPLY = b"\xeb\x90", b"\x90\xeb"
READ_COMMAND, WRITE_COMMAND = 0x11, 0x12
WRITTEN = b"\x01"
SHORTEST, LONGEST = 8, 264
"""Bytes of a frame: of their own with no data, and of Modbus RTU with as much as its length can say."""


def own_frame(head: bytes, hand_id: int, command: int, address: int, data: bytes) -> bytes:
    """A frame of the hand's own."""
    frame = struct.pack("<BBBH", hand_id, len(data) + 3, command, address) + data
    return head + frame + bytes([sum(frame) & 0xFF])


def rtu_frame(unit: int, pdu: bytes) -> bytes:
    """A frame of Modbus RTU."""
    frame = bytes([unit]) + pdu
    return frame + crc(frame)


def take_frame(line: bytes) -> bytes:
    """The whole frame at the start of what has come in, of either kind; empty until it is whole and right."""
    if line.startswith(REQUEST):
        size = line[3] + 5 if len(line) > 3 else 0
        frame = line[:size] if SHORTEST <= size <= len(line) else b""
        return frame if frame and sum(frame[2:-1]) & 0xFF == frame[-1] else b""
    return take_request(line)


def take_request(line: bytes) -> bytes:
    """The whole request of Modbus RTU at the start of what has come in, if its code reads or writes words."""
    code = line[1] if len(line) > 1 else 0
    size = {READ: 8, READ_INPUT: 8, WRITE_ONE: 8, WRITE_MANY: 9 + line[6] if len(line) > 6 else 0}.get(code, 0)
    return take_rtu(line[:size]) if len(line) >= size else b""


def take_rtu(line: bytes) -> bytes:
    """What has come in if it is one frame of Modbus RTU, whatever its function code."""
    return line if len(line) >= 4 and crc(line[:-2]) == line[-2:] else b""


def after_noise(line: bytes) -> bytes:
    """What is left of a line that begins with no frame: from the next header of the hand's own frames on."""
    place = line.find(REQUEST, 1)
    return line[place:] if place > 0 else b""
