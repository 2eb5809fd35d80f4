"""MuJoCo's own touch sensors on a pad's taxels, to compare with: `tactile` (depths) and `touch_grid` (points)."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

import mujoco
import numpy as np

from thenar.arrays import FloatArray
from thenar.hands.pad_charts import pad_axes, points_on_skin, taxel_grid
from thenar.hands.rotations import quat_wxyz_from_matrix
from thenar.hands.spec import HandSpec, Pad

TACTILE, GRID = "peer_tactile", "peer_touch_grid"
GRID_PLUGIN = "mujoco.sensor.touch_grid"
BACK_M = 2e-3  # how far under the skin the back of the mesh of taxels lies
FAR = 20.0  # pad lengths from which `touch_grid` looks: its bins, equal in angle, are then equal on the pad


@dataclass(frozen=True, kw_only=True, eq=False)
class PeerReadings:
    """What the engine's sensors said. Shapes (rows, cols)."""

    depth_m: FloatArray
    """`tactile`: how deep each taxel's centre is in the object [m]."""
    grid_n: FloatArray
    """`touch_grid`: force of the contact points in each taxel's bin [N]."""


def add_peer_sensors(spec: mujoco.MjSpec, hand: HandSpec, pad: Pad) -> None:
    """Give a pad both sensors, each set up as well for it as it can be."""
    body = spec.body(pad.link)
    spec.add_mesh(name=TACTILE, **_taxel_mesh(hand, pad))
    body.add_geom(name=TACTILE, type=mujoco.mjtGeom.mjGEOM_MESH, meshname=TACTILE, contype=0, conaffinity=0, mass=0.0)
    spec.add_sensor(
        name=TACTILE,
        type=mujoco.mjtSensor.mjSENS_TACTILE,
        objtype=mujoco.mjtObj.mjOBJ_MESH,
        objname=TACTILE,
        reftype=mujoco.mjtObj.mjOBJ_GEOM,
        refname=TACTILE,
    )
    e_u, _, normal = pad_axes(pad)
    along, across = pad.rows * pad.row_pitch_m, pad.cols * pad.col_pitch_m
    far = FAR * max(along, across)
    # The sensor looks along -z; its x counts columns and its y rows.
    R = np.column_stack([np.cross(e_u, -normal), e_u, -normal])
    body.add_site(name=GRID, pos=list(np.asarray(pad.centre_m) - far * normal), quat=list(quat_wxyz_from_matrix(R)))
    spec.activate_plugin(GRID_PLUGIN)
    half_deg = [math.degrees(math.atan2(side / 2, far)) for side in (across, along)]
    plugin = spec.add_plugin(name=GRID, plugin_name=GRID_PLUGIN, active=True)
    plugin.config = {
        "nchannel": "1",
        "size": f"{pad.cols} {pad.rows}",
        "fov": f"{half_deg[0]} {half_deg[1]}",
        "gamma": "0",
    }
    sensor = spec.add_sensor(
        name=GRID, type=mujoco.mjtSensor.mjSENS_PLUGIN, objtype=mujoco.mjtObj.mjOBJ_SITE, objname=GRID
    )
    sensor.plugin.name, sensor.plugin.plugin_name, sensor.plugin.active = GRID, GRID_PLUGIN, True


def read_peer_sensors(sensors: Mapping[str, FloatArray], pad: Pad) -> PeerReadings:
    """Readings of both sensors after a step."""
    depth = sensors[TACTILE][: pad.taxels].reshape(pad.rows, pad.cols).copy()
    # The sign of its force depends on which body was made first.
    grid = np.abs(sensors[GRID]).reshape(pad.rows, pad.cols)
    return PeerReadings(depth_m=depth, grid_n=grid[:, ::-1].copy() if pad.mirrored else grid)


def _taxel_mesh(hand: HandSpec, pad: Pad) -> dict[str, list[float] | list[int]]:
    """A thin closed mesh whose first vertices are the taxels, row by row."""
    points, normals = points_on_skin(hand, pad, *taxel_grid(pad))
    vertices = np.concatenate([points.reshape(-1, 3), (points - BACK_M * normals).reshape(-1, 3)])
    front = np.arange(pad.taxels).reshape(pad.rows, pad.cols)
    rim = np.concatenate([front[0], front[1:, -1], front[-1, -2::-1], front[-2:0:-1, 0]])
    next_ = np.roll(rim, -1)
    quads = np.stack([front[:-1, :-1], front[:-1, 1:], front[1:, 1:], front[1:, :-1]], axis=-1).reshape(-1, 4)
    walls = np.stack([next_, rim, rim + pad.taxels, next_ + pad.taxels], axis=-1)
    faces = np.concatenate([quads, quads[:, ::-1] + pad.taxels, walls])
    # Rows, columns and normal are right-handed, and left-handed on a mirrored pad.
    triangles = np.concatenate([faces[:, [0, 2, 1]], faces[:, [0, 3, 2]]])
    if pad.mirrored:
        triangles = triangles[:, ::-1]
    return {"uservert": vertices.ravel().tolist(), "userface": triangles.ravel().tolist()}
