"""A program for Tienkung's hands on RustDDS (the ROS 2 bridge of dora-rs): every service and both topics.

python tienkung_dora.py DOMAIN SIDE. Prints one line of JSON. No thenar here.
"""

import json
import sys
import tempfile
import time
from pathlib import Path

import dora
import pyarrow as pa

domain, side = int(sys.argv[1]), sys.argv[2]


def six(stem: str) -> str:
    return "\n".join(f"float32 {stem}{n}_ratio" for n in range(6))


SERVICES = {
    "set_speed": ("SetSpeed", six("speed"), "bool speed_accepted"),
    "set_force": ("SetForce", six("force"), "bool force_accepted"),
    "set_angle_flexible": ("SetAngleFlexible", "string[] name\nfloat32[] angle_ratio", "bool angle_accepted"),
    "get_angle_act": ("GetAngleAct", "uint8 structure_needs_at_least_one_member", "float32[6] curangle_ratio"),
    "get_force_act": ("GetForceAct", "uint8 structure_needs_at_least_one_member", "float32[6] curforce_ratio"),
    "get_error": ("GetError", "uint8 structure_needs_at_least_one_member", "uint32[6] errorvalue"),
    "get_status": ("GetStatus", "uint8 structure_needs_at_least_one_member", "uint32[6] statusvalue"),
    "set_clear_error": (
        "SetClearError",
        "uint8 structure_needs_at_least_one_member",
        "bool setclear_error_accepted",
    ),
    "set_angle": ("SetAngle", six("angle"), "bool angle_accepted"),
}
DEFINITIONS = {
    "builtin_interfaces/msg/Time.msg": "int32 sec\nuint32 nanosec\n",
    "std_msgs/msg/Header.msg": "builtin_interfaces/Time stamp\nstring frame_id\n",
    "sensor_msgs/msg/JointState.msg": (
        "std_msgs/Header header\nstring[] name\nfloat64[] position\nfloat64[] velocity\nfloat64[] effort\n"
    ),
    **{f"bodyctrl_msgs/srv/{kind}.srv": f"{ask}\n---\n{answer}\n" for kind, ask, answer in SERVICES.values()},
}
with tempfile.TemporaryDirectory() as folder:
    for name, text in DEFINITIONS.items():
        package = name.partition("/")[0]
        for kind in ("msg", "srv", "action"):
            Path(folder, "share", package, kind).mkdir(parents=True, exist_ok=True)
        Path(folder, "share", package, "package.xml").write_text(f"<package><name>{package}</name></package>")
        Path(folder, "share", name).write_text(text)
    context = dora.Ros2Context(ros_paths=[folder], domain_id=domain)
node = context.new_node("tienkung_dora", "/", dora.Ros2NodeOptions(rosout=False))
qos = dora.Ros2QosPolicies(reliable=True, keep_last=10)
clients = {
    service: node.create_service_client(f"/inspire_hand/{service}/{side}_hand", f"bodyctrl_msgs/{kind}", qos)
    for service, (kind, _, _) in SERVICES.items()
}
EMPTY = pa.struct([("structure_needs_at_least_one_member", pa.uint8())])


def call(service: str, request: dict, kind: pa.DataType) -> object:
    try:
        answer = clients[service].call(pa.array([request], type=kind), timeout_s=5.0)[0].as_py()
    except Exception as why:
        return f"failed: {why}"
    (value,) = answer.values()
    return value


def call_six(service: str, stem: str, values: list[float]) -> object:
    kind = pa.struct([(f"{stem}{n}_ratio", pa.float32()) for n in range(6)])
    return call(service, {f"{stem}{n}_ratio": value for n, value in enumerate(values)}, kind)


FLEXIBLE = pa.struct([("name", pa.list_(pa.string())), ("angle_ratio", pa.list_(pa.float32()))])
joint_state = "sensor_msgs/JointState"
states = node.create_subscription(node.create_topic(f"/inspire_hand/state/{side}_hand", joint_state, qos), qos)
control = node.create_publisher(node.create_topic(f"/inspire_hand/ctrl/{side}_hand", joint_state, qos), qos)
time.sleep(2.0)
heard: dict[str, object] = {}
heard["set_speed"] = call_six("set_speed", "speed", [1.0] * 6)
heard["set_force"] = call_six("set_force", "force", [0.5] * 6)
heard["set_angle_flexible"] = call("set_angle_flexible", {"name": ["3", "1"], "angle_ratio": [0.7, 0.5]}, FLEXIBLE)
heard["refused"] = call_six("set_force", "force", [0.1, 0.1, 0.1, 0.1, 0.1, 7.0])
heard["unknown"] = call("set_angle_flexible", {"name": ["7"], "angle_ratio": [0.0]}, FLEXIBLE)
time.sleep(1.5)
for service in ("get_angle_act", "get_force_act", "get_error", "get_status", "set_clear_error"):
    heard[service] = call(service, {"structure_needs_at_least_one_member": 0}, EMPTY)
heard["set_angle"] = call_six("set_angle", "angle", [0.9] * 6)
time.sleep(0.5)
STAMP = pa.struct([("sec", pa.int32()), ("nanosec", pa.uint32())])
HEADER = pa.struct([("stamp", STAMP), ("frame_id", pa.string())])
DOUBLES = pa.list_(pa.float64())
JOINT_STATE = pa.struct(
    [
        ("header", HEADER),
        ("name", pa.list_(pa.string())),
        ("position", DOUBLES),
        ("velocity", DOUBLES),
        ("effort", DOUBLES),
    ]
)
message = {
    "header": {"stamp": {"sec": 0, "nanosec": 0}, "frame_id": ""},
    "name": ["6", "2"],
    "position": [0.3, 0.4],
    "velocity": [],
    "effort": [],
}
newest = None
for _ in range(100):
    control.publish(pa.array([message], type=JOINT_STATE))
    while (value := states.next()) is not None:
        newest = value[0].as_py()
    time.sleep(0.013)
assert newest is not None
heard["state"] = {
    "frame_id": newest["header"]["frame_id"],
    **{k: newest[k] for k in ("name", "position", "velocity", "effort")},
}
print(json.dumps(heard), flush=True)
