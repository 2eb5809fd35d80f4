"""A client of Unitree's DFX topics that waits as xr_teleoperate does: until a right-hand position is not zero.

No thenar here. Usage: dfx_client.py DOMAIN SECONDS. Prints JSON: how long it waited, and where both hands went.
"""

import json
import sys
import time
from dataclasses import dataclass

import cyclonedds.idl as idl
import cyclonedds.idl.annotations as annotate
import cyclonedds.idl.types as types
from cyclonedds.domain import Domain, DomainParticipant
from cyclonedds.pub import DataWriter
from cyclonedds.sub import DataReader
from cyclonedds.topic import Topic
from loopback import CONFIG


@dataclass
@annotate.final
@annotate.autoid("sequential")
class MotorCmd(idl.IdlStruct, typename="unitree_go.msg.dds_.MotorCmd_"):
    mode: types.uint8
    q: types.float32
    dq: types.float32
    tau: types.float32
    kp: types.float32
    kd: types.float32
    reserve: types.array[types.uint32, 3]


@dataclass
@annotate.final
@annotate.autoid("sequential")
class MotorCmds(idl.IdlStruct, typename="unitree_go.msg.dds_.MotorCmds_"):
    cmds: types.sequence[MotorCmd]


@dataclass
@annotate.final
@annotate.autoid("sequential")
class MotorState(idl.IdlStruct, typename="unitree_go.msg.dds_.MotorState_"):
    mode: types.uint8
    q: types.float32
    dq: types.float32
    ddq: types.float32
    tau_est: types.float32
    q_raw: types.float32
    dq_raw: types.float32
    ddq_raw: types.float32
    temperature: types.uint8
    lost: types.uint32
    reserve: types.array[types.uint32, 2]


@dataclass
@annotate.final
@annotate.autoid("sequential")
class MotorStates(idl.IdlStruct, typename="unitree_go.msg.dds_.MotorStates_"):
    states: types.sequence[MotorState]


def main() -> None:
    domain, seconds = int(sys.argv[1]), float(sys.argv[2])
    kept = Domain(domain, CONFIG)
    participant = DomainParticipant(domain)
    writer = DataWriter(participant, Topic(participant, "rt/inspire/cmd", MotorCmds))
    reader = DataReader(participant, Topic(participant, "rt/inspire/state", MotorStates))
    began, q = time.time(), [0.0] * 12
    while not any(q[:6]) and time.time() - began < 10.0:
        for sample in reader.take(N=10):
            q = [state.q for state in sample.states]
        time.sleep(0.002)
    waited = time.time() - began
    until = time.time() + seconds
    # Right half closed, left nearly open: the order on the wire is right, then left.
    goal, fastest, strongest = [0.5] * 6 + [0.9] * 6, [0.0] * 12, [0.0] * 12
    while time.time() < until:
        writer.write(MotorCmds([MotorCmd(0, value, 0, 0, 0, 0, [0, 0, 0]) for value in goal]))
        for sample in reader.take(N=10):
            q = [state.q for state in sample.states]
            fastest = [max(was, state.dq, key=abs) for was, state in zip(fastest, sample.states, strict=True)]
            strongest = [max(was, state.tau_est, key=abs) for was, state in zip(strongest, sample.states, strict=True)]
        time.sleep(0.01)
    print(json.dumps({"waited_s": waited, "q": q, "dq": fastest, "tau_est": strongest}), flush=True)
    del kept


if __name__ == "__main__":
    main()
