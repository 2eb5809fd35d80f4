"""What a URDF or MJCF file says of a hand: links, joints, shapes, couplings and tendons, in a spec's own words.

Links that are fixed to each other become one. MuJoCo reads the file; `read_urdf` helps it with a URDF.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import mujoco
import numpy as np

from thenar.arrays import FloatArray
from thenar.errors import BadFile
from thenar.hands.build import check_finite
from thenar.hands.rotations import matrix_about, matrix_from_quat_wxyz, rpy_from_matrix
from thenar.hands.shapes import Box, Capsule, Cylinder, Ellipsoid, Hull, Shape, Sphere, Vec3, as_vec3, hull_around
from thenar.hands.spec import Coupling, Joint, Link, Tendon
from thenar.hands.urdf_file import read_urdf

POSTURES, OFTEN = 200, 0.3  # links that meet in more of random postures than this touch by construction


@dataclass(frozen=True, kw_only=True, eq=False)
class Place:
    """Where a body of the file is: the link it became part of, and its pose in it."""

    link: str
    R: FloatArray
    pos_m: FloatArray

    def point(self, point_m: FloatArray) -> FloatArray:
        """A point of the body in the link."""
        return self.pos_m + self.R @ point_m


@dataclass(kw_only=True, eq=False)
class FileParts:
    """Links and joints, while the tree is walked."""

    places: dict[int, Place] = field(default_factory=dict)
    """By body."""
    joints: list[Joint] = field(default_factory=list)
    masses: dict[str, list[tuple[float, FloatArray, FloatArray]]] = field(default_factory=dict)
    """Mass, centre and inertia of the bodies that make up a link."""
    shapes: dict[str, list[Shape]] = field(default_factory=dict)


def read_model(path: Path) -> tuple[mujoco.MjSpec, dict[str, float]]:
    """The model, and top speeds of joints where the file has them [rad/s]."""
    urdf = read_urdf(path)
    try:
        spec = mujoco.MjSpec.from_string(urdf[0]) if urdf else mujoco.MjSpec.from_file(str(path))
    except ValueError as error:  # not XML, or not a model
        raise BadFile(path, f"not a URDF or MJCF that MuJoCo can read: {error}") from None
    for body in spec.bodies:  # the least mass and inertia below would hide it
        if body.explicitinertial and (body.mass < 0.0 or min(body.inertia) < 0.0):
            raise BadFile(path, f"link {body.name!r} has a mass or an inertia below 0")
    for joint in spec.joints:  # MuJoCo takes them for no limits
        if joint.range[0] > joint.range[1]:
            raise BadFile(path, f"joint {joint.name!r} has its lower limit above its upper one")
    for number, joint in enumerate(spec.joints):
        joint.name = joint.name or f"unnamed_joint_{number}"
    return spec, urdf[1] if urdf else {}


def compile_model(path: Path, spec: mujoco.MjSpec) -> mujoco.MjModel:
    """The model of a file, also where it is less tidy than MuJoCo likes."""
    spec.compiler.fusestatic = False  # fingertips are often links of their own
    spec.compiler.boundmass, spec.compiler.boundinertia = 1e-6, 1e-10  # marks without mass are common
    spec.compiler.balanceinertia = True
    try:
        model = spec.compile()
    except ValueError as error:
        raise BadFile(path, f"not a model MuJoCo can build: {error}") from None
    check_finite(path, model)
    return model


def walk(path: Path, model: mujoco.MjModel, root: int) -> FileParts:
    """Links, joints and shapes of everything that hangs on a body."""
    parts = FileParts()
    for body in range(root, model.nbody):  # parents come before children
        parent, name = int(model.body_parentid[body]), model.body(body).name or f"body_{body}"
        if body == root:
            place = Place(link=name, R=np.eye(3), pos_m=np.zeros(3))
        elif parent not in parts.places:
            continue
        else:
            above = parts.places[parent]
            R = above.R @ matrix_from_quat_wxyz(model.body_quat[body])
            place = Place(link=above.link, R=R, pos_m=above.point(model.body_pos[body]))
            first = int(model.body_jntadr[body])
            for joint in range(first, first + int(model.body_jntnum[body])):
                last = joint == first + int(model.body_jntnum[body]) - 1
                place = _hinge(path, model, joint, place, name if last else f"{name}_{model.joint(joint).name}", parts)
        parts.places[body] = place
        parts.masses.setdefault(place.link, []).append(_mass(model, body, place))
        found = parts.shapes.setdefault(place.link, [])
        geoms = range(int(model.body_geomadr[body]), int(model.body_geomadr[body]) + int(model.body_geomnum[body]))
        found += [s for g in geoms if _collides(model, g) and (s := _shape(model, g, place)) is not None]
    for link, found in parts.shapes.items():
        parts.shapes[link] = _with_capsules(found)
    return parts


def _hinge(path: Path, model: mujoco.MjModel, joint: int, place: Place, child: str, parts: FileParts) -> Place:
    """Add a joint that moves a body, and say where the body is in the link that the joint carries."""
    name, dof = model.joint(joint).name, int(model.jnt_dofadr[joint])
    if model.jnt_type[joint] != mujoco.mjtJoint.mjJNT_HINGE:
        raise BadFile(path, f"joint {name!r} is not a hinge; a retargeting hand has hinges only")
    axis, anchor_m = model.jnt_axis[joint], model.jnt_pos[joint]
    limited = bool(model.jnt_limited[joint])
    lower, upper = model.jnt_range[joint].tolist() if limited else (-math.pi, math.pi)
    # A reference angle is the angle in the file's own pose: ours begins where the angle is 0.
    R = place.R @ matrix_about(axis, -float(model.qpos0[model.jnt_qposadr[joint]]))
    parts.joints.append(
        Joint(
            name=name,
            parent=place.link,
            child=child,
            pos_m=as_vec3(place.point(anchor_m)),
            rpy_rad=rpy_from_matrix(R),
            axis=as_vec3(axis),
            lower_rad=lower,
            upper_rad=upper,
            source=path.name,
            damping_nms_rad=float(model.dof_damping[dof].flat[0]),
            armature_kgm2=float(model.dof_armature[dof]),
            friction_nm=float(model.dof_frictionloss[dof]),
            spring_nm_rad=float(model.jnt_stiffness[joint].flat[0]),
            spring_rest_rad=float(model.qpos_spring[model.jnt_qposadr[joint]]),
        )
    )
    parts.masses.setdefault(child, [])
    return Place(link=child, R=np.eye(3), pos_m=-anchor_m)


def _mass(model: mujoco.MjModel, body: int, place: Place) -> tuple[float, FloatArray, FloatArray]:
    R = place.R @ matrix_from_quat_wxyz(model.body_iquat[body])
    return float(model.body_mass[body]), place.point(model.body_ipos[body]), R @ np.diag(model.body_inertia[body]) @ R.T


def link_of(path: Path, name: str, parts: FileParts, tips: Mapping[str, tuple[str, FloatArray]]) -> Link:
    """One link of all bodies that are fixed to each other."""
    made = parts.masses[name] or [(1e-6, np.zeros(3), 1e-10 * np.eye(3))]  # between two joints of one body
    mass = max(sum(m for m, _, _ in made), 1e-6)
    com_m = sum((m * at for m, at, _ in made), np.zeros(3)) / mass
    away = [(m, at - com_m, own) for m, at, own in made]
    inertia = sum((own + m * (d @ d * np.eye(3) - np.outer(d, d)) for m, d, own in away), np.zeros((3, 3)))
    np.fill_diagonal(inertia, np.maximum(np.diag(inertia), 1e-10))
    shapes = parts.shapes.get(name, [])
    for link, tip_m in tips.values():
        if link == name and shapes:  # the shape at the fingertip is what a pinch meets
            nearest = min(shapes, key=lambda shape: float(np.linalg.norm(_centre_m(shape) - tip_m)))
            shapes = [nearest, *(shape for shape in shapes if shape is not nearest)]
            break
    else:
        shapes = [None, *shapes]
    ixx, iyy, izz, ixy, ixz, iyz = (float(inertia[i, j]) for i, j in ((0, 0), (1, 1), (2, 2), (0, 1), (0, 2), (1, 2)))
    return Link(
        name=name,
        mass_kg=mass,
        source=path.name,
        com_m=as_vec3(com_m),
        inertia_kgm2=(ixx, iyy, izz, ixy, ixz, iyz),
        skin=shapes[0] if shapes else None,
        collision=tuple(shape for shape in shapes[1:] if shape is not None),
    )


def _collides(model: mujoco.MjModel, geom: int) -> bool:
    return bool(model.geom_contype[geom] or model.geom_conaffinity[geom])


def _shape(model: mujoco.MjModel, geom: int, place: Place) -> Shape | None:
    """A colliding shape in its link, or None for what has no end (a plane)."""
    kinds, size = mujoco.mjtGeom, model.geom_size[geom]
    R, centre = place.R @ matrix_from_quat_wxyz(model.geom_quat[geom]), place.point(model.geom_pos[geom])
    match model.geom_type[geom]:
        case kinds.mjGEOM_SPHERE:
            return Sphere(centre_m=as_vec3(centre), radius_m=float(size[0]))
        case kinds.mjGEOM_CAPSULE | kinds.mjGEOM_CYLINDER as kind:
            rod = Capsule if kind == kinds.mjGEOM_CAPSULE else Cylinder
            start, end = (as_vec3(centre + sign * size[1] * R[:, 2]) for sign in (-1.0, 1.0))
            return rod(start_m=start, end_m=end, radius_m=float(size[0]))
        case kinds.mjGEOM_BOX | kinds.mjGEOM_ELLIPSOID as kind:
            block = Box if kind == kinds.mjGEOM_BOX else Ellipsoid
            return block(centre_m=as_vec3(centre), half_m=as_vec3(size), rpy_rad=rpy_from_matrix(R))
        case kinds.mjGEOM_MESH:
            mesh = int(model.geom_dataid[geom])
            first = int(model.mesh_vertadr[mesh])
            vertex_m = model.mesh_vert[first : first + int(model.mesh_vertnum[mesh])].astype(np.float64)
            return hull_around(centre + vertex_m @ R.T)
        case _:
            return None


def _with_capsules(shapes: list[Shape]) -> list[Shape]:
    """The same with a capsule where a cylinder has a ball of its radius at each end: URDF knows no capsules."""
    left = list(shapes)
    for rod in shapes:
        if not isinstance(rod, Cylinder):
            continue
        balls = [
            next((ball for ball in left if isinstance(ball, Sphere) and _is_end(ball, rod, end)), None)
            for end in (rod.start_m, rod.end_m)
        ]
        if None not in balls:
            left[left.index(rod)] = Capsule(start_m=rod.start_m, end_m=rod.end_m, radius_m=rod.radius_m)
            left = [shape for shape in left if all(shape is not ball for ball in balls)]
    return left


def _is_end(ball: Sphere, rod: Cylinder, end: Vec3) -> bool:
    return abs(ball.radius_m - rod.radius_m) < 1e-6 and float(np.linalg.norm(np.subtract(ball.centre_m, end))) < 1e-6


def _centre_m(shape: Shape) -> FloatArray:
    match shape:
        case Capsule() | Cylinder():
            return 0.5 * (np.asarray(shape.start_m) + np.asarray(shape.end_m))
        case Hull():
            return np.mean(shape.points_m, axis=0)
        case _:
            return np.asarray(shape.centre_m)


def tendons_of(model: mujoco.MjModel, joints: list[Joint]) -> tuple[Tendon, ...]:
    """Tendons over joints of the hand; those over pulleys and sites are passed over."""
    known, made = {joint.name for joint in joints}, []
    for tendon in range(model.ntendon):
        wraps = range(int(model.tendon_adr[tendon]), int(model.tendon_adr[tendon]) + int(model.tendon_num[tendon]))
        if any(model.wrap_type[wrap] != mujoco.mjtWrap.mjWRAP_JOINT for wrap in wraps):
            continue
        weighed = ((model.joint(int(model.wrap_objid[w])).name, float(model.wrap_prm[w])) for w in wraps)
        over = tuple((name, weight) for name, weight in weighed if weight != 0.0)
        if not over or any(name not in known for name, _ in over):
            continue
        limits = model.tendon_range[tendon].tolist() if model.tendon_limited[tendon] else (None, None)
        made.append(
            Tendon(
                name=model.tendon(tendon).name or f"tendon_{tendon}",
                joints=over,
                lower_rad=limits[0],
                upper_rad=limits[1],
                source="the file",
            )
        )
    return tuple(made)


def couplings_of(path: Path, model: mujoco.MjModel, joints: list[Joint]) -> tuple[Coupling, ...]:
    """Joints that follow others (mimic of a URDF, equality of an MJCF), drivers before what they drive."""
    known, made = {joint.name for joint in joints}, dict[str, Coupling]()
    for eq in range(model.neq):
        if model.eq_type[eq] != mujoco.mjtEq.mjEQ_JOINT or model.eq_obj2id[eq] < 0 or not model.eq_active0[eq]:
            continue
        joint, driver = (model.joint(int(ids[eq])).name for ids in (model.eq_obj1id, model.eq_obj2id))
        if joint not in known or driver not in known:
            continue
        offset, ratio, *curved = model.eq_data[eq, :5].tolist()
        if any(curved):
            raise BadFile(path, f"joint {joint!r} follows {driver!r} along a curve; expected offset + ratio * angle")
        # MuJoCo counts both angles from those of the file's own pose.
        joint_rad, driver_rad = (float(model.qpos0[model.joint(name).qposadr[0]]) for name in (joint, driver))
        offset_rad = offset + joint_rad - ratio * driver_rad
        made[joint] = Coupling(joint=joint, driver=driver, ratio=ratio, offset_rad=offset_rad, source=path.name)
    ordered: list[Coupling] = []
    while made:
        ready = [coupling for coupling in made.values() if coupling.driver not in made]
        if not ready:
            raise BadFile(path, f"joints {', '.join(made)} follow each other in a circle")
        ordered += ready
        made = {name: coupling for name, coupling in made.items() if coupling not in ready}
    return tuple(ordered)


def left_alone(
    model: mujoco.MjModel, parts: FileParts, tips: Mapping[str, tuple[str, FloatArray]]
) -> tuple[tuple[str, str], ...]:
    """Pairs of links that contact leaves alone.

    Those the file excludes, parts of one finger, and what overlaps with all joints at 0 or in many postures: such
    shapes touch by construction. Fingertips are never left alone.
    """
    bodies = {body: place.link for body, place in parts.places.items()}
    pairs = {frozenset((bodies.get(s >> 16, ""), bodies.get(s & 0xFFFF, ""))) for s in model.exclude_signature.tolist()}
    above, ends = {joint.child: joint for joint in parts.joints}, {link for link, _ in tips.values()}
    for link in ends:
        chain = [link]
        while chain[0] in above:
            chain.insert(0, above[chain[0]].parent)
        pairs |= {frozenset((a, b)) for i, a in enumerate(chain[1:], start=1) for b in chain[i + 1 :]}
    for joint in parts.joints:  # through parts without a shape, or joints in one place, links bear on each other too
        up = joint
        while up.parent in above and (not parts.shapes.get(up.parent) or float(np.linalg.norm(up.pos_m)) < 1e-4):
            up = above[up.parent]
        pairs.add(frozenset((up.parent, joint.child)))
    data, rng = mujoco.MjData(model), np.random.default_rng(0)
    model.geom_contype[:] = model.geom_conaffinity[:] = (model.geom_contype | model.geom_conaffinity) > 0
    at = [int(model.jnt_qposadr[model.joint(joint.name).id]) for joint in parts.joints]
    lower, upper = np.array([(joint.lower_rad, joint.upper_rad) for joint in parts.joints]).T
    meet: Counter[frozenset[str]] = Counter()
    for posture in range(POSTURES):
        data.qpos[at] = np.clip(0.0, lower, upper) if posture == 0 else rng.uniform(lower, upper)
        mujoco.mj_kinematics(model, data)
        mujoco.mj_collision(model, data)
        deep = data.contact.geom[data.contact.dist < 0.0]
        here = {frozenset(bodies.get(int(model.geom_bodyid[g]), "") for g in pair) for pair in deep}
        meet.update(here)
        if posture == 0:
            pairs |= here
    pairs |= {pair for pair, count in meet.items() if count > OFTEN * POSTURES}
    named = [tuple(sorted(pair)) for pair in pairs if len(pair) == 2 and "" not in pair and not pair <= ends]
    return tuple((a, b) for a, b in sorted(named))
