"""A verdict on the terminal: verdict first, why, then where to look."""

from __future__ import annotations

from typing import TYPE_CHECKING

from releasecheck.cli.output import document, say
from releasecheck.scorecard.earlier import drift_rows
from releasecheck.scorecard.exceptions import notices, quarantine_words
from releasecheck.scorecard.lacking import lacking
from releasecheck.scorecard.lines import compared_with, comparisons
from releasecheck.scorecard.models import model_facts
from releasecheck.scorecard.verdict import aside_words, headline, next_steps, reasons
from releasecheck.stats import count

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
    first, *rest = (headline(card), *reasons(card)) if card.overridden else card.reasons or ("",)
    for line in (first + aside_words(card), *rest):
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
        outcome = f"{gate.outcome}, waived" if gate.waived else gate.outcome
        say(f"  {outcome:<15} {gate.id}: {gate.rule}: {gate.reason}")
    for row in comparisons(card, SHOWN_FLIPS):
        say(f"  {row.gate}, {row.sentence}")
        for flip in row.flips:
            more = f" and {flip.more} more" if flip.more else ""
            say(f"    {flip.words}: {', '.join(flip.ids)}{more}")
    for judge, flips in sorted(card.flips.items()):
        _list_flips(f"newly failing ({judge})", flips.new_failures)
        _list_flips(f"newly passing ({judge})", flips.new_passes)
    for line in compared_with(card):
        say(f"  {line}")
    for drift in drift_rows(card):
        say(
            f"  drift of {drift.what}: {drift.value}, {drift.since_baseline} since the baseline, "
            f"{drift.since_anchor} since the anchor"
        )
    for one in card.quarantine:
        say(f"  quarantine: {quarantine_words(one)}")
    for name, value in model_facts(card):
        say(f"  {name.lower()} {value}")
    for notice in notices(card):
        say(f"note: {notice}")
    for step in next_steps(card, str(out)):
        say(f"next: {step}")
    say(f"scorecard: {out / 'scorecard.html'}")


def _list_flips(title: str, ids: tuple[str, ...]) -> None:
    if not ids:
        return
    more = f" and {len(ids) - SHOWN_FLIPS} more" if len(ids) > SHOWN_FLIPS else ""
    say(f"  {title}: {', '.join(ids[:SHOWN_FLIPS])}{more}")
