"""What a hand is, as plain data: links, joints, couplings, motors, skin and pads.

A `HandSpec` knows nothing of a physics engine. Lengths are metres, angles radians, poses are the child in
its parent with URDF's roll-pitch-yaw (``R = Rz Ry Rx``). Every number carries the source it came from.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Literal, TypeVar

import numpy as np

from thenar.arrays import FloatArray
from thenar.errors import BadValue, UnknownName
from thenar.hands.shapes import Hull, Shape, Vec3, Visual

Side = Literal["left", "right", "none"]
T = TypeVar("T", "Link", "Joint", "Pad", "Actuator")


@dataclass(frozen=True, kw_only=True)
class Link:
    """One rigid part of a hand."""

    name: str
    mass_kg: float
    """Mass [kg]."""
    source: str
    """Where the mass and the sizes come from."""
    com_m: Vec3 | None = None
    """Centre of mass in the link frame [m]; None: that of the colliding shapes."""
    inertia_kgm2: tuple[float, float, float, float, float, float] | None = None
    """Inertia about the centre of mass, ixx iyy izz ixy ixz iyz [kg m^2]; None: that of those shapes."""
    skin: Shape | None = None
    """The one analytic surface that carries the link's contact and on which its pads are charts."""
    more_skin: tuple[Shape, ...] = ()
    """Further surfaces that carry pads, where one shape is not enough: a fingertip cut at a slant."""
    collision: tuple[Shape, ...] = ()
    """Further colliding parts without any sensor."""
    outline: Hull | None = None
    """A closer shape than the skin, by which a real hand's motion is planned; the physics keeps the skin."""
    visuals: tuple[Visual, ...] = ()
    """Shapes that are only seen."""

    @property
    def skins(self) -> tuple[Shape, ...]:
        """All surfaces that may carry pads."""
        return () if self.skin is None else (self.skin, *self.more_skin)

    @property
    def collision_shapes(self) -> tuple[Shape, ...]:
        """Everything that collides: the skins, then the parts without any sensor."""
        return (*self.skins, *self.collision)

    @property
    def planned_shapes(self) -> tuple[Shape, ...]:
        """What must not meet when a motion is planned: the outline in place of the skins where there is one."""
        return self.collision_shapes if self.outline is None else (self.outline, *self.collision)

    @property
    def skin_names(self) -> tuple[str, ...]:
        """Names of those surfaces in a built model."""
        return tuple(f"{self.name}_skin" + (f"_{n}" if n else "") for n in range(len(self.skins)))


@dataclass(frozen=True, kw_only=True)
class Joint:
    """A hinge between two links, or a slide, whose angles are then metres, torques newtons and armature kilograms."""

    name: str
    parent: str
    child: str
    pos_m: Vec3
    """Origin of the child in the parent [m]."""
    rpy_rad: Vec3 = (0.0, 0.0, 0.0)
    """Orientation of the child in the parent at zero angle [rad]."""
    axis: Vec3 = (0.0, 0.0, 1.0)
    """Axis in the child frame."""
    lower_rad: float
    upper_rad: float
    source: str
    kind: Literal["hinge", "slide"] = "hinge"
    damping_nms_rad: float = 0.0
    """Viscous damping [N m s/rad]."""
    armature_kgm2: float = 0.0
    """Inertia of what turns with the joint inside the finger [kg m^2]."""
    friction_nm: float = 0.0
    """Dry friction [N m]."""
    spring_nm_rad: float = 0.0
    """Stiffness of a return spring [N m/rad]."""
    spring_rest_rad: float = 0.0
    """Angle at which that spring is slack [rad]."""
    continues: bool = False
    """True: the next hinge of a flexure that the joint before it began, see `thenar.hands.flexure`."""


@dataclass(frozen=True, kw_only=True)
class Coupling:
    """A linkage: ``joint = ratio * driver + offset_rad``."""

    joint: str
    driver: str
    ratio: float
    offset_rad: float = 0.0
    source: str


@dataclass(frozen=True, kw_only=True)
class Tendon:
    """A weighted sum of joint angles that a motor pulls or that has limits of its own."""

    name: str
    joints: tuple[tuple[str, float], ...]
    """Pairs of joint name and weight."""
    lower_rad: float | None = None
    """Smallest sum, where the mechanism forbids less [rad]."""
    upper_rad: float | None = None
    """Largest sum, where the mechanism forbids more [rad]."""
    source: str


@dataclass(frozen=True, kw_only=True)
class LeadScrew:
    """A motor that turns a lead screw: it keeps its place without power and senses the force it passes on.

    Forces are what the motor's own sensor reports (nominal newtons); `newton_per_reported` says how many
    real newtons at the fingertip one of them is worth. Stiffness is per full stroke of the screw.
    """

    full_stroke_s: float
    """Time for the whole stroke, unloaded, at top speed [s]."""
    latency_s: float
    """From a command to the motor acting on it [s], median."""
    latency_spread_s: float
    """Standard deviation of that latency [s]."""
    reaction_s: float
    """From the force limit being crossed to the motor stopping [s]."""
    stop_s: float
    """Time to reach or to leave top speed [s]."""
    stiffness_n: float
    """Reported force per stroke of screw travel against a blocked finger, at small force [N]."""
    stiffening_n: float
    """Cubic part of the same law [N per stroke cubed]."""
    stall_n: float
    """Force at which the motor stops by itself [N]."""
    stall_over_limit: float
    """The drive is given at least this multiple of the force limit."""
    lever_m: float
    """Fingertip travel per radian of the driven joint at mid stroke [m]."""
    newton_per_reported: float
    """Real fingertip newtons for one reported newton."""
    loaded_offset_n: float = 0.0
    """What the sensor of a loaded finger reports beyond that [N]; below it, a load reads twice."""
    force_zero_n: float = 0.0
    """Force that the sensor takes for none when it is switched on [N]."""
    backlash: float = 0.0
    """Lost motion where the screw turns back, as a fraction of the stroke."""
    friction_n: float = 0.0
    """Dry friction of the finger, as its sensor reports it either way [N]; what its joints have besides adds to it."""
    force_max_n: float
    """Largest force limit it accepts [N]."""
    default_force_n: float
    """Force limit at power-on [N]."""
    damping_nms_rad: float
    """Damping of the linkage between screw and finger [N m s/rad]."""
    idle_a: float
    """Current of one motor's electronics [A]."""
    drive_a: float
    """Extra current while the motor turns freely [A]."""
    amps_per_n: float
    """Extra current per reported newton while it drives [A/N]."""
    current_limit_a: float
    """Current at which protection stops the motor [A]."""
    heating_c_per_a2: float
    """Steady rise of temperature per squared ampere [C/A^2]."""
    cooling_s: float
    """Time constant of the temperature [s]."""
    trip_c: float
    """Temperature at which the motor switches off [C]."""
    recover_c: float
    """Temperature below which it may run again [C]."""
    angle_noise: float
    """Standard deviation of the angle reading, as a fraction of the stroke."""
    force_noise_n: float
    """Standard deviation of the force reading [N]."""
    zeroing_s: float
    """Time the force sensor takes to find its zero when asked to [s]."""
    source: str

    def ideal(self) -> LeadScrew:
        """The same motor without delay and noise, and of the strength it reports: 1 N said is 1 N at the fingertip."""
        return replace(
            self,
            latency_s=0.0,
            latency_spread_s=0.0,
            reaction_s=0.0,
            newton_per_reported=1.0,
            loaded_offset_n=0.0,
            force_zero_n=0.0,
            backlash=0.0,
            friction_n=0.0,
            angle_noise=0.0,
            force_noise_n=0.0,
            zeroing_s=0.0,
        )


@dataclass(frozen=True, kw_only=True)
class Servo:
    """A position servo with limits on speed and effort, which gives way when pushed."""

    stiffness_nm_rad: float
    """Torque per radian of error [N m/rad]."""
    damping_nms_rad: float
    """Torque per rad/s of error [N m s/rad]; the joint carries it as damping."""
    top_speed_rad_s: float
    """Largest speed of the set-point [rad/s]."""
    effort_nm: float
    """Largest torque [N m]."""
    lever_m: float
    """Arm that turns torque into the reported force [m]."""
    default_speed_rad_s: float | None = None
    """Speed at power-on [rad/s]; None: the top speed."""
    pulls_only: bool = False
    """True: it winds up a cord that cannot push, and reports its own angle also where the cord is slack."""
    takes_law: bool = False
    """True: a command may bring its own stiffness, damping, speed and torque, see `thenar.signals.TorqueLaw`."""
    source: str

    def ideal(self) -> Servo:
        """The same: no delay or noise of these servos is known."""
        return self


@dataclass(frozen=True, kw_only=True)
class Actuator:
    """One motor of a hand and what it moves."""

    name: str
    drives: str
    """Name of the joint or tendon."""
    open_rad: float
    """Angle with the finger open [rad]."""
    closed_rad: float
    """Angle with the finger closed [rad]; equal to `open_rad` where closing does not move it."""
    lower_rad: float
    """Smallest angle it may be sent to [rad]."""
    upper_rad: float
    """Largest angle it may be sent to [rad]."""
    motor: LeadScrew | Servo

    @property
    def stroke_rad(self) -> float:
        """Size of the whole stroke [rad]."""
        return abs(self.closed_rad - self.open_rad)

    @property
    def top_speed_rad_s(self) -> float:
        """Largest speed [rad/s]."""
        if isinstance(self.motor, LeadScrew):
            # Getting up to speed and down again costs half of stop_s each.
            return self.stroke_rad / (self.motor.full_stroke_s - self.motor.stop_s)
        return self.motor.top_speed_rad_s


@dataclass(frozen=True, kw_only=True, eq=False)
class TaxelPoints:
    """Taxels that lie anywhere on a skin, in the link frame. Shapes use n = taxels."""

    points_m: FloatArray
    """Centres on the skin [m]. Shape (n, 3)."""
    normals: FloatArray
    """Unit vectors out of the skin. Shape (n, 3)."""
    row_axes: FloatArray
    """Unit vectors along the skin, in which the first part of shear is counted. Shape (n, 3)."""
    half_m: FloatArray
    """How far each reaches along its row axis and across [m]; infinite: as far as no other is nearer. Shape (n, 2)."""
    reach_m: FloatArray
    """How far each reaches at most [m]. Shape (n,)."""
    area_m2: FloatArray
    """Area of skin that belongs to each [m^2]. Shape (n,)."""


@dataclass(frozen=True, kw_only=True)
class Pad:
    """A grid of taxels on the skin of a link.

    ``u`` runs along the rows (row 1 to the last), ``v`` along the columns, both measured on the skin from
    the pad's centre. Taxel ``[r, c]`` is centred at ``u = (r - (rows-1)/2) * row_pitch_m`` and likewise v.
    """

    name: str
    link: str
    rows: int
    cols: int
    row_pitch_m: float
    col_pitch_m: float
    chart: Literal["cylinder", "cap", "face", "ellipsoid", "points"]
    """Which part of the skin it lies on: a side or an end of a rod, a face, an ellipsoid, or given points."""
    centre_m: Vec3
    """Centre of the pad on the skin, in the link frame [m]."""
    row_axis: Vec3
    """Direction of growing row at the centre, in the link frame."""
    normal: Vec3
    """Outward normal at the centre, in the link frame."""
    mirrored: bool = False
    """True on a mirrored hand: columns then run against ``normal x row_axis``."""
    sensor: Literal["force", "barometer"] = "force"
    """What each taxel has: a cell that feels the force on it, or a barometer cast into the rubber under its centre."""
    points: TaxelPoints | None = None
    """Where its taxels are, row after row, if the chart is that of given points."""
    proximity_range_m: float = 0.0
    """How far it feels a thing that does not touch yet [m]; 0: it does not."""
    source: str

    @property
    def taxels(self) -> int:
        """Number of taxels."""
        return self.rows * self.cols


@dataclass(frozen=True, kw_only=True)
class Tip:
    """The end of a finger."""

    finger: str
    link: str
    pos_m: Vec3


@dataclass(frozen=True, kw_only=True)
class PalmFrame:
    """Where a hand is held: origin at the palm's centre, z out of the palm, y towards the fingers."""

    pos_m: Vec3
    rpy_rad: Vec3


@dataclass(frozen=True, kw_only=True)
class Palette:
    """Colours of a hand, red green blue from 0 to 1."""

    body: Vec3
    skin: Vec3
    dark: Vec3


@dataclass(frozen=True, kw_only=True)
class OwnModel:
    """A model file of the user's that takes the place of the built-in body."""

    path: Path
    """The URDF or MJCF file."""
    joints: Mapping[str, str]
    """Name in the file of each of the hand's joints."""
    links: Mapping[str, str]
    """Name in the file of the hand's links."""


@dataclass(frozen=True, kw_only=True)
class SkinSpec:
    """Links and the pads on them: what touch needs to know of a hand."""

    links: tuple[Link, ...]
    pads: tuple[Pad, ...] = ()

    def link(self, name: str) -> Link:
        """The link of that name."""
        return _named("link", name, self.links)

    def pad(self, name: str) -> Pad:
        """The pad of that name."""
        return _named("pad", name, self.pads)

    @property
    def taxels(self) -> int:
        """Number of taxels of all pads."""
        return sum(pad.taxels for pad in self.pads)


@dataclass(frozen=True, kw_only=True)
class HandSpec(SkinSpec):
    """A whole hand."""

    name: str
    maker: str
    model: str
    side: Side
    summary: str
    """What it is, in a sentence."""
    root: str
    """The link that everything hangs on."""
    joints: tuple[Joint, ...]
    couplings: tuple[Coupling, ...] = ()
    tendons: tuple[Tendon, ...] = ()
    actuators: tuple[Actuator, ...]
    tips: tuple[Tip, ...] = ()
    palm: PalmFrame
    palette: Palette
    no_contact: tuple[tuple[str, str], ...] = ()
    """Pairs of links that touch by construction and are left alone by the collision."""
    poses: Mapping[str, tuple[float, ...]] = field(default_factory=dict)
    """Named postures, a closing fraction per actuator."""
    variants: Mapping[str, tuple[Coupling | Joint | Pad, ...]] = field(default_factory=dict)
    """Other published coupling laws, other joints (a softer flexure) or other pads, by name; the spec's own are the
    default.

    Couplings and pads take the place of all couplings and all pads, joints that of the joints of the same name.
    """
    notes: tuple[str, ...] = ()
    """What sources disagree about, and what was taken."""
    own_model: OwnModel | None = None
    """The user's own body for this hand, if any; links, joints and visuals above then only describe the mechanism."""

    def __post_init__(self) -> None:
        """Refuse a name that parts of a world could not begin with: theirs are the hand's, ``/`` and their own."""
        if not self.name or "/" in self.name:
            raise BadValue("name of a hand", self.name, "one without '/'")

    def joint(self, name: str) -> Joint:
        """The joint of that name."""
        return _named("joint", name, self.joints)

    def joints_to(self, link: str) -> list[Joint]:
        """Joints from the root to a link."""
        above, chain = {joint.child: joint for joint in self.joints}, list[Joint]()
        while link in above:
            chain.insert(0, above[link])
            link = above[link].parent
        return chain

    @property
    def joint_names(self) -> tuple[str, ...]:
        """Names of all joints, in order."""
        return tuple(joint.name for joint in self.joints)

    @property
    def actuator_names(self) -> tuple[str, ...]:
        """Names of all actuators, in the maker's order."""
        return tuple(actuator.name for actuator in self.actuators)

    @property
    def open_rad(self) -> FloatArray:
        """Angle of each actuator with the hand open [rad]."""
        return np.array([a.open_rad for a in self.actuators])

    @property
    def closed_rad(self) -> FloatArray:
        """Angle of each actuator with the hand closed [rad]."""
        return np.array([a.closed_rad for a in self.actuators])

    @property
    def top_speed_rad_s(self) -> FloatArray:
        """Largest speed of each actuator [rad/s]."""
        return np.array([a.top_speed_rad_s for a in self.actuators])

    @property
    def mass_kg(self) -> float:
        """Mass of the whole hand [kg]."""
        return sum(link.mass_kg for link in self.links)

    def pose_fractions(self, pose: str) -> FloatArray:
        """Closing fraction per actuator of a named posture, or of numbers written as text (``0,0.5,1``)."""
        if pose in self.poses:
            return np.array(self.poses[pose])
        try:
            fractions = np.array([float(word) for word in pose.split(",")])
        except ValueError:
            raise UnknownName("pose", pose, self.poses) from None
        if fractions.size == 1:
            fractions = np.repeat(fractions, len(self.actuators))
        if fractions.size != len(self.actuators):
            wanted = f"1 or {len(self.actuators)} fractions ({', '.join(self.actuator_names)})"
            raise BadValue("pose", pose, wanted)
        if not np.all((fractions >= 0.0) & (fractions <= 1.0)):
            raise BadValue("pose", pose, "fractions from 0 (open) to 1 (closed)")
        return fractions

    def followers(self, actuator: str) -> tuple[str, ...]:
        """Joints that follow the one a motor turns."""
        driven = _named("actuator", actuator, self.actuators).drives
        tendon = next((one for one in self.tendons if one.name == driven), None)
        joints = [joint for joint, _ in tendon.joints] if tendon else [driven]
        for coupling in self.couplings:  # drivers come before what they drive
            if coupling.driver in joints:
                joints.append(coupling.joint)
        return tuple(joints[1:])

    def joint_angles(self, actuator_rad: FloatArray) -> dict[str, float]:
        """Angle of every joint when each motor stands at ``actuator_rad`` and nothing pushes back [rad]."""
        tendons = {tendon.name: tendon for tendon in self.tendons}
        joints = {joint.name: joint for joint in self.joints}
        angles = {name: min(max(0.0, joint.lower_rad), joint.upper_rad) for name, joint in joints.items()}
        for actuator, angle in zip(self.actuators, actuator_rad, strict=True):
            if actuator.drives in tendons:
                remaining = float(angle)
                for name, weight in tendons[actuator.drives].joints:
                    # The first joint of a tendon bends first: the others carry what is left over.
                    joint = joints[name]
                    angles[name] = min(max(remaining / weight, joint.lower_rad), joint.upper_rad)
                    remaining -= weight * angles[name]
            else:
                angles[actuator.drives] = float(angle)
        for coupling in self.couplings:  # drivers come before what they drive
            angles[coupling.joint] = coupling.ratio * angles[coupling.driver] + coupling.offset_rad
        return angles


def _named(kind: str, name: str, among: tuple[T, ...]) -> T:
    for part in among:
        if part.name == name:
            return part
    raise UnknownName(kind, name, [part.name for part in among])
