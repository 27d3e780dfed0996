"""A verdict on the terminal: verdict first, why, then where to look."""

from __future__ import annotations

from typing import TYPE_CHECKING

from releasecheck.canonical import parse_own
from releasecheck.cli.output import document, say, table
from releasecheck.model.results import ResultRow
from releasecheck.scorecard.comparisons import comparison_rows
from releasecheck.scorecard.earlier import drift_rows
from releasecheck.scorecard.exceptions import notices, quarantine_words
from releasecheck.scorecard.lacking import lacking
from releasecheck.scorecard.lines import compared_with
from releasecheck.scorecard.models import model_facts
from releasecheck.scorecard.numbers import NOTHING
from releasecheck.scorecard.tables import gate_rows
from releasecheck.scorecard.texts import shorten
from releasecheck.scorecard.verdict import aside_words, headline, next_steps, reasons, tone
from releasecheck.stats import count

if TYPE_CHECKING:
    from pathlib import Path

    from releasecheck.model.scorecard import Scorecard
    from releasecheck.scorecard.tables import GateRow

SHOWN_FLIPS = 10
SHOWN_LINES = 5
_LONGEST = 200


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
    say(first + aside_words(card), tone(card))
    for line in rest:
        if line not in spoken:
            say(line)
    counts = card.counts
    say(
        f"{count(counts.cases, 'case')}, {count(counts.pairs, 'score')}: {counts.scored} scored, "
        f"{counts.not_applicable} not applicable, {counts.failed} failed, {counts.missing} missing"
        + (f", {counts.pending} pending" if counts.pending else "")
    )
    for line in held_back:
        say(f"  {line}", "warn")
    if counts.failed and (first_failed := _first_failed(out)):
        say(f"  the first: {first_failed}")
    _gates(card)
    for judge, flips in sorted(card.flips.items()):
        _list_flips(f"newly failing ({judge})", flips.new_failures, "bad")
        _list_flips(f"newly passing ({judge})", flips.new_passes, "good")
    for line in compared_with(card):
        say(f"  {line}")
    for drift in drift_rows(card):
        say(
            f"  drift of {drift.what}: {drift.value}, {drift.since_baseline} since the baseline, "
            f"{drift.since_anchor} since the anchor"
        )
    for one in card.quarantine[:SHOWN_LINES]:
        say(f"  quarantine: {quarantine_words(one)}")
    _more(len(card.quarantine), "in quarantine")
    for name, value in model_facts(card):
        say(f"  {name.lower()} {value}")
    for notice in notices(card):
        say(f"note: {notice}")
    for step in next_steps(card, str(out)):
        say(f"next: {step}", "strong")
    say(f"scorecard: {out / 'scorecard.html'}")


def _first_failed(out: Path) -> str:
    """Case and message of the first answer or score that failed; empty where the bundle does not say."""
    results = out / "results.jsonl"
    if not results.is_file():
        return ""
    with results.open("rb") as lines:
        for row in map(ResultRow.from_json, map(parse_own, lines)):
            if row.failure is not None:
                message = row.failure.message or "its message was removed"
                return f"{row.case}: the target failed ({row.failure.code}): {shorten(message, _LONGEST)}"
            for judge, score in row.scores.items():
                if score.state == "failed":
                    why = score.reason or "no reason was given"
                    return f"{row.case}: {judge} has no score: {shorten(why, _LONGEST)}"
    return ""


def _gates(card: Scorecard) -> None:
    """A row for each gate, the worst first; then why those that do not pass do not."""
    gates = gate_rows(card)
    compared = any(gate.baseline != NOTHING for gate in gates)
    table(
        [
            (
                f"{gate.outcome}, waived" if gate.waived else gate.outcome,
                gate.id,
                gate.rule,
                gate.value,
            )
            + ((_before(gate),) if compared else ())
            for gate in gates
        ],
        [gate.tone for gate in gates],
    )
    unseen = {row.gate: row.warning for row in comparison_rows(card) if row.warning}
    for gate in gates:
        if gate.outcome != "pass":
            say(f"  {gate.id}: {gate.reason}")
        elif gate.id in unseen:
            say(f"  {gate.id}: {unseen[gate.id]}")


def _before(gate: GateRow) -> str:
    return "" if gate.baseline == NOTHING else f"was {gate.baseline}"


def _more(found: int, what: str) -> None:
    if found > SHOWN_LINES:
        say(f"  and {found - SHOWN_LINES} more {what}, in scorecard.html")


def _list_flips(title: str, ids: tuple[str, ...], style: str) -> None:
    if not ids:
        return
    more = f" and {len(ids) - SHOWN_FLIPS} more" if len(ids) > SHOWN_FLIPS else ""
    say(f"  {title}: {', '.join(ids[:SHOWN_FLIPS])}{more}", style)
