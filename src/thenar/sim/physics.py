"""The world: load hands and things, command them, advance time, read back what the real hand would report."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, Self

import mujoco
import numpy as np
from numpy.typing import ArrayLike, NDArray

from thenar import hands as catalogue
from thenar.errors import BadCommand, BadValue, SimulationDiverged, UnknownName
from thenar.hands.rotations import quat_wxyz_from_matrix
from thenar.hands.spec import Actuator, HandSpec, LeadScrew
from thenar.signals import Closing, ContactSet, HandCommand, HandSettings, HandState, MotorError
from thenar.sim import motors as actuation
from thenar.sim import scenes, wrist
from thenar.sim.building import Carrier, Plan, compile_model, name_props, root_pose
from thenar.sim.contacts import read_contacts
from thenar.sim.props import Prop
from thenar.sim.pull import Pulls
from thenar.sim.scenes import Mount, Scene

Profile = Literal["measured", "ideal"]
Fault = Literal["jam", "hot", "motor", "communication"]
FloatArray = NDArray[np.float64]

STATE = mujoco.mjtState.mjSTATE_INTEGRATION
CHECK_EVERY_STEPS = 250
HOT_C = 8.0  # a motor that is made hot is this far above where it switches off
KEEP_EVERY_S = 0.1  # how often a state to come back to is kept
LATENCY_STREAM, READING_STREAM = 0, 1  # of random numbers


@dataclass(frozen=True, kw_only=True, eq=False)
class Snapshot:
    """Everything a world needs to go on from an instant exactly as it did before."""

    physics: FloatArray
    motors: NDArray[np.void]
    pending: NDArray[np.void]
    damping: FloatArray
    """Of joints and tendons, which the motors set at every step."""
    names: tuple[str, ...]
    """Hands and objects of the world it was taken of."""
    steps: int
    owed_s: float
    commands: tuple[int, ...]
    wrists: NDArray[np.void]


@dataclass(frozen=True, kw_only=True, eq=False)
class _Seat:
    """Where one hand sits in the arrays of the world."""

    spec: HandSpec
    motors: slice
    joint_qpos: NDArray[np.int64]
    joint_dof: NDArray[np.int64]
    angle_noise_rad: FloatArray
    force_noise_n: FloatArray
    latency_s: float
    latency_spread_s: float
    wrist: int
    """Number of the hand among the driven wrists; -1 when the hand is fixed."""
    root_body: int


class World:
    """Hands and objects in one simulation.

    >>> world = World("inspire_right")
    >>> world.command("inspire_right", HandCommand.closing(0.5))
    >>> world.advance(1.0)
    >>> world.state("inspire_right").angle_rad.shape
    (6,)
    """

    def __init__(
        self,
        hands: str | HandSpec | Sequence[str | HandSpec],
        *,
        props: Iterable[Prop] = (),
        scene: str | Scene = "empty",
        mounts: Mapping[str, Mount] | None = None,
        timestep_s: float = 0.002,
        seed: int = 0,
        profile: Profile = "measured",
        carrier: Carrier | None = None,
    ):
        """Build and settle nothing: time is 0 and every hand is open.

        Args:
            hands: One hand or several, by name or as specs.
            props: Things to touch, besides those of the scene.
            scene: Surroundings, by name (`thenar.scenes`) or as a `Scene`.
            mounts: How hands are held, by hand name, where the scene's choice is not wanted.
            timestep_s: Step of the physics [s].
            seed: Of every random number.
            profile: ``measured`` has the latency, overshoot and noise of a real hand, ``ideal`` has none.
            carrier: A machine that holds the hands; without one they are on mounts of their own.
        """
        if not (isinstance(timestep_s, (int, float)) and 1e-5 <= timestep_s <= 0.01):
            raise BadValue("timestep_s", timestep_s, "seconds from 0.00001 to 0.01")
        if profile not in ("measured", "ideal"):
            raise UnknownName("profile", profile, ("measured", "ideal"))
        if not isinstance(scene, (str, Scene)):
            raise BadValue("scene", scene, f"a Scene or one of {', '.join(scenes.names())}")
        if isinstance(props, Prop):
            raise BadValue("props", props, "a list of objects")
        if not isinstance(hands, (str, HandSpec, Sequence)):
            raise BadValue("hands", hands, "a hand's name, a HandSpec, or a list of them")
        if not isinstance(seed, int):
            raise BadValue("seed", seed, "a whole number")
        chosen = [hands] if isinstance(hands, (str, HandSpec)) else list(hands)
        if not chosen and carrier is None:
            raise BadValue("hands", hands, f"at least one of {', '.join(catalogue.names())}")
        specs = [catalogue.load(hand) if isinstance(hand, str) else hand for hand in chosen]
        doubled = {spec.name for spec in specs if sum(s.name == spec.name for s in specs) > 1}
        if doubled:
            raise BadValue("hands", sorted(doubled), "every hand once, or specs with names of their own")
        if profile == "ideal":
            specs = [_ideal(spec) for spec in specs]
        scene = scenes.load(scene) if isinstance(scene, str) else scene
        held = _mounts(specs, scene, mounts or {}) if carrier is None else {spec.name: Mount() for spec in specs}
        # What it was made of, so that another like it can be made.
        self._recipe: dict[str, Any] = {
            "hands": chosen,
            "props": tuple(props),
            "scene": scene,
            "mounts": mounts,
            "timestep_s": timestep_s,
            "seed": seed,
            "profile": profile,
            "carrier": carrier,
        }
        self.timestep_s = timestep_s
        self.seed = seed
        self.profile: Profile = profile
        plan = Plan(
            hands=tuple(specs),
            mounts=held,
            props=name_props((*scene.props, *self._recipe["props"])),
            scene=scene,
            timestep_s=timestep_s,
            carrier=carrier,
        )
        self.model = compile_model(plan)
        self._carrier_rest = {} if carrier is None else dict(carrier.rest_rad)
        self.data = mujoco.MjData(self.model)
        self.hand_names = tuple(spec.name for spec in specs)
        self.prop_names = tuple(prop.name for prop in plan.props)
        actuators = [actuator for spec in specs for actuator in spec.actuators]
        self._params = actuation.motor_params(actuators)
        self._rest = actuation.motor_state(actuators)
        self._drives = _drives(self.model, specs)
        self._pulls = Pulls(self.model, self.data)
        self._resting_wrists = _wrists(self.model, specs, held)
        self._seats = _seats(self.model, specs, held)
        self._angle_rad = np.zeros((1, len(actuators)))
        self._torque_nm = np.zeros((1, len(actuators)))
        self._damping_nms_rad = np.zeros((1, len(actuators)))
        self.reset()

    @property
    def time_s(self) -> float:
        """Time of the twin's clock [s]."""
        return self._steps * self.timestep_s

    def hand(self, name: str) -> HandSpec:
        """The spec of a hand of this world."""
        return self._seat(name).spec

    def reset(self) -> None:
        """Back to time 0: hands open, objects where they began, motors cool."""
        mujoco.mj_resetData(self.model, self.data)
        self._pulls.let_go()
        for joint, angle in self._carrier_rest.items():
            self.data.joint(joint).qpos[0] = angle
        for seat in self._seats.values():
            for qpos, angle in zip(seat.joint_qpos, seat.spec.joint_angles(seat.spec.open_rad).values(), strict=True):
                self.data.qpos[qpos] = angle
        self._motors, self._pending = (array.copy() for array in self._rest)
        self._steps = 0
        self._owed_s = 0.0  # time asked for that is not yet a whole step
        self._commands = dict.fromkeys(self.hand_names, 0)
        self._wrists = self._resting_wrists.copy()
        mujoco.mj_forward(self.model, self.data)
        self._contacts_s = 0.0
        self._kept = self.snapshot()

    def command(self, hand: str, command: HandCommand | Closing) -> None:
        """Send a command to a hand. It acts after the hand's latency; a refused one changes nothing.

        Args:
            hand: Name of the hand.
            command: Targets, speeds and force limits; values beyond what the motor can do are clamped to it.
        """
        seat = self._seat(hand)
        spec = seat.spec
        if not isinstance(command, (HandCommand, Closing)):
            raise BadCommand(f"a command is a HandCommand, not {command!r}; use HandCommand.to(...) or .closing(...)")
        if isinstance(command, Closing):
            command = command.in_radians(
                open_rad=spec.open_rad, closed_rad=spec.closed_rad, top_speed_rad_s=spec.top_speed_rad_s
            )
        fields = {
            "target_rad": command.target_rad,
            "speed_rad_s": command.speed_rad_s,
            "force_limit_n": command.force_limit_n,
        }
        values = {name: np.asarray(field, dtype=np.float64) for name, field in fields.items()}
        for name, array in values.items():
            _check_command(hand, spec, name, array)
        latency = seat.latency_s
        if seat.latency_spread_s > 0.0:
            draw = self._random(LATENCY_STREAM, hand, self._commands[hand]).standard_normal()
            latency += seat.latency_spread_s * float(np.clip(draw, -2.0, 2.0))
        actuation.push_command(
            self._motors[:, seat.motors],
            self._pending[:, seat.motors],
            values["target_rad"][None],
            values["speed_rad_s"][None],
            values["force_limit_n"][None],
            self.time_s + latency,
        )
        self._commands[hand] += 1

    def move_wrist(self, hand: str, *, pos_m: ArrayLike | None = None, quat_wxyz: ArrayLike | None = None) -> None:
        """Send a driven wrist to a pose of the palm frame; it goes there at a limited speed.

        Args:
            hand: Name of a hand with a driven mount.
            pos_m: Centre of the palm in the world [m]; None keeps it.
            quat_wxyz: Orientation of the palm frame in the world, w first; None keeps it.
        """
        seat = self._seat(hand)
        if seat.wrist < 0:
            raise BadCommand(f"the wrist of {hand} is fixed; give it a Mount(driven=True) to move it")
        record = self._wrists[seat.wrist]
        goal_pos, goal_quat = _palm_pose(seat.spec, record["goal_m"], record["goal_quat"])
        pos, quat = _checked_pose(goal_pos if pos_m is None else pos_m, goal_quat if quat_wxyz is None else quat_wxyz)
        record["goal_m"], record["goal_quat"] = _root_goal(seat.spec, pos, quat)

    def wrist(self, hand: str) -> tuple[FloatArray, FloatArray]:
        """Where a hand's palm frame is: position [m] and quat_wxyz in the world."""
        seat = self._seat(hand)
        if seat.wrist < 0:
            return _palm_pose(seat.spec, self.data.xpos[seat.root_body], self.data.xquat[seat.root_body])
        pose = self.data.qpos[self._wrists["qpos"][seat.wrist] :][:7]
        return _palm_pose(seat.spec, pose[:3], pose[3:])

    def advance(self, seconds: float) -> None:
        """Let simulated time pass, in whole steps of the physics; what is left over counts for the next call."""
        if not (isinstance(seconds, (int, float)) and math.isfinite(seconds) and seconds >= 0.0):
            raise BadValue("seconds", seconds, "a finite number not below 0")
        if self.time_s - self._kept.steps * self.timestep_s >= KEEP_EVERY_S:
            self._kept = self.snapshot()
        owed_s = self._owed_s + seconds
        steps = round(owed_s / self.timestep_s)
        model, data = self.model, self.data
        drives, dt = self._drives, self.timestep_s
        motors, pending, params = self._motors, self._pending, self._params
        wrists, gravity, driven_wrists = self._wrists, model.opt.gravity, len(self._wrists) > 0
        step, pulls = mujoco.mj_step, self._pulls
        for done in range(steps):
            if driven_wrists:
                wrist.hold_wrists(wrists, data.qpos, data.subtree_com, gravity, dt, data.qfrc_applied)
            actuation.drive(
                params, motors, pending, drives, data.qpos, self._steps * dt, dt, self._angle_rad, self._torque_nm,
                self._damping_nms_rad, data.ctrl, model.dof_damping, model.tendon_damping,
            )  # fmt: skip
            if pulls:
                pulls.apply()
            step(model, data)
            self._steps += 1
            if done % CHECK_EVERY_STEPS == CHECK_EVERY_STEPS - 1:
                self._check()
        self._owed_s = owed_s - steps * dt
        if steps:
            self._contacts_s = self.time_s - dt
            self._check()

    def state(self, hand: str) -> HandState:
        """What a hand reports now. Reading twice at one time gives the same values."""
        seat = self._seat(hand)
        motors = self._motors[0, seat.motors]
        angle, velocity = _driven(self._drives[seat.motors], self.data.qpos, self.data.qvel)
        # A motor on a cord tells where its spool is: at the finger's angle, or behind it where the cord is slack.
        slack = self._params["pulls_only"][seat.motors] & (motors["screw_rad"] < angle)
        angle = np.where(slack, motors["screw_rad"], angle)
        velocity = np.where(slack, motors["screw_rad_s"], velocity)
        noise = self._random(READING_STREAM, hand, self._steps).standard_normal((2, len(angle)))
        return HandState(
            stamp_s=self.time_s,
            actuator_names=seat.spec.actuator_names,
            angle_rad=angle + seat.angle_noise_rad * noise[0],
            velocity_rad_s=velocity,
            force_n=motors["force_n"] - motors["zero_n"] + seat.force_noise_n * noise[1],
            torque_nm=motors["torque_nm"].copy(),
            current_a=motors["current_a"].copy(),
            temperature_c=motors["temperature_c"].copy(),
            status=motors["status"].copy(),
            error=motors["error"].copy(),
            joint_names=seat.spec.joint_names,
            joint_rad=self.data.qpos[seat.joint_qpos].copy(),
            joint_velocity_rad_s=self.data.qvel[seat.joint_dof].copy(),
        )

    def settings(self, hand: str) -> HandSettings:
        """What a hand has been told: the newest targets, speeds and limits, those still under way included."""
        motors = self._motors[:, self._seat(hand).motors]
        target, speed, limit = actuation.asked(motors, self._pending[:, self._seat(hand).motors])
        return HandSettings(
            target_rad=target[0],
            speed_rad_s=speed[0],
            force_limit_n=limit[0],
            current_limit_a=motors["current_limit_a"][0].copy(),
            zeroing=bool((motors["zeroing_s"] > 0.0).any()),
        )

    def contacts(self, hand: str | None = None) -> ContactSet:
        """Contacts of the last step: of one hand, told from the side of its links, or of the whole world, each once."""
        if hand is not None:
            self._seat(hand)
        return read_contacts(self.model, self.data, stamp_s=self._contacts_s, hands=self.hand_names, hand=hand)

    def prop_pose(self, prop: str) -> tuple[FloatArray, FloatArray]:
        """Position [m] and quat_wxyz of an object in the world."""
        at = self._prop_qpos(prop)
        if at is not None:
            pose = self.data.qpos[at : at + 7].copy()
            return pose[:3], pose[3:]
        body = self.model.body(prop).id
        return self.data.xpos[body].copy(), self.data.xquat[body].copy()

    def place_prop(self, prop: str, *, pos_m: ArrayLike, quat_wxyz: ArrayLike = (1.0, 0.0, 0.0, 0.0)) -> None:
        """Put a free object somewhere, at rest."""
        at = self._prop_qpos(prop)
        if at is None:
            raise BadValue("prop", prop, "an object that is not fixed")
        pos, quat = _checked_pose(pos_m, quat_wxyz)
        self.data.qpos[at : at + 7] = [*pos, *quat]
        dof = self.model.joint(prop).dofadr[0]
        self.data.qvel[dof : dof + 6] = 0.0

    def resize_box(self, prop: str, *, size_m: ArrayLike, mass_kg: float) -> None:
        """Give a box other edges [m] and another mass [kg], where it is; far quicker than another world."""
        if prop not in self.prop_names:
            raise UnknownName("prop", prop, self.prop_names)
        body = self.model.body(prop)
        geom = int(body.geomadr[0])
        if self.model.geom_type[geom] != mujoco.mjtGeom.mjGEOM_BOX:
            raise BadValue("prop", prop, "a box")
        size = np.array(size_m, dtype=np.float64)
        if size.shape != (3,) or not np.all(np.isfinite(size) & (size > 0.0)):
            raise BadValue("size_m", size_m, "three numbers above 0")
        if not (math.isfinite(mass_kg) and mass_kg > 0.0):
            raise BadValue("mass_kg", mass_kg, "a number above 0")
        model, state = self.model, np.empty(mujoco.mj_stateSize(self.model, STATE))
        model.geom_size[geom] = size / 2
        model.geom_rbound[geom] = np.linalg.norm(size / 2)
        model.geom_aabb[geom, 3:] = size / 2
        model.body_mass[body.id] = mass_kg
        model.body_inertia[body.id] = mass_kg / 12.0 * ((size**2).sum() - size**2)
        # What the engine derives from masses is found in the model's first posture; then back to where we are.
        mujoco.mj_getState(model, self.data, state, STATE)
        mujoco.mj_setConst(model, self.data)
        mujoco.mj_setState(model, self.data, state, STATE)
        mujoco.mj_forward(model, self.data)

    def pull_prop(self, prop: str, to_m: ArrayLike | None) -> None:
        """Drag a free object towards a place, as a hand that holds it would, until told otherwise.

        Args:
            prop: Name of the object.
            to_m: Where its centre is wanted [m]; None lets go of it.
        """
        if not self.is_free(prop):
            raise BadValue("prop", prop, "an object that is not fixed")
        self._pulls.pull(self.model.body(prop).id, None if to_m is None else _checked_pose(to_m, (1, 0, 0, 0))[0])

    def is_free(self, prop: str) -> bool:
        """Whether an object can move."""
        return self._prop_qpos(prop) is not None

    def wrist_is_driven(self, hand: str) -> bool:
        """Whether `move_wrist` moves this hand."""
        return self._seat(hand).wrist >= 0

    @property
    def has_carrier(self) -> bool:
        """Whether a machine holds the hands."""
        return self._recipe["carrier"] is not None

    def remade(self, *, scene: str | Scene | None = None, more_props: Iterable[Prop] = ()) -> Self:
        """Another world with the same hands, at time 0.

        Args:
            scene: Other surroundings, without the objects that were added to this one; None for the same.
            more_props: Objects to add.
        """
        recipe = dict(self._recipe)
        if scene is not None:
            recipe |= {"scene": scene, "props": (), "mounts": None}
        return type(self)(**{**recipe, "props": (*recipe["props"], *more_props)})

    def take_over(self, other: World) -> None:
        """Go on from where another world with the same hands is; what only this one has stays where it begins."""
        if other.hand_names != self.hand_names:
            raise BadValue("other", other.hand_names, f"a world with {', '.join(self.hand_names)}")
        size = {mujoco.mjtJoint.mjJNT_FREE: (7, 6), mujoco.mjtJoint.mjJNT_BALL: (4, 3)}
        there = {other.model.joint(k).name for k in range(other.model.njnt)}
        for k in range(self.model.njnt):
            mine = self.model.joint(k)
            if mine.name not in there:
                continue
            its = other.model.joint(mine.name)
            positions, speeds = size.get(mujoco.mjtJoint(int(self.model.jnt_type[k])), (1, 1))
            for name, mine_at, its_at, count in (
                ("qpos", mine.qposadr[0], its.qposadr[0], positions),
                ("qvel", mine.dofadr[0], its.dofadr[0], speeds),
            ):
                getattr(self.data, name)[mine_at : mine_at + count] = getattr(other.data, name)[its_at : its_at + count]
        self._motors[:], self._pending[:] = other._motors, other._pending
        for name in ("target_m", "target_quat", "goal_m", "goal_quat"):
            self._wrists[name] = other._wrists[name]
        self._steps, self._owed_s, self._commands = other._steps, other._owed_s, dict(other._commands)
        mujoco.mj_forward(self.model, self.data)
        self._contacts_s = self.time_s
        self._kept = self.snapshot()

    def clear_errors(self, hand: str) -> None:
        """Clear stall, over-current, motor and communication errors; over-temperature must cool down."""
        motors = self._motors[:, self._seat(hand).motors]
        motors[:] = actuation.clear_errors(motors)

    def zero_force(self, hand: str) -> None:
        """Let the force sensors of a hand find their zero: what they feel at the end of that counts as no force."""
        seat = self._seat(hand)
        motors = self._motors[:, seat.motors]
        motors[:] = actuation.zero_force(self._params[seat.motors], motors)

    def set_current_limit(self, hand: str, current_limit_a: float | Sequence[float]) -> None:
        """Set the current at which protection stops the motors of a hand [A], one number or one per motor."""
        seat = self._seat(hand)
        motors = len(seat.spec.actuators)
        limits = np.asarray(current_limit_a, dtype=np.float64)
        if limits.shape not in ((), (motors,)) or not np.all(np.isfinite(limits) & (limits > 0.0)):
            raise BadValue("current_limit_a", current_limit_a, f"one number above 0, or {motors} of them")
        if not all(isinstance(actuator.motor, LeadScrew) for actuator in seat.spec.actuators):
            raise BadValue("hand", hand, "a hand that measures its current; this one does not")
        self._motors[0, seat.motors]["current_limit_a"] = limits

    def inject_fault(self, hand: str, actuator: str, fault: Fault) -> None:
        """Break a motor: ``jam`` blocks its screw, ``hot`` heats it until it switches off, the others raise that error.

        `repair` undoes a jam and cools the motor; the errors go with `clear_errors`.
        """
        record = self._motor(hand, actuator)
        errors = {"motor": MotorError.MOTOR, "communication": MotorError.COMMUNICATION}
        if fault == "jam":
            record["jammed"] = True
        elif fault == "hot":
            motor = self._actuator(hand, actuator).motor
            if not isinstance(motor, LeadScrew):
                raise BadValue("fault", fault, f"one that {hand} can have: its motors measure no temperature")
            record["temperature_c"] = motor.trip_c + HOT_C
        elif fault in errors:
            record["error"] |= errors[fault]
        else:
            raise UnknownName("fault", fault, ("jam", "hot", *errors))

    def repair(self, hand: str, actuator: str) -> None:
        """Free a jammed motor, and let it be as cool as when it was switched on."""
        seat = self._seat(hand)
        number = self._number(hand, actuator)
        record = self._motor(hand, actuator)
        record["jammed"] = False
        record["temperature_c"] = self._rest[0][0, seat.motors][number]["temperature_c"]

    def snapshot(self) -> Snapshot:
        """Everything needed to come back to this instant."""
        physics = np.empty(mujoco.mj_stateSize(self.model, STATE))
        mujoco.mj_getState(self.model, self.data, physics, STATE)
        return Snapshot(
            physics=physics,
            motors=self._motors.copy(),
            pending=self._pending.copy(),
            damping=np.concatenate([self.model.dof_damping, self.model.tendon_damping]),
            names=(*self.hand_names, *self.prop_names),
            steps=self._steps,
            owed_s=self._owed_s,
            commands=tuple(self._commands.values()),
            wrists=self._wrists.copy(),
        )

    def restore(self, snapshot: Snapshot) -> None:
        """Come back to an instant; what follows is the same as it was, bit for bit."""
        names = (*self.hand_names, *self.prop_names)
        if snapshot.names != names or snapshot.physics.size != mujoco.mj_stateSize(self.model, STATE):
            raise BadValue(
                "snapshot", f"of {', '.join(snapshot.names)}", f"a snapshot of this world: {', '.join(names)}"
            )
        mujoco.mj_setState(self.model, self.data, snapshot.physics, STATE)
        self._motors[:] = snapshot.motors
        self._pending[:] = snapshot.pending
        self.model.dof_damping[:], self.model.tendon_damping[:] = np.split(snapshot.damping, [self.model.nv])
        self._owed_s = snapshot.owed_s
        self._steps = snapshot.steps
        self._commands = dict(zip(self.hand_names, snapshot.commands, strict=True))
        self._wrists[:] = snapshot.wrists
        mujoco.mj_forward(self.model, self.data)
        self._contacts_s = self.time_s
        self._kept = snapshot

    def _seat(self, hand: str) -> _Seat:
        if hand not in self._seats:
            raise UnknownName("hand in this world", hand, self._seats)
        return self._seats[hand]

    def _number(self, hand: str, actuator: str) -> int:
        names = self._seat(hand).spec.actuator_names
        if actuator not in names:
            raise UnknownName(f"actuator of {hand}", actuator, names)
        return names.index(actuator)

    def _actuator(self, hand: str, actuator: str) -> Actuator:
        return self._seat(hand).spec.actuators[self._number(hand, actuator)]

    def _motor(self, hand: str, actuator: str) -> np.void:
        return self._motors[0, self._seat(hand).motors][self._number(hand, actuator)]

    def _prop_qpos(self, prop: str) -> int | None:
        """Where the pose of a free object stands in qpos; None for a fixed one."""
        if prop not in self.prop_names:
            raise UnknownName("prop", prop, self.prop_names)
        first = self.model.body(prop).jntadr[0]
        return None if first < 0 else int(self.model.jnt_qposadr[first])

    def _random(self, stream: int, hand: str, count: int) -> np.random.Generator:
        """Random numbers that depend only on the seed, the hand and a count, not on what was read before."""
        key = (self.seed & 0xFFFFFFFFFFFFFFFF, self.hand_names.index(hand) << 8 | stream)
        return np.random.Generator(np.random.Philox(key=np.array(key, dtype=np.uint64), counter=[0, count, 0, 0]))

    def _check(self) -> None:
        """Stop at the first sign of a broken simulation, back at the last good state."""
        seen = self.data.warning.number
        if not seen.any():
            return
        at_s = self.time_s
        warnings = [mujoco.mjtWarning(i).name.removeprefix("mjWARN_") for i in np.flatnonzero(seen)]
        self.data.warning.number[:] = 0
        self.restore(self._kept)
        raise SimulationDiverged(at_s, self.time_s, warnings)


def _drives(model: mujoco.MjModel, specs: Sequence[HandSpec]) -> NDArray[np.void]:
    drives = np.zeros(sum(len(spec.actuators) for spec in specs), dtype=actuation.DRIVE)
    motors = [(spec, actuator) for spec in specs for actuator in spec.actuators]
    for drive, (spec, actuator) in zip(drives, motors, strict=True):
        tendon = next((t for t in spec.tendons if t.name == actuator.drives), None)
        parts = list(tendon.joints) if tendon else [(actuator.drives, 1.0)]
        if len(parts) > actuation.TENDON_JOINTS:
            raise BadValue(f"tendon {actuator.drives!r}", len(parts), f"at most {actuation.TENDON_JOINTS} joints")
        parts += [(parts[0][0], 0.0)] * (actuation.TENDON_JOINTS - len(parts))
        joints = [model.joint(f"{spec.name}/{name}") for name, _ in parts]
        drive["qpos"] = [joint.qposadr[0] for joint in joints]
        drive["dof"] = [joint.dofadr[0] for joint in joints]
        drive["weight"] = [weight for _, weight in parts]
        drive["ctrl"] = model.actuator(f"{spec.name}/{actuator.name}").id
        drive["tendon"] = model.tendon(f"{spec.name}/{tendon.name}").id if tendon else -1
        drive["own_damping_nms_rad"] = 0.0 if tendon else model.dof_damping[drive["dof"][0]]
    return drives


def _driven(drives: NDArray[np.void], qpos: FloatArray, qvel: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Angle [rad] and velocity [rad/s] of what each motor drives."""
    return (
        (drives["weight"] * qpos[drives["qpos"]]).sum(axis=1),
        (drives["weight"] * qvel[drives["dof"]]).sum(axis=1),
    )


def _seats(model: mujoco.MjModel, specs: Sequence[HandSpec], mounts: Mapping[str, Mount]) -> dict[str, _Seat]:
    seats = {}
    first = 0
    for spec in specs:
        joints = [model.joint(f"{spec.name}/{name}") for name in spec.joint_names]
        screws = [a.motor if isinstance(a.motor, LeadScrew) else None for a in spec.actuators]
        strokes = np.array([a.stroke_rad for a in spec.actuators])
        driven = mounts[spec.name].driven
        seats[spec.name] = _Seat(
            spec=spec,
            motors=slice(first, first + len(spec.actuators)),
            joint_qpos=np.array([joint.qposadr[0] for joint in joints]),
            joint_dof=np.array([joint.dofadr[0] for joint in joints]),
            angle_noise_rad=np.array([screw.angle_noise if screw else 0.0 for screw in screws]) * strokes,
            force_noise_n=np.array([screw.force_noise_n if screw else 0.0 for screw in screws]),
            latency_s=max(screw.latency_s if screw else 0.0 for screw in screws),
            latency_spread_s=max(screw.latency_spread_s if screw else 0.0 for screw in screws),
            wrist=sum(mounts[s.name].driven for s in specs[: specs.index(spec)]) if driven else -1,
            root_body=model.body(f"{spec.name}/{spec.root}").id,
        )
        first += len(spec.actuators)
    return seats


def _wrists(model: mujoco.MjModel, specs: Sequence[HandSpec], mounts: Mapping[str, Mount]) -> NDArray[np.void]:
    """Driven wrists at rest, in the order of the hands."""
    driven = [spec.name for spec in specs if mounts[spec.name].driven]
    wrists = np.zeros(len(driven), dtype=wrist.WRIST)
    for record, name in zip(wrists, driven, strict=True):
        joint, body = model.joint(f"{name}/mount"), model.body(f"{name}/mount").id
        record["qpos"], record["dof"], record["body"] = joint.qposadr[0], joint.dofadr[0], body
        record["mass_kg"] = model.body_subtreemass[body]
        record["target_m"] = record["goal_m"] = model.body_pos[body]
        record["target_quat"] = record["goal_quat"] = model.body_quat[body]
        dof = record["dof"]
        model.dof_damping[dof : dof + 3], model.dof_damping[dof + 3 : dof + 6] = wrist.wrist_damping(
            float(record["mass_kg"]), model.opt.timestep
        )
    return wrists


def _mounts(specs: Sequence[HandSpec], scene: Scene, own: Mapping[str, Mount]) -> dict[str, Mount]:
    """How each hand is held: as asked, as the scene has it, or palm up side by side."""
    unknown = set(own) - {spec.name for spec in specs}
    if unknown:
        raise UnknownName("hand in this world", sorted(unknown)[0], [spec.name for spec in specs])
    mounts = {}
    for place, spec in enumerate(specs):
        beside = Mount(pos_m=(0.30 * (place - (len(specs) - 1) / 2), 0.0, 0.0))
        mounts[spec.name] = own.get(spec.name) or scene.mounts.get(spec.side) or beside
        shared = [name for name, mount in mounts.items() if mount == mounts[spec.name] and name != spec.name]
        if shared:
            raise BadValue(
                "hands", [shared[0], spec.name], "one hand a side in this scene, or mounts= for each of them"
            )
    return mounts


def _ideal(spec: HandSpec) -> HandSpec:
    actuators = tuple(replace(actuator, motor=actuator.motor.ideal()) for actuator in spec.actuators)
    return replace(spec, actuators=actuators)


def _palm_pose(spec: HandSpec, root_pos: FloatArray, root_quat: FloatArray) -> tuple[FloatArray, FloatArray]:
    offset, R_pr = root_pose(spec, Mount())  # the root in a palm frame at the origin
    R_wp = _matrix_of(root_quat) @ R_pr.T
    return root_pos - R_wp @ offset, quat_wxyz_from_matrix(R_wp)


def _root_goal(spec: HandSpec, palm_pos: FloatArray, palm_quat: FloatArray) -> tuple[FloatArray, FloatArray]:
    offset, R_pr = root_pose(spec, Mount())
    R_wp = _matrix_of(palm_quat)
    return palm_pos + R_wp @ offset, quat_wxyz_from_matrix(R_wp @ R_pr)


def _matrix_of(quat_wxyz: FloatArray) -> FloatArray:
    R = np.zeros(9)
    mujoco.mju_quat2Mat(R, quat_wxyz)
    return R.reshape(3, 3)


def _checked_pose(pos_m: ArrayLike, quat_wxyz: ArrayLike) -> tuple[FloatArray, FloatArray]:
    pos, quat = np.array(pos_m, dtype=np.float64), np.array(quat_wxyz, dtype=np.float64)
    if pos.shape != (3,) or not np.all(np.isfinite(pos)):
        raise BadValue("pos_m", pos_m, "three finite numbers")
    norm = np.linalg.norm(quat)
    if quat.shape != (4,) or not np.isfinite(norm) or abs(norm - 1.0) > 1e-3:
        raise BadValue("quat_wxyz", quat_wxyz, "four numbers of norm 1, w first")
    return pos, quat / norm


def _check_command(hand: str, spec: HandSpec, field: str, values: FloatArray) -> None:
    if values.shape != (len(spec.actuators),):
        raise BadCommand(
            f"{field} has {values.size} values; {hand} has {len(spec.actuators)} actuators "
            f"({', '.join(spec.actuator_names)})"
        )
    if np.any(np.isinf(values)):
        raise BadCommand(f"{field} of {hand} has an infinite value: {values.tolist()}; use NaN to hold")
    if field != "target_rad" and np.any(values < 0.0):
        raise BadCommand(f"{field} of {hand} has a negative value: {values.tolist()}; use NaN to keep")
