"""Publishers that each say one thing and end, as ``ros2 topic pub --once`` does: a fresh process for each.

python one_shot.py (reliable | best_effort) DOMAIN COUNT. No thenar here. The library is loaded once, before the
processes part: joining the domain, finding the reader, writing and leaving are each one's own.
"""

import os
import sys
import time
from dataclasses import dataclass

import cyclonedds.idl.annotations as annotate
from cyclonedds.core import Policy, Qos
from cyclonedds.domain import Domain, DomainParticipant
from cyclonedds.idl import IdlStruct
from cyclonedds.idl.types import float64, int32, sequence, uint32
from cyclonedds.pub import DataWriter
from cyclonedds.topic import Topic
from cyclonedds.util import duration
from loopback import CONFIG

mode, domain, count = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
STAYS_S = 0.1  # as the command line of ROS 2 does, after it has published
AT_ONCE = 4


@dataclass
@annotate.final
class Time(IdlStruct, typename="builtin_interfaces::msg::dds_::Time_"):
    sec: int32  # pyright: ignore[reportInvalidTypeForm]
    nanosec: uint32  # pyright: ignore[reportInvalidTypeForm]


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
    position: sequence[float64]  # pyright: ignore[reportInvalidTypeForm]
    velocity: sequence[float64]  # pyright: ignore[reportInvalidTypeForm]
    effort: sequence[float64]  # pyright: ignore[reportInvalidTypeForm]


def publish(number: int) -> None:
    kept = Domain(domain, CONFIG)
    participant = DomainParticipant(domain)
    kind = Policy.Reliability.BestEffort if mode == "best_effort" else Policy.Reliability.Reliable(duration(seconds=1))
    writer = DataWriter(participant, Topic(participant, "rt/inspire_hand/ctrl/right_hand", JointState), Qos(kind))
    end_s = time.monotonic() + 10.0
    while not writer.get_matched_subscriptions() and time.monotonic() < end_s:
        time.sleep(0.001)
    writer.write(JointState(Header(Time(0, 0), ""), ["1"], [number / 1000], [], []))
    time.sleep(STAYS_S)
    del writer, participant, kept


for first in range(0, count, AT_ONCE):
    children = []
    for number in range(first, min(first + AT_ONCE, count)):
        children.append(os.fork())
        if not children[-1]:
            publish(number)
            sys.exit()
    for child in children:
        os.waitpid(child, 0)
