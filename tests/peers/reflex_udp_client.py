"""A client of the ReFlex hand's own UDP protocol, written from its description alone. No thenar here.

python reflex_udp_client.py PORT. Prints one line of JSON.
"""

import json
import socket
import struct
import sys
import time

GROUP, PORT = "224.0.0.124", int(sys.argv[1])
LOOPBACK = socket.inet_aton("127.0.0.1")
# header (4 bytes, the first is 1), time [us], 38 pressures, 38 temperatures, 3 encoders, 4 errors, angles, speeds,
# loads, volts, motor temperatures
STATE = struct.Struct("<4BI38H38H3H4B4H4H4H4B4B")
assert STATE.size == 202

# As the maker's driver does: it does not want to hear itself.
out = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
out.setsockopt(socket.IPPROTO_IP, socket.IP_MULTICAST_IF, LOOPBACK)
out.setsockopt(socket.IPPROTO_IP, socket.IP_MULTICAST_LOOP, 0)
into = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
into.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
into.bind(("", PORT))
into.setsockopt(socket.IPPROTO_IP, socket.IP_ADD_MEMBERSHIP, socket.inet_aton(GROUP) + LOOPBACK)
into.settimeout(5.0)


def newest() -> dict:
    """The next state that comes."""
    while True:
        packet = into.recv(2000)
        if len(packet) == 202:  # on loopback our own commands come back too
            break
    values = STATE.unpack(packet)
    assert values[0] == 1
    return {
        "time_us": values[4],
        "pressures": values[5:43],
        "encoders": values[81:84],
        "errors": values[84:88],
        "angles": values[88:92],
        "speeds": values[92:96],
        "loads": values[96:100],
        "volts": values[100:104],
    }


def listen(seconds: float) -> list[dict]:
    """All states of a while."""
    until, states = time.monotonic() + seconds, []
    while time.monotonic() < until:
        states.append(newest())
    return states


def modes(*each: int) -> None:
    out.sendto(bytes([1, *each]), (GROUP, PORT))


def targets(*each: int) -> None:
    out.sendto(bytes([2]) + struct.pack(">4H", *each), (GROUP, PORT))


heard = {"first": newest()}
states = listen(2.0)
heard["hz"] = (len(states) - 1) / ((states[-1]["time_us"] - states[0]["time_us"]) * 1e-6)
rest = heard["first"]["angles"]
# 0.5 rad at a gear of 1.42 and 4 * 2 pi / 4095 rad a count; motor 2 turns the other way round.
step = round(0.5 * 1.42 / (4 * 2 * 3.14159265 / 4095))
# The speed of what follows: 1 rad/s.
modes(1, 1, 1, 1)
targets(119, 1024 + 119, 119, 126)
modes(2, 2, 2, 2)
time.sleep(0.1)
began = newest()["time_us"]
targets(rest[0] + step, rest[1] - step, rest[2], rest[3])
moving = listen(1.5)
heard["moved"] = moving[-1]
way = [(state["time_us"] - began, state["angles"][0] - rest[0]) for state in moving]
half = [t for t, gone in way if gone >= step / 2]
heard["half_way_s"] = half[0] * 1e-6
heard["step"] = step
heard["top_speed"] = max(state["speeds"][0] for state in moving)
modes(0, 0, 0, 0)
time.sleep(0.2)
targets(rest[0] + 2 * step, rest[1], rest[2], rest[3])  # idle motors do not go: the finger has fallen open
heard["idle"] = listen(0.7)[-1]
modes(2, 2, 2, 2)
targets(rest[0], rest[1], rest[2], rest[3])
heard["back"] = listen(1.5)[-1]
# Packets nobody understands.
for odd in (b"", b"\x01", b"\x01\x02\x02\x02\x09", b"\x02" * 8, b"\x03" * 9, bytes(202), b"\x01" * 202, b"x" * 1400):
    out.sendto(odd, (GROUP, PORT))
time.sleep(0.3)
print(json.dumps(heard), flush=True)
