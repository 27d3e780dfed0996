"""`results.csv`: one row for each case, trial and judge, for spreadsheets and data frames.

Nothing that is absent is a number: where nothing was measured `value` is empty and `state` says why.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Final

from releasecheck.scorecard.csv_file import render_csv
from releasecheck.scorecard.escape import visible
from releasecheck.scorecard.texts import cut

if TYPE_CHECKING:
    from collections.abc import Iterator

    from releasecheck.model.results import RowScore, RowView
    from releasecheck.scorecard.csv_file import Cell
    from releasecheck.scorecard.report import Report

COLUMNS: Final = (
    "case", "case_digest", "trial", "split", "tags", "judge", "state", "value", "passed", "reason",
    "failure", "message", "latency_ms", "tokens", "cost_usd", "source", "line",
)  # fmt: skip
"""The header. `latency_ms`, `tokens` and `cost_usd` are of the answer, the same for each of its judges."""
LONGEST_TEXT: Final = 30_000
"""Characters of a cell; spreadsheets hold 32,767, and many readers no more than 131,072 bytes."""


def render_results_csv(report: Report) -> Iterator[bytes]:
    """The file in pieces."""
    rows = (
        _cells(view, judge, score)
        for view in report.rows()
        for judge, score in view.row.scores.items()
    )
    return render_csv(COLUMNS, ([_short(cell) for cell in row] for row in rows))


def _cells(view: RowView, judge: str, score: RowScore) -> tuple[Cell, ...]:
    row, case = view.row, view.case
    failed = row.failure
    return (
        row.case,
        row.case_digest,
        row.trial,
        row.split,
        json.dumps(list(case.tags), ensure_ascii=False) if case.tags else None,
        judge,
        score.state,
        score.value,
        row.passed.get(judge),
        _shown(score.reason),
        None if failed is None else failed.code,
        None if failed is None else _shown(failed.message),
        row.latency_ms,
        row.usage.tokens,
        row.usage.cost_usd,
        case.source.path,
        case.source.line,
    )


def _shown(words: str | None) -> str | None:
    """Others' words for a sheet: what cannot be seen becomes a readable escape."""
    return visible(words) if words else None


def _short(cell: Cell) -> Cell:
    """A text that is too long for a cell, with a count and the digest of the whole."""
    if not isinstance(cell, str):
        return cell
    part = cut(cell, LONGEST_TEXT)
    return f"{part.text} [{part.more} more characters, {part.digest}]" if part.more else cell
