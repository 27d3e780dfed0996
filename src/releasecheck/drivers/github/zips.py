"""Unpacks archives that somebody hostile may have made (P-11, G-26).

Everything is refused by name: nothing is repaired, nothing is skipped in silence. Sizes are counted
while reading, since a header says what its writer wants. Files appear in their folder all at once or
not at all, and never outside of it.
"""

from __future__ import annotations

import re
import shutil
import stat
import struct
import tempfile
import unicodedata
import zipfile
import zlib
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, Final

from releasecheck.drivers.github.errors import ZipRefused, quoted

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

MIB: Final = 2**20
_CHUNK: Final = 256 * 1024
_RATIO_FROM: Final = 16 * MIB
"""Below so many bytes nothing is a bomb, however well it compresses."""
_ENCRYPTED: Final = 0x1 | 0x40 | 0x2000
_METHODS: Final = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
_RESERVED: Final = re.compile(r"(?i)(con|prn|aux|nul|conin\$|conout\$|(com|lpt)[0-9¹²³])(\..*)?")
_END: Final = b"PK\x05\x06"
_LOCATOR: Final = b"PK\x06\x07"


@dataclass(frozen=True, slots=True)
class ZipLimits:
    """How much is read."""

    entries: int = 5_000
    entry_bytes: int = 512 * MIB
    total_bytes: int = 1024 * MIB
    ratio: int = 300
    """Bytes that one compressed byte may become."""
    name_bytes: int = 240


DEFAULT_LIMITS: Final = ZipLimits()
BUNDLE_LIMITS: Final = ZipLimits(entry_bytes=4 * 1024 * MIB, total_bytes=10 * 1024 * MIB)
"""Of a whole run: 256 shards of 4,000 cases with the shortest answers are 1.3 GB already."""


def any_name(_: str) -> bool:
    """Allow every name that is safe."""
    return True


def unpack(
    archive: Path,
    into: Path,
    *,
    allowed: Callable[[str], bool] = any_name,
    limits: ZipLimits = DEFAULT_LIMITS,
) -> tuple[str, ...]:
    """Unpack into a folder that does not exist yet.

    Args:
        archive: The file to read.
        into: The folder to make; its parent exists.
        allowed: Whether a file of this name (with `/`) is expected; all others are refused.
        limits: How much is read.

    Returns:
        Names of the files, sorted.

    Raises:
        ZipRefused: the archive is none, or no honest writer makes it. `into` was not made.
        FileExistsError: `into` is there already.
    """
    if into.exists():
        message = f"{into} is there already; each artifact is unpacked into a folder of its own"
        raise FileExistsError(message)
    part = Path(tempfile.mkdtemp(prefix=".unpacking-", dir=into.parent))
    try:
        names = _unpack(archive, part, allowed, limits)
        part.chmod(0o755)
        part.rename(into)
    except BaseException:
        shutil.rmtree(part, ignore_errors=True)
        raise
    return names


def _unpack(
    archive: Path, folder: Path, allowed: Callable[[str], bool], limits: ZipLimits
) -> tuple[str, ...]:
    try:
        with archive.open("rb") as raw:
            _check_directory(raw, archive, limits)
            with zipfile.ZipFile(raw) as opened:
                files = _checked(opened.infolist(), archive, allowed, limits)
                total = 0
                for info in files:
                    total += _copy(opened, info, folder, archive, limits, total)
    except (zipfile.BadZipFile, zlib.error, EOFError, struct.error, UnicodeDecodeError) as error:
        message = f"{archive.name} cannot be read as a zip archive: {quoted(str(error), 200)}"
        raise ZipRefused(message) from None
    except (NotImplementedError, RuntimeError) as error:  # what zipfile raises for odd features
        message = f"{archive.name} uses a feature that is not read: {quoted(str(error), 200)}"
        raise ZipRefused(message) from None
    return tuple(sorted(info.orig_filename for info in files))


def _check_directory(raw: BinaryIO, archive: Path, limits: ZipLimits) -> None:
    """Bound the list of entries before a library reads it into memory."""
    size = raw.seek(0, 2)
    start = max(0, size - 65_557)
    raw.seek(start)
    tail = raw.read()
    end = tail.rfind(_END)
    if end < 0 or len(tail) - end < 22:
        message = f"{archive.name} ({size} bytes) is no zip archive: it has no directory at its end"
        raise ZipRefused(message)
    count, length = struct.unpack("<HL", tail[end + 10 : end + 16])
    located = tail[end - 20 : end] if end >= 20 else b""
    if located.startswith(_LOCATOR):
        (offset,) = struct.unpack("<Q", located[8:16])
        raw.seek(min(offset, size))
        record = raw.read(56)
        if len(record) < 56:
            message = f"{archive.name} is no zip archive: its directory is not where it says"
            raise ZipRefused(message)
        count, length = struct.unpack("<Q", record[32:40])[0], struct.unpack("<Q", record[40:48])[0]
    if count > limits.entries or length > limits.entries * (limits.name_bytes + 512):
        message = f"{archive.name} has {count} entries; at most {limits.entries} are read"
        raise ZipRefused(message)
    raw.seek(0)


def _checked(
    infos: Iterable[zipfile.ZipInfo],
    archive: Path,
    allowed: Callable[[str], bool],
    limits: ZipLimits,
) -> list[zipfile.ZipInfo]:
    """The entries that are files, after every check that needs no content."""
    files: list[zipfile.ZipInfo] = []
    seen: dict[str, str] = {}
    folders: dict[str, str] = {}
    for number, info in enumerate(infos, start=1):
        wrong = "too many entries" if number > limits.entries else _wrong(info, limits)
        name = info.orig_filename
        folder = name.endswith("/")
        key = unicodedata.normalize("NFC", name.rstrip("/")).casefold()
        parents = ["/".join(key.split("/")[:depth]) for depth in range(1, key.count("/") + 1)]
        if not wrong and (key in seen or (not folder and key in folders)):
            wrong = "a name that is there twice"
        if not wrong and any(parent in seen for parent in parents):
            wrong = "a name that is a file and a folder at once"
        if not wrong and not folder and not allowed(name):
            wrong = "a name that is not expected"
        if wrong:
            message = f"{archive.name}: entry {quoted(name, 120)!r} was refused: {wrong}"
            raise ZipRefused(message)
        folders.update(dict.fromkeys(parents, name))
        if folder:
            folders[key] = name
        else:
            seen[key] = name
            files.append(info)
    return files


def _wrong(info: zipfile.ZipInfo, limits: ZipLimits) -> str:
    """What is wrong with an entry; empty when nothing is."""
    if info.flag_bits & _ENCRYPTED:
        return "it is encrypted"
    if info.compress_type not in _METHODS:
        return f"compression method {info.compress_type} is not read"
    kind = stat.S_IFMT(info.external_attr >> 16)
    folder = info.orig_filename.endswith("/")
    if kind not in (0, stat.S_IFDIR if folder else stat.S_IFREG):
        return (
            "it is a link or a special file" if kind != stat.S_IFDIR else "a folder named as a file"
        )
    if info.file_size > limits.entry_bytes:
        return f"{info.file_size} bytes; at most {limits.entry_bytes} are read"
    return _wrong_name(info.orig_filename, limits)


def _wrong_name(name: str, limits: ZipLimits) -> str:
    # What another system would read differently is refused on every system.
    if not name or name.startswith("/"):
        return "an absolute path, or no name"
    if "\\" in name or ":" in name:
        return "a back-slash or a drive in its name"
    if not name.isprintable() or any(c in '<>"|?*' for c in name):
        return "characters that no file name may hold"
    if len(name.encode("utf-8", "surrogatepass")) > limits.name_bytes:
        return f"a name longer than {limits.name_bytes} bytes"
    for part in name.removesuffix("/").split("/"):
        if part in ("", ".", ".."):
            return "a path that leads elsewhere"
        if part[-1] in ". ":
            return "a name that ends in a dot or a space"
        if _RESERVED.fullmatch(part):
            return "a name that Windows reserves"
    return ""


def _copy(
    opened: zipfile.ZipFile,
    info: zipfile.ZipInfo,
    folder: Path,
    archive: Path,
    limits: ZipLimits,
    before: int,
) -> int:
    name = info.orig_filename
    target = folder.joinpath(*name.split("/"))
    target.parent.mkdir(parents=True, exist_ok=True)
    written = 0
    with opened.open(info) as source, target.open("xb") as file:
        while chunk := source.read(_CHUNK):
            written += len(chunk)
            wrong = ""
            if written > limits.entry_bytes:
                wrong = f"more than {limits.entry_bytes} bytes"
            elif before + written > limits.total_bytes:
                wrong = f"with it the archive holds more than {limits.total_bytes} bytes"
            elif written > _RATIO_FROM and written > limits.ratio * max(1, info.compress_size):
                wrong = f"each of its bytes becomes more than {limits.ratio}"
            if wrong:
                message = f"{archive.name}: entry {quoted(name, 120)!r} was refused: {wrong}"
                raise ZipRefused(message)
            file.write(chunk)
    return written
