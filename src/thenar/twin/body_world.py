"""A humanoid in the simulator: its body stands on flat ground, hands on its wrists, its drives take commands."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import mujoco
import numpy as np
from numpy.typing import ArrayLike, NDArray

from thenar import hands as catalogue
from thenar.errors import BadValue
from thenar.hands.spec import HandSpec
from thenar.humanoid.hardware import HandCommandPvc, HandPort, JointCommand
from thenar.humanoid.model.gr2 import GR2
from thenar.humanoid.model.mujoco_model import FLOATING_BASE, GANTRY, build_spec, hand_load, seat_hand
from thenar.humanoid.model.spec import BodySpec
from thenar.humanoid.robot_data import RobotData
from thenar.humanoid.vendor_hands import PvcScale
from thenar.signals import HandCommand
from thenar.sim.building import Carrier, Flange
from thenar.sim.props import Prop
from thenar.sim.scenes import Scene
from thenar.twin.world import World

FloatArray = NDArray[np.float64]

TIMESTEP_S = 0.0025
"""One step of the physics for one tick of the 400 Hz control."""
GROUND = Scene(summary="Flat ground.", ground_m=0.0)


class BodyWorld:
    """A world with one humanoid. Everything is in the robot's joint sequence, whatever the engine's order is."""

    def __init__(
        self,
        body: BodySpec = GR2,
        *,
        hands: Sequence[str | HandSpec] = (),
        props: Iterable[Prop] = (),
        armature: bool = True,
        timestep_s: float = TIMESTEP_S,
        seed: int = 0,
    ):
        """Standing in its default pose at time 0, drives without power.

        Args:
            body: The robot.
            hands: Hands on its wrists, at most one a side.
            props: Things around it.
            armature: Whether the inertia of the motors' rotors counts.
            timestep_s: Step of the physics [s].
            seed: Of every random number.
        """
        specs = [catalogue.load(hand) if isinstance(hand, str) else hand for hand in hands]
        if len({spec.side for spec in specs} & {"left", "right"}) != len(specs):
            raise BadValue("hands", [spec.name for spec in specs], "at most one left and one right hand")
        self.body = body
        self.scales = {f"{spec.side}_hand": PvcScale.of(spec) for spec in specs}
        loads = [hand_load(body, spec) for spec in specs]
        ports: dict[str, HandPort] = {name: scale.port(name) for name, scale in self.scales.items()}
        self.robot = RobotData(body, armature=armature, loads=loads, hands=ports)
        flanges = {}
        for spec in specs:
            seat = seat_hand(body, spec)
            flanges[spec.name] = Flange(body=seat.link, pos_m=seat.pos_m, quat_wxyz=seat.quat_wxyz)
        self.world = World(
            specs,
            props=props,
            scene=GROUND,
            timestep_s=timestep_s,
            seed=seed,
            carrier=Carrier(
                spec=build_spec(body, base_height_m=float(self.robot.base_data.pos_W[2]), armature=armature),
                flanges=flanges,
                rest_rad=dict(zip(body.joint_names, body.default_q_rad, strict=True)),
            ),
        )
        model = self.world.model
        joints = [model.joint(name) for name in body.joint_names]
        self._qpos = np.array([joint.qposadr[0] for joint in joints])
        self._dof = np.array([joint.dofadr[0] for joint in joints])
        self._motor = np.array([model.actuator(name).id for name in body.joint_names])
        base = model.joint(FLOATING_BASE)
        self._base_qpos, self._base_dof = int(base.qposadr[0]), int(base.dofadr[0])
        self._root = model.body(body.root).id
        self._feet = np.array([model.body(name).id for name in body.roles.feet])
        self._gantry = model.equality(GANTRY).id
        self._seen: dict[str, int] = {}

    def read(self) -> None:
        """Bring `robot` up to date with the simulation."""
        data = self.world.data
        q, qd, qdd = self.state()
        self.robot.update(
            self.world.time_s, q=q, qd=qd, qdd=qdd, tau=data.actuator_force[self._motor], hand_pvc=self._hand_pvc()
        )

    def state(self) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Generalized coordinates, velocities and accelerations, in the conventions of `GeneralizedState`.

        The engine tells the base's linear velocity in world axes and its quaternion w first.
        """
        data = self.world.data
        pose = data.qpos[self._base_qpos : self._base_qpos + 7]
        twist, rate = (array[self._base_dof : self._base_dof + 6] for array in (data.qvel, data.qacc))
        R = np.empty(9)
        mujoco.mju_quat2Mat(R, pose[3:])
        R_bw = R.reshape(3, 3).T
        v_local = R_bw @ twist[:3]
        q = np.concatenate([pose[:3], pose[4:], pose[3:4], data.qpos[self._qpos]])
        qd = np.concatenate([v_local, twist[3:], data.qvel[self._dof]])
        # In axes that turn with the base a velocity changes by the turning too.
        v_rate = R_bw @ rate[:3] - np.cross(twist[3:], v_local)
        return q, qd, np.concatenate([v_rate, rate[3:], data.qacc[self._dof]])

    def drive(self, command: JointCommand) -> None:
        """Tell the drives; they act on it at every step from now on."""
        model, data = self.world.model, self.world.data
        kp, kd = command.kp_nm_rad, command.kd_nms_rad
        model.actuator_gainprm[self._motor, 0] = kp
        model.actuator_biasprm[self._motor, 0] = kd * command.velocity_rad_s + command.effort_nm
        model.actuator_biasprm[self._motor, 1] = -kp
        model.actuator_biasprm[self._motor, 2] = -kd
        data.ctrl[self._motor] = command.position_rad

    def drive_hand(self, name: str, command: HandCommandPvc) -> None:
        """Pass a new command on to a hand."""
        if self._seen.get(name) == command.number:
            return
        self._seen[name] = command.number
        scale = self.scales[name]
        speed = np.abs(command.pvc[1]) * scale.rad_per_unit
        self.world.command(
            scale.hand, HandCommand.to(scale.to_rad(command.pvc[0]), speed_rad_s=np.where(speed > 0.0, speed, np.nan))
        )

    def advance(self, seconds: float) -> None:
        """Let simulated time pass."""
        self.world.advance(seconds)

    def push(self, force_n: ArrayLike, link: str | None = None) -> None:
        """Push at the centre of a link (the torso unless named) with a force in world axes [N], until pushed anew."""
        body = self.world.model.body(link or self.body.roles.torso).id
        self.world.data.xfrc_applied[body, :3] = force_n

    def hang(self, held: bool) -> None:
        """Hold the base where it is, as a gantry does, or let go of it."""
        model, data = self.world.model, self.world.data
        if held and not data.eq_active[self._gantry]:
            pose = data.qpos[self._base_qpos : self._base_qpos + 7]
            inverse, place = np.empty(4), np.empty(3)
            mujoco.mju_negQuat(inverse, pose[3:])
            mujoco.mju_rotVecQuat(place, -pose[:3], inverse)
            # Anchor, then the world as the base sees it.
            model.eq_data[self._gantry, :10] = [0.0, 0.0, 0.0, *place, *inverse]
        data.eq_active[self._gantry] = held

    @property
    def hangs(self) -> bool:
        """Whether the gantry holds it."""
        return bool(self.world.data.eq_active[self._gantry])

    def foot_forces(self) -> FloatArray:
        """What the ground really does to the feet, as in `ContactData.contact_force`. Shape (2, 6)."""
        model, data = self.world.model, self.world.data
        forces = np.zeros((2, 6))
        contacts = data.contact
        bodies = model.geom_bodyid[contacts.geom]
        one = np.zeros(6)
        for index, side in zip(*np.nonzero((bodies[:, :, None] == self._feet).any(axis=1)), strict=True):
            mujoco.mj_contactForce(model, data, index, one)
            # The engine's force acts on the second body, in the axes of the contact.
            sign = 1.0 if bodies[index, 1] == self._feet[side] else -1.0
            force, torque = sign * (one.reshape(2, 3) @ contacts.frame[index].reshape(3, 3))
            forces[side, :3] += force
            forces[side, 3:] += torque + np.cross(contacts.pos[index] - data.xpos[self._feet[side]], force)
        return forces

    def _hand_pvc(self) -> Mapping[str, FloatArray]:
        pvc = {}
        for name, scale in self.scales.items():
            state = self.world.state(scale.hand)
            speed = state.velocity_rad_s / scale.rad_per_unit * scale.sign
            pvc[name] = np.stack([scale.from_rad(state.angle_rad), speed, state.current_a])
        return pvc
