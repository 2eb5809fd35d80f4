"""Touch on models of anybody's own, measured: meshes against Hertz and a fine grid, friction against Mindlin, cost."""

from __future__ import annotations

import math
import time
from dataclasses import dataclass
from typing import Any

import mujoco
import numpy as np

from tests.oracles.fine_contact import WIDER, converged_pressure, influence
from thenar.arrays import FloatArray
from thenar.hands.rotations import quat_wxyz_from_matrix
from thenar.signals import TouchFrame
from thenar.touch import AttachedSkin, attach
from thenar.touch.geom_pads import GridPad
from thenar.touch.hertz import hertz_ellipse
from thenar.touch.solver.influence import reduced_modulus_pa
from thenar.touch.surfaces import across

MODULUS_PA = reduced_modulus_pa(1.0e6)
FINE_POINTS = 10_000  # of a fine mesh
SETTLE_STEPS = 400
ROWS, COLS, PAD_M = 12, 8, (0.012, 0.008)
FAR_M = 0.05


def sphere_points(count: int = FINE_POINTS) -> FloatArray:
    """Points spread evenly over a ball of radius 1. Shape (count, 3)."""
    k = np.arange(count) + 0.5
    polar, turn = np.arccos(1.0 - 2.0 * k / count), math.pi * (1.0 + math.sqrt(5.0)) * k
    return np.stack([np.cos(turn) * np.sin(polar), np.sin(turn) * np.sin(polar), np.cos(polar)], axis=1)


def box_points(count: int = 12, rounding: float = 0.0) -> FloatArray:
    """Points of a box with half edges 1, or of one with rounded edges. Shape (n, 3)."""
    side = np.linspace(-1.0, 1.0, count)
    grid = np.stack(np.meshgrid(side, side, side, indexing="ij"), axis=-1).reshape(-1, 3)
    grid = grid[np.abs(grid).max(axis=1) == 1.0]
    inner = np.clip(grid, -1.0 + rounding, 1.0 - rounding)
    out = grid - inner
    size = np.linalg.norm(out, axis=1, keepdims=True)
    return inner + rounding * out / np.where(size > 0.0, size, 1.0)


@dataclass
class Bench:
    """A skinned geom that stands still, and an object that is pressed on it along a line."""

    model: mujoco.MjModel
    data: mujoco.MjData
    skin: AttachedSkin

    def press(self, origin: FloatArray, normal: FloatArray, force_n: float, R: FloatArray) -> None:
        """Press the object, from this place of its origin and turned by R, until all is still."""
        model, data = self.model, self.data
        mujoco.mj_resetData(model, data)
        model.body_pos[2], model.body_quat[2] = origin + 2e-6 * normal, quat_wxyz_from_matrix(R)
        model.jnt_axis[0] = -(R.T @ normal)
        data.qfrc_applied[0] = force_n
        self.skin.forget()
        mujoco.mj_step(model, data, SETTLE_STEPS)


def make_bench(skin: dict, thing: dict, pads: list, *, friction: float = 0.0) -> Bench:
    """A bench of two geoms, each given as arguments of a geom, or by the points of a mesh."""
    spec = mujoco.MjSpec()
    spec.option.timestep, spec.option.gravity = 0.001, [0.0, 0.0, 0.0]
    spec.option.cone = mujoco.mjtCone.mjCONE_ELLIPTIC
    for name, part in (("skin", skin), ("thing", thing)):
        body = spec.worldbody.add_body(name=name)
        part = dict(part)
        if name == "thing":
            body.add_joint(name="push", type=mujoco.mjtJoint.mjJNT_SLIDE, axis=[0, 0, 1], damping=[2.0, 0, 0])
        pieces = part.pop("pieces", [part.pop("points")] if "points" in part else None)
        for k, points in enumerate(pieces or [None]):
            if points is not None:
                spec.add_mesh(
                    name=f"{name}{k}",
                    uservert=np.asarray(points, dtype=np.float64).ravel().tolist(),
                    inertia=mujoco.mjtMeshInertia.mjMESH_INERTIA_CONVEX,
                )
                part = part | {"type": mujoco.mjtGeom.mjGEOM_MESH, "meshname": f"{name}{k}"}
            body.add_geom(
                name=name if pieces is None or len(pieces) == 1 else f"{name}{k}",
                friction=[friction, 0, 0], solref=[0.004, 1.0], condim=3 if friction else 1, mass=0.05, **part,
            )  # fmt: skip
    model = spec.compile()
    return Bench(model, mujoco.MjData(model), attach(model, pads))


def ellipsoid_at(half_m: FloatArray, towards: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Point of an ellipsoid, outward normal and the matrix of curvature in the tangent plane, seen from the middle."""
    point = towards / math.sqrt(np.sum((towards / half_m) ** 2))
    steep = point / half_m**2
    normal = steep / np.linalg.norm(steep)
    flat = np.eye(3) - np.outer(normal, normal)
    return point, normal, flat @ np.diag(1.0 / half_m**2) @ flat / np.linalg.norm(steep)


def hertz_map(
    bench: Bench, place: FloatArray, normal: FloatArray, bend: FloatArray, force_n: float, half_m: FloatArray
) -> FloatArray:
    """Pressure of a pad's taxels by Hertz [Pa]: over points of the smooth ellipsoid, each with its nearest taxel."""
    e1 = across(normal)
    axes = np.column_stack([e1, np.cross(normal, e1)])
    curve, turn = np.linalg.eigh(axes.T @ bend @ axes)
    ellipse = hertz_ellipse(force_n, curve[0], curve[1], MODULUS_PA)
    wide = 1.02 * max(ellipse.a_m, ellipse.b_m)
    side = np.linspace(-wide, wide, 240)
    u, v = (x.ravel() for x in np.meshgrid(side, side))
    near = place + u[:, None] * axes[:, 0] + v[:, None] * axes[:, 1]
    flat = np.column_stack([u, v]) @ turn
    inside = 1.0 - (flat[:, 0] / ellipse.a_m) ** 2 - (flat[:, 1] / ellipse.b_m) ** 2
    near, inside = near[inside > 0.0], inside[inside > 0.0]
    # Down onto the ellipsoid along the normal.
    a, b, c = ((x * y / half_m**2).sum(axis=-1) for x, y in ((normal, normal), (near, normal), (near, near)))
    points = near + ((np.sqrt(np.maximum(b * b - a * (c - 1.0), 0.0)) - b) / a)[:, None] * normal
    steep = points / half_m**2
    over = np.linalg.norm(steep, axis=1) / (steep @ normal)  # area on the surface over area in the plane
    part = ellipse.peak_pa * np.sqrt(inside) * over * (side[1] - side[0]) ** 2
    owner, area = _taxel_of(bench, points), bench.skin.area_m2("pad").ravel()
    return np.bincount(owner[owner >= 0], part[owner >= 0], minlength=len(area)) / area


def random_turn(rng: np.random.Generator) -> FloatArray:
    """A rotation, evenly drawn. Shape (3, 3)."""
    q, r = np.linalg.qr(rng.normal(size=(3, 3)))
    q = q * np.sign(np.diag(r))
    return q if np.linalg.det(q) > 0 else -q


def relative(one: FloatArray, other: FloatArray) -> float:
    """Relative L2 difference."""
    return float(np.linalg.norm(one - other) / np.linalg.norm(other))


def mesh_presses(count: int, *, seed: int, models: int = 8) -> tuple[FloatArray, FloatArray]:
    """Balls and eggs, smooth and meshed, pressed on meshed eggs: L2 difference to Hertz and error of the force sum.

    Near the ends of an egg's axes, where it is the paraboloid that Hertz takes it for.
    """
    rng = np.random.default_rng(seed)
    errors, sums = [], []
    for number in range(models):
        skin_half = rng.uniform(0.009, 0.016, 3)
        thing_half = rng.uniform(0.006, 0.02, 3) if number % 4 < 2 else np.full(3, rng.uniform(0.006, 0.02))
        thing = {"points": sphere_points() * thing_half}
        if number % 2:
            thing = {"type": mujoco.mjtGeom.mjGEOM_ELLIPSOID, "size": thing_half.tolist()}
        end = np.eye(3)[rng.integers(3)] * rng.choice([-1.0, 1.0])
        pad = GridPad(name="pad", geom="skin", rows=ROWS, cols=COLS, size_m=PAD_M, towards=tuple(end))
        bench = make_bench({"points": sphere_points() * skin_half}, thing, [pad])
        for _ in range(count // models):
            point, normal, bend = ellipsoid_at(skin_half, end + rng.uniform(-0.1, 0.1, 3))
            back, angle = np.eye(3)[2], rng.uniform(0.0, 2 * math.pi)
            side = across(normal)
            side = math.cos(angle) * side + math.sin(angle) * np.cross(normal, side)
            R = np.column_stack([side, np.cross(-normal, side), -normal])
            touch, _, own = ellipsoid_at(thing_half, back)
            force_n = float(np.exp(rng.uniform(math.log(0.2), math.log(5.0))))
            bench.press(point - R @ touch, normal, force_n, R)
            frame = bench.skin(bench.data)
            wanted = hertz_map(bench, point, normal, bend + R @ own @ R.T, force_n, skin_half)
            errors.append(relative(frame["pad"].ravel(), wanted))
            sums.append(sum_error(frame))
    return np.array(errors), np.array(sums)


def sum_error(frame: TouchFrame) -> float:
    """How far the pads' forces and the bare skin's are from the contacts', as a share."""
    return abs(frame.pad_force_n.sum() + frame.bare_skin_n - frame.contact_n) / frame.contact_n


def fine_map(bench: Bench, window: dict, cells: int = 96) -> FloatArray:
    """Pressure of a pad's taxels [Pa] from a fine grid, with MuJoCo's own rays on meshes."""
    n, e1, e2 = window["normal"], window["e1"], window["e2"]
    hu, hv = WIDER * window["wide_u_m"] / cells, WIDER * window["wide_v_m"] / cells
    u = window["u_m"] + (np.arange(cells) - (cells - 1) / 2) * hu
    v = window["v_m"] + (np.arange(cells) - (cells - 1) / 2) * hv
    U, V = (x.ravel() for x in np.meshgrid(u, v, indexing="ij"))
    q = window["origin"] + U[:, None] * e1 + V[:, None] * e2
    high = FAR_M - _rays(bench, 1, q + FAR_M * n, -n)
    low = _rays(bench, 2, q - FAR_M * n, n) - FAR_M
    gap = np.where(np.isfinite(high) & np.isfinite(low), low - high, np.inf)
    gap -= gap.min()
    total = window["force_n"] / (hu * hv)
    p = converged_pressure(gap * math.pi * MODULUS_PA, influence(cells, hu, hv), total)
    slope_u, slope_v = np.gradient(np.where(np.isfinite(high), high, np.nan).reshape(cells, cells), hu, hv)
    slope_u, slope_v = np.nan_to_num(slope_u).ravel(), np.nan_to_num(slope_v).ravel()
    steeper = np.sqrt(1 + slope_u**2 + slope_v**2)
    pressed = np.flatnonzero(p > 0)
    force = np.zeros(len(bench.skin.area_m2("pad").ravel()))
    for du in (-1 / 3, 0.0, 1 / 3):
        for dv in (-1 / 3, 0.0, 1 / 3):
            rise = high[pressed] + slope_u[pressed] * du * hu + slope_v[pressed] * dv * hv
            points = q[pressed] + du * hu * e1 + dv * hv * e2 + rise[:, None] * n
            owner = _taxel_of(bench, points)
            part = (p * hu * hv * steeper / 9)[pressed]
            force += np.bincount(owner[owner >= 0], part[owner >= 0], minlength=len(force))
    return force / bench.skin.area_m2("pad").ravel()


def _rays(bench: Bench, body: int, points: FloatArray, direction: FloatArray) -> FloatArray:
    """How far along a direction a body's geoms are [m]; infinite for a miss."""
    model, data = bench.model, bench.data
    nearest = np.full(len(points), np.inf)
    for geom in np.flatnonzero(model.geom_bodyid == body):
        mesh = model.geom_type[geom] == mujoco.mjtGeom.mjGEOM_MESH
        for k, point in enumerate(points):
            if mesh:
                t = mujoco.mj_rayMesh(model, data, int(geom), point, direction, None)
            else:
                t = mujoco.mju_rayGeom(
                    data.geom_xpos[geom], data.geom_xmat[geom], model.geom_size[geom], point, direction,
                    int(model.geom_type[geom]), None,
                )  # fmt: skip
            t = t[0] if isinstance(t, tuple) else t
            nearest[k] = min(nearest[k], t) if t >= 0 else nearest[k]
    return nearest


def _taxel_of(bench: Bench, points: FloatArray) -> FloatArray:
    """Number of the taxel of a grid that each point lies on, by distance and by its sides, or -1."""
    centres, out = (x.reshape(-1, 3) for x in bench.skin.taxels("pad"))
    owner = np.argmin(np.linalg.norm(points[:, None] - centres, axis=2), axis=1)
    taxels = bench.skin.spec.pad("pad").points
    if taxels is None:
        raise ValueError("the bench's pad lies on a mesh")
    half, away, rows = np.array(PAD_M) / (ROWS, COLS) / 2, points - centres[owner], taxels.row_axes[owner]
    u, v = (away * rows).sum(axis=1), (away * np.cross(out[owner], rows)).sum(axis=1)
    return np.where((np.abs(u) <= half[0]) & (np.abs(v) <= half[1]), owner, -1)


def mesh_on_mesh(count: int, *, seed: int) -> tuple[FloatArray, FloatArray]:
    """Meshed eggs, edges and corners of meshed boxes on meshed eggs: L2 difference to a fine grid, error of the sum."""
    rng = np.random.default_rng(seed)
    errors, sums = [], []
    for number in range(count):
        skin_half = rng.uniform(0.008, 0.016, 3)
        towards = random_turn(rng)[:, 0]
        point, normal, _ = ellipsoid_at(skin_half, towards)
        pad = GridPad(name="pad", geom="skin", rows=ROWS, cols=COLS, size_m=PAD_M, towards=tuple(towards))
        kind = number % 3
        half = rng.uniform(0.006, 0.014, 3)
        points = (sphere_points(4000) if kind == 0 else box_points()) * half
        looks = np.array(
            [[0.0, 0.0, 1.0], [0.0, 1.0, 1.0], [1.0, 1.0, 1.0]][kind]
        )  # the side, edge or corner that touches
        looks /= np.linalg.norm(looks)
        frame_there = np.column_stack([across(looks), np.cross(looks, across(looks)), looks])
        side = random_turn(rng)[:, 0]
        side -= (side @ normal) * normal
        side /= np.linalg.norm(side)
        R = np.column_stack([side, np.cross(-normal, side), -normal]) @ frame_there.T
        reach = points[np.argmax(points @ looks)]
        if kind == 1:
            reach = np.array([0.0, half[1], half[2]])
        bench = make_bench({"points": sphere_points(4000) * skin_half}, {"points": points}, [pad])
        force_n = float(np.exp(rng.uniform(math.log(0.3), math.log(4.0))))
        bench.press(point - R @ reach, normal, force_n, R)
        frame = bench.skin(bench.data)
        windows = bench.skin.windows()
        if len(windows) != 1 or frame.force_n["pad"] < 0.9 * frame.contact_n:
            continue
        errors.append(relative(frame["pad"].ravel(), fine_map(bench, windows[0])))
        sums.append(sum_error(frame))
    return np.array(errors), np.array(sums)


@dataclass(frozen=True, kw_only=True)
class SkinAccuracy:
    """Presses on meshed skins beside a judge that shares no code with the solver."""

    judge: str
    presses: int
    median: float
    """Relative L2 difference of the taxels' pressures [%]."""
    p99: float
    worst: float
    worst_sum: float
    """Largest error of the sum of forces, as a share."""


def measure_accuracy(*, seed: int = 21, full: bool = True) -> list[SkinAccuracy]:
    """200 presses of eggs against Hertz, 24 of eggs, edges and corners against a fine grid; in brief fewer."""
    hertz = mesh_presses(200 if full else 8, seed=seed, models=20 if full else 4)
    grid = mesh_on_mesh(24 if full else 3, seed=seed)
    return [
        SkinAccuracy(
            judge=judge,
            presses=len(errors),
            median=round(100 * float(np.median(errors)), 2),
            p99=round(100 * float(np.quantile(errors, 0.99)), 2),
            worst=round(100 * float(errors.max()), 2),
            worst_sum=float(sums.max()),
        )
        for judge, (errors, sums) in (("Hertz", hertz), ("fine grid", grid))
    ]


@dataclass(frozen=True, kw_only=True)
class SkinCost:
    """What a skin of twelve fingertips costs, each with a ball on it and 96 taxels."""

    skin: str
    touched_ms: float
    """Of a frame with twelve contacts, windows kept from the frame before."""
    untouched_us: float
    """Of a frame in which nothing touches."""
    attach_s: float
    """Of setting it up."""


EGG_M, LYING = (0.012, 0.009, 0.01), (0.5**0.5, 0.0, 0.5**0.5, 0.0)
TIPS: dict[str, dict[str, Any]] = {
    "mesh": {"type": mujoco.mjtGeom.mjGEOM_MESH, "meshname": "egg"},
    "ellipsoid": {"type": mujoco.mjtGeom.mjGEOM_ELLIPSOID, "size": EGG_M},
    "sphere": {"type": mujoco.mjtGeom.mjGEOM_SPHERE, "size": (0.01, 0.0, 0.0)},
    "capsule": {"type": mujoco.mjtGeom.mjGEOM_CAPSULE, "size": (0.01, 0.01, 0.0), "quat": LYING},
    "box": {"type": mujoco.mjtGeom.mjGEOM_BOX, "size": EGG_M},
}
"""Fingertips whose tops are 10 mm above their middles."""


def measure_cost(tip: str, *, points: int = 3000, rounds: int = 40) -> SkinCost:
    """Twelve balls that rest on twelve fingertips of a kind; the best of some rounds."""
    spec = mujoco.MjSpec()
    spec.option.timestep = 0.001
    spec.add_mesh(name="egg", uservert=(sphere_points(points) * EGG_M).ravel().tolist())
    for k in range(12):
        finger = spec.worldbody.add_body(name=f"finger{k}", pos=[0.05 * k, 0.0, 0.0])
        finger.add_geom(name=f"tip{k}", **TIPS[tip])
        ball = spec.worldbody.add_body(pos=[0.05 * k + 0.0003, 0.0002, 0.018 + 1e-5])
        ball.add_joint(type=mujoco.mjtJoint.mjJNT_SLIDE, axis=[0, 0, 1])
        ball.add_geom(type=mujoco.mjtGeom.mjGEOM_SPHERE, size=[0.008, 0, 0], mass=0.1)
    model = spec.compile()
    pads = [
        GridPad(name=f"pad{k}", geom=f"tip{k}", rows=12, cols=8, size_m=(0.011, 0.008), towards=(0.0, 0.0, 1.0))
        for k in range(12)
    ]
    attach(model, pads[:1])  # compiled code is loaded
    began = time.perf_counter()
    skin = attach(model, pads)
    took = time.perf_counter() - began
    data = mujoco.MjData(model)
    mujoco.mj_forward(model, data)
    untouched = _best_s(skin, data, rounds)
    mujoco.mj_step(model, data, 300)
    if data.ncon != 12:
        raise RuntimeError(f"{data.ncon} contacts instead of 12")
    return SkinCost(
        skin=f"mesh of {points} points" if tip == "mesh" else tip,
        touched_ms=1e3 * _best_s(skin, data, rounds),
        untouched_us=1e6 * untouched,
        attach_s=took,
    )


def _best_s(skin: AttachedSkin, data: mujoco.MjData, rounds: int) -> float:
    best = math.inf
    for _ in range(rounds):
        began = time.process_time()
        for _ in range(5):
            skin(data)
        best = min(best, (time.process_time() - began) / 5)
    return best
