"""Worlds that repeat to the bit: contacts and rows of the engine in one order, whatever order they were found in."""

from typing import Any

import numpy as np
import pytest

import thenar
from thenar import batch, hands
from thenar.batch.device import device_model
from thenar.errors import BadValue

mjw = pytest.importorskip("mujoco_warp", reason="the extra gpu is not installed")

from thenar.batch.row_order import RowOrder  # noqa: E402

HAND = "inspire_right"
BALL = thenar.Sphere(name="ball", radius_m=0.0416, mass_kg=0.08, pos_m=(0.0, 0.03, 0.0446))
# What rows are of: an equality of three rows, a limit, and two contacts of three rows in each world.
KIND, NUMBER = np.array([0, 0, 0, 3, 7, 7, 7, 7, 7, 7]), np.array([1, 1, 1, 2, 0, 0, 0, 1, 1, 1])
BLOCKS = (range(3), range(3, 4), range(4, 7), range(7, 10))


def put(array: Any, rows: np.ndarray) -> None:
    whole = array.numpy()
    whole[tuple(slice(n) for n in rows.shape)] = rows
    array.assign(whole)


def test_contacts_and_rows_found_in_any_order_end_in_one():
    model = device_model(thenar.World(HAND, props=[BALL]).model)
    m, d = mjw.put_model(model), mjw.make_data(model, nworld=2, nconmax=4, njmax=16)
    order, found = RowOrder(m, d), []
    for seed in range(3):
        rng = np.random.default_rng(seed)
        at = rng.permutation(4)  # contact 0 and 1 are of world 0, contact 2 and 3 of world 1
        put(d.nacon, np.array([4]))
        put(d.contact.worldid, (at // 2).astype(np.int32))
        put(d.contact.geom, np.stack([np.ones(4), 2 + 4 * (at % 2)], axis=1).astype(np.int32))
        put(d.contact.dist, at.astype(np.float32))
        order.order_contacts(m, d)
        rows = np.zeros((2, 10), dtype=int)
        address = np.zeros((4, 3), dtype=np.int32)
        for world in range(2):
            turn = [BLOCKS[k] for k in (0, 1, *rng.permutation([2, 3]))]
            rows[world] = np.concatenate(turn)
            for contact in range(2):
                address[2 * world + contact] = np.flatnonzero(np.isin(rows[world], BLOCKS[2 + contact]))
        put(d.nefc, np.array([10, 10]))
        put(d.efc.type, KIND[rows].astype(np.int32))
        put(d.efc.id, (NUMBER[rows] + 2 * (rows > 3) * np.arange(2)[:, None]).astype(np.int32))
        put(d.efc.D, (rows + 100.0).astype(np.float32))
        put(d.efc.J, (rows[:, :, None] + np.array([0.0, 0.5])).astype(np.float32))
        put(d.contact.efc_address, address)
        order.order_rows(m, d)
        c = d.contact
        arrays = (c.dist, c.geom, c.worldid, d.efc.D, d.efc.J, d.efc.id, c.efc_address)
        found.append([array.numpy().copy() for array in arrays])
    np.testing.assert_array_equal(found[0][0][:4], [0.0, 1.0, 2.0, 3.0])
    np.testing.assert_array_equal(found[0][3][:, :10], np.tile(np.arange(100.0, 110.0), (2, 1)))
    np.testing.assert_array_equal(found[0][6][:4, 0], [4, 7, 4, 7])
    for other in found[1:]:
        for one, same in zip(found[0], other, strict=True):
            np.testing.assert_array_equal(same, one)


def test_worlds_too_large_for_a_full_matrix_are_refused_by_their_size():
    with pytest.raises(BadValue, match="at most 60"):
        RowOrder(type("Model", (), {"is_sparse": True, "nv": 72})(), None)


@pytest.mark.soak
def test_a_grasp_repeats_to_the_bit_although_contacts_arrive_in_another_order():
    worlds = batch.Worlds(HAND, count=2, props=[BALL], device="cpu", profile="ideal", repeatable=True)
    rng, hooks = np.random.default_rng(0), worlds.m.callback
    closed_rad = np.array(hands.load(HAND).closed_rad) * (1, 1, 1, 1, 1, 0.9)
    ordered, order_rows = hooks.contactfilter, hooks.control

    def shuffle(_: Any, d: Any) -> None:
        n = int(d.nacon.numpy()[0])
        turn = rng.permutation(n)
        for name in ("dist", "pos", "frame", "friction", "geom", "worldid", "geomcollisionid", "includemargin"):
            array = getattr(d.contact, name)
            array.numpy()[:n] = array.numpy()[:n][turn]  # on the CPU this is the array itself

    def grasp() -> np.ndarray:
        worlds.reset()
        worlds.command(closed_rad)
        worlds.advance(0.5)
        return worlds.d.qpos.numpy().copy()

    as_found = grasp()
    hooks.contactfilter = lambda m, d: (shuffle(m, d), ordered(m, d))
    np.testing.assert_array_equal(grasp(), as_found)
    hooks.contactfilter, hooks.control = shuffle, None
    assert not np.array_equal(grasp(), as_found), "shuffled contacts should show where nothing puts them in order"
    hooks.control = order_rows
