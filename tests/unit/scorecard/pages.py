"""Reads reports the way their readers do."""

from __future__ import annotations

from dataclasses import dataclass, field
from html.parser import HTMLParser
from typing import TYPE_CHECKING

from markdown_it import MarkdownIt
from typing_extensions import override

from releasecheck.canonical import dump_document, dump_line
from releasecheck.scorecard.html import render_html
from releasecheck.scorecard.junit import render_junit
from releasecheck.scorecard.results_csv import render_results_csv
from releasecheck.scorecard.sarif import render_sarif
from releasecheck.scorecard.summary import render_summary

if TYPE_CHECKING:
    from tests.unit.scorecard.samples import Sample

VOID = frozenset({"meta", "input", "br", "link", "img", "hr"})
"""Elements without an end; those of SVG end themselves where they hold nothing."""


class Page(HTMLParser):
    """Elements, visible text and nesting of a page."""

    def __init__(self, source: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.text = ""
        self.open: list[str] = []
        self.crossed: list[str] = []
        self.feed(source)
        self.close()

    @override
    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    @override
    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))

    @override
    def handle_endtag(self, tag: str) -> None:
        if self.open and self.open[-1] == tag:
            self.open.pop()
        else:
            self.crossed.append(tag)

    @override
    def handle_data(self, data: str) -> None:
        if not self.open or self.open[-1] not in ("style", "script"):
            self.text += data

    def all(self, tag: str) -> list[dict[str, str | None]]:
        """Attributes of every element of a kind."""
        return [attributes for name, attributes in self.elements if name == tag]


def page_of(sample: Sample, cases: int = 500) -> str:
    return b"".join(render_html(sample.report, cases)).decode("utf-8")


@dataclass
class Rendered:
    """Tables, headings and fences of a Markdown text."""

    tables: list[list[list[str]]] = field(default_factory=list)
    headings: list[str] = field(default_factory=list)
    fences: list[str] = field(default_factory=list)
    kinds: set[str] = field(default_factory=set)


def rendered(source: str) -> Rendered:
    """Parse with the dialect of GitHub, autolinks aside."""
    found = Rendered()
    tokens = MarkdownIt("gfm-like", {"linkify": False, "html": True}).parse(source)
    for at, token in enumerate(tokens):
        found.kinds.add(token.type)
        found.kinds.update(child.type for child in token.children or ())
        match token.type:
            case "table_open":
                found.tables.append([])
            case "tr_open":
                found.tables[-1].append([])
            case "th_open" | "td_open":
                found.tables[-1][-1].append(tokens[at + 1].content)
            case "heading_open":
                found.headings.append(tokens[at + 1].content)
            case "fence":
                found.fences.append(token.content)
            case _:
                pass
    return found


def bundle_of(sample: Sample) -> dict[str, bytes]:
    """Every report of a sample, as it would stand in a bundle."""
    report = sample.report
    return {
        "scorecard.json": dump_document(report.scorecard.model_dump(mode="json")),
        "results.jsonl": b"".join(dump_line(view.row.to_json()) for view in sample.views),
        "scorecard.html": b"".join(render_html(report)),
        "summary.md": render_summary(report).encode("utf-8"),
        "junit.xml": b"".join(render_junit(report)),
        "results.sarif": b"".join(render_sarif(report)),
        "results.csv": b"".join(render_results_csv(report)),
    }
