# type: ignore  # Warp compiles these functions: what they mean is not what a type checker reads
"""The native functions as Warp kernels: what solves queued windows, and what lays their pressures into taxels."""

from typing import Any

import warp as wp

from thenar.batch.touch.skin_tables import native_file, native_sections, native_text
from thenar.batch.world_kernels import Flag

WARPS = 4  # a block of those that lay windows into taxels
ITERATIONS = 12  # at most, of a lasting window: most need three
DEPOSIT_BLOCKS = 5  # on a multiprocessor
NEIGHBOR_BLOCKS = 8
SCALE = 1 << 22  # whole numbers to the newton: a quarter of a micronewton, at most 512 N
PA_SCALE = 1 << 8  # and to the pascal at a die, at most 8 MPa

F, N = wp.array[float], wp.array[int]
V2, M2 = wp.array2d[wp.vec3], wp.array2d[wp.mat33]
WHO, PLACE = wp.array[wp.vec4i], wp.array[wp.vec4]


def warps_for(grid: int) -> int:
    """Warps of a block: what shared memory leaves room for."""
    return 2 if grid > 20 else 4


def blocks_for(grid: int) -> int:
    """Blocks on a multiprocessor: what the registers of a lane's column leave room for."""
    return {14: 4, 20: 3, 24: 4}[grid]


def slot_floats(grid: int) -> int:
    """Floats of a slot's pressures."""
    return grid * (16 if grid == 14 else grid)


def solve_text(
    grid: int, *, cold: bool, leans: bool, edged: bool, hulls: bool, next_grid: int, slot: int, iterations: int,
    warps: int | None = None,
):  # fmt: skip
    """The native function that solves windows of one kind."""
    parts = {word: text if edged else "" for word, text in native_sections("edges").items()}
    rounds = {"ROUNDS": native_file("conjugate" if cold else "descend"), "MOMENTS": native_file("moments")}
    return native_text(
        "solve", parts | rounds | shared_texts(), G=grid, COLD=int(cold), LEANS=int(leans),
        EDGED=int(edged), HULLS=int(hulls), NEXT_GRID=next_grid, ITERATIONS=iterations, WARPS=warps or warps_for(grid),
        SLOT=slot, POINT=int(Flag.POINT),
    )  # fmt: skip


def shared_texts() -> dict[str, str]:
    """Texts that several native functions have in common, by the words that stand for them."""
    return {word.upper(): native_file(word) for word in ("lanes", "inset", "shapes", "lines", "skin")}


def deposit_text(*, slot: int, cells: int, pad_taxels: int, dies: bool, warps: int = WARPS):
    """The native function that lays windows into taxels, and brings them to buried dies."""
    return native_text(
        "deposit", shared_texts(), WARPS=warps, SLOT=slot, SCALE=SCALE, PA_SCALE=PA_SCALE, CELLS=cells,
        MAX_TAXELS=pad_taxels, DIES=int(dies),
    )  # fmt: skip


def solve_kernel(grid: int, **options: Any) -> Any:
    """A kernel that solves the windows of one queue; options are those of `solve_text`."""

    @wp.func_native(solve_text(grid, **options))
    def solve(
        tid: int, threads: int, which: int, next_which: int, queue: N, count: N, group: F, group_of: WHO, place: PLACE,
        kind_of: WHO, pressure: F, geom_xpos: V2, geom_xmat: M2, geoms: int, body_xmat: M2, bodies: int, geom_kind: N,
        geom_size: V2, size_worlds: int, first_part: N, parts: N, planes: F, first_beside: N, beside: N, hulls: N,
        table: F, flags: N, body_xpos: V2, anchor: PLACE, insets: N, nets: F,
    ): ...  # fmt: skip

    @wp.kernel(
        module="unique", enable_backward=False, launch_bounds=(32 * warps_for(grid), blocks_for(grid)),
        module_options={"fast_math": True, "block_dim": 32 * warps_for(grid)},
    )  # fmt: skip
    def solve_windows(
        threads: int, which: int, next_which: int, queue: N, count: N, group: F, group_of: WHO, place: PLACE,
        kind_of: WHO, pressure: F, geom_xpos: V2, geom_xmat: M2, geoms: int, body_xmat: M2, bodies: int, geom_kind: N,
        geom_size: V2, size_worlds: int, first_part: N, parts: N, planes: F, first_beside: N, beside: N, hulls: N,
        table: F, flags: N, body_xpos: V2, anchor: PLACE, insets: N, nets: F,
    ):  # fmt: skip
        solve(
            wp.tid(), threads, which, next_which, queue, count, group, group_of, place, kind_of, pressure, geom_xpos,
            geom_xmat, geoms, body_xmat, bodies, geom_kind, geom_size, size_worlds, first_part, parts, planes,
            first_beside, beside, hulls, table, flags, body_xpos, anchor, insets, nets,
        )  # fmt: skip

    return solve_windows


def deposit_kernel(**options: Any) -> Any:
    """A kernel that lays the pressures of all windows into taxels; options are those of `deposit_text`."""

    @wp.func_native(deposit_text(**options))
    def deposit(
        tid: int, threads: int, queue: N, count: N, group: F, group_of: WHO, place: PLACE, kind_of: WHO, pressure: F,
        geom_xpos: V2, geom_xmat: M2, geoms: int, body_xpos: V2, body_xmat: M2, bodies: int, geom_kind: N,
        geom_size: V2, size_worlds: int, body_of_geom: N, link_of_geom: N, link_pads: N, pads: F, pad_count: int,
        taxels: int, taxel_sum: N, pad_sum: N, pad_touched: N, world_sum: N, dies: F, link_dies: N, die_sum: N,
        insets: N,
    ): ...  # fmt: skip

    @wp.kernel(
        module="unique", enable_backward=False, launch_bounds=(32 * WARPS, DEPOSIT_BLOCKS),
        module_options={"fast_math": True, "block_dim": 32 * WARPS},
    )  # fmt: skip
    def lay_windows(
        threads: int, queue: N, count: N, group: F, group_of: WHO, place: PLACE, kind_of: WHO, pressure: F,
        geom_xpos: V2, geom_xmat: M2, geoms: int, body_xpos: V2, body_xmat: M2, bodies: int, geom_kind: N,
        geom_size: V2, size_worlds: int, body_of_geom: N, link_of_geom: N, link_pads: N, pads: F, pad_count: int,
        taxels: int, taxel_sum: N, pad_sum: N, pad_touched: N, world_sum: N, dies: F, link_dies: N, die_sum: N,
        insets: N,
    ):  # fmt: skip
        deposit(
            wp.tid(), threads, queue, count, group, group_of, place, kind_of, pressure, geom_xpos, geom_xmat, geoms,
            body_xpos, body_xmat, bodies, geom_kind, geom_size, size_worlds, body_of_geom, link_of_geom, link_pads,
            pads, pad_count, taxels, taxel_sum, pad_sum, pad_touched, world_sum, dies, link_dies, die_sum, insets,
        )  # fmt: skip

    return lay_windows


def neighbors_text(grid: int, *, hulls: bool, slot: int):
    """The native function that lets patches close together make room for each other."""
    return native_text("neighbors", shared_texts(), G=grid, HULLS=int(hulls), WARPS=1, SLOT=slot)


def neighbors_kernel(grid: int, **options: Any) -> Any:
    """A kernel that makes room in every crowded world; options are those of `neighbors_text`."""

    @wp.func_native(neighbors_text(grid, **options))
    def make_room(
        tid: int, threads: int, queue: N, count: N, group_count: N, slot_of: N, group: F, group_of: WHO, place: PLACE,
        kind_of: WHO, pressure: F, geom_xpos: V2, geom_xmat: M2, geoms: int, body_xmat: M2, bodies: int, geom_kind: N,
        geom_size: V2, size_worlds: int, first_part: N, parts: N, planes: F, first_beside: N, beside: N, hulls: N,
        table: F, insets: N, nets: F, crowded: N,
    ): ...  # fmt: skip

    @wp.kernel(
        module="unique", enable_backward=False, launch_bounds=(32, NEIGHBOR_BLOCKS),
        module_options={"fast_math": True, "block_dim": 32},
    )  # fmt: skip
    def make_room_in_worlds(
        threads: int, queue: N, count: N, group_count: N, slot_of: N, group: F, group_of: WHO, place: PLACE,
        kind_of: WHO, pressure: F, geom_xpos: V2, geom_xmat: M2, geoms: int, body_xmat: M2, bodies: int, geom_kind: N,
        geom_size: V2, size_worlds: int, first_part: N, parts: N, planes: F, first_beside: N, beside: N, hulls: N,
        table: F, insets: N, nets: F, crowded: N,
    ):  # fmt: skip
        make_room(
            wp.tid(), threads, queue, count, group_count, slot_of, group, group_of, place, kind_of, pressure,
            geom_xpos, geom_xmat, geoms, body_xmat, bodies, geom_kind, geom_size, size_worlds, first_part, parts,
            planes, first_beside, beside, hulls, table, insets, nets, crowded,
        )  # fmt: skip

    return make_room_in_worlds
