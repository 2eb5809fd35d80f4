"""What every environment has: a hand that is driven step by step, what it observes, seeds, goals, pictures."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Literal, TypeAlias

import gymnasium
import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray

from thenar import hands
from thenar.arrays import FloatArray
from thenar.batch.device import without_visuals
from thenar.envs.randomise import NOTHING, Randomise
from thenar.envs.stage import DIVERGED, Felt, OneStage, Reported, Stage
from thenar.errors import BadValue, ThenarError
from thenar.hands.spec import HandSpec
from thenar.sim.drawing.render import Artist, frame_world
from thenar.sim.props import Prop
from thenar.sim.scenes import Mount
from thenar.sim.world_config import Profile
from thenar.touch.sensor.calibration import profile_of
from thenar.twin.world import World

Touch = Literal["taxels", "pads", "shear", "none"]
Reward = Literal["dense", "sparse"]
Observation = dict[str, NDArray[np.float32]]
Truth: TypeAlias = bool | np.bool_ | NDArray[np.bool_]  # of one world, or of many
Number: TypeAlias = float | FloatArray

STEP_S = 0.04
MAX_TRIES = 20  # to draw an episode that begins as it should
LEASH = 0.25  # how far a target may lead its motor: pushing on against something is not owed for later
LOST_M = 0.1
LARGEST = 1e4  # of any number a policy sees


class NoEpisode(ThenarError, RuntimeError):
    """Episodes of a task that do not begin as they should, however often another one is drawn."""

    def __init__(self, task: str):
        """Say of which task, and what helps."""
        super().__init__(f"no episode of {task} began as it should in {MAX_TRIES} tries; randomise it less")


@dataclass(frozen=True, kw_only=True, eq=False)
class Outcome:
    """What a step came to, as the simulation knows it; a policy does not see it. Of many worlds: a row for each."""

    achieved: FloatArray
    """What a goal is compared with."""
    success: Truth
    """Whether the task is done, as far as it can be by now."""
    over: Truth = False
    """True: nothing that follows could mend it."""
    facts: Mapping[str, Number]
    """Numbers for ``info``; rewards may use them."""


class HandEnv(gymnasium.Env[Any, NDArray[np.float32]], ABC):
    """A hand with a task. Tasks derive from it.

    An action moves the targets of motors, or of groups of motors, by some of their stroke; a step is 40 ms.
    Observations are a dictionary: ``observation`` has angle, velocity, force and target of every motor (shares of the
    stroke, shares a second, tens of newtons, shares), ``touch`` what the skin's sensors say [N], ``goal`` what is
    wanted, where that differs from episode to episode. The goal form has ``achieved_goal`` and ``desired_goal``.

    A task says what happens in one world or in many at once (`thenar.envs.many_hands`): then times, poses, forces and
    the numbers of its `episode` have a row per world, so it reads axes from the last one.
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
    mount: ClassVar[Mount] = Mount()
    """How the hand is held: palm up."""
    posture: ClassVar[Mapping[str, float]] = {}
    """Share of the stroke at which motors begin, by name; the others begin open."""
    goal_size: ClassVar[int] = 1
    goal_varies: ClassVar[bool] = False
    task_description: ClassVar[str] = ""
    things: ClassVar[tuple[Prop, ...]]
    """What the object of an episode may be, before it is randomised; all of one name."""
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
        self._calibration, self.age_s = replace(usual, rate_hz=math.inf, latency_s=0.0), usual.latency_s
        """How old a reading of the skin is when it arrives [s]."""
        self._resting, self._gain = (usual.per_taxel(self.hand.pads, name) for name in ("offset", "gain"))
        self._artist: Artist | None = None
        self._world: World | None = None
        self._stage: Stage | None = None
        self.episode: dict[str, FloatArray] = {"desired": np.zeros(self.goal_size)}
        """What was drawn for this episode and what a task remembers of it, by name."""
        self.start(())

    @property
    def world(self) -> World:
        """The world of this episode."""
        if self._world is None:
            raise gymnasium.error.ResetNeeded("call reset() before anything else")
        return self._world

    @property
    def stage(self) -> Stage:
        """Where the task happens: a world, or many."""
        if self._stage is None:
            raise gymnasium.error.ResetNeeded("call reset() before anything else")
        return self._stage

    @stage.setter
    def stage(self, stage: Stage) -> None:
        self._stage = stage

    @property
    def time_s(self) -> FloatArray:
        """Time since the episode began [s]."""
        return STEP_S * np.asarray(self.steps, dtype=np.float64)

    @property
    def desired(self) -> FloatArray:
        """The goal of now."""
        return self.episode["desired"]

    @desired.setter
    def desired(self, value: FloatArray) -> None:
        self.episode["desired"] = value

    def start(self, worlds: tuple[int, ...]) -> None:
        """Be at the beginning of an episode, in one world, ``()``, or in many, ``(n,)``."""
        self.target = np.broadcast_to(self._begin_at, (*worlds, len(self._begin_at))).copy()
        """Where motors are sent, in shares of the stroke."""
        self._share = self._waiting_at = self.target.copy()
        self._waits = np.zeros(worlds, dtype=bool)
        self.answer = np.zeros((*worlds, self.answers))
        self.steps = np.zeros(worlds, dtype=np.int64)
        """Steps of this episode."""

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
            if self.begin() and not self.broken():
                break
        else:
            raise NoEpisode(type(self).__name__)
        self.stage.advance(self.age_s)
        outcome = self.outcome()
        return self.observe(outcome), self._info(outcome)

    def _build(self, rng: np.random.Generator) -> None:
        self.close()
        props = self.draw_episode(rng)
        hand = self.randomise.hand(self.hand, rng)
        self._world = World(
            hand if self.render_mode else without_visuals(hand),
            props=props,
            mounts={self.hand.name: self.mount},
            seed=int(rng.integers(1 << 31)),
            profile=self.profile,
            skin={self.hand.name: self.randomise.skin_of(self._calibration, rng)} if self.hand.pads else None,
        )
        self.stage = OneStage(self._world, self.hand.name, age_s=self.age_s, feels=self.touch != "none")
        self.start(())
        self.send()

    def draw_episode(self, rng: np.random.Generator) -> list[Prop]:
        """Objects of another episode, and its `episode`."""
        self.episode = {"desired": np.zeros(self.goal_size)}
        return self.draw_props(rng)

    def step(self, action: NDArray[np.floating[Any]]) -> tuple[Observation, float, bool, bool, dict[str, Any]]:
        """Move the targets, let 40 ms pass, and look."""
        values = np.asarray(action, dtype=np.float64)
        if values.shape != (self.action_size,) or not np.isfinite(values).all():
            raise BadValue("action", values.tolist(), f"{self.action_size} finite numbers from -1 to 1")
        outcome = self.play(values)
        info = self._info(outcome)
        reward = self.compute_reward(outcome.achieved, self.desired, info)
        return self.observe(outcome), float(reward), bool(outcome.over), False, info

    def play(self, values: FloatArray) -> Outcome:
        """Move the targets and let 40 ms pass. ``values``: the action, or a row for each world."""
        motors = self.action_size - self.answers
        self.answer = values[..., motors:]
        moved = np.clip(values[..., :motors], -1.0, 1.0) @ self._spread.T
        target = np.clip(self.target + self.stroke_per_step * moved, 0.0, 1.0)
        self.target = np.clip(target, self._share - LEASH, self._share + LEASH)
        self.send()
        self.act()
        self.stage.advance(STEP_S)
        self.steps = self.steps + 1
        outcome = self.outcome()
        return replace(outcome, over=outcome.over | self.broken())

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
        self._artist, self._world, self._stage = None, None, None

    # What a task fills in.

    @abstractmethod
    def draw_props(self, rng: np.random.Generator) -> list[Prop]:
        """Objects of an episode."""

    def begin(self) -> Truth:
        """Bring the world to where the policy takes over; False: it did not get there, and another is drawn."""
        return np.ones(self.steps.shape, dtype=bool)

    def act(self) -> None:
        """What else happens in the coming step: a pull, a turn of the wrist, the next goal."""

    def hints(self) -> FloatArray:
        """What a policy may know besides. Shape (..., hint_size)."""
        return np.zeros((*self.steps.shape, 0))

    @abstractmethod
    def outcome(self) -> Outcome:
        """What has come of it by now: called once a step, for a task may add up and remember what it finds."""

    @abstractmethod
    def reached(self, achieved: FloatArray, desired: FloatArray, facts: Mapping[str, FloatArray]) -> NDArray[np.bool_]:
        """Whether the task is done. Shapes (n, goal), (n, goal), by name (n,)."""

    @abstractmethod
    def dense_reward(self, achieved: FloatArray, desired: FloatArray, facts: Mapping[str, FloatArray]) -> FloatArray:
        """How good it is, about 0 to 1 a step. Shapes as in `reached`."""

    # What tasks use.

    def settle(self, seconds: float, posture: Mapping[str, Number] | None = None) -> None:
        """Go to a posture, by motor, before the policy takes over."""
        for name, share in (posture or {}).items():
            self.target[..., self.hand.actuator_names.index(name)] = share
        self.send()
        self.stage.settle(seconds)

    def wait_where(self, ready: Truth) -> bool:
        """Whether all are ready; worlds that are stay as they are until `go_on`, while others come so far."""
        newly = np.asarray(ready) & ~self._waits
        self.stage.save(newly)
        self._waiting_at = np.where(newly[..., None], self.target, self._waiting_at)
        self._waits = self._waits | newly
        return bool(self._waits.all())

    def go_on(self) -> None:
        """End the waiting."""
        self.stage.restore(self._waits)
        self.target = np.where(self._waits[..., None], self._waiting_at, self.target)
        self._waits = np.zeros_like(self._waits)

    def remember(self, name: str, where: Truth, value: FloatArray) -> None:
        """Keep what a number of the episode is when it is first asked for; until then it is NaN."""
        known = self.episode[name]
        self.episode[name] = np.where(np.asarray(where)[..., None] & np.isnan(known), value, known)

    def grip_n(self, thing: str) -> dict[str, Number]:
        """Normal force of the hand on an object, by link [N]."""
        return self.stage.grip_n(thing)

    def broken(self) -> NDArray[np.bool_]:
        """Where the simulation diverged."""
        return np.asarray(self.stage.flags()) & DIVERGED != 0

    def send(self) -> None:
        """Send the motors to their targets."""
        self.stage.command(self._from_rad + self.target * self._stroke_rad, self._speed_rad_s)

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

    def observe(self, outcome: Outcome) -> Observation:
        """What a policy sees of it."""
        found: dict[str, FloatArray] = {"observation": self._proprioception(self.stage.state())}
        if self.touch != "none":
            found["touch"] = self._feel(self.stage.felt)
        if self.goal:
            found |= {"achieved_goal": outcome.achieved, "desired_goal": self.desired}
        elif self.goal_varies:
            found["goal"] = self.desired
        return {name: value.astype(np.float32) for name, value in found.items()}

    def _feel(self, felt: Felt) -> FloatArray:
        force_n = (felt.counts - self._resting) / self._gain
        if self.touch == "taxels":
            return force_n
        sums = np.add.reduceat(force_n, self._pad_first, axis=-1)
        if self.touch == "pads":
            return sums
        shear_n = np.add.reduceat(felt.shear_pa * self._area_m2[:, None], self._pad_first, axis=-2)
        return np.concatenate([sums, shear_n.reshape(*sums.shape[:-1], -1)], axis=-1)

    def _proprioception(self, state: Reported) -> FloatArray:
        self._share = (state.angle_rad - self._from_rad) / self._stroke_rad
        speed = state.velocity_rad_s / self._stroke_rad
        force = np.nan_to_num(state.force_n) / 10.0
        return np.concatenate([self._share, speed, force, self.target, self.hints()], axis=-1)

    def _info(self, outcome: Outcome) -> dict[str, Any]:
        facts = {name: float(value) for name, value in outcome.facts.items()}
        return {"is_success": bool(outcome.success), "flags": int(self.stage.flags()), **facts}


def _check(name: str, value: object, known: Sequence[object]) -> None:
    if value not in known:
        raise BadValue(name, value, f"one of {', '.join(map(repr, known))}")
