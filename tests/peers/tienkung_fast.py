"""A Fast DDS 3 program (the ``fastdds`` module of fourier-aurora-client) for Tienkung's hands. No thenar here.

The wheel has no types of bodyctrl_msgs, so types of the same size stand in: a PolicyChange request with a frame_id of
nine letters is as long as six floats; a Header is how every JointState begins. It cannot read the short reply: replies
to Fast DDS 3 are tested in test_rtps_peers, and every service with Fast DDS 2.9.

python tienkung_fast.py DOMAIN SIDE. Prints one line of JSON.
"""

import json
import queue
import struct
import sys
import time

import fastdds
from fourier_msgs.srv import PolicyService as types

domain, side = int(sys.argv[1]), sys.argv[2]
factory = fastdds.DomainParticipantFactory.get_instance()
participant = factory.create_participant(domain, fastdds.DomainParticipantQos())
publisher = participant.create_publisher(fastdds.PublisherQos())
subscriber = participant.create_subscriber(fastdds.SubscriberQos())
keep = []  # the wrapper does not hold on to what C++ still uses


def topic(name: str, type_name: str, pub_sub_type):
    keep.append(support := fastdds.TypeSupport(pub_sub_type))
    participant.register_type(support, type_name)
    return participant.create_topic(name, type_name, fastdds.TopicQos())


class Listener(fastdds.DataReaderListener):
    def __init__(self, kind, into):
        super().__init__()
        self.kind, self.into = kind, into

    def on_data_available(self, reader):
        while True:
            info, value = fastdds.SampleInfo(), self.kind()
            if reader.take_next_sample(value, info) != fastdds.RETCODE_OK:
                return
            if info.valid_data:
                self.into.put((value, info))


def make_reader(on_topic, kind):
    qos = fastdds.DataReaderQos()
    qos.reliability().kind = fastdds.RELIABLE_RELIABILITY_QOS
    qos.data_sharing().off()
    got = queue.Queue()
    keep.append(listener := Listener(kind, got))
    return subscriber.create_datareader(on_topic, qos, listener), got


base, path = "bodyctrl_msgs::srv::dds_::SetForce", f"/inspire_hand/set_force/{side}_hand"
ask = topic(f"rq{path}Request", f"{base}_Request_", types.PolicyChange_RequestPubSubType())
states = topic(f"rt/inspire_hand/state/{side}_hand", "sensor_msgs::msg::dds_::JointState_", types.HeaderPubSubType())
_, state_got = make_reader(states, types.Header)
qos = fastdds.DataWriterQos()
qos.reliability().kind = fastdds.RELIABLE_RELIABILITY_QOS
qos.durability().kind = fastdds.VOLATILE_DURABILITY_QOS
qos.data_sharing().off()
writer = publisher.create_datawriter(ask, qos)
until = time.monotonic() + 10
while time.monotonic() < until:
    readers = fastdds.PublicationMatchedStatus()
    writer.get_publication_matched_status(readers)
    if readers.current_count:
        break
    time.sleep(0.005)
# Six floats: 0.25 twice, the length of frame_id (next to nothing), its letters (0.2495 twice, next to nothing).
request = types.PolicyChange_Request()
request.header().stamp().sec(struct.unpack("<i", struct.pack("<f", 0.25))[0])
request.header().stamp().nanosec(struct.unpack("<I", struct.pack("<f", 0.25))[0])
request.header().frame_id("\x7f\x7f\x7f\x3e\x7f\x7f\x7f\x3e\x01")
writer.write(request)
header, _ = state_got.get(timeout=5)
print(json.dumps({"frame_id": header.frame_id()}), flush=True)
time.sleep(0.5)
participant.delete_contained_entities()
factory.delete_participant(participant)
