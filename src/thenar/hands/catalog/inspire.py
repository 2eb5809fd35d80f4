"""Inspire RH56DFTP / RH56E2, the hand with skin: 6 motors, 12 joints, 17 pads, 1062 taxels.

Frame of ``base``: z towards the fingers, y out of the palm. Fingers bend about their own z; the finger runs
along y and its pads face along -x. Sources: the maker's RH56E2 URDF with force sensors (also the newest
Unitree FTP URDF), the RH56DFTP manual V1.0.0, the dimension drawing RH56DFTP-0L/R.
"""

from __future__ import annotations

import math
from typing import Literal, NamedTuple

from thenar.hands.catalog.inspire_couplings import coupling_laws
from thenar.hands.catalog.inspire_motor_fit import FTP_MOTORS
from thenar.hands.catalog.rows import COUPLED, DRIVEN, NO_TURN, X, Y, Z, actuator, hinge
from thenar.hands.mirror import mirrored
from thenar.hands.shapes import Box, Capsule, Cylinder, Loft, Shape, Station, Vec3, Visual, VisualShape
from thenar.hands.spec import HandSpec, Joint, Link, Pad, Palette, PalmFrame, Tip
from thenar.units import MM_M

URDF = "RH56E2_R_force_sensor URDF"

FINGERS = ("little", "ring", "middle", "index")
DISTAL_RADIUS_M = 8.0 * MM_M  # half of the distal links' 16.7 mm width, less the shell
PROXIMAL_RADIUS_M = 9.0 * MM_M  # half of the proximal links' 18.4 mm width
THUMB_RADIUS_M = 9.0 * MM_M  # half of the thumb links' 20.4 to 21.7 mm width, less the shell
TIP_PAD_ANGLE_RAD = math.pi / 4  # where the 3x3 tip pad sits on the round end, from the finger's axis

# Joint origins in base [m], roll of the splay [rad]. Ref: RH56E2 URDF.
KNUCKLES = {
    "index": ((-0.038679, 0.00056467, 0.1564), 1.6057),
    "middle": ((-0.0171, 0.00056467, 0.157), 1.5708),
    "ring": ((0.0045302, 0.00056467, 0.15683), 1.5184),
    "little": ((0.025916, 0.00056467, 0.15365), 1.4661),
}
# Pad origins on the distal link [m]: fingertip pad (top), end pad (tip). Ref: RH56E2 URDF.
DISTAL_PADS = {
    "index": ((-0.0081655, 0.037446, -0.0060795), (-0.0086237, 0.052572, -0.0060954)),
    "ring": ((-0.0081655, 0.037446, -0.0060795), (-0.0086237, 0.052572, -0.0060954)),
    "middle": ((-0.0090859, 0.040963, -0.0061003), (-0.0098294, 0.056051, -0.0061006)),
    "little": ((-0.0064512, 0.0276833, -0.0061172), (-0.0063972, 0.0427069, -0.0061154)),
    "thumb": ((0.014598, 0.01472, -0.0073103), (0.028987, 0.017301, -0.0073512)),
}
PROXIMAL_PAD: Vec3 = (-0.012046, 0.019649, -0.006651)
DISTAL_MASS_KG = {"little": 0.00957, "ring": 0.01281, "middle": 0.01561, "index": 0.01218}
PAD_MASS_KG = 0.001  # every pad of the URDF

# Thumb pads on thumb_2 (palm) and thumb_3 (middle) [m]. Ref: RH56E2 URDF.
THUMB_PALM_PAD: Vec3 = (0.0087121, 0.026305, -0.0067115)
THUMB_MIDDLE_PAD: Vec3 = (0.011771, 0.01699, -0.0077514)
THUMB_3_ORIGIN: Vec3 = (0.031403, 0.021069, 0.00095)
THUMB_4_ORIGIN: Vec3 = (0.021903, 0.012816, -0.0003)

PALM_PAD: Vec3 = (-0.00036819, 0.012296, 0.1196)
PALM_FACE_M = 0.012296  # the palm pad lies on the palm's face

PALETTE = Palette(body=(0.16, 0.17, 0.19), skin=(0.80, 0.80, 0.78), dark=(0.06, 0.06, 0.07))


class Bone(NamedTuple):
    """Skin of a finger link, in a plane of constant z: the directions along it and out of its pads, and the capsule."""

    along: Vec3
    normal: Vec3
    skin: Capsule

    def row(self, point: Vec3, s: float, lift: float, width: float, depth: float) -> Station:
        """Row of a loft: ``s`` further along than a point and ``lift`` below it, seen from the pads [m]."""
        x, y, z = point
        along, normal = self.along, self.normal
        return x + s * along[0] - lift * normal[0], y + s * along[1] - lift * normal[1], z, width, depth


def _bone_with_two_pads(finger: str, radius_m: float) -> Bone:
    """The capsule that has the top pad on its side and the tip pad 45 degrees round its end.

    The pads' own positions fix the axis, and it comes out passing through the joint, as it should.
    """
    top, tip = DISTAL_PADS[finger]
    dx, dy = tip[0] - top[0], tip[1] - top[1]
    rise = radius_m * (math.sin(TIP_PAD_ANGLE_RAD) - 1.0)
    heading = math.atan2(dy, dx) - math.asin(rise / math.hypot(dx, dy))
    ax, ay = math.cos(heading), math.sin(heading)
    reach = dx * ax + dy * ay - radius_m * math.cos(TIP_PAD_ANGLE_RAD)
    end = (top[0] - radius_m * -ay + reach * ax, top[1] - radius_m * ax + reach * ay, top[2])
    # From the round end back to just before the joint.
    if finger == "thumb":
        back = end[0] * ax + end[1] * ay - 0.004
        start = (end[0] - back * ax, end[1] - back * ay, end[2])
    else:
        back = end[1] - 0.004
        start = (end[0] - back / ay * ax, end[1] - back, end[2])
    return Bone((ax, ay, 0.0), (-ay, ax, 0.0), Capsule(start_m=start, end_m=end, radius_m=radius_m))


def _bone_beside_joints(next_origin: Vec3, pad: Vec3, radius_m: float) -> Bone:
    """A capsule beside the line from a joint to the next one, with the pad on its side."""
    length = math.hypot(next_origin[0], next_origin[1])
    ax, ay = next_origin[0] / length, next_origin[1] / length
    offset = pad[0] * -ay + pad[1] * ax - radius_m
    start, end = ((s * ax + offset * -ay, s * ay + offset * ax, pad[2]) for s in (0.002, length))
    return Bone((ax, ay, 0.0), (-ay, ax, 0.0), Capsule(start_m=start, end_m=end, radius_m=radius_m))


def _proximal_bone() -> Bone:
    x, z = PROXIMAL_PAD[0] + PROXIMAL_RADIUS_M, PROXIMAL_PAD[2]
    capsule = Capsule(start_m=(x, 0.004, z), end_m=(x, 0.0315, z), radius_m=PROXIMAL_RADIUS_M)
    return Bone(Y, (-1.0, 0.0, 0.0), capsule)


BONES = {
    **{f"{f}_1": _proximal_bone() for f in FINGERS},
    **{f"{f}_2": _bone_with_two_pads(f, DISTAL_RADIUS_M) for f in FINGERS},
    "thumb_2": _bone_beside_joints(THUMB_3_ORIGIN, THUMB_PALM_PAD, 0.0095),
    "thumb_3": _bone_beside_joints(THUMB_4_ORIGIN, THUMB_MIDDLE_PAD, THUMB_RADIUS_M),
    "thumb_4": _bone_with_two_pads("thumb", THUMB_RADIUS_M),
}

# Pads: rows, columns, pitch along rows and along columns [mm], and the pad's size in the URDF, from which that follows.
GRIDS = {
    "tip": (3, 3, 1.37, 2.07, "6.2 x 4.1 mm"),
    "top": (12, 8, 1.3, 1.4, "11.2 x 15.6 mm"),
    "finger palm": (10, 8, 1.5, 1.4, "11 to 12 x 14 to 15 mm"),
    "thumb top": (12, 8, 1.3, 1.3, "10.5 x 15.2 mm"),
    "thumb middle": (3, 3, 2.07, 2.1, "6.3 x 6.2 mm"),
    "thumb palm": (12, 8, 1.3, 1.5, "11.7 x 15.8 mm"),
    "palm": (8, 14, 3.76, 3.57, "50.0 x 30.1 mm"),
}


def _pad(
    name: str,
    link: str,
    grid: str,
    centre_m: Vec3,
    row_axis: Vec3 | None = None,
    normal: Vec3 | None = None,
    chart: Literal["cylinder", "cap", "face"] = "cylinder",
) -> Pad:
    """A pad; on the side of a link's bone if not told where. Row 1 is nearest to the fingertip."""
    rows, cols, row_pitch_mm, col_pitch_mm, size = GRIDS[grid]
    along_x, along_y, _ = BONES[link].along if link in BONES else Z
    return Pad(
        name=name,
        link=link,
        rows=rows,
        cols=cols,
        row_pitch_m=row_pitch_mm * MM_M,
        col_pitch_m=col_pitch_mm * MM_M,
        chart=chart,
        centre_m=centre_m,
        row_axis=row_axis or (0.0 - along_x, 0.0 - along_y, 0.0),
        normal=normal or BONES[link].normal,
        source=f"{URDF}: pad position; pitch from the pad's {size}",
    )


def _tip_pad(finger: str, link: str) -> Pad:
    along, normal, skin = BONES[link]
    cosine, sine = math.cos(TIP_PAD_ANGLE_RAD), math.sin(TIP_PAD_ANGLE_RAD)
    out_x, out_y = (cosine * along[i] + sine * normal[i] for i in (0, 1))
    down_x, down_y = (-sine * along[i] + cosine * normal[i] for i in (0, 1))
    x, y, z = skin.end_m
    centre = (x + skin.radius_m * out_x, y + skin.radius_m * out_y, z)
    return _pad(f"{finger}_tip", link, "tip", centre, (down_x, down_y, 0.0), (out_x, out_y, 0.0), "cap")


PADS = (
    *(
        pad
        for f in FINGERS
        for pad in (
            _tip_pad(f, f"{f}_2"),
            _pad(f"{f}_top", f"{f}_2", "top", DISTAL_PADS[f][0]),
            _pad(f"{f}_palm", f"{f}_1", "finger palm", PROXIMAL_PAD),
        )
    ),
    _tip_pad("thumb", "thumb_4"),
    _pad("thumb_top", "thumb_4", "thumb top", DISTAL_PADS["thumb"][0]),
    _pad("thumb_middle", "thumb_3", "thumb middle", THUMB_MIDDLE_PAD),
    _pad("thumb_palm", "thumb_2", "thumb palm", THUMB_PALM_PAD),
    _pad("palm", "base", "palm", PALM_PAD, (0.0, 0.0, -1.0), Y, "face"),
)


def _distal_visual(link: str) -> Loft:
    (ax, ay, _), normal, skin = BONES[link]
    end = skin.end_m

    def row(y: float, lift: float, width: float, depth: float) -> Station:
        s = (y - end[1]) / ay
        return end[0] + s * ax - lift * normal[0], y - lift * normal[1], end[2], width, depth

    return Loft.through(
        Z,
        row(-0.004, -0.0010, 0.0074, 0.0072),
        row(0.006, 0.0012, 0.0084, 0.0078),
        row(end[1] * 0.55, 0.0026, 0.0083, 0.0068),
        row(end[1] - 0.004, 0.0034, 0.0074, 0.0052),
        row(end[1] + 0.0042, 0.0030, 0.0056, 0.0046),
    )


def _thumb_visual(link: str, *rows: tuple[float, float, float, float], at_end: int = 0) -> Loft:
    """A loft beside a bone: rows of advance from its start (the last ``at_end``: its end), lift, half sizes [m]."""
    bone = BONES[link]
    points = [bone.skin.start_m] * (len(rows) - at_end) + [bone.skin.end_m] * at_end
    return Loft.through(Z, *(bone.row(point, *row) for point, row in zip(points, rows, strict=True)))


# fmt: off
PROXIMAL_VISUAL = Loft.through(Z, (0.0008, -0.005, PROXIMAL_PAD[2], 0.0080, 0.0078),
                               (0.0004, 0.006, PROXIMAL_PAD[2], 0.0092, 0.0088),
                               (-0.0004, 0.020, PROXIMAL_PAD[2], 0.0091, 0.0076),
                               (-0.0014, 0.034, PROXIMAL_PAD[2], 0.0088, 0.0082))
VISUALS: dict[str, tuple[Visual, ...]] = {
    "base": (
        Loft.through(X, (0.0, 0.0, 0.002, 0.0262, 0.0262), (0.0, 0.0, 0.030, 0.0268, 0.0262), tone="dark",
                     dome_m=0.001),
        Loft.through(X, (0.0, -0.003, 0.030, 0.030, 0.0165), (-0.001, -0.003, 0.052, 0.0400, 0.0170),
                     (-0.001, -0.003, 0.090, 0.0445, 0.0151), (0.0005, -0.003, 0.128, 0.0448, 0.0151),
                     (0.0005, -0.002, 0.149, 0.0438, 0.0128), squareness=4.5),
        # The root of the thumb.
        Loft.through(X, (-0.0215, 0.006, 0.034, 0.0160, 0.0150), (-0.0245, 0.013, 0.046, 0.0165, 0.0165),
                     (-0.0262, 0.018, 0.056, 0.0132, 0.0130), squareness=3.0, dome_m=0.001),
        # The palm's tactile pad, 50 x 30 mm.
        VisualShape(shape=Box(centre_m=(-0.00037, PALM_FACE_M - 0.0019, 0.1196), half_m=(0.0252, 0.0020, 0.0152)),
                    tone="skin"),
    ),
    **{f"{f}_1": (PROXIMAL_VISUAL,) for f in FINGERS},
    **{f"{f}_2": (_distal_visual(f"{f}_2"),) for f in FINGERS},
    "thumb_1": (
        VisualShape(shape=Cylinder(start_m=(0.0, 0.0, -0.012), end_m=(0.0, 0.0, 0.0175), radius_m=0.0102), tone="dark"),
        VisualShape(
            shape=Box(centre_m=(-0.0045, 0.005, 0.0045), half_m=(0.0062, 0.0062, 0.0085), rpy_rad=(0.0, 0.0, 2.4)),
            tone="dark"),
    ),
    "thumb_2": (
        _thumb_visual("thumb_2", (-0.006, 0.0075, 0.0084, 0.0085), (0.008, 0.0050, 0.0100, 0.0098),
                      (0.022, 0.0040, 0.0102, 0.0090), (0.037, 0.0050, 0.0096, 0.0084)),
    ),
    "thumb_3": (
        _thumb_visual("thumb_3", (-0.004, 0.0014, 0.0090, 0.0082), (0.008, 0.0020, 0.0098, 0.0086),
                      (0.026, 0.0026, 0.0094, 0.0078)),
    ),
    "thumb_4": (
        _thumb_visual("thumb_4", (-0.005, 0.0010, 0.0086, 0.0080), (0.006, 0.0020, 0.0094, 0.0082),
                      (-0.008, 0.0034, 0.0090, 0.0064), (0.003, 0.0042, 0.0066, 0.0044), at_end=2),
    ),
}
# fmt: on


def _link(name: str, mass_kg: float, source: str, skin: Shape | None = None, collision: tuple[Shape, ...] = ()) -> Link:
    return Link(
        name=name,
        mass_kg=mass_kg,
        source=f"{URDF}: mass; {source}",
        skin=skin or (BONES[name].skin if name in BONES else None),
        collision=collision,
        visuals=VISUALS[name],
    )


LINKS = (
    _link(
        "base",
        0.62266 + PAD_MASS_KG,
        "89.5 mm wide (drawing), palm face from its pad",
        Box(centre_m=(0.0, PALM_FACE_M - 0.0135, 0.0925), half_m=(0.0435, 0.0135, 0.0575)),
        (
            Box(centre_m=(-0.0235, 0.0165, 0.0415), half_m=(0.0165, 0.0125, 0.0135)),
            Cylinder(start_m=(0.0, 0.0, 0.0), end_m=(0.0, 0.0, 0.036), radius_m=0.0265),
        ),
    ),
    *(
        link
        for f, distal_kg in DISTAL_MASS_KG.items()
        for link in (
            _link(f"{f}_1", 0.02841 + PAD_MASS_KG, "width from the link's 18.4 mm, axis from its pad"),
            _link(f"{f}_2", distal_kg + 2 * PAD_MASS_KG, "width from the link's 16.7 mm, axis from its two pads"),
        )
    ),
    _link(
        "thumb_1",
        0.00746,
        "size from the link's 21.2 x 20.2 x 30.7 mm",
        collision=(Cylinder(start_m=(0.0, 0.0, -0.010), end_m=(0.0, 0.0, 0.0165), radius_m=0.0098),),
    ),
    _link("thumb_2", 0.04264 + PAD_MASS_KG, "width from the link's 21.7 mm, axis from its pad"),
    _link("thumb_3", 0.01501 + PAD_MASS_KG, "width from the link's 20.8 mm, axis from its pad"),
    _link("thumb_4", 0.00972 + 2 * PAD_MASS_KG, "width from the link's 20.4 mm, axis from its two pads"),
)


def _hinge(
    name: str, parent: str, pos_m: Vec3, rpy_rad: Vec3, upper_rad: float, dynamics: dict[str, float], axis: Vec3 = Z
) -> Joint:
    return hinge(name, parent, name, pos_m, rpy_rad, axis, 0.0, upper_rad, URDF, **dynamics)


JOINTS = (
    *(
        joint
        for f in FINGERS
        for joint in (
            _hinge(f"{f}_1", "base", KNUCKLES[f][0], (KNUCKLES[f][1], 0.0, -1.5708), 1.4381, DRIVEN),
            _hinge(f"{f}_2", f"{f}_1", (-0.0034259, 0.032596, -0.00055), NO_TURN, 3.14, COUPLED),
        )
    ),
    _hinge("thumb_1", "base", (-0.0269, 0.02101, 0.0689), NO_TURN, 1.1641, DRIVEN, axis=(0.0, 0.0, -1.0)),
    _hinge("thumb_2", "thumb_1", (-0.0079252, 0.0090599, 0.0052), (1.5708, 0.0, 2.8798), 0.5864, DRIVEN),
    _hinge("thumb_3", "thumb_2", THUMB_3_ORIGIN, NO_TURN, 0.5, COUPLED),
    _hinge("thumb_4", "thumb_3", THUMB_4_ORIGIN, NO_TURN, 3.14, COUPLED),
)

VARIANTS = coupling_laws({f: (f"{f}_1", f"{f}_2") for f in FINGERS}, ("thumb_2", "thumb_3", "thumb_4"))

RIGHT = HandSpec(
    name="inspire_right",
    maker="Inspire Robots",
    model="RH56DFTP / RH56E2",
    side="right",
    summary="Six lead-screw motors, twelve joints, 1062 taxels in 17 pads.",
    root="base",
    links=LINKS,
    joints=JOINTS,
    couplings=VARIANTS["rh56e2"],
    actuators=(
        # Ref: RH56DFTP manual 2.6.11, order of ANGLE_SET(0..5).
        *(actuator(f, f"{f}_1", 1.4381, FTP_MOTORS[f]) for f in FINGERS),
        actuator("thumb_bend", "thumb_2", 0.5864, FTP_MOTORS["thumb_bend"]),
        actuator("thumb_rotation", "thumb_1", 1.1641, FTP_MOTORS["thumb_rotation"]),
    ),
    pads=PADS,
    tips=(
        *(Tip(finger=f, link=f"{f}_2", pos_m=DISTAL_PADS[f][1]) for f in FINGERS),
        Tip(finger="thumb", link="thumb_4", pos_m=DISTAL_PADS["thumb"][1]),
    ),
    palm=PalmFrame(pos_m=PALM_PAD, rpy_rad=(math.pi / 2, 0.0, math.pi)),
    palette=PALETTE,
    # The thumb's root bears against the palm through the whole stroke.
    no_contact=(("base", "thumb_2"),),
    # Closing fractions: little, ring, middle, index, thumb bend, thumb rotation.
    poses={
        "open": (0.0, 0.0, 0.0, 0.0, 0.0, 0.0),
        "fist": (1.0, 1.0, 1.0, 1.0, 0.45, 0.35),
        "pinch": (0.0, 0.0, 0.0, 0.60, 0.70, 1.0),
        "point": (1.0, 1.0, 1.0, 0.0, 0.45, 0.35),
        "thumbs_up": (1.0, 1.0, 1.0, 1.0, 0.0, 0.0),
    },
    variants=VARIANTS,
    notes=(
        "Coupling laws: eight published sources disagree; the maker's newest URDF is taken, the others are variants.",
        "Which end of a pad is row 1, and which side column 1, is not in the manual: here row 1 is nearest "
        "to the fingertip and columns run from the little-finger side to the thumb side.",
        "Thumb pads: the sizes of the URDF's pads decide which sensor is top, middle and palm (3, 2, 1).",
    ),
)

LEFT = mirrored(
    RIGHT,
    name="inspire_left",
    side="left",
    frames={link.name: "x" if link.name == "base" or link.name.startswith("thumb") else "z" for link in LINKS},
    # The maker's left URDF puts the frame of thumb_2 2.249 mm further along its own axis; the thumb is the same.
    shifts_m={"thumb_2": (0.0, 0.0, 0.002249)},
)

HANDS = (LEFT, RIGHT)
