"""Touch of things that move: a frame must not depend on what came before it."""

import math

import numpy as np
import pytest

import thenar
from tests.oracles.moving_contact import Drawn, draw, fine_frame
from thenar import hands
from thenar.sim.press import parse_indenter
from thenar.touch.hand_touch import HandTouch
from thenar.touch.sensor.calibration import IDEAL
from thenar.twin.reports.press_report import press_pad

HAND = hands.load("inspire_right")
FINGERS = ("little_top", "ring_palm", "index_top", "middle_palm", "thumb_top")
OBJECTS = {  # what is drawn, over which pads, and whether it may lean
    "sphere:8mm": (FINGERS, False),
    "cylinder:6mm:30mm": (FINGERS, False),
    "punch:6mm": (FINGERS, False),
    "box:12mm": (FINGERS, False),
    "box:12mm:edge": (FINGERS, False),
    "box:12mm:corner": (FINGERS, False),
    "box:9mm": (("palm",), True),
    "punch:5mm": (("palm",), True),
    "box:14mm:edge": (("palm",), False),
}


def relative(one: np.ndarray, other: np.ndarray) -> float:
    return float(np.linalg.norm(one - other) / np.linalg.norm(other))


@pytest.fixture(scope="module")
def ways() -> dict[str, Drawn]:
    """Every object on its way over a pad, at 5 to 100 mm/s, turning and tilted."""
    rng = np.random.default_rng(21)
    return {spec: random_way(rng, spec, pads, lean=lean) for spec, (pads, lean) in OBJECTS.items()}


def random_way(rng: np.random.Generator, spec: str, pads: tuple[str, ...], *, lean: bool) -> Drawn:
    speed, way = 1e-3 * math.exp(rng.uniform(math.log(5.0), math.log(100.0))), rng.uniform(0.0, 2 * math.pi)
    velocity = (speed * math.cos(way), speed * math.sin(way))
    frames = round(min(12.0, max(4.0, 0.006 / speed / 0.02)))
    half_s = 0.01 * frames
    return draw(
        HAND,
        pads[rng.integers(len(pads))],
        parse_indenter(spec),
        force_n=math.exp(rng.uniform(math.log(0.3), math.log(4.0))),
        from_m=(-half_s * velocity[0], -half_s * velocity[1]),
        velocity_m_s=velocity,
        spin_rad=rng.uniform(0.0, math.pi),
        spin_rad_s=rng.uniform(-1.0, 1.0),
        tilt_rad=(0.0, 0.0) if lean else (rng.uniform(-0.05, 0.05), rng.uniform(-0.05, 0.05)),
        lean=lean,
        frames=frames,
    )


def against_fresh(drawn: Drawn) -> list[float]:
    """How far every frame is from the same contacts solved anew."""
    served, fresh, errors = drawn.touch(), drawn.touch(), []
    for contacts in drawn.instants:
        frame = served.solve(contacts)
        if frame.force_n and sum(frame.force_n.values()) > 0.5 * frame.contact_n > 0.02:
            fresh.forget()
            errors.append(relative(frame.taxel_pressure_pa, fresh.solve(contacts).taxel_pressure_pa))
    return errors


def test_a_contact_that_moves_feels_as_if_it_had_just_begun(ways: dict[str, Drawn]):
    errors = [error for drawn in ways.values() for error in against_fresh(drawn)]
    assert len(errors) > 50
    assert np.median(errors) < 0.01
    assert np.max(errors) < 0.1


def test_a_corner_feels_the_same_wherever_the_cells_of_its_window_lie():
    """Its pressure has a peak: with as many cells as a ball needs, frames differ by how the peak falls among them."""
    rng = np.random.default_rng(5)
    corners = [random_way(rng, "box:12mm:corner", FINGERS, lean=False) for _ in range(4)]
    errors = [error for drawn in corners for error in against_fresh(drawn)]
    assert len(errors) > 25
    assert np.max(errors) < 0.04


def test_a_face_that_lies_askew_feels_the_same_wherever_the_window_was():
    """A fifth of its force is in the last row of cells, and moves with a border that lies half a cell off the edge."""
    rng = np.random.default_rng(31)
    faces = [random_way(rng, "box:12mm", FINGERS, lean=False) for _ in range(9)]
    errors = [error for drawn in faces for error in against_fresh(drawn)]
    assert len(errors) > 50
    assert np.median(errors) < 0.02
    assert np.percentile(errors, 95) < 0.055


def test_a_contact_that_moves_agrees_with_a_fine_grid(ways: dict[str, Drawn]):
    errors = []
    for drawn in ways.values():
        served = drawn.touch()
        frames = [served.solve(contacts) for contacts in drawn.instants]
        k = max(range(len(frames)), key=lambda i: sum(frames[i].force_n.values()))
        errors.append(relative(frames[k].taxel_pressure_pa, fine_frame(drawn, drawn.instants[k], cells=80)))
    assert np.median(errors) < 0.025
    assert np.max(errors) < 0.1


def test_what_rests_does_not_flicker(ways: dict[str, Drawn]):
    for drawn in ways.values():
        touch = drawn.touch()
        maps = [touch.solve(drawn.instants[-1]).taxel_pressure_pa for _ in range(12)]
        if maps[0].any():
            assert max(relative(one, other) for one, other in zip(maps[3:], maps[2:], strict=False)) < 1e-3


@pytest.mark.parametrize("indenter", ["box:20mm:edge", "box:14mm:edge", "box:9mm", "sphere:8mm"])
def test_a_window_that_fits_is_not_fitted_again(indenter: str):
    """Under a sharp edge patches are thinner than cells come: no window fits them snugly, and none is looked for."""
    pressed = press_pad(HAND, "palm", parse_indenter(indenter), force_n=0.3, spin_rad=0.4).pressed
    bodies = pressed.contacts.solids["body"].astype(np.int64)
    touch = HandTouch(HAND, IDEAL, skin_shapes=pressed.skin_solids, bodies=bodies)
    for _ in range(3):
        touch.solve(pressed.contacts)
    assert [window["passes"] for window in touch.windows()] == [1]


UPRIGHT = {
    "cylinder": thenar.Cylinder(radius_m=0.008, length_m=0.03, mass_kg=0.1, pos_m=(0.001, 0.002, 0.0151)),
    "can": thenar.Cylinder(radius_m=0.014, length_m=0.06, mass_kg=0.35, pos_m=(0.0, 0.0, 0.0301)),
    "bottle": thenar.Cylinder(radius_m=0.016, length_m=0.09, mass_kg=0.3, pos_m=(0.002, 0.001, 0.0451)),
    "box": thenar.Box(size_m=(0.02, 0.016, 0.024), mass_kg=0.1, pos_m=(0.001, 0.002, 0.0121)),
    "egg": thenar.Ellipsoid(
        radii_m=(0.0191, 0.018, 0.0235), mass_kg=0.1, pos_m=(0.0, 0.0, 0.0181), rpy_rad=(math.pi / 2, 0.0, 0.5)
    ),
}


@pytest.mark.parametrize("name", UPRIGHT)
def test_what_stands_still_is_felt_the_same_in_every_frame(name: str):
    """The engine holds a cylinder by four points of its rim, others in every step: their centre moves by 0.1 mm.

    A tiny tilt decides whether lines beside a can's rim meet its side, and must not decide where its cells end. An egg
    would rock for ever if the engine found its point of contact only to a micrometre.
    """
    world = thenar.World("inspire_right", props=[UPRIGHT[name]], profile="ideal")
    world.advance(1.0)
    maps = []
    for _ in range(240):
        world.advance(0.02)
        maps.append(world.touch("inspire_right")["palm"])
    assert maps[0].max() > 0.0
    changes = [relative(one, other) for one, other in zip(maps[1:], maps, strict=False)]
    assert max(changes[-40:]) < 1e-3


def test_a_push_on_what_stands_still_is_felt_at_once():
    world = thenar.World("inspire_right", props=[UPRIGHT["cylinder"]], profile="ideal")
    world.advance(1.0)
    for _ in range(60):
        world.advance(0.02)
        world.touch("inspire_right")
    rested = world.touch("inspire_right")["palm"]
    world.props.pull(world.props.names[0], (0.04, 0.0, -0.05))
    world.advance(0.04)
    felt = world.touch("inspire_right")["palm"]
    world.skin("inspire_right").forget()
    fresh = world.touch("inspire_right")["palm"]
    assert relative(fresh, rested) > 0.05
    assert relative(felt, fresh) < 0.02
