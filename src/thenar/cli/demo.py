"""``thenar demo``: a hand closes on a ball, and pictures of all hands."""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from rich.live import Live
from rich.progress import track

from thenar import hands
from thenar.cli.show import console, state_table
from thenar.errors import BadValue

POSES = ("open", "fist")


@dataclass(frozen=True)
class Demo:
    """One hand closes on a ball, live in the terminal; then a tour of the hands as pictures.

    For example:

    thenar demo

    thenar demo --hand fourier_right --out pictures --seconds 5
    """

    hand: str = "inspire_right"
    """Hand that closes on the ball."""
    out: Path = Path("demo")
    """Folder for the pictures."""
    seconds: float = 4.0
    """Simulated seconds of the live table."""
    pictures: bool = True
    """Draw pictures; --no-pictures shows only the live table."""

    def run(self) -> None:
        """Show the table, then draw the tour."""
        if not (0.0 < self.seconds <= 3600.0):
            raise BadValue("--seconds", self.seconds, "seconds above 0 and up to 3600")
        self._close_on_a_ball()
        if self.pictures:
            self._tour()

    def _tour(self) -> None:
        from thenar.sim import picture

        shots = [(name, pose) for name in hands.names() for pose in POSES]
        for name, pose in track(shots, description="Drawing the hands", console=console):
            spec = hands.load(name)
            world = picture.posed_world(spec, pose)
            views = [picture.draw_posed(world, spec, view=view, size_px=(440, 440)) for view in ("palm", "back")]
            picture.write_png(self.out / f"{name}_{pose}.png", picture.side_by_side([views]))
        console.print(f"{len(shots)} pictures in {self.out}/")

    def _close_on_a_ball(self) -> None:
        from thenar.signals import HandCommand
        from thenar.sim import picture
        from thenar.sim.props import Sphere
        from thenar.twin.world import World

        ball = Sphere(name="ball", radius_m=0.030, mass_kg=0.06, pos_m=(0.0, 0.04, 0.032))
        spec = hands.load(self.hand)
        world = World(spec, props=[ball])
        hand = spec.name
        # The thumb goes round first, so that it meets the ball and not the fingers.
        around = np.array([actuator.name in ("thumb_rotation", "THJ5", "THJ4") for actuator in spec.actuators])
        bend = np.array([actuator.name == "thumb_bend" for actuator in spec.actuators])
        world.command(hand, HandCommand.closing(np.where(around, 1.0, 0.0)))
        grip = HandCommand.closing(np.where(around, 1.0, np.where(bend, 0.6, 0.9)), speed=0.35, force_limit_n=3.0)
        tick_s = 0.05
        with Live(state_table(spec, world.state(hand), 0.0), console=console) as live:
            began = time.perf_counter()
            for tick in range(round(self.seconds / tick_s)):
                if tick == 14:
                    world.command(hand, grip)
                world.advance(tick_s)
                touching = world.contacts(hand)
                on_ball = touching.where([partner == "ball" for partner in touching.partner])
                live.update(state_table(spec, world.state(hand), float(on_ball.normal_force_n.sum())))
                if console.is_terminal:  # at the pace of the real hand
                    time.sleep(max(0.0, began + world.time_s - time.perf_counter()))
        console.print(
            "Force stops at 3 N, with the overshoot measured on a real hand (docs/motors.md).", highlight=False
        )
        if self.pictures:
            shot = picture.draw(
                world,
                look_at_m=world.wrist(hand)[0] + [0.0, 0.02, 0.02],
                distance_m=0.42,
                azimuth_deg=145.0,
                elevation_deg=-28.0,
            )
            picture.write_png(self.out / f"{hand}_ball.png", shot)
            console.print(f"wrote {self.out / f'{hand}_ball.png'}")
