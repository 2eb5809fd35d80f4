"""Packets of the ReFlex hand's own UDP protocol, as bytes both ways. Ref: firmware of reflex-ros-pkg.

The board says its state in 202 bytes, little endian. It hears ``1`` and a mode for each motor, or ``2`` and a target
for each motor, big endian.
"""

from __future__ import annotations

import enum
from dataclasses import dataclass

import numpy as np

from thenar.cdr import BadMessage
from thenar.wire.codecs.reflex_counts import CELLS, BoardReading, IntArray

GROUP, PORT = "224.0.0.124", 11333
STATE_BYTES = 202
_MAGIC, _SET_MODES, _SET_TARGETS = 1, 1, 2

_STATE = np.dtype(
    [
        ("header", "u1", 4),
        ("systime_us", "<u4"),
        ("pressures", "<u2", CELLS),
        ("temperatures", "<u2", CELLS),
        ("encoders", "<u2", 3),
        ("errors", "u1", 4),
        ("angles", "<u2", 4),
        ("speeds", "<u2", 4),
        ("loads", "<u2", 4),
        ("volts", "u1", 4),
        ("temps", "u1", 4),
    ]
)
_FIELDS = ("pressures", "temperatures", "encoders", "errors", "angles", "speeds", "loads", "volts", "temps")


class Mode(enum.IntEnum):
    """What a motor does with a target."""

    IDLE = 0
    VELOCITY = 1
    POSITION = 2


@dataclass(frozen=True, kw_only=True, eq=False)
class Modes:
    """A packet that sets the mode of each motor."""

    modes: tuple[Mode, Mode, Mode, Mode]


@dataclass(frozen=True, kw_only=True, eq=False)
class Targets:
    """A packet that sets the target of each motor, in counts of what its mode is about."""

    raw: IntArray


def encode_state(reading: BoardReading) -> bytes:
    """A state packet."""
    packet = np.zeros((), dtype=_STATE)
    packet["header"][0] = _MAGIC
    packet["systime_us"] = reading.systime_us
    for name in _FIELDS:
        packet[name] = getattr(reading, name)
    return packet.tobytes()


def decode_state(packet: bytes) -> BoardReading:
    """What a state packet says; anything else raises `BadMessage`."""
    if len(packet) != STATE_BYTES or packet[0] != _MAGIC:
        raise BadMessage(f"{len(packet)} bytes that begin with {packet[:1].hex()}; wanted {STATE_BYTES} with 01")
    record = np.frombuffer(packet, _STATE)[0]
    fields = {name: record[name].astype(np.int64) for name in _FIELDS}
    return BoardReading(systime_us=int(record["systime_us"]), **fields)


def encode_command(command: Modes | Targets) -> bytes:
    """A packet that commands the motors."""
    if isinstance(command, Modes):
        return bytes([_SET_MODES, *command.modes])
    return bytes([_SET_TARGETS]) + np.asarray(command.raw).astype(">u2").tobytes()


def decode_command(packet: bytes) -> Modes | Targets:
    """What a packet asks for; anything else raises `BadMessage`."""
    kind = packet[:1]
    if kind == bytes([_SET_MODES]) and len(packet) == 5:
        if max(packet[1:]) > max(Mode):
            raise BadMessage(f"modes {list(packet[1:])}; wanted 0 (idle), 1 (velocity) or 2 (position)")
        first, second, third, fourth = (Mode(value) for value in packet[1:])
        return Modes(modes=(first, second, third, fourth))
    if kind == bytes([_SET_TARGETS]) and len(packet) == 9:
        return Targets(raw=np.frombuffer(packet[1:], ">u2").astype(np.int64))
    raise BadMessage(f"{len(packet)} bytes that begin with {kind.hex() or 'nothing'}; wanted 5 with 01 or 9 with 02")
