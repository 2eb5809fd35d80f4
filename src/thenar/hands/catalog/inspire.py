"""Inspire RH56DFTP / RH56E2, the hand with skin: 6 motors, 12 joints, 17 pads, 1062 taxels.

Frame of ``base``: z towards the fingers, y out of the palm. Fingers bend about their own z; the finger runs
along y and its pads face along -x. Sources: the maker's RH56E2 URDF with force sensors (also the newest
Unitree FTP URDF), the RH56DFTP manual V1.0.0, the dimension drawing RH56DFTP-0L/R.
"""

from __future__ import annotations

import math
from dataclasses import replace

from thenar.hands.catalog.inspire_couplings import JointNames, coupling_laws
from thenar.hands.catalog.inspire_motor import FTP_MOTORS
from thenar.hands.mirror import Axis, mirrored, with_frame_moved
from thenar.hands.shapes import Box, Capsule, Cylinder, Loft, Station, Vec3, VisualShape
from thenar.hands.spec import (
    Actuator,
    HandSpec,
    Joint,
    Link,
    Pad,
    Palette,
    PalmFrame,
    Tip,
)
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
}
PROXIMAL_PAD: Vec3 = (-0.012046, 0.019649, -0.006651)
DISTAL_MASS_KG = {"index": 0.01218, "middle": 0.01561, "ring": 0.01281, "little": 0.00957}
PAD_MASS_KG = 0.001  # every pad of the URDF

# Thumb pads on thumb_2 (palm), thumb_3 (middle), thumb_4 (top, tip) [m]. Ref: RH56E2 URDF.
THUMB_PALM_PAD: Vec3 = (0.0087121, 0.026305, -0.0067115)
THUMB_MIDDLE_PAD: Vec3 = (0.011771, 0.01699, -0.0077514)
THUMB_TOP_PAD: Vec3 = (0.014598, 0.01472, -0.0073103)
THUMB_TIP_PAD: Vec3 = (0.028987, 0.017301, -0.0073512)
THUMB_3_ORIGIN: Vec3 = (0.031403, 0.021069, 0.00095)
THUMB_4_ORIGIN: Vec3 = (0.021903, 0.012816, -0.0003)

PALM_PAD: Vec3 = (-0.00036819, 0.012296, 0.1196)
PALM_FACE_M = 0.012296  # the palm pad lies on the palm's face

PALETTE = Palette(body=(0.16, 0.17, 0.19), skin=(0.80, 0.80, 0.78), dark=(0.06, 0.06, 0.07))


def _two_pad_capsule(top: Vec3, tip: Vec3, *, radius_m: float) -> tuple[tuple[float, float], tuple[float, float], Vec3]:
    """The capsule that has the top pad on its side and the tip pad 45 degrees round its end.

    Both pads lie in a plane of constant z. The pads' own positions fix the axis, and it comes out passing
    through the joint, as it should.

    Returns:
        Axis direction (x, y), outward normal (x, y), and the centre of the round end [m].
    """
    dx, dy = tip[0] - top[0], tip[1] - top[1]
    rise = radius_m * (math.sin(TIP_PAD_ANGLE_RAD) - 1.0)
    heading = math.atan2(dy, dx) - math.asin(rise / math.hypot(dx, dy))
    axis = (math.cos(heading), math.sin(heading))
    normal = (-axis[1], axis[0])
    reach = dx * axis[0] + dy * axis[1] - radius_m * math.cos(TIP_PAD_ANGLE_RAD)
    end = (
        top[0] - radius_m * normal[0] + reach * axis[0],
        top[1] - radius_m * normal[1] + reach * axis[1],
        top[2],
    )
    return axis, normal, end


def _two_pads(
    finger: str, link: str, top: Vec3, tip: Vec3, *, radius_m: float, end_m: Vec3, top_source: str
) -> tuple[Pad, Pad]:
    """Top and tip pad of a distal link. Row 1 is nearest to the fingertip."""
    axis, normal, _ = _two_pad_capsule(top, tip, radius_m=radius_m)
    cosine, sine = math.cos(TIP_PAD_ANGLE_RAD), math.sin(TIP_PAD_ANGLE_RAD)
    outward = (cosine * axis[0] + sine * normal[0], cosine * axis[1] + sine * normal[1], 0.0)
    downward = (-sine * axis[0] + cosine * normal[0], -sine * axis[1] + cosine * normal[1], 0.0)
    top_pad = Pad(
        name=f"{finger}_top",
        link=link,
        rows=12,
        cols=8,
        row_pitch_m=1.3 * MM_M,
        col_pitch_m=1.4 * MM_M if finger != "thumb" else 1.3 * MM_M,
        chart="cylinder",
        centre_m=top,
        row_axis=(-axis[0], -axis[1], 0.0),
        normal=(normal[0], normal[1], 0.0),
        source=top_source,
    )
    tip_pad = Pad(
        name=f"{finger}_tip",
        link=link,
        rows=3,
        cols=3,
        row_pitch_m=1.37 * MM_M,
        col_pitch_m=2.07 * MM_M,
        chart="cap",
        centre_m=(
            end_m[0] + radius_m * outward[0],
            end_m[1] + radius_m * outward[1],
            end_m[2],
        ),
        row_axis=downward,
        normal=outward,
        source=f"{URDF}: pad position; pitch from the pad's 6.2 x 4.1 mm",
    )
    return top_pad, tip_pad


def _finger_links(finger: str) -> tuple[Link, Link]:
    x_pad, _, z_mid = PROXIMAL_PAD
    axis_x = x_pad + PROXIMAL_RADIUS_M
    proximal = Link(
        name=f"{finger}_1",
        mass_kg=0.02841 + PAD_MASS_KG,
        source=f"{URDF}: mass; width from the link's 18.4 mm, axis from its pad",
        skin=Capsule(start_m=(axis_x, 0.004, z_mid), end_m=(axis_x, 0.0315, z_mid), radius_m=PROXIMAL_RADIUS_M),
        visuals=(
            Loft(
                stations=(
                    Station(centre_m=(0.0008, -0.005, z_mid), half_width_m=0.0080, half_depth_m=0.0078),
                    Station(centre_m=(0.0004, 0.006, z_mid), half_width_m=0.0092, half_depth_m=0.0088),
                    Station(centre_m=(-0.0004, 0.020, z_mid), half_width_m=0.0091, half_depth_m=0.0076),
                    Station(centre_m=(-0.0014, 0.034, z_mid), half_width_m=0.0088, half_depth_m=0.0082),
                ),
                across=(0.0, 0.0, 1.0),
            ),
        ),
    )
    top, tip = DISTAL_PADS[finger]
    axis, normal, end = _two_pad_capsule(top, tip, radius_m=DISTAL_RADIUS_M)
    back = end[1] - 0.004  # from the round end back to the joint
    start = (end[0] - back / axis[1] * axis[0], end[1] - back, end[2])

    def station(y_m: float, lift_m: float, half_width_m: float, half_depth_m: float) -> Station:
        along = (y_m - end[1]) / axis[1]
        return Station(
            centre_m=(
                end[0] + along * axis[0] - lift_m * normal[0],
                y_m - lift_m * normal[1],
                end[2],
            ),
            half_width_m=half_width_m,
            half_depth_m=half_depth_m,
        )

    distal = Link(
        name=f"{finger}_2",
        mass_kg=DISTAL_MASS_KG[finger] + 2 * PAD_MASS_KG,
        source=f"{URDF}: mass; width from the link's 16.7 mm, axis from its two pads",
        skin=Capsule(start_m=start, end_m=end, radius_m=DISTAL_RADIUS_M),
        visuals=(
            Loft(
                stations=(
                    station(-0.004, -0.0010, 0.0074, 0.0072),
                    station(0.006, 0.0012, 0.0084, 0.0078),
                    station(end[1] * 0.55, 0.0026, 0.0083, 0.0068),
                    station(end[1] - 0.004, 0.0034, 0.0074, 0.0052),
                    station(end[1] + 0.0042, 0.0030, 0.0056, 0.0046),
                ),
                across=(0.0, 0.0, 1.0),
            ),
        ),
    )
    return proximal, distal


def _finger_pads(finger: str) -> tuple[Pad, Pad, Pad]:
    top, tip = DISTAL_PADS[finger]
    _, _, end = _two_pad_capsule(top, tip, radius_m=DISTAL_RADIUS_M)
    top_pad, tip_pad = _two_pads(
        finger,
        f"{finger}_2",
        top,
        tip,
        radius_m=DISTAL_RADIUS_M,
        end_m=end,
        top_source=f"{URDF}: pad position; pitch from the pad's 11.2 x 15.6 mm",
    )
    palm_pad = Pad(
        name=f"{finger}_palm",
        link=f"{finger}_1",
        rows=10,
        cols=8,
        row_pitch_m=1.5 * MM_M,
        col_pitch_m=1.4 * MM_M,
        chart="cylinder",
        centre_m=PROXIMAL_PAD,
        row_axis=(0.0, -1.0, 0.0),
        normal=(-1.0, 0.0, 0.0),
        source=f"{URDF}: pad position; pitch from the pad's 11 to 12 x 14 to 15 mm",
    )
    return tip_pad, top_pad, palm_pad


def _side_capsule(origin_to: Vec3, pad: Vec3, radius_m: float) -> tuple[Vec3, Vec3, Capsule]:
    """A capsule beside the line from a joint to the next one, with the pad on its side.

    Returns:
        Direction of the line, outward normal at the pad, and the capsule.
    """
    length = math.hypot(origin_to[0], origin_to[1])
    along: Vec3 = (origin_to[0] / length, origin_to[1] / length, 0.0)
    normal: Vec3 = (-along[1], along[0], 0.0)
    offset = pad[0] * normal[0] + pad[1] * normal[1] - radius_m
    ends = [(s * along[0] + offset * normal[0], s * along[1] + offset * normal[1], pad[2]) for s in (0.002, length)]
    return along, normal, Capsule(start_m=ends[0], end_m=ends[1], radius_m=radius_m)


def _thumb_links() -> tuple[Link, Link, Link, Link]:
    axis_2, normal_2, skin_2 = _side_capsule(THUMB_3_ORIGIN, THUMB_PALM_PAD, 0.0095)
    axis_3, normal_3, skin_3 = _side_capsule(THUMB_4_ORIGIN, THUMB_MIDDLE_PAD, THUMB_RADIUS_M)
    axis_4, normal_4, end_4 = _two_pad_capsule(THUMB_TOP_PAD, THUMB_TIP_PAD, radius_m=THUMB_RADIUS_M)
    back = end_4[0] * axis_4[0] + end_4[1] * axis_4[1] - 0.004  # along the axis, to just before the joint
    start_4 = (end_4[0] - back * axis_4[0], end_4[1] - back * axis_4[1], end_4[2])

    def beside(
        point: Vec3,
        axis: tuple[float, ...],
        normal: tuple[float, ...],
        s: float,
        lift: float,
        w: float,
        d: float,
    ) -> Station:
        return Station(
            centre_m=(
                point[0] + s * axis[0] - lift * normal[0],
                point[1] + s * axis[1] - lift * normal[1],
                point[2],
            ),
            half_width_m=w,
            half_depth_m=d,
        )

    across = (0.0, 0.0, 1.0)
    return (
        Link(
            name="thumb_1",
            mass_kg=0.00746,
            source=f"{URDF}: mass; size from the link's 21.2 x 20.2 x 30.7 mm",
            visuals=(
                VisualShape(
                    shape=Cylinder(start_m=(0.0, 0.0, -0.012), end_m=(0.0, 0.0, 0.0175), radius_m=0.0102), tone="dark"
                ),
                VisualShape(
                    shape=Box(centre_m=(-0.0045, 0.005, 0.0045), half_m=(0.0062, 0.0062, 0.0085), rpy_rad=(0, 0, 2.4)),
                    tone="dark",
                ),
            ),
            collision=(Cylinder(start_m=(0.0, 0.0, -0.010), end_m=(0.0, 0.0, 0.0165), radius_m=0.0098),),
        ),
        Link(
            name="thumb_2",
            mass_kg=0.04264 + PAD_MASS_KG,
            source=f"{URDF}: mass; width from the link's 21.7 mm, axis from its pad",
            skin=skin_2,
            visuals=(
                Loft(
                    stations=(
                        beside(skin_2.start_m, axis_2, normal_2, -0.006, 0.0075, 0.0084, 0.0085),
                        beside(skin_2.start_m, axis_2, normal_2, 0.008, 0.0050, 0.0100, 0.0098),
                        beside(skin_2.start_m, axis_2, normal_2, 0.022, 0.0040, 0.0102, 0.0090),
                        beside(skin_2.start_m, axis_2, normal_2, 0.037, 0.0050, 0.0096, 0.0084),
                    ),
                    across=across,
                ),
            ),
        ),
        Link(
            name="thumb_3",
            mass_kg=0.01501 + PAD_MASS_KG,
            source=f"{URDF}: mass; width from the link's 20.8 mm, axis from its pad",
            skin=skin_3,
            visuals=(
                Loft(
                    stations=(
                        beside(skin_3.start_m, axis_3, normal_3, -0.004, 0.0014, 0.0090, 0.0082),
                        beside(skin_3.start_m, axis_3, normal_3, 0.008, 0.0020, 0.0098, 0.0086),
                        beside(skin_3.start_m, axis_3, normal_3, 0.026, 0.0026, 0.0094, 0.0078),
                    ),
                    across=across,
                ),
            ),
        ),
        Link(
            name="thumb_4",
            mass_kg=0.00972 + 2 * PAD_MASS_KG,
            source=f"{URDF}: mass; width from the link's 20.4 mm, axis from its two pads",
            skin=Capsule(start_m=start_4, end_m=end_4, radius_m=THUMB_RADIUS_M),
            visuals=(
                Loft(
                    stations=(
                        beside(start_4, axis_4, normal_4, -0.005, 0.0010, 0.0086, 0.0080),
                        beside(start_4, axis_4, normal_4, 0.006, 0.0020, 0.0094, 0.0082),
                        beside(end_4, axis_4, normal_4, -0.008, 0.0034, 0.0090, 0.0064),
                        beside(end_4, axis_4, normal_4, 0.003, 0.0042, 0.0066, 0.0044),
                    ),
                    across=across,
                ),
            ),
        ),
    )


def _thumb_pads() -> tuple[Pad, Pad, Pad, Pad]:
    _, _, end = _two_pad_capsule(THUMB_TOP_PAD, THUMB_TIP_PAD, radius_m=THUMB_RADIUS_M)
    top, tip = _two_pads(
        "thumb",
        "thumb_4",
        THUMB_TOP_PAD,
        THUMB_TIP_PAD,
        radius_m=THUMB_RADIUS_M,
        end_m=end,
        top_source=f"{URDF}: pad position; pitch from the pad's 10.5 x 15.2 mm",
    )
    along_2, normal_2, _ = _side_capsule(THUMB_3_ORIGIN, THUMB_PALM_PAD, 0.0095)
    along_3, normal_3, _ = _side_capsule(THUMB_4_ORIGIN, THUMB_MIDDLE_PAD, THUMB_RADIUS_M)
    middle = Pad(
        name="thumb_middle",
        link="thumb_3",
        rows=3,
        cols=3,
        row_pitch_m=2.07 * MM_M,
        col_pitch_m=2.1 * MM_M,
        chart="cylinder",
        centre_m=THUMB_MIDDLE_PAD,
        row_axis=(-along_3[0], -along_3[1], 0.0),
        normal=normal_3,
        source=f"{URDF}: pad position; pitch from the pad's 6.3 x 6.2 mm",
    )
    palm = Pad(
        name="thumb_palm",
        link="thumb_2",
        rows=12,
        cols=8,
        row_pitch_m=1.3 * MM_M,
        col_pitch_m=1.5 * MM_M,
        chart="cylinder",
        centre_m=THUMB_PALM_PAD,
        row_axis=(-along_2[0], -along_2[1], 0.0),
        normal=normal_2,
        source=f"{URDF}: pad position; pitch from the pad's 11.7 x 15.8 mm",
    )
    return tip, top, middle, palm


def _base() -> Link:
    return Link(
        name="base",
        mass_kg=0.62266 + PAD_MASS_KG,
        source=f"{URDF}: mass; 89.5 mm wide (drawing), palm face from its pad",
        skin=Box(centre_m=(0.0, PALM_FACE_M - 0.0135, 0.0925), half_m=(0.0435, 0.0135, 0.0575)),
        collision=(
            Box(centre_m=(-0.0235, 0.0165, 0.0415), half_m=(0.0165, 0.0125, 0.0135)),
            Cylinder(start_m=(0.0, 0.0, 0.0), end_m=(0.0, 0.0, 0.036), radius_m=0.0265),
        ),
        visuals=(
            Loft(
                stations=(
                    Station(centre_m=(0.0, 0.0, 0.002), half_width_m=0.0262, half_depth_m=0.0262),
                    Station(centre_m=(0.0, 0.0, 0.030), half_width_m=0.0268, half_depth_m=0.0262),
                ),
                across=(1.0, 0.0, 0.0),
                tone="dark",
                dome_m=0.001,
            ),
            Loft(
                stations=(
                    Station(centre_m=(0.0, -0.003, 0.030), half_width_m=0.030, half_depth_m=0.0165),
                    Station(centre_m=(-0.001, -0.003, 0.052), half_width_m=0.0400, half_depth_m=0.0170),
                    Station(centre_m=(-0.001, -0.003, 0.090), half_width_m=0.0445, half_depth_m=0.0151),
                    Station(centre_m=(0.0005, -0.003, 0.128), half_width_m=0.0448, half_depth_m=0.0151),
                    Station(centre_m=(0.0005, -0.002, 0.149), half_width_m=0.0438, half_depth_m=0.0128),
                ),
                across=(1.0, 0.0, 0.0),
                squareness=4.5,
            ),
            # The root of the thumb.
            Loft(
                stations=(
                    Station(centre_m=(-0.0215, 0.006, 0.034), half_width_m=0.0160, half_depth_m=0.0150),
                    Station(centre_m=(-0.0245, 0.013, 0.046), half_width_m=0.0165, half_depth_m=0.0165),
                    Station(centre_m=(-0.0262, 0.018, 0.056), half_width_m=0.0132, half_depth_m=0.0130),
                ),
                across=(1.0, 0.0, 0.0),
                squareness=3.0,
                dome_m=0.001,
            ),
            # The palm's tactile pad, 50 x 30 mm.
            VisualShape(
                shape=Box(centre_m=(-0.00037, PALM_FACE_M - 0.0019, 0.1196), half_m=(0.0252, 0.0020, 0.0152)),
                tone="skin",
            ),
        ),
    )


def _joints() -> tuple[Joint, ...]:
    thumb = (
        Joint(
            name="thumb_1",
            parent="base",
            child="thumb_1",
            pos_m=(-0.0269, 0.02101, 0.0689),
            axis=(0.0, 0.0, -1.0),
            lower_rad=0.0,
            upper_rad=1.1641,
            source=URDF,
        ),
        Joint(
            name="thumb_2",
            parent="thumb_1",
            child="thumb_2",
            pos_m=(-0.0079252, 0.0090599, 0.0052),
            rpy_rad=(1.5708, 0.0, 2.8798),
            lower_rad=0.0,
            upper_rad=0.5864,
            source=URDF,
        ),
        Joint(
            name="thumb_3",
            parent="thumb_2",
            child="thumb_3",
            pos_m=THUMB_3_ORIGIN,
            lower_rad=0.0,
            upper_rad=0.5,
            source=URDF,
        ),
        Joint(
            name="thumb_4",
            parent="thumb_3",
            child="thumb_4",
            pos_m=THUMB_4_ORIGIN,
            lower_rad=0.0,
            upper_rad=3.14,
            source=URDF,
        ),
    )
    fingers = []
    for finger in FINGERS:
        origin, roll = KNUCKLES[finger]
        fingers.append(
            Joint(
                name=f"{finger}_1",
                parent="base",
                child=f"{finger}_1",
                pos_m=origin,
                rpy_rad=(roll, 0.0, -1.5708),
                lower_rad=0.0,
                upper_rad=1.4381,
                source=URDF,
            )
        )
        fingers.append(
            Joint(
                name=f"{finger}_2",
                parent=f"{finger}_1",
                child=f"{finger}_2",
                pos_m=(-0.0034259, 0.032596, -0.00055),
                lower_rad=0.0,
                upper_rad=3.14,
                source=URDF,
            )
        )
    driven = {"thumb_1", "thumb_2", *(f"{finger}_1" for finger in FINGERS)}
    return tuple(
        replace(
            joint,
            # Assumed: gears and linkage of a finger, of the order of the finger's own inertia.
            armature_kgm2=1e-4 if joint.name in driven else 1e-5,
            damping_nms_rad=0.0 if joint.name in driven else 5e-4,
        )
        for joint in (*fingers, *thumb)
    )


LAWS = coupling_laws(
    JointNames(fingers={f: (f"{f}_1", f"{f}_2") for f in FINGERS}, thumb=("thumb_2", "thumb_3", "thumb_4"))
)
DEFAULT_LAW = "rh56e2"


def _actuator(name: str, drives: str, closed_rad: float) -> Actuator:
    return Actuator(
        name=name,
        drives=drives,
        open_rad=0.0,
        closed_rad=closed_rad,
        lower_rad=0.0,
        upper_rad=closed_rad,
        motor=FTP_MOTORS[name],
    )


ACTUATORS = (
    # Ref: RH56DFTP manual 2.6.11, order of ANGLE_SET(0..5).
    *(_actuator(finger, f"{finger}_1", 1.4381) for finger in FINGERS),
    _actuator("thumb_bend", "thumb_2", 0.5864),
    _actuator("thumb_rotation", "thumb_1", 1.1641),
)

# Closing fractions: little, ring, middle, index, thumb bend, thumb rotation.
POSES = {
    "open": (0.0, 0.0, 0.0, 0.0, 0.0, 0.0),
    "fist": (1.0, 1.0, 1.0, 1.0, 0.45, 0.35),
    "pinch": (0.0, 0.0, 0.0, 0.60, 0.70, 1.0),
    "point": (1.0, 1.0, 1.0, 0.0, 0.45, 0.35),
    "thumbs_up": (1.0, 1.0, 1.0, 1.0, 0.0, 0.0),
}

_PALM_PAD = Pad(
    name="palm",
    link="base",
    rows=8,
    cols=14,
    row_pitch_m=3.76 * MM_M,
    col_pitch_m=3.57 * MM_M,
    chart="face",
    centre_m=PALM_PAD,
    row_axis=(0.0, 0.0, -1.0),
    normal=(0.0, 1.0, 0.0),
    source=f"{URDF}: pad position; pitch from the pad's 50.0 x 30.1 mm",
)

RIGHT = HandSpec(
    name="inspire_right",
    maker="Inspire Robots",
    model="RH56DFTP / RH56E2",
    side="right",
    summary="Six lead-screw motors, twelve joints, 1062 taxels in 17 pads.",
    root="base",
    links=(
        _base(),
        *(link for finger in FINGERS for link in _finger_links(finger)),
        *_thumb_links(),
    ),
    joints=_joints(),
    couplings=LAWS[DEFAULT_LAW],
    actuators=ACTUATORS,
    pads=(*(pad for finger in FINGERS for pad in _finger_pads(finger)), *_thumb_pads(), _PALM_PAD),
    tips=(
        *(Tip(finger=f, link=f"{f}_2", pos_m=DISTAL_PADS[f][1]) for f in FINGERS),
        Tip(finger="thumb", link="thumb_4", pos_m=THUMB_TIP_PAD),
    ),
    palm=PalmFrame(pos_m=PALM_PAD, rpy_rad=(math.pi / 2, 0.0, math.pi)),
    palette=PALETTE,
    # The thumb's root bears against the palm through the whole stroke.
    no_contact=(("base", "thumb_2"),),
    poses=POSES,
    variants=LAWS,
    notes=(
        "Coupling laws: eight published sources disagree; the maker's newest URDF is taken, the others are variants.",
        "Which end of a pad is row 1, and which side column 1, is not in the manual: here row 1 is nearest "
        "to the fingertip and columns run from the little-finger side to the thumb side.",
        "Thumb pads: the sizes of the URDF's pads decide which sensor is top, middle and palm (3, 2, 1).",
    ),
)

_MIRROR: dict[str, Axis] = {
    "base": "x",
    **{f"{f}_{k}": "z" for f in FINGERS for k in (1, 2)},
    **{f"thumb_{k}": "x" for k in (1, 2, 3, 4)},
}


# The maker's left URDF puts the frame of thumb_2 2.249 mm further along its own axis; the thumb is the same.
LEFT = with_frame_moved(
    mirrored(RIGHT, name="inspire_left", side="left", frames=_MIRROR), "thumb_2", (0.0, 0.0, 0.002249)
)
