"""LeRobot data sets, version 3.0, written with pyarrow alone, and read back."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from thenar.errors import BadFile, BadValue, MissingExtra, clean_text
from thenar.recordings.film import load_av
from thenar.recordings.resample import Frames, check_known, check_new

QUANTILES = {"q01": 0.01, "q10": 0.10, "q50": 0.50, "q90": 0.90, "q99": 0.99}
MAX_FILE_BYTES = 100 << 20
_DATA = "data/chunk-{chunk_index:03d}/file-{file_index:03d}.parquet"
_VIDEO = "videos/{video_key}/chunk-{chunk_index:03d}/file-{file_index:03d}.mp4"
_INDEX = {
    "timestamp": "float32", "frame_index": "int64", "episode_index": "int64", "index": "int64", "task_index": "int64"
}  # fmt: skip
# What the library's own writer uses: its tools join films without looking, so others would not fit beside them.
_ENCODER = {"g": "2", "crf": "30", "preset": "12"}


def load_arrow() -> tuple[Any, Any]:
    """The packages that write tables; where they are missing, the extra is named that brings them."""
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError as error:
        raise MissingExtra("a LeRobot data set", "pyarrow", "lerobot") from error
    return pyarrow, pyarrow.parquet


def write_lerobot(
    episodes: Sequence[Frames],
    folder: Path | str,
    *,
    robot_type: str = "thenar",
    pad_forces: bool = False,
    films: Mapping[str, Sequence[NDArray[np.uint8]]] | None = None,
) -> None:
    """Write episodes as a new data set.

    Args:
        episodes: What happened, all with the same hands and rate.
        folder: A new folder.
        robot_type: Name of the robot in the data set.
        pad_forces: Put motor forces and pad forces behind the angles in ``observation.state``, where policies that
            know nothing of touch see them.
        films: Pictures by camera, one array (T, height, width, 3) for every episode.
    """
    pa, parquet = load_arrow()
    folder = Path(folder)
    if not episodes:
        raise BadValue("episodes", 0, "at least one")
    check_new(folder)
    films = films or {}
    rows = [_columns(frames, pad_forces=pad_forces) for frames in episodes]
    features = _features(episodes[0], rows[0], pad_forces=pad_forces, films=films)
    same = [(one.fps, one.state_names, one.tactile_names) for one in episodes]
    if any(other != same[0] for other in same):
        raise BadValue("episodes", "different hands or rates", "episodes of the same hands at one rate")
    tasks = {task: number for number, task in enumerate(dict.fromkeys(one.task for one in episodes))}
    fps, total, file_index = episodes[0].fps, 0, 0
    table_rows, statistics = [], []
    writer: Any = None
    path = folder
    try:
        (folder / "meta/episodes/chunk-000").mkdir(parents=True)
        film_rows = _write_films(folder, films, fps, [len(frames.time_s) for frames in episodes])
        for number, (frames, columns) in enumerate(zip(episodes, rows, strict=True)):
            count = len(frames.time_s)
            columns |= {
                "timestamp": (np.arange(count) / fps).astype(np.float32),
                "frame_index": np.arange(count),
                "episode_index": np.full(count, number),
                "index": np.arange(total, total + count),
                "task_index": np.full(count, tasks[frames.task]),
            }
            table = pa.table({name: _arrow_column(pa, column) for name, column in columns.items()})
            table = table.replace_schema_metadata(_schema_note(columns))
            if writer is None:
                path = folder / _DATA.format(chunk_index=0, file_index=file_index)
                path.parent.mkdir(parents=True, exist_ok=True)
                writer = parquet.ParquetWriter(path, table.schema, compression="snappy")
            writer.write_table(table)
            stats = {name: _statistics(column) for name, column in columns.items()}
            stats |= {f"observation.images.{camera}": _film_statistics(films[camera][number]) for camera in films}
            statistics.append(stats)
            table_rows.append(
                {
                    "episode_index": number,
                    "tasks": [frames.task],
                    "length": count,
                    "data/chunk_index": 0,
                    "data/file_index": file_index,
                    "dataset_from_index": total,
                    "dataset_to_index": total + count,
                    "meta/episodes/chunk_index": 0,
                    "meta/episodes/file_index": 0,
                }
                | film_rows[number]
                | {f"stats/{name}/{kind}": value.tolist() for name, of in stats.items() for kind, value in of.items()}
            )
            total += count
            if path.stat().st_size > MAX_FILE_BYTES:
                writer.close()
                writer, file_index = None, file_index + 1
        if writer is not None:
            writer.close()
        info = {
            "codebase_version": "v3.0",
            "robot_type": robot_type,
            "total_episodes": len(episodes),
            "total_frames": total,
            "total_tasks": len(tasks),
            "chunks_size": 1000,
            "data_files_size_in_mb": 100,
            "video_files_size_in_mb": 200,
            "fps": fps,
            "splits": {"train": f"0:{len(episodes)}"},
            "data_path": _DATA,
            "video_path": _VIDEO if films else None,
            "features": features,
        }
        (folder / "meta/info.json").write_text(json.dumps(info, indent=4))
        whole = {name: _joined([stats[name] for stats in statistics]) for name in statistics[0]}
        (folder / "meta/stats.json").write_text(json.dumps(whole, indent=4))
        parquet.write_table(_tasks_table(pa, tasks), folder / "meta/tasks.parquet")
        table = pa.Table.from_pylist(table_rows)
        parquet.write_table(table, folder / "meta/episodes/chunk-000/file-000.parquet", compression="snappy")
    except OSError as error:
        raise BadFile(folder, f"cannot be written: {error.strerror}") from error


def _columns(frames: Frames, *, pad_forces: bool) -> dict[str, NDArray[Any]]:
    state = [frames.state_rad]
    if pad_forces:
        state += [frames.force_n, *frames.pad_force_n.values()]
    found = {"observation.state": np.concatenate(state, axis=1), "action": frames.action_rad}
    found |= {f"observation.tactile.{_short(hand, frames)}": pressure for hand, pressure in frames.tactile.items()}
    check_known(found)
    return found


def _short(hand: str, frames: Frames) -> str:
    """``left`` or ``right`` where that tells hands apart, as other data sets have it; else the hand's own name."""
    side = hand.rpartition("_")[2]
    same = [name for name in frames.tactile if name.rpartition("_")[2] == side]
    return side if side in ("left", "right") and len(same) == 1 else hand


def _features(
    frames: Frames,
    columns: Mapping[str, NDArray[Any]],
    *,
    pad_forces: bool,
    films: Mapping[str, Sequence[NDArray[np.uint8]]],
) -> dict[str, dict[str, Any]]:
    names = {"observation.state": list(frames.state_names), "action": list(frames.state_names)}
    if pad_forces:
        names["observation.state"] += [f"{motor}.force_n" for motor in frames.state_names]
        for hand, taxels in frames.tactile_names.items():
            pads = dict.fromkeys(taxel.rpartition(".")[0].rpartition(".")[0] for taxel in taxels)
            names["observation.state"] += [f"{hand}.{pad}.force_n" for pad in pads]
    names |= {
        f"observation.tactile.{_short(hand, frames)}": list(taxels) for hand, taxels in frames.tactile_names.items()
    }
    found = {
        name: {"dtype": "float32", "shape": [column.shape[1]], "names": names[name]} for name, column in columns.items()
    }
    for camera, pictures in films.items():
        height, width, _ = pictures[0][0].shape
        found[f"observation.images.{camera}"] = {
            "dtype": "video",
            "shape": [height, width, 3],
            "names": ["height", "width", "channels"],
            "info": {
                "video.height": height, "video.width": width, "video.codec": "av1", "video.pix_fmt": "yuv420p",
                "video.is_depth_map": False, "video.fps": frames.fps, "video.channels": 3, "has_audio": False,
            },
        }  # fmt: skip
    return found | {name: {"dtype": kind, "shape": [1], "names": None} for name, kind in _INDEX.items()}


def _arrow_column(pa: Any, column: NDArray[Any]) -> Any:
    flat = pa.array(np.ascontiguousarray(column).ravel())
    return flat if column.ndim == 1 else pa.FixedSizeListArray.from_arrays(flat, column.shape[1])


def _schema_note(columns: Mapping[str, NDArray[Any]]) -> dict[bytes, bytes]:
    """What the reader's own library leaves in a file, so that vectors come back as vectors."""
    kinds: dict[str, Any] = {}
    for name, column in columns.items():
        value = {"dtype": column.dtype.name, "_type": "Value"}
        kinds[name] = value if column.ndim == 1 else {"feature": value, "length": column.shape[1], "_type": "List"}
    return {b"huggingface": json.dumps({"info": {"features": kinds}}).encode()}


def _statistics(column: NDArray[Any]) -> dict[str, NDArray[Any]]:
    values = column.reshape(len(column), -1)
    found = {"min": values.min(axis=0), "max": values.max(axis=0)}
    found |= {"mean": values.mean(axis=0, dtype=np.float64), "std": values.std(axis=0, dtype=np.float64)}
    found |= {"count": np.array([len(values)])}
    return found | dict(zip(QUANTILES, np.quantile(values, list(QUANTILES.values()), axis=0), strict=True))


def _film_statistics(pictures: NDArray[np.uint8]) -> dict[str, NDArray[Any]]:
    """Of pictures, by colour and from 0 to 1; every eighth pixel of every eighth picture tells enough."""
    pixels = np.asarray(pictures)[::8, ::8, ::8].reshape(-1, 3) / 255.0
    found = {name: np.asarray(value, dtype=np.float64).reshape(-1) for name, value in _statistics(pixels).items()}
    return {name: value if name == "count" else value.reshape(3, 1, 1) for name, value in found.items()}


def _joined(parts: Sequence[Mapping[str, NDArray[Any]]]) -> dict[str, Any]:
    """Statistics of all episodes from those of each; quantiles are their weighted mean."""
    counts = np.array([part["count"][0] for part in parts], dtype=np.float64)
    weights = counts / counts.sum()

    def mean(name: str) -> NDArray[np.float64]:
        return np.tensordot(weights, np.stack([part[name] for part in parts]), axes=1)

    middle = mean("mean")
    spread = np.stack([part["std"] ** 2 + (part["mean"] - middle) ** 2 for part in parts])
    found = {
        "min": np.min([part["min"] for part in parts], axis=0),
        "max": np.max([part["max"] for part in parts], axis=0),
        "mean": middle,
        "std": np.sqrt(np.tensordot(weights, spread, axes=1)),
        "count": np.array([int(counts.sum())]),
    }
    return {name: value.tolist() for name, value in (found | {name: mean(name) for name in QUANTILES}).items()}


def _tasks_table(pa: Any, tasks: Mapping[str, int]) -> Any:
    """Tasks with their text as the index that the reader looks for."""

    def column(name: str, kind: str, numpy_kind: str) -> dict[str, Any]:
        return {"name": name, "field_name": name, "pandas_type": kind, "numpy_type": numpy_kind, "metadata": None}

    note = {
        "index_columns": ["task"],
        "column_indexes": [
            {"name": None, "field_name": None, "pandas_type": "unicode", "numpy_type": "object", "metadata": None}
        ],
        "columns": [column("task_index", "int64", "int64"), column("task", "unicode", "object")],
        "pandas_version": "2.2.0",
    }
    table = pa.table({"task_index": pa.array(list(tasks.values()), pa.int64()), "task": pa.array(list(tasks))})
    return table.replace_schema_metadata({b"pandas": json.dumps(note).encode()})


def _write_films(
    folder: Path, films: Mapping[str, Sequence[NDArray[np.uint8]]], fps: int, lengths: Sequence[int]
) -> list[dict[str, Any]]:
    """One film a camera, episodes one after the other; where each episode is in it."""
    rows: list[dict[str, Any]] = [{} for _ in lengths]
    for camera, parts in films.items():
        key = f"observation.images.{camera}"
        if [len(part) for part in parts] != list(lengths):
            raise BadValue(f"films[{camera!r}]", [len(part) for part in parts], f"pictures for frames {list(lengths)}")
        path = folder / _VIDEO.format(video_key=key, chunk_index=0, file_index=0)
        path.parent.mkdir(parents=True)
        _write_film(path, [picture for part in parts for picture in part], fps)
        begin_s = 0.0
        for row, length in zip(rows, lengths, strict=True):
            where = {"chunk_index": 0, "file_index": 0, "from_timestamp": begin_s}
            begin_s += length / fps
            where["to_timestamp"] = begin_s
            row |= {f"videos/{key}/{name}": value for name, value in where.items()}
    return rows


def _write_film(path: Path, pictures: Sequence[NDArray[np.uint8]], fps: int) -> None:
    av = load_av("a film", "lerobot")
    os.environ.setdefault("SVT_LOG", "1")  # the encoder tells its settings otherwise
    height, width, _ = pictures[0].shape
    with av.open(path, "w") as container:
        stream = container.add_stream("libsvtav1", rate=fps, options=dict(_ENCODER))
        stream.width, stream.height, stream.pix_fmt = width, height, "yuv420p"
        stream.time_base = Fraction(1, fps)
        for picture in pictures:
            container.mux(stream.encode(av.VideoFrame.from_ndarray(np.ascontiguousarray(picture), format="rgb24")))
        container.mux(stream.encode(None))


@dataclass(frozen=True, kw_only=True, eq=False)
class LerobotEpisode:
    """One episode of a data set."""

    task: str
    fps: int
    state_names: tuple[str, ...]
    action_names: tuple[str, ...]
    state: NDArray[np.float32]
    action: NDArray[np.float32]
    tactile: dict[str, NDArray[np.float32]]
    """By side or hand."""


def read_lerobot(folder: Path | str) -> list[LerobotEpisode]:
    """Read the vectors of a data set, of thenar or of others; films stay where they are."""
    _, parquet = load_arrow()
    folder = Path(folder)
    try:
        info = json.loads((folder / "meta/info.json").read_text(encoding="utf-8"))
        tasks = parquet.read_table(folder / "meta/tasks.parquet").to_pydict()
        tables = [parquet.read_table(path) for path in sorted(folder.glob("data/chunk-*/file-*.parquet"))]
        version = str(info.get("codebase_version", ""))
    except (OSError, ValueError, AttributeError, RecursionError) as error:
        raise BadFile(folder, f"not a LeRobot data set: {error}") from error
    if not version.startswith("v3."):
        raise BadFile(folder, f"a data set of version {version}; wanted v3.0: lerobot converts it")
    try:
        return _episodes(folder, info, tasks, tables)
    except BadFile:
        raise
    except (KeyError, IndexError, TypeError, ValueError, AttributeError, OverflowError, RecursionError) as error:
        raise BadFile(folder, f"not a LeRobot data set: {clean_text(repr(error))}") from error


def _episodes(folder: Path, info: Any, tasks: Any, tables: Sequence[Any]) -> list[LerobotEpisode]:
    texts = dict(zip(tasks["task_index"], tasks.get("task") or tasks.get("__index_level_0__"), strict=True))
    names = {name: flat_names(feature.get("names")) for name, feature in info["features"].items()}
    columns: dict[str, list[NDArray[Any]]] = {}
    wanted = ["episode_index", "task_index", "observation.state", "action"]
    wanted += [name for name in info["features"] if name.startswith("observation.tactile")]
    for table in tables:
        for name in wanted:
            if name not in table.column_names:
                raise BadFile(folder, f"has no {name}")
            column = table.column(name).combine_chunks()
            flat = column.flatten() if hasattr(column, "flatten") and column.type.num_fields else column
            columns.setdefault(name, []).append(np.asarray(flat).reshape(len(column), -1))
    joined = {name: np.concatenate(parts) for name, parts in columns.items()}
    index = joined["episode_index"][:, 0]
    return [
        LerobotEpisode(
            task=texts[int(joined["task_index"][inside][0, 0])],
            fps=int(info["fps"]),
            state_names=names["observation.state"],
            action_names=names["action"],
            state=joined["observation.state"][inside],
            action=joined["action"][inside],
            tactile={
                name.removeprefix("observation.tactile.").removeprefix("observation.tactile"): joined[name][inside]
                for name in wanted[4:]
            },
        )
        for inside in (index == number for number in np.unique(index))
    ]


def flat_names(names: Any) -> tuple[str, ...]:
    """Names of a feature, which data sets write flat, in a list of their own, or below a key such as ``motors``."""
    if isinstance(names, dict):
        return tuple(name for part in names.values() for name in flat_names(part))
    if isinstance(names, list):
        return tuple(name for part in names for name in (flat_names(part) if isinstance(part, list) else [str(part)]))
    return ()
