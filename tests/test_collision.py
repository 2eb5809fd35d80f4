"""Where lines enter the solids that touch the skin, against the engine's own rays."""

import math

import numpy as np
import pytest

from tests.oracles.fine_contact import ray
from thenar.signals import SOLID, SolidKind
from thenar.touch.solver.collision import ray_entry
from thenar.touch.solver.touch_records import NO_FACES

KINDS = {
    SolidKind.SPHERE: (0.02, 0.0, 0.0),
    SolidKind.CAPSULE: (0.012, 0.02, 0.0),
    SolidKind.CYLINDER: (0.012, 0.02, 0.0),
    SolidKind.BOX: (0.01, 0.02, 0.015),
    SolidKind.ELLIPSOID: (0.01, 0.02, 0.015),
}


@pytest.mark.parametrize("kind", KINDS)
def test_lines_enter_solids_where_the_engines_rays_do(kind: SolidKind):
    rng = np.random.default_rng(11)
    solid = np.zeros(1, dtype=SOLID)[0]
    solid["kind"], solid["size_m"][:3], solid["R"] = kind, KINDS[kind], np.eye(3)
    hits = 0
    for _ in range(300):
        way = rng.normal(size=3)
        way /= np.linalg.norm(way)
        start = rng.uniform(-0.02, 0.02, 3) - 0.1 * way
        wanted = ray(solid, start, way, np.zeros((0, 4)))
        got = ray_entry(solid, NO_FACES, tuple(start), tuple(way), np.zeros(1, dtype=np.int64))
        if math.isinf(wanted):
            assert got > 1e8
        else:
            hits += 1
            assert got == pytest.approx(wanted, abs=1e-12)
    assert hits > 50


def test_a_rounded_box_is_a_box_swept_by_a_ball():
    solid = np.zeros(1, dtype=SOLID)[0]
    solid["kind"], solid["size_m"], solid["R"] = SolidKind.ROUNDED_BOX, (0.01, 0.02, 0.015, 0.004), np.eye(3)
    rng = np.random.default_rng(12)
    for _ in range(300):
        way = rng.normal(size=3)
        way /= np.linalg.norm(way)
        start = rng.uniform(-0.01, 0.01, 3) - 0.1 * way
        point = start + ray_entry(solid, NO_FACES, tuple(start), tuple(way), np.zeros(1, dtype=np.int64)) * way
        outside = np.maximum(np.abs(point) - solid["size_m"][:3], 0.0)
        assert np.linalg.norm(outside) == pytest.approx(0.004, abs=1e-9)  # on the surface, a radius from the box
