"""A small search service over this project's own documentation: the target of this example.

    python serve.py PORT

Every page of `docs/` is cut at its `##` headings, and a section is known by page and heading,
as in `gates.md#bootstrap`. `POST /search` takes `{"question": ..., "k": 10}` and answers
`{"results": [section ids, best first], "usage": {...}}`. `GET /healthz` says that it is ready.
"""

from __future__ import annotations

import re
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import bm25s  # type: ignore[import-untyped]
import uvicorn
from starlette.applications import Starlette
from starlette.responses import JSONResponse
from starlette.routing import Route

if TYPE_CHECKING:
    from collections.abc import Iterator

    from starlette.requests import Request

# What of a section is searched: "text" (its heading and all below it) or "heading".
# Change this one word to "heading" and run the suite again to see a gate block.
INDEXED = "text"

DOCS = Path(__file__).resolve().parents[2] / "docs"
HEADING_WEIGHT = 3
COMMON = (
    "a about an and any are as at be been but by can do does for from get has have how i if in "
    "into is it its me my of on one or our should so some than that the their them then there "
    "these they this to us was we were what when where which while who why will with would you "
    "your"
)
STOP_WORDS = frozenset(COMMON.split())
ENDINGS = (("ies", "y"), ("ied", "y"), ("ing", ""), ("ed", ""), ("es", ""), ("s", ""))


@dataclass(frozen=True, slots=True)
class Section:
    """One `##` section of one page; the text before the first heading is a section too."""

    id: str
    """`page.md#slug-of-the-heading`, or `page.md` for the text before the first `##`."""
    heading: str
    """The heading as it is written."""
    text: str
    """What stands below the heading, up to the next one."""


def slug(heading: str) -> str:
    """The fragment that GitHub makes of a heading."""
    return re.sub(r"[^\w\- ]", "", heading.strip().lower()).replace(" ", "-")


def sections(page: Path) -> Iterator[Section]:
    """Cut one page at its `##` headings; a `##` inside a code fence is no heading."""
    section_id, heading, lines, fenced = page.name, "", list[str](), False
    for line in page.read_text(encoding="utf-8").splitlines():
        if line.startswith("```"):
            fenced = not fenced
        if line.startswith("## ") and not fenced:
            yield Section(section_id, heading, "\n".join(lines))
            heading, lines = line[3:].strip(), []
            section_id = f"{page.name}#{slug(heading)}"
        elif line.startswith("# ") and not fenced:
            heading = line[2:].strip()
        else:
            lines.append(line)
    yield Section(section_id, heading, "\n".join(lines))


def load(docs: Path = DOCS) -> list[Section]:
    """Every section of every page directly in `docs`, in a fixed order."""
    return [section for page in sorted(docs.glob("*.md")) for section in sections(page)]


def stem(word: str) -> str:
    """Cut the commonest English endings, so that `gates`, `retried` and `retry` meet."""
    for ending, rest in ENDINGS:
        if word.endswith(ending) and not word.endswith("ss") and len(word) - len(ending) >= 3:
            word = word[: -len(ending)] + rest
            break
    return word[:-1] if word.endswith("e") and len(word) > 4 else word


def words(text: str) -> list[str]:
    """The searchable words of a text; `no_regression` is found as itself and by its parts."""
    found: list[str] = []
    for word in re.findall(r"[a-z0-9][a-z0-9_]*", text.lower()):
        parts = [word, *word.split("_")] if "_" in word else [word]
        found.extend(stem(part) for part in parts if part and part not in STOP_WORDS)
    return found


class Index:
    """BM25 over the sections; equal scores are ordered by section id."""

    def __init__(self, corpus: list[Section]) -> None:
        self._ids = [section.id for section in corpus]
        self._bm25 = bm25s.BM25(method="lucene", dtype="float64")
        self._bm25.index([self._searched(section) for section in corpus], show_progress=False)

    @staticmethod
    def _searched(section: Section) -> list[str]:
        heading = words(section.heading)
        return heading * HEADING_WEIGHT + words(section.text) if INDEXED == "text" else heading

    def search(self, question: str, k: int) -> list[str]:
        """The ids of the best `k` sections that share a word with the question, best first."""
        asked = words(question)
        if not asked:  # bm25s has no answer for an empty query
            return []
        scores = self._bm25.get_scores(asked)
        ranked = sorted(zip(-scores, self._ids, strict=True))
        return [section_id for score, section_id in ranked[:k] if score < 0]


def build(docs: Path = DOCS) -> Starlette:
    """The service, with its index already made."""
    index = Index(load(docs))

    async def search(request: Request) -> JSONResponse:
        asked = await request.json()
        question = str(asked["question"])
        return JSONResponse(
            {
                "results": index.search(question, int(asked.get("k", 10))),
                "usage": {"total_tokens": len(words(question))},
            }
        )

    async def healthz(_: Request) -> JSONResponse:
        return JSONResponse({"status": "ok"})

    return Starlette(
        routes=[Route("/healthz", healthz), Route("/search", search, methods=["POST"])]
    )


if __name__ == "__main__":
    uvicorn.run(build(), host="127.0.0.1", port=int(sys.argv[1]), log_level="warning")
