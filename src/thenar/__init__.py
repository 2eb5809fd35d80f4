"""A digital twin for dexterous robot hands."""

from __future__ import annotations

import importlib
import importlib.util
import os
from typing import TYPE_CHECKING, Any

from thenar.errors import WrongEngine

__version__ = "0.1.0"

if TYPE_CHECKING:
    from thenar import hands as hands
    from thenar import humanoid as humanoid
    from thenar.errors import ThenarError as ThenarError
    from thenar.hands.spec import HandSpec as HandSpec
    from thenar.humanoid import RobotData as RobotData
    from thenar.signals import Closing as Closing
    from thenar.signals import ContactSet as ContactSet
    from thenar.signals import HandCommand as HandCommand
    from thenar.signals import HandState as HandState
    from thenar.signals import MotorError as MotorError
    from thenar.signals import MotorStatus as MotorStatus
    from thenar.signals import TouchFrame as TouchFrame
    from thenar.sim import scenes as scenes
    from thenar.sim.props import Box as Box
    from thenar.sim.props import Capsule as Capsule
    from thenar.sim.props import Cylinder as Cylinder
    from thenar.sim.props import Ellipsoid as Ellipsoid
    from thenar.sim.props import Mesh as Mesh
    from thenar.sim.props import Sphere as Sphere
    from thenar.sim.scenes import Mount as Mount
    from thenar.sim.scenes import Scene as Scene
    from thenar.twin.body.body_loop import BodyTwin as BodyTwin
    from thenar.twin.body.body_world import BodyWorld as BodyWorld
    from thenar.twin.body.live_body import serve_body as serve_body
    from thenar.twin.world import World as World

# What `thenar.X` is and where it lives; imported on first use, so that `import thenar` costs nothing.
_EXPORTS = {
    "hands": "thenar.hands",
    "humanoid": "thenar.humanoid",
    "scenes": "thenar.sim.scenes",
    "ThenarError": "thenar.errors",
    "HandSpec": "thenar.hands.spec",
    "ContactSet": "thenar.signals",
    "Closing": "thenar.signals",
    "HandCommand": "thenar.signals",
    "HandState": "thenar.signals",
    "TouchFrame": "thenar.signals",
    "MotorError": "thenar.signals",
    "MotorStatus": "thenar.signals",
    **dict.fromkeys(("Sphere", "Box", "Cylinder", "Capsule", "Ellipsoid", "Mesh"), "thenar.sim.props"),
    **dict.fromkeys(("Mount", "Scene"), "thenar.sim.scenes"),
    "World": "thenar.twin.world",
    "RobotData": "thenar.humanoid",
    "BodyTwin": "thenar.twin.body.body_loop",
    "BodyWorld": "thenar.twin.body.body_world",
    "serve_body": "thenar.twin.body.live_body",
}


def __getattr__(name: str) -> Any:
    if name not in _EXPORTS:
        raise AttributeError(f"module 'thenar' has no attribute {name!r}")
    module = importlib.import_module(_EXPORTS[name])
    return module if _EXPORTS[name].rpartition(".")[2] == name else getattr(module, name)


def __dir__() -> list[str]:
    return sorted((*_EXPORTS, "__version__"))


def _check_engine() -> None:
    """Refuse another MuJoCo: the packages mujoco and mujoco-core own one folder, and pip lets the last one win.

    Folder names tell; importing the engine or the packages' metadata would take longer than all of `import thenar`.
    """
    found = importlib.util.find_spec("mujoco")
    for package in (found and found.submodule_search_locations) or ():
        site = os.path.dirname(package)
        for name in os.listdir(site):
            project, _, version = name.removesuffix(".dist-info").partition("-")
            if name.endswith(".dist-info") and project in ("mujoco", "mujoco_core") and not version.startswith("4."):
                raise WrongEngine(project.replace("_", "-"), version, package)


_check_engine()
