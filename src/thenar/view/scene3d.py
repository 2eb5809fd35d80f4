"""The three-dimensional part of the page: bodies, taxels on the skin, contact forces and the glove's skeleton."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import viser
from numpy.typing import NDArray

from thenar import colours
from thenar.hands.charts import taxel_frames
from thenar.hands.rotations import matrix_from_quat_wxyz, quat_wxyz_from_matrix
from thenar.hands.spec import HandSpec
from thenar.view import meshes
from thenar.view.page_scene import PageCamera, PageHand, PageScene

FloatArray = NDArray[np.float64]

MOVED_M, TURNED = 2e-5, 2e-4  # less than this is not seen
LIFT_M = {"face": 0.0018}  # taxels lie this far above the skin: a flat pad is drawn as a slab on the palm
USUAL_LIFT_M = 0.0006
GAP = 0.84  # of the pitch is a taxel, the rest is the gap to the next
ARROW_M_PER_N, MAX_ARROW_M = 0.012, 0.06
BONES = [(0, 1), (0, 5), (0, 9), (0, 13), (0, 17)] + [
    (first + k, first + k + 1) for first in (1, 5, 9, 13, 17) for k in range(3)
]
GLASS = 0.36
FOV_RAD, USUAL_ASPECT = 0.66, 1.0
SKELETON = (64, 156, 255)
BACKGROUND = (120, 128, 144)


class Scene3d:
    """Draws stages, one after the other, on a server."""

    def __init__(self, server: viser.ViserServer):
        """An empty, lit room."""
        self._server = server
        self._clear = True
        self.on_pick: Callable[[str], None] = lambda name: None
        """Is called with the name of an object that a visitor clicks on."""
        self._made: list[viser.SceneNodeHandle] = []
        self.stage: PageScene | None = None
        scene = server.scene
        scene.set_up_direction("+z")
        scene.world_axes.visible = False
        scene.configure_environment_map("studio", environment_intensity=0.17)
        scene.configure_default_lights(enabled=False)
        scene.add_light_directional(
            "/light/sun", color=(255, 247, 236), intensity=1.5, cast_shadow=True, position=(-0.5, -0.6, 1.2)
        )
        scene.add_light_directional("/light/fill", color=(200, 216, 255), intensity=0.5, position=(0.9, 0.3, 0.4))
        scene.set_background_image(_background())

    def show(self, stage: PageScene) -> None:
        """Put another stage in place of the one before."""
        scene = self._server.scene
        with self._server.atomic():
            for handle in self._made:
                handle.remove()
            self._made, self.stage = [], stage
            self._frames = {
                body: scene.add_frame(f"/body/{body}", show_axes=False)
                for body in sorted({part.body for part in stage.parts})
            }
            self._made += self._frames.values()
            self.parts: dict[int, list[viser.MeshHandle]] = {}
            names = {body: name for name, body in stage.props.items()}
            for number, part in enumerate(stage.parts):
                mesh = scene.add_mesh_simple(
                    f"/body/{part.body}/part_{number}",
                    part.vertices_m,
                    part.faces,
                    color=part.rgb,
                    flat_shading=False,
                    side="front",
                )
                self.parts.setdefault(part.body, []).append(mesh)
                if part.body in names:
                    mesh.on_click(lambda _, name=names[part.body]: self.on_pick(name))
            self.see_through(self._clear)
            self._ground(stage)
            self._taxels = {hand.spec.name: _Taxels(scene, hand) for hand in stage.hands if hand.spec.pads}
            nothing = np.zeros((1, 2, 3), dtype=np.float32)
            self._arrows = scene.add_arrows(
                "/contact_forces", nothing, (255, 106, 0), shaft_radius=0.0011, head_radius=0.0030, head_length=0.006
            )
            self._arrows.visible = False
            self._gloves = {hand.spec.name: _Skeleton(scene, hand.spec) for hand in stage.hands}
            self._made += [self._arrows, *[h for glove in self._gloves.values() for h in glove.handles]]
        self._pos = np.full((len(stage.bodies), 3), np.inf)
        self._quat = np.full((len(stage.bodies), 4), np.inf)
        start = self._server.initial_camera
        start.look_at, start.up = stage.camera.look_at_m, (0.0, 0.0, 1.0)
        start.position, start.fov, start.near = _camera_place(stage.camera, USUAL_ASPECT), FOV_RAD, 0.005
        for client in self._server.get_clients().values():
            self._frame(client)

    def welcome(self, client: viser.ClientHandle) -> None:
        """Let a new visitor see all of the stage, and again when the window changes its shape before anybody turned."""
        framed = client.camera.aspect
        self._frame(client)

        @client.camera.on_update
        def _(camera: viser.CameraHandle) -> None:
            nonlocal framed
            if abs(camera.aspect - framed) > 0.02 and self._is_unturned(camera):
                framed = camera.aspect
                self._frame(client)

    def _is_unturned(self, camera: viser.CameraHandle) -> bool:
        """Whether it still looks the way it was set; how far away it is may lag behind a window that is growing."""
        if self.stage is None:
            return False
        look_at_m, away_m = np.array(self.stage.camera.look_at_m), camera.position - camera.look_at
        off = away_m / np.linalg.norm(away_m) - np.array(self.stage.camera.direction)
        return bool(np.abs(camera.look_at - look_at_m).max() < 0.01 and np.abs(off).max() < 0.01)

    def _frame(self, client: viser.ClientHandle) -> None:
        assert self.stage is not None
        camera = client.camera
        with client.atomic():
            # The position comes first: what is looked at moves along with it.
            camera.position = _camera_place(self.stage.camera, camera.aspect or USUAL_ASPECT)
            camera.look_at = np.array(self.stage.camera.look_at_m)

    def see_through(self, on: bool) -> None:
        """Make objects glassy, so that the skin under them and the forces in them are seen."""
        self._clear = on
        assert self.stage is not None
        for body in self.stage.props.values():
            for mesh in self.parts.get(body, []):
                mesh.opacity = GLASS if on else None

    def move(self, motion: NDArray[np.void], *, arrows: bool) -> None:
        """Bring bodies, arrows and skeletons to where they are; what has not moved is left alone."""
        pos, quat = motion["pos_m"], motion["quat_wxyz"]
        for body, frame in self._frames.items():
            if np.abs(pos[body] - self._pos[body]).max() > MOVED_M:
                frame.position = self._pos[body] = pos[body]
            if np.abs(quat[body] - self._quat[body]).max() > TURNED:
                frame.wxyz = self._quat[body] = quat[body]
        self._draw_arrows(motion, arrows)
        for name, glove in self._gloves.items():
            glove.move(motion[name])

    def feel(self, name: str, share: FloatArray, dead: NDArray[np.int64]) -> None:
        """Colour a hand's taxels by their share of full scale."""
        if name in self._taxels:
            self._taxels[name].colour(share, dead)

    def _draw_arrows(self, motion: NDArray[np.void], wanted: bool) -> None:
        count = int(motion["contacts"]) if wanted else 0
        force = motion["contact_n"][:count]
        size = np.linalg.norm(force, axis=1)
        strong = size > 0.05
        if not strong.any():
            if self._arrows.visible:
                self._arrows.visible = False
            return
        length = np.minimum(ARROW_M_PER_N * size[strong], MAX_ARROW_M)
        start = motion["contact_m"][:count][strong]
        along = force[strong] / size[strong, None] * length[:, None]
        self._arrows.points = np.stack([start - along, start], axis=1)  # onto the body that feels it
        if not self._arrows.visible:
            self._arrows.visible = True

    def _ground(self, stage: PageScene) -> None:
        scene = self._server.scene
        wide = 40.0
        corners = np.array([(x * wide, y * wide, stage.ground_m) for x, y in ((-1, -1), (1, -1), (1, 1), (-1, 1))])
        floor = scene.add_mesh_simple(
            "/floor", corners, np.array([(0, 1, 2), (0, 2, 3)]), color=(150, 158, 172), cast_shadow=False, side="double"
        )
        grid = scene.add_grid(
            "/grid",
            width=6.0,
            height=6.0,
            cell_size=0.05,
            section_size=0.25,
            cell_color=(128, 136, 152),
            section_color=(104, 112, 130),
            cell_thickness=0.6,
            section_thickness=0.9,
            fade_distance=2.4,
            position=(0.0, 0.0, stage.ground_m + 0.0006),
        )
        scene.configure_fog(1.2, 5.0, color=BACKGROUND)
        self._made += [floor, grid]


class _Taxels:
    """The taxels of one hand: small tiles on the skin, one batch a link."""

    def __init__(self, scene: viser.SceneApi, hand: PageHand):
        spec = hand.spec
        self._last: dict[int, colours.Colours] = {}
        self._batches: list[tuple[viser.BatchedMeshHandle, slice]] = []
        first = 0
        for pad in spec.pads:
            points, R = taxel_frames(spec, pad)
            vertices, faces = meshes.tile(GAP * pad.row_pitch_m, GAP * pad.col_pitch_m)
            handle = scene.add_batched_meshes_simple(
                f"/body/{hand.link_body[pad.link]}/taxels_{pad.name}",
                vertices,
                faces,
                batched_wxyzs=np.array([quat_wxyz_from_matrix(each) for each in R]),
                batched_positions=points + LIFT_M.get(pad.chart, USUAL_LIFT_M) * R[:, :, 2],
                batched_colors=np.tile(np.array(colours.IDLE, dtype=np.uint8), (pad.taxels, 1)),
                cast_shadow=False,
                receive_shadow=False,
                lod="off",
            )
            self._batches.append((handle, slice(first, first + pad.taxels)))
            first += pad.taxels

    def colour(self, share: FloatArray, dead: NDArray[np.int64]) -> None:
        now = colours.level_colours(share)
        now[dead] = colours.DEAD
        for number, (handle, part) in enumerate(self._batches):
            before = self._last.get(number)
            if before is None or not np.array_equal(before, now[part]):
                self._last[number] = now[part].copy()
                handle.batched_colors = self._last[number]


class _Skeleton:
    """A person's hand beside the robot's: bones and joints, in the robot's palm frame."""

    def __init__(self, scene: viser.SceneApi, spec: HandSpec):
        self._aside = 0.097 if spec.side == "left" else -0.097  # towards the other hand
        self._bones = scene.add_line_segments(
            f"/glove/{spec.name}/bones", np.zeros((len(BONES), 2, 3), np.float32), SKELETON, thickness=0.0035
        )
        self._joints = scene.add_point_cloud(
            f"/glove/{spec.name}/joints", np.zeros((21, 3), np.float32), (255, 255, 255), point_size=0.0055,
            point_shape="circle", precision="float32",
        )  # fmt: skip
        self.handles = [self._bones, self._joints]
        self._show(False)

    def move(self, own: NDArray[np.void]) -> None:
        on = bool(own["glove_on"])
        if on:
            # Glove axes: z to the fingers, y out of the back. Palm frame: y to the fingers, z out of the palm.
            glove = own["glove_m"].astype(np.float64)
            palm = np.stack([glove[:, 0], glove[:, 2], -glove[:, 1]], axis=1)
            R = matrix_from_quat_wxyz(own["palm_quat_wxyz"].astype(np.float64))
            nodes = (palm + np.array([self._aside, -0.01, 0.04])) @ R.T + own["palm_m"]
            self._joints.points = nodes.astype(np.float32)
            self._bones.points = nodes[np.array(BONES)].astype(np.float32)
        if on != self._joints.visible:
            self._show(on)

    def _show(self, on: bool) -> None:
        self._bones.visible = self._joints.visible = on


def _camera_place(camera: PageCamera, aspect: float) -> FloatArray:
    """Where a camera stands that has the whole stage in view."""
    far_m = max(camera.half_high_m, camera.half_wide_m / aspect) / np.tan(FOV_RAD / 2)
    return np.array(camera.look_at_m) + far_m * np.array(camera.direction)


def _background() -> NDArray[np.uint8]:
    """A quiet gradient, darker towards the top and the bottom."""
    rows = np.linspace(-1.0, 1.0, 64)[:, None, None]
    glow = np.exp(-2.0 * (rows + 0.15) ** 2)
    image = np.array(BACKGROUND) - 40 + glow * np.array([70, 72, 76])
    return np.broadcast_to(image, (64, 8, 3)).astype(np.uint8).copy()
