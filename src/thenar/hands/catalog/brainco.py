"""BrainCo Revo 2: 6 motors, 11 joints, touch on five fingertips.

Frame of ``base``: z towards the fingers, x out of the palm, the thumb on the side of +y on the right hand. Fingers run
along their own z and bend about y, the thumb runs along y. Source: ``revo2_right_hand`` and ``revo2_left_hand`` URDF of
BrainCoTech/revo2_description, sizes from the meshes of unitree_ros. The two files are mirror images up to where the
thumb is fixed (1.4 mm) and 17 um at the knuckles; the frames of the left middle and ring fingertips are turned.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace

from thenar.hands.catalog.rows import COUPLED, DRIVEN, NO_TURN, Inertial, X, Y, Z, actuator, hinge, weighed_link
from thenar.hands.mirror import mirrored
from thenar.hands.shapes import Box, Capsule, Cylinder, Loft, Shape, Vec3, Visual, VisualShape
from thenar.hands.spec import Actuator, Coupling, HandSpec, Joint, Link, Pad, Palette, PalmFrame, Servo, Tip

URDF = "revo2_right_hand URDF"
INERTIAL = f"{URDF}: mass, centre and inertia, touch pieces with their fingertips; sizes from meshes"
TOUCH = f"{URDF}: place of the touch piece; size and the 12 electrodes under it are assumed"
PROXIMITY_RANGE_M = 0.02  # how far the electrodes see what does not touch; assumed
MINUS_Z: Vec3 = (0.0, 0.0, -1.0)

PALETTE = Palette(body=(0.86, 0.87, 0.88), skin=(0.30, 0.31, 0.33), dark=(0.14, 0.14, 0.15))

FINGERS = ("index", "middle", "ring", "pinky")
# Knuckle in base [m] and its turn [rad], place of the second joint [m], fingertip [m], touch piece: place [m] and
# pitch [rad]. Right hand.
KNUCKLES: dict[str, tuple[Vec3, Vec3, float, Vec3, Vec3, float]] = {
    "index": ((-0.0021181, 0.029568, 0.080876), (-0.11819, 0.14743, -0.17422), 0.032,
              (0.011097, 0.0, 0.035739), (0.014497, 0.0, 0.023303), 0.4756),
    "middle": ((-0.0045767, 0.010051, 0.084993), (-0.039468, 0.1483, -0.057975), 0.037,
               (0.012558, 0.0, 0.040442), (0.015976, 0.0, 0.026589), 0.4756),
    "ring": ((-0.0046709, -0.010037, 0.083982), (0.039462, 0.14721, 0.057932), 0.035,
             (0.012266, 0.0, 0.039501), (0.015439, 0.0, 0.026056), 0.4756),
    "pinky": ((-0.0023566, -0.029366, 0.078694), (0.11815, 0.14491, 0.17392), 0.029,
              (0.010221, 0.0, 0.032918), (0.01401, 0.0, 0.021124), 0.4756),
}  # fmt: skip
THUMB_TIP: Vec3 = (0.0, 0.026529, -0.0017734)
THUMB_TOUCH: Vec3 = (0.0, 0.013793, 0.0076766)
# Where joints of the left hand are, where that is no mirror image [m].
LEFT_PLACES: dict[str, Vec3] = {
    "thumb_metacarpal": (0.0045, -0.019, 0.027825),
    "index_proximal": (-0.0021349, -0.029578, 0.080876),
    "middle_proximal": (-0.0045935, -0.010061, 0.084993),
    "ring_proximal": (-0.0046877, 0.010026, 0.083982),
    "pinky_proximal": (-0.0023733, 0.029356, 0.078694),
}
LEFT_TURN_RAD = 0.12654  # of the frames of two fingertips about y
RADIUS_M = 0.0063  # half width of a fingertip

# Of the right hand.
# fmt: off
INERTIALS: dict[str, Inertial] = {
    "base": (0.238, (-0.00524378, -0.0034038, 0.0521267),
        (2.10912e-05, 1.44622e-05, 7.99811e-06, 3.86322e-08, 9.36399e-08, -1.09577e-06)),
    "thumb_metacarpal": (0.01, (1.51106e-05, 0.00707243, -0.00420847),
        (1.5924e-07, 1.60913e-07, 5.1355e-08, -4.69101e-09, 4.92934e-10, -1.48147e-08)),
    "thumb_proximal": (0.05, (0.0, 0.0277015, -0.00202656),
        (2.40452e-06, 5.12324e-07, 2.56254e-06, -1.31093e-10, 0.0, -2.89155e-08)),
    "thumb_distal": (0.012, (0.0, 0.0117545, 1.13288e-05),
        (3.35587e-07, 2.30724e-07, 4.39106e-07, 0.0, 0.0, 2.5035e-08)),
    "index_proximal": (0.009, (-0.00223495, 3.15875e-06, 0.0176402),
        (2.51946e-07, 2.36435e-07, 9.30351e-08, 0.0, -6.37276e-09, 1.65019e-10)),
    "index_distal": (0.011, (0.00506251, 0.0, 0.0165189),
        (6.11651e-07, 7.85555e-07, 2.47217e-07, 0.0, -2.89533e-07, 0.0)),
    "middle_proximal": (0.009, (-0.00222511, 5.25632e-06, 0.0203008),
        (3.66996e-07, 3.52645e-07, 1.12234e-07, 2.68341e-11, -9.79837e-09, 2.57866e-10)),
    "middle_distal": (0.011, (0.00591597, 0.0, 0.0190796),
        (8.53306e-07, 1.06828e-06, 3.07484e-07, 0.0, -3.81405e-07, 0.0)),
    "ring_proximal": (0.009, (-0.00234495, 5.87955e-06, 0.0191774),
        (3.14178e-07, 2.97613e-07, 1.02115e-07, 3.34382e-11, -7.78982e-09, 2.41252e-10)),
    "ring_distal": (0.011, (0.00570078, 0.0, 0.0185997),
        (8.06283e-07, 1.01271e-06, 2.93094e-07, 0.0, -3.65996e-07, 0.0)),
    "pinky_proximal": (0.009, (-0.00213212, 7.75039e-06, 0.0160672),
        (1.97563e-07, 1.82023e-07, 8.21625e-08, 2.23402e-11, -4.58426e-09, 1.08028e-10)),
    "pinky_distal": (0.011, (0.00473738, 0.0, 0.0150053),
        (4.71555e-07, 6.20818e-07, 2.17977e-07, 0.0, -2.30247e-07, 0.0)),
}
TURNED_INERTIALS: dict[str, Inertial] = {
    "middle_distal": (0.011, (0.00346095, 0.0, 0.0196735),
        (9.40106e-07, 1.06829e-06, 2.20692e-07, 0.0, -3.00933e-07, 0.0)),
    "ring_distal": (0.011, (0.00330806, 0.0, 0.0191705),
        (8.89736e-07, 1.01271e-06, 2.09644e-07, 0.0, -2.90098e-07, 0.0)),
}
# fmt: on


def _turned(point: Vec3, turn_rad: float) -> Vec3:
    """The same point in a frame that is turned about y."""
    x, y, z = point
    c, s = math.cos(turn_rad), math.sin(turn_rad)
    return x * c - z * s, y, x * s + z * c


def _along(finger: str, turn_rad: float) -> tuple[Vec3, Vec3, Vec3]:
    """Directions along a fingertip's pad and out of it, and the point of its axis behind the pad's centre."""
    *_, place, pitch_rad = KNUCKLES[finger]
    along, out = (math.sin(pitch_rad), 0.0, math.cos(pitch_rad)), (math.cos(pitch_rad), 0.0, -math.sin(pitch_rad))
    behind = (place[0] - RADIUS_M * out[0], 0.0, place[2] - RADIUS_M * out[2])
    return _turned(along, turn_rad), _turned(out, turn_rad), _turned(behind, turn_rad)


def _on_axis(finger: str, turn_rad: float, s_m: float, lift_m: float = 0.0) -> Vec3:
    along, out, behind = _along(finger, turn_rad)
    x, y, z = (b + s_m * a + lift_m * o for a, o, b in zip(along, out, behind, strict=True))
    return x, y, z


def _reach_m(finger: str) -> float:
    """How far the round end of a fingertip lies beyond the pad's centre."""
    tip, (along, _, behind) = KNUCKLES[finger][3], _along(finger, 0.0)
    return sum(a * (t - b) for a, t, b in zip(along, tip, behind, strict=True)) - RADIUS_M


def _skin(name: str, turn_rad: float) -> Shape | None:
    finger, _, part = name.partition("_")
    match finger, part:
        case "base", _:
            return Box(centre_m=(-0.0030, 0.0, 0.046), half_m=(0.0150, 0.0350, 0.0340))
        case "thumb", "metacarpal":
            return None
        case "thumb", "proximal":
            return Capsule(start_m=(0.0, 0.006, -0.0015), end_m=(0.0, 0.046, -0.0015), radius_m=0.0085)
        case "thumb", _:
            return Capsule(start_m=(0.0, 0.003, -0.0004), end_m=(0.0, 0.0182, -0.0004), radius_m=0.0081)
        case _, "proximal":
            return Capsule(start_m=(-0.002, 0.0, 0.002), end_m=(-0.002, 0.0, KNUCKLES[finger][2]), radius_m=0.0075)
        case _:
            start = _on_axis(finger, turn_rad, -0.9 * KNUCKLES[finger][4][2])
            return Capsule(start_m=start, end_m=_on_axis(finger, turn_rad, _reach_m(finger)), radius_m=RADIUS_M)


def _visuals(name: str, turn_rad: float) -> tuple[Visual, ...]:
    finger, _, part = name.partition("_")
    match finger, part:
        case "base", _:
            return (
                Loft.through(Y, (0.0, 0.0, 0.000, 0.0190, 0.0185), (0.0, 0.0, 0.012, 0.0220, 0.0190), tone="dark",
                             dome_m=0.001),
                Loft.through(Y, (-0.001, 0.0, 0.012, 0.0240, 0.0180), (-0.002, 0.001, 0.024, 0.0330, 0.0172),
                             (-0.003, 0.0, 0.052, 0.0375, 0.0165), (-0.003, 0.0, 0.074, 0.0378, 0.0140),
                             (-0.003, 0.0, 0.081, 0.0365, 0.0105), squareness=3.6),
                VisualShape(shape=Cylinder(start_m=(0.0056, 0.0199, 0.014), end_m=(0.0056, 0.0199, 0.042),
                                           radius_m=0.0125), tone="dark"),
            )  # fmt: skip
        case "thumb", "metacarpal":
            return (
                VisualShape(shape=Cylinder(start_m=(0.0, 0.0, -0.012), end_m=(0.0, 0.0, 0.012), radius_m=0.0100)),
                Loft.through(X, (0.0, 0.004, -0.003, 0.0095, 0.0120), (0.0, 0.016, -0.001, 0.0092, 0.0100)),
            )
        case "thumb", "proximal":
            return (Loft.through(X, (0.0, -0.002, -0.002, 0.0100, 0.0082), (0.0, 0.014, -0.002, 0.0118, 0.0102),
                                 (0.0, 0.036, -0.002, 0.0112, 0.0100), (0.0, 0.051, -0.001, 0.0098, 0.0086),
                                 squareness=3.0),)  # fmt: skip
        case "thumb", _:
            return (Loft.through(X, (0.0, -0.001, -0.001, 0.0092, 0.0078), (0.0, 0.012, -0.0018, 0.0094, 0.0074),
                                 (0.0, 0.023, -0.0025, 0.0066, 0.0052), squareness=2.6),)  # fmt: skip
        case _, "proximal":
            end = KNUCKLES[finger][2]
            rows = (
                (-0.0022, 0.0, 0.0, 0.0075, 0.0078),
                (-0.0026, 0.0, 0.5 * end, 0.0079, 0.0082),
                (-0.0018, 0.0, end + 0.001, 0.0074, 0.0075),
            )
            return (Loft.through(Y, *rows, squareness=3.2, dome_m=0.003),)
        case _:
            back, reach = -0.9 * KNUCKLES[finger][4][2], _reach_m(finger)
            rows = (
                (*_on_axis(finger, turn_rad, back + 0.001, -0.0006), 0.0068, 0.0066),
                (*_on_axis(finger, turn_rad, 0.4 * back, -0.0018), 0.0066, 0.0060),
                (*_on_axis(finger, turn_rad, reach, -0.0016), 0.0058, 0.0050),
            )
            return (Loft.through(Y, *rows, squareness=2.6, dome_m=0.004),)


def _pad(finger: str, turn_rad: float) -> Pad:
    if finger == "thumb":
        centre, along, out = THUMB_TOUCH, Y, Z
    else:
        along, out, _ = _along(finger, turn_rad)
        centre = _turned(KNUCKLES[finger][4], turn_rad)
    return Pad(
        name=f"{finger}_tip",
        link=f"{finger}_distal",
        rows=4,
        cols=3,
        row_pitch_m=0.0036,
        col_pitch_m=0.0036,
        chart="cylinder",
        centre_m=centre,
        row_axis=along,
        normal=out,
        proximity_range_m=PROXIMITY_RANGE_M,
        source=TOUCH,
    )


def _actuator(name: str, drives: str, closed_rad: float, effort_nm: float, speed_rad_s: float) -> Actuator:
    servo = Servo(
        stiffness_nm_rad=12.0,
        damping_nms_rad=0.05,
        top_speed_rad_s=speed_rad_s,
        effort_nm=effort_nm,
        lever_m=0.075,
        source=f"{URDF}: effort and speed; stiffness assumed",
    )
    return actuator(name, drives, closed_rad, servo)


def _hand(turn_rad: Mapping[str, float], inertials: Mapping[str, Inertial]) -> HandSpec:
    """The right hand, with the frames of some fingertips turned about y."""

    def link(name: str) -> Link:
        turn = turn_rad.get(name, 0.0)
        knob = Cylinder(start_m=(0.0, 0.0, -0.011), end_m=(0.0, 0.0, 0.011), radius_m=0.009)
        return weighed_link(
            name,
            inertials[name],
            INERTIAL,
            skin=_skin(name, turn),
            collision=(knob,) if name == "thumb_metacarpal" else (),
            visuals=_visuals(name, turn),
        )

    def finger_joints(f: str) -> tuple[Joint, Joint]:
        place, turn, length, *_ = KNUCKLES[f]
        first, second = f"{f}_proximal", f"{f}_distal"
        tilt = (0.0, turn_rad.get(second, 0.0), 0.0)
        return (
            hinge(first, "base", first, place, turn, Y, 0.0, 1.41, URDF, **DRIVEN),
            hinge(second, first, second, (0.0, 0.0, length), tilt, Y, 0.0, 1.63, URDF, **COUPLED),
        )

    # fmt: off
    joints = (
        hinge("thumb_metacarpal", "base", "thumb_metacarpal", (0.005619, 0.019867, 0.027825), (0.0, 0.0, -0.16787),
              MINUS_Z, 0.0, 1.57, URDF, **DRIVEN),
        hinge("thumb_proximal", "thumb_metacarpal", "thumb_proximal", (0.0, 0.014227, 0.0), (0.17488, 0.23736, 0.16787),
              X, 0.0, 1.03, URDF, **DRIVEN),
        hinge("thumb_distal", "thumb_proximal", "thumb_distal", (0.0, 0.052, 0.0), NO_TURN, X, 0.0, 1.03, URDF,
              **COUPLED),
        *(joint for f in FINGERS for joint in finger_joints(f)),
    )
    # fmt: on
    return HandSpec(
        name="brainco_right",
        maker="BrainCo",
        model="Revo 2",
        side="right",
        summary="Six motors, eleven joints, touch on the fingertips.",
        root="base",
        links=tuple(link(name) for name in inertials),
        joints=joints,
        couplings=(
            Coupling(joint="thumb_distal", driver="thumb_proximal", ratio=1.0, source=URDF),
            *(Coupling(joint=f"{f}_distal", driver=f"{f}_proximal", ratio=1.155, source=URDF) for f in FINGERS),
        ),
        # In the order of the hand and its SDK.
        actuators=(
            _actuator("thumb", "thumb_proximal", 1.03, 1.1, 2.5303),
            _actuator("thumb_aux", "thumb_metacarpal", 1.57, 0.5, 2.6175),
            *(_actuator(f, f"{f}_proximal", 1.41, 2.0, 2.2685) for f in FINGERS),
        ),
        pads=tuple(_pad(f, turn_rad.get(f"{f}_distal", 0.0)) for f in ("thumb", *FINGERS)),
        tips=(
            Tip(finger="thumb", link="thumb_distal", pos_m=THUMB_TIP),
            *(
                Tip(
                    finger="little" if f == "pinky" else f,
                    link=f"{f}_distal",
                    pos_m=_turned(KNUCKLES[f][3], turn_rad.get(f"{f}_distal", 0.0)),
                )
                for f in FINGERS
            ),
        ),
        palm=PalmFrame(pos_m=(0.0120, 0.0, 0.052), rpy_rad=(math.pi / 2, 0.0, math.pi / 2)),
        palette=PALETTE,
        no_contact=(("base", "thumb_proximal"),),
        # Closing fractions: thumb, thumb aux, index, middle, ring, pinky.
        poses={
            "open": (0.0,) * 6,
            "fist": (0.75, 0.95, 1.0, 1.0, 1.0, 1.0),
            "pinch": (0.75, 0.7, 0.55, 0.0, 0.0, 0.0),
            "point": (0.75, 0.95, 0.0, 1.0, 1.0, 1.0),
            "thumbs_up": (0.0, 0.0, 1.0, 1.0, 1.0, 1.0),
        },
        notes=(
            "Limits are those of the maker's URDF; the URDF of unitree_ros and xr_teleoperate has 1.0472, 1.5184 and "
            "1.4661 rad.",
            "The hand and its SDK count thumb, thumb_aux; xr_teleoperate fills these two the other way round.",
        ),
    )


def _left() -> HandSpec:
    """The mirror image, with the maker's own places of joints and frames of fingertips."""
    turns = dict.fromkeys(TURNED_INERTIALS, LEFT_TURN_RAD)
    image = _hand(turns, INERTIALS | TURNED_INERTIALS)
    mirror = mirrored(image, name="brainco_left", side="left", frames={link.name: "y" for link in image.links})
    joints = tuple(
        replace(joint, pos_m=LEFT_PLACES.get(joint.name, joint.pos_m), source="revo2_left_hand URDF")
        for joint in mirror.joints
    )
    return replace(mirror, joints=joints)


RIGHT = _hand({}, INERTIALS)
LEFT = _left()

HANDS = (LEFT, RIGHT)
