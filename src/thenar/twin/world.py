"""A world whose hands feel: the physics of `sim` and the skin of `touch` together."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from thenar.errors import BadValue
from thenar.signals import TouchFrame
from thenar.sim import world as physics
from thenar.sim.solids import SolidReader
from thenar.touch.calibration import PROFILES, Calibration, load_calibration
from thenar.touch.hand_touch import HandTouch


class World(physics.World):
    """Hands and objects in one simulation, with touch.

    >>> world = World("inspire_right")
    >>> world.touch("inspire_right")["index_top"].shape
    (12, 8)
    """

    def __init__(self, *args: Any, skin: Mapping[str, Calibration | Path | str] | None = None, **kwargs: Any):
        """As `thenar.sim.world.World`, and with a skin.

        Args:
            args: As there.
            skin: Calibration of a hand's skin by hand name, as a value or a TOML file; the others have that of the
                world's profile.
            kwargs: As there.
        """
        super().__init__(*args, **kwargs)
        self._reader = SolidReader(self.model)
        self._touch: dict[str, HandTouch] = {}
        self._skin = dict(skin or {})
        for hand in self._skin:
            self._seat(hand)

    def touch(self, hand: str) -> TouchFrame:
        """What the skin of a hand feels now: pressure, shear and counts of every pad."""
        if hand not in self._touch:
            self._touch[hand] = self._lay(hand)
        return self._touch[hand].feel(self._reader.read(self.data, stamp_s=self._contacts_s))

    def _lay(self, hand: str) -> HandTouch:
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
        return HandTouch(spec, calibration, skin_solids=solids, bodies=bodies, seed=self.seed)
