"""The cases of a page, to look through."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from releasecheck.scorecard.cases import ATTENTION, KINDS, select

if TYPE_CHECKING:
    from releasecheck.scorecard.report import Report


def case_context(report: Report, cases: int) -> dict[str, Any]:
    """What `templates/scorecard/cases.html.j2` is rendered with."""
    return {"selection": select(report, cases), "kinds": KINDS, "attention": ATTENTION}
