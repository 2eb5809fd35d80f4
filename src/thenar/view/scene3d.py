"""The 3D view of the page: bodies, taxels on the skin, contact forces and the skeleton of a glove."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import viser
from numpy.typing import NDArray

from thenar import display
from thenar.hands.pad_charts import taxel_frames
from thenar.hands.rotations import matrix_from_quat_wxyz, quat_wxyz_from_matrix
from thenar.hands.spec import HandSpec
from thenar.signals import FloatArray
from thenar.view import meshes
from thenar.view.page_scene import FOV_RAD, PageHand, PageScene
from thenar.view.shared_memory import GLOVE_NODES

MIN_MOVE_M, MIN_TURN = 2e-5, 2e-4  # less than this is not seen
TAXEL_LIFT_M, FLAT_TAXEL_LIFT_M = 0.0006, 0.0018  # above the skin; a flat pad is drawn as a slab on the palm
TAXEL_FILL = 0.84  # of the pitch is a taxel, the rest is the gap to the next
ARROW_M_PER_N, MAX_ARROW_M, MIN_ARROW_N = 0.012, 0.06, 0.05
BONES = np.array([(0 if node % 4 == 1 else node - 1, node) for node in range(1, GLOVE_NODES)])
SKELETON_OFFSET_M = np.array([0.097, -0.01, 0.04])  # from a left palm, towards the other hand
SKELETON_COLOR, ARROW_COLOR = (64, 156, 255), (255, 106, 0)
TRANSPARENT = 0.36
GHOST = 0.3
DEFAULT_ASPECT = 1.0
MAX_OFF = 0.01  # in metres and of a direction: a camera further from where it was put was moved by somebody
BACKGROUND = (120, 128, 144)
FLOOR_HALF_M = 40.0


class Scene3d:
    """Draws scenes, one after the other, on a server."""

    def __init__(self, server: viser.ViserServer, scene: PageScene):
        """Lights, background and the first scene."""
        self._server = server
        self._transparent = True
        self.on_pick: Callable[[str], None] = lambda name: None
        """Called with the name of an object that a user clicks on."""
        self._handles: list[viser.SceneNodeHandle] = []
        self._look_at_m = np.full(3, np.inf)
        api = server.scene
        api.set_up_direction("+z")
        api.world_axes.visible = False
        # An image of the surroundings would keep the page dark until it is worked out: half a minute in software.
        api.configure_environment_map(None)
        api.add_light_hemisphere("/light/sky", sky_color=(255, 255, 255), ground_color=(150, 156, 168), intensity=2.3)
        api.configure_default_lights(enabled=False)
        api.add_light_directional(
            "/light/sun", color=(255, 247, 236), intensity=1.5, cast_shadow=True, position=(-0.5, -0.6, 1.2)
        )
        api.add_light_directional("/light/fill", color=(200, 216, 255), intensity=0.5, position=(0.9, 0.3, 0.4))
        api.set_background_image(_background())
        api.configure_fog(1.2, 5.0, color=BACKGROUND)
        self.show(scene)

    def show(self, scene: PageScene) -> None:
        """Put another scene in place of the one before."""
        api = self._server.scene
        with self._server.atomic():
            for handle in self._handles:
                handle.remove()
            self._scene = scene
            self._frames = {
                body: api.add_frame(f"/body/{body}", show_axes=False) for body in {part.body for part in scene.parts}
            }
            self._add_parts(api, scene)
            self._taxels = {hand.spec.name: _Taxels(api, hand) for hand in scene.hands if hand.spec.pads}
            self._arrows = api.add_arrows(
                "/contact_forces", np.zeros((1, 2, 3), dtype=np.float32), ARROW_COLOR,
                shaft_radius=0.0011, head_radius=0.0030, head_length=0.006, visible=False,
            )  # fmt: skip
            self._skeletons = {hand.spec.name: _Skeleton(api, hand.spec) for hand in scene.hands}
            self._handles = [*self._frames.values(), self._arrows, *_add_ground(api, scene.ground_m)]
            self._handles += [handle for skeleton in self._skeletons.values() for handle in skeleton.handles]
        self._pos_m = np.full((len(scene.bodies), 3), np.inf)
        self._quat_wxyz = np.full((len(scene.bodies), 4), np.inf)
        start, before_m = self._server.initial_camera, self._look_at_m
        self._look_at_m, start.position = scene.camera.view(DEFAULT_ASPECT)
        start.look_at, start.up, start.fov, start.near = self._look_at_m, (0.0, 0.0, 1.0), FOV_RAD, 0.005
        if np.abs(self._look_at_m - before_m).max() > MAX_OFF:  # hands elsewhere; else a view somebody chose stays
            for client in self._server.get_clients().values():
                self._aim(client)

    def welcome(self, client: viser.ClientHandle) -> None:
        """Show a new client the whole scene, and again when its window changes shape before the view was turned."""
        aspect = client.camera.aspect
        self._aim(client)

        @client.camera.on_update
        def _(camera: viser.CameraHandle) -> None:
            nonlocal aspect
            if abs(camera.aspect - aspect) > 0.02 and self._is_unturned(camera):
                aspect = camera.aspect
                self._aim(client)

    def set_transparent(self, on: bool) -> None:
        """Make objects transparent, so that the skin under them and the forces in them are seen."""
        self._transparent = on
        for mesh in self._prop_meshes:
            mesh.opacity = TRANSPARENT if on else None

    def move(self, motion: NDArray[np.void], *, arrows: bool) -> None:
        """Bring bodies, arrows and skeletons to where they are; what has not moved is left alone."""
        pos_m, quat_wxyz = motion["pos_m"], motion["quat_wxyz"]
        for body, frame in self._frames.items():
            if np.abs(pos_m[body] - self._pos_m[body]).max() > MIN_MOVE_M:
                frame.position = self._pos_m[body] = pos_m[body]
            if np.abs(quat_wxyz[body] - self._quat_wxyz[body]).max() > MIN_TURN:
                frame.wxyz = self._quat_wxyz[body] = quat_wxyz[body]
        self._draw_arrows(motion, arrows)
        for name, skeleton in self._skeletons.items():
            skeleton.move(motion[name])

    def color_taxels(self, name: str, share: FloatArray, dead: NDArray[np.int64]) -> None:
        """Color a hand's taxels by their share of full scale."""
        if name in self._taxels:
            self._taxels[name].color(share, dead)

    def _add_parts(self, api: viser.SceneApi, scene: PageScene) -> None:
        prop_of = {body: name for name, body in scene.props.items()}
        self._prop_meshes = []
        for number, part in enumerate(scene.parts):
            mesh = api.add_mesh_simple(
                f"/body/{part.body}/part_{number}", part.vertices_m, part.faces, color=part.rgb, side="front"
            )
            if part.body in scene.ghosts:
                mesh.opacity, mesh.cast_shadow = GHOST, False
            if part.body in prop_of:
                mesh.on_click(lambda _, name=prop_of[part.body]: self.on_pick(name))
                self._prop_meshes.append(mesh)
        self.set_transparent(self._transparent)

    def _is_unturned(self, camera: viser.CameraHandle) -> bool:
        """Whether it still looks the way it was set; how far away it is may lag behind a window that is growing."""
        away = _unit(camera.position - camera.look_at)
        return any(
            max(np.abs(camera.look_at - look_at_m).max(), np.abs(away - _unit(pos_m - look_at_m)).max()) < MAX_OFF
            for look_at_m, pos_m in self._scene.camera.views(DEFAULT_ASPECT)
        )

    def _aim(self, client: viser.ClientHandle) -> None:
        look_at_m, pos_m = self._scene.camera.view(client.camera.aspect or DEFAULT_ASPECT)
        with client.atomic():
            client.camera.position = pos_m  # first: what is looked at moves along with it
            client.camera.look_at = look_at_m

    def _draw_arrows(self, motion: NDArray[np.void], wanted: bool) -> None:
        count = int(motion["contacts"]) if wanted else 0
        size_n = np.linalg.norm(motion["contact_n"][:count], axis=1)
        shown = np.flatnonzero(size_n > MIN_ARROW_N)
        if len(shown):
            length_m = np.minimum(ARROW_M_PER_N * size_n[shown], MAX_ARROW_M)
            along_m = motion["contact_n"][shown] * (length_m / size_n[shown])[:, None]
            end_m = motion["contact_m"][shown]  # onto the body that feels it
            self._arrows.points = np.stack([end_m - along_m, end_m], axis=1)
        if self._arrows.visible != bool(len(shown)):
            self._arrows.visible = bool(len(shown))


class _Taxels:
    """The taxels of one hand: small tiles on the skin, one batch a pad."""

    def __init__(self, api: viser.SceneApi, hand: PageHand):
        self._batches: list[tuple[viser.BatchedMeshHandle, slice]] = []
        self._last = np.tile(np.array(display.IDLE, dtype=np.uint8), (hand.spec.taxels, 1))
        first = 0
        for pad in hand.spec.pads:
            points_m, R = taxel_frames(hand.spec, pad)
            own = slice(first, first + pad.taxels)
            handle = api.add_batched_meshes_simple(
                f"/body/{hand.link_body[pad.link]}/taxels_{pad.name}",
                *meshes.tile(TAXEL_FILL * pad.row_pitch_m, TAXEL_FILL * pad.col_pitch_m),
                batched_wxyzs=np.array([quat_wxyz_from_matrix(each) for each in R]),
                batched_positions=points_m + (FLAT_TAXEL_LIFT_M if pad.chart == "face" else TAXEL_LIFT_M) * R[:, :, 2],
                batched_colors=self._last[own],
                cast_shadow=False,
                receive_shadow=False,
                lod="off",
            )
            self._batches.append((handle, own))
            first += pad.taxels

    def color(self, share: FloatArray, dead: NDArray[np.int64]) -> None:
        colors = display.level_colours(share)
        colors[dead] = display.DEAD
        for handle, own in self._batches:
            if not np.array_equal(self._last[own], colors[own]):
                handle.batched_colors = colors[own]
        self._last = colors


class _Skeleton:
    """A human hand beside the robot's: bones and joints, in the robot's palm frame."""

    def __init__(self, api: viser.SceneApi, spec: HandSpec):
        self._offset_m = SKELETON_OFFSET_M * ((1 if spec.side == "left" else -1), 1, 1)
        self._bones = api.add_line_segments(
            f"/glove/{spec.name}/bones", np.zeros((len(BONES), 2, 3), np.float32), SKELETON_COLOR,
            thickness=0.0035, visible=False,
        )  # fmt: skip
        self._joints = api.add_point_cloud(
            f"/glove/{spec.name}/joints", np.zeros((GLOVE_NODES, 3), np.float32), (255, 255, 255), point_size=0.0055,
            point_shape="circle", precision="float32", visible=False,
        )  # fmt: skip
        self.handles = [self._bones, self._joints]

    def move(self, own: NDArray[np.void]) -> None:
        on = bool(own["glove_on"])
        if on:
            # Glove axes: z to the fingers, y out of the back. Palm frame: y to the fingers, z out of the palm.
            palm_m = own["glove_m"][:, [0, 2, 1]] * (1, 1, -1) + self._offset_m
            R = matrix_from_quat_wxyz(own["palm_quat_wxyz"].astype(np.float64))
            nodes_m = (palm_m @ R.T + own["palm_m"]).astype(np.float32)
            self._joints.points, self._bones.points = nodes_m, nodes_m[BONES]
        if on != self._joints.visible:
            self._bones.visible = self._joints.visible = on


def _add_ground(api: viser.SceneApi, height_m: float) -> list[viser.SceneNodeHandle]:
    corners = FLOOR_HALF_M * np.array([(-1, -1, 0), (1, -1, 0), (1, 1, 0), (-1, 1, 0)]) + (0, 0, height_m)
    floor = api.add_mesh_simple(
        "/floor", corners, np.array([(0, 1, 2), (0, 2, 3)]), color=(150, 158, 172), cast_shadow=False, side="double"
    )
    grid = api.add_grid(
        "/grid", width=6.0, height=6.0, cell_size=0.05, section_size=0.25, cell_color=(128, 136, 152),
        section_color=(104, 112, 130), cell_thickness=0.6, section_thickness=0.9, fade_distance=2.4,
        position=(0.0, 0.0, height_m + 0.0006),
    )  # fmt: skip
    return [floor, grid]


def _unit(vector: FloatArray) -> FloatArray:
    return vector / np.linalg.norm(vector)


def _background() -> NDArray[np.uint8]:
    """A quiet gradient, darker towards the top and the bottom."""
    rows = np.linspace(-1.0, 1.0, 64)[:, None, None]
    glow = np.exp(-2.0 * (rows + 0.15) ** 2)
    image = np.array(BACKGROUND) - 40 + glow * np.array([70, 72, 76])
    return np.broadcast_to(image, (64, 8, 3)).astype(np.uint8).copy()
