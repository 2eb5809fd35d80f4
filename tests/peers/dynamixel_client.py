"""A program for a LEAP Hand on ROBOTIS' own `dynamixel-sdk` from PyPI, as the hand's API uses it. No thenar here.

Usage: dynamixel_client.py PORT SECONDS. Prints JSON: which motors answered, how often all were read and moved,
and where they went.
"""

import json
import math
import sys
import time

import dynamixel_sdk as dxl

MODE, TORQUE_ON, POSITION_D, POSITION_I, POSITION_P, GOAL_CURRENT, GOAL_POSITION = 11, 64, 80, 82, 84, 102, 116
PRESENT, PRESENT_BYTES = 126, 10
MOTORS = range(16)
PERIOD_S = 1 / 60


def main() -> None:
    path, seconds = sys.argv[1], float(sys.argv[2])
    port, bus = dxl.PortHandler(path), dxl.PacketHandler(2.0)
    assert port.openPort()
    assert port.setBaudRate(4_000_000)
    found, result = bus.broadcastPing(port)
    heard: dict = {"pinged": {motor: list(answer) for motor, answer in found.items()}, "broadcast": result}
    heard["one"] = bus.ping(port, 7)
    heard["nobody"] = bus.ping(port, 40)[1]

    def sync_write(address: int, size: int, values: list[int]) -> int:
        group = dxl.GroupSyncWrite(port, bus, address, size)
        for motor, value in zip(MOTORS, values, strict=True):
            group.addParam(motor, value.to_bytes(size, "little", signed=True))
        return group.txPacket()

    sync_write(MODE, 1, [5] * 16)
    sync_write(TORQUE_ON, 1, [1] * 16)
    for address, value in ((POSITION_P, 600), (POSITION_I, 0), (POSITION_D, 200), (GOAL_CURRENT, 550)):
        sync_write(address, 2, [value] * 16)
    heard["gain"] = bus.read2ByteTxRx(port, 3, POSITION_P)
    heard["while_on"] = bus.write1ByteTxRx(port, 3, MODE, 3)[1]

    sync, bulk = dxl.GroupSyncRead(port, bus, PRESENT, PRESENT_BYTES), dxl.GroupBulkRead(port, bus)
    for motor in MOTORS:
        sync.addParam(motor)
        bulk.addParam(motor, PRESENT, PRESENT_BYTES)
    counts, failed, began = 0, 0, time.perf_counter()
    while time.perf_counter() - began < seconds:
        at = time.perf_counter() - began
        bend = round(min(at / 0.5, 1.0) * 500)
        goals = [2048 + (0 if motor % 4 == 0 else bend) for motor in MOTORS]
        reader = sync if counts % 2 else bulk
        failed += sync_write(GOAL_POSITION, 4, goals) != dxl.COMM_SUCCESS
        failed += reader.txRxPacket() != dxl.COMM_SUCCESS
        counts += 1
        time.sleep(max(0.0, counts * PERIOD_S - (time.perf_counter() - began)))
    heard |= {"rate_hz": counts / (time.perf_counter() - began), "failed": failed}
    sync.txRxPacket()
    for name, address, size in (("current", 126, 2), ("velocity", 128, 4), ("position", 132, 4)):
        top = 1 << 8 * size
        values = [sync.getData(motor, address, size) for motor in MOTORS]
        heard[name] = [value - top if value >= top // 2 else value for value in values]
    heard["goals"] = goals
    sync_write(TORQUE_ON, 1, [0] * 16)
    time.sleep(0.1)
    heard["let_go"] = bus.read2ByteTxRx(port, 1, 126)
    # Bytes that look like a header are stuffed on the way there and back.
    bus.write4ByteTxRx(port, 0, 104, 0x00FDFFFF)
    heard["stuffed"] = bus.read4ByteTxRx(port, 0, 104)
    heard["degrees"] = math.degrees((heard["position"][1] - 2048) * 2 * math.pi / 4096)
    port.closePort()
    print(json.dumps(heard), flush=True)


if __name__ == "__main__":
    main()
