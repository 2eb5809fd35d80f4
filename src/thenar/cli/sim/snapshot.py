"""``thenar snapshot``: hands as a picture or a short film, without a browser."""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import tyro
from rich.progress import track

from thenar import hands
from thenar.cli.show import console, listed
from thenar.errors import BadFile, BadValue

if TYPE_CHECKING:
    from thenar.hands.spec import HandSpec
    from thenar.signals import Closing
    from thenar.sim.drawing.render import Camera
    from thenar.twin.world import World

GLASS = 0.7  # how far objects let the skin behind them through


@dataclass(frozen=True)
class Snapshot:
    """Draw hands as a picture (.png) or film them (.gif, .mp4). Pressed skin glows, objects are of glass.

    A hand by itself takes a posture with its own motors; in a scene, hands close on what is there.

    For example:

    thenar snapshot inspire_right --pose fist -o fist.png

    thenar snapshot shadow_right --pose pinch --view thumb -o pinch.png

    thenar snapshot inspire_right --pose 0,0,0,1,0.5,1 -o custom.png

    thenar snapshot inspire_left,inspire_right --scene in_hand -o grip.gif

    thenar snapshot --scene cylinder_pick --seconds 4 -o pick.mp4
    """

    names: Annotated[tyro.conf.Positional[str], tyro.conf.arg(metavar="[NAMES]")] = "inspire_right"
    """Hands, separated by commas; a mapping file for a model of your own."""
    scene: str = ""
    """Surroundings, thenar scenes lists them; empty: one hand by itself, upright."""
    pose: str = ""
    """open, fist, pinch, point, thumbs_up or closing fractions from 0 to 1, one for all or one per motor. Empty is
    open in a picture of a hand by itself and fist otherwise."""
    view: Literal["palm", "back", "thumb", "front"] = "palm"
    """Side to look from at a hand by itself."""
    azimuth: float = 75.0
    """Direction to look in, in a scene, degrees around the vertical; 0 looks along x, 90 along y."""
    elevation: float = -40.0
    """Direction to look in, in a scene, degrees against the ground; negative looks down."""
    seconds: float = 4.0
    """How long hands close in a scene."""
    fps: int = 20
    """Pictures a second of a film."""
    size: tuple[int, int] = (640, 480)
    """Width and height in pixels."""
    variant: str | None = None
    """Another published coupling law of that hand."""
    out: Annotated[Path, tyro.conf.arg(aliases=["-o"])] = Path("hand.png")
    """File to write: its ending says whether a picture or a film is wanted."""

    def run(self) -> None:
        """Draw and write."""
        from thenar.sim.drawing.render import Artist
        from thenar.twin.pictures import Film, Picture

        if self.out.suffix.lower() not in (".png", ".gif", ".mp4"):
            raise BadFile(self.out, "the name must end in .png for a picture, in .gif or .mp4 for a film")
        if not (0.0 < self.seconds < math.inf and self.fps > 0):
            raise BadValue("--seconds and --fps", (self.seconds, self.fps), "numbers above 0")
        if not math.isfinite(self.azimuth + self.elevation):
            raise BadValue("--azimuth and --elevation", (self.azimuth, self.elevation), "degrees")
        filmed = self.out.suffix.lower() != ".png"
        specs = [hands.load(name, variant=self.variant) for name in listed(self.names)]
        world = self._world(specs)
        moves = self._moves(specs, filmed)
        beats = [move if n == 0 else {} for move, seconds in moves for n in range(round(seconds * self.fps))]
        with Artist(world.physics, size_px=self.size) as artist:
            camera, frames = self._camera(world), []
            for commands in track(beats, description="Filming", console=console, disable=not filmed, transient=True):
                for hand, command in commands.items():
                    world.command(hand, command)
                world.advance(1.0 / self.fps)
                if filmed:
                    frames.append(artist.draw(camera, world.tiles(), glass=GLASS))
            if filmed:
                Film(tuple(frames), self.fps).save(self.out)
            else:
                Picture(artist.draw(self._camera(world), world.tiles(), glass=GLASS)).save(self.out)
        console.print(f"wrote {self.out}")

    def _world(self, specs: list[HandSpec]) -> World:
        from thenar.sim.drawing.render import STUDIO, UPRIGHT
        from thenar.twin.world import World

        if self.scene:
            return World(specs, scene=self.scene)
        if len(specs) != 1:
            raise BadValue("NAMES", self.names, "one hand, or a --scene for several")
        return World(specs, scene=STUDIO, mounts={specs[0].name: UPRIGHT}, profile="ideal")

    def _moves(self, specs: list[HandSpec], filmed: bool) -> list[tuple[dict[str, Closing], float]]:
        """What hands are told, and for how long each time."""
        from thenar.sim.drawing.render import grip_moves, pose_moves

        if not self.scene:
            pose = self.pose or ("fist" if filmed else "open")
            return [({specs[0].name: command}, seconds) for command, seconds in pose_moves(specs[0], pose)]
        grips = [grip_moves(spec, self.pose or "fist", seconds=self.seconds) for spec in specs]
        return [
            ({spec.name: command for spec, (command, _) in zip(specs, together, strict=True)}, together[0][1])
            for together in zip(*grips, strict=True)
        ]

    def _camera(self, world: World) -> Camera:
        from thenar.sim.drawing.render import frame_world, view_of

        if self.scene:
            return frame_world(world.physics, azimuth_deg=self.azimuth, elevation_deg=self.elevation, size_px=self.size)
        return view_of(world.physics, world.hand(world.hand_names[0]), self.view, size_px=self.size)
