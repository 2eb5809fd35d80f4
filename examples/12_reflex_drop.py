"""Drop cubes of random size, mass and pose on an open ReFlex hand, and see which barometers tell.

`thenar drop reflex` shows the same live. The same seed gives the same cubes and the same readings.
"""

import numpy as np

import thenar

felt: dict[int, tuple[float, str]] = {}
for reading in thenar.drop_cubes("reflex", count=5, seed=4, seconds=0.6):
    for pad, force_n in reading.frame.force_n.items():
        if force_n > felt.get(reading.drop, (0.0, ""))[0]:
            felt[reading.drop] = (force_n, pad)
    if reading.cube is not None and reading.drop not in felt:
        felt[reading.drop] = (0.0, "nothing")

for drop, (force_n, pad) in sorted(felt.items()):
    print(f"cube {drop}: at most {force_n:5.2f} N on {pad}")
print(f"{np.mean([force_n > 0 for force_n, _ in felt.values()]):.0%} of the cubes met a sensor")
