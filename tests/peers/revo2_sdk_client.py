"""BrainCo's own SDK (`bc-stark-sdk` from PyPI) on a serial port, as its examples use it. No thenar here.

Usage: revo2_sdk_client.py PORT ID. Prints JSON: who answered, and what the hand said before, during and after moves.
"""

import asyncio
import json
import sys
from typing import Any

from bc_stark_sdk import main_mod as sdk


async def status_when(device: Any, hand: int, wanted: list[int], tries: int = 100) -> dict[str, list[int]]:
    """What the motors report once they are there, or after as many tries."""
    for _ in range(tries):
        status = await device.get_motor_status(hand)
        if all(abs(got - want) < 15 for got, want in zip(status.positions, wanted, strict=True)):
            break
        await asyncio.sleep(0.02)
    return {
        "positions": list(status.positions),
        "currents": list(status.currents),
        "states": [int(state) for state in status.states],
    }


async def main() -> None:
    port, hand = sys.argv[1], int(sys.argv[2], 0)
    device = await sdk.modbus_open(port, sdk.Baudrate.Baud460800)
    info = await device.get_device_info(hand)
    heard: dict[str, Any] = {
        "firmware": info.firmware_version, "serial": info.serial_number, "sku": str(info.sku_type),
        "hardware": str(info.hardware_type),
    }  # fmt: skip
    await device.set_finger_unit_mode(hand, sdk.FingerUnitMode.Normalized)
    apart = [50, 100, 150, 200, 120, 80]
    await device.set_finger_positions_and_speeds(hand, apart, [1000] * 6)
    heard["apart"] = await status_when(device, hand, apart)
    await device.set_finger_positions_and_durations(hand, [0] * 6, [300] * 6)
    heard["open"] = await status_when(device, hand, [0] * 6)
    heard["far"] = [tip.self_proximity1 for tip in await device.get_touch_sensor_status(hand)]
    closed = [900, 1000, 1000, 1000, 1000, 1000]
    await device.set_finger_positions(hand, closed)
    await asyncio.sleep(1.2)
    heard["closed"] = await status_when(device, hand, [0] * 6, tries=1)
    touch = await device.get_touch_sensor_status(hand)
    heard["touch"] = [
        [tip.normal_force1, tip.tangential_force1, tip.tangential_direction1, tip.status] for tip in touch
    ]
    heard["near"] = [tip.self_proximity1 for tip in touch]
    heard["near_one"] = (await device.get_single_touch_sensor_status(hand, 1)).self_proximity1
    await device.set_finger_position_with_millis(hand, sdk.FingerId.Index, 100, 200)
    there = heard["closed"]["positions"]
    heard["index"] = (await status_when(device, hand, [*there[:2], 100, *there[3:]]))["positions"]
    sdk.modbus_close(device)
    print(json.dumps(heard), flush=True)


if __name__ == "__main__":
    asyncio.run(main())
