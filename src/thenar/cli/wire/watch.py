"""``thenar watch``: what a hand says, live in the terminal."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Annotated, Literal

import tyro
from rich.console import RenderableType
from rich.live import Live

from thenar import hands
from thenar.cli.run.running import check_duration, end_of
from thenar.cli.show import console, plain_readings, print_json, readings_table, skin_picture
from thenar.cli.wire.wires import ConnectionOptions, Wire
from thenar.errors import BadValue

if TYPE_CHECKING:
    from thenar.wire.clients.hand_connection import SkinConnection


@dataclass(frozen=True)
class Watch:
    """Draw skin or state of a hand as it arrives over its own wire.

    For example:

    thenar watch touch

    thenar watch state --hand inspire_left --wire modbus --modbus 127.0.0.1:6000

    thenar watch touch --once --json
    """

    what: tyro.conf.Positional[Literal["touch", "state"]]
    """What to watch."""
    hand: str = "inspire_right"
    """Hand to watch."""
    wire: Wire = "inspire"
    """Protocol to speak."""
    connection: Annotated[ConnectionOptions, tyro.conf.arg(name="")] = field(default_factory=ConnectionOptions)
    once: bool = False
    """Show one message and end."""
    seconds: float = 0.0
    """How long; 0 watches until Ctrl-C."""
    json: bool = False
    """Print one message as JSON and end."""

    def run(self) -> None:
        """Watch."""
        from thenar.wire.clients.hand_connection import connect_inspire

        check_duration(self.seconds, "--seconds")
        spec = hands.load(self.hand)
        if self.what == "touch" and not spec.pads:
            raise BadValue("--hand", self.hand, "a hand with skin, such as inspire_right")
        with connect_inspire((spec,), self.connection.place(self.wire)) as (line,):
            if self.json:
                print_json(self._plain(line))
                return
            if self.once:
                console.print(self._drawn(line))
                return
            until_s = end_of(self.seconds)
            with Live(self._drawn(line), console=console, refresh_per_second=15) as live:
                while time.perf_counter() < until_s:
                    live.update(self._drawn(line))

    def _drawn(self, line: SkinConnection) -> RenderableType:
        spec = hands.load(self.hand)
        if self.what == "touch":
            return skin_picture(spec, line.taxel_counts())
        return readings_table(spec.name, line.readings())

    def _plain(self, line: SkinConnection) -> dict[str, object]:
        spec = hands.load(self.hand)
        if self.what == "touch":
            taxels, first, pads = line.taxel_counts(), 0, {}
            for pad in spec.pads:
                pads[pad.name] = taxels[first : first + pad.taxels].reshape(pad.rows, pad.cols).tolist()
                first += pad.taxels
            return pads
        return plain_readings(line.readings())
