"""The touch of one hand: contacts of the world in, a `TouchFrame` out, with a memory from frame to frame."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from thenar.errors import BadValue
from thenar.hands.spec import HandSpec
from thenar.signals import PadLayout, SolidContacts, TouchFrame
from thenar.touch.sensor.barometers import Barometers
from thenar.touch.sensor.calibration import Calibration
from thenar.touch.sensor.taxels import Sensor
from thenar.touch.solver.dies import lay_dies
from thenar.touch.solver.frame import feel
from thenar.touch.solver.groups import GROUP, MOST_GROUPS
from thenar.touch.solver.influence import (
    LAYER_POINTS,
    TABLE_SIZE,
    half_space_tables,
    layer_correction,
    reduced_modulus_pa,
)
from thenar.touch.solver.pads import lay_skin
from thenar.touch.solver.pressure import WORK
from thenar.touch.solver.window import SMOOTH_GRID, WINDOW

FloatArray = NDArray[np.float64]

WINDOWS = 128


class HandTouch:
    """Feels for one hand."""

    def __init__(
        self,
        hand: HandSpec,
        calibration: Calibration,
        *,
        skin_solids: Mapping[str, Sequence[int]],
        bodies: NDArray[np.int64],
        seed: int = 0,
        grid: int = SMOOTH_GRID,
    ):
        """Lay out a hand's skin.

        Args:
            hand: The hand.
            calibration: What its skin and sensor are like.
            skin_solids: Numbers of the solids that are each link's skin.
            bodies: Body of every solid of the world, in the order of their numbers.
            seed: Of the sensor's noise.
            grid: Cells a side of a smooth contact's window; more is finer and slower.
        """
        self._hand = hand
        self._ambient_pa = calibration.ambient_pa
        pads = [pad.name for pad in hand.pads]
        self._skin = lay_skin(
            hand,
            modulus_pa={pad: reduced_modulus_pa(calibration.pad(pad).young_pa) for pad in pads},
            thickness_m={pad: calibration.pad(pad).thickness_m for pad in pads},
        )
        self._default = (
            reduced_modulus_pa(calibration.bare.young_pa),
            calibration.bare.thickness_m,
        )
        self._link_of_solid = np.full(len(bodies), -1, dtype=np.int64)
        for number, link in enumerate(self._skin.links):
            self._link_of_solid[list(skin_solids.get(link, ()))] = number
        self._first_part, self._parts = _parts(bodies)
        self._grid = grid
        layered = np.isfinite([self._default[1], *self._skin.pads["thickness_m"]]).any()
        self._correction = layer_correction() if layered else np.zeros(LAYER_POINTS)
        kinds = {pad.sensor for pad in hand.pads}
        if len(kinds) > 1:
            raise BadValue("pads", sorted(kinds), "one kind of sensor on a whole hand")
        buried = kinds == {"barometer"}
        self._dies = lay_dies(hand, self._skin.links, {pad: calibration.pad(pad).depth_m for pad in pads})
        self._sensor = Barometers(hand, calibration, seed=seed) if buried else Sensor(hand, calibration, seed=seed)
        self._layout = tuple(
            PadLayout(name=pad.name, first=int(record["first"]), rows=pad.rows, cols=pad.cols)
            for pad, record in zip(hand.pads, self._skin.pads, strict=True)
        )
        taxels, pads = len(self._skin.area_m2), len(self._layout)
        self._nothing = TouchFrame(
            stamp_s=0.0,
            layout=self._layout,
            taxel_pressure_pa=_frozen(np.zeros(taxels)),
            taxel_shear_pa=_frozen(np.zeros((taxels, 2))),
            pad_force_n=_frozen(np.zeros(pads)),
            pad_centre_m=_frozen(np.full((pads, 2), math.nan)),
            bare_skin_n=0.0,
            contact_n=0.0,
            taxel_counts=np.zeros(taxels, dtype=np.int64),
        )
        self._groups = np.zeros(MOST_GROUPS, dtype=GROUP)
        self._work = np.zeros(WORK)
        self._table = np.zeros(TABLE_SIZE)
        self.forget()

    def forget(self) -> None:
        """Start anew: no window and no reading is remembered."""
        self._windows = np.zeros(WINDOWS, dtype=WINDOW)
        self._windows["link"] = -1
        self._frame = 1
        self._group_count = 0
        self._sensor.reset()

    def kill(self, pad: str, row: int, col: int, *, dead: bool) -> None:
        """Break or mend one taxel: a broken one reads its offset whatever presses."""
        place = next(layout for layout in self._layout if layout.name == pad)
        self._sensor.dead[place.first + row * place.cols + col] = dead

    @property
    def dead(self) -> NDArray[np.bool_]:
        """Which taxels are broken. Shape (taxels,)."""
        return self._sensor.dead.copy()

    def windows(self) -> list[dict[str, Any]]:
        """The windows of the last frame: where they lay, how wide they were and what they carried."""
        described = []
        for group in self._groups[: self._group_count]:
            if not group["solved"]:
                continue
            window = self._windows[group["window"]]
            cells = int(group["grid"]) ** 2
            described.append(
                {
                    **{name: np.array(group[name]) for name in ("origin", "normal", "e1", "e2")},
                    "link": self._skin.links[int(group["link"])],
                    "u_m": float(window["u_m"]),
                    "v_m": float(window["v_m"]),
                    "wide_u_m": float(group["grid"] * group["cell_u"]),
                    "wide_v_m": float(group["grid"] * group["cell_v"]),
                    "force_n": float(np.linalg.norm(group["force"])),
                    "passes": int(window["passes"]),
                    "pressure_pa": window["pressure"][:cells].reshape(int(group["grid"]), -1).copy(),
                }
            )
        return described

    def feel(self, contacts: SolidContacts) -> TouchFrame:
        """What the skin feels under these contacts."""
        self._frame += 1
        pair = contacts.pair
        if not len(pair) or not np.any(self._link_of_solid[pair] >= 0):
            self._group_count = 0
            return replace(self._nothing, stamp_s=contacts.stamp_s, **self._readings(None, None, contacts.stamp_s))
        taxels = len(self._skin.area_m2)
        load, normal, shear = np.zeros(taxels), np.zeros(taxels), np.zeros((taxels, 2))
        moment, stress = np.zeros((len(self._layout), 2)), np.zeros(len(self._dies))
        total, bare, self._group_count = feel(
            pair,
            contacts.position_m,
            contacts.normal,
            contacts.force_n,
            contacts.solids,
            contacts.body_pos_m,
            contacts.body_R,
            contacts.planes,
            contacts.field_m,
            self._first_part,
            self._parts,
            self._link_of_solid,
            self._skin.pads,
            half_space_tables(),
            self._correction,
            *self._default,
            self._grid,
            self._windows,
            self._frame,
            self._groups,
            self._work,
            self._table,
            load,
            normal,
            shear,
            moment,
            self._dies,
            stress,
        )
        area = self._skin.area_m2
        forces = np.add.reduceat(load, self._skin.pads["first"])
        touched = forces > 0.0
        centres = np.full((len(forces), 2), math.nan)
        centres[touched] = moment[touched] / forces[touched, None]
        return TouchFrame(
            stamp_s=contacts.stamp_s,
            layout=self._layout,
            taxel_pressure_pa=normal / area,
            taxel_shear_pa=shear / area[:, None],
            pad_force_n=forces,
            pad_centre_m=centres,
            bare_skin_n=bare,
            contact_n=total,
            **self._readings(normal, stress, contacts.stamp_s),
        )

    def _readings(self, force_n: FloatArray | None, stress_pa: FloatArray | None, stamp_s: float) -> dict[str, Any]:
        """What the sensors say of the force on every taxel or of the stress at every die; None: nothing touches."""
        if isinstance(self._sensor, Sensor):
            return {"taxel_counts": self._sensor.read(force_n, stamp_s)}
        still = np.zeros(len(self._dies)) if stress_pa is None else stress_pa
        pressure_pa, temperature_c = self._sensor.read(still, stamp_s)
        return {
            "taxel_counts": np.round(pressure_pa - self._ambient_pa).astype(np.int64),
            "die_pressure_pa": pressure_pa,
            "die_temperature_c": temperature_c,
        }


def _frozen(array: NDArray[np.float64]) -> NDArray[np.float64]:
    """An array that is shared by many frames and must not be written to."""
    array.flags.writeable = False
    return array


def _parts(bodies: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Solids of every body: ``parts[first[b] : first[b + 1]]`` are those of body b."""
    count = int(bodies.max()) + 1 if len(bodies) else 0
    order = np.argsort(bodies, kind="stable")
    first = np.searchsorted(bodies[order], np.arange(count + 1))
    return first.astype(np.int64), order.astype(np.int64)
