"""Serves a hand on every wire and prints each socket of the process: its address, and for a multicast group whether it
hears only the interface that it joined on ("joined") or what others joined too ("all"). Usage: DOMAIN PORT.
"""

import os
import socket
import sys

from thenar.twin.serving import serve
from thenar.wire.wire_config import ModbusOptions

GROUP, IP_MULTICAST_ALL = "239.255.0.1", 49

with serve(
    "inspire_right",
    wires=("inspire", "dfx", "modbus"),
    scene="empty",
    domain=int(sys.argv[1]),
    modbus=ModbusOptions(port=int(sys.argv[2])),
):
    for name in os.listdir("/proc/self/fd"):
        if not os.path.exists(f"/proc/self/fd/{name}") or "socket" not in os.readlink(f"/proc/self/fd/{name}"):
            continue
        one = socket.socket(fileno=os.dup(int(name)))
        if one.family != socket.AF_INET:
            print("local", "-")
            continue
        host = one.getsockname()[0]
        heard = ("joined", "all")[one.getsockopt(socket.IPPROTO_IP, IP_MULTICAST_ALL)]
        print(host, heard if host == GROUP else "-")
