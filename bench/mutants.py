"""Mutation check: change one sign, constant, order or comparison at a time, and see whether a test notices.

    python -m bench.mutants [--count 60] [--seed 0] [--only board]

Mutants are drawn at random, the same number from every room of `ROOMS`. Each is written into a copy of the tree, and
the room's quick tests run until one fails; what they leave alive meets the room's slower ones. A mutant that no test
kills is printed as a change of its line.
"""

from __future__ import annotations

import argparse
import ast
import os
import random
import re
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
        "codecs wraps",
        "glove reflex_wire sim_wire registers tienkung aurora",
    ),
    "motors": (["src/thenar/sim/motor_model.py"], "motors", "unitree_hands batch_motors reflex"),
    "deposit": (["src/thenar/touch/solver/deposit.py"], "deposit", "touch shear touch_moments reflex"),
    "bounds": (["src/thenar/retarget/kernel/bounds.py"], "frame_bounds", "smoothness retarget"),
    "board": (["src/thenar/humanoid/control/command_board.py"], "command_board", "robot_commands robot_data body"),
}
"""Files that are changed, and the tests that say something about them: quick ones and slower ones."""

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


def run_tests(words: str, tree: Path) -> bool:
    """Whether tests of a tree pass; those that judge time have no say beside other work."""
    command = [sys.executable, "-m", "pytest", "-x", "-q", "-n0", "-m", "not soak and not timing"]
    env = os.environ | {"PYTHONPATH": str(tree / "src"), "OPENBLAS_NUM_THREADS": "1"}
    tests = ["-p", "no:cacheprovider", *(f"tests/test_{word}.py" for word in words.split())]
    done = subprocess.run([*command, *tests], cwd=tree, env=env, capture_output=True, timeout=LIMIT_S, check=False)
    return done.returncode == 0


def survives(mutant: Mutant, words: str, tree: Path) -> bool:
    """Run the tests on a copy of the tree that has the mutant in it; the copy is as before afterwards."""
    target = tree / mutant.path
    source, was = target.read_text(encoding="utf-8"), target.stat()
    lines = source.splitlines()
    lines[mutant.line] = mutant.after
    try:
        target.write_text("\n".join(lines) + "\n", encoding="utf-8")
        os.utime(target, ns=(was.st_atime_ns, was.st_mtime_ns))  # a newer file would have its whole room compiled
        forget_compiled(target, tree)
        return run_tests(words, tree)
    except subprocess.TimeoutExpired:
        return False  # a program that hangs has been noticed
    finally:
        target.write_text(source, encoding="utf-8")
        os.utime(target, ns=(was.st_atime_ns, was.st_mtime_ns))
        forget_compiled(target, tree)


def forget_compiled(changed: Path, tree: Path) -> None:
    """Delete what was compiled from a file, and from all files that lead to it."""
    sources = {path: path.read_text(encoding="utf-8") for path in (tree / "src").rglob("*.py")}
    stale, new = set[Path](), {changed}
    while new:
        stale |= new
        names = re.compile("|".join(rf"\.{path.stem} import|import {path.stem}\b" for path in new))
        new = {path for path, text in sources.items() if names.search(text)} - stale
    for path in stale:
        for file in (path.parent / "__pycache__").glob(f"{path.stem}.*"):
            file.unlink()


def check_room(name: str, count: int, seed: int) -> tuple[list[Mutant], list[Mutant]]:
    """Draw mutants of a room; returns all of them, and those that no test killed."""
    patterns, *stages = ROOMS[name]
    every = [mutant for pattern in patterns for path in sorted(ROOT.glob(pattern)) for mutant in mutants_of(path)]
    drawn = alive = random.Random(f"{seed} {name}").sample(every, min(count, len(every)))
    with tempfile.TemporaryDirectory() as folder:
        tree = Path(folder) / "tree"
        left_out = shutil.ignore_patterns(".git", ".venv", "_build", "_generated")
        shutil.copytree(ROOT, tree, ignore=left_out, symlinks=True)
        for words in stages:
            if alive and not run_tests(words, tree):  # fills the cache of compiled functions, too
                raise SystemExit(f"{words}: some of these tests fail before anything is changed")
            alive = [mutant for mutant in track(alive, description=f"{name}: {words}") if survives(mutant, words, tree)]
            print(f"{name}: {len(drawn) - len(alive)} of {len(drawn)} killed", flush=True)
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
