// A Fast DDS 2 peer (what ROS 2 Humble uses), calling services as rmw_fastrtps does. Bodies are raw bytes.
//
// fast2_peer (listen | talk | call) DOMAIN COUNT [LIMIT_S]
// fast2_peer script DOMAIN 0: does what the lines on its standard input say, bodies in hex:
//   call SERVICE TYPE BODY     calls a ROS 2 service, prints "reply BODY" or "none"
//   hear TOPIC TYPE            prints "heard BODY" of the next message
//   say TOPIC TYPE BODY TIMES  publishes, 100 a second
//
// g++ -std=c++17 fast2_peer.cpp -o fast2_peer -lfastrtps -lfastcdr

#include <chrono>
#include <cstdio>
#include <cstring>
#include <iostream>
#include <map>
#include <memory>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include <fastdds/dds/domain/DomainParticipant.hpp>
#include <fastdds/dds/domain/DomainParticipantFactory.hpp>
#include <fastdds/dds/publisher/DataWriter.hpp>
#include <fastdds/dds/publisher/Publisher.hpp>
#include <fastdds/dds/subscriber/DataReader.hpp>
#include <fastdds/dds/subscriber/SampleInfo.hpp>
#include <fastdds/dds/subscriber/Subscriber.hpp>
#include <fastdds/dds/topic/TopicDataType.hpp>
#include <fastdds/dds/topic/TypeSupport.hpp>
#include <fastdds/rtps/transport/UDPv4TransportDescriptor.h>

using namespace eprosima::fastdds::dds;
using namespace eprosima::fastrtps::rtps;

using Bytes = std::vector<uint8_t>;  // encapsulation and body
using Clock = std::chrono::steady_clock;

class RawType : public TopicDataType {
 public:
  explicit RawType(const char* name) {
    setName(name);
    m_typeSize = 200000;
    m_isGetKeyDefined = false;
  }
  bool serialize(void* value, SerializedPayload_t* out) override {
    auto& bytes = *static_cast<Bytes*>(value);
    std::memcpy(out->data, bytes.data(), bytes.size());
    out->length = static_cast<uint32_t>(bytes.size());
    out->encapsulation = CDR_LE;
    return true;
  }
  bool deserialize(SerializedPayload_t* in, void* value) override {
    static_cast<Bytes*>(value)->assign(in->data, in->data + in->length);
    return true;
  }
  std::function<uint32_t()> getSerializedSizeProvider(void* value) override {
    return [value] { return static_cast<uint32_t>(static_cast<Bytes*>(value)->size()); };
  }
  void* createData() override { return new Bytes; }
  void deleteData(void* value) override { delete static_cast<Bytes*>(value); }
  bool getKey(void*, InstanceHandle_t*, bool) override { return false; }
};

static DomainParticipant* participant;

static Topic* topic(const char* name, const char* type_name) {
  static std::map<std::string, Topic*> made;
  if (made.count(name)) return made[name];
  TypeSupport type(new RawType(type_name));
  type.register_type(participant);
  return made[name] = participant->create_topic(name, type_name, TOPIC_QOS_DEFAULT);
}

static Bytes text(const std::string& value) {
  Bytes out = {0, 1, 0, 0};
  uint32_t size = static_cast<uint32_t>(value.size()) + 1;
  for (int i = 0; i < 4; i++) out.push_back(static_cast<uint8_t>(size >> (8 * i)));
  out.insert(out.end(), value.begin(), value.end());
  out.push_back(0);
  return out;
}

static Bytes from_hex(const std::string& text) {
  Bytes out = {0, 1, 0, 0};
  for (size_t i = 0; i + 1 < text.size(); i += 2) out.push_back(std::stoi(text.substr(i, 2), nullptr, 16));
  return out;
}

static void print_hex(const char* word, const Bytes& bytes) {
  std::printf("%s ", word);
  for (size_t i = 4; i < bytes.size(); i++) std::printf("%02x", bytes[i]);
  std::printf("\n");
  std::fflush(stdout);
}

static void nap(int milliseconds) { std::this_thread::sleep_for(std::chrono::milliseconds(milliseconds)); }

int main(int given, char** arguments) {
  const std::string mode = arguments[1];
  const int count = std::stoi(arguments[3]);
  const std::chrono::duration<double> limit(given > 4 ? std::stod(arguments[4]) : 10.0);  // for one call
  // Without shared memory, as the robots' own software runs it; its files would outlive a peer that is killed.
  DomainParticipantQos qos;
  qos.transport().use_builtin_transports = false;
  qos.transport().user_transports.push_back(std::make_shared<eprosima::fastdds::rtps::UDPv4TransportDescriptor>());
  participant = DomainParticipantFactory::get_instance()->create_participant(std::stoi(arguments[2]), qos);
  auto* publisher = participant->create_publisher(PUBLISHER_QOS_DEFAULT);
  auto* subscriber = participant->create_subscriber(SUBSCRIBER_QOS_DEFAULT);
  DataWriterQos write_qos;
  write_qos.reliability().kind = RELIABLE_RELIABILITY_QOS;
  write_qos.durability().kind = VOLATILE_DURABILITY_QOS;
  write_qos.history().depth = 10;
  write_qos.data_sharing().off();
  write_qos.publish_mode().kind = ASYNCHRONOUS_PUBLISH_MODE;  // as rmw_fastrtps has it; fragments need it
  DataReaderQos read_qos;
  read_qos.reliability().kind = RELIABLE_RELIABILITY_QOS;
  read_qos.history().depth = 10;
  read_qos.data_sharing().off();
  const char* string_type = "std_msgs::msg::dds_::String_";

  if (mode == "listen") {
    auto* reader = subscriber->create_datareader(topic("rt/from_thenar", string_type), read_qos);
    for (int got = 0; got < count;) {
      Bytes value;
      SampleInfo info;
      if (reader->take_next_sample(&value, &info) == ReturnCode_t::RETCODE_OK && info.valid_data) {
        const char* start = reinterpret_cast<const char*>(value.data()) + 8;
        std::printf("got %zu %.20s\n", std::strlen(start), start);
        std::fflush(stdout);
        got++;
      } else {
        nap(1);
      }
    }
  } else if (mode == "talk") {
    auto* writer = publisher->create_datawriter(topic("rt/to_thenar", string_type), write_qos);
    PublicationMatchedStatus matched;
    for (int i = 0; i < 2000 && matched.current_count == 0; i++) {
      nap(5);
      writer->get_publication_matched_status(matched);
    }
    for (int number = 0; number < count; number++) {
      std::string value = "fast2 " + std::to_string(number);
      value.resize(number < count - 1 ? 20 : 100000, ' ');
      Bytes bytes = text(value);
      writer->write(&bytes);
      nap(2);
    }
    nap(1000);
  } else if (mode == "script") {
    std::string line;
    while (std::getline(std::cin, line)) {
      std::istringstream words(line);
      std::string verb, name, type, body;
      words >> verb >> name >> type >> body;
      if (verb == "hear") {
        auto* reader = subscriber->create_datareader(topic(name.c_str(), type.c_str()), read_qos);
        const auto start = Clock::now();
        Bytes value;
        SampleInfo info;
        bool got = false;
        while (!got && Clock::now() - start < limit) {
          got = reader->take_next_sample(&value, &info) == ReturnCode_t::RETCODE_OK && info.valid_data;
          if (!got) nap(1);
        }
        print_hex("heard", got ? value : Bytes(4));
        continue;
      }
      const bool call = verb == "call";
      const std::string request_topic = call ? "rq" + name + "Request" : name;
      const std::string request_type = call ? type + "_Request_" : type;
      auto* writer =
          publisher->create_datawriter(topic(request_topic.c_str(), request_type.c_str()), write_qos);
      DataReader* reader = nullptr;
      if (call) {
        const std::string reply_topic = "rr" + name + "Reply", reply_type = type + "_Response_";
        reader = subscriber->create_datareader(topic(reply_topic.c_str(), reply_type.c_str()), read_qos);
      }
      PublicationMatchedStatus readers;
      SubscriptionMatchedStatus writers;
      for (int i = 0; i < 2000 && !(readers.current_count && (!call || writers.current_count)); i++) {
        nap(5);
        writer->get_publication_matched_status(readers);
        if (call) reader->get_subscription_matched_status(writers);
      }
      Bytes request = from_hex(body == "-" ? "" : body);
      if (!call) {
        int times = 1;
        words >> times;
        for (int i = 0; i < times; i++) {
          writer->write(&request);
          nap(10);
        }
        print_hex("said", Bytes(4));
        continue;
      }
      WriteParams params;
      params.related_sample_identity().writer_guid() = reader->guid();
      writer->write(&request, params);
      const auto start = Clock::now();
      Bytes reply;
      SampleInfo info;
      bool got = false;
      while (!got && Clock::now() - start < limit) {
        reader->wait_for_unread_message({0, 50000000});
        got = reader->take_next_sample(&reply, &info) == ReturnCode_t::RETCODE_OK && info.valid_data;
      }
      subscriber->delete_datareader(reader);  // the next call makes its own
      publisher->delete_datawriter(writer);
      if (got) {
        print_hex("reply", reply);
      } else {
        print_hex("none", Bytes(4));
      }
    }
  } else {
    auto* writer = publisher->create_datawriter(
        topic("rq/set_forceRequest", "thenar_test::srv::dds_::SetForce_Request_"), write_qos);
    auto* reader = subscriber->create_datareader(
        topic("rr/set_forceReply", "thenar_test::srv::dds_::SetForce_Response_"), read_qos);
    PublicationMatchedStatus readers;
    SubscriptionMatchedStatus writers;
    for (int i = 0; i < 2000 && !(readers.current_count && writers.current_count); i++) {
      nap(5);
      writer->get_publication_matched_status(readers);
      reader->get_subscription_matched_status(writers);
    }
    for (int number = 1; number <= count; number++) {
      const float forces[6] = {40000.0f + static_cast<float>(number), 0.1f, 0.2f, 0.3f, 0.4f, 0.5f};
      Bytes request = {0, 1, 0, 0};
      request.resize(4 + sizeof forces);
      std::memcpy(request.data() + 4, forces, sizeof forces);
      WriteParams params;
      params.related_sample_identity().writer_guid() = reader->guid();
      const auto start = Clock::now();
      writer->write(&request, params);
      const auto sent = params.sample_identity().sequence_number();
      int answers = 0;
      bool right = true;
      long long took_us = 0;
      while (answers == 0 && Clock::now() - start < limit) {
        reader->wait_for_unread_message({0, 200000000});
        Bytes reply;
        SampleInfo info;
        while (reader->take_next_sample(&reply, &info) == ReturnCode_t::RETCODE_OK) {
          if (!info.valid_data) continue;
          answers++;
          took_us = std::chrono::duration_cast<std::chrono::microseconds>(Clock::now() - start).count();
          float echo = 0;
          if (reply.size() >= 12) std::memcpy(&echo, reply.data() + 8, 4);
          right = right && info.related_sample_identity.writer_guid() == reader->guid() &&
                  info.related_sample_identity.sequence_number() == sent && reply.size() >= 12 && reply[4] == 1 &&
                  echo == forces[0];
        }
      }
      std::printf("%s %lld\n", right && answers == 1 ? "reply" : "WRONG", took_us);
      std::fflush(stdout);
    }
  }
  participant->delete_contained_entities();
  DomainParticipantFactory::get_instance()->delete_participant(participant);
}
