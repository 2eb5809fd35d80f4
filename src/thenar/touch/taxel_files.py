"""Taxels from files: a CSV of places and normals, or the faces of an STL or OBJ."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from thenar.arrays import FloatArray
from thenar.errors import BadFile

STL_HEAD, STL_FACE = 84, 50  # bytes
MOST = 1e9
"""Coordinates of any unit are smaller."""


def read_taxels(
    path: Path, pad: str, group: str | None, scale: float
) -> tuple[FloatArray, FloatArray, FloatArray | None]:
    """Places [m], normals and, where the file has faces, areas [m^2] of taxels.

    Args:
        path: A .csv, .stl or .obj file.
        pad: Name of the pad, for what is wrong.
        group: Of faces of an OBJ; None: all.
        scale: Metres per unit of the file.
    """
    kind = path.suffix.lower()
    if kind not in (".csv", ".stl", ".obj"):
        raise BadFile(path, f"of pad {pad!r} is no .csv, .stl or .obj file")
    try:
        if kind == ".csv":
            rows = _csv(path)
            return scale * rows[:, :3], rows[:, 3:6], None
        triangles = _stl(path.read_bytes()) if kind == ".stl" else _obj(path.read_text(encoding="utf-8"), group)
    except OSError as error:
        raise BadFile(path, f"of pad {pad!r} cannot be read: {error.strerror}") from error
    except (ValueError, IndexError, OverflowError) as error:
        raise BadFile(path, f"of pad {pad!r} is not such a file: {error}") from error
    if not len(triangles):
        raise BadFile(path, f"of pad {pad!r} has no faces" + (f" in group {group!r}" if group else ""))
    if not np.all(np.abs(triangles) < MOST):  # what is no number is not below anything
        raise BadFile(path, f"of pad {pad!r} has corners that are no places: wanted numbers below {MOST:g}")
    a, b, c = (scale * triangles[:, k] for k in range(3))
    across = np.cross(b - a, c - a)
    size = np.linalg.norm(across, axis=1)
    if not np.all(np.isfinite(size)) or np.any(size <= 0.0):
        raise BadFile(path, f"of pad {pad!r}: face {int(np.argmin(size))} has no area")
    return (a + b + c) / 3.0, across / size[:, None], size / 2.0


def _csv(path: Path) -> FloatArray:
    """Rows of six numbers; a first line of words is passed over."""
    lines = [line for line in path.read_text(encoding="utf-8-sig").splitlines() if line.strip()]
    try:
        _ = [float(word) for word in lines[0].split(",")]
    except (ValueError, IndexError):
        lines = lines[1:]
    rows = np.array([[float(word) for word in line.split(",")] for line in lines])
    if rows.ndim != 2 or rows.shape[1] != 6:
        raise ValueError("wanted lines of x, y, z, nx, ny, nz")
    return rows


def _stl(content: bytes) -> FloatArray:
    """Triangles of a binary or a text STL. Shape (n, 3, 3)."""
    count = int.from_bytes(content[80:STL_HEAD], "little") if len(content) >= STL_HEAD else -1
    if len(content) == STL_HEAD + STL_FACE * count:
        faces = np.frombuffer(content, dtype=np.uint8, offset=STL_HEAD).reshape(count, STL_FACE)
        return np.ascontiguousarray(faces[:, 12:48]).view("<f4").reshape(count, 3, 3).astype(np.float64)
    words = content.decode("utf-8").split()
    if not words or words[0] != "solid":
        raise ValueError("neither a text nor a whole binary STL")
    at = [k for k, word in enumerate(words) if word == "vertex"]
    corners = np.array([[float(word) for word in words[k + 1 : k + 4]] for k in at])
    return corners.reshape(-1, 3, 3)


def _obj(text: str, group: str | None) -> FloatArray:
    """Triangles of an OBJ, of one group or of all. Shape (n, 3, 3)."""
    vertices: list[list[float]] = []
    triangles: list[list[int]] = []
    groups: set[str] = set()
    now: dict[str, set[str]] = {"g": set(), "o": set(), "usemtl": set()}  # a face has an object and a material at once
    for line in text.splitlines():
        words = line.split()
        if not words:
            continue
        if words[0] == "v":
            vertices.append([float(word) for word in words[1:4]])
        elif words[0] in now:
            now[words[0]] = set(words[1:]) if words[0] == "g" else {" ".join(words[1:])}
            groups |= now[words[0]]
        elif words[0] == "f" and (group is None or any(group in names for names in now.values())):
            corners = [int(word.split("/")[0]) for word in words[1:]]
            corners = [corner - 1 if corner > 0 else len(vertices) + corner for corner in corners]
            triangles += [[corners[0], corners[k], corners[k + 1]] for k in range(1, len(corners) - 1)]
    if group is not None and group not in groups:
        raise ValueError(f"no group named {group!r}; there are: {', '.join(sorted(groups)) or 'none'}")
    return np.array(vertices)[np.array(triangles, dtype=np.int64).reshape(-1, 3)]
