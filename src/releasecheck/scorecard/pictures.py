"""Numbers as pictures: what `templates/scorecard/metrics.html.j2` is rendered with."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from releasecheck.scorecard.tables import metric_rows

if TYPE_CHECKING:
    from releasecheck.scorecard.report import Report


def picture_context(report: Report) -> dict[str, Any]:
    """Metrics with their bars."""
    return {"metrics": metric_rows(report.scorecard)}
