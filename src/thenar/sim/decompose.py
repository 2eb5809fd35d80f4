"""A mesh as convex pieces, so that a ring has a hole.

The engine collides meshes as their convex hulls. A mesh whose surface lies deep inside its hull is cut in halves across
its longest side, again and again, until every piece is nearly convex. A piece is just its points: its hull closes it.
"""

from __future__ import annotations

import mujoco
import numpy as np

from thenar.arrays import FloatArray
from thenar.sim.contacts import hull_planes

TOLERANCE = 0.02  # how deep the surface may lie inside the hull, as a share of the mesh's size
MAX_PIECES = 64


def load_mesh(path: str, scale: tuple[float, float, float]) -> FloatArray:
    """Triangles of a mesh file in its own coordinates, scaled [m]. Shape (triangles, 3 corners, 3)."""
    spec = mujoco.MjSpec()
    spec.add_mesh(name="mesh", file=path, scale=list(scale))
    spec.worldbody.add_geom(type=mujoco.mjtGeom.mjGEOM_MESH, meshname="mesh")
    model = spec.compile()
    # The engine moves a mesh to its centre of mass and turns it to its principal axes.
    R = np.zeros(9)
    mujoco.mju_quat2Mat(R, model.mesh_quat[0])
    vertices = model.mesh_vert.astype(np.float64) @ R.reshape(3, 3).T + model.mesh_pos[0]
    return vertices[model.mesh_face]


def convex_pieces(triangles: FloatArray) -> list[FloatArray]:
    """Points of nearly convex pieces of a mesh; one piece for a convex mesh. Each of shape (points, 3)."""
    allowed = TOLERANCE * float(np.ptp(triangles.reshape(-1, 3), axis=0).max())
    waiting, done = [triangles], []
    while waiting:
        piece = waiting.pop()
        points = np.unique(np.round(piece.reshape(-1, 3), 9), axis=0)
        if len(waiting) + len(done) + 1 >= MAX_PIECES or _depth_m(piece, points) <= allowed:
            done.append(points)
            continue
        low, high = points.min(axis=0), points.max(axis=0)
        axis = int(np.argmax(high - low))
        middle = (low[axis] + high[axis]) / 2
        halves = (_clip(piece, axis, middle, keep_below=below) for below in (True, False))
        waiting += [half for half in halves if _is_solid(half)]
    return done


def _is_solid(triangles: FloatArray) -> bool:
    return len(triangles) >= 2 and bool(np.all(np.ptp(triangles.reshape(-1, 3), axis=0) > 1e-9))


def _depth_m(triangles: FloatArray, points: FloatArray) -> float:
    """How deep the surface lies inside the hull of the points, at most [m]."""
    spec = mujoco.MjSpec()
    spec.add_mesh(name="piece", uservert=points.ravel().tolist(), inertia=mujoco.mjtMeshInertia.mjMESH_INERTIA_CONVEX)
    spec.worldbody.add_geom(type=mujoco.mjtGeom.mjGEOM_MESH, meshname="piece")
    model = spec.compile()
    planes = hull_planes(model, 0)
    R = np.zeros(9)
    mujoco.mju_quat2Mat(R, model.mesh_quat[0])
    centres = (triangles.mean(axis=1) - model.mesh_pos[0]) @ R.reshape(3, 3)
    inside = planes[:, 3] - centres @ planes[:, :3].T
    return float(inside.min(axis=1).max())


def _clip(triangles: FloatArray, axis: int, at_m: float, *, keep_below: bool) -> FloatArray:
    """The part of every triangle on one side of a plane, as triangles."""
    sign = 1.0 if keep_below else -1.0
    height = sign * (triangles[:, :, axis] - at_m)
    whole = (height <= 0.0).all(axis=1)
    kept = [triangles[whole]]
    for corners, level in zip(triangles[~whole], height[~whole], strict=True):
        polygon = []
        for k in range(3):
            a, b, x, y = corners[k], corners[(k + 1) % 3], level[k], level[(k + 1) % 3]
            if x <= 0.0:
                polygon.append(a)
            if (x < 0.0 < y) or (y < 0.0 < x):
                polygon.append(a + (b - a) * (x / (x - y)))
        if len(polygon) >= 3:
            kept.append(np.array([[polygon[0], polygon[k], polygon[k + 1]] for k in range(1, len(polygon) - 1)]))
    return np.concatenate(kept)
