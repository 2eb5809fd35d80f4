"""Any hand: a URDF or MJCF and a table of fingers follow a glove.

Here the file is our own export of the Shadow hand; put yours in its place.
"""

import tempfile
from pathlib import Path

import thenar

path = Path(tempfile.mkdtemp()) / "hand.xml"  # for a URDF: hand.urdf, and speeds are read from it
path.write_text(thenar.export_hand(thenar.hands.load("shadow_right"), format="mjcf"))

tips = {"thumb": "thdistal", "index": "ffdistal", "middle": "mfdistal", "ring": "rfdistal", "little": "lfdistal"}
fingers = {finger: (link, (0.0, 0.0, 0.026)) for finger, link in tips.items()}  # link at its end, and the tip in it [m]
hand = thenar.hands.from_file(path, fingers, speed_rad_s=2.0)

retargeter = thenar.Retargeter(hand)
log = thenar.make_log(("pinch_index",))
for frame in log:  # or 21, 25 or 26 points of any tracker
    retargeter(frame)
answer = retargeter.tick(float(log.stamp_s[-1]))
print(hand.side, "hand,", len(hand.joints), "joints:", ", ".join(hand.joint_names[:4]), "...")
print(dict(zip(hand.joint_names, answer.joint_rad.round(2).tolist(), strict=True)))
