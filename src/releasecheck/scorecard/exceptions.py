"""Waivers and quarantine in words: whose decision, for what reason, and until when."""

from __future__ import annotations

from typing import TYPE_CHECKING

from releasecheck.stats import count, quote

if TYPE_CHECKING:
    from collections.abc import Iterator

    from releasecheck.model.scorecard import GateResult, Scorecard
    from releasecheck.model.suite import Quarantined, Waiver


def quarantine_words(one: Quarantined) -> str:
    """`case 'q17' is left out of every gate until 2026-12-31: it flickers (owner search team)`."""
    of = "every gate" if one.judge is None else f"gates on {one.judge}"
    return (
        f"case {quote(one.case)} is left out of {of} until {one.until}: {one.reason} "
        f"(owner {one.owner})"
    )


def quarantine_notice(one: Quarantined) -> str:
    """The same among other notices."""
    return f"quarantine: {quarantine_words(one)}"


def waiver_notice(waiver: Waiver) -> str:
    """`waiver for gate no-worse until 2026-12-31: known (A. Reviewer)`."""
    return f"waiver for gate {waiver.gate} until {waiver.until}: {waiver.why} ({waiver.who})"


def waived_words(waiver: Waiver) -> str:
    """What a waiver did for a gate that blocked."""
    return f"{waiver.gate}: waived until {waiver.until} by {waiver.who}: {waiver.why}"


def waiver_of(card: Scorecard, gate: GateResult) -> Waiver | None:
    """The waiver that lets a blocking gate pass; None where there is none."""
    if not gate.waived:
        return None
    return next((one for one in card.waivers if one.gate == gate.id), None)


def waived_gates(card: Scorecard) -> tuple[str, ...]:
    """Gates that block and are waived."""
    return tuple(gate.id for gate in card.gates if gate.waived)


def in_quarantine(card: Scorecard) -> int:
    """Cases in quarantine, for whichever judge."""
    return len({one.case for one in card.quarantine})


def notices(card: Scorecard) -> tuple[str, ...]:
    """What a reviewer must know besides, without what reports tell elsewhere.

    A waiver that made a difference stands beside the verdict, and quarantined cases in a table of their own.
    """
    waived = set(waived_gates(card))
    elsewhere = {waiver_notice(one) for one in card.waivers if one.gate in waived}
    elsewhere |= {quarantine_notice(one) for one in card.quarantine}
    return (*_counted(card), *(line for line in card.notices if line not in elsewhere))


def _counted(card: Scorecard) -> Iterator[str]:
    number = in_quarantine(card)
    if number:
        verb, they = ("is", "it") if number == 1 else ("are", "them")
        left_out = [f"{gate.id} {gate.quarantined}" for gate in card.gates if gate.quarantined]
        some = f" (left out: {', '.join(left_out)})" if left_out else ""
        yield (
            f"{count(number, 'case')} {verb} in quarantine: asked and scored, but no gate looks at {they}{some}; "
            "who, why and until when stands under Quarantine"
        )
