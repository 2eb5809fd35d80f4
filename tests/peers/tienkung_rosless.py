"""A program for Tienkung's hands on rosless: both topics, and what the graph shows. No thenar here.

python tienkung_rosless.py DOMAIN SIDE. Prints one line of JSON.
"""

import json
import os
import sys
import threading
import time

import rosless

domain, side = int(sys.argv[1]), sys.argv[2]
node = rosless.Node(domain=domain)
publisher = node.advertise(f"/inspire_hand/ctrl/{side}_hand", "sensor_msgs/msg/JointState")
subscription = node.subscribe(f"/inspire_hand/state/{side}_hand", "sensor_msgs/msg/JointState")
newest: list = []


def listen() -> None:
    for message in subscription:
        newest[:] = [message]


threading.Thread(target=listen, daemon=True).start()
until = time.monotonic() + 10
while not publisher.subscriber_count and time.monotonic() < until:
    time.sleep(0.01)
for _ in range(120):
    publisher.send(rosless.Message("sensor_msgs/msg/JointState", name=["6", "2"], position=[0.3, 0.4]))
    time.sleep(0.01)
time.sleep(0.3)
graph = node.graph()
state = newest[0]
print(
    json.dumps(
        {
            "state": {
                "frame_id": state.header.frame_id,
                "name": list(state.name),
                "position": list(state.position),
                "velocity": list(state.velocity),
                "effort": list(state.effort),
            },
            "topics": sorted(topic.name for topic in graph.topics),
            "services": sorted(str(service) for service in graph.services),
        }
    ),
    flush=True,
)
os._exit(0)  # its own threads do not survive the end of the interpreter
