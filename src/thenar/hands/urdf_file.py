"""A URDF as MuJoCo can read it: meshes found wherever they lie, and the speeds that MuJoCo does not keep."""

from __future__ import annotations

import math
import xml.etree.ElementTree as ElementTree
from pathlib import Path

from thenar.errors import BadFile

MESHES = (".stl", ".obj", ".msh")


def read_urdf(path: Path) -> tuple[str, dict[str, float]] | None:
    """A URDF's text for MuJoCo, and top speeds of its joints [rad/s]; None for a file of another kind.

    Shapes that collide are kept, and those that are only seen where nothing collides. Meshes are looked for beside the
    file and in its packages (``package://``).
    """
    try:
        text = path.read_bytes()
    except OSError as error:
        raise BadFile(path, f"cannot be read: {error.strerror}") from None
    try:
        robot = ElementTree.fromstring(text)
    except (ElementTree.ParseError, LookupError, ValueError) as error:  # the last two: of an unknown encoding
        if b"<robot" not in text:  # MuJoCo will say what it thinks of it
            return None
        raise BadFile(path, f"not XML: {error}") from None
    if robot.tag != "robot":
        return None
    unused = "visual" if robot.find("link/collision") is not None else "collision"
    for link in robot.iter("link"):
        for shape in link.findall(unused):
            link.remove(shape)
        for shape in link.findall("visual"):
            shape.tag = "collision"
    for mesh in robot.iter("mesh"):
        mesh.set("filename", str(_find_mesh(path, mesh.get("filename", ""))))
    speeds, names = {}, {joint.get("name") for joint in robot.findall("joint")}
    for joint in robot.iter("joint"):
        driver = joint.find("mimic")
        if driver is not None and driver.get("joint") not in names - {joint.get("name")}:  # MuJoCo would let it go free
            why = f"follows {driver.get('joint')!r}, which is no other joint of the file"
            raise BadFile(path, f"joint {joint.get('name')!r} {why}")
        limit = joint.find("limit")
        try:
            speed = float("nan" if limit is None else limit.get("velocity", "nan"))
        except ValueError:
            raise BadFile(path, f"joint {joint.get('name')!r}: velocity is not a number") from None
        if speed > 0.0 and math.isfinite(speed):
            speeds[joint.get("name", "")] = speed
    for old in robot.findall("mujoco"):
        robot.remove(old)
    ElementTree.SubElement(
        ElementTree.SubElement(robot, "mujoco"), "compiler", strippath="false", discardvisual="false"
    )
    return ElementTree.tostring(robot, encoding="unicode"), speeds


def _find_mesh(path: Path, filename: str) -> Path:
    """The file of a mesh: relative to the URDF, or in a package around it."""
    inside = filename.removeprefix("package://").removeprefix("file://")
    parts = Path(inside).parts
    places = [path.parent / inside]
    for folder in (path.parent, *path.resolve().parents):  # package://name/meshes/x.stl: the folder "name", or its own
        places += [folder / inside, folder.joinpath(*parts[1:])] if filename.startswith("package://") else []
    for place in places:
        if place.is_file():
            if place.suffix.lower() not in MESHES:
                raise BadFile(path, f"mesh {filename!r}: MuJoCo reads {', '.join(MESHES)}; convert it")
            return place.resolve()
    raise BadFile(path, f"mesh {filename!r} is not there; looked beside the file and in the folders above it")
