"""Exported models read back by others: MuJoCo, Pinocchio, check_urdf and libsdformat see the hand of the spec."""

import json
import shutil
import subprocess
import sys
import xml.etree.ElementTree as ElementTree
from collections import defaultdict
from dataclasses import replace
from pathlib import Path

import mujoco
import numpy as np
import pytest
from peer_env import PEERS, peer_python, quiet_environment, sdf_reader

from thenar import hands
from thenar.errors import BadValue, UnknownName
from thenar.hands import build_spec
from thenar.hands.export import FORMATS, export_hand
from thenar.hands.export.export_parts import FREE, couplings_to_drivers, drives, inertials, sensor_boxes, without_boxes
from thenar.hands.rotations import matrix_from_quat_wxyz, quat_wxyz_from_matrix
from thenar.hands.shapes import Ellipsoid
from thenar.hands.spec import HandSpec

# The other sides are mirror images made by the same code.
HANDS = ("inspire_left", "inspire_right", "inspire_dfx_right", "shadow_right", "fourier_right", "reflex")


def poses_of_spec(hand: HandSpec, joint_rad: dict[str, float]) -> dict[str, np.ndarray]:
    """Pose of every link in the root's frame, from the numbers of the spec alone. Shape (4, 4)."""
    poses = {hand.root: np.eye(4)}
    for joint in hand.joints:
        fixed, turned = np.eye(4), np.eye(4)
        roll, pitch, yaw = joint.rpy_rad
        fixed[:3, :3] = rotation((0, 0, 1), yaw) @ rotation((0, 1, 0), pitch) @ rotation((1, 0, 0), roll)
        fixed[:3, 3] = joint.pos_m
        turned[:3, :3] = rotation(joint.axis, joint_rad[joint.name])
        poses[joint.child] = poses[joint.parent] @ fixed @ turned
    return poses


def rotation(axis: tuple[float, float, float], angle_rad: float) -> np.ndarray:
    """Rodrigues."""
    x, y, z = np.asarray(axis) / np.linalg.norm(axis)
    K = np.array([[0, -z, y], [z, 0, -x], [-y, x, 0]])
    return np.eye(3) + np.sin(angle_rad) * K + (1 - np.cos(angle_rad)) * K @ K


def some_angles(hand: HandSpec, seed: int) -> dict[str, float]:
    rng = np.random.default_rng(seed)
    return {joint.name: float(rng.uniform(joint.lower_rad, joint.upper_rad)) for joint in hand.joints}


def check_pose(pose: np.ndarray, pos_m: np.ndarray, R: np.ndarray) -> None:
    np.testing.assert_allclose(pos_m, pose[:3, 3], atol=1e-9)
    np.testing.assert_allclose(R, pose[:3, :3], atol=1e-7)


@pytest.mark.parametrize("name", HANDS)
def test_urdf_read_by_mujoco_is_the_hand(name: str, tmp_path: Path):
    hand = hands.load(name)
    (tmp_path / "hand.urdf").write_text(export_hand(hand, format="urdf"))
    model = mujoco.MjModel.from_xml_path(str(tmp_path / "hand.urdf"))
    data = mujoco.MjData(model)
    assert model.njnt == len(hand.joints)
    for seed in range(3):
        angles = some_angles(hand, seed)
        for joint, angle in angles.items():
            data.joint(joint).qpos[0] = angle
        mujoco.mj_forward(model, data)
        for link, pose in poses_of_spec(hand, angles).items():
            if link != hand.root:  # MuJoCo melts it into the world
                body = data.body(f"{link}_link")
                check_pose(pose, body.xpos, body.xmat.reshape(3, 3))
    for joint in hand.joints:
        np.testing.assert_allclose(model.joint(joint.name).range, [joint.lower_rad, joint.upper_rad], atol=1e-12)
    for link, whole in inertials(hand).items():
        if link == hand.root:
            continue
        body = model.body(f"{link}_link")
        # With the boxes of its sensors, each link weighs what the spec says.
        assert body.mass[0] == pytest.approx(hand.link(link).mass_kg, rel=1e-9)
        np.testing.assert_allclose(body.ipos, whole.com_m, atol=1e-9)
        R = matrix_from_quat_wxyz(body.iquat)
        np.testing.assert_allclose(
            R @ np.diag(body.inertia) @ R.T, whole.about_com_kgm2, atol=1e-9 * np.trace(whole.about_com_kgm2) + 1e-12
        )


@pytest.mark.parametrize("name", HANDS)
def test_urdf_read_by_pinocchio_is_the_hand(name: str, tmp_path: Path):
    pin = pytest.importorskip("pinocchio")
    hand = hands.load(name)
    (tmp_path / "hand.urdf").write_text(export_hand(hand, format="urdf", sensor="pressure"))
    model = pin.buildModelFromUrdf(str(tmp_path / "hand.urdf"), pin.JointModelFreeFlyer())
    data = model.createData()
    efforts = drives(hand)
    place = {joint.name: model.joints[model.getJointId(joint.name)] for joint in hand.joints}
    for joint in hand.joints:
        q, v = place[joint.name].idx_q, place[joint.name].idx_v
        assert (model.lowerPositionLimit[q], model.upperPositionLimit[q]) == (joint.lower_rad, joint.upper_rad)
        assert model.effortLimit[v] == pytest.approx(efforts[joint.name].effort_nm, rel=1e-12)
        assert model.velocityLimit[v] == pytest.approx(efforts[joint.name].speed_rad_s, rel=1e-12)
        assert model.damping[v] == pytest.approx(joint.damping_nms_rad)
    for seed in range(3):
        q = pin.neutral(model)
        angles = some_angles(hand, seed)
        for joint, angle in angles.items():
            q[place[joint].idx_q] = angle
        pin.framesForwardKinematics(model, data, q)
        for link, pose in poses_of_spec(hand, angles).items():
            frame = data.oMf[model.getFrameId(f"{link}_link")]
            check_pose(pose, frame.translation, frame.rotation)
    whole = inertials(hand)
    of_joint = {joint.child: model.getJointId(joint.name) for joint in hand.joints} | {hand.root: 1}
    for link, number in of_joint.items():
        found = model.inertias[number]
        assert found.mass == pytest.approx(hand.link(link).mass_kg, rel=1e-9)
        np.testing.assert_allclose(found.lever, whole[link].com_m, atol=1e-9)
        np.testing.assert_allclose(
            found.inertia, whole[link].about_com_kgm2, atol=1e-9 * np.trace(whole[link].about_com_kgm2) + 1e-12
        )
    assert pin.computeTotalMass(model) == pytest.approx(hand.mass_kg, rel=1e-9)


def coupled_angles(hand: HandSpec, driven: dict[str, float]) -> dict[str, float]:
    """Angles of all joints from those of the driven ones, by the couplings of the spec, one after the other."""
    angles = dict(driven)
    for coupling in hand.couplings:
        angles[coupling.joint] = coupling.ratio * angles[coupling.driver] + coupling.offset_rad
    return angles


CHAINED = [("inspire_right", None), ("inspire_dfx_left", "rh56dfx_description"), ("fourier_right", None)]


@pytest.mark.parametrize(("name", "variant"), CHAINED)
def test_readers_of_urdf_turn_every_coupled_joint(name: str, variant: str | None, tmp_path: Path):
    pin = pytest.importorskip("pinocchio")
    hand = hands.load(name, variant=variant)
    file = tmp_path / "hand.urdf"
    file.write_text(export_hand(hand))
    coupled = {coupling.joint for coupling in hand.couplings}
    driven = {joint: angle for joint, angle in some_angles(hand, 5).items() if joint not in coupled}
    poses = poses_of_spec(hand, coupled_angles(hand, driven))
    python = peer_python("urdf_readers")
    command = [str(python), str(PEERS / "urdf_readers.py"), str(file), json.dumps(driven)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=quiet_environment())
    assert done.returncode == 0, done.stderr
    found = {
        reader: {link: np.array(pose) for link, pose in own.items()} for reader, own in json.loads(done.stdout).items()
    }
    model = pin.buildModelFromUrdf(str(file), mimic=True)
    assert model.nq == len(driven)
    q, data = pin.neutral(model), model.createData()
    for joint, angle in driven.items():
        q[model.joints[model.getJointId(joint)].idx_q] = angle
    pin.framesForwardKinematics(model, data, q)
    found["pinocchio"] = {frame.name: pose.homogeneous for frame, pose in zip(model.frames, data.oMf, strict=True)}
    for reader, seen in found.items():
        for link, pose in poses.items():
            np.testing.assert_allclose(seen[f"{link}_link"], pose, atol=1e-6, err_msg=f"{link} in {reader}")


@pytest.mark.parametrize("name", hands.names())
def test_check_urdf_accepts_every_hand(name: str, tmp_path: Path):
    if shutil.which("check_urdf") is None:
        pytest.skip("no check_urdf: apt-get install liburdfdom-tools")
    file = tmp_path / "hand.urdf"
    file.write_text(export_hand(hands.load(name), format="urdf"))
    done = subprocess.run(["check_urdf", str(file)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "Successfully Parsed XML" in done.stdout


def read_back(file: Path) -> dict[str, dict[str, list[str]]]:
    """What libsdformat finds in a file, by kind and name."""
    done = subprocess.run([str(sdf_reader()), str(file)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    found: dict[str, dict[str, list[str]]] = defaultdict(dict)
    for line in done.stdout.splitlines():
        kind, name, *values = line.split()
        found[kind][name] = values
    return found


@pytest.mark.parametrize("format", ["sdf", "sdf1.7", "urdf"])
@pytest.mark.parametrize("name", HANDS)
def test_the_parser_of_gazebo_reads_every_number_of_the_hand(name: str, format, tmp_path: Path):
    hand = hands.load(name)
    file = tmp_path / f"hand.{format.removesuffix('1.7')}"
    file.write_text(export_hand(hand, format=format, sensor="pressure"))
    found = read_back(file)
    boxes, whole = sensor_boxes(hand), inertials(hand)
    assert set(found["link"]) == {f"{link.name}_link" for link in hand.links} | {box.name for box in boxes}
    total = sum(float(values[0]) for values in found["link"].values())
    assert total == pytest.approx(hand.mass_kg, rel=1e-6)
    for link, pose in poses_of_spec(hand, dict.fromkeys(hand.joint_names, 0.0)).items():
        values = np.array(found["link"][f"{link}_link"], dtype=float)
        check_pose(pose, values[10:13], matrix_from_quat_wxyz(values[13:17]))
        carried = sum(box.inertial.mass_kg for box in boxes if box.link == link)
        assert values[0] + carried == pytest.approx(hand.link(link).mass_kg, rel=1e-9)
        rest = without_boxes(whole[link], [box for box in boxes if box.link == link])
        np.testing.assert_allclose(values[1:4], rest.com_m, atol=1e-9)
        tensor = rest.about_com_kgm2[[0, 1, 2, 0, 0, 1], [0, 1, 2, 1, 2, 2]]
        np.testing.assert_allclose(values[4:10], tensor, atol=1e-9 * tensor[:3].sum() + 1e-15)
    couplings = couplings_to_drivers(hand)
    efforts = drives(hand)
    for joint in hand.joints:
        parent, child, *numbers, mimic = found["joint"][joint.name]
        assert (parent, child) == (f"{joint.parent}_link", f"{joint.child}_link")
        effort = efforts[joint.name]
        wanted = [
            *np.asarray(joint.axis) / np.linalg.norm(joint.axis),
            *(joint.lower_rad, joint.upper_rad, effort.effort_nm, effort.speed_rad_s),
            *(joint.damping_nms_rad, joint.friction_nm, joint.spring_nm_rad, joint.spring_rest_rad),
        ]
        np.testing.assert_allclose(np.array(numbers, dtype=float), wanted, rtol=1e-9, atol=1e-12)
        if format == "sdf" and joint.name in couplings:
            driver, ratio, offset = mimic.split(",")
            law = couplings[joint.name]
            assert (driver, float(ratio), float(offset)) == (law.driver, law.ratio, law.offset_rad)
        else:
            assert mimic == "-"
    sensors = found["sensor"]
    assert set(sensors) == {f"{box.name}_{kind}" for box in boxes for kind in ("contact", "force")}
    for box in boxes:
        kind, link, collision = sensors[f"{box.name}_contact"]
        assert (kind, link) == ("contact", box.name)
        assert collision in found["collision"]  # what it names is there, under that name
        assert sensors[f"{box.name}_force"][:2] == ["force_torque", f"{box.name}_joint"]


@pytest.mark.parametrize("format", ["urdf", "sdf", "sdf1.7"])
def test_every_sensor_is_read_whether_or_not_anybody_listens(format):
    """Gazebo leaves a sensor alone that is not always on: a program inside it that asked for a force was told 0."""
    robot = ElementTree.fromstring(export_hand(hands.load("reflex"), format=format, sensor="pressure"))
    sensors = list(robot.iter("sensor"))
    assert len(sensors) == 2 * 38
    assert {sensor.findtext("always_on") for sensor in sensors} == {"true"}


def test_sdf_1_7_has_only_what_gazebo_11_knows():
    text = export_hand(hands.load("inspire_right"), format="sdf1.7")
    model = ElementTree.fromstring(text)
    assert model.get("version") == "1.7"
    tags = {element.tag for element in model.iter() if isinstance(element.tag, str)}
    assert not {"mimic", "capsule", "ellipsoid"} & tags  # of SDF 1.8 and later
    assert "thumb_4 = 0.761237 * thumb_2 + 0" in text  # told, as it cannot be said


@pytest.mark.parametrize("format", ["urdf", "sdf", "sdf1.7"])
@pytest.mark.parametrize("name", HANDS)
def test_joints_that_explicit_damping_would_blow_up_are_solved_implicitly(name: str, format):
    """Gazebo 11's ODE diverged where damping x step > 2 inertia, with a ReFlex or Shadow hand that touched nothing."""
    hand, step_s = hands.load(name), 1e-3
    robot = ElementTree.fromstring(export_hand(hand, format=format))
    tag, block = ("implicitSpringDamper", "gazebo") if format == "urdf" else ("implicit_spring_damper", "joint")
    name_of = "reference" if format == "urdf" else "name"
    implicit = {one.get(name_of) for one in robot.iter(block) if next(one.iter(tag), None) is not None}
    whole = inertials(hand)
    stiff = {
        joint.name
        for joint in hand.joints
        if joint.damping_nms_rad * step_s
        > 2.0 * np.asarray(joint.axis) @ whole[joint.child].about_com_kgm2 @ joint.axis
    }
    assert stiff <= implicit
    assert bool(stiff) == (name in ("reflex", "shadow_right"))


@pytest.mark.parametrize("format", FORMATS)
def test_without_sensors_links_weigh_what_they_weigh(format, tmp_path: Path):
    hand = hands.load("reflex")
    text = export_hand(hand, format=format, sensor="none")
    if format == "xacro":
        text = expand(tmp_path, text)
    assert '_sensor"' not in text
    if format in ("urdf", "sdf"):
        (tmp_path / f"hand.{format}").write_text(text)
        found = read_back(tmp_path / f"hand.{format}")
        for link in hand.links:
            assert float(found["link"][f"{link.name}_link"][0]) == pytest.approx(link.mass_kg, rel=1e-9)


def expand(folder: Path, text: str, **arguments: str) -> str:
    """What ROS's xacro makes of a file."""
    (folder / "hand.xacro").write_text(text)
    python = peer_python("urdf_readers")
    values = [f"{name}:={value}" for name, value in arguments.items()]
    command = [str(python), "-c", "import xacro; xacro.main()", str(folder / "hand.xacro"), *values]
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=quiet_environment())
    assert done.returncode == 0, done.stderr
    return done.stdout


def names_in(text: str) -> set[str]:
    """Names of all links, joints and sensors of a URDF."""
    robot = ElementTree.fromstring(text)
    return {element.get("name", "") for tag in ("link", "joint", "sensor") for element in robot.iter(tag)} - {""}


@pytest.mark.parametrize("name", ["reflex", "inspire_right"])
def test_xacro_expands_to_the_same_hand_under_any_name(name: str, tmp_path: Path):
    hand = hands.load(name)
    text = export_hand(hand, format="xacro")
    plain = {kind: names_in(export_hand(hand, sensor=kind)) for kind in ("contact", "pressure", "none")}
    assert names_in(expand(tmp_path, text)) == {f"{name}_{one}" for one in plain["contact"]}
    hands_seen = []
    for hand_name, kind in (("left", "none"), ("right", "pressure")):
        expanded = expand(tmp_path, text, hand_name=hand_name, sensor_type=kind)
        assert names_in(expanded) == {f"{hand_name}_{one}" for one in plain[kind]}
        hands_seen.append(expanded)
    world = mujoco.MjSpec()
    for expanded in hands_seen:
        world.attach(mujoco.MjSpec.from_string(expanded), frame=world.worldbody.add_frame(), prefix="")
    assert world.compile().njnt == 2 * len(hand.joints)


@pytest.mark.parametrize("format", ["urdf", "sdf", "sdf1.7", "mjcf"])
def test_a_prefix_stands_before_every_name(format, tmp_path: Path):
    hand = hands.load("inspire_left")
    plain, text = export_hand(hand, format=format), export_hand(hand, format=format, prefix="my_")
    if format != "mjcf":  # which has names of its own too
        names = [[one.get("name", "") for one in ElementTree.fromstring(each).iter()] for each in (plain, text)]
        assert names[1] == [f"my_{name}" if name else "" for name in names[0]]
    loaded = text if format == "mjcf" else export_hand(hand, prefix="my_")
    model = mujoco.MjModel.from_xml_string(loaded)
    assert {model.joint(k).name for k in range(model.njnt)} == {f"my_{joint.name}" for joint in hand.joints}
    assert all(model.site(k).name.startswith("my_") for k in range(model.nsite))
    with pytest.raises(BadValue, match="prefix is 'my hand'; wanted letters, digits and _"):
        export_hand(hand, prefix="my hand")


def test_every_hand_is_stable_in_pybullet_when_its_damping_is_bounded_and_flexures_are_hinges(tmp_path: Path):
    """PyBullet adds damping as a force: a Shadow hand with all of its damping shakes."""
    named = {name: hands.load(name) for name in ("reflex", "shadow_right", "leap_right", "inspire_right", "dex3_left")}
    for name, hand in named.items():
        bounded = export_hand(hand, sensor="none", flexures="hinge", explicit_step_s=1e-3)
        (tmp_path / f"{name}.urdf").write_text(bounded)
    (tmp_path / "shaking.urdf").write_text(export_hand(named["shadow_right"], sensor="none"))
    files = [str(tmp_path / f"{name}.urdf") for name in (*named, "shaking")]
    line = [str(peer_python("pybullet")), str(PEERS / "bullet_hand.py"), "3.0", *files]
    done = subprocess.run(line, capture_output=True, text=True, check=False, timeout=120, env=quiet_environment())
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout.splitlines()[-1])
    for name in named:
        beyond_rad, speed_rad_s = found[str(tmp_path / f"{name}.urdf")]
        assert beyond_rad < 0.05, name
        assert speed_rad_s < 20.0, name
    assert found[str(tmp_path / "shaking.urdf")][1] > 50.0
    with pytest.raises(BadValue, match="explicit_step_s"):
        export_hand(named["reflex"], explicit_step_s=-1e-3)


def test_damping_is_bounded_only_where_an_engine_needs_it():
    hand = hands.load("shadow_right")
    damping = {
        step_s: [float(one.get("damping", "0")) for one in ElementTree.fromstring(text).iter("dynamics")]
        for step_s in (0.0, 1e-3, 1e-5)
        for text in [export_hand(hand, explicit_step_s=step_s)]
    }
    assert damping[0.0] == [joint.damping_nms_rad for joint in hand.joints]
    assert all(less <= whole for less, whole in zip(damping[1e-3], damping[0.0], strict=True))
    assert sum(damping[1e-3]) < 0.5 * sum(damping[0.0])
    assert sum(damping[1e-3]) < sum(damping[1e-5])


def test_lumped_flexures_keep_the_mass_of_the_hand(tmp_path: Path):
    hand = hands.load("reflex")
    (tmp_path / "hand.sdf").write_text(export_hand(hand, format="sdf1.7", flexures="hinge"))
    found = read_back(tmp_path / "hand.sdf")
    assert {name for name in found["joint"] if "flex" in name} == set()
    assert {"distal_1", "distal_2", "distal_3"} <= set(found["joint"])
    assert sum(float(values[0]) for values in found["link"].values()) == pytest.approx(hand.mass_kg, rel=1e-6)


def test_reflex_has_its_sensor_links_where_the_maker_put_them():
    hand = hands.load("reflex")
    robot = ElementTree.fromstring(export_hand(hand, format="urdf"))
    joints = {joint.get("name", ""): joint for joint in robot.findall("joint[@type='fixed']")}
    fingers = [name for name in joints if name.startswith("finger_")]
    assert len(fingers) == 27
    # Ref: tf_geometry.yaml of reflex-ros-pkg.
    proximal, distal = (0.0189, 0.02681, 0.03473, 0.04264, 0.05055), (0.0114, 0.01931, 0.02723, 0.0375)
    for finger in (1, 2, 3):
        mine = [joints[name] for name in fingers if name.startswith(f"finger_{finger}_")]
        by_link = defaultdict(list)
        for joint in mine:
            link, origin = joint.find("parent"), joint.find("origin")
            assert link is not None
            assert origin is not None
            by_link[link.get("link")].append([float(word) for word in origin.get("xyz", "").split()])
        for link, places in ((f"proximal_{finger}_link", proximal), (f"distal_{finger}_link", distal)):
            np.testing.assert_allclose(sorted(x for x, _, _ in by_link[link]), places, atol=2e-5)
    sizes = {
        element.get("size")
        for link in robot.findall("link")
        if (link.get("name") or "").endswith("_sensor")
        for element in link.iter("box")
    }
    assert sizes == {"0.006 0.006 0.0003"}
    blocks = [block.get("type") for block in robot.iter("sensor")]
    assert blocks == ["contact"] * (27 + 11)


def test_couplings_are_mimic_joints_and_tendons_are_told():
    inspire, shadow = hands.load("inspire_right"), hands.load("shadow_right")
    robot = ElementTree.fromstring(export_hand(inspire, format="urdf"))
    laws = {
        joint.get("name"): (mimic.get("joint"), float(mimic.get("multiplier", "")), float(mimic.get("offset", "")))
        for joint in robot.findall("joint")
        if (mimic := joint.find("mimic")) is not None
    }
    assert laws == {c.joint: (c.driver, c.ratio, c.offset_rad) for c in couplings_to_drivers(inspire).values()}
    for format in ("urdf", "sdf"):
        text = export_hand(shadow, format=format)
        for tendon in shadow.tendons:
            assert f"Tendon {tendon.name}" in text


@pytest.mark.parametrize("name", HANDS)
def test_mjcf_has_the_hand_its_tendons_and_its_servos(name: str, tmp_path: Path):
    hand = hands.load(name)
    (tmp_path / "hand.xml").write_text(export_hand(hand, format="mjcf"))
    model = mujoco.MjModel.from_xml_path(str(tmp_path / "hand.xml"))
    twin = build_spec(hand).compile()
    for link in hand.links:
        ours, theirs = twin.body(link.name), model.body(link.name)
        np.testing.assert_allclose(theirs.mass, ours.mass, rtol=1e-5)
        np.testing.assert_allclose(theirs.inertia, ours.inertia, rtol=1e-4)
    for joint in hand.joints:
        np.testing.assert_allclose(model.joint(joint.name).range, [joint.lower_rad, joint.upper_rad], atol=1e-5)
        np.testing.assert_allclose(model.joint(joint.name).stiffness[0], joint.spring_nm_rad, atol=1e-6)
    assert (model.ntendon, model.neq, model.nu) == (len(hand.tendons), len(hand.couplings), len(hand.actuators))
    assert model.nsensor == len(sensor_boxes(hand))
    if name == "reflex":
        assert model.actuator("f1").forcerange.tolist() == [0.0, 2.0]  # a cord cannot push
        assert model.actuator("preshape").forcerange.tolist() == [-2.0, 2.0]
    data = mujoco.MjData(model)
    data.ctrl[:] = hand.open_rad + 0.4 * (hand.closed_rad - hand.open_rad)
    mujoco.mj_step(model, data, nstep=round(2.0 / model.opt.timestep))
    reached = data.actuator_length
    moved = np.abs(hand.closed_rad - hand.open_rad) > 0
    np.testing.assert_allclose(reached[moved], data.ctrl[moved], atol=0.12)
    for coupling in hand.couplings:
        driver, driven = data.joint(coupling.driver).qpos[0], data.joint(coupling.joint).qpos[0]
        assert driven == pytest.approx(coupling.ratio * driver + coupling.offset_rad, abs=0.01)


def test_a_weight_on_an_exported_palm_is_felt_by_its_sites(tmp_path: Path):
    hand = hands.load("inspire_right")
    text = export_hand(hand, format="mjcf", sensor="pressure")
    spec = mujoco.MjSpec.from_string(text)
    palm = next(box for box in sensor_boxes(hand) if box.name == "palm_sensor")
    normal = poses_of_spec(hand, dict.fromkeys(hand.joint_names, 0.0))[palm.link][:3, :3] @ palm.R[:, 2]
    spec.option.gravity = (-9.81 * normal).tolist()
    ball = spec.worldbody.add_body(pos=(palm.pos_m + 0.0101 * normal).tolist())
    ball.add_freejoint()
    ball.add_geom(
        type=mujoco.mjtGeom.mjGEOM_BOX, size=[0.01] * 3, mass=0.05, quat=quat_wxyz_from_matrix(palm.R).tolist()
    )
    model = spec.compile()
    data = mujoco.MjData(model)
    mujoco.mj_step(model, data, nstep=500)
    assert data.sensor("palm_sensor").data[0] == pytest.approx(0.05 * 9.81, rel=0.05)


FREE_HAND = """<mujoco model="R&amp;D hand"><worldbody><body name="palm"><geom type="box" size=".03 .01 .04"/>
  <body name="t1" pos=".03 0 0"><joint name="turn" axis="0 1 0" range="0 80"/><geom size=".006" pos="0 0 .03"/></body>
  <body name="i1" pos="-.03 0 .08"><joint name="first" axis="1 0 0" range="0 80"/><geom size=".006"/>
  <body name="i 2" pos="0 0 .03"><joint name="last &lt;1&gt;" axis="1 0 0" range="0 80"/><geom size=".006"/></body>
  </body></body></worldbody><actuator><position joint="turn" kp="5"/></actuator>
  <equality><joint joint1="last &lt;1&gt;" joint2="first" polycoef="0.1 0.5 0 0 0"/></equality></mujoco>"""


def test_a_hand_of_a_file_with_odd_names_and_joints_without_a_motor_is_exported(tmp_path: Path):
    path = tmp_path / "my---hand.xml"
    path.write_text(FREE_HAND)
    hand = hands.from_file(path, {"thumb": ("t1", (0, 0, 0.03)), "index": ("i 2", (0, 0, 0.03))}, speed_rad_s=3.0)
    assert drives(hand)["first"] == drives(hand)["last <1>"] == FREE
    for format in ("urdf", "sdf", "sdf1.7", "mjcf"):
        text = export_hand(hand, format=format)
        assert "last <1>" in {one.get("name") for one in ElementTree.fromstring(text).iter("joint")}
    with pytest.raises(BadValue, match="'R&D hand'; wanted a letter, then letters, digits"):
        export_hand(hand, format="xacro")


def test_what_a_format_cannot_say_is_refused_with_a_way_out(tmp_path: Path):

    hand = hands.load("fourier_right")
    round_one = replace(
        hand.links[-1], skin=Ellipsoid(centre_m=(0.0, 0.0, 0.0), half_m=(0.01, 0.01, 0.02)), inertia_kgm2=None
    )
    hand = replace(hand, links=(*hand.links[:-1], round_one))
    with pytest.raises(BadValue, match="SDF and MJCF"):
        export_hand(hand, format="urdf")
    assert "<ellipsoid>" in export_hand(hand, format="sdf")
    with pytest.raises(UnknownName, match="urdf"):
        export_hand(hand, format="usd")  # pyright: ignore[reportArgumentType]


def test_the_command_writes_a_file_that_loads(tmp_path: Path):
    file = tmp_path / "reflex.urdf"
    command = [sys.executable, "-m", "thenar.cli", "export", "reflex", "--sensor", "contact", "-o", str(file)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert "wrote" in done.stdout
    assert mujoco.MjModel.from_xml_path(str(file)).njnt == len(hands.load("reflex").joints)
    nowhere = [*command[:-1], str(tmp_path / "no" / "folder.urdf")]
    refused = subprocess.run(nowhere, capture_output=True, text=True, check=False)
    assert refused.returncode == 2
    assert "cannot be written" in refused.stderr


def test_speed_and_torque_go_through_tendons_and_couplings():
    hand = hands.load("reflex")
    weights = (("proximal_1", 2.0), ("flex_1_1", -0.5))
    tendons = (replace(hand.tendons[0], joints=weights), *hand.tendons[1:])
    couplings = (replace(hand.couplings[0], ratio=-3.0),)
    found = drives(replace(hand, tendons=tendons, couplings=couplings))
    motor = {actuator.name: actuator for actuator in hand.actuators}
    for joint, weight in weights:
        assert found[joint].speed_rad_s == pytest.approx(motor["f1"].top_speed_rad_s / abs(weight))
        assert found[joint].effort_nm == pytest.approx(2.0 * abs(weight))
    assert found["preshape_2"].speed_rad_s == pytest.approx(3.0 * motor["preshape"].top_speed_rad_s)
    assert found["flex_1_2"].speed_rad_s == 0.0
