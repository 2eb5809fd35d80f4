"""``thenar render``: a hand as a picture."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

import numpy as np
import tyro
from rich.progress import track

from thenar import hands
from thenar.cli.show import console

POSES = ("open", "fist")


@dataclass(frozen=True)
class Render:
    """Draw a hand in a posture that its motors took by themselves, as a PNG file.

    For example:

    thenar render inspire_right --pose fist -o fist.png

    thenar render shadow_right --pose pinch --view thumb -o pinch.png

    thenar render inspire_right --pose 0,0,0,1,0.5,1 -o custom.png

    thenar render --tour pictures
    """

    name: Annotated[tyro.conf.Positional[str], tyro.conf.arg(metavar="NAME")] = "inspire_right"
    """Hand to draw, or a mapping file for a model of your own."""
    pose: str = "open"
    """open, fist, pinch, point, thumbs_up, or closing fractions from 0 to 1: one for all or one per motor."""
    view: Literal["palm", "back", "thumb", "front"] = "palm"
    """Side to look from."""
    variant: str | None = None
    """Another published coupling law of that hand."""
    size: tuple[int, int] = (640, 640)
    """Width and height in pixels."""
    out: Annotated[Path, tyro.conf.arg(aliases=["-o"])] = Path("hand.png")
    """File to write."""
    tour: Path | None = None
    """Folder for pictures of every hand, open and as a fist, and of one that holds a ball."""

    def run(self) -> None:
        """Draw and write."""
        from thenar.sim import picture

        if self.tour is not None:
            _tour(self.tour)
            return
        spec = hands.load(self.name, variant=self.variant)
        picture.write_png(self.out, picture.draw_hand(spec, pose=self.pose, view=self.view, size_px=self.size))
        console.print(f"wrote {self.out}")


def _tour(folder: Path) -> None:
    from thenar.sim import picture

    shots = [(name, pose) for name in hands.names() for pose in POSES]
    for name, pose in track(shots, description="Drawing the hands", console=console):
        spec = hands.load(name)
        world = picture.posed_world(spec, pose)
        views = [picture.draw_posed(world, spec, view=view, size_px=(440, 440)) for view in ("palm", "back")]
        picture.write_png(folder / f"{name}_{pose}.png", picture.side_by_side([views]))
    picture.write_png(folder / "inspire_right_ball.png", _hand_with_ball())
    console.print(f"{len(shots) + 1} pictures in {folder}/")


def _hand_with_ball() -> np.ndarray:
    from thenar.signals import HandCommand
    from thenar.sim import picture
    from thenar.sim.props import Sphere
    from thenar.twin.world import World

    ball = Sphere(name="ball", radius_m=0.030, mass_kg=0.06, pos_m=(0.0, 0.04, 0.032))
    world = World("inspire_right", props=[ball])
    # The thumb goes round first, so that it meets the ball and not the fingers.
    world.command("inspire_right", HandCommand.closing([0, 0, 0, 0, 0, 1]))
    world.advance(0.7)
    world.command("inspire_right", HandCommand.closing([0.9, 0.9, 0.9, 0.9, 0.6, 1], speed=0.35, force_limit_n=3.0))
    world.advance(3.3)
    centre = world.wrist("inspire_right")[0] + [0.0, 0.02, 0.02]
    return picture.draw(world, look_at_m=centre, distance_m=0.42, azimuth_deg=145.0, elevation_deg=-28.0)
