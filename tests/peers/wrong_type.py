"""A client whose ctrl type is not the vendor's (a member renamed, or seven motors), and that wants old states.

No thenar here. Usage: wrong_type.py DOMAIN SECONDS renamed|seven|once (swapped members, one message, gone).
"""

import sys
import time
from dataclasses import dataclass

import cyclonedds.idl as idl
import cyclonedds.idl.annotations as annotate
import cyclonedds.idl.types as types
from cyclonedds.core import Qos
from cyclonedds.domain import Domain, DomainParticipant
from cyclonedds.pub import DataWriter
from cyclonedds.qos import Policy
from cyclonedds.sub import DataReader
from cyclonedds.topic import Topic
from cyclonedds.util import duration
from inspire_peer import State
from loopback import CONFIG


@dataclass
@annotate.final
@annotate.autoid("sequential")
class Renamed(idl.IdlStruct, typename="inspire.inspire_hand_ctrl"):
    position_set: types.sequence[types.int16, 6]
    angle_set: types.sequence[types.int16, 6]
    force_set: types.sequence[types.int16, 6]
    speed_set: types.sequence[types.int16, 6]
    mode: types.int8


@dataclass
@annotate.final
@annotate.autoid("sequential")
class Seven(idl.IdlStruct, typename="inspire.inspire_hand_ctrl"):
    pos_set: types.sequence[types.int16, 7]
    angle_set: types.sequence[types.int16, 7]
    force_set: types.sequence[types.int16, 7]
    speed_set: types.sequence[types.int16, 7]
    mode: types.int8


@dataclass
@annotate.final
@annotate.autoid("sequential")
class Swapped(idl.IdlStruct, typename="inspire.inspire_hand_ctrl"):
    angle_set: types.sequence[types.int16, 6]
    pos_set: types.sequence[types.int16, 6]
    force_set: types.sequence[types.int16, 6]
    speed_set: types.sequence[types.int16, 6]
    mode: types.int8


domain, seconds = int(sys.argv[1]), float(sys.argv[2])
Ctrl, motors = {"renamed": (Renamed, 6), "seven": (Seven, 7), "once": (Swapped, 6)}[sys.argv[3]]
kept = Domain(domain, CONFIG)
participant = DomainParticipant(domain)
writer = DataWriter(participant, Topic(participant, "rt/inspire_hand/ctrl/r", Ctrl))
if sys.argv[3] == "once":
    while not writer.get_matched_subscriptions():
        time.sleep(0.001)
    writer.write(Ctrl([0] * 6, [0] * 6, [], [], 1))
    sys.exit()
latched = Qos(Policy.Reliability.Reliable(duration(seconds=1)), Policy.Durability.TransientLocal)
reader = DataReader(participant, Topic(participant, "rt/inspire_hand/state/r", State), qos=latched)
until = time.time() + seconds
while time.time() < until:
    writer.write(Ctrl([], [0] * motors, [], [], 1))
    time.sleep(0.05)
