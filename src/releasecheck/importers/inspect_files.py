"""Logs of Inspect as files: `.json`, one document, and `.eval`, a zip with a file for each sample."""

from __future__ import annotations

import sys
import zlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, NoReturn

from releasecheck.config.text import read_text, refused, to_text
from releasecheck.importers.peek import start_of
from releasecheck.importers.tolerant import parse_tolerant

# Inspect packs with Zstandard, which the standard library reads since Python 3.14.
if sys.version_info >= (3, 14):
    import zipfile

    from compression.zstd import ZstdError
else:
    from backports.zstd import ZstdError, zipfile

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from releasecheck.canonical import Json

MOST_ENTRIES: Final = 500_000
"""Files in one `.eval`."""
LARGEST: Final = 256 * 2**20
"""Bytes of one file in it, unpacked: a sample with all its events."""
LARGEST_SUM: Final = 4 * 2**30
"""Bytes of all that is read, unpacked; of a `.json` the bytes of the file."""
_HEADER: Final = "header.json"
_SAMPLES: Final = "samples/"


@dataclass(frozen=True, slots=True)
class LogFile:
    """What a log says about itself, and where its samples are."""

    header: dict[str, Json]
    samples: Iterator[tuple[str, Json]]
    """Each sample with the place it was read from; reading goes on while they are taken."""


def read_log_file(path: Path, largest: int = LARGEST) -> LogFile:
    """Open a log of either kind, told by its first bytes; `largest` bounds each file in a zip.

    Raises:
        ConfigError: it is none, or larger than what is taken. Taking the samples raises the same.
    """
    start = start_of(path, 4)
    if start[:2] == b"PK":
        return _eval_file(path, largest)
    shown = path.as_posix()
    if path.suffix == ".eval":
        raise refused(shown, "expected an `.eval` log, which is a zip file; it may be cut off")
    if path.stat().st_size > LARGEST_SUM:
        raise refused(
            shown, f"the file is larger than {LARGEST_SUM // 2**30} GiB; use the `.eval` format"
        )
    found = parse_tolerant(read_text(path), shown)
    if not isinstance(found, dict):
        raise refused(shown, "expected a log of Inspect, a JSON object", 1)
    samples = found.pop("samples", None)
    if samples is not None and not isinstance(samples, list):
        raise refused(shown, "`samples` is no list", 1)
    places = ((f"samples[{number}]", sample) for number, sample in enumerate(samples or []))
    return LogFile(found, places)


def _eval_file(path: Path, largest: int) -> LogFile:
    shown = path.as_posix()
    try:
        packed = zipfile.ZipFile(path)
    except (
        zipfile.BadZipFile,
        OSError,
        ValueError,
        NotImplementedError,
    ) as error:  # the last: of zipfile, odd features
        _broken(shown, error)
    entries = packed.infolist()
    if len(entries) > MOST_ENTRIES:
        raise refused(shown, f"it holds {len(entries)} files; at most {MOST_ENTRIES} are read")
    names = {entry.filename for entry in entries}
    if _HEADER not in names:
        if any(name.startswith("_journal/") for name in names):
            message = (
                "the eval has not ended (there is no header.json, only a journal), and an unfinished one is no "
                "baseline; finish it with `inspect eval-retry`"
            )
        else:
            message = "this zip file is no log of Inspect: there is no header.json in it"
        raise refused(shown, message)
    reader = _Reader(packed, shown, largest)
    header = reader.document(packed.getinfo(_HEADER))
    if not isinstance(header, dict):
        where = f"{shown}/{_HEADER}"
        raise refused(where, "expected an object", 1)
    samples = [
        entry
        for entry in entries
        if entry.filename.startswith(_SAMPLES) and entry.filename.endswith(".json")
    ]
    return LogFile(header, reader.all(samples))


class _Reader:
    """Unpacks in memory, so that no name in a zip is ever a path of ours."""

    def __init__(self, packed: zipfile.ZipFile, shown: str, largest: int) -> None:
        self._packed, self._shown, self._largest = packed, shown, largest
        self._left = LARGEST_SUM

    def all(self, entries: list[zipfile.ZipInfo]) -> Iterator[tuple[str, Json]]:
        with self._packed:
            for entry in entries:
                yield entry.filename, self.document(entry)

    def document(self, entry: zipfile.ZipInfo) -> Json:
        # A name may hold anything; messages escape what does not print.
        where = f"{self._shown}/{entry.filename[:120]}"
        most = min(self._largest, self._left)
        try:
            with self._packed.open(entry) as file:
                data = file.read(most + 1)
        except (
            zipfile.BadZipFile,
            zlib.error,
            ZstdError,
            EOFError,
            OSError,
            RuntimeError,
            NotImplementedError,
        ) as error:  # fmt: skip - RuntimeError and the last are zipfile's own, for encryption and odd features
            _broken(where, error)
        if len(data) > most:
            message = f"it unpacks to more than {most // 2**20} MiB, which no sample has; it is not read any further"
            raise refused(where, message)
        self._left -= len(data)
        return parse_tolerant(to_text(data, where), where)


def _broken(where: str, error: Exception) -> NoReturn:
    said = str(error) or type(error).__name__
    message = f"the zip file cannot be read: {said}; get the log again, or convert it with `inspect log convert`"
    raise refused(where, message) from None
