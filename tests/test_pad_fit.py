"""The least squares that fit a pad's sensor to a recording."""

import numpy as np

from thenar import hands
from thenar.touch.calibrate import pad_fit
from thenar.touch.calibrate.presses import presses_on
from thenar.touch.calibrate.synthetic import make_recording


def test_slopes_that_the_fit_follows_are_those_of_what_it_reads():
    hand = hands.load("inspire_right")
    presses = presses_on(make_recording(hand, "index_tip", rate_hz=5.0), hand.pad("index_tip"))
    each = np.linspace(0.8, 1.2, 9)
    fitted = pad_fit.Fitted(
        depth_m=1e-3, fade_s=2.0, width_n=0.05, drift_s=100.0, knee=4.0, offset=60.0 * each, gain=900.0 * each,
        crosstalk=0.04 * each, hysteresis=0.03 * each, play=0.06 * each, drift=20.0 * each, bend=each / 3000.0,
    )  # fmt: skip
    rows, scale = np.arange(0, len(presses.time_s), 5), pad_fit._scale(presses)
    found = pad_fit.slopes_of(presses, fitted, rows, without=())
    for k, name in enumerate(pad_fit.NAMES):
        by = 1e-5 * (np.ones(9) if name in pad_fit.OWN else np.array(1.0))
        more, less = (
            pad_fit._moved(fitted, name, sign * by, scale).predict(presses, top_counts=np.inf)[rows]
            for sign in (1.0, -1.0)
        )
        wanted = (more - less) / 2e-5
        assert np.linalg.norm(found[:, :, k] - wanted) < 0.01 * np.linalg.norm(wanted), name
