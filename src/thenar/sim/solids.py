"""The engine's geoms as numbered solids, for whoever must know their shapes without knowing the engine."""

from __future__ import annotations

import mujoco
import numpy as np
from numpy.typing import NDArray

from thenar.signals import SOLID, SolidContacts, SolidKind

FloatArray = NDArray[np.float64]

MOST_PLANES = 300  # of a hull that is asked face by face
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


class SolidReader:
    """Reads a world's contacts with the shapes that touch. A solid's number is its geom's."""

    def __init__(self, model: mujoco.MjModel):
        """Take the shapes of a compiled world; their poses come with every reading."""
        self._model = model
        self._solids = np.zeros(model.ngeom, dtype=SOLID)
        planes: list[FloatArray] = []
        fields: list[FloatArray] = []
        hulls: dict[int, tuple[SolidKind, int, int, float]] = {}
        for geom in range(model.ngeom):
            kind = _KINDS[mujoco.mjtGeom(model.geom_type[geom])]
            solid = self._solids[geom]
            solid["kind"] = kind
            solid["size_m"][:3] = model.geom_size[geom]
            solid["body"] = model.geom_bodyid[geom]
            if kind == SolidKind.HULL and model.geom_contype[geom]:
                mesh = int(model.geom_dataid[geom])
                if mesh not in hulls:
                    hulls[mesh] = _hull_or_field(hull_planes(model, mesh), _reach_m(model, mesh), planes, fields)
                solid["kind"], solid["first"], solid["count"], solid["size_m"][0] = hulls[mesh]
        self._planes = np.concatenate(planes) if planes else np.zeros((0, 4))
        self._field = np.concatenate(fields) if fields else np.zeros(0)

    def read(self, data: mujoco.MjData, *, stamp_s: float) -> SolidContacts:
        """Contacts of the last step, as copies: the reader of them may be on another thread."""
        solids = self._solids.copy()
        contact = data.contact
        solids["pos_m"] = data.geom_xpos
        solids["R"] = data.geom_xmat.reshape(-1, 3, 3)
        frame = contact.frame.reshape(-1, 3, 3)
        carried = contact.efc_address >= 0
        address = np.where(carried, contact.efc_address, 0)
        # With elliptic cones the solver's forces are the contact's own: normal first, then two tangents.
        parts = data.efc_force[address[:, None] + np.arange(3)] if len(address) and data.nefc else np.zeros((0, 3))
        force = np.einsum("nk,nkx->nx", parts * carried[:, None], frame) if len(parts) else np.zeros((0, 3))
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
            force_n=force,
        )


def _hull_or_field(
    rows: FloatArray, reach_m: float, planes: list[FloatArray], fields: list[FloatArray]
) -> tuple[SolidKind, int, int, float]:
    """Store a hull as its planes or, when they are many, as a grid of distances; where it is and how large."""
    if len(rows) <= MOST_PLANES:
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
