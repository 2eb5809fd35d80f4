"""Calibration of skins from recordings of sensors that are hidden from it."""

import io
import json
import subprocess
import sys
from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from fits_once import _fits_once  # noqa: F401

import thenar
from tests.oracles.hidden_sensor import HiddenSensor, record
from thenar import hands
from thenar.cli import main
from thenar.errors import BadFile, BadValue, NotIdentifiable, UnknownName
from thenar.hands.pad_charts import taxel_grid
from thenar.touch.calibrate.checklist import check
from thenar.touch.calibrate.press_recording import Recording, read_recording, write_recording
from thenar.touch.calibrate.presses import presses_on
from thenar.touch.calibrate.procedure import PadResult, fit_pad, noise_at_rest, top_counts
from thenar.touch.calibrate.protocol import Press, Step, plan, random_presses
from thenar.touch.calibrate.score import full_scale, read_through, score, score_pad
from thenar.touch.calibrate.synthetic import make_recording
from thenar.touch.sensor.calibration import Calibration, PadCalibration, load_calibration, write_calibration
from thenar.touch.sensor.force_sensor import Sensor
from thenar.touch.sensor.learned import around
from thenar.touch.sensor.receptive import point_shares, taxel_shares

INSPIRE, REFLEX = hands.load("inspire_right"), hands.load("reflex")
TIP, FINGER = ("inspire_right", "index_tip"), ("reflex", "finger_1_proximal")
BAR = 3.0  # percent of full scale
PALM_BALL_M = (0.002, 0.001, 0.04)  # it falls on the middle of the palm


@cache
def hidden(where: tuple[str, str], seed: int, power: bool) -> tuple[HiddenSensor, Recording, Recording]:
    """A hidden sensor, a recording by the protocol, and one of loads unlike those."""
    hand = hands.load(where[0])
    sensor = HiddenSensor(hand.pad(where[1]), seed, power=power)
    rate_hz = 20.0 if sensor.die else 12.0
    unlike = record(hand, sensor, random_presses(sensor.pad, seed=seed), rate_hz=rate_hz)
    return sensor, record(hand, sensor, rate_hz=rate_hz), unlike


@cache
def calibrated(where: tuple[str, str], seed: int, power: bool, model) -> PadResult:
    return fit_pad(hidden(where, seed, power)[1], hands.load(where[0]), where[1], model=model)


def unseen_error(where: tuple[str, str], seed: int, power: bool, model) -> float:
    """Error on the other recording, read as the twin reads, in percent of full scale."""
    result = calibrated(where, seed, power, model)
    presses = presses_on(hidden(where, seed, power)[2], result.pad)
    read, load = read_through(presses, Calibration(pads={result.pad.name: result.calibration}))
    return score(presses, read, load, full_counts=full_scale(result.presses)).rms


def part(recording: Recording, rows: np.ndarray) -> Recording:
    return replace(
        recording,
        time_s=recording.time_s[rows],
        pad=recording.pad[rows],
        at_m=recording.at_m[rows],
        force_n=recording.force_n[rows],
        counts={pad: counts[rows] for pad, counts in recording.counts.items()},
    )


def test_a_score_is_the_error_in_percent_of_full_scale():
    presses = presses_on(make_recording(INSPIRE, TIP[1], rate_hz=5.0), INSPIRE.pad(TIP[1]))
    load = presses.taxel_load_n(1e-3)
    found = score(presses, presses.counts + 0.05 * full_scale(presses), load)
    assert [found.rms, found.low, found.high, found.p95] == pytest.approx([5.0] * 4)
    np.testing.assert_allclose(found.taxel_rms, 5.0)


def test_readings_that_crowd_at_the_top_end_there():
    recording = make_recording(INSPIRE, TIP[1], rate_hz=5.0)
    cut = replace(recording, counts={TIP[1]: np.minimum(recording.counts[TIP[1]], 1500.0)})
    assert top_counts(presses_on(cut, INSPIRE.pad(TIP[1]))) == 1500.0
    spread = replace(recording, counts={TIP[1]: 0.1 * np.arange(recording.counts[TIP[1]].size).reshape(-1, 9)})
    assert top_counts(presses_on(spread, INSPIRE.pad(TIP[1]))) == np.inf


def test_an_offset_is_read():
    presses = presses_on(make_recording(INSPIRE, TIP[1], rate_hz=5.0), INSPIRE.pad(TIP[1]))
    read = read_through(presses, Calibration(bare=PadCalibration(offset_counts=70.0)))[0]
    assert read[0] == pytest.approx([70.0] * 9)


def test_the_noise_of_a_calibration_is_that_of_the_sensor():
    sensor, _, _ = hidden(TIP, 3, False)
    found = np.array(calibrated(TIP, 3, False, "parametric").calibration.noise_counts)
    assert found.mean() == pytest.approx(0.003 * sensor.span, rel=0.1)
    skins = [(hidden(FINGER, seed, False)[0], calibrated(FINGER, seed, False, "parametric")) for seed in (0, 1, 2)]
    found = np.mean([result.calibration.die_noise_pa for _, result in skins])
    assert found == pytest.approx(0.003 * skins[0][0].span * 509.0, rel=0.15)  # a quarter of a count


@pytest.mark.parametrize("sigma_counts", [0.12, 0.35, 1.0, 4.0])
def test_noise_is_found_below_and_above_the_rounding_of_a_barometer(sigma_counts: float):
    rng = np.random.default_rng(8)
    recording = make_recording(REFLEX, FINGER[1], rate_hz=20.0)
    rest = rng.uniform(-3.0, 3.0, 5) + np.linspace(0.0, 40.0, len(recording))[:, None]  # it drifts past the edges
    said = np.round(rest + rng.normal(0.0, sigma_counts, rest.shape))
    presses = presses_on(replace(recording, counts={FINGER[1]: 509.0 * said}), REFLEX.pad(FINGER[1]))
    assert noise_at_rest(presses) == pytest.approx([509.0 * sigma_counts] * 5, rel=0.15)


CASES = [
    *((FINGER, seed, False) for seed in (0, 1, 2)),
    *((FINGER, seed, True) for seed in (0, 1)),
    (TIP, 3, False),
    (TIP, 4, True),
]


@pytest.mark.parametrize("model", ["parametric", "learned"])
@pytest.mark.parametrize(("where", "seed", "power"), CASES)
def test_unseen_presses_are_read_within_3_percent_of_full_scale(where, seed: int, power: bool, model):
    result = calibrated(where, seed, power, model)
    assert result.score.presses >= 5
    assert result.score.low <= result.score.rms <= result.score.high
    assert result.score.rms <= BAR
    assert unseen_error(where, seed, power, model) <= BAR  # other places, speeds and rests


@pytest.mark.parametrize(("where", "seed", "power"), CASES)
def test_the_learned_model_is_at_least_twice_as_good_as_one_scale_factor(where, seed: int, power: bool):
    result = calibrated(where, seed, power, "learned")
    assert 2.0 * result.score.high <= result.scale_score.low


@pytest.mark.parametrize("seed", [0, 1])
def test_a_bent_gain_curve_is_learned_better_than_it_is_fitted(seed: int):
    learned, fitted = (calibrated(FINGER, seed, True, model) for model in ("learned", "parametric"))
    assert learned.score.rms < 0.9 * fitted.score.rms


def test_fitted_numbers_are_those_of_the_hidden_sensor():
    sensor, _, _ = hidden(FINGER, 0, False)
    result = calibrated(FINGER, 0, False, "parametric")
    scale = sensor.span * 509.0 / sensor.unit  # pascals read per pascal at the die, for a gain of 1
    assert result.fitted.gain / scale == pytest.approx(sensor.gain, rel=0.12)  # creep and relays take some of it
    assert result.fitted.depth_m == pytest.approx(sensor.z, rel=0.1)
    assert result.fitted.offset / 509.0 == pytest.approx(sensor.rest, abs=0.02 * sensor.span)
    assert not result.refusals


def test_more_force_never_reads_less_with_a_learned_model():
    result = calibrated(FINGER, 1, True, "learned")
    learned = result.learned
    assert learned is not None
    rng = np.random.default_rng(5)
    step_s = np.full(400, 0.05)
    for _ in range(5):
        load = np.abs(np.cumsum(rng.normal(0.0, 0.1, (400, 5)), axis=0)) * learned.load_n
        more = load + rng.uniform(0.0, 0.2, load.shape) * learned.load_n * (rng.random(load.shape) < 0.3)
        low, high = (
            learned.read(learned.through(x, step_s), around(result.pad, x), np.cumsum(step_s)) for x in (load, more)
        )
        assert np.all(high >= low - 1e-9)
        assert np.any(high > low + 1.0)


def test_the_twin_reads_what_the_hidden_sensor_reads(tmp_path):
    """Recording, file, world: a weight on the ReFlex palm reads as the hidden palm would read it."""
    pad = REFLEX.pad("palm_2")
    sensor = HiddenSensor(pad, 7)
    result = fit_pad(record(REFLEX, sensor), REFLEX, "palm_2", model="learned")
    file = tmp_path / "sensor.toml"
    write_calibration(file, REFLEX, {"palm_2": result.calibration}, ["a palm"])
    ball = thenar.Sphere(radius_m=0.02, mass_kg=0.3, pos_m=PALM_BALL_M)
    truth = Calibration(bare=PadCalibration(depth_m=sensor.z))  # the stress itself
    worlds = [thenar.World("reflex", props=[ball], profile="ideal", skin={"reflex": skin}) for skin in (file, truth)]
    time_s, said, stress = [], [], []
    for _ in range(75):
        for world in worlds:
            world.advance(0.04)
        read, true = (world.touch("reflex") for world in worlds)
        time_s.append(read.stamp_s)
        said.append(read.counts["palm_2"].ravel())
        stress.append(true.counts["palm_2"].ravel())
    load = np.array(stress, dtype=float)
    assert load.max() > 0.2 * sensor.unit
    hidden_pa = 509.0 * sensor.read(np.array(time_s), load)
    off = (np.array(said) - hidden_pa) / full_scale(result.presses)
    assert 100.0 * np.sqrt(np.mean(off**2)) <= BAR
    assert np.abs(load - hidden_pa).max() > 0.1 * full_scale(result.presses).max()  # not calibrated, it is far off


def test_force_taxels_read_what_the_hidden_sensor_reads(tmp_path):
    """Loads that lie on many taxels at once, through the file and the sensor of the running twin."""
    sensor, _, _ = hidden(TIP, 3, False)
    result = calibrated(TIP, 3, False, "parametric")
    write_calibration(tmp_path / "s.toml", INSPIRE, {TIP[1]: result.calibration})
    twin = Sensor(INSPIRE, load_calibration(tmp_path / "s.toml", INSPIRE), seed=0)
    first = sum(pad.taxels for pad in INSPIRE.pads[: [pad.name for pad in INSPIRE.pads].index(TIP[1])])
    rng = np.random.default_rng(2)
    time_s = np.arange(0.0, 60.0, 0.05)
    shape = rng.uniform(0.0, 1.0, (4, 9))
    wave = np.maximum(np.sin(np.outer(time_s, rng.uniform(0.3, 1.5, 4))), 0.0)
    force_n = wave @ shape * 0.5
    said = []
    for now_s, force in zip(time_s, force_n, strict=True):
        every = np.zeros(1062)
        every[first : first + 9] = force
        said.append(twin.read(every, float(now_s))[first : first + 9])
    pad = sensor.pad
    quarters = [(a * pad.row_pitch_m / 4, b * pad.col_pitch_m / 4) for a in (-1, 1) for b in (-1, 1)]
    spread = sum(sensor.arrives(sensor.centres + quarter, probe_m=0.0) for quarter in quarters) / 4.0
    off = (np.array(said) - sensor.read(time_s, force_n @ spread)) / full_scale(result.presses)
    assert 100.0 * np.sqrt(np.mean(off**2)) <= BAR


def test_a_pad_of_many_taxels_is_told_everything_and_scored_as_it_reads():
    """Most of the palm's taxels are pressed firmly just once, which must not be kept back."""
    sensor = HiddenSensor(INSPIRE.pad("palm"), 7)
    result = fit_pad(record(INSPIRE, sensor, rate_hz=5.0), INSPIRE, "palm")
    assert result.refusals == []
    unlike = presses_on(record(INSPIRE, sensor, random_presses(sensor.pad, seed=7), rate_hz=5.0), sensor.pad)
    read, load = read_through(unlike, Calibration(pads={"palm": result.calibration}))
    unseen = score(unlike, read, load, full_counts=full_scale(result.presses)).rms
    assert unseen <= BAR
    # Few of so many taxels are pressed firmly by other presses, so these are off by less.
    assert 0.5 * result.score.rms <= unseen <= result.score.high


def test_a_fitted_reflex_finger_is_read_by_the_twin_in_pascals(tmp_path):
    result = calibrated(FINGER, 0, False, "learned")
    file = tmp_path / "sensor.toml"
    write_calibration(file, REFLEX, {FINGER[1]: result.calibration})
    frame = thenar.World("reflex", profile="ideal", skin={"reflex": file}).touch("reflex")
    assert result.learned is not None
    at_rest = result.learned.offset_counts
    noise_pa = 6.0 * np.max(result.calibration.die_noise_pa)
    assert frame.die_pressure_pa[:5] - 101_325.0 == pytest.approx(at_rest, abs=noise_pa)
    assert np.all(frame.die_pressure_pa[5:9] == 101_325.0)


# What a recording cannot tell.


def refusals(recording: Recording, where: tuple[str, str], **options) -> dict[str, str]:
    result = fit_pad(recording, hands.load(where[0]), where[1], **options)
    return {refusal.split(" of ")[0]: refusal for refusal in result.refusals}


def test_a_whole_recording_is_refused_nothing():
    assert refusals(hidden(FINGER, 1, False)[1], FINGER) == {}


def test_one_place_cannot_tell_depth_and_cross_talk():
    sensor, _, _ = hidden(FINGER, 0, False)
    steps = tuple(
        replace(step, presses=tuple(replace(press, at_m=(0.0, 0.0)) for press in step.presses))
        for step in plan(sensor.pad)
    )
    refused = refusals(record(REFLEX, sensor, steps), FINGER)
    assert "leaves no trace in it; press at several places" in refused["depth"]
    assert "press on taxels beside each other" in refused["crosstalk"]
    assert "taxels 0,0 " in refused["gain"]  # and others that nothing pressed on
    assert "leaves no trace in it; press on the middle of these" in refused["gain"]
    assert not {"drift", "offset"} & set(refused)


def test_a_short_recording_cannot_tell_drift_but_the_rest():
    first = ("rest", "each taxel", "between")  # one and a half minutes
    steps = tuple(step for step in plan(REFLEX.pad(FINGER[1])) if step.name in first)
    recording = record(REFLEX, hidden(FINGER, 0, False)[0], steps)
    assert recording.time_s[-1] < 120.0
    refused = refusals(recording, FINGER)
    assert "go on for 480 s" in refused["drift"]
    assert not {"gain", "depth", "crosstalk"} & set(refused)
    assert "drift" not in refusals(recording, FINGER, without=("drift",))


def test_a_load_that_only_grows_cannot_tell_hysteresis():
    corners = ((0.0, 0.0), (40.0, 0.1), (80.0, 0.1), (130.0, 0.4), (200.0, 0.5), (310.0, 1.0), (460.0, 1.0))
    stairs = (
        Step(name="rest", instruction="", until_s=20.0),
        Step(name="stairs", instruction="", presses=(Press(at_m=(0.0, 0.0), corners=corners),)),
    )
    refused = refusals(
        record(REFLEX, hidden(FINGER, 0, False)[0], stairs), FINGER, without=("depth", "crosstalk", "drift")
    )
    assert "unload as slowly as you load" in refused["hysteresis"]
    assert "1 presses leave none to hold back" in refused["error"]


def test_a_taxel_that_was_never_pressed_is_named():
    sensor, recording, _ = hidden(FINGER, 0, False)
    refused = refusals(part(recording, recording.at_m[:, 0] < 1.2 * sensor.pad.row_pitch_m), FINGER)
    assert refused["gain"].startswith("gain of finger_1_proximal, taxel 4,0: leaves no trace")


# Recordings.


@pytest.mark.parametrize("ending", ["csv", "npz"])
@pytest.mark.parametrize("where", [TIP, FINGER])
def test_a_recording_comes_back_as_it_was_written(where, ending: str, tmp_path):
    made = make_recording(hands.load(where[0]), where[1], rate_hz=5.0)
    file = tmp_path / f"r.{ending}"
    write_recording(file, made)
    back = read_recording(file)
    assert (back.hand, back.probe_m, back.count_pa) == (made.hand, made.probe_m, made.count_pa)
    np.testing.assert_allclose(back.counts[where[1]], made.counts[where[1]])
    np.testing.assert_allclose(back.force_n, made.force_n, atol=1e-4)
    pressed = made.force_n > 1e-4
    np.testing.assert_allclose(back.at_m[pressed], made.at_m[pressed], atol=1e-6)
    assert list(back.pad[pressed]) == list(made.pad[pressed])


HEAD = "# hand: reflex\ntime_s,pad,u_mm,v_mm,force_n,finger_1_tip.0.0\n"
GOOD = "".join(f"{k},,,,0,1\n" for k in range(20))


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("time_s,pad,u_mm,v_mm,force_n,x.0.0\n", "line 1: no '# hand: NAME' line"),
        ("# hand: reflex\nt,pad,u_mm,v_mm,force_n\n", "line 2: columns begin with 't,pad,u_mm,v_mm,force_n'; wanted"),
        ("# hand: reflex\ntime_s,pad,u_mm,v_mm,force_n\n", "line 2: columns of counts is 'none'"),
        ("# hand: reflex\ntime_s,pad,u_mm,v_mm,force_n,tip.0.0\n", "no pad of reflex named 'tip'; available: "),
        ("# hand: reflex\ntime_s,pad,u_mm,v_mm,force_n,finger_1_tip.1.0\n", "within 1 x 1"),
        ("# hand: reflex\ntime_s,pad,u_mm,v_mm,force_n,finger_1_distal.1.0\n", "all 3 taxels of finger_1_distal"),
        (HEAD + GOOD + "20,finger_1_tip,0,0,1\n", "line 23: 5 cells; wanted 6"),
        (HEAD + GOOD + "20,finger_1_tip,0,0,many,3\n", "line 23: force_n is 'many'; wanted a number"),
        (HEAD + GOOD + "20,finger_1_tip,,0,1,3\n", "line 23: u_mm is ''; wanted a number"),
        (HEAD + GOOD + "19,finger_1_tip,0,0,1,3\n", "line 23: time_s is 19 after 19; wanted a time that grows"),
        (HEAD + GOOD + "20,,,,1,3\n", "line 23: force_n is 1 but pad is empty"),
        (HEAD + GOOD + "20,finger_2_tip,0,0,1,3\n", "line 23: pad is 'finger_2_tip'; wanted one that is recorded"),
        (HEAD + GOOD + "20,finger_1_tip,40,0,1,3\n", "row 20: pressed at 40, 0 mm from the centre of finger_1_tip"),
        (HEAD + GOOD + "20,finger_1_tip,0,0,-3,3\n", "row 20: force_n is -3 and the largest 0; wanted a load cell"),
        (HEAD + "1,,,,0,1\n", "1 readings; wanted at least 20"),
        ("# probe_mm: wide\n" + HEAD + GOOD, "'# probe_mm' is 'wide'; wanted a radius"),
        ("# probe_mm: 200\n" + HEAD + GOOD, "the probe's radius is 0.2 m; wanted one below 0.1 m"),
        ("# hand: refleks\n" + HEAD[15:] + GOOD, "line 2: no hand named 'refleks'; available: "),
        ("# hand: fourier_right\n" + HEAD[15:] + GOOD, "line 2: hand is 'fourier_right'; wanted one with pads"),
        (HEAD + GOOD + "9" * 200_000 + "\n", "line 23: field larger than field limit"),
    ],
)
def test_a_wrong_recording_is_named_with_its_row(text: str, said: str, tmp_path):
    file = tmp_path / "r.csv"
    file.write_text(text)
    with pytest.raises(BadFile) as error:
        read_recording(file)
    assert str(error.value).startswith(f"{file}: ")
    assert said in str(error.value)


@pytest.mark.parametrize("first", ["", "# hand: reflex\n"])
def test_a_byte_order_mark_hides_neither_header_nor_column(first: str, tmp_path, capsys, monkeypatch):
    text = "\ufeff" + first + HEAD.removeprefix("# hand: reflex\n") + GOOD + "20,finger_1_tip,0,0,1,3\n"
    file = tmp_path / "r.csv"
    file.write_text(text, encoding="utf-8")
    assert read_recording(file, hand="reflex").hand == "reflex"
    check = ["calibrate", "protocol", "reflex", "--pad", "finger_1_tip", "--json", "--check"]
    main([*check, str(file)])
    monkeypatch.setattr("sys.stdin", io.StringIO(text))
    main([*check, "-"])
    from_file, from_pipe = capsys.readouterr().out.split("\n]\n")[:2]
    assert from_file == from_pipe
    skin = tmp_path / "s.toml"
    skin.write_text("\ufeffyoung_pa = 2e6\n", encoding="utf-8")
    assert load_calibration(skin, REFLEX).bare.young_pa == 2e6


def test_wrong_npz_files_and_missing_ones_are_named(tmp_path):
    with pytest.raises(BadFile, match=r"none\.csv: cannot be read"):
        read_recording(tmp_path / "none.csv")
    with pytest.raises(BadFile, match=r"ends in \.csv or \.npz"):
        read_recording(tmp_path / "none.txt")
    np.savez(tmp_path / "a.npz", hand=np.array("reflex"))
    with pytest.raises(BadFile, match="no entry 'probe_m'; a recording has: hand, probe_m"):
        read_recording(tmp_path / "a.npz")
    (tmp_path / "b.npz").write_text("no archive")
    with pytest.raises(BadFile, match="NPZ file"):
        read_recording(tmp_path / "b.npz")
    write_recording(tmp_path / "c.npz", make_recording(REFLEX, "finger_1_tip", rate_hz=2.0))
    entries = dict(np.load(tmp_path / "c.npz"))
    entries["counts"][7] = np.nan
    np.savez(tmp_path / "c.npz", **entries)
    with pytest.raises(BadFile, match="row 7: counts holds what is not a number"):
        read_recording(tmp_path / "c.npz")
    entries["counts"][7] = 0.0
    for key, odd, said in (
        ("probe_m", np.nan, "radius is nan m; wanted one below 0.1 m"),
        ("probe_m", 1.5, "radius is 1.5 m"),
        ("count_pa", 0.0, "count_pa is 0; wanted pascals above 0"),
        ("hand", "refleks", "no hand named 'refleks'"),
        ("pad", [""] * len(entries["pad"]), r"row \d+: force_n is .* but pad is empty; wanted the pad that is pressed"),
    ):
        changed = entries.copy()
        changed[key] = odd
        np.savez(tmp_path / "c.npz", **changed)
        with pytest.raises(BadFile, match=said):
            read_recording(tmp_path / "c.npz")


def test_a_recording_is_of_the_hand_it_names(tmp_path, capsys):
    columns = ",".join(f"index_tip.{row}.{col}" for row in range(3) for col in range(3))
    rows = "".join(f"{k},index_tip,0,0,{1 + k % 2},{'1,' * 8}1\n" for k in range(20))
    file = tmp_path / "left.csv"
    file.write_text(f"# hand: inspire_left\ntime_s,pad,u_mm,v_mm,force_n,{columns}\n{rows}")
    assert read_recording(file, hand="inspire_right").hand == "inspire_left"
    with pytest.raises(SystemExit):
        main(["calibrate", "protocol", "inspire_right", "--pad", "index_tip", "--check", str(file)])
    assert "it is of index_tip of inspire_left; wanted index_tip of inspire_right" in " ".join(
        capsys.readouterr().err.split()
    )


def test_a_recording_without_the_pad_or_without_rests_is_refused():
    made = make_recording(REFLEX, "finger_1_tip", rate_hz=4.0)
    for use in (
        lambda: fit_pad(made, REFLEX, "finger_2_tip"),
        lambda: score_pad(made, REFLEX, "finger_2_tip", Calibration()),
    ):
        with pytest.raises(UnknownName, match="no pad in the recording named 'finger_2_tip'; available: finger_1_tip"):
            use()
    pad, force_n = np.full(len(made), "finger_1_tip"), np.maximum(made.force_n, 0.3)  # a load cell that is not zeroed
    with pytest.raises(BadValue, match=r"without a rest, in which force_n is 0.*wanted more: record the skin at rest"):
        fit_pad(replace(made, pad=pad, force_n=force_n), REFLEX, "finger_1_tip")


# What arrives at a taxel.


def test_a_load_arrives_as_boussinesq_says():
    pad, z = INSPIRE.pad("index_top"), 1.1e-3
    at = np.array([[0.4e-3, -0.3e-3]])
    edge = (np.arange(200) + 0.5) / 200 - 0.5
    u, v = (grid.ravel() for grid in taxel_grid(pad))
    x = u[:, None, None] + edge[:, None] * pad.row_pitch_m - at[0, 0]
    y = v[:, None, None] + edge * pad.col_pitch_m - at[0, 1]
    stress = 3 * z**3 / (2 * np.pi * (x**2 + y**2 + z**2) ** 2.5)
    numeric = stress.mean(axis=(1, 2)) * pad.row_pitch_m * pad.col_pitch_m
    np.testing.assert_allclose(point_shares(pad, at, z)[0], numeric, rtol=1e-4, atol=1e-9)
    shares = taxel_shares(pad, z)
    assert shares.sum(axis=0).max() == pytest.approx(1.0, abs=0.01)
    np.testing.assert_allclose(shares, shares.T, atol=1e-12)
    np.testing.assert_array_equal(taxel_shares(pad, 0.0), np.eye(96))
    die = point_shares(REFLEX.pad(FINGER[1]), np.zeros((1, 2)), 0.005)[0]
    assert die[2] == pytest.approx(19_099.0, rel=1e-3)  # pascals per newton straight above
    assert die[1] / die[2] == pytest.approx((1 + (7.913 / 5) ** 2) ** -2.5)


# The protocol.


@pytest.mark.parametrize("where", [TIP, FINGER, ("reflex", "finger_1_tip")])
def test_who_follows_the_protocol_satisfies_every_step(where):
    hand = hands.load(where[0])
    pad = hand.pad(where[1])
    recording = make_recording(hand, where[1], rate_hz=20.0)
    assert [one.step for one in check(recording, pad, plan(pad)) if not one.satisfied] == []
    early = {one.step: one for one in check(part(recording, recording.time_s < 30.0), pad, plan(pad))}
    assert early["rest"].satisfied
    assert 0 < early["each taxel"].done < early["each taxel"].of
    assert early["each taxel"].missing.startswith("next at taxel ")
    assert "for 30 s" in early["hold"].missing
    assert not early["last rest"].satisfied


def test_presses_that_are_not_what_was_asked_for_do_not_count():
    pad = REFLEX.pad(FINGER[1])
    steps = tuple(step for step in plan(pad) if not step.name.startswith("elsewhere"))
    recording = make_recording(REFLEX, FINGER[1], rate_hz=20.0, steps=steps)
    late = {one.step: one for one in check(part(recording, recording.time_s > 40.0), pad, plan(pad))}
    assert late["rest"].missing == "start within 30 s of switching on"
    aside = replace(recording, at_m=recording.at_m + 0.45 * pad.row_pitch_m)
    assert {one.step: one.done for one in check(aside, pad, plan(pad))}["each taxel"] == 0


def test_protocol_watches_a_recording_that_grows(tmp_path):
    file = tmp_path / "r.csv"
    write_recording(file, make_recording(REFLEX, "finger_1_tip", rate_hz=20.0))
    lines = file.read_text().splitlines(keepends=True)
    command = [sys.executable, "-m", "thenar.cli", "calibrate", "protocol", "reflex", "--pad", "finger_1_tip"]
    growing = tmp_path / "growing.csv"
    growing.write_text("".join(lines[:700]) + lines[700][:9])
    watching = subprocess.Popen(
        [*command, "--check", str(growing), "--follow"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    with growing.open("a") as rest:
        rest.write(lines[700][9:] + "".join(lines[701:]))
    out, err = watching.communicate(timeout=120)
    assert (watching.returncode, err) == (0, "")
    assert "complete: thenar calibrate fit" in out
    asked = subprocess.run(
        [*command, "--check", "-", "--json"], input="".join(lines[:700]), capture_output=True, text=True, check=True
    )
    steps = {one["step"]: one for one in json.loads(asked.stdout)}
    assert steps["rest"]["satisfied"]
    assert not steps["loops"]["satisfied"]


# The command line.


def test_make_fit_and_score_on_the_command_line(tmp_path, capsys):
    rec, other, file, page = (str(tmp_path / name) for name in ("r.csv", "o.npz", "s.toml", "p.html"))
    where = ["--hand", "reflex", "--pad", "finger_1_distal", "--seed", "4"]
    main(["calibrate", "make", rec, *where])
    main(["calibrate", "make", other, *where, "--loads", "unseen"])
    main(["calibrate", "fit", rec, "-o", file, "--report", page])
    out = capsys.readouterr().out
    assert "finger_1_distal" in out
    assert f"wrote {file}" in out.replace("\n", "")
    text = Path(file).read_text()
    assert text.startswith("# Skin of reflex, fitted to r.csv (parametric).\n# finger_1_distal: ")
    assert len(load_calibration(Path(file), REFLEX).pad("finger_1_distal").die_gain) == 3  # pyright: ignore[reportArgumentType]
    assert "<svg" in Path(page).read_text()
    main(["calibrate", "score", other, "--calibration", file, "--json"])
    (row,) = json.loads(capsys.readouterr().out)
    assert row["error"] <= BAR
    assert row["presses"] == 40
    with pytest.raises(SystemExit):
        main(["calibrate", "score", other, "--calibration", file, "--pad", "palm_1"])
    assert "no columns of palm_1; it has finger_1_distal" in " ".join(capsys.readouterr().err.split())
    svg = tmp_path / "p.svg"
    main(["calibrate", "fit", rec, "--model", "learned", "-o", file, "--report", str(svg), "--json"])
    told = json.loads(capsys.readouterr().out)
    assert told["refused"] == []
    assert told["scores"][0]["error"] <= BAR
    assert load_calibration(Path(file), REFLEX).pad("finger_1_distal").learned is not None
    assert svg.read_text().startswith("<svg ")


def test_a_recording_that_cannot_tell_writes_nothing_until_told_to_do_without(tmp_path, capsys):
    steps = plan(REFLEX.pad("finger_1_distal"))[:4]
    write_recording(tmp_path / "r.csv", make_recording(REFLEX, "finger_1_distal", steps=steps))
    fit = ["calibrate", "fit", str(tmp_path / "r.csv"), "-o", str(tmp_path / "s.toml")]
    with pytest.raises(SystemExit) as stop:
        main(fit)
    assert stop.value.code == 2
    said = capsys.readouterr().err.replace("\n", " ")
    assert "cannot tell everything" in said
    assert "go on for 480 s" in said
    assert "--without drift" in said
    assert not (tmp_path / "s.toml").exists()
    main([*fit, "--without", "drift"])
    assert (tmp_path / "s.toml").exists()


def test_protocol_tells_what_to_do(capsys):
    main(["calibrate", "protocol", "inspire_right", "--pad", "index_tip"])
    out = capsys.readouterr().out
    assert "each of the 9 taxels" in " ".join(out.split())
    assert "time_s,pad,u_mm,v_mm,force_n,index_tip.0.0,...,index_tip.2.2" in out
    main(["calibrate", "protocol", "reflex", "--json"])
    assert json.loads(capsys.readouterr().out)["pad"] == "finger_1_proximal"


@pytest.mark.parametrize(
    ("args", "said"),
    [
        (
            ["protocol", "fourier_right"],
            "inspire_right, shadow_left, shadow_right, reflex, dex3_left",
        ),
        (["protocol", "reflex", "--pad", "tip"], "no pad named 'tip'"),
        (["protocol", "reflex", "--follow"], "wanted --check FILE"),
        (["protocol", "reflex", "--json", "--pad", "palm_1,finger_1_distal"], "wanted one pad with --json"),
        (["protocol", "reflex", "--check", "none.csv"], "none.csv: cannot be read"),
        (["make", "r.csv"], "--hand is ''; wanted a hand with pads"),
        (["make", "r.txt", "--hand", "reflex"], "ends in .csv or .npz"),
        (["fit", "none.csv"], "none.csv: cannot be read"),
        (["fit", "none.csv", "-o", "s.json"], "a name that ends in .toml"),
        (["fit", "none.csv", "--without", "gain"], "some of depth, crosstalk, hysteresis, drift, saturation"),
        (["score", "none.csv"], "--calibration is None; wanted a file that fit has written"),
    ],
)
def test_mistakes_get_one_clear_line(args: list[str], said: str, capsys):
    with pytest.raises(SystemExit) as stop:
        main(["calibrate", *args])
    assert stop.value.code == 2
    assert said in capsys.readouterr().err.replace("\n", " ")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[pads.index_tip]\ncrosstalk = [[0.1, 0.1]]\n", "line 2: 'crosstalk' of index_tip .* wanted .* 3 rows of 3"),
        ("[pads.index_tip]\nplay = [[0,0,0],[0,-1,0],[0,0,0]]\n", "'play' of index_tip is -1; wanted .* not below 0"),
        ("[pads.index_tip.learned]\nknots = [0, 1]\n", "line 1: 'learned' of index_tip: .* wanted a table with load_n"),
        ("learned = 3\n", r"belongs into the table of a pad, as \[pads.NAME.learned\]"),
    ],
)
def test_a_wrong_entry_of_a_fitted_file_is_named(text: str, said: str, tmp_path):
    file = tmp_path / "s.toml"
    file.write_text(text)
    with pytest.raises(BadFile, match=said):
        load_calibration(file, INSPIRE)


def test_a_learned_file_with_a_falling_curve_is_refused(tmp_path):
    result = calibrated(FINGER, 0, False, "learned")
    learned = result.learned
    assert learned is not None
    bad = replace(result.calibration, learned=replace(learned, weights=learned.weights - 1.0))
    write_calibration(tmp_path / "s.toml", REFLEX, {FINGER[1]: bad})
    with pytest.raises(BadFile, match="more force must never read less"):
        load_calibration(tmp_path / "s.toml", REFLEX)


def test_serve_takes_a_file_for_a_hand(capsys):
    from thenar.twin.serving import serve

    with pytest.raises(UnknownName, match="no hand that is served named 'reflex'; available: inspire_right"):
        serve("inspire_right", skin={"reflex": Path("s.toml")})
    with pytest.raises(BadFile, match=r"none\.toml: cannot be read"):
        serve("inspire_right", skin={"inspire_right": Path("none.toml")})
    with pytest.raises(SystemExit):
        main(["serve", "--skin", "s.toml"])
    assert "HAND=FILE, as there are several hands" in capsys.readouterr().err.replace("\n", " ")


def test_cannot_tell_lists_what_is_missing():
    error = NotIdentifiable("r.csv", ["drift: go on"], "Nothing is written.")
    assert str(error) == "r.csv cannot tell everything:\n  - drift: go on\nNothing is written."
