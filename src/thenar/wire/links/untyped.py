"""Topics that announce no type information, so that clients are matched by the name of the type alone.

Cyclone DDS 0.10, which the vendors' SDKs pin, takes 8-bit integers of an IDL file for ``char`` and ``octet``. A C
client compiled with it therefore has another type hash than the vendors' own Python and C++ classes, asks us for our
type to compare the two, and crashes on the answer, whose 8-bit integers it does not know. Without type information it
compares names and is matched. The types of those who write to us are checked on our side instead (`dds_link`).

The DDS library has no switch for this: here the three functions that describe a type are taken out of the topic's own
table. The layout of the table is checked first, and the effect afterwards.
"""

from __future__ import annotations

import ctypes
from typing import Any

from thenar.errors import MissingExtra, ThenarError

try:
    from cyclonedds.internal import DDS
except ImportError as error:
    raise MissingExtra("DDS", "cyclonedds", "dds") from error

FUNCTIONS = 14  # in the table of a type
TYPE_ID, TYPE_MAP, TYPE_INFO = 8, 9, 10

_tables: list[Any] = []  # the library keeps using them for as long as the process runs


def without_type_information(topic: Any) -> Any:
    """The same topic, silent about its type. Call it before a reader or writer is made."""
    library = DDS._dll_handle
    library.ddsi_sertype_typeinfo.restype = ctypes.c_void_p
    library.ddsi_sertype_typeinfo.argtypes = [ctypes.c_void_p]
    kind = ctypes.c_void_p()
    failed = library.dds_get_entity_sertype(topic._ref, ctypes.byref(kind))
    fields = ctypes.cast(kind, ctypes.POINTER(ctypes.c_void_p))
    functions = ctypes.cast(fields[0], ctypes.POINTER(ctypes.c_void_p))
    version = ctypes.cast(library.ddsi_sertype_v0, ctypes.c_void_p).value
    if failed or functions[0] != version:
        raise ThenarError("this release of cyclonedds is built differently: pip install 'cyclonedds==11.0.1'")
    table = (ctypes.c_void_p * FUNCTIONS)(*(functions[n] for n in range(FUNCTIONS)))
    for number in (TYPE_ID, TYPE_MAP, TYPE_INFO):
        table[number] = None
    _tables.append(table)
    fields[0] = ctypes.cast(table, ctypes.c_void_p).value
    if library.ddsi_sertype_typeinfo(kind) is not None:
        raise ThenarError("this release of cyclonedds is built differently: pip install 'cyclonedds==11.0.1'")
    return topic
