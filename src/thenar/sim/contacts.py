"""The engine's contacts into a `ContactSet` whose signs do not depend on the order of geoms."""

from __future__ import annotations

import mujoco
import numpy as np

from thenar.signals import ContactSet


def read_contacts(model: mujoco.MjModel, data: mujoco.MjData, *, stamp_s: float, hand: str | None = None) -> ContactSet:
    """Contacts that carry force or overlap, of one hand or of the whole world.

    Args:
        model: The compiled world.
        data: Its state, after a step.
        stamp_s: Time of the contacts [s].
        hand: Name of a hand; None: every contact of the world.
    """
    rows = []
    force = np.zeros(6)
    for index in range(data.ncon):
        contact = data.contact[index]
        one, other = _body_name(model, contact.geom1), _body_name(model, contact.geom2)
        if hand is not None and not (_is_part_of(one, hand) or _is_part_of(other, hand)):
            continue
        mujoco.mj_contactForce(model, data, index, force)
        frame = contact.frame.reshape(3, 3)
        # The engine's normal points from the first geom into the second and its force acts on the second.
        swap = _rank(model, contact.geom2, hand) < _rank(model, contact.geom1, hand)
        sign = -1.0 if swap else 1.0
        body, partner = (other, one) if swap else (one, other)
        tangent = -sign * (force[1] * frame[1] + force[2] * frame[2])
        normal = sign * frame[0]
        rows.append((body, partner, contact.pos.copy(), normal, force[0], tangent, contact.friction[0], -contact.dist))
    columns = list(zip(*rows, strict=True)) if rows else [()] * 8
    normal = _matrix(columns[3])
    normal_force = np.array(columns[4], dtype=np.float64)
    tangent_force = _matrix(columns[5])
    return ContactSet(
        stamp_s=stamp_s,
        body=tuple(columns[0]),
        partner=tuple(columns[1]),
        position_m=_matrix(columns[2]),
        normal=normal,
        force_n=tangent_force - normal_force[:, None] * normal,
        normal_force_n=normal_force,
        tangent_force_n=tangent_force,
        friction=np.array(columns[6], dtype=np.float64),
        depth_m=np.array(columns[7], dtype=np.float64),
    )


def _body_name(model: mujoco.MjModel, geom: int) -> str:
    """Name of a geom's body; what stands still in the world goes by the geom's own name."""
    body = model.geom_bodyid[geom]
    return model.body(body).name if body > 0 else model.geom(geom).name


def _is_part_of(body: str, hand: str) -> bool:
    return body.startswith(f"{hand}/")


def _rank(model: mujoco.MjModel, geom: int, hand: str | None) -> tuple[int, str]:
    """The side from which a contact is told: the hand asked for, any hand, an object, what stands still."""
    name = _body_name(model, geom)
    if model.geom_bodyid[geom] == 0:
        return 3, name
    if hand is not None and _is_part_of(name, hand):
        return 0, name
    return (1 if "/" in name else 2), name


def _matrix(vectors: tuple[np.ndarray, ...]) -> np.ndarray:
    return np.array(vectors, dtype=np.float64).reshape(len(vectors), 3)
