"""A URDF or MJCF of the user's own in place of a built-in hand."""

from pathlib import Path

import mujoco
import numpy as np
import pytest

import thenar
from thenar import hands
from thenar.errors import BadFile
from thenar.signals import HandCommand


def own_urdf() -> str:
    """A plain three-finger gripper with the ReFlex hand's mechanism but its own names and sizes."""
    box = '<collision><geometry><box size="0.03 0.01 0.01"/></geometry></collision>'
    inertial = (
        '<inertial><mass value="0.03"/><inertia ixx="1e-5" iyy="1e-5" izz="1e-5" ixy="0" ixz="0" iyz="0"/></inertial>'
    )
    parts = [f'<link name="frame">{inertial}{box}</link>']

    def joint(name: str, parent: str, child: str, x: float, y: float, axis: str, lower: float, upper: float) -> None:
        parts.append(f'<link name="{child}">{inertial}{box}</link>')
        parts.append(
            f'<joint name="{name}" type="revolute"><parent link="{parent}"/><child link="{child}"/>'
            f'<origin xyz="{x} {y} 0.02"/><axis xyz="{axis}"/>'
            f'<limit lower="{lower}" upper="{upper}" effort="1" velocity="1"/></joint>'
        )

    joint("spread_a", "frame", "turn_a", 0.05, -0.03, "0 0 -1", 0.0, 1.57)
    joint("spread_b", "frame", "turn_b", 0.05, 0.03, "0 0 -1", -1.57, 0.0)
    for name, parent, x in (("a", "turn_a", 0.02), ("b", "turn_b", 0.02), ("c", "frame", -0.05)):
        joint(f"base_{name}", parent, f"lower_{name}", x, 0.0, "0 -1 0", 0.0, 3.1)
        joint(f"tip_{name}", f"lower_{name}", f"upper_{name}", 0.05, 0.0, "0 -1 0", 0.0, 1.0)
    return f'<robot name="mine">{"".join(parts)}</robot>'


MAPPING = """\
hand = "reflex"
file = "{file}"
name = "my_gripper"

[joints]
preshape_1 = "spread_a"
preshape_2 = "spread_b"
proximal_1 = "base_a"
proximal_2 = "base_b"
proximal_3 = "base_c"
distal_1 = "tip_a"
distal_2 = "tip_b"
distal_3 = "tip_c"

[links]
base = "frame"
distal_1 = "upper_a"
"""


def mapping(folder: Path, model: str, *, file: str = "mine.urdf", text: str = MAPPING) -> Path:
    (folder / file).write_text(model)
    path = folder / "mine.toml"
    path.write_text(text.format(file=file))
    return path


def as_mjcf(urdf: str) -> str:
    spec = mujoco.MjSpec.from_string(urdf)
    spec.compile()
    return spec.to_xml()


@pytest.mark.parametrize("kind", ["urdf", "mjcf"])
def test_own_model_is_driven_by_the_catalogues_motors_and_couplings(kind: str, tmp_path):
    model = own_urdf() if kind == "urdf" else as_mjcf(own_urdf())
    file = "mine.urdf" if kind == "urdf" else "mine.xml"
    # MuJoCo writes the fixed frame of a URDF into the world, so the MJCF file has no link of that name.
    text = MAPPING if kind == "urdf" else MAPPING.replace('base = "frame"\n', "")
    spec = hands.load(str(mapping(tmp_path, model, file=file, text=text)))
    assert spec.name == "my_gripper"
    world = thenar.World(spec)
    world.command("my_gripper", HandCommand.to([0.6, 0.4, 0.2, 0.5]))
    world.advance(2.0)
    state = world.state("my_gripper")
    angle = dict(zip(state.joint_names, state.joint_rad, strict=True))
    assert angle["preshape_1"] == pytest.approx(0.5, abs=0.02)
    assert angle["preshape_2"] == pytest.approx(-0.5, abs=0.02)
    np.testing.assert_allclose(state.angle_rad[:3], [0.6, 0.4, 0.2], atol=0.05)
    assert world.model.body("my_gripper/distal_1").id > 0


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (("proximal_1 =", "proximal_9 ="), "has no joint named 'proximal_9'"),
        (('proximal_1 = "base_a"\n', ""), "has no place in my_gripper"),
        (('"base_b"', '"base_a"'), "maps 'base_a' more than once"),
        (('"upper_a"', "3"), "wanted a name in your file"),
        (('name = "my_gripper"', 'name = "a/b"'), "wanted a name without '/'"),
        (('hand = "reflex"', 'hand = "mine.toml"'), "a hand of the catalogue"),
        (('"base_a"', '"base_z"'), "no joint named 'base_z'.*it has: base_a"),
        (('"upper_a"', '"upper_z"'), "no link named 'upper_z'"),
        (('hand = "reflex"', 'handle = "reflex"'), "unknown entry 'handle'"),
        (('hand = "reflex"', ""), "entry 'hand' is missing"),
        (("[joints]", "[joints"), "not a TOML file"),
        (("mine.urdf", "other.urdf"), "other.urdf, which is not there"),
    ],
)
def test_a_wrong_mapping_file_names_the_file_and_the_entry(change: tuple[str, str], said: str, tmp_path):
    text = MAPPING.format(file="mine.urdf").replace(*change)
    path = mapping(tmp_path, own_urdf(), text=text.replace("{", "{{").replace("}", "}}"))
    with pytest.raises(BadFile, match=f"mine.*({said})"):
        thenar.World(hands.load(str(path)))


def test_an_unreadable_model_names_the_file(tmp_path):
    with pytest.raises(BadFile, match=r"mine\.urdf: not a model MuJoCo can read"):
        thenar.World(hands.load(str(mapping(tmp_path, "<robot"))))
