"""What is left to do: plan minus ledger, worked out anew each time (S0-13, S0-26)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, TypeAlias

import numpy as np

from releasecheck.canonical import digest
from releasecheck.engine import Stored, Trial
from releasecheck.errors import DigestMismatch
from releasecheck.merge import merge, merge_revision
from releasecheck.model.table import ANSWERED, PENDING
from releasecheck.pipeline.folders import open_ledgers, revision_of
from releasecheck.pipeline.lines import Lines

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from releasecheck.merge import Merged
    from releasecheck.model.case import Case
    from releasecheck.model.table import Flags
    from releasecheck.pipeline.folders import PlanFolder

JudgesAsked: TypeAlias = Literal["all", "none", "only"]
"""all: target and judges. none: the target only. only: judges on stored outputs."""


@dataclass(frozen=True, slots=True)
class Recorded:
    """A merged ledger and the files it came from."""

    merged: Merged
    paths: tuple[Path, ...]
    """By source index."""


def merge_files(folder: PlanFolder, paths: Sequence[Path]) -> Recorded:
    """Merge ledger files under a plan (see `releasecheck.merge.merge` for what is refused).

    Files of later revisions than the plan's are left out.
    """
    plan = folder.plan
    cases, shard_of = folder.rows
    paths = [path for path in paths if revision_of(path) <= plan.revision]
    sources = open_ledgers(paths)
    if folder.earlier:
        first = folder.earlier[0]
        merged = merge_revision(first, plan, cases, shard_of, sources, folder.bridge.bridge)
    else:
        merged = merge(plan, cases, shard_of, sources, folder.bridge.bridge)
    return Recorded(merged, tuple(paths))


def stored_output(recorded: Recorded, case: int, trial: int, lines: Lines) -> Stored:
    """The output on record that counts, its content checked against its digest.

    Raises:
        DigestMismatch: the content was changed.
    """
    place = recorded.merged.output_at[case, trial].tolist()
    row = lines.at(place)
    found = digest(row["output"])
    if found != row["output_digest"]:
        what = f"{recorded.paths[place[0]]}: the output of case {row['case'][:80]!r}"
        raise DigestMismatch(what, found=found, expected=row["output_digest"])
    return Stored(row["output"], found)


def open_trials(recorded: Recorded, asked: JudgesAsked) -> Flags:
    """[C, T]: whether a (case, trial) has something to do."""
    table = recorded.merged.table
    # A pending pair is not asked again: its ticket is open, and settling asks for it.
    unsettled = table.mendable & np.not_equal(table.state, PENDING)
    todo: Flags = np.logical_or.reduce(unsettled, axis=2)
    answered: Flags = np.equal(table.target, ANSWERED)
    if asked == "none":
        return todo & ~answered
    if asked == "only":
        return todo & answered & recorded.merged.stored
    return todo


def asked_for(recorded: Recorded) -> JudgesAsked:
    """Who has to be asked for what is open: judges only, where no answer of the target is lacking."""
    answered: Flags = np.equal(recorded.merged.table.target, ANSWERED)
    here = answered & recorded.merged.stored
    return "all" if np.any(open_trials(recorded, "all") & ~here) else "only"


def remaining(
    folder: PlanFolder,
    recorded: Recorded,
    cases: Iterator[Case],
    asked: JudgesAsked,
    *,
    at_most: int | None = None,
) -> Iterator[Trial]:
    """The (case, trial)s of `cases` with something to do, in their order, content read lazily."""
    todo = open_trials(recorded, asked)
    every = tuple(recorded.merged.table.judges) if asked != "none" else ()
    unanswered: Flags = np.not_equal(recorded.merged.table.target, ANSWERED)
    # As bytes: looking one flag up in an array costs many times more.
    new, open_, trials = unanswered.tobytes(), todo.tobytes(), folder.plan.trials
    given = 0
    with Lines(recorded) as lines:
        for position, case in enumerate(cases):
            batch = position // folder.plan.batch
            for trial in range(trials):
                at = case.index * trials + trial
                if not open_[at]:
                    continue
                if at_most is not None and given >= at_most:
                    return
                given += 1
                if new[at]:
                    yield Trial(case, trial, batch, None, every)
                else:
                    yield _answered_trial(recorded, case, trial, batch, every, lines)


def _answered_trial(
    recorded: Recorded,
    case: Case,
    trial: int,
    batch: int,
    every: tuple[str, ...],
    lines: Lines,
) -> Trial:
    table = recorded.merged.table
    if not recorded.merged.stored[case.index, trial]:
        # The answer was not kept: ask again, and judge the new one whole.
        return Trial(case, trial, batch, None, every, output_lost=True)
    todo = table.mendable[case.index, trial] & (table.state[case.index, trial] != PENDING)
    judges = tuple(table.judges[judge] for judge in np.flatnonzero(todo).tolist())
    stored = stored_output(recorded, case.index, trial, lines)
    return Trial(case, trial, batch, stored, judges)
