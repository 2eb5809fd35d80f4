"""Hands and objects as entities of mjlab; motors of a hand as its actuators; options of the engine that they need."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import mjlab.sim
import mujoco
import numpy as np
import torch
import warp as wp
from mjlab.actuator.actuator import Actuator, ActuatorCfg, ActuatorCmd, TransmissionType
from mjlab.entity import Entity, EntityArticulationInfoCfg, EntityCfg

from thenar.batch import motors
from thenar.batch.device import IMPEDANCE_RATIO, fit_to_device, without_visuals
from thenar.batch.world_kernels import count_step, reset_motors
from thenar.batch.wrist_servos import WristState
from thenar.errors import BadCommand, BadValue, look_up
from thenar.hands.build import build_spec
from thenar.hands.rotations import quat_wxyz_from_matrix, quat_wxyz_from_rpy
from thenar.hands.spec import HandSpec
from thenar.sim.building import add_prop, root_pose
from thenar.sim.motor_bank import MotorBank
from thenar.sim.props import Prop
from thenar.sim.scenes import Mount
from thenar.sim.world_config import Profile, WorldConfig, resolve_hands


@dataclass
class MujocoCfg(mjlab.sim.MujocoCfg):
    """mjlab's options of the engine with those of `thenar.World`: the integrator ``discrete``, elliptic cones."""

    cone: Any = "elliptic"
    impratio: float = IMPEDANCE_RATIO
    jacobian: Any = "dense"

    def apply(self, model: mujoco.MjModel) -> None:
        """Write them into a compiled model."""
        super().apply(model)
        model.opt.integrator = mujoco.mjtIntegrator.mjINT_DISCRETE
        fit_to_device(model)


@dataclass(frozen=True, eq=False)
class HandModel:
    """Builds the model of a hand; motors and skin find the hand here."""

    hand: HandSpec
    profile: Profile
    begin_rad: tuple[float, ...]
    """Angles of its motors in the beginning."""
    visuals: bool

    def __call__(self) -> mujoco.MjSpec:
        """The hand alone."""
        return build_spec(self.hand if self.visuals else without_visuals(self.hand))


def hand_of(entity: Entity) -> HandModel:
    """The hand that an entity of `hand_cfg` is."""
    if not isinstance(entity.cfg.spec_fn, HandModel):
        raise BadValue("entity", entity.cfg.spec_fn, "one of thenar.batch.mjlab.hand_cfg")
    return entity.cfg.spec_fn


def hand_cfg(
    hand: str | HandSpec,
    *,
    posture: Mapping[str, float] | None = None,
    mount: Mount | None = None,
    profile: Profile = "measured",
    visuals: bool = False,
) -> EntityCfg:
    """A hand with its motors as an entity of mjlab.

    Args:
        hand: By name or as a spec.
        posture: How far motors are closed in the beginning, by name, as shares of their stroke; the others are open.
        mount: How it is held; None: the palm at the origin, looking up.
        profile: Of motors and skin, ``measured`` or ``ideal``.
        visuals: Whether to carry the shapes that are only for looking at: they cost time in every world.
    """
    config = WorldConfig(hands=resolve_hands(hand), profile=profile)
    spec = next(iter(config.specs.values()))
    pos_m, R = root_pose(spec, mount or Mount())
    tendons = {tendon.name for tendon in spec.tendons}
    by_kind = {
        TransmissionType.JOINT: tuple(a.drives for a in spec.actuators if a.drives not in tendons),
        TransmissionType.TENDON: tuple(a.drives for a in spec.actuators if a.drives in tendons),
    }
    cfgs = [MotorCfg(target_names_expr=names, transmission_type=kind) for kind, names in by_kind.items() if names]
    for name in posture or {}:
        look_up(dict.fromkeys(spec.actuator_names), name, f"motor of {spec.name}")
    shares = np.array([(posture or {}).get(name, 0.0) for name in spec.actuator_names])
    begin_rad = spec.open_rad + shares * (spec.closed_rad - spec.open_rad)
    angles = {name: float(angle) for name, angle in spec.joint_angles(begin_rad).items()}
    return EntityCfg(
        spec_fn=HandModel(spec, profile, tuple(begin_rad.tolist()), visuals),
        articulation=EntityArticulationInfoCfg(actuators=tuple(cfgs)),
        init_state=EntityCfg.InitialStateCfg(
            pos=tuple(pos_m.tolist()), rot=tuple(quat_wxyz_from_matrix(R).tolist()), joint_pos=angles
        ),
    )


def prop_cfg(prop: Prop) -> EntityCfg:
    """One of thenar's objects as an entity of mjlab."""
    alone = replace(prop, name=prop.name or "object")
    if prop.fixed:  # mjlab puts it where it is
        alone = replace(alone, pos_m=(0.0, 0.0, 0.0), rpy_rad=(0.0, 0.0, 0.0))

    def build() -> mujoco.MjSpec:
        spec = mujoco.MjSpec()
        add_prop(spec, alone)
        return spec

    rot = tuple(float(value) for value in quat_wxyz_from_rpy(prop.rpy_rad))
    return EntityCfg(spec_fn=build, init_state=EntityCfg.InitialStateCfg(pos=prop.pos_m, rot=rot))


@dataclass(kw_only=True)
class MotorCfg(ActuatorCfg):
    """Motors of a hand as it was measured: latency, speed, spring, force stop, current, heat."""

    force_limit_n: float = 20.0
    """At which a motor stops closing."""
    seed: int = 0
    """Of latency and of the noise of readings."""

    def build(self, entity: Entity, target_ids: list[int], target_names: list[str]) -> Motor:
        """The motors that drive these joints or tendons."""
        return Motor(self, entity, target_ids, target_names)


@dataclass(frozen=True, kw_only=True, eq=False)
class MotorReadings:
    """What motors report, as `thenar.batch.WorldsState` has it. Shapes (worlds, motors)."""

    angle_rad: torch.Tensor
    velocity_rad_s: torch.Tensor
    force_n: torch.Tensor
    torque_nm: torch.Tensor
    current_a: torch.Tensor
    temperature_c: torch.Tensor
    status: torch.Tensor
    error: torch.Tensor


class Motor(Actuator[MotorCfg]):
    """Motors of one hand that drive joints, or those that drive tendons, in every world.

    A target that changes is a command, and arrives after the latency of the hand.
    """

    def edit_spec(self, spec: mujoco.MjSpec, target_names: list[str]) -> None:
        """Find the actuators that the hand's model has."""
        own = {actuator.target: actuator for actuator in spec.actuators}
        self._mjs_actuators = [own[name] for name in target_names]

    def initialize(self, mj_model: mujoco.MjModel, model: Any, data: Any, device: str) -> None:
        """Lay out the motors' state in every world."""
        super().initialize(mj_model, model, data, device)
        hand, count, n = hand_of(self.entity).hand, data.nworld, len(self.target_names)
        self.dt_s, self._m, self._d, self._ctrl = float(mj_model.opt.timestep), model.struct, data.struct, data.ctrl
        prefix = self._mjs_actuators[0].name.rpartition("/")[0]
        named = {actuator.drives: actuator for actuator in hand.actuators}
        self.actuators = [named[name] for name in self.target_names]
        """As the hand has them, in the order of targets."""
        own = replace(hand, name=prefix, actuators=tuple(self.actuators))
        bank = MotorBank(mj_model, mujoco.MjData(mj_model), {prefix: own}, seed=self.cfg.seed)
        drives, slots = motors.drive_records(bank, [prefix], self.dt_s)
        with wp.ScopedDevice(device):
            params = motors.motor_records(self.actuators, self.dt_s)
            self._params = wp.array(params[None], dtype=motors.Motor)
            self._drives = wp.array(drives[None], dtype=motors.Drive)
            rest = motors.rest_records(self.actuators)
            begin = dict(zip(hand.actuator_names, hand_of(self.entity).begin_rad, strict=True))
            for name in ("target_rad", "screw_rad", "nut_rad", "angle_rad"):
                rest[name] = [begin[actuator.name] for actuator in self.actuators]
            rest["speed_rad_s"] = [actuator.top_speed_rad_s for actuator in self.actuators]
            rest["limit_n"] = np.minimum(self.cfg.force_limit_n, params["force_max_n"])
            self._rest = wp.array(rest, dtype=motors.MotorState)
            self._state = wp.array(np.tile(rest, (count, 1)), dtype=motors.MotorState)
            self._no_wrists = wp.zeros(0, dtype=WristState), wp.zeros((count, 0), dtype=WristState)
            self._pending = wp.zeros((count, n, slots), dtype=motors.Pending)
            self._step = wp.zeros(1, dtype=int)
            self._keep, self._target = (wp.full((count, n), wp.nan, dtype=float) for _ in range(2))
            whole = {"status", "error"}
            self._read = {
                name: wp.zeros((count, n), dtype=int if name in whole else float)
                for name in MotorReadings.__dataclass_fields__
            }
            self._mask = wp.zeros(count, dtype=bool)
        self._command, self._sent = wp.to_torch(self._target), torch.full((count, n), torch.nan, device=device)
        self._fresh = torch.ones(count, dtype=torch.bool, device=device)
        self._chosen = wp.to_torch(self._mask)
        self.readings = MotorReadings(**{name: wp.to_torch(array) for name, array in self._read.items()})
        """What they reported when they were read."""
        self._due = True

    def compute(self, cmd: ActuatorCmd) -> torch.Tensor:
        """Controls of the next step; dampings are written into the model.

        mjlab asks once more when worlds are reset: motors move on once a step all the same, and a target counts from
        the first step after a reset on (until then it is 0, which nobody has asked for).
        """
        if self._d.nworld > 1 and self._m.dof_damping.shape[0] == 1:
            raise BadCommand("worlds share their damping: drive the hand by thenar.batch.mjlab.MotorActionCfg")
        if self._due:
            target = cmd.position_target
            changed = (target != self._sent) & ~self._fresh[:, None]
            self._command.copy_(torch.where(changed, target, torch.nan))
            self._sent.copy_(torch.where(changed, target, self._sent))
            self._launch(
                motors.send_commands,
                [self._target, self._keep, self._keep, self._drives, self._step, self.cfg.seed, self._state,
                 self._pending],
            )  # fmt: skip
            self._launch(
                motors.step_motors,
                [self._params, self._drives, self._step, self.dt_s, self._d.qpos, self._state, self._pending,
                 self._d.ctrl, self._m.dof_damping, self._m.tendon_damping],
            )  # fmt: skip
            wp.launch(count_step, dim=1, inputs=[self._step], device=self._step.device)
            self._due = False
        return self._ctrl[:, self.global_ctrl_ids]

    def update(self, dt: float) -> None:
        """A step has been made."""
        super().update(dt)
        self._due = True
        self._fresh.fill_(False)

    def reset(self, env_ids: torch.Tensor | slice | None = None) -> None:
        """Motors of some worlds cool, in their posture and with no command under way."""
        super().reset(env_ids)
        rows = slice(None) if env_ids is None else env_ids
        self._chosen.fill_(False)
        self._chosen[rows] = True
        self._fresh[rows], self._sent[rows] = True, torch.nan
        self._due = True
        none, nowhere = self._no_wrists
        wp.launch(
            reset_motors,
            dim=self._mask.shape,
            inputs=[self._mask, self._rest, none, self._state, nowhere],
            device=self._mask.device,
        )

    def read(self) -> None:
        """Write what the motors report now, with the noise of their sensors, into `readings`."""
        self._launch(
            motors.read_motors,
            [self._params, self._drives, self._step, self.cfg.seed, self._d.qpos, self._d.qvel, self._state,
             *self._read.values()],
        )  # fmt: skip

    def _launch(self, kernel: Any, inputs: list[Any]) -> None:
        wp.launch(kernel, dim=self._state.shape, inputs=inputs, device=self._state.device)
