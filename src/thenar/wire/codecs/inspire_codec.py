"""The DDS messages of the tactile Inspire hand (RH56DFTP, RH56E2) as bytes, both ways. No DDS library needed.

Three keyless types of bounded sequences: ``inspire_hand_ctrl``, ``inspire_hand_state``, ``inspire_hand_touch``. A
sequence may be shorter than its bound: clients that fill only ``angle_set`` are common.
"""

from __future__ import annotations

import enum
import struct
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import ArrayLike, NDArray

from thenar import cdr
from thenar.errors import BadValue
from thenar.hands.spec import HandSpec
from thenar.signals import HandCommand
from thenar.wire.codecs import inspire_counts
from thenar.wire.codecs.inspire_counts import MOTORS, Readings, Scale

LETTER = {"left": "l", "right": "r"}

# Fields of the touch message in order, with the pad of ours that each one is.
_FINGERS = (("one", "little"), ("two", "ring"), ("three", "middle"), ("four", "index"))
TOUCH_FIELDS = (
    *((f"finger{n}_{part}_touch", f"{name}_{part}") for n, name in _FINGERS for part in ("tip", "top", "palm")),
    *((f"fingerfive_{part}_touch", f"thumb_{part}") for part in ("tip", "top", "middle", "palm")),
    ("palm_touch", "palm"),
)


def topic(kind: str, side: str) -> str:
    """Topic of a hand; ``kind`` is ctrl, state or touch."""
    return f"rt/inspire_hand/{kind}/{LETTER[side]}"


def _topics(*kinds: str) -> dict[str, str]:
    return {topic(kind, side): f"inspire::inspire_hand_{kind}" for kind in kinds for side in LETTER}


STATES, COMMANDS = _topics("state", "touch"), _topics("ctrl")
"""Topics a hand publishes and topics it hears, with their types."""


GROUPS = ("stroke", "angle", "force", "speed")
"""Of a ctrl message, in the order of the wire."""


class Mode(enum.IntFlag):
    """Which groups of a ctrl message act; with 0 nothing does."""

    ANGLE = 1
    STROKE = 2
    FORCE = 4
    SPEED = 8


_MODE_BITS = {name: int(Mode[name.upper()]) for name in GROUPS}  # a flag takes microseconds to look up and to mask


@dataclass(frozen=True, kw_only=True, eq=False)
class Ctrl:
    """A ctrl message: up to six counts in each group."""

    stroke: ArrayLike = ()
    angle: ArrayLike = ()
    force: ArrayLike = ()
    speed: ArrayLike = ()
    mode: int = 0


def encode_ctrl(ctrl: Ctrl) -> bytes:
    """A ctrl message as bytes."""
    message = bytearray(cdr.HEADER)
    for name in GROUPS:
        values = np.asarray(getattr(ctrl, name), dtype=np.int64).reshape(-1)
        if values.size > len(MOTORS) or (values.size and abs(values).max() > np.iinfo(np.int16).max):
            raise BadValue(name, values.tolist(), f"up to {len(MOTORS)} counts from -32767 to 32767")
        message += bytes(-len(message) % 4) + struct.pack(f"<I{values.size}h", values.size, *values.tolist())
    return bytes(message) + struct.pack("<b", ctrl.mode)


def decode_ctrl(message: bytes) -> Ctrl:
    """A ctrl message from bytes; anything else raises `BadMessage`."""
    reader = cdr.Reader(message)
    groups = {name: reader.sequence("i2", len(MOTORS), f"{name}_set") for name in GROUPS}
    mode = int(reader.numbers("i1", 1, "mode")[0])
    reader.end()
    return Ctrl(**groups, mode=mode)


def command_of(scale: Scale, ctrl: Ctrl) -> tuple[HandCommand | None, int]:
    """What a ctrl message asks of the hand, and how many counts were out of range; None if it asks nothing."""
    mode = int(ctrl.mode)
    groups = {name: getattr(ctrl, name) for name, bit in _MODE_BITS.items() if mode & bit}
    if not any(np.size(group) for group in groups.values()):
        return None, 0
    return inspire_counts.command(scale, **groups)


# Six int16 or six uint8 with their length words; byte sequences are padded to the next length word.
_STATE = struct.Struct("<4s" + "I6h" * 4 + "I6B2x" * 2 + "I6B")


def encode_state(readings: Readings) -> bytes:
    """A state message as bytes, every sequence full."""
    return _STATE.pack(
        cdr.HEADER,
        6, *readings.stroke.tolist(), 6, *readings.angle.tolist(), 6, *readings.force.tolist(),
        6, *readings.current_ma.tolist(), 6, *readings.error.tolist(), 6, *readings.status.tolist(),
        6, *readings.temperature_c.tolist(),
    )  # fmt: skip


def decode_state(message: bytes) -> Readings:
    """A state message from bytes. Values that a driver left out are 0."""
    reader = cdr.Reader(message)
    fields = {name: reader.sequence("i2", 6, name) for name in ("stroke", "angle", "force", "current_ma")}
    fields |= {name: reader.sequence("u1", 6, name) for name in ("error", "status", "temperature_c")}
    reader.end()
    return Readings(**{name: _six(values) for name, values in fields.items()})


def _six(values: NDArray) -> NDArray:
    return values.copy() if values.size == 6 else np.concatenate([values, np.zeros(6 - values.size, values.dtype)])


@dataclass(frozen=True, kw_only=True, eq=False)
class TouchLayout:
    """Where the taxels of a hand stand in its touch message."""

    taxels: NDArray[np.int64]
    """For each number of the message, the taxel of ours that it is (as in `TouchFrame.taxel_counts`)."""
    sizes: tuple[int, ...]
    """Numbers in each field."""
    words: NDArray[np.int64]
    """Place of each number in the message, in 16-bit words."""
    blank: NDArray[np.int16] = field(repr=False)
    """The message with every taxel 0."""

    @staticmethod
    def of(spec: HandSpec) -> TouchLayout:
        """The layout of a hand with skin; a hand without is refused."""
        if {pad.name for pad in spec.pads} != {pad for _, pad in TOUCH_FIELDS}:
            raise BadValue("hand", spec.name, "an Inspire hand with skin, such as inspire_right")
        first, firsts = 0, {}
        for pad in spec.pads:
            firsts[pad.name] = first
            first += pad.rows * pad.cols
        taxels, sizes, words = [], [], []
        message = bytearray(cdr.HEADER)
        for _, name in TOUCH_FIELDS:
            pad = spec.pad(name)
            grid = firsts[name] + np.arange(pad.rows * pad.cols).reshape(pad.rows, pad.cols)
            # The palm goes column by column, each from the bottom row up; fingers go row by row.
            order = grid[::-1].T if name == "palm" else grid
            message += bytes(-len(message) % 4) + struct.pack("<I", grid.size)
            words.append(len(message) // 2 + np.arange(grid.size))
            message += bytes(2 * grid.size)
            taxels.append(order.ravel())
            sizes.append(grid.size)
        return TouchLayout(
            taxels=np.concatenate(taxels),
            sizes=tuple(sizes),
            words=np.concatenate(words),
            blank=np.frombuffer(bytes(message), dtype="<i2"),
        )


def touch_words(layout: TouchLayout, taxel_counts: NDArray[np.int64]) -> NDArray[np.int16]:
    """The counts of all taxels in the order of the wire, which DDS and Modbus share."""
    return taxel_counts[layout.taxels].astype("<i2")


def encode_touch(layout: TouchLayout, taxel_counts: NDArray[np.int64]) -> bytes:
    """A touch message as bytes.

    Args:
        layout: Where taxels stand in the message.
        taxel_counts: What the sensors say, pad after pad in the hand's own order.
    """
    message = layout.blank.copy()
    message[layout.words] = touch_words(layout, taxel_counts)
    return message.tobytes()


def decode_touch(layout: TouchLayout, message: bytes) -> NDArray[np.int64]:
    """Counts of all taxels, pad after pad in the hand's own order; fields a driver left short are 0 there."""
    reader = cdr.Reader(message)
    taxel_counts = np.zeros(layout.taxels.size, dtype=np.int64)
    first = 0
    for (name, _), size in zip(TOUCH_FIELDS, layout.sizes, strict=True):
        values = reader.sequence("i2", size, name)
        taxel_counts[layout.taxels[first : first + values.size]] = values
        first += size
    reader.end()
    return taxel_counts
