"""A toy protocol: one line of text per message, how far closed each motor is."""

from __future__ import annotations

import numpy as np

from thenar.hands.spec import HandSpec
from thenar.signals import HandCommand, HandState


def encode_state(spec: HandSpec, state: HandState) -> bytes:
    """``closed 0.25 0.00 ...``, in the hand's own order."""
    closed = (state.angle_rad - spec.open_rad) / (spec.closed_rad - spec.open_rad)
    return ("closed " + " ".join(f"{value:.2f}" for value in closed)).encode()


def decode_command(spec: HandSpec, message: bytes) -> HandCommand:
    """``close 0.5 0.5 ...``; anything else raises `ValueError`."""
    word, *values = message.decode().split()
    fractions = np.array(values, dtype=float)
    if word != "close" or fractions.shape != spec.open_rad.shape or not np.all((fractions >= 0) & (fractions <= 1)):
        raise ValueError(f"wanted close and {spec.open_rad.size} numbers from 0 to 1")
    nothing = np.full(fractions.size, np.nan)
    target_rad = spec.open_rad + fractions * (spec.closed_rad - spec.open_rad)
    return HandCommand(target_rad=target_rad, speed_rad_s=nothing, force_limit_n=nothing)
