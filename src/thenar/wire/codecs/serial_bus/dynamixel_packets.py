"""Packets of the Dynamixel protocol 2.0: ``FF FF FD 00 ID LENGTH INSTRUCTION PARAMETERS CRC``, low bytes first.

The length counts instruction, parameters and checksum. Wherever ``FF FF FD`` stands behind it, another ``FD`` follows.
Ref: the protocol's public manual; `dynamixel-sdk` from PyPI is the peer of the tests.
"""

from __future__ import annotations

import struct
from enum import IntEnum
from typing import NamedTuple

HEADER = b"\xff\xff\xfd\x00"
BROADCAST = 0xFE
_STUFFED, _PLAIN = b"\xff\xff\xfd\xfd", b"\xff\xff\xfd"
LONGEST = 1024


class Instruction(IntEnum):
    """What a packet asks, or that it answers."""

    PING = 0x01
    READ = 0x02
    WRITE = 0x03
    REG_WRITE = 0x04
    ACTION = 0x05
    REBOOT = 0x08
    STATUS = 0x55
    SYNC_READ = 0x82
    SYNC_WRITE = 0x83
    BULK_READ = 0x92
    BULK_WRITE = 0x93


class Trouble(IntEnum):
    """Why an instruction was not done."""

    NONE = 0
    INSTRUCTION = 2
    DATA_LENGTH = 5
    ACCESS = 7


class Packet(NamedTuple):
    """One packet without what is around it."""

    motor: int
    instruction: int
    parameters: bytes


class Part(NamedTuple):
    """What a packet asks of one motor: so many bytes from an address on, or these bytes to be written there."""

    motor: int
    address: int
    size: int
    data: bytes = b""


def _crc_table() -> tuple[int, ...]:
    table = []
    for byte in range(256):
        value = byte << 8
        for _ in range(8):
            value = (value << 1 ^ (0x8005 if value & 0x8000 else 0)) & 0xFFFF
        table.append(value)
    return tuple(table)


_CRC_TABLE = _crc_table()


def crc(data: bytes) -> bytes:
    """The two bytes that end a packet."""
    value = 0
    for byte in data:
        value = value << 8 & 0xFFFF ^ _CRC_TABLE[value >> 8 ^ byte]
    return struct.pack("<H", value)


def encode(motor: int, instruction: int, parameters: bytes) -> bytes:
    """A packet as bytes."""
    body = bytes([instruction]) + parameters.replace(_PLAIN, _STUFFED)
    packet = HEADER + struct.pack("<BH", motor, len(body) + 2) + body
    return packet + crc(packet)


def status(motor: int, trouble: Trouble = Trouble.NONE, data: bytes = b"") -> bytes:
    """An answer as bytes."""
    return encode(motor, Instruction.STATUS, bytes([trouble]) + data)


def take(line: bytes) -> tuple[Packet | None, bytes, int]:
    """The first whole packet in what has come in, what is left, and how many bytes were no packet."""
    start = line.find(HEADER)
    if start < 0:
        keep = next(n for n in (3, 2, 1, 0) if line.endswith(HEADER[:n]))
        return None, line[len(line) - keep :], len(line) - keep
    if len(line) < start + 7:
        return None, line[start:], start
    motor, length = struct.unpack_from("<BH", line, start + 4)
    end = start + 7 + length
    if not 3 <= length <= LONGEST:
        return None, line[start + len(HEADER) :], start + len(HEADER)
    if len(line) < end:
        return None, line[start:], start
    packet = line[start:end]
    if crc(packet[:-2]) != packet[-2:]:
        return None, line[start + len(HEADER) :], start + len(HEADER)
    body = packet[8:-2].replace(_STUFFED, _PLAIN)
    return Packet(motor, packet[7], body), line[end:], start


def parts_of(packet: Packet) -> list[Part] | None:
    """What a packet asks of each motor; None where its length does not fit. An action or a ping has no parts."""
    _, instruction, data = packet
    try:
        match instruction:
            case Instruction.READ:
                return [Part(packet.motor, *struct.unpack("<HH", data))]
            case Instruction.WRITE | Instruction.REG_WRITE:
                (address,) = struct.unpack_from("<H", data)
                return [Part(packet.motor, address, len(data) - 2, data[2:])]
            case Instruction.SYNC_READ:
                address, size = struct.unpack_from("<HH", data)
                return [Part(motor, address, size) for motor in data[4:]]
            case Instruction.SYNC_WRITE:
                address, size = struct.unpack_from("<HH", data)
                rows = data[4:]
                if len(rows) % (size + 1):
                    return None
                starts = range(0, len(rows), size + 1)
                return [Part(rows[at], address, size, rows[at + 1 : at + 1 + size]) for at in starts]
            case Instruction.BULK_READ:
                return [Part(*row) for row in struct.iter_unpack("<BHH", data)]
            case Instruction.BULK_WRITE:
                found, at = list[Part](), 0
                while at < len(data):
                    motor, address, size = struct.unpack_from("<BHH", data, at)
                    found.append(Part(motor, address, size, data[at + 5 : at + 5 + size]))
                    at += 5 + size
                return found if at == len(data) else None
            case _:
                return []
    except struct.error:
        return None
