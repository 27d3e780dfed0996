"""Merge, rule by rule (contract section 4)."""

from __future__ import annotations

import itertools
from dataclasses import replace

import numpy as np
import pytest

from releasecheck.canonical import digest
from releasecheck.errors import CorruptLedger, ForeignRecord, Untrusted
from releasecheck.merge import Deadline, Merged
from releasecheck.model.judge import (
    ExactJudge,
    Judge,
    PythonJudge,
    RankJudge,
    Sentinel,
    SimilarityJudge,
)
from releasecheck.model.record import (
    NO_USAGE,
    OUTPUT_LOST,
    FileHeader,
    Record,
    SentinelRecord,
    Usage,
)
from releasecheck.model.score import Missing, Pending, Score, Scored
from releasecheck.model.scorecard import Conflict
from releasecheck.model.table import (
    ANSWERED,
    FAILED,
    MISSING,
    NO_OUTPUT,
    NOT_APPLICABLE,
    PENDING,
    SCORED,
    STATES,
    TARGET_FAILED,
)
from tests import builders
from tests.builders import (
    DEADLINE,
    Frame,
    MemoryFile,
    deadline,
    header,
    judge_failed,
    late,
    make_frame,
    no_output,
    output,
    score,
)


def state_of(merged: Merged, case: int = 0, judge: int = 0) -> str:
    return STATES[merged.table.state[case, 0, judge]]


def one(frame: Frame, *records: Record, shard: int | None = 0, attempt: int = 1) -> MemoryFile:
    return MemoryFile(frame.header(shard, attempt), *records)


# What is there, what is missing: S0-28, X-14, G-28, B64, C-04


def test_merge__of_nothing_is_a_run_in_which_everything_is_missing() -> None:
    """G-28, C-04: a shard that died before its first record leaves no file."""
    merged = make_frame(3, trials=2, judges=("exact", "cites")).merge()
    table = merged.table
    assert table.pairs == 12
    assert (table.state == MISSING).all()
    assert table.mendable.all()
    assert (table.target == NO_OUTPUT).all()
    assert np.isnan(table.value).all()
    assert (table.passed == -1).all()
    assert (merged.output_at == -1).all()
    assert (merged.score_at == -1).all()
    assert merged.recorded_pairs == 0
    assert merged.answered_in_shard == (0,)


def test_merge__of_a_plan_without_cases() -> None:
    """S0-20: nothing was planned, so nothing is there, and nobody divides by it."""
    frame = make_frame(0, shards=2)
    merged = frame.merge(one(frame), one(frame, shard=1))
    assert merged.table.pairs == merged.recorded_pairs == 0
    assert merged.table.state.shape == merged.table.passed.shape == (0, 1, 1)
    assert merged.answered_in_shard == (0, 0)


def test_merge__a_planned_pair_without_a_record_is_missing_never_absent() -> None:
    """B64, X-14: the states always add up to what was planned."""
    frame = make_frame(4)
    merged = frame.merge(
        one(frame, output("c0"), score("c0"), output("c2"), score("c2", 0.0), output("c3"))
    )
    assert merged.table.state[:, 0, 0].tolist() == [SCORED, MISSING, SCORED, MISSING]
    assert merged.table.target[:, 0].tolist() == [ANSWERED, NO_OUTPUT, ANSWERED, ANSWERED]
    assert merged.table.mendable[:, 0, 0].tolist() == [False, True, False, True]
    assert merged.table.passed[:, 0, 0].tolist() == [1, -1, 0, -1]
    assert merged.recorded_pairs == 2


def test_merge__a_lost_shard_leaves_its_cases_missing() -> None:
    """G-28, C-11."""
    frame = make_frame(4, shards=2)
    merged = frame.merge(one(frame, output("c1"), score("c1"), output("c3"), score("c3"), shard=1))
    assert merged.table.state[:, 0, 0].tolist() == [MISSING, SCORED, MISSING, SCORED]
    assert merged.answered_in_shard == (0, 2)


def test_merge__a_judge_that_never_ran_leaves_no_pass_behind() -> None:
    """B65: both judges are planned, one has no record at all."""
    frame = make_frame(1, judges=("exact", "cites"))
    merged = frame.merge(one(frame, output(), score(judge="cites")))
    assert (state_of(merged, judge=0), state_of(merged, judge=1)) == ("missing", "scored")
    assert merged.table.passed[0, 0].tolist() == [-1, 1]
    assert merged.table.mendable[0, 0].tolist() == [True, False]


def test_merge__an_output_without_scores_is_kept_for_the_judges() -> None:
    """C-05: killed between the target's answer and the judge."""
    frame = make_frame(1)
    merged = frame.merge(one(frame, output()))
    assert merged.table.target[0, 0] == ANSWERED
    assert merged.stored[0, 0]
    assert merged.output_at[0, 0].tolist() == [0, 1]
    assert merged.table.mendable[0, 0, 0]


def test_merge__a_score_whose_output_is_not_on_record_does_not_count() -> None:
    frame = make_frame(1)
    merged = frame.merge(one(frame, score(), shard=None))
    assert state_of(merged) == "missing"
    assert merged.table.mendable[0, 0, 0]


def test_merge__a_file_whose_header_was_never_completed_is_named() -> None:
    """C-04."""
    merged = make_frame(1).merge(MemoryFile(None, name="shard-0000.attempt-1.jsonl", torn=True))
    assert merged.unreadable == ("shard-0000.attempt-1.jsonl",)
    assert state_of(merged) == "missing"


def test_merge__says_what_each_file_brought() -> None:
    frame = make_frame(2, shards=2)
    files = [
        MemoryFile(frame.header(None, 1), score("c0", 1.0), name="finish"),
        MemoryFile(frame.header(1, 1), output("c1"), name="b", ended=False, torn=True),
        MemoryFile(frame.header(0, 1), output("c0"), score("c0"), name="a"),
    ]
    merged = frame.merge(*files)
    assert [(seen.name, seen.shard, seen.attempt, seen.records) for seen in merged.files] == [
        ("a", 0, 1, 2),
        ("b", 1, 1, 1),
        ("finish", None, 1, 1),
    ]
    assert [(seen.ended, seen.torn, seen.source) for seen in merged.files] == [
        (True, False, 2),
        (False, True, 1),
        (True, False, 0),
    ]
    assert merged.duplicates == 1
    assert merged.score_at[0, 0, 0].tolist() == [2, 2]


# Which output counts: X-13, G-35


def test_merge__the_output_of_the_lowest_attempt_that_succeeded_counts() -> None:
    frame = make_frame(1)
    merged = frame.merge(
        one(frame, no_output(), attempt=1),
        one(frame, output(content="second"), score(of="second", result=0.0), attempt=2),
        one(frame, output(content="third"), score(of="third", result=1.0), attempt=3),
    )
    assert merged.table.value[0, 0, 0] == 0.0
    assert merged.output_at[0, 0].tolist() == [1, 1]


def test_merge__times_are_no_identity() -> None:
    """G-35: whatever the clocks of machines said, the attempt decides."""
    frame = make_frame(1)
    files = [
        MemoryFile(
            header(0, attempt, started_at=f"2026-01-0{9 - attempt}T00:00:00.000Z"),
            output(),
            score(result=attempt / 10, at=f"2026-01-0{9 - attempt}T00:00:00.000Z"),
        )
        for attempt in (1, 2, 3)
    ]
    for order in itertools.permutations(files):
        assert frame.merge(*order).table.value[0, 0, 0] == 0.1


def test_merge__shard_goes_before_finish_of_the_same_attempt() -> None:
    frame = make_frame(1)
    shard = one(frame, output(content="shard"), score(of="shard", result=0.25))
    finish = one(frame, output(content="finish"), score(of="finish", result=0.75), shard=None)
    assert frame.merge(finish, shard).table.value[0, 0, 0] == 0.25


def test_merge__finish_of_an_earlier_attempt_goes_before_a_later_shard() -> None:
    frame = make_frame(1)
    finish = one(frame, output(content="finish"), score(of="finish", result=0.75), shard=None)
    shard = one(frame, output(content="shard"), score(of="shard", result=0.25), attempt=2)
    assert frame.merge(shard, finish).table.value[0, 0, 0] == 0.75


def test_merge__only_scores_of_the_output_that_counts() -> None:
    """A re-run asked again what another machine had recorded; its scores are of another answer."""
    frame = make_frame(1, judges=("exact", "cites"))
    merged = frame.merge(
        one(frame, output(content="first"), score(of="first")),
        one(frame, output(content="second"), score(of="second", judge="cites"), attempt=2),
    )
    assert state_of(merged, judge=0) == "scored"
    assert state_of(merged, judge=1) == "missing"
    assert merged.conflicts == ()


def test_merge__with_no_output_the_failure_of_the_highest_attempt_stands() -> None:
    frame = make_frame(1)
    attempts = [
        one(frame, no_output(retryable=True), attempt=1),
        one(frame, no_output(retryable=False), attempt=2),
    ]
    merged = frame.merge(*attempts[::-1])
    assert merged.table.target[0, 0] == TARGET_FAILED
    assert state_of(merged) == "failed"
    assert not merged.table.mendable[0, 0, 0]
    assert merged.output_at[0, 0].tolist() == [0, 1]
    assert merged.recorded_pairs == 1
    assert frame.merge(attempts[0]).table.mendable[0, 0, 0]


def test_merge__latency_and_cost_of_a_failed_call_are_missing_not_zero() -> None:
    frame = make_frame(2)
    spent = output("c1", latency_ms=12.5, usage=Usage(tokens=7, cost_usd=0.5))
    timed = no_output("c0")._replace(latency_ms=5.0)
    table = frame.merge(one(frame, timed, spent)).table
    assert np.isnan(table.latency_ms[0, 0])
    assert np.isnan(table.cost_usd[0, 0])
    assert (table.latency_ms[1, 0], table.cost_usd[1, 0], table.tokens[1, 0]) == (12.5, 0.5, 7)


def test_merge__a_re_run_repairs_a_failed_target() -> None:
    frame = make_frame(1)
    merged = frame.merge(one(frame, no_output()), one(frame, output(), score(), attempt=2))
    assert (state_of(merged), merged.table.mendable[0, 0, 0]) == ("scored", False)


# Outputs that were not stored and asked again


def test_merge__an_output_asked_again_takes_the_place_of_a_lost_one() -> None:
    """The first answer was never stored, so its second judge can no longer read it."""
    frame = make_frame(1, judges=("exact", "cites"), store_outputs="digest")
    first = one(
        frame,
        output(content="first", stored=False),
        score(of="first", result=1.0),
        score(of="first", result=judge_failed(), judge="cites"),
    )
    again = one(
        frame,
        output(content="second", notes=(OUTPUT_LOST,)),
        score(of="second", result=0.0),
        score(of="second", result=0.5, judge="cites"),
        attempt=2,
    )
    for files in ((first, again), (again, first)):
        merged = frame.merge(*files)
        assert merged.table.value[0, 0].tolist() == [0.0, 0.5]
        assert merged.outputs_lost == 1
        # The answer that was measured before is named: nobody re-rolls in silence.
        assert merged.conflicts == (
            Conflict(case="c0", trial=0, judge="exact", counted=0.0, other=1.0),
        )


def test_merge__an_output_that_every_judge_measured_is_never_replaced() -> None:
    frame = make_frame(1, store_outputs="digest")
    merged = frame.merge(
        one(frame, output(content="first", stored=False), score(of="first", result=0.0)),
        one(frame, output(content="second", notes=(OUTPUT_LOST,)), score(of="second"), attempt=2),
    )
    assert merged.table.value[0, 0, 0] == 0.0
    assert merged.outputs_lost == 0
    assert len(merged.conflicts) == 1


def test_merge__a_lost_output_that_came_back_the_same_can_be_judged() -> None:
    frame = make_frame(1, judges=("exact", "cites"), store_outputs="digest")
    merged = frame.merge(
        one(frame, output(stored=False), score()),
        one(frame, output(notes=(OUTPUT_LOST,)), attempt=2),
    )
    assert merged.stored[0, 0]
    assert merged.output_at[0, 0].tolist() == [1, 1]
    assert merged.table.state[0, 0].tolist() == [SCORED, MISSING]
    assert merged.outputs_lost == 1


@pytest.mark.parametrize("stored", [True, False])
def test_merge__does_not_depend_on_what_purging_removes(stored: bool) -> None:
    """A later answer does not get its turn because the earlier one was purged."""
    frame = make_frame(1, judges=("exact", "cites"))
    merged = frame.merge(
        one(frame, output(content="first", stored=stored), score(of="first", result=0.0)),
        one(
            frame,
            output(content="second", stored=stored),
            score(of="second"),
            score(of="second", judge="cites"),
            attempt=2,
        ),
    )
    assert merged.table.state[0, 0].tolist() == [SCORED, MISSING]
    assert merged.table.value[0, 0, 0] == 0.0
    assert merged.stored[0, 0] == stored


# Which score counts: S0-26, S0-27

T1, T2 = Pending("t1"), Pending("t2")
PRECEDENCE = [
    pytest.param([1.0, DEADLINE], "scored", False, id="measured-missing"),
    pytest.param([DEADLINE, 1.0], "scored", False, id="missing-measured"),
    pytest.param([builders.NOT_APPLICABLE, T1], "not-applicable", False, id="not-applicable"),
    pytest.param([T1, 0.0], "scored", False, id="pending-measured"),
    pytest.param([judge_failed(), 0.0], "scored", False, id="failed-measured"),
    pytest.param([0.0, judge_failed()], "scored", False, id="measured-failed"),
    pytest.param([T1], "pending", True, id="pending"),
    pytest.param([judge_failed()], "failed", True, id="failed"),
    pytest.param([judge_failed(retryable=False)], "failed", False, id="failed-for-good"),
    pytest.param([judge_failed(), judge_failed(retryable=False)], "failed", False, id="last-failure"),
    pytest.param([judge_failed(retryable=False), judge_failed()], "failed", True, id="last-retryable"),
    pytest.param([DEADLINE], "missing", False, id="missing"),
    pytest.param([judge_failed(), DEADLINE], "missing", False, id="failed-missing"),
    pytest.param([DEADLINE, judge_failed()], "missing", False, id="missing-failed"),
    pytest.param([judge_failed(), T1], "pending", True, id="failed-pending"),
    pytest.param([T1, judge_failed()], "pending", True, id="pending-failed"),
    pytest.param([T1, (DEADLINE, "t1")], "missing", False, id="own-ticket-missing"),
    pytest.param([(DEADLINE, "t1"), T1], "missing", False, id="missing-then-its-pending"),
    pytest.param([T1, (DEADLINE, "t1"), T2], "pending", True, id="missing-of-an-earlier-ticket"),
    pytest.param([T1, T2, (DEADLINE, "t1")], "pending", True, id="missing-of-one-of-two-tickets"),
    pytest.param(
        [T1, (DEADLINE, "t1"), T2, (DEADLINE, "t2")], "missing", False, id="both-tickets-missing"
    ),
    pytest.param([T1, DEADLINE], "pending", True, id="missing-without-ticket"),
    pytest.param([T1, (judge_failed(), "t1")], "failed", True, id="ticket-answered-failed"),
    pytest.param(
        [T1, (judge_failed(retryable=False), "t1")], "failed", False, id="ticket-failed-for-good"
    ),
    pytest.param([T1, (judge_failed(), "t2")], "pending", True, id="another-ticket-failed"),
    pytest.param([T1, (judge_failed(), "t1"), T1], "pending", True, id="same-ticket-open-again"),
    pytest.param([T1, (judge_failed(), "t1"), T2], "pending", True, id="new-ticket-after-failed"),
    pytest.param(
        [T1, (DEADLINE, "t1"), (judge_failed(), "t1")], "missing", False, id="failed-after-missing"
    ),
]  # fmt: skip


@pytest.mark.parametrize(("results", "expected", "mendable"), PRECEDENCE)
@pytest.mark.parametrize("spread", ["lines", "attempts"])
def test_merge__precedence_of_states(
    results: list[Score | float | tuple[Score, str]], expected: str, mendable: bool, spread: str
) -> None:
    frame = make_frame(1)
    records = [
        score(result=result[0], ticket=result[1])
        if isinstance(result, tuple)
        else score(result=result)
        for result in results
    ]
    if spread == "lines":
        files = [one(frame, output(), *records)]
    else:
        files = [one(frame, output())]
        files += [one(frame, record, attempt=at) for at, record in enumerate(records, start=2)]
    merged = frame.merge(*reversed(files))
    assert state_of(merged) == expected
    assert merged.table.mendable[0, 0, 0] == mendable
    assert (merged.tickets != {}) == (expected == "pending")


def test_merge__of_several_open_tickets_the_first_recorded_is_asked_for() -> None:
    """C-07: a judge asked again may give a second ticket, or the first one again."""
    frame = make_frame(1)
    files = [
        one(frame, output(), score(result=T2)),
        one(frame, score(result=T1), attempt=2),
        one(frame, score(result=T2), attempt=3),
    ]
    merged = frame.merge(*reversed(files))
    assert merged.tickets == {(0, 0, 0): "t2"}
    assert merged.score_at[0, 0, 0].tolist() == [2, 2]


@pytest.mark.parametrize(
    ("result", "attempt"),
    [
        (1.0, 2),
        (builders.NOT_APPLICABLE, 2),
        (DEADLINE, 2),
        (T1, 2),
        (judge_failed(), 4),
    ],
    ids=["scored", "not-applicable", "missing", "pending", "failed"],
)
def test_merge__of_equals_the_first_is_shown_and_of_failures_the_last(
    result: Score | float, attempt: int
) -> None:
    frame = make_frame(1)
    files = [one(frame, output())]
    files += [one(frame, score(result=result), attempt=at) for at in (2, 3, 4)]
    merged = frame.merge(*files)
    assert merged.score_at[0, 0, 0].tolist() == [attempt - 1, 1]


def test_merge__the_first_measurement_counts_and_a_different_one_is_a_conflict() -> None:
    """B95, S0-27: an old failure does not hide, and neither does a new one."""
    frame = make_frame(["c3", "c4"])
    first = one(frame, *[record for name in ("c3", "c4") for record in (output(name), score(name))])
    second = one(frame, output("c3"), score("c3"), output("c4"), score("c4", 0.0), attempt=2)
    for files in ((first, second), (second, first)):
        merged = frame.merge(*files)
        assert merged.table.value[:, 0, 0].tolist() == [1.0, 1.0]
        assert merged.conflicts == (
            Conflict(case="c4", trial=0, judge="exact", counted=1.0, other=0.0),
        )
        assert merged.duplicates == 1


def test_merge__measurements_of_different_outputs_are_one_conflict() -> None:
    """B95: a target that answers differently each time, measured by two attempts."""
    frame = make_frame(2)
    merged = frame.merge(
        one(frame, output("c0", "a"), score("c0", of="a"), output("c1", "a"), score("c1", of="a")),
        one(
            frame,
            output("c0", "b"),
            score("c0", 1.0, of="b"),
            output("c1", "b"),
            score("c1", 0.0, of="b"),
            attempt=2,
        ),
    )
    assert [(conflict.case, conflict.other) for conflict in merged.conflicts] == [("c1", 0.0)]
    assert merged.duplicates == 0


@pytest.mark.parametrize(
    ("first", "second", "expected"),
    [
        (1.0, builders.NOT_APPLICABLE, [(1.0, None)]),
        (builders.NOT_APPLICABLE, 0.0, [(None, 0.0)]),
        (builders.NOT_APPLICABLE, builders.NOT_APPLICABLE, []),
        (0.0, -0.0, []),
        (0.1, 0.1, []),
        (0.1, 0.1 + 2**-50, [(0.1, 0.1 + 2**-50)]),
        (1.0, judge_failed(), []),
        (1.0, DEADLINE, []),
        (DEADLINE, 1.0, []),
    ],
)
def test_merge__what_is_a_conflict(
    first: Score | float, second: Score | float, expected: list[tuple[float | None, float | None]]
) -> None:
    frame = make_frame(1)
    merged = frame.merge(
        one(frame, output(), score(result=first)), one(frame, score(result=second), attempt=2)
    )
    assert [(found.counted, found.other) for found in merged.conflicts] == expected


def test_merge__the_same_contradiction_twice_is_one_conflict() -> None:
    frame = make_frame(1)
    merged = frame.merge(
        one(frame, output(), score(result=1.0)),
        *[
            one(frame, score(result=value), attempt=at)
            for at, value in ((2, 0.0), (3, 0.0), (4, 0.5))
        ],
    )
    assert [found.other for found in merged.conflicts] == [0.0, 0.5]


def test_merge__an_earlier_line_goes_before_a_later_one() -> None:
    frame = make_frame(1)
    merged = frame.merge(one(frame, output(), score(result=0.25), score(result=0.75)))
    assert merged.table.value[0, 0, 0] == 0.25
    assert len(merged.conflicts) == 1


def test_merge__late_scores_never_count() -> None:
    frame = make_frame(1)
    files = one(frame, output(), score(result=T1)), one(frame, late(), shard=None)
    assert state_of(frame.merge(*files)) == "pending"
    assert (
        state_of(frame.merge(*files, one(frame, score(result=DEADLINE, ticket="t1"), attempt=2)))
        == "missing"
    )


def test_merge__a_deadline_is_fixed_when_it_is_first_recorded() -> None:
    frame = make_frame(1, judges=("exact", "cites"))
    files = [
        one(frame, deadline("exact", "t1", "t2", at="2026-01-01T00:00:00Z"), shard=None),
        one(
            frame,
            deadline("exact", "t2", "t3", at="2026-01-02T00:00:00Z"),
            deadline("cites", "t1", at="2026-01-03T00:00:00Z"),
            shard=None,
            attempt=2,
        ),
    ]
    assert frame.merge(*reversed(files)).deadlines == (
        Deadline("cites", "t1", "2026-01-03T00:00:00Z"),
        Deadline("exact", "t1", "2026-01-01T00:00:00Z"),
        Deadline("exact", "t2", "2026-01-01T00:00:00Z"),
        Deadline("exact", "t3", "2026-01-02T00:00:00Z"),
    )


def test_merge__usage_of_the_score_that_counts() -> None:
    frame = make_frame(2)
    merged = frame.merge(
        one(
            frame, output("c0"), score("c0", usage=Usage(3, 0.25)), score("c0", usage=Usage(9, 9.0))
        )
    )
    assert merged.judge_usage[0, 0, 0].tolist() == [0.25, 3.0]
    assert np.isnan(merged.judge_usage[1]).all()


# Strangers: B92, B94, X-14, G-26


@pytest.mark.parametrize(
    ("stranger", "named"),
    [
        (header(run_id="rc-other"), "another run .'rc-other'"),
        (header(plan_digest="sha256:" + "9" * 64), "another plan digest"),
        (header(shards=2), "another number of shards"),
    ],
    ids=["run", "plan", "layout"],
)
def test_merge__refuses_a_file_of_another_run_or_plan(stranger: FileHeader, named: str) -> None:
    """B92: old partial results do not count after the plan changed."""
    with pytest.raises(ForeignRecord, match=rf"^theirs: it belongs to {named}"):
        make_frame(1).merge(MemoryFile(stranger, name="theirs"))


def test_merge__refuses_a_shard_beyond_the_plan() -> None:
    frame = make_frame(2, shards=2)
    with pytest.raises(ForeignRecord, match="it is of shard 2, the plan has 2"):
        frame.merge(one(frame, shard=2))


@pytest.mark.parametrize(
    ("record", "named"),
    [
        (output("stranger"), "case 'stranger', trial 0"),
        (output("c0", trial=1), "case 'c0', trial 1"),
        (no_output("stranger"), "case 'stranger'"),
        (score("stranger"), "case 'stranger'"),
        (score("c0", trial=5), "case 'c0', trial 5"),
        (score("c0", judge="other"), "judge 'other'"),
        (score("c0", revision=2), "revision 2"),
        (late("stranger"), "case 'stranger'"),
        (late(judge="other"), "judge 'other'"),
        (deadline("other", "t1"), "judge 'other'"),
        (output("c1"), "case 'c1', which the plan gives to shard 1, not to shard 0"),
        (score("c1"), "case 'c1', which the plan gives to shard 1, not to shard 0"),
    ],
)  # fmt: skip
def test_merge__refuses_a_record_the_plan_does_not_name(record: Record, named: str) -> None:
    """X-14: an extra, unplanned record is as bad as a missing one."""
    frame = make_frame(2, shards=2)
    with pytest.raises(ForeignRecord, match=named):
        frame.merge(one(frame, output("c0"), record))


def test_merge__finish_may_record_for_every_shard() -> None:
    frame = make_frame(2, shards=2)
    merged = frame.merge(one(frame, output("c0"), output("c1"), score("c1"), shard=None))
    assert merged.table.target[:, 0].tolist() == [ANSWERED, ANSWERED]


# Deliveries: S0-25, S0-26, B94


def test_merge__a_file_delivered_twice_changes_nothing() -> None:
    frame = make_frame(2, shards=2)
    files = [
        one(frame, output("c0"), score("c0"), deadline("exact", "t")),
        one(frame, output("c1"), score("c1", 0.0), shard=1),
    ]
    once, twice = frame.merge(*files), frame.merge(*files, *files)
    assert twice.redelivered == ("0.attempt-1", "1.attempt-1")
    assert (twice.table.value == once.table.value).all()
    assert (twice.score_at == once.score_at).all()
    assert twice.duplicates == once.duplicates == 0
    assert twice.files == once.files
    assert twice.deadlines == once.deadlines


@pytest.mark.parametrize(
    "other",
    [
        [output(), score(result=0.0)],
        [output()],
        [output(), score(), score()],
        [output(content="b"), score()],
        [],
    ],
)
def test_merge__one_attempt_with_two_contents_is_an_error(other: list[Record]) -> None:
    """B94, B95: same shard and attempt, other bytes."""
    frame = make_frame(1)
    files = (
        MemoryFile(frame.header(), output(), score(), name="a"),
        MemoryFile(frame.header(), *other, name="b"),
    )
    for order in (files, files[::-1]):
        with pytest.raises(
            Untrusted, match="attempt 1 of shard 0 came twice with different content"
        ):
            frame.merge(*order)


def test_merge__a_cut_copy_beside_the_whole_one_is_an_error() -> None:
    frame = make_frame(1)
    whole = MemoryFile(frame.header(), output(), name="a")
    cut = MemoryFile(frame.header(), output(), name="b", ended=False)
    with pytest.raises(Untrusted, match="came twice"):
        frame.merge(whole, cut)


def test_merge__finish_attempts_are_told_from_shard_attempts() -> None:
    frame = make_frame(1)
    with pytest.raises(Untrusted, match="attempt 1 of finish came twice"):
        frame.merge(
            one(frame, output()),
            one(frame, score(), shard=None),
            one(frame, score(result=0.0), shard=None),
        )


@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
def test_merge__of_two_deliveries_the_one_that_was_not_purged_is_read(
    order: tuple[int, int],
) -> None:
    """Purging keeps digests, so both are the same attempt; outputs come from the fuller one."""
    frame = make_frame(2)
    files = [
        one(frame, output("c0"), score("c0"), output("c1", stored=False), deadline("exact", "t")),
        one(
            frame,
            output("c0", stored=False),
            score("c0"),
            output("c1", stored=False),
            deadline("exact", "t"),
        ),
    ]
    later = one(frame, score("c1"), attempt=2)
    merged = frame.merge(*[files[index] for index in order], later)
    assert merged.stored[:, 0].tolist() == [True, False]
    assert merged.output_at[0, 0].tolist() == [order.index(0), 1]
    assert merged.table.state[:, 0, 0].tolist() == [SCORED, SCORED]
    assert [seen.source for seen in merged.files] == [order.index(0), 2]
    assert len(merged.deadlines) == 1


def test_merge__pairs_of_several_trials_and_judges_do_not_mix() -> None:
    frame = make_frame(2, trials=3, judges=("exact", "cites"))
    table = frame.merge(
        one(
            frame,
            *[output(name, f"{name}{trial}", trial=trial) for name in ("c0", "c1") for trial in range(3)],
            score("c1", 0.5, trial=2, judge="cites", of="c12"),
            score("c0", builders.NOT_APPLICABLE, trial=1, of="c01"),
            score("c0", Missing("cancelled"), trial=0, judge="cites", of="c00"),
        )
    ).table  # fmt: skip
    expected = np.full((2, 3, 2), MISSING)
    expected[1, 2, 1], expected[0, 1, 0] = SCORED, NOT_APPLICABLE
    assert (table.state == expected).all()
    assert table.value[1, 2, 1] == 0.5
    assert np.count_nonzero(~np.isnan(table.value)) == 1
    assert not table.mendable[0, 0, 1]
    assert table.mendable[0, 0, 0]
    assert PENDING not in table.state
    assert FAILED not in table.state


# Values that no judge of the plan could have given


TONE = PythonJudge(id="exact", type="python", function="m:f", scale=(1.0, 5.0))


@pytest.mark.parametrize(
    ("spec", "value", "expected"),
    [
        (ExactJudge(id="exact", type="exact"), 5.0, "1 or 0"),
        (ExactJudge(id="exact", type="exact"), 1e308, "1 or 0"),
        (ExactJudge(id="exact", type="exact"), 0.5, "1 or 0"),
        (SimilarityJudge(id="exact", type="similarity"), -0.1, "a number from 0 to 1"),
        (RankJudge(id="exact", type="ndcg"), 1.5, "a number from 0 to 1"),
        (TONE, 0.5, "a number from 1 to 5"),
        (TONE.model_copy(update={"scale": None, "negate": True}), 0.5, "1 or 0"),
    ],
)
def test_merge__refuses_a_value_that_its_judge_cannot_give(
    spec: Judge, value: float, expected: str
) -> None:
    frame = judged_by(spec)
    with pytest.raises(CorruptLedger, match=r"0\.attempt-1: ") as caught:
        frame.merge(one(frame, output(), score(result=value)))
    assert f"judge 'exact' gave {value!r} to case 'c0', trial 0; expected {expected}" in str(
        caught.value
    )
    late_one = late(value=value)
    with pytest.raises(CorruptLedger, match="expected"):
        frame.merge(one(frame, output(), late_one))


@pytest.mark.parametrize(
    ("spec", "value"),
    [
        (SimilarityJudge(id="exact", type="similarity"), 0.5),
        (TONE, 5.0),
        (TONE, 1.0),
        (TONE.model_copy(update={"scale": None}), -1e308),
    ],
)
def test_merge__takes_what_its_judge_can_give(spec: Judge, value: float) -> None:
    frame = judged_by(spec)
    merged = frame.merge(one(frame, output(), score(result=value)))
    assert merged.table.value[0, 0, 0] == value


def judged_by(spec: Judge) -> Frame:
    frame = make_frame(1)
    judge = frame.plan.judges[0].model_copy(update={"spec": spec})
    return replace(frame, plan=frame.plan.model_copy(update={"judges": (judge,)}))


def test_merge__what_came_under_a_ticket_of_several_outputs_is_no_score() -> None:
    """B133: it could be the other one's; the same ticket of two judges, or of one pair twice, is none of it."""
    frame = make_frame(("c0", "c1", "c2"), judges=("exact", "tone"))
    records = [
        record
        for case, ticket in (("c0", "t"), ("c1", "t"), ("c2", "u"))
        for record in (
            output(case),
            score(case, 1.0, ticket=ticket),
            score(case, 1.0, ticket=ticket),
        )
    ]
    tone = [score(case, 1.0, judge="tone", ticket=case) for case in ("c0", "c1", "c2")]
    merged = frame.merge(one(frame, *records, *tone))
    assert [state_of(merged, case) for case in range(3)] == ["failed", "failed", "scored"]
    assert [state_of(merged, case, 1) for case in range(3)] == ["scored"] * 3
    assert not merged.table.mendable.any()
    assert np.isnan(merged.table.value[:2, 0, 0]).all()


def test_merge__a_ticket_of_a_sentinel_is_no_ticket_of_a_case() -> None:
    """B133: a known answer's score could stand for the case, whichever of the shards asked first."""
    sentinel = Sentinel(id="good", output="A", expected="A", expect="pass")
    frame = judged_by(ExactJudge(id="exact", type="exact", sentinels=(sentinel,)))
    known = digest(sentinel.output)
    shown = SentinelRecord("exact", "good", 0, known, Scored(1.0), "t", NO_USAGE, builders.AT)
    for ticket, expected in (("t", "failed"), ("u", "scored")):
        records: list[Record] = [shown, output("c0"), score("c0", 1.0, ticket=ticket)]
        merged = frame.merge(one(frame, *records))
        assert state_of(merged) == expected
        # Nor is the case's score one of the sentinel: it proves nothing of the judge.
        (seen,) = merged.table.sentinels
        assert (seen.state == FAILED, seen.held) == (
            (ticket == "t"),
            None if ticket == "t" else True,
        )


def test_shared_tickets__whoever_holds_one_beside_another_is_told() -> None:
    """B133, G-19: a retry or revision goes by them, when one of the holders is asked anew."""
    frame = make_frame(("c0", "c1"), judges=("exact", "tone"))
    records: list[Record] = [output("c0"), score("c0", Pending("t")), score("c0", 1.0, ticket="t")]
    assert frame.merge(one(frame, *records)).shared_tickets == frozenset()
    records += [score("c0", judge="tone", ticket="t"), output("c1"), score("c1", Pending("t"))]
    # What became of the other one does not matter: its answer may be what came for the first.
    records += [score("c1", DEADLINE, ticket="t")]
    assert frame.merge(one(frame, *records)).shared_tickets == {("exact", "t")}


def test_last_sent__is_the_latest_of_all_that_shards_recorded() -> None:
    """S1-04: a judge's deadline counts from its last case, also from one that it answered at once."""
    frame = make_frame(3, shards=2)
    waits = score("c0", Pending("t"), at="2026-01-05T09:00:00.000Z")
    at_once = score("c2", at="2026-01-05T09:03:00.000Z")
    elsewhere = score("c1", at="2026-01-05T09:02:00.000Z")
    collected = score("c0", ticket="t", at="2026-01-05T09:09:00.000Z")
    merged = frame.merge(
        one(frame, output("c0"), waits, output("c2"), at_once),
        one(frame, output("c1"), elsewhere, shard=1),
        one(frame, collected, shard=None),
    )
    assert merged.last_sent == {"exact": "2026-01-05T09:03:00.000Z"}


def test_last_sent__what_is_no_moment_says_nothing() -> None:
    frame = make_frame(2)
    forged = score("c1", at="zzz")
    merged = frame.merge(one(frame, output("c0"), score("c0"), output("c1"), forged))
    assert merged.last_sent == {"exact": builders.AT}
