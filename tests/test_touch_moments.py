"""Contacts that are pressed off their middle: the centre of pressure is that of the engine's forces."""

import dataclasses
import math

import numpy as np
import pytest

import thenar
from tests.oracles.fine_contact import WIDER, fine_map
from thenar import hands
from thenar.signals import SolidContacts, SolidKind, TouchFrame
from thenar.sim.press import parse_indenter
from thenar.touch.hand_touch import HandTouch
from thenar.touch.sensor.calibration import IDEAL
from thenar.twin.reports.press_report import PadPress, press_pad

HAND = hands.load("inspire_right")


def normal_forces(contacts: SolidContacts) -> np.ndarray:
    return np.einsum("nx,nx->n", contacts.force_n, contacts.normal)


def shared_out(pressed: PadPress, shares: tuple[float, ...]) -> PadPress:
    """The same press with its force shared out anew over its contact points, as another load would."""
    contacts = pressed.pressed.contacts
    assert len(contacts.pair) == len(shares)
    force_n = (normal_forces(contacts).sum() * np.array(shares))[:, None] * contacts.normal
    return dataclasses.replace(
        pressed,
        pressed=dataclasses.replace(pressed.pressed, contacts=dataclasses.replace(contacts, force_n=force_n)),
    )


def solved(pressed: PadPress) -> tuple[TouchFrame, list[dict]]:
    contacts = pressed.pressed.contacts
    bodies = contacts.solids["body"].astype(np.int64)
    touch = HandTouch(HAND, IDEAL, skin_shapes=pressed.pressed.skin_solids, bodies=bodies)
    return touch.solve(contacts), touch.windows()


def along_line(pressed: PadPress, normal: np.ndarray) -> np.ndarray:
    """Direction from the first to the second contact point, in the plane of the contact."""
    first, second = pressed.pressed.contacts.position_m
    line = second - first - ((second - first) @ normal) * normal
    return line / np.linalg.norm(line)


def off_centre_m(window: dict) -> np.ndarray:
    """From the contact's centre of force to the window's centre of pressure [m]."""
    grid = len(window["pressure_pa"])
    step = np.arange(grid) - (grid - 1) / 2
    share = window["pressure_pa"] / window["pressure_pa"].sum()
    u = window["u_m"] + share.sum(axis=1) @ step * window["wide_u_m"] / grid
    v = window["v_m"] + share.sum(axis=0) @ step * window["wide_v_m"] / grid
    return u * window["e1"] + v * window["e2"]


def test_a_rod_across_the_palm_that_is_loaded_off_its_middle_is_felt_there():
    rod = thenar.Cylinder(
        radius_m=0.006, length_m=0.05, mass_kg=0.05, pos_m=(0.0, 0.0, 0.0061), rpy_rad=(0, math.pi / 2, 0)
    )
    world = thenar.World("inspire_right", props=[rod], profile="ideal")
    body = world.model.body("cylinder").id
    world.advance(0.2)
    force_n, off_m = 5.0, 0.012
    world.data.xfrc_applied[body] = (0.0, 0.0, -force_n, 0.0, force_n * off_m, 0.0)
    world.advance(0.3)
    frame, contacts = world.touch("inspire_right"), world.physics.solid_contacts()
    assert len(contacts.pair) == 2
    press = normal_forces(contacts)
    engine_m = press @ contacts.position_m / press.sum()
    with_weight_m = off_m * force_n / (force_n + 0.05 * 9.81)
    assert engine_m[0] == pytest.approx(with_weight_m, abs=2e-4)
    (window,) = world.windows("inspire_right")
    np.testing.assert_allclose(off_centre_m(window), 0.0, atol=5e-5)
    assert abs(frame.centre_of_pressure_m["palm"][1]) == pytest.approx(engine_m[0], abs=5e-5)


def test_a_box_along_a_finger_that_is_loaded_off_its_middle_is_felt_there():
    skin = thenar.World("inspire_right", profile="ideal").data.geom("inspire_right/index_2_skin")
    along = skin.xmat.reshape(3, 3)[:, 2] * -1.0  # towards the tip, which hangs a little
    up = np.array([0.0, 0.0, 1.0]) - along[2] * along
    up /= np.linalg.norm(up)
    box = thenar.Box(
        name="box",
        size_m=(0.024, 0.02, 0.01),
        mass_kg=0.05,
        pos_m=tuple(skin.xpos + 0.013 * up),
        rpy_rad=(0.0, -math.asin(along[2]), math.atan2(along[1], along[0])),
    )
    world = thenar.World("inspire_right", props=[box], profile="ideal")
    body = world.model.body("box").id
    force = -3.0 * up
    world.data.xfrc_applied[body] = (*force, *np.cross(0.006 * along, force))
    world.advance(0.1)
    contacts = world.physics.solid_contacts()
    press = normal_forces(contacts)
    assert len(press) == 2
    engine_m = (press @ contacts.position_m / press.sum() - world.data.xpos[body]) @ along
    assert engine_m == pytest.approx(0.006 * 3.0 / (3.0 + 0.05 * 9.81), abs=3e-4)
    world.touch("inspire_right")
    (window,) = world.windows("inspire_right")
    assert off_centre_m(window) @ along == pytest.approx(0.0, abs=5e-5)


@pytest.mark.parametrize(
    ("pad", "indenter", "spin_rad"),
    [
        ("palm", "cylinder:6mm:40mm", 0.3),
        ("palm", "capsule:6mm:20mm", 0.2),
        ("palm", "box:20mm:edge", 0.9),
        ("index_palm", "box:12mm", math.pi / 2),
        ("index_top", "capsule:6mm:10mm", 0.0),
    ],
)
def test_two_points_have_the_centre_of_pressure_of_their_forces(pad: str, indenter: str, spin_rad: float):
    pressed = press_pad(HAND, pad, parse_indenter(indenter), force_n=2.0, spin_rad=spin_rad)
    for share in (0.5, 0.7, 0.9, 0.97):
        _, (window,) = solved(shared_out(pressed, (share, 1.0 - share)))
        line = along_line(pressed, window["normal"])
        assert off_centre_m(window) @ line == pytest.approx(0.0, abs=5e-5)
        assert window["pressure_pa"].sum() > 0.0


def test_three_and_more_points_have_the_centre_of_pressure_of_their_forces():
    pressed = press_pad(HAND, "palm", parse_indenter("box:20mm"), force_n=2.0, spin_rad=0.3)
    for shares in ((0.25, 0.25, 0.25, 0.25), (0.4, 0.3, 0.2, 0.1), (0.5, 0.25, 0.05, 0.2), (0.7, 0.1, 0.1, 0.1)):
        _, (window,) = solved(shared_out(pressed, shares))
        np.testing.assert_allclose(off_centre_m(window), 0.0, atol=5e-5)


@pytest.mark.parametrize("indenter", ["sphere:8mm", "ellipsoid:8mm,12mm,20mm", "capsule:6mm:80mm"])
def test_a_single_point_of_a_smooth_object_is_the_centre_of_pressure(indenter: str):
    """Nothing leans here: the point where smooth surfaces touch is the middle of the patch by itself."""
    for pad, spin_rad in (("palm", 0.3), ("index_palm", 0.8), ("thumb_top", 1.2)):
        if pad == "palm" and indenter.startswith("capsule"):
            continue  # lies on two points
        _, (window,) = solved(press_pad(HAND, pad, parse_indenter(indenter), force_n=1.0, spin_rad=spin_rad))
        np.testing.assert_allclose(off_centre_m(window), 0.0, atol=5e-5)


def reference_window(pressed: PadPress, window: dict, indenter: str) -> dict:
    """A fine grid along the edges of the object, which may cut the patch."""
    contacts, normal = pressed.pressed.contacts, window["normal"]
    thing = contacts.solids[pressed.pressed.object_solid]
    if indenter.count(":") == 1:  # a box on its face
        wide = 2 * thing["size_m"][0] / WIDER
        axes = {"origin": thing["pos_m"].copy(), "e1": thing["R"][:, 0].copy(), "e2": thing["R"][:, 1].copy()}
        return window | axes | {"u_m": 0.0, "v_m": 0.0, "wide_u_m": wide, "wide_v_m": wide}
    line = along_line(pressed, normal)
    across, (first, second) = np.cross(normal, line), contacts.position_m
    long_m = math.dist(first, second) + (8e-3 if indenter.startswith("capsule") else 0.0)  # round ends press too
    wide_m = 1.1 * max(abs(window[f"wide_{x}_m"] * window[e] @ across) for x, e in (("u", "e1"), ("v", "e2")))
    middle = window["origin"] + window["u_m"] * window["e1"] + window["v_m"] * window["e2"]
    return window | {
        "origin": (first + second) / 2,
        "e1": line,
        "e2": across,
        "u_m": 0.0,
        "v_m": float((middle - first) @ across),
        "wide_u_m": long_m / WIDER,
        "wide_v_m": wide_m,
    }


def test_two_points_agree_with_an_independent_solver_that_leans():
    rng = np.random.default_rng(31)
    errors, upright = [], []
    for pad, indenter, spins in (
        ("palm", "cylinder:6mm:30mm", (0.4, 1.1)),
        ("palm", "capsule:8mm:15mm", (0.2,)),
        ("palm", "box:12mm:edge", (0.3, 2.0)),
        ("index_palm", "box:11mm", (math.pi / 2,)),
        ("thumb_palm", "box:9mm", (1.8,)),
    ):
        for spin_rad in spins:
            pressed = press_pad(HAND, pad, parse_indenter(indenter), force_n=rng.uniform(0.5, 4.0), spin_rad=spin_rad)
            share = rng.uniform(0.6, 0.93)
            leaning = shared_out(pressed, (share, 1.0 - share))
            frame, (window,) = solved(leaning)
            fine = reference_window(leaning, window, indenter)
            wanted = fine_map(HAND, HAND.pad(pad), leaning, fine, cells=80)
            size = np.linalg.norm(wanted)
            errors.append(np.linalg.norm(frame[pad] - wanted) / size)
            upright.append(np.linalg.norm(pressed.frame[pad] - wanted) / size)
    assert np.median(errors) < 0.04
    assert np.max(errors) < 0.12
    assert np.min(upright) > 0.12  # without its moment every one of them is felt wrong


def test_an_object_on_two_feet_is_felt_under_both_of_them():
    """Its centre of force lies where nothing touches."""
    pressed = press_pad(HAND, "palm", parse_indenter("capsule:6mm:30mm"), force_n=2.0)
    contacts = pressed.pressed.contacts
    # Two balls of one body in place of the capsule and of a part of it that is only seen.
    feet = [pressed.pressed.object_solid, len(contacts.solids)]
    solids = np.concatenate([contacts.solids, contacts.solids[feet[:1]]])
    thing = contacts.solids[feet[0]]
    for foot, side in zip(feet, (-1.0, 1.0), strict=True):
        solids[foot]["kind"] = SolidKind.SPHERE
        solids[foot]["pos_m"] = thing["pos_m"] + side * thing["size_m"][1] * thing["R"][:, 2]
    standing = dataclasses.replace(
        shared_out(pressed, (0.7, 0.3)),
        pressed=dataclasses.replace(
            pressed.pressed,
            contacts=dataclasses.replace(shared_out(pressed, (0.7, 0.3)).pressed.contacts, solids=solids),
        ),
    )
    frame, (window,) = solved(standing)
    share = frame["palm"] / frame["palm"].sum()
    line = along_line(standing, window["normal"])
    assert off_centre_m(window) @ line == pytest.approx(0.0, abs=5e-5)
    assert np.sort([share[:, :7].sum(), share[:, 7:].sum()]) == pytest.approx([0.3, 0.7], abs=1e-2)
