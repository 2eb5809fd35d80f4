"""Topics of the simulator itself, which no real hand has, as bytes: resets, poses, and stress on every taxel.

``rt/reset_pose/cmd`` and ``rt/sim_state`` are those of Unitree's simulator (unitree_sim_isaaclab): a state is JSON with
the scene's state, JSON too, as text in it. Clients keep at most 4088 bytes of it. The other two are thenar's own, in
types of ROS 2.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Literal

import numpy as np

from thenar import cdr
from thenar.arrays import FloatArray, finite_vector, unit_quaternion
from thenar.cdr import BadMessage
from thenar.errors import BadValue
from thenar.signals import Pose, SceneState, TouchFrame

RESET_TOPIC = "rt/reset_pose/cmd"
POSE_TOPIC = "rt/set_pose/cmd"
STATE_TOPIC = "rt/sim_state"
REWARD_TOPIC = "rt/rewards_state"
STRING = "std_msgs::msg::dds_::String_"
FLOATS = "std_msgs::msg::dds_::Float32MultiArray_"
STATES = {STATE_TOPIC: STRING}
COMMANDS = {RESET_TOPIC: STRING, POSE_TOPIC: STRING}

RESETS: Mapping[str, Literal["objects", "all"]] = {"1": "objects", "2": "all"}
"""What the text of a reset asks for."""
MAX_TEXT = 4088
"""Bytes of a state that clients keep; of a longer one they keep nothing."""
MAX_POS_M = 100.0
DETAIL = ((5, True), (4, True), (4, False))  # decimals, and whether velocities are told: as much as there is room for


def stress_topic(hand: str) -> str:
    """Topic of the stress on a hand's taxels."""
    return f"rt/thenar/stress/{hand}"


def encode_text(text: str) -> bytes:
    """A ``std_msgs/String``."""
    out = bytearray()
    cdr.put_string(out, text)
    return cdr.HEADER + bytes(out)


def decode_text(message: bytes) -> str:
    """What a ``std_msgs/String`` says."""
    reader = cdr.Reader(message)
    text = reader.string("text")
    reader.end()
    return text


def decode_reset(message: bytes) -> Literal["objects", "all"]:
    """What a reset asks for."""
    text = decode_text(message).strip()
    if text not in RESETS:
        raise BadMessage(f"reset is {text[:16]!r}; wanted 1 (objects) or 2 (everything)")
    return RESETS[text]


def encode_state(state: SceneState) -> tuple[bytes, int]:
    """A state message, and how many objects had to be left out because there was no room."""
    for decimals, velocities in DETAIL:
        text = _state_text(state, len(state.object_names), decimals, velocities)
        if len(text) <= MAX_TEXT:
            return encode_text(text), 0
    objects = len(state.object_names)
    while len(text := _state_text(state, objects, *DETAIL[-1])) > MAX_TEXT and objects:
        objects -= 1
    return encode_text(text), len(state.object_names) - objects


def decode_state(message: bytes) -> dict[str, Any]:
    """What a state message says: ``task_name``, and ``init_state`` read from its text."""
    outer = _read_json(decode_text(message), "state")
    if not isinstance(outer.get("init_state"), str):
        raise BadMessage("state has no init_state with text")
    return {**outer, "init_state": _read_json(outer["init_state"], "init_state")}


def object_positions(state: dict[str, Any]) -> dict[str, list[float]]:
    """Where objects are, from a decoded state, of ours or of Unitree's simulator [m]."""
    objects = state["init_state"].get("rigid_object")
    try:
        return {str(name): [float(x) for x in body["root_pose"][0][:3]] for name, body in objects.items()}
    except (AttributeError, KeyError, IndexError, TypeError, ValueError, OverflowError):
        raise BadMessage("rigid_object has no root_pose of numbers for every object") from None


def encode_poses(objects: Mapping[str, Pose], wrists: Mapping[str, Pose]) -> bytes:
    """A message that puts objects somewhere and sends wrists somewhere."""

    def plain(poses: Mapping[str, Pose]) -> dict[str, dict[str, list[float]]]:
        return {
            name: {"pos_m": np.asarray(pos_m).tolist()}
            | ({} if quat_wxyz is None else {"quat_wxyz": np.asarray(quat_wxyz).tolist()})
            for name, (pos_m, quat_wxyz) in poses.items()
        }

    return encode_text(json.dumps({"objects": plain(objects), "wrists": plain(wrists)}))


def decode_poses(message: bytes) -> tuple[dict[str, Pose], dict[str, Pose]]:
    """Poses of objects and of wrists that are asked for."""
    asked = _read_json(decode_text(message), "poses")
    if not asked or not asked.keys() <= {"objects", "wrists"}:
        raise BadMessage(f"poses have {_keys(asked)}; wanted objects, wrists or both")
    return _poses(asked.get("objects", {}), "objects"), _poses(asked.get("wrists", {}), "wrists")


def encode_stress(frame: TouchFrame) -> bytes:
    """Pressure and friction along rows and columns of every taxel [Pa], a ``std_msgs/Float32MultiArray``."""
    stress_pa = np.column_stack([frame.taxel_pressure_pa, frame.taxel_shear_pa])
    out = bytearray()
    cdr.put(out, "I", stress_pa.ndim)
    for label, size, stride in zip(("taxel", "pressure,row,column"), stress_pa.shape, (stress_pa.size, 3), strict=True):
        cdr.put_string(out, label)
        cdr.put(out, "II", size, stride)
    cdr.put(out, "I", 0)  # data_offset
    cdr.put_sequence(out, "f4", stress_pa)
    return cdr.HEADER + bytes(out)


def _state_text(state: SceneState, objects: int, decimals: int, velocities: bool) -> str:
    def plain(values: FloatArray) -> list[list[float]]:
        return [np.round(values, decimals).tolist()]

    def moving(name: str, values: FloatArray) -> dict[str, list[list[float]]]:
        return {name: plain(values)} if velocities else {}

    hands = zip(state.hand_names, state.palm_pose, state.joint_rad, state.joint_velocity_rad_s, strict=True)
    things = zip(state.object_names[:objects], state.object_pose, state.object_velocity, strict=False)
    inner = {
        "articulation": {
            name: {"root_pose": plain(pose), "joint_position": plain(rad)} | moving("joint_velocity", rad_s)
            for name, pose, rad, rad_s in hands
        },
        "deformable_object": {},
        "rigid_object": {
            name: {"root_pose": plain(pose)} | moving("root_velocity", speed) for name, pose, speed in things
        },
    }
    return json.dumps({"init_state": json.dumps(inner, separators=(",", ":")), "task_name": state.scene})


def _read_json(text: str, what: str) -> dict[str, Any]:
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        raise BadMessage(f"{what} is not JSON") from None
    if not isinstance(value, dict):
        raise BadMessage(f"{what} is a {type(value).__name__}; wanted a JSON object")
    return value


def _poses(asked: Any, what: str) -> dict[str, Pose]:
    if not isinstance(asked, dict):
        raise BadMessage(f"{what} is a {type(asked).__name__}; wanted poses by name")
    return {name: _pose(pose, f"{what}.{name[:32]}") for name, pose in asked.items()}


def _pose(asked: Any, what: str) -> Pose:
    if not isinstance(asked, dict) or not {"pos_m"} <= asked.keys() <= {"pos_m", "quat_wxyz"}:
        raise BadMessage(f"{what} has {_keys(asked)}; wanted pos_m, and quat_wxyz where it is to turn")
    try:
        pos_m = finite_vector(f"{what}.pos_m", asked["pos_m"])
        if np.abs(pos_m).max() > MAX_POS_M:
            raise BadValue(f"{what}.pos_m", pos_m.tolist(), f"places within {MAX_POS_M:g} m")
        quat = asked.get("quat_wxyz")
        return pos_m, None if quat is None else unit_quaternion(f"{what}.quat_wxyz", quat)
    except BadValue as error:
        raise BadMessage(str(error)) from None


def _keys(value: Any) -> str:
    return ", ".join(sorted(key[:16] for key in value)[:4]) if isinstance(value, dict) and value else "nothing"
