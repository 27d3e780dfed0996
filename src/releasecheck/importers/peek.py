"""The first bytes of a file, by which its kind is told."""

from __future__ import annotations

from codecs import BOM_UTF8
from typing import TYPE_CHECKING

from releasecheck.config.text import read_bytes

if TYPE_CHECKING:
    from pathlib import Path


def start_of(path: Path, length: int) -> bytes:
    """At most so many bytes, without a byte-order mark.

    Raises:
        ConfigError: there is no such file, or it cannot be read.
    """
    try:
        with path.open("rb") as file:
            return file.read(length).removeprefix(BOM_UTF8)
    except OSError:
        return read_bytes(path)[:length]  # which says what is the matter
