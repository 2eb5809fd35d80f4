"""``thenar hands`` and ``thenar scenes``: what there is."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import tyro
from rich.text import Text

from thenar import hands
from thenar.cli.show import console, print_json, print_table
from thenar.errors import BadValue
from thenar.hands.describe import plain_values, summary_row, tables


@dataclass(frozen=True)
class Hands:
    """List the hands of the catalogue, or everything about one of them.

    For example:

    thenar hands

    thenar hands inspire_right

    thenar hands inspire_right --json
    """

    name: Annotated[tyro.conf.Positional[str], tyro.conf.arg(metavar="[NAME]")] = ""
    """Hand to describe; empty lists all."""
    variant: str | None = None
    """Another published coupling law of that hand."""
    json: bool = False
    """Print JSON instead of tables."""

    def run(self) -> None:
        """Print the tables."""
        if not self.name:
            if self.variant:
                raise BadValue("--variant", self.variant, "the name of a hand before it")
            rows = [summary_row(hands.load(name)) for name in hands.names()]
            if self.json:
                print_json(rows)
            else:
                print_table("Hands", [{key: row[key] for key in row if key != "maker"} for row in rows])
                console.print("thenar hands NAME tells everything about one of them.")
            return
        spec = hands.load(self.name, variant=self.variant)
        if self.json:
            print_json(plain_values(spec))
            return
        about = f"  {spec.maker} {spec.model}, {spec.mass_kg:.3f} kg. {spec.summary}"
        console.print(Text.assemble((spec.name, "bold"), about))
        sources: dict[object, int] = {}
        for title, rows in tables(spec).items():
            for row in rows:  # long sources become numbers, explained below
                row["source"] = f"[{sources.setdefault(row['source'], len(sources) + 1)}]"
            if rows:
                print_table(title.capitalize(), rows)
        for source, number in sources.items():
            console.print(f"[{number}] {source}")
        for note in spec.notes:
            console.print(f"- {note}")


@dataclass(frozen=True)
class Scenes:
    """List the named scenes that demo, serve and snapshot take.

    For example:

    thenar scenes

    thenar scenes --json
    """

    json: bool = False
    """Print JSON instead of a table."""

    def run(self) -> None:
        """Print the table."""
        from thenar.sim import scenes

        found = {name: scenes.load(name) for name in scenes.names()}
        rows = [
            {"scene": name, "objects": [prop.name for prop in scene.props], "what": scene.summary}
            for name, scene in found.items()
        ]
        if self.json:
            print_json(rows)
        else:
            print_table("Scenes", rows)
