"""ROS 2 itself, Humble and Jazzy with both middlewares, before the twin: `ros2` of the command line, unchanged."""

import json
import subprocess
from contextlib import ExitStack

import numpy as np
import pytest
from patience import wait_for
from peer_env import PEERS, ros2_program

import thenar
from thenar import hands
from thenar.signals import Request
from thenar.wire.links.registry import PROTOCOLS, LinkContext
from thenar.wire.wire_config import WireConfig

ONCE = 8
LISTS = (["node", "list"], ["node", "info", "/inspire_hand"], ["topic", "list", "-t"], ["service", "list", "-t"])
DIRECT = ["--no-daemon", "--spin-time", "3"]
UNASKED = "not multicast-capable"  # what Cyclone says of loopback, whoever is there


def publish_once(number: int) -> list[str]:
    message = f"{{name: ['1'], position: [{number / 1000}]}}"
    return ["topic", "pub", "--once", "/inspire_hand/ctrl/right_hand", "sensor_msgs/msg/JointState", message]


@pytest.mark.soak  # a wheel of 130 MB, and a Python 3.12
@pytest.mark.parametrize("middleware", ["cyclonedds", "fastrtps"])
@pytest.mark.parametrize("distro", ["humble", "jazzy"])
def test_ros2_lists_all_of_the_twin_without_a_warning_and_every_command_published_once_arrives(
    distro: str, middleware: str, domain: int
):
    python, environment = ros2_program(distro, middleware, domain)
    spec = hands.load("inspire_right")
    commands = [*([*words, *DIRECT] for words in LISTS), *(publish_once(number) for number in range(ONCE))]
    with ExitStack() as opened:
        context = LinkContext(hands=[spec], config=WireConfig(domain=domain), opened=opened)
        link = PROTOCOLS["tienkung"].open(context)
        world = thenar.World(spec.name, profile="ideal")
        link.publish_state({spec.name: (world.state(spec.name), world.settings(spec.name))})  # services wait for it
        done = subprocess.run(
            [str(python), str(PEERS / "ros2_commands.py")],
            input=json.dumps(commands),
            capture_output=True,
            text=True,
            check=False,
            timeout=120,
            env=environment,
        )
        assert done.returncode == 0, done.stderr
        got: list[Request] = []
        wait_for(lambda: got.extend(link.receive()) or len(got) == ONCE, 2.0)
    told = json.loads(done.stdout.splitlines()[-1])
    assert [one["status"] for one in told] == [0] * len(commands)
    assert [line for one in told for line in one["complained"] if UNASKED not in line] == []
    nodes, info, topics, services = (one["said"] for one in told[: len(LISTS)])
    assert "/inspire_hand" in nodes
    for kind in ("ctrl", "state"):
        line = f"/inspire_hand/{kind}/right_hand"
        assert f"{line} [sensor_msgs/msg/JointState]" in topics
        assert any(line in one for one in info)
    ours = [line for line in services if line.startswith("/inspire_hand/")]
    assert "/inspire_hand/set_force/right_hand [bodyctrl_msgs/srv/SetForce]" in ours
    assert len(ours) == 9
    assert sum("bodyctrl_msgs/srv/" in line for line in info) == 9
    little = spec.actuator_names.index("little")
    closed, opened_rad = spec.closed_rad[little], spec.open_rad[little]
    ratios = [(one.command.target_rad[little] - closed) / (opened_rad - closed) for one in got if one.command]
    np.testing.assert_allclose(sorted(ratios), np.arange(ONCE) / 1000, atol=1e-6)
