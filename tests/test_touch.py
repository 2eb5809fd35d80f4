"""Touch against contact theory, against a second solver, and against what must be conserved."""

import dataclasses
import math
import time

import numba as nb
import numpy as np
import pytest

import thenar
from tests.oracles.fine_contact import WIDER, fine_map
from thenar import hands
from thenar.errors import BadValue, UnknownName
from thenar.hands.pad_charts import taxel_grid, taxel_points
from thenar.hands.rotations import matrix_from_rpy
from thenar.hands.shapes import Ellipsoid
from thenar.hands.spec import HandSpec, Link, Pad
from thenar.signals import HandCommand
from thenar.sim.press import Indenter, parse_indenter
from thenar.touch.hand_touch import HandTouch
from thenar.touch.hertz import elliptic_integrals, hertz_ellipse
from thenar.touch.sensor.calibration import IDEAL, Calibration, PadCalibration
from thenar.touch.solver.collision import MISS
from thenar.touch.solver.influence import (
    ASPECTS,
    MAX_CELLS,
    STRIPS,
    TABLE_SIZE,
    elastic_tables,
    half_space_tables,
    layer_correction,
    love,
    reduced_modulus_pa,
    strip_sizes,
)
from thenar.touch.solver.pads import build_pads, chart
from thenar.touch.solver.pressure import apply_table, meet_moments
from thenar.twin.reports.press_report import PadPress, press_pad

HAND = hands.load("inspire_right")
FINGERS = ("little", "ring", "middle", "index", "thumb")
ROUND_PADS = [f"{finger}_{pad}" for finger in FINGERS for pad in ("top", "palm")]


def random_press(
    rng: np.random.Generator,
    pads: list[str],
    make,
    *,
    share: float = 0.98,
    settled: float = 1e-3,
    hand: HandSpec = HAND,
) -> tuple[str, PadPress, tuple]:
    """A press with at least ``share`` of its force on the pad."""
    while True:
        pad = hand.pad(pads[rng.integers(len(pads))])
        at = (
            rng.uniform(-0.3, 0.3) * pad.rows * pad.row_pitch_m,
            rng.uniform(-0.3, 0.3) * pad.cols * pad.col_pitch_m,
        )
        force_n = float(np.exp(rng.uniform(math.log(0.2), math.log(5.0))))
        result = press_pad(hand, pad.name, make(rng), force_n=force_n, at_m=at, spin_rad=rng.uniform(0.0, math.pi))
        assert result.frame.contact_n == pytest.approx(force_n, rel=settled)
        if result.frame.force_n[pad.name] > share * result.frame.contact_n:
            return pad.name, result, at


def ball(rng: np.random.Generator) -> Indenter:
    return parse_indenter(f"sphere:{rng.uniform(5, 20):.3f}mm")


def rod(rng: np.random.Generator) -> Indenter:
    return parse_indenter(f"cylinder:{rng.uniform(4, 15):.3f}mm:80mm")


def egg(rng: np.random.Generator) -> Indenter:
    a, b, c = rng.uniform(6, 20, 3)
    return parse_indenter(f"ellipsoid:{a:.3f}mm,{b:.3f}mm,{c:.3f}mm")


def relative(one: np.ndarray, other: np.ndarray) -> float:
    return float(np.linalg.norm(one - other) / np.linalg.norm(other))


def thumb_like_bump() -> HandSpec:
    """A hand of one link, whose skin is an ellipsoid with a pad on it: no hand of the catalogue has one."""
    skin = Ellipsoid(centre_m=(0.002, 0.0, 0.001), half_m=(0.012, 0.02, 0.009), rpy_rad=(0.2, -0.3, 0.4))
    R = matrix_from_rpy(skin.rpy_rad)
    towards = R @ (0.2, 0.3, 1.0)
    form = R @ np.diag(1.0 / np.square(skin.half_m)) @ R.T
    centre = towards / math.sqrt(towards @ form @ towards)
    normal = form @ centre / np.linalg.norm(form @ centre)
    row = np.cross(np.cross(normal, R[:, 1]), normal)
    pad = Pad(
        name="bump",
        link="bump",
        rows=12,
        cols=8,
        row_pitch_m=1.3e-3,
        col_pitch_m=1.2e-3,
        chart="ellipsoid",
        centre_m=tuple(centre + skin.centre_m),
        row_axis=tuple(row / np.linalg.norm(row)),
        normal=tuple(normal),
        source="made up",
    )
    link = Link(name="bump", mass_kg=0.1, skin=skin, source="made up")
    nothing = dict.fromkeys(("joints", "couplings", "actuators", "tips", "no_contact"), ())
    return dataclasses.replace(HAND, name="bump", root="bump", links=(link,), pads=(pad,), **nothing)


BUMP = thumb_like_bump()


def test_taxels_of_an_ellipsoid_lie_on_it_a_pitch_apart_and_its_chart_finds_them():
    pad, skin = BUMP.pad("bump"), BUMP.link("bump").skin
    assert isinstance(skin, Ellipsoid)
    points, normals = taxel_points(BUMP, pad)
    scaled = (points - skin.centre_m) @ matrix_from_rpy(skin.rpy_rad) / skin.half_m
    np.testing.assert_allclose(np.linalg.norm(scaled, axis=-1), 1.0, rtol=1e-12)
    outward = scaled / skin.half_m @ matrix_from_rpy(skin.rpy_rad).T
    np.testing.assert_allclose(normals, outward / np.linalg.norm(outward, axis=-1, keepdims=True), atol=1e-12)
    for axis, pitch_m in ((0, pad.row_pitch_m), (1, pad.col_pitch_m)):
        np.testing.assert_allclose(np.linalg.norm(np.diff(points, axis=axis), axis=-1), pitch_m, rtol=0.03)
    record = build_pads(BUMP, modulus_pa={"bump": 1.0}, thickness_m={"bump": math.inf}).pads[0]
    for point, u, v in zip(points.reshape(-1, 3), *(x.ravel() for x in taxel_grid(pad)), strict=True):
        assert chart(record, *point) == pytest.approx((u, v, True), abs=1e-9)


def test_a_pads_chart_must_be_one_that_its_skin_has():
    wrong = dataclasses.replace(HAND.pad("palm"), chart="ellipsoid")
    with pytest.raises(BadValue, match="Box skin"):
        taxel_points(HAND, wrong)


def test_smooth_objects_press_the_hands_own_pads_as_hertz_says():
    """Over 200 presses; every pair of shapes meets the bar on its own too."""
    rng = np.random.default_rng(7)
    errors, centres_mm = [], []
    for hand, make, pads, count in (
        (HAND, ball, ["palm"], 35),
        (HAND, ball, ROUND_PADS, 45),
        (HAND, rod, ROUND_PADS, 45),
        (HAND, egg, ROUND_PADS, 45),
        (BUMP, ball, ["bump"], 35),
    ):
        pair = []
        for _ in range(count):
            pad, result, at = random_press(rng, pads, make, share=0.999, hand=hand)
            pair.append(result.relative_l2)
            centre = result.frame.centre_of_pressure_m[pad]
            centres_mm.append(1e3 * math.dist(centre, at))
        assert np.median(pair) < 0.015
        errors += pair
    assert np.median(errors) < 0.015
    assert np.percentile(errors, 99) < 0.05
    assert np.median(centres_mm) < 0.02
    assert np.max(centres_mm) < 0.1


@pytest.mark.parametrize("spec", ["box:{}mm", "box:{}mm:edge", "box:{}mm:corner"])
def test_faces_edges_and_corners_agree_with_a_fine_grid(spec: str):
    """Faces mostly touch in two points: the reference leans with them, and 4 % is the bar of such contacts."""
    rng = np.random.default_rng(8)
    errors = []
    for _ in range(14 if spec == "box:{}mm" else 5):
        size = f"{rng.uniform(8, 20):.3f}"
        pad, result, _ = random_press(rng, ROUND_PADS[::2], lambda _, s=size: parse_indenter(spec.format(s)), share=0.9)
        window = dict(result.windows[0])
        if spec == "box:{}mm":  # cells of the reference along the box's own edges, which cut the patch
            box = result.pressed.contacts.solids[result.pressed.object_solid]
            wide = 2 * box["size_m"][0] / WIDER
            window |= {"origin": box["pos_m"].copy(), "e1": box["R"][:, 0].copy(), "e2": box["R"][:, 1].copy()}
            window |= {"u_m": 0.0, "v_m": 0.0, "wide_u_m": wide, "wide_v_m": wide}
        errors.append(relative(result.frame[pad], fine_map(HAND, HAND.pad(pad), result, window)))
    assert np.median(errors) < (0.04 if spec == "box:{}mm" else 0.03)
    assert np.max(errors) < 0.12


def test_a_convex_mesh_agrees_with_a_fine_grid(tmp_path):
    rng = np.random.default_rng(10)
    errors = []
    for number in range(5):
        path = tmp_path / f"{number}.obj"
        path.write_text(round_mesh(rng.uniform(0.008, 0.014), 6))
        pad, result, _ = random_press(
            rng, ROUND_PADS[::2], lambda _, p=path: parse_indenter(f"mesh:{p}"), share=0.9, settled=0.2
        )
        errors.append(relative(result.frame[pad], fine_map(HAND, HAND.pad(pad), result, result.windows[0])))
    assert np.median(errors) < 0.03
    assert np.max(errors) < 0.12


def test_a_flat_punch_presses_hardest_at_its_rim_as_theory_says():
    rng = np.random.default_rng(9)
    errors = []
    for _ in range(8):
        _, result, _ = random_press(rng, ["palm"], lambda r: parse_indenter(f"punch:{r.uniform(4, 9):.3f}mm"))
        errors.append(result.relative_l2)
    assert np.median(errors) < 0.07


def test_a_weight_on_a_pad_weighs_what_it_weighs():
    weight = thenar.Box(mass_kg=0.1, size_m=(0.03, 0.02, 0.02), pos_m=(0.0, 0.0, 0.011))
    world = thenar.World("inspire_right", props=[weight], profile="ideal")
    world.advance(1.0)
    frame = world.touch("inspire_right")
    assert frame.force_n["palm"] == pytest.approx(0.981, rel=1e-3)
    assert frame.bare_skin_n == pytest.approx(0.0, abs=1e-9)
    u, v = frame.centre_of_pressure_m["palm"]
    assert math.hypot(u, v) < 1e-4


def test_taxels_and_bare_skin_carry_exactly_the_solvers_force_throughout_a_grasp():
    world = thenar.World("inspire_right", scene="palm_drop", seed=4, profile="ideal")
    rng = np.random.default_rng(4)
    seen = 0
    for tick in range(3000):  # a minute
        if tick % 20 == 0:
            world.command("inspire_right", HandCommand.closing(rng.uniform(0.2, 0.9, 6), speed=0.6))
        world.advance(0.02)
        frame = world.touch("inspire_right")
        told = sum(frame.force_n.values()) + frame.bare_skin_n
        assert told == pytest.approx(frame.contact_n, rel=1e-9, abs=1e-12)
        touching = world.contacts("inspire_right")
        skins = [body.split("/")[1] for body in touching.body]
        skinned = [HAND.link(name).skin is not None for name in skins]
        pressing = touching.where(skinned).normal_force_n.sum()
        assert frame.contact_n == pytest.approx(pressing, rel=1e-9, abs=1e-12)
        seen += frame.contact_n > 0.1
    assert seen > 1000


@pytest.mark.parametrize(("spec", "allowed"), [("sphere:10mm", 1e-3), ("box:14mm:edge", 0.04)])
def test_the_map_does_not_depend_on_mass_or_softness_of_the_engines_contact(spec: str, allowed: float):
    maps = []
    for mass_kg, solref in ((0.01, None), (1.0, None), (0.01, (0.02, 1.0)), (1.0, (0.02, 1.0))):
        result = press_pad(
            HAND, "index_top", parse_indenter(spec), force_n=1.0, at_m=(1e-3, 5e-4), mass_kg=mass_kg, solref=solref
        )
        # An edge that sinks in by 2 mm has a second contact point, and its force another centre.
        if len(result.pressed.contacts.pair) == 1:
            maps.append(result.frame["index_top"])
    assert len(maps) >= 3
    for other in maps[1:]:
        assert relative(other, maps[0]) < allowed


def share(hand: HandSpec, pad: str, result: PadPress) -> tuple[float, float]:
    """What a pad carries of a press and what a fine grid says it should, as shares of the force."""
    spec = hand.pad(pad)
    per_taxel = spec.row_pitch_m * spec.col_pitch_m / result.frame.contact_n
    fine = fine_map(hand, spec, result, result.windows[0], cells=64)
    return result.frame[pad].sum() * per_taxel, fine.sum() * per_taxel


@pytest.mark.parametrize(
    ("pad", "at_mm"),
    [
        *(("index_top", (0.0, v_mm)) for v_mm in (3.0, 4.5, 5.6, 6.5, 8.0)),
        ("index_tip", (0.0, 2.0)),
        ("index_tip", (1.5, 2.5)),
    ],
)
def test_a_ball_that_slides_off_a_pads_edge_is_shared_with_bare_skin(pad: str, at_mm: tuple[float, float]):
    at = (1e-3 * at_mm[0], 1e-3 * at_mm[1])
    result = press_pad(HAND, pad, parse_indenter("sphere:10mm"), force_n=2.0, at_m=at)
    got, wanted = share(HAND, pad, result)
    assert got == pytest.approx(wanted, abs=0.005)


@pytest.mark.parametrize("u_mm", [0.0, 1.5])
def test_a_ball_across_two_pads_is_shared_between_them_and_the_strip_of_bare_skin(u_mm: float):
    whole = HAND.pad("index_top")
    apart = 3 * whole.row_pitch_m + 0.5e-3
    halves = [
        dataclasses.replace(
            whole,
            name=name,
            rows=6,
            centre_m=tuple(np.asarray(whole.centre_m) + side * apart * np.array(whole.row_axis)),
        )
        for name, side in (("first", -1.0), ("second", 1.0))
    ]
    hand = dataclasses.replace(HAND, pads=(*halves,))
    at = (1e-3 * u_mm - apart, 0.0)  # from the middle of the second half
    result = press_pad(hand, "second", parse_indenter("sphere:10mm"), force_n=3.0, at_m=at)
    shares = {pad.name: share(hand, pad.name, result) for pad in halves}
    for got, wanted in shares.values():
        assert got == pytest.approx(wanted, abs=0.005)
    assert 0.1 < result.frame.bare_skin_n / 3.0 < 0.3
    if u_mm == 0.0:
        assert shares["first"][0] == pytest.approx(shares["second"][0], abs=1e-6)


def test_press_on_a_corner_taxel_lights_that_corner():
    pad = HAND.pad("index_palm")
    for row, col in ((0, 0), (0, 7), (9, 0), (9, 7)):
        at = ((row - 4.5) * pad.row_pitch_m, (col - 3.5) * pad.col_pitch_m)
        result = press_pad(HAND, "index_palm", parse_indenter("sphere:4mm"), force_n=0.2, at_m=at)
        peak = np.unravel_index(result.frame["index_palm"].argmax(), (10, 8))
        assert peak == (row, col)


def with_layer(thickness_m: float) -> Calibration:
    return Calibration(bare=PadCalibration(thickness_m=thickness_m))


def test_a_thick_layer_is_a_half_space_and_a_thin_one_presses_harder():
    def peak(calibration: Calibration) -> float:
        result = press_pad(HAND, "palm", parse_indenter("sphere:10mm"), force_n=2.0, calibration=calibration, grid=20)
        return float(result.windows[0]["pressure_pa"].max())

    half_space = peak(IDEAL)
    assert peak(with_layer(0.1)) == pytest.approx(half_space, rel=0.01)
    for thickness_m, ratio in ((0.004, 1.07), (0.002, 1.32), (0.001, 1.97)):
        assert peak(with_layer(thickness_m)) / half_space == pytest.approx(ratio, rel=0.03)


def test_layer_correction_is_the_transform_of_its_response():
    """Independent check: the Hankel transform back gives 1 - L at several wave numbers."""
    phi = layer_correction()
    s = np.linspace(0.0, 12.0, len(phi))
    kappa = 3 - 4 * 0.49
    for w in (0.5, 1.0, 2.0):
        response = (2 * kappa * np.sinh(2 * w) - 4 * w) / (2 * kappa * np.cosh(2 * w) + 4 * w**2 + kappa**2 + 1)
        turn = (np.arange(2000) + 0.5) * math.pi / 2000
        bessel = np.array([np.cos(w * x * np.sin(turn)).mean() for x in s])
        tail = np.exp(-((s / 7.0) ** 8))  # the table ends where phi is nearly 1/s; fade it and its partner alike
        got = np.trapezoid(phi * bessel * s * tail, s)
        half_space = np.trapezoid(bessel * tail, s)
        assert (half_space - got) / half_space == pytest.approx(response, abs=0.03)


def test_touch_moves_with_the_hand():
    maps = []
    for mount in (thenar.Mount(), thenar.Mount(pos_m=(0.3, -0.2, 0.4), rpy_rad=(0.0, 0.0, 1.1))):
        turn = mount.rpy_rad[2]
        offset = np.array([0.004, 0.003])
        turned = np.array([[math.cos(turn), -math.sin(turn)], [math.sin(turn), math.cos(turn)]]) @ offset
        place = (mount.pos_m[0] + turned[0], mount.pos_m[1] + turned[1], mount.pos_m[2] + 0.0101)
        ball_on_palm = thenar.Sphere(radius_m=0.01, mass_kg=0.2, pos_m=place, rpy_rad=(0.0, 0.0, turn))
        world = thenar.World("inspire_right", props=[ball_on_palm], mounts={"inspire_right": mount}, profile="ideal")
        world.advance(0.004)
        while world.touch("inspire_right").contact_n == 0.0:
            world.advance(0.002)
        maps.append(world.touch("inspire_right")["palm"])
    assert relative(maps[1], maps[0]) < 1e-6


def test_a_mirrored_press_gives_the_same_map_on_the_other_hand():
    left = hands.load("inspire_left")
    for pad, at in (("index_top", (2e-3, 1e-3)), ("thumb_palm", (1e-3, -2e-3)), ("palm", (4e-3, 6e-3))):
        maps = [
            press_pad(hand, pad, parse_indenter("sphere:9mm"), force_n=1.5, at_m=at).frame[pad] for hand in (HAND, left)
        ]
        assert relative(maps[1], maps[0]) < 1e-6


def test_two_objects_close_together_share_the_skins_give():
    """Two presses side by side make room for each other: the joint map is not the sum of the single ones."""
    world = thenar.World("inspire_right", props=two_blocks(0.0075), profile="ideal")
    world.advance(0.5)
    together = world.touch("inspire_right")["palm"]
    apart = np.sum([alone(block).touch("inspire_right")["palm"] for block in two_blocks(0.0075)], axis=0)
    assert together.sum() == pytest.approx(apart.sum(), rel=1e-6)
    assert 0.002 < relative(together, apart) < 0.3
    # Each block stands on its own middle, so the pair's centre of pressure is the palm's.
    assert math.hypot(*world.touch("inspire_right").centre_of_pressure_m["palm"]) < 1e-4


def two_blocks(gap_m: float) -> list[thenar.Box]:
    return [
        thenar.Box(mass_kg=0.2, size_m=(0.006, 0.006, 0.02), pos_m=(side * gap_m / 2, 0.0, 0.0101)) for side in (-1, 1)
    ]


def alone(prop: thenar.Box) -> thenar.World:
    world = thenar.World("inspire_right", props=[prop], profile="ideal")
    world.advance(0.5)
    return world


@pytest.mark.parametrize("rings", [8, 32])
def test_a_round_mesh_presses_like_the_ball_it_stands_for(rings: int, tmp_path):
    """Few faces are asked one by one, many through a field of distances."""
    path = tmp_path / "ball.obj"
    path.write_text(round_mesh(0.012, rings))
    meshed = press_pad(HAND, "palm", parse_indenter(f"mesh:{path}"), force_n=2.0)
    exact = press_pad(HAND, "palm", parse_indenter("sphere:12mm"), force_n=2.0)
    assert meshed.frame.contact_n == pytest.approx(2.0, rel=5e-3)
    assert relative(meshed.frame["palm"], exact.frame["palm"]) < (0.25 if rings == 8 else 0.05)


def test_a_ring_has_a_hole(tmp_path):
    path = tmp_path / "ring.obj"
    path.write_text(ring_mesh(0.012, 0.004))
    ring = thenar.Mesh(file=path, mass_kg=0.3, pos_m=(0.0, 0.0, 0.0041))
    world = thenar.World("inspire_right", props=[ring], profile="ideal")
    assert 8 <= world.model.body("mesh").geomnum[0] <= 64
    world.advance(1.0)
    frame = world.touch("inspire_right")
    palm = frame["palm"]
    assert frame.force_n["palm"] == pytest.approx(0.3 * 9.81, rel=0.02)
    assert palm[3:5, 6:8].max() < 0.02 * palm.max()  # nothing in the middle
    u, v = frame.centre_of_pressure_m["palm"]
    assert math.hypot(u, v) < 1.5e-3
    around = [palm[:3].sum(), palm[5:].sum(), palm[:, :6].sum(), palm[:, 8:].sum()]
    assert min(around) > 0.1 * palm.sum()  # and something on every side


def ring_mesh(radius_m: float, thick_m: float, around: int = 32, across: int = 12) -> str:
    """A closed ring lying flat, as an OBJ file."""
    lines, faces = [], []
    for i in range(around):
        a = 2 * math.pi * i / around
        for j in range(across):
            b = 2 * math.pi * j / across
            r = radius_m + thick_m * math.cos(b)
            lines.append(f"v {r * math.cos(a)} {r * math.sin(a)} {thick_m * math.sin(b)}")
            k, m = (i + 1) % around, (j + 1) % across
            faces.append(f"f {1 + i * across + j} {1 + k * across + j} {1 + k * across + m} {1 + i * across + m}")
    return "\n".join(lines + faces) + "\n"


def round_mesh(radius_m: float, rings: int) -> str:
    """A closed ball of flat faces as an OBJ file."""
    lines = [f"v 0 0 {radius_m}"]
    for i in range(1, rings):
        polar = math.pi * i / rings
        for j in range(2 * rings):
            turn = math.pi * j / rings
            x, y = math.sin(polar) * math.cos(turn), math.sin(polar) * math.sin(turn)
            lines.append(f"v {radius_m * x} {radius_m * y} {radius_m * math.cos(polar)}")
    lines.append(f"v 0 0 {-radius_m}")
    around, last = 2 * rings, 2 + (rings - 1) * 2 * rings
    for j in range(around):
        k = (j + 1) % around
        lines.append(f"f 1 {2 + j} {2 + k}")
        for i in range(rings - 2):
            a, b = 2 + i * around, 2 + (i + 1) * around
            lines.append(f"f {a + j} {b + j} {b + k} {a + k}")
        bottom = 2 + (rings - 2) * around
        lines.append(f"f {bottom + j} {last} {bottom + k}")
    return "\n".join(lines) + "\n"


def test_shear_points_against_what_holds_the_object():
    slope = 0.3
    block = thenar.Box(
        size_m=(0.02, 0.02, 0.01), mass_kg=0.2, pos_m=(0.0, 0.0, 0.0055), rpy_rad=(slope, 0, 0), friction=0.9
    )
    mount = thenar.Mount(rpy_rad=(slope, 0.0, 0.0))
    world = thenar.World("inspire_right", props=[block], mounts={"inspire_right": mount}, profile="ideal")
    world.advance(0.5)
    frame = world.touch("inspire_right")
    area = HAND.pad("palm").row_pitch_m * HAND.pad("palm").col_pitch_m
    shear_n = frame.shear["palm"].sum(axis=(0, 1)) * area
    weight = 0.2 * 9.81
    # The slope falls towards the wrist, which is the direction of growing row.
    assert shear_n[0] == pytest.approx(weight * math.sin(slope), rel=0.02)
    assert abs(shear_n[1]) < 0.02 * weight
    assert frame.force_n["palm"] == pytest.approx(weight * math.cos(slope), rel=1e-3)
    limit = 0.9 * frame["palm"]
    assert np.all(np.linalg.norm(frame.shear["palm"], axis=-1) <= limit * (1 + 1e-9) + 1e-9)


def test_a_hand_feels_itself_in_a_pinch():
    world = thenar.World("inspire_right", profile="ideal")
    world.command("inspire_right", HandCommand.closing([0, 0, 0, 0.6, 0.0, 1.0], force_limit_n=3.0))
    world.advance(1.5)
    world.command("inspire_right", HandCommand.closing([0, 0, 0, 0.6, 0.8, 1.0], force_limit_n=3.0))
    world.advance(1.5)
    frame = world.touch("inspire_right")
    pinched = {pad: force for pad, force in frame.force_n.items() if force > 0.0}
    assert frame.contact_n == pytest.approx(2 * world.contacts().normal_force_n.sum(), rel=1e-6)
    assert any(pad.startswith("index") for pad in pinched) or frame.bare_skin_n > 0.0


def test_touch_is_the_same_for_the_same_seed_and_calls():
    def trace() -> bytes:
        world = thenar.World("inspire_right", scene="palm_drop", seed=3)
        world.command("inspire_right", HandCommand.closing(0.6))
        parts = []
        for _ in range(30):
            world.advance(0.03)
            frame = world.touch("inspire_right")
            parts += [frame.taxel_pressure_pa.tobytes(), *(c.tobytes() for c in frame.counts.values())]
        return b"".join(parts)

    assert trace() == trace()


def test_a_measured_skin_is_read_at_its_own_rate_and_told_after_its_latency():
    calibration = Calibration(rate_hz=50.0, latency_s=0.03)
    weight = thenar.Box(mass_kg=0.1, size_m=(0.03, 0.02, 0.02), pos_m=(0.0, 0.0, 0.06))  # falls for 0.1 s
    world = thenar.World("inspire_right", props=[weight], skin={"inspire_right": calibration})
    stamps, touched, felt = [], None, None
    world.touch("inspire_right")
    for _ in range(200):
        world.advance(0.004)
        frame = world.touch("inspire_right")
        stamps.append(frame.stamp_s)
        if touched is None and len(world.contacts("inspire_right")):
            touched = world.time_s
        if felt is None and frame.contact_n > 0.0:
            felt = world.time_s
    taken = np.unique(stamps)[1:]  # the first was read before the first step
    np.testing.assert_allclose(np.diff(taken), 0.02, atol=1e-9)
    assert touched is not None
    assert felt is not None
    assert 0.026 <= felt - touched <= 0.056


def test_reading_the_skin_at_its_rate_does_not_change_the_physics():
    positions = []
    for read in (False, True):
        world = thenar.World("inspire_right", scene="palm_drop", seed=5)
        world.command("inspire_right", HandCommand.closing(0.7))
        if read:
            world.touch("inspire_right")
        for _ in range(20):
            world.advance(0.037)
        positions.append(world.data.qpos.tobytes())
    assert positions[0] == positions[1]


def test_an_unknown_pad_lists_the_pads_and_a_hand_without_skin_says_so():
    world = thenar.World("inspire_right")
    with pytest.raises(UnknownName, match="index_top"):
        world.touch("inspire_right")["index"]
    with pytest.raises(BadValue, match="this one has none"):
        thenar.World("fourier_right").touch("fourier_right")


@pytest.mark.parametrize("text", ["sphere", "sphere:10", "ball:3mm", "box:10mm:side", "ellipsoid:1mm,2mm", "cone:3mm"])
def test_an_indenter_that_is_none_lists_what_there_is(text: str):
    with pytest.raises(BadValue, match="sphere:R"):
        parse_indenter(text)


def test_love_and_hertz_agree_with_known_values():
    # Mean of 1/r over a unit square seen from its centre: 4 asinh(1).
    assert love(np.zeros(1), np.zeros(1), 0.5, 0.5)[0] == pytest.approx(4 * math.asinh(1.0))
    assert half_space_tables()[len(ASPECTS) // 2, 0, 0] == pytest.approx(4 * math.asinh(1.0) / math.pi)
    K, E = elliptic_integrals(0.5)
    assert pytest.approx((1.8540746773013719, 1.3506438810476755)) == (K, E)
    modulus = reduced_modulus_pa(1e6)
    sphere = hertz_ellipse(1.0, 100.0, 100.0, modulus)
    assert sphere.a_m == pytest.approx((3 * 1.0 * 0.01 / (4 * modulus)) ** (1 / 3))
    ellipse = hertz_ellipse(2.0, 40.0, 160.0, modulus)
    assert 2 / 3 * math.pi * ellipse.a_m * ellipse.b_m * ellipse.peak_pa == pytest.approx(2.0)
    assert ellipse.a_m > ellipse.b_m
    swapped = hertz_ellipse(2.0, 160.0, 40.0, modulus)
    assert (swapped.a_m, swapped.b_m) == pytest.approx((ellipse.b_m, ellipse.a_m))


def finer(hand: HandSpec) -> HandSpec:
    """The same hand with twice as many taxels on the same pads."""
    pads = tuple(dataclasses.replace(pad, cols=2 * pad.cols, col_pitch_m=pad.col_pitch_m / 2) for pad in hand.pads)
    return dataclasses.replace(hand, pads=pads)


@pytest.mark.timing
def test_twice_as_many_taxels_cost_little_more():
    pressed = press_pad(HAND, "index_top", parse_indenter("sphere:10mm"), force_n=1.0).pressed
    bodies = pressed.contacts.solids["body"].astype(np.int64)
    touches = [HandTouch(hand, IDEAL, skin_shapes=pressed.skin_solids, bodies=bodies) for hand in (HAND, finer(HAND))]
    best = [math.inf, math.inf]
    for _ in range(30):  # turn by turn, so that a busy machine hurts both alike
        for k, touch in enumerate(touches):
            began = time.perf_counter()
            for _ in range(50):
                touch.solve(pressed.contacts)
            best[k] = min(best[k], time.perf_counter() - began)
    assert best[1] < 1.2 * best[0]


def test_finer_taxels_feel_the_same_force():
    coarse = press_pad(HAND, "index_top", parse_indenter("sphere:10mm"), force_n=1.0)
    fine = press_pad(finer(HAND), "index_top", parse_indenter("sphere:10mm"), force_n=1.0)
    merged = (fine.frame["index_top"][:, ::2] + fine.frame["index_top"][:, 1::2]) / 2
    np.testing.assert_allclose(merged, coarse.frame["index_top"], rtol=1e-9, atol=1e-6)


def test_pressure_on_a_single_cell_keeps_its_force_when_it_is_asked_to_lean():
    random = np.random.default_rng(3)
    gap = np.zeros(9)
    for _ in range(2000):
        plane = np.column_stack([np.ones(9), random.uniform(-1.0, 1.0, (9, 2))])
        pressed = np.arange(9) == random.integers(9)
        pressure = np.where(pressed, random.uniform(1.0, 1e5), 0.0)
        meet_moments(plane, gap, 9, 1000.0, pressure)
        assert pressure == pytest.approx(np.where(pressed, 1000.0, 0.0), rel=1e-12)


def test_pressure_of_the_last_frame_that_the_object_has_left_is_not_believed():
    """Nothing of the old pressure lies over the object any more: it starts anew, and the force is met."""
    random = np.random.default_rng(4)
    plane = np.column_stack([np.ones(9), random.uniform(-1.0, 1.0, (9, 2))])
    gap = np.where(np.arange(9) == 4, 0.0, MISS)
    pressure = np.where(np.arange(9) == 0, 5.0, 0.0)
    meet_moments(plane, gap, 9, 1000.0, pressure)
    assert pressure.tolist() == [0.0] * 4 + [1000.0] + [0.0] * 4


@nb.njit(fastmath={"contract"})
def apply_cell_by_cell(table, own, grid, p, out) -> None:
    columns, width, size = strip_sizes(grid)
    for i in range(grid):
        for j in range(grid):
            total = 0.0
            for strip in range(STRIPS):
                for k in range(grid * grid):
                    if k % grid // columns == strip and p[k] != 0.0:
                        row, col = grid - 1 + i - k // grid, (strip + 1) * columns - 1 + j - k % grid
                        total += p[k] * table[strip * size + row * width + col]
            out[i * grid + j] = total + own[i * grid + j] * p[i * grid + j]


@pytest.mark.parametrize("grid", [14, 20, 24])
@pytest.mark.parametrize("pressing", [1, 7, 8, 9, 100, 196])
def test_cells_that_are_swept_together_give_the_bits_of_one_after_the_other(grid: int, pressing: int):
    rng = np.random.default_rng(grid + pressing)
    table, own, p = rng.normal(size=TABLE_SIZE), rng.normal(size=MAX_CELLS), np.zeros(MAX_CELLS)
    p[rng.choice(grid * grid, pressing, replace=False)] = rng.normal(size=pressing)
    together, plain = np.zeros(MAX_CELLS), np.zeros(MAX_CELLS)
    apply_table(elastic_tables([])._replace(table=table, own=own), grid, p, together)
    apply_cell_by_cell(table, own, grid, p, plain)
    assert together.tobytes() == plain.tobytes()
