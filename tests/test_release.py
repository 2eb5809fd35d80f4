"""What a stranger gets: a wheel with all of it, one version everywhere, and a place for compiled code."""

import errno
import os
import re
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

import thenar
from thenar import compiled

ROOT = Path(__file__).parents[1]


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> zipfile.ZipFile:
    folder = tmp_path_factory.mktemp("dist")
    build = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder)]
    subprocess.run(build, cwd=ROOT, check=True, capture_output=True)
    return zipfile.ZipFile(next(folder.glob("*.whl")))


def test_the_wheel_has_every_file_of_the_package_and_nothing_else(wheel):
    tracked = subprocess.run(["git", "ls-files", "src"], cwd=ROOT, check=True, capture_output=True, text=True)
    wanted = {line.removeprefix("src/") for line in tracked.stdout.splitlines() if (ROOT / line).exists()}
    packed = {name for name in wheel.namelist() if ".dist-info/" not in name}
    assert wanted - packed == set()
    assert {name for name in packed - wanted if not (ROOT / "src" / name).exists()} == set()


def test_one_word_brings_what_the_demo_needs(wheel):
    about = wheel.read(f"thenar-{thenar.__version__}.dist-info/METADATA").decode()
    assert re.search(
        r"^Requires-Dist: viser.*extra == 'demo'|^Requires-Dist: thenar\[view\].*extra == 'demo'", about, re.M
    )


def test_the_version_is_the_same_everywhere():
    assert f"version: {thenar.__version__}\n" in (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    newest = re.search(r"^## \[(.+?)\]", (ROOT / "CHANGELOG.md").read_text(encoding="utf-8"), re.M)
    assert newest
    assert newest[1] in ("Unreleased", thenar.__version__)


@pytest.fixture
def nowhere_to_write(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """As for a user without a home who runs what somebody else installed; the folder for temporary files is left."""
    monkeypatch.setattr(os, "access", lambda _, how: how == os.F_OK)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    monkeypatch.setenv("NUMBA_CACHE_DIR", "")
    monkeypatch.delenv("NUMBA_CACHE_DIR")
    return tmp_path


def test_compiled_code_finds_a_place_where_nothing_can_be_written(nowhere_to_write):
    compiled.find_cache()
    chosen = Path(os.environ["NUMBA_CACHE_DIR"])
    assert chosen.parent == nowhere_to_write
    assert chosen.stat().st_mode & 0o777 == 0o700
    del os.environ["NUMBA_CACHE_DIR"]
    compiled.find_cache()
    assert os.environ["NUMBA_CACHE_DIR"] == str(chosen)  # what was compiled is found again


def test_a_home_that_may_not_be_looked_into_does_not_end_the_program(nowhere_to_write, monkeypatch):
    """As under `sudo -u somebody`, which keeps the home of who typed it."""
    closed, look = nowhere_to_write / "home" / ".cache", Path.stat

    def refuse(path: Path, **how: bool) -> os.stat_result:
        if path == closed:
            raise PermissionError(path)
        return look(path, **how)

    monkeypatch.setenv("XDG_CACHE_HOME", str(closed))
    monkeypatch.setattr(Path, "stat", refuse)
    compiled.find_cache()
    assert Path(os.environ["NUMBA_CACHE_DIR"]).parent == nowhere_to_write


def test_a_user_who_has_no_home_at_all_can_import_it(nowhere_to_write, monkeypatch):
    """As a container runs under a number that nobody gave a name."""

    def nobody(_: int) -> None:
        raise KeyError

    monkeypatch.delenv("HOME", raising=False)
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    monkeypatch.setattr("pwd.getpwuid", nobody)
    monkeypatch.setattr(os, "access", lambda path, how: how == os.F_OK or not Path(path).is_absolute())
    compiled.find_cache()
    assert Path(os.environ["NUMBA_CACHE_DIR"]).parent == nowhere_to_write


def test_what_cannot_be_deleted_is_no_hindrance(tmp_path: Path, monkeypatch):
    """As on a read-only file system."""
    (tmp_path / "old.nbc").touch()
    os.utime(tmp_path / "old.nbc", (0, 0))
    (tmp_path / "source.py").touch()

    def read_only(path: Path, missing_ok: bool) -> None:
        raise OSError(errno.EROFS, "Read-only file system", str(path))

    monkeypatch.setattr(Path, "unlink", read_only)
    compiled.drop_stale(tmp_path)


def test_compiled_code_is_not_taken_from_a_folder_that_others_can_write(nowhere_to_write):
    planted = nowhere_to_write / f"thenar-{os.getuid()}"
    planted.mkdir()
    planted.chmod(0o777)
    compiled.find_cache()
    assert os.environ["NUMBA_CACHE_DIR"] != str(planted)


def test_a_cache_that_can_be_written_is_left_alone(monkeypatch, tmp_path):
    monkeypatch.setenv("NUMBA_CACHE_DIR", "")
    monkeypatch.delenv("NUMBA_CACHE_DIR")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "not yet there"))
    compiled.find_cache()
    assert "NUMBA_CACHE_DIR" not in os.environ
