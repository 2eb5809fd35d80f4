"""What is real, what is modelled and what is absent, hand by hand; told by the spec's sources where nobody wrote it."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path

from thenar.hands.spec import HandSpec

_TOUCH = "computed, within 1 to 2 % of contact theory ([touch](../touch.md)); stiffness and sensor are assumed"
_SERVO = "modelled: a servo with the published speed and effort"
_SHAPE = "modelled: capsules and boxes"
_UNMEASURED = "absent: the hand does not report them, and they read `NaN`"

HONESTY: dict[str, tuple[tuple[str, str], ...]] = {
    "inspire": (
        ("kinematics, limits, masses", "real: the maker's URDF, within 0.1 mm"),
        ("shape", "modelled: a capsule per link, placed by the real pads"),
        ("couplings", "real: the maker's newest law; seven other published ones are variants"),
        ("latency, speed, force stop", "measured by others on a real RH56DFX, fitted ([motors](../motors.md))"),
        ("status, errors, current", "real codes and bits of the manual; the current's law is modelled"),
        ("heat", "modelled: no figure is public"),
        ("touch", _TOUCH),
        ("counts of a taxel", "assumed: 1000 a newton, 0 to 4095, as public simulators of this hand have it"),
        ("protocols", "real: DDS, Unitree's DFX topics, Modbus TCP, RS-485, Tienkung's ROS 2; CAN is absent"),
    ),
    "inspire_dfx": (
        ("kinematics, limits", "real: dex-urdf, within 0.1 mm"),
        ("masses", "those of dex-urdf, far below a real hand's"),
        ("shape", _SHAPE),
        ("couplings", "real: dex-urdf's law; others are variants"),
        ("latency, speed, force stop", "measured by others on this hand, fitted ([motors](../motors.md))"),
        ("status, errors, current", "real codes and bits of the manual; the current's law is modelled"),
        ("heat", "modelled: no figure is public"),
        ("touch", "absent, as on the hand"),
        ("protocols", "real: Unitree's DFX topics, the DDS interface, Modbus TCP, RS-485, Tienkung's ROS 2"),
    ),
    "shadow": (
        ("kinematics, limits, masses", "real: the maker's `sr_common`"),
        ("shape", _SHAPE),
        ("tendons", "real law: J0 is the sum of J1 and J2, as a constraint"),
        ("motors", "modelled: servos with the gains of mujoco_menagerie"),
        ("status", "modelled"),
        ("current, temperature", _UNMEASURED),
        ("touch", "assumed grids on the fingertips; the 92 regions of gymnasium-robotics as a variant"),
        ("protocols", "absent in this release"),
    ),
    "fourier": (
        ("kinematics, limits, masses", "real: the maker's left URDF; the right hand is its mirror image"),
        ("shape", _SHAPE),
        ("couplings", "real: the URDF's"),
        ("motors", "assumed: speed and effort are unset in the URDF"),
        ("status", "modelled"),
        ("current, temperature", _UNMEASURED),
        ("touch", "absent"),
        ("protocols", "real: Aurora's topics, with the body ([RobotData](../robotdata.md))"),
    ),
    "reflex": (
        ("kinematics, limits", "real: the maker's URDF and driver"),
        ("masses", "the hand's real 0.94 kg; fingers by the volumes of the maker's meshes"),
        ("shape", _SHAPE),
        (
            "cord, flexure",
            "modelled: a cord that only pulls, four hinges with springs of assumed stiffness ([more](../reflex.md))",
        ),
        ("motors", _SERVO),
        ("status", "modelled"),
        ("current, temperature", _UNMEASURED),
        ("touch", "modelled: 38 barometers under rubber, each at its real place"),
        (
            "protocols",
            "the driver's topics and services in ROS 2 types (the original is ROS 1); the hand's own packets",
        ),
    ),
    "dex3": (
        ("kinematics, limits, masses", "real: the maker's URDFs, within 0.1 mm"),
        ("shape", "modelled: capsules and a box inside the meshes' bounds"),
        ("motors", "real law, effort and speed; the inertia of the gears is assumed"),
        ("status", "modelled"),
        ("current, temperature", _UNMEASURED),
        ("touch", _TOUCH),
        ("modules", "real: 9 of 12 slots, empty ones 30000; which slots are alive and counts per gram are assumed"),
        ("protocols", "real: Unitree's DDS topics"),
    ),
    "dex1": (
        ("kinematics, limits, masses", "real: the maker's URDF; both fingers move alike, which is assumed"),
        ("shape", "assumed: boxes"),
        ("motors", "real law, published force and speed; the moving mass of the motor is assumed"),
        ("status", "modelled"),
        ("current, temperature", _UNMEASURED),
        ("touch", "absent, as on the gripper"),
        ("protocols", "real: Unitree's DDS topics"),
    ),
    "brainco": (
        ("kinematics, limits, masses", "real: the maker's URDFs, within 0.1 mm"),
        ("shape", "modelled: capsules and a box inside the meshes' bounds"),
        ("couplings", "real: the maker's URDFs"),
        ("motors", "published effort and speed; stiffness is assumed"),
        ("status", "modelled"),
        ("current", "assumed: in proportion to the torque, 1 A at full effort"),
        ("touch", _TOUCH),
        ("proximity", "modelled: how far the nearest thing in front of a tip is; range (20 mm) and counts are assumed"),
        ("protocols", "real: the DDS topics of Unitree's service; Modbus RTU, as the maker's SDK speaks it"),
    ),
    "leap": (
        ("kinematics, limits, masses", "those of mujoco_menagerie's model"),
        ("shape", "assumed: boxes of the motors' size, capsules as fingertips"),
        (
            "motors",
            "published torque and speed of an XC330-M288; stiffness of mujoco_menagerie, whatever the gains say",
        ),
        ("status", "modelled"),
        ("current", "assumed: in proportion to the torque, 1.8 A at stall"),
        ("temperature", _UNMEASURED),
        ("touch", "absent, as on the hand"),
        ("protocols", "real: Dynamixel 2.0 on a pseudo-terminal"),
    ),
}


def honesty(spec: HandSpec) -> tuple[tuple[str, str], ...]:
    """Rows of a hand: what it stands on, and what is so."""
    written = HONESTY.get(spec.name.removesuffix("_left").removesuffix("_right"))
    rows = written or (
        ("kinematics, limits", _sources(joint.source for joint in spec.joints)),
        ("masses, shape", _sources(link.source for link in spec.links)),
        ("couplings, tendons", _sources(part.source for part in (*spec.couplings, *spec.tendons))),
        ("motors", _sources(actuator.motor.source for actuator in spec.actuators)),
        ("touch", _sources(pad.source for pad in spec.pads)),
        ("protocols", "absent"),
    )
    return (*rows, ("checked on hardware", checked_on_hardware(spec.name)))


def checked_on_hardware(*hands: str) -> str:
    """What the pages of real hands in ``docs/hardware`` say of these hands: which firmware, or no."""
    firmware = []
    for page in sorted((Path(__file__).parent / "hardware").glob("*.md")):
        facts = dict(re.findall(r"^([\w ]+): (.*)$", page.read_text().split("---")[1], re.MULTILINE))
        if facts["hand"] in hands:
            firmware.append(facts["firmware"])
    return f"yes: firmware {', '.join(firmware)}" if firmware else "no"


def _sources(sources: Iterable[str]) -> str:
    return "; ".join(dict.fromkeys(sources)) or "absent"
