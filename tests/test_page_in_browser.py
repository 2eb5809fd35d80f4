"""The page as a visitor has it: Debian's Chromium clicks, drags and looks. Skipped where there is no Chromium."""

import json
import os
import signal
import time
from collections.abc import Iterator

import numpy as np
import pytest
from browser import CHROMIUM, LOOK_S, Tab, chromium
from patience import free_port, wait_for
from test_page_view import WINDOWS_PX

from thenar import hands
from thenar.recordings.recording import Recording
from thenar.signals import HandCommand, MotorError
from thenar.twin.live_twin import LiveTwin
from thenar.twin.page.page_link import PageLink
from thenar.twin.serve_config import PageOptions
from thenar.twin.serving import serve
from thenar.twin.world import World
from thenar.view.pad_map import PadMap
from thenar.wire.wire_config import ModbusOptions

pytestmark = [
    pytest.mark.skipif(not CHROMIUM, reason="no Chromium; on Debian: apt-get install chromium"),
    pytest.mark.xdist_group("browser"),  # one browser at a time
]

HAND = "inspire_right"
BOTH = ("inspire_left", HAND)
INDEX = 3
SLOW_S = 90.0  # a page drawn without a graphics card on a busy machine takes its time


@pytest.fixture(scope="module")
def twin() -> Iterator[LiveTwin]:
    made = serve(
        BOTH,
        wires=["modbus"],
        modbus=ModbusOptions(port=free_port()),
        scene="in_hand",
        view=True,
        page=PageOptions(port=0),
    )
    with made:
        yield made


@pytest.fixture(scope="module")
def tab(twin: LiveTwin) -> Iterator[Tab]:
    with chromium((1024, 640)) as open_tab:  # without a graphics card every pixel costs
        tab = open_tab(page_of(twin).url)
        tab.wait_text("inspire right", SLOW_S)
        yield tab


@pytest.fixture(autouse=True)
def as_before(twin: LiveTwin) -> Iterator[None]:
    """One test that fails leaves the next ones a twin that runs and listens."""
    yield
    twin.set_pace(1.0)
    twin.set_active_link("")


def page_of(twin: LiveTwin) -> PageLink:
    return next(link for link in twin.links if isinstance(link, PageLink))


def angle_rad(twin: LiveTwin, motor: int = INDEX) -> float:
    return float(twin.run_on_loop(lambda world: world.state(HAND).angle_rad[motor]))


def target_rad(twin: LiveTwin) -> np.ndarray:
    return twin.run_on_loop(lambda world: world.settings(HAND).target_rad)


def choose(tab: Tab, label: str, option: str) -> None:
    """Pick an option of a drop-down list by its label."""
    labels = f"[...document.querySelectorAll('label')].find(e => e.innerText.trim() === {json.dumps(label)})"
    field = f"document.getElementById({labels}.htmlFor)"
    offered = "[role=option], [data-combobox-option]"
    seen = (
        f"[...document.querySelectorAll('{offered}')].some("
        f"e => e.innerText.trim() === {json.dumps(option)} && e.offsetWidth > 0)"
    )

    def chosen() -> bool:  # again, where the page moved under the mouse
        if not tab.run(seen):
            tab.click_at(*tab.place(field))
        tab.click(option, offered)
        return wait_for(lambda: tab.run(f"{field}.value") == option, 5.0)

    assert wait_for(chosen, SLOW_S), f"{label} does not become {option}"


def slider(label: str) -> str:
    """JavaScript that finds the track of a slider."""
    return (
        f"document.getElementById([...document.querySelectorAll('label')].find(e => e.innerText.trim() === "
        f"{json.dumps(label)} && e.getBoundingClientRect().width > 0).htmlFor).querySelector('.mantine-Slider-track')"
    )


def test_the_record_button_writes_a_file_and_says_so(tab, twin, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    tab.click("Record")
    assert wait_for(lambda: twin.health().recording is not None, SLOW_S)
    tab.wait_text("Stop recording", SLOW_S)
    assert wait_for(lambda: twin.health().recording.messages > 100, SLOW_S)
    tab.run("[...document.querySelectorAll('button')].find(e => e.innerText.startsWith('Stop recording')).click()")
    assert wait_for(lambda: twin.health().recording is None, SLOW_S)
    (file,) = tmp_path.glob("thenar-*.mcap")
    assert Recording(file).hands == BOTH


def test_a_slider_moves_the_simulated_finger(tab, twin):
    tab.click("Hands", "[role=tab]")
    left, right, y = tab.run(
        f"(() => {{ const e = {slider('index')}; e.scrollIntoView({{block: 'center'}});"
        " const b = e.getBoundingClientRect(); return [b.left, b.right, b.y + b.height / 2]; })()"
    )
    tab.drag((left + 1, y), (left + 0.6 * (right - left), y))
    wanted = 0.6 * hands.load(HAND).actuators[INDEX].upper_rad
    assert wait_for(lambda: abs(angle_rad(twin) - wanted) < 0.12, SLOW_S), angle_rad(twin)
    assert abs(angle_rad(twin, 2)) < 0.1  # the middle finger stays


def test_a_preset_closes_both_hands(tab, twin):
    tab.click("Fist")  # the first one is for both
    closed = hands.load(HAND).closed_rad[:4]
    for hand in BOTH:
        assert wait_for(
            lambda hand=hand: np.allclose(twin.run_on_loop(lambda world: world.settings(hand).target_rad[:4]), closed),
            SLOW_S,
        )
    tab.click("Open")
    assert wait_for(lambda: np.allclose(target_rad(twin)[:4], 0.0, atol=1e-6), SLOW_S)


def test_time_stops_steps_slows_and_starts_anew(tab, twin):
    tab.click("Pause")
    assert wait_for(lambda: twin.health().pace == 0.0, SLOW_S)
    tab.wait_text("paused", SLOW_S)
    at_s = twin.run_on_loop(lambda world: world.time_s)
    tab.click("Step")
    assert wait_for(lambda: twin.run_on_loop(lambda world: world.time_s) == pytest.approx(at_s + 0.010), SLOW_S)
    tab.click("Slow")
    assert wait_for(lambda: twin.health().pace == 0.1, SLOW_S)
    tab.click("Play")
    assert wait_for(lambda: twin.health().pace == 1.0, SLOW_S)
    before_s = twin.run_on_loop(lambda world: world.time_s)
    tab.click("Reset")
    assert wait_for(lambda: twin.run_on_loop(lambda world: world.time_s) < before_s, SLOW_S)


LIT_PIXELS = """
((...boxes) => {
    const image = [...document.querySelectorAll("img")].find(i => i.src.startsWith("blob:") && i.naturalWidth > 300);
    if (!image) return null;
    const canvas = document.createElement("canvas");
    [canvas.width, canvas.height] = [image.naturalWidth, image.naturalHeight];
    const pen = canvas.getContext("2d");
    pen.drawImage(image, 0, 0);
    return boxes.map(([x, y, w, h]) => {
        const data = pen.getImageData(x, y, w, h).data;
        let lit = 0;
        for (let k = 0; k < data.length; k += 4) if (data[k] > 130 && data[k] > data[k + 2] + 40) lit++;
        return lit;
    });
})
"""


def test_a_press_lights_the_right_pad(tab, twin):
    pads = PadMap([hands.load(name) for name in BOTH])

    def lit() -> tuple[int, int]:
        """Glowing pixels of the palm's pad and of a finger's in the picture on the page."""
        boxes = []
        for pad in ("palm", "index_top"):
            rows, cols = pads.place(HAND, pad)
            boxes.append([cols.start, rows.start, cols.stop - cols.start, rows.stop - rows.start])
        found = tab.run(f"({LIT_PIXELS})(...{json.dumps(boxes)})") or (0, 0)
        return found[0], found[1]

    def press(world: World) -> None:
        centre = world.wrists.pose(HAND)[0]
        world.props.move("ball", pos_m=centre + np.array([0.0, 0.0, 0.031]))
        world.props.drag("ball", centre - np.array([0.0, 0.0, 0.2]))

    twin.run_on_loop(lambda world: world.props.move("ball", pos_m=(0.5, 0.5, 0.0)))  # where nothing is lit
    assert wait_for(lambda: lit() == (0, 0), SLOW_S, LOOK_S), lit()
    twin.run_on_loop(press)
    assert wait_for(lambda: lit()[0] > 30, SLOW_S, LOOK_S), lit()
    assert lit()[1] == 0
    tab.wait_text("right palm", SLOW_S)
    twin.run_on_loop(lambda world: world.props.drag("ball", None))


def test_a_fault_is_injected_shown_and_mended(tab, twin):
    tab.click("Faults", "[role=tab]")
    choose(tab, "Motor", "index")
    tab.click("Inject fault")
    tab.wait_text("index: stalled", SLOW_S)
    page_of(twin).command_hand(HAND, HandCommand.to([np.nan] * 3 + [1.2] + [np.nan] * 2))
    assert wait_for(lambda: twin.run_on_loop(lambda world: world.state(HAND).error[INDEX]) & MotorError.STALL, SLOW_S)
    tab.click("Clear all faults")
    tab.wait_text("no faults", SLOW_S)
    assert wait_for(lambda: not twin.run_on_loop(lambda world: world.state(HAND).error).any(), SLOW_S)


def test_command_is_taken_and_given_on_the_page(tab, twin):
    choose(tab, "Active link", "Modbus")
    assert wait_for(lambda: twin.health().active_link == "modbus", SLOW_S)
    tab.click("Hands", "[role=tab]")
    before = target_rad(twin)
    ignored = twin.health().ignored.get("page", 0)

    def refused() -> bool:
        tab.click("Fist")  # again, where the page was still being laid out
        return wait_for(lambda: twin.health().ignored.get("page", 0) > ignored, 5.0)

    assert wait_for(refused, SLOW_S)
    assert np.array_equal(target_rad(twin), before)
    choose(tab, "Active link", "this page")
    assert wait_for(lambda: twin.health().active_link == "page", SLOW_S)
    tab.click("Fist")
    assert wait_for(lambda: not np.allclose(target_rad(twin), before), SLOW_S)


def test_a_killed_page_comes_back_by_itself_in_the_open_tab(tab, twin):
    page = page_of(twin)
    starts, ticks, pid = page.process.starts, twin.health().ticks, page.process.pid
    assert pid is not None
    os.kill(pid, signal.SIGKILL)
    assert wait_for(lambda: page.process.starts == starts + 1, SLOW_S)
    assert wait_for(lambda: page.health().listeners >= 1, SLOW_S)  # the tab has come back
    frames = tab.frames
    assert wait_for(lambda: tab.frames > frames + 20, SLOW_S)
    assert twin.health().ticks > ticks


def test_a_page_that_is_loaded_again_is_whole(tab, twin):
    tab.call("Page.reload")
    time.sleep(0.5)
    tab.wait_text("inspire right", SLOW_S)
    tab.wait_text("real time", SLOW_S)
    assert twin.running


def test_no_request_goes_to_another_host(tab, twin):
    own = page_of(twin).process.address.removeprefix("http://")
    asked = {url for url in tab.requested if not url.startswith(("data:", "blob:"))}
    strangers = {url for url in asked if url.partition("://")[2].partition("/")[0] != own}
    assert strangers == set()
    assert any(url.startswith("ws://") for url in asked)  # the page's socket was seen too


def test_the_picture_is_as_large_as_the_panels_leave_it(tab, twin):
    box = (
        "(() => { const b = document.querySelector('canvas').getBoundingClientRect(); return [b.width, b.height]; })()"
    )
    for wide, high in ((1024, 768), (412, 915)):  # a large one takes long without a graphics card
        size_px = WINDOWS_PX[wide, high]
        tab.call("Emulation.setDeviceMetricsOverride", width=wide, height=high, deviceScaleFactor=1, mobile=False)
        fits = wait_for(lambda size_px=size_px: np.abs(np.subtract(tab.run(box), size_px)).max() < 12, SLOW_S, LOOK_S)
        assert fits, (wide, tab.run(box), size_px)
