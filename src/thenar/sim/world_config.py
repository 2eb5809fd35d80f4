"""What a world is made of, as one checked value."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Literal

import mujoco

from thenar import hands as catalogue
from thenar.errors import BadValue, UnknownName
from thenar.hands.spec import HandSpec
from thenar.sim.props import Prop
from thenar.sim.scenes import EMPTY, Mount, Scene

Profile = Literal["measured", "ideal"]


@dataclass(frozen=True, kw_only=True)
class Flange:
    """Where a hand's root link sits on a robot."""

    body: str
    pos_m: tuple[float, float, float]
    quat_wxyz: tuple[float, float, float, float]


@dataclass(frozen=True, kw_only=True, eq=False)
class Robot:
    """A machine that holds hands, such as a humanoid; its motors are commanded through the engine's own fields."""

    spec: mujoco.MjSpec
    flanges: Mapping[str, Flange]
    """Where each hand of the world sits, by hand name."""
    rest_rad: Mapping[str, float]
    """Angles of its joints at time 0, by joint name [rad]; the others start at 0."""


@dataclass(frozen=True, kw_only=True, eq=False)
class WorldConfig:
    """Hands, objects, surroundings and settings of a simulation."""

    hands: tuple[HandSpec, ...]
    props: tuple[Prop, ...] = ()
    """Objects besides those of the scene."""
    scene: Scene = EMPTY
    mounts: Mapping[str, Mount] = field(default_factory=dict)
    """How hands are held, by hand name, where the scene's choice is not wanted."""
    timestep_s: float = 0.002
    seed: int = 0
    profile: Profile = "measured"
    robot: Robot | None = None
    """Holds the hands; None: they are on mounts of their own."""

    def __post_init__(self) -> None:
        """Refuse what cannot be built."""
        if not (isinstance(self.timestep_s, (int, float)) and 1e-5 <= self.timestep_s <= 0.01):
            raise BadValue("timestep_s", self.timestep_s, "seconds from 0.00001 to 0.01")
        if self.profile not in ("measured", "ideal"):
            raise UnknownName("profile", self.profile, ("measured", "ideal"))
        if not isinstance(self.seed, int):
            raise BadValue("seed", self.seed, "a whole number")
        if not self.hands and self.robot is None:
            raise BadValue("hands", self.hands, f"at least one of {', '.join(catalogue.names())}")
        strange = [prop for prop in (*self.scene.props, *self.props) if not isinstance(prop, Prop)]
        if strange:
            raise BadValue("props", strange[0], "objects such as thenar.Sphere(radius_m=0.03)")
        names = [spec.name for spec in self.hands]
        doubled = {name for name in names if names.count(name) > 1}
        if doubled:
            raise BadValue("hands", sorted(doubled), "every hand once, or specs with names of their own")
        unknown = set(self.mounts) - set(names)
        if unknown:
            raise UnknownName("hand in this world", min(unknown), names)
        for name, mount in self.mounts.items():
            if not isinstance(mount, Mount):
                raise BadValue(f"mount of {name}", mount, "a thenar.Mount")

    @cached_property
    def specs(self) -> dict[str, HandSpec]:
        """The hands by name, with the motors of the profile."""
        return {spec.name: _ideal(spec) if self.profile == "ideal" else spec for spec in self.hands}

    @cached_property
    def hand_mounts(self) -> dict[str, Mount]:
        """How each hand is held: as wanted, as the scene has it, or palm up side by side."""
        mounts: dict[str, Mount] = {}
        for place, spec in enumerate(self.hands):
            if self.robot is not None:
                mounts[spec.name] = Mount()
                continue
            beside = Mount(pos_m=(0.30 * (place - (len(self.hands) - 1) / 2), 0.0, 0.0))
            mount = self.mounts.get(spec.name) or self.scene.mounts.get(spec.side) or beside
            shared = [name for name, other in mounts.items() if _numbers(other) == _numbers(mount)]
            if shared:
                raise BadValue(
                    "hands", [shared[0], spec.name], "one hand a side in this scene, or mounts= for each of them"
                )
            mounts[spec.name] = mount
        return mounts


def resolve_hands(hands: str | HandSpec | Sequence[str | HandSpec]) -> tuple[HandSpec, ...]:
    """Specs of one hand or several, given by name or as specs."""
    chosen = hands if isinstance(hands, Sequence) and not isinstance(hands, str) else [hands]
    strange = [hand for hand in chosen if not isinstance(hand, (str, HandSpec))]
    if strange:
        raise BadValue("hands", strange[0], "a hand's name, a HandSpec, or a list of them")
    return tuple(catalogue.load(hand) if isinstance(hand, str) else hand for hand in chosen)


def _numbers(mount: Mount) -> tuple[float, ...]:
    """A mount's numbers: arrays, as which they may be given, are not compared as one."""
    return *map(float, mount.pos_m), *map(float, mount.rpy_rad), mount.driven


def _ideal(spec: HandSpec) -> HandSpec:
    actuators = tuple(replace(actuator, motor=actuator.motor.ideal()) for actuator in spec.actuators)
    return replace(spec, actuators=actuators)
