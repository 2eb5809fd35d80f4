"""A Fast DDS 3 peer (the ``fastdds`` module of fourier-aurora-client), calling services as rmw_fastrtps does.

The wheel has no SetForce type, so types of the same size stand in: a PolicyChange request with a name of nine letters
takes 24 bytes, its first four those of force0; the reply is read as a Time, a flag and the bits of a float.

python fast_peer.py (listen | talk | call | call_plain) DOMAIN COUNT [LIMIT_S]
"""

import queue
import struct
import sys
import time

import fastdds
from fourier_msgs.srv import PolicyService as types

mode, domain, count = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
limit_s = float(sys.argv[4]) if len(sys.argv) > 4 else 10.0  # for one call
participant = fastdds.DomainParticipantFactory.get_instance().create_participant(domain, fastdds.DomainParticipantQos())
publisher = participant.create_publisher(fastdds.PublisherQos())
subscriber = participant.create_subscriber(fastdds.SubscriberQos())
keep = []  # the wrapper does not hold on to what C++ still uses


def topic(name: str, type_name: str, pub_sub_type):
    keep.append(support := fastdds.TypeSupport(pub_sub_type))
    participant.register_type(support, type_name)
    return participant.create_topic(name, type_name, fastdds.TopicQos())


def make_writer(on_topic):
    qos = fastdds.DataWriterQos()
    qos.reliability().kind = fastdds.RELIABLE_RELIABILITY_QOS
    qos.durability().kind = fastdds.VOLATILE_DURABILITY_QOS
    qos.history().depth = 10
    qos.data_sharing().off()  # its files would outlive a peer that is killed
    return publisher.create_datawriter(on_topic, qos)


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
    qos.history().depth = 10
    qos.data_sharing().off()
    got = queue.Queue()
    keep.append(listener := Listener(kind, got))
    return subscriber.create_datareader(on_topic, qos, listener), got


def wait_for_match(writer=None, reader=None):
    end_s = time.monotonic() + 10
    while time.monotonic() < end_s:
        readers, writers = fastdds.PublicationMatchedStatus(), fastdds.SubscriptionMatchedStatus()
        if writer is not None:
            writer.get_publication_matched_status(readers)
        if reader is not None:
            reader.get_subscription_matched_status(writers)
        if (writer is None or readers.current_count) and (reader is None or writers.current_count):
            return
        time.sleep(0.005)


if mode == "listen":
    header = topic("rt/headers_from_thenar", "std_msgs::msg::dds_::Header_", types.HeaderPubSubType())
    _, got = make_reader(header, types.Header)
    for _ in range(count):
        value, _ = got.get(timeout=15)
        print("got", len(value.frame_id()), value.frame_id()[:20], flush=True)
elif mode == "talk":
    writer = make_writer(topic("rt/headers_to_thenar", "std_msgs::msg::dds_::Header_", types.HeaderPubSubType()))
    wait_for_match(writer=writer)
    for number in range(count):
        value = types.Header()
        value.frame_id(f"fast {number}".ljust(20 if number < count - 1 else 100_000))
        writer.write(value)
        time.sleep(0.002)
    time.sleep(1.0)
else:
    ask = topic(
        "rq/set_forceRequest", "thenar_test::srv::dds_::SetForce_Request_", types.PolicyChange_RequestPubSubType()
    )
    hear = topic("rr/set_forceReply", "thenar_test::srv::dds_::SetForce_Response_", types.TimePubSubType())
    writer = make_writer(ask)
    reader, got = make_reader(hear, types.Time)
    wait_for_match(writer, reader)
    for number in range(1, count + 1):
        force = 20000.0 + number
        request = types.PolicyChange_Request()
        request.header().stamp().sec(struct.unpack("<i", struct.pack("<f", force))[0])
        request.header().frame_id("ninechars")
        params = fastdds.WriteParams()
        if mode == "call":
            params.related_sample_identity().writer_guid(reader.guid())
        start_s = time.perf_counter()
        writer.write(request, params)
        sequence = params.sample_identity().sequence_number()
        try:
            value, info = got.get(timeout=limit_s)
        except queue.Empty:
            print("WRONG no reply", number, flush=True)
            continue
        took_s = time.perf_counter() - start_s
        related = info.related_sample_identity
        asker = reader.guid() if mode == "call" else writer.guid()
        echo = struct.unpack("<f", struct.pack("<I", value.nanosec()))[0]
        right = (
            related.writer_guid() == asker
            and (related.sequence_number().high, related.sequence_number().low) == (sequence.high, sequence.low)
            and value.sec() == 1
            and echo == force
            and got.empty()
        )
        print("reply" if right else f"WRONG {value.sec()} {echo} {force}", f"{took_s * 1e6:.0f}", flush=True)
participant.delete_contained_entities()
fastdds.DomainParticipantFactory.get_instance().delete_participant(participant)
