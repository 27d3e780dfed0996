# ruff: noqa: INP001 - a file of Sphinx, in no package
"""How the pages of docs/ become a site: `make docs`. Nothing is fetched, and no page loads anything remote."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import TYPE_CHECKING

from pygments.lexers.data import YamlLexer

if TYPE_CHECKING:
    from sphinx.application import Sphinx

_ROOT = Path(__file__).resolve().parents[1]
_PROJECT = tomllib.loads((_ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]

project = "releasecheck"
author = "the releasecheck authors"
copyright = author
version = release = _PROJECT["version"]
language = "en"

extensions = ["myst_parser"]
source_suffix = {".md": "markdown"}
root_doc = "index"
exclude_patterns = ["_build", "README.md"]
nitpicky = True
# Messages and options stand as they are typed: `--out` is no dash.
smartquotes = False
# Anchors as GitHub makes them, so that a link works there and here.
myst_heading_anchors = 4
# Fragments on pages are parts of files, with `...` where something was left out.
suppress_warnings = ["misc.highlighting_failure"]

html_theme = "furo"
html_title = f"releasecheck {release}"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_copy_source = False
html_show_sourcelink = False
html_show_sphinx = False
html_show_copyright = False


def setup(app: Sphinx) -> None:
    """Workflow fragments are `yml`, since fragments in `yaml` are checked as parts of a suite."""
    app.add_lexer("yml", YamlLexer)
