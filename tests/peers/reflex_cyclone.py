"""A program for the ReFlex driver's ROS 2 face as rmw_cyclonedds would send it. No thenar here.

python reflex_cyclone.py DOMAIN. Prints one line of JSON.
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
from cyclonedds.idl.types import array, float32, float64, int32, int64, uint8, uint16, uint64
from cyclonedds.pub import DataWriter
from cyclonedds.sub import DataReader
from cyclonedds.topic import Topic
from cyclonedds.util import duration
from loopback import CONFIG

domain = int(sys.argv[1])
kept = Domain(domain, CONFIG)
participant = DomainParticipant(domain)
reliable = Qos(Policy.Reliability.Reliable(duration(seconds=1)), Policy.History.KeepLast(10))
NS = "/reflex_takktile"


@dataclass
@annotate.final
class Finger(IdlStruct, typename="reflex_msgs::msg::dds_::Finger_"):
    proximal: float32
    distal_approx: float32
    contact: array[bool, 9]
    pressure: array[float32, 9]


@dataclass
@annotate.final
class Motor(IdlStruct, typename="reflex_msgs::msg::dds_::Motor_"):
    joint_angle: float64
    raw_angle: float64
    velocity: float64
    load: float64
    voltage: float64
    temperature: int32
    error_state: str


@dataclass
@annotate.final
class Hand(IdlStruct, typename="reflex_msgs::msg::dds_::Hand_"):
    finger: array[Finger, 3]
    motor: array[Motor, 4]


@dataclass
@annotate.final
class PoseCommand(IdlStruct, typename="reflex_msgs::msg::dds_::PoseCommand_"):
    f1: float64
    f2: float64
    f3: float64
    preshape: float64


@dataclass
@annotate.final
class VelocityCommand(IdlStruct, typename="reflex_msgs::msg::dds_::VelocityCommand_"):
    f1: float64
    f2: float64
    f3: float64
    preshape: float64


@dataclass
@annotate.final
class ForceCommand(IdlStruct, typename="reflex_msgs::msg::dds_::ForceCommand_"):
    f1: float64
    f2: float64
    f3: float64
    preshape: float64


@dataclass
@annotate.final
class Command(IdlStruct, typename="reflex_msgs::msg::dds_::Command_"):
    pose: PoseCommand
    velocity: VelocityCommand


@dataclass
@annotate.final
class RawServoCommands(IdlStruct, typename="reflex_msgs::msg::dds_::RawServoCommands_"):
    raw_positions: array[uint16, 4]


@dataclass
@annotate.final
class RadianServoCommands(IdlStruct, typename="reflex_msgs::msg::dds_::RadianServoCommands_"):
    radian_commands: array[float32, 4]


@dataclass
@annotate.final
class FingerPressure(IdlStruct, typename="reflex_msgs::msg::dds_::FingerPressure_"):
    sensor: array[uint16, 9]


@dataclass
@annotate.final
class EmptyRequest(IdlStruct, typename="std_srvs::srv::dds_::Empty_Request_"):
    client: uint64
    number: int64
    structure_needs_at_least_one_member: uint8


@dataclass
@annotate.final
class EmptyReply(IdlStruct, typename="std_srvs::srv::dds_::Empty_Response_"):
    client: uint64
    number: int64
    structure_needs_at_least_one_member: uint8


@dataclass
@annotate.final
class SpeedRequest(IdlStruct, typename="reflex_msgs::srv::dds_::SetSpeed_Request_"):
    client: uint64
    number: int64
    motor: array[float64, 4]


@dataclass
@annotate.final
class SpeedReply(IdlStruct, typename="reflex_msgs::srv::dds_::SetSpeed_Response_"):
    client: uint64
    number: int64
    structure_needs_at_least_one_member: uint8


@dataclass
@annotate.final
class ThresholdRequest(IdlStruct, typename="reflex_msgs::srv::dds_::SetTactileThreshold_Request_"):
    client: uint64
    number: int64
    finger: array[FingerPressure, 3]


@dataclass
@annotate.final
class ThresholdReply(IdlStruct, typename="reflex_msgs::srv::dds_::SetTactileThreshold_Response_"):
    client: uint64
    number: int64
    structure_needs_at_least_one_member: uint8


me = random.getrandbits(63)
numbers = iter(range(1, 1000))


def call(service: str, request: type, reply: type, *values: object) -> bool:
    """True when it is answered."""
    writer = DataWriter(participant, Topic(participant, f"rq{NS}/{service}Request", request), qos=reliable)
    reader = DataReader(participant, Topic(participant, f"rr{NS}/{service}Reply", reply), qos=reliable)
    until = time.time() + 10.0
    while not (writer.get_matched_subscriptions() and reader.get_matched_publications()):
        if time.time() > until:
            return False
        time.sleep(0.01)
    number = next(numbers)
    writer.write(request(me, number, *values))
    while time.time() < until:
        for answer in reader.take(N=10):
            if answer.sample_info.valid_data and (answer.client, answer.number) == (me, number):
                return True
        time.sleep(0.001)
    return False


def say(topic: str, message: object, seconds: float) -> dict:
    """Publish a while; the newest state after it."""
    writer = DataWriter(participant, Topic(participant, f"rt{NS}/{topic}", type(message)), qos=reliable)
    until = time.time() + 10.0
    while not writer.get_matched_subscriptions() and time.time() < until:
        time.sleep(0.01)
    end = time.time() + seconds
    while time.time() < end:
        writer.write(message)
        time.sleep(0.05)
    return state()


states = DataReader(participant, Topic(participant, f"rt{NS}/hand_state", Hand), qos=reliable)


def state() -> dict:
    states.take(N=100)
    until = time.time() + 10.0
    while time.time() < until:
        for hand in states.take(N=100):
            if hand.sample_info.valid_data:
                return {
                    "proximal": [f.proximal for f in hand.finger],
                    "distal": [f.distal_approx for f in hand.finger],
                    "contact": [list(f.contact) for f in hand.finger],
                    "pressure": [list(f.pressure) for f in hand.finger],
                    "joint": [m.joint_angle for m in hand.motor],
                    "raw": [m.raw_angle for m in hand.motor],
                    "voltage": [m.voltage for m in hand.motor],
                    "temperature": [m.temperature for m in hand.motor],
                    "error": [m.error_state for m in hand.motor],
                }
        time.sleep(0.005)
    return {}


heard: dict[str, object] = {"rest": state()}
for service in ("calibrate_tactile", "disable_tactile_stops"):
    heard[service] = call(service, EmptyRequest, EmptyReply, 0)
heard["position"] = say("command_position", PoseCommand(1.2, 0.9, 0.6, 0.5), 1.5)
heard["velocity"] = say("command_velocity", VelocityCommand(-1.0, -3.0, -2.0, -1.0), 1.5)
pose = Command(PoseCommand(0.5, 0.5, 0.5, 0.0), VelocityCommand(2.0, 2.0, 2.0, 2.0))
heard["command"] = say("command", pose, 1.5)
heard["set_speed"] = call("set_speed", SpeedRequest, SpeedReply, [1.5] * 4)
heard["radian"] = say("radian_hand_command", RadianServoCommands([0.8, 0.7, 0.6, 0.2]), 1.5)
raw = [int(value) for value in heard["rest"]["raw"]]
heard["raw"] = say("raw_hand_command", RawServoCommands(raw), 1.5)
thresholds = [FingerPressure([65535] * 9), FingerPressure([20] * 9), FingerPressure([0] * 9)]
heard["set_tactile_threshold"] = call("set_tactile_threshold", ThresholdRequest, ThresholdReply, thresholds)
for service in ("enable_tactile_stops", "zero_pose", "calibrate_fingers", "disable_torque"):
    heard[service] = call(service, EmptyRequest, EmptyReply, 0)
print(json.dumps(heard), flush=True)
del kept
