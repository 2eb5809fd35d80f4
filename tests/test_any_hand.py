"""Any hand: a URDF or MJCF and a table of fingers make a hand that follows a glove, with the file's own shapes."""

from dataclasses import replace
from pathlib import Path

import mujoco
import numpy as np
import pytest

import thenar
from tests.toys.three_fingers import FINGERS, HULL, mjcf, write_urdf
from thenar import hands
from thenar.cli import main
from thenar.errors import BadFile, BadValue, ThenarError, UnknownName
from thenar.hands.rotations import matrix_from_rpy
from thenar.hands.shapes import Hull, hull_around
from thenar.hands.spec import Servo
from thenar.retarget.model.anatomy import FINGER_OF_TIP
from thenar.retarget.model.hand_model import build_model

GESTURES = ("pinch_index", "fist", "pinch_middle", "spread", "random")


@pytest.fixture(scope="module")
def made(tmp_path_factory) -> Path:
    path = tmp_path_factory.mktemp("made") / "three_fingers.xml"
    path.write_text(mjcf())
    return path


@pytest.mark.parametrize(
    ("name", "format", "apart_rad"),
    # Files have six digits. A lead screw's acceleration is known to the catalogue only.
    [("shadow_right", "mjcf", 2e-5), ("fourier_left", "urdf", 2e-5), ("inspire_right", "mjcf", 5e-3)],
)
def test_our_own_export_gives_the_answers_of_the_catalogue(name: str, format, apart_rad: float, tmp_path: Path):
    ours = hands.load(name)
    # A file has the shapes of the physics; outlines of real fingertips are the catalogue's own.
    ours = replace(ours, links=tuple(replace(link, outline=None) for link in ours.links))
    path = tmp_path / {"mjcf": "hand.xml", "urdf": "hand.urdf"}[format]
    path.write_text(thenar.export_hand(ours, format=format))
    link = (lambda tip: f"{tip.link}_link") if format == "urdf" else (lambda tip: tip.link)
    fingers = {FINGER_OF_TIP[tip.finger]: (link(tip), tip.pos_m) for tip in ours.tips}
    speeds = {key: motor.top_speed_rad_s for motor in ours.actuators for key in (motor.name, motor.drives)}
    R = matrix_from_rpy(ours.palm.rpy_rad)
    palm = None if name == "shadow_right" else (R[:, 1], R[:, 2])  # of the others we chose it by their drawings
    own = hands.from_file(path, fingers, speed_rad_s=speeds if format == "mjcf" else None, palm=palm)
    assert own.side == ours.side
    at = [ours.joint_names.index(joint) for joint in own.joint_names]
    one, other = thenar.Retargeter(ours), thenar.Retargeter(own)
    for frame in thenar.make_log(GESTURES, side="left" if ours.side == "left" else "right"):
        assert np.abs(one(frame).joint_rad[at] - other(frame).joint_rad).max() < apart_rad


def fingertips_m(model: mujoco.MjModel, names: tuple[str, ...], joint_rad: np.ndarray) -> np.ndarray:
    """Fingertips by MuJoCo's own kinematics, in the palm."""
    data = mujoco.MjData(model)
    for name, angle in zip(names, joint_rad, strict=True):
        data.joint(name).qpos[0] = angle
    mujoco.mj_kinematics(model, data)
    palm = data.body("palm")
    tips = np.array([data.body(FINGERS[finger]).xpos for finger in FINGERS])
    return (tips - palm.xpos) @ palm.xmat.reshape(3, 3)


def test_a_made_up_hand_has_the_kinematics_mujoco_has(made: Path):
    hand = hands.from_file(made, FINGERS, speed_rad_s=3.0)
    model, judge = build_model(hand), mujoco.MjModel.from_xml_path(str(made))
    assert hand.root == "palm"
    assert "wrist" not in hand.joint_names  # what carries the hand is no part of it
    assert "elbow" not in hand.joint_names
    assert [c.joint for c in hand.couplings] == ["index_last", "middle_last", "thumb_last"]
    rng = np.random.default_rng(3)
    count = len(model.variables)
    lower, upper = (model.record[end][0, :count] for end in ("lower_rad", "upper_rad"))
    for _ in range(50):
        variable_rad = rng.uniform(lower, upper)
        points_m = model.points_m(variable_rad)[0]
        ours_m = [points_m[part][-1] for part in model.point_slices]
        theirs_m = fingertips_m(judge, hand.joint_names, model.joint_rad(variable_rad))
        np.testing.assert_allclose(ours_m, theirs_m, atol=1e-9)


def test_couplings_are_those_of_the_file_also_where_its_own_pose_is_not_zero(made: Path):
    """MuJoCo counts a coupling from that pose: its own equality is the judge."""
    hand, judge = hands.from_file(made, FINGERS, speed_rad_s=3.0), mujoco.MjModel.from_xml_path(str(made))
    assert np.any(judge.qpos0 != 0.0)
    data = mujoco.MjData(judge)
    for name, angle in hand.joint_angles(0.5 * hand.closed_rad).items():
        data.joint(name).qpos[0] = angle
    mujoco.mj_forward(judge, data)
    apart = data.efc_pos[data.efc_type == mujoco.mjtConstraint.mjCNSTR_EQUALITY]
    np.testing.assert_allclose(apart, np.zeros(3), atol=1e-9)


def test_masses_inertias_and_motors_are_those_of_the_file(tmp_path: Path):
    inertial = '<inertial pos="0 0 0.02" mass="0.03" fullinertia="3e-5 3.2e-5 2.8e-5 -4e-6 3e-6 -5e-6"/>'
    text = mjcf().replace('<joint name="index_middle"', f'{inertial}<joint name="index_middle"')
    kinds = {
        "index_spread": 'position joint="index_spread" kp="2" kv="0.1" gear="-3" forcerange="-4 0"',
        "index_bend": 'motor joint="index_bend" gear="5" ctrlrange="-0.5 0.5"',
        "index_middle": 'velocity joint="index_middle" kv="0.5" forcerange="-2 2"',
    }
    for joint, motor in kinds.items():
        text = text.replace(f'position joint="{joint}"', motor).replace(
            f' name="{joint}_motor" kp="1" forcerange="-1 1"', ""
        )
    (tmp_path / "hand.xml").write_text(text.replace(' model="three_fingers"', ""))
    hand = hands.from_file(tmp_path / "hand.xml", FINGERS, speed_rad_s=3.0)
    assert hand.name == "hand"
    assert hand.link("index_2").inertia_kgm2 == pytest.approx((3e-5, 3.2e-5, 2.8e-5, -4e-6, 3e-6, -5e-6), rel=1e-6)
    motors = {motor.drives: motor.motor for motor in hand.actuators}
    wanted = {"index_spread": (12.0, 18.0, 0.9), "index_bend": (2.5, 12.5, 0.125), "index_middle": (2.0, 10.0, 0.1)}
    for joint, (effort_nm, stiffness_nm_rad, damping_nms_rad) in wanted.items():
        motor = motors[joint]
        assert isinstance(motor, Servo)
        assert (motor.effort_nm, motor.stiffness_nm_rad) == (effort_nm, stiffness_nm_rad)
        assert motor.damping_nms_rad == pytest.approx(damping_nms_rad)


def test_fingers_may_hang_on_the_world_itself(tmp_path: Path):
    """As in an MJCF that MuJoCo makes of a URDF, whose first link it melts into the world."""
    text = mjcf()
    start, end = text.index('<body name="arm"'), text.index('<geom type="box"')
    text = text[:start] + '<geom type="plane" size="1 1 1" pos="0 0 -1"/>' + text[end:]
    text = text.replace("</body></body></worldbody>", "</worldbody>").replace('<position joint="elbow" kp="50"/>', "")
    fixed = '<default><joint armature="2e-5"/><geom density="2000"/></default><worldbody>'
    (tmp_path / "fixed.xml").write_text(text.replace("<worldbody>", fixed).replace("index_tip", "base"))
    fingers = {**FINGERS, "index": "base"}  # so that name is taken
    hand = hands.from_file(tmp_path / "fixed.xml", fingers, speed_rad_s=3.0)
    (tmp_path / "arm.xml").write_text(mjcf())
    usual = hands.from_file(tmp_path / "arm.xml", FINGERS, speed_rad_s=3.0)
    assert hand.root == "hand_base"
    assert hand.link("hand_base").mass_kg == pytest.approx(2.0 * usual.link("palm").mass_kg)
    assert {joint.armature_kgm2 for joint in hand.joints} == {2e-5}
    fist = thenar.make_log(("fist",))[70]
    np.testing.assert_allclose(
        thenar.Retargeter(hand)(fist).joint_rad, thenar.Retargeter(usual)(fist).joint_rad, atol=1e-3
    )
    world = thenar.World(hand)
    world.advance(0.1)
    assert world.model.body("three_fingers/hand_base").id > 0


def test_joints_may_be_nameless_and_tendons_and_couplings_without_effect_are_passed_over(tmp_path: Path):
    text = mjcf().replace('<joint joint1="index_last"', '<joint active="false" joint1="index_last"')
    cord = '<joint joint="index_bend" coef="1"/><joint joint="index_middle" coef="0"/>'
    idle = '<fixed name="idle"><joint joint="index_middle" coef="0"/></fixed>'
    text = text.replace("<actuator>", f'<tendon><fixed name="cord">{cord}</fixed>{idle}</tendon><actuator>')
    text = text.replace('<position joint="index_bend"', '<position tendon="cord"')
    text = text.replace(
        '<position joint="index_middle" name', '<damper joint="index_middle" kv="1" ctrlrange="0 1" name'
    )
    text = text.replace(
        'kv="1" ctrlrange="0 1" name="index_middle_motor" kp="1" forcerange="-1 1"', 'kv="1" ctrlrange="0 1"'
    )
    (tmp_path / "hand.xml").write_text(
        text.replace('<joint name="index_spread"', "<joint").replace('joint="index_spread"', 'joint="index_last"')
    )
    hand = hands.from_file(tmp_path / "hand.xml", FINGERS, speed_rad_s=3.0)
    assert hand.joint_names[0].startswith("unnamed_joint_")
    assert [(tendon.name, tendon.joints) for tendon in hand.tendons] == [("cord", (("index_bend", 1.0),))]
    assert [coupling.joint for coupling in hand.couplings] == ["middle_last", "thumb_last"]
    world = thenar.World(hand)
    world.command(hand.name, thenar.HandCommand.closing(0.5))
    world.advance(0.1)
    assert np.isfinite(world.state(hand.name).joint_rad).all()
    assert min(motor.motor.effort_nm for motor in hand.actuators if isinstance(motor.motor, Servo)) > 0.0


def test_its_own_meshes_touch_in_a_pinch_and_never_overlap(made: Path):
    """MuJoCo's collision of the file itself is the judge; without contact it must see overlaps."""
    hand, judge = hands.from_file(made, FINGERS, speed_rad_s=3.0), mujoco.MjModel.from_xml_path(str(made))
    model, data = build_model(hand), mujoco.MjData(judge)
    log = thenar.make_log(("pinch_index", "pinch_middle", "fist", "random"), seed=4)
    finger = [judge.body(body).name.partition("_")[0] for body in judge.geom_bodyid]
    thumb, index = (int(judge.body(f"{name}_3").geomadr[0]) for name in ("thumb", "index"))
    limits = [[joint.lower_rad - 1e-9 for joint in hand.joints], [joint.upper_rad + 1e-9 for joint in hand.joints]]

    def distances_m(config: thenar.RetargetConfig) -> tuple[float, float]:
        """Deepest overlap of two fingers, and how near thumb and index finger come."""
        retargeter, deepest, nearest = thenar.Retargeter(model, config), 0.0, 1.0
        for frame in log:
            answer = retargeter(frame)
            assert np.all((limits[0] <= answer.joint_rad) & (answer.joint_rad <= limits[1]))
            for name, angle in zip(hand.joint_names, answer.joint_rad, strict=True):
                data.joint(name).qpos[0] = angle
            mujoco.mj_kinematics(judge, data)
            mujoco.mj_collision(judge, data)
            deep = [-contact.dist for contact in data.contact if len({finger[geom] for geom in contact.geom}) == 2]
            deepest = max(deepest, *deep, 0.0)
            nearest = min(nearest, mujoco.mj_geomDistance(judge, data, thumb, index, 0.1, np.zeros(6)))
        return deepest, nearest

    deepest, nearest = distances_m(thenar.RetargetConfig())
    assert deepest < 0.001
    assert nearest < 0.003
    assert distances_m(thenar.RetargetConfig(contact=False, pinch=False))[0] > 0.002


def test_a_urdf_finds_its_meshes_in_its_package_and_keeps_its_speeds(tmp_path: Path):
    hand = hands.from_file(write_urdf(tmp_path), FINGERS)
    assert set(hand.top_speed_rad_s) == {3.0}
    assert next((c.joint, c.ratio, c.offset_rad) for c in hand.couplings) == ("index_last", 0.9, 0.05)
    tip = hand.link("thumb_2").skin
    assert isinstance(tip, Hull)
    assert sorted(map(tuple, np.round(tip.points_m, 6).tolist())) == sorted(map(tuple, np.round(HULL, 6).tolist()))
    bent_rad = thenar.Retargeter(hand)(thenar.make_log(("fist",))[70]).joint_rad
    assert bent_rad[hand.joint_names.index("index_bend")] > 1.0


def test_a_motor_on_a_tendon_is_as_fast_as_its_joints_together_each_by_its_weight(tmp_path: Path):
    pulled = '<joint joint="index_bend" coef="2"/><joint joint="index_middle" coef="-0.5"/>'
    text = mjcf().replace("<actuator>", f'<tendon><fixed name="cord">{pulled}</fixed></tendon><actuator>')
    text = text.replace('<position joint="index_bend"', '<position tendon="cord"')
    text = text.replace('<position joint="index_middle" name="index_middle_motor" kp="1" forcerange="-1 1"/>', "")
    (tmp_path / "cord.xml").write_text(text)
    hand = hands.from_file(tmp_path / "cord.xml", FINGERS, speed_rad_s=3.0)
    speeds = {motor.drives: motor.top_speed_rad_s for motor in hand.actuators}
    assert speeds.pop("cord") == 2.0 * 3.0 + 0.5 * 3.0
    assert set(speeds.values()) == {3.0}


def test_a_mesh_becomes_few_points_that_are_wrong_by_half_a_millimetre_at_most():
    rng = np.random.default_rng(0)
    egg = rng.normal(size=(4000, 3))
    egg *= np.array([0.008, 0.006, 0.014]) / np.linalg.norm(egg, axis=1, keepdims=True)
    hull = hull_around(egg, max_points=100)
    direction = rng.normal(size=(2000, 3))
    direction /= np.linalg.norm(direction, axis=1, keepdims=True)
    reach_m = (direction @ np.array(hull.points_m).T).max(axis=1) + hull.radius_m
    error_m = reach_m - (direction @ egg.T).max(axis=1)
    assert np.abs(error_m).max() < 0.0005
    assert len(hull.points_m) <= 100
    assert len(hull_around(np.array([[x, y, z] for x in (0, 1) for y in (0, 1) for z in (0, 1)]) * 0.02).points_m) == 8


def test_a_file_about_the_hand_makes_it_known_to_every_verb(made: Path, tmp_path: Path, capsys):
    about = made.with_name("mine.toml")
    table = "\n".join(f'{finger} = "{link}"' for finger, link in FINGERS.items())
    about.write_text(f'file = "three_fingers.xml"\nspeed_rad_s = 3.0\nname = "mine"\n\n[fingers]\n{table}\n')
    assert hands.load(str(about)).name == "mine"
    main(["glove", "make", str(tmp_path / "person.csv"), "--gestures", "fist"])
    main(["retarget", str(tmp_path / "person.csv"), "--hand", str(about), "-o", str(tmp_path / "motion.npz")])
    assert "index_bend" in np.load(tmp_path / "motion.npz")["joint_names"]
    capsys.readouterr()


def test_a_urdf_may_have_any_encoding_and_an_mjcf_may_speak_of_robots(made: Path, tmp_path: Path):
    urdf = write_urdf(tmp_path)
    text = urdf.read_text().replace('name="three_fingers"', 'name="dreifingrige_Händ"')
    for codec, header in (("utf-8-sig", ""), ("latin-1", '<?xml version="1.0" encoding="ISO-8859-1"?>')):
        urdf.write_text(header + text, encoding=codec)
        assert hands.from_file(urdf, FINGERS).name == "dreifingrige_Händ"
    commented = made.with_name("commented.xml")
    commented.write_text(made.read_text().replace("<worldbody>", "<!-- once a <robot> --><worldbody>"))
    assert hands.from_file(commented, FINGERS, speed_rad_s=3.0).name == "three_fingers"


@pytest.mark.parametrize(
    ("change", "why"),
    [
        (('mass value="0.02"', 'mass value="-0.02"'), "link 'palm' has a mass or an inertia below 0"),
        (('lower="-0.2" upper="1.6"', 'lower="1.6" upper="-0.2"'), "'index_bend' has its lower limit above its upper"),
        (('mimic joint="index_bend"', 'mimic joint="idx_bend"'), "'index_last' follows 'idx_bend', which is no other"),
        (('mimic joint="index_bend"', 'mimic joint="index_last"'), "follows 'index_last', which is no other joint"),
        (("</robot>", "</rob>"), r"three_fingers\.urdf: not XML"),
    ],
)
def test_a_urdf_that_contradicts_itself_is_refused_by_name(change: tuple[str, str], why: str, tmp_path: Path):
    urdf = write_urdf(tmp_path)
    urdf.write_text(urdf.read_text().replace(*change))
    with pytest.raises(BadFile, match=why):
        hands.from_file(urdf, FINGERS)


def test_what_cannot_be_a_hand_is_refused_with_what_to_type(made: Path, tmp_path: Path):
    def load(path: Path = made, fingers=FINGERS, **options) -> None:
        hands.from_file(path, fingers, **{"speed_rad_s": 3.0, **options})

    with pytest.raises(BadValue, match=r"from_file\(\.\.\., speed_rad_s=3\.0\)"):
        load(speed_rad_s=None)
    with pytest.raises(ThenarError, match=r"index_top.*index_tip"):
        load(fingers={**FINGERS, "index": "index_top"})
    with pytest.raises(BadValue, match=r"a point of index_3 on the axis of its last joint.*\('index_3', \(x, y, z\)\)"):
        load(fingers={**FINGERS, "index": "index_3"})
    with pytest.raises(BadValue, match="a thumb and at least one of"):
        load(fingers={"index": "index_tip", "middle": "middle_tip"})
    with pytest.raises(BadValue, match="right: the thumb of three_fingers"):
        load(side="left")
    with pytest.raises(BadValue, match="a link that hangs on index_1"):
        load(base="index_1")
    for end, said in (("index_3",), r"\('link', \(x, y, z\)\)"), (("index_3", (0.0, 0.02)), "three finite numbers"):
        with pytest.raises(BadValue, match=said):
            load(fingers={**FINGERS, "index": end})
    with pytest.raises(BadValue, match="one of left, right, none"):
        load(side="Left")
    with pytest.raises(BadValue, match="two directions: towards"):
        load(palm=(0.0, 0.0, 1.0))
    with pytest.raises(BadValue, match="three finite numbers"):
        load(palm=("up", "out"))
    speeds = dict.fromkeys(hands.from_file(made, FINGERS, speed_rad_s=1.0).joint_names, 2.0)
    with pytest.raises(UnknownName, match=r"joint or motor of three_fingers\.xml named 'idx'"):
        load(speed_rad_s={**speeds, "idx": 3.0})
    with pytest.raises(BadFile, match="cannot be read"):
        load(tmp_path / "nothing.xml")
    (tmp_path / "bad.xml").write_text("<mujoco><worldbody><body></mujoco>")
    with pytest.raises(BadFile, match="not a URDF or MJCF"):
        load(tmp_path / "bad.xml")
    (tmp_path / "slide.xml").write_text(mjcf().replace('name="index_middle"', 'type="slide" name="index_middle"'))
    with pytest.raises(BadFile, match="'index_middle' is not a hinge"):
        load(tmp_path / "slide.xml")
    urdf = write_urdf(tmp_path)
    (tmp_path / "three_fingers_description" / "meshes" / "tip.stl").unlink()
    with pytest.raises(BadFile, match=r"tip\.stl' is not there"):
        load(urdf)
    with pytest.raises(BadValue, match="name of a hand is 'a/b'; wanted one without '/'"):
        load(name="a/b")
    about = made.with_name("known.toml")
    about.write_text('file = "three_fingers.xml"\n[fingers]\n')
    with pytest.raises(UnknownName, match=r"no variant of .*known\.toml named 'soft'"):
        hands.load(str(about), variant="soft")
    about = tmp_path / "mine.toml"
    for text, why in (
        ('file = "a.urdf"\nspeed = 3\n[fingers]\n', "unknown entry 'speed'"),
        ('file = "a.urdf"\n[fingers]\nthumb = 3\n', r"\[fingers\] thumb is 3"),
        ('file = "a.urdf"\nside = "up"\n[fingers]\n', "left, right or none"),
        ('file = "a.urdf"\n[fingers]\n', "which is not there"),
        ('[fingers]\nthumb = "a"\n', "'file' is missing"),
    ):
        about.write_text(text)
        with pytest.raises(BadFile, match=why):
            hands.load(str(about))
