"""The target of a suite that was made from a log: it gives the recorded answers, and the recorded failures."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final, TypeAlias

from releasecheck.canonical import digest
from releasecheck.importers.imported import lines_bytes

if TYPE_CHECKING:
    from releasecheck.canonical import Json

WRITTEN: Final = Path(__file__).with_name("written")
"""Modules that go into imported suites as they are."""
MODULE: Final = "replay.py"
OUTPUTS: Final = "outputs.jsonl"
SCORES: Final = "scores.jsonl"
_LONGEST: Final = 2000
"""Characters of a recorded failure that are kept; logs hold whole tracebacks."""


@dataclass(frozen=True, slots=True)
class Answered:
    """An answer that a log holds."""

    output: Json
    tokens: int | None = None
    """What it used, where the log says so."""


@dataclass(frozen=True, slots=True)
class Failed:
    """A failure that a log holds in place of an answer."""

    message: str


Recorded: TypeAlias = Answered | Failed


@dataclass(frozen=True, slots=True)
class Reply:
    """What a log holds for one case and trial."""

    case: str
    trial: int
    """From 0."""
    recorded: Recorded


@dataclass(frozen=True, slots=True)
class Score:
    """A score that a log holds."""

    reply: Reply
    """What was scored: the score counts for that very answer only."""
    judge: str
    value: float | bool | None
    """None where the log holds no number: nobody has judged."""
    explanation: str | None = None


def replay_target() -> dict[str, Json]:
    """The suite's `target:` section; needs the files of `replay_files` beside the suite."""
    return {
        "id": "recorded",
        "type": "python",
        "function": "replay:answer",
        "output": "output",
        "usage": {"tokens": "usage.total_tokens"},
    }


def replay_files(replies: Iterable[Reply]) -> dict[str, bytes]:
    """The module that answers, and what it answers, by file name."""
    return {
        MODULE: (WRITTEN / "replay.py").read_bytes(),
        OUTPUTS: lines_bytes(_row(reply) for reply in replies),
    }


def _row(reply: Reply) -> dict[str, Json]:
    row: dict[str, Json] = {"id": reply.case, "trial": reply.trial}
    if isinstance(reply.recorded, Failed):
        return {**row, "failure": reply.recorded.message[:_LONGEST] or "no reason given"}
    row["output"] = reply.recorded.output
    if reply.recorded.tokens is not None:
        row["usage"] = {"total_tokens": reply.recorded.tokens}
    return row


def scores_file(scores: Iterable[Score]) -> bytes:
    """The lines that `precomputed` judges read; a score of a failed call is none, since there is no answer."""
    return lines_bytes(_score_row(score) for score in scores)


def _score_row(score: Score) -> dict[str, Json]:
    row: dict[str, Json] = {
        "id": score.reply.case,
        "trial": score.reply.trial,
        "judge": score.judge,
        "value": score.value,
    }
    if isinstance(score.reply.recorded, Answered):
        row["output_digest"] = digest(score.reply.recorded.output)
    if score.explanation:
        row["explanation"] = score.explanation[:_LONGEST]
    return row
