"""A digital twin for dexterous robot hands."""

from __future__ import annotations

import importlib
import importlib.util
import os
from typing import TYPE_CHECKING, Any

from thenar.compiled import find_cache
from thenar.errors import WrongEngine

__version__ = "0.2.0"

if TYPE_CHECKING:
    from thenar import hands as hands
    from thenar import humanoid as humanoid
    from thenar import touch as touch
    from thenar.errors import ThenarError as ThenarError
    from thenar.glove.files import read_log as read_log
    from thenar.glove.files import write_log as write_log
    from thenar.glove.log import GloveLog as GloveLog
    from thenar.glove.make import make_log as make_log
    from thenar.hands.export import export_hand as export_hand
    from thenar.hands.spec import HandSpec as HandSpec
    from thenar.humanoid import RobotData as RobotData
    from thenar.recordings.recording import Recording as Recording
    from thenar.retarget.config import RetargetConfig as RetargetConfig
    from thenar.retarget.retargeter import Retargeted as Retargeted
    from thenar.retarget.retargeter import Retargeter as Retargeter
    from thenar.retarget.xr_teleoperate import XrHandRetargeting as XrHandRetargeting
    from thenar.signals import Closing as Closing
    from thenar.signals import ContactSet as ContactSet
    from thenar.signals import GloveFrame as GloveFrame
    from thenar.signals import HandCommand as HandCommand
    from thenar.signals import HandState as HandState
    from thenar.signals import MotorError as MotorError
    from thenar.signals import MotorStatus as MotorStatus
    from thenar.signals import TouchFrame as TouchFrame
    from thenar.sim import scenes as scenes
    from thenar.sim.drawing.render import Camera as Camera
    from thenar.sim.drawing.render import frame_world as frame_world
    from thenar.sim.press import parse_indenter as parse_indenter
    from thenar.sim.props import Box as Box
    from thenar.sim.props import Capsule as Capsule
    from thenar.sim.props import Cylinder as Cylinder
    from thenar.sim.props import Ellipsoid as Ellipsoid
    from thenar.sim.props import Mesh as Mesh
    from thenar.sim.props import Sphere as Sphere
    from thenar.sim.scenes import Mount as Mount
    from thenar.sim.scenes import Scene as Scene
    from thenar.touch import calibrate as calibrate
    from thenar.touch.geom_pads import CoverPad as CoverPad
    from thenar.touch.geom_pads import GridPad as GridPad
    from thenar.touch.geom_pads import TaxelPad as TaxelPad
    from thenar.twin import teleoperation as teleoperation
    from thenar.twin.body.body_loop import BodyTwin as BodyTwin
    from thenar.twin.body.body_world import BodyWorld as BodyWorld
    from thenar.twin.body.g1_twin import G1Config as G1Config
    from thenar.twin.body.g1_twin import build_g1 as build_g1
    from thenar.twin.body.g1_twin import serve_g1 as serve_g1
    from thenar.twin.body.live_body import serve_body as serve_body
    from thenar.twin.compare.gap_report import compare as compare
    from thenar.twin.drops import drop_cubes as drop_cubes
    from thenar.twin.live_twin import LiveTwin as LiveTwin
    from thenar.twin.pictures import Film as Film
    from thenar.twin.pictures import Picture as Picture
    from thenar.twin.recording.convert import convert as convert
    from thenar.twin.recording.recorder import record as record
    from thenar.twin.recording.replay import replay as replay
    from thenar.twin.reports.press_report import press_pad as press_pad
    from thenar.twin.serve_config import PageOptions as PageOptions
    from thenar.twin.serve_config import ServeConfig as ServeConfig
    from thenar.twin.serving import serve as serve
    from thenar.twin.world import World as World
    from thenar.wire.clients.inspire_clients import DfxClient as DfxClient
    from thenar.wire.clients.inspire_clients import InspireClient as InspireClient
    from thenar.wire.clients.modbus_client import ModbusHand as ModbusHand
    from thenar.wire.clients.sim_client import SimClient as SimClient
    from thenar.wire.rtps import Participant as Participant
    from thenar.wire.wire_config import ModbusOptions as ModbusOptions

# The same names by where they live: imported on first use, so that `import thenar` costs nothing.
_NAMES = {
    "thenar.errors": "ThenarError",
    "thenar.glove.files": "read_log write_log",
    "thenar.glove.log": "GloveLog",
    "thenar.glove.make": "make_log",
    "thenar.hands.export": "export_hand",
    "thenar.hands.spec": "HandSpec",
    "thenar.humanoid": "RobotData",
    "thenar.recordings.recording": "Recording",
    "thenar.retarget.config": "RetargetConfig",
    "thenar.retarget.retargeter": "Retargeted Retargeter",
    "thenar.retarget.xr_teleoperate": "XrHandRetargeting",
    "thenar.signals": "Closing ContactSet GloveFrame HandCommand HandState MotorError MotorStatus TouchFrame",
    "thenar.sim.press": "parse_indenter",
    "thenar.sim.props": "Box Capsule Cylinder Ellipsoid Mesh Sphere",
    "thenar.sim.drawing.render": "Camera frame_world",
    "thenar.sim.scenes": "Mount Scene",
    "thenar.touch.geom_pads": "CoverPad GridPad TaxelPad",
    "thenar.twin.body.body_loop": "BodyTwin",
    "thenar.twin.body.body_world": "BodyWorld",
    "thenar.twin.body.g1_twin": "G1Config build_g1 serve_g1",
    "thenar.twin.body.live_body": "serve_body",
    "thenar.twin.compare.gap_report": "compare",
    "thenar.twin.drops": "drop_cubes",
    "thenar.twin.live_twin": "LiveTwin",
    "thenar.twin.pictures": "Film Picture",
    "thenar.twin.reports.press_report": "press_pad",
    "thenar.twin.recording.convert": "convert",
    "thenar.twin.recording.recorder": "record",
    "thenar.twin.recording.replay": "replay",
    "thenar.twin.serve_config": "PageOptions ServeConfig",
    "thenar.twin.serving": "serve",
    "thenar.twin.world": "World",
    "thenar.wire.clients.inspire_clients": "DfxClient InspireClient",
    "thenar.wire.clients.modbus_client": "ModbusHand",
    "thenar.wire.clients.sim_client": "SimClient",
    "thenar.wire.wire_config": "ModbusOptions",
    "thenar.wire.rtps": "Participant",
}
_MODULES = {
    "calibrate": "thenar.touch.calibrate",
    "hands": "thenar.hands",
    "humanoid": "thenar.humanoid",
    "scenes": "thenar.sim.scenes",
    "teleoperation": "thenar.twin.teleoperation",
    "touch": "thenar.touch",
}
_HOME = {name: module for module, names in _NAMES.items() for name in names.split()}


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        return importlib.import_module(_MODULES[name])
    if name in _HOME:
        return getattr(importlib.import_module(_HOME[name]), name)
    raise AttributeError(f"module 'thenar' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted((*_MODULES, *_HOME, "__version__"))


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
find_cache()
