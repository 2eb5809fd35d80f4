"""What a world looks like, as plain data: shapes with a colour, each fixed to a body."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import mujoco
import numpy as np
from numpy.typing import NDArray

from thenar.arrays import FloatArray
from thenar.hands.build import COLLISION_GROUP
from thenar.sim.physics import Physics

ShapeKind = Literal["sphere", "capsule", "cylinder", "box", "ellipsoid", "mesh"]

SWEEP = (0.0, 0.25, 0.5, 0.75, 1.0)  # shares of closing: a finger on its way reaches further than at its ends

_KINDS: dict[int, ShapeKind] = {
    mujoco.mjtGeom.mjGEOM_SPHERE: "sphere",
    mujoco.mjtGeom.mjGEOM_CAPSULE: "capsule",
    mujoco.mjtGeom.mjGEOM_CYLINDER: "cylinder",
    mujoco.mjtGeom.mjGEOM_BOX: "box",
    mujoco.mjtGeom.mjGEOM_ELLIPSOID: "ellipsoid",
    mujoco.mjtGeom.mjGEOM_MESH: "mesh",
}


@dataclass(frozen=True, kw_only=True, eq=False)
class Look:
    """One visible shape."""

    body: int
    name: str
    kind: ShapeKind
    size_m: FloatArray
    """As the engine has it: radius and half length, half edges, half axes. Shape (3,)."""
    pos_m: FloatArray
    """In the frame of the body [m]."""
    R: FloatArray
    """Orientation in the frame of the body. Shape (3, 3)."""
    rgb: tuple[float, float, float]
    vertices_m: FloatArray
    """Of a mesh, else empty. Shape (v, 3)."""
    faces: NDArray[np.int64]
    """Of a mesh, else empty. Shape (f, 3)."""


def visible_shapes(model: mujoco.MjModel) -> list[Look]:
    """Everything that is drawn, but the ground, which has no end."""
    looks = []
    for geom in range(model.ngeom):
        kind = _KINDS.get(int(model.geom_type[geom]))
        if kind is None or model.geom_group[geom] >= COLLISION_GROUP or model.geom_rgba[geom, 3] == 0.0:
            continue
        R = np.zeros(9)
        mujoco.mju_quat2Mat(R, model.geom_quat[geom])
        vertices, faces = np.zeros((0, 3)), np.zeros((0, 3), dtype=np.int64)
        if kind == "mesh":
            mesh = model.geom_dataid[geom]
            first, count = model.mesh_vertadr[mesh], model.mesh_vertnum[mesh]
            vertices = np.array(model.mesh_vert[first : first + count], dtype=np.float64)
            first, count = model.mesh_faceadr[mesh], model.mesh_facenum[mesh]
            faces = np.array(model.mesh_face[first : first + count], dtype=np.int64)
        red, green, blue, _ = model.geom_rgba[geom].tolist()
        looks.append(
            Look(
                body=int(model.geom_bodyid[geom]),
                name=model.geom(geom).name,
                kind=kind,
                size_m=np.array(model.geom_size[geom]),
                pos_m=np.array(model.geom_pos[geom]),
                R=R.reshape(3, 3),
                rgb=(red, green, blue),
                vertices_m=vertices,
                faces=faces,
            )
        )
    return looks


def reach_m(world: Physics) -> FloatArray:
    """Corners of boxes around what hands take up while they close, and around a robot as it is [m]. Shape (n, 3)."""
    model, hands = world.model, {name: world.hand(name) for name in world.hand_names}
    owners = [model.body(body).name for body in model.geom_bodyid]
    if world.config.robot is not None:
        seen = [n for n, owner in enumerate(owners) if owner not in ("world", *world.props.names)]
    else:  # a forearm may be longer than its hand
        seen = [n for n, owner in enumerate(owners) if owner.partition("/")[0] in hands]
        seen = [n for n in seen if not owners[n].endswith("/forearm")]
    data = mujoco.MjData(model)
    corners = np.stack(np.meshgrid(*[(-1.0, 1.0)] * 3), axis=-1).reshape(8, 3)
    middle_m, half_m = model.geom_aabb[seen, :3], model.geom_aabb[seen, 3:]
    local_m = middle_m[:, None] + half_m[:, None] * corners  # (geom, corner, 3)
    points_m = []
    for share in SWEEP:
        data.qpos[:] = world.data.qpos
        for name, hand in hands.items():
            angles = hand.joint_angles(hand.open_rad + share * (hand.closed_rad - hand.open_rad))
            for joint, angle in angles.items():
                data.joint(f"{name}/{joint}").qpos[0] = angle
        mujoco.mj_kinematics(model, data)
        R = data.geom_xmat[seen].reshape(-1, 3, 3)
        points_m.append(data.geom_xpos[seen][:, None] + np.einsum("nij,ncj->nci", R, local_m))
    return np.concatenate(points_m).reshape(-1, 3)
