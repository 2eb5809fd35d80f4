"""Fingers that press on each other: what their links look like must not be felt."""

import dataclasses
import itertools
import math

import numpy as np
import pytest

import thenar
from thenar import hands
from thenar.hands.shapes import Capsule
from thenar.signals import HandCommand, SolidContacts
from thenar.touch.hand_touch import HandTouch
from thenar.touch.hertz import Ellipse, hertz_ellipse
from thenar.touch.sensor.calibration import IDEAL
from thenar.touch.solver.influence import reduced_modulus_pa

HAND = hands.load("inspire_right")
BARE = dataclasses.replace(HAND, links=tuple(dataclasses.replace(link, visuals=()) for link in HAND.links))
FINGER_LINKS = [link.name for link in HAND.links if link.skins and isinstance(link.skins[0], Capsule)]
PAIRS = [pair for pair in itertools.combinations(FINGER_LINKS, 2) if pair[0].split("_")[0] != pair[1].split("_")[0]]


def crossed(world: thenar.World, links: tuple[str, str], angle_rad: float, force_n: float) -> SolidContacts:
    """A world in which the second link has been carried onto the first, their middles touching at an angle."""
    contacts = world.physics.solid_contacts()
    solids, body_pos, body_R = contacts.solids.copy(), contacts.body_pos_m.copy(), contacts.body_R.copy()
    numbers = [world.model.geom(f"{HAND.name}/{link}_skin").id for link in links]
    one, other = (solids[number] for number in numbers)
    axis, normal = one["R"][:, 2].copy(), one["R"][:, 0].copy()
    across = math.cos(angle_rad) * axis + math.sin(angle_rad) * np.cross(normal, axis)
    wanted_R = np.column_stack([np.cross(across, -normal), -normal, across])
    wanted = one["pos_m"] + (one["size_m"][0] + other["size_m"][0] - 1e-5) * normal
    R, pos = wanted_R @ other["R"].T, other["pos_m"].copy()
    body = int(other["body"])
    for solid in np.flatnonzero(world.model.geom_bodyid == body):  # what is only seen comes along
        solids[solid]["pos_m"] = wanted + R @ (solids[solid]["pos_m"] - pos)
        solids[solid]["R"] = R @ solids[solid]["R"]
    body_pos[body], body_R[body] = wanted + R @ (body_pos[body] - pos), R @ body_R[body]
    return dataclasses.replace(
        contacts,
        solids=solids,
        body_pos_m=body_pos,
        body_R=body_R,
        pair=np.array([numbers]),
        position_m=(one["pos_m"] + one["size_m"][0] * normal)[None],
        normal=normal[None],
        force_n=force_n * normal[None],
    )


def touch_of(world: thenar.World) -> HandTouch:
    skins = {
        link.name: tuple(world.model.geom(f"{HAND.name}/{name}").id for name in link.skin_names)
        for link in HAND.links
        if link.skins
    }
    bodies = world.physics.solid_contacts().solids["body"].astype(np.int64)
    return HandTouch(HAND, IDEAL, skin_shapes=skins, bodies=bodies)


def hertz_of_capsules(radii_m: tuple[float, float], angle_rad: float, force_n: float) -> Ellipse:
    """Two cylinders at an angle, one of them rigid."""
    a, b = 1.0 / radii_m[0], 1.0 / radii_m[1]
    spread = math.sqrt(a * a + b * b + 2 * a * b * math.cos(2 * angle_rad))
    return hertz_ellipse(force_n, (a + b - spread) / 2, (a + b + spread) / 2, reduced_modulus_pa(1e6))


def test_fingers_feel_each_other_as_hertz_says_whatever_their_links_look_like():
    seen, plain = thenar.World(HAND, profile="ideal"), thenar.World(BARE, profile="ideal")
    assert seen.model.ngeom > plain.model.ngeom
    worlds = [(world, touch_of(world)) for world in (seen, plain)]
    rng = np.random.default_rng(21)
    worst = 0.0
    for links in PAIRS:
        angle, force_n = rng.uniform(0.5, math.pi / 2), rng.uniform(0.5, 5.0)
        found = []
        for world, touch in worlds:
            touch.forget()
            found.append((touch.solve(crossed(world, links, angle, force_n)), touch.windows()))
        (frame, windows), (bare_frame, _) = found
        np.testing.assert_allclose(frame.taxel_pressure_pa, bare_frame.taxel_pressure_pa, rtol=1e-9)
        one, other = (HAND.link(link).skins[0].radius_m for link in links)  # pyright: ignore[reportAttributeAccessIssue]
        theory = hertz_of_capsules((one, other), angle, force_n)
        assert len(windows) == 2
        for window in windows:
            worst = max(worst, abs(window["pressure_pa"].max() / theory.peak_pa - 1.0))
    assert worst < 0.02


def test_a_pinch_is_felt_alike_with_and_without_visuals():
    maps = []
    for hand in (HAND, BARE):
        world = thenar.World(hand, profile="ideal")
        world.command(hand.name, HandCommand.closing([0, 0, 0, 0.6, 0.0, 1.0], force_limit_n=3.0))
        world.advance(1.5)
        world.command(hand.name, HandCommand.closing([0, 0, 0, 0.6, 0.8, 1.0], force_limit_n=3.0))
        world.advance(1.5)
        frame = world.touch(hand.name)
        assert frame.contact_n > 1.0
        assert max(max(w["wide_u_m"], w["wide_v_m"]) for w in world.windows(hand.name)) < 0.02
        maps.append(frame.taxel_pressure_pa)
    assert maps[0] == pytest.approx(maps[1], rel=1e-6)
