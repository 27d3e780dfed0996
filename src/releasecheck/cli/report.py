"""A verdict on the terminal: verdict first, why, then where to look."""

from __future__ import annotations

from typing import TYPE_CHECKING

from releasecheck.cli.output import document, say
from releasecheck.scorecard.lacking import lacking
from releasecheck.scorecard.numbers import count
from releasecheck.scorecard.verdict import next_steps

if TYPE_CHECKING:
    from pathlib import Path

    from releasecheck.model.scorecard import Scorecard

SHOWN_FLIPS = 10


def show_scorecard(card: Scorecard, out: Path, *, as_json: bool) -> None:
    """Print a decided run."""
    if as_json:
        document(card.model_dump(mode="json", by_alias=True))
        return
    # A reason that speaks for a gate, or for a judge that owes scores, stands in a line of its own below.
    held_back = lacking(card)
    spoken = {f"{gate.id}: {gate.outcome}: {gate.reason}" for gate in card.gates}
    spoken.update(held_back)
    for line in card.reasons:
        if line not in spoken:
            say(line)
    counts = card.counts
    say(
        f"{count(counts.cases, 'case')}, {count(counts.pairs, 'score')}: {counts.scored} scored, "
        f"{counts.not_applicable} not applicable, {counts.failed} failed, {counts.missing} missing"
        + (f", {counts.pending} pending" if counts.pending else "")
    )
    for line in held_back:
        say(f"  {line}")
    for gate in card.gates:
        say(f"  {gate.outcome:<15} {gate.id}: {gate.rule}: {gate.reason}")
    for judge, flips in sorted(card.flips.items()):
        _list_flips(f"newly failing ({judge})", flips.new_failures)
        _list_flips(f"newly passing ({judge})", flips.new_passes)
    for notice in card.notices:
        say(f"note: {notice}")
    for step in next_steps(card, str(out)):
        say(f"next: {step}")
    say(f"scorecard: {out / 'scorecard.html'}")


def _list_flips(title: str, ids: tuple[str, ...]) -> None:
    if not ids:
        return
    more = f" and {len(ids) - SHOWN_FLIPS} more" if len(ids) > SHOWN_FLIPS else ""
    say(f"  {title}: {', '.join(ids[:SHOWN_FLIPS])}{more}")
