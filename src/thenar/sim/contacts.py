"""The engine's contacts into a `ContactSet` whose signs do not depend on the order of geoms."""

from __future__ import annotations

from collections.abc import Collection

import mujoco
import numpy as np

from thenar.signals import ContactSet


def read_contacts(
    model: mujoco.MjModel,
    data: mujoco.MjData,
    *,
    stamp_s: float,
    hands: Collection[str],
    hand: str | None = None,
) -> ContactSet:
    """Contacts of one hand, each told from the side of its link, or every contact of the world once.

    A contact between two links of the hand asked for is told twice, from the side of each.

    Args:
        model: The compiled world.
        data: Its state, after a step.
        stamp_s: Time of the contacts [s].
        hands: Names of all hands of the world.
        hand: Name of the hand to tell about; None: every contact of the world.
    """
    rows = []
    force = np.zeros(6)
    for index in range(data.ncon):
        contact = data.contact[index]
        names = [_body_name(model, geom) for geom in (contact.geom1, contact.geom2)]
        owners = [name.partition("/")[0] if name.partition("/")[0] in hands else None for name in names]
        if hand is not None:
            sides = [side for side in (0, 1) if owners[side] == hand]
        else:
            ranks = [
                _rank(model, geom, owner) for geom, owner in zip((contact.geom1, contact.geom2), owners, strict=True)
            ]
            sides = [0 if ranks[0] <= ranks[1] else 1]
        if not sides:
            continue
        mujoco.mj_contactForce(model, data, index, force)
        frame = contact.frame.reshape(3, 3)
        for side in sides:
            # The engine's normal points from the first geom into the second and its force acts on the second.
            sign = 1.0 if side == 0 else -1.0
            tangent = -sign * (force[1] * frame[1] + force[2] * frame[2])
            rows.append(
                (
                    names[side],
                    names[1 - side],
                    contact.pos.copy(),
                    sign * frame[0],
                    force[0],
                    tangent,
                    contact.friction[0],
                    -contact.dist,
                )
            )
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


def _rank(model: mujoco.MjModel, geom: int, owner: str | None) -> int:
    """The side from which a contact of the world is told: a hand, then an object, then what stands still."""
    if owner is not None:
        return 0
    return 1 if model.geom_bodyid[geom] > 0 else 2


def _matrix(vectors: tuple[np.ndarray, ...]) -> np.ndarray:
    return np.array(vectors, dtype=np.float64).reshape(len(vectors), 3)
