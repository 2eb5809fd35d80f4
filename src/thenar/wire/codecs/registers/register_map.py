"""The registers of the Inspire hands, as the byte memory that every one of their transports reads and writes.

Addresses count bytes, values are little endian in memory. A Modbus "register" at address A is the two bytes at A and
A + 1, and the next one of the same request is at A + 2: that is how the hand answers, odd addresses included.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from thenar.arrays import BoolArray, FloatArray
from thenar.signals import HandCommand
from thenar.wire.codecs import inspire_counts
from thenar.wire.codecs.inspire_counts import MOTORS, Readings, Scale, Settings

MEMORY_BYTES = 8192  # clients read past the last register (5123) and expect an answer


@dataclass(frozen=True, kw_only=True)
class Register:
    """A range of the memory and what may be done with it."""

    name: str
    address: int
    count: int
    dtype: str
    """Of one value: ``<i2`` or ``u1``."""
    writable: bool = False
    saved: bool = False
    """Kept in the hand when it is told to save."""

    @property
    def size(self) -> int:
        """Length in bytes."""
        return self.count * np.dtype(self.dtype).itemsize

    @property
    def bytes(self) -> slice:
        """Where it stands in the memory."""
        return slice(self.address, self.address + self.size)


REGISTERS = {
    register.name: register
    for register in (
        Register(name="HAND_ID", address=1000, count=1, dtype="u1", writable=True, saved=True),
        Register(name="REDU_RATIO", address=1002, count=1, dtype="u1", writable=True, saved=True),
        Register(name="CLEAR_ERROR", address=1004, count=1, dtype="u1", writable=True),
        Register(name="SAVE", address=1005, count=1, dtype="u1", writable=True),
        Register(name="RESET_PARA", address=1006, count=1, dtype="u1", writable=True),
        Register(name="GESTURE_FORCE_CLB", address=1009, count=1, dtype="u1", writable=True),
        Register(name="CURRENT_LIMIT", address=1020, count=6, dtype="<i2", writable=True),
        Register(name="DEFAULT_SPEED_SET", address=1032, count=6, dtype="<i2", writable=True, saved=True),
        Register(name="DEFAULT_FORCE_SET", address=1044, count=6, dtype="<i2", writable=True, saved=True),
        Register(name="POS_SET", address=1474, count=6, dtype="<i2", writable=True),
        Register(name="ANGLE_SET", address=1486, count=6, dtype="<i2", writable=True),
        Register(name="FORCE_SET", address=1498, count=6, dtype="<i2", writable=True),
        Register(name="SPEED_SET", address=1522, count=6, dtype="<i2", writable=True),
        Register(name="POS_ACT", address=1534, count=6, dtype="<i2"),
        Register(name="ANGLE_ACT", address=1546, count=6, dtype="<i2"),
        Register(name="FORCE_ACT", address=1582, count=6, dtype="<i2"),
        Register(name="CURRENT", address=1594, count=6, dtype="<i2"),
        Register(name="ERROR", address=1606, count=6, dtype="u1"),
        Register(name="STATUS", address=1612, count=6, dtype="u1"),
        Register(name="TEMP", address=1618, count=6, dtype="u1"),
        Register(name="IP_PART", address=1700, count=4, dtype="u1", writable=True, saved=True),
        # One action sequence, the one of ACTION_SEQ_INDEX.
        Register(name="ACTION_SEQ_CHECKDATA1", address=2000, count=1, dtype="u1", writable=True),
        Register(name="ACTION_SEQ_CHECKDATA2", address=2001, count=1, dtype="u1", writable=True),
        Register(name="ACTION_SEQ_STEPNUM", address=2002, count=1, dtype="u1", writable=True),
        Register(name="ACTION_SEQ_STEP", address=2016, count=8 * 19, dtype="<i2", writable=True),
        Register(name="ACTION_SEQ_INDEX", address=2320, count=1, dtype="u1", writable=True),
        Register(name="SAVE_ACTION_SEQ", address=2321, count=1, dtype="u1", writable=True),
        Register(name="ACTION_SEQ_RUN", address=2322, count=1, dtype="u1", writable=True),
        # Five fingers and the palm, one after the other, in the order of the touch message.
        Register(name="TOUCH", address=3000, count=1062, dtype="<i2"),
    )
}
FACTORY = {
    "HAND_ID": (1,),
    "REDU_RATIO": (0,),
    "DEFAULT_SPEED_SET": (1000,) * 6,
    "DEFAULT_FORCE_SET": (1000,) * 6,
    "IP_PART": (192, 168, 11, 210),
}
"""What saved registers hold when the hand is new."""

READINGS = {
    "stroke": "POS_ACT",
    "angle": "ANGLE_ACT",
    "force": "FORCE_ACT",
    "current_ma": "CURRENT",
    "error": "ERROR",
    "status": "STATUS",
    "temperature_c": "TEMP",
}
"""Registers of the fields of `Readings`."""
COMMANDS = {"stroke": "POS_SET", "angle": "ANGLE_SET", "force": "FORCE_SET", "speed": "SPEED_SET"}
SETTINGS = {**COMMANDS, "current_limit_ma": "CURRENT_LIMIT"}
"""Registers of the fields of `Settings`."""

ACTION_BLOCK = slice(REGISTERS["ACTION_SEQ_CHECKDATA1"].address, REGISTERS["ACTION_SEQ_STEP"].bytes.stop)
"""Where the action sequence stands."""

SAVED = tuple(register for register in REGISTERS.values() if register.saved)
_SINGLE_BYTES = {register.address for register in REGISTERS.values() if register.size == 1}
_WRITABLE = np.zeros(MEMORY_BYTES, dtype=bool)
for _register in REGISTERS.values():
    _WRITABLE[_register.bytes] = _register.writable


def new_memory() -> bytearray:
    """The memory of a new hand."""
    memory = bytearray(MEMORY_BYTES)
    reset(memory)
    return memory


def reset(memory: bytearray) -> None:
    """Saved registers back to what they are in a new hand."""
    for name, values in FACTORY.items():
        store(memory, name, np.array(values))


def store(memory: bytearray, name: str, values: NDArray[np.generic]) -> None:
    """Put the values of a register into the memory."""
    register = REGISTERS[name]
    memory[register.bytes] = values.astype(register.dtype).tobytes()


def load(memory: bytearray, name: str) -> NDArray[np.int64]:
    """The values of a register."""
    register = REGISTERS[name]
    return np.frombuffer(bytes(memory[register.bytes]), register.dtype).astype(np.int64)


def store_readings(memory: bytearray, readings: Readings) -> None:
    """Put what a hand reports into the memory."""
    for field, name in READINGS.items():
        store(memory, name, getattr(readings, field))


def store_settings(memory: bytearray, settings: Settings, *, zeroing: bool) -> None:
    """Put what a hand has been told, over whichever wire, into the memory."""
    for field, name in SETTINGS.items():
        store(memory, name, getattr(settings, field))
    store(memory, "GESTURE_FORCE_CLB", np.array([zeroing]))


def read_bytes(memory: bytearray, address: int, size: int) -> bytes | None:
    """The bytes of a read request; None where the memory has none."""
    return bytes(memory[address : address + size]) if 0 < size <= len(memory) - address else None


@dataclass(frozen=True, kw_only=True, eq=False)
class Write:
    """What a write request asks of the hand."""

    command: HandCommand | None
    moves: bool
    """Whether the command is about where motors go."""
    out_of_range: int
    clear_errors: bool
    zero_force: bool
    save: bool
    factory_reset: bool
    current_limit: bool
    choose_action: bool
    save_action: bool
    run_action: bool


def write_bytes(memory: bytearray, scale: Scale, address: int, data: bytes) -> Write | None:
    """Carry out a write request on the memory and say what it asks; None if no byte of it may be written.

    Bytes of the request that may not be written are left as they are. A word over a one-byte register is meant for
    that register alone, so its upper byte of 0 does not reach the neighbour; and only the value 1 sets something off.
    """
    if len(data) == 2 and data[1] == 0 and address in _SINGLE_BYTES:
        data = data[:1]
    if address + len(data) > len(memory) or not _WRITABLE[address : address + len(data)].any():
        return None
    touched = np.zeros(len(memory), dtype=bool)
    for place, value in enumerate(data, start=address):
        if _WRITABLE[place]:
            memory[place] = value
            touched[place] = True

    def hit(name: str) -> bool:
        return bool(touched[REGISTERS[name].bytes].any())

    def pressed(name: str) -> bool:
        return hit(name) and int(load(memory, name)[0]) == 1

    groups = {key: _written(memory, touched, name) for key, name in COMMANDS.items()}
    asked = {key: group for key, group in groups.items() if group is not None}
    # One request over both writes the angles last; where they have no target, the strokes count.
    if "angle" in asked and "stroke" in asked:
        asked["stroke"] = np.where(asked["angle"] >= 0.0, np.nan, asked["stroke"])
    command, wrong = inspire_counts.command(scale, **asked) if asked else (None, 0)
    return Write(
        command=command,
        moves="angle" in asked or "stroke" in asked,
        out_of_range=wrong,
        clear_errors=pressed("CLEAR_ERROR"),
        zero_force=pressed("GESTURE_FORCE_CLB"),
        save=pressed("SAVE"),
        factory_reset=pressed("RESET_PARA"),
        current_limit=hit("CURRENT_LIMIT"),
        choose_action=hit("ACTION_SEQ_INDEX"),
        save_action=pressed("SAVE_ACTION_SEQ"),
        run_action=pressed("ACTION_SEQ_RUN"),
    )


def _written(memory: bytearray, touched: BoolArray, name: str) -> FloatArray | None:
    """Values of a six-vector register that a request wrote, NaN where it did not; None if it wrote none."""
    halves = touched[REGISTERS[name].bytes].reshape(len(MOTORS), 2)
    fresh = halves.all(axis=1)  # a motor is not sent to half a value
    return np.where(fresh, load(memory, name), np.nan) if halves.any() else None
