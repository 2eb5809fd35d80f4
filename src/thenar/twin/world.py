"""The world: hands and objects in one simulation, commanded, advanced and read like real hands, with touch."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from thenar.arrays import finite_vector, unit_quaternion
from thenar.errors import BadValue, SimulationDiverged, UnknownName
from thenar.hands.motors_file import MotorValues, read_motors, with_motors
from thenar.hands.spec import HandSpec
from thenar.signals import (
    Closing,
    ContactSet,
    HandCommand,
    HandSettings,
    HandState,
    Pose,
    SceneState,
    SolidContacts,
    TouchFrame,
)
from thenar.sim import scenes
from thenar.sim.journal import Journal, noted
from thenar.sim.physics import Physics, Snapshot, check_duration
from thenar.sim.props import Prop, Sphere
from thenar.sim.scenes import Mount, Scene
from thenar.sim.world_config import Profile, Robot, WorldConfig, resolve_hands
from thenar.touch.hand_touch import HandTouch
from thenar.touch.own_pads import lay_own_pads
from thenar.touch.sampled_skin import SampledSkin
from thenar.touch.sensor.calibration import Calibration, load_calibration, profile_of
from thenar.touch.sensor.proximity import Proximity
from thenar.twin.faults.world_faults import Faults

if TYPE_CHECKING:
    from thenar.sim.drawing.render import Camera, Tiles
    from thenar.twin.pictures import Film, Picture, SkinTiles


class World:
    """Hands and objects in one simulation, with touch.

    >>> world = World("inspire_right")
    >>> world.command("inspire_right", HandCommand.closing(0.5))
    >>> world.advance(1.0)
    >>> world.state("inspire_right").angle_rad.shape
    (6,)
    >>> world.touch("inspire_right")["index_top"].shape
    (12, 8)
    """

    journal_prefix = ""

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
        skin: Mapping[str, Calibration | Path | str] | None = None,
        motors: Path | str | Mapping[str, MotorValues | Path | str] | None = None,
        robot: Robot | None = None,
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
            skin: Calibration of a hand's skin by hand name, as a value or a TOML file; the others have that of the
                profile.
            motors: What motors are like where they differ from the catalogue, by hand name, as values or a TOML file
                that ``thenar identify`` has written; of one hand just the file.
            robot: A machine that holds the hands; without one they are on mounts of their own.
        """
        if isinstance(props, Prop):
            raise BadValue("props", props, "a list of objects")
        specs = tuple(lay_own_pads(hand) if hand.own_model else hand for hand in resolve_hands(hands))
        config = WorldConfig(
            hands=identified(specs, motors),
            props=tuple(props),
            scene=scenes.load(scene),
            mounts=mounts or {},
            timestep_s=timestep_s,
            seed=int(seed) if isinstance(seed, np.integer) else seed,
            profile=profile,
            robot=robot,
        )
        self.physics = Physics(config)
        """Bodies, motors and contacts."""
        self.model, self.data = self.physics.model, self.physics.data
        """MuJoCo's own."""
        self.hand_names, self.timestep_s = self.physics.hand_names, self.physics.timestep_s
        """Names of the hands, and the step of the physics [s]."""
        self.props = self.physics.props
        """The objects: names, poses, moving and dragging them."""
        self.wrists = self.physics.wrists
        """Poses of the palms, and moving the driven ones."""
        self.faults = Faults(self)
        """What is broken, and what breaks it."""
        self._calibrations = dict(skin or {})
        for hand in self._calibrations:
            self.hand(hand)
        self._skins: dict[str, SampledSkin] = {}
        self.finish_readings: Callable[[], None] = lambda: None
        """Is called before skins are changed, by whoever reads them on another thread."""
        self._tiles: dict[str, SkinTiles] = {}

    @property
    def time_s(self) -> float:
        """Time of the twin's clock [s]."""
        return self.physics.time_s

    @property
    def journal(self) -> Journal:
        """Tells listeners, such as a recorder, what changes this world and what is read of it."""
        return self.physics.journal

    @property
    def has_robot(self) -> bool:
        """Whether a machine holds the hands."""
        return self.physics.config.robot is not None

    def hand(self, name: str) -> HandSpec:
        """The spec of a hand of this world."""
        return self.physics.hand(name)

    @noted
    def command(self, hand: str, command: HandCommand | Closing) -> None:
        """Send a command to a hand. It acts after the hand's latency; a refused one changes nothing.

        Args:
            hand: Name of the hand.
            command: Targets, speeds and force limits; values beyond what the motor can do are clamped to it.
        """
        self.physics.motors.command(hand, command, self.time_s)

    def state(self, hand: str) -> HandState:
        """What a hand reports now. Reading twice at one time gives the same values."""
        return self.physics.state(hand)

    def settings(self, hand: str) -> HandSettings:
        """The newest targets, speeds and limits of a hand, those still under way included."""
        return self.physics.motors.settings(hand)

    def read_hands(self) -> dict[str, tuple[HandState, HandSettings]]:
        """State and settings of every hand, read once for all of them and for those who listen, such as a recorder."""
        reading = self.physics.read_motors()
        self.journal.read_state(reading)
        return self.physics.motors.read_hands(reading, self.time_s)

    def contacts(self, hand: str | None = None) -> ContactSet:
        """Contacts of the last step: of one hand, seen from its links, or of the whole world, each once."""
        return self.physics.contacts(hand)

    @noted
    def clear_errors(self, hand: str) -> None:
        """Clear stall, over-current, motor and communication errors; over-temperature must cool down."""
        self.physics.motors.clear_errors(hand)

    @noted
    def zero_force(self, hand: str) -> None:
        """Let the force sensors of a hand find their zero: what they feel at the end of that counts as no force."""
        self.physics.motors.zero_force(hand)

    @noted
    def set_current_limit(self, hand: str, current_limit_a: float | Sequence[float]) -> None:
        """Set the current at which protection stops the motors of a hand [A], one number or one per motor."""
        self.physics.motors.set_current_limit(hand, current_limit_a)

    def touch(self, hand: str) -> TouchFrame:
        """What the skin of a hand feels: pressure, shear and counts of every pad.

        An ideal skin is read at this instant. A measured one is read at its own rate from the first call on, and the
        newest reading that has arrived by now is returned.
        """
        skin = self.skin(hand)
        if skin.next_s == math.inf:  # an ideal skin, or one that has not been read yet
            return self.sample_skin(hand, self.physics.solid_contacts(), self.time_s)
        return skin.delivered(self.time_s)

    def sample_skin(
        self, hand: str, contacts: SolidContacts, now_s: float, *, at_s: float | None = None, after: int | None = None
    ) -> TouchFrame:
        """Take a reading of a skin, and return the newest one that has been delivered by now.

        Args:
            hand: Whose skin.
            contacts: What touches.
            now_s: Time of the reading [s].
            at_s: Time of the world when the contacts were read [s], where it has gone on since.
            after: Changes in the world's journal by then.
        """
        taken, delivered = self.skin(hand).sample(contacts, now_s)
        self.journal.read_touch(
            hand,
            taken,
            at_s=self.time_s if at_s is None else at_s,
            after=self.journal.count if after is None else after,
        )
        return delivered

    def skin(self, hand: str) -> SampledSkin:
        """The skin of a hand; a hand without one is refused."""
        if hand not in self._skins:
            self._skins[hand] = SampledSkin(*self._make_touch(hand))
        return self._skins[hand]

    def windows(self, hand: str) -> list[dict[str, Any]]:
        """How the skin's last frame was solved, see `HandTouch.windows`; empty before the first `touch`."""
        self.hand(hand)
        return self._skins[hand].windows() if hand in self._skins else []

    def advance(self, seconds: float) -> None:
        """Let simulated time pass; skins that are read at a rate of their own are read on the way.

        A simulation that diverges is put back to the last good state, and `SimulationDiverged` is raised.
        """
        physics, skins, journal = self.physics, self._skins, self.journal
        if not skins and not journal.listeners:
            physics.advance(seconds)
            return
        check_duration(seconds)
        end_s = physics.time_s + physics.residual_s + seconds
        try:
            while (due_s := min([journal.next_s, *(skin.next_s for skin in skins.values())])) <= end_s + 1e-9:
                physics.advance(max(0.0, due_s - physics.time_s - physics.residual_s))
                contacts = physics.solid_contacts()
                for hand, skin in skins.items():
                    if skin.next_s <= due_s + 1e-9:
                        self.sample_skin(hand, contacts, physics.time_s)
                for listener in journal.listeners:
                    if listener.next_s <= due_s + 1e-9:
                        listener.read_state()
            physics.advance(max(0.0, end_s - physics.time_s - physics.residual_s))
        except SimulationDiverged:
            self.reset_skins()
            self.journal.note("diverged", {})
            raise

    @noted
    def reset(self) -> None:
        """Back to time 0: hands open, objects where they began, motors cool, skins without a past, nothing broken."""
        self.faults.repair()
        self.physics.reset()
        self.reset_skins()

    def scene_state(self, states: Mapping[str, HandState] | None = None) -> SceneState:
        """Where everything is now.

        Args:
            states: Of the hands, where they have been read already.
        """
        states = states or {name: self.state(name) for name in self.hand_names}
        hands, props = [states[name] for name in self.hand_names], self.props.names
        return SceneState(
            stamp_s=self.time_s,
            scene=scenes.name_of(self.physics.config.scene),
            hand_names=self.hand_names,
            palm_pose=np.array([np.concatenate(self.wrists.pose(name)) for name in self.hand_names]).reshape(-1, 7),
            joint_rad=tuple(hand.joint_rad for hand in hands),
            joint_velocity_rad_s=tuple(hand.joint_velocity_rad_s for hand in hands),
            object_names=props,
            object_pose=np.array([np.concatenate(self.props.pose(name)) for name in props]).reshape(-1, 7),
            object_velocity=np.array([self.props.velocity(name) for name in props]).reshape(-1, 6),
        )

    @noted
    def place(self, *, objects: Mapping[str, Pose] | None = None, wrists: Mapping[str, Pose] | None = None) -> None:
        """Put objects somewhere, at rest, and send driven wrists somewhere: all of it, or nothing where one cannot be.

        Args:
            objects: Position [m] and quat_wxyz in the world by object; None for an orientation is upright.
            wrists: The same of palm frames by hand; None for an orientation keeps it.
        """
        fixed = [name for name in objects or {} if not self.props.is_free(name)]
        fixed += [name for name in wrists or {} if not self.wrists.is_driven(name)]
        if fixed:
            raise BadValue("pose of", ", ".join(fixed), "an object that is not fixed, or a hand with a driven wrist")
        for pos_m, quat_wxyz in (*(objects or {}).values(), *(wrists or {}).values()):
            finite_vector("pos_m", pos_m)
            if quat_wxyz is not None:
                unit_quaternion("quat_wxyz", quat_wxyz)
        for name, (pos_m, quat_wxyz) in (objects or {}).items():
            self.props.move(name, pos_m=pos_m, quat_wxyz=(1.0, 0.0, 0.0, 0.0) if quat_wxyz is None else quat_wxyz)
        for name, (pos_m, quat_wxyz) in (wrists or {}).items():
            self.wrists.move(name, pos_m=pos_m, quat_wxyz=quat_wxyz)

    def reset_skins(self) -> None:
        """Let skins start without a past."""
        self.finish_readings()
        for skin in self._skins.values():
            skin.forget()

    def snapshot(self) -> Snapshot:
        """Everything needed to come back to this instant, but the past of the skins and the sizes of resized boxes."""
        return replace(self.physics.snapshot(), faults=self.faults.active)

    @noted
    def restore(self, snapshot: Snapshot) -> None:
        """Come back to an instant; what follows is the same as it was, bit for bit. Skins start without a past."""
        self.physics.restore(snapshot)
        if snapshot.faults is not None:
            self.faults.restore(snapshot.faults)
        self.reset_skins()

    def rebuild(self, *, scene: str | Scene | None = None, more_props: Iterable[Prop] = ()) -> World:
        """Another world with the same hands, at time 0.

        Args:
            scene: Other surroundings, without the objects that were added to this one; None for the same.
            more_props: Objects to add.
        """
        config = self.physics.config
        if scene is not None:
            config = replace(config, scene=scenes.load(scene), props=(), mounts={})
        config = replace(config, props=(*config.props, *more_props))
        return World(**{field.name: getattr(config, field.name) for field in fields(config)}, skin=self._calibrations)

    @noted
    def copy_state_from(self, other: World) -> None:
        """Go on from where another world with the same hands is; what only this one has stays where it begins."""
        self.physics.copy_state_from(other.physics)
        self.faults.copy_from(other.faults)

    def show(
        self, *, camera: Camera | None = None, size_px: tuple[int, int] = (640, 480), glass: float = 0.7
    ) -> Picture:
        """A picture of this instant in which pressed skin glows; a notebook shows it, `Picture.save` writes it.

        Args:
            camera: Where to look from; None sees every hand and object.
            size_px: Width and height.
            glass: How far objects let the skin behind them through, 0 to 1.
        """
        from thenar.sim.drawing.render import Artist, frame_world
        from thenar.twin.pictures import Picture

        with Artist(self.physics, size_px=size_px) as artist:
            camera = camera or frame_world(self.physics, size_px=size_px)
            return Picture(artist.draw(camera, self.tiles(), glass=glass))

    def film(
        self,
        seconds: float,
        *,
        fps: int = 20,
        camera: Camera | None = None,
        size_px: tuple[int, int] = (480, 360),
        glass: float = 0.7,
    ) -> Film:
        """Let simulated time pass and take pictures of it; a notebook plays them, `Film.save` writes them."""
        from thenar.sim.drawing.render import Artist, frame_world
        from thenar.twin.pictures import Film

        check_duration(seconds)
        if not (isinstance(fps, int) and fps > 0):
            raise BadValue("fps", fps, "a whole number of pictures a second, above 0")
        with Artist(self.physics, size_px=size_px) as artist:
            camera = camera or frame_world(self.physics, size_px=size_px)
            frames = []
            for _ in range(max(1, round(seconds * fps))):
                self.advance(1.0 / fps)
                frames.append(artist.draw(camera, self.tiles(), glass=glass))
        return Film(tuple(frames), fps)

    def tiles(self) -> Tiles | None:
        """The taxels of every skin as plates to draw, coloured by pressure; None where no hand has skin."""
        from thenar.twin.pictures import SkinTiles, join_tiles

        for hand in self.hand_names:
            if hand not in self._tiles and self.hand(hand).pads:
                self._tiles[hand] = SkinTiles(self.hand(hand), self._make_touch(hand)[0])
        return join_tiles([tiles.now(self.physics) for tiles in self._tiles.values()])

    def calibration(self, hand: str) -> Calibration:
        """Calibration of a hand's skin; a hand without one is refused."""
        spec = self.hand(hand)
        if not spec.pads:
            raise BadValue("hand", hand, "a hand with pads; this one has none")
        usual = profile_of(spec, self.physics.config.profile)
        calibration = self._calibrations.get(hand, usual)
        if isinstance(calibration, (str, Path)):
            calibration = load_calibration(Path(calibration), spec, base=usual)
        if not isinstance(calibration, Calibration):
            raise BadValue(f"skin of {hand}", calibration, "a Calibration or a TOML file of one")
        return calibration

    def _make_touch(self, hand: str) -> tuple[HandTouch, Calibration, Proximity]:
        spec, calibration = self.hand(hand), self.calibration(hand)
        bodies = self.physics.solid_contacts().solids["body"].astype(np.int64)
        if spec.own_model is None:
            solids = {
                link.name: tuple(self.model.geom(f"{hand}/{name}").id for name in link.skin_names)
                for link in spec.links
                if link.skins
            }
        else:  # all that collides of the links that were mapped
            own = {name: self.model.body(f"{hand}/{name}").id for name in spec.own_model.links}
            solids = {name: tuple(np.flatnonzero(bodies == body).tolist()) for name, body in own.items()}
        pieces = [shapes for shapes in solids.values() if len(shapes) > 1] if spec.own_model else ()
        touch = HandTouch(
            spec, calibration, skin_shapes=solids, bodies=bodies, pieces=pieces, seed=self.physics.config.seed
        )
        return touch, calibration, Proximity(self.model, spec, solids)


def identified(
    hands: tuple[HandSpec, ...], motors: Path | str | Mapping[str, MotorValues | Path | str] | None
) -> tuple[HandSpec, ...]:
    """Hands with their own motors; a file without a hand's name is that of the only hand."""
    if isinstance(motors, (str, Path)):
        if len(hands) != 1:
            names = ", ".join(hand.name for hand in hands)
            raise BadValue("motors", str(motors), f"a file for each hand by its name, as there are several: {names}")
        motors = {hands[0].name: motors}
    by_name = {hand.name: hand for hand in hands}
    for name, given in (motors or {}).items():
        if name not in by_name:
            raise UnknownName("hand in this world", name, by_name)
        values = read_motors(given, by_name[name]) if isinstance(given, (str, Path)) else given
        by_name[name] = with_motors(by_name[name], values)
    return tuple(by_name.values()) if len(by_name) == len(hands) else hands


def warm_up_touch() -> None:
    """Load the compiled code of touch, so that the first contact of a running twin is not late."""
    ball = Sphere(radius_m=0.03, pos_m=(0.0, 0.04, 0.031))
    world = World("inspire_right", props=[ball])  # of a measured skin, whose sensors have a memory too
    world.advance(0.1)  # the ball settles in the palm
    world.touch("inspire_right")
