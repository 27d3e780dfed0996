"""What every report is made from: the decision, the plan it answers, and the rows behind it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from releasecheck.model.history import History
    from releasecheck.model.plan import Plan
    from releasecheck.model.results import ResultRow, RowView
    from releasecheck.model.scorecard import Scorecard


@dataclass(frozen=True, slots=True)
class Report:
    """One run, ready to be shown."""

    scorecard: Scorecard
    plan: Plan
    rows: Callable[[], Iterator[RowView]]
    """Starts over at each call; plan order, all trials of a case together. Read as a stream, several times."""
    baseline_rows: Callable[[], Iterator[ResultRow]] | None = None
    """The baseline's results, for showing its answers; None without a baseline."""
    history: History | None = None
    """Earlier runs of the suite, for their trend; None where the plan keeps none."""
