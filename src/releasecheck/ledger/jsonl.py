"""Ledger files as JSON Lines: appended and flushed record by record, torn tails dropped on reading.

A file is `header, records..., end`. A process killed at any byte leaves a file whose last line may lack
its newline; that stump is dropped, named, and what it held is done again. Anything else that does not
parse was never written by us, and refuses the file.

The end record counts the records before it and carries a digest over all lines, its own other fields
included, as a full purge would leave them: bytes as they are, but outputs, reasons and messages null.
"""

from __future__ import annotations

import hashlib
import os
from codecs import BOM_UTF8
from contextlib import suppress
from typing import IO, TYPE_CHECKING, Final

from typing_extensions import override

from releasecheck.canonical import (
    MAX_DEPTH,
    JsonProblem,
    digest_chunks,
    dump_line,
    parse_json,
    parse_own,
)
from releasecheck.errors import CorruptLedger, DigestMismatch, InfrastructureError, UsageError
from releasecheck.model.record import (
    EndRecord,
    FileHeader,
    OutputRecord,
    Record,
    ScoreRecord,
    lines_of,
    purge_stable,
    read_record,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from releasecheck.canonical import Json
    from releasecheck.ports import Clock

LONGEST_LINE: Final = 256 * 1024 * 1024
"""Bytes; a longer line is no record of ours."""


def shard_file_name(shard: int, attempt: int) -> str:
    """`shard-0003.attempt-1.jsonl`."""
    return f"shard-{shard:04d}.attempt-{attempt}.jsonl"


def finish_file_name(attempt: int) -> str:
    """`finish.attempt-1.jsonl`."""
    return f"finish.attempt-{attempt}.jsonl"


def rescore_file_name(revision: int, attempt: int) -> str:
    """`rescore-2.attempt-1.jsonl`."""
    return f"rescore-{revision}.attempt-{attempt}.jsonl"


class JsonlWriter:
    """Writes one new ledger file (port `LedgerWriter`).

    A record that could not be written whole ends the file: nothing is ever appended to a stump (B106).
    """

    def __init__(self, path: Path, header: FileHeader, clock: Clock) -> None:
        """Create the file and write its header.

        Raises:
            UsageError: the file is there already.
            InfrastructureError: it cannot be written.
        """
        self._clock = clock
        self._path = path
        self._hash = hashlib.sha256()
        self._outputs = self._scores = self._size = 0
        self._closed = False
        self._whole = True
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise _cannot_write(path, error) from error
        try:
            self._file = path.open("xb", buffering=0)
        except FileExistsError:
            message = f"{path}: this attempt is recorded already; leave --attempt out to take the next one"
            raise UsageError(message) from None
        except OSError as error:
            raise _cannot_write(path, error) from error
        try:
            self._write(*lines_of(header.to_json()))
        except BaseException:
            self.abandon()
            raise

    def append(self, record: Record) -> None:
        """Write one record; it is with the operating system when this returns.

        Raises:
            InfrastructureError: it cannot be written, or an earlier one could not.
        """
        if isinstance(record, OutputRecord):
            self._write(*record.to_lines())
            self._outputs += 1
        elif isinstance(record, ScoreRecord):
            self._write(*record.to_lines())
            self._scores += 1
        else:
            self._write(*lines_of(record.to_json()))

    def _write(self, data: bytes, stable: bytes) -> None:
        if self._closed or not self._whole:
            message = (
                f"{self._path}: the ledger is closed, or an earlier record could not be written"
            )
            raise InfrastructureError(message)
        # Until both are done the file and its digest disagree: an exception here ends the file.
        self._whole = False
        try:
            written = self._file.write(data)
            while written < len(data):
                written += self._file.write(data[written:])
        except OSError as error:
            self._cut_back()
            raise _cannot_write(self._path, error) from error
        self._size += len(data)
        self._hash.update(stable)
        self._whole = True

    def _cut_back(self) -> None:
        try:
            self._file.truncate(self._size)
        except OSError:
            return  # the stump stays at the end, where readers drop it

    def sync(self) -> None:
        """Force the file to the disk."""
        try:
            os.fsync(self._file.fileno())
        except OSError as error:
            raise _cannot_write(self._path, error) from error

    def close(self, stopped: str | None) -> None:
        """Write the end record and close; after a failed write only close, as a kill would."""
        if self._closed:
            return
        try:
            if self._whole:
                self._write_end(stopped)
                self.sync()
        finally:
            self.abandon()

    def _write_end(self, stopped: str | None) -> None:
        line = EndRecord(self._outputs, self._scores, stopped, "", self._clock.now()).to_json()
        self._hash.update(dump_line(_without_digest(line)))
        self._write(*lines_of({**line, "digest": "sha256:" + self._hash.hexdigest()}))

    def abandon(self) -> None:
        """Close without an end record, as a kill would."""
        self._closed = True
        self._file.close()


def _stable(row: dict[str, Json], line: bytes) -> bytes:
    """A line as a full purge would leave it."""
    kept = purge_stable(row)
    return line if kept is row else dump_line(kept)


def _without_digest(end: dict[str, Json]) -> dict[str, Json]:
    return {key: value for key, value in end.items() if key != "digest"}


def _cannot_write(path: Path, error: OSError) -> InfrastructureError:
    message = f"{path}: cannot write the ledger: {error.strerror}; what was recorded before stands"
    return InfrastructureError(message)


class LedgerReader:
    """Reads one ledger file line by line.

    `header` is there at once (None when not even the first line was completed); `torn`, `ended`,
    `stopped` and `digest` are complete after each iteration. No file stays open in between.
    """

    def __init__(self, path: Path) -> None:
        """Read the header.

        Raises:
            CorruptLedger: the file does not start with a header of ours.
            UsageError: it cannot be read.
        """
        self.path = path
        self.name = path.name
        self._begin()
        self.header: FileHeader | None = None
        with self._open() as file:
            first = self._next(file)
        if first is None:
            return
        header = read_record(first[1], self)
        if not isinstance(header, FileHeader):
            message = f"{path}:1: expected the header of a ledger file; this file is foreign"
            raise CorruptLedger(message)
        self.header = header

    def _begin(self) -> None:
        self.torn = False
        self.end: EndRecord | None = None
        self._hash = hashlib.sha256()
        self._line = self._offset = 0

    @property
    def ended(self) -> bool:
        """Whether the end record was there, and its counts and digest held."""
        return self.end is not None

    @property
    def ended_at(self) -> str | None:
        """When the file was ended."""
        return None if self.end is None else self.end.at

    @property
    def stopped(self) -> str | None:
        """Why its shard ended early, from the end record."""
        return None if self.end is None else self.end.stopped

    @property
    def digest(self) -> str:
        """Purge-stable digest over all whole lines; what the end record says when there is one."""
        return "sha256:" + self._hash.hexdigest()

    @override
    def __str__(self) -> str:
        """The file and the line that was read last, for messages."""
        return f"{self.path}:{self._line}"

    def __iter__(self) -> Iterator[tuple[int, Record]]:
        """Yield (byte offset, record).

        Raises:
            CorruptLedger, DigestMismatch: the file is no ledger, or was changed after it was ended.
        """
        self._begin()
        outputs = scores = 0
        with self._open() as file:
            while (found := self._next(file)) is not None:
                offset, row, raw = found
                record = read_record(row, self)
                if self.end is not None:
                    raise _damaged(self, "a record stands after the end record")
                if isinstance(record, EndRecord):
                    self._check_end(record, row, outputs, scores)
                    continue
                self._hash.update(_stable_line(row, raw, self))
                if isinstance(record, FileHeader):
                    if offset or record != self.header:
                        raise _damaged(self, "a second header stands inside the file")
                    continue
                outputs += isinstance(record, OutputRecord)
                scores += isinstance(record, ScoreRecord)
                yield offset, record
        if self.torn and self.end is not None:
            raise _damaged(self, "something stands after the end record")

    def _open(self) -> IO[bytes]:
        try:
            return self.path.open("rb")
        except OSError as error:
            message = f"{self.path}: cannot be read: {error.strerror}"
            raise UsageError(message) from None

    def _next(self, file: IO[bytes]) -> tuple[int, dict[str, Json], bytes] | None:
        offset = self._offset
        raw = file.readline(LONGEST_LINE)
        if not raw:
            return None
        self._line += 1
        self._offset += len(raw)
        if not raw.endswith(b"\n"):
            if len(raw) >= LONGEST_LINE:
                raise _damaged(self, "the line is longer than any record")
            self.torn = True
            return None
        return offset, _parse(raw, self), raw

    def _check_end(self, end: EndRecord, row: dict[str, Json], outputs: int, scores: int) -> None:
        self._hash.update(dump_line(_without_digest(row)))
        if end.digest != self.digest:
            raise DigestMismatch(str(self.path), found=self.digest, expected=end.digest)
        if (end.outputs, end.scores) != (outputs, scores):
            counted = f"it counts {end.outputs} outputs and {end.scores} scores"
            raise _damaged(self, f"{counted}, but {outputs} and {scores} stand before it")
        self.end = end


def _parse(raw: bytes, where: object) -> dict[str, Json]:
    """One whole line as an object.

    Faster than `parse_json`: what only the strict reader refuses, the fields' own checks refuse too,
    but for the content of outputs, which is checked against its digest where it is used.
    """
    try:
        row = parse_own(raw.removeprefix(BOM_UTF8))
    except JsonProblem as problem:
        raise _damaged(where, f"it is no JSON record ({problem})") from None
    if not isinstance(row, dict):
        raise _damaged(where, "it is not one JSON object")
    return row


def _stable_line(row: dict[str, Json], raw: bytes, where: object) -> bytes:
    try:
        # A mark at the start and a carriage return at the end are no content (B02).
        return _stable(row, raw.removeprefix(BOM_UTF8).rstrip(b"\r\n") + b"\n")
    except ValueError as error:
        raise _damaged(where, str(error)) from None


def _damaged(where: object, what: str) -> CorruptLedger:
    message = (
        f"{where}: {what}; only a half-written last line can come from a killed run, so this file is "
        "damaged - get the original again, or leave the file out"
    )
    return CorruptLedger(message)


def read_line_at(file: IO[bytes], offset: int) -> Json:
    """The parsed line at a byte offset that a reader yielded before, strictly (B13).

    Raises:
        CorruptLedger: it is no JSON that a writer of ours leaves.
    """
    file.seek(offset)
    try:
        return parse_json(file.readline(), levels=MAX_DEPTH + 1)  # an output lies one level down
    except JsonProblem as problem:
        where = f"{file.name}, byte {offset}"
        raise _damaged(where, str(problem)) from None


def purge_file(path: Path, keep: Callable[[OutputRecord], bool], *, texts: bool) -> int:
    """Null the outputs (and with `texts` reasons and messages) of a file, atomically.

    Returns the number of outputs removed. Digests stay what they were; a torn last line is dropped.

    Raises:
        CorruptLedger: a whole line is no record; the file is left as it was.
        InfrastructureError: the file cannot be read or written; it is left as it was.
    """
    removed = 0
    temporary = path.with_name(f".{path.name}.new")
    try:
        with path.open("rb") as source, temporary.open("wb") as target:
            for number, raw in enumerate(source, start=1):
                if not raw.endswith(b"\n"):
                    break
                where = f"{path}:{number}"
                row = _parse(raw, where)
                purged = _without_texts(row) if texts else row
                record = read_record(row, where)
                if (
                    isinstance(record, OutputRecord)
                    and record.output is not None
                    and not keep(record)
                ):
                    purged = {**purged, "output": None}
                    removed += 1
                target.write(raw if purged == row else dump_line(purged))
            target.flush()
            os.fsync(target.fileno())
        temporary.replace(path)
    except OSError as error:
        message = f"{path}: cannot remove outputs from the ledger: {error.strerror}"
        raise InfrastructureError(message) from error
    finally:
        with suppress(OSError):  # the error to be told is the one before
            temporary.unlink(missing_ok=True)
    return removed


def _without_texts(row: dict[str, Json]) -> dict[str, Json]:
    """A line without the words of targets and judges; codes of our own stay."""
    if row.get("state") in _WITH_REASON or row.get("record") == "late":
        row = {**row, "reason": None}
    if isinstance(row.get("failure"), dict):
        row = {**row, "failure": {**row["failure"], "message": None}}
    return row


_WITH_REASON: Final = ("scored", "not-applicable")
"""States whose reason is the judge's; that of others is a code of ours."""


def stable_file_digest(path: Path) -> str:
    """Purge-stable digest of a whole ledger file, the end record included; a torn last line is not.

    Raises:
        CorruptLedger: a whole line is no record.
    """

    def lines() -> Iterator[bytes]:
        with path.open("rb") as file:
            for number, raw in enumerate(file, start=1):
                if raw.endswith(b"\n"):
                    where = f"{path}:{number}"
                    yield _stable_line(_parse(raw, where), raw, where)

    return digest_chunks(lines())
