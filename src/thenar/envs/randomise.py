"""What differs from episode to episode: how far mass, friction, size, skin, motors and noise may be off."""

from __future__ import annotations

import math
from dataclasses import dataclass, fields, replace
from typing import TypeVar

import numpy as np

from thenar.errors import BadValue
from thenar.hands.spec import HandSpec
from thenar.sim.props import Prop
from thenar.touch.sensor.calibration import Calibration
from thenar.twin.scaled import scaled_actuator, scaled_prop, scaled_skin

P = TypeVar("P", bound=Prop)


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
        size, shift = factor(rng, self.size), rng.uniform(-self.place_m, self.place_m, 3)
        drawn = scaled_prop(prop, mass=factor(rng, self.mass), friction=factor(rng, self.friction), size=size)
        return replace(drawn, pos_m=tuple((np.array(prop.pos_m) + shift).tolist()))

    def hand(self, hand: HandSpec, rng: np.random.Generator) -> HandSpec:
        """A hand whose motors are those of this episode."""
        drawn = zip(hand.actuators, self.motor_factors(hand, rng), strict=True)
        return replace(hand, actuators=tuple(scaled_actuator(one, **factors) for one, factors in drawn))

    def motor_factors(self, hand: HandSpec, rng: np.random.Generator) -> list[dict[str, float]]:
        """What `scaled_actuator` takes, for every motor of an episode."""
        spreads = {"stiffness": self.motors, "strength": self.motors, "latency": self.motors, "motor_noise": self.noise}
        return [{name: factor(rng, spread) for name, spread in spreads.items()} for _ in hand.actuators]

    def skin_of(self, calibration: Calibration, rng: np.random.Generator) -> Calibration:
        """A skin of this episode."""
        return scaled_skin(calibration, **self.skin_factors(rng))

    def skin_factors(self, rng: np.random.Generator) -> dict[str, float]:
        """What `scaled_skin` takes in an episode."""
        spreads = {"skin_gain": self.skin, "skin_stiffness": self.skin, "skin_noise": self.noise}
        return {name: factor(rng, spread) for name, spread in spreads.items()}


NOTHING = Randomise(mass=0.0, friction=0.0, size=0.0, place_m=0.0, skin=0.0, motors=0.0, noise=0.0)


def factor(rng: np.random.Generator, spread: float) -> float:
    """A factor between 1 / (1 + spread) and 1 + spread, as likely above 1 as below."""
    return math.exp(rng.uniform(-1.0, 1.0) * math.log1p(spread))
