"""What README and docs say is true: their Python runs, their pictures and files are there."""

import ast
import pkgutil
import re
import subprocess
import sys
from pathlib import Path

import pytest

import thenar
from thenar import hands
from thenar.sim import scenes

ROOT = Path(__file__).resolve().parents[1]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
BLOCKS = [
    pytest.param(block, id=f"{page.name}-{number}")
    for page in PAGES
    for number, block in enumerate(re.findall(r"```python\n(.*?)```", page.read_text(), re.DOTALL), start=1)
    if ".toml" not in block  # a file of the reader's
]


@pytest.mark.parametrize("block", BLOCKS)
def test_python_of_the_docs_runs(block: str, capsys, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)  # some write files
    exec(compile(block, "docs", "exec"), {})
    if "print(" in block:
        assert capsys.readouterr().out


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_and_pictures_of_the_docs_are_there(page: Path):
    for target in re.findall(r"\]\(([^)#]+)\)", page.read_text()):
        if "://" not in target:
            assert (page.parent / target).exists(), target


def test_the_documentation_builds_without_a_warning(tmp_path):
    build = [sys.executable, "-m", "sphinx", "-W", "--keep-going", "-q", "-d", str(tmp_path / "trees")]
    done = subprocess.run(
        [*build, str(ROOT / "docs"), str(tmp_path / "pages")], capture_output=True, text=True, timeout=300, check=False
    )
    assert done.returncode == 0, done.stderr
    page = (tmp_path / "pages" / "_generated" / "hand_inspire_right.html").read_text()
    assert all(pad.name in page for pad in hands.load("inspire_right").pads)
    assert (tmp_path / "pages" / "_generated" / "example_01_close_and_feel.html").exists()


def test_the_api_page_tells_every_public_name():
    page = (ROOT / "docs" / "api.md").read_text()
    missing = [
        name for name in dir(thenar) if name not in page and name not in ("__version__", "humanoid", "ThenarError")
    ]
    assert missing == []


SOURCES = [
    *BLOCKS,
    *(pytest.param(path.read_text(), id=path.name) for path in sorted((ROOT / "examples").glob("*.py"))),
]


@pytest.mark.parametrize("source", SOURCES)
def test_examples_import_no_deeper_than_one_level(source: str):
    # `import thenar`, `from thenar import x`, `from thenar.hands import x`: the front door and its rooms are enough.
    for node in ast.walk(ast.parse(source)):
        modules = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
        modules += [node.module or ""] if isinstance(node, ast.ImportFrom) else []
        for module in modules:
            assert not (module.startswith("thenar.") and module.count(".") > 1), module


def test_what_the_front_door_offers_is_typed_and_there():
    tree = ast.parse((ROOT / "src" / "thenar" / "__init__.py").read_text())
    checked = next(node for node in tree.body if isinstance(node, ast.If))
    typed = {
        alias.asname or alias.name: f"{node.module}.{alias.name}"
        for node in checked.body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }
    assert {*typed, "__version__"} == set(dir(thenar))
    for name, target in typed.items():
        assert getattr(thenar, name) is pkgutil.resolve_name(target)


@pytest.mark.parametrize("table", ["touch_accuracy", "touch_cost"])
def test_touch_page_shows_the_tables_that_the_bench_wrote(table: str):
    written = (ROOT / "docs" / "bench" / f"{table}.md").read_text()
    assert written in (ROOT / "docs" / "touch.md").read_text()


def test_readme_and_docs_name_every_hand_and_scene():
    readme = (ROOT / "README.md").read_text()
    assert all(f"`{name}`" in readme for name in hands.names())
    world = (ROOT / "docs" / "world.md").read_text()
    assert all(f"`{name}`" in world for name in scenes.names())


def test_readme_tells_motors_joints_and_taxels_of_every_hand_as_they_are():
    readme = (ROOT / "README.md").read_text()
    for name in hands.names():
        spec = hands.load(name)
        row = next(line for line in readme.splitlines() if line.startswith("|") and f"`{name}`" in line)
        told = [cell.strip() for cell in row.strip("|").split("|")][1:4]
        assert told == [str(len(spec.actuators)), str(len(spec.joints)), str(spec.taxels or "-")], name


def test_the_ball_of_the_worlds_page_is_lifted_off_the_table():
    block = re.search(r"```python\n(.*?)```", (ROOT / "docs" / "world.md").read_text(), re.DOTALL)
    assert block is not None
    names: dict = {}
    exec(compile(block[1], "docs", "exec"), names)
    assert names["world"].props.pose("ball")[0][2] > 0.1


def test_the_path_of_a_command_can_be_followed():
    page = (ROOT / "docs" / "concepts.md").read_text()
    steps = re.findall(r"^\d+\. `([\w/]+\.py)` `([\w.]+)`", page, re.MULTILINE)
    assert 30 <= len(steps) <= 35
    for file, name in steps:
        tree = ast.parse((ROOT / "src" / "thenar" / file).read_text())
        for part in name.split("."):
            defined = {node.name: node for node in tree.body if isinstance(node, (ast.ClassDef, ast.FunctionDef))}
            assert part in defined, f"{file} has no {name}"
            tree = defined[part]
