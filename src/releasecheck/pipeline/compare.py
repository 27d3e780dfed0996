"""Whether two documents say the same, and how two runs differ."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterator

    from releasecheck.canonical import Json
    from releasecheck.model.scorecard import Metric

TOLERANCE: Final = 1e-9
"""For intervals and p-values, which floating-point libraries may round differently."""
ROUNDED: Final = frozenset(
    {
        "ci_low",
        "ci_high",
        "delta_ci_low",
        "delta_ci_high",
        "p_value",
        "p_adjusted",
        "min_detectable_drop",
        "resolvable_drop",
        "drop_bound",
    }
)
MAPS: Final = frozenset(
    {
        "context", "cases", "splits", "scores", "passed", "flips", "rejudged", "given_up",
        "models", "judge_models", "more_judge_models",
    }
)  # fmt: skip
"""Fields whose keys are names of others: cases, judges, models, splits, facts of a build."""


def same_metric(one: Metric, other: Metric) -> bool:
    """Whether two metrics agree on value and evidence; intervals to `TOLERANCE`."""
    return (
        one.value == other.value
        and (one.n_scored, one.n_expected) == (other.n_scored, other.n_expected)
        and _near(one.ci_low, other.ci_low)
        and _near(one.ci_high, other.ci_high)
    )


def _near(one: object, other: object) -> bool:
    if isinstance(one, int | float) and isinstance(other, int | float):
        return math.isclose(one, other, rel_tol=TOLERANCE, abs_tol=TOLERANCE)
    return one == other


def differences(found: Json, expected: Json, place: str = "") -> Iterator[str]:
    """Every place where a JSON document differs from another, as `place: found ..., expected ...`.

    Fields that only the found one has are no difference: a newer version may have added them. Keys of
    a map are no fields.
    """
    if isinstance(found, dict) and isinstance(expected, dict):
        # Models are the keys of each judge's own map.
        is_map = place.rpartition(".")[2] in MAPS or place.startswith("judge_models.")
        for key in sorted(found.keys() | expected.keys() if is_map else expected.keys()):
            here = f"{place}.{key}" if place else key
            if key in ROUNDED and _near(found.get(key), expected.get(key)):
                continue
            yield from differences(found.get(key), expected.get(key), here)
    elif isinstance(found, list) and isinstance(expected, list) and len(found) == len(expected):
        for index, (one, other) in enumerate(zip(found, expected, strict=True)):
            yield from differences(one, other, f"{place}[{index}]")
    elif found != expected or isinstance(found, bool) != isinstance(expected, bool):
        yield f"{place}: found {_short(found)}, expected {_short(expected)}"


def _short(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 80 else text[:77] + "..."
