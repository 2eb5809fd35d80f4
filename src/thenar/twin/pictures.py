"""Pictures and films of a world in which pressed skin glows.

Looking never changes what follows: the skin that is drawn is worked out beside the one that is read.
"""

from __future__ import annotations

import base64
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from thenar.display import encode_png, shade
from thenar.hands.pad_charts import taxel_frames
from thenar.hands.spec import HandSpec
from thenar.recordings.film import encode_film, write_film
from thenar.sim.drawing.render import Image, Tiles, write_png
from thenar.sim.physics import Physics
from thenar.touch.hand_touch import HandTouch

FULL_PA = 100e3
"""Pressure that has the brightest colour [Pa]; colours go with its square root."""
GAP = 0.12  # share of a taxel's pitch that stays free around its tile
MAX_HALF_M = 0.002  # a sensor that stands far from the next is drawn as a spot
LIFT_M = 0.0002  # tiles stand this much above the skin


@dataclass(frozen=True, eq=False)
class Picture:
    """A picture; a notebook shows it."""

    image: Image
    """Shape (height, width, 3)."""

    def save(self, path: Path | str) -> None:
        """Write it as PNG."""
        write_png(Path(path), self.image)

    def _repr_png_(self) -> bytes:
        return encode_png(self.image)


@dataclass(frozen=True, eq=False)
class Film:
    """Pictures of one size; a notebook plays them. Needs ``pip install 'thenar[film]'``."""

    frames: tuple[Image, ...]
    fps: int

    def save(self, path: Path | str) -> None:
        """Write it as GIF or MP4, whichever the name asks for."""
        write_film(Path(path), self.frames, fps=self.fps)

    def _repr_html_(self) -> str:
        gif = base64.b64encode(encode_film(self.frames, fps=self.fps, kind=".gif")).decode()
        return f'<img src="data:image/gif;base64,{gif}">'


class SkinTiles:
    """The taxels of one hand as plates that can be drawn."""

    def __init__(self, hand: HandSpec, touch: HandTouch):
        """Lay them out in the frames of their links."""
        self._hand, self._touch = hand, touch
        self._links = [pad.link for pad in hand.pads for _ in range(pad.taxels)]
        laid = [_lay(hand, pad.name) for pad in hand.pads]
        self._pos_m, self._R, self._half_m = (np.concatenate(part) for part in zip(*laid, strict=True))

    def now(self, physics: Physics, *, full_pa: float = FULL_PA) -> Tiles:
        """Where the tiles are in the world, coloured by pressure."""
        frame = self._touch.solve(physics.solid_contacts())
        seen = physics.seen()
        poses = {link: seen.body(f"{self._hand.name}/{link}") for link in set(self._links)}
        origin_m = np.array([poses[link].xpos for link in self._links])
        R = np.array([poses[link].xmat for link in self._links]).reshape(-1, 3, 3)
        return Tiles(
            pos_m=origin_m + np.einsum("nij,nj->ni", R, self._pos_m),
            R=R @ self._R,
            half_m=self._half_m,
            colour=shade(np.sqrt(frame.taxel_pressure_pa / full_pa)),  # so that a light touch is seen too
        )


def _lay(hand: HandSpec, name: str) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
    """Centres, orientations and half sizes of a pad's tiles in the frame of its link."""
    pad = hand.pad(name)
    points, R = taxel_frames(hand, pad)
    half_m = np.minimum(0.5 * (1.0 - GAP) * np.array([pad.row_pitch_m, pad.col_pitch_m]), MAX_HALF_M)
    half_m = np.tile(half_m, (pad.taxels, 1))
    return points + LIFT_M * R[:, :, 2], R, half_m


def join_tiles(tiles: list[Tiles]) -> Tiles | None:
    """Tiles of several hands as one; None where no hand has any."""
    if not tiles:
        return None
    return Tiles(
        **{name: np.concatenate([getattr(t, name) for t in tiles]) for name in ("pos_m", "R", "half_m", "colour")}
    )
