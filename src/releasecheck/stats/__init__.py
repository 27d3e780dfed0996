"""Numbers the stages share: exact sums, intervals, views of the score table, and how numbers are shown.

The lowest layer above `model`. Everything is pure. What decides is computed in rational arithmetic over
the shortest decimal of each stored number, so that a comparison at a threshold means what was written;
only intervals are floating-point.
"""

from releasecheck.stats.clusters import chosen, clipped, cluster_sums, clusters_of, robust_error
from releasecheck.stats.columns import (
    QUANTILES,
    UNREPORTED,
    Column,
    aggregate,
    aggregate_cases,
    case_means,
    case_passes,
    column,
    judge_specs,
    rows_of,
    verdicts,
    yes_or_no,
    zeros_and_ones,
)
from releasecheck.stats.exact import exact, exact_sum, quantile_rank, risk_of, to_float
from releasecheck.stats.intervals import (
    mean_interval,
    quantile_interval,
    quantile_ranks,
    share_interval,
    t_quantile,
    wilson,
)
from releasecheck.stats.paired import (
    RESAMPLES,
    drop_bound,
    drop_bound_yes_no,
    holm,
    mcnemar,
    not_inferior,
    paired_interval,
    sign_flip,
)
from releasecheck.stats.pairing import match_cases
from releasecheck.stats.power import (
    Spread,
    Values,
    YesNo,
    detectable_drop,
    from_baseline,
    from_pairs,
    resolvable_drop,
)
from releasecheck.stats.shown import count, count_of, names, plain, quote, show, two_digits

__all__ = [
    "QUANTILES",
    "RESAMPLES",
    "UNREPORTED",
    "Column",
    "Spread",
    "Values",
    "YesNo",
    "aggregate",
    "aggregate_cases",
    "case_means",
    "case_passes",
    "chosen",
    "clipped",
    "cluster_sums",
    "clusters_of",
    "column",
    "count",
    "count_of",
    "detectable_drop",
    "drop_bound",
    "drop_bound_yes_no",
    "exact",
    "exact_sum",
    "from_baseline",
    "from_pairs",
    "holm",
    "judge_specs",
    "match_cases",
    "mcnemar",
    "mean_interval",
    "names",
    "not_inferior",
    "paired_interval",
    "plain",
    "quantile_interval",
    "quantile_rank",
    "quantile_ranks",
    "quote",
    "resolvable_drop",
    "risk_of",
    "robust_error",
    "rows_of",
    "share_interval",
    "show",
    "sign_flip",
    "t_quantile",
    "to_float",
    "two_digits",
    "verdicts",
    "wilson",
    "yes_or_no",
    "zeros_and_ones",
]
