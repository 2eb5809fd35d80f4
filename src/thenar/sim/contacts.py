"""The engine's contacts as signals: by body name for people, and with the shapes that touch for skins."""

from __future__ import annotations

from collections.abc import Sequence

import mujoco
import numpy as np

from thenar.arrays import FloatArray, IntArray
from thenar.signals import SOLID, ContactSet, SolidContacts, SolidKind

MAX_PLANES = 300  # of a hull that is asked face by face
FIELD_POINTS = 64  # a side: 5 um of error on an object of 40 mm

_KINDS = {
    mujoco.mjtGeom.mjGEOM_SPHERE: SolidKind.SPHERE,
    mujoco.mjtGeom.mjGEOM_CAPSULE: SolidKind.CAPSULE,
    mujoco.mjtGeom.mjGEOM_CYLINDER: SolidKind.CYLINDER,
    mujoco.mjtGeom.mjGEOM_BOX: SolidKind.BOX,
    mujoco.mjtGeom.mjGEOM_ELLIPSOID: SolidKind.ELLIPSOID,
    mujoco.mjtGeom.mjGEOM_PLANE: SolidKind.PLANE,
    mujoco.mjtGeom.mjGEOM_MESH: SolidKind.HULL,
}


class ContactReader:
    """Reads contacts by the names of their bodies, with signs that do not depend on the order of geoms."""

    def __init__(self, model: mujoco.MjModel, hands: Sequence[str]):
        """Look up every geom's body and hand."""
        bodies = [int(body) for body in model.geom_bodyid]
        # What stands still in the world goes by the geom's own name.
        self._names = [model.body(body).name if body else model.geom(geom).name for geom, body in enumerate(bodies)]
        owners = [name.partition("/")[0] for name in self._names]
        self._hand = np.array([hands.index(owner) if owner in hands else -1 for owner in owners], dtype=np.int64)
        # The side from which a contact of the world is seen: a hand's, then an object's, then what stands still.
        self._rank = np.where(self._hand >= 0, 0, np.where(np.array(bodies) > 0, 1, 2))

    def read(self, data: mujoco.MjData, *, stamp_s: float, hand: int | None = None) -> ContactSet:
        """Contacts of one hand, each seen from its link, or every contact of the world once.

        A contact between two links of the hand appears twice, seen from each.

        Args:
            data: State of the world after a step.
            stamp_s: Time of the contacts [s].
            hand: Number of the hand; None: every contact of the world.
        """
        contact = data.contact
        if hand is None:
            first, second = self._rank[contact.geom].T
            index, side = np.arange(len(first)), (first > second).astype(np.int64)
        else:
            index, side = np.argwhere(self._hand[contact.geom] == hand).T
        geoms = contact.geom[index]
        frame, force = contact.frame.reshape(-1, 3, 3)[index], _contact_forces(data, contact)[index]
        # The engine's normal points from the first geom into the second and its force acts on the second.
        sign = 1.0 - 2.0 * side[:, None]
        normal = sign * frame[:, 0]
        tangent = -sign * (force[:, 1:2] * frame[:, 1] + force[:, 2:3] * frame[:, 2])
        return ContactSet(
            stamp_s=stamp_s,
            body=tuple(self._names[pair[one]] for pair, one in zip(geoms, side, strict=True)),
            partner=tuple(self._names[pair[1 - one]] for pair, one in zip(geoms, side, strict=True)),
            position_m=contact.pos[index],
            normal=normal,
            force_n=tangent - force[:, :1] * normal,
            normal_force_n=force[:, 0],
            tangent_force_n=tangent,
            friction=contact.friction[index, 0],
            depth_m=-contact.dist[index],
        )


class SolidReader:
    """Reads contacts with the shapes that touch. A solid's number is its geom's."""

    def __init__(self, model: mujoco.MjModel):
        """Take the shapes of a compiled world; their poses come with every reading."""
        self._solids = np.zeros(model.ngeom, dtype=SOLID)
        self._solids["size_m"][:, :3] = model.geom_size
        self._solids["kind"] = [_KINDS[mujoco.mjtGeom(kind)] for kind in model.geom_type]
        collides = (model.geom_contype != 0) | (model.geom_conaffinity != 0)
        collides[model.pair_geom1] = collides[model.pair_geom2] = True
        self._solids["body"] = np.where(collides, model.geom_bodyid, -1)
        planes: list[FloatArray] = [np.zeros((0, 4))]
        fields: list[FloatArray] = [np.zeros(0)]
        hulls: dict[int, tuple[SolidKind, int, int, float]] = {}
        for geom in np.flatnonzero((self._solids["kind"] == SolidKind.HULL) & collides):
            mesh = int(model.geom_dataid[geom])
            if mesh not in hulls:
                hulls[mesh] = _hull_or_field(hull_planes(model, mesh), _reach_m(model, mesh), planes, fields)
            solid = self._solids[geom]
            solid["kind"], solid["first"], solid["count"], solid["size_m"][0] = hulls[mesh]
        self._planes, self._field = np.concatenate(planes), np.concatenate(fields)

    @property
    def bodies(self) -> IntArray:
        """Body of every shape; -1: one that touches nothing."""
        return self._solids["body"].astype(np.int64)

    def read(self, data: mujoco.MjData, *, stamp_s: float) -> SolidContacts:
        """Contacts of the last step, as copies: the reader of them may be on another thread."""
        solids = self._solids.copy()
        solids["pos_m"] = data.geom_xpos
        solids["R"] = data.geom_xmat.reshape(-1, 3, 3)
        contact = data.contact
        frame = contact.frame.reshape(-1, 3, 3)
        return SolidContacts(
            stamp_s=stamp_s,
            solids=solids,
            body_pos_m=data.xpos.copy(),
            body_R=data.xmat.reshape(-1, 3, 3).copy(),
            planes=self._planes,
            field_m=self._field,
            pair=contact.geom.astype(np.int64),
            position_m=contact.pos.copy(),
            normal=np.ascontiguousarray(frame[:, 0]),
            force_n=np.einsum("nk,nkx->nx", _contact_forces(data, contact), frame),
        )


def _contact_forces(data: mujoco.MjData, contact: mujoco.MjContact) -> FloatArray:
    """Force of every contact on its second geom along the contact's axes, normal first [N]. Shape (contacts, 3)."""
    address = contact.efc_address
    if not len(address) or not data.nefc:
        return np.zeros((len(address), 3))
    # With elliptic cones the solver's forces are the contact's own: normal first, then two tangents.
    forces = data.efc_force[np.maximum(address, 0)[:, None] + np.arange(3)]
    return forces * (address >= 0)[:, None]


def _hull_or_field(
    rows: FloatArray, reach_m: float, planes: list[FloatArray], fields: list[FloatArray]
) -> tuple[SolidKind, int, int, float]:
    """Store a hull as its planes or, when they are many, as a grid of distances; where it is and how large."""
    if len(rows) <= MAX_PLANES:
        first = sum(len(p) for p in planes)
        planes.append(rows)
        return SolidKind.HULL, first, len(rows), reach_m
    first = sum(len(f) for f in fields)
    axis = np.linspace(-reach_m, reach_m, FIELD_POINTS)
    x, y, z = np.meshgrid(axis, axis, axis, indexing="ij")
    # The largest of the planes' distances: exact inside and beside faces, and never more than the true one outside.
    distance = np.full(x.shape, -np.inf)
    for a, b, c, d in rows:
        np.maximum(distance, a * x + b * y + c * z - d, out=distance)
    fields.append(distance.ravel())
    return SolidKind.FIELD, first, FIELD_POINTS, reach_m


def _reach_m(model: mujoco.MjModel, mesh: int) -> float:
    """Half edge of a cube around a mesh, with some room [m]."""
    start = model.mesh_vertadr[mesh]
    return 1.1 * float(np.abs(model.mesh_vert[start : start + model.mesh_vertnum[mesh]]).max())


def hull_planes(model: mujoco.MjModel, mesh: int) -> FloatArray:
    """Faces of a mesh's convex hull as planes (normal, distance) in the geom's frame. Shape (faces, 4)."""
    start = model.mesh_vertadr[mesh]
    vertices = model.mesh_vert[start : start + model.mesh_vertnum[mesh]].astype(np.float64)
    graph = model.mesh_graph[model.mesh_graphadr[mesh] :]
    vertex_count, face_count = int(graph[0]), int(graph[1])
    faces_at = 2 + 3 * vertex_count + 3 * face_count
    faces = graph[faces_at : faces_at + 3 * face_count].reshape(-1, 3)
    a, b, c = (vertices[faces[:, k]] for k in range(3))
    normal = np.cross(b - a, c - a)
    size = np.linalg.norm(normal, axis=1)
    normal = normal[size > 0] / size[size > 0, None]
    distance = np.einsum("fx,fx->f", normal, a[size > 0])
    inside = vertices.mean(axis=0)
    flip = np.where(normal @ inside > distance, -1.0, 1.0)
    return np.column_stack([normal * flip[:, None], distance * flip])
