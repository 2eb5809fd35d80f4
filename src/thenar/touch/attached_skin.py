"""Touch for any MuJoCo model and any stepping loop.

::

    skin = thenar.touch.attach(model, [thenar.GridPad(name="tip", geom="tip", rows=12, cols=8, ...)])
    ...
    mujoco.mj_step(model, data)
    frame = skin(data)                 # a TouchFrame: frame["tip"] in pascal, frame.shear["tip"], frame.slip["tip"]
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from thenar.arrays import BoolArray, FloatArray
from thenar.errors import BadValue, UnknownName
from thenar.hands.pad_charts import taxel_points
from thenar.hands.spec import Link, SkinSpec
from thenar.signals import SolidKind, TouchFrame
from thenar.sim.contacts import SolidReader, hull_triangles
from thenar.touch.geom_pads import GeomName, GeomPad, check_pads
from thenar.touch.hand_touch import HandTouch
from thenar.touch.lay_pads import check_overlaps, lay_pad
from thenar.touch.sampled_skin import SampledSkin
from thenar.touch.sensor.calibration import IDEAL, Calibration, load_calibration
from thenar.touch.sensor.presets import SENSORS
from thenar.touch.sensor.proximity import Proximity
from thenar.touch.solver.pads import taxel_areas_m2
from thenar.touch.solver.touch_records import Faces
from thenar.touch.surfaces import Surface, primitive_triangles

SKINNED = {
    *(SolidKind.SPHERE, SolidKind.CAPSULE, SolidKind.CYLINDER),
    *(SolidKind.BOX, SolidKind.ELLIPSOID, SolidKind.HULL),
}


class AttachedSkin:
    """Touch of the pads on a model; called with the state after a step it gives the frame of that instant."""

    def __init__(self, model: Any, pads: Sequence[GeomPad], calibration: Calibration | str | Path, *, seed: int):
        """Lay the pads onto the model's geoms; what does not fit is refused by name."""
        check_pads(pads)
        self._reader = SolidReader(model)
        surfaces = surfaces_under(model, self._reader, pads)
        laid = tuple(lay_pad(pad, surfaces[pad.name]) for pad in pads)
        kinds = {surface.name: surface for surface in surfaces.values()}
        self.spec = SkinSpec(
            links=tuple(
                Link(name=name, mass_kg=0.0, skin=one.shape, source="the model") for name, one in kinds.items()
            ),
            pads=laid,
        )
        """The pads as they were laid."""
        if isinstance(calibration, str) and calibration in SENSORS:
            calibration = _preset(calibration, pads)
        elif not isinstance(calibration, Calibration):
            if not Path(calibration).suffix:
                raise UnknownName("sensor", str(calibration), SENSORS)
            calibration = load_calibration(Path(calibration), self.spec)
        shapes = {name: one.shapes for name, one in kinds.items()}
        self._touch = HandTouch(
            self.spec,
            calibration,
            skin_shapes=shapes,
            bodies=self._reader.bodies,
            pieces=[one.shapes for one in kinds.values() if len(one.shapes) > 1],
            seed=seed,
        )
        check_overlaps(self.spec, self._touch.laid)
        self._proximity = Proximity(model, self.spec, shapes)
        self._skin = SampledSkin(self._touch, calibration, self._proximity)
        self._now_s = -np.inf

    def __call__(self, data: Any) -> TouchFrame:
        """What the skin feels in a state after ``mj_step`` or ``mj_forward``; a sensor with a rate keeps it."""
        now_s = float(data.time)
        if now_s < self._now_s:  # the simulation was put back
            self.forget()
        self._now_s = now_s
        due_s = self._skin.next_s  # infinite before the first reading, and of a skin without a rate
        if now_s < due_s - 1e-9 and np.isfinite(due_s):
            return self._skin.delivered(now_s)
        wanted = bool(self._proximity) or (data.ncon > 0 and self._touch.is_touched(data.contact.geom))
        frame = self._skin.sample(self._reader.read(data, stamp_s=now_s) if wanted else None, now_s)[1]
        if 1e-9 < now_s - due_s < self._skin.period_s:  # steps that do not divide the period do not make it longer
            self._skin.next_s = due_s + self._skin.period_s
        return frame

    def forget(self) -> None:
        """Start anew: no window, no friction and no reading is remembered."""
        self._skin.forget()
        self._now_s = -np.inf

    def windows(self) -> list[dict[str, Any]]:
        """How the last frame was solved, see `HandTouch.windows`."""
        return self._skin.windows()

    def kill(self, pad: str, row: int, col: int, *, dead: bool = True) -> None:
        """Break or mend one taxel: a broken one reads its offset whatever presses."""
        self._skin.break_taxel(pad, row, col, fault="dead" if dead else "")

    @property
    def dead(self) -> BoolArray:
        """Which taxels are broken. Shape (taxels,)."""
        return self._skin.broken

    def taxels(self, pad: str) -> tuple[FloatArray, FloatArray]:
        """Centres [m] and outward normals of a pad's taxels in the frame of its body. Shapes (rows, cols, 3)."""
        return taxel_points(self.spec, self.spec.pad(pad))

    def area_m2(self, pad: str) -> FloatArray:
        """Area of each taxel on the surface [m^2]. Shape (rows, cols)."""
        return taxel_areas_m2(self.spec, self.spec.pad(pad))


def attach(
    model: Any, pads: Sequence[GeomPad], *, calibration: Calibration | str | Path = IDEAL, seed: int = 0
) -> AttachedSkin:
    """Give a model a tactile skin.

    Args:
        model: An ``MjModel``, or an ``MjSpec`` that is compiled for it.
        pads: `GridPad`, `TaxelPad` or `CoverPad`, on geoms that collide.
        calibration: What skin and sensor are like: the name of a preset (``"paxini"``), a TOML file, or ideal.
        seed: Of the sensor's noise.

    Returns:
        A function of an ``MjData``: ``frame = skin(data)`` after every step, or whenever it is wanted.
    """
    if hasattr(model, "compile"):
        model = model.compile()
    return AttachedSkin(model, pads, calibration, seed=seed)


def _preset(name: str, pads: Sequence[GeomPad]) -> Calibration:
    """A sensor by name; one that pads have no place for is refused."""
    kind = "barometer" if name == "takktile" else "force"
    if name != "ideal" and (other := [pad.name for pad in pads if pad.sensor != kind]):
        raise BadValue(f"calibration of pad {other[0]!r}", name, f"pads with sensor={kind!r} for it, or another preset")
    return SENSORS[name]


def surfaces_under(model: Any, reader: SolidReader, pads: Sequence[GeomPad]) -> dict[str, Surface]:
    """The surface under each pad, by the pad's name; pads whose geoms meet have one surface."""
    named = {model.geom(k).name or f"geom {k}": k for k in range(model.ngeom)}
    wanted = {pad.name: _geoms(model, reader, pad, named) for pad in pads}
    merged: list[set[int]] = []
    for geoms in wanted.values():
        together = [one for one in merged if one & geoms]
        merged = [one for one in merged if not one & geoms] + [geoms.union(*together)]
    solids, faces = reader.in_bodies(model)
    found = {}
    for geoms in merged:
        shapes = tuple(sorted(geoms))
        names = [model.geom(k).name or f"geom {k}" for k in shapes]
        surface = Surface(
            name="+".join(names),
            shapes=shapes,
            solids=solids[list(shapes)],
            faces=Faces(*faces),
            triangles=np.concatenate([_triangles(model, solids[k], k) for k in shapes]),
        )
        found |= {pad: surface for pad, own in wanted.items() if own <= geoms}
    return found


def _geoms(model: Any, reader: SolidReader, pad: GeomPad, named: dict[str, int]) -> set[int]:
    """Numbers of the geoms that a pad lies on."""
    bodies = reader.bodies
    found: set[int] = set()
    for geom in pad.geom if isinstance(pad.geom, tuple) else (pad.geom,):
        found |= _find_geoms(model, bodies, geom, named, pad.name)
    for geom in found:
        if bodies[geom] < 0:
            raise BadValue(f"geom of pad {pad.name!r}", model.geom(geom).name, "one that collides")
        if reader.kind(geom) not in SKINNED:
            wanted = "a sphere, capsule, cylinder, ellipsoid, box or mesh"
            raise BadValue(f"geom of pad {pad.name!r}", model.geom(geom).name, wanted)
    if len({int(bodies[geom]) for geom in found}) > 1:
        raise BadValue(f"geom of pad {pad.name!r}", pad.geom, "geoms of one body")
    return found


def _find_geoms(model: Any, bodies: Any, geom: GeomName, named: dict[str, int], pad: str) -> set[int]:
    if isinstance(geom, str) and geom in named:
        return {named[geom]}
    if isinstance(geom, (int, np.integer)) and 0 <= geom < model.ngeom:
        return {int(geom)}
    of_body = {model.body(k).name: k for k in range(model.nbody)}
    if isinstance(geom, str) and geom in of_body:
        colliding = set(np.flatnonzero(bodies == of_body[geom]).tolist())
        if colliding:
            return colliding
    raise UnknownName(f"geom of pad {pad!r}", str(geom), named)


def _triangles(model: Any, solid: np.void, geom: int) -> FloatArray:
    if solid["kind"] != SolidKind.HULL:
        return primitive_triangles(solid)
    vertices, faces = hull_triangles(model, int(model.geom_dataid[geom]))
    corners = vertices[faces]
    # Outward, whichever way the engine winds them.
    out = np.einsum(
        "tx,tx->t",
        np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0]),
        corners.mean(axis=1) - vertices[np.unique(faces)].mean(axis=0),
    )
    corners[out < 0.0] = corners[out < 0.0][:, ::-1]
    return corners @ solid["R"].T + solid["pos_m"]
