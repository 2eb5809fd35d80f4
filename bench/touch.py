"""Touch measured: how near to theory, beside what other simulators do, and what a frame costs."""

from __future__ import annotations

import math
import time
from dataclasses import dataclass
from functools import partial

import numpy as np

from bench.peer_sensors import add_peer_sensors, read_peer_sensors
from bench.speed import four_objects
from thenar import hands
from thenar.arrays import FloatArray
from thenar.hands.pad_charts import points_on_skin, taxel_grid
from thenar.hands.shapes import Capsule
from thenar.hands.spec import HandSpec, Pad
from thenar.signals import HandCommand
from thenar.sim.press import Indenter, parse_indenter
from thenar.sim.props import Box, Sphere
from thenar.twin.reports.press_report import PadPress, press_pad
from thenar.twin.world import World

FINGERS = ("little", "ring", "middle", "index", "thumb")
BALL_M, SUNK_M = 0.005, 2e-6  # a few newtons on a finger at its end stop
SOFT_SOLREF = (0.02, 1.0)  # the engine's default
ROUND_PADS = tuple(f"{finger}_{pad}" for finger in FINGERS for pad in ("top", "palm"))


@dataclass(frozen=True, kw_only=True)
class Accuracy:
    """Relative L2 difference to contact theory over random presses, in percent."""

    press: str
    count: int
    ours_median: float
    ours_p99: float
    tactile_median: float
    """MuJoCo's `tactile` sensor, its depths scaled so that they carry the force."""
    tactile_soft_median: float
    """The same with contacts of MuJoCo's default softness, where objects sink in far enough to be seen."""
    touch_grid_median: float
    """MuJoCo's `touch_grid` plugin."""
    point_bin_median: float
    """All force in the taxel under the contact point."""
    gaussian_median: float
    """A Gaussian in the middle of the pad, a quarter of its length wide."""


@dataclass(frozen=True, kw_only=True)
class Cost:
    """Time of a frame."""

    what: str
    windows: int
    us: float
    """Microseconds a frame, warm, the fastest of several runs."""


def measure_accuracy(count: int = 50, seed: int = 0) -> list[Accuracy]:
    """Random presses through the engine on the hand's own pads, the same for every method."""
    hand = hands.load("inspire_right")
    rng = np.random.default_rng(seed)
    return [
        _accuracy("ball on the palm", hand, ("palm",), _ball, count, rng),
        _accuracy("ball on a finger", hand, ROUND_PADS, _ball, count, rng),
        _accuracy("rod on a finger", hand, ROUND_PADS, _rod, count, rng),
        _accuracy("egg on a finger", hand, ROUND_PADS, _egg, count, rng),
        _accuracy("punch on the palm", hand, ("palm",), _punch, count // 2, rng),
    ]


def measure_cost() -> list[Cost]:
    """Frames of both hands, touching nothing and grasping."""
    both = ("inspire_left", "inspire_right")
    grasp = World(both, props=four_objects(), profile="ideal")
    for hand in both:
        grasp.command(hand, HandCommand.closing(0.8, speed=0.5))
    grasp.advance(1.5)
    return [
        _touch_cost("one hand touches nothing", World("inspire_right", profile="ideal")),
        _touch_cost("both hands, balls on six links each", _balls_on_fingers(both, 6)),
        _touch_cost("both hands, balls on seventeen places each", _balls_on_fingers(both, 17)),
        _touch_cost("both hands grasp four objects, a box on a palm among them", grasp),
        _touch_cost(
            "one hand, twelve boxes side by side on its palm", World("inspire_right", props=_boxes(), profile="ideal")
        ),
    ]


def _balls_on_fingers(hands_: tuple[str, ...], per_hand: int) -> World:
    """Hands whose fingers are pressed by fixed balls from above, ``per_hand`` of them each."""
    bare = World(hands_, profile="ideal")
    balls = []
    for name in hands_:
        spec = bare.hand(name)
        fingers = [link.name for link in spec.links if isinstance(link.skin, Capsule) and "thumb" not in link.name]
        spots = [(link, along) for along in (0.35, 0.75, 0.55) for link in fingers]
        for link, along in spots[:per_hand]:
            skin, size = bare.data.geom(f"{name}/{link}_skin"), bare.model.geom(f"{name}/{link}_skin").size
            axis = skin.xmat.reshape(3, 3)[:, 2]
            up = np.array([0.0, 0.0, 1.0]) - axis[2] * axis
            place = skin.xpos + (2 * along - 1) * size[1] * axis
            place = place + (size[0] + BALL_M - SUNK_M) * up / np.linalg.norm(up)
            balls.append(Sphere(radius_m=BALL_M, pos_m=(place[0], place[1], place[2]), fixed=True))
    return World(hands_, props=balls, profile="ideal")


def _boxes() -> list[Box]:
    """Twelve boxes on a palm, two millimetres apart: flat patches that all feel each other."""
    places = [(0.012 * column - 0.018, 0.012 * row - 0.012) for column in range(4) for row in range(3)]
    return [Box(size_m=(0.01, 0.01, 0.02), pos_m=(x, y, 0.0101), mass_kg=0.1) for x, y in places]


def _touch_cost(what: str, world: World) -> Cost:
    """Time of a frame of all hands of a world at rest."""
    world.advance(1.0)
    for hand in world.hand_names:
        world.touch(hand)
    windows = sum(len(world.windows(hand)) for hand in world.hand_names)
    return Cost(what=what, windows=windows, us=_fastest_us(lambda: [world.touch(hand) for hand in world.hand_names]))


def _fastest_us(call, *, rounds: int = 5, calls: int = 100) -> float:
    best = math.inf
    for _ in range(rounds):
        began = time.perf_counter()
        for _ in range(calls):
            call()
        best = min(best, (time.perf_counter() - began) / calls)
    return round(1e6 * best, 1)


def _accuracy(name: str, hand: HandSpec, pads: tuple[str, ...], make, count: int, rng: np.random.Generator) -> Accuracy:
    errors: list[tuple[float, ...]] = []
    while len(errors) < count:
        pad = hand.pad(pads[rng.integers(len(pads))])
        at = (
            rng.uniform(-0.3, 0.3) * pad.rows * pad.row_pitch_m,
            rng.uniform(-0.3, 0.3) * pad.cols * pad.col_pitch_m,
        )
        force_n = float(np.exp(rng.uniform(math.log(0.2), math.log(5.0))))
        indenter, spin_rad = make(rng), rng.uniform(0.0, math.pi)
        sensors = partial(add_peer_sensors, hand=hand, pad=pad)
        repeat = partial(
            press_pad, hand, pad.name, indenter, force_n=force_n, at_m=at, spin_rad=spin_rad, add_sensors=sensors
        )
        result = repeat()
        theory = result.theory_pa
        # Presses that reach beyond the pad are another question.
        if theory is None or result.frame.force_n[pad.name] < 0.98 * result.frame.contact_n:
            continue
        soft = repeat(solref=SOFT_SOLREF)
        maps = (
            _tactile(pad, result),
            _tactile(pad, soft),
            _touch_grid(pad, result),
            _point_bin(hand, pad, result),
            _centred_gaussian(pad, result.frame.contact_n),
        )
        errors.append((result.relative_l2, *(_relative(pressure_pa, theory) for pressure_pa in maps)))
    percent = 100 * np.array(errors)
    ours, tactile, tactile_soft, touch_grid, point_bin, gaussian = np.median(percent, axis=0)
    return Accuracy(
        press=name,
        count=count,
        ours_median=round(float(ours), 2),
        ours_p99=round(float(np.percentile(percent[:, 0], 99)), 2),
        tactile_median=round(float(tactile), 1),
        tactile_soft_median=round(float(tactile_soft), 1),
        touch_grid_median=round(float(touch_grid), 1),
        point_bin_median=round(float(point_bin), 1),
        gaussian_median=round(float(gaussian), 1),
    )


def _relative(one: FloatArray, other: FloatArray) -> float:
    return float(np.linalg.norm(one - other) / np.linalg.norm(other))


def _tactile(pad: Pad, result: PadPress) -> FloatArray:
    """Depths as pressure, scaled to the force; nothing where no taxel's centre is in the object."""
    depth = read_peer_sensors(result.pressed.sensors, pad).depth_m
    force = result.frame.contact_n * depth / depth.sum() if depth.any() else depth
    return force / (pad.row_pitch_m * pad.col_pitch_m)


def _touch_grid(pad: Pad, result: PadPress) -> FloatArray:
    return read_peer_sensors(result.pressed.sensors, pad).grid_n / (pad.row_pitch_m * pad.col_pitch_m)


def _point_bin(hand: HandSpec, pad: Pad, result: PadPress) -> FloatArray:
    contacts = result.pressed.contacts
    body = contacts.solids[result.pressed.touched_solid(pad.link)]["body"]
    points, _ = points_on_skin(hand, pad, *taxel_grid(pad))
    world = points @ contacts.body_R[body].T + contacts.body_pos_m[body]
    force = np.zeros((pad.rows, pad.cols))
    for position, push in zip(contacts.position_m, contacts.force_n, strict=True):
        nearest = np.unravel_index(np.argmin(np.linalg.norm(world - position, axis=-1)), force.shape)
        force[nearest] += np.linalg.norm(push)
    return force / (pad.row_pitch_m * pad.col_pitch_m)


def _centred_gaussian(pad: Pad, force_n: float) -> FloatArray:
    u, v = taxel_grid(pad)
    width = pad.rows * pad.row_pitch_m / 4
    bump = np.exp(-(u**2 + v**2) / (2 * width**2))
    return force_n * bump / bump.sum() / (pad.row_pitch_m * pad.col_pitch_m)


def _ball(rng: np.random.Generator) -> Indenter:
    return parse_indenter(f"sphere:{rng.uniform(5, 20):.3f}mm")


def _rod(rng: np.random.Generator) -> Indenter:
    return parse_indenter(f"cylinder:{rng.uniform(4, 15):.3f}mm:80mm")


def _egg(rng: np.random.Generator) -> Indenter:
    a, b, c = rng.uniform(6, 20, 3)
    return parse_indenter(f"ellipsoid:{a:.3f}mm,{b:.3f}mm,{c:.3f}mm")


def _punch(rng: np.random.Generator) -> Indenter:
    return parse_indenter(f"punch:{rng.uniform(4, 9):.3f}mm")
