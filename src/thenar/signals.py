"""The values that flow between the rooms: small, frozen, stamped, in SI units and radians.

Arrays are per actuator in the hand's own order unless a field says otherwise. ``stamp_s`` is the time of
the measurement in seconds of the twin's clock. Vendor counts exist only in ``wire``.
"""

from __future__ import annotations

import enum
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from thenar import display
from thenar.errors import BadCommand, BadValue, UnknownName

FloatArray = NDArray[np.float64]
MOST_MAPS = 3  # heat maps in a printed frame; the other pads are a line each


class MotorStatus(enum.IntEnum):
    """What a motor is doing, with the codes of the Inspire hand (there is no 4)."""

    RELEASING = 0
    GRASPING = 1
    POSITION_REACHED = 2
    FORCE_REACHED = 3
    CURRENT_PROTECTION = 5
    STALLED = 6
    FAULT = 7


class MotorError(enum.IntFlag):
    """What is wrong with a motor, with the bits of the Inspire hand."""

    NONE = 0
    STALL = 1
    OVER_TEMPERATURE = 2
    OVER_CURRENT = 4
    MOTOR = 8
    COMMUNICATION = 16


class SolidKind(enum.IntEnum):
    """Shapes that can touch. Each is convex; a body may have several."""

    SPHERE = 0
    CAPSULE = 1
    CYLINDER = 2
    BOX = 3
    ROUNDED_BOX = 4
    ELLIPSOID = 5
    PLANE = 6
    HULL = 7
    FIELD = 8


SOLID = np.dtype(
    [
        ("kind", np.int64),
        ("size_m", np.float64, 4),
        ("pos_m", np.float64, 3),
        ("R", np.float64, (3, 3)),
        ("body", np.int64),
        ("first", np.int64),
        ("count", np.int64),
    ]
)
"""One convex solid with its pose in the world.

``size_m``: sphere radius; capsule and cylinder radius, half length (along z); box half edges; rounded box inner half
edges and radius; ellipsoid radii. A hull owns ``count`` planes from ``first`` on; a field owns ``count``^3 distances
there, over a cube of half edge ``size_m[0]``. ``body`` numbers the rigid body the solid belongs to.
"""


GloveSide = Literal["left", "right"]
GloveLayout = Literal["nodes21", "manus25"]
FINGER_NODES: dict[GloveLayout, tuple[int, ...]] = {
    "nodes21": tuple(range(21)),
    # The Manus skeleton has one more node at the base of each finger's metacarpal.
    "manus25": (0, 1, 2, 3, 4, 6, 7, 8, 9, 11, 12, 13, 14, 16, 17, 18, 19, 21, 22, 23, 24),
}
"""Nodes of each layout in the order of 21: root, then four from root to tip of thumb, index, middle, ring, little."""


@dataclass(frozen=True, kw_only=True, eq=False)
class GloveFrame:
    """A person's hand at one instant, in palm axes: z towards the fingers, y out of the back of the hand, x = y x z.

    The thumb of a right hand is then on the side of +x, that of a left hand on the side of -x.
    """

    stamp_s: float
    """Time of the measurement [s]."""
    side: GloveSide
    layout: GloveLayout
    position_m: FloatArray
    """Nodes from the root node [m]. Shape (21 or 25, 3)."""
    quat_wxyz: FloatArray
    """Orientation of each node. Shape (21 or 25, 4)."""

    @property
    def finger_m(self) -> FloatArray:
        """The nodes common to all layouts [m]. Shape (21, 3)."""
        return self.position_m[list(FINGER_NODES[self.layout])]


@dataclass(frozen=True, kw_only=True, eq=False)
class HandCommand:
    """What a hand is asked to do. NaN leaves an entry as it is."""

    target_rad: FloatArray
    """Where each actuator should go [rad]; NaN holds the target it has."""
    speed_rad_s: FloatArray
    """How fast it may go [rad/s]; NaN keeps the speed it has."""
    force_limit_n: FloatArray
    """Force at which it stops [N]; NaN keeps the limit it has."""

    @staticmethod
    def to(
        target_rad: ArrayLike,
        *,
        speed_rad_s: ArrayLike = np.nan,
        force_limit_n: ArrayLike = np.nan,
    ) -> HandCommand:
        """Command from plain numbers; a single speed or limit serves every actuator."""
        target = np.atleast_1d(np.asarray(target_rad, dtype=np.float64)).copy()
        return HandCommand(
            target_rad=target,
            speed_rad_s=_spread("speed_rad_s", speed_rad_s, target.size),
            force_limit_n=_spread("force_limit_n", force_limit_n, target.size),
        )

    @staticmethod
    def closing(fraction: ArrayLike, *, speed: ArrayLike = np.nan, force_limit_n: ArrayLike = np.nan) -> Closing:
        """Close by a fraction of the stroke (0 open, 1 closed) at a fraction of the top speed.

        It fits any hand: the world turns it into radians of the hand it is sent to.
        """
        return Closing(fraction=fraction, speed=speed, force_limit_n=force_limit_n)


@dataclass(frozen=True, kw_only=True, eq=False)
class Closing:
    """A command in fractions of the stroke, for any hand; one number or one per actuator."""

    fraction: ArrayLike
    """0 is open, 1 is closed; NaN holds."""
    speed: ArrayLike = np.nan
    """Fraction of the top speed; NaN keeps."""
    force_limit_n: ArrayLike = np.nan
    """Force at which a motor stops [N]; NaN keeps."""

    def in_radians(self, *, open_rad: FloatArray, closed_rad: FloatArray, top_speed_rad_s: FloatArray) -> HandCommand:
        """The same command for a hand with these end stops and speeds."""
        fraction = _spread("fraction", self.fraction, open_rad.size)
        speed = _spread("speed", self.speed, open_rad.size)
        for name, values in (("fraction", fraction), ("speed", speed)):
            if np.any((values < 0.0) | (values > 1.0)):
                raise BadValue(name, values.tolist(), "numbers from 0 to 1 (or NaN)")
        return HandCommand(
            target_rad=open_rad + fraction * (closed_rad - open_rad),
            speed_rad_s=speed * top_speed_rad_s,
            force_limit_n=_spread("force_limit_n", self.force_limit_n, open_rad.size),
        )


@dataclass(frozen=True, kw_only=True, eq=False)
class HandState:
    """What a hand reports. A value the real hand does not measure is NaN, never an invented zero."""

    stamp_s: float
    """Time of the measurement [s]."""
    actuator_names: tuple[str, ...]
    """Name of each actuator, in the order of the arrays."""
    angle_rad: FloatArray
    """Angle of the driven joint or tendon [rad]."""
    velocity_rad_s: FloatArray
    """Its velocity [rad/s]."""
    force_n: FloatArray
    """Force the motor's sensor reports, positive while closing pushes on something [N]."""
    torque_nm: FloatArray
    """Torque at the driven joint or tendon, positive in the joint's own direction [N m]."""
    current_a: FloatArray
    """Motor current [A]."""
    temperature_c: FloatArray
    """Motor temperature [degrees Celsius]."""
    status: NDArray[np.int64]
    """`MotorStatus` of each actuator."""
    error: NDArray[np.int64]
    """`MotorError` bits of each actuator."""
    joint_names: tuple[str, ...]
    """Name of every joint, driven and coupled."""
    joint_rad: FloatArray
    """Angle of every joint [rad]."""
    joint_velocity_rad_s: FloatArray
    """Velocity of every joint [rad/s]."""

    def __repr__(self) -> str:
        return f"HandState at {self.stamp_s:.3f} s\n{display.table_text(*self._table())}"

    def _repr_html_(self) -> str:
        return f"<p>HandState at {self.stamp_s:.3f} s</p>{display.table_html(*self._table())}"

    def _table(self) -> tuple[list[str], list[list[object]]]:
        names = ("angle_rad", "velocity_rad_s", "force_n", "torque_nm", "current_a", "temperature_c")
        numbers = np.column_stack([getattr(self, name) for name in names])
        rows = [
            [motor, *row, MotorStatus(status).name, MotorError(int(error)).name or "NONE"]
            for motor, row, status, error in zip(self.actuator_names, numbers, self.status, self.error, strict=True)
        ]
        return ["motor", *names, "status", "error"], rows


@dataclass(frozen=True, kw_only=True, eq=False)
class HandSettings:
    """What a hand has been told, commands still under way included."""

    target_rad: FloatArray
    """Where each actuator was sent last [rad]."""
    speed_rad_s: FloatArray
    """How fast it may go [rad/s]."""
    force_limit_n: FloatArray
    """Force at which it stops [N]."""
    current_limit_a: FloatArray
    """Current at which protection stops it [A]; 0 for a hand that measures none."""
    zeroing: bool
    """True while the force sensors look for their zero."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Request:
    """What a client asks of a hand."""

    hand: str
    sender: str
    """Who asks, in words for people."""
    arrived_s: float
    """When it arrived, by `time.perf_counter` [s]."""
    command: HandCommand | None = None
    clear_errors: bool = False
    zero_force: bool = False
    current_limit_a: FloatArray | None = None
    """New current limits, one per actuator [A]."""


@dataclass(frozen=True, kw_only=True, eq=False)
class ContactSet:
    """Contacts of one instant, in world axes. Shapes use n = contacts.

    Force and normal are written from the side of `body`: the normal points out of it into `partner`, and
    `force_n` acts on it.
    """

    stamp_s: float
    """Time of the contacts [s]."""
    body: tuple[str, ...]
    """The body the force acts on: the hand's link where a hand takes part."""
    partner: tuple[str, ...]
    """The other body."""
    position_m: FloatArray
    """Contact point [m]. Shape (n, 3)."""
    normal: FloatArray
    """Unit vector out of `body` into `partner`. Shape (n, 3)."""
    force_n: FloatArray
    """Whole contact force on `body` [N]. Shape (n, 3)."""
    normal_force_n: FloatArray
    """Size of its normal part, never negative [N]. Shape (n,)."""
    tangent_force_n: FloatArray
    """Its friction part [N]. Shape (n, 3)."""
    friction: FloatArray
    """Sliding friction coefficient of the pair. Shape (n,)."""
    depth_m: FloatArray
    """Overlap of the two shapes, positive when they interpenetrate [m]. Shape (n,)."""

    def __len__(self) -> int:
        """Number of contacts."""
        return len(self.body)

    def where(self, keep: Sequence[bool]) -> ContactSet:
        """Only the contacts marked in ``keep``."""
        chosen = np.flatnonzero(np.asarray(keep, dtype=bool))
        return ContactSet(
            stamp_s=self.stamp_s,
            body=tuple(self.body[i] for i in chosen),
            partner=tuple(self.partner[i] for i in chosen),
            position_m=self.position_m[chosen],
            normal=self.normal[chosen],
            force_n=self.force_n[chosen],
            normal_force_n=self.normal_force_n[chosen],
            tangent_force_n=self.tangent_force_n[chosen],
            friction=self.friction[chosen],
            depth_m=self.depth_m[chosen],
        )


@dataclass(frozen=True, kw_only=True, eq=False)
class SolidContacts:
    """Contacts of one instant between numbered solids, as the skin needs them. Shapes use n = contacts."""

    stamp_s: float
    """Time of the contacts [s]."""
    solids: NDArray[np.void]
    """Every solid of the world, records of `SOLID`."""
    body_pos_m: FloatArray
    """Origin of every body in the world [m]. Shape (bodies, 3)."""
    body_R: FloatArray
    """Orientation of every body in the world. Shape (bodies, 3, 3)."""
    planes: FloatArray
    """Planes of all hulls: normal and distance, in the solid's frame. Shape (planes, 4)."""
    field_m: FloatArray
    """Distances of all fields [m]."""
    pair: NDArray[np.int64]
    """Numbers of the two solids. Shape (n, 2)."""
    position_m: FloatArray
    """Contact point in the world [m]. Shape (n, 3)."""
    normal: FloatArray
    """Unit vector out of the first solid into the second. Shape (n, 3)."""
    force_n: FloatArray
    """Contact force on the second solid, in world axes [N]. Shape (n, 3)."""


@dataclass(frozen=True, kw_only=True)
class PadLayout:
    """Where a pad's taxels stand in flat arrays."""

    name: str
    first: int
    rows: int
    cols: int

    def of(self, flat: NDArray[Any]) -> NDArray[Any]:
        """The pad's part of a flat array. Shape (rows, cols, ...)."""
        return flat[self.first : self.first + self.rows * self.cols].reshape(self.rows, self.cols, *flat.shape[1:])


@dataclass(frozen=True, kw_only=True, eq=False)
class TouchFrame:
    """What the skin of a hand feels at one instant; ``frame["index_top"]`` is that pad's pressure map."""

    stamp_s: float
    """Time of the contacts it was computed from [s]."""
    layout: tuple[PadLayout, ...]
    """Pads, in the order of the arrays."""
    taxel_pressure_pa: FloatArray
    """Normal pressure of every taxel of every pad, one after the other [Pa]."""
    taxel_shear_pa: FloatArray
    """Friction along rows and columns of every taxel [Pa]. Shape (taxels, 2)."""
    pad_force_n: FloatArray
    """Normal force on each pad [N]."""
    pad_centre_m: FloatArray
    """Where each pad is pressed, along rows and columns from its centre [m]; NaN where nothing touches."""
    bare_skin_n: float
    """Normal force that fell beside every pad [N]."""
    contact_n: float
    """Normal force of all contacts on the skin [N]: the sum of `force_n` and `bare_skin_n`."""
    read_counts: Callable[[], NDArray[np.int64]]
    """Reads the sensor of every taxel; asked for only when somebody looks. Of barometers: pascals above ambient."""
    die_pressure_pa: FloatArray = field(default_factory=lambda: np.zeros(0))
    """Absolute pressure at every barometer's die, pad after pad [Pa]; empty for a hand without barometers.

    The ReFlex hand has 38, in the order of its driver: finger 1 from base to tip (9), finger 2, finger 3, palm (11). So
    ``die_pressure_pa[:27].reshape(3, 9)`` are the fingers' and ``die_pressure_pa[27:]`` the palm's. What the chip and
    the firmware make of them is the wire's business.
    """
    die_temperature_c: FloatArray = field(default_factory=lambda: np.zeros(0))
    """Temperature of every barometer's die, in the same order [degrees Celsius]."""

    def __getitem__(self, pad: str) -> FloatArray:
        """Pressure map of a pad [Pa]. Shape (rows, cols)."""
        if pad not in self.pressure_pa:
            raise UnknownName("pad", pad, self.pressure_pa)
        return self.pressure_pa[pad]

    @cached_property
    def pressure_pa(self) -> dict[str, FloatArray]:
        """Normal pressure of every taxel [Pa], by pad. Shape (rows, cols)."""
        return {pad.name: pad.of(self.taxel_pressure_pa) for pad in self.layout}

    @cached_property
    def shear(self) -> dict[str, FloatArray]:
        """Friction on every taxel along rows and columns [Pa], by pad. Shape (rows, cols, 2)."""
        return {pad.name: pad.of(self.taxel_shear_pa) for pad in self.layout}

    @cached_property
    def force_n(self) -> dict[str, float]:
        """Normal force on each pad [N]."""
        return {pad.name: float(force) for pad, force in zip(self.layout, self.pad_force_n, strict=True)}

    @cached_property
    def centre_of_pressure_m(self) -> dict[str, tuple[float, float]]:
        """Where a pad is pressed, along rows and columns from its centre [m]; NaN where nothing touches."""
        return {pad.name: (float(u), float(v)) for pad, (u, v) in zip(self.layout, self.pad_centre_m, strict=True)}

    @cached_property
    def taxel_counts(self) -> NDArray[np.int64]:
        """What the sensor of every taxel says, pad after pad."""
        return self.read_counts()

    @cached_property
    def counts(self) -> dict[str, NDArray[np.int64]]:
        """What the sensor says, by pad. Shape (rows, cols)."""
        return {pad.name: pad.of(self.taxel_counts) for pad in self.layout}

    def __repr__(self) -> str:
        pressed = self._pressed()
        top = max((float(self[pad].max()) for pad in pressed), default=0.0)
        blocks = [self._headline()]
        for pad in pressed[:MOST_MAPS]:
            blocks.append("\n".join([self._caption(pad), *display.map_text(self[pad], top)]))
        blocks += [self._caption(pad) for pad in pressed[MOST_MAPS:]]
        return "\n".join(blocks)

    def _repr_html_(self) -> str:
        top = max((float(self[pad].max()) for pad in self._pressed()), default=0.0)
        maps = [display.map_html(self._caption(pad.name), self[pad.name], top) for pad in self.layout]
        return f"<p>{self._headline()}</p>{''.join(maps)}"

    def _pressed(self) -> list[str]:
        """Pads with force on them, the strongest first."""
        return sorted((pad for pad, force in self.force_n.items() if force > 0.0), key=lambda pad: -self.force_n[pad])

    def _headline(self) -> str:
        return (
            f"TouchFrame at {self.stamp_s:.3f} s: {self.pad_force_n.sum():.2f} N on {len(self._pressed())} of "
            f"{len(self.layout)} pads, {self.bare_skin_n:.2f} N on bare skin"
        )

    def _caption(self, pad: str) -> str:
        return f"{pad} {self.force_n[pad]:.2f} N, up to {self[pad].max() / 1e3:.1f} kPa"


def _spread(name: str, value: ArrayLike, size: int) -> FloatArray:
    """One number for every actuator, or one number each."""
    array = np.asarray(value, dtype=np.float64)
    if array.ndim == 0:
        return np.full(size, float(array))
    if array.shape != (size,):
        raise BadCommand(f"{name} has {array.size} values; this command is for {size} actuators")
    return array.copy()


@dataclass(frozen=True, kw_only=True, eq=False)
class GroupCommand:
    """Positions for the joints of one control group of a body, or for one of its hands; empty arrays: not given."""

    group: str
    position: FloatArray
    velocity: FloatArray
    effort: FloatArray


@dataclass(frozen=True, kw_only=True, eq=False)
class GroupGains:
    """Gains of the servos of one control group; empty arrays: as they are."""

    group: str
    kp_nm_rad: FloatArray
    kd_nms_rad: FloatArray
    position_mode: tuple[FloatArray, FloatArray, FloatArray] | None = None
    """Proportional, integral and derivative gains of the position mode; None: as they are."""


@dataclass(frozen=True, kw_only=True, eq=False)
class MoveRequest:
    """A move of the upper body at a share of full speed."""

    kind: str
    """``joints``, ``pose`` (a hand, any way) or ``line`` (a hand, straight)."""
    joints_rad: dict[str, FloatArray]
    """Goal of each group [rad]; groups that are not named stay where they are."""
    pose: dict[str, FloatArray]
    """Goal of each arm's hand relative to the base: position [m], quaternion x y z w. Shape (7,)."""
    speed: dict[str, float]
    """Share of the full speed, above 0 to 1, by group."""


@dataclass(frozen=True, kw_only=True, eq=False)
class BodyRequest:
    """What somebody asks of a humanoid; fields that are None are not asked for."""

    sender: str
    arrived_s: float
    """When it came, on the clock of `time.perf_counter`."""
    whole_body_state: int | None = None
    upper_body_state: int | None = None
    velocity_source: int | None = None
    velocity: tuple[float, float, float, float] | None = None
    """Forwards, to the left [m/s], turning to the left [rad/s], and for how long [s]."""
    stand_pose: tuple[float, float, float] | None = None
    """Height against the default [m], pitch and yaw [rad]."""
    groups: tuple[GroupCommand, ...] = ()
    gains: tuple[GroupGains, ...] = ()
    move: MoveRequest | None = None


@dataclass(frozen=True, kw_only=True, eq=False)
class GroupReport:
    """One control group of a body, or a hand."""

    position: FloatArray
    velocity: FloatArray
    effort: FloatArray
    """Torque [N m]; of a hand its current [A]."""
    moving: bool
    kp_nm_rad: FloatArray
    kd_nms_rad: FloatArray
    position_mode: FloatArray
    """Proportional, integral and derivative gains of the position mode. Shape (3, n)."""
    powered: bool


@dataclass(frozen=True, kw_only=True, eq=False)
class BodyReport:
    """What a humanoid reports."""

    stamp_s: float
    whole_body_state: int
    upper_body_state: int
    velocity_source: int
    allow_upper_body_override: bool
    stable_level: int
    stand_pose: FloatArray
    groups: dict[str, GroupReport]
    """Groups in the robot's order, then the hands."""
    hands: dict[str, tuple[FloatArray, FloatArray, FloatArray]]
    """Of each arm's hand relative to the base: pose (7,), twist (6,), wrench (6,)."""
    base: dict[str, FloatArray]
    """Members of ``BaseData`` by name."""
    contact_force: FloatArray
    """Estimated. Shape (2, 6)."""
    contact_prob: FloatArray
    true_contact_n: FloatArray
    """Vertical force on each foot as the simulator knows it [N]. Shape (2,)."""
