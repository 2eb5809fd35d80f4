"""What every environment has: a hand that is driven step by step, what it observes, seeds, goals, pictures."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Literal

import gymnasium
import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray

from thenar import hands
from thenar.arrays import FloatArray
from thenar.envs.randomise import NOTHING, Randomise
from thenar.errors import BadValue
from thenar.hands.spec import HandSpec
from thenar.signals import HandCommand, HandState, TouchFrame
from thenar.sim.drawing.render import Artist, frame_world
from thenar.sim.props import Prop
from thenar.sim.scenes import Mount
from thenar.sim.world_config import Profile
from thenar.touch.sensor.calibration import profile_of
from thenar.twin.world import World

Touch = Literal["taxels", "pads", "shear", "none"]
Reward = Literal["dense", "sparse"]
Observation = dict[str, NDArray[np.float32]]

STEP_S = 0.04
MAX_TRIES = 20  # to draw an episode that begins as it should
LEASH = 0.25  # how far a target may lead its motor: pushing on against something is not owed for later
FORCE_LIMIT_N = 20.0
LOST_M = 0.1
LARGEST = 1e4  # of any number a policy sees


@dataclass(frozen=True, kw_only=True, eq=False)
class Outcome:
    """What a step came to, as the simulation knows it; a policy does not see it."""

    achieved: FloatArray
    """What a goal is compared with."""
    success: bool
    """Whether the task is done, as far as it can be by now."""
    over: bool = False
    """True: nothing that follows could mend it."""
    facts: Mapping[str, float]
    """Numbers for ``info``; rewards may use them."""


class HandEnv(gymnasium.Env[Any, NDArray[np.float32]], ABC):
    """A hand with a task. Tasks derive from it.

    An action moves the targets of motors, or of groups of motors, by some of their stroke; a step is 40 ms.
    Observations are a dictionary: ``observation`` has angle, velocity, force and target of every motor (shares of the
    stroke, shares a second, tens of newtons, shares), ``touch`` what the skin's sensors say [N], ``goal`` what is
    wanted, where that differs from episode to episode. The goal form has ``achieved_goal`` and ``desired_goal``.
    """

    metadata: dict[str, Any] = {  # noqa: RUF012 (as Gymnasium declares it)
        "render_modes": ["rgb_array"],
        "render_fps": round(1.0 / STEP_S),
    }
    hand_name: ClassVar[str] = "inspire_right"
    groups: ClassVar[Mapping[str, tuple[str, ...]]] = {}
    """Motors that an action moves together, by name of the group; empty: each by itself."""
    stroke_per_step: ClassVar[float] = 0.05
    """How much of its stroke the largest action moves a motor's target."""
    posture: ClassVar[Mapping[str, float]] = {}
    """Share of the stroke at which motors begin, by name; the others begin open."""
    goal_size: ClassVar[int] = 1
    goal_varies: ClassVar[bool] = False
    task_description: ClassVar[str] = ""
    hint_size: ClassVar[int] = 0
    """Numbers that a task adds to what the motors say."""
    answers: ClassVar[int] = 0
    """Numbers of an action behind the motors', with which a question is answered."""

    def __init__(
        self,
        *,
        hand: str | HandSpec | None = None,
        touch: Touch = "taxels",
        reward: Reward = "dense",
        goal: bool = False,
        randomise: bool | Randomise = True,
        profile: Profile = "measured",
        render_mode: Literal["rgb_array"] | None = None,
        size_px: tuple[int, int] = (320, 240),
    ):
        """Nothing is built before the first reset.

        Args:
            hand: Another hand of the same kind; None for the task's own.
            touch: ``taxels`` (every one), ``pads`` (their sums), ``shear`` (these, and friction along rows and columns
                of every pad, as a skin with three axes would feel it; no such Inspire hand is made) or ``none``.
            reward: ``dense``, or ``sparse``: 1 where the task is done, else 0.
            goal: True: the goal form, for hindsight replay.
            randomise: How far episodes differ; False: not at all, True: `Randomise` as it is.
            profile: Of motors and skin, ``measured`` or ``ideal``.
            render_mode: ``rgb_array`` or None.
            size_px: Of pictures.
        """
        self.hand = hands.load(hand or self.hand_name) if not isinstance(hand, HandSpec) else hand
        _check("touch", touch, ("taxels", "pads", "shear", "none"))
        _check("reward", reward, ("dense", "sparse"))
        _check("profile", profile, ("measured", "ideal"))
        _check("render_mode", render_mode, (None, *self.metadata["render_modes"]))
        if not isinstance(randomise, (bool, Randomise)):
            raise BadValue("randomise", randomise, "True, False or a Randomise")
        wanted = hands.load(self.hand_name).actuator_names
        if self.hand.actuator_names != wanted:
            raise BadValue("hand", self.hand.name, f"a hand with the motors of {self.hand_name}: {', '.join(wanted)}")
        if touch != "none" and not self.hand.pads:
            raise BadValue("touch", touch, f"'none': {self.hand.name} has no skin that feels")
        self.touch: Touch = touch
        self.profile: Profile = profile
        self.reward, self.goal = reward, goal
        self.randomise = randomise if isinstance(randomise, Randomise) else Randomise() if randomise else NOTHING
        self.render_mode, self.size_px = render_mode, size_px
        groups = self.groups or {motor: (motor,) for motor in self.hand.actuator_names}
        names = self.hand.actuator_names
        self._spread = np.array([[float(name in group) for group in groups.values()] for name in names])
        self.action_size = len(groups) + self.answers
        """Numbers of an action."""
        self.action_space = spaces.Box(-1.0, 1.0, (self.action_size,), np.float32)
        self.observation_space = spaces.Dict(self._spaces())
        # From open to closed, or from stop to stop where closing does not move a motor.
        ends = [(a.open_rad, a.closed_rad) if a.stroke_rad else (a.lower_rad, a.upper_rad) for a in self.hand.actuators]
        self._from_rad, self._stroke_rad = np.array(ends)[:, 0], np.diff(ends)[:, 0]
        self._speed_rad_s = self.hand.top_speed_rad_s
        rest = (self.hand.open_rad - self._from_rad) / self._stroke_rad
        self._begin_at = np.array([self.posture.get(name, share) for name, share in zip(names, rest, strict=True)])
        sizes = [pad.taxels for pad in self.hand.pads]
        self._pad_first = np.cumsum([0, *sizes[:-1]])
        self._area_m2 = np.repeat([pad.row_pitch_m * pad.col_pitch_m for pad in self.hand.pads], sizes)
        usual = profile_of(self.hand, profile)
        # A skin is read once a step, as long before its end as its reading takes to arrive.
        self._calibration, self._age_s = replace(usual, rate_hz=math.inf, latency_s=0.0), usual.latency_s
        self._resting, self._gain = (usual.per_taxel(self.hand.pads, name) for name in ("offset", "gain"))
        self._target = self._share = self._begin_at
        self._artist: Artist | None = None
        self._world: World | None = None
        self.desired = np.zeros(self.goal_size)
        """The goal of now."""
        self.steps = 0
        """Steps of this episode."""

    @property
    def world(self) -> World:
        """The world of this episode."""
        if self._world is None:
            raise gymnasium.error.ResetNeeded("call reset() before anything else")
        return self._world

    @property
    def time_s(self) -> float:
        """Time since the episode began [s]."""
        return self.steps * STEP_S

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Observation, dict[str, Any]]:
        """Begin an episode in a world of its own.

        Args:
            seed: Of everything that follows.
            options: Not used.
        """
        super().reset(seed=seed)
        rng = self.np_random
        for _ in range(MAX_TRIES):
            self._build(rng)
            if self.begin(rng):
                break
        self._advance(self._age_s)
        outcome = self.outcome()
        return self._observe(outcome), self._info(outcome)

    def _build(self, rng: np.random.Generator) -> None:
        self.close()
        props = self.draw_props(rng)
        self._world = World(
            self.randomise.hand(self.hand, rng),
            props=props,
            mounts={self.hand.name: self.mount()},
            seed=int(rng.integers(1 << 31)),
            profile=self.profile,
            skin={self.hand.name: self.randomise.skin_of(self._calibration, rng)} if self.hand.pads else None,
        )
        self._target, self.steps = self._begin_at.copy(), 0
        self._command()

    def step(self, action: NDArray[np.floating[Any]]) -> tuple[Observation, float, bool, bool, dict[str, Any]]:
        """Move the targets, let 40 ms pass, and look."""
        values = np.asarray(action, dtype=np.float64)
        if values.shape != (self.action_size,) or not np.isfinite(values).all():
            raise BadValue("action", values.tolist(), f"{self.action_size} finite numbers from -1 to 1")
        self.answer = values[self.action_size - self.answers :]
        moved = self._spread @ np.clip(values[: self.action_size - self.answers], -1.0, 1.0)
        target = np.clip(self._target + self.stroke_per_step * moved, 0.0, 1.0)
        self._target = np.clip(target, self._share - LEASH, self._share + LEASH)
        self._command()
        self.act()
        self._advance(STEP_S)
        self.steps += 1
        outcome = self.outcome()
        info = self._info(outcome)
        reward = self.compute_reward(outcome.achieved, self.desired, info)
        return self._observe(outcome), float(reward), outcome.over, False, info

    def compute_reward(
        self, achieved_goal: FloatArray, desired_goal: FloatArray, info: Mapping[str, Any] | Sequence[Mapping[str, Any]]
    ) -> FloatArray:
        """Reward of what was achieved, of one step or of many at once."""
        achieved, desired = np.asarray(achieved_goal, dtype=np.float64), np.asarray(desired_goal, dtype=np.float64)
        infos = [info] if isinstance(info, Mapping) else list(info)
        facts = {key: np.array([one[key] for one in infos], dtype=np.float64) for key in infos[0]}
        rows = achieved.reshape(-1, self.goal_size), desired.reshape(-1, self.goal_size)
        if self.reward == "sparse":
            rewards = self.reached(*rows, facts).astype(np.float64)
        else:
            rewards = self.dense_reward(*rows, facts)
        return rewards[0] if achieved.ndim == 1 else rewards

    def render(self) -> NDArray[np.uint8] | None:
        """A picture of now, with the skin's pressure on it."""
        if self.render_mode is None:
            return None
        world = self.world
        if self._artist is None:
            self._artist = Artist(world.physics, size_px=self.size_px)
            self._camera = frame_world(world.physics, size_px=self.size_px)
        return self._artist.draw(self._camera, world.tiles(), glass=0.5)

    def close(self) -> None:
        """Let go of the world and of what draws it."""
        if self._artist is not None:
            self._artist.close()
        self._artist, self._world = None, None

    # What a task fills in.

    @abstractmethod
    def draw_props(self, rng: np.random.Generator) -> list[Prop]:
        """Objects of an episode."""

    def mount(self) -> Mount:
        """How the hand is held: palm up."""
        return Mount()

    def begin(self, rng: np.random.Generator) -> bool:
        """Bring the world to where the policy takes over; False: it did not get there, and another is drawn."""
        return True

    def act(self) -> None:
        """What else happens in the coming step: a pull, a turn of the wrist, the next goal."""

    def hints(self) -> FloatArray:
        """What a policy may know besides. Shape (hint_size,)."""
        return np.zeros(0)

    @abstractmethod
    def outcome(self) -> Outcome:
        """What has come of it by now."""

    @abstractmethod
    def reached(self, achieved: FloatArray, desired: FloatArray, facts: Mapping[str, FloatArray]) -> NDArray[np.bool_]:
        """Whether the task is done. Shapes (n, goal), (n, goal), by name (n,)."""

    @abstractmethod
    def dense_reward(self, achieved: FloatArray, desired: FloatArray, facts: Mapping[str, FloatArray]) -> FloatArray:
        """How good it is, about 0 to 1 a step. Shapes as in `reached`."""

    # What tasks use.

    def settle(self, seconds: float, posture: Mapping[str, float] | None = None) -> None:
        """Go to a posture, by motor, before the policy takes over."""
        for name, share in (posture or {}).items():
            self._target[self.hand.actuator_names.index(name)] = share
        self._command()
        self.world.advance(seconds)

    def grip_n(self, thing: str) -> dict[str, float]:
        """Normal force of the hand on an object, by link [N]."""
        contacts = self.world.contacts(self.hand.name)
        forces: dict[str, float] = {}
        for body, partner, force in zip(contacts.body, contacts.partner, contacts.normal_force_n, strict=True):
            if partner == thing:
                link = body.partition("/")[2]
                forces[link] = forces.get(link, 0.0) + float(force)
        return forces

    def in_palm(self, thing: str) -> FloatArray:
        """Where an object is in the palm's frame [m]."""
        at_m, quat = self.world.wrists.pose(self.hand.name)
        w, v = quat[0], quat[1:]
        away = self.world.props.pose(thing)[0] - at_m
        across = 2.0 * np.cross(-v, away)  # turned back by the palm's orientation
        return away + w * across + np.cross(-v, across)

    def _advance(self, seconds: float) -> None:
        """Let time pass, and read the skin so that it has been delivered by then."""
        self.world.advance(seconds - self._age_s)
        if self.touch != "none":
            self._frame = self.world.touch(self.hand.name)
        self.world.advance(self._age_s)

    def _command(self) -> None:
        target_rad = self._from_rad + self._target * self._stroke_rad
        command = HandCommand.to(target_rad, speed_rad_s=self._speed_rad_s, force_limit_n=FORCE_LIMIT_N)
        self.world.command(self.hand.name, command)

    def _spaces(self) -> dict[str, spaces.Space[Any]]:
        def box(size: int) -> spaces.Box:
            return spaces.Box(-LARGEST, LARGEST, (size,), np.float32)

        pads = len(self.hand.pads)
        found: dict[str, spaces.Space[Any]] = {"observation": box(4 * len(self.hand.actuators) + self.hint_size)}
        if self.touch != "none":
            found["touch"] = box({"taxels": self.hand.taxels, "shear": 3 * pads}.get(self.touch, pads))
        if self.goal:
            found |= {"achieved_goal": box(self.goal_size), "desired_goal": box(self.goal_size)}
        elif self.goal_varies:
            found["goal"] = box(self.goal_size)
        return found

    def _observe(self, outcome: Outcome) -> Observation:
        state = self.world.state(self.hand.name)
        found: dict[str, FloatArray] = {"observation": self._proprioception(state)}
        if self.touch != "none":
            found["touch"] = self._feel(self._frame)
        if self.goal:
            found |= {"achieved_goal": outcome.achieved, "desired_goal": self.desired}
        elif self.goal_varies:
            found["goal"] = self.desired
        return {name: value.astype(np.float32) for name, value in found.items()}

    def _feel(self, frame: TouchFrame) -> FloatArray:
        felt = (frame.taxel_counts - self._resting) / self._gain
        if self.touch == "taxels":
            return felt
        sums = np.add.reduceat(felt, self._pad_first)
        if self.touch == "pads":
            return sums
        shear_n = np.add.reduceat(frame.taxel_shear_pa * self._area_m2[:, None], self._pad_first)
        return np.concatenate([sums, shear_n.ravel()])

    def _proprioception(self, state: HandState) -> FloatArray:
        self._share = (state.angle_rad - self._from_rad) / self._stroke_rad
        speed = state.velocity_rad_s / self._stroke_rad
        return np.concatenate([self._share, speed, np.nan_to_num(state.force_n) / 10.0, self._target, self.hints()])

    def _info(self, outcome: Outcome) -> dict[str, Any]:
        return {"is_success": outcome.success, **outcome.facts}


def _check(name: str, value: object, known: Sequence[object]) -> None:
    if value not in known:
        raise BadValue(name, value, f"one of {', '.join(map(repr, known))}")
