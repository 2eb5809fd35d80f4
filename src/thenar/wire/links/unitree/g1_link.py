"""A G1's body on Unitree's DDS topics: xr_teleoperate and Unitree's SDKs connect to it as to the robot."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from thenar import cdr
from thenar.pace import Pace
from thenar.signals import HandSettings, HandState, MotorReadings, MotorTargets
from thenar.wire.codecs import sim_codec
from thenar.wire.codecs.unitree import g1_codec, unitree_rpc
from thenar.wire.codecs.unitree.g1_codec import ARM_TOPIC, COMMAND_TOPIC, RUN_TOPIC, SLOW_STATE_TOPIC, STATE_TOPIC
from thenar.wire.codecs.unitree.unitree_rpc import NOT_IMPLEMENTED, OK, RpcRequest
from thenar.wire.links.dds_link import DdsLink, send
from thenar.wire.links.inbox import Waiting
from thenar.wire.rtps import Participant, Qos

HOLD_S = 0.5
"""A commander that was silent for so long has left; only then another one is listened to."""
SLOW_HZ = 20.0
NO_WALKING = "walking, sitting and squatting are not simulated"
CHECK_MODE, SELECT_MODE, RELEASE_MODE = 1001, 1002, 1003
GET_FSM_ID, GET_FSM_MODE, GET_BALANCE_MODE, SET_FSM_ID, SET_VELOCITY = 7001, 7002, 7003, 7101, 7105
HOLD = 500
FSM = {0: "limp", 1: "damp", HOLD: "hold"}
"""What the body does by itself in those states of the robot that are simulated; on free feet it holds its balance."""


class G1Topics(DdsLink):
    """The robot's side: states go out at every tick, the newest command of each topic waits for the loop."""

    wire = "g1"
    where = "rt/{lowstate,lowcmd,arm_sdk}, rt/api/{motion_switcher,sport}"

    def __init__(self, participant: Participant, *, mode_machine: int):
        """Announce the topics."""
        super().__init__(participant)
        self._mode_machine = mode_machine
        self._newest: dict[str, MotorTargets] = {}
        """By topic."""
        self._fsm_id = HOLD
        self._mode_name = ""
        self._wanted = Waiting[str](self._inbox.refused)
        self._slow = Pace(SLOW_HZ)
        self._writers = {topic: self.advertise(topic, kind) for topic, kind in g1_codec.STATES.items()}
        self._rewards = self.advertise(sim_codec.REWARD_TOPIC, sim_codec.STRING)
        for topic, kind in g1_codec.COMMANDS.items():
            self.subscribe(topic, kind, partial(self._on_command, topic))
        self.subscribe(RUN_TOPIC, sim_codec.STRING, self._on_run)
        for service, handler in (("motion_switcher", self._switch_motion), ("sport", self._loco)):
            self._serve(service, handler)

    def targets(self, now_s: float) -> tuple[MotorTargets | None, MotorTargets | None]:
        """Commands of the whole body and of the arms that are not too old."""
        found = (self._newest.get(topic) for topic in (COMMAND_TOPIC, ARM_TOPIC))
        body, arms = (one if one is not None and now_s - one.arrived_s < HOLD_S else None for one in found)
        return body, arms

    def modes(self) -> list[str]:
        """What the body shall do by itself, `FSM`, as asked since the last call."""
        return self._wanted.take()

    def restart(self) -> None:
        """The body holds itself again, whatever was asked of it before."""
        self._wanted.take()
        self._fsm_id = HOLD

    def publish(self, readings: MotorReadings) -> None:
        """Send what the motors and the IMUs measure."""
        message = g1_codec.encode_readings(readings, mode_machine=self._mode_machine)
        send(self._writers[STATE_TOPIC], message)
        if self._slow.is_due(readings.stamp_s):
            send(self._writers[SLOW_STATE_TOPIC], message)
        imu = self._writers[g1_codec.TORSO_IMU_TOPIC]
        if imu.readers:
            send(imu, g1_codec.encode_torso_imu(readings))

    def publish_reward(self, stamp_s: float, reward: float) -> None:
        """Send how well the task of the scene goes."""
        send(self._rewards, sim_codec.encode_text(json.dumps({"rewards": [reward], "timestamp": stamp_s})))

    def publish_state(self, hands: Mapping[str, tuple[HandState, HandSettings]]) -> None:
        """Nothing: hands have topics of their own."""

    def _on_command(self, topic: str, message: bytes, sender: str, arrived_s: float) -> None:
        targets = g1_codec.decode_targets(
            message,
            sender=sender,
            arrived_s=arrived_s,
            mode_machine=self._mode_machine,
            arms=topic == ARM_TOPIC,
        )
        before = self._newest.get(topic)
        if before is not None and before.sender != sender and arrived_s - before.arrived_s < HOLD_S:
            self._inbox.refuse(f"{topic}: {sender} is ignored while {before.sender} commands")
            return
        self._newest[topic] = targets

    def _on_run(self, message: bytes, _sender: str, _arrived_s: float) -> None:
        try:
            vx, vy, turn, _height = json.loads(sim_codec.decode_text(message))
            asked = any(abs(float(speed)) > 0.0 for speed in (vx, vy, turn))
        except (ValueError, TypeError, OverflowError, RecursionError):
            raise cdr.BadMessage("wanted [vx, vy, vyaw, height]") from None
        if asked:
            self._inbox.refuse(f"{RUN_TOPIC}: {NO_WALKING}")

    def _serve(self, service: str, handler: Callable[[RpcRequest, Any], tuple[int, Any]]) -> None:
        request_topic, response_topic = unitree_rpc.topics(service)
        # The writer first: whoever finds the reader finds the writer too.
        writer = self.advertise(response_topic, unitree_rpc.RESPONSE_TYPE)

        def answer(message: bytes, _sender: str, _arrived_s: float) -> None:
            request = unitree_rpc.decode_request(message)
            try:
                asked = json.loads(request.parameter) if request.parameter else {}
                code, data = handler(request, asked)
            except (ValueError, TypeError, KeyError, AttributeError, OverflowError, RecursionError):
                code, data = NOT_IMPLEMENTED, "the parameter is not the JSON of this call"
            if code != OK:
                self._inbox.refuse(f"{request_topic}: call {request.api_id}: {data}")
            if not request.noreply:
                text = data if isinstance(data, str) else json.dumps(data)
                send(writer, unitree_rpc.encode_response(request, code=code, data=text))

        self.subscribe(request_topic, unitree_rpc.REQUEST_TYPE, answer, qos=Qos())

    def _switch_motion(self, request: RpcRequest, asked: Any) -> tuple[int, Any]:
        if request.api_id == CHECK_MODE:
            return OK, {"form": "0", "name": self._mode_name}
        if request.api_id == SELECT_MODE:
            self._mode_name = str(asked["name"])[:32]
            return OK, ""
        if request.api_id == RELEASE_MODE:
            self._mode_name = ""
            return OK, ""
        return NOT_IMPLEMENTED, f"motion_switcher has no call {request.api_id} here"

    def _loco(self, request: RpcRequest, asked: Any) -> tuple[int, Any]:
        if request.api_id in (GET_FSM_ID, GET_FSM_MODE, GET_BALANCE_MODE):
            return OK, {"data": self._fsm_id if request.api_id == GET_FSM_ID else 0}
        if request.api_id == SET_FSM_ID and asked["data"] in FSM:
            self._fsm_id = asked["data"]
            self._wanted.put(FSM[self._fsm_id])
            return OK, ""
        if request.api_id == SET_VELOCITY and not any(float(speed) for speed in asked["velocity"]):
            return OK, ""
        if request.api_id in (SET_FSM_ID, SET_VELOCITY):
            return NOT_IMPLEMENTED, NO_WALKING
        return NOT_IMPLEMENTED, f"sport has no call {request.api_id} here"
