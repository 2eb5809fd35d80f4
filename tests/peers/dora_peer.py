"""A RustDDS peer (the ROS 2 bridge of dora-rs): topics and service calls.

python dora_peer.py (listen | talk | call) DOMAIN COUNT [LIMIT_S]
"""

import contextlib
import sys
import tempfile
import time
from pathlib import Path

import dora
import pyarrow as pa

mode, domain, count = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
limit_s = float(sys.argv[4]) if len(sys.argv) > 4 else 10.0  # for one call

REQUEST = "\n".join(f"float32 f{i}" for i in range(6))
DEFINITIONS = {
    "std_msgs/msg/String.msg": "string data\n",
    "thenar_test/srv/SetForce.srv": f"{REQUEST}\n---\nbool accepted\nfloat32 echo\n",
}
with tempfile.TemporaryDirectory() as folder:
    for name, text in DEFINITIONS.items():
        package = name.partition("/")[0]
        path = Path(folder, "share", name)
        for kind in ("msg", "srv", "action"):
            Path(folder, "share", package, kind).mkdir(parents=True, exist_ok=True)
        Path(folder, "share", package, "package.xml").write_text(f"<package><name>{package}</name></package>")
        path.write_text(text)
    context = dora.Ros2Context(ros_paths=[folder], domain_id=domain)
node = context.new_node("dora_peer", "/", dora.Ros2NodeOptions(rosout=False))
qos = dora.Ros2QosPolicies(reliable=True, keep_last=10)

if mode == "listen":
    subscription = node.create_subscription(node.create_topic("/from_thenar", "std_msgs/String", qos), qos)
    got = 0
    while got < count:
        value = subscription.next()
        if value is None:
            time.sleep(0.002)
            continue
        text = value[0].as_py()["data"]
        print("got", len(text), text[:20], flush=True)
        got += 1
elif mode == "talk":
    publisher = node.create_publisher(node.create_topic("/to_thenar", "std_msgs/String", qos), qos)
    time.sleep(3.0)
    for number in range(count):
        with contextlib.suppress(Exception):  # it gives up a sample that nobody confirms for long
            publisher.publish(pa.array([{"data": f"dora {number}".ljust(20 if number < count - 1 else 100_000)}]))
        time.sleep(0.002)
    time.sleep(1.0)
elif mode == "call":
    client = node.create_service_client("/set_force", "thenar_test/SetForce", qos)
    fields = pa.struct([(f"f{i}", pa.float32()) for i in range(6)])
    for number in range(1, count + 1):
        force = 30000.0 + number
        request = pa.array([{"f0": force, **{f"f{i}": 0.5 for i in range(1, 6)}}], type=fields)
        start_s = time.perf_counter()
        try:
            answer = client.call(request, timeout_s=limit_s)[0].as_py()
        except Exception as why:
            print("WRONG", why, flush=True)
            continue
        took_s = time.perf_counter() - start_s
        right = answer == {"accepted": True, "echo": force}
        print("reply" if right else f"WRONG {answer}", f"{took_s * 1e6:.0f}", flush=True)
