"""How often the beat has started a run again for nothing.

All of it is derived. Who started an attempt is what GitHub calls its triggering actor; whether it brought
the run further is in the names of its artifacts and in its scorecard. An attempt that somebody else
started begins a new count: a person who presses the button has mended something, or wants to see.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from releasecheck.drivers.github.beat.runs import get_run

if TYPE_CHECKING:
    from collections.abc import Mapping

    from releasecheck.drivers.github.beat.cards import Card, Reader
    from releasecheck.drivers.github.beat.evidence import Planned
    from releasecheck.drivers.github.beat.runs import WatchedRun
    from releasecheck.drivers.github.rest import GitHubClient


def fruitless(
    client: GitHubClient,
    repository: str,
    run: WatchedRun,
    plans: tuple[Planned, ...],
    reader: Reader,
    me: str,
    most: int,
) -> int:
    """How many of the last attempts the beat started and nothing came of; `most` are counted.

    An attempt that ended waiting for a time that lay ahead is none of them (C-36, trap 29).
    """
    counted = 0
    for attempt in range(run.attempt, 1, -1):
        seen = run if attempt == run.attempt else get_run(client, repository, run.id, attempt)
        if seen.actor != me or counted >= most:
            break
        # What a fork left is known by its names alone.
        cards = [one.cards(reader, attempt) if run.own else {} for one in plans]
        if _only_waited(attempt, cards):
            continue
        if any(
            _got_further(one, attempt, known, reader, own=run.own)
            for one, known in zip(plans, cards, strict=True)
        ):
            break
        counted += 1
    return counted


def _only_waited(attempt: int, cards: list[dict[int, Card]]) -> bool:
    ended = [known[attempt] for known in cards if attempt in known]
    open_ones = [card for card in ended if not card.finalized]
    return bool(open_ones) and all(card.is_waiting and card.due() is not None for card in open_ones)


def _got_further(
    plan: Planned, attempt: int, cards: Mapping[int, Card], reader: Reader, *, own: bool
) -> bool:
    if plan.new_indices(attempt):
        return True
    if attempt not in cards:
        return own and reader.brought_something(plan.shards_of(attempt))
    # Against the best of all earlier ones: what goes up and down for ever brings nobody further.
    before = [card.reached for number, card in cards.items() if number < attempt]
    best = [max(column) for column in zip((0, 0), *before, strict=True)]
    return any(now > then for now, then in zip(cards[attempt].reached, best, strict=True))
