"""Which files a program or function is made of, as far as its config shows: part of what a run was made with."""

from __future__ import annotations

import os
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING

from releasecheck.canonical import digest_bytes

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence


def module_files(module: str, root: Path) -> list[Path]:
    """A module's file below `root` and the `__init__` files above it; empty when it is not there."""
    *packages, last = module.split(".")
    folder = root
    files = []
    for package in packages:
        folder /= package
        files.append(folder / "__init__.py")
    # A package wins over a module of the same name, as in an import.
    found = next(
        (path for path in (folder / last / "__init__.py", folder / f"{last}.py") if path.is_file()),
        None,
    )
    return [] if found is None else [*files, found]


def argument_files(arguments: Sequence[str], root: Path) -> list[Path]:
    """What the arguments of a program would name below `root`: files, and a module after `-m`."""
    files = [root / argument for argument in arguments]
    for flag, name in pairwise(arguments):
        if flag == "-m" and all(part.isidentifier() for part in name.split(".")):
            files += [*module_files(name, root), *module_files(f"{name}.__main__", root)]
    return files


def digests_below(paths: Iterable[Path], root: Path) -> dict[str, str]:
    """Digest by name, relative to `root` with `/`, of those paths that are files below it.

    A link that leads out of the folder is known by its own name, with the content it leads to.
    """
    top = root.resolve()
    written_top = os.path.normpath(root.absolute())
    found = {}
    for path in paths:
        try:
            real = path.resolve()
            is_file = real.is_file()
        except (OSError, ValueError):  # an argument may be a whole program, or hold a NUL
            continue
        if not is_file:
            continue
        if real.is_relative_to(top):
            name = real.relative_to(top)
        else:
            own = Path(os.path.normpath(path.absolute()))
            if not own.is_relative_to(written_top):
                continue
            name = own.relative_to(written_top)
        found[name.as_posix()] = digest_bytes(real.read_bytes())
    return dict(sorted(found.items()))
