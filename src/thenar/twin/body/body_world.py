"""Simulated body of a humanoid: it stands on flat ground, hands on its wrists, and its drives take commands."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from thenar import hands as catalogue
from thenar.arrays import FloatArray
from thenar.errors import BadValue, look_up
from thenar.hands.rotations import (
    matrix_about,
    matrix_from_quat_wxyz,
    matrix_from_rpy,
    quat_wxyz_from_matrix,
    rotation_vector,
    rpy_from_matrix,
)
from thenar.hands.shapes import Vec3
from thenar.hands.spec import HandSpec
from thenar.humanoid.control.command_board import HandCommandPvc, JointCommand
from thenar.humanoid.model.body_spec import BodySpec
from thenar.humanoid.model.gr2 import GR2
from thenar.humanoid.model.hand_mount import PvcScale, hand_load, hand_mount
from thenar.humanoid.model.mujoco_model import GANTRY, build_spec
from thenar.humanoid.state.robot_data import RobotData
from thenar.signals import HandCommand
from thenar.sim.props import Cylinder, Prop
from thenar.sim.robot import RobotInterface
from thenar.sim.scenes import ORANGE, Scene
from thenar.sim.world_config import Flange, Robot
from thenar.twin.world import World

TIMESTEP_S = 0.0025
"""One step of the physics for one tick of the 400 Hz control."""
HAND_PERIOD_S = 0.01
"""Hands are read this often; reading a real one takes about as long."""
LIFT_M_S, LIFT_RAD_S, CLEAR_M = 0.5, 1.0, 0.1  # of the gantry: speeds, and how high it lifts the feet
STAFF = Cylinder(
    name="staff", radius_m=0.02, length_m=1.3, mass_kg=0.3, pos_m=(0.323, 0.0, 0.651), friction=1.0, colour=ORANGE
)
SCENES = {
    "flat": Scene(summary="Flat ground.", ground_m=0.0),
    "staff": Scene(summary="Flat ground, and a staff upright in front of the robot.", ground_m=0.0, props=(STAFF,)),
}


class Stand(NamedTuple):
    """Where a fixed base is."""

    xy_m: tuple[float, float]
    height_m: float
    yaw_rad: float


@dataclass(frozen=True, kw_only=True, eq=False)
class _Lift:
    """Way of a gantry from where a robot lies to where it can stand: up until its feet are clear, upright, down."""

    pos_m: FloatArray
    R: FloatArray
    turn_rad: FloatArray
    """Rotation vector from there to upright, in world axes [rad]."""
    times_s: tuple[float, float, float, float]
    """When it begins, is clear of the ground, is upright, and is down again."""
    heights_m: tuple[float, float, float, float]
    """At those times."""

    @staticmethod
    def upright(pos_m: FloatArray, R: FloatArray, stand_m: float, *, start_s: float) -> _Lift:
        """Over the same place, with the same heading."""
        turn = rotation_vector(matrix_from_rpy((0.0, 0.0, rpy_from_matrix(R)[2])) @ R.T)
        turn_s = float(np.linalg.norm(turn)) / LIFT_RAD_S
        low_m = float(pos_m[2])
        top_m = max(low_m, stand_m + CLEAR_M) if turn_s > 0.1 else low_m
        clear_s = start_s + (top_m - low_m) / LIFT_M_S
        end_s = clear_s + turn_s + abs(top_m - stand_m) / LIFT_M_S
        return _Lift(
            pos_m=pos_m,
            R=R,
            turn_rad=turn,
            times_s=(start_s, clear_s, clear_s + turn_s, end_s),
            heights_m=(low_m, top_m, top_m, stand_m),
        )

    @property
    def end_s(self) -> float:
        """When the robot can stand [s]."""
        return self.times_s[3]

    def at(self, now_s: float) -> tuple[FloatArray, FloatArray]:
        """Position and orientation (``quat_wxyz``) at a time."""
        height_m = np.interp(now_s, self.times_s, self.heights_m)
        whole = float(np.linalg.norm(self.turn_rad))
        angle = float(np.interp(now_s, self.times_s[1:3], (0.0, whole)))
        turned = matrix_about(self.turn_rad / whole, angle) if angle > 0.0 else np.eye(3)
        return np.array([*self.pos_m[:2], height_m]), quat_wxyz_from_matrix(turned @ self.R)


class BodyWorld:
    """A world with one humanoid. Everything is in the robot's joint sequence, whatever the engine's order is."""

    def __init__(
        self,
        body: BodySpec = GR2,
        *,
        hands: Sequence[str | HandSpec] = (),
        scene: str | Scene = "flat",
        props: Iterable[Prop] = (),
        fixed_at: Stand | None = None,
        start_xy_yaw: Vec3 = (0.0, 0.0, 0.0),
        armature: bool = True,
        timestep_s: float = TIMESTEP_S,
        seed: int = 0,
    ):
        """Standing in its default pose at time 0, drives without power.

        Args:
            body: The robot.
            hands: Hands on its wrists, at most one a side.
            scene: What stands around it, one of `SCENES` or of your own.
            props: Things beside what the scene has.
            fixed_at: Where its base stands still; None: it is free, and stands on its feet or hangs from a gantry.
            start_xy_yaw: Where a free one is at the start [m], and its heading [rad].
            armature: Whether the inertia of the motors' rotors counts.
            timestep_s: Step of the physics [s].
            seed: Of every random number.
        """
        specs = [catalogue.load(hand) if isinstance(hand, str) else hand for hand in hands]
        if len({spec.side for spec in specs} & {"left", "right"}) != len(specs):
            raise BadValue("hands", [spec.name for spec in specs], "at most one left and one right hand")
        surroundings = look_up(SCENES, scene, "scene") if isinstance(scene, str) else scene
        self.body = body
        self.scales = {f"{spec.side}_hand": PvcScale.of(spec) for spec in specs}
        self.robot = RobotData(
            body,
            armature=armature,
            loads=[hand_load(body, spec) for spec in specs],
            hands={name: scale.range for name, scale in self.scales.items()},
        )
        self._ground_m = surroundings.ground_m
        self._stand_m = self._ground_m + float(self.robot.base_data.pos_W[2])
        flanges = {}
        for spec in specs:
            link, pos_m, quat_wxyz = hand_mount(body, spec)
            flanges[spec.name] = Flange(body=link, pos_m=tuple(pos_m.tolist()), quat_wxyz=tuple(quat_wxyz.tolist()))
        self.world = World(
            specs,
            props=props,
            scene=surroundings,
            timestep_s=timestep_s,
            seed=seed,
            robot=Robot(
                spec=build_spec(
                    body,
                    base_height_m=fixed_at.height_m if fixed_at else self._stand_m,
                    armature=armature,
                    fixed=fixed_at is not None,
                    base_xy_yaw=(*fixed_at.xy_m, fixed_at.yaw_rad) if fixed_at else start_xy_yaw,
                ),
                flanges=flanges,
                rest_rad=dict(zip(body.joint_names, body.default_q_rad, strict=True)),
            ),
        )
        self.machine = RobotInterface(self.world.physics, base=body.root, joints=body.joint_names, weld=GANTRY)
        self._lift: _Lift | None = None
        self._hands_read_s = -np.inf
        self._carried_out: dict[str, int] = {}

    def read(self) -> None:
        """Bring `robot` up to date with the simulation; heights are over the ground."""
        q, qd, qdd = self.machine.motion()
        q[2] -= self._ground_m
        tau, stop_tau = self.machine.torques(), self.machine.stop_torques()
        now_s = self.world.time_s
        fresh = not 0.0 <= now_s - self._hands_read_s < HAND_PERIOD_S - 1e-9
        if fresh:
            self._hands_read_s = now_s
        hand_pvc = self._hand_pvc() if fresh else None
        self.robot.update(now_s, q=q, qd=qd, qdd=qdd, tau=tau, stop_tau=stop_tau, hand_pvc=hand_pvc)

    def drive(self, command: JointCommand) -> None:
        """Command the drives; they act on it at every step from now on."""
        self.machine.drive(**command._asdict())

    def drive_hand(self, name: str, command: HandCommandPvc) -> None:
        """Pass a new command on to a hand."""
        if self._carried_out.get(name) == command.number:
            return
        self._carried_out[name] = command.number
        scale = self.scales[name]
        speed = np.abs(command.pvc[1] * scale.rad_per_unit)
        self.world.command(
            scale.hand, HandCommand.to(scale.to_rad(command.pvc[0]), speed_rad_s=np.where(speed > 0.0, speed, np.nan))
        )

    def advance(self, seconds: float) -> None:
        """Let simulated time pass."""
        self.world.advance(seconds)

    def push(self, force_n: ArrayLike, link: str | None = None) -> None:
        """Push at the centre of a link (the torso unless named) with a force in world axes [N], until the next push."""
        self.machine.push(link or self.body.roles.torso, force_n)

    def hang(self, held: bool) -> None:
        """Hold the base as a gantry does and lift it until the robot can stand, or release it; call it at every tick.

        It begins where the robot is, on its feet or on its back, and does not release it halfway.
        """
        now_s = self.world.time_s
        set_back = self._lift is not None and now_s < self._lift.times_s[0]  # by a snapshot: it is elsewhere now
        if held and (set_back or not self.hangs):
            q = self.machine.motion().q
            self._lift = _Lift.upright(q[:3], matrix_from_quat_wxyz(q[[6, 3, 4, 5]]), self._stand_m, start_s=now_s)
        if self.hangs and not held and (self._lift is None or now_s >= self._lift.end_s):
            self.machine.release()
        elif self._lift is not None and (held or self.hangs):
            self.machine.hold(*self._lift.at(now_s))

    @property
    def hangs(self) -> bool:
        """Whether the gantry holds it."""
        return self.machine.held

    def foot_forces(self) -> FloatArray:
        """True forces of the ground on the feet, as in `ContactData.contact_force`. Shape (2, 6)."""
        return self.machine.forces_on(self.body.roles.feet)

    def _hand_pvc(self) -> Mapping[str, FloatArray]:
        pvc = {}
        for name, scale in self.scales.items():
            state = self.world.state(scale.hand)
            velocity = state.velocity_rad_s / scale.rad_per_unit
            current = np.nan_to_num(state.current_a)  # a motor model without currents has none
            pvc[name] = np.stack([scale.from_rad(state.angle_rad), velocity, current])
        return pvc
