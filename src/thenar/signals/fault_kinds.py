"""What can break: one table of faults, and a fault as a value that is read from words."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from typing import Literal

from thenar.errors import BadValue


@dataclass(frozen=True, kw_only=True)
class FaultKind:
    """One kind of fault."""

    of: Literal["motor", "taxel", "messages", "power"]
    """What it is a fault of: a motor or a taxel of a hand, the messages of a wire, or the supply of all hands."""
    label: str
    """What the page calls it."""
    sees: str
    """What a client sees of it."""
    amount: float = 0.0
    """How much of it there usually is."""
    unit: str = ""
    """Of that amount; empty where there is none to choose."""
    most: float = 1e9
    """The largest amount there can be: of a share 1, and messages that are late are kept until they are due."""


def _motor(label: str, sees: str, amount: float = 0.0, unit: str = "", most: float = 1e9) -> FaultKind:
    return FaultKind(of="motor", label=label, sees=sees, amount=amount, unit=unit, most=most)


def _taxel(label: str, sees: str, amount: float = 0.0, unit: str = "") -> FaultKind:
    return FaultKind(of="taxel", label=label, sees=sees, amount=amount, unit=unit)


def _messages(label: str, sees: str, amount: float = 0.0, unit: str = "", most: float = 1e9) -> FaultKind:
    return FaultKind(of="messages", label=label, sees=sees, amount=amount, unit=unit, most=most)


FAULTS: dict[str, FaultKind] = {
    "jam": _motor("Stalled motor", "the finger stands still, draws current, then reports a stall"),
    "hot": _motor("Overheated motor", "over-temperature; the motor is off until it has cooled down"),
    "weak": _motor("Weak motor", "it slows down under load and stalls early", 0.3, "of its strength is left", 1.0),
    "backlash": _motor("Motor with backlash", "the finger lags where it turns back", 0.03, "of the stroke", 1.0),
    "sticky": _motor("Sticky coupling", "coupled joints resist: force in free motion, both ways", 0.03, "N m"),
    "motor": _motor("Motor error", "the error bit of the motor; it stands still until errors are cleared"),
    "communication": _motor("Motor not responding", "the error bit of communication; it stands still"),
    "dead": _taxel("Dead taxel", "it reads its offset whatever presses"),
    "stuck": _taxel("Stuck taxel", "it reads the same whatever happens", 1800.0, "counts (barometers: Pa)"),
    "drifting": _taxel("Drifting taxel", "its reading goes up by itself", 20.0, "counts (barometers: Pa) a second"),
    "lost": _messages("Lost messages", "some commands, states and frames of touch never come", 0.1, "of all", 1.0),
    "late": _messages("Late messages", "states and touch are older than they were", 0.05, "s", 60.0),
    "doubled": _messages("Doubled messages", "some messages come twice", 0.1, "of all", 1.0),
    "garbled": _messages("Garbled messages", "some bytes of some messages are wrong", 0.05, "of all", 1.0),
    "shuffled": _messages(
        "Messages out of order", "some states come after the one that followed them", 0.1, "of all", 1.0
    ),
    "order": _messages("Wrong finger order", "the first two motors' readings are exchanged"),
    "clock": _messages("Clock jump", "stamps of messages are off from one moment on", 3600.0, "s"),
    "silent": _messages("Silent wire", "nothing comes any more; commands still act"),
    "disconnected": _messages("Disconnected link", "nothing comes, nothing is heard: the cable is out"),
    "brownout": FaultKind(
        of="power",
        label="Brown-out",
        sees="no messages and no power, screws hold and servos are limp; then hands wake up where they are, with their "
        "power-on speeds and limits, without errors and targets",
        amount=1.0,
        unit="s",
    ),
}
"""What can be injected, by the name of its kind."""

_WORDS = re.compile(
    r"(?:(?P<hand>[^/:=@]+)/)?(?P<kind>[a-z]+)(?:=(?P<amount>[-+.\deE]+))?(?::(?P<part>[^@]+))?"
    r"(?:@(?P<at_s>[.\deE]+)(?:-(?P<until_s>[.\deE]+))?)?"
)
_WANTED = "[HAND/]KIND[=AMOUNT][:PART][@FROM[-UNTIL]], such as jam:index@5-8, lost=0.2@3 or 'stuck:palm 3 7'"


@dataclass(frozen=True, kw_only=True)
class Fault:
    """A fault: of what, how much of it, and when."""

    kind: str
    hand: str = ""
    """Whose; empty of messages and power."""
    part: str = ""
    """A motor, a taxel as ``pad row column``, or a wire; empty for all wires."""
    amount: float | None = None
    """None: as much as is usual."""
    at_s: float = 0.0
    """When it begins, by the twin's clock [s]."""
    until_s: float = math.inf
    """When it is mended [s]."""

    def __post_init__(self) -> None:
        if self.kind not in FAULTS:
            raise BadValue("kind of a fault", self.kind, f"one of {', '.join(FAULTS)}")
        if not (isinstance(self.hand, str) and isinstance(self.part, str)):
            raise BadValue(f"hand and part of {self.kind}", (self.hand, self.part), "words")
        unit, most = FAULTS[self.kind].unit, FAULTS[self.kind].most
        if self.amount is not None and not (unit and 0.0 <= self.amount <= most):
            raise BadValue(f"amount of {self.kind}", self.amount, f"0 to {most:g} {unit}" if unit else "none")
        if not 0.0 <= self.at_s <= self.until_s:
            raise BadValue(
                f"times of {self.kind}", (self.at_s, self.until_s), "seconds from 0, the end after the start"
            )

    def __str__(self) -> str:
        """In words, as the page shows it."""
        found = FAULTS[self.kind]
        amount = found.amount if self.amount is None else self.amount
        much = f", {amount:g} {found.unit}" if found.unit else ""
        return f"{' '.join(filter(None, (self.hand, self.part)))}: {found.label.lower()}{much}".removeprefix(": ")


def parse_fault(words: str) -> Fault:
    """A fault from words such as ``weak=0.5:index@3-8``."""
    found = _WORDS.fullmatch(words.strip())
    if found is None:
        raise BadValue("fault", words, _WANTED)
    given = {name: text.strip() for name, text in found.groupdict().items() if text}
    try:
        numbers = {name: float(given.pop(name)) for name in ("amount", "at_s", "until_s") if name in given}
    except ValueError as error:
        raise BadValue("fault", words, _WANTED) from error
    return Fault(**given, **numbers)  # pyright: ignore[reportArgumentType]
