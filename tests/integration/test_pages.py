"""Pages about several runs in a real browser: they ask for nothing, say nothing, and everybody can read them."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest
from axe_playwright_python.sync_playwright import Axe

from releasecheck.pipeline.comparing import compare_all
from releasecheck.pipeline.history import find_runs
from releasecheck.scorecard.compare_page import render_compare
from releasecheck.scorecard.history_page import key_metrics, render_history, suite_history
from tests.several import answers, run_in, weeks
from tests.unit.scorecard.faults import MARKUP

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from playwright.sync_api import Browser, Page, ViewportSize

DESK: ViewportSize = {"width": 1280, "height": 900}
PHONE: ViewportSize = {"width": 390, "height": 844}
LOOKS: list[dict[str, Any]] = [
    {"color_scheme": "light", "viewport": DESK},
    {"color_scheme": "dark", "viewport": PHONE},
]


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """`history.html`, `compare.html`, and a scorecard with a trend, over the same runs."""
    folder = tmp_path_factory.mktemp("pages")
    runs = weeks(folder)
    hostile = {**answers(2), **dict.fromkeys(MARKUP, "bad")}
    other = run_in(folder / "hostile", "2026-02-16", cases=hostile, unique="9")
    (runs / '"><img src=x>').mkdir()
    (runs / '"><img src=x>' / "scorecard.json").write_text("{}")
    found = find_runs(runs)
    kept = [(one.path, one.run) for one in found.kept]
    suite = suite_history("docs-search", kept, key_metrics([run for _, run in kept]), 0)
    counted = {"runs": len(kept), "refused": len(found.refused)}
    page = render_history("runs", [suite], found.refused, found.copies, counted)
    (folder / "history.html").write_bytes(page)
    paths = [runs / name / "out" for name in ("w1", "w3", "deep/w5", "deep/w6")]
    (folder / "compare.html").write_bytes(render_compare(compare_all([*paths, other])))
    drawn = run_in(
        folder / "drawn",
        "2026-02-23",
        cases=answers(3),
        unique="10",
        edit=lambda asked: replace(asked, history=runs),
    )
    (folder / "trend.html").write_bytes((drawn / "scorecard.html").read_bytes())
    return folder


@contextmanager
def opened(browser: Browser, path: Path, **how: Any) -> Iterator[Page]:
    """A page as a file; whatever it logs, asks for or breaks makes the test fail."""
    context = browser.new_context(**how)
    page = context.new_page()
    noise: list[str] = []
    page.on("console", lambda message: noise.append(message.text))
    page.on("pageerror", lambda error: noise.append(str(error)))
    page.on("request", lambda request: noise.append(request.url))
    page.goto(path.as_uri())
    noise.remove(path.as_uri())
    yield page
    context.close()
    assert noise == []


@pytest.mark.parametrize("look", LOOKS, ids=["desk", "phone in the dark"])
@pytest.mark.parametrize("name", ["history", "compare", "trend"])
def test_page__everybody_can_read_it(
    browser: Browser, pages: Path, name: str, look: dict[str, Any]
) -> None:
    """Issue 6: axe finds nothing serious, and the page is no wider than the screen."""
    with opened(browser, pages / f"{name}.html", **look) as page:
        page.evaluate("for (const d of document.querySelectorAll('details')) d.open = true")
        assert page.evaluate("document.querySelectorAll('img, iframe, link').length") == 0
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
        violations = Axe().run(page).response["violations"]
        serious = [v for v in violations if v["impact"] in ("serious", "critical")]
        assert [(v["id"], v["nodes"][0]["html"]) for v in serious] == []


def test_compare__cases_are_found_and_filtered(browser: Browser, pages: Path) -> None:
    visible = "#matrix > tr:not([hidden])"
    with opened(browser, pages / "compare.html", viewport=DESK) as page:
        rows = page.locator(visible)
        listed = rows.count()
        page.select_option("#kind", "flip")
        assert [text.split()[0] for text in rows.locator("th").all_inner_texts()] == ["c2", "c3"]
        assert page.inner_text("#found") == f"2 of {listed} shown"
        page.select_option("#kind", "")
        page.fill("#search", "<script>alert")
        assert rows.count() == 1
        assert "another judge" in page.inner_text("main")
        assert "none: another judge" in page.inner_text("table.compare")


def test_pages__are_read_without_script(browser: Browser, pages: Path) -> None:
    context = browser.new_context(java_script_enabled=False, viewport=DESK)
    page = context.new_page()
    page.goto((pages / "compare.html").as_uri())
    assert page.locator("#matrix > tr").count() > 4
    assert not page.locator("#tools").is_visible()
    context.close()
