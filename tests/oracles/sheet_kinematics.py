"""Kinematics of the fact sheets, transcribed a second time: joint angles to link poses.

Plain data and plain numpy products, written from the sheets without a look at the package, so that a
slip in the hand catalogue and a slip here are unlikely to agree. No MuJoCo and no `thenar` here.

Lengths in metres, angles in radians. A row is a URDF joint: the child frame sits at `xyz_m` in the parent
frame, turned by R = Rz(yaw) Ry(pitch) Rx(roll), and then turns about `axis`, which is written in the child
frame. Names carry no side prefix.

Mirroring, used where a sheet gives one side only: if the parent frame is reflected by P = diag(+-1) and the
child frame by C, then xyz' = P xyz, R' = P R C and axis' = -C axis; the joint angles and limits stay. Which
axis each frame is reflected in is said at each table. The mirrored numbers are written out as plain data.
"""

import math
from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Vec3 = tuple[float, float, float]

NONE: Vec3 = (0.0, 0.0, 0.0)


class Joint(NamedTuple):
    """One revolute joint of a sheet."""

    parent: str
    child: str
    xyz_m: Vec3
    rpy_rad: Vec3
    axis: Vec3
    lower_rad: float
    upper_rad: float


class Pad(NamedTuple):
    """One tactile pad of a sheet; `pitch_m` is (row pitch, column pitch), None where the sheet is silent."""

    link: str
    centre_m: Vec3
    rows: int
    cols: int
    pitch_m: tuple[float, float] | None


# --- Inspire RH56E2 / RH56DFTP --------------------------------------------------------------------
# Ref: the inspire fact sheet, section 5.2 (joints, LEFT paragraph, pads), section 4.4 row RH56E2 / UROS-FTP newest.
# Base frame: z to the fingers, y to the palm side; the thumb side is -x (right) and +x (left).

_INSPIRE_FINGERS = ("index", "middle", "ring", "little")

_INSPIRE_RIGHT: dict[str, Joint] = {
    "thumb_1": Joint("base", "thumb_1", (-0.0269, 0.02101, 0.0689), NONE, (0, 0, -1), 0.0, 1.1641),
    "thumb_2": Joint(
        "thumb_1", "thumb_2", (-0.0079252, 0.0090599, 0.0052), (1.5708, 0, 2.8798), (0, 0, 1), 0.0, 0.5864
    ),
    "thumb_3": Joint("thumb_2", "thumb_3", (0.031403, 0.021069, 0.00095), NONE, (0, 0, 1), 0.0, 0.5),
    "thumb_4": Joint("thumb_3", "thumb_4", (0.021903, 0.012816, -0.0003), NONE, (0, 0, 1), 0.0, 3.14),
    "index_1": Joint("base", "index_1", (-0.038679, 0.00056467, 0.1564), (1.6057, 0, -1.5708), (0, 0, 1), 0.0, 1.4381),
    "middle_1": Joint("base", "middle_1", (-0.0171, 0.00056467, 0.157), (1.5708, 0, -1.5708), (0, 0, 1), 0.0, 1.4381),
    "ring_1": Joint("base", "ring_1", (0.0045302, 0.00056467, 0.15683), (1.5184, 0, -1.5708), (0, 0, 1), 0.0, 1.4381),
    "little_1": Joint(
        "base", "little_1", (0.025916, 0.00056467, 0.15365), (1.4661, 0, -1.5708), (0, 0, 1), 0.0, 1.4381
    ),
} | {
    f"{f}_2": Joint(f"{f}_1", f"{f}_2", (-0.0034259, 0.032596, -0.00055), NONE, (0, 0, 1), 0.0, 3.14)
    for f in _INSPIRE_FINGERS
}

# Reflected: base in x, finger links in z (axes stay 0 0 1), thumb links in x (axes change sign). Under these
# axes every left number the sheet states comes out as the mirror, but for two:
# - thumb_2 xyz: the mirror is (0.0079252, 0.0090599, 0.0052), stated is 2.249 mm off along the bend axis;
# - thumb_3 z: the mirror is 0.00095, stated -0.001299, which takes the same 2.249 mm back.
# So only the frame of thumb_2 is slid along its own axis; thumb_3 and beyond are a mirror again.
# Decided: the sheet is silent on the left limits, on thumb_1 rpy and on the finger yaw and child x, y; the
# limits and rpy are the right ones and the child x, y unchanged, as the axes above ask.
_INSPIRE_LEFT: dict[str, Joint] = {
    "thumb_1": Joint("base", "thumb_1", (0.0269, 0.02101, 0.0689), NONE, (0, 0, 1), 0.0, 1.1641),
    "thumb_2": Joint(
        "thumb_1", "thumb_2", (0.0073431, 0.011232, 0.0052), (1.5708, 0, -2.8798), (0, 0, -1), 0.0, 0.5864
    ),
    "thumb_3": Joint("thumb_2", "thumb_3", (-0.031403, 0.021069, -0.001299), NONE, (0, 0, -1), 0.0, 0.5),
    "thumb_4": Joint("thumb_3", "thumb_4", (-0.021903, 0.012816, -0.0003), NONE, (0, 0, -1), 0.0, 3.14),
    "index_1": Joint("base", "index_1", (0.038679, 0.00056467, 0.1564), (1.5359, 0, -1.5708), (0, 0, 1), 0.0, 1.4381),
    "middle_1": Joint("base", "middle_1", (0.0171, 0.00056467, 0.157), (1.5708, 0, -1.5708), (0, 0, 1), 0.0, 1.4381),
    "ring_1": Joint("base", "ring_1", (-0.0045302, 0.00056467, 0.15683), (1.6232, 0, -1.5708), (0, 0, 1), 0.0, 1.4381),
    "little_1": Joint(
        "base", "little_1", (-0.025916, 0.00056467, 0.15365), (1.6755, 0, -1.5708), (0, 0, 1), 0.0, 1.4381
    ),
} | {
    f"{f}_2": Joint(f"{f}_1", f"{f}_2", (-0.0034259, 0.032596, 0.00055), NONE, (0, 0, 1), 0.0, 3.14)
    for f in _INSPIRE_FINGERS
}

# Decided: 4.4 also quotes thumb_4 as 0.7612 x pitch, a rounding of 0.8024 x 0.9487 = 0.76124; the chained law
# is the one kept.
_INSPIRE_COUPLINGS: dict[str, tuple[str, float, float]] = {
    "thumb_3": ("thumb_2", 0.8024, 0.0),
    "thumb_4": ("thumb_3", 0.9487, 0.0),
    "index_2": ("index_1", 1.0843, 0.0),
    "middle_2": ("middle_1", 1.0843, 0.0),
    "ring_2": ("ring_1", 1.0843, 0.0),
    "little_2": ("little_1", 1.0843, 0.0),
}

# Decided, pads: {f}_palm, _top, _tip are {f}_force_sensor_1, _2, _3; thumb palm, middle, top, tip are
# thumb_force_sensor_1, _2, _3, _4 (the sheet's own mapping, against the LWS README). The grid column is read
# as rows x cols and the pitch column as (col, row), which fits size = (cols x col pitch) x (rows x row pitch)
# for every pad. The pitches marked "~" are taken as they stand. The centre is the pad's frame origin.
# The sheet gives an orientation for the palm pad only, rpy (1.5708, 0, -3.1416); it is the same on the left
# if the pad frame is reflected in x.
_INSPIRE_RIGHT_PADS: dict[str, Pad] = {
    "little_palm": Pad("little_1", (-0.012046, 0.019649, -0.006651), 10, 8, (0.0015, 0.0014)),
    "little_top": Pad("little_2", (-0.0064512, 0.0276833, -0.0061172), 12, 8, None),
    "little_tip": Pad("little_2", (-0.0063972, 0.0427069, -0.0061154), 3, 3, None),
    "ring_palm": Pad("ring_1", (-0.012046, 0.019649, -0.006651), 10, 8, (0.0015, 0.0014)),
    "ring_top": Pad("ring_2", (-0.0081655, 0.037446, -0.0060795), 12, 8, (0.0013, 0.0014)),
    "ring_tip": Pad("ring_2", (-0.0086237, 0.052572, -0.0060954), 3, 3, (0.0014, 0.0021)),
    "middle_palm": Pad("middle_1", (-0.012046, 0.019649, -0.006651), 10, 8, (0.0015, 0.0014)),
    "middle_top": Pad("middle_2", (-0.0090859, 0.040963, -0.0061003), 12, 8, None),
    "middle_tip": Pad("middle_2", (-0.0098294, 0.056051, -0.0061006), 3, 3, None),
    "index_palm": Pad("index_1", (-0.012046, 0.019649, -0.006651), 10, 8, (0.0015, 0.0014)),
    "index_top": Pad("index_2", (-0.0081655, 0.037446, -0.0060795), 12, 8, (0.0013, 0.0014)),
    "index_tip": Pad("index_2", (-0.0086237, 0.052572, -0.0060954), 3, 3, (0.0014, 0.0021)),
    "thumb_palm": Pad("thumb_2", (0.0087121, 0.026305, -0.0067115), 12, 8, (0.0013, 0.0015)),
    "thumb_middle": Pad("thumb_3", (0.011771, 0.01699, -0.0077514), 3, 3, (0.0021, 0.0021)),
    "thumb_top": Pad("thumb_4", (0.014598, 0.01472, -0.0073103), 12, 8, (0.0013, 0.0013)),
    "thumb_tip": Pad("thumb_4", (0.028987, 0.017301, -0.0073512), 3, 3, None),
    "palm": Pad("base", (-0.00036819, 0.012296, 0.1196), 8, 14, (0.0038, 0.0036)),
}

# Left pads are not in the sheet. Reflected like their links: fingers in z, thumb and base in x.
# Decided: thumb_palm needs more than the sign of x. The left frame of thumb_2 is slid by 2.249 mm along z
# (see _INSPIRE_LEFT), so the mirrored pad is at z = -0.0067115 - (0.00095 + 0.001299) = -0.0089605. Copying z
# would put this one pad 2.249 mm off the mirror of the right one. Ref: laurent-19/inspire_hand_ws
# rh56e2_left.urdf, left_thumb_force_sensor_1_joint, has -0.0089605.
_INSPIRE_LEFT_PADS: dict[str, Pad] = {
    "little_palm": Pad("little_1", (-0.012046, 0.019649, 0.006651), 10, 8, (0.0015, 0.0014)),
    "little_top": Pad("little_2", (-0.0064512, 0.0276833, 0.0061172), 12, 8, None),
    "little_tip": Pad("little_2", (-0.0063972, 0.0427069, 0.0061154), 3, 3, None),
    "ring_palm": Pad("ring_1", (-0.012046, 0.019649, 0.006651), 10, 8, (0.0015, 0.0014)),
    "ring_top": Pad("ring_2", (-0.0081655, 0.037446, 0.0060795), 12, 8, (0.0013, 0.0014)),
    "ring_tip": Pad("ring_2", (-0.0086237, 0.052572, 0.0060954), 3, 3, (0.0014, 0.0021)),
    "middle_palm": Pad("middle_1", (-0.012046, 0.019649, 0.006651), 10, 8, (0.0015, 0.0014)),
    "middle_top": Pad("middle_2", (-0.0090859, 0.040963, 0.0061003), 12, 8, None),
    "middle_tip": Pad("middle_2", (-0.0098294, 0.056051, 0.0061006), 3, 3, None),
    "index_palm": Pad("index_1", (-0.012046, 0.019649, 0.006651), 10, 8, (0.0015, 0.0014)),
    "index_top": Pad("index_2", (-0.0081655, 0.037446, 0.0060795), 12, 8, (0.0013, 0.0014)),
    "index_tip": Pad("index_2", (-0.0086237, 0.052572, 0.0060954), 3, 3, (0.0014, 0.0021)),
    "thumb_palm": Pad("thumb_2", (-0.0087121, 0.026305, -0.0089605), 12, 8, (0.0013, 0.0015)),
    "thumb_middle": Pad("thumb_3", (-0.011771, 0.01699, -0.0077514), 3, 3, (0.0021, 0.0021)),
    "thumb_top": Pad("thumb_4", (-0.014598, 0.01472, -0.0073103), 12, 8, (0.0013, 0.0013)),
    "thumb_tip": Pad("thumb_4", (-0.028987, 0.017301, -0.0073512), 3, 3, None),
    "palm": Pad("base", (0.00036819, 0.012296, 0.1196), 8, 14, (0.0038, 0.0036)),
}

PADS: dict[str, dict[str, Pad]] = {
    "inspire_right": _INSPIRE_RIGHT_PADS,
    "inspire_left": _INSPIRE_LEFT_PADS,
}


# --- Inspire RH56DFX / DFQ ------------------------------------------------------------------------
# Ref: the inspire fact sheet, section 5.1, columns "limits DEXU" and "mimic DEXU", tip frames column DEXU.
# Base frame: -y to the fingers, -x to the palm side; the thumb side is -z (right) and +z (left).
# Decided: the root is hand_base; the sheet's further base -> hand_base joint is left out. Rows of
# middle/ring/pinky_intermediate that leave limits and mimic blank or say "as index" are as index.

_DFX_FINGERS = ("index", "middle", "ring", "pinky")

_DFX_RIGHT: dict[str, Joint] = {
    "thumb_proximal_yaw": Joint(
        "hand_base",
        "thumb_proximal_base",
        (-0.01696, -0.0691, -0.02045),
        (1.5708, -1.5708, 0),
        (0, 0, -1),
        0.0,
        1.308,
    ),
    "thumb_proximal_pitch": Joint(
        "thumb_proximal_base",
        "thumb_proximal",
        (-0.0088099, 0.010892, -0.00925),
        (1.5708, 0, 2.8587),
        (0, 0, 1),
        0.0,
        0.6,
    ),
    "thumb_intermediate": Joint(
        "thumb_proximal", "thumb_intermediate", (0.04407, 0.034553, -0.0008), NONE, (0, 0, 1), 0.0, 0.8
    ),
    "thumb_distal": Joint(
        "thumb_intermediate", "thumb_distal", (0.020248, 0.010156, -0.0012), NONE, (0, 0, 1), 0.0, 0.4
    ),
    "index_proximal": Joint(
        "hand_base",
        "index_proximal",
        (0.00028533, -0.13653, -0.032268),
        (-3.1067, 0, 0),
        (0, 0, 1),
        0.0,
        1.47,
    ),
    "middle_proximal": Joint(
        "hand_base", "middle_proximal", (0.00028533, -0.1371, -0.01295), (-3.1416, 0, 0), (0, 0, 1), 0.0, 1.47
    ),
    "ring_proximal": Joint(
        "hand_base", "ring_proximal", (0.00028533, -0.13691, 0.0062872), (3.0892, 0, 0), (0, 0, 1), 0.0, 1.47
    ),
    "pinky_proximal": Joint(
        "hand_base", "pinky_proximal", (0.00028533, -0.13571, 0.025488), (3.0369, 0, 0), (0, 0, 1), 0.0, 1.47
    ),
    "index_intermediate": Joint(
        "index_proximal",
        "index_intermediate",
        (-0.0026138, 0.032026, -0.001),
        NONE,
        (0, 0, 1),
        -0.04545,
        1.56,
    ),
} | {
    f"{f}_intermediate": Joint(
        f"{f}_proximal", f"{f}_intermediate", (-0.0024229, 0.032041, -0.001), NONE, (0, 0, 1), -0.04545, 1.56
    )
    for f in ("middle", "ring", "pinky")
}

# Reflected: base in z, thumb_proximal_base in x, all other links in y. This gives back every left number the
# sheet states (finger rpy, all axes, child y) but for thumb_proximal_pitch: the mirror is xyz (0.0088099,
# 0.010892, -0.00925), rpy (-1.5708, 0, 0.28289). Stated xy and yaw are both the mirror turned by -0.1135 rad
# (-6.50 deg) about the yaw axis, and z is 0.35 mm off: the zero of the left thumb yaw lies elsewhere.
# Decided: thumb_proximal_yaw rpy is not stated; the mirror of the right one is the same three numbers.
# Ref: dexsuite/dex-urdf inspire_hand_left.urdf has exactly these. Left limits are the right ones.
_DFX_LEFT: dict[str, Joint] = {
    "thumb_proximal_yaw": Joint(
        "hand_base",
        "thumb_proximal_base",
        (-0.01696, -0.0691, 0.02045),
        (1.5708, -1.5708, 0),
        (0, 0, 1),
        0.0,
        1.308,
    ),
    "thumb_proximal_pitch": Joint(
        "thumb_proximal_base",
        "thumb_proximal",
        (0.0099867, 0.0098242, -0.0089),
        (-1.5708, 0, 0.16939),
        (0, 0, -1),
        0.0,
        0.6,
    ),
    "thumb_intermediate": Joint(
        "thumb_proximal", "thumb_intermediate", (0.04407, -0.034553, -0.0008), NONE, (0, 0, -1), 0.0, 0.8
    ),
    "thumb_distal": Joint(
        "thumb_intermediate", "thumb_distal", (0.020248, -0.010156, -0.0012), NONE, (0, 0, -1), 0.0, 0.4
    ),
    "index_proximal": Joint(
        "hand_base",
        "index_proximal",
        (0.00028533, -0.13653, 0.032268),
        (-0.034907, 0, 0),
        (0, 0, -1),
        0.0,
        1.47,
    ),
    "middle_proximal": Joint(
        "hand_base", "middle_proximal", (0.00028533, -0.1371, 0.01295), NONE, (0, 0, -1), 0.0, 1.47
    ),
    "ring_proximal": Joint(
        "hand_base",
        "ring_proximal",
        (0.00028533, -0.13691, -0.0062872),
        (0.05236, 0, 0),
        (0, 0, -1),
        0.0,
        1.47,
    ),
    "pinky_proximal": Joint(
        "hand_base",
        "pinky_proximal",
        (0.00028533, -0.13571, -0.025488),
        (0.10472, 0, 0),
        (0, 0, -1),
        0.0,
        1.47,
    ),
    "index_intermediate": Joint(
        "index_proximal",
        "index_intermediate",
        (-0.0026138, -0.032026, -0.001),
        NONE,
        (0, 0, -1),
        -0.04545,
        1.56,
    ),
} | {
    f"{f}_intermediate": Joint(
        f"{f}_proximal",
        f"{f}_intermediate",
        (-0.0024229, -0.032041, -0.001),
        NONE,
        (0, 0, -1),
        -0.04545,
        1.56,
    )
    for f in ("middle", "ring", "pinky")
}

# The thumb laws overrun their own limits by 0.4 and 0.2 mrad at the end of travel (1.334 x 0.6 = 0.8004
# against 0.8, 0.667 x 0.6 = 0.4002 against 0.4); both are kept as the sheet has them.
_DFX_COUPLINGS: dict[str, tuple[str, float, float]] = {
    "thumb_intermediate": ("thumb_proximal_pitch", 1.334, 0.0),
    "thumb_distal": ("thumb_proximal_pitch", 0.667, 0.0),
} | {f"{f}_intermediate": (f"{f}_proximal", 1.06399, -0.04545) for f in _DFX_FINGERS}

_DFX_RIGHT_TIPS: dict[str, tuple[str, Vec3]] = {
    "thumb": ("thumb_distal", (0.0202, 0.0140, -0.006)),
    "index": ("index_intermediate", (-0.0008, 0.045, -0.005)),
    "middle": ("middle_intermediate", (-0.001, 0.048, -0.005)),
    "ring": ("ring_intermediate", (-0.0008, 0.045, -0.005)),
    "pinky": ("pinky_intermediate", (-0.0008, 0.037, -0.005)),
}

# Decided: the sheet gives right tips only; the left ones have y negated, like their links.
_DFX_LEFT_TIPS: dict[str, tuple[str, Vec3]] = {
    "thumb": ("thumb_distal", (0.0202, -0.0140, -0.006)),
    "index": ("index_intermediate", (-0.0008, -0.045, -0.005)),
    "middle": ("middle_intermediate", (-0.001, -0.048, -0.005)),
    "ring": ("ring_intermediate", (-0.0008, -0.045, -0.005)),
    "pinky": ("pinky_intermediate", (-0.0008, -0.037, -0.005)),
}


# --- Shadow Dexterous Hand E3M5 -------------------------------------------------------------------
# Ref: the shadow fact sheet, sections 2 and 3. Palm frame: z to the fingers, -y to the palm side; the thumb side is
# +x (right) and -x (left). At zero the forearm frame has the same directions.

_SHADOW_FINGERS = ("FF", "MF", "RF", "LF")


def _shadow_phalanges() -> dict[str, Joint]:
    """Rows xFJ3, xFJ2, xFJ1, which the reflection in x leaves as they are."""
    rows: dict[str, Joint] = {}
    for name in _SHADOW_FINGERS:
        f = name.lower()
        rows[f"{name}J3"] = Joint(f"{f}knuckle", f"{f}proximal", NONE, NONE, (1, 0, 0), -0.2618, 1.5708)
        rows[f"{name}J2"] = Joint(f"{f}proximal", f"{f}middle", (0, 0, 0.045), NONE, (1, 0, 0), 0.0, 1.5708)
        rows[f"{name}J1"] = Joint(f"{f}middle", f"{f}distal", (0, 0, 0.025), NONE, (1, 0, 0), 0.0, 1.5708)
    return rows


_SHADOW_RIGHT: dict[str, Joint] = {
    "WRJ2": Joint("forearm", "wrist", (0, -0.010, 0.21301), NONE, (0, 1, 0), -0.5236, 0.1745),
    "WRJ1": Joint("wrist", "palm", (0, 0, 0.034), NONE, (1, 0, 0), -0.6981, 0.4887),
    "FFJ4": Joint("palm", "ffknuckle", (0.033, 0, 0.095), NONE, (0, -1, 0), -0.3491, 0.3491),
    "MFJ4": Joint("palm", "mfknuckle", (0.011, 0, 0.099), NONE, (0, -1, 0), -0.3491, 0.3491),
    "RFJ4": Joint("palm", "rfknuckle", (-0.011, 0, 0.095), NONE, (0, 1, 0), -0.3491, 0.3491),
    # Decided: "axis 1 0 0 (in palm: 0.5736 0 0.8192)" is one axis in two frames; the child one is used.
    "LFJ5": Joint("palm", "lfmetacarpal", (-0.033, 0, 0.02071), (0, -0.9599, 0), (1, 0, 0), 0.0, 0.7854),
    # Decided: the URDF length (knuckle at palm z 0.0866), not MuJoCo menagerie's 0.0865.
    "LFJ4": Joint("lfmetacarpal", "lfknuckle", (0.05397275, 0, 0.03779463), (0, 0.9599, 0), (0, 1, 0), -0.3491, 0.3491),
    **_shadow_phalanges(),
    "THJ5": Joint("palm", "thbase", (0.034, -0.00858, 0.029), (-0.7854, 0, -1.5708), (0, 0, -1), -1.0472, 1.0472),
    "THJ4": Joint("thbase", "thproximal", NONE, NONE, (0, 1, 0), 0.0, 1.2217),
    "THJ3": Joint("thproximal", "thhub", (0, 0, 0.038), NONE, (0, 1, 0), -0.2094, 0.2094),
    "THJ2": Joint("thhub", "thmiddle", NONE, NONE, (1, 0, 0), -0.6981, 0.6981),
    "THJ1": Joint("thmiddle", "thdistal", (0, 0, 0.032), NONE, (1, 0, 0), -0.2618, 1.5708),
}

# Reflected: every frame in x, forearm too. Axes along x stay, axes along y and z change sign, roll stays,
# pitch and yaw change sign. All of section 3 comes out, with two readings decided:
# - "LFJ5 axis 0.5736 0 -0.8192" is in the palm frame; in the child frame it stays 1 0 0 with pitch +0.9599;
# - "THJ4, THJ3 axis (MJCF frames) -1 0 0" is in MuJoCo's thumb frames; in this table's frames it is 0 -1 0.
_SHADOW_LEFT: dict[str, Joint] = {
    "WRJ2": Joint("forearm", "wrist", (0, -0.010, 0.21301), NONE, (0, -1, 0), -0.5236, 0.1745),
    "WRJ1": Joint("wrist", "palm", (0, 0, 0.034), NONE, (1, 0, 0), -0.6981, 0.4887),
    "FFJ4": Joint("palm", "ffknuckle", (-0.033, 0, 0.095), NONE, (0, 1, 0), -0.3491, 0.3491),
    "MFJ4": Joint("palm", "mfknuckle", (-0.011, 0, 0.099), NONE, (0, 1, 0), -0.3491, 0.3491),
    "RFJ4": Joint("palm", "rfknuckle", (0.011, 0, 0.095), NONE, (0, -1, 0), -0.3491, 0.3491),
    "LFJ5": Joint("palm", "lfmetacarpal", (0.033, 0, 0.02071), (0, 0.9599, 0), (1, 0, 0), 0.0, 0.7854),
    "LFJ4": Joint(
        "lfmetacarpal",
        "lfknuckle",
        (-0.05397275, 0, 0.03779463),
        (0, -0.9599, 0),
        (0, -1, 0),
        -0.3491,
        0.3491,
    ),
    **_shadow_phalanges(),
    "THJ5": Joint("palm", "thbase", (-0.034, -0.00858, 0.029), (-0.7854, 0, 1.5708), (0, 0, 1), -1.0472, 1.0472),
    "THJ4": Joint("thbase", "thproximal", NONE, NONE, (0, -1, 0), 0.0, 1.2217),
    "THJ3": Joint("thproximal", "thhub", (0, 0, 0.038), NONE, (0, -1, 0), -0.2094, 0.2094),
    "THJ2": Joint("thhub", "thmiddle", NONE, NONE, (1, 0, 0), -0.6981, 0.6981),
    "THJ1": Joint("thmiddle", "thdistal", (0, 0, 0.032), NONE, (1, 0, 0), -0.2618, 1.5708),
}

_SHADOW_TIPS: dict[str, tuple[str, Vec3]] = {
    "ff": ("ffdistal", (0, 0, 0.026)),
    "mf": ("mfdistal", (0, 0, 0.026)),
    "rf": ("rfdistal", (0, 0, 0.026)),
    "lf": ("lfdistal", (0, 0, 0.026)),
    "th": ("thdistal", (0, 0, 0.0275)),
}


# --- Fourier FDH-6 --------------------------------------------------------------------------------
# Ref: the robotdata fact sheet, section 13.1 (left hand only). Base frame of the left hand: -z to the fingers, -y to
# the palm side, +x to the thumb side.

_FOURIER_LEFT: dict[str, Joint] = {
    "thumb_proximal_yaw": Joint(
        "hand_base", "thumb_proximal_yaw", (0.022, -0.0155, -0.022992), NONE, (0, 0, 1), -1.676, 0.0
    ),
    "thumb_proximal_pitch": Joint(
        "thumb_proximal_yaw",
        "thumb_proximal_pitch",
        (0.021749, -0.00016321, 0),
        (-1.5708, 0, -0.0052052),
        (0, 0, 1),
        0.0,
        1.159,
    ),
    "thumb_distal": Joint(
        "thumb_proximal_pitch",
        "thumb_distal",
        (0.061549, 0.007464, 0),
        (0, 1.7448e-05, -0.055652),
        (0, 0, 1),
        0.0,
        1.267,
    ),
    "index_proximal": Joint(
        "hand_base", "index_proximal", (0.026868, -0.0123, -0.093989), (0, 1.5184, 0), (0, 0, 1), -1.602, 0.0
    ),
    "index_intermediate": Joint(
        "index_proximal",
        "index_intermediate",
        (0.031533, -0.0054444, 0),
        (0, 0.00014037, -0.0018338),
        (0, 0, 1),
        -1.791,
        0.0,
    ),
    "middle_proximal": Joint(
        "hand_base", "middle_proximal", (0.0085, -0.0123, -0.095992), (0, 1.5708, 0), (0, 0, 1), -1.603, 0.0
    ),
    "middle_intermediate": Joint(
        "middle_proximal",
        "middle_intermediate",
        (0.031521, -0.0055139, 0),
        (0, 0.00015517, 0.0048744),
        (0, 0, 1),
        -1.791,
        0.0,
    ),
    "ring_proximal": Joint(
        "hand_base",
        "ring_proximal",
        (-0.010211, -0.0123, -0.095924),
        (3.1416, 1.5184, 3.1416),
        (0, 0, 1),
        -1.602,
        0.0,
    ),
    "ring_intermediate": Joint(
        "ring_proximal",
        "ring_intermediate",
        (0.031531, -0.0054567, 0.00025),
        (0, 0.00014037, -0.0025338),
        (0, 0, 1),
        -1.798,
        0.0,
    ),
    "pinky_proximal": Joint(
        "hand_base",
        "pinky_proximal",
        (-0.028228, -0.0123, -0.094012),
        (3.1416, 1.4661, 3.1416),
        (0, 0, 1),
        -1.602,
        0.0,
    ),
    "pinky_intermediate": Joint(
        "pinky_proximal",
        "pinky_intermediate",
        (0.031532, -0.005451, 0),
        (0, 0.00032164, -0.011403),
        (0, 0, 1),
        -1.796,
        0.0,
    ),
}

# Decided: base reflected in x, the axis across the fingers (knuckles at x = 27, 8.5, -10, -28 mm with y equal
# and z within 2 mm), so the right hand has -z to the fingers, -y to the palm side and -x to the thumb side.
# Decided: every other link is reflected in its z, the joint axis, so axes stay 0 0 1 and limits keep their
# sign. A pitch of pi - p is written as rpy (3.1416, p, 3.1416), as the sheet does for left ring and pinky.
# FFTAI/Wiki-GRx-Models has a vendor right hand (fourier_right_hand_6dof.urdf) in OTHER base coordinates: it
# reflects the base in y (links in z, as here), so its base is this one turned by pi about z, with +x to the
# thumb side and +y to the palm side. After that turn its link origins are within 0.39 mm of this mirror, its
# link rotations within 1.1 deg and its tips within 1.1 mm (ring and pinky distal pieces, thumb tip frame).
_FOURIER_RIGHT: dict[str, Joint] = {
    "thumb_proximal_yaw": Joint(
        "hand_base",
        "thumb_proximal_yaw",
        (-0.022, -0.0155, -0.022992),
        (0, math.pi, 0),
        (0, 0, 1),
        -1.676,
        0.0,
    ),
    "thumb_proximal_pitch": Joint(
        "thumb_proximal_yaw",
        "thumb_proximal_pitch",
        (0.021749, -0.00016321, 0),
        (1.5708, 0, -0.0052052),
        (0, 0, 1),
        0.0,
        1.159,
    ),
    "thumb_distal": Joint(
        "thumb_proximal_pitch",
        "thumb_distal",
        (0.061549, 0.007464, 0),
        (0, -1.7448e-05, -0.055652),
        (0, 0, 1),
        0.0,
        1.267,
    ),
    "index_proximal": Joint(
        "hand_base",
        "index_proximal",
        (-0.026868, -0.0123, -0.093989),
        (3.1416, 1.5184, 3.1416),
        (0, 0, 1),
        -1.602,
        0.0,
    ),
    "index_intermediate": Joint(
        "index_proximal",
        "index_intermediate",
        (0.031533, -0.0054444, 0),
        (0, -0.00014037, -0.0018338),
        (0, 0, 1),
        -1.791,
        0.0,
    ),
    "middle_proximal": Joint(
        "hand_base", "middle_proximal", (-0.0085, -0.0123, -0.095992), (0, 1.5708, 0), (0, 0, 1), -1.603, 0.0
    ),
    "middle_intermediate": Joint(
        "middle_proximal",
        "middle_intermediate",
        (0.031521, -0.0055139, 0),
        (0, -0.00015517, 0.0048744),
        (0, 0, 1),
        -1.791,
        0.0,
    ),
    "ring_proximal": Joint(
        "hand_base", "ring_proximal", (0.010211, -0.0123, -0.095924), (0, 1.5184, 0), (0, 0, 1), -1.602, 0.0
    ),
    "ring_intermediate": Joint(
        "ring_proximal",
        "ring_intermediate",
        (0.031531, -0.0054567, -0.00025),
        (0, -0.00014037, -0.0025338),
        (0, 0, 1),
        -1.798,
        0.0,
    ),
    "pinky_proximal": Joint(
        "hand_base", "pinky_proximal", (0.028228, -0.0123, -0.094012), (0, 1.4661, 0), (0, 0, 1), -1.602, 0.0
    ),
    "pinky_intermediate": Joint(
        "pinky_proximal",
        "pinky_intermediate",
        (0.031532, -0.005451, 0),
        (0, -0.00032164, -0.011403),
        (0, 0, 1),
        -1.796,
        0.0,
    ),
}

_FOURIER_COUPLINGS: dict[str, tuple[str, float, float]] = {
    "thumb_distal": ("thumb_proximal_pitch", 1.06, 0.0),
    "index_intermediate": ("index_proximal", 0.975, 0.0),
    "middle_intermediate": ("middle_proximal", 0.975, 0.0),
    "ring_intermediate": ("ring_proximal", 0.975, 0.0),
    "pinky_intermediate": ("pinky_proximal", 0.975, 0.0),
}

# z is 0 in every tip frame, so the reflection in z leaves the tips as they are.
_FOURIER_TIPS: dict[str, tuple[str, Vec3]] = {
    "thumb": ("thumb_distal", (0.0305, -0.001, 0)),
    "index": ("index_intermediate", (0.0390, -0.0020, 0)),
    "middle": ("middle_intermediate", (0.047, -0.0025, 0)),
    "ring": ("ring_intermediate", (0.0385, -0.0015, 0)),
    "pinky": ("pinky_intermediate", (0.033, -0.0015, 0)),
}


# --- ReFlex (TakkTile) ----------------------------------------------------------------------------
# Ref: the reflex fact sheet, section 1 (origins, axes), section 2 (limits). At zero the fingers lie flat: 1 and 2
# along +x, 3 (the thumb) along -x; flexing lifts the tips to +z, off the palm's face, and then in over it.
# Preshape spreads finger 1 to -y and finger 2 to +y.
# Decided:
# - xacro numbers throughout: pitch 0 of the proximal links at zero (not 0.28), swivel_1 at y = -0.026 (not
#   tf_geometry.yaml's +0.026);
# - the flexure of ten joints over 16 mm becomes four, from its start (x = 0.060) to its end (x = 0.076, where the
#   rigid row puts the distal link); in the plane z = 0.0025 about which tf_geometry.yaml bends it;
# - its limits: the sheet's two flex joints of 0..pi/6, together 0..pi/3, become four of 0..pi/12;
# - preshape_2 limits are the negated ones of preshape_1, since its angle is minus the motor's while both axes
#   are 0 0 -1;
# - no coupling of the flexure to proximal: the tendon law (spool = proximal + distal) fixes a sum only;
# - the fixed palm pad (base -> pad, xyz 0.02 0 0.063, rpy 1.5708 0 -1.5708) carries no joint and is left out;
# - no tip frames: the sheet has tactile cells near the tips, but no tip.

_REFLEX: dict[str, Joint] = {
    "preshape_1": Joint("base", "swivel_1", (0.0503974, -0.026, 0.063), NONE, (0, 0, -1), 0.0, math.pi / 2),
    "preshape_2": Joint("base", "swivel_2", (0.0503974, 0.026, 0.063), NONE, (0, 0, -1), -math.pi / 2, 0.0),
    "proximal_1": Joint("swivel_1", "proximal_1", (0.01, 0, 0.0186), NONE, (0, -1, 0), 0.0, math.pi),
    "proximal_2": Joint("swivel_2", "proximal_2", (0.01, 0, 0.0186), NONE, (0, -1, 0), 0.0, math.pi),
    "proximal_3": Joint("base", "proximal_3", (-0.03, 0, 0.0816), (0, 0, math.pi), (0, -1, 0), 0.0, math.pi),
    "flex_1_1": Joint("proximal_1", "flex_1_1", (0.060, 0, 0.0025), NONE, (0, -1, 0), 0.0, math.pi / 12),
    "flex_1_2": Joint("flex_1_1", "flex_1_2", (0.016 / 3, 0, 0), NONE, (0, -1, 0), 0.0, math.pi / 12),
    "flex_1_3": Joint("flex_1_2", "flex_1_3", (0.016 / 3, 0, 0), NONE, (0, -1, 0), 0.0, math.pi / 12),
    "flex_1_4": Joint("flex_1_3", "distal_1", (0.016 / 3, 0, 0), NONE, (0, -1, 0), 0.0, math.pi / 12),
    "flex_2_1": Joint("proximal_2", "flex_2_1", (0.060, 0, 0.0025), NONE, (0, -1, 0), 0.0, math.pi / 12),
    "flex_2_2": Joint("flex_2_1", "flex_2_2", (0.016 / 3, 0, 0), NONE, (0, -1, 0), 0.0, math.pi / 12),
    "flex_2_3": Joint("flex_2_2", "flex_2_3", (0.016 / 3, 0, 0), NONE, (0, -1, 0), 0.0, math.pi / 12),
    "flex_2_4": Joint("flex_2_3", "distal_2", (0.016 / 3, 0, 0), NONE, (0, -1, 0), 0.0, math.pi / 12),
    "flex_3_1": Joint("proximal_3", "flex_3_1", (0.060, 0, 0.0025), NONE, (0, -1, 0), 0.0, math.pi / 12),
    "flex_3_2": Joint("flex_3_1", "flex_3_2", (0.016 / 3, 0, 0), NONE, (0, -1, 0), 0.0, math.pi / 12),
    "flex_3_3": Joint("flex_3_2", "flex_3_3", (0.016 / 3, 0, 0), NONE, (0, -1, 0), 0.0, math.pi / 12),
    "flex_3_4": Joint("flex_3_3", "distal_3", (0.016 / 3, 0, 0), NONE, (0, -1, 0), 0.0, math.pi / 12),
}


# --- All hands ------------------------------------------------------------------------------------

ROOTS: dict[str, str] = {
    "inspire_right": "base",
    "inspire_left": "base",
    "inspire_dfx_right": "hand_base",
    "inspire_dfx_left": "hand_base",
    "shadow_right": "forearm",
    "shadow_left": "forearm",
    "fourier_right": "hand_base",
    "fourier_left": "hand_base",
    "reflex": "base",
}

# In every table parents come before children.
TABLES: dict[str, dict[str, Joint]] = {
    "inspire_right": _INSPIRE_RIGHT,
    "inspire_left": _INSPIRE_LEFT,
    "inspire_dfx_right": _DFX_RIGHT,
    "inspire_dfx_left": _DFX_LEFT,
    "shadow_right": _SHADOW_RIGHT,
    "shadow_left": _SHADOW_LEFT,
    "fourier_right": _FOURIER_RIGHT,
    "fourier_left": _FOURIER_LEFT,
    "reflex": _REFLEX,
}

JOINTS: dict[str, dict[str, tuple[float, float]]] = {
    hand: {name: (joint.lower_rad, joint.upper_rad) for name, joint in table.items()} for hand, table in TABLES.items()
}

# Shadow has no mimic joint. J1 and J2 of a finger share one actuator, q0 = q1 + q2, which fixes a sum and
# leaves no (driver, multiplier, offset) law in the sheet. A driver that is coupled itself comes first.
COUPLINGS: dict[str, dict[str, tuple[str, float, float]]] = {
    "inspire_right": _INSPIRE_COUPLINGS,
    "inspire_left": _INSPIRE_COUPLINGS,
    "inspire_dfx_right": _DFX_COUPLINGS,
    "inspire_dfx_left": _DFX_COUPLINGS,
    "shadow_right": {},
    "shadow_left": {},
    "fourier_right": _FOURIER_COUPLINGS,
    "fourier_left": _FOURIER_COUPLINGS,
    "reflex": {"preshape_2": ("preshape_1", -1.0, 0.0)},
}

# inspire.md section 5.2 gives no tip frames (its PADS have *_tip), reflex.md sections 1 to 3 give none.
TIPS: dict[str, dict[str, tuple[str, Vec3]]] = {
    "inspire_dfx_right": _DFX_RIGHT_TIPS,
    "inspire_dfx_left": _DFX_LEFT_TIPS,
    "shadow_right": _SHADOW_TIPS,
    "shadow_left": _SHADOW_TIPS,
    "fourier_right": _FOURIER_TIPS,
    "fourier_left": _FOURIER_TIPS,
}

# How far a left hand is from the mirrored right one in the sheets, at equal joint angles over the whole joint
# range, rounded up [m]: the worst of all link origins, tips and pads. Both sides of a pair carry the number.
SHEET_ASYMMETRY_M: dict[str, float] = {
    # 2.2488 mm at the origin of thumb_2 alone, slid along its own axis (see _INSPIRE_LEFT). All other link
    # origins and all pads agree to 1 um (angles rounded to 1e-4 rad).
    "inspire_right": 0.0023,
    "inspire_left": 0.0023,
    # 10.90 mm at the thumb tip, 8.64 at thumb_distal, 6.37 at thumb_intermediate, 1.63 at thumb_proximal: the
    # zero of the left thumb yaw is 0.1135 rad off (see _DFX_LEFT). A right hand at yaw - 0.1135 is within
    # 0.35 mm of it. The fingers agree to 3 um.
    "inspire_dfx_right": 0.011,
    "inspire_dfx_left": 0.011,
    # Nothing but floating point: section 3 of the sheet is an exact mirror.
    "shadow_right": 1e-9,
    "shadow_left": 1e-9,
    # 0.58 um from angles written as 3.1416 and 1.5708; the right hand is made from the left one.
    "fourier_right": 1e-6,
    "fourier_left": 1e-6,
}


def rotation_from_rpy(rpy_rad: Vec3) -> NDArray[np.float64]:
    """R = Rz(yaw) Ry(pitch) Rx(roll). Shape (3, 3)."""
    (cr, cp, cy), (sr, sp, sy) = np.cos(rpy_rad), np.sin(rpy_rad)
    roll = np.array([[1, 0, 0], [0, cr, -sr], [0, sr, cr]])
    pitch = np.array([[cp, 0, sp], [0, 1, 0], [-sp, 0, cp]])
    yaw = np.array([[cy, -sy, 0], [sy, cy, 0], [0, 0, 1]])
    return yaw @ pitch @ roll


def rotation_about(axis: Vec3, angle_rad: float) -> NDArray[np.float64]:
    """Right-handed turn about a unit axis, by Rodrigues' formula. Shape (3, 3)."""
    x, y, z = axis
    cross = np.array([[0, -z, y], [z, 0, -x], [-y, x, 0]], dtype=float)
    return np.eye(3) + math.sin(angle_rad) * cross + (1 - math.cos(angle_rad)) * cross @ cross


def with_couplings(hand: str, joint_rad: Mapping[str, float]) -> dict[str, float]:
    """Add, or overwrite, the angles of the coupled joints by the default law."""
    angles = dict(joint_rad)
    for name, (driver, multiplier, offset) in COUPLINGS[hand].items():
        angles[name] = multiplier * angles[driver] + offset
    return angles


def link_poses(hand: str, joint_rad: Mapping[str, float]) -> dict[str, NDArray[np.float64]]:
    """Pose of every link in the frame of the hand's root link.

    Nothing is coupled or clipped here: every joint, coupled ones too, takes the angle it is given.

    Args:
        hand: A key of `TABLES`.
        joint_rad: Angle of every joint of the hand, by name [rad].

    Returns:
        By link name, the root itself included, the pose of the link in the root. Each of shape (4, 4).
    """
    table = TABLES[hand]
    if table.keys() != joint_rad.keys():
        raise ValueError(
            f"{hand}: joints without an angle: {sorted(table.keys() - joint_rad.keys())}; "
            f"angles without a joint: {sorted(joint_rad.keys() - table.keys())}"
        )
    poses = {ROOTS[hand]: np.eye(4)}
    for name, joint in table.items():
        in_parent = np.eye(4)
        in_parent[:3, :3] = rotation_from_rpy(joint.rpy_rad) @ rotation_about(joint.axis, joint_rad[name])
        in_parent[:3, 3] = joint.xyz_m
        poses[joint.child] = poses[joint.parent] @ in_parent
    return poses


def tip_points(hand: str, joint_rad: Mapping[str, float]) -> dict[str, NDArray[np.float64]]:
    """Fingertips in the frame of the hand's root link, for the hands in `TIPS` (a KeyError for the others).

    Args:
        hand: A key of `TIPS`.
        joint_rad: Angle of every joint of the hand, by name [rad].

    Returns:
        By finger, the tip [m]. Each of shape (3,).
    """
    tips = TIPS[hand]
    poses = link_poses(hand, joint_rad)
    return {finger: (poses[link] @ np.array([*xyz_m, 1.0]))[:3] for finger, (link, xyz_m) in tips.items()}
