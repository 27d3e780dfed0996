"""What is known of a bridge to an earlier run before anything is called."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from releasecheck.config.nodes import problem_at
from releasecheck.model.bridge import SIDES
from releasecheck.model.results import ResultRow
from releasecheck.model.table import ANSWERED
from releasecheck.pipeline.bridging import judged_anew_by
from releasecheck.pipeline.files import parse_document, read_lines
from releasecheck.pipeline.rows import target_state
from releasecheck.stats import count, names

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from releasecheck.config import LoadedSuite
    from releasecheck.model.bridge import Side
    from releasecheck.model.plan import Plan
    from releasecheck.pipeline.baselines import BaselineFiles


def with_bridge_notes(
    plan: Plan, loaded: LoadedSuite, earlier: Mapping[Side, BaselineFiles | None]
) -> LoadedSuite:
    """The suite, with a note for each run that is to be judged anew and whose outputs are not there."""
    if not plan.baseline_rule.rejudge_baseline:
        return loaded
    key = ("baseline", "rejudge_baseline")
    found = [problem_at(loaded.document, key, text) for text in _unstored(plan, earlier)]
    return replace(loaded, notes=(*loaded.notes, *found)) if found else loaded


def _unstored(plan: Plan, earlier: Mapping[Side, BaselineFiles | None]) -> Iterator[str]:
    for side in SIDES:
        files = earlier.get(side)
        if files is None:
            continue
        judges = judged_anew_by(plan, side, parse_document(files.data["manifest.json"], side))
        gone = _gone(files, side) if judges else 0
        if gone:
            yield (
                f"{count(gone, 'output')} of the {side} {files.manifest.run_id} were not stored, so that judge "
                f"{names(judges)} cannot read them, and the gates that compare it refuse; promote a run with "
                "`store_outputs: full`, or one that this judge scored"
            )


def _gone(files: BaselineFiles, side: Side) -> int:
    rows = (ResultRow.from_json(row) for row in read_lines(files.data["results.jsonl"], side))
    return sum(row.output is None and target_state(row) == ANSWERED for row in rows)
