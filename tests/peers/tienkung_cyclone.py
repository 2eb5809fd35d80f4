"""A program for Tienkung's hands as rmw_cyclonedds would send it: every service and both topics. No thenar here.

python tienkung_cyclone.py DOMAIN SIDE. Prints one line of JSON.
"""

import json
import random
import sys
import time
from dataclasses import dataclass

import cyclonedds.idl.annotations as annotate
from cyclonedds.core import Policy, Qos
from cyclonedds.domain import Domain, DomainParticipant
from cyclonedds.idl import IdlStruct
from cyclonedds.idl.types import array, float32, float64, int32, int64, sequence, uint8, uint32, uint64  # noqa: F401
from cyclonedds.pub import DataWriter
from cyclonedds.sub import DataReader
from cyclonedds.topic import Topic
from cyclonedds.util import duration
from loopback import CONFIG

domain, side = int(sys.argv[1]), sys.argv[2]
kept = Domain(domain, CONFIG)
participant = DomainParticipant(domain)
reliable = Qos(Policy.Reliability.Reliable(duration(seconds=1)), Policy.History.KeepLast(10))


@dataclass
@annotate.final
class Time(IdlStruct, typename="builtin_interfaces::msg::dds_::Time_"):
    sec: int32
    nanosec: uint32


@dataclass
@annotate.final
class Header(IdlStruct, typename="std_msgs::msg::dds_::Header_"):
    stamp: Time
    frame_id: str


@dataclass
@annotate.final
class JointState(IdlStruct, typename="sensor_msgs::msg::dds_::JointState_"):
    header: Header
    name: sequence[str]
    position: sequence[float64]
    velocity: sequence[float64]
    effort: sequence[float64]


def idl(type_name: str, **fields: object) -> type:
    """A request or reply with the header of rmw_cyclonedds before it."""
    text = "\n".join(
        ["@dataclass", "@annotate.final", f"class Made(IdlStruct, typename={type_name!r}):", "    client: uint64",
         "    number: int64", *(f"    {name}: {kind}" for name, kind in fields.items())]
    )  # fmt: skip
    scope = dict(globals())
    exec(text, scope)
    return scope["Made"]


SIX = lambda stem: {f"{stem}{n}_ratio": "float32" for n in range(6)}  # noqa: E731
EMPTY = {"structure_needs_at_least_one_member": "uint8"}
SERVICES = {
    "set_speed": ("SetSpeed", SIX("speed"), {"speed_accepted": "bool"}),
    "set_force": ("SetForce", SIX("force"), {"force_accepted": "bool"}),
    "set_angle_flexible": (
        "SetAngleFlexible",
        {"name": "sequence[str]", "angle_ratio": "sequence[float32]"},
        {"angle_accepted": "bool"},
    ),
    "get_angle_act": ("GetAngleAct", EMPTY, {"curangle_ratio": "array[float32, 6]"}),
    "get_force_act": ("GetForceAct", EMPTY, {"curforce_ratio": "array[float32, 6]"}),
    "get_error": ("GetError", EMPTY, {"errorvalue": "array[uint32, 6]"}),
    "get_status": ("GetStatus", EMPTY, {"statusvalue": "array[uint32, 6]"}),
    "set_clear_error": ("SetClearError", EMPTY, {"setclear_error_accepted": "bool"}),
    "set_angle": ("SetAngle", SIX("angle"), {"angle_accepted": "bool"}),
}
me = random.getrandbits(63)
numbers = iter(range(1, 1000))


class Client:
    def __init__(self, service: str):
        kind, request, self.reply_fields = SERVICES[service]
        base = f"bodyctrl_msgs::srv::dds_::{kind}"
        self.request = idl(f"{base}_Request_", **request)
        reply = idl(f"{base}_Response_", **self.reply_fields)
        path = f"/inspire_hand/{service}/{side}_hand"
        self.writer = DataWriter(participant, Topic(participant, f"rq{path}Request", self.request), qos=reliable)
        self.reader = DataReader(participant, Topic(participant, f"rr{path}Reply", reply), qos=reliable)

    def call(self, *values: object, limit_s: float = 5.0) -> object:
        until = time.time() + limit_s
        while not (self.writer.get_matched_subscriptions() and self.reader.get_matched_publications()):
            if time.time() > until:
                return "nobody there"
            time.sleep(0.01)
        number = next(numbers)
        self.writer.write(self.request(me, number, *values))
        while time.time() < until:
            for reply in self.reader.take(N=10):
                if reply.sample_info.valid_data and (reply.client, reply.number) == (me, number):
                    (value,) = (getattr(reply, name) for name in self.reply_fields)
                    return list(value) if hasattr(value, "__len__") else value
            time.sleep(0.001)
        return "no reply"


clients = {service: Client(service) for service in SERVICES}
state_reader = DataReader(
    participant, Topic(participant, f"rt/inspire_hand/state/{side}_hand", JointState), qos=reliable
)
control = DataWriter(participant, Topic(participant, f"rt/inspire_hand/ctrl/{side}_hand", JointState), qos=reliable)
heard: dict[str, object] = {}
heard["set_speed"] = clients["set_speed"].call(*[1.0] * 6)
heard["set_force"] = clients["set_force"].call(*[0.5] * 6)
heard["set_angle_flexible"] = clients["set_angle_flexible"].call(["3", "1"], [0.7, 0.5])
heard["refused"] = clients["set_force"].call(0.1, 0.1, 0.1, 0.1, 0.1, 7.0)
heard["unknown"] = clients["set_angle_flexible"].call(["7"], [0.0])
time.sleep(1.5)
for service in ("get_angle_act", "get_force_act", "get_error", "get_status", "set_clear_error"):
    heard[service] = clients[service].call(0)
heard["set_angle"] = clients["set_angle"].call(*[0.9] * 6)
time.sleep(0.5)
for _ in range(100):
    control.write(JointState(Header(Time(0, 0), ""), ["6", "2"], [0.3, 0.4], [], []))
    time.sleep(0.01)
time.sleep(0.3)
states = [state for state in state_reader.take(N=100) if state.sample_info.valid_data]
heard["state"] = {
    "frame_id": states[-1].header.frame_id,
    "name": list(states[-1].name),
    "position": list(states[-1].position),
    "effort": list(states[-1].effort),
    "velocity": list(states[-1].velocity),
}
print(json.dumps(heard), flush=True)
del kept
