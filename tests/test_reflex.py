"""The ReFlex hand: barometers under rubber, fingers of one tendon and a flexure, cubes that fall on it."""

import math

import numpy as np
import pytest

from thenar import hands
from thenar.sim.press import parse_indenter
from thenar.twin.press import press_pad

HAND = hands.load("reflex")
AMBIENT_PA = 101_325.0
DEPTH_M = 0.005


def boussinesq_pa(force_n: float, aside_m: np.ndarray, depth_m: float) -> np.ndarray:
    """Vertical stress under a point load on an elastic half-space."""
    return 3.0 * force_n * depth_m**3 / (2.0 * math.pi * (aside_m**2 + depth_m**2) ** 2.5)


def die_place(pad: str) -> int:
    """Number of a pad's first die."""
    names = [p.name for p in HAND.pads]
    return sum(p.taxels for p in HAND.pads[: names.index(pad)])


def test_sensors_are_nine_a_finger_and_eleven_in_the_palm_in_the_drivers_order():
    per_link = [(pad.link, pad.taxels) for pad in HAND.pads]
    fingers = [
        (f"{link}_{n}", count) for n in (1, 2, 3) for link, count in (("proximal", 5), ("distal", 3), ("distal", 1))
    ]
    assert per_link == [*fingers, ("base", 4), ("base", 3), ("base", 4)]


@pytest.mark.parametrize("pad", ["finger_1_proximal", "finger_3_distal", "finger_2_tip", "palm_2"])
def test_a_small_ball_on_a_sensor_reads_as_boussinesq_says_there_and_beside_it(pad: str):
    frame = press_pad(HAND, pad, parse_indenter("sphere:1mm"), force_n=0.5).frame
    spec = HAND.pad(pad)
    first = die_place(pad)
    aside_m = (np.arange(spec.rows) - (spec.rows - 1) / 2) * spec.row_pitch_m
    np.testing.assert_allclose(
        frame.die_pressure_pa[first : first + spec.rows] - AMBIENT_PA,
        boussinesq_pa(0.5, aside_m, DEPTH_M),
        rtol=0.05,
    )
