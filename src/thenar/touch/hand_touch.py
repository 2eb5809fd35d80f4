"""Tactile pipeline of one hand: contacts of the world in, a `TouchFrame` out, with a memory from frame to frame."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Any

import numba as nb
import numpy as np
from numpy.typing import NDArray

from thenar.arrays import BoolArray, FloatArray, IntArray
from thenar.errors import BadValue, look_up
from thenar.hands.spec import SkinSpec
from thenar.signals import PadLayout, SolidContacts, TouchFrame
from thenar.touch.sensor.barometers import Barometers
from thenar.touch.sensor.calibration import Calibration
from thenar.touch.sensor.force_sensor import Sensor
from thenar.touch.solver.barometer_stress import build_dies
from thenar.touch.solver.frame import solve_touch
from thenar.touch.solver.groups import FIRST_GROUPS, GROUP
from thenar.touch.solver.influence import elastic_tables, reduced_modulus_pa
from thenar.touch.solver.pads import HandPads, build_pads
from thenar.touch.solver.touch_records import Contacts, Faces, Scene, Skin, TaxelForces
from thenar.touch.solver.window import SMOOTH_GRID, WINDOW

SPARE_WINDOWS = 32  # more than there can be groups of contacts: for those of the last frame


class HandTouch:
    """Tactile pipeline of one hand."""

    def __init__(
        self,
        hand: SkinSpec,
        calibration: Calibration,
        *,
        skin_shapes: Mapping[str, Sequence[int]],
        bodies: IntArray,
        pieces: Sequence[Sequence[int]] = (),
        seed: int = 0,
        grid: int = SMOOTH_GRID,
    ):
        """Lay out a hand's skin.

        Args:
            hand: The hand.
            calibration: What its skin and sensor are like.
            skin_shapes: Numbers of the collision shapes that are each link's skin.
            bodies: Body of every shape of the world, in the order of their numbers; -1: a shape that touches nothing.
            pieces: Shapes that are one surface, as the convex pieces of a mesh are.
            seed: Of the sensor's noise.
            grid: Cells a side of a smooth contact's window; more is finer and slower.
        """
        kinds = {pad.sensor for pad in hand.pads}
        if len(kinds) > 1:
            raise BadValue("pads", sorted(kinds), "one kind of sensor on a whole hand")
        buried = kinds == {"barometer"}
        own = {pad.name: calibration.pad(pad.name) for pad in hand.pads}
        laid = _lay_pads(SkinSpec(links=hand.links, pads=hand.pads))
        scratch = laid.cloud._replace(under=np.zeros_like(laid.cloud.under))  # hands alike may be solved at once
        pads = replace(laid, pads=laid.pads.copy(), cloud=scratch)
        pads.pads["modulus_pa"] = [reduced_modulus_pa(pad.young_pa) for pad in own.values()]
        pads.pads["thickness_m"] = [pad.thickness_m for pad in own.values()]
        link_of_shape = np.full(len(bodies), -1, dtype=np.int64)
        for number, link in enumerate(pads.links):
            link_of_shape[list(skin_shapes.get(link, ()))] = number
        surface_of_shape = np.arange(len(bodies))
        for whole in pieces:
            surface_of_shape[list(whole)] = min(whole)
        first_piece, all_pieces = _parts(surface_of_shape, len(bodies))
        self._links, self._area_m2, self._first = pads.links, pads.area_m2, pads.pads["first"].copy()
        self.laid = pads
        """The pads as records."""
        self._skin = Skin(
            link_of_shape=link_of_shape,
            surface_of_shape=surface_of_shape,
            first_piece=first_piece,
            pieces=all_pieces,
            pads=pads.pads,
            cloud=pads.cloud,
            dies=build_dies(hand, pads.links, {name: pad.depth_m for name, pad in own.items()}),
            modulus_pa=reduced_modulus_pa(calibration.bare.young_pa),
            thickness_m=calibration.bare.thickness_m,
        )
        self._elastic = elastic_tables([calibration.bare.thickness_m, *pads.pads["thickness_m"]])
        self._parts = _parts(bodies, int(bodies.max()) + 1 if len(bodies) else 0)
        self._grid = grid
        self._ambient_pa = calibration.ambient_pa
        self._sensor = Barometers(hand, calibration, seed=seed) if buried else Sensor(hand, calibration, seed=seed)
        self.layout = tuple(
            PadLayout(name=pad.name, first=int(record["first"]), rows=pad.rows, cols=pad.cols)
            for pad, record in zip(hand.pads, pads.pads, strict=True)
        )
        """Where every pad's taxels stand in the arrays of a frame."""
        taxels, count = len(pads.area_m2), len(self.layout)
        self._nothing = TouchFrame(
            stamp_s=0.0,
            layout=self.layout,
            taxel_pressure_pa=_frozen(np.zeros(taxels)),
            taxel_shear_pa=_frozen(np.zeros((taxels, 2))),
            pad_force_n=_frozen(np.zeros(count)),
            pad_centre_m=_frozen(np.full((count, 2), math.nan)),
            pad_slip=_frozen(np.zeros(count)),
            bare_skin_n=0.0,
            contact_n=0.0,
            taxel_counts=np.zeros(taxels, dtype=np.int64),
        )
        self._groups = np.zeros(FIRST_GROUPS, dtype=GROUP)
        self._wrong: dict[int, tuple[bool, float, float]] = {}
        """Taxels that are stuck (True) or drift, by how much, and since when."""
        self.forget()

    def forget(self) -> None:
        """Start anew: no window and no reading is remembered; what is broken stays so, and drifts from 0 on."""
        self._windows = _free_windows(len(self._groups))
        self._frame = 1
        self._group_count = 0
        self.die_stress_pa = np.zeros(len(self._skin.dies))
        """Stress at every buried die in the last frame [Pa]."""
        self._sensor.reset()
        self._wrong = {taxel: (stuck, amount, math.nan) for taxel, (stuck, amount, _) in self._wrong.items()}

    def break_taxel(self, pad: str, row: int, col: int, *, fault: str, amount: float = 0.0) -> None:
        """Break or mend one taxel.

        Args:
            pad: Where it is.
            row: Its row.
            col: Its column.
            fault: ``dead`` reads its offset, ``stuck`` reads ``amount``, ``drifting`` reads so much more each second
                from its next reading on; empty mends it.
            amount: In counts, of a barometer in pascal above the pressure of the air.
        """
        place = look_up({layout.name: layout for layout in self.layout}, pad, "pad")
        if not (0 <= row < place.rows and 0 <= col < place.cols):
            raise BadValue(f"taxel of {pad}", (row, col), f"a row below {place.rows} and a column below {place.cols}")
        taxel = place.first + row * place.cols + col
        self._sensor.dead[taxel] = fault == "dead"
        self._wrong.pop(taxel, None)
        if fault in ("stuck", "drifting"):
            self._wrong[taxel] = fault == "stuck", amount, math.nan

    @property
    def broken(self) -> BoolArray:
        """Which taxels are broken. Shape (taxels,)."""
        broken = self._sensor.dead.copy()
        broken[list(self._wrong)] = True
        return broken

    def windows(self) -> list[dict[str, Any]]:
        """The windows of the last frame: where they lay, how wide they were and what they carried."""
        described = []
        for group in self._groups[: self._group_count]:
            if group["solved"]:
                window, grid = self._windows[group["window"]], int(group["grid"])
                described.append(
                    {name: np.array(group[name]) for name in ("origin", "normal", "e1", "e2")}
                    | {name: float(window[name]) for name in ("u_m", "v_m")}
                    | {
                        "link": self._links[int(group["link"])],
                        "wide_u_m": float(grid * group["cell_u"]),
                        "wide_v_m": float(grid * group["cell_v"]),
                        "force_n": float(group["force_n"]),
                        "passes": int(window["passes"]),
                        "slid_m": np.array(window["slid_m"]),
                        "sticking_n": float(window["upto_n"][window["pulls"] - 2]) if window["pulls"] > 1 else 0.0,
                        "pressure_pa": window["pressure"][: grid * grid].reshape(grid, grid).copy(),
                    }
                )
        return described

    def is_touched(self, pair: IntArray) -> bool:
        """Whether any of these pairs of shapes has to do with this skin. Shape (contacts, 2)."""
        return bool((self._skin.link_of_shape[pair] >= 0).any())

    def untouched(self, stamp_s: float) -> TouchFrame:
        """The frame of an instant at which nothing touches the skin."""
        self._frame += 1
        self._group_count = 0
        self.die_stress_pa = np.zeros(len(self._skin.dies))
        return replace(self._nothing, stamp_s=stamp_s, **self._readings(None, None, None, stamp_s))

    def solve(self, contacts: SolidContacts) -> TouchFrame:
        """Pressure, shear and readings of every taxel under these contacts."""
        pair, stamp_s = contacts.pair, contacts.stamp_s
        sides = int(np.count_nonzero(self._skin.link_of_shape[pair] >= 0))
        if not sides:
            return self.untouched(stamp_s)
        if sides > len(self._groups):  # no force may be lost
            known, self._groups = self._windows, np.zeros(sides, dtype=GROUP)
            self._windows = _free_windows(sides)
            self._windows[: len(known)] = known
        self._frame += 1
        area = self._area_m2
        out = TaxelForces(
            load_n=np.zeros(len(area)),
            normal_n=np.zeros(len(area)),
            shear_n=np.zeros((len(area), 2)),
            moment_nm=np.zeros((len(self.layout), 2)),
            patch_m2=np.zeros((len(self.layout), 2)),
            die_pa=np.zeros(len(self._skin.dies)),
        )
        faces = Faces(contacts.planes, contacts.first_beside, contacts.beside)
        total, bare, self._group_count = solve_touch(
            Contacts(pair, contacts.position_m, contacts.normal, contacts.force_n, contacts.slip_n),
            Scene(contacts.solids, faces, contacts.body_pos_m, contacts.body_R, *self._parts),
            *(self._skin, self._elastic, self._windows, self._frame, self._groups, self._grid, out),
        )
        self.die_stress_pa = out.die_pa
        forces = np.add.reduceat(out.load_n, self._first)
        pressure_pa, shear_pa, centres, slip = _per_area(out, area, forces)
        return TouchFrame(
            stamp_s=stamp_s,
            layout=self.layout,
            taxel_pressure_pa=pressure_pa,
            taxel_shear_pa=shear_pa,
            pad_force_n=forces,
            pad_centre_m=centres,
            pad_slip=slip,
            bare_skin_n=bare,
            contact_n=total,
            **self._readings(out.normal_n, out.shear_n, out.die_pa, stamp_s),
        )

    def _readings(
        self, force_n: FloatArray | None, shear_n: FloatArray | None, stress_pa: FloatArray | None, stamp_s: float
    ) -> dict[str, Any]:
        """What the sensors say of the forces on every taxel or of the stress at every die; None: nothing touches."""
        if isinstance(self._sensor, Sensor):
            counts = self._sensor.read(force_n, stamp_s)
            if self._wrong:
                counts = np.clip(self._spoiled(counts, stamp_s), 0, self._sensor.top_counts).astype(np.int64)
            return {"taxel_counts": counts, "taxel_shear_counts": self._sensor.read_shear(shear_n)}
        still = np.zeros(len(self._skin.dies)) if stress_pa is None else stress_pa
        pressure_pa, temperature_c = self._sensor.read(still, stamp_s)
        pressure_pa = self._spoiled(pressure_pa, stamp_s, zero=self._ambient_pa)
        return {
            "taxel_counts": np.round(pressure_pa - self._ambient_pa).astype(np.int64),
            "die_pressure_pa": pressure_pa,
            "die_temperature_c": temperature_c,
        }

    def _spoiled(self, readings: FloatArray | IntArray, stamp_s: float, *, zero: float = 0.0) -> FloatArray:
        """Readings with what stuck and drifting taxels make of them; ``zero`` is that of what they are stuck at."""
        spoiled = readings.astype(np.float64)
        for taxel, (stuck, amount, since_s) in self._wrong.items():
            if math.isnan(since_s):
                self._wrong[taxel] = stuck, amount, stamp_s
                since_s = stamp_s
            spoiled[taxel] = zero + amount if stuck else spoiled[taxel] + amount * (stamp_s - since_s)
        return spoiled


@lru_cache(maxsize=64)
def _lay_pads(hand: SkinSpec) -> HandPads:
    """Pads of a hand as records; what skin they lie under is still to be said."""
    unsaid = dict.fromkeys((pad.name for pad in hand.pads), math.nan)
    return build_pads(hand, modulus_pa=unsaid, thickness_m=unsaid)


@nb.njit(cache=True, error_model="numpy")
def _per_area(
    out: TaxelForces, area_m2: FloatArray, force_n: FloatArray
) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
    """Pressure and shear of every taxel, centre of force and slipping share of every pad."""
    pressure_pa, shear_pa = np.empty(len(area_m2)), np.empty((len(area_m2), 2))
    for k in range(len(area_m2)):
        pressure_pa[k] = out.normal_n[k] / area_m2[k]
        for a in range(2):
            shear_pa[k, a] = out.shear_n[k, a] / area_m2[k]
    centre_m, slip = np.full((len(force_n), 2), math.nan), np.empty(len(force_n))
    for pad in range(len(force_n)):
        if force_n[pad] > 0.0:
            for a in range(2):
                centre_m[pad, a] = out.moment_nm[pad, a] / force_n[pad]
        slip[pad] = out.patch_m2[pad, 1] / max(out.patch_m2[pad, 0], 1e-30)
    return pressure_pa, shear_pa, centre_m, slip


def _free_windows(groups: int) -> NDArray[np.void]:
    """Windows for so many groups of contacts, none of them in use."""
    windows = np.zeros(groups + SPARE_WINDOWS, dtype=WINDOW)
    windows["skin"] = -1
    return windows


def _frozen(array: FloatArray) -> FloatArray:
    """An array that is shared by many frames and must not be written to."""
    array.flags.writeable = False
    return array


def _parts(owner: IntArray, owners: int) -> tuple[IntArray, IntArray]:
    """Shapes of every owner: ``parts[first[b] : first[b + 1]]`` are those of number b."""
    order = np.argsort(owner, kind="stable")
    first = np.searchsorted(owner[order], np.arange(owners + 1))
    return first.astype(np.int64), order.astype(np.int64)
