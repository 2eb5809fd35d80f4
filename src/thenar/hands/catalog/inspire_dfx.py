"""Inspire RH56DFX, the hand without skin: 6 motors, 12 joints.

Frame of ``hand_base``: fingers towards -y, palm towards -x, thumb side towards -z on the right hand. Fingers
bend about their own z. Source: dexsuite/dex-urdf (the same origins as xr_teleoperate and Unitree's DFQ URDF).
"""

from __future__ import annotations

import math
from dataclasses import replace

from thenar.hands.catalog.inspire import PALETTE
from thenar.hands.catalog.inspire_couplings import coupling_laws
from thenar.hands.catalog.inspire_motor_fit import DFX_MOTORS
from thenar.hands.catalog.rows import COUPLED, DRIVEN, NO_TURN, Z, actuator, hinge
from thenar.hands.mirror import Axis, mirrored
from thenar.hands.shapes import Box, Capsule, Cylinder, Loft, Vec3, Visual, VisualShape
from thenar.hands.spec import HandSpec, Link, PalmFrame, Tip

URDF = "dexsuite/dex-urdf inspire_hand_right"
SIZES = f"{URDF}: mass, width of the link's box"

# Vendor's actuator order with the URDF's finger names.
FINGERS = {"little": "pinky", "ring": "ring", "middle": "middle", "index": "index"}
# Origin in hand_base [m] and roll [rad].
KNUCKLES = {
    "index": ((0.00028533, -0.13653, -0.032268), -3.1067),
    "middle": ((0.00028533, -0.1371, -0.01295), -3.1416),
    "ring": ((0.00028533, -0.13691, 0.0062872), 3.0892),
    "pinky": ((0.00028533, -0.13571, 0.025488), 3.0369),
}
SECOND_ORIGIN: dict[str, Vec3] = {
    "index": (-0.0026138, 0.032026, -0.001),
    "middle": (-0.0024229, 0.032041, -0.001),
    "ring": (-0.0024229, 0.032041, -0.001),
    "pinky": (-0.0024229, 0.032041, -0.001),
}
TIPS: dict[str, Vec3] = {
    "thumb": (0.0202, 0.0140, -0.006),
    "index": (-0.0008, 0.045, -0.005),
    "middle": (-0.001, 0.048, -0.005),
    "ring": (-0.0008, 0.045, -0.005),
    "pinky": (-0.0008, 0.037, -0.005),
}
SECOND_MASS_KG = {"index": 0.0045683, "ring": 0.0045683, "middle": 0.0050396, "pinky": 0.0035996}
THUMB_2_ORIGIN: Vec3 = (0.04407, 0.034553, -0.0008)
THUMB_3_ORIGIN: Vec3 = (0.020248, 0.010156, -0.0012)
MIDDLE_Z_M = -0.0055  # the knuckles' boxes show that a finger lies 5.5 mm beside its joint frame
SECOND_Z_M = MIDDLE_Z_M + 0.0005

# Thumb: mass [kg], end of the bone [m], radius [m], start of the capsule along the bone [m].
THUMB_BONES: dict[str, tuple[float, Vec3, float, float]] = {
    "thumb_proximal": (0.0066075, THUMB_2_ORIGIN, 0.0092, 0.006),
    "thumb_intermediate": (0.0037847, THUMB_3_ORIGIN, 0.0080, 0.002),
    "thumb_distal": (0.0033441, (0.0178, 0.0116, 0.0), 0.0070, 0.002),
}


def _thumb_skin(end_m: Vec3, radius_m: float, start_m: float) -> Capsule:
    x, y, _ = end_m
    length = math.hypot(x, y)
    start = (start_m * (x / length), start_m * (y / length), MIDDLE_Z_M)
    return Capsule(start_m=start, end_m=(x, y, MIDDLE_Z_M), radius_m=radius_m)


def _thumb_visual(end_m: Vec3, radius_m: float) -> Loft:
    x, y, _ = end_m
    length, lift = math.hypot(x, y), 0.0016
    return Loft.through(
        Z,
        *(
            (s * x + lift * (y / length), s * y - lift * (x / length), MIDDLE_Z_M, radius_m * width, radius_m * 0.92)
            for s, width in ((0.0, 0.95), (0.35, 1.06), (0.95, 0.98))
        ),
    )


def _second_visual(tip_y: float) -> Loft:
    return Loft.through(
        Z,
        (0.0010, -0.003, SECOND_Z_M, 0.0060, 0.0062),
        (0.0012, 0.010, SECOND_Z_M, 0.0066, 0.0062),
        (0.0002, tip_y - 0.010, SECOND_Z_M, 0.0060, 0.0046),
        (-0.0008, tip_y, SECOND_Z_M, 0.0042, 0.0030),
        dome_m=0.002,
    )


# fmt: off
FIRST_VISUAL = Loft.through(Z, (0.0010, -0.004, MIDDLE_Z_M, 0.0064, 0.0066),
                            (0.0014, 0.008, MIDDLE_Z_M, 0.0073, 0.0074), (0.0004, 0.033, MIDDLE_Z_M, 0.0070, 0.0068))
VISUALS: dict[str, tuple[Visual, ...]] = {
    "hand_base": (
        Loft.through(Z, (0.0, -0.001, 0.0, 0.0275, 0.0275), (0.0, -0.028, 0.0, 0.0280, 0.0280), tone="dark",
                     dome_m=0.001),
        Loft.through(Z, (-0.002, -0.030, 0.0, 0.0285, 0.0200), (-0.003, -0.050, 0.0, 0.0390, 0.0200),
                     (-0.002, -0.090, 0.0, 0.0418, 0.0180), (-0.001, -0.128, 0.001, 0.0412, 0.0125), squareness=4.5),
    ),
    **{f"{f}_proximal": (FIRST_VISUAL,) for f in FINGERS.values()},
    **{f"{f}_intermediate": (_second_visual(TIPS[f][1]),) for f in FINGERS.values()},
    "thumb_proximal_base": (
        VisualShape(shape=Cylinder(start_m=(0.0, 0.0, -0.011), end_m=(0.0, 0.0, 0.004), radius_m=0.0088), tone="dark"),
    ),
    **{name: (_thumb_visual(end, radius),) for name, (_, end, radius, _) in THUMB_BONES.items()},
}
# fmt: on


def _link(name: str, mass_kg: float, skin: Capsule | None = None) -> Link:
    return Link(name=name, mass_kg=mass_kg, source=SIZES, skin=skin, visuals=VISUALS[name])


FIRST_SKIN = Capsule(start_m=(-0.0010, 0.003, MIDDLE_Z_M), end_m=(-0.0026, 0.0315, MIDDLE_Z_M), radius_m=0.0071)


def _second_skin(tip_y: float) -> Capsule:
    end = (-0.0032, tip_y - 0.0050, SECOND_Z_M)
    return Capsule(start_m=(-0.0002, 0.003, SECOND_Z_M), end_m=end, radius_m=0.0063)


LINKS = (
    Link(
        name="hand_base",
        mass_kg=0.14143,
        source=f"{URDF}: mass and collision boxes",
        collision=(
            Box(centre_m=(-0.0, -0.1081, 0.0), half_m=(0.0161, 0.0200, 0.0407)),
            Box(centre_m=(-0.0032, -0.0682, 0.0), half_m=(0.01955, 0.0200, 0.0407)),
            Box(centre_m=(-0.0032, -0.0380, 0.0), half_m=(0.01955, 0.0101, 0.0287)),
            Cylinder(start_m=(0.0, 0.0003, 0.0), end_m=(0.0, -0.0275, 0.0), radius_m=0.028),
        ),
        visuals=VISUALS["hand_base"],
    ),
    *(
        link
        for f in FINGERS.values()
        for link in (
            _link(f"{f}_proximal", 0.0042403, FIRST_SKIN),
            _link(f"{f}_intermediate", SECOND_MASS_KG[f], _second_skin(TIPS[f][1])),
        )
    ),
    _link("thumb_proximal_base", 0.0018869),
    *(_link(name, mass, _thumb_skin(end, radius, start)) for name, (mass, end, radius, start) in THUMB_BONES.items()),
)

# Name, parent, child, origin [m], rpy [rad], axis, lower and upper limit [rad].
# fmt: off
JOINTS = (
    *(
        joint
        for f in FINGERS.values()
        for first, second in ((f"{f}_proximal", f"{f}_intermediate"),)
        for joint in (
            hinge(first, "hand_base", first, KNUCKLES[f][0], (KNUCKLES[f][1], 0.0, 0.0), Z, 0.0, 1.47, URDF, **DRIVEN),
            hinge(second, first, second, SECOND_ORIGIN[f], NO_TURN, Z, -0.04545, 1.56, URDF, **COUPLED),
        )
    ),
    hinge("thumb_proximal_yaw", "hand_base", "thumb_proximal_base",
          (-0.01696, -0.0691, -0.02045), (1.5708, -1.5708, 0.0), (0.0, 0.0, -1.0), 0.0, 1.308, URDF, **DRIVEN),
    hinge("thumb_proximal_pitch", "thumb_proximal_base", "thumb_proximal",
          (-0.0088099, 0.010892, -0.00925), (1.5708, 0.0, 2.8587), Z, 0.0, 0.6, URDF, **DRIVEN),
    hinge("thumb_intermediate", "thumb_proximal", "thumb_intermediate",
          THUMB_2_ORIGIN, NO_TURN, Z, 0.0, 0.8, URDF, **COUPLED),
    hinge("thumb_distal", "thumb_intermediate", "thumb_distal", THUMB_3_ORIGIN, NO_TURN, Z, 0.0, 0.4, URDF, **COUPLED),
)
# fmt: on

VARIANTS = coupling_laws(
    {f: (f"{urdf}_proximal", f"{urdf}_intermediate") for f, urdf in FINGERS.items()},
    ("thumb_proximal_pitch", "thumb_intermediate", "thumb_distal"),
)

RIGHT = HandSpec(
    name="inspire_dfx_right",
    maker="Inspire Robots",
    model="RH56DFX",
    side="right",
    summary="Six lead-screw motors, twelve joints, no skin.",
    root="hand_base",
    links=LINKS,
    joints=JOINTS,
    couplings=VARIANTS["dex_urdf"],
    actuators=(
        *(actuator(name, f"{urdf}_proximal", 1.47, DFX_MOTORS[name]) for name, urdf in FINGERS.items()),
        actuator("thumb_bend", "thumb_proximal_pitch", 0.6, DFX_MOTORS["thumb_bend"]),
        actuator("thumb_rotation", "thumb_proximal_yaw", 1.308, DFX_MOTORS["thumb_rotation"]),
    ),
    tips=(
        *(Tip(finger=name, link=f"{urdf}_intermediate", pos_m=TIPS[urdf]) for name, urdf in FINGERS.items()),
        Tip(finger="thumb", link="thumb_distal", pos_m=TIPS["thumb"]),
    ),
    palm=PalmFrame(pos_m=(-0.0195, -0.100, 0.0), rpy_rad=(0.0, math.pi / 2, math.pi)),
    palette=PALETTE,
    no_contact=(("hand_base", "thumb_proximal"), ("hand_base", "thumb_intermediate")),
    # Closing fractions: little, ring, middle, index, thumb bend, thumb rotation.
    poses={
        "open": (0.0, 0.0, 0.0, 0.0, 0.0, 0.0),
        "fist": (1.0, 1.0, 1.0, 1.0, 0.75, 0.35),
        "pinch": (0.0, 0.0, 0.0, 0.60, 0.62, 1.0),
        "point": (1.0, 1.0, 1.0, 0.0, 0.75, 0.35),
        "thumbs_up": (1.0, 1.0, 1.0, 1.0, 0.0, 0.0),
    },
    variants=VARIANTS,
    notes=(
        "Masses are those of dex-urdf, 0.19 kg in all: shells of the CAD, far below a real hand.",
        "0.8 s for the full stroke is often quoted for this generation; no public manual confirms it.",
        "Coupling laws: eight published sources disagree; dex-urdf's goes with its kinematics, the others are "
        "variants.",
    ),
)

MIRROR: dict[str, Axis] = {
    "hand_base": "z",
    "thumb_proximal_base": "x",
    **{name: "y" for name in ("thumb_proximal", "thumb_intermediate", "thumb_distal")},
    **{f"{f}_{part}": "y" for f in FINGERS.values() for part in ("proximal", "intermediate")},
}


def _left() -> HandSpec:
    """The left hand: the mirror image but for the thumb's bend joint, which dex-urdf turns by 6.5 degrees."""
    mirror = mirrored(RIGHT, name="inspire_dfx_left", side="left", frames=MIRROR)
    source = "dexsuite/dex-urdf inspire_hand_left"
    joints = tuple(
        replace(joint, pos_m=(0.0099867, 0.0098242, -0.0089), rpy_rad=(-1.5708, 0.0, 0.16939), source=source)
        if joint.name == "thumb_proximal_pitch"
        else replace(joint, source=source)
        for joint in mirror.joints
    )
    note = "dex-urdf's left thumb is not the mirror of its right one: the bend joint is turned by 6.5 degrees."
    return replace(mirror, joints=joints, notes=(*mirror.notes, note))


LEFT = _left()

HANDS = (LEFT, RIGHT)
