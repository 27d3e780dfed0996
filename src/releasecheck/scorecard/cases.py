"""Which cases a report shows, worst first, and how each looks.

Rows are read as a stream: whatever the number of cases, only the shown ones are held, cut to length (B119).
`select` finds the worst; `views` reads the rows once more and gives many, one at a time and in plan order.
"""

from __future__ import annotations

import heapq
import itertools
from collections import Counter
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Final, Literal, TypeAlias

from releasecheck.model.judge import pass_mark
from releasecheck.scorecard.exceptions import quarantine_notice
from releasecheck.scorecard.numbers import shown
from releasecheck.scorecard.texts import Cut, as_text, cut, shorten

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from releasecheck.canonical import Json
    from releasecheck.model.plan import Plan
    from releasecheck.model.results import ResultRow, RowScore, RowView
    from releasecheck.scorecard.report import Report
    from releasecheck.scorecard.verdict import Tone

Kind: TypeAlias = Literal[
    "new-failure", "failed", "unanswered", "unjudged", "missing", "mixed",
    "new-pass", "measured", "passed", "outside",
]  # fmt: skip
KINDS: Final[dict[Kind, tuple[str, Tone]]] = {
    "new-failure": ("newly failing", "bad"),
    "failed": ("failed", "bad"),
    "unanswered": ("no answer", "warn"),
    "unjudged": ("a judge failed", "warn"),
    "missing": ("no score", "warn"),
    "mixed": ("passes in some trials", "warn"),
    "new-pass": ("newly passing", "good"),
    "measured": ("measured", "neutral"),
    "passed": ("passed", "good"),
    "outside": ("not applicable", "neutral"),
}
"""Label and tone of each kind, from what a reviewer must see to what need not be looked at."""
ATTENTION: Final[tuple[Kind, ...]] = (
    "new-failure", "failed", "unanswered", "unjudged", "missing", "mixed",
)  # fmt: skip
"""Kinds that a reviewer should look at."""
WORDS: Final[dict[str, Tone]] = {
    "pass": "good", "fail": "bad", "measured": "neutral", "not applicable": "neutral",
    "not measured": "warn", "no score": "warn", "waiting": "wait",
}  # fmt: skip
"""What a judge's cell can say, with its tone."""
_Rank: TypeAlias = tuple[int, float, int]
_ORDER: Final[dict[Kind, int]] = {kind: place for place, kind in enumerate(KINDS)}
_LONGEST: Final = 4000
_LONGEST_REASON: Final = 600
_LONGEST_NAME: Final = 200
_TRIALS_SHOWN: Final = 5


@dataclass(frozen=True, slots=True)
class Lengths:
    """How much of each text is shown."""

    text: int = _LONGEST
    """Characters of an input, an expected value or an answer."""
    reason: int = _LONGEST_REASON
    """Characters of a judge's reason."""
    lines: bool = False
    """Whether what is expected and answered is laid out in lines when it is a list or a mapping."""


@dataclass(frozen=True, slots=True)
class Cell:
    """One judge's word on one trial."""

    judge: str
    state: str
    word: str
    """`pass`, `fail`, `measured`, `not applicable`, `no score`, `waiting` or `not measured`."""
    tone: Tone
    value: str
    """The number, or an empty text."""
    reason: Cut


@dataclass(frozen=True, slots=True)
class Trial:
    """One answer with its scores."""

    number: int
    answer: Cut | None
    """None when there is none to show; `note` then says why."""
    note: str
    facts: tuple[str, ...]
    """Latency, tokens, cost, trace."""
    cells: tuple[Cell, ...]


@dataclass(frozen=True, slots=True)
class Before:
    """The same case in the baseline."""

    id: str
    answer: Cut | None
    note: str
    cells: Mapping[str, Cell]
    """By judge."""


@dataclass(frozen=True, slots=True)
class Tally:
    """How many scores are in which state; added up from rows, never copied from the scorecard."""

    cases: int = 0
    trials: int = 0
    scored: int = 0
    not_applicable: int = 0
    failed: int = 0
    missing: int = 0
    pending: int = 0

    def __add__(self, other: Tally) -> Tally:
        """Both together."""
        return Tally(
            *(getattr(self, name) + getattr(other, name) for name in Tally.__dataclass_fields__)
        )


@dataclass(frozen=True, slots=True)
class CaseView:
    """One case as a reviewer sees it."""

    id: str
    anchor: str
    kind: Kind
    label: str
    tone: Tone
    split: str
    tags: tuple[str, ...]
    where: str
    """`cases/main.jsonl:12`."""
    input: Cut
    expected: Cut | None
    trials: tuple[Trial, ...]
    more_trials: int
    flips: tuple[str, ...]
    """`exact: passed in the baseline`."""
    aside: tuple[str, ...]
    """That it is in quarantine: for whom, until when, whose, and why."""
    tally: Tally
    index: int = 0
    """Its place in the plan."""
    slowest: float | None = None
    """The longest of its latencies in milliseconds; None when none is known."""
    before: Before | None = None

    @property
    def worst(self) -> Trial:
        """The trial to show where there is room for one."""
        bad = (
            trial
            for tone in ("bad", "warn", "wait")
            for trial in self.trials
            if any(cell.tone == tone for cell in trial.cells)
        )
        return next(bad, self.trials[0])


@dataclass(frozen=True, slots=True)
class Selection:
    """The cases to show and what is left out."""

    shown: tuple[CaseView, ...]
    total: Tally
    left_out: Tally
    kinds: dict[Kind, int]
    """Cases of each kind, shown or not."""
    held: Mapping[str, int] = field(default_factory=dict)
    """The place, worst first, of each case that `views` gives, by its id."""
    beyond: Tally = field(default_factory=Tally)
    """What is neither shown nor held."""
    anchors: Mapping[str, str] = field(default_factory=dict)
    """Where each held case that flipped is on the page, by its id."""

    @property
    def attention(self) -> int:
        """Cases that a reviewer should look at."""
        return sum(self.kinds.get(kind, 0) for kind in ATTENTION)


@dataclass(frozen=True, slots=True)
class _Judges:
    """What the plan says of its judges."""

    lower_is_better: frozenset[str]
    marks: Mapping[str, float | None]

    @classmethod
    def of(cls, plan: Plan) -> _Judges:
        specs = [judge.spec for judge in plan.judges]
        lower = frozenset(spec.id for spec in specs if spec.better == "lower")
        return cls(lower, {spec.id: pass_mark(spec) for spec in specs})


@dataclass(slots=True)
class _Case:
    """Facts of one case, added up over its trials."""

    index: int
    states: Counter[str] = field(default_factory=Counter)
    passes: Counter[str] = field(default_factory=Counter)
    fails: Counter[str] = field(default_factory=Counter)
    target_failed: bool = False
    worst: float = float("inf")
    slowest: float | None = None
    trials: int = 0
    views: list[RowView] = field(default_factory=list)
    """The worst trials in full; at most `_TRIALS_SHOWN` + 1."""

    def add(self, view: RowView, judges: _Judges) -> None:
        row = view.row
        self.trials += 1
        self.target_failed |= row.failure is not None
        if row.latency_ms is not None:
            self.slowest = max(row.latency_ms, self.slowest or 0.0)
        for judge, score in row.scores.items():
            self.states[score.state] += 1
            if score.value is not None:
                value = -score.value if judge in judges.lower_is_better else score.value
                self.worst = min(self.worst, value)
        for judge, passed in row.passed.items():
            (self.passes if passed else self.fails)[judge] += 1
        self.views.append(view)
        if len(self.views) > _TRIALS_SHOWN:
            self.views.sort(key=lambda kept: (_trial_order(kept.row), kept.row.trial))
            self.views.pop()

    @property
    def anchor(self) -> str:
        return f"case-{self.views[0].case.index}"

    def tally(self) -> Tally:
        return Tally(
            1,
            self.trials,
            self.states["scored"],
            self.states["not-applicable"],
            self.states["failed"],
            self.states["missing"],
            self.states["pending"],
        )

    def kind(self, case: str, flips: _Flips) -> Kind:
        if case in flips.failures:
            return "new-failure"
        if any(not self.passes[judge] for judge in self.fails):
            return "failed"
        if self.target_failed:
            return "unanswered"
        if self.states["failed"]:
            return "unjudged"
        if self.states["missing"] or self.states["pending"]:
            return "missing"
        if self.fails:
            return "mixed"
        if case in flips.passes:
            return "new-pass"
        if self.passes:
            return "passed"
        return "measured" if self.states["scored"] else "outside"


def _trial_order(row: ResultRow) -> int:
    if any(not passed for passed in row.passed.values()):
        return 0
    if row.failure is not None or any(
        s.state in ("failed", "missing", "pending") for s in row.scores.values()
    ):
        return 1
    return 2


@dataclass(frozen=True, slots=True)
class _Flips:
    """Cases of which more is to be said: flipped, with their judges, or in quarantine."""

    failures: Mapping[str, tuple[str, ...]]
    passes: Mapping[str, tuple[str, ...]]
    aside: Mapping[str, tuple[str, ...]]
    """Quarantined cases, with what is to be said of each."""

    @classmethod
    def of(cls, report: Report) -> _Flips:
        failures: dict[str, tuple[str, ...]] = {}
        passes: dict[str, tuple[str, ...]] = {}
        for judge, flips in sorted(report.scorecard.flips.items()):
            for case in flips.new_failures:
                failures[case] = (*failures.get(case, ()), judge)
            for case in flips.new_passes:
                passes[case] = (*passes.get(case, ()), judge)
        aside: dict[str, tuple[str, ...]] = {}
        for one in report.scorecard.quarantine:
            aside[one.case] = (*aside.get(one.case, ()), quarantine_notice(one))
        return cls(failures, passes, aside)

    def words(self, case: str) -> tuple[str, ...]:
        lost = [
            f"{judge}: passed in the baseline, fails now" for judge in self.failures.get(case, ())
        ]
        won = [
            f"{judge}: failed in the baseline, passes now" for judge in self.passes.get(case, ())
        ]
        return (*lost, *won)


def select(
    report: Report, limit: int, longest: int | Lengths = _LONGEST, held: int = 0
) -> Selection:
    """The `limit` worst cases with cut texts, the tally of all, and the places of the `held` worst for `views`."""
    lengths = longest if isinstance(longest, Lengths) else Lengths(longest)
    judges, flips = _Judges.of(report.plan), _Flips.of(report)
    total, beyond = Tally(), Tally()
    kinds: Counter[Kind] = Counter()
    # Heaps whose first entry is the least interesting case kept; the index breaks every tie.
    kept: list[tuple[_Rank, CaseView]] = []
    ranked: list[tuple[_Rank, str, Tally, str]] = []
    for case_id, seen in _cases(report.rows(), judges):
        kind, tally = seen.kind(case_id, flips), seen.tally()
        kinds[kind] += 1
        total += tally
        rank = (-_ORDER[kind], -seen.worst, -seen.index)
        if len(kept) < limit:
            heapq.heappush(kept, (rank, _view(seen, kind, tally, flips, judges, lengths)))
        elif kept and rank > kept[0][0]:
            heapq.heapreplace(kept, (rank, _view(seen, kind, tally, flips, judges, lengths)))
        if held:
            flipped = case_id in flips.failures or case_id in flips.passes
            entry = (rank, case_id, tally, seen.anchor if flipped else "")
            if len(ranked) < held:
                heapq.heappush(ranked, entry)
            else:
                beyond += heapq.heappushpop(ranked, entry)[2]
    shown = [view for _, view in sorted(kept, key=lambda entry: entry[0], reverse=True)]
    left_out = total
    for view in shown:
        left_out = _less(left_out, view.tally)
    ranked.sort(reverse=True)
    return Selection(
        tuple(_with_baseline(report, shown, judges, lengths)),
        total,
        left_out,
        dict(kinds),
        {entry[1]: place for place, entry in enumerate(ranked)},
        beyond if held else left_out,
        {entry[1]: entry[3] for entry in ranked if entry[3]},
    )


def views(report: Report, selection: Selection, lengths: Lengths) -> Iterator[CaseView]:
    """Every held case of a selection in plan order; only the baseline's answers are in memory together."""
    judges, flips = _Judges.of(report.plan), _Flips.of(report)
    before, old_ids = _before(report, selection.held, judges, lengths)
    left = len(selection.held)
    for case_id, seen in _cases(report.rows(), judges) if left else ():
        if case_id in selection.held:
            kind = seen.kind(case_id, flips)
            view = _view(seen, kind, seen.tally(), flips, judges, lengths)
            yield replace(view, before=before.get(old_ids.get(case_id, case_id)))
            left -= 1
            if not left:
                return


def _less(tally: Tally, part: Tally) -> Tally:
    return Tally(
        *(getattr(tally, name) - getattr(part, name) for name in Tally.__dataclass_fields__)
    )


def _cases(rows: Iterator[RowView], judges: _Judges) -> Iterator[tuple[str, _Case]]:
    for index, (case_id, group) in enumerate(itertools.groupby(rows, key=lambda v: v.case.id)):
        seen = _Case(index)
        for view in group:
            seen.add(view, judges)
        yield case_id, seen


def _view(
    seen: _Case, kind: Kind, tally: Tally, flips: _Flips, judges: _Judges, lengths: Lengths
) -> CaseView:
    case = seen.views[0].case
    label, tone = KINDS[kind]
    return CaseView(
        id=case.id,
        anchor=seen.anchor,
        kind=kind,
        label=label,
        tone=tone,
        split=case.split,
        tags=tuple(shorten(tag, _LONGEST_NAME) for tag in case.tags[:20]),
        where=f"{shorten(case.source.path, _LONGEST_NAME)}:{case.source.line}",
        input=cut(as_text(case.input), lengths.text),
        expected=None if case.expected is None else _compared(case.expected, lengths),
        trials=tuple(_trial(view.row, judges, lengths) for view in seen.views),
        more_trials=seen.trials - len(seen.views),
        flips=flips.words(case.id),
        aside=tuple(shorten(words, _LONGEST_REASON) for words in flips.aside.get(case.id, ())),
        tally=tally,
        index=case.index,
        slowest=seen.slowest,
    )


def _compared(value: Json, lengths: Lengths) -> Cut:
    return cut(as_text(value, lines=lengths.lines), lengths.text)


def _trial(row: ResultRow, judges: _Judges, lengths: Lengths) -> Trial:
    answer, note = _answer(row, lengths)
    facts = []
    if row.latency_ms is not None:
        facts.append(shown("latency_ms", row.latency_ms))
    if row.usage.tokens is not None:
        facts.append(f"{row.usage.tokens:,} tokens")
    if row.usage.cost_usd is not None:
        facts.append(shown("cost_usd", row.usage.cost_usd))
    if row.trace_id is not None:
        facts.append(f"trace {row.trace_id[:200]}")
    return Trial(row.trial, answer, note, tuple(facts), _cells(row, judges, lengths))


def _answer(row: ResultRow, lengths: Lengths) -> tuple[Cut | None, str]:
    if row.failure is not None:
        message = shorten(row.failure.message or "its message was removed", lengths.text)
        return None, f"The target failed ({row.failure.code}): {message}"
    if row.output is None:
        answered = any(score.state != "missing" for score in row.scores.values())
        return None, "The answer is not stored." if answered else "No answer is on record."
    return _compared(row.output, lengths), ""


def _cells(row: ResultRow, judges: _Judges, lengths: Lengths) -> tuple[Cell, ...]:
    return tuple(
        _cell(judge, score, judges.marks.get(judge), lengths, passed=row.passed.get(judge))
        for judge, score in row.scores.items()
    )


_STATE_WORDS: Final = {
    "not-applicable": "not applicable",
    "failed": "not measured",
    "missing": "no score",
    "pending": "waiting",
}


def _cell(
    judge: str, score: RowScore, mark: float | None, lengths: Lengths, *, passed: bool | None
) -> Cell:
    reason = cut((score.reason or "") if lengths.reason else "", lengths.reason)
    value = ""
    if score.value is None:
        word = _STATE_WORDS[score.state]
    else:
        value = shown(judge, score.value, [mark])
        word = "measured" if passed is None else "pass" if passed else "fail"
    return Cell(judge, score.state, word, WORDS[word], value, reason)


def _with_baseline(
    report: Report, shown: list[CaseView], judges: _Judges, lengths: Lengths
) -> Iterator[CaseView]:
    """The views, each beside what the baseline's first trial of the same case answered."""
    found, old_ids = _before(report, [view.id for view in shown], judges, lengths)
    for view in shown:
        yield replace(view, before=found.get(old_ids.get(view.id, view.id)))


def _before(
    report: Report, cases: Iterable[str], judges: _Judges, lengths: Lengths
) -> tuple[dict[str, Before], Mapping[str, str]]:
    """What the baseline's first trial of each case answered, by its id then; and the ids then of renamed cases."""
    renamed: Mapping[str, str] = {}
    if report.scorecard.baseline is not None:
        renamed = {new: old for old, new in report.scorecard.baseline.cases.renamed}
    found: dict[str, Before] = {}
    needed = frozenset(renamed.get(case, case) for case in cases)
    if report.baseline_rows is not None and needed:
        for row in report.baseline_rows():
            if row.trial == 0 and row.case in needed:
                answer, note = _answer(row, lengths)
                cells = {
                    cell.judge: cell for cell in _cells(row, judges, replace(lengths, reason=0))
                }
                found[row.case] = Before(row.case, answer, note, cells)
    return found, renamed
