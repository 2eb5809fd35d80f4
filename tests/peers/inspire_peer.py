"""A client of the tactile Inspire hand, written from the vendor's IDL alone: no thenar here.

Usage: inspire_peer.py DOMAIN SECONDS [ANGLE]. Commands both hands at 100 Hz for so long from the first state that it
hears, or a minute where none comes, and prints one JSON line of what it heard.
"""

import json
import sys
import time
from dataclasses import dataclass

import cyclonedds.idl as idl
import cyclonedds.idl.annotations as annotate
import cyclonedds.idl.types as types
from cyclonedds.domain import Domain, DomainParticipant
from cyclonedds.pub import DataWriter
from cyclonedds.sub import DataReader
from cyclonedds.topic import Topic
from loopback import CONFIG


@dataclass
@annotate.final
@annotate.autoid("sequential")
class Ctrl(idl.IdlStruct, typename="inspire.inspire_hand_ctrl"):
    pos_set: types.sequence[types.int16, 6]
    angle_set: types.sequence[types.int16, 6]
    force_set: types.sequence[types.int16, 6]
    speed_set: types.sequence[types.int16, 6]
    mode: types.int8


@dataclass
@annotate.final
@annotate.autoid("sequential")
class State(idl.IdlStruct, typename="inspire.inspire_hand_state"):
    pos_act: types.sequence[types.int16, 6]
    angle_act: types.sequence[types.int16, 6]
    force_act: types.sequence[types.int16, 6]
    current: types.sequence[types.int16, 6]
    err: types.sequence[types.uint8, 6]
    status: types.sequence[types.uint8, 6]
    temperature: types.sequence[types.uint8, 6]


@dataclass
@annotate.final
@annotate.autoid("sequential")
class Touch(idl.IdlStruct, typename="inspire.inspire_hand_touch"):
    fingerone_tip_touch: types.sequence[types.int16, 9]
    fingerone_top_touch: types.sequence[types.int16, 96]
    fingerone_palm_touch: types.sequence[types.int16, 80]
    fingertwo_tip_touch: types.sequence[types.int16, 9]
    fingertwo_top_touch: types.sequence[types.int16, 96]
    fingertwo_palm_touch: types.sequence[types.int16, 80]
    fingerthree_tip_touch: types.sequence[types.int16, 9]
    fingerthree_top_touch: types.sequence[types.int16, 96]
    fingerthree_palm_touch: types.sequence[types.int16, 80]
    fingerfour_tip_touch: types.sequence[types.int16, 9]
    fingerfour_top_touch: types.sequence[types.int16, 96]
    fingerfour_palm_touch: types.sequence[types.int16, 80]
    fingerfive_tip_touch: types.sequence[types.int16, 9]
    fingerfive_top_touch: types.sequence[types.int16, 96]
    fingerfive_middle_touch: types.sequence[types.int16, 9]
    fingerfive_palm_touch: types.sequence[types.int16, 96]
    palm_touch: types.sequence[types.int16, 112]


def _valid(samples: list) -> list:
    """Without those that only tell that a writer has left."""
    return [sample for sample in samples if sample.sample_info.valid_data]


def main() -> None:
    domain, seconds = int(sys.argv[1]), float(sys.argv[2])
    angle = int(sys.argv[3]) if len(sys.argv) > 3 else 400
    kept = Domain(domain, CONFIG)
    participant = DomainParticipant(domain)
    writers, states, touches = {}, {}, {}
    for side in "lr":
        writers[side] = DataWriter(participant, Topic(participant, f"rt/inspire_hand/ctrl/{side}", Ctrl))
        states[side] = DataReader(participant, Topic(participant, f"rt/inspire_hand/state/{side}", State))
        touches[side] = DataReader(participant, Topic(participant, f"rt/inspire_hand/touch/{side}", Touch))
    heard = {side: {"states": 0, "touches": 0} for side in "lr"}
    until = time.time() + 60.0
    while time.time() < until:
        for side in "lr":
            # Only the angles are filled, as the vendor's C++ example does.
            writers[side].write(Ctrl([], [angle] * 6, [], [], 1))
            for state in _valid(states[side].take(N=100)):
                if not heard["l"]["states"] and not heard["r"]["states"]:
                    until = time.time() + seconds
                heard[side]["states"] += 1
                heard[side]["angle"] = list(state.angle_act)
                heard[side]["pos"] = list(state.pos_act)
                heard[side]["status"] = list(state.status)
                heard[side]["temperature"] = list(state.temperature)
            for touch in _valid(touches[side].take(N=100)):
                heard[side]["touches"] += 1
                heard[side]["sizes"] = [len(value) for value in vars(touch).values() if isinstance(value, list)]
                heard[side]["largest"] = max(max(value) for value in vars(touch).values() if isinstance(value, list))
        time.sleep(0.01)
    print(json.dumps(heard), flush=True)
    del kept


if __name__ == "__main__":
    main()
