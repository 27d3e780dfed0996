"""Builders of whole reports: realistic by default, one argument away from hostile, open, empty or huge."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import msgspec

from releasecheck.canonical import clean_text, digest
from releasecheck.model.case import Case, Source
from releasecheck.model.failure import Failure
from releasecheck.model.plan import Plan
from releasecheck.model.record import Usage
from releasecheck.model.results import ResultRow, RowScore, RowView
from releasecheck.model.scorecard import Scorecard
from releasecheck.scorecard.report import Report
from tests.unit.scorecard.faults import ALL

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from releasecheck.canonical import Json

NO_DIGEST = "sha256:" + "0" * 64
QUESTIONS = (
    ("How do I keep an answer out of the bundle?", "Set `store_outputs: digest`", "docs/secrets-and-privacy.md"),
    ("Which exit code means that a gate blocked?", "1", "docs/exit-codes.md"),
    ("Why does my gate say not comparable?", "The judge has another digest than it had then", "docs/gates.md"),
    ("How long is a started target waited for?", "60 seconds", "docs/targets.md"),
)  # fmt: skip


def scored(value: float, reason: str | None = None) -> RowScore:
    return RowScore("scored", value, reason)


def plan(judges: Sequence[dict[str, Any]] | None = None, **changes: Any) -> Plan:
    specs = judges or (
        {"id": "exact", "type": "exact"},
        {"id": "top5", "type": "recall", "k": 5},
    )
    document: dict[str, Any] = {
        "schema": "releasecheck/plan@1",
        "plan_digest": "sha256:" + "a1" * 32,
        "run_id": "rc-a1a1a1a1a1a1-7",
        "created_at": "2026-09-12T06:30:00.000Z",
        "tool": "releasecheck/0.1.0",
        "suite": "docs-search",
        "mode": "full",
        "seed": 0,
        "trials": 1,
        "batch": 10,
        "target": {"type": "http", "id": "search", "url": "${SEARCH_URL}/answer"},
        "target_digest": NO_DIGEST,
        "judges": [
            {"spec": spec, "contract": "builtin@1", "digest": digest(spec)} for spec in specs
        ],
        "gates": [{"id": "quality", "metric": "exact", "min": 0.85}],
        "settle": {},
        "baseline_rule": {},
        "confidence": 0.95,
        "store_outputs": "full",
        "expires_s": 86400.0,
        "cases": 84,
        "splits": {"main": 64, "hard": 20},
        "cases_digest": "sha256:" + "c4" * 32,
        "selection": {"asked": "all", "of": 84},
        "baseline": None,
        "shards": [],
        "git": {"commit": "3f2a9c1d" * 5, "ref": "refs/heads/main", "dirty": False},
        "policy": {"file": "releasecheck.yaml", "digest": NO_DIGEST, "commit": "3f2a9c1d" * 5},
        "root": {"from_cwd": ".", "from_plan": "..", "config": "releasecheck.yaml"},
        "context": {},
        **changes,
    }
    return Plan.model_validate(document)


def case(index: int, **changes: Any) -> Case:
    question, answer, path = QUESTIONS[index % len(QUESTIONS)]
    made = Case(
        id=f"q{index + 1:03}",
        input=f"{question} (variant {index // len(QUESTIONS) + 1})" if index >= 4 else question,
        expected=answer,
        split="hard" if index % 5 == 4 else "main",
        tags=("smoke",) if index % 7 == 0 else (),
        metadata={"source": path},
        source=Source("cases/main.jsonl", index + 1),
        index=index,
    )
    return msgspec.structs.replace(made, **changes)


def row(
    of: Case,
    output: Json = "an answer",
    scores: dict[str, RowScore] | None = None,
    passed: dict[str, bool] | None = None,
    **changes: Any,
) -> RowView:
    given = scores if scores is not None else {"exact": scored(1.0), "top5": scored(0.8)}
    known = {
        judge: score.value == 1.0
        for judge, score in given.items()
        if judge == "exact" and score.value is not None
    }
    made = ResultRow(
        case=of.id,
        case_digest=of.digest,
        trial=0,
        split=of.split,
        tags=(),
        output=output,
        failure=None,
        latency_ms=41.5,
        usage=Usage(120, 0.0004),
        trace_id=None,
        scores=given,
        passed=known if passed is None else passed,
    )
    return RowView(replace(made, **changes), of)


def counts_of(views: Sequence[RowView]) -> dict[str, int]:
    """What an honest scorecard says of these rows."""
    states = [score.state for view in views for score in view.row.scores.values()]
    named = {
        state.replace("-", "_"): states.count(state)
        for state in ("scored", "not-applicable", "failed", "missing", "pending")
    }
    cases = len({view.case.id for view in views})
    return {"cases": cases, "trials": len(views), "pairs": len(states), "conflicts": 0, **named}


def scorecard(views: Sequence[RowView], **changes: Any) -> Scorecard:
    document: dict[str, Any] = {
        "schema": "releasecheck/scorecard@1",
        "run_id": "rc-a1a1a1a1a1a1-7",
        "plan_digest": "sha256:" + "a1" * 32,
        "suite": "docs-search",
        "mode": "full",
        "selection": "all 84 cases",
        "status": "completed",
        "verdict": "pass",
        "exit_code": 0,
        "reasons": ["pass: every gate held"],
        "counts": counts_of(views),
        "created_at": "2026-09-12T06:31:12.000Z",
        **changes,
    }
    return Scorecard.model_validate(document)


def metric(**changes: Any) -> dict[str, Any]:
    return {
        "metric": "exact", "split": "all", "stat": "mean", "value": 0.9, "n_scored": 84, "n_expected": 84,
        "ci_low": 0.82, "ci_high": 0.95, "confidence": 0.95, **changes,
    }  # fmt: skip


def gate(**changes: Any) -> dict[str, Any]:
    return {
        "id": "quality", "metric": "exact", "split": "all", "stat": "mean", "rule": "mean >= 0.85",
        "outcome": "pass", "reason": "0.9 over 84 of 84 scores, at least 0.85.", "value": 0.9, "threshold": 0.85,
        "compared": 84, **changes,
    }  # fmt: skip


@dataclass(frozen=True)
class Sample:
    """A report with the rows it was made from."""

    report: Report
    views: tuple[RowView, ...]


def sample(
    views: Sequence[RowView], made_plan: Plan | None = None, before: Sequence[ResultRow] | None = None,
    **changes: Any,
) -> Sample:  # fmt: skip
    kept = tuple(views)
    baseline: Callable[[], Iterator[ResultRow]] | None = None
    if before is not None:
        baseline = lambda: iter(before)  # noqa: E731 - two lines shorter than a function
    report = Report(scorecard(kept, **changes), made_plan or plan(), lambda: iter(kept), baseline)
    return Sample(report, kept)


def baseline_used(**changes: Any) -> dict[str, Any]:
    return {
        "run_id": "rc-b0b0b0b0b0b0-3",
        "commit": "77ab12cd" * 5,
        "why": "The newest accepted run in `baseline`.",
        "scorecard_digest": NO_DIGEST,
        "cases": {"same": 82, "changed": ["q009"], "added": ["q083", "q084"], "removed": ["q100"]},
        **changes,
    }


def passing() -> Sample:
    views = [
        row(case(i), scores={"exact": scored(1.0), "top5": scored(0.6 + i % 5 / 10)})
        for i in range(84)
    ]
    return sample(
        views,
        gates=[gate(value=1.0, reason="1 over 84 of 84 scores, at least 0.85.")],
        metrics=[
            metric(value=1.0, ci_low=0.956, ci_high=1.0),
            metric(metric="top5", value=0.8, ci_low=0.77, ci_high=0.83),
            metric(metric="latency_ms", stat="p95", value=52.25, ci_low=47.0, ci_high=66.125),
        ],
    )


def blocked() -> Sample:
    """A worse candidate: nine cases flipped, a threshold missed, one answer lost its judge."""
    views: list[RowView] = []
    before: list[ResultRow] = []
    for i in range(84):
        of = case(i)
        good = str(of.expected)
        wrong = i in (2, 5, 9, 14, 23, 31, 44, 57, 71)
        output: Json = "See the chapter on configuration." if wrong else good
        scores = {
            "exact": scored(0.0, f"expected {good!r}, found {output!r}") if wrong else scored(1.0),
            "top5": scored(0.2 if wrong else 0.8),
        }
        views.append(row(of, output, scores, latency_ms=38.0 + i % 9))
        healed = i in (3, 8)
        old = {"exact": scored(0.0 if healed else 1.0), "top5": scored(0.8)}
        before.append(row(of, "30 seconds" if healed else good, old).row)
    flips = {
        "exact": {
            "new_failures": [
                "q003",
                "q006",
                "q010",
                "q015",
                "q024",
                "q032",
                "q045",
                "q058",
                "q072",
            ],
            "new_passes": ["q004", "q009"],
        }
    }
    return sample(
        views,
        before=before,
        verdict="block",
        exit_code=1,
        reasons=[
            "block: measured, and a gate blocked",
            "no-worse: block: exact fell from 0.976 to 0.893 over 84 shared cases, by 0.0833; at most 0.02 is allowed.",
        ],
        gates=[
            gate(value=0.8929, reason="0.893 over 84 of 84 scores, at least 0.85."),
            gate(
                id="no-worse", rule="no regression beyond 0.02", outcome="block", value=0.8929, threshold=0.02,
                baseline_value=0.9762, delta=-0.0833, compared=84, decide="point", against="baseline",
                min_detectable_drop=0.0524, resolvable_drop=0.0581,
                new_failures=flips["exact"]["new_failures"], new_passes=flips["exact"]["new_passes"],
                reason="exact fell from 0.976 to 0.893 over 84 shared cases, by 0.0833; at most 0.02 is allowed.",
            ),
            gate(
                id="fast", metric="latency_ms", stat="p95", rule="p95 <= 2000", value=46.0, threshold=2000.0,
                reason="46 ms over 84 of 84 answers, at most 2000 ms.",
            ),
        ],
        metrics=[
            metric(value=0.8929, ci_low=0.808, ci_high=0.942, baseline_value=0.9762, delta=-0.0833,
                   delta_ci_low=-0.1501, delta_ci_high=-0.0169),
            metric(split="hard", value=0.8125, n_scored=16, n_expected=16, ci_low=0.57, ci_high=0.934,
                   baseline_value=0.9375, delta=-0.125),
            metric(split="main", value=0.9118, n_scored=68, n_expected=68, ci_low=0.82, ci_high=0.959,
                   baseline_value=0.9853, delta=-0.0735),
            metric(metric="top5", value=0.7357, ci_low=0.69, ci_high=0.78, baseline_value=0.8, delta=-0.0643),
            metric(metric="latency_ms", stat="p95", value=46.0, ci_low=45.0, ci_high=46.0,
                   baseline_value=44.0, delta=2.0),
        ],
        flips=flips,
        baseline=baseline_used(),
        shards=[
            {"index": 0, "cases": 42, "attempts": [1], "outputs": 42},
            {"index": 1, "cases": 42, "attempts": [1, 2], "outputs": 42},
        ],
        costs={"target_usd": 0.0336, "target_tokens": 10080},
    )  # fmt: skip


def _worse(wrong: Sequence[int]) -> list[RowView]:
    return [
        row(case(i), scores={"exact": scored(0.0 if i in wrong else 1.0), "top5": scored(0.8)})
        for i in range(84)
    ]


def overridden(quarantine: Sequence[dict[str, Any]] | None = None) -> Sample:
    """A tested drop that is waived, beside a quarantine, an anchor, a judge taken anew and two models."""
    wrong = (2, 5, 9, 14, 23, 31, 44, 57, 71)
    failing = [f"q{i + 1:03}" for i in wrong]
    waiver = {
        "gate": "no-worse",
        "who": "A. Reviewer",
        "why": "the index is rebuilt tonight, ticket 4711",
        "until": "2026-09-30",
    }
    axes = [
        {"axis": "cases", "answer": "differs", "note": "1 case changed, 1 case removed"},
        {"axis": "judges", "answer": "held", "note": ""},
        {"axis": "target", "answer": "differs",
         "note": "another model answered: 'gpt-x-2026-05 / fp_1' then, 'gpt-x-2026-08 / fp_1' and 'gpt-x-2026-08 / fp_2' now"},
        {"axis": "policy", "answer": "unknown", "note": "the earlier run does not say its gates"},
    ]  # fmt: skip
    lost = "mean 0.893 against 0.976 in the baseline, over 83 shared cases: a drop of 0.0833, more than the 0.02 allowed"
    tested = f"{lost}; chance alone brings such a drop with p 0.0117, below 0.05; 1 case in quarantine left out"
    return sample(
        _worse(wrong),
        verdict="block",
        overridden=True,
        exit_code=0,
        reasons=[
            "block, overridden: measured, and every gate that blocked is waived",
            f"no-worse: block: {tested}",
            "no-worse: waived until 2026-09-30 by A. Reviewer: the index is rebuilt tonight, ticket 4711",
        ],
        gates=[
            gate(value=0.8929, reason="mean over 84 cases is 0.893, at least 0.85"),
            gate(
                id="no-worse", rule="no significant regression beyond 0.02", outcome="block", value=0.8929,
                threshold=0.02, baseline_value=0.9762, delta=-0.0833, compared=83, decide="significant",
                against="baseline", p_value=0.0117, p_adjusted=0.0117, min_detectable_drop=0.0912,
                resolvable_drop=0.0581, quarantined=1, new_failures=failing, new_passes=["q004", "q009"],
                waived=True, reason=tested,
            ),
            gate(
                id="no-worse-anchor", rule="no significant regression beyond 0.1 against the anchor", value=0.8929,
                threshold=0.1, baseline_value=0.9881, delta=-0.0952, compared=83, decide="significant",
                against="anchor", p_value=0.0078, p_adjusted=0.0156, min_detectable_drop=0.1613,
                resolvable_drop=0.0581, quarantined=1, new_failures=failing,
                reason="mean 0.893 against 0.988 in the anchor, over 83 shared cases: a drop of 0.0952, within the 0.1 allowed",
            ),
        ],
        metrics=[
            metric(value=0.8929, ci_low=0.808, ci_high=0.942, baseline_value=0.9762, delta=-0.0833,
                   delta_ci_low=-0.1501, delta_ci_high=-0.0169),
            metric(metric="top5", value=0.8, ci_low=0.79, ci_high=0.81, baseline_value=0.8, delta=0.0),
        ],
        flips={"exact": {"new_failures": failing, "new_passes": ["q004", "q009"]}},
        baseline=baseline_used(axes=axes, rejudged={"exact": 84}),
        anchor=baseline_used(
            run_id="rc-c0c0c0c0c0c0-1", why="Release 1.4.", cases={"same": 84},
            axes=[{"axis": name, "answer": "held", "note": ""} for name in ("cases", "judges", "target", "policy")],
        ),
        waivers=[waiver],
        quarantine=quarantine or [{"case": "q017", "judge": None, "owner": "search team", "until": "2026-10-31",
                                   "reason": "its page is edited every day"}],
        models={"gpt-x-2026-08 / fp_1": 80, "gpt-x-2026-08 / fp_2": 4},
        judge_models={"exact": {"judge-1 / fp_77": 84}},
        notices=[
            "quarantine: case 'q017' is left out of every gate until 2026-10-31: its page is edited every day (owner search team)",
            "waiver for gate no-worse until 2026-09-30: the index is rebuilt tonight, ticket 4711 (A. Reviewer)",
            "the target answered as 2 models: 'gpt-x-2026-08 / fp_1' for 80 answers, 'gpt-x-2026-08 / fp_2' for 4 "
            "answers; its numbers mix both",
        ],
        revision=2,
        retry_of="rc-a1a1a1a1a1a1-6",
    )  # fmt: skip


def inferior() -> Sample:
    """A `non-inferior` gate that blocks since too few cases cannot show that nothing was lost."""
    why = (
        "mean 0.976 against 0.976 in the baseline, over 84 shared cases: no change; with 95 % confidence the drop is at "
        "most 0.0349, which does not exclude more than is allowed; so few or noisy cases cannot tell a drop of 0.02 "
        "from none, only one of 0.035"
    )
    return sample(
        _worse((2, 5)),
        verdict="block",
        exit_code=1,
        reasons=["block: measured, and a gate blocked", f"no-worse: block: {why}"],
        gates=[
            gate(
                id="no-worse", rule="shown to be no more than 0.02 worse", outcome="block", value=0.9762,
                threshold=0.02, baseline_value=0.9762, delta=0.0, compared=84, decide="non-inferior",
                against="baseline", p_value=0.2031, min_detectable_drop=0.0, resolvable_drop=0.0349,
                drop_bound=0.0349, new_failures=["q003"], new_passes=["q004"], reason=why,
            ),
        ],
        metrics=[
            metric(value=0.9762, ci_low=0.917, ci_high=0.9935, baseline_value=0.9762, delta=0.0,
                   delta_ci_low=-0.0349, delta_ci_high=0.0349),
        ],
        flips={"exact": {"new_failures": ["q003"], "new_passes": ["q004"]}},
        baseline=baseline_used(cases={"same": 84}),
    )  # fmt: skip


def refused(**changes: Any) -> Sample:
    """A gate that refuses: 3 cases failed at the target, one judge owes a score."""
    views: list[RowView] = []
    down = Failure("target", "target", "timeout", True, "no answer within 30 s from /answer")
    for i in range(84):
        of = case(i)
        if i in (4, 40, 66):
            lost = RowScore("failed", None, "target_failed")
            scores = {"exact": lost, "top5": lost}
            views.append(row(of, None, scores, failure=down, latency_ms=None, usage=Usage()))
        elif i == 70:
            scores = {"exact": scored(1.0), "top5": RowScore("missing", None, "shard_lost")}
            views.append(row(of, str(of.expected), scores))
        else:
            views.append(row(of, str(of.expected)))
    return sample(
        views,
        **{
            "status": "running",
            "verdict": "blocked_missing",
            "exit_code": 2,
            "reasons": [
                "blocked_missing: no verdict, because scores or cases are missing",
                "quality: blocked_missing: no score from judge:exact for 3 of 84 cases",
            ],
            "incomplete": [
                {"judge": "exact", "missing": 0, "failed": 3, "expected": 84,
                 "message": "no score from judge:exact for 3 of 84 cases"},
                {"judge": "top5", "missing": 1, "failed": 3, "expected": 84,
                 "message": "no score from judge:top5 for 4 of 84 cases"},
            ],
            "gates": [
                gate(outcome="blocked_missing", value=None, compared=None,
                     reason="no score from judge:exact for 3 of 84 cases"),
                gate(id="fast", metric="target_errors", stat="sum", rule="sum <= 5", value=3.0, threshold=5.0,
                     reason="3 over 84 of 84 answers, at most 5."),
            ],
            "metrics": [
                metric(value=1.0, n_scored=81, ci_low=0.955, ci_high=1.0),
                metric(metric="top5", value=0.8, n_scored=80, ci_low=0.79, ci_high=0.81),
                metric(metric="cost_usd", value=None, n_scored=0, ci_low=None, ci_high=None),
            ],
            **changes,
        },
    )  # fmt: skip


def empty() -> Sample:
    return sample(
        [],
        verdict="not_comparable",
        exit_code=2,
        mode="delta",
        selection="0 of 84 cases, asked for by changed since main",
        reasons=["not_comparable: no verdict, for want of something valid to compare with"],
        gates=[gate(outcome="not_selected", value=None, compared=None, reason="none of its cases is in this plan")],
        metrics=[metric(value=None, n_scored=0, n_expected=0, ci_low=None, ci_high=None)],
        notices=["No case changed since main."],
    )  # fmt: skip


def waiting() -> Sample:
    views = [
        row(case(i), scores={"exact": scored(1.0), "top5": RowScore("pending", None, None)} if i < 9 else None)
        for i in range(84)
    ]  # fmt: skip
    return sample(
        views,
        status="running",
        verdict=None,
        exit_code=5,
        reasons=["waiting: 9 scores are still to come"],
        waiting=[
            {"judge": "top5", "pending": 9, "deadline": "2026-09-12T06:41:00.000Z",
             "not_before": "2026-09-12T06:31:17.000Z"}
        ],
        gates=[gate(value=1.0)],
    )  # fmt: skip


def _said(text: str) -> str:
    """A text that the config would take where it wants some."""
    return text if text.strip() else "-"


def _strange(texts: Sequence[str]) -> dict[str, Any]:
    cases = {
        "same": 0,
        "changed": texts,
        "added": texts,
        "removed": texts,
        "renamed": [[t, t] for t in texts],
    }
    axes = [{"axis": "target", "answer": "differs", "note": text} for text in texts]
    return baseline_used(why=texts[0], cases=cases, axes=axes, rejudged={"exact": 1})  # fmt: skip


def hostile(texts: Sequence[str]) -> Sample:
    """Every text in every place where a stranger's words can stand."""
    texts = [clean_text(text) for text in texts]  # as the reader of outputs and datasets does
    views = []
    for i, text in enumerate(texts):
        of = case(
            i, id=text or " ", input=text, expected=text, tags=(text,), source=Source(text, 1)
        )
        failed = Failure("target", "target", "error", False, text) if i % 4 == 3 else None
        lost = RowScore("failed", None, "target_failed")
        scores = {
            "exact": lost if failed else scored(0.0, text),
            "top5": RowScore("not-applicable", None, text),
        }
        views.append(row(of, None if failed else text, scores, failure=failed, trace_id=text))
    return sample(
        views,
        verdict="block",
        exit_code=1,
        reasons=[text for text in texts if text],
        notices=[text for text in texts if text],
        incomplete=[
            {"judge": "exact", "missing": 0, "failed": 1, "expected": 2, "message": text} for text in texts
        ],
        gates=[
            gate(
                id="quality", outcome="block", rule=text, reason=text, value=0.0, baseline_value=1.0, delta=-1.0,
                compared=1, decide="significant", against=("baseline", "anchor")[i % 2], p_value=0.01, p_adjusted=0.02,
                new_failures=[text], new_passes=[text],
            )
            for i, text in enumerate(texts)
        ],
        flips={"exact": {"new_failures": [text or " " for text in texts]}},
        waivers=[{"gate": "quality", "who": _said(text), "why": _said(text), "until": "2026-09-30"} for text in texts],
        quarantine=[
            {"case": text, "owner": _said(text), "reason": _said(text), "until": "2026-09-30"} for text in texts
        ],
        baseline=_strange(texts),
        anchor=_strange(texts),
        models=dict.fromkeys(texts, 1),
        judge_models={"exact": dict.fromkeys(texts, 1)},
        conflicts=[
            {"case": text, "trial": 0, "judge": "exact", "counted": 0.0, "other": None} for text in texts
        ],
    )  # fmt: skip


NAMES = ("passing", "blocked", "overridden", "inferior", "refused", "empty", "waiting", "strange")
"""Every kind of run; see `named`."""


def named(name: str) -> Sample:
    """The sample of a name; `strange` is made of everything that broke other people's reports."""
    return hostile(ALL) if name == "strange" else globals()[name]()
