"""Merge over everything that can happen to a run: attempts, resumes, kills, deliveries, purges.

After each step the merge of the ledger files equals the reference beside this file, whatever their order
(S0-26 to S0-28, S0-52, X-13, X-14, C-04, C-05, C-08, G-28, G-35, B94, B95, B106).
"""

from __future__ import annotations

import itertools
import shutil
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, assume, given, settings
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, invariant, precondition, rule
from typing_extensions import override

from releasecheck.canonical import dump_line
from releasecheck.ledger.jsonl import JsonlWriter, LedgerReader, purge_file
from releasecheck.merge import Merged
from releasecheck.model.record import OUTPUT_LOST, OutputRecord, Record, ScoreRecord
from releasecheck.model.score import Missing, NotApplicable, Pending, Score, Scored
from tests.builders import (
    Frame,
    MemoryFile,
    deadline,
    judge_failed,
    late,
    make_frame,
    no_output,
    output,
    score,
)
from tests.fakes import FakeClock
from tests.property.merge_reference import MEASURED, facts_of, merge_files

CASES = ("c0", "c1", "c2")
JUDGES = ("exact", "tone")
SHARDS = 2
FRAME = make_frame(CASES, judges=JUDGES, shards=SHARDS, store_outputs="digest")
UNSHARDED = make_frame(CASES, judges=JUDGES, shards=1, store_outputs="digest")
NO_RECORD = ("missing", None, True, None)
SHARD_OF = dict(zip(CASES, FRAME.shard_of, strict=True))

answers = st.sampled_from(["a", "b"])
tickets = st.sampled_from(["t1", "t2"])
values = st.sampled_from([0.0, 0.5, 1.0])
results: st.SearchStrategy[Score] = st.one_of(
    st.builds(Scored, values),
    st.builds(Scored, values, st.just("because")),
    st.just(NotApplicable("no")),
    st.builds(Pending, tickets),
    st.builds(judge_failed, retryable=st.booleans()),
    st.just(Missing("deadline")),
)


def owned(record: ScoreRecord) -> ScoreRecord:
    """A judge gives each output a ticket of its own; what becomes of others is no matter of chance."""
    ticket = None if record.ticket is None else f"{record.case}-{record.ticket}"
    found = Pending(ticket) if isinstance(record.score, Pending) and ticket else record.score
    return record._replace(ticket=ticket, score=found)


@st.composite
def any_records(draw: st.DrawFn, cases: Sequence[str], *, lost: bool = True) -> Record:
    """A record that a program of ours could have written in some order of events."""
    case = draw(st.sampled_from(cases))
    kind = draw(st.sampled_from(["output", "output", "failure", "score", "score", "score", "late"]))
    if kind == "output":
        return output(
            case,
            draw(answers),
            stored=draw(st.booleans()),
            latency_ms=draw(st.sampled_from([1.0, 2.0, 3.0])),
            notes=draw(st.sampled_from([(), (), (OUTPUT_LOST,), ("redacted", OUTPUT_LOST)]))
            if lost
            else (),
        )
    if kind == "failure":
        return no_output(case, retryable=draw(st.booleans()))
    judge = draw(st.sampled_from(JUDGES))
    if kind == "late":
        return late(case, judge=judge)
    ticket = draw(st.none() | tickets)
    return owned(score(case, draw(results), judge=judge, of=draw(answers), ticket=ticket))


deadlines = st.builds(
    lambda judge, names, at: deadline(judge, *names, at=f"2026-01-0{at}T00:00:00Z"),
    st.sampled_from(JUDGES),
    st.lists(tickets, max_size=2),
    st.integers(1, 3),
)


def cases_of(shard: int | None) -> list[str]:
    return [case for case in CASES if shard is None or SHARD_OF[case] == shard]


@dataclass(frozen=True)
class Delivered:
    """A ledger file as it came from its machine."""

    path: Path
    shard: int | None
    attempt: int


class MergeMachine(RuleBasedStateMachine):
    """A run with two shards, three cases and two judges, one of which may defer."""

    files = Bundle("files")

    def __init__(self) -> None:
        super().__init__()
        self.folder = Path(tempfile.mkdtemp())
        self.here: dict[Path, Delivered] = {}
        self.away: dict[Path, Delivered] = {}
        self.copies = itertools.count(1)
        self.attempts = dict.fromkeys([0, 1, None], 0)

    @override
    def teardown(self) -> None:
        shutil.rmtree(self.folder)

    # What is there

    def paths(self) -> list[Path]:
        return list(self.here)

    def merged(self, paths: Sequence[Path] | None = None) -> Merged:
        chosen = self.paths() if paths is None else paths
        return FRAME.merge(*[LedgerReader(path) for path in chosen])

    def facts(self) -> dict[str, Any]:
        return facts_of(FRAME, self.merged())

    # What writes

    def write(
        self, shard: int | None, records: Iterator[Record], cut: int | None, *, end: bool
    ) -> Delivered:
        """A new attempt. With `cut` it was killed and so many bytes of it reached the disk."""
        highest = max(number for number in self.attempts.values()) if shard is not None else 0
        attempt = max(self.attempts[shard], highest) + 1
        self.attempts[shard] = attempt
        path = self.folder / f"{shard}.attempt-{attempt}.jsonl"
        writer = JsonlWriter(path, FRAME.header(shard, attempt), FakeClock())
        for record in records:
            writer.append(
                record._replace(attempt=attempt) if isinstance(record, OutputRecord) else record
            )
        if end and cut is None:
            writer.close(None)
        writer.abandon()
        if cut is not None:
            data = path.read_bytes()
            path.write_bytes(data[: cut % (len(data) + 1)])
        delivered = Delivered(path, shard, attempt)
        self.here[path] = delivered
        return delivered

    @rule(target=files, shard=st.sampled_from([0, 1, None]), data=st.data(), cut=st.none() | st.integers(0, 5000), end=st.booleans())  # fmt: skip
    def scribble(
        self, shard: int | None, data: st.DataObject, cut: int | None, end: bool
    ) -> Delivered:
        """An attempt that knew nothing of the others, or something wrong."""
        records = data.draw(st.lists(any_records(cases_of(shard)), max_size=6))
        if shard is None:
            records += data.draw(st.lists(deadlines, max_size=2))
        return self.write(shard, iter(records), cut, end=end)

    @rule(target=files, shard=st.sampled_from([0, 1]), data=st.data(), cut=st.none() | st.integers(0, 5000))  # fmt: skip
    def resume(self, shard: int, data: st.DataObject, cut: int | None) -> Delivered:
        """An attempt that saw every file and does what is left, as the engine would."""
        before = self.facts()
        records = list(self.left_to_do(cases_of(shard), data))
        delivered = self.write(shard, iter(records), cut, end=True)
        asked_again = {record.case for record in records if isinstance(record, OutputRecord) and OUTPUT_LOST in record.notes}  # fmt: skip
        self.check_nothing_measured_was_touched(before, asked_again)
        if cut is None:
            self.check_all_done(records, cases_of(shard))
        return delivered

    def check_all_done(self, records: list[Record], cases: list[str]) -> None:
        """Who had its turn has a record, unless its lost answer could not be had again."""
        broken = {
            record.case
            for record in records
            if isinstance(record, OutputRecord) and record.failure is not None
        }
        for (case, _, judge), pair in self.facts()["pairs"].items():
            if case in cases and case not in broken:
                assert pair != NO_RECORD, f"{case} {judge} was done and has no record"

    @rule(target=files, data=st.data(), cut=st.none() | st.integers(0, 5000))
    def finish(self, data: st.DataObject, cut: int | None) -> Delivered:
        """Collects tickets, gives up on some, and repairs what shards left undone."""
        before = self.facts()
        records: list[Record] = []
        for (case, _, judge), (state, _, _, ticket) in before["pairs"].items():
            if state != "pending":
                continue
            records.append(deadline(judge, ticket))
            answer = data.draw(st.none() | results)
            if answer is not None and not isinstance(answer, Pending):
                digest = self.digest_of(case)
                records.append(
                    score(case, answer, judge=judge, ticket=ticket)._replace(output_digest=digest)
                )
        repaired = data.draw(st.lists(st.sampled_from(CASES), unique=True, max_size=2))
        records += self.left_to_do(repaired, data)
        delivered = self.write(None, iter(records), cut, end=True)
        asked_again = {record.case for record in records if isinstance(record, OutputRecord)}
        later_shards = any(found.attempt > delivered.attempt and found.shard is not None for found in self.here.values())  # fmt: skip
        if not later_shards:
            self.check_nothing_measured_was_touched(before, asked_again)
        return delivered

    def digest_of(self, case: str) -> str:
        merged = self.merged()
        source, offset = merged.output_at[CASES.index(case), 0].tolist()
        (found,) = [
            record
            for at, record in LedgerReader(self.paths()[source])
            if at == offset and isinstance(record, OutputRecord)
        ]
        assert found.output_digest is not None
        return found.output_digest

    def left_to_do(self, cases: Sequence[str], data: st.DataObject) -> Iterator[Record]:
        merged = self.merged()
        table = merged.table
        for case in cases:
            index = CASES.index(case)
            todo = [
                judge
                for judge, name in enumerate(JUDGES)
                if table.mendable[index, 0, judge] and (index, 0, judge) not in merged.tickets
            ]
            if not todo:
                continue
            answered = table.target[index, 0] == 1
            if answered and merged.stored[index, 0]:
                digest = self.digest_of(case)
                asked = [JUDGES[judge] for judge in todo]
            else:
                if data.draw(st.booleans(), label=f"{case} fails"):
                    yield no_output(case, retryable=data.draw(st.booleans()))
                    continue
                content = data.draw(answers, label=f"answer to {case}")
                notes = (OUTPUT_LOST,) if answered else ()
                answer = output(case, content, stored=data.draw(st.booleans()), notes=notes)
                assert answer.output_digest is not None
                yield answer
                digest, asked = answer.output_digest, list(JUDGES)
            for judge in asked:
                result = data.draw(results.filter(lambda found: not isinstance(found, Missing)))
                yield owned(score(case, result, judge=judge))._replace(output_digest=digest)

    def check_nothing_measured_was_touched(
        self, before: dict[str, Any], asked_again: set[str]
    ) -> None:
        after = self.facts()
        for at, pair in before["pairs"].items():
            if pair[0] in MEASURED and at[0] not in asked_again:
                assert after["pairs"][at] == pair

    # What happens to files

    @rule(delivered=files, rename=st.booleans())
    def deliver_again(self, delivered: Delivered, rename: bool) -> None:
        folder = self.folder / str(next(self.copies))
        folder.mkdir()
        copy = folder / ("copy.jsonl" if rename else delivered.path.name)
        shutil.copyfile(delivered.path, copy)
        self.here[copy] = replace(delivered, path=copy)

    @rule(delivered=files)
    def lose(self, delivered: Delivered) -> None:
        """An artifact that was not downloaded this time."""
        found = self.here.pop(delivered.path, None)
        if found is not None:
            self.away[delivered.path] = found

    @precondition(lambda self: self.away)
    @rule()
    def find(self) -> None:
        self.here.update(self.away)
        self.away.clear()

    @rule(delivered=files)
    def purge(self, delivered: Delivered) -> None:
        """Nothing that was decided may hang on what purging removes."""
        if LedgerReader(delivered.path).header is None:
            return
        before = self.facts()
        purge_file(delivered.path, lambda _: False, texts=True)
        after = self.facts()
        for facts in (before, after):
            facts["outputs"] = {at: found[:2] for at, found in facts["outputs"].items()}
        assert after == before

    # What always holds

    @invariant()
    def equals_the_reference(self) -> None:
        paths = self.paths()
        assert self.facts() == merge_files(FRAME, [path.read_bytes() for path in paths])

    @invariant()
    def order_does_not_matter(self) -> None:
        paths = sorted(self.paths(), key=lambda path: path.read_bytes(), reverse=True)
        one, other = self.merged(), self.merged(paths)
        assert facts_of(FRAME, one) == facts_of(FRAME, other)
        assert one.duplicates == other.duplicates
        assert sorted(one.redelivered) == sorted(other.redelivered)

    @invariant()
    def states_add_up(self) -> None:
        merged = self.merged()
        assert merged.table.pairs == FRAME.plan.pairs == len(CASES) * len(JUDGES)
        assert merged.recorded_pairs + self.unrecorded(merged) == merged.table.pairs

    def unrecorded(self, merged: Merged) -> int:
        return sum(pair == NO_RECORD for pair in facts_of(FRAME, merged)["pairs"].values())


MergeMachine.TestCase.settings = settings(
    max_examples=25,
    stateful_step_count=12,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
TestMerge = MergeMachine.TestCase


@pytest.mark.soak
@pytest.mark.timeout(1800)
def test_merge_machine__for_long() -> None:
    from hypothesis.stateful import run_state_machine_as_test

    run_state_machine_as_test(
        MergeMachine,
        settings=settings(
            max_examples=1500, stateful_step_count=20, suppress_health_check=list(HealthCheck)
        ),
    )


# The same over files that never saw a disk

Attempts = dict[tuple[int, int | None], list[Record]]


@st.composite
def attempts(draw: st.DrawFn, *, lost: bool = True) -> Attempts:
    """Records by (attempt, shard), in precedence order."""
    found: Attempts = {}
    for attempt in range(1, draw(st.integers(1, 3)) + 1):
        for shard in (0, 1, None):
            cases = cases_of(shard)
            found[attempt, shard] = draw(st.lists(any_records(cases, lost=lost), max_size=5))
    return found


def memory_files(frame: Frame, found: Attempts) -> list[MemoryFile]:
    return [
        MemoryFile(frame.header(shard, attempt), *records)
        for (attempt, shard), records in found.items()
    ]


def measured(facts: dict[str, Any]) -> dict[Any, Any]:
    return {at: pair for at, pair in facts["pairs"].items() if pair[0] in MEASURED}


def bytes_of(frame: Frame, found: Attempts) -> list[bytes]:
    return [
        b"".join(dump_line(line.to_json()) for line in (frame.header(shard, attempt), *records))
        for (attempt, shard), records in found.items()
    ]


@settings(max_examples=200)
@given(attempts())
def test_merge__equals_the_reference(found: Attempts) -> None:
    merged = FRAME.merge(*memory_files(FRAME, found))
    assert facts_of(FRAME, merged) == merge_files(FRAME, bytes_of(FRAME, found))


@settings(max_examples=60)
@given(attempts(), st.randoms(use_true_random=False))
def test_merge__order_and_repetition_of_files_do_not_matter(found: Attempts, random: Any) -> None:
    files = memory_files(FRAME, found)
    shuffled = files + random.sample(files, k=len(files) // 2)
    random.shuffle(shuffled)
    one, other = FRAME.merge(*files), FRAME.merge(*shuffled)
    assert facts_of(FRAME, one) == facts_of(FRAME, other)
    assert one.duplicates == other.duplicates
    assert [replace(seen, source=0) for seen in one.files] == [
        replace(seen, source=0) for seen in other.files
    ]


@settings(max_examples=60)
@given(attempts())
def test_merge__equals_the_unsharded_run(found: Attempts) -> None:
    whole: Attempts = {}
    for (attempt, shard), records in found.items():
        whole.setdefault((attempt, None if shard is None else 0), []).extend(records)
    sharded = facts_of(FRAME, FRAME.merge(*memory_files(FRAME, found)))
    assert facts_of(UNSHARDED, UNSHARDED.merge(*memory_files(UNSHARDED, whole))) == sharded


@settings(max_examples=60)
@given(attempts(lost=False), st.data())
def test_merge__what_comes_later_never_touches_what_was_measured(
    found: Attempts, data: st.DataObject
) -> None:
    """A re-run repairs and never re-rolls: only an earlier attempt that appears may change a value."""
    flat = [(key, record) for key, records in found.items() for record in records]
    cut = data.draw(st.integers(0, len(flat)))
    earlier: Attempts = {}
    for key, record in flat[:cut]:
        earlier.setdefault(key, []).append(record)
    before = measured(facts_of(FRAME, FRAME.merge(*memory_files(FRAME, earlier))))
    after = measured(facts_of(FRAME, FRAME.merge(*memory_files(FRAME, found))))
    assert {at: after.get(at) for at in before} == before


@settings(max_examples=60)
@given(attempts(), st.data())
def test_merge__removing_evidence_never_makes_a_pair_measured(
    found: Attempts, data: st.DataObject
) -> None:
    flat = [(key, record) for key, records in found.items() for record in records]
    evidence = [at for at, (_, record) in enumerate(flat) if not _succeeded(record)]
    assume(evidence)
    gone = data.draw(st.sets(st.sampled_from(evidence), min_size=1))
    rest: Attempts = {}
    for at, (key, record) in enumerate(flat):
        if at not in gone:
            rest.setdefault(key, []).append(record)
    before = measured(facts_of(FRAME, FRAME.merge(*memory_files(FRAME, found))))
    after = measured(facts_of(FRAME, FRAME.merge(*memory_files(FRAME, rest))))
    assert after.keys() <= before.keys()


def _succeeded(record: Record) -> bool:
    """Without its output a later attempt's answer counts, as if the first had never been asked."""
    return isinstance(record, OutputRecord) and record.failure is None


def test_attempts__reach_what_merge_tells_apart() -> None:
    """The properties above would hold of nothing as well: see that their inputs are not nothing."""
    seen: set[str] = set()

    @settings(max_examples=150, derandomize=True, database=None, phases=[Phase.generate])
    @given(attempts())
    def look(found: Attempts) -> None:
        facts = facts_of(FRAME, FRAME.merge(*memory_files(FRAME, found)))
        seen.update(
            f"{pair[0]} {'open' if pair[2] else 'closed'}" for pair in facts["pairs"].values()
        )
        seen.update(kind for kind, *_ in facts["outputs"].values())
        seen.update(name for name in ("conflicts", "lost") if facts[name])

    look()
    assert seen == {
        "scored closed", "not-applicable closed", "pending open", "failed open", "failed closed",
        "missing open", "missing closed", "none", "answered", "failed", "conflicts", "lost",
    }  # fmt: skip
