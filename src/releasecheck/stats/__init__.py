"""Numbers the stages share: exact sums, intervals, views of the score table, and how numbers are shown.

The lowest layer above `model`. Everything is pure. What decides is computed in rational arithmetic over
the shortest decimal of each stored number, so that a comparison at a threshold means what was written;
only intervals are floating-point.
"""

from releasecheck.stats.columns import (
    QUANTILES,
    UNREPORTED,
    Column,
    aggregate,
    aggregate_cases,
    case_passes,
    column,
    judge_specs,
    rows_of,
    verdicts,
)
from releasecheck.stats.exact import exact, exact_sum, quantile_rank, to_float
from releasecheck.stats.intervals import mean_interval, quantile_ranks, t_quantile, wilson
from releasecheck.stats.pairing import match_cases
from releasecheck.stats.shown import count_of, names, plain, quote, show

__all__ = [
    "QUANTILES",
    "UNREPORTED",
    "Column",
    "aggregate",
    "aggregate_cases",
    "case_passes",
    "column",
    "count_of",
    "exact",
    "exact_sum",
    "judge_specs",
    "match_cases",
    "mean_interval",
    "names",
    "plain",
    "quantile_rank",
    "quantile_ranks",
    "quote",
    "rows_of",
    "show",
    "t_quantile",
    "to_float",
    "verdicts",
    "wilson",
]
