"""Read a recording's loads through a calibration, as the running twin would, to hold it against what was read."""

from __future__ import annotations

import numpy as np

from thenar.arrays import FloatArray
from thenar.touch.calibrate.presses import Presses
from thenar.touch.sensor.calibration import Calibration
from thenar.touch.sensor.response import Response, per_taxel


def read_through(presses: Presses, calibration: Calibration) -> tuple[FloatArray, FloatArray]:
    """Readings of a pad without noise, and the load on its taxels. Shapes (t, n)."""
    pad = presses.pad
    own = calibration.pad(pad.name)
    buried = pad.sensor == "barometer"
    gain = per_taxel(pad, own.die_gain if buried else own.gain_counts_per_n)
    offset = per_taxel(pad, own.die_offset_pa if buried else own.offset_counts)
    load = presses.taxel_load_n(own.depth_m if buried else own.taxel_depth_m)
    response = Response([pad], calibration, gain, offset, spread=False)
    none_dead = np.zeros(pad.taxels, dtype=bool)
    rows = zip(load, presses.time_s, strict=True)
    read = np.array([response.read(response.take(row, float(time_s)), none_dead) for row, time_s in rows])
    removed = 0.0 if buried or not own.remove_offset else offset
    return (read if buried else np.clip(read, own.lowest_counts, own.saturation_counts)) - removed, load
