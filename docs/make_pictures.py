"""Draw the pictures of the documentation anew: every hand, and the film at the head of the README. Look at them after.

python docs/make_pictures.py [hands] [grip]
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from rich.progress import track

import thenar
from thenar.display import shade
from thenar.sim.drawing import render
from thenar.twin.pictures import FULL_PA, Film
from thenar.twin.world import World

PICTURES = Path(__file__).resolve().parent / "pictures"
HAND = "inspire_right"
FPS = 14
VIEW_PX = (480, 380)
CELL_PX = 6  # side of a taxel in the panel


def draw_hands() -> None:
    """Every hand, open and as a fist, from the palm and from the back."""
    shots = [(name, pose) for name in thenar.hands.names() for pose in ("open", "fist")]
    for name, pose in track(shots, description="Drawing the hands"):
        spec = thenar.hands.load(name)
        world = World(spec, scene=render.STUDIO, mounts={name: render.UPRIGHT}, profile="ideal")
        for command, seconds in render.pose_moves(spec, pose):
            world.command(name, command)
            world.advance(seconds)
        with render.Artist(world.physics, size_px=(440, 440)) as artist:
            views = [
                artist.draw(render.view_of(world.physics, spec, view, size_px=(440, 440)), world.tiles())
                for view in ("palm", "back")
            ]
        render.write_png(PICTURES / f"{name}_{pose}.png", np.concatenate(views, axis=1))


def film_grip() -> None:
    """A hand closes on a glass rod, beside it its pads as heat maps."""
    rod = thenar.Cylinder(
        name="rod",
        radius_m=0.022,
        length_m=0.1,
        mass_kg=0.08,
        pos_m=(0.0, 0.035, 0.024),
        rpy_rad=(0.0, np.pi / 2, 0.0),
        colour=(0.62, 0.78, 0.92),
    )
    world = World(HAND, props=[rod], profile="ideal")
    camera = render.Camera(look_at_m=(0.012, 0.018, 0.035), distance_m=0.27, azimuth_deg=78.0, elevation_deg=-30.0)
    around, grip = [0.0] * 5 + [1.0], [0.95] * 4 + [0.6, 1.0]
    acts = [(around, 0.6), (grip, 3.4), (around, 1.2)]
    beats = [fractions if n == 0 else None for fractions, seconds in acts for n in range(round(seconds * FPS))]
    frames = []
    with render.Artist(world.physics, size_px=VIEW_PX) as artist:
        for fractions in track(beats, description="Filming the grip"):
            if fractions is not None:
                world.command(HAND, thenar.HandCommand.closing(fractions, speed=0.3, force_limit_n=4.0))
            world.advance(1.0 / FPS)
            view = artist.draw(camera, world.tiles(), glass=0.75)
            frames.append(np.hstack([view, draw_pads(world.touch(HAND), height_px=VIEW_PX[1])]))
    Film(tuple(frames), FPS).save(PICTURES / "grip.gif")


def draw_pads(frame: thenar.TouchFrame, *, height_px: int) -> NDArray[np.uint8]:
    """The pads of an Inspire hand in their places, seen from the palm: fingers, the palm below, the thumb beside."""
    across = 8 * CELL_PX + 12
    panel = np.full((height_px, 5 * across + 12, 3), 0.95)
    for n, finger in enumerate(("little", "ring", "middle", "index")):
        top_px = 22 + 10 * abs(2 - n)  # the middle finger is the longest
        for part in ("tip", "top", "palm"):
            top_px = _paint(panel, frame[f"{finger}_{part}"], top_px, 12 + across * n + 4 * CELL_PX)
    _paint(panel, frame["palm"], height_px - 8 * CELL_PX - 60, 12 + 2 * across - 6)
    top_px = 96
    for part in ("tip", "top", "middle", "palm"):
        top_px = _paint(panel, frame[f"thumb_{part}"], top_px, 12 + across * 4 + 4 * CELL_PX)
    return np.round(255 * panel).astype(np.uint8)


def _paint(panel: NDArray[np.float64], pressure_pa: NDArray[np.float64], top_px: int, middle_px: int) -> int:
    """Paint a pad around a vertical line; returns where the next one below it begins."""
    tile = np.kron(shade(np.sqrt(pressure_pa / FULL_PA)), np.ones((CELL_PX, CELL_PX, 1)))
    height, width, _ = tile.shape
    left = middle_px - width // 2
    panel[top_px : top_px + height, left : left + width] = tile
    return top_px + height + 6


if __name__ == "__main__":
    wanted = sys.argv[1:] or ["hands", "grip"]
    if "hands" in wanted:
        draw_hands()
    if "grip" in wanted:
        film_grip()
