"""``thenar hands`` and ``thenar scenes``: what there is."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Annotated

import tyro

from thenar import hands
from thenar.cli.show import console, print_json, print_table
from thenar.errors import BadValue

if TYPE_CHECKING:
    from thenar.hands.spec import Actuator, HandSpec


@dataclass(frozen=True)
class Hands:
    """List the hands of the catalogue, or everything about one of them.

    For example:

    thenar hands

    thenar hands inspire_right

    thenar hands inspire_right --json
    """

    name: Annotated[tyro.conf.Positional[str], tyro.conf.arg(metavar="NAME")] = ""
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
            rows = [_summary(hands.load(name)) for name in hands.names()]
            if self.json:
                print_json(rows)
            else:
                print_table("Hands", [{key: row[key] for key in row if key != "maker"} for row in rows])
                console.print("thenar hands NAME tells everything about one of them.")
            return
        spec = hands.load(self.name, variant=self.variant)
        if self.json:
            print_json(_everything(spec))
            return
        sections = describe(spec)
        console.print(f"[bold]{spec.name}[/bold]  {spec.maker} {spec.model}, {spec.mass_kg:.3f} kg. {spec.summary}")
        sources: dict[object, int] = {}
        for title, rows in sections.items():
            for row in rows:  # long sources become numbers, explained below
                row["source"] = f"[{sources.setdefault(row['source'], len(sources) + 1)}]"
            if rows:
                print_table(title.capitalize(), rows)
        for source, number in sources.items():
            console.print(f"[{number}] {source}", markup=False, highlight=False)
        for note in spec.notes:
            console.print(f"- {note}", highlight=False)


@dataclass(frozen=True)
class Scenes:
    """List the named scenes."""

    json: bool = False
    """Print JSON instead of a table."""

    def run(self) -> None:
        """Print the table."""
        from thenar.sim import scenes

        rows = [
            {
                "scene": name,
                "objects": [prop.name for prop in scenes.load(name).props],
                "what": scenes.load(name).summary,
            }
            for name in scenes.names()
        ]
        if self.json:
            print_json(rows)
        else:
            print_table("Scenes", rows)


def _summary(spec: HandSpec) -> dict[str, object]:
    return {
        "hand": spec.name,
        "maker": spec.maker,
        "model": spec.model,
        "motors": len(spec.actuators),
        "joints": len(spec.joints),
        "pads": len(spec.pads),
        "taxels": spec.taxels,
        "mass_kg": round(spec.mass_kg, 4),
    }


def _everything(spec: HandSpec) -> dict[str, object]:
    """Every number of a spec with its source; shapes that are only seen are left out."""
    return {
        **{key: getattr(spec, key) for key in ("name", "maker", "model", "side", "summary", "root", "poses", "notes")},
        "mass_kg": spec.mass_kg,
        "taxels": spec.taxels,
        "motors": [asdict(actuator) for actuator in spec.actuators],
        "links": [{key: value for key, value in asdict(link).items() if key != "visuals"} for link in spec.links],
        **{
            key: [asdict(row) for row in getattr(spec, key)]
            for key in ("joints", "couplings", "tendons", "pads", "tips")
        },
        "variants": {name: [asdict(law) for law in laws] for name, laws in spec.variants.items()},
    }


def describe(spec: HandSpec) -> dict[str, list[dict[str, object]]]:
    """What a spec holds, as rows of tables: motors, joints, couplings, tendons, links, pads."""
    return {
        "motors": [_motor_row(actuator) for actuator in spec.actuators],
        "joints": [
            {
                "joint": joint.name,
                "parent": joint.parent,
                "child": joint.child,
                "lower_rad": joint.lower_rad,
                "upper_rad": joint.upper_rad,
                "source": joint.source,
            }
            for joint in spec.joints
        ],
        "couplings": [
            {
                "joint": c.joint,
                "law": f"{c.ratio:g} * {c.driver}" + (f" {c.offset_rad:+g}" if c.offset_rad else ""),
                "source": c.source,
            }
            for c in spec.couplings
        ],
        "tendons": [
            {
                "tendon": t.name,
                "sum": " + ".join(f"{weight:g} * {joint}" for joint, weight in t.joints),
                "lower_rad": t.lower_rad,
                "upper_rad": t.upper_rad,
                "source": t.source,
            }
            for t in spec.tendons
        ],
        "links": [{"link": x.name, "mass_kg": round(x.mass_kg, 5), "source": x.source} for x in spec.links],
        "pads": [
            {
                "pad": pad.name,
                "link": pad.link,
                "rows": pad.rows,
                "cols": pad.cols,
                "pitch_mm": [round(pad.row_pitch_m * 1e3, 2), round(pad.col_pitch_m * 1e3, 2)],
                "source": pad.source,
            }
            for pad in spec.pads
        ],
        "variants": [{"variant": name, "source": laws[0].source} for name, laws in spec.variants.items()],
    }


def _motor_row(actuator: Actuator) -> dict[str, object]:
    return {
        "motor": actuator.name,
        "drives": actuator.drives,
        "open_rad": actuator.open_rad,
        "closed_rad": actuator.closed_rad,
        "top_speed_rad_s": round(actuator.top_speed_rad_s, 3),
        "source": actuator.motor.source,
    }
