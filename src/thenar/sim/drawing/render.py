"""Pictures of a world without a screen."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import mujoco
import numpy as np
from mujoco.rendering.classic import gl_context
from numpy.typing import NDArray

from thenar.arrays import FloatArray
from thenar.display import encode_png
from thenar.errors import BadFile, BadValue, NoRenderer, UnknownName, writing
from thenar.hands.shapes import Vec3
from thenar.hands.spec import HandSpec
from thenar.signals import Closing, HandCommand
from thenar.sim.building import TABLE
from thenar.sim.physics import Physics
from thenar.sim.scenes import Mount, Scene
from thenar.sim.world_config import WorldConfig

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
THUMB_ROUND = (
    "thumb_rotation",
    "THJ5",
    "THJ4",
    "thumb_0",
    "thumb_aux",
)  # motors that bring a thumb in front of the palm
NEAR_M = 0.25  # objects further from every hand may be outside the picture
MARGIN = 1.1  # how much more than the hand a picture shows
TILE_HALF_M = 0.0002  # half the thickness of a plate
STUDIO = Scene(summary="A hand by itself.", ground_m=-0.31)
UPRIGHT = Mount(rpy_rad=(np.pi / 2, 0.0, np.pi / 2))  # fingers up, palm towards +x


@dataclass(frozen=True, kw_only=True)
class Camera:
    """Where a picture is taken from."""

    look_at_m: Vec3
    """Point in the middle of the picture [m]."""
    distance_m: float
    """From that point to the camera [m]."""
    azimuth_deg: float
    """Direction of view around the vertical [degrees]; 0 looks along x, 90 along y."""
    elevation_deg: float
    """Direction of view against the ground [degrees]; negative looks down."""


@dataclass(frozen=True, kw_only=True)
class Eye:
    """Where a picture is taken from by a camera that something carries, and rolls with it."""

    pos_m: FloatArray
    """In the world [m]. Shape (3,)."""
    forward: FloatArray
    """Direction of view, of length 1. Shape (3,)."""
    up: FloatArray
    """Direction that is up in the picture, across the view, of length 1. Shape (3,)."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Tiles:
    """Small flat plates that are drawn on top of a world and shine by themselves. Shapes use n = plates."""

    pos_m: NDArray[np.float64]
    """Centres in the world [m]. Shape (n, 3)."""
    R: NDArray[np.float64]
    """Orientation of each plate, its normal last. Shape (n, 3, 3)."""
    half_m: NDArray[np.float64]
    """Half length and half width [m]. Shape (n, 2)."""
    colour: NDArray[np.float64]
    """Red green blue from 0 to 1. Shape (n, 3)."""


class Artist:
    """Draws one world, any number of times."""

    def __init__(self, world: Physics, *, size_px: tuple[int, int] = (640, 640)):
        """Get ready to draw; what cannot be drawn here raises `NoRenderer`."""
        width, height = size_px
        if not (0 < width <= MAX_PIXELS[0] and 0 < height <= MAX_PIXELS[1]):
            raise BadValue("size_px", size_px, f"width and height up to {MAX_PIXELS[0]} x {MAX_PIXELS[1]}")
        choose_backend()
        self._world = world
        try:
            self._renderer = mujoco.Renderer(world.model, height=height, width=width)
        except (ImportError, RuntimeError, AttributeError, mujoco.FatalError) as error:
            raise NoRenderer(str(error)) from error
        # Without a table there is nothing near enough for a shadow to fall on, and a far ground is speckled by them.
        self._shadows = TABLE in (world.model.geom(geom).name for geom in range(world.model.ngeom))
        self._objects = {
            geom
            for name in world.props.names
            for geom in range(world.model.ngeom)
            if world.model.geom_bodyid[geom] == world.model.body(name).id
        }

    def draw(self, camera: Camera | Eye, tiles: Tiles | None = None, *, glass: float = 0.0) -> Image:
        """The world as it is now.

        Args:
            camera: Where to look from.
            tiles: Plates to draw on top.
            glass: How far objects let the skin behind them through, 0 to 1.

        Returns:
            The picture. Shape (height, width, 3).
        """
        if not isinstance(camera, (Camera, Eye)):
            raise BadValue("camera", camera, "a thenar.Camera, such as thenar.frame_world gives")
        view = mujoco.MjvCamera()
        if isinstance(camera, Camera):
            view.lookat[:] = camera.look_at_m
            view.distance, view.azimuth, view.elevation = camera.distance_m, camera.azimuth_deg, camera.elevation_deg
        self._renderer.update_scene(self._world.seen(), view)
        scene = self._renderer.scene
        if isinstance(camera, Eye):
            for one in scene.camera:  # of both eyes
                one.pos[:], one.forward[:], one.up[:] = camera.pos_m, camera.forward, camera.up
        scene.flags[mujoco.mjtRndFlag.mjRND_SHADOW] = self._shadows
        for geom in scene.geoms[: scene.ngeom]:
            if geom.objtype == mujoco.mjtObj.mjOBJ_GEOM and geom.objid in self._objects:
                geom.rgba[3] = 1.0 - glass
        if tiles is not None:
            _lay_tiles(scene, tiles)
        return self._renderer.render().copy()

    def close(self) -> None:
        """Free what drawing took."""
        self._renderer.close()

    def __enter__(self) -> Artist:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _lay_tiles(scene: mujoco.MjvScene, tiles: Tiles) -> None:
    room = min(len(tiles.pos_m), scene.maxgeom - scene.ngeom)
    for pos_m, R, (u, v), colour in zip(tiles.pos_m[:room], tiles.R, tiles.half_m, tiles.colour, strict=False):
        geom = scene.geoms[scene.ngeom]
        size = np.array([u, v, TILE_HALF_M])
        mujoco.mjv_initGeom(
            geom, mujoco.mjtGeom.mjGEOM_BOX, size, pos_m, R.ravel(), np.append(colour, 1.0).astype("f4")
        )
        geom.emission = 0.6
        scene.ngeom += 1


def frame_world(
    world: Physics,
    *,
    azimuth_deg: float = 75.0,
    elevation_deg: float = -40.0,
    size_px: tuple[int, int] = (640, 640),
) -> Camera:
    """A camera that has every hand, or a robot that has none, and the objects near them in its picture."""
    centre_m, radius_m = _balls_around(world)
    look_at_m = ((centre_m - radius_m[:, None]).min(axis=0) + (centre_m + radius_m[:, None]).max(axis=0)) / 2
    azimuth, elevation = np.radians([azimuth_deg, elevation_deg])
    ahead = np.array([np.cos(elevation) * np.cos(azimuth), np.cos(elevation) * np.sin(azimuth), np.sin(elevation)])
    right = np.array([np.sin(azimuth), -np.cos(azimuth), 0.0])
    up = np.cross(right, ahead)
    tall = np.tan(np.radians(world.model.vis.global_.fovy) / 2)
    wide = tall * size_px[0] / size_px[1]
    offset_m = centre_m - look_at_m
    needed_m = [
        (np.abs(offset_m @ side) + radius_m) / slope - offset_m @ ahead for side, slope in ((right, wide), (up, tall))
    ]
    return Camera(
        look_at_m=tuple(look_at_m),
        distance_m=MARGIN * float(np.max(needed_m)),
        azimuth_deg=azimuth_deg,
        elevation_deg=elevation_deg,
    )


def _balls_around(world: Physics) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Balls that hold what is worth seeing: centres and radii [m].

    Of a forearm only the part near the hand counts, and of objects those near a hand.
    """
    model, data = world.model, world.seen()
    owners = [model.body(body).name for body in model.geom_bodyid]
    mine = [n for n, owner in enumerate(owners) if owner.partition("/")[0] in world.hand_names]
    # Of a robot without hands all of it.
    mine = mine or [n for n, owner in enumerate(owners) if owner not in ("world", *world.props.names)]
    near = {
        prop
        for prop in world.props.names
        if np.linalg.norm(data.geom_xpos[mine] - world.props.pose(prop)[0], axis=1).min() < NEAR_M
    }
    seen = [n for n in mine if not owners[n].endswith("/forearm")]
    seen += [n for n, owner in enumerate(owners) if owner in near]
    tips = [data.site(f"{hand}/{tip.finger}_tip").xpos for hand in world.hand_names for tip in world.hand(hand).tips]
    # A ball around a long thin part is larger than the part.
    return (
        np.concatenate([data.geom_xpos[seen], np.reshape(tips, (-1, 3))]),
        np.concatenate([0.6 * model.geom_rbound[seen], np.full(len(tips), 0.012)]),
    )


def view_of(world: Physics, hand: HandSpec, view: View, *, size_px: tuple[int, int]) -> Camera:
    """A camera that sees one upright hand from a side of it."""
    if view not in VIEWS:
        raise UnknownName("view", view, VIEWS)
    azimuth, elevation = VIEWS[view]
    return frame_world(
        world,
        azimuth_deg=180.0 + (-azimuth if hand.side == "left" else azimuth),
        elevation_deg=elevation,
        size_px=size_px,
    )


def draw_posture(hand: HandSpec, joint_rad: NDArray[np.float64], *, size_px: tuple[int, int] = (640, 640)) -> Image:
    """A hand with every joint where it is put, in the order of the spec [rad]; nothing is simulated."""
    return next(draw_postures(hand, joint_rad[None], size_px=size_px))


def draw_postures(
    hand: HandSpec, joint_rad: NDArray[np.float64], *, size_px: tuple[int, int] = (640, 640)
) -> Iterator[Image]:
    """The same for many postures, all seen from where the first one is. Shape (n, joints)."""
    world, camera = _studio(hand), None
    with Artist(world, size_px=size_px) as artist:
        for angles in joint_rad:
            for name, angle in zip(hand.joint_names, angles, strict=True):
                world.data.joint(f"{hand.name}/{name}").qpos[0] = angle
            mujoco.mj_forward(world.model, world.data)
            camera = camera or view_of(world, hand, "palm", size_px=size_px)
            yield artist.draw(camera)


def pose_moves(hand: HandSpec, pose: str) -> list[tuple[Closing, float]]:
    """Commands that bring an open hand into a posture, each with the seconds it takes.

    As a person does it: fingers, then the thumb comes round in front of them, then it bends.
    """
    fractions = hand.pose_fractions(pose)
    thumb = np.array([a.name.startswith(("th", "TH")) for a in hand.actuators])
    around = np.array([a.name in THUMB_ROUND for a in hand.actuators])
    return [
        (HandCommand.closing(np.where(moving, fractions, np.nan), speed=0.5, force_limit_n=4.0), 2.0)
        for moving in (~thumb, around, thumb & ~around)
    ]


def grip_moves(hand: HandSpec, pose: str, *, seconds: float) -> list[tuple[Closing, float]]:
    """The same with something to grip: the thumb comes round first, so that it meets the object and not the fingers."""
    fractions = hand.pose_fractions(pose)
    around = np.where([a.name in THUMB_ROUND for a in hand.actuators], fractions, np.nan)
    return [
        (HandCommand.closing(around), 0.7),
        (HandCommand.closing(fractions, speed=0.35, force_limit_n=3.0), max(0.1, seconds - 0.7)),
    ]


def _studio(hand: HandSpec) -> Physics:
    return Physics(WorldConfig(hands=(hand,), scene=STUDIO, mounts={hand.name: UPRIGHT}, profile="ideal"))


def write_png(path: Path, image: Image) -> None:
    """Write an 8-bit RGB picture as PNG."""
    if path.suffix.lower() != ".png":
        raise BadFile(path, "pictures are written as PNG; the name must end in .png")
    with writing(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(encode_png(image))


def choose_backend() -> None:
    """Draw in software where there is no screen and nobody asked for another way."""
    if sys.platform != "linux" or os.environ.get("MUJOCO_GL") or os.environ.get("DISPLAY"):
        return
    try:
        from mujoco.osmesa import GLContext
    except (ImportError, AttributeError, OSError) as error:
        raise NoRenderer(f"OSMesa does not load ({error})") from error
    gl_context.GLContext = GLContext
