"""``thenar render``: a hand as a picture."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

import tyro

from thenar import hands
from thenar.cli.show import console


@dataclass(frozen=True)
class Render:
    """Draw a hand in a posture that its motors took by themselves, as a PNG file.

    For example:

    thenar render inspire_right --pose fist -o fist.png

    thenar render shadow_right --pose pinch --view thumb -o pinch.png

    thenar render inspire_right --pose 0,0,0,1,0.5,1 -o custom.png
    """

    name: Annotated[tyro.conf.Positional[str], tyro.conf.arg(metavar="NAME")]
    """Hand to draw, or a mapping file for a model of your own."""
    pose: str = "open"
    """open, fist, pinch, point, or closing fractions from 0 to 1: one for all or one per motor."""
    view: Literal["palm", "back", "thumb", "front"] = "palm"
    """Side to look from."""
    variant: str | None = None
    """Another published coupling law of that hand."""
    size: tuple[int, int] = (640, 640)
    """Width and height in pixels."""
    out: Annotated[Path, tyro.conf.arg(aliases=["-o"])] = Path("hand.png")
    """File to write."""

    def run(self) -> None:
        """Draw and write."""
        from thenar.sim import picture

        spec = hands.load(self.name, variant=self.variant)
        picture.write_png(self.out, picture.draw_hand(spec, pose=self.pose, view=self.view, size_px=self.size))
        console.print(f"wrote {self.out}")
