"""What stands in `results.sarif` of one case and judge, and of one gate.

Ids, judges, numbers and reasons are told, never an answer: what is uploaded may be seen by more people than
the bundle.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from releasecheck.canonical import digest, dump_line
from releasecheck.scorecard.escape import visible
from releasecheck.scorecard.exceptions import quarantine_notice, waived_words, waiver_of
from releasecheck.scorecard.numbers import shown
from releasecheck.scorecard.places import place_of_case, place_of_gates
from releasecheck.scorecard.texts import shorten
from releasecheck.scorecard.verdict import gate_word
from releasecheck.stats import count_of, quote

if TYPE_CHECKING:
    from collections.abc import Mapping

    from releasecheck.canonical import Json
    from releasecheck.model.plan import Plan
    from releasecheck.model.results import RowScore, RowView
    from releasecheck.model.scorecard import GateResult, Outcome, Scorecard

LONGEST_MESSAGE: Final = 1000
TOLD: Final[frozenset[Outcome]] = frozenset({"block", "blocked_missing", "not_comparable"})
"""Outcomes of gates that are results; the others are nothing to look at."""
_NOT_MEASURED: Final = ("failed", "missing", "pending")
_PLACEHOLDER: Final = re.compile(r"\{(\d+)\}")


@dataclass(frozen=True, slots=True)
class Finding:
    """One result, ready to be written."""

    rank: int
    """0 is the worst."""
    body: bytes
    tally: Counter[str]
    """What it stands for: scores by what is wrong with them, new failures, gates."""


@dataclass(slots=True)
class Pair:
    """What the trials of one case came to with one judge."""

    wrong: Counter[str] = field(default_factory=Counter)
    """Trials by what is wrong: `not_passed`, `failed`, `missing`, `pending`."""
    passes: int = 0
    trials: int = 0
    worst: tuple[RowView, RowScore] | None = None
    """The first trial that does not pass, else the first without a score."""

    def add(self, view: RowView, judge: str, score: RowScore) -> None:
        """Take in one trial."""
        self.trials += 1
        passed = view.row.passed.get(judge) if score.state == "scored" else None
        self.passes += passed is True
        if passed is False:
            if not self.wrong["not_passed"]:
                self.worst = view, score
            self.wrong["not_passed"] += 1
        elif score.state in _NOT_MEASURED:
            self.worst = self.worst or (view, score)
            self.wrong[score.state] += 1


def message_text(words: str) -> str:
    """Text of a message: what its readers take for a link or a placeholder is none."""
    safe = visible(words).replace("](", r"\](")
    return shorten(_PLACEHOLDER.sub(r"{{\1}}", safe), LONGEST_MESSAGE)


def finding_of_case(
    plan: Plan,
    first: RowView,
    judge: str,
    pair: Pair,
    *,
    mark: float | None,
    new: bool,
    aside: Mapping[tuple[str, str | None], str],
) -> Finding | None:
    """What is to be told of a case and a judge; None where it passes, or nothing was to be measured."""
    if not pair.wrong.total() and not new:
        return None
    case = first.case
    known = aside.get((case.id, judge)) or aside.get((case.id, None))
    rank, level = _weight(pair, new=new)
    if known:
        rank, level = 4, "note"
    wrong = +pair.wrong
    result: dict[str, Json] = {
        "ruleId": f"judge/{judge}",
        "level": level,
        "message": {"text": message_text(_words(case.id, judge, pair, mark, new=new))},
        "locations": [{"physicalLocation": place_of_case(plan, case.source).to_json()}],
        "partialFingerprints": {"caseAndJudge/v1": _print(plan.suite, "judge", judge, case.id)},
        "properties": {
            "case": case.id,
            "judge": judge,
            "split": case.split,
            "newFailure": new,
            "trials": dict(wrong),
        },
    }
    if wrong.total() > 1:
        result["occurrenceCount"] = wrong.total()
    if known:
        result["suppressions"] = [_suppression(known)]
    return Finding(rank, _json(result), wrong + Counter(new_failures=int(new)))


def _weight(pair: Pair, *, new: bool) -> tuple[int, str]:
    if new:
        return 1, "error"
    if pair.wrong["not_passed"] and not pair.passes:
        return 2, "error"
    return 3, "warning"


def _words(case: str, judge: str, pair: Pair, mark: float | None, *, new: bool) -> str:
    before = "passed in the baseline, and " if new else ""
    head = f"{quote(case)}, judge {judge}: {before}"
    if pair.worst is None:
        return f"{head}fails now"
    view, score = pair.worst
    several = pair.trials > 1
    if pair.wrong["not_passed"]:
        how_often = (
            f" in {count_of(pair.wrong['not_passed'], pair.trials, 'trial')}" if several else ""
        )
        against = "" if mark is None else f" (pass mark {shown(judge, mark)})"
        text = f"{head}does not pass{how_often}: {shown(judge, score.value, [mark])}{against}"
    else:
        lost = pair.wrong.total()
        how_often = f" for {count_of(lost, pair.trials, 'trial')}" if several else ""
        text = f"{head}no score{how_often}: {score.state}"
    failed = view.row.failure
    if failed is not None:
        return f"{text}; the target failed ({failed.code}): {failed.message or 'its message was removed'}"
    return f"{text}; {score.reason}" if score.reason else text


def finding_of_gate(plan: Plan, card: Scorecard, gate: GateResult) -> Finding | None:
    """What is to be told of a gate; None where it does not stand in the way."""
    if gate.outcome not in TOLD:
        return None
    waiver = waiver_of(card, gate)
    mark = _print(plan.suite, "gate", gate.id)
    result: dict[str, Json] = {
        "ruleId": f"gate/{gate.id}",
        "level": "note" if gate.waived else "error",
        "message": {"text": message_text(f"gate {gate.id}: {gate_word(gate)}: {gate.reason}")},
        "locations": [{"physicalLocation": place_of_gates(plan).to_json()}],
        # Of a file without a line nobody can make the print that code hosts go by.
        "partialFingerprints": {"gate/v1": mark, "primaryLocationLineHash": f"{mark[:16]}:1"},
        "properties": {"gate": gate.id, "outcome": gate.outcome, "waived": gate.waived},
    }
    if gate.waived:
        why = "waived" if waiver is None else waived_words(waiver)
        result["suppressions"] = [_suppression(why)]
    return Finding(4 if gate.waived else 0, _json(result), Counter({f"gates_{gate.outcome}": 1}))


def quarantined(card: Scorecard) -> dict[tuple[str, str | None], str]:
    """(case, judge, or None for all of them) -> that it is in quarantine, and why."""
    return {(one.case, one.judge): quarantine_notice(one) for one in card.quarantine}


def _suppression(why: str) -> dict[str, Json]:
    return {"kind": "external", "justification": message_text(why)}


def _print(*of: str) -> str:
    """The same for the same case and judge in every run, whatever line it stands in."""
    return digest(list(of)).partition(":")[2]


def _json(value: Json) -> bytes:
    return dump_line(value).rstrip(b"\n")
