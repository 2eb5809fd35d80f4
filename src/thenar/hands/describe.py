"""A hand's specification as rows of tables and as plain values, with the source of every number."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict

from thenar.hands.spec import Actuator, HandSpec, Joint, Pad

Row = dict[str, object]


def summary_row(spec: HandSpec) -> Row:
    """One line about a hand."""
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


def plain_values(spec: HandSpec) -> Row:
    """Every number of a spec with its source, for JSON; shapes that are only seen are left out."""
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


def tables(spec: HandSpec) -> dict[str, list[Row]]:
    """Motors, joints, couplings, tendons, links, pads and variants as rows with their sources, by title."""
    motors = _rows("motor", spec.actuators, "drives", "open_rad", "closed_rad", "top_speed_rad_s")
    pads = _rows("pad", spec.pads, "link", "rows", "cols")
    return {
        "motors": [
            {**row, "top_speed_rad_s": round(actuator.top_speed_rad_s, 3), "source": actuator.motor.source}
            for row, actuator in zip(motors, spec.actuators, strict=True)
        ],
        "joints": _rows("joint", spec.joints, "parent", "child", "lower_rad", "upper_rad", "source"),
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
                **row,
                "pitch_mm": [round(pad.row_pitch_m * 1e3, 2), round(pad.col_pitch_m * 1e3, 2)],
                "source": pad.source,
            }
            for row, pad in zip(pads, spec.pads, strict=True)
        ],
        "variants": [{"variant": name, "source": laws[0].source} for name, laws in spec.variants.items()],
    }


def _rows(kind: str, parts: Iterable[Actuator | Joint | Pad], *fields: str) -> list[Row]:
    """The name of each part and some of its fields."""
    return [{kind: part.name, **{field: getattr(part, field) for field in fields}} for part in parts]
