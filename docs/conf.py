"""How the documentation is built: `make docs`."""

import re
import sys
from pathlib import Path

DOCS = Path(__file__).resolve().parent
sys.path.insert(0, str(DOCS))

import thenar  # noqa: E402

project = "thenar"
author = "The thenar authors"
copyright = "The thenar authors"
version = release = thenar.__version__

extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon"]
exclude_patterns = ["_build"]
myst_enable_extensions = ["colon_fence"]
myst_heading_anchors = 3
suppress_warnings = ["myst.header"]

html_theme = "furo"
html_title = f"thenar {version}"
html_static_path = ["static"]
html_css_files = ["page.css"]
html_show_sphinx = False

autoclass_content = "both"
autodoc_member_order = "bysource"
autodoc_typehints = "none"
napoleon_google_docstring = True
napoleon_numpy_docstring = False


def setup(app) -> None:
    """Make the generated pages, and let the index name every page there is."""
    from generate import generate

    generate()
    app.connect("source-read", _name_the_rest)
    # Their text is the same when a page is new, but not what they list.
    app.connect("env-get-outdated", lambda *_: ["index", "hands", "examples"])


def _name_the_rest(app, name: str, source: list[str]) -> None:
    """Put pages that the index does not name where it says so, and lists of generated pages too."""
    text = source[0]
    if name == "index":
        named = set(re.findall(r"^([\w/]+)$", text, re.MULTILINE))
        rest = [page.stem for page in sorted(DOCS.glob("*.md")) if page.stem not in named | {"index"}]
        tables = [f"bench/{page.stem}" for page in sorted((DOCS / "bench").glob("*.md"))]
        text = text.replace("@rest", "\n".join(rest)).replace("@bench", "\n".join(tables))
    if name.startswith("bench/") and not text.startswith("# "):  # a table as the bench wrote it
        text = f"# {name.removeprefix('bench/').replace('_', ' ').capitalize()}\n\n{text}"
    for kind in ("hand", "example"):
        pages = sorted(path.stem for path in (DOCS / "_generated").glob(f"{kind}_*.md"))
        text = text.replace(f"@{kind}s", "\n".join(f"_generated/{page}" for page in pages))
    source[0] = text
