"""Mutation check: change one sign, constant, order or comparison at a time, and see whether a test notices.

    python -m bench.mutants [--count 60] [--seed 0] [--only board]

Mutants are drawn at random, the same number from every room of `ROOMS`. Each is written into a copy of the tree, and
the room's tests run until the first one fails. A mutant that no test kills is printed as a change of its line.
"""

from __future__ import annotations

import argparse
import ast
import os
import random
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from rich.progress import track

ROOT = Path(__file__).resolve().parents[1]
LIMIT_S = 900.0

ROOMS = {
    "codecs": (
        ["src/thenar/wire/codecs/*_codec.py", "src/thenar/wire/codecs/*_counts.py"],
        ["tests/test_codecs.py", "tests/test_reflex_wire.py", "tests/test_tienkung.py", "tests/test_aurora.py"],
    ),
    "motors": (["src/thenar/sim/motor_model.py"], ["tests/test_motors.py"]),
    "deposit": (["src/thenar/touch/solver/deposit.py"], ["tests/test_touch.py", "tests/test_pads.py"]),
    "bounds": (["src/thenar/retarget/kernel/bounds.py"], ["tests/test_retarget.py"]),
    "board": (["src/thenar/humanoid/control/command_board.py"], ["tests/test_body.py", "tests/test_robot_data.py"]),
}

SWAPS: dict[type[ast.AST], str] = {
    ast.Add: "-",
    ast.Sub: "+",
    ast.Mult: "/",
    ast.Div: "*",
    ast.Lt: ">",
    ast.Gt: "<",
    ast.LtE: ">",
    ast.GtE: "<",
    ast.Eq: "!=",
    ast.NotEq: "==",
    ast.And: "or",
    ast.Or: "and",
    ast.BitAnd: "|",
    ast.BitOr: "&",
}


@dataclass(frozen=True, kw_only=True)
class Mutant:
    """One change of one line."""

    path: Path
    """Relative to the root of the project."""
    line: int
    before: str
    after: str


def mutants_of(path: Path) -> list[Mutant]:
    """Every change of a file that the check may make: operators, signs, numbers, order of a pair."""
    source = path.read_text(encoding="utf-8")
    lines = source.splitlines()
    found = []
    for node in _meant_nodes(ast.parse(source)):
        span = _span(node, lines)
        if span is None:
            continue
        row, start, end, text = span
        line = lines[row]
        changed = line[:start] + text + line[end:]
        found.append(Mutant(path=path.relative_to(ROOT), line=row, before=line, after=changed))
    return found


def _meant_nodes(tree: ast.AST) -> Iterator[ast.AST]:
    """Nodes outside docstrings, annotations, messages of errors and plain text."""
    notes = {getattr(tree, "annotation", None), getattr(tree, "returns", None)}
    for node in ast.iter_child_nodes(tree):
        if node in notes or isinstance(node, (ast.Raise, ast.JoinedStr, ast.Import, ast.ImportFrom)):
            continue
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            continue
        yield node
        yield from _meant_nodes(node)


def _span(node: ast.AST, lines: list[str]) -> tuple[int, int, int, str] | None:
    """Where on its line a node is changed, and to what; None for a node that is left alone."""
    match node:
        case ast.BinOp(left=left, op=op, right=right) if type(op) in SWAPS:
            return _between(left, right, SWAPS[type(op)], lines)
        case ast.Compare(left=left, ops=[op], comparators=[right]) if type(op) in SWAPS:
            return _between(left, right, SWAPS[type(op)], lines)
        case ast.BoolOp(op=op, values=[left, right]):
            return _between(left, right, SWAPS[type(op)], lines)
        case ast.UnaryOp(op=ast.USub(), operand=operand) if operand.lineno == node.lineno:
            return node.lineno - 1, node.col_offset, operand.col_offset, ""
        case ast.Constant(value=bool()):
            return None
        case ast.Constant(value=int() | float() as value) if node.end_lineno == node.lineno and value == value:
            other = repr(value + 1 if isinstance(value, int) else 1.1 * value if value else 1.0)
            return node.lineno - 1, node.col_offset, node.end_col_offset or 0, other
        case ast.Tuple(elts=[ast.Name() as first, ast.Name() as second], ctx=ast.Load()) if (
            first.lineno == second.lineno
        ):
            swapped = f"{second.id}, {first.id}"
            return first.lineno - 1, first.col_offset, second.end_col_offset or 0, swapped
    return None


def _between(left: ast.expr, right: ast.expr, text: str, lines: list[str]) -> tuple[int, int, int, str] | None:
    """The operator between two operands on one line; brackets around them stay."""
    if left.end_lineno != right.lineno or left.end_col_offset is None:
        return None
    row = right.lineno - 1
    gap = lines[row][left.end_col_offset : right.col_offset]
    operator = gap.strip().strip("()").strip()
    if not operator or operator in ("is", "in"):
        return None
    start = left.end_col_offset + gap.index(operator)
    return row, start, start + len(operator), text


def survives(mutant: Mutant, tests: list[str], tree: Path) -> bool:
    """Run the tests on a copy of the tree that has the mutant in it; the copy is as before afterwards."""
    target = tree / mutant.path
    source = target.read_text(encoding="utf-8")
    lines = source.splitlines()
    lines[mutant.line] = mutant.after
    target.write_text("\n".join(lines) + "\n", encoding="utf-8")
    command = [sys.executable, "-m", "pytest", "-x", "-q", "-m", "not soak and not timing", "-p", "no:cacheprovider"]
    env = os.environ | {"PYTHONPATH": str(tree / "src"), "OPENBLAS_NUM_THREADS": "1"}
    try:
        done = subprocess.run([*command, *tests], cwd=tree, env=env, capture_output=True, timeout=LIMIT_S, check=False)
        return done.returncode == 0
    except subprocess.TimeoutExpired:
        return False  # a program that hangs has been noticed
    finally:
        target.write_text(source, encoding="utf-8")


def check_room(name: str, count: int, seed: int) -> tuple[list[Mutant], list[Mutant]]:
    """Draw mutants of a room; returns all of them, and those that no test killed."""
    patterns, tests = ROOMS[name]
    every = [mutant for pattern in patterns for path in sorted(ROOT.glob(pattern)) for mutant in mutants_of(path)]
    drawn = random.Random(f"{seed} {name}").sample(every, min(count, len(every)))
    with tempfile.TemporaryDirectory() as folder:
        tree = Path(folder) / "tree"
        shutil.copytree(
            ROOT, tree, ignore=shutil.ignore_patterns(".git", ".venv", "_build", "_generated"), symlinks=True
        )
        alive = [mutant for mutant in track(drawn, description=name) if survives(mutant, tests, tree)]
    return drawn, alive


def main() -> None:
    """Check every room and print what survived."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=60, help="mutants in all")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", choices=ROOMS, help="one room")
    options = parser.parse_args()
    rooms = [options.only] if options.only else list(ROOMS)
    each = -(-options.count // len(rooms))
    results = [check_room(name, each, options.seed) for name in rooms]
    total = sum(len(drawn) for drawn, _ in results)
    alive = [mutant for _, left in results for mutant in left]
    for mutant in alive:
        print(f"{mutant.path}:{mutant.line + 1}\n  - {mutant.before.strip()}\n  + {mutant.after.strip()}")
    print(f"{total - len(alive)} of {total} mutants were killed")


if __name__ == "__main__":
    main()
