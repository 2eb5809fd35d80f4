"""ReFlex TakkTile: 4 motors, three fingers, two of which swivel against each other.

Frame of ``base``: z out of the palm, fingers 1 and 2 towards +x, finger 3 (the thumb) towards -x. Source:
RightHandRobotics reflex-ros-pkg (full_reflex_model.urdf.xacro), masses and limits of axkoenig/reflex_stack.

A finger has one tendon, which runs over a pin joint and over a rubber flexure. Both bend against springs: that of the
pin joint opens the finger. Which of them bends how far is nobody's choice but that of springs, weight and contact.
"""

from __future__ import annotations

import math
from dataclasses import replace
from itertools import pairwise

from thenar.hands.catalog.rows import NO_TURN, X, Y, actuator, hinge
from thenar.hands.flexure import flexures, with_stiffness
from thenar.hands.shapes import Box, Cylinder, Loft, Vec3, Visual, VisualShape
from thenar.hands.spec import Coupling, HandSpec, Joint, Link, Pad, Palette, PalmFrame, Servo, Tendon, Tip

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

NUMBERS = (1, 2, 3)  # of the fingers; 3 is the thumb

PALETTE = Palette(body=(0.18, 0.22, 0.28), skin=(0.86, 0.84, 0.78), dark=(0.09, 0.09, 0.10))


def _loft(*rows: tuple[float, float, float, float], tone: str = "body") -> Loft:
    """A loft along x: place, height, half width and half depth, each in metres."""
    stations = ((x, 0.0, z, width, depth) for x, z, width, depth in rows)
    return Loft.through(Y, *stations, tone=tone, dome_m=0.002, squareness=4.0)


# Visuals by the name of a link without the number of its finger.
# fmt: off
VISUALS: dict[str, tuple[Visual, ...]] = {
    "base": (
        Loft.through(X, (0.004, 0.0, 0.002, 0.040, 0.040), (0.006, 0.0, 0.020, 0.052, 0.048),
                     (0.009, 0.0, 0.046, 0.064, 0.050), (0.010, 0.0, 0.060, 0.062, 0.048), squareness=3.6,
                     dome_m=0.002),
        Loft.through(X, (0.010, 0.0, 0.061, 0.036, 0.042), (0.010, 0.0, 0.070, 0.034, 0.040), squareness=4.0,
                     tone="skin", dome_m=0.002),
        VisualShape(shape=Box(centre_m=(-0.034, 0.0, 0.070), half_m=(0.008, 0.011, 0.012))),
    ),
    "swivel": (
        VisualShape(shape=Cylinder(start_m=(0.0, 0.0, -0.004), end_m=(0.0, 0.0, 0.006), radius_m=0.0165), tone="dark"),
        VisualShape(shape=Box(centre_m=(0.006, 0.0, 0.0130), half_m=(0.0095, 0.0110, 0.0095))),
    ),
    "proximal": (
        _loft((-0.005, 0.0, 0.0068, 0.0075), (0.020, -0.001, 0.0070, 0.0070), (0.062, -0.001, 0.0070, 0.0060)),
        _loft((0.0110, 0.0090, 0.0080, 0.0066), (0.0590, 0.0090, 0.0080, 0.0066), tone="skin"),
    ),
    # Seen, but it does not collide. A little longer than it is, so that no gap opens outside of the bend.
    "flex": (
        VisualShape(shape=Box(centre_m=(PIECE_M / 2, 0.0, -0.0030), half_m=(PIECE_M / 2 + 0.0008, 0.0066, 0.0030)),
                    tone="dark"),
    ),
    "distal": (
        _loft((0.002, -0.001, 0.0070, 0.0055), (0.034, 0.0, 0.0064, 0.0045)),
        _loft((0.0045, 0.0070, 0.0080, 0.0064), (0.0290, 0.0070, 0.0080, 0.0062), (0.038, 0.0035, 0.0070, 0.0040),
              tone="skin"),
    ),
}
# fmt: on


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


def _link(
    name: str,
    mass_kg: float,
    skin: Box | None = None,
    *,
    more_skin: tuple[Box, ...] = (),
    collision: tuple[Box, ...] = (),
) -> Link:
    return Link(
        name=name,
        mass_kg=mass_kg,
        source=SIZES,
        skin=skin,
        more_skin=more_skin,
        collision=collision,
        visuals=VISUALS[name.split("_")[0]],
    )


def _finger_links(number: int) -> tuple[Link, ...]:
    return (
        _link(f"proximal_{number}", PROXIMAL_KG, Box(centre_m=(0.0347, 0.0, 0.0042), half_m=(0.0254, 0.0080, 0.0112))),
        *(_link(f"flex_{number}_{piece}", FLEXURE_KG / (HINGES - 1)) for piece in range(1, HINGES)),
        _link(
            f"distal_{number}",
            DISTAL_KG,
            Box(centre_m=(0.016125, 0.0, 0.00465), half_m=(0.011625, 0.0080, 0.00825)),
            more_skin=(_tilted_tip(),),
            collision=(Box(centre_m=(0.0340, 0.0, 0.0), half_m=(0.0063, 0.0080, 0.0036)),),
        ),
    )


LINKS = (
    _link(
        "base",
        HAND_KG - 2 * SWIVEL_KG - 3 * (PROXIMAL_KG + FLEXURE_KG + DISTAL_KG),
        Box(centre_m=(0.010, 0.0, PALM_Z_M - 0.0060), half_m=(0.034, 0.040, 0.0060)),
        collision=(Box(centre_m=(0.008, 0.0, 0.0300), half_m=(0.060, 0.046, 0.0300)),),
    ),
    _link("swivel_1", SWIVEL_KG),
    _link("swivel_2", SWIVEL_KG),
    *(link for n in NUMBERS for link in _finger_links(n)),
)


def _sensors(
    name: str,
    link: str,
    count: int,
    pitch_m: tuple[float, float],
    centre_m: Vec3,
    source: str = PLACES,
    tilt_rad: float = 0.0,
) -> Pad:
    """A row of barometers along x, in a face that may be tilted about y."""
    c, s = math.cos(tilt_rad), math.sin(tilt_rad)
    return Pad(
        name=name,
        link=link,
        rows=count,
        cols=1,
        row_pitch_m=pitch_m[0],
        col_pitch_m=pitch_m[1],
        chart="face",
        centre_m=centre_m,
        row_axis=(c, 0.0, 0.0 - s),
        normal=(s, 0.0, c),
        sensor="barometer",
        source=source,
    )


# A hair wider than the rubber (16 mm), so that what presses on its very edge is counted.
CELL_M, TIP_CELL_M, PALM_CELL_M = (SENSOR_PITCH_M, 0.0166), (0.0144, 0.0166), (0.016, 0.024)
# In the order of the driver: fingers 1, 2 and 3 from base to tip, palm. The palm has eleven, in columns of 4, 3
# and 4: where they are on the real palm is not published.
PADS = (
    *(
        pad
        for n in NUMBERS
        for pad in (
            _sensors(f"finger_{n}_proximal", f"proximal_{n}", 5, CELL_M, (0.034725, 0.0, PROXIMAL_Z_M)),
            _sensors(f"finger_{n}_distal", f"distal_{n}", 3, CELL_M, (0.019315, 0.0, DISTAL_Z_M)),
            _sensors(f"finger_{n}_tip", f"distal_{n}", 1, TIP_CELL_M, TIP_SENSOR_M, tilt_rad=TIP_TILT_RAD),
        )
    ),
    *(
        _sensors(name, "base", count, PALM_CELL_M, (0.010, y, PALM_Z_M), "number: firmware; places assumed")
        for name, count, y in (("palm_1", 4, -0.024), ("palm_2", 3, 0.0), ("palm_3", 4, 0.024))
    ),
)

SOURCE = f"{XACRO}: origin and axis; {STACK}: limits; damping and armature assumed"
DOWN: Vec3 = (0.0, 0.0, -1.0)
BEND: Vec3 = (0.0, -1.0, 0.0)
PIN = {"damping_nms_rad": 0.01, "armature_kgm2": 1e-4}
# The spring of the pin joint holds a finger open.
SPRUNG = PIN | {"spring_nm_rad": RETURN_NM_RAD, "spring_rest_rad": -RETURN_NM / RETURN_NM_RAD}
RUBBER = {"damping_nms_rad": 0.002, "armature_kgm2": 1e-5, "spring_nm_rad": HINGES * FLEXURE_NM_RAD}

END_RAD = math.pi / 3 / HINGES


def _flexure(number: int) -> list[Joint]:
    """Hinges of a finger's flexure."""
    links = [f"proximal_{number}", *(f"flex_{number}_{piece}" for piece in range(1, HINGES)), f"distal_{number}"]
    hinges = [
        hinge(f"flex_{number}_{n}", *ends, (PIECE_M, 0.0, 0.0), NO_TURN, BEND, 0.0, END_RAD, SOURCE, **RUBBER)
        for n, ends in enumerate(pairwise(links), start=1)
    ]
    return [replace(hinges[0], pos_m=FLEXURE_M), *(replace(joint, continues=True) for joint in hinges[1:])]


# fmt: off
JOINTS = (
    hinge("preshape_1", "base", "swivel_1", (0.0503974, -0.026, 0.063), NO_TURN, DOWN, 0.0, math.pi / 2, SOURCE, **PIN),
    hinge("preshape_2", "base", "swivel_2", (0.0503974, 0.026, 0.063), NO_TURN, DOWN, -math.pi / 2, 0.0, SOURCE, **PIN),
    hinge("proximal_1", "swivel_1", "proximal_1", (0.01, 0.0, 0.0186), NO_TURN, BEND, 0.0, math.pi, SOURCE, **SPRUNG),
    hinge("proximal_2", "swivel_2", "proximal_2", (0.01, 0.0, 0.0186), NO_TURN, BEND, 0.0, math.pi, SOURCE, **SPRUNG),
    hinge("proximal_3", "base", "proximal_3", (-0.03, 0.0, 0.0816), (0.0, 0.0, math.pi),
          BEND, 0.0, math.pi, SOURCE, **SPRUNG),
    *(joint for n in NUMBERS for joint in _flexure(n)),
)
# fmt: on


def _servo(default_speed_rad_s: float, *, pulls_only: bool) -> Servo:
    return Servo(
        stiffness_nm_rad=12.0,
        damping_nms_rad=0.1,
        top_speed_rad_s=3.5,
        effort_nm=2.0,
        lever_m=0.10,
        default_speed_rad_s=default_speed_rad_s,
        pulls_only=pulls_only,
        source=f"reflex_takktile.yaml: speeds and travel; {STACK}: effort, damping; stiffness assumed",
    )


HAND = HandSpec(
    name="reflex",
    maker="RightHand Robotics",
    model="ReFlex TakkTile",
    side="none",
    summary="Four motors, three underactuated fingers; two of them swivel against each other.",
    root="base",
    links=LINKS,
    joints=JOINTS,
    couplings=(Coupling(joint="preshape_2", driver="preshape_1", ratio=-1.0, source=f"{XACRO}: equal and opposite"),),
    tendons=tuple(
        Tendon(
            name=f"f{n}",
            joints=((f"proximal_{n}", 1.0), *((f"flex_{n}_{hinge}", 1.0) for hinge in range(1, HINGES + 1))),
            source="reflex driver: spool angle = proximal + distal",
        )
        for n in NUMBERS
    ),
    actuators=(
        *(actuator(f"f{n}", f"f{n}", 3.0, _servo(3.0, pulls_only=True), upper_rad=3.6) for n in NUMBERS),
        actuator("preshape", "preshape_1", math.pi / 2, _servo(2.0, pulls_only=False), upper_rad=1.75),
    ),
    pads=PADS,
    tips=tuple(Tip(finger=f"f{n}", link=f"distal_{n}", pos_m=(0.0400, 0.0, 0.0060)) for n in NUMBERS),
    palm=PalmFrame(pos_m=(0.010, 0.0, 0.0720), rpy_rad=(0.0, 0.0, -math.pi / 2)),
    palette=PALETTE,
    # The pads of one finger have rounded ends, which do not meet before the flexure is fully bent.
    no_contact=(
        *(("base", name) for name in ("proximal_1", "proximal_2")),
        *((f"proximal_{n}", f"distal_{n}") for n in NUMBERS),
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
VARIANTS = {
    name: tuple(joint for chain in flexures(with_stiffness(HAND, stiffness)) for joint in chain)
    for name, stiffness in FLEXURE_VARIANTS_NM_RAD.items()
}
HANDS = (replace(HAND, variants=VARIANTS),)
