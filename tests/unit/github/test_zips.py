"""Hostile archives (P-11, G-26, C-35): refused by name, and nothing of them is left."""

from __future__ import annotations

import io
import stat
import struct
import zipfile
from pathlib import Path

import pytest

from releasecheck.drivers.github.artifacts import LARGEST
from releasecheck.drivers.github.errors import ZipRefused
from releasecheck.drivers.github.zips import BUNDLE_LIMITS, DEFAULT_LIMITS, ZipLimits, unpack


def written(path: Path, *entries: tuple[str | zipfile.ZipInfo, bytes]) -> Path:
    """An archive with these entries, as `zipfile` writes them without asking."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in entries:
            archive.writestr(name, data)
    return path


def renamed(path: Path, before: bytes, after: bytes) -> Path:
    """The archive with a name exchanged for one that `zipfile` would not write."""
    assert len(before) == len(after)
    path.write_bytes(path.read_bytes().replace(before, after))
    return path


def refused(archive: Path, **given: object) -> str:
    """The message of a refusal that left nothing behind."""
    folder = archive.parent
    before = sorted(folder.rglob("*"))
    with pytest.raises(ZipRefused) as error:
        unpack(archive, folder / "into", **given)  # type: ignore[arg-type]
    assert sorted(folder.rglob("*")) == before
    return str(error.value)


def test_unpack__files_and_folders(tmp_path: Path) -> None:
    archive = written(
        tmp_path / "a.zip", ("sub/", b""), ("sub/ä b.txt", b"1"), ("c.json", b"{}"), ("e/", b"")
    )
    assert unpack(archive, tmp_path / "into") == ("c.json", "sub/ä b.txt")
    assert (tmp_path / "into/sub/ä b.txt").read_bytes() == b"1"
    assert not [one for one in tmp_path.iterdir() if one.name.startswith(".")]


def test_unpack__an_existing_folder_is_not_touched(tmp_path: Path) -> None:
    (tmp_path / "into").mkdir()
    with pytest.raises(FileExistsError):
        unpack(written(tmp_path / "a.zip", ("a", b"")), tmp_path / "into")


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("/etc/passwd", "absolute"),
        ("../outside", "leads elsewhere"),
        ("a/../../outside", "leads elsewhere"),
        ("a//b", "leads elsewhere"),
        ("./a", "leads elsewhere"),
        ("..", "leads elsewhere"),
        ("a\\b", "back-slash"),
        ("C:x", "drive"),
        ("a\nb", "characters"),
        ("a\u202eb", "characters"),
        ("a?", "characters"),
        ("NUL", "Windows"),
        ("x/com1.txt", "Windows"),
        ("LPT²", "Windows"),
        ("a.", "ends in a dot"),
        ("a /b", "ends in a dot or a space"),
        ("n" * 300, "longer than"),
    ],
)
def test_unpack__names(tmp_path: Path, name: str, why: str) -> None:
    """P-11: what any system would read differently is refused on every system."""
    message = refused(written(tmp_path / "a.zip", ("fine", b"1"), (name, b"2")))
    assert why in message
    assert "a.zip: entry" in message
    assert message.isprintable()


def test_unpack__a_nul_in_a_name(tmp_path: Path) -> None:
    archive = renamed(written(tmp_path / "a.zip", ("safe@..txt", b"1")), b"safe@", b"safe\0")
    assert "characters" in refused(archive)


@pytest.mark.parametrize("kind", [stat.S_IFLNK, stat.S_IFIFO, stat.S_IFCHR, stat.S_IFSOCK])
def test_unpack__links_and_special_files(tmp_path: Path, kind: int) -> None:
    info = zipfile.ZipInfo("link")
    info.external_attr = (kind | 0o777) << 16
    assert "link or a special file" in refused(written(tmp_path / "a.zip", (info, b"/etc/passwd")))


def test_unpack__a_folder_named_as_a_file(tmp_path: Path) -> None:
    info = zipfile.ZipInfo("folder")
    info.external_attr = (stat.S_IFDIR | 0o755) << 16
    assert "a folder named as a file" in refused(written(tmp_path / "a.zip", (info, b"")))


@pytest.mark.filterwarnings("ignore:Duplicate name")
@pytest.mark.parametrize(
    "names",
    [("a", "a"), ("A.json", "a.JSON"), ("ä", "a\u0308"), ("a/b", "a"), ("a", "a/b"), ("a/", "A")],
)
def test_unpack__twice(tmp_path: Path, names: tuple[str, str]) -> None:
    """Trap 4: where one name is there twice, the last writer would win."""
    archive = written(tmp_path / "a.zip", *((name, b"1") for name in names))
    assert "twice" in refused(archive) or "at once" in refused(archive)


def test_unpack__encrypted(tmp_path: Path) -> None:
    archive = written(tmp_path / "a.zip", ("a", b"1"))
    data = bytearray(archive.read_bytes())
    data[data.index(b"PK\x01\x02") + 8] |= 1
    archive.write_bytes(bytes(data))
    assert "was refused: it is encrypted" in refused(archive)


def test_unpack__other_compression(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "a.zip", "w", zipfile.ZIP_BZIP2) as opened:
        opened.writestr("a", b"1")
    assert "compression method 12" in refused(tmp_path / "a.zip")


def test_unpack__unexpected_names(tmp_path: Path) -> None:
    archive = written(tmp_path / "a.zip", ("run.json", b"1"), ("evil.py", b"2"))
    assert "'evil.py' was refused: a name that is not expected" in refused(
        archive, allowed=lambda name: name == "run.json"
    )


def test_unpack__too_many_entries(tmp_path: Path) -> None:
    archive = written(tmp_path / "a.zip", *((f"f{n}", b"") for n in range(11)))
    assert "11 entries; at most 10" in refused(archive, limits=ZipLimits(entries=10))


def test_unpack__more_entries_than_it_says(tmp_path: Path) -> None:
    archive = written(tmp_path / "a.zip", *((f"f{n}", b"") for n in range(11)))
    data = archive.read_bytes()
    end = data.rindex(b"PK\x05\x06")
    archive.write_bytes(data[: end + 8] + struct.pack("<HH", 1, 1) + data[end + 12 :])
    assert "too many entries" in refused(archive, limits=ZipLimits(entries=10))


def test_unpack__sizes(tmp_path: Path) -> None:
    archive = written(tmp_path / "a.zip", ("a", b"x" * 600), ("b", b"x" * 600))
    assert "at most 500" in refused(archive, limits=ZipLimits(entry_bytes=500))
    assert "more than 1000" in refused(archive, limits=ZipLimits(total_bytes=1000))
    unpack(archive, tmp_path / "into", limits=ZipLimits(entry_bytes=600, total_bytes=1200))


def test_bundle_limits__hold_the_largest_matrix() -> None:
    """Issue 3: 256 shards of 4,000 cases; measured with the shortest answers, a case takes 1,288 bytes of a bundle.

    What `finish` writes must be read by `publish`; 610 of them are in results, 330 in `results.jsonl`.
    """
    cases = 256 * 4000
    assert BUNDLE_LIMITS.total_bytes > 4 * 1288 * cases > DEFAULT_LIMITS.total_bytes
    assert BUNDLE_LIMITS.entry_bytes > 4 * 330 * cases > DEFAULT_LIMITS.entry_bytes
    assert 4 * 158 * cases < LARGEST, "158 bytes of its archive"


def test_unpack__a_size_that_lies(tmp_path: Path) -> None:
    """The directory says 10 bytes; what is read decides."""
    archive = written(tmp_path / "a.zip", ("a", b"x" * 6000))
    data = bytearray(archive.read_bytes())
    for mark, at in ((b"PK\x03\x04", 22), (b"PK\x01\x02", 24)):
        where = data.index(mark) + at
        data[where : where + 4] = struct.pack("<L", 10)
    archive.write_bytes(bytes(data))
    assert "a.zip" in refused(archive, limits=ZipLimits(entry_bytes=500))


def test_unpack__a_bomb(tmp_path: Path) -> None:
    archive = written(tmp_path / "a.zip", ("zeros", bytes(40 * 2**20)))
    assert "becomes more than 300" in refused(archive)


@pytest.mark.parametrize(
    "data", [b"", b"no zip", b"PK\x05\x06", b"PK\x05\x06" + bytes(18) + b"x" * 70_000]
)
def test_unpack__no_archive(tmp_path: Path, data: bytes) -> None:
    (tmp_path / "a.zip").write_bytes(data)
    assert "zip archive" in refused(tmp_path / "a.zip")


def test_unpack__a_torn_archive(tmp_path: Path) -> None:
    archive = written(tmp_path / "a.zip", ("a", b"x" * 600), ("b", bytes(range(256)) * 4))
    whole = archive.read_bytes()
    archive.write_bytes(whole[:100])
    refused(archive)
    buffer = io.BytesIO(whole)
    broken = bytearray(buffer.getvalue())
    broken[40] ^= 0xFF
    archive.write_bytes(bytes(broken))
    refused(archive)
