"""Merging under a later revision: outputs of the run, scores of the revision alone (contract section 4, G-20)."""

from __future__ import annotations

import itertools
from dataclasses import replace

import numpy as np
import pytest

from releasecheck.canonical import digest_bytes
from releasecheck.errors import ForeignRecord
from releasecheck.merge import merge_revision
from releasecheck.model.record import OUTPUT_LOST, FileHeader, Record
from releasecheck.model.score import Missing, Pending
from releasecheck.model.table import ANSWERED, MISSING, PENDING, SCORED, TARGET_FAILED
from tests.builders import (
    AT,
    MemoryFile,
    header,
    judge_failed,
    make_frame,
    make_plan,
    no_output,
    output,
    score,
)

OTHER = digest_bytes(b"another plan")
FRAME = make_frame(3, shards=1)
SECOND = make_plan(3, judges=("fresh",)).model_copy(
    update={"revision": 2, "revises": FRAME.plan.plan_digest, "plan_digest": OTHER}
)
RUN = MemoryFile(
    header(),
    output("c0"), score("c0", 0.0),
    output("c1"), score("c1", judge_failed()),
    no_output("c2"),
)  # fmt: skip


def head(attempt: int = 1, revision: int = 2) -> FileHeader:
    return replace(header(None, attempt, plan_digest=OTHER), revision=revision)


def rescored(*records: Record, attempt: int = 1) -> MemoryFile:
    return MemoryFile(head(attempt), *records, name=f"rescore-2.attempt-{attempt}.jsonl")


def fresh(case: str, result: object = 1.0, **more: object) -> Record:
    return score(case, result, judge="fresh", revision=2, **more)  # type: ignore[arg-type]


def test_merge_revision__scores_of_the_run_do_not_count() -> None:
    found = merge_revision(FRAME.plan, SECOND, FRAME.cases, FRAME.shard_of, [RUN])
    table = found.table
    assert table.judges == ("fresh",)
    assert table.target[:, 0].tolist() == [ANSWERED, ANSWERED, TARGET_FAILED]
    assert table.state[:2, 0, 0].tolist() == [MISSING, MISSING]
    # Nobody calls the target for a revision, so what it did not answer is nothing to mend.
    assert table.mendable[:, 0, 0].tolist() == [True, True, False]
    assert found.stored[:, 0].tolist() == [True, True, False]
    assert (found.conflicts, found.duplicates) == ((), 0)


def test_merge_revision__its_own_scores_count_whatever_the_order_of_files() -> None:
    sources = [
        RUN,
        rescored(fresh("c0"), fresh("c1", judge_failed())),
        rescored(fresh("c1", 0.5), attempt=2),
        MemoryFile(head(1, revision=3), name="rescore-3.attempt-1.jsonl"),
    ]
    for order in itertools.permutations(sources):
        found = merge_revision(FRAME.plan, SECOND, FRAME.cases, FRAME.shard_of, order)
        assert found.table.state[:2, 0, 0].tolist() == [SCORED, SCORED]
        assert found.table.value[:2, 0, 0].tolist() == [1.0, 0.5]
        assert not found.table.mendable.any()
        assert [seen.revision for seen in found.files] == [1, 2, 2]
        names = [order[place[0]] for place in found.score_at[:2, 0, 0].tolist()]
        assert names == [sources[1], sources[2]]


def test_merge_revision__takes_the_output_that_counted_in_the_run() -> None:
    """An answer that was asked again since the one before was lost, and one that came second."""
    again = output("c0", "again", attempt=2, notes=(OUTPUT_LOST,))
    sources = [
        MemoryFile(header(), output("c0", "lost", stored=False), output("c1", "first")),
        MemoryFile(header(attempt=2), again, output("c1", "second", attempt=2)),
        rescored(fresh("c0", of="again"), fresh("c1", of="second")),
    ]
    found = merge_revision(FRAME.plan, SECOND, FRAME.cases, FRAME.shard_of, sources)
    assert found.table.state[:2, 0, 0].tolist() == [SCORED, MISSING]
    assert found.outputs_lost == 1
    assert found.output_at[:2, 0, 0].tolist() == [1, 0]


def test_merge_revision__pending_and_given_up_scores() -> None:
    sources = [
        RUN,
        rescored(fresh("c0", Pending("t1")), fresh("c1", Missing("output_not_stored"))),
    ]
    found = merge_revision(FRAME.plan, SECOND, FRAME.cases, FRAME.shard_of, sources)
    assert found.table.state[:2, 0, 0].tolist() == [PENDING, MISSING]
    assert found.table.mendable[:2, 0, 0].tolist() == [True, False]
    assert found.given_up == {("fresh", "output_not_stored"): 1}
    assert found.last_sent == {"fresh": AT}
    assert np.isnan(found.judge_usage).all()


@pytest.mark.parametrize(
    "stranger",
    [
        rescored(output("c0")),
        rescored(score("c0", judge="fresh", revision=1)),
        rescored(score("c0", judge="exact", revision=2)),
        MemoryFile(replace(head(), shard=0), name="shard-0000.attempt-1.jsonl"),
        MemoryFile(replace(head(), plan_digest=FRAME.plan.plan_digest), name="another plan"),
        MemoryFile(replace(header(), plan_digest=OTHER), name="of the first"),
    ],
    ids=["an output", "another revision", "another judge", "a shard", "the plan before", "the run"],
)
def test_merge_revision__refuses_strangers(stranger: MemoryFile) -> None:
    with pytest.raises(ForeignRecord):
        merge_revision(FRAME.plan, SECOND, FRAME.cases, FRAME.shard_of, [RUN, stranger])
