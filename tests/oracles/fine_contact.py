"""A second opinion on contact pressure: a fine grid, Fourier transforms, and MuJoCo's rays for geometry.

Shares no code with `thenar.touch` but the pad charts: heights and gaps come from `mju_rayGeom`, the influence matrix is
written out again, and the conjugate gradients are plain numpy run to convergence.
"""

import itertools
import math

import mujoco
import numpy as np

from thenar.hands.spec import HandSpec, Pad
from thenar.signals import SolidKind
from thenar.touch.solver.influence import reduced_modulus_pa
from thenar.touch.solver.pads import build_pads, chart
from thenar.twin.reports.press_report import PadPress

FAR_M = 0.05
WIDER = 1.12  # than the window under test, so that nothing is cut off
GEOMS = {
    SolidKind.SPHERE: mujoco.mjtGeom.mjGEOM_SPHERE,
    SolidKind.CAPSULE: mujoco.mjtGeom.mjGEOM_CAPSULE,
    SolidKind.CYLINDER: mujoco.mjtGeom.mjGEOM_CYLINDER,
    SolidKind.BOX: mujoco.mjtGeom.mjGEOM_BOX,
    SolidKind.ELLIPSOID: mujoco.mjtGeom.mjGEOM_ELLIPSOID,
}


def ray(solid, point, way, planes) -> float:
    """Distance along a ray to a solid; infinite for a miss."""
    if solid["kind"] == SolidKind.HULL:
        R = solid["R"]
        x, d = R.T @ (point - solid["pos_m"]), R.T @ way
        rows = planes[solid["first"] : solid["first"] + solid["count"]]
        toward, room = rows[:, :3] @ d, rows[:, 3] - rows[:, :3] @ x
        if np.any((np.abs(toward) < 1e-12) & (room < 0)):
            return math.inf
        first = np.max(room[toward < 0] / toward[toward < 0])
        last = np.min(room[toward > 0] / toward[toward > 0])
        return float(first) if first <= last else math.inf
    t = mujoco.mju_rayGeom(
        solid["pos_m"].copy(), solid["R"].ravel().copy(), solid["size_m"][:3].copy(), point, way,
        int(GEOMS[SolidKind(int(solid["kind"]))]), None,
    )  # fmt: skip
    t = t[0] if isinstance(t, tuple) else t
    return t if t >= 0 else math.inf


def influence(cells: int, hu: float, hv: float):
    """Displacement under pressures on a grid of rectangles, times pi E*: Love's formula, applied by FFT."""

    def part(x, y):
        over_x = y / np.where(x == 0, 1e-300, np.abs(x))
        over_y = x / np.where(y == 0, 1e-300, np.abs(y))
        return x * np.arcsinh(over_x) + y * np.arcsinh(over_y)

    i = np.arange(-cells, cells)
    dx, dy = np.meshgrid(i * hu, i * hv, indexing="ij")
    a, b = hu / 2, hv / 2
    kernel = part(dx + a, dy + b) - part(dx + a, dy - b) - part(dx - a, dy + b) + part(dx - a, dy - b)
    waves = np.fft.rfft2(np.fft.ifftshift(kernel))

    def apply(p: np.ndarray) -> np.ndarray:
        padded = np.zeros((2 * cells, 2 * cells))
        padded[:cells, :cells] = p.reshape(cells, cells)
        return np.fft.irfft2(np.fft.rfft2(padded) * waves, s=padded.shape)[:cells, :cells].ravel()

    return apply


def converged_pressure(
    gap: np.ndarray, apply, total: float, rounds: int = 300, start: np.ndarray | None = None
) -> np.ndarray:
    """Pressures that are nowhere negative, sum to ``total`` and close the gap where they are not zero."""
    finite = np.isfinite(gap)
    g = np.where(finite, gap, 0.0)
    p = finite.astype(float) if start is None else start.copy()
    p *= total / p.sum()
    t, before, keep = np.zeros_like(p), 1.0, 0.0
    for _ in range(rounds):
        c = p > 0
        r = apply(p) + g
        r -= r[c].mean()
        norm = (r[c] ** 2).sum()
        t = np.where(c, r + keep * norm / before * t, 0.0)
        before = norm
        s = apply(t)
        s -= s[c].mean()
        step = (r[c] @ t[c]) / (s[c] @ t[c])
        q = np.maximum(p - step * t, 0.0)
        joins = (q == 0) & (r < 0) & finite
        q[joins] = -step * r[joins]
        keep = 0.0 if joins.any() else 1.0
        q *= total / q.sum()
        done = np.abs(q - p).sum() < 1e-7 * total
        p = q
        if done:
            break
    return p


def leaning_pressure(gap: np.ndarray, apply, total: float, lever: np.ndarray) -> np.ndarray:
    """The same under an object that has leaned until ``lever`` (a coordinate of every cell) is 0 on average.

    Not solved as thenar does: slopes are tried, each with pressures run to convergence, until the moment changes sign,
    and then between the last two.
    """
    reach = np.abs(lever).max()

    def moment(slope: float, start: np.ndarray | None) -> tuple[float, np.ndarray]:
        p = converged_pressure(gap + slope * lever, apply, total, start=start)
        return float(p @ lever) / (total * reach), p

    low, (at_low, p) = 0.0, moment(0.0, None)
    step = math.copysign(np.ptp(apply(p)[p > 0]) / reach + 1e-3 * np.abs(apply(p)).max() / reach, at_low)
    high, (at_high, p) = step, moment(step, p)
    while at_low * at_high > 0.0:
        low, at_low = high, at_high
        high, step = high + 2 * step, 2 * step
        at_high, p = moment(high, p)
    for _ in range(30):  # regula falsi, with the weight of an end that stays halved
        if abs(at_high) < 1e-5:
            break
        middle = (low * at_high - high * at_low) / (at_high - at_low)
        at, p = moment(middle, p)
        if at * at_high < 0.0:
            low, at_low = high, at_high
        else:
            at_low /= 2
        high, at_high = middle, at
    return p


def fine_map(
    hand: HandSpec,
    pad: Pad,
    result: PadPress,
    window: dict,
    *,
    young_pa: float = 1e6,
    cells: int = 96,
) -> np.ndarray:
    """Pressure of a pad's taxels [Pa] from a fine grid over the same patch. Shape (rows, cols).

    An object that touches in two points leans along the line through them until the centre of pressure is that of their
    forces.
    """
    contacts = result.pressed.contacts
    solids = contacts.solids
    skin, thing = solids[result.pressed.touched_solid(pad.link)], solids[result.pressed.object_solid]
    n, e1, e2 = window["normal"], window["e1"], window["e2"]
    wide_u, wide_v = WIDER * window["wide_u_m"], WIDER * window["wide_v_m"]
    hu, hv = wide_u / cells, wide_v / cells
    u = window["u_m"] + (np.arange(cells) - (cells - 1) / 2) * hu
    v = window["v_m"] + (np.arange(cells) - (cells - 1) / 2) * hv
    U, V = (x.ravel() for x in np.meshgrid(u, v, indexing="ij"))
    q = window["origin"] + U[:, None] * e1 + V[:, None] * e2
    high = np.array([FAR_M - ray(skin, x + FAR_M * n, -n, contacts.planes) for x in q])
    low = np.array([ray(thing, x - FAR_M * n, n, contacts.planes) - FAR_M for x in q])
    gap = np.where(np.isfinite(high) & np.isfinite(low), low - high, np.inf)
    gap -= gap.min()
    give = influence(cells, hu, hv)
    scale, total = 1.0 / (math.pi * reduced_modulus_pa(young_pa)), window["force_n"] / (hu * hv)
    if len(contacts.pair) == 2:
        press = np.einsum("nx,nx->n", contacts.force_n, contacts.normal)
        line = np.subtract(*contacts.position_m)
        lever = (q - press @ contacts.position_m / press.sum()) @ (line - (line @ n) * n)
        p = leaning_pressure(gap / scale, give, total, lever / np.linalg.norm(line))
    else:
        p = converged_pressure(gap / scale, give, total)
    body = skin["body"]
    R, origin = contacts.body_R[body], contacts.body_pos_m[body]
    names = [x.name for x in hand.pads]
    laid = build_pads(hand, modulus_pa=dict.fromkeys(names, 1.0), thickness_m=dict.fromkeys(names, math.inf))
    record = laid.pads[names.index(pad.name)]
    first = int(record["first"])
    area = laid.area_m2[first : first + pad.taxels].reshape(pad.rows, pad.cols)
    slope_u, slope_v = np.gradient(np.where(np.isfinite(high), high, np.nan).reshape(cells, cells), hu, hv)
    flat_u, flat_v = np.nan_to_num(slope_u).ravel(), np.nan_to_num(slope_v).ravel()
    steeper = np.sqrt(1 + flat_u**2 + flat_v**2)
    force = np.zeros((pad.rows, pad.cols))
    pressed = p > 0
    share_n = (p * hu * hv * steeper / 9)[pressed]
    # Nine points a cell, so that a cell across a border is shared.
    for du, dv in itertools.product((-hu / 3, 0.0, hu / 3), (-hv / 3, 0.0, hv / 3)):
        rise = high + flat_u * du + flat_v * dv
        points = (q + du * e1 + dv * e2 + rise[:, None] * n)[pressed]
        for local, part_n in zip((points - origin) @ R, share_n, strict=True):
            a, b, reaches = chart(record, *local)
            row, col = math.floor(a / pad.row_pitch_m + pad.rows / 2), math.floor(b / pad.col_pitch_m + pad.cols / 2)
            if reaches and 0 <= row < pad.rows and 0 <= col < pad.cols:
                force[row, col] += part_n
    return force / area
