"""Recordings of a skin that does not exist, made by following the protocol or by pressing at will."""

from __future__ import annotations

from typing import Literal

import numpy as np

from thenar.hands.spec import HandSpec
from thenar.touch.calibrate.press_recording import COUNT_PA, Recording
from thenar.touch.calibrate.protocol import Step, follow, plan, wander
from thenar.touch.calibrate.synthetic import Curve, MadeSensor

Loads = Literal["protocol", "unseen"]

FULL_N = {"force": 10.0, "barometer": 3.0}
PROBE_M = {"force": 1.5e-3, "barometer": 2e-3}


def make_recording(
    hand: HandSpec,
    pad_name: str,
    *,
    seed: int = 0,
    curve: Curve = "straight",
    loads: Loads = "protocol",
    rate_hz: float = 25.0,
    steps: tuple[Step, ...] | None = None,
) -> Recording:
    """Press on a made-up pad.

    Args:
        hand: The hand.
        pad_name: Its pad.
        seed: Another seed, another skin; the same skin is pressed again with other ``loads``.
        curve: ``bent`` reads light touches more strongly than firm ones.
        loads: ``protocol`` follows the protocol, ``unseen`` presses anywhere, at any speed.
        rate_hz: Readings per second.
        steps: What to do instead.
    """
    pad = hand.pad(pad_name)
    full_n, probe_m = FULL_N[pad.sensor], PROBE_M[pad.sensor]
    if steps is None:
        steps = plan(pad) if loads == "protocol" else wander(pad, seed=seed)
    time_s, at_m, share = follow(steps, rate_hz=rate_hz)
    places, place = np.unique(np.round(at_m, 7), axis=0, return_inverse=True)
    force_n = np.zeros((len(time_s), len(places)))
    force_n[np.arange(len(time_s)), place.ravel()] = full_n * share
    sensor = MadeSensor(pad, seed=seed, full_n=full_n, probe_m=probe_m, curve=curve)
    count_pa = COUNT_PA if pad.sensor == "barometer" else 1.0
    return Recording(
        hand=hand.name,
        probe_m=probe_m,
        time_s=time_s,
        pad=np.where(share > 0.0, pad_name, ""),
        at_m=at_m,
        force_n=full_n * share,
        counts={pad_name: count_pa * sensor.read(time_s, places, force_n, probe_m)},
        count_pa=count_pa,
    )
