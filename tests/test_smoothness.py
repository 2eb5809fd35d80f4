"""Smoothness of a hand's motion: measures that can fail, and friction that calms without delay."""

from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from hard_gloves import hard_log

from thenar import hands
from thenar.retarget.batch import retarget_recording, time_steps
from thenar.retarget.config import RetargetConfig
from thenar.retarget.model.hand_model import HandModel, build_model
from thenar.retarget.smoothness import THRESHOLDS_DEG, fast_motion_deg, lag_s, reversals_per_s, swings_per_s
from thenar.retarget.solver import key_point_targets_m
from thenar.signals import FloatArray, GloveLayout

STEP_S = np.full(1000, 0.01)
TIME_S = np.cumsum(STEP_S)


@cache
def shadow() -> HandModel:
    return build_model(hands.load("shadow_right"))


def wave(rate_hz: float, amplitude_deg: float) -> FloatArray:
    return np.radians(amplitude_deg) * np.sin(2 * np.pi * rate_hz * TIME_S)[:, None]


def test_a_wave_swings_twice_in_each_period_unless_it_is_too_small():
    assert swings_per_s(wave(2.0, 3.0), STEP_S, 0.5) == pytest.approx(4.0, rel=0.05)
    assert swings_per_s(wave(2.0, 0.2), STEP_S, 0.5) == 0.0


def test_reversals_count_steps_that_turn_back_by_more_than_the_threshold():
    zigzag = np.radians(0.3) * (np.arange(1000) % 2)[:, None]
    assert reversals_per_s(zigzag, STEP_S, 0.2) == pytest.approx(100.0, rel=0.01)
    assert reversals_per_s(zigzag, STEP_S, 0.5) == 0.0


def test_a_pause_at_every_turn_hides_reversals_but_no_swings():
    angle = np.radians(3.0) * np.repeat([0.0, 1.0], 5)[np.arange(1000) % 10][:, None]
    assert reversals_per_s(angle, STEP_S, 0.1) == 0.0
    assert swings_per_s(angle, STEP_S, 0.5) == pytest.approx(20.0, rel=0.05)


def test_only_motion_faster_than_five_hertz_is_fast():
    assert fast_motion_deg(wave(2.0, 3.0), STEP_S) < 0.1
    assert fast_motion_deg(wave(12.0, 3.0), STEP_S) == pytest.approx(3.0 / np.sqrt(2.0), rel=0.05)


@pytest.mark.parametrize("late_s", [0.0, 0.013, 0.05])
def test_a_late_copy_is_late(late_s: float):
    wanted = np.stack([np.sin(5.0 * TIME_S), np.cos(3.0 * TIME_S)], axis=1)
    late = np.stack([np.sin(5.0 * (TIME_S - late_s)), np.cos(3.0 * (TIME_S - late_s))], axis=1)
    assert lag_s(late, wanted, STEP_S) == pytest.approx(late_s, abs=0.001)


@cache
def hurried(layout: GloveLayout) -> tuple[FloatArray, FloatArray]:
    """Nodes and time steps of a recording that is hard to follow."""
    log = hard_log(layout)
    return np.ascontiguousarray(log.finger_m[:1500]), time_steps(log.stamp_s)[:1500]


def tip_error_and_lag(variable_rad: FloatArray, layout: GloveLayout) -> tuple[float, float]:
    nodes, step_s = hurried(layout)
    tips = [part.stop - 1 for part in shadow().point_slices]
    points = shadow().points_m(variable_rad)[:, tips]
    wanted = key_point_targets_m(shadow(), nodes)[:, [tip - f - 1 for f, tip in enumerate(tips)]]
    late_s = lag_s(points.reshape(len(points), -1), wanted.reshape(len(points), -1), step_s)
    return float(np.linalg.norm(points - wanted, axis=2).mean()), late_s


@pytest.mark.parametrize("layout", ["nodes21", "manus25"])
def test_friction_calms_a_noisy_hand_at_the_same_error_and_without_delay(layout: GloveLayout):
    nodes, step_s = hurried(layout)
    config = RetargetConfig(speed_scale=100.0)
    damped, bare = (
        retarget_recording(shadow(), nodes, step_s, c, workers=1) for c in (config, replace(config, friction_rad=0.0))
    )
    for threshold_deg in THRESHOLDS_DEG:
        ours, without = (reversals_per_s(angles, step_s, threshold_deg) for angles in (damped, bare))
        assert ours < (0.6 if threshold_deg < 0.5 else 1.0) * without
    assert swings_per_s(damped, step_s, 0.5) < 0.8 * swings_per_s(bare, step_s, 0.5)
    (error_m, late_s), (bare_error_m, bare_late_s) = (tip_error_and_lag(angles, layout) for angles in (damped, bare))
    assert error_m < 1.05 * bare_error_m
    assert late_s < bare_late_s + 0.001


def test_frames_in_random_order_are_not_smooth_by_any_measure():
    nodes, step_s = hurried("nodes21")
    shuffled = nodes[np.random.default_rng(0).permutation(len(nodes))]
    good, bad = (retarget_recording(shadow(), shown, step_s, workers=1) for shown in (nodes, shuffled))
    for threshold_deg in (0.05, 0.1, 0.2):
        assert reversals_per_s(bad, step_s, threshold_deg) > 3.0 * reversals_per_s(good, step_s, threshold_deg)
    assert swings_per_s(bad, step_s, 0.5) > 3.0 * swings_per_s(good, step_s, 0.5)
    assert fast_motion_deg(bad, step_s) > 2.0 * fast_motion_deg(good, step_s)
