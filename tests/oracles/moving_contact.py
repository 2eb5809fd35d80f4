"""Objects that are drawn over a hand's skin by the engine, and what a fine grid says of every instant of it.

The fine grid finds its own place: unlike `fine_contact.fine_map` it borrows no window from the solver under test.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

import mujoco
import numba as nb
import numpy as np

from tests.oracles.fine_contact import FAR_M, influence, ray
from thenar.hands.pad_charts import points_on_skin
from thenar.hands.rotations import quat_wxyz_from_matrix
from thenar.hands.spec import HandSpec
from thenar.signals import SolidContacts
from thenar.sim.building import add_prop_geom
from thenar.sim.contacts import SolidReader
from thenar.sim.press import Indenter, rigid_hand
from thenar.touch.hand_touch import HandTouch
from thenar.touch.sensor.calibration import IDEAL
from thenar.touch.solver.influence import reduced_modulus_pa
from thenar.touch.solver.pads import build_pads, chart

STEP_S, FRAME_S = 0.001, 0.02
HEAVY = 1e4  # armature of the joints that draw the object: nothing slows them down
FLAT_M = 1e-3


@dataclass(frozen=True, kw_only=True)
class Drawn:
    """A hand and the instants of an object's way over it."""

    hand: HandSpec
    skin_solids: dict[str, tuple[int, ...]]
    instants: list[SolidContacts]

    def touch(self) -> HandTouch:
        bodies = self.instants[0].solids["body"].astype(np.int64)
        return HandTouch(self.hand, IDEAL, skin_shapes=self.skin_solids, bodies=bodies)


def draw(
    hand: HandSpec,
    pad_name: str,
    indenter: Indenter,
    *,
    force_n: float,
    from_m: tuple[float, float],
    velocity_m_s: tuple[float, float],
    spin_rad: float = 0.0,
    spin_rad_s: float = 0.0,
    tilt_rad: tuple[float, float] = (0.0, 0.0),
    lean: bool = False,
    frames: int = 16,
    mass_kg: float = 0.05,
) -> Drawn:
    """Press an object onto a pad and draw it over the skin at a steady velocity, a frame every 20 ms."""
    pad = hand.pad(pad_name)
    points, normals = points_on_skin(hand, pad, np.array([from_m[0]]), np.array([from_m[1]]))
    spec, at_wl, R_wl = rigid_hand(hand, pad.link, timestep_s=STEP_S)
    at, out = at_wl + R_wl @ points[0], R_wl @ normals[0]
    row = R_wl @ np.asarray(pad.row_axis)
    row = row - (row @ out) * out
    row /= np.linalg.norm(row)
    column = np.cross(out, row)
    base = np.column_stack([row, column, out])
    R = base @ turn(2, spin_rad) @ turn(0, tilt_rad[0]) @ turn(1, tilt_rad[1]) @ np.array(indenter.R)
    pushed = spec.worldbody.add_body(name="indenter", quat=list(quat_wxyz_from_matrix(R)))
    kinds = mujoco.mjtJoint
    for name, kind, axis in (
        ("rows", kinds.mjJNT_SLIDE, row),
        ("columns", kinds.mjJNT_SLIDE, column),
        ("push", kinds.mjJNT_SLIDE, -out),
        ("spin", kinds.mjJNT_HINGE, out),
    ):
        driven = name != "push"
        pushed.add_joint(
            name=name,
            type=kind,
            axis=list(R.T @ axis),
            armature=HEAVY if driven else 0.0,
            damping=[0.0 if driven else 40.0 * mass_kg, 0, 0],
        )
    if lean:
        for k, axis in enumerate((row, column)):
            pushed.add_joint(
                name=f"lean_{k}", type=kinds.mjJNT_HINGE, axis=list(R.T @ axis), damping=[1e-3, 0, 0], armature=1e-5
            )
    for other in hand.links:
        if other.name != pad.link:
            spec.add_exclude(bodyname1="indenter", bodyname2=other.name)
    add_prop_geom(spec, pushed, replace(indenter.prop, name="indenter", mass_kg=mass_kg, friction=0.1))
    pushed.pos = list(at + 0.06 * out)
    model = spec.compile()
    data = mujoco.MjData(model)
    push = model.joint("push")
    data.qfrc_applied[push.dofadr[0]] = force_n
    mujoco.mj_forward(model, data)
    first = int(model.body("indenter").geomadr[0])
    geoms = range(first, first + int(model.body("indenter").geomnum[0]))
    skins = [model.geom(name).id for name in hand.link(pad.link).skin_names]
    for _ in range(60):  # down to the skin
        away = min(mujoco.mj_geomDistance(model, data, g, s, 0.1, None) for g in geoms for s in skins)
        data.qpos[push.qposadr[0]] += away - 1e-6
        mujoco.mj_forward(model, data)
        if away < 1e-5:
            break
    mujoco.mj_step(model, data, 600)
    for name, speed in (("rows", velocity_m_s[0]), ("columns", velocity_m_s[1]), ("spin", spin_rad_s)):
        data.qvel[model.joint(name).dofadr[0]] = speed
    reader, instants = SolidReader(model), []
    for k in range(frames):
        mujoco.mj_step(model, data, round(FRAME_S / STEP_S))
        instants.append(reader.read(data, stamp_s=(k + 1) * FRAME_S))
    solids = {link.name: tuple(model.geom(name).id for name in link.skin_names) for link in hand.links if link.skins}
    return Drawn(hand=hand, skin_solids=solids, instants=instants)


def turn(axis: int, angle_rad: float) -> np.ndarray:
    """Rotation about an axis of the frame."""
    c, s = math.cos(angle_rad), math.sin(angle_rad)
    a, b = (axis + 1) % 3, (axis + 2) % 3
    R = np.eye(3)
    R[a, a], R[a, b], R[b, a], R[b, b] = c, -s, s, c
    return R


def fine_frame(drawn: Drawn, contacts: SolidContacts, *, young_pa: float = 1e6, cells: int = 112) -> np.ndarray:
    """Pressure of all taxels [Pa] by fine grids over every pair of skin and body that touch. Shape (taxels,)."""
    link_of = {solid: link for link, solids in drawn.skin_solids.items() for solid in solids}
    bodies = contacts.solids["body"]
    pairs: dict[tuple[int, int], list[tuple[int, float]]] = {}
    for k, pair in enumerate(contacts.pair):
        for side in range(2):
            if int(pair[side]) in link_of:
                pairs.setdefault((int(pair[side]), int(bodies[pair[1 - side]])), []).append((k, 1.0 - 2.0 * side))
    names = [pad.name for pad in drawn.hand.pads]
    laid = build_pads(drawn.hand, modulus_pa=dict.fromkeys(names, 1.0), thickness_m=dict.fromkeys(names, math.inf))
    force = np.zeros(len(laid.area_m2))
    for (skin, body), members in pairs.items():
        index = np.array([k for k, _ in members])
        out = contacts.normal[index] * np.array([sign for _, sign in members])[:, None]
        press = np.einsum("ij,ij->i", contacts.force_n[index], contacts.normal[index])
        patch = _fine_patch(contacts, skin, body, (contacts.position_m[index], out, press), young_pa, cells)
        for record in laid.pads:
            if patch is not None and laid.links[int(record["link"])] == link_of[skin]:
                _lay(record, *patch, force)
    return force / laid.area_m2


def _fine_patch(contacts: SolidContacts, skin: int, body: int, points: tuple, young_pa: float, cells: int):
    """Places of the cells in the link's frame, their sides, and their forces across the skin; None without a force."""
    positions, out, press = points
    whole = press @ out
    force_n = float(np.linalg.norm(whole))
    if force_n < 1e-4:
        return None
    n, centre = whole / force_n, press @ positions / press.sum()
    axes = np.linalg.svd(n[None])[2][1:]
    spread = (positions - centre) @ axes.T
    scatter, ways = np.linalg.eigh((spread * press[:, None]).T @ spread / press.sum())
    leans = (ways.T @ axes)[scatter > FLAT_M**2]  # the directions in which contact points are spread
    solids = contacts.solids
    parts = np.flatnonzero(solids["body"] == body)
    e = axes[0], np.cross(n, axes[0])
    u0, v0, wide_u, wide_v = 0.0, 0.0, 0.08, 0.08
    sizes = [80, 64, 64, 64, cells]
    while True:
        m, e1, e2 = sizes[0], *e
        hu, hv = wide_u / m, wide_v / m
        place = np.arange(m) - (m - 1) / 2
        U, V = (x.ravel() for x in np.meshgrid(u0 + place * hu, v0 + place * hv, indexing="ij"))
        q = centre + U[:, None] * e1 + V[:, None] * e2
        high = np.array([FAR_M - ray(solids[skin], x + FAR_M * n, -n, contacts.planes) for x in q])
        low = np.full(len(q), np.inf)
        for part in parts:
            low = np.minimum(low, [ray(solids[part], x - FAR_M * n, n, contacts.planes) - FAR_M for x in q])
        gap = np.where(np.isfinite(high) & np.isfinite(low), low - high, np.inf)
        gap -= gap.min()
        scale = 1.0 / (math.pi * reduced_modulus_pa(young_pa))
        plane = np.column_stack([np.ones(m * m), (q - centre) @ leans.T / 0.01])
        p = converged(gap / scale, influence(m, hu, hv), force_n / (hu * hv), plane)
        on = p > 0
        ends = on.reshape(m, m)
        if ends[[0, -1]].any() or ends[:, [0, -1]].any():  # a coarse grid saw only a part of it
            wide_u, wide_v = 1.4 * wide_u, 1.4 * wide_v
            continue
        del sizes[0]
        if not sizes:
            break
        weight = p[on] / p.sum()
        mean = np.array([weight @ U[on], weight @ V[on]])
        offsets = np.column_stack([U[on], V[on]]) - mean
        turned = np.linalg.eigh((offsets * weight[:, None]).T @ offsets + 1e-18 * np.eye(2))[1][:, ::-1]
        if not np.isfinite(gap).all():  # cut by an edge: along the object's own axes where they lie in the plane
            R = solids[parts[0]]["R"]
            flat = [R[:, k] for k in range(3) if abs(R[:, k] @ n) < 0.3]
            if flat:
                way = np.array([flat[0] @ e1, flat[0] @ e2])
                way /= np.linalg.norm(way)
                turned = np.column_stack([way, [-way[1], way[0]]])
        along = np.column_stack([U[on], V[on]]) @ turned
        cell = np.abs(turned).T @ np.array([hu, hv])
        lo, hi = along.min(axis=0) - cell, along.max(axis=0) + cell
        e = e1 * turned[0, 0] + e2 * turned[1, 0], e1 * turned[0, 1] + e2 * turned[1, 1]
        (u0, v0), (wide_u, wide_v) = (lo + hi) / 2, 1.06 * (hi - lo)
    R, origin = contacts.body_R[solids[skin]["body"]], contacts.body_pos_m[solids[skin]["body"]]
    slope_u, slope_v = np.gradient(np.where(np.isfinite(high), high, np.nan).reshape(m, m), hu, hv)
    flat_u, flat_v = np.nan_to_num(slope_u).ravel(), np.nan_to_num(slope_v).ravel()
    on = np.flatnonzero(p > 0)
    places = q[on] + high[on, None] * n
    along_u, along_v = hu * (e1 + flat_u[on, None] * n), hv * (e2 + flat_v[on, None] * n)
    load = p[on] * hu * hv * np.sqrt(1 + flat_u[on] ** 2 + flat_v[on] ** 2)
    return (places - origin) @ R, along_u @ R, along_v @ R, load


@nb.njit
def _lay(record, places, along_u, along_v, load, force) -> None:
    for k in range(len(load)):
        for a in (-1 / 3, 0.0, 1 / 3):
            for b in (-1 / 3, 0.0, 1 / 3):
                x = places[k] + a * along_u[k] + b * along_v[k]
                u, v, reaches = chart(record, x[0], x[1], x[2])
                row = math.floor(u / record.row_pitch_m + record.rows / 2)
                col = math.floor(v / record.col_pitch_m + record.cols / 2)
                if reaches and 0 <= row < record.rows and 0 <= col < record.cols:
                    force[record.first + row * record.cols + col] += load[k] / 9


def converged(gap: np.ndarray, apply: Callable, total: float, plane: np.ndarray, rounds: int = 400) -> np.ndarray:
    """Pressures, nowhere negative, that close the gap up to a combination of ``plane``'s columns.

    With one column the object may only sink in; with more it may lean too, and the pressures then have no moment about
    the contact's centre of force.
    """
    finite = np.isfinite(gap)
    g = np.where(finite, gap, 0.0)
    wanted = np.zeros(plane.shape[1])
    wanted[0] = total
    p = finite * (total / finite.sum())
    t, before, keep = np.zeros_like(p), 1.0, 0.0

    def meet(p: np.ndarray) -> np.ndarray:
        for _ in range(20):
            weighed = plane * p[:, None]
            off = wanted - weighed.sum(axis=0)
            if np.abs(off).max() < 1e-12 * total:
                break
            p = np.maximum(p * (1 + plane @ np.linalg.lstsq(weighed.T @ plane, off, rcond=1e-12)[0]), 0.0)
        return p

    p = meet(p)
    for _ in range(rounds):
        c = p > 0
        r = apply(p) + g
        r -= plane @ np.linalg.lstsq(plane[c], r[c], rcond=None)[0]
        norm = (r[c] ** 2).sum()
        t = np.where(c, r + keep * norm / before * t, 0.0)
        before = norm
        s = apply(t)
        if plane.shape[1] == 1:
            s -= s[c].mean()
        step = (r[c] @ t[c]) / (s[c] @ t[c])
        q = np.maximum(p - step * t, 0.0)
        joins = (q == 0) & (r < 0) & finite
        q[joins] = -step * r[joins]
        keep = 0.0 if joins.any() else 1.0
        q = meet(q)
        done = np.abs(q - p).sum() < 1e-6 * total
        p = q
        if done:
            break
    return p
