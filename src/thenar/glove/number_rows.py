"""Rows of numbers in a JSON text, read where they stand: Python's own reader takes most of a live frame's time.

Only what is plainly ``[[1, 2.5, -3e-2], ...]`` with rows of one length is taken; whoever calls gives anything else to
`json`, which knows all of the format and what is wrong with a text.
"""

from __future__ import annotations

import numba as nb
import numpy as np
from numpy.typing import NDArray

from thenar.signals import FloatArray

SPACE, COMMA, OPEN, CLOSE, MINUS, PLUS, DOT, ZERO, NINE = (ord(c) for c in " ,[]-+.09")
BIG_E, SMALL_E = ord("E"), ord("e")
MAX_DIGITS = 17  # as many as a float may need; a longer number is rare, and json reads it
_POWERS = 10.0 ** np.arange(0, 23)  # exact as floats


@nb.njit(cache=True)
def read_rows(text: NDArray[np.uint8], at: int, columns: int, out: FloatArray) -> tuple[int, int]:
    """Read rows of numbers from a place in a text.

    Args:
        text: The text.
        at: Where the outer bracket is expected, spaces before it aside.
        columns: Length of a row.
        out: Is filled. Shape (rows, columns) with room for the most rows.

    Returns:
        How many rows there are and where the text goes on; -1 rows for anything else than plain rows.
    """
    at = _after_spaces(text, at)
    if at >= len(text) or text[at] != OPEN:
        return -1, at
    at += 1
    for row in range(len(out) + 1):
        at = _after_spaces(text, at)
        if row == len(out) or at >= len(text) or text[at] != OPEN:
            return -1, at
        at += 1
        for column in range(columns):
            at = _after_spaces(text, at)
            value, at = _number(text, at)
            at = _after_spaces(text, at)
            if at < 0 or at >= len(text) or text[at] != (CLOSE if column == columns - 1 else COMMA):
                return -1, at
            out[row, column] = value
            at += 1
        at = _after_spaces(text, at)
        if at >= len(text):
            return -1, at
        if text[at] == CLOSE:
            return row + 1, at + 1
        if text[at] != COMMA:
            return -1, at
        at += 1
    return -1, at


@nb.njit(cache=True)
def _after_spaces(text: NDArray[np.uint8], at: int) -> int:
    while 0 <= at < len(text) and text[at] == SPACE:
        at += 1
    return at


@nb.njit(cache=True)
def _number(text: NDArray[np.uint8], at: int) -> tuple[float, int]:
    """A number as JSON writes it, and where the text goes on; -1 where there is none that is plain."""
    negative = at < len(text) and text[at] == MINUS
    at += negative
    digits, whole, power, mantissa = 0, 0, 0, 0
    first = at
    while at < len(text) and ZERO <= text[at] <= NINE:
        mantissa = 10 * mantissa + (text[at] - ZERO)
        at, whole, digits = at + 1, whole + 1, digits + (mantissa > 0)
        if digits > MAX_DIGITS:
            return 0.0, -1
    if whole == 0 or (whole > 1 and text[first] == ZERO):
        return 0.0, -1
    if at < len(text) and text[at] == DOT:
        at, begin = at + 1, at + 1
        while at < len(text) and ZERO <= text[at] <= NINE:
            mantissa = 10 * mantissa + (text[at] - ZERO)
            at, power, digits = at + 1, power - 1, digits + (mantissa > 0)
            if digits > MAX_DIGITS:
                return 0.0, -1
        if at == begin:
            return 0.0, -1
    if at < len(text) and (text[at] == SMALL_E or text[at] == BIG_E):
        at += 1
        down = at < len(text) and text[at] == MINUS
        at += at < len(text) and (text[at] == MINUS or text[at] == PLUS)
        begin, exponent = at, 0
        while at < len(text) and ZERO <= text[at] <= NINE:
            exponent, at = 10 * exponent + (text[at] - ZERO), at + 1
            if exponent > 300:
                return 0.0, -1
        if at == begin:
            return 0.0, -1
        power += -exponent if down else exponent
    if not -22 <= power <= 22:
        return 0.0, -1
    value = float(mantissa) / _POWERS[-power] if power < 0 else float(mantissa) * _POWERS[power]
    return (-value if negative else value), at
