"""What a G1 on the network costs: real time, cameras as a client sees them, and from a command to the state it changes.

Run as ``python -m bench.g1 [SECONDS]``: both arms are driven, two Inspire hands feel, three cameras are drawn. Beside
the round trip stands one of Cyclone DDS alone in the same run: the same messages, answered at once by another process.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

sys.path += ["tests/peers", "tests/oracles"]  # the types and the client of the tests; run from the repository's root
DOMAIN, ALONE = 71, 72
WRIST, TRIPS = 28, 300


def watch_cameras(ports: dict[str, int], seconds: float) -> dict[str, Any]:
    """Rate [Hz] and longest gap [s] of each camera at a subscriber."""
    import zmq

    context, stamps = zmq.Context(), {name: [] for name in ports}
    poller, names = zmq.Poller(), {}
    for name, port in ports.items():
        socket = context.socket(zmq.SUB)
        socket.setsockopt(zmq.SUBSCRIBE, b"")
        socket.connect(f"tcp://127.0.0.1:{port}")
        poller.register(socket, zmq.POLLIN)
        names[socket] = name
    until = time.perf_counter() + seconds
    while time.perf_counter() < until:
        for socket, _ in poller.poll(100):
            socket.recv()
            stamps[names[socket]].append(time.perf_counter())
    context.destroy(linger=0)
    gaps = {name: np.diff(times) for name, times in stamps.items()}
    return {
        name: {"hz": round(float(1.0 / gap.mean()), 1), "gap_s": round(float(gap.max()), 3)}
        for name, gap in gaps.items()
    }


def pong(domain: int) -> None:
    """Answer every command at once with a state that has its torque, by Cyclone alone."""
    import unitree_idl as idl
    from cyclonedds.core import ReadCondition, SampleState, WaitSet
    from cyclonedds.domain import Domain, DomainParticipant
    from cyclonedds.pub import DataWriter
    from cyclonedds.sub import DataReader
    from cyclonedds.topic import Topic
    from cyclonedds.util import duration
    from loopback import CONFIG

    _kept = Domain(domain, CONFIG)
    participant = DomainParticipant(domain)
    reader = DataReader(participant, Topic(participant, "rt/lowcmd", idl.LowCmd))
    writer = DataWriter(participant, Topic(participant, "rt/lowstate", idl.LowState))
    imu = idl.IMUState([1.0, 0.0, 0.0, 0.0], [0.0] * 3, [0.0] * 3, [0.0] * 3, 0)
    motors: Any = [idl.motor_state() for _ in range(35)]
    state: Any = idl.LowState([0, 0], 0, 5, 0, imu, motors, [0] * 40, [0] * 4, 0)
    waits = WaitSet(participant)
    waits.attach(ReadCondition(reader, SampleState.NotRead))
    while True:  # until it is killed
        waits.wait(duration(seconds=1))
        for command in (one for one in reader.take(N=10) if one.sample_info.valid_data):
            state.motor_state[WRIST].tau_est = command.motor_cmd[WRIST].tau
            writer.write(state)


def trips_ms(domain: int) -> np.ndarray:
    """From a command that turns a torque round to the first state that shows it [ms]."""
    import unitree_idl as idl
    from arm_controller import command_crc
    from cyclonedds.domain import Domain, DomainParticipant
    from cyclonedds.pub import DataWriter
    from cyclonedds.sub import DataReader
    from cyclonedds.topic import Topic
    from loopback import CONFIG

    kept = Domain(domain, CONFIG)
    participant = DomainParticipant(domain)
    reader = DataReader(participant, Topic(participant, "rt/lowstate", idl.LowState))
    writer = DataWriter(participant, Topic(participant, "rt/lowcmd", idl.LowCmd))
    while not (writer.get_publication_matched_status().current_count):
        time.sleep(0.01)
    found, sign = [], 1.0
    while len(found) < TRIPS:
        sign = -sign
        motors = {index: {"mode": 1, "q": 0.0, "kp": 80.0, "kd": 3.0} for index in range(29)}
        motors[WRIST] |= {"kp": 0.0, "tau": sign * 0.5}
        command = idl.low_cmd(motors, mode_machine=5)
        command.crc = command_crc(command)
        reader.take(N=100)
        began = time.perf_counter()
        writer.write(command)
        while (passed := time.perf_counter() - began) < 0.5:
            if any(state.motor_state[WRIST].tau_est * sign > 0.0 for state in reader.take(N=100)):
                found.append(1e3 * passed)
                break
            time.sleep(1e-4)
        time.sleep(0.004 + 0.002 * np.random.default_rng(len(found)).uniform())
    del kept
    return np.array(found)


def load() -> str:
    """How busy the machine is with everything."""
    return f"load {os.getloadavg()[0]:.1f}"


@contextmanager
def started(*words: object) -> Iterator[subprocess.Popen[str]]:
    """This file again, or a client of the tests, as another process; it ends with the block."""
    process = subprocess.Popen([sys.executable, *map(str, words)], stdout=subprocess.PIPE, text=True)
    try:
        yield process
    finally:
        process.kill()
        process.wait()


def measure_trips(domain: int, who: str) -> None:
    """Print how long a round trip takes."""
    with started("-m", "bench.g1", "trips", domain) as trips:
        median, most, nearly_all = json.loads(trips.communicate()[0])
    print(f"round trip, {who}: {median} ms, 90 % {most}, 99 % {nearly_all}; {load()}", flush=True)


def main() -> None:
    """Measure, and print."""
    if sys.argv[1:2] == ["pong"]:
        pong(int(sys.argv[2]))
    if sys.argv[1:2] == ["trips"]:
        print(json.dumps(np.percentile(trips_ms(int(sys.argv[2])), [50, 90, 99]).round(2).tolist()))
        return
    from thenar.twin.body.cameras import CameraOptions
    from thenar.twin.body.g1_twin import G1Config, serve_g1

    seconds = float(sys.argv[1]) if len(sys.argv) > 1 else 15.0
    with started("-m", "bench.g1", "pong", ALONE):
        measure_trips(ALONE, "Cyclone alone")
    options = CameraOptions()
    for cameras in (None, options):
        config = G1Config(domain=DOMAIN, hands=("inspire",), scene="pick_place_cylinder", cameras=cameras)
        with serve_g1(config) as twin:
            if cameras is None:
                measure_trips(DOMAIN, "the twin")
            with started("tests/peers/arm_controller.py", DOMAIN, seconds + 30.0, "rt/lowcmd") as arms:
                assert arms.stdout is not None
                assert arms.stdout.readline().strip() == "commanding"
                before, cpu_s, began_s = twin.health(), time.process_time(), time.perf_counter()
                seen: dict[str, Any] = {}
                if cameras is None:
                    time.sleep(seconds)
                else:
                    seen = watch_cameras(dict(options.ports), seconds)
                after, passed_s = twin.health(), time.perf_counter() - began_s
            late = (after.late_ticks - before.late_ticks) / (after.ticks - before.ticks)
            factor = (after.time_s - before.time_s) / passed_s
            cores = (time.process_time() - cpu_s) / passed_s
            what = f"{'three' if cameras else 'no'} cameras, both arms driven, two hands"
            print(f"{what}: factor {factor:.4f}, late {100 * late:.2f} %, {cores:.2f} of a core; {load()}", flush=True)
            for name, camera in seen.items():
                print(f"{name}: {camera['hz']} Hz, longest gap {1e3 * camera['gap_s']:.0f} ms")
            if twin.robot.cameras is not None:
                print(f"drawn at {twin.robot.cameras.report()['share']:.0%} of their size")


if __name__ == "__main__":
    main()
