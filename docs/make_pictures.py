"""Draw the pictures of the documentation anew: every hand, and the film at the head of the README. Look at them after.

python docs/make_pictures.py [hands] [grip]
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
from rich.progress import track

import thenar
from thenar.display import shade
from thenar.sim import picture
from thenar.twin.looks import Film
from thenar.twin.world import World

PICTURES = Path(__file__).resolve().parent / "pictures"
HAND = "inspire_right"
FPS = 15


def draw_hands() -> None:
    """Every hand, open and as a fist, from the palm and from the back."""
    shots = [(name, pose) for name in thenar.hands.names() for pose in ("open", "fist")]
    for name, pose in track(shots, description="Drawing the hands"):
        spec = thenar.hands.load(name)
        world = World(spec, scene=picture.STUDIO, mounts={name: picture.UPRIGHT}, profile="ideal")
        for command, seconds in picture.pose_moves(spec, pose):
            world.command(name, command)
            world.advance(seconds)
        with picture.Artist(world, size_px=(440, 440)) as artist:
            views = [
                artist.draw(picture.view_of(world, spec, view, size_px=(440, 440)), world.tiles())
                for view in ("palm", "back")
            ]
        picture.write_png(PICTURES / f"{name}_{pose}.png", picture.side_by_side([views]))


def film_grip() -> None:
    """A hand closes on a ball of glass, with its pads beside it as heat maps."""
