"""Inspire RH56DFX, the hand without skin: 6 motors, 12 joints.

Frame of ``hand_base``: fingers towards -y, palm towards -x, thumb side towards -z on the right hand. Fingers
bend about their own z. Source: dexsuite/dex-urdf (the same origins as xr_teleoperate and Unitree's DFQ URDF).
"""

from __future__ import annotations

import math
from dataclasses import replace

from thenar.hands.catalog.inspire import PALETTE
from thenar.hands.catalog.inspire_couplings import JointNames, coupling_laws
from thenar.hands.catalog.inspire_motor import DFX_MOTORS
from thenar.hands.mirror import Axis, mirrored
from thenar.hands.shapes import Box, Capsule, Cylinder, Loft, Station, Vec3, VisualShape
from thenar.hands.spec import Actuator, HandSpec, Joint, Link, PalmFrame, Tip

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


def _finger_links(finger: str) -> tuple[Link, Link]:
    z = MIDDLE_Z_M
    tip = TIPS[finger]
    end = (-0.0032, tip[1] - 0.0050, z + 0.0005)
    across = (0.0, 0.0, 1.0)
    first = Link(
        name=f"{finger}_proximal",
        mass_kg=0.0042403,
        source=SIZES,
        skin=Capsule(start_m=(-0.0010, 0.003, z), end_m=(-0.0026, 0.0315, z), radius_m=0.0071),
        visuals=(
            Loft(
                stations=(
                    Station(centre_m=(0.0010, -0.004, z), half_width_m=0.0064, half_depth_m=0.0066),
                    Station(centre_m=(0.0014, 0.008, z), half_width_m=0.0073, half_depth_m=0.0074),
                    Station(centre_m=(0.0004, 0.033, z), half_width_m=0.0070, half_depth_m=0.0068),
                ),
                across=across,
            ),
        ),
    )
    second = Link(
        name=f"{finger}_intermediate",
        mass_kg=SECOND_MASS_KG[finger],
        source=SIZES,
        skin=Capsule(start_m=(-0.0002, 0.003, z + 0.0005), end_m=end, radius_m=0.0063),
        visuals=(
            Loft(
                stations=(
                    Station(centre_m=(0.0010, -0.003, z + 0.0005), half_width_m=0.0060, half_depth_m=0.0062),
                    Station(centre_m=(0.0012, 0.010, z + 0.0005), half_width_m=0.0066, half_depth_m=0.0062),
                    Station(
                        centre_m=(0.0002, tip[1] - 0.010, z + 0.0005),
                        half_width_m=0.0060,
                        half_depth_m=0.0046,
                    ),
                    Station(centre_m=(-0.0008, tip[1], z + 0.0005), half_width_m=0.0042, half_depth_m=0.0030),
                ),
                across=across,
                dome_m=0.002,
            ),
        ),
    )
    return first, second


def _thumb_links() -> tuple[Link, ...]:
    z = MIDDLE_Z_M
    across = (0.0, 0.0, 1.0)

    def bone(name: str, mass_kg: float, end: Vec3, radius_m: float, *, start_at: float) -> Link:
        x, y, _ = end
        length = math.hypot(x, y)
        ux, uy = x / length, y / length
        lift = 0.0016
        stations = tuple(
            Station(
                centre_m=(s * x + lift * uy, s * y - lift * ux, z),
                half_width_m=radius_m * width,
                half_depth_m=radius_m * 0.92,
            )
            for s, width in ((0.0, 0.95), (0.35, 1.06), (0.95, 0.98))
        )
        return Link(
            name=name,
            mass_kg=mass_kg,
            source=SIZES,
            skin=Capsule(start_m=(start_at * ux, start_at * uy, z), end_m=(x, y, z), radius_m=radius_m),
            visuals=(Loft(stations=stations, across=across),),
        )

    return (
        Link(
            name="thumb_proximal_base",
            mass_kg=0.0018869,
            source=SIZES,
            visuals=(
                VisualShape(
                    shape=Cylinder(start_m=(0.0, 0.0, -0.011), end_m=(0.0, 0.0, 0.004), radius_m=0.0088), tone="dark"
                ),
            ),
        ),
        bone("thumb_proximal", 0.0066075, THUMB_2_ORIGIN, 0.0092, start_at=0.006),
        bone("thumb_intermediate", 0.0037847, THUMB_3_ORIGIN, 0.0080, start_at=0.002),
        bone("thumb_distal", 0.0033441, (0.0178, 0.0116, 0.0), 0.0070, start_at=0.002),
    )


def _base() -> Link:
    return Link(
        name="hand_base",
        mass_kg=0.14143,
        source=f"{URDF}: mass and collision boxes",
        collision=(
            Box(centre_m=(-0.0, -0.1081, 0.0), half_m=(0.0161, 0.0200, 0.0407)),
            Box(centre_m=(-0.0032, -0.0682, 0.0), half_m=(0.01955, 0.0200, 0.0407)),
            Box(centre_m=(-0.0032, -0.0380, 0.0), half_m=(0.01955, 0.0101, 0.0287)),
            Cylinder(start_m=(0.0, 0.0003, 0.0), end_m=(0.0, -0.0275, 0.0), radius_m=0.028),
        ),
        visuals=(
            Loft(
                stations=(
                    Station(centre_m=(0.0, -0.001, 0.0), half_width_m=0.0275, half_depth_m=0.0275),
                    Station(centre_m=(0.0, -0.028, 0.0), half_width_m=0.0280, half_depth_m=0.0280),
                ),
                across=(0.0, 0.0, 1.0),
                tone="dark",
                dome_m=0.001,
            ),
            Loft(
                stations=(
                    Station(centre_m=(-0.002, -0.030, 0.0), half_width_m=0.0285, half_depth_m=0.0200),
                    Station(centre_m=(-0.003, -0.050, 0.0), half_width_m=0.0390, half_depth_m=0.0200),
                    Station(centre_m=(-0.002, -0.090, 0.0), half_width_m=0.0418, half_depth_m=0.0180),
                    Station(centre_m=(-0.001, -0.128, 0.001), half_width_m=0.0412, half_depth_m=0.0125),
                ),
                across=(0.0, 0.0, 1.0),
                squareness=4.5,
            ),
        ),
    )


def _joints() -> tuple[Joint, ...]:
    def hinge(
        name: str,
        parent: str,
        child: str,
        pos_m: Vec3,
        rpy_rad: Vec3,
        axis_z: float,
        lower_rad: float,
        upper_rad: float,
        *,
        driven: bool,
    ) -> Joint:
        return Joint(
            name=name,
            parent=parent,
            child=child,
            pos_m=pos_m,
            rpy_rad=rpy_rad,
            axis=(0.0, 0.0, axis_z),
            lower_rad=lower_rad,
            upper_rad=upper_rad,
            source=URDF,
            armature_kgm2=1e-4 if driven else 1e-5,
            damping_nms_rad=0.0 if driven else 5e-4,
        )

    none: Vec3 = (0.0, 0.0, 0.0)
    joints = []
    for finger in FINGERS.values():
        origin, roll = KNUCKLES[finger]
        first, second = f"{finger}_proximal", f"{finger}_intermediate"
        joints.append(hinge(first, "hand_base", first, origin, (roll, 0.0, 0.0), 1.0, 0.0, 1.47, driven=True))
        joints.append(hinge(second, first, second, SECOND_ORIGIN[finger], none, 1.0, -0.04545, 1.56, driven=False))
    joints += [
        hinge(
            "thumb_proximal_yaw",
            "hand_base",
            "thumb_proximal_base",
            (-0.01696, -0.0691, -0.02045),
            (1.5708, -1.5708, 0.0),
            -1.0,
            0.0,
            1.308,
            driven=True,
        ),
        hinge(
            "thumb_proximal_pitch",
            "thumb_proximal_base",
            "thumb_proximal",
            (-0.0088099, 0.010892, -0.00925),
            (1.5708, 0.0, 2.8587),
            1.0,
            0.0,
            0.6,
            driven=True,
        ),
        hinge(
            "thumb_intermediate",
            "thumb_proximal",
            "thumb_intermediate",
            THUMB_2_ORIGIN,
            none,
            1.0,
            0.0,
            0.8,
            driven=False,
        ),
        hinge(
            "thumb_distal",
            "thumb_intermediate",
            "thumb_distal",
            THUMB_3_ORIGIN,
            none,
            1.0,
            0.0,
            0.4,
            driven=False,
        ),
    ]
    return tuple(joints)


LAWS = coupling_laws(
    JointNames(
        fingers={f: (f"{urdf}_proximal", f"{urdf}_intermediate") for f, urdf in FINGERS.items()},
        thumb=("thumb_proximal_pitch", "thumb_intermediate", "thumb_distal"),
    )
)


def _actuator(name: str, drives: str, closed_rad: float) -> Actuator:
    return Actuator(
        name=name,
        drives=drives,
        open_rad=0.0,
        closed_rad=closed_rad,
        lower_rad=0.0,
        upper_rad=closed_rad,
        motor=DFX_MOTORS[name],
    )


RIGHT = HandSpec(
    name="inspire_dfx_right",
    maker="Inspire Robots",
    model="RH56DFX",
    side="right",
    summary="Six lead-screw motors, twelve joints, no skin.",
    root="hand_base",
    links=(_base(), *(link for f in FINGERS.values() for link in _finger_links(f)), *_thumb_links()),
    joints=_joints(),
    couplings=LAWS["dex_urdf"],
    actuators=(
        *(_actuator(name, f"{urdf}_proximal", 1.47) for name, urdf in FINGERS.items()),
        _actuator("thumb_bend", "thumb_proximal_pitch", 0.6),
        _actuator("thumb_rotation", "thumb_proximal_yaw", 1.308),
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
    variants=LAWS,
    notes=(
        "Masses are those of dex-urdf, 0.19 kg in all: shells of the CAD, far below a real hand.",
        "0.8 s for the full stroke is often quoted for this generation; no public manual confirms it.",
        "Coupling laws: eight published sources disagree; dex-urdf's goes with its kinematics, the others are "
        "variants.",
    ),
)

_MIRROR: dict[str, Axis] = {
    "hand_base": "z",
    "thumb_proximal_base": "x",
    **{name: "y" for name in ("thumb_proximal", "thumb_intermediate", "thumb_distal")},
    **{f"{f}_{part}": "y" for f in FINGERS.values() for part in ("proximal", "intermediate")},
}


def _left() -> HandSpec:
    """The left hand: the mirror image but for the thumb's bend joint, which dex-urdf turns by 6.5 degrees."""
    mirror = mirrored(RIGHT, name="inspire_dfx_left", side="left", frames=_MIRROR)
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
