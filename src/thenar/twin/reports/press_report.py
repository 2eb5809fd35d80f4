"""Press an object on a pad with a known force, feel it, and hold the map against theory where there is one."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from thenar.arrays import FloatArray
from thenar.hands.pad_charts import points_on_skin, taxel_grid
from thenar.hands.spec import HandSpec, Pad
from thenar.signals import SolidKind, TouchFrame
from thenar.sim.press import Indenter, Pressed, press
from thenar.touch.hand_touch import HandTouch
from thenar.touch.hertz import hertz_ellipse, punch_pressure
from thenar.touch.sensor.calibration import IDEAL, Calibration
from thenar.touch.solver.collision import HIT, ray_entry
from thenar.touch.solver.influence import reduced_modulus_pa
from thenar.touch.solver.touch_records import NO_FACES
from thenar.touch.solver.window import SMOOTH_GRID

SMOOTH_POINTS, EDGE_POINTS = 16, 60  # a side, when theory is averaged over a taxel
CURVE_STEP_M = 2e-4


@dataclass(frozen=True, kw_only=True, eq=False)
class PadPress:
    """A press and what came of it."""

    frame: TouchFrame
    pressed: Pressed
    windows: list[dict[str, Any]]
    """The windows the solver laid, see `HandTouch.windows`."""
    theory_pa: FloatArray | None
    """Pressure of every taxel of the pad by contact theory [Pa]; None where no formula exists."""
    relative_l2: float
    """Size of the difference to theory over the size of theory; NaN where no formula exists."""


def press_pad(
    hand: HandSpec,
    pad_name: str,
    indenter: Indenter,
    *,
    force_n: float,
    at_m: tuple[float, float] = (0.0, 0.0),
    spin_rad: float = 0.0,
    calibration: Calibration = IDEAL,
    mass_kg: float = 0.05,
    solref: tuple[float, float] | None = None,
    grid: int = SMOOTH_GRID,
    add_sensors: Callable[[Any], None] | None = None,
) -> PadPress:
    """Press on a pad at chart coordinates ``at_m`` (along rows and columns from its centre).

    ``add_sensors`` may add sensors of the engine to the MuJoCo spec; their readings are in `Pressed.sensors`.
    """
    pad = hand.pad(pad_name)
    points, normals = points_on_skin(hand, pad, np.array([at_m[0]]), np.array([at_m[1]]))
    pressed = press(
        hand,
        indenter,
        link=pad.link,
        point_m=points[0],
        normal=normals[0],
        force_n=force_n,
        spin_rad=spin_rad,
        mass_kg=mass_kg,
        solref=solref,
        add_sensors=add_sensors,
    )
    contacts = pressed.contacts
    touch = HandTouch(
        hand, calibration, skin_shapes=pressed.skin_solids, bodies=contacts.solids["body"].astype(np.int64), grid=grid
    )
    frame = touch.solve(contacts)
    own = calibration.pad(pad_name)
    theory = None
    if math.isinf(own.thickness_m) and frame.contact_n > 0.0:
        theory = _theory(hand, pad, pressed, frame.contact_n, reduced_modulus_pa(own.young_pa))
    relative = math.nan
    if theory is not None and np.any(theory > 0.0):
        relative = float(np.linalg.norm(frame[pad_name] - theory) / np.linalg.norm(theory))
    return PadPress(frame=frame, pressed=pressed, windows=touch.windows(), theory_pa=theory, relative_l2=relative)


def _theory(hand: HandSpec, pad: Pad, pressed: Pressed, force_n: float, modulus_pa: float) -> FloatArray | None:
    """Pressure by Hertz (smooth bodies) or under a flat round punch on a flat pad; None for anything else."""
    solids = pressed.contacts.solids
    skin, thing = solids[pressed.touched_solid(pad.link)], solids[pressed.object_solid]
    smooth = (SolidKind.SPHERE, SolidKind.CAPSULE, SolidKind.CYLINDER, SolidKind.ELLIPSOID)
    n = pressed.normal
    along = float(abs(thing["R"][:, 2] @ n))
    if thing["kind"] not in smooth:
        return None
    if thing["kind"] == SolidKind.CYLINDER and along > 1e-6:
        if pad.chart != "face" or along < 1.0 - 1e-4:
            return None
        radius = float(thing["size_m"][0])

        def rim(x: FloatArray, y: FloatArray) -> FloatArray:
            return punch_pressure(force_n, radius, np.hypot(x, y))

        return _on_taxels(hand, pad, pressed, rim, points=EDGE_POINTS)  # pressure at the rim is without bound
    curvatures, axes = _relative_curvature(pressed, skin, thing)
    if not curvatures[0] > 1e-3 * curvatures[1]:  # a line, or an end that is not smooth
        return None
    ellipse = hertz_ellipse(force_n, float(curvatures[0]), float(curvatures[1]), modulus_pa)

    def pressure(x: FloatArray, y: FloatArray) -> FloatArray:
        a, b = x * axes[0, 0] + y * axes[1, 0], x * axes[0, 1] + y * axes[1, 1]
        return ellipse.peak_pa * np.sqrt(np.maximum(1.0 - (a / ellipse.a_m) ** 2 - (b / ellipse.b_m) ** 2, 0.0))

    return _on_taxels(hand, pad, pressed, pressure, points=SMOOTH_POINTS)


def _plane_axes(normal: FloatArray) -> tuple[FloatArray, FloatArray]:
    first = np.eye(3)[int(np.argmin(np.abs(normal)))]
    e1 = first - (first @ normal) * normal
    e1 = e1 / np.linalg.norm(e1)
    return e1, np.asarray(np.cross(normal, e1), dtype=np.float64)


def _relative_curvature(pressed: Pressed, skin: np.void, thing: np.void) -> tuple[FloatArray, FloatArray]:
    """Principal curvatures of the gap [1/m], smaller first, and their directions in the plane of the contact."""
    n, at = pressed.normal, pressed.point_m
    e1, e2 = _plane_axes(n)
    seen = np.zeros(1, dtype=np.int64)
    h = CURVE_STEP_M

    def gap(u: float, v: float) -> float:
        q = at + u * e1 + v * e2
        ends = []
        for solid, sign in ((skin, -1.0), (thing, 1.0)):
            R = solid["R"]
            t = ray_entry(solid, NO_FACES, tuple(R.T @ (q - solid["pos_m"])), tuple(sign * (R.T @ n)), seen)
            ends.append(t if t < HIT else math.nan)
        return ends[0] + ends[1]

    uu = (gap(h, 0) - 2 * gap(0, 0) + gap(-h, 0)) / h**2
    vv = (gap(0, h) - 2 * gap(0, 0) + gap(0, -h)) / h**2
    uv = (gap(h, h) - gap(h, -h) - gap(-h, h) + gap(-h, -h)) / (4 * h**2)
    curvatures, axes = np.linalg.eigh(np.array([[uu, uv], [uv, vv]]))
    return curvatures, axes


def _on_taxels(
    hand: HandSpec,
    pad: Pad,
    pressed: Pressed,
    pressure: Callable[[FloatArray, FloatArray], FloatArray],
    *,
    points: int,
) -> FloatArray:
    """Mean over each taxel of a pressure given over the plane of the contact."""
    u, v = taxel_grid(pad)
    offsets = (np.arange(points) + 0.5) / points - 0.5
    e1, e2 = _plane_axes(pressed.normal)
    body = pressed.contacts.solids[pressed.touched_solid(pad.link)]["body"]
    R, origin = pressed.contacts.body_R[body], pressed.contacts.body_pos_m[body]
    total = np.zeros(u.shape)
    across = v + (offsets * pad.col_pitch_m)[:, None, None]
    for du in offsets * pad.row_pitch_m:
        places, normals = points_on_skin(hand, pad, np.broadcast_to(u + du, across.shape), across)
        away = places @ R.T + origin - pressed.point_m
        facing = (normals @ R.T) @ pressed.normal > 0.0
        total += np.where(facing, pressure(away @ e1, away @ e2), 0.0).sum(axis=0)
    return total / points**2
