"""A Cyclone DDS peer: topics, and service calls in the flavour of rmw_cyclonedds.

python cyclone_peer.py (listen | talk | call | latched) DOMAIN COUNT [LIMIT_S]
python cyclone_peer.py nodes DOMAIN GID_BYTES
"""

import json
import os
import random
import sys
import time
from dataclasses import dataclass

mode, domain, count = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
limit_s = float(sys.argv[4]) if len(sys.argv) > 4 else 10.0  # for one call
lease_s = os.environ.get("PEER_LEASE_S", "10")
if "PEER_INTERFACE" in os.environ:
    general = f'<Interfaces><NetworkInterface name="{os.environ["PEER_INTERFACE"]}"/></Interfaces>'
    peers = ""
else:
    general = """<AllowMulticast>false</AllowMulticast>
      <Interfaces><NetworkInterface name="lo" multicast="false"/></Interfaces>"""
    peers = '<Peers><Peer address="127.0.0.1"/></Peers>'
os.environ["CYCLONEDDS_URI"] = f"""<CycloneDDS><Domain Id="any">
  <General>{general}</General>
  <Discovery>
    <ParticipantIndex>auto</ParticipantIndex><MaxAutoParticipantIndex>32</MaxAutoParticipantIndex>
    <LeaseDuration>{lease_s}s</LeaseDuration>{peers}
  </Discovery>
</Domain></CycloneDDS>"""

import cyclonedds.idl.annotations as annotate  # noqa: E402
from cyclonedds.builtin import (  # noqa: E402
    BuiltinDataReader,
    BuiltinTopicDcpsParticipant,
    BuiltinTopicDcpsPublication,
    BuiltinTopicDcpsSubscription,
)
from cyclonedds.core import InstanceState, Policy, Qos, ReadCondition, SampleState, ViewState, WaitSet  # noqa: E402
from cyclonedds.domain import DomainParticipant  # noqa: E402
from cyclonedds.idl import IdlStruct  # noqa: E402
from cyclonedds.idl.types import array, float32, int64, sequence, uint8, uint64  # noqa: E402
from cyclonedds.pub import DataWriter  # noqa: E402
from cyclonedds.sub import DataReader  # noqa: E402
from cyclonedds.topic import Topic  # noqa: E402
from cyclonedds.util import duration  # noqa: E402


@dataclass
@annotate.final
class String(IdlStruct, typename="std_msgs::msg::dds_::String_"):
    data: str


@dataclass
@annotate.final
class Request(IdlStruct, typename="thenar_test::srv::dds_::SetForce_Request_"):
    client: uint64  # pyright: ignore[reportInvalidTypeForm]
    number: int64  # pyright: ignore[reportInvalidTypeForm]
    f0: float32  # pyright: ignore[reportInvalidTypeForm]
    f1: float32  # pyright: ignore[reportInvalidTypeForm]
    f2: float32  # pyright: ignore[reportInvalidTypeForm]
    f3: float32  # pyright: ignore[reportInvalidTypeForm]
    f4: float32  # pyright: ignore[reportInvalidTypeForm]
    f5: float32  # pyright: ignore[reportInvalidTypeForm]


@dataclass
@annotate.final
class Reply(IdlStruct, typename="thenar_test::srv::dds_::SetForce_Response_"):
    client: uint64  # pyright: ignore[reportInvalidTypeForm]
    number: int64  # pyright: ignore[reportInvalidTypeForm]
    accepted: bool
    echo: float32  # pyright: ignore[reportInvalidTypeForm]


GID_BYTES = count


@dataclass
@annotate.final
class Gid(IdlStruct, typename="rmw_dds_common::msg::dds_::Gid_"):
    data: array[uint8, GID_BYTES]  # pyright: ignore[reportInvalidTypeForm]


@dataclass
@annotate.final
class NodeInfo(IdlStruct, typename="rmw_dds_common::msg::dds_::NodeEntitiesInfo_"):
    namespace: str
    name: str
    readers: sequence[Gid]
    writers: sequence[Gid]


@dataclass
@annotate.final
class NodeList(IdlStruct, typename="rmw_dds_common::msg::dds_::ParticipantEntitiesInfo_"):
    gid: Gid
    nodes: sequence[NodeInfo]


def in_hex(gid: Gid) -> str:
    return bytes(list(gid.data)).hex()  # pyright: ignore[reportArgumentType]


def user_data(qos) -> str:
    return next((bytes(policy.data).decode() for policy in qos if isinstance(policy, Policy.Userdata)), "")


def wait_for(condition):
    end_s = time.monotonic() + 10.0
    while not condition() and time.monotonic() < end_s:
        time.sleep(0.005)


participant = DomainParticipant(domain)
reliable = Qos(Policy.Reliability.Reliable(duration(seconds=1)), Policy.History.KeepLast(10))
latched = Qos(Policy.Durability.TransientLocal, base=reliable)

if mode in ("listen", "latched"):
    qos = latched if mode == "latched" else reliable
    reader = DataReader(participant, Topic(participant, "rt/from_thenar", String), qos)
    got = 0
    while got < count:
        for sample in reader.take(10):
            if isinstance(sample, String):
                print("got", len(sample.data), sample.data[:20], flush=True)
                got += 1
        time.sleep(0.002)
elif mode == "nodes":
    # As ROS 2 Jazzy does, and Humble does not.
    qos = Qos(Policy.Userdata(b"typehash=RIHS01_" + b"0" * 64 + b";"), base=latched) if GID_BYTES == 16 else latched
    reader = DataReader(participant, Topic(participant, "ros_discovery_info", NodeList), qos)
    participants = BuiltinDataReader(participant, BuiltinTopicDcpsParticipant)
    endpoints = BuiltinDataReader(participant, BuiltinTopicDcpsPublication)
    subscriptions = BuiltinDataReader(participant, BuiltinTopicDcpsSubscription)
    wait_for(lambda: reader.read(1))
    (told,) = reader.take(1)
    (node,) = told.nodes  # pyright: ignore[reportGeneralTypeIssues]
    wait_for(lambda: len(reader.get_matched_publications()) and subscriptions.read(1))
    written = endpoints.take(100)
    hosts = {sample.participant_key for sample in written}  # others like us only read
    read = [sample for sample in subscriptions.take(100) if sample.participant_key in hosts]
    found = {"participant": "".join(user_data(sample.qos) for sample in participants.take(10))}
    found |= {sample.topic_name: user_data(sample.qos) for sample in written if user_data(sample.qos)}
    answer = {
        "participant": in_hex(told.gid),
        "namespace": node.namespace,
        "name": node.name,
        "readers": [in_hex(gid) for gid in node.readers],
        "writers": [in_hex(gid) for gid in node.writers],
        "user_data": found,
        "without_user_data": sorted(sample.topic_name for sample in (*written, *read) if not user_data(sample.qos)),
    }
    print(json.dumps(answer))
elif mode == "talk":
    writer = DataWriter(participant, Topic(participant, "rt/to_thenar", String), reliable)
    wait_for(lambda: writer.get_matched_subscriptions())
    for number in range(count):
        writer.write(String(f"cyclone {number}".ljust(20 if number < count - 1 else 100_000)))
        time.sleep(0.002)
    time.sleep(1.0)
elif mode == "call":
    client = random.getrandbits(64)
    writer = DataWriter(participant, Topic(participant, "rq/set_forceRequest", Request), reliable)
    reader = DataReader(participant, Topic(participant, "rr/set_forceReply", Reply), reliable)
    wait_for(lambda: writer.get_matched_subscriptions() and reader.get_matched_publications())

    waitset = WaitSet(participant)
    waitset.attach(ReadCondition(reader, SampleState.Any | ViewState.Any | InstanceState.Any))
    for number in range(1, count + 1):
        force = 10000.0 + number
        start_s = time.perf_counter()
        writer.write(Request(client, number, force, 0.1, 0.2, 0.3, 0.4, 0.5))
        answers = []
        while not answers and time.perf_counter() - start_s < limit_s:
            waitset.wait(duration(milliseconds=200))
            answers = [a for a in reader.take(10) if isinstance(a, Reply) and a.client == client]
        took_s = time.perf_counter() - start_s
        right = len(answers) == 1 and answers[0].number == number and answers[0].echo == force
        print("reply" if right and answers[0].accepted else f"WRONG {answers}", f"{took_s * 1e6:.0f}", flush=True)
