"""A hand in a posture, as the pictures of the docs have it."""

from thenar import World
from thenar.hands.spec import HandSpec
from thenar.sim.drawing import render
from thenar.sim.drawing.render import Image
from thenar.sim.physics import Physics


def posed_world(hand: HandSpec, pose: str) -> Physics:
    """A world with one upright hand that has closed to a posture."""
    world = World(hand, scene=render.STUDIO, mounts={hand.name: render.UPRIGHT}, profile="ideal")
    for command, seconds in render.pose_moves(hand, pose):
        world.command(hand.name, command)
        world.advance(seconds)
    return world.physics


def draw_palm(world: Physics, hand: HandSpec, size_px: tuple[int, int]) -> Image:
    """Its hand from the side of the palm, filling the picture."""
    with render.Artist(world, size_px=size_px) as artist:
        return artist.draw(render.view_of(world, hand, "palm", size_px=size_px))
