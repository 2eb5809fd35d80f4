"""xr_teleoperate's hand controllers in small: their start gates, rates and messages, over cyclonedds. No thenar here.

Usage: unitree_hands_client.py KIND DOMAIN SECONDS TARGETS. KIND is one of `KINDS`; TARGETS is JSON, a list for each
side (Inspire's older topics: right and left in one list, ``both``). It prints JSON: how long it waited, and what the
hands said at the end.
"""

import json
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cyclonedds.domain import Domain, DomainParticipant
from cyclonedds.pub import DataWriter
from cyclonedds.sub import DataReader
from cyclonedds.topic import Topic
from dfx_client import MotorCmd, MotorCmds, MotorStates
from inspire_peer import Ctrl, State, Touch
from loopback import CONFIG

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "oracles"))
import unitree_idl as idl

SIDES = ("left", "right")
RELEASED_AFTER_S = 10.0


@dataclass(frozen=True)
class Kind:
    """A controller: its topics with ``{}`` for the side, types, messages, rate, and what it waits for."""

    command: tuple[str, Any]
    state: tuple[str, Any]
    make: Callable[[list[float]], Any]
    read: Callable[[Any], dict[str, Any]]
    released: Callable[[dict[str, Any]], bool]
    rate_hz: float = 100.0
    sides: tuple[str, ...] = SIDES
    touch: str = ""


def go_command(q: list[float], dq: float = 0.0, kp: float = 0.0, kd: float = 0.0) -> MotorCmds:
    return MotorCmds([MotorCmd(0, one, dq, 0.0, kp, kd, [0, 0, 0]) for one in q])


def go_state(state: Any) -> dict[str, Any]:
    return {"q": [m.q for m in state.states], "tau_est": [m.tau_est for m in state.states]}


def dex3_command(q: list[float]) -> Any:
    motors = [idl.MotorCmd(mode=n | 0x10, q=one, dq=0.0, tau=0.0, kp=1.5, kd=0.2, reserve=0) for n, one in enumerate(q)]
    return idl.HandCmd(motor_cmd=motors, reserve=[0] * 4)


def dex3_state(state: Any) -> dict[str, Any]:
    motors = {name: [getattr(m, name) for m in state.motor_state] for name in ("q", "dq", "tau_est")}
    return motors | {"press": [list(module.pressure) for module in state.press_sensor_state]}


def both_came(newest: dict[str, Any]) -> bool:
    return len(newest) == len(SIDES)


KINDS = {
    "dex1": Kind(
        ("rt/dex1/{}/cmd", MotorCmds), ("rt/dex1/{}/state", MotorStates),
        lambda q: go_command(q, kp=5.0, kd=0.05), go_state, both_came, rate_hz=200.0,
    ),
    "dex3": Kind(
        ("rt/dex3/{}/cmd", idl.HandCmd), ("rt/dex3/{}/state", idl.HandState), dex3_command, dex3_state,
        lambda newest: both_came(newest) and all(any(m.q for m in hand.motor_state) for hand in newest.values()),
    ),
    "brainco": Kind(
        ("rt/brainco/{}/cmd", MotorCmds), ("rt/brainco/{}/state", MotorStates),
        lambda q: go_command(q, dq=1.0), go_state, both_came,
    ),
    "inspire_dfx": Kind(
        ("rt/inspire/cmd", MotorCmds), ("rt/inspire/state", MotorStates), go_command, go_state,
        lambda newest: any(m.q for hand in newest.values() for m in hand.states[:6]), sides=("both",),
    ),
    "inspire_ftp": Kind(
        ("rt/inspire_hand/ctrl/{0[0]}", Ctrl), ("rt/inspire_hand/state/{0[0]}", State),
        lambda angle: Ctrl([0] * 6, [int(one) for one in angle], [0] * 6, [0] * 6, 0b0001),
        lambda state: {"q": list(state.angle_act), "force": list(state.force_act), "status": list(state.status)},
        lambda newest: any(any(hand.angle_act) for hand in newest.values()), touch="rt/inspire_hand/touch/{0[0]}",
    ),
}  # fmt: skip


def main() -> None:
    kind, domain, seconds, targets = KINDS[sys.argv[1]], int(sys.argv[2]), float(sys.argv[3]), json.loads(sys.argv[4])
    kept = Domain(domain, CONFIG)
    participant = DomainParticipant(domain)

    def topic(of: tuple[str, Any], side: str) -> Topic:
        return Topic(participant, of[0].format(side), of[1])

    writers = {side: DataWriter(participant, topic(kind.command, side)) for side in kind.sides}
    readers = {side: DataReader(participant, topic(kind.state, side)) for side in kind.sides}
    skins = {side: DataReader(participant, topic((kind.touch, Touch), side)) for side in kind.sides if kind.touch}
    newest, felt = dict[str, Any](), dict[str, int]()

    def look() -> None:
        for side, reader in readers.items():
            for sample in reader.take(N=10):
                newest[side] = sample
        for side, reader in skins.items():
            for touch in reader.take(N=10):
                felt[side] = max(max(counts) for counts in vars(touch).values() if isinstance(counts, list))

    began = time.time()
    while not kind.released(newest) and time.time() - began < RELEASED_AFTER_S:
        look()
        time.sleep(0.002)
    waited = time.time() - began
    until = time.time() + seconds
    while time.time() < until:
        for side in kind.sides:
            writers[side].write(kind.make(targets[side]))
        look()
        time.sleep(1.0 / kind.rate_hz)
    heard: dict[str, Any] = {"waited_s": waited}
    for side, state in newest.items():
        heard[side] = kind.read(state) | ({"touch": felt[side]} if side in felt else {})
    print(json.dumps(heard), flush=True)
    del kept


if __name__ == "__main__":
    main()
