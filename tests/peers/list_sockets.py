"""Serves a hand on every wire and prints each socket of the process: address and device. Usage: DOMAIN PORT."""

import os
import socket
import sys

from thenar.twin.serving import serve
from thenar.wire.config import ModbusOptions

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
        device = one.getsockopt(socket.SOL_SOCKET, socket.SO_BINDTODEVICE, 16).rstrip(b"\0").decode()
        print(one.getsockname()[0] if one.family == socket.AF_INET else "local", device or "-")
