"""Sentinels and scores of a baseline's outputs that a retry or a revision carries on (G-19, G-20, B133)."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from releasecheck.canonical import digest
from releasecheck.ledger.jsonl import JsonlWriter, finish_file_name, shard_file_name
from releasecheck.merge import merge
from releasecheck.model.bridge import Bridge, Earlier
from releasecheck.model.judge import ExactJudge, Sentinel
from releasecheck.model.record import NO_USAGE, BridgeRecord, SentinelRecord
from releasecheck.model.score import Scored
from releasecheck.model.table import ANSWERED
from releasecheck.pipeline.folders import open_ledgers
from releasecheck.pipeline.remaining import Recorded
from releasecheck.pipeline.sentinels import bridged_in, sentinels_in
from tests.builders import AT, Frame, make_frame, output, score
from tests.fakes import FakeClock

if TYPE_CHECKING:
    from pathlib import Path

    from releasecheck.model.record import Record

import numpy as np

OLD = digest("old")


def frame_of() -> Frame:
    """Two cases and a judge with a sentinel."""
    frame = make_frame(2)
    spec = ExactJudge(
        id="exact", type="exact", sentinels=(Sentinel(id="good", output="A", expect="pass"),)
    )
    judge = frame.plan.judges[0].model_copy(update={"spec": spec})
    return replace(frame, plan=frame.plan.model_copy(update={"judges": (judge,)}))


def recorded(folder: Path, **files: list[Record]) -> Recorded:
    """What `shard` and `finish` recorded, merged beside a baseline whose two outputs are judged anew."""
    frame = frame_of()
    paths = []
    for who, records in files.items():
        shard = 0 if who == "shard" else None
        name = finish_file_name(1) if shard is None else shard_file_name(shard, 1)
        writer = JsonlWriter(folder / name, frame.header(shard), FakeClock())
        for record in records:
            writer.append(record)
        writer.close(None)
        paths.append(folder / name)
    target = np.full((2, 1), ANSWERED, dtype=np.int8)
    partner = np.array([0, 1], dtype=np.intp)
    side = Earlier("baseline", "rc-old", ("exact",), partner, 1, target, (OLD, OLD))
    sources = open_ledgers(paths)
    merged = merge(frame.plan, frame.cases, frame.shard_of, sources, Bridge((side,)))
    return Recorded(merged, tuple(paths))


def shown(value: float = 1.0, ticket: str | None = None) -> SentinelRecord:
    return SentinelRecord("exact", "good", 0, digest("A"), Scored(value), ticket, NO_USAGE, AT)


def anew(case: str, value: float = 1.0, ticket: str | None = None) -> BridgeRecord:
    return BridgeRecord(
        "baseline", case, 0, "exact", OLD, Scored(value), ticket, NO_USAGE, AT, notes=()
    )


def carried(source: Recorded) -> list[tuple[str, float]]:
    """(sentinel or case, value) of what is carried on."""
    found: list[tuple[str, float]] = []
    for one in sentinels_in(source.paths, source):
        assert isinstance(one.score, Scored)
        found.append((one.sentinel, one.score.value))
    for each in bridged_in(source.paths, source, {"exact"}):
        assert isinstance(each.score, Scored)
        found.append((each.case, each.score.value))
    return found


def test_carried__what_came_under_a_ticket_of_another_answer_is_not(tmp_path: Path) -> None:
    """B133: asked anew, the other answer gets a ticket of its own, and nothing would tell any more."""
    own: list[Record] = [output("c0"), score("c0", 1.0, ticket="t")]
    free = recorded(tmp_path / "free", shard=[*own, shown(), anew("c0"), anew("c1", ticket="u")])
    assert carried(free) == [("good", 1.0), ("c0", 1.0), ("c1", 1.0)]
    held = recorded(
        tmp_path / "held", shard=[*own, shown(ticket="t"), anew("c0"), anew("c1", ticket="t")]
    )
    assert carried(held) == [("c0", 1.0)]


def test_carried__of_several_measurements_the_one_that_counts(tmp_path: Path) -> None:
    """G-19, G-20: a shard's comes before that of `finish`, as in the merge; nothing is drawn again."""
    told = recorded(tmp_path, finish=[shown(0.0), anew("c0", 0.0)], shard=[shown(), anew("c0")])
    assert carried(told) == [("good", 1.0), ("c0", 1.0)]
    (seen,) = told.merged.table.sentinels
    assert (seen.held, told.merged.table.bridged[0].value[0, 0, 0]) == (True, 1.0)
