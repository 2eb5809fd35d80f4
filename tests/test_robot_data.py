"""RobotData against what is not Pinocchio: MuJoCo, finite differences, and the laws of momentum and energy."""

import re
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import mujoco
import numpy as np
import pytest

pytest.importorskip("pinocchio")

from tests.oracles.plain_body import PlainBody
from thenar.errors import BadFile, BadValue, UnknownName
from thenar.humanoid.model.body_spec import HandRange
from thenar.humanoid.model.gr2 import GR2
from thenar.humanoid.model.mujoco_model import FLOATING_BASE, build_spec
from thenar.humanoid.state import archive
from thenar.humanoid.state.kindyn import KindynData, LinkData, Pair
from thenar.humanoid.state.robot_data import PARTS, RobotData, RobotSnapshot
from thenar.twin.body.body_watch import check_part

PAGE = (Path(__file__).resolve().parents[1] / "docs" / "robotdata.md").read_text(encoding="utf-8")
WORLD_LINKS = [name for name in KindynData.FIELDS if name.endswith("_W")]
BASE_LINKS = [name for name in KindynData.FIELDS if name.endswith("_B")]
TERMS = [name for name in KindynData.FIELDS if name not in (*WORLD_LINKS, *BASE_LINKS)]
STATES = 500
STEP_S = 1e-6  # of the finite differences


def random_state(rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Anywhere, any way up, joints within their limits, moving fast."""
    quat = rng.normal(size=4)
    joints = rng.uniform(GR2.per_joint("lower_rad"), GR2.per_joint("upper_rad"))
    q = np.concatenate([rng.uniform(-2, 2, 3), quat / np.linalg.norm(quat), joints])
    return q, rng.normal(size=GR2.nv)


def moved(q: np.ndarray, qd: np.ndarray, seconds: float) -> np.ndarray:
    """Where the robot is a moment later: the base along its own axes, by the exponential of its twist."""
    x, y, z, w = q[3:7]
    R = rotation(q[3:7])
    angle = qd[3:6] * seconds
    size = np.linalg.norm(angle)
    half = np.concatenate([np.sin(size / 2) * angle / size, [np.cos(size / 2)]])
    turned = np.array(
        [
            w * half[0] + x * half[3] + y * half[2] - z * half[1],
            w * half[1] - x * half[2] + y * half[3] + z * half[0],
            w * half[2] + x * half[1] - y * half[0] + z * half[3],
            w * half[3] - x * half[0] - y * half[1] - z * half[2],
        ]
    )
    return np.concatenate([q[:3] + R @ qd[:3] * seconds, turned, q[7:] + qd[6:] * seconds])


def rotation(quat_xyzw: np.ndarray) -> np.ndarray:
    R = np.zeros(9)
    mujoco.mju_quat2Mat(R, np.roll(quat_xyzw, 1))
    return R.reshape(3, 3)


@dataclass
class Engine:
    """MuJoCo's own model of the same robot, read in the conventions of RobotData."""

    model: mujoco.MjModel
    data: mujoco.MjData
    dofs: np.ndarray

    @staticmethod
    def of(*, armature: bool = True) -> "Engine":
        model = build_spec(GR2, base_height_m=1.0, armature=armature).compile()
        model.opt.disableflags |= mujoco.mjtDisableBit.mjDSBL_CONTACT
        dofs = [int(model.joint(name).dofadr[0]) for name in GR2.joint_names]
        return Engine(model, mujoco.MjData(model), np.concatenate([np.arange(6), dofs]))

    def at(self, q: np.ndarray, qd: np.ndarray) -> np.ndarray:
        """Take a state; return the matrix that turns velocities of RobotData into the engine's, in our joint order."""
        R = rotation(q[3:7])
        base = self.model.joint(FLOATING_BASE).qposadr[0]
        self.data.qpos[base : base + 7] = np.concatenate([q[:3], q[6:7], q[3:6]])
        for name, angle in zip(GR2.joint_names, q[7:], strict=True):
            self.data.joint(name).qpos[0] = angle
        turn = np.eye(GR2.nv)
        turn[:3, :3] = R
        self.data.qvel[self.dofs] = turn @ qd
        mujoco.mj_forward(self.model, self.data)
        return turn

    def mass_matrix(self) -> np.ndarray:
        full = np.zeros((self.model.nv, self.model.nv))
        mujoco.mj_fullM(self.model, self.data, full)
        return full[np.ix_(self.dofs, self.dofs)]

    def jacobian(self, link: str) -> np.ndarray:
        linear, angular = np.zeros((3, self.model.nv)), np.zeros((3, self.model.nv))
        mujoco.mj_jacBody(self.model, self.data, linear, angular, self.model.body(link).id)
        return np.concatenate([linear, angular])[:, self.dofs]


@pytest.fixture(scope="module")
def robot() -> RobotData:
    return RobotData()


@pytest.fixture(scope="module")
def states() -> list[tuple[np.ndarray, np.ndarray]]:
    rng = np.random.default_rng(7)
    return [random_state(rng) for _ in range(STATES)]


def at(robot: RobotData, q: np.ndarray, qd: np.ndarray) -> KindynData:
    return robot.update(1.0, q=q, qd=qd).kindyn_data


def links_of(kindyn: KindynData, entry: str) -> list[tuple[str, LinkData]]:
    names = getattr(GR2.roles, entry.partition("_")[0])
    links = getattr(kindyn, entry)
    return list(zip(names, links, strict=True)) if isinstance(links, Pair) else [(names, links)]


def worst(one: np.ndarray, other: np.ndarray) -> float:
    return float(np.abs(one - other).max())


# The model against its tables.

TABLE = Path(__file__).parent / "data" / "gr2.csv"


def test_joint_sequence_and_groups_are_the_reference_s():
    legs = ("hip_pitch", "hip_roll", "hip_yaw", "knee_pitch", "ankle_pitch", "ankle_roll")
    arms = ("shoulder_pitch", "shoulder_roll", "shoulder_yaw", "elbow_pitch", "wrist_yaw", "wrist_pitch", "wrist_roll")
    wanted = [
        *(f"{side}_{joint}_joint" for side in ("left", "right") for joint in legs),
        "waist_yaw_joint",
        "head_yaw_joint",
        "head_pitch_joint",
        *(f"{side}_{joint}_joint" for side in ("left", "right") for joint in arms),
    ]
    assert list(GR2.joint_names) == wanted
    sizes = {group: place.stop - place.start for group, place in GR2.group_slices.items()}
    assert sizes == {
        "whole_body": 29,
        "left_leg": 6,
        "right_leg": 6,
        "waist": 1,
        "head": 2,
        "left_manipulator": 7,
        "right_manipulator": 7,
    }
    for group, place in GR2.group_slices.items():
        if group != "whole_body":
            assert GR2.joint_names[place] == GR2.groups[group]


def test_limits_masses_and_armature_equal_the_tables_in_both_models(robot: RobotData):
    rows = [line.split(",") for line in TABLE.read_text(encoding="utf-8").splitlines()[1:]]
    joints = {name: [float(x) for x in rest] for kind, name, *rest in rows if kind == "joint"}
    masses = {name: float(rest[0]) for kind, name, *rest in rows if kind == "link"}
    assert list(joints) == list(GR2.joint_names)
    limit = robot.kindyn_data.joint_limit
    engine, pin_model = Engine.of().model, robot.solver.model
    for index, (name, (lower, upper, effort, speed, armature)) in enumerate(joints.items()):
        assert (limit.lower[index], limit.upper[index]) == (lower, upper)
        assert (limit.effort[index], limit.velocity[index]) == (effort, speed)
        assert list(engine.joint(name).range) == [lower, upper]
        assert engine.joint(name).armature[0] == armature == pin_model.armature[6 + index]
        assert pin_model.names[2 + index] == name
    assert {link.name: link.mass_kg for link in GR2.links} == masses
    assert GR2.mass_kg == pytest.approx(62.98098, abs=1e-9)
    assert robot.kindyn_data.m == pytest.approx(sum(masses.values()), abs=1e-9)


def test_default_pose_stands_where_the_maker_s_model_does(robot: RobotData):
    fresh = RobotData()
    # Ref: forward kinematics of the maker's URDF with the base at the origin.
    height = fresh.base_data.pos_W[2]
    assert height == pytest.approx(0.9951, abs=1e-4)
    feet = fresh.kindyn_data.feet_B
    np.testing.assert_allclose(feet.left.p, [-0.01712, 0.136, -0.9371], atol=1e-4)
    np.testing.assert_allclose(fresh.kindyn_data.hands_B.left.p, [0.1012, 0.23, -0.119], atol=1e-4)
    np.testing.assert_allclose(fresh.kindyn_data.head_B.p, [0.001, 0.0, 0.5357], atol=1e-4)
    np.testing.assert_allclose(fresh.kindyn_data.Pc - [0, 0, height], [0.00532, 0.00014, -0.09809], atol=1e-5)
    np.testing.assert_allclose(np.diag(fresh.kindyn_data.Iw), [10.9004, 9.8279, 1.3464], atol=1e-4)
    assert fresh.kindyn_data.m == pytest.approx(62.98098, abs=1e-9)
    assert not fresh.base_data.valid


# Physics against MuJoCo, 500 random states.


@pytest.mark.parametrize("armature", [True, False])
def test_mass_matrix_gravity_and_momentum_equal_the_engine_s(states, armature: bool):
    robot, engine = RobotData(armature=armature), Engine.of(armature=armature)
    root = engine.model.body(GR2.root).id
    error: dict[str, float] = dict.fromkeys(("M", "Minv", "g", "c", "C qd", "Ag", "hg", "Pc", "Vc"), 0.0)
    for q, qd in states[: STATES if armature else 50]:
        kindyn = at(robot, q, qd)
        turn = engine.at(q, qd)
        model, data = engine.model, engine.data
        M = turn.T @ engine.mass_matrix() @ turn
        # Velocities in turning axes: the engine's bias lacks what the turning of the axes does.
        rate = np.zeros(GR2.nv)
        rate[:3] = rotation(q[3:7]) @ np.cross(qd[3:6], qd[:3])
        bias = turn.T @ (data.qfrc_bias[engine.dofs] + engine.mass_matrix() @ rate)
        engine.at(q, 0 * qd)
        g = turn.T @ data.qfrc_bias[engine.dofs]
        engine.at(q, qd)
        mujoco.mj_subtreeVel(model, data)
        momentum = np.concatenate([GR2.mass_kg * data.subtree_linvel[root], data.subtree_angmom[root]])
        angular, com = np.zeros((3, model.nv)), np.zeros((3, model.nv))
        mujoco.mj_angmomMat(model, data, angular, root)
        mujoco.mj_jacSubtreeCom(model, data, com, root)
        Ag = np.concatenate([GR2.mass_kg * com, angular])[:, engine.dofs] @ turn
        found = {
            "M": worst(kindyn.M, M),
            "Minv": worst(kindyn.Minv @ M, np.eye(GR2.nv)),
            "g": worst(kindyn.g, g),
            "c": worst(kindyn.c, bias - g),
            "C qd": worst(kindyn.C @ qd, bias - g),
            "Ag": worst(kindyn.Ag, Ag),
            "hg": worst(kindyn.hg, momentum),
            "Pc": worst(kindyn.Pc, data.subtree_com[root]),
            "Vc": worst(kindyn.Vc, data.subtree_linvel[root]),
        }
        error = {name: max(error[name], found[name]) for name in error}
    for name in ("M", "g", "Ag", "hg", "Pc", "Vc"):
        assert error[name] < 1e-9, (name, error)
    for name in ("c", "C qd", "Minv"):
        assert error[name] < 1e-8, (name, error)


def test_every_field_equals_a_straightforward_implementation(robot: RobotData, states):
    plain = PlainBody(GR2)
    for q, qd in states[:50]:
        kindyn, fields = at(robot, q, qd), plain.fields(q, qd)
        for name in TERMS:
            ours, theirs = getattr(kindyn, name), fields[name]
            if name == "C":  # not unique: what it does to the velocity is
                ours, theirs = ours @ qd, theirs @ qd
            assert worst(ours, theirs) < 1e-9, name
        for frame, entries in (("W", WORLD_LINKS), ("B", BASE_LINKS)):
            links = [link for entry in entries for _, link in links_of(kindyn, entry)]
            for part in ("p", "R", "twist", "J", "Jd"):
                stacked = np.array([getattr(link, part) for link in links])
                assert worst(stacked, fields[f"{part}_{frame}"]) < 1e-9, part


def test_links_equal_the_engine_s(robot: RobotData, states):
    engine = Engine.of()
    for q, qd in states:
        kindyn, turn = at(robot, q, qd), engine.at(q, qd)
        for entry in WORLD_LINKS:
            for name, link in links_of(kindyn, entry):
                body = engine.data.body(name)
                assert worst(link.p, body.xpos) < 1e-9
                assert worst(link.R, body.xmat.reshape(3, 3)) < 1e-9
                assert worst(link.J, engine.jacobian(name) @ turn) < 1e-9
                assert worst(np.concatenate([link.v, link.w]), engine.jacobian(name) @ turn @ qd) < 1e-9


def test_links_in_the_base_are_those_of_a_robot_whose_base_stands_still(robot: RobotData, states):
    for q, qd in states[:100]:
        kindyn = at(robot, q, qd)
        base, omega = kindyn.base_W, kindyn.base_W.w
        for world, inside in zip(WORLD_LINKS, BASE_LINKS, strict=True):
            for (_, link), (_, local) in zip(links_of(kindyn, world), links_of(kindyn, inside), strict=True):
                far = link.p - base.p
                assert worst(local.p, base.R.T @ far) < 1e-9
                assert worst(local.R, base.R.T @ link.R) < 1e-9
                assert worst(local.v, base.R.T @ (link.v - base.v - np.cross(omega, far))) < 1e-9
                assert worst(local.w, base.R.T @ (link.w - omega)) < 1e-9
                assert not local.J[:, :6].any()
                assert not local.Jd[:, :6].any()


# Derivatives against finite differences.


def test_derivatives_equal_finite_differences(robot: RobotData, states):
    for q, qd in states:
        now = at(robot, q, qd)
        before, after = at(robot, moved(q, qd, -STEP_S), qd), at(robot, moved(q, qd, STEP_S), qd)
        rate = lambda name: (getattr(after, name) - getattr(before, name)) / (2 * STEP_S)  # noqa: B023, E731
        assert worst(now.Agd, rate("Ag")) < 1e-6
        assert worst(now.C + now.C.T, rate("M")) < 1e-6
        assert worst(now.Vc, rate("Pc")) < 1e-6
        for entry in (*WORLD_LINKS, *BASE_LINKS):
            for (_, link), (_, past), (_, future) in zip(
                links_of(now, entry), links_of(before, entry), links_of(after, entry), strict=True
            ):
                assert worst(link.Jd, (future.J - past.J) / (2 * STEP_S)) < 1e-6
                assert worst(link.v, (future.p - past.p) / (2 * STEP_S)) < 1e-6
                spin = (future.R - past.R) / (2 * STEP_S) @ link.R.T
                assert worst(link.w, np.array([spin[2, 1], spin[0, 2], spin[1, 0]])) < 1e-6


# Laws.


def test_energy_and_momentum_obey_their_laws(states):
    robot = RobotData(armature=False)  # rotors carry energy but no momentum of links
    for q, qd in states[:100]:
        now = at(robot, q, qd)
        # A robot that nothing touches: what gravity does to its energy and momentum.
        tau = np.concatenate([np.zeros(6), np.linspace(-5, 5, 29)])
        qdd = now.Minv @ (tau - now.c - now.g)
        weight = now.m * 9.81
        assert worst(now.Ag @ qdd + now.Agd @ qd, np.array([0, 0, -weight, 0, 0, 0])) < 1e-8
        power = qd @ (now.M @ qdd) + 0.5 * qd @ ((now.C + now.C.T) @ qd) + weight * now.Vc[2]
        assert power == pytest.approx(tau @ qd, abs=1e-7)
        assert worst(now.g[:3], weight * rotation(q[3:7]).T @ [0, 0, 1]) < 1e-9
        assert worst(now.Iw @ now.Wc, now.hg[3:]) < 1e-9
        assert worst(now.M, now.M.T) == 0.0
        assert np.linalg.eigvalsh(now.M)[0] > 0.0
        # A robot frozen in its pose turns with its average angular velocity.
        frozen = at(robot, q, np.concatenate([qd[:6], np.zeros(29)]))
        assert worst(frozen.Wc, frozen.base_W.w) < 1e-9


def test_foot_forces_on_the_ground_carry_the_robot_at_rest(robot: RobotData):
    fresh = RobotData().kindyn_data
    half = np.array([0.0, 0.0, fresh.m * 9.81 / 2, 0.0, 0.0, 0.0])
    base = fresh.g - fresh.feet_W.left.J.T @ half - fresh.feet_W.right.J.T @ half
    assert worst(base[:3], np.zeros(3)) < 1e-9  # the sign of contact_force is the ground's on the foot


def test_base_data_is_one_consistent_story(robot: RobotData, states):
    for q, qd in states[:100]:
        qdd = np.sin(np.arange(35.0))
        base = robot.update(1.0, q=q, qd=qd, qdd=qdd).base_data
        R = rotation(q[3:7])
        assert worst(base.R, R) < 1e-12
        assert base.quat_wxyz[0] >= 0.0
        assert base.quat_wxyz.tolist() == [base.quat_xyzw[3], *base.quat_xyzw[:3]]
        assert worst(base.grav_proj, R.T @ [0, 0, -1]) < 1e-12
        assert worst(base.vel_W, R @ base.vel_B) < 1e-12
        assert worst(base.omega_W, R @ base.omega_B) < 1e-12
        assert base.pos_W.tolist() == q[:3].tolist()
        roll, pitch, yaw = base.rpy
        Rx = np.array([[1, 0, 0], [0, np.cos(roll), -np.sin(roll)], [0, np.sin(roll), np.cos(roll)]])
        Ry = np.array([[np.cos(pitch), 0, np.sin(pitch)], [0, 1, 0], [-np.sin(pitch), 0, np.cos(pitch)]])
        Rz = np.array([[np.cos(yaw), -np.sin(yaw), 0], [np.sin(yaw), np.cos(yaw), 0], [0, 0, 1]])
        assert worst(Rz @ Ry @ Rx, R) < 1e-9
        # acc_W is the rate of vel_W.
        before, after = (
            robot.update(1.0, q=moved(q, qd + 0.5 * h * qdd, h), qd=qd + h * qdd).base_data.vel_W for h in (-1e-5, 1e-5)
        )
        assert worst(base.acc_W, (after - before) / 2e-5) < 1e-6


def test_straight_up_and_down_have_angles_too(robot: RobotData):
    for sign in (-1.0, 1.0):
        q = robot.gener_state.q.copy()
        q[3:7] = [0.0, sign * np.sqrt(0.5), 0.0, np.sqrt(0.5)]
        base = robot.update(1.0, q=q, qd=np.zeros(35)).base_data
        np.testing.assert_allclose(base.rpy, [0.0, sign * np.pi / 2, 0.0], atol=1e-7)


def test_accelerations_that_nobody_gave_are_nan(robot: RobotData):
    snapshot = robot.update(1.0, q=robot.gener_state.q, qd=np.zeros(35))
    assert np.isnan(snapshot.base_data.acc_W).all()
    assert np.isnan(snapshot.robot_state.qdd).all()


# The page.

ROWS = re.findall(r"^\| `([\w.]+)` \| `([\w.]+)` \|([^|]*)\|[^|]*\|$", PAGE, re.MULTILINE)


def test_the_page_has_every_name_of_the_reference():
    theirs = [name for name, _, _ in ROWS]
    assert len(theirs) == len(set(theirs)) == 77
    kindyn = {name.partition(".")[2] for name in theirs if name.startswith("kindynData.")}
    assert kindyn == {*KindynData.FIELDS, "nv", "m", "joint_limit"}
    assert sum(name.startswith("hardwareData.") for name in theirs) == 10


@pytest.mark.parametrize(("theirs", "ours", "shape"), ROWS, ids=[row[0] for row in ROWS])
def test_every_name_of_the_page_is_there(robot: RobotData, theirs: str, ours: str, shape: str):
    value: Any = robot
    for part in ours.split("."):
        value = getattr(value, part)
    shape = shape.strip()
    if shape == "function":
        assert callable(value)
    elif shape == "link":
        assert isinstance(value, LinkData)
    elif shape == "2 links":
        assert isinstance(value, Pair)
    elif shape:
        assert str(np.shape(value)) == shape
    assert ours.split(".")[-1].replace("_", "").lower() == theirs.split(".")[-1].replace("_", "").lower()


# Snapshots.


def test_a_snapshot_stays_what_it_was_and_lazy_fields_belong_to_it(states):
    robot, eager = RobotData(), RobotData(eager="all")
    kept = [
        (robot.update(float(k), q=q, qd=qd), eager.update(float(k), q=q, qd=qd))
        for k, (q, qd) in enumerate(states[:20])
    ]
    for late, at_once in reversed(kept):
        assert late.stamp_s == at_once.stamp_s == late.kindyn_data.stamp_s
        for name in KindynData.FIELDS:
            one, other = getattr(late.kindyn_data, name), getattr(at_once.kindyn_data, name)
            for a, b in zip(np.ravel(one), np.ravel(other), strict=True) if isinstance(one, np.ndarray) else ():
                assert a == b
            if isinstance(one, (LinkData, Pair)):
                for (_, a), (_, b) in zip(
                    links_of(late.kindyn_data, name), links_of(at_once.kindyn_data, name), strict=True
                ):
                    assert np.array_equal(a.J, b.J)
                    assert np.array_equal(a.p, b.p)


@pytest.fixture
def busy_threads() -> Iterator[None]:
    """Threads that take turns every few microseconds, so that they meet in awkward places."""
    switch_s = sys.getswitchinterval()
    sys.setswitchinterval(5e-6)
    yield
    sys.setswitchinterval(switch_s)


@pytest.mark.usefixtures("busy_threads")
def test_threads_never_see_two_instants_mixed():
    robot = RobotData(eager=("M",))
    q0 = robot.gener_state.q
    stop, mixed, reads = threading.Event(), [], []

    def read() -> None:
        while not stop.is_set():
            now = robot.snapshot()
            # The stamp is written into the state, so whatever is derived from it tells where it comes from.
            values = (
                now.gener_state.q[0],
                now.base_data.pos_W[0],
                now.kindyn_data.base_W.p[0],
                now.robot_state.q[28] * 1e3,
            )
            mixed.extend(value for value in values if abs(value - now.stamp_s) > 1e-9)
            reads.append(now.stamp_s)

    threads = [threading.Thread(target=read) for _ in range(3)]
    for thread in threads:
        thread.start()
    k, end_s = 0, time.monotonic() + 10.0
    while k < 1000 or (len(set(list(reads))) < 20 and time.monotonic() < end_s):
        k += 1
        q = q0.copy()
        q[0], q[35] = k * 1e-3, k * 1e-6
        robot.update(k * 1e-3, q=q, qd=np.zeros(35))
    stop.set()
    for thread in threads:
        thread.join()
    assert not mixed
    assert len(set(reads)) >= 20


def same(one: RobotSnapshot, other: RobotSnapshot) -> None:
    a, b = archive.to_dict(one), archive.to_dict(other)
    assert a.keys() == b.keys()
    for name, value in a.items():
        np.testing.assert_array_equal(value, b[name], err_msg=name)


def test_snapshots_come_back_from_dicts_and_files(tmp_path: Path, states):
    robot = RobotData(hands={"left_hand": HandRange(np.zeros(6), np.ones(6))})
    q, qd = states[0]
    snapshot = robot.update(3.5, q=q, qd=qd, tau=np.arange(29.0), qdd=qd, hand_pvc={"left_hand": np.ones((3, 6))})
    same(snapshot, archive.from_dict(archive.to_dict(snapshot)))
    path = tmp_path / "snapshot.npz"
    archive.save_npz(snapshot, path)
    back = archive.load_npz(path)
    same(snapshot, back)
    assert back.kindyn_data.feet_W.left.v == pytest.approx(snapshot.kindyn_data.feet_W.left.v)
    path.write_bytes(b"not a file of numpy")
    with pytest.raises(BadFile, match="NPZ file"):
        archive.load_npz(path)
    with pytest.raises(BadValue, match="missing"):
        archive.from_dict({})


def test_parts_tell_their_age(robot: RobotData):
    robot = RobotData()
    robot.put(vel_cmd=[0.1, 0.0, 0.0])
    robot.update(2.0, q=robot.gener_state.q, qd=np.zeros(35))
    assert robot.age_s("base_data") == 0.0
    assert robot.age_s("base_data", now_s=2.5) == 0.5
    assert robot.age_s("contact_data") == 2.0
    assert robot.base_data.valid
    assert not robot.contact_data.valid
    assert robot.vel_cmd.tolist() == [0.1, 0.0, 0.0]
    with pytest.raises(UnknownName, match="available: base_data"):
        robot.age_s("no_such_part")
    for part in PARTS:
        value = getattr(robot, part)
        assert value.stamp_s <= 2.0
        assert value.valid == (part in ("hardware_data", "gener_state", "kindyn_data", "base_data"))


def test_hands_tell_when_they_were_read():
    robot = RobotData(hands={"left_hand": HandRange(np.zeros(6), np.ones(6))})
    q, qd = robot.gener_state.q, np.zeros(35)
    robot.update(1.0, q=q, qd=qd, hand_pvc={"left_hand": np.ones((3, 6))})
    robot.update(1.5, q=q, qd=qd)
    assert (robot.hardware_data.stamp_s, robot.hardware_data.hands_stamp_s) == (1.5, 1.0)


def test_nobody_can_change_what_others_read(robot: RobotData):
    now = robot.update(1.0, q=robot.gener_state.q, qd=np.zeros(35), hand_pvc={"left_hand": np.ones((3, 6))})
    shared = (
        now.hand_pvc["left_hand"], now.kindyn_data.joint_limit.upper, now.kindyn_data.head_B.qd,
        now.gener_state.q, now.robot_state.q, now.kindyn_data.q, now.kindyn_data.M, now.kindyn_data.Pc,
        now.kindyn_data.feet_W.left.J, now.kindyn_data.hands_B.right.p, now.base_data.R, now.base_data.rpy, now.vel_cmd,
        now.joystick.liner_cmd, now.contact_data.contact_force, now.contact_data.contact_prob,
    )  # fmt: skip
    for array in shared:
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 7.0


def test_every_part_that_is_printed_can_be_asked_for_and_no_other():
    now = RobotData().snapshot()
    for part in {name.partition(".")[0] for name in archive.to_dict(now)}:
        check_part(part)
    for part in ("hardware_data", "hips"):  # nothing would be printed
        with pytest.raises(BadValue, match=f"--part is '{part}'; wanted one of .*hand_pvc.*robot_state"):
            check_part(part)


def test_states_that_are_none_are_refused(robot: RobotData):
    q, qd = robot.gener_state.q, np.zeros(35)
    with pytest.raises(BadValue, match=r"q is '35 values'; wanted 36 values"):
        robot.update(0.0, q=q[:-1], qd=qd)
    with pytest.raises(BadValue, match=r"q is 'an array of shape \(36, 1\)'; wanted 36 values"):
        robot.update(0.0, q=q[:, None], qd=qd)
    with pytest.raises(BadValue, match="finite"):
        robot.update(0.0, q=q, qd=np.full(35, np.nan))
    with pytest.raises(BadValue, match="norm 1"):
        robot.update(0.0, q=np.zeros(36), qd=qd)
    with pytest.raises(UnknownName, match="field of KindynData"):
        RobotData(eager=("mass",))


def test_the_front_door_opens_on_robot_data():
    program = "import thenar; print(thenar.humanoid.RobotData().kindyn_data.M.shape)"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "(35, 35)"
