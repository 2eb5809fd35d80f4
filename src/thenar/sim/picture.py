"""Pictures of a world without a screen."""

from __future__ import annotations

import os
import struct
import sys
import zlib
from pathlib import Path
from typing import Literal

import mujoco
import numpy as np
from mujoco.rendering.classic import gl_context
from numpy.typing import NDArray

from thenar.errors import BadFile, BadValue, NoRenderer, UnknownName
from thenar.hands.spec import HandSpec
from thenar.signals import HandCommand
from thenar.sim.scenes import Mount, Scene
from thenar.sim.world import World

Image = NDArray[np.uint8]
View = Literal["palm", "back", "thumb", "front"]

# Camera angles [degrees] around a hand held upright: azimuth from the palm's normal, elevation.
VIEWS: dict[View, tuple[float, float]] = {
    "palm": (-28.0, -12.0),
    "back": (152.0, -12.0),
    "thumb": (-78.0, -8.0),
    "front": (0.0, -4.0),
}
MAX_PIXELS = (1920, 1440)
# Fingers up, palm towards +x.
UPRIGHT = (np.pi / 2, 0.0, np.pi / 2)


def draw(
    world: World,
    *,
    look_at_m: NDArray[np.float64],
    distance_m: float,
    azimuth_deg: float,
    elevation_deg: float,
    size_px: tuple[int, int] = (640, 640),
    shadows: bool = True,
) -> Image:
    """One picture of a world. Shape (height, width, 3)."""
    width, height = size_px
    if not (0 < width <= MAX_PIXELS[0] and 0 < height <= MAX_PIXELS[1]):
        raise BadValue("size_px", size_px, f"width and height up to {MAX_PIXELS[0]} x {MAX_PIXELS[1]}")
    _choose_backend()
    try:
        renderer = mujoco.Renderer(world.model, height=height, width=width)
    except (ImportError, RuntimeError, AttributeError) as error:
        raise NoRenderer(str(error)) from error
    try:
        camera = mujoco.MjvCamera()
        camera.lookat[:] = look_at_m
        camera.distance, camera.azimuth, camera.elevation = distance_m, azimuth_deg, elevation_deg
        renderer.update_scene(world.data, camera)
        renderer.scene.flags[mujoco.mjtRndFlag.mjRND_SHADOW] = shadows
        return renderer.render().copy()
    finally:
        renderer.close()


def draw_hand(
    hand: HandSpec, *, pose: str = "open", view: View = "palm", size_px: tuple[int, int] = (640, 640)
) -> Image:
    """A hand in a posture that its motors took by themselves, so that nothing passes through anything."""
    if view not in VIEWS:
        raise UnknownName("view", view, VIEWS)
    return draw_posed(posed_world(hand, pose), hand, view=view, size_px=size_px)


def draw_posed(world: World, hand: HandSpec, *, view: View, size_px: tuple[int, int] = (640, 640)) -> Image:
    """The hand of a world made by `posed_world`, filling the picture."""
    low, high = _extent(world, hand)
    azimuth, elevation = VIEWS[view]
    size = float(np.linalg.norm(high - low))
    return draw(
        world,
        look_at_m=(low + high) / 2,
        distance_m=1.25 * size,
        azimuth_deg=180.0 + (-azimuth if hand.side == "left" else azimuth),
        elevation_deg=elevation,
        size_px=size_px,
        shadows=False,  # nothing near enough to fall on
    )


def draw_posture(hand: HandSpec, joint_rad: NDArray[np.float64], *, size_px: tuple[int, int] = (640, 640)) -> Image:
    """A hand with every joint where it is put, in the order of the spec [rad]; nothing is simulated."""
    world = _studio(hand)
    for name, angle in zip(hand.joint_names, joint_rad, strict=True):
        world.data.joint(f"{hand.name}/{name}").qpos[0] = angle
    mujoco.mj_forward(world.model, world.data)
    return draw_posed(world, hand, view="palm", size_px=size_px)


def posed_world(hand: HandSpec, pose: str) -> World:
    """A world with one upright hand that has closed to a posture."""
    fractions = hand.pose_fractions(pose)
    world = _studio(hand)
    # As a person does it: fingers, then the thumb comes round in front of them, then it bends.
    thumb = np.array([a.name.startswith(("th", "TH")) for a in hand.actuators])
    around = np.array([a.name in ("thumb_rotation", "THJ5", "THJ4") for a in hand.actuators])
    for moving in (~thumb, around, thumb & ~around):
        target = np.where(moving, fractions, np.nan)
        world.command(hand.name, HandCommand.closing(target, speed=0.5, force_limit_n=4.0))
        world.advance(2.0)
    return world


def _studio(hand: HandSpec) -> World:
    """A world with one upright hand."""
    scene = Scene(summary="studio", ground_m=-0.31)
    return World(hand, scene=scene, mounts={hand.name: Mount(rpy_rad=UPRIGHT)}, profile="ideal")


def _extent(world: World, hand: HandSpec) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Corners of a box around a hand [m]; of a forearm only the part near the hand counts."""
    model, data = world.model, world.data
    mine = [
        geom
        for geom in range(model.ngeom)
        if model.body(model.geom_bodyid[geom]).name.startswith(f"{hand.name}/")
        and not model.body(model.geom_bodyid[geom]).name.endswith("/forearm")
    ]
    tips = np.array([data.site(f"{hand.name}/{tip.finger}_tip").xpos for tip in hand.tips])
    centres = np.concatenate([data.geom_xpos[mine], tips])
    radii = np.concatenate([0.6 * model.geom_rbound[mine], np.full(len(tips), 0.012)])[:, None]
    return (centres - radii).min(axis=0), (centres + radii).max(axis=0)


def side_by_side(images: list[list[Image]]) -> Image:
    """Rows of pictures of one size as one picture."""
    return np.concatenate([np.concatenate(row, axis=1) for row in images], axis=0)


def write_png(path: Path, image: Image) -> None:
    """Write an 8-bit RGB picture as PNG."""
    if path.suffix.lower() != ".png":
        raise BadFile(path, "pictures are written as PNG; the name must end in .png")
    height, width, _ = image.shape
    # Each line as its difference to the line above: smooth pictures then compress well.
    lines = np.vstack([image[:1], np.diff(image, axis=0)]).reshape(height, width * 3)
    raw = np.hstack([np.full((height, 1), 2, dtype=np.uint8), lines]).tobytes()

    def chunk(kind: bytes, body: bytes) -> bytes:
        return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))

    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    body = b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(raw, 9)) + chunk(b"IEND", b"")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(body)
    except OSError as error:
        raise BadFile(path, f"cannot be written: {error.strerror}") from error


def _choose_backend() -> None:
    """Draw in software where there is no screen and nobody asked for another way."""
    if sys.platform != "linux" or os.environ.get("MUJOCO_GL") or os.environ.get("DISPLAY"):
        return
    try:
        from mujoco.osmesa import GLContext
    except (ImportError, AttributeError, OSError) as error:
        raise NoRenderer(f"OSMesa does not load ({error})") from error
    gl_context.GLContext = GLContext
