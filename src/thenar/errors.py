"""Every error thenar raises on purpose: what was got, what was wanted, what to type."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, TypeVar

T = TypeVar("T")

MAX_REASONS = 64
MAX_SHOWN = 300  # characters of a text from outside


class ThenarError(Exception):
    """Root of all errors raised on purpose; each pickles, so that one from another process arrives as it was raised."""

    def __reduce__(self) -> tuple[Any, ...]:
        """By its text and its fields: an exception's own way would call ``__init__`` with the text alone."""
        return _remade, (type(self), self.args), self.__dict__


def _remade(kind: type[ThenarError], args: tuple[object, ...]) -> ThenarError:
    """An error again, without the ``__init__`` that put its text together."""
    error = kind.__new__(kind)
    super(ThenarError, error).__init__(*args)
    return error


class UnknownName(ThenarError, KeyError):
    """A name that is not in the list it was looked up in."""

    def __init__(self, kind: str, name: str, available: Iterable[str]):
        """Say which kind of name was wrong and list the right ones."""
        self.kind = kind
        self.name = name
        self.available = tuple(sorted(available))
        super().__init__(f"no {kind} named {name!r}; available: {', '.join(self.available) or 'none'}")

    def __str__(self) -> str:
        """Plain text: KeyError would put the message in quotes."""
        return self.args[0]


def look_up(table: Mapping[str, T], name: str, kind: str) -> T:
    """The entry of that name; a wrong one is refused with the names there are."""
    if name not in table:
        raise UnknownName(kind, name, table)
    return table[name]


class BadValue(ThenarError, ValueError):
    """A value outside what its field may hold."""

    def __init__(self, field: str, got: object, wanted: str):
        """Name the field, the value that came and the values it takes."""
        self.field = field
        super().__init__(f"{field} is {got!r}; wanted {wanted}")


class HandLost(ThenarError):
    """A hand at the other end of a wire that does not answer; it may come back."""


class BadCommand(ThenarError, ValueError):
    """A command that does not fit the hand it was sent to; the hand is left as it was."""


class BadFile(ThenarError, ValueError):
    """A file that cannot be read as what it should be."""

    def __init__(self, path: object, why: str):
        """Name the file and the reason."""
        self.path = str(path)
        super().__init__(f"{path}: {why}")


@contextmanager
def writing(path: object) -> Iterator[None]:
    """Around what writes a file: if it cannot be written, that is said with its name."""
    try:
        yield
    except OSError as error:
        raise BadFile(path, f"cannot be written: {error.strerror or error}") from error


class NotIdentifiable(ThenarError, ValueError):
    """A recording from which something that was asked for cannot be known."""

    def __init__(self, path: object, unknown: Iterable[str], otherwise: str):
        """List what is not known with what to record, and how to go on without."""
        self.unknown = tuple(unknown)
        listed = "".join(f"\n  - {line}" for line in self.unknown)
        super().__init__(f"{path} cannot tell everything:{listed}\n{otherwise}")


class NoRenderer(ThenarError, RuntimeError):
    """No OpenGL library that can draw without a screen."""

    def __init__(self, why: str):
        """Say why, and which package brings one."""
        super().__init__(f"cannot draw: {why}; on Debian or Ubuntu run: sudo apt-get install libosmesa6")


class SimulationDiverged(ThenarError, ArithmeticError):
    """The physics produced a value that is not a number; the world was put back to its last good state."""

    def __init__(self, at_s: float, back_s: float, warnings: Iterable[str]):
        """Say when it happened, what MuJoCo reported and where the world is now."""
        self.at_s = at_s
        self.back_s = back_s
        self.warnings = tuple(warnings)
        super().__init__(
            f"simulation diverged at t = {at_s:.4f} s ({', '.join(self.warnings)}); "
            f"the world is back at t = {back_s:.4f} s: use a smaller timestep_s or heavier objects"
        )


class MissingPackage(ThenarError, ImportError):
    """An optional room whose packages are not installed."""

    def __init__(self, what: str, package: str, command: str):
        """Name what was wanted, the package it needs and the command that installs it."""
        super().__init__(f"{what} needs the package {package}: {command}")


class MissingExtra(MissingPackage):
    """An optional room that an extra of ours installs."""

    def __init__(self, what: str, package: str, extra: str):
        """Name what was wanted, the package it needs and the extra that installs it."""
        super().__init__(what, package, f"pip install 'thenar[{extra}]'")


def clean_text(text: str, limit: int = MAX_SHOWN) -> str:
    """Text from outside, fit for a terminal and a log: no escape sequences, nothing invisible, and not without end."""
    if len(text) > limit:
        text = text[: limit - 1] + "…"
    return text if text.isprintable() else "".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in text)


def count_reason(tally: Counter[str], reason: str, count: int = 1) -> bool:
    """Count a refusal; True if its reason is new.

    Reasons quote what came in, so there may be no end of them: beyond some they count as others.
    """
    reason = clean_text(reason)
    new = reason not in tally
    counted_as = reason if not new or len(tally) < MAX_REASONS else "other reasons"
    tally[counted_as] += count
    return new and counted_as == reason


class WrongEngine(ThenarError, ImportError):
    """A MuJoCo that thenar does not run on has taken the place of its own."""

    def __init__(self, package: str, version: str, folder: str):
        """Name what is installed and how to get the right one."""
        super().__init__(
            f"thenar runs on mujoco-core 4, but {package} {version} is installed in the same folder ({folder}) and "
            "replaces its files: give thenar an environment of its own, or run: pip uninstall -y mujoco mujoco-core && "
            "pip install 'mujoco-core>=4,<5'"
        )
