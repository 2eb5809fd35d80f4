/* A client of the tactile Inspire hand in C, compiled from the vendor's IDL: commands the right hand, hears state and touch.
 * Usage: inspire_peer DOMAIN SECONDS (from the first state). Prints one line of JSON. */
#include <dds/dds.h>
#include <stdio.h>
#include <stdlib.h>

#include "inspire_hand.h"

static const char *CONFIG =
    "<CycloneDDS><Domain Id=\"any\"><General><AllowMulticast>false</AllowMulticast>"
    "<Interfaces><NetworkInterface name=\"lo\" multicast=\"false\"/></Interfaces></General>"
    "<Discovery><ParticipantIndex>auto</ParticipantIndex><MaxAutoParticipantIndex>32</MaxAutoParticipantIndex>"
    "<Peers><Peer address=\"127.0.0.1\"/></Peers></Discovery></Domain></CycloneDDS>";

int main(int argc, char **argv) {
  if (argc < 3) return 2;
  const dds_domainid_t domain = (dds_domainid_t)atoi(argv[1]);
  const double seconds = atof(argv[2]);
  if (!getenv("CYCLONEDDS_URI")) dds_create_domain(domain, CONFIG);
  const dds_entity_t me = dds_create_participant(domain, NULL, NULL);
  const dds_entity_t ctrl_topic =
      dds_create_topic(me, &inspire_inspire_hand_ctrl_desc, "rt/inspire_hand/ctrl/r", NULL, NULL);
  const dds_entity_t state_topic =
      dds_create_topic(me, &inspire_inspire_hand_state_desc, "rt/inspire_hand/state/r", NULL, NULL);
  const dds_entity_t touch_topic =
      dds_create_topic(me, &inspire_inspire_hand_touch_desc, "rt/inspire_hand/touch/r", NULL, NULL);
  const dds_entity_t writer = dds_create_writer(me, ctrl_topic, NULL, NULL);
  const dds_entity_t state_reader = dds_create_reader(me, state_topic, NULL, NULL);
  const dds_entity_t touch_reader = dds_create_reader(me, touch_topic, NULL, NULL);

  int16_t angles[6] = {300, 300, 300, 300, 700, 900};
  inspire_inspire_hand_ctrl ctrl = {0};
  ctrl.angle_set._buffer = angles;
  ctrl.angle_set._length = ctrl.angle_set._maximum = 6;
  ctrl.mode = 1;

  int states = 0, touches = 0, taxels = 0, angle = -1, status = -1;
  dds_time_t until = dds_time() + DDS_SECS(20); /* for the first state to come */
  while (dds_time() < until) {
    dds_write(writer, &ctrl);
    void *samples[1] = {NULL};
    dds_sample_info_t info[1];
    while (dds_take(state_reader, samples, info, 1, 1) > 0) {
      const inspire_inspire_hand_state *state = samples[0];
      if (info[0].valid_data) {
        if (states++ == 0) until = dds_time() + (dds_time_t)(seconds * 1e9);
        angle = state->angle_act._buffer[0];
        status = state->status._buffer[0];
      }
      dds_return_loan(state_reader, samples, 1);
      samples[0] = NULL;
    }
    while (dds_take(touch_reader, samples, info, 1, 1) > 0) {
      const inspire_inspire_hand_touch *touch = samples[0];
      if (info[0].valid_data) {
        touches++;
        taxels = (int)(touch->palm_touch._length + touch->fingerfive_middle_touch._length +
                       touch->fingerone_top_touch._length);
      }
      dds_return_loan(touch_reader, samples, 1);
      samples[0] = NULL;
    }
    dds_sleepfor(DDS_MSECS(10));
  }
  printf("{\"states\": %d, \"touches\": %d, \"taxels\": %d, \"angle\": %d, \"status\": %d}\n", states, touches, taxels,
         angle, status);
  dds_delete(me);
  return 0;
}
