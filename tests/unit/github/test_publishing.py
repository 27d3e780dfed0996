"""Parts of the publish stage with values: markers, words, places, archives, the one predicate (G-25, C-20)."""

from __future__ import annotations

import os
import zipfile
from dataclasses import replace
from io import BytesIO
from pathlib import Path
from typing import Any

import pytest

from releasecheck.drivers.github.context import Commit, ForeignText, GitHubContext, read_context
from releasecheck.drivers.github.publishing import Done, Failed, Publication, Published, Skipped
from releasecheck.drivers.github.publishing.annotations import annotations_of
from releasecheck.drivers.github.publishing.archive import archive
from releasecheck.drivers.github.publishing.attest import result_word
from releasecheck.drivers.github.publishing.comment_text import comment_text, units
from releasecheck.drivers.github.publishing.evidence import Expected, Judged, weigh
from releasecheck.drivers.github.publishing.marker import (
    WrittenBy,
    is_marked,
    marker,
    read_writer,
    written_by,
)
from releasecheck.drivers.github.publishing.request import (
    PublishOptions,
    Request,
    in_repository,
)
from releasecheck.drivers.github.publishing.results import Trust, document, failure_text
from releasecheck.drivers.github.publishing.status import state_of
from releasecheck.drivers.github.publishing.summary import summary_text
from releasecheck.errors import InfrastructureError
from releasecheck.model.policy import (
    CaseIds,
    DatasetChanges,
    Policy,
    PolicyChanges,
    SettingChange,
)
from tests.builders import DIGEST
from tests.bundles import Made, fake_world
from tests.unit.scorecard import samples


def context(tmp_path: Path, **changes: Any) -> GitHubContext:
    (tmp_path / "event.json").write_text("{}", "utf-8")
    told = {
        "GITHUB_REPOSITORY": "octo/app",
        "GITHUB_RUN_ID": "77",
        "GITHUB_RUN_ATTEMPT": "2",
        "GITHUB_RUN_NUMBER": "5",
        "GITHUB_EVENT_NAME": "push",
        "GITHUB_EVENT_PATH": str(tmp_path / "event.json"),
        "GITHUB_SHA": "c" * 40,
        "GITHUB_REF": "refs/heads/main",
        "GITHUB_WORKFLOW": "Check",
        "GITHUB_WORKFLOW_REF": "octo/app/.github/workflows/check.yml@refs/heads/main",
        "GITHUB_WORKSPACE": str(tmp_path),
        "RUNNER_TEMP": str(tmp_path),
    }
    found = replace(read_context(told), **changes)
    assert isinstance(found.subject, Commit)
    return found


@pytest.fixture
def judged(tmp_path: Path) -> Judged:
    out = Made(cases={"c0": "good", "c1": "bad", "c2": "bad"}).write(tmp_path / "made")
    found = weigh(out, Expected(), fake_world(tmp_path))
    assert isinstance(found, Judged)
    return found


def request_of(judged: Judged, tmp_path: Path, **card: Any) -> Request:
    changed = replace(judged, scorecard=judged.scorecard.model_copy(update=card))
    options = PublishOptions(out=tmp_path / "published")
    return Request(changed, "docs-search", None, context(tmp_path), options, fake_world(tmp_path))


def test_marker__names_suite_and_workflow(tmp_path: Path) -> None:
    found = marker("docs-search", context(tmp_path))
    assert found == "<!-- releasecheck suite=docs-search workflow=.github/workflows/check.yml -->"
    odd = context(tmp_path, workflow_path=".github/workflows/x --> @all <b>.yml")
    assert marker("s", odd).count("-->") == 1
    assert "<b>" not in marker("s", odd)
    unnamed = context(tmp_path, workflow_path=None, workflow=ForeignText("a b"))
    assert marker("s", unnamed) == "<!-- releasecheck suite=s workflow=a%20b -->"


@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_marker__is_read_back(tmp_path: Path, end: str) -> None:
    first, by = marker("s", context(tmp_path)), written_by(context(tmp_path))
    body = end.join([first, by.line(), "## Text"])
    assert is_marked(body, first)
    assert read_writer(body) == by == WrittenBy(5, 2, "c" * 40)


@pytest.mark.parametrize("body", ["", "x", "first\nsecond", "first\n<!-- releasecheck-run -->"])
def test_read_writer__edited_away(body: str) -> None:
    assert read_writer(body) is None
    assert not is_marked(body, "<!-- releasecheck suite=s workflow=w -->")


@pytest.mark.parametrize(
    ("folder", "path", "found"),
    [
        (".", "cases/a.jsonl", "cases/a.jsonl"),
        ("", "a.jsonl", "a.jsonl"),
        ("suites/x", "../shared/a.jsonl", "suites/shared/a.jsonl"),
        ("suites\\x", "a.jsonl", "suites/x/a.jsonl"),
        ("suites", "../../a.jsonl", None),
        (".", "/etc/passwd", None),
        (".", "..", None),
    ],
)
def test_in_repository__never_outside(folder: str, path: str, found: str | None) -> None:
    assert in_repository(folder, path) == found


@pytest.mark.parametrize(
    ("verdict", "overridden", "word"),
    [
        ("pass", False, "PASSED"),
        ("bootstrap", False, "WARNED"),
        ("block", True, "WARNED"),
        ("block", False, "FAILED"),
        ("blocked_missing", False, "FAILED"),
        ("not_comparable", False, "FAILED"),
        ("not_selected", False, "FAILED"),
        (None, False, "FAILED"),
    ],
)
def test_result_word__only_a_pass_is_passed(
    judged: Judged, verdict: Any, overridden: bool, word: str
) -> None:
    card = judged.scorecard.model_copy(update={"verdict": verdict, "overridden": overridden})
    assert result_word(card) == word


def published(trust: Trust, *records: Publication) -> Published:
    return Published(trust=trust, verdict="block", said=(), records=records, outputs={})


def test_published__exit_code_is_not_the_verdicts() -> None:
    done, failed = Publication("summary", Done("created")), Publication("badge", Failed("x"))
    assert published("verified", done, Publication("comment", Skipped("y"))).exit_code == 0
    assert published("open", done).exit_code == 0
    assert published("verified", done, failed).exit_code == 4
    assert published("unverifiable", done).exit_code == 4
    assert published("absent", done).exit_code == 4
    text = document(published("verified", done, failed), {}).decode()
    assert '"schema": "releasecheck/published@1"' in text
    assert '"error": "x"' in text


def test_failure_text__bounded_and_without_a_strangers_words() -> None:
    assert failure_text(InfrastructureError("a" * 5000)) == "a" * 1000
    assert "secret" not in failure_text(KeyError("secret"))
    assert "No such" in failure_text(FileNotFoundError(2, "No such file", "x"))


def test_comment_text__cut_by_importance(judged: Judged, tmp_path: Path) -> None:
    gate = judged.scorecard.gates[0]
    gates = tuple(
        gate.model_copy(update={"id": f"g{n}", "reason": "because " * 80}) for n in range(2000)
    )
    reasons = tuple(f"reason {n} " + "\U0001f600" * 500 for n in range(500))
    request = request_of(judged, tmp_path, gates=gates, reasons=reasons, notices=reasons)
    sizes = []
    for longest in (60_000, 20_000, 8192):
        text = comment_text(request, longest)
        assert units(text) <= longest
        assert "Blocked" in text
        assert "reason 0" in text
        assert "more reasons in the scorecard" in text
        assert "more gates in the scorecard" in text
        sizes.append(units(text))
    assert sizes == sorted(sizes, reverse=True)
    assert sizes[0] > sizes[-1]


def test_comment_text__units_as_github_counts() -> None:
    assert units("a\U0001f600") == 3


def test_comment_text__what_the_change_edits(judged: Judged, tmp_path: Path) -> None:
    """G-27: shown, and said whether it applies."""
    pin = SettingChange(what="expect_cases", change="changed", before="84", after="3")
    low = SettingChange(what="gate quality: min", change="changed", before="0.9", after="0.1")
    data = DatasetChanges(before=84, after=3, removed=CaseIds(count=81, ids=("<b>", "@all")))
    changes = PolicyChanges(expect_cases=pin, settings=(low,), dataset=data)
    policy = Policy(file="r.yaml", digest=DIGEST, commit="b" * 40, mode="base", changes=changes)
    text = comment_text(request_of(judged, tmp_path, policy=policy))
    assert text.index("expect&#95;cases" if "&#95;" in text else "expect_cases") < text.index(
        "gate quality"
    )
    assert "81 cases removed" in text
    assert "<b>" not in text
    assert "@all" not in text
    assert "once they are merged" in text
    head = policy.model_copy(update={"mode": "head"})
    assert "apply to this very run" in comment_text(request_of(judged, tmp_path, policy=head))


def test_comment_text__who_waived_what_is_in_quarantine_and_how_it_was_decided(
    judged: Judged, tmp_path: Path
) -> None:
    """The release is not stopped, and nobody takes it for a pass; owners and reasons are strangers' words."""
    evil = "<img src=x> @octocat | [x](http://x)"
    card = samples.overridden().report.scorecard
    (waiver,), (aside,) = card.waivers, card.quarantine
    waiver = waiver.model_copy(update={"who": evil, "why": evil})
    words = f"no-worse: waived until {waiver.until} by {evil}: {evil}"
    changes = {name: getattr(card, name) for name in type(card).model_fields} | {
        "waivers": (waiver,),
        "reasons": (*card.reasons[:2], words),
        "quarantine": (aside.model_copy(update={"owner": evil, "reason": evil}),) * 30,
    }
    request = request_of(judged, tmp_path, **changes)
    text = comment_text(request)
    first = text.splitlines()[0]
    assert first == "## ▲ Blocked, and waived: gate no-worse (docs-search)"
    assert "✔ Passed" not in text
    assert "overridden by a waiver, for commit" in text
    assert text.index("waived until 2026-09-30") < text.index("mean 0.893 against")
    assert "**no-worse**, against the baseline" in text
    assert "| drift |" in text
    assert "<summary>Quarantine</summary>" in text
    assert "and 20 more in quarantine in the scorecard" in text
    assert "Compared with the anchor rc-c0c0c0c0c0c0-1" in text
    assert "<img" not in text
    assert "@octocat" not in text
    assert "[x](" not in text
    assert state_of(request.evidence).description == "Blocked, and waived: gate no-worse"
    assert {one.level for one in annotations_of(request)} == {"warning"}
    small = comment_text(request, 8192)
    assert units(small) <= 8192
    assert "waived until 2026-09-30" in small


def test_summary_text__bundle_words_are_rendered_anew(judged: Judged, tmp_path: Path) -> None:
    """A bundle of another version is compared by its counts alone, so its words are not repeated."""
    path = judged.bundle.path / "summary.md"
    original = path.read_text("utf-8")
    path.write_text(original + "\n<script>", "utf-8")
    text = summary_text(request_of(judged, tmp_path))
    assert "<script>" not in text
    assert text.splitlines()[0] == original.splitlines()[0]


def test_annotations_of__level_follows_the_verdict(judged: Judged, tmp_path: Path) -> None:
    for verdict, level in (("block", "error"), ("blocked_missing", "warning"), ("pass", "notice")):
        found = annotations_of(request_of(judged, tmp_path, verdict=verdict))
        assert {one.level for one in found} == {level}
        assert [one.line for one in found] == [2, 3]
    (last,) = annotations_of(request_of(judged, tmp_path), most=1)
    assert last.message.endswith("\n1 more in the scorecard")


def test_annotations_of__a_run_without_bad_cases_says_its_verdict(tmp_path: Path) -> None:
    out = Made(gates=[{"id": "slow", "metric": "latency_ms", "stat": "max", "max": 1}])
    found = weigh(out.write(tmp_path / "made"), Expected(), fake_world(tmp_path))
    assert isinstance(found, Judged)
    (one,) = annotations_of(request_of(found, tmp_path))
    assert (one.level, one.file) == ("error", None)
    assert "slow" in one.message


def test_archive__same_files_same_bytes(judged: Judged) -> None:
    bundle = judged.bundle.path
    first = archive(bundle, judged.manifest)
    for path in bundle.rglob("*"):
        os.utime(path, (0, 0))
    (bundle / ".hidden").write_bytes(b"x")
    assert archive(bundle, judged.manifest) == first
    with zipfile.ZipFile(BytesIO(first)) as packed:
        names = packed.namelist()
    assert names == sorted(names)
    assert {"manifest.json", "plan/plan.json", "badge.json"} < set(names)
    assert ".hidden" not in names
