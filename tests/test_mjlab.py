"""Hands in mjlab: what is said where it is missing, and whether a hand there is the hand of `thenar.World`.

mjlab wants torch and another MuJoCo than ours, so the development environment has none: the tests that need it run with
``pytest -m soak`` where it was installed by the command of docs/gpu.md.
"""

import importlib
import sys
import tomllib
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import mujoco
import numpy as np
import pytest

import thenar
from thenar.errors import MissingPackage

ROOT = Path(__file__).resolve().parents[1]
BALL = thenar.Sphere(name="ball", radius_m=0.0416, mass_kg=0.08, pos_m=(0.0, 0.03, 0.0446))


@pytest.fixture
def fresh(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    """The package as if it had never been imported."""
    for name in [name for name in sys.modules if name.startswith("thenar.batch.mjlab")]:
        monkeypatch.delitem(sys.modules, name)
    return monkeypatch


def test_without_mjlab_the_command_that_installs_it_is_told_as_the_manual_has_it(fresh: pytest.MonkeyPatch):
    fresh.setitem(sys.modules, "mjlab", None)
    with pytest.raises(MissingPackage, match=r"uv pip install .* --override") as raised:
        importlib.import_module("thenar.batch.mjlab")
    command = str(raised.value).partition("mjlab: ")[2].partition(" (")[0]
    assert command.startswith("uv pip install 'thenar[gpu]'")
    assert command in (ROOT / "docs/gpu.md").read_text(encoding="utf-8")


def test_with_the_mujoco_that_mjlab_asks_for_it_is_refused_by_name(fresh: pytest.MonkeyPatch):
    fresh.setattr(mujoco, "mjtIntegrator", SimpleNamespace(mjINT_EULER=0))
    fresh.setattr(mujoco, "__version__", "3.11.0")
    with pytest.raises(MissingPackage, match=r"mujoco 4, not 3\.11\.0: uv pip install"):
        importlib.import_module("thenar.batch.mjlab")


def test_mjlab_finds_the_task_by_an_entry_point_that_names_a_file():
    points = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["entry-points"]
    module = points["mjlab.tasks"]["thenar"]
    assert (ROOT / "src" / f"{module.replace('.', '/')}.py").is_file()


def grasping(worlds: int, **options: Any) -> Any:
    """An environment of mjlab with a hand and a ball."""
    from mjlab.envs import ManagerBasedRlEnv, ManagerBasedRlEnvCfg
    from mjlab.managers.observation_manager import ObservationGroupCfg, ObservationTermCfg
    from mjlab.scene import SceneCfg
    from mjlab.sim import SimulationCfg

    from thenar.batch.mjlab import MotorActionCfg, MujocoCfg, TouchCfg, hand_cfg, pad_forces, prop_cfg, taxels

    hand = hand_cfg("inspire_right", profile="ideal", **options)
    seen = {"pads": ObservationTermCfg(func=pad_forces), "taxels": ObservationTermCfg(func=taxels)}
    cfg = ManagerBasedRlEnvCfg(
        decimation=20,
        episode_length_s=100.0,
        scene=SceneCfg(
            num_envs=worlds, entities={"hand": hand, "ball": prop_cfg(BALL)}, sensors=(TouchCfg(name="touch"),)
        ),
        observations={"actor": ObservationGroupCfg(seen, concatenate_terms=False)},
        actions={"motors": MotorActionCfg(entity_name="hand")},
        sim=SimulationCfg(nconmax=24, njmax=128, mujoco=MujocoCfg()),
    )
    return ManagerBasedRlEnv(cfg, device="cpu")


@pytest.mark.soak
def test_a_grasp_in_mjlab_is_the_grasp_of_one_world():
    pytest.importorskip("mjlab")
    import torch

    env = grasping(2)
    env.reset()
    world = thenar.World("inspire_right", props=[BALL], profile="ideal")
    world.model.opt.impratio = env.sim.mj_model.opt.impratio
    spec, action = thenar.hands.load("inspire_right"), env.action_manager.get_term("motors")
    seen: dict[str, Any] = {}
    for _ in range(16):
        seen = env.step(torch.tensor([[1.0] * 6, [0.0] * 6]))[0]
        target_rad = spec.open_rad + action.target[0].numpy() * (spec.closed_rad - spec.open_rad)
        world.command(
            "inspire_right",
            thenar.HandCommand.to(target_rad, speed_rad_s=spec.top_speed_rad_s, force_limit_n=20.0),
        )
        world.advance(0.04)
    touch = world.touch("inspire_right")
    felt = env.scene["touch"].data
    assert action.names == spec.actuator_names
    angles = action.shares()[0].numpy() * (spec.closed_rad - spec.open_rad) + spec.open_rad
    assert angles == pytest.approx(world.state("inspire_right").angle_rad, abs=5e-3)
    assert float(felt.pad_force_n[0].sum()) == pytest.approx(float(np.sum(touch.pad_force_n)), rel=0.1)
    assert float(felt.pad_force_n[0].sum()) > 3.0
    assert float(felt.pad_force_n[1].sum()) == 0.0, "the other hand was not moved"
    assert seen["actor"]["taxels"].shape == (2, 1062)
    assert float(seen["actor"]["pads"][0].sum()) == pytest.approx(float(felt.pad_force_n[0].sum()), rel=0.1)
    env.reset(env_ids=torch.tensor([0]))
    assert float(env.scene["touch"].data.pad_force_n[0].sum()) == 0.0
    assert action.shares()[0].numpy() == pytest.approx(np.zeros(6), abs=0.01)


@pytest.mark.soak
def test_following_the_felt_force_holds_the_marble_and_standing_still_drops_it():
    pytest.importorskip("mjlab")
    import torch
    from mjlab.envs import ManagerBasedRlEnv
    from mjlab.tasks.registry import list_tasks, load_env_cfg

    from thenar.batch.mjlab import hold_task

    assert hold_task.TASK in list_tasks()
    cfg = load_env_cfg(hold_task.TASK)
    cfg.scene.num_envs = 2
    env = ManagerBasedRlEnv(cfg, device="cpu")
    env.reset(seed=1)
    pads = [pad.name for pad in thenar.hands.load("inspire_right").pads]
    sides = [[k for k, name in enumerate(pads) if name.startswith(side)] for side in hold_task.SIDES]
    lost = torch.zeros(2, dtype=torch.bool)
    for _ in range(round(hold_task.EPISODE_S / hold_task.STEP_S) - 1):
        pad_n = env.scene["touch"].pad_n()
        force_n = torch.stack([pad_n[:, columns].sum(dim=1) for columns in sides], dim=1)
        action = torch.where(force_n > 0.25, 0.8 * (hold_task.WANTED_N - force_n), 1.0).clamp(-1.0, 1.0)
        action[1] = 0.0
        lost |= env.step(action)[2]
    assert lost.tolist() == [False, True]
    assert float(hold_task.error_n(env)[0]) < 0.4
