"""A task of mjlab: hold a marble between index finger and thumb so that the pads of both feel 1 N.

It is held out to the hand for a while, by something as soft as a spring, and then left alone.
"""

from __future__ import annotations

from typing import Any

import mujoco
import torch
from mjlab.envs import ManagerBasedRlEnvCfg, mdp
from mjlab.envs.mdp import dr
from mjlab.managers.event_manager import EventTermCfg
from mjlab.managers.metrics_manager import MetricsTermCfg
from mjlab.managers.observation_manager import ObservationGroupCfg, ObservationTermCfg
from mjlab.managers.reward_manager import RewardTermCfg
from mjlab.managers.scene_entity_config import SceneEntityCfg
from mjlab.managers.termination_manager import TerminationTermCfg
from mjlab.rl import RslRlModelCfg, RslRlOnPolicyRunnerCfg, RslRlPpoAlgorithmCfg
from mjlab.scene import SceneCfg
from mjlab.sim import SimulationCfg
from mjlab.tasks.registry import register_mjlab_task

from thenar.batch.hold import (
    EPISODE_S,
    HAND,
    HISTORY,
    LEASH,
    MARBLE,
    MOVED,
    POSTURE,
    RELEASE_S,
    SIDES,
    STEP_S,
    STROKE_PER_STEP,
    TASK,
    WANTED_N,
)
from thenar.batch.mjlab.hand_entity import MujocoCfg, hand_cfg, hand_of, prop_cfg
from thenar.batch.mjlab.lab_terms import MotorActionCfg, motor_readings, pad_forces
from thenar.batch.mjlab.touch_sensor import TouchCfg

TIMESTEP_S = 0.002
LOST_M, PLACE_M, REACH_M = 0.04, 0.003, 0.03
PEAK = 0.2  # width of what is rewarded most, in shares of the wanted force
HOLDER = "holder"
HOLDER_SOLREF = (0.008, 1.0)  # about 300 N/m for a marble


def add_holder(spec: mujoco.MjSpec) -> None:
    """Tie the marble to its place."""
    spec.worldbody.add_body(name=HOLDER, pos=list(MARBLE.pos_m))
    spec.add_equality(
        name=HOLDER, type=mujoco.mjtEq.mjEQ_CONNECT, objtype=mujoco.mjtObj.mjOBJ_BODY, name1="marble/marble",
        name2=HOLDER, solref=HOLDER_SOLREF, data=[0.0] * 12,
    )  # fmt: skip


def release(env: Any, env_ids: torch.Tensor | None) -> None:
    """Let go of the marble where it is time to."""
    number = env.sim.mj_model.equality(HOLDER).id
    env.sim.data.eq_active[:, number] = env.episode_length_buf * env.step_dt < RELEASE_S


def side_forces(env: Any, sensor: str = "touch") -> torch.Tensor:
    """Force on the pads of index finger and thumb, as it is [N]. Shape (worlds, 2)."""
    names = [pad.name for pad in hand_of(env.scene["hand"]).hand.pads]
    force_n = env.scene[sensor].data.pad_force_n
    sides = [[k for k, name in enumerate(names) if name.startswith(side)] for side in SIDES]
    return torch.stack([force_n[:, columns].sum(dim=1) for columns in sides], dim=1)


def error_n(env: Any, sensor: str = "touch") -> torch.Tensor:
    """How far the two forces are from the wanted one, in the mean [N]."""
    return (side_forces(env, sensor) - WANTED_N).abs().mean(dim=1)


def near_wanted(env: Any, sensor: str = "touch") -> torch.Tensor:
    """2 where both forces are as wanted, about 0 without contact, and a quarter less for every newton far too many.

    Near the wanted force it falls as fast to both sides: a hand whose force wavers would else hold more than is wanted.
    The way back must lead downhill from any force: where it flattens out, a hand that has closed too far stays closed.
    """
    share = side_forces(env, sensor) / WANTED_N
    slope = torch.minimum(share, torch.maximum(2.0 - share, 0.875 - 0.25 * share)).clamp(min=-2.0)
    return (slope + torch.exp(-torch.square((share - 1.0) / PEAK))).mean(dim=1)


def reaching(env: Any, hand: SceneEntityCfg, sensor: str = "touch") -> torch.Tensor:
    """1 where both fingertips touch something, less the farther they are from the marble: force leads none there."""
    tips_m = env.scene["hand"].data.site_pos_w[:, hand.site_ids]
    away_m = torch.linalg.norm(tips_m - env.scene["marble"].data.root_link_pos_w[:, None], dim=2)
    touched = side_forces(env, sensor) > 0.0
    return torch.where(touched, 1.0, (1.0 - away_m / REACH_M).clamp(min=0.0)).mean(dim=1)


def is_lost(env: Any) -> torch.Tensor:
    """Whether the marble has been dropped."""
    at_m = env.scene["marble"].data.root_link_pos_w - env.scene.env_origins
    return torch.linalg.norm(at_m - torch.tensor(MARBLE.pos_m, device=env.device), dim=1) > LOST_M


def is_held(env: Any, sensor: str = "touch") -> torch.Tensor:
    """Whether the marble is left alone and held within a quarter of the wanted force."""
    alone = env.episode_length_buf * env.step_dt > RELEASE_S
    return (alone & (error_n(env, sensor) < 0.25 * WANTED_N)).float()


def hold_env_cfg(*, touch: bool = True, num_envs: int = 4096) -> ManagerBasedRlEnvCfg:
    """The task.

    Args:
        touch: Whether the policy feels; rewards know the forces in any case.
        num_envs: Number of worlds.
    """
    seen = {"motors": ObservationTermCfg(func=motor_readings)}
    known = seen | {"forces": ObservationTermCfg(func=side_forces)}
    if touch:
        seen["pads"] = ObservationTermCfg(func=pad_forces)
    marble = SceneEntityCfg("marble", geom_names=(".*",), body_names=(".*",))
    tips = SceneEntityCfg("hand", site_names=tuple(f"{side}_tip" for side in SIDES), preserve_order=True)
    within = (-PLACE_M, PLACE_M)
    return ManagerBasedRlEnvCfg(
        decimation=round(STEP_S / TIMESTEP_S),
        episode_length_s=EPISODE_S,
        scene=SceneCfg(
            num_envs=num_envs,
            entities={"hand": hand_cfg(HAND, posture=POSTURE), "marble": prop_cfg(MARBLE)},
            sensors=(TouchCfg(name="touch"),),
            spec_fn=add_holder,
        ),
        observations={
            "actor": ObservationGroupCfg(seen, history_length=HISTORY, nan_policy="sanitize"),
            "critic": ObservationGroupCfg(known, history_length=HISTORY, nan_policy="sanitize"),
        },
        actions={
            "motors": MotorActionCfg(entity_name="hand", stroke_per_step=STROKE_PER_STEP, leash=LEASH, motors=MOVED)
        },
        events={
            "begin": EventTermCfg(func=mdp.reset_scene_to_default, mode="reset"),
            "place": EventTermCfg(
                func=mdp.reset_root_state_uniform,
                mode="reset",
                params={"pose_range": dict.fromkeys("xyz", within), "asset_cfg": SceneEntityCfg("hand")},
            ),
            "size": EventTermCfg(
                func=dr.geom_size,
                mode="startup",
                params={"asset_cfg": marble, "ranges": (0.9, 1.1), "operation": "scale", "shared_random": True},
            ),
            "friction": EventTermCfg(
                func=dr.geom_friction,
                mode="startup",
                params={"asset_cfg": marble, "ranges": (0.6, 1.5), "operation": "scale"},
            ),
            "release": EventTermCfg(func=release, mode="step"),
        },
        rewards={
            "near_wanted": RewardTermCfg(func=near_wanted, weight=1.0),
            "reaching": RewardTermCfg(func=reaching, weight=0.5, params={"hand": tips}),
        },
        metrics={"error_n": MetricsTermCfg(func=error_n), "held": MetricsTermCfg(func=is_held)},
        terminations={
            "time_out": TerminationTermCfg(func=mdp.time_out, time_out=True),
            "lost": TerminationTermCfg(func=is_lost),
            "diverged": TerminationTermCfg(func=mdp.nan_detection),
        },
        sim=SimulationCfg(nconmax=16, njmax=96, mujoco=MujocoCfg(timestep=TIMESTEP_S)),
    )


def hold_rl_cfg() -> RslRlOnPolicyRunnerCfg:
    """PPO that learns it."""
    spread = {"class_name": "GaussianDistribution", "init_std": 0.6, "std_type": "scalar"}
    net = {"hidden_dims": (128, 64), "obs_normalization": True}
    return RslRlOnPolicyRunnerCfg(
        actor=RslRlModelCfg(**net, distribution_cfg=spread),
        critic=RslRlModelCfg(**net),
        algorithm=RslRlPpoAlgorithmCfg(gamma=0.95, entropy_coef=0.0, learning_rate=1e-3),
        num_steps_per_env=round(EPISODE_S / STEP_S / 4),  # short: a network learns from how often it is changed
        max_iterations=400,
        experiment_name="thenar_hold",
        logger="tensorboard",
    )


register_mjlab_task(TASK, hold_env_cfg(), hold_env_cfg(num_envs=16), hold_rl_cfg())
