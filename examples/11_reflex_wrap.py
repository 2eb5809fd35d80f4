"""A ReFlex finger wraps a rod by itself, and its barometers feel it.

One cord bends a pin joint and a rubber flexure; nobody decides how far each bends. When the rod stops the first part of
the finger, the rest goes on.
"""

import math

import thenar

rod = thenar.Cylinder(
    name="rod", radius_m=0.032, length_m=0.14, pos_m=(0, 0, 0.045), rpy_rad=(0, math.pi / 2, 0), fixed=True
)
for props in ([], [rod]):
    world = thenar.World("reflex", props=props)
    world.command("reflex", thenar.HandCommand.to([2.5, 2.5, 2.2, 0.0]))  # f1, f2, f3, preshape [rad]
    world.advance(2.0)

    state, touch = world.state("reflex"), world.touch("reflex")
    angle = dict(zip(state.joint_names, state.joint_rad, strict=True))
    flexure_rad = sum(angle[f"flex_1_{k}"] for k in (1, 2, 3, 4))
    felt = [pad for pad, force_n in touch.force_n.items() if force_n > 0.1]
    print(f"{'a rod' if props else 'nothing'} in the way:")
    print(f"  first finger: pin joint {angle['proximal_1']:.2f} rad, flexure {flexure_rad:.2f} rad")
    print(f"  felt by {', '.join(felt) or 'nobody'}")
