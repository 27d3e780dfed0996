"""What a judge written by others is asked: one mapping, the same for every kind."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from releasecheck.canonical import Json
    from releasecheck.ports import JudgeAsk


def question(ask: JudgeAsk) -> dict[str, Json]:
    """`{case: {id, input, expected, metadata}, output, trial}`."""
    case = ask.case
    return {
        "case": {
            "id": case.id,
            "input": case.input,
            "expected": case.expected,
            "metadata": dict(case.metadata),
        },
        "output": ask.output,
        "trial": ask.trial,
    }
