"""The page: honest, self-contained, safe with hostile content, bounded (G-25, B104, B119)."""

from __future__ import annotations

import base64
import hashlib
import re
from dataclasses import replace
from itertools import pairwise
from typing import TYPE_CHECKING, Self

import msgspec
import pytest

from releasecheck.canonical import clean_text
from releasecheck.model.record import Usage
from releasecheck.model.results import RowScore, RowView
from releasecheck.scorecard.cases import KINDS
from releasecheck.scorecard.escape import visible
from releasecheck.scorecard.html import render_html
from releasecheck.scorecard.report import Report
from tests.unit.scorecard import samples
from tests.unit.scorecard.faults import ALL, MARKUP, name_of
from tests.unit.scorecard.pages import Page, page_of

if TYPE_CHECKING:
    from collections.abc import Iterator

SAMPLES = ("passing", "blocked", "overridden", "inferior", "refused", "empty", "waiting")


def made(name: str) -> samples.Sample:
    sample: samples.Sample = getattr(samples, name)()
    return sample


@pytest.mark.parametrize("name", SAMPLES)
def test_render_html__is_well_nested_and_accessible(name: str) -> None:
    source = page_of(made(name))
    page = Page(source)
    assert not page.crossed
    assert not page.open
    assert page.all("html") == [{"lang": "en"}]
    assert len(page.all("main")) == len(page.all("h1")) == 1
    assert source[: source.index("<body")].count("<title>") == 1
    assert all("scope" in attributes for attributes in page.all("th"))
    levels = [int(tag[1]) for tag, _ in page.elements if re.fullmatch(r"h[1-6]", tag)]
    assert all(after <= before + 1 for before, after in pairwise(levels)), levels
    ids = [str(a["id"]) for _, a in page.elements if "id" in a]
    assert len(ids) == len(set(ids))
    named = {str(a["aria-labelledby"]) for _, a in page.elements if "aria-labelledby" in a}
    assert named <= set(ids)
    links = {str(a["href"])[1:] for a in page.all("a")}
    assert links <= set(ids)
    pictures = [a for a in page.all("svg") if a.get("role") == "img"]
    assert all(a["aria-label"] for a in pictures)


@pytest.mark.parametrize("name", SAMPLES)
def test_render_html__needs_nothing_from_outside(name: str) -> None:
    source = page_of(made(name))
    page = Page(source)
    assert not page.all("link") + page.all("img") + page.all("iframe")
    assert all("src" not in a and "style" not in a for _, a in page.elements)
    assert not [a for _, a in page.elements if any(key.startswith("on") for key in a)]
    assert "@import" not in source
    assert "url(" not in source


def test_render_html__lets_only_its_own_style_and_script_run() -> None:
    source = page_of(made("blocked"))
    policy = next(
        str(a["content"])
        for a in Page(source).all("meta")
        if a.get("http-equiv") == "Content-Security-Policy"
    )
    assert policy.startswith("default-src 'none';")
    assert "unsafe" not in policy
    for tag in ("style", "script"):
        text = re.search(f"<{tag}>(.*?)</{tag}>", source, re.DOTALL)
        assert text is not None
        digest = base64.b64encode(hashlib.sha256(text[1].encode()).digest()).decode()
        assert f"{tag}-src 'sha256-{digest}'" in policy


@pytest.mark.parametrize(
    ("name", "headline", "why", "step"),
    [
        ("passing", "Passed", "Every gate held", "Nothing blocks the release."),
        ("blocked", "Blocked", "at most 0.02 is allowed", "Start with the 9 cases"),
        ("refused", "No verdict: scores are missing", "for 3 of 84 cases", "releasecheck resume"),
        ("empty", "No verdict: nothing valid", "for want of something valid", "Choose cases"),
        ("waiting", "Waiting for scores", "9 scores are still to come", "after 2026-09-12 06:31:17 UTC"),
    ],
)  # fmt: skip
def test_render_html__says_first_what_happened_and_what_to_do(
    name: str, headline: str, why: str, step: str
) -> None:
    text = Page(page_of(made(name))).text
    start = text.index(headline)
    assert start < text.index(why) < text.index("What to do now") < text.index(step)
    assert text.index(step) < text.index("Metrics")


def test_render_html__who_waived_what_stands_in_the_first_box() -> None:
    page = page_of(made("overridden"))
    first = Page(page[page.index("<h1") : page.index('<section class="next"')]).text
    assert "Blocked, and waived: gate no-worse" in first
    assert (
        "waived until 2026-09-30 by A. Reviewer: the index is rebuilt tonight, ticket 4711" in first
    )
    assert "overridden by a waiver" in first
    gates = page[page.index('id="gates"') : page.index('id="comparisons"')]
    assert "blocked, waived" in Page(gates).text


def test_render_html__a_case_in_quarantine_says_so_where_it_stands() -> None:
    aside = [{"case": "q003", "owner": "search", "reason": "it flickers", "until": "2026-12-31"}]
    sample = samples.overridden(aside)
    source = page_of(sample)
    first = Page(source[source.index("<article") : source.index("</article>")]).text
    assert "quarantine: case 'q003' is left out of every gate until 2026-12-31" in first
    assert "Start with the 8 cases" in Page(source).text


@pytest.mark.parametrize("name", SAMPLES)
def test_render_html__is_green_only_for_a_pass(name: str) -> None:
    body = Page(page_of(made(name))).all("body")[0]
    assert (body["class"] == "page tone-good") == (name == "passing")


def test_render_html__shows_the_worst_first() -> None:
    kinds = [str(a["data-kind"]) for a in Page(page_of(made("blocked"))).all("article")]
    assert kinds == sorted(kinds, key=[*map(str, KINDS)].index)
    assert kinds[:10] == ["new-failure"] * 9 + ["new-pass"]


def test_render_html__sets_the_baseline_beside_the_answer() -> None:
    source = page_of(made("blocked"))
    first = source[source.index("<article") : source.index("</article>")]
    text = Page(first).text
    assert text.index("Expected") < text.index("See the chapter on configuration.")
    assert text.index("Answer in the baseline") < text.rindex("The judge has another digest")
    assert "exact: passed in the baseline, fails now" in text


@pytest.mark.parametrize("text", [*MARKUP, *ALL[:13]], ids=name_of)
def test_render_html__hostile_text_is_text(text: str) -> None:
    """G-25, B40: no element, attribute or tag comes from a stranger's words."""
    plain = samples.hostile(["harmless", "harmless too", "three", "four"])
    source = page_of(samples.hostile([text, "harmless too", "three", "four"]))
    assert visible(source) == source
    quiet = page_of(plain)
    assert source.count("<script") == source.count("</script") == quiet.count("<script")
    assert source.count("<style") == 1
    found, expected = Page(source), Page(quiet)
    assert not found.crossed
    free = ("p", "span", "code", "ins", "del")
    counted = [tag for tag, _ in found.elements if tag not in free]
    assert counted == [tag for tag, _ in expected.elements if tag not in free]
    assert {key for _, a in found.elements for key in a} == {
        key for _, a in expected.elements for key in a
    }
    if len(text) < 1000:
        shown = visible(clean_text(text))
        assert shown.strip() in found.text or shown.strip("\n") in found.text


def test_render_html__leaves_out_by_count_and_says_where() -> None:
    views = [samples.row(samples.case(i)) for i in range(30)]
    page = Page(page_of(samples.sample(views), cases=10))
    assert len(page.all("article")) == 10
    assert "20 more cases not shown here; with scripts allowed this page searches" in page.text
    left_out = next(a for a in page.all("p") if a.get("id") == "left-out")
    assert (left_out["data-shown"], left_out["data-cases"]) == ("10", "0")


def test_render_html__cuts_long_texts_with_a_digest() -> None:
    long = "é" * 100_000
    of = samples.case(0, input=long, expected=long)
    source = page_of(samples.sample([samples.row(of, long)]))
    assert len(source) < 80_000
    assert source.count("96,000 more characters; whole text sha256:") == 3


def test_render_html__caps_the_trials_of_a_case_worst_first() -> None:
    of = samples.case(0)
    views = [
        samples.row(
            of, f"answer {trial}", {"exact": samples.scored(float(trial != 7))}, trial=trial
        )
        for trial in range(20)
    ]
    page = Page(page_of(samples.sample(views, samples.plan(trials=20))))
    assert "passes in some trials" in page.text
    assert "answer 7" in page.text
    assert "15 more trials in results.jsonl" in page.text
    assert page.all("article")[0]["data-scored"] == "20"


def test_render_html__says_that_a_part_of_the_suite_or_an_open_run_is_no_decision() -> None:
    text = Page(page_of(samples.refused(mode="preview", selection="preview 10 of 84"))).text
    assert "Provisional." in text
    assert "Part of the suite only (preview): preview 10 of 84." in text
    assert "decide a release with a full one" in text


def test_render_html__says_that_an_answer_is_not_stored() -> None:
    view = samples.row(samples.case(0), None)
    assert "The answer is not stored." in Page(page_of(samples.sample([view]))).text
    missing = {"exact": RowScore("missing", None, "not_executed")}
    bare = samples.row(samples.case(0), None, missing, usage=Usage(), latency_ms=None)
    assert "No answer is on record." in Page(page_of(samples.sample([bare]))).text


def test_render_html__streams_rows_and_holds_only_what_it_shows() -> None:
    """B119: rows come one at a time, and none is kept in full."""
    alive: set[int] = set()
    most = 0

    class Watched(str):  # noqa: SLOT000 - `str` takes no slots
        """An output that knows how many of its kind are alive."""

        number: int

        def __new__(cls, number: int) -> Self:
            nonlocal most
            made = super().__new__(cls, f"{number} " + "o" * 8000)
            made.number = number
            alive.add(number)
            most = max(most, len(alive))
            return made

        def __del__(self) -> None:
            alive.discard(self.number)

    base = samples.row(samples.case(0))

    def rows() -> Iterator[RowView]:
        for i in range(2000):
            of = msgspec.structs.replace(base.case, id=f"c{i:05}", index=i)
            yield RowView(replace(base.row, case=of.id, output=Watched(i)), of)

    card = samples.scorecard([base])
    report = Report(card, samples.plan(), rows)
    size = sum(len(piece) for piece in render_html(report, 20))
    assert most <= 3
    assert size < 10_000_000


def html_of(sample: samples.Sample) -> str:
    return b"".join(render_html(sample.report)).decode()


def test_render_html__the_case_to_look_at_first_is_named_and_linked() -> None:
    """A reader who must act is one click from the worst case, and reads its error before that."""
    blocked = html_of(samples.blocked())
    assert '<li>First: <a href="#case-' in blocked
    assert "newly failing" in blocked.partition("First: ")[2][:200]
    assert "First: " not in html_of(samples.passing())
