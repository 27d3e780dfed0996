"""Annotations: at most ten for everything, at the dataset lines of the worst cases (trap 18).

They hold ids, judges and values, and no text of a model: whatever it wrote is in the scorecard.
"""

from __future__ import annotations

import heapq
import itertools
from collections import Counter
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from releasecheck.drivers.github.commands import Annotation, Level
from releasecheck.drivers.github.publishing.evidence import Judged
from releasecheck.drivers.github.publishing.request import in_repository
from releasecheck.drivers.github.publishing.words import notice_of
from releasecheck.gates.subject import Subject
from releasecheck.scorecard.verdict import headline

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from releasecheck.drivers.github.publishing.request import Request
    from releasecheck.model.case import Case
    from releasecheck.model.results import RowView

MOST: Final = 10
"""Of all kinds together: the runner keeps ten of a kind for a whole composite action."""
_LONGEST_ID: Final = 200


@dataclass(frozen=True, slots=True)
class _Noted:
    """A case that a reviewer must see, and how urgent that is."""

    rank: int
    """0: newly failing for a gate that blocks; 1: newly failing; 2: failing; 3: not measured."""
    words: str
    case: Case


def annotations_of(request: Request, most: int = MOST) -> tuple[Annotation, ...]:
    """The annotations of a run, the worst case first; the last one says how many are left out."""
    evidence = request.evidence
    if not isinstance(evidence, Judged):
        notice = notice_of(evidence)
        return (Annotation("error", "\n".join(notice.why[:3]), title=notice.headline),)
    card = evidence.scorecard
    level: Level = "error" if card.verdict == "block" and not card.overridden else "warning"
    level = "notice" if card.verdict in ("pass", "bootstrap") else level
    if card.verdict is None:
        # What a judge still owes is nobody's case to look at; until when it is waited for is said once.
        first = _whole(evidence, level)
        return (first, *_of_cases(request, evidence, level, most - 1))
    found = _of_cases(request, evidence, level, most)
    return found or (() if level == "notice" else (_whole(evidence, level),))


def _of_cases(
    request: Request, evidence: Judged, level: Level, most: int
) -> tuple[Annotation, ...]:
    counted: Counter[int] = Counter()
    worst = heapq.nsmallest(
        most,
        _counting(counted, _noted(evidence)),
        key=lambda one: (one.rank, one.case.index),
    )
    shown = [_annotation(request, one, level) for one in worst]
    more = counted.total() - len(shown)
    if shown and more:
        shown[-1] = replace(shown[-1], message=f"{shown[-1].message}\n{more} more in the scorecard")
    return tuple(shown)


def _counting(counted: Counter[int], found: Iterator[_Noted]) -> Iterator[_Noted]:
    for one in found:
        counted[one.rank] += 1
        yield one


def _whole(evidence: Judged, level: Level) -> Annotation:
    why = "\n".join(evidence.scorecard.reasons[:3])
    return Annotation(level, why, title=f"{evidence.plan.suite}: {headline(evidence.scorecard)}")


def _annotation(request: Request, one: _Noted, level: Level) -> Annotation:
    file = in_repository(request.options.config_folder, one.case.source.path)
    return Annotation(
        level,
        f"Case {one.case.id[:_LONGEST_ID]}: {one.words}",
        file=file,
        line=one.case.source.line if file is not None else None,
        title=f"{request.suite}: {_TITLES[one.rank]}",
    )


_TITLES: Final = ("newly failing, and blocking", "newly failing", "failing", "not measured")


def _noted(evidence: Judged) -> Iterator[_Noted]:
    """Every case to look at, read as a stream in plan order."""
    flips = {judge: set(one.new_failures) for judge, one in evidence.scorecard.flips.items()}
    blocking = tuple(_blocking(evidence))
    views = evidence.report().rows()
    for _, group in itertools.groupby(views, key=lambda view: view.case.id):
        found = _look(list(group), flips, blocking)
        if found is not None:
            yield found


@dataclass(frozen=True, slots=True)
class _Blocking:
    """A gate that blocks, and what it looks at: a new failure there is critical."""

    id: str
    metric: str
    cases: frozenset[str]
    waived: bool


def _blocking(evidence: Judged) -> Iterator[_Blocking]:
    blocked = {gate.id: gate for gate in evidence.scorecard.gates if gate.outcome == "block"}
    cases = evidence.folder.rows[0]
    for gate in evidence.plan.gates:
        if gate.id in blocked:
            subject = Subject.of(gate, evidence.plan)
            taken = subject.selects(cases) & ~subject.quarantined(cases)
            ids = frozenset(case.id for case, take in zip(cases, taken, strict=True) if take)
            yield _Blocking(gate.id, gate.metric, ids, blocked[gate.id].waived)


def _look(
    views: list[RowView], flips: Mapping[str, set[str]], blocking: tuple[_Blocking, ...]
) -> _Noted | None:
    case = views[0].case
    fresh = sorted(judge for judge, ids in flips.items() if case.id in ids)
    failing = sorted(_failing(views))
    if fresh:
        words = f"passed in the baseline and fails now, by {', '.join(fresh)}"
        counts = [one for one in blocking if one.metric in fresh and case.id in one.cases]
        if counts:
            gates = ", ".join(one.id for one in counts)
            waived = " and is waived" if all(one.waived for one in counts) else ""
            return _Noted(0, f"{words}; it counts for {gates}, which blocks{waived}", case)
        return _Noted(1, words, case)
    if failing:
        return _Noted(2, f"fails by {', '.join(failing)}", case)
    codes = sorted({view.row.failure.code for view in views if view.row.failure is not None})
    if codes:
        return _Noted(3, f"the target gave no answer ({', '.join(codes)})", case)
    lacking = sorted({judge for view in views for judge in _lacking(view)})
    return _Noted(3, f"has no score of {', '.join(lacking)}", case) if lacking else None


def _lacking(view: RowView) -> Iterator[str]:
    for judge, score in view.row.scores.items():
        if score.state in ("failed", "missing"):
            yield judge


def _failing(views: list[RowView]) -> set[str]:
    """Judges for whom no trial passed and at least one failed."""
    passed: dict[str, bool] = {}
    for view in views:
        for judge, good in view.row.passed.items():
            passed[judge] = passed.get(judge, False) or good
    return {judge for judge, good in passed.items() if not good}
