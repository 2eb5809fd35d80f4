"""What the page shows: in every window the hands, whole and as near as that allows, and a pad enlarged."""

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import viser
from numpy.typing import NDArray

from thenar import hands
from thenar.signals import HandCommand
from thenar.twin.page.scene_builder import build_page_scene
from thenar.twin.world import World
from thenar.view import status_html
from thenar.view.app import LEFT_PX, RIGHT_PX
from thenar.view.gizmos import Gizmos
from thenar.view.pad_map import PadMap
from thenar.view.page_scene import FOV_RAD, PageCamera, PageScene
from thenar.view.plots import Plots
from thenar.view.shared_memory import motion_dtype, skin_dtype
from thenar.view.skin_panel import SkinPanel

BOTH = ["inspire_left", "inspire_right"]
WINDOWS_PX = {  # of the window, and of the picture in it: a phone has its panels below
    (w, h): (w - LEFT_PX - RIGHT_PX, h) for w, h in ((1024, 768), (1280, 720), (1600, 950), (1920, 1080), (2560, 1440))
} | {(412, 915): (412, 915)}


def page_scene(world: World) -> PageScene:
    return build_page_scene(world, number=0, scene="in_hand", recordings=(), wires={}, states={}, title="")


def seen_at(camera: PageCamera, points_m: NDArray[np.float64], size_px: tuple[int, int]) -> NDArray[np.float64]:
    """Where points are in the picture [px], by a pinhole that looks at what the camera looks at. Shape (n, 2)."""
    wide_px, high_px = size_px
    look_at_m, pos_m = camera.view(wide_px / high_px)
    ahead = (look_at_m - pos_m) / np.linalg.norm(look_at_m - pos_m)
    right = np.cross(ahead, (0, 0, 1)) / np.linalg.norm(np.cross(ahead, (0, 0, 1)))
    away_m = points_m - pos_m
    px_per_slope = high_px / 2 / np.tan(FOV_RAD / 2)
    sideways, down = away_m @ right, -away_m @ np.cross(right, ahead)
    return px_per_slope * np.stack([sideways, down], axis=1) / (away_m @ ahead)[:, None] + np.array(size_px) / 2


def vertices_m(world: World, scene: PageScene) -> NDArray[np.float64]:
    """Every corner of every triangle that belongs to a hand, where it is now."""
    links = {body for hand in scene.hands for body in hand.link_body.values()}
    return np.concatenate(
        [
            part.vertices_m @ world.data.xmat[part.body].reshape(3, 3).T + world.data.xpos[part.body]
            for part in scene.parts
            if part.body in links
        ]
    )


@pytest.fixture(scope="module")
def moments() -> tuple[PageScene, list[NDArray[np.float64]]]:
    """The page of the demo, and its hands at moments while they close on what they hold, and open."""
    world = World(BOTH, scene="in_hand")
    scene, seen = page_scene(world), []
    for share in (0.0, 0.5, 1.0, 0.0):
        for hand in BOTH:
            world.command(hand, HandCommand.closing(share, speed=0.5, force_limit_n=5))
        for _ in range(4):
            world.advance(0.4)
            seen.append(vertices_m(world, scene))
    return scene, seen


@pytest.mark.parametrize("window_px", WINDOWS_PX)
def test_both_hands_are_whole_in_every_window(moments, window_px):
    scene, seen = moments
    size_px = WINDOWS_PX[window_px]
    for points_m in seen:
        at_px = seen_at(scene.camera, points_m, size_px)
        assert at_px.min() > 0
        assert np.all(at_px < size_px)


@pytest.mark.parametrize("window_px", WINDOWS_PX)
def test_the_hands_fill_what_is_between_the_panels(moments, window_px):
    scene, seen = moments
    size_px = WINDOWS_PX[window_px]
    at_px = seen_at(scene.camera, np.concatenate(seen), size_px)
    assert np.max(np.ptp(at_px, axis=0) / size_px) > 0.85


@pytest.mark.parametrize("name", ["reflex", "shadow_right"])
def test_other_hands_are_whole_too(name):
    world = World(name, scene="table")
    scene = page_scene(world)
    hand = [body for link, body in scene.hands[0].link_body.items() if link != "forearm"]
    at_px = seen_at(scene.camera, world.data.xpos[hand], (600, 720))
    assert at_px.min() > 0
    assert np.all(at_px < (600, 720))


@pytest.mark.parametrize("pad", ["palm", "index_top", "thumb_tip"])
def test_an_enlarged_pad_shows_every_taxel_in_its_place(pad):
    spec = hands.load("inspire_right")
    pads = PadMap([spec])
    first = sum(each.taxels for each in spec.pads[: [each.name for each in spec.pads].index(pad)])
    dark = pads.enlarge(pads.paint({}, {}), spec.name, pad)
    middles = []
    for taxel in range(first, first + spec.pad(pad).taxels):
        share = np.zeros(spec.taxels)
        share[taxel] = 1.0
        rows, cols = np.nonzero(
            np.any(pads.enlarge(pads.paint({spec.name: share}, {}), spec.name, pad) != dark, axis=2)
        )
        assert len(rows) >= 300  # pixels: a few are lit on the map
        middles.append((rows.mean(), cols.mean()))
    grid = np.array(middles).reshape(spec.pad(pad).rows, spec.pad(pad).cols, 2)
    for axis in (0, 1):  # neighbours on the pad are neighbours in the picture, all the way
        steps = np.diff(grid, axis=axis).reshape(-1, 2)
        assert np.allclose(steps, steps[0], atol=1.0)
        assert np.abs(steps[0]).max() > 15


def test_what_a_hand_does_not_report_is_left_out_of_its_table():
    own = np.zeros((), motion_dtype([hands.load(BOTH[0])]))[BOTH[0]]
    own["force_n"] = own["temperature_c"] = np.nan
    shown = status_html.motors(hands.load(BOTH[0]).actuator_names, own)
    assert "opening" in shown
    assert "nan" not in shown


@pytest.mark.filterwarnings("error")
def test_a_page_goes_on_showing_whatever_a_visitor_sends_for_a_control():
    world, specs = World(BOTH, scene="in_hand"), [hands.load(name) for name in BOTH]
    server = viser.ViserServer(host="127.0.0.1", port=0, verbose=False)
    try:
        painted: Any = SimpleNamespace(color_taxels=lambda *_: None, set_transparent=lambda _: None)
        skin: Any = SkinPanel(server, server.gui.add_panel(), specs, painted)
        plots = Plots(server.gui, specs)
        gizmos = Gizmos(server, page_scene(world), lambda *_, **__: None)
        for control, value in ((skin._choice, "no pad"), (skin._full, 0.0), (skin._full, np.nan)):
            control._impl.value = value  # as viser does with a message
            skin._tiles_due = skin._picture_due = lambda: True
            skin.show(np.zeros((), skin_dtype(specs)), {})
        plots._chosen._impl.value = "no hand"
        plots.draw()
        gizmos.drag("no object")
        gizmos.follow(np.zeros((), motion_dtype(specs)))
    finally:
        server.stop()
