"""The touch of one hand: contacts of the world in, a `TouchFrame` out, with a memory from frame to frame."""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from thenar.hands.spec import HandSpec
from thenar.signals import SolidContacts, TouchFrame
from thenar.touch.calibration import Calibration
from thenar.touch.feel import CELLS, GROUP, MOST_GROUPS, feel
from thenar.touch.influence import LARGEST_GRID, half_space_tables, layer_correction, reduced_modulus_pa
from thenar.touch.sensor import Sensor
from thenar.touch.skin import lay_skin
from thenar.touch.window import SMOOTH_GRID, WINDOW

WINDOWS = 128


class HandTouch:
    """Feels for one hand."""

    def __init__(
        self,
        hand: HandSpec,
        calibration: Calibration,
        *,
        skin_solids: Mapping[str, int],
        bodies: NDArray[np.int64],
        seed: int = 0,
        grid: int = SMOOTH_GRID,
    ):
        """Lay out a hand's skin.

        Args:
            hand: The hand.
            calibration: What its skin and sensor are like.
            skin_solids: Number of the solid that is each link's skin.
            bodies: Body of every solid of the world, in the order of their numbers.
            seed: Of the sensor's noise.
            grid: Cells a side of a smooth contact's window; more is finer and slower.
        """
        self._hand = hand
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
            if link in skin_solids:
                self._link_of_solid[skin_solids[link]] = number
        self._first_part, self._parts = _parts(bodies)
        self._grid = grid
        self._sensor = Sensor(hand, calibration, seed=seed)
        self._slices = {
            pad.name: (slice(int(record["first"]), int(record["first"]) + pad.taxels), (pad.rows, pad.cols))
            for pad, record in zip(hand.pads, self._skin.pads, strict=True)
        }
        self._groups = np.zeros(MOST_GROUPS, dtype=GROUP)
        self._work = np.zeros((5, CELLS))
        self._table = np.zeros((LARGEST_GRID, 2 * LARGEST_GRID - 1))
        self._rows_m = {pad.name: (np.arange(pad.rows) - (pad.rows - 1) / 2) * pad.row_pitch_m for pad in hand.pads}
        self._cols_m = {pad.name: (np.arange(pad.cols) - (pad.cols - 1) / 2) * pad.col_pitch_m for pad in hand.pads}
        self.forget()

    def forget(self) -> None:
        """Start anew: no window and no reading is remembered."""
        self._windows = np.zeros(WINDOWS, dtype=WINDOW)
        self._windows["link"] = -1
        self._frame = 1
        self._sensor.reset()

    def feel(self, contacts: SolidContacts) -> TouchFrame:
        """What the skin feels under these contacts."""
        taxels = len(self._skin.area_m2)
        load, normal, shear = np.zeros(taxels), np.zeros(taxels), np.zeros((taxels, 2))
        total = bare = 0.0
        self._frame += 1
        pair = contacts.pair
        if len(pair) and np.any(self._link_of_solid[pair] >= 0):
            total, bare = feel(
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
                layer_correction(),
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
            )
        return self._frame_of(contacts.stamp_s, load, normal, shear, total, bare)

    def _frame_of(
        self,
        stamp_s: float,
        load: NDArray[np.float64],
        normal: NDArray[np.float64],
        shear: NDArray[np.float64],
        total: float,
        bare: float,
    ) -> TouchFrame:
        area = self._skin.area_m2
        pressure = normal / area
        traction = shear / area[:, None]
        counts = self._sensor.read(normal, stamp_s=stamp_s)
        maps, shears, forces, centres, readings = {}, {}, {}, {}, {}
        for name, (place, shape) in self._slices.items():
            mine = load[place].reshape(shape)
            force = float(mine.sum())
            maps[name] = pressure[place].reshape(shape)
            shears[name] = traction[place].reshape(*shape, 2)
            forces[name] = force
            centres[name] = (
                (
                    float(mine.sum(axis=1) @ self._rows_m[name]) / force,
                    float(mine.sum(axis=0) @ self._cols_m[name]) / force,
                )
                if force > 0.0
                else (math.nan, math.nan)
            )
            readings[name] = counts[place].reshape(shape)
        return TouchFrame(
            stamp_s=stamp_s,
            pressure_pa=maps,
            shear_pa=shears,
            force_n=forces,
            centre_of_pressure_m=centres,
            bare_skin_n=bare,
            contact_n=total,
            counts=readings,
        )


def _parts(bodies: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Solids of every body: ``parts[first[b] : first[b + 1]]`` are those of body b."""
    count = int(bodies.max()) + 1 if len(bodies) else 0
    order = np.argsort(bodies, kind="stable")
    first = np.searchsorted(bodies[order], np.arange(count + 1))
    return first.astype(np.int64), order.astype(np.int64)
