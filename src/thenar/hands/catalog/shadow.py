"""Shadow Dexterous Hand E3M5: 24 joints, 20 motors, one J0 tendon per finger.

Frame of ``forearm`` and ``palm``: z towards the fingers, x towards the thumb side of the right hand, y towards
the back of the hand. Source: the ``sr_common`` description; link names without its ``rh_`` prefix.
"""

from __future__ import annotations

import math

from thenar.hands.mirror import mirrored
from thenar.hands.shapes import Box, Capsule, Cylinder, Loft, Shape, Sphere, Station, Vec3, VisualShape
from thenar.hands.spec import Actuator, HandSpec, Joint, Link, Palette, PalmFrame, Servo, Tendon, Tip

URDF = "shadow-robot sr_common E3M5"
MJCF = "mujoco_menagerie shadow_hand: servo gain and force range, joint dynamics"
PRIMITIVES = f"{URDF}: mass; collision primitives of mujoco_menagerie shadow_hand"
FITTED = f"{URDF}: mass; capsule within the extents of the distal mesh"

FINGERS = ("ff", "mf", "rf", "lf")
# Knuckle in the palm [m] and direction of the spread axis. The little finger hangs on its metacarpal.
KNUCKLES: dict[str, tuple[Vec3, float]] = {
    "ff": ((0.033, 0.0, 0.095), -1.0),
    "mf": ((0.011, 0.0, 0.099), -1.0),
    "rf": ((-0.011, 0.0, 0.095), 1.0),
}
DAMPING_NMS_RAD = 0.05
FINGER_RADIUS_M = 0.009
ACROSS: Vec3 = (1.0, 0.0, 0.0)

PALETTE = Palette(body=(0.20, 0.20, 0.21), skin=(0.55, 0.56, 0.58), dark=(0.10, 0.10, 0.11))


def _loft(*stations: tuple[float, float, float, float], tone: str = "body", dome_m: float = 0.003) -> Loft:
    """A loft along z: height, half width, half depth and shift towards the back, each in metres."""
    return Loft(
        stations=tuple(
            Station(centre_m=(0.0, shift, z), half_width_m=width, half_depth_m=depth)
            for z, width, depth, shift in stations
        ),
        across=ACROSS,
        tone=tone,
        dome_m=dome_m,
        squareness=3.0,
    )


def _finger_links(finger: str) -> tuple[Link, ...]:
    return (
        Link(
            name=f"{finger}knuckle",
            mass_kg=0.008,
            source=f"{URDF}: mass; 9 mm knuckle",
            visuals=(
                VisualShape(
                    shape=Cylinder(start_m=(-0.0085, 0.0, 0.0), end_m=(0.0085, 0.0, 0.0), radius_m=0.009), tone="dark"
                ),
            ),
        ),
        Link(
            name=f"{finger}proximal",
            mass_kg=0.030,
            source=PRIMITIVES,
            skin=Capsule(start_m=(0.0, 0.0, 0.005), end_m=(0.0, 0.0, 0.045), radius_m=FINGER_RADIUS_M),
            visuals=(
                _loft(
                    (-0.002, 0.0085, 0.0080, 0.001),
                    (0.012, 0.0094, 0.0078, 0.0022),
                    (0.032, 0.0094, 0.0076, 0.0022),
                    (0.046, 0.0086, 0.0080, 0.001),
                ),
            ),
        ),
        Link(
            name=f"{finger}middle",
            mass_kg=0.017,
            source=PRIMITIVES,
            skin=Capsule(start_m=(0.0, 0.0, 0.0), end_m=(0.0, 0.0, 0.025), radius_m=FINGER_RADIUS_M),
            visuals=(
                _loft(
                    (-0.001, 0.0088, 0.0080, 0.001),
                    (0.012, 0.0093, 0.0076, 0.0022),
                    (0.026, 0.0085, 0.0078, 0.001),
                ),
            ),
        ),
        Link(
            name=f"{finger}distal",
            mass_kg=0.013,
            source=FITTED,
            skin=Capsule(start_m=(0.0, -0.0002, 0.006), end_m=(0.0, -0.0002, 0.0247), radius_m=0.0073),
            visuals=(
                _loft(
                    (0.0, 0.0084, 0.0074, 0.0008),
                    (0.010, 0.0083, 0.0062, 0.0022),
                    (0.020, 0.0070, 0.0048, 0.0034),
                    (0.027, 0.0048, 0.0032, 0.0036),
                ),
            ),
        ),
    )


def _thumb_links() -> tuple[Link, ...]:
    return (
        Link(
            name="thbase",
            mass_kg=0.010,
            source=PRIMITIVES,
            collision=(Sphere(centre_m=(0.0, 0.0, 0.0), radius_m=0.013),),
            visuals=(
                VisualShape(
                    shape=Sphere(centre_m=(0.0, 0.0, 0.0), radius_m=0.0132),
                    tone="dark",
                ),
            ),
        ),
        Link(
            name="thproximal",
            mass_kg=0.040,
            source=PRIMITIVES,
            skin=Capsule(start_m=(0.0, 0.0, 0.011), end_m=(0.0, 0.0, 0.029), radius_m=0.0105),
            visuals=(
                _loft(
                    (0.004, 0.0110, 0.0100, 0.001),
                    (0.020, 0.0112, 0.0092, 0.0026),
                    (0.034, 0.0104, 0.0096, 0.001),
                ),
            ),
        ),
        Link(
            name="thhub",
            mass_kg=0.005,
            source=PRIMITIVES,
            collision=(Sphere(centre_m=(0.0, 0.0, 0.0), radius_m=0.011),),
            visuals=(
                VisualShape(
                    shape=Sphere(centre_m=(0.0, 0.0, 0.0), radius_m=0.0112),
                    tone="dark",
                ),
            ),
        ),
        Link(
            name="thmiddle",
            mass_kg=0.020,
            source=PRIMITIVES,
            skin=Capsule(start_m=(0.0, 0.0, 0.003), end_m=(0.0, 0.0, 0.021), radius_m=0.009),
            collision=(Sphere(centre_m=(0.0, 0.0, 0.030), radius_m=0.010),),
            visuals=(
                _loft(
                    (0.004, 0.0096, 0.0084, 0.001),
                    (0.018, 0.0096, 0.0082, 0.0018),
                    (0.032, 0.0100, 0.0094, 0.0008),
                ),
            ),
        ),
        Link(
            name="thdistal",
            mass_kg=0.017,
            source=FITTED,
            skin=Capsule(start_m=(0.0, 0.0, 0.008), end_m=(0.0, 0.0, 0.026), radius_m=0.009),
            visuals=(
                _loft(
                    (0.001, 0.0100, 0.0090, 0.0008),
                    (0.012, 0.0100, 0.0074, 0.0026),
                    (0.022, 0.0086, 0.0058, 0.0040),
                    (0.029, 0.0058, 0.0038, 0.0044),
                ),
            ),
        ),
    )


def _trunk_links() -> tuple[Link, ...]:
    palm_boxes: tuple[Shape, ...] = (
        Box(centre_m=(0.011, 0.0005, 0.0455), half_m=(0.0315, 0.0110, 0.0410)),
        Box(centre_m=(-0.016, 0.0005, 0.0180), half_m=(0.0090, 0.0110, 0.0135)),
    )
    return (
        Link(
            name="forearm",
            mass_kg=3.0,
            source=f"{URDF}: mass; size assumed",
            collision=(
                Cylinder(start_m=(0.0, -0.010, 0.0), end_m=(0.0, -0.010, 0.181), radius_m=0.059),
                Cylinder(start_m=(0.0, -0.010, 0.181), end_m=(0.0, -0.010, 0.205), radius_m=0.030),
            ),
            visuals=(
                Loft(
                    stations=(
                        Station(centre_m=(0.0, -0.010, 0.001), half_width_m=0.058, half_depth_m=0.058),
                        Station(centre_m=(0.0, -0.010, 0.080), half_width_m=0.060, half_depth_m=0.060),
                        Station(centre_m=(0.0, -0.010, 0.165), half_width_m=0.057, half_depth_m=0.057),
                        Station(centre_m=(0.0, -0.010, 0.181), half_width_m=0.046, half_depth_m=0.044),
                        Station(centre_m=(0.0, -0.010, 0.206), half_width_m=0.024, half_depth_m=0.022),
                    ),
                    across=ACROSS,
                    tone="dark",
                    dome_m=0.001,
                    squareness=2.2,
                ),
            ),
        ),
        Link(
            name="wrist",
            mass_kg=0.1,
            source=f"{URDF}: mass; size assumed",
            collision=(Cylinder(start_m=(0.0, 0.0, 0.002), end_m=(0.0, 0.0, 0.026), radius_m=0.0150),),
            visuals=(_loft((-0.010, 0.020, 0.018, 0.0), (0.012, 0.022, 0.016, 0.0), (0.030, 0.024, 0.014, 0.0)),),
        ),
        Link(
            name="palm",
            mass_kg=0.3,
            source=f"{URDF}: mass; two boxes within the palm between knuckles and wrist",
            collision=palm_boxes,
            visuals=(
                Loft(
                    stations=(
                        Station(centre_m=(0.006, 0.0005, 0.004), half_width_m=0.026, half_depth_m=0.0120),
                        Station(centre_m=(0.008, 0.0005, 0.025), half_width_m=0.034, half_depth_m=0.0130),
                        Station(centre_m=(0.011, 0.0005, 0.060), half_width_m=0.0335, half_depth_m=0.0125),
                        Station(centre_m=(0.011, 0.0005, 0.086), half_width_m=0.0315, half_depth_m=0.0100),
                    ),
                    across=ACROSS,
                    squareness=4.0,
                ),
                # The bearing of the thumb.
                Loft(
                    stations=(
                        Station(centre_m=(0.022, -0.004, 0.012), half_width_m=0.012, half_depth_m=0.011),
                        Station(centre_m=(0.031, -0.008, 0.026), half_width_m=0.011, half_depth_m=0.011),
                    ),
                    across=ACROSS,
                    tone="dark",
                ),
            ),
        ),
        Link(
            name="lfmetacarpal",
            mass_kg=0.030,
            source=f"{URDF}: mass; capsule from the joint to the knuckle",
            skin=Capsule(start_m=(0.019, 0.0, 0.010), end_m=(0.0490, 0.0, 0.0343), radius_m=0.0100),
            visuals=(
                Loft(
                    stations=(
                        Station(centre_m=(0.008, 0.0, 0.004), half_width_m=0.0105, half_depth_m=0.0110),
                        Station(centre_m=(0.030, 0.0, 0.021), half_width_m=0.0105, half_depth_m=0.0115),
                        Station(centre_m=(0.050, 0.0, 0.035), half_width_m=0.0095, half_depth_m=0.0095),
                    ),
                    across=(0.82, 0.0, -0.57),
                    squareness=3.5,
                ),
            ),
        ),
    )


def _joint(
    name: str,
    parent: str,
    child: str,
    pos_m: Vec3,
    axis: Vec3,
    lower_rad: float,
    upper_rad: float,
    *,
    rpy_rad: Vec3 = (0.0, 0.0, 0.0),
    damping_nms_rad: float = 0.0,
    spring_nm_rad: float = 0.0,
    spring_rest_rad: float = 0.0,
) -> Joint:
    return Joint(
        name=name,
        parent=parent,
        child=child,
        pos_m=pos_m,
        rpy_rad=rpy_rad,
        axis=axis,
        lower_rad=lower_rad,
        upper_rad=upper_rad,
        source=URDF,
        damping_nms_rad=damping_nms_rad,
        armature_kgm2=2e-4,
        friction_nm=0.01,
        spring_nm_rad=spring_nm_rad,
        spring_rest_rad=spring_rest_rad,
    )


def _joints() -> tuple[Joint, ...]:
    joints = [
        _joint("WRJ2", "forearm", "wrist", (0.0, -0.010, 0.21301), (0.0, 1.0, 0.0), -0.5236, 0.1745),
        _joint("WRJ1", "wrist", "palm", (0.0, 0.0, 0.034), (1.0, 0.0, 0.0), -0.6981, 0.4887),
        _joint(
            "LFJ5",
            "palm",
            "lfmetacarpal",
            (-0.033, 0.0, 0.02071),
            (1.0, 0.0, 0.0),
            0.0,
            0.7854,
            rpy_rad=(0.0, -0.9599, 0.0),
        ),
    ]
    for finger in FINGERS:
        J = finger.upper()
        if finger == "lf":
            parent, pos, rpy, side = (
                "lfmetacarpal",
                (0.05397275, 0.0, 0.03779463),
                (0.0, 0.9599, 0.0),
                1.0,
            )
        else:
            parent, rpy = "palm", (0.0, 0.0, 0.0)
            pos, side = KNUCKLES[finger]
        joints += [
            _joint(f"{J}J4", parent, f"{finger}knuckle", pos, (0.0, side, 0.0), -0.3491, 0.3491, rpy_rad=rpy),
            _joint(
                f"{J}J3",
                f"{finger}knuckle",
                f"{finger}proximal",
                (0.0, 0.0, 0.0),
                (1.0, 0.0, 0.0),
                -0.2618,
                1.5708,
            ),
            _joint(
                f"{J}J2",
                f"{finger}proximal",
                f"{finger}middle",
                (0.0, 0.0, 0.045),
                (1.0, 0.0, 0.0),
                0.0,
                1.5708,
                damping_nms_rad=0.02,
            ),
            # A nearly constant pull of 0.03 N m, above friction, lets the middle joint bend first, as on the
            # real hand.
            _joint(
                f"{J}J1",
                f"{finger}middle",
                f"{finger}distal",
                (0.0, 0.0, 0.025),
                (1.0, 0.0, 0.0),
                0.0,
                1.5708,
                damping_nms_rad=0.02,
                spring_nm_rad=0.005,
                spring_rest_rad=-6.0,
            ),
        ]
    joints += [
        _joint(
            "THJ5",
            "palm",
            "thbase",
            (0.034, -0.00858, 0.029),
            (0.0, 0.0, -1.0),
            -1.0472,
            1.0472,
            rpy_rad=(-0.7854, 0.0, -1.5708),
        ),
        _joint("THJ4", "thbase", "thproximal", (0.0, 0.0, 0.0), (0.0, 1.0, 0.0), 0.0, 1.2217),
        _joint("THJ3", "thproximal", "thhub", (0.0, 0.0, 0.038), (0.0, 1.0, 0.0), -0.2094, 0.2094),
        _joint("THJ2", "thhub", "thmiddle", (0.0, 0.0, 0.0), (1.0, 0.0, 0.0), -0.6981, 0.6981),
        _joint("THJ1", "thmiddle", "thdistal", (0.0, 0.0, 0.032), (1.0, 0.0, 0.0), -0.2618, 1.5708),
    ]
    return tuple(joints)


def _servo(kp: float, effort_nm: float, top_speed_rad_s: float, lever_m: float, damping: float) -> Servo:
    return Servo(
        stiffness_nm_rad=kp,
        damping_nms_rad=damping,
        top_speed_rad_s=top_speed_rad_s,
        effort_nm=effort_nm,
        lever_m=lever_m,
        source=f"{MJCF}; speed of {URDF}",
    )


def _actuators() -> tuple[Actuator, ...]:
    """The motors, in the order wrist, first to little finger, thumb."""

    def motor(
        name: str, open_rad: float, closed_rad: float, lower_rad: float, upper_rad: float, servo: Servo
    ) -> Actuator:
        return Actuator(
            name=name,
            drives=name,
            open_rad=open_rad,
            closed_rad=closed_rad,
            lower_rad=lower_rad,
            upper_rad=upper_rad,
            motor=servo,
        )

    finger = _servo(1.0, 1.0, 2.0, 0.096, DAMPING_NMS_RAD)
    j0 = _servo(0.5, 1.0, 4.0, 0.051, 0.02)  # pulls two joints of 2 rad/s each
    motors = [
        motor("WRJ2", 0.0, 0.0, -0.5236, 0.1745, _servo(10.0, 10.0, 2.0, 0.20, 0.5)),
        motor("WRJ1", 0.0, 0.0, -0.6981, 0.4887, _servo(8.0, 5.0, 2.0, 0.20, 0.5)),
    ]
    for name in FINGERS:
        J = name.upper()
        if name == "lf":
            motors.append(motor("LFJ5", 0.0, 0.4, 0.0, 0.7854, finger))
        motors += [
            motor(f"{J}J4", 0.0, 0.0, -0.3491, 0.3491, finger),
            motor(f"{J}J3", 0.0, 1.5708, -0.2618, 1.5708, finger),
            motor(f"{J}J0", 0.0, 3.1415, 0.0, 3.1415, j0),
        ]
    motors += [
        motor("THJ5", 0.0, 1.0472, -1.0472, 1.0472, _servo(0.4, 3.0, 4.0, 0.098, DAMPING_NMS_RAD)),
        motor("THJ4", 0.0, 1.2217, 0.0, 1.2217, _servo(1.0, 2.0, 4.0, 0.098, DAMPING_NMS_RAD)),
        motor("THJ3", 0.0, 0.0, -0.2094, 0.2094, _servo(0.5, 1.0, 4.0, 0.060, DAMPING_NMS_RAD)),
        motor("THJ2", 0.0, 0.6981, -0.6981, 0.6981, _servo(1.5, 1.0, 2.0, 0.060, DAMPING_NMS_RAD)),
        motor("THJ1", 0.0, 1.5708, -0.2618, 1.5708, _servo(1.0, 1.0, 4.0, 0.028, DAMPING_NMS_RAD)),
    ]
    return tuple(motors)


def _tendons() -> tuple[Tendon, ...]:
    tendons = []
    for finger in FINGERS:
        J = finger.upper()
        tendons.append(
            Tendon(
                name=f"{J}J0",
                joints=((f"{J}J2", 1.0), (f"{J}J1", 1.0)),
                source=f"{URDF}: J0Transmission, one motor for the sum of both joints",
            )
        )
        tendons.append(
            Tendon(
                name=f"{J}_order",
                joints=((f"{J}J2", 1.0), (f"{J}J1", -1.0)),
                lower_rad=0.0,
                source="Shadow: the middle joint is never less bent than the distal one (not found in print)",
            )
        )
    return tuple(tendons)


def _pose(**fractions: float) -> tuple[float, ...]:
    """Closing fractions by motor name, 0 for the rest; ``fingers_J3`` and ``fingers_J0`` serve all four."""
    return tuple(fractions.get(motor.name, fractions.get(f"fingers_{motor.name[2:]}", 0.0)) for motor in ACTUATORS)


ACTUATORS = _actuators()

POSES = {
    "open": _pose(),
    "fist": _pose(fingers_J3=1.0, fingers_J0=0.97, THJ5=0.45, THJ4=0.90, THJ2=0.6, THJ1=0.5),
    "pinch": _pose(FFJ3=0.62, FFJ0=0.27, THJ5=0.70, THJ4=0.97, THJ2=0.35, THJ1=0.16),
    "point": _pose(fingers_J3=1.0, fingers_J0=0.97, FFJ3=0.0, FFJ0=0.0, THJ5=0.45, THJ4=0.90, THJ2=0.6, THJ1=0.5),
    "thumbs_up": _pose(fingers_J3=1.0, fingers_J0=0.97),
}

_CHAINS = (
    *(tuple(f"{f}{part}" for part in ("knuckle", "proximal", "middle", "distal")) for f in FINGERS[:3]),
    ("lfmetacarpal", "lfknuckle", "lfproximal", "lfmiddle", "lfdistal"),
    ("thbase", "thproximal", "thhub", "thmiddle", "thdistal"),
)
# Parts of one finger, and the first parts of a finger against the palm, bear on each other by construction.
_BY_CONSTRUCTION = (
    *((a, b) for chain in _CHAINS for i, a in enumerate(chain) for b in chain[i + 2 :]),
    *(("palm", f"{f}proximal") for f in FINGERS),
    *(("palm", name) for name in ("lfknuckle", "thproximal", "thhub")),
    ("lfmetacarpal", "rfproximal"),
    ("forearm", "palm"),
)

RIGHT = HandSpec(
    name="shadow_right",
    maker="Shadow Robot",
    model="Dexterous Hand E3M5",
    side="right",
    summary="Twenty tendon motors, twenty-four joints; the last two joints of a finger share one motor.",
    root="forearm",
    links=(*_trunk_links(), *(link for f in FINGERS for link in _finger_links(f)), *_thumb_links()),
    joints=_joints(),
    tendons=_tendons(),
    actuators=ACTUATORS,
    tips=(
        *(Tip(finger=f, link=f"{f}distal", pos_m=(0.0, 0.0, 0.026)) for f in FINGERS),
        Tip(finger="th", link="thdistal", pos_m=(0.0, 0.0, 0.0275)),
    ),
    palm=PalmFrame(pos_m=(0.008, -0.022, 0.30), rpy_rad=(math.pi / 2, 0.0, 0.0)),
    palette=PALETTE,
    no_contact=_BY_CONSTRUCTION,
    poses=POSES,
    notes=(
        "J1 <= J2 is a limit of its own tendon; the wording of Shadow's manual was not found in print.",
        "The little finger's knuckle is the URDF's (z 0.0866 m in the palm); mujoco_menagerie has 0.0865.",
    ),
)

LEFT = mirrored(RIGHT, name="shadow_left", side="left", frames={link.name: "x" for link in RIGHT.links})
