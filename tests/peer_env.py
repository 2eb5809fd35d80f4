"""Programs of other people to test against, each in an environment of its own, made once and kept."""

from __future__ import annotations

import fcntl
import hashlib
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
CACHE = ROOT / ".cache" / "peers"
PEERS = Path(__file__).parent / "peers"


def peer_python(name: str, *requirements: str) -> Path:
    """The interpreter of an environment with these packages; skips the test where they cannot be had."""
    key = hashlib.sha256(" ".join((sys.version, *requirements)).encode()).hexdigest()[:12]
    home = CACHE / f"{name}-{key}"
    python = home / "bin" / "python"
    CACHE.mkdir(parents=True, exist_ok=True)
    with (CACHE / f"{name}.lock").open("w") as lock:  # one process makes it, the others wait
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (home / ".ready").exists():
            shutil.rmtree(home, ignore_errors=True)
            subprocess.run([sys.executable, "-m", "venv", str(home)], check=True)
            install = [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *requirements]
            done = subprocess.run(install, capture_output=True, text=True)
            if done.returncode:
                shutil.rmtree(home, ignore_errors=True)
                pytest.skip(f"{', '.join(requirements)} cannot be installed here: {done.stderr.strip()[-300:]}")
            (home / ".ready").touch()
    return python


def compiled_peer(name: str, idl: str, tmp: Path) -> Path:
    """A C program compiled with the system's Cyclone DDS; skips the test where that is not installed."""
    for tool in ("idlc", "cc"):
        if shutil.which(tool) is None:
            pytest.skip(f"no {tool}: apt-get install gcc libc6-dev cyclonedds-dev cyclonedds-tools")
    if not any(Path(where, "dds/dds.h").exists() for where in ("/usr/include", "/usr/local/include")):
        pytest.skip("no Cyclone DDS headers: apt-get install cyclonedds-dev")
    subprocess.run(["idlc", "-l", "c", str(PEERS / idl)], cwd=tmp, check=True, capture_output=True)
    generated = tmp / Path(idl).with_suffix(".c").name
    program = tmp / name
    sources = [str(PEERS / f"{name}.c"), str(generated)]
    subprocess.run(["cc", "-O1", "-I", str(tmp), "-o", str(program), *sources, "-lddsc"], check=True)
    return program


def quiet_environment() -> dict[str, str]:
    """The environment without what would lead another interpreter to our packages."""
    return {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "VIRTUAL_ENV"))}
