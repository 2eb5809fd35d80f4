"""Numbers to look at: a colour scale, and tables, heat maps and pictures as text, HTML and PNG.

Nothing here knows of hands. The same scale colours terminals, notebooks, pictures and pages. It runs from deep violet
over red and orange to pale yellow. Its lightness, as people see it (the L of OKLab), grows evenly, so that a pressure
twice as high looks twice as far along, in grey prints and to colour-blind eyes too.
"""

from __future__ import annotations

import base64
import functools
import html
import struct
import zlib
from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from thenar.arrays import FloatArray

Colours = NDArray[np.uint8]

STEPS = 256
IDLE = (70, 80, 102)
"""A taxel that feels nothing."""
DEAD = (0, 229, 255)
"""A taxel that is broken: a colour the scale does not have."""

# Lightness, chroma and hue in degrees, at even distances along the scale.
_LIGHTNESS = (0.34, 0.95)
_CHROMA = (0.13, 0.19, 0.20, 0.17, 0.11)
_HUE_DEG = (295.0, 340.0, 390.0, 430.0, 464.0)

_NOTHING = np.array([0.05, 0.03, 0.20])  # nearly black, where the scale begins with violet
_CELLS = (" ·", "░░", "▒▒", "▓▓", "██")
_TAXEL_PX = 7  # side of a taxel in a notebook


@functools.cache
def scale() -> Colours:
    """The scale, from the least to the most. Shape (256, 3)."""
    along = np.linspace(0.0, 1.0, STEPS)
    knots = np.linspace(0.0, 1.0, len(_CHROMA))
    lightness = np.interp(along, (0.0, 1.0), _LIGHTNESS)
    chroma = np.interp(along, knots, _CHROMA)
    hue = np.radians(np.interp(along, knots, _HUE_DEG))
    # Colours that no screen has are paled until one does.
    rgb = _linear_rgb(lightness, chroma, hue)
    while np.any((rgb < -1e-6) | (rgb > 1.0 + 1e-6)):
        outside = np.any((rgb < -1e-6) | (rgb > 1.0 + 1e-6), axis=1)
        chroma = np.where(outside, 0.96 * chroma, chroma)
        rgb = _linear_rgb(lightness, chroma, hue)
    table = np.round(255 * _encode(np.clip(rgb, 0.0, 1.0))).astype(np.uint8)
    table.setflags(write=False)  # everyone shares it
    return table


def lightness(colours: Colours) -> FloatArray:
    """How light colours look, from 0 to 1: the L of OKLab. Shape (...)."""
    rgb = np.asarray(colours, dtype=np.float64) / 255
    linear = np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)
    return np.cbrt(linear @ _RGB_TO_LMS.T) @ np.array([0.2104542553, 0.7936177850, -0.0040720468])


def level_colours(share: FloatArray) -> Colours:
    """Colours of taxels that are loaded to a share of full scale; those that feel nothing are idle. Shape (n, 3)."""
    step = (np.nan_to_num(np.clip(share, 0.0, 1.0)) * (STEPS - 1)).astype(np.int64)
    return np.where((share > 0.004)[:, None], scale()[step], np.array(IDLE, dtype=np.uint8))


def css(colour: tuple[int, ...] | Colours) -> str:
    """A colour as style sheets write it."""
    return "#" + "".join(f"{int(part):02x}" for part in colour)


# Ref: Björn Ottosson, "A perceptual color space for image processing", 2020.
_RGB_TO_LMS = np.array(
    [
        [0.4122214708, 0.5363325363, 0.0514459929],
        [0.2119034982, 0.6806995451, 0.1073969566],
        [0.0883024619, 0.2817188376, 0.6299787005],
    ]
)


def _linear_rgb(lightness: FloatArray, chroma: FloatArray, hue_rad: FloatArray) -> FloatArray:
    a, b = chroma * np.cos(hue_rad), chroma * np.sin(hue_rad)
    lms = np.stack(
        [
            lightness + 0.3963377774 * a + 0.2158037573 * b,
            lightness - 0.1055613458 * a - 0.0638541728 * b,
            lightness - 0.0894841775 * a - 1.2914855480 * b,
        ],
        axis=1,
    )
    return lms**3 @ np.linalg.inv(_RGB_TO_LMS).T


def _encode(linear: FloatArray) -> FloatArray:
    return np.where(linear <= 0.0031308, 12.92 * linear, 1.055 * linear ** (1 / 2.4) - 0.055)


def shade(level: ArrayLike) -> FloatArray:
    """Colours of levels from 0 to 1, red green blue from 0 to 1; 0 is dark, and so is NaN. Shape (..., 3)."""
    share = np.nan_to_num(np.clip(level, 0.0, 1.0))
    steps = np.round(share * (STEPS - 1)).astype(np.int64)
    return np.where((share > 0.0)[..., None], scale()[steps] / 255, _NOTHING)


def map_text(values: FloatArray, top: float) -> list[str]:
    """A grid as lines of characters, two to a cell so that cells are nearly square; a dot is exactly nothing."""
    steps = np.where(values > 0.0, np.clip(np.ceil(4.0 * values / max(top, 1e-12)), 1, 4), 0).astype(int)
    return ["".join(_CELLS[step] for step in row) for row in steps]


def map_html(title: str, values: FloatArray, top: float) -> str:
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


def encode_png(image: Colours) -> bytes:
    """An 8-bit RGB picture as PNG. Shape (height, width, 3)."""
    height, width, _ = image.shape
    # Each line as its difference to the line above: smooth pictures then compress well.
    lines = np.vstack([image[:1], np.diff(image, axis=0)]).reshape(height, width * 3)
    raw = np.hstack([np.full((height, 1), 2, dtype=np.uint8), lines]).tobytes()

    def chunk(kind: bytes, body: bytes) -> bytes:
        return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))

    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(raw, 9)) + chunk(b"IEND", b"")


def png_uri(image: Colours) -> str:
    """A picture as an address that carries the picture itself."""
    return "data:image/png;base64," + base64.b64encode(encode_png(image)).decode()


def _cell(value: object) -> str:
    if isinstance(value, (float, np.floating)):
        return "-" if np.isnan(value) else f"{value:.3f}"
    return str(value)
