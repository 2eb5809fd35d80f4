"""Episodes as xr_teleoperate writes them, a folder with ``data.json`` and pictures each; ours have touch in them."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from thenar.arrays import FloatArray, IntArray
from thenar.errors import BadFile, BadValue, clean_text
from thenar.recordings.film import load_av
from thenar.recordings.resample import check_known, check_new

VERSION = "1.0.0"
PARTS = ("left_arm", "right_arm", "left_ee", "right_ee", "body")
FINGERS = ("Pinky", "Ring", "Middle", "Index", "ThumbBend", "ThumbRotation")
"""Motors of an Inspire hand in the order of the format."""
ARM = ("shoulder_pitch", "shoulder_roll", "shoulder_yaw", "elbow", "wrist_roll", "wrist_pitch", "wrist_yaw")
"""Joints of an arm in the order of the format."""


@dataclass(frozen=True, kw_only=True, eq=False)
class UnitreeEpisode:
    """One episode: how far open each motor of a hand is (0 closed, 1 open), and the arms' angles, by side."""

    task: str
    fps: int
    states: dict[str, FloatArray]
    """Of ``left`` and ``right``. Shape (T, 6)."""
    actions: dict[str, FloatArray]
    tactiles: dict[str, IntArray]
    """Counts of every taxel in the order of the wire, by side. Shape (T, taxels)."""
    arms_rad: dict[str, FloatArray] = field(default_factory=dict)
    """Angles of the joints of `ARM`; empty where no robot held the hands [rad]. Shape (T, 7)."""
    arm_targets_rad: dict[str, FloatArray] = field(default_factory=dict)
    motor_names: dict[str, tuple[str, ...]] = field(default_factory=dict)
    """What a file calls the motors of a hand, by side, where it does."""
    mended: str = ""
    """What was wrong with the file and was mended; empty for a whole one."""


def write_unitree(
    episodes: Sequence[UnitreeEpisode],
    folder: Path | str,
    *,
    films: Mapping[str, Sequence[NDArray[np.uint8]]] | None = None,
) -> None:
    """Write episodes into a task's folder, as ``episode_0000`` and so on.

    Args:
        episodes: What happened.
        folder: Of the task; a new one.
        films: Pictures by name such as ``color_0``, one array (T, height, width, 3) for every episode. Unitree's
            converter wants at least one.
    """
    folder = Path(folder)
    check_new(folder)
    for episode in episodes:
        parts = {"states": episode.states, "actions": episode.actions}
        parts |= {"arms": episode.arms_rad, "arm targets": episode.arm_targets_rad}
        check_known({f"{part} {side}": of[side] for part, of in parts.items() for side in of})
    for number, episode in enumerate(episodes):
        count = len(next(iter(episode.states.values())))
        pictures = {name: parts[number] for name, parts in (films or {}).items()}
        height, width = next(iter(pictures.values()))[0].shape[:2] if pictures else (480, 640)
        try:
            into = folder / f"episode_{number:04d}"
            for part in ("colors", "depths", "audios"):
                (into / part).mkdir(parents=True)
            items = []
            for row in range(count):
                colors = {}
                for name, film in pictures.items():
                    colors[name] = f"colors/{row:06d}_{name}.jpg"
                    (into / colors[name]).write_bytes(_jpeg(film[row]))
                items.append(_item(episode, row, colors))
            size = {"width": width, "height": height, "fps": episode.fps}
            body = {
                "info": _info(episode, size),
                "text": {"goal": episode.task, "desc": "", "steps": ""},
                "data": items,
            }
            # Compact: with an indent, five minutes of touch would be half a gigabyte.
            (into / "data.json").write_text(json.dumps(body, separators=(",", ":")), encoding="utf-8")
        except OSError as error:
            raise BadFile(folder, f"cannot be written: {error.strerror}") from error


def _info(episode: UnitreeEpisode, size: Mapping[str, int]) -> dict[str, Any]:
    names: dict[str, list[str]] = {part: [] for part in PARTS}
    for side in episode.states:
        names[f"{side}_ee"] = [f"k{side.capitalize()}Hand{finger}" for finger in FINGERS]
    for side in episode.arms_rad:
        names[f"{side}_arm"] = [f"{side}_{joint}_joint" for joint in ARM]
    return {
        "version": VERSION,
        "date": "",
        "author": "thenar",
        "image": dict(size),
        "depth": dict(size),
        "audio": {"sample_rate": 16000, "channels": 1, "format": "PCM", "bits": 16},
        "joint_names": names,
        "tactile_names": {"left_ee": [], "right_ee": []},
        "sim_state": "",
    }


def _item(episode: UnitreeEpisode, row: int, colors: dict[str, str]) -> dict[str, Any]:
    def parts(hands: Mapping[str, FloatArray], arms: Mapping[str, FloatArray]) -> dict[str, Any]:
        found: dict[str, Any] = {part: {"qpos": [], "qvel": [], "torque": []} for part in PARTS}
        for part, of in (("ee", hands), ("arm", arms)):
            for side, values in of.items():
                found[f"{side}_{part}"]["qpos"] = values[row].tolist()
        return found

    return {
        "idx": row,
        "colors": colors,
        "depths": {},
        "states": parts(episode.states, episode.arms_rad),
        "actions": parts(episode.actions, episode.arm_targets_rad),
        "tactiles": {f"{side}_ee": counts[row].tolist() for side, counts in episode.tactiles.items()},
        "audios": None,
        "sim_state": None,
    }


def _jpeg(picture: NDArray[np.uint8]) -> bytes:
    av = load_av("a picture", "lerobot")
    encoder = av.CodecContext.create("mjpeg", "w")
    encoder.height, encoder.width = picture.shape[:2]
    encoder.pix_fmt = "yuvj420p"
    encoder.options = {"qscale": "3"}
    encoder.time_base = Fraction(1, 30)
    frame = av.VideoFrame.from_ndarray(np.ascontiguousarray(picture), format="rgb24")
    packets = [*encoder.encode(frame), *encoder.encode(None)]
    return b"".join(bytes(packet) for packet in packets)


def read_unitree(folder: Path | str) -> list[UnitreeEpisode]:
    """Read the episodes of a task's folder, of both versions of the format; a file that was cut off is mended."""
    folder = Path(folder)
    files = sorted(folder.glob("episode_*/data.json")) or sorted(folder.glob("data.json"))
    if not files:
        raise BadFile(folder, "has no episode_NNNN/data.json: not episodes of xr_teleoperate")
    return [_read_episode(path) for path in files]


def _read_episode(path: Path) -> UnitreeEpisode:
    try:
        text = path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise BadFile(path, f"cannot be read: {error}") from error
    body, mended = _parse(path, text)
    items = body.get("data")
    if not isinstance(items, list) or not items:
        raise BadFile(path, "has no frames")
    try:
        info, goal = body.get("info") or {}, (body.get("text") or {}).get("goal")
        goal = goal[0] if isinstance(goal, list) and goal else goal
        sides = [side for side in ("left", "right") if _qpos(items[0]["states"], f"{side}_ee")]

        def columns(kind: str, part: str) -> dict[str, FloatArray]:
            there = [side for side in ("left", "right") if _qpos(items[0][kind], f"{side}_{part}")]
            return {side: np.array([_qpos(item[kind], f"{side}_{part}") for item in items], float) for side in there}

        touches = {
            side: np.array([(item.get("tactiles") or {}).get(f"{side}_ee") or [] for item in items], dtype=np.int64)
            for side in sides
        }
        read = {
            "states": columns("states", "ee"), "actions": columns("actions", "ee"),
            "arms_rad": columns("states", "arm"), "arm_targets_rad": columns("actions", "arm"),
        }  # fmt: skip
        fps = int((info.get("image") or {}).get("fps") or 30)
        told = info.get("joint_names") or {}
        names = {side: tuple(map(str, told.get(f"{side}_ee") or ())) for side in sides}
    except (KeyError, TypeError, ValueError, AttributeError, OverflowError) as error:
        raise BadFile(path, f"not an episode of xr_teleoperate: {clean_text(repr(error))}") from error
    return UnitreeEpisode(
        task=str(goal or "unnamed"),
        fps=fps,
        **read,
        tactiles={side: counts for side, counts in touches.items() if counts.size},
        motor_names={side: each for side, each in names.items() if each},
        mended=mended,
    )


def _qpos(parts: Mapping[str, Any], name: str) -> list[float]:
    part = parts.get(name) or {}
    return part.get("qpos") or [] if isinstance(part, dict) else list(part)


def _parse(path: Path, text: str) -> tuple[dict[str, Any], str]:
    """The file as JSON; one whose writer was killed is cut after its last whole frame and closed."""
    try:
        body = json.loads(text)
        mended = ""
    except (ValueError, RecursionError):
        start = re.search(r'"data"\s*:\s*\[', text)
        if start is None:
            raise BadFile(path, "not JSON, and no frames to save from it") from None
        decoder, at, items = json.JSONDecoder(), start.end(), []
        between = re.compile(r"[ \t\r\n,]*")
        while True:
            try:
                item, at = decoder.raw_decode(text, between.match(text, at).end())  # pyright: ignore[reportOptionalMemberAccess]
            except (ValueError, RecursionError):
                break
            items.append(item)
        head = text[: start.start()].rstrip().rstrip(",")
        try:
            body = json.loads(head + "}")
        except (ValueError, RecursionError):
            body = {}
        body["data"] = items
        mended = f"the file was cut off; its {len(items)} whole frames were kept"
    if not isinstance(body, dict):
        raise BadFile(path, "not an episode of xr_teleoperate: no object")
    return body, mended


def check_sides(hands: Sequence[str]) -> dict[str, str]:
    """The hand of each side; the format has one place for each."""
    sides = {hand.rpartition("_")[2]: hand for hand in hands}
    if not set(sides) <= {"left", "right"} or len(sides) != len(hands):
        raise BadValue("hands", ", ".join(hands), "at most one left and one right hand: the format has no other places")
    return sides
