"""Your own body for a hand: write the catalogue's Inspire hand as MJCF, give it other names, and load it back.

Makers ship better meshes than anyone may redistribute. Put theirs in place of mine.xml: motors, couplings and the order
of fingers stay those of the catalogue.
"""

import tempfile
from pathlib import Path

import thenar

folder = Path(tempfile.mkdtemp())
catalogue = thenar.hands.load("inspire_right")

body = thenar.hands.build_spec(catalogue)  # a mujoco.MjSpec; here it stands for the file of your hand
for part in (*body.equalities, *body.actuators):  # a maker's file has none of ours
    body.delete(part)
for joint in body.joints:
    joint.name = f"R_{joint.name}_joint"  # every maker has names of their own
body.compile()
(folder / "mine.xml").write_text(body.to_xml())

names = "\n".join(f'{name} = "R_{name}_joint"' for name in catalogue.joint_names)
(folder / "mine.toml").write_text(f'hand = "inspire_right"\nfile = "mine.xml"\nname = "mine"\n\n[joints]\n{names}\n')

world = thenar.World(str(folder / "mine.toml"))
world.command("mine", thenar.HandCommand.closing(0.5))
world.advance(1.5)
print(world.state("mine"))
