"""A client that does what xr_teleoperate's controller of a G1's arms does, with targets of its own. No thenar here.

Usage: arm_controller.py DOMAIN SECONDS TOPIC [ARM]. It asks for the motion mode, waits for a state, holds every motor
that is not in an arm where it is, and commands both arms 250 times a second. With ARM (left, right) only that moves,
and the other is carried by the torques that its motors had at the start, in place of xr_teleoperate's feed-forward.
Prints "commanding" when it does, and at its end JSON: how long it waited, and what it saw.
"""

import binascii
import json
import struct
import sys
import time
from pathlib import Path

from cyclonedds.core import Policy, Qos
from cyclonedds.domain import Domain, DomainParticipant
from cyclonedds.pub import DataWriter
from cyclonedds.sub import DataReader
from cyclonedds.topic import Topic
from cyclonedds.util import duration
from loopback import CONFIG

sys.path.append(str(Path(__file__).parents[1] / "oracles"))
import math

import unitree_idl as idl

ARMS = range(15, 29)
WRISTS = {19, 20, 21, 26, 27, 28}
ANKLE_PITCH = {4, 10}
REVERSED = bytes(int(f"{byte:08b}"[::-1], 2) for byte in range(256))


def crc_of(words: bytes) -> int:
    """Unitree's checksum, the quick way."""
    swapped = b"".join(words[at : at + 4][::-1] for at in range(0, len(words), 4))
    crc = binascii.crc32(swapped.translate(REVERSED)) ^ 0xFFFFFFFF
    return int(f"{crc:032b}"[::-1], 2)


def command_crc(command) -> int:
    packed = struct.pack("<2B2x", command.mode_pr, command.mode_machine)
    for motor in command.motor_cmd:
        packed += struct.pack("<B3x5fI", motor.mode, motor.q, motor.dq, motor.tau, motor.kp, motor.kd, motor.reserve)
    return crc_of(packed + struct.pack("<4I", *command.reserve))


def state_crc(state) -> int:
    packed = struct.pack("<2I2B2xI", *state.version, state.mode_pr, state.mode_machine, state.tick)
    imu = state.imu_state
    numbers = (*imu.quaternion, *imu.gyroscope, *imu.accelerometer, *imu.rpy)
    packed += struct.pack("<13fh2x", *numbers, imu.temperature)
    for motor in state.motor_state:
        numbers = (motor.q, motor.dq, motor.ddq, motor.tau_est)
        packed += struct.pack("<B3x4f2hf", motor.mode, *numbers, *motor.temperature, motor.vol)
        packed += struct.pack("<7I", *motor.sensor, motor.motorstate, *motor.reserve)
    return crc_of(packed + bytes(state.wireless_remote) + struct.pack("<4I", *state.reserve))


def gains(index: int) -> tuple[float, float]:
    if index in WRISTS:
        return 40.0, 1.5
    return (80.0, 3.0) if index in ARMS or index in ANKLE_PITCH else (300.0, 3.0)


def check_mode(participant) -> tuple[float, str]:
    """Seconds until the motion switcher answered, and what it said."""
    reliable = Qos(Policy.Reliability.Reliable(duration(seconds=1)))
    responses = DataReader(participant, Topic(participant, "rt/api/motion_switcher/response", idl.Response), reliable)
    requests = DataWriter(participant, Topic(participant, "rt/api/motion_switcher/request", idl.Request), reliable)
    began = time.time()
    while not requests.get_publication_matched_status().current_count and time.time() - began < 5.0:
        time.sleep(0.002)
    asked = time.time()
    header = idl.RequestHeader(
        idl.RequestIdentity(time.monotonic_ns(), 1001), idl.RequestLease(0), idl.RequestPolicy(0, False)
    )
    requests.write(idl.Request(header, "", []))
    while time.time() - asked < 2.0:
        for response in responses.take(N=10):
            if response.header.identity.id == header.identity.id:
                return time.time() - asked, response.data
        time.sleep(0.001)
    return time.time() - asked, ""


def main() -> None:
    domain, seconds, topic = int(sys.argv[1]), float(sys.argv[2]), sys.argv[3]
    moving = {"left": range(15, 22), "right": range(22, 29)}.get(" ".join(sys.argv[4:]), ARMS)
    kept = Domain(domain, CONFIG)
    participant = DomainParticipant(domain)
    reader = DataReader(participant, Topic(participant, "rt/lowstate", idl.LowState))
    writer = DataWriter(participant, Topic(participant, topic, idl.LowCmd))
    began, first = time.time(), None
    while first is None and time.time() - began < 10.0:
        for state in reader.take(N=10):
            first = state
        time.sleep(0.002)
    waited = time.time() - began
    assert first is not None
    asked_s, mode = check_mode(participant)
    motors = {
        index: {"mode": 1, "q": first.motor_state[index].q, "kp": gains(index)[0], "kd": gains(index)[1]}
        for index in range(35)
    }
    if topic == "rt/arm_sdk":
        motors[29]["q"] = 1.0
    for index in set(ARMS) - set(moving):
        motors[index]["tau"] = first.motor_state[index].tau_est
    command = idl.low_cmd(motors, mode_machine=first.mode_machine)
    print("commanding", flush=True)
    states, wrong, sent, due, last = [], 0, 0, time.time(), first
    end = due + seconds
    while time.time() < end:
        t = seconds - (end - due)
        for index in moving:
            out = -1.0 if index >= 22 and index in (23, 24, 26, 28) else 1.0  # so that arms stay off the body
            command.motor_cmd[index].q = out * 0.2 * (1.0 - math.cos(2 * math.pi * 0.5 * t))
        command.crc = command_crc(command)
        writer.write(command)
        sent += 1
        for state in reader.take(N=20):
            if not state.sample_info.valid_data:  # a twin has left
                continue
            last = state
            states.append([state.tick, *(motor.q for motor in state.motor_state[:29])])
            if len(states) % 50 == 0:
                wrong += state_crc(state) != state.crc
        due += 0.004
        time.sleep(max(0.0, due - time.time()))
    print(
        json.dumps(
            {
                "waited_s": waited, "asked_s": asked_s, "mode": mode, "sent": sent, "states": states,
                "wrong_crc": wrong, "mode_machine": last.mode_machine, "quaternion": list(last.imu_state.quaternion),
                "accelerometer": list(last.imu_state.accelerometer), "tau": [m.tau_est for m in last.motor_state[:29]],
            }
        )
    )  # fmt: skip
    del kept


if __name__ == "__main__":
    main()
