"""Many copies of one world on one device: commanded, advanced and read as arrays with a row per world."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import mujoco_warp as mjw
import numpy as np
import warp as wp

from thenar.arrays import IntArray
from thenar.batch import motors, wrist_servos
from thenar.batch.device import capacity, device_model, on_device, open_device, without_visuals
from thenar.batch.one_world import make_world, put_world
from thenar.batch.randomizing import (
    NOISES,
    Factors,
    check_factors,
    draw,
    model_rows,
    motor_rows,
    no_factors,
    refuse_meshes,
)
from thenar.batch.row_order import RowOrder
from thenar.batch.snapshots import Snapshot
from thenar.batch.touch.device_touch import Touch, TouchArrays
from thenar.batch.touch.sampled_touch import SampledTouch
from thenar.batch.world_kernels import (
    count_step,
    flag_worlds,
    gather,
    reset_motors,
    reset_worlds,
)
from thenar.batch.worlds_props import WorldsProps
from thenar.errors import BadCommand, BadValue, look_up
from thenar.hands.rotations import quat_wxyz_from_matrix
from thenar.hands.spec import HandSpec, LeadScrew
from thenar.sim import scenes
from thenar.sim.building import name_props, root_pose
from thenar.sim.physics import Physics, check_duration
from thenar.sim.props import Prop
from thenar.sim.scenes import Mount, Scene
from thenar.sim.world_config import Profile, WorldConfig, resolve_hands
from thenar.touch.sensor.calibration import profile_of
from thenar.twin.world import World

Array: TypeAlias = Any  # of Warp, torch, jax or numpy

MAX_WORLDS = 1 << 20


@dataclass(frozen=True, kw_only=True, eq=False)
class WorldsState:
    """What the hands of all worlds report: arrays of Warp on the device, written over by the next reading.

    Torch and jax see them without a copy (``torch.from_dlpack(state.angle_rad)``); ``.numpy()`` copies them.
    Shapes use w = worlds, m = motors, j = joints, hand after hand, and o = objects that can move.
    """

    angle_rad: Array
    """Shape (w, m), like all up to ``error``."""
    velocity_rad_s: Array
    force_n: Array
    torque_nm: Array
    current_a: Array
    temperature_c: Array
    status: Array
    """`thenar.MotorStatus`."""
    error: Array
    """`thenar.MotorError`."""
    joint_rad: Array
    """Shape (w, j)."""
    joint_velocity_rad_s: Array
    """Shape (w, j)."""
    object_pose: Array
    """Positions [m] and quat_wxyz. Shape (w, 7 o)."""
    object_velocity: Array
    """Velocities [m/s] and, in their own frames, angular velocities [rad/s]. Shape (w, 6 o)."""


class Worlds:
    """Hands and objects in many worlds that differ in state, commands and what `randomize` was told.

    >>> worlds = Worlds("inspire_right", count=8192, scene="in_hand")    # doctest: +SKIP
    >>> worlds.command(closed_rad)                                       # doctest: +SKIP
    >>> worlds.advance(0.02)                                             # doctest: +SKIP
    >>> worlds.state().force_n.shape                                     # doctest: +SKIP
    (8192, 6)
    """

    def __init__(
        self,
        hands: str | HandSpec | Sequence[str | HandSpec],
        *,
        count: int,
        props: Iterable[Prop] = (),
        scene: str | Scene = "empty",
        mounts: Mapping[str, Mount] | None = None,
        timestep_s: float = 0.002,
        seed: int = 0,
        profile: Profile = "measured",
        device: str | None = None,
        max_contacts: int | None = None,
        repeatable: bool = False,
    ):
        """Build; time is 0 and every hand is open.

        Args:
            hands: One hand or several, by name or as specs.
            count: Number of worlds.
            props: Things to touch, besides those of the scene.
            scene: Surroundings, by name (`thenar.scenes`) or as a `Scene`.
            mounts: How hands are held, by hand name, where the scene's choice is not wanted.
            timestep_s: Step of the physics [s].
            seed: Of every random number.
            profile: ``measured`` has the latency, overshoot and noise of a real hand, ``ideal`` has none.
            device: ``cuda:0``, ``cpu``...; None: the first GPU, or the CPU where there is none.
            max_contacts: Contacts that a world has room for on average; None: as many as closing hands have, and half
                as many again. A world that needs more is flagged, see `flags`.
            repeatable: The same seed and commands give the same bits again, on the same kind of GPU. Steps then take
                many times as long.
        """
        if not (isinstance(count, int) and 1 <= count <= MAX_WORLDS):
            raise BadValue("count", count, f"a number of worlds from 1 to {MAX_WORLDS}")
        if max_contacts is not None and not (isinstance(max_contacts, int) and max_contacts > 0):
            raise BadValue("max_contacts", max_contacts, "a whole number above 0")
        self.count, self.timestep_s, self._seed = count, timestep_s, seed
        self.device = open_device(device)
        """Warp's device."""
        self.config = WorldConfig(
            hands=resolve_hands(hands), props=tuple(props), scene=scenes.load(scene), mounts=mounts or {},
            timestep_s=timestep_s, seed=seed, profile=profile,
        )  # fmt: skip
        bare = replace(self.config, hands=tuple(without_visuals(hand) for hand in self.config.hands))
        physics = Physics(bare)
        self.hand_names = physics.hand_names
        specs = list(self.config.specs.values())
        self.actuator_names = tuple(f"{spec.name}/{name}" for spec in specs for name in spec.actuator_names)
        """In the order of columns."""
        self.joint_names = tuple(f"{spec.name}/{name}" for spec in specs for name in spec.joint_names)
        self.object_names = tuple(name for name in physics.props.names if physics.props.is_free(name))
        contacts, constraints = capacity(physics, max_contacts)
        self.model = device_model(physics.model)
        """The model of one world, as MuJoCo has it."""
        per_world = {"dof_damping": count, "tendon_damping": count}
        with wp.ScopedDevice(self.device):
            self.m = mjw.put_model(self.model, batch_sizes=per_world)
            self.m.opt.warn_overflow = False  # flagged instead
            self.d = mjw.put_data(self.model, physics.data, nworld=count, nconmax=contacts, njmax=constraints)
            self._order = RowOrder(self.m, self.d) if repeatable else None
            self._set_up_motors(physics, [actuator for spec in specs for actuator in spec.actuators])
            self._set_up_wrists(physics)
            self._set_up_readings(physics)
        self._graphs: dict[tuple[int, int, bool], Any] = {}
        self._skins: dict[str, SampledTouch] = {}
        self._feels, self._skin_numbers = True, np.arange(count)
        self._residual_s, self._steps, self._draws = 0.0, 0, 0
        self._props = name_props((*self.config.scene.props, *self.config.props), self.config.specs)
        self._places: dict[str, Any] = {}
        self.factors = no_factors(count, len(self._props), len(self._actuators))
        """What `randomize` has drawn."""
        self.advance(timestep_s)  # compiles every kernel
        self._step.zero_()
        self._steps = 0
        self.reset()

    def _set_up_motors(self, physics: Physics, actuators: list[Any]) -> None:
        dt_s, bank = self.timestep_s, physics.motors
        loose = [actuator.name for actuator in actuators if getattr(actuator.motor, "backlash", 0.0)]
        if loose:
            raise BadValue("backlash of", ", ".join(loose), "0: motors on the device have none")
        self._actuators = actuators
        drives, slots = motors.drive_records(bank, self.hand_names, dt_s)
        n = len(actuators)
        self._usual_motors = motors.motor_records(actuators, dt_s), drives
        self._drives = wp.array(drives[None], dtype=motors.Drive)
        self._motor_params = wp.array(self._usual_motors[0][None], dtype=motors.Motor)
        self._motor_rest = wp.array(motors.rest_records(actuators), dtype=motors.MotorState)
        self._motor_state = wp.zeros((self.count, n), dtype=motors.MotorState)
        self._pending = wp.zeros((self.count, n, slots), dtype=motors.Pending)
        self._step = wp.zeros(1, dtype=int)
        self._keep = wp.full((self.count, n), wp.nan, dtype=float)

    def _set_up_wrists(self, physics: Physics) -> None:
        records = physics.wrists.records
        self.wrist_names = tuple(name for name in self.hand_names if physics.wrists.is_driven(name))
        """Hands with a driven wrist, in the order of rows of `move_wrists`."""
        made = motors.new_records(wrist_servos.Wrist, len(records))
        for name in ("qpos", "dof", "body", "mass_kg"):
            made[name] = records[name]
        for record, name in zip(made, self.wrist_names, strict=True):
            offset, R_pr = root_pose(self.config.specs[name], Mount())
            record["root_m"], record["root_quat"] = offset, np.roll(quat_wxyz_from_matrix(R_pr), -1)
        self._wrists = wp.array(made, dtype=wrist_servos.Wrist)
        self._wrist_rest = wp.array(wrist_servos.rest_records(records), dtype=wrist_servos.WristState)
        self._wrist_state = wp.zeros((self.count, len(records)), dtype=wrist_servos.WristState)
        self._gravity = wp.vec3(*physics.model.opt.gravity)

    def _set_up_readings(self, physics: Physics) -> None:
        model, n = self.model, len(self._actuators)
        joints = [model.joint(name) for name in self.joint_names]
        objects = [model.joint(name) for name in self.object_names]
        index = {
            "joint_rad": [joint.qposadr[0] for joint in joints],
            "joint_velocity_rad_s": [joint.dofadr[0] for joint in joints],
            "object_pose": [joint.qposadr[0] + k for joint in objects for k in range(7)],
            "object_velocity": [joint.dofadr[0] + k for joint in objects for k in range(6)],
        }
        self._index = {name: wp.array(np.array(rows, dtype=np.int32), dtype=int) for name, rows in index.items()}
        floats = ("angle_rad", "velocity_rad_s", "force_n", "torque_nm", "current_a", "temperature_c")
        self._state = WorldsState(
            **{name: wp.zeros((self.count, n), dtype=float) for name in floats},
            **{name: wp.zeros((self.count, n), dtype=int) for name in ("status", "error")},
            **{name: wp.zeros((self.count, len(rows)), dtype=float) for name, rows in index.items()},
        )
        self._rest_qpos = wp.array(np.tile(physics.data.qpos.astype(np.float32), (self.count, 1)))
        links = [f"{spec.name}/{link.name}" for spec in self.config.specs.values() for link in spec.links]
        self.props = WorldsProps(model, self.d, self.object_names, links, on_first_use=self._capture_anew)
        """Objects: what presses on them, and how to drag and pull at them."""
        self._rest_com = wp.array(physics.data.subtree_com.astype(np.float32), dtype=wp.vec3)
        self._everyone = wp.ones(self.count, dtype=bool)
        self._flags = wp.zeros(self.count, dtype=int)

    def command(
        self, target_rad: Array, *, speed_rad_s: Array | None = None, force_limit_n: Array | None = None
    ) -> None:
        """Send a command to every motor; it acts after the latency of its hand.

        Args:
            target_rad: Targets [rad]; NaN holds, infinity stops where it is. Shape (worlds, motors), or (motors,) for
                all worlds alike.
            speed_rad_s: Speeds [rad/s]; NaN keeps; None keeps all.
            force_limit_n: Force limits [N]; NaN keeps; None keeps all.
        """
        named = {"target_rad": target_rad, "speed_rad_s": speed_rad_s, "force_limit_n": force_limit_n}
        shape = (self.count, len(self._actuators))
        values = [
            self._keep if value is None else on_device(name, value, shape, self.device) for name, value in named.items()
        ]
        self._launch(
            motors.send_commands,
            shape,
            [*values, self._drives, self._step, self._seed, self._motor_state, self._pending],
        )

    def move_wrists(self, pos_m: Array, quat_wxyz: Array | None = None) -> None:
        """Send driven wrists to poses of their palm frames, at a limited speed.

        Args:
            pos_m: Positions [m]; NaN keeps. Shape (worlds, wrists, 3), wrists as in `wrist_names`.
            quat_wxyz: Orientations, w first; NaN or None keeps. Shape (worlds, wrists, 4).
        """
        shape = (self.count, len(self.wrist_names))
        if not self.wrist_names:
            raise BadCommand("no wrist is driven; give a hand a Mount(driven=True), or take a scene that does")
        pos = on_device("pos_m", pos_m, (*shape, 3), self.device)
        if quat_wxyz is None:
            quat_wxyz = np.full((*shape, 4), np.nan)
        quat = on_device("quat_wxyz", quat_wxyz, (*shape, 4), self.device)
        self._launch(wrist_servos.send_wrists, shape, [pos, quat, self._wrists, self._wrist_state])

    def advance(self, seconds: float) -> None:
        """Let simulated time pass, in whole steps; what is left over counts for the next call.

        On a GPU the steps of one call are one graph, captured when a number of steps comes up for the first time.
        """
        check_duration(seconds)
        residual_s = self._residual_s + seconds
        steps = round(residual_s / self.timestep_s)
        self._residual_s = residual_s - steps * self.timestep_s
        if not steps:
            return
        begin = self._steps % math.lcm(*(skin.period for skin in self._skins.values() if skin.period))
        self._steps += steps
        with wp.ScopedDevice(self.device):
            if not self.device.is_cuda or not self._graphs:
                self._run(begin, steps)  # the first time nothing can be captured: modules are loaded on the way
                self._graphs.setdefault((0, 0, True), None)
                return
            key = begin, steps, self._feels
            if key not in self._graphs:
                with wp.ScopedCapture(device=self.device) as capture:
                    self._run(begin, steps)
                self._graphs[key] = capture.graph
            wp.capture_launch(self._graphs[key])

    def _run(self, begin: int, steps: int) -> None:
        """Steps that begin at this one of the skins' clock."""
        for step in range(begin + 1, begin + steps + 1):
            self.drive()
            mjw.step(self.m, self.d)
            wp.launch(count_step, dim=1, inputs=[self._step])
            for skin in self._skins.values() if self._feels else ():
                skin.after_step(step, last=step == begin + steps)
        wp.launch(flag_worlds, dim=self.count, inputs=[self.d.qpos, self.d.overflow, self._flags])

    def drive(self) -> None:
        """Write the controls, dampings and wrist forces of the next step, for a loop of one's own."""
        m, d = self.m, self.d
        if self.props.in_use:
            self.props.write(m)
        if self.wrist_names:
            wp.launch(
                wrist_servos.hold_wrists,
                dim=(self.count, len(self.wrist_names)),
                inputs=[self._wrists, self._gravity, self.timestep_s, d.qpos, d.subtree_com],
                outputs=[self._wrist_state, d.qfrc_applied],
            )
        wp.launch(
            motors.step_motors,
            dim=(self.count, len(self._actuators)),
            inputs=[self._motor_params, self._drives, self._step, self.timestep_s, d.qpos],
            outputs=[self._motor_state, self._pending, d.ctrl, m.dof_damping, m.tendon_damping],
        )

    def state(self) -> WorldsState:
        """What the hands report now. Reading twice at one time gives the same values."""
        d, state = self.d, self._state
        readings = [getattr(state, name) for name in list(WorldsState.__dataclass_fields__)[:8]]
        self._launch(
            motors.read_motors,
            (self.count, len(self._actuators)),
            [self._motor_params, self._drives, self._step, self._seed, d.qpos, d.qvel, self._motor_state, *readings],
        )
        for name, index in self._index.items():
            source = d.qvel if "velocity" in name else d.qpos
            self._launch(gather, (self.count, index.shape[0]), [source, index, getattr(state, name)])
        return state

    def touch(self, hand: str | None = None) -> TouchArrays:
        """What the skin of a hand feels; from the first call on it is felt while worlds `advance`.

        It is read at the rate of its sensor and delivered with its latency; one without a rate is read at the end of
        every `advance`.

        Args:
            hand: Its name; None: the first with pads.
        """
        if hand is None:
            hand = next((name for name in self.hand_names if self.config.specs[name].pads), self.hand_names[0])
        if hand not in self._skins:
            spec = look_up(self.config.specs, hand, "hand in these worlds")
            calibration = profile_of(spec, self.config.profile)
            touch = Touch(
                self.model, spec, self.m, self.d, calibration=calibration, flags=self._flags,
                seed=self._seed + list(self.config.specs).index(hand),
            )  # fmt: skip
            touch.sensor.number_skins(self._skin_numbers)
            self._skins[hand] = SampledTouch(touch, calibration, self.timestep_s)
            self._randomize_skin(hand)
            self._capture_anew()
        return self._skins[hand].arrays

    def pause_touch(self) -> None:
        """Read no skin until `begin_touch`: in the grasp, say, with which an episode begins."""
        self._feels = False

    def begin_touch(self) -> None:
        """Read skins now, as if nothing had touched them before, and at their rates from now on."""
        for skin in self._skins.values():
            skin.forget(self._everyone)
            skin.touch.update()
        self._feels, self._steps = True, 0

    def number_skins(self, numbers: Sequence[int] | IntArray) -> None:
        """Draw gain and offset of every taxel by numbers of one's own, equal ones alike; else by those of worlds.

        Args:
            numbers: Not below 0. Shape (worlds,).
        """
        whole = np.asarray(numbers)
        if whole.shape != (self.count,) or whole.dtype.kind not in "iu" or whole.min() < 0:
            raise BadValue("numbers", numbers, f"{self.count} whole numbers not below 0")
        self._skin_numbers = whole.copy()
        for skin in self._skins.values():
            skin.touch.sensor.number_skins(whole)

    def randomize(
        self,
        *,
        mass: float = 0.0,
        friction: float = 0.0,
        size: float = 0.0,
        motors: float = 0.0,
        skin: float = 0.0,
        noise: float = 0.0,
        mask: Array | None = None,
    ) -> None:
        """Let worlds differ: a spread of 0.3 draws factors from 1/1.3 to 1.3, as many above 1 as below; 0 keeps.

        What was drawn stands in `factors`. The same seed gives a world the same factors, however many worlds there
        are. Best before `reset`: objects that grow do so where they are.

        Args:
            mass: Of every object's mass.
            friction: Of every object's friction.
            size: Of every object's size; its mass stays.
            motors: Of stiffness, strength and latency of every motor, each by itself.
            skin: Of stiffness and gain of the skin.
            noise: Of the noise of angles, forces and taxels.
            mask: True for the worlds that get other factors. Shape (worlds,). None: all of them.
        """
        if size:
            refuse_meshes(self._props)
        chosen = self._chosen(mask)
        spreads = {"mass": mass, "friction": friction, "size": size, "motors": motors, "skin": skin, "noise": noise}
        self.factors = draw(
            self.factors, spreads, mask=np.asarray(chosen.numpy(), dtype=bool), seed=self._seed, count=self._draws
        )
        self._draws += 1
        objects = bool(mass or friction or size)
        self._apply_factors(objects=objects, motors=bool(motors or noise), skins=bool(skin or noise))

    def set_factors(self, factors: Factors) -> None:
        """Let worlds differ by factors of one's own, in place of drawn ones; see `randomize`."""
        check_factors(factors, self.factors)
        if not np.all(factors.size == 1.0):
            refuse_meshes(self._props)
        self.factors = factors
        self._apply_factors(objects=True, motors=True, skins=True)

    def _apply_factors(self, *, objects: bool, motors: bool, skins: bool) -> None:
        if self.config.profile == "ideal":  # such a screw is as strong as it reports
            screws = [isinstance(one.motor, LeadScrew) for one in self._actuators]
            self.factors = replace(self.factors, strength=np.where(screws, 1.0, self.factors.strength))
        with wp.ScopedDevice(self.device):
            if objects:
                names = [prop.name for prop in self._props]
                for name, rows in model_rows(self.model, names, self.factors).items():
                    setattr(self.m, name, self._own_rows(getattr(self.m, name), rows.astype(np.float32)))
            if motors:
                params, drives = motor_rows(*self._usual_motors, self.factors)
                self._motor_params = self._own_rows(self._motor_params, params)
                self._drives = self._own_rows(self._drives, drives)
        for hand in self._skins if skins else ():
            self._randomize_skin(hand)

    def place(self, prop: str, pos_m: Array) -> None:
        """Let an object begin elsewhere in every world, from the next `reset` on; a fixed one is there at once.

        Args:
            prop: Its name.
            pos_m: Its places [m]. Shape (worlds, 3).
        """
        body = self.model.body(look_up({one.name: one.name for one in self._props}, prop, "object in these worlds"))
        rows = self._places[prop] = on_device("pos_m", pos_m, (self.count, 3), self.device).numpy().copy()
        if body.dofnum[0]:
            first = self.model.jnt_qposadr[body.jntadr[0]]
            begin = self._rest_qpos.numpy()
            begin[:, first : first + 3] = rows
            self._rest_qpos.assign(begin)
            return
        places = np.repeat(self.model.body_pos[None].astype(np.float32), self.count, axis=0)
        if self.m.body_pos.shape[0] == self.count:
            places = self.m.body_pos.numpy()
        places[:, body.id] = rows
        with wp.ScopedDevice(self.device):
            self.m.body_pos = self._own_rows(self.m.body_pos, places)

    def _chosen(self, mask: Array | None) -> Array:
        return self._everyone if mask is None else on_device("mask", mask, (self.count,), self.device, dtype=bool)

    def snapshot(self) -> Snapshot:
        """Room to keep what worlds are like, of each at its own time; see `save` and `restore`."""
        d, m = self.d, self.m
        arrays = [
            d.qpos, d.qvel, d.qacc_warmstart, d.qfrc_applied, d.xfrc_applied, d.ctrl, d.subtree_com, d.xipos, d.ximat,
            d.time, d.overflow, self._flags, m.dof_damping, m.tendon_damping, self._motor_state, self._wrist_state,
            self._pending, self.props.drag_to_m, self.props.pull_n,
            *(array for skin in self._skins.values() for array in skin.rows()),
        ]  # fmt: skip
        return Snapshot(arrays, self._pending, self._step)

    def _capture_anew(self) -> None:
        self._graphs = {(0, 0, True): None}

    def _own_rows(self, array: Array, rows: Any) -> Array:
        """An array with a row per world; where it had one for all, graphs that read it are captured anew."""
        if array.shape[0] == self.count > 1:
            array.assign(rows)
            return array
        self._capture_anew()
        return wp.array(rows, dtype=array.dtype)

    def _randomize_skin(self, hand: str) -> None:
        touch = self._skins[hand].touch
        touch.stiffen(self.factors.skin_stiffness[:, 0])
        touch.sensor.scale(self.factors.skin_gain[:, 0], self.factors.skin_noise[:, 0])

    def flags(self) -> Array:
        """What went wrong in each world since its last reset, as bits of `batch.Flag`. Shape (worlds,)."""
        return self._flags

    def reset(self, mask: Array | None = None, *, noise: int | None = None) -> None:
        """Back to time 0: hands open, objects where they began, motors cool.

        Args:
            mask: True for the worlds to reset. Shape (worlds,). None: all of them, and skins are read from now on.
            noise: Of all worlds: the number with which noise goes on, the same again for the same number. None: it
                goes on as it was.
        """
        if noise is not None and (mask is not None or not 0 <= noise < NOISES):
            raise BadValue("noise", noise, f"a number from 0 to {NOISES - 1}, where all worlds are reset")
        chosen, d = self._chosen(mask), self.d
        self._launch(
            reset_worlds,
            (self.count,),
            [chosen, self._rest_qpos, self._rest_com, d.qpos, d.qvel, d.qacc_warmstart, d.qfrc_applied, d.subtree_com,
             d.time, d.overflow, self._flags],
        )  # fmt: skip
        self._launch(
            reset_motors,
            (self.count,),
            [chosen, self._motor_rest, self._wrist_rest, self._motor_state, self._wrist_state],
        )
        self.props.begin(chosen)
        for skin in self._skins.values():
            skin.forget(chosen)
        if mask is None:
            self._residual_s, self._steps = 0.0, 0
            d.nacon.zero_()  # what touched is far away now
        if noise is not None:
            self._step.fill_(noise)
            for skin in self._skins.values():
                skin.touch.sensor.restart_noise(noise)

    def save(self, snapshot: Snapshot, mask: Array | None = None) -> None:
        """Keep what worlds are like now.

        Args:
            snapshot: Of `snapshot`.
            mask: True for the worlds that are kept. Shape (worlds,). None: all of them.
        """
        snapshot.save(self._chosen(mask))

    def restore(self, snapshot: Snapshot, mask: Array | None = None) -> None:
        """Let worlds be again what a snapshot of these worlds has kept of them; skins lay their patches anew.

        Args:
            snapshot: Of `snapshot`, with something kept of each of them.
            mask: True for the worlds to restore. Shape (worlds,). None: all of them.
        """
        chosen = self._chosen(mask)
        for skin in self._skins.values():
            skin.forget(chosen)
        snapshot.restore(chosen)

    def one(self, number: int) -> World:
        """One of the worlds as a `World` on the CPU, where it is now: to look at and to check."""
        if not 0 <= number < self.count:
            raise BadValue("number", number, f"a world from 0 to {self.count - 1}")
        world = make_world(self.config, self.factors, self._props, self._places, number)
        d, m = self.d, self.m
        arrays = {name: getattr(d, name) for name in ("qpos", "qvel", "ctrl", "time", "subtree_com", "xipos", "ximat")}
        arrays |= {"dof_damping": m.dof_damping, "tendon_damping": m.tendon_damping}
        arrays |= {"motors": self._motor_state, "pending": self._pending, "wrists": self._wrist_state}
        row = {name: self._row(array, number) for name, array in arrays.items()}
        put_world(world, row, now=int(self._step.numpy()[0]), dt_s=self.timestep_s)
        drags, pulls = self._row(self.props.drag_to_m, number), self._row(self.props.pull_n, number)
        for name, to_m, pull_n in zip(self.object_names, drags, pulls, strict=True):
            if not np.isnan(to_m[0]):
                world.props.drag(name, to_m)
            elif pull_n.any():
                world.props.pull(name, pull_n)
        return world

    def _row(self, array: Array, number: int) -> Any:
        return array[number : number + 1].numpy()[0] if array.size else array.numpy()[0:0].reshape(array.shape[1:])

    def _launch(self, kernel: Any, shape: tuple[int, ...], inputs: list[Any]) -> None:
        if all(shape):
            wp.launch(kernel, dim=shape, inputs=inputs, device=self.device)
