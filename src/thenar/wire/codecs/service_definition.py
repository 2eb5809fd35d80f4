"""Definition of a ROS 2 service: its name, its type, and fields of request and response."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

NOTHING: Mapping[str, str] = MappingProxyType({"structure_needs_at_least_one_member": "uint8"})
"""Fields of an empty message: on the wire of ROS 2 it is one byte long."""


@dataclass(frozen=True, kw_only=True)
class RosService:
    """A service of a driver."""

    name: str
    """In its path, such as ``set_force``."""
    type_name: str
    """Such as ``std_srvs/srv/Empty``."""
    request: Mapping[str, str]
    """Fields of the request."""
    response: Mapping[str, str]
    """Fields of the response."""
    request_bytes: int | None
    """Length of a request's body; None: it varies."""
