"""xr_teleoperate's hand controllers in small: their start gates, rates and messages, over cyclonedds. No thenar here.

Usage: unitree_hands_client.py KIND DOMAIN SECONDS TARGETS. KIND is dex1, dex3 or brainco; TARGETS is JSON, a list
for each side. It prints JSON: how long it waited, and what both hands said at the end.
"""

import json
import sys
import time
from pathlib import Path
from typing import Any

from cyclonedds.domain import Domain, DomainParticipant
from cyclonedds.pub import DataWriter
from cyclonedds.sub import DataReader
from cyclonedds.topic import Topic
from dfx_client import MotorCmd, MotorCmds, MotorStates
from loopback import CONFIG

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "oracles"))
import unitree_idl as idl

SIDES = ("left", "right")


def dex3_command(targets: list[float]) -> idl.HandCmd:
    motors = [
        idl.MotorCmd(mode=n | 0x10, q=q, dq=0.0, tau=0.0, kp=1.5, kd=0.2, reserve=0) for n, q in enumerate(targets)
    ]
    return idl.HandCmd(motor_cmd=motors, reserve=[0] * 4)


def brainco_command(targets: list[float]) -> MotorCmds:
    return MotorCmds([MotorCmd(0, q, 1.0, 0.0, 0.0, 0.0, [0, 0, 0]) for q in targets])


def dex1_command(targets: list[float]) -> MotorCmds:
    return MotorCmds([MotorCmd(0, q, 0.0, 0.0, 5.0, 0.05, [0, 0, 0]) for q in targets])


KINDS: dict[str, tuple[Any, Any, Any]] = {
    "dex1": (MotorCmds, MotorStates, dex1_command),
    "dex3": (idl.HandCmd, idl.HandState, dex3_command),
    "brainco": (MotorCmds, MotorStates, brainco_command),
}


def main() -> None:
    kind, domain, seconds, targets = sys.argv[1], int(sys.argv[2]), float(sys.argv[3]), json.loads(sys.argv[4])
    command_type, state_type, make = KINDS[kind]
    kept = Domain(domain, CONFIG)
    participant = DomainParticipant(domain)
    writers = {s: DataWriter(participant, Topic(participant, f"rt/{kind}/{s}/cmd", command_type)) for s in SIDES}
    readers = {s: DataReader(participant, Topic(participant, f"rt/{kind}/{s}/state", state_type)) for s in SIDES}
    began, newest = time.time(), dict[str, Any]()

    def look() -> None:
        for side, reader in readers.items():
            for sample in reader.take(N=10):
                newest[side] = sample

    def released() -> bool:
        if kind in ("brainco", "dex1"):
            return len(newest) == len(SIDES)
        return all(side in newest and any(m.q != 0.0 for m in newest[side].motor_state) for side in SIDES)

    while not released() and time.time() - began < 10.0:
        look()
        time.sleep(0.002)
    waited = time.time() - began
    until = time.time() + seconds
    while time.time() < until:
        for side in SIDES:
            writers[side].write(make(targets[side]))
        look()
        time.sleep(0.01)
    heard: dict[str, Any] = {"waited_s": waited}
    for side, state in newest.items():
        motors = state.motor_state if kind == "dex3" else state.states
        heard[side] = {"q": [m.q for m in motors], "tau_est": [m.tau_est for m in motors]}
        if kind == "dex3":
            heard[side]["press"] = [list(module.pressure) for module in state.press_sensor_state]
    print(json.dumps(heard), flush=True)
    del kept


if __name__ == "__main__":
    main()
