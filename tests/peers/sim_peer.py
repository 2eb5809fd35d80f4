"""A client as Unitree's xr_teleoperate is one of the simulator: resets it, and keeps its state in 4096 bytes.

No thenar here. Usage: sim_peer.py DOMAIN, then lines on standard input: "TOPIC TEXT" publishes, "state" prints the
newest state as such a client keeps it, "stress HAND" prints the newest stress on a hand's taxels.
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

KEPT = 4096 - 8


@dataclass
@annotate.final
@annotate.autoid("sequential")
class String(idl.IdlStruct, typename="std_msgs.msg.dds_.String_"):
    data: str


@dataclass
@annotate.final
@annotate.autoid("sequential")
class Dimension(idl.IdlStruct, typename="std_msgs.msg.dds_.MultiArrayDimension_"):
    label: str
    size: types.uint32
    stride: types.uint32


@dataclass
@annotate.final
@annotate.autoid("sequential")
class Layout(idl.IdlStruct, typename="std_msgs.msg.dds_.MultiArrayLayout_"):
    dim: types.sequence[Dimension]
    data_offset: types.uint32


@dataclass
@annotate.final
@annotate.autoid("sequential")
class Floats(idl.IdlStruct, typename="std_msgs.msg.dds_.Float32MultiArray_"):
    layout: Layout
    data: types.sequence[types.float32]


def newest(reader: DataReader, timeout_s: float = 5.0):
    reader.take(N=100)  # what came before the question
    until = time.time() + timeout_s
    while time.time() < until:
        samples = reader.take(N=100)
        if samples:
            return samples[-1]
        time.sleep(0.005)
    return None


def main() -> None:
    domain = int(sys.argv[1])
    kept = Domain(domain, CONFIG)
    participant = DomainParticipant(domain)
    writers, skins = {}, {}
    for topic in ("rt/reset_pose/cmd", "rt/set_pose/cmd"):
        writers[topic] = DataWriter(participant, Topic(participant, topic, String))
    states = DataReader(participant, Topic(participant, "rt/sim_state", String))
    while not all(writer.get_matched_subscriptions() for writer in writers.values()):
        time.sleep(0.01)
    print("ready", flush=True)
    for line in sys.stdin:
        topic, _, text = line.rstrip("\n").partition(" ")
        if topic == "state":
            sample = newest(states)
            again = None if sample is None else json.dumps(json.loads(sample.data))
            print(json.dumps(None if again is None or len(again.encode()) > KEPT else json.loads(again)), flush=True)
        elif topic == "stress":
            if text not in skins:
                skins[text] = DataReader(participant, Topic(participant, f"rt/thenar/stress/{text}", Floats))
            sample = newest(skins[text])
            dims = sample and [(d.label, d.size, d.stride) for d in sample.layout.dim]
            print(json.dumps(sample and {"dims": dims, "data": list(sample.data)}), flush=True)
        else:
            writers[topic].write(String(text))
    del kept


if __name__ == "__main__":
    main()
