"""What a change edits, in the reports: shown first where it applies, bounded, and never markup (G-27)."""

from __future__ import annotations

import pytest

from releasecheck.model.policy import CaseIds, DatasetChanges, Policy, PolicyChanges, SettingChange
from releasecheck.scorecard.html import render_html
from releasecheck.scorecard.policy import change_lines, dataset_words, policy_words
from releasecheck.scorecard.summary import render_summary
from tests.unit.scorecard.samples import NO_DIGEST, Sample, case, row, sample

HOSTILE = "</li><script>alert(1)</script>\n::error::x ```|@everyone ![](http://evil)"


def edited(changes: PolicyChanges | None) -> Sample:
    policy = Policy(file="releasecheck.yaml", digest=NO_DIGEST, mode="base", changes=changes)
    return sample([row(case(0))], policy=policy.model_dump(mode="json"))


def pages(of: Sample) -> tuple[str, str]:
    return render_summary(of.report), b"".join(render_html(of.report)).decode()


def setting(what: str = "gate quality: min") -> SettingChange:
    return SettingChange(what=what, change="changed", before="0.9", after="0.1")


def test_render__says_what_the_change_edits() -> None:
    for page in pages(edited(PolicyChanges(settings=(setting(),)))):
        assert "What this change edits" in page
        assert "gate quality: min: 0.9 -&gt; 0.1" in page


@pytest.mark.parametrize("changes", [None, PolicyChanges()])
def test_render__nothing_edited(changes: PolicyChanges | None) -> None:
    for page in pages(edited(changes)):
        assert "What this change edits" not in page


def test_render__names_of_the_change_are_no_markup() -> None:
    ids = CaseIds(count=1, ids=(HOSTILE,))
    changes = PolicyChanges(
        expect_cases=SettingChange(what=HOSTILE, change="added", after=HOSTILE),
        settings=(SettingChange(what=HOSTILE, change="removed", before=HOSTILE),),
        dataset=DatasetChanges(before=0, after=1, added=ids),
        notes=(HOSTILE,),
    )
    summary, page = pages(edited(changes))
    for text in (summary, page):
        assert "<script>alert" not in text
        assert "</li><script" not in text
    assert "\n::error::" not in summary
    assert "@everyone" not in summary
    assert "![](" not in summary


def test_render_summary__many_edits_are_counted_and_never_push_the_verdict_out() -> None:
    many = PolicyChanges(settings=tuple(setting(f"gate g{n}: min") for n in range(100)))
    of = edited(many)
    text = render_summary(of.report)
    assert "and 90 more in `scorecard.html`" in text
    short = render_summary(of.report, 2200)
    assert len(short.encode()) <= 2200
    assert "Verdict" in short


def test_change_lines__what_applies_comes_first() -> None:
    changes = PolicyChanges(
        settings=(setting(),),
        target=(setting("target.url"),),
        expect_cases=SettingChange(what="expect_cases", change="changed", before="84", after="80"),
        dataset=DatasetChanges(before=84, after=80, removed=CaseIds(count=12, ids=("a", "b"))),
    )
    assert change_lines(changes) == (
        "expect_cases: 84 -> 80 (applies)",
        "12 cases removed: a, b and 10 more",
        "target.url: 0.9 -> 0.1 (applies)",
        "gate quality: min: 0.9 -> 0.1",
    )
    assert changes.dataset is not None
    assert dataset_words(changes.dataset) == "12 cases removed"


def test_policy_words__whose_rules() -> None:
    policy = Policy(file="r.yaml", digest=NO_DIGEST, commit="abc", mode="head")
    assert policy_words(policy) == f"r.yaml of this change, as asked for, at abc, {NO_DIGEST}"
