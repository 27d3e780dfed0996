"""Which models answered and judged, as facts of a report."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

    from releasecheck.model.scorecard import Scorecard

_TOLD = 5


def model_facts(card: Scorecard) -> tuple[tuple[str, str], ...]:
    """(`Answered by`, `gpt-x / fp_1 (80), gpt-y (4)`), and the same of each judge that says it."""
    facts = []
    if card.models:
        facts.append(("Answered by", _words(card.models, card.more_models)))
    for judge, found in sorted(card.judge_models.items()):
        words = _words(found, card.more_judge_models.get(judge, 0))
        facts.append((f"{judge} judged by", words))
    return tuple(facts)


def _words(found: Mapping[str, int], others: int) -> str:
    busiest = sorted(found, key=lambda name: (-found[name], name))
    told = [f"{name[:80]} ({found[name]:,})" for name in busiest[:_TOLD]]
    others += sum(found[name] for name in busiest[_TOLD:])
    return ", ".join([*told, f"others ({others:,})"] if others else told)
