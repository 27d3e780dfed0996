"""Outputs that an untrusted job recorded, taken into a run that judges them (P-11, G-26).

Only what the target answered is taken, and only from files that carry the run id and plan digest of the
adopted plan. Each record is checked and written anew into a ledger file of this plan; from there on nothing
of the untrusted file is read any more. Its scores count for nothing, whatever they say.
"""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass, replace
from datetime import datetime
from typing import TYPE_CHECKING, Final, NoReturn

from typing_extensions import override

from releasecheck.canonical import JsonProblem, digest
from releasecheck.errors import DigestMismatch, ForeignRecord, Untrusted
from releasecheck.ledger.jsonl import JsonlWriter, LedgerReader, shard_file_name, stable_file_digest
from releasecheck.model.failure import LONGEST_MESSAGE
from releasecheck.model.record import (
    LONGEST_FINGERPRINT,
    OUTPUT_LOST,
    BridgeRecord,
    DeadlineRecord,
    FileHeader,
    LateRecord,
    OutputRecord,
    ScoreRecord,
    SentinelRecord,
)
from releasecheck.pipeline.adopting import check_plain
from releasecheck.pipeline.folders import LEDGER_FILE, ledger_files
from releasecheck.ports import Clock

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

    from releasecheck.pipeline.execute import ShardRequest
    from releasecheck.pipeline.folders import PlanFolder
    from releasecheck.pipeline.world import World

MOST_BYTES: Final = 512 << 20
"""Of one result file."""
MOST_ATTEMPTS: Final = 1000
LONGEST_TRACE_ID: Final = 512
_CODE: Final = re.compile(r"[a-z0-9_]{1,64}")
_STOPPED: Final = {
    None, "time_budget", "cost_budget", "interrupted", "target_unusable", "decided",
}  # fmt: skip


def take_outputs(folder: PlanFolder, request: ShardRequest, world: World) -> ShardRequest:
    """Write the adopted outputs of a shard into its results; what is left of `request` resumes as ever.

    A plan that adopts nothing gets its request back. Doing it again changes nothing.

    Raises:
        UsageError: a folder of result files is not there.
        Untrusted: a file or record is not what the adopted run could have written; it is named.
    """
    adopted = folder.plan.adopted
    if adopted is None:
        return request
    _refuse_links(request.resume)
    ours: list[Path] = []
    for path in ledger_files(request.resume):
        match = LEDGER_FILE.fullmatch(path.name)
        if match is None or (match[1] is not None and int(match[1]) != request.index):
            continue
        check_plain(path, MOST_BYTES)
        reader = LedgerReader(path)
        header = reader.header
        if header is None:
            world.progress.note(f"{path.name} ends before its first record; nothing is in it")
        elif header.plan_digest == adopted.plan_digest:
            _take(folder, reader, header, request, world)
        else:  # of this plan, or of a stranger, which the merge refuses
            ours.append(path)
    return replace(request, resume=tuple(ours))


def _refuse_links(folders: Iterable[Path]) -> None:
    """What is listed below is already followed to where it leads."""
    for folder in folders:
        for path in [folder, *folder.rglob("*.jsonl")]:
            if LEDGER_FILE.fullmatch(path.name) and path.is_symlink():
                check_plain(path, MOST_BYTES)


def _take(
    folder: PlanFolder,
    reader: LedgerReader,
    header: FileHeader,
    request: ShardRequest,
    world: World,
) -> None:
    """One untrusted file to one of ours, byte for byte the same whenever it is done again."""
    _check_header(folder, reader, header, request.index)
    target = request.results / reader.name
    scratch = request.results / f".{reader.name}.adopted"
    scratch.unlink(missing_ok=True)
    ours = FileHeader(
        run_id=folder.plan.run_id,
        plan_digest=folder.plan.plan_digest,
        shard=header.shard,
        shards=header.shards,
        attempt=header.attempt,
        started_at=header.started_at,
        tool=world.tool,
    )
    clock = _Then(header.started_at)
    writer = JsonlWriter(scratch, ours, clock)
    taken = _Taken()
    try:
        for record in _outputs(folder, reader, header, taken):
            writer.append(record)
        clock.at = reader.ended_at or header.started_at
        if reader.stopped not in _STOPPED:
            _refuse(reader, f"it says that it stopped for {str(reader.stopped)[:60]!r}")
        _time(reader, clock.at)
        if reader.ended:
            writer.close(reader.stopped)
        else:
            writer.sync()
            writer.abandon()
        _place(scratch, target)
    except BaseException:
        writer.abandon()
        scratch.unlink(missing_ok=True)
        raise
    left = f", {taken.left_out} other records were left out" if taken.left_out else ""
    world.progress.note(f"adopted {taken.outputs} outputs of {reader.name}{left}")


@dataclass(slots=True)
class _Taken:
    outputs: int = 0
    left_out: int = 0


class _Then(Clock):
    """The time at which the untrusted file says it was written."""

    def __init__(self, at: str) -> None:
        self.at = at

    @override
    def now(self) -> str:
        return self.at

    @override
    def monotonic(self) -> float:
        return 0.0

    @override
    async def sleep(self, seconds: float) -> None:
        return None


def _check_header(folder: PlanFolder, reader: LedgerReader, header: FileHeader, index: int) -> None:
    plan, adopted = folder.plan, folder.plan.adopted
    assert adopted is not None  # noqa: S101 - asked by the caller
    if header.shard is None:
        _refuse(reader, "it is what a `finish` recorded; only files of shards are adopted")
    for what, found, expected in (
        ("run", header.run_id, adopted.run_id),
        ("number of shards", header.shards, len(plan.shards)),
        ("shard", header.shard, index),
        ("name", reader.name, shard_file_name(header.shard, header.attempt)),
    ):
        if found != expected:
            _refuse(reader, f"it has another {what} ({str(found)[:80]!r}, expected {expected!r})")
    if header.attempt > MOST_ATTEMPTS:
        _refuse(reader, f"its attempt is above {MOST_ATTEMPTS}")
    _time(reader, header.started_at)


def _outputs(
    folder: PlanFolder, reader: LedgerReader, header: FileHeader, taken: _Taken
) -> Iterator[OutputRecord]:
    planned = {case.id for case in folder.cases(header.shard or 0)}
    seen: set[tuple[str, int]] = set()
    for _, record in reader:
        match record:
            case OutputRecord():
                _planned(folder, reader, planned, record.case, record.trial, "an output")
                if (record.case, record.trial) in seen:
                    _refuse(reader, f"it answers case {record.case[:80]!r} twice")
                seen.add((record.case, record.trial))
                taken.outputs += 1
                yield _output(reader, record, header)
            case LateRecord() if record.side is not None:
                taken.left_out += 1
            case ScoreRecord() | LateRecord():
                # Left out, but a score for what was never planned shows that the file was made up.
                _planned(folder, reader, planned, record.case, record.trial, "a score")
                taken.left_out += 1
            case DeadlineRecord() | SentinelRecord() | BridgeRecord():
                taken.left_out += 1


def _planned(
    folder: PlanFolder, reader: LedgerReader, planned: set[str], case: str, trial: int, what: str
) -> None:
    if case not in planned or not 0 <= trial < folder.plan.trials:
        message = (
            f"not adopted: {reader}: it holds {what} of case {case[:80]!r}, trial {trial}, which the plan does "
            "not give to this shard"
        )
        raise ForeignRecord(message)


def _output(reader: LedgerReader, record: OutputRecord, header: FileHeader) -> OutputRecord:
    """The record as a shard of ours would have written it, or none at all."""
    where = f"the output of case {record.case[:80]!r}"
    if record.attempt != header.attempt:
        _refuse(reader, f"{where} is of another attempt")
    _time(reader, record.at)
    trace = record.trace_id
    if trace is not None and (len(trace) > LONGEST_TRACE_ID or _has_control(trace)):
        _refuse(reader, f"{where} has a trace id that no service gives")
    model = record.fingerprint
    if model is not None and (len(model) > LONGEST_FINGERPRINT or _has_control(model)):
        _refuse(reader, f"{where} names a model as no target does")
    failed = record.failure
    if failed is not None:
        if failed.stage != "target" or not _CODE.fullmatch(failed.code):
            _refuse(reader, f"{where} failed in a way that no target fails")
        if failed.message is not None:
            failed = replace(failed, message=failed.message[:LONGEST_MESSAGE])
    elif record.output is not None or record.output_digest == digest(None):
        try:
            found = digest(record.output)
        except JsonProblem as problem:
            _refuse(reader, f"{where} has no digest: {problem}")
        if found != record.output_digest:
            what = f"not adopted: {reader}: {where}"
            raise DigestMismatch(what, found=found, expected=str(record.output_digest))
    elif not re.fullmatch(r"sha256:[0-9a-f]{64}", record.output_digest or ""):
        _refuse(reader, f"{where} has no digest")
    # Which output takes the place of a lost one is for our own attempts to say.
    notes = tuple(note for note in record.notes if note != OUTPUT_LOST and _CODE.fullmatch(note))
    return OutputRecord(
        case=record.case,
        trial=record.trial,
        attempt=record.attempt,
        output=record.output,
        output_digest=record.output_digest,
        failure=failed,
        latency_ms=record.latency_ms,
        usage=record.usage,
        trace_id=trace,
        at=record.at,
        calls=record.calls,
        notes=notes,
        fingerprint=model,
    )


def _has_control(text: str) -> bool:
    return any(unicodedata.category(char) in {"Cc", "Cs", "Zl", "Zp"} for char in text)


def _time(reader: LedgerReader, text: str) -> None:
    try:
        known = datetime.fromisoformat(text).tzinfo is not None
    except ValueError:
        known = False
    if not known or len(text) > 40:
        _refuse(reader, f"{text[:60]!r} is no time")


def _place(scratch: Path, target: Path) -> None:
    """Put the file under its name; there it may only be already as it is."""
    if not target.exists():
        scratch.replace(target)
        return
    found, expected = stable_file_digest(scratch), stable_file_digest(target)
    if found != expected:
        message = (
            f"{target}: this attempt is recorded already, with other content than the adopted one; give an "
            "empty folder with --out, or leave out what does not belong to it"
        )
        raise Untrusted(message)
    scratch.unlink()


def _refuse(reader: LedgerReader, why: str) -> NoReturn:
    message = f"not adopted: {reader}: {why}"
    raise Untrusted(message)
