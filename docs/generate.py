"""Pages that are made from the code at every build: hands, wire tables, examples, the command line."""

from __future__ import annotations

import ast
import html
import itertools
import textwrap
from pathlib import Path

import tyro
from honesty import honesty
from tables import table
from wire_page import wire_page

from thenar import cli, hands
from thenar.hands.describe import tables
from thenar.hands.spec import HandSpec

DOCS = Path(__file__).resolve().parent
EXAMPLES = DOCS.parent / "examples"
OUT = DOCS / "_generated"
CELL_PX = 9
NAMES = {word.lower(): word for word in ("DDS", "DFX", "Modbus", "Tienkung", "Shadow", "ReFlex")}
BOX = ("╭", "│", "╰")


def generate() -> None:
    """Write every page that is not up to date, so that Sphinx builds only what changed."""
    pages = {
        "wires.md": wire_page(),
        "command_line.md": command_page(),
        **{f"hand_{name}.md": hand_page(hands.load(name)) for name in hands.names()},
        **{f"example_{path.stem}.md": example_page(path) for path in sorted(EXAMPLES.glob("*.py"))},
    }
    OUT.mkdir(exist_ok=True)
    for old in set(OUT.glob("*.md")) - {OUT / name for name in pages}:
        old.unlink()
    for name, text in pages.items():
        path = OUT / name
        if not path.exists() or path.read_text() != text:
            path.write_text(text)


def hand_page(spec: HandSpec) -> str:
    """Everything about a hand: pictures, what is real, motors, joints, pads, sources."""
    sources: dict[str, int] = {}
    pictures = {pose: DOCS / "pictures" / f"{spec.name}_{pose}.png" for pose in ("open", "fist")}
    parts = [
        f"# {spec.name}",
        f"{spec.maker} {spec.model}, {spec.mass_kg:.3f} kg. {spec.summary}",
        "\n".join(f"![{pose}](../pictures/{picture.name})" for pose, picture in pictures.items() if picture.is_file()),
        f"Load it with `thenar.hands.load({spec.name!r})`, print it with `thenar hands {spec.name}`.",
        "## What is real, what is modelled, what is absent",
        table(("", ""), honesty(spec)),
    ]
    for title, rows in tables(spec).items():
        if not rows:
            continue
        columns = list(rows[0])
        for row in rows:
            row["source"] = f"[{sources.setdefault(str(row['source']), len(sources) + 1)}]"
        parts += [f"## {title.capitalize()}", table(columns, [[row[column] for column in columns] for row in rows])]
        if title == "pads":
            parts.append(
                "Row 1 is at the top, column 1 on the left, seen from outside the skin.\n\n"
                f"```{{raw}} html\n{pad_drawing(spec)}\n```"
            )
    parts += ["## Sources", "\n".join(f"- [{number}] {source}" for source, number in sources.items())]
    if spec.notes:
        parts += ["## Where sources disagree or are silent", "\n".join(f"- {note}" for note in spec.notes)]
    return "\n\n".join(parts) + "\n"


def pad_drawing(spec: HandSpec) -> str:
    """Every pad of a hand as a grid of its size, as SVG."""
    x, y, tallest, shapes = 0, 0, 0, []
    for pad in spec.pads:
        wide, tall = max(CELL_PX * pad.cols, 90), CELL_PX * pad.rows + 28
        if x + wide > 720:
            x, y, tallest = 0, y + tallest, 0
        shapes += [
            f'<rect x="{x + CELL_PX * col}" y="{y + CELL_PX * row}" width="{CELL_PX - 1}" height="{CELL_PX - 1}"/>'
            for row in range(pad.rows)
            for col in range(pad.cols)
        ]
        text = f"{pad.name} {pad.rows} x {pad.cols}"
        shapes.append(f'<text x="{x}" y="{y + CELL_PX * pad.rows + 12}">{html.escape(text)}</text>')
        x, tallest = x + wide + 14, max(tallest, tall)
    return (
        f'<svg viewBox="0 0 740 {y + tallest}" width="100%" role="img" aria-label="pads of {spec.name}" '
        'style="font:11px sans-serif;fill:currentColor"><g style="fill-opacity:0.55">'
        + "".join(shape for shape in shapes if shape.startswith("<rect"))
        + "</g>"
        + "".join(shape for shape in shapes if shape.startswith("<text"))
        + "</svg>"
    )


def example_page(path: Path) -> str:
    """An example: its words, then the program without them."""
    source = path.read_text()
    first, _, rest = (ast.get_docstring(ast.parse(source)) or "").partition("\n")
    number, _, title = path.stem.partition("_")
    begins = source.index('"""', 3)  # where the words end
    return (
        f"# {number} {_title(title)}\n\n{first}\n\n"
        f"{_shell_blocks(textwrap.dedent(rest).strip())}\n\n"
        f"```{{literalinclude}} ../../examples/{path.name}\n:language: python\n"
        f":lines: {source[:begins].count(chr(10)) + 3}-\n```\n\n"
        f"This is `examples/{path.name}`; the tests run it as it stands.\n"
    )


def _title(stem: str) -> str:
    first, *rest = (NAMES.get(word, word) for word in stem.split("_"))
    return " ".join([first[0].upper() + first[1:], *rest])


def _shell_blocks(text: str) -> str:
    """Indented lines as shell blocks."""
    blocks = [
        f"```sh\n{textwrap.dedent(block)}\n```" if block.startswith("    ") else block for block in text.split("\n\n")
    ]
    return "\n\n".join(blocks)


def command_page() -> str:
    """The help of every verb."""
    parts = ["# The command line", "What `thenar VERB --help` says. Whatever prints a table also prints `--json`."]
    for verb in itertools.chain(*cli.VERBS.values()):
        name = verb.__name__.lower()
        parser = tyro.extras.get_parser(verb, prog=f"thenar {name}", console_outputs=False)
        lines = [
            line if line.startswith(BOX) else textwrap.fill(line, 92)
            for line in parser.format_help().strip().splitlines()
        ]
        parts += [f"## thenar {name}", "```text\n" + "\n".join(lines) + "\n```"]
    return "\n\n".join(parts) + "\n"
