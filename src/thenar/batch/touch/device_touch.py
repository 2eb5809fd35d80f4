"""Touch of one hand in every world of a MuJoCo Warp model, solved on the device."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from types import SimpleNamespace
from typing import Any, NamedTuple, TypeAlias

import mujoco
import numpy as np
import warp as wp

from thenar import hands as catalogue
from thenar.arrays import FloatArray
from thenar.batch.touch import contact_groups as groups
from thenar.batch.touch.skin_tables import influence_columns, inverse_stencils, skin_tables
from thenar.batch.touch.taxel_counts import TaxelSensor, is_buried
from thenar.batch.touch.window_kernels import (
    DEPOSIT_BLOCKS,
    ITERATIONS,
    NEIGHBOR_BLOCKS,
    PA_SCALE,
    SCALE,
    WARPS,
    blocks_for,
    deposit_kernel,
    neighbors_kernel,
    slot_floats,
    solve_kernel,
    warps_for,
)
from thenar.errors import BadValue
from thenar.hands.spec import HandSpec
from thenar.sim.contacts import SolidReader
from thenar.touch.hand_touch import HandTouch
from thenar.touch.sensor.calibration import Calibration, profile_of
from thenar.twin.scaled import scaled_skin

Array: TypeAlias = Any  # of Warp, torch, jax or numpy

SMALL, LARGE, AT_EDGES = 14, 20, 24  # cells a side of a window, of one under a sharp edge, of one that edges cut


@dataclass(frozen=True, kw_only=True, eq=False)
class TouchArrays:
    """Touch of one hand in all worlds: arrays of Warp on the device, written over by the next reading.

    Shapes use w = worlds, n = taxels, p = pads, as in `thenar.TouchFrame`.
    """

    pressure_pa: Array
    """Shape (w, n)."""
    shear_pa: Array
    """Along rows and columns. Shape (w, n) of two."""
    pad_force_n: Array
    """Shape (w, p)."""
    pad_centre_m: Array
    """NaN on a pad that nothing touches. Shape (w, p) of two."""
    contact_n: Array
    """All normal force on the skin. Shape (w,)."""
    bare_skin_n: Array
    """The part of it beside every pad. Shape (w,)."""
    stress_pa: Array
    """What arrives at the dies of barometers. Shape (w, n), or (w, 0) where taxels feel force."""
    counts: Array
    """What the sensor says of it, of barometers in pascal above the air. Shape (w, n)."""


class Solver(NamedTuple):
    """Windows of one queue, and the queue of those that it gives up or hands on."""

    grid: int
    cold: bool
    leans: bool
    edged: bool
    next_grid: int
    which: int
    then: int


class Touch:
    """Tactile pipeline of one hand on the device, in any MuJoCo Warp model with that hand and elliptic cones.

    >>> feel = Touch(mj_model, "inspire_right", m, d, prefix="hand/")     # doctest: +SKIP
    >>> feel.update()      # after mjw.step, also inside a CUDA graph     # doctest: +SKIP
    >>> feel.arrays.pressure_pa                                           # doctest: +SKIP
    """

    def __init__(
        self,
        model: mujoco.MjModel,
        hand: str | HandSpec,
        m: Any,
        d: Any,
        *,
        prefix: str | None = None,
        calibration: Calibration | None = None,
        flags: Array | None = None,
        iterations: int = ITERATIONS,
        seed: int = 0,
    ):
        """Lay out a hand's skin in every world.

        Args:
            model: The model of one world, as MuJoCo has it.
            hand: The hand, by name or as a spec.
            m: The same model of MuJoCo Warp.
            d: Its data; updates read contacts, forces and poses from it.
            prefix: How names of this hand begin in the model; None: its name and a slash.
            calibration: What its skin is like; None: that of the ``ideal`` profile.
            flags: Where worlds are flagged, see `Flag`. Shape (worlds,). None: in an array of its own.
            iterations: Of the solver in a frame, for contacts that last.
            seed: Of what differs from taxel to taxel and from reading to reading.
        """
        spec = catalogue.load(hand) if isinstance(hand, str) else hand
        if model.opt.cone != mujoco.mjtCone.mjCONE_ELLIPTIC:
            raise BadValue("model.opt.cone", int(model.opt.cone), "mjCONE_ELLIPTIC: forces are read from such cones")
        calibration = calibration or profile_of(spec, "ideal")
        prefix = f"{spec.name}/" if prefix is None else prefix
        self._model, self._m, self._d = model, m, d
        self.device, self.count = d.qpos.device, d.nworld
        taxels, pads = spec.taxels, len(spec.pads)
        n, device = self.count, self.device
        self.flags = wp.zeros(n, dtype=int, device=device) if flags is None else flags
        """What went wrong in each world, as bits of `Flag`."""
        with wp.ScopedDevice(device):
            self.arrays = TouchArrays(
                pressure_pa=wp.zeros((n, taxels), dtype=float),
                shear_pa=wp.zeros((n, taxels), dtype=wp.vec2),
                pad_force_n=wp.zeros((n, pads), dtype=float),
                pad_centre_m=wp.zeros((n, pads), dtype=wp.vec2),
                contact_n=wp.zeros(n, dtype=float),
                bare_skin_n=wp.zeros(n, dtype=float),
                stress_pa=wp.zeros((n, taxels if is_buried(spec) else 0), dtype=float),
                counts=wp.zeros((n, taxels), dtype=int),
            )
            self.sensor = TaxelSensor(spec, calibration, n, seed=seed)
            self._stiffness = wp.ones(n, dtype=float)
            if self._is_native():
                self._set_up_device(skin_tables(model, spec, calibration, prefix=prefix), iterations)
        if not self._is_native():
            shapes = {link.name: [model.geom(prefix + name).id for name in link.skin_names] for link in spec.links}
            self._reader = SolidReader(model)
            self._skin_of = partial(HandTouch, spec, skin_shapes=shapes, bodies=self._reader.bodies)
            self._calibration, self._skins = calibration, [self._skin_of(calibration) for _ in range(n)]

    def _is_native(self) -> bool:
        return self.device.is_cuda

    def _set_up_device(self, skin: Any, iterations: int) -> None:
        n, slots = self.count, groups.SLOTS
        taxels, pads = len(skin.area_m2), len(skin.pads)
        self._slot = slot = slot_floats(AT_EDGES)
        self._tables = {
            grid: wp.array(np.concatenate([influence_columns(grid).ravel(), inverse_stencils(grid).ravel()]))
            for grid in (SMALL, LARGE, AT_EDGES)
        }
        self._skin = {
            name: wp.array(np.ascontiguousarray(getattr(skin, name)))
            for name in (
                "pads",
                "link_pads",
                "link_of_geom",
                "area_m2",
                "pad_of_taxel",
                "first_part",
                "parts",
                "hulls",
                "planes",
                "first_beside",
                "beside",
                "dies",
                "link_dies",
            )
        }
        self._bare_modulus_pa = skin.bare_modulus_pa
        self._body_of_geom = wp.array(self._model.geom_bodyid.astype(np.int32))
        self._geom_kind = wp.array(self._model.geom_type.astype(np.int32))
        self._contacts = wp.zeros((n, groups.MAX_CONTACTS), dtype=groups.SkinContact)
        self._contact_count, self._order = wp.zeros(n, dtype=int), wp.zeros((n, groups.MAX_CONTACTS), dtype=int)
        self._sums, self._group_count = wp.zeros((n, slots), dtype=groups.GroupSum), wp.zeros(n, dtype=int)
        self._keys = wp.full((n, slots), wp.vec4i(-1, 0, 0, 0), dtype=wp.vec4i)
        self._group = wp.zeros(n * slots * groups.GROUP_FLOATS, dtype=float)
        self._group_of, self._kind_of = wp.zeros(n * slots, dtype=wp.vec4i), wp.zeros(n * slots, dtype=wp.vec4i)
        self._place = wp.zeros(2 * n * slots, dtype=wp.vec4)
        self._pressure = wp.zeros(n * slots * slot, dtype=float)
        self._insets, self._anchor = wp.zeros(n * slots * slot, dtype=int), wp.zeros(5 * n * slots, dtype=wp.vec4)
        self._queue, self.queued = wp.zeros(groups.QUEUES * n * slots, dtype=int), wp.zeros(groups.QUEUES, dtype=int)
        self._nets = wp.zeros(n * slots * groups.NET_NODES, dtype=float)
        self._crowded, self._were_crowded = wp.zeros(n * slots, dtype=int), wp.zeros(n, dtype=int)
        self._slot_of = wp.zeros((n, slots), dtype=int)
        self._taxel_sum = wp.zeros((n, 3, taxels), dtype=int)
        self._die_sum, self._pad_taxels = wp.zeros(self.arrays.stress_pa.shape, dtype=int), skin.pad_taxels
        self._pad_sum, self._world_sum = wp.zeros((n, pads, 3), dtype=int), wp.zeros((n, 2), dtype=int)
        self._pad_touched = wp.zeros((n, pads), dtype=int)
        smooth = [  # kernel, grid, queue and the queue of what it gives up or hands on
            Solver(
                cold=cold,
                leans=leans,
                edged=False,
                grid=grid,
                next_grid=LARGE if cold and grid == SMALL else 0,
                which=4 * leans + 2 * cold + large,
                then=4 * leans + (2 + large if not cold else 3),
            )
            for leans in (False, True)
            for cold in (False, True)
            for large, grid in enumerate((SMALL, LARGE))
        ]
        # First those that lay on edges, which may have left them; at last those to which edges have come.
        known, new = (
            Solver(cold=which == 10, leans=True, edged=True, grid=AT_EDGES, next_grid=0, which=which, then=10)
            for which in (9, 10)
        )
        self._solvers = [known, *smooth, new]
        self._compile(iterations)

    def _compile(self, iterations: int) -> None:
        self._side = wp.Stream(self.device)
        self._deposit = deposit_kernel(**self._deposit_options())
        self._neighbors = neighbors_kernel(AT_EDGES, **self._neighbors_options())
        self._kernels = {s: solve_kernel(s.grid, **self._solve_options(s, iterations)) for s in self._solvers}

    def _solve_options(self, solver: Solver, iterations: int) -> dict[str, Any]:
        return {
            "cold": solver.cold, "leans": solver.leans, "edged": solver.edged, "next_grid": solver.next_grid,
            "hulls": self._skin["planes"].size > 0, "slot": self._slot, "iterations": iterations,
        }  # fmt: skip

    def _neighbors_options(self) -> dict[str, Any]:
        return {"hulls": self._skin["planes"].size > 0, "slot": self._slot}

    def _deposit_options(self) -> dict[str, Any]:
        return {
            "slot": self._slot, "cells": AT_EDGES * AT_EDGES, "pad_taxels": self._pad_taxels,
            "dies": self._die_sum.size > 0,
        }  # fmt: skip

    def stiffen(self, factor: FloatArray) -> None:
        """Give worlds stiffnesses of their own, as factors of Young's modulus. Shape (worlds,)."""
        self._stiffness.assign(factor.astype(np.float32))
        if not self._is_native():
            self._skins = [self._skin_of(scaled_skin(self._calibration, skin_stiffness=float(one))) for one in factor]

    def forget(self, mask: Array) -> None:
        """Let skins of some worlds start without a past. ``mask``: Warp's, true for those. Shape (worlds,)."""
        self.sensor.forget(mask, self.arrays)
        if self._is_native():
            wp.launch(
                groups.forget_windows,
                dim=(self.count, max(groups.SLOTS, self._pad_touched.shape[1])),
                inputs=[mask, self._keys, self._pad_touched],
                device=self.device,
            )
        else:
            for number in np.flatnonzero(mask.numpy()):
                self._skins[number].forget()

    def update(self) -> None:
        """Solve touch for the contacts of the last step, and read the sensor."""
        self.feel()
        load_pa = self.arrays.stress_pa if self.arrays.stress_pa.size else self.arrays.pressure_pa
        self.sensor.read(self._d.time, load_pa, self.arrays.counts)

    def feel(self) -> None:
        """Pressure and shear of the contacts of the last step, without the sensor."""
        if not self._is_native():
            self._update_on_cpu()
            return
        with wp.ScopedDevice(self.device):
            self.gather()
            self._solve_all()
            self.make_room()
            self.lay()
            self.finish()

    def _solve_all(self) -> None:
        known, *smooth, new = self._solvers
        self.solve(known)
        main = wp.get_stream()
        self._side.wait_stream(main)  # objects that lean beside those that do not: some of these queues are empty
        with wp.ScopedStream(self._side, sync_enter=False):
            for solver in smooth:
                if solver.leans:
                    self.solve(solver)
        for solver in smooth:
            if not solver.leans:
                self.solve(solver)
        main.wait_stream(self._side)
        self.solve(new)

    def gather(self) -> None:
        """Contacts into groups, groups into queues."""
        d, c, skin = self._d, self._d.contact, self._skin
        wp.launch(
            groups.collect_contacts,
            dim=max(c.pos.shape[0], int(groups.QUEUES)),
            inputs=[d.nacon, c.pos, c.frame, c.geom, c.efc_address, c.worldid, c.geomcollisionid, d.efc.force,
                    skin["link_of_geom"], self._body_of_geom, self._contact_count, self._contacts, self.queued],
        )  # fmt: skip
        wp.launch(
            groups.rank_contacts,
            dim=(self.count, groups.MAX_CONTACTS),
            inputs=[self._contact_count, self._contacts, self._order],
        )
        wp.launch(
            groups.group_contacts,
            dim=self.count,
            block_dim=32,
            inputs=[self._contact_count, self._contacts, self._order, SMALL, self._sums,
                    self._group_count, self._keys, self._place, self._kind_of, self._crowded, self._were_crowded,
                    self._queue, self.queued, self.flags],
        )  # fmt: skip
        wp.launch(
            groups.queue_groups,
            dim=(self.count, groups.SLOTS),
            block_dim=64,
            inputs=[self._sums, self._group_count, skin["link_of_geom"], self._body_of_geom, skin["link_pads"],
                    skin["pads"], self._bare_modulus_pa, self._stiffness, SMALL, d.xpos, d.xmat, self._place,
                    self._kind_of, self._group, self._group_of, self._crowded, self._slot_of, self._queue,
                    self.queued, self._world_sum.flatten(), float(SCALE)],
        )  # fmt: skip

    def solve(self, solver: Solver) -> None:
        """Solve the windows of one queue; its size is known to the device alone."""
        block = 32 * warps_for(solver.grid)
        threads = self.device.sm_count * blocks_for(solver.grid) * block
        wp.launch(self._kernels[solver], dim=threads, block_dim=block, inputs=self._solve_inputs(solver, threads))

    def _solve_inputs(self, solver: Solver, threads: int) -> list[Any]:
        d, m, skin = self._d, self._m, self._skin
        return [
            threads, solver.which, solver.then, self._queue, self.queued, self._group, self._group_of, self._place,
            self._kind_of, self._pressure, d.geom_xpos, d.geom_xmat, self._model.ngeom, d.xmat, self._model.nbody,
            self._geom_kind, m.geom_size, m.geom_size.shape[0], skin["first_part"], skin["parts"],
            skin["planes"].flatten(), skin["first_beside"], skin["beside"], skin["hulls"].flatten(),
            self._tables[solver.grid], self.flags, d.xpos, self._anchor, self._insets,
            self._nets,
        ]  # fmt: skip

    def make_room(self) -> None:
        """Let patches that are close together on a link give way to each other."""
        threads = self.device.sm_count * NEIGHBOR_BLOCKS * 32
        wp.launch(self._neighbors, dim=threads, block_dim=32, inputs=self._neighbors_inputs(threads))

    def _neighbors_inputs(self, threads: int) -> list[Any]:
        d, m, skin = self._d, self._m, self._skin
        return [
            threads, self._queue, self.queued, self._group_count, self._slot_of.flatten(), self._group, self._group_of,
            self._place, self._kind_of, self._pressure, d.geom_xpos, d.geom_xmat, self._model.ngeom, d.xmat,
            self._model.nbody, self._geom_kind, m.geom_size, m.geom_size.shape[0], skin["first_part"], skin["parts"],
            skin["planes"].flatten(), skin["first_beside"], skin["beside"], skin["hulls"].flatten(),
            self._tables[AT_EDGES], self._insets, self._nets, self._crowded,
        ]  # fmt: skip

    def lay(self) -> None:
        """Pressures of all windows into sums over taxels and pads."""
        threads = self.device.sm_count * DEPOSIT_BLOCKS * WARPS * 32
        wp.launch(self._deposit, dim=threads, block_dim=WARPS * 32, inputs=self._lay_inputs(threads))

    def _lay_inputs(self, threads: int) -> list[Any]:
        d, m, skin, out = self._d, self._m, self._skin, self.arrays
        return [
            threads, self._queue, self.queued, self._group, self._group_of, self._place, self._kind_of, self._pressure,
            d.geom_xpos, d.geom_xmat, self._model.ngeom, d.xpos, d.xmat, self._model.nbody, self._geom_kind,
            m.geom_size, m.geom_size.shape[0], self._body_of_geom, skin["link_of_geom"], skin["link_pads"],
            skin["pads"].flatten(), out.pad_force_n.shape[1], out.pressure_pa.shape[1], self._taxel_sum.flatten(),
            self._pad_sum.flatten(), self._pad_touched.flatten(), self._world_sum.flatten(), skin["dies"].flatten(),
            skin["link_dies"], self._die_sum.flatten(), self._insets,
        ]  # fmt: skip

    def finish(self) -> None:
        """Sums into what is read."""
        out = self.arrays
        wp.launch(
            groups.finish_taxels,
            dim=out.pressure_pa.shape,
            inputs=[
                self._skin["area_m2"],
                self._skin["pad_of_taxel"],
                self._pad_touched,
                1.0 / SCALE,
                self._taxel_sum,
                out.pressure_pa,
                out.shear_pa,
            ],
        )
        wp.launch(
            groups.finish_pads,
            dim=out.pad_force_n.shape,
            inputs=[1.0 / SCALE, self._pad_sum, self._pad_touched, self._world_sum, out.pad_force_n, out.pad_centre_m,
                    out.contact_n, out.bare_skin_n],
        )  # fmt: skip
        wp.launch(groups.finish_dies, dim=self._die_sum.shape, inputs=[1.0 / PA_SCALE, self._die_sum, out.stress_pa])

    def _update_on_cpu(self) -> None:
        """The solver of one world, world after world: where there is no GPU there are few of them."""
        d, c = self._d, self._d.contact
        total = min(int(d.nacon.numpy()[0]), c.pos.shape[0])
        world = c.worldid.numpy()[:total]
        for number, skin in enumerate(self._skins):
            index = np.flatnonzero(world == number)
            contact = SimpleNamespace(
                pos=c.pos.numpy()[index].astype(np.float64),
                frame=c.frame.numpy()[index].reshape(-1, 9).astype(np.float64),  # as one world has it
                geom=c.geom.numpy()[index], efc_address=c.efc_address.numpy()[index, 0],
                dim=c.dim.numpy()[index], friction=c.friction.numpy()[index].astype(np.float64),
            )  # fmt: skip
            force = d.efc.force.numpy()[number].astype(np.float64)
            data = SimpleNamespace(contact=contact, nefc=len(force), efc_force=force, model=self._model)
            for name in ("geom_xpos", "geom_xmat", "xpos", "xmat"):
                setattr(data, name, getattr(d, name).numpy()[number].astype(np.float64))
            sizes_m = self._m.geom_size.numpy()
            self._reader.resize(sizes_m[number % len(sizes_m)])
            frame = skin.solve(self._reader.read(data, stamp_s=0.0))  # pyright: ignore[reportArgumentType]
            out = self.arrays
            for name, value in (
                ("pressure_pa", frame.taxel_pressure_pa), ("shear_pa", frame.taxel_shear_pa),
                ("pad_force_n", frame.pad_force_n), ("pad_centre_m", frame.pad_centre_m),
                ("contact_n", frame.contact_n), ("bare_skin_n", frame.bare_skin_n),
                ("stress_pa", skin.die_stress_pa),
            ):  # fmt: skip
                getattr(out, name).numpy()[number] = value  # on the CPU this is the array itself
