"""Where a task happens: what it sees of its world and does to it. Of many worlds everything has a row for each."""

from __future__ import annotations

from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from thenar.arrays import FloatArray
from thenar.errors import SimulationDiverged
from thenar.signals import HandCommand
from thenar.twin.world import World

FORCE_LIMIT_N = 20.0
DIVERGED = 1  # of `Stage.flags`


class Reported(NamedTuple):
    """Readings of the motors. Shapes (..., motors)."""

    angle_rad: FloatArray
    velocity_rad_s: FloatArray
    force_n: FloatArray


class Felt(NamedTuple):
    """Readings of the skin."""

    counts: NDArray[Any]
    """Shape (..., taxels)."""
    shear_pa: FloatArray
    """Shape (..., taxels, 2)."""


class Stage(Protocol):
    """A world with a hand and objects, or many such worlds."""

    @property
    def felt(self) -> Felt:
        """The last reading of the skin that has arrived."""
        ...

    def state(self) -> Reported:
        """What the motors report now."""
        ...

    def command(self, target_rad: FloatArray, speed_rad_s: FloatArray) -> None:
        """Send the motors somewhere."""
        ...

    def settle(self, seconds: float) -> None:
        """Let time pass."""
        ...

    def advance(self, seconds: float) -> None:
        """Let time pass, and read the skin so that it has been delivered by then."""
        ...

    def grip_n(self, thing: str) -> dict[str, Any]:
        """Normal force of the hand on an object, by link [N]."""
        ...

    def place_m(self, thing: str) -> FloatArray:
        """Where an object is [m]."""
        ...

    def quat_wxyz(self, thing: str) -> FloatArray:
        """How an object is turned."""
        ...

    def in_palm_m(self, thing: str) -> FloatArray:
        """Where an object is in the palm's frame [m]."""
        ...

    def drag(self, thing: str, to_m: FloatArray) -> None:
        """Hold an object somewhere until it is released."""
        ...

    def release(self, where: Any) -> None:
        """Release what is held, where that is true."""
        ...

    def pull(self, thing: str, force_n: FloatArray) -> None:
        """Pull at an object with a steady force [N]."""
        ...

    def turn_palm(self, quat_wxyz: FloatArray) -> None:
        """Send a driven wrist to an orientation of its palm."""
        ...

    def save(self, where: NDArray[np.bool_]) -> None:
        """Keep what worlds are like now."""
        ...

    def restore(self, where: NDArray[np.bool_]) -> None:
        """Be again what was kept."""
        ...

    def flags(self) -> Any:
        """What went wrong since the world was reset, as bits of `thenar.batch.Flag`; 0: nothing."""
        ...


class OneStage:
    """One world on the CPU."""

    def __init__(self, world: World, hand: str, *, age_s: float, feels: bool):
        """A world that has been built.

        Args:
            world: With one hand.
            hand: Its name.
            age_s: How long a reading of the skin takes to arrive [s].
            feels: Whether the skin is read.
        """
        self._world, self._hand, self._age_s, self._feels = world, hand, age_s, feels
        self.felt: Felt
        self._flags = 0

    def state(self) -> Reported:
        """See `Stage`."""
        state = self._world.state(self._hand)
        return Reported(state.angle_rad, state.velocity_rad_s, state.force_n)

    def command(self, target_rad: FloatArray, speed_rad_s: FloatArray) -> None:
        """See `Stage`."""
        command = HandCommand.to(target_rad, speed_rad_s=speed_rad_s, force_limit_n=FORCE_LIMIT_N)
        self._world.command(self._hand, command)

    def settle(self, seconds: float) -> None:
        """See `Stage`."""
        try:
            self._world.advance(seconds)
        except SimulationDiverged:  # it is back at its last good state; many worlds are flagged too
            self._flags |= DIVERGED

    def advance(self, seconds: float) -> None:
        """See `Stage`."""
        self.settle(seconds - self._age_s)
        if self._feels:
            frame = self._world.touch(self._hand)
            self.felt = Felt(frame.taxel_counts, frame.taxel_shear_pa)
        self.settle(self._age_s)

    def grip_n(self, thing: str) -> dict[str, Any]:
        """Of links that touch it; see `Stage`."""
        by_body = self._world.physics.normal_forces_n(self._hand, thing)
        return {body.partition("/")[2]: force_n for body, force_n in by_body.items()}

    def place_m(self, thing: str) -> FloatArray:
        """See `Stage`."""
        return self._world.props.pose(thing)[0]

    def quat_wxyz(self, thing: str) -> FloatArray:
        """See `Stage`."""
        return self._world.props.pose(thing)[1]

    def in_palm_m(self, thing: str) -> FloatArray:
        """See `Stage`."""
        at_m, quat = self._world.wrists.pose(self._hand)
        w, x, y, z = quat.tolist()
        a, b, c = (self.place_m(thing) - at_m).tolist()
        # Turned back by the palm's orientation; in plain numbers, for numpy takes ten times as long with three of them.
        u, v, t = 2.0 * (z * b - y * c), 2.0 * (x * c - z * a), 2.0 * (y * a - x * b)
        return np.array([a + w * u + (z * v - y * t), b + w * v + (x * t - z * u), c + w * t + (y * u - x * v)])

    def drag(self, thing: str, to_m: FloatArray) -> None:
        """See `Stage`."""
        self._world.props.drag(thing, to_m)

    def release(self, where: Any) -> None:
        """See `Stage`."""
        if where and self._world.props.dragging:
            self._world.props.release()

    def pull(self, thing: str, force_n: FloatArray) -> None:
        """See `Stage`."""
        self._world.props.pull(thing, force_n)

    def turn_palm(self, quat_wxyz: FloatArray) -> None:
        """See `Stage`."""
        self._world.wrists.move(self._hand, quat_wxyz=quat_wxyz)

    def save(self, where: NDArray[np.bool_]) -> None:
        """One world waits for no other."""

    def restore(self, where: NDArray[np.bool_]) -> None:
        """One world waits for no other."""

    def flags(self) -> int:
        """See `Stage`."""
        return self._flags
