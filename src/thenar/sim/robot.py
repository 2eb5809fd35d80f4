"""A machine with a base, floating or fixed: read its joints, drive its servos, feel what touches its bodies."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import mujoco
import numpy as np
from numpy.typing import ArrayLike

from thenar.arrays import FloatArray, cross
from thenar.signals import ImuReading
from thenar.sim.physics import Physics

JOINT_LIMIT = int(mujoco.mjtConstraint.mjCNSTR_LIMIT_JOINT)  # as an enumerator it is compared one by one


class Motion(NamedTuple):
    """Coordinates, velocities and accelerations of a machine: the base, then its joints in the order asked for.

    Base position in the world and quaternion x y z w; base velocity and angular velocity in base axes, and their rates.
    The engine itself tells the linear velocity in world axes and the quaternion w first.
    """

    q: FloatArray
    qd: FloatArray
    qdd: FloatArray


class RobotInterface:
    """The robot of a world, as its own computer sees it."""

    def __init__(self, physics: Physics, *, base: str, joints: Sequence[str], weld: str):
        """Look everything up by name.

        Args:
            physics: Where it is.
            base: Its base, with a free joint or fixed in the world.
            joints: Its hinges, in the order of every array; each has an actuator of the same name.
            weld: The equality that can hold a base that is free.
        """
        model = physics.model
        self._physics = physics
        found = [model.joint(name) for name in joints]
        self._qpos = np.array([joint.qposadr[0] for joint in found])
        self._dof = np.array([joint.dofadr[0] for joint in found])
        self._motor = np.array([model.actuator(name).id for name in joints])
        self.inertia_kgm2: FloatArray = model.dof_M0[self._dof]
        """About each joint, in the pose at the start [kg m^2]."""
        body = model.body(base)
        self._fixed_pose = None if body.jntnum[0] else np.concatenate([body.pos, body.quat])
        if self._fixed_pose is None:
            free = model.joint(body.jntadr[0])
            self._base_qpos, self._base_dof = int(free.qposadr[0]), int(free.dofadr[0])
            self._weld = model.equality(weld).id

    def motion(self) -> Motion:
        """Where it is and how it moves."""
        data = self._physics.data
        if self._fixed_pose is not None:
            pose, still = self._fixed_pose, np.zeros(6)
            return Motion(
                np.concatenate([pose[:3], pose[4:], pose[3:4], data.qpos[self._qpos]]),
                np.concatenate([still, data.qvel[self._dof]]),
                np.concatenate([still, data.qacc[self._dof]]),
            )
        pose = data.qpos[self._base_qpos : self._base_qpos + 7]
        twist, rate = (array[self._base_dof : self._base_dof + 6] for array in (data.qvel, data.qacc))
        R = np.empty(9)
        mujoco.mju_quat2Mat(R, pose[3:])
        R_bw = R.reshape(3, 3).T
        v_local = R_bw @ twist[:3]
        # In axes that turn with the base a velocity changes by the turning too: minus w x v.
        v_rate = R_bw @ rate[:3] - cross(twist[3:], v_local)
        return Motion(
            np.concatenate([pose[:3], pose[4:], pose[3:4], data.qpos[self._qpos]]),
            np.concatenate([v_local, twist[3:], data.qvel[self._dof]]),
            np.concatenate([v_rate, rate[3:], data.qacc[self._dof]]),
        )

    def torques(self) -> FloatArray:
        """What the motors gave during the last step [N m].

        The integrator solves for the servos at the end of a step, where the joints are now; only a motor that was at
        its strength when the step began gave just that.
        """
        model, data, motor = self._physics.model, self._physics.data, self._motor
        bias, began = model.actuator_biasprm[motor], data.actuator_force[motor]
        force = model.actuator_gainprm[motor, 0] * data.ctrl[motor] + bias[:, 0]
        force += bias[:, 1] * data.qpos[self._qpos] + bias[:, 2] * data.qvel[self._dof]
        return np.where(np.abs(began) < model.actuator_forcerange[motor, 1], force, began)

    def carrying_torques(self) -> FloatArray:
        """Torques that carry its weight as it moves now, with what is mounted on it [N m]."""
        return self._physics.data.qfrc_bias[self._dof]

    def imu(self, name: str) -> ImuReading:
        """What an IMU of its measures."""
        quat, gyro, accel = (self._physics.data.sensor(f"{name}_{kind}").data for kind in ("quat", "gyro", "accel"))
        return ImuReading(quat_wxyz=quat.copy(), gyro_rad_s=gyro.copy(), accel_m_s2=accel.copy())

    def stop_torques(self) -> FloatArray:
        """What the end stops of the joints gave during the last step [N m]."""
        model, data, torque = self._physics.model, self._physics.data, np.zeros(self._physics.model.nv)
        at_stop = data.efc_type == JOINT_LIMIT
        if at_stop.any():
            mujoco.mj_mulJacTVec(model, data, torque, np.where(at_stop, data.efc_force, 0.0))
        return torque[self._dof]

    def drive(
        self,
        *,
        position_rad: FloatArray,
        velocity_rad_s: FloatArray,
        effort_nm: FloatArray,
        kp_nm_rad: FloatArray,
        kd_nms_rad: FloatArray,
    ) -> None:
        """Tell the servos; they act on it at every step from now on, within the motors' strength."""
        model = self._physics.model
        model.actuator_gainprm[self._motor, 0] = kp_nm_rad
        model.actuator_biasprm[self._motor, 0] = kd_nms_rad * velocity_rad_s + effort_nm
        model.actuator_biasprm[self._motor, 1] = -kp_nm_rad
        model.actuator_biasprm[self._motor, 2] = -kd_nms_rad
        self._physics.data.ctrl[self._motor] = position_rad

    def hold(self, pos_m: FloatArray, quat_wxyz: FloatArray) -> None:
        """Hold the base at a pose."""
        inverse = np.empty(4)
        mujoco.mju_negQuat(inverse, quat_wxyz)
        # A point of the world, the same point of the base (a weld far from it would be soft), the world's orientation.
        self._physics.model.eq_data[self._weld, :10] = [*pos_m, 0.0, 0.0, 0.0, *inverse]
        self._physics.data.eq_active[self._weld] = True

    def release(self) -> None:
        """Let go of the base."""
        self._physics.data.eq_active[self._weld] = False

    @property
    def held(self) -> bool:
        """Whether the base is held."""
        return self._fixed_pose is not None or bool(self._physics.data.eq_active[self._weld])

    def push(self, body: str, force_n: ArrayLike) -> None:
        """Push a body at its centre with a force in world axes [N], until pushed anew."""
        self._physics.data.xfrc_applied[self._physics.model.body(body).id, :3] = force_n

    def forces_on(self, bodies: Sequence[str]) -> FloatArray:
        """Force [N] and torque about each body's origin [N m] of everything else than the robot that touches it.

        In world axes. Shape (n, 6).
        """
        model, data = self._physics.model, self._physics.data
        wanted = np.array([model.body(name).id for name in bodies])
        forces = np.zeros((len(wanted), 6))
        contacts = data.contact
        touching = model.geom_bodyid[contacts.geom]
        apart = np.diff(model.body_rootid[touching], axis=1) != 0
        one = np.zeros(6)
        for index, place in zip(*np.nonzero((touching[:, :, None] == wanted).any(axis=1) & apart), strict=True):
            mujoco.mj_contactForce(model, data, index, one)
            # The engine's force acts on the second body, in the axes of the contact.
            sign = 1.0 if touching[index, 1] == wanted[place] else -1.0
            force, torque = sign * (one.reshape(2, 3) @ contacts.frame[index].reshape(3, 3))
            arm = contacts.pos[index] - data.xpos[wanted[place]]
            forces[place] += [*force, *(torque + cross(arm, force))]
        return forces
