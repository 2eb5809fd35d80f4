"""Parsers of files: recordings, calibrations, mappings, models, configurations, what a hand has saved."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np

from bench.fuzz.search import Target
from thenar import Recording, World, hands, record
from thenar.glove.files import read_log, write_log
from thenar.glove.make import make_log
from thenar.hands.export import export_hand
from thenar.hands.motors_file import read_motors
from thenar.humanoid.control.robot_config import DEFAULT, load_config
from thenar.recordings.lerobot import read_lerobot
from thenar.recordings.unitree import read_unitree
from thenar.retarget.fit import LinearMap, load_map, save_map
from thenar.signals import GloveLayout
from thenar.touch.calibrate.press_recording import read_recording, write_recording
from thenar.touch.calibrate.synthetic import make_recording
from thenar.touch.sensor.calibration import load_calibration
from thenar.touch.taxel_files import read_taxels
from thenar.twin.recording.convert import Format, convert
from thenar.twin.recording.recipe import from_text, to_text, world_recipe
from thenar.wire.links.inbox import Inbox
from thenar.wire.links.registers.hand_registers import HandRegisters

FILE_S = 1.0
"""What reading a file of 64 kB may cost [s of the processor]: no hand waits for it."""
CALIBRATION = """\
# of a pad
rate_hz = 50.0
latency_s = 0.01
noise_counts = 2.0
[pads.index_tip]
gain_counts_per_n = 300.0
dead = [[0, 1], [2, 2]]
offset_counts = 60
[pads.palm]
offset_counts = 55.5
"""
MAPPING = """\
hand = "inspire_right"
file = "mine.urdf"
name = "mine"
[joints]
"""


MOTORS = """\
hand = "inspire_right"
[motors.index]
full_stroke_s = 0.6
stiffness_n = 300.0
force_zero_n = -0.2
interval = {full_stroke_s = [0.59, 0.61]}
[motors.thumb_bend]
backlash_rad = 0.01
"""
TAXELS = {
    ".csv": "x,y,z,nx,ny,nz\n0.0,0.001,0.002,0.0,0.0,1.0\n0.0,0.002,0.002,0.0,0.0,1.0\n",
    ".stl": "solid pad\nfacet normal 0 0 1\nouter loop\nvertex 0 0 0\nvertex 1 0 0\nvertex 0 1 0\nendloop\n"
    "endfacet\nendsolid pad\n",
    ".obj": "g tip\nv 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\nf 1 2 3\nf 1/1 2/2 -1/4\ng rest\nf 2 3 4\n",
}


def file_targets(folder: Path) -> Iterator[Target]:
    """Everything that is read from disk; ``folder`` is where the wrong files are written."""
    right = hands.load("inspire_right")
    logs: dict[GloveLayout, str] = {"nodes21": ".csv", "manus25": ".npz"}
    for layout, suffix in logs.items():
        log = make_log(("fist",), layout=layout, rate_hz=10.0)
        yield _target("glove log", folder / f"glove{suffix}", lambda path, log=log: write_log(path, log), read_log)
    yield _array_target(folder / "array.npz")
    recording = make_recording(right, "index_tip", rate_hz=1.0)
    for suffix in (".csv", ".npz"):
        path = folder / f"press{suffix}"
        yield _target("press recording", path, lambda path: write_recording(path, recording), read_recording)
    yield _target("calibration", folder / "skin.toml", CALIBRATION, lambda path: load_calibration(path, right))
    (folder / "mine.urdf").write_text(export_hand(right), encoding="utf-8")
    mapping = MAPPING + "".join(f'{joint} = "{joint}"\n' for joint in right.joint_names)
    yield _target("mapping", folder / "mine.toml", mapping, lambda path: hands.load(str(path)))
    (folder / "own.toml").write_text(mapping.replace("mine.urdf", "own.urdf"), encoding="utf-8")
    own = str(folder / "own.toml")
    yield _target("URDF", folder / "own.urdf", export_hand(right), lambda _: World(hands.load(own)), limit_s=10.0)
    linear = LinearMap(
        hand="inspire_right",
        kind="full",
        fingers=("index", "thumb"),
        matrix=np.tile(np.eye(3), (2, 1, 1)),
        shift_m=np.zeros((2, 3)),
        residual_mm=1.0,
        condition=2.0,
    )
    yield _target("linear map", folder / "map.json", lambda path: save_map(path, linear), load_map)
    yield _target("robot configuration", folder / "robot.yaml", DEFAULT, load_config)

    yield _target("motors", folder / "motors.toml", MOTORS, lambda path: read_motors(path, right))
    for suffix, text in TAXELS.items():
        yield _target("taxels", folder / f"pad{suffix}", text, lambda path: read_taxels(path, "tip", None, 1.0))
    yield from _recording_targets(folder / "tape.mcap")
    yield from _data_set_targets(folder / "tape.mcap")

    def wake_up(path: Path) -> HandRegisters:
        return HandRegisters(right, Inbox(), path, medium="a file")

    def save(path: Path) -> None:
        wake_up(path).write(1005, b"\1")

    yield _target("saved registers", folder / "flash.json", save, wake_up)


def _recording_targets(path: Path) -> Iterator[Target]:
    """A recording of a world, and what is written in it about the world itself."""
    world = World("inspire_right", scene="in_hand")
    made = to_text(world_recipe(world)).encode()

    def write(path: Path) -> None:
        with record(world, path) as tape:
            tape.episode("close", success=True)
            world.advance(0.05)

    def read(path: Path) -> None:
        tape = Recording(path)
        for look in (tape.motors, tape.joints, tape.touch):
            for hand in tape.hands:
                look(hand)
        for part in ("topics", "episodes", "actions"):
            getattr(tape, part)

    yield _target("recording", path, write, read)

    def read_recipe(text: bytes) -> None:  # a number in it is no time of the physics
        from_text(text.decode(errors="replace"))

    yield Target(name="recipe", read=read_recipe, seeds=(made,), text=True)


def _data_set_targets(recording: Path) -> Iterator[Target]:
    """The same as data sets, for each file of them that is text."""
    sets: tuple[tuple[Format, str, Callable[[Path], object]], ...] = (
        ("lerobot", "meta/info.json", read_lerobot),
        ("unitree", "episode_0000/data.json", read_unitree),
    )
    for kind, part, read in sets:
        folder = recording.with_name(kind)
        convert([recording], folder, fps=30, format=kind)
        whole = (folder / part).read_bytes()

        def read_folder(_: Path, folder: Path = folder, read: Callable[[Path], object] = read) -> object:
            return read(folder)

        yield _target(f"{kind} data set", folder / part, whole.decode(), read_folder)


def _array_target(path: Path) -> Target:
    """An array in an archive that is whole: of a broken archive nothing is read."""
    log = make_log(("fist",), layout="manus25", rate_hz=10.0)
    data = io.BytesIO()
    np.save(data, np.concatenate([log.position_m, log.quat_wxyz], axis=2))

    def read(array: bytes) -> None:
        with path.open("wb") as file:
            np.savez(file, timestamps=log.stamp_s)
        with zipfile.ZipFile(path, "a") as archive:
            archive.writestr("data.npy", array)
        read_log(path)

    return Target(name="array of a glove log", read=read, seeds=(data.getvalue(),), limit_s=FILE_S)


def _target(
    name: str,
    path: Path,
    write: str | Callable[[Path], object],
    read: Callable[[Path], object],
    *,
    limit_s: float = FILE_S,
) -> Target:
    """A parser of a file, given the text of a right one or what writes it."""
    if isinstance(write, str):
        path.write_text(write, encoding="utf-8")
    else:
        write(path)
    whole = path.read_bytes()

    def read_bytes(data: bytes) -> None:
        path.write_bytes(data)
        read(path)

    text = path.suffix not in (".npz", ".mcap")
    max_bytes = max(2 * len(whole), 1 << 16)
    return Target(
        name=f"{name} ({path.suffix})", read=read_bytes, seeds=(whole,), text=text, limit_s=limit_s, max_bytes=max_bytes
    )
