# type: ignore  # Warp compiles these functions: what they mean is not what a type checker reads

"""Objects of many worlds: what presses on them, dragging and pulling them as `thenar.sim.world_props` does in one."""

from collections.abc import Callable, Sequence
from typing import Any

import mujoco
import numpy as np
import warp as wp

from thenar.batch.device import on_device
from thenar.batch.world_kernels import add_normal_forces
from thenar.errors import look_up
from thenar.hands.rotations import matrix_from_quat_wxyz
from thenar.sim import world_props

STIFFNESS_PER_KG, DAMPING_PER_KG = wp.constant(world_props.STIFFNESS_PER_KG), wp.constant(world_props.DAMPING_PER_KG)
SPIN_DAMPING = wp.constant(world_props.SPIN_DAMPING)
FORCE_N, FORCE_PER_KG = wp.constant(world_props.FORCE_N), wp.constant(world_props.FORCE_PER_KG)


@wp.kernel(enable_backward=False)
def push_objects(
    body: wp.array[int],
    dof: wp.array[int],
    R_bi: wp.array[wp.mat33],
    gravity: wp.vec3,
    drag_to_m: wp.array2d[wp.vec3],
    pull_n: wp.array2d[wp.vec3],
    mass_kg: wp.array2d[float],
    inertia: wp.array2d[wp.vec3],
    xipos: wp.array2d[wp.vec3],
    ximat: wp.array2d[wp.mat33],
    qvel: wp.array2d[float],
    xfrc_applied: wp.array2d[wp.spatial_vector],
):
    """Forces of the next step. Rows of ``mass_kg`` and ``inertia`` are those of worlds, or one for all."""
    world, k = wp.tid()
    b, first, to = body[k], dof[k], drag_to_m[world, k]
    if wp.isnan(to[0]):
        xfrc_applied[world, b] = wp.spatial_vector(pull_n[world, k], wp.vec3())
        return
    mass = mass_kg[world % mass_kg.shape[0], b]
    velocity = wp.vec3(qvel[world, first], qvel[world, first + 1], qvel[world, first + 2])
    spin = wp.vec3(qvel[world, first + 3], qvel[world, first + 4], qvel[world, first + 5])
    force = mass * (STIFFNESS_PER_KG * (to - xipos[world, b]) - DAMPING_PER_KG * velocity)
    force = force * wp.min(1.0, (FORCE_N + FORCE_PER_KG * mass) / wp.max(wp.length(force), 1.0e-12))
    turn = ximat[world, b] * wp.cw_mul(inertia[world % inertia.shape[0], b], wp.transpose(R_bi[k]) * spin)
    xfrc_applied[world, b] = wp.spatial_vector(force - mass * gravity, -SPIN_DAMPING * turn)


@wp.kernel(enable_backward=False)
def set_rows(mask: wp.array[bool], k: int, value: wp.array2d[float], out: wp.array2d[wp.vec3]):
    """Values of one object in some worlds."""
    world = wp.tid()
    if mask[world]:
        out[world, k] = wp.vec3(value[world, 0], value[world, 1], value[world, 2])


@wp.kernel(enable_backward=False)
def let_go(mask: wp.array[bool], number: int, drag_to_m: wp.array2d[wp.vec3], pull_n: wp.array2d[wp.vec3]):
    """Nothing drags or pulls at an object, or where its number is -1 at any, of some worlds."""
    world, k = wp.tid()
    if mask[world] and (number < 0 or number == k):
        drag_to_m[world, k] = wp.vec3(wp.nan, wp.nan, wp.nan)
        pull_n[world, k] = wp.vec3()


@wp.kernel(enable_backward=False)
def place_bodies(
    mask: wp.array[bool],
    body: wp.array[int],
    address: wp.array[int],
    centre_m: wp.array[wp.vec3],
    R_bi: wp.array[wp.mat33],
    qpos: wp.array2d[float],
    xipos: wp.array2d[wp.vec3],
    ximat: wp.array2d[wp.mat33],
):
    """Where objects begin, for the first force on them: the engine finds it out only within its step."""
    world, k = wp.tid()
    if mask[world]:
        a, b = address[k], body[k]
        R_wb = wp.quat_to_matrix(
            wp.quat(qpos[world, a + 4], qpos[world, a + 5], qpos[world, a + 6], qpos[world, a + 3])
        )
        xipos[world, b] = wp.vec3(qpos[world, a], qpos[world, a + 1], qpos[world, a + 2]) + R_wb * centre_m[k]
        ximat[world, b] = R_wb * R_bi[k]


class WorldsProps:
    """Objects of all worlds, by name."""

    def __init__(
        self,
        model: mujoco.MjModel,
        d: Any,
        free: Sequence[str],
        links: Sequence[str],
        *,
        on_first_use: Callable[[], None],
    ):
        """Nothing is dragged; ``on_first_use`` is called before the first force on an object, on the current device.

        Args:
            model: Of one world.
            d: MuJoCo Warp's data.
            free: Objects that can move.
            links: Bodies of hands.
            on_first_use: What to do then.
        """
        self._model, self._d, self._on_first_use = model, d, on_first_use
        self._number, joints = {name: k for k, name in enumerate(free)}, [model.joint(name) for name in free]
        rows = {
            "body": [model.body(name).id for name in free],
            "dof": [joint.dofadr[0] for joint in joints],
            "qpos": [joint.qposadr[0] for joint in joints],
        }
        self._index = {name: wp.array(np.array(row, dtype=np.int32), dtype=int) for name, row in rows.items()}
        bodies = rows["body"]
        R_bi = np.array([matrix_from_quat_wxyz(quat) for quat in model.body_iquat[bodies]]).reshape(-1, 3, 3)
        self._centre_m = wp.array(model.body_ipos[bodies], dtype=wp.vec3)
        self._R_bi = wp.array(R_bi, dtype=wp.mat33)
        """Where objects have their masses, and how these lie: of a mesh neither where nor as its body is."""
        self._gravity, self.count = wp.vec3(*model.opt.gravity), d.nworld
        shape = self.count, len(free)
        self.drag_to_m = wp.full(shape, wp.vec3(wp.nan, wp.nan, wp.nan), dtype=wp.vec3)
        self.pull_n = wp.zeros(shape, dtype=wp.vec3)
        self.in_use = False
        """Whether anything was ever dragged or pulled."""
        self.link_names = tuple(links)
        """Columns of `link_forces_n`."""
        link_of_body = np.full(model.nbody, -1, dtype=np.int32)
        link_of_body[[model.body(name).id for name in links]] = np.arange(len(links))
        self._link_of_body, self._body_of_geom = wp.array(link_of_body), wp.array(model.geom_bodyid)
        self._link_n = wp.zeros((self.count, len(links)))
        self._everyone = wp.ones(self.count, dtype=bool)

    def link_forces_n(self, prop: str) -> Any:
        """Normal force between each link and an object, as of the last step [N]. Shape (worlds, links)."""
        d, out = self._d, self._link_n
        out.zero_()
        self._launch(
            add_normal_forces,
            d.contact.pos.shape[0],
            [self._model.body(prop).id, d.nacon, d.contact.geom, d.contact.efc_address, d.contact.worldid, d.efc.force,
             self._body_of_geom, self._link_of_body, out],
        )  # fmt: skip
        return out

    def drag(self, prop: str, to_m: Any, *, mask: Any = None) -> None:
        """Drag a free object towards places, as hands that hold it would, until it is released or its world reset.

        Args:
            prop: Its name.
            to_m: Where its centre is wanted [m]. Shape (worlds, 3).
            mask: True for the worlds in which it is dragged. Shape (worlds,). None: all of them.
        """
        self._set(prop, on_device("to_m", to_m, (self.count, 3), self._device), self.drag_to_m, mask)

    def pull(self, prop: str, force_n: Any, *, mask: Any = None) -> None:
        """Pull at the middle of a free object with a steady force, until it is released or its world reset.

        Args:
            prop: Its name.
            force_n: The force in the world [N]. Shape (worlds, 3).
            mask: True for the worlds in which it is pulled. Shape (worlds,). None: all of them.
        """
        self._set(prop, on_device("force_n", force_n, (self.count, 3), self._device), self.pull_n, mask)

    def release(self, prop: str | None = None, *, mask: Any = None) -> None:
        """End what drags and pulls at an object, None: at any, in all worlds or where ``mask`` is true."""
        number = -1 if prop is None else look_up(self._number, prop, "object that can move")
        self._launch(let_go, self.pull_n.shape, [self._chosen(mask), number, self.drag_to_m, self.pull_n])

    def begin(self, mask: Any) -> None:
        """Where objects are now is where they begin, and nothing drags or pulls at them."""
        self.release(mask=mask)
        d = self._d
        own = [self._index["body"], self._index["qpos"], self._centre_m, self._R_bi]
        inputs = [mask, *own, d.qpos, d.xipos, d.ximat]
        self._launch(place_bodies, self.pull_n.shape, inputs)

    def write(self, m: Any) -> None:
        """Forces for the engine's next step."""
        d = self._d
        self._launch(
            push_objects,
            self.pull_n.shape,
            [self._index["body"], self._index["dof"], self._R_bi, self._gravity, self.drag_to_m, self.pull_n,
             m.body_mass, m.body_inertia, d.xipos, d.ximat, d.qvel, d.xfrc_applied],
        )  # fmt: skip

    @property
    def _device(self) -> Any:
        return self.pull_n.device

    def _chosen(self, mask: Any) -> Any:
        return self._everyone if mask is None else on_device("mask", mask, (self.count,), self._device, dtype=bool)

    def _set(self, prop: str, rows: Any, out: Any, mask: Any) -> None:
        number, chosen = look_up(self._number, prop, "object that can move"), self._chosen(mask)
        if not self.in_use:
            self.in_use = True
            self._on_first_use()
        ended, nothing = (self.pull_n, 0.0) if out is self.drag_to_m else (self.drag_to_m, wp.nan)
        for values, array in ((rows, out), (wp.full_like(rows, nothing), ended)):
            self._launch(set_rows, self.count, [chosen, number, values, array])

    def _launch(self, kernel: Any, dim: Any, inputs: list[Any]) -> None:
        if np.all(dim):
            wp.launch(kernel, dim=dim, inputs=inputs, device=self._device)
