"""Hands, props and surroundings into one compiled MuJoCo model."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

import mujoco
import numpy as np
from numpy.typing import NDArray

from thenar.errors import BadFile, BadValue
from thenar.hands import build_spec
from thenar.hands.build import CONTACT_SOLIMP, CONTACT_SOLREF
from thenar.hands.rotations import matrix_from_rpy, quat_wxyz_from_matrix, quat_wxyz_from_rpy
from thenar.hands.spec import HandSpec
from thenar.sim.decompose import convex_pieces, load_mesh
from thenar.sim.props import Box, Capsule, Cylinder, Ellipsoid, Mesh, Prop, Sphere
from thenar.sim.scenes import Mount, Scene
from thenar.sim.world_config import Flange, WorldConfig

GROUND, TABLE = "ground", "table"
MOUNT_MASS_KG = 0.05  # the flange a driven wrist moves
# How much harder friction is than the normal direction. At the engine's 1 a held ball creeps 13 mm in 17 s and the grip
# loses its force; here it creeps micrometres in a minute. It costs the solver's work on contacts that slip; at 1e6 it
# sometimes does not converge, and engines in float32 break from 1e5 on, see "Holding things" in docs/motors.md.
FRICTION_IMPEDANCE_RATIO = 3e5
ROBOT_IMPEDANCE_RATIO = 1e3  # where a robot falls on the ground; harder, the solver stops short of forces that act

# How exactly the places of contacts are found. At the engine's 1e-6 the point on which an egg stands wanders by
# micrometres, and it rocks for ever.
CONTACT_TOLERANCE_M = 1e-10


def root_pose(hand: HandSpec, mount: Mount) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Position [m] and matrix of a hand's root link that put its palm frame where the mount says."""
    R_wp = matrix_from_rpy(mount.rpy_rad)
    R_rp = matrix_from_rpy(hand.palm.rpy_rad)
    R_wr = R_wp @ R_rp.T
    return np.asarray(mount.pos_m) - R_wr @ np.asarray(hand.palm.pos_m), R_wr


def name_props(props: Iterable[Prop], hands: Iterable[str]) -> tuple[Prop, ...]:
    """Give every prop a name of its own, which is no hand's: contacts are a hand's by the name of their bodies."""
    named: list[Prop] = []
    taken: set[str] = {GROUND, TABLE, *hands}
    for prop in props:
        name = prop.name or type(prop).__name__.lower()
        if prop.name in taken:
            raise BadValue("name of a prop", prop.name, f"a name not used yet (taken: {', '.join(sorted(taken))})")
        if "/" in name or name == "world":
            raise BadValue("name of a prop", name, "a name other than 'world', without '/'")
        number, free = 2, name
        while free in taken:
            free, number = f"{name}_{number}", number + 1
        taken.add(free)
        named.append(replace(prop, name=free))
    return tuple(named)


def compile_model(config: WorldConfig) -> mujoco.MjModel:
    """The whole world as one model. Bodies of a hand are called ``hand/link``."""
    spec = mujoco.MjSpec() if config.robot is None else config.robot.spec.copy()
    spec.compiler.degree = False
    spec.modelname = "thenar"
    spec.option.timestep = config.timestep_s
    # The one integrator that solves constraints and stiff dampers together: with implicitfast a finger that slips
    # off an object opened its coupling by up to 8 degrees, here by 0.03.
    spec.option.integrator = mujoco.mjtIntegrator.mjINT_DISCRETE
    spec.option.cone = mujoco.mjtCone.mjCONE_ELLIPTIC
    spec.option.impratio = FRICTION_IMPEDANCE_RATIO if config.robot is None else ROBOT_IMPEDANCE_RATIO
    # From 60 degrees of freedom on the engine would choose sparse matrices, with which its Newton solver often stops
    # short of the answer on these models, silently.
    spec.option.jacobian = mujoco.mjtJacobian.mjJAC_DENSE
    spec.option.ccd_tolerance = CONTACT_TOLERANCE_M
    # A simulation that breaks must be seen, not silently started again.
    spec.option.disableflags |= mujoco.mjtDisableBit.mjDSBL_AUTORESET
    _add_surroundings(spec, config.scene)
    props = name_props((*config.scene.props, *config.props), config.specs)
    for prop in props:
        add_prop(spec, prop)
    for name, hand in config.specs.items():
        if config.robot is not None:
            _attach_hand(spec, hand, config.robot.flanges[name])
        else:
            _add_hand(spec, hand, config.hand_mounts[name])
    try:
        return spec.compile()
    except ValueError as error:
        names = ", ".join((*config.specs, *(prop.name for prop in props)))
        raise BadValue(
            "world", names, f"hands and objects that MuJoCo can compile: {' '.join(str(error).split())}"
        ) from error


def _check_closed(prop: Mesh, triangles: NDArray[np.float64]) -> None:
    """Refuse a mesh with holes: every edge must belong to two triangles."""
    _, same = np.unique(np.round(triangles.reshape(-1, 3), 8), axis=0, return_inverse=True)
    faces = same.reshape(-1, 3)
    edges = np.sort(np.concatenate([faces[:, [0, 1]], faces[:, [1, 2]], faces[:, [2, 0]]]), axis=1)
    edges = edges[edges[:, 0] != edges[:, 1]]
    _, shared = np.unique(edges, axis=0, return_counts=True)
    if np.any(shared % 2 == 1):
        raise BadFile(prop.file, f"has holes: {int(np.sum(shared % 2 == 1))} edges belong to one triangle only")


def _add_surroundings(spec: mujoco.MjSpec, scene: Scene) -> None:
    spec.visual.global_.offwidth, spec.visual.global_.offheight = 1920, 1440
    spec.visual.headlight.ambient = [0.36, 0.36, 0.36]
    spec.visual.headlight.diffuse = [0.34, 0.34, 0.34]
    spec.visual.headlight.specular = [0.15, 0.15, 0.15]
    spec.visual.quality.shadowsize = 4096
    spec.visual.map.znear = 0.01
    spec.visual.map.shadowclip = 2.0
    spec.visual.rgba.haze = [0.80, 0.84, 0.89, 1.0]
    spec.stat.extent = 0.6
    spec.add_texture(
        name="sky",
        type=mujoco.mjtTexture.mjTEXTURE_SKYBOX,
        builtin=mujoco.mjtBuiltin.mjBUILTIN_GRADIENT,
        rgb1=[0.97, 0.98, 1.0],
        rgb2=[0.74, 0.79, 0.85],
        width=128,
        height=128 * 6,
    )
    for pos, diffuse, shadow in (([1.4, -1.0, 2.4], 0.55, True), ([-0.8, 0.6, 0.9], 0.22, False)):
        direction = -np.asarray(pos) / np.linalg.norm(pos)
        spec.worldbody.add_light(
            type=mujoco.mjtLightType.mjLIGHT_DIRECTIONAL,
            pos=pos,
            dir=direction.tolist(),
            diffuse=[diffuse] * 3,
            specular=[0.2] * 3,
            castshadow=shadow,
        )
    spec.worldbody.add_geom(
        name=GROUND,
        type=mujoco.mjtGeom.mjGEOM_PLANE,
        size=[0, 0, 0.05],  # without end
        pos=[0.0, 0.0, scene.ground_m],
        rgba=[0.78, 0.81, 0.85, 1.0],
        solref=CONTACT_SOLREF,
        solimp=CONTACT_SOLIMP,
    )
    if scene.table_m is not None:
        half = (0.45, 0.35, 0.02)
        spec.worldbody.add_geom(
            name=TABLE,
            type=mujoco.mjtGeom.mjGEOM_BOX,
            size=list(half),
            pos=[0.0, 0.08, scene.table_m - half[2]],
            rgba=[0.72, 0.58, 0.44, 1.0],
            solref=CONTACT_SOLREF,
            solimp=CONTACT_SOLIMP,
        )


def add_prop(spec: mujoco.MjSpec, prop: Prop) -> None:
    """An object of its own in the world."""
    body = spec.worldbody.add_body(name=prop.name, pos=list(prop.pos_m), quat=list(quat_wxyz_from_rpy(prop.rpy_rad)))
    if not prop.fixed:
        body.add_freejoint(name=prop.name)
    add_prop_geom(spec, body, prop)


def add_prop_geom(spec: mujoco.MjSpec, body: mujoco.MjsBody, prop: Prop) -> list[mujoco.MjsGeom]:
    """Give a body the shape, mass and surface of a prop; a mesh that is not convex becomes several pieces."""
    if isinstance(prop, Mesh):
        return _add_mesh(spec, body, prop)
    geoms = mujoco.mjtGeom
    match prop:
        case Sphere():
            kind, size = geoms.mjGEOM_SPHERE, [prop.radius_m, 0, 0]
        case Box():
            kind, size = geoms.mjGEOM_BOX, [edge / 2 for edge in prop.size_m]
        case Cylinder():
            kind, size = geoms.mjGEOM_CYLINDER, [prop.radius_m, prop.length_m / 2, 0]
        case Capsule():
            kind, size = geoms.mjGEOM_CAPSULE, [prop.radius_m, prop.length_m / 2, 0]
        case Ellipsoid():
            kind, size = geoms.mjGEOM_ELLIPSOID, list(prop.radii_m)
    return [_surface(body.add_geom(name=prop.name, type=kind, size=size, mass=prop.mass_kg), prop)]


def _surface(geom: mujoco.MjsGeom, prop: Prop) -> mujoco.MjsGeom:
    geom.rgba = [*prop.colour, 1.0]
    geom.friction = [prop.friction, 0.005, 0.0001]
    geom.solref, geom.solimp = CONTACT_SOLREF, CONTACT_SOLIMP
    geom.condim = 4
    geom.priority = 1  # its own friction counts, not the larger of two
    return geom


def _add_mesh(spec: mujoco.MjSpec, body: mujoco.MjsBody, prop: Mesh) -> list[mujoco.MjsGeom]:
    try:
        triangles = load_mesh(str(Path(prop.file).resolve()), prop.scale)
        _check_closed(prop, triangles)
        pieces = convex_pieces(triangles)
    except ValueError as error:
        if isinstance(error, BadFile):
            raise
        raise BadFile(prop.file, f"not a usable mesh: {error}") from error
    # Boxes around the pieces share the mass: the pieces of one object are of one stuff.
    sizes = np.array([np.prod(np.ptp(points, axis=0)) for points in pieces])
    made = []
    for number, (points, share) in enumerate(zip(pieces, sizes / sizes.sum(), strict=True)):
        name = prop.name if len(pieces) == 1 else f"{prop.name}/{number}"
        spec.add_mesh(name=name, uservert=points.ravel().tolist(), inertia=mujoco.mjtMeshInertia.mjMESH_INERTIA_CONVEX)
        geom = body.add_geom(
            name=name, type=mujoco.mjtGeom.mjGEOM_MESH, meshname=name, mass=prop.mass_kg * float(share)
        )
        made.append(_surface(geom, prop))
    return made


def _add_hand(spec: mujoco.MjSpec, hand: HandSpec, mount: Mount) -> None:
    child = build_spec(hand)
    pos, R = root_pose(hand, mount)
    quat = quat_wxyz_from_matrix(R)
    if not mount.driven:
        spec.attach(child, prefix=f"{hand.name}/", frame=spec.worldbody.add_frame(pos=list(pos), quat=list(quat)))
        return
    mount_name = f"{hand.name}/mount"
    body = spec.worldbody.add_body(name=mount_name, pos=list(pos), quat=list(quat))
    body.add_freejoint(name=mount_name)
    body.explicitinertial = True
    body.mass = MOUNT_MASS_KG
    body.inertia = [2e-5] * 3
    spec.attach(child, prefix=f"{hand.name}/", frame=body.add_frame())


def _attach_hand(spec: mujoco.MjSpec, hand: HandSpec, flange: Flange) -> None:
    frame = spec.body(flange.body).add_frame(pos=list(flange.pos_m), quat=list(flange.quat_wxyz))
    spec.attach(build_spec(hand), prefix=f"{hand.name}/", frame=frame)
    # The arm's end reaches into the hand's root, and that into the wrist.
    holder = spec.body(flange.body)
    while holder.name:
        spec.add_exclude(bodyname1=holder.name, bodyname2=f"{hand.name}/{hand.root}")
        if holder.joints:
            break
        holder = holder.parent
