"""What the bench compares with is set up as it should be, and its pages can be read."""

from functools import partial
from xml.etree import ElementTree

import numpy as np
import pytest

from bench.peer_sensors import add_peer_sensors, read_peer_sensors
from bench.touch import Cost, measure_accuracy
from bench.touch_report import METHODS, write_touch_report
from thenar import hands
from thenar.sim.press import parse_indenter
from thenar.twin.reports.press_report import press_pad

SOFT = (0.02, 1.0)


@pytest.mark.parametrize("hand", ["inspire_right", "inspire_left"])
@pytest.mark.parametrize(("pad", "taxel"), [("index_top", (8, 5)), ("palm", (1, 9)), ("thumb_tip", (2, 0))])
def test_the_engines_own_sensors_see_a_press_at_the_taxel_where_it_is(hand: str, pad: str, taxel: tuple[int, int]):
    spec = hands.load(hand).pad(pad)
    at = (
        (taxel[0] - (spec.rows - 1) / 2) * spec.row_pitch_m,
        (taxel[1] - (spec.cols - 1) / 2) * spec.col_pitch_m,
    )
    sensors = partial(add_peer_sensors, hand=hands.load(hand), pad=spec)
    result = press_pad(
        hands.load(hand), pad, parse_indenter("sphere:12mm"), force_n=1.5, at_m=at, solref=SOFT, add_sensors=sensors
    )
    peers = read_peer_sensors(result.pressed.sensors, spec)
    assert np.unravel_index(peers.grid_n.argmax(), peers.grid_n.shape) == taxel
    assert peers.grid_n.sum() == pytest.approx(1.5, rel=0.15)  # only the part along the pad's normal is told
    assert np.unravel_index(peers.depth_m.argmax(), peers.depth_m.shape) == taxel


def test_a_press_without_added_sensors_reads_none():
    result = press_pad(hands.load("inspire_right"), "palm", parse_indenter("sphere:12mm"), force_n=1.0)
    assert result.pressed.sensors == {}


def test_the_bench_writes_tables_and_a_plot_of_every_method(tmp_path):
    accuracy = measure_accuracy(2)
    written = write_touch_report(tmp_path / "bench", accuracy, [Cost(what="nothing", windows=0, us=12.0)])
    table, plot, cost = (path.read_text() for path in written)
    texts = [element.text or "" for element in ElementTree.fromstring(plot).iter() if element.tag.endswith("text")]
    for _, name, _ in METHODS:
        assert name in table
        assert name in texts
    assert all(row.press in table and row.press in texts for row in accuracy)
    assert "| nothing | 0 | 0.01 |" in cost
    for row in accuracy:
        assert row.ours_median < 0.5 * min(row.tactile_soft_median, row.touch_grid_median, row.gaussian_median)
