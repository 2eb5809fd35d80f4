"""Keep compiled functions honest.

Numba renews a cached function when the file it stands in changes, but not when a function it calls from another file
does. A room whose functions call each other across files calls `drop_stale` first: whenever one of its files is newer
than what was compiled, everything compiled is thrown away.
"""

from __future__ import annotations

from pathlib import Path


def drop_stale(folder: Path) -> None:
    """Delete compiled functions below a folder that are older than any of its sources."""
    compiled = [*folder.rglob("__pycache__/*.nbi"), *folder.rglob("__pycache__/*.nbc")]
    if not compiled:
        return
    newest_source = max(source.stat().st_mtime for source in folder.rglob("*.py"))
    if min(file.stat().st_mtime for file in compiled) >= newest_source:
        return
    for file in compiled:
        try:
            file.unlink(missing_ok=True)
        except PermissionError:  # an installed package is replaced as a whole, so nothing in it is stale
            return
