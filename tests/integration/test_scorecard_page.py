"""The scorecard in a real browser: its policy, hostile content, widths, colours, print, keyboard, axe (G-25, B40).

The explorer of cases has its own file; here it is left out of what axe looks at.
"""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pytest
from axe_playwright_python.sync_playwright import Axe

from tests.unit.scorecard import samples
from tests.unit.scorecard.faults import MARKUP
from tests.unit.scorecard.pages import page_of

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from playwright.sync_api import Browser, Dialog, Page

    from releasecheck.model.results import RowView
    from tests.unit.scorecard.samples import Sample

NAMES: Final = (*samples.NAMES, "hostile", "big")
VIEWS: Final[dict[str, dict[str, Any]]] = {
    "light": {"viewport": {"width": 1280, "height": 800}, "color_scheme": "light"},
    "dark": {"viewport": {"width": 1280, "height": 800}, "color_scheme": "dark"},
    "phone": {"viewport": {"width": 360, "height": 780}, "color_scheme": "light"},
}
ATTACKS: Final = (
    *MARKUP,
    "<script>document.title = 'taken'</script>",
    "<!-- <script>",
    "javascript:document.title='taken'",
    "<svg/onload=document.title='taken'>",
    "\u202edenrut\u2066 x \u2069",
    "w" * 2_000,
    "\U0001f600" * 40,
    "\u05e9\u05dc\u05d5\u05dd \u0645\u0631\u062d\u0628\u0627",
)


def big() -> Sample:
    """Six hundred cases that all moved, so that their plot is a grid."""
    drawn = np.random.default_rng(5)
    judges: list[dict[str, Any]] = [
        {"id": "exact", "type": "exact"},
        {"id": "top5", "type": "recall", "k": 5, "pass_at": 0.5},
    ]

    def side(shift: float) -> list[RowView]:
        views = []
        for i in range(600):
            exact = float(drawn.random() > shift)
            top5 = round(float(drawn.beta(5, 3 + 4 * shift)), 4)
            views.append(
                samples.row(
                    samples.case(i),
                    scores={"exact": samples.scored(exact), "top5": samples.scored(top5)},
                    passed={"exact": exact == 1, "top5": top5 >= 0.5},
                    latency_ms=round(float(drawn.lognormal(6, 0.8)), 2),
                )
            )
        return views

    before = [view.row for view in side(0.1)]
    return samples.sample(
        side(0.2), samples.plan(judges, cases=600), before, baseline=samples.baseline_used()
    )


def made(name: str) -> Sample:
    match name:
        case "big":
            return big()
        case "hostile":
            return samples.hostile(ATTACKS)
        case _:
            return samples.named(name)


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Every sample as a file; few cases, which are not looked at here."""
    folder = tmp_path_factory.mktemp("pages")
    for name in NAMES:
        (folder / f"{name}.html").write_text(page_of(made(name), 3), encoding="utf-8")
    return folder


@contextmanager
def opened(browser: Browser, file: Path, **settings: Any) -> Iterator[tuple[Page, list[str]]]:
    """A page, and everything that it should not do: errors, dialogs, violations, requests."""
    context = browser.new_context(**settings)
    try:
        page = context.new_page()
        seen: list[str] = []

        def dismissed(dialog: Dialog) -> None:
            seen.append("dialog")
            dialog.dismiss()

        page.on("console", lambda message: seen.append(f"console: {message.text}"))
        page.on("pageerror", lambda error: seen.append(f"error: {error}"))
        page.on("dialog", dismissed)
        page.on("request", lambda request: seen.extend({request.url} - {file.as_uri()}))
        page.add_init_script(
            "document.addEventListener('securitypolicyviolation',"
            " (event) => console.error('policy', event.violatedDirective))"
        )
        page.goto(file.as_uri())
        yield page, seen
    finally:
        context.close()


def over(page: Page) -> bool:
    """Whether the page as a whole scrolls sideways."""
    found: bool = page.evaluate("document.documentElement.scrollWidth > window.innerWidth")
    return found


@pytest.mark.parametrize("name", NAMES)
def test_page__asks_for_nothing_and_breaks_nothing(
    browser: Browser, pages: Path, name: str
) -> None:
    """On a phone no page scrolls sideways, whatever stands in it."""
    with opened(browser, pages / f"{name}.html", **VIEWS["phone"]) as (page, seen):
        assert page.evaluate("document.title") != "taken"
        assert not over(page)
        assert page.locator("h1").is_visible()
        assert (
            page.evaluate(
                "[...document.images].length + document.querySelectorAll('iframe').length"
            )
            == 0
        )
        # Nothing of a stranger ended our elements early: the landmarks are where we put them.
        assert page.evaluate("[...document.body.children].map((child) => child.localName)")[:2] == [
            "a",
            "main",
        ]
        assert page.evaluate("document.querySelectorAll('main > section').length") >= 4
        assert page.locator("a[href^='javascript']").count() == 0
        assert not seen


def test_page__a_page_that_would_ask_is_noticed(browser: Browser, tmp_path: Path) -> None:
    """What the test above relies on: a violation of the policy is seen."""
    source = page_of(samples.passing(), 1).replace(
        "<h1", '<img src="https://example.invalid/p.png"><h1', 1
    )
    (tmp_path / "page.html").write_text(source, encoding="utf-8")
    with opened(browser, tmp_path / "page.html") as (page, seen):
        page.wait_for_function("document.readyState === 'complete'")
        assert any("policy img-src" in one for one in seen)


@pytest.mark.parametrize("name", ["passing", "blocked", "refused", "empty", "overridden"])
def test_page__verdict_and_next_step_are_on_the_first_screen(
    browser: Browser, pages: Path, name: str
) -> None:
    with opened(browser, pages / f"{name}.html") as (page, _):
        for width, height in ((1280, 800), (390, 844)):
            page.set_viewport_size({"width": width, "height": height})
            for selector in ("h1", ".why li:first-child", "#next", ".next li:first-child"):
                box = page.locator(selector).first.bounding_box()
                assert box is not None
                assert box["y"] + box["height"] <= height, (selector, width)


LOOKED_AT: Final = (("blocked", "phone"), ("overridden", "dark"), ("big", "light"))
"""Each view once, with what has most in it; the rest is for the long run."""


@pytest.mark.parametrize(
    ("name", "view"),
    [
        pytest.param(name, view, marks=() if (name, view) in LOOKED_AT else pytest.mark.soak)
        for name in NAMES
        for view in VIEWS
    ],
)
def test_page__axe_finds_nothing_serious(
    browser: Browser, pages: Path, name: str, view: str
) -> None:
    with opened(browser, pages / f"{name}.html", **VIEWS[view]) as (page, _):
        found = Axe().run(page, context={"exclude": ["#explorer"]}).response["violations"]
        assert [
            (one["id"], one["nodes"][0]["html"])
            for one in found
            if one["impact"] in ("serious", "critical")
        ] == []


def test_page__is_whole_without_a_script(browser: Browser, pages: Path) -> None:
    with opened(browser, pages / "blocked.html", java_script_enabled=False) as (page, seen):
        text = page.locator("main").inner_text()
        for words in ("Blocked", "What to do now", "newly failing", "Percentiles", "Each answer"):
            assert words in text
        assert page.locator("svg[role=img]").first.get_attribute("aria-label")
        assert not seen


def test_page__prints_black_on_white_with_everything_open(browser: Browser, pages: Path) -> None:
    """Also from a dark desktop."""
    with opened(browser, pages / "blocked.html", **VIEWS["dark"]) as (page, _):
        page.emulate_media(media="print", color_scheme="dark")
        style = "(([name, what]) => getComputedStyle(document.querySelector(name))[what])"
        assert page.evaluate(f"{style}(['body', 'backgroundColor'])") == "rgb(255, 255, 255)"
        assert page.evaluate(f"{style}(['body', 'color'])") == "rgb(0, 0, 0)"
        assert page.evaluate(f"{style}(['nav', 'display'])") == "none"
        hidden = page.evaluate(
            "[...document.querySelectorAll('.figure details table')]"
            ".filter((table) => table.getBoundingClientRect().height < 10).length"
        )
        assert hidden == 0


def test_page__is_read_with_the_keyboard(browser: Browser, pages: Path) -> None:
    with opened(browser, pages / "blocked.html", **VIEWS["light"]) as (page, _):
        page.keyboard.press("Tab")
        skip = page.locator(".skip")
        assert skip.evaluate("(link) => link === document.activeElement")
        box = skip.bounding_box()
        assert box is not None
        assert box["x"] >= 0
        page.keyboard.press("Enter")
        assert page.evaluate("location.hash") == "#gates"
        assert not page.evaluate(
            "[...document.querySelectorAll('.scroll')].filter((one) => one.tabIndex !== 0).length"
        )
        page.keyboard.press("Tab")
        outline = page.evaluate("getComputedStyle(document.activeElement).outlineStyle")
        assert outline == "solid"
