"""Unitree Dex3-1: thumb of three joints, middle and index finger of two, a motor in each; 9 pads, 33 taxels.

Frame of ``palm``: fingers towards +x, palm towards -y on the left hand, the index on the side of +z. Fingers run along
their own x and bend about z, by negative angles on the left hand and positive ones on the right; the thumb runs along
-y and is made of the same parts. Source: ``dex3_1_l`` and ``dex3_1_r`` URDF of unitree_ros, sizes from its meshes.
"""

from __future__ import annotations

import math
from dataclasses import replace

from thenar.hands.catalog.rows import NO_TURN, Inertial, X, Y, Z, hinge, weighed_link
from thenar.hands.mirror import mirrored
from thenar.hands.shapes import Box, Capsule, Cylinder, Loft, Shape, Station, Vec3, Visual, VisualShape
from thenar.hands.spec import Actuator, HandSpec, Joint, Link, Pad, Palette, PalmFrame, Servo, Tip

URDF = "dex3_1_l URDF"
INERTIAL = f"{URDF}: mass, centre and inertia; sizes from its meshes"
PLACES = "covers of the meshes; number and places of the elements under them are assumed: 33 in all are published"

PALETTE = Palette(body=(0.60, 0.61, 0.63), skin=(0.13, 0.13, 0.14), dark=(0.21, 0.22, 0.23))
ARMATURE_KGM2 = 2e-4  # of a gear motor of this size; assumed

# fmt: off
NEAR: Inertial = (0.0588507, (0.03547435774, 0.00082788768, 0.0003808996),
                  (6.01573947e-06, 1.274699945e-05, 1.234543582e-05, -5.0770784e-07, -2.7839003e-07, 1.608885e-07))
FAR: Inertial = (0.02030626, (0.02628192939, 0.00171735242, -0.00010778879),
                 (1.53561368e-06, 4.61267817e-06, 3.86625776e-06, -3.42213e-08, -2.549885e-08, -8.23881e-09))
INERTIALS: dict[str, Inertial] = {
    "palm": (0.37283854, (0.06214634836, -0.00050869656, -0.00058171093),
        (0.00027535181027, 0.00053951827219, 0.00039623390907, -1.595519465e-05, -2.4216189e-06, -4.2279435e-07)),
    "thumb_0": (0.08623657, (-0.0008842458, -0.00863407079, 0.00094429336),
        (1.602919238e-05, 1.451795012e-05, 1.637877663e-05, 1.0683177e-07, 1.6728875e-07, -5.1094752e-07)),
    "thumb_1": (0.0588507, (-0.00082788768, -0.03547435774, -0.0003808996),
        (1.274699945e-05, 6.01573947e-06, 1.234543582e-05, -5.0770784e-07, 1.608885e-07, -2.7839003e-07)),
    "thumb_2": (0.02030626, (-0.00171735242, -0.02628192939, 0.00010778879),
        (4.61267817e-06, 1.53561368e-06, 3.86625776e-06, -3.42213e-08, -8.23881e-09, -2.549885e-08)),
    **{f"{f}_{n}": part for f in ("middle", "index") for n, part in enumerate((NEAR, FAR))},
}

# Parent, place in it [m], axis, open and closed [rad], other end where it goes beyond open [rad], effort [N m],
# top speed [rad/s], arm from the axis to the fingertip [m].
MOTORS: dict[str, tuple[str, Vec3, Vec3, float, float, float, float, float, float]] = {
    "thumb_0": ("palm", (0.0255, 0.0, 0.0), Y, 0.0, -1.04719755, 1.04719755, 2.45, 3.14, 0.115),
    "thumb_1": ("thumb_0", (-0.0025, -0.0193, 0.0), Z, -0.61086523, 1.04719755, -0.61086523, 1.4, 12.0, 0.096),
    "thumb_2": ("thumb_1", (0.0, -0.0458, 0.0), Z, 0.0, 1.74532925, 0.0, 1.4, 12.0, 0.050),
    "middle_0": ("palm", (0.0777, 0.0016, -0.0285), Z, 0.0, -1.57079632, 0.0, 1.4, 12.0, 0.096),
    "middle_1": ("middle_0", (0.0458, 0.0, 0.0), Z, 0.0, -1.74532925, 0.0, 1.4, 12.0, 0.050),
    "index_0": ("palm", (0.0777, 0.0016, 0.0285), Z, 0.0, -1.57079632, 0.0, 1.4, 12.0, 0.096),
    "index_1": ("index_0", (0.0458, 0.0, 0.0), Z, 0.0, -1.74532925, 0.0, 1.4, 12.0, 0.050),
}
# fmt: on


def _thumb(point: Vec3) -> Vec3:
    """Where a point of a finger's part is on the thumb's: length to -y, pads to +x."""
    x, y, z = point
    return -y, -x, -z


def _rod(start: Vec3, end: Vec3, radius_m: float, *, thumb: bool) -> Capsule:
    ends = (_thumb(start), _thumb(end)) if thumb else (start, end)
    return Capsule(start_m=ends[0], end_m=ends[1], radius_m=radius_m)


def _loft(*stations: Station, thumb: bool, tone: str = "body", dome_m: float = 0.002, squareness: float = 5.0) -> Loft:
    placed = ((*_thumb(row[:3]), *row[3:]) if thumb else row for row in stations)
    return Loft.through(Z, *placed, tone=tone, dome_m=dome_m, squareness=squareness)


def _axle(half_m: float, radius_m: float) -> VisualShape:
    rod = Cylinder(start_m=(0.0, 0.0, -half_m), end_m=(0.0, 0.0, half_m), radius_m=radius_m)
    return VisualShape(shape=rod, tone="dark")


def _skin(name: str) -> Shape | None:
    """The cushion of a finger's first part, and the whole of its second."""
    thumb = name.startswith("thumb")
    if name == "palm":
        return Box(centre_m=(0.03765, 0.0, 0.0), half_m=(0.02975, 0.0184, 0.030))
    if name == "thumb_0":
        return None
    if name.endswith("_0" if not thumb else "_1"):
        return _rod((0.0195, -0.0049, 0.0), (0.0420, -0.0049, 0.0), 0.0095, thumb=thumb)
    return _rod((0.0080, -0.0008, 0.0), (0.0440, -0.0008, 0.0), 0.0078, thumb=thumb)


def _visuals(name: str) -> tuple[Visual, ...]:
    thumb = name.startswith("thumb")
    if name == "palm":
        return (
            _loft((0.002, 0.0015, 0.0, 0.0270, 0.0170), (0.020, 0.0015, 0.0, 0.0330, 0.0185),
                  (0.060, 0.0005, 0.0, 0.0345, 0.0185), (0.070, 0.002, 0.0, 0.0350, 0.0170), thumb=False),
            # The cover of its sensors, and the housings of the two knuckles.
            VisualShape(shape=Box(centre_m=(0.0520, -0.0178, 0.0), half_m=(0.0150, 0.0016, 0.0290)), tone="skin"),
            *(
                VisualShape(shape=Cylinder(start_m=(0.0777, 0.0016, z - 0.0152), end_m=(0.0777, 0.0016, z + 0.0152),
                                           radius_m=0.0100), tone="dark")
                for z in (-0.0285, 0.0285)
            ),
            Loft.through(Z, (0.058, 0.006, 0.0, 0.0420, 0.0130), (0.072, 0.006, 0.0, 0.0430, 0.0130),
                         squareness=6.0, dome_m=0.001),
            VisualShape(shape=Cylinder(start_m=(0.0255, -0.0195, 0.0), end_m=(0.0255, 0.0200, 0.0), radius_m=0.0175),
                        tone="dark"),
        )  # fmt: skip
    if name == "thumb_0":
        return (
            VisualShape(shape=Cylinder(start_m=(0.0, -0.0130, 0.0), end_m=(0.0, 0.0, 0.0), radius_m=0.0112)),
            VisualShape(shape=Box(centre_m=(-0.0020, -0.0190, 0.0), half_m=(0.0082, 0.0085, 0.0086))),
            VisualShape(
                shape=Cylinder(start_m=(-0.0025, -0.0193, -0.0098), end_m=(-0.0025, -0.0193, 0.0098), radius_m=0.0085),
                tone="dark",
            ),
        )
    if name.endswith("_0" if not thumb else "_1"):
        return (
            _axle(0.0125, 0.0068),
            _loft((0.000, 0.0010, 0.0, 0.0112, 0.0064), (0.012, 0.0015, 0.0, 0.0118, 0.0092),
                  (0.018, 0.0018, 0.0, 0.0122, 0.0104), (0.044, 0.0018, 0.0, 0.0122, 0.0104),
                  (0.051, 0.0010, 0.0, 0.0110, 0.0078), thumb=thumb),
            _loft((0.0210, -0.0075, 0.0, 0.0096, 0.0066), (0.0450, -0.0075, 0.0, 0.0096, 0.0066), thumb=thumb,
                  tone="skin", squareness=3.0),
        )  # fmt: skip
    return (
        _axle(0.0128, 0.0066),
        _loft((0.000, 0.0010, 0.0, 0.0105, 0.0064), (0.014, 0.0020, 0.0, 0.0108, 0.0068),
              (0.036, 0.0020, 0.0, 0.0102, 0.0066), (0.047, 0.0016, 0.0, 0.0080, 0.0052), thumb=thumb, dome_m=0.004,
              squareness=3.6),
        _loft((0.0190, -0.0030, 0.0, 0.0100, 0.0056), (0.0380, -0.0030, 0.0, 0.0096, 0.0056), thumb=thumb, tone="skin",
              squareness=3.0, dome_m=0.003),
    )  # fmt: skip


def _link(name: str) -> Link:
    stalk = Cylinder(start_m=(0.0, -0.020, 0.0), end_m=(0.0, 0.0, 0.0), radius_m=0.0095)
    thumb = name.startswith("thumb")
    root = () if name in ("palm", "thumb_0") else (_rod((0.0, 0.0, 0.0), (0.016, 0.001, 0.0), 0.0085, thumb=thumb),)
    return weighed_link(
        name,
        INERTIALS[name],
        INERTIAL,
        skin=_skin(name),
        collision=(stalk,) if name == "thumb_0" else root,
        visuals=_visuals(name),
    )


def _joint(name: str) -> Joint:
    parent, place, axis, open_rad, closed_rad, beyond_rad, *_ = MOTORS[name]
    ends = (open_rad, closed_rad, beyond_rad)
    return hinge(
        name, parent, name, place, NO_TURN, axis, min(ends), max(ends), URDF, armature_kgm2=ARMATURE_KGM2
    )  # fmt: skip


def _actuator(name: str) -> Actuator:
    *_, open_rad, closed_rad, beyond_rad, effort_nm, speed_rad_s, lever_m = MOTORS[name]
    ends = (open_rad, closed_rad, beyond_rad)
    servo = Servo(
        stiffness_nm_rad=1.5,
        damping_nms_rad=0.2,
        top_speed_rad_s=speed_rad_s,
        effort_nm=effort_nm,
        lever_m=lever_m,
        takes_law=True,
        source=f"{URDF}: effort and speed; gains of xr_teleoperate where a command brings none; armature assumed",
    )
    return Actuator(
        name=name,
        drives=name,
        open_rad=open_rad,
        closed_rad=closed_rad,
        lower_rad=min(ends),
        upper_rad=max(ends),
        motor=servo,
    )


def _pad(name: str, link: str, rows: int, cols: int, pitch_m: tuple[float, float], centre_m: Vec3) -> Pad:
    """A pad that faces the palm's side; rows run along the finger, of the palm along x."""
    thumb = link.startswith("thumb")
    along, out = ((0.0, -1.0, 0.0), X) if thumb else (X, (0.0, -1.0, 0.0))
    return Pad(
        name=name,
        link=link,
        rows=rows,
        cols=cols,
        row_pitch_m=pitch_m[0],
        col_pitch_m=pitch_m[1],
        chart="face" if link == "palm" else "cylinder",
        centre_m=_thumb(centre_m) if thumb else centre_m,
        row_axis=along,
        normal=out,
        source=PLACES,
    )


# In the order of the hand's press modules: base and tip of thumb, middle, index, then the palm from the index's side.
PADS = (
    *(
        pad
        for f, near, far in (("thumb", "1", "2"), ("middle", "0", "1"), ("index", "0", "1"))
        for pad in (
            _pad(f"{f}_base", f"{f}_{near}", 2, 2, (0.0105, 0.0085), (0.0320, -0.0144, 0.0)),
            _pad(f"{f}_tip", f"{f}_{far}", 3, 1, (0.0065, 0.0110), (0.0285, -0.0086, 0.0)),
        )
    ),
    *(
        _pad(f"palm_{part}", "palm", 2, 2, (0.0130, 0.0090), (0.0520, -0.0184, z))
        for part, z in (("index", 0.0195), ("centre", 0.0), ("middle", -0.0195))
    ),
)

LEFT = HandSpec(
    name="dex3_left",
    maker="Unitree",
    model="Dex3-1",
    side="left",
    summary="Seven motors on seven joints, three fingers, 33 sensing elements in nine modules.",
    root="palm",
    links=tuple(_link(name) for name in INERTIALS),
    joints=tuple(_joint(name) for name in MOTORS),
    actuators=tuple(_actuator(name) for name in MOTORS),
    pads=PADS,
    tips=(
        Tip(finger="thumb", link="thumb_2", pos_m=(0.0, -0.05, 0.0)),
        *(Tip(finger=f, link=f"{f}_1", pos_m=(0.05, 0.0, 0.0)) for f in ("middle", "index")),
    ),
    palm=PalmFrame(pos_m=(0.0520, -0.0184, 0.0), rpy_rad=(math.pi / 2, math.pi / 2, 0.0)),
    palette=PALETTE,
    no_contact=(("palm", "thumb_1"), ("thumb_0", "thumb_2")),
    # Closing fractions: thumb turn, thumb base and tip, middle base and tip, index base and tip.
    poses={
        "open": (0.0,) * 7,
        "fist": (0.0, 0.2, 0.3, 0.9, 0.8, 0.9, 0.8),
        "pinch": (0.5, 0.8, 0.35, 0.0, 0.0, 0.8, 0.4),
        "point": (0.0, 0.2, 0.3, 0.9, 0.8, 0.0, 0.0),
        "thumbs_up": (0.0, 0.0, 0.0, 0.9, 0.8, 0.9, 0.8),
    },
    notes=(
        "The inner limit of thumb_1 is the newest URDF's 0.6109 rad; older files have 0.7243.",
        "A motor's torque is tau + kp (q - angle) + kd (dq - velocity), as its command says: the position error is the "
        "grip.",
    ),
)


def _right() -> HandSpec:
    """The mirror image, with the angles of joints about z counted the other way round, as in the maker's file."""
    mirror = mirrored(LEFT, name="dex3_right", side="right", frames={link.name: "y" for link in LEFT.links})
    turned = {joint.name for joint in LEFT.joints if joint.axis == Z}
    return replace(
        mirror,
        joints=tuple(
            replace(joint, axis=Z, lower_rad=-joint.upper_rad + 0.0, upper_rad=-joint.lower_rad + 0.0)
            if joint.name in turned
            else joint
            for joint in mirror.joints
        ),
        actuators=tuple(
            replace(
                motor,
                open_rad=-motor.open_rad + 0.0,
                closed_rad=-motor.closed_rad,
                lower_rad=-motor.upper_rad + 0.0,
                upper_rad=-motor.lower_rad + 0.0,
            )
            if motor.drives in turned
            else motor
            for motor in mirror.actuators
        ),
        # The modules of the right palm are counted from the middle finger's side.
        pads=(*mirror.pads[:6], *mirror.pads[:5:-1]),
    )


RIGHT = _right()

HANDS = (LEFT, RIGHT)
