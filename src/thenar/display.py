"""Numbers to look at: shades of a level, and tables, heat maps and pictures as text, HTML and PNG.

Nothing here knows of hands. The same scale colours terminals, notebooks, pictures and pages.
"""

from __future__ import annotations

import base64
import html
import struct
import zlib
from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from thenar import colours

_NOTHING = np.array([0.05, 0.03, 0.20])  # nearly black, where the scale begins with violet
_CELLS = (" ·", "░░", "▒▒", "▓▓", "██")
_TAXEL_PX = 7  # side of a taxel in a notebook


def shade(level: ArrayLike) -> NDArray[np.float64]:
    """Colours of levels from 0 to 1, red green blue from 0 to 1; 0 is dark. Shape (..., 3)."""
    share = np.clip(level, 0.0, 1.0)
    steps = np.round(share * (colours.STEPS - 1)).astype(np.int64)
    return np.where((share > 0.0)[..., None], colours.scale()[steps] / 255, _NOTHING)


def map_text(values: NDArray[np.float64], top: float) -> list[str]:
    """A grid as lines of characters, two to a cell so that cells are nearly square; a dot is exactly nothing."""
    steps = np.where(values > 0.0, np.clip(np.ceil(4.0 * values / max(top, 1e-12)), 1, 4), 0).astype(int)
    return ["".join(_CELLS[step] for step in row) for row in steps]


def map_html(title: str, values: NDArray[np.float64], top: float) -> str:
    """A grid as a small picture with a title under it."""
    image = np.round(255 * shade(values / max(top, 1e-12))).astype(np.uint8)
    height, width = (_TAXEL_PX * side for side in values.shape)
    return (
        '<figure style="display:inline-block;margin:4px;text-align:center;vertical-align:top">'
        f'<img width="{width}" height="{height}" style="image-rendering:pixelated" src="{png_uri(image)}">'
        f'<figcaption style="font-size:10px">{html.escape(title)}</figcaption></figure>'
    )


def table_text(columns: Sequence[str], rows: Sequence[Sequence[object]]) -> str:
    """Rows under their column names: the first column to the left, numbers to the right."""
    cells = [list(columns), *([_cell(value) for value in row] for row in rows)]
    widths = [max(len(row[n]) for row in cells) for n in range(len(columns))]
    lines = [[row[0].ljust(widths[0]), *map(str.rjust, row[1:], widths[1:])] for row in cells]
    return "\n".join("  ".join(line) for line in lines)


def table_html(columns: Sequence[str], rows: Sequence[Sequence[object]]) -> str:
    """The same as an HTML table."""
    head = "".join(f"<th>{html.escape(column)}</th>" for column in columns)
    body = "".join("<tr>" + "".join(f"<td>{html.escape(_cell(value))}</td>" for value in row) + "</tr>" for row in rows)
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def encode_png(image: NDArray[np.uint8]) -> bytes:
    """An 8-bit RGB picture as PNG. Shape (height, width, 3)."""
    height, width, _ = image.shape
    # Each line as its difference to the line above: smooth pictures then compress well.
    lines = np.vstack([image[:1], np.diff(image, axis=0)]).reshape(height, width * 3)
    raw = np.hstack([np.full((height, 1), 2, dtype=np.uint8), lines]).tobytes()

    def chunk(kind: bytes, body: bytes) -> bytes:
        return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))

    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(raw, 9)) + chunk(b"IEND", b"")


def png_uri(image: NDArray[np.uint8]) -> str:
    """A picture as an address that carries the picture itself."""
    return "data:image/png;base64," + base64.b64encode(encode_png(image)).decode()


def _cell(value: object) -> str:
    if isinstance(value, (float, np.floating)):
        return "-" if np.isnan(value) else f"{value:.3f}"
    return str(value)
