"""Call a ROS 2 service of Tienkung's hands from a program that knows DDS but no ROS 2 and no thenar.

Start the hands in another terminal:

    thenar serve --wire tienkung

With ROS 2 the same is one line, `ros2 service call /inspire_hand/set_angle_flexible/right_hand ...`. Underneath, a
service is two topics, and a request and its reply carry the same client and number. This is how Cyclone DDS writes
them; the twin answers Fast DDS and RustDDS in their own ways too.
"""

import time
from dataclasses import dataclass

from cyclonedds.core import Policy, Qos
from cyclonedds.domain import Domain, DomainParticipant
from cyclonedds.idl import IdlStruct
from cyclonedds.idl.annotations import final
from cyclonedds.idl.types import float32, int64, sequence, uint64
from cyclonedds.pub import DataWriter
from cyclonedds.sub import DataReader
from cyclonedds.topic import Topic
from cyclonedds.util import duration

DOMAIN = 1  # of thenar serve: your ROS_DOMAIN_ID
CLIENT = 7  # any number that is yours alone
PATH = "/inspire_hand/set_angle_flexible/right_hand"
LOOPBACK = """<CycloneDDS><Domain Id="any"><General><AllowMulticast>false</AllowMulticast>
<Interfaces><NetworkInterface name="lo" multicast="false"/></Interfaces></General>
<Discovery><ParticipantIndex>auto</ParticipantIndex><MaxAutoParticipantIndex>32</MaxAutoParticipantIndex>
<Peers><Peer address="127.0.0.1"/></Peers></Discovery></Domain></CycloneDDS>"""


@dataclass
@final
class Request(IdlStruct, typename="bodyctrl_msgs::srv::dds_::SetAngleFlexible_Request_"):
    """Who asks, the number of the request, and what is asked: fingers by name, 1 open to 0 closed."""

    client: uint64
    number: int64
    name: sequence[str]
    angle_ratio: sequence[float32]


@dataclass
@final
class Reply(IdlStruct, typename="bodyctrl_msgs::srv::dds_::SetAngleFlexible_Response_"):
    """Whose request was answered, and whether it was accepted."""

    client: uint64
    number: int64
    angle_accepted: bool


loopback = Domain(DOMAIN, LOOPBACK)  # kept, or the configuration is gone
me = DomainParticipant(DOMAIN)
qos = Qos(Policy.Reliability.Reliable(duration(seconds=1)), Policy.History.KeepLast(10))
requests = DataWriter(me, Topic(me, f"rq{PATH}Request", Request), qos=qos)
replies = DataReader(me, Topic(me, f"rr{PATH}Reply", Reply), qos=qos)
until_s = time.monotonic() + 10.0
while not (requests.get_matched_subscriptions() and replies.get_matched_publications()):
    assert time.monotonic() < until_s, "nobody offers the service; thenar inspect says why"
    time.sleep(0.01)

for number, (fingers, ratios) in enumerate([(["4", "1"], [0.2, 0.5]), (["4"], [1.7])], start=1):
    requests.write(Request(CLIENT, number, fingers, ratios))
    reply = next(reply for reply in replies.take_iter(timeout=duration(seconds=10)) if reply.client == CLIENT)
    print(f"fingers {fingers} to {ratios}:", "accepted" if reply.angle_accepted else "refused")
