"""Gymnasium environments: tasks of a hand that need touch. ``gymnasium.make("thenar.envs:thenar/Pinch-v0")``."""

from __future__ import annotations

from thenar.errors import MissingExtra

try:
    import gymnasium
except ImportError as error:
    raise MissingExtra("an environment", "gymnasium", "gym") from error

from thenar.envs.grasp_tasks import DelicateGrasp as DelicateGrasp
from thenar.envs.grasp_tasks import HoldUnderPull as HoldUnderPull
from thenar.envs.grasp_tasks import LeastForce as LeastForce
from thenar.envs.grasp_tasks import Pinch as Pinch
from thenar.envs.hand_env import HandEnv as HandEnv
from thenar.envs.randomise import Randomise as Randomise
from thenar.envs.rotate_task import RotateInHand as RotateInHand
from thenar.envs.touch_tasks import PressProfile as PressProfile
from thenar.envs.touch_tasks import WhichObject as WhichObject

TASKS: dict[str, type[HandEnv]] = {
    f"thenar/{task.__name__}-v0": task
    for task in (HoldUnderPull, DelicateGrasp, Pinch, PressProfile, LeastForce, WhichObject, RotateInHand)
}
"""Every environment by its id."""
STEPS = 100

for _id, _task in TASKS.items():
    if _id not in gymnasium.registry:
        _one, _many = f"{_task.__module__}:{_task.__name__}", f"thenar.envs.many_hands:Many{_task.__name__}"
        gymnasium.register(_id, entry_point=_one, vector_entry_point=_many, max_episode_steps=STEPS)
