"""Friction over a patch: Cattaneo, Mindlin and Deresiewicz as judges, and what must hold in every direction."""

import dataclasses
import math

import numpy as np
import pytest

import thenar
from thenar import hands
from thenar.hands.pad_charts import taxel_grid
from thenar.signals import SolidContacts, TouchFrame
from thenar.sim.press import parse_indenter
from thenar.touch.hand_touch import HandTouch
from thenar.touch.hertz import hertz_ellipse
from thenar.touch.sensor.calibration import IDEAL
from thenar.touch.solver.influence import POISSON, reduced_modulus_pa
from thenar.twin.reports.press_report import press_pad

INSPIRE = hands.load("inspire_right")
FINE = {"rows": 12, "cols": 12, "row_pitch_m": 0.6e-3, "col_pitch_m": 0.6e-3}  # taxels smaller than the patch
FINE_PALM = dataclasses.replace(INSPIRE.pad("palm"), **FINE)
HAND = dataclasses.replace(INSPIRE, pads=tuple(FINE_PALM if pad.name == "palm" else pad for pad in INSPIRE.pads))
MU, LOAD_N, RADIUS_M = 0.6, 2.0, 0.012
PATCH = hertz_ellipse(LOAD_N, 1 / RADIUS_M, 1 / RADIUS_M, reduced_modulus_pa(1e6))
SHEAR_MODULUS_PA = 1e6 / (2 * (1 + POISSON))
GIVE_M = 3 * MU * LOAD_N * (2 - POISSON) / (16 * SHEAR_MODULUS_PA * PATCH.a_m)
"""How far a ball has moved along the skin when it begins to slide (Mindlin), against something rigid."""


class Pulled:
    """A ball on the palm that is pressed down by 2 N and pulled along the skin."""

    def __init__(self) -> None:
        result = press_pad(HAND, "palm", parse_indenter(f"sphere:{1e3 * RADIUS_M}mm"), force_n=LOAD_N)
        self.contacts = result.pressed.contacts
        bodies = self.contacts.solids["body"].astype(np.int64)
        self.touch = HandTouch(HAND, IDEAL, skin_shapes=result.pressed.skin_solids, bodies=bodies)
        link = HAND.pad("palm").link
        skin = self.contacts.solids[result.pressed.touched_solid(link)]
        body = int(skin["body"])
        pad = HAND.pad("palm")
        R = self.contacts.body_R[body]
        across = np.cross(pad.normal, pad.row_axis) * (-1 if pad.mirrored else 1)
        self.axes = R @ np.column_stack([pad.row_axis, across])
        self.sign = 1.0 if int(self.contacts.pair[0, 0]) in result.pressed.skin_solids[link] else -1.0

    def pull(self, pull_n: tuple[float, float], load_n: float = LOAD_N) -> TouchFrame:
        """The frame with this friction on the skin, along the palm's rows and columns."""
        friction = self.axes @ np.array(pull_n)
        force_n = self.contacts.normal * load_n - self.sign * friction
        contacts: SolidContacts = dataclasses.replace(
            self.contacts, force_n=force_n, slip_n=np.full(len(force_n), MU * load_n)
        )
        return self.touch.solve(contacts)

    @property
    def slid_m(self) -> np.ndarray:
        """How far the ball has moved along rows and columns [m]."""
        (window,) = self.touch.windows()
        return self.axes_of_link.T @ window["slid_m"]

    @property
    def axes_of_link(self) -> np.ndarray:
        pad = HAND.pad("palm")
        return np.column_stack([pad.row_axis, np.cross(pad.normal, pad.row_axis) * (-1 if pad.mirrored else 1)])


def stick_radius_m(frame: TouchFrame) -> float:
    return PATCH.a_m * math.sqrt(1.0 - frame.slip["palm"])


def total_n(frame: TouchFrame) -> np.ndarray:
    pad = HAND.pad("palm")
    return frame.shear["palm"].sum(axis=(0, 1)) * pad.row_pitch_m * pad.col_pitch_m


def test_a_pull_shears_the_skin_and_leaves_the_middle_sticking_as_mindlin_says():
    ball = Pulled()
    ball.pull((0.0, 0.0))
    for share in (0.1, 0.3, 0.5, 0.7, 0.9, 0.97):
        frame = ball.pull((share * MU * LOAD_N, 0.0))
        assert stick_radius_m(frame) == pytest.approx(PATCH.a_m * (1 - share) ** (1 / 3), rel=0.05)
        assert ball.slid_m == pytest.approx([GIVE_M * (1 - (1 - share) ** (2 / 3)), 0.0], rel=0.05, abs=1e-9)
        assert total_n(frame) == pytest.approx([share * MU * LOAD_N, 0.0], rel=1e-9, abs=1e-12)


def test_the_map_of_shear_is_cattaneos():
    ball, share = Pulled(), 0.6
    ball.pull((0.0, 0.0))
    frame = ball.pull((0.0, share * MU * LOAD_N))
    pad = HAND.pad("palm")
    a, c = PATCH.a_m, PATCH.a_m * (1 - share) ** (1 / 3)
    fine = (np.arange(40) + 0.5) / 40 - 0.5
    u, v = taxel_grid(pad)
    u = u[..., None, None] + fine[:, None] * pad.row_pitch_m
    v = v[..., None, None] + fine * pad.col_pitch_m
    square = u**2 + v**2
    outer, inner = np.sqrt(np.maximum(1 - square / a**2, 0.0)), np.sqrt(np.maximum(1 - square / c**2, 0.0))
    wanted = MU * PATCH.peak_pa * (outer - c / a * inner).mean(axis=(2, 3))
    got = frame.shear["palm"][..., 1]
    assert np.linalg.norm(got - wanted) < 0.08 * np.linalg.norm(wanted)  # taxels are hardly larger than cells
    by_pressure = MU * share * frame["palm"]  # what sharing by pressure alone would say
    assert np.linalg.norm(by_pressure - wanted) > 0.15 * np.linalg.norm(wanted)


def test_a_pull_to_and_fro_goes_round_the_loop_of_mindlin_and_deresiewicz():
    ball, most = Pulled(), 0.8
    ball.pull((0.0, 0.0))
    limit = MU * LOAD_N

    def first(x: float) -> float:
        return GIVE_M * (1 - (1 - x) ** (2 / 3))

    for share in np.linspace(0.0, most, 9):
        ball.pull((share * limit, 0.0))
    way = [*np.linspace(most, -most, 33), *np.linspace(-most, most, 33)]
    got, wanted = [], []
    for k, share in enumerate(way):
        ball.pull((share * limit, 0.0))
        got.append(ball.slid_m[0])
        back = first(most) - 2 * first((most - share) / 2)
        forth = -first(most) + 2 * first((most + share) / 2)
        wanted.append(back if k < 33 else forth)
    assert np.abs(np.subtract(got, wanted)).max() < 0.05 * first(most)
    area, theory = (abs(np.trapezoid(np.array(x), limit * np.array(way))) for x in (got, wanted))
    assert area == pytest.approx(theory, rel=0.1)
    assert theory > 0.1 * limit * first(most)


@pytest.mark.parametrize("angle", np.linspace(0.0, 2 * math.pi, 7)[:-1])
def test_slip_grows_steadily_to_one_in_every_direction(angle: float):
    ball, before = Pulled(), -1.0
    ball.pull((0.0, 0.0))
    for share in np.linspace(0.0, 1.0, 21):
        pull = share * MU * LOAD_N * np.array([math.cos(angle), math.sin(angle)])
        frame = ball.pull((pull[0], pull[1]))
        assert frame.slip["palm"] >= before
        before = frame.slip["palm"]
        assert total_n(frame) == pytest.approx(pull, rel=1e-9, abs=1e-12)
        limit = MU * frame["palm"]
        assert np.all(np.linalg.norm(frame.shear["palm"], axis=-1) <= limit * (1 + 1e-9) + 1e-9)
    assert before == pytest.approx(1.0, abs=1e-9)


def test_any_way_of_loads_and_pulls_carries_the_pull_within_the_limit():
    """Turns, reversals, loads that grow and fade: what is carried is what was asked for, everywhere within Coulomb."""
    rng, ball = np.random.default_rng(5), Pulled()
    pull, load_n = np.zeros(2), LOAD_N
    for _ in range(150):
        load_n = float(np.clip(load_n + rng.normal() * 0.3, 0.3, 4.0))
        pull = pull + rng.normal(size=2) * 0.3
        size = np.linalg.norm(pull)
        pull *= min(1.0, rng.uniform(0.8, 1.0) * MU * load_n / size)
        frame = ball.pull((pull[0], pull[1]), load_n)
        assert total_n(frame) == pytest.approx(pull, rel=1e-6, abs=1e-9)
        limit = MU * frame["palm"]
        assert np.all(np.linalg.norm(frame.shear["palm"], axis=-1) <= limit * (1 + 1e-6) + 1e-6)
        assert 0.0 <= frame.slip["palm"] <= 1.0


@pytest.mark.parametrize(("slope", "slides"), [(0.15, False), (0.6, True)])
def test_a_box_that_slides_down_a_palm_is_felt_to_slide_and_one_that_holds_is_not(slope: float, slides: bool):
    lies = (slope, 0.0, 0.0)
    block = thenar.Box(size_m=(0.02, 0.02, 0.01), mass_kg=0.2, pos_m=(0.0, 0.0, 0.0055), rpy_rad=lies, friction=0.4)
    mount = thenar.Mount(rpy_rad=(slope, 0.0, 0.0))
    world = thenar.World("inspire_right", props=[block], mounts={"inspire_right": mount}, profile="ideal")
    world.advance(0.02 if slides else 0.4)  # one that holds comes to rest
    touched = []
    while len(touched) < 5:
        world.advance(0.001)
        frame = world.touch("inspire_right")
        touched += [frame] if frame.contact_n > 0.1 else []
    assert all((frame.slip["palm"] > 0.98) == slides for frame in touched)
    assert all((frame.slip["palm"] < 0.6) != slides for frame in touched)
