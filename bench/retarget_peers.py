"""Peers follow given targets: run by bench/retarget.py in an environment that has them.

    python retarget_peers.py JOB.npz ANSWER.npz

The job holds targets of the key points in the palm's frame [m] (frames, 15, 3), the person's own points of the same
kind, which DexPilot and the BFGS method were made for, the hand's MJCF with a site for each
key point, and its joint names. The answer holds, for each peer that could be run, joint angles and CPU time per frame.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable

import numpy as np

FINGERS = ("th", "ff", "mf", "rf", "lf")
LINKS = tuple(f"{finger}{part}" for finger in FINGERS for part in ("middle", "distal", "tip"))
TIPS = tuple(f"{finger}tip" for finger in FINGERS)
FIXED = ("WRJ2", "WRJ1")
SEED_SCALE = np.array([1.7, 1.4, 1.55])
DEX_SCALE = 1.2  # of dex-retargeting's own settings for this hand


def timed(follow: Callable[[int], np.ndarray], frames: int) -> tuple[np.ndarray, np.ndarray]:
    """Angles and CPU microseconds of every frame; the first frame is shown a few times to warm up."""
    for _ in range(30):
        follow(0)
    angles, took = [], []
    for n in range(frames):
        start = time.thread_time_ns()
        angles.append(np.array(follow(n)))
        took.append(1e-3 * (time.thread_time_ns() - start))
    return np.array(angles), np.array(took)


def run_dexi(
    targets_m: np.ndarray, open_m: np.ndarray, joints: list[str], kind: str, *, scale: float = 1.0
) -> tuple[np.ndarray, np.ndarray]:
    """dexi-rs with its own Shadow URDF, wrist locked, no low pass, and no scale unless one is given."""
    import dexi_rs

    free = [name for name in joints if name not in FIXED]
    urdf = str(dexi_rs.asset_path("robots/hands/shadow_hand/shadow_hand_right.urdf"))
    common = {"target_joint_names": free, "scaling_factor": scale, "low_pass_alpha": 1.0}
    if kind == "vector":
        config = dexi_rs.RetargetingConfig(
            "vector",
            urdf,
            target_origin_link_names=["palm"] * len(LINKS),
            target_task_link_names=list(LINKS),
            target_link_human_indices=[[0] * len(LINKS), list(range(1, 1 + len(LINKS)))],
            **common,
        )
    else:
        config = dexi_rs.RetargetingConfig(
            "dexpilot", urdf, wrist_link_name="palm", finger_tip_link_names=list(TIPS), **common
        )
    solver = config.build()
    names = list(solver.joint_names)
    links = np.array(solver.link_positions([0.0] * len(names), ["palm", *LINKS]))
    turn = best_rotation(open_m, links[1:] - links[0])
    seen = targets_m @ turn.T
    if kind == "vector":
        values = seen.reshape(len(seen), -1)
    else:
        tips = seen[:, 2::3]
        pairs = [(a, b) for a in range(5) for b in range(a + 1, 5)]
        between = np.stack([tips[:, a] - tips[:, b] for a, b in pairs], axis=1)
        values = np.concatenate([between, tips], axis=1).reshape(len(seen), -1)
    wrist = [0.0] * int(len(names) - len(free))
    order = [names.index(name) for name in joints]
    angles, took = timed(lambda n: solver.retarget(values[n].tolist(), wrist), len(values))
    return angles[:, order], took


def run_dex(targets_m: np.ndarray, open_m: np.ndarray, joints: list[str]) -> tuple[np.ndarray, np.ndarray]:
    """dex-retargeting, vector mode, on the same URDF."""
    import dexi_rs
    from dex_retargeting.retargeting_config import RetargetingConfig

    free = [name for name in joints if name not in FIXED]
    config = RetargetingConfig(
        type="vector",
        urdf_path=str(dexi_rs.asset_path("robots/hands/shadow_hand/shadow_hand_right.urdf")),
        target_joint_names=free,
        target_origin_link_names=["palm"] * len(LINKS),
        target_task_link_names=list(LINKS),
        target_link_human_indices=np.array([[0] * len(LINKS), list(range(1, 1 + len(LINKS)))]),
        scaling_factor=1.0,
        low_pass_alpha=1.0,
    )
    solver = config.build()
    robot = solver.optimizer.robot
    robot.compute_forward_kinematics(np.zeros(robot.dof))
    at = {name: robot.get_link_pose(robot.get_link_index(name))[:3, 3] for name in ("palm", *LINKS)}
    seen = targets_m @ best_rotation(open_m, np.array([at[name] - at["palm"] for name in LINKS])).T
    order = [list(solver.joint_names).index(name) for name in joints]
    wrist = np.zeros(len(solver.optimizer.idx_pin2fixed))
    angles, took = timed(lambda n: solver.retarget(seen[n].astype(np.float32), wrist), len(seen))
    return angles[:, order], took


def run_mink(
    targets_m: np.ndarray, joints: list[str], xml: str, step_s: np.ndarray, *, speed: np.ndarray | None
) -> tuple[np.ndarray, np.ndarray]:
    """One step of mink's differential IK per frame: angle limits and collision, and speeds where they are given."""
    import mink
    import mujoco

    model = mujoco.MjModel.from_xml_string(xml)
    configuration = mink.Configuration(model)
    tasks = []
    for number in range(len(LINKS)):
        weight = 1.0 if number % 3 == 2 else 0.5
        tasks.append(mink.FrameTask(f"key_{number}", "site", position_cost=weight, orientation_cost=0.0))
    hand = [g for g in range(model.ngeom) if model.geom_contype[g] and model.geom_bodyid[g] != 0]
    # mink skips parent and child; what else touches by construction is in the model's excludes.
    apart = {
        frozenset((model.exclude_signature[i] >> 16, model.exclude_signature[i] & 0xFFFF))
        for i in range(model.nexclude)
    }
    pairs = [
        ([a], [b])
        for n, a in enumerate(hand)
        for b in hand[n + 1 :]
        if model.geom_bodyid[a] != model.geom_bodyid[b]
        and frozenset((int(model.geom_bodyid[a]), int(model.geom_bodyid[b]))) not in apart
    ]
    limits = [
        mink.ConfigurationLimit(model),
        mink.CollisionAvoidanceLimit(
            model, pairs, minimum_distance_from_collisions=0.0005, collision_detection_distance=0.012
        ),
    ]
    if speed is not None:
        limits.append(mink.VelocityLimit(model, dict(zip(joints, speed.tolist(), strict=True))))
    wrist = np.array([model.joint(name).dofadr[0] for name in FIXED])
    damping = mink.DampingTask(model, cost=1e-2)
    lock = np.zeros(model.nv)
    lock[wrist] = 1e3
    hold = mink.DampingTask(model, cost=lock)
    # The palm's frame in the world.
    palm = model.body("palm").id
    data = mujoco.MjData(model)
    mujoco.mj_forward(model, data)
    origin, turn = data.xpos[palm].copy(), data.xmat[palm].reshape(3, 3).copy()
    goals = targets_m @ turn.T + origin
    address = [model.joint(name).qposadr[0] for name in joints]

    def follow(n: int) -> np.ndarray:
        for task, goal in zip(tasks, goals[n], strict=True):
            task.set_target(mink.SE3.from_translation(goal))
        dt = float(step_s[n]) if speed is not None else 1.0
        velocity = mink.solve_ik(configuration, [*tasks, damping, hold], dt, solver="daqp", damping=1e-4, limits=limits)
        configuration.integrate_inplace(velocity, dt)
        return configuration.q[address].copy()

    return timed(follow, len(goals))


def run_seed(person_m: np.ndarray, joints: list[str], xml: str) -> tuple[np.ndarray, np.ndarray]:
    """ManusVR-ShadowHand's method: BFGS finger by finger on last joint and tip, no limits, Y = S X."""
    import mujoco
    from scipy.optimize import minimize

    model = mujoco.MjModel.from_xml_string(xml)
    data = mujoco.MjData(model)
    mujoco.mj_forward(model, data)
    palm = model.body("palm").id
    origin, turn = data.xpos[palm].copy(), data.xmat[palm].reshape(3, 3).copy()
    goals = (person_m * SEED_SCALE) @ turn.T + origin
    free = [[model.joint(name).qposadr[0] for name in joints if name.lower().startswith(f)] for f in FINGERS]
    address = [model.joint(name).qposadr[0] for name in joints]

    def follow(n: int) -> np.ndarray:
        for f, at in enumerate(free):
            keys = [model.site(f"key_{3 * f + part}").id for part in (1, 2)]

            def cost(angles: np.ndarray, at: list[int] = at, keys: list[int] = keys, f: int = f) -> float:
                data.qpos[at] = angles
                mujoco.mj_kinematics(model, data)
                return float(np.sum((data.site_xpos[keys] - goals[n, 3 * f + 1 : 3 * f + 3]) ** 2))

            data.qpos[at] = minimize(cost, data.qpos[at].copy(), method="BFGS").x
        return data.qpos[address].copy()

    return timed(follow, len(goals))


def best_rotation(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """The rotation that takes points a to points b."""
    u, _, vt = np.linalg.svd((a - 0.0).T @ b)
    flip = np.diag([1.0, 1.0, np.sign(np.linalg.det(vt.T @ u.T))])
    return vt.T @ flip @ u.T


def main(job: str, answer: str) -> None:
    """Run every peer on one job."""
    given = np.load(job)
    joints = [str(name) for name in given["joint_names"]]
    targets, open_m, step_s, xml = given["targets_m"], given["open_m"], given["step_s"], str(given["xml"])
    person = given["person_m"]
    runs = {
        "dexi-rs vector": lambda: run_dexi(targets, open_m, joints, "vector"),
        "dexi-rs dexpilot": lambda: run_dexi(targets, open_m, joints, "dexpilot"),
        "dexi-rs dexpilot, own points": lambda: run_dexi(person, open_m, joints, "dexpilot", scale=DEX_SCALE),
        "mink limits + collision": lambda: run_mink(targets, joints, xml, step_s, speed=None),
        "mink limits + collision + speed": lambda: run_mink(targets, joints, xml, step_s, speed=given["speed_rad_s"]),
        "dex-retargeting vector": lambda: run_dex(targets, open_m, joints),
        "ManusVR-ShadowHand BFGS": lambda: run_seed(person, joints, xml),
    }
    held: dict[str, np.ndarray] = {}
    for name, run in runs.items():
        try:
            held[f"{name}|angle"], held[f"{name}|cpu"] = run()
        except Exception as error:  # a peer that cannot be run is told of, and the others go on
            held[f"{name}|failed"] = np.array(f"{type(error).__name__}: {error}"[:300])
    np.savez(answer, **held)


if __name__ == "__main__":
    main(*sys.argv[1:])
