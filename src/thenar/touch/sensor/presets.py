"""Sensors people have, as far as their makers or users publish figures; what is not published is assumed, and says so.

A preset is a place to begin: `thenar.touch.attach(model, pads, calibration="paxini")`. A file holds what you have
measured on your own, see the calibration page. Layouts are the pads' business: these are what one taxel says.
"""

from __future__ import annotations

from collections.abc import Mapping

from thenar.touch.sensor.calibration import BAROMETERS, IDEAL, MEASURED, Calibration, PadCalibration

# Ref: ORCA's open client for the touch version of its hand, whose tips are of this make: three bytes a taxel, two of
# shear with a sign and one of pressure, 0.1 N each. Ref: lerobot_camera_paxini, PX-6AX GEN3: the fast board pushes
# about 91 frames a second. Spread, noise and creep are not published: assumed.
PAXINI = Calibration(
    rate_hz=91.0,
    bare=PadCalibration(
        gain_counts_per_n=10.0, saturation_counts=255.0, shear_counts_per_n=10.0, gain_spread=0.05, noise_counts=0.3
    ),
)

# Ref: Interlink FSR 400 series data sheet, at 1 kg, one standard deviation over the mean: 0.2 to 20 N, part to part
# 6 %, hysteresis 10 % on average. Read by 12 bits over that range, conductance proportional to force: assumed. Its
# drift (below 5 % per decade of time) is not modelled.
FSR = Calibration(
    bare=PadCalibration(gain_counts_per_n=4095.0 / 20.0, gain_spread=0.06, play=0.1, play_width=1.0, noise_counts=2.0)
)

# Ref: public drivers of uSkin: three 16-bit values a taxel with a large resting value, to be subtracted. A magnet in
# rubber feels its surroundings. Scale, spread and noise are not published: assumed, as is the depth.
XELA = Calibration(
    rate_hz=100.0,
    bare=PadCalibration(
        gain_counts_per_n=2000.0,
        gain_spread=0.1,
        offset_counts=32_768.0,
        offset_spread_counts=1500.0,
        saturation_counts=65_535.0,
        shear_counts_per_n=2000.0,
        shear_offset_counts=32_768.0,
        shear_range_counts=32_767.0,
        noise_counts=8.0,
        hysteresis=0.05,
        taxel_depth_m=0.002,
    ),
)

# A grid of capacitors under a millimetre of rubber. No single maker: every figure is assumed.
CAPACITIVE = Calibration(
    rate_hz=100.0,
    bare=PadCalibration(thickness_m=0.002, taxel_depth_m=0.001, crosstalk=0.02, gain_spread=0.05, hysteresis=0.04),
)

SENSORS: Mapping[str, Calibration] = {
    "ideal": IDEAL,
    "inspire": MEASURED,
    "takktile": BAROMETERS,
    "paxini": PAXINI,
    "fsr": FSR,
    "xela": XELA,
    "capacitive": CAPACITIVE,
}
"""Presets by name. Barometers (``takktile``) want pads whose sensor is ``"barometer"``."""
