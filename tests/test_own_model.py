"""A URDF or MJCF of the user's own in place of a built-in hand."""

import math
import re
from pathlib import Path

import mujoco
import numpy as np
import pytest

import thenar
from thenar import hands
from thenar.errors import BadFile
from thenar.hands.pad_charts import taxel_points
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


def test_angles_of_a_model_in_degrees_and_of_a_bent_pose_mean_what_they_say(tmp_path):
    """The catalogue's springs and couplings, whatever units and pose the file was written in."""
    plain = as_mjcf(own_urdf())
    text = MAPPING.replace('base = "frame"\n', "")

    def in_degrees(ends: re.Match[str]) -> str:
        return f'range="{math.degrees(float(ends[1]))} {math.degrees(float(ends[2]))}"'

    bent = re.sub(r'range="(\S+) (\S+)"', in_degrees, plain.replace('angle="radian"', 'angle="degree"'))
    bent = bent.replace('name="spread_a"', 'name="spread_a" ref="20"').replace('name="base_a"', 'name="base_a" ref="9"')
    rest_rad = []
    for model in (plain, bent):
        world = thenar.World(hands.load(str(mapping(tmp_path, model, file="mine.xml", text=text))))
        joint = world.model.joint("my_gripper/proximal_1")
        rest_rad.append(world.model.qpos_spring[joint.qposadr[0]])
        world.command("my_gripper", HandCommand.to([0.0, 0.0, 0.0, 0.5]))
        world.advance(1.5)
        state = world.state("my_gripper")
        angle = dict(zip(state.joint_names, state.joint_rad, strict=True))
        assert angle["preshape_1"] == pytest.approx(0.5, abs=0.02)
        assert angle["preshape_2"] == pytest.approx(-0.5, abs=0.02)
    assert rest_rad == [pytest.approx(hands.load("reflex").joint("proximal_1").spring_rest_rad)] * 2


@pytest.mark.parametrize("angle", ["radian", "degree"])
def test_a_gripper_with_slides_may_be_mapped_too(angle: str, tmp_path):
    hand = hands.load("dex1_left")
    text = thenar.export_hand(hand, format="mjcf").replace('angle="radian"', f'angle="{angle}"')
    (tmp_path / "mine.xml").write_text(text.replace('joint name="finger_', 'joint name="slide_'))
    path = tmp_path / "mine.toml"
    joints = "".join(f'{joint} = "{joint.replace("finger", "slide")}"\n' for joint in hand.joint_names)
    path.write_text(f'hand = "dex1_left"\nfile = "mine.xml"\n[joints]\n{joints}')
    states = []
    for name in ("dex1_left", str(path)):
        world = thenar.World(name)
        world.command("dex1_left", HandCommand.closing(0.5))
        world.advance(1.0)
        states.append(world.state("dex1_left").joint_rad)
    np.testing.assert_allclose(states[1], states[0], atol=1e-4)
    assert np.ptp([hand.joints[0].lower_rad, *states[1]]) > 0.01
    (tmp_path / "mine.xml").write_text((tmp_path / "mine.xml").read_text().replace('type="slide"', 'type="hinge"', 1))
    with pytest.raises(BadFile, match="joint 'finger_1' is not a slide"):
        thenar.World(str(path))


def test_names_that_are_taken_are_told_and_cameras_follow_what_they_look_at(tmp_path):
    text = MAPPING.replace('base = "frame"\n', "")
    plain = as_mjcf(own_urdf())
    taken = mapping(tmp_path, plain.replace('"lower_a"', '"distal_1"'), file="mine.xml", text=text)
    with pytest.raises(BadFile, match="'upper_a' is to be called 'distal_1', and so is another link already"):
        thenar.World(hands.load(str(taken)))
    watched = plain.replace("<worldbody>", '<worldbody><camera mode="targetbody" target="upper_a"/>')
    world = thenar.World(hands.load(str(mapping(tmp_path, watched, file="mine.xml", text=text))))
    assert world.model.body("my_gripper/distal_1").id in world.model.cam_targetbodyid


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


def own_inspire(folder: Path, *, name: str, meshed: bool = False) -> Path:
    """The catalogue's hand as a file with other names, in frames that are turned against the catalogue's."""
    hand = hands.load(name)
    spec = mujoco.MjSpec.from_string(thenar.export_hand(hand, format="mjcf"))
    for element in (*spec.actuators, *spec.equalities, *spec.sensors, *spec.excludes):
        spec.delete(element)
    links = {link.name for link in hand.links}
    turn = np.array([math.cos(0.4), 0.0, math.sin(0.4), 0.0])
    back = turn * [1, -1, -1, -1]
    for body in [body for body in spec.bodies if body.name in links]:
        body.quat = _product(body.quat, turn)  # the frame turns, what is in it turns back
        for part in (*body.geoms, *body.sites, *body.bodies):
            part.pos, part.quat = _turned(back, part.pos), _product(back, part.quat)
        for joint in body.joints:
            joint.axis, joint.name = _turned(back, joint.axis), f"my_{joint.name}"
        if body.explicitinertial:  # how it is turned makes no difference to a fist that has closed
            body.ipos = _turned(back, body.ipos)
        if meshed and body.name == "index_2":
            skin = next(geom for geom in body.geoms if geom.name == "index_2_skin")
            ball = as_points(hand.link("index_2").skin)
            spec.add_mesh(name="hull", uservert=np.array([_turned(back, p) for p in ball]).ravel().tolist())
            spec.delete(skin)
            body.add_geom(type=mujoco.mjtGeom.mjGEOM_MESH, meshname="hull", name="fingertip", mass=0.01)
        body.name = f"my_{body.name}"
    spec.compile()
    (folder / "mine.xml").write_text(spec.to_xml())
    path = folder / "mine.toml"
    joints = "".join(f'{joint} = "my_{joint}"\n' for joint in hand.joint_names)
    mapped = "".join(f'{link} = "my_{link}"\n' for link in links)
    path.write_text(f'hand = "{name}"\nfile = "mine.xml"\n[joints]\n{joints}[links]\n{mapped}')
    return path


def _product(one, other) -> np.ndarray:
    made = np.zeros(4)
    mujoco.mju_mulQuat(made, np.array(one), np.array(other))
    return made


def _turned(quat, vector) -> np.ndarray:
    made = np.zeros(3)
    mujoco.mju_rotVecQuat(made, np.array(vector), np.array(quat))
    return made


def as_points(skin) -> np.ndarray:
    """Points all over a capsule [m]."""
    angle, turn = np.meshgrid(np.linspace(0.0, math.pi, 41), np.linspace(0.0, 2 * math.pi, 60, endpoint=False))
    axis = np.subtract(skin.end_m, skin.start_m) / skin.length_m
    side = np.cross(axis, [0.0, 0.0, 1.0])
    side /= np.linalg.norm(side)
    out = np.cos(angle)[..., None] * axis + np.sin(angle)[..., None] * (
        np.cos(turn)[..., None] * side + np.sin(turn)[..., None] * np.cross(axis, side)
    )
    ends = np.where(angle[..., None] < math.pi / 2, skin.end_m, skin.start_m)
    return (ends + skin.radius_m * out).reshape(-1, 3)


def _felt(hand: str) -> thenar.TouchFrame:
    """A fist, felt."""
    world = thenar.World(hand, profile="ideal")
    world.command(world.hand_names[0], HandCommand.closing(0.9))
    world.advance(1.5)
    return world.touch(world.hand_names[0])


@pytest.mark.parametrize("name", ["inspire_right", "inspire_left"])
def test_a_mapped_model_keeps_its_pads_and_feels_what_the_catalogues_hand_feels(name: str, tmp_path):
    wanted = _felt(name)
    felt = _felt(str(own_inspire(tmp_path, name=name)))
    assert [pad.name for pad in felt.layout] == [pad.name for pad in wanted.layout]
    assert wanted.contact_n > 5.0
    np.testing.assert_allclose(felt.pad_force_n, wanted.pad_force_n, rtol=0.02, atol=0.02 * wanted.contact_n)
    for pad in wanted.layout:
        np.testing.assert_allclose(felt[pad.name], wanted[pad.name], atol=0.05 * wanted.taxel_pressure_pa.max())


def test_pads_lie_on_the_meshes_of_a_mapped_model(tmp_path):
    world = thenar.World(str(own_inspire(tmp_path, name="inspire_right", meshed=True)), profile="ideal")
    spec = world.hand("inspire_right")
    points, _ = taxel_points(spec, spec.pad("index_top"))
    assert spec.pad("index_top").points is not None
    own, catalogue = world.data.body("inspire_right/index_2"), thenar.World("inspire_right")
    there = catalogue.data.body("inspire_right/index_2")
    hand = catalogue.hand("inspire_right")
    at = points @ own.xmat.reshape(3, 3).T + own.xpos
    wanted = taxel_points(hand, hand.pad("index_top"))[0] @ there.xmat.reshape(3, 3).T + there.xpos
    np.testing.assert_allclose(at, wanted, atol=3e-4)  # a grid on a mesh is no unrolled cylinder: corners differ a bit


def test_pads_of_a_model_with_other_proportions_are_left_out_with_a_warning(tmp_path, caplog):
    world = thenar.World(str(mapping(tmp_path, own_urdf())))
    assert not world.hand("my_gripper").pads
    assert "its joints are" in caplog.text
