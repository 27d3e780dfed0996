"""Whether a judge knows good from bad: what it said to answers whose score is known.

A judge that misses one may have scored everything else as wrongly, for better or worse. So its gates
neither pass nor block: they refuse.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from releasecheck.model.scorecard import Sentinels
from releasecheck.stats import count_of, names, plain

if TYPE_CHECKING:
    from releasecheck.model.plan import Plan
    from releasecheck.model.table import ScoreTable, SentinelSeen


def sentinel_results(table: ScoreTable, plan: Plan) -> tuple[Sentinels, ...]:
    """Every judge that has sentinels, in plan order."""
    found = []
    for judge in plan.judges:
        seen = [one for one in table.sentinels if one.judge == judge.id]
        if seen:
            found.append(
                Sentinels(
                    judge=judge.id,
                    shown=len(seen),
                    held=sum(one.held is True for one in seen),
                    missed=tuple(dict.fromkeys(_of(seen, held=False))),
                    unscored=sum(one.held is None for one in seen),
                )
            )
    return tuple(found)


def unproven(judge: str, table: ScoreTable) -> str | None:
    """Why the scores of a judge decide nothing; None when its sentinels held, or it has none."""
    seen = [one for one in table.sentinels if one.judge == judge]
    missed = [one for one in seen if one.held is False]
    if missed:
        first = missed[0]
        got = "no score" if first.value is None else plain(first.value)
        return (
            f"judge {judge} missed {count_of(len(missed), len(seen), 'sentinel')}, answers whose score is known: "
            f"{names(tuple(dict.fromkeys(_of(seen, held=False))))} ({first.sentinel} got {got} in shard "
            f"{first.shard}); none of its scores can be trusted"
        )
    unscored = [one for one in seen if one.held is None]
    if unscored:
        first = unscored[0]
        why = f": {first.said}" if first.said else ""
        return (
            f"{count_of(len(unscored), len(seen), 'sentinel')} of judge {judge}, answers whose score is known, "
            f"{'has' if len(unscored) == 1 else 'have'} no score ({first.sentinel} in shard {first.shard}{why})"
        )
    return None


def _of(seen: list[SentinelSeen], *, held: bool) -> list[str]:
    return [one.sentinel for one in seen if one.held is held]
