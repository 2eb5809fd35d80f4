"""Shapes of the G1: what collides and what is only seen, in the frames of its links.

What collides is the maker's (the feet's four spheres) and MuJoCo Menagerie's; what is seen is drawn by us into the
boxes around the maker's meshes.
"""

from __future__ import annotations

from thenar.hands.shapes import Capsule, Cylinder, Ellipsoid, Loft, Shape, Sphere, Vec3, Visual, VisualShape
from thenar.hands.spec import Palette

SOLE_M = -0.035
"""Height of the soles in the frame of the feet [m]."""

PALETTE = Palette(body=(0.66, 0.68, 0.70), skin=(0.30, 0.31, 0.33), dark=(0.07, 0.07, 0.08))
SIDEWAYS: Vec3 = (0.0, 1.0, 0.0)
Visuals = dict[str, tuple[Visual, ...]]


def _upright(
    *rows: tuple[float, float, float, float], tone: str = "body", dome_m: float = 0.010, squareness: float = 2.9
) -> Loft:
    """A loft along z: height, then centre x, half width (y) and half depth (x), each in metres."""
    stations = ((x, 0.0, z, width, depth) for z, x, width, depth in rows)
    return Loft.through(SIDEWAYS, *stations, tone=tone, dome_m=dome_m, squareness=squareness)


def _forward(*rows: tuple[float, float, float, float], tone: str = "body", dome_m: float = 0.006) -> Loft:
    """A loft along x: distance, then centre z, half width (y) and half height (z), each in metres."""
    stations = ((x, 0.0, z, width, height) for x, z, width, height in rows)
    return Loft.through(SIDEWAYS, *stations, tone=tone, dome_m=dome_m, squareness=2.6)


def _motor(start_m: Vec3, end_m: Vec3, radius_m: float, tone: str = "dark") -> VisualShape:
    """The housing of a joint."""
    return VisualShape(shape=Cylinder(start_m=start_m, end_m=end_m, radius_m=radius_m), tone=tone)


# fmt: off
TRUNK: Visuals = {
    "pelvis": (
        _motor((0.0, -0.064, -0.1027), (0.0, 0.064, -0.1027), 0.042),
        _motor((0.0, 0.0, -0.035), (0.0, 0.0, 0.002), 0.046),
    ),
    "pelvis_contour_link": (
        _upright((-0.146, 0.002, 0.040, 0.046), (-0.105, 0.002, 0.062, 0.058), (-0.050, 0.001, 0.064, 0.057),
                 (-0.034, 0.0, 0.050, 0.046)),
    ),
    "waist_yaw_link": (_motor((0.0, 0.0, 0.0), (0.0, 0.0, 0.046), 0.042, "skin"),),
    "waist_roll_link": (_motor((-0.017, 0.0, 0.0), (0.017, 0.0, 0.0), 0.012),),
    "torso_link": (
        # Narrow at the waist, broad at the shoulders, a flat dark chest.
        _upright((0.000, 0.004, 0.050, 0.046), (0.060, 0.006, 0.062, 0.056), (0.130, 0.008, 0.082, 0.066),
                 (0.220, 0.006, 0.100, 0.072), (0.275, 0.002, 0.096, 0.064), (0.300, 0.0, 0.062, 0.048), dome_m=0.012),
        _upright((0.085, 0.058, 0.042, 0.020), (0.150, 0.066, 0.058, 0.016), (0.215, 0.066, 0.066, 0.014), tone="dark"),
        _upright((0.060, -0.045, 0.050, 0.020), (0.240, -0.052, 0.066, 0.016), tone="skin"),
        _motor((0.004, -0.104, 0.248), (0.004, 0.104, 0.248), 0.038),
    ),
    "logo_link": (_upright((0.262, 0.004, 0.072, 0.070), (0.282, 0.004, 0.070, 0.068), tone="skin", dome_m=0.004),),
    # In the frame of the torso's lower end, as the maker's mesh is.
    "head_link": (
        _motor((0.004, 0.0, 0.318), (0.004, 0.0, 0.372), 0.036),
        _upright((0.372, 0.004, 0.046, 0.046), (0.400, 0.004, 0.062, 0.058), (0.450, 0.003, 0.076, 0.066),
                 (0.490, 0.000, 0.074, 0.064), (0.512, -0.002, 0.062, 0.054), dome_m=0.018, squareness=2.2),
        # The face is one dark visor.
        VisualShape(shape=Ellipsoid(centre_m=(0.020, 0.0, 0.442), half_m=(0.056, 0.070, 0.070)), tone="dark"),
    ),
}


def _limbs(side: str, out: float) -> Visuals:
    """An arm and a leg; ``out`` is +1 where y points away from the body, -1 on the other side."""
    visuals: Visuals = {
        "hip_pitch_link": (_motor((0.0, 0.004 * out, 0.0), (0.0, 0.030 * out, 0.0), 0.038, "body"),
                           _motor((-0.038, 0.052 * out, -0.0305), (0.034, 0.052 * out, -0.0305), 0.044)),
        "hip_roll_link": (_motor((-0.024, 0.0, 0.0), (0.030, 0.0, 0.0), 0.045, "body"),
                          _upright((-0.010, 0.024, 0.044, 0.050), (-0.070, 0.026, 0.047, 0.052),
                                   (-0.118, 0.025, 0.044, 0.048))),
        "hip_yaw_link": (
            _motor((0.0, 0.0, -0.034), (0.0, 0.0, 0.0), 0.043),
            _upright((-0.030, -0.004, 0.042, 0.050), (-0.090, -0.030, 0.040, 0.050), (-0.140, -0.054, 0.036, 0.046)),
            _motor((-0.0783, -0.038, -0.1773), (-0.0783, 0.038, -0.1773), 0.045),
        ),
        "knee_link": (
            _motor((0.0, -0.030, 0.0), (0.0, 0.030, 0.0), 0.039, "body"),
            _upright((-0.020, 0.006, 0.032, 0.036), (-0.090, 0.016, 0.034, 0.042), (-0.170, 0.014, 0.030, 0.036),
                     (-0.240, 0.004, 0.022, 0.024), (-0.290, 0.000, 0.018, 0.018)),
            _upright((-0.055, 0.054, 0.020, 0.010), (-0.175, 0.048, 0.018, 0.010), tone="dark"),
        ),
        "ankle_pitch_link": (_motor((0.0, -0.020, 0.0), (0.0, 0.020, 0.0), 0.012),),
        "ankle_roll_link": (
            _upright((0.018, -0.002, 0.018, 0.026), (-0.010, 0.004, 0.024, 0.044), dome_m=0.004),
            Loft.through(SIDEWAYS, (-0.050, 0.0, -0.020, 0.024, 0.013), (0.000, 0.0, -0.018, 0.031, 0.015),
                         (0.080, 0.0, -0.021, 0.036, 0.012), (0.126, 0.0, -0.024, 0.028, 0.009),
                         dome_m=0.014, squareness=3.0, tone="skin"),
        ),
        "shoulder_pitch_link": (_motor((0.0, 0.002 * out, -0.002), (0.0, 0.042 * out, -0.010), 0.036, "body"),
                                _motor((-0.030, 0.040 * out, -0.0138), (0.030, 0.040 * out, -0.0138), 0.034)),
        "shoulder_roll_link": (_motor((-0.034, 0.004 * out, 0.0), (0.036, 0.004 * out, 0.0), 0.033, "body"),
                               _upright((-0.030, 0.0, 0.033, 0.034), (-0.098, 0.0, 0.032, 0.034))),
        "shoulder_yaw_link": (
            _motor((0.0, 0.0, -0.010), (0.0, 0.0, 0.028), 0.031),
            _upright((-0.004, 0.002, 0.032, 0.034), (-0.060, 0.010, 0.033, 0.036)),
            _motor((0.0158, -0.036, -0.0805), (0.0158, 0.030, -0.0805), 0.031),
        ),
        "elbow_link": (_motor((0.0, -0.028, 0.0), (0.0, 0.028, 0.0), 0.029, "body"),
                       _forward((0.010, -0.006, 0.028, 0.030), (0.060, -0.010, 0.031, 0.032),
                                (0.096, -0.010, 0.029, 0.029))),
        "wrist_roll_link": (_motor((0.0, 0.0, 0.0), (0.020, 0.0, 0.0), 0.030),
                            _forward((0.020, 0.0, 0.028, 0.026), (0.050, 0.0, 0.024, 0.022))),
        "wrist_pitch_link": (_motor((0.0, -0.028, 0.0), (0.0, 0.028, 0.0), 0.027),
                             _forward((0.010, 0.0, 0.026, 0.026), (0.060, 0.0, 0.026, 0.026))),
        "wrist_yaw_link": (_motor((0.0, 0.0, -0.029), (0.0, 0.0, 0.029), 0.018, "dark"),
                           _forward((0.008, 0.0, 0.026, 0.026), (0.038, 0.0, 0.028, 0.028), tone="skin", dome_m=0.003)),
        "rubber_hand": (
            _forward((0.002, 0.0, 0.018, 0.026), (0.050, 0.0, 0.016, 0.040), (0.090, -0.002, 0.015, 0.040),
                     tone="dark"),
            *(VisualShape(shape=Capsule(start_m=(0.085, 0.0, z), end_m=(0.118 - 0.2 * abs(z), -0.022 * out, z),
                                        radius_m=0.0095), tone="dark") for z in (-0.031, -0.0105, 0.0105, 0.031)),
            VisualShape(shape=Capsule(start_m=(0.040, -0.012 * out, 0.036), end_m=(0.078, -0.034 * out, 0.052),
                                      radius_m=0.010), tone="dark"),
        ),
    }
    return {f"{side}_{link}": shapes for link, shapes in visuals.items()}
# fmt: on


VISUALS: Visuals = TRUNK | _limbs("left", 1.0) | _limbs("right", -1.0)


def _bar(start_m: Vec3, end_m: Vec3, radius_m: float) -> tuple[Shape, ...]:
    return (Capsule(start_m=start_m, end_m=end_m, radius_m=radius_m),)


COLLISION: dict[str, tuple[Shape, ...]] = {
    "pelvis": (Sphere(centre_m=(0.0, 0.0, -0.08), radius_m=0.07),),
    "torso_link": (
        *_bar((0.01, 0.0, 0.08), (0.01, 0.0, 0.2), 0.09),
        Sphere(centre_m=(0.0, 0.0, 0.43), radius_m=0.06),
    ),
}
for _side, _out in (("left", 1.0), ("right", -1.0)):
    COLLISION |= {
        f"{_side}_hip_roll_link": _bar((0.02, 0.0, 0.0), (0.02, 0.0, -0.08), 0.06),
        f"{_side}_hip_yaw_link": _bar((0.0, 0.0, -0.03), (-0.06, 0.0, -0.17), 0.055),
        f"{_side}_knee_link": (
            *_bar((0.01, 0.0, 0.0), (0.01, 0.0, -0.15), 0.045),
            *_bar((0.01, 0.0, -0.2), (0.01, 0.0, -0.28), 0.03),
        ),
        f"{_side}_ankle_roll_link": tuple(
            Sphere(centre_m=(x, y, -0.03), radius_m=0.005)
            for x, y in ((-0.05, 0.025), (-0.05, -0.025), (0.12, 0.03), (0.12, -0.03))
        ),
        f"{_side}_shoulder_yaw_link": _bar((0.0, 0.0, -0.08), (0.0, 0.0, 0.05), 0.035),
        f"{_side}_elbow_link": _bar((-0.01, 0.0, -0.01), (0.08, 0.0, -0.01), 0.035),
        # Shorter than Menagerie's: it would reach into a hand on the wrist.
        f"{_side}_wrist_pitch_link": _bar((-0.01, 0.0, 0.0), (0.03, 0.0, 0.0), 0.028),
        f"{_side}_rubber_hand": _bar((0.0285, 0.0, 0.0), (0.1085, -0.02 * _out, 0.0), 0.035),
    }
"""What collides: the soles, the arms, and enough of the rest for a robot that falls to lie on the ground."""
