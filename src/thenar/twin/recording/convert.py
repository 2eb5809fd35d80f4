"""Recordings into data sets for learning, and data sets into recordings: the twin does what they say."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from thenar import hands as catalogue
from thenar.arrays import FloatArray
from thenar.errors import BadFile, BadValue
from thenar.hands.rotations import matrix_from_quat_wxyz
from thenar.hands.spec import HandSpec
from thenar.recordings.film import load_av
from thenar.recordings.lerobot import load_arrow, read_lerobot, write_lerobot
from thenar.recordings.recording import Recording
from thenar.recordings.resample import Frames, check_new, episodes_of, resample
from thenar.recordings.unitree import ARM, UnitreeEpisode, check_sides, read_unitree, write_unitree
from thenar.signals import HandCommand
from thenar.sim.drawing.render import Artist, Camera, Eye, frame_world
from thenar.twin.recording.recorder import record
from thenar.twin.recording.replay import replay
from thenar.twin.world import World
from thenar.wire.codecs.inspire_codec import TouchLayout

Format = Literal["lerobot", "unitree"]
Angles = Literal["rad", "open", "closed"]
"""What numbers of a data set mean: radians, or shares of the stroke with 1 open or 1 closed."""

# Words by which data sets name the motors of a hand.
_WORDS = {
    "little": ("little", "pinky"), "ring": ("ring",), "middle": ("middle",), "index": ("index",),
    "thumb_bend": ("thumb_bend", "thumbbend", "thumb_pitch"),
    "thumb_rotation": ("thumb_rotation", "thumbrotation", "thumb_yaw"),
}  # fmt: skip


WRISTS = {"left_wrist": "left", "right_wrist": "right"}
"""Cameras that hands carry, and of which side."""
# In the palm's frame (z out of the palm, y towards the fingers): chosen by eye, as no maker says.
_WRIST_CAMERA_M = np.array([0.0, -0.14, 0.10])
_WRIST_LOOKS_AT_M = np.array([0.0, 0.05, 0.02])


def convert(
    sources: Sequence[Path | str],
    out: Path | str,
    *,
    fps: int = 30,
    format: Format = "lerobot",
    task: str = "",
    pad_forces: bool = False,
    cameras: Mapping[str, Camera | str | None] | None = None,
    size_px: tuple[int, int] = (640, 480),
    on_progress: Callable[[float], None] | None = None,
) -> list[Frames]:
    """Write recordings as one data set; the episodes it has.

    Args:
        sources: MCAP files.
        out: A new folder.
        fps: Frames a second.
        format: ``lerobot`` (data set v3.0) or ``unitree`` (episodes of xr_teleoperate).
        task: What is done, where a recording does not say; every recording is then one episode.
        pad_forces: Put forces behind the angles in LeRobot's ``observation.state``.
        cameras: Pictures to draw, by name, in a replay of the recording: ``left_wrist`` and ``right_wrist`` for those
            that hands carry, None for one that sees everything.
        size_px: Of the pictures.
        on_progress: Is called with the share that is done.
    """
    if format not in ("lerobot", "unitree"):
        raise BadValue("format", format, "lerobot or unitree")
    check_new(Path(out))
    if format == "lerobot":
        load_arrow()
    if cameras:
        load_av("pictures", "lerobot")
    frames: list[Frames] = []
    films: dict[str, list[NDArray[np.uint8]]] = {name: [] for name in cameras or {}}
    for number, source in enumerate(sources):
        recording = Recording(source)
        own = [resample(recording, episode, fps=fps) for episode in episodes_of(recording, task=task)]
        if cameras:
            _check_wrists(cameras, recording)
            for name, parts in _draw(recording, own, cameras, size_px).items():
                films[name] += parts
        frames += own
        if on_progress is not None:
            on_progress((number + 1) / len(sources))
    if format == "lerobot":
        write_lerobot(frames, out, pad_forces=pad_forces, films=films)
    else:
        write_unitree([_unitree(one) for one in frames], out, films=films)
    return frames


def _draw(
    recording: Recording,
    episodes: Sequence[Frames],
    cameras: Mapping[str, Camera | str | None],
    size_px: tuple[int, int],
) -> dict[str, list[NDArray[np.uint8]]]:
    """Pictures of every frame of every episode, drawn in a replay of the recording."""
    due = [(float(time_s), number) for number, one in enumerate(episodes) for time_s in one.time_s]
    drawn: dict[str, list[list[NDArray[np.uint8]]]] = {name: [[] for _ in episodes] for name in cameras}
    artist: Artist | None = None
    of: World | None = None

    def look(world: World, time_s: float) -> None:
        nonlocal artist, of
        if of is not world:
            if artist is not None:
                artist.close()
            artist, of = Artist(world.physics, size_px=size_px), world
        assert artist is not None
        while due and due[0][0] <= time_s + 1e-9:
            _, number = due.pop(0)
            for name, camera in cameras.items():
                if isinstance(camera, str):
                    eye = wrist_eye(world, camera)
                else:
                    eye = camera or frame_world(world.physics, size_px=size_px)
                drawn[name][number].append(artist.draw(eye))

    again = replay(recording, touch=False, on_state=look)
    if artist is not None and of is not None:
        look(of, np.inf)  # what was due after the last reading
        artist.close()
    if again.differs_at:
        raise BadFile(recording.name, f"cannot be drawn: its replay comes out differently ({again.differs_at})")
    return {name: [np.stack(pictures) for pictures in parts] for name, parts in drawn.items()}


def wrist_eye(world: World, wrist: str) -> Eye:
    """Where the camera on a wrist is now: over the heel of the hand, with palm and fingers in its picture."""
    hand = next(name for name in world.hand_names if WRISTS[wrist] == world.hand(name).side)
    palm_m, quat_wxyz = world.wrists.pose(hand)
    R = matrix_from_quat_wxyz(quat_wxyz)
    ahead, up = _WRIST_LOOKS_AT_M - _WRIST_CAMERA_M, np.array([0.0, 0.0, 1.0])
    ahead /= np.linalg.norm(ahead)
    up -= (up @ ahead) * ahead
    up /= np.linalg.norm(up)
    return Eye(pos_m=palm_m + R @ _WRIST_CAMERA_M, forward=R @ ahead, up=R @ up)


def _check_wrists(cameras: Mapping[str, Camera | str | None], recording: Recording) -> None:
    sides = {catalogue.load(hand).side for hand in recording.hands}
    there = [wrist for wrist, side in WRISTS.items() if side in sides]
    for name, camera in cameras.items():
        if isinstance(camera, str) and camera not in there:
            raise BadValue(f"camera {name}", camera, f"a wrist of the recording: {', '.join(there) or 'it has none'}")


def _unitree(frames: Frames) -> UnitreeEpisode:
    names = list(dict.fromkeys(name.partition(".")[0] for name in frames.state_names))
    sides = check_sides(names)
    states, actions, tactiles, arms, arm_targets = {}, {}, {}, {}, {}
    for side, hand in sides.items():
        spec = catalogue.load(hand)
        if set(_WORDS) != set(spec.actuator_names):
            raise BadValue("hand", hand, "an Inspire hand: the format has its six motors")
        columns = [frames.state_names.index(f"{hand}.{motor}") for motor in _WORDS]
        order = [spec.actuator_names.index(motor) for motor in _WORDS]
        opened, closed = spec.open_rad[order], spec.closed_rad[order]
        states[side] = (closed - frames.state_rad[:, columns]) / (closed - opened)
        actions[side] = (closed - frames.action_rad[:, columns]) / (closed - opened)
        if hand in frames.counts:
            tactiles[side] = frames.counts[hand][:, TouchLayout.of(spec).taxels]
        arm = [f"{side}_{joint}_joint" for joint in ARM]
        if set(arm) <= set(frames.robot_names):
            joints = [frames.robot_names.index(joint) for joint in arm]
            arms[side], arm_targets[side] = frames.robot_rad[:, joints], frames.robot_target_rad[:, joints]
    return UnitreeEpisode(
        task=frames.task, fps=frames.fps, states=states, actions=actions, tactiles=tactiles,
        arms_rad=arms, arm_targets_rad=arm_targets,
    )  # fmt: skip


def act_out(
    source: Path | str,
    out: Path | str,
    *,
    hands: Sequence[str] = ("inspire_left", "inspire_right"),
    angles: Angles | None = None,
    scene: str = "in_hand",
    seed: int = 0,
    on_progress: Callable[[float], None] | None = None,
) -> int:
    """Let a twin do what a data set of LeRobot or Unitree says, recorded; the number of episodes.

    Args:
        source: Folder of the data set.
        out: The recording.
        hands: Whose motors are looked for among the names of the data set; those it does not have stay open.
        angles: What the numbers mean; needed where the data set's names do not tell.
        scene: Surroundings of the twin.
        seed: Of the twin.
        on_progress: Is called with the share that is done.
    """
    specs = [catalogue.load(hand) for hand in hands]
    episodes = _episodes(Path(source), specs, angles)
    used = [spec for spec in specs if spec.name in episodes[0][2]]
    if not used:
        raise BadFile(source, f"has no motor of {', '.join(hands)} among its names")
    world = World(used, scene=scene, seed=seed)
    with record(world, out) as tape:
        for number, (task, fps, targets) in enumerate(episodes):
            world.reset()
            tape.episode(task)
            for row in range(len(next(iter(targets.values())))):
                for hand, values in targets.items():
                    world.command(hand, HandCommand.to(values[row]))
                world.advance(1.0 / fps)
            if on_progress is not None:
                on_progress((number + 1) / len(episodes))
    return len(episodes)


def _episodes(
    source: Path, specs: Sequence[HandSpec], angles: Angles | None
) -> list[tuple[str, int, dict[str, FloatArray]]]:
    """Task, rate and targets by hand [rad] of every episode."""
    found = []
    if (source / "meta/info.json").is_file():
        for episode in read_lerobot(source):
            targets = {}
            for spec in specs:
                columns = motor_columns(episode.action_names, spec)
                if columns is not None:
                    exact = episode.action_names[columns[0]] == f"{spec.name}.{spec.actuator_names[0]}"
                    values = episode.action[:, columns].astype(np.float64)
                    targets[spec.name] = in_radians(values, spec, "rad" if exact and angles is None else angles)
            found.append((episode.task, episode.fps, targets))
        return found
    for episode in read_unitree(source):
        targets = {}
        for spec in specs:
            if spec.side in episode.actions and set(spec.actuator_names) == set(_WORDS):
                values = episode.actions[spec.side]
                # Files that name no motors have those of an Inspire hand, as xr_teleoperate writes them.
                names = episode.motor_names.get(spec.side) or [f"{spec.side} {motor}" for motor in _WORDS]
                columns = motor_columns(names, spec)
                if columns is None or values.shape[1] != len(names):
                    has = f"{spec.side} hand has {', '.join(names) if columns is None else f'{values.shape[1]} motors'}"
                    raise BadFile(source, f"its {has}; only the six of an Inspire hand are acted out")
                targets[spec.name] = in_radians(values[:, columns], spec, angles or "open")
        found.append((episode.task, episode.fps, targets))
    return found


def motor_columns(names: Sequence[str], spec: HandSpec) -> list[int] | None:
    """Where the motors of a hand stand among the names of a data set; None where they are not there."""
    exact = [f"{spec.name}.{motor}" for motor in spec.actuator_names]
    if set(exact) <= set(names):
        return [list(names).index(name) for name in exact]
    columns = []
    for motor in spec.actuator_names:
        words = _WORDS.get(motor, (motor,))
        fits = [
            at
            for at, name in enumerate(name.lower().replace(" ", "_") for name in names)
            if spec.side in name and any(word in name for word in words) and "arm" not in name
        ]
        if len(fits) != 1:
            return None
        columns.append(fits[0])
    return columns


def in_radians(values: FloatArray, spec: HandSpec, angles: Angles | None) -> FloatArray:
    """Targets of a data set in radians. Which way its numbers go must be known: public data sets have both."""
    if angles == "rad":
        return values
    if angles not in ("open", "closed"):
        wanted = "rad, open (1 is open) or closed (1 is closed): this data set's names do not tell"
        raise BadValue("angles", angles, wanted)
    share = np.clip(values, 0.0, 1.0)
    closing = 1.0 - share if angles == "open" else share
    return spec.open_rad + closing * (spec.closed_rad - spec.open_rad)
