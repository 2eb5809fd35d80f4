"""Who drives the motors of a body that clients command directly: a client, the arms' client, or the robot itself."""

from __future__ import annotations

from collections import Counter

import numpy as np

from thenar.arrays import FloatArray
from thenar.errors import BadValue
from thenar.humanoid.control.command_board import JointCommand
from thenar.humanoid.model.body_spec import BodySpec
from thenar.signals import MotorTargets

UPPER_BODY = ("waist", "left_manipulator", "right_manipulator")
"""What a client of the arms alone commands."""


class LowLevel:
    """Chooses what drives the motors, tick by tick.

    A command of the whole body counts alone. A command of the arms shares them, by its weight, with what the robot
    does by itself; without any command that is everything: hold the joints where they are, damp them, or nothing. The
    legs of a robot that balances are not held but do what its balance says.
    """

    def __init__(self, body: BodySpec, *, gains: str):
        """Hold the pose that comes first.

        Args:
            body: The robot.
            gains: Which of its published gains hold it.
        """
        self._body = body
        self._lower, self._upper = body.per_joint("lower_rad"), body.per_joint("upper_rad")
        self._speed, self._effort = body.per_joint("speed_rad_s"), body.per_joint("effort_nm")
        self._kp, self._kd = np.array(body.gains[gains].kp_nm_rad), np.array(body.gains[gains].kd_nms_rad)
        self._arms = np.zeros(len(body.hinges), dtype=bool)
        for group in UPPER_BODY:
            self._arms[body.group_slice(group)] = True
        self.mode = "hold"
        """What it does by itself: hold, damp or limp."""
        self.driver = ""
        """Who drives, in words."""
        self.clamped: Counter[str] = Counter()
        """How often a target was beyond a joint's range, by joint."""
        self._held: FloatArray | None = None
        self._weighed = np.zeros(len(body.hinges), dtype=bool)

    def restart(self) -> None:
        """Hold the pose that comes next."""
        self._held, self.mode = None, "hold"

    def hold(self, q_rad: FloatArray) -> None:
        """Hold these angles from now on, while nobody else commands; beyond a joint's range they stop at it [rad]."""
        angles = np.asarray(q_rad, dtype=np.float64)
        if angles.shape != self._lower.shape or not np.isfinite(angles).all():
            got = angles.tolist() if angles.shape == self._lower.shape else f"an array of shape {angles.shape}"
            raise BadValue("q_rad", got, f"{self._lower.size} finite angles in the order of {self._body.name}'s motors")
        self._held, self.mode = np.clip(angles, self._lower, self._upper), "hold"

    def choose(
        self,
        whole: MotorTargets | None,
        arms: MotorTargets | None,
        *,
        q_rad: FloatArray,
        gravity_nm: FloatArray,
        stance: JointCommand | None = None,
    ) -> JointCommand:
        """What drives the motors until the next tick.

        Args:
            whole: Newest command of the whole body; None where there is none or it is too old.
            arms: The same of the arms.
            q_rad: Where the joints are [rad].
            gravity_nm: Torques that carry the body's weight there [N m].
            stance: What balances the robot, of which the legs count; None for one whose base is fixed.
        """
        if whole is not None:
            self._held = None  # whoever stops commanding leaves the joints where they are then
            self.driver = whole.sender
            return self._within(whole)
        if self._held is None or self.mode != "hold":  # joints that were let go are held where they have come to
            self._held = q_rad.copy()
        if arms is None or arms.weight <= 0.0:
            # Arms that a client has left stay where it left them.
            self._held = np.where(self._weighed, q_rad, self._held)
            self._weighed[:] = False
            self.driver = self.mode if stance is None or self.mode != "hold" else "balance"
            return self._own(self._held, gravity_nm, stance)
        self._weighed = self._arms
        self.driver = arms.sender
        own = self._own(self._held, gravity_nm, stance)
        return _mix(self._within(arms), own, np.where(self._arms, arms.weight, 0.0))

    def _own(self, held_rad: FloatArray, gravity_nm: FloatArray, stance: JointCommand | None) -> JointCommand:
        still = np.zeros_like(held_rad)
        if self.mode == "hold":
            held = JointCommand(held_rad, still, gravity_nm, self._kp, self._kd)
            if stance is None:
                return held
            return JointCommand(*(np.where(self._arms, a, b) for a, b in zip(held, stance, strict=True)))
        return JointCommand(held_rad, still, still, still, self._kd if self.mode == "damp" else still)

    def _within(self, targets: MotorTargets) -> JointCommand:
        """A command within the ranges of the joints."""
        position = np.clip(targets.position_rad, self._lower, self._upper)
        for joint in np.flatnonzero((position != targets.position_rad) & (targets.kp_nm_rad > 0.0)):
            self.clamped[self._body.joint_names[joint]] += 1
        return JointCommand(
            position,
            np.clip(targets.velocity_rad_s, -self._speed, self._speed),
            np.clip(targets.effort_nm, -self._effort, self._effort),
            targets.kp_nm_rad,
            targets.kd_nms_rad,
        )


def _mix(one: JointCommand, other: JointCommand, share: FloatArray) -> JointCommand:
    """The command whose torques are those of one, by its share, and of the other, by the rest of it."""
    position, velocity, _, kp, kd = (share * a + (1.0 - share) * b for a, b in zip(one, other, strict=True))
    effort = np.zeros_like(kp)
    for command, part in ((one, share), (other, 1.0 - share)):
        spring = command.kp_nm_rad * (command.position_rad - position)
        effort += part * (command.effort_nm + spring + command.kd_nms_rad * (command.velocity_rad_s - velocity))
    return JointCommand(position, velocity, effort, kp, kd)


def at_midstep(command: JointCommand, *, qd_rad_s: FloatArray, step_s: float, inertia_kgm2: FloatArray) -> JointCommand:
    """The same command for an engine whose servos act on where joints are at the end of a step.

    That is late by half a step, a millirad at 1 rad/s. Springs too stiff for the step stay as they are: there the delay
    is what keeps them stable.
    """
    soft = command.kp_nm_rad * step_s**2 < 0.25 * inertia_kgm2
    ahead_nm = 0.5 * step_s * command.kp_nm_rad * qd_rad_s
    return command._replace(effort_nm=command.effort_nm + np.where(soft, ahead_nm, 0.0))
