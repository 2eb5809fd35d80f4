"""Turn a whole recording into motions of four different hands, on all cores.

The recording is made once; each hand follows it with its own joints, couplings and speeds.
"""

import time

import numpy as np

import thenar

log = thenar.make_log(("fist", "pinch_index", "point") * 6)
print(f"{len(log)} frames")
for name in ("shadow_right", "inspire_right", "fourier_right", "reflex"):
    hand = thenar.hands.load(name)
    thenar.teleoperation.retarget_log(hand, log)  # compiled before the clock runs
    start_s = time.perf_counter()
    motor_rad = thenar.teleoperation.retarget_log(hand, log)  # one row a frame, one column a motor
    took_s = time.perf_counter() - start_s
    fastest = np.abs(np.diff(motor_rad, axis=0)).max() / (log.stamp_s[1] - log.stamp_s[0])
    print(
        f"{name:14} {motor_rad.shape[1]:2} motors  {1e6 * took_s / len(log):5.1f} us a frame, up to {fastest:.1f} rad/s"
    )
