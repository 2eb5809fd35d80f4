"""Shadow Dexterous Hand E3M5: 24 joints, 20 motors, one J0 tendon per finger.

Frame of ``forearm`` and ``palm``: z towards the fingers, x towards the thumb side of the right hand, y towards
the back of the hand. Source: the ``sr_common`` description; link names without its ``rh_`` prefix.
"""

from __future__ import annotations

import math

from thenar.hands.catalog.rows import NO_TURN, X, Y, actuator, hinge
from thenar.hands.catalog.shadow_pads import fingertip_pads, touch_92
from thenar.hands.mirror import mirrored
from thenar.hands.shapes import Box, Capsule, Cylinder, Hull, Loft, Shape, Sphere, Vec3, Visual, VisualShape
from thenar.hands.spec import Actuator, HandSpec, Joint, Link, Palette, PalmFrame, Servo, Tendon, Tip

URDF = "shadow-robot sr_common E3M5"
MJCF = "mujoco_menagerie shadow_hand: servo gain and force range, joint dynamics"
PRIMITIVES = "collision primitives of mujoco_menagerie shadow_hand"
FITTED = "capsule within the extents of the distal mesh"

FINGERS = ("ff", "mf", "rf", "lf")
# Where each knuckle hangs: link, origin [m], rpy [rad], direction of the spread axis along y.
KNUCKLES: dict[str, tuple[str, Vec3, Vec3, float]] = {
    "ff": ("palm", (0.033, 0.0, 0.095), NO_TURN, -1.0),
    "mf": ("palm", (0.011, 0.0, 0.099), NO_TURN, -1.0),
    "rf": ("palm", (-0.011, 0.0, 0.095), NO_TURN, 1.0),
    "lf": ("lfmetacarpal", (0.05397275, 0.0, 0.03779463), (0.0, 0.9599, 0.0), 1.0),
}
DAMPING_NMS_RAD = 0.05

PALETTE = Palette(body=(0.20, 0.20, 0.21), skin=(0.55, 0.56, 0.58), dark=(0.10, 0.10, 0.11))


def _loft(*rows: tuple[float, float, float, float]) -> Loft:
    """A loft along z: height, half width, half depth and shift towards the back, each in metres."""
    stations = ((0.0, shift, z, width, depth) for z, width, depth, shift in rows)
    return Loft.through(X, *stations, dome_m=0.003, squareness=3.0)


def _hub(shape: Shape) -> VisualShape:
    return VisualShape(shape=shape, tone="dark")


# Outlines of the links that can meet, in their frames [mm]: by how much they are rounded, and their corners, each with
# a mirror image in x. Fitted to the extents that mujoco_menagerie and gymnasium-robotics publish, which differ by up to
# 1.5 mm: fingers and their last links hold both, the thumb's last link lies between them, all within 0.7 mm. Phalanges
# are then made 0.4 mm (the thumb's 0.2 mm) smaller, because parts stay that far apart anyway.
# fmt: off
OUTLINES_MM: dict[str, tuple[float, tuple[Vec3, ...]]] = {
    "proximal": (6.26, (
        (2.9, 0.28, -1.91), (2.93, -1.41, -1.26), (2.91, 1.58, -0.95), (3.52, -0.34, 21.49), (2.61, -2.4, 8.04),
        (2.72, -2.36, 25.89), (1.15, -3.24, 31.23), (2.09, 2.17, 44.72), (1.5, -1.59, 46.39), (1.05, 0.72, 47.19),
    )),
    "middle": (7.45, (
        (1.94, 0.49, -0.84), (1.93, 0.82, -0.49), (1.97, -0.72, -0.73), (1.74, -1.6, 13.8), (0.32, -0.79, 25.93),
        (1.94, 0.01, 25.11), (0.35, 0.89, 25.81),
    )),
    "distal": (2.63, (
        (0.77, 3.92, 29.48), (3.62, 4.34, 4.54), (2.52, -1.54, 27.74), (4.43, -4.7, 8.24), (5.88, 3.0, 5.51),
        (3.94, 2.75, 27.13), (3.75, 0.19, 28.07), (2.23, -0.01, 29.1), (4.93, -2.4, 19.22), (2.27, 3.51, 28.93),
        (2.95, -3.64, 20.36), (6.18, -2.68, 5.44),
    )),
    "thproximal": (10.77, (
        (2.0, 0.0, 0.41), (1.03, 1.59, -0.11), (1.01, -1.61, -0.04), (1.14, -0.09, -1.05), (0.0, -0.01, 38.64),
    )),
    "thmiddle": (7.65, (
        (1.49, 2.58, -1.35), (1.54, -2.58, -1.42), (3.13, 0.06, -1.23), (1.16, 0.09, -3.02), (3.76, -1.29, 32.78),
        (3.76, 1.29, 32.73), (3.75, 0.04, 33.51),
    )),
    "thdistal": (2.81, (
        (0.82, 4.5, 31.86), (2.32, 1.94, 32.24), (5.27, 6.17, 3.87), (5.58, -4.92, 20.91), (7.04, -4.5, 9.47),
        (7.98, -1.86, 6.79), (5.09, 4.15, 29.47), (5.32, -0.75, 29.61), (7.87, 2.87, 4.61), (4.74, 3.39, 30.51),
        (6.53, 1.81, 27.6), (4.52, -6.37, 11.78), (2.58, -1.74, 30.97), (3.8, -3.59, 27.64),
    )),
}
# fmt: on

# Visuals of the parts that every finger has.
# fmt: off
FINGER_VISUALS: dict[str, Visual] = {
    "knuckle": _hub(Cylinder(start_m=(-0.0085, 0.0, 0.0), end_m=(0.0085, 0.0, 0.0), radius_m=0.009)),
    "proximal": _loft((-0.002, 0.0085, 0.0080, 0.001), (0.012, 0.0094, 0.0078, 0.0022), (0.032, 0.0094, 0.0076, 0.0022),
                      (0.046, 0.0086, 0.0080, 0.001)),
    "middle": _loft((-0.001, 0.0088, 0.0080, 0.001), (0.012, 0.0093, 0.0076, 0.0022), (0.026, 0.0085, 0.0078, 0.001)),
    "distal": _loft((0.0, 0.0084, 0.0074, 0.0008), (0.010, 0.0083, 0.0062, 0.0022), (0.020, 0.0070, 0.0048, 0.0034),
                    (0.027, 0.0048, 0.0032, 0.0036)),
}
VISUALS: dict[str, tuple[Visual, ...]] = {
    "forearm": (
        Loft.through(X, (0.0, -0.010, 0.001, 0.058, 0.058), (0.0, -0.010, 0.080, 0.060, 0.060),
                     (0.0, -0.010, 0.165, 0.057, 0.057), (0.0, -0.010, 0.181, 0.046, 0.044),
                     (0.0, -0.010, 0.206, 0.024, 0.022), tone="dark", dome_m=0.001, squareness=2.2),
    ),
    "wrist": (_loft((-0.010, 0.020, 0.018, 0.0), (0.012, 0.022, 0.016, 0.0), (0.030, 0.024, 0.014, 0.0)),),
    "palm": (
        Loft.through(X, (0.006, 0.0005, 0.004, 0.026, 0.0120), (0.008, 0.0005, 0.025, 0.034, 0.0130),
                     (0.011, 0.0005, 0.060, 0.0335, 0.0125), (0.011, 0.0005, 0.086, 0.0315, 0.0100), squareness=4.0),
        # The bearing of the thumb.
        Loft.through(X, (0.022, -0.004, 0.012, 0.012, 0.011), (0.031, -0.008, 0.026, 0.011, 0.011), tone="dark"),
    ),
    "lfmetacarpal": (
        Loft.through((0.82, 0.0, -0.57), (0.008, 0.0, 0.004, 0.0105, 0.0110), (0.030, 0.0, 0.021, 0.0105, 0.0115),
                     (0.050, 0.0, 0.035, 0.0095, 0.0095), squareness=3.5),
    ),
    **{f"{f}{part}": (visual,) for f in FINGERS for part, visual in FINGER_VISUALS.items()},
    "thbase": (_hub(Sphere(centre_m=(0.0, 0.0, 0.0), radius_m=0.0132)),),
    "thproximal": (
        _loft((0.004, 0.0110, 0.0100, 0.001), (0.020, 0.0112, 0.0092, 0.0026), (0.034, 0.0104, 0.0096, 0.001)),
    ),
    "thhub": (_hub(Sphere(centre_m=(0.0, 0.0, 0.0), radius_m=0.0112)),),
    "thmiddle": (
        _loft((0.004, 0.0096, 0.0084, 0.001), (0.018, 0.0096, 0.0082, 0.0018), (0.032, 0.0100, 0.0094, 0.0008)),
    ),
    "thdistal": (
        _loft((0.001, 0.0100, 0.0090, 0.0008), (0.012, 0.0100, 0.0074, 0.0026), (0.022, 0.0086, 0.0058, 0.0040),
              (0.029, 0.0058, 0.0038, 0.0044)),
    ),
}
# fmt: on


def _link(
    name: str,
    mass_kg: float,
    source: str,
    skin: Shape | None = None,
    *collision: Shape,
    more_skin: tuple[Shape, ...] = (),
    outline: Hull | None = None,
) -> Link:
    return Link(
        name=name,
        mass_kg=mass_kg,
        source=f"{URDF}: mass; {source}",
        skin=skin,
        more_skin=more_skin,
        collision=collision,
        outline=outline,
        visuals=VISUALS[name],
    )


def _outline(part: str) -> Hull:
    rounded_mm, corners_mm = OUTLINES_MM[part]
    both_mm = [(side * x, y, z) for x, y, z in corners_mm for side in ((1, -1) if x else (1,))]
    return Hull(points_m=tuple((1e-3 * x, 1e-3 * y, 1e-3 * z) for x, y, z in both_mm), radius_m=1e-3 * rounded_mm)


def _bone(from_z_m: float, to_z_m: float, radius_m: float, y_m: float = 0.0) -> Capsule:
    return Capsule(start_m=(0.0, y_m, from_z_m), end_m=(0.0, y_m, to_z_m), radius_m=radius_m)


FOREARM = (
    Cylinder(start_m=(0.0, -0.010, 0.0), end_m=(0.0, -0.010, 0.181), radius_m=0.059),
    Cylinder(start_m=(0.0, -0.010, 0.181), end_m=(0.0, -0.010, 0.205), radius_m=0.030),
)
WRIST = Cylinder(start_m=(0.0, 0.0, 0.002), end_m=(0.0, 0.0, 0.026), radius_m=0.0150)
PALM = (
    Box(centre_m=(0.011, 0.0005, 0.0455), half_m=(0.0315, 0.0110, 0.0410)),
    Box(centre_m=(-0.016, 0.0005, 0.0180), half_m=(0.0090, 0.0110, 0.0135)),
)
THUMB_BALL = Sphere(centre_m=(0.0, 0.0, 0.030), radius_m=0.010)
METACARPAL = Capsule(start_m=(0.019, 0.0, 0.010), end_m=(0.0490, 0.0, 0.0343), radius_m=0.0100)

LINKS = (
    _link("forearm", 3.0, "size assumed", None, *FOREARM),
    _link("wrist", 0.1, "size assumed", None, WRIST),
    _link("palm", 0.3, "two boxes within the palm between knuckles and wrist", PALM[0], more_skin=PALM[1:]),
    _link("lfmetacarpal", 0.030, "capsule from the joint to the knuckle", METACARPAL),
    *(
        link
        for f in FINGERS
        for link in (
            _link(f"{f}knuckle", 0.008, "9 mm knuckle"),
            _link(f"{f}proximal", 0.030, PRIMITIVES, _bone(0.005, 0.045, 0.009), outline=_outline("proximal")),
            _link(f"{f}middle", 0.017, PRIMITIVES, _bone(0.0, 0.025, 0.009), outline=_outline("middle")),
            _link(f"{f}distal", 0.013, FITTED, _bone(0.006, 0.0247, 0.0073, y_m=-0.0002), outline=_outline("distal")),
        )
    ),
    _link("thbase", 0.010, PRIMITIVES, None, Sphere(centre_m=(0.0, 0.0, 0.0), radius_m=0.013)),
    _link("thproximal", 0.040, PRIMITIVES, _bone(0.011, 0.029, 0.0105), outline=_outline("thproximal")),
    _link("thhub", 0.005, PRIMITIVES, None, Sphere(centre_m=(0.0, 0.0, 0.0), radius_m=0.011)),
    _link(
        "thmiddle",
        0.020,
        PRIMITIVES,
        _bone(0.003, 0.021, 0.009),
        more_skin=(THUMB_BALL,),
        outline=_outline("thmiddle"),
    ),
    _link("thdistal", 0.017, FITTED, _bone(0.008, 0.026, 0.009), outline=_outline("thdistal")),
)


SKINS = {link.name: link.skin for link in LINKS if isinstance(link.skin, Capsule)}
PADS = fingertip_pads({finger: SKINS[f"{finger}distal"] for finger in (*FINGERS, "th")})
TOUCH_92 = touch_92(SKINS, {"thmiddle": THUMB_BALL}, PALM)

HINGED = {"armature_kgm2": 2e-4, "friction_nm": 0.01}
DAMPED = HINGED | {"damping_nms_rad": 0.02}
# A nearly constant pull of 0.03 N m, above friction, lets the middle joint bend first, as on the real hand.
PULLED = DAMPED | {"spring_nm_rad": 0.005, "spring_rest_rad": -6.0}


def _finger_joints(finger: str) -> tuple[Joint, ...]:
    J = finger.upper()
    parent, pos, rpy, spread = KNUCKLES[finger]
    knuckle, proximal, middle, distal = (f"{finger}{part}" for part in FINGER_VISUALS)
    return (
        hinge(f"{J}J4", parent, knuckle, pos, rpy, (0.0, spread, 0.0), -0.3491, 0.3491, URDF, **HINGED),
        hinge(f"{J}J3", knuckle, proximal, (0.0, 0.0, 0.0), NO_TURN, X, -0.2618, 1.5708, URDF, **HINGED),
        hinge(f"{J}J2", proximal, middle, (0.0, 0.0, 0.045), NO_TURN, X, 0.0, 1.5708, URDF, **DAMPED),
        hinge(f"{J}J1", middle, distal, (0.0, 0.0, 0.025), NO_TURN, X, 0.0, 1.5708, URDF, **PULLED),
    )


# fmt: off
JOINTS = (
    hinge("WRJ2", "forearm", "wrist", (0.0, -0.010, 0.21301), NO_TURN, Y, -0.5236, 0.1745, URDF, **HINGED),
    hinge("WRJ1", "wrist", "palm", (0.0, 0.0, 0.034), NO_TURN, X, -0.6981, 0.4887, URDF, **HINGED),
    hinge("LFJ5", "palm", "lfmetacarpal", (-0.033, 0.0, 0.02071), (0.0, -0.9599, 0.0),
          X, 0.0, 0.7854, URDF, **HINGED),
    *(joint for finger in FINGERS for joint in _finger_joints(finger)),
    hinge("THJ5", "palm", "thbase", (0.034, -0.00858, 0.029), (-0.7854, 0.0, -1.5708),
          (0.0, 0.0, -1.0), -1.0472, 1.0472, URDF, **HINGED),
    hinge("THJ4", "thbase", "thproximal", (0.0, 0.0, 0.0), NO_TURN, Y, 0.0, 1.2217, URDF, **HINGED),
    hinge("THJ3", "thproximal", "thhub", (0.0, 0.0, 0.038), NO_TURN, Y, -0.2094, 0.2094, URDF, **HINGED),
    hinge("THJ2", "thhub", "thmiddle", (0.0, 0.0, 0.0), NO_TURN, X, -0.6981, 0.6981, URDF, **HINGED),
    hinge("THJ1", "thmiddle", "thdistal", (0.0, 0.0, 0.032), NO_TURN, X, -0.2618, 1.5708, URDF, **HINGED),
)
# fmt: on

# In the order wrist, first to little finger, thumb: closed [rad], then stiffness [N m/rad], effort [N m], top speed
# [rad/s], lever [m] and damping [N m s/rad] of the servo. J0 pulls two joints of 2 rad/s each.
MOTORS: dict[str, tuple[float, float, float, float, float, float]] = {
    "WRJ2": (0.0, 10.0, 10.0, 2.0, 0.20, 0.5),
    "WRJ1": (0.0, 8.0, 5.0, 2.0, 0.20, 0.5),
    **{
        f"{f.upper()}{number}": row
        for f in FINGERS
        for number, row in (
            *((("J5", (0.4, 1.0, 1.0, 2.0, 0.096, DAMPING_NMS_RAD)),) if f == "lf" else ()),
            ("J4", (0.0, 1.0, 1.0, 2.0, 0.096, DAMPING_NMS_RAD)),
            ("J3", (1.5708, 1.0, 1.0, 2.0, 0.096, DAMPING_NMS_RAD)),
            ("J0", (3.1415, 0.5, 1.0, 4.0, 0.051, 0.02)),
        )
    },
    "THJ5": (1.0472, 0.4, 3.0, 4.0, 0.098, DAMPING_NMS_RAD),
    "THJ4": (1.2217, 1.0, 2.0, 4.0, 0.098, DAMPING_NMS_RAD),
    "THJ3": (0.0, 0.5, 1.0, 4.0, 0.060, DAMPING_NMS_RAD),
    "THJ2": (0.6981, 1.5, 1.0, 2.0, 0.060, DAMPING_NMS_RAD),
    "THJ1": (1.5708, 1.0, 1.0, 4.0, 0.028, DAMPING_NMS_RAD),
}


def _actuator(
    name: str, closed_rad: float, kp: float, effort_nm: float, speed_rad_s: float, lever_m: float, kd: float
) -> Actuator:
    servo = Servo(
        stiffness_nm_rad=kp,
        damping_nms_rad=kd,
        top_speed_rad_s=speed_rad_s,
        effort_nm=effort_nm,
        lever_m=lever_m,
        source=f"{MJCF}; speed of {URDF}",
    )
    ends = next(((j.lower_rad, j.upper_rad) for j in JOINTS if j.name == name), (0.0, closed_rad))
    return actuator(name, name, closed_rad, servo, lower_rad=ends[0], upper_rad=ends[1])


ACTUATORS = tuple(_actuator(name, *row) for name, row in MOTORS.items())
TENDONS = tuple(
    tendon
    for J in (finger.upper() for finger in FINGERS)
    for tendon in (
        Tendon(
            name=f"{J}J0",
            joints=((f"{J}J2", 1.0), (f"{J}J1", 1.0)),
            source=f"{URDF}: J0Transmission, one motor for the sum of both joints",
        ),
        Tendon(
            name=f"{J}_order",
            joints=((f"{J}J2", 1.0), (f"{J}J1", -1.0)),
            lower_rad=0.0,
            source="Shadow: the middle joint is never less bent than the distal one (not found in print)",
        ),
    )
)


def _pose(**fractions: float) -> tuple[float, ...]:
    """Closing fractions by motor name, 0 for the rest; ``fingers_J3`` and ``fingers_J0`` serve all four."""
    return tuple(fractions.get(motor.name, fractions.get(f"fingers_{motor.name[2:]}", 0.0)) for motor in ACTUATORS)


POSES = {
    "open": _pose(),
    "fist": _pose(fingers_J3=1.0, fingers_J0=0.97, THJ5=0.45, THJ4=0.90, THJ2=0.6, THJ1=0.5),
    "pinch": _pose(FFJ3=0.62, FFJ0=0.27, THJ5=0.70, THJ4=0.97, THJ2=0.35, THJ1=0.16),
    "point": _pose(fingers_J3=1.0, fingers_J0=0.97, FFJ3=0.0, FFJ0=0.0, THJ5=0.45, THJ4=0.90, THJ2=0.6, THJ1=0.5),
    "thumbs_up": _pose(fingers_J3=1.0, fingers_J0=0.97),
}

CHAINS = (
    *(tuple(f"{f}{part}" for part in FINGER_VISUALS) for f in FINGERS[:3]),
    ("lfmetacarpal", *(f"lf{part}" for part in FINGER_VISUALS)),
    ("thbase", "thproximal", "thhub", "thmiddle", "thdistal"),
)
# Parts of one finger, and the first parts of a finger against the palm, bear on each other by construction.
BY_CONSTRUCTION = (
    *((a, b) for chain in CHAINS for i, a in enumerate(chain) for b in chain[i + 2 :]),
    *(("palm", f"{f}proximal") for f in FINGERS),
    *(("palm", name) for name in ("lfknuckle", "thproximal", "thhub")),
    ("lfmetacarpal", "rfproximal"),
    ("forearm", "palm"),
)

RIGHT = HandSpec(
    name="shadow_right",
    maker="Shadow Robot",
    model="Dexterous Hand E3M5",
    side="right",
    summary="Twenty tendon motors, twenty-four joints; the last two joints of a finger share one motor.",
    root="forearm",
    links=LINKS,
    joints=JOINTS,
    tendons=TENDONS,
    actuators=ACTUATORS,
    pads=PADS,
    variants={"touch_92": TOUCH_92},
    tips=(
        *(Tip(finger=f, link=f"{f}distal", pos_m=(0.0, 0.0, 0.026)) for f in FINGERS),
        Tip(finger="th", link="thdistal", pos_m=(0.0, 0.0, 0.0275)),
    ),
    palm=PalmFrame(pos_m=(0.008, -0.022, 0.30), rpy_rad=(math.pi / 2, 0.0, 0.0)),
    palette=PALETTE,
    no_contact=BY_CONSTRUCTION,
    poses=POSES,
    notes=(
        "J1 <= J2 is a limit of its own tendon; the wording of Shadow's manual was not found in print.",
        "The pads are an assumption: grids on the fingertips; variant touch_92 has the regions of gymnasium-robotics.",
        "The little finger's knuckle is the URDF's (z 0.0866 m in the palm); mujoco_menagerie has 0.0865.",
    ),
)

LEFT = mirrored(RIGHT, name="shadow_left", side="left", frames={link.name: "x" for link in RIGHT.links})

HANDS = (LEFT, RIGHT)
