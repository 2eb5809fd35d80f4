"""Attributes that are computed when they are first read, and the names of all members of a class that has them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Generic, TypeVar, overload

import numpy as np

T = TypeVar("T")


class lazy(Generic[T]):
    """A method read as an attribute: the first read computes the value, later ones find it in the instance.

    An array is read-only from then on, since everyone who reads the instance shares it.
    `functools.cached_property` does the same, but in Python 3.11 under a lock that all instances share.
    """

    def __init__(self, compute: Callable[[Any], T]):
        self.compute = compute
        self.__doc__ = compute.__doc__

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name

    @overload
    def __get__(self, instance: None, owner: type) -> lazy[T]: ...

    @overload
    def __get__(self, instance: object, owner: type) -> T: ...

    def __get__(self, instance: object | None, owner: type) -> lazy[T] | T:
        if instance is None:
            return self
        value = self.compute(instance)
        if type(value) is np.ndarray:
            value.setflags(0)  # pyright: ignore[reportCallIssue]  # write=False takes twice as long
        instance.__dict__[self.name] = value
        return value


def member_names(kind: type) -> tuple[str, ...]:
    """Public members of a class: those it declares, then those that are lazy."""
    names = (*kind.__annotations__, *(name for name, value in vars(kind).items() if isinstance(value, lazy)))
    return tuple(name for name in names if not name.startswith("_"))
