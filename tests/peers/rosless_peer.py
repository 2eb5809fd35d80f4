"""A rosless peer: topics of ROS 2, written in Rust.

python rosless_peer.py (listen | talk | list) DOMAIN COUNT
"""

import contextlib
import sys
import time

import rosless

mode, domain, count = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
node = rosless.Node(domain=domain)
if mode == "listen":
    subscription = node.subscribe("/from_thenar", "std_msgs/msg/String", reliability="reliable")
    for _, message in zip(range(count), subscription, strict=False):
        text = str(getattr(message, "data"))  # noqa: B009 (types unknown to it would come as bytes)
        print("got", len(text), text[:20], flush=True)
elif mode == "talk":
    publisher = node.advertise("/to_thenar", "std_msgs/msg/String")
    end_s = time.monotonic() + 10
    while not publisher.subscriber_count and time.monotonic() < end_s:
        time.sleep(0.005)
    time.sleep(0.2)
    for number in range(count):
        text = f"rosless {number}".ljust(20 if number < count - 1 else 100_000)
        with contextlib.suppress(Exception):  # it gives up a sample that nobody confirms for long
            publisher.send(rosless.Message("std_msgs/msg/String", data=text))
        time.sleep(0.002)
    time.sleep(1.0)
elif mode == "list":
    time.sleep(2.0)
    graph = node.graph()
    print("topics", *sorted(f"{topic.name}={topic.type_name}" for topic in graph.topics))
    print("services", *sorted(str(service) for service in graph.services))
