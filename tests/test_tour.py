"""The guided tour of the page: it shows, gives way to anybody who acts, leaves nothing broken and never ends dull."""

import itertools
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from patience import wait_for

from thenar.errors import ThenarError
from thenar.glove.make import make_log
from thenar.twin.live_twin import LiveTwin
from thenar.twin.page.actions import load_scene
from thenar.twin.page.guided_tour import YOUR_TURN, GuidedTour
from thenar.twin.page.page_link import PageLink
from thenar.twin.serve_config import PageOptions
from thenar.twin.serving import serve

HAND = "inspire_right"


@pytest.fixture(scope="module")
def twin() -> Iterator[LiveTwin]:
    with serve(["inspire_left", HAND], wires=[], scene="in_hand", view=True, page=PageOptions(port=0)) as made:
        yield made


@pytest.fixture
def page(twin: LiveTwin) -> Iterator[PageLink]:
    page = next(link for link in twin.links if isinstance(link, PageLink))
    yield page
    if page.scene != "in_hand":
        load_scene(page, twin, name="in_hand")


def test_the_scripted_minute_ends_when_a_visitor_acts(page):
    assert page.tour is not None
    page.tour.begin()
    assert wait_for(lambda: page.caption)
    page.handle({"do": "play", "recording": "wave"})
    assert page.caption == ""
    assert page.playback.playing == "wave"  # the visitor's own recording goes on
    page.handle({"do": "stop_playing"})


def test_a_scripted_minute_that_is_cut_short_leaves_nothing_broken(page, twin, monkeypatch):
    broken = []

    def say(self: GuidedTour, text: str, for_s: float, **_: Any) -> None:
        broken.extend(twin.world.faults.active)
        if broken:  # somebody takes over while a motor is stalled
            raise ThenarError

    monkeypatch.setattr(GuidedTour, "say", say)
    assert page.tour is not None
    page.tour.run()
    assert [str(fault) for fault in broken] == ["inspire_right index: stalled motor"]
    assert not twin.world.faults.active
    assert page.playback.playing == ""


def test_the_tour_speaks_of_the_glove_while_it_plays_and_leaves_the_hands_moving(page, twin, monkeypatch):
    shown: list[tuple[str, str, np.ndarray]] = []
    wait = GuidedTour.say

    def say(self: GuidedTour, text: str, for_s: float, **named: Any) -> None:
        """Waits for the glove only."""
        if "glove" in text:
            assert page.playback.playing == "short"
            wait(self, text, for_s, **named)
            assert page.playback.playing == ""
            assert page.caption == text  # nobody waited until the caption had had its time
        shown.append((text, page.scene, twin.run_on_loop(lambda world: world.settings(HAND).target_rad.copy())))
        if [text for text, *_ in shown].count(YOUR_TURN) == 4:
            twin.run_on_loop(lambda world: ball_m.append(world.props.pose("ball")[0]))
            raise ThenarError

    ball_m: list[np.ndarray] = []
    monkeypatch.setattr(GuidedTour, "say", say)
    monkeypatch.setattr(page, "recordings", {"short": lambda side: make_log(("point",), side=side, pace=2.0)})
    assert page.tour is not None
    page.tour.begin()
    assert wait_for(lambda: ball_m and page.caption == "", 60.0), shown
    assert twin.health().failed == ()
    scenes = [scene for text, scene, _ in shown if "glove" in text or text == YOUR_TURN]
    assert scenes == ["empty", "in_hand", "in_hand", "in_hand", "in_hand"]
    targets = [target for text, _, target in shown if text == YOUR_TURN]
    for one, next_one in itertools.pairwise(targets):
        assert np.abs(one - next_one).max() > 0.3
    assert ball_m[0][2] > 0.0  # in the hand
