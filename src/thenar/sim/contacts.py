"""The engine's contacts as signals: by body name for people, and with the shapes that touch for skins."""

from __future__ import annotations

import math
from collections.abc import Sequence

import mujoco
import numba as nb
import numpy as np
from numpy.typing import NDArray

from thenar.arrays import FloatArray, IntArray
from thenar.hands.rotations import matrix_from_quat_wxyz
from thenar.signals import SOLID, ContactSet, SolidContacts, SolidKind

FLAT = 1e-6  # of a mesh's size: faces that lie this near to one plane are one face

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
    """Reader of contacts by the names of their bodies, with signs that do not depend on the order of geoms."""

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
        frame, force = (
            contact.frame.reshape(-1, 3, 3)[index],
            _contact_forces(data, contact, pyramids=_has_pyramids(data))[index],
        )
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

    def normal_forces_n(self, data: mujoco.MjData, hand: int, partner: str) -> dict[str, float]:
        """Normal force of a hand on something, by body of the hand [N]; as in `read`, but only that."""
        contact, forces = data.contact, dict[str, float]()
        geoms = contact.geom.tolist()
        here = [(n, pair) for n, pair in enumerate(geoms) if partner in (self._names[pair[0]], self._names[pair[1]])]
        if not here:
            return forces
        force_n = _contact_forces(data, contact, pyramids=_has_pyramids(data))[:, 0].tolist()
        for n, pair in here:
            for geom, other in (pair, pair[::-1]):
                if self._hand[geom] == hand and self._names[other] == partner:
                    forces[self._names[geom]] = forces.get(self._names[geom], 0.0) + force_n[n]
        return forces


class SolidReader:
    """Reader of contacts with the shapes that touch. A solid's number is its geom's."""

    def __init__(self, model: mujoco.MjModel):
        """Take the shapes of a compiled world; their poses come with every reading."""
        self._solids = np.zeros(model.ngeom, dtype=SOLID)
        self._solids["size_m"][:, :3] = model.geom_size
        self._solids["kind"] = [_KINDS.get(mujoco.mjtGeom(kind), SolidKind.OTHER) for kind in model.geom_type]
        collides = (model.geom_contype != 0) | (model.geom_conaffinity != 0)
        collides[model.pair_geom1] = collides[model.pair_geom2] = True
        self._solids["body"] = np.where(collides, model.geom_bodyid, -1)
        planes: list[FloatArray] = [np.zeros((0, 4))]
        beside: list[IntArray] = []
        placed: dict[int, tuple[int, int]] = {}
        for geom in np.flatnonzero((self._solids["kind"] == SolidKind.HULL) & collides):
            mesh, first = int(model.geom_dataid[geom]), len(beside)
            if mesh not in placed:
                rows, neighbors = hull_faces(model, mesh)
                planes.append(rows)
                beside += [first + part for part in neighbors]
                placed[mesh] = first, len(rows)
            self._solids[geom]["first"], self._solids[geom]["count"] = placed[mesh]
        self._planes = np.concatenate(planes)
        self._first_beside = np.cumsum([0, *map(len, beside)], dtype=np.int64)
        self._beside = np.concatenate([np.zeros(0, dtype=np.int64), *beside])

    @property
    def bodies(self) -> IntArray:
        """Body of every solid; -1: it touches nothing. Shape (solids,)."""
        return self._solids["body"].copy()

    def kind(self, solid: int) -> SolidKind:
        """What a solid is."""
        return SolidKind(int(self._solids["kind"][solid]))

    def resize(self, size_m: FloatArray) -> None:
        """Take other sizes of all shapes. Shape (solids, 3)."""
        self._solids["size_m"][:, :3] = size_m

    def in_bodies(self, model: mujoco.MjModel) -> tuple[NDArray[np.void], tuple[FloatArray, IntArray, IntArray]]:
        """Every solid with its pose in its body's frame, and the faces of hulls: planes, first beside, beside."""
        solids = self._solids.copy()
        solids["pos_m"] = model.geom_pos
        solids["R"] = [matrix_from_quat_wxyz(quat) for quat in model.geom_quat]
        return solids, (self._planes, self._first_beside, self._beside)

    def read(self, data: mujoco.MjData, *, stamp_s: float) -> SolidContacts:
        """Contacts of the last step, as copies: the reader of them may be on another thread."""
        solids = self._solids.copy()
        solids["pos_m"] = data.geom_xpos
        solids["R"] = data.geom_xmat.reshape(-1, 3, 3)
        contact, pyramids = data.contact, _has_pyramids(data)
        force = _contact_forces(data, contact, pyramids=pyramids)
        # As copies, so that one compiled function is for any number of contacts.
        geom, place_m, frame = contact.geom.copy(), contact.pos.copy(), contact.frame.copy()
        friction, dim = contact.friction.copy(), contact.dim.copy()
        found = _stiff_contacts(geom, place_m, frame, friction, dim, force, pyramids)
        pair, position_m, normal, force_n, slip_n = found
        return SolidContacts(
            stamp_s=stamp_s,
            solids=solids,
            body_pos_m=data.xpos.copy(),
            body_R=data.xmat.reshape(-1, 3, 3).copy(),
            planes=self._planes,
            first_beside=self._first_beside,
            beside=self._beside,
            pair=pair,
            position_m=position_m,
            normal=normal,
            force_n=force_n,
            slip_n=slip_n,
        )


def _contact_forces(data: mujoco.MjData, contact: mujoco.MjContact, *, pyramids: bool) -> FloatArray:
    """Force of every contact on its second geom along the contact's axes, normal first [N]. Shape (contacts, 3)."""
    address, dim = contact.efc_address, contact.dim
    if not len(address) or not data.nefc:
        return np.zeros((len(address), 3))
    if not pyramids:  # the solver's forces are the contact's own: normal first, then two tangents
        return _cone_forces(address.copy(), dim.copy(), data.efc_force)
    # Each pair of edges of a pyramid leans one way and the other; a contact without friction is a single edge.
    edges = np.where(dim > 1, 2 * (dim - 1), 1)[:, None]
    column = np.arange(10)
    rows = np.minimum(np.maximum(address, 0)[:, None] + column, data.nefc - 1)
    edge_n = data.efc_force[rows] * (column < edges)
    tangent = (edge_n[:, 0:4:2] - edge_n[:, 1:4:2]) * contact.friction[:, :2] * (dim > 1)[:, None]
    forces = np.column_stack([edge_n.sum(axis=1), tangent])
    return forces * (address >= 0)[:, None]


@nb.njit(cache=True)
def _cone_forces(address: IntArray, dim: IntArray, efc_force: FloatArray) -> FloatArray:
    """Forces of contacts with round cones, from where each stands among the constraints; below 0: nowhere."""
    force_n = np.zeros((len(address), 3))
    for n in range(len(address)):
        if address[n] >= 0:
            for k in range(min(dim[n], 3)):
                force_n[n, k] = efc_force[address[n] + k]
    return force_n


@nb.njit(cache=True)
def _stiff_contacts(
    geom: IntArray,
    position_m: FloatArray,
    frame: FloatArray,
    friction: FloatArray,
    dim: IntArray,
    force_n: FloatArray,
    pyramids: bool,
) -> tuple[IntArray, FloatArray, FloatArray, FloatArray, FloatArray]:
    """Geoms, place, normal, force in the world and `SolidContacts.slip_n` of all contacts but those of soft bodies."""
    pair, slip_n = np.empty((len(geom), 2), np.int64), np.empty(len(geom))
    numbers, count = np.empty((3, len(geom), 3)), 0
    for n in range(len(geom)):
        if geom[n, 0] < 0 or geom[n, 1] < 0:
            continue
        press, along, across = force_n[n]
        pair[count] = geom[n]
        for x in range(3):
            numbers[0, count, x], numbers[1, count, x] = position_m[n, x], frame[n, x]
            numbers[2, count, x] = press * frame[n, x] + along * frame[n, 3 + x] + across * frame[n, 6 + x]
        # Of both coefficients what the direction of the pull makes of them.
        first, second = max(friction[n, 0], 1e-12), max(friction[n, 1], 1e-12)
        used = abs(along) / first + abs(across) / second if pyramids else math.hypot(along / first, across / second)
        grip = math.hypot(along, across) / used if used > 0.0 else first
        slip_n[count] = grip * press if dim[n] > 1 else 0.0
        count += 1
    return pair[:count], numbers[0, :count], numbers[1, :count], numbers[2, :count], slip_n[:count]


def _has_pyramids(data: mujoco.MjData) -> bool:
    """Whether friction cones are pyramids, as they are where a model does not ask for others."""
    return data.model.opt.cone == mujoco.mjtCone.mjCONE_PYRAMIDAL


def touchable(model: mujoco.MjModel, geom: int) -> IntArray:
    """Numbers of the geoms that the engine lets touch this one."""
    body, weld = model.geom_bodyid, model.body_weldid
    parent = weld[model.body_parentid[weld]]
    own, own_weld = int(body[geom]), int(weld[body[geom]])
    masks = (model.geom_contype & model.geom_conaffinity[geom]) | (model.geom_contype[geom] & model.geom_conaffinity)
    meets = (masks != 0) & (weld[body] != own_weld)
    if own_weld and not model.opt.disableflags & mujoco.mjtDisableBit.mjDSBL_FILTERPARENT:
        other = weld[body]
        meets &= (other == 0) | ((other != parent[own]) & (parent[body] != own_weld))
    for one, two in zip(model.exclude_signature >> 16, model.exclude_signature & 0xFFFF, strict=True):
        if own in (one, two):
            meets &= body != (two if own == one else one)
    for one, two in zip(model.pair_geom1, model.pair_geom2, strict=True):  # whatever the masks say
        if geom in (one, two):
            meets[two if geom == one else one] = True
    return np.flatnonzero(meets)


def hull_planes(model: mujoco.MjModel, mesh: int) -> FloatArray:
    """Faces of a mesh's convex hull as planes (normal, distance) in the geom's frame. Shape (faces, 4)."""
    return hull_faces(model, mesh)[0]


def hull_faces(model: mujoco.MjModel, mesh: int) -> tuple[FloatArray, list[IntArray]]:
    """Planes (normal, distance) of a mesh's convex hull in the geom's frame, and the faces beside each of them."""
    vertices, faces = hull_triangles(model, mesh)
    a, b, c = (vertices[faces[:, k]] for k in range(3))
    normal = np.cross(b - a, c - a)
    size = np.linalg.norm(normal, axis=1)
    normal /= np.where(size > 0.0, size, 1.0)[:, None]
    distance = np.einsum("fx,fx->f", normal, a)
    flip = np.where(normal @ vertices.mean(axis=0) > distance, -1.0, 1.0)
    planes = np.column_stack([normal * flip[:, None], distance * flip])
    # The two triangles on every edge.
    edges = np.sort(faces[:, [[0, 1], [1, 2], [2, 0]]], axis=2).reshape(-1, 2)
    order = np.lexsort(edges.T)
    pairs = order.reshape(-1, 2) // 3 if len(order) % 2 == 0 else order[:-1].reshape(-1, 2) // 3
    label = _flat_faces(vertices, faces, planes, size, pairs)
    names, index = np.unique(label, return_inverse=True)
    largest = np.lexsort((size, index))[np.append(np.flatnonzero(np.diff(np.sort(index))), len(index) - 1)]
    beside = np.unique(np.concatenate([index[pairs], index[pairs[:, ::-1]]]), axis=0)
    beside = beside[beside[:, 0] != beside[:, 1]]
    return planes[largest], np.split(beside[:, 1], np.searchsorted(beside[:, 0], np.arange(1, len(names))))


def _flat_faces(
    vertices: FloatArray, faces: IntArray, planes: FloatArray, size: FloatArray, pairs: IntArray
) -> IntArray:
    """The same label for neighboring triangles that lie in one plane. Shape (triangles,)."""
    near_m = FLAT * float(np.ptp(vertices, axis=0).max())
    corners = vertices[faces]
    high = size / np.linalg.norm(corners - np.roll(corners, 1, axis=1), axis=2).max(axis=1)  # over the longest side
    sliver = high <= near_m  # its own plane says nothing
    off = np.einsum("px,pkx->pk", planes[pairs[:, 0], :3], corners[pairs[:, 1]]) - planes[pairs[:, 0], 3:]
    joined = pairs[(np.abs(off).max(axis=1) < near_m) & ~sliver[pairs].any(axis=1)]
    label = np.arange(len(faces))
    while np.any(label[joined[:, 0]] != label[joined[:, 1]]):
        least = label[joined].min(axis=1)
        np.minimum.at(label, joined[:, 0], least)
        np.minimum.at(label, joined[:, 1], least)
        label = label[label]
    both = np.concatenate([pairs, pairs[:, ::-1]])
    while np.any(edge := sliver[both[:, 0]] & ~sliver[both[:, 1]]):  # slivers belong to any one face beside them
        label[both[edge, 0]] = label[both[edge, 1]]
        sliver[both[edge, 0]] = False
    return label


def hull_triangles(model: mujoco.MjModel, mesh: int) -> tuple[FloatArray, IntArray]:
    """Vertices [m] of a mesh in the geom's frame, shape (n, 3), and triangles of its convex hull, shape (faces, 3)."""
    start = model.mesh_vertadr[mesh]
    vertices = model.mesh_vert[start : start + model.mesh_vertnum[mesh]].astype(np.float64)
    graph = model.mesh_graph[model.mesh_graphadr[mesh] :]
    vertex_count, face_count = int(graph[0]), int(graph[1])
    faces_at = 2 + 3 * vertex_count + 3 * face_count
    return vertices, graph[faces_at : faces_at + 3 * face_count].reshape(-1, 3).astype(np.int64)
