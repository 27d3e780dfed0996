"""Scores of earlier runs' outputs, merged rule by rule, and what a baseline is by them (issue 5, deliver 5)."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from releasecheck.canonical import digest
from releasecheck.errors import CorruptLedger, ForeignRecord, Untrusted
from releasecheck.merge import judged_anew, merge
from releasecheck.model.bridge import NOT_STORED, Bridge, Bridged, Earlier, Side
from releasecheck.model.judge import ExactJudge, Sentinel
from releasecheck.model.record import NO_USAGE, BridgeRecord, LateRecord, SentinelRecord, Usage
from releasecheck.model.score import Missing, NotApplicable, Pending, Score, Scored
from releasecheck.model.table import (
    ANSWERED,
    FAILED,
    MISSING,
    NOT_APPLICABLE,
    PENDING,
    SCORED,
    STATES,
    TARGET_FAILED,
)
from tests.builders import (
    AT,
    DEADLINE,
    DIGEST,
    Frame,
    MemoryFile,
    judge_failed,
    make_frame,
    output,
    score,
)
from tests.unit.tables import baseline_of, score_table

if TYPE_CHECKING:
    from releasecheck.merge import Merged, RecordSource
    from releasecheck.model.record import Record
    from releasecheck.model.table import Baseline

OLD = "old answer"


def said(
    case: str = "c0",
    result: Score | float = 1.0,
    *,
    side: Side = "baseline",
    trial: int = 0,
    judge: str = "exact",
    of: str = OLD,
    ticket: str | None = None,
    usage: Usage = NO_USAGE,
    notes: tuple[str, ...] = (),
) -> BridgeRecord:
    """What a judge said about an output of an earlier run; a number is a measured value."""
    return BridgeRecord(
        side=side,
        case=case,
        trial=trial,
        judge=judge,
        output_digest=digest(of),
        score=Scored(result) if isinstance(result, int | float) else result,
        ticket=result.ticket if isinstance(result, Pending) else ticket,
        usage=usage,
        at=AT,
        notes=notes,
    )


def earlier(
    partner: list[int],
    *,
    side: Side = "baseline",
    judges: tuple[str, ...] = ("exact",),
    trials: int = 1,
    cases: int | None = None,
    target: dict[tuple[int, int], int] | None = None,
    unstored: tuple[tuple[int, int], ...] = (),
) -> Earlier:
    """An earlier run that always gave the old answer."""
    count = len(partner) if cases is None else cases
    codes = np.full((count, trials), ANSWERED, dtype=np.int8)
    for at, code in (target or {}).items():
        codes[at] = code
    digests = tuple(
        NOT_STORED if codes[c, t] != ANSWERED or (c, t) in unstored else digest(OLD)
        for c in range(count)
        for t in range(trials)
    )
    return Earlier(side, "rc-old", judges, np.array(partner, dtype=np.intp), trials, codes, digests)


@dataclass(frozen=True)
class Case:
    """A plan with a bridge."""

    frame: Frame
    bridge: Bridge

    def merge(self, *sources: RecordSource) -> Merged:
        frame = self.frame
        return merge(frame.plan, frame.cases, frame.shard_of, sources, self.bridge)

    def seen(self, *records: Record, shard: int | None = 0) -> Bridged:
        """The first side, by one file."""
        return self.merge(MemoryFile(self.frame.header(shard), *records)).table.bridged[0]


def bridge_over(*sides: Earlier, cases: int = 3, **frame: object) -> Case:
    return Case(make_frame(cases, **frame), Bridge(sides))  # type: ignore[arg-type]


ONE = bridge_over(earlier([0]), cases=1)


def words(seen: Bridged, judge: int = 0) -> list[str]:
    return [STATES[code] for code in seen.state[:, :, judge].ravel().tolist()]


def test_bridged__nothing_on_record_is_missing_and_mendable() -> None:
    """Absence is never success; and it is no pair of the run."""
    merged = bridge_over(earlier([0, 1, 2])).merge()
    (seen,) = merged.table.bridged
    assert words(seen) == ["missing"] * 3
    assert seen.mendable.all()
    assert merged.table.pairs == 3


def test_bridged__a_run_without_a_bridge_has_none() -> None:
    assert make_frame(1).merge().table.bridged == ()


@pytest.mark.parametrize(
    ("results", "state", "mendable"),
    [
        ([1.0], SCORED, False),
        ([NotApplicable("no")], NOT_APPLICABLE, False),
        ([Pending("t")], PENDING, True),
        ([judge_failed()], FAILED, True),
        ([judge_failed(retryable=False)], FAILED, False),
        ([DEADLINE], MISSING, False),
        ([judge_failed(), 1.0], SCORED, False),
        ([1.0, judge_failed()], SCORED, False),
        ([Pending("t"), judge_failed()], PENDING, True),
        ([judge_failed(), DEADLINE], MISSING, False),
        ([0.0, 1.0], SCORED, False),
    ],
)
def test_bridged__which_score_counts_is_decided_as_ever(
    results: list[Score | float], state: int, mendable: bool
) -> None:
    """Contract 4: measured beats missing, its ticket's pending, failed; the first measurement counts."""
    seen = ONE.seen(*(said(result=result) for result in results))
    assert (seen.state[0, 0, 0], bool(seen.mendable[0, 0, 0])) == (state, mendable)
    if state == SCORED:
        first = next(one for one in results if isinstance(one, float))
        assert (seen.value[0, 0, 0], seen.passed[0, 0, 0]) == (first, first == 1.0)


def test_bridged__a_contradiction_is_named() -> None:
    seen = ONE.seen(said(result=0.0), said(result=1.0), said(result=0.0))
    assert seen.conflicts == ("exact of c0",)
    assert seen.value[0, 0, 0] == 0.0


def test_bridged__a_missing_ticket_closes_its_own_and_is_counted() -> None:
    seen = ONE.seen(said(result=Pending("t")), said(result=Missing("deadline"), ticket="t"))
    assert (words(seen), seen.open) == (["missing"], ())
    assert seen.given_up == {("exact", "deadline"): 1}


def test_bridged__open_tickets_know_what_they_are_for() -> None:
    case = bridge_over(earlier([1, 0], trials=2), cases=2)
    (ticket,) = case.seen(said("c1", Pending("t"), trial=1)).open
    assert (ticket.judge, ticket.ticket, ticket.case, ticket.trial) == ("exact", "t", "c1", 1)
    assert (ticket.digest, ticket.source, ticket.offset) == (digest(OLD), 0, 1)


def test_bridged__the_target_failed_there() -> None:
    seen = bridge_over(earlier([0], target={(0, 0): TARGET_FAILED}), cases=1).seen()
    assert words(seen) == ["failed"]
    assert not seen.mendable.any()


def test_bridged__an_output_that_was_not_stored_can_never_be_judged() -> None:
    seen = bridge_over(earlier([0, 1], unstored=((1, 0),)), cases=2).seen()
    assert words(seen) == ["missing", "missing"]
    assert seen.mendable[:, 0, 0].tolist() == [True, False]
    assert seen.unstored[:, 0].tolist() == [False, True]


def test_bridged__what_this_plan_does_not_hold_is_not_asked_for() -> None:
    seen = bridge_over(earlier([2], cases=3), cases=1).seen(said())
    assert seen.matched.tolist() == [False, False, True]
    assert seen.mendable.sum() == 0
    assert words(seen) == ["missing", "missing", "scored"]


def test_bridged__sides_are_told_apart() -> None:
    case = bridge_over(earlier([0]), earlier([0], side="anchor", trials=2), cases=1)
    merged = case.merge(
        MemoryFile(case.frame.header(), said(result=0.0), said(side="anchor", trial=1))
    )
    baseline, anchor = merged.table.bridged
    assert (baseline.side, words(baseline)) == ("baseline", ["scored"])
    assert (anchor.side, words(anchor)) == ("anchor", ["missing", "scored"])


@pytest.mark.parametrize("first", ["here", "there"])
def test_bridged__one_ticket_for_both_runs_is_worth_nothing(first: str) -> None:
    """A ticket brings one score, and nobody can tell whose it is."""
    here: list[Record] = [score(result=Pending("t")), score(result=1.0, ticket="t")]
    there: list[Record] = [said(result=Pending("t")), said(result=1.0, ticket="t")]
    records = [*here, *there] if first == "here" else [*there, *here]
    merged = ONE.merge(MemoryFile(ONE.frame.header(), output(), *records))
    assert merged.table.state[0, 0, 0] == FAILED
    assert words(merged.table.bridged[0]) == ["failed"]
    assert np.isnan(merged.table.bridged[0].value).all()


def test_bridged__one_ticket_for_two_of_its_outputs_is_worth_nothing() -> None:
    case = bridge_over(earlier([0, 1]), cases=2)
    seen = case.seen(said(ticket="t"), said("c1", ticket="t"))
    assert words(seen) == ["failed", "failed"]


def test_bridged__a_ticket_of_a_sentinel_is_worth_nothing() -> None:
    spec = ExactJudge(
        id="exact", type="exact", sentinels=(Sentinel(id="s", output="A", expect="pass"),)
    )
    planned = ONE.frame.plan.judges[0].model_copy(update={"spec": spec})
    plan = ONE.frame.plan.model_copy(update={"judges": (planned,)})
    case = Case(replace(ONE.frame, plan=plan), ONE.bridge)
    shown = SentinelRecord("exact", "s", 0, digest("A"), Pending("t"), "t", NO_USAGE, AT)
    merged = case.merge(MemoryFile(case.frame.header(), shown, said(ticket="t")))
    assert words(merged.table.bridged[0]) == ["failed"]


def test_sentinels__are_owed_where_only_earlier_outputs_were_scored() -> None:
    """A judge that scored anything in a shard has to show there that it knows good from bad."""
    spec = ExactJudge(
        id="exact", type="exact", sentinels=(Sentinel(id="s", output="A", expect="pass"),)
    )
    planned = ONE.frame.plan.judges[0].model_copy(update={"spec": spec})
    plan = ONE.frame.plan.model_copy(update={"judges": (planned,)})
    case = Case(replace(ONE.frame, plan=plan), ONE.bridge)
    assert case.merge().table.sentinels == ()
    (owed,) = case.merge(MemoryFile(case.frame.header(), said())).table.sentinels
    assert (owed.state, owed.mendable) == (MISSING, True)


def test_bridged__late_scores_and_those_after_an_interruption_are_counted() -> None:
    late = LateRecord("c0", 0, "exact", digest(OLD), "t", 1.0, None, AT, "baseline")
    merged = ONE.merge(MemoryFile(ONE.frame.header(None), late))
    assert (merged.table.bridged[0].late, merged.late) == (1, ())
    resumed = ONE.seen(said(notes=("resumed_after_deadline",)))
    assert resumed.resumed == 1


def test_bridged__usage_of_what_counts() -> None:
    seen = ONE.seen(said(usage=Usage(5, 0.25)), said(usage=Usage(7, 1.0)))
    assert seen.used[0, 0, 0].tolist() == [0.25, 5.0]


@pytest.mark.parametrize(
    ("record", "words_"),
    [
        (said("c9"), "does not have judged anew"),
        (said("c1"), "does not have judged anew"),
        (said(side="anchor"), "does not have judged anew"),
        (said(judge="cites"), "does not have judged anew"),
        (said(judge="nobody"), "which the plan does not name"),
        (said(trial=1), "has 1 trials of each case"),
        (said(of="another"), "has another output there"),
        (said("c2"), "the plan gives it to shard 1"),
    ],
)
def test_bridged__strangers_are_refused(record: BridgeRecord, words_: str) -> None:
    partner = [0, -1, 1]
    frame = replace(make_frame(3, judges=("exact", "cites"), shards=2), shard_of=(0, 0, 1))
    case = Case(frame, Bridge((earlier(partner, cases=2),)))
    with pytest.raises(ForeignRecord, match=words_):
        case.merge(MemoryFile(frame.header(0), record))


def test_bridged__a_value_that_the_judge_cannot_have_given_is_refused() -> None:
    planned = ONE.frame.plan.judges[0].model_copy(
        update={"spec": ExactJudge(id="exact", type="exact")}
    )
    plan = ONE.frame.plan.model_copy(update={"judges": (planned,)})
    case = Case(replace(ONE.frame, plan=plan), ONE.bridge)
    with pytest.raises(CorruptLedger, match=r"gave 0\.5"):
        case.seen(said(result=0.5))


def test_bridged__the_same_attempt_with_other_scores_is_refused() -> None:
    head = ONE.frame.header()
    with pytest.raises(Untrusted):
        ONE.merge(MemoryFile(head, said(), name="a"), MemoryFile(head, said(result=0.0), name="b"))


CASE = bridge_over(
    earlier([0, 1, -1], trials=2, judges=("exact", "cites"), cases=2),
    earlier([0, 1, 2], side="anchor"),
    cases=3,
    judges=("exact", "cites"),
    shards=2,
)
KEYS: list[tuple[Side, str, int, str]] = [
    ("baseline", "c0", 0, "exact"),
    ("baseline", "c0", 1, "cites"),
    ("baseline", "c1", 1, "exact"),
    ("anchor", "c1", 0, "exact"),
    ("anchor", "c2", 0, "exact"),
]
results = st.sampled_from(
    [1.0, 0.0, NotApplicable("no"), judge_failed(), DEADLINE, judge_failed(retryable=False)]
)


def facts(merged: Merged) -> list[object]:
    """All that decides."""
    return [
        (
            seen.side,
            seen.state.tolist(),
            np.nan_to_num(seen.value, nan=-1).tolist(),
            seen.passed.tolist(),
            seen.mendable.tolist(),
            sorted(seen.conflicts),
            seen.given_up,
        )
        for seen in merged.table.bridged
    ]


@given(
    st.lists(st.tuples(st.sampled_from(KEYS), results, st.integers(1, 3)), max_size=12),
    st.randoms(),
)
def test_bridged__any_order_split_and_repetition_of_files_gives_the_same(
    drawn: list[tuple[tuple[Side, str, int, str], Score | float, int]], chance: object
) -> None:
    """As of every record: what counts depends on attempts and lines, not on deliveries."""
    frame = CASE.frame
    shard_of = dict(zip((case.id for case in frame.cases), frame.shard_of, strict=True))
    files: dict[tuple[int, int], list[Record]] = {}
    for (side, name, trial, judge), result, attempt in drawn:
        record = said(name, result, side=side, trial=trial, judge=judge)
        files.setdefault((shard_of[name], attempt), []).append(record)
    sources = [
        MemoryFile(frame.header(shard, attempt), *records)
        for (shard, attempt), records in files.items()
    ]
    expected = facts(CASE.merge(*sources))
    shuffled = [*sources, *sources[:2]]
    chance.shuffle(shuffled)  # type: ignore[attr-defined]
    assert facts(CASE.merge(*shuffled)) == expected
    # One shard instead of two, file by file: the same but for who wrote it.
    whole = Case(replace(make_frame(3, judges=("exact", "cites")), shard_of=(0, 0, 0)), CASE.bridge)
    merged: dict[int, list[Record]] = {}
    for (_, attempt), records in sorted(files.items()):
        merged.setdefault(attempt, []).extend(records)
    again = whole.merge(
        *(MemoryFile(whole.frame.header(0, attempt), *lines) for attempt, lines in merged.items())
    )
    assert facts(again) == expected


# What a baseline is by them


def anew(
    baseline: Baseline, seen: Bridged | None, judges: tuple[str, ...] = ("exact",)
) -> Baseline:
    plan = make_frame(3, judges=judges).plan
    return judged_anew(plan, baseline, seen)


def test_judged_anew__columns_of_the_judge_are_those_of_now() -> None:
    then = baseline_of(score_table({"exact": [1, 1, 0], "close": [0.5, 0.5, 0.5]}))
    then = replace(then, unproven=frozenset({"exact", "close"}))
    seen = bridge_over(earlier([0, 1, 2])).seen(
        said(result=0.0), said("c1", 1.0), said("c2", NotApplicable("no"))
    )
    now = anew(then, seen)
    assert now.judge_digests["exact"] == DIGEST
    assert now.judge_digests["close"] == then.judge_digests["close"]
    assert now.table.state[:, 0, 0].tolist() == [SCORED, SCORED, NOT_APPLICABLE]
    assert now.table.value[:2, 0, 0].tolist() == [0.0, 1.0]
    assert now.table.passed[:, 0, 0].tolist() == [0, 1, -1]
    assert (now.table.state[:, :, 1] == then.table.state[:, :, 1]).all()
    assert now.unproven == {"close"}  # what the judge of then was worth does not matter
    assert now.rejudged["exact"] == (3, 0, False)
    assert then.table.value[0, 0, 0] == 1.0  # a baseline is never changed in place


def test_judged_anew__cases_that_this_plan_does_not_hold_keep_what_was_scored() -> None:
    then = baseline_of(score_table({"exact": [1, 0, 1]}))
    seen = bridge_over(earlier([0, 1], cases=3), cases=2).seen(said(result=0.0), said("c1", 1.0))
    now = anew(then, seen)
    assert now.table.value[:, 0, 0].tolist() == [0.0, 1.0, 1.0]
    assert now.rejudged["exact"].mixed


def test_judged_anew__a_judge_that_was_not_there_gets_a_column() -> None:
    """Unmatched cases only count as what is no longer compared, and have no value that anybody could read."""
    then = baseline_of(score_table({"close": [0.5, 0.5, "target_failed"]}))
    seen = bridge_over(earlier([0], cases=3), cases=1).seen(said(result=1.0))
    now = anew(then, seen)
    assert now.table.judges == ("close", "exact")
    assert now.table.state[:, 0, 1].tolist() == [SCORED, SCORED, FAILED]
    assert now.table.value[0, 0, 1] == 1.0
    assert np.isnan(now.table.value[1:, 0, 1]).all()


def test_judged_anew__what_is_not_there_yet_leaves_the_baseline_incomplete() -> None:
    then = baseline_of(score_table({"exact": [1, 1]}))
    seen = bridge_over(earlier([0, 1], unstored=((1, 0),)), cases=2).seen(said(result=Pending("t")))
    now = anew(then, seen)
    assert now.table.state[:, 0, 0].tolist() == [PENDING, MISSING]
    assert now.rejudged["exact"] == (0, 1, False)


def test_judged_anew__without_a_bridge_it_is_the_same() -> None:
    then = baseline_of(score_table({"exact": [1]}))
    assert anew(then, None) is then
