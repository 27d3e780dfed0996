"""Every ticket on record, wherever it stands: what purging asks judges to forget (S1-47)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from releasecheck.ledger.jsonl import JsonlWriter, purge_file, shard_file_name
from releasecheck.model.record import NO_USAGE, BridgeRecord, SentinelRecord
from releasecheck.model.score import Pending, Scored
from releasecheck.pipeline.earlier import foreign_in, tickets_given
from releasecheck.pipeline.tickets import tickets_of
from tests.builders import AT, deadline, header, late, output, score
from tests.fakes import FakeClock

if TYPE_CHECKING:
    from pathlib import Path

    from releasecheck.model.record import Record
    from releasecheck.model.score import Score


def written(folder: Path, attempt: int, *records: Record) -> Path:
    path = folder / shard_file_name(0, attempt)
    writer = JsonlWriter(path, header(attempt=attempt), FakeClock())
    for record in records:
        writer.append(record)
    writer.close(None)
    return path


def sentinel(result: Score, ticket: str | None) -> SentinelRecord:
    return SentinelRecord(
        "far", "sentinel-1", 0, "sha256:" + "0" * 64, result, ticket, NO_USAGE, AT
    )


def bridge(result: Score, ticket: str | None) -> BridgeRecord:
    digest = "sha256:" + "0" * 64
    return BridgeRecord("baseline", "c0", 0, "far", digest, result, ticket, NO_USAGE, AT)


def test_foreign_in__answers_to_tickets_of_an_earlier_run_are_told_apart(tmp_path: Path) -> None:
    """A finish file may close what a shard left open, and nothing else; not a like one of the other run."""
    given = tickets_given([written(tmp_path, 1, bridge(Pending("b1"), "b1"))])
    assert foreign_in(written(tmp_path, 2, bridge(Scored(1.0), "b1")), given) is None
    forged: list[Record] = [
        bridge(Scored(1.0), "b2"),
        bridge(Scored(1.0), None),
        bridge(Scored(1.0), "b1")._replace(side="anchor"),
        score(judge="far", ticket="b1")._replace(output_digest="sha256:" + "0" * 64),
    ]
    for number, record in enumerate(forged, start=3):
        assert foreign_in(written(tmp_path, number, record), given) is not None


def test_tickets_of__finds_them_in_every_record(tmp_path: Path) -> None:
    one = written(
        tmp_path,
        1,
        output(),
        score(result=Pending("p1"), judge="far"),
        score(result=Scored(1.0), judge="near"),
        sentinel(Pending("s1"), "s1"),
        bridge(Pending("b1"), "b1"),
        deadline("far", "p1", "d1"),
    )
    other = written(
        tmp_path,
        2,
        output(),
        score(result=Scored(1.0), judge="far", ticket="p2"),
        sentinel(Scored(1.0), "s1"),
        late(judge="late-one"),
    )
    expected = {"far": ["p1", "s1", "b1", "d1", "p2"], "late-one": ["t1"]}
    assert tickets_of([one, other]) == expected
    for path in (one, other):
        purge_file(path, lambda _: False, texts=True)
    assert tickets_of([one, other]) == expected


def test_tickets_of__judges_that_answer_at_once_have_none(tmp_path: Path) -> None:
    assert tickets_of([written(tmp_path, 1, output(), score())]) == {}
