"""A program beside a hand that follows a glove, on Cyclone DDS with ROS 2's own message definitions. No thenar here.

python follow_cyclone.py DOMAIN hear: the next joint_states and hand_markers, as one line of JSON.
python follow_cyclone.py DOMAIN glove FILE: play a 25-node recording (npz with position_m and quat_wxyz) as a Manus
glove on /manus_glove_0, over and over, until killed.
"""

import json
import sys
import time
import types
from dataclasses import dataclass

import cyclonedds.idl.annotations as annotate
from cyclonedds.core import Policy, Qos
from cyclonedds.domain import Domain, DomainParticipant
from cyclonedds.idl import IdlStruct
from cyclonedds.idl.types import float32, float64, int32, sequence, uint8, uint32
from cyclonedds.pub import DataWriter
from cyclonedds.sub import DataReader
from cyclonedds.topic import Topic
from cyclonedds.util import duration
from loopback import CONFIG

domain, what = int(sys.argv[1]), sys.argv[2]
kept = Domain(domain, CONFIG)
participant = DomainParticipant(domain)
reliable = Qos(Policy.Reliability.Reliable(duration(seconds=1)), Policy.History.KeepLast(10))


def message(name: str):
    """A message of ROS 2: package/Name, as its middlewares name it."""
    package, _, short = name.partition("/")

    def make(kind: type) -> type:
        made = types.new_class(
            short,
            (IdlStruct,),
            {"typename": f"{package}::msg::dds_::{short}_"},
            lambda names: names.update(__annotations__=kind.__annotations__, __module__=__name__),
        )
        return annotate.final(dataclass(made))

    return make


@message("builtin_interfaces/Time")
class Time:
    sec: int32
    nanosec: uint32


@message("builtin_interfaces/Duration")
class Duration:
    sec: int32
    nanosec: uint32


@message("std_msgs/Header")
class Header:
    stamp: Time
    frame_id: str


@message("sensor_msgs/JointState")
class JointState:
    header: Header
    name: sequence[str]
    position: sequence[float64]
    velocity: sequence[float64]
    effort: sequence[float64]


@message("geometry_msgs/Point")
class Point:
    x: float64
    y: float64
    z: float64


@message("geometry_msgs/Quaternion")
class Quaternion:
    x: float64
    y: float64
    z: float64
    w: float64


@message("geometry_msgs/Pose")
class Pose:
    position: Point
    orientation: Quaternion


@message("geometry_msgs/Vector3")
class Vector3:
    x: float64
    y: float64
    z: float64


@message("std_msgs/ColorRGBA")
class ColorRGBA:
    r: float32
    g: float32
    b: float32
    a: float32


@message("sensor_msgs/CompressedImage")
class CompressedImage:
    header: Header
    format: str
    data: sequence[uint8]


@message("visualization_msgs/UVCoordinate")
class UVCoordinate:
    u: float32
    v: float32


@message("visualization_msgs/MeshFile")
class MeshFile:
    filename: str
    data: sequence[uint8]


@message("visualization_msgs/Marker")
class Marker:
    header: Header
    ns: str
    id: int32
    type: int32
    action: int32
    pose: Pose
    scale: Vector3
    color: ColorRGBA
    lifetime: Duration
    frame_locked: bool
    points: sequence[Point]
    colors: sequence[ColorRGBA]
    texture_resource: str
    texture: CompressedImage
    uv_coordinates: sequence[UVCoordinate]
    text: str
    mesh_resource: str
    mesh_file: MeshFile
    mesh_use_embedded_materials: bool


@message("visualization_msgs/MarkerArray")
class MarkerArray:
    markers: sequence[Marker]


@message("geometry_msgs/Transform")
class Transform:
    translation: Vector3
    rotation: Quaternion


@message("geometry_msgs/TransformStamped")
class TransformStamped:
    header: Header
    child_frame_id: str
    transform: Transform


@message("tf2_msgs/TFMessage")
class TFMessage:
    transforms: sequence[TransformStamped]


@message("manus_ros2_msgs/ManusRawNode")
class ManusRawNode:
    node_id: int32
    parent_node_id: int32
    joint_type: str
    chain_type: str
    pose: Pose


@message("manus_ros2_msgs/ManusErgonomics")
class ManusErgonomics:
    type: str
    value: float32


@message("manus_ros2_msgs/ManusGlove")
class ManusGlove:
    glove_id: int32
    side: str
    raw_node_count: int32
    raw_nodes: sequence[ManusRawNode]
    ergonomics_count: int32
    ergonomics: sequence[ManusErgonomics]
    raw_sensor_orientation: Quaternion
    raw_sensor_count: int32
    raw_sensor: sequence[Pose]


def hear() -> None:
    """Print the next of each topic."""
    latched = Qos(Policy.Reliability.Reliable(duration(seconds=1)), Policy.Durability.TransientLocal)
    readers = {
        name: DataReader(participant, Topic(participant, f"rt/{name}", kind), qos=reliable)
        for name, kind in (("joint_states", JointState), ("hand_markers", MarkerArray))
    }
    readers["tf_static"] = DataReader(participant, Topic(participant, "rt/tf_static", TFMessage), qos=latched)
    heard: dict = {}
    until = time.monotonic() + 30
    while len(heard) < 3 and time.monotonic() < until:
        for name, reader in readers.items():
            for sample in reader.take(1):
                heard[name] = sample
        time.sleep(0.01)
    state, markers = heard["joint_states"], heard["hand_markers"].markers
    frame = heard["tf_static"].transforms[0]
    place, turn = frame.transform.translation, frame.transform.rotation
    print(
        json.dumps(
            {
                "name": list(state.name),
                "position": list(state.position),
                "frames": sorted({marker.header.frame_id for marker in markers}),
                "kinds": sorted({(marker.type, marker.action) for marker in markers}),
                "ids": [marker.id for marker in markers],
                "sizes": sorted({marker.scale.x for marker in markers}),
                "points": [[m.pose.position.x, m.pose.position.y, m.pose.position.z] for m in markers],
                "glove": [frame.header.frame_id, frame.child_frame_id],
                "glove_m": [place.x, place.y, place.z],
                "glove_wxyz": [turn.w, turn.x, turn.y, turn.z],
                "turns": sorted({marker.pose.orientation.w for marker in markers}),
            }
        )
    )


def play(file: str) -> None:
    """Be a glove."""
    import numpy as np

    held = np.load(file)
    writer = DataWriter(participant, Topic(participant, "rt/manus_glove_0", ManusGlove), qos=reliable)
    while True:
        for position, quat in zip(held["position_m"].tolist(), held["quat_wxyz"].tolist(), strict=True):
            nodes = [
                ManusRawNode(n, max(n - 1, 0), "MCP", "Index", Pose(Point(*p), Quaternion(*q[1:], q[0])))
                for n, (p, q) in enumerate(zip(position, quat, strict=True))
            ]
            angles = [ManusErgonomics("IndexMCPStretch", 12.5)]
            sensors = [Pose(Point(0.0, 0.0, 0.0), Quaternion(0.0, 0.0, 0.0, 1.0))]
            none = Quaternion(0.0, 0.0, 0.0, 1.0)
            writer.write(ManusGlove(0, "Right", len(nodes), nodes, 1, angles, none, 1, sensors))
            time.sleep(1 / 60)


if what == "hear":
    hear()
else:
    play(sys.argv[3])
