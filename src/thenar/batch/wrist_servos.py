# type: ignore  # Warp compiles these functions: what they mean is not what a type checker reads

"""Driven wrists of many worlds: `thenar.sim.wrist` as a Warp kernel, a thread a wrist."""

import numpy as np
import warp as wp

from thenar.batch.motors import new_records
from thenar.sim import wrist
from thenar.sim.motor_model import RecordArray

SPEED_M_S, TURN_RAD_S = wp.constant(wrist.SPEED_M_S), wp.constant(wrist.TURN_RAD_S)
SMOOTHING_RAD_S = wp.constant(wrist.SMOOTHING_RAD_S)
FORCE_N, TORQUE_NM = wp.constant(wrist.FORCE_N), wp.constant(wrist.TORQUE_NM)
STIFFNESS_PER_KG, STIFFNESS_NM_RAD = wp.constant(wrist.STIFFNESS_PER_KG), wp.constant(wrist.STIFFNESS_NM_RAD)


@wp.struct
class Wrist:
    """Which body a servo carries, and its palm frame: where the root is seen from the palm."""

    qpos: int
    dof: int
    body: int
    mass_kg: float
    root_m: wp.vec3
    root_quat: wp.quat


@wp.struct
class WristState:
    """Goal of one wrist servo, and the target on its way there. Quaternions are Warp's: x, y, z, w."""

    target_m: wp.vec3
    target_quat: wp.quat
    target_m_s: wp.vec3
    target_rad_s: wp.vec3  # in the target's own frame
    goal_m: wp.vec3
    goal_quat: wp.quat


def rest_records(records: RecordArray) -> RecordArray:
    """Records of `WristState` of wrists at rest, from those of `thenar.sim.wrist.WRIST`. Shape (wrists,)."""
    made = new_records(WristState, len(records))
    for name in made.dtype.names or ():
        made[name] = np.roll(records[name], -1, axis=1) if name.endswith("quat") else records[name]
    return made


@wp.func
def _limited(v: wp.vec3, most: float) -> wp.vec3:
    return v * wp.min(1.0, most / wp.max(wp.length(v), 1.0e-12))


@wp.func
def _rotation_between(start: wp.quat, end: wp.quat) -> wp.vec3:
    """Rotation vector from one orientation to another, in the frame of the first [rad]."""
    q = wp.quat_inverse(start) * end
    v = wp.vec3(q[0], q[1], q[2])
    size = wp.length(v)
    factor = 2.0
    if size > 1.0e-9:
        factor = 2.0 * wp.atan2(size, wp.abs(q[3])) / size
    return v * wp.where(q[3] < 0.0, -factor, factor)  # the shorter way round


@wp.kernel(enable_backward=False)
def hold_wrists(
    wrists: wp.array[Wrist],
    gravity: wp.vec3,
    dt_s: float,
    qpos: wp.array2d[float],
    subtree_com: wp.array2d[wp.vec3],
    state: wp.array2d[WristState],
    qfrc_applied: wp.array2d[float],
):
    """Move targets one step nearer to their goals and write the forces that pull the wrists to them."""
    world, k = wp.tid()
    w = wrists[k]
    s = state[world, k]
    away_m, away_rad = s.goal_m - s.target_m, _rotation_between(s.target_quat, s.goal_quat)
    rate = SMOOTHING_RAD_S / 2.0
    rate = rate / wp.max(1.0, wp.max(rate * wp.length(away_m) / SPEED_M_S, rate * wp.length(away_rad) / TURN_RAD_S))
    share = 1.0 / (1.0 + 2.0 * SMOOTHING_RAD_S * dt_s)
    velocity = share * s.target_m_s + (1.0 - share) * rate * away_m
    turning = share * s.target_rad_s + (1.0 - share) * rate * away_rad
    target = s.target_m + velocity * dt_s
    half = turning * (dt_s / 2.0)
    target_quat = wp.normalize(s.target_quat * wp.quat(half[0], half[1], half[2], 1.0))
    state[world, k].target_m_s = velocity
    state[world, k].target_rad_s = turning
    state[world, k].target_m = target
    state[world, k].target_quat = target_quat
    at, a = w.qpos, w.dof
    pos = wp.vec3(qpos[world, at], qpos[world, at + 1], qpos[world, at + 2])
    quat = wp.quat(qpos[world, at + 4], qpos[world, at + 5], qpos[world, at + 6], qpos[world, at + 3])
    weight = -w.mass_kg * gravity
    force = _limited(STIFFNESS_PER_KG * w.mass_kg * (target - pos), FORCE_N) + weight
    moment = wp.cross(subtree_com[world, w.body] - pos, weight)
    torque = _limited(STIFFNESS_NM_RAD * _rotation_between(quat, target_quat), TORQUE_NM)
    torque = torque + wp.quat_rotate_inv(quat, moment)
    for i in range(3):
        qfrc_applied[world, a + i] = force[i]
        qfrc_applied[world, a + 3 + i] = torque[i]


@wp.kernel(enable_backward=False)
def send_wrists(
    pos_m: wp.array3d[float], quat_wxyz: wp.array3d[float], wrists: wp.array[Wrist], state: wp.array2d[WristState]
):
    """Send wrists to poses of their palm frames; NaN keeps a position or an orientation."""
    world, k = wp.tid()
    w = wrists[k]
    root_goal = state[world, k].goal_quat
    palm_quat = root_goal * wp.quat_inverse(w.root_quat)
    palm_m = state[world, k].goal_m - wp.quat_rotate(palm_quat, w.root_m)
    if not wp.isnan(quat_wxyz[world, k, 0]):
        palm_quat = wp.normalize(
            wp.quat(quat_wxyz[world, k, 1], quat_wxyz[world, k, 2], quat_wxyz[world, k, 3], quat_wxyz[world, k, 0])
        )
    if not wp.isnan(pos_m[world, k, 0]):
        palm_m = wp.vec3(pos_m[world, k, 0], pos_m[world, k, 1], pos_m[world, k, 2])
    state[world, k].goal_quat = palm_quat * w.root_quat
    state[world, k].goal_m = palm_m + wp.quat_rotate(palm_quat, w.root_m)
