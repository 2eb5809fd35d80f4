"""What differs from episode to episode: how far mass, friction, size, skin, motors and noise may be off."""

from __future__ import annotations

import math
from dataclasses import dataclass, fields, replace
from typing import TypeVar

import numpy as np

from thenar.errors import BadValue
from thenar.hands.spec import Actuator, HandSpec, LeadScrew
from thenar.sim.props import Box, Capsule, Cylinder, Ellipsoid, Prop, Sphere
from thenar.touch.sensor.calibration import Calibration, PadCalibration

P = TypeVar("P", bound=Prop)
_SIZES = {
    Sphere: ("radius_m",),
    Box: ("size_m",),
    Cylinder: ("radius_m", "length_m"),
    Capsule: ("radius_m", "length_m"),
    Ellipsoid: ("radii_m",),
}


@dataclass(frozen=True, kw_only=True)
class Randomise:
    """Spreads of an episode: 0.3 draws a factor from 1/1.3 to 1.3; 0 leaves a value as it is."""

    mass: float = 1.0
    """Of an object's mass."""
    friction: float = 0.5
    """Of an object's friction."""
    size: float = 0.1
    """Of an object's size."""
    place_m: float = 0.003
    """How far from its place an object may begin along each axis [m]; no factor."""
    skin: float = 0.2
    """Of the skin's gain and stiffness."""
    motors: float = 0.15
    """Of the motors' stiffness, strength and latency, each by itself."""
    noise: float = 0.5
    """Of the noise of skin, angles and forces."""

    def __post_init__(self) -> None:
        """Refuse a spread that is none."""
        for field in fields(self):
            value = getattr(self, field.name)
            if not (isinstance(value, (int, float)) and math.isfinite(value) and value >= 0.0):
                raise BadValue(f"Randomise.{field.name}", value, "a number not below 0")

    def prop(self, prop: P, rng: np.random.Generator) -> P:
        """An object of this episode."""
        scale = factor(rng, self.size)
        sizes = {name: np.multiply(getattr(prop, name), scale).tolist() for name in _SIZES[type(prop)]}
        shift = rng.uniform(-self.place_m, self.place_m, 3)
        return replace(
            prop,
            mass_kg=prop.mass_kg * factor(rng, self.mass),
            friction=prop.friction * factor(rng, self.friction),
            pos_m=tuple((np.array(prop.pos_m) + shift).tolist()),
            **{name: tuple(value) if isinstance(value, list) else value for name, value in sizes.items()},
        )

    def hand(self, hand: HandSpec, rng: np.random.Generator) -> HandSpec:
        """A hand whose motors are those of this episode."""
        return replace(hand, actuators=tuple(self._actuator(actuator, rng) for actuator in hand.actuators))

    def _actuator(self, actuator: Actuator, rng: np.random.Generator) -> Actuator:
        stiffness, strength, latency = (factor(rng, self.motors) for _ in range(3))
        noise, motor = factor(rng, self.noise), actuator.motor
        if isinstance(motor, LeadScrew):
            motor = replace(
                motor,
                stiffness_n=motor.stiffness_n * stiffness,
                stiffening_n=motor.stiffening_n * stiffness,
                newton_per_reported=motor.newton_per_reported * strength,
                latency_s=motor.latency_s * latency,
                angle_noise=motor.angle_noise * noise,
                force_noise_n=motor.force_noise_n * noise,
            )
        else:
            motor = replace(
                motor,
                stiffness_nm_rad=motor.stiffness_nm_rad * stiffness,
                effort_nm=motor.effort_nm * strength,
            )
        return replace(actuator, motor=motor)

    def skin_of(self, calibration: Calibration, rng: np.random.Generator) -> Calibration:
        """A skin of this episode."""
        gain, stiffness, noise = factor(rng, self.skin), factor(rng, self.skin), factor(rng, self.noise)

        def off(pad: PadCalibration) -> PadCalibration:
            return replace(
                pad,
                young_pa=pad.young_pa * stiffness,
                gain_counts_per_n=np.multiply(pad.gain_counts_per_n, gain).tolist(),
                noise_counts=np.multiply(pad.noise_counts, noise).tolist(),
            )

        return replace(
            calibration, bare=off(calibration.bare), pads={name: off(pad) for name, pad in calibration.pads.items()}
        )


NOTHING = Randomise(mass=0.0, friction=0.0, size=0.0, place_m=0.0, skin=0.0, motors=0.0, noise=0.0)


def factor(rng: np.random.Generator, spread: float) -> float:
    """A factor between 1 / (1 + spread) and 1 + spread, as likely above 1 as below."""
    return math.exp(rng.uniform(-1.0, 1.0) * math.log1p(spread))
