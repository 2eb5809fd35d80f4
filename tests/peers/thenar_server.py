"""Our own participant as a process, for where a test cannot be: another network namespace.

python thenar_server.py INTERFACE DOMAIN [PEER]

With the address of a peer it does without multicast. It serves until its input ends, and then tells how it is.
"""

import json
import struct
import sys
from dataclasses import asdict

from thenar.wire.rtps import Participant, ros

interface, domain = sys.argv[1], int(sys.argv[2])


def handle(body: bytes) -> bytes:
    return struct.pack("<?3xf", True, struct.unpack("<6f", body)[0])


peers = sys.argv[3:] or ["127.0.0.1"]
with Participant(domain, interface=interface, peers=peers, multicast=len(sys.argv) == 3) as participant:
    participant.serve(
        ros.service_names("/set_force", "thenar_test/srv/SetForce"), handle, refusal=bytes(8), body_bytes=24
    )
    print("ready", flush=True)
    sys.stdin.read()
    print(json.dumps(asdict(participant.health())), flush=True)
