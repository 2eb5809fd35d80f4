"""ReFlex TakkTile: 4 motors, three fingers, two of which swivel against each other.

Frame of ``base``: z out of the palm, fingers 1 and 2 towards +x, finger 3 (the thumb) towards -x. Source:
RightHandRobotics reflex-ros-pkg (full_reflex_model.urdf.xacro), masses and limits of axkoenig/reflex_stack.

A finger has one tendon, which runs over a pin joint and over a rubber flexure. Both bend against springs: that of the
pin joint opens the finger. Which of them bends how far is nobody's choice but that of springs, weight and contact.
"""

from __future__ import annotations

import math
from dataclasses import replace

from thenar.hands.flexure import flexures, with_stiffness
from thenar.hands.shapes import Box, Cylinder, Loft, Station, Vec3, VisualShape
from thenar.hands.spec import (
    Actuator,
    Coupling,
    HandSpec,
    Joint,
    Link,
    Pad,
    Palette,
    PalmFrame,
    Servo,
    Tendon,
    Tip,
)

XACRO = "reflex-ros-pkg full_reflex_model.urdf.xacro"
STACK = "axkoenig/reflex_stack"
SIZES = f"{XACRO}: extents and volume of the mesh; {STACK}: mass of swivels and of the whole; density assumed"

# Masses of a finger: volumes of the maker's meshes at 1.1 g/cm3, rubber and plastic. Those of reflex_stack (0.09 kg a
# finger) are called rough there, and its flexure would be denser than lead. The base takes what is left of its total.
PROXIMAL_KG, FLEXURE_KG, DISTAL_KG = 0.0323, 0.0018, 0.0152
SWIVEL_KG, HAND_KG = 0.02, 0.94

# Beam estimate EI/L of the 14 x 6 x 16 mm urethane flexure, E 2..10 MPa: 0.03..0.16 N m/rad. No figure is public. A
# finger must open palm down, so the spring of its pin joint holds its weight, 0.026 N m. Against that spring a flexure
# of 0.16 bends by 0.19 rad before the pin joint turns; much more would not fit the driver's calibration, which takes
# zero 0.216 rad before the joint has moved by 0.05. So the upper end is taken.
FLEXURE_NM_RAD = 0.16
FLEXURE_VARIANTS_NM_RAD = {"middle_flexure": 0.09, "soft_flexure": 0.03}
RETURN_NM, RETURN_NM_RAD = 0.030, 0.003  # of the pin joint: open, and per radian; the second is assumed
# Hinges from the flexure's start to its end, as in the maker's URDF, which has 10 of them; in the plane about which the
# driver's tf_geometry.yaml bends it.
HINGES = 4
FLEXURE_M: Vec3 = (0.060, 0.0, 0.0025)
PIECE_M = 0.016 / (HINGES - 1)

# Places of the sensors on the surface of the rubber, in the frames of their links.
PLACES = "reflex-ros-pkg tf_geometry.yaml: centre, pitch and tilt"
SENSOR_PITCH_M = 0.007913
PROXIMAL_Z_M, DISTAL_Z_M, PALM_Z_M = 0.0154, 0.0129, 0.072
TIP_SENSOR_M: Vec3 = (0.0375, 0.0, 0.00727)
TIP_TILT_RAD = math.radians(30.0)

PALETTE = Palette(body=(0.18, 0.22, 0.28), skin=(0.86, 0.84, 0.78), dark=(0.09, 0.09, 0.10))


def _finger_links(number: int) -> tuple[Link, ...]:
    across: Vec3 = (0.0, 1.0, 0.0)

    def loft(*stations: tuple[float, float, float, float], tone: str = "body") -> Loft:
        return Loft(
            stations=tuple(
                Station(centre_m=(x, 0.0, z), half_width_m=width, half_depth_m=depth) for x, z, width, depth in stations
            ),
            across=across,
            tone=tone,
            dome_m=0.002,
            squareness=4.0,
        )

    proximal = Link(
        name=f"proximal_{number}",
        mass_kg=PROXIMAL_KG,
        source=SIZES,
        skin=Box(centre_m=(0.0347, 0.0, 0.0042), half_m=(0.0254, 0.0080, 0.0112)),
        visuals=(
            loft(
                (-0.005, 0.0, 0.0068, 0.0075),
                (0.020, -0.001, 0.0070, 0.0070),
                (0.062, -0.001, 0.0070, 0.0060),
            ),
            loft((0.0110, 0.0090, 0.0080, 0.0066), (0.0590, 0.0090, 0.0080, 0.0066), tone="skin"),
        ),
    )
    distal = Link(
        name=f"distal_{number}",
        mass_kg=DISTAL_KG,
        source=SIZES,
        skin=Box(centre_m=(0.016125, 0.0, 0.00465), half_m=(0.011625, 0.0080, 0.00825)),
        more_skin=(_tilted_tip(),),
        collision=(Box(centre_m=(0.0340, 0.0, 0.0), half_m=(0.0063, 0.0080, 0.0036)),),
        visuals=(
            loft((0.002, -0.001, 0.0070, 0.0055), (0.034, 0.0, 0.0064, 0.0045)),
            loft(
                (0.0045, 0.0070, 0.0080, 0.0064),
                (0.0290, 0.0070, 0.0080, 0.0062),
                (0.038, 0.0035, 0.0070, 0.0040),
                tone="skin",
            ),
        ),
    )
    pieces = tuple(
        Link(
            name=f"flex_{number}_{piece}",
            mass_kg=FLEXURE_KG / (HINGES - 1),
            source=SIZES,
            # Seen, but it does not collide. A little longer than it is, so that no gap opens outside of the bend.
            visuals=(
                VisualShape(
                    shape=Box(centre_m=(PIECE_M / 2, 0.0, -0.0030), half_m=(PIECE_M / 2 + 0.0008, 0.0066, 0.0030)),
                    tone="dark",
                ),
            ),
        )
        for piece in range(1, HINGES)
    )
    return proximal, *pieces, distal


def _tilted_tip() -> Box:
    """The front of the fingertip: its upper face holds the last sensor, tilted against the others."""
    x, _, z = TIP_SENSOR_M
    c, s = math.cos(TIP_TILT_RAD), math.sin(TIP_TILT_RAD)
    # It begins where it meets the level face and ends at the end of the link; measured along the slope from the sensor.
    back, front, thick = (DISTAL_Z_M - z) / s, 0.0069, 0.0080
    along = (front - back) / 2
    return Box(
        centre_m=(x + along * c - thick / 2 * s, 0.0, z - along * s - thick / 2 * c),
        half_m=((back + front) / 2, 0.0080, thick / 2),
        rpy_rad=(0.0, TIP_TILT_RAD, 0.0),
    )


def _pads() -> tuple[Pad, ...]:
    """Sensors in the order of the driver: finger 1 from base to tip, finger 2, finger 3, palm."""

    def row(name: str, link: str, count: int, pitch_m: tuple[float, float], centre_m: Vec3, source: str) -> Pad:
        return Pad(
            name=name,
            link=link,
            rows=count,
            cols=1,
            row_pitch_m=pitch_m[0],
            col_pitch_m=pitch_m[1],
            chart="face",
            centre_m=centre_m,
            row_axis=(1.0, 0.0, 0.0),
            normal=(0.0, 0.0, 1.0),
            sensor="barometer",
            source=source,
        )

    pads: list[Pad] = []
    for n in (1, 2, 3):
        # A hair wider than the rubber (16 mm), so that what presses on its very edge is counted.
        cell = (SENSOR_PITCH_M, 0.0166)
        tip = row(f"finger_{n}_tip", f"distal_{n}", 1, (0.0144, 0.0166), TIP_SENSOR_M, PLACES)
        slope = math.cos(TIP_TILT_RAD), math.sin(TIP_TILT_RAD)
        pads += [
            row(f"finger_{n}_proximal", f"proximal_{n}", 5, cell, (0.034725, 0.0, PROXIMAL_Z_M), PLACES),
            row(f"finger_{n}_distal", f"distal_{n}", 3, cell, (0.019315, 0.0, DISTAL_Z_M), PLACES),
            replace(tip, row_axis=(slope[0], 0.0, -slope[1]), normal=(slope[1], 0.0, slope[0])),
        ]
    # Eleven in three columns of 4, 3 and 4: where they are on the real palm is not published.
    for name, count, y in (("palm_1", 4, -0.024), ("palm_2", 3, 0.0), ("palm_3", 4, 0.024)):
        pads.append(row(name, "base", count, (0.016, 0.024), (0.010, y, PALM_Z_M), "number: firmware; places assumed"))
    return tuple(pads)


def _base() -> Link:
    return Link(
        name="base",
        mass_kg=HAND_KG - 2 * SWIVEL_KG - 3 * (PROXIMAL_KG + FLEXURE_KG + DISTAL_KG),
        source=SIZES,
        skin=Box(centre_m=(0.010, 0.0, PALM_Z_M - 0.0060), half_m=(0.034, 0.040, 0.0060)),
        collision=(Box(centre_m=(0.008, 0.0, 0.0300), half_m=(0.060, 0.046, 0.0300)),),
        visuals=(
            Loft(
                stations=(
                    Station(centre_m=(0.004, 0.0, 0.002), half_width_m=0.040, half_depth_m=0.040),
                    Station(centre_m=(0.006, 0.0, 0.020), half_width_m=0.052, half_depth_m=0.048),
                    Station(centre_m=(0.009, 0.0, 0.046), half_width_m=0.064, half_depth_m=0.050),
                    Station(centre_m=(0.010, 0.0, 0.060), half_width_m=0.062, half_depth_m=0.048),
                ),
                across=(1.0, 0.0, 0.0),
                squareness=3.6,
                dome_m=0.002,
            ),
            Loft(
                stations=(
                    Station(centre_m=(0.010, 0.0, 0.061), half_width_m=0.036, half_depth_m=0.042),
                    Station(centre_m=(0.010, 0.0, 0.070), half_width_m=0.034, half_depth_m=0.040),
                ),
                across=(1.0, 0.0, 0.0),
                squareness=4.0,
                tone="skin",
                dome_m=0.002,
            ),
            VisualShape(
                shape=Box(centre_m=(-0.034, 0.0, 0.070), half_m=(0.008, 0.011, 0.012)),
                tone="body",
            ),
        ),
    )


def _swivel(number: int) -> Link:
    return Link(
        name=f"swivel_{number}",
        mass_kg=SWIVEL_KG,
        source=SIZES,
        visuals=(
            VisualShape(
                shape=Cylinder(start_m=(0.0, 0.0, -0.004), end_m=(0.0, 0.0, 0.006), radius_m=0.0165),
                tone="dark",
            ),
            VisualShape(
                shape=Box(centre_m=(0.006, 0.0, 0.0130), half_m=(0.0095, 0.0110, 0.0095)),
                tone="body",
            ),
        ),
    )


def _hinge(
    name: str,
    parent: str,
    child: str,
    pos_m: Vec3,
    axis: Vec3,
    lower_rad: float,
    upper_rad: float,
    *,
    yaw_rad: float = 0.0,
    spring_nm_rad: float = 0.0,
    spring_rest_rad: float = 0.0,
) -> Joint:
    return Joint(
        name=name,
        parent=parent,
        child=child,
        pos_m=pos_m,
        rpy_rad=(0.0, 0.0, yaw_rad),
        axis=axis,
        lower_rad=lower_rad,
        upper_rad=upper_rad,
        source=f"{XACRO}: origin and axis; {STACK}: limits; damping and armature assumed",
        damping_nms_rad=0.01,
        armature_kgm2=1e-4,
        spring_nm_rad=spring_nm_rad,
        spring_rest_rad=spring_rest_rad,
    )


def _knuckle(number: int, parent: str, pos_m: Vec3, *, yaw_rad: float = 0.0) -> Joint:
    """The pin joint of a finger, which its spring holds open."""
    return _hinge(
        f"proximal_{number}",
        parent,
        f"proximal_{number}",
        pos_m,
        (0.0, -1.0, 0.0),
        0.0,
        math.pi,
        yaw_rad=yaw_rad,
        spring_nm_rad=RETURN_NM_RAD,
        spring_rest_rad=-RETURN_NM / RETURN_NM_RAD,
    )


def _flexure(number: int) -> list[Joint]:
    """Hinges of a finger's flexure."""
    links = [f"proximal_{number}", *(f"flex_{number}_{piece}" for piece in range(1, HINGES)), f"distal_{number}"]
    hinges = []
    for n in range(HINGES):
        hinge = _hinge(
            f"flex_{number}_{n + 1}",
            links[n],
            links[n + 1],
            FLEXURE_M if n == 0 else (PIECE_M, 0.0, 0.0),
            (0.0, -1.0, 0.0),
            0.0,
            math.pi / 3 / HINGES,
            spring_nm_rad=HINGES * FLEXURE_NM_RAD,
        )
        hinges.append(replace(hinge, armature_kgm2=1e-5, damping_nms_rad=0.002, continues=n > 0))
    return hinges


def _joints() -> tuple[Joint, ...]:
    down: Vec3 = (0.0, 0.0, -1.0)
    return (
        _hinge("preshape_1", "base", "swivel_1", (0.0503974, -0.026, 0.063), down, 0.0, math.pi / 2),
        _hinge("preshape_2", "base", "swivel_2", (0.0503974, 0.026, 0.063), down, -math.pi / 2, 0.0),
        _knuckle(1, "swivel_1", (0.01, 0.0, 0.0186)),
        _knuckle(2, "swivel_2", (0.01, 0.0, 0.0186)),
        _knuckle(3, "base", (-0.03, 0.0, 0.0816), yaw_rad=math.pi),
        *(hinge for number in (1, 2, 3) for hinge in _flexure(number)),
    )


def _actuators() -> tuple[Actuator, ...]:
    def motor(name: str, closed_rad: float, upper_rad: float, default_speed_rad_s: float) -> Actuator:
        return Actuator(
            name=name,
            drives=name if name != "preshape" else "preshape_1",
            open_rad=0.0,
            closed_rad=closed_rad,
            lower_rad=0.0,
            upper_rad=upper_rad,
            motor=Servo(
                stiffness_nm_rad=12.0,
                damping_nms_rad=0.1,
                top_speed_rad_s=3.5,
                effort_nm=2.0,
                lever_m=0.10,
                default_speed_rad_s=default_speed_rad_s,
                pulls_only=name != "preshape",
                source=f"reflex_takktile.yaml: speeds and travel; {STACK}: effort, damping; stiffness assumed",
            ),
        )

    return (
        *(motor(f"f{n}", 3.0, 3.6, 3.0) for n in (1, 2, 3)),
        motor("preshape", math.pi / 2, 1.75, 2.0),
    )


_HAND = HandSpec(
    name="reflex",
    maker="RightHand Robotics",
    model="ReFlex TakkTile",
    side="none",
    summary="Four motors, three underactuated fingers; two of them swivel against each other.",
    root="base",
    links=(
        _base(),
        _swivel(1),
        _swivel(2),
        *(link for number in (1, 2, 3) for link in _finger_links(number)),
    ),
    joints=_joints(),
    couplings=(Coupling(joint="preshape_2", driver="preshape_1", ratio=-1.0, source=f"{XACRO}: equal and opposite"),),
    tendons=tuple(
        Tendon(
            name=f"f{n}",
            joints=((f"proximal_{n}", 1.0), *((f"flex_{n}_{hinge}", 1.0) for hinge in range(1, HINGES + 1))),
            source="reflex driver: spool angle = proximal + distal",
        )
        for n in (1, 2, 3)
    ),
    actuators=_actuators(),
    pads=_pads(),
    tips=tuple(Tip(finger=f"f{n}", link=f"distal_{n}", pos_m=(0.0400, 0.0, 0.0060)) for n in (1, 2, 3)),
    palm=PalmFrame(pos_m=(0.010, 0.0, 0.0720), rpy_rad=(0.0, 0.0, -math.pi / 2)),
    palette=PALETTE,
    # The pads of one finger have rounded ends, which do not meet before the flexure is fully bent.
    no_contact=(
        *(("base", name) for name in ("proximal_1", "proximal_2")),
        *((f"proximal_{n}", f"distal_{n}") for n in (1, 2, 3)),
    ),
    # Closing fractions: f1, f2, f3, preshape.
    poses={
        "open": (0.0, 0.0, 0.0, 0.0),
        "fist": (0.75, 0.75, 0.75, 0.0),
        "pinch": (0.70, 0.70, 0.0, 1.0),
        "point": (0.0, 0.62, 0.62, 0.0),
    },
    notes=(
        "tf_geometry.yaml has the swivels on the opposite sides; the URDF's are taken.",
        "The flexure's stiffness is in no public source: 0.16 N m/rad is the upper end of a beam estimate.",
        "The spring that opens a finger is in no public source: it just holds the finger's weight.",
        "Where the eleven sensors of the palm are is in no public source: three columns of 4, 3 and 4 are assumed.",
        "The driver accepts 1.75 rad of preshape, the joint of reflex_stack ends at pi/2; both are kept.",
    ),
)
HAND = replace(
    _HAND,
    variants={
        name: tuple(joint for chain in flexures(with_stiffness(_HAND, stiffness)) for joint in chain)
        for name, stiffness in FLEXURE_VARIANTS_NM_RAD.items()
    },
)
