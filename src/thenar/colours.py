"""Colours: a scale whose steps look equal, for terminals, notebooks, pictures and the page, and the page's tones.

The scale runs from deep violet over red and orange to pale yellow. Its lightness, as people see it (the L of OKLab),
grows evenly, so that a pressure twice as high looks twice as far along, in grey prints and to colour-blind eyes too.
"""

from __future__ import annotations

import functools

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]
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
    step = np.clip((share * (STEPS - 1)).astype(np.int64), 0, STEPS - 1)
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
