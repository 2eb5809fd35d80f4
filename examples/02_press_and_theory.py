"""Press a ball on a fingertip with exactly 1 N, and hold the pressure of every taxel against Hertz.

The force comes from the physics, its spread over the skin from contact mechanics. Where a formula exists, as for a ball
on a round fingertip, the two can be compared taxel by taxel.
"""

import thenar

hand = thenar.hands.load("inspire_right")
print("ball [mm]   felt [N]   peak felt [kPa]   peak by Hertz [kPa]   difference over the pad")
for radius_mm in (6, 10, 20):
    ball = thenar.parse_indenter(f"sphere:{radius_mm}mm")
    at_m = (0.002, 0.0)  # 2 mm along the rows from the centre
    press = thenar.press_pad(hand, "index_top", ball, force_n=1.0, at_m=at_m)
    felt_pa, hertz_pa = press.frame["index_top"], press.theory_pa
    assert hertz_pa is not None  # there is a formula for balls
    print(
        f"{radius_mm:9}   {press.frame.force_n['index_top']:8.3f}   {felt_pa.max() / 1e3:15.1f}   "
        f"{hertz_pa.max() / 1e3:19.1f}   {100 * press.relative_l2:20.1f} %"
    )
