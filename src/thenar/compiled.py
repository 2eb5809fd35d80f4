"""The cache of compiled functions: its folder, and when it is out of date.

Numba renews a cached function when the file it stands in changes, but not when a function it calls from another file
does. A room whose functions call each other across files calls `drop_stale` first: whenever one of its files is newer
than what was compiled, everything compiled is thrown away.
"""

from __future__ import annotations

import os
import stat
from pathlib import Path


def find_cache() -> None:
    """Compile into a folder for temporary files where neither this package nor the user's own cache can be written.

    Numba gives up in that case: packages installed by somebody else, and no home. Compiled code is run when it is
    loaded, so the folder must belong to this user alone.
    """
    own_cache = Path(os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache"))
    nearest = next(folder for folder in (own_cache, *own_cache.parents) if os.access(folder, os.F_OK))
    can_write = own_cache.is_absolute() and os.access(nearest, os.W_OK)  # a user without a home keeps the "~"
    if "NUMBA_CACHE_DIR" in os.environ or os.access(Path(__file__).parent, os.W_OK) or can_write:
        return
    import tempfile

    folder = Path(tempfile.gettempdir(), f"thenar-{os.getuid()}")
    folder.mkdir(mode=0o700, exist_ok=True)
    found = folder.lstat()
    if found.st_uid != os.getuid() or found.st_mode != stat.S_IFDIR | 0o700:  # somebody else's, or open to others
        folder = tempfile.mkdtemp(prefix="thenar-")
    os.environ["NUMBA_CACHE_DIR"] = str(folder)


def drop_stale(folder: Path) -> None:
    """Delete compiled functions below a folder that are older than any of its sources."""
    compiled, sources = list[str](), list[str]()
    for inside, _, names in os.walk(folder):
        compiled += [os.path.join(inside, name) for name in names if name.endswith((".nbi", ".nbc"))]
        sources += [os.path.join(inside, name) for name in names if name.endswith(".py")]
    try:
        if not compiled or min(map(os.path.getmtime, compiled)) >= max(map(os.path.getmtime, sources)):
            return
    except FileNotFoundError:  # another process deletes them at this moment
        return
    for file in compiled:
        try:
            Path(file).unlink(missing_ok=True)
        except (
            OSError
        ):  # not ours, or read-only: an installed package is replaced as a whole, so nothing in it is stale
            return
