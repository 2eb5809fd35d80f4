"""Close a hand on a ball, and read what its motors and its skin say.

A world holds hands and things. Commands are fractions of the stroke (0 open, 1 closed) or radians; time passes only
when you ask for it. States and touch frames print themselves.
"""

import thenar

HAND = "inspire_right"
ball = thenar.Sphere(name="ball", radius_m=0.03, mass_kg=0.06, pos_m=(0.0, 0.04, 0.032))
world = thenar.World(HAND, props=[ball])

# Motors in the order of the hand: little, ring, middle, index, thumb bend, thumb rotation.
world.command(HAND, thenar.HandCommand.closing([0, 0, 0, 0, 0, 1]))  # first the thumb comes round
world.advance(0.7)
world.command(HAND, thenar.HandCommand.closing([0.9, 0.9, 0.9, 0.9, 0.6, 1], speed=0.35, force_limit_n=3))
world.advance(3.0)

print(world.state(HAND))
print(world.touch(HAND))

world.show().save("grip.png")  # the picture: pressed taxels glow through the ball, which is drawn as glass
