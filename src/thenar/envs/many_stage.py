"""Many worlds on one device as the stage of a task. Needs the extra ``gpu``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from thenar import batch
from thenar.arrays import FloatArray, IntArray
from thenar.batch.device import capacity, without_visuals
from thenar.batch.randomizing import NOISES, Factors, no_factors
from thenar.envs.stage import FORCE_LIMIT_N, Felt, Reported
from thenar.hands.rotations import matrix_from_rpy, quat_wxyz_from_matrix
from thenar.hands.spec import HandSpec
from thenar.sim.building import root_pose
from thenar.sim.physics import Physics
from thenar.sim.props import Prop
from thenar.sim.scenes import Mount
from thenar.sim.world_config import Profile, WorldConfig
from thenar.twin.scaled import size_of


class ManyStage:
    """Worlds that have every object that an episode may have; those that it has not are held far away."""

    def __init__(
        self,
        hand: HandSpec,
        things: Sequence[Prop],
        mount: Mount,
        *,
        count: int,
        profile: Profile,
        device: str | None,
        feels: bool,
    ):
        """Build the worlds.

        Args:
            hand: The hand.
            things: What the object may be.
            mount: How the hand is held.
            count: Number of worlds.
            profile: Of motors and skin.
            device: Of Warp.
            feels: Whether the skin is read.
        """
        self._hand, self._mount, self._count = hand, mount, count
        self._names = [f"{thing.name}_{k}" if k else thing.name for k, thing in enumerate(things)]
        self._things = list(things)
        self._away_m = [(2.0 + k, 0.0, 0.0) for k in range(len(things))]
        props = [
            replace(thing, name=name, pos_m=self._away_m[k] if k else thing.pos_m)
            for k, (name, thing) in enumerate(zip(self._names, things, strict=True))
        ]
        mounts = {hand.name: mount}
        configs = [WorldConfig(hands=(without_visuals(hand),), props=(thing,), mounts=mounts) for thing in things]
        contacts = max(capacity(Physics(config), None)[0] for config in configs)
        self.worlds = batch.Worlds(
            hand, count=count, props=props, mounts=mounts, profile=profile, device=device, max_contacts=contacts
        )
        self._feels = feels
        if feels:
            self.worlds.touch()
        self._waiting = self.worlds.snapshot()
        self._kind = np.zeros(count, dtype=np.int64)
        self._place_m = np.tile(np.array(self._away_m), (count, 1, 1))
        self._factors = no_factors(count, len(things), len(hand.actuators))
        self._noises = np.zeros(count, dtype=np.int64)

    def draw(
        self, world: int, prop: Prop, motors: Sequence[Mapping[str, float]], skin: Mapping[str, float], noise: int
    ) -> None:
        """Give a world its object, its motors, its skin and the noise of that, from the next `begin` on."""
        kind = next(k for k, thing in enumerate(self._things) if isinstance(prop, type(thing)))
        usual, factors = self._things[kind], self._factors
        self._kind[world] = kind
        self._place_m[world] = self._away_m
        self._place_m[world, kind] = prop.pos_m
        factors.mass[world, kind] = prop.mass_kg / usual.mass_kg
        factors.friction[world, kind] = prop.friction / usual.friction
        factors.size[world, kind] = size_of(prop) / size_of(usual)
        for number, motor in enumerate(motors):
            for name, factor in motor.items():
                getattr(factors, name)[world, number] = factor
        for name, factor in skin.items():
            getattr(factors, name)[world, 0] = factor
        self._noises[world] = noise

    def begin(self) -> None:
        """Reset all worlds to what was drawn for them; until `feel` no skin is read."""
        self.worlds.pause_touch()
        self.worlds.number_skins(self._noises)
        self.worlds.set_factors(Factors(**{name: rows.copy() for name, rows in vars(self._factors).items()}))
        for k, name in enumerate(self._names):
            self.worlds.place(name, self._place_m[:, k])
        self.worlds.reset(noise=int(self._noises.sum() % NOISES))
        for k, name in enumerate(self._names):
            if len(self._names) > 1:
                self.worlds.props.drag(name, self._place_m[:, k], mask=self._kind != k)

    def feel(self) -> None:
        """Read skins from now on, each without a past."""
        self.worlds.begin_touch()

    @property
    def felt(self) -> Felt:
        """See `Stage`."""
        arrays = self.worlds.touch()
        return Felt(arrays.counts.numpy(), arrays.shear_pa.numpy())

    def state(self) -> Reported:
        """See `Stage`."""
        state = self.worlds.state()
        told = (state.angle_rad, state.velocity_rad_s, state.force_n)
        return Reported(*(values.numpy().astype(np.float64) for values in told))

    def command(self, target_rad: FloatArray, speed_rad_s: FloatArray) -> None:
        """See `Stage`."""
        limit_n = np.full_like(target_rad, FORCE_LIMIT_N)
        self.worlds.command(target_rad, speed_rad_s=speed_rad_s, force_limit_n=limit_n)

    def settle(self, seconds: float) -> None:
        """See `Stage`."""
        self.worlds.advance(seconds)

    def advance(self, seconds: float) -> None:
        """See `Stage`. Skins are read by the clock of the worlds, which `feel` sets."""
        self.worlds.advance(seconds)

    def grip_n(self, thing: str) -> dict[str, Any]:
        """See `Stage`."""
        props = self.worlds.props
        forces = sum(props.link_forces_n(name).numpy().astype(np.float64) for name in self._names)
        links = [name.partition("/")[2] for name in props.link_names]
        return dict(zip(links, np.asarray(forces).T, strict=True))

    def place_m(self, thing: str) -> FloatArray:
        """See `Stage`."""
        return self._poses()[:, :3]

    def quat_wxyz(self, thing: str) -> FloatArray:
        """See `Stage`."""
        return self._poses()[:, 3:]

    def in_palm_m(self, thing: str) -> FloatArray:
        """See `Stage`."""
        root_m, R_wr = root_pose(self._hand, self._mount)
        quat = quat_wxyz_from_matrix(R_wr)[None]
        if self._mount.driven:
            rows = self._qpos(f"{self._hand.name}/mount")
            root_m, quat = rows[:, :3], rows[:, 3:]
        w, v = quat[:, :1], quat[:, 1:]
        away = self.place_m(thing) - root_m
        across = 2.0 * np.cross(-v, away)  # turned back by the root's orientation
        in_root_m = away + w * across + np.cross(-v, across)
        return (in_root_m - self._hand.palm.pos_m) @ matrix_from_rpy(self._hand.palm.rpy_rad)

    def drag(self, thing: str, to_m: FloatArray) -> None:
        """See `Stage`."""
        for k, name in enumerate(self._names):
            self.worlds.props.drag(name, to_m, mask=self._kind == k)

    def release(self, where: Any) -> None:
        """See `Stage`."""
        for k, name in enumerate(self._names):
            self.worlds.props.release(name, mask=np.broadcast_to(where, self._count) & (self._kind == k))

    def pull(self, thing: str, force_n: FloatArray) -> None:
        """See `Stage`."""
        for k, name in enumerate(self._names):
            self.worlds.props.pull(name, force_n, mask=self._kind == k)

    def turn_palm(self, quat_wxyz: FloatArray) -> None:
        """See `Stage`."""
        self.worlds.move_wrists(np.full((self._count, 1, 3), np.nan), quat_wxyz[:, None])

    def save(self, where: NDArray[np.bool_]) -> None:
        """See `Stage`."""
        self.worlds.save(self._waiting, where)

    def restore(self, where: NDArray[np.bool_]) -> None:
        """See `Stage`."""
        self.worlds.restore(self._waiting, where)

    def flags(self) -> IntArray:
        """See `Stage`."""
        return self.worlds.flags().numpy()

    def _poses(self) -> FloatArray:
        poses = np.stack([self._qpos(name) for name in self._names], axis=1)
        return poses[np.arange(self._count), self._kind]

    def _qpos(self, joint: str) -> FloatArray:
        first = self.worlds.model.joint(joint).qposadr[0]
        return self.worlds.d.qpos.numpy()[:, first : first + 7].astype(np.float64)
