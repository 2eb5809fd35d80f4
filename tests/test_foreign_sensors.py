"""Calibration of skins that do not follow our formulas, of broken ones, and of recordings in the wrong unit."""

import json
from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from fits_once import _fits_once  # noqa: F401

from tests.oracles.foreign_sensors import KINDS, ForeignSensor, record
from thenar import hands
from thenar.cli import main
from thenar.errors import BadFile, BadValue
from thenar.touch.calibrate.press_recording import FORCE_UNITS, Recording, read_recording, write_recording
from thenar.touch.calibrate.presses import presses_on
from thenar.touch.calibrate.procedure import PadResult, check_force_unit, fit_pad
from thenar.touch.calibrate.protocol import random_presses
from thenar.touch.calibrate.score import TAKES_PART, day_to_day, full_scale, read_through, score
from thenar.touch.sensor.calibration import Calibration, load_calibration

TIP, FINGER = ("inspire_right", "index_tip"), ("reflex", "finger_1_proximal")


@cache
def recorded(where: tuple[str, str], kind: str, seed: int) -> tuple[ForeignSensor, Recording]:
    hand = hands.load(where[0])
    sensor = ForeignSensor(hand.pad(where[1]), KINDS[kind], seed)
    return sensor, record(hand, sensor)


def share_within_the_stated_limit(result: PadResult, sensor: ForeignSensor, seed: int) -> float:
    """Share of single readings of other presses, anywhere and at any speed, that are off by less than was stated."""
    pad = result.pad
    hand = hands.load(TIP[0] if pad.sensor == "force" else FINGER[0])
    other = presses_on(record(hand, sensor, random_presses(pad, seed=seed)), pad)
    read, load = read_through(other, Calibration(pads={pad.name: result.calibration}))
    peaks = np.array([load[other.press == press].max(axis=0) for press in range(other.count)])
    part = (peaks > TAKES_PART * load.max(axis=0))[other.press]
    off = 100.0 * np.abs(read - other.counts) / full_scale(result.presses)
    return float(np.mean((off <= result.score.p95)[part]))


@pytest.mark.parametrize(
    ("where", "kind", "seed"), [(FINGER, "bouc_wen", 3), (TIP, "leaning", 4), (FINGER, "root", 70012)]
)
def test_a_sensor_unlike_our_formulas_is_fitted_and_its_error_stated_honestly(where, kind: str, seed: int):
    sensor, recording = recorded(where, kind, seed)
    result = fit_pad(recording, hands.load(where[0]), where[1])
    assert result.refusals == []
    assert result.score.rms < 0.7 * result.scale_score.rms
    assert 0.85 <= share_within_the_stated_limit(result, sensor, seed) <= 0.995


@pytest.mark.soak
def test_twelve_sensors_unlike_our_formulas_are_fitted_and_their_errors_stated_honestly():
    """Seeds that nothing was tuned on."""
    refused, within = [], []
    for number, kind in enumerate(KINDS):
        where = (TIP, FINGER)[number % 2]
        sensor, recording = recorded(where, kind, 20)
        result = fit_pad(recording, hands.load(where[0]), where[1])
        refused += result.refusals
        within.append(share_within_the_stated_limit(result, sensor, 20))
    assert len(refused) <= 1
    assert 0.90 <= np.mean(within) <= 0.98
    assert sum(0.90 <= share <= 0.98 for share in within) >= 8


@pytest.mark.parametrize(
    ("where", "kind", "wanders"),
    [(TIP, "walk", True), (FINGER, "walk", True), (FINGER, "bouc_wen", False), (TIP, "swing", False)],
)
def test_an_offset_that_walks_at_random_is_told_from_one_that_drifts(where, kind: str, wanders: bool):
    _, recording = recorded(where, kind, 3)
    presses = presses_on(recording, hands.load(where[0]).pad(where[1]))
    off = day_to_day(presses)
    assert (off > 0.0) == wanders
    if wanders:  # a walk of 0.08 % of the span in a second: 1.4 % in 300, of readings that go a little farther or less
        assert 0.9 < off < 2.8
        load = presses.taxel_load_n(1e-3)
        stated = [score(presses, presses.counts, load, offset_walk=walk).p95 for walk in (0.0, off)]
        assert stated == [0.0, pytest.approx(1.96 * off)]


def with_counts(recording: Recording, taxel: int, counts: np.ndarray | float) -> Recording:
    """The same with one taxel that reads something else."""
    (pad,) = recording.counts
    said = recording.counts[pad].copy()
    said[:, taxel] = counts
    return replace(recording, counts={pad: said})


@cache
def unbroken(model) -> PadResult:
    return fit_pad(recorded(TIP, "gaussian", 6)[1], hands.load(TIP[0]), TIP[1], model=model)


@pytest.mark.parametrize(
    ("broken", "model"),
    [("silent", "parametric"), ("stuck at the top", "learned"), ("floating", "parametric")],
)
def test_a_dead_taxel_is_named_and_the_rest_is_calibrated(broken: str, model, tmp_path, capsys):
    where, taxel = TIP, 4
    recording = recorded(where, "gaussian", 6)[1]
    floating = np.random.default_rng(0).normal(900.0, 200.0, len(recording)).round()
    dead = with_counts(recording, taxel, {"silent": 0.0, "stuck at the top": 4095.0, "floating": floating}[broken])
    hand = hands.load(where[0])
    whole, rest = unbroken(model), fit_pad(dead, hand, where[1], model=model)
    assert rest.refusals == []
    assert rest.calibration.dead == ((1, 1),)
    assert whole.calibration.dead == ()
    others = np.arange(9) != taxel
    np.testing.assert_allclose(rest.fitted.gain[others], whole.fitted.gain[others], rtol=0.1)
    assert rest.score.rms < 1.2 * whole.score.rms
    if model == "parametric" and broken == "silent":
        write_recording(tmp_path / "r.npz", dead)
        main(["calibrate", "fit", str(tmp_path / "r.npz"), "-o", str(tmp_path / "s.toml"), "--json"])
        known = json.loads(capsys.readouterr().out)["known"]["index_tip"]
        assert known[0] == {"what": "dead", "value": "1,1", "off_by_%": 0.0, "known": "yes"}
        assert "Dead: 1,1." in (tmp_path / "s.toml").read_text()
        assert load_calibration(tmp_path / "s.toml", hand).pad("index_tip").dead == ((1, 1),)


def test_a_pad_that_reads_nothing_is_refused():
    recording = recorded(FINGER, "bouc_wen", 3)[1]
    silent = replace(recording, counts={FINGER[1]: np.zeros_like(recording.counts[FINGER[1]])})
    with pytest.raises(BadValue, match="5 of 5 taxels that read nothing when pressed"):
        fit_pad(silent, hands.load("reflex"), FINGER[1])


BARS, TAXELS = (FINGER, "bouc_wen", 3), (TIP, "gaussian", 6)
WRONG_UNITS = [(*BARS, "mN"), (*BARS, "g"), (*BARS, "kg"), (*TAXELS, "mN"), (*TAXELS, "g")]


def test_kilograms_that_look_like_a_sensitive_skin_are_asked_about(tmp_path, capsys):
    recording = recorded(*TAXELS)[1]
    tip = hands.load(TIP[0]).pad(TIP[1])
    in_kg = replace(recording, force_n=recording.force_n / FORCE_UNITS["kg"])
    write_recording(tmp_path / "r.npz", in_kg)
    with pytest.raises(SystemExit):
        main(["calibrate", "fit", str(tmp_path / "r.npz"), "-o", str(tmp_path / "s.toml")])
    said = " ".join(capsys.readouterr().err.split())
    assert "force_n of index_tip" in said
    assert "write the line '# force_unit: N' or '# force_unit: kg' above the table" in said
    assert not (tmp_path / "s.toml").exists()
    for told in (recording, replace(in_kg, force_unit="N")):  # a firm press in newtons, and whoever says so
        check_force_unit(presses_on(told, tip))


@pytest.mark.parametrize(("firm", "asked"), [(1.0, True), (5.0, True), (7.0, True), (10.0, False)])
def test_kilograms_are_asked_about_up_to_the_largest_press_there_is(firm: float, asked: bool):
    """Presses of 8 to 80 N on skins as insensitive as that, in kilograms; 80 N are no press on a fingertip."""
    recording, tip = recorded(*TAXELS)[1], hands.load(TIP[0]).pad(TIP[1])
    in_kg = presses_on(replace(recording, force_n=firm * recording.force_n / FORCE_UNITS["kg"]), tip)
    if asked:
        with pytest.raises(BadValue, match="if they are kilograms"):
            check_force_unit(in_kg)
    else:
        check_force_unit(in_kg)


@pytest.mark.parametrize(("where", "kind", "seed", "unit"), WRONG_UNITS)
def test_forces_that_are_no_newtons_are_refused_by_their_unit(where, kind: str, seed: int, unit: str, tmp_path):
    recording = recorded(where, kind, seed)[1]
    hand = hands.load(where[0])
    wrong = replace(recording, force_n=recording.force_n / FORCE_UNITS[unit])
    with pytest.raises(BadValue, match=f"force_n of {where[1]} .* like {unit}. Write the line '# force_unit: {unit}'"):
        fit_pad(wrong, hand, where[1])
    write_recording(tmp_path / "r.csv", wrong)
    text = (tmp_path / "r.csv").read_text()
    (tmp_path / "r.csv").write_text(f"# force_unit: {unit}\n{text}")
    back = read_recording(tmp_path / "r.csv")
    np.testing.assert_allclose(back.force_n, recording.force_n, atol=1e-3)
    for right in (back, replace(wrong, force_unit="N")):  # whoever names a unit is believed
        check_force_unit(presses_on(right, hand.pad(where[1])))


def test_stamps_in_milliseconds_and_units_nobody_knows_are_refused(tmp_path):
    recording = recorded(FINGER, "bouc_wen", 3)[1]
    write_recording(tmp_path / "r.npz", replace(recording, time_s=1e3 * recording.time_s))
    with pytest.raises(BadFile, match=r"66\.6667 s apart; wanted time_s in seconds: these look like milliseconds"):
        read_recording(tmp_path / "r.npz")
    write_recording(tmp_path / "r.npz", replace(recording, force_unit="lb"))
    with pytest.raises(BadFile, match="force_unit is 'lb'; wanted one of N, mN, g, kg"):
        read_recording(tmp_path / "r.npz")
