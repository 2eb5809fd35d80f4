"""Shapes of the GR-2: what collides and what is only seen, in the frames of its links.

The soles are those of the maker's URDF; everything else is drawn by us around the joints.
"""

from __future__ import annotations

from thenar.hands.shapes import Box, Capsule, Cylinder, Loft, Shape, Vec3, Visual, VisualShape
from thenar.hands.spec import Palette

SOLE_M = -0.058
"""Height of the soles in the frame of the feet [m]."""

PALETTE = Palette(body=(0.90, 0.91, 0.92), skin=(0.34, 0.36, 0.39), dark=(0.13, 0.14, 0.16))
SIDEWAYS: Vec3 = (0.0, 1.0, 0.0)
Visuals = dict[str, tuple[Visual, ...]]


def _upright(*rows: tuple[float, float, float, float], tone: str = "body", dome_m: float = 0.012) -> Loft:
    """A loft along z: height, then centre x, half width (y) and half depth (x), each in metres."""
    stations = ((x, 0.0, z, width, depth) for z, x, width, depth in rows)
    return Loft.through(SIDEWAYS, *stations, tone=tone, dome_m=dome_m, squareness=2.9)


def _motor(start_m: Vec3, end_m: Vec3, radius_m: float) -> VisualShape:
    """The housing of a joint."""
    return VisualShape(shape=Cylinder(start_m=start_m, end_m=end_m, radius_m=radius_m), tone="dark")


# fmt: off
TRUNK: Visuals = {
    "base_link": (
        _upright((-0.150, -0.005, 0.055, 0.060), (-0.110, -0.005, 0.088, 0.075), (-0.030, 0.0, 0.092, 0.078)),
        _motor((0.0, 0.0, -0.035), (0.0, 0.0, 0.005), 0.066),
    ),
    "waist_yaw_link": (_upright((0.000, 0.0, 0.060, 0.060), (0.060, 0.0, 0.066, 0.064), tone="dark"),),
    "torso_link": (
        _upright((-0.315, 0.0, 0.090, 0.074), (-0.230, 0.0, 0.105, 0.086), (-0.110, 0.004, 0.130, 0.104),
                 (-0.010, 0.004, 0.138, 0.104), (0.045, 0.0, 0.095, 0.076), dome_m=0.020),
        # A plate on the chest tells front from back.
        VisualShape(shape=Box(centre_m=(0.100, 0.0, -0.075), half_m=(0.012, 0.062, 0.046)), tone="skin"),
        _motor((0.0, 0.0, 0.050), (0.0, 0.0, 0.108), 0.038),
    ),
    "head_yaw_link": (_motor((0.0, -0.032, 0.044), (0.0, 0.032, 0.044), 0.028),),
    "head_pitch_link": (
        _upright((0.012, 0.012, 0.058, 0.060), (0.070, 0.020, 0.075, 0.088), (0.130, 0.014, 0.072, 0.086), dome_m=0.05),
        VisualShape(shape=Capsule(start_m=(0.074, -0.04, 0.085), end_m=(0.074, 0.04, 0.085), radius_m=0.036),
                    tone="dark"),
    ),
}


def _limbs(side: str, out: float) -> Visuals:
    """An arm and a leg; ``out`` is +1 where y points away from the body, -1 on the other side."""
    knuckle = Capsule(start_m=(0.0, 0.070 * out, 0.0), end_m=(-0.055, 0.072 * out, 0.0), radius_m=0.046)
    visuals: Visuals = {
        "upper_arm_pitch": (_motor((0.0, -0.010 * out, 0.0), (0.0, 0.060 * out, 0.0), 0.050),),
        "upper_arm_roll": (_motor((-0.048, 0.0, 0.0), (0.048, 0.0, 0.0), 0.048),
                           _upright((-0.030, 0.0, 0.046, 0.046), (-0.085, 0.0, 0.046, 0.046))),
        "upper_arm_yaw": (
            _upright((0.005, 0.0, 0.043, 0.043), (-0.080, 0.0, 0.041, 0.042), (-0.140, 0.0, 0.036, 0.040)),
        ),
        "lower_arm_pitch": (_motor((0.0, -0.040, 0.0), (0.0, 0.040, 0.0), 0.036),
                            _upright((-0.020, 0.0, 0.034, 0.036), (-0.055, 0.0, 0.035, 0.036))),
        "hand_yaw": (_upright((-0.005, 0.0, 0.036, 0.037), (-0.070, 0.0, 0.035, 0.036), (-0.130, 0.0, 0.027, 0.029)),),
        "hand_pitch": (_motor((0.0, -0.028, 0.0), (0.0, 0.028, 0.0), 0.026),),
        "hand_roll": (_upright((-0.008, 0.0, 0.023, 0.023), (-0.040, 0.0, 0.026, 0.024), tone="skin"),),
        "thigh_pitch": (_motor((0.0, 0.0, 0.0), (0.0, 0.085 * out, 0.0), 0.062),
                        VisualShape(shape=knuckle, tone="skin")),
        "thigh_roll": (_motor((-0.012, 0.0, 0.0), (0.085, 0.0, 0.0), 0.044),
                       _motor((0.062, 0.0, -0.050), (0.062, 0.0, 0.000), 0.050)),
        "thigh_yaw": (_upright((0.000, 0.0, 0.062, 0.066), (-0.080, 0.004, 0.072, 0.078),
                               (-0.220, 0.004, 0.062, 0.068), (-0.310, 0.0, 0.050, 0.058)),),
        "shank_pitch": (_motor((0.0, -0.062, 0.0), (0.0, 0.062, 0.0), 0.056),
                        _upright((-0.030, 0.002, 0.052, 0.056), (-0.140, 0.000, 0.053, 0.060),
                                 (-0.280, 0.004, 0.040, 0.045), (-0.370, 0.004, 0.034, 0.036))),
        "foot_pitch": (_motor((0.0, -0.034, 0.0), (0.0, 0.034, 0.0), 0.026),),
        "foot_roll": (
            _upright((-0.004, 0.0, 0.026, 0.030), (-0.026, 0.010, 0.036, 0.060), tone="skin", dome_m=0.004),
            Loft.through(SIDEWAYS, (-0.072, 0.0, -0.041, 0.030, 0.015), (-0.010, 0.0, -0.040, 0.040, 0.017),
                         (0.110, 0.0, -0.042, 0.047, 0.015), (0.190, 0.0, -0.045, 0.040, 0.012),
                         dome_m=0.018, squareness=3.0),
        ),
    }
    return {f"{side}_{link}_link": shapes for link, shapes in visuals.items()}
# fmt: on


VISUALS: Visuals = TRUNK | _limbs("left", 1.0) | _limbs("right", -1.0)


def _bar(start_m: Vec3, end_m: Vec3, radius_m: float) -> tuple[Shape, ...]:
    return (Capsule(start_m=start_m, end_m=end_m, radius_m=radius_m),)


# Ref: two cylinders of radius 0.025 and length 0.28 at (0.06, +-0.025, -0.033); these capsules touch where they do.
_SOLES = (
    *_bar((-0.08, -0.025, -0.033), (0.20, -0.025, -0.033), 0.025),
    *_bar((-0.08, 0.025, -0.033), (0.20, 0.025, -0.033), 0.025),
)

COLLISION: dict[str, tuple[Shape, ...]] = {
    "base_link": _bar((0.0, -0.03, -0.085), (0.0, 0.03, -0.085), 0.075),
    "torso_link": (
        *_bar((0.0, 0.0, -0.26), (0.0, 0.0, -0.02), 0.09),
        *_bar((0.0, -0.06, -0.05), (0.0, 0.06, -0.05), 0.09),
    ),
    "head_pitch_link": _bar((0.02, 0.0, 0.06), (0.02, 0.0, 0.12), 0.08),
}
"""What collides: the soles, and enough of the rest for a robot that falls to lie on the ground."""
for _side in ("left", "right"):
    COLLISION |= {
        f"{_side}_foot_roll_link": _SOLES,
        f"{_side}_thigh_yaw_link": _bar((0.0, 0.0, -0.06), (0.0, 0.0, -0.28), 0.06),
        f"{_side}_shank_pitch_link": _bar((0.0, 0.0, -0.03), (0.0, 0.0, -0.33), 0.045),
        f"{_side}_upper_arm_yaw_link": _bar((0.0, 0.0, 0.0), (0.0, 0.0, -0.13), 0.042),
        f"{_side}_hand_yaw_link": _bar((0.0, 0.0, 0.0), (0.0, 0.0, -0.12), 0.035),
    }
