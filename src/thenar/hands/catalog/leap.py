"""LEAP Hand, right: 16 Dynamixel motors on 16 joints, three fingers and a thumb, no skin.

Frame of ``palm``: fingers towards +x, palm towards -z, the index on the side of +y. Joints turn about their own -z.
Source: mujoco_menagerie's ``leap_hand`` (from the URDF of dex-urdf) for places, limits and masses; motors are boxes of
34 x 26 x 22 mm; the shape of brackets and fingertips is assumed.
"""

from __future__ import annotations

import itertools
import math

from thenar.hands.catalog.rows import NO_TURN, Inertial, Y, hinge, weighed_link
from thenar.hands.shapes import Box, Capsule, Loft, Vec3, Visual, VisualShape
from thenar.hands.spec import Actuator, HandSpec, Joint, Link, Palette, PalmFrame, Servo, Tip

MODEL = "mujoco_menagerie leap_hand"
INERTIAL = f"{MODEL}: mass, centre and inertia; shape from the motors' size, brackets and tips assumed"
HALF_PI = math.pi / 2
MINUS_Z: Vec3 = (0.0, 0.0, -1.0)

PALETTE = Palette(body=(0.90, 0.90, 0.88), skin=(0.88, 0.88, 0.90), dark=(0.13, 0.13, 0.14))

FINGERS: dict[str, Vec3] = {
    "index": (-0.007, 0.023, -0.0187),
    "middle": (-0.0071, -0.0224, -0.0187),
    "ring": (-0.00709, -0.0678, -0.0187),
}
PARTS = ("bs", "px", "md", "ds")

# fmt: off
INERTIALS: dict[str, Inertial] = {
    "palm": (0.237, (-0.049542, -0.042914, -0.010227),
        (0.00029351, 0.00019217, 0.00040716, -3.5625e-05, -4.39422e-07, -6.2469e-06)),
    "bs": (0.044, (-0.022516, 0.033882, 0.016359),
        (1.316e-05, 1.0301e-05, 1.74e-05, 4.266e-06, 5.07074e-07, -1.61577e-07)),
    "px": (0.032, (0.0075, -0.0002, -0.011), (3.0933e-06, 4.3733e-06, 4.8853e-06, 0.0, 0.0, 0.0)),
    "md": (0.037, (0.0054215, -0.029148, 0.015), (7.6758e-06, 5.9994e-06, 8.1598e-06, 1.17391e-06, 0.0, 0.0)),
    "ds": (0.016, (-0.0008794, -0.027019, 0.014594),
        (3.7111e-06, 1.6595e-06, 3.0238e-06, -1.2456e-07, -1.25904e-09, -1.49517e-08)),
    "thumb_mp": (0.032, (0.0075, -0.0002, -0.011), (3.0933e-06, 4.3733e-06, 4.8853e-06, 0.0, 0.0, 0.0)),
    "thumb_bs": (0.003, (0.0, 0.0, -0.0070806), (6.1932e-07, 2.1516e-07, 5.351e-07, 0.0, 0.0, 0.0)),
    "thumb_px": (0.038, (-0.0020593, 0.015912, -0.013733),
        (9.8139e-06, 4.365e-06, 9.3807e-06, 1.24233e-07, 1.6252e-07, 3.02553e-08)),
    "thumb_ds": (0.049, (0.00096191, -0.024203, -0.014419),
        (2.048e-05, 4.7784e-06, 2.0716e-05, -1.0093e-06, -2.05991e-07, 9.73385e-08)),
}
# fmt: on


def _motor(centre: Vec3, half: Vec3) -> VisualShape:
    return VisualShape(shape=Box(centre_m=centre, half_m=half), tone="dark")


def _plate(centre: Vec3, half: Vec3) -> VisualShape:
    return VisualShape(shape=Box(centre_m=centre, half_m=half))


# Motor of each part: centre and half edges [m]. The part's bracket reaches from there to its own joint.
MOTORS: dict[str, tuple[Vec3, Vec3]] = {
    "bs": ((-0.0270, 0.0420, 0.0150), (0.0130, 0.0170, 0.0110)),
    "px": ((0.0075, -0.0002, -0.0110), (0.0170, 0.0130, 0.0110)),
    "md": ((0.0075, -0.0350, 0.0150), (0.0170, 0.0110, 0.0130)),
    "thumb_mp": ((-0.0075, -0.0002, -0.0110), (0.0170, 0.0130, 0.0110)),
    "thumb_px": ((0.0, 0.0105, -0.0140), (0.0110, 0.0170, 0.0130)),
    "thumb_ds": ((0.0, -0.0085, -0.0150), (0.0110, 0.0170, 0.0130)),
}
BRACKETS: dict[str, tuple[VisualShape, ...]] = {
    "bs": (
        _plate((0.0, 0.0180, 0.0147), (0.0100, 0.0025, 0.0165)),
        _plate((0.0, 0.0060, 0.0300), (0.0070, 0.0110, 0.0020)),
        _plate((0.0, 0.0060, -0.0010), (0.0070, 0.0110, 0.0020)),
        _plate((-0.0230, 0.0200, 0.0147), (0.0170, 0.0030, 0.0100)),
    ),
    "md": (
        _plate((0.0, -0.0180, 0.0150), (0.0100, 0.0030, 0.0165)),
        _plate((0.0, -0.0060, 0.0300), (0.0070, 0.0110, 0.0020)),
        _plate((0.0, -0.0060, 0.0), (0.0070, 0.0110, 0.0020)),
    ),
    "ds": (
        _plate((0.0, -0.0170, 0.0150), (0.0100, 0.0030, 0.0160)),
        _plate((0.0, -0.0060, 0.0300), (0.0070, 0.0110, 0.0020)),
        _plate((0.0, -0.0060, -0.0010), (0.0070, 0.0110, 0.0020)),
    ),
    "thumb_bs": (
        _plate((0.0, 0.0, -0.0015), (0.0090, 0.0165, 0.0020)),
        _plate((0.0, -0.0150, -0.0110), (0.0070, 0.0020, 0.0110)),
        _plate((0.0, 0.0150, -0.0110), (0.0070, 0.0020, 0.0110)),
    ),
    "thumb_px": (
        _plate((0.0, 0.0310, -0.0150), (0.0100, 0.0025, 0.0165)),
        _plate((0.0, 0.0420, 0.0005), (0.0070, 0.0110, 0.0020)),
        _plate((0.0, 0.0420, -0.0295), (0.0070, 0.0110, 0.0020)),
    ),
}
TIPS = {
    "ds": Capsule(start_m=(0.0, -0.0240, 0.0150), end_m=(0.0, -0.0370, 0.0150), radius_m=0.0105),
    "thumb_ds": Capsule(start_m=(0.0, -0.0340, -0.0150), end_m=(0.0, -0.0480, -0.0150), radius_m=0.0105),
}
PALM = Box(centre_m=(-0.0420, -0.0340, -0.0115), half_m=(0.0180, 0.0580, 0.0230))
HEEL = Box(centre_m=(-0.0800, -0.0530, -0.0115), half_m=(0.0220, 0.0280, 0.0230))


def _link(name: str, part: str) -> Link:
    if part == "palm":
        skin, collision = PALM, (HEEL,)
        visuals: tuple[Visual, ...] = (
            Loft.through(Y, (-0.0600, -0.0340, -0.0115, 0.0580, 0.0230), (-0.0290, -0.0340, -0.0115, 0.0580, 0.0200),
                         squareness=9.0, dome_m=0.001),
            Loft.through(Y, (-0.1020, -0.0530, -0.0115, 0.0270, 0.0225), (-0.0590, -0.0530, -0.0115, 0.0280, 0.0228),
                         squareness=9.0, dome_m=0.001),
            *(_motor((-0.0100, place[1] - 0.0147, -0.0110), (0.0170, 0.0130, 0.0110)) for place in FINGERS.values()),
        )  # fmt: skip
    else:
        box = MOTORS.get(part)
        motor = (_motor(*box),) if box else ()
        solid = (Box(centre_m=box[0], half_m=box[1]),) if box else ()
        skin, visuals = TIPS.get(part), (*motor, *BRACKETS.get(part, ()))
        collision = solid
        if skin is None and solid:
            skin, collision = solid[0], ()
    return weighed_link(name, INERTIALS[part], INERTIAL, skin=skin, collision=collision, visuals=visuals)


def _joint(name: str, parent: str, child: str, pos_m: Vec3, rpy_rad: Vec3, lower_rad: float, upper_rad: float) -> Joint:
    return hinge(
        name, parent, child, pos_m, rpy_rad, MINUS_Z, lower_rad, upper_rad, MODEL,
        armature_kgm2=1e-3, damping_nms_rad=0.03, friction_nm=0.001,
    )  # fmt: skip


def _finger(f: str) -> tuple[Joint, ...]:
    bs, px, md, ds = (f"{f}_{part}" for part in PARTS)
    return (
        _joint(f"{f}_mcp", "palm", bs, FINGERS[f], (HALF_PI, HALF_PI, 0.0), -0.314, 2.23),
        _joint(f"{f}_rot", bs, px, (-0.0122, 0.0381, 0.0145), (-HALF_PI, 0.0, HALF_PI), -1.047, 1.047),
        _joint(f"{f}_pip", px, md, (0.015, 0.0143, -0.013), (HALF_PI, -HALF_PI, 0.0), -0.506, 1.885),
        _joint(f"{f}_dip", md, ds, (0.0, -0.0361, 0.0002), NO_TURN, -0.366, 2.042),
    )


JOINTS = (
    *(joint for f in FINGERS for joint in _finger(f)),
    _joint("thumb_cmc", "palm", "thumb_mp", (-0.0693, -0.0012, -0.0216), (0.0, HALF_PI, 0.0), -0.349, 2.094),
    _joint("thumb_axl", "thumb_mp", "thumb_bs", (0.0, 0.0143, -0.013), (HALF_PI, -HALF_PI, 0.0), -0.349, 2.094),
    _joint("thumb_mcp", "thumb_bs", "thumb_px", (0.0, 0.0145, -0.017), (-HALF_PI, 0.0, 0.0), -0.47, 2.443),
    _joint("thumb_ipl", "thumb_px", "thumb_ds", (0.0, 0.0466, 0.0002), (0.0, 0.0, math.pi), -1.34, 1.88),
)
LIMITS = {joint.name: (joint.lower_rad, joint.upper_rad) for joint in JOINTS}


def _actuator(name: str, closed_rad: float) -> Actuator:
    servo = Servo(
        stiffness_nm_rad=3.0,
        damping_nms_rad=0.01,
        top_speed_rad_s=8.48,
        effort_nm=0.93,
        lever_m=0.10,
        source=f"XC330-M288: stall torque and speed at 5 V; stiffness and damping of {MODEL}; armature assumed",
    )
    lower, upper = LIMITS[name]
    return Actuator(
        name=name, drives=name, open_rad=0.0, closed_rad=closed_rad, lower_rad=lower, upper_rad=upper, motor=servo
    )


# In the order of the motors' ids, 0 to 15.
ACTUATORS = (
    *(
        _actuator(f"{f}_{joint}", closed)
        for f in FINGERS
        for joint, closed in (("rot", 0.0), ("mcp", 1.6), ("pip", 1.5), ("dip", 1.2))
    ),
    *(
        _actuator(f"thumb_{joint}", closed)
        for joint, closed in (("cmc", 1.7), ("axl", 1.7), ("mcp", 1.2), ("ipl", 1.4))
    ),
)


def _pose(finger: float = 0.0, thumb: tuple[float, ...] = (0.0,) * 4, **fingers: float) -> tuple[float, ...]:
    """Closing fractions: of every finger, or of those that are named, and of the thumb's motors."""
    bent = [fingers.get(f, finger) for f in FINGERS]
    return (*(value for part in bent for value in (0.0, part, part, part)), *thumb)


RIGHT = HandSpec(
    name="leap_right",
    maker="Carnegie Mellon University",
    model="LEAP Hand",
    side="right",
    summary="Sixteen Dynamixel motors on sixteen joints, three fingers and a thumb, no skin.",
    root="palm",
    links=(
        _link("palm", "palm"),
        *(_link(f"{f}_{part}", part) for f in FINGERS for part in PARTS),
        *(_link(f"thumb_{part}", f"thumb_{part}") for part in ("mp", "bs", "px", "ds")),
    ),
    joints=JOINTS,
    actuators=ACTUATORS,
    tips=(
        *(Tip(finger=f, link=f"{f}_ds", pos_m=(0.0, -0.0475, 0.0150)) for f in FINGERS),
        Tip(finger="thumb", link="thumb_ds", pos_m=(0.0, -0.0585, -0.0150)),
    ),
    palm=PalmFrame(pos_m=(-0.0500, -0.0340, -0.0345), rpy_rad=(math.pi, 0.0, HALF_PI)),
    palette=PALETTE,
    no_contact=(
        *((f"{a}_bs", f"{b}_bs") for a, b in itertools.combinations(FINGERS, 2)),
        *(("palm", f"{f}_{part}") for f in FINGERS for part in ("px", "md")),
        *((f"{f}_bs", f"{f}_md") for f in FINGERS),
        *(("palm", f"thumb_{part}") for part in ("bs", "px")),
        ("thumb_mp", "thumb_px"),
        *(("thumb_mp", f"{f}_bs") for f in FINGERS),
    ),
    poses={
        "open": _pose(),
        "fist": _pose(1.0, (0.6, 0.5, 0.2, 0.4)),
        "pinch": _pose(index=0.62, thumb=(0.44, 0.49, 0.55, 0.51)),
        "point": _pose(1.0, (0.6, 0.5, 0.2, 0.4), index=0.0),
        "thumbs_up": _pose(1.0),
    },
    notes=(
        "The hand's own API counts motors 0, 4 and 8 as the sideways joints: here they are the first of each finger, "
        "though they come second in the chain.",
        "The hand is built by its users: brackets, tips and masses differ from one to the next.",
    ),
)

HANDS = (RIGHT,)
