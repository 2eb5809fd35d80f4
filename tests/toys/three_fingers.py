"""A made-up right hand on an arm, as an MJCF and as a URDF with meshes: everything that files may have and ours do not.

Two joints on one body, joints beside their body's origin, an angle that is not 0 in the file's pose, a joint that
follows another, fingertips that are meshes and carry a frame for their tip, and an arm that is no part of the hand.
"""

import math
import struct
from pathlib import Path

import numpy as np

HULL = np.array(
    [[x * w, y * d, z] for z, w, d in ((0.0, 0.008, 0.007), (0.02, 0.006, 0.005)) for x in (-1, 1) for y in (-1, 1)]
)
FACES = (
    (0, 2, 1), (1, 2, 3), (4, 5, 6), (5, 7, 6), (0, 1, 5), (0, 5, 4),
    (2, 6, 7), (2, 7, 3), (0, 4, 6), (0, 6, 2), (1, 3, 7), (1, 7, 5),
)  # fmt: skip
FINGERS = {"thumb": "thumb_tip", "index": "index_tip", "middle": "middle_tip"}
# Where a finger hangs on the palm [m], and how it is turned (x y z angles in degrees).
BASES = {
    "index": ("0.020 0 0.09", "0 0 0"),
    "middle": ("-0.020 0 0.09", "0 0 0"),
    "thumb": ("0.030 -0.012 0.030", "40 25 -75"),
}


def mjcf() -> str:
    """The text of the MJCF."""
    vertices = " ".join(f"{value:.6g}" for value in HULL.ravel())
    fingers, follows, motors = "", "", ""
    for name, (at, turn) in BASES.items():
        limit = "-20 20" if name != "thumb" else "-60 60"
        fingers += f"""
        <body name="{name}_1" pos="{at}" euler="{turn}">
          <joint name="{name}_spread" axis="0 1 0" range="{limit}" pos="0 0 -0.002"/>
          <joint name="{name}_bend" axis="1 0 0" range="-10 90" pos="0 0.001 0"/>
          <geom type="capsule" fromto="0 0 0.01 0 0 0.035" size="0.008"/>
          <body name="{name}_2" pos="0 0 0.045" euler="12 0 0">
            <joint name="{name}_middle" axis="1 0 0" range="0 95" ref="12"/>
            <geom type="capsule" fromto="0 0 0.004 0 0 0.022" size="0.0075"/>
            <body name="{name}_3" pos="0 0 0.028">
              <joint name="{name}_last" axis="1 0 0" range="0 80"/>
              <geom type="mesh" mesh="tip"/>
              <geom type="sphere" size="0.02" contype="0" conaffinity="0"/>
              <body name="{name}_tip" pos="0 0 0.022"/>
            </body>
          </body>
        </body>"""
        # Last = 0.8 middle: MuJoCo counts both from the file's own pose, in which middle stands at 12 degrees.
        follows += f'<joint joint1="{name}_last" joint2="{name}_middle" polycoef="{0.8 * math.radians(12)} 0.8 0 0 0"/>'
        for joint in ("spread", "bend", "middle"):
            motors += f'<position joint="{name}_{joint}" name="{name}_{joint}_motor" kp="1" forcerange="-1 1"/>'
    return f"""<mujoco model="three_fingers">
  <compiler angle="degree"/>
  <asset><mesh name="tip" vertex="{vertices}"/></asset>
  <worldbody><body name="arm" pos="0.3 0.1 0.5" euler="10 20 30">
    <joint name="elbow" axis="0 1 0" range="-90 90"/>
    <geom type="capsule" fromto="0 0 -0.3 0 0 -0.05" size="0.04"/>
    <body name="palm" pos="0 0 0.02">
        <joint name="wrist" axis="1 0 0" range="-30 30"/>
        <geom type="box" size="0.035 0.010 0.038" pos="0 0 0.04"/>{fingers}
    </body></body></worldbody>
  <equality>{follows}</equality>
  <actuator><position joint="elbow" kp="50"/>{motors}</actuator>
</mujoco>"""


def write_urdf(folder: Path) -> Path:
    """A package with a URDF of a hand of the same kind, its fingertips STL meshes."""
    description = folder / "three_fingers_description"
    (description / "meshes").mkdir(parents=True)
    (description / "urdf").mkdir()
    _write_stl(description / "meshes" / "tip.stl")
    inertial = (
        '<inertial><mass value="0.02"/><inertia ixx="1e-6" iyy="1e-6" izz="1e-6" ixy="0" ixz="0" iyz="0"/></inertial>'
    )
    mesh = '<mesh filename="package://three_fingers_description/meshes/tip.stl"/>'
    rod = '<origin xyz="0 0 0.022"/><geometry><cylinder radius="0.008" length="0.025"/></geometry>'
    looks = '<visual><geometry><mesh filename="package://not_there/pretty.dae"/></geometry></visual>'
    box = '<origin xyz="0 0 0.04"/><geometry><box size="0.07 0.02 0.076"/></geometry>'
    parts = [f'<link name="palm">{inertial}{looks}<collision>{box}</collision></link>']

    def joint(name: str, parent: str, child: str, at: str, rpy: str, axis: str, ends: str, more: str = "") -> None:
        lower, upper = ends.split()
        parts.append(
            f'<joint name="{name}" type="revolute"><parent link="{parent}"/><child link="{child}"/>'
            f'<origin xyz="{at}" rpy="{rpy}"/><axis xyz="{axis}"/>'
            f'<limit lower="{lower}" upper="{upper}" effort="1" velocity="3"/>{more}</joint>'
        )

    for name, (at, _) in BASES.items():
        rpy, wide = ("0.7 0.4 -1.3", "-1 1") if name == "thumb" else ("0 0 0", "-0.35 0.35")
        parts.append(f'<link name="{name}_0">{inertial}</link>')
        parts.append(f'<link name="{name}_1">{inertial}<collision>{rod}</collision></link>')
        parts.append(f'<link name="{name}_2">{inertial}<collision><geometry>{mesh}</geometry></collision></link>')
        joint(f"{name}_spread", "palm", f"{name}_0", at, rpy, "0 1 0", wide)
        joint(f"{name}_bend", f"{name}_0", f"{name}_1", "0 0 0", "0 0 0", "1 0 0", "-0.2 1.6")
        follow = f'<mimic joint="{name}_bend" multiplier="0.9" offset="0.05"/>'
        joint(f"{name}_last", f"{name}_1", f"{name}_2", "0 0 0.045", "0 0 0", "1 0 0", "-0.2 1.6", follow)
        parts.append(f'<link name="{name}_tip"/>')
        parts.append(
            f'<joint name="{name}_end" type="fixed"><parent link="{name}_2"/><child link="{name}_tip"/>'
            '<origin xyz="0 0 0.022"/></joint>'
        )
    path = description / "urdf" / "three_fingers.urdf"
    path.write_text(f'<robot name="three_fingers">{"".join(parts)}</robot>')
    return path


def _write_stl(path: Path) -> None:
    triangles = b"".join(struct.pack("<12fH", 0, 0, 0, *HULL[list(face)].ravel(), 0) for face in FACES)
    path.write_bytes(b"\0" * 80 + struct.pack("<I", len(FACES)) + triangles)
