"""A recording on a page: every instant as it was, and time that whoever looks can move."""

import threading
from collections.abc import Iterator

import numpy as np
import pytest
from patience import wait_for

import thenar
from thenar.recordings.recording import Poses
from thenar.twin.page.tape_page import TapePage, pose_at
from thenar.twin.serve_config import PageOptions, complete

HANDS = ("inspire_left", "inspire_right")


@pytest.fixture(scope="module")
def tape(tmp_path_factory: pytest.TempPathFactory) -> thenar.Recording:
    path = tmp_path_factory.mktemp("tape") / "grip.mcap"
    world = thenar.World(HANDS, scene="in_hand", seed=3)
    world.advance(0.1)
    with thenar.record(world, path) as recorder:
        recorder.episode("close the right hand")
        world.command("inspire_right", thenar.HandCommand.closing(0.6, speed=1.0))
        world.advance(0.8)
    return thenar.Recording(path)


@pytest.fixture(scope="module")
def page(tape: thenar.Recording) -> Iterator[TapePage]:
    made = TapePage(tape, options=complete(PageOptions(port=0)))
    yield made
    made.close()


@pytest.mark.parametrize("at_s", [0.0, 0.31, 0.8])
def test_an_instant_is_shown_as_it_was(page: TapePage, tape: thenar.Recording, at_s: float):
    page.show(at_s)
    _, motion = page.process.motion.read()
    _, skin = page.process.skin.read()
    assert motion["time_s"] == at_s
    for hand in HANDS:
        motors, touch = tape.motors(hand), tape.touch(hand)
        row = np.flatnonzero(motors.stamp_s <= 0.1 + at_s + 1e-9)[-1]
        np.testing.assert_array_equal(motion[hand]["angle_rad"], motors.angle_rad[row].astype(np.float32))
        row = np.flatnonzero(touch.stamp_s <= 0.1 + at_s + 1e-9)[-1:]
        felt = touch.taxel_pressure_pa[row[0] if len(row) else 0]
        np.testing.assert_array_equal(skin[hand]["pressure_pa"], felt)
    assert skin["inspire_right"]["pressure_pa"].max() > 0.0  # something lies in it
    assert page.page_scene.tasks == ((pytest.approx(0.0, abs=1e-6), "close the right hand"),)


def test_objects_and_links_are_where_they_were(page: TapePage, tape: thenar.Recording):
    ball = tape.poses("ball")
    page.show(float(ball.stamp_s[5]) - 0.1)
    _, motion = page.process.motion.read()
    shown = motion["pos_m"][page.page_scene.bodies.index("ball")]
    np.testing.assert_allclose(shown, ball.pos_m[5], atol=1e-6)


def test_between_two_poses_a_body_is_on_its_way():
    quarter = np.sqrt(0.5)
    poses = Poses(
        stamp_s=np.array([0.0, 0.04]),
        pos_m=np.array([[0.0, 0.0, 0.0], [0.1, 0.0, 0.0]]),
        quat_wxyz=np.array([[1.0, 0.0, 0.0, 0.0], [-quarter, 0.0, 0.0, -quarter]]),  # a quarter turn, its sign reversed
    )
    pos_m, quat_wxyz = pose_at(poses, 0.02)
    np.testing.assert_allclose(pos_m, [0.05, 0.0, 0.0])
    np.testing.assert_allclose(quat_wxyz, [np.cos(np.pi / 8), 0.0, 0.0, np.sin(np.pi / 8)], atol=1e-9)
    assert pose_at(poses, 9.0)[0][0] == 0.1


def test_time_passes_stops_and_goes_where_it_is_sent(page: TapePage):
    def shown_s() -> float:
        return float(page.process.motion.read()[1]["time_s"])

    stop = threading.Event()
    page.handle({"do": "set_pace", "pace": 0.0})
    thread = threading.Thread(target=page.run, args=(stop,))
    thread.start()
    try:
        page.handle({"do": "seek", "at_s": 0.5})
        assert wait_for(lambda: shown_s() == 0.5)
        page.handle({"do": "set_pace", "pace": 1.0})
        assert wait_for(lambda: shown_s() == page.seconds)  # and waits there
        page.handle({"do": "seek", "at_s": -3.0})
        assert wait_for(lambda: 0.0 <= shown_s() < 0.5)
    finally:
        stop.set()
        thread.join()
