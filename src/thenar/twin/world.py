"""A world whose hands feel: the physics of `sim` and the skin of `touch` together."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from thenar.errors import BadValue
from thenar.hands.spec import HandSpec
from thenar.signals import TouchFrame
from thenar.sim import world as physics
from thenar.sim.props import Prop
from thenar.sim.scenes import Mount, Scene
from thenar.sim.solids import SolidReader
from thenar.touch.calibration import PROFILES, Calibration, load_calibration
from thenar.touch.hand_touch import HandTouch


@dataclass(kw_only=True)
class _Sense:
    """One hand's skin and the readings that are on their way."""

    touch: HandTouch
    period_s: float
    latency_s: float
    next_s: float
    frames: deque[TouchFrame]


class World(physics.World):
    """Hands and objects in one simulation, with touch.

    >>> world = World("inspire_right")
    >>> world.touch("inspire_right")["index_top"].shape
    (12, 8)
    """

    def __init__(
        self,
        hands: str | HandSpec | Sequence[str | HandSpec],
        *,
        props: Iterable[Prop] = (),
        scene: str | Scene = "empty",
        mounts: Mapping[str, Mount] | None = None,
        timestep_s: float = 0.002,
        seed: int = 0,
        profile: physics.Profile = "measured",
        skin: Mapping[str, Calibration | Path | str] | None = None,
    ):
        """Build and settle nothing: time is 0 and every hand is open.

        Args:
            hands: One hand or several, by name or as specs.
            props: Things to touch, besides those of the scene.
            scene: Surroundings, by name (`thenar.scenes`) or as a `Scene`.
            mounts: How hands are held, by hand name, where the scene's choice is not wanted.
            timestep_s: Step of the physics [s].
            seed: Of every random number.
            profile: ``measured`` has the latency, overshoot and noise of a real hand, ``ideal`` has none.
            skin: Calibration of a hand's skin by hand name, as a value or a TOML file; the others have that of the
                profile.
        """
        self._senses: dict[str, _Sense] = {}
        super().__init__(
            hands, props=props, scene=scene, mounts=mounts, timestep_s=timestep_s, seed=seed, profile=profile
        )
        self._reader = SolidReader(self.model)
        self._skin = dict(skin or {})
        for hand in self._skin:
            self._seat(hand)

    def touch(self, hand: str) -> TouchFrame:
        """What the skin of a hand feels: pressure, shear and counts of every pad.

        An ideal skin is read at this instant. A measured one is read at its own rate from the first call on, and the
        newest reading that has arrived by now is returned.
        """
        if hand not in self._senses:
            self._senses[hand] = self._sense(hand)
        sense = self._senses[hand]
        if sense.period_s == 0.0:
            return self._read(sense)
        if not sense.frames:
            self._sample(sense)
        arrived = [frame for frame in sense.frames if frame.stamp_s <= self.time_s - sense.latency_s + 1e-9]
        return arrived[-1] if arrived else sense.frames[0]

    def windows(self, hand: str) -> list[dict[str, Any]]:
        """How the skin's last frame was solved, see `HandTouch.windows`; empty before the first `touch`."""
        self._seat(hand)
        return self._senses[hand].touch.windows() if hand in self._senses else []

    def advance(self, seconds: float) -> None:
        """Let simulated time pass; skins that are read at a rate of their own are read on the way."""
        ticking = [sense for sense in self._senses.values() if sense.period_s > 0.0 and sense.frames]
        if not ticking or not (isinstance(seconds, (int, float)) and math.isfinite(seconds)):
            super().advance(seconds)
            return
        end_s = self.time_s + self._owed_s + seconds
        while True:
            due_s = min(sense.next_s for sense in ticking)
            if due_s > end_s + 1e-9:
                break
            super().advance(max(0.0, due_s - self.time_s - self._owed_s))
            for sense in ticking:
                if sense.next_s <= due_s + 1e-9:
                    self._sample(sense)
        super().advance(max(0.0, end_s - self.time_s - self._owed_s))

    def reset(self) -> None:
        """Back to time 0: hands open, objects where they began, motors cool, skins without a past."""
        super().reset()
        self._forget()

    def restore(self, snapshot: physics.Snapshot) -> None:
        """Come back to an instant; skins start without a past."""
        super().restore(snapshot)
        self._forget()

    def _forget(self) -> None:
        for sense in self._senses.values():
            sense.touch.forget()
            sense.frames.clear()

    def _read(self, sense: _Sense) -> TouchFrame:
        return sense.touch.feel(self._reader.read(self.data, stamp_s=self._contacts_s))

    def _sample(self, sense: _Sense) -> None:
        sense.frames.append(self._read(sense))
        sense.next_s = self.time_s + sense.period_s

    def _sense(self, hand: str) -> _Sense:
        spec = self.hand(hand)
        if not spec.pads:
            raise BadValue("hand", hand, "a hand with pads; this one has none")
        calibration = self._skin.get(hand, PROFILES[self.profile])
        if isinstance(calibration, (str, Path)):
            calibration = load_calibration(Path(calibration), spec, base=PROFILES[self.profile])
        solids = {
            link.name: self.model.geom(f"{hand}/{link.name}_skin").id for link in spec.links if link.skin is not None
        }
        bodies = np.asarray(self.model.geom_bodyid, dtype=np.int64)
        period_s = 1.0 / calibration.rate_hz  # 0 for a skin that is read whenever asked
        on_the_way = 2 + math.ceil(calibration.latency_s / period_s) if period_s else 1
        return _Sense(
            touch=HandTouch(spec, calibration, skin_solids=solids, bodies=bodies, seed=self.seed),
            period_s=period_s,
            latency_s=calibration.latency_s,
            next_s=0.0,
            frames=deque(maxlen=on_the_way),
        )
