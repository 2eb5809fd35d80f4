"""What a task of mjlab is made of: an action that moves motors, and what motors and skin say."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from mjlab.actuator.actuator import TransmissionType
from mjlab.managers.action_manager import ActionTerm, ActionTermCfg

from thenar.batch.mjlab.hand_entity import Motor, hand_of
from thenar.errors import BadValue, look_up


@dataclass(kw_only=True)
class MotorActionCfg(ActionTermCfg):
    """Moves the targets of a hand's motors by shares of their stroke, as the environments of `thenar.envs` do."""

    stroke_per_step: float = 0.05
    """How much of its stroke an action of 1 moves a motor's target."""
    leash: float = 0.25
    """How far a target may lead its motor: pushing on against something is not owed for later."""
    motors: tuple[str, ...] = ()
    """Motors that an action moves, by name; the others stay in the hand's posture. Empty: all of them."""

    def build(self, env: Any) -> MotorAction:
        """The action."""
        return MotorAction(self, env)


class MotorAction(ActionTerm):
    """An action of one number from -1 to 1 for every motor that it moves."""

    cfg: MotorActionCfg

    def __init__(self, cfg: MotorActionCfg, env: Any):
        """Give worlds dampings of their own, which motors change."""
        super().__init__(cfg, env)
        env.sim.expand_model_fields(("dof_damping", "tendon_damping"))
        self.motors: list[Motor] = [one for one in self._entity.actuators if isinstance(one, Motor)]
        if not self.motors:
            raise BadValue("entity_name", cfg.entity_name, "an entity of thenar.batch.mjlab.hand_cfg")
        model = hand_of(self._entity)
        actuators = model.hand.actuators
        self.names = tuple(actuator.name for actuator in actuators)
        """Of all motors, as the hand orders them."""
        places = {name: place for place, name in enumerate(self.names)}
        moved = [look_up(places, name, f"motor of {model.hand.name}") for name in cfg.motors or self.names]
        self._moved = torch.tensor(moved, device=self.device)
        self._places = [
            torch.tensor([places[one.name] for one in motor.actuators], device=self.device) for motor in self.motors
        ]
        self._order = torch.argsort(torch.cat(self._places))
        # From open to closed, or from stop to stop where closing does not move a motor.
        ends = [(a.open_rad, a.closed_rad) if a.stroke_rad else (a.lower_rad, a.upper_rad) for a in actuators]
        low, high = np.array(ends, dtype=np.float32).T
        begin = (np.array(model.begin_rad) - low) / (high - low)
        self.low_rad, self.stroke_rad, self._begin = (
            torch.tensor(np.asarray(row), dtype=torch.float32, device=self.device) for row in (low, high - low, begin)
        )
        self._raw = torch.zeros(self.num_envs, len(moved), device=self.device)
        self.target = self._begin.repeat(self.num_envs, 1)
        """Targets as shares of the stroke. Shape (worlds, motors)."""

    @property
    def action_dim(self) -> int:
        """Number of motors that it moves."""
        return self._raw.shape[1]

    @property
    def raw_action(self) -> torch.Tensor:
        """As the policy gave it."""
        return self._raw

    def process_actions(self, actions: torch.Tensor) -> None:
        """Move the targets."""
        self._raw[:] = actions
        share, leash = self.shares(), self.cfg.leash
        moved = self.target.clone()
        moved[:, self._moved] += self.cfg.stroke_per_step * actions.clamp(-1.0, 1.0)
        self.target.copy_(torch.minimum(torch.maximum(moved.clamp(0.0, 1.0), share - leash), share + leash))

    def apply_actions(self) -> None:
        """Hand the targets to the motors."""
        target_rad = self.low_rad + self.target * self.stroke_rad
        for motor, places in zip(self.motors, self._places, strict=True):
            if motor.transmission_type == TransmissionType.JOINT:
                self._entity.set_joint_position_target(target_rad[:, places], joint_ids=motor.target_ids)
            else:
                self._entity.set_tendon_len_target(target_rad[:, places], tendon_ids=motor.target_ids)

    def reset(self, env_ids: torch.Tensor | slice | None = None) -> None:
        """Targets of some worlds where they begin."""
        rows = slice(None) if env_ids is None else env_ids
        self._raw[rows] = 0.0
        self.target[rows] = self._begin

    def shares(self) -> torch.Tensor:
        """Where motors say they are, as shares of the stroke. Shape (worlds, motors)."""
        for motor in self.motors:
            motor.read()
        return (self._reading("angle_rad") - self.low_rad) / self.stroke_rad

    def readings(self) -> torch.Tensor:
        """What motors say, see `motor_readings`."""
        share, force = self.shares(), torch.nan_to_num(self._reading("force_n")) / 10.0
        return torch.cat([share, force, self.target], dim=1)

    def _reading(self, name: str) -> torch.Tensor:
        return torch.cat([getattr(motor.readings, name) for motor in self.motors], dim=1)[:, self._order]


def motor_readings(env: Any, action: str = "motors") -> torch.Tensor:
    """Angle, force and target of every motor, as hands report them: shares of the stroke, tens of newtons, shares.

    Args:
        env: The environment.
        action: Name of its `MotorActionCfg`.
    """
    return env.action_manager.get_term(action).readings()


def taxels(env: Any, sensor: str = "touch") -> torch.Tensor:
    """Force on every taxel as the sensor says [N]."""
    return env.scene[sensor].taxel_n()


def pad_forces(env: Any, sensor: str = "touch") -> torch.Tensor:
    """Force on every pad as the sensor says [N]."""
    return env.scene[sensor].pad_n()
