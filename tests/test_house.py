"""Order in the house: who imports whom, what the lock holds, how fast it starts, what the wheel carries."""

import ast
import importlib.metadata
import os
import re
import statistics
import subprocess
import sys
import sysconfig
import time
import tomllib
import zipfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).resolve().parents[1]
SRC = ROOT / "src" / "thenar"
MODULES = sorted(SRC.rglob("*.py"))

# From the ground up. A room imports from the floors below it, never from its own floor.
FLOORS = (
    ("errors",),
    ("units", "arrays", "compiled", "pace", "thread_priority", "cdr"),
    ("display",),
    ("signals",),
    ("hands",),
    ("glove",),
    ("sim",),
    ("retarget", "touch", "humanoid", "wire", "recordings", "view"),
    ("twin",),
    ("batch",),
    ("envs",),
    ("cli",),
)
FLOOR_OF = {room: floor for floor, rooms in enumerate(FLOORS) for room in rooms}

# Where each third-party package may be imported. A package that is not here may be imported nowhere.
LIVES_IN = {
    "numpy": set(FLOOR_OF),
    # A body is built by its own room, as hands are by theirs, so that one spec makes both of its models.
    "mujoco": {"hands", "sim", "batch", "humanoid"},
    "numba": {"glove", "retarget", "touch", "sim"},
    "pinocchio": {"humanoid"},
    "yaml": {"humanoid"},
    "cyclonedds": set(),  # a peer of the tests
    "pymodbus": {"wire"},
    "mcap": {"recordings"},
    "mcap_ros2": {"recordings"},
    "zstandard": {"recordings"},  # comes with mcap, which compresses with it
    "pyarrow": {"recordings"},
    "av": {"recordings"},
    "gymnasium": {"envs"},
    "viser": {"view"},
    "PIL": {"view"},
    "zmq": {"view"},
    "websockets": {"view"},
    "warp": {"batch"},
    "mujoco_warp": {"batch"},
    "torch": {"batch"},  # comes with mjlab
    "mjlab": {"batch"},
    "ray": {"batch"},
    "tyro": {"cli"},
    "rich": {"cli"},
}


def imported_names(tree: ast.AST, package: list[str]) -> Iterator[tuple[int, str]]:
    """Yield the line and the absolute dotted name of every import, those inside functions too."""
    for node in ast.walk(tree):
        match node:
            case ast.Import():
                for alias in node.names:
                    yield node.lineno, alias.name
            case ast.ImportFrom():
                base = package[: len(package) - node.level + 1] if node.level else []
                base = base + (node.module.split(".") if node.module else [])
                for alias in node.names:
                    yield node.lineno, ".".join([*base, alias.name])
            case ast.Call(
                func=ast.Name(id="import_module" | "__import__") | ast.Attribute(attr="import_module"),
                args=[ast.Constant(value=str(name)), *_],
            ):
                yield node.lineno, name


def complaint(room: str, name: str) -> str | None:
    """Say what is wrong with importing a dotted name in a room, or None if nothing is."""
    top, _, rest = name.partition(".")
    if top == "thenar":
        target = rest.partition(".")[0]
        if target in (room, "__version__"):
            return None
        if target not in FLOOR_OF:
            return None if room == "cli" else "goes through the front door; name the room instead"
        return None if FLOOR_OF[target] < FLOOR_OF[room] else f"{target} is not below {room}"
    if top in sys.stdlib_module_names:
        return None
    if top not in LIVES_IN:
        return f"{top} has no place in the house"
    return None if room in LIVES_IN[top] else f"{top} lives only in {', '.join(sorted(LIVES_IN[top]))}"


def wrong_imports(path: Path, source: str) -> list[str]:
    """List what a module imports against the order of the house.

    Args:
        path: Where the module is, below ``src/thenar``.
        source: Its text.
    """
    room = path.parts[0].removesuffix(".py")
    if room in ("__init__", "__main__"):
        return []  # the front door opens on every room
    if room not in FLOOR_OF:
        return [f"{path}: {room} is not a room of the house"]
    found = imported_names(ast.parse(source), ["thenar", *path.parent.parts])
    return [f"{path}:{line}: {name}: {why}" for line, name in found if (why := complaint(room, name))]


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(SRC)))
def test_import_direction(path: Path):
    assert wrong_imports(path.relative_to(SRC), path.read_text(encoding="utf-8")) == []


def test_the_page_about_contributing_tells_the_same_order():
    page = (ROOT / "docs" / "contributing.md").read_text(encoding="utf-8")
    (line,) = re.findall(r"^errors < .*$", page, re.MULTILINE)
    assert tuple(tuple(floor.strip(" {}").split(", ")) for floor in line.split("<")) == FLOORS


@pytest.mark.parametrize(
    ("path", "source"),
    [
        ("signals.py", "from thenar import hands"),
        ("signals.py", "from .hands import load"),
        ("units.py", "import numba"),
        ("hands/catalogue.py", "def f():\n    from thenar.sim.physics import World"),
        ("hands/catalogue.py", "from ..twin import Twin"),
        ("sim/world.py", "from .. import touch"),
        ("sim/world.py", "import thenar.touch as skin"),
        ("sim/deep/world.py", "from ...touch import solve"),
        ("sim/world.py", "import thenar"),
        ("sim/world.py", "from thenar import World"),
        ("sim/__init__.py", "from ..touch import hand_touch"),
        ("touch/solver.py", "import mujoco"),
        ("touch/solver.py", "import importlib\nimportlib.import_module('thenar.twin')"),
        ("wire/dds_link.py", "from rich.table import Table"),
        ("twin/loop.py", "from thenar.cli import main"),
        ("recordings/frames.py", "import scipy.linalg"),
        ("utils.py", ""),
    ],
)
def test_import_direction_of_a_bad_example_is_wrong(path: str, source: str):
    assert len(wrong_imports(Path(path), source)) == 1


@pytest.mark.parametrize(
    ("path", "source"),
    [
        ("__init__.py", "from thenar.twin import World"),
        (
            "signals.py",
            "from __future__ import annotations\nimport numpy\nfrom thenar.errors import ThenarError",
        ),
        ("hands/__init__.py", "from . import inspire\nfrom .inspire import SPEC\nfrom ..units import deg"),
        ("hands/inspire.py", "import mujoco\nfrom thenar import signals"),
        ("batch/touch.py", "def f():\n    import mujoco_warp\n    from thenar import hands"),
        ("recordings/mcap.py", "from mcap.writer import Writer\nfrom thenar import __version__"),
        ("cli.py", "import tyro\nimport thenar\nfrom thenar import twin, view"),
    ],
)
def test_import_direction_of_a_good_example_is_right(path: str, source: str):
    assert wrong_imports(Path(path), source) == []


def test_every_file_name_stands_once():
    names = [path.name for path in MODULES if not path.name.startswith("__")]
    assert {name for name in names if names.count(name) > 1} == set()


def test_folders_are_small_enough_to_see_what_is_where():
    folders = Counter(path.parent.relative_to(SRC).as_posix() for path in MODULES)
    assert {folder: count for folder, count in folders.items() if count > 16} == {}


def test_files_are_short_enough_for_one_idea():
    lines = [len(path.read_text(encoding="utf-8").splitlines()) for path in MODULES]
    assert max(lines) <= 600
    assert statistics.median(lines) < 180


LOCK = (ROOT / "requirements.lock").read_text(encoding="utf-8")
INSTALLED = {canonicalize_name(found.name) for found in importlib.metadata.distributions()}
LOCKED = [line for line in LOCK.replace("\\\n", " ").splitlines() if not line.startswith("#")]


def test_lock_pins_every_requirement_by_hash():
    assert LOCKED
    assert [line for line in LOCKED if not re.match(r"[\w.-]+(\[\w+\])?==\S+ .*--hash=sha256:[0-9a-f]{64}", line)] == []


def test_lock_names_no_address():
    assert "://" not in LOCK
    assert [line for line in LOCKED if line.startswith("-")] == []


def test_lock_has_what_pyproject_asks_for():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    asked = project["project"]["dependencies"] + project["dependency-groups"]["dev"]
    locked = {re.split(r"[^\w.-]", line)[0] for line in LOCKED}
    assert {re.split(r"[^\w.-]", requirement)[0] for requirement in asked} <= locked


def test_lock_pins_packages_with_the_extras_that_others_ask_for():
    # pip takes "name[extra]" for pinned only while the pinned release happens to be the newest one.
    pinned = {line.partition("==")[0].lower() for line in LOCKED}
    asked = [
        Requirement(text)
        for line in LOCKED
        if (name := re.split(r"[^\w.-]", line)[0]) in INSTALLED
        for text in importlib.metadata.requires(name) or ()
    ]
    with_extras = {
        f"{canonicalize_name(needed.name)}[{','.join(sorted(needed.extras))}]"
        for needed in asked
        if needed.extras and (needed.marker is None or needed.marker.evaluate({"extra": ""}))
    }
    assert "etils[epath]" in with_extras
    assert with_extras <= pinned


def best_of_five_s(*command: str) -> float:
    """Run a command five times and return its shortest wall-clock time [s]."""
    # Users have their bytecode cached, so let it be cached here too.
    env = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    took_s = []
    for _ in range(5):
        start_s = time.perf_counter()
        subprocess.run(command, check=True, env=env, stdout=subprocess.DEVNULL)
        took_s.append(time.perf_counter() - start_s)
    return min(took_s)


@pytest.mark.timing
def test_import_takes_less_than_half_a_second():
    assert best_of_five_s(sys.executable, "-c", "import thenar") < 0.5


@pytest.mark.timing
def test_listing_the_hands_takes_less_than_a_second():
    assert best_of_five_s(str(Path(sysconfig.get_path("scripts"), "thenar")), "hands") < 1.0


def import_beside(site: Path, *packages: str) -> subprocess.CompletedProcess[str]:
    """Import thenar where a folder with these packages, all owners of ``mujoco``, comes first."""
    (site / "mujoco").mkdir()
    (site / "mujoco" / "__init__.py").write_text("raise AssertionError('the engine was imported')")
    for package in packages:
        (site / f"{package}.dist-info").mkdir()
    env = {**os.environ, "PYTHONPATH": os.pathsep.join([str(site), str(SRC.parent)])}
    command = [sys.executable, "-c", "import thenar"]
    return subprocess.run(command, env=env, capture_output=True, text=True, check=False)


@pytest.mark.parametrize(
    "packages", [("mujoco_core-4.0.1", "mujoco-3.11.0"), ("mujoco-3.17.0",), ("mujoco_core-5.0.0",)]
)
def test_another_mujoco_in_place_of_ours_is_refused_with_what_to_type(tmp_path: Path, packages: tuple[str, ...]):
    done = import_beside(tmp_path, *packages)
    wrong = packages[-1].replace("_", "-").replace("-core-", "-core ").replace("mujoco-3", "mujoco 3")
    assert f"but {wrong} is installed in the same folder" in done.stderr
    assert "pip install 'mujoco-core>=4,<5'" in done.stderr


@pytest.mark.parametrize("packages", [("mujoco_core-4.0.1",), ("mujoco_core-4.1.0", "mujoco-4.1.0"), ()])
def test_the_engine_of_ours_is_not_even_imported(tmp_path: Path, packages: tuple[str, ...]):
    assert import_beside(tmp_path, *packages).stderr == ""


def test_wheel_carries_the_licence_the_types_and_every_module(tmp_path: Path):
    build = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(tmp_path)]
    subprocess.run(build, cwd=ROOT, check=True)
    (wheel,) = tmp_path.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        names = set(archive.namelist())
    assert "thenar/py.typed" in names
    assert any(name.endswith(".dist-info/licenses/LICENSE") for name in names)
    assert {path.relative_to(SRC.parent).as_posix() for path in MODULES} <= names


SKIPPING = """
import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
def test_passes(): pass
def test_asks_for_too_much(): pytest.skip("no such tool")
def test_may_be_skipped(): pytest.skip("network namespaces cannot be made here: no")
"""


@pytest.mark.parametrize(("ci", "outcome"), [("true", "1 failed, 1 passed, 1 skipped"), (None, "1 passed, 2 skipped")])
def test_a_skip_that_is_not_on_the_list_fails_in_ci(tmp_path: Path, ci: str | None, outcome: str):
    (tmp_path / "test_skipping.py").write_text(SKIPPING)
    env = {name: value for name, value in os.environ.items() if name != "CI" and not name.startswith("PYTEST")}
    env |= {"PYTHONPATH": str(ROOT / "tests")} | ({} if ci is None else {"CI": ci})
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-p",
        "skip_gate",
        "-c",
        os.devnull,
        "--rootdir",
        str(tmp_path),
        str(tmp_path),
    ]
    done = subprocess.run(command, env=env, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert outcome in done.stdout
