# type: ignore  # Warp compiles these functions: what they mean is not what a type checker reads

"""Kernels over whole worlds: gather readings, count steps, reset worlds, flag those that diverged."""

from enum import IntFlag

import warp as wp

from thenar.batch.motors import MotorState
from thenar.batch.wrist_servos import WristState


class Flag(IntFlag):
    """Error flags of one world since its last reset."""

    DIVERGED = 1
    """Its positions are no numbers: reset it."""
    FULL = 2
    """It had more contacts or constraints than there is room for: some were left out, see ``max_contacts``."""
    SKIN_FULL = 4
    """More contacts or patches on its skins than there is room for: some were not felt."""
    POINT = 64
    """No line met skin and object: the force was felt at the contact point, as on the CPU."""


DIVERGED, FULL = wp.constant(int(Flag.DIVERGED)), wp.constant(int(Flag.FULL))


@wp.kernel(enable_backward=False)
def count_step(step: wp.array[int]):
    """One step more."""
    step[0] = step[0] + 1


@wp.kernel(enable_backward=False)
def gather(source: wp.array2d[float], index: wp.array[int], out: wp.array2d[float]):
    """Columns of an array."""
    world, k = wp.tid()
    out[world, k] = source[world, index[k]]


@wp.kernel(enable_backward=False)
def add_normal_forces(
    body: int,
    nacon: wp.array[int],
    geom: wp.array[wp.vec2i],
    efc_address: wp.array2d[int],
    worldid: wp.array[int],
    efc_force: wp.array2d[float],
    body_of_geom: wp.array[int],
    column_of_body: wp.array[int],
    force_n: wp.array2d[float],
):
    """Normal forces between a body and others, added up for every world and column; -1: not counted. Elliptic cones."""
    c = wp.tid()
    if c >= nacon[0] or efc_address[c, 0] < 0:
        return
    first, second = body_of_geom[geom[c][0]], body_of_geom[geom[c][1]]
    column = -1
    if first == body:
        column = column_of_body[second]
    if second == body:
        column = column_of_body[first]
    if column >= 0:
        wp.atomic_add(force_n, worldid[c], column, efc_force[worldid[c], efc_address[c, 0]])


@wp.kernel(enable_backward=False)
def flag_worlds(qpos: wp.array2d[float], overflow: wp.array[int], flags: wp.array[int]):
    """Note worlds that broke or overflowed."""
    world = wp.tid()
    found = flags[world]
    for k in range(qpos.shape[1]):
        if not wp.isfinite(qpos[world, k]):
            found = found | DIVERGED
    if overflow[world] != 0:
        found = found | FULL
    flags[world] = found


@wp.kernel(enable_backward=False)
def reset_worlds(
    mask: wp.array[bool],
    rest_qpos: wp.array2d[float],
    rest_com: wp.array[wp.vec3],
    qpos: wp.array2d[float],
    qvel: wp.array2d[float],
    qacc_warmstart: wp.array2d[float],
    qfrc_applied: wp.array2d[float],
    subtree_com: wp.array2d[wp.vec3],
    time: wp.array[float],
    overflow: wp.array[int],
    flags: wp.array[int],
):
    """Positions of the beginning, at rest."""
    world = wp.tid()
    if not mask[world]:
        return
    for k in range(rest_qpos.shape[1]):
        qpos[world, k] = rest_qpos[world, k]
    for k in range(qvel.shape[1]):
        qvel[world, k] = 0.0
        qacc_warmstart[world, k] = 0.0
        qfrc_applied[world, k] = 0.0
    for k in range(rest_com.shape[0]):
        subtree_com[world, k] = rest_com[k]
    time[world] = 0.0
    overflow[world] = 0
    flags[world] = 0


@wp.kernel(enable_backward=False)
def reset_motors(
    mask: wp.array[bool],
    motor_rest: wp.array[MotorState],
    wrist_rest: wp.array[WristState],
    motor_state: wp.array2d[MotorState],
    wrist_state: wp.array2d[WristState],
):
    """Motors cool, at rest and with nothing under way; wrists where their mounts are."""
    world = wp.tid()
    if not mask[world]:
        return
    for n in range(motor_rest.shape[0]):
        motor_state[world, n] = motor_rest[n]
    for n in range(wrist_rest.shape[0]):
        wrist_state[world, n] = wrist_rest[n]
