"""One frame of touch, compiled as one function: contacts in, force on every taxel out.

Contacts on a link's skin are gathered by partner body and direction (`groups.py`). Each group gets a window
(`window.py`): along the force's direction every cell has a gap between skin and object (`gap.py`), and elastic contact
asks for pressures that are nowhere negative, that carry exactly the contact's force, and under which the skin meets the
object wherever there is pressure (`pressure.py`). Borders are put on edges that cut the patch (`edges.py`); objects
close together make room for each other (`neighbors.py`); friction is shared out (`shear.py`); the force of every cell
goes into taxels (`deposit.py`) and dies (`barometer_stress.py`).
"""

from __future__ import annotations

import math

import numba as nb

from thenar.touch.solver.barometer_stress import add_die_stress
from thenar.touch.solver.deposit import deposit, link_frame
from thenar.touch.solver.edges import EDGE_GRID, lay_on_edges
from thenar.touch.solver.gap import Lines, aim, lines_of, measure_window
from thenar.touch.solver.groups import average_still, gather
from thenar.touch.solver.neighbors import solve_neighbors
from thenar.touch.solver.pressure import solve_pressure
from thenar.touch.solver.shear import share_friction
from thenar.touch.solver.touch_records import (
    Contacts,
    Elastic,
    Record,
    Scene,
    Skin,
    TaxelForces,
    Vector,
    dot,
    minus,
    to_local,
)
from thenar.touch.solver.window import (
    KEPT,
    TURNED,
    carry_pressure,
    carry_window,
    is_peaked,
    is_thin,
    keep_window,
    layout,
    patch_extent,
    refit,
    start_window,
)

MIN_FORCE_N = 1e-4
SHARP_GRID = 20  # patches under a sharp edge are thin, those under a corner have a peak
MAX_PASSES, MAX_FITS, MAX_TURNS = 12, 9, 3
FIRST_TURN_RAD, TURN_RAD = 0.005, 0.02  # edges that lie askew by more turn a new window, and a known one
FRAME_PASSES, FRAME_FITS = 3, 2  # of a window that is known; one that is too small even then is started anew


@nb.njit(cache=True, nogil=True)
def solve_touch(
    contacts: Contacts,
    scene: Scene,
    skin: Skin,
    elastic: Elastic,
    windows: Record,
    frame: int,
    groups: Record,
    smooth_grid: int,
    out: TaxelForces,
) -> tuple[float, float, int]:
    """Force on every taxel of a hand.

    Args:
        contacts: All contacts of the world.
        scene: All shapes of the world.
        skin: Pads and dies of the hand.
        elastic: Influence tables and scratch memory.
        windows: Records of `WINDOW`, remembered between frames.
        frame: Number of this frame, one more than that of the last.
        groups: Records of `GROUP`, written.
        smooth_grid: Cells a side of a new window.
        out: Forces are added to these.

    Returns:
        Normal force of all contacts on the skin, the part of it that fell beside every pad [N], and the number of
        groups of contacts.
    """
    count = gather(contacts, scene.shapes, skin, groups)
    total, bare = 0.0, 0.0
    for g in range(count):
        group = groups[g]
        total += group.weight
        if group.force_n < MIN_FORCE_N:
            bare += group.weight
            continue
        group.window = _find_window(windows, group, frame)
        window = windows[group.window]
        average_still(group, window, scene, window.cell_m > 0.0)
        body = scene.shapes[group.skin].body
        _set_material(group, to_local(scene.body_R[body], minus(group.origin, scene.body_pos_m[body])), skin)
        parts = scene.parts[scene.first_part[group.partner] : scene.first_part[group.partner + 1]]
        pieces = skin.pieces[skin.first_piece[group.skin] : skin.first_piece[group.skin + 1]]
        lines = lines_of(scene, pieces, parts)
        group.solved = solve_window(group, window, scene, lines, elastic, smooth_grid)
    solve_neighbors(groups[:count], windows, elastic)
    for g in range(count):
        group = groups[g]
        if group.force_n >= MIN_FORCE_N:
            body = scene.shapes[group.skin].body
            local = link_frame(group, scene.body_pos_m[body], scene.body_R[body])
            share_friction(group, windows[group.window], scene.body_R[body])
            bare += group.weight - deposit(group, windows[group.window], local, skin, out)
            add_die_stress(group, windows[group.window], local, skin.dies, out.die_pa)
    return total, bare, count


@nb.njit(cache=True)
def solve_window(group: Record, window: Record, scene: Scene, lines: Lines, elastic: Elastic, smooth_grid: int) -> bool:
    """Fit a window to its patch and solve its pressures; False when skin and object share no line.

    Args:
        group: Contacts; cells, directions, heights and gaps of the last pass are written to it.
        window: The start (a fresh one has ``cell_m`` 0) and the result.
        scene: All shapes.
        lines: Through the skin and the object.
        elastic: Influence tables and scratch memory.
        smooth_grid: Cells a side of a new window.
    """
    fresh = window.cell_m <= 0.0
    if fresh:
        start_window(group, window, scene.shapes[group.skin], smooth_grid)
    else:
        carry_window(group, window, scene)
    warm, turns = not fresh, 0
    passes, fits = (MAX_PASSES, MAX_FITS) if fresh else (FRAME_PASSES, FRAME_FITS)
    window.passes = 0
    while True:
        aim(lines, group)
        if warm:
            group.grid, group.cell_u, group.cell_v = window.grid, window.cell_m, window.cell_m * window.aspect
            _follow_edges(group, window, lines, smooth_grid)
        if not measure_window(group, window, lines):
            if fresh or window.passes > 0:
                return False
            start_window(group, window, scene.shapes[group.skin], smooth_grid)  # the object has left the old window
            fresh, warm = True, False
            passes, fits = MAX_PASSES, MAX_FITS
            continue
        solve_pressure(group, window, elastic, warm)
        window.passes += 1
        if window.passes == passes:
            if fresh or not _is_cut_short(window):
                break
            start_window(group, window, scene.shapes[group.skin], smooth_grid)  # the patch has outgrown the old window
            fresh, warm, window.passes = True, False, 0
            passes, fits, turns = MAX_PASSES, MAX_FITS, 0
            continue
        before = layout(group, window)
        known = warm and window.passes == 1
        change = refit(group, window, known, turns < MAX_TURNS) if window.passes <= fits else KEPT
        if change == KEPT:
            if warm or not _settle(group, window, lines):
                break
            turns = MAX_TURNS
        turns += change == TURNED
        if warm:
            carry_pressure(group, window, before)
    if fresh:
        solve_pressure(group, window, elastic, True, True)
    keep_window(group, window, scene)
    return True


@nb.njit(cache=True)
def _is_cut_short(window: Record) -> bool:
    """Whether the patch reaches a border of its window that lies on no edge."""
    i1, i2, j1, j2 = patch_extent(window.pressure, window.grid)
    cut, last = window.cut, window.grid - 1
    reaches_u = (i1 == 0 and not cut[0]) or (i2 == last and not cut[1])
    return reaches_u or (j1 == 0 and not cut[2]) or (j2 == last and not cut[3])


@nb.njit(cache=True)
def _follow_edges(group: Record, window: Record, lines: Lines, smooth_grid: int) -> None:
    """Lay a known window on the edges that cut its patch now, and choose its grid."""
    before = layout(group, window)
    turned = lay_on_edges(group, window, lines, TURN_RAD) == TURNED
    if turned:
        carry_pressure(group, window, before)
        aim(lines, group)
        before = layout(group, window)
        lay_on_edges(group, window, lines, math.inf)
    if _choose_grid(window, smooth_grid):
        carry_pressure(group, window, before)


@nb.njit(cache=True)
def _settle(group: Record, window: Record, lines: Lines) -> bool:
    """Lay a window that fits its patch on edges, and choose its grid; True when it has changed."""
    turn_rad = FIRST_TURN_RAD if window.grid != EDGE_GRID else math.inf
    change = lay_on_edges(group, window, lines, turn_rad)
    return (change != TURNED and _choose_grid(window, window.grid)) or change != KEPT


@nb.njit(cache=True)
def _choose_grid(window: Record, smooth_grid: int) -> bool:
    """As many cells as the patch needs; True when that has changed their number."""
    sharp = is_thin(window) or is_peaked(window)
    grid = EDGE_GRID if window.edged else max(smooth_grid, SHARP_GRID) if sharp else smooth_grid
    changed = grid != window.grid
    window.cell_m *= window.grid / grid
    window.grid = grid
    return changed


@nb.njit(cache=True)
def _set_material(group: Record, place: Vector, skin: Skin) -> None:
    """The skin's modulus and thickness at a place of a link [m, link frame] are those of the link's nearest pad."""
    group.modulus_pa, group.thickness_m = skin.modulus_pa, skin.thickness_m
    nearest = 1e9
    for k in range(len(skin.pads)):
        pad = skin.pads[k]
        if pad.link == group.link:
            away = minus(pad.centre_m, place)
            if dot(away, away) < nearest:
                nearest = dot(away, away)
                group.modulus_pa, group.thickness_m = pad.modulus_pa, pad.thickness_m


@nb.njit(cache=True)
def _find_window(windows: Record, group: Record, frame: int) -> int:
    """Number of the window of this contact in the last frame, or of a free one."""
    free, oldest = -1, frame
    for k in range(len(windows)):
        w = windows[k]
        if w.skin == group.skin and w.partner == group.partner and w.index == group.index and w.frame >= frame - 1:
            w.frame = frame
            return k
        if w.frame < frame and (w.frame < oldest or w.skin < 0 or free < 0):
            free, oldest = k, w.frame
    w = windows[free]
    w.skin, w.partner, w.index, w.frame = group.skin, group.partner, group.index, frame
    w.cell_m = 0.0
    w.pulls = 0
    return free
