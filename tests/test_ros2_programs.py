"""ROS 2 itself, Humble and Jazzy with both middlewares, before the twin: `ros2` of the command line, unchanged."""

import json
import subprocess
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack

import numpy as np
import pytest
from patience import wait_for
from peer_env import PEERS, ros2_program

import thenar
from thenar import hands
from thenar.signals import Request
from thenar.twin.live_twin import Link
from thenar.wire.links.registry import PROTOCOLS, LinkContext
from thenar.wire.wire_config import WireConfig

SPEC = hands.load("inspire_right")
ONCE = 8
LISTS = (["node", "list"], ["node", "info", "/inspire_hand"], ["topic", "list", "-t"], ["service", "list", "-t"])
DIRECT = ["--no-daemon", "--spin-time", "3"]
UNASKED = "not multicast-capable"  # what Cyclone says of loopback, whoever is there


def publish_once(number: int) -> list[str]:
    message = f"{{name: ['1'], position: [{number / 1000}]}}"
    return ["topic", "pub", "--once", "/inspire_hand/ctrl/right_hand", "sensor_msgs/msg/JointState", message]


def start_ros2(distro: str, middleware: str, domain: int) -> subprocess.Popen[str]:
    """A program that gives `ros2` its words, one command after the other, from its input."""
    python, environment = ros2_program(distro, middleware, domain)
    command = [str(python), str(PEERS / "ros2_commands.py")]
    pipe = subprocess.PIPE
    return subprocess.Popen(command, text=True, env=environment, stdin=pipe, stdout=pipe, stderr=pipe)


def end_ros2(ros2: subprocess.Popen[str], commands: list[list[str]]) -> list[dict]:
    """What `ros2` said to each of the commands, all of which did well and complained of nothing."""
    out, err = ros2.communicate(json.dumps(commands), timeout=120)
    assert ros2.returncode == 0, err
    told = json.loads(out.splitlines()[-1])
    assert [one["status"] for one in told] == [0] * len(commands)
    assert [line for one in told for line in one["complained"] if UNASKED not in line] == []
    return told


def check_lists(told: list[dict]) -> None:
    """Everything of the twin is in the four lists."""
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


def open_twin(domain: int, opened: ExitStack) -> Link:
    context = LinkContext(hands=[SPEC], config=WireConfig(domain=domain), opened=opened)
    link = PROTOCOLS["tienkung"].open(context)
    world = thenar.World(SPEC.name, profile="ideal")
    link.publish_state({SPEC.name: (world.state(SPEC.name), world.settings(SPEC.name))})  # services wait for it
    return link


@pytest.mark.soak  # a wheel of 130 MB, and a Python 3.12
@pytest.mark.parametrize("middleware", ["cyclonedds", "fastrtps"])
@pytest.mark.parametrize("distro", ["humble", "jazzy"])
def test_ros2_lists_all_of_the_twin_without_a_warning_and_every_command_published_once_arrives(
    distro: str, middleware: str, domain: int
):
    commands = [*([*words, *DIRECT] for words in LISTS), *(publish_once(number) for number in range(ONCE))]
    with ExitStack() as opened:
        ros2, link = start_ros2(distro, middleware, domain), open_twin(domain, opened)
        told = end_ros2(ros2, commands)
        got: list[Request] = []
        wait_for(lambda: got.extend(link.receive()) or len(got) == ONCE, 2.0)
    check_lists(told)
    little = SPEC.actuator_names.index("little")
    closed, opened_rad = SPEC.closed_rad[little], SPEC.open_rad[little]
    ratios = [(one.command.target_rad[little] - closed) / (opened_rad - closed) for one in got if one.command]
    np.testing.assert_allclose(sorted(ratios), np.arange(ONCE) / 1000, atol=1e-6)


@pytest.mark.soak
@pytest.mark.parametrize("middleware", ["cyclonedds", "fastrtps"])
def test_humble_and_jazzy_see_all_of_one_twin_at_the_same_time(middleware: str, domain: int):
    commands = [[*words, *DIRECT] for words in LISTS]
    with ExitStack() as opened:
        both = [start_ros2(distro, middleware, domain) for distro in ("humble", "jazzy")]
        open_twin(domain, opened)
        with ThreadPoolExecutor() as pool:
            told = list(pool.map(lambda ros2: end_ros2(ros2, commands), both))
    for one in told:
        check_lists(one)
