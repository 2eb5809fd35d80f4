"""Objects, motors and skins that are like others but for some factors; 1 leaves a value as it is."""

from __future__ import annotations

from dataclasses import fields, replace
from typing import TypeVar

import numpy as np

from thenar.hands.spec import Actuator, LeadScrew
from thenar.sim.props import Prop
from thenar.touch.sensor.calibration import Calibration, PadCalibration, PerTaxel

P = TypeVar("P", bound=Prop)
_SIZES = ("radius_m", "length_m", "size_m", "radii_m", "scale")


def scaled_prop(prop: P, *, mass: float = 1.0, friction: float = 1.0, size: float = 1.0) -> P:
    """An object that is heavier, rougher and larger; mass does not follow size."""
    sizes = {
        field.name: np.multiply(getattr(prop, field.name), size).tolist()
        for field in fields(prop)
        if field.name in _SIZES
    }
    sizes = {name: tuple(value) if isinstance(value, list) else value for name, value in sizes.items()}
    return replace(prop, mass_kg=prop.mass_kg * mass, friction=prop.friction * friction, **sizes)


def size_of(prop: Prop) -> float:
    """What grows with an object: a length [m], of a mesh its scale."""
    return float(np.max(getattr(prop, next(field.name for field in fields(prop) if field.name in _SIZES))))


def scaled_actuator(
    actuator: Actuator, *, stiffness: float = 1.0, strength: float = 1.0, latency: float = 1.0, motor_noise: float = 1.0
) -> Actuator:
    """A motor that is stiffer, stronger than it reports, later and noisier, as far as its kind has these."""
    if isinstance(actuator.motor, LeadScrew):
        by = {"stiffness_n": stiffness, "stiffening_n": stiffness, "newton_per_reported": strength}
        by |= {"latency_s": latency, "angle_noise": motor_noise, "force_noise_n": motor_noise}
    else:
        by = {"stiffness_nm_rad": stiffness, "effort_nm": strength, "lever_m": strength}
    changed = {name: getattr(actuator.motor, name) * factor for name, factor in by.items()}
    return replace(actuator, motor=replace(actuator.motor, **changed))


def scaled_skin(
    calibration: Calibration, *, skin_stiffness: float = 1.0, skin_gain: float = 1.0, skin_noise: float = 1.0
) -> Calibration:
    """A skin that is stiffer and reads more, with more noise, on pads and beside them."""

    def scaled(pad: PadCalibration) -> PadCalibration:
        return replace(
            pad,
            young_pa=pad.young_pa * skin_stiffness,
            gain_counts_per_n=_times(pad.gain_counts_per_n, skin_gain),
            noise_counts=_times(pad.noise_counts, skin_noise),
        )

    pads = {name: scaled(pad) for name, pad in calibration.pads.items()}
    return replace(calibration, bare=scaled(calibration.bare), pads=pads)


def _times(value: PerTaxel, factor: float) -> PerTaxel:
    if isinstance(value, tuple):
        return tuple(tuple(factor * one for one in row) for row in value)
    return factor * value
