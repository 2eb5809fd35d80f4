"""A world as a `PageScene`: its shapes as triangles, its hands, and the camera."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from thenar.errors import BadValue
from thenar.signals import FloatArray
from thenar.sim import scenes
from thenar.sim.drawing.visuals import Look, reach_m, visible_shapes
from thenar.sim.props import Box, Capsule, Cylinder, Ellipsoid, Prop, Sphere
from thenar.twin.world import World
from thenar.view import meshes
from thenar.view.page_scene import PageCamera, PageHand, PagePart, PageScene, Triple
from thenar.view.shared_memory import MAX_BODIES

SPAWNS: dict[str, Prop] = {
    "ball": Sphere(radius_m=0.025, mass_kg=0.05, colour=(0.92, 0.76, 0.25)),
    "cube": Box(size_m=(0.04, 0.04, 0.04), mass_kg=0.06, colour=(0.80, 0.25, 0.22)),
    "can": Cylinder(radius_m=0.025, length_m=0.09, mass_kg=0.12, colour=(0.22, 0.46, 0.75)),
    "egg": Ellipsoid(radii_m=(0.021, 0.021, 0.028), mass_kg=0.06, colour=(0.90, 0.55, 0.25)),
    "pen": Capsule(radius_m=0.008, length_m=0.10, mass_kg=0.02, colour=(0.32, 0.62, 0.36)),
}
"""Objects that can be added while a world runs."""


def check_bodies(world: World) -> None:
    """Refuse a world with more bodies than a page can show."""
    if world.model.nbody > MAX_BODIES:
        raise BadValue("world", f"{world.model.nbody} bodies", f"at most {MAX_BODIES} for a page")


def build_page_scene(
    world: World,
    *,
    number: int,
    scene: str,
    recordings: Sequence[str],
    wires: Mapping[str, str],
    states: Mapping[int, str],
    title: str,
) -> PageScene:
    """Everything the page must know before the first pose.

    Args:
        world: What is shown.
        number: Of the scene, counting up.
        scene: Name of the surroundings.
        recordings: Names of glove recordings.
        wires: Labels of the links that may command, by wire.
        states: States of a humanoid, by number.
        title: Headline of the page.
    """
    model = world.model
    bodies = tuple(model.body(k).name for k in range(model.nbody))
    index = {name: k for k, name in enumerate(bodies)}
    specs = {name: world.hand(name) for name in world.hand_names}
    hands = tuple(
        PageHand(
            spec=spec,
            link_body={link.name: index[f"{name}/{link.name}"] for link in spec.links},
            driven=world.wrists.is_driven(name),
        )
        for name, spec in specs.items()
        if spec.own_model is None or f"{name}/{spec.root}" in index
    )
    ground_m = float(model.geom("ground").pos[2])
    choices = () if world.has_robot else _scene_choices([spec.side for spec in specs.values()])
    return PageScene(
        number=number,
        bodies=bodies,
        parts=_parts(visible_shapes(model)),
        hands=hands,
        props={name: index[name] for name in world.props.names if world.props.is_free(name)},
        ground_m=ground_m,
        camera=_camera(world),
        scene=scene,
        scenes=choices,
        spawns=tuple(SPAWNS) if choices else (),
        recordings=tuple(recordings),
        wires=dict(wires),
        states=dict(states),
        title=title,
    )


def _scene_choices(sides: Sequence[str]) -> tuple[str, ...]:
    """Scenes that have a place for every hand: those with mounts have one for each side."""
    one_per_side = len(set(sides)) == len(sides)
    return tuple(name for name in scenes.names() if one_per_side or not scenes.load(name).mounts)


def _parts(looks: Sequence[Look]) -> tuple[PagePart, ...]:
    """All shapes of one body and color together."""
    together: dict[tuple[int, Triple], list[tuple[meshes.Mesh, FloatArray, FloatArray]]] = {}
    for look in looks:
        together.setdefault((look.body, look.rgb), []).append((_mesh(look), look.pos_m, look.R))
    parts = []
    for (body, rgb), pieces in together.items():
        vertices_m, faces = meshes.joined(pieces)
        vertices_m, faces = vertices_m.astype(np.float32), faces.astype(np.uint32)
        parts.append(PagePart(body=body, vertices_m=vertices_m, faces=faces, rgb=rgb))
    return tuple(parts)


def _mesh(look: Look) -> meshes.Mesh:
    match look.kind:
        case "sphere":
            return meshes.ellipsoid(np.repeat(look.size_m[0], 3))
        case "ellipsoid":
            return meshes.ellipsoid(look.size_m)
        case "capsule":
            return meshes.capsule(*look.size_m[:2])
        case "cylinder":
            return meshes.cylinder(*look.size_m[:2])
        case "box":
            return meshes.box(look.size_m)
        case "mesh":
            return look.vertices_m, look.faces


def _camera(world: World) -> PageCamera:
    """In front of a humanoid; of hands in front and above, or where the window is narrow at their right side."""
    directions = ((2.1, 1.1, 0.35),) if world.has_robot else ((0.06, -0.86, 0.95), (0.86, 0.06, 0.95))
    return PageCamera(points_m=reach_m(world.physics).astype(np.float32), directions=directions)
