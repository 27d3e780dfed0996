"""A bundle as one zip archive whose bytes follow from its files alone."""

from __future__ import annotations

import io
import zipfile
from typing import TYPE_CHECKING, Final

from releasecheck.drivers.github.publishing.results import NotPublished

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from releasecheck.model.scorecard import Manifest

LARGEST: Final = 512 * 2**20
"""Bytes of files that are packed."""
_EPOCH: Final = (1980, 1, 1, 0, 0, 0)
_MODE: Final = 0o100644 << 16


def archive(bundle: Path, manifest: Manifest) -> bytes:
    """The files that the manifest vouches for, the manifest itself and the badge.

    Raises:
        NotPublished: they are more than is packed.
    """
    buffer = io.BytesIO()
    size = 0
    with zipfile.ZipFile(buffer, "w") as packed:
        for name in _names(bundle, manifest):
            data = (bundle / name).read_bytes()
            size += len(data)
            if size > LARGEST:
                message = f"the bundle has more than {LARGEST:,} bytes and is not attached"
                raise NotPublished(message)
            entry = zipfile.ZipInfo(name, _EPOCH)
            # The same on every system.
            entry.create_system, entry.external_attr = 3, _MODE
            entry.compress_type = zipfile.ZIP_DEFLATED
            packed.writestr(entry, data, compresslevel=9)
    return buffer.getvalue()


def _names(bundle: Path, manifest: Manifest) -> Iterator[str]:
    names = {*manifest.files, "manifest.json", "badge.json", "badge.svg"}
    for name in sorted(names):
        if name in manifest.files or (bundle / name).is_file():
            yield name
