"""Reading a file as text: the one door for config, datasets and schemas, with errors that help."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from releasecheck.canonical import decode_text
from releasecheck.errors import ConfigError, Problem
from releasecheck.model.nearest import did_you_mean

if TYPE_CHECKING:
    from pathlib import Path

_LFS_POINTER: Final = "version https://git-lfs.github.com/spec/"
_WIDE_MARKS: Final = {
    b"\xff\xfe\x00\x00": "UTF-32", b"\x00\x00\xfe\xff": "UTF-32", b"\xff\xfe": "UTF-16", b"\xfe\xff": "UTF-16",
}  # fmt: skip
_PACKED: Final = {
    b"\x1f\x8b": "gzip", b"PK\x03\x04": "zip (or Excel)", b"PAR1": "Parquet", b"SQLite format 3": "SQLite",
}  # fmt: skip


def refused(
    path: str, message: str, line: int | None = None, column: int | None = None
) -> ConfigError:
    """One problem with a file as an error to raise."""
    return ConfigError([Problem(message, path, line, column)])


def read_bytes(path: Path) -> bytes:
    """The bytes of a file.

    Raises:
        ConfigError: it is missing (with the nearest name beside it), a folder, or unreadable.
    """
    shown = path.as_posix()
    try:
        return path.read_bytes()
    except FileNotFoundError:
        beside = [item.name for item in path.parent.iterdir()] if path.parent.is_dir() else []
        raise refused(shown, f"there is no such file{did_you_mean(path.name, beside)}") from None
    except IsADirectoryError:
        raise refused(shown, "expected a file, found a folder; name the file in it") from None
    except OSError as error:
        reason = error.strerror or type(error).__name__
        raise refused(shown, f"the file cannot be read: {reason}") from None


def to_text(data: bytes, shown: str) -> str:
    """Decode UTF-8 with or without a byte-order mark (B01, B02).

    Raises:
        ConfigError: another encoding, or a file that stands in for the data (git-lfs, HTML).
    """
    for start, name in {**_WIDE_MARKS, **_PACKED}.items():
        if data.startswith(start):
            advice = "save it as UTF-8" if start in _WIDE_MARKS else "unpack or export it first"
            raise refused(shown, f"expected UTF-8 text, found {name}; {advice}")
    try:
        text = decode_text(data)
    except UnicodeDecodeError as error:
        before = data[: error.start]
        column = len(before[before.rfind(b"\n") + 1 :].decode("utf-8", "replace")) + 1
        message = (
            f"expected UTF-8 text, found the byte {data[error.start]:#04x}; the file is probably in "
            "Latin-1 or Windows-1252 - save it as UTF-8"
        )
        raise refused(shown, message, before.count(b"\n") + 1, column) from None
    if "\0" in text[:1000]:
        message = "expected UTF-8 text, found NUL bytes (UTF-16 without a mark, or a binary file)"
        raise refused(shown, message)
    if text.startswith(_LFS_POINTER):
        raise refused(shown, "this is a git-lfs pointer, not the file; run `git lfs pull` first")
    if text[:200].lstrip().lower().startswith(("<!doctype html", "<html")):
        message = "this is an HTML page, not data; probably a login or error page was saved"
        raise refused(shown, message)
    return text


def read_text(path: Path) -> str:
    """A text file (see `read_bytes` and `to_text`)."""
    return to_text(read_bytes(path), path.as_posix())
