"""Unitree Dex1-1: a gripper whose one motor slides two fingers towards each other, no skin.

Frame of ``base``: fingers along +y, they slide along x. The motor's angle on the wire runs from 5.4 rad (open) to 0
(closed), about 0.6 rad a centimetre; here it is a tendon, whose angle is counted from where the slides are at 0.
Source: ``dex1_1`` URDF of unitree_ros; left and right are the same part.
"""

from __future__ import annotations

from dataclasses import replace

from thenar.hands.catalog.rows import X, Z, hinge
from thenar.hands.shapes import Box, Cylinder, Loft, Vec3, Visual, VisualShape
from thenar.hands.spec import Actuator, Coupling, HandSpec, Link, Palette, PalmFrame, Servo, Tendon, Tip

URDF = "dex1_1 URDF"
RAD_PER_M = 5.4 / 0.044  # Unitree's simulator: 5.4 rad from -0.02 m (open) to 0.024 m (closed)
OPEN_M, CLOSED_M, END_M = -0.02, 0.024, 0.0245
EFFORT_NM = 2 * 20.0 / RAD_PER_M  # 20 N at each finger
REACH_M = 0.0239  # from the middle to a finger's pad with the slides at 0: they just meet when closed
MOVING_KG = 0.1  # what the motor's rotor weighs at the fingers; assumed

PALETTE = Palette(body=(0.62, 0.63, 0.65), skin=(0.16, 0.16, 0.17), dark=(0.14, 0.14, 0.15))

FINGER_MASS_KG = 0.0413768  # its three pieces
# Place in base [m], axis, centre of mass [m], ixx iyy izz ixy ixz iyz [kg m^2].
# fmt: off
FINGERS: dict[str, tuple[Vec3, Vec3, Vec3, tuple[float, float, float, float, float, float]]] = {
    "finger_1": ((0.04055, 0.0593, 0.0152), (-1.0, 0.0, 0.0), (-0.01570672, 0.03396211, -0.01165275),
        (2.63928e-05, 1.45733e-05, 3.39292e-05, -7.54052e-06, 3.11238e-06, 4.24697e-06)),
    "finger_2": ((-0.04055, 0.0593, -0.0152), (1.0, 0.0, 0.0), (0.01570672, 0.03396211, 0.01165275),
        (2.63928e-05, 1.45733e-05, 3.39292e-05, 7.54052e-06, 3.11238e-06, -4.24697e-06)),
}
# fmt: on


def _finger(name: str, sign: float) -> Link:
    """A finger on the side of +x (1) or -x (-1): its pads meet when the motor is at 0."""
    place, _, com, inertia = FINGERS[name]
    inner = sign * REACH_M - place[0]

    def block(centre: Vec3, half: Vec3) -> Box:
        return Box(centre_m=(inner + sign * centre[0], centre[1], centre[2] - place[2]), half_m=half)

    pad = block((0.0045, 0.0540, 0.0), (0.0045, 0.0205, 0.0125))
    visuals: tuple[Visual, ...] = (
        VisualShape(shape=pad, tone="skin"),
        Loft.through(
            Z,
            (inner + sign * 0.0120, 0.0100, -place[2], 0.0130, 0.0065),
            (inner + sign * 0.0125, 0.0400, -place[2], 0.0120, 0.0060),
            (inner + sign * 0.0110, 0.0720, -place[2], 0.0105, 0.0040),
            squareness=5.0,
            dome_m=0.002,
        ),
        VisualShape(shape=block((0.0160, 0.0060, 0.0), (0.0150, 0.0080, 0.0160))),
    )
    return Link(
        name=name,
        mass_kg=FINGER_MASS_KG,
        source=f"{URDF}: mass, centre and inertia of its three pieces; shape assumed",
        com_m=com,
        inertia_kgm2=inertia,
        skin=pad,
        collision=(block((0.0140, 0.0400, 0.0), (0.0050, 0.0320, 0.0120)),),
        visuals=visuals,
    )


BASE = Link(
    name="base",
    mass_kg=0.11,
    source=f"{URDF}: mass, centre and inertia; shape assumed",
    com_m=(0.0001178, 0.036886, 0.0080974),
    inertia_kgm2=(4.9533e-05, 6.8944e-05, 3.4443e-05, 5.9474e-08, -3.1979e-08, -1.7064e-06),
    skin=Box(centre_m=(0.0, 0.0320, 0.0), half_m=(0.0420, 0.0240, 0.0230)),
    visuals=(
        VisualShape(shape=Cylinder(start_m=(0.0, 0.0, 0.0), end_m=(0.0, 0.0120, 0.0), radius_m=0.0260), tone="dark"),
        Loft.through(X, (0.0, 0.0080, 0.0, 0.0380, 0.0240), (0.0, 0.0300, 0.0, 0.0440, 0.0240),
                     (0.0, 0.0540, 0.0, 0.0460, 0.0210), squareness=6.0, dome_m=0.002),
        VisualShape(shape=Box(centre_m=(0.0, 0.0580, 0.0), half_m=(0.0640, 0.0040, 0.0180)), tone="dark"),
    ),
)  # fmt: skip

LEFT = HandSpec(
    name="dex1_left",
    maker="Unitree",
    model="Dex1-1",
    side="left",
    summary="One motor slides two fingers towards each other.",
    root="base",
    links=(BASE, _finger("finger_1", 1.0), _finger("finger_2", -1.0)),
    joints=tuple(
        replace(
            hinge(name, "base", name, place, (0.0, 0.0, 0.0), axis, OPEN_M, END_M, URDF, armature_kgm2=kg),
            kind="slide",
        )
        for (name, (place, axis, *_)), kg in zip(FINGERS.items(), (MOVING_KG, 0.0), strict=True)
    ),
    couplings=(
        Coupling(joint="finger_2", driver="finger_1", ratio=1.0, source="one motor moves both fingers alike; assumed"),
    ),
    tendons=(
        Tendon(name="motor", joints=(("finger_1", -RAD_PER_M),), source="unitree_sim_isaaclab: 5.4 rad for 44 mm"),
    ),
    actuators=(
        Actuator(
            name="motor",
            drives="motor",
            open_rad=-RAD_PER_M * OPEN_M,
            closed_rad=-RAD_PER_M * CLOSED_M,
            lower_rad=-RAD_PER_M * END_M,
            upper_rad=-RAD_PER_M * OPEN_M,
            motor=Servo(
                stiffness_nm_rad=5.0,
                damping_nms_rad=0.05,
                top_speed_rad_s=0.2 * RAD_PER_M,
                effort_nm=EFFORT_NM,
                lever_m=1.0 / RAD_PER_M,
                takes_law=True,
                source=f"{URDF}: 20 N and 0.2 m/s a finger; gains of xr_teleoperate where a command brings none",
            ),
        ),
    ),
    tips=(
        Tip(finger="finger_1", link="finger_1", pos_m=(REACH_M - 0.04055, 0.0745, -0.0152)),
        Tip(finger="finger_2", link="finger_2", pos_m=(-REACH_M + 0.04055, 0.0745, 0.0152)),
    ),
    palm=PalmFrame(pos_m=(0.0, 0.1138, 0.0), rpy_rad=(0.0, 0.0, 0.0)),
    palette=PALETTE,
    poses={"open": (0.0,), "fist": (1.0,), "pinch": (1.0,)},
    notes=("Both sides are the same part; the service of the robot tells them apart by the motor's id.",),
)

HANDS = (LEFT, replace(LEFT, name="dex1_right", side="right"))
