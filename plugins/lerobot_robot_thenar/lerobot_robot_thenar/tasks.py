"""Environments of thenar by LeRobot's names: motors as the state, skin as the environment's state, a picture."""

from dataclasses import dataclass, field
from typing import Any

import gymnasium
import numpy as np
from gymnasium import spaces
from lerobot.configs import FeatureType, PolicyFeature
from lerobot.envs.configs import EnvConfig

from thenar import envs

PREFIX = "lerobot_thenar"


class ForLeRobot(gymnasium.ObservationWrapper):
    """Renames what is seen, and adds a picture."""

    def __init__(self, env: gymnasium.Env, *, pixels: bool):
        """The picture is what `render` draws."""
        super().__init__(env)
        self._pixels = pixels
        old = env.observation_space
        state = old["observation"].shape[0] + (old["goal"].shape[0] if "goal" in old.spaces else 0)
        found: dict[str, spaces.Space] = {"agent_pos": spaces.Box(-1e4, 1e4, (state,), np.float32)}
        if "touch" in old.spaces:
            found["environment_state"] = old["touch"]
        if pixels:
            width, height = env.unwrapped.size_px
            found["pixels"] = spaces.Box(0, 255, (height, width, 3), np.uint8)
        self.observation_space = spaces.Dict(found)
        self.task_description = env.unwrapped.task_description

    def observation(self, observation: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
        """The same by other names."""
        parts = [observation[key] for key in ("observation", "goal") if key in observation]
        found = {"agent_pos": np.concatenate(parts)}
        if "touch" in observation:
            found["environment_state"] = observation["touch"]
        if self._pixels:
            found["pixels"] = self.env.render()
        return found


def make(*, task: str, pixels: bool, **given: Any) -> gymnasium.Env:
    """An environment as LeRobot wants it."""
    return ForLeRobot(envs.TASKS[f"thenar/{task}"](**given), pixels=pixels)


for _id in envs.TASKS:
    _name = _id.partition("/")[2]
    gymnasium.register(
        f"{PREFIX}/{_name}", entry_point=make, max_episode_steps=envs.STEPS, kwargs={"task": _name, "pixels": False}
    )


@EnvConfig.register_subclass("thenar")
@dataclass
class ThenarEnv(EnvConfig):
    """A task of `thenar.envs`."""

    task: str | None = "PressProfile-v0"
    fps: int = 25
    touch: str = "pads"
    """taxels, pads, shear or none; policies see it as observation.environment_state."""
    pixels: bool = False
    """True: a picture as observation.image."""
    features: dict[str, PolicyFeature] = field(default_factory=dict)
    features_map: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Shapes are those of the task."""
        env = gymnasium.make(self.gym_id, **self.gym_kwargs)
        kinds = {"agent_pos": FeatureType.STATE, "environment_state": FeatureType.ENV, "pixels": FeatureType.VISUAL}
        names = {"agent_pos": "state", "environment_state": "environment_state", "pixels": "image"}
        assert isinstance(env.observation_space, spaces.Dict)
        self.features = {"action": PolicyFeature(type=FeatureType.ACTION, shape=env.action_space.shape)}
        self.features_map = {"action": "action"}
        for key, space in env.observation_space.spaces.items():
            self.features[key] = PolicyFeature(type=kinds[key], shape=space.shape)
            self.features_map[key] = f"observation.{names[key]}"
        env.close()

    @property
    def gym_id(self) -> str:
        """Of the renamed environment."""
        return f"{PREFIX}/{self.task}"

    @property
    def gym_kwargs(self) -> dict[str, Any]:
        """Of `gymnasium.make`."""
        return {"touch": self.touch, "pixels": self.pixels, "render_mode": "rgb_array"}
