"""A press on a bench: a hand held still, and one object pushed onto its skin with a known force."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

import mujoco
import numpy as np

from thenar.arrays import FloatArray
from thenar.errors import BadValue
from thenar.hands import build_spec
from thenar.hands.rotations import quat_wxyz_from_matrix
from thenar.hands.spec import HandSpec
from thenar.signals import SolidContacts
from thenar.sim.building import add_prop_geom
from thenar.sim.contacts import SolidReader
from thenar.sim.props import Box, Capsule, Cylinder, Ellipsoid, Mesh, Prop, Sphere

SETTLE_STEPS = 2000
TIMESTEP_S = 0.001
_KINDS = "sphere:R, cylinder:R[:L], punch:R, capsule:R[:L], box:EDGE[:face|edge|corner], ellipsoid:A,B,C, mesh:FILE"


Rotation = tuple[tuple[float, float, float], ...]
UPRIGHT: Rotation = ((1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0))
LYING: Rotation = ((0.0, 0.0, 1.0), (1.0, 0.0, 0.0), (0.0, 1.0, 0.0))
_H, _T, _S = math.sqrt(1 / 2), math.sqrt(1 / 3), math.sqrt(1 / 6)
BOX_SIDES: dict[str, Rotation] = {
    "face": UPRIGHT,
    "edge": ((1.0, 0.0, 0.0), (0.0, _H, -_H), (0.0, _H, _H)),
    "corner": ((_H, -_H, 0.0), (_S, _S, -2 * _S), (_T, _T, _T)),  # the box's diagonal becomes the normal
}


@dataclass(frozen=True, kw_only=True)
class Indenter:
    """An object and the side it is pressed on with."""

    prop: Prop
    R: Rotation = UPRIGHT
    """Orientation of the object in a frame whose z is the skin's outward normal."""
    flat: bool = False
    """True: a flat side is pressed on and may lean, so that it bears evenly."""


def parse_indenter(text: str) -> Indenter:
    """An indenter from text such as ``sphere:10mm``, ``box:20mm:edge`` or ``ellipsoid:8mm,10mm,15mm``."""
    kind, *rest = text.split(":")
    if kind == "mesh" and rest:
        return Indenter(prop=Mesh(file=Path(":".join(rest))))
    try:
        sizes = [_length_m(part) for part in rest[0].split(",")] if rest else []
        match kind, sizes, rest[1:]:
            case "sphere", [radius], []:
                return Indenter(prop=Sphere(radius_m=radius))
            case "ellipsoid", [a, b, c], []:
                return Indenter(prop=Ellipsoid(radii_m=(a, b, c)))
            case "cylinder" | "capsule", [radius], [] | [_] as second:
                shape = Cylinder if kind == "cylinder" else Capsule
                length_m = _length_m(second[0]) if second else 0.04
                return Indenter(prop=shape(radius_m=radius, length_m=length_m), R=LYING)
            case "punch", [radius], []:
                return Indenter(prop=Cylinder(radius_m=radius, length_m=0.02), flat=True)
            case "box", [edge], [] | [_] as second:
                return Indenter(prop=Box(size_m=(edge, edge, edge)), R=BOX_SIDES[second[0] if second else "face"])
    except (ValueError, KeyError):
        pass
    raise BadValue("object", text, f"one of {_KINDS}")


def _length_m(text: str) -> float:
    for unit, factor in (("mm", 1e-3), ("cm", 1e-2), ("m", 1.0)):
        if text.endswith(unit):
            return float(text.removesuffix(unit)) * factor
    raise ValueError(text)


@dataclass(frozen=True, kw_only=True, eq=False)
class Pressed:
    """Result of a press."""

    contacts: SolidContacts
    skin_solids: dict[str, tuple[int, ...]]
    """Numbers of the solids that are each link's skin."""
    object_solid: int
    point_m: FloatArray
    """Where the object was put, in the world [m]."""
    normal: FloatArray
    """The skin's outward normal there, in the world."""
    sensors: dict[str, FloatArray]
    """Readings of the sensors that were added, by name."""

    def touched_solid(self, link: str) -> int:
        """The solid of a link's skin that the object touches; the first one where it touches none."""
        in_contact = set(self.contacts.pair[np.any(self.contacts.pair == self.object_solid, axis=1)].ravel().tolist())
        return next((solid for solid in self.skin_solids[link] if solid in in_contact), self.skin_solids[link][0])


def press(
    hand: HandSpec,
    indenter: Indenter,
    *,
    link: str,
    point_m: FloatArray,
    normal: FloatArray,
    force_n: float,
    spin_rad: float = 0.0,
    mass_kg: float = 0.05,
    solref: tuple[float, float] | None = None,
    add_sensors: Callable[[mujoco.MjSpec], None] | None = None,
) -> Pressed:
    """Press an object onto a link's skin, along the normal and with exactly this force, until all is still.

    Args:
        hand: The hand; its joints are locked at zero.
        indenter: What to press with.
        link: The link to press on.
        point_m: Where, on its skin, in the link's frame [m].
        normal: The skin's outward normal there, in the link's frame.
        force_n: How hard [N].
        spin_rad: Turn of the object about the normal [rad].
        mass_kg: Mass of the object; the answer must not depend on it.
        solref: Softness of the engine's contact; the answer must not depend on it either.
        add_sensors: Adds sensors of the engine to the spec before it is compiled.
    """
    if not (math.isfinite(force_n) and force_n > 0.0):
        raise BadValue("force", force_n, "newtons above 0")
    if hand.own_model is not None:
        raise BadValue("hand", hand.name, "a hand of the catalogue; your own model is felt in a thenar.World")
    spec, at_wl, R_wl = rigid_hand(hand, link, timestep_s=TIMESTEP_S)
    at, out = at_wl + R_wl @ point_m, R_wl @ normal
    R = _frame(out, R_wl[:, 0], spin_rad) @ np.array(indenter.R)
    # Friction on a leaning object would carry a moment.
    friction = 0.0 if indenter.flat else indenter.prop.friction
    prop = replace(indenter.prop, name="indenter", mass_kg=mass_kg, friction=friction)
    pushed = spec.worldbody.add_body(name="indenter", quat=list(quat_wxyz_from_matrix(R)))
    pushed.add_joint(
        name="push", type=mujoco.mjtJoint.mjJNT_SLIDE, axis=list(-(R.T @ out)), damping=[40.0 * mass_kg, 0, 0]
    )
    if indenter.flat:
        tangents = _frame(out, R_wl[:, 0], 0.0)
        for k in range(2):
            pushed.add_joint(
                name=f"lean_{k}",
                type=mujoco.mjtJoint.mjJNT_HINGE,
                axis=list(R.T @ tangents[:, k]),
                damping=[1e-3, 0, 0],
                armature=1e-5,
            )
    for other in hand.links:
        if other.name != link:  # a large object may reach over its neighbours; only this link is pressed
            spec.add_exclude(bodyname1="indenter", bodyname2=other.name)
    shapes = add_prop_geom(spec, pushed, prop)
    if solref is not None:
        for shape in shapes:
            shape.solref = list(solref)
    if add_sensors is not None:
        add_sensors(spec)
    # First at the point itself, to learn how far the object reaches towards the skin.
    pushed.pos = list(at)
    model = spec.compile()
    data = mujoco.MjData(model)
    mujoco.mj_kinematics(model, data)
    reach = _reach(model, data, out, at)
    push = model.joint("push")
    data.qpos[push.qposadr[0]] = -(reach + 1e-5)
    data.qfrc_applied[push.dofadr[0]] = force_n
    mujoco.mj_step(model, data, SETTLE_STEPS)
    reader = SolidReader(model)
    skins = {link.name: tuple(model.geom(name).id for name in link.skin_names) for link in hand.links if link.skins}
    return Pressed(
        contacts=reader.read(data, stamp_s=0.0),
        skin_solids=skins,
        object_solid=int(model.body("indenter").geomadr[0]),
        point_m=at,
        normal=out,
        sensors={model.sensor(k).name: data.sensor(k).data.copy() for k in range(model.nsensor)},
    )


def rigid_hand(hand: HandSpec, link: str, *, timestep_s: float) -> tuple[mujoco.MjSpec, FloatArray, FloatArray]:
    """A hand without joints and weight, to press on: its spec, and place [m] and matrix of a link in the world."""
    plain = replace(hand, links=tuple(replace(x, visuals=()) for x in hand.links))  # visuals only cost time
    spec = build_spec(plain)
    for element in (*spec.actuators, *spec.equalities, *spec.tendons, *spec.joints):
        spec.delete(element)
    spec.option.timestep = timestep_s
    spec.option.gravity = [0.0, 0.0, 0.0]
    spec.option.cone = mujoco.mjtCone.mjCONE_ELLIPTIC
    spec.option.integrator = mujoco.mjtIntegrator.mjINT_IMPLICITFAST
    still = spec.copy().compile()
    data = mujoco.MjData(still)
    mujoco.mj_kinematics(still, data)
    body = data.body(link)
    return spec, body.xpos.copy(), body.xmat.reshape(3, 3).copy()


def _frame(z: FloatArray, towards: FloatArray, spin_rad: float) -> FloatArray:
    """A frame with this z, its x as near as possible to ``towards``, turned about z."""
    x = towards - (towards @ z) * z
    if np.linalg.norm(x) < 1e-6:
        x = np.eye(3)[int(np.argmin(np.abs(z)))]
        x = x - (x @ z) * z
    x = x / np.linalg.norm(x)
    y = np.cross(z, x)
    return np.column_stack(
        [math.cos(spin_rad) * x + math.sin(spin_rad) * y, math.cos(spin_rad) * y - math.sin(spin_rad) * x, z]
    )


def _reach(model: mujoco.MjModel, data: mujoco.MjData, out: FloatArray, at: FloatArray) -> float:
    """How far the object, with its origin on the skin, reaches below it along the normal [m]."""
    body = model.body("indenter")
    return max(_geom_reach(model, data, body.geomadr[0] + k, out, at) for k in range(body.geomnum[0]))


def _geom_reach(model: mujoco.MjModel, data: mujoco.MjData, geom: int, out: FloatArray, at: FloatArray) -> float:
    R, size = data.geom_xmat[geom].reshape(3, 3), model.geom_size[geom]
    way = R.T @ out
    centre = (data.geom_xpos[geom] - at) @ out
    kinds = mujoco.mjtGeom
    match mujoco.mjtGeom(model.geom_type[geom]):
        case kinds.mjGEOM_SPHERE:
            down = size[0]
        case kinds.mjGEOM_CAPSULE:
            down = size[0] + size[1] * abs(way[2])
        case kinds.mjGEOM_CYLINDER:
            down = size[0] * math.hypot(way[0], way[1]) + size[1] * abs(way[2])
        case kinds.mjGEOM_BOX:
            down = float(np.abs(way) @ size)
        case kinds.mjGEOM_ELLIPSOID:
            down = float(np.linalg.norm(way * size))
        case _:
            mesh = model.geom_dataid[geom]
            first = model.mesh_vertadr[mesh]
            vertices = model.mesh_vert[first : first + model.mesh_vertnum[mesh]]
            down = float(-(vertices @ way).min())
    return down - centre
