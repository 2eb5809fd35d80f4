"""A LEAP Hand on a serial line: `dynamixel-sdk` from PyPI, unchanged, opens the twin's pseudo-terminal."""

import json
import math
import subprocess
import sys
from pathlib import Path

import mujoco
import numpy as np
import pytest
from peer_env import quiet_environment

import thenar
from thenar import HandCommand, hands
from thenar.twin.serving import serve
from thenar.wire.codecs.serial_bus import dynamixel_packets
from thenar.wire.codecs.serial_bus.dynamixel_packets import HEADER, Instruction, Packet
from thenar.wire.wire_config import DynamixelOptions

PEER = Path(__file__).parent / "peers" / "dynamixel_client.py"

# Ref: the protocol's manual, examples of ping and read: motor 1, and its present position.
PING = bytes.fromhex("FF FF FD 00 01 03 00 01 19 4E")
READ = bytes.fromhex("FF FF FD 00 01 07 00 02 84 00 04 00 1D 15")


def test_packets_are_those_of_the_manual():
    assert dynamixel_packets.encode(1, Instruction.PING, b"") == PING
    assert dynamixel_packets.encode(1, Instruction.READ, bytes.fromhex("84 00 04 00")) == READ


def test_a_packet_is_found_behind_noise_and_in_pieces():
    rng = np.random.default_rng(8)
    for _ in range(500):
        parameters = rng.choice([0xFF, 0xFD, 0x00, 0x12], size=rng.integers(0, 30)).astype(np.uint8).tobytes()
        noise = bytes(rng.integers(0, 0xFF, size=rng.integers(0, 8), dtype=np.uint8))
        packet = dynamixel_packets.encode(5, Instruction.WRITE, parameters)
        assert HEADER not in packet[4:]
        whole = noise + packet
        cut = int(rng.integers(0, len(whole)))
        found, left, dropped = dynamixel_packets.take(whole[:cut])
        assert found is None
        found, left, more = dynamixel_packets.take(left + whole[cut:])
        assert (found, left) == (Packet(5, Instruction.WRITE, parameters), b"")
        assert dropped + more == len(noise)


@pytest.mark.timing
def test_a_dynamixel_program_reads_and_moves_all_sixteen_motors_of_a_leap_hand_at_60_hz(tmp_path: Path):
    port = tmp_path / "leap"
    with serve(
        "leap_right", wires=("dynamixel",), scene="empty", profile="ideal", dynamixel=DynamixelOptions(port=str(port))
    ) as twin:
        done = subprocess.run(
            [sys.executable, str(PEER), str(port), "1.5"],
            capture_output=True, text=True, check=False, timeout=60, env=quiet_environment(),
        )  # fmt: skip
        refused = twin.health().links[0].refused
    assert done.returncode == 0, done.stderr
    heard = json.loads(done.stdout)
    assert list(heard["pinged"]) == [str(motor) for motor in range(16)]
    assert heard["one"] == [1240, 0, 0]
    assert heard["nobody"] != 0
    assert heard["gain"] == [600, 0, 0]
    assert heard["while_on"] == 7  # the mode cannot be written with the torque on
    assert heard["failed"] == 0
    assert heard["rate_hz"] > 55.0
    np.testing.assert_allclose(heard["position"], heard["goals"], atol=25)  # 2 degrees of sag
    assert heard["let_go"] == [0, 0, 0]
    assert heard["stuffed"] == [0x00FDFFFF, 0, 0]
    assert refused == {"address 11 cannot be written": 1}


def test_a_leap_hand_has_its_joints_where_the_model_puts_them():
    """Lengths of the index finger and all masses, added up by hand."""
    world = thenar.World("leap_right", profile="ideal")
    spec = world.hand("leap_right")
    wanted_kg = 0.237 + 3 * (0.044 + 0.032 + 0.037 + 0.016) + 0.032 + 0.003 + 0.038 + 0.049
    assert abs(spec.mass_kg - wanted_kg) < 1e-12
    assert [actuator.name for actuator in spec.actuators][:4] == ["index_rot", "index_mcp", "index_pip", "index_dip"]
    model = hands.build_spec(spec).compile()
    data = mujoco.MjData(model)
    mujoco.mj_kinematics(model, data)
    tip = data.site("index_tip").xpos
    # Along the straight finger: 38.1 + 15 + 36.1 + 47.5 mm from its first joint.
    np.testing.assert_allclose(tip[0], -0.007 + 0.0381 + 0.015 + 0.0361 + 0.0475, atol=1e-5)
    data.joint("index_mcp").qpos[0] = math.pi / 2
    mujoco.mj_kinematics(model, data)
    bent = data.site("index_tip").xpos
    assert bent[2] < -0.1
    world.command("leap_right", HandCommand.closing(0.5))
    world.advance(1.0)
    np.testing.assert_allclose(world.state("leap_right").angle_rad[1], 0.8, atol=0.05)
