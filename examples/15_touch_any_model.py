"""Touch for any model: a made-up hand from a URDF with meshed fingertips, beside MuJoCo's own touch sensors."""

import tempfile
from pathlib import Path

import mujoco
import numpy as np

import thenar

folder = Path(tempfile.mkdtemp())

# A fingertip as a mesh: 2000 points of an egg that is flattened on its back, and their hull.
k = np.arange(2000) + 0.5
polar, turn = np.arccos(1 - k / 1000), np.pi * (1 + 5**0.5) * k
points = np.stack([np.cos(turn) * np.sin(polar), np.sin(turn) * np.sin(polar), np.cos(polar)], axis=1)
points = np.clip(points, [-1, -1, -0.6], 1) * [0.013, 0.009, 0.009]
shape = mujoco.MjSpec()
shape.add_mesh(name="tip", uservert=points.ravel().tolist(), inertia=mujoco.mjtMeshInertia.mjMESH_INERTIA_CONVEX)
shape.worldbody.add_geom(type=mujoco.mjtGeom.mjGEOM_MESH, meshname="tip")
mesh = shape.compile()
R = np.zeros(9)
mujoco.mju_quat2Mat(R, mesh.mesh_quat[0])
corners = mesh.mesh_vert @ R.reshape(3, 3).T + mesh.mesh_pos[0]  # as they were: MuJoCo centres and turns meshes
count = mesh.mesh_graph[1]
faces = mesh.mesh_graph[2 + 3 * mesh.mesh_graph[0] + 3 * count :][: 3 * count].reshape(-1, 3)
lines = [f"v {x} {y} {z}" for x, y, z in corners] + [f"f {a} {b} {c}" for a, b, c in faces + 1]
(folder / "tip.obj").write_text("\n".join(lines))

# A hand of two fingers, as a maker's URDF would have it.
finger = """
  <link name="{name}_tip">
    <inertial><mass value="0.02"/><inertia ixx="1e-6" iyy="1e-6" izz="1e-6" ixy="0" ixz="0" iyz="0"/></inertial>
    <collision><geometry><mesh filename="tip.obj"/></geometry></collision></link>
  <joint name="{name}" type="revolute"><parent link="palm"/><child link="{name}_tip"/><origin xyz="0 {y} 0"/>
    <axis xyz="0 1 0"/><limit lower="-0.01" upper="0.01" effort="5" velocity="2"/></joint>"""
urdf = folder / "hand.urdf"
urdf.write_text(
    f"""<robot name="made_up"><mujoco><compiler meshdir="{folder}" fusestatic="false"/></mujoco><link name="palm"/>
{finger.format(name="index", y=0)}{finger.format(name="thumb", y=0.06)}</robot>"""
)

spec = mujoco.MjSpec.from_file(str(urdf))
spec.option.timestep = 0.001
for y in (0.0, 0.06):  # something to feel: a ball of 100 g on each fingertip
    ball = spec.worldbody.add_body(pos=[0.001, y, 0.0175])
    ball.add_joint(type=mujoco.mjtJoint.mjJNT_SLIDE, axis=[0, 0, 1])
    ball.add_geom(type=mujoco.mjtGeom.mjGEOM_SPHERE, size=[0.008, 0, 0], mass=0.1)
pads = [
    thenar.GridPad(name="index", geom="index_tip", rows=10, cols=8, size_m=(0.01, 0.008), towards=(0, 0, 1)),
    thenar.CoverPad(name="thumb", geom="thumb_tip", spacing_m=0.002, towards=(0, 0, 1)),
]

# MuJoCo's own sensors on the taxels of the index finger: `tactile` has a depth at each, `touch_grid` the force of
# contact points by direction, seen from far behind the pad.
places, outward = (part.reshape(-1, 3) for part in thenar.touch.attach(spec, pads[:1]).taxels("index"))
spec.add_mesh(name="taxels", uservert=np.concatenate([places, places - 0.003 * outward]).ravel().tolist())
tip = spec.body("index_tip")
tip.add_geom(name="taxels", type=mujoco.mjtGeom.mjGEOM_MESH, meshname="taxels", contype=0, conaffinity=0, mass=0)
tactile = spec.add_sensor(name="tactile", type=mujoco.mjtSensor.mjSENS_TACTILE, objname="taxels", refname="taxels")
tactile.objtype, tactile.reftype = mujoco.mjtObj.mjOBJ_MESH, mujoco.mjtObj.mjOBJ_GEOM
tip.add_site(name="eye", pos=[0, 0, -0.2], quat=[0, 1, 0, 0])
spec.activate_plugin("mujoco.sensor.touch_grid")
bins = spec.add_plugin(name="grid", plugin_name="mujoco.sensor.touch_grid", active=True)
bins.config = {"nchannel": "1", "size": "8 10", "fov": "1.1 1.4", "gamma": "0"}
grid = spec.add_sensor(name="grid", type=mujoco.mjtSensor.mjSENS_PLUGIN, objname="eye")
grid.objtype = mujoco.mjtObj.mjOBJ_SITE
grid.plugin.name, grid.plugin.plugin_name, grid.plugin.active = "grid", "mujoco.sensor.touch_grid", True
model = spec.compile()
data = mujoco.MjData(model)
skin = thenar.touch.attach(model, pads, calibration="paxini")
for _ in range(300):
    mujoco.mj_step(model, data)
    skin(data)
print(frame := skin(data))
print("counts under the ball:", frame.counts["index"].max(), "slip:", round(frame.slip["index"], 2))
depth_um, bins_n = 1e6 * data.sensor("tactile").data[: 2 * len(places)], np.abs(data.sensor("grid").data)
print(f"ours {frame.force_n['index']:.2f} N on {(frame['index'] > 0).sum()} taxels,", end=" ")
print(f"touch_grid {bins_n.sum():.2f} N in {(bins_n > 0).sum()} bin,", end=" ")
print(f"tactile no force, {depth_um.max():.0f} um deep at {(depth_um > 0).sum()} taxels")
