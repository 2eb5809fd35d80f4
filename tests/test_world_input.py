"""What a world is asked that it cannot do: it is refused in words, and nothing is changed."""

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import thenar
from thenar.errors import BadValue, ThenarError, UnknownName
from thenar.recordings.recording import Recording
from thenar.signals import HandCommand
from thenar.sim.scenes import Mount
from thenar.twin.body.body_world import BodyWorld
from thenar.twin.recording.recipe import from_text, to_text
from thenar.twin.scaled import scaled_prop, size_of

HAND = "inspire_right"
NOWHERE = (0.0, 0.0, math.nan)
CUBE = "".join(f"v {x} {y} {z}\n" for x in (0, 1) for y in (0, 1) for z in (0, 1)) + "".join(
    f"f {a} {b} {d}\nf {a} {d} {c}\n"
    for a, b, c, d in ((1, 2, 3, 4), (7, 8, 5, 6), (5, 6, 1, 2), (3, 4, 7, 8), (5, 1, 7, 3), (2, 6, 4, 8))
)


@pytest.fixture
def cube(tmp_path: Path) -> thenar.Mesh:
    path = tmp_path / "cube.obj"
    path.write_text(CUBE)
    return thenar.Mesh(file=path, scale=(0.02, 0.02, 0.02))


def two_cubes(path: Path) -> Path:
    """Two cubes apart, as one mesh: the pieces that it is cut into are two."""
    lines = CUBE.splitlines()
    corners = [[float(part) for part in line.split()[1:]] for line in lines if line.startswith("v")]
    faces = [[int(part) for part in line.split()[1:]] for line in lines if line.startswith("f")]
    corners += [[x + 3.0, y, z] for x, y, z in corners]
    faces += [[corner + 8 for corner in face] for face in faces]
    text = "".join(f"v {x} {y} {z}\n" for x, y, z in corners) + "".join(f"f {a} {b} {c}\n" for a, b, c in faces)
    path.write_text(text)
    return path


@pytest.mark.parametrize("ask", ["drag", "pull"])
def test_a_refused_drag_or_pull_leaves_what_is_dragged_as_it_was(ask: str):
    world = thenar.World(HAND, scene="table")
    world.props.drag("block", (0.0, 0.0, 0.3))
    world.advance(0.1)
    before = world.data.xfrc_applied.copy()
    with pytest.raises(BadValue):
        getattr(world.props, ask)("block", NOWHERE)
    assert world.props.dragging
    np.testing.assert_array_equal(world.data.xfrc_applied, before)


@pytest.mark.parametrize("wrong", ["block", HAND])
def test_what_cannot_be_placed_all_together_is_not_placed_at_all(wrong: str):
    world = thenar.World(HAND, scene="table")
    before = world.data.qpos.copy()
    there = np.array([0.0, 0.0, 1.0]), None
    objects, wrists = {"ball": there}, {HAND: there}
    (objects if wrong == "block" else wrists)[wrong] = (np.array(NOWHERE), None)
    with pytest.raises(BadValue, match="pos_m"):
        world.place(objects=objects, wrists=wrists)
    np.testing.assert_array_equal(world.data.qpos, before)


def test_an_object_that_is_called_as_a_hand_is_refused_as_its_contacts_would_be_the_hands():
    with pytest.raises(BadValue, match="name of a prop"):
        thenar.World(HAND, props=[thenar.Sphere(name=HAND)])


def test_pieces_of_a_mesh_take_no_other_objects_name(tmp_path: Path):
    path = two_cubes(tmp_path / "two.obj")
    world = thenar.World(
        HAND, props=[thenar.Mesh(name="two", file=path, scale=(0.01, 0.01, 0.01)), thenar.Sphere(name="two_0")]
    )
    assert world.props.names == ("two", "two_0")


@pytest.mark.parametrize("props", [[thenar.Box(size_m=(1e-9, 1e-9, 1e-9))], [thenar.Sphere(mass_kg=1e-20)]])
def test_an_object_that_the_engine_cannot_build_is_refused_with_its_reason(props: list[thenar.Box]):
    with pytest.raises(ThenarError, match="mass and inertia"):
        thenar.World(HAND, props=props)


@pytest.mark.parametrize(
    ("field", "make"),
    [
        ("friction", lambda: thenar.Box(friction=None)),  # type: ignore[arg-type]
        ("name", lambda: thenar.Box(name=3)),  # type: ignore[arg-type]
        ("props", lambda: thenar.World(HAND, props=["ball"])),  # type: ignore[list-item]
        ("hands", lambda: thenar.World([HAND, 3])),  # type: ignore[list-item]
        ("fps", lambda: thenar.World(HAND).film(1.0, fps=0)),
        ("seconds", lambda: thenar.World(HAND).film(math.inf)),
        ("camera", lambda: thenar.World(HAND).show(camera="front")),  # type: ignore[arg-type]
        ("mount of inspire_right", lambda: thenar.World(HAND, mounts={HAND: (0, 0, 0)})),  # type: ignore[dict-item]
        ("skin of inspire_right", lambda: thenar.World(HAND, skin={HAND: None}).touch(HAND)),  # type: ignore[dict-item]
        ("props", lambda: thenar.World(HAND, scene=thenar.Scene(summary="", props=("ball",)))),  # type: ignore[arg-type]
        ("table_m", lambda: thenar.Scene(summary="", table_m=math.nan)),
        ("ground_m", lambda: thenar.Scene(summary="", ground_m=math.inf)),
    ],
)
def test_what_is_of_another_kind_is_refused_by_its_name(field: str, make: Any):
    with pytest.raises(BadValue, match=field):
        make()


def test_a_seed_may_be_a_number_of_numpy():
    seed = np.random.default_rng(1).integers(1000)
    worlds = [thenar.World(HAND, seed=one) for one in (seed, int(seed))]  # type: ignore[arg-type]
    assert to_text(worlds[0].physics.config.seed) == str(seed)
    assert worlds[0].state(HAND).force_n.tobytes() == worlds[1].state(HAND).force_n.tobytes()


def test_going_on_from_a_world_with_other_mounts_leaves_wrists_alone_that_are_not_driven_in_both():
    both = ("inspire_left", HAND)
    fixed, table = thenar.World(both), thenar.World(both, scene="table")
    before = table.wrists.pose("inspire_left")[0]
    one = thenar.World(both, mounts={HAND: Mount(pos_m=(0.2, 0.0, 0.1), driven=True)})
    one.wrists.move(HAND, pos_m=(0.2, 0.0, 0.3))
    for other in (fixed, one):
        table.copy_state_from(other)
        table.advance(1.5)
        np.testing.assert_allclose(table.wrists.pose("inspire_left")[0], before, atol=0.005)
    np.testing.assert_allclose(table.wrists.pose(HAND)[0], (0.2, 0.0, 0.3), atol=0.005)
    fixed.copy_state_from(table)


def test_going_on_from_a_world_with_other_steps_is_refused_as_its_clock_would_jump():
    other = thenar.World(HAND, timestep_s=0.001)
    with pytest.raises(BadValue, match="timestep_s"):
        thenar.World(HAND).copy_state_from(other)


@pytest.mark.parametrize(("fault", "part"), [("jam", "index"), ("sticky", "index"), ("dead", "index_top 3 4")])
def test_what_was_broken_when_a_snapshot_was_taken_is_broken_after_it_and_nothing_else(fault: str, part: str):
    def go_on(world: thenar.World) -> bytes:
        world.command(HAND, HandCommand.closing(0.9))
        world.advance(0.5)
        return world.data.qpos.tobytes()

    world, sound = thenar.World(HAND, seed=4), thenar.World(HAND, seed=4)
    before = world.snapshot()
    world.faults.inject(HAND, part, fault)
    broken = from_text(to_text(world.snapshot()))
    after = go_on(world)
    world.restore(before)
    assert not world.faults.active
    assert not world.faults.broken_taxels(HAND).any()
    assert go_on(world) == go_on(sound)
    world.restore(broken)
    assert [one.kind for one in world.faults.active] == [fault]
    assert world.faults.broken_taxels(HAND).any() == (fault == "dead")
    assert go_on(world) == after
    world.faults.repair()
    world.reset()
    sound.reset()
    assert go_on(world) == go_on(sound)


def test_a_recording_in_which_a_fault_is_undone_by_a_snapshot_replays_to_the_same_bytes(tmp_path: Path):
    world = thenar.World(HAND, seed=4)
    with thenar.record(world, tmp_path / "r.mcap", touch=False):
        saved = world.snapshot()
        world.faults.inject(HAND, "index", "sticky")
        world.command(HAND, HandCommand.closing(0.9))
        world.advance(0.3)
        world.restore(saved)
        world.command(HAND, HandCommand.closing(0.9))
        world.advance(0.3)
    assert not thenar.replay(Recording(tmp_path / "r.mcap")).differs_at


def test_a_picture_shows_an_object_where_it_was_put_before_time_goes_on():
    world = thenar.World(HAND, props=[thenar.Box(name="box", pos_m=(0.0, 0.05, 0.1), size_m=(0.1, 0.1, 0.1))])
    before = world.show(size_px=(160, 120)).image
    state = world.snapshot().physics
    world.props.move("box", pos_m=(0.1, 0.05, 0.1))
    moved = world.show(size_px=(160, 120)).image
    assert np.abs(moved.astype(int) - before).max() > 50
    world.props.move("box", pos_m=world.model.body("box").pos)
    np.testing.assert_array_equal(world.show(size_px=(160, 120)).image, before)
    np.testing.assert_array_equal(world.snapshot().physics, state)


def test_a_mesh_grows_as_every_other_object_does(cube: thenar.Mesh):
    grown = scaled_prop(cube, size=2.0)
    assert grown.scale == (0.04, 0.04, 0.04)
    assert size_of(grown) == pytest.approx(2.0 * size_of(cube))


@pytest.mark.parametrize("scene", ["flat", "staff"])
def test_a_robot_without_hands_has_pictures_and_a_scene_as_every_world(scene: str):
    world = BodyWorld(scene=scene).world
    picture = world.show(size_px=(96, 72)).image
    assert np.ptp(picture[24:48, 36:60].astype(int)) > 60, "it stands in the middle"
    state = world.scene_state()
    assert (state.palm_pose.shape, state.object_pose.shape[1]) == ((0, 7), 7)


@pytest.mark.parametrize("fault", ["motor", "communication"])
@pytest.mark.parametrize("end", ["clear", "brownout"])
def test_an_error_that_was_cleared_or_went_with_the_power_is_not_called_broken(fault: str, end: str):
    world = thenar.World(HAND)
    world.faults.inject(HAND, "index", fault)
    world.faults.inject(HAND, "middle", "weak")
    world.advance(0.1)
    assert len(world.faults.active) == 2
    if end == "clear":
        world.clear_errors(HAND)
    else:
        world.faults.inject("", "", "brownout", 0.1)
        world.advance(0.2)
    assert not world.state(HAND).error.any()
    assert [one.kind for one in world.faults.active] == ["weak"]


@pytest.mark.parametrize("hand", ["shadow_right", HAND])
def test_looking_for_the_zero_of_forces_ends_also_of_motors_without_a_sensor(hand: str):
    world = thenar.World(hand)
    world.zero_force(hand)
    world.advance(16.0)
    assert not world.settings(hand).zeroing


def test_a_scene_that_mounts_a_hand_of_no_side_is_refused():
    with pytest.raises(UnknownName, match="left, none, right"):
        thenar.Scene(summary="", mounts={"right_hand": Mount()})  # type: ignore[dict-item]


def test_places_of_hands_may_be_arrays():
    places = [np.array([0.0, 0.0, 0.1]), np.array([0.3, 0.0, 0.1])]
    hands = ("inspire_left", HAND)
    mounts: Any = {hand: Mount(pos_m=place) for hand, place in zip(hands, places, strict=True)}  # type: ignore[arg-type]
    world = thenar.World(hands, mounts=mounts)
    for hand, place in zip(hands, places, strict=True):
        np.testing.assert_allclose(world.wrists.pose(hand)[0], place, atol=1e-9)
    with pytest.raises(BadValue, match="one hand a side"):
        thenar.World(hands, mounts=dict.fromkeys(hands, mounts[HAND]))
