"""`results.jsonl`: written from a merged ledger, read back as the table of a baseline."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from releasecheck.canonical import digest, dump_line
from releasecheck.errors import DigestMismatch, Untrusted
from releasecheck.model.judge import value_passes
from releasecheck.model.record import NO_USAGE, OutputRecord, ScoreRecord, read_record
from releasecheck.model.results import ResultRow, RowScore
from releasecheck.model.score import JudgeFailed, Missing, NotApplicable, Scored
from releasecheck.model.table import (
    ANSWERED,
    FAILED,
    NO_OUTPUT,
    SCORED,
    STATES,
    TARGET_FAILED,
    CaseRow,
    ScoreTable,
)
from releasecheck.pipeline.lines import Lines

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from releasecheck.model.judge import Judge
    from releasecheck.pipeline.remaining import Recorded

NOT_EXECUTED = "not_executed"
TARGET_FAILED_REASON = "target_failed"
SHARED_TICKET = (
    "contract_violation: the judge gave the ticket of this score for another output too; each output needs a "
    "ticket of its own"
)


def result_rows(recorded: Recorded) -> Iterator[ResultRow]:
    """Every (case, trial) in plan order, texts read from the ledger one at a time."""
    table = recorded.merged.table
    with Lines(recorded) as lines:
        for case in range(len(table.cases)):
            for trial in range(table.trials):
                yield _row(recorded, case, trial, lines)


def results_file(recorded: Recorded) -> Iterator[bytes]:
    """The lines of `results.jsonl`."""
    for row in result_rows(recorded):
        yield dump_line(row.to_json())


def _row(recorded: Recorded, case: int, trial: int, lines: Lines) -> ResultRow:
    table, merged = recorded.merged.table, recorded.merged
    info = table.cases[case]
    record = None
    if table.target[case, trial] != NO_OUTPUT:
        place = merged.output_at[case, trial].tolist()
        found = read_record(lines.at(place), info.id)
        assert isinstance(found, OutputRecord)  # noqa: S101 - locators come from the merge
        record = found
        if record.output is not None and digest(record.output) != record.output_digest:
            what = f"the output of case {info.id[:80]!r}"
            found_digest, recorded_digest = digest(record.output), str(record.output_digest)
            raise DigestMismatch(what, found=found_digest, expected=recorded_digest)
    scores, passed = {}, {}
    for judge, name in enumerate(table.judges):
        scores[name] = _cell(recorded, (case, trial, judge), lines)
        verdict = int(table.passed[case, trial, judge])
        if verdict >= 0:
            passed[name] = bool(verdict)
    return ResultRow(
        case=info.id,
        case_digest=info.digest,
        trial=trial,
        split=info.split,
        tags=info.tags,
        cluster=info.cluster,
        output=None if record is None else record.output,
        failure=None if record is None else record.failure,
        latency_ms=None if record is None or record.failure else record.latency_ms,
        usage=NO_USAGE if record is None else record.usage,
        trace_id=None if record is None else record.trace_id,
        fingerprint=None if record is None else record.fingerprint,
        scores=scores,
        passed=passed,
    )


def _cell(recorded: Recorded, at: tuple[int, int, int], lines: Lines) -> RowScore:
    merged = recorded.merged
    state = STATES[merged.table.state[at]]
    place = merged.score_at[at].tolist()
    if merged.table.target[at[:2]] == TARGET_FAILED:
        return RowScore(state, None, TARGET_FAILED_REASON)
    if place[0] < 0:
        return RowScore(state, None, NOT_EXECUTED)
    record = read_record(lines.at(place), "score")
    assert isinstance(record, ScoreRecord)  # noqa: S101 - locators come from the merge
    match record.score:
        case Scored() | NotApplicable() if merged.table.state[at] == FAILED:
            return RowScore(state, None, SHARED_TICKET)
        case Scored(value, reason):
            return RowScore(state, value, reason)
        case NotApplicable(reason):
            return RowScore(state, None, reason)
        case Missing(reason, failed):
            last = None if failed is None else failed.message
            said = f"{reason}; the judge's last answer: {last}" if last else reason
            return RowScore(state, None, said)
        case JudgeFailed(failed):
            text = failed.code if failed.message is None else f"{failed.code}: {failed.message}"
            return RowScore(state, None, text)
        case _:
            return RowScore(state, None, None)


def table_of_rows(rows: Iterable[dict[str, Any]], specs: Sequence[Judge], where: str) -> ScoreTable:
    """The score table of a results file, for use as a baseline.

    Raises:
        Untrusted: a line is no result of these judges, or (case, trial)s are missing or doubled.
    """
    judges = [spec.id for spec in specs]
    cases: list[CaseRow] = []
    cells: list[list[ResultRow]] = []
    for number, raw in enumerate(rows, start=1):
        try:
            row = ResultRow.from_json(raw)
            _check_cells(row, specs)
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            message = f"{where}:{number}: this line is no result of this run ({error!s})"
            raise Untrusted(message) from None
        if row.trial == 0:
            cases.append(
                CaseRow(row.case, row.case_digest, row.split, row.tags, "", 0, row.cluster)
            )
            cells.append([])
        if not cells or cases[-1].id != row.case or row.trial != len(cells[-1]):
            message = f"{where}:{number}: trials are missing, doubled or out of order"
            raise Untrusted(message)
        cells[-1].append(row)
    return _dense(cases, cells, judges, where)


def _check_cells(row: ResultRow, specs: Sequence[Judge]) -> None:
    judges = sorted(spec.id for spec in specs)
    if sorted(row.scores) != judges:
        message = f"it has scores of {sorted(row.scores)}, expected {judges}"
        raise ValueError(message)
    for spec in specs:
        cell, said = row.scores[spec.id], row.passed.get(spec.id)
        if cell.state not in STATES or (cell.state == "scored") != (cell.value is not None):
            message = f"state {cell.state!r} with value {cell.value!r}"
            raise ValueError(message)
        passes = None if cell.value is None else value_passes(spec, cell.value)
        if said is not passes:
            message = f"it says passed: {said} of {spec.id}, but the value is {cell.value!r}"
            raise ValueError(message)


def _dense(
    cases: list[CaseRow], cells: list[list[ResultRow]], judges: Sequence[str], where: str
) -> ScoreTable:
    trials = len(cells[0]) if cells else 0
    if not cells or any(len(found) != trials for found in cells):
        message = f"{where}: it holds no results, or cases with different numbers of trials"
        raise Untrusted(message)
    if len({case.id for case in cases}) != len(cases):
        message = f"{where}: a case stands in it twice"
        raise Untrusted(message)
    shape = (len(cases), trials)
    target = np.zeros(shape, dtype=np.int8)
    numbers = np.full((*shape, 3), np.nan)
    state = np.zeros((*shape, len(judges)), dtype=np.int8)
    value = np.full(state.shape, np.nan)
    passed = np.full(state.shape, -1, dtype=np.int8)
    for at, found in enumerate(cells):
        for trial, row in enumerate(found):
            target[at, trial] = target_state(row)
            for slot, number in enumerate((row.latency_ms, row.usage.cost_usd, row.usage.tokens)):
                numbers[at, trial, slot] = np.nan if number is None else number
            for judge, name in enumerate(judges):
                cell = row.scores[name]
                state[at, trial, judge] = STATES.index(cell.state)
                value[at, trial, judge] = np.nan if cell.value is None else cell.value
                if name in row.passed:
                    passed[at, trial, judge] = row.passed[name]
    return ScoreTable(
        cases=tuple(cases),
        judges=tuple(judges),
        trials=trials,
        target=target,
        latency_ms=numbers[..., 0],
        cost_usd=numbers[..., 1],
        tokens=numbers[..., 2],
        state=state,
        value=value,
        passed=passed,
        mendable=np.zeros(state.shape, dtype=np.bool_),
    )


def target_state(row: ResultRow) -> int:
    """What the target did: NO_OUTPUT, ANSWERED or TARGET_FAILED."""
    if row.failure is not None:
        return TARGET_FAILED
    # A stored output may have been purged, but then its latency or its scores are still there.
    measured = any(STATES.index(cell.state) in (SCORED, FAILED) for cell in row.scores.values())
    known = row.output is not None or row.latency_ms is not None or measured
    return ANSWERED if known else NO_OUTPUT
