"""The skin's sensor and its calibration files."""

from dataclasses import replace

import numpy as np
import pytest

import thenar
from thenar import hands
from thenar.errors import BadFile
from thenar.hands.spec import SkinSpec
from thenar.touch.sensor.calibration import (
    IDEAL,
    MEASURED,
    Calibration,
    PadCalibration,
    load_calibration,
    write_calibration,
)
from thenar.touch.sensor.force_sensor import TAXELS_STREAM, Sensor
from thenar.touch.sensor.learned import LearnedPad
from thenar.touch.sensor.noise import draw_taxels

HAND = hands.load("inspire_right")
TAXELS = 1062
TIP_FIRST = sum(pad.taxels for pad in HAND.pads[: [pad.name for pad in HAND.pads].index("index_tip")])


def force_on_all(force_n: float) -> np.ndarray:
    return np.full(TAXELS, force_n)


def test_one_newton_on_a_taxel_is_1000_counts_and_12_bits_are_the_end():
    sensor = Sensor(HAND, IDEAL, seed=0)
    assert set(sensor.read(force_on_all(1.0), 0.0)) == {1000}
    assert set(sensor.read(force_on_all(9.0), 0.1)) == {4095}
    assert set(sensor.read(None, 0.2)) == {0}


@pytest.mark.parametrize("seed", [1, 7, 20, 2026])
def test_every_taxel_of_a_measured_skin_idles_at_its_offset_with_its_noise_within_12_bits(seed: int):
    sensor = Sensor(HAND, MEASURED, seed=seed)
    _, offset = draw_taxels(HAND, MEASURED, seed=seed, stream=TAXELS_STREAM)
    idle = np.array([sensor.read(None, 0.02 * k) for k in range(400)])
    assert idle.min() >= 0
    assert idle.mean() == pytest.approx(MEASURED.bare.offset_counts, abs=1.0)
    np.testing.assert_allclose(idle.mean(axis=0), offset, atol=5 * 4.0 / np.sqrt(400))
    np.testing.assert_allclose(idle.std(axis=0), 4.0, rtol=0.25)
    saturated = np.array([sensor.read(force_on_all(20.0), 100.0 + 0.02 * k) for k in range(20)])
    assert saturated.min() == saturated.max() == 4095


def test_every_taxel_of_a_measured_skin_has_its_own_gain():
    sensor = Sensor(HAND, MEASURED, seed=1)
    idle = np.array([sensor.read(None, 0.02 * k) for k in range(50)]).mean(axis=0)
    pressed = np.array([sensor.read(force_on_all(1.0), 100.0 + 0.02 * k) for k in range(50)]).mean(axis=0) - idle
    assert pressed.std() / pressed.mean() == pytest.approx(0.08, rel=0.2)


def test_taxels_rest_about_their_offset_each_at_its_own():
    own = PadCalibration(offset_counts=500.0, offset_spread_counts=20.0)
    resting = Sensor(HAND, Calibration(bare=own), seed=2).read(None, 0.0)
    assert resting.mean() == pytest.approx(500.0, abs=3.0)
    assert resting.std() == pytest.approx(20.0, rel=0.1)


def test_same_seed_same_skin_and_another_seed_another():
    def reading(seed: int) -> np.ndarray:
        return Sensor(HAND, MEASURED, seed=seed).read(force_on_all(0.5), 0.0)

    np.testing.assert_array_equal(reading(3), reading(3))
    assert np.any(reading(3) != reading(4))


def test_a_past_load_fades_with_its_time_constant():
    calibration = Calibration(bare=PadCalibration(hysteresis=0.1, hysteresis_s=2.0))
    sensor = Sensor(HAND, calibration, seed=0)
    for k in range(2000):  # a long press
        sensor.read(force_on_all(1.0), 0.01 * k)
    first = sensor.read(None, 20.0).mean()
    for k in range(200):
        sensor.read(None, 20.01 + 0.01 * k)
    later = sensor.read(None, 22.02).mean()
    assert first == pytest.approx(100.0, abs=2.0)
    assert later == pytest.approx(100.0 * np.exp(-1.0), abs=2.0)


def test_a_share_of_the_load_sticks_until_it_has_changed_enough():
    sensor = Sensor(HAND, Calibration(bare=PadCalibration(play=0.5, play_width=0.2)), seed=0)
    read = [set(sensor.read(force_on_all(force_n), 0.1 * k)) for k, force_n in enumerate((1.0, 0.9, 0.0))]
    assert read == [{900}, {850}, {100}]  # half of it is 0.2 N behind, stays, and is 0.2 N behind again


def on_tip(row: int, col: int) -> np.ndarray:
    """One newton on a taxel of the index fingertip."""
    force_n = np.zeros(TAXELS)
    force_n[TIP_FIRST + 3 * row + col] = 1.0
    return force_n


def test_a_taxel_with_crosstalk_reads_its_neighbors_and_they_do_not_read_it():
    own = PadCalibration(crosstalk=((0.0, 0.0, 0.0), (0.0, 0.1, 0.0), (0.0, 0.0, 0.0)))
    sensor = Sensor(HAND, Calibration(pads={"index_tip": own}), seed=0)
    beside, middle = (sensor.read(on_tip(row, 1), 0.0)[TIP_FIRST : TIP_FIRST + 9] for row in (0, 1))
    assert beside.tolist() == [0, 1000, 0, 0, 100, 0, 0, 0, 0]
    assert middle.tolist() == [0, 0, 0, 0, 1000, 0, 0, 0, 0]


def test_a_dead_taxel_of_a_learned_pad_reads_its_offset():
    learned = LearnedPad(
        load_n=np.ones(9),
        knots=np.array([0.0, 1.0]),
        play=np.array([0.1]),
        fade_s=np.array([1.0]),
        weights=np.full((9, 3, 1), 100.0),
        leak_counts_per_n=np.full((9, 8), 10.0),
        offset_counts=np.full(9, 50.0),
        drift_s=np.zeros(0),
        drift_counts=np.zeros((9, 0)),
    )
    own = PadCalibration(learned=learned, dead=((0, 0), (1, 1)))
    sensor = Sensor(HAND, Calibration(pads={"index_tip": own}), seed=0)
    read = sensor.read(on_tip(1, 1) + on_tip(0, 2), 0.0)[TIP_FIRST : TIP_FIRST + 9]
    # The load itself and its play; a corner's leak from the middle; what creeps has not begun to.
    assert read.tolist() == [50, 70, 50 + 100 + 90 + 10, 60, 50, 70, 60, 60, 60]


def test_a_file_changes_what_it_names_and_nothing_else(tmp_path):
    path = tmp_path / "skin.toml"
    path.write_text(
        "gain_counts_per_n = 500\nyoung_pa = 8e5\nrate_hz = 30\n"
        "[pads.index_top]\ngain_counts_per_n = 2000\nthickness_m = 0.002\ndead = [[0, 3], [11, 7]]\n"
    )
    calibration = load_calibration(path, HAND)
    assert calibration.rate_hz == 30.0
    assert calibration.pad("palm").gain_counts_per_n == 500.0
    own = calibration.pad("index_top")
    assert (own.gain_counts_per_n, own.thickness_m, own.young_pa) == (2000.0, 0.002, 8e5)
    world = thenar.World("inspire_right", profile="ideal", skin={"inspire_right": path})
    assert world.touch("inspire_right").counts["index_top"].sum() == 0
    counts = Sensor(HAND, calibration, seed=0).read(force_on_all(1.0), 0.0)
    first = sum(pad.taxels for pad in HAND.pads[: [p.name for p in HAND.pads].index("index_top")])
    index_top = counts[first : first + 96].reshape(12, 8)
    assert index_top[0, 3] == index_top[11, 7] == 0
    assert index_top[5, 5] == 2000


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("gain = 5\n", r"line 1: unknown entry 'gain'; it takes: .*gain_counts_per_n"),
        ("young_pa = 1e6\nnoise_counts = -1\n", r"line 2: 'noise_counts' is -1; wanted a number not below 0"),
        ("[pads.index_top]\nyoung_pa = 0\n", r"line 2: 'young_pa' of index_top is 0; wanted a number above 0"),
        ("[pads.index]\nyoung_pa = 1e6\n", r"line 1: no pad named 'index'; available: .*index_top"),
        ("[pads.palm]\n\ndead = [[8, 0]]\n", r"line 3: 'dead' of palm is \[\[8, 0\]\]; wanted .* within 8 x 14"),
        ("dead = [[0, 0]]\n", r"line 1: 'dead' belongs into the table of a pad"),
        ("[pads.palm]\nstiffness = 3\n", r"line 2: unknown entry 'stiffness' of palm"),
        ("rate_hz = 0\n", r"line 1: 'rate_hz' is 0"),
        ("young_pa = \n", r"not a TOML file"),
        ("[pads.palm]\ndead = [1, 2]\n", r"line 2: 'dead' of palm is \[1, 2\]; wanted \[\[row, column\], ...\]"),
        ("[pads.palm]\ndead = [[true, false]]\n", r"line 2: 'dead' of palm is \[\[True, False\]\]; wanted"),
        ("[pads]\npalm = 3\n", r"line 2: pads.palm is 3; wanted a table of its own, \[pads.palm\]"),
        ("hysteresis = 5\n", "line 1: 'hysteresis' is 5; wanted a number not below 0 and not above 1"),
        ("[pads.'palm']\n\nyoung_pa = 0\n", "line 3: 'young_pa' of palm is 0"),
    ],
)
def test_a_wrong_entry_is_named_with_its_line(text: str, said: str, tmp_path):
    path = tmp_path / "skin.toml"
    path.write_text(text)
    with pytest.raises(BadFile, match=said):
        load_calibration(path, HAND)


LEARNED = {
    "load_n": [1.0] * 9,
    "knots": [0.0, 1.0],
    "play": [0.1],
    "fade_s": [1.0],
    "weights": [[[1.0]] * 3] * 9,
    "leak_counts_per_n": [[0.0] * 8] * 9,
    "offset_counts": [50.0] * 9,
    "drift_s": [],
    "drift_counts": [[]] * 9,
}


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({}, ""),
        ({"drift_counts": []}, ""),
        ({"play": 0.1}, "play is 0.1; wanted a list of numbers"),
        ({"knots": [[0.0, 1.0]]}, r"knots is \[\[0.0, 1.0\]\]; wanted a list of numbers"),
        ({"knots": [0.0], "weights": [[[]] * 3] * 9}, r"knots is \[0.0\]; wanted two numbers or more"),
        ({"drift_counts": [1, 2]}, r"drift_counts is 'of shape \(2,\)'; wanted shape \(9, 0\)"),
    ],
)
def test_a_learned_pad_of_odd_shape_is_refused(wrong: dict, said: str, tmp_path):
    path = tmp_path / "skin.toml"
    path.write_text("\n".join(["[pads.index_tip.learned]", *(f"{k} = {v}" for k, v in (LEARNED | wrong).items())]))
    if said:
        with pytest.raises(BadFile, match=f"'learned' of index_tip: {said}"):
            load_calibration(path, HAND)
    else:
        read = Sensor(HAND, load_calibration(path, HAND), seed=0).read(np.zeros(TAXELS), 0.0)
        assert read[TIP_FIRST] == 50


@pytest.mark.parametrize("name", ["left tip", "finger.1/tip", 'the "soft" one'])
def test_a_pad_of_any_name_is_written_and_read(name: str, tmp_path):
    pad = replace(HAND.pad("index_tip"), name=name)
    spec = SkinSpec(links=HAND.links, pads=(pad,))
    path = tmp_path / "skin.toml"
    write_calibration(path, spec, {name: PadCalibration(gain_counts_per_n=850.0)})
    assert load_calibration(path, spec).pad(name).gain_counts_per_n == 850.0
    path.write_text(path.read_text().replace("850", "-850"))
    line = path.read_text().splitlines().index("gain_counts_per_n = -850") + 1
    with pytest.raises(BadFile, match=f"line {line}: 'gain_counts_per_n'"):
        load_calibration(path, spec)


def test_a_missing_file_is_named(tmp_path):
    with pytest.raises(BadFile, match=r"none\.toml: cannot be read"):
        load_calibration(tmp_path / "none.toml", HAND)
