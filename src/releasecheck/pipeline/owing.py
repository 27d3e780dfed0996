"""What judges still owe, by the ledger: every open ticket, when it was given, until when it is waited for."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from releasecheck.model.scorecard import Waiting
from releasecheck.model.table import PENDING
from releasecheck.pipeline.lines import Lines
from releasecheck.pipeline.ruling import rule_of
from releasecheck.settle import Earlier, Owed, Pair, Shown, moment_of, text_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from releasecheck.merge import Merged
    from releasecheck.model.plan import Plan
    from releasecheck.pipeline.remaining import Recorded
    from releasecheck.settle import Owing


def owes(recorded: Recorded) -> bool:
    """Whether any judge still owes a score."""
    merged = recorded.merged
    return (
        bool(merged.tickets)
        or any(one.state == PENDING for one in merged.table.sentinels)
        or any(seen.open for seen in merged.table.bridged)
    )


def owed_by(recorded: Recorded) -> Iterator[Owed]:
    """Every open ticket, with when its judge was given the output."""
    merged = recorded.merged
    found: dict[tuple[str, str], tuple[list[Owing], float]] = {}
    places = sorted(
        (*merged.score_at[key].tolist(), key, ticket) for key, ticket in merged.tickets.items()
    )
    with Lines(recorded) as lines:
        for source, offset, (case, trial, judge), ticket in places:
            row = lines.at((source, offset))
            pair = Pair(merged.table.cases[case].id, trial, row["output_digest"])
            key = merged.table.judges[judge], ticket
            owing, sent = found.setdefault(key, ([], 0.0))
            owing.append(pair)
            found[key] = owing, max(sent, moment_of(row["at"]))
        for seen in merged.table.bridged:
            for open_ in seen.open:
                at = moment_of(lines.at((open_.source, open_.offset))["at"])
                earlier = Earlier(seen.side, open_.case, open_.trial, open_.digest)
                owing, sent = found.setdefault((open_.judge, open_.ticket), ([], 0.0))
                owing.append(earlier)
                found[open_.judge, open_.ticket] = owing, max(sent, at)
    for one in merged.table.sentinels:
        if one.state == PENDING and one.ticket is not None:
            owing, sent = found.setdefault((one.judge, one.ticket), ([], 0.0))
            owing.append(Shown(one.sentinel, one.shard, one.digest))
            found[one.judge, one.ticket] = owing, max(sent, moment_of(one.at))
    # Until when a ticket is waited for counts from the last case that its judge was sent at all (S1-04).
    last = {
        judge: moment_of(merged.last_sent[judge]) for judge, _ in found if judge in merged.last_sent
    }
    for (judge, ticket), (owing, sent) in found.items():
        yield Owed(judge, ticket, tuple(owing), sent, last.get(judge, sent))


def deadlines_fixed(merged: Merged) -> dict[tuple[str, str], float]:
    """When each ticket's time is over, by (judge, ticket); of those that `finish` has seen."""
    return {(one.judge, one.ticket): moment_of(one.deadline) for one in merged.deadlines}


def waiting_for(plan: Plan, merged: Merged, now: str) -> tuple[Waiting, ...]:
    """Every judge that owes scores, until when, and when to ask it again."""
    table = merged.table
    fixed = deadlines_fixed(merged)
    tickets: dict[str, set[str]] = {}
    for (_, _, at), ticket in merged.tickets.items():
        tickets.setdefault(table.judges[at], set()).add(ticket)
    pending = Counter(table.judges[at] for _, _, at in merged.tickets)
    for one in table.sentinels:
        if one.state == PENDING and one.ticket is not None:
            tickets.setdefault(one.judge, set()).add(one.ticket)
            pending[one.judge] += 1
    for open_ in (each for seen in table.bridged for each in seen.open):
        tickets.setdefault(open_.judge, set()).add(open_.ticket)
        pending[open_.judge] += 1
    found = []
    for judge in plan.judges:
        if judge.id not in tickets:
            continue
        ends = [fixed[judge.id, each] for each in tickets[judge.id] if (judge.id, each) in fixed]
        again = moment_of(now) + rule_of(plan, judge).interval_s
        found.append(
            Waiting(
                judge=judge.id,
                pending=pending[judge.id],
                deadline=text_of(max(ends)) if ends else None,
                not_before=text_of(min(again, *ends) if ends else again),
            )
        )
    return tuple(found)
