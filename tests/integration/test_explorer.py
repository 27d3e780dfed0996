"""The explorer of cases in a real browser: what is found, what is shown, and that nothing else happens."""

from __future__ import annotations

import re
from contextlib import contextmanager
from functools import cache
from typing import TYPE_CHECKING, Any

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import expect

from releasecheck.model.results import RowScore
from releasecheck.scorecard.html import render_html
from tests.unit.scorecard import samples
from tests.unit.scorecard.faults import ALL
from tests.unit.scorecard.samples import case, row, scored

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from playwright.sync_api import Browser, Dialog, Page, ViewportSize

DESK: ViewportSize = {"width": 1280, "height": 900}
PHONE: ViewportSize = {"width": 390, "height": 844}
READY = "html[data-cases=ready]"


def _differing() -> samples.Sample:
    """Answers that differ a little, in lines of JSON, in blanks, behind characters outside the first plane."""
    pairs: list[tuple[Any, Any, Any]] = [
        ("the quick brown fox", "the slow brown fox", "the quick brown dog"),
        ({"b": [1, 2], "a": "x"}, {"b": [1, 3], "a": "x"}, {"a": "x"}),
        ("two words", "two  words", "two\nwords\t"),
        ("\U0001f600 yes, 日本語の文", "\U0001f600 no, 日本人の文 \U0001f600", None),
        ("\nfirst line empty", "first line empty", "first\u202eline"),
        ("same " * 2000, "same " * 2000 + "end", "same " * 1999),
        (None, "no expectation", "no expectations"),
    ]
    views, before = [], []
    for i, (expected, answer, old) in enumerate(pairs):
        of = case(i, expected=expected, tags=("a tag", "x,y"), input=f"question {i}\nin lines")
        for trial in range(8 if i == 0 else 1):
            scores = {
                "exact": scored(0.0, "r" * 900),
                "top5": RowScore("missing", None, "deadline"),
            }
            views.append(row(of, answer, scores, trial=trial, latency_ms=10.0 * i, trace_id="t"))
        then = case(i, id="called otherwise") if i == 1 else of
        before.append(row(then, old, {"exact": scored(1.0)}).row)
    return samples.sample(
        views,
        samples.plan(trials=8),
        before=before,
        baseline=samples.baseline_used(
            cases={"same": 6, "renamed": [["called otherwise", "q002"]]}
        ),
        flips={"exact": {"new_failures": ["q001"], "new_passes": ["q003"]}},
        quarantine=[{"case": "q004", "owner": "o", "until": "2026-09-30", "reason": "why"}],
    )


def _many() -> samples.Sample:
    """More cases than are written out, one of which flipped and is far down in none of the lists."""
    views = [
        row(
            case(
                i, id=f"c{i:04}", input=f"question {i}", tags=("even",) if i % 2 == 0 else ("odd",)
            ),
            f"answer {i}",
            {"exact": scored(float(i % 3 != 0)), "top5": scored(0.5)},
            latency_ms=float(i),
        )
        for i in range(700)
    ]
    return samples.sample(views, flips={"exact": {"new_passes": ["c0001"]}})


@cache
def page_bytes(name: str, cases: int = 60) -> bytes:
    made: dict[str, Callable[[], samples.Sample]] = {
        "differing": _differing,
        "many": _many,
        "strange": lambda: samples.hostile(ALL),
    }
    sample = made[name]() if name in made else getattr(samples, name)()
    return b"".join(render_html(sample.report, cases))


@contextmanager
def opened(
    browser: Browser, folder: Path, name: str, cases: int = 60, fragment: str = "", **how: Any
) -> Iterator[Page]:
    """The page of a sample as a file; whatever it logs, asks for or breaks makes the test fail."""
    path = folder / "scorecard.html"
    path.write_bytes(page_bytes(name, cases))
    context = browser.new_context(**{"viewport": DESK, **how})
    page = context.new_page()
    noise: list[str] = []
    page.on("console", lambda message: noise.append(message.text))
    page.on("pageerror", lambda error: noise.append(str(error)))

    def asked(dialog: Dialog) -> None:
        noise.append(dialog.message)
        dialog.dismiss()

    page.on("dialog", asked)
    page.on("request", lambda request: noise.append(request.url))
    page.goto(f"{path.as_uri()}{fragment}")
    page.wait_for_selector(READY, state="attached")
    noise.remove(f"{path.as_uri()}")
    yield page
    context.close()
    assert noise == []


# Elements, classes, and texts; blanks between elements are the template's own.
LOOK = """article => [
  [...article.querySelectorAll("*")].map((e) => `${e.tagName}.${e.className}`),
  article.textContent.replace(/\\s+/g, ""),
  [...article.querySelectorAll("pre, ins, del, .relation, .about, caption")].map((e) => e.textContent),
  [...article.attributes].map((a) => `${a.name}=${a.value}`).sort(),
]"""
BUILT = f"""() => {{
  const look = {LOOK};
  const blocks = [...document.querySelectorAll("script.case-data")].map((b) => JSON.parse(b.textContent));
  const build = articleBuilder(blocks.pop());
  return blocks.flat().map((record) => [
    look(document.getElementById(`case-${{record.n}}`)), look(build(record, false)),
  ]);
}}"""


@pytest.mark.parametrize("name", ["differing", "strange", "refused", "blocked"])
def test_explorer__a_case_looks_the_same_with_and_without_script(
    browser: Browser, tmp_path: Path, name: str
) -> None:
    with opened(browser, tmp_path, name, cases=1000) as page:
        pairs = page.evaluate(BUILT)
    assert len(pairs) > 5
    for written, built in pairs:
        assert written == built


def test_explorer__differences_are_marked(browser: Browser, tmp_path: Path) -> None:
    with opened(browser, tmp_path, "differing") as page:
        marks = page.evaluate(
            """() => Object.fromEntries([...document.querySelectorAll("article")].map((a) => [
                 a.id, [...a.querySelectorAll(".sides")[0].querySelectorAll("ins, del")]
                   .map((m) => [m.closest(".side").className.slice(5), m.className, m.textContent])]))"""
        )
    assert marks["case-0"] == [
        ["expected", "m1", "quick"], ["answer", "m3", "slow"], ["answer", "m2", "fox"],
        ["before", "m2", "quick"], ["before", "m2", "dog"],
    ]  # fmt: skip
    assert ["expected", "m1 space", "·"] in marks["case-2"]
    assert ["answer", "m3 space", "··"] in marks["case-2"]
    assert ["before", "m2 space", "⏎\n"] in marks["case-2"]
    assert marks["case-5"] == []  # the words that differ are in none of the parts that are shown
    assert ["expected", "m1", "2"] in marks["case-1"]


def test_explorer__finds_filters_orders_and_links(browser: Browser, tmp_path: Path) -> None:
    with opened(browser, tmp_path, "many") as page:
        found, articles = page.locator("#found"), page.locator("#list > article")
        assert found.inner_text() == "700 cases, the first 60 shown"
        page.keyboard.press("/")
        page.keyboard.type('QUESTION "answer 699"')
        expect(articles).to_have_count(1)
        assert found.inner_text() == "1 of 700 cases"
        assert articles.first.get_attribute("id") == "case-699"
        page.fill("#search", "nowhere to be found")
        page.wait_for_selector("#nothing-fits:visible")
        assert (found.inner_text(), page.locator("#pager").is_visible()) == (
            "0 of 700 cases",
            False,
        )
        page.click("#again")
        assert found.inner_text() == "700 cases, the first 60 shown"
        page.select_option("#f-judge", "exact")
        page.select_option("#f-state", "fail")
        page.select_option("#f-tag", "odd")
        page.select_option("#f-split", "hard")
        page.select_option("#f-sort", "slow")
        fitting = [i for i in range(700) if i % 3 == 0 and i % 2 and i % 5 == 4]
        assert found.inner_text() == f"{len(fitting)} of 700 cases"
        assert articles.first.get_attribute("id") == f"case-{fitting[-1]}"
        address = page.evaluate("location.hash")
        assert address == "#judge=exact&state=fail&split=hard&tag=odd&sort=slow"
        page.click("#clear")
        page.click("#more")
        assert found.inner_text() == "700 cases, the first 110 shown"
        assert page.evaluate("document.activeElement.closest('article').id") == articles.nth(
            60
        ).get_attribute("id")
        page.keyboard.press("j")
        page.keyboard.press("k")
        assert page.evaluate("document.activeElement.closest('article').id") == articles.nth(
            60
        ).get_attribute("id")
        # A case that is not in the list opens all the same, and so does the view of an address.
        page.evaluate("location.hash = '#case-698'")
        page.wait_for_selector("#linked #case-698 details[open]")
        page.evaluate(f"location.hash = '{address}'")
        expect(articles).to_have_count(len(fitting))
        assert page.locator("#linked article").count() == 0
        page.evaluate("location.hash = ''")
        expect(found).to_have_text("700 cases, the first 60 shown")
    with opened(
        browser, tmp_path, "many", fragment="#show=new-pass&sort=unheard-of&tag=nor-this"
    ) as page:
        assert page.locator("#found").inner_text() == "1 of 700 cases"
        assert page.input_value("#f-sort") == "worst"
        # The list of what flipped links to cases that only the data has.
        page.click("#clear")
        assert page.locator("a[href='#case-1']").count() == 1
        page.click("a[href='#show=failed']")
        expect(page.locator("#found")).to_have_text("234 of 700 cases, the first 50 shown")


def test_explorer__hostile_texts_do_nothing(browser: Browser, tmp_path: Path) -> None:
    """G-25: strangers' words are searched and filtered by as the texts they are."""
    with opened(browser, tmp_path, "strange", cases=5, viewport=PHONE) as page:
        for text in ("</script><script>", '"><img src=x', "{{ 7 * 7 }}", "#show=failed&q=x"):
            page.fill("#search", text)
            expect(page.locator("#found")).to_have_text(re.compile("of 60 cases"))
        page.evaluate(
            """() => { for (const select of document.querySelectorAll("#tools select")) {
                 for (const option of [...select.options].slice(0, 5)) {
                   select.value = option.value; select.dispatchEvent(new Event("change")); } } }"""
        )
        page.click("#clear")
        page.evaluate("for (const d of document.querySelectorAll('#list details')) d.open = true")
        assert page.evaluate("document.querySelectorAll('img, iframe, link').length") == 0
        explorer = "document.getElementById('explorer')"
        assert page.evaluate(f"{explorer}.scrollWidth <= {explorer}.clientWidth")


@pytest.mark.parametrize(("scheme", "size"), [("light", DESK), ("dark", PHONE)])
def test_explorer__axe_finds_nothing_serious(
    browser: Browser, tmp_path: Path, scheme: str, size: ViewportSize
) -> None:
    with opened(
        browser,
        tmp_path,
        "differing",
        cases=2,
        fragment="#case-5",
        color_scheme=scheme,
        viewport=size,
    ) as page:
        assert page.locator("#linked #case-5").count() == 1
        page.evaluate("for (const d of document.querySelectorAll('#list details')) d.open = true")
        violations = Axe().run(page, context="#explorer").response["violations"]
        serious = [v for v in violations if v["impact"] in ("serious", "critical")]
        assert [(v["id"], v["nodes"][0]["html"]) for v in serious] == []
        page.fill("#search", "nothing has this")
        expect(page.locator("#nothing-fits")).to_be_visible()
        assert not Axe().run(page, context="#explorer").response["violations"]


def test_explorer__reads_without_script(browser: Browser, tmp_path: Path) -> None:
    path = tmp_path / "scorecard.html"
    path.write_bytes(page_bytes("many"))
    context = browser.new_context(java_script_enabled=False, viewport=DESK)
    page = context.new_page()
    page.goto(path.as_uri())
    assert page.locator("#list > article").count() == 60
    assert not page.locator("#tools").is_visible()
    assert "640 more cases not shown here" in page.locator("#unseen").inner_text()
    page.click("#list > article:nth-child(10) summary")
    assert page.locator("#list > article:nth-child(10) .answer").is_visible()
    context.close()
