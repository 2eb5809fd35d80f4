"""Calibrate a skin from a recording of known presses, and let the twin read through the result.

The recording here is of a made-up finger; with a hand of yours, `thenar calibrate protocol` tells what to record. A
quarter of the presses is kept back, and the error on those is the score.
"""

from pathlib import Path

import thenar
from thenar import calibrate

PAD = "finger_1_proximal"
hand = thenar.hands.load("reflex")
recording = calibrate.make_recording(hand, PAD, seed=3)
print(f"{len(recording)} readings in {recording.time_s[-1] / 60:.0f} minutes")

result = calibrate.fit_pad(recording, hand, PAD)
assert not result.refusals, result.refusals  # what a recording cannot tell is not made up
found = result.score
print(f"off by {found.rms:.1f} % of full scale in {found.presses} presses it had not seen")

file = Path("sensor.toml")
calibrate.write_calibration(file, hand, {PAD: result.calibration}, ["A made-up skin."])
world = thenar.World("reflex", skin={"reflex": file})
print(f"{file} has {len(file.read_text().splitlines())} lines; at rest the finger reads")
print(world.touch("reflex").counts[PAD].ravel())
