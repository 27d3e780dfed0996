"""Numbers as pictures: what the templates of metrics, judges, latency and costs are rendered with."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from releasecheck.model.judge import pass_mark
from releasecheck.scorecard.costs import cost_table
from releasecheck.scorecard.histogram import Spread, spread
from releasecheck.scorecard.latency import latency
from releasecheck.scorecard.measured import measured
from releasecheck.scorecard.numbers import shown
from releasecheck.scorecard.paired import Paired, paired
from releasecheck.scorecard.splits import split_context

if TYPE_CHECKING:
    from releasecheck.model.judge import Judge
    from releasecheck.scorecard.measured import Measured
    from releasecheck.scorecard.report import Report


@dataclass(frozen=True, slots=True)
class JudgePicture:
    """What one judge said, in pictures."""

    id: str
    about: str
    """`recall; passes at 0.5 or more`."""
    apart: str
    """Why nothing stands beside it; empty where the baseline does."""
    pairs: Paired | None
    spread: Spread
    lower: bool
    """Whether lower is better."""


def picture_context(report: Report) -> dict[str, Any]:
    """Metrics with their bars, splits, pairs, distributions, latency and costs."""
    data = measured(report)
    metrics, splits = split_context(report)
    return {
        "metrics": metrics,
        "splits": splits,
        "judges": tuple(_judge(data, judge.spec) for judge in report.plan.judges),
        "paired_with": report.scorecard.baseline if data.before is not None else None,
        "latency": latency(data),
        "costs": cost_table(data),
    }


def _judge(data: Measured, judge: Judge) -> JudgePicture:
    mark = pass_mark(judge)
    lower = judge.better == "lower"
    about = str(judge.type)
    if mark is not None:
        about += f"; passes at {shown(judge.id, mark)}" + (" or less" if lower else " or more")
    elif lower:
        about += "; lower is better"
    return JudgePicture(
        judge.id, about, data.apart(judge.id), paired(data, judge), spread(data, judge), lower
    )
