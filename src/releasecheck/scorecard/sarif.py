"""`results.sarif`: SARIF 2.1.0, what a code host shows beside the lines of the dataset.

Cases that fail or have no score are results, and so are gates that stand in the way. The file keeps within
what GitHub takes: the worst come first, and what is left out is counted. Rows are read once, as a stream, and only
what will be written is held.
"""

from __future__ import annotations

import itertools
from collections import Counter, deque
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from releasecheck.canonical import dump_line
from releasecheck.model.judge import pass_mark
from releasecheck.scorecard.places import ROOT
from releasecheck.scorecard.sarif_results import (
    Finding,
    Pair,
    finding_of_case,
    finding_of_gate,
    message_text,
    quarantined,
)
from releasecheck.stats import count

if TYPE_CHECKING:
    from collections.abc import Iterator

    from releasecheck.canonical import Json
    from releasecheck.model.scorecard import Scorecard
    from releasecheck.scorecard.report import Report

SCHEMA: Final = "https://json.schemastore.org/sarif-2.1.0.json"
MOST_RESULTS: Final = 5000
"""As many as GitHub shows of one run; it refuses a file with more than 25,000."""
MOST_BYTES: Final = 9_000_000
"""Of all results. GitHub refuses what has more than 10 MB when compressed, and nothing grows by that."""
DECIDED: Final = frozenset({"pass", "bootstrap", "not_selected", "block"})
"""Verdicts of runs that did what they were for; a refusal is no success, and neither is an open run."""
_MOST_NOTES: Final = 50
_EXITS: Final = {
    0: "no gate stands in the way",
    1: "measured, and a gate blocks",
    2: "no verdict",
    5: "scores are still to come",
}
_RANKS: Final = 5
"""Ranks that a finding can have."""


@dataclass(slots=True)
class _Worst:
    """The worst findings, in order, within the limits."""

    most: int
    longest: int
    kept: tuple[deque[Finding], ...] = field(
        default_factory=lambda: tuple(deque() for _ in range(_RANKS))
    )
    number: int = 0
    size: int = 0
    full_from: int = _RANKS
    """Results of this rank and above find no room any more."""
    total: Counter[str] = field(default_factory=Counter)
    left_out: Counter[str] = field(default_factory=Counter)

    def add(self, found: Finding) -> None:
        self.total += found.tally
        if found.rank >= self.full_from:
            self._leave_out(found)
            return
        self.kept[found.rank].append(found)
        self.number += 1
        self.size += len(found.body)
        while self.number > self.most or self.size > self.longest:
            least = next(rank for rank in reversed(self.kept) if rank).pop()
            self.number -= 1
            self.size -= len(least.body)
            self.full_from = least.rank
            self._leave_out(least)

    def _leave_out(self, found: Finding) -> None:
        self.left_out += found.tally + Counter(results=1)

    def bodies(self) -> Iterator[bytes]:
        return (found.body for rank in self.kept for found in rank)


def render_sarif(
    report: Report, most: int = MOST_RESULTS, longest: int = MOST_BYTES
) -> Iterator[bytes]:
    """The file in pieces, with the `most` worst results in `longest` bytes."""
    worst = _Worst(most, longest)
    for gate in report.scorecard.gates:
        if (told := finding_of_gate(report.plan, report.scorecard, gate)) is not None:
            worst.add(told)
    for found in _of_cases(report):
        worst.add(found)
    # Every member of the run but its results, which stand between them.
    yield b'{"$schema":' + _json(SCHEMA) + b',"version":"2.1.0","runs":[{"tool":'
    yield _json(_tool(report)) + b',"automationDetails":' + _json(_automation(report))
    yield b',"originalUriBaseIds":' + _json({ROOT: {"description": {"text": _ROOT_WORDS}}})
    yield b',"results":['
    between = b"\n"
    for body in worst.bodies():
        yield between + body
        between = b",\n"
    yield b'\n],"invocations":[' + _json(_invocation(report.scorecard, worst.left_out))
    yield b'],"properties":' + _json(_properties(report.scorecard, worst)) + b"}]}\n"


_ROOT_WORDS: Final = (
    "The folder that the plan was made in, which is the root of the checkout on a build machine."
)


def _of_cases(report: Report) -> Iterator[Finding]:
    card, plan = report.scorecard, report.plan
    marks = {judge.id: pass_mark(judge.spec) for judge in plan.judges}
    aside = quarantined(card)
    flipped = {(case, judge) for judge, flips in card.flips.items() for case in flips.new_failures}
    for _, views in itertools.groupby(report.rows(), key=lambda view: view.case.id):
        pairs: dict[str, Pair] = {}
        first = None
        for view in views:
            first = first or view
            for judge, score in view.row.scores.items():
                pairs.setdefault(judge, Pair()).add(view, judge, score)
        if first is None:
            continue
        for judge, pair in pairs.items():
            new = (first.case.id, judge) in flipped
            found = finding_of_case(
                plan, first, judge, pair, mark=marks.get(judge), new=new, aside=aside
            )
            if found is not None:
                yield found


def _tool(report: Report) -> dict[str, Json]:
    plan = report.plan
    name, _, version = plan.tool.partition("/")
    rules = [
        _rule(
            f"judge/{judge.id}",
            f"Judge {judge.id} ({judge.spec.type}) passes the case",
            "A case that the judge does not pass, or has no score of. What was asked and answered stands in "
            "scorecard.html of the same run.",
        )
        for judge in plan.judges
    ]
    rules += [
        _rule(
            f"gate/{gate.id}",
            f"Gate {gate.id} holds: {gate.rule}",
            f"{gate.metric}, {gate.stat} in {gate.split}: {gate.rule}. A gate that blocks, or that cannot decide, "
            "stops the release.",
        )
        for gate in report.scorecard.gates
    ]
    return {"driver": {"name": name, "version": version, "rules": rules}}


def _rule(name: str, short: str, full: str) -> dict[str, Json]:
    return {
        "id": name,
        "shortDescription": {"text": message_text(short)},
        "fullDescription": {"text": message_text(full)},
        "help": {"text": message_text(full)},
        "defaultConfiguration": {"level": "error"},
    }


def _automation(report: Report) -> dict[str, Json]:
    """Runs of one suite take each other's place at a code host, and a part of it never the whole's."""
    part = "" if report.plan.mode == "full" else f"{report.plan.mode}/"
    return {"id": f"releasecheck/{report.plan.suite}/{part}{report.plan.run_id}"}


def _invocation(card: Scorecard, left_out: Counter[str]) -> dict[str, Json]:
    notes = [_note("note" if card.exit_code == 0 else "error", reason) for reason in card.reasons]
    notes += [_note("warning", one.message) for one in card.incomplete]
    notes += [_note("note", words) for words in card.notices]
    kept, more = notes[:_MOST_NOTES], len(notes) - _MOST_NOTES
    if more > 0:
        kept.append(_note("note", f"and {count(more, 'more note')}, in scorecard.html"))
    if left_out:
        words = (
            f"{count(left_out['results'], 'result')} of less weight left out, to keep within what code hosts take; "
            "results.jsonl and results.csv have all of them"
        )
        kept.append(_note("warning", words))
    found: dict[str, Json] = {
        "executionSuccessful": card.verdict in DECIDED,
        "exitCode": card.exit_code,
        "toolExecutionNotifications": kept,
    }
    if card.exit_code in _EXITS:
        found["exitCodeDescription"] = _EXITS[card.exit_code]
    if card.created_at is not None:
        found["endTimeUtc"] = card.created_at
    return found


def _note(level: str, words: str) -> dict[str, Json]:
    return {"level": level, "message": {"text": message_text(words)}}


def _properties(card: Scorecard, worst: _Worst) -> dict[str, Json]:
    return {
        "runId": card.run_id,
        "planDigest": card.plan_digest,
        "verdict": card.verdict,
        "overridden": card.overridden,
        "counts": dict(worst.total),
        "leftOut": dict(worst.left_out),
    }


def _json(value: Json) -> bytes:
    return dump_line(value).rstrip(b"\n")
