"""Words the tests share."""

import os
import signal
import sys
from collections.abc import Callable

import numpy as np
import pytest
from patience import free_domain
from skip_gate import pytest_make_collect_report, pytest_runtest_makereport  # noqa: F401

import thenar
from thenar.signals import HandState
from thenar.sim.world_config import Profile

# Where bytecode is not kept, every program that a test starts compiles the package anew.
sys.dont_write_bytecode = False
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
signal.signal(signal.SIGHUP, signal.SIG_DFL)  # under nohup it is ignored, and by what tests start too


@pytest.fixture
def domain() -> int:
    """A DDS domain of one's own, so that tests do not hear each other."""
    return free_domain()


@pytest.fixture
def angles() -> Callable[[HandState], dict[str, float]]:
    """Joint angles by name."""
    return lambda state: dict(zip(state.joint_names, state.joint_rad, strict=True))


@pytest.fixture(scope="session")
def blocked_middle() -> Callable[..., thenar.World]:
    """A world in which the middle finger meets a rigid ball half way."""

    def build(hand: str, *, profile: Profile = "measured", seed: int = 0) -> thenar.World:
        middle = 2
        probe = thenar.World(hand, profile="ideal")
        points = []
        for fraction in (0.50, 0.55):
            target = np.full(6, np.nan)
            target[middle] = fraction
            probe.command(hand, thenar.HandCommand.closing(target))
            probe.advance(1.0)
            points.append(probe.data.site(f"{hand}/middle_tip").xpos.copy())
        way = (points[1] - points[0]) / np.linalg.norm(points[1] - points[0])
        centre = points[0] + 0.045 * way
        ball = thenar.Sphere(name="stop", radius_m=0.03, pos_m=tuple(centre), fixed=True)
        return thenar.World(hand, props=[ball], profile=profile, seed=seed)

    return build


LONG_FIRST = (
    "test_touch",  # compiles what all the others find compiled, while
    "test_body",  # this one needs nothing of it
    "test_calibrate",
    "test_live",
    "browser",
    "test_foreign_sensors",
    "test_rtps_peers",
    "test_forgotten",
    "test_docs",
    "test_export",
    "test_readme",
    "test_motors",
    "test_world",
    "test_examples",
    "test_reflex_peers",
)
"""Files and groups that take half a minute or more, in the order in which they begin: none is left over at the end."""


def pytest_configure(config: pytest.Config) -> None:
    """Keep to the order below; left to itself, xdist begins with the files of the most tests."""
    config.option.loadscopereorder = False


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Run the tests of a file in one process: they share what was costly to make."""
    for item in items:
        if item.get_closest_marker("xdist_group") is None:
            item.add_marker(pytest.mark.xdist_group(item.path.stem))
        if item.get_closest_marker("soak") is not None:
            item.add_marker(pytest.mark.timeout(0))
    items.sort(key=lambda item: LONG_FIRST.index(group) if (group := group_of(item)) in LONG_FIRST else len(LONG_FIRST))


def group_of(item: pytest.Item) -> str:
    """The tests that run in one process with this one."""
    marker = item.get_closest_marker("xdist_group")
    return marker.args[0] if marker else ""
