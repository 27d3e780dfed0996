"""Links of README.md and docs/ lead somewhere, and every page can be found."""

from __future__ import annotations

import re
from fnmatch import fnmatch
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
PAGES = [ROOT / "README.md", *sorted(DOCS.rglob("*.md"))]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_links__lead_somewhere(page: Path) -> None:
    text = re.sub(r"`[^`\n]+`", "", page.read_text(encoding="utf-8"))
    links = [link for link in re.findall(r"\]\(([^)#]+)", text) if "://" not in link]
    assert [link for link in links if not (page.parent / link).exists()] == []


def test_index__links_every_page() -> None:
    text = (DOCS / "index.md").read_text(encoding="utf-8")
    listed = [
        line
        for block in re.findall(r"^```\{toctree\}\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
        for line in block.splitlines()
    ]
    pages = {page.relative_to(DOCS).with_suffix("").as_posix() for page in PAGES[1:]} - {"index"}
    assert {page for page in pages if not any(fnmatch(page, line) for line in listed)} == set()
