"""Fourier FDH-6: 6 motors, 11 joints.

Frame of ``hand_base``: fingers towards -z, palm towards -y, thumb side towards +x on the left hand. Fingers
run along their own x and bend about z, by negative angles. Source: ``fourier_left_hand_6dof`` URDF; the right
hand is its mirror image.
"""

from __future__ import annotations

import math

from thenar.hands.catalog.rows import COUPLED, DRIVEN, NO_TURN, Inertial, X, Z, actuator, hinge, weighed_link
from thenar.hands.mirror import mirrored
from thenar.hands.shapes import Box, Capsule, Cylinder, Loft, Shape, Vec3, Visual, VisualShape
from thenar.hands.spec import Actuator, Coupling, HandSpec, Joint, Link, Palette, PalmFrame, Servo, Tip

URDF = "fourier_left_hand_6dof URDF"
INERTIAL = f"{URDF}: mass, centre and inertia; width assumed"

FINGERS = {"index": "index", "middle": "middle", "ring": "ring", "little": "pinky"}
# Origin in hand_base [m], rpy [rad], lower limit [rad].
KNUCKLES: dict[str, tuple[Vec3, Vec3, float]] = {
    "index": ((0.026868, -0.0123, -0.093989), (0.0, 1.5184, 0.0), -1.602),
    "middle": ((0.0085, -0.0123, -0.095992), (0.0, 1.5708, 0.0), -1.603),
    "ring": ((-0.010211, -0.0123, -0.095924), (3.1416, 1.5184, 3.1416), -1.602),
    "pinky": ((-0.028228, -0.0123, -0.094012), (3.1416, 1.4661, 3.1416), -1.602),
}
SECOND: dict[str, tuple[Vec3, Vec3, float]] = {
    "index": ((0.031533, -0.0054444, 0.0), (0.0, 0.00014037, -0.0018338), -1.791),
    "middle": ((0.031521, -0.0055139, 0.0), (0.0, 0.00015517, 0.0048744), -1.791),
    "ring": ((0.031531, -0.0054567, 0.00025), (0.0, 0.00014037, -0.0025338), -1.798),
    "pinky": ((0.031532, -0.005451, 0.0), (0.0, 0.00032164, -0.011403), -1.796),
}
TIPS: dict[str, Vec3] = {
    "thumb": (0.0305, -0.001, 0.0),
    "index": (0.0390, -0.0020, 0.0),
    "middle": (0.047, -0.0025, 0.0),
    "ring": (0.0385, -0.0015, 0.0),
    "pinky": (0.033, -0.0015, 0.0),
}
# fmt: off
INERTIALS: dict[str, Inertial] = {
    "hand_base": (0.29928, (-0.0010133, -0.001628, -0.049512),
        (0.00020599, 0.00028701, 0.0001476, -1.22e-06, 8.34e-06, 7.34e-06)),
    "thumb_proximal_yaw": (0.0084328, (0.011674, -0.00039205, 0.00044569),
        (3e-07, 8.8e-07, 8.5e-07, 1e-08, -5e-08, 0.0)),
    "thumb_proximal_pitch": (0.060766, (0.034496, 0.00048877, 1.942e-05),
        (5.08e-06, 1.71e-05, 1.85e-05, 8.1e-07, 2e-08, 0.0)),
    "thumb_distal": (0.018024, (0.012862, -0.0029035, 0.0), (8.6e-07, 2e-06, 1.87e-06, -1.4e-07, 0.0, 0.0)),
    "index_proximal": (0.011244, (0.013885, 0.0013346, 9.91e-06), (7e-07, 1.81e-06, 1.87e-06, 2.1e-07, 0.0, 0.0)),
    "middle_proximal": (0.011244, (0.013888, 0.001304, 9.91e-06), (7e-07, 1.81e-06, 1.87e-06, 2.2e-07, 0.0, 0.0)),
    "ring_proximal": (0.011244, (0.013886, 0.0013292, 0.00025991), (7e-07, 1.81e-06, 1.87e-06, 2.1e-07, 0.0, 0.0)),
    "pinky_proximal": (0.011244, (0.013886, 0.0013317, 9.91e-06), (7e-07, 1.81e-06, 1.87e-06, 2.1e-07, 0.0, 0.0)),
    "index_intermediate": (0.0027085, (0.014739, 0.0047926, 6.8e-06), (8e-08, 4.9e-07, 4.9e-07, 3e-08, 0.0, 0.0)),
    "middle_intermediate": (0.0032739, (0.01836, 0.0048894, 0.0), (9e-08, 7.9e-07, 7.8e-07, 5e-08, 0.0, 0.0)),
    "ring_intermediate": (0.0027085, (0.014739, 0.0047926, 6.8e-06), (8e-08, 4.9e-07, 4.9e-07, 3e-08, 0.0, 0.0)),
    "pinky_intermediate": (0.0024076, (0.012117, 0.0047104, 1.872e-05), (7e-08, 3.2e-07, 3.2e-07, 1e-08, 0.0, 0.0)),
}
# fmt: on

PALETTE = Palette(body=(0.82, 0.83, 0.84), skin=(0.25, 0.26, 0.28), dark=(0.10, 0.10, 0.11))


def _loft(*rows: tuple[float, float, float, float], dome_m: float = 0.003) -> Loft:
    """A loft along x: place, height, half width and half depth, each in metres."""
    stations = ((x, y, 0.0, width, depth) for x, y, width, depth in rows)
    return Loft.through(Z, *stations, dome_m=dome_m, squareness=2.8)


def _tip_visual(tip_x: float) -> Loft:
    return _loft(
        (-0.003, 0.0030, 0.0070, 0.0064),
        (0.010, 0.0062, 0.0075, 0.0062),
        (tip_x - 0.010, 0.0066, 0.0066, 0.0050),
        (tip_x - 0.002, 0.0062, 0.0048, 0.0032),
    )


# fmt: off
PROXIMAL_VISUAL = _loft((-0.004, 0.0020, 0.0074, 0.0066), (0.008, 0.0026, 0.0083, 0.0074),
                        (0.022, 0.0016, 0.0082, 0.0070), (0.033, -0.0010, 0.0076, 0.0068))
VISUALS: dict[str, tuple[Visual, ...]] = {
    "hand_base": (
        Loft.through(X, (0.0, 0.0, 0.000, 0.0240, 0.0200), (0.0, -0.001, -0.020, 0.0270, 0.0180), tone="dark",
                     dome_m=0.001),
        Loft.through(X, (0.0, -0.003, -0.018, 0.0300, 0.0160), (-0.0005, -0.004, -0.036, 0.0375, 0.0155),
                     (-0.0005, -0.005, -0.070, 0.0395, 0.0140), (-0.0005, -0.007, -0.089, 0.0385, 0.0110),
                     squareness=4.0),
        # The root of the thumb.
        Loft.through(X, (0.020, -0.006, -0.023, 0.0120, 0.0125), (0.0215, -0.015, -0.023, 0.0115, 0.0125),
                     dome_m=0.002),
    ),
    **{f"{f}_proximal": (PROXIMAL_VISUAL,) for f in FINGERS.values()},
    **{f"{f}_intermediate": (_tip_visual(TIPS[f][0]),) for f in FINGERS.values()},
    "thumb_proximal_yaw": (
        VisualShape(shape=Cylinder(start_m=(0.0, 0.0, -0.0105), end_m=(0.0, 0.0, 0.0105), radius_m=0.0105),
                    tone="dark"),
        _loft((0.004, 0.0, 0.0092, 0.0085), (0.020, 0.0, 0.0086, 0.0085), dome_m=0.002),
    ),
    "thumb_proximal_pitch": (
        _loft((-0.002, -0.0010, 0.0100, 0.0096), (0.016, -0.0020, 0.0112, 0.0100), (0.040, 0.0010, 0.0108, 0.0094),
              (0.060, 0.0040, 0.0096, 0.0086)),
    ),
    "thumb_distal": (
        _loft((-0.004, -0.0020, 0.0088, 0.0084), (0.010, -0.0040, 0.0094, 0.0078), (0.022, -0.0046, 0.0078, 0.0058),
              (0.029, -0.0046, 0.0052, 0.0036)),
    ),
}
# fmt: on


def _bone(start: tuple[float, float], end: tuple[float, float], radius_m: float) -> Capsule:
    return Capsule(start_m=(*start, 0.0), end_m=(*end, 0.0), radius_m=radius_m)


SKINS: dict[str, Shape] = {
    "hand_base": Box(centre_m=(-0.0005, -0.0040, -0.0560), half_m=(0.0385, 0.0130, 0.0340)),
    **{f"{f}_proximal": _bone((0.003, -0.0004), (0.0305, -0.0022), 0.0080) for f in FINGERS.values()},
    **{f"{f}_intermediate": _bone((0.003, 0.0036), (TIPS[f][0] - 0.0055, 0.0046), 0.0070) for f in FINGERS.values()},
    "thumb_proximal_pitch": _bone((0.008, 0.0), (0.056, 0.0052), 0.0105),
    "thumb_distal": _bone((0.003, -0.0020), (0.0235, -0.0022), 0.0088),
}
COLLISION = {"hand_base": (Cylinder(start_m=(0.0, 0.0, 0.002), end_m=(0.0, 0.0, -0.022), radius_m=0.022),)}


def _link(name: str) -> Link:
    return weighed_link(
        name,
        INERTIALS[name],
        INERTIAL,
        skin=SKINS.get(name),
        collision=COLLISION.get(name, ()),
        visuals=VISUALS[name],
    )


def _hinge(
    name: str, parent: str, pos_m: Vec3, rpy_rad: Vec3, lower_rad: float, upper_rad: float, dynamics: dict[str, float]
) -> Joint:
    return hinge(name, parent, name, pos_m, rpy_rad, Z, lower_rad, upper_rad, URDF, **dynamics)


# fmt: off
JOINTS = (
    *(
        joint
        for f in FINGERS.values()
        for joint in (
            _hinge(f"{f}_proximal", "hand_base", *KNUCKLES[f], 0.0, DRIVEN),
            _hinge(f"{f}_intermediate", f"{f}_proximal", *SECOND[f], 0.0, COUPLED),
        )
    ),
    _hinge("thumb_proximal_yaw", "hand_base", (0.022, -0.0155, -0.022992), NO_TURN, -1.676, 0.0, DRIVEN),
    _hinge("thumb_proximal_pitch", "thumb_proximal_yaw",
           (0.021749, -0.00016321, 0.0), (-1.5708, 0.0, -0.0052052), 0.0, 1.159, DRIVEN),
    _hinge("thumb_distal", "thumb_proximal_pitch",
           (0.061549, 0.007464, 0.0), (0.0, 1.7448e-05, -0.055652), 0.0, 1.267, COUPLED),
)
# fmt: on


def _actuator(name: str, drives: str, closed_rad: float) -> Actuator:
    servo = Servo(
        stiffness_nm_rad=8.0,
        damping_nms_rad=0.04,
        top_speed_rad_s=abs(closed_rad) / 0.6,
        effort_nm=1.5,
        lever_m=0.10,
        source="assumed: effort and velocity are unset in the URDF; full stroke in 0.6 s, about 15 N at the tip",
    )
    return actuator(name, drives, closed_rad, servo)


LEFT = HandSpec(
    name="fourier_left",
    maker="Fourier",
    model="FDH-6",
    side="left",
    summary="Six motors, eleven joints, the hand of the GR robots.",
    root="hand_base",
    links=tuple(_link(name) for name in ("hand_base", *(joint.child for joint in JOINTS))),
    joints=JOINTS,
    couplings=(
        *(
            Coupling(joint=f"{f}_intermediate", driver=f"{f}_proximal", ratio=0.975, source=URDF)
            for f in FINGERS.values()
        ),
        Coupling(joint="thumb_distal", driver="thumb_proximal_pitch", ratio=1.06, source=URDF),
    ),
    actuators=(
        # Ref: order of the vendor's position-velocity-current call: four fingers, thumb bend, thumb rotation.
        *(_actuator(name, f"{f}_proximal", KNUCKLES[f][2]) for name, f in FINGERS.items()),
        _actuator("thumb_bend", "thumb_proximal_pitch", 1.159),
        _actuator("thumb_rotation", "thumb_proximal_yaw", -1.676),
    ),
    tips=(
        *(Tip(finger=name, link=f"{f}_intermediate", pos_m=TIPS[f]) for name, f in FINGERS.items()),
        Tip(finger="thumb", link="thumb_distal", pos_m=TIPS["thumb"]),
    ),
    palm=PalmFrame(pos_m=(-0.0005, -0.0170, -0.060), rpy_rad=(-math.pi / 2, 0.0, math.pi)),
    palette=PALETTE,
    no_contact=(("hand_base", "thumb_proximal_pitch"),),
    # Closing fractions: index, middle, ring, little, thumb bend, thumb rotation.
    poses={
        "open": (0.0, 0.0, 0.0, 0.0, 0.0, 0.0),
        "fist": (1.0, 1.0, 1.0, 1.0, 0.60, 0.75),
        "pinch": (0.66, 0.0, 0.0, 0.0, 0.62, 0.88),
        "point": (0.0, 1.0, 1.0, 1.0, 0.60, 0.75),
        "thumbs_up": (1.0, 1.0, 1.0, 1.0, 0.0, 0.0),
    },
    notes=(
        "The zero and sign between the URDF (0 to -1.6 rad) and the vendor's call (0.17 to 1.78 rad) are not "
        "published; angles here are the URDF's.",
        "The vendor's right URDF turns its base by 180 degrees about z; here the right hand is the mirror image.",
    ),
)

RIGHT = mirrored(
    LEFT,
    name="fourier_right",
    side="right",
    frames={link.name: "x" if link.name == "hand_base" else "z" for link in LEFT.links},
)

HANDS = (LEFT, RIGHT)
