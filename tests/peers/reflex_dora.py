"""A program for the ReFlex driver's ROS 2 face on RustDDS (the ROS 2 bridge of dora-rs). No thenar here.

python reflex_dora.py DOMAIN. Prints one line of JSON.
"""

import json
import sys
import tempfile
import time
from pathlib import Path

import dora
import pyarrow as pa

domain = int(sys.argv[1])
FOUR = "float64 f1\nfloat64 f2\nfloat64 f3\nfloat64 preshape\n"
DEFINITIONS = {
    "std_srvs/srv/Empty.srv": (
        "uint8 structure_needs_at_least_one_member\n---\nuint8 structure_needs_at_least_one_member\n"
    ),
    "reflex_msgs/msg/Finger.msg": ("float32 proximal\nfloat32 distal_approx\nbool[9] contact\nfloat32[9] pressure\n"),
    "reflex_msgs/msg/Motor.msg": (
        "float64 joint_angle\nfloat64 raw_angle\nfloat64 velocity\nfloat64 load\nfloat64 voltage\nint32 temperature\n"
        "string error_state\n"
    ),
    "reflex_msgs/msg/Hand.msg": "Finger[3] finger\nMotor[4] motor\n",
    "reflex_msgs/msg/PoseCommand.msg": FOUR,
    "reflex_msgs/srv/SetSpeed.srv": "float64[4] motor\n---\nuint8 structure_needs_at_least_one_member\n",
}
with tempfile.TemporaryDirectory() as folder:
    for name, text in DEFINITIONS.items():
        package = name.partition("/")[0]
        for kind in ("msg", "srv", "action"):
            Path(folder, "share", package, kind).mkdir(parents=True, exist_ok=True)
        Path(folder, "share", package, "package.xml").write_text(f"<package><name>{package}</name></package>")
        Path(folder, "share", name).write_text(text)
    context = dora.Ros2Context(ros_paths=[folder], domain_id=domain)
node = context.new_node("reflex_dora", "/", dora.Ros2NodeOptions(rosout=False))
qos = dora.Ros2QosPolicies(reliable=True, keep_last=10)
NS = "/reflex_takktile"
tactile = node.create_service_client(f"{NS}/calibrate_tactile", "std_srvs/Empty", qos)
speed = node.create_service_client(f"{NS}/set_speed", "reflex_msgs/SetSpeed", qos)
states = node.create_subscription(node.create_topic(f"{NS}/hand_state", "reflex_msgs/Hand", qos), qos)
control = node.create_publisher(node.create_topic(f"{NS}/command_position", "reflex_msgs/PoseCommand", qos), qos)
time.sleep(2.0)


def call(client: object, request: dict, kind: pa.DataType) -> object:
    try:
        client.call(pa.array([request], type=kind), timeout_s=10.0)
    except Exception as why:
        return f"failed: {why}"
    return True


heard: dict[str, object] = {}
NOTHING = pa.struct([("structure_needs_at_least_one_member", pa.uint8())])
heard["calibrate_tactile"] = call(tactile, {"structure_needs_at_least_one_member": 0}, NOTHING)
heard["set_speed"] = call(speed, {"motor": [1.0] * 4}, pa.struct([("motor", pa.list_(pa.float64()))]))
POSE = pa.struct([(name, pa.float64()) for name in ("f1", "f2", "f3", "preshape")])
newest, until = None, time.monotonic() + 3.0
while time.monotonic() < until:
    control.publish(pa.array([{"f1": 0.4, "f2": 0.8, "f3": 1.2, "preshape": 0.3}], type=POSE))
    while (value := states.next()) is not None:
        newest = value[0].as_py()
    time.sleep(0.02)
assert newest is not None
heard["joint"] = [motor["joint_angle"] for motor in newest["motor"]]
heard["error"] = [motor["error_state"] for motor in newest["motor"]]
heard["contact"] = [finger["contact"] for finger in newest["finger"]]
heard["proximal"] = [finger["proximal"] for finger in newest["finger"]]
print(json.dumps(heard), flush=True)
