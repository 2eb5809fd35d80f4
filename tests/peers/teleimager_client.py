"""teleimager's own client: asks where the cameras are, subscribes to each, and tells what it saw.

``python teleimager_client.py HOST CONFIG_PORT SECONDS``
"""

import json
import sys
import time

from teleimager.client import TeleImageClient


def main() -> None:
    host, port, seconds = sys.argv[1], int(sys.argv[2]), float(sys.argv[3])
    cameras, from_server = TeleImageClient.scan(server_host=host, request_port=port)
    clients = {
        topic: TeleImageClient(topic, server_host=host, zmq_port=camera["zmq_port"], request_bgr=True)
        for topic, camera in cameras.items()
        if camera["enable_zmq"]
    }
    seen = {topic: {"pictures": set(), "shape": None, "red": 0, "fps": 0.0} for topic in clients}
    until_s = time.perf_counter() + 20.0
    began_s = None
    while time.perf_counter() < until_s:
        for topic, client in clients.items():
            frame = client.get_frame()
            if frame.bgr is None:
                continue
            one = seen[topic]
            one["pictures"].add(hash(frame.jpg))
            one["shape"], one["fps"] = frame.bgr.shape, frame.fps
            blue, green, red = (frame.bgr[..., channel].astype(int) for channel in range(3))
            one["red"] = int(((red > 120) & (green < 100) & (blue < 100)).sum())
        if began_s is None and all(one["shape"] for one in seen.values()):
            began_s = time.perf_counter()
            until_s = began_s + seconds
        time.sleep(0.002)
    for client in clients.values():
        client.close()
    told = {topic: {**one, "pictures": len(one["pictures"])} for topic, one in seen.items()}
    print(json.dumps({"from_server": from_server, "cameras": cameras, "seen": told}))


if __name__ == "__main__":
    main()
