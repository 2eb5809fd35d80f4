"""Key points of many postures at once, compiled."""

from __future__ import annotations

from numba import njit

from thenar.retarget.kernel.kinematics import FAST, forward, place


@njit(cache=True, fastmath=FAST, error_model="numpy", nogil=True)
def place_points(hands, works, variable_rad, out):
    """Fill the knuckle and key points of each finger for every posture. Shapes (n, v) and (n, p + f, 3)."""
    hand, w = hands[0], works[0]
    for n in range(variable_rad.shape[0]):
        forward(hand, variable_rad[n], w.pos, w.R, w.axis)
        row = 0
        for finger in range(hand.fingers):
            place(hand.knuckle_joint[finger], hand.knuckle_m[finger], w.pos, w.R, out[n, row])
            row += 1
            for i in range(hand.finger_first[finger], hand.finger_first[finger + 1]):
                place(hand.point_joint[i], hand.point_m[i], w.pos, w.R, out[n, row])
                row += 1
