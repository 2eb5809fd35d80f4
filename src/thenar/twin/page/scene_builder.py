"""A world into a `PageScene`: its shapes as triangles, its hands, and from where to look at them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from thenar.errors import BadValue
from thenar.sim import scenes
from thenar.sim.props import Box, Capsule, Cylinder, Ellipsoid, Prop, Sphere
from thenar.sim.visuals import Look, visible_shapes
from thenar.twin.world import World
from thenar.view import meshes
from thenar.view.page_scene import PageCamera, PageHand, PagePart, PageScene
from thenar.view.shared_memory import MAX_BODIES

FloatArray = NDArray[np.float64]

SPAWNS: dict[str, Prop] = {
    "ball": Sphere(radius_m=0.025, mass_kg=0.05, colour=(0.92, 0.76, 0.25)),
    "cube": Box(size_m=(0.04, 0.04, 0.04), mass_kg=0.06, colour=(0.80, 0.25, 0.22)),
    "can": Cylinder(radius_m=0.025, length_m=0.09, mass_kg=0.12, colour=(0.22, 0.46, 0.75)),
    "egg": Ellipsoid(radii_m=(0.021, 0.021, 0.028), mass_kg=0.06, colour=(0.90, 0.55, 0.25)),
    "pen": Capsule(radius_m=0.008, length_m=0.10, mass_kg=0.02, colour=(0.32, 0.62, 0.36)),
}
"""What can be added while a world runs."""


def check_bodies(world: World) -> None:
    """A world with more bodies than a page can show is refused."""
    if world.model.nbody > MAX_BODIES:
        raise BadValue("world", f"{world.model.nbody} bodies", f"at most {MAX_BODIES} for a page")


def build_page_scene(
    world: World,
    *,
    number: int,
    scene: str,
    choices: Sequence[str],
    recordings: Sequence[str],
    wires: Mapping[str, str],
    states: Mapping[int, str],
    title: str,
) -> PageScene:
    """Everything the page must know before the first pose.

    Args:
        world: What is shown.
        number: Of the stage, counting up.
        scene: Name of the surroundings.
        choices: Surroundings that can be chosen.
        recordings: Names of glove recordings.
        wires: Who may command, by name.
        states: States of a humanoid, by number.
        title: What runs, in a few words.
    """
    model = world.model
    bodies = tuple(model.body(k).name for k in range(model.nbody))
    index = {name: k for k, name in enumerate(bodies)}
    hands = tuple(
        PageHand(
            spec=world.hand(name),
            link_body={link.name: index[f"{name}/{link.name}"] for link in world.hand(name).links},
            driven=world.wrist_is_driven(name),
        )
        for name in world.hand_names
        if world.hand(name).own_model is None or f"{name}/{world.hand(name).root}" in index
    )
    ground = float(model.geom("ground").pos[2])
    return PageScene(
        number=number,
        bodies=bodies,
        parts=_parts(visible_shapes(model)),
        hands=hands,
        props={name: index[name] for name in world.prop_names if world.is_free(name)},
        ground_m=ground,
        camera=_camera(world, ground),
        scene=scene,
        scenes=tuple(choices),
        spawns=tuple(SPAWNS) if choices else (),
        recordings=tuple(recordings),
        wires=dict(wires),
        states=dict(states),
        title=title,
    )


def scene_choices(world: World) -> tuple[str, ...]:
    """Scenes that have a place for every hand of this world."""
    sides = [world.hand(name).side for name in world.hand_names]
    fits = [name for name in scenes.names() if len(set(sides)) == len(sides) or not scenes.load(name).mounts]
    return tuple(fits)


def _parts(looks: Sequence[Look]) -> tuple[PagePart, ...]:
    """All shapes of one body and colour together."""
    together: dict[tuple[int, tuple[float, float, float]], list[meshes.Mesh]] = {}
    for look in looks:
        together.setdefault((look.body, look.rgb), []).append(meshes.moved(_mesh(look), look.pos_m, look.R))
    parts = []
    for (body, rgb), pieces in together.items():
        vertices, faces = meshes.joined(pieces)
        parts.append(
            PagePart(body=body, vertices_m=vertices.astype(np.float32), faces=faces.astype(np.uint32), rgb=rgb)
        )
    return tuple(parts)


def _mesh(look: Look) -> meshes.Mesh:
    size = look.size_m
    match look.kind:
        case "sphere":
            return meshes.ellipsoid(np.repeat(size[0], 3))
        case "ellipsoid":
            return meshes.ellipsoid(size)
        case "capsule":
            return meshes.capsule(float(size[0]), float(size[1]))
        case "cylinder":
            return meshes.cylinder(float(size[0]), float(size[1]))
        case "box":
            return meshes.box(size)
        case "mesh":
            return look.vertices_m, look.faces


def _camera(world: World, ground_m: float) -> PageCamera:
    """In front of the hands and above them, so near that they fill the page; before a humanoid's face."""
    palms = np.array([world.wrist(name)[0] for name in world.hand_names])
    low = palms.min(axis=0) if len(palms) else np.zeros(3)
    high = palms.max(axis=0) if len(palms) else np.ones(3)
    middle = (low + high) / 2
    if world.has_carrier:  # a machine is looked at as a whole, from before it
        look_at, towards = np.array([0.0, 0.0, ground_m + 0.92]), np.array([2.1, 1.1, 0.35])
        wide, high_enough = 0.55, 0.98
    else:
        look_at, towards = middle + np.array([0.0, 0.03, 0.0]), np.array([0.06, -0.86, 0.95])
        wide, high_enough = float(high[0] - low[0]) / 2 + 0.105, 0.17
    return PageCamera(
        look_at_m=_triple(look_at),
        direction=_triple(towards / np.linalg.norm(towards)),
        half_wide_m=wide,
        half_high_m=high_enough,
    )


def _triple(vector: FloatArray) -> tuple[float, float, float]:
    return float(vector[0]), float(vector[1]), float(vector[2])
