"""The files that a judge is made of: part of its identity, so that a changed judge is another judge."""

from __future__ import annotations

from typing import TYPE_CHECKING

from releasecheck.canonical import digest, digest_bytes
from releasecheck.model.suite import CommandJudge, JsonSchemaJudge, PythonJudge

if TYPE_CHECKING:
    from pathlib import Path

    from releasecheck.model.suite import Judge


def judge_files(spec: Judge, root: Path) -> dict[str, str]:
    """Digest by name, relative to the config's folder with `/`; empty for a judge that is all spec.

    A python judge is its module's file and the `__init__` files above it. A module that is not below
    the folder is known by its name alone, as `installed:NAME`: its version is the interpreter's affair.
    A command judge is every argument that names a file below the folder. A schema that is still a name
    counts too; in a plan it has been replaced by its content.
    """
    if isinstance(spec, PythonJudge):
        module = spec.function.partition(":")[0]
        files = _module_files(module, root)
        return _digests(files, root) if files else {f"installed:{module}": digest(module)}
    if isinstance(spec, CommandJudge):
        return _digests([root / argument for argument in spec.run], root)
    if isinstance(spec, JsonSchemaJudge) and isinstance(spec.schema_, str):
        return _digests([root / spec.schema_], root)
    return {}


def _module_files(module: str, root: Path) -> list[Path]:
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


def _digests(paths: list[Path], root: Path) -> dict[str, str]:
    top = root.resolve()
    found = {}
    for path in paths:
        real = path.resolve()
        if real.is_file() and real.is_relative_to(top):
            found[real.relative_to(top).as_posix()] = digest_bytes(real.read_bytes())
    return dict(sorted(found.items()))
