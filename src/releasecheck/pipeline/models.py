"""Which models answered and judged, and where several did: numbers that mix two models say so."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any, Final, TypedDict

from releasecheck.model.record import LONGEST_FINGERPRINT
from releasecheck.model.scorecard import MODELS_NAMED
from releasecheck.stats import count, quote

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from releasecheck.merge import Merged

_TOLD: Final = 3
"""Models that a sentence names."""


class Seen(TypedDict):
    """The fields of a scorecard about models."""

    models: dict[str, int]
    more_models: int
    judge_models: dict[str, dict[str, int]]
    more_judge_models: dict[str, int]


def models_seen(merged: Merged) -> Seen:
    """The busiest by name, the others as a number."""
    models, more = _first(merged.models)
    judges = {judge: _first(found) for judge, found in sorted(merged.judge_models.items())}
    return Seen(
        models=models,
        more_models=more,
        judge_models={judge: named for judge, (named, _) in judges.items()},
        more_judge_models={judge: others for judge, (_, others) in judges.items() if others},
    )


def _first(found: Mapping[str, int]) -> tuple[dict[str, int], int]:
    busiest = sorted(found, key=lambda name: (-found[name], name))
    named = sorted(busiest[:MODELS_NAMED])
    return {name: found[name] for name in named}, sum(
        found[name] for name in busiest[MODELS_NAMED:]
    )


def mixtures(merged: Merged) -> Iterator[str]:
    """A sentence for the target, and for each judge, that answered as several models."""
    if len(merged.models) > 1:
        yield _mixture("the target answered", merged.models, "answer")
    for judge, found in sorted(merged.judge_models.items()):
        if len(found) > 1:
            yield _mixture(f"the judge {judge} scored", found, "score")


def _mixture(who: str, found: Mapping[str, int], what: str) -> str:
    busiest = sorted(found, key=lambda name: (-found[name], name))
    told = [f"{quote(name)} for {count(found[name], what)}" for name in busiest[:_TOLD]]
    more = len(busiest) - _TOLD
    told += [f"{more} more"] if more > 0 else []
    both = "both" if len(busiest) == 2 else "them all"
    return f"{who} as {len(busiest)} models: {', '.join(told)}; its numbers mix {both}"


def other_models(now: Mapping[str, int], before: Mapping[str, int]) -> str:
    """What differs between the models of two runs; empty where they are the same, or one says none."""
    if not now or not before or now.keys() == before.keys():
        return ""
    return f"another model answered: {_names(before)} then, {_names(now)} now"


def _names(found: Mapping[str, int]) -> str:
    busiest = sorted(found, key=lambda name: (-found[name], name))
    told = " and ".join(quote(name) for name in busiest[:2])
    return f"{told} and {len(busiest) - 2} more" if len(busiest) > 2 else told


def models_in(rows: Iterable[Mapping[str, Any]]) -> dict[str, int]:
    """Model -> answers, by the lines of a results file."""
    said = (row.get("fingerprint") for row in rows)
    return dict(Counter(name[:LONGEST_FINGERPRINT] for name in said if isinstance(name, str)))
