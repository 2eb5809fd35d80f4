"""Wrong bytes from right ones: a few places changed, parts left out, doubled or taken from another seed."""

from __future__ import annotations

import random
import re
import struct
from collections.abc import Callable, Sequence

MAX_BYTES = 65507  # of a datagram

_SPECIAL = (b"\x00", b"\xff", b"\x7f", b"\x80", b"\x01")
_NUMBERS = [
    struct.pack(order + kind, value)
    for order in "<>"
    for kind, values in {
        "H": (0, 1, 0x7FFF, 0x8000, 0xFFFF),
        "I": (0, 1, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF, 256, 65536),
        "Q": (1 << 31, 1 << 32, 1 << 48, (1 << 63) - 1, 1 << 63),
        "f": (float("nan"), float("inf"), -float("inf"), 1e38, 1e-40),
        "d": (float("nan"), float("inf"), 1e308, -1e308, 5e-324),
    }.items()
    for value in values
]
_WORDS = [
    *(b"nan", b"inf", b"-inf", b"-0", b"1e999", b"1e-999", b"-1", b"0", b"9" * 400, b"1" + b"0" * 30, b"null", b"true"),
    *(b"[", b"]", b"{", b"}", b'"', b"'", b",", b":", b"=", b"#", b"\n", b"\r\n", b"\t", b"\\", b"[[", b'"""'),
    *(b"[]", b"{}", b'""', b"\\u0000", b"\\ud800", b"\xef\xbb\xbf", b"\xc3\x28", b"\x1b[2J", b"[" * 300, b"<", b"&"),
]
_NUMBER = re.compile(rb"-?\d+(?:\.\d+)?(?:e-?\d+)?")

Change = Callable[[random.Random, bytearray, Sequence[bytes]], None]


def mutate(luck: random.Random, data: bytes, others: Sequence[bytes], *, text: bool, most: int = MAX_BYTES) -> bytes:
    """One wrong version of some bytes.

    Args:
        luck: Where chance comes from.
        data: What is changed.
        others: Seeds from which parts are taken.
        text: Whether they are words and numbers rather than fields.
        most: How long it may become [bytes].
    """
    made = bytearray(data)
    changes = _TEXT_CHANGES if text else _BYTE_CHANGES
    for _ in range(luck.choice((1, 1, 1, 2, 2, 3, 5, 9))):
        luck.choice(changes)(luck, made, others)
    return bytes(made[:most])


def _flip(luck: random.Random, made: bytearray, _: Sequence[bytes]) -> None:
    if made:
        made[luck.randrange(len(made))] ^= 1 << luck.randrange(8)


def _put(luck: random.Random, made: bytearray, values: Sequence[bytes]) -> None:
    value = luck.choice(values)
    if len(made) >= len(value):
        at = luck.randrange(len(made) - len(value) + 1)
        made[at : at + len(value)] = value


def _special(luck: random.Random, made: bytearray, _: Sequence[bytes]) -> None:
    _put(luck, made, _SPECIAL)


def _number(luck: random.Random, made: bytearray, _: Sequence[bytes]) -> None:
    _put(luck, made, _NUMBERS)


def _any_byte(luck: random.Random, made: bytearray, _: Sequence[bytes]) -> None:
    if made:
        made[luck.randrange(len(made))] = luck.randrange(256)


def _cut(luck: random.Random, made: bytearray, _: Sequence[bytes]) -> None:
    if made:
        del made[luck.randrange(len(made)) :]


def _leave_out(luck: random.Random, made: bytearray, _: Sequence[bytes]) -> None:
    start, end = _part(luck, len(made))
    del made[start:end]


def _double(luck: random.Random, made: bytearray, _: Sequence[bytes]) -> None:
    start, end = _part(luck, len(made))
    part = bytes(made[start:end])
    # Once in a while so often that it fills a datagram: what costs the square of a length shows itself there.
    room = (MAX_BYTES - len(made)) // max(len(part), 1)
    made[end:end] = part * min(luck.choice((1, 1, 2, 8, 64, MAX_BYTES)), room)


def _splice(luck: random.Random, made: bytearray, others: Sequence[bytes]) -> None:
    other = luck.choice(others)
    start, end = _part(luck, len(other))
    at = luck.randrange(len(made) + 1)
    made[at : at + luck.choice((0, end - start))] = other[start:end]


def _swap_word(luck: random.Random, made: bytearray, _: Sequence[bytes]) -> None:
    found = [match.span() for match in _NUMBER.finditer(made[:4096])]
    start, end = luck.choice(found) if found else (0, 0)
    made[start:end] = luck.choice(_WORDS)


def _add_word(luck: random.Random, made: bytearray, _: Sequence[bytes]) -> None:
    at = luck.randrange(len(made) + 1)
    made[at:at] = luck.choice(_WORDS)


def _move_line(luck: random.Random, made: bytearray, _: Sequence[bytes]) -> None:
    lines = bytes(made).split(b"\n")
    line = lines.pop(luck.randrange(len(lines)))
    for _copy in range(luck.choice((0, 1, 2))):
        lines.insert(luck.randrange(len(lines) + 1), line)
    made[:] = b"\n".join(lines)


def _part(luck: random.Random, size: int) -> tuple[int, int]:
    start = luck.randrange(size + 1)
    return start, min(size, start + luck.choice((1, 2, 4, 8, 24, 64, 512)))


_EVERYWHERE: tuple[Change, ...] = (_flip, _cut, _leave_out, _double, _splice)
_BYTE_CHANGES: tuple[Change, ...] = (*_EVERYWHERE, _flip, _special, _number, _number, _any_byte)
_TEXT_CHANGES: tuple[Change, ...] = (*_EVERYWHERE, _swap_word, _swap_word, _add_word, _add_word, _move_line)
