"""Read a URDF with yourdfpy and with urchin, turn its driven joints, and print where every link is, as JSON.

Arguments: the file, and the angles as JSON. What is coupled is left to the readers.
"""

import json
import sys

import urchin
import yourdfpy

path, angles = sys.argv[1], json.loads(sys.argv[2])
poses = {}

robot = yourdfpy.URDF.load(path, load_meshes=False, load_collision_meshes=False)
robot.update_cfg(angles)
poses["yourdfpy"] = {name: robot.get_transform(name).tolist() for name in robot.link_map}

other = urchin.URDF.load(path, lazy_load_meshes=True)
poses["urchin"] = {link.name: pose.tolist() for link, pose in other.link_fk(cfg=angles).items()}

json.dump(poses, sys.stdout)
