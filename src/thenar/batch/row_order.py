# type: ignore  # Warp compiles these functions: what they mean is not what a type checker reads
"""One order of contacts and of the solver's rows, whatever order the engine found them in.

MuJoCo Warp's threads append contacts and rows as they find them, so that sums come out differently in the last bits
from run to run. Its two hooks between finding and solving are enough to put both in order; its option for sums in which
threads meet does the rest, at a price: see docs/gpu.md.
"""

from dataclasses import fields
from typing import Any

import mujoco_warp as mjw
import warp as wp

from thenar.errors import BadValue

LAST = wp.constant(wp.int64((1 << 62) - 1))
ROWS = ("type", "id", "pos", "margin", "D", "vel", "aref", "frictionloss", "J", "Jqvel")


@wp.kernel(enable_backward=False)
def key_contacts(
    nacon: wp.array[int],
    worldid: wp.array[int],
    geom: wp.array[wp.vec2i],
    collision: wp.array[int],
    geoms: int,
    keys: wp.array[wp.int64],
    index: wp.array[int],
):
    """Numbers in the order that is wanted of contacts: by world, by what touches what, by which of their points."""
    c = wp.tid()
    index[c] = c
    if c < nacon[0]:
        pair = wp.int64(geom[c][0]) * wp.int64(geoms) + wp.int64(geom[c][1])
        pair = pair + wp.int64(worldid[c]) * wp.int64(geoms) * wp.int64(geoms)
        keys[c] = pair * wp.int64(64) + wp.int64(wp.min(collision[c], 63))
    else:
        keys[c] = LAST


@wp.kernel(enable_backward=False)
def gather_rows(index: wp.array[int], source: wp.array2d[int], made: wp.array2d[int]):
    """Rows in another order."""
    c, k = wp.tid()
    made[c, k] = source[index[c], k]


@wp.kernel(enable_backward=False)
def rank_rows(nefc: wp.array[int], kind: wp.array2d[int], number: wp.array2d[int], rank: wp.array2d[int]):
    """Where each row of a world belongs: by kind, then by what it is of."""
    world, row = wp.tid()
    n = wp.min(nefc[world], kind.shape[1])
    if row >= n:
        rank[world, row] = row
        return
    before = int(0)  # noqa: UP018, RUF046 (a loop changes it)
    for other in range(n):
        first = kind[world, other] < kind[world, row]
        if kind[world, other] == kind[world, row]:
            first = number[world, other] < number[world, row]
            if number[world, other] == number[world, row]:
                first = other < row
        if first:
            before = before + 1
    rank[world, row] = before


@wp.kernel(enable_backward=False)
def scatter_rows(rank: wp.array2d[int], source: wp.array3d[int], made: wp.array3d[int]):
    """Rows of every world to where they belong."""
    world, row, k = wp.tid()
    made[world, rank[world, row], k] = source[world, row, k]


@wp.kernel(enable_backward=False)
def move_addresses(nacon: wp.array[int], worldid: wp.array[int], rank: wp.array2d[int], address: wp.array2d[int]):
    """Contacts learn where their rows went."""
    c, k = wp.tid()
    if c < nacon[0] and address[c, k] >= 0:
        address[c, k] = rank[worldid[c], address[c, k]]


class RowOrder:
    """Keeps a MuJoCo Warp model's contacts and rows in one order, inside its own steps."""

    def __init__(self, m: Any, d: Any):
        """Hook into the model's steps; at most as many degrees of freedom as the engine takes as a full matrix."""
        if m.is_sparse:
            raise BadValue("degrees of freedom", m.nv, "at most 60 for worlds that repeat to the bit")
        self._geoms, contacts = m.ngeom, d.contact.pos.shape[0]
        names = [field.name for field in fields(d.contact) if field.name != "efc_address"]
        self._contacts = [_as_integers(array, 1) for name in names if (array := getattr(d.contact, name)).size]
        self._rows = [_as_integers(getattr(d.efc, name), 2) for name in ROWS if getattr(d.efc, name).size]
        self._spare = [wp.clone(array) for array in (*self._contacts, *self._rows)]
        self._keys, self._index = wp.zeros(2 * contacts, dtype=wp.int64), wp.zeros(2 * contacts, dtype=int)
        self._rank = wp.zeros(d.efc.type.shape, dtype=int)
        if d.qpos.device.is_cuda:  # threads of a CPU never meet
            m.opt.deterministic = int(mjw.DeterminismType.ATOMICS)
        m.callback.contactfilter, m.callback.control = self.order_contacts, self.order_rows

    def order_contacts(self, _: Any, d: Any) -> None:
        """After the engine has found contacts."""
        c, most = d.contact, d.contact.pos.shape[0]
        key = [d.nacon, c.worldid, c.geom, c.geomcollisionid, self._geoms, self._keys, self._index]
        wp.launch(key_contacts, dim=most, inputs=key)
        wp.utils.radix_sort_pairs(self._keys, self._index, most)
        for array, spare in zip(self._contacts, self._spare, strict=False):
            wp.launch(gather_rows, dim=array.shape, inputs=[self._index, array, spare])
            wp.copy(array, spare)

    def order_rows(self, _: Any, d: Any) -> None:
        """After the engine has made the rows of its solver."""
        wp.launch(rank_rows, dim=self._rank.shape, inputs=[d.nefc, d.efc.type, d.efc.id, self._rank])
        for array, spare in zip(self._rows, self._spare[len(self._contacts) :], strict=True):
            dim = (array.shape[0], self._rank.shape[1], array.shape[2])
            wp.launch(scatter_rows, dim=dim, inputs=[self._rank, array, spare])
            wp.copy(array, spare)
        address = d.contact.efc_address
        wp.launch(move_addresses, dim=address.shape, inputs=[d.nacon, d.contact.worldid, self._rank, address])


def _as_integers(array: Any, dims: int) -> Any:
    """The same memory as whole numbers, with one more dimension than rows are counted by."""
    shape = (*array.shape[:dims], array.strides[dims - 1] // 4)
    return wp.array(ptr=array.ptr, dtype=int, shape=shape, device=array.device, copy=False)
