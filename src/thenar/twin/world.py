"""A world whose hands feel: the physics of `sim` and the skin of `touch` together."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from thenar.errors import BadValue
from thenar.hands.spec import HandSpec
from thenar.signals import SolidContacts, TouchFrame
from thenar.sim import physics as physics
from thenar.sim.building import Carrier
from thenar.sim.props import Prop, Sphere
from thenar.sim.scenes import Mount, Scene
from thenar.sim.solids import SolidReader
from thenar.touch.hand_touch import HandTouch
from thenar.touch.sampled_skin import Skin
from thenar.touch.sensor.calibration import Calibration, load_calibration, profile_of

if TYPE_CHECKING:
    from thenar.sim.render import Camera, Tiles
    from thenar.twin.pictures import Film, Picture, SkinTiles


class World(physics.World):
    """Hands and objects in one simulation, with touch.

    >>> world = World("inspire_right")
    >>> world.touch("inspire_right")["index_top"].shape
    (12, 8)
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
        profile: physics.Profile = "measured",
        skin: Mapping[str, Calibration | Path | str] | None = None,
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
            skin: Calibration of a hand's skin by hand name, as a value or a TOML file; the others have that of the
                profile.
            carrier: A machine that holds the hands; without one they are on mounts of their own.
        """
        self._skins: dict[str, Skin] = {}
        self._tiles: dict[str, SkinTiles] = {}
        self.reads_skins = True
        """False leaves it to others to read skins that have a rate of their own."""
        super().__init__(
            hands,
            props=props,
            scene=scene,
            mounts=mounts,
            timestep_s=timestep_s,
            seed=seed,
            profile=profile,
            carrier=carrier,
        )
        self._recipe["skin"] = skin
        self._reader = SolidReader(self.model)
        self._calibrations = dict(skin or {})
        for hand in self._calibrations:
            self._seat(hand)

    def touch(self, hand: str) -> TouchFrame:
        """What the skin of a hand feels: pressure, shear and counts of every pad.

        An ideal skin is read at this instant. A measured one is read at its own rate from the first call on, and the
        newest reading that has arrived by now is returned.
        """
        skin = self.skin(hand)
        if skin.period_s == 0.0:
            return skin.feel(self.solid_contacts())
        if not skin.read_before:
            self._sample(skin)
        return skin.arrived(self.time_s)

    def skin(self, hand: str) -> Skin:
        """The skin of a hand; a hand without one is refused."""
        if hand not in self._skins:
            self._skins[hand] = self._make_skin(hand)
        return self._skins[hand]

    def kill_taxel(self, hand: str, pad: str, row: int, col: int, *, dead: bool = True) -> None:
        """Break one taxel of a hand, so that it reads its offset whatever presses, or mend it."""
        spec = self.hand(hand).pad(pad)
        if not (0 <= row < spec.rows and 0 <= col < spec.cols):
            raise BadValue("taxel", (row, col), f"row and column within {spec.rows} x {spec.cols}")
        self.skin(hand).kill(pad, row, col, dead=dead)

    def dead_taxels(self, hand: str) -> NDArray[np.bool_]:
        """Which taxels of a hand are broken, pad after pad. Shape (taxels,)."""
        return self.skin(hand).dead

    def solid_contacts(self) -> SolidContacts:
        """Contacts of the last step, as skins need them; a copy that stays when the world goes on."""
        return self._reader.read(self.data, stamp_s=self._contacts_s)

    def windows(self, hand: str) -> list[dict[str, Any]]:
        """How the skin's last frame was solved, see `HandTouch.windows`; empty before the first `touch`."""
        self._seat(hand)
        return self._skins[hand].windows() if hand in self._skins else []

    def show(
        self, *, camera: Camera | None = None, size_px: tuple[int, int] = (640, 480), glass: float = 0.7
    ) -> Picture:
        """A picture of this instant in which pressed skin glows; a notebook shows it, `Picture.save` writes it.

        Args:
            camera: Where to look from; None sees every hand and object.
            size_px: Width and height.
            glass: How far objects let the skin behind them through, 0 to 1.
        """
        from thenar.sim.render import Artist, frame_world
        from thenar.twin.pictures import Picture

        with Artist(self, size_px=size_px) as artist:
            camera = camera or frame_world(self, size_px=size_px)
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
        from thenar.sim.render import Artist, frame_world
        from thenar.twin.pictures import Film

        with Artist(self, size_px=size_px) as artist:
            camera = camera or frame_world(self, size_px=size_px)
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
        return join_tiles([tiles.now(self) for tiles in self._tiles.values()])

    def resize_box(self, prop: str, *, size_m: ArrayLike, mass_kg: float) -> None:
        """Give a box other edges [m] and another mass [kg], where it is; far quicker than another world."""
        super().resize_box(prop, size_m=size_m, mass_kg=mass_kg)
        self._reader = SolidReader(self.model)

    def advance(self, seconds: float) -> None:
        """Let simulated time pass; skins that are read at a rate of their own are read on the way."""
        ticking = [skin for skin in self._skins.values() if skin.period_s > 0.0 and skin.read_before]
        if not self.reads_skins or not ticking or not (isinstance(seconds, (int, float)) and math.isfinite(seconds)):
            super().advance(seconds)
            return
        end_s = self.time_s + self._owed_s + seconds
        while True:
            due_s = min(skin.next_s for skin in ticking)
            if due_s > end_s + 1e-9:
                break
            super().advance(max(0.0, due_s - self.time_s - self._owed_s))
            for skin in ticking:
                if skin.next_s <= due_s + 1e-9:
                    self._sample(skin)
        super().advance(max(0.0, end_s - self.time_s - self._owed_s))

    def reset(self) -> None:
        """Back to time 0: hands open, objects where they began, motors cool, skins without a past."""
        super().reset()
        self._forget()

    def restore(self, snapshot: physics.Snapshot) -> None:
        """Come back to an instant; skins start without a past."""
        super().restore(snapshot)
        self._forget()

    def _forget(self) -> None:
        for skin in self._skins.values():
            skin.forget()

    def _sample(self, skin: Skin) -> None:
        skin.feel(self.solid_contacts())
        skin.next_s = self.time_s + skin.period_s

    def _make_skin(self, hand: str) -> Skin:
        return Skin(*self._make_touch(hand))

    def _make_touch(self, hand: str) -> tuple[HandTouch, Calibration]:
        spec = self.hand(hand)
        if not spec.pads:
            raise BadValue("hand", hand, "a hand with pads; this one has none")
        usual = profile_of(spec, self.profile)
        calibration = self._calibrations.get(hand, usual)
        if isinstance(calibration, (str, Path)):
            calibration = load_calibration(Path(calibration), spec, base=usual)
        solids = {
            link.name: tuple(self.model.geom(f"{hand}/{name}").id for name in link.skin_names)
            for link in spec.links
            if link.skins
        }
        bodies = np.asarray(self.model.geom_bodyid, dtype=np.int64)
        return HandTouch(spec, calibration, skin_shapes=solids, bodies=bodies, seed=self.seed), calibration


def warm_up_touch() -> None:
    """Load the compiled code of touch, so that the first contact of a running twin is not late."""
    ball = Sphere(radius_m=0.03, pos_m=(0.0, 0.04, 0.031))
    world = World("inspire_right", props=[ball], profile="ideal")
    world.advance(0.1)  # the ball settles in the palm
    world.touch("inspire_right")
