"""evaluator@2 by its name: who speaks another contract is refused, and told which one (S1-14, S1-15)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from releasecheck.judges.outcome import shown

if TYPE_CHECKING:
    from releasecheck.canonical import Json

CONTRACT: Final = "evaluator@2"
OUTDATED: Final = "evaluator@1"
MOST_TICKETS: Final = 50
"""Tickets in one question (S1-39)."""
REFUSED: Final = "contract_refused"
UNKNOWN: Final = "contract_unknown"


def refusal(found: Json) -> str:
    """Why a judge with another contract is not asked, and what to do."""
    if found == OUTDATED:
        return (
            f"it speaks {OUTDATED}, which is refused: there every answer comes at once, so that a score "
            f"which takes longer is lost. Change the judge to {CONTRACT} (docs/evaluator-protocol.md) and "
            "try it with `releasecheck judge check`"
        )
    return (
        f"it speaks the contract {shown(found)}; expected {CONTRACT} (docs/evaluator-protocol.md). "
        "Is this the address of a judge?"
    )
