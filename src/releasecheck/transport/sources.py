"""Which files a program or function is made of, as far as its config shows: part of what a run was made with."""

from __future__ import annotations

from typing import TYPE_CHECKING

from releasecheck.canonical import digest_bytes

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path


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


def argument_files(arguments: Iterable[str], root: Path) -> list[Path]:
    """What the arguments of a program would name, were they files below `root`."""
    return [root / argument for argument in arguments]


def digests_below(paths: Iterable[Path], root: Path) -> dict[str, str]:
    """Digest by name, relative to `root` with `/`, of those paths that are files below it."""
    top = root.resolve()
    found = {}
    for path in paths:
        try:
            real = path.resolve()
            is_file = real.is_file()
        except (OSError, ValueError):  # an argument may be a whole program, or hold a NUL
            continue
        if is_file and real.is_relative_to(top):
            found[real.relative_to(top).as_posix()] = digest_bytes(real.read_bytes())
    return dict(sorted(found.items()))
