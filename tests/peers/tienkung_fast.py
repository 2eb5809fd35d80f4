"""A Fast DDS 3 program (the ``fastdds`` module of fourier-aurora-client) for Tienkung's hands. No thenar here.

The wheel has no types of bodyctrl_msgs, so types of the same size stand in: a PolicyChange request with a frame_id of
nine letters is as long as six floats; a Header is how every JointState begins.

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
hear = topic(f"rr{path}Reply", f"{base}_Response_", types.PolicyChange_ResponsePubSubType())
states = topic(f"rt/inspire_hand/state/{side}_hand", "sensor_msgs::msg::dds_::JointState_", types.HeaderPubSubType())
_, state_got = make_reader(states, types.Header)
qos = fastdds.DataWriterQos()
qos.reliability().kind = fastdds.RELIABLE_RELIABILITY_QOS
qos.durability().kind = fastdds.VOLATILE_DURABILITY_QOS
qos.data_sharing().off()
writer = publisher.create_datawriter(ask, qos)
reader, got = make_reader(hear, types.PolicyChange_Response)
until = time.monotonic() + 10
while time.monotonic() < until:
    readers, writers = fastdds.PublicationMatchedStatus(), fastdds.SubscriptionMatchedStatus()
    writer.get_publication_matched_status(readers)
    reader.get_subscription_matched_status(writers)
    if readers.current_count and writers.current_count:
        break
    time.sleep(0.005)
# The floats: force0 = 0.25; what the length and letters of frame_id come to is tiny or within 0 and 1.
request = types.PolicyChange_Request()
request.header().stamp().sec(struct.unpack("<i", struct.pack("<f", 0.25))[0])
request.header().stamp().nanosec(struct.unpack("<I", struct.pack("<f", 0.25))[0])
request.header().frame_id("\x01\x01\x80\x3e\x01\x01\x80\x3e\x01".encode("latin-1").decode("latin-1"))
params = fastdds.WriteParams()
params.related_sample_identity().writer_guid(reader.guid())
writer.write(request, params)
heard = {}
try:
    value, info = got.get(timeout=5)
    heard["set_force"] = value.result()
except queue.Empty:
    heard["set_force"] = "no reply"
header, _ = state_got.get(timeout=5)
heard["frame_id"] = header.frame_id()
print(json.dumps(heard), flush=True)
participant.delete_contained_entities()
factory.delete_participant(participant)
