"""Turn a whole recording into motions of four different hands, on all cores.

The recording is made once; each hand follows it with its own joints, couplings and speeds.
"""

import time

import numpy as np

import thenar
from thenar.glove.make import make_log
from thenar.retarget.batch import retarget_recording, time_steps
from thenar.retarget.model.hand_model import build_model
from thenar.retarget.retargeter import aligned_nodes

log = make_log(("fist", "pinch_index", "point") * 6)
print(f"{len(log)} frames")
for hand in ("shadow_right", "inspire_right", "fourier_right", "reflex"):
    model = build_model(thenar.hands.load(hand))
    nodes = aligned_nodes(model, log.finger_m, log.side, mirror=False)
    retarget_recording(model, nodes[:1], np.array([1 / 60]))  # compiled before the clock runs
    start_s = time.perf_counter()
    angles = retarget_recording(model, nodes, time_steps(log.stamp_s))
    took_s = time.perf_counter() - start_s
    motor_rad = model.motor_rad(angles)  # one row a frame, one column a motor
    fastest = np.abs(np.diff(motor_rad, axis=0)).max() / (log.stamp_s[1] - log.stamp_s[0])
    print(
        f"{hand:14} {motor_rad.shape[1]:2} motors  {1e6 * took_s / len(log):5.1f} us a frame, up to {fastest:.1f} rad/s"
    )
