"""What a judge is to score, written out as the lines that a `precomputed` judge reads back."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from releasecheck.canonical import dump_line
from releasecheck.errors import UsageError
from releasecheck.model.record import OutputRecord, ScoreRecord, read_record
from releasecheck.model.score import Scored
from releasecheck.model.table import ANSWERED, NOT_APPLICABLE, PENDING
from releasecheck.pipeline.choosing import judge_named
from releasecheck.pipeline.folders import ledger_files, open_bundle
from releasecheck.pipeline.lines import Lines
from releasecheck.pipeline.remaining import merge_files, stored_output

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from releasecheck.canonical import Json
    from releasecheck.model.case import Case
    from releasecheck.pipeline.folders import PlanFolder
    from releasecheck.pipeline.remaining import Recorded


def hand_out(out: Path, judge: str, *, everything: bool) -> Iterator[bytes]:
    """One line for each answer that the judge owes a score for, or (`everything`) that it was given.

    `id`, `trial`, `output_digest`, `judge`, `value` and `explanation` are the format that comes back;
    `input`, `output` and `expected` are there for whoever judges.

    Raises:
        NotResumable: there is no run in `out`.
        UsageError: the plan has no such judge, or nothing is recorded yet.
        Untrusted: plan or records contradict themselves.
    """
    bundle, folder = open_bundle(out)
    position = folder.plan.judges.index(judge_named(judge, folder.plan.judges, out))
    if not bundle.results.is_dir():
        message = f"{bundle.results}: nothing is recorded yet; `releasecheck resume {out}`"
        raise UsageError(message)
    recorded = merge_files(folder, ledger_files([bundle.results]))
    return _lines(folder, recorded, position, everything=everything)


def _lines(
    folder: PlanFolder, recorded: Recorded, judge: int, *, everything: bool
) -> Iterator[bytes]:
    table = recorded.merged.table
    with Lines(recorded) as lines:
        for at, case in enumerate(folder.in_plan_order()):
            for trial in range(table.trials):
                state = table.state[at, trial, judge]
                wanted = state != NOT_APPLICABLE if everything else state == PENDING
                if wanted and table.target[at, trial] == ANSWERED:
                    yield dump_line(_line(recorded, case, (at, trial, judge), lines))


def _line(
    recorded: Recorded, case: Case, at: tuple[int, int, int], lines: Lines
) -> dict[str, Json]:
    table = recorded.merged.table
    output, output_digest = _output(recorded, at, lines)
    value = float(table.value[at])
    return {
        "id": case.id,
        "trial": at[1],
        "judge": table.judges[at[2]],
        "output_digest": output_digest,
        "value": value if math.isfinite(value) else None,
        "explanation": _reason(recorded, at, lines),
        "input": case.input,
        "output": output,
        "expected": case.expected,
    }


def _output(recorded: Recorded, at: tuple[int, int, int], lines: Lines) -> tuple[Json, str | None]:
    if recorded.merged.stored[at[:2]]:
        stored = stored_output(recorded, at[0], at[1], lines)
        return stored.output, stored.digest
    # The answer was not kept: what is left can still be told apart by its digest.
    found = _record(recorded, recorded.merged.output_at[at[:2]].tolist(), lines)
    assert isinstance(found, OutputRecord)  # noqa: S101 - locators come from the merge
    return None, found.output_digest


def _reason(recorded: Recorded, at: tuple[int, int, int], lines: Lines) -> str | None:
    place = recorded.merged.score_at[at].tolist()
    if place[0] < 0:
        return None
    found = _record(recorded, place, lines)
    assert isinstance(found, ScoreRecord)  # noqa: S101 - as above
    return found.score.reason if isinstance(found.score, Scored) else None


def _record(recorded: Recorded, place: list[int], lines: Lines) -> object:
    return read_record(lines.at(place), recorded.paths[place[0]])
