"""Ledger files as JSON Lines: appended and flushed record by record, torn tails dropped on reading.

A file is `header, records..., end`. A process killed at any byte leaves a file whose last line may lack
its newline; that stump is dropped, named, and what it held is done again. Anything else that does not
parse was never written by us, and refuses the file.
"""

from __future__ import annotations

import hashlib
import json
import os
from typing import IO, TYPE_CHECKING, Final

from releasecheck.canonical import JsonProblem, canonical, digest_chunks, dump_line, parse_json
from releasecheck.errors import CorruptLedger, DigestMismatch, InfrastructureError, UsageError
from releasecheck.model.record import (
    AnyRecord,
    EndRecord,
    FileHeader,
    OutputRecord,
    Record,
    ScoreRecord,
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


class JsonlWriter:
    """Writes one new ledger file (port `LedgerWriter`)."""

    def __init__(self, path: Path, header: FileHeader, clock: Clock) -> None:
        """Create the file and put its header on the disk.

        Raises:
            UsageError: the file is there already.
            InfrastructureError: it cannot be written.
        """
        self._clock = clock
        self._path = path
        self._hash = hashlib.sha256()
        self._outputs = self._scores = 0
        self._closed = False
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            self._file = path.open("xb", buffering=0)
        except FileExistsError:
            message = f"{path}: this attempt is recorded already; leave --attempt out to take the next one"
            raise UsageError(message) from None
        except OSError as error:
            raise _cannot_write(path, error) from error
        self._write(header.to_json())
        self.sync()

    def append(self, record: Record) -> None:
        """Write one record; it is with the operating system when this returns."""
        self._write(record.to_json())
        if isinstance(record, OutputRecord):
            self._outputs += 1
        elif isinstance(record, ScoreRecord):
            self._scores += 1

    def _write(self, line: dict[str, Json]) -> None:
        data = dump_line(line)
        try:
            written = self._file.write(data)
            while written < len(data):
                data = data[written:]
                written = self._file.write(data)
        except OSError as error:
            raise _cannot_write(self._path, error) from error
        self._hash.update(canonical(purge_stable(line)))
        self._hash.update(b"\n")

    def sync(self) -> None:
        """Force the file to the disk."""
        try:
            os.fsync(self._file.fileno())
        except OSError as error:
            raise _cannot_write(self._path, error) from error

    def close(self, stopped: str | None) -> None:
        """Write the end record and close."""
        if self._closed:
            return
        self._closed = True
        digest = "sha256:" + self._hash.hexdigest()
        end = EndRecord(self._outputs, self._scores, stopped, digest, self._clock.now())
        self._write(end.to_json())
        self.sync()
        self._file.close()

    def abandon(self) -> None:
        """Close without an end record, as a kill would."""
        self._closed = True
        self._file.close()


def _cannot_write(path: Path, error: OSError) -> InfrastructureError:
    message = f"{path}: cannot write the ledger: {error.strerror}; what was recorded before stands"
    return InfrastructureError(message)


class LedgerReader:
    """Reads one ledger file, once, line by line.

    `header` is there at once (None when not even the first line was completed); `torn`, `ended` and
    `digest` are complete after the iteration.
    """

    def __init__(self, path: Path) -> None:
        """Open the file and read its header.

        Raises:
            CorruptLedger: it does not start with a header of ours.
            UsageError: it cannot be read.
        """
        self.path = path
        self.name = path.name
        self.torn = False
        self.end: EndRecord | None = None
        self._hash = hashlib.sha256()
        self._line = 0
        self._offset = 0
        try:
            self._file: IO[bytes] = path.open("rb")
        except OSError as error:
            message = f"{path}: cannot be read: {error.strerror}"
            raise UsageError(message) from None
        first = self._next()
        if first is None:
            self.header: FileHeader | None = None
        elif isinstance(first[1], FileHeader):
            self.header = first[1]
        else:
            message = f"{path}:1: expected the header of a ledger file; this file is foreign"
            raise CorruptLedger(message)

    @property
    def ended(self) -> bool:
        """Whether the end record was there, and its digest held."""
        return self.end is not None

    @property
    def stopped(self) -> str | None:
        """Why its shard ended early, from the end record."""
        return None if self.end is None else self.end.stopped

    @property
    def digest(self) -> str:
        """Purge-stable digest over all lines but the end record."""
        return "sha256:" + self._hash.hexdigest()

    def __iter__(self) -> Iterator[tuple[int, Record]]:
        """Yield (byte offset, record).

        Raises:
            CorruptLedger, DigestMismatch: the file is no ledger, or was changed after it was ended.
        """
        try:
            while (found := self._next()) is not None:
                offset, record = found
                if self.end is not None:
                    raise self._corrupt(what="a record stands after the end record")
                if isinstance(record, FileHeader):
                    raise self._corrupt(what="a second header stands inside the file")
                if isinstance(record, EndRecord):
                    self._check_end(record)
                    continue
                yield offset, record
        finally:
            self._file.close()
        if self.torn and self.end is not None:
            raise self._corrupt(what="something stands after the end record")

    def _check_end(self, end: EndRecord) -> None:
        if end.digest != self.digest:
            raise DigestMismatch(str(self.path), found=self.digest, expected=end.digest)
        self.end = end

    def _next(self) -> tuple[int, AnyRecord] | None:
        offset = self._offset
        raw = self._file.readline(LONGEST_LINE)
        if not raw:
            return None
        self._line += 1
        self._offset += len(raw)
        if not raw.endswith(b"\n"):
            if len(raw) >= LONGEST_LINE:
                raise self._corrupt(what="the line is longer than any record")
            self.torn = True
            return None
        row = self._parse(raw)
        record = read_record(row, f"{self.path}:{self._line}")
        if not isinstance(record, EndRecord):
            self._hash.update(canonical(purge_stable(row)))
            self._hash.update(b"\n")
        return offset, record

    def _parse(self, raw: bytes) -> dict[str, Json]:
        try:
            # The strict reader is slow and only these two words tell it apart from the fast one
            # in what a record can hold; overflowing numbers are refused by the fields' own checks.
            suspicious = b"NaN" in raw or b"Infinity" in raw
            row = parse_json(raw) if suspicious else json.loads(raw)
        except (JsonProblem, ValueError, RecursionError) as error:
            raise self._corrupt(what=f"it is no JSON record ({error})") from None
        if not isinstance(row, dict):
            raise self._corrupt(what="it is no JSON object")
        return row

    def _corrupt(self, *, what: str) -> CorruptLedger:
        message = (
            f"{self.path}:{self._line}: {what}; only a half-written last line can come from a killed "
            "run, so this file is damaged - get the original again, or leave the file out"
        )
        return CorruptLedger(message)


def read_line_at(file: IO[bytes], offset: int) -> Json:
    """The parsed line at a byte offset that a reader yielded before."""
    file.seek(offset)
    return json.loads(file.readline())


def purge_file(path: Path, keep: Callable[[OutputRecord], bool], *, texts: bool) -> int:
    """Null the outputs (and with `texts` reasons and messages) of a file, atomically.

    Returns the number of outputs removed. Digests stay what they were.
    """
    removed = 0
    temporary = path.with_name(path.name + ".new")
    with path.open("rb") as source, temporary.open("wb") as target:
        for number, raw in enumerate(source, start=1):
            if not raw.endswith(b"\n"):
                break
            row = json.loads(raw)
            if row["record"] == "output" and row["output"] is not None:
                record = read_record(row, f"{path}:{number}")
                if isinstance(record, OutputRecord) and not keep(record):
                    row["output"] = None
                    removed += 1
            if texts:
                row = _without_texts(row)
            target.write(dump_line(row))
        target.flush()
        os.fsync(target.fileno())
    temporary.replace(path)
    return removed


def _without_texts(row: dict[str, Json]) -> dict[str, Json]:
    if row.get("record") == "score" and row.get("state") == "scored":
        row = {**row, "reason": None}
    if isinstance(row.get("failure"), dict):
        row = {**row, "failure": {**row["failure"], "message": None}}
    return row


def stable_file_digest(path: Path) -> str:
    """Purge-stable digest of a whole ledger file, the end record included."""

    def lines() -> Iterator[bytes]:
        with path.open("rb") as file:
            for raw in file:
                if raw.endswith(b"\n"):
                    yield canonical(purge_stable(json.loads(raw))) + b"\n"

    return digest_chunks(lines())
