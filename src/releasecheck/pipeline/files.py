"""Files of a plan or bundle: whole or not at all, and read with the strict reader."""

from __future__ import annotations

import os
from codecs import BOM_UTF8
from contextlib import suppress
from typing import TYPE_CHECKING

from releasecheck.canonical import JsonProblem, digest_bytes, parse_json
from releasecheck.errors import ConfigError, InfrastructureError, Problem, UsageError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

    from releasecheck.canonical import Json


def write_whole(path: Path, chunks: Iterable[bytes]) -> str:
    """Write a file so that a reader sees the old or the new content, never half; returns its digest.

    Raises:
        InfrastructureError: it cannot be written.
    """
    import hashlib

    state = hashlib.sha256()
    temporary = path.with_name(f".{path.name}.{os.getpid()}.new")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with temporary.open("wb") as file:
            for chunk in chunks:
                state.update(chunk)
                file.write(chunk)
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)
    except OSError as error:
        message = f"{path}: cannot be written: {error.strerror}"
        raise InfrastructureError(message) from error
    finally:
        with suppress(OSError):  # what went wrong before is what there is to say
            temporary.unlink(missing_ok=True)
    return "sha256:" + state.hexdigest()


def read_bytes(path: Path) -> bytes:
    """The bytes of a file.

    Raises:
        UsageError: it is not there or cannot be read.
    """
    try:
        return path.read_bytes()
    except OSError as error:
        message = f"{path}: cannot be read: {error.strerror}"
        raise UsageError(message) from None


def parse_document(data: bytes, path: str) -> dict[str, Json]:
    """A JSON object from bytes.

    Raises:
        ConfigError: not the strict JSON object expected, with line and column.
    """
    return _object(data, path, None)


def read_document(path: Path) -> dict[str, Json]:
    """A JSON object from a file (see `parse_document`)."""
    return parse_document(read_bytes(path), str(path))


def read_lines(data: bytes, path: str) -> Iterator[dict[str, Json]]:
    """The JSON objects of a JSON Lines file.

    Raises:
        ConfigError: a line is not a strict JSON object.
    """
    for number, line in enumerate(data.split(b"\n"), start=1):
        if line.strip():
            yield _object(line, path, number)


def _object(data: bytes, path: str, line: int | None) -> dict[str, Json]:
    """A JSON object; `line` is the line of a JSON Lines file."""
    found = None
    column: int | None = None
    try:
        value = parse_json(data)
    except JsonProblem as problem:
        found = problem.message if data.removeprefix(BOM_UTF8).strip() else "nothing is in it"
        line, column = line or problem.line, problem.column
    else:
        if isinstance(value, dict):
            return value
        found = f"it is {type(value).__name__}"
    message = f"expected a JSON object as we write it: {found}; get the original again"
    raise ConfigError([Problem(message, path, line, column)])


def file_digest(path: Path) -> str:
    """Digest of a file's bytes."""
    return digest_bytes(read_bytes(path))
