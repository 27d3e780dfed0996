"""The cases of a page, to look through: the worst in full, and all of them as data for its script."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from releasecheck.scorecard.case_data import CaseData
from releasecheck.scorecard.cases import ATTENTION, KINDS, Lengths, select
from releasecheck.scorecard.escape import visible
from releasecheck.scorecard.marked import compared, pieces

if TYPE_CHECKING:
    from releasecheck.scorecard.report import Report

HELD: Final = 30_000
"""Cases that a page holds as data; the others, never the worst, are counted and stand in `results.jsonl`."""
_BUDGET: Final = 24_000_000
"""Characters of all texts of a page together."""
_SHORTEST: Final = 200
_LONGEST: Final = 4000
_TRIALS: Final = 5
"""Answers of a case that are shown, at most."""


def lengths(cases: int, trials: int) -> Lengths:
    """How much of each text a page shows: less when there are more cases, and the same on every machine."""
    # Of each case its input, what is expected, the baseline's answer, and the answers.
    texts = (3 + min(trials, _TRIALS)) * max(1, min(cases, HELD))
    text = max(_SHORTEST, min(_LONGEST, _BUDGET // texts))
    return Lengths(text=text, reason=max(_SHORTEST, min(600, text // 2)), lines=True)


def case_context(report: Report, cases: int, held: int = HELD) -> dict[str, Any]:
    """What the templates of cases are rendered with: `cases` in full, `held` as data."""
    size = lengths(report.scorecard.counts.cases, report.plan.trials)
    selection = select(report, cases, size, held)
    return {
        "selection": selection,
        "kinds": KINDS,
        "attention": ATTENTION,
        "compared": compared,
        "pieces": pieces,
        "visible": visible,
        "elsewhere": selection.anchors,
        "case_blocks": CaseData(report, selection, size).blocks,
    }
