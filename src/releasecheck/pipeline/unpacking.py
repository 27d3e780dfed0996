"""Files out of an archive that git wrote."""

from __future__ import annotations

import tarfile
from pathlib import Path


def extract_files(archive: tarfile.TarFile, folder: Path) -> None:
    """Unpack regular files and folders; links and devices are no files of a suite."""
    files = [member for member in archive if member.isreg() or member.isdir()]
    if hasattr(tarfile, "data_filter"):  # from Python 3.11.4 on
        archive.extractall(folder, members=files, filter="data")
        return
    root = Path(folder).resolve()
    for member in files:
        if (root / member.name).resolve().is_relative_to(root):
            archive.extract(member, folder)
