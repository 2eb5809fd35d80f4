"""Simulated body of a humanoid: it stands on flat ground, hands on its wrists, and its drives take commands."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import numpy as np
from numpy.typing import ArrayLike

from thenar import hands as catalogue
from thenar.arrays import FloatArray
from thenar.errors import BadValue, UnknownName
from thenar.hands.spec import HandSpec
from thenar.humanoid.control.board import HandCommandPvc, JointCommand
from thenar.humanoid.model.body_spec import BodySpec
from thenar.humanoid.model.gr2 import GR2
from thenar.humanoid.model.hand_mount import PvcScale, hand_load, hand_mount
from thenar.humanoid.model.mujoco_model import FLOATING_BASE, GANTRY, build_spec
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
STAFF = Cylinder(
    name="staff", radius_m=0.02, length_m=1.3, mass_kg=0.3, pos_m=(0.323, 0.0, 0.651), friction=1.0, colour=ORANGE
)
SCENES = {
    "flat": Scene(summary="Flat ground.", ground_m=0.0),
    "staff": Scene(summary="Flat ground, and a staff upright in front of the robot.", ground_m=0.0, props=(STAFF,)),
}


class BodyWorld:
    """A world with one humanoid. Everything is in the robot's joint sequence, whatever the engine's order is."""

    def __init__(
        self,
        body: BodySpec = GR2,
        *,
        hands: Sequence[str | HandSpec] = (),
        scene: str = "flat",
        props: Iterable[Prop] = (),
        armature: bool = True,
        timestep_s: float = TIMESTEP_S,
        seed: int = 0,
    ):
        """Standing in its default pose at time 0, drives without power.

        Args:
            body: The robot.
            hands: Hands on its wrists, at most one a side.
            scene: What stands around it, see `SCENES`.
            props: Things beside what the scene has.
            armature: Whether the inertia of the motors' rotors counts.
            timestep_s: Step of the physics [s].
            seed: Of every random number.
        """
        specs = [catalogue.load(hand) if isinstance(hand, str) else hand for hand in hands]
        if len({spec.side for spec in specs} & {"left", "right"}) != len(specs):
            raise BadValue("hands", [spec.name for spec in specs], "at most one left and one right hand")
        if scene not in SCENES:
            raise UnknownName("scene", scene, SCENES)
        self.body = body
        self.scales = {f"{spec.side}_hand": PvcScale.of(spec) for spec in specs}
        self.robot = RobotData(
            body,
            armature=armature,
            loads=[hand_load(body, spec) for spec in specs],
            hands={name: scale.range for name, scale in self.scales.items()},
        )
        flanges = {}
        for spec in specs:
            link, quat_wxyz = hand_mount(body, spec)
            flanges[spec.name] = Flange(body=link, pos_m=(0.0, 0.0, 0.0), quat_wxyz=tuple(quat_wxyz.tolist()))
        self.world = World(
            specs,
            props=props,
            scene=SCENES[scene],
            timestep_s=timestep_s,
            seed=seed,
            robot=Robot(
                spec=build_spec(body, base_height_m=float(self.robot.base_data.pos_W[2]), armature=armature),
                flanges=flanges,
                rest_rad=dict(zip(body.joint_names, body.default_q_rad, strict=True)),
            ),
        )
        self.machine = RobotInterface(
            self.world.physics, base_joint=FLOATING_BASE, joints=body.joint_names, weld=GANTRY
        )
        self._hands_read_s = -np.inf
        self._carried_out: dict[str, int] = {}

    def read(self) -> None:
        """Bring `robot` up to date with the simulation."""
        q, qd, qdd = self.machine.motion()
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
        """Hold the base where it is, as a gantry does, or release it."""
        self.machine.hold(held)

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
            pvc[name] = np.stack([scale.from_rad(state.angle_rad), velocity, state.current_a])
        return pvc
